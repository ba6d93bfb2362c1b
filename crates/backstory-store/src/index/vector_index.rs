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
    schema::{VECTOR, index_name},
    tables::{count, create_index, unindexed},
    types::ModelTag,
};

/// Number of vectors at which an index finds the nearest ones; fewer are compared one by one, which is exact.
pub(super) const VECTORS_TO_INDEX: u64 = 10_000;
/// Share of vectors that are not in their index at which it is made again, as the clusters that it began with are
/// no longer those of its vectors; as a divisor.
const NEW_VECTORS_TO_REINDEX: u64 = 4;
/// Vectors of a cluster, unless a number of clusters is set.
const VECTORS_PER_CLUSTER: u64 = 1000;
/// Bits of a number of a vector in the index. What it proposes is compared with eight.
const BITS: u32 = 3;
/// The store makes so few bits only of vectors whose dimension is a multiple of this.
const DIMENSIONS_OF_FEW_BITS: usize = 8;

/// Makes the index, if there are enough vectors and it is not there or began with much fewer; drops it if there are not.
pub(super) async fn ensure_vector_index(
    table: &Table,
    model: &ModelTag,
    clusters: Option<u32>,
) -> Result<(), IndexError> {
    let rows = count(table).await?;
    let present: Vec<IndexConfig> = table.list_indices().await.map_err(IndexError::store("list the indexes"))?;
    let name = index_name(VECTOR);
    let present = present.into_iter().find(|index| index.name == name);
    if rows < VECTORS_TO_INDEX {
        return match present {
            Some(_) => table.drop_index(&name).await.map_err(IndexError::store("drop an index")),
            None => Ok(()),
        };
    }
    let vectors = clusters.map_or(VECTORS_PER_CLUSTER, |clusters| rows / u64::from(clusters)).max(1);
    let (index, index_type) = vector_index(model.dimension, u32::try_from(vectors).unwrap_or(u32::MAX));
    // Earlier versions made another type.
    let exists = present.is_some_and(|index| index.index_type == index_type);
    if exists && unindexed(table, VECTOR).await? * NEW_VECTORS_TO_REINDEX < rows {
        return Ok(());
    }
    create_index(table, VECTOR, index).await
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
