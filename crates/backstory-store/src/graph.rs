//! The graph: nodes and typed edges in Oxigraph, a projection of the ledger. Filling it belongs to `engine::project`.

mod inferred;
mod quads;
pub mod queries;
mod visibility;
mod written;

use std::{collections::BTreeSet, path::Path, sync::Arc};

use backstory_model::{
    digest::SetDigest,
    edge::Edge,
    entity::{Item, ItemKind},
    id::{META_GRAPH, NS, NodeId, confidential_graph_iri, is_item_graph, item_graph_iri, parse_item_graph_iri},
    numbers::SharedNumbers,
    visibility::Visibility,
};
use oxigraph::{
    model::{
        GraphName, GraphNameRef, Literal, NamedNode, NamedNodeRef, NamedOrBlankNodeRef, Quad, Term, TermRef, vocab::xsd,
    },
    sparql::{CancellationToken, QueryEvaluationError, QueryResults, Variable},
    store::{BulkLoader, StorageError, Store},
};
use serde::{Deserialize, Serialize};

pub use inferred::InferredLink;
use queries::Query;
pub use written::GeneratedFact;

use crate::{
    guard::{Damage, catch_panic},
    lack::MissingResource,
};

/// Most rows of one answer.
pub const MAX_ROWS: usize = 20_000;
/// Most edges of a node that are counted.
pub const MAX_COUNTED: usize = 100_000;
/// Quads that a first load writes into one set of the store's files.
const QUADS_PER_FILE: usize = 200_000;
/// Version of how items become quads; a graph written by another version is made anew.
const PROJECTION: u64 = 2;

/// What can go wrong with the graph.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// The store cannot be opened or read; it can be made anew from the ledger.
    #[error("the graph is damaged and must be made anew: {0}")]
    Damaged(String),
    /// It cannot be read or written now, and is not damaged.
    #[error("the graph cannot be read or written: {lack}, and repeat the command ({reason})")]
    Lacking {
        /// What the machine lacks.
        lack: MissingResource,
        /// What the store said.
        reason: String,
    },
    /// A query could not be answered.
    #[error("the query {query} failed: {reason}")]
    Query {
        /// Its file in `queries/`.
        query: &'static str,
        /// What the evaluator said.
        reason: String,
    },
}

impl GraphError {
    /// Whatever keeps the store from answering is damage, unless the machine lacks something.
    fn of_store(reason: String) -> Self {
        match MissingResource::in_message(&reason) {
            Some(lack) => Self::Lacking { lack, reason },
            None => Self::Damaged(reason),
        }
    }
}

impl From<StorageError> for GraphError {
    fn from(error: StorageError) -> Self {
        Self::of_store(error.to_string())
    }
}

/// A change to the graph: an item as it is now, or that it is gone.
#[derive(Clone, Debug)]
pub struct Change {
    /// Full path of the project.
    pub project: String,
    /// What it is.
    pub kind: ItemKind,
    /// Unique within project and kind.
    pub key: String,
    /// Whether only some may see it.
    pub confidential: bool,
    /// The item; `None` if it is gone.
    pub item: Option<Item>,
}

impl Change {
    /// Its statements and where they stand: a confidential item has another named graph, so that all it says can be told
    /// from the rest.
    fn quads(&self, numbers: &SharedNumbers) -> Vec<Quad> {
        let Some(item) = &self.item else { return Vec::new() };
        let iri = if self.confidential { confidential_graph_iri } else { item_graph_iri };
        quads::item_quads(item, &iri(&self.project, self.kind, &self.key), numbers, self.confidential)
    }
}

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

/// Stops a query that takes too long.
#[derive(Clone, Default)]
pub struct Cancel(CancellationToken);

impl Cancel {
    /// Stops the query.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

/// A value bound to a variable of a query.
#[derive(Clone, Debug)]
pub enum Value {
    /// A node.
    Node(NodeId),
    /// A class or property, by its IRI.
    Iri(String),
    /// A string.
    Text(String),
    /// A number.
    Number(i64),
    /// An instant.
    Instant(jiff::Timestamp),
}

impl Value {
    /// Stands for every node where a query takes a node or any.
    pub fn any() -> Self {
        Self::Iri("urn:backstory:any".to_owned())
    }
}

impl From<Value> for Term {
    fn from(value: Value) -> Self {
        match value {
            Value::Node(id) => quads::node(&id).into(),
            Value::Iri(iri) => NamedNode::new_unchecked(iri).into(),
            Value::Text(text) => Literal::new_simple_literal(text).into(),
            Value::Number(number) => Literal::from(number).into(),
            Value::Instant(at) => Literal::new_typed_literal(at.to_string(), xsd::DATE_TIME).into(),
        }
    }
}

/// A row of an answer.
#[derive(Clone, Debug)]
pub struct Row(Vec<(String, Term)>);

impl Row {
    fn term(&self, column: &str) -> Option<&Term> {
        self.0.iter().find(|(name, _)| name == column).map(|(_, term)| term)
    }

