//! Which document each row is of, in memory: a search of the store then need not read a column to say what it found.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use arrow::array::{RecordBatch, UInt64Array};
use lancedb::{Table, query::Select};

use super::{
    columns::Columns,
    error::IndexError,
    tables::{count, fetch},
};

/// Column with the address of a row. It stays while the row is there, and no other row of the table ever gets it.
pub(super) const ROW: &str = "_rowid";
/// Forgotten addresses that are put up with, as a share of the rows there are.
const STALE: u64 = 2;

/// Ids by the addresses of rows, of one table. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The column with the ids.
    column: &'static str,
    known: Arc<RwLock<HashMap<u64, Arc<str>>>>,
}

impl Places {
    pub(super) fn new(column: &'static str) -> Self {
        Self { column, known: Arc::default() }
    }

    /// Remembers the rows of a batch that has the ids and [`ROW`].
    pub(super) fn learn(&self, batch: &RecordBatch) -> Result<(), IndexError> {
        let ids = Columns(batch).text(self.column)?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for (row, address) in addresses(batch)?.iter().enumerate() {
            known.insert(*address, ids.value(row).into());
        }
        Ok(())
    }

    /// The ids at addresses, in their order; the table is asked for those that are not known yet.
    pub(super) async fn find(&self, table: &Table, addresses: &[u64]) -> Result<Vec<Arc<str>>, IndexError> {
        let mut unknown: Vec<u64> = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            addresses.iter().copied().filter(|address| !known.contains_key(address)).collect()
        };
        if !unknown.is_empty() {
            unknown.sort_unstable();
            let rows = table.take_row_ids(unknown).with_row_id().select(Select::columns(&[self.column]));
            for batch in fetch(rows, "read rows").await? {
                self.learn(&batch)?;
            }
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let id = |address| {
            known
                .get(address)
                .cloned()
                .ok_or_else(|| IndexError::Store { action: "read rows", reason: format!("row {address} is not there") })
        };
        addresses.iter().map(id).collect()
    }

    /// Forgets all addresses, if most of them must be of rows that are gone.
    pub(super) async fn tidy(&self, table: &Table) -> Result<(), IndexError> {
        let rows = count(table).await?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() as u64 > STALE * rows {
            *known = HashMap::new();
        }
        Ok(())
    }
}

/// The addresses of the rows of a batch.
pub(super) fn addresses(batch: &RecordBatch) -> Result<&[u64], IndexError> {
    let column = batch.column_by_name(ROW).and_then(|column| column.as_any().downcast_ref::<UInt64Array>());
    let column = column.ok_or_else(|| IndexError::Store {
        action: "read rows",
        reason: format!("the column {ROW} is not as it should be"),
    })?;
    Ok(column.values())
}
