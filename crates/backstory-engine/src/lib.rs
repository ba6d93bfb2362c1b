//! The use cases of backstory: sync, projection, embedding, search, checks. Nothing here knows HTTP serving, GraphQL
//! or a terminal.

pub mod ask;
pub mod backup;
pub mod chat;
pub mod check;
pub mod code;
pub mod confidential;
pub mod context;
pub mod embed;
mod embedding;
pub mod enrich;
pub mod error;
pub mod eval;
pub mod forget;
mod links;
pub mod llm;
mod mend;
mod project;
pub mod provider;
pub mod quarantine;
pub mod read;
mod rebuild;
pub mod repository;
pub mod rerank;
pub mod search;
pub mod settings;
pub mod show;
pub mod snapshot;
pub mod stats;
pub mod summary;
mod sync;
pub mod task;
pub mod tokens;
pub mod trace;
pub mod use_case;
pub mod vitals;
pub mod worker;

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use backstory_model::{
    entity::{Item, ItemKind},
    id::{NodeId, ThreadId},
    reference::Forge,
    repository::{self as records, Repository, RepositoryRecord},
};
use backstory_sources::{
    forge::{self, Origin},
    git::{Git, objects::Objects},
    redact::Redactor,
};
use backstory_store::{
    generations::Generations,
    graph::{Cancel, Graph, GraphError, Row, Value, queries::Query},
    index::{Index, IndexError, ModelTag, Vectors},
    ledger::{Ledger, LedgerError, StoredItem},
};
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};

pub use backstory_model as model;
pub use backstory_sources as sources;
pub use backstory_store::{graph, guard, index, ledger};
pub use embedding::EmbedRequest;
pub use links::MeasureLinks;
pub use rebuild::{Projection, RebuildRequest};
pub use sync::{Part, Scope, SyncRequest};

use backup::RESTORED;
use embed::Embedder;
use error::{Error, ErrorKind, Result};
use llm::ChatModel;
use rerank::Reranker;
use settings::Settings;
use task::{Reporter, Task, Tasks};

/// The directories of graph and index, in the data directory.
const PROJECTIONS: [&str; 2] = ["graph", "index"];
/// The ledger's file, there too.
const LEDGER: &str = "ledger.sqlite";
/// Longest time a query of the graph may take.
const QUERY_TIME: Duration = Duration::from_secs(10);

/// The stores of a data directory and the use cases over them, as far as a [visibility](Engine::with_visibility) shows
/// them. Cheap to clone.
///
/// One process at a time may open a data directory; the caller sees to that.
#[derive(Clone)]
pub struct Engine(Arc<Inner>, Ledger);

struct Inner {
    settings: Settings,
    graphs: Generations,
    graph: RwLock<Graph>,
    indexes: Generations,
    index: RwLock<Index>,
    embedder: Embedder,
    chat_model: Option<ChatModel>,
    reranker: Option<Reranker>,
    tasks: Tasks,
    work: worker::Work,
    /// Projections apply changes one after the other.
    projecting: tokio::sync::Mutex<()>,
    origins: Mutex<HashMap<String, Arc<Origin>>>,
    /// What the ledger knows of repositories, by project.
    repositories: Mutex<HashMap<String, Arc<Repository>>>,
    /// Clones that are open, by project.
    objects: Mutex<HashMap<String, Arc<Objects>>>,
    git: OnceLock<Git>,
    /// Repositories are read one after the other: one that was stopped ends at its next write.
    reading: Mutex<()>,
    /// The project whose repository is being read.
    indexing: Mutex<Option<String>>,
    /// Discussions that traces have read.
    remembered: Mutex<trace::Remembered>,
    /// Who is named where, while anything is confidential.
    named: Mutex<confidential::Named>,
    mended: mend::RepairLog,
    data_dir: PathBuf,
    /// What happened while the stores were opened, for people.
    notices: Mutex<Vec<String>>,
}

