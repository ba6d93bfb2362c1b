//! Reads in batches: what the resolvers of one level ask for is read from the stores at once, and cached for the
//! operation.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_graphql::{
    Context, Result,
    dataloader::{DataLoader, HashMapCache, Loader},
};
use backstory_engine::{
    Engine,
    error::{Error, ErrorKind, Result as EngineResult},
    explore::{EdgeMeasure, GraphEdge},
    files::{DiffRequest, FileHunks},
    graph::{AdjacentEdge, Direction, InferredLink},
    ledger::Job,
    lists::{CodeRow, ThreadRow},
    model::{
        edge::Edge,
        entity::{Discussion, Item, Person},
        id::{NodeId, ThreadId, is_address},
        visibility::Visibility,
    },
};
use parking_lot::Mutex;

/// The loaders of one operation.
pub(super) type Loaders = DataLoader<Reader, HashMapCache>;

/// People by user name.
type ByName = Arc<HashMap<String, Arc<Item>>>;

/// Visibilities whose people are remembered.
const MAX_VISIBILITIES: usize = 16;

/// Everybody whom a visibility shows, as of the change with that number. The ledger keeps people by the forge's numbers,
/// so all of them are read to find some; they are read again only when the ledger has changed.
#[derive(Default)]
pub(super) struct People(Mutex<HashMap<Visibility, (u64, ByName)>>);

impl People {
    async fn get(&self, engine: &Engine) -> EngineResult<ByName> {
        let seq = engine.last_change().await?;
        if let Some((known, people)) = self.0.lock().get(engine.visibility())
            && *known == seq
        {
            return Ok(people.clone());
        }
        let by_name = |person: Person| (person.username.clone(), Arc::new(Item::Person(person)));
        let people: ByName = Arc::new(engine.list_people().await?.into_iter().map(by_name).collect());
        let mut remembered = self.0.lock();
        if remembered.len() >= MAX_VISIBILITIES {
            remembered.clear();
        }
        remembered.insert(engine.visibility().clone(), (seq, people.clone()));
        Ok(people)
    }
}

/// How much one operation read, for the log, and for finding the query that reads too often.
#[derive(Debug, Default)]
pub(super) struct Reads {
    batches: AtomicU64,
    keys: AtomicU64,
}

impl Reads {
    fn add(&self, keys: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.keys.fetch_add(keys as u64, Ordering::Relaxed);
    }

    /// How many times the stores were read, and for how many things in all.
    pub(super) fn totals(&self) -> (u64, u64) {
        (self.batches.load(Ordering::Relaxed), self.keys.load(Ordering::Relaxed))
    }
}

/// Reads for the loaders.
pub(super) struct Reader {
    engine: Engine,
    people: Arc<People>,
    reads: Arc<Reads>,
}

impl Reader {
    pub(super) fn loaders(engine: Engine, people: Arc<People>, reads: Arc<Reads>) -> Loaders {
        DataLoader::with_cache(Self { engine, people, reads }, tokio::spawn, HashMapCache::default())
    }
}

/// A discussion by what it belongs to and its id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DiscussionKey(ThreadId, String);

/// The edges at a node, all or those of one name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct EdgesKey(NodeId, Direction, Option<Edge>);

/// The inferred links at a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct InferredKey(NodeId);

/// What the lists have of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RowKey(NodeId);

/// What the lists have of an issue or merge request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ThreadRowKey(ThreadId);

/// The merge requests that introduced a commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct IntroducingKey(NodeId);

/// How sure an edge is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MeasureKey(GraphEdge);

/// A job by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct JobKey(i64);

/// What a commit changes in the file of a path, with that many lines around.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct HunksKey(NodeId, String, u32);

/// Whether the graph knows what a node is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct KnownKey(NodeId);

impl Loader<NodeId> for Reader {
    type Value = Option<Arc<Item>>;
    type Error = Error;

