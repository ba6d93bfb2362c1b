//! GraphQL types of traces and code histories.

use async_graphql::{
    Context, ID, Result, SimpleObject,
    connection::{Connection, Edge},
};
use backstory_engine::{
    code::{self, EntityRequest, HistoryRequest},
    model::{
        id::{NodeId, ThreadId},
        repository::EntityChangeKind,
    },
    trace::{self, DEFAULT_EARLIER, Target, TraceRequest},
};

use super::{
    code::{Commit, File, Indexed, LineRange, SeenThrough, commit_node},
    conversation::Discussion,
    edge,
    issue::Issue,
    loaders,
    merge_request::MergeRequest,
    names::{EdgeDirection, EdgeName, EntityKind},
    node::Node,
    page,
    project::Project,
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
    /// Project that was asked about.
    project: Project,
    /// File that was asked about; null if a commit, merge request or issue was.
    file: Option<File>,
    /// Lines that were asked about; null if no lines were.
    lines: Option<LineRange>,
    /// Qualified name of the symbol that was asked about; null if none was.
    symbol: Option<String>,
    /// Commit at which the file has the lines; null if no file was asked about.
    commit: Option<Commit>,
    /// Text of the first few lines; null if no lines were asked about.
    text: Option<String>,
    /// How fresh the answer is.
    indexed: Indexed,
    /// Where most of the lines come from; null if no lines were asked about.
    origin: Option<LineOrigin>,
    /// Where all of the lines come from, in the order of the lines.
    origins: Vec<LineOrigin>,
    /// Steps from the lines to the reasons, the best first.
    chain: Vec<TraceStep>,
    /// Merge requests behind the lines, the most relevant first.
    merge_requests: Vec<MergeRequest>,
    /// Issues behind the lines, the most relevant first.
    issues: Vec<Issue>,
    /// Discussions behind the lines, the most relevant first.
    discussions: Vec<Discussion>,
    /// Earlier versions of the lines, the newest first.
    earlier: Vec<EarlierVersion>,
    /// Design notes that a language model wrote of the merge requests and issues.
    model_notes: Vec<ModelNotes>,
    /// Whether the repository has not been read to its end yet, so that more may be behind the lines.
    partial: bool,
    /// What could not be found, a sentence each; empty if everything was.
    missing: Vec<String>,
}

/// Where lines come from.
#[derive(SimpleObject)]
pub(crate) struct LineOrigin {
    /// Lines that were asked about.
    lines: LineRange,
    /// Commit that wrote the lines.
    commit: Commit,
    /// File that the lines were written in, under the path that it had then.
    file: File,
    /// Lines of the file when they were written.
    origin_lines: LineRange,
    /// Name of the author, even if the commit is not kept.
    author_name: String,
    /// When the lines were written, even if the commit is not kept.
    authored_at: DateTime,
    /// First line of the commit's message, even if the commit is not kept.
    title: String,
    /// What blame passed over on the way from the lines to their origin.
    seen_through: Vec<SeenThrough>,
}

/// A step from a node to the next.
#[derive(SimpleObject)]
pub(crate) struct TraceStep {
    /// Name of the edge that the step follows.
    edge: EdgeName,
    /// Node that the step starts from; null for the lines themselves.
    from: Option<Node>,
    /// Node that the step leads to.
    node: Node,
    /// Title of the node; of a discussion, who says what there and when.
    title: String,
    /// What shows that the step holds.
    evidence: Evidence,
    /// Whether the step is inferred: found by words, names, people and time.
    inferred: bool,
    /// How likely the step is, 0 to 1; null if it was stated.
    confidence: Option<f64>,
}

/// What shows that a step holds, or why its node matters.
#[derive(SimpleObject)]
pub(crate) struct Evidence {
    /// Words quoted from the node; null if none are.
    text: Option<String>,
    /// Page with the words; null if there is none.
    url: Option<String>,
    /// Path of the file that the words are about; null if they are about none.
    path: Option<String>,
    /// Lines of the file that the words are about; null if they are about none.
    lines: Option<LineRange>,
    /// Evidence for an inferred step, the strongest first; empty for others.
    reasons: Vec<String>,
}

/// An earlier version of a line.
#[derive(SimpleObject)]
pub(crate) struct EarlierVersion {
    /// Commit that wrote the version.
    commit: Commit,
    /// File that the version was written in, under the path that it had then.
    file: File,
    /// Lines of the version in the file.
    lines: LineRange,
    /// Name of the author, even if the commit is not kept.
    author_name: String,
    /// When the version was written, even if the commit is not kept.
    authored_at: DateTime,
    /// First line of the commit's message, even if the commit is not kept.
    title: String,
    /// Text of the first few lines as they were.
    text: String,
    /// Merge requests that introduced the commit.
    merge_requests: Vec<MergeRequest>,
    /// Commit that replaced the version.
    replaced_by: Commit,
}