impl Engine {
    /// Opens the stores of a data directory, creates them if they are absent, makes a damaged projection anew, and
    /// applies to the projections what the ledger has more. That something which follows from the ledger cannot be made is
    /// a [notice](Self::notices) and no error: reading goes on with what there is, and a sync may mend it.
    ///
    /// # Errors
    /// The ledger cannot be opened, or a store was written by a newer program.
    pub async fn open(data_dir: &Path, settings: Settings) -> Result<Self> {
        let embedder = Embedder::open(settings.embedding.clone()).await?;
        let chat_model = settings.llm.clone().map(ChatModel::open).transpose()?;
        let reranker = settings.rerank.clone().map(Reranker::open).transpose()?;
        let directory = data_dir.to_owned();
        let (ledger, graphs, graph, indexes, mut notices) =
            tokio::task::spawn_blocking(move || open_stores(&directory)).await??;
        for unfinished in ledger.unfinished_erasures()? {
            notices.push(format!(
                "forgetting {unfinished} was cut off; run 'backstory forget' for the same once more, so that the disk \
                 forgets it too"
            ));
        }
        let tag = ModelTag { name: embedder.model().to_owned(), dimension: embedder.dimension() };
        let restored = data_dir.join(RESTORED);
        let newest = if restored.exists() { None } else { Some(ledger.last_seq()?) };
        let (index, known) = open_index(&indexes, tag, newest, &mut notices).await?;
        if restored.exists() {
            std::fs::remove_file(&restored)
                .map_err(|error| Error::internal(format!("{} cannot be removed: {error}", restored.display())))?;
        }
        if let Some(old) = index.model_changed() {
            notices.push(format!(
                "the embedding model was {} and is now {}; documents get new vectors in the background ('backstory \
                 embed' does it at once), until then text search finds them",
                old.name,
                embedder.model()
            ));
        }
        let inner = Inner {
            settings,
            graphs,
            graph: RwLock::new(graph),
            indexes,
            index: RwLock::new(index),
            embedder,
            chat_model,
            reranker,
            tasks: Tasks::default(),
            work: worker::Work::default(),
            projecting: tokio::sync::Mutex::new(()),
            origins: Mutex::default(),
            repositories: Mutex::default(),
            objects: Mutex::default(),
            git: OnceLock::new(),
            reading: Mutex::default(),
            indexing: Mutex::default(),
            remembered: Mutex::default(),
            named: Mutex::default(),
            mended: mend::RepairLog::default(),
            data_dir: data_dir.to_owned(),
            notices: Mutex::new(notices),
        };
        let engine = Self(Arc::new(inner), ledger);
        engine.refresh_derived(known).await;
        Ok(engine)
    }

    /// Makes what follows from the ledger; what cannot be made is told.
    async fn refresh_derived(&self, known: Option<Vectors>) {
        let stale = self.with_ledger(|ledger| ledger.fail_stale_runs(Timestamp::now())).await;
        if let Ok(runs @ 1..) = stale {
            tracing::info!(runs, "marked runs of an ended process as failed");
        }
        self.notice_failure("runs of an ended process cannot be marked as failed", stale);
        self.notice_failure("the graph or the index is behind the ledger", self.catch_up(None).await);
        self.notice_failure("not all stored items were looked at", self.recheck_stored().await);
        if let Some(known) = known {
            let reuse = async {
                self.embed_pending(None, Some(&known), &Reporter::silent()).await?;
                self.index().optimize().await?;
                Ok::<_, Error>(())
            };
            self.notice_failure("vectors of the former index are not used again", reuse.await);
        }
        self.notice_failure("links that nobody stated are not up to date", self.refresh_links().await);
        self.notice_failure("what language models wrote is not all in the graph", self.refresh_written().await);
        // A process that ended early may have left a state that is on no record.
        let recorded = self.record_snapshot(Duration::ZERO, None).await;
        self.notice_failure("the state of the index is on no record", recorded);
    }

    fn notice_failure<T>(&self, what: &str, result: Result<T>) {
        if let Err(error) = result {
            tracing::warn!(%error, "{what}");
            self.notice(format!("{what}: {error}"));
        }
    }

    fn notice(&self, notice: String) {
        self.0.notices.lock().push(notice);
    }

