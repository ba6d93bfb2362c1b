//! GraphQL types of traces and code histories.

use async_graphql::{Context, ID, Result, SimpleObject};
use backstory_engine::{
    code::{self, EntityRequest, HistoryRequest},
    model::{
        id::{NodeId, ThreadId},
        lineage::{Origin, SeenThrough},
        repository::EntityChangeKind,
    },
    trace::{self, DEFAULT_EARLIER, Target, TraceRequest},
};

use super::{
    edge, loaders,
    names::{EdgeDirection, EdgeName},
    node::Node,
    page,
    scalar::DateTime,
    written::ModelNotes,
};

/// Changes of a page, unless the request says how many.
const DEFAULT_CHANGES: usize = 20;
/// Entities, unless the request says how many.
const DEFAULT_ENTITIES: usize = 10;

/// From lines to the reasons behind them.
#[derive(SimpleObject)]
pub(crate) struct Trace {
    /// Full path of the project.
    project: String,
    /// Path that was asked about.
    path: Option<String>,
    /// First line that was asked about.
    line: Option<u32>,
    /// Last line that was asked about.
    end_line: Option<u32>,
    /// Qualified name of the symbol that was asked about.
    symbol: Option<String>,
    /// Object name of the commit at which they are.
    rev: Option<String>,
    /// The lines, the first few.
    text: Option<String>,
    /// How fresh the answer is.
    indexed: Indexed,
    /// Where most of the lines come from.
    origin: Option<LineOrigin>,
    /// Where all of them come from, in order.
    origins: Vec<LineOrigin>,
    /// From the lines to the reasons, the best first.
    chain: Vec<TraceStep>,
    /// References of merge requests, the most relevant first.
    merge_requests: Vec<ID>,
    /// References of issues, the most relevant first.
    issues: Vec<ID>,
    /// References of discussions, the most relevant first.
    discussions: Vec<ID>,
    /// Earlier versions, the newest first.
    earlier: Vec<EarlierVersion>,
    /// Design notes that a language model wrote of these merge requests and issues.
    model_notes: Vec<ModelNotes>,
    /// What could not be found, a sentence each.
    missing: Vec<String>,
}

/// How fresh an answer is.
#[derive(SimpleObject)]
pub(crate) struct Indexed {
    /// Object name of the indexed commit at the head of the default branch.
    commit: Option<String>,
    /// When the repository was last fetched and indexed.
    synced_at: Option<DateTime>,
}

/// Where lines come from.
#[derive(SimpleObject)]
pub(crate) struct LineOrigin {
    /// First line that was asked about.
    start: u32,
    /// How many lines.
    lines: u32,
    /// Object name of the commit that wrote them.
    commit: String,
    /// Path of the file then.
    path: String,
    /// First line then.
    line: u32,
    /// Who wrote them: the name in the commit.
    author: String,
    /// When.
    date: DateTime,
    /// First line of the commit's message.
    title: String,
    /// What was seen through: `moved`, `copied`, `ignored revision`.
    seen_through: Vec<String>,
}

/// A step from a node to the next.
#[derive(SimpleObject)]
pub(crate) struct TraceStep {
    /// Name of the edge.
    edge: Option<EdgeName>,
    /// Reference of the node it starts from; null for the lines themselves.
    from: Option<ID>,
    /// The node it leads to.
    node: TraceNode,
    /// What shows it.
    evidence: Evidence,
    /// Whether nobody stated it: it was found by words, names, people and time.
    inferred: bool,
    /// How likely it is, 0 to 1; null if it was stated.
    confidence: Option<f64>,
}

/// A node of a trace.
#[derive(SimpleObject)]
pub(crate) struct TraceNode {
    /// Its reference.
    id: ID,
    /// What it is: `commit`, `merge_request`, `discussion`, `issue`.
    kind: String,
    /// Its title; of a discussion, who says what there and when.
    title: String,
    /// Its page at the forge.
    url: Option<String>,
    /// The node in the graph.
    node: Option<Node>,
}

