//! What changed lately: in a file, a symbol, a directory or a whole project, with what usually changes along with it and
//! what tests it.

mod since;

use std::collections::BTreeSet;

use backstory_model::{
    classify::ChangeType,
    commit::RepoPath,
    edge::Edge,
    id::{NodeId, ThreadId},
};
use backstory_sources::git::objects::ObjectError;
use backstory_store::{
    graph::Direction,
    lists::{CommitKind, CommitQuery, CommitRow, PageRequest, TimeRange},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    catalog::check_project,
    code::{Change, CommitSummary, HistoryRequest, code_history},
    error::{ErrorKind, Result},
    limits::check_limit,
    records::commit_record,
    resources::Resources,
    trace::target::{no_such_path, resolve_place},
    use_case::{UseCase, Weight},
};

pub(crate) use since::{nodes_changed_after, page_of_changes, readable_up_to};

pub use since::{MAX_CHANGED, NodeChange, NodeChanges, NodeRemoval, RemovalReason};

/// Most changes of one answer.
pub const MAX_CHANGES: usize = 100;
/// Most files that change with one, and most tests of one.
const MAX_RELATED: usize = 10;

/// Requests the changes of a file, a symbol, a directory or a project, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangesRequest {
    /// Full path of the project; the only one if absent.
    pub project: Option<String>,
    /// Path of a file or directory from the repository's root; the whole project if absent.
    pub path: Option<String>,
    /// A symbol of the file.
    pub symbol: Option<String>,
    /// Only what was committed then or later.
    #[serde(default, deserialize_with = "backstory_model::time::read_instant")]
    pub after: Option<Timestamp>,
    /// Most changes, 1 to 100; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

/// Changes, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Changes {
    /// Full path of the project, if they are of one.
    pub project: Option<String>,
    /// The changes.
    pub changes: Vec<RecentChange>,
    /// Whether there are more.
    pub has_more: bool,
    /// Files and code entities that usually change in the same commits.
    pub changes_with: Vec<NodeId>,
    /// Its tests.
    pub tested_by: Vec<NodeId>,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecentChange {
    /// The commit.
    pub commit: CommitSummary,
    /// What it changes, by rules; null for a merge.
    pub change_type: Option<ChangeType>,
    /// The merge request that introduced it.
    pub merge_request: Option<ThreadId>,
    /// The name that the file or entity had then, if it was another.
    pub earlier_name: Option<NodeId>,
    /// Lines that it adds, to the file if the changes are of one.
    pub insertions: u64,
    /// Lines that it deletes.
    pub deletions: u64,
}

impl UseCase for ChangesRequest {
    const NAME: &'static str = "changes";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Changes;

    async fn run(self, resources: &Resources) -> Result<Changes> {
        list_changes(resources, self).await
    }
}

/// Returns what changed.
///
/// # Errors
/// There is no such project, file or symbol, or a store cannot be read.
async fn list_changes(resources: &Resources, request: ChangesRequest) -> Result<Changes> {
    check_limit(request.limit, MAX_CHANGES)?;
    check_project(resources, request.project.as_deref()).await?;
    let Some(path) = request.path.clone() else { return list_commits(resources, &request, None).await };
    let place = request.project.clone();
    let place = resources.blocking(move |resources| resolve_place(resources, place.as_deref(), None)).await?;
    let project = place.project().to_owned();
    let id = match &request.symbol {
        Some(name) => NodeId::entity(&project, &path, name),
        None => NodeId::file(&project, &path),
    };
    match changes_of_code(resources, &request, &project, &id).await {
        Err(error) if error.kind == ErrorKind::NotFound => {}
        answer => return answer,
    }
    let directory = path.trim_end_matches('/').to_owned();
    let request = ChangesRequest { project: Some(project), ..request };
    let changes = list_commits(resources, &request, Some(&directory)).await?;
    if changes.changes.is_empty() {
        let is_there =
            move |resources: &Resources| match place.objects.entry(place.commit, &RepoPath::from_escaped(&path)) {
                Ok(_) => Ok(()),
                // It says which paths are like it.
                Err(ObjectError::NoSuchPath { .. }) => Err(no_such_path(resources, &place, &path)?),
                Err(error) => Err(error.into()),
            };
        resources.blocking(is_there).await?;
    }
    Ok(changes)
}

async fn changes_of_code(
    resources: &Resources,
    request: &ChangesRequest,
    project: &str,
    id: &NodeId,
) -> Result<Changes> {
    let history = code_history(resources, HistoryRequest { id: id.clone(), skip: 0, limit: request.limit }).await?;
    let is_wanted = |change: &Change| request.after.is_none_or(|after| change.commit.date >= after);
    let has_more = history.has_more && history.changes.iter().all(is_wanted);
    let changes = history.changes.into_iter().filter(is_wanted).map(|change| RecentChange {
        change_type: None,
        merge_request: change.merge_requests.into_iter().next(),
        earlier_name: Some(change.name).filter(|name| name != id),
        insertions: change.insertions.unwrap_or_default().into(),
        deletions: change.deletions.unwrap_or_default().into(),
        commit: change.commit,
    });
    let mut changes =
        Changes { project: Some(project.to_owned()), changes: changes.collect(), has_more, ..Changes::default() };
    let (file, id) = (request.path.as_ref().map(|path| NodeId::file(project, path)), id.clone());
    let related = resources.blocking(move |resources| {
        let graph = resources.graph();
        let (mut with, mut tests) = (BTreeSet::new(), BTreeSet::new());
        for of in [Some(&id), file.as_ref().filter(|file| **file != id)].into_iter().flatten() {
            for direction in [Direction::Out, Direction::In] {
                with.extend(graph.edges(of, direction, Some(Edge::CoEvolvesWith))?.into_iter().map(|edge| edge.other));
            }
            tests.extend(graph.edges(of, Direction::Out, Some(Edge::VerifiedBy))?.into_iter().map(|edge| edge.other));
        }
        Ok((with, tests))
    });
    let (with, tests) = related.await?;
    changes.changes_with = with.into_iter().take(MAX_RELATED).collect();
    changes.tested_by = tests.into_iter().take(MAX_RELATED).collect();
    Ok(changes)
}

/// The commits of projects, or those that change what is at or below a path.
async fn list_commits(resources: &Resources, request: &ChangesRequest, path: Option<&str>) -> Result<Changes> {
    let query = CommitQuery {
        projects: request.project.iter().cloned().collect(),
        kinds: vec![CommitKind::Commit],
        paths: path.into_iter().map(str::to_owned).collect(),
        committed: TimeRange { from: request.after, to: None },
        ..CommitQuery::default()
    };
    let page = PageRequest { first: request.limit, ..PageRequest::default() };
    let page = resources.with_lists(move |lists, visibility| lists.commits(&query, &page, visibility)).await?;
    let has_more = page.next.is_some();
    let project = request.project.clone();
    resources
        .blocking(move |resources| {
            let mut changes = Vec::new();
            for row in page.rows {
                changes.extend(to_change(resources, &row)?);
            }
            Ok(Changes { project, changes, has_more, ..Changes::default() })
        })
        .await
}

fn to_change(resources: &Resources, row: &CommitRow) -> Result<Option<RecentChange>> {
    let Some(record) = commit_record(resources, &row.project, &row.sha)? else { return Ok(None) };
    Ok(Some(RecentChange {
        commit: CommitSummary::new(&row.project, &record),
        change_type: row.change_type,
        merge_request: row.merge_request.map(|iid| ThreadId::merge_request(&row.project, iid)),
        earlier_name: None,
        insertions: row.insertions,
        deletions: row.deletions,
    }))
}
