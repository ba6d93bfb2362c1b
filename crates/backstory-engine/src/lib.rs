//! The use cases of backstory: sync, projection, embedding, search, checks. Nothing here knows HTTP serving, GraphQL
//! or a terminal.
//!
//! [`Engine`] only delegates. A use case is a request type whose [`run`](use_case::UseCase::run) takes the
//! [`Resources`], and free functions that it imports.
#![recursion_limit = "256"] // what LanceDB awaits is nested deep

pub mod access;
pub mod ask;
pub mod backup;
mod catalog;
pub mod changes;
pub mod chat;
pub mod check;
mod citations;
mod clones;
mod co_changes;
pub mod code;
mod completion;
pub mod confidential;
pub mod context;
mod decision_status;
pub mod embed;
mod embedding;
pub mod enrich;
pub mod error;
pub mod eval;
pub mod explore;
pub mod export;
pub mod files;
pub mod forget;
pub mod generated;
mod generation;
mod groups;
mod history;
mod introduction;
pub mod limits;
mod links;
pub mod llm;
pub mod locate;
pub mod map_lines;
pub mod metrics;
mod nearest;
mod open;
mod pages;
mod payload;
pub mod person;
mod projection;
pub mod provider;
pub mod quarantine;
pub mod read;
mod rebuild;
mod records;
mod refresh;
pub mod releases;
pub mod removed;
mod repair;
pub mod repository;
pub mod rerank;
pub mod resources;
pub mod revisions;
pub mod search;
pub mod settings;
mod shell;
pub mod shipped;
pub mod show;
pub mod snapshot;
pub mod sparql;
mod state;
pub mod stats;
pub mod status;
pub mod summary;
mod support;
mod sync;
pub mod task;
pub mod threads;
pub mod tokens;
pub mod trace;
pub mod use_case;
pub mod use_cases;
mod vectors;
mod views;
mod walk;
pub mod worker;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use backstory_model::{
    access::{Caller, Grant},
    code::Lines,
    commit::Sha,
    edge::Edge,
    entity::{Discussion, Item, Person},
    id::{NodeId, ThreadId},
    lineage::Lineage,
    pack::{ContextPack, chunk::ChunkRef},
    visibility::Visibility,
};
use backstory_store::{
    graph::{AdjacentEdge, Direction, EdgeCount, InferredLink},
    ledger::{Chat, IssuedToken, Job, LedgerError},
    lists::{
        Activity, CodeRow, CommitGroup, CommitQuery, DiscussionGroup, DiscussionQuery, DurationKind, EntityGroup,
        EntityQuery, FileGroup, FileQuery, GroupDurations, Groups, LanguageRow, ListQuery, Lists, Page, PageRequest,
        Period, PersonRow, RowQuery, ThreadGroup, ThreadQuery, TimeRange, Total,
    },
};
use futures::future::BoxFuture;
use jiff::Timestamp;
use reqwest::header::HeaderMap;
use serde_json::Value;
use tokio::sync::{RwLockReadGuard, watch};

use access::Recording;
use ask::StatementSender;
use changes::NodeChanges;
use chat::{Message, SendMessage};
use context::{ChunkVerification, ContextRequest};
use embed::Embedder;
use error::Result;
use explore::{EdgeMeasure, GraphEdge};
use files::{ChunksRequest, Definitions, DefinitionsRequest, FileRequest, FileVersion};
use generated::{CommitClassification, ThreadNotes};
use metrics::StoreMetrics;
use releases::Release;
use resources::{AppliedNumbers, Resources};
use search::{SearchRequest, SearchResponse};
use settings::{ForgeKind, Settings};
use snapshot::IndexState;
use summary::Summary;
use task::Task;
use use_case::UseCase;
use worker::{ListJobs, WebhookOutcome};

pub use backstory_model as model;
pub use backstory_sources as sources;
pub use backstory_store::{bundle, graph, guard, index, ledger, lists};
pub use embedding::EmbedRequest;
pub use links::MeasureLinks;
pub use rebuild::{Projection, RebuildRequest};
pub use sync::{Part, Scope, SyncRequest};

