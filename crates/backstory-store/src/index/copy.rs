//! Copies an index without what was deleted from it: deleted rows, old versions and words of the full-text index stay
//! in a directory until something rewrites them.

use std::path::Path;

use arrow::datatypes::SchemaRef;
use lancedb::{Connection, Table, index::Index as LanceIndex, query::ExecutableQuery as _};

use super::{
    APPLIED_SEQ, Index, PASSAGES_VERSION,
    error::IndexError,
    names::Names,
    passages::create_passages,
    record, recorded,
    schema::{DOCUMENTS, PASSAGES, documents_indexes, documents_schema, passages_indexes, passages_schema},
    tables::{connect, count, create, ensure_indexes},
    vector_index::ensure_vector_index,
};

impl Index {
    /// Writes the documents and passages that there are, with their vectors, to a directory that has nothing yet, and
    /// indexes them there. Vectors of another model are left out. Writes wait meanwhile, searches go on.
    ///
    /// # Errors
    /// If the store fails; what the directory then has is of no use.
    pub async fn copy_to(&self, dir: &Path) -> Result<(), IndexError> {
        self.guarded(async {
            // Takes out what an interrupted write left behind.
            let _writer = self.begin_write().await?;
            self.end_write();
            let (connection, _) = connect(dir, self.shared.options.cache_bytes).await?;
            let seq = recorded(&self.shared.documents, APPLIED_SEQ).await?.unwrap_or(0);
            let passages = self.passages();
            let model = &self.shared.model;
            let vectors = if passages.foreign.is_some() {
                create_passages(&connection, model, &Names::default()).await?.table
            } else {
                let new = (PASSAGES, passages_schema(model), passages_indexes());
                let table = copy(&passages.table, &connection, new).await?;
                ensure_vector_index(&table, model, self.shared.options.clusters).await?;
                table
            };
            let new = (DOCUMENTS, documents_schema(), documents_indexes());
            let documents = copy(&self.shared.documents, &connection, new).await?;
            let version = vectors.version().await.map_err(IndexError::store("read the manifest"))?;
            record(&documents, [(APPLIED_SEQ, seq), (PASSAGES_VERSION, version)]).await
        })
        .await
    }
}

/// Streams the rows of a table into a new one, which gets its indexes once it has them.
async fn copy(
    from: &Table,
    to: &Connection,
    (name, schema, indexes): (&str, SchemaRef, Vec<(&'static str, LanceIndex)>),
) -> Result<Table, IndexError> {
    let table = create(to, name, schema).await?;
    if count(from).await? > 0 {
        let rows = Box::pin(from.query().execute()).await.map_err(IndexError::store("read a table"))?;
        Box::pin(table.add(rows).execute()).await.map_err(IndexError::store("copy rows"))?;
    }
    ensure_indexes(&table, indexes).await?;
    Ok(table)
}
