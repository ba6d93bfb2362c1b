//! The table of passages, and whose vectors it has: opens it, and creates it for a model.

use std::path::Path;

use lancedb::{Connection, Table};

use super::{
    error::IndexError,
    names::Names,
    places::Places,
    schema::{DOCUMENT, PASSAGES, model_of, passages_indexes, passages_schema},
    tables::{count, create, damaged, ensure_indexes, open},
    types::ModelTag,
};

/// The passages and whose vectors they have.
#[derive(Clone)]
pub(super) struct Passages {
    pub(super) table: Table,
    /// The model of the vectors, if it is not the one the index was opened for.
    pub(super) foreign: Option<ModelTag>,
    /// Which document each row is of.
    pub(super) places: Places,
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
        return Ok(Passages { table, foreign: None, places: Places::new(DOCUMENT, names.clone()) });
    }
    if count(&table).await? == 0 {
        return create_passages(connection, model, names).await;
    }
    Ok(Passages { table, foreign: Some(found), places: Places::new(DOCUMENT, names.clone()) })
}

/// Creates `passages` for a model, in place of one that may be there.
pub(super) async fn create_passages(
    connection: &Connection,
    model: &ModelTag,
    names: &Names,
) -> Result<Passages, IndexError> {
    let table = create(connection, PASSAGES, passages_schema(model)).await?;
    ensure_indexes(&table, passages_indexes()).await?;
    Ok(Passages { table, foreign: None, places: Places::new(DOCUMENT, names.clone()) })
}
