//! Questions: why, search, context packs, history, entities, people, the graph, lists of issues and merge requests.

use std::collections::BTreeSet;

use axum::{
    http::{StatusCode, header},
    response::IntoResponse,
};
use backstory_engine::{
    code::{Change, EntityDetails, EntityRequest, HistoryRequest},
    context::{About, ContextRequest},
    enrich::{Enrichments, GetEnrichments},
    error::{Error, ErrorKind},
    explore::{
        DEFAULT_DEPTH, DEFAULT_LENGTH, DEFAULT_NEIGHBORS, Neighborhood, NeighborhoodRequest, PathAnswer, PathRequest,
    },
    files::{FileRequest, FileText},
    limits::DEFAULT_LIMIT,
    locate::{LocateRequest, Location},
    model::{
        access::Scope,
        document_kind::DocumentKind,
        document_type::DocumentType,
        edge::Edge,
        entity::State,
        filter::Filter,
        id::{NodeId, ThreadKind},
        pack::{DEFAULT_TOKENS, Format, Mode as PackMode},
        text::truncate_echo,
        time::parse_instant,
    },
    person::{DEFAULT_LISTED, DEFAULT_STALE_DAYS, PersonDetails, PersonRequest},
    search::{DEFAULT_HITS, HitSummary, Mode, SearchRequest, SearchResponse},
    show::{NodeDetails, ShowRequest},
    threads::{ListThreads, PageCursor, ThreadFilter, ThreadSummary},
    trace::{DEFAULT_EARLIER, Target, Trace, TraceRequest},
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    cursor::{self, Page},
    route::{Asked, Doc, Reply, Route, get, get_as},
};
use crate::http::Refusal;

const fn doc(tag: &'static str, summary: &'static str) -> Doc {
    Doc { tag, summary, scope: Scope::Read }
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        get::<_, Trace, _, _>(
            "/api/v1/why",
            doc("questions", "Why is this code, issue or merge request as it is?"),
            why,
        ),
        get::<_, SearchResponse<HitSummary>, _, _>("/api/v1/search", doc("questions", "Search everything"), search),
        get_as::<_, PackAsJson, _, _>(
            "/api/v1/context",
            doc("questions", "Everything to know about a question or a place, within a budget of tokens"),
            &["text/markdown"],
            context,
        ),
        get::<_, Page<Change>, _, _>("/api/v1/history", doc("questions", "What changed a file or symbol"), history),
        get::<_, Page<EntityDetails>, _, _>("/api/v1/entities", doc("code", "Code entities by name"), entities),
        get::<_, PersonDetails, _, _>(
            "/api/v1/people/{name}",
            doc("nodes", "A person: what waits for them and what they did"),
            person,
        ),
        get::<_, Node, _, _>(
            "/api/v1/nodes/{*id}",
            doc("nodes", "An issue, a merge request, a discussion, a commit, a file, an entity or a person"),
            node,
        ),
        get::<_, Enrichments, _, _>(
            "/api/v1/enrichments/{*id}",
            doc("nodes", "What language models wrote about an issue, a merge request, a commit or a file"),
            enrichments,
        ),
        get::<_, Page<ThreadSummary>, _, _>("/api/v1/issues", doc("lists", "Issues, the last changed first"), issues),
        get::<_, Page<ThreadSummary>, _, _>(
            "/api/v1/merge-requests",
            doc("lists", "Merge requests, the last changed first"),
            merge_requests,
        ),
        get::<_, Neighborhood, _, _>(
            "/api/v1/graph/neighbors",
            doc("graph", "The nodes around one, and the edges between them"),
            neighbors,
        ),
        get::<_, PathAnswer, _, _>("/api/v1/graph/path", doc("graph", "The shortest path between two nodes"), path),
    ]
}

/// A time as people write it: a day, a month, a year or an instant.
fn instant(text: Option<String>) -> Result<Option<Timestamp>, Refusal> {
    let parse = |text: String| parse_instant(&text).map_err(|wrong| Error::new(ErrorKind::Invalid, wrong));
    Ok(text.map(parse).transpose()?)
}

#[derive(Deserialize, JsonSchema)]
struct WhyParameters {
    /// `src/a.rs:42`, `src/a.rs:40-60`, `src/a.rs#login`, a commit, `#12`, `!7` or `acme/shop!7`.
    target: String,
    /// Full path of the project; the only one if absent.
    project: Option<String>,
    /// Branch, tag or commit; the indexed head if absent.
    rev: Option<String>,
    /// Most earlier versions.
    earlier: Option<usize>,
}

