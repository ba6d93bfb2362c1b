//! GraphQL types of the entries of a pack's sections.

use async_graphql::{ID, SimpleObject};
use backstory_engine::model::pack;

use super::{DocumentType, ids};

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
    /// Whether only some may see it.
    confidential: bool,
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
    /// Whether only some may see it.
    confidential: bool,
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
    /// Whether only some may see it.
    confidential: bool,
    /// SHA-256 of what it says.
    text_hash: String,
    /// What it says.
    text: String,
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
            confidential: of.confidential,
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
            confidential: of.confidential,
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
            confidential: of.confidential,
            text: of.text,
        }
    }
}
