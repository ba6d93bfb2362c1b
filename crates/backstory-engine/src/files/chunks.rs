//! What search reads of a file at a revision: its chunks, under the ids that hits and packs give them; and the facts of its
//! syntax tree.

use std::collections::HashSet;

use backstory_model::{
    code::{FileAnalysis, FileKind, FileSelection, LeftOutReason},
    commit::{RepoPath, Sha},
    digest::sha256_hex,
    document::{self, Document},
    document_type::DocumentType,
    filter::DocumentKind,
    id::NodeId,
    mime::mime_type,
    pack::chunk::{ChunkRef, TextPiece, split_text},
    reference::ReferenceContext,
    repository::HeadFile,
};
use backstory_sources::code::{
    Limits, SyntaxFact, analyze, detect, grammar_version, left_out_by_path, passages, select, syntax_facts,
};
use backstory_store::lists::{CommitQuery, PageRequest};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::text::{FileText, TextLeftOut, read_whole};
use crate::{
    code::CommitSummary,
    error::{Error, Result},
    records::commit_record,
    resources::Resources,
    tokens,
    trace::{Indexed, Revision, target::resolve_place},
    use_case::{UseCase, Weight},
};

/// Most chunks of one answer.
pub const MAX_FILE_CHUNKS: usize = 5_000;
/// Most facts of one answer.
pub const MAX_FACTS: usize = 5_000;
/// Most types of nodes that are asked for at once.
pub const MAX_NODE_TYPES: usize = 50;

/// Requests what search reads of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChunksRequest {
    /// Full path of the project; may be absent where there is only one repository.
    #[serde(default)]
    pub project: Option<String>,
    /// Path from the repository's root.
    pub path: String,
    /// Branch, tag or commit; the indexed head if absent.
    #[serde(default)]
    pub rev: Option<String>,
}

impl UseCase for ChunksRequest {
    const NAME: &'static str = "chunks";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = FileChunks;

    async fn run(self, resources: &Resources) -> Result<FileChunks> {
        resources.blocking(move |resources| chunks_of_file(resources, &self)).await
    }
}

/// A file at a revision and its chunks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileChunks {
    /// What the file is at the revision.
    pub file: FileVersion,
    /// Its chunks: those of each of its documents in the order of the text. None of a file that search does not read.
    pub chunks: Vec<FileChunk>,
    /// How many there are besides.
    pub left_out: usize,
    /// Why search does not read it.
    pub excluded: Option<LeftOutReason>,
}

/// A file at a revision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileVersion {
    /// The file as a node.
    pub id: NodeId,
    /// Full path of the project.
    pub project: String,
    /// Path from the repository's root.
    pub path: String,
    /// The commit at which it is like this.
    pub rev: Sha,
    /// How fresh the index is.
    pub indexed: Indexed,
    /// Object name of its content.
    pub blob: Sha,
    /// SHA-256 of its text without secrets; null if it is no text.
    pub content_hash: Option<String>,
    /// Bytes of its content.
    pub bytes: u64,
    /// How many lines it has; null if it is no text.
    pub line_count: Option<u32>,
    /// How many tokens it has, in the vocabulary `o200k_base`; null if it is no text.
    pub tokens: Option<usize>,
    /// Name of its programming language; null for what is no code.
    pub language: Option<String>,
    /// Its MIME type.
    pub mime_type: String,
    /// What it is for.
    pub document_type: DocumentType,
    /// Name and version of the grammar that reads it; null for what is no code.
    pub grammar: Option<String>,
    /// The commit that changed it last, and when; null unless the revision is the head of the default branch.
    pub last_commit: Option<CommitSummary>,
}

/// A chunk of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileChunk {
    /// Its id, which follows from where it stands and what it says.
    pub chunk_id: String,
    /// Reference of the document that it is a piece of: the file, a code entity or a section of it.
    pub document: String,
    /// What that document is.
    pub kind: DocumentKind,
    /// Name of the code entity, heading of the section, or path.
    pub title: String,
    /// Its number among the pieces of the document, from 0.
    pub index: u32,
    /// First and last line of the file.
    pub lines: (u32, u32),
    /// How many tokens it has, in the vocabulary `o200k_base`.
    pub tokens: usize,
    /// SHA-256 of what it says.
    pub text_hash: String,
    /// Name of the model that embedded its document, which names its version; null if no model has.
    pub embedding_model: Option<String>,
    /// What it says.
    pub text: String,
}

/// Requests the facts of a file's syntax tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactsRequest {
    /// Full path of the project; may be absent where there is only one repository.
    #[serde(default)]
    pub project: Option<String>,
    /// Path from the repository's root.
    pub path: String,
    /// Branch, tag or commit; the indexed head if absent.
    #[serde(default)]
    pub rev: Option<String>,
    /// Types of nodes as the grammar names them, at most 50; definitions, bindings, imports and comments if
    /// there are none.
    #[serde(default)]
    pub node_types: Vec<String>,
}

