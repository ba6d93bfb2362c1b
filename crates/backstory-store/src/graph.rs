//! The graph: nodes and typed edges in Oxigraph, a projection of the ledger. Filling it belongs to `engine::project`.

mod describe;
mod edges;
mod generated;
mod inferred;
mod quads;
pub mod queries;
mod select;
pub mod sparql;
mod stated;
mod visibility;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use backstory_model::{
    digest::SetDigest,
    edge::Edge,
    entity::{Item, ItemKind},
    id::{META_GRAPH, NAMESPACE, NodeId, confidential_graph_iri, is_item_graph, item_graph_iri, parse_item_graph_iri},
    numbers::SharedNumbers,
    tracker::Trackers,
    visibility::Visibility,
};
use oxigraph::{
    model::{GraphName, GraphNameRef, Literal, NamedNode, NamedNodeRef, Quad, Term, TermRef, vocab::xsd},
    store::{BulkLoader, StorageError, Store, StoreOptions},
};

pub use edges::{AdjacentEdge, Direction, EdgeCount, EdgesAround, EdgesAt, Ends, GraphEdge};
pub use generated::GeneratedFact;
pub use inferred::InferredLink;
pub use select::{Cancel, Row, Value};

use crate::{
    guard::{Damage, catch_panic},
    missing_resource::{MissingResource, descriptor_limit},
    recent::Recent,
};

/// Most rows of one answer.
pub const MAX_ROWS: usize = 20_000;
/// Most edges of a node that are counted.
pub const MAX_COUNTED: usize = 100_000;
/// Quads that a first load writes into one set of the store's files.
const QUADS_PER_FILE: usize = 200_000;
/// Quads that are applied before they are written to files. RocksDB by itself would keep some 700 MB of them in memory, and
/// of these they are some 30.
const QUADS_IN_MEMORY: usize = 50_000;
/// Fewest descriptors of the process with which a store is opened; Oxigraph refuses fewer by itself.
const MIN_DESCRIPTORS: u64 = 96;
/// Part of the process's descriptors that a store may use: while the graph is rebuilt two of them are open, and indexes
/// beside them.
const SHARE_OF_DESCRIPTORS: u64 = 4;
/// Fewest files that a store keeps open.
const MIN_OPEN_FILES: u32 = 32;
/// Most files that a store keeps open.
const MAX_OPEN_FILES: u32 = 1024;
/// Version of how items become quads; a graph written by another version is rebuilt.
const PROJECTION: u64 = 4;

