//! The table of passages, and whose vectors it has: opens it, and creates it for a model.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use lancedb::{Connection, Table};

use super::{
    error::IndexError,
    names::Names,
    places::Places,
    schema::{DOCUMENT, PASSAGES, model_of, passages_indexes, passages_schema},
    tables::{count, create, damaged, ensure_indexes, open},
    types::ModelTag,
    vector_index::{ensure_vector_index, find_vector_index},
};

/// The passages and whose vectors they have.
#[derive(Clone)]
pub(super) struct Passages {
    pub(super) table: Table,
    /// The model of the vectors, if it is not the one the index was opened for.
    pub(super) foreign: Option<ModelTag>,
    /// Which document each row is of.
    pub(super) places: Places,
    /// Whether an index proposes the nearest vectors.
    is_indexed: Arc<AtomicBool>,
}

impl Passages {
    fn new(table: Table, foreign: Option<ModelTag>, names: &Names) -> Self {
        Self { table, foreign, places: Places::new(DOCUMENT, names.clone()), is_indexed: Arc::default() }
    }

    /// Whether an index proposes the nearest vectors, some of which may not be found, instead of a look at all of them.
    pub(super) fn is_indexed(&self) -> bool {
        self.is_indexed.load(Ordering::Acquire)
    }

    /// Makes the index on vectors, or drops it, as is best for as many as there are.
    pub(super) async fn index_vectors(&self, model: &ModelTag, clusters: Option<u32>) -> Result<(), IndexError> {
        // A search that meets the new index knows that it may.
        self.is_indexed.store(true, Ordering::Release);
        let is_indexed = ensure_vector_index(&self.table, model, clusters).await?;
        self.is_indexed.store(is_indexed, Ordering::Release);
        Ok(())
    }
}

/// Opens `passages`. If it has vectors of another model they are left there, as somebody may want them back.
pub(super) async fn open_passages(
    connection: &Connection,
    dir: &Path,
    model: &ModelTag,
    names: &Names,
) -> Result<Passages, IndexError> {
    let Some(table) = open(connection, dir, PASSAGES).await? else {
        return create_passages(connection, model, names).await;
    };
    let schema = table.schema().await.map_err(|error| damaged(dir, error))?;
    let found = model_of(&schema).ok_or_else(|| damaged(dir, "it does not say which model made its vectors"))?;
    if found == *model {
        ensure_indexes(&table, passages_indexes()).await?;
        let is_indexed = find_vector_index(&table).await?.is_some();
        return Ok(Passages { is_indexed: Arc::new(is_indexed.into()), ..Passages::new(table, None, names) });
    }
    if count(&table).await? == 0 {
        return create_passages(connection, model, names).await;
    }
    Ok(Passages::new(table, Some(found), names))
}

/// Creates `passages` for a model, in place of one that may be there.
pub(super) async fn create_passages(
    connection: &Connection,
    model: &ModelTag,
    names: &Names,
) -> Result<Passages, IndexError> {
    let table = create(connection, PASSAGES, passages_schema(model)).await?;
    ensure_indexes(&table, passages_indexes()).await?;
    Ok(Passages::new(table, None, names))
}
