//! Commits as rows.

use std::collections::BTreeSet;

use backstory_model::{
    classify::{self, ChangeType},
    entity::ItemKind,
    id::NodeId,
    repository::{CommitRecord, identity_key},
    word_filter::{WordFilter, WordHash},
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};

use super::{
    columns::{count, names, names_to_json, text, time, to_i64},
    entry::{Entry, EntryId, Field, Key, ListKind, path_and_directories},
    people,
    select::{Condition, Direction, Facet, Order, Place, Reader, Selection, TimeRange},
};
use crate::ledger_error::LedgerError;

/// Deepest nesting of merges that is followed to the merge request that introduced a commit.
pub(super) const MAX_MERGES: usize = 4;

/// Requests commits, in the order of their corrected dates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommitQuery {
    /// Full paths of projects; empty for all.
    pub projects: Vec<String>,
    /// Kinds; empty for all but those that no indexed branch reaches.
    pub kinds: Vec<CommitKind>,
    /// People who wrote them, by user name or address; empty for all.
    pub authors: Vec<String>,
    /// Paths of files or directories that they change; empty for all.
    pub paths: Vec<String>,
    /// Change types; empty for all.
    pub change_types: Vec<ChangeType>,
    /// Numbers of the merge requests that introduced them; empty for all.
    pub merge_requests: Vec<u64>,
    /// Whether a merge request introduced them.
    pub introduced: Option<bool>,
    /// Their names, of one project; `None` for all. How many there may be is for the caller to limit.
    pub shas: Option<Vec<String>>,
    /// When they were made.
    pub committed: TimeRange,
    /// When they were written.
    pub authored: TimeRange,
    /// Their order.
    pub order: CommitOrder,
    /// Its direction.
    pub direction: Direction,
}

/// An order of commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitOrder {
    /// When they were made, corrected so that none comes before its parents.
    #[default]
    Committed,
    /// When they were written.
    Authored,
}

/// What a commit is in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitKind {
    /// It has one parent or none.
    Commit,
    /// It has several parents.
    Merge,
    /// No indexed branch reaches it any more.
    Unreachable,
}

impl CommitKind {
    const ALL: [Self; 3] = [Self::Commit, Self::Merge, Self::Unreachable];

    fn as_str(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Merge => "merge",
            Self::Unreachable => "unreachable",
        }
    }
}

/// A commit in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitRow {
    /// Full path of its project.
    pub project: String,
    /// Its name.
    pub sha: String,
    /// What it is in the history.
    pub kind: CommitKind,
    /// First line of its message.
    pub title: String,
    /// Key of the identity that wrote it.
    pub author: String,
    /// Key of the identity that made it.
    pub committer: String,
    /// When it was made, corrected.
    pub committed_at: Timestamp,
    /// When it was written.
    pub authored_at: Timestamp,
    /// What it changes; `None` for a merge.
    pub change_type: Option<ChangeType>,
    /// Lines that it adds.
    pub insertions: u64,
    /// Lines that it removes.
    pub deletions: u64,
    /// Paths that it changes, also those before a rename, sorted.
    pub paths: Vec<String>,
    /// Number of the merge request that introduced it.
    pub merge_request: Option<u64>,
}

impl CommitRow {
    /// Its id as a node.
    pub fn node_id(&self) -> NodeId {
        NodeId::commit(&self.project, &self.sha)
    }

    pub(super) fn find(connection: &Connection, project: &str, sha: &Key) -> Result<Option<Self>, LedgerError> {
        let mut statement = connection.prepare_cached(
            "SELECT project, sha, kind, title, author, committer, committed_at, authored_at, change_type, insertions,
                deletions, paths, merge_request
             FROM list_commits WHERE project = ?1 AND sha = ?2",
        )?;
        Ok(statement.query_row(params![project, sha], Self::read).optional()?)
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let kind = text(row, 2)?;
        let change_type: Option<String> = row.get(8)?;
        Ok(Self {
            project: row.get(0)?,
            sha: row.get(1)?,
            kind: CommitKind::ALL.into_iter().find(|own| own.as_str() == kind).unwrap_or(CommitKind::Commit),
            title: row.get(3)?,
            author: row.get(4)?,
            committer: row.get(5)?,
            committed_at: time(row, 6)?,
            authored_at: time(row, 7)?,
            change_type: ChangeType::ALL.into_iter().find(|own| Some(own.as_str()) == change_type.as_deref()),
            insertions: count(row, 9)?,
            deletions: count(row, 10)?,
            paths: names(row, 11)?,
            merge_request: row.get::<_, Option<i64>>(12)?.map(i64::unsigned_abs),
        })
    }