async fn why(asked: Asked, parameters: WhyParameters) -> Result<Trace, Refusal> {
    let WhyParameters { target, project, rev, earlier } = parameters;
    let location = asked.answer(LocateRequest { text: target, project }).await?;
    let earlier = earlier.unwrap_or(DEFAULT_EARLIER);
    asked.answer(TraceRequest { project: location.project, target: location.target, rev, earlier }).await
}

#[derive(Deserialize, JsonSchema)]
struct SearchParameters {
    /// Words or a question.
    query: String,
    /// Full path of the project that short references are of, and the only one that is searched; all if absent.
    project: Option<String>,
    /// Only these projects.
    #[serde(default)]
    projects: Vec<String>,
    /// Only what is at most two edges from one of these nodes.
    #[serde(default)]
    near: Vec<NodeId>,
    /// Only documents of these kinds.
    #[serde(default)]
    kinds: Vec<DocumentKind>,
    /// Only by any of these people: user names, names or addresses of commits.
    #[serde(default)]
    authors: Vec<String>,
    /// Only with all of these labels.
    #[serde(default)]
    labels: Vec<String>,
    /// Only files whose paths begin in one of these ways, and commits that change such.
    #[serde(default)]
    paths: Vec<String>,
    /// Only files in any of these languages, and commits that change such: `rust`, `c++`.
    #[serde(default)]
    languages: Vec<String>,
    /// Only documents of these types: `spec`, `contract` and `adr` are those that govern.
    #[serde(default)]
    document_types: Vec<DocumentType>,
    /// Only in this state.
    state: Option<State>,
    /// Created at or after: `2024-03-15`, `2024-03`, `2024` or an instant.
    after: Option<String>,
    /// Created before.
    before: Option<String>,
    /// None of these documents.
    #[serde(default)]
    exclude: Vec<String>,
    /// Indexed branch, tag or commit: only its files, as they are there, and the commits that it reaches.
    #[serde(rename = "ref")]
    revision: Option<String>,
    /// Id of a recorded state of the index: what was in it; the current state if absent.
    snapshot: Option<String>,
    /// What the query is compared with.
    mode: Option<Mode>,
    /// Most hits; 10 if absent.
    limit: Option<usize>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// Whether to count the candidates by project, kind, author, label and path.
    facets: Option<bool>,
    /// Whether to tell every candidate with its ranks.
    explain: Option<bool>,
}

async fn search(asked: Asked, parameters: SearchParameters) -> Result<SearchResponse<HitSummary>, Refusal> {
    let filter = Filter {
        kinds: parameters.kinds,
        authors: parameters.authors,
        labels: parameters.labels,
        paths: parameters.paths,
        languages: parameters.languages,
        document_types: parameters.document_types,
        after: instant(parameters.after)?,
        before: instant(parameters.before)?,
        project: parameters.project,
        projects: parameters.projects,
        nodes: Vec::new(),
        state: parameters.state,
        exclude: parameters.exclude,
        revision: parameters.revision,
        snapshot: parameters.snapshot,
    };
    let request = SearchRequest {
        query: parameters.query,
        filter,
        near: parameters.near,
        mode: parameters.mode.unwrap_or_default(),
        limit: parameters.limit.unwrap_or(DEFAULT_HITS),
        after: parameters.cursor,
        rerank: true,
        facets: parameters.facets.unwrap_or_default(),
        explain: parameters.explain.unwrap_or_default(),
        ..SearchRequest::default()
    };
    asked.answer(request).await
}

#[derive(Deserialize, JsonSchema)]
struct ContextParameters {
    /// A question.
    query: Option<String>,
    /// Or a place, as in `/api/v1/why`.
    target: Option<String>,
    /// Full path of the project; all if absent.
    project: Option<String>,
    /// Only code and documents whose path starts with this.
    path: Option<String>,
    /// Most tokens; 4,000 if absent.
    tokens: Option<usize>,
    /// `all`, or `governing_docs_only` for specifications, contracts and recorded decisions.
    mode: Option<PackMode>,
    /// `json` or `markdown`.
    format: Option<Format>,
    /// Whether it shows changes; true if absent.
    diffs: Option<bool>,
    /// Whether it names tests; true if absent.
    tests: Option<bool>,
    /// Id of the state of the index that it must be made from; the current one if absent.
    snapshot: Option<String>,
    /// Indexed branch, tag or commit that it must be made from; the default branch if absent.
    #[serde(rename = "ref")]
    revision: Option<String>,
}

/// A context pack with `format=json`. Its other sections are left out where they are empty: lists of objects `timeline`,
/// `key_items`, `code_context`, `important_diffs`, `design_notes`, `related_tests` and `retrieved`, objects `provenance` and
/// `left_out`. Their fields are those of `ContextPack` in GraphQL, with underscores.
#[derive(Serialize, JsonSchema)]
struct PackAsJson {
    /// What it is: question, project, tokens, budget, state of the index.
    metadata: serde_json::Map<String, serde_json::Value>,
    /// The answer in a few sentences of those who gave it.
    summary: String,
    /// What could not be found, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// What makes it again.
    manifest: serde_json::Map<String, serde_json::Value>,
}