/// The stores of a data directory and the use cases over them, as far as a [visibility](Engine::with_visibility) shows
/// them. Cheap to clone.
///
/// One process at a time may open a data directory; the caller sees to that. All errors are those of the use case.
#[derive(Clone)]
pub struct Engine(Resources);

#[allow(clippy::missing_errors_doc, reason = "the functions that do the work say when they fail")]
impl Engine {
    /// Opens the stores of a data directory, creates them if they are absent, rebuilds a damaged projection, and
    /// applies to the projections what the ledger has more. That something which follows from the ledger cannot be made is
    /// a [notice](Self::notices) and no error: reading continues with what there is, and a sync may repair it.
    ///
    /// # Errors
    /// The ledger cannot be opened, or a store was written by a newer program.
    pub async fn open(data_dir: &Path, settings: Settings) -> Result<Self> {
        open::open_resources(data_dir, settings).await.map(Self)
    }

    /// Answers a request.
    // Boxed, since the types of the futures inside are too deep for compilers of callers.
    pub fn answer<U: UseCase>(&self, request: U) -> BoxFuture<'_, Result<U::Answer>> {
        Box::pin(access::answer(&self.0, request))
    }

    /// Returns a handle for a caller: it shows what they see and answers what they may request.
    #[must_use]
    pub fn with_caller(&self, caller: &Caller) -> Self {
        Self(self.0.with_caller(caller))
    }

    /// Says whether a request may be made, before it is read; answering it says so too.
    pub fn permit<U: UseCase>(&self) -> Result<()> {
        access::permit::<U>(&self.0)
    }

    /// The token with this text, if there is one that is neither revoked nor expired. It takes the same time whatever
    /// the text is like.
    pub fn find_token(&self, text: &str) -> Option<IssuedToken> {
        self.0.shared.access.find(text, Timestamp::now())
    }

    /// The token with this id, if it is neither revoked nor expired.
    pub fn valid_token(&self, id: &str) -> Option<IssuedToken> {
        self.0.shared.access.valid(id, Timestamp::now())
    }

    /// Whether a token was made that is not revoked.
    pub fn has_tokens(&self) -> bool {
        self.0.shared.access.has_tokens()
    }

    /// Whether a language model is configured.
    pub fn has_language_model(&self) -> bool {
        self.0.chat_model().is_some()
    }

    /// Remembers that a token is used now.
    pub fn record_token_use(&self, id: &str) {
        access::record_token_use(&self.0, id);
    }

    /// Returns what a grant shows of the projects that there are now.
    pub async fn visibility_of(&self, grant: &Grant) -> Result<Visibility> {
        access::visibility_of(&self.0, grant).await
    }

    /// Begins to record an operation of GraphQL, if its caller is one whose questions are recorded: its name if it has
    /// one, its document and the variables, an object; nothing of these if the document has a mutation.
    pub fn record_graphql(&self, name: Option<&str>, document: &str, variables: Value) -> Option<Recording> {
        access::record_graphql(&self.0, name, document, variables)
    }

    /// Writes what waits for the audit log.
    pub async fn flush_audit_log(&self) -> Result<()> {
        access::flush(&self.0).await
    }

    /// Returns a handle that shows what a visibility allows, as if nothing else existed.
    #[must_use]
    pub fn with_visibility(&self, visibility: Visibility) -> Self {
        Self(self.0.with_visibility(visibility))
    }

    /// What it shows.
    pub fn visibility(&self) -> &Visibility {
        self.0.visibility()
    }

    /// Reads the lists.
    pub async fn with_lists<T: Send + 'static>(
        &self,
        step: impl FnOnce(&Lists, &Visibility) -> std::result::Result<T, LedgerError> + Send + 'static,
    ) -> Result<T> {
        self.0.with_lists(step).await
    }

    /// Up to which sequence numbers changes have been applied to graph and lists.
    pub async fn applied_numbers(&self) -> Result<AppliedNumbers> {
        self.0.applied_numbers().await
    }

    /// Keeps changes from being applied to graph and lists. Its holder must not wait for a projection.
    pub async fn hold_projections(&self) -> RwLockReadGuard<'_, ()> {
        self.0.hold_projections().await
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &Settings {
        self.0.settings()
    }

    /// The embedder.
    pub fn embedder(&self) -> &Embedder {
        self.0.embedder()
    }

    /// What happened while the stores were opened and what was repaired since, for people.
    pub fn notices(&self) -> Vec<String> {
        repair::notices(&self.0)
    }

    /// What was rebuilt since the stores were opened, because it proved damaged: a sentence each time, for people.
    pub fn repairs(&self) -> Vec<String> {
        repair::repairs(&self.0)
    }

    /// Rebuilds projections that proved damaged, and waits until that is done, even if another thread does it.
    pub async fn repair(&self) -> Result<()> {
        repair::repair(&self.0).await
    }

    /// Rebuilds projections in the background if they proved damaged.
    pub fn repair_in_background(&self) {
        repair::repair_in_background(&self.0);
    }

    /// Returns measurements of the stores.
    pub async fn store_metrics(&self) -> Result<StoreMetrics> {
        metrics::store_metrics(&self.0).await
    }

    /// Follows a task: the receiver sees every change of it.
    pub fn watch_task(&self, id: u64) -> Option<watch::Receiver<Task>> {
        self.0.find_task(id)
    }

    /// Does jobs as they become due, until `stop` is true.
    pub async fn run_worker(&self, stop: watch::Receiver<bool>) -> Result<()> {
        worker::run_worker(&self.0, stop).await
    }

    /// Says by its headers whether a webhook is expected, before its body is read.
    pub fn expects_webhook(&self, kind: ForgeKind, headers: &HeaderMap) -> Result<()> {
        worker::expects_webhook(&self.0, kind, headers)
    }

    /// Records a webhook and queues what must be done about it.
    pub async fn receive_webhook(&self, kind: ForgeKind, headers: &HeaderMap, body: &[u8]) -> Result<WebhookOutcome> {
        worker::receive_webhook(&self.0, kind, headers, body).await
    }

    /// Finds a job by its number.
    pub async fn find_job(&self, id: i64) -> Result<Job> {
        worker::queue::find_job(&self.0, id).await
    }

    /// Finds jobs by their numbers, those that there are.
    pub async fn find_jobs(&self, ids: Vec<i64>) -> Result<Vec<Job>> {
        worker::queue::find_jobs(&self.0, ids).await
    }

    /// Finds a job once it has ended, or as it is after that time.
    pub async fn wait_for_job(&self, id: i64, time: Duration) -> Result<Job> {
        worker::queue::wait_for_job(&self.0, id, time).await
    }

    /// Lists jobs, newest first.
    pub async fn list_jobs(&self, request: ListJobs) -> Result<Vec<Job>> {
        worker::queue::list_jobs(&self.0, request).await
    }

    /// Returns the task that does a job now, if it reads a whole project.
    pub fn task_of_job(&self, id: i64) -> Option<Task> {
        worker::queue::task_of_job(&self.0, id)
    }

    /// Searches; unlike a [`SearchRequest`] that is [answered](Self::answer), with whole documents.
    pub async fn search_documents(&self, request: SearchRequest) -> Result<SearchResponse> {
        search::search_documents(&self.0, request).await
    }

    /// Builds a context pack. The same request on the same state of the index gives the same bytes.
    pub async fn build_pack(&self, request: ContextRequest) -> Result<ContextPack> {
        Box::pin(context::build_pack(&self.0, request)).await
    }

    /// Reads again what a chunk of a pack says and compares hashes.
    pub async fn verify_chunk(&self, chunk: &ChunkRef) -> Result<ChunkVerification> {
        context::verify::verify_chunk(&self.0, chunk).await
    }

    /// Returns what the index holds.
    pub async fn load_state(&self) -> Result<IndexState> {
        snapshot::load_state(&self.0).await
    }

    /// Returns the release in which a commit first shipped.
    pub async fn first_release(&self, project: String, commit: String) -> Result<Option<Release>> {
        self.0.blocking(move |resources| releases::first_release(resources, &project, &commit)).await
    }

    /// Finds the release of a tag; `None` if neither repository nor forge have it.
    pub async fn find_release(&self, project: String, tag: String) -> Result<Option<Release>> {
        self.0.blocking(move |resources| releases::find_release(resources, &project, &tag)).await
    }

    /// Finds the commit that a branch, tag or name of a commit means in the repository of a project.
    pub async fn find_commit(&self, project: String, rev: String) -> Result<Sha> {
        self.0.blocking(move |resources| trace::target::find_commit(resources, &project, &rev)).await
    }

    /// Finds a conversation by its number.
    pub async fn find_chat(&self, id: i64) -> Result<Option<Chat>> {
        chat::find_chat(&self.0, id).await
    }

    /// Lists the messages of a conversation in order, those after number `after`, at most `limit`.
    pub async fn list_messages(&self, chat: i64, after: u64, limit: usize) -> Result<Vec<Message>> {
        chat::list_messages(&self.0, chat, after, limit).await
    }

    /// Asks a question in a conversation and keeps it with its answer. Statements are sent as they are found.
    pub async fn send_message(&self, request: SendMessage, telling: Option<StatementSender>) -> Result<Message> {
        let recording = access::begin_recording(&self.0, &request);
        let work = chat::send_message(&self.0, request, telling);
        Box::pin(access::answer_recorded::<SendMessage, _>(&self.0, recording, work)).await
    }

    /// Returns the commit at which a file is blamed, and where all its lines come from.
    pub async fn blame_file(
        &self,
        project: Option<&str>,
        path: &str,
        rev: Option<&str>,
    ) -> Result<(Sha, Arc<Lineage>)> {
        code::blame_file(&self.0, project, path, rev).await
    }

    /// Returns lines of a file's content, joined with line feeds, without the secrets in them.
    pub async fn read_lines(&self, project: &str, blob: Sha, lines: Lines) -> Result<String> {
        clones::read_lines(&self.0, project, blob, lines).await
    }

    /// Says what is wrong with the clones of repositories, by project; `None` for one that can be read.
    pub async fn check_clones(&self) -> Result<Vec<(String, Option<repository::CloneProblem>)>> {
        repository::check_clones(&self.0).await
    }

    /// Measures how sure edges are, in their order.
    pub async fn measure_edges(&self, edges: Vec<GraphEdge>) -> Result<Vec<EdgeMeasure>> {
        explore::measure_edges(&self.0, edges).await
    }

    /// Returns the merge requests that introduced each of the commits, the nearest first.
    pub async fn merge_requests_of_commits(&self, ids: Vec<NodeId>) -> Result<Vec<Vec<ThreadId>>> {
        code::merge_requests_of_commits(&self.0, ids).await
    }

    /// Returns the names of the indexed branches that have a commit.
    pub async fn branches_with_commit(&self, project: &str, sha: &str) -> Result<Vec<String>> {
        code::branches_with_commit(&self.0, project, sha).await
    }

    /// Returns how much of each programming language a project has at its indexed head, the most bytes first.
    pub async fn list_languages(&self, project: &str) -> Result<Vec<LanguageRow>> {
        let project = project.to_owned();
        self.0.with_lists(move |lists, visibility| lists.languages(&project, visibility)).await
    }

    /// Returns the type of a commit that a language model chose.
    pub async fn classification_by_model(&self, commit: &NodeId) -> Result<Option<CommitClassification>> {
        generated::results::classification_by_model(&self.0, commit).await
    }

    /// Returns the design notes that a language model wrote of an issue or merge request.
    pub async fn notes_by_model(&self, id: ThreadId) -> Result<Option<ThreadNotes>> {
        generated::results::notes_by_model(&self.0, id).await
    }

    /// Returns the summary that a language model wrote of an issue, merge request, commit or file.
    pub async fn find_summary(&self, id: NodeId) -> Result<Option<Summary>> {
        summary::find_summary(&self.0, id).await
    }

    /// Returns what a file is at a revision, to those who may ask for its chunks.
    pub async fn find_file_version(&self, request: ChunksRequest) -> Result<FileVersion> {
        access::permit::<ChunksRequest>(&self.0)?;
        files::find_version(&self.0, request).await
    }

    /// Returns the code entities of a file or directory at a revision, to those who may ask for a file.
    pub async fn list_definitions(&self, request: DefinitionsRequest) -> Result<Definitions> {
        access::permit::<FileRequest>(&self.0)?;
        files::list_definitions(&self.0, request).await
    }

    /// Returns the sequence number up to which what changed can be read.
    pub async fn readable_up_to(&self) -> Result<u64> {
        changes::readable_up_to(&self.0).await
    }

    /// Returns the nodes of projects, or of all, that changed after a sequence number and can be read.
    pub async fn nodes_changed_after(&self, after: u64, projects: &[String]) -> Result<NodeChanges> {
        changes::nodes_changed_after(&self.0, after, projects).await
    }

    /// Returns a page of the nodes that changed after a sequence number; without one an empty page, which ends at the newest
    /// change.
    pub async fn page_of_changes(&self, after: Option<u64>, projects: &[String], first: usize) -> Result<NodeChanges> {
        changes::page_of_changes(&self.0, after, projects, first).await
    }

    /// Returns the number of the newest change in the ledger.
    pub async fn last_change(&self) -> Result<u64> {
        read::last_change(&self.0).await
    }

    /// Returns how many documents the index has beside the current ones. Costs little.
    pub fn count_version_documents(&self) -> u64 {
        self.0.index().version_documents()
    }

    /// Whether any document, a current one or another, waits for vectors. Costs little.
    pub fn has_pending_vectors(&self) -> bool {
        !self.0.index().pending(None, 1).is_empty()
    }

    /// Resolves abbreviated ids of commits, and the kind of a thread where issues and merge requests share their numbers.
    pub async fn resolve_id(&self, id: NodeId) -> Result<NodeId> {
        read::resolve_id(&self.0, id).await
    }

    /// Loads the items that nodes are. Notes are found through their discussion.
    pub async fn load_items(&self, ids: Vec<NodeId>) -> Result<BTreeMap<NodeId, Item>> {
        read::load_items(&self.0, ids).await
    }

    /// Loads the discussions of issues or merge requests that hold notes of people, oldest first.
    pub async fn load_discussions(&self, threads: Vec<ThreadId>) -> Result<BTreeMap<ThreadId, Vec<Discussion>>> {
        read::load_discussions(&self.0, threads).await
    }

    /// Returns a page of a list.
    pub async fn list_rows<Q: RowQuery>(&self, query: Q, request: PageRequest) -> Result<Page<Q::Row>> {
        pages::list_rows(&self.0, query, request).await
    }

    /// Returns the names of the commits that a revision reaches, the indexed head if none is given, without those that another
    /// one reaches.
    pub async fn commits_in_range(
        &self,
        project: String,
        from: Option<String>,
        to: Option<String>,
    ) -> Result<Vec<String>> {
        pages::commits_in_range(&self.0, project, from, to).await
    }

    /// Refuses projects of which nothing is known.
    pub async fn check_projects(&self, projects: &[String]) -> Result<()> {
        pages::check_projects(&self.0, projects).await
    }

    /// Counts the rows of a list.
    pub async fn count_rows(&self, query: ListQuery) -> Result<Total> {
        pages::count_rows(&self.0, query).await
    }

    /// Returns what the lists have of commits, files and code entities.
    pub async fn find_rows(&self, ids: Vec<NodeId>) -> Result<BTreeMap<NodeId, CodeRow>> {
        self.0.with_lists(move |lists, visibility| lists.rows(&ids, visibility)).await
    }

    /// Groups issues or merge requests.
    pub async fn group_threads(&self, query: ThreadQuery, by: ThreadGroup) -> Result<Groups> {
        pages::group_threads(&self.0, query, by).await
    }

    /// Measures how long issues or merge requests took until something happened: of all of them, or by group.
    pub async fn measure_durations(
        &self,
        query: ThreadQuery,
        kind: DurationKind,
        by: Option<ThreadGroup>,
    ) -> Result<GroupDurations> {
        pages::measure_durations(&self.0, query, kind, by).await
    }

    /// Groups discussions.
    pub async fn group_discussions(&self, query: DiscussionQuery, by: DiscussionGroup) -> Result<Groups> {
        pages::group_discussions(&self.0, query, by).await
    }

    /// Groups commits.
    pub async fn group_commits(&self, query: CommitQuery, by: CommitGroup) -> Result<Groups> {
        pages::group_commits(&self.0, query, by).await
    }

    /// Groups files.
    pub async fn group_files(&self, query: FileQuery, by: FileGroup) -> Result<Groups> {
        pages::group_files(&self.0, query, by).await
    }

    /// Groups code entities.
    pub async fn group_entities(&self, query: EntityQuery, by: EntityGroup) -> Result<Groups> {
        pages::group_entities(&self.0, query, by).await
    }

    /// Returns what happened in projects, or in all, in each period of a time.
    pub async fn activity(&self, projects: Vec<String>, period: Period, time: TimeRange) -> Result<Vec<Activity>> {
        pages::activity(&self.0, projects, period, time).await
    }

    /// Finds a person by user name or address, in any case, with what they did in projects, or in all.
    pub async fn find_contributor(&self, name: String, projects: Vec<String>) -> Result<Option<PersonRow>> {
        pages::find_contributor(&self.0, name, projects).await
    }

    /// Names what is nearest to people, labels, milestones and paths in the filter of an empty list that nothing has.
    pub async fn absent_names<Q: RowQuery>(&self, query: Q, is_known_empty: bool) -> Result<Vec<String>> {
        pages::absent_names(&self.0, query, is_known_empty).await
    }

    /// Loads the edges at nodes, in the order of the nodes; each list is ordered by edge and other end.
    pub async fn load_edges(
        &self,
        ids: Vec<NodeId>,
        direction: Direction,
        only: Option<Edge>,
    ) -> Result<Vec<Vec<AdjacentEdge>>> {
        read::load_edges(&self.0, ids, direction, only).await
    }

    /// Counts the edges at a node: all, or those of some names.
    pub async fn count_edges(
        &self,
        id: NodeId,
        direction: Direction,
        names: Option<BTreeSet<Edge>>,
    ) -> Result<EdgeCount> {
        read::count_edges(&self.0, id, direction, names).await
    }

    /// Loads the inferred links at nodes, in the order of the nodes.
    pub async fn inferred_links(&self, ids: Vec<NodeId>) -> Result<Vec<Vec<InferredLink>>> {
        links::inferred_links(&self.0, ids).await
    }

    /// Returns those of the nodes that the graph knows what they are; others are only referred to.
    pub async fn existing_nodes(&self, ids: Vec<NodeId>) -> Result<BTreeSet<NodeId>> {
        read::existing_nodes(&self.0, ids).await
    }

    /// Finds whom a user name, an address or a name that nobody else has means: the user name, or the address that stands for
    /// all of theirs.
    pub async fn find_person(&self, name: &str) -> Result<Option<String>> {
        pages::find_person(&self.0, name.to_owned()).await
    }

    /// Lists everybody, by user name.
    pub async fn list_people(&self) -> Result<Vec<Person>> {
        read::list_people(&self.0).await
    }
}
