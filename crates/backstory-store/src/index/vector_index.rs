//! The store's index on vectors, which proposes the nearest of many.

use lancedb::{
    DistanceType, Table,
    index::{
        Index as LanceIndex, IndexConfig, IndexType,
        vector::{IvfRqIndexBuilder, IvfSqIndexBuilder},
    },
};

use super::{
    error::IndexError,
    record, recorded,
    schema::{VECTOR, index_name},
    tables::{count, create_index, unindexed},
    types::ModelTag,
};

/// Number of vectors at which an index finds the nearest ones; fewer are compared one by one, which is exact.
pub const VECTORS_TO_INDEX: u64 = 10_000;
/// Share of vectors that are not in their index at which it is made again, as the clusters that it began with are
/// no longer those of its vectors; as a divisor.
const NEW_VECTORS_TO_REINDEX: u64 = 4;
/// Vectors of a cluster, unless a number of clusters is set.
const VECTORS_PER_CLUSTER: u64 = 1000;
/// How many times more or fewer vectors than a cluster was told to have it should have before the index is made again.
const OTHER_CLUSTER_SIZE: u64 = 2;
/// What the table has written down: the number of clusters that was set when its index was made, 0 for none,
const CLUSTERS: &str = "backstory.vector_clusters";
/// and the vectors of a cluster that followed from it, 0 while the index is being made.
const CLUSTER_SIZE: &str = "backstory.vectors_per_cluster";
/// Bits of a number of a vector in the index. What it proposes is compared with eight.
const BITS: u32 = 3;
/// The store makes so few bits only of vectors whose dimension is a multiple of this.
const DIMENSIONS_OF_FEW_BITS: usize = 8;

/// The index, if there is one.
pub(super) async fn find_vector_index(table: &Table) -> Result<Option<IndexConfig>, IndexError> {
    let present = table.list_indices().await.map_err(IndexError::store("list the indexes"))?;
    let name = index_name(VECTOR);
    Ok(present.into_iter().find(|index| index.name == name))
}

/// Makes the index, if there are enough vectors and it is not there, began with much fewer or has other clusters than are
/// wanted; drops it if there are not enough. Returns whether there is one.
pub(super) async fn ensure_vector_index(
    table: &Table,
    model: &ModelTag,
    clusters: Option<u32>,
) -> Result<bool, IndexError> {
    let rows = count(table).await?;
    let present = find_vector_index(table).await?;
    if rows < VECTORS_TO_INDEX {
        if let Some(index) = present {
            table.drop_index(&index.name).await.map_err(IndexError::store("drop an index"))?;
        }
        return Ok(false);
    }
    let clusters = clusters.map_or(0, u64::from);
    let size = if clusters == 0 { VECTORS_PER_CLUSTER } else { rows.div_ceil(clusters) };
    let (index, index_type) = vector_index(model.dimension, u32::try_from(size).unwrap_or(u32::MAX));
    // Earlier versions made another type.
    let exists = present.is_some_and(|index| index.index_type == index_type);
    if exists && has_clusters(table, clusters, size).await? {
        let is_young = unindexed(table, VECTOR).await? * NEW_VECTORS_TO_REINDEX < rows;
        if is_young {
            return Ok(true);
        }
    }
    record(table, [(CLUSTERS, clusters), (CLUSTER_SIZE, 0)]).await?;
    create_index(table, VECTOR, index).await?;
    record(table, [(CLUSTERS, clusters), (CLUSTER_SIZE, size)]).await?;
    Ok(true)
}

/// Whether the index has the clusters that were set, and these about their size. Nothing is written down by earlier versions,
/// which made them of the usual size.
async fn has_clusters(table: &Table, clusters: u64, size: u64) -> Result<bool, IndexError> {
    let made_for = recorded(table, CLUSTERS).await?.unwrap_or(0);
    let made = recorded(table, CLUSTER_SIZE).await?.unwrap_or(VECTORS_PER_CLUSTER);
    Ok(made_for == clusters && size.max(made) < size.min(made).saturating_mul(OTHER_CLUSTER_SIZE))
}

/// Few bits a number: more clusters fit into memory and are looked through in less time. Where the store cannot make them,
/// eight. Clusters that stay far from their size are joined and split later, so it is that which is given.
fn vector_index(dimension: usize, vectors_per_cluster: u32) -> (LanceIndex, IndexType) {
    let distance = DistanceType::Cosine;
    if dimension.is_multiple_of(DIMENSIONS_OF_FEW_BITS) {
        let index = IvfRqIndexBuilder::default().distance_type(distance).num_bits(BITS);
        (LanceIndex::IvfRq(index.target_partition_size(vectors_per_cluster)), IndexType::IvfRq)
    } else {
        let index = IvfSqIndexBuilder::default().distance_type(distance);
        (LanceIndex::IvfSq(index.target_partition_size(vectors_per_cluster)), IndexType::IvfSq)
    }
}