    pub(crate) fn model_tag(&self) -> ModelTag {
        ModelTag { name: self.embedder().model().to_owned(), dimension: self.embedder().dimension() }
    }

    /// What happened while the stores were opened, for people.
    pub fn notices(&self) -> Vec<String> {
        let mut notices = self.0.notices.lock().clone();
        notices.extend(self.mended());
        notices
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The embedder.
    pub fn embedder(&self) -> &Embedder {
        &self.0.embedder
    }

    /// The language model, if one is configured.
    pub fn chat_model(&self) -> Option<&ChatModel> {
        self.0.chat_model.as_ref()
    }

    /// What replaces the secrets in whatever is stored or shown.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.0.settings.redactor
    }

    /// A name as it is kept: without the secrets in it, and so alike wherever it stands.
    pub(crate) fn redact_name(&self, name: &str) -> String {
        self.redactor().redact(name).0.into_owned()
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.1
    }

    pub(crate) fn graph(&self) -> Graph {
        self.0.graph.read().with_visibility(self.visibility().clone())
    }

    pub(crate) fn index(&self) -> Index {
        self.0.index.read().with_visibility(self.visibility().clone())
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    /// A task by its number.
    pub fn task(&self, id: u64) -> Option<Task> {
        self.0.tasks.get(id).map(|task| task.borrow().clone())
    }

    /// Follows a task: the receiver sees every change of it.
    pub fn watch_task(&self, id: u64) -> Option<tokio::sync::watch::Receiver<Task>> {
        self.0.tasks.get(id)
    }

    /// All remembered tasks, newest first.
    pub fn all_tasks(&self) -> Vec<Task> {
        self.0.tasks.list()
    }

    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        step: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        tokio::task::spawn_blocking(step).await?
    }

