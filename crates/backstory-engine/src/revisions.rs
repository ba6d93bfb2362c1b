//! Revisions: further branches, tags and commits whose files are indexed, and which of their files differ from those of the
//! default branch.
//!
//! Of a file that differs the documents are kept as a version, named by its content and by when it last changed: what two
//! revisions have in common is there once. All of it follows from the clone; the ledger keeps it so that a search need not
//! compare trees. What was recorded of the index is another source of versions: see [`snapshot`](crate::snapshot).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use backstory_model::{
    code::{FileSelection, LeftOutReason},
    commit::{RepoPath, Sha},
    entity::ItemKind,
    id::NodeId,
    repository::HeadFile,
};
use backstory_sources::{
    code::{Limits, analyze, left_out_by_path, select},
    git::{
        objects::{ObjectError, Objects},
        refs::Refs,
    },
};
use backstory_store::{index::version_id, ledger::ChangedThread};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    nearest::{NAMED, most_similar},
    resources::Resources,
    settings::RepositorySettings,
};

/// Most further branches, tags and commits of a repository whose files are indexed.
pub const MAX_REFS: usize = 20;
/// Most issues, merge requests, commits and files that may have changed since a recorded state for it to be searched.
pub(crate) const MAX_CHANGED: usize = 50_000;
/// Name of the list of revisions in the ledger, among what follows from a clone.
const LIST: &str = "revisions";

/// A further branch, tag or commit whose files are indexed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexedRevision {
    /// Its name, as it was added.
    pub name: String,
    /// The commit of it that is indexed; null if the repository has nothing of that name.
    pub commit: Option<Sha>,
}

/// The name of a branch or tag without its kind.
pub fn short_name(name: &str) -> &str {
    ["refs/heads/", "refs/tags/"].iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name)
}

/// How the files of a revision differ from those of the default branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RevisionFiles {
    /// Of files that it has and that say something: the version, by path.
    pub(crate) versions: BTreeMap<String, String>,
    /// Files of the default branch that it has not, or otherwise.
    pub(crate) hidden: BTreeSet<String>,
}

/// Which documents a version is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// What the ledger had at a sequence number.
    Recorded(u64),
    /// A file with some content, and when it last changed.
    File {
        /// Its content.
        blob: Sha,
        /// When that was.
        changed_at: Timestamp,
    },
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recorded(seq) => write!(f, "s{seq}"),
            Self::File { blob, changed_at } => write!(f, "{blob}.{}", changed_at.as_second()),
        }
    }
}

impl Version {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(seq) = text.strip_prefix('s') {
            return Some(Self::Recorded(seq.parse().ok()?));
        }
        let (blob, seconds) = text.split_once('.')?;
        let changed_at = Timestamp::from_second(seconds.parse().ok()?).ok()?;
        Some(Self::File { blob: blob.parse().ok()?, changed_at })
    }
}

