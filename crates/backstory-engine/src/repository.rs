//! Git repositories: which are indexed, and bringing what they hold into the ledger.
//!
//! What a sync reads becomes items like those of a forge: a commit with the files and code entities it changes, what
//! each merge introduced, branches, tags, the files at the head of the default branch with what they define, references
//! between them, what changes together, how central code is.
//!
//! Every item is a function of the commits that the indexed branches reach, and that of a merge also of what the forge
//! says of merge requests. So an incremental sync, one that was killed and a first sync end with the same ledger. Only
//! which commits a rewritten history left unreachable depends on what was seen before.

pub(crate) mod abbreviations;
pub(crate) mod add;
mod add_group;
mod aggregates;
mod co_change;
mod entities;
mod further_refs;
mod head;
mod left_out;
pub(crate) mod lineage;
pub(crate) mod merged;
mod named;
pub(crate) mod people;
mod recognize;
mod refs;
mod shipments;
pub(crate) mod summary;
pub(crate) mod sync;
mod sync_state;
mod unreachable;
mod work;

pub use add::{AddRequest, RemoveRepository};
pub use add_group::{AddGroup, GroupProjects};
pub use backstory_sources::git::child::run_git_child_if_requested;
pub use further_refs::{AddRef, DropRef};

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use backstory_model::{
    commit::Sha,
    entity::{Item, ItemKind},
    id::NodeId,
    repository::{Record, RepositoryItem, code_node_id},
    role::ServerRole,
};
use backstory_store::{
    ledger::{Branches, RepositoryEntry, Source, SyncFailure},
    lists::ListKind,
};
use jiff::Timestamp;
use parking_lot::MutexGuard;
use serde::{Deserialize, Serialize};

use crate::{
    clones::{has_clone, open_objects},
    error::Result,
    records::{parse_item, repository_record},
    resources::Resources,
    revisions::{IndexedRevision, load_revisions},
    use_case::UseCase,
};
use left_out::left_out;
use refs::unknown_names;

/// Most files that are named as central.
pub const MAX_CENTRAL: usize = 100;

/// State of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RepositoryState {
    /// Added, and not read yet.
    New,
    /// Being read.
    Indexing,
    /// Read to the end when that was last tried.
    Ready,
    /// It could not be read when that was last tried.
    #[serde(rename = "error")]
    Failed,
}

impl RepositoryState {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Indexing => "indexing",
            Self::Ready => "ready",
            Self::Failed => "error",
        }
    }
}

/// Lists the repositories that are indexed, by project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListRepositories {}

impl UseCase for ListRepositories {
    const NAME: &'static str = "repositories";
    const ROLE: Option<ServerRole> = None;
    type Answer = Vec<RepositoryStatus>;

    async fn run(self, resources: &Resources) -> Result<Vec<RepositoryStatus>> {
        list_repositories(resources).await
    }
}

/// Requests the files of a repository that the rest of its code refers to most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CentralFilesRequest {
    /// Full path of the project.
    pub project: String,
    /// Most files, at most 100; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

impl UseCase for CentralFilesRequest {
    const NAME: &'static str = "central-files";
    type Answer = Vec<String>;

    async fn run(self, resources: &Resources) -> Result<Vec<String>> {
        central_files(resources, &self.project, self.limit).await
    }
}

/// Requests the projects in which a commit is indexed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommitProjectsRequest {
    /// Its whole object name.
    pub sha: Sha,
}

impl UseCase for CommitProjectsRequest {
    const NAME: &'static str = "commit-projects";
    /// Full paths of the projects, in order.
    type Answer = Vec<String>;

    async fn run(self, resources: &Resources) -> Result<Vec<String>> {
        let sha = self.sha.to_string();
        resources
            .with_ledger(move |ledger| {
                let mut projects = Vec::new();
                for RepositoryEntry { project, .. } in ledger.repositories()? {
                    if !ledger.keys_with_prefix(&project, ItemKind::Commit, &sha, 1)?.is_empty() {
                        projects.push(project);
                    }
                }
                Ok(projects)
            })
            .await
    }
}