impl UseCase for FactsRequest {
    const NAME: &'static str = "facts";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = FileFacts;

    async fn run(self, resources: &Resources) -> Result<FileFacts> {
        resources.blocking(move |resources| facts_of_file(resources, &self)).await
    }
}

/// A file at a revision and the facts of its syntax tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileFacts {
    /// What the file is at the revision.
    pub file: FileVersion,
    /// The facts in the order of the text, what contains others before them; at most 5,000.
    pub facts: Vec<Fact>,
    /// How many there are besides.
    pub left_out: usize,
    /// Whether something in the file is no valid code of its language.
    pub syntax_errors: bool,
}

/// A node of a syntax tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// Its type in the grammar, `function_definition`.
    pub node_type: String,
    /// What it says, at most 2,000 bytes.
    pub text: String,
    /// Whether that is not all.
    pub shortened: bool,
    /// First and last line.
    pub lines: (u32, u32),
    /// The field of its parent that holds it, `name`.
    pub field: Option<String>,
}

impl From<SyntaxFact> for Fact {
    fn from(fact: SyntaxFact) -> Self {
        let SyntaxFact { node_type, text, shortened, lines, field } = fact;
        Self { node_type, text, shortened, lines: (lines.first, lines.last), field }
    }
}

fn facts_of_file(resources: &Resources, request: &FactsRequest) -> Result<FileFacts> {
    if request.node_types.len() > MAX_NODE_TYPES {
        let count = request.node_types.len();
        return Err(Error::invalid(format!("{count} types of nodes are asked for; at most {MAX_NODE_TYPES} are")));
    }
    let place = resolve_place(resources, request.project.as_deref(), request.rev.as_deref())?;
    let (file, bytes) = read_whole(resources, &place, &request.path)?;
    let text = file.text.clone().unwrap_or_default();
    let version = version_of(resources, &place, &file, &bytes)?;
    let found = syntax_facts(&request.path, &text, &request.node_types, MAX_FACTS)
        .map_err(|error| Error::invalid(format!("{}: {error}", request.path)))?;
    Ok(FileFacts {
        file: version,
        facts: found.facts.into_iter().map(Fact::from).collect(),
        left_out: found.left_out,
        syntax_errors: found.syntax_errors,
    })
}

fn chunks_of_file(resources: &Resources, request: &ChunksRequest) -> Result<FileChunks> {
    let place = resolve_place(resources, request.project.as_deref(), request.rev.as_deref())?;
    let (file, bytes) = read_whole(resources, &place, &request.path)?;
    let version = version_of(resources, &place, &file, &bytes)?;
    let excluded = excluded_because(resources, &place, &request.path, &file, &bytes);
    let mut answer = FileChunks { file: version, chunks: Vec::new(), left_out: 0, excluded };
    let Some(text) = file.text.as_deref().filter(|_| excluded.is_none()) else { return Ok(answer) };
    let documents = documents_at(resources, &place, &file, &bytes, text)?;
    let embedded = embedded_documents(resources, &place, &documents);
    let lines: Vec<&str> = text.lines().collect();
    for document in &documents {
        let model = embedded.contains(&document.id).then(|| resources.index().model().name.clone());
        for piece in pieces_of(document, &lines) {
            if answer.chunks.len() < MAX_FILE_CHUNKS {
                answer.chunks.push(chunk(&place, document, piece, model.clone()));
            } else {
                answer.left_out += 1;
            }
        }
    }
    Ok(answer)
}

/// What a file is at a revision; it is not cut into chunks for that.
pub(crate) async fn find_version(resources: &Resources, request: ChunksRequest) -> Result<FileVersion> {
    resources
        .blocking(move |resources| {
            let place = resolve_place(resources, request.project.as_deref(), request.rev.as_deref())?;
            let (file, bytes) = read_whole(resources, &place, &request.path)?;
            version_of(resources, &place, &file, &bytes)
        })
        .await
}

/// Why search does not read a file.
fn excluded_because(
    resources: &Resources,
    place: &Revision,
    path: &str,
    file: &FileText,
    bytes: &[u8],
) -> Option<LeftOutReason> {
    let rules = &resources.settings().repositories;
    if rules.leaves_out(place.project(), path) {
        return Some(LeftOutReason::Excluded);
    }
    let most = rules.max_file_bytes(place.project());
    if file.left_out == Some(TextLeftOut::TooLarge) || file.bytes > most {
        return Some(LeftOutReason::TooLarge);
    }
    let limits = Limits { bytes: usize::try_from(most).unwrap_or(usize::MAX) };
    left_out_by_path(path).or_else(|| match select(path, bytes, limits) {
        FileSelection::Include => None,
        FileSelection::LeftOut(reason) => Some(reason),
    })
}

