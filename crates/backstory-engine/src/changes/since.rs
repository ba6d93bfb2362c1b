//! What changed since some time, for those who follow along: nodes that are there, and nodes that are gone.

use backstory_model::{entity::ItemKind, id::NodeId};
use backstory_store::ledger::{ErasureTarget, ForgottenChange, ItemChange, Ledger, LedgerError, LoggedChange, Removal};
use jiff::Timestamp;

use crate::{error::Result, resources::Resources};

/// Most items that can be listed at once.
pub const MAX_CHANGED: usize = 100;

/// How far a follower is, and what changed up to there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedNodes {
    /// The sequence number up to which everything was told.
    pub up_to: u64,
    /// The nodes that are there, in the order in which they changed.
    pub nodes: Vec<NodeId>,
    /// The nodes that are gone, in the order in which they went; what was forgotten last.
    pub removed: Vec<RemovedNode>,
}

/// A node that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedNode {
    /// Its id.
    pub id: NodeId,
    /// When that was found or done.
    pub at: Timestamp,
    /// Why.
    pub reason: RemovalReason,
}

/// Why a node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalReason {
    /// The forge or the repository has it no more, or it is not read any more.
    Gone,
    /// Somebody wanted it forgotten.
    Forgotten,
    /// The rules of retention do not permit it any more.
    Retired,
}

/// The sequence number up to which graph and lists have followed.
pub(crate) async fn readable_up_to(resources: &Resources) -> Result<u64> {
    let applied = resources.applied_numbers().await?;
    Ok(applied.graph.min(applied.lists))
}

/// The nodes of projects, or of all, that changed after a sequence number and can be read, or are gone.
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
    resources.with_ledger(move |ledger| changes_between(ledger, after, readable, &projects)).await
}

fn changes_between(
    ledger: &Ledger,
    after: u64,
    readable: u64,
    projects: &[String],
) -> std::result::Result<ChangedNodes, LedgerError> {
    let read = ledger.log_after(after, projects, MAX_CHANGED)?;
    let is_full = read.len() == MAX_CHANGED;
    let mut logged: Vec<LoggedChange> = read.into_iter().filter(|change| change.item.seq <= readable).collect();
    let last = logged.last().map(|change| change.item.seq).filter(|_| is_full);
    let mut up_to = last.unwrap_or(readable.max(after));
    let forgotten = ledger.forgotten_after(after, MAX_CHANGED)?;
    if let Some(last) = forgotten.last().filter(|_| forgotten.len() == MAX_CHANGED) {
        up_to = up_to.min(last.seq);
    }
    logged.retain(|change| change.item.seq <= up_to);
    let mut changed = ChangedNodes { up_to, ..ChangedNodes::default() };
    for LoggedChange { item, removal } in &logged {
        let Some(id) = node_of(item) else { continue };
        let is_there = match removal {
            None => true,
            Some(_) => has_other_half(ledger, item)?,
        };
        match removal {
            _ if is_there && !changed.nodes.contains(&id) => changed.nodes.push(id),
            Some(Removal::Gone(at)) if !is_there => changed.remove(id, *at, RemovalReason::Gone),
            Some(Removal::Retired(at)) if !is_there => changed.remove(id, *at, RemovalReason::Retired),
            _ => {}
        }
    }
    for ForgottenChange { seq, at, target, is_back } in forgotten {
        let is_wanted = projects.is_empty() || projects.iter().any(|project| project == target.project());
        if seq <= up_to && is_wanted && !is_back {
            changed.remove(node_of_target(target), at, RemovalReason::Forgotten);
        }
    }
    Ok(changed)
}

impl ChangedNodes {
    fn remove(&mut self, id: NodeId, at: Timestamp, reason: RemovalReason) {
        if !self.removed.iter().any(|removed| removed.id == id) {
            self.removed.push(RemovedNode { id, at, reason });
        }
    }
}

/// Whether a tag is still there that the forge has no release of any more, or the other way round: they are one node.
fn has_other_half(ledger: &Ledger, item: &ItemChange) -> std::result::Result<bool, LedgerError> {
    let other = match item.kind {
        ItemKind::Tag => ItemKind::Release,
        ItemKind::Release => ItemKind::Tag,
        _ => return Ok(false),
    };
    Ok(ledger.item(&item.project, other, &item.key)?.is_some())
}

fn node_of_target(target: ErasureTarget) -> NodeId {
    match target {
        ErasureTarget::Thread(thread) => thread.into(),
        ErasureTarget::Project(project) => NodeId::Project(project),
    }
}

/// The node that an item is; `None` if it is none of its own.
fn node_of(item: &ItemChange) -> Option<NodeId> {
    let ItemChange { project, kind, key, .. } = item;
    // What belongs to no project is no node here; one that never was only keeps the last number of the log.
    if project.is_empty() {
        return None;
    }
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
