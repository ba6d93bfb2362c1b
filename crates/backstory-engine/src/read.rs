//! Looks things up: items from the ledger, edges and lists from the graph.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    edge::Edge,
    entity::{Discussion, Item, ItemKind, Person, Project, State},
    id::{NS, NodeId, ThreadId, ThreadKind, is_address},
    sight::Sight,
};
use backstory_sources::forge::List;
use backstory_store::{
    graph::{Direction, EdgeEnd, Value, queries},
    index::Coverage,
    ledger::{Cursor, LedgerError, Run, Source, StoredItem, SyncFailure},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Engine,
    error::{Error, ErrorKind, Result},
    quarantine::{MAX_NAMED, Quarantine},
    settings::{Forge, ForgeKind},
    task::{Task, TaskKind, TaskStatus},
    use_case::UseCase,
};

/// Most items of one page of a list.
pub const MAX_PAGE: usize = 1000;

/// Which issues or merge requests of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadFilter {
    /// Full path of the project.
    pub project: Option<String>,
    /// State.
    pub state: Option<State>,
    /// User name of the author, in any case.
    pub author: Option<String>,
    /// Name of a label, in any case.
    pub label: Option<String>,
}

/// Where a page of a list ends, so that the next begins after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEnd {
    /// When its last item last changed.
    pub updated_at: Timestamp,
    /// Its last item.
    pub id: ThreadId,
}

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub struct ThreadPage {
    /// Issues or merge requests, newest change first.
    pub ids: Vec<PageEnd>,
    /// Whether there are more.
    pub more: bool,
}

/// Asks how many documents have vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageRequest {}

impl UseCase for CoverageRequest {
    const NAME: &'static str = "coverage";
    type Answer = Coverage;

    async fn run(self, engine: &Engine) -> Result<Coverage> {
        Ok(engine.coverage())
    }
}

/// How much there is of everything.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Items of each project and kind in the ledger; notes are within discussions.
    pub items: BTreeMap<(String, ItemKind), u64>,
    /// Nodes of each class in the graph, by the name of the class.
    pub nodes: BTreeMap<String, u64>,
    /// Statements in the graph.
    pub quads: u64,
    /// Name of the embedding model.
    pub model: String,
    /// Secrets that were replaced before anything was stored, by project and rule.
    pub secrets: BTreeMap<(String, String), u64>,
}

/// How far the lists of a project have been read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectStatus {
    /// Full path.
    pub path: String,
    /// How far issues have been read.
    pub issues_cursor: Option<Cursor>,
    /// How far merge requests have been read.
    pub merge_requests_cursor: Option<Cursor>,
}

/// How fresh a project is, and how much of it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freshness {
    /// Full path.
    pub project: String,
    /// When the last sync that read it to the end began.
    pub synced_at: Option<Timestamp>,
    /// Why it could not be read from its forge when that was last tried.
    pub last_error: Option<String>,
    /// When that was tried.
    pub failed_at: Option<Timestamp>,
    /// Issues that are known.
    pub issues: u64,
    /// Merge requests that are known.
    pub merge_requests: u64,
    /// Confidential issues, as far as they are visible.
    pub confidential_issues: u64,
    /// Internal discussions of what is not confidential itself, as far as they are visible.
    pub internal_discussions: u64,
}

/// Asks how fresh the stores are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncStatusRequest {
    /// Most runs, at most [`MAX_PAGE`].
    pub runs: usize,
}

impl UseCase for SyncStatusRequest {
    const NAME: &'static str = "sync-status";
    type Answer = SyncStatus;

    async fn run(self, engine: &Engine) -> Result<SyncStatus> {
        engine.sync_status(self.runs).await
    }
}

/// How fresh the stores are, compared with the forges and each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SyncStatus {
    /// The newest runs, newest first.
    pub runs: Vec<Run>,
    /// Every project of a forge.
    pub projects: Vec<ProjectStatus>,
    /// Every project.
    pub freshness: Vec<Freshness>,
    /// What forges sent and cannot be read.
    pub quarantine: Quarantine,
    /// Newest change in the ledger.
    pub ledger_seq: u64,
    /// Newest change in the graph.
    pub graph_seq: u64,
    /// Newest change in the index.
    pub index_seq: u64,
    /// The sync that is running.
    pub running: Option<Task>,
}

impl Engine {
    /// The projects, by path.
    pub async fn projects(&self) -> Result<Vec<Project>> {
        let items = self.ledger_step(|ledger| ledger.items_of(ItemKind::Project)).await?;
        let projects = items.iter().filter_map(|item| match self.readable(item)? {
            Item::Project(project) => Some(project),
            _ => None,
        });
        Ok(projects.collect())
    }