/// A repository that is indexed, and its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepositoryStatus {
    /// Full path of its project.
    pub project: String,
    /// Path or URL that it is cloned from, without credentials.
    pub address: String,
    /// Which of its branches are indexed.
    pub branches: IndexedBranches,
    /// When it was added.
    pub added_at: Timestamp,
    /// When it was last fetched and indexed to the end.
    pub synced_at: Option<Timestamp>,
    /// Branch that HEAD points at.
    pub default_branch: Option<String>,
    /// The indexed commit at the head of the default branch.
    pub head: Option<Sha>,
    /// Its state.
    pub state: RepositoryState,
    /// Why it could not be read when that was last tried.
    pub last_error: Option<String>,
    /// When that was tried.
    pub failed_at: Option<Timestamp>,
    /// The branches that are indexed, by name.
    pub indexed: Vec<BranchTip>,
    /// Commits that are indexed.
    pub commits: u64,
    /// Files at the indexed head.
    pub files: u64,
    /// Indexed commits that no indexed branch reaches any more.
    pub rewritten: u64,
    /// What of it was left out because it cannot be read or is too large, in sentences.
    pub left_out: Vec<String>,
    /// Further branches, tags and commits whose files can be searched.
    #[serde(default)]
    pub revisions: Vec<IndexedRevision>,
    /// Whether what it is cloned from is a shallow clone, which has only a part of the history. One of which only a part is
    /// wanted, by a depth or by retention, is not.
    #[serde(default)]
    pub shallow: bool,
}

/// Which branches of a repository are indexed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexedBranches {
    /// Which.
    pub which: BranchChoice,
    /// Names of those that are indexed besides the default one, if they were selected.
    pub names: Vec<String>,
}

/// Which branches of a repository are indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BranchChoice {
    /// The one that HEAD points at.
    Default,
    /// That one and those that are named.
    Selected,
    /// All.
    All,
}

/// A branch and the commit of it that is indexed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BranchTip {
    /// Name of the branch.
    pub branch: String,
    /// The commit.
    pub sha: Sha,
}

impl From<Branches> for IndexedBranches {
    fn from(branches: Branches) -> Self {
        let (which, names) = match branches {
            Branches::Default => (BranchChoice::Default, vec![]),
            Branches::Selected(names) => (BranchChoice::Selected, names),
            Branches::All => (BranchChoice::All, vec![]),
        };
        Self { which, names }
    }
}

/// What is known of all repositories, read once.
struct Known {
    failures: Vec<SyncFailure>,
    /// The project whose repository is being read.
    indexing: Option<String>,
}

impl Known {
    fn read(resources: &Resources) -> Result<Self> {
        let mut failures = resources.ledger().failures()?;
        failures.retain(|failure| failure.source == Source::Repository);
        let indexing = resources.shared.indexing.lock().clone();
        Ok(Self { failures, indexing })
    }
}

/// All repositories, by project.
async fn list_repositories(resources: &Resources) -> Result<Vec<RepositoryStatus>> {
    resources
        .blocking(move |resources| {
            let known = Known::read(resources)?;
            let entries = resources.ledger().repositories()?;
            entries.into_iter().map(|entry| build_status(resources, entry, &known)).collect()
        })
        .await
}

/// A repository and its state.
pub(crate) fn repository_status(resources: &Resources, entry: RepositoryEntry) -> Result<RepositoryStatus> {
    build_status(resources, entry, &Known::read(resources)?)
}

fn build_status(resources: &Resources, entry: RepositoryEntry, known: &Known) -> Result<RepositoryStatus> {
    let failure = known.failures.iter().find(|failure| failure.project == entry.project).cloned();
    let state = match (&failure, entry.synced_at) {
        _ if known.indexing.as_ref() == Some(&entry.project) => RepositoryState::Indexing,
        (Some(_), _) => RepositoryState::Failed,
        (None, Some(_)) => RepositoryState::Ready,
        (None, None) => RepositoryState::New,
    };
    let (failed_at, last_error) = failure.map(|failure| (failure.at, failure.error)).unzip();
    let repository = repository_record(resources, &entry.project)?;
    let is_cut_off = repository.as_ref().is_some_and(|repository| repository.shallow);
    let is_all_wanted = entry.depth.is_none() && resources.settings().retention.commits.is_none();
    let default_branch =
        repository.and_then(|repository| Some(repository.default_branch.as_ref()?.as_str().to_owned()));
    let mut left_out = left_out(resources, &entry.project)?;
    let revisions = load_revisions(resources, &entry.project)?;
    left_out.extend(unknown_names(&revisions, &entry.address));
    if entry.synced_at.is_some() && !has_clone(resources, &entry.project) {
        let advice = format!("'backstory sync {}' clones it again", entry.project);
        left_out.push(format!("its clone is missing, so its code cannot be shown and may not be found; {advice}"));
    }
    // From the lists, which have them counted.
    let lists = resources.ledger().lists();
    let count = |list| lists.count(list, std::slice::from_ref(&entry.project), resources.visibility());
    let (commits, files) = (count(ListKind::Commit)?, count(ListKind::File)?);
    Ok(RepositoryStatus {
        state,
        last_error,
        failed_at,
        head: default_branch.as_ref().and_then(|branch| entry.indexed.get(branch)).copied(),
        default_branch,
        commits,
        files,
        left_out,
        revisions,
        shallow: is_cut_off && is_all_wanted,
        project: entry.project,
        address: entry.address,
        branches: entry.branches.into(),
        added_at: entry.added_at,
        synced_at: entry.synced_at,
        indexed: entry.indexed.into_iter().map(|(branch, sha)| BranchTip { branch, sha }).collect(),
        rewritten: entry.unreachable.len() as u64,
    })
}

