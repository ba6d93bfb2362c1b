//! GraphQL types of a node's edges, a page at a time.

use std::collections::BTreeSet;

use async_graphql::{
    Context, Object, OutputType, Result, SimpleObject,
    connection::{Connection, ConnectionNameType, Edge as PageEdge, EdgeNameType},
    futures_util::future::try_join_all,
};
use backstory_engine::{
    explore::{self, EdgeMeasure, GraphEdge},
    graph::{AdjacentEdge, Direction, InferredLink, MAX_ROWS},
    model::{edge::Edge, id::NodeId},
};

use super::{
    loaders,
    names::{EdgeDirection, EdgeMethod, EdgeName},
    node::Node,
    page::{self, DEFAULT_EDGES, bad_cursor},
    scalar::DateTime,
};

/// A page of edges.
pub(crate) type EdgeConnection = Connection<String, Node, EdgeTotals, Named, ConnectionName, NodeEdgeName>;

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

/// How many edges there are.
#[derive(SimpleObject)]
pub(crate) struct EdgeTotals {
    /// How many edges the list has; pages reach the first 20,000 of each name that is asked for.
    total_count: usize,
    /// Whether there may be more edges than `totalCount` says: at most 100,000 edges of a name are counted.
    at_least: bool,
}

/// What an edge tells besides the node at its other end.
pub(crate) struct Named {
    edge: GraphEdge,
    /// Present if it is inferred.
    link: Option<InferredLink>,
}

impl Named {
    pub(super) fn stated(edge: GraphEdge) -> Self {
        Self { edge, link: None }
    }

    fn of(node: &NodeId, direction: EdgeDirection, end: &AdjacentEdge, link: Option<&InferredLink>) -> Self {
        let (node, other) = (node.clone(), end.other.clone());
        let (from, to) = if direction == EdgeDirection::Out { (node, other) } else { (other, node) };
        Self { edge: GraphEdge { from, edge: end.edge, to }, link: link.cloned() }
    }

    async fn measure(&self, ctx: &Context<'_>) -> Result<Option<EdgeMeasure>> {
        loaders::measure(ctx, self.edge.clone()).await
    }
}

/// What an edge tells besides the node at its other end.
#[Object]
impl Named {
    /// Name of the edge: what it says.
    async fn name(&self) -> EdgeName {
        self.edge.edge.into()
    }

    /// Whether the edge is inferred: found by names, counts or similarity.
    async fn inferred(&self) -> bool {
        self.link.is_some() || self.edge.edge.is_inferred()
    }

    /// How the edge was found.
    async fn method(&self) -> EdgeMethod {
        match &self.link {
            Some(_) => EdgeMethod::Similarity,
            None => explore::EdgeMethod::of_edge(self.edge.edge).into(),
        }
    }

    /// How likely the edge is, 0 to 1; of co-change, the share of the first node's changes in which the second changed too.
    /// Null if the edge was stated.
    async fn confidence(&self, ctx: &Context<'_>) -> Result<Option<f64>> {
        let confidence = match &self.link {
            Some(link) => Some(link.confidence),
            None if self.edge.edge.is_inferred() => self.measure(ctx).await?.and_then(|measure| measure.confidence),
            None => None,
        };
        Ok(confidence.map(hundredths))
    }

    /// How many commits changed both ends; null unless the edge is of co-change.
    async fn support(&self, ctx: &Context<'_>) -> Result<Option<u32>> {
        if self.edge.edge != Edge::CoEvolvesWith {
            return Ok(None);
        }
        Ok(self.measure(ctx).await?.and_then(|measure| measure.support))
    }

    /// When the younger end of the edge was created, before which the edge cannot hold; null if neither end has a time.
    async fn since(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.measure(ctx).await?.and_then(|measure| measure.since).map(DateTime::from))
    }

    /// Evidence for an inferred link of a change with an issue, the strongest first; empty for other edges.
    async fn evidence(&self) -> Vec<String> {
        self.link.as_ref().map(|link| link.evidence.clone()).unwrap_or_default()
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
    let after = after.map(decode).transpose()?;
    let names: Option<BTreeSet<Edge>> =
        names.filter(|names| !names.is_empty()).map(|names| names.iter().map(|name| Edge::from(*name)).collect());
    // Edges of one name are found faster than all of them.
    let loads: Vec<Option<Edge>> =
        names.as_ref().map_or_else(|| vec![None], |names| names.iter().copied().map(Some).collect());
    let load = |only| loaders::edges(ctx, id.clone(), direction.into(), only);
    let stated = try_join_all(loads.into_iter().map(load)).await?;
    let inferred = loaders::inferred(ctx, id.clone()).await?;
    let from_here = direction == EdgeDirection::Out;
    let mut ends: Vec<(AdjacentEdge, Option<&InferredLink>)> = inferred
        .iter()
        .filter(|link| (link.from == *id) == from_here)
        .map(|link| (link.end(id), Some(link)))
        .filter(|(end, _)| names.as_ref().is_none_or(|names| names.contains(&end.edge)))
        .collect();
    let inferred_count = ends.len();
    ends.extend(stated.iter().flat_map(|edges| edges.iter()).map(|end| (end.clone(), None)));
    ends.sort_by(|a, b| a.0.cmp(&b.0));
    let totals = if stated.iter().any(|edges| edges.len() >= MAX_ROWS) {
        let counted = loaders::engine(ctx)?.count_edges(id.clone(), direction.into(), names).await?;
        EdgeTotals { total_count: counted.count + inferred_count, at_least: counted.is_lower_bound }
    } else {
        EdgeTotals { total_count: ends.len(), at_least: false }
    };
    let start = after.map_or(0, |after| ends.partition_point(|(end, _)| *end <= after));
    let end = start.saturating_add(size).min(ends.len());
    // A page without rows has no cursor to go on from.
    let mut page = Connection::with_additional_fields(start > 0, size > 0 && end < ends.len(), totals);
    page.edges.extend(ends[start..end].iter().map(|(end, link)| {
        PageEdge::with_additional_fields(
            encode(end),
            Node::from(end.other.clone()),
            Named::of(id, direction, end, *link),
        )
    }));
    Ok(page)
}

/// The nodes at the other end of a node's edges of one name that were stated.
pub(super) async fn ends(ctx: &Context<'_>, id: &NodeId, direction: Direction, edge: Edge) -> Result<Vec<NodeId>> {
    let edges = loaders::edges(ctx, id.clone(), direction, Some(edge)).await?;
    Ok(edges.iter().map(|end| end.other.clone()).collect())
}

fn encode(end: &AdjacentEdge) -> String {
    page::encode(&(end.edge.name(), end.other.to_string()))
}

/// The edge that a cursor stands for.
///
/// # Errors
/// It is one of another list.
fn decode(cursor: &str) -> Result<AdjacentEdge> {
    let decoded: Option<(String, String)> = page::decode(Some(cursor))?;
    let end = decoded
        .and_then(|(name, other)| Some(AdjacentEdge { edge: Edge::from_name(&name)?, other: other.parse().ok()? }));
    Ok(end.ok_or_else(|| bad_cursor(cursor))?)
}
