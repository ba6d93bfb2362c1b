//! Applies changes of items to the tables: writes what an item states itself, computes what follows from several items,
//! and replaces the entries of the rows concerned.
//!
//! Before a row changes, it is noted with its entry. Rows that depend on it are noted too: the thread of a discussion, both
//! ends of what closes what, the commits that a merge introduced. At the end their columns are computed from the tables
//! as they are then, so the outcome does not depend on the order of changes.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    entity::{Item, ItemKind, SystemEvent},
    id::{ThreadId, ThreadKind},
    repository::{Record, RepositoryRecord},
};
use rusqlite::{Connection, params};

use super::{
    code,
    columns::to_i64,
    commits,
    commits::CommitRow,
    discussions,
    discussions::DiscussionRow,
    entry::{Entry, EntryId, EntryWriter, Key, ListKind},
    links::{closing, closings_of_thread, merged_as, message_links, thread_at},
    people, refs,
    refs::RefRow,
    threads,
    threads::ThreadRow,
};
use crate::{graph::Change, ledger::LedgerError};

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

    /// Applies a change.
    pub(super) fn apply(&mut self, change: &Change) -> Result<(), LedgerError> {
        match change.kind {
            ItemKind::Issue | ItemKind::MergeRequest => self.apply_thread(change),
            ItemKind::Discussion => self.apply_discussion(change),
            ItemKind::Person | ItemKind::Identity => self.apply_person(change),
            ItemKind::Commit => self.apply_commit(change),
            ItemKind::Merge => self.apply_merge(change),
            ItemKind::Branch | ItemKind::Tag => self.apply_ref(change),
            ItemKind::File => self.apply_file(change),
            ItemKind::Importance => self.apply_importance(change),
            // They are in no list.
            ItemKind::Project
            | ItemKind::Label
            | ItemKind::Milestone
            | ItemKind::Repository
            | ItemKind::FileLinks
            | ItemKind::CoChange => Ok(()),
        }
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

    fn apply_thread(&mut self, change: &Change) -> Result<(), LedgerError> {
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

    fn apply_discussion(&mut self, change: &Change) -> Result<(), LedgerError> {
        self.note(discussions::id(&change.project, &change.key))?;
        if let Some(thread) = thread_at(&change.project, change.key.split('~').next().unwrap_or_default()) {
            self.note(threads::id(&thread))?;
        }
        self.connection
            .prepare_cached("DELETE FROM list_discussions WHERE project = ?1 AND key = ?2")?
            .execute([&change.project, &change.key])?;
        let mut closings = BTreeSet::new();
        if let Some(Item::Discussion(discussion)) = &change.item {
            discussions::write(self.connection, &change.key, discussion, change.confidential)?;
            let closed_by = discussion.events.iter().filter_map(|event| match event {
                SystemEvent::ClosedBy(closer) => Some(closer),
                _ => None,
            });
            closings.extend(closed_by.filter_map(|closer| closing(closer, &discussion.thread)));
        }
        self.replace_closings(change, &closings)
    }

    fn apply_person(&mut self, change: &Change) -> Result<(), LedgerError> {
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

    fn apply_commit(&mut self, change: &Change) -> Result<(), LedgerError> {
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

    fn apply_merge(&mut self, change: &Change) -> Result<(), LedgerError> {
        let (project, merge) = (&change.project, &change.key);
        let introduced: BTreeSet<String> = match record(change) {
            Some((_, Record::Merge(merge))) => merge.brought.iter().map(ToString::to_string).collect(),
            _ => BTreeSet::new(),
        };
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

    fn apply_ref(&mut self, change: &Change) -> Result<(), LedgerError> {
        let list = if change.kind == ItemKind::Branch { ListKind::Branch } else { ListKind::Tag };
        let id = refs::id(list, &change.project, &change.key);
        self.note(id.clone())?;
        refs::delete(self.connection, &id)?;
        match record(change) {
            Some((_, record)) => refs::write(self.connection, &id, record),
            None => Ok(()),
        }
    }

    fn apply_file(&mut self, change: &Change) -> Result<(), LedgerError> {
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

    fn apply_importance(&mut self, change: &Change) -> Result<(), LedgerError> {
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
            ListKind::Branch | ListKind::Tag => "SELECT project, name FROM list_refs WHERE kind = ?1",
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
        ListKind::Discussion | ListKind::Branch | ListKind::Tag => Ok(()),
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
        ListKind::Branch | ListKind::Tag => {
            RefRow::find(connection, id.list, project, key)?.as_ref().map(RefRow::entry)
        }
    })
}

fn record(change: &Change) -> Option<(&RepositoryRecord, &Record)> {
    match &change.item {
        Some(Item::Repository(of)) => Some((of, &of.record)),
        _ => None,
    }
}
