//! Rows that were read lately, a bounded number of bytes of them.
//!
//! Dashboards ask the same again, and hits of one search are hits of the next. What is kept is of one version of the table:
//! with the next write it is gone, so nothing that was changed or forgotten is read from here.

use std::{
    fmt::{self, Debug},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use arrow::{array::RecordBatch, array::UInt64Array, compute::take_record_batch};
use quick_cache::{Weighter, sync::Cache};

use super::error::IndexError;

/// Most bytes that are kept of one table.
const MAX_BYTES: u64 = 16 << 20;
/// How many rows are expected to fit.
const ROWS: usize = 8 << 10;
/// Bytes of a row that are not of its columns.
const OVERHEAD: usize = 128;

/// Rows of one table that were read lately.
pub(super) struct RecentRows {
    /// The version of the table that they are of.
    version: AtomicU64,
    rows: Cache<Key, Row, Bytes>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    version: u64,
    address: u64,
    columns: Box<str>,
}

#[derive(Clone)]
struct Row {
    batch: RecordBatch,
    bytes: usize,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Row> for Bytes {
    fn weight(&self, _: &Key, row: &Row) -> u64 {
        row.bytes as u64
    }
}

impl Default for RecentRows {
    fn default() -> Self {
        Self { version: AtomicU64::new(0), rows: Cache::with_weighter(ROWS, MAX_BYTES, Bytes) }
    }
}

impl Debug for RecentRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecentRows").field("rows", &self.rows.len()).finish()
    }
}

impl RecentRows {
    /// Those of some columns of a version of the table. Those of the versions before are dropped.
    pub(super) fn of(&self, version: u64, columns: &[&str]) -> RowsOfVersion<'_> {
        if self.version.fetch_max(version, Relaxed) < version {
            self.rows.clear();
        }
        RowsOfVersion { rows: &self.rows, version, columns: columns.join(",").into() }
    }
}

/// Some columns of the rows of one version of a table.
pub(super) struct RowsOfVersion<'a> {
    rows: &'a Cache<Key, Row, Bytes>,
    version: u64,
    columns: Box<str>,
}

impl RowsOfVersion<'_> {
    fn key(&self, address: u64) -> Key {
        Key { version: self.version, address, columns: self.columns.clone() }
    }

    /// The row at an address, if it was read lately.
    pub(super) fn get(&self, address: u64) -> Option<RecordBatch> {
        self.rows.get(&self.key(address)).map(|row| row.batch)
    }

    /// Keeps the rows that were read at addresses, unless some of these have none: it cannot be told which.
    ///
    /// # Errors
    /// A row cannot be copied.
    pub(super) fn keep(&self, addresses: &[u64], rows: &RecordBatch) -> Result<(), IndexError> {
        if rows.num_rows() != addresses.len() {
            return Ok(());
        }
        for (at, address) in (0u64..).zip(addresses) {
            // A copy, as a slice would hold all rows that were read with it.
            let batch = take_record_batch(rows, &UInt64Array::from(vec![at]))
                .map_err(|error| IndexError::Store { action: "keep a row", reason: error.to_string() })?;
            let bytes = batch.get_array_memory_size() + self.columns.len() + OVERHEAD;
            self.rows.insert(self.key(*address), Row { batch, bytes });
        }
        Ok(())
    }
}