/// The further revisions of a repository, by name.
pub(crate) fn load_revisions(resources: &Resources, project: &str) -> Result<Vec<IndexedRevision>> {
    let stored = resources.ledger().aggregate(project, LIST)?;
    // What cannot be read is written again by the next sync.
    Ok(stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
}

/// How the files of a revision differ, as it was last indexed.
pub(crate) fn load_files(resources: &Resources, project: &str, name: &str) -> Result<Option<RevisionFiles>> {
    let stored = resources.ledger().aggregate(project, &name_of_files(name))?;
    Ok(stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

/// Stores the list of revisions; of those that are not in it any more nothing is kept.
pub(crate) fn put_revisions(resources: &Resources, project: &str, revisions: &[IndexedRevision]) -> Result<()> {
    for gone in load_revisions(resources, project)? {
        if !revisions.iter().any(|kept| kept.name == gone.name) {
            for name in [name_of_files(&gone.name), name_of_times(&gone.name)] {
                resources.ledger().delete_aggregate(project, &name)?;
            }
        }
    }
    let stored = serde_json::to_vec(revisions).unwrap_or_default();
    Ok(resources.ledger().put_aggregate(project, LIST, &stored)?)
}

pub(crate) fn put_files(resources: &Resources, project: &str, name: &str, files: &RevisionFiles) -> Result<()> {
    let stored = serde_json::to_vec(files).unwrap_or_default();
    Ok(resources.ledger().put_aggregate(project, &name_of_files(name), &stored)?)
}

fn name_of_files(name: &str) -> String {
    format!("files of {name}")
}

/// Name in the ledger of when the files of a revision last changed.
pub(crate) fn name_of_times(name: &str) -> String {
    format!("changed_at of {name}")
}

/// The versions that any revision or recorded state needs: projects, and keys of threads with their versions.
pub(crate) fn needed_versions(resources: &Resources) -> Result<BTreeSet<(String, String)>> {
    let mut needed = BTreeSet::new();
    for entry in resources.ledger().repositories()? {
        for revision in load_revisions(resources, &entry.project)? {
            let files = load_files(resources, &entry.project, &revision.name)?.unwrap_or_default();
            let key = |(path, version): (&String, &String)| version_id(&file_key(&entry.project, path), version);
            needed.extend(files.versions.iter().map(|of| (entry.project.clone(), key(of))));
        }
    }
    let mut seqs: Vec<u64> =
        resources.ledger().snapshots()?.iter().filter(|state| state.kept).map(|state| state.ledger_seq).collect();
    seqs.dedup();
    for seq in seqs {
        for changed in load_changes(resources, seq)?.unwrap_or_default() {
            let Some(version) = changed.version else { continue };
            needed.insert((changed.project, version_id(&changed.thread, &Version::Recorded(version).to_string())));
        }
    }
    Ok(needed)
}

/// The key of the thread of a file.
fn file_key(project: &str, path: &str) -> String {
    NodeId::file(project, path).to_string().split_off(project.len())
}

/// What changed since a sequence number; `None` if it is too much to be searched without.
pub(crate) fn load_changes(resources: &Resources, seq: u64) -> Result<Option<Vec<ChangedThread>>> {
    let changed = resources.ledger().threads_changed_after(seq)?;
    Ok(Some(changed).filter(|changed| changed.len() <= MAX_CHANGED))
}

/// A file as it is stored for the head of the default branch: what it contains, without secrets.
pub(crate) fn read_version(
    resources: &Resources,
    project: &str,
    objects: &Objects,
    path: &str,
    (blob, changed_at): (Sha, Timestamp),
) -> Result<HeadFile> {
    let file =
        HeadFile { path: RepoPath::from_escaped(path), blob, bytes: 0, changed_at, left_out: None, analysis: None };
    let file = read_file(&resources.settings().repositories, project, objects, file)?;
    let unreadable = |error: serde_json::Error| Error::internal(format!("{path} cannot be read: {error}"));
    let mut json = serde_json::to_value(&file).map_err(unreadable)?;
    resources.redactor().redact_json(&mut json);
    resources.ledger().aliases().replace_in_item(ItemKind::File, &mut json);
    serde_json::from_value(json).map_err(unreadable)
}

/// Reads what a file contains, or why that is left out.
pub(crate) fn read_file(
    rules: &RepositorySettings,
    project: &str,
    objects: &Objects,
    mut file: HeadFile,
) -> Result<HeadFile> {
    let path = file.path.as_str().to_owned();
    let is_excluded = rules.leaves_out(project, &path);
    file.left_out = if is_excluded { Some(LeftOutReason::Excluded) } else { left_out_by_path(&path) };
    if file.left_out.is_some() {
        return Ok(file);
    }
    let limits = Limits { bytes: usize::try_from(rules.max_file_bytes(project)).unwrap_or(usize::MAX) };
    let bytes = match objects.blob(file.blob, limits.bytes as u64) {
        Ok(bytes) => bytes,
        Err(ObjectError::TooLarge { .. }) => {
            file.left_out = Some(LeftOutReason::TooLarge);
            return Ok(file);
        }
        Err(error) => return Err(error.into()),
    };
    match select(&path, &bytes, limits) {
        FileSelection::Include => file.analysis = Some(analyze(&path, &bytes)),
        FileSelection::LeftOut(reason) => file.left_out = Some(reason),
    }
    Ok(file)
}

/// Names of the branches, then of the tags.
pub(crate) fn ref_names(refs: &Refs) -> Vec<String> {
    let branches = refs.branches.iter().map(|branch| branch.name.as_str().to_owned());
    branches.chain(refs.tags.iter().map(|tag| tag.name.as_str().to_owned())).collect()
}

/// An error about a revision, with those of the branches and tags that it may have meant.
pub(crate) fn with_names_like(error: Error, names: &[String], rev: &str) -> Error {
    let number = rev.trim_start_matches('v');
    let begins_so = |name: &&str| !number.is_empty() && name.trim_start_matches('v').starts_with(number);
    let mut alike: Vec<&str> = names.iter().map(String::as_str).filter(begins_so).take(NAMED).collect();
    if alike.is_empty() {
        alike = most_similar(names, rev);
    }
    if alike.is_empty() { error } else { error.with_hint(format!("did you mean {}?", alike.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_they_are_written() {
        let blob = "95d09f2b10159347eece71399a7e2e907ea3df4f".parse().unwrap();
        let changed_at = "2024-03-15T12:00:00Z".parse().unwrap();
        for version in [Version::Recorded(42), Version::File { blob, changed_at }] {
            assert_eq!(Version::parse(&version.to_string()), Some(version));
        }
        assert_eq!((Version::parse("s"), Version::parse("95d09f2b.1"), Version::parse("")), (None, None, None));
    }
}
