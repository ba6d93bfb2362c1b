//! Further branches, tags and commits: which commits they are, and how their files differ from those of the default branch.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
};

use backstory_model::{
    commit::{ObjectKind, RepoPath, Sha},
    id::is_sha,
};
use backstory_sources::git::{checkout::resolve_commit, graph::CommitGraph, objects::TreeFile, refs::Refs};
use backstory_store::ledger::{Branches, RepositoryEntry};
use jiff::Timestamp;

use super::{
    Tips,
    aggregates::{CommitRange, changed_at},
    head::{MAX_FILES, remove_secret_paths},
    summary::load_summaries,
    work::RepositorySync,
};
use crate::{
    clones::{clone_path, open_objects},
    error::{Error, ErrorKind, Result},
    revisions::{
        IndexedRevision, RevisionFiles, Version, load_files, load_revisions, name_of_times, put_files, put_revisions,
        read_version,
    },
};

/// When files last changed, by path.
pub(super) type ChangeTimes = BTreeMap<RepoPath, Timestamp>;

/// When the files of a tip last changed, and which ones commits change that are new in it.
pub(super) struct TipChanges {
    pub(super) times: ChangeTimes,
    pub(super) touched: Vec<RepoPath>,
}

/// The files of a commit, and when each last changed.
pub(super) struct FilesAt<'a> {
    pub(super) commit: Sha,
    pub(super) times: &'a ChangeTimes,
}

/// What a name stands for: a branch, a tag, or a commit by its object name.
pub(super) fn find_revisions(sync: &RepositorySync<'_>, entry: &RepositoryEntry, refs: &Refs) -> Vec<IndexedRevision> {
    let selected = match &entry.branches {
        Branches::Selected(names) => names.as_slice(),
        Branches::Default | Branches::All => &[],
    };
    let names: BTreeSet<&String> = selected.iter().chain(&entry.refs).collect();
    let clone = clone_path(sync.resources, sync.project);
    let find = |name: &String| IndexedRevision { name: name.clone(), commit: find_commit(&clone, name, refs) };
    names.into_iter().map(find).collect()
}

/// The commit that a name stands for in a clone with these branches and tags.
pub(super) fn find_commit(clone: &Path, name: &str, refs: &Refs) -> Option<Sha> {
    let branch = refs.branches.iter().find(|branch| branch.name.as_str() == name).map(|branch| branch.tip);
    let is_it = |tag: &&backstory_model::commit::Tag| tag.name.as_str() == name && tag.kind == ObjectKind::Commit;
    let tag = || refs.tags.iter().find(is_it).map(|tag| tag.target);
    // Nothing else that git could read is looked up.
    let commit = || is_sha(name).then(|| resolve_commit(clone, name)).flatten();
    branch.or_else(tag).or_else(commit)
}

/// The revisions that there are, as tips.
pub(super) fn tips_of(revisions: &[IndexedRevision]) -> Tips {
    revisions.iter().filter_map(|revision| Some((revision.name.clone(), revision.commit?))).collect()
}

/// Stores the list of revisions.
pub(super) fn record_revisions(sync: &RepositorySync<'_>, revisions: &[IndexedRevision]) -> Result<()> {
    if load_revisions(sync.resources, sync.project)? != revisions {
        put_revisions(sync.resources, sync.project, revisions)?;
    }
    Ok(())
}

/// When the files of a tip last changed, as far as the tip has it: what others changed later does not count. `before` is the
/// tip that this was last computed for.
pub(super) fn change_times(
    sync: &RepositorySync<'_>,
    name: &str,
    (before, tip): (Option<Sha>, Sha),
    graph: &CommitGraph,
) -> Result<TipChanges> {
    let reached = graph.reachable_from([&tip]);
    let extended = before.filter(|before| reached.contains(before));
    let known = extended.map(|before| graph.reachable_from([&before])).unwrap_or_default();
    let load = |is_wanted: &dyn Fn(&Sha) -> bool| {
        let commits: Vec<Sha> = graph.order.iter().copied().filter(is_wanted).collect();
        load_summaries(sync.resources, sync.project, &commits, &mut HashMap::new())
    };
    let new = load(&|commit| reached.contains(commit) && !known.contains(commit))?;
    let (before, now) = (extended.into_iter().collect(), BTreeSet::from([tip]));
    let counted = CommitRange { before: &before, now: &now, new: &new, forward: extended.is_some() };
    let mut all = || load(&|commit| reached.contains(commit));
    let times = changed_at(sync.resources, sync.project, name, &counted, &mut all)?;
    let touched =
        if extended.is_some() { new.into_iter().flat_map(|summary| summary.touched).collect() } else { vec![] };
    Ok(TipChanges { times, touched })
}

