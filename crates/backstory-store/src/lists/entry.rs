//! Entries: what `list_values` and `list_totals` have of a row of another table. Both follow from the entry alone, so a
//! change is the difference of two entries.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::entity::ItemKind;
use jiff::{Timestamp, tz::TimeZone};
use rusqlite::{
    Connection, ToSql, params,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};
use serde::{Deserialize, Serialize};

use crate::ledger_error::LedgerError;

/// A list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListKind {
    /// Issues.
    Issue,
    /// Merge requests.
    MergeRequest,
    /// Discussions with notes of people.
    Discussion,
    /// Commits.
    Commit,
    /// Files at the indexed heads.
    File,
    /// Code entities at the indexed heads.
    Entity,
}

impl ListKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Issue, Self::MergeRequest, Self::Discussion, Self::Commit, Self::File, Self::Entity];

    /// Its name, `merge_request`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Issue => ItemKind::Issue.as_str(),
            Self::MergeRequest => ItemKind::MergeRequest.as_str(),
            Self::Discussion => ItemKind::Discussion.as_str(),
            Self::Commit => ItemKind::Commit.as_str(),
            Self::File => ItemKind::File.as_str(),
            Self::Entity => "entity",
        }
    }
}

/// A column of `list_values` and `list_totals`: what the rows under it have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Field {
    /// Nothing: every row of a list is under it.
    All,
    /// What a row is or is not: `draft`, `unresolved`, `linked`.
    Is,
    Author,
    Assignee,
    Reviewer,
    /// A reviewer who was asked.
    Asked,
    Approver,
    Participant,
    Mentioned,
    Label,
    Milestone,
    Thread,
    /// The path of a file, or of a directory that has it.
    Path,
    ChangeType,
    MergeRequest,
    Language,
    DocumentType,
    Kind,
    Name,
    /// The last part of a name, whatever the convention that it is written in.
    Spelling,
    // Every row that has the order, in it.
    ByNumber,
    ByNotes,
    ByMerged,
    ByClosed,
    ByBytes,
    ByChanged,
    // Totals only; the value is a day.
    CreatedOn,
    MergedOn,
    ClosedOn,
}

impl Field {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Is => "is",
            Self::Author => "author",
            Self::Assignee => "assignee",
            Self::Reviewer => "reviewer",
            Self::Asked => "asked",
            Self::Approver => "approver",
            Self::Participant => "participant",
            Self::Mentioned => "mentioned",
            Self::Label => "label",
            Self::Milestone => "milestone",
            Self::Thread => "thread",
            Self::Path => "path",
            Self::ChangeType => "change_type",
            Self::MergeRequest => "merge_request",
            Self::Language => "language",
            Self::DocumentType => "document_type",
            Self::Kind => "kind",
            Self::Name => "name",
            Self::Spelling => "spelling",
            Self::ByNumber => "by number",
            Self::ByNotes => "by notes",
            Self::ByMerged => "by merged",
            Self::ByClosed => "by closed",
            Self::ByBytes => "by bytes",
            Self::ByChanged => "by changed",
            Self::CreatedOn => "created on",
            Self::MergedOn => "merged on",
            Self::ClosedOn => "closed on",
        }
    }
}

/// What orders or identifies a row: a number, also a time in ms since 1970, or a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Key {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

impl From<Timestamp> for Key {
    fn from(at: Timestamp) -> Self {
        Self::Number(at.as_millisecond())
    }
}

impl ToSql for Key {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Number(number) => number.to_sql(),
            Self::Text(text) => text.to_sql(),
        }
    }
}

impl FromSql for Key {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Integer(number) => Ok(Self::Number(number)),
            ValueRef::Text(_) => Ok(Self::Text(value.as_str()?.to_owned())),
            _ => Err(FromSqlError::InvalidType),
        }
    }
}

/// What identifies a row of a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntryId {
    pub(super) list: ListKind,
    pub(super) project: String,
    pub(super) key: Key,
}

/// What the lists have of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// State of a thread, kind of a commit: what nearly every page is restricted to.
    pub(super) part: &'static str,
    pub(super) confidential: bool,
    pub(super) main_order: Key,
    pub(super) other_order: Option<Key>,
    pub(super) values: BTreeSet<(Field, String)>,
    /// Further orders, each under a field of its own.
    pub(super) orders: Vec<(Field, i64)>,
    pub(super) days: Vec<(Field, Timestamp)>,
}

