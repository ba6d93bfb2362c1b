//! Finds vectors by the hash of their text, so that no text is embedded twice.

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
};

use lancedb::{
    Table,
    query::{QueryBase as _, Select},
};

use super::{
    columns::{Columns, vector},
    error::IndexError,
    filter::{VALUES_PER_QUERY, any_of},
    schema::{PASSAGES, TEXT_HASH, VECTOR, model_of},
    tables::{connect, damaged, fetch, open},
    types::ModelTag,
};
use crate::guard::catch_panic_async;

/// Memory for what is kept of an index whose vectors are only looked up, beside that of the index that is searched.
const CACHE_BYTES: usize = 128 << 20;
/// Vectors of deleted passages that are remembered until their document is embedded again.
const REMEMBERED: usize = 4096;

/// The vectors of an index that may be unreadable otherwise: a rebuild takes over those whose text is still the same.
#[derive(Clone)]
pub struct Vectors {
    table: Table,
    path: PathBuf,
}

impl Vectors {
    /// Opens the vectors in the directory of an index; `None` if it has none of that model.
    ///
    /// # Errors
    /// If they are there, but cannot be opened.
    pub async fn open(dir: &Path, model: &ModelTag) -> Result<Option<Self>, IndexError> {
        catch_panic_async(Self::open_table(dir, model)).await.unwrap_or_else(|panic| Err(damaged(dir, panic)))
    }

    async fn open_table(dir: &Path, model: &ModelTag) -> Result<Option<Self>, IndexError> {
        let Some((table, found)) = open_of_any_model(dir).await? else { return Ok(None) };
        Ok((found.as_ref() == Some(model)).then(|| Self { table, path: dir.to_owned() }))
    }

    /// The model that the index in a directory was made for; `None` if there is none or it cannot be read.
    pub async fn model_in(dir: &Path) -> Option<ModelTag> {
        catch_panic_async(open_of_any_model(dir)).await.ok()?.ok()??.1
    }

    /// The vectors of texts, by SHA-256 of the text. Texts that were never embedded are missing.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn find(&self, text_hashes: &[String]) -> Result<HashMap<String, Vec<f32>>, IndexError> {
        let found = catch_panic_async(find(&self.table, text_hashes)).await;
        found.unwrap_or_else(|panic| Err(damaged(&self.path, panic)))
    }
}

/// The table with the vectors of an index, and the model that they are of, as far as it says; `None` if it has none.
async fn open_of_any_model(dir: &Path) -> Result<Option<(Table, Option<ModelTag>)>, IndexError> {
    if !dir.is_dir() {
        return Ok(None);
    }
    let (connection, _) = connect(dir, CACHE_BYTES).await?;
    let Some(table) = open(&connection, dir, PASSAGES).await? else { return Ok(None) };
    let schema = table.schema().await.map_err(IndexError::store("read a table"))?;
    let model = model_of(&schema);
    Ok(Some((table, model)))
}

pub(super) async fn find(table: &Table, text_hashes: &[String]) -> Result<HashMap<String, Vec<f32>>, IndexError> {
    let mut found = HashMap::new();
    for hashes in text_hashes.chunks(VALUES_PER_QUERY) {
        let condition = any_of(TEXT_HASH, hashes.iter().map(String::as_str));
        let query = table.query().only_if_expr(condition).select(Select::columns(&[TEXT_HASH, VECTOR]));
        for batch in fetch(query, "look up vectors").await? {
            let columns = Columns(&batch);
            let vectors = columns.vectors(VECTOR)?;
            for (row, hash) in columns.text(TEXT_HASH)?.iter().enumerate() {
                let Some(hash) = hash else { continue };
                found.entry(hash.to_owned()).or_insert_with(|| vector(vectors, row));
            }
        }
    }
    Ok(found)
}

/// Vectors of passages that were deleted because another part of their document changed. When the document is
/// embedded again most of its passages are as they were.
#[derive(Debug, Default)]
pub(super) struct DeletedVectorCache {
    vectors: HashMap<String, Vec<f32>>,
    order: VecDeque<String>,
}

impl DeletedVectorCache {
    pub(super) fn add(&mut self, text_hash: &str, vector: Vec<f32>) {
        if self.vectors.insert(text_hash.to_owned(), vector).is_none() {
            self.order.push_back(text_hash.to_owned());
        }
        while self.order.len() > REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.vectors.remove(&oldest);
            }
        }
    }

    pub(super) fn get(&self, text_hash: &str) -> Option<&Vec<f32>> {
        self.vectors.get(text_hash)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