    /// The node in a column.
    pub fn node(&self, column: &str) -> Option<NodeId> {
        match self.term(column)? {
            Term::NamedNode(iri) => NodeId::from_iri(iri.as_str()),
            _ => None,
        }
    }

    /// The text in a column: of a literal its value, of an IRI itself.
    pub fn text(&self, column: &str) -> Option<&str> {
        match self.term(column)? {
            Term::NamedNode(iri) => Some(iri.as_str()),
            Term::Literal(literal) => Some(literal.value()),
            Term::BlankNode(_) => None,
        }
    }

    /// The number in a column.
    pub fn number(&self, column: &str) -> Option<i64> {
        self.text(column)?.parse().ok()
    }
}

/// A first load that is under way; dropped without a commit it leaves nothing behind.
pub struct Load<'a> {
    graph: &'a Graph,
    loader: BulkLoader<'a>,
    quads: Vec<Quad>,
}

impl Load<'_> {
    /// Takes the items of a graph in; there may be none twice.
    ///
    /// # Errors
    /// The store refused.
    pub fn add(&mut self, changes: &[Change], numbers: &SharedNumbers) -> Result<(), GraphError> {
        for change in changes {
            self.quads.extend(change.quads(numbers));
        }
        if self.quads.len() >= QUADS_PER_FILE { self.write() } else { Ok(()) }
    }

    /// Makes all of it visible at once, with the ledger's sequence number that it stands for.
    ///
    /// # Errors
    /// Nothing is loaded.
    pub fn commit(mut self, seq: u64) -> Result<(), GraphError> {
        self.quads.push(meta_quad("appliedSeq", seq));
        self.write()?;
        let Self { graph, loader, .. } = self;
        graph.guarded(|| Ok(loader.commit()?))
    }

    fn write(&mut self) -> Result<(), GraphError> {
        let quads = std::mem::take(&mut self.quads);
        self.graph.guarded(|| Ok(self.loader.load_quads(quads)?))
    }
}

/// The graph. Cheap to clone. Every call blocks.
///
/// A handle shows what its [visibility](Graph::with_visibility) allows, as if nothing else existed.
#[derive(Clone)]
pub struct Graph {
    store: Store,
    visibility: Visibility,
    health: Arc<Health>,
}

/// What is known of a store besides what it holds.
#[derive(Debug, Default)]
struct Health {
    damage: Damage,
    /// Why it can be read and not written.
    lacking: Option<(MissingResource, String)>,
}

impl Graph {
    /// Opens the graph in a directory, creates it if it is absent. Where there is no room to open it for writing, it can
    /// be read.
    ///
    /// # Errors
    /// [`GraphError::Damaged`] if it must be made anew.
    pub fn open(directory: &Path) -> Result<Self, GraphError> {
        let open = |read: fn(&Path) -> Result<Store, StorageError>| match catch_panic(|| read(directory)) {
            Ok(opened) => Ok(opened?),
            Err(panic) => Err(GraphError::Damaged(panic)),
        };
        let (store, lacking) = match open(|path| Store::open(path)) {
            Ok(store) => (store, None),
            Err(GraphError::Lacking { lack, reason }) => match open(|path| Store::open_read_only(path)) {
                Ok(store) => (store, Some((lack, reason))),
                Err(_) => return Err(GraphError::Lacking { lack, reason }),
            },
            Err(error) => return Err(error),
        };
        let health = Arc::new(Health { damage: Damage::default(), lacking });
        let graph = Self { store, visibility: Visibility::everything(), health };
        graph.guarded(|| match graph.meta("projection")? {
            Some(PROJECTION) => Ok(()),
            None if graph.store.is_empty()? => {
                graph.writable()?;
                Ok(graph.store.insert(meta_quad("projection", PROJECTION).as_ref())?)
            }
            found => Err(GraphError::Damaged(format!("projection version {found:?} is not {PROJECTION}"))),
        })?;
        Ok(graph)
    }

    /// What was found to be damaged since it was opened. It is of no use then and must be made anew.
    pub fn damage(&self) -> Option<&str> {
        self.health.damage.get()
    }

    /// Why it can be read and not written, if that is so.
    pub fn read_only(&self) -> Option<GraphError> {
        self.writable().err()
    }