    pub(super) fn entry(&self) -> Entry {
        let mut values = BTreeSet::from([(Field::Author, self.author.clone())]);
        values.extend(self.change_type.map(|change| (Field::ChangeType, change.as_str().to_owned())));
        values.extend(self.merge_request.map(|iid| (Field::MergeRequest, iid.to_string())));
        let paths = self.paths.iter().flat_map(|path| path_and_directories(path));
        values.extend(paths.map(|path| (Field::Path, path.to_owned())));
        Entry {
            part: self.kind.as_str(),
            confidential: false,
            main_order: self.committed_at.into(),
            other_order: Some(self.authored_at.into()),
            values,
            orders: Vec::new(),
            days: vec![(Field::CreatedOn, self.committed_at)],
        }
    }
}

pub(super) fn id(project: &str, sha: &str) -> EntryId {
    EntryId { list: ListKind::Commit, project: project.to_owned(), key: Key::Text(sha.to_owned()) }
}

/// Writes the columns that come from the commit itself.
pub(super) fn write(connection: &Connection, project: &str, record: &CommitRecord) -> Result<(), LedgerError> {
    let commit = &record.commit;
    let kind = match (record.rewritten, commit.is_merge()) {
        (true, _) => CommitKind::Unreachable,
        (false, true) => CommitKind::Merge,
        (false, false) => CommitKind::Commit,
    };
    let change = classify::classify_commit(commit);
    let (insertions, deletions) = commit.line_counts();
    let changes = if commit.is_merge() { &[][..] } else { &commit.changes };
    let paths = changes.iter().flat_map(|change| [Some(&change.path), change.old_path.as_ref()]).flatten();
    let (author, committer) = (&commit.author, &commit.committer);
    connection
        .prepare_cached(
            "INSERT INTO list_commits (project, sha, kind, title, author, committer, committed_at, authored_at,
                change_type, insertions, deletions, paths, removed_words)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .execute(params![
            project,
            commit.sha.to_string(),
            kind.as_str(),
            commit.title(),
            identity_key(&author.name, &author.email),
            identity_key(&committer.name, &committer.email),
            record.corrected_at.unwrap_or(committer.at).as_millisecond(),
            author.at.as_millisecond(),
            change.map(|change| change.main.kind.as_str()),
            to_i64(insertions),
            to_i64(deletions),
            names_to_json(paths.map(|path| path.as_str())),
            commit.removed_words.as_ref().map(WordFilter::as_bytes),
        ])?;
    Ok(())
}

/// Whether a commit may remove a line that has all of some words. `true` if that is not known.
pub(super) fn may_remove(
    connection: &Connection,
    project: &str,
    sha: &str,
    words: &[WordHash],
) -> Result<bool, LedgerError> {
    let filter: Option<Option<Vec<u8>>> = connection
        .prepare_cached("SELECT removed_words FROM list_commits WHERE project = ?1 AND sha = ?2")?
        .query_row(params![project, sha], |row| row.get(0))
        .optional()?;
    let filter = filter.flatten().map(WordFilter::from_bytes);
    Ok(filter.is_none_or(|filter| filter.may_have_all(words)))
}

