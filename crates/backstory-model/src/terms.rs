//! Terms of texts: what two texts must share to be about the same thing. A term is the stem of a word in lower case; an
//! identifier is a term as a whole and in its parts. Terms are represented by numbers, which fit into memory by the
//! million.

use std::collections::HashMap;

use frostem::{Algorithm, Stemmer};

/// Longest word that is a term, in bytes; longer ones are data.
const MAX_WORD: usize = 100;
/// Most terms of one query.
pub const MAX_QUERY_TERMS: usize = 64;
/// Most different terms of one document that are counted.
pub const MAX_DOCUMENT_TERMS: usize = 4096;
/// Number of documents at which a word can be common,
const COMMON: u64 = 1000;
/// and of how many documents it must be in one.
const COMMON_SHARE: u64 = 10;
/// Words that a query must have besides the common ones to do without those.
const MIN_TELLING: usize = 2;
/// Words whose stems are remembered.
const MAX_REMEMBERED: usize = 100_000;

/// Number of a term: a hash of its stem. Two terms of a million share one by chance.
pub type TermId = u32;

/// Words that say nothing of what a text is about.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
];

/// Words that make a question, and say nothing of what it is about.
const QUESTION_WORDS: &[&str] = &[
    "about", "after", "also", "any", "been", "before", "being", "can", "cannot", "could", "did", "didn", "do", "does",
    "doesn", "doing", "don", "done", "ever", "from", "had", "has", "have", "having", "he", "how", "i", "isn", "just",
    "me", "my", "only", "our", "she", "should", "so", "some", "still", "than", "them", "us", "wasn", "we", "were",
    "what", "when", "where", "which", "while", "who", "why", "won", "would", "you", "your",
];

/// Cuts texts into terms and remembers the stems of the words it has seen.
pub struct TermExtractor {
    stemmer: Stemmer,
    known: HashMap<String, Option<TermId>>,
    lower: String,
}

impl Default for TermExtractor {
    fn default() -> Self {
        Self { stemmer: Stemmer::new(Algorithm::English), known: HashMap::new(), lower: String::new() }
    }
}

impl TermExtractor {
    /// The different terms of a text, at most [`MAX_DOCUMENT_TERMS`], in the order of their numbers.
    pub fn distinct(&mut self, text: &str) -> Vec<TermId> {
        let mut found = Vec::new();
        self.each(text, |term, _| found.push(term));
        found.sort_unstable();
        found.dedup();
        found.truncate(MAX_DOCUMENT_TERMS);
        found
    }

    /// Calls with every term of a text and the word or part of one that it stands for, in their order.
    pub fn each<'a>(&mut self, text: &'a str, mut found: impl FnMut(TermId, &'a str)) {
        for word in words(text) {
            pieces(word, |piece| {
                if let Some(term) = self.term(piece) {
                    found(term, piece);
                }
            });
        }
    }

    /// The term that a word or a part of one is; none if it is a stop word.
    fn term(&mut self, word: &str) -> Option<TermId> {
        self.lower.clear();
        self.lower.extend(word.chars().flat_map(char::to_lowercase));
        if let Some(known) = self.known.get(&self.lower) {
            return *known;
        }
        let stop = STOP_WORDS.binary_search(&self.lower.as_str()).is_ok();
        let term = (!stop).then(|| hash(&self.stemmer.stem(&self.lower)));
        if self.known.len() < MAX_REMEMBERED {
            self.known.insert(self.lower.clone(), term);
        }
        term
    }
}

/// The term that a word is, as a whole; none if it is a stop word.
pub fn term_of(word: &str) -> Option<TermId> {
    TermExtractor::default().term(word)
}

/// A term of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryTerm {
    /// The word, or the part of an identifier, as it was written.
    pub word: String,
    /// Its number.
    pub id: TermId,
    /// Whether it is a part of an identifier that is a term itself.
    pub part: bool,
}

