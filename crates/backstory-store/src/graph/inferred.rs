//! Inferred links, which no item states: each in a named graph of its own with method, confidence and evidence. They
//! are outside the digest, and [`Graph::edges`] does not return them.

use std::{collections::BTreeSet, ops::Bound};

use backstory_model::{
    edge::Edge,
    id::{META_GRAPH, NodeId, inferred_graph_iri, inferred_graph_node, is_inferred_graph},
};
use oxigraph::model::{
    GraphName, GraphNameRef, Literal, NamedNode, NamedNodeRef, NamedOrBlankNode, Quad, Term, TermRef, vocab::xsd,
};

use super::{AdjacentEdge, Graph, GraphError, MAX_ROWS, is_of_item, property, quads};

/// What they say.
const INFERRED: Edge = Edge::RelatesTo;
/// How they are found.
const METHOD: &str = "words, names, people and time that a change and an issue have in common";

/// An inferred link.
#[derive(Clone, Debug, PartialEq)]
pub struct InferredLink {
    /// Where it starts: a merge request or commit.
    pub from: NodeId,
    /// Where it ends: an issue.
    pub to: NodeId,
    /// How likely it is right, 0 to 1, in hundredths.
    pub confidence: f32,
    /// The evidence for it, a sentence each, the strongest first.
    pub evidence: Vec<String>,
}

impl InferredLink {
    /// The link as an edge at one of its ends.
    pub fn end(&self, at: &NodeId) -> AdjacentEdge {
        let other = if *at == self.from { &self.to } else { &self.from };
        AdjacentEdge { edge: INFERRED, other: other.clone() }
    }

    fn quads(&self) -> Vec<Quad> {
        let graph = NamedNode::new_unchecked(inferred_graph_iri(&self.from));
        let own = |name: &str, value: Literal| {
            Quad::new(NamedOrBlankNode::from(graph.clone()), property(name), value, graph.clone())
        };
        vec![
            Quad::new(
                quads::node(&self.from),
                NamedNode::new_unchecked(INFERRED.iri()),
                quads::node(&self.to),
                graph.clone(),
            ),
            own("method", Literal::new_simple_literal(METHOD)),
            own("confidence", Literal::new_typed_literal(format!("{:.2}", self.confidence), xsd::DECIMAL)),
            own("evidence", Literal::new_simple_literal(self.evidence.join("\n"))),
        ]
    }
}

impl Graph {
    /// Replaces all inferred links by `links`, and records the digest of what they were found from.
    ///
    /// Returns how many links were added, changed or removed. All of it is one transaction.
    ///
    /// # Errors
    /// The store refused; nothing is replaced.
    pub fn replace_inferred_links(&self, links: &[InferredLink], input_digest: &str) -> Result<u64, GraphError> {
        self.guarded(|| {
            let now: BTreeSet<String> = links.iter().map(|link| inferred_graph_iri(&link.from)).collect();
            let known = self.inferred_graphs()?;
            self.writable()?;
            let mut tx = self.store.start_transaction()?;
            let mut changed = 0;
            for gone in known.difference(&now) {
                tx.remove_named_graph(NamedNodeRef::new_unchecked(gone))?;
                changed += 1;
            }
            for link in links {
                let graph = inferred_graph_iri(&link.from);
                let quads = link.quads();
                let is_there = |quad: &Quad| self.store.contains(quad);
                if known.contains(&graph)
                    && quads.iter().map(is_there).collect::<Result<Vec<_>, _>>()?.iter().all(|is| *is)
                {
                    continue;
                }
                tx.remove_named_graph(NamedNodeRef::new_unchecked(&graph))?;
                tx.extend(quads.iter());
                changed += 1;
            }
            if let Some(old) = self.inferred_links_input_digest()? {
                tx.remove(&basis_quad(&old));
            }
            tx.insert(&basis_quad(input_digest));
            tx.commit()?;
            Ok(changed)
        })
    }

    /// The digest of what the inferred links were found from; `None` if it was never recorded.
    ///
    /// # Errors
    /// The store refused.
    pub fn inferred_links_input_digest(&self) -> Result<Option<String>, GraphError> {
        self.guarded(|| {
            let meta = NamedNode::new_unchecked(META_GRAPH);
            let predicate = property("inferredFrom");
            let quad = self
                .store
                .quads_for_pattern(Some(meta.as_ref().into()), Some(predicate.as_ref()), None, None)
                .next()
                .transpose()?;
            Ok(quad.and_then(|quad| literal(quad.object)))
        })
    }

    /// All inferred links, ordered by the IRI of the node that they start at.
    ///
    /// # Errors
    /// The store refused.
    pub fn all_inferred(&self) -> Result<Vec<InferredLink>, GraphError> {
        self.guarded(|| self.links_in(&self.inferred_graphs()?))
    }

    /// The inferred links of [`all_inferred`](Self::all_inferred) that come after those of a node, at most `limit`: those
    /// that start at nodes that are `wanted`.
    ///
    /// # Errors
    /// The store refused.
    pub fn inferred_after(
        &self,
        after: Option<&NodeId>,
        limit: usize,
        wanted: impl Fn(&NodeId) -> bool,
    ) -> Result<Vec<InferredLink>, GraphError> {
        self.guarded(|| {
            let graphs = self.inferred_graphs()?;
            let start = after.map_or(Bound::Unbounded, |after| Bound::Excluded(inferred_graph_iri(after)));
            let mut links = Vec::new();
            for graph in graphs.range((start, Bound::Unbounded)) {
                if links.len() >= limit {
                    break;
                }
                if inferred_graph_node(graph).is_some_and(|node| wanted(&node)) {
                    links.extend(self.links_in([graph])?);
                }
            }
            Ok(links)
        })
    }

