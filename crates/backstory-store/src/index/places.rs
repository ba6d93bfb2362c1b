//! Row addresses in memory: where each row is, and which document it comes from.
//!
//! A search of the store then need not read a column to name what it found; that alone takes 5 ms. The texts that are
//! shown are read from their addresses, past the query engine, which halves what remains of a search after ranking. Those
//! that were read lately are kept, as each read hands work to other threads.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use arrow::{
    array::{RecordBatch, UInt64Array},
    compute::take_record_batch,
};
use futures::TryStreamExt as _;
use lancedb::{
    Table,
    query::{QueryBase as _, Select},
};
use parking_lot::{RwLock, RwLockReadGuard};

use super::{
    addresses::{Addresses, Hashed, hash_of},
    columns::Columns,
    error::IndexError,
    filter::{VALUES_PER_QUERY, any_of},
    image::{Image, ImageError, ImageWriter, Of},
    maps::{Map, Set},
    names::Names,
    not_local,
    numbered::{NO_NAME, Name},
    schema::ID,
    tables::{count, fetch, stream},
};
use crate::recent::Recent;

/// Column with the address of a row. It changes when files are joined; no other row of the table ever gets it.
pub(super) const ROW: &str = "_rowid";
/// Most rows of one read that are kept, as many as a search near a node reads: more are read for a copy of a whole table, which
/// would leave nothing else.
const MOST_KEPT: usize = 1_000;
/// Forgotten addresses that are put up with, as a share of the rows there are.
const STALE: u64 = 2;

/// The addresses of the rows of one table. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The column that says which document a row is of.
    column: &'static str,
    known: Arc<RwLock<Known>>,
    names: Names,
    /// Rows that were read lately, by their addresses and which of their columns.
    recent: Arc<Recent<(u64, Arc<str>), RecordBatch>>,
}

#[derive(Debug, Default)]
pub(super) struct Known {
    /// By the number of the file, and then by the row there.
    documents: Map<u64, Vec<Name>>,
    /// How many of those there are.
    count: u64,
    /// By the row's own id.
    rows: Addresses,
}

impl Known {
    fn insert(&mut self, address: u64, document: Name) {
        let (file, row) = (address >> 32, (address & u64::from(u32::MAX)) as usize);
        let rows = self.documents.entry(file).or_default();
        if rows.len() <= row {
            rows.resize(row + 1, NO_NAME);
        }
        self.count += u64::from(std::mem::replace(&mut rows[row], document) == NO_NAME);
    }

    /// Says which names it has.
    pub(super) fn mark_names(&self, used: &mut [bool]) {
        let documents = self.documents.values().flatten().filter(|document| **document != NO_NAME);
        documents.for_each(|document| used[*document as usize] = true);
    }

    fn document(&self, address: u64) -> Option<Name> {
        document_at(&self.documents, address)
    }
}

fn document_at(documents: &Map<u64, Vec<Name>>, address: u64) -> Option<Name> {
    let (file, row) = (address >> 32, (address & u64::from(u32::MAX)) as usize);
    documents.get(&file)?.get(row).copied().filter(|document| *document != NO_NAME)
}

impl Places {
    pub(super) fn new(column: &'static str, names: Names) -> Self {
        Self { column, known: Arc::default(), names, recent: Arc::default() }
    }

    /// Takes over the rows of an image.
    pub(super) fn restore(&self, image: &Image, of: Of) -> Result<(), ImageError> {
        let mut known = self.known.write();
        for place in image.places(of)? {
            let (address, document) = place?;
            known.insert(address, document);
        }
        known.rows = image.rows(of)?;
        Ok(())
    }

