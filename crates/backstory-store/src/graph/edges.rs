//! The edges at nodes that items state: listed, counted, and read for many nodes in one step.

use std::{collections::BTreeSet, sync::Arc};

use backstory_model::{edge::Edge, id::NodeId};
use oxigraph::model::{NamedNode, NamedOrBlankNodeRef, TermRef};
use serde::{Deserialize, Serialize};

use super::{Graph, GraphError, MAX_COUNTED, MAX_ROWS, iri, is_of_item, quads};

/// Bytes of a node's id, with a long path.
const BYTES_OF_NODE: usize = 160;

/// Which edges of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Those that start there.
    Out,
    /// Those that end there.
    In,
}

/// An edge of the graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GraphEdge {
    /// Where it starts.
    pub from: NodeId,
    /// Its name.
    pub edge: Edge,
    /// Where it ends.
    pub to: NodeId,
}

impl GraphEdge {
    /// The edge at a node that leads to another, or comes from there.
    pub fn at(node: &NodeId, direction: Direction, edge: Edge, other: NodeId) -> Self {
        let node = node.clone();
        match direction {
            Direction::Out => Self { from: node, edge, to: other },
            Direction::In => Self { from: other, edge, to: node },
        }
    }
}

/// An edge at a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AdjacentEdge {
    /// Its name.
    pub edge: Edge,
    /// The node at its other end.
    pub other: NodeId,
}

/// The edges at a node in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgesAround {
    /// They, each once, those that leave first, then by name and other end.
    pub edges: Vec<(Direction, AdjacentEdge)>,
    /// Whether a limit left out some.
    pub may_have_more: bool,
}

/// How many edges there are at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeCount {
    /// How many.
    pub count: usize,
    /// Whether there may be more: counting ends at [`MAX_COUNTED`] of a name.
    pub is_lower_bound: bool,
}

/// Edges of some names at one node.
#[derive(Clone, Copy, Debug)]
pub struct EdgesAt<'a> {
    /// The node.
    pub node: &'a NodeId,
    /// Their names, and which of each.
    pub edges: &'static [(Edge, Direction)],
}

/// The nodes at the other ends of edges at one node, by the names of the edges.
pub type Ends = Arc<[Box<[NodeId]>]>;

impl Graph {
    /// The edges at a node that items state, ordered by name and other end, each once, at most [`MAX_ROWS`].
    ///
    /// # Errors
    /// The store refused.
    pub fn edges(
        &self,
        id: &NodeId,
        direction: Direction,
        only: Option<Edge>,
    ) -> Result<Vec<AdjacentEdge>, GraphError> {
        Ok(self.edges_up_to(MAX_ROWS, id, direction, only)?.into_iter().collect())
    }

    /// Counts the edges at a node that items state, each once: all, or those of some names.
    ///
    /// # Errors
    /// The store refused.
    pub fn count_edges(
        &self,
        id: &NodeId,
        direction: Direction,
        names: Option<&BTreeSet<Edge>>,
    ) -> Result<EdgeCount, GraphError> {
        let mut total = EdgeCount { count: 0, is_lower_bound: false };
        let names: Vec<Option<Edge>> =
            names.map_or_else(|| vec![None], |names| names.iter().copied().map(Some).collect());
        for only in names {
            let count = self.edges_up_to(MAX_COUNTED, id, direction, only)?.len();
            total.count += count;
            total.is_lower_bound |= count >= MAX_COUNTED;
        }
        Ok(total)
    }

    /// The edges at a node in both directions, as [`edges`](Self::edges) returns those of one, and whether there may be more.
    /// It takes half as long as both of these.
    ///
    /// # Errors
    /// The store refused.
    pub fn edges_around(&self, id: &NodeId, only: Option<Edge>) -> Result<EdgesAround, GraphError> {
        self.guarded(|| {
            let mut around = EdgesAround::default();
            for node_is_subject in [true, false] {
                let mut found = BTreeSet::new();
                self.read_edges(id, node_is_subject, only, |direction, edge| {
                    found.insert((direction, edge));
                    found.len() < MAX_ROWS
                })?;
                around.may_have_more |= found.len() >= MAX_ROWS;
                around.edges.extend(found);
            }
            around.edges.sort_unstable();
            Ok(around)
        })
    }

    /// The edges between two nodes that items state, as they are at the first one, in order and each once. It takes two
    /// lookups, however many edges either has.
    ///
    /// # Errors
    /// The store refused.
    pub fn edges_between(&self, one: &NodeId, other: &NodeId) -> Result<BTreeSet<(Direction, Edge)>, GraphError> {
        self.guarded(|| {
            let is_restricted = self.hides_anything()?;
            let ends = [one, other].map(quads::node);
            let mut found = BTreeSet::new();
            for is_first in [true, false] {
                let (subject, object) = if is_first { (&ends[0], &ends[1]) } else { (&ends[1], &ends[0]) };
                let (subject, object) = (subject.as_ref().into(), object.as_ref().into());
                for quad in self.store.quads_for_pattern(Some(subject), None, Some(object), None) {
                    let quad = quad?;
                    if !is_of_item(quad.graph_name.as_ref()) || is_restricted && !self.is_edge_visible(&quad)? {
                        continue;
                    }
                    found.extend(
                        Edge::from_iri(quad.predicate.as_str()).map(|edge| (direction_at(edge, is_first), edge)),
                    );
                }
            }
            Ok(found)
        })
    }