    async fn load(&self, keys: &[NodeId]) -> Result<HashMap<NodeId, Self::Value>, Error> {
        self.reads.add(keys.len());
        let (people, others): (Vec<&NodeId>, Vec<&NodeId>) =
            keys.iter().partition(|id| matches!(id, NodeId::Person(name) if !is_address(name)));
        let mut found: HashMap<NodeId, Self::Value> = keys.iter().map(|id| (id.clone(), None)).collect();
        if !people.is_empty() {
            let known = self.people.get(&self.engine).await?;
            for id in people {
                if let NodeId::Person(username) = id {
                    found.insert(id.clone(), known.get(username).cloned());
                }
            }
        }
        if !others.is_empty() {
            let items = self.engine.load_items(others.into_iter().cloned().collect()).await?;
            found.extend(items.into_iter().map(|(id, item)| (id, Some(Arc::new(item)))));
        }
        Ok(found)
    }
}

impl Loader<DiscussionKey> for Reader {
    type Value = Option<Arc<Discussion>>;
    type Error = Error;

    async fn load(&self, keys: &[DiscussionKey]) -> Result<HashMap<DiscussionKey, Self::Value>, Error> {
        self.reads.add(keys.len());
        let node = |key: &DiscussionKey| NodeId::Discussion { thread: key.0.clone(), id: key.1.clone() };
        let mut items = self.engine.load_items(keys.iter().map(node).collect()).await?;
        let found = keys.iter().map(|key| match items.remove(&node(key)) {
            Some(Item::Discussion(discussion)) if !discussion.notes.is_empty() => {
                (key.clone(), Some(Arc::new(discussion)))
            }
            _ => (key.clone(), None),
        });
        Ok(found.collect())
    }
}

impl Loader<ThreadId> for Reader {
    type Value = Arc<[Arc<Discussion>]>;
    type Error = Error;

    async fn load(&self, keys: &[ThreadId]) -> Result<HashMap<ThreadId, Self::Value>, Error> {
        self.reads.add(keys.len());
        let found = self.engine.load_discussions(keys.to_vec()).await?;
        Ok(found.into_iter().map(|(thread, all)| (thread, all.into_iter().map(Arc::new).collect())).collect())
    }
}

impl Loader<EdgesKey> for Reader {
    type Value = Arc<[AdjacentEdge]>;
    type Error = Error;

    async fn load(&self, keys: &[EdgesKey]) -> Result<HashMap<EdgesKey, Self::Value>, Error> {
        let mut groups: HashMap<(Direction, Option<Edge>), Vec<NodeId>> = HashMap::new();
        for EdgesKey(id, direction, only) in keys {
            groups.entry((*direction, *only)).or_default().push(id.clone());
        }
        let mut found = HashMap::new();
        for ((direction, only), ids) in groups {
            self.reads.add(ids.len());
            let edges = self.engine.load_edges(ids.clone(), direction, only).await?;
            let keyed = ids.into_iter().zip(edges).map(|(id, edges)| (EdgesKey(id, direction, only), edges.into()));
            found.extend(keyed);
        }
        Ok(found)
    }
}

impl Loader<InferredKey> for Reader {
    type Value = Arc<[InferredLink]>;
    type Error = Error;

    async fn load(&self, keys: &[InferredKey]) -> Result<HashMap<InferredKey, Self::Value>, Error> {
        self.reads.add(keys.len());
        let links = self.engine.inferred_links(keys.iter().map(|InferredKey(id)| id.clone()).collect()).await?;
        Ok(keys.iter().cloned().zip(links.into_iter().map(Into::into)).collect())
    }
}

impl Loader<RowKey> for Reader {
    type Value = Arc<CodeRow>;
    type Error = Error;

    async fn load(&self, keys: &[RowKey]) -> Result<HashMap<RowKey, Self::Value>, Error> {
        self.reads.add(keys.len());
        let found = self.engine.find_rows(keys.iter().map(|RowKey(id)| id.clone()).collect()).await?;
        Ok(found.into_iter().map(|(id, row)| (RowKey(id), Arc::new(row))).collect())
    }
}

