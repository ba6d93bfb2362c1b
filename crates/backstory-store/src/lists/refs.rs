//! Branches and tags as rows.

use std::collections::BTreeSet;

use backstory_model::repository::Record;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use super::{
    columns::optional_time,
    entry::{Entry, EntryId, Key, ListKind},
    select::{Direction, Selection},
};
use crate::ledger_error::LedgerError;

/// Requests branches or tags, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefQuery {
    /// Which of the two.
    pub kind: RefKind,
    /// Full paths of projects; empty for all.
    #[serde(default)]
    pub projects: Vec<String>,
    /// Direction of the order.
    #[serde(default)]
    pub direction: Direction,
}

/// A branch or a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefKind {
    /// An indexed branch.
    Branch,
    /// A tag.
    Tag,
}

/// A branch or tag in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefRow {
    /// Full path of its project.
    pub project: String,
    /// Its name.
    pub name: String,
    /// The commit that it points at.
    pub sha: String,
    /// Whether it is the default branch.
    pub is_default: bool,
    /// When an annotated tag was made.
    pub tagged_at: Option<Timestamp>,
}

impl From<RefKind> for ListKind {
    fn from(kind: RefKind) -> Self {
        match kind {
            RefKind::Branch => Self::Branch,
            RefKind::Tag => Self::Tag,
        }
    }
}

impl RefRow {
    pub(super) fn find(
        connection: &Connection,
        list: ListKind,
        project: &str,
        name: &Key,
    ) -> Result<Option<Self>, LedgerError> {
        let mut statement = connection.prepare_cached(
            "SELECT project, name, sha, is_default, tagged_at FROM list_refs
             WHERE project = ?1 AND kind = ?2 AND name = ?3",
        )?;
        let found = statement.query_row(params![project, list.as_str(), name], |row| {
            Ok(Self {
                project: row.get(0)?,
                name: row.get(1)?,
                sha: row.get(2)?,
                is_default: row.get(3)?,
                tagged_at: optional_time(row, 4)?,
            })
        });
        Ok(found.optional()?)
    }

    pub(super) fn entry(&self) -> Entry {
        Entry {
            part: "",
            confidential: false,
            main_order: Key::Text(self.name.clone()),
            other_order: None,
            values: BTreeSet::new(),
            orders: Vec::new(),
            days: Vec::new(),
        }
    }
}

pub(super) fn id(list: ListKind, project: &str, name: &str) -> EntryId {
    EntryId { list, project: project.to_owned(), key: Key::Text(name.to_owned()) }
}

pub(super) fn delete(connection: &Connection, id: &EntryId) -> Result<(), LedgerError> {
    connection
        .prepare_cached("DELETE FROM list_refs WHERE project = ?1 AND kind = ?2 AND name = ?3")?
        .execute(params![id.project, id.list.as_str(), id.key])?;
    Ok(())
}

/// Writes a branch or tag.
pub(super) fn write(connection: &Connection, id: &EntryId, record: &Record) -> Result<(), LedgerError> {
    let (sha, is_default, tagged_at) = match record {
        Record::Branch(branch) => (branch.branch.tip, branch.default, None),
        Record::Tag(tag) => {
            let tagger = tag.annotation.as_ref().and_then(|annotation| annotation.tagger.as_ref());
            (tag.target, false, tagger.map(|tagger| tagger.at.as_millisecond()))
        }
        _ => return Ok(()),
    };
    connection
        .prepare_cached(
            "INSERT INTO list_refs (project, kind, name, sha, is_default, tagged_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![id.project, id.list.as_str(), id.key, sha.to_string(), is_default, tagged_at])?;
    Ok(())
}

impl RefQuery {
    pub(super) fn selection(&self) -> Selection {
        Selection { direction: self.direction, ..Selection::all(self.kind.into(), self.projects.clone()) }
    }
}