async fn context(asked: Asked, parameters: ContextParameters) -> Result<Reply, Refusal> {
    let about = match (parameters.query, parameters.target) {
        (Some(query), None) => About::Query(query),
        (None, Some(text)) => {
            let location = asked.answer(LocateRequest { text, project: parameters.project.clone() }).await?;
            About::Target { target: location.target, rev: None }
        }
        _ => return Err(Error::new(ErrorKind::Invalid, "name either 'query' or 'target'").into()),
    };
    let format = parameters.format.unwrap_or_default();
    let request = ContextRequest {
        about,
        filter: Filter { project: parameters.project, revision: parameters.revision, ..Filter::default() },
        path: parameters.path,
        near: Vec::new(),
        ranking: None,
        mode: parameters.mode.unwrap_or_default(),
        format,
        tokens: parameters.tokens.unwrap_or(DEFAULT_TOKENS),
        diffs: parameters.diffs.unwrap_or(true),
        tests: parameters.tests.unwrap_or(true),
        snapshot: parameters.snapshot,
    };
    let pack = asked.answer(request).await?;
    // The bytes whose tokens were counted.
    Ok(match format {
        Format::Json => Reply::Json(StatusCode::OK, pack.text),
        Format::Markdown => {
            Reply::Other(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], pack.text).into_response())
        }
    })
}

#[derive(Deserialize, JsonSchema)]
struct HistoryParameters {
    /// A file or symbol: `src/a.rs`, `src/a.rs#login`, or with its project, `acme/shop:src/a.rs`. Of lines, the history is
    /// that of their file.
    target: String,
    /// Full path of the project; the only one if absent.
    project: Option<String>,
    /// Most changes, 1 to 100; 20 if absent.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// `next` of the previous page.
    cursor: Option<String>,
}

async fn history(asked: Asked, parameters: HistoryParameters) -> Result<Page<Change>, Refusal> {
    let HistoryParameters { target, project, limit, cursor } = parameters;
    let skip: usize = cursor::decode(cursor.as_deref())?.unwrap_or_default();
    let limit = cursor::limit(limit)?;
    let location = asked.answer(LocateRequest { text: target.clone(), project }).await?;
    let id = location.code_id().ok_or_else(|| no_history(&target, &location))?;
    let history = asked.answer(HistoryRequest { id, skip, limit }).await?;
    let next = history.has_more.then(|| cursor::encode(&(skip + history.changes.len())));
    Ok(Page { items: history.changes, next })
}

/// Says why what was found has no history.
fn no_history(target: &str, location: &Location) -> Error {
    let target = truncate_echo(target);
    match &location.target {
        Target::Node(_) => {
            let message = format!("'{target}' is not a file or symbol, and only these have a history");
            Error::new(ErrorKind::Invalid, message).with_hint("write src/a.rs or src/a.rs#login")
        }
        Target::Lines { .. } | Target::Symbol { .. } => {
            let message = format!("it is not clear which project '{target}' belongs to");
            Error::new(ErrorKind::Invalid, message).with_hint("name the project in 'project'")
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct EntityParameters {
    /// Name or id of a code entity: `login`, `Session.login`, `src/a.rs#login`, `acme/shop:src/a.rs#login`.
    name: String,
    /// Full path of the project; all if absent.
    project: Option<String>,
    /// Most entities, 1 to 50; 20 if absent.
    #[schemars(range(min = 1, max = 50))]
    limit: Option<usize>,
}

async fn entities(asked: Asked, parameters: EntityParameters) -> Result<Page<EntityDetails>, Refusal> {
    let EntityParameters { name, project, limit } = parameters;
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    Ok(Page::whole(asked.answer(EntityRequest { name, project, limit }).await?))
}

#[derive(Deserialize, JsonSchema)]
struct NameParameter {
    /// User name, the address that commits name, or a name or a part of one that nobody else has.
    name: String,
}

async fn person(asked: Asked, parameters: NameParameter) -> Result<PersonDetails, Refusal> {
    find_person(&asked, parameters.name).await
}

async fn find_person(asked: &Asked, name: String) -> Result<PersonDetails, Refusal> {
    let (stale_days, limit) = (DEFAULT_STALE_DAYS, DEFAULT_LISTED);
    asked.answer(PersonRequest { name, projects: Vec::new(), after: None, before: None, stale_days, limit }).await
}

/// What is known of a node.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Node {
    /// An issue, a merge request, a discussion or a commit.
    Item(Box<NodeDetails>),
    /// A file at the indexed head.
    File(Box<FileText>),
    /// A code entity.
    Entity(Box<EntityDetails>),
    /// A person.
    Person(Box<PersonDetails>),
}

#[derive(Deserialize, JsonSchema)]
struct NodeParameter {
    /// `acme/shop#12`, `acme/shop!7`, `acme/shop@1a2b3c4`, `acme/shop:src/a.rs`, with `#` written as `%23`.
    id: String,
}

async fn enrichments(asked: Asked, parameters: NodeParameter) -> Result<Enrichments, Refusal> {
    asked.answer(GetEnrichments { id: node_id(&parameters.id)? }).await
}

fn node_id(text: &str) -> Result<NodeId, Refusal> {
    Ok(text.parse::<NodeId>().map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))?)
}

