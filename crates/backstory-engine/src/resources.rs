//! What use cases work with: the stores of a data directory, settings, models, tasks, locks and caches. It knows no use
//! case, so every module may use it.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use backstory_model::{
    access::{Actor, Caller, Scopes},
    id::NodeId,
    repository::Repository,
    visibility::Visibility,
};
use backstory_sources::{
    forge::Origin,
    git::{GitProgram, objects::Objects},
    redact::Redactor,
};
use backstory_store::{
    generations::Generations,
    graph::{Cancel, Graph, Row, Value, queries::Query},
    index::{Index, ModelTag, View},
    ledger::{Ledger, LedgerError},
    lists::Lists,
};
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::{
    embed::Embedder,
    error::{Error, ErrorKind, Result},
    llm::ChatModel,
    rerank::Reranker,
    settings::Settings,
    state::{
        access::AccessState, answers::AnswerCache, co_changes::CoChangeCache, discussions::DiscussionCache,
        mentions::MentionIndex, people::PeopleCache, repairs::RepairLog, worker::WorkerState,
    },
    task::{Reporter, Task, TaskKind, Tasks, other_work},
};

/// The ledger's file in the data directory.
pub(crate) const LEDGER: &str = "ledger.sqlite";
/// Longest time a query of the graph may take.
const QUERY_TIME: Duration = Duration::from_secs(10);

/// The stores of a data directory as far as a visibility shows them, and what belongs to them. Cheap to clone.
#[derive(Clone)]
pub struct Resources {
    pub(crate) shared: Arc<Shared>,
    /// It has the visibility, and who uses it.
    ledger: Ledger,
    /// What who uses it may do.
    scopes: Scopes,
    /// When what they may do ends.
    expires: Option<Timestamp>,
    /// The state of the documents that they show, if not the current one.
    state: Option<Arc<ShownState>>,
}

/// A state of the documents other than the current one: that of a further branch, tag or commit, or a recorded one.
#[derive(Debug, Default)]
pub(crate) struct ShownState {
    /// What tells it from others.
    pub(crate) name: String,
    /// How its documents differ from the current ones; `None` if they do not.
    pub(crate) view: Option<Arc<View>>,
    /// Commits of repositories at it, by project, where they are not those that are indexed.
    pub(crate) commits: BTreeMap<String, String>,
    /// Id of the recorded state that it is, or of the current one whose revision it is.
    pub(crate) snapshot: Option<String>,
    /// When that was reached, if it is on record.
    pub(crate) recorded_at: Option<Timestamp>,
    /// The branch, tag or commit that it is of.
    pub(crate) revision: Option<String>,
}

/// What all handles of a data directory share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) graphs: Generations,
    pub(crate) graph: RwLock<Graph>,
    pub(crate) indexes: Generations,
    pub(crate) index: RwLock<Index>,
    pub(crate) embedder: Embedder,
    pub(crate) chat_model: Option<ChatModel>,
    pub(crate) reranker: Option<Reranker>,
    pub(crate) tasks: Tasks,
    pub(crate) access: AccessState,
    pub(crate) work: WorkerState,
    /// Projections apply changes one after the other.
    pub(crate) projecting: tokio::sync::Mutex<()>,
    /// Held for writing while graph and lists are at different sequence numbers.
    pub(crate) uneven: tokio::sync::RwLock<()>,
    pub(crate) origins: Mutex<HashMap<String, Arc<Origin>>>,
    /// What the ledger knows of repositories, by project.
    pub(crate) repositories: Mutex<HashMap<String, Arc<Repository>>>,
    /// Clones that are open, by project.
    pub(crate) objects: Mutex<HashMap<String, Arc<Objects>>>,
    pub(crate) git: OnceLock<GitProgram>,
    /// Repositories are read one after the other: one that was stopped ends at its next write.
    pub(crate) reading: Mutex<()>,
    /// The project whose repository is being read.
    pub(crate) indexing: Mutex<Option<String>>,
    /// Discussions that traces have read.
    pub(crate) remembered: Mutex<DiscussionCache>,
    /// Answers that were given last.
    pub(crate) answers: Mutex<AnswerCache>,
    /// What changes together, as it was read.
    pub(crate) co_changes: Mutex<CoChangeCache>,
    /// Who is mentioned where, while anything is confidential.
    pub(crate) mentions: Mutex<MentionIndex>,
    /// Everybody who is known, as they were read.
    pub(crate) people: Mutex<PeopleCache>,
    /// Entries of the list of repositories are read and written back by one at a time.
    pub(crate) listing: Mutex<()>,
    /// The annotations of a node are read and written back by one at a time.
    pub(crate) annotating: Mutex<()>,
    pub(crate) repairs: RepairLog,
    pub(crate) data_dir: PathBuf,
    /// What happened while the stores were opened, for people.
    pub(crate) notices: Mutex<Vec<String>>,
}