    /// The node that an id means: that of a commit may be abbreviated, and where issues and merge requests share their
    /// numbers either may be called the other.
    pub async fn whole(&self, id: NodeId) -> Result<NodeId> {
        let engine = self.clone();
        self.blocking(move || {
            let NodeId::Commit { project, sha } = id else { return engine.settled(id) };
            let found = engine.ledger().keys_beginning(&project, ItemKind::Commit, &sha, 2)?;
            let sha = if let [only] = found.as_slice() { only } else { &sha };
            Ok(NodeId::commit(&project, sha))
        })
        .await
    }

    /// The item that a node is, from the ledger; `None` if there is none. Notes are found through their discussion.
    pub async fn items(&self, ids: Vec<NodeId>) -> Result<BTreeMap<NodeId, Item>> {
        let stored = self
            .ledger_step(move |ledger| {
                let mut found = Vec::new();
                for id in ids {
                    let item = match ledger_key(&id) {
                        Some((project, kind, key)) => ledger.item(&project, kind, &key)?,
                        None => None,
                    };
                    if let Some(item) = item {
                        found.push((id, item));
                    }
                }
                Ok(found)
            })
            .await?;
        Ok(stored.into_iter().filter_map(|(id, item)| Some((id, self.readable(&item)?))).collect())
    }

    /// One item.
    pub async fn item(&self, id: NodeId) -> Result<Option<Item>> {
        Ok(self.items(vec![id]).await?.into_values().next())
    }

    /// The discussions of issues or merge requests that hold notes of people, oldest first.
    pub async fn discussions(&self, threads: Vec<ThreadId>) -> Result<BTreeMap<ThreadId, Vec<Discussion>>> {
        let stored = self
            .ledger_step(move |ledger| {
                threads
                    .into_iter()
                    .map(|thread| Ok((ledger.thread(&thread.project, &thread.short())?, thread)))
                    .collect::<std::result::Result<Vec<_>, _>>()
            })
            .await?;
        let mut all = BTreeMap::new();
        for (items, thread) in stored {
            all.insert(thread, self.parse_discussions(&items));
        }
        Ok(all)
    }

    /// Those of the items that are discussions with notes of people and can be read, oldest first.
    pub(crate) fn parse_discussions(&self, items: &[StoredItem]) -> Vec<Discussion> {
        let discussions = items.iter().filter(|item| item.kind == ItemKind::Discussion);
        let mut discussions: Vec<Discussion> = discussions
            .filter_map(|item| match self.readable(item)? {
                Item::Discussion(discussion) if !discussion.notes.is_empty() => Some(discussion),
                _ => None,
            })
            .collect();
        discussions.sort_by_key(|d| (d.notes.first().map(|note| note.created_at), d.id.clone()));
        discussions
    }

    /// A page of issues or merge requests, newest change first.
    pub async fn threads(
        &self,
        kind: ThreadKind,
        filter: &ThreadFilter,
        after: Option<PageEnd>,
        limit: usize,
    ) -> Result<ThreadPage> {
        let limit = limit.min(MAX_PAGE);
        let mut bind = thread_bindings(kind, &self.as_written(filter).await?);
        bind.push(("beforeUpdated", Value::Instant(after.as_ref().map_or(Timestamp::MAX, |end| end.updated_at))));
        bind.push(("beforeThread", after.map_or_else(Value::any, |end| Value::Node(end.id.into()))));
        let rows = self.graph_query(queries::THREADS, bind).await?;
        let ends = rows.iter().filter_map(|row| match (row.node("thread")?, row.text("updated")?.parse().ok()?) {
            (NodeId::Thread(id), updated_at) => Some(PageEnd { updated_at, id }),
            _ => None,
        });
        let ids: Vec<PageEnd> = ends.take(limit + 1).collect();
        let more = ids.len() > limit;
        Ok(ThreadPage { ids: ids.into_iter().take(limit).collect(), more })
    }

    /// How many issues or merge requests meet the conditions.
    pub async fn thread_count(&self, kind: ThreadKind, filter: &ThreadFilter) -> Result<u64> {
        let bind = thread_bindings(kind, &self.as_written(filter).await?);
        let rows = self.graph_query(queries::THREAD_COUNT, bind).await?;
        Ok(rows.first().and_then(|row| row.number("count")).unwrap_or(0).unsigned_abs())
    }

