//! The working tree that somebody stands in: a file as it is there, and which commits are below it.

use std::{fs, path::Path};

use backstory_model::commit::Sha;
use git2::{Commit, Delta, Diff, DiffDelta, DiffFindOptions, DiffOptions, Oid, Repository, Sort};

use super::objects::oid;

/// Most commits below the checkout's that are named.
pub const MAX_COMMITS: usize = 500;
/// Most commits in which earlier paths of a file are looked for.
pub const MAX_FOLLOWED: usize = 50;
/// Most files of one commit that are compared to find a renamed one.
const MAX_RENAMES: usize = 400;
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
    /// The paths that it had before it was renamed, the newest first, as far as the working tree and the last
    /// [`MAX_FOLLOWED`] commits tell.
    pub earlier_paths: Vec<String>,
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
    let earlier_paths = earlier_paths(&repository, &head, path);
    let tree = head.tree().ok()?;
    let committed = tree.get_path(Path::new(path)).ok();
    // A file that was renamed and is not committed yet is compared with what it was.
    let renamed = || tree.get_path(Path::new(earlier_paths.first()?)).ok();
    let committed = committed.or_else(renamed);
    let committed = committed.and_then(|entry| repository.find_blob(entry.id()).ok());
    let committed = committed.map(|blob| String::from_utf8_lossy(blob.content()).into_owned()).unwrap_or_default();
    let commits = commits_below(&repository, head.id())?;
    let committed = Some(committed).filter(|committed| *committed != text);
    Some(CheckedOutFile { text, committed, commits, earlier_paths })
}

/// The checked out commit of a repository and those below it, the newest first, at most [`MAX_COMMITS`]; empty if nothing is
/// checked out.
pub fn recent_commits(root: &Path) -> Vec<Sha> {
    let Ok(repository) = Repository::open(root) else { return Vec::new() };
    let head = repository.head().and_then(|head| head.peel_to_commit());
    head.ok().and_then(|head| commits_below(&repository, head.id())).unwrap_or_default()
}

/// The commit that a revision like `HEAD~3` is in a repository on this machine; `None` if there is none.
pub fn resolve_commit(root: &Path, revision: &str) -> Option<Sha> {
    let repository = Repository::open(root).ok()?;
    let commit = repository.revparse_single(revision).ok()?.peel_to_commit().ok()?;
    commit.id().to_string().parse().ok()
}

/// Whether a branch or tag of a repository on this machine reaches a commit; `None` if it cannot be read.
pub fn is_reached(root: &Path, commit: Sha) -> Option<bool> {
    let repository = Repository::open(root).ok()?;
    let mut walk = repository.revwalk().ok()?;
    walk.push(oid(commit)).ok()?;
    for references in ["refs/heads/*", "refs/tags/*"] {
        walk.hide_glob(references).ok()?;
    }
    match walk.next() {
        None => Some(true),
        Some(Ok(_)) => Some(false),
        Some(Err(_)) => None,
    }
}

fn commits_below(repository: &Repository, head: Oid) -> Option<Vec<Sha>> {
    let mut walk = repository.revwalk().ok()?;
    walk.set_sorting(Sort::TIME).ok()?;
    walk.push(head).ok()?;
    Some(walk.take(MAX_COMMITS).map_while(Result::ok).filter_map(|id| id.to_string().parse().ok()).collect())
}

/// The paths that a file of the working tree had before, the newest first: as the checked out commit has it, if it was
/// renamed since, and as the commits below it do.
fn earlier_paths(repository: &Repository, head: &Commit<'_>, path: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let has = |commit: &Commit<'_>, path: &str| commit.tree().is_ok_and(|tree| tree.get_path(Path::new(path)).is_ok());
    let mut path = path.to_owned();
    if !has(head, &path) {
        let Some(from) = renamed_in_working_tree(repository, head, &path) else { return paths };
        paths.push(from.clone());
        path = from;
    }
    let mut commit = head.clone();
    for _ in 0..MAX_FOLLOWED {
        let Ok(parent) = commit.parent(0) else { break };
        if !has(&parent, &path) {
            let Some(from) = renamed_in_commit(repository, &parent, &commit, &path) else { break };
            paths.push(from.clone());
            path = from;
        }
        commit = parent;
    }
    paths
}

fn renamed_in_working_tree(repository: &Repository, head: &Commit<'_>, path: &str) -> Option<String> {
    let mut options = DiffOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).show_untracked_content(true);
    let diff = repository.diff_tree_to_workdir_with_index(Some(&head.tree().ok()?), Some(&mut options)).ok()?;
    rename_source(diff, path)
}

fn renamed_in_commit(repository: &Repository, old: &Commit<'_>, new: &Commit<'_>, path: &str) -> Option<String> {
    let diff = repository.diff_tree_to_tree(Some(&old.tree().ok()?), Some(&new.tree().ok()?), None).ok()?;
    rename_source(diff, path)
}

/// Where the file at a path was before.
fn rename_source(mut diff: Diff<'_>, path: &str) -> Option<String> {
    let mut options = DiffFindOptions::new();
    options.renames(true).for_untracked(true).rename_limit(MAX_RENAMES);
    diff.find_similar(Some(&mut options)).ok()?;
    let is_it =
        |delta: &DiffDelta<'_>| delta.status() == Delta::Renamed && delta.new_file().path() == Some(Path::new(path));
    let delta = diff.deltas().find(is_it)?;
    Some(delta.old_file().path()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Fixture;

    #[test]
    fn a_commit_is_reached_by_branches_and_tags() {
        let mut origin = Fixture::new();
        let first = origin.commit_all("first");
        origin.switch("side/one");
        let second = origin.commit_all("second");
        origin.switch("main");
        let reached = |commit| is_reached(origin.path(), commit);
        assert_eq!((reached(first), reached(second)), (Some(true), Some(true)));
        origin.git(["branch", "--quiet", "-D", "side/one"]);
        assert_eq!((reached(first), reached(second)), (Some(true), Some(false)));
        origin.git(["tag", "v1", &second.to_string()]);
        assert_eq!(reached(second), Some(true));
        assert_eq!(is_reached(&origin.path().join("nowhere"), first), None);
    }
}
