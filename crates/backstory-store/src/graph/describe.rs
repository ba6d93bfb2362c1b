//! One node as RDF: what visible quads state of it, and the same in the terms of PROV.

use std::collections::BTreeSet;

use backstory_model::{edge::Edge, id::NodeId};
use oxigraph::model::{NamedNode, NamedOrBlankNode, Quad, Term, Triple, vocab::rdf};

use super::{
    Graph, GraphError, MAX_ROWS, property, quads,
    quads::{DCTERMS, FOAF},
    sparql::{ResultFormat, SparqlError, shows_quad, write_triples},
};

/// Namespace of PROV.
const PROV: &str = "http://www.w3.org/ns/prov#";

impl Graph {
    /// Writes what is known of a node as a graph: its properties, its edges in both directions, and what follows from
    /// them in PROV. `None` if nothing is known of it.
    ///
    /// # Errors
    /// It has more than [`MAX_ROWS`] statements, or the store cannot be read.
    pub fn describe(&self, id: &NodeId, format: ResultFormat) -> Result<Option<String>, SparqlError> {
        let statements = self.guarded(|| self.statements_about(id))?;
        if statements.is_empty() {
            return Ok(None);
        }
        if statements.len() > MAX_ROWS {
            return Err(SparqlError::TooLarge(format!(
                "{id} has more than {MAX_ROWS} statements; ask for some by SPARQL"
            )));
        }
        let derived = prov_triples(&statements);
        let mut seen = BTreeSet::new();
        let triples = statements.into_iter().chain(derived).filter(|triple| seen.insert(triple.to_string())).map(Ok);
        Ok(Some(write_triples(format, triples)?.into_text()?))
    }

    /// The triples with a node as subject or object, at most one more than [`MAX_ROWS`].
    fn statements_about(&self, id: &NodeId) -> Result<Vec<Triple>, GraphError> {
        let node = quads::node(id);
        let is_restricted = self.hides_anything()?;
        let as_subject = self.store.quads_for_pattern(Some(node.as_ref().into()), None, None, None);
        let as_object = self.store.quads_for_pattern(None, None, Some(node.as_ref().into()), None);
        let mut triples: Vec<Triple> = Vec::new();
        for quad in as_subject.chain(as_object) {
            let quad = quad?;
            if !shows_quad(self, &quad, is_restricted)? {
                continue;
            }
            let Quad { subject, predicate, object, .. } = quad;
            let triple = Triple { subject, predicate, object };
            // Equal triples of several graphs follow one another.
            if triples.last() != Some(&triple) {
                triples.push(triple);
            }
            if triples.len() > MAX_ROWS {
                break;
            }
        }
        Ok(triples)
    }
}

/// What triples say in the terms of PROV: commits are activities, people agents, and the rest that has an author entities.
fn prov_triples(triples: &[Triple]) -> Vec<Triple> {
    let mut derived = Vec::new();
    for triple in triples {
        let Triple { subject, predicate, object } = triple;
        if predicate.as_ref() == rdf::TYPE {
            if let Some(class) = prov_class(object) {
                let (predicate, class) = (rdf::TYPE.into_owned(), NamedNode::new_unchecked(format!("{PROV}{class}")));
                derived.push(Triple { subject: subject.clone(), predicate, object: class.into() });
            }
            continue;
        }
        let is_commit = matches!(node_id(subject), Some(NodeId::Commit { .. }));
        if predicate.as_str() == format!("{DCTERMS}created") {
            // An author's date is when work on a commit was done.
            let name = if is_commit { "endedAtTime" } else { "generatedAtTime" };
            add_to(&mut derived, subject, name, object);
            continue;
        }
        let Term::NamedNode(other) = object else { continue };
        let (other, here) = (NamedOrBlankNode::from(other.clone()), as_term(subject));
        match Edge::from_iri(predicate.as_str()) {
            Some(Edge::Authored | Edge::Committed) if is_commit => {
                add_to(&mut derived, subject, "wasAssociatedWith", object)
            }
            Some(Edge::Authored) => add_to(&mut derived, subject, "wasAttributedTo", object),
            Some(Edge::Introduces | Edge::Modifies) => add_to(&mut derived, &other, "wasGeneratedBy", &here),
            Some(Edge::Removes) => add_to(&mut derived, &other, "wasInvalidatedBy", &here),
            Some(Edge::ParentOf) => add_to(&mut derived, &other, "wasInformedBy", &here),
            Some(Edge::MergedAs) => add_to(&mut derived, &other, "used", &here),
            Some(Edge::ReplacedBy) => add_to(&mut derived, &other, "wasDerivedFrom", &here),
            _ => {}
        }
    }
    derived
}

/// The class of PROV that one of the graph's classes belongs to.
fn prov_class(class: &Term) -> Option<&'static str> {
    if *class == Term::from(NamedNode::new_unchecked(format!("{FOAF}Person"))) {
        return Some("Agent");
    }
    let own = |name: &&str| *class == Term::from(property(name));
    if own(&"Commit") {
        return Some("Activity");
    }
    let entities = ["Issue", "MergeRequest", "File", "CodeEntity", "DesignNote", "Release"];
    entities.iter().any(own).then_some("Entity")
}

fn add_to(derived: &mut Vec<Triple>, subject: &NamedOrBlankNode, name: &str, object: &Term) {
    let predicate = NamedNode::new_unchecked(format!("{PROV}{name}"));
    derived.push(Triple { subject: subject.clone(), predicate, object: object.clone() });
}

fn node_id(subject: &NamedOrBlankNode) -> Option<NodeId> {
    match subject {
        NamedOrBlankNode::NamedNode(node) => NodeId::from_iri(node.as_str()),
        NamedOrBlankNode::BlankNode(_) => None,
    }
}

fn as_term(subject: &NamedOrBlankNode) -> Term {
    subject.clone().into()
}
