//! GraphQL types of a node's edges, a page at a time.

use async_graphql::{
    Context, OutputType, Result, SimpleObject,
    connection::{Connection, ConnectionNameType, Edge as PageEdge, EdgeNameType},
};
use backstory_engine::{
    graph::{AdjacentEdge, Direction, InferredLink},
    model::{edge::Edge, id::NodeId},
};

use super::{
    loaders,
    names::{EdgeDirection, EdgeName},
    node::Node,
    page::{self, Count, DEFAULT_EDGES, bad_cursor},
};

/// A page of edges.
pub(crate) type EdgeConnection = Connection<String, Node, Count, Named, ConnectionName, NodeEdgeName>;

/// Name of the type of a page.
pub(crate) struct ConnectionName;

impl ConnectionNameType for ConnectionName {
    fn type_name<T: OutputType>() -> String {
        "EdgeConnection".to_owned()
    }
}

/// Name of the type of an edge.
pub(crate) struct NodeEdgeName;

impl EdgeNameType for NodeEdgeName {
    fn type_name<T: OutputType>() -> String {
        "NodeEdge".to_owned()
    }
}

/// What an edge tells besides the node at its other end.
#[derive(SimpleObject)]
pub(crate) struct Named {
    /// What it says.
    name: EdgeName,
    /// Whether nobody stated it: it was found by names, counts or likeness.
    inferred: bool,
    /// Of a link of a change with an issue that nobody stated: how likely it is, 0 to 1.
    confidence: Option<f64>,
    /// Of such a link: what speaks for it, the strongest first.
    evidence: Vec<String>,
}

impl Named {
    fn of(edge: Edge, link: Option<&InferredLink>) -> Self {
        Self {
            name: edge.into(),
            inferred: link.is_some() || edge.inferred(),
            confidence: link.map(|link| hundredths(link.confidence)),
            evidence: link.map(|link| link.evidence.clone()).unwrap_or_default(),
        }
    }
}

/// A confidence without what a float adds to it.
pub(super) fn hundredths(confidence: f32) -> f64 {
    (f64::from(confidence) * 100.0).round() / 100.0
}

/// A page of the edges at a node.
pub(super) async fn page(
    ctx: &Context<'_>,
    id: &NodeId,
    names: Option<&[EdgeName]>,
    direction: EdgeDirection,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<EdgeConnection> {
    let size = page::size(first, DEFAULT_EDGES)?;
    let after = after.map(|cursor| decode(cursor).ok_or_else(|| bad_cursor(cursor))).transpose()?;
    let wanted: Option<Vec<Edge>> = names.map(|names| names.iter().map(|name| Edge::from(*name)).collect());
    // Edges of one name are found faster than all of them.
    let only = match wanted.as_deref() {
        Some([edge]) => Some(*edge),
        _ => None,
    };
    let all = loaders::edges(ctx, id.clone(), direction.into(), only).await?;
    let inferred = loaders::inferred(ctx, id.clone()).await?;
    let from_here = direction == EdgeDirection::Out;
    let inferred =
        inferred.iter().filter(|link| (link.from == *id) == from_here).map(|link| (link.end(id), Some(link)));
    let mut ends: Vec<(AdjacentEdge, Option<&InferredLink>)> =
        all.iter().map(|end| (end.clone(), None)).chain(inferred).collect();
    ends.retain(|(end, _)| wanted.as_ref().is_none_or(|wanted| wanted.contains(&end.edge)));
    ends.sort_by(|a, b| a.0.cmp(&b.0));
    let start = after.map_or(0, |after| ends.partition_point(|(end, _)| *end <= after));
    let end = start.saturating_add(size).min(ends.len());
    let mut page = Connection::with_additional_fields(start > 0, end < ends.len(), Count::from(ends.len()));
    page.edges.extend(ends[start..end].iter().map(|(end, link)| {
        PageEdge::with_additional_fields(encode(end), Node::from(end.other.clone()), Named::of(end.edge, *link))
    }));
    Ok(page)
}

/// The nodes at the other end of a node's edges of one name that were stated.
pub(super) async fn ends(ctx: &Context<'_>, id: &NodeId, direction: Direction, edge: Edge) -> Result<Vec<NodeId>> {
    let edges = loaders::edges(ctx, id.clone(), direction, Some(edge)).await?;
    Ok(edges.iter().map(|end| end.other.clone()).collect())
}

fn encode(end: &AdjacentEdge) -> String {
    format!("{} {}", end.edge.name(), end.other)
}

fn decode(cursor: &str) -> Option<AdjacentEdge> {
    let (name, other) = cursor.split_once(' ')?;
    Some(AdjacentEdge { edge: Edge::from_name(name)?, other: other.parse().ok()? })
}
