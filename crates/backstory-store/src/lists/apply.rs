//! Applies changes of items to the tables: writes what an item states itself, and notes the rows that may follow from it:
//! the thread of a discussion, both ends of what closes what, the commits that a merge introduced.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    entity::{Item, ItemKind, SystemEvent},
    id::{ThreadId, ThreadKind},
    repository::{Record, RepositoryItem},
};
use rusqlite::params;

use super::{
    batch::Batch,
    code,
    columns::to_i64,
    commits, discussions,
    links::{closing, closings_of_thread, merged_as, message_links, thread_at},
    people, planning, projects, refs, threads,
};
use crate::{graph::GraphChange, ledger_error::LedgerError};

impl Batch<'_> {
    /// Applies a change.
    pub(super) fn apply(&mut self, change: &GraphChange) -> Result<(), LedgerError> {
        match change.kind {
            ItemKind::Issue | ItemKind::MergeRequest => self.apply_thread(change),
            ItemKind::Discussion => self.apply_discussion(change),
            ItemKind::Person | ItemKind::Identity => self.apply_person(change),
            ItemKind::Commit => self.apply_commit(change),
            ItemKind::Merge => self.apply_merge(change),
            ItemKind::Branch | ItemKind::Tag => self.apply_ref(change),
            ItemKind::File => self.apply_file(change),
            ItemKind::Importance => self.apply_importance(change),
            ItemKind::Project | ItemKind::Repository => self.apply_project(change),
            ItemKind::Label | ItemKind::Milestone => self.apply_planning(change),
            // They are in no list.
            ItemKind::Release | ItemKind::Shipment | ItemKind::FileLinks | ItemKind::CoChange => Ok(()),
        }
    }

    fn apply_thread(&mut self, change: &GraphChange) -> Result<(), LedgerError> {
        let kind = if change.kind == ItemKind::Issue { ThreadKind::Issue } else { ThreadKind::MergeRequest };
        let iid = change.key.strip_prefix(kind.sigil()).and_then(|iid| iid.parse().ok());
        let Some(iid) = iid else { return Ok(()) };
        let thread = ThreadId { project: change.project.clone(), kind, iid };
        self.note(threads::id(&thread))?;
        let visibility = self.thread_visibility(&thread)?;
        match &change.item {
            Some(item) => threads::write(self.connection, item, change.confidential)?,
            None => threads::delete(self.connection, &threads::id(&thread))?,
        }
        // Others depend on whether there is such a thread and on who may see it, not on what it says.
        let is_same = visibility == self.thread_visibility(&thread)?;
        let closings = change.item.as_ref().map(closings_of_thread).unwrap_or_default();
        self.replace_closings(change, &closings)?;
        if !is_same {
            self.note_linked(&thread)?;
        }
        if kind == ThreadKind::MergeRequest {
            let merged_as = change.item.as_ref().map(merged_as).unwrap_or_default();
            self.replace_merges(&thread, &merged_as, is_same)?;
        }
        Ok(())
    }

    fn thread_visibility(&self, thread: &ThreadId) -> Result<Option<bool>, LedgerError> {
        let id = threads::id(thread);
        let mut statement = self
            .connection
            .prepare_cached("SELECT confidential FROM list_threads WHERE project = ?1 AND kind = ?2 AND iid = ?3")?;
        let mut rows = statement.query(params![id.project, id.list.as_str(), id.key])?;
        Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
    }

    fn apply_discussion(&mut self, change: &GraphChange) -> Result<(), LedgerError> {
        self.note(discussions::id(&change.project, &change.key))?;
        if let Some(thread) = thread_at(&change.project, change.key.split('~').next().unwrap_or_default()) {
            self.note(threads::id(&thread))?;
        }
        self.connection
            .prepare_cached("DELETE FROM list_discussions WHERE project = ?1 AND key = ?2")?
            .execute([&change.project, &change.key])?;
        discussions::delete_review_requests(self.connection, &change.project, &change.key)?;
        let mut closings = BTreeSet::new();
        if let Some(Item::Discussion(discussion)) = &change.item {
            discussions::write(self.connection, &change.key, discussion, change.confidential)?;
            discussions::write_review_requests(self.connection, &change.key, discussion, change.confidential)?;
            let closed_by = discussion.events.iter().filter_map(|event| match event {
                SystemEvent::ClosedBy(closer) => Some(closer),
                _ => None,
            });
            closings.extend(closed_by.filter_map(|closer| closing(closer, &discussion.thread)));
        }
        self.replace_closings(change, &closings)
    }

    fn apply_person(&mut self, change: &GraphChange) -> Result<(), LedgerError> {
        let project = &change.project;
        people::delete(self.connection, project, change.kind, &change.key)?;
        match &change.item {
            Some(Item::Person(person)) => {
                people::write_person(self.connection, project, &change.key, person, change.confidential)
            }
            Some(Item::Identity(identity)) => {
                people::write_identity(self.connection, project, identity, change.confidential)
            }
            _ => Ok(()),
        }
    }

    fn apply_commit(&mut self, change: &GraphChange) -> Result<(), LedgerError> {
        let (project, sha) = (&change.project, &change.key);
        self.note(commits::id(project, sha))?;
        self.connection
            .prepare_cached("DELETE FROM list_commits WHERE project = ?1 AND sha = ?2")?
            .execute([project, sha])?;
        let (mut closings, mut vias) = (BTreeSet::new(), BTreeSet::new());
        if let Some((of, Record::Commit(record))) = record(change) {
            commits::write(self.connection, project, record)?;
            (closings, vias) = message_links(of, record);
        }
        self.replace_closings(change, &closings)?;
        let known = self.texts(
            "SELECT via FROM list_merges WHERE project = ?1 AND sha = ?2 AND source = 'commit'",
            [project, sha],
        )?;
        if known == vias {
            return Ok(());
        }
        self.connection
            .prepare_cached("DELETE FROM list_merges WHERE project = ?1 AND sha = ?2 AND source = 'commit'")?
            .execute([project, sha])?;
        for via in &vias {
            self.add_merge(project, sha, via, "commit")?;
        }
        self.note_introduced(project, sha)
    }

    fn apply_merge(&mut self, change: &GraphChange) -> Result<(), LedgerError> {
        let (project, merge) = (&change.project, &change.key);
        let (mut introduced, mut requests) = (BTreeSet::new(), BTreeSet::new());
        if let Some((_, Record::Merge(merge))) = record(change) {
            introduced.extend(merge.brought.iter().map(ToString::to_string));
            let sigil = ThreadKind::MergeRequest.sigil();
            requests.extend(merge.requests.iter().map(|iid| format!("{sigil}{iid}")));
        }
        self.replace_requests_of_merge(project, merge, &requests)?;
        let known = self.texts(
            "SELECT sha FROM list_merges INDEXED BY list_merges_via WHERE project = ?1 AND via = ?2 AND source = 'merge'",
            [project, merge],
        )?;
        if known == introduced {
            return Ok(());
        }
        self.note_introduced(project, merge)?;
        self.connection
            .prepare_cached(
                "DELETE FROM list_merges INDEXED BY list_merges_via WHERE project = ?1 AND via = ?2 AND source = 'merge'",
            )?
            .execute([project, merge])?;
        for sha in &introduced {
            self.add_merge(project, sha, merge, "merge")?;
        }
        self.note_introduced(project, merge)
    }

    fn apply_ref(&mut self, change: &GraphChange) -> Result<(), LedgerError> {
        let record = record(change).map(|(_, record)| record);
        refs::write(self.connection, &change.project, change.kind, &change.key, record)
    }

    fn apply_project(&mut self, change: &GraphChange) -> Result<(), LedgerError> {
        let (path, key) = (&change.project, &change.key);
        match &change.item {
            Some(Item::Project(project)) => projects::write_project(self.connection, path, key, Some(project)),
            _ if change.kind == ItemKind::Project => projects::write_project(self.connection, path, key, None),
            item => projects::write_repository(self.connection, path, key, item.is_some()),
        }
    }

    fn apply_planning(&mut self, change: &GraphChange) -> Result<(), LedgerError> {
        let (project, key) = (&change.project, &change.key);
        match &change.item {
            Some(Item::Label(label)) => planning::write_label(self.connection, project, key, Some(label)),
            Some(Item::Milestone(milestone)) => {
                planning::write_milestone(self.connection, project, key, Some(milestone))
            }
            _ if change.kind == ItemKind::Label => planning::write_label(self.connection, project, key, None),
            _ => planning::write_milestone(self.connection, project, key, None),
        }
    }

    fn apply_file(&mut self, change: &GraphChange) -> Result<(), LedgerError> {
        let (project, path) = (&change.project, &change.key);
        self.note(code::file_id(project, path))?;
        for entity in code::entities_of(self.connection, project, path)? {
            self.note(entity)?;
        }
        code::delete(self.connection, project, path)?;
        if let Some((_, Record::File(file))) = record(change) {
            for entity in code::entity_ids(project, file) {
                self.note(entity)?;
            }
            code::write(self.connection, project, file)?;
        }
        Ok(())
    }

    fn apply_importance(&mut self, change: &GraphChange) -> Result<(), LedgerError> {
        let project = &change.project;
        let mut ranks: BTreeMap<String, i64> = BTreeMap::new();
        if let Some((_, Record::Importance(importance))) = record(change) {
            let own = importance.ranks.iter();
            ranks.extend(own.map(|(code, rank)| (code.clone(), to_i64(*rank))));
        }
        let mut known = BTreeMap::new();
        {
            let mut statement =
                self.connection.prepare_cached("SELECT code, importance FROM list_ranks WHERE project = ?1")?;
            let mut rows = statement.query([project])?;
            while let Some(row) = rows.next()? {
                known.insert(row.get::<_, String>(0)?, row.get::<_, i64>(1)?);
            }
        }
        for code in known.keys().filter(|code| !ranks.contains_key(*code)) {
            self.note(code::ranked_id(project, code))?;
            self.connection
                .prepare_cached("DELETE FROM list_ranks WHERE project = ?1 AND code = ?2")?
                .execute([project, code])?;
        }
        for (code, rank) in ranks.iter().filter(|(code, rank)| known.get(*code) != Some(rank)) {
            self.note(code::ranked_id(project, code))?;
            self.connection
                .prepare_cached("INSERT OR REPLACE INTO list_ranks (project, code, importance) VALUES (?1, ?2, ?3)")?
                .execute(params![project, code, rank])?;
        }
        Ok(())
    }
}

fn record(change: &GraphChange) -> Option<(&RepositoryItem, &Record)> {
    match &change.item {
        Some(Item::Repository(of)) => Some((of, &of.record)),
        _ => None,
    }
}