/// Paths of a repository's files that the rest of its code refers to most, the most central first; others if none
/// refers to another. At most [`MAX_CENTRAL`].
async fn central_files(resources: &Resources, project: &str, limit: usize) -> Result<Vec<String>> {
    let (project, limit) = (project.to_owned(), limit.min(MAX_CENTRAL));
    resources
        .blocking(move |resources| {
            let stored = resources.ledger().item(&project, ItemKind::Importance, head::IMPORTANCE)?;
            let ranked = match stored.map(|stored| parse_item(resources, &stored)).transpose()? {
                Some(Item::Repository(RepositoryItem { record: Record::Importance(found), .. })) => found.ranks,
                _ => BTreeMap::new(),
            };
            // A file is as central as the most central part of it.
            let mut files: HashMap<String, u64> = HashMap::new();
            for (name, rank) in ranked {
                if let NodeId::File { path, .. } | NodeId::Entity { path, .. } = code_node_id(&project, &name) {
                    let known = files.entry(path).or_default();
                    *known = rank.max(*known);
                }
            }
            let mut files: Vec<(u64, String)> = files.into_iter().map(|(path, rank)| (rank, path)).collect();
            files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            if files.is_empty() {
                files.extend(resources.ledger().keys(&project, ItemKind::File)?.into_iter().map(|path| (0, path)));
            }
            Ok(files.into_iter().map(|(_, path)| path).take(limit).collect())
        })
        .await
}

/// What is wrong with the clone of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloneProblem {
    /// No sync has come to its end yet.
    NotIndexed,
    /// It is missing.
    Missing,
    /// It cannot be read, or lacks what was indexed.
    Damaged(String),
}

impl fmt::Display for CloneProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotIndexed => f.write_str("it was not indexed to the end yet"),
            Self::Missing => f.write_str("its clone is missing"),
            Self::Damaged(what) => f.write_str(what),
        }
    }
}

/// What is wrong with the clones of repositories, by project; `None` for one that can be read.
pub(crate) async fn check_clones(resources: &Resources) -> Result<Vec<(String, Option<CloneProblem>)>> {
    let statuses = list_repositories(resources).await?;
    resources
        .blocking(move |resources| {
            let problem = |status: &RepositoryStatus| {
                let project = &status.project;
                let Some(head) = status.head else { return Some(CloneProblem::NotIndexed) };
                if !has_clone(resources, project) {
                    return Some(CloneProblem::Missing);
                }
                let damage = match open_objects(resources, project).map_err(|error| error.to_string()) {
                    Ok(objects) => match objects.exists(head) {
                        Ok(true) => return None,
                        Ok(false) => format!("its clone has lost the commit {head}"),
                        Err(error) => error.to_string(),
                    },
                    Err(error) => error,
                };
                Some(CloneProblem::Damaged(damage))
            };
            Ok(statuses.iter().map(|status| (status.project.clone(), problem(status))).collect())
        })
        .await
}

/// Shows that the repository of a project is being read, until that is dropped.
pub(crate) fn mark_indexing(resources: &Resources, project: &str) -> IndexingGuard {
    *resources.shared.indexing.lock() = Some(project.to_owned());
    IndexingGuard { resources: resources.clone(), project: project.to_owned() }
}

/// Held by the thread that reads or removes a repository.
pub(crate) fn lock_repositories(resources: &Resources) -> MutexGuard<'_, ()> {
    resources.shared.reading.lock()
}

/// The repository of a project is being read.
pub(crate) struct IndexingGuard {
    resources: Resources,
    project: String,
}

impl Drop for IndexingGuard {
    fn drop(&mut self) {
        let mut indexing = self.resources.shared.indexing.lock();
        indexing.take_if(|project| *project == self.project);
    }
}

/// The thread of the ledger that a node of a repository stands in: a file or commit by itself.
pub(crate) fn thread_key(project: &str, id: &NodeId) -> String {
    id.to_string().strip_prefix(project).unwrap_or_default().to_owned()
}

/// Tips by the name of their branch.
pub(crate) type Tips = BTreeMap<String, Sha>;
