//! Verifies the database file, and copies it.

use std::{fs, path::Path};

use backstory_model::digest::sha256;
use rusqlite::Connection;
use serde::de::IgnoredAny;

use super::{
    Ledger, LedgerError, StoredItem,
    row::{COLUMNS, RawItem, raw, unpack},
};

/// Objects that are looked at together.
const BATCH: i64 = 1000;
/// Number of problems at which the search for more ends.
const MAX_PROBLEMS: usize = 100;

impl Ledger {
    /// Writes a copy, as of now, to a file that is not there yet. Others read and write meanwhile.
    ///
    /// # Errors
    /// The file is there or cannot be written, or SQLite refused.
    pub fn backup(&self, to: &Path) -> Result<(), LedgerError> {
        let refused = |reason: String| LedgerError::Backup { path: to.to_owned(), reason };
        let name = to.to_str().ok_or_else(|| refused("its path is not UTF-8".to_owned()))?;
        if to.exists() {
            return Err(refused("it exists already".to_owned()));
        }
        if self.path.is_none() {
            return Err(refused("a ledger in memory has no file".to_owned()));
        }
        let copied = match self.connections.open_beside() {
            // It waits for nobody and keeps nobody waiting.
            Some(own) => own.execute("VACUUM INTO ?1", [name]),
            None => self.connections.lock_writer().execute("VACUUM INTO ?1", [name]),
        };
        copied.map(drop).map_err(|error| {
            // Half a copy; it was not there before.
            drop(fs::remove_file(to));
            match LedgerError::from(error) {
                LedgerError::Sqlite(error) => refused(error.to_string()),
                other => other,
            }
        })
    }

    /// Whether a file is a ledger, of whichever version, and has nothing in it that would act by itself. Somebody else
    /// may have made it.
    ///
    /// # Errors
    /// SQLite cannot read it.
    pub fn is_plain(path: &Path) -> Result<bool, LedgerError> {
        let acting =
            "SELECT COUNT(*) FROM sqlite_schema WHERE type IN ('trigger', 'view') OR sql LIKE 'CREATE VIRTUAL%'";
        let count: i64 = Connection::open(path)?.query_row(acting, [], |row| row.get(0))?;
        Ok(count == 0 && Self::is_ledger(path)?)
    }

    /// What SQLite and the ledger's own rules find wrong, a sentence each; empty if all is well.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn check(&self) -> Result<Vec<String>, LedgerError> {
        let mut problems = Vec::new();
        {
            let connection = self.read()?;
            let mut statement = connection.prepare("PRAGMA integrity_check(20)")?;
            for line in statement.query_map([], |row| row.get::<_, String>(0))? {
                let line = line?;
                if line != "ok" {
                    problems.push(format!("SQLite: {line}"));
                }
            }
        }
        let mut seq = 0;
        while problems.len() <= MAX_PROBLEMS {
            let rows = self.with_hashes(seq)?;
            let Some((last, _)) = rows.last() else { break };
            seq = last.seq;
            problems.extend(rows.into_iter().filter_map(|(row, hash)| match unpack(row) {
                Ok(item) => check_item(&item, &hash),
                Err(error) => Some(error.to_string()),
            }));
        }
        Ok(problems)
    }

    fn with_hashes(&self, after: i64) -> Result<Vec<(RawItem, Vec<u8>)>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection
            .prepare_cached(&format!("SELECT {COLUMNS}, hash FROM items WHERE seq > ?1 ORDER BY seq LIMIT ?2"))?;
        let rows = statement.query_map([after, BATCH], |row| Ok((raw(row)?, row.get("hash")?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// A payload that no longer has the hash it was stored with has been damaged.
fn check_item(item: &StoredItem, hash: &[u8]) -> Option<String> {
    let payload = item.payload.as_ref()?;
    let name = || format!("{} {} {}", item.project, item.kind.as_str(), item.key);
    if sha256(payload) != hash {
        return Some(format!("{}: the payload is not what was stored", name()));
    }
    let error = serde_json::from_slice::<IgnoredAny>(payload).err()?;
    Some(format!("{}: the payload is not JSON: {error}", name()))
}

#[cfg(test)]
mod tests {
    use backstory_model::entity::ItemKind;
    use jiff::Timestamp;

    use super::super::{IngestBatch, Ledger, NewItem};

    #[test]
    fn a_payload_that_is_another_is_told() {
        let ledger = Ledger::in_memory().unwrap();
        let item = |key: &str| NewItem {
            project: "acme/shop".into(),
            kind: ItemKind::Issue,
            key: key.into(),
            thread: Some(key.into()),
            updated_at: None,
            secrets: Default::default(),
            confidential: false,
            payload: format!("{{\"iid\":\"{key}\"}}").into_bytes(),
        };
        let items = ["#1", "#2", "#3"].map(item).to_vec();
        ledger.ingest(&IngestBatch { items, fetched_at: Timestamp::UNIX_EPOCH, ..IngestBatch::default() }).unwrap();
        assert_eq!(ledger.check().unwrap(), Vec::<String>::new());
        let swap = "UPDATE items SET payload = (SELECT payload FROM items WHERE key = '#2') WHERE key = '#1'";
        ledger.write().unwrap().execute(swap, []).unwrap();
        ledger.write().unwrap().execute("UPDATE items SET payload = x'00' WHERE key = '#3'", []).unwrap();
        let problems = ledger.check().unwrap();
        assert_eq!(problems[0], "acme/shop issue #1: the payload is not what was stored");
        assert!(problems.len() == 2 && problems[1].contains("acme/shop issue #3"), "{problems:?}");
    }
}
