//! Selects the documents that a search scores: some 180, proposed by words and by meaning. Conversations have a share
//! of their own, since commits and code would crowd them out.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    document_type::DocumentType,
    filter::{DocumentKind, Filter},
    terms::TermExtractor,
};
use backstory_store::index::{self, Index, IndexError, PassageId, VectorHit};
use futures::future::try_join_all;

use super::{
    LEXICAL_ONLY, Mode, SearchRequest,
    evidence::{NearnessRange, ScoredPassage, ScoringContext, Text},
    id_of,
    prepared_filter::PreparedFilter,
    query::ParsedQuery,
};
use crate::{error::Result, resources::Resources};

/// Documents that text search proposes: of conversations, which tell reasons, and of commits and code, which would
/// crowd them out.
const LEXICAL_CANDIDATES: [usize; 2] = [150, 30];
/// Documents that vector search proposes, of all kinds: it takes as long for many as for few.
const SEMANTIC_CANDIDATES: usize = 150;
/// Least nearness of what is found by meaning alone for a query of which no document has a word. With the bundled
/// model invented words reach 0.2 to 0.4 in a large index, and words of another language no more.
const LEAST_SIMILARITY: f32 = 0.45;
/// Of each leg, how many documents of conversations are read,
const CONVERSATIONS: usize = 60;
/// how many commits,
const COMMITS: usize = 12;
/// and how many of code and documents;
const CODE: usize = 12;
/// of these more where nothing else is wanted, as many of them are tests and stand behind.
const CODE_ALONE: usize = 120;

/// What the legs found, the best first.
pub(super) struct Candidates {
    pub(super) mode: Mode,
    pub(super) words: Vec<index::TextHit>,
    pub(super) passages: Vec<VectorHit>,
    /// Vector of the query; empty if it was not asked for or could not be had.
    pub(super) vector: Vec<f32>,
    pub(super) warnings: Vec<String>,
    /// Whether a leg found as many as it may, so that there may be more.
    pub(super) is_cut: bool,
    /// Whether there is anything but repositories.
    has_conversations: bool,
}

/// Asks both legs at the same time. Where the search is `within` some documents all of them are read anyway: those are
/// scored by words, and of meaning only the vector of the query is needed.
pub(super) async fn retrieve_candidates(
    resources: &Resources,
    request: &SearchRequest,
    words: &str,
    within: Option<&[String]>,
) -> Result<Candidates> {
    let index = resources.index();
    let mode = match request.mode {
        Mode::Hybrid if resources.embedder().is_off() => Mode::Lexical,
        mode => mode,
    };
    let coverage = index.coverage();
    let has_conversations = coverage.by_kind.iter().any(|of| is_conversation(of.kind));
    // In a task of its own, so that the legs can use a core each.
    let lexical = tokio::spawn({
        let (index, words, filter) = (index.clone(), words.to_owned(), request.filter.clone());
        let within = within.map(<[String]>::to_vec);
        async move {
            if mode == Mode::Semantic {
                return Ok((Vec::new(), false));
            }
            if let Some(documents) = within {
                return Ok((index.score_text(&words, &filter, &documents).await?, false));
            }
            let filters = lexical_filters(&filter, has_conversations);
            let searches = filters.iter().map(|(filter, limit)| index.search_text(&words, filter, *limit));
            let found = try_join_all(searches).await?;
            let is_cut = found.iter().zip(&filters).any(|(hits, (_, limit))| hits.len() >= *limit);
            let mut seen = BTreeSet::new();
            let found = found.into_iter().flatten().filter(|hit| seen.insert(hit.document.clone())).collect();
            Ok::<_, IndexError>((found, is_cut))
        }
    });
    let semantic = async {
        if mode == Mode::Lexical || (coverage.embedded == 0 && !resources.embedder().is_off()) {
            return Ok(Ok((vec![], vec![])));
        }
        match resources.embedder().embed_query(&request.query).await {
            Ok(vector) if within.is_some() => Ok(Ok((vector, vec![]))),
            Ok(vector) => {
                let searches = semantic_filters(&request.filter).into_iter().map(|filter| {
                    let (index, vector) = (&index, &vector);
                    async move { index.search_vectors(vector, &filter, SEMANTIC_CANDIDATES).await }
                });
                let mut hits = try_join_all(searches).await?.concat();
                hits.iter_mut().for_each(|hit| hit.score = resources.embedder().nearness(hit.score));
                Ok::<_, IndexError>(Ok((vector, merge_nearest(hits))))
            }
            Err(error) => Ok(Err(error)),
        }
    };
    let (lexical, semantic) = tokio::join!(lexical, semantic);
    let (words, is_cut) = lexical??;
    let (passages, vector, warnings) = (vec![], vec![], vec![]);
    let mut found = Candidates { mode, words, passages, vector, warnings, is_cut, has_conversations };
    match semantic? {
        Ok((vector, passages)) => {
            found.is_cut |= passages.len() >= SEMANTIC_CANDIDATES;
            (found.vector, found.passages) = (vector, passages);
        }
        Err(error) if mode == Mode::Semantic => return Err(error.into()),
        Err(error) => {
            tracing::debug!(%error, "no vector for the query");
            found.warnings.push(LEXICAL_ONLY.to_owned());
            found.mode = Mode::Lexical;
        }
    }
    Ok(found)
}