impl From<trace::Step> for TraceStep {
    fn from(step: trace::Step) -> Self {
        let trace::Step { edge, from, node, evidence, confidence } = step;
        Self {
            edge: edge.into(),
            from: from.map(Node::from),
            node: node.id.into(),
            title: node.title,
            evidence: Evidence {
                text: evidence.text,
                url: evidence.url,
                path: evidence.path,
                lines: evidence.lines.map(LineRange::from),
                reasons: evidence.reasons,
            },
            inferred: confidence.is_some(),
            confidence: confidence.map(edge::hundredths),
        }
    }
}

fn line_origin(project: &str, origin: trace::LineOrigin) -> LineOrigin {
    LineOrigin {
        lines: LineRange::counted(origin.start, origin.lines),
        commit: Commit::new(project.to_owned(), origin.commit.to_string()),
        file: File::new(project.to_owned(), origin.path),
        origin_lines: LineRange::counted(origin.line, origin.lines),
        author_name: origin.author,
        authored_at: origin.date.into(),
        title: origin.title,
        seen_through: origin.seen_through.into_iter().map(SeenThrough::from).collect(),
    }
}

fn earlier_version(project: &str, version: trace::EarlierVersion) -> EarlierVersion {
    EarlierVersion {
        commit: Commit::new(project.to_owned(), version.commit.to_string()),
        file: File::new(project.to_owned(), version.path),
        lines: LineRange::counted(version.line, version.lines),
        author_name: version.author,
        authored_at: version.date.into(),
        title: version.title,
        text: version.text,
        merge_requests: merge_requests(version.merge_requests),
        replaced_by: Commit::new(project.to_owned(), version.replaced_by.to_string()),
    }
}

impl From<trace::Trace> for Trace {
    fn from(trace: trace::Trace) -> Self {
        let project = trace.project;
        let discussion = |id: NodeId| match id {
            NodeId::Discussion { thread, id } => Some(Discussion::new(thread, id)),
            _ => None,
        };
        Self {
            file: trace.path.map(|path| File::new(project.clone(), path)),
            lines: trace.line.map(|first| LineRange::from((first, trace.end_line.unwrap_or(first)))),
            symbol: trace.symbol,
            commit: trace.rev.map(|rev| Commit::new(project.clone(), rev.to_string())),
            text: trace.text,
            indexed: Indexed::of(&project, &trace.indexed),
            origin: trace.origin.map(|origin| line_origin(&project, origin)),
            origins: trace.origins.into_iter().map(|origin| line_origin(&project, origin)).collect(),
            chain: trace.chain.into_iter().map(Into::into).collect(),
            merge_requests: merge_requests(trace.merge_requests),
            issues: trace.issues.into_iter().map(Issue::new).collect(),
            discussions: trace.discussions.into_iter().filter_map(discussion).collect(),
            earlier: trace.earlier.into_iter().map(|version| earlier_version(&project, version)).collect(),
            model_notes: trace.model_notes.into_iter().map(ModelNotes::from).collect(),
            partial: trace.partial,
            missing: trace.missing,
            project: Project::new(project),
        }
    }
}

fn merge_requests(ids: Vec<ThreadId>) -> Vec<MergeRequest> {
    ids.into_iter().map(MergeRequest::new).collect()
}

/// What a trace starts from, as the request says.
pub(super) struct Asked {
    pub(super) project: Option<String>,
    pub(super) path: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) end_line: Option<u32>,
    pub(super) symbol: Option<String>,
    pub(super) id: Option<ID>,
}

impl Asked {
    /// Whether neither code nor a node is asked about.
    pub(super) fn is_nothing(&self) -> bool {
        let Self { project: _, path, line, end_line, symbol, id } = self;
        path.is_none() && line.is_none() && end_line.is_none() && symbol.is_none() && id.is_none()
    }

