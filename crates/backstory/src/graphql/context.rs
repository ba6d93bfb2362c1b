//! Context packs.

use std::collections::BTreeMap;

use async_graphql::{Context, Enum, ID, InputObject, Result, SimpleObject};
use backstory_engine::{
    context::{About, ContextRequest},
    model::{self, pack},
};

use super::{loaders, scalar::DateTime, search::SearchFilter, trace::Asked};

/// How a pack is printed.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "pack::Format")]
pub(crate) enum PackFormat {
    /// For programs, with the whole manifest if there is room.
    Json,
    /// To be read.
    Markdown,
}

/// What a pack may hold.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "pack::Mode")]
pub(crate) enum PackMode {
    /// Everything.
    All,
    /// Specifications, contracts and recorded decisions, and nothing else.
    GoverningDocsOnly,
}

/// What a document is for, the most binding first.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "model::document_type::DocumentType")]
pub(crate) enum DocumentType {
    /// It specifies how things must be.
    Spec,
    /// It is what others rely on: an interface, a schema.
    Contract,
    /// It records a decision.
    Adr,
    /// It explains.
    Doc,
    /// It is source code.
    Code,
    /// An issue.
    Issue,
    /// A merge request.
    MergeRequest,
    /// A discussion.
    Discussion,
    /// A commit.
    Commit,
}

/// A part of a pack that is a list.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "pack::Section")]
pub(crate) enum PackSection {
    /// The items that matter most.
    KeyItems,
    /// What happened when.
    Timeline,
    /// Reasons that were given.
    DesignNotes,
    /// Code.
    CodeContext,
    /// Changes of code.
    ImportantDiffs,
    /// Tests.
    RelatedTests,
    /// Passages of what was found.
    Retrieved,
}

/// What a pack is about: words, code or an item.
#[derive(InputObject)]
pub(crate) struct PackSubject {
    /// Words or a question, at most 2,000 characters.
    query: Option<String>,
    /// `acme/shop@1a2b3c4`, `acme/shop!7`, `acme/shop#12`, `acme/shop:src/a.rs`, `acme/shop:src/a.rs#login`.
    #[graphql(name = "ref")]
    reference: Option<String>,
    /// Path from the repository's root.
    path: Option<String>,
    /// First line, from 1.
    line: Option<u32>,
    /// Last line; the first if absent.
    end_line: Option<u32>,
    /// Name of a function or type of the file, in place of lines.
    symbol: Option<String>,
    /// Branch, tag or commit at which the path and lines are; the indexed head if absent.
    rev: Option<String>,
}

/// How much may be in a pack, and how it is printed.
#[derive(Default, InputObject)]
pub(crate) struct PackOptions {
    /// Most tokens of the printed pack, 200 to 100,000; 4,000 if absent.
    tokens: Option<u32>,
    /// How it is printed: that is what is counted; JSON if absent.
    format: Option<PackFormat>,
    /// What it may hold; everything if absent.
    mode: Option<PackMode>,
    /// Only code and documents whose path begins so, and commits that change such.
    path_prefix: Option<String>,
    /// Whether it shows changes; true if absent.
    diffs: Option<bool>,
    /// Whether it names tests; true if absent.
    tests: Option<bool>,
    /// Id of the state of the index that it must be made from, or its first digits; the current one if absent.
    snapshot: Option<String>,
}

/// What an agent must know about a question or a piece of code, in a budget of tokens.
#[derive(SimpleObject)]
pub(crate) struct ContextPack {
    /// The pack as it is printed: this is what was counted.
    text: String,
    /// What was asked, cut if it is long.
    query: String,
    /// Tokens of the printed pack.
    token_count: u32,
    /// Most tokens it might have.
    token_budget: u32,
    /// Who counted the tokens.
    tokenizer: String,
    /// The answer in a few sentences of those who gave it.
    summary: String,
    /// What happened when, oldest first.
    timeline: Vec<PackEvent>,
    /// The items that matter most, best first.
    key_items: Vec<PackItem>,
    /// Code.
    code_context: Vec<PackCode>,
    /// Changes.
    important_diffs: Vec<PackDiff>,
    /// Reasons that were given.
    design_notes: Vec<PackNote>,
    /// Tests.
    related_tests: Vec<PackTest>,
    /// What it is made from.
    provenance: PackSources,
    /// Passages of what was found: what governs first, then the better tenth of scores, then by id.
    retrieved: Vec<PackChunk>,
    /// What could not be found, a sentence each.
    missing: Vec<String>,
    /// How many entries of each section had no room.
    left_out: Vec<PackCount>,
    /// What makes the same pack again, and shows what was read.
    manifest: PackManifest,
}

