//! Words as full-text search cuts them: how often each occurs in a document, and the BM25 score that follows.
//!
//! The store scores a document by how often words occur in the whole table, whether rows are visible or even gone. So
//! what it finds is scored again here, by what is visible alone: scores depend neither on other projects nor on how the
//! table came about.

use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use backstory_model::terms::{TermId, term_id};

use super::{
    columns::{Columns, numbers},
    error::IndexError,
    schema::{TERMS, WORD_TOTAL, WORDS, analyzer},
};

/// How soon more occurrences of a word count less, and how much long texts do: as in the store.
const K1: f32 = 1.2;
const B: f32 = 0.75;

const CUTTING: &str = "cut texts into words";

/// The different words of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WordCounts {
    /// Their numbers, in order.
    pub(super) words: Vec<TermId>,
    /// How often each occurs.
    pub(super) counts: Vec<u32>,
}

impl WordCounts {
    /// How many words the text has.
    pub(super) fn total(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(*count)).sum()
    }
}

/// What a document adds to how often words occur.
#[derive(Clone, Debug, Default)]
pub(super) struct DocumentWords {
    /// Its different terms.
    pub(super) terms: Vec<TermId>,
    /// The different words by which full-text search finds it.
    pub(super) words: Vec<TermId>,
    /// How many words it has.
    pub(super) total: u64,
}

/// Reads what each document of a batch adds to how often words occur.
pub(super) fn document_words(batch: &RecordBatch) -> Result<Vec<DocumentWords>, IndexError> {
    let columns = Columns(batch);
    let (terms, words) = (columns.lists(TERMS)?, columns.lists(WORDS)?);
    let totals = columns.integer(WORD_TOTAL)?;
    let of_row = |row| DocumentWords {
        terms: numbers(terms, row).to_vec(),
        words: numbers(words, row).to_vec(),
        total: totals.value(row).unsigned_abs(),
    };
    Ok((0..batch.num_rows()).map(of_row).collect())
}

/// Returns what cuts texts into words and counts these.
///
/// # Errors
/// The store has no such analyzer.
pub(super) fn word_counter() -> Result<impl FnMut(&str) -> Result<WordCounts, IndexError> + Send, IndexError> {
    let mut tokenizer = analyzer().build().map_err(IndexError::store(CUTTING))?;
    Ok(move |text: &str| {
        let mut found: BTreeMap<TermId, u32> = BTreeMap::new();
        let mut tokens = tokenizer.token_stream_for_doc(text);
        while let Some(token) = tokens.try_next().map_err(IndexError::store(CUTTING))? {
            *found.entry(term_id(&token.text)).or_default() += 1;
        }
        let (words, counts) = found.into_iter().unzip();
        Ok(WordCounts { words, counts })
    })
}

/// The compound ones of some words, with a blank between them, and what full-text search has for the whole of each.
///
/// # Errors
/// The store has no such analyzer.
pub(super) fn compounds(words: &str) -> Result<Vec<(&str, TermId)>, IndexError> {
    let compound: Vec<&str> = words.split(' ').filter(|word| word.contains('_')).collect();
    if compound.is_empty() {
        return Ok(Vec::new());
    }
    let mut tokenizer = analyzer().build().map_err(IndexError::store(CUTTING))?;
    let mut found = Vec::new();
    for word in compound {
        let mut tokens = tokenizer.token_stream_for_doc(word);
        while let Some(token) = tokens.try_next().map_err(IndexError::store(CUTTING))? {
            if token.text.contains('_') {
                found.push((word, term_id(&token.text)));
            }
        }
    }
    Ok(found)
}

/// How often words occur in documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WordStatistics {
    /// How many documents there are.
    pub(super) documents: u64,
    /// How many words they have together.
    pub(super) total: u64,
    /// In how many of them each of some words occurs.
    pub(super) frequencies: Vec<(TermId, u64)>,
}

/// Scores documents by the words of a query.
#[derive(Clone)]
pub(super) struct Bm25 {
    /// How long a document is on average.
    average: f32,
    /// How much each word tells.
    weights: Vec<(TermId, f32)>,
}

impl Bm25 {
    /// Scores by how often the words of a query occur in the documents.
    pub(super) fn new(statistics: &WordStatistics) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "scores need no more than seven digits")]
        let weight = |frequency: u64| {
            let (all, of) = (statistics.documents.max(frequency) as f32, frequency as f32);
            (1.0 + (all - of + 0.5) / (of + 0.5)).ln()
        };
        #[expect(clippy::cast_precision_loss, reason = "scores need no more than seven digits")]
        let average = (statistics.total as f32 / statistics.documents.max(1) as f32).max(1.0);
        Self { average, weights: statistics.frequencies.iter().map(|(word, of)| (*word, weight(*of))).collect() }
    }

    /// The score of a document with words in the order of their numbers and how often each occurs.
    pub(super) fn score(&self, words: &[TermId], counts: &[u32]) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "scores need no more than seven digits")]
        let length = counts.iter().map(|count| u64::from(*count)).sum::<u64>() as f32;
        let norm = K1 * (1.0 - B + B * length / self.average);
        let of_word = |(word, weight): &(TermId, f32)| {
            let count = words.binary_search(word).ok().and_then(|place| counts.get(place).copied()).unwrap_or(0);
            #[expect(clippy::cast_precision_loss, reason = "scores need no more than seven digits")]
            let count = count as f32;
            weight * (K1 + 1.0) * count / (count + norm)
        };
        self.weights.iter().map(of_word).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_as_the_search_cuts_them() {
        let mut count = word_counter().unwrap();
        let found = count("getUserName fails; the failing getUserName").unwrap();
        let of = |word: &str| found.words.binary_search(&term_id(word)).ok().map(|place| found.counts[place]);
        assert_eq!([of("user"), of("fail"), of("the")], [Some(2), Some(2), None]);
        assert_eq!(found.total(), found.counts.iter().map(|count| u64::from(*count)).sum::<u64>());
        assert_eq!(count("").unwrap(), WordCounts::default());
    }

    #[test]
    fn rare_words_and_short_texts_score_more() {
        let frequencies = vec![(term_id("rare"), 1), (term_id("common"), 90)];
        let bm25 = Bm25::new(&WordStatistics { documents: 100, total: 1000, frequencies });
        let score = |text: &[(&str, u32)]| {
            let mut found: Vec<(TermId, u32)> = text.iter().map(|(word, count)| (term_id(word), *count)).collect();
            found.sort_unstable();
            let (words, counts): (Vec<_>, Vec<_>) = found.into_iter().unzip();
            bm25.score(&words, &counts)
        };
        assert!(score(&[("rare", 1)]) > score(&[("common", 5)]));
        assert!(score(&[("rare", 1)]) > score(&[("rare", 1), ("other", 50)]));
        assert!(score(&[("rare", 2)]) > score(&[("rare", 1)]) && score(&[("other", 1)]) == 0.0);
    }
}