    /// The edges at nodes, in the order of the nodes; each list is ordered by edge and other end.
    pub async fn edges(&self, ids: Vec<NodeId>, direction: Direction, only: Option<Edge>) -> Result<Vec<Vec<EdgeEnd>>> {
        let graph = self.graph();
        self.blocking(move || ids.iter().map(|id| Ok(graph.edges(id, direction, only)?)).collect()).await
    }

    /// Those of the nodes that the graph knows what they are; others are only referred to.
    pub async fn known(&self, ids: Vec<NodeId>) -> Result<BTreeSet<NodeId>> {
        let graph = self.graph();
        self.blocking(move || {
            let mut known = BTreeSet::new();
            for id in ids {
                if graph.exists(&id)? {
                    known.insert(id);
                }
            }
            Ok(known)
        })
        .await
    }

    /// How many documents have vectors. Costs nothing.
    pub fn coverage(&self) -> Coverage {
        self.index().coverage()
    }

    /// How much there is of everything.
    pub async fn stats(&self) -> Result<Stats> {
        let items = self.ledger_step(|ledger| ledger.counts()).await?;
        let rows = self.graph_query(queries::NODE_COUNTS, vec![]).await?;
        let veiled = self.sight() == Sight::Open && self.ledger_step(|ledger| ledger.has_confidential()).await?;
        let nodes = rows.iter().filter_map(|row| {
            let class = row.text("class")?.rsplit(['#', '/']).next()?.to_owned();
            // Some of them may be about what is not seen.
            if veiled && class == WRITTEN_NOTE {
                return None;
            }
            Some((class_name(&class).to_owned(), row.number("count")?.unsigned_abs()))
        });
        let graph = self.graph();
        let quads = self.blocking(move || Ok(graph.len()? as u64)).await?;
        let secrets = self.secrets().await?;
        let model = self.embedder().model().to_string();
        Ok(Stats { items, nodes: nodes.collect(), quads, model, secrets })
    }

    /// How many secrets were replaced before anything was stored, by project and rule.
    pub async fn secrets(&self) -> Result<BTreeMap<(String, String), u64>> {
        self.ledger_step(|ledger| ledger.secrets()).await
    }

    /// Number of the newest change in the ledger.
    pub async fn last_change(&self) -> Result<u64> {
        self.ledger_step(|ledger| ledger.last_seq()).await
    }

    /// Where everything stands.
    pub async fn sync_status(&self, runs: usize) -> Result<SyncStatus> {
        let forges = self.forges().await?;
        let known = self.known_projects().await?;
        let of = |forge: Forge| forge.projects.into_iter().map(move |project| (forge.kind, project));
        let projects: Vec<(ForgeKind, String)> = forges.into_iter().flat_map(of).collect();
        let graph = self.graph();
        let graph_seq = self.blocking(move || Ok(graph.applied_seq()?)).await?;
        let index_seq = self.index().applied_seq().await?;
        let running =
            self.all_tasks().into_iter().find(|task| task.kind == TaskKind::Sync && task.status == TaskStatus::Running);
        self.ledger_step(move |ledger| {
            let status = |(kind, project): (ForgeKind, String)| -> std::result::Result<_, LedgerError> {
                let cursor = |list: &List| ledger.cursor(&project, list.cursor());
                let lists = List::of(kind);
                let (issues_cursor, merge_requests_cursor) = (cursor(&lists[0])?, cursor(&lists[lists.len() - 1])?);
                Ok(ProjectStatus { issues_cursor, merge_requests_cursor, path: project })
            };
            let counts = ledger.counts()?;
            let failures = ledger.failures()?;
            let fresh = |project: String| -> std::result::Result<_, LedgerError> {
                let count = |kind| counts.get(&(project.clone(), kind)).copied().unwrap_or(0);
                let (issues, merge_requests) = (count(ItemKind::Issue), count(ItemKind::MergeRequest));
                let confidential = ledger.confidential(&project)?;
                let of_forge = |failure: &&SyncFailure| failure.source == Source::Forge && failure.project == project;
                let failure = failures.iter().find(of_forge).cloned();
                let (failed_at, last_error) = failure.map(|failure| (failure.at, failure.error)).unzip();
                Ok(Freshness {
                    synced_at: ledger.synced_at(&project)?,
                    last_error,
                    failed_at,
                    issues,
                    merge_requests,
                    confidential_issues: confidential.issues,
                    internal_discussions: confidential.discussions,
                    project,
                })
            };
            let (count, items) = ledger.quarantine(MAX_NAMED)?;
            Ok(SyncStatus {
                quarantine: Quarantine { count, items: items.into_iter().map(Into::into).collect() },
                freshness: known.into_iter().map(fresh).collect::<std::result::Result<_, _>>()?,
                runs: ledger.runs(runs.min(MAX_PAGE))?,
                projects: projects.into_iter().map(status).collect::<std::result::Result<_, _>>()?,
                ledger_seq: ledger.last_seq()?,
                graph_seq,
                index_seq,
                running,
            })
        })
        .await
    }