/// What shows that a step holds, or why its node matters.
#[derive(SimpleObject)]
pub(crate) struct Evidence {
    /// Words quoted from the node.
    text: Option<String>,
    /// Where they stand.
    url: Option<String>,
    /// File that the words are about.
    path: Option<String>,
    /// First and last line of it.
    lines: Option<Vec<u32>>,
    /// What speaks for a step that nobody stated, the strongest first.
    reasons: Vec<String>,
}

/// An earlier version of a line.
#[derive(SimpleObject)]
pub(crate) struct EarlierVersion {
    /// Object name of the commit that wrote it.
    commit: String,
    /// Path of the file then.
    path: String,
    /// First line then.
    line: u32,
    /// How many lines.
    lines: u32,
    /// Who wrote it: the name in the commit.
    author: String,
    /// When.
    date: DateTime,
    /// First line of the commit's message.
    title: String,
    /// The lines as they were, the first few.
    text: String,
    /// References of merge requests that carried the commit.
    merge_requests: Vec<ID>,
    /// Object name of the commit that replaced it.
    replaced_by: String,
}

impl From<trace::LineOrigin> for LineOrigin {
    fn from(origin: trace::LineOrigin) -> Self {
        Self {
            start: origin.start,
            lines: origin.lines,
            commit: origin.commit.to_string(),
            path: origin.path,
            line: origin.line,
            author: origin.author,
            date: origin.date.into(),
            title: origin.title,
            seen_through: words(&origin.seen_through),
        }
    }
}

impl From<trace::Step> for TraceStep {
    fn from(step: trace::Step) -> Self {
        let trace::Step { edge, from, node, evidence, confidence } = step;
        Self {
            edge: Some(edge.into()),
            from: from.map(|from| from.to_string().into()),
            node: TraceNode {
                id: node.id.to_string().into(),
                node: Some(Node::from(node.id)),
                kind: node.kind.as_str().to_owned(),
                title: node.title,
                url: node.url,
            },
            evidence: Evidence {
                text: evidence.text,
                url: evidence.url,
                path: evidence.path,
                lines: evidence.lines.map(|(first, last)| vec![first, last]),
                reasons: evidence.reasons,
            },
            inferred: confidence.is_some(),
            confidence: confidence.map(edge::hundredths),
        }
    }
}

impl From<trace::EarlierVersion> for EarlierVersion {
    fn from(version: trace::EarlierVersion) -> Self {
        Self {
            commit: version.commit.to_string(),
            path: version.path,
            line: version.line,
            lines: version.lines,
            author: version.author,
            date: version.date.into(),
            title: version.title,
            text: version.text,
            merge_requests: threads(&version.merge_requests),
            replaced_by: version.replaced_by.to_string(),
        }
    }
}

impl From<trace::Trace> for Trace {
    fn from(trace: trace::Trace) -> Self {
        Self {
            project: trace.project,
            path: trace.path,
            line: trace.line,
            end_line: trace.end_line,
            symbol: trace.symbol,
            rev: trace.rev.map(|rev| rev.to_string()),
            text: trace.text,
            indexed: Indexed {
                commit: trace.indexed.commit.map(|commit| commit.to_string()),
                synced_at: trace.indexed.synced_at.map(DateTime::from),
            },
            origin: trace.origin.map(LineOrigin::from),
            origins: trace.origins.into_iter().map(LineOrigin::from).collect(),
            chain: trace.chain.into_iter().map(Into::into).collect(),
            merge_requests: threads(&trace.merge_requests),
            issues: threads(&trace.issues),
            discussions: trace.discussions.iter().map(|id| id.to_string().into()).collect(),
            earlier: trace.earlier.into_iter().map(EarlierVersion::from).collect(),
            model_notes: trace.model_notes.into_iter().map(ModelNotes::from).collect(),
            missing: trace.missing,
        }
    }
}

fn words(seen: &[SeenThrough]) -> Vec<String> {
    seen.iter().map(|seen| seen.as_str().to_owned()).collect()
}

fn threads(ids: &[ThreadId]) -> Vec<ID> {
    ids.iter().map(|id| id.to_string().into()).collect()
}

/// What a trace starts from, as the request says.
pub(super) struct Asked {
    pub(super) project: Option<String>,
    pub(super) path: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) end_line: Option<u32>,
    pub(super) symbol: Option<String>,
    pub(super) reference: Option<String>,
}