    fn edges_up_to(
        &self,
        limit: usize,
        id: &NodeId,
        wanted: Direction,
        only: Option<Edge>,
    ) -> Result<BTreeSet<AdjacentEdge>, GraphError> {
        self.guarded(|| {
            let mut found = BTreeSet::new();
            for node_is_subject in [true, false] {
                if only.is_some_and(|edge| direction_at(edge, node_is_subject) != wanted) {
                    continue;
                }
                self.read_edges(id, node_is_subject, only, |direction, edge| {
                    if direction == wanted {
                        found.insert(edge);
                    }
                    found.len() < limit
                })?;
            }
            Ok(found)
        })
    }

    /// Reads the edges at a node whose statements have it as their subject, or as their object, until nothing more is wanted.
    fn read_edges(
        &self,
        id: &NodeId,
        node_is_subject: bool,
        only: Option<Edge>,
        mut take: impl FnMut(Direction, AdjacentEdge) -> bool,
    ) -> Result<(), GraphError> {
        let node = quads::node(id);
        let is_restricted = self.hides_anything()?;
        let predicate = only.map(|edge| NamedNode::new_unchecked(edge.iri()));
        let (subject, object) = if node_is_subject {
            (Some(NamedOrBlankNodeRef::from(node.as_ref())), None)
        } else {
            (None, Some(TermRef::from(node.as_ref())))
        };
        for quad in self.store.quads_for_pattern(subject, predicate.as_ref().map(NamedNode::as_ref), object, None) {
            let quad = quad?;
            if !is_of_item(quad.graph_name.as_ref()) || is_restricted && !self.is_edge_visible(&quad)? {
                continue;
            }
            let other = if node_is_subject { iri(quad.object) } else { Some(quad.subject.to_string()) };
            let other = other.as_deref().map(|iri| iri.trim_matches(['<', '>'])).and_then(NodeId::from_iri);
            if let (Some(edge), Some(other)) = (Edge::from_iri(quad.predicate.as_str()), other)
                && !take(direction_at(edge, node_is_subject), AdjacentEdge { edge, other })
            {
                break;
            }
        }
        Ok(())
    }

    /// The nodes at the other ends of edges that items state, in order and each once: for each of `asked`, for each of its
    /// names, at most `most`.
    ///
    /// # Errors
    /// The store refused.
    pub fn adjacent_nodes(&self, asked: &[EdgesAt<'_>], most: usize) -> Result<Vec<Ends>, GraphError> {
        self.guarded(|| {
            let recent = self.health.ends.now();
            let is_restricted = self.hides_anything()?;
            let ends = |at: &EdgesAt<'_>| {
                let read = || {
                    let of_each = at.edges.iter().map(|edge| self.other_ends(at.node, *edge, most, is_restricted));
                    of_each.collect::<Result<Ends, GraphError>>()
                };
                if is_restricted {
                    return read();
                }
                let key = (at.node.clone(), at.edges, most);
                if let Some(ends) = recent.get(key.clone()) {
                    return Ok(ends);
                }
                let ends = read()?;
                let count: usize = ends.iter().map(|ends| ends.len()).sum();
                recent.keep(key, ends.clone(), (count + 1) * BYTES_OF_NODE);
                Ok(ends)
            };
            asked.iter().map(ends).collect()
        })
    }

    fn other_ends(
        &self,
        node: &NodeId,
        (edge, direction): (Edge, Direction),
        most: usize,
        is_restricted: bool,
    ) -> Result<Box<[NodeId]>, GraphError> {
        let node = quads::node(node);
        let predicate = NamedNode::new_unchecked(edge.iri());
        let node_is_subject = direction_at(edge, true) == direction;
        let (subject, object) = if node_is_subject {
            (Some(NamedOrBlankNodeRef::from(node.as_ref())), None)
        } else {
            (None, Some(TermRef::from(node.as_ref())))
        };
        let mut found = Vec::new();
        for quad in self.store.quads_for_pattern(subject, Some(predicate.as_ref()), object, None) {
            let quad = quad?;
            if !is_of_item(quad.graph_name.as_ref()) || is_restricted && !self.is_edge_visible(&quad)? {
                continue;
            }
            let other = if node_is_subject { iri(quad.object) } else { Some(quad.subject.to_string()) };
            let other = other.as_deref().map(|iri| iri.trim_matches(['<', '>'])).and_then(NodeId::from_iri);
            // Several items may state the same edge, one after the other.
            found.extend(other.filter(|other| found.last() != Some(other)));
            if found.len() >= most {
                break;
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found.into())
    }
}

/// The direction of an edge at a node that is the subject of its statement, or the object: the property of a reversed edge
/// points the other way.
fn direction_at(edge: Edge, node_is_subject: bool) -> Direction {
    if node_is_subject == edge.is_reversed() { Direction::In } else { Direction::Out }
}