impl Loader<ThreadRowKey> for Reader {
    type Value = Arc<ThreadRow>;
    type Error = Error;

    async fn load(&self, keys: &[ThreadRowKey]) -> Result<HashMap<ThreadRowKey, Self::Value>, Error> {
        self.reads.add(keys.len());
        let ids: Vec<ThreadId> = keys.iter().map(|ThreadRowKey(id)| id.clone()).collect();
        let rows = self.engine.with_lists(move |lists, visibility| lists.find_threads(&ids, visibility)).await?;
        Ok(rows.into_iter().map(|row| (ThreadRowKey(row.id.clone()), Arc::new(row))).collect())
    }
}

impl Loader<IntroducingKey> for Reader {
    type Value = Arc<[ThreadId]>;
    type Error = Error;

    async fn load(&self, keys: &[IntroducingKey]) -> Result<HashMap<IntroducingKey, Self::Value>, Error> {
        self.reads.add(keys.len());
        let ids = keys.iter().map(|IntroducingKey(id)| id.clone()).collect();
        let found = self.engine.merge_requests_of_commits(ids).await?;
        Ok(keys.iter().cloned().zip(found.into_iter().map(Into::into)).collect())
    }
}

impl Loader<MeasureKey> for Reader {
    type Value = EdgeMeasure;
    type Error = Error;

    async fn load(&self, keys: &[MeasureKey]) -> Result<HashMap<MeasureKey, EdgeMeasure>, Error> {
        self.reads.add(keys.len());
        let edges = keys.iter().map(|MeasureKey(edge)| edge.clone()).collect();
        let found = self.engine.measure_edges(edges).await?;
        Ok(keys.iter().cloned().zip(found).collect())
    }
}

impl Loader<JobKey> for Reader {
    type Value = Job;
    type Error = Error;

    async fn load(&self, keys: &[JobKey]) -> Result<HashMap<JobKey, Job>, Error> {
        self.reads.add(keys.len());
        let found = self.engine.find_jobs(keys.iter().map(|JobKey(number)| *number).collect()).await?;
        Ok(found.into_iter().map(|job| (JobKey(job.id), job)).collect())
    }
}

impl Loader<HunksKey> for Reader {
    type Value = Arc<FileHunks>;
    type Error = Error;

    async fn load(&self, keys: &[HunksKey]) -> Result<HashMap<HunksKey, Self::Value>, Error> {
        self.reads.add(keys.len());
        let mut paths: HashMap<(NodeId, u32), Vec<String>> = HashMap::new();
        for HunksKey(id, path, context) in keys {
            paths.entry((id.clone(), *context)).or_default().push(path.clone());
        }
        let mut found = HashMap::new();
        for ((id, context), paths) in paths {
            let diff = self.engine.answer(DiffRequest { id: id.clone(), paths, context }).await?;
            for file in diff.files {
                found.insert(HunksKey(id.clone(), file.path.clone(), context), Arc::new(file));
            }
        }
        Ok(found)
    }
}

impl Loader<KnownKey> for Reader {
    type Value = bool;
    type Error = Error;

    async fn load(&self, keys: &[KnownKey]) -> Result<HashMap<KnownKey, bool>, Error> {
        self.reads.add(keys.len());
        let known = self.engine.existing_nodes(keys.iter().map(|KnownKey(id)| id.clone()).collect()).await?;
        Ok(keys.iter().map(|key| (key.clone(), known.contains(&key.0))).collect())
    }
}

/// What is found; `None` if it does not exist.
///
/// # Errors
/// It was looked for in vain for another reason.
pub(super) fn if_found<T>(found: Result<T, Error>) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The engine.
pub(super) fn engine<'a>(ctx: &Context<'a>) -> Result<&'a Engine> {
    ctx.data::<Engine>()
}

