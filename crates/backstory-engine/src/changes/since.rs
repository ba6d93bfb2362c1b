//! Which nodes changed since some time, for those who follow along.

use backstory_model::{entity::ItemKind, id::NodeId};
use backstory_store::ledger::ItemChange;

use crate::{error::Result, resources::Resources};

/// Most items that can be listed at once.
pub const MAX_CHANGED: usize = 100;

/// How far a follower is, and what changed up to there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedNodes {
    /// The sequence number up to which everything was told.
    pub up_to: u64,
    /// The nodes, in the order in which they changed; not what is gone.
    pub nodes: Vec<NodeId>,
}

/// The sequence number up to which graph and lists have followed.
pub(crate) async fn readable_up_to(resources: &Resources) -> Result<u64> {
    let applied = resources.applied_numbers().await?;
    Ok(applied.graph.min(applied.lists))
}

/// The nodes of projects, or of all, that changed after a sequence number and can be read.
///
/// # Errors
/// A store cannot be read.
pub(crate) async fn nodes_changed_after(
    resources: &Resources,
    after: u64,
    projects: &[String],
) -> Result<ChangedNodes> {
    let readable = readable_up_to(resources).await?;
    let projects = projects.to_vec();
    let read = resources.with_ledger(move |ledger| ledger.changed_keys_after(after, &projects, MAX_CHANGED)).await?;
    let is_full = read.len() == MAX_CHANGED;
    let changed: Vec<ItemChange> = read.into_iter().filter(|item| item.seq <= readable).collect();
    let last = changed.last().map(|item| item.seq).filter(|_| is_full);
    let mut nodes: Vec<NodeId> = Vec::new();
    for id in changed.iter().filter_map(node_of) {
        if !nodes.contains(&id) {
            nodes.push(id);
        }
    }
    Ok(ChangedNodes { up_to: last.unwrap_or(readable.max(after)), nodes })
}

/// The node that an item is; `None` if it is none of its own.
fn node_of(item: &ItemChange) -> Option<NodeId> {
    let ItemChange { project, kind, key, .. } = item;
    match kind {
        ItemKind::Project => Some(NodeId::Project(project.clone())),
        ItemKind::Issue | ItemKind::MergeRequest | ItemKind::Discussion => format!("{project}{key}").parse().ok(),
        ItemKind::Commit => Some(NodeId::commit(project, key)),
        ItemKind::File => Some(NodeId::file(project, key)),
        ItemKind::Branch => Some(NodeId::Branch { project: project.clone(), name: key.clone() }),
        ItemKind::Tag | ItemKind::Release => Some(NodeId::Tag { project: project.clone(), name: key.clone() }),
        ItemKind::Label => Some(NodeId::Label { project: project.clone(), name: key.clone() }),
        ItemKind::Milestone => Some(NodeId::Milestone { project: project.clone(), iid: key.parse().ok()? }),
        _ => None,
    }
}
