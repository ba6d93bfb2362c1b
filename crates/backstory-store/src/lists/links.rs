//! Links between rows: what closes what, and what commits were merged through. Changes of links note the rows at their
//! ends.

use std::collections::BTreeSet;

use backstory_model::{
    entity::Item,
    id::{NodeId, ThreadId, ThreadKind},
    message,
    repository::{CommitRecord, RepositoryItem},
};
use rusqlite::{Row, params};

use super::{batch::Batch, commits, threads};
use crate::{graph::GraphChange, ledger_error::LedgerError};

/// What closes what within a project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Closing {
    closer: String,
    closed: String,
}

impl Closing {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { closer: row.get(0)?, closed: row.get(1)? })
    }
}

impl Batch<'_> {
    /// Replaces what an item states to close or to be closed.
    pub(super) fn replace_closings(
        &mut self,
        change: &GraphChange,
        closings: &BTreeSet<Closing>,
    ) -> Result<(), LedgerError> {
        let item = [change.project.as_str(), change.kind.as_str(), &change.key];
        let mut known = BTreeSet::new();
        {
            let mut statement = self.connection.prepare_cached(
                "SELECT closer, closed, confidential FROM list_closes WHERE project = ?1 AND kind = ?2 AND key = ?3",
            )?;
            let mut rows = statement.query(item)?;
            while let Some(row) = rows.next()? {
                known.insert((Closing::read(row)?, row.get::<_, bool>(2)?));
            }
        }
        let stated: BTreeSet<(Closing, bool)> =
            closings.iter().map(|closing| (closing.clone(), change.confidential)).collect();
        if known == stated {
            return Ok(());
        }
        self.connection
            .prepare_cached("DELETE FROM list_closes WHERE project = ?1 AND kind = ?2 AND key = ?3")?
            .execute(item)?;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO list_closes (project, kind, key, closer, closed, confidential) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        for (Closing { closer, closed }, confidential) in &stated {
            insert.execute(params![item[0], item[1], item[2], closer, closed, confidential])?;
        }
        drop(insert);
        for (closing, _) in known.symmetric_difference(&stated) {
            self.note_ends(&change.project, closing)?;
        }
        Ok(())
    }

    /// Notes the threads that close a thread or that it closes.
    pub(super) fn note_linked(&mut self, thread: &ThreadId) -> Result<(), LedgerError> {
        let mut closings = BTreeSet::new();
        {
            let mut statement = self.connection.prepare_cached(
                "SELECT closer, closed FROM list_closes INDEXED BY list_closes_closer WHERE project = ?1 AND closer = ?2
                 UNION ALL
                 SELECT closer, closed FROM list_closes INDEXED BY list_closes_closed WHERE project = ?1 AND closed = ?2",
            )?;
            let mut rows = statement.query([&thread.project, &thread.local_reference()])?;
            while let Some(row) = rows.next()? {
                closings.insert(Closing::read(row)?);
            }
        }
        closings.iter().try_for_each(|closing| self.note_ends(&thread.project, closing))
    }

    fn note_ends(&mut self, project: &str, closing: &Closing) -> Result<(), LedgerError> {
        for key in [&closing.closer, &closing.closed] {
            if let Some(thread) = thread_at(project, key) {
                self.note(threads::id(&thread))?;
            }
        }
        Ok(())
    }

    /// Replaces the commits that a merge request was merged as.
    pub(super) fn replace_merges(
        &mut self,
        mr: &ThreadId,
        merged_as: &BTreeSet<String>,
        is_same: bool,
    ) -> Result<(), LedgerError> {
        let (project, via) = (&mr.project, mr.local_reference());
        let known = self.texts(
            "SELECT sha FROM list_merges INDEXED BY list_merges_via
             WHERE project = ?1 AND via = ?2 AND source = 'merge_request'",
            [project, &via],
        )?;
        if is_same && known == *merged_as {
            return Ok(());
        }
        self.note_merged_as(project, &via)?;
        self.connection
            .prepare_cached(
                "DELETE FROM list_merges INDEXED BY list_merges_via
                 WHERE project = ?1 AND via = ?2 AND source = 'merge_request'",
            )?
            .execute([project, &via])?;
        for sha in merged_as {
            self.add_merge(project, sha, &via, "merge_request")?;
        }
        self.note_merged_as(project, &via)
    }

    /// Replaces the merge requests that a merge is of although their forge names another commit.
    pub(super) fn replace_requests_of_merge(
        &mut self,
        project: &str,
        merge: &str,
        requests: &BTreeSet<String>,
    ) -> Result<(), LedgerError> {
        let known = self.texts(
            "SELECT via FROM list_merges WHERE project = ?1 AND sha = ?2 AND source = 'merge' AND via LIKE '!%'",
            [project, merge],
        )?;
        if known == *requests {
            return Ok(());
        }
        self.connection
            .prepare_cached(
                "DELETE FROM list_merges WHERE project = ?1 AND sha = ?2 AND source = 'merge' AND via LIKE '!%'",
            )?
            .execute([project, merge])?;
        for via in requests {
            self.add_merge(project, merge, via, "merge")?;
        }
        self.note(commits::id(project, merge))?;
        self.note_introduced(project, merge)
    }

    pub(super) fn add_merge(
        &self,
        project: &str,
        sha: &str,
        via: &str,
        source: &'static str,
    ) -> Result<(), LedgerError> {
        self.connection
            .prepare_cached("INSERT OR IGNORE INTO list_merges (project, sha, via, source) VALUES (?1, ?2, ?3, ?4)")?
            .execute([project, sha, via, source])?;
        Ok(())
    }

    /// Notes the commits that a merge request was merged as, as any item states it, and what they introduced.
    fn note_merged_as(&mut self, project: &str, via: &str) -> Result<(), LedgerError> {
        if self.is_load() {
            return Ok(());
        }
        let merged_as = self.texts(
            "SELECT sha FROM list_merges INDEXED BY list_merges_via WHERE project = ?1 AND via = ?2",
            [project, via],
        )?;
        for sha in merged_as {
            self.note(commits::id(project, &sha))?;
            self.note_introduced(project, &sha)?;
        }
        Ok(())
    }

    /// Notes the commits that a merge introduced, also those that merges among them did.
    pub(super) fn note_introduced(&mut self, project: &str, merge: &str) -> Result<(), LedgerError> {
        if self.is_load() {
            return Ok(());
        }
        let mut merges = BTreeSet::from([merge.to_owned()]);
        for _ in 0..commits::MAX_MERGES {
            let mut introduced = BTreeSet::new();
            for merge in &merges {
                introduced.extend(self.texts(
                    "SELECT sha FROM list_merges INDEXED BY list_merges_via WHERE project = ?1 AND via = ?2",
                    [project, merge],
                )?);
            }
            for sha in &introduced {
                self.note(commits::id(project, sha))?;
            }
            merges = introduced;
        }
        Ok(())
    }

    pub(super) fn texts(&self, sql: &'static str, bind: [&str; 2]) -> Result<BTreeSet<String>, LedgerError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_map(bind, |row| row.get(0))?.collect::<Result<_, _>>()?)
    }
}

