//! Opens, creates and reads the tables of a directory.

use std::{path::Path, sync::Arc};

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use futures::TryStreamExt as _;
use lance_core::cache::{QuickCacheBackend, QuickCacheShardPolicy};
use lancedb::{
    Connection, ObjectStoreRegistry, Session, Table,
    arrow::SendableRecordBatchStream,
    database::CreateTableMode,
    index::Index,
    query::{ExecutableQuery, QueryBase as _, Select},
};

use super::{
    error::IndexError,
    schema::{DOCUMENTS, FORMAT, PASSAGES, documents_indexes, documents_schema, format_of, index_name},
};

/// The part of what is kept in memory that is what is known of files and tables, as a divisor; the rest is opened indexes.
const METADATA: usize = 5;

/// A connection to a directory, and what it keeps of opened search indexes.
pub(super) type Connected = (Connection, Arc<QuickCacheBackend>);

/// Connects to a directory, which need not exist yet, and keeps at most so many bytes of it in memory; Lance's own default is
/// 7 GiB.
pub(super) async fn connect(dir: &Path, cache_bytes: usize) -> Result<Connected, IndexError> {
    // An absolute path can never be taken for the address of a remote database.
    let absolute = std::path::absolute(dir).map_err(|error| damaged(dir, error))?;
    let uri = absolute.to_str().ok_or_else(|| damaged(dir, "its path is not UTF-8"))?;
    let metadata = cache_bytes / METADATA;
    let opened = Arc::new(QuickCacheBackend::with_shard_policy(cache_bytes - metadata, QuickCacheShardPolicy::Single));
    let stores = Arc::new(ObjectStoreRegistry::default());
    let session = Session::with_index_cache_backend(opened.clone(), metadata, stores);
    let connection = Box::pin(lancedb::connect(uri).session(Arc::new(session)).execute()).await;
    Ok((connection.map_err(|error| damaged(dir, error))?, opened))
}

pub(super) fn damaged(dir: &Path, reason: impl std::fmt::Display) -> IndexError {
    IndexError::store("open a table")(reason).damaged(dir)
}

/// Opens a table; `None` if there is none.
pub(super) async fn open(connection: &Connection, dir: &Path, name: &str) -> Result<Option<Table>, IndexError> {
    match Box::pin(connection.open_table(name).execute()).await {
        Ok(table) => Ok(Some(table)),
        Err(error @ lancedb::Error::TableNotFound { .. }) => {
            // A directory with data but without a readable manifest is reported just like no table at all.
            let data = dir.join(format!("{name}.lance")).join("data");
            if data.is_dir() { Err(damaged(dir, error)) } else { Ok(None) }
        }
        Err(error) => Err(damaged(dir, error)),
    }
}

/// Opens `documents`, or creates it with `passages` not there either.
pub(super) async fn open_documents(connection: &Connection, dir: &Path) -> Result<Table, IndexError> {
    let table = match open(connection, dir, DOCUMENTS).await? {
        Some(table) => table,
        None => {
            if open(connection, dir, PASSAGES).await?.is_some() {
                return Err(damaged(dir, "it has passages, but no documents"));
            }
            create(connection, DOCUMENTS, documents_schema()).await?
        }
    };
    let schema = table.schema().await.map_err(|error| damaged(dir, error))?;
    let found = format_of(&schema).ok_or_else(|| damaged(dir, "it does not say which format it has"))?;
    let path = dir.to_owned();
    if found.schema > FORMAT.schema || found.analyzer > FORMAT.analyzer {
        // A newer program says so in both tables; a flipped bit is in one.
        let passages = open(connection, dir, PASSAGES).await?;
        let schema = match &passages {
            Some(passages) => passages.schema().await.ok(),
            None => None,
        };
        return Err(match schema.as_deref().and_then(format_of) {
            Some(agreed) if agreed == found => IndexError::Newer { path, found, known: FORMAT },
            _ => damaged(dir, format!("its tables do not agree on its format, {found}")),
        });
    }
    if found != FORMAT {
        return Err(IndexError::Outdated { path, found, known: FORMAT });
    }
    ensure_indexes(&table, documents_indexes()).await?;
    Ok(table)
}

pub(super) async fn create(connection: &Connection, name: &str, schema: SchemaRef) -> Result<Table, IndexError> {
    let creation = connection.create_empty_table(name, schema).mode(CreateTableMode::Overwrite).execute();
    Box::pin(creation).await.map_err(IndexError::store("create a table"))
}

/// Creates the indexes that are missing: all of a new table, or those that an interrupted creation left out.
pub(super) async fn ensure_indexes(table: &Table, wanted: Vec<(&'static str, Index)>) -> Result<(), IndexError> {
    let present = table.list_indices().await.map_err(IndexError::store("list the indexes"))?;
    for (column, index) in wanted {
        let name = index_name(column);
        if !present.iter().any(|index| index.name == name) {
            create_index(table, column, index).await?;
        }
    }
    Ok(())
}

/// Creates an index on a column, in place of one that may be there.
pub(super) async fn create_index(table: &Table, column: &str, index: Index) -> Result<(), IndexError> {
    let creation = table.create_index(&[column], index).name(index_name(column)).execute();
    Box::pin(creation).await.map_err(IndexError::store("create an index"))
}

/// Rows in a table.
pub(super) async fn count(table: &Table) -> Result<u64, IndexError> {
    let rows = table.count_rows(None).await.map_err(IndexError::store("count rows"))?;
    Ok(rows as u64)
}

/// Rows that the search index on a column does not cover.
pub(super) async fn unindexed(table: &Table, column: &str) -> Result<u64, IndexError> {
    let stats = table.index_stats(index_name(column)).await.map_err(IndexError::store("read an index"))?;
    match stats {
        Some(stats) => Ok(stats.num_unindexed_rows as u64),
        None => count(table).await,
    }
}

/// A table as it is now, whatever is written meanwhile: what a search finds in it is still there when it is read. It is
/// the crate's own way for queries in two steps, public though not in its documentation.
pub(super) async fn snapshot(table: &Table) -> Result<Table, IndexError> {
    table.query_snapshot().await.map_err(IndexError::store("read a table"))
}

/// Some columns of all rows and their [addresses](super::places::ROW), a few thousand of them at a time.
pub(super) async fn stream(table: &Table, columns: &[&str]) -> Result<SendableRecordBatchStream, IndexError> {
    let query = table.query().with_row_id().select(Select::columns(columns));
    Box::pin(query.execute()).await.map_err(IndexError::store("read a table"))
}

/// All that a query returns.
pub(super) async fn fetch(query: impl ExecutableQuery, action: &'static str) -> Result<Vec<RecordBatch>, IndexError> {
    let rows = Box::pin(query.execute()).await.map_err(IndexError::store(action))?;
    rows.try_collect().await.map_err(IndexError::store(action))
}
