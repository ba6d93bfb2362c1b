//! Scores the passages of every candidate against the query.

use std::collections::{BTreeMap, HashMap};

use backstory_model::{
    filter::DocumentKind,
    score::Parts,
    terms::{QueryTerms, TermExtractor, TermWeights},
};
use backstory_store::index::{self, DocumentFacts, PassageId, StoredDocument, StoredPassage};
use jiff::Timestamp;

/// How much a passage that has all of the query's words gains over one that has none, compared to how near its
/// meaning is. Which passage answers best is decided by both: one that only sounds like the query, or only has its
/// words, is a look-alike.
const WORDS_OF_PASSAGE: f32 = 0.6;
/// Share of the second-best passage: an answer is seldom in one place only.
const SECOND: f32 = 0.2;
/// What a document with one passage lacks.
const NO_SECOND: f32 = 0.06;
/// Share of the title and description in the meaning of an issue or merge request.
const OWN: f32 = 1.0 / 6.0;
/// Largest BM25 score of a term whose weight is 1, with k1 = 1.2.
const BM25_BOUND: f32 = 2.2;
/// How soon more of BM25 adds little: texts reach but a small share of the largest score, where differences tell most.
const SATURATION: f32 = 0.3;
/// Age, in days, at which half of the recency is left.
const HALF_LIFE: f64 = 365.0;

/// A passage and how it stands to the query.
#[derive(Clone, Debug)]
pub(super) struct ScoredPassage {
    pub(super) document: String,
    /// Which of equally good ones comes first.
    order: u32,
    pub(super) text: Text,
    /// How near its meaning is, 0 to 1; 0 without a vector.
    pub(super) similarity: f32,
    /// The same, estimated from its words where there is no vector.
    pub(super) nearness: f32,
    /// Share of the query's words, rare ones counting more, 0 to 1.
    pub(super) coverage: f32,
    /// Which of the query's terms it has.
    pub(super) found: u64,
}

/// Where the text of a passage is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Text {
    /// In the index.
    Passage(PassageId),
    /// Here: that of a document which has no vectors yet.
    Document(String),
}

impl Text {
    /// The text, with those that were read from the index.
    pub(super) fn of<'a>(&'a self, read: &'a HashMap<PassageId, String>) -> Option<&'a str> {
        match self {
            Self::Passage(id) => read.get(id).map(String::as_str),
            Self::Document(text) => Some(text),
        }
    }
}

impl ScoredPassage {
    fn value(&self) -> f32 {
        self.nearness + WORDS_OF_PASSAGE * self.coverage
    }
}

/// What a search has to go by.
pub(super) struct ScoringContext<'a> {
    pub(super) terms: &'a QueryTerms,
    pub(super) weights: &'a TermWeights,
    /// What its terms weigh together in text search.
    pub(super) bound: f32,
    /// The newest document there is.
    pub(super) newest: Timestamp,
}

impl ScoringContext<'_> {
    /// Measures a passage; `nearness` tells what a cosine stands for.
    pub(super) fn passage(&self, passage: StoredPassage, nearness: impl Fn(f32) -> f32) -> ScoredPassage {
        let similarity = nearness(passage.similarity).clamp(0.0, 1.0);
        ScoredPassage {
            similarity,
            nearness: similarity,
            coverage: self.weights.share(passage.found),
            found: passage.found,
            document: passage.document,
            order: passage.order,
            text: Text::Passage(passage.id),
        }
    }

    /// Measures a document that has no vectors yet.
    pub(super) fn document(
        &self,
        document: StoredDocument,
        near: NearnessRange,
        cutter: &mut TermExtractor,
    ) -> ScoredPassage {
        let found = self.terms.found_in(&document.text, cutter);
        let coverage = self.weights.share(found);
        ScoredPassage {
            similarity: 0.0,
            nearness: near.estimate(coverage),
            coverage,
            found,
            document: document.id,
            order: 0,
            text: Text::Document(document.text),
        }
    }

    /// BM25 scores as shares of the largest that there could be.
    pub(super) fn lexical(&self, hits: &[index::TextHit]) -> HashMap<String, f32> {
        let bound = (self.bound * BM25_BOUND).max(f32::MIN_POSITIVE);
        hits.iter().map(|hit| (hit.document.clone(), (hit.score / bound).clamp(0.0, 1.0))).collect()
    }

    /// 1 for the newest document, half of it for every year before.
    pub(super) fn recency(&self, at: Timestamp) -> f32 {
        let days = self.newest.duration_since(at).as_secs_f64().max(0.0) / 86_400.0;
        #[expect(clippy::cast_possible_truncation, reason = "between 0 and 1")]
        let recency = (-days / HALF_LIFE).exp2() as f32;
        recency
    }
}

