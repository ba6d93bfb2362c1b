//! How fresh the stores are, compared with the forges and each other.

use backstory_model::{
    entity::ItemKind,
    role::{Roles, ServerRole},
};
use backstory_sources::forge::ThreadList;
use backstory_store::{
    index::{Coverage, ProjectScope},
    ledger::{Cursor, Ledger, LedgerError, Run, Source, SyncFailure},
    lists::ListKind,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    catalog::{known_projects, list_forges},
    error::Result,
    groups::group_failures,
    quarantine::{MAX_NAMED, Quarantine},
    read::MAX_PAGE,
    resources::{Resources, blocking},
    settings::{Forge, ForgeKind},
    task::{Task, TaskKind, TaskStatus},
    use_case::UseCase,
};

pub use crate::groups::GroupFailure;

/// Sync runs that are listed, unless a request asks for more or fewer.
pub const DEFAULT_RUNS: usize = 10;

/// Asks how many documents have vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoverageRequest {}

impl UseCase for CoverageRequest {
    const NAME: &'static str = "coverage";
    const ROLE: Option<ServerRole> = None;
    type Answer = Coverage;

    async fn run(self, resources: &Resources) -> Result<Coverage> {
        Ok(index_coverage(resources))
    }
}

/// How far the lists of a project have been read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectStatus {
    /// Full path.
    pub path: String,
    /// How far issues have been read.
    pub issues_cursor: Option<Cursor>,
    /// How far merge requests have been read.
    pub merge_requests_cursor: Option<Cursor>,
}

/// How fresh a project is, and how much of it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectFreshness {
    /// Full path.
    pub project: String,
    /// Whether its forge says that it is archived.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// When the last sync that read it to the end began.
    pub synced_at: Option<Timestamp>,
    /// Why it could not be read from its forge when that was last tried.
    pub last_error: Option<String>,
    /// When that was tried.
    pub failed_at: Option<Timestamp>,
    /// Issues that are known.
    pub issues: u64,
    /// Merge requests that are known.
    pub merge_requests: u64,
    /// Confidential issues, as far as they are visible.
    pub confidential_issues: u64,
    /// Internal discussions of what is not confidential itself, as far as they are visible.
    pub internal_discussions: u64,
    /// Documents in the index, as far as they are visible.
    #[serde(default)]
    pub documents: u64,
    /// Passages of those, in which they are searched.
    #[serde(default)]
    pub passages: u64,
    /// Those of the documents that have vectors.
    #[serde(default)]
    pub embedded: u64,
}

/// Asks how fresh the stores are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncStatusRequest {
    /// Most runs, at most 1,000; 10 if absent.
    #[serde(default = "default_runs")]
    pub runs: usize,
}

const fn default_runs() -> usize {
    DEFAULT_RUNS
}

impl UseCase for SyncStatusRequest {
    const NAME: &'static str = "sync-status";
    const ROLE: Option<ServerRole> = None;
    type Answer = SyncStatus;

    async fn run(self, resources: &Resources) -> Result<SyncStatus> {
        sync_status(resources, self.runs).await
    }
}

/// How fresh the stores are, compared with the forges and each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncStatus {
    /// The newest runs, newest first.
    pub runs: Vec<Run>,
    /// Every project of a forge.
    pub projects: Vec<ProjectStatus>,
    /// Every project.
    pub freshness: Vec<ProjectFreshness>,
    /// Groups that could not be asked for their projects, for those who see all projects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupFailure>,
    /// What forges sent that cannot be read.
    pub quarantine: Quarantine,
    /// Newest change in the ledger, of those that are visible.
    pub ledger_seq: u64,
    /// Newest of them in the graph.
    pub graph_seq: u64,
    /// Newest of them in the lists.
    pub lists_seq: u64,
    /// Newest of them in the index.
    pub index_seq: u64,
    /// The sync that is running.
    pub running: Option<Task>,
    /// What the process does that has the stores.
    pub roles: Roles,
}

/// How many documents have vectors. Costs nothing.
pub(crate) fn index_coverage(resources: &Resources) -> Coverage {
    resources.index().coverage()
}

