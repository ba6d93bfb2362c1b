//! What changed since some time, for those who follow along: nodes that are there, and nodes that are gone.

use backstory_model::{entity::ItemKind, id::NodeId};
use backstory_store::ledger::{ErasureTarget, ForgottenChange, ItemChange, Ledger, LedgerError, LoggedChange, Removal};
use jiff::Timestamp;

use crate::{error::Result, resources::Resources};

/// Most items that can be listed at once.
pub const MAX_CHANGED: usize = 100;
/// How far a follower is, and what changed up to there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeChanges {
    /// The sequence number up to which everything was told.
    pub up_to: u64,
    /// Whether more has changed that can be read.
    pub has_more: bool,
    /// The changes, oldest first; of a node at most one that it is there and one that it is gone.
    pub changes: Vec<NodeChange>,
}

/// A change of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChange {
    /// Its sequence number.
    pub seq: u64,
    /// Id of the node.
    pub id: NodeId,
    /// How the node went; `None` if it is there.
    pub removal: Option<NodeRemoval>,
}

/// How a node went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRemoval {
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
    /// The rules for retention do not keep it any more.
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
pub(crate) async fn nodes_changed_after(resources: &Resources, after: u64, projects: &[String]) -> Result<NodeChanges> {
    let readable = readable_up_to(resources).await?;
    let projects = projects.to_vec();
    resources.with_ledger(move |ledger| changes_between(ledger, after, readable, &projects)).await
}

/// A page of the nodes of projects, or of all, that changed after a sequence number and can be read, or are gone, for those
/// who ask from time to time. Without a number the page is empty and ends at the newest change.
///
/// It ends at the number of a change that the caller can see, or at the one given, so that it does not count what is hidden.
///
/// # Errors
/// A store cannot be read.
pub(crate) async fn page_of_changes(
    resources: &Resources,
    after: Option<u64>,
    projects: &[String],
    first: usize,
) -> Result<NodeChanges> {
    let readable = readable_up_to(resources).await?;
    let projects = projects.to_vec();
    resources
        .with_ledger(move |ledger| match after {
            Some(after) => Ok(changes_between(ledger, after, readable, &projects)?.cut(after, first)),
            None => Ok(NodeChanges { up_to: newest_visible(ledger, readable)?, ..NodeChanges::default() }),
        })
        .await
}

/// The number of the newest change that can be seen and read.
fn newest_visible(ledger: &Ledger, readable: u64) -> std::result::Result<u64, LedgerError> {
    let newest = ledger.last_visible_seq()?.min(readable);
    // What was forgotten is no item any more.
    let forgotten = ledger.forgotten_after(newest, MAX_CHANGED)?;
    Ok(forgotten.iter().map(|change| change.seq).filter(|seq| *seq <= readable).max().unwrap_or(newest))
}

fn changes_between(
    ledger: &Ledger,
    after: u64,
    readable: u64,
    projects: &[String],
) -> std::result::Result<NodeChanges, LedgerError> {
    // One more than is told shows that there is more.
    let mut logged = ledger.log_after(after, projects, &node_kinds(), MAX_CHANGED + 1)?;
    logged.retain(|change| change.item.seq <= readable);
    let mut forgotten = ledger.forgotten_after(after, MAX_CHANGED + 1)?;
    forgotten.retain(|change| change.seq <= readable);
    let ends = [
        end_of_full(logged.iter().map(|change| change.item.seq)),
        end_of_full(forgotten.iter().map(|change| change.seq)),
    ];
    let end = ends.into_iter().flatten().min();
    let up_to = end.unwrap_or(readable.max(after));
    let mut changed = NodeChanges { up_to, has_more: end.is_some(), changes: Vec::new() };
    for LoggedChange { item, removal } in logged.iter().filter(|change| change.item.seq <= up_to) {
        let Some(id) = node_of(item) else { continue };
        let is_there = match removal {
            None => true,
            Some(_) => has_other_half(ledger, item)?,
        };
        let removal = match removal {
            _ if is_there => None,
            Some(Removal::Gone(at)) => Some(NodeRemoval { at: *at, reason: RemovalReason::Gone }),
            Some(Removal::Retired(at)) => Some(NodeRemoval { at: *at, reason: RemovalReason::Retired }),
            // A record tells it.
            Some(Removal::Forgotten) | None => continue,
        };
        changed.add(NodeChange { seq: item.seq, id, removal });
    }
    for ForgottenChange { seq, at, target, is_back } in forgotten {
        let is_wanted = projects.is_empty() || projects.iter().any(|project| project == target.project());
        if seq <= up_to && is_wanted && !is_back {
            let removal = Some(NodeRemoval { at, reason: RemovalReason::Forgotten });
            changed.add(NodeChange { seq, id: node_of_target(target), removal });
        }
    }
    changed.changes.sort_by_key(|change| change.seq);
    Ok(changed)
}

