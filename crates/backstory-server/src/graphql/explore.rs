//! GraphQL types of walks over the graph: neighborhoods and paths.

use async_graphql::{Context, Object, Result, SimpleObject};
use backstory_engine::{
    explore::{self, NeighborhoodRequest, PathRequest},
    model::{edge::Edge, id::NodeId},
};

use super::{
    edge::Named,
    loaders,
    names::EdgeName,
    node::Node,
    page::{self, DEFAULT_EDGES},
};

/// The nodes around one.
#[derive(SimpleObject)]
pub(crate) struct Neighborhood {
    /// Nodes of the neighborhood, the nearest first; without the one that they are around.
    nodes: Vec<Neighbor>,
    /// The edges over which they were reached, and others between them that were found.
    edges: Vec<GraphEdge>,
    /// What was left out because of limits, a sentence each; empty if nothing was. To continue, ask for more nodes,
    /// which keeps those that were there, for fewer edges, or for the neighborhood of an outer node.
    left_out: Vec<String>,
}

/// A node of a neighborhood.
#[derive(SimpleObject)]
pub(crate) struct Neighbor {
    /// Fewest edges between the node and the one that the neighborhood is around.
    distance: usize,
    /// Node of the neighborhood.
    node: Node,
}

/// An edge of the graph.
pub(crate) struct GraphEdge {
    ends: explore::GraphEdge,
    named: Named,
}

/// An edge of the graph.
#[Object]
impl GraphEdge {
    /// Node where the edge starts.
    async fn from(&self) -> Node {
        self.ends.from.clone().into()
    }

    /// Node where the edge ends.
    async fn to(&self) -> Node {
        self.ends.to.clone().into()
    }

    #[graphql(flatten)]
    async fn named(&self) -> &Named {
        &self.named
    }
}

/// The shortest path between two nodes.
#[derive(SimpleObject)]
pub(crate) struct NodePath {
    /// Nodes of the path from one end to the other; empty if there is no path.
    nodes: Vec<Node>,
    /// Edges of the path in the order of its nodes; each starts at either of its two nodes.
    edges: Vec<GraphEdge>,
    /// What was left out because of limits, a sentence each. If this is empty, the path is a shortest one, and if there
    /// is no path, there is none of that length.
    left_out: Vec<String>,
}

impl From<explore::GraphEdge> for GraphEdge {
    fn from(edge: explore::GraphEdge) -> Self {
        Self { named: Named::stated(edge.clone()), ends: edge }
    }
}

/// The nodes around one.
pub(super) async fn neighborhood(
    ctx: &Context<'_>,
    id: NodeId,
    depth: i32,
    names: Option<Vec<EdgeName>>,
    first: Option<i32>,
) -> Result<Neighborhood> {
    let limit = page::size(first, DEFAULT_EDGES)?;
    let request = NeighborhoodRequest { id, depth: natural(depth), edges: wanted(names), limit, totals: false };
    let found = loaders::engine(ctx)?.answer(request).await?;
    let neighbor = |found: explore::Neighbor| Neighbor { distance: found.distance, node: found.id.into() };
    Ok(Neighborhood {
        nodes: found.neighbors.into_iter().map(neighbor).collect(),
        edges: found.edges.into_iter().map(Into::into).collect(),
        left_out: found.left_out,
    })
}

/// The shortest path between two nodes.
pub(super) async fn path(
    ctx: &Context<'_>,
    from: &str,
    to: &str,
    names: Option<Vec<EdgeName>>,
    max_length: i32,
) -> Result<NodePath> {
    let request =
        PathRequest { from: from.parse()?, to: to.parse()?, edges: wanted(names), max_length: natural(max_length) };
    let found = loaders::engine(ctx)?.answer(request).await?;
    Ok(NodePath {
        nodes: found.nodes.into_iter().map(Node::from).collect(),
        edges: found.edges.into_iter().map(Into::into).collect(),
        left_out: found.left_out,
    })
}

/// A number that the engine refuses if it is out of bounds.
fn natural(number: i32) -> usize {
    usize::try_from(number).unwrap_or(0)
}

fn wanted(names: Option<Vec<EdgeName>>) -> std::collections::BTreeSet<Edge> {
    names.unwrap_or_default().into_iter().map(Edge::from).collect()
}