    /// What is known. Nothing is learned meanwhile.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read()
    }

    /// Forgets all rows and reads those that there are.
    pub(super) async fn read_again(&self, table: &Table) -> Result<(), IndexError> {
        // What is known answers until then.
        let read = Self::new(self.column, self.names.clone());
        let mut batches = stream(table, &self.columns(&[])).await?;
        while let Some(batch) = batches.try_next().await.map_err(IndexError::store("read rows"))? {
            read.learn(&batch)?;
        }
        let known = std::mem::take(&mut *read.known.write());
        *self.known.write() = known;
        Ok(())
    }

    /// Adds the rows to an image.
    pub(super) fn save(&self, image: &mut ImageWriter, of: Of) {
        let known = self.known.read();
        for (file, rows) in &known.documents {
            for (row, document) in (0u64..).zip(rows).filter(|(_, document)| **document != NO_NAME) {
                image.add_place(of, file << 32 | row, *document);
            }
        }
        known.rows.iter().for_each(|(hash, address)| image.add_row(of, hash, address));
    }

    /// Remembers the rows of a batch that has the ids of rows and documents and [`ROW`].
    pub(super) fn learn(&self, batch: &RecordBatch) -> Result<(), IndexError> {
        let (ids, documents) = (Columns(batch).text(ID)?, Columns(batch).text(self.column)?);
        let mut known = self.known.write();
        let mut rows: Vec<Hashed> = Vec::with_capacity(batch.num_rows());
        for (row, address) in addresses(batch)?.iter().enumerate() {
            known.insert(*address, self.names.intern(documents.value(row)));
            rows.push((hash_of(ids.value(row)), *address));
        }
        let Known { documents, rows: known_rows, .. } = &mut *known;
        let document = |address| document_at(documents, address);
        known_rows.learn(rows, |before, now| document(before) == document(now));
        Ok(())
    }

    /// The documents of the rows at addresses, in their order; the table is asked for those that are not known yet. It
    /// must be the [snapshot](super::tables::snapshot) that they were found in: a row that it does not have has none.
    pub(super) async fn find(&self, table: &Table, addresses: &[u64]) -> Result<Vec<Option<Arc<str>>>, IndexError> {
        let mut documents: Vec<Option<Arc<str>>> = {
            let (known, texts) = (self.known.read(), self.names.read());
            let document = |address: &u64| Some(texts.of(known.document(*address)?).into());
            addresses.iter().map(document).collect()
        };
        let of_none = |(address, document): (&u64, &Option<Arc<str>>)| document.is_none().then_some(*address);
        let mut unknown: Vec<u64> = addresses.iter().zip(&documents).filter_map(of_none).collect();
        if unknown.is_empty() {
            return Ok(documents);
        }
        unknown.sort_unstable();
        let columns = self.columns(&[]);
        let rows = table.take_row_ids(unknown).with_row_id().select(Select::columns(&columns));
        // From here on other rows may be known, those of files that were joined meanwhile.
        let mut read: HashMap<u64, Arc<str>> = HashMap::new();
        for batch in fetch(rows, "read rows").await? {
            self.learn(&batch)?;
            let found = self::addresses(&batch)?.iter().copied().zip(Columns(&batch).text(self.column)?.iter());
            read.extend(found.filter_map(|(address, document)| Some((address, document?.into()))));
        }
        for (address, document) in addresses.iter().zip(&mut documents).filter(|(_, document)| document.is_none()) {
            *document = read.get(address).cloned();
        }
        Ok(documents)
    }

    /// Columns of the rows with these ids, and [`ID`], in no particular order. There may be other rows among them.
    pub(super) async fn rows(
        &self,
        table: &Table,
        ids: &[&str],
        columns: &[&'static str],
    ) -> Result<Vec<RecordBatch>, IndexError> {
        let columns = self.columns(columns);
        let there: Vec<u64> = {
            let known = self.known.read();
            ids.iter().flat_map(|id| known.rows.of(hash_of(id))).copied().collect()
        };
        let mut batches = self.take(table, there, &columns).await?;
        let mut found: Set<&str> = Set::default();
        for batch in &batches {
            found.extend(Columns(batch).text(ID)?.iter().flatten());
        }
        // New ones, and those that are elsewhere since files were joined.
        let missing: Vec<&str> = ids.iter().copied().filter(|id| !found.contains(id)).collect();
        for ids in missing.chunks(VALUES_PER_QUERY) {
            let query = table.query().only_if_expr(any_of(ID, ids.iter().copied())).with_row_id();
            let looked_up = fetch(query.select(Select::columns(&columns)), "look rows up").await?;
            looked_up.iter().try_for_each(|batch| self.learn(batch))?;
            batches.extend(looked_up);
        }
        Ok(batches)
    }

    /// Columns of the rows at addresses, of those that there are. A query that names addresses takes three times as long,
    /// most of it to be planned.
    async fn take(
        &self,
        table: &Table,
        mut addresses: Vec<u64>,
        columns: &[&str],
    ) -> Result<Vec<RecordBatch>, IndexError> {
        let failed = IndexError::store("read rows");
        let dataset = table.dataset().ok_or_else(not_local)?.get().await.map_err(failed)?;
        let files: HashSet<u64> = dataset.fragments().iter().map(|file| file.id).collect();
        addresses.retain(|address| files.contains(&(address >> 32)));
        addresses.sort_unstable();
        addresses.dedup();
        let (recent, named) = (self.recent.of(dataset.version_id()), Arc::<str>::from(columns.join(",")));
        let mut batches = Vec::with_capacity(addresses.len());
        addresses.retain(|address| match recent.get((*address, named.clone())) {
            Some(row) => {
                batches.push(row);
                false
            }
            None => true,
        });
        if !addresses.is_empty() {
            let columns = dataset.schema().project(columns).map_err(IndexError::store("read rows"))?;
            let rows = dataset.take_rows(&addresses, columns).await.map_err(IndexError::store("read rows"))?;
            // Of addresses without a row it cannot be told which they are.
            let is_kept = rows.num_rows() == addresses.len() && addresses.len() <= MOST_KEPT;
            let kept = if is_kept { addresses.as_slice() } else { &[] };
            for (at, address) in (0u64..).zip(kept) {
                // A copy, as a slice would hold all rows that were read with it.
                let row = take_record_batch(&rows, &UInt64Array::from(vec![at]));
                let row = row.map_err(IndexError::store("keep a row"))?;
                let bytes = row.get_array_memory_size();
                recent.keep((*address, named.clone()), row, bytes);
            }
            batches.push(rows);
        }
        Ok(batches)
    }

    /// Forgets all addresses, if most of them must be of rows that are gone.
    pub(super) async fn tidy(&self, table: &Table) -> Result<(), IndexError> {
        let rows = count(table).await?;
        let mut known = self.known.write();
        if known.count > STALE * rows {
            *known = Known::default();
        }
        Ok(())
    }

    /// Columns, and those that addresses are known by, each once.
    fn columns<'a>(&self, others: &[&'a str]) -> Vec<&'a str> {
        let mut columns: Vec<&str> = [ID, self.column].into_iter().chain(others.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
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

    use super::{super::tables::snapshot, *};

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
    async fn rows_that_went_meanwhile_are_those_that_were_found() {
        let dir = tempfile::tempdir().unwrap();
        let connection = lancedb::connect(dir.path().to_str().unwrap()).execute().await.unwrap();
        let table = connection.create_table("t", batch(&["a", "b", "c"])).execute().await.unwrap();
        let before = snapshot(&table).await.unwrap();
        let found = rows(&before).await;
        table.delete("id = 'b'").await.unwrap();
        table.add(batch(&["d"])).execute().await.unwrap();
        let compact = OptimizeAction::Compact { options: CompactionOptions::default(), remap_options: None };
        table.optimize(compact).await.unwrap();

        let known =
            |ids: Vec<Option<Arc<str>>>| ids.into_iter().map(|id| id.map(|id| id.to_string())).collect::<Vec<_>>();
        let all = ["a", "b", "c"].map(|id| Some(id.to_owned()));
        let places = Places::new("id", Names::default());
        // Elsewhere now, and never taken for another row.
        assert_eq!(known(places.find(&table, &found).await.unwrap()), vec![None; 3]);
        assert_eq!(known(places.find(&before, &found).await.unwrap()), all);
        assert_eq!(known(places.find(&table, &found).await.unwrap()), all, "what is known stays known");
    }
}