/// The last number that is told of a list that has more than is told at once.
fn end_of_full(mut numbers: impl Iterator<Item = u64>) -> Option<u64> {
    let last = numbers.nth(MAX_CHANGED - 1)?;
    numbers.next().map(|_| last)
}

impl NodeChanges {
    fn add(&mut self, change: NodeChange) {
        let is_same = |told: &NodeChange| told.id == change.id && told.removal.is_some() == change.removal.is_some();
        if !self.changes.iter().any(is_same) {
            self.changes.push(change);
        }
    }

    /// The first of the changes after a number. Changes with one number stay together, since the next page begins behind it.
    fn cut(mut self, after: u64, first: usize) -> Self {
        let last = self.changes[..first.min(self.changes.len())].last().map(|change| change.seq);
        let end = last.map_or(0, |last| self.changes.partition_point(|change| change.seq <= last));
        let is_cut = end < self.changes.len();
        self.changes.truncate(end);
        if is_cut || !self.has_more {
            self.up_to = last.unwrap_or(after);
        }
        self.has_more |= is_cut;
        self
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

/// Kinds of items that are nodes of their own. Each project has people of its own, and the other kinds describe nodes.
fn node_kinds() -> Vec<ItemKind> {
    use ItemKind::{CoChange, FileLinks, Identity, Importance, Merge, Person, Repository, Shipment};
    let is_node = |kind: &ItemKind| {
        !matches!(kind, Person | Repository | Merge | Shipment | FileLinks | CoChange | Importance | Identity)
    };
    ItemKind::ALL.into_iter().filter(is_node).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(numbers: &[u64], up_to: u64, has_more: bool) -> NodeChanges {
        let change = |(place, seq): (usize, &u64)| NodeChange {
            seq: *seq,
            id: NodeId::file("acme/shop", format!("src/{place}.rs")),
            removal: None,
        };
        NodeChanges { up_to, has_more, changes: numbers.iter().enumerate().map(change).collect() }
    }

    #[test]
    fn every_kind_of_node_has_an_id() {
        for kind in ItemKind::ALL {
            // The keys of these are numbers or references.
            let key = match kind {
                ItemKind::Issue => "#1",
                ItemKind::MergeRequest => "!1",
                ItemKind::Discussion => "#1~a1",
                _ => "1",
            };
            let item = ItemChange { seq: 1, project: "acme/shop".to_owned(), kind, key: key.to_owned() };
            assert_eq!(node_of(&item).is_some(), node_kinds().contains(&kind), "{kind:?}");
        }
    }

    #[test]
    fn a_page_ends_at_a_change_that_is_told() {
        /// Where a page ends, whether there is more, and how many changes it has.
        type End = (u64, bool, usize);
        let cases: [(&[u64], bool, usize, End); 7] = [
            // Up to 90 all could be read; what changed between 7 and 90 is hidden.
            (&[3, 5, 7], false, 9, (7, false, 3)),
            (&[3, 5, 7], false, 3, (7, false, 3)),
            (&[3, 5, 7], false, 2, (5, true, 2)),
            (&[3, 5, 7], false, 0, (2, true, 0)),
            (&[3, 5, 5, 7], false, 2, (5, true, 3)),
            (&[], false, 9, (2, false, 0)),
            // Nothing of what was read is told, but there is more behind it.
            (&[], true, 9, (90, true, 0)),
        ];
        for (numbers, has_more, first, expected) in cases {
            let page = changes(numbers, 90, has_more).cut(2, first);
            assert_eq!((page.up_to, page.has_more, page.changes.len()), expected, "{numbers:?} {first}");
        }
    }

    #[test]
    fn a_list_is_full_if_it_has_more_than_is_told_at_once() {
        let most = MAX_CHANGED as u64;
        assert_eq!(end_of_full(1..=most), None);
        assert_eq!(end_of_full(1..=most + 1), Some(most));
        assert_eq!(end_of_full(std::iter::empty()), None);
    }
}
