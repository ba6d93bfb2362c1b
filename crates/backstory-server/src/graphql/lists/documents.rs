//! The documents that search has of a project, as a list.

use async_graphql::{
    Context, Object, Result, SimpleObject,
    connection::{Connection, Edge},
};
use backstory_engine::{
    model::filter::Filter,
    search::{DocumentSummary, ListDocuments},
};

use super::{
    super::{
        code::{LineRange, document_node},
        loaders,
        names::{DocumentKind, DocumentType},
        node::Node,
        page::{self, DEFAULT_PAGE},
        project::Project,
        scalar::{BigInt, DateTime},
    },
    Totals,
};

/// A page of documents that search has.
pub(crate) type IndexedDocumentConnection = Connection<String, IndexedDocument, Totals>;

/// The documents that search has of a project.
pub(crate) struct ProjectDocuments {
    project: String,
}

impl ProjectDocuments {
    pub(in super::super) fn of(project: String) -> Self {
        Self { project }
    }
}

#[Object]
impl ProjectDocuments {
    /// What search has of it: issues, merge requests, discussions, commits, files, code entities and sections, by reference.
    async fn documents(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only those of these kinds.")] kinds: Option<Vec<DocumentKind>>,
        #[graphql(desc = "Only those of files whose paths start with this, and commits that change such files.")]
        paths: Option<Vec<String>>,
        #[graphql(desc = "Only those for these purposes.")] types: Option<Vec<DocumentType>>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the page before.")] after: Option<String>,
    ) -> Result<IndexedDocumentConnection> {
        let filter = Filter {
            project: Some(self.project.clone()),
            kinds: kinds.into_iter().flatten().map(Into::into).collect(),
            paths: paths.unwrap_or_default(),
            document_types: types.into_iter().flatten().map(Into::into).collect(),
            ..Filter::default()
        };
        let is_further = after.is_some();
        let request = ListDocuments { filter, limit: page::size(first, DEFAULT_PAGE)?, after };
        let found = loaders::engine(ctx)?.answer(request).await?;
        let mut page = Connection::with_additional_fields(is_further, found.has_more, Totals::counted(found.total));
        let edge = |document: DocumentSummary| Edge::new(document.id.to_string(), IndexedDocument::from(document));
        page.edges.extend(found.documents.into_iter().map(edge));
        Ok(page)
    }
}

/// A document that search has.
#[derive(SimpleObject)]
pub(crate) struct IndexedDocument {
    /// Its reference.
    id: String,
    /// The node that it tells of; null for a section of a document.
    node: Option<Node>,
    /// What it is.
    kind: DocumentKind,
    /// What it is for.
    document_type: DocumentType,
    /// The project it belongs to.
    project: Project,
    /// Its title.
    title: String,
    /// Its address for people; null if there is none.
    url: Option<String>,
    /// Path of its file, of what is in one.
    path: Option<String>,
    /// Its lines of the file, of what is in one.
    lines: Option<LineRange>,
    /// When it was opened or begun.
    created_at: DateTime,
    /// When it last changed: which revision of it this is.
    updated_at: DateTime,
    /// Bytes of its text.
    bytes: BigInt,
    /// How many tokens its text has, in the vocabulary `o200k_base`.
    token_count: usize,
    /// SHA-256 of its text.
    content_hash: String,
    /// The model that embedded it, with its version; null if none has.
    embedding_model: Option<String>,
    /// Whether only some may see it.
    confidential: bool,
}

impl From<DocumentSummary> for IndexedDocument {
    fn from(document: DocumentSummary) -> Self {
        Self {
            node: document_node(Some(document.id.clone()), document.kind.into()),
            id: document.id.to_string(),
            kind: document.kind.into(),
            document_type: document.document_type.into(),
            project: Project::new(document.project),
            title: document.title,
            url: Some(document.url).filter(|url| !url.is_empty()),
            path: document.path,
            lines: document.lines.map(LineRange::from),
            created_at: document.created_at.into(),
            updated_at: document.updated_at.into(),
            bytes: (document.bytes as u64).into(),
            token_count: document.tokens,
            content_hash: document.content_hash,
            embedding_model: document.embedding_model,
            confidential: document.confidential,
        }
    }
}
