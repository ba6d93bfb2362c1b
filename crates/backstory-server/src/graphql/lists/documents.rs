//! The documents that search has of a project, as a list.

use async_graphql::{
    Context, Object, Result,
    connection::{Connection, Edge},
};
use backstory_engine::{
    model::filter::Filter,
    search::{DocumentSummary, ListDocuments},
};

use super::{
    super::{
        code::IndexedDocument,
        loaders,
        names::{DocumentKind, DocumentType},
        page::{self, DEFAULT_PAGE},
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
            desc = "Beginnings of paths: of files whose paths have one of them, and commits that change such files. All if \
                    absent or empty."
        )]
        path_prefixes: Option<Vec<String>>,
        #[graphql(desc = "Purposes of documents. All if absent or empty.")] document_types: Option<Vec<DocumentType>>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the page before.")] after: Option<String>,
    ) -> Result<IndexedDocumentConnection> {
        let filter = Filter {
            project: Some(self.project.clone()),
            kinds: kinds.into_iter().flatten().map(Into::into).collect(),
            paths: path_prefixes.unwrap_or_default(),
            document_types: document_types.into_iter().flatten().map(Into::into).collect(),
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