/// What a query is about: its terms without the words that only make it a question, each once, in their order.
#[derive(Clone, Debug)]
pub struct QueryTerms {
    /// The terms, at most [`MAX_QUERY_TERMS`].
    pub terms: Vec<QueryTerm>,
    by_id: HashMap<TermId, u8>,
    /// The first two letters of the terms: most words of a text need not be stemmed to see that they are not among them.
    beginnings: Vec<(char, Option<char>)>,
    /// Those of them that are two ASCII letters, as a bit each.
    pairs: Vec<u64>,
}

impl Default for QueryTerms {
    fn default() -> Self {
        Self::of("")
    }
}

impl QueryTerms {
    /// The terms of a query.
    pub fn of(query: &str) -> Self {
        let mut cutter = TermExtractor::default();
        let mut terms: Vec<QueryTerm> = Vec::new();
        let mut add = |word: &str, part: bool| {
            if let Some(id) = cutter.term(word)
                && terms.len() < MAX_QUERY_TERMS
                && !terms.iter().any(|known| known.id == id)
            {
                terms.push(QueryTerm { word: word.to_owned(), id, part });
            }
        };
        for word in words(query).filter(|word| !is_question_word(word)) {
            let mut part = false;
            pieces(word, |piece| {
                add(piece, part);
                part = true;
            });
        }
        let by_id = (0u8..).zip(&terms).map(|(at, term)| (term.id, at)).collect();
        let mut beginnings: Vec<_> = terms.iter().map(|term| beginning(&term.word)).collect();
        beginnings.sort_unstable();
        beginnings.dedup();
        let mut pairs = vec![0u64; (128 << 7) / 64];
        for (first, second) in &beginnings {
            if let (true, Some(second)) = (first.is_ascii(), second.filter(char::is_ascii)) {
                let at = (*first as usize) << 7 | second as usize;
                pairs[at >> 6] |= 1 << (at & 63);
            }
        }
        Self { terms, by_id, beginnings, pairs }
    }

    /// The query without the words that only make it a question, for a search by words; the query itself if there are
    /// no others.
    pub fn words(query: &str) -> String {
        let kept: Vec<&str> = words(query).filter(|word| !is_question_word(word)).collect();
        if kept.is_empty() { query.to_owned() } else { kept.join(" ") }
    }

    /// The query for a search by words that need not weigh every word: without those that are terms of more than
    /// [`COMMON`] documents and of more than a [tenth](COMMON_SHARE) of all, while there are [others](MIN_TELLING) to go
    /// by. Words that none has are no such others. Most of the time of a search goes into them, and they tell the least.
    pub fn discriminating_words(&self, documents: u64, frequencies: &[u64]) -> Option<String> {
        let is_common = |of: &u64| *of > COMMON && *of * COMMON_SHARE > documents;
        let words = self.terms.iter().zip(frequencies).filter(|(term, _)| !term.part);
        let is_telling = |of: &u64| *of > 0 && !is_common(of);
        let telling: Vec<&str> = words.filter(|(_, of)| is_telling(of)).map(|(term, _)| term.word.as_str()).collect();
        (telling.len() >= MIN_TELLING).then(|| telling.join(" "))
    }

    /// Which of the terms a text has: bit `n` for the term `n`.
    pub fn found_in(&self, text: &str, cutter: &mut TermExtractor) -> u64 {
        let mut found = 0;
        // Most texts are ASCII for the most part, where words are found by their bytes.
        for run in text.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_') {
            if run.is_empty() {
                continue;
            }
            if run.is_ascii() {
                self.find_in_word(run, cutter, &mut found);
            } else {
                words(run).for_each(|word| self.find_in_word(word, cutter, &mut found));
            }
        }
        found
    }

    /// Which of the terms are among `terms`, which are in the order of their numbers: what [`found_in`](Self::found_in)
    /// says of the text that they are [of](TermExtractor::distinct).
    pub fn found_among(&self, terms: &[TermId]) -> u64 {
        let has = |(at, term): (usize, &QueryTerm)| u64::from(terms.binary_search(&term.id).is_ok()) << at;
        self.terms.iter().enumerate().map(has).sum()
    }

    fn find_in_word(&self, word: &str, cutter: &mut TermExtractor, found: &mut u64) {
        if word.len() > MAX_WORD {
            return;
        }
        pieces(word, |piece| {
            if self.begins(piece)
                && let Some(at) = cutter.term(piece).and_then(|id| self.by_id.get(&id))
            {
                *found |= 1 << at;
            }
        });
    }

    /// Whether a term begins like that.
    fn begins(&self, piece: &str) -> bool {
        match *piece.as_bytes() {
            [first, second, ..] if first.is_ascii() && second.is_ascii() => {
                let at = usize::from(first.to_ascii_lowercase()) << 7 | usize::from(second.to_ascii_lowercase());
                self.pairs[at >> 6] >> (at & 63) & 1 == 1
            }
            _ => self.beginnings.binary_search(&beginning(piece)).is_ok(),
        }
    }
}