/// An item that matters.
#[derive(SimpleObject)]
pub(crate) struct PackItem {
    /// Its reference.
    reference: ID,
    /// What it is: `issue`, `merge_request`, `discussion`, `commit`.
    kind: String,
    /// Its title.
    title: String,
    /// Where it stands, of what has a state.
    state: Option<String>,
    /// The day it was begun.
    date: String,
    /// Who began it.
    author: Option<String>,
    /// Type of change, of a commit.
    classification: Option<String>,
    /// How well it answers, 0 to 1.
    relevance: f64,
    /// What it has to do with other items.
    links: Vec<String>,
    /// The words of it that matter most.
    excerpt: String,
    /// Its page.
    url: Option<String>,
}

/// Something that happened.
#[derive(SimpleObject)]
pub(crate) struct PackEvent {
    /// The day.
    date: String,
    /// What happened.
    summary: String,
    /// References of the items it is told by.
    items: Vec<ID>,
    /// Object names of the commits.
    commits: Vec<String>,
}

/// A reason that was given.
#[derive(SimpleObject)]
pub(crate) struct PackNote {
    /// Where it stands: a reference.
    source: ID,
    /// Who wrote it.
    author: Option<String>,
    /// The language model that wrote it from what stands there; null if these are a person's own words.
    written_by: Option<String>,
    /// Its words.
    note: String,
    /// Why it is told.
    relevance: String,
}

/// Code.
#[derive(SimpleObject)]
pub(crate) struct PackCode {
    /// Path of the file.
    path: String,
    /// Name of the function or type.
    entity: Option<String>,
    /// First and last line of the snippet.
    lines: Vec<u32>,
    /// Full path of the project.
    repository: String,
    /// Object name of the commit at which it stands so.
    commit: String,
    /// The code.
    snippet: String,
    /// Which commit and merge request wrote it, and why.
    explanation: String,
}

/// A change of code.
#[derive(SimpleObject)]
pub(crate) struct PackDiff {
    /// Full path of the project.
    repository: String,
    /// Object name of the commit.
    commit: String,
    /// Path of the file after it.
    path: String,
    /// The hunks that matter, as `git diff` prints them.
    diff: String,
    /// Which commit it is and why it matters.
    explanation: String,
    /// Hunks of the file that are left out.
    hunks_left_out: u32,
}

/// A test.
#[derive(SimpleObject)]
pub(crate) struct PackTest {
    /// Path of the file.
    path: String,
    /// Name of the test, if it is one of several in the file.
    name: Option<String>,
    /// What it tests.
    description: String,
}

/// What a pack is made from.
#[derive(SimpleObject)]
pub(crate) struct PackSources {
    /// References of commits.
    commits: Vec<ID>,
    /// Paths of files.
    files: Vec<String>,
    /// Who wrote it.
    authors: Vec<String>,
    /// References of issues, merge requests and discussions.
    items: Vec<ID>,
}

/// A passage that can be proved.
#[derive(SimpleObject)]
pub(crate) struct PackChunk {
    /// Its id, which follows from where it stands and what it says.
    chunk_id: ID,
    /// What it is for.
    document_type: DocumentType,
    /// Reference of the document it is a piece of.
    document: ID,
    /// Title of the document.
    title: String,
    /// Full path of the project.
    repository: String,
    /// Object name of the commit at which it stands so; null for what is not in the repository.
    commit: Option<String>,
    /// Path of the file; null for what is in none.
    path: Option<String>,
    /// Its page.
    url: Option<String>,
    /// First and last line, of the file, else of the document's text.
    lines: Vec<u32>,
    /// Its number among the pieces of the document.
    index: u32,
    /// How well it answers, 0 to 1.
    score: f64,
    /// The model whose vectors took part in finding it; null if only its words did.
    embedding_model: Option<String>,
    /// SHA-256 of what it says.
    text_hash: String,
    /// What it says.
    text: String,
}

