//! Fills the tables from scratch in a file of their own, and then replaces those of the ledger in one transaction: readers
//! see the old rows until then, and writers of the ledger wait for the copy alone.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, TransactionBehavior};

use super::{
    Lists,
    batch::{Batch, write_all_entries},
    digest::{TableDigest, digest_tables},
    schema::{CREATE_TABLES, OTHER_ORDER_INDEX, TABLES},
};
use crate::{graph::GraphChange, ledger_error::LedgerError};

/// What the name of the file adds to that of the ledger.
const SUFFIX: &str = "-lists";
/// Memory for the pages of the file while it is filled, in KiB.
const CACHE_KIB: i64 = 32 << 10;

/// Tables that are being filled; dropped without a commit they leave nothing behind.
pub struct Load {
    lists: Lists,
    connection: Connection,
    file: TemporaryFile,
}

/// A file that is removed in the end.
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // One that cannot be removed is removed when the ledger is opened next.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Lists {
    /// Starts to fill the tables from scratch.
    ///
    /// # Errors
    /// The file for it cannot be written, or the ledger is in memory.
    pub fn load(&self) -> Result<Load, LedgerError> {
        let Some(ledger) = &self.path else {
            let reason = "a ledger in memory has no file".to_owned();
            return Err(LedgerError::Backup { path: PathBuf::new(), reason });
        };
        let path = load_path(ledger);
        remove_leftover(ledger);
        let connection = Connection::open(&path)?;
        let file = TemporaryFile(path);
        // It is of no use after a crash.
        connection.pragma_update(None, "journal_mode", "OFF")?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        connection.execute_batch(CREATE_TABLES)?;
        connection.execute_batch("BEGIN")?;
        Ok(Load { lists: self.clone(), connection, file })
    }
}

impl Load {
    /// Adds items, none of them twice.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, changes: &[GraphChange]) -> Result<(), LedgerError> {
        let mut batch = Batch::for_empty_tables(&self.connection);
        changes.iter().try_for_each(|change| batch.apply(change))
    }

    /// The digest of each table as it would be after a commit.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn into_digests(self) -> Result<Vec<TableDigest>, LedgerError> {
        self.finish()?;
        digest_tables(&self.connection, None)
    }

    /// Replaces the tables of the ledger, with the sequence number that the items stand for.
    ///
    /// # Errors
    /// The database cannot be written; its tables are as before.
    pub fn commit(self, seq: u64) -> Result<(), LedgerError> {
        self.finish()?;
        let Self { lists, connection, file } = self;
        drop(connection);
        let mut connection = lists.connections.write()?;
        connection.execute("ATTACH ?1 AS filled", [file.0.to_string_lossy()])?;
        let copied = copy(&mut connection, seq);
        connection.execute_batch("DETACH filled")?;
        copied
    }

    fn finish(&self) -> Result<(), LedgerError> {
        write_all_entries(&self.connection)?;
        self.connection.execute_batch(OTHER_ORDER_INDEX)?;
        self.connection.execute_batch("COMMIT")?;
        Ok(())
    }
}

fn copy(connection: &mut Connection, seq: u64) -> Result<(), LedgerError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (table, _) in TABLES {
        // With an empty table of the same schema, SQLite copies pages of rows as they are.
        tx.execute_batch(&format!("DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM filled.{table}"))?;
    }
    Lists::set_seq(&tx, seq)?;
    tx.commit()?;
    Ok(())
}

/// Removes a file that a process left that was killed.
pub(crate) fn remove_leftover(ledger: &Path) {
    // Nothing is usually there; a file that cannot be removed cannot be opened either, which says why.
    let _ = std::fs::remove_file(load_path(ledger));
}

fn load_path(ledger: &Path) -> PathBuf {
    let mut path = OsString::from(ledger);
    path.push(SUFFIX);
    path.into()
}
