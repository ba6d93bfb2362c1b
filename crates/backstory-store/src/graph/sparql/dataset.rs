//! The dataset that SPARQL queries see: visible quads only, and as its default graph the union of all named graphs.

use std::{
    hash::{Hash, Hasher},
    iter,
    sync::Arc,
};

use backstory_model::id::{META_GRAPH, NodeId, is_generated_graph, is_inferred_graph};
use oxigraph::model::{
    GraphName, GraphNameRef, NamedNodeRef, NamedOrBlankNode, NamedOrBlankNodeRef, Quad, Term, TermRef,
};
use spareval::{InternalQuad, QueryableDataset};

use super::meter::Meter;
use crate::graph::{Graph, GraphError, is_of_item};

/// What a reference to a term takes in a row of the evaluator.
const REFERENCE_SIZE: usize = 32;
/// What a term takes besides its text.
const TERM_SIZE: usize = 128;

/// The visible quads of a graph.
pub(super) struct VisibleDataset {
    graph: Graph,
    /// Whether there is anything that must not show.
    is_restricted: bool,
    meter: Arc<Meter>,
}

/// A term whose copies are counted, since rows of the evaluator consist of them.
pub(super) struct MeteredTerm(Arc<Metered>);

struct Metered {
    term: Term,
    size: usize,
    meter: Arc<Meter>,
}

impl Drop for Metered {
    fn drop(&mut self) {
        self.meter.release(self.size);
    }
}

impl MeteredTerm {
    fn new(term: Term, meter: &Arc<Meter>) -> Self {
        let text = match &term {
            Term::NamedNode(node) => node.as_str().len(),
            Term::BlankNode(node) => node.as_str().len(),
            Term::Literal(literal) => literal.value().len(),
        };
        let size = TERM_SIZE + text;
        meter.hold(size + REFERENCE_SIZE);
        Self(Arc::new(Metered { term, size, meter: meter.clone() }))
    }
}

impl Clone for MeteredTerm {
    fn clone(&self) -> Self {
        self.0.meter.hold(REFERENCE_SIZE);
        Self(self.0.clone())
    }
}

impl Drop for MeteredTerm {
    fn drop(&mut self) {
        self.0.meter.release(REFERENCE_SIZE);
    }
}

impl PartialEq for MeteredTerm {
    fn eq(&self, other: &Self) -> bool {
        self.0.meter.tick();
        Arc::ptr_eq(&self.0, &other.0) || self.0.term == other.0.term
    }
}

impl Eq for MeteredTerm {}

impl Hash for MeteredTerm {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.meter.tick();
        self.0.term.hash(state);
    }
}

impl VisibleDataset {
    /// # Errors
    /// The store cannot be read.
    pub(super) fn new(graph: &Graph, meter: Arc<Meter>) -> Result<Self, GraphError> {
        Ok(Self { is_restricted: graph.hides_anything()?, graph: graph.clone(), meter })
    }

