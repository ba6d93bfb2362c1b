//! Discussions as rows: those with notes of people.

use std::collections::BTreeSet;

use backstory_model::{
    code::Lines,
    entity::{Discussion, SystemEvent},
    id::{NodeId, ThreadId, ThreadKind},
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};

use super::{
    columns::{count, mentions, names, names_to_json, names_with_times, time, to_i64},
    entry::{Entry, EntryId, Field, Key, ListKind, path_and_directories},
    reviews::first_notes,
    select::{Direction, Facet, Order, Place, Selection, TimeRange},
};
use crate::ledger_error::LedgerError;

/// Requests discussions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiscussionQuery {
    /// Full paths of projects; empty for all.
    pub projects: Vec<String>,
    /// The issue or merge request that they belong to.
    pub thread: Option<ThreadId>,
    /// User names of those who started them; empty for all.
    pub authors: Vec<String>,
    /// User names of those who wrote a note of them; empty for all.
    pub participants: Vec<String>,
    /// User names of people whom their notes mention; empty for all.
    pub mentioned: Vec<String>,
    /// Paths of files or directories that their first note is on; empty for all.
    pub paths: Vec<String>,
    /// Whether they are resolved; those that cannot be resolved are neither.
    pub resolved: Option<bool>,
    /// When they were started.
    pub created: TimeRange,
    /// When their last note was written.
    pub last_note: TimeRange,
    /// Their order.
    pub order: DiscussionOrder,
    /// Its direction.
    pub direction: Direction,
}

/// An order of discussions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscussionOrder {
    /// When their last note was written.
    #[default]
    LastNote,
    /// When they were started.
    Created,
}

/// A discussion in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscussionRow {
    /// The issue or merge request that it belongs to.
    pub thread: ThreadId,
    /// The forge's id.
    pub id: String,
    /// User name of who started it; `None` for a deleted account.
    pub author: Option<String>,
    /// When it was started.
    pub created_at: Timestamp,
    /// When its last note was written.
    pub last_note_at: Timestamp,
    /// Its notes.
    pub notes: u64,
    /// Whether it can be resolved.
    pub resolvable: bool,
    /// Whether it is resolved.
    pub resolved: bool,
    /// The file that its first note is on, as the change leaves it.
    pub path: Option<String>,
    /// The lines there.
    pub lines: Option<Lines>,
    /// Whether only some may see it.
    pub confidential: bool,
    /// User names of those who wrote its notes, sorted.
    pub participants: Vec<String>,
    /// User names of those whom its notes mention, sorted.
    pub mentioned: Vec<String>,
    /// On a merge request: user name of each who wrote notes, `None` for a deleted account, and when the first one was
    /// written.
    pub first_notes: Vec<(Option<String>, Timestamp)>,
}

impl DiscussionRow {
    /// Its id as a node.
    pub fn node_id(&self) -> NodeId {
        NodeId::Discussion { thread: self.thread.clone(), id: self.id.clone() }
    }

    pub(super) fn find(connection: &Connection, project: &str, key: &Key) -> Result<Option<Self>, LedgerError> {
        let mut statement = connection.prepare_cached(
            "SELECT project, key, thread, author, created_at, last_note_at, notes, resolvable, resolved, path, first_line,
                last_line, confidential, people, mentions, first_notes
             FROM list_discussions WHERE project = ?1 AND key = ?2",
        )?;
        Ok(statement.query_row(params![project, key], Self::read).optional()?)
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (key, thread): (String, String) = (row.get(1)?, row.get(2)?);
        let lines = row.get::<_, Option<u32>>(10)?.zip(row.get::<_, Option<u32>>(11)?);
        Ok(Self {
            id: key.strip_prefix(&thread).unwrap_or(&key).trim_start_matches('~').to_owned(),
            thread: thread_from_key(row.get(0)?, &thread),
            author: row.get(3)?,
            created_at: time(row, 4)?,
            last_note_at: time(row, 5)?,
            notes: count(row, 6)?,
            resolvable: row.get(7)?,
            resolved: row.get(8)?,
            path: row.get(9)?,
            lines: lines.map(|(first, last)| Lines::new(first, last)),
            confidential: row.get(12)?,
            participants: names(row, 13)?,
            mentioned: names(row, 14)?,
            first_notes: names_with_times(row, 15)?,
        })
    }

    pub(super) fn entry(&self) -> Entry {
        let mut values = BTreeSet::from([(Field::Thread, self.thread.local_reference())]);
        values.extend(self.author.iter().map(|author| (Field::Author, author.clone())));
        values.extend(self.participants.iter().map(|name| (Field::Participant, name.clone())));
        values.extend(self.mentioned.iter().map(|name| (Field::Mentioned, name.clone())));
        let paths = self.path.iter().flat_map(|path| path_and_directories(path));
        values.extend(paths.map(|path| (Field::Path, path.to_owned())));
        Entry {
            part: part(self.resolvable.then_some(self.resolved)),
            confidential: self.confidential,
            main_order: self.last_note_at.into(),
            other_order: Some(self.created_at.into()),
            values,
            orders: Vec::new(),
            days: vec![(Field::CreatedOn, self.created_at)],
        }
    }
}

