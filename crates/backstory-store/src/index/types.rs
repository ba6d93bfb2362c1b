//! The inputs and results of the index.

use std::{fmt, sync::Arc};

use backstory_model::{
    document::Document,
    document_type::DocumentType,
    entity::State,
    filter::{DocumentKind, Filter},
};
use jiff::Timestamp;
use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

/// The model that makes the vectors. Vectors of different models cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelTag {
    /// Its name, with whatever else tells it from others.
    pub name: String,
    /// How many numbers its vectors have.
    pub dimension: usize,
}

/// All documents of an issue or merge request, as they are now.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadDocuments {
    /// Id of the issue or merge request.
    pub thread: String,
    /// Its documents; none if it was deleted.
    pub documents: Vec<Document>,
}

/// Projects that counts are of, by their full paths.
#[derive(Clone, Copy, Debug)]
pub enum ProjectScope<'a> {
    /// All there are.
    All,
    /// These; one that is not known has nothing to count.
    Only(&'a [String]),
}

impl<'a> ProjectScope<'a> {
    /// Those that a filter lets through.
    pub fn of(filter: &'a Filter) -> Self {
        match &filter.project {
            Some(project) => Self::Only(std::slice::from_ref(project)),
            None if filter.projects.is_empty() => Self::All,
            None => Self::Only(&filter.projects),
        }
    }

    pub(super) fn contain(self, project: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|name| name == project),
        }
    }
}

/// What [`apply`](super::Index::apply) did, in documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyCounts {
    /// Written, because they are new or differ.
    pub written: u64,
    /// Left alone, because they are there just so.
    pub unchanged: u64,
    /// Deleted.
    pub deleted: u64,
}

/// A document whose current text has no vectors of the current model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingDocument {
    /// Id of the document.
    pub id: String,
    /// What it is.
    pub kind: DocumentKind,
    /// Full path of the project.
    pub project: String,
    /// Id of the issue or merge request it belongs to.
    pub thread: String,
    /// SHA-256 of its canonical text.
    pub content_hash: String,
}

/// All passages of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPassages {
    /// Id of the document.
    pub document: String,
    /// SHA-256 of the canonical text that they were cut from.
    pub content_hash: String,
    /// The passages, in order.
    pub passages: Vec<NewPassage>,
}

/// A passage of a document and its vector.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPassage {
    /// Its text, as it was embedded.
    pub text: String,
    /// SHA-256 of its text.
    pub text_hash: String,
    /// Its vector.
    pub vector: Vec<f32>,
}

/// A document that full-text search found.
#[derive(Clone, Debug, PartialEq)]
pub struct TextHit {
    /// Id of the document.
    pub document: String,
    /// BM25 score; only comparable within one search.
    pub score: f32,
}

/// A document that vector search found, by its best passage.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorHit {
    /// Id of the document.
    pub document: String,
    /// Cosine similarity, -1 to 1.
    pub score: f32,
}

/// Id of a passage: SHA-256 of its document, its place there and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PassageId(pub(super) [u8; 32]);

impl PassageId {
    pub(super) fn of_hex(text: &str) -> Option<Self> {
        let mut id = [0; 32];
        if text.len() != 2 * id.len() {
            return None;
        }
        for (at, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Self(id))
    }
}

impl fmt::Display for PassageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A passage of a document, and how it stands to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPassage {
    /// Its id.
    pub id: PassageId,
    /// Follows from what it says alone, while the id is another one in another version of the document: of equally good
    /// passages the same one comes first in every state.
    pub order: u32,
    /// Id of the document.
    pub document: String,
    /// Cosine similarity to the query's vector, -1 to 1, right to about 0.001; 0 if the query has none.
    pub similarity: f32,
    /// Which of the query's terms it has, as [`QueryTerms::found_in`](backstory_model::terms::QueryTerms::found_in) says it.
    pub found: u64,
}

/// What filters and ranking look at. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentFacts {
    /// Id of the issue or merge request it belongs to, its own if it is one.
    pub thread: Arc<str>,
    /// What it is.
    pub kind: DocumentKind,
    /// Full path of the project.
    pub project: Arc<str>,
    /// User name of the author.
    pub author: Option<Arc<str>>,
    /// Labels.
    pub labels: Vec<Arc<str>>,
    /// State, of what has one.
    pub state: Option<State>,
    /// When it was opened or begun.
    pub created_at: Timestamp,
    /// How much it weighs among its kind, 0 to 1.
    pub importance: f32,
    /// Whether only some may see it.
    pub confidential: bool,
    /// Paths of its files, a line end before and after each.
    pub(super) paths: Arc<str>,
    /// What it is for.
    pub document_type: DocumentType,
}

impl DocumentFacts {
    /// Whether it belongs to a file whose path has this part, or to a commit that changes one.
    pub fn has_path_with(&self, part: &PathPart) -> bool {
        part.is_in(&self.paths)
    }

    /// Path of its file, or the paths that the commit changes.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        each_path(&self.paths)
    }
}

/// Each of paths that are joined.
pub(super) fn each_path(paths: &str) -> impl Iterator<Item = &str> {
    paths.split('\n').filter(|path| !path.is_empty())
}

/// A part of a path, prepared to be looked for in those of many documents.
#[derive(Clone, Debug)]
pub struct PathPart(Finder<'static>);

impl PathPart {
    /// What the path starts with.
    pub fn beginning(prefix: &str) -> Self {
        Self(Finder::new(&beginning(prefix)).into_owned())
    }

    /// The extension that it has.
    pub fn extension(extension: &str) -> Self {
        Self(Finder::new(&end(extension)).into_owned())
    }

    /// Whether one of paths that are joined has it.
    pub(super) fn is_in(&self, paths: &str) -> bool {
        self.0.find(paths.as_bytes()).is_some()
    }
}

/// The text by which a path is found among others that are joined with line ends.
pub(super) fn beginning(prefix: &str) -> String {
    format!("\n{prefix}")
}

/// The text by which paths with an extension are found among others.
pub(super) fn end(extension: &str) -> String {
    format!(".{extension}\n")
}

/// A document as the index keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDocument {
    /// Its id.
    pub id: String,
    /// What filters and ranking look at.
    pub facts: DocumentFacts,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Title.
    pub title: String,
    /// Address for people.
    pub url: String,
    /// Canonical text.
    pub text: String,
    /// SHA-256 of the canonical text.
    pub content_hash: String,
    /// Of code and documents: path of the file.
    pub path: Option<String>,
    /// Of code and documents: first and last line, from 1.
    pub lines: Option<(u32, u32)>,
}

/// How much of the corpus has vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// All documents.
    pub documents: u64,
    /// Documents that vector search can find.
    pub embedded: u64,
    /// Passages with a vector of the current model.
    pub passages: u64,
    /// The same per kind of document, kinds without a document left out.
    pub by_kind: Vec<KindCoverage>,
}

impl Coverage {
    /// Documents without vectors.
    pub fn waiting(&self) -> u64 {
        self.documents.saturating_sub(self.embedded)
    }
}

/// How many documents of a kind have vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindCoverage {
    /// The kind.
    pub kind: DocumentKind,
    /// All its documents.
    pub documents: u64,
    /// Those that vector search can find.
    pub embedded: u64,
}
