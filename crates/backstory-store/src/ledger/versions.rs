//! What items were before they changed, as far as a recorded state of the index needs it.
//!
//! A state on record is the ledger at a sequence number. An item that changes after that leaves its payload here, as the
//! version from its own number up to that of the change, and stays as long as a state lies in between. So what is the same in
//! several states is stored once, and what has not changed since is stored nowhere else. Of what a forge deletes nothing stays.

use backstory_model::entity::ItemKind;
use rusqlite::{Transaction, params};

use super::{
    ErasureTarget, Ledger, LedgerError, StoredItem,
    row::{COLUMNS, raw, unpack},
    to_i64,
};

/// An issue, merge request, commit or file that changed after a state was recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedThread {
    /// Full path of its project.
    pub project: String,
    /// Its key.
    pub thread: String,
    /// The sequence number of its newest change that is in the state; `None` if it was not there yet.
    pub version: Option<u64>,
}

impl Ledger {
    /// What changed after a sequence number and is visible, each with the number that it had then.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn threads_changed_after(&self, seq: u64) -> Result<Vec<ChangedThread>, LedgerError> {
        let connection = self.read()?;
        // With `+` by what is new, which is little, and not by the index of threads, which would read everything.
        let mut statement = connection.prepare_cached(&format!(
            "SELECT changed.project, changed.thread, (SELECT MAX(seq) FROM (
                SELECT seq FROM items INDEXED BY items_thread
                WHERE project = changed.project AND thread = changed.thread AND seq <= ?1
                UNION ALL
                SELECT seq FROM item_versions
                WHERE project = changed.project AND thread = changed.thread AND seq <= ?1 AND until > ?1))
             FROM (SELECT DISTINCT +project AS project, +thread AS thread FROM items
                WHERE seq > ?1 AND thread IS NOT NULL {}) AS changed",
            self.visibility_clause(2)
        ))?;
        let rows = statement.query_map(params![to_i64(seq), self.visible_projects()], |row| {
            let version = row.get::<_, Option<i64>>(2)?.map(i64::unsigned_abs);
            Ok(ChangedThread { project: row.get(0)?, thread: row.get(1)?, version })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// An issue or merge request and its discussions, a commit or a file, as they were at a sequence number, ordered by kind
    /// and key. That number must be in a state that is kept.
    ///
    /// # Errors
    /// A payload is damaged, or the database cannot be read.
    pub fn thread_at(&self, project: &str, thread: &str, seq: u64) -> Result<Vec<StoredItem>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items INDEXED BY items_thread
             WHERE project = ?1 AND thread = ?2 AND seq <= ?3 AND payload IS NOT NULL
             UNION ALL
             SELECT {COLUMNS} FROM item_versions
             WHERE project = ?1 AND thread = ?2 AND seq <= ?3 AND until > ?3
             ORDER BY kind, key"
        ))?;
        let rows = statement.query_map(params![project, thread, to_i64(seq)], raw)?;
        rows.map(|row| unpack(row?)).collect()
    }

    /// How many bytes the visible payloads take that a state at a sequence number needs and that are not current.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn version_bytes(&self, seq: u64) -> Result<u64, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT COALESCE(SUM(LENGTH(payload)), 0) FROM item_versions WHERE seq <= ?1 AND until > ?1 {}",
            self.visibility_clause(2)
        ))?;
        let bytes: i64 = statement.query_row(params![to_i64(seq), self.visible_projects()], |row| row.get(0))?;
        Ok(bytes.unsigned_abs())
    }
}

/// Keeps what an item is before it changes, if a state on record has it.
pub(super) fn keep_version(
    tx: &Transaction<'_>,
    project: &str,
    kind: ItemKind,
    key: &str,
) -> Result<(), rusqlite::Error> {
    tx.prepare_cached(
        "INSERT OR IGNORE INTO item_versions
            (project, kind, key, thread, seq, until, updated_at, fetched_at, payload, confidential)
         SELECT project, kind, key, thread, seq, (SELECT MAX(seq) + 1 FROM items), updated_at, fetched_at, payload,
            confidential
         FROM items
         WHERE project = ?1 AND kind = ?2 AND key = ?3 AND payload IS NOT NULL AND thread IS NOT NULL
            AND seq <= (SELECT MAX(ledger_seq) FROM index_snapshots WHERE kept)",
    )?
    .execute(params![project, kind.as_str(), key])?;
    Ok(())
}

/// Takes out the versions of an item that others than before may see now, or that is gone.
pub(super) fn delete_versions(
    tx: &Transaction<'_>,
    project: &str,
    kind: ItemKind,
    key: &str,
) -> Result<(), rusqlite::Error> {
    tx.prepare_cached("DELETE FROM item_versions WHERE project = ?1 AND kind = ?2 AND key = ?3")?.execute(params![
        project,
        kind.as_str(),
        key
    ])?;
    Ok(())
}

/// Takes out the versions that no state on record needs.
pub(super) fn delete_unneeded_versions(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    tx.execute(
        "DELETE FROM item_versions WHERE NOT EXISTS (
            SELECT 1 FROM index_snapshots
            WHERE kept AND ledger_seq >= item_versions.seq AND ledger_seq < item_versions.until)",
        [],
    )?;
    Ok(())
}

/// Takes out the versions of what is forgotten.
pub(super) fn erase_versions(tx: &Transaction<'_>, subject: &ErasureTarget) -> Result<(), rusqlite::Error> {
    tx.execute(
        "DELETE FROM item_versions WHERE project = ?1 AND (?2 IS NULL OR thread = ?2)",
        params![subject.project(), subject.thread()],
    )?;
    Ok(())
}

/// Takes out all versions: any of them may name a person who is forgotten. What items were at the states on record is known
/// no more.
pub(super) fn erase_all_versions(tx: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    tx.execute("DELETE FROM item_versions", [])?;
    tx.execute("UPDATE index_snapshots SET kept = 0", [])?;
    Ok(())
}
