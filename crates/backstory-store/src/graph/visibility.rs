//! What a handle of the graph shows: visibility in the graph.
//!
//! Everything that an item states is in a named graph whose name has the item's project, and a prefix of its own if the
//! item is confidential, so a handle tells by that name what it shows. What is not visible is like what does not exist:
//! a statement about a node of an invisible project is one about an unknown node. An edge to a node that is only too
//! confidential shows only if a public text states it.

use backstory_model::{
    edge::Edge,
    id::{
        NodeId, generated_graph_node, inferred_graph_node, is_confidential_graph, item_graph_project,
        parse_item_graph_iri,
    },
    visibility::Visibility,
};
use oxigraph::{
    model::{GraphNameRef, Literal, NamedNodeRef, NamedOrBlankNodeRef, Quad, Term, TermRef, vocab::rdf},
    sparql::SparqlEvaluator,
};

use super::{
    Graph, GraphError, is_of_item, property,
    quads::{self, CONFIDENTIAL},
};

/// Function of queries: whether the statements of a named graph are visible.
const IS_VISIBLE: &str = "isVisible";

impl Graph {
    /// Returns a handle of the same graph that shows what a visibility allows.
    #[must_use]
    pub fn with_visibility(&self, visibility: Visibility) -> Self {
        Self { visibility, ..self.clone() }
    }

    /// An evaluator whose queries can ask which named graphs are visible.
    pub(super) fn evaluator(&self) -> SparqlEvaluator {
        let graph = self.clone();
        SparqlEvaluator::new().with_custom_function(property(IS_VISIBLE), move |arguments| {
            let Some(Term::NamedNode(name)) = arguments.first() else { return None };
            Some(Literal::from(graph.is_named_graph_visible(name.as_str()).ok()?).into())
        })
    }

    /// Whether the statements of a named graph are visible, be they stated, inferred or generated.
    pub(super) fn is_named_graph_visible(&self, name: &str) -> Result<bool, GraphError> {
        match inferred_graph_node(name).or_else(|| generated_graph_node(name)) {
            Some(about) => self.shows_node(&about),
            None => Ok(self.is_graph_visible(GraphNameRef::NamedNode(NamedNodeRef::new_unchecked(name)))),
        }
    }

    /// Whether what an item states in this named graph is visible.
    pub(super) fn is_graph_visible(&self, graph: GraphNameRef<'_>) -> bool {
        if self.visibility.allows_everything() {
            return true;
        }
        let GraphNameRef::NamedNode(name) = graph else { return self.visibility.allows_all_projects() };
        (self.visibility.shows_confidential() || !is_confidential_graph(name.as_str())) && self.shows_project_of(graph)
    }

    /// Whether the project is visible of the item that owns this named graph.
    fn shows_project_of(&self, graph: GraphNameRef<'_>) -> bool {
        if self.visibility.allows_all_projects() {
            return true;
        }
        let GraphNameRef::NamedNode(name) = graph else { return false };
        item_graph_project(name.as_str()).is_some_and(|project| self.visibility.allows_project(&project))
    }

    /// Whether there is anything that it does not show.
    pub(super) fn hides_anything(&self) -> Result<bool, GraphError> {
        if self.visibility.allows_everything() || !self.visibility.allows_all_projects() {
            return Ok(!self.visibility.allows_everything());
        }
        let predicate = property(CONFIDENTIAL);
        let mut any = self.store.quads_for_pattern(None, Some(predicate.as_ref()), None, None);
        Ok(any.next().transpose()?.is_some())
    }

    /// Whether a node belongs to a visible project and may be seen.
    pub(super) fn shows_node(&self, id: &NodeId) -> Result<bool, GraphError> {
        let is_allowed = id.project().is_none_or(|project| self.visibility.allows_project(project));
        Ok(is_allowed && !self.is_node_hidden(quads::node(id).as_ref())?)
    }

    /// Whether visible projects know a node, and none of them shows it.
    fn is_node_hidden(&self, node: NamedNodeRef<'_>) -> Result<bool, GraphError> {
        if self.visibility.shows_confidential() {
            return Ok(false);
        }
        let predicate = property(CONFIDENTIAL);
        for mark in self.store.quads_for_pattern(Some(node.into()), Some(predicate.as_ref()), None, None) {
            if self.shows_project_of(mark?.graph_name.as_ref()) {
                // One project may mention a person in public whom another mentions in confidence.
                return Ok(!self.is_node_known(node)?);
            }
        }
        Ok(false)
    }

    /// Whether a visible item says what a node is.
    pub(super) fn is_node_known(&self, node: NamedNodeRef<'_>) -> Result<bool, GraphError> {
        for quad in self.store.quads_for_pattern(Some(node.into()), Some(rdf::TYPE), None, None) {
            if self.is_graph_visible(quad?.graph_name.as_ref()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether an edge is visible.
    ///
    /// An edge to a node that is too confidential is visible if a public text states it: that text can be read, and
    /// mentions the node as it would mention one that does not exist. What the forge lists of the node is not visible.
    pub(super) fn is_edge_visible(&self, quad: &Quad) -> Result<bool, GraphError> {
        if !self.is_graph_visible(quad.graph_name.as_ref()) {
            return Ok(false);
        }
        if let NamedOrBlankNodeRef::NamedNode(subject) = quad.subject.as_ref()
            && self.is_node_hidden(subject)?
        {
            return Ok(false);
        }
        match quad.object.as_ref() {
            TermRef::NamedNode(object) if self.is_node_hidden(object)? => Ok(is_from_text(quad)),
            _ => Ok(true),
        }
    }

    /// Counts the statements of items that are visible. Reads all statements.
    pub(super) fn visible_len(&self) -> Result<usize, GraphError> {
        let mut count = 0;
        for quad in self.store.iter() {
            let graph = quad?.graph_name;
            count += usize::from(is_of_item(graph.as_ref()) && self.is_graph_visible(graph.as_ref()));
        }
        Ok(count)
    }
}

/// Whether the statement is made of what a text says: of a commit message, or as a mention.
fn is_from_text(quad: &Quad) -> bool {
    let GraphNameRef::NamedNode(graph) = quad.graph_name.as_ref() else { return false };
    let is_of_repository = parse_item_graph_iri(graph.as_str()).is_some_and(|(_, kind, _)| kind.comes_from_git());
    is_of_repository || matches!(Edge::from_iri(quad.predicate.as_str()), Some(Edge::References | Edge::Mentions))
}
