//! The merge requests that change a file, merged or in progress.

use std::collections::BTreeSet;

use backstory_model::{
    edge::Edge,
    entity::{Item, State},
    id::{NodeId, ThreadId},
    text::truncate_echo,
};
use backstory_store::{
    graph::Direction,
    lists::{CommitQuery, MAX_PAGE, PageRequest},
};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    history::changes_across_renames,
    read::load_items,
    resources::{Resources, blocking},
    threads::ThreadSummary,
    use_case::{UseCase, Weight},
};

/// Most merge requests of one answer, the last changed ones.
pub const MAX_FILE_REQUESTS: usize = 500;
/// Most commits of which the merge requests are looked up, the newest ones.
const MAX_COMMITS: usize = 5_000;

/// Requests the merge requests that change a file, under all its names: those that were merged, by their commits, and
/// those that are open or were closed, by what they would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileMergeRequests {
    /// The file.
    pub id: NodeId,
    /// Only those in one of these states; all if empty.
    #[serde(default)]
    pub states: Vec<State>,
}

impl UseCase for FileMergeRequests {
    const NAME: &'static str = "file-merge-requests";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Vec<ThreadSummary>;

    async fn run(self, resources: &Resources) -> Result<Vec<ThreadSummary>> {
        file_merge_requests(resources, self).await
    }
}

/// The merge requests that change a file, the last changed first.
///
/// # Errors
/// The id is that of no file, or a store failed.
async fn file_merge_requests(resources: &Resources, request: FileMergeRequests) -> Result<Vec<ThreadSummary>> {
    let FileMergeRequests { id, states } = request;
    let NodeId::File { project, .. } = &id else {
        let id = id.to_string();
        return Err(
            Error::invalid(format!("{} is not a file", truncate_echo(&id))).with_hint("write group/project:src/a.rs")
        );
    };
    let changes = changes_across_renames(resources, &id).await?;
    let names: BTreeSet<NodeId> = changes.into_iter().map(|change| change.name).chain([id.clone()]).collect();
    let mut requests = merged(resources, project, &names).await?;
    requests.extend(proposing(resources, names).await?);
    let items = load_items(resources, requests.into_iter().map(NodeId::from).collect()).await?;
    let is_wanted = |item: &&Item| {
        let state = item.as_thread().map(|thread| thread.state);
        matches!(item, Item::MergeRequest(_))
            && (states.is_empty() || state.is_some_and(|state| states.contains(&state)))
    };
    let mut found: Vec<ThreadSummary> = items.values().filter(is_wanted).filter_map(ThreadSummary::from_item).collect();
    found.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| b.iid.cmp(&a.iid)));
    found.truncate(MAX_FILE_REQUESTS);
    Ok(found)
}

/// The merge requests that introduced commits that change one of these files.
async fn merged(resources: &Resources, project: &str, names: &BTreeSet<NodeId>) -> Result<BTreeSet<ThreadId>> {
    let path = |name: &NodeId| match name {
        NodeId::File { path, .. } => Some(path.clone()),
        _ => None,
    };
    let query = CommitQuery {
        projects: vec![project.to_owned()],
        paths: names.iter().filter_map(path).collect(),
        introduced: Some(true),
        ..CommitQuery::default()
    };
    let mut found = BTreeSet::new();
    let (mut after, mut read) = (None, 0);
    while read < MAX_COMMITS {
        let page = PageRequest { first: MAX_PAGE, after: after.take(), ..PageRequest::default() };
        let query = query.clone();
        let page = resources.with_lists(move |lists, visibility| lists.commits(&query, &page, visibility)).await?;
        read += page.rows.len();
        let numbers = page.rows.iter().filter_map(|row| row.merge_request);
        found.extend(numbers.map(|iid| ThreadId::merge_request(project, iid)));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(found)
}

/// The merge requests that would change one of these files.
pub(super) async fn proposing(resources: &Resources, names: BTreeSet<NodeId>) -> Result<BTreeSet<ThreadId>> {
    let graph = resources.graph();
    blocking(move || {
        let mut found = BTreeSet::new();
        for name in &names {
            for edge in graph.edges(name, Direction::In, Some(Edge::Proposes))? {
                if let NodeId::Thread(id) = edge.other {
                    found.insert(id);
                }
            }
        }
        Ok(found)
    })
    .await
}
