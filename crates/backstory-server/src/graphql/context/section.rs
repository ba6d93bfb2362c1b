//! GraphQL types of the entries of a pack's sections.

use async_graphql::{ID, SimpleObject};
use backstory_engine::model::{document_kind::DocumentKind, id::NodeId, pack};

use super::{
    super::{
        code::{Commit, File, LineRange},
        names::{ChangeType, DocumentType, State},
        node::Node,
        project::Project,
        search::node_of,
        words::value_of,
    },
    nodes,
};

/// An item that matters.
#[derive(SimpleObject)]
pub(crate) struct PackItem {
    /// Node of the item; null if it is not a node.
    node: Option<Node>,
    /// Title of the item.
    title: String,
    /// State of the item; null if it has none.
    state: Option<State>,
    /// Day on which the item was opened or written, `2024-03-15`.
    date: String,
    /// Name of the person who opened or wrote the item; null if that is not known.
    author: Option<String>,
    /// Type of the change of a commit; null for others.
    classification: Option<ChangeType>,
    /// How well the item answers, 0 to 1.
    relevance: f64,
    /// How the item is related to others, a phrase each.
    links: Vec<String>,
    /// Words of the item that matter most.
    excerpt: String,
    /// Page of the item; null if there is none.
    url: Option<String>,
    /// Whether only some may see the item.
    confidential: bool,
}

/// Something that happened.
#[derive(SimpleObject)]
pub(crate) struct PackEvent {
    /// Day on which it happened, `2024-03-15`.
    date: String,
    /// What happened, in a sentence.
    summary: String,
    /// Items that the event is known from.
    items: Vec<Node>,
    /// Commits that the event is known from.
    commits: Vec<Commit>,
}

/// A reason that was given.
#[derive(SimpleObject)]
pub(crate) struct PackNote {
    /// Node that the reason is from.
    source: Option<Node>,
    /// Name of who gave the reason; null if that is not known.
    author: Option<String>,
    /// Language model that worded the reason; null if the words are a person's own.
    written_by: Option<String>,
    /// Whether only some may see the reason.
    confidential: bool,
    /// Words of the reason.
    note: String,
    /// Why the reason is in the pack.
    relevance: String,
}

/// Code that a pack shows.
#[derive(SimpleObject)]
pub(crate) struct PackCode {
    /// File that has the code.
    file: File,
    /// Name of the function or type; null for other lines.
    entity: Option<String>,
    /// Lines of the snippet in the file.
    lines: LineRange,
    /// Project that the file belongs to.
    project: Project,
    /// Commit at which the file has the code.
    commit: Commit,
    /// Text of the code.
    snippet: String,
    /// Which commit and merge request wrote the code, and why.
    explanation: String,
}

/// A change of code.
#[derive(SimpleObject)]
pub(crate) struct PackDiff {
    /// Project that the commit belongs to.
    project: Project,
    /// Commit that made the change.
    commit: Commit,
    /// File under its path after the change.
    file: File,
    /// Hunks that matter, as `git diff` prints them.
    diff: String,
    /// Which commit made the change and why it matters.
    explanation: String,
    /// How many hunks of the file are left out.
    left_out_hunk_count: u32,
}

/// A test that a pack names.
#[derive(SimpleObject)]
pub(crate) struct PackTest {
    /// Path of the file that has the test.
    path: String,
    /// Name of the test; null unless it is one of several in the file.
    name: Option<String>,
    /// What the test tests.
    description: String,
}

/// A passage that can be verified.
#[derive(SimpleObject)]
pub(crate) struct PackChunk {
    /// Id of the chunk, which follows from its place and its text.
    chunk_id: ID,
    /// What the document is for.
    document_type: DocumentType,
    /// Node of the document that the chunk is a piece of; null for a section of a file.
    node: Option<Node>,
    /// Title of the document.
    title: String,
    /// Project that the document belongs to.
    project: Project,
    /// Commit at which the repository has the text; null for what is not in the repository.
    commit: Option<Commit>,
    /// Path of the file; null for what is not in a file.
    path: Option<String>,
    /// Page of the document; null if there is none.
    url: Option<String>,
    /// Lines of the chunk in the file, else in the document's text.
    lines: LineRange,
    /// Number of the chunk among the pieces of the document, from 0.
    index: u32,
    /// How well the chunk answers, 0 to 1.
    score: f64,
    /// Model whose vectors took part in finding the chunk; null if only words did.
    embedding_model: Option<String>,
    /// Whether only some may see the chunk.
    confidential: bool,
    /// SHA-256 of the text, in hex.
    text_hash: String,
    /// Text of the chunk.
    text: String,
}

impl From<pack::KeyItem> for PackItem {
    fn from(of: pack::KeyItem) -> Self {
        Self {
            node: Some(&of.reference).filter(|_| of.kind != DocumentKind::Section.as_str()).and_then(|id| node_of(id)),
            title: of.title,
            state: of.state.as_deref().and_then(value_of),
            date: of.date,
            author: of.author,
            classification: of.classification.as_deref().and_then(value_of),
            relevance: of.relevance,
            links: of.links,
            excerpt: of.excerpt,
            url: of.url,
            confidential: of.confidential,
        }
    }
}

/// The project of a reference.
fn project_of(reference: &str) -> Option<String> {
    Some(reference.parse::<NodeId>().ok()?.project()?.to_owned())
}

impl From<pack::TimelineEntry> for PackEvent {
    fn from(of: pack::TimelineEntry) -> Self {
        let project = of.sources.items.iter().chain(&of.sources.commits).find_map(|reference| project_of(reference));
        let commits = of.commits.into_iter().filter_map(|sha| Some(Commit::new(project.clone()?, sha)));
        Self { date: of.date, summary: of.summary, items: nodes(&of.items), commits: commits.collect() }
    }
}

impl From<pack::DesignNote> for PackNote {
    fn from(of: pack::DesignNote) -> Self {
        Self {
            source: node_of(&of.source),
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
            file: File::new(of.repository.clone(), of.path),
            entity: of.entity,
            lines: of.lines.into(),
            commit: Commit::new(of.repository.clone(), of.commit),
            project: Project::new(of.repository),
            snippet: of.snippet,
            explanation: of.explanation,
        }
    }
}

impl From<pack::ImportantDiff> for PackDiff {
    fn from(of: pack::ImportantDiff) -> Self {
        Self {
            file: File::new(of.repository.clone(), of.path),
            commit: Commit::new(of.repository.clone(), of.commit),
            project: Project::new(of.repository),
            diff: of.diff,
            explanation: of.explanation,
            left_out_hunk_count: of.hunks_left_out,
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
            node: Some(&of.document).filter(|_| !of.is_section).and_then(|id| node_of(id)),
            title: of.title,
            commit: of.commit.map(|sha| Commit::new(of.repository.clone(), sha)),
            project: Project::new(of.repository),
            path: of.path,
            url: of.url,
            lines: of.lines.into(),
            index: of.index,
            score: of.score,
            embedding_model: of.embedding_model,
            confidential: of.confidential,
            text: of.text,
        }
    }
}