/// Records how the files of each revision differ from those of the default branch. `before` has the revisions that this was
/// last done for.
pub(super) fn update_revisions(
    sync: &RepositorySync<'_>,
    (before, revisions): (&Tips, &Tips),
    head: &FilesAt<'_>,
    graph: &CommitGraph,
) -> Result<()> {
    if revisions.is_empty() {
        return Ok(());
    }
    let of_head = files_at(sync, head)?;
    for (name, tip) in revisions {
        sync.reporter.phase(format!("{} files of {name}", sync.project), None);
        let of_tip = (before.get(name).copied(), *tip);
        let times = change_times(sync, &name_of_times(name), of_tip, graph)?.times;
        let own = files_at(sync, &FilesAt { commit: *tip, times: &times })?;
        let known = load_files(sync.resources, sync.project, name)?.unwrap_or_default();
        let files = compare(sync, &of_head, &own, &known)?;
        if files != known {
            put_files(sync.resources, sync.project, name, &files)?;
        }
    }
    Ok(())
}

/// The files of a commit: their content, and when that last changed.
fn files_at(sync: &RepositorySync<'_>, of: &FilesAt<'_>) -> Result<BTreeMap<String, (Sha, Timestamp)>> {
    let mut listing = open_objects(sync.resources, sync.project)?.list(of.commit, MAX_FILES)?;
    remove_secret_paths(sync, &mut listing);
    let version = |file: TreeFile| {
        let changed_at = of.times.get(&file.path).copied().unwrap_or(Timestamp::UNIX_EPOCH);
        (file.path.as_str().to_owned(), (file.id, changed_at))
    };
    Ok(listing.files.into_iter().filter(|file| file.mode.is_file()).map(version).collect())
}

/// How files differ from those of the default branch. What of them says something need not be found out again.
fn compare(
    sync: &RepositorySync<'_>,
    head: &BTreeMap<String, (Sha, Timestamp)>,
    own: &BTreeMap<String, (Sha, Timestamp)>,
    known: &RevisionFiles,
) -> Result<RevisionFiles> {
    let objects = open_objects(sync.resources, sync.project)?;
    let mut files = RevisionFiles::default();
    let is_same = |path: &String| head.get(path) == own.get(path);
    files.hidden.extend(head.keys().filter(|path| !is_same(path)).cloned());
    for (path, (blob, changed_at)) in own.iter().filter(|(path, _)| !is_same(path)) {
        if sync.cancel.is_cancelled() {
            return Err(Error::new(ErrorKind::Conflict, "the sync was stopped"));
        }
        let version = Version::File { blob: *blob, changed_at: *changed_at }.to_string();
        let says_something = known.versions.get(path) == Some(&version)
            || read_version(sync.resources, sync.project, &objects, path, (*blob, *changed_at))?.analysis.is_some();
        if says_something {
            files.versions.insert(path.clone(), version);
        }
    }
    Ok(files)
}

/// Sentences about the names that stand for nothing in the repository at an address.
pub(super) fn unknown_names(revisions: &[IndexedRevision], address: &str) -> impl Iterator<Item = String> {
    let unknown = revisions.iter().filter(|revision| revision.commit.is_none());
    unknown.map(move |IndexedRevision { name, .. }| {
        format!(
            "it has no branch, tag or commit {name}, so that is not indexed; 'backstory add {address} --drop-ref {name}' \
             drops it"
        )
    })
}
