//! Recorded states of the index: what was indexed, and enough of the documents to compare two of them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::{ErasureTarget, Ledger, LedgerError, time, to_i64, versions::delete_unneeded_versions};
use crate::index::Fingerprint;

/// Level of compression of documents: fingerprints are noise, so only the ids gain.
const ZSTD_LEVEL: i32 = 9;
/// Largest list of documents, unpacked, in bytes: some ten million of them.
const MAX_CONTENTS: usize = 1 << 30;

/// How the work ended that reached a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SnapshotStatus {
    /// Well.
    Completed,
    /// With an error, after it had changed something.
    Failed,
}

impl SnapshotStatus {
    /// Its name in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// How much there is in a state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotStats {
    /// Documents.
    pub documents: u64,
    /// Documents that have vectors.
    pub embedded: u64,
    /// Passages that have a vector.
    pub passages: u64,
    /// Bytes of the index on disk.
    pub bytes: u64,
    /// How long the work took that reached it, in milliseconds.
    pub duration_ms: u64,
}

/// A state of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// What it holds tells its id.
    pub id: String,
    /// When it was reached first.
    pub created_at: Timestamp,
    /// How the work ended that reached it.
    pub status: SnapshotStatus,
    /// The ledger's newest change that is in it.
    pub ledger_seq: u64,
    /// Name of the embedding model.
    pub model: String,
    /// The indexed commit of each repository, by project.
    pub commits: BTreeMap<String, String>,
    /// How much there is.
    pub stats: SnapshotStats,
    /// Whether it is kept until it is unpinned.
    pub pinned: bool,
    /// Why the work failed.
    pub last_error: Option<String>,
    /// Bytes that the list of its documents takes in the ledger.
    pub contents_bytes: u64,
    /// Whether something confidential is in it.
    pub confidential: bool,
    /// Whether what items were at it is kept, so that it can be searched.
    pub kept: bool,
}

impl Ledger {
    /// What recorded states must meet to be visible. Each is one of all projects.
    fn snapshot_clause(&self) -> &'static str {
        match (self.allows_all_projects(), self.visibility.shows_confidential()) {
            (true, true) => "TRUE",
            (true, false) => "NOT confidential",
            (false, _) => "FALSE",
        }
    }

    /// Records a state with its documents, ordered by id. One that is on record stays as it is. Says whether it is new. What
    /// items are is kept from now on, if none has changed since the state.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn put_snapshot(&self, of: &Snapshot, documents: &[(String, Fingerprint)]) -> Result<bool, LedgerError> {
        let damaged = |reason: std::io::Error| LedgerError::Payload {
            item: format!("snapshot {}", of.id),
            reason: reason.to_string(),
        };
        let contents = zstd::bulk::compress(&pack(documents), ZSTD_LEVEL).map_err(damaged)?;
        let stored = self.write()?.execute(
            "INSERT INTO index_snapshots
                (id, created_at, status, ledger_seq, model, commits, stats, pinned, last_error, contents, confidential,
                    kept)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
                ?4 >= (SELECT COALESCE(MAX(seq), 0) FROM items)) ON CONFLICT DO NOTHING",
            params![
                of.id,
                of.created_at.as_millisecond(),
                of.status.as_str(),
                to_i64(of.ledger_seq),
                of.model,
                // Names, hashes and numbers only: nothing that JSON could not hold.
                serde_json::to_string(&of.commits).unwrap_or_default(),
                serde_json::to_string(&of.stats).unwrap_or_default(),
                of.pinned,
                of.last_error,
                contents,
                of.confidential,
            ],
        )?;
        Ok(stored > 0)
    }

    /// All states on record, newest first.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection
            .prepare_cached(&format!("{SELECT} WHERE {} ORDER BY created_at DESC, id", self.snapshot_clause()))?;
        let rows = statement.query_map([], snapshot)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// A state; `None` if it is not on record.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn snapshot(&self, id: &str) -> Result<Option<Snapshot>, LedgerError> {
        let connection = self.read()?;
        let mut statement =
            connection.prepare_cached(&format!("{SELECT} WHERE id = ?1 AND {}", self.snapshot_clause()))?;
        Ok(statement.query_row([id], snapshot).optional()?)
    }

    /// The documents of a state, by id; `None` if it is not on record.
    ///
    /// # Errors
    /// They are damaged, or SQLite refused.
    pub fn snapshot_documents(&self, id: &str) -> Result<Option<Vec<(String, Fingerprint)>>, LedgerError> {
        let select = format!("SELECT contents FROM index_snapshots WHERE id = ?1 AND {}", self.snapshot_clause());
        let contents: Option<Vec<u8>> = self.read()?.query_row(&select, [id], |row| row.get(0)).optional()?;
        let Some(contents) = contents else { return Ok(None) };
        let damaged = |reason: String| LedgerError::Payload { item: format!("snapshot {id}"), reason };
        let bytes = zstd::bulk::decompress(&contents, MAX_CONTENTS).map_err(|error| damaged(error.to_string()))?;
        unpack(&bytes).map(Some).ok_or_else(|| damaged("its documents cannot be read".to_owned()))
    }

    /// Pins or unpins a state; says whether it is on record.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn pin_snapshot(&self, id: &str, pinned: bool) -> Result<bool, LedgerError> {
        Ok(self.write()?.execute("UPDATE index_snapshots SET pinned = ?2 WHERE id = ?1", params![id, pinned])? > 0)
    }

    /// Deletes states, but none that is pinned, with the versions of items that only they need; says how many.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn delete_snapshots(&self, ids: &[String]) -> Result<usize, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut forgotten = 0;
        for id in ids {
            forgotten += tx.execute("DELETE FROM index_snapshots WHERE id = ?1 AND NOT pinned", [id])?;
        }
        if forgotten > 0 {
            delete_unneeded_versions(&tx)?;
        }
        tx.commit()?;
        Ok(forgotten)
    }
}