fn loaders<'a>(ctx: &Context<'a>) -> Result<&'a Loaders> {
    ctx.data::<Loaders>()
}

/// The item that a node is; `None` if the ledger has none.
pub(super) async fn item(ctx: &Context<'_>, id: NodeId) -> Result<Option<Arc<Item>>> {
    Ok(loaders(ctx)?.load_one(id).await?.flatten())
}

/// A discussion with its notes; `None` if the ledger has none.
pub(super) async fn discussion(ctx: &Context<'_>, thread: ThreadId, id: String) -> Result<Option<Arc<Discussion>>> {
    Ok(loaders(ctx)?.load_one(DiscussionKey(thread, id)).await?.flatten())
}

/// The discussions of an issue or merge request, oldest first.
pub(super) async fn discussions(ctx: &Context<'_>, thread: ThreadId) -> Result<Arc<[Arc<Discussion>]>> {
    Ok(loaders(ctx)?.load_one(thread).await?.unwrap_or_default())
}

/// The edges at a node, all or those of one name, ordered by name and other end.
pub(super) async fn edges(
    ctx: &Context<'_>,
    id: NodeId,
    direction: Direction,
    only: Option<Edge>,
) -> Result<Arc<[AdjacentEdge]>> {
    Ok(loaders(ctx)?.load_one(EdgesKey(id, direction, only)).await?.unwrap_or_default())
}

/// The inferred links at a node; only issues, merge requests and commits have any.
pub(super) async fn inferred(ctx: &Context<'_>, id: NodeId) -> Result<Arc<[InferredLink]>> {
    if !matches!(id, NodeId::Thread(_) | NodeId::Commit { .. }) {
        return Ok(Arc::default());
    }
    Ok(loaders(ctx)?.load_one(InferredKey(id)).await?.unwrap_or_default())
}

/// What the lists have of a commit, a file or a code entity; `None` if it is not listed.
pub(super) async fn code_row(ctx: &Context<'_>, id: NodeId) -> Result<Option<Arc<CodeRow>>> {
    Ok(loaders(ctx)?.load_one(RowKey(id)).await?)
}

/// What the lists have of an issue or merge request; `None` if it is not listed.
pub(super) async fn thread_row(ctx: &Context<'_>, id: ThreadId) -> Result<Option<Arc<ThreadRow>>> {
    Ok(loaders(ctx)?.load_one(ThreadRowKey(id)).await?)
}

/// The merge requests that introduced a commit, the nearest first.
pub(super) async fn introducing(ctx: &Context<'_>, commit: NodeId) -> Result<Arc<[ThreadId]>> {
    Ok(loaders(ctx)?.load_one(IntroducingKey(commit)).await?.unwrap_or_default())
}

/// How sure an edge is that was not inferred by likeness.
pub(super) async fn measure(ctx: &Context<'_>, edge: GraphEdge) -> Result<Option<EdgeMeasure>> {
    Ok(loaders(ctx)?.load_one(MeasureKey(edge)).await?)
}

/// A job by its number; `None` if it is not on record any more.
pub(super) async fn job(ctx: &Context<'_>, number: i64) -> Result<Option<Job>> {
    Ok(loaders(ctx)?.load_one(JobKey(number)).await?)
}

/// What a commit changes in a file; `None` if it does not, or there are too many.
pub(super) async fn hunks(
    ctx: &Context<'_>,
    commit: NodeId,
    path: String,
    context: u32,
) -> Result<Option<Arc<FileHunks>>> {
    Ok(loaders(ctx)?.load_one(HunksKey(commit, path, context)).await?)
}

/// Whether the graph knows what a node is.
pub(super) async fn is_known(ctx: &Context<'_>, id: NodeId) -> Result<bool> {
    Ok(loaders(ctx)?.load_one(KnownKey(id)).await?.unwrap_or(false))
}
