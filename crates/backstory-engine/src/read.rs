//! Looks things up: items from the ledger, edges from the graph, pages of issues and merge requests from the lists.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    edge::Edge,
    entity::{Discussion, Item, ItemKind, Person, Project, State},
    id::{NodeId, ThreadId, ThreadKind, is_address},
    role::{Roles, ServerRole},
};
use backstory_sources::forge::List;
use backstory_store::{
    graph::{AdjacentEdge, Direction, EdgeCount},
    index::Coverage,
    ledger::{Cursor, LedgerError, Run, Source, StoredItem, SyncFailure},
    lists::{self, PageRequest, ThreadOrder, ThreadQuery},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    quarantine::{MAX_NAMED, Quarantine, parse_if_readable},
    records::resolve_thread_kind,
    resources::Resources,
    search::{
        check_project,
        names::{absent_names, with_known_spelling},
    },
    settings::{Forge, ForgeKind},
    sync::{known_projects, list_forges},
    task::{Task, TaskKind, TaskStatus, list_tasks},
    use_case::UseCase,
};

/// Most items of one page of a list.
pub const MAX_PAGE: usize = 1000;

/// Requests a page of issues or merge requests, the last changed first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListThreads {
    /// Which of the two.
    pub kind: ThreadKind,
    /// Conditions that they meet.
    #[serde(default)]
    pub filter: ThreadFilter,
    /// Most of them, at most [`MAX_PAGE`].
    pub limit: usize,
    /// Where the previous page ends.
    #[serde(default)]
    pub after: Option<PageCursor>,
}

impl UseCase for ListThreads {
    const NAME: &'static str = "threads";
    type Answer = ThreadList;

    async fn run(self, resources: &Resources) -> Result<ThreadList> {
        list_threads(resources, self).await
    }
}

/// Conditions of a list of issues or merge requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageCursor {
    /// When its last item last changed.
    pub updated_at: Timestamp,
    /// Its last item.
    pub id: ThreadId,
}

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub struct ThreadPage {
    /// Issues or merge requests, newest change first.
    pub ids: Vec<PageCursor>,
    /// Whether there are more.
    pub more: bool,
}

/// A page of issues or merge requests with what a list shows of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadList {
    /// Issues or merge requests, the last changed first.
    pub threads: Vec<ThreadSummary>,
    /// Where the next page begins; `None` on the last page.
    pub next: Option<PageCursor>,
    /// Of an author or label that nothing has, the nearest that there is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// An issue or merge request in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadSummary {
    /// Its id.
    pub id: ThreadId,
    /// Number within the project.
    pub iid: u64,
    /// One-line title.
    pub title: String,
    /// State.
    pub state: State,
    /// User name of the author; `None` for a deleted account.
    pub author: Option<String>,
    /// Names of its labels, sorted.
    pub labels: Vec<String>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Address for people.
    pub url: String,
    /// Branch with the changes of a merge request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_branch: Option<String>,
    /// Branch that they are merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_branch: Option<String>,
}

impl ThreadSummary {
    /// Summarizes an item; `None` if it is neither an issue nor a merge request.
    pub(crate) fn from_item(item: &Item) -> Option<Self> {
        let (id, branches) = match item {
            Item::Issue(issue) => (&issue.id, None),
            Item::MergeRequest(mr) => (&mr.id, Some((mr.source_branch.clone(), mr.target_branch.clone()))),
            _ => return None,
        };
        let thread = item.as_thread()?.clone();
        let (source_branch, target_branch) = branches.unzip();
        Some(Self {
            id: id.clone(),
            iid: id.iid,
            title: thread.title,
            state: thread.state,
            author: thread.author,
            labels: thread.labels,
            created_at: thread.created_at,
            updated_at: thread.updated_at,
            url: thread.web_url,
            source_branch,
            target_branch,
        })
    }
}

/// Asks how many documents have vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoverageRequest {}

impl UseCase for CoverageRequest {
    const NAME: &'static str = "coverage";
    const ROLE: Option<ServerRole> = None;
    type Answer = Coverage;