    pub(crate) async fn with_ledger<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Ledger) -> std::result::Result<T, LedgerError> + Send + 'static,
    ) -> Result<T> {
        let ledger = self.ledger().clone();
        self.blocking(move || Ok(step(&ledger)?)).await
    }

    /// Answers a query of the graph within [`QUERY_TIME`].
    pub(crate) async fn graph_query(&self, query: Query, bind: Vec<(&'static str, Value)>) -> Result<Vec<Row>> {
        let graph = self.graph();
        let cancel = Cancel::default();
        let handle = {
            let cancel = cancel.clone();
            tokio::task::spawn_blocking(move || graph.select(query, bind, &cancel))
        };
        match tokio::time::timeout(QUERY_TIME, handle).await {
            Ok(rows) => Ok(rows??),
            Err(_) => {
                cancel.cancel();
                Err(Error::new(
                    ErrorKind::Timeout,
                    format!("{} took longer than {} s; narrow it down", query.file, QUERY_TIME.as_secs()),
                ))
            }
        }
    }

    /// Reads a stored payload.
    pub(crate) fn parse(&self, stored: &StoredItem) -> Result<Item> {
        let name = || format!("{} {} {}", stored.project, stored.kind.as_str(), stored.key);
        let payload = stored.payload.as_deref().ok_or_else(|| Error::internal(format!("{} is gone", name())))?;
        if stored.kind == ItemKind::Identity || stored.kind.is_of_repository() {
            return self.parse_record(stored, payload);
        }
        let json = serde_json::from_slice(payload)
            .map_err(|error| Error::internal(format!("the payload of {} is not JSON: {error}", name())))?;
        let origin = self.origin(&stored.project)?;
        let mut item = forge::parse(stored.kind, &origin, &stored.key, &json)
            .map_err(|error| Error::internal(error.to_string()))?;
        if stored.confidential {
            item.set_confidential();
        }
        self.remove_hidden_references(&mut item)?;
        Ok(item)
    }

    fn parse_record(&self, stored: &StoredItem, payload: &[u8]) -> Result<Item> {
        let unreadable = |error: serde_json::Error| {
            let name = format!("{} {} {}", stored.project, stored.kind.as_str(), stored.key);
            Error::internal(format!("{name} cannot be read: {error}"))
        };
        if stored.kind == ItemKind::Identity {
            return Ok(Item::Identity(serde_json::from_slice(payload).map_err(unreadable)?));
        }
        let record = records::parse(stored.kind, &stored.key, payload).map_err(unreadable)?;
        let repository = match &record {
            records::Record::Repository(repository) => Arc::new(repository.clone()),
            _ => self.repository_record(&stored.project)?.ok_or_else(|| {
                Error::internal(format!("the ledger has items of {} but not the repository itself", stored.project))
            })?,
        };
        Ok(Item::Repository(RepositoryRecord { project: stored.project.clone(), repository, record }))
    }

    /// What the items of a project are relative to; people have none.
    pub(crate) fn origin(&self, project: &str) -> Result<Arc<Origin>> {
        let mut origins = self.0.origins.lock();
        if let Some(origin) = origins.get(project) {
            return Ok(origin.clone());
        }
        let found = if project.is_empty() {
            Origin { forge: Forge::GitLab, project: String::new(), forge_url: String::new() }
        } else {
            self.find_origin(project)?.ok_or_else(|| {
                Error::internal(format!(
                    "the ledger has items of {project} but nothing that tells of the project itself; 'backstory sync' \
                     reads it again"
                ))
            })?
        };
        let origin = Arc::new(found);
        origins.insert(project.to_owned(), origin.clone());
        Ok(origin)
    }

    /// By what its forge says of the project; if that cannot be read, by where it is read from.
    fn find_origin(&self, project: &str) -> Result<Option<Origin>> {
        let stored = self.ledger().item(project, ItemKind::Project, "project")?;
        let said = stored.and_then(|item| forge::origin_of_project(&serde_json::from_slice(&item.payload?).ok()?));
        if let Some(origin) = said.filter(|origin| origin.project == project) {
            return Ok(Some(origin));
        }
        let of = |forge: Forge, forge_url: String| Origin { forge, project: project.to_owned(), forge_url };
        let configured =
            self.settings().forges.iter().find(|forge| forge.projects.iter().any(|known| known == project));
        if let Some(forge) = configured {
            return Ok(Some(of(forge.kind, forge.web_url())));
        }
        let added = self.ledger().repository(project)?.and_then(|entry| entry.forge);
        Ok(added.and_then(|forge| Some(of(forge.kind, forge::web_url(forge.kind, &forge.base_url.parse().ok()?)))))
    }

    /// Whose syntax what people write of a project follows, and the address of that forge, empty if it has none.
    pub(crate) fn reference_syntax(&self, project: &str) -> Result<(Forge, String)> {
        if self.ledger().item(project, ItemKind::Project, "project")?.is_some()
            && let Ok(origin) = self.origin(project)
        {
            return Ok((origin.forge, origin.forge_url.clone()));
        }
        let known = self.repository_record(project)?;
        Ok(known.map_or((Forge::GitLab, String::new()), |known| (known.forge, known.forge_url.clone())))
    }

    /// The node that is meant: where issues and merge requests share their numbers, the one that there is.
    pub(crate) fn settled(&self, id: NodeId) -> Result<NodeId> {
        let (NodeId::Thread(thread) | NodeId::Note { thread, .. } | NodeId::Discussion { thread, .. }) = &id else {
            return Ok(id);
        };
        let there = |thread: &ThreadId| self.ledger().item(&thread.project, thread.kind.into(), &thread.short());
        let is_meant = !self.reference_syntax(&thread.project)?.0.shares_numbers()
            || there(thread)?.is_some_and(|item| item.payload.is_some())
            || there(&thread.twin())?.is_none_or(|item| item.payload.is_none());
        Ok(if is_meant { id } else { id.with_other_thread_kind() })
    }

    /// The project may have moved to another address.
    pub(crate) fn clear_origin_cache(&self) {
        self.0.origins.lock().clear();
    }
}

/// What is said of a projection that has changes which the ledger has not.
const PROJECTION_AHEAD: &str =
    "has more than the ledger, which must have been replaced by an older one, and is made anew from it";

type Opened = (Ledger, Generations, Graph, Generations, Vec<String>);

