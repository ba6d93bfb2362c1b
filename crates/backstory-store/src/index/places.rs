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

/// Column with the address of a row. It changes when files are joined; no other row of the table ever gets it.
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

    /// The ids at addresses, in their order; the table is asked for those that are not known yet. A row that went since
    /// it was found has none.
    pub(super) async fn find(&self, table: &Table, addresses: &[u64]) -> Result<Vec<Option<Arc<str>>>, IndexError> {
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
        Ok(addresses.iter().map(|address| known.get(address).cloned()).collect())
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

#[cfg(test)]
mod tests {
    use arrow::{
        array::{ArrayRef, StringArray},
        datatypes::{DataType, Field, Schema},
    };
    use lancedb::{
        query::QueryBase as _,
        table::{CompactionOptions, OptimizeAction},
    };

    use super::*;

    async fn rows(table: &Table) -> Vec<u64> {
        let batches = fetch(table.query().with_row_id(), "read rows").await.unwrap();
        batches.iter().flat_map(|batch| addresses(batch).unwrap().to_vec()).collect()
    }

    fn batch(ids: &[&str]) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("id", DataType::Utf8, false)]);
        let ids: ArrayRef = Arc::new(StringArray::from(ids.to_vec()));
        RecordBatch::try_new(Arc::new(schema), vec![ids]).unwrap()
    }

    #[tokio::test]
    async fn rows_that_went_meanwhile_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let connection = lancedb::connect(dir.path().to_str().unwrap()).execute().await.unwrap();
        let table = connection.create_table("t", batch(&["a", "b", "c"])).execute().await.unwrap();
        let found = rows(&table).await;
        table.delete("id = 'b'").await.unwrap();
        let known =
            |ids: Vec<Option<Arc<str>>>| ids.into_iter().map(|id| id.map(|id| id.to_string())).collect::<Vec<_>>();
        let left = vec![Some("a".to_owned()), None, Some("c".to_owned())];
        let places = Places::new("id");
        assert_eq!(known(places.find(&table, &found).await.unwrap()), left);

        table.add(batch(&["d"])).execute().await.unwrap();
        let compact = OptimizeAction::Compact { options: CompactionOptions::default(), remap_options: None };
        table.optimize(compact).await.unwrap();
        assert_eq!(known(places.find(&table, &found).await.unwrap()), left, "what is known stays known");
        // Elsewhere now, and never taken for another row.
        assert_eq!(known(Places::new("id").find(&table, &found).await.unwrap()), vec![None; 3]);
    }
}
