//! Git repositories: which may be cloned, their clones, branches, tags, commits, files and diffs.
//!
//! Whatever touches the network or a foreign repository is done by the `git` command, hardened and limited
//! ([`command`], [`child`]). What is read again and again (files, trees, ancestry) is read in process ([`objects`]).
//! Nothing is ever checked out, and nothing is written to a repository that is not a clone in the data directory.

pub mod address;
pub mod child;
pub mod clone;
pub mod command;
mod commit_object;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod graph;
pub mod history;
pub mod lineage;
mod load;
pub mod mailmap;
pub mod naming;
pub mod objects;
pub mod refs;
pub mod text_diff;
mod trees;

pub use command::{Cancel, Git, GitError};