async fn node(asked: Asked, parameters: NodeParameter) -> Result<Node, Refusal> {
    match node_id(&parameters.id)? {
        NodeId::File { project, path } => {
            let request = FileRequest { project: Some(project), path, ..FileRequest::default() };
            Ok(Node::File(Box::new(asked.answer(request).await?)))
        }
        id @ NodeId::Entity { .. } => {
            let found = asked.answer(EntityRequest { name: id.to_string(), project: None, limit: 1 }).await?;
            let missing = || Error::new(ErrorKind::NotFound, format!("there is no {}", truncate_echo(&parameters.id)));
            Ok(Node::Entity(Box::new(found.into_iter().next().ok_or_else(missing)?)))
        }
        NodeId::Person(name) => Ok(Node::Person(Box::new(find_person(&asked, name).await?))),
        id => Ok(Node::Item(Box::new(asked.answer(ShowRequest { id }).await?))),
    }
}

#[derive(Deserialize, JsonSchema)]
struct ThreadParameters {
    /// Full path of the project; all if absent.
    project: Option<String>,
    /// Only in this state.
    state: Option<State>,
    /// Only by this person: a user name, an address, or a name that nobody else has.
    author: Option<String>,
    /// Only with this label.
    label: Option<String>,
    /// Most items, 1 to 100; 20 if absent.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// `next` of the previous page.
    cursor: Option<String>,
}

async fn issues(asked: Asked, parameters: ThreadParameters) -> Result<Page<ThreadSummary>, Refusal> {
    threads(asked, ThreadKind::Issue, parameters).await
}

async fn merge_requests(asked: Asked, parameters: ThreadParameters) -> Result<Page<ThreadSummary>, Refusal> {
    threads(asked, ThreadKind::MergeRequest, parameters).await
}

async fn threads(asked: Asked, kind: ThreadKind, parameters: ThreadParameters) -> Result<Page<ThreadSummary>, Refusal> {
    let ThreadParameters { project, state, author, label, limit, cursor } = parameters;
    let after: Option<PageCursor> = cursor::decode(cursor.as_deref())?;
    let filter = ThreadFilter { project, state, author, label };
    let limit = cursor::limit(limit)?;
    let list = asked.answer(ListThreads { kind, filter, limit, after }).await?;
    Ok(Page { next: list.next.as_ref().map(cursor::encode), items: list.threads })
}

#[derive(Deserialize, JsonSchema)]
struct NeighborParameters {
    /// The node.
    id: String,
    /// Most edges between it and another, 1 to 3; 1 if absent.
    depth: Option<usize>,
    /// Which edges are followed; all if absent.
    #[serde(default)]
    edges: BTreeSet<Edge>,
    /// Most nodes; 100 if absent.
    limit: Option<usize>,
}

async fn neighbors(asked: Asked, parameters: NeighborParameters) -> Result<Neighborhood, Refusal> {
    let request = NeighborhoodRequest {
        id: node_id(&parameters.id)?,
        depth: parameters.depth.unwrap_or(DEFAULT_DEPTH),
        edges: parameters.edges,
        limit: parameters.limit.unwrap_or(DEFAULT_NEIGHBORS),
        totals: true,
    };
    asked.answer(request).await
}

#[derive(Deserialize, JsonSchema)]
struct PathParameters {
    /// Where it begins.
    from: String,
    /// Where it ends.
    to: String,
    /// Which edges are followed; all if absent.
    #[serde(default)]
    edges: BTreeSet<Edge>,
    /// Most edges, 1 to 8; 6 if absent.
    max_length: Option<usize>,
}

async fn path(asked: Asked, parameters: PathParameters) -> Result<PathAnswer, Refusal> {
    let PathParameters { from, to, edges, max_length } = parameters;
    let (from, to) = (node_id(&from)?, node_id(&to)?);
    asked.answer(PathRequest { from, to, edges, max_length: max_length.unwrap_or(DEFAULT_LENGTH) }).await
}