/// Up to which sequence numbers changes have been applied to the two projections that one request reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppliedNumbers {
    /// That of the graph.
    pub graph: u64,
    /// That of the lists.
    pub lists: u64,
}

impl AppliedNumbers {
    /// Whether both are at the same.
    pub fn are_equal(self) -> bool {
        self.graph == self.lists
    }
}

impl Resources {
    /// Those of somebody who sees everything.
    pub(crate) fn new(shared: Shared, ledger: Ledger) -> Self {
        Self { shared: Arc::new(shared), ledger, scopes: Scopes::all(), expires: None, state: None }
    }

    /// Returns a handle that shows what a visibility allows, as if nothing else existed.
    #[must_use]
    pub(crate) fn with_visibility(&self, visibility: Visibility) -> Self {
        Self { ledger: self.ledger.with_visibility(visibility), ..self.clone() }
    }

    /// Returns a handle for a caller: it shows what they see, permits what they may do, and records who they are.
    #[must_use]
    pub(crate) fn with_caller(&self, caller: &Caller) -> Self {
        let (scopes, expires) = (caller.scopes.clone(), caller.expires);
        Self { shared: self.shared.clone(), ledger: self.ledger.with_caller(caller), scopes, expires, state: None }
    }

    /// Returns a handle that shows another state of the documents, as if nothing else existed. Graph, lists and ledger stay
    /// what they are.
    #[must_use]
    pub(crate) fn with_state(&self, state: ShownState) -> Self {
        Self { state: Some(Arc::new(state)), ..self.clone() }
    }

    /// The state of the documents that they show; `None` for the current one.
    pub(crate) fn state(&self) -> Option<&ShownState> {
        self.state.as_deref()
    }

    /// Whether the state that they show differs from the current one.
    pub(crate) fn has_view(&self) -> bool {
        self.state().is_some_and(|state| state.view.is_some())
    }

    /// Whether a node, which is there now, is not in the state that they show.
    pub(crate) fn hides(&self, id: &NodeId) -> bool {
        let view = self.state().and_then(|state| state.view.as_ref());
        view.is_some_and(|view| view.hides(&id.to_string()))
    }

    /// Who uses it.
    pub(crate) fn actor(&self) -> &Actor {
        self.ledger.actor()
    }

    /// What who uses it may do.
    pub(crate) fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// When what who uses it may do ends; `None` for never.
    pub(crate) fn expires(&self) -> Option<Timestamp> {
        self.expires
    }

    /// What they show.
    pub(crate) fn visibility(&self) -> &Visibility {
        self.ledger.visibility()
    }

    /// Whether anything exists that they do not show.
    pub(crate) async fn hides_anything(&self) -> Result<bool> {
        let visibility = self.visibility();
        if visibility.shows_confidential() || !visibility.allows_all_projects() {
            return Ok(!visibility.allows_everything());
        }
        self.with_ledger(|ledger| ledger.has_confidential()).await
    }

    /// For work on the stores, for any caller: the stores hold everything, so it sees everything.
    pub(crate) fn with_full_visibility(&self) -> Self {
        self.with_visibility(Visibility::everything())
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    pub(crate) fn embedder(&self) -> &Embedder {
        &self.shared.embedder
    }

    pub(crate) fn model_tag(&self) -> ModelTag {
        ModelTag { name: self.embedder().model().to_owned(), dimension: self.embedder().dimension() }
    }

    /// The language model, if one is configured.
    pub(crate) fn chat_model(&self) -> Option<&ChatModel> {
        self.shared.chat_model.as_ref()
    }

    /// What replaces the secrets in whatever is stored or shown.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.shared.settings.redactor
    }

