//! The lists: indexed tables in the ledger's database that answer pages, totals and aggregates. They are a projection of
//! the ledger like graph and index. Filling them belongs to `engine::project`.
//!
//! Each kind of row has a table (`list_threads`, `list_commits` …). `list_values` has each row under every value that it
//! can be filtered by, in order, and `list_totals` how many rows there are under each. So a page or total of one filter
//! costs the same however many rows there are. Both follow from the rows, and the rows from the items of the ledger.
//!
//! Rows follow from the items of their own project alone, and what is counted in a row is what everybody may see who may
//! see the row. So readers of some projects, or without what is confidential, read the same rows as others.

/// A condition that one of the names in a JSON array of the row is one of those that are bound, in any case.
macro_rules! has_any {
    ($column:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM json_each(",
            $column,
            ") WHERE value COLLATE NOCASE IN (SELECT value FROM json_each(?)))"
        )
    };
}

/// A condition that a path of the row is, or is in, one of those that are bound.
macro_rules! is_within {
    ($column:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM json_each(?) AS wanted WHERE ",
            $column,
            " = wanted.value OR substr(",
            $column,
            ", 1, length(wanted.value) + 1) = wanted.value || '/')"
        )
    };
}

/// The same for one of the paths in a JSON array of the row.
macro_rules! any_is_within {
    ($column:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM json_each(",
            $column,
            ") AS own, json_each(?) AS wanted WHERE own.value = wanted.value
                OR substr(own.value, 1, length(wanted.value) + 1) = wanted.value || '/')"
        )
    };
}

mod apply;
mod batch;
mod code;
mod columns;
mod commits;
mod digest;
mod discussions;
mod durations;
mod entry;
mod groups;
mod links;
mod load;
mod node_row;
mod people;
mod periods;
mod planning;
mod projects;
mod query;
mod refs;
mod reviews;
pub(crate) mod schema;
mod select;
mod short;
mod threads;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use backstory_model::{
    commit::Sha,
    id::{NodeId, ThreadId},
    visibility::Visibility,
    word_filter::WordHash,
};
use rusqlite::{Connection, TransactionBehavior};

pub use code::{EntityOrder, EntityQuery, EntityRow, FileOrder, FileQuery, FileRow, LanguageRow};
pub use commits::{CommitKind, CommitOrder, CommitQuery, CommitRow};
pub use digest::TableDigest;
pub use discussions::{DiscussionOrder, DiscussionQuery, DiscussionRow};
pub use durations::{DurationKind, Durations, GroupDurations};
pub use entry::{Key, ListKind};
pub use groups::{
    Activity, CommitGroup, DiscussionGroup, EntityGroup, FileGroup, GroupCount, Groups, MAX_GROUPED, MAX_GROUPS,
    ThreadGroup,
};
pub use load::Load;
pub(crate) use load::remove_leftover;
pub use node_row::CodeRow;
pub use people::{PersonOrder, PersonPage, PersonQuery, PersonRow};
pub use periods::Period;
pub use planning::{LabelOrder, LabelQuery, LabelRow, MilestoneOrder, MilestoneQuery, MilestoneRow};
pub use projects::{ProjectOrder, ProjectQuery, ProjectRow};
pub use query::{ListQuery, Named, RowQuery};
pub use refs::{RefKey, RefKind, RefOrder, RefQuery};
pub use select::{Cursor, Direction, End, MAX_COUNTED, MAX_PAGE, Page, PageRequest, TimeRange, Total};
pub use threads::{ThreadFilter, ThreadOrder, ThreadQuery, ThreadRow};

use crate::{connections::Connections, graph::GraphChange, ledger_error::LedgerError};
use columns::to_i64;
use select::{Reader, Selection};

/// The lists of a ledger. Cheap to clone. Every call blocks.
#[derive(Clone, Debug)]
pub struct Lists {
    connections: Arc<Connections>,
    /// The ledger's file; `None` in memory.
    path: Option<PathBuf>,
}

impl Lists {
    pub(crate) fn new(connections: Arc<Connections>, path: Option<PathBuf>) -> Self {
        Self { connections, path }
    }