/// What can go wrong with the graph.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// The store cannot be opened or read; it can be rebuilt from the ledger.
    #[error("the graph is damaged and must be rebuilt: {0}")]
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
        match MissingResource::from_message(&reason) {
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
pub struct GraphChange {
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

impl GraphChange {
    /// Its statements and where they stand: a confidential item has another named graph, so that all it says can be told
    /// from the rest.
    fn quads(&self, numbers: &SharedNumbers, trackers: &Trackers) -> Vec<Quad> {
        let Some(item) = &self.item else { return Vec::new() };
        let iri = if self.confidential { confidential_graph_iri } else { item_graph_iri };
        let texts = quads::TextSyntax { numbers, trackers };
        quads::item_quads(item, &iri(&self.project, self.kind, &self.key), texts, self.confidential)
    }
}

/// A first load that is under way; dropped without a commit it leaves nothing behind.
pub struct BulkLoad<'a> {
    graph: &'a Graph,
    loader: BulkLoader<'a>,
    quads: Vec<Quad>,
}

impl BulkLoad<'_> {
    /// Takes the items of a graph in; there may be none twice.
    ///
    /// # Errors
    /// The store refused.
    pub fn add(&mut self, changes: &[GraphChange], numbers: &SharedNumbers) -> Result<(), GraphError> {
        for change in changes {
            self.quads.extend(change.quads(numbers, &self.graph.trackers));
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
        graph.health.ends.drop_all();
        let committed = graph.guarded(|| Ok(loader.commit()?));
        graph.health.ends.drop_all();
        committed
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
    /// Which tickets of other trackers texts name.
    trackers: Arc<Trackers>,
    health: Arc<Health>,
}

/// A node, which of its edges, and how many at most.
type EdgesKey = (NodeId, &'static [(Edge, Direction)], usize);

/// What is known of a store besides what it holds.
#[derive(Debug, Default)]
struct Health {
    damage: Damage,
    /// Why it can be read and not written.
    lacking: Option<(MissingResource, String)>,
    /// Statements that were applied since they were last written to disk.
    unwritten: AtomicUsize,
    /// Nodes at the ends of edges that were read lately by those who see everything; only this process writes.
    ends: Recent<EdgesKey, Ends>,
}

impl Graph {
    /// Opens the graph in a directory, creates it if it is absent. Where there is no room to open it for writing, it can
    /// be read.
    ///
    /// # Errors
    /// [`GraphError::Damaged`] if it must be rebuilt.
    pub fn open(directory: &Path) -> Result<Self, GraphError> {
        let open = |read: fn(&Path) -> Result<Store, StorageError>| match catch_panic(|| read(directory)) {
            Ok(opened) => Ok(opened?),
            Err(panic) => Err(GraphError::Damaged(panic)),
        };
        let (store, lacking) = match open(|path| Store::open_with_options(path, store_options(descriptor_limit()))) {
            Ok(store) => (store, None),
            Err(GraphError::Lacking { lack, reason }) => match open(|path| Store::open_read_only(path)) {
                Ok(store) => (store, Some((lack, reason))),
                Err(_) => return Err(GraphError::Lacking { lack, reason }),
            },
            Err(error) => return Err(error),
        };
        let health = Arc::new(Health { lacking, ..Health::default() });
        let graph = Self { store, visibility: Visibility::everything(), trackers: Arc::default(), health };
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

    /// Whether anybody else has a handle of it.
    pub fn has_other_handles(&self) -> bool {
        Arc::strong_count(&self.health) > 1
    }

    /// What was found to be damaged since it was opened. It is of no use then and must be rebuilt.
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
        let (store, visibility) = (Store::new()?, Visibility::everything());
        Ok(Self { store, visibility, trackers: Arc::default(), health: Arc::default() })
    }

    /// The graph with the trackers whose tickets texts name.
    ///
    /// # Errors
    /// [`GraphError::Damaged`] if it was made with others, so that it must be rebuilt.
    pub fn with_trackers(self, trackers: Arc<Trackers>) -> Result<Self, GraphError> {
        self.guarded(|| {
            let (known, own) = (self.meta("trackers")?.unwrap_or(0), trackers.fingerprint());
            if known == own {
                return Ok(());
            }
            if self.applied_seq()? > 0 {
                return Err(GraphError::Damaged("other trackers are configured than when it was made".to_owned()));
            }
            self.writable()?;
            self.store.remove(&meta_quad("trackers", known))?;
            Ok(self.store.insert(&meta_quad("trackers", own))?)
        })?;
        Ok(Self { trackers, ..self })
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

    /// Replaces the graphs of the changed items and records the sequence number, in one transaction. Applying the same
    /// changes again changes nothing. `numbers` says what a number means to the texts of the changed items; those of
    /// others that [`items_mentioning`](Self::items_mentioning) finds are the caller's to apply again when that
    /// changes.
    ///
    /// # Errors
    /// Nothing is applied.
    pub fn apply(&self, changes: &[GraphChange], numbers: &SharedNumbers, seq: u64) -> Result<(), GraphError> {
        self.guarded(|| {
            self.writable()?;
            let (mut tx, mut added) = (self.store.start_transaction()?, 0);
            for change in changes {
                for iri in [item_graph_iri, confidential_graph_iri] {
                    let graph = iri(&change.project, change.kind, &change.key);
                    tx.remove_named_graph(NamedNodeRef::new_unchecked(&graph))?;
                }
                let quads = change.quads(numbers, &self.trackers);
                added += quads.len();
                tx.extend(quads.iter());
            }
            if let Some(old) = self.meta("appliedSeq")? {
                tx.remove(&meta_quad("appliedSeq", old));
            }
            tx.insert(&meta_quad("appliedSeq", seq));
            self.health.ends.drop_all();
            let committed = tx.commit();
            self.health.ends.drop_all();
            committed?;
            if self.health.unwritten.fetch_add(added, Ordering::Relaxed) + added >= QUADS_IN_MEMORY {
                self.health.unwritten.store(0, Ordering::Relaxed);
                self.store.flush()?;
            }
            Ok(())
        })
    }

    /// Fills a graph to which nothing was ever applied: several times as fast as [`apply`](Self::apply), and nothing
    /// of it is there before [`BulkLoad::commit`].
    pub fn begin_bulk_load(&self) -> BulkLoad<'_> {
        BulkLoad { graph: self, loader: self.store.bulk_loader(), quads: Vec::new() }
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

    /// The items of the ledger, as project, kind and key, that say something of a node.
    ///
    /// # Errors
    /// The store refused.
    pub fn items_mentioning(&self, id: &NodeId) -> Result<BTreeSet<(String, ItemKind, String)>, GraphError> {
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

/// How a store is opened for writing by a process that may have so many descriptors.
fn store_options(descriptors: u64) -> StoreOptions {
    let options = StoreOptions::default();
    if descriptors < MIN_DESCRIPTORS {
        return options;
    }
    let files = u32::try_from(descriptors / SHARE_OF_DESCRIPTORS).unwrap_or(MAX_OPEN_FILES);
    options.with_max_open_files(files.clamp(MIN_OPEN_FILES, MAX_OPEN_FILES))
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
    NamedNode::new_unchecked(format!("{NAMESPACE}{name}"))
}

fn meta_quad(name: &str, value: u64) -> Quad {
    Quad::new(meta_node(), property(name), Literal::new_typed_literal(value.to_string(), xsd::INTEGER), meta_node())
}