    fn writable(&self) -> Result<(), GraphError> {
        match &self.health.lacking {
            Some((lack, reason)) => Err(GraphError::Lacking { lack: *lack, reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Does what reads or writes the store, and remembers damage that it meets.
    fn guarded<T>(&self, call: impl FnOnce() -> Result<T, GraphError>) -> Result<T, GraphError> {
        let done = catch_panic(call).unwrap_or_else(|panic| Err(GraphError::Damaged(panic)));
        if let Err(GraphError::Damaged(reason)) = &done {
            self.health.damage.note(reason);
        }
        done
    }

    /// A graph in memory.
    ///
    /// # Errors
    /// The store could not be made.
    pub fn in_memory() -> Result<Self, GraphError> {
        Ok(Self { store: Store::new()?, visibility: Visibility::everything(), health: Arc::default() })
    }

    fn meta(&self, name: &str) -> Result<Option<u64>, GraphError> {
        let (subject, predicate) = (meta_node(), property(name));
        let quad = self
            .store
            .quads_for_pattern(
                Some(subject.as_ref().into()),
                Some(predicate.as_ref()),
                None,
                Some(GraphNameRef::NamedNode(subject.as_ref())),
            )
            .next()
            .transpose()?;
        Ok(quad.and_then(|quad| match quad.object {
            Term::Literal(literal) => literal.value().parse().ok(),
            _ => None,
        }))
    }

    /// The ledger's sequence number up to which changes have been applied.
    ///
    /// # Errors
    /// The store refused.
    pub fn applied_seq(&self) -> Result<u64, GraphError> {
        self.guarded(|| Ok(self.meta("appliedSeq")?.unwrap_or(0)))
    }

    /// Replaces the graphs of the changed items and records the sequence number, in one transaction. Applying the
    /// same changes again changes nothing. `numbers` says what a number means to the texts of the changed items; those of
    /// others that [`mentioning`](Self::mentioning) finds are the caller's to apply again when that changes.
    ///
    /// # Errors
    /// Nothing is applied.
    pub fn apply(&self, changes: &[Change], numbers: &SharedNumbers, seq: u64) -> Result<(), GraphError> {
        self.guarded(|| {
            self.writable()?;
            let mut tx = self.store.start_transaction()?;
            for change in changes {
                for iri in [item_graph_iri, confidential_graph_iri] {
                    let graph = iri(&change.project, change.kind, &change.key);
                    tx.remove_named_graph(NamedNodeRef::new_unchecked(&graph))?;
                }
                tx.extend(change.quads(numbers).iter());
            }
            if let Some(old) = self.meta("appliedSeq")? {
                tx.remove(&meta_quad("appliedSeq", old));
            }
            tx.insert(&meta_quad("appliedSeq", seq));
            tx.commit()?;
            Ok(())
        })
    }

    /// Fills a graph to which nothing was ever applied: several times as fast as [`apply`](Self::apply), and nothing
    /// of it is there before [`Load::commit`].
    pub fn load(&self) -> Load<'_> {
        Load { graph: self, loader: self.store.bulk_loader(), quads: Vec::new() }
    }

    /// Whether the graph knows what a node is; one that is only referred to has edges but no class.
    ///
    /// # Errors
    /// The store refused.
    pub fn exists(&self, id: &NodeId) -> Result<bool, GraphError> {
        self.guarded(|| self.is_node_known(quads::node(id).as_ref()))
    }

    /// Nodes whose property of that name has that text, ordered, each once, at most [`MAX_ROWS`].
    ///
    /// # Errors
    /// The store refused.
    pub fn nodes_with_property(&self, name: &str, text: &str) -> Result<Vec<NodeId>, GraphError> {
        self.guarded(|| {
            let predicate = property(name);
            let object = Literal::new_simple_literal(text);
            let object = TermRef::from(object.as_ref());
            let mut found = BTreeSet::new();
            for quad in self.store.quads_for_pattern(None, Some(predicate.as_ref()), Some(object), None) {
                let quad = quad?;
                if !self.is_graph_visible(quad.graph_name.as_ref()) {
                    continue;
                }
                let subject = quad.subject.to_string();
                found.extend(NodeId::from_iri(subject.trim_matches(['<', '>'])));
                if found.len() >= MAX_ROWS {
                    break;
                }
            }
            Ok(found.into_iter().collect())
        })
    }

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
                if only.is_some_and(|edge| edge.reversed() != reversed) {
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
                    let edge = Edge::from_iri(quad.predicate.as_str()).filter(|edge| edge.reversed() == reversed);
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

    /// The items of the ledger, as project, kind and key, that say something of a node.
    ///
    /// # Errors
    /// The store refused.
    pub fn mentioning(&self, id: &NodeId) -> Result<BTreeSet<(String, ItemKind, String)>, GraphError> {
        self.guarded(|| {
            let node = quads::node(id);
            let as_subject = self.store.quads_for_pattern(Some(node.as_ref().into()), None, None, None);
            let as_object = self.store.quads_for_pattern(None, None, Some(node.as_ref().into()), None);
            let mut found = BTreeSet::new();
            for quad in as_subject.chain(as_object) {
                let graph = quad?.graph_name;
                if let GraphName::NamedNode(graph) = graph
                    && self.is_graph_visible(graph.as_ref().into())
                {
                    found.extend(parse_item_graph_iri(graph.as_str()));
                }
            }
            Ok(found)
        })
    }

    /// Answers one of the queries in `queries/`, over all items' graphs, at most [`MAX_ROWS`] rows.
    ///
    /// # Errors
    /// The query was cancelled, or the store refused.
    pub fn select(&self, query: Query, bind: Vec<(&str, Value)>, cancel: &Cancel) -> Result<Vec<Row>, GraphError> {
        self.guarded(|| {
            let failed = |reason: String| GraphError::Query { query: query.file, reason };
            let mut prepared = self
                .evaluator()
                .with_cancellation_token(cancel.0.clone())
                .parse_query(query.text)
                .map_err(|error| failed(error.to_string()))?;
            prepared.dataset_mut().set_default_graph_as_union();
            for (name, value) in bind {
                let variable = Variable::new(name).map_err(|error| failed(error.to_string()))?;
                prepared = prepared.substitute_variable(variable, Term::from(value));
            }
            let unanswered = |error: QueryEvaluationError| match error {
                QueryEvaluationError::Dataset(error) => GraphError::of_store(error.to_string()),
                error => failed(error.to_string()),
            };
            let results = prepared.on_store(&self.store).execute().map_err(unanswered)?;
            let QueryResults::Solutions(solutions) = results else {
                return Err(failed("it is no SELECT query".into()));
            };
            let row = |solution: oxigraph::sparql::QuerySolution| {
                Row(solution.iter().map(|(name, term)| (name.as_str().to_owned(), term.clone())).collect())
            };
            solutions.take(MAX_ROWS).map(|solution| solution.map(row).map_err(unanswered)).collect()
        })
    }

    /// The canonical digest of everything that comes from items, and how many quads that is. Two graphs that say the
    /// same have the same digest, however they came about.
    ///
    /// # Errors
    /// The store refused.
    pub fn digest(&self) -> Result<(String, u64), GraphError> {
        self.guarded(|| {
            let mut digest = SetDigest::default();
            for statement in self.statements() {
                digest.add(statement?.as_bytes());
            }
            Ok((digest.hex(), digest.count()))
        })
    }

    /// Everything that comes from items, a line of N-Quads each, in no particular order.
    pub fn statements(&self) -> impl Iterator<Item = Result<String, GraphError>> {
        let shows = |graph: GraphNameRef<'_>| is_of_item(graph) && self.is_graph_visible(graph);
        self.store.iter().filter_map(move |quad| match quad {
            Ok(quad) => shows(quad.graph_name.as_ref()).then(|| Ok(quad.to_string())),
            Err(error) => Some(Err(error.into())),
        })
    }

    /// How many visible quads come from items, which are those that the digest covers.
    ///
    /// # Errors
    /// The store refused.
    pub fn len(&self) -> Result<usize, GraphError> {
        self.guarded(|| {
            if self.hides_anything()? {
                return self.visible_len();
            }
            let meta = meta_node();
            let own =
                self.store.quads_for_pattern(None, None, None, Some(GraphNameRef::NamedNode(meta.as_ref()))).count();
            Ok(self.store.len()? - own - self.inferred_len()? - self.written_len()?)
        })
    }

    /// Writes everything to disk, unless it can only be read.
    ///
    /// # Errors
    /// The store refused.
    pub fn flush(&self) -> Result<(), GraphError> {
        self.guarded(|| {
            if self.writable().is_ok() {
                self.store.flush()?;
            }
            Ok(())
        })
    }

    /// Whether there are none.
    ///
    /// # Errors
    /// The store refused.
    pub fn is_empty(&self) -> Result<bool, GraphError> {
        Ok(self.len()? == 0)
    }
}

/// Whether a graph holds what an item states, not what was inferred or written by a model.
fn is_of_item(graph: GraphNameRef<'_>) -> bool {
    matches!(graph, GraphNameRef::NamedNode(node) if is_item_graph(node.as_str()))
}

fn iri(term: Term) -> Option<String> {
    match term {
        Term::NamedNode(node) => Some(node.into_string()),
        _ => None,
    }
}

fn meta_node() -> NamedNode {
    NamedNode::new_unchecked(META_GRAPH)
}

/// One of backstory's own properties.
fn property(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{NS}{name}"))
}

fn meta_quad(name: &str, value: u64) -> Quad {
    Quad::new(meta_node(), property(name), Literal::new_typed_literal(value.to_string(), xsd::INTEGER), meta_node())
}
