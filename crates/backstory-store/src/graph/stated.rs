//! Edges by the items that state them.

use std::collections::BTreeSet;

use backstory_model::{
    edge::Edge,
    entity::ItemKind,
    id::{NodeId, confidential_graph_iri, item_graph_iri},
};
use oxigraph::model::{GraphNameRef, NamedNodeRef, NamedOrBlankNode, Term};

use super::{Graph, GraphError, edges::GraphEdge};

impl Graph {
    /// The visible edges that an item of the ledger states, in order, each once.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn edges_of_item(&self, project: &str, kind: ItemKind, key: &str) -> Result<BTreeSet<GraphEdge>, GraphError> {
        self.guarded(|| {
            let (mut found, is_restricted) = (BTreeSet::new(), self.hides_anything()?);
            for iri in [item_graph_iri, confidential_graph_iri] {
                let name = iri(project, kind, key);
                let graph = GraphNameRef::NamedNode(NamedNodeRef::new_unchecked(&name));
                for quad in self.store.quads_for_pattern(None, None, None, Some(graph)) {
                    let quad = quad?;
                    let Some(edge) = Edge::from_iri(quad.predicate.as_str()) else { continue };
                    if is_restricted && !self.is_edge_visible(&quad)? {
                        continue;
                    }
                    let (NamedOrBlankNode::NamedNode(subject), Term::NamedNode(object)) = (&quad.subject, &quad.object)
                    else {
                        continue;
                    };
                    let ends = NodeId::from_iri(subject.as_str()).zip(NodeId::from_iri(object.as_str()));
                    let Some((subject, object)) = ends else { continue };
                    let (from, to) = if edge.is_reversed() { (object, subject) } else { (subject, object) };
                    found.insert(GraphEdge { from, edge, to });
                }
            }
            Ok(found)
        })
    }
}