fn part(resolved: Option<bool>) -> &'static str {
    match resolved {
        None => "not resolvable",
        Some(false) => "unresolved",
        Some(true) => "resolved",
    }
}

/// The issue or merge request of a key of the ledger.
fn thread_from_key(project: String, key: &str) -> ThreadId {
    let kind = if key.starts_with(ThreadKind::Issue.sigil()) { ThreadKind::Issue } else { ThreadKind::MergeRequest };
    ThreadId { project, kind, iid: key.get(1..).and_then(|iid| iid.parse().ok()).unwrap_or_default() }
}

pub(super) fn id(project: &str, key: &str) -> EntryId {
    EntryId { list: ListKind::Discussion, project: project.to_owned(), key: Key::Text(key.to_owned()) }
}

/// Writes a discussion, unless it has no notes of people.
pub(super) fn write(
    connection: &Connection,
    key: &str,
    discussion: &Discussion,
    confidential: bool,
) -> Result<(), LedgerError> {
    let (Some(first), Some(last)) = (discussion.notes.first(), discussion.notes.last()) else { return Ok(()) };
    let position = first.position.as_ref();
    let lines = position.and_then(|position| position.new_lines);
    let people = discussion.notes.iter().filter_map(|note| note.author.as_ref());
    let project = &discussion.thread.project;
    let mentioned =
        discussion.notes.iter().flat_map(|note| mentions(&note.body, discussion.forge, &discussion.web_url, project));
    connection
        .prepare_cached(
            "INSERT INTO list_discussions (project, key, thread, author, created_at, last_note_at, notes, resolvable,
                resolved, path, first_line, last_line, confidential, people, mentions, first_notes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?
        .execute(params![
            discussion.thread.project,
            key,
            discussion.thread.local_reference(),
            first.author,
            first.created_at.as_millisecond(),
            last.created_at.as_millisecond(),
            to_i64(discussion.notes.len() as u64),
            discussion.is_resolvable(),
            discussion.is_resolved(),
            position.map(|position| &position.new_path),
            lines.map(|lines| lines.0),
            lines.map(|lines| lines.1),
            confidential,
            names_to_json(people),
            names_to_json(mentioned),
            first_notes(discussion),
        ])?;
    Ok(())
}

/// Deletes what a discussion states of who was asked for a review.
pub(super) fn delete_review_requests(connection: &Connection, project: &str, key: &str) -> Result<(), LedgerError> {
    connection
        .prepare_cached("DELETE FROM list_review_requests WHERE project = ?1 AND key = ?2")?
        .execute([project, key])?;
    Ok(())
}

/// Writes who was asked for a review, as a discussion states it. One without notes of people states it too.
pub(super) fn write_review_requests(
    connection: &Connection,
    key: &str,
    discussion: &Discussion,
    confidential: bool,
) -> Result<(), LedgerError> {
    let mut insert = connection.prepare_cached(
        "INSERT OR IGNORE INTO list_review_requests (project, key, person, thread, confidential)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let (project, thread) = (&discussion.thread.project, discussion.thread.local_reference());
    for event in &discussion.events {
        if let SystemEvent::ReviewRequested(person) = event {
            insert.execute(params![project, key, person, thread, confidential])?;
        }
    }
    Ok(())
}

impl DiscussionQuery {
    pub(super) fn selection(&self) -> Selection {
        let thread = self.thread.as_ref();
        let in_list = "t.author COLLATE NOCASE IN (SELECT value FROM json_each(?))";
        let threads: Vec<String> = thread.iter().map(|thread| thread.local_reference()).collect();
        let facets = [
            Facet::any(Field::Thread, &threads, "t.thread IN (SELECT value FROM json_each(?))").map(Facet::exact),
            Facet::any(Field::Author, &self.authors, in_list),
            Facet::any_of_several(Field::Participant, &self.participants, has_any!("t.people")),
            Facet::any_of_several(Field::Mentioned, &self.mentioned, has_any!("t.mentions")),
            Facet::any_of_several(Field::Path, &self.paths, is_within!("t.path")).map(Facet::exact),
        ];
        Selection {
            list: ListKind::Discussion,
            projects: thread.map_or_else(|| self.projects.clone(), |thread| vec![thread.project.clone()]),
            parts: self.resolved.map(|resolved| part(Some(resolved))).into_iter().collect(),
            facets: facets.into_iter().flatten().collect(),
            flags: Vec::new(),
            conditions: Vec::new(),
            ranges: vec![(Place::Main, "t.last_note_at", self.last_note), (Place::Other, "t.created_at", self.created)],
            order: match self.order {
                DiscussionOrder::LastNote => Order::Main,
                DiscussionOrder::Created => Order::Other,
            },
            direction: self.direction,
        }
    }
}
