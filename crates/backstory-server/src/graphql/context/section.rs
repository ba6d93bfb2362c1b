//! GraphQL types of the entries of a pack's sections.

use async_graphql::{ID, SimpleObject};
use backstory_engine::model::{id::NodeId, pack};

use super::{
    super::{
        code::{Commit, File, LineRange},
        names::DocumentType,
        node::Node,
        project::Project,
        search::node_of,
    },
    nodes,
};

/// An item that matters.
#[derive(SimpleObject)]
pub(crate) struct PackItem {
    /// It; null if it has no reference.
    node: Option<Node>,
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
    /// The items it is told by.
    items: Vec<Node>,
    /// The commits it is told by.
    commits: Vec<Commit>,
}

/// A reason that was given.
#[derive(SimpleObject)]
pub(crate) struct PackNote {
    /// Where it stands.
    source: Option<Node>,
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
    /// The file.
    file: File,
    /// Name of the function or type.
    entity: Option<String>,
    /// Lines of the snippet.
    lines: LineRange,
    /// The project.
    project: Project,
    /// The commit at which it stands so.
    commit: Commit,
    /// The code.
    snippet: String,
    /// Which commit and merge request wrote it, and why.
    explanation: String,
}

/// A change of code.
#[derive(SimpleObject)]
pub(crate) struct PackDiff {
    /// The project.
    project: Project,
    /// The commit.
    commit: Commit,
    /// The file after it.
    file: File,
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
    /// The document it is a piece of.
    node: Option<Node>,
    /// Title of the document.
    title: String,
    /// The project.
    project: Project,
    /// The commit at which it stands so; null for what is not in the repository.
    commit: Option<Commit>,
    /// Path of the file; null for what is in none.
    path: Option<String>,
    /// Its page.
    url: Option<String>,
    /// Its lines in the file, else in the document's text.
    lines: LineRange,
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
            node: node_of(&of.reference),
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
            node: node_of(&of.document),
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
