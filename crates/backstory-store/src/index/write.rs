//! Writes documents and passages.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::atomic::Ordering,
};

use arrow::array::{RecordBatch, RecordBatchIterator};
use backstory_model::terms::TermExtractor;
use lancedb::{
    Table,
    expr::DfExpr as Expr,
    query::{QueryBase as _, Select},
};

use super::{
    APPLIED_SEQ, Index, PASSAGES_VERSION,
    columns::{Columns, vector},
    error::IndexError,
    filter::{VALUES_PER_QUERY, any_of},
    maintain::index_new_text,
    passages::create_passages,
    record, recorded,
    rows::{
        DocumentPassages, DocumentRow, Filterable, documents_batch, filterables, passages_batch, with_filter_columns,
    },
    schema::{
        CONTENT_HASH, DOCUMENT, FILTER_COLUMNS, ID, ROW_HASH, TERMS, TEXT_HASH, THREAD, VECTOR, WORD_TOTAL, WORDS,
        passages_schema,
    },
    tables::fetch,
    types::{ApplyCounts, NewPassages, ThreadDocuments},
    words::{DocumentWords, document_words, word_counter},
};

/// Most threads that are written in one commit. Each commit reads all files of the table, and adds one.
const THREADS_PER_COMMIT: usize = 4000;

/// What is stored of a document that may change.
struct Stored {
    filterable: Filterable,
    content_hash: String,
    row_hash: String,
    words: DocumentWords,
}

/// The rows of the documents of threads, by id.
fn rows_of(threads: &[ThreadDocuments]) -> Result<BTreeMap<String, DocumentRow>, IndexError> {
    let (mut cutter, mut count_words) = (TermExtractor::default(), word_counter()?);
    let mut rows = BTreeMap::new();
    for of in threads {
        for document in &of.documents {
            let row = DocumentRow::new(&of.thread, document, &mut cutter, &mut count_words)?;
            rows.insert(document.id.clone(), row);
        }
    }
    Ok(rows)
}