    async fn run(self, resources: &Resources) -> Result<Coverage> {
        Ok(index_coverage(resources))
    }
}

/// How far the lists of a project have been read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SyncStatusRequest {
    /// Most runs, at most [`MAX_PAGE`].
    pub runs: usize,
}

impl UseCase for SyncStatusRequest {
    const NAME: &'static str = "sync-status";
    const ROLE: Option<ServerRole> = None;
    type Answer = SyncStatus;

    async fn run(self, resources: &Resources) -> Result<SyncStatus> {
        sync_status(resources, self.runs).await
    }
}

/// How fresh the stores are, compared with the forges and each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Newest change in the lists.
    pub lists_seq: u64,
    /// Newest change in the index.
    pub index_seq: u64,
    /// The sync that is running.
    pub running: Option<Task>,
    /// What the process does that has the stores.
    pub roles: Roles,
}

/// The projects, by path.
pub(crate) async fn list_projects(resources: &Resources) -> Result<Vec<Project>> {
    let items = resources.with_ledger(|ledger| ledger.items_of_kind(ItemKind::Project)).await?;
    let projects = items.iter().filter_map(|item| match parse_if_readable(resources, item)? {
        Item::Project(project) => Some(project),
        _ => None,
    });
    Ok(projects.collect())
}

/// The node that an id means: that of a commit may be abbreviated, and where issues and merge requests share their
/// numbers either may be called the other.
pub(crate) async fn resolve_id(resources: &Resources, id: NodeId) -> Result<NodeId> {
    resources
        .blocking(move |resources| {
            let NodeId::Commit { project, sha } = id else { return resolve_thread_kind(resources, id) };
            let found = resources.ledger().keys_with_prefix(&project, ItemKind::Commit, &sha, 2)?;
            let sha = if let [only] = found.as_slice() { only } else { &sha };
            Ok(NodeId::commit(&project, sha))
        })
        .await
}

/// The item that a node is, from the ledger; `None` if there is none. Notes are found through their discussion.
pub(crate) async fn load_items(resources: &Resources, ids: Vec<NodeId>) -> Result<BTreeMap<NodeId, Item>> {
    let stored = resources
        .with_ledger(move |ledger| {
            let mut found = Vec::new();
            for id in ids {
                let items = match (&id, ledger_key(&id)) {
                    (NodeId::Person(name), _) if is_address(name) => {
                        ledger.people_with_key(ItemKind::Identity, name)?
                    }
                    (_, Some((project, kind, key))) => ledger.item(&project, kind, &key)?.into_iter().collect(),
                    (_, None) => vec![],
                };
                found.push((id, items));
            }
            Ok(found)
        })
        .await?;
    let merge = |known: Item, other: Item| match (known, other) {
        (Item::Identity(known), Item::Identity(other)) => Item::Identity(known.merge(other)),
        (known, _) => known,
    };
    let parse =
        |items: Vec<StoredItem>| items.iter().filter_map(|item| parse_if_readable(resources, item)).reduce(merge);
    Ok(stored.into_iter().filter_map(|(id, items)| Some((id, parse(items)?))).collect())
}

/// One item.
pub(crate) async fn load_item(resources: &Resources, id: NodeId) -> Result<Option<Item>> {
    Ok(load_items(resources, vec![id]).await?.into_values().next())
}

/// The discussions of issues or merge requests that hold notes of people, oldest first.
pub(crate) async fn load_discussions(
    resources: &Resources,
    threads: Vec<ThreadId>,
) -> Result<BTreeMap<ThreadId, Vec<Discussion>>> {
    let stored = resources
        .with_ledger(move |ledger| {
            threads
                .into_iter()
                .map(|thread| Ok((ledger.thread(&thread.project, &thread.short())?, thread)))
                .collect::<std::result::Result<Vec<_>, _>>()
        })
        .await?;
    let mut all = BTreeMap::new();
    for (items, thread) in stored {
        all.insert(thread, parse_discussions(resources, &items));
    }
    Ok(all)
}

