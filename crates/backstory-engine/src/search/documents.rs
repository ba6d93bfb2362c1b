//! The documents that search has, as a list: what it reads of a project, and which model embedded it.

use backstory_model::{
    document_type::DocumentType,
    filter::{DocumentKind, Filter},
    id::NodeId,
};
use backstory_store::index::StoredDocument;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{names::check_names, prepared_filter::PreparedFilter, request::check_filter};
use crate::{
    catalog::check_project,
    error::{Error, Result},
    resources::Resources,
    tokens,
    use_case::{UseCase, Weight},
    views::at_state,
};

/// Most documents of a page.
pub const MAX_DOCUMENTS: usize = 500;

/// Requests a page of the documents that search has, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListDocuments {
    /// Which documents.
    #[serde(default)]
    pub filter: Filter,
    /// Most of them, at most 500; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
    /// Id of the last document of the page before.
    #[serde(default)]
    pub after: Option<String>,
}

impl UseCase for ListDocuments {
    const NAME: &'static str = "documents";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = DocumentPage;

    async fn run(self, resources: &Resources) -> Result<DocumentPage> {
        list_documents(resources, self).await
    }
}

/// A page of documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DocumentPage {
    /// Documents, by id.
    pub documents: Vec<DocumentSummary>,
    /// How many there are on all pages.
    pub total: usize,
    /// Whether more follow.
    pub has_more: bool,
}

/// A document that search has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DocumentSummary {
    /// Its reference.
    pub id: NodeId,
    /// What it is.
    pub kind: DocumentKind,
    /// What it is for.
    pub document_type: DocumentType,
    /// Full path of the project.
    pub project: String,
    /// The issue, merge request or file that it belongs to, itself if it is one.
    pub parent: String,
    /// Title.
    pub title: String,
    /// Address for people.
    pub url: String,
    /// Path of the file, of what is in one.
    pub path: Option<String>,
    /// First and last line of the file, of what is in one.
    pub lines: Option<(u32, u32)>,
    /// When it was opened or begun.
    pub created_at: Timestamp,
    /// When it last changed: which revision of it this is.
    pub updated_at: Timestamp,
    /// Bytes of its text.
    pub bytes: usize,
    /// How many tokens its text has, in the vocabulary `o200k_base`.
    pub tokens: usize,
    /// SHA-256 of its text.
    pub content_hash: String,
    /// Name of the model that embedded it, which names its version; null if no model has.
    pub embedding_model: Option<String>,
    /// Whether only some may see it.
    pub confidential: bool,
}

impl DocumentSummary {
    /// `None` if its id cannot be read.
    fn of(document: StoredDocument, embedding_model: Option<String>) -> Option<Self> {
        Some(Self {
            id: document.id.parse().ok()?,
            kind: document.facts.kind,
            document_type: document.facts.document_type,
            project: document.facts.project.to_string(),
            parent: document.facts.thread.to_string(),
            title: document.title,
            url: document.url,
            path: document.path,
            lines: document.lines,
            created_at: document.facts.created_at,
            updated_at: document.updated_at,
            bytes: document.text.len(),
            tokens: tokens::count(&document.text),
            content_hash: document.content_hash,
            embedding_model,
            confidential: document.facts.confidential,
        })
    }
}

/// Lists the documents that meet a filter, by id.
///
/// # Errors
/// The filter or the limit is wrong, or the index cannot be read.
async fn list_documents(resources: &Resources, request: ListDocuments) -> Result<DocumentPage> {
    let ListDocuments { mut filter, limit, after } = request;
    let resources = &at_state(resources, &mut filter).await?;
    if limit > MAX_DOCUMENTS {
        return Err(Error::invalid(format!(
            "{limit} documents are asked for; at most {MAX_DOCUMENTS} can be listed at once"
        )));
    }
    check_names(&filter)?;
    check_filter(&filter)?;
    for project in filter.project.iter().chain(&filter.projects) {
        check_project(resources, Some(project)).await?;
    }
    let index = resources.index();
    let (page, embedded) = {
        let index = index.clone();
        let select = move |_: &Resources| {
            let filter = PreparedFilter::of(&filter);
            let page = index.page(after.as_deref(), limit, |id, facts| filter.is_met_by(id, facts));
            let embedded = index.embedded(page.ids.iter().map(String::as_str));
            Ok((page, embedded))
        };
        resources.blocking(select).await?
    };
    let model = index.model().name.clone();
    let stored = index.documents(&page.ids).await?;
    // Counting tokens takes its time.
    let documents = resources.blocking(move |_| {
        let summary = |document: StoredDocument| {
            let model = embedded.contains(&document.id).then(|| model.clone());
            DocumentSummary::of(document, model)
        };
        Ok(stored.into_iter().filter_map(summary).collect())
    });
    Ok(DocumentPage { documents: documents.await?, total: page.total, has_more: page.has_more })
}
