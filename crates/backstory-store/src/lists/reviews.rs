//! First reviews of merge requests: what discussions state of them, and which one is the first.

use std::collections::BTreeMap;

use backstory_model::{
    entity::{Discussion, find_first_review},
    id::ThreadKind,
};
use rusqlite::{Connection, params};

use super::{
    columns::from_json,
    entry::{EntryId, ListKind},
};
use crate::ledger_error::LedgerError;

/// The first note of each author of a discussion on a merge request, as a JSON array of pairs: a user name, or null for a
/// deleted account, and a time. Empty if the discussion is on an issue.
pub(super) fn first_notes(discussion: &Discussion) -> String {
    let mut first: BTreeMap<Option<&str>, i64> = BTreeMap::new();
    if discussion.thread.kind == ThreadKind::MergeRequest {
        for note in &discussion.notes {
            let at = note.created_at.as_millisecond();
            let known = first.entry(note.author.as_deref()).or_insert(at);
            *known = at.min(*known);
        }
    }
    let pairs: Vec<(Option<&str>, i64)> = first.into_iter().collect();
    serde_json::json!(pairs).to_string()
}

/// When the first review of a merge request was written, by the tables of issues and merge requests and of discussions;
/// `None` if there is none. `short` is its reference within the project.
pub(super) fn read_first_review(
    connection: &Connection,
    id: &EntryId,
    short: &str,
) -> Result<Option<i64>, LedgerError> {
    if id.list != ListKind::MergeRequest {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached(
        "SELECT t.author, d.first_notes
         FROM list_threads AS t CROSS JOIN list_discussions AS d INDEXED BY list_discussions_thread
            ON d.project = t.project AND d.thread = ?4 AND d.confidential <= t.confidential
         WHERE t.project = ?1 AND t.kind = ?2 AND t.iid = ?3",
    )?;
    let mut rows = statement.query(params![id.project, id.list.as_str(), id.key, short])?;
    let mut first: Option<i64> = None;
    while let Some(row) = rows.next()? {
        let author: Option<String> = row.get(0)?;
        let notes: Vec<(Option<String>, i64)> = from_json(row, 1)?;
        let notes = notes.iter().map(|(writer, at)| (writer.as_deref(), *at));
        first = first.into_iter().chain(find_first_review(author.as_deref(), notes)).min();
    }
    Ok(first)
}