/// How near the passages that have vectors are to the query. While vectors are being made, a document without one must
/// not rank behind all that have one, so its words say where it is in this range.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NearnessRange {
    mean: f32,
    largest: f32,
}

impl NearnessRange {
    /// That of passages with vectors; nothing is estimated if there are none.
    pub(super) fn of(passages: &[ScoredPassage]) -> Self {
        if passages.is_empty() {
            return Self::default();
        }
        let similarities = || passages.iter().map(|passage| passage.similarity);
        Self { mean: similarities().sum::<f32>() / passages.len() as f32, largest: similarities().fold(0.0, f32::max) }
    }

    fn estimate(self, coverage: f32) -> f32 {
        self.mean + (self.largest - self.mean) * coverage
    }
}

/// A document that is ranked, with all the evidence for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidate {
    /// Its passages, of its own and of its parts, the best first.
    pub(super) passages: Vec<ScoredPassage>,
    pub(super) parts: Parts,
    /// Its semantic part, with estimates for passages that have no vectors yet.
    pub(super) nearness: f32,
    /// The share of BM25 that it reached as a whole.
    lexical: f32,
}

impl Candidate {
    /// `whole` is the document; `lexical` the share of BM25 that it reached as a whole.
    pub(super) fn new(whole: &str, facts: &DocumentFacts, mut passages: Vec<ScoredPassage>, lexical: f32) -> Self {
        passages.sort_by(|a, b| {
            let values = b.value().total_cmp(&a.value());
            values.then_with(|| (&a.document, a.order, &a.text).cmp(&(&b.document, b.order, &b.text)))
        });
        let of_two = |value: fn(&ScoredPassage) -> f32| {
            let best = passages.first().map_or(0.0, value);
            let second = passages.get(1).map_or((best - NO_SECOND).max(0.0), value);
            (1.0 - SECOND) * best + SECOND * second
        };
        let is_thread = matches!(facts.kind, DocumentKind::Issue | DocumentKind::MergeRequest);
        let semantic_part = |value: fn(&ScoredPassage) -> f32| {
            let near = of_two(value);
            let own = passages.iter().filter(|passage| passage.document == whole).map(value).fold(0.0, f32::max);
            if is_thread { (1.0 - OWN) * near + OWN * own } else { near }
        };
        let semantic = semantic_part(|passage| passage.similarity);
        let nearness = semantic_part(|passage| passage.nearness);
        let covered = of_two(|passage| passage.coverage);
        let reached = saturate(lexical);
        // The words of a commit's diff say what its message does not; they are in no passage.
        let words = if facts.kind == DocumentKind::Commit { reached } else { f32::midpoint(covered, reached) };
        let parts = Parts { semantic, lexical: words, ..Parts::default() };
        Self { passages, parts, nearness, lexical }
    }

    /// The candidate with the passages of something that belongs to it.
    pub(super) fn with(self, whole: &str, facts: &DocumentFacts, others: Vec<ScoredPassage>) -> Self {
        let passages = self.passages.into_iter().chain(others).collect();
        Self::new(whole, facts, passages, self.lexical)
    }

    /// Raises it to what something that belongs to it has alone.
    pub(super) fn raise_to(&mut self, parts: Parts, nearness: f32) {
        self.parts.lexical = self.parts.lexical.max(parts.lexical);
        self.parts.semantic = self.parts.semantic.max(parts.semantic);
        self.nearness = self.nearness.max(nearness);
    }
}

/// What a share of the largest BM25 score counts, 0 to 1.
fn saturate(share: f32) -> f32 {
    share * (1.0 + SATURATION) / (share + SATURATION)
}

/// The passages of each document that is ranked: of itself and of its parts.
pub(super) fn group_by_document(
    measured: Vec<ScoredPassage>,
    whole_of: impl Fn(&str) -> Vec<String>,
) -> BTreeMap<String, Vec<ScoredPassage>> {
    let mut wholes: HashMap<String, Vec<String>> = HashMap::new();
    let mut gathered: BTreeMap<String, Vec<ScoredPassage>> = BTreeMap::new();
    for passage in measured {
        if !wholes.contains_key(&passage.document) {
            wholes.insert(passage.document.clone(), whole_of(&passage.document));
        }
        let Some((last, others)) = wholes[&passage.document].split_last() else { continue };
        for whole in others {
            gathered.entry(whole.clone()).or_default().push(passage.clone());
        }
        gathered.entry(last.clone()).or_default().push(passage);
    }
    gathered
}
