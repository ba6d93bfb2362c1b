//! GraphQL types of what search reads of files: versions of files, their chunks, the facts of their syntax trees.

use async_graphql::{ID, SimpleObject};
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
    /// File that this is a version of.
    file: File,
    /// Commit at which the file is like this.
    commit: Commit,
    /// Object name of the content.
    blob: String,
    /// SHA-256 of the text without secrets, in hex; null if the content is not text.
    content_hash: Option<String>,
    /// How many bytes the content has.
    bytes: BigInt,
    /// How many lines the content has; null if it is not text.
    line_count: Option<u32>,
    /// How many tokens the content has, in the vocabulary `o200k_base`; null if it is not text.
    token_count: Option<usize>,
    /// Programming language of the content; null if it is not code.
    language: Option<String>,
    /// MIME type of the content.
    mime_type: String,
    /// What the file is for.
    document_type: DocumentType,
    /// Name and version of the grammar that reads the content; null if it is not code.
    grammar: Option<String>,
    /// Commit that changed the file last; null unless the revision is the head of the default branch.
    last_commit: Option<Commit>,
    /// When the file was last changed; null unless the revision is the head of the default branch.
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

/// A chunk of a file: a passage that search reads, and that packs and hits refer to by its id.
#[derive(SimpleObject)]
pub(crate) struct FileChunk {
    /// Id of the chunk, which follows from its place and its text.
    chunk_id: ID,
    /// File, or code entity of it, that the chunk is a piece of; null for a section.
    node: Option<Node>,
    /// Kind of what the chunk is a piece of.
    kind: DocumentKind,
    /// Name of the code entity, heading of the section, or path.
    title: String,
    /// Number of the chunk among the pieces of the file, entity or section, from 0.
    index: u32,
    /// Lines of the chunk in the file.
    lines: LineRange,
    /// How many tokens the chunk has, in the vocabulary `o200k_base`.
    token_count: usize,
    /// SHA-256 of the text, in hex.
    text_hash: String,
    /// Name and version of the model that embedded the chunk; null if none has.
    embedding_model: Option<String>,
    /// Text of the chunk.
    text: String,
}

impl From<files::FileChunk> for FileChunk {
    fn from(chunk: files::FileChunk) -> Self {
        Self {
            node: document_node(chunk.document.parse().ok(), chunk.kind.into()),
            chunk_id: chunk.chunk_id.into(),
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
    /// Type of the syntax node in the grammar, `function_definition`.
    node_type: String,
    /// Text of the syntax node, at most 2,000 bytes.
    text: String,
    /// Whether the text is longer than what is shown.
    shortened: bool,
    /// Lines of the syntax node in the file.
    lines: LineRange,
    /// Field of the parent that holds the syntax node, `name`; null if none does.
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
