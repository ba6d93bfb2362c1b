//! Items as rows: payloads compressed, numbers and times as SQLite stores them.

use std::{cell::RefCell, collections::BTreeMap};

use backstory_model::entity::ItemKind;
use jiff::Timestamp;
use rusqlite::Row;
use serde::{Deserialize, Serialize};
use zstd::bulk::{Compressor, Decompressor};

use super::{LedgerError, NewQuarantined, RetriedItem, time};

/// Level of compression of payloads; 3 is zstd's default, a good balance for JSON.
pub(super) const ZSTD_LEVEL: i32 = 3;
/// Largest payload, in bytes of JSON.
pub const MAX_PAYLOAD: usize = 64 << 20;

/// An object to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewItem {
    /// Full path of the project; each project that mentions a person has a profile of them.
    pub project: String,
    /// What it is.
    pub kind: ItemKind,
    /// Unique within project and kind.
    pub key: String,
    /// Key of the issue or merge request that it is or belongs to.
    pub thread: Option<String>,
    /// When it last changed, as the forge tells.
    pub updated_at: Option<Timestamp>,
    /// How many secrets of which kind were replaced in the payload, or left out of it.
    pub secrets: BTreeMap<String, u64>,
    /// Whether only some may see it; a person whom something public of the project mentions may be seen by all.
    pub confidential: bool,
    /// JSON, redacted.
    pub payload: Vec<u8>,
}

/// An object as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredItem {
    /// Full path of the project.
    pub project: String,
    /// What it is.
    pub kind: ItemKind,
    /// Unique within project and kind.
    pub key: String,
    /// Key of the issue or merge request that it is or belongs to.
    pub thread: Option<String>,
    /// Position in the log.
    pub seq: u64,
    /// When it last changed, as the forge tells.
    pub updated_at: Option<Timestamp>,
    /// When it was fetched, by the forge's clock.
    pub fetched_at: Timestamp,
    /// Whether only some may see it.
    pub confidential: bool,
    /// JSON; `None` if the object is gone.
    pub payload: Option<Vec<u8>>,
}

/// How far a list has been read: everything up to this time and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cursor {
    /// `updated_at` of the last item.
    pub updated_at: Timestamp,
    /// The forge's id of the last item, which orders equal times.
    #[serde(rename = "forge_id")]
    pub id: u64,
}

/// What is committed at once: objects, which of the old ones are gone, and the cursor that stands for them.
#[derive(Debug, Default)]
pub struct IngestBatch {
    /// Objects to store.
    pub items: Vec<NewItem>,
    /// When they were fetched, by the forge's clock.
    pub fetched_at: Timestamp,
    /// Threads (project, key) whose discussions are all among `items`: those that are not are gone.
    pub complete_threads: Vec<(String, String)>,
    /// What came and cannot be read. What is stored of it stays.
    pub put_aside: Vec<NewQuarantined>,
    /// What was read again: what was put aside of it before and is not now leaves the quarantine.
    pub retried: Vec<RetriedItem>,
    /// Cursor of a list: project, `issue` or `merge_request`, and where it stands now.
    pub cursor: Option<(String, ItemKind, Cursor)>,
}

/// What a page changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestCounts {
    /// How many objects of each kind.
    pub counts: BTreeMap<ItemKind, u64>,
    /// How many secrets of each kind were replaced in them that were not there before.
    pub secrets: BTreeMap<String, u64>,
}

impl IngestCounts {
    /// Adds those of another page.
    pub fn add(&mut self, other: &Self) {
        for (kind, count) in &other.counts {
            *self.counts.entry(*kind).or_default() += count;
        }
        for (rule, count) in &other.secrets {
            *self.secrets.entry(rule.clone()).or_default() += count;
        }
    }

    /// How many of a kind.
    pub fn of(&self, kind: ItemKind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }
}

thread_local! {
    // Making a context takes longer than packing a note.
    pub(super) static COMPRESSOR: RefCell<Compressor<'static>> =
        RefCell::new(Compressor::new(ZSTD_LEVEL).expect("the level is one of zstd's"));
    static DECOMPRESSOR: RefCell<Decompressor<'static>> =
        RefCell::new(Decompressor::new().expect("there is memory for a context"));
}

/// What was packed.
pub(super) fn unpacked(packed: &[u8]) -> std::io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|unpacker| unpacker.decompress(packed, MAX_PAYLOAD))
}

pub(super) const COLUMNS: &str = "project, kind, key, thread, seq, updated_at, fetched_at, payload, confidential";

pub(super) struct RawItem {
    pub(super) project: String,
    pub(super) kind: String,
    pub(super) key: String,
    pub(super) thread: Option<String>,
    pub(super) seq: i64,
    pub(super) updated_at: Option<i64>,
    pub(super) fetched_at: i64,
    pub(super) payload: Option<Vec<u8>>,
    pub(super) confidential: bool,
}

pub(super) fn raw(row: &Row<'_>) -> rusqlite::Result<RawItem> {
    Ok(RawItem {
        project: row.get(0)?,
        kind: row.get(1)?,
        key: row.get(2)?,
        thread: row.get(3)?,
        seq: row.get(4)?,
        updated_at: row.get(5)?,
        fetched_at: row.get(6)?,
        payload: row.get(7)?,
        confidential: row.get(8)?,
    })
}

pub(super) fn unpack(raw: RawItem) -> Result<StoredItem, LedgerError> {
    let damaged =
        |reason: String| LedgerError::Payload { item: format!("{} {} {}", raw.project, raw.kind, raw.key), reason };
    let kind = ItemKind::from_name(&raw.kind).ok_or_else(|| damaged("unknown kind".into()))?;
    let payload = match &raw.payload {
        None => None,
        Some(packed) => Some(unpacked(packed).map_err(|error| damaged(error.to_string()))?),
    };
    Ok(StoredItem {
        project: raw.project,
        kind,
        key: raw.key,
        thread: raw.thread,
        seq: raw.seq.unsigned_abs(),
        updated_at: raw.updated_at.map(time),
        fetched_at: time(raw.fetched_at),
        confidential: raw.confidential,
        payload,
    })
}
