//! Git repositories: which may be cloned, their clones, branches, tags, commits, files and diffs.
//!
//! Whatever touches the network or a foreign repository is done by the `git` command, hardened and limited
//! ([`command`], [`child`]). What is read again and again (files, trees, ancestry) is read in process ([`objects`]).
//! Nothing is ever checked out, and nothing is written to a repository that is not a clone in the data directory.

pub mod address;
pub mod checkout;
pub mod child;
pub mod clone;
pub mod command;
mod commit_object;
mod diff_cost;
pub mod directory;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod graph;
pub mod history;
pub mod lineage;
pub mod mailmap;
pub mod naming;
pub mod objects;
pub mod pickaxe;
pub mod refs;
pub mod text_diff;
mod trees;

pub use command::{Cancel, GitError, GitProgram};

use std::path::Path;

/// Opens a clone. Its library would keep up to 256 MiB of the trees and commits that it reads, and as much again of what
/// it makes of them; what is read again is kept by those who read it. It would also hash every object again: what is in a
/// clone was hashed when it was fetched, and git does not do so either. Damage shows in the checksums of its zlib streams.
fn open_clone(path: &Path) -> Result<git2::Repository, git2::Error> {
    git2::opts::enable_caching(false);
    git2::opts::strict_hash_verification(false);
    git2::Repository::open_bare(path)
}