/// Measures the passages of documents; the text itself of those that have no vectors yet.
pub(super) async fn score_passages(
    resources: &Resources,
    scale: &ScoringContext<'_>,
    vector: &[f32],
    ids: &[String],
) -> Result<Vec<ScoredPassage>> {
    let index = resources.index();
    let asked: Vec<&str> = ids.iter().map(String::as_str).collect();
    let passages = index.score_passages(vector, scale.terms, &asked).await?.into_iter();
    let nearness = |cosine| resources.embedder().nearness(cosine);
    let mut measured: Vec<ScoredPassage> = passages.map(|passage| scale.passage(passage, nearness)).collect();
    let embedded: BTreeSet<&str> = measured.iter().map(|passage| passage.document.as_str()).collect();
    let others: Vec<String> = ids.iter().filter(|id| !embedded.contains(id.as_str())).cloned().collect();
    if !others.is_empty() {
        let near = NearnessRange::of(&measured);
        let texts = index.documents(&others).await?;
        let (terms, weights) = (scale.terms.clone(), scale.weights.clone());
        let (bound, newest) = (scale.bound, scale.newest);
        // Cutting texts into terms takes long enough to keep others waiting.
        let measure = move |_: &Resources| {
            let scale = ScoringContext { terms: &terms, weights: &weights, bound, newest };
            let mut cutter = TermExtractor::default();
            Ok(texts.into_iter().map(|document| scale.document(document, near, &mut cutter)).collect::<Vec<_>>())
        };
        measured.extend(resources.blocking(measure).await?);
    }
    Ok(measured)
}

/// Those of the passages whose texts are in the index.
pub(super) fn stored(passages: &[&ScoredPassage]) -> Vec<PassageId> {
    let stored = passages.iter().filter_map(|passage| match passage.text {
        Text::Passage(id) => Some(id),
        Text::Document(_) => None,
    });
    stored.collect()
}

impl Candidates {
    /// Takes what was measured of all documents that the search is limited to for what meaning found.
    pub(super) fn rank_by_meaning(&mut self, measured: &[ScoredPassage]) {
        let mut nearest: BTreeMap<&str, f32> = BTreeMap::new();
        for passage in measured.iter().filter(|passage| passage.similarity > 0.0) {
            let known = nearest.entry(&passage.document).or_default();
            *known = known.max(passage.similarity);
        }
        let hits = nearest.into_iter().map(|(id, score)| VectorHit { document: id.to_owned(), score }).collect();
        self.passages = merge_nearest(hits);
    }

    /// Drops what is not near in meaning: of a query with no word that anything has, the nearest vectors are near to
    /// nothing.
    pub(super) fn drop_distant(&mut self) {
        self.passages.retain(|hit| hit.score >= LEAST_SIMILARITY);
    }

    /// What either leg proposed.
    pub(super) fn proposed(&self) -> impl Iterator<Item = &String> {
        self.words.iter().map(|hit| &hit.document).chain(self.passages.iter().map(|hit| &hit.document))
    }