    fn links_in<'g>(&self, graphs: impl IntoIterator<Item = &'g String>) -> Result<Vec<InferredLink>, GraphError> {
        let mut links = Vec::new();
        for graph in graphs {
            let Some(link) = self.inferred_in(graph)? else { continue };
            if self.shows_node(&link.from)? && self.shows_node(&link.to)? {
                links.push(link);
            }
        }
        Ok(links)
    }

    /// The inferred links that start or end at a node, at most [`MAX_ROWS`], ordered by where they start.
    ///
    /// # Errors
    /// The store refused.
    pub fn inferred(&self, id: &NodeId) -> Result<Vec<InferredLink>, GraphError> {
        self.guarded(|| {
            let node = quads::node(id);
            let mut graphs = BTreeSet::from([inferred_graph_iri(id)]);
            let predicate = NamedNode::new_unchecked(INFERRED.iri());
            let object = TermRef::from(node.as_ref());
            for quad in self.store.quads_for_pattern(None, Some(predicate.as_ref()), Some(object), None).take(MAX_ROWS)
            {
                graphs.extend(inferred_graph(quad?.graph_name.as_ref()).map(str::to_owned));
            }
            self.links_in(&graphs)
        })
    }

    /// Every edge of a name that an item states, from its start to its end.
    ///
    /// # Errors
    /// The store refused.
    pub fn stated_edges(&self, edge: Edge) -> Result<Vec<(NodeId, NodeId)>, GraphError> {
        self.guarded(|| {
            let predicate = NamedNode::new_unchecked(edge.iri());
            let (mut found, is_restricted) = (Vec::new(), self.hides_anything()?);
            for quad in self.store.quads_for_pattern(None, Some(predicate.as_ref()), None, None) {
                let quad = quad?;
                if !is_of_item(quad.graph_name.as_ref()) || is_restricted && !self.is_edge_visible(&quad)? {
                    continue;
                }
                let (Some(subject), Some(object)) = (subject(&quad.subject), object(&quad.object)) else { continue };
                found.push(if edge.is_reversed() { (object, subject) } else { (subject, object) });
            }
            Ok(found)
        })
    }

    /// How many statements such links take.
    pub(super) fn inferred_len(&self) -> Result<usize, GraphError> {
        Ok(self.inferred_graphs()?.len() * 4)
    }

    fn inferred_graphs(&self) -> Result<BTreeSet<String>, GraphError> {
        let predicate = property("evidence");
        let mut graphs = BTreeSet::new();
        for quad in self.store.quads_for_pattern(None, Some(predicate.as_ref()), None, None) {
            graphs.extend(inferred_graph(quad?.graph_name.as_ref()).map(str::to_owned));
        }
        Ok(graphs)
    }

    fn inferred_in(&self, graph: &str) -> Result<Option<InferredLink>, GraphError> {
        let name = NamedNodeRef::new_unchecked(graph);
        let (mut ends, mut confidence, mut evidence) = (None, None, Vec::new());
        for quad in self.store.quads_for_pattern(None, None, None, Some(GraphNameRef::NamedNode(name))) {
            let quad = quad?;
            if quad.predicate.as_str() == INFERRED.iri() {
                ends = subject(&quad.subject).zip(object(&quad.object));
            } else if quad.predicate == property("confidence") {
                confidence = literal(quad.object).and_then(|text| text.parse().ok());
            } else if quad.predicate == property("evidence") {
                evidence = literal(quad.object).unwrap_or_default().lines().map(str::to_owned).collect();
            }
        }
        let link = ends.zip(confidence);
        Ok(link.map(|((from, to), confidence)| InferredLink { from, to, confidence, evidence }))
    }
}

/// The name of a graph if it holds an inferred link.
fn inferred_graph(graph: GraphNameRef<'_>) -> Option<&str> {
    match graph {
        GraphNameRef::NamedNode(node) => Some(node.as_str()).filter(|iri| is_inferred_graph(iri)),
        _ => None,
    }
}

fn basis_quad(basis: &str) -> Quad {
    let meta = NamedNode::new_unchecked(META_GRAPH);
    let graph: GraphName = meta.clone().into();
    Quad::new(meta, property("inferredFrom"), Literal::new_simple_literal(basis), graph)
}

fn subject(subject: &NamedOrBlankNode) -> Option<NodeId> {
    match subject {
        NamedOrBlankNode::NamedNode(node) => NodeId::from_iri(node.as_str()),
        NamedOrBlankNode::BlankNode(_) => None,
    }
}

fn object(object: &Term) -> Option<NodeId> {
    match object {
        Term::NamedNode(node) => NodeId::from_iri(node.as_str()),
        _ => None,
    }
}

fn literal(term: Term) -> Option<String> {
    match term {
        Term::Literal(literal) => Some(literal.value().to_owned()),
        _ => None,
    }
}