    /// Whether a visible quad is the first of its triple: of several graphs that state it, one shows it in the default graph.
    fn is_first_visible(&self, quad: &Quad) -> Result<bool, GraphError> {
        let (subject, object) = (quad.subject.as_ref(), quad.object.as_ref());
        for other in
            self.graph.store.quads_for_pattern(Some(subject), Some(quad.predicate.as_ref()), Some(object), None)
        {
            self.meter.read_quad();
            let other = other?;
            if other.graph_name == quad.graph_name {
                return Ok(true);
            }
            if shows_quad(&self.graph, &other, self.is_restricted)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn internal_quad(&self, quad: Quad, is_default: bool) -> InternalQuad<MeteredTerm> {
        let term = |term: Term| MeteredTerm::new(term, &self.meter);
        let graph_name = match quad.graph_name {
            GraphName::NamedNode(name) if !is_default => Some(term(name.into())),
            _ => None,
        };
        InternalQuad {
            subject: term(quad.subject.into()),
            predicate: term(quad.predicate.into()),
            object: term(quad.object),
            graph_name,
        }
    }
}

/// Whether a quad may show.
pub(in crate::graph) fn shows_quad(graph: &Graph, quad: &Quad, is_restricted: bool) -> Result<bool, GraphError> {
    let GraphName::NamedNode(name) = &quad.graph_name else { return Ok(false) };
    if name.as_str() == META_GRAPH {
        return Ok(false);
    }
    if !is_restricted {
        return Ok(true);
    }
    if is_of_item(quad.graph_name.as_ref()) {
        return graph.is_edge_visible(quad);
    }
    if !is_inferred_graph(name.as_str()) && !is_generated_graph(name.as_str()) {
        return Ok(false);
    }
    let ends = [
        match &quad.subject {
            NamedOrBlankNode::NamedNode(node) => NodeId::from_iri(node.as_str()),
            NamedOrBlankNode::BlankNode(_) => None,
        },
        match &quad.object {
            Term::NamedNode(node) => NodeId::from_iri(node.as_str()),
            _ => None,
        },
    ];
    for end in ends.into_iter().flatten() {
        if !graph.shows_node(&end)? {
            return Ok(false);
        }
    }
    graph.is_named_graph_visible(name.as_str())
}

impl QueryableDataset<'static> for VisibleDataset {
    type InternalTerm = MeteredTerm;
    type Error = GraphError;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&MeteredTerm>,
        predicate: Option<&MeteredTerm>,
        object: Option<&MeteredTerm>,
        graph_name: Option<Option<&MeteredTerm>>,
    ) -> impl Iterator<Item = Result<InternalQuad<MeteredTerm>, GraphError>> + use<> {
        let is_default = graph_name == Some(None);
        let own = Self { graph: self.graph.clone(), is_restricted: self.is_restricted, meter: self.meter.clone() };
        let subject = subject.map(|term| match &term.0.term {
            Term::NamedNode(node) => Some(NamedOrBlankNodeRef::from(node)),
            Term::BlankNode(node) => Some(NamedOrBlankNodeRef::from(node)),
            Term::Literal(_) => None,
        });
        let predicate = predicate.map(|term| as_node(&term.0.term));
        let name = graph_name.flatten().map(|term| as_node(&term.0.term).map(GraphNameRef::from));
        // The store finds a number however it is written; to the evaluator what it asked for must be the same term.
        let asked_object = object.cloned();
        // A literal is nobody's subject, predicate or graph.
        let is_possible = subject != Some(None) && predicate != Some(None) && name != Some(None);
        let mut quads = is_possible.then(|| {
            let object = object.map(|term| TermRef::from(&term.0.term));
            self.graph.store.quads_for_pattern(subject.flatten(), predicate.flatten(), object, name.flatten())
        });
        // Graphs come last in the order of the indexes that are read for a term, so equal triples follow one another. What
        // is read for no term comes graph by graph.
        let is_by_graph = subject.is_none() && predicate.is_none() && asked_object.is_none();
        let mut last: Option<Quad> = None;
        iter::from_fn(move || {
            loop {
                own.meter.read_quad();
                let quad = match quads.as_mut()?.next()? {
                    Ok(quad) => quad,
                    Err(error) => return Some(Err(error.into())),
                };
                match shows_quad(&own.graph, &quad, own.is_restricted) {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(error) => return Some(Err(error)),
                }
                if is_default && is_by_graph {
                    match own.is_first_visible(&quad) {
                        Ok(true) => {}
                        Ok(false) => continue,
                        Err(error) => return Some(Err(error)),
                    }
                } else if is_default {
                    let is_same = |last: &Quad| {
                        last.subject == quad.subject && last.predicate == quad.predicate && last.object == quad.object
                    };
                    if last.as_ref().is_some_and(is_same) {
                        continue;
                    }
                    last = Some(quad.clone());
                }
                let found = own.internal_quad(quad, is_default);
                return Some(Ok(match &asked_object {
                    Some(object) => InternalQuad { object: object.clone(), ..found },
                    None => found,
                }));
            }
        })
    }

    fn internal_named_graphs(&self) -> impl Iterator<Item = Result<MeteredTerm, GraphError>> + use<> {
        let (graph, meter, is_restricted) = (self.graph.clone(), self.meter.clone(), self.is_restricted);
        let mut names = self.graph.store.named_graphs();
        iter::from_fn(move || {
            loop {
                meter.read_quad();
                let name = match names.next()? {
                    Ok(NamedOrBlankNode::NamedNode(name)) => name,
                    Ok(NamedOrBlankNode::BlankNode(_)) => continue,
                    Err(error) => return Some(Err(error.into())),
                };
                if name.as_str() == META_GRAPH {
                    continue;
                }
                match if is_restricted { graph.is_named_graph_visible(name.as_str()) } else { Ok(true) } {
                    Ok(true) => return Some(Ok(MeteredTerm::new(name.into(), &meter))),
                    Ok(false) => {}
                    Err(error) => return Some(Err(error)),
                }
            }
        })
    }

    fn internalize_term(&self, term: Term) -> Result<MeteredTerm, GraphError> {
        Ok(MeteredTerm::new(term, &self.meter))
    }

    fn externalize_term(&self, term: MeteredTerm) -> Result<Term, GraphError> {
        self.meter.tick();
        Ok(term.0.term.clone())
    }
}

fn as_node(term: &Term) -> Option<NamedNodeRef<'_>> {
    match term {
        Term::NamedNode(node) => Some(node.as_ref()),
        _ => None,
    }
}