fn is_question_word(word: &str) -> bool {
    let lower = word.to_lowercase();
    QUESTION_WORDS.binary_search(&lower.as_str()).is_ok() || STOP_WORDS.binary_search(&lower.as_str()).is_ok()
}

/// The first two letters in lower case. Stemming changes the end of a word.
fn beginning(word: &str) -> (char, Option<char>) {
    let mut letters = word.chars().flat_map(char::to_lowercase);
    (letters.next().unwrap_or_default(), letters.next())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty() && word.len() <= MAX_WORD)
}

/// A word and, of an identifier, its parts: `getUserName` and `get`, `User`, `Name`.
fn pieces<'a>(word: &'a str, mut found: impl FnMut(&'a str)) {
    found(word);
    if is_compound(word) {
        for part in word.split('_').filter(|part| !part.is_empty()) {
            camel_parts(part, &mut found);
        }
    }
}

fn is_compound(word: &str) -> bool {
    if word.is_ascii() {
        let bytes = word.as_bytes();
        return bytes.contains(&b'_')
            || bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    }
    let mut letters = word.chars();
    let mut before = letters.next().unwrap_or_default();
    word.contains('_')
        || letters.any(|letter| std::mem::replace(&mut before, letter).is_lowercase() && letter.is_uppercase())
}

/// `HTTPServer2` is `HTTP` and `Server2`.
fn camel_parts<'a>(word: &'a str, found: &mut impl FnMut(&'a str)) {
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let mut start = 0;
    for at in 1..letters.len() {
        let (before, here) = (letters[at - 1].1, letters[at].1);
        let next_is_lower = letters.get(at + 1).is_some_and(|(_, next)| next.is_lowercase());
        let begins = here.is_uppercase() && (!before.is_uppercase() || next_is_lower);
        if begins {
            found(&word[start..letters[at].0]);
            start = letters[at].0;
        }
    }
    found(&word[start..]);
}

/// The number of a term, by its stem.
pub fn term_id(stem: &str) -> TermId {
    hash(stem)
}

