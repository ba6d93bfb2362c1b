//! Lists a directory at a revision.

use std::collections::{HashMap, hash_map::Entry};

use backstory_model::{
    code::FileKind,
    commit::{FileMode, RepoPath, Sha},
    id::NodeId,
};
use backstory_sources::{
    code::detect,
    git::{directory::DirectoryEntry, objects::ObjectError},
};
use backstory_store::lists::{CommitQuery, PageRequest};
use serde::{Deserialize, Serialize};

use crate::{
    code::CommitSummary,
    error::{Error, Result},
    records::commit_record,
    resources::Resources,
    trace::{
        Indexed, Revision,
        target::{no_such_path, resolve_place},
    },
    use_case::{UseCase, Weight},
};

/// Most entries of a directory.
pub const MAX_ENTRIES: usize = 5_000;
/// Most entries of which the last commit is looked up.
const MAX_DATED: usize = 1_000;

/// Requests the entries of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeRequest {
    /// Full path of the project; may be absent where there is only one repository.
    #[serde(default)]
    pub project: Option<String>,
    /// Path of the directory from the repository's root; the root if empty.
    #[serde(default)]
    pub path: String,
    /// Branch, tag or commit; the indexed head if absent.
    #[serde(default)]
    pub rev: Option<String>,
    /// Whether to look up the commit that changed each entry last, at the head of an indexed branch.
    #[serde(default)]
    pub last_commits: bool,
}

impl UseCase for TreeRequest {
    const NAME: &'static str = "tree";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = DirectoryTree;

    async fn run(self, resources: &Resources) -> Result<DirectoryTree> {
        list_directory(resources, self).await
    }
}

/// A directory at a revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectoryTree {
    /// Full path of the project.
    pub project: String,
    /// Path of the directory; empty for the root.
    pub path: String,
    /// The commit at which it is like this.
    pub rev: Sha,
    /// How fresh the index is.
    pub indexed: Indexed,
    /// Directories first, then the rest, each by name; at most 5,000.
    pub entries: Vec<TreeEntry>,
    /// How many entries the directory has besides.
    pub left_out: usize,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeEntry {
    /// Its name in the directory.
    pub name: String,
    /// Its path from the repository's root.
    pub path: String,
    /// What it is.
    pub kind: TreeEntryKind,
    /// Object name of its content; of a submodule, that of the commit.
    pub object: Sha,
    /// Bytes of its content; null for what is no file.
    pub bytes: Option<u64>,
    /// Name of its programming language by its name; null for what is no code.
    pub language: Option<String>,
    /// The node of a file; null for anything else.
    pub file: Option<NodeId>,
    /// The commit that changed it last, if that was asked for and is known.
    pub last_commit: Option<CommitSummary>,
}

/// What an entry of a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TreeEntryKind {
    /// A directory.
    Directory,
    /// An ordinary file.
    File,
    /// A file that can be executed.
    Executable,
    /// A symbolic link.
    SymbolicLink,
    /// A commit of another repository.
    Submodule,
}

impl TreeEntryKind {
    pub(super) fn from_mode(mode: FileMode) -> Self {
        match mode {
            FileMode::TREE => Self::Directory,
            mode if mode.is_submodule() => Self::Submodule,
            mode if mode.is_symlink() => Self::SymbolicLink,
            mode if mode.is_executable() => Self::Executable,
            _ => Self::File,
        }
    }

    pub(super) fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }
}

/// Returns the entries of a directory. Files whose paths hold what looks like a secret are left out.
///
/// # Errors
/// There is no such directory or revision, or a store cannot be read.
async fn list_directory(resources: &Resources, request: TreeRequest) -> Result<DirectoryTree> {
    resources
        .blocking(move |resources| {
            let place = resolve_place(resources, request.project.as_deref(), request.rev.as_deref())?;
            let path = request.path.trim_end_matches('/');
            let listing = match place.objects.directory(place.commit, &RepoPath::from_escaped(path), MAX_ENTRIES) {
                Ok(listing) => listing,
                Err(ObjectError::OtherKind { .. }) => {
                    return Err(Error::invalid(format!("{path} is not a directory"))
                        .with_hint("ask for it with 'file', or for the directory that it is in"));
                }
                Err(ObjectError::NoSuchPath { .. }) => return Err(no_such_path(resources, &place, path)?),
                Err(error) => return Err(error.into()),
            };
            let mut entries: Vec<TreeEntry> =
                listing.entries.iter().filter_map(|entry| to_entry(resources, &place, entry)).collect();
            entries.sort_by(|a, b| {
                let is_file = |entry: &TreeEntry| entry.kind != TreeEntryKind::Directory;
                (is_file(a), &a.name).cmp(&(is_file(b), &b.name))
            });
            if request.last_commits {
                date_entries(resources, &place, &mut entries)?;
            }
            Ok(DirectoryTree {
                project: place.project().to_owned(),
                path: path.to_owned(),
                rev: place.commit,
                indexed: place.indexed(),
                left_out: listing.total.saturating_sub(entries.len()),
                entries,
            })
        })
        .await
}

fn to_entry(resources: &Resources, place: &Revision, entry: &DirectoryEntry) -> Option<TreeEntry> {
    let path = entry.path.as_str();
    if resources.redact_name(path) != path {
        return None;
    }
    let kind = TreeEntryKind::from_mode(entry.mode);
    Some(TreeEntry {
        name: path.rsplit('/').next().unwrap_or(path).to_owned(),
        path: path.to_owned(),
        kind,
        object: entry.id,
        bytes: entry.size.filter(|_| kind.is_file()),
        language: kind.is_file().then(|| language_name(path, &[])).flatten(),
        file: kind.is_file().then(|| NodeId::file(place.project(), path)),
        last_commit: None,
    })
}

/// Name of the programming language of a file by its path and content.
pub(super) fn language_name(path: &str, bytes: &[u8]) -> Option<String> {
    match detect(path, bytes) {
        FileKind::Code(language) => Some(language.name().to_owned()),
        FileKind::Doc(_) | FileKind::Text => None,
    }
}

/// Looks up the commits that changed entries last. The list of commits is that of all indexed branches, so with several
/// of them only a commit that left a file as it is here counts.
fn date_entries(resources: &Resources, place: &Revision, entries: &mut [TreeEntry]) -> Result<()> {
    if place.branch.is_none() {
        return Ok(());
    }
    let has_one_branch = place.entry.indexed.len() == 1;
    let lists = resources.ledger().lists();
    let newest = PageRequest { first: 1, ..PageRequest::default() };
    let mut records = HashMap::new();
    for entry in entries.iter_mut().take(MAX_DATED) {
        let query = CommitQuery {
            projects: vec![place.project().to_owned()],
            paths: vec![entry.path.clone()],
            ..CommitQuery::default()
        };
        let page = lists.commits(&query, &newest, resources.visibility())?;
        let Some(row) = page.rows.into_iter().next() else { continue };
        let record = match records.entry(row.sha) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(slot) => {
                let record = commit_record(resources, place.project(), slot.key())?;
                slot.insert(record)
            }
        };
        let Some(record) = record else { continue };
        let leaves_it = || {
            let changes = record.commit.changes.iter();
            let change = changes.filter(|change| change.path.as_str() == entry.path).find_map(|change| change.new);
            change.is_some_and(|version| version.id == entry.object)
        };
        if has_one_branch || leaves_it() {
            entry.last_commit = Some(CommitSummary::new(place.project(), record));
        }
    }
    Ok(())
}
