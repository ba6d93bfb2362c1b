//! Retrieves passages for a question: those that a context pack would have, alone, within bounds that the caller sets.

use backstory_model::{
    document_type::DocumentType,
    filter::Filter,
    pack::{Chunk, Format, MIN_TOKENS, Mode, compare_chunks},
};
use serde::{Deserialize, Serialize};

use super::{
    ATTEMPTS, About, ContextRequest, MAX_CHUNKS, MAX_TIME, at_state_of_pack, checked, code::Files,
    gather::gather_evidence, retrieved::retrieved,
};
use crate::{
    embed::Provider,
    error::{Error, ErrorKind, Result},
    limits::{check_limit, check_range},
    resources::Resources,
    snapshot::{IndexState, load_state},
    tokens,
    use_case::{UseCase, Weight},
};

/// Passages that are retrieved, unless a request asks for more or fewer.
pub const DEFAULT_PASSAGES: usize = 12;
/// Tokens of all passages, unless a request asks for more or fewer.
pub const DEFAULT_RETRIEVED_TOKENS: usize = 3_000;
/// Most tokens of all passages.
pub const MAX_RETRIEVED_TOKENS: usize = 50_000;

/// Requests passages that answer a question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetrieveRequest {
    /// Words or a question.
    pub query: String,
    /// Full paths of projects; all if empty.
    #[serde(default)]
    pub projects: Vec<String>,
    /// Only passages of documents of these types; of all if empty.
    #[serde(default)]
    pub document_types: Vec<DocumentType>,
    /// Only code and documents whose paths begin with one of these; all if empty.
    #[serde(default)]
    pub path_prefixes: Vec<String>,
    /// What it may hold.
    #[serde(default)]
    pub mode: Mode,
    /// Id of the state of the index that they must be from, or its first digits; the current one if absent.
    #[serde(default)]
    pub snapshot: Option<String>,
    /// Branch, tag or commit that they must be from, which must be indexed; the default branch if absent.
    #[serde(default)]
    pub revision: Option<String>,
    /// Most passages, 1 to 50; 12 if absent.
    #[serde(default = "default_passages")]
    pub limit: usize,
    /// Most tokens of all passages, 1 to 50,000; 3,000 if absent.
    #[serde(default = "default_tokens")]
    pub tokens: usize,
    /// More tokens than this are not returned before they are approved; absent for no threshold.
    #[serde(default)]
    pub approval_threshold: Option<usize>,
    /// How many tokens are approved.
    #[serde(default)]
    pub approved_tokens: usize,
}

const fn default_passages() -> usize {
    DEFAULT_PASSAGES
}

const fn default_tokens() -> usize {
    DEFAULT_RETRIEVED_TOKENS
}

/// Passages, in the order of a context pack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Retrieved {
    /// State of the index that they are from.
    pub snapshot: String,
    /// The passages; none if there are more tokens than were approved.
    pub chunks: Vec<RetrievedChunk>,
    /// Tokens of all passages that were found within the bounds.
    pub tokens: usize,
    /// Passages for which there was no room.
    pub left_out: usize,
    /// The model of the vectors.
    pub embedding_model: String,
    /// Who computes them.
    pub embedding_provider: String,
    /// What must be approved to get the passages.
    pub needs_approval: Option<Approval>,
}

/// A passage with where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetrievedChunk {
    /// Its id, which follows from project, commit, path, its place there and what it says.
    pub chunk_id: String,
    /// What the document is for.
    pub document_type: DocumentType,
    /// Reference of the document.
    pub document: String,
    /// Title of the document.
    pub title: String,
    /// Full path of the project.
    pub project: String,
    /// The commit at which it stands so, of what is in the repository.
    pub commit: Option<String>,
    /// Path of the file, of what is in one.
    pub path: Option<String>,
    /// Its page.
    pub url: Option<String>,
    /// First and last line.
    pub lines: (u32, u32),
    /// How well it answers, 0 to 1.
    pub score: f64,
    /// Whether vectors took part in finding it.
    pub by_meaning: bool,
    /// How many tokens it has.
    pub tokens: usize,
    /// What it says.
    pub text: String,
}

/// What must be approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Approval {
    /// How many tokens there are.
    pub tokens: usize,
    /// How many need no approval.
    pub threshold: usize,
}

impl UseCase for RetrieveRequest {
    const NAME: &'static str = "retrieve";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Retrieved;

