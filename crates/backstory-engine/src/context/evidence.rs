//! The evidence for a context pack, and how it refers to things.

use std::collections::BTreeMap;

use backstory_model::{document_type::DocumentType, id::NodeId, pack::QuestionTerms};
use backstory_store::index::{Coverage, StoredDocument};

use super::conditions::PackConditions;
use crate::trace::Trace;

/// A document and why it is here.
pub(super) struct Found {
    pub(super) document: StoredDocument,
    pub(super) document_type: DocumentType,
    /// 0 to 1.
    pub(super) relevance: f32,
    /// Words of it that answer.
    pub(super) hint: Option<String>,
    /// Whether vectors took part in finding it.
    pub(super) by_meaning: bool,
    /// What it has to do with others: `closed by acme/shop!7`.
    pub(super) links: Vec<String>,
}

impl Found {
    /// Id of the issue or merge request that it is or belongs to, of the commit, or of the file.
    pub(super) fn thread(&self) -> &str {
        &self.document.facts.thread
    }

    /// Whether it is a file or a part of one.
    pub(super) fn is_of_file(&self) -> bool {
        self.document.path.is_some()
    }

    /// Its text without the title that it begins with.
    pub(super) fn body(&self) -> &str {
        self.document.text.split_once("\n\n").map_or("", |(_, body)| body)
    }
}

/// Everything that was found.
pub(super) struct Evidence {
    /// What was searched for.
    pub(super) question: String,
    /// Its words, with those of the code that was asked about.
    pub(super) terms: QuestionTerms,
    /// The words of the question alone.
    pub(super) asked: QuestionTerms,
    /// From the code to its reasons, if the question was about code or an item.
    pub(super) trace: Option<Trace>,
    /// The best first.
    pub(super) found: Vec<Found>,
    /// What the reader must know, a sentence each.
    pub(super) warnings: Vec<String>,
    /// Commits that linked merge requests were merged as, by merge request.
    pub(super) merged_as: BTreeMap<String, String>,
    /// How much the index holds.
    pub(super) coverage: Coverage,
    /// Whether the lines that were asked about are at the indexed head, so that their numbers are those of its files.
    pub(super) at_head: bool,
    /// What all of it is narrowed to.
    pub(super) narrowing: PackConditions,
    /// What the question lacks to be answered from what is stored; `None` if it can be.
    pub(super) missing: Option<Vec<String>>,
    /// Of the lines that were asked about, how many were not written in the time that it is narrowed to.
    pub(super) lines_left_out: u32,
}

/// Hex digits of a commit in a reference that is read.
const SHORT: usize = 12;

/// A reference with the name of a commit cut short.
pub(super) fn short_reference(id: &str) -> String {
    id.parse().map_or_else(|_| id.to_owned(), |id| short_node(&id))
}

/// A node's reference with the name of a commit cut short.
pub(super) fn short_node(id: &NodeId) -> String {
    match id {
        NodeId::Commit { project, sha } => format!("{project}@{}", sha.get(..SHORT).unwrap_or(sha)),
        id => id.to_string(),
    }
}
