//! GraphQL types of what search reads of files: versions of files, their chunks, the facts of their syntax trees.

use async_graphql::SimpleObject;
use backstory_engine::{
    files::{self, FileVersion as FileVersionItem},
    model::id::NodeId,
};

use super::{
    super::{
        names::{DocumentKind, DocumentType},
        node::Node,
        scalar::{BigInt, DateTime},
    },
    Commit, File, LineRange,
};

/// A file at a revision.
#[derive(SimpleObject)]
pub(crate) struct FileVersion {
    /// The file.
    file: File,
    /// The commit at which it is like this.
    commit: Commit,
    /// Object name of its content.
    blob: String,
    /// SHA-256 of its text without secrets; null if it is no text.
    content_hash: Option<String>,
    /// Bytes of its content.
    bytes: BigInt,
    /// How many lines it has; null if it is no text.
    line_count: Option<u32>,
    /// How many tokens it has, in the vocabulary `o200k_base`; null if it is no text.
    token_count: Option<usize>,
    /// Its programming language; null for what is no code.
    language: Option<String>,
    /// Its MIME type.
    mime_type: String,
    /// What it is for.
    document_type: DocumentType,
    /// Name and version of the grammar that reads it; null for what is no code.
    grammar: Option<String>,
    /// The commit that changed it last; null unless the revision is the head of the default branch.
    last_commit: Option<Commit>,
    /// When that was; null unless the revision is the head of the default branch.
    changed_at: Option<DateTime>,
}

impl From<FileVersionItem> for FileVersion {
    fn from(version: FileVersionItem) -> Self {
        let project = version.project;
        let commit = |sha: String| Commit::new(project.clone(), sha);
        Self {
            file: File::new(project.clone(), version.path),
            commit: commit(version.rev.to_string()),
            blob: version.blob.to_string(),
            content_hash: version.content_hash,
            bytes: version.bytes.into(),
            line_count: version.line_count,
            token_count: version.tokens,
            language: version.language,
            mime_type: version.mime_type,
            document_type: version.document_type.into(),
            grammar: version.grammar,
            changed_at: version.last_commit.as_ref().map(|of| of.date.into()),
            last_commit: version.last_commit.map(|of| commit(of.sha.to_string())),
        }
    }
}

/// A chunk of a file: what search reads at once, and packs and hits name by its id.
#[derive(SimpleObject)]
pub(crate) struct FileChunk {
    /// Its id, which follows from where it stands and what it says.
    chunk_id: String,
    /// The file, or the code entity of it, that it is a piece of; null for a section.
    node: Option<Node>,
    /// What that is.
    kind: DocumentKind,
    /// Name of the code entity, heading of the section, or path.
    title: String,
    /// Its number among the pieces of what it is of, from 0.
    index: u32,
    /// Its lines of the file.
    lines: LineRange,
    /// How many tokens it has, in the vocabulary `o200k_base`.
    token_count: usize,
    /// SHA-256 of what it says.
    text_hash: String,
    /// The model that embedded what it is of, with its version; null if none has.
    embedding_model: Option<String>,
    /// What it says.
    text: String,
}

impl From<files::FileChunk> for FileChunk {
    fn from(chunk: files::FileChunk) -> Self {
        Self {
            node: document_node(chunk.document.parse().ok(), chunk.kind.into()),
            chunk_id: chunk.chunk_id,
            kind: chunk.kind.into(),
            title: chunk.title,
            index: chunk.index,
            lines: chunk.lines.into(),
            token_count: chunk.tokens,
            text_hash: chunk.text_hash,
            embedding_model: chunk.embedding_model,
            text: chunk.text,
        }
    }
}

/// A node of a file's syntax tree.
#[derive(SimpleObject)]
pub(crate) struct SyntaxFact {
    /// Its type in the grammar, `function_definition`.
    node_type: String,
    /// What it says, at most 2,000 bytes.
    text: String,
    /// Whether that is not all.
    shortened: bool,
    /// Its lines.
    lines: LineRange,
    /// The field of its parent that holds it, `name`.
    field: Option<String>,
}

impl From<files::Fact> for SyntaxFact {
    fn from(fact: files::Fact) -> Self {
        let files::Fact { node_type, text, shortened, lines, field } = fact;
        Self { node_type, text, shortened, lines: lines.into(), field }
    }
}

/// The node of a document; sections are none.
pub(crate) fn document_node(id: Option<NodeId>, kind: DocumentKind) -> Option<Node> {
    id.filter(|_| kind != DocumentKind::Section).map(Node::from)
}
