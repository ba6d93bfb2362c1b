//! Addresses of the tool that enriches and searches files (`/api/enrich`, `/api/search`), with its names of fields.

use axum::http::{Method, StatusCode};
use backstory_engine::{
    ledger::{JobKind, JobStatus},
    model::{access::Scope, document_kind::DocumentKind, filter::Filter},
    repository::{AddRef, ListRepositories, RepositoryStatus},
    revisions::{IndexedRevision, short_name},
    search::{DEFAULT_HITS, HitSummary, SearchRequest},
    worker::QueueJob,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    prefer,
    repositories::repository_of,
    route::{Asked, Doc, Reply, Route, change, get},
};
use crate::http::Refusal;

const fn doc(summary: &'static str, scope: Scope) -> Doc {
    Doc { tag: "file search", summary, scope }
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        change::<_, EnrichFile, Accepted, _, _>(
            Method::POST,
            "/api/enrich",
            doc("Bring the index of a file's repository up to date", Scope::Sync),
            StatusCode::ACCEPTED,
            enrich,
        )
        .with_success_statuses(&[StatusCode::OK])
        .waits(),
        get::<_, Results, _, _>("/api/search", doc("Search, with what is known of each file", Scope::Read), search),
    ]
}

/// A file to be indexed.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EnrichFile {
    /// Full path of the project.
    repository: String,
    /// Branch, tag or commit whose files are indexed too, from now on; the default branch if absent.
    #[serde(rename = "ref")]
    branch: Option<String>,
    /// The commit that the caller has.
    commit: Option<String>,
    /// Path of the file.
    path: String,
    /// Hash of its content, as the caller has it. Files are compared by their git objects, so nothing is read twice.
    content_hash: Option<String>,
    /// Anything; handed back.
    metadata: Option<Map<String, Value>>,
}

/// Work that was accepted.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Accepted {
    /// Number of the job, whose state is at `/api/v1/jobs/{id}`.
    id: String,
    /// How the job stands.
    status: JobStatus,
    /// Full path of the project.
    repository: String,
    /// The branch, tag or commit that is indexed.
    #[serde(rename = "ref")]
    branch: Option<String>,
    /// Path of the file.
    path: String,
    /// The commit of it that is indexed now.
    indexed_commit: Option<String>,
    /// Whether that is the commit that the caller has.
    is_current: bool,
    /// As it was given.
    content_hash: Option<String>,
    /// As it was given.
    metadata: Option<Map<String, Value>>,
}

#[derive(Deserialize, JsonSchema)]
struct NoParameters {}

async fn enrich(asked: Asked, _: NoParameters, file: EnrichFile) -> Result<Reply, Refusal> {
    let mut repository = repository_of(&asked, &file.repository).await?;
    if let Some(name) = file.branch.as_deref().filter(|name| !is_indexed(&repository, name)) {
        repository = asked.answer(AddRef { project: repository.project.clone(), name: name.to_owned() }).await?;
    }
    let job = asked.answer(QueueJob { kind: JobKind::Sync, project: repository.project.clone() }).await?;
    let (job, waited) = prefer::wait_for(&asked, job).await?;
    let repository = if waited.is_some() { repository_of(&asked, &file.repository).await? } else { repository };
    let indexed_commit = commit_of(&repository, file.branch.as_deref());
    let status = prefer::status_of(&job);
    let accepted = Accepted {
        id: job.id.to_string(),
        status: job.status,
        is_current: file.commit.is_some() && file.commit == indexed_commit,
        indexed_commit,
        repository: repository.project,
        branch: file.branch.or(repository.default_branch),
        path: file.path,
        content_hash: file.content_hash,
        metadata: file.metadata,
    };
    Reply::waited(status, &accepted, waited)
}

/// Whether the files of a branch, tag or commit are indexed.
fn is_indexed(repository: &RepositoryStatus, name: &str) -> bool {
    let is_default = repository.default_branch.as_deref() == Some(short_name(name));
    is_default || commit_of(repository, Some(name)).is_some()
}

/// The indexed commit of a branch, tag or commit whose files are indexed; of the default branch if none is named.
fn commit_of(repository: &RepositoryStatus, name: Option<&str>) -> Option<String> {
    let head = repository.head.map(|head| head.to_string());
    let Some(name) = name.map(short_name) else { return head };
    if repository.default_branch.as_deref() == Some(name) || head.as_deref() == Some(name) {
        return head;
    }
    let is_it = |revision: &&IndexedRevision| {
        revision.name == name || revision.commit.is_some_and(|commit| commit.to_string() == name)
    };
    repository.revisions.iter().find(is_it)?.commit.map(|commit| commit.to_string())
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SearchParameters {
    /// Words or a question.
    query: String,
    /// Most results, at most 100; 10 if absent.
    limit: Option<usize>,
    /// Full path of the project; all if absent.
    repository: Option<String>,
    /// Indexed branch, tag or commit of the repository: only its files, as they are there.
    #[serde(rename = "ref")]
    branch: Option<String>,
    /// Only files whose paths start with this, and commits that change them.
    path_prefix: Option<String>,
    /// Only with all of these labels.
    #[serde(default)]
    tags: Vec<String>,
    /// Only of these kinds.
    #[serde(default)]
    kinds: Vec<DocumentKind>,
}

/// Ranked results.
#[derive(Serialize, JsonSchema)]
struct Results {
    /// The best first.
    items: Vec<ResultItem>,
    /// What the reader must know.
    warnings: Vec<String>,
}

/// A result.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ResultItem {
    /// Its reference.
    id: String,
    /// Its kind.
    kind: DocumentKind,
    /// Full path of the project.
    repository: String,
    /// The commit at which it stands so, if it is in a file.
    commit: Option<String>,
    /// Path of the file, if it is in one.
    path: Option<String>,
    /// First and last line in the file.
    lines: Option<(u32, u32)>,
    /// Its title.
    title: String,
    /// The passage that answers best.
    summary: String,
    /// Labels.
    tags: Vec<String>,
    /// Its page.
    url: Option<String>,
    /// 0 to 1.
    score: f32,
    /// When it last changed.
    updated_at: Timestamp,
}

async fn search(asked: Asked, parameters: SearchParameters) -> Result<Results, Refusal> {
    let SearchParameters { query, limit, repository, branch, path_prefix, tags, kinds } = parameters;
    let known = asked.answer(ListRepositories {}).await?;
    let project = match &repository {
        Some(name) => Some(repository_of(&asked, name).await?.project),
        None => None,
    };
    let paths = path_prefix.into_iter().collect();
    let revision = branch.clone();
    let filter = Filter { kinds, labels: tags, paths, project, revision, ..Filter::default() };
    let limit = limit.unwrap_or(DEFAULT_HITS);
    let found = asked.answer(SearchRequest { query, filter, limit, rerank: true, ..SearchRequest::default() }).await?;
    let head = |project: &str| {
        let repository = known.iter().find(|known| known.project == project)?;
        commit_of(repository, branch.as_deref())
    };
    let items = found.hits.into_iter().map(|hit: HitSummary| ResultItem {
        commit: head(&hit.project).filter(|_| hit.path.is_some()),
        id: hit.id.to_string(),
        kind: hit.kind,
        repository: hit.project,
        path: hit.path,
        lines: hit.lines,
        title: hit.title,
        summary: hit.snippet,
        tags: hit.labels,
        url: hit.url,
        score: hit.score,
        updated_at: hit.updated_at,
    });
    Ok(Results { items: items.collect(), warnings: found.warnings })
}