/// Those of the items that are discussions with notes of people and can be read, oldest first.
pub(crate) fn parse_discussions(resources: &Resources, items: &[StoredItem]) -> Vec<Discussion> {
    let discussions = items.iter().filter(|item| item.kind == ItemKind::Discussion);
    let mut discussions: Vec<Discussion> = discussions
        .filter_map(|item| match parse_if_readable(resources, item)? {
            Item::Discussion(discussion) if !discussion.notes.is_empty() => Some(discussion),
            _ => None,
        })
        .collect();
    discussions.sort_by_key(|d| (d.notes.first().map(|note| note.created_at), d.id.clone()));
    discussions
}

/// A page of issues or merge requests, newest change first.
pub(crate) async fn list_thread_ids(
    resources: &Resources,
    kind: ThreadKind,
    filter: &ThreadFilter,
    after: Option<PageCursor>,
    limit: usize,
) -> Result<ThreadPage> {
    check_listed_project(resources, filter).await?;
    let query = thread_query(kind, with_known_spelling(resources, filter).await?);
    let after = after.map(|end| lists::Cursor {
        order: end.updated_at.into(),
        project: end.id.project,
        key: lists::Key::Number(end.id.iid.cast_signed()),
    });
    let request = PageRequest { first: limit, after, with_total: false };
    let page = resources.with_lists(move |lists, visibility| lists.threads(&query, &request, visibility)).await?;
    let ids = page.rows.into_iter().map(|row| PageCursor { updated_at: row.updated_at, id: row.id });
    Ok(ThreadPage { ids: ids.collect(), more: page.next.is_some() })
}

/// Returns a page of issues or merge requests, the last changed first.
///
/// # Errors
/// A store cannot be read.
pub(crate) async fn list_threads(resources: &Resources, request: ListThreads) -> Result<ThreadList> {
    let ListThreads { kind, filter, limit, after } = request;
    let is_first = after.is_none();
    let page = list_thread_ids(resources, kind, &filter, after, limit).await?;
    let warnings = if is_first && page.ids.is_empty() { absent_names(resources, &filter).await? } else { Vec::new() };
    let ids: Vec<NodeId> = page.ids.iter().map(|end| end.id.clone().into()).collect();
    let items = load_items(resources, ids.clone()).await?;
    let next = page.ids.into_iter().next_back().filter(|_| page.more);
    let threads = ids.iter().filter_map(|id| ThreadSummary::from_item(items.get(id)?)).collect();
    Ok(ThreadList { threads, next, warnings })
}

/// How many issues or merge requests meet the conditions.
pub(crate) async fn count_threads(resources: &Resources, kind: ThreadKind, filter: &ThreadFilter) -> Result<u64> {
    check_listed_project(resources, filter).await?;
    let query = thread_query(kind, with_known_spelling(resources, filter).await?);
    resources.with_lists(move |lists, visibility| lists.count_threads(&query, visibility)).await
}

/// Refuses a filter that names a project of which nothing is known.
async fn check_listed_project(resources: &Resources, filter: &ThreadFilter) -> Result<()> {
    let Some(project) = &filter.project else { return Ok(()) };
    // What was read is listed, also of a project that is not configured.
    if load_items(resources, vec![NodeId::Project(project.clone())]).await?.is_empty() {
        check_project(resources, Some(project)).await?;
    }
    Ok(())
}

/// The edges at nodes, in the order of the nodes; each list is ordered by edge and other end.
pub(crate) async fn load_edges(
    resources: &Resources,
    ids: Vec<NodeId>,
    direction: Direction,
    only: Option<Edge>,
) -> Result<Vec<Vec<AdjacentEdge>>> {
    let graph = resources.graph();
    resources.blocking(move |_| ids.iter().map(|id| Ok(graph.edges(id, direction, only)?)).collect()).await
}

/// Counts the edges at a node: all, or those of some names.
pub(crate) async fn count_edges(
    resources: &Resources,
    id: NodeId,
    direction: Direction,
    names: Option<BTreeSet<Edge>>,
) -> Result<EdgeCount> {
    let graph = resources.graph();
    resources.blocking(move |_| Ok(graph.count_edges(&id, direction, names.as_ref())?)).await
}