/// How many entries of a section.
#[derive(SimpleObject)]
pub(crate) struct PackCount {
    /// The section.
    section: PackSection,
    /// How many.
    count: u32,
}

/// A name and what it stands for.
#[derive(SimpleObject)]
pub(crate) struct PackParameter {
    /// Its name.
    name: String,
    /// What it is.
    value: String,
}

/// An item or chunk by its id and what it says by its hash.
#[derive(SimpleObject)]
pub(crate) struct PackHash {
    /// Reference of the item, or id of the chunk.
    id: ID,
    /// SHA-256 of its text.
    content_hash: String,
}

/// What makes the same pack again, and shows what was read.
#[derive(SimpleObject)]
pub(crate) struct PackManifest {
    /// It follows from everything below.
    id: ID,
    /// What was asked.
    query: String,
    /// How it was asked.
    parameters: Vec<PackParameter>,
    /// Id of the state of the index.
    snapshot: ID,
    /// When that state was reached; null while it is on no record.
    timestamp: Option<DateTime>,
    /// The indexed commit of each repository, by project.
    commits: Vec<PackParameter>,
    /// Name of the embedding model.
    embedding_model: String,
    /// Documents of the index.
    documents: u64,
    /// Documents that have vectors.
    embedded: u64,
    /// Who counted the tokens.
    tokenizer: String,
    /// What each part of the score weighs.
    weights: Vec<PackParameter>,
    /// The items that were read.
    items: Vec<PackHash>,
    /// The chunks that are in the pack; the hash is that of their text.
    chunks: Vec<PackHash>,
    /// Entries of each section.
    counts: Vec<PackCount>,
}