/// Computes the merge request that introduced a commit: the nearest that it or a merge of it was merged through.
pub(super) fn derive(connection: &Connection, project: &str, sha: &Key) -> Result<(), LedgerError> {
    let mut merge_request: Option<i64> = None;
    let mut commit = sha.clone();
    for _ in 0..=MAX_MERGES {
        merge_request = connection
            .prepare_cached(
                "SELECT MIN(t.iid) FROM list_merges AS m
                 CROSS JOIN list_threads AS t ON t.project = m.project AND t.kind = ?3
                    AND t.iid = CAST(substr(m.via, 2) AS INTEGER)
                 WHERE m.project = ?1 AND m.sha = ?2 AND m.via LIKE '!%' AND NOT t.confidential",
            )?
            .query_row(params![project, commit, ItemKind::MergeRequest.as_str()], |row| row.get(0))?;
        if merge_request.is_some() {
            break;
        }
        let merge: Option<Key> = connection
            .prepare_cached("SELECT MIN(via) FROM list_merges WHERE project = ?1 AND sha = ?2 AND via NOT LIKE '!%'")?
            .query_row(params![project, commit], |row| row.get(0))?;
        let Some(merge) = merge else { break };
        commit = merge;
    }
    connection
        .prepare_cached("UPDATE list_commits SET merge_request = ?3 WHERE project = ?1 AND sha = ?2")?
        .execute(params![project, sha, merge_request])?;
    Ok(())
}

/// When commits of these names were made, so that a page of them does not read all others.
fn span_of(connection: &Connection, projects: &[String], shas: &[String]) -> Result<TimeRange, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT MIN(committed_at), MAX(committed_at) FROM list_commits
         WHERE project IN (SELECT value FROM json_each(?1)) AND sha IN (SELECT value FROM json_each(?2))",
    )?;
    let json = |names: &[String]| serde_json::json!(names).to_string();
    let (first, last): (Option<i64>, Option<i64>) =
        statement.query_row(params![json(projects), json(shas)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let at = |ms: i64| Timestamp::from_millisecond(ms).ok();
    Ok(TimeRange { from: first.and_then(at), to: last.and_then(|last| at(last.saturating_add(1))) })
}

fn has_merge_request(is_introduced: bool) -> Condition {
    Condition::names(if is_introduced { "t.merge_request IS NOT NULL" } else { "t.merge_request IS NULL" }, &[])
}

impl CommitQuery {
    pub(super) fn selection(&self, connection: &Connection, reader: Reader<'_>) -> Result<Selection, LedgerError> {
        let mut authors = Vec::new();
        for author in &self.authors {
            authors.extend(people::keys(connection, reader, author)?);
        }
        let types: Vec<String> = self.change_types.iter().map(|change| change.as_str().to_owned()).collect();
        let requests: Vec<String> = self.merge_requests.iter().map(u64::to_string).collect();
        let facets = [
            Facet::any(Field::Author, &authors, "t.author COLLATE NOCASE IN (SELECT value FROM json_each(?))"),
            Facet::any_of_several(Field::Path, &self.paths, any_is_within!("t.paths")).map(Facet::exact),
            Facet::any(Field::ChangeType, &types, "t.change_type IN (SELECT value FROM json_each(?))"),
            Facet::any(Field::MergeRequest, &requests, "t.merge_request IN (SELECT value + 0 FROM json_each(?))"),
        ];
        let kinds: &[CommitKind] =
            if self.kinds.is_empty() { &[CommitKind::Commit, CommitKind::Merge] } else { &self.kinds };
        let mut conditions: Vec<Condition> = self.introduced.map(has_merge_request).into_iter().collect();
        let mut committed = self.committed;
        if let Some(shas) = &self.shas {
            conditions.push(Condition::names("v.key IN (SELECT value FROM json_each(?))", shas));
            committed = committed.within(span_of(connection, &self.projects, shas)?);
        }
        Ok(Selection {
            list: ListKind::Commit,
            projects: self.projects.clone(),
            parts: kinds.iter().map(|kind| kind.as_str()).collect(),
            facets: facets.into_iter().flatten().collect(),
            flags: Vec::new(),
            conditions,
            ranges: vec![(Place::Main, "t.committed_at", committed), (Place::Other, "t.authored_at", self.authored)],
            order: match self.order {
                CommitOrder::Committed => Order::Main,
                CommitOrder::Authored => Order::Other,
            },
            direction: self.direction,
        })
    }
}