impl Asked {
    /// Whether neither code nor a node is asked about.
    pub(super) fn is_nothing(&self) -> bool {
        let Self { project: _, path, line, end_line, symbol, reference } = self;
        path.is_none() && line.is_none() && end_line.is_none() && symbol.is_none() && reference.is_none()
    }

    pub(super) fn target(self) -> Result<Target> {
        let Self { path, line, end_line, symbol, reference, .. } = self;
        Ok(match (path, symbol, line, reference) {
            (None, None, None, Some(reference)) => Target::Node(reference.parse()?),
            (Some(path), Some(name), None, None) => Target::Symbol { path, name },
            (Some(path), None, line, None) => {
                Target::Lines { path, lines: line.map(|first| (first, end_line.unwrap_or(first))) }
            }
            _ => {
                let what = "ask about a path, alone or with either a line or a symbol, or about a ref";
                return Err(page::invalid(what).into());
            }
        })
    }
}

/// Answers why code is as it is.
pub(super) async fn trace(ctx: &Context<'_>, asked: Asked, rev: Option<String>, earlier: Option<u32>) -> Result<Trace> {
    let project = asked.project.clone();
    let request = TraceRequest {
        project,
        target: asked.target()?,
        rev,
        earlier: earlier.map_or(DEFAULT_EARLIER, |earlier| earlier as usize),
    };
    Ok(loaders::engine(ctx)?.answer(request).await?.into())
}

/// A commit in a list.
#[derive(SimpleObject)]
pub(crate) struct CommitSummary {
    /// Reference of the commit.
    id: ID,
    /// Object name.
    sha: String,
    /// First line of the message.
    title: String,
    /// Who wrote it: the name in the commit.
    author: String,
    /// When it was committed.
    date: DateTime,
    /// The commit in the graph.
    node: Node,
}

impl From<code::CommitSummary> for CommitSummary {
    fn from(commit: code::CommitSummary) -> Self {
        Self {
            id: commit.id.to_string().into(),
            sha: commit.sha.to_string(),
            title: commit.title,
            author: commit.author,
            date: commit.date.into(),
            node: Node::from(commit.id),
        }
    }
}

/// What a commit did.
#[derive(Clone, Copy, PartialEq, Eq, async_graphql::Enum)]
#[graphql(remote = "EntityChangeKind")]
pub(crate) enum ChangeKind {
    /// It added it.
    Introduced,
    /// It changed it.
    Modified,
    /// It took it away, or gave it another name.
    Removed,
}

/// The changes of a file or code entity.
#[derive(SimpleObject)]
pub(crate) struct History {
    /// Newest first.
    changes: Vec<Change>,
    /// Whether there are more.
    has_more: bool,
}

/// A change of a file or code entity.
#[derive(SimpleObject)]
pub(crate) struct Change {
    /// The commit.
    commit: CommitSummary,
    /// What it did.
    kind: ChangeKind,
    /// Reference of the file or entity, as it was called then.
    name: ID,
    /// Lines added to the file; null if that is not known.
    insertions: Option<u32>,
    /// Lines taken from the file; null if that is not known.
    deletions: Option<u32>,
    /// References of merge requests that carried the commit.
    merge_requests: Vec<ID>,
}

impl From<code::Change> for Change {
    fn from(change: code::Change) -> Self {
        Self {
            commit: change.commit.into(),
            kind: change.kind.into(),
            name: change.name.to_string().into(),
            insertions: change.insertions,
            deletions: change.deletions,
            merge_requests: threads(&change.merge_requests),
        }
    }
}

/// The changes of a file or code entity.
pub(super) async fn history(ctx: &Context<'_>, id: NodeId, first: Option<i32>, skip: Option<i32>) -> Result<History> {
    let limit = page::size(first, DEFAULT_CHANGES)?;
    let skip = usize::try_from(skip.unwrap_or(0)).map_err(|_| page::invalid("'skip' is below 0"))?;
    let found = loaders::engine(ctx)?.answer(HistoryRequest { id, skip, limit }).await?;
    Ok(History { changes: found.changes.into_iter().map(Change::from).collect(), has_more: found.has_more })
}

