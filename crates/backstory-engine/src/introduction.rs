//! Finds the merge requests and the merge that introduced a commit.

use backstory_model::{
    commit::Sha,
    edge::Edge,
    entity::Item,
    id::{NodeId, ThreadId, ThreadKind},
};
use backstory_store::graph::Direction;

use crate::{error::Result, read::item_of_node, resources::Resources};

/// Deepest nesting of merges that is followed.
const MAX_MERGES: usize = 4;

/// A merge request that brought a commit.
pub(crate) struct IntroducingMergeRequest {
    pub(crate) id: ThreadId,
    /// The commit it was merged as, if that is another.
    pub(crate) merge: Option<NodeId>,
    pub(crate) edge: Edge,
}

/// The merge requests that brought a commit, the nearest first.
pub(crate) fn merge_requests_introducing(
    resources: &Resources,
    project: &str,
    commit: Sha,
) -> Result<Vec<IntroducingMergeRequest>> {
    let own = NodeId::commit(project, &commit.to_string());
    let mut found: Vec<IntroducingMergeRequest> = Vec::new();
    let mut add = |carrier: IntroducingMergeRequest| {
        if !found.iter().any(|known| known.id == carrier.id) {
            found.push(carrier);
        }
    };
    for id in merged_as(resources, &own)? {
        add(IntroducingMergeRequest { id, merge: None, edge: Edge::MergedAs });
    }
    for id in resources.graph().nodes_with_property("headCommit", &commit.to_string())? {
        if let NodeId::Thread(id) = id
            && id.kind == ThreadKind::MergeRequest
            && is_merged_request(resources, &id)?
        {
            add(IntroducingMergeRequest { id, merge: None, edge: Edge::PartOf });
        }
    }
    let mut commit = own;
    for _ in 0..MAX_MERGES {
        let Some(merge) = merge_introducing(resources, &commit)? else { break };
        for id in merged_as(resources, &merge)? {
            add(IntroducingMergeRequest { id, merge: Some(merge.clone()), edge: Edge::MergedAs });
        }
        commit = merge;
    }
    Ok(found)
}

/// The nearest merge that brought a commit to the default branch; `None` of one that was made there.
pub(crate) fn merge_introducing(resources: &Resources, commit: &NodeId) -> Result<Option<NodeId>> {
    let merges = resources.graph().edges(commit, Direction::Out, Some(Edge::MergedBy))?;
    Ok(merges.into_iter().next().map(|end| end.other))
}

fn merged_as(resources: &Resources, commit: &NodeId) -> Result<Vec<ThreadId>> {
    let edges = resources.graph().edges(commit, Direction::In, Some(Edge::MergedAs))?;
    Ok(edges
        .into_iter()
        .filter_map(|end| match end.other {
            NodeId::Thread(id) => Some(id),
            _ => None,
        })
        .collect())
}

fn is_merged_request(resources: &Resources, id: &ThreadId) -> Result<bool> {
    Ok(matches!(item_of_node(resources, &id.clone().into())?, Some(Item::MergeRequest(mr)) if mr.merged_at.is_some()))
}