    /// A person by user name.
    pub async fn person(&self, username: &str) -> Result<Option<Person>> {
        Ok(self.people().await?.into_iter().find(|person| person.username.eq_ignore_ascii_case(username)))
    }

    /// Everybody, by user name.
    pub async fn people(&self) -> Result<Vec<Person>> {
        let items = self.ledger_step(|ledger| ledger.items_of(ItemKind::Person)).await?;
        let people = items.iter().filter_map(|item| match self.readable(item)? {
            Item::Person(person) => Some(person),
            _ => None,
        });
        let mut people: Vec<Person> = people.collect();
        people.sort_by(|a, b| a.username.cmp(&b.username));
        Ok(people)
    }

    /// The items of a kind that each of the projects has.
    pub async fn project_parts(
        &self,
        kind: ItemKind,
        projects: BTreeSet<String>,
    ) -> Result<BTreeMap<String, Vec<Item>>> {
        let items = self.ledger_step(move |ledger| ledger.items_of(kind)).await?;
        let mut parts: BTreeMap<String, Vec<Item>> = BTreeMap::new();
        for item in items.iter().filter(|item| projects.contains(&item.project)) {
            parts.entry(item.project.clone()).or_default().extend(self.readable(item));
        }
        Ok(parts)
    }
}

fn thread_bindings(kind: ThreadKind, filter: &ThreadFilter) -> Vec<(&'static str, Value)> {
    let class = match kind {
        ThreadKind::Issue => "Issue",
        ThreadKind::MergeRequest => "MergeRequest",
    };
    let node = |id: Option<NodeId>| id.map_or_else(Value::any, Value::Node);
    vec![
        ("class", Value::Iri(format!("{NS}{class}"))),
        ("wantedProject", node(filter.project.clone().map(NodeId::Project))),
        ("wantedState", Value::Text(filter.state.map_or("", State::as_str).to_owned())),
        ("wantedAuthor", node(filter.author.clone().map(NodeId::Person))),
        ("wantedLabel", Value::Text(filter.label.clone().unwrap_or_default())),
    ]
}

/// Where the ledger keeps what a node is.
pub(crate) fn ledger_key(id: &NodeId) -> Option<(String, ItemKind, String)> {
    match id {
        NodeId::Project(project) => Some((project.clone(), ItemKind::Project, "project".into())),
        NodeId::Thread(thread) => {
            let kind = match thread.kind {
                ThreadKind::Issue => ItemKind::Issue,
                ThreadKind::MergeRequest => ItemKind::MergeRequest,
            };
            Some((thread.project.clone(), kind, thread.short()))
        }
        NodeId::Discussion { thread, id } => {
            Some((thread.project.clone(), ItemKind::Discussion, format!("{}~{id}", thread.short())))
        }
        NodeId::Label { project, name } => Some((project.clone(), ItemKind::Label, name.clone())),
        NodeId::Milestone { project, iid } => Some((project.clone(), ItemKind::Milestone, iid.to_string())),
        NodeId::Commit { project, sha } => Some((project.clone(), ItemKind::Commit, sha.clone())),
        NodeId::File { project, path } => Some((project.clone(), ItemKind::File, path.clone())),
        NodeId::Branch { project, name } => Some((project.clone(), ItemKind::Branch, name.clone())),
        NodeId::Tag { project, name } => Some((project.clone(), ItemKind::Tag, name.clone())),
        // People are kept by the forge's number for them; the others within what they belong to.
        NodeId::Person(name) if is_address(name) => Some((String::new(), ItemKind::Identity, name.clone())),
        NodeId::Person(_) | NodeId::Note { .. } | NodeId::Entity { .. } | NodeId::DesignNote { .. } => None,
    }
}

/// What people call a class: those that other ontologies have are called otherwise there.
/// Class of the notes that a language model wrote.
const WRITTEN_NOTE: &str = "WrittenNote";

fn class_name(class: &str) -> &str {
    match class {
        "Thread" => "Discussion",
        "Post" => "Note",
        other => other,
    }
}

/// The error for something that does not exist.
pub fn not_found(what: &str, id: &str) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("there is no {what} {id} in the index; check the reference, or run 'backstory sync' if it is new"),
    )
}
