//! How little a node says of what is linked with it, and so over which nodes a path may run.

use std::collections::BTreeSet;

use backstory_model::{
    edge::Edge,
    id::{NodeId, is_address},
    people::is_shared,
};
use backstory_store::graph::{Direction, Graph};

use crate::error::Result;

/// From which generality on a node has edges to much of a project.
pub(super) const GENERAL: u8 = 4;
/// Most edges between two names of a person: from an address to the account, and from there to another address.
const MAX_NAME_EDGES: usize = 2;

/// Whether everything is linked with a node, so that a path over it says nothing.
fn joins_everything(id: &NodeId) -> bool {
    match id {
        NodeId::Project(_) => true,
        NodeId::Person(name) => is_address(name) && is_shared(&name.to_lowercase()),
        _ => false,
    }
}

/// How little it says that something is linked with a node: issues, merge requests, commits and code have the least, what
/// is linked with everything has the most. Where there is not room for all, what says more is kept, and walked on from first.
pub(super) fn generality(id: &NodeId) -> u8 {
    match id {
        NodeId::Thread(_) | NodeId::Commit { .. } => 0,
        NodeId::File { .. } | NodeId::Entity { .. } | NodeId::DesignNote { .. } => 1,
        NodeId::Branch { .. } | NodeId::Ticket(_) => 2,
        NodeId::Discussion { .. } | NodeId::Note { .. } => 3,
        NodeId::Person(_) | NodeId::Label { .. } | NodeId::Milestone { .. } | NodeId::Tag { .. } => 4,
        NodeId::Project(_) => 5,
    }
}

/// The nodes over which a path may run.
pub(super) struct OpenNodes {
    /// Its ends, and the other names of a person who is one of them.
    ends: BTreeSet<NodeId>,
    /// Whether people, labels, milestones and tags are among them: that two things have one in common says little, unless the
    /// request names the edges that it is about.
    has_general: bool,
}

impl OpenNodes {
    /// Those of a path between two nodes, over edges of these types, or all if there are none.
    ///
    /// # Errors
    /// The graph cannot be read.
    pub(super) fn new(graph: &Graph, ends: [&NodeId; 2], edges: &BTreeSet<Edge>) -> Result<Self> {
        let mut open: BTreeSet<NodeId> = ends.into_iter().cloned().collect();
        for _ in 0..MAX_NAME_EDGES {
            let people: Vec<NodeId> = open.iter().filter(|id| matches!(id, NodeId::Person(_))).cloned().collect();
            for person in &people {
                for direction in [Direction::Out, Direction::In] {
                    let names = graph.edges(person, direction, Some(Edge::SameAs))?.into_iter().map(|end| end.other);
                    open.extend(names.filter(|name| !joins_everything(name)));
                }
            }
        }
        Ok(Self { ends: open, has_general: !edges.is_empty() })
    }

    /// Whether a path may run over a node.
    pub(super) fn has(&self, id: &NodeId) -> bool {
        let is_closed = joins_everything(id) || (!self.has_general && generality(id) >= GENERAL);
        !is_closed || self.ends.contains(id)
    }
}