/// FNV-1a. The numbers are stored, so it must stay the same.
fn hash(term: &str) -> TermId {
    term.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// How much each term of a query tells: its inverse document frequency, as BM25 has it.
#[derive(Clone, Debug, Default)]
pub struct TermWeights {
    of_terms: Vec<f32>,
    total: f32,
}

impl TermWeights {
    /// `frequencies` is in how many of the `documents` each term occurs.
    pub fn new(documents: u64, frequencies: &[u64]) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "counts of documents are far below 2^52")]
        let weight = |&frequency: &u64| {
            let (all, of) = (documents.max(frequency) as f64, frequency as f64);
            #[expect(clippy::cast_possible_truncation, reason = "a logarithm of a count")]
            let weight = (1.0 + (all - of + 0.5) / (of + 0.5)).ln() as f32;
            weight
        };
        let of_terms: Vec<f32> = frequencies.iter().map(weight).collect();
        let total = of_terms.iter().sum();
        Self { of_terms, total }
    }

    /// Weight of all terms together.
    pub fn total(&self) -> f32 {
        self.total
    }

    /// Weight of one term.
    pub fn of(&self, term: usize) -> f32 {
        self.of_terms.get(term).copied().unwrap_or(0.0)
    }

    /// Share of the weight, 0 to 1, that the terms in `found` (see [`QueryTerms::found_in`]) have.
    pub fn share(&self, found: u64) -> f32 {
        if self.total <= 0.0 {
            return 0.0;
        }
        let has = |(at, weight): (usize, &f32)| if found >> at & 1 == 1 { *weight } else { 0.0 };
        (self.of_terms.iter().enumerate().map(has).sum::<f32>() / self.total).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(word: &str) -> Vec<&str> {
        let mut found = Vec::new();
        pieces(word, |piece| found.push(piece));
        found
    }

    #[test]
    fn identifiers_are_terms_whole_and_in_parts() {
        assert_eq!(cut("getUserName"), ["getUserName", "get", "User", "Name"]);
        assert_eq!(cut("secp256k1_fe_set_b32"), ["secp256k1_fe_set_b32", "secp256k1", "fe", "set", "b32"]);
        assert_eq!(cut("HTTPServer"), ["HTTPServer"]);
        assert_eq!(cut("parseHTTPServer2"), ["parseHTTPServer2", "parse", "HTTP", "Server2"]);
        assert_eq!(cut("Word"), ["Word"]);
        assert_eq!(cut("__"), ["__"]);
    }

    #[test]
    fn forms_of_a_word_are_one_term() {
        let mut terms = TermExtractor::default();
        assert_eq!(terms.distinct("connections"), terms.distinct("Connected"));
        assert!(terms.distinct("the of and").is_empty());
    }

    #[test]
    fn what_makes_a_question_is_left_out() {
        let words = |query: &str| QueryTerms::of(query).terms.into_iter().map(|term| term.word).collect::<Vec<_>>();
        assert_eq!(words("Why did we choose Redis over the Redis fork?"), ["choose", "Redis", "over", "fork"]);
        assert_eq!(QueryTerms::words("Why did we choose Redis?"), "choose Redis");
        assert_eq!(QueryTerms::words("Why not?"), "Why not?");
    }

    #[test]
    fn lists_are_sorted() {
        assert!(STOP_WORDS.is_sorted() && QUESTION_WORDS.is_sorted());
    }

    #[test]
    fn share_counts_rare_terms_more() {
        let query = QueryTerms::of("scratch space removal");
        let weights = TermWeights::new(1000, &[5, 500, 500]);
        let share = |text: &str| weights.share(query.found_in(text, &mut TermExtractor::default()));
        assert!(share("the scratch") > share("some space"));
        assert!((share("removing scratch spaces") - 1.0).abs() < 1e-6);
        assert!(share("nothing") == 0.0);
        assert!(TermWeights::default().share(u64::MAX) == 0.0);
    }

    #[test]
    fn common_words_are_left_out_where_others_tell_more() {
        let query = QueryTerms::of("scratch space removal of the context");
        assert_eq!(query.discriminating_words(10_000, &[5, 1001, 200, 9000]).as_deref(), Some("scratch removal"));
        assert_eq!(query.discriminating_words(10_000, &[5, 1001, 1200, 9000]), None);
        assert_eq!(query.discriminating_words(10_000, &[0, 1001, 0, 9000]), None);
        assert_eq!(
            query.discriminating_words(900, &[5, 800, 200, 900]).as_deref(),
            Some("scratch space removal context")
        );
    }

    proptest! {
        #[test]
        fn a_text_has_all_terms_of_itself(text in "[A-Za-z_0-9 .,]{0,200}") {
            let query = QueryTerms::of(&text);
            let expected = u64::MAX.checked_shr(64 - u32::try_from(query.terms.len()).unwrap()).unwrap_or(0);
            prop_assert_eq!(query.found_in(&text, &mut TermExtractor::default()), expected);
        }

        #[test]
        fn a_text_and_its_terms_are_found_alike(text in "[A-Za-z_0-9 .,]{0,200}", query in "[A-Za-z_0-9 ]{0,40}") {
            let (query, mut cutter) = (QueryTerms::of(&query), TermExtractor::default());
            prop_assert_eq!(query.found_among(&cutter.distinct(&text)), query.found_in(&text, &mut cutter));
        }

        #[test]
        fn nothing_panics(text in "\\PC{0,100}", query in "\\PC{0,100}") {
            let mut terms = TermExtractor::default();
            terms.distinct(&text);
            QueryTerms::of(&query).found_in(&text, &mut terms);
        }
    }
}
