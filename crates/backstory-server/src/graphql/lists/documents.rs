//! The documents that search has of a project, as a list.

use async_graphql::{
    Context, ID, Object, Result, SimpleObject,
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
    /// Documents that search has of the project: issues, merge requests, discussions, commits, files, code entities and
    /// sections, by reference.
    async fn documents(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Kinds of documents. All if absent or empty.")] kinds: Option<Vec<DocumentKind>>,
        #[graphql(
            desc = "Beginnings of paths: only documents of files whose paths start with one of them, and commits that \
                    change such files. All if absent or empty."
        )]
        path_prefixes: Option<Vec<String>>,
        #[graphql(desc = "Purposes of documents. All if absent or empty.")] document_types: Option<Vec<DocumentType>>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
    ) -> Result<IndexedDocumentConnection> {
        let filter = Filter {
            project: Some(self.project.clone()),
            kinds: kinds.into_iter().flatten().map(Into::into).collect(),
            paths: path_prefixes.unwrap_or_default(),
            document_types: document_types.into_iter().flatten().map(Into::into).collect(),
            ..Filter::default()
        };
        let is_further = after.is_some();
        let after = page::decode(after.as_deref())?;
        let limit = page::size(first, DEFAULT_PAGE)?;
        let found = loaders::engine(ctx)?.answer(ListDocuments { filter, limit, after }).await?;
        let (has_more, totals) = (limit > 0 && found.has_more, Totals::counted(found.total));
        let mut page = Connection::with_additional_fields(is_further, has_more, totals);
        let edge = |document: DocumentSummary| {
            Edge::new(page::encode(&document.id.to_string()), IndexedDocument::from(document))
        };
        page.edges.extend(found.documents.into_iter().map(edge));
        Ok(page)
    }
}

/// A document that search has.
#[derive(SimpleObject)]
pub(crate) struct IndexedDocument {
    /// Id of the document: that of its node, or of a section of a file.
    id: ID,
    /// Node of the document; null for a section of a file.
    node: Option<Node>,
    /// Kind of the document.
    kind: DocumentKind,
    /// What the document is for.
    document_type: DocumentType,
    /// Project that the document belongs to.
    project: Project,
    /// Title of the document.
    title: String,
    /// Page of the document; null if there is none.
    url: Option<String>,
    /// Path of the file; null for what is not in a file.
    path: Option<String>,
    /// Lines of the file; null for what is not in a file.
    lines: Option<LineRange>,
    /// When the document was opened or started.
    created_at: DateTime,
    /// When the document last changed, which identifies its revision.
    updated_at: DateTime,
    /// How many bytes the text has.
    bytes: BigInt,
    /// How many tokens the text has, in the vocabulary `o200k_base`.
    token_count: usize,
    /// SHA-256 of the text, in hex.
    content_hash: String,
    /// Name and version of the model that embedded the document; null if none has.
    embedding_model: Option<String>,
    /// Whether only some may see the document.
    confidential: bool,
}

impl From<DocumentSummary> for IndexedDocument {
    fn from(document: DocumentSummary) -> Self {
        Self {
            node: document_node(Some(document.id.clone()), document.kind.into()),
            id: document.id.to_string().into(),
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
