//! `POST /api/retrieval/query`, with the names of fields of the tool that plans work from retrieved passages.

use axum::http::{Method, StatusCode};
use backstory_engine::{
    context::{Approval, DEFAULT_PASSAGES, DEFAULT_RETRIEVED_TOKENS, RetrieveRequest, Retrieved, RetrievedChunk},
    error::{Error, ErrorKind},
    model::{access::Scope, document_type::DocumentType, pack::Mode},
    repository::ListRepositories,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    repositories::find_repository,
    route::{Asked, Doc, Reply, Route, change},
};
use crate::http::Refusal;

/// Most repositories that a request names.
const MAX_REPOSITORIES: usize = 100;

pub(super) fn routes() -> Vec<Route> {
    let doc = Doc {
        tag: "retrieval",
        summary: "Passages that answer a question, with where they come from",
        scope: Scope::Read,
    };
    vec![change::<_, Query, Found, _, _>(Method::POST, "/api/retrieval/query", doc, StatusCode::OK, query)]
}

#[derive(Deserialize, JsonSchema)]
struct NoParameters {}

/// One or several.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// A question and its bounds.
#[derive(Deserialize, JsonSchema)]
struct Query {
    /// Anything: a data directory is one workspace.
    workspace_id: Option<String>,
    /// Ids or full paths of repositories; all if absent.
    repo_id: Option<OneOrMany>,
    /// Words or a question.
    query_text: String,
    /// What passages must meet.
    #[serde(default)]
    filters: Filters,
    /// Most passages; 12 if absent.
    top_k: Option<usize>,
    /// Most tokens of all passages; 3,000 if absent.
    max_total_tokens_in_results: Option<usize>,
    /// `all`, or `governing_docs_only` for specifications, contracts and recorded decisions.
    mode: Option<Mode>,
    /// More tokens than this are returned only once they are approved.
    approval_threshold: Option<usize>,
    /// How many tokens are approved.
    approve_tokens: Option<usize>,
}

/// What passages must meet.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
struct Filters {
    /// Only of documents of these types; `pr` and `issue` for merge requests and issues.
    doc_types: Vec<DocType>,
    /// Only of files whose paths begin with one of these.
    path_prefixes: Vec<String>,
    /// State of the index that they must be from; the current one if absent.
    snapshot_id: Option<String>,
    /// Indexed branch, tag or commit that they must be from; the default branch if absent.
    #[serde(rename = "ref")]
    revision: Option<String>,
}

/// What a document is for.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DocType {
    Spec,
    Contract,
    Adr,
    Doc,
    Code,
    Issue,
    #[serde(alias = "merge_request")]
    Pr,
    Discussion,
    Commit,
}

impl From<DocType> for DocumentType {
    fn from(doc_type: DocType) -> Self {
        match doc_type {
            DocType::Spec => Self::Spec,
            DocType::Contract => Self::Contract,
            DocType::Adr => Self::Adr,
            DocType::Doc => Self::Doc,
            DocType::Code => Self::Code,
            DocType::Issue => Self::Issue,
            DocType::Pr => Self::MergeRequest,
            DocType::Discussion => Self::Discussion,
            DocType::Commit => Self::Commit,
        }
    }
}

/// Passages, in the order in which an agent should read them.
#[derive(Serialize, JsonSchema)]
struct Found {
    /// The passages; none if they need approval.
    chunks: Vec<Chunk>,
    /// State of the index that they are from.
    snapshot_id: String,
    /// Tokens of all passages.
    total_tokens: usize,
    /// Passages for which there was no room.
    left_out: usize,
    /// What must be approved to get them, by `approve_tokens`.
    needs_approval: Option<Approval>,
    /// As it was given.
    workspace_id: Option<String>,
}

/// A passage.
#[derive(Serialize, JsonSchema)]
struct Chunk {
    /// SHA-256 over project, commit, path, its place there and the hash of its text.
    chunk_id: String,
    /// What it says.
    text: String,
    /// What the document is for.
    doc_type: DocumentType,
    /// Where it comes from.
    provenance: Provenance,
    /// How well it answers, 0 to 1.
    score: f64,
    /// How many tokens it has.
    token_count: usize,
    /// The model whose vectors took part in finding it.
    embedding: Option<Embedding>,
}

/// Where a passage comes from.
#[derive(Serialize, JsonSchema)]
struct Provenance {
    /// Full path of the project.
    repo: String,
    /// The commit at which it stands so.
    commit_sha: Option<String>,
    /// Path of the file.
    path: Option<String>,
    /// Its page.
    url: Option<String>,
    /// Reference of the document.
    source_id: String,
    /// Title of the document.
    title: String,
    /// First line.
    start_line: u32,
    /// Last line.
    end_line: u32,
}

/// An embedding model.
#[derive(Clone, Serialize, JsonSchema)]
struct Embedding {
    /// Its name.
    model: String,
    /// Who computes vectors with it.
    provider: String,
}

async fn query(asked: Asked, _: NoParameters, query: Query) -> Result<Reply, Refusal> {
    let ids = match query.repo_id {
        None => Vec::new(),
        Some(OneOrMany::One(id)) => vec![id],
        Some(OneOrMany::Many(ids)) => ids,
    };
    if ids.len() > MAX_REPOSITORIES {
        let message = format!("{} repositories are named; at most {MAX_REPOSITORIES} are allowed", ids.len());
        return Err(Error::new(ErrorKind::Invalid, message).with_hint("name none to search all").into());
    }
    let known = if ids.is_empty() { Vec::new() } else { asked.answer(ListRepositories {}).await? };
    let projects =
        ids.iter().map(|id| Ok(find_repository(&known, id)?.project.clone())).collect::<Result<Vec<_>, Refusal>>()?;
    let document_types: Vec<DocumentType> = query.filters.doc_types.into_iter().map(DocumentType::from).collect();
    let request = RetrieveRequest {
        query: query.query_text,
        projects,
        document_types,
        path_prefixes: query.filters.path_prefixes,
        mode: query.mode.unwrap_or_default(),
        snapshot: query.filters.snapshot_id,
        revision: query.filters.revision,
        limit: query.top_k.unwrap_or(DEFAULT_PASSAGES),
        tokens: query.max_total_tokens_in_results.unwrap_or(DEFAULT_RETRIEVED_TOKENS),
        approval_threshold: query.approval_threshold,
        approved_tokens: query.approve_tokens.unwrap_or_default(),
    };
    let Retrieved { snapshot, chunks, tokens, left_out, embedding_model, embedding_provider, needs_approval } =
        asked.answer(request).await?;
    let embedding = Embedding { model: embedding_model, provider: embedding_provider };
    let chunk = |chunk: RetrievedChunk| Chunk {
        chunk_id: chunk.chunk_id,
        text: chunk.text,
        doc_type: chunk.document_type,
        provenance: Provenance {
            repo: chunk.project,
            commit_sha: chunk.commit,
            path: chunk.path,
            url: chunk.url,
            source_id: chunk.document,
            title: chunk.title,
            start_line: chunk.lines.0,
            end_line: chunk.lines.1,
        },
        score: chunk.score,
        token_count: chunk.tokens,
        embedding: chunk.by_meaning.then(|| embedding.clone()),
    };
    let found = Found {
        chunks: chunks.into_iter().map(chunk).collect(),
        snapshot_id: snapshot,
        total_tokens: tokens,
        left_out,
        needs_approval,
        workspace_id: query.workspace_id,
    };
    Reply::json(StatusCode::OK, &found)
}
