//! What a handle of the graph shows: visibility in the graph.
//!
//! Everything that a confidential item states is in a named graph whose name has a prefix of its own, so that a handle
//! leaves it out by that name. An edge of a public item to a hidden node shows only if a public text states it.

use std::collections::BTreeSet;

use backstory_model::{
    edge::Edge,
    id::{CONFIDENTIAL_GRAPH, NodeId, is_confidential_graph, parse_item_graph_iri},
    sight::Visibility,
};
use oxigraph::model::{GraphName, GraphNameRef, NamedNodeRef, NamedOrBlankNodeRef, Quad, TermRef};

use super::{Graph, GraphError, property, quads};

/// Says of an item, discussion, note or person that only some may see it.
pub(super) const CONFIDENTIAL: &str = "confidential";
/// Variable of queries that tell of issues, discussions and notes: what the names of the named graphs begin with that are
/// to be left out.
pub(super) const VEIL: &str = "veil";
/// What no name begins with.
const NOTHING: &str = "-";

impl Graph {
    /// The same graph as somebody sees it.
    pub fn seeing(&self, sight: Visibility) -> Self {
        Self { sight, ..self.clone() }
    }

    /// Value of [`VEIL`].
    pub(super) fn veil(&self) -> &'static str {
        match self.sight {
            Visibility::Open => CONFIDENTIAL_GRAPH,
            Visibility::Confidential => NOTHING,
        }
    }

    pub(super) fn is_graph_visible(&self, graph: GraphNameRef<'_>) -> bool {
        let is_confidential = matches!(graph, GraphNameRef::NamedNode(name) if is_confidential_graph(name.as_str()));
        self.sight.sees(is_confidential)
    }

    /// Whether there is anything that it does not show.
    pub(super) fn is_veiled(&self) -> Result<bool, GraphError> {
        if self.sight == Visibility::Confidential {
            return Ok(false);
        }
        let predicate = property(CONFIDENTIAL);
        let mut any = self.store.quads_for_pattern(None, Some(predicate.as_ref()), None, None);
        Ok(any.next().transpose()?.is_some())
    }

    /// Whether a node is one that only others may see.
    ///
    /// # Errors
    /// The store refused.
    pub fn hides(&self, id: &NodeId) -> Result<bool, GraphError> {
        self.guarded(|| self.hides_node(quads::node(id).as_ref()))
    }

    fn hides_node(&self, node: NamedNodeRef<'_>) -> Result<bool, GraphError> {
        if self.sight == Visibility::Confidential {
            return Ok(false);
        }
        let predicate = property(CONFIDENTIAL);
        let mut marks = self.store.quads_for_pattern(Some(node.into()), Some(predicate.as_ref()), None, None);
        Ok(marks.next().transpose()?.is_some())
    }

    /// Whether an edge shows. One with an end that does not is only what an open text says: that text can be read, and
    /// names it as it would name what does not exist. What the forge lists of it is left out.
    pub(super) fn is_edge_visible(&self, quad: &Quad) -> Result<bool, GraphError> {
        if !self.is_graph_visible(quad.graph_name.as_ref()) {
            return Ok(false);
        }
        if let NamedOrBlankNodeRef::NamedNode(subject) = quad.subject.as_ref()
            && self.hides_node(subject)?
        {
            return Ok(false);
        }
        match quad.object.as_ref() {
            TermRef::NamedNode(object) if self.hides_node(object)? => Ok(is_said(quad)),
            _ => Ok(true),
        }
    }

    /// How many statements of items it does not show.
    pub(super) fn hidden_len(&self) -> Result<usize, GraphError> {
        if self.sight == Visibility::Confidential {
            return Ok(0);
        }
        let predicate = property(CONFIDENTIAL);
        let mut graphs = BTreeSet::new();
        for quad in self.store.quads_for_pattern(None, Some(predicate.as_ref()), None, None) {
            if let GraphName::NamedNode(name) = quad?.graph_name {
                graphs.insert(name.into_string());
            }
        }
        let count = |name: &String| {
            let name = GraphNameRef::NamedNode(NamedNodeRef::new_unchecked(name));
            self.store.quads_for_pattern(None, None, None, Some(name)).count()
        };
        Ok(graphs.iter().map(count).sum())
    }
}

/// Whether the statement is made of what a text says: of a commit message, or as a mention.
fn is_said(quad: &Quad) -> bool {
    let GraphNameRef::NamedNode(graph) = quad.graph_name.as_ref() else { return false };
    let is_of_repository = parse_item_graph_iri(graph.as_str()).is_some_and(|(_, kind, _)| kind.is_of_repository());
    is_of_repository || matches!(Edge::from_iri(quad.predicate.as_str()), Some(Edge::References | Edge::Mentions))
}