    /// A name as it is kept: without the secrets in it, and so alike wherever it stands.
    pub(crate) fn redact_name(&self, name: &str) -> String {
        self.redactor().redact(name).0.into_owned()
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn graph(&self) -> Graph {
        self.shared.graph.read().with_visibility(self.visibility().clone())
    }

    pub(crate) fn index(&self) -> Index {
        let view = self.state().and_then(|state| state.view.clone());
        self.shared.index.read().with_visibility(self.visibility().clone()).with_view(view)
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.shared.tasks
    }

    /// The visible tasks, newest first. What one says may concern any project, so a caller who does not see all sees none.
    pub(crate) fn list_tasks(&self) -> Vec<Task> {
        if self.visibility().allows_all_projects() { self.tasks().list() } else { Vec::new() }
    }

    /// Follows a visible task: the receiver sees every change of it.
    pub(crate) fn find_task(&self, id: u64) -> Option<watch::Receiver<Task>> {
        self.tasks().get(id).filter(|_| self.sees_tasks())
    }

    /// Whether it shows tasks, which are about all projects.
    pub(crate) fn sees_tasks(&self) -> bool {
        self.visibility().allows_all_projects()
    }

    /// Starts a task, which sees everything, for any caller: the stores hold everything.
    pub(crate) fn start_task<F>(
        &self,
        kind: TaskKind,
        force: bool,
        work: impl FnOnce(Self, Reporter) -> F,
    ) -> Result<Task>
    where
        F: Future<Output = Result<serde_json::Value>> + Send + 'static,
    {
        let resources = self.with_full_visibility();
        let started = self.tasks().start(kind, force, Timestamp::now(), |reporter| work(resources, reporter));
        let task = started.map_err(|conflict| if self.sees_tasks() { conflict } else { other_work() })?;
        let task = task.borrow().clone();
        Ok(task)
    }

    /// Adds something that people should know to what happened while the stores were opened.
    pub(crate) fn notice(&self, notice: String) {
        self.shared.notices.lock().push(notice);
    }

    /// Takes a step that blocks off the async threads.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let resources = self.clone();
        blocking(move || step(&resources)).await
    }

    /// Reads the lists off the async threads.
    pub(crate) async fn with_lists<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Lists, &Visibility) -> std::result::Result<T, LedgerError> + Send + 'static,
    ) -> Result<T> {
        self.blocking(move |resources| Ok(step(&resources.ledger().lists(), resources.visibility())?)).await
    }

    /// Takes a step that reads graph and lists, so that it reads both at one sequence number: if changes are applied
    /// meanwhile, it is taken once more while none can be. It must not wait for a projection.
    pub(crate) async fn at_one_sequence_number<T, F>(&self, step: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let before = self.applied_numbers().await?;
        let answer = step().await;
        if before.are_equal() && self.applied_numbers().await? == before {
            return answer;
        }
        let _held = self.hold_projections().await;
        step().await
    }

    /// Up to which sequence numbers changes have been applied to graph and lists.
    pub(crate) async fn applied_numbers(&self) -> Result<AppliedNumbers> {
        self.blocking(|resources| {
            let (graph, lists) = (resources.graph().applied_seq()?, resources.ledger().lists().applied_seq()?);
            Ok(AppliedNumbers { graph, lists })
        })
        .await
    }

    /// Keeps changes from being applied to graph and lists, which are at one sequence number. Its holder must not
    /// wait for a projection.
    pub(crate) async fn hold_projections(&self) -> tokio::sync::RwLockReadGuard<'_, ()> {
        self.shared.uneven.read().await
    }

    /// Reads or writes the ledger off the async threads.
    pub(crate) async fn with_ledger<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Ledger) -> std::result::Result<T, LedgerError> + Send + 'static,
    ) -> Result<T> {
        let ledger = self.ledger().clone();
        blocking(move || Ok(step(&ledger)?)).await
    }

    /// Answers a query of the graph within [`QUERY_TIME`].
    pub(crate) async fn graph_query(&self, query: Query, bind: Vec<(&'static str, Value)>) -> Result<Vec<Row>> {
        self.graph_query_within(query, bind, QUERY_TIME).await
    }

    /// Answers a query of the graph, or fails after some time.
    pub(crate) async fn graph_query_within(
        &self,
        query: Query,
        bind: Vec<(&'static str, Value)>,
        most: Duration,
    ) -> Result<Vec<Row>> {
        let graph = self.graph();
        let cancel = Cancel::default();
        let handle = {
            let cancel = cancel.clone();
            tokio::task::spawn_blocking(move || graph.select(query, bind, &cancel))
        };
        match tokio::time::timeout(most, handle).await {
            Ok(rows) => Ok(rows??),
            Err(_) => {
                cancel.cancel();
                Err(Error::new(ErrorKind::Timeout, format!("{} took longer than {} s", query.file, most.as_secs()))
                    .with_hint("narrow it down"))
            }
        }
    }
}

/// Takes a step that blocks off the async threads.
pub(crate) async fn blocking<T: Send + 'static>(step: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(step).await?
}