fn open_stores(directory: &Path) -> Result<Opened> {
    let mut notices = Vec::new();
    let path = directory.join(LEDGER);
    let restored = directory.join(RESTORED).exists();
    let has_projections = PROJECTIONS.iter().any(|name| directory.join(name).is_dir());
    let unreadable = |error: io::Error| Error::internal(format!("{} cannot be read: {error}", path.display()));
    if has_projections && !restored && Ledger::is_blank(&path).map_err(unreadable)? {
        return Err(empty_ledger(directory));
    }
    let ledger = Ledger::open(&path)?;
    let graphs = generations(directory.join(PROJECTIONS[0]))?;
    let known = ledger.last_seq()?;
    let opened = Graph::open(&graphs.current()).and_then(|graph| Ok((graph.applied_seq()?, graph)));
    let (graph, because) = match opened {
        Ok((applied, _)) if applied > 0 && known == 0 && !restored => return Err(empty_ledger(directory)),
        Ok((applied, graph)) if restored || applied > known => {
            drop(graph);
            (None, format!("the graph {PROJECTION_AHEAD}"))
        }
        Ok((_, graph)) => (Some(graph), String::new()),
        Err(GraphError::Damaged(reason)) => {
            (None, format!("the graph could not be opened and is made anew from the ledger: {reason}"))
        }
        Err(error) => return Err(error.into()),
    };
    let graph = match graph {
        Some(graph) => {
            notices.extend(graph.read_only().map(|why| format!("nothing can be added now: {why}")));
            graph
        }
        None => {
            notices.push(because);
            Graph::open(&fresh_generation(&graphs)?)?
        }
    };
    let indexes = generations(directory.join(PROJECTIONS[1]))?;
    Ok((ledger, graphs, graph, indexes, notices))
}

/// A ledger with nothing in it is no new one where projections hold what was read.
fn empty_ledger(directory: &Path) -> Error {
    let directory = directory.display();
    Error::internal(format!(
        "{directory}/{LEDGER} is empty, but the graph and the index beside it hold what it once had; restore a backup \
         with 'backstory restore', or remove {directory}/graph and {directory}/index and run 'backstory sync' to read \
         everything again"
    ))
}

fn generations(directory: PathBuf) -> Result<Generations> {
    let name = directory.display().to_string();
    let open = || {
        let generations = Generations::open(directory)?;
        generations.remove_others()?;
        Ok::<_, std::io::Error>(generations)
    };
    open().map_err(|error| {
        let error = Error::of_files(&format!("{name} cannot be used"), &error);
        if error.kind == ErrorKind::Internal { Error { kind: ErrorKind::Configuration, ..error } } else { error }
    })
}

/// Makes an empty generation current and returns its directory.
fn fresh_generation(generations: &Generations) -> Result<PathBuf> {
    let fresh = || {
        let fresh = generations.prepare()?;
        generations.activate(&fresh)?;
        Ok::<_, std::io::Error>(fresh)
    };
    fresh().map_err(|error| Error::of_files("a store cannot be made anew", &error))
}

/// The index; one that cannot be used, or has changes after the `newest`, or any if that is `None`, is replaced by an
/// empty one, and what vectors it has are handed over.
async fn open_index(
    indexes: &Generations,
    tag: ModelTag,
    newest: Option<u64>,
    notices: &mut Vec<String>,
) -> Result<(Index, Option<Vectors>)> {
    let old = indexes.current();
    match Index::open(&old, tag.clone()).await {
        Ok(index) => {
            let applied = index.applied_seq().await?;
            // An empty one is as good as new.
            if applied == 0 || newest.is_some_and(|newest| applied <= newest) {
                return Ok((index, None));
            }
            notices.push(format!("the index {PROJECTION_AHEAD}"));
        }
        Err(IndexError::Damaged { reason, .. }) => {
            notices.push(format!("the index could not be opened and is made anew from the ledger: {reason}"));
        }
        Err(IndexError::Outdated { found, known, .. }) => {
            notices.push(format!("the index has format {found} of an older backstory and is made anew in {known}"));
        }
        Err(error) => return Err(error.into()),
    }
    let known = Vectors::open(&old, &tag).await.ok().flatten();
    Ok((Index::open(&fresh_generation(indexes)?, tag).await?, known))
}
