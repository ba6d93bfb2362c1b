//! The edges at nodes that items state: listed, counted, and read for many nodes in one step.

use std::collections::BTreeSet;

use backstory_model::{edge::Edge, id::NodeId};
use oxigraph::model::{NamedNode, NamedOrBlankNodeRef, TermRef};
use serde::{Deserialize, Serialize};

use super::{Graph, GraphError, MAX_COUNTED, MAX_ROWS, iri, is_of_item, quads};

/// Which edges of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Those that start there.
    Out,
    /// Those that end there.
    In,
}

/// An edge at a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AdjacentEdge {
    /// Its name.
    pub edge: Edge,
    /// The node at its other end.
    pub other: NodeId,
}

/// How many edges there are at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeCount {
    /// How many.
    pub count: usize,
    /// Whether there may be more: counting ends at [`MAX_COUNTED`] of a name.
    pub is_lower_bound: bool,
}

/// The edges of one name at one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgesAt {
    /// The node.
    pub node: NodeId,
    /// Their name.
    pub edge: Edge,
    /// Which of them.
    pub direction: Direction,
}

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

    fn edges_up_to(
        &self,
        limit: usize,
        id: &NodeId,
        direction: Direction,
        only: Option<Edge>,
    ) -> Result<BTreeSet<AdjacentEdge>, GraphError> {
        self.guarded(|| {
            let node = quads::node(id);
            let mut found = BTreeSet::new();
            let is_restricted = self.hides_anything()?;
            // A reversed edge's property points the other way.
            for reversed in [false, true] {
                if only.is_some_and(|edge| edge.is_reversed() != reversed) {
                    continue;
                }
                let node_is_subject = (direction == Direction::Out) != reversed;
                let predicate = only.map(|edge| NamedNode::new_unchecked(edge.iri()));
                let (subject, object) = if node_is_subject {
                    (Some(NamedOrBlankNodeRef::from(node.as_ref())), None)
                } else {
                    (None, Some(TermRef::from(node.as_ref())))
                };
                let quads =
                    self.store.quads_for_pattern(subject, predicate.as_ref().map(NamedNode::as_ref), object, None);
                for quad in quads {
                    let quad = quad?;
                    if !is_of_item(quad.graph_name.as_ref()) || is_restricted && !self.is_edge_visible(&quad)? {
                        continue;
                    }
                    let edge = Edge::from_iri(quad.predicate.as_str()).filter(|edge| edge.is_reversed() == reversed);
                    let other = if node_is_subject { iri(quad.object) } else { Some(quad.subject.to_string()) };
                    let other = other.as_deref().map(|iri| iri.trim_matches(['<', '>'])).and_then(NodeId::from_iri);
                    if let (Some(edge), Some(other)) = (edge, other) {
                        found.insert(AdjacentEdge { edge, other });
                    }
                    if found.len() >= limit {
                        break;
                    }
                }
            }
            Ok(found)
        })
    }

    /// The nodes at the other ends of edges that items state, in order and each once: at most `most` of each of `asked`.
    ///
    /// # Errors
    /// The store refused.
    pub fn adjacent_nodes(&self, asked: &[EdgesAt], most: usize) -> Result<Vec<Vec<NodeId>>, GraphError> {
        self.guarded(|| {
            let is_restricted = self.hides_anything()?;
            asked.iter().map(|edges| self.other_ends(edges, most, is_restricted)).collect()
        })
    }

    fn other_ends(&self, asked: &EdgesAt, most: usize, is_restricted: bool) -> Result<Vec<NodeId>, GraphError> {
        let node = quads::node(&asked.node);
        let predicate = NamedNode::new_unchecked(asked.edge.iri());
        // A reversed edge's property points the other way.
        let node_is_subject = (asked.direction == Direction::Out) != asked.edge.is_reversed();
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
        Ok(found)
    }
}