/// Up to which change a projection has followed the ledger, as far as a reader may know who sees changes up to `newest`.
pub(crate) fn visible_progress(ledger: &Ledger, newest: u64, seq: u64) -> u64 {
    if ledger.visibility().allows_everything() { seq } else { seq.min(newest) }
}

/// Where everything stands.
pub(crate) async fn sync_status(resources: &Resources, runs: usize) -> Result<SyncStatus> {
    let forges = list_forges(resources).await?;
    let known = known_projects(resources).await?;
    let of = |forge: Forge| forge.projects.into_iter().map(move |project| (forge.kind, project));
    let mut projects: Vec<(ForgeKind, String)> = forges.into_iter().flat_map(of).collect();
    projects.retain(|(_, project)| known.contains(project));
    let graph = resources.graph();
    let graph_seq = blocking(move || Ok(graph.applied_seq()?)).await?;
    let index_seq = resources.index().applied_seq().await?;
    let running = resources
        .list_tasks()
        .into_iter()
        .find(|task| task.kind == TaskKind::Sync && task.status == TaskStatus::Running);
    let roles = resources.settings().roles.clone();
    let groups = group_failures(resources).await?;
    let index = resources.index();
    resources
        .with_ledger(move |ledger| {
            let status = |(kind, project): (ForgeKind, String)| -> std::result::Result<_, LedgerError> {
                let cursor = |list: &ThreadList| ledger.cursor(&project, list.cursor());
                let lists = ThreadList::of(kind);
                let (issues_cursor, merge_requests_cursor) = (cursor(&lists[0])?, cursor(&lists[lists.len() - 1])?);
                Ok(ProjectStatus { issues_cursor, merge_requests_cursor, path: project })
            };
            let lists = ledger.lists();
            let failures = ledger.failures()?;
            let fresh = |project: String| -> std::result::Result<_, LedgerError> {
                let count = |list| lists.count(list, std::slice::from_ref(&project), ledger.visibility());
                let (issues, merge_requests) = (count(ListKind::Issue)?, count(ListKind::MergeRequest)?);
                let confidential = ledger.confidential(&project)?;
                let of_forge = |failure: &&SyncFailure| failure.source == Source::Forge && failure.project == project;
                let failure = failures.iter().find(of_forge).cloned();
                let (failed_at, last_error) = failure.map(|failure| (failure.at, failure.error)).unzip();
                let stored = ledger.item(&project, ItemKind::Project, "project")?.and_then(|item| item.payload);
                let stored = stored.and_then(|json| serde_json::from_slice::<serde_json::Value>(&json).ok());
                let coverage = index.coverage_of(ProjectScope::Only(std::slice::from_ref(&project)));
                Ok(ProjectFreshness {
                    documents: coverage.documents,
                    passages: coverage.passages,
                    embedded: coverage.embedded,
                    archived: stored.is_some_and(|json| json["archived"] == true),
                    synced_at: ledger.synced_at(&project)?,
                    last_error,
                    failed_at,
                    issues,
                    merge_requests,
                    confidential_issues: confidential.issues,
                    internal_discussions: confidential.discussions,
                    project,
                })
            };
            let (count, items) = ledger.quarantine(MAX_NAMED)?;
            let ledger_seq = ledger.last_visible_seq()?;
            let up_to = |seq: u64| visible_progress(ledger, ledger_seq, seq);
            Ok(SyncStatus {
                groups,
                quarantine: Quarantine { count, items: items.into_iter().map(Into::into).collect() },
                freshness: known.into_iter().map(fresh).collect::<std::result::Result<_, _>>()?,
                runs: ledger.runs(runs.min(MAX_PAGE))?,
                projects: projects.into_iter().map(status).collect::<std::result::Result<_, _>>()?,
                ledger_seq,
                graph_seq: up_to(graph_seq),
                lists_seq: up_to(lists.applied_seq()?),
                index_seq: up_to(index_seq),
                running,
                roles,
            })
        })
        .await
}