    /// The ledger's sequence number up to which changes have been applied.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn applied_seq(&self) -> Result<u64, LedgerError> {
        self.read(|connection| {
            let seq: i64 = connection.query_row("SELECT seq FROM list_state", [], |row| row.get(0))?;
            Ok(seq.unsigned_abs())
        })
    }

    /// Replaces the rows of the changed items and records the sequence number, in one transaction. Applying the same
    /// changes again changes nothing.
    ///
    /// # Errors
    /// The database cannot be written; nothing is applied.
    pub fn apply(&self, changes: &[GraphChange], seq: u64) -> Result<(), LedgerError> {
        let mut connection = self.connections.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut batch = batch::Batch::new(&tx);
        for change in changes {
            batch.apply(change)?;
        }
        batch.finish()?;
        Self::set_seq(&tx, seq)?;
        tx.commit()?;
        Ok(())
    }

    /// A page of issues or merge requests.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn threads(
        &self,
        query: &ThreadQuery,
        page: &PageRequest,
        visibility: &Visibility,
    ) -> Result<Page<ThreadRow>, LedgerError> {
        self.page(
            page,
            Reader(visibility),
            |_| Ok(query.selection()),
            |connection, project, iid| ThreadRow::find(connection, query.kind.into(), project, iid),
        )
    }

    /// A page of discussions.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn discussions(
        &self,
        query: &DiscussionQuery,
        page: &PageRequest,
        visibility: &Visibility,
    ) -> Result<Page<DiscussionRow>, LedgerError> {
        self.page(page, Reader(visibility), |_| Ok(query.selection()), DiscussionRow::find)
    }

    /// A page of commits.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn commits(
        &self,
        query: &CommitQuery,
        page: &PageRequest,
        visibility: &Visibility,
    ) -> Result<Page<CommitRow>, LedgerError> {
        self.page(
            page,
            Reader(visibility),
            |connection| query.selection(connection, Reader(visibility)),
            CommitRow::find,
        )
    }

    /// A page of the names of commits, without reading their rows.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn commit_names(
        &self,
        query: &CommitQuery,
        page: &PageRequest,
        visibility: &Visibility,
    ) -> Result<Page<Sha>, LedgerError> {
        let sha = |key: &Key| match key {
            Key::Text(sha) => sha.parse().ok(),
            Key::Number(_) => None,
        };
        self.page(
            page,
            Reader(visibility),
            |connection| query.selection(connection, Reader(visibility)),
            |_, _, key| Ok(sha(key)),
        )
    }

    /// Those of some visible commits of a project that may remove a line that has all of some words, in the same order.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn commits_that_may_remove(
        &self,
        project: &str,
        commits: Vec<Sha>,
        words: &[WordHash],
    ) -> Result<Vec<Sha>, LedgerError> {
        self.read(|connection| {
            let mut kept = Vec::new();
            for sha in commits {
                if commits::may_remove(connection, project, &sha.to_string(), words)? {
                    kept.push(sha);
                }
            }
            Ok(kept)
        })
    }

    /// The commits of these names, as far as they are there, in the same order.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn find_commits(
        &self,
        project: &str,
        names: &[String],
        visibility: &Visibility,
    ) -> Result<Vec<CommitRow>, LedgerError> {
        if !visibility.allows_project(project) {
            return Ok(Vec::new());
        }
        self.read(|connection| {
            let find = |name: &String| CommitRow::find(connection, project, &Key::Text(name.clone())).transpose();
            names.iter().filter_map(find).collect()
        })
    }

    /// The issues and merge requests of these ids, as far as they are there and visible, in the same order.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn find_threads(&self, ids: &[ThreadId], visibility: &Visibility) -> Result<Vec<ThreadRow>, LedgerError> {
        self.read(|connection| {
            let find = |id: &ThreadId| {
                let key = Key::Number(to_i64(id.iid));
                ThreadRow::find(connection, id.kind.into(), &id.project, &key).transpose()
            };
            let rows: Vec<ThreadRow> = ids.iter().filter_map(find).collect::<Result<_, _>>()?;
            Ok(rows.into_iter().filter(|row| visibility.allows(&row.id.project, row.confidential)).collect())
        })
    }

    /// A page of files at the indexed heads.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn files(
        &self,
        query: &FileQuery,
        page: &PageRequest,
        visibility: &Visibility,
    ) -> Result<Page<FileRow>, LedgerError> {
        self.page(page, Reader(visibility), |_| Ok(query.selection()), FileRow::find)
    }

    /// A page of code entities at the indexed heads.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn entities(
        &self,
        query: &EntityQuery,
        page: &PageRequest,
        visibility: &Visibility,
    ) -> Result<Page<EntityRow>, LedgerError> {
        self.page(page, Reader(visibility), |_| Ok(query.selection()), EntityRow::find)
    }

    /// A page of branches or tags.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn refs(
        &self,
        query: &RefQuery,
        page: &PageRequest,
        visibility: &Visibility,
    ) -> Result<Page<RefKey>, LedgerError> {
        self.read(|connection| query.page(connection, page, Reader(visibility)))
    }

    /// A page of labels.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn labels(
        &self,
        query: &LabelQuery,
        page: &PageRequest,
        visibility: &Visibility,
    ) -> Result<Page<LabelRow>, LedgerError> {
        self.read(|connection| query.page(connection, page, Reader(visibility)))
    }

    /// A page of milestones.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn milestones(
        &self,
        query: &MilestoneQuery,
        page: &PageRequest,
        visibility: &Visibility,
    ) -> Result<Page<MilestoneRow>, LedgerError> {
        self.read(|connection| query.page(connection, page, Reader(visibility)))
    }

    /// A page of projects.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn projects(
        &self,
        query: &ProjectQuery,
        page: &PageRequest,
        visibility: &Visibility,
    ) -> Result<Page<ProjectRow>, LedgerError> {
        self.read(|connection| query.page(connection, page, Reader(visibility)))
    }

    /// The rows of commits, files and code entities, by their ids; those that are not listed are left out.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn rows(&self, ids: &[NodeId], visibility: &Visibility) -> Result<BTreeMap<NodeId, CodeRow>, LedgerError> {
        let reader = Reader(visibility);
        self.read(|connection| {
            let mut rows = BTreeMap::new();
            for id in ids.iter().filter(|id| id.project().is_some_and(|project| reader.shows_project(project))) {
                rows.extend(CodeRow::find(connection, id)?.map(|row| (id.clone(), row)));
            }
            Ok(rows)
        })
    }

    /// A person by user name or by the key of an identity, in any case, with what they did in those of the projects that are
    /// visible, or in all; `None` if nobody is known there by it.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn person(
        &self,
        name: &str,
        projects: &[String],
        visibility: &Visibility,
    ) -> Result<Option<PersonRow>, LedgerError> {
        self.read(|connection| people::find(connection, Reader(visibility), name, projects))
    }

    /// Whom a user name, an address of commits or a name that nobody else has means, in any case: the user name, or the key of
    /// an identity that stands for all of theirs; `None` if nobody is known by it alone.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn resolve_person(&self, name: &str, visibility: &Visibility) -> Result<Option<String>, LedgerError> {
        self.read(|connection| people::resolve(connection, Reader(visibility), name))
    }

    /// A page of people.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn people(
        &self,
        query: &PersonQuery,
        page: &PageRequest,
        visibility: &Visibility,
    ) -> Result<PersonPage, LedgerError> {
        self.read(|connection| query.page(connection, page, Reader(visibility)))
    }

    /// How much of each programming language a project has at its indexed head, the most bytes first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn languages(&self, project: &str, visibility: &Visibility) -> Result<Vec<LanguageRow>, LedgerError> {
        if !visibility.allows_project(project) {
            return Ok(Vec::new());
        }
        self.read(|connection| LanguageRow::of_project(connection, project))
    }

    /// The person that an identity of commits belongs to, by its key; `None` if nobody says so.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn person_of(&self, key: &str, visibility: &Visibility) -> Result<Option<String>, LedgerError> {
        self.read(|connection| people::person_of(connection, Reader(visibility), key))
    }

    /// The person whom a user name or an address of commits means, in any case, with what they did in the projects, or in
    /// all; `None` if nobody is known by it.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn person_in(
        &self,
        name: &str,
        projects: &[String],
        visibility: &Visibility,
    ) -> Result<Option<PersonRow>, LedgerError> {
        self.read(|connection| people::find_among(connection, Reader(visibility), name, projects))
    }

    /// How many rows a list has in the given projects, or in all: exact, and read from the record.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn count(&self, list: ListKind, projects: &[String], visibility: &Visibility) -> Result<u64, LedgerError> {
        let selection = Selection::all(list, projects.to_vec());
        self.read(|connection| Ok(selection.total(connection, Reader(visibility), MAX_COUNTED)?.count))
    }

    fn page<R>(
        &self,
        request: &PageRequest,
        reader: Reader<'_>,
        selection: impl FnOnce(&Connection) -> Result<Selection, LedgerError>,
        find: impl Fn(&Connection, &str, &Key) -> Result<Option<R>, LedgerError>,
    ) -> Result<Page<R>, LedgerError> {
        self.read(|connection| {
            let page = selection(connection)?.page(connection, request, reader)?;
            let (mut rows, mut cursors) = (Vec::with_capacity(page.cursors.len()), Vec::new());
            for cursor in page.cursors {
                if let Some(row) = find(connection, &cursor.project, &cursor.key)? {
                    rows.push(row);
                    cursors.push(cursor);
                }
            }
            Ok(Page { rows, cursors, next: page.next, total: page.total })
        })
    }

    /// Reads everything as of one sequence number.
    fn read<T>(&self, step: impl FnOnce(&Connection) -> Result<T, LedgerError>) -> Result<T, LedgerError> {
        step(&*self.connections.read()?)
    }

    fn set_seq(connection: &Connection, seq: u64) -> Result<(), LedgerError> {
        connection.prepare_cached("UPDATE list_state SET seq = ?1")?.execute([to_i64(seq)])?;
        Ok(())
    }
}