fn ids(list: Vec<String>) -> Vec<ID> {
    list.into_iter().map(ID).collect()
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn counts(of: BTreeMap<pack::Section, usize>) -> Vec<PackCount> {
    of.into_iter().map(|(section, count)| PackCount { section: section.into(), count: number(count) }).collect()
}

fn named<V: ToString>(of: BTreeMap<String, V>) -> Vec<PackParameter> {
    of.into_iter().map(|(name, value)| PackParameter { name, value: value.to_string() }).collect()
}

fn hashes(of: Vec<pack::Hashed>) -> Vec<PackHash> {
    of.into_iter().map(|of| PackHash { id: of.id.into(), content_hash: of.content_hash }).collect()
}

impl From<pack::ContextPack> for ContextPack {
    fn from(of: pack::ContextPack) -> Self {
        Self {
            text: pack::render(&of),
            query: of.metadata.query,
            token_count: number(of.metadata.token_count),
            token_budget: number(of.metadata.token_budget),
            tokenizer: of.metadata.tokenizer,
            summary: of.summary,
            timeline: of.timeline.into_iter().map(PackEvent::from).collect(),
            key_items: of.key_items.into_iter().map(PackItem::from).collect(),
            code_context: of.code_context.into_iter().map(PackCode::from).collect(),
            important_diffs: of.important_diffs.into_iter().map(PackDiff::from).collect(),
            design_notes: of.design_notes.into_iter().map(PackNote::from).collect(),
            related_tests: of.related_tests.into_iter().map(PackTest::from).collect(),
            provenance: PackSources {
                commits: ids(of.provenance.commits),
                files: of.provenance.files,
                authors: of.provenance.authors,
                items: ids(of.provenance.items),
            },
            retrieved: of.retrieved.into_iter().map(PackChunk::from).collect(),
            missing: of.missing,
            left_out: counts(of.left_out),
            manifest: of.manifest.into(),
        }
    }
}

impl From<pack::KeyItem> for PackItem {
    fn from(of: pack::KeyItem) -> Self {
        Self {
            reference: of.reference.into(),
            kind: of.kind,
            title: of.title,
            state: of.state,
            date: of.date,
            author: of.author,
            classification: of.classification,
            relevance: of.relevance,
            links: of.links,
            excerpt: of.excerpt,
            url: of.url,
        }
    }
}

impl From<pack::TimelineEntry> for PackEvent {
    fn from(of: pack::TimelineEntry) -> Self {
        Self { date: of.date, summary: of.summary, items: ids(of.items), commits: of.commits }
    }
}

impl From<pack::DesignNote> for PackNote {
    fn from(of: pack::DesignNote) -> Self {
        Self {
            source: of.source.into(),
            author: of.author,
            written_by: of.written_by,
            note: of.note,
            relevance: of.relevance,
        }
    }
}

impl From<pack::CodeContext> for PackCode {
    fn from(of: pack::CodeContext) -> Self {
        Self {
            path: of.path,
            entity: of.entity,
            lines: vec![of.lines.0, of.lines.1],
            repository: of.repository,
            commit: of.commit,
            snippet: of.snippet,
            explanation: of.explanation,
        }
    }
}

impl From<pack::ImportantDiff> for PackDiff {
    fn from(of: pack::ImportantDiff) -> Self {
        Self {
            repository: of.repository,
            commit: of.commit,
            path: of.path,
            diff: of.diff,
            explanation: of.explanation,
            hunks_left_out: of.hunks_left_out,
        }
    }
}

impl From<pack::RelatedTest> for PackTest {
    fn from(of: pack::RelatedTest) -> Self {
        Self { path: of.path, name: of.name, description: of.description }
    }
}

impl From<pack::Chunk> for PackChunk {
    fn from(of: pack::Chunk) -> Self {
        Self {
            text_hash: of.reference().text_hash,
            chunk_id: of.chunk_id.into(),
            document_type: of.document_type.into(),
            document: of.document.into(),
            title: of.title,
            repository: of.repository,
            commit: of.commit,
            path: of.path,
            url: of.url,
            lines: vec![of.lines.0, of.lines.1],
            index: of.index,
            score: of.score,
            embedding_model: of.embedding_model,
            text: of.text,
        }
    }
}

impl From<pack::Manifest> for PackManifest {
    fn from(of: pack::Manifest) -> Self {
        Self {
            id: of.id.into(),
            query: of.query,
            parameters: named(of.parameters),
            snapshot: of.snapshot.into(),
            timestamp: of.timestamp.map(DateTime::from),
            commits: named(of.commits),
            embedding_model: of.embedding_model,
            documents: of.documents,
            embedded: of.embedded,
            tokenizer: of.tokenizer,
            weights: named(of.weights),
            items: hashes(of.items),
            chunks: hashes(of.chunks),
            counts: counts(of.counts),
        }
    }
}

/// Makes a pack.
pub(super) async fn pack(
    ctx: &Context<'_>,
    about: PackSubject,
    filter: Option<SearchFilter>,
    options: Option<PackOptions>,
) -> Result<ContextPack> {
    let filter = model::filter::Filter::try_from(filter.unwrap_or_default())?;
    let options = options.unwrap_or_default();
    let PackSubject { query, reference, path, line, end_line, symbol, rev } = about;
    let asked = Asked { project: filter.project.clone(), path, line, end_line, symbol, reference };
    let about = match query {
        Some(query) if asked.is_nothing() => About::Query(query),
        Some(_) => return Err(super::page::invalid("ask with a query, or about a path or ref, not both").into()),
        None => About::Target { target: asked.target()?, rev },
    };
    let request = ContextRequest {
        about,
        filter,
        path: options.path_prefix,
        mode: options.mode.map_or_else(pack::Mode::default, Into::into),
        format: options.format.map_or_else(pack::Format::default, Into::into),
        tokens: options.tokens.map_or(pack::DEFAULT_TOKENS, |tokens| tokens as usize),
        diffs: options.diffs.unwrap_or(true),
        tests: options.tests.unwrap_or(true),
        snapshot: options.snapshot,
    };
    Ok(loaders::engine(ctx)?.context(request).await?.into())
}