    async fn run(self, resources: &Resources) -> Result<Retrieved> {
        match tokio::time::timeout(MAX_TIME, retrieve(resources, self)).await {
            Ok(found) => found,
            Err(_) => {
                let message = format!("retrieving took longer than {} s", MAX_TIME.as_secs());
                Err(Error::new(ErrorKind::Timeout, message).with_hint("narrow the question down"))
            }
        }
    }
}

/// Retrieves passages.
///
/// # Errors
/// A bound is wrong, a project is not known, the named snapshot is not the current state, or a store failed.
async fn retrieve(resources: &Resources, request: RetrieveRequest) -> Result<Retrieved> {
    check_bounds(&request)?;
    let (state, mut chunks) = find_chunks(resources, &request).await?;
    chunks.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.chunk_id.cmp(&b.chunk_id)));
    let found = chunks.len();
    let (mut kept, tokens) = fit_chunks(chunks, &request);
    kept.sort_by(|a, b| compare_chunks(&a.0, &b.0));
    let threshold = request.approval_threshold.filter(|most| tokens > *most && tokens > request.approved_tokens);
    let left_out = found - kept.len();
    let chunks = if threshold.is_some() { Vec::new() } else { kept.into_iter().map(RetrievedChunk::from).collect() };
    Ok(Retrieved {
        snapshot: state.id,
        chunks,
        tokens,
        left_out,
        embedding_model: resources.embedder().model().to_owned(),
        embedding_provider: provider_name(resources.settings().embedding.provider).to_owned(),
        needs_approval: threshold.map(|threshold| Approval { tokens, threshold }),
    })
}

fn provider_name(provider: Provider) -> &'static str {
    match provider {
        Provider::Bundled => "bundled",
        Provider::None => "none",
        Provider::Ollama => "ollama",
        Provider::OpenAi => "openai",
    }
}

fn check_bounds(request: &RetrieveRequest) -> Result<()> {
    check_limit(request.limit, MAX_CHUNKS)?;
    check_range("the number of tokens", request.tokens, MAX_RETRIEVED_TOKENS)
}

/// The request of a context pack that would have these passages.
fn pack_request(resources: &Resources, request: &RetrieveRequest) -> Result<ContextRequest> {
    let filter = Filter {
        projects: request.projects.clone(),
        document_types: request.document_types.clone(),
        paths: request.path_prefixes.clone(),
        revision: request.revision.clone(),
        ..Filter::default()
    };
    checked(ContextRequest {
        about: About::Query(resources.redactor().redact(&request.query).0.into_owned()),
        filter,
        path: None,
        near: Vec::new(),
        ranking: None,
        mode: request.mode,
        format: Format::Json,
        tokens: MIN_TOKENS,
        diffs: false,
        tests: false,
        snapshot: None,
    })
}

/// The passages and the state of the index that they are from. They are read again if it changes meanwhile, a few times.
async fn find_chunks(resources: &Resources, request: &RetrieveRequest) -> Result<(IndexState, Vec<Chunk>)> {
    let mut of_pack = pack_request(resources, request)?;
    let resources = &at_state_of_pack(resources, &mut of_pack.filter, request.snapshot.as_deref()).await?;
    let mut attempt = 1;
    loop {
        let state = load_state(resources).await?;
        let evidence = gather_evidence(resources, &of_pack, &state, request.limit).await?;
        let of_files = state.clone();
        let chunks = resources
            .blocking(move |resources| {
                let mut files = Files::new(resources, &of_files);
                retrieved(resources, &evidence, &mut files)
            })
            .await?;
        if attempt == ATTEMPTS || load_state(resources).await?.id == state.id {
            return Ok((state, chunks));
        }
        attempt += 1;
    }
}

/// The best that have room, with their tokens, and how many those are together.
fn fit_chunks(chunks: Vec<Chunk>, request: &RetrieveRequest) -> (Vec<(Chunk, usize)>, usize) {
    let (mut kept, mut tokens) = (Vec::new(), 0);
    for chunk in chunks {
        let own = tokens::count(&chunk.text);
        if kept.len() < request.limit && tokens + own <= request.tokens {
            tokens += own;
            kept.push((chunk, own));
        }
    }
    (kept, tokens)
}

impl From<(Chunk, usize)> for RetrievedChunk {
    fn from((chunk, tokens): (Chunk, usize)) -> Self {
        Self {
            chunk_id: chunk.chunk_id,
            document_type: chunk.document_type,
            document: chunk.document,
            title: chunk.title,
            project: chunk.repository,
            commit: chunk.commit,
            path: chunk.path,
            url: chunk.url,
            lines: chunk.lines,
            score: chunk.score,
            by_meaning: chunk.embedding_model.is_some(),
            tokens,
            text: chunk.text,
        }
    }
}
