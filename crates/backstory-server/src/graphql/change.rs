//! GraphQL types of changes: nodes that came, changed or went, told by a subscription and to those who poll.

use async_graphql::{
    Context, Enum, Object, Result, SimpleObject,
    connection::{Edge, EmptyFields, PageInfo},
};
use backstory_engine::changes::{self, NodeChanges, NodeRemoval};

use super::{
    loaders,
    node::Node,
    page,
    scalar::{BigInt, DateTime},
};

/// What has changed.
#[derive(SimpleObject)]
pub(crate) struct Changed {
    /// Number of the newest change of the ledger that is included.
    seq: BigInt,
    /// Nodes that are new or have changed, in the order in which they changed; without nodes that are gone.
    nodes: Vec<Node>,
    /// Nodes that are gone, in the order in which they went.
    removed: Vec<RemovedNode>,
}

/// A node that is gone.
#[derive(SimpleObject)]
pub(crate) struct RemovedNode {
    /// Node that is gone; of most only the id is left.
    node: Node,
    /// Why the node is gone.
    reason: RemovalReason,
    /// When the node was found to be gone, or somebody had it removed.
    removed_at: DateTime,
}

/// Why a node is gone.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "changes::RemovalReason")]
pub(crate) enum RemovalReason {
    /// The forge or the repository does not have it any more: it was deleted or renamed, or is not read any more.
    Gone,
    /// Somebody had the issue or merge request, or the whole project, forgotten. What belonged to it is not named.
    Forgotten,
    /// The rules for retention do not keep it any more.
    Retired,
}

/// A change of a node.
#[derive(SimpleObject)]
pub(crate) struct NodeChange {
    /// Node that is new, has changed or is gone; of most that are gone only the id is left.
    node: Node,
    /// Why the node is gone; null if it is there.
    removal_reason: Option<RemovalReason>,
    /// When the node was found to be gone, or somebody had it removed; null if it is there.
    removed_at: Option<DateTime>,
}

/// A page of changes. The library's page has no cursor if nothing is on it, and who polls needs one.
pub(crate) struct NodeChangeConnection {
    edges: Vec<Edge<String, NodeChange, EmptyFields>>,
    /// Where the page ends.
    end: String,
    has_previous_page: bool,
    has_next_page: bool,
}

/// A page of changes of nodes.
#[Object]
impl NodeChangeConnection {
    /// A list of edges.
    async fn edges(&self) -> &[Edge<String, NodeChange, EmptyFields>] {
        &self.edges
    }

    /// A list of nodes.
    async fn nodes(&self) -> Vec<&NodeChange> {
        self.edges.iter().map(|edge| &edge.node).collect()
    }

    /// Information to aid in pagination; there is an endCursor even if the page is empty.
    async fn page_info(&self) -> PageInfo {
        PageInfo {
            has_previous_page: self.has_previous_page,
            has_next_page: self.has_next_page,
            start_cursor: self.edges.first().map(|edge| edge.cursor.clone()),
            end_cursor: Some(self.end.clone()),
        }
    }
}

impl From<changes::NodeChange> for NodeChange {
    fn from(change: changes::NodeChange) -> Self {
        Self {
            node: Node::from(change.id),
            removal_reason: change.removal.map(|removal| removal.reason.into()),
            removed_at: change.removal.map(|removal| removal.at.into()),
        }
    }
}

impl From<NodeChanges> for Changed {
    fn from(changed: NodeChanges) -> Self {
        let (mut nodes, mut removed) = (Vec::new(), Vec::new());
        for change in changed.changes {
            let node = Node::from(change.id);
            match change.removal {
                None => nodes.push(node),
                Some(NodeRemoval { at, reason }) => {
                    removed.push(RemovedNode { node, reason: reason.into(), removed_at: at.into() });
                }
            }
        }
        Self { seq: changed.up_to.into(), nodes, removed }
    }
}

/// A page of what changed after a cursor, oldest first, in projects or in all.
pub(super) async fn list(
    ctx: &Context<'_>,
    first: Option<i32>,
    after: Option<&str>,
    projects: &[String],
) -> Result<NodeChangeConnection> {
    let size = page::size(first, page::DEFAULT_PAGE)?;
    let seq = page::number_of(after)?;
    let found = loaders::engine(ctx)?.page_of_changes(seq, projects, size).await?;
    let edge = |change: changes::NodeChange| Edge::new(change.seq.to_string(), NodeChange::from(change));
    Ok(NodeChangeConnection {
        end: found.up_to.to_string(),
        has_previous_page: after.is_some(),
        has_next_page: found.has_more,
        edges: found.changes.into_iter().map(edge).collect(),
    })
}