    pub(super) fn target(self) -> Result<Target> {
        let Self { path, line, end_line, symbol, id, .. } = self;
        Ok(match (path, symbol, line, id) {
            (None, None, None, Some(id)) => Target::Node(id.parse()?),
            (Some(path), Some(name), None, None) => Target::Symbol { path, name },
            (Some(path), None, line, None) => {
                Target::Lines { path, lines: line.map(|first| (first, end_line.unwrap_or(first))) }
            }
            _ => {
                let what = "ask about a path, alone or with either a line or a symbol, or about an id";
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

/// What a commit did to a file or code entity.
#[derive(Clone, Copy, PartialEq, Eq, async_graphql::Enum)]
#[graphql(remote = "EntityChangeKind")]
pub(crate) enum ChangeKind {
    /// The commit added it.
    Introduced,
    /// The commit changed it.
    Modified,
    /// The commit removed or renamed it.
    Removed,
}

/// A page of the changes of a file or code entity, newest first.
pub(crate) type ChangeConnection = Connection<String, Change>;

/// A change of a file or code entity.
#[derive(SimpleObject)]
pub(crate) struct Change {
    /// Commit that made the change.
    commit: Option<Commit>,
    /// What the commit did to the file or entity.
    kind: ChangeKind,
    /// File or entity under the name that it had then.
    node: Node,
    /// How many lines were added to the file; null if that is not known.
    additions: Option<u32>,
    /// How many lines were removed from the file; null if that is not known.
    deletions: Option<u32>,
    /// Merge requests that introduced the commit.
    merge_requests: Vec<MergeRequest>,
}

impl From<code::Change> for Change {
    fn from(change: code::Change) -> Self {
        Self {
            commit: commit_node(change.commit.id),
            kind: change.kind.into(),
            node: change.name.into(),
            additions: change.insertions,
            deletions: change.deletions,
            merge_requests: merge_requests(change.merge_requests),
        }
    }
}

/// A page of the changes of a file or code entity. A cursor says how many are before its end.
pub(super) async fn history(
    ctx: &Context<'_>,
    id: NodeId,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<ChangeConnection> {
    let limit = page::size(first, DEFAULT_CHANGES)?;
    let skip: usize = page::decode(after)?.unwrap_or(0);
    let found = loaders::engine(ctx)?.answer(HistoryRequest { id, skip, limit }).await?;
    let mut changes = Connection::new(skip > 0, limit > 0 && found.has_more);
    let numbered = (skip + 1..).zip(found.changes);
    changes.edges.extend(numbered.map(|(number, change)| Edge::new(page::encode(&number), Change::from(change))));
    Ok(changes)
}

/// A code entity and what is known of it.
#[derive(SimpleObject)]
pub(crate) struct Entity {
    /// Project that the entity belongs to.
    project: Project,
    /// File that defines the entity.
    file: File,
    /// Qualified name of the entity.
    name: String,
    /// Whether the entity is there at the indexed head.
    current: bool,
    /// Kind of the entity; null if it is gone.
    kind: Option<EntityKind>,
    /// How the entity is declared, on one line; null if it is gone.
    signature: Option<String>,
    /// Lines of the entity at the indexed head; null if it is gone.
    lines: Option<LineRange>,
    /// Doc comment of the entity; null if it has none or is gone.
    doc: Option<String>,
    /// First commit that is known to have the entity; null if none is.
    introduced: Option<Commit>,
    /// Commit that changed the entity last; null if that is not known.
    last_changed: Option<Commit>,
    /// How many commits changed the entity.
    change_count: usize,
    /// What refers to the entity and what it refers to.
    neighbors: Vec<Neighbors>,
    /// Node of the entity.
    node: Node,
}

/// The nodes at the other ends of edges of one name.
#[derive(SimpleObject)]
pub(crate) struct Neighbors {
    /// Name of the edges.
    edge: EdgeName,
    /// Whether the edges start at the entity or end there.
    direction: EdgeDirection,
    /// Nodes at the other ends, at most 50.
    nodes: Vec<Node>,
}

/// Code entities of a name.
pub(super) async fn entities(
    ctx: &Context<'_>,
    name: String,
    project: Option<String>,
    first: Option<i32>,
) -> Result<Vec<Entity>> {
    let limit = page::size(first, DEFAULT_ENTITIES)?;
    if limit == 0 {
        return Ok(Vec::new());
    }
    let found = loaders::engine(ctx)?.answer(EntityRequest { name, project, limit }).await?;
    Ok(found.into_iter().map(Entity::from).collect())
}

impl From<code::EntityDetails> for Entity {
    fn from(entity: code::EntityDetails) -> Self {
        let neighbors = entity.neighbors.into_iter().map(|of| Neighbors {
            edge: of.edge.into(),
            direction: of.direction.into(),
            nodes: of.nodes.into_iter().map(Node::from).collect(),
        });
        let commit = |summary: Option<code::CommitSummary>| commit_node(summary?.id);
        Self {
            file: File::new(entity.project.clone(), entity.path),
            project: Project::new(entity.project),
            name: entity.name,
            current: entity.current,
            kind: entity.kind.map(EntityKind::from),
            signature: entity.signature,
            lines: entity.lines.map(LineRange::from),
            doc: entity.doc,
            introduced: commit(entity.introduced),
            last_changed: commit(entity.last_changed),
            change_count: entity.changes,
            neighbors: neighbors.collect(),
            node: Node::from(entity.id),
        }
    }
}