/// A code entity and what is known of it.
#[derive(SimpleObject)]
pub(crate) struct Entity {
    /// Its reference.
    id: ID,
    /// Full path of the project.
    project: String,
    /// Path of its file.
    path: String,
    /// Its name with those of what it stands in.
    name: String,
    /// Whether it is there at the indexed head.
    current: bool,
    /// What it is: `function`, `struct`; null if it is gone.
    kind: Option<String>,
    /// How it is declared; null if it is gone.
    signature: Option<String>,
    /// First and last line; null if it is gone.
    lines: Option<Vec<u32>>,
    /// Its doc comment.
    doc: Option<String>,
    /// The commit that it is first known from.
    introduced: Option<CommitSummary>,
    /// The commit that changed it last.
    last_changed: Option<CommitSummary>,
    /// How many commits changed it.
    changes: usize,
    /// What refers to it and what it refers to.
    neighbours: Vec<Neighbours>,
    /// The entity in the graph.
    node: Node,
}

/// The nodes at the other ends of edges of one name.
#[derive(SimpleObject)]
pub(crate) struct Neighbours {
    /// Name of the edges.
    edge: EdgeName,
    /// Whether they start at the entity or end there.
    direction: EdgeDirection,
    /// References of the nodes, at most 50.
    nodes: Vec<ID>,
}

/// Code entities of a name.
pub(super) async fn entities(
    ctx: &Context<'_>,
    name: String,
    project: Option<String>,
    first: Option<i32>,
) -> Result<Vec<Entity>> {
    let limit = page::size(first, DEFAULT_ENTITIES)?;
    let found = loaders::engine(ctx)?.answer(EntityRequest { name, project, limit }).await?;
    Ok(found.into_iter().map(Entity::from).collect())
}

impl From<code::EntityDetails> for Entity {
    fn from(entity: code::EntityDetails) -> Self {
        let neighbours = entity.neighbors.into_iter().map(|of| Neighbours {
            edge: of.edge.into(),
            direction: of.direction.into(),
            nodes: of.nodes.iter().map(|node| node.to_string().into()).collect(),
        });
        Self {
            id: entity.id.to_string().into(),
            project: entity.project,
            path: entity.path,
            name: entity.name,
            current: entity.current,
            kind: entity.kind.map(|kind| kind.as_str().to_owned()),
            signature: entity.signature,
            lines: entity.lines.map(|(first, last)| vec![first, last]),
            doc: entity.doc,
            introduced: entity.introduced.map(CommitSummary::from),
            last_changed: entity.last_changed.map(CommitSummary::from),
            changes: entity.changes,
            neighbours: neighbours.collect(),
            node: Node::from(entity.id),
        }
    }
}

/// Where the lines of a file come from.
#[derive(SimpleObject)]
pub(crate) struct Lineage {
    /// Object name of the commit at which that holds.
    commit: String,
    /// How many lines the file has.
    lines: u32,
    /// Consecutive lines that come from consecutive lines of one version of one file, in order.
    spans: Vec<LineageSpan>,
}

/// Lines and where they come from.
#[derive(SimpleObject)]
pub(crate) struct LineageSpan {
    /// First line.
    start: u32,
    /// How many lines.
    lines: u32,
    /// Object name of the commit that wrote them.
    commit: String,
    /// Path of the file then.
    path: String,
    /// First line then.
    line: u32,
    /// What was seen through: `moved`, `copied`, `ignored revision`.
    seen_through: Vec<String>,
}

/// Where the lines of a file come from.
pub(super) async fn lineage(
    ctx: &Context<'_>,
    project: Option<&str>,
    path: &str,
    rev: Option<&str>,
) -> Result<Lineage> {
    let (commit, lineage) = loaders::engine(ctx)?.blame_file(project, path, rev).await?;
    let span = |origin: Origin| LineageSpan {
        start: origin.start,
        lines: origin.lines,
        commit: origin.source.commit.to_string(),
        path: origin.source.path.to_string(),
        line: origin.line,
        seen_through: words(&origin.seen.each()),
    };
    let spans = lineage.origins(1, lineage.lines()).map(span).collect();
    Ok(Lineage { commit: commit.to_string(), lines: lineage.lines(), spans })
}