/// Takes something out of the lists of documents and commits of all states; their counts stay. Says how many documents
/// that were.
pub(super) fn erase_from_snapshots(tx: &Transaction<'_>, subject: &ErasureTarget) -> Result<u64, LedgerError> {
    let states: Vec<(String, String, Vec<u8>)> = tx
        .prepare("SELECT id, commits, contents FROM index_snapshots")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut left_out = 0;
    for (id, commits, contents) in states {
        let damaged = |reason: String| LedgerError::Payload { item: format!("snapshot {id}"), reason };
        let bytes = zstd::bulk::decompress(&contents, MAX_CONTENTS).map_err(|error| damaged(error.to_string()))?;
        // What cannot be read may name it too.
        let mut documents = unpack(&bytes).unwrap_or_default();
        let before = documents.len();
        documents.retain(|(document, _)| !subject.has(document));
        let mut heads: BTreeMap<String, String> = serde_json::from_str(&commits).unwrap_or_default();
        let projects = heads.len();
        heads.retain(|project, _| !subject.has(project));
        if (documents.len(), heads.len()) == (before, projects) {
            continue;
        }
        left_out += (before - documents.len()) as u64;
        let packed = zstd::bulk::compress(&pack(&documents), ZSTD_LEVEL).map_err(|error| damaged(error.to_string()))?;
        tx.execute(
            "UPDATE index_snapshots SET commits = ?2, contents = ?3 WHERE id = ?1",
            params![id, serde_json::to_string(&heads).unwrap_or_default(), packed],
        )?;
    }
    Ok(left_out)
}

const SELECT: &str = "SELECT id, created_at, status, ledger_seq, model, commits, stats, pinned, last_error, \
                      length(contents), confidential, kept FROM index_snapshots";

fn snapshot(row: &Row<'_>) -> rusqlite::Result<Snapshot> {
    let status = match row.get::<_, String>(2)?.as_str() {
        "completed" => SnapshotStatus::Completed,
        _ => SnapshotStatus::Failed,
    };
    Ok(Snapshot {
        id: row.get(0)?,
        created_at: time(row.get(1)?),
        status,
        ledger_seq: row.get::<_, i64>(3)?.unsigned_abs(),
        model: row.get(4)?,
        commits: serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or_default(),
        stats: serde_json::from_str(&row.get::<_, String>(6)?).unwrap_or_default(),
        pinned: row.get(7)?,
        last_error: row.get(8)?,
        contents_bytes: row.get::<_, i64>(9)?.unsigned_abs(),
        confidential: row.get(10)?,
        kept: row.get(11)?,
    })
}

/// All ids, a line each, a NUL, then all fingerprints: ids that follow each other begin alike and are packed well.
fn pack(documents: &[(String, Fingerprint)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (id, _) in documents {
        bytes.extend_from_slice(id.as_bytes());
        bytes.push(b'\n');
    }
    bytes.push(0);
    for (_, fingerprint) in documents {
        bytes.extend_from_slice(fingerprint);
    }
    bytes
}

fn unpack(bytes: &[u8]) -> Option<Vec<(String, Fingerprint)>> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let ids = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut fingerprints = bytes[end + 1..].chunks_exact(size_of::<Fingerprint>());
    let documents: Option<Vec<_>> = ids
        .split_terminator('\n')
        .map(|id| Some((id.to_owned(), Fingerprint::try_from(fingerprints.next()?).ok()?)))
        .collect();
    documents.filter(|_| fingerprints.next().is_none())
}
