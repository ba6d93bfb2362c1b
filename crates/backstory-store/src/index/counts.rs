//! What is counted of documents that are visible to the same callers.

use std::collections::BTreeMap;

use backstory_model::{filter::DocumentKind, terms::TermId};

use super::{maps::Map, words::DocumentWords};

/// Project of documents, and whether they are confidential.
pub(super) type GroupKey = (String, bool);

/// What is counted of documents that are visible to the same callers.
#[derive(Debug, Default)]
pub(super) struct GroupStats {
    pub(super) tallies: BTreeMap<DocumentKind, KindCounts>,
    pub(super) passages: u64,
    /// In how many documents each term occurs.
    pub(super) frequencies: Map<TermId, u32>,
    /// In how many documents each word of full-text search occurs.
    pub(super) word_frequencies: Map<TermId, u32>,
    /// How many words the documents have together.
    pub(super) words: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KindCounts {
    pub(super) documents: u64,
    pub(super) pending: u64,
}

impl GroupStats {
    /// Counts a document.
    pub(super) fn add(&mut self, kind: DocumentKind, words: &DocumentWords) {
        self.tallies.entry(kind).or_default().documents += 1;
        self.words += words.total;
        for (counts, found) in [(&mut self.frequencies, &words.terms), (&mut self.word_frequencies, &words.words)] {
            for term in found {
                *counts.entry(*term).or_default() += 1;
            }
        }
    }

    pub(super) fn documents(&self) -> u64 {
        self.tallies.values().map(|tally| tally.documents).sum()
    }
}
