//! The image of what is kept in memory of both tables: reading these at each start takes seconds for 100,000 documents.
//!
//! It is written when the tables were read or tidied up, and deleted before anything else is written, so that nothing that
//! was forgotten is left in it. What it says counts only for the versions of the tables that it was made of. Two files: one
//! is read whole, the other has what ranking reads and is read where a search needs it.

mod read;
mod write;

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use arrow::error::ArrowError;
use backstory_model::digest::SetDigest;
use lancedb::Table;

use super::{error::IndexError, not_local, numbered::Name, schema::FORMAT, types::ModelTag};

pub(super) use self::{read::Image, write::ImageWriter};

/// The form of an image. What is written otherwise gets another number.
const FORM: u32 = 4;
/// What the file begins with.
const MAGIC: &[u8] = b"backstory image\n";
/// What the names of its files begin with.
pub(crate) const IMAGE: &str = "image.";
/// The file that is read whole.
const FILE: &str = "image.arrow";
/// Beginning of the name of the file with what ranking reads, which ends with what tells it from that of another image.
const RANKING_FILE: &str = "image.ranking.";

/// What an image is of: the versions of both tables, and who reads it how.
///
/// # Errors
/// The tables cannot be read.
pub(super) async fn image_key(documents: &Table, passages: &Table, model: &ModelTag) -> Result<String, IndexError> {
    let (of_documents, of_passages) = (version(documents).await?, version(passages).await?);
    let ModelTag { name, dimension } = model;
    Ok(format!("{FORM} {FORMAT} {name} {dimension} {of_documents} {of_passages}"))
}

/// The version of a table, with its time: after a power cut its number may come again.
async fn version(table: &Table) -> Result<String, IndexError> {
    let native = table.as_native().ok_or_else(not_local)?;
    let manifest = native.manifest().await.map_err(IndexError::store("read the manifest"))?;
    Ok(format!("{}@{}", manifest.version, manifest.timestamp_nanos))
}

/// Whether the files of a table are there, each as long as it was written: a power cut may have taken some.
///
/// # Errors
/// The table cannot be read.
pub(super) async fn has_all_files(dir: &Path, table: &Table) -> Result<bool, IndexError> {
    let native = table.as_native().ok_or_else(not_local)?;
    let manifest = native.manifest().await.map_err(IndexError::store("read the manifest"))?;
    let table = dir.join(format!("{}.lance", table.name()));
    let looking = tokio::task::spawn_blocking(move || {
        let length = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
        manifest.fragments.iter().all(|fragment| {
            let are_whole = fragment.files.iter().all(|file| {
                let (length, expected) = (length(&table.join("data").join(&file.path)), file.file_size_bytes.get());
                length > 0 && expected.is_none_or(|expected| u64::from(expected) == length)
            });
            let deleted = fragment
                .deletion_file
                .as_ref()
                .map(|file| format!("{}-{}-{}.{}", fragment.id, file.read_version, file.id, file.file_type.suffix()));
            are_whole && deleted.is_none_or(|name| length(&table.join("_deletions").join(name)) > 0)
        })
    });
    looking.await.map_err(IndexError::store("look for the files of a table"))
}

/// Which table places are of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    Documents,
    Passages,
}

/// What is counted of the documents that are visible to the same callers.
pub(super) struct ImageGroup {
    pub(super) project: Name,
    pub(super) confidential: bool,
    /// How many words they have together.
    pub(super) words: u64,
    /// Over every document and what it says.
    pub(super) digest: SetDigest,
}

/// Where the words of a document are.
pub(super) struct ImagePart {
    pub(super) document: Name,
    pub(super) offset: u64,
    pub(super) bytes: u32,
}

/// Where the passages of a document are.
pub(super) struct ImageRun {
    pub(super) part: ImagePart,
    pub(super) passages: u32,
    pub(super) text_hash: u64,
}

/// Deletes the image of a directory, if there is one, and what is left of others. It is gone after a power cut, too. Blocks.
pub(super) fn remove(dir: &Path) -> io::Result<()> {
    let mut is_changed = false;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(IMAGE) {
            fs::remove_file(entry.path())?;
            is_changed = true;
        }
    }
    if is_changed { File::open(dir)?.sync_all() } else { Ok(()) }
}

/// Why an image is of no use.
#[derive(Debug, thiserror::Error)]
pub(super) enum ImageError {
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    #[error("it is of another state of the tables")]
    Outdated,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}
