//! Generated facts in the graph: what language models wrote, apart from what items state and from what rules found.
//!
//! Each node has a named graph of its own for them, with model, prompt version, confidence and citations. No item
//! states them, so they are outside the digest, and [`Graph::edges`] does not return them. They depend on the ledger
//! alone.

use std::collections::{BTreeSet, HashSet};

use backstory_model::{
    answer::Provenance,
    generated::{GeneratedKind, GeneratedNote, GenerationOutcome, ModelClassification},
    id::{META_GRAPH, NAMESPACE, NodeId, generated_graph_iri, generated_note_iri, is_generated_graph},
};
use jiff::Timestamp;
use oxigraph::model::{
    GraphName, GraphNameRef, Literal, NamedNode, NamedNodeRef, Quad, Term,
    vocab::{rdf, xsd},
};

use super::{Graph, GraphError, property, quads};

const PROV_FROM: &str = "http://www.w3.org/ns/prov#wasDerivedFrom";

/// What a language model wrote of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedFact {
    /// The commit, issue or merge request.
    pub about: NodeId,
    /// What was asked for.
    pub kind: GeneratedKind,
    /// Who wrote it.
    pub model: Provenance,
    /// SHA-256 of what the model was given.
    pub input: [u8; 32],
    /// When.
    pub written_at: Timestamp,
    /// What it wrote.
    pub outcome: GenerationOutcome,
}

impl GeneratedFact {
    fn graph(&self) -> String {
        generated_graph_iri(self.kind, &self.about)
    }

    /// Each once; nothing if the model wrote nothing that could be used.
    fn statements(&self) -> Vec<Quad> {
        let mut facts = Facts { name: NamedNode::new_unchecked(self.graph()), quads: Vec::new() };
        match &self.outcome {
            GenerationOutcome::Classification(found) => facts.classification(&self.about, found),
            GenerationOutcome::DesignNotes(notes) => {
                for (number, note) in (1..).zip(notes) {
                    facts.note(&self.about, number, note);
                }
            }
            GenerationOutcome::Failed(_) => {}
        }
        if !facts.quads.is_empty() {
            facts.provenance(self);
        }
        let mut seen = HashSet::new();
        facts.quads.retain(|quad| seen.insert(quad.clone()));
        facts.quads
    }
}

struct Facts {
    name: NamedNode,
    quads: Vec<Quad>,
}

impl Facts {
    fn add(&mut self, subject: &NamedNode, predicate: NamedNode, object: impl Into<Term>) {
        self.quads.push(Quad::new(subject.clone(), predicate, object, self.name.clone()));
    }

    fn text(&mut self, subject: &NamedNode, name: &str, text: &str) {
        self.add(subject, property(name), Literal::new_simple_literal(text));
    }

    fn confidence(&mut self, subject: &NamedNode, confidence: f32) {
        let value = Literal::new_typed_literal(format!("{confidence:.2}"), xsd::DECIMAL);
        self.add(subject, property("confidence"), value);
    }

    fn provenance(&mut self, of: &GeneratedFact) {
        let graph = self.name.clone();
        self.text(&graph, "method", &format!("model:{}", of.model.name));
        let prompt = Literal::new_typed_literal(of.model.prompt.to_string(), xsd::INTEGER);
        self.add(&graph, property("promptVersion"), prompt);
        self.text(&graph, "inputHash", &hex::encode(of.input));
        let created = NamedNode::new_unchecked(format!("{}created", quads::DCTERMS));
        self.add(&graph, created, Literal::new_typed_literal(of.written_at.to_string(), xsd::DATE_TIME));
    }

    fn classification(&mut self, commit: &NodeId, found: &ModelClassification) {
        let (graph, commit) = (self.name.clone(), quads::node(commit));
        self.text(&commit, "changeTypeByModel", found.change_type.as_str());
        self.confidence(&graph, found.confidence);
        self.text(&graph, "evidence", &found.reason);
        self.add(&graph, NamedNode::new_unchecked(PROV_FROM), commit);
    }