    /// The documents that are read: the best of each leg and kind, of code so many at least, what they are part of, and what
    /// the query names.
    pub(super) fn select(
        &self,
        index: &Index,
        (filter, least_code): (&Filter, usize),
        understood: &ParsedQuery,
    ) -> Vec<String> {
        let facts = index.facts(self.proposed().map(String::as_str));
        let mut chosen: BTreeSet<String> = BTreeSet::new();
        let words = self.words.iter().map(|hit| hit.document.as_str());
        let meaning = self.passages.iter().map(|hit| hit.document.as_str());
        let (prepared, narrows) = (PreparedFilter::of(filter), narrows_to_some(filter));
        for leg in [words.collect::<Vec<_>>(), meaning.collect()] {
            let mut left = RemainingQuota::of(filter, least_code, self.has_conversations);
            let leg = leg.into_iter().filter_map(|id| Some((id, facts.get(id)?)));
            let leg = leg.filter(|(id, of)| !prepared.excludes(id, of));
            // What is wanted itself comes before what may only be part of it.
            let (wanted, others): (Vec<_>, Vec<_>) = leg.partition(|(id, of)| !narrows || prepared.is_met_by(id, of));
            for (id, of) in wanted.into_iter().chain(others) {
                if left.takes(of.kind) {
                    chosen.insert(id.to_owned());
                }
            }
        }
        let wholes: Vec<String> =
            chosen.iter().filter_map(|id| facts.get(id.as_str())).map(|of| of.thread.to_string()).collect();
        chosen.extend(wholes);
        chosen.extend(understood.named.iter().map(id_of));
        chosen.extend(understood.definitions.keys().chain(understood.defining.keys()).cloned());
        let facts = index.facts(chosen.iter().map(String::as_str));
        // A part of something that is left out is left out.
        let kept = |id: &&String| facts.get(id.as_str()).is_some_and(|of| !prepared.excludes(id, of));
        chosen.iter().filter(kept).cloned().collect()
    }
}

/// How many documents of each class are still taken.
struct RemainingQuota {
    conversations: usize,
    commits: usize,
    code: usize,
}

impl RemainingQuota {
    /// Where no conversations are wanted, or none exist, there is room for more of the others.
    fn of(filter: &Filter, least_code: usize, has_conversations: bool) -> Self {
        let wants_conversations = filter.kinds.is_empty() || filter.kinds.iter().any(|kind| is_conversation(*kind));
        if wants_conversations && has_conversations {
            Self { conversations: CONVERSATIONS, commits: COMMITS, code: CODE.max(least_code) }
        } else {
            Self { conversations: 0, commits: CONVERSATIONS, code: CODE_ALONE.max(least_code) }
        }
    }

    fn takes(&mut self, kind: DocumentKind) -> bool {
        let left = match kind {
            DocumentKind::Issue | DocumentKind::MergeRequest | DocumentKind::Discussion => &mut self.conversations,
            DocumentKind::Commit => &mut self.commits,
            DocumentKind::File | DocumentKind::Code | DocumentKind::Section => &mut self.code,
        };
        let is_free = *left > 0;
        *left = left.saturating_sub(1);
        is_free
    }
}

/// Whether documents are wanted that have others as parts.
fn wants_wholes(filter: &Filter) -> bool {
    filter.kinds.is_empty() || !parts_of(&filter.kinds).is_empty()
}

/// Whether only those of some authors or of some time are wanted: their parts may be by others and of any time.
fn narrows_to_some(filter: &Filter) -> bool {
    !filter.authors.is_empty() || filter.after.is_some() || filter.before.is_some()
}

/// What vector search looks for: where the candidates are more than what is wanted, that must not be crowded out.
fn semantic_filters(filter: &Filter) -> Vec<Filter> {
    let candidates = candidate_filter(filter);
    if narrows_to_some(filter) && wants_wholes(filter) { vec![filter.clone(), candidates] } else { vec![candidates] }
}

/// The hits of several searches with the same vector, each document once, the nearest first.
fn merge_nearest(mut hits: Vec<VectorHit>) -> Vec<VectorHit> {
    let nearest = |a: &VectorHit, b: &VectorHit| b.score.total_cmp(&a.score).then_with(|| a.document.cmp(&b.document));
    hits.sort_by(nearest);
    let mut seen = BTreeSet::new();
    hits.retain(|hit| seen.insert(hit.document.clone()));
    hits
}

/// Documents that may count for one that is wanted: an issue also has its discussions, by any author.
pub(super) fn candidate_filter(filter: &Filter) -> Filter {
    if !wants_wholes(filter) {
        return filter.clone();
    }
    let mut filter = Filter { authors: vec![], after: None, before: None, ..filter.clone() };
    let parts = parts_of(&filter.kinds);
    filter.kinds.extend(parts);
    let of_threads = [DocumentType::Issue, DocumentType::MergeRequest];
    if filter.document_types.iter().any(|document_type| of_threads.contains(document_type)) {
        filter.document_types.push(DocumentType::Discussion);
    }
    filter
}