/// Place of a row in `list_values`, and what else it has.
type ValueRows = BTreeMap<(&'static str, Field, String, Key), (Option<Key>, bool)>;

impl Entry {
    fn value_rows(&self) -> ValueRows {
        let mut rows = BTreeMap::new();
        let own = |field, value: &str| (self.part, field, value.to_owned(), self.main_order.clone());
        rows.insert(own(Field::All, ""), (self.other_order.clone(), self.confidential));
        for (field, value) in &self.values {
            rows.insert(own(*field, value), (self.other_order.clone(), self.confidential));
        }
        for (field, order) in &self.orders {
            rows.insert((self.part, *field, String::new(), Key::Number(*order)), (None, self.confidential));
        }
        rows
    }

    fn counted(&self) -> impl Iterator<Item = (Field, String)> {
        let days = self.days.iter().map(|(field, at)| (*field, at.to_zoned(TimeZone::UTC).date().to_string()));
        let orders = self.orders.iter().map(|(field, _)| (*field, String::new()));
        [(Field::All, String::new())].into_iter().chain(orders).chain(self.values.iter().cloned()).chain(days)
    }
}

/// A row of `list_totals` without its count.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct TotalKey {
    list: ListKind,
    field: Field,
    project: String,
    value: String,
    part: &'static str,
    confidential: bool,
}

/// Writes differences of entries; the totals once all are known.
pub(super) struct EntryWriter<'a> {
    connection: &'a Connection,
    totals: BTreeMap<TotalKey, i64>,
}

impl<'a> EntryWriter<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self { connection, totals: BTreeMap::new() }
    }

    /// Replaces the entry of a row.
    pub(super) fn replace(
        &mut self,
        id: &EntryId,
        before: Option<&Entry>,
        after: Option<&Entry>,
    ) -> Result<(), LedgerError> {
        if before == after {
            return Ok(());
        }
        let old = before.map(Entry::value_rows).unwrap_or_default();
        let new = after.map(Entry::value_rows).unwrap_or_default();
        let list = id.list.as_str();
        let mut delete = self.connection.prepare_cached(
            "DELETE FROM list_values WHERE list = ?1 AND project = ?2 AND part = ?3 AND field = ?4 AND value = ?5
             AND main_order = ?6 AND key = ?7",
        )?;
        for (part, field, value, order) in old.keys().filter(|place| !new.contains_key(place)) {
            delete.execute(params![list, id.project, part, field.as_str(), value, order, id.key])?;
        }
        let mut insert = self.connection.prepare_cached(
            "INSERT OR REPLACE INTO list_values
                (list, project, part, field, value, main_order, key, other_order, confidential)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        for (place, rest) in new.iter().filter(|(place, rest)| old.get(place) != Some(rest)) {
            let ((part, field, value, order), (other, confidential)) = (place, rest);
            let row = params![list, id.project, part, field.as_str(), value, order, id.key, other, confidential];
            insert.execute(row)?;
        }
        for (entry, change) in [(before, -1), (after, 1)] {
            let Some(entry) = entry else { continue };
            for (field, value) in entry.counted() {
                let (list, project) = (id.list, id.project.clone());
                let (part, confidential) = (entry.part, entry.confidential);
                *self.totals.entry(TotalKey { list, field, project, value, part, confidential }).or_default() += change;
            }
        }
        Ok(())
    }

    /// Writes the totals.
    pub(super) fn finish(self) -> Result<(), LedgerError> {
        let mut add = self.connection.prepare_cached(
            "INSERT INTO list_totals (list, field, project, value, part, confidential, count)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (list, field, project, value, part, confidential) DO UPDATE SET count = count + excluded.count",
        )?;
        let mut drop_empty = self.connection.prepare_cached(
            "DELETE FROM list_totals WHERE list = ?1 AND field = ?2 AND project = ?3 AND value = ?4 AND part = ?5
             AND confidential = ?6 AND count = 0",
        )?;
        for (key, change) in self.totals.iter().filter(|(_, change)| **change != 0) {
            let TotalKey { list, field, project, value, part, confidential } = key;
            add.execute(params![list.as_str(), field.as_str(), project, value, part, confidential, change])?;
            if *change < 0 {
                drop_empty.execute(params![list.as_str(), field.as_str(), project, value, part, confidential])?;
            }
        }
        Ok(())
    }
}

/// A path and the directories that have it: `src/net/wire.rs`, `src/net`, `src`.
pub(super) fn path_and_directories(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(directory, _)| directory))
        .filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_its_directories() {
        let of = |path| path_and_directories(path).collect::<Vec<_>>();
        assert_eq!(of("src/net/wire.rs"), ["src/net/wire.rs", "src/net", "src"]);
        assert_eq!(of("README.md"), ["README.md"]);
        assert_eq!(of("/odd"), ["/odd"]);
    }
}