    fn note(&mut self, thread: &NodeId, number: usize, note: &GeneratedNote) {
        let own = NamedNode::new_unchecked(generated_note_iri(self.name.as_str(), number));
        self.add(&own, rdf::TYPE.into_owned(), NamedNode::new_unchecked(format!("{NAMESPACE}WrittenNote")));
        self.text(&own, "noteKind", note.aspect.as_str());
        self.confidence(&own, note.confidence);
        let dcterms = |name: &str| NamedNode::new_unchecked(format!("{}{name}", quads::DCTERMS));
        self.add(&own, dcterms("description"), Literal::new_simple_literal(&note.text));
        self.add(&own, dcterms("isPartOf"), quads::node(thread));
        for cited in note.evidence() {
            self.add(&own, NamedNode::new_unchecked(PROV_FROM), quads::node(&cited));
        }
    }
}

impl Graph {
    /// Replaces all that language models wrote by `facts`, where it differs, and notes what they follow from, in one
    /// transaction. Says how many graphs were changed.
    ///
    /// # Errors
    /// Nothing is replaced.
    pub fn replace_generated(&self, facts: &[GeneratedFact], basis: &str) -> Result<u64, GraphError> {
        self.guarded(|| {
            let wrong = self.mismatched_generated(facts)?;
            self.writable()?;
            let mut tx = self.store.start_transaction()?;
            for graph in &wrong {
                tx.remove_named_graph(NamedNodeRef::new_unchecked(graph))?;
            }
            for fact in facts.iter().filter(|fact| wrong.contains(&fact.graph())) {
                tx.extend(fact.statements().iter());
            }
            if let Some(old) = self.generated_input_digest()? {
                tx.remove(&basis_quad(&old));
            }
            tx.insert(&basis_quad(basis));
            tx.commit()?;
            Ok(wrong.len() as u64)
        })
    }

    /// Names of the graphs that hold something else than `facts` says, or are missing.
    ///
    /// # Errors
    /// The store refused.
    pub fn mismatched_generated(&self, facts: &[GeneratedFact]) -> Result<BTreeSet<String>, GraphError> {
        self.guarded(|| {
            // Those that are wanted by no fact are wrong too.
            let mut wrong = self.written_graphs()?;
            for fact in facts {
                let (graph, wanted) = (fact.graph(), fact.statements());
                // The store writes numbers its own way, so it is asked whether it has them.
                let mut is_right = self.written_in(&graph)?.len() == wanted.len();
                for quad in &wanted {
                    is_right = is_right && self.store.contains(quad)?;
                }
                if is_right {
                    wrong.remove(&graph);
                } else {
                    wrong.insert(graph);
                }
            }
            Ok(wrong)
        })
    }

    /// What all that language models wrote follows from; `None` if that was never noted.
    ///
    /// # Errors
    /// The store refused.
    pub fn generated_input_digest(&self) -> Result<Option<String>, GraphError> {
        self.guarded(|| {
            let (meta, predicate) = (NamedNode::new_unchecked(META_GRAPH), property("writtenFrom"));
            let found = self.store.quads_for_pattern(Some(meta.as_ref().into()), Some(predicate.as_ref()), None, None);
            let quad = { found }.next().transpose()?;
            Ok(quad.and_then(|quad| match quad.object {
                Term::Literal(literal) => Some(literal.value().to_owned()),
                _ => None,
            }))
        })
    }

    /// How many statements that is.
    pub(super) fn written_len(&self) -> Result<usize, GraphError> {
        self.written_graphs()?.iter().map(|graph| Ok(self.written_in(graph)?.len())).sum()
    }

    /// Each such graph tells by which prompt it was made.
    fn written_graphs(&self) -> Result<BTreeSet<String>, GraphError> {
        let predicate = property("promptVersion");
        let mut graphs = BTreeSet::new();
        for quad in self.store.quads_for_pattern(None, Some(predicate.as_ref()), None, None) {
            if let GraphName::NamedNode(name) = quad?.graph_name
                && is_generated_graph(name.as_str())
            {
                graphs.insert(name.into_string());
            }
        }
        Ok(graphs)
    }

    fn written_in(&self, graph: &str) -> Result<Vec<Quad>, GraphError> {
        let name = GraphNameRef::NamedNode(NamedNodeRef::new_unchecked(graph));
        Ok(self.store.quads_for_pattern(None, None, None, Some(name)).collect::<Result<_, _>>()?)
    }
}

fn basis_quad(basis: &str) -> Quad {
    let meta = NamedNode::new_unchecked(META_GRAPH);
    let graph: GraphName = meta.clone().into();
    Quad::new(meta, property("writtenFrom"), Literal::new_simple_literal(basis), graph)
}