/// The documents that search has of a file, as they are at a revision.
fn documents_at(
    resources: &Resources,
    place: &Revision,
    file: &FileText,
    bytes: &[u8],
    text: &str,
) -> Result<Vec<Document>> {
    let analysis = clean_analysis(resources, &file.path, bytes)?;
    let cut = passages(&analysis, text, resources.settings().chunks);
    let head = HeadFile {
        path: RepoPath::from_escaped(&file.path),
        blob: file.blob,
        bytes: file.bytes,
        changed_at: Timestamp::UNIX_EPOCH,
        left_out: None,
        analysis: Some(analysis),
    };
    let repository = place.repository();
    let context =
        ReferenceContext { forge: repository.forge, project: place.project(), forge_url: &repository.forge_url };
    Ok(document::file_documents(&head, text, &cut, context, &place.commit.to_string()))
}

/// What a file contains, without the secrets in names and headings: as it is stored.
fn clean_analysis(resources: &Resources, path: &str, bytes: &[u8]) -> Result<FileAnalysis> {
    let failed = |error: serde_json::Error| Error::internal(format!("{path} cannot be read without secrets: {error}"));
    let mut json = serde_json::to_value(analyze(path, bytes)).map_err(failed)?;
    resources.redactor().redact_json(&mut json);
    serde_json::from_value(json).map_err(failed)
}

/// Whether a place is the head of the default branch, whose files the index has; of other branches it has commits only.
fn is_indexed_head(place: &Revision) -> bool {
    let default = place.repository().default_branch.as_ref().map(RepoPath::as_str);
    default.is_some() && place.branch.as_deref() == default
}

/// Those of the documents that have vectors. Only the head of the default branch has any.
fn embedded_documents(resources: &Resources, place: &Revision, documents: &[Document]) -> HashSet<String> {
    if !is_indexed_head(place) {
        return HashSet::new();
    }
    resources.index().embedded(documents.iter().map(|document| document.id.as_str()))
}

/// The pieces of a document with lines as they are in the file.
fn pieces_of(document: &Document, lines: &[&str]) -> Vec<TextPiece> {
    let Some((first, last)) = document.lines else { return Vec::new() };
    let before = first.saturating_sub(1);
    let end = (last as usize).min(lines.len());
    let mut cut = split_text(&lines[(before as usize).min(end)..end].join("\n"));
    for piece in &mut cut {
        piece.lines = (piece.lines.0 + before, piece.lines.1 + before);
    }
    cut
}

fn chunk(place: &Revision, document: &Document, piece: TextPiece, embedding_model: Option<String>) -> FileChunk {
    let reference = ChunkRef {
        document: document.id.clone(),
        repository: place.project().to_owned(),
        commit: Some(place.commit.to_string()),
        path: document.path.clone(),
        lines: piece.lines,
        index: piece.index,
        text_hash: sha256_hex(&piece.text),
    };
    FileChunk {
        chunk_id: reference.chunk_id(),
        document: reference.document,
        kind: document.kind,
        title: document.title.clone(),
        index: piece.index,
        lines: piece.lines,
        tokens: tokens::count(&piece.text),
        text_hash: reference.text_hash,
        embedding_model,
        text: piece.text,
    }
}

fn version_of(resources: &Resources, place: &Revision, file: &FileText, bytes: &[u8]) -> Result<FileVersion> {
    let kind = detect(&file.path, bytes);
    let grammar = match kind {
        FileKind::Code(language) => Some(grammar_version(language)),
        FileKind::Doc(_) | FileKind::Text => None,
    };
    Ok(FileVersion {
        id: file.id.clone(),
        project: file.project.clone(),
        path: file.path.clone(),
        rev: file.rev,
        indexed: file.indexed.clone(),
        blob: file.blob,
        content_hash: file.text_hash.clone(),
        bytes: file.bytes,
        line_count: file.line_count,
        tokens: file.text.as_deref().map(tokens::count),
        language: file.language.clone(),
        mime_type: mime_type(&file.path, kind, file.text.is_some()).to_owned(),
        document_type: DocumentType::classify(DocumentKind::File, Some(&file.path)),
        grammar,
        last_commit: last_commit(resources, place, file)?,
    })
}

/// The commit that left a file as it is at the head of the default branch.
fn last_commit(resources: &Resources, place: &Revision, file: &FileText) -> Result<Option<CommitSummary>> {
    if !is_indexed_head(place) {
        return Ok(None);
    }
    let query =
        CommitQuery { projects: vec![file.project.clone()], paths: vec![file.path.clone()], ..CommitQuery::default() };
    let newest = PageRequest { first: 20, ..PageRequest::default() };
    let lists = resources.ledger().lists();
    for row in lists.commits(&query, &newest, resources.visibility())?.rows {
        let Some(record) = commit_record(resources, &file.project, &row.sha)? else { continue };
        let changes = record.commit.changes.iter().filter(|change| change.path.as_str() == file.path);
        if changes.filter_map(|change| change.new).any(|version| version.id == file.blob) {
            return Ok(Some(CommitSummary::new(&file.project, &record)));
        }
    }
    Ok(None)
}