impl Index {
    /// Replaces all documents of the given threads and records `seq`, the ledger's sequence number that this brings
    /// the index to. A document that is there just so is left alone. Passages of a document that is gone or has
    /// another text are deleted; if only its labels or the like changed, they follow and keep their vectors.
    ///
    /// Doing it again changes nothing. If it fails, `seq` is not recorded and it can be done again.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn apply(&self, threads: Vec<ThreadDocuments>, seq: u64) -> Result<ApplyCounts, IndexError> {
        self.guarded(async {
            let _writer = self.begin_write().await?;
            let mut applied = ApplyCounts::default();
            let mut threads = threads;
            while !threads.is_empty() {
                let later = threads.split_off(threads.len().min(THREADS_PER_COMMIT));
                let step = self.replace(std::mem::replace(&mut threads, later)).await?;
                applied.written += step.written;
                applied.unchanged += step.unchanged;
                applied.deleted += step.deleted;
            }
            if applied.written > 0 && index_new_text(&self.shared.documents).await? {
                self.close_joined_parts().await;
            }
            self.record_seq(seq).await?;
            self.end_write();
            Ok(applied)
        })
        .await
    }

    async fn record_seq(&self, seq: u64) -> Result<(), IndexError> {
        let documents = &self.shared.documents;
        let version = self.passages().table.version().await.map_err(IndexError::store("read the manifest"))?;
        let known = (recorded(documents, APPLIED_SEQ).await?, recorded(documents, PASSAGES_VERSION).await?);
        if known == (Some(seq), Some(version)) {
            return Ok(());
        }
        record(documents, [(APPLIED_SEQ, seq), (PASSAGES_VERSION, version)]).await
    }

    async fn replace(&self, threads: Vec<ThreadDocuments>) -> Result<ApplyCounts, IndexError> {
        let stored = self.stored(&threads).await?;
        // Cutting texts into words takes long enough to keep others waiting.
        let rows = tokio::task::spawn_blocking(move || rows_of(&threads));
        let rows = rows.await.map_err(IndexError::store("cut texts into words"))??;
        let gone: Vec<&str> = stored.keys().map(String::as_str).filter(|id| !rows.contains_key(*id)).collect();
        let changed: Vec<&DocumentRow> =
            rows.values().filter(|row| stored.get(&row.id).is_none_or(|old| old.row_hash != row.row_hash)).collect();
        let has_same_text = |row: &&&DocumentRow| stored[&row.id].content_hash == row.content_hash;
        let (same_text, other_text): (Vec<&DocumentRow>, Vec<&DocumentRow>) =
            changed.iter().filter(|row| stored.contains_key(&row.id)).partition(has_same_text);

        let without_text = gone.iter().copied().chain(other_text.iter().map(|row| row.id.as_str()));
        self.delete_passages(&without_text.collect::<Vec<_>>()).await?;
        self.update_filter_columns(&same_text).await?;
        delete_where(&self.shared.documents, ID, &gone).await?;
        if !changed.is_empty() {
            upsert(&self.shared.documents, documents_batch(&changed)?).await?;
        }

        let mut counted = self.counted_mut();
        // Views that were made are of the documents before.
        self.shared.changes.fetch_add(1, Ordering::AcqRel);
        let stats = &mut counted.stats;
        for id in gone.iter().copied() {
            let old = &stored[id];
            stats.remove_pending(id);
            stats.remove(id, &old.filterable, &old.words);
            stats.facts.remove(id);
        }
        stats.ranking.remove_words(&gone)?;
        stats.ranking.put_words(changed.iter().map(|row| row.counted_words()))?;
        for row in &changed {
            let old = stored.get(&row.id);
            if let Some(old) = old {
                stats.remove(&row.id, &old.filterable, &old.words);
            }
            let ranked = (row.importance, row.content_hash.as_str());
            stats.put(&row.id, &row.filterable, &row.document_words(), ranked)?;
            if old.is_none_or(|old| old.content_hash != row.content_hash) {
                stats.add_pending(&row.id, &row.content_hash);
            }
        }
        Ok(ApplyCounts {
            written: changed.len() as u64,
            unchanged: (rows.len() - changed.len()) as u64,
            deleted: gone.len() as u64,
        })
    }

    /// The documents of threads as they are stored.
    async fn stored(&self, threads: &[ThreadDocuments]) -> Result<HashMap<String, Stored>, IndexError> {
        let own = [ID, CONTENT_HASH, ROW_HASH, TERMS, WORDS, WORD_TOTAL];
        let selected: Vec<&str> = own.into_iter().chain(FILTER_COLUMNS).collect();
        let mut stored = HashMap::new();
        for threads in threads.chunks(VALUES_PER_QUERY) {
            let condition = any_of(THREAD, threads.iter().map(|of| of.thread.as_str()));
            let query = self.shared.documents.query().only_if_expr(condition).select(Select::columns(&selected));
            for batch in fetch(query, "read documents").await? {
                let columns = Columns(&batch);
                let [ids, contents, rows] = [columns.text(ID)?, columns.text(CONTENT_HASH)?, columns.text(ROW_HASH)?];
                let words = document_words(&batch)?;
                for (row, (filterable, words)) in filterables(&batch)?.into_iter().zip(words).enumerate() {
                    let (content_hash, row_hash) = (contents.value(row).to_owned(), rows.value(row).to_owned());
                    let document = Stored { filterable, content_hash, row_hash, words };
                    stored.insert(ids.value(row).to_owned(), document);
                }
            }
        }
        Ok(stored)
    }

    /// Deletes the passages of documents, those that have any, and remembers their vectors for a while.
    async fn delete_passages(&self, documents: &[&str]) -> Result<(), IndexError> {
        let passages = self.passages();
        let ours = passages.foreign.is_none();
        // Documents that are pending have none; of another model's it is not known which have.
        let embedded: Vec<&str> = {
            let counted = self.counted();
            documents.iter().copied().filter(|id| !ours || !counted.stats.is_pending(id)).collect()
        };
        for documents in embedded.chunks(VALUES_PER_QUERY).filter(|_| ours) {
            let condition = any_of(DOCUMENT, documents.iter().copied());
            let query = passages.table.query().only_if_expr(condition).select(Select::columns(&[TEXT_HASH, VECTOR]));
            for batch in fetch(query, "read passages").await? {
                let columns = Columns(&batch);
                let vectors = columns.vectors(VECTOR)?;
                for (row, hash) in columns.text(TEXT_HASH)?.iter().enumerate() {
                    self.remembered().add(hash.unwrap_or_default(), vector(vectors, row));
                }
            }
        }
        delete_where(&passages.table, DOCUMENT, &embedded).await?;
        if ours {
            self.counted_mut().stats.passages_removed(&embedded)?;
        }
        Ok(())
    }

    /// Passages that an interrupted write left behind.
    pub(super) async fn delete_stale(&self, documents: &[String]) -> Result<(), IndexError> {
        let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
        delete_where(&self.passages().table, DOCUMENT, &documents).await?;
        self.counted_mut().stats.passages_removed(&documents)
    }

    /// Gives the passages of documents the columns that filters look at.
    async fn update_filter_columns(&self, rows: &[&DocumentRow]) -> Result<(), IndexError> {
        let table = self.passages().table;
        for rows in rows.chunks(VALUES_PER_QUERY) {
            let filterable: HashMap<&str, &Filterable> =
                rows.iter().map(|row| (row.id.as_str(), &row.filterable)).collect();
            let condition = any_of(DOCUMENT, filterable.keys().copied());
            let mut renewed = Vec::new();
            for batch in fetch(table.query().only_if_expr(condition), "read passages").await? {
                renewed.extend(with_filter_columns(&batch, &filterable)?);
            }
            for batch in renewed {
                upsert(&table, batch).await?;
            }
        }
        Ok(())
    }

    /// Replaces the passages of documents, with their vectors.
    ///
    /// Returns how many documents were stored: one that is gone, or that has another text meanwhile, is skipped. The
    /// first vectors of a new model delete those of the old one.
    ///
    /// # Errors
    /// [`Vector`](IndexError::Vector) if a vector cannot be one of the model, then nothing is stored; or if the store
    /// fails.
    pub async fn replace_passages(&self, documents: Vec<NewPassages>) -> Result<usize, IndexError> {
        self.guarded(async {
            for document in &documents {
                for passage in &document.passages {
                    self.check_vector(&passage.vector, || format!("what '{}' was given", document.document))?;
                }
            }
            let _writer = self.begin_write().await?;
            let current = self.current(&documents).await?;
            let mut seen = HashSet::new();
            let taken: Vec<DocumentPassages<'_>> = documents
                .iter()
                .rev()
                .filter(|of| !of.passages.is_empty() && seen.insert(of.document.as_str()))
                .filter_map(|of| {
                    let (content_hash, filterable) = current.get(&of.document)?;
                    (*content_hash == of.content_hash).then_some(DocumentPassages {
                        document: &of.document,
                        content_hash,
                        filterable,
                        passages: &of.passages,
                    })
                })
                .collect();
            if !taken.is_empty() {
                self.store_passages(&taken, &current).await?;
            }
            self.end_write();
            Ok(taken.len())
        })
        .await
    }

    async fn store_passages(
        &self,
        taken: &[DocumentPassages<'_>],
        current: &HashMap<String, (String, Filterable)>,
    ) -> Result<(), IndexError> {
        if self.passages().foreign.is_some() {
            let created = create_passages(&self.shared.connection, &self.shared.model, &self.shared.names).await?;
            *self.shared.passages.write() = created;
            self.remembered().clear();
        }
        let embedded: Vec<&str> = {
            let counted = self.counted();
            taken.iter().map(|of| of.document).filter(|id| !counted.stats.is_pending(id)).collect()
        };
        if !embedded.is_empty() {
            self.delete_passages(&embedded).await?;
            let mut counted = self.counted_mut();
            let stats = &mut counted.stats;
            for id in embedded {
                stats.add_pending(id, &current[id].0);
            }
        }
        let batch = passages_batch(&passages_schema(&self.shared.model), taken)?;
        let table = self.passages().table;
        Box::pin(table.add(batch.clone()).execute()).await.map_err(IndexError::store("store passages"))?;
        let mut counted = self.counted_mut();
        let stats = &mut counted.stats;
        stats.ranking.add(&batch)?;
        for of in taken {
            stats.passages_added(of.document, of.passages.len() as u64);
            stats.remove_pending(of.document);
        }
        Ok(())
    }

    /// Content hash and filter columns of the documents, of those that there are.
    async fn current(&self, documents: &[NewPassages]) -> Result<HashMap<String, (String, Filterable)>, IndexError> {
        let mut current = HashMap::new();
        let selected: Vec<&str> = [ID, CONTENT_HASH].into_iter().chain(FILTER_COLUMNS).collect();
        for documents in documents.chunks(VALUES_PER_QUERY) {
            let condition = any_of(ID, documents.iter().map(|of| of.document.as_str()));
            let query = self.shared.documents.query().only_if_expr(condition).select(Select::columns(&selected));
            for batch in fetch(query, "read documents").await? {
                let columns = Columns(&batch);
                let (ids, hashes) = (columns.text(ID)?, columns.text(CONTENT_HASH)?);
                for (row, filterable) in filterables(&batch)?.into_iter().enumerate() {
                    current.insert(ids.value(row).to_owned(), (hashes.value(row).to_owned(), filterable));
                }
            }
        }
        Ok(current)
    }

    /// Refuses a vector that the model cannot have made.
    pub(super) fn check_vector(&self, vector: &[f32], what: impl FnOnce() -> String) -> Result<(), IndexError> {
        let model = &self.shared.model;
        let reason = if vector.len() != model.dimension {
            format!("it has {} numbers, not {}", vector.len(), model.dimension)
        } else if !vector.iter().all(|number| number.is_finite()) {
            "it has numbers that are not finite".to_owned()
        } else if vector.iter().all(|number| *number == 0.0) {
            "it is zero".to_owned()
        } else {
            return Ok(());
        };
        Err(IndexError::Vector { what: what(), model: model.name.clone(), reason })
    }
}

/// Deletes the rows that have one of the values.
async fn delete_where(table: &Table, column: &str, values: &[&str]) -> Result<(), IndexError> {
    for values in values.chunks(VALUES_PER_QUERY) {
        let condition: Expr = any_of(column, values.iter().copied());
        Box::pin(table.delete(&condition)).await.map_err(IndexError::store("delete rows"))?;
    }
    Ok(())
}

/// Writes rows in place of those with the same id.
async fn upsert(table: &Table, batch: RecordBatch) -> Result<(), IndexError> {
    let schema = batch.schema();
    let mut merge = table.merge_insert(&[ID]);
    merge.when_matched_update_all(None).when_not_matched_insert_all();
    let rows = RecordBatchIterator::new([Ok(batch)], schema);
    Box::pin(merge.execute(Box::new(rows))).await.map_err(IndexError::store("write rows"))?;
    Ok(())
}
