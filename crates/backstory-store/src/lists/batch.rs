//! Changes that are applied together, and the entries of the rows that they concern.
//!
//! Before a row changes, it is noted with its entry. At the end the columns that follow from several items are computed from
//! the tables as they are then, so the outcome does not depend on the order of changes.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::{
    code, commits,
    commits::CommitRow,
    discussions::DiscussionRow,
    entry::{Entry, EntryId, EntryWriter, Key, ListKind},
    threads,
    threads::ThreadRow,
};
use crate::ledger_error::LedgerError;

/// Changes that are applied together.
pub(super) struct Batch<'a> {
    pub(super) connection: &'a Connection,
    /// The entries that rows had, of those that may have another; `None` while tables are filled that were empty.
    before: Option<BTreeMap<EntryId, Option<Entry>>>,
}

impl<'a> Batch<'a> {
    /// One for tables with rows.
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self { connection, before: Some(BTreeMap::new()) }
    }

    /// One for empty tables, whose entries [`write_all_entries`] writes at the end.
    pub(super) fn for_empty_tables(connection: &'a Connection) -> Self {
        Self { connection, before: None }
    }

    /// Computes what follows from the changes and writes the entries.
    pub(super) fn finish(self) -> Result<(), LedgerError> {
        let Some(before) = self.before else { return Ok(()) };
        let mut writer = EntryWriter::new(self.connection);
        for (id, entry) in before {
            derive(self.connection, &id)?;
            writer.replace(&id, entry.as_ref(), entry_of(self.connection, &id)?.as_ref())?;
        }
        writer.finish()
    }

    /// Whether the tables are filled from scratch, so that no entries need to be noted.
    pub(super) fn is_load(&self) -> bool {
        self.before.is_none()
    }

    /// Notes the entry of a row that may get another.
    pub(super) fn note(&mut self, id: EntryId) -> Result<(), LedgerError> {
        if let Some(before) = &mut self.before
            && !before.contains_key(&id)
        {
            let entry = entry_of(self.connection, &id)?;
            before.insert(id, entry);
        }
        Ok(())
    }
}

/// Computes and writes the entries of tables that were filled with [`Batch::for_empty_tables`].
pub(super) fn write_all_entries(connection: &Connection) -> Result<(), LedgerError> {
    let mut writer = EntryWriter::new(connection);
    for list in ListKind::ALL {
        let keys = match list {
            ListKind::Issue | ListKind::MergeRequest => "SELECT project, iid FROM list_threads WHERE kind = ?1",
            ListKind::Discussion => "SELECT project, key FROM list_discussions WHERE ?1 IS NOT NULL",
            ListKind::Commit => "SELECT project, sha FROM list_commits WHERE ?1 IS NOT NULL",
            ListKind::File => "SELECT project, path FROM list_files WHERE ?1 IS NOT NULL",
            ListKind::Entity => "SELECT project, code FROM list_entities WHERE ?1 IS NOT NULL",
        };
        let keys: Vec<(String, Key)> = connection
            .prepare(keys)?
            .query_map([list.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (project, key) in keys {
            let id = EntryId { list, project, key };
            derive(connection, &id)?;
            writer.replace(&id, None, entry_of(connection, &id)?.as_ref())?;
        }
    }
    writer.finish()
}

/// Computes the columns of a row that follow from several items; nothing happens if there is no such row.
fn derive(connection: &Connection, id: &EntryId) -> Result<(), LedgerError> {
    match id.list {
        ListKind::Issue | ListKind::MergeRequest => threads::derive(connection, id),
        ListKind::Commit => commits::derive(connection, &id.project, &id.key),
        ListKind::File | ListKind::Entity => code::derive(connection, id),
        ListKind::Discussion => Ok(()),
    }
}

/// The entry of a row of the tables.
pub(super) fn entry_of(connection: &Connection, id: &EntryId) -> Result<Option<Entry>, LedgerError> {
    let (project, key) = (&id.project, &id.key);
    Ok(match id.list {
        ListKind::Issue | ListKind::MergeRequest => {
            ThreadRow::find(connection, id.list, project, key)?.as_ref().map(ThreadRow::entry)
        }
        ListKind::Discussion => DiscussionRow::find(connection, project, key)?.as_ref().map(DiscussionRow::entry),
        ListKind::Commit => CommitRow::find(connection, project, key)?.as_ref().map(CommitRow::entry),
        ListKind::File => code::FileRow::find(connection, project, key)?.as_ref().map(code::FileRow::entry),
        ListKind::Entity => code::EntityRow::find(connection, project, key)?.as_ref().map(code::EntityRow::entry),
    })
}