/// Those of the nodes that the graph knows what they are; others are only referred to.
pub(crate) async fn existing_nodes(resources: &Resources, ids: Vec<NodeId>) -> Result<BTreeSet<NodeId>> {
    let graph = resources.graph();
    resources
        .blocking(move |_| {
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
pub(crate) fn index_coverage(resources: &Resources) -> Coverage {
    resources.index().coverage()
}

/// Number of the newest change in the ledger.
pub(crate) async fn last_change(resources: &Resources) -> Result<u64> {
    resources.with_ledger(|ledger| ledger.last_seq()).await
}

/// Where everything stands.
pub(crate) async fn sync_status(resources: &Resources, runs: usize) -> Result<SyncStatus> {
    let forges = list_forges(resources).await?;
    let known = known_projects(resources).await?;
    let of = |forge: Forge| forge.projects.into_iter().map(move |project| (forge.kind, project));
    let mut projects: Vec<(ForgeKind, String)> = forges.into_iter().flat_map(of).collect();
    projects.retain(|(_, project)| known.contains(project));
    let graph = resources.graph();
    let graph_seq = resources.blocking(move |_| Ok(graph.applied_seq()?)).await?;
    let index_seq = resources.index().applied_seq().await?;
    let running = list_tasks(resources)
        .into_iter()
        .find(|task| task.kind == TaskKind::Sync && task.status == TaskStatus::Running);
    let roles = resources.settings().roles.clone();
    resources
        .with_ledger(move |ledger| {
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
                lists_seq: ledger.lists().applied_seq()?,
                index_seq,
                running,
                roles,
            })
        })
        .await
}

/// A person by user name.
pub(crate) async fn find_person(resources: &Resources, username: &str) -> Result<Option<Person>> {
    Ok(list_people(resources).await?.into_iter().find(|person| person.username.eq_ignore_ascii_case(username)))
}

/// Everybody, by user name.
pub(crate) async fn list_people(resources: &Resources) -> Result<Vec<Person>> {
    let items = resources.with_ledger(|ledger| ledger.items_of_kind(ItemKind::Person)).await?;
    let people = items.iter().filter_map(|item| match parse_if_readable(resources, item)? {
        Item::Person(person) => Some(person),
        _ => None,
    });
    let mut people: Vec<Person> = people.collect();
    let key = |person: &Person| (person.username.clone(), person.forge_id);
    people.sort_by_key(key);
    // Each project that mentions somebody has a profile of them.
    people.dedup_by_key(|person| key(person));
    Ok(people)
}

/// The items of a kind that each of the projects has.
pub(crate) async fn project_parts(
    resources: &Resources,
    kind: ItemKind,
    projects: BTreeSet<String>,
) -> Result<BTreeMap<String, Vec<Item>>> {
    let items = resources.with_ledger(move |ledger| ledger.items_of_kind(kind)).await?;
    let mut parts: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    for item in items.iter().filter(|item| projects.contains(&item.project)) {
        parts.entry(item.project.clone()).or_default().extend(parse_if_readable(resources, item));
    }
    Ok(parts)
}

fn thread_query(kind: ThreadKind, filter: ThreadFilter) -> ThreadQuery {
    let filter = lists::ThreadFilter {
        projects: filter.project.into_iter().collect(),
        states: filter.state.into_iter().collect(),
        authors: filter.author.into_iter().collect(),
        any_label: filter.label.into_iter().collect(),
        ..lists::ThreadFilter::default()
    };
    ThreadQuery { kind, filter, order: ThreadOrder::Updated, direction: lists::Direction::Descending }
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
        // Each project has people of its own, by the forge's number for them; the others are within what they belong to.
        NodeId::Person(_) | NodeId::Note { .. } | NodeId::Entity { .. } | NodeId::DesignNote { .. } => None,
    }
}

/// The error for something that does not exist.
pub fn not_found(what: &str, id: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no {what} {id} in the index"))
        .with_hint("check the reference, or run 'backstory sync' if it is new")
}