/// The issue or merge request of a key as `#12` or `!7`.
pub(super) fn thread_at(project: &str, key: &str) -> Option<ThreadId> {
    let kind = [ThreadKind::Issue, ThreadKind::MergeRequest].into_iter().find(|kind| key.starts_with(kind.sigil()))?;
    Some(ThreadId { project: project.to_owned(), kind, iid: key.get(1..)?.parse().ok()? })
}

/// What a merge request or commit closes within its project; nothing else closes anything. What closes something in
/// another project is in the graph.
pub(super) fn closing(closer: &NodeId, closed: &ThreadId) -> Option<Closing> {
    let (project, closer) = match closer {
        // Where they share their numbers, a text may call a merge request an issue.
        NodeId::Thread(id) => (&id.project, format!("{}{}", ThreadKind::MergeRequest.sigil(), id.iid)),
        NodeId::Commit { project, sha } => (project, sha.clone()),
        _ => return None,
    };
    (*project == closed.project).then(|| Closing { closer, closed: closed.local_reference() })
}

/// What the forge lists beside an issue or merge request.
pub(super) fn closings_of_thread(item: &Item) -> BTreeSet<Closing> {
    match item {
        Item::Issue(issue) => {
            let closers = issue.closed_by_requests.iter();
            closers.filter_map(|mr| closing(&NodeId::Thread(mr.clone()), &issue.id)).collect()
        }
        Item::MergeRequest(mr) => {
            let own = NodeId::Thread(mr.id.clone());
            mr.closes.iter().filter_map(|issue| closing(&own, issue)).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// The commits that a merge request was merged as.
pub(super) fn merged_as(item: &Item) -> BTreeSet<String> {
    match item {
        Item::MergeRequest(mr) if mr.merged_at.is_some() => {
            let commits = [&mr.merge_commit_sha, &mr.squash_commit_sha, &mr.head_sha];
            commits.into_iter().flatten().map(|sha| sha.to_ascii_lowercase()).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// What the message of a commit closes, and the merge requests of its project that it was merged through.
pub(super) fn message_links(of: &RepositoryItem, record: &CommitRecord) -> (BTreeSet<Closing>, BTreeSet<String>) {
    let findings = message::parse_references(&record.commit.message, of.context());
    let own = NodeId::commit(&of.project, &record.commit.sha.to_string());
    let closings = findings.closes.iter().filter_map(|closed| closing(&own, &closed.issue)).collect();
    let requests = findings.introduced_by.iter().map(|carrier| &carrier.request);
    let requests = requests.filter(|mr| mr.project == of.project);
    let sigil = ThreadKind::MergeRequest.sigil();
    (closings, requests.map(|mr| format!("{sigil}{}", mr.iid)).collect())
}
