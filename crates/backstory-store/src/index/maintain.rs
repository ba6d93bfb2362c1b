//! Maintains the tables: builds and folds search indexes, joins small files, removes old versions.

use std::{io, path::Path};

use lance_core::cache::CacheBackend as _;
use lancedb::{
    Table,
    table::{CompactionOptions, Duration, OptimizeAction, OptimizeOptions},
};

use super::{
    Index,
    error::IndexError,
    passages::Passages,
    schema::{SEARCH_TEXT, index_name},
    tables::{count, unindexed},
};

/// Rows of a file that is not rewritten any more to join it with another.
const ROWS_PER_FILE: usize = 50_000;
/// Number of files of a table at which they are joined.
const FILES_TO_COMPACT: usize = 16;
/// Share of deleted rows at which they are taken out of their files, as a divisor.
const DELETED_TO_COMPACT: u64 = 5;
/// Documents that are left for every search to read, rather than to change the full-text index for each of them.
const DOCUMENTS_TO_READ: u64 = 50;
/// Number of parts of the full-text index at which the small ones become one. Every search looks into all parts.
const TEXT_PARTS: u32 = 12;
/// Versions of the tables younger than this are kept, for the searches that still read them.
pub const KEPT_VERSIONS: std::time::Duration = std::time::Duration::from_secs(10 * 60);

impl Index {
    /// Takes new rows into the indexes, joins small files, and deletes old versions. Searches go on meanwhile,
    /// writes wait. Seconds for 100,000 documents: to be called now and then, not after each write.
    ///
    /// # Errors
    /// If the store fails; the index stays usable.
    pub async fn optimize(&self) -> Result<(), IndexError> {
        self.guarded(async {
            let writer = self.shared.writer.clone().lock_owned().await;
            let passages = self.passages();
            compact(&self.shared.documents).await?;
            let whole = OptimizeOptions::merge(usize::MAX).index_names(text_indexes());
            optimize(&self.shared.documents, OptimizeAction::Index(whole)).await?;
            fold_into_indexes(&self.shared.documents).await?;
            prune(&self.shared.documents).await?;
            compact(&passages.table).await?;
            if passages.foreign.is_none() {
                passages.index_vectors(&self.shared.model, self.shared.options.clusters).await?;
            }
            fold_into_indexes(&passages.table).await?;
            prune(&passages.table).await?;
            self.close_joined_parts().await;
            self.shared.places.tidy(&self.shared.documents).await?;
            passages.places.tidy(&passages.table).await?;
            self.compact_ranking_data().await?;
            self.forget_unused_names(&passages);
            let moved = [(&self.shared.documents, &self.shared.places), (&passages.table, &passages.places)];
            self.save_image(writer, &moved).await;
            Ok(())
        })
        .await
    }

    /// Writes the file of what ranking reads again if much of it is of no use. Only who writes may do this.
    async fn compact_ranking_data(&self) -> Result<(), IndexError> {
        let Some(compaction) = self.counted().stats.ranking.begin_compaction() else { return Ok(()) };
        let compacted = tokio::task::spawn_blocking(move || compaction.run()).await;
        let compacted = compacted.map_err(IndexError::store("compact what ranking reads"))??;
        self.counted_mut().stats.ranking.end_compaction(compacted);
        Ok(())
    }

    /// Forgets the names that nothing has any more. Only who writes may do this.
    fn forget_unused_names(&self, passages: &Passages) {
        // Nobody takes a name while these are read.
        let counted = self.counted();
        let places = [self.shared.places.read(), passages.places.read()];
        let mut used = vec![false; self.shared.names.read().len()];
        counted.stats.mark_names(&mut used);
        places.iter().for_each(|known| known.mark_names(&mut used));
        self.shared.names.retain(&used);
    }

    /// Closes search indexes whose parts were joined. Lance holds what it opened until its cache is full, parts that are
    /// of no use any more too, and each has a descriptor or two. What is still of use is opened again.
    pub(super) async fn close_joined_parts(&self) {
        self.shared.opened.clear().await;
    }

    /// Documents that the full-text index does not cover yet. Every search reads all of them.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn unindexed(&self) -> Result<u64, IndexError> {
        self.guarded(async { unindexed(&self.shared.documents, SEARCH_TEXT).await }).await
    }

    /// Bytes that the index takes on disk. Blocks while it looks.
    ///
    /// # Errors
    /// If its directory cannot be read.
    pub fn size_on_disk(&self) -> io::Result<u64> {
        size(&self.shared.path)
    }
}

/// Makes the documents that were written since the last time a part of the full-text index. Otherwise each search would
/// cut their texts into words again.
///
/// Returns whether parts were joined.
pub(super) async fn index_new_text(documents: &Table) -> Result<bool, IndexError> {
    let stats = documents.index_stats(index_name(SEARCH_TEXT)).await.map_err(IndexError::store("read an index"))?;
    let Some(stats) = stats.filter(|stats| stats.num_unindexed_rows as u64 > DOCUMENTS_TO_READ) else {
        return Ok(false);
    };
    let parts = stats.num_indices.unwrap_or(1);
    // The largest part is the first; `optimize` is what joins it with the others.
    let joined = if parts < TEXT_PARTS { 0 } else { parts - 1 };
    let options = OptimizeOptions::merge(joined as usize).index_names(text_indexes());
    optimize(documents, OptimizeAction::Index(options)).await?;
    Ok(joined > 0)
}

fn text_indexes() -> Vec<String> {
    vec![index_name(SEARCH_TEXT)]
}

fn size(dir: &Path) -> io::Result<u64> {
    let mut total = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        // A file may be deleted while its directory is read.
        total += match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path())?,
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
    }
    Ok(total)
}

async fn compact(table: &Table) -> Result<(), IndexError> {
    let Some(native) = table.as_native() else { return Ok(()) };
    let files = native.count_fragments().await.map_err(IndexError::store("count files"))?;
    let deleted = native.count_deleted_rows().await.map_err(IndexError::store("count files"))? as u64;
    if files < FILES_TO_COMPACT && deleted * DELETED_TO_COMPACT <= count(table).await? {
        return Ok(());
    }
    let options = CompactionOptions { target_rows_per_fragment: ROWS_PER_FILE, ..CompactionOptions::default() };
    optimize(table, OptimizeAction::Compact { options, remap_options: None }).await
}

async fn fold_into_indexes(table: &Table) -> Result<(), IndexError> {
    optimize(table, OptimizeAction::Index(OptimizeOptions::default())).await
}

async fn prune(table: &Table) -> Result<(), IndexError> {
    let older_than = Duration::from_std(KEPT_VERSIONS).map_err(IndexError::store("delete old versions"))?;
    let (delete_unverified, error_if_tagged_old_versions) = (None, None);
    let action =
        OptimizeAction::Prune { older_than: Some(older_than), delete_unverified, error_if_tagged_old_versions };
    optimize(table, action).await
}

async fn optimize(table: &Table, action: OptimizeAction) -> Result<(), IndexError> {
    Box::pin(table.optimize(action)).await.map_err(IndexError::store("tidy up"))?;
    Ok(())
}