/// The kinds of part that count for the kinds of document that are wanted, without those that are wanted themselves.
fn parts_of(kinds: &[DocumentKind]) -> Vec<DocumentKind> {
    let mut parts = Vec::new();
    for kind in kinds {
        match kind {
            DocumentKind::Issue | DocumentKind::MergeRequest => parts.push(DocumentKind::Discussion),
            DocumentKind::File => parts.extend([DocumentKind::Code, DocumentKind::Section]),
            DocumentKind::Discussion | DocumentKind::Commit | DocumentKind::Code | DocumentKind::Section => {}
        }
    }
    parts.sort_unstable();
    parts.dedup();
    parts.retain(|part| !kinds.contains(part));
    parts
}

/// A filter apart for conversations and for everything else, each with its limit, of those that it lets through.
fn by_class(filter: &Filter, limits: [usize; 2], has_conversations: bool) -> Vec<(Filter, usize)> {
    let wanted = |kind: &DocumentKind| filter.kinds.is_empty() || filter.kinds.contains(kind);
    let (conversations, others): (Vec<_>, Vec<_>) =
        DocumentKind::ALL.into_iter().filter(wanted).partition(|kind| is_conversation(*kind));
    // What is alone crowds nobody out.
    let limits = if conversations.is_empty() || !has_conversations { [limits[0]; 2] } else { limits };
    let of_class = |(kinds, limit): (Vec<DocumentKind>, usize)| (Filter { kinds, ..filter.clone() }, limit);
    [conversations, others].into_iter().zip(limits).filter(|(kinds, _)| !kinds.is_empty()).map(of_class).collect()
}

fn is_conversation(kind: DocumentKind) -> bool {
    matches!(kind, DocumentKind::Issue | DocumentKind::MergeRequest | DocumentKind::Discussion)
}

/// What text search looks for. Where the candidates are more than what is wanted, that must not be crowded out by others.
fn lexical_filters(filter: &Filter, has_conversations: bool) -> Vec<(Filter, usize)> {
    let candidates = candidate_filter(filter);
    if !narrows_to_some(filter) || !wants_wholes(filter) {
        return by_class(&candidates, LEXICAL_CANDIDATES, has_conversations);
    }
    let wanted = |kind: &DocumentKind| filter.kinds.is_empty() || filter.kinds.contains(kind);
    let added = parts_of(&filter.kinds);
    let is_of_parts = |kind: &DocumentKind| kind.is_part() && (wanted(kind) || added.contains(kind));
    let parts = DocumentKind::ALL.into_iter().filter(is_of_parts).collect();
    let apart = [filter.clone(), Filter { kinds: parts, ..candidates }];
    apart.iter().flat_map(|filter| by_class(filter, LEXICAL_CANDIDATES, has_conversations)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_conversations_there_is_room_for_the_rest() {
        let taken = |has_conversations| {
            let mut left = RemainingQuota::of(&Filter::default(), 0, has_conversations);
            [DocumentKind::Issue, DocumentKind::Commit, DocumentKind::Code]
                .map(|kind| (0..500).filter(|_| left.takes(kind)).count())
        };
        assert_eq!(taken(true), [CONVERSATIONS, COMMITS, CODE]);
        assert_eq!(taken(false), [0, CONVERSATIONS, CODE_ALONE]);
        let limits = |has_conversations| {
            let filters = lexical_filters(&Filter::default(), has_conversations);
            filters.into_iter().map(|(_, limit)| limit).collect::<Vec<_>>()
        };
        assert_eq!((limits(true), limits(false)), (LEXICAL_CANDIDATES.to_vec(), vec![LEXICAL_CANDIDATES[0]; 2]));
    }

    #[test]
    fn what_has_no_parts_is_not_searched_for_parts() {
        let filter =
            Filter { kinds: vec![DocumentKind::Commit], authors: vec!["alice".to_owned()], ..Filter::default() };
        let filters = lexical_filters(&filter, true);
        assert!(!filters.is_empty());
        for (filter, _) in filters {
            assert_eq!((filter.kinds, filter.authors), (vec![DocumentKind::Commit], vec!["alice".to_owned()]));
        }
        let filter = Filter { kinds: vec![DocumentKind::Issue], ..filter };
        let kinds: Vec<_> = lexical_filters(&filter, true).into_iter().map(|(filter, _)| filter.kinds).collect();
        assert_eq!(kinds, [vec![DocumentKind::Issue], vec![DocumentKind::Discussion]]);
    }
}
