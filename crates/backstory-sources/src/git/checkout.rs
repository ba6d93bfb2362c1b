//! The working tree that somebody stands in: a file as it is there, and which commits are below it.

use std::{fs, path::Path};

use backstory_model::commit::Sha;
use git2::{Repository, Sort};

/// Most commits below the checkout's that are named.
pub const MAX_COMMITS: usize = 500;
/// Largest file that is read, in bytes.
pub const MAX_TEXT: u64 = 128 << 10;

/// A file of a working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedOutFile {
    /// Its text as it is on disk.
    pub text: String,
    /// The text that the checked out commit has, empty if it has no such file; `None` if the file is as committed.
    pub committed: Option<String>,
    /// The checked out commit and those below it, the newest first.
    pub commits: Vec<Sha>,
}

/// Reads a file of the working tree of a repository, given from its root. `None` if there is no such text there, it is
/// too large, or nothing is checked out.
pub fn read_file(root: &Path, path: &str) -> Option<CheckedOutFile> {
    let repository = Repository::open(root).ok()?;
    let file = root.join(path);
    let found = fs::symlink_metadata(&file).ok()?;
    if !found.is_file() || found.len() > MAX_TEXT {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let head = repository.head().ok()?.peel_to_commit().ok()?;
    let committed = head.tree().ok()?.get_path(Path::new(path)).ok();
    let committed = committed.and_then(|entry| repository.find_blob(entry.id()).ok());
    let committed = committed.map(|blob| String::from_utf8_lossy(blob.content()).into_owned()).unwrap_or_default();
    let mut walk = repository.revwalk().ok()?;
    walk.set_sorting(Sort::TIME).ok()?;
    walk.push(head.id()).ok()?;
    let commits = walk.take(MAX_COMMITS).map_while(Result::ok).filter_map(|id| id.to_string().parse().ok()).collect();
    Some(CheckedOutFile { committed: Some(committed).filter(|committed| *committed != text), text, commits })
}
