//! Search: text and vectors, fused, narrowed by filters.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Instant,
};

use backstory_model::{
    filter::{DocumentKind, Filter},
    score::{RRF_K, fuse_ranks, sorted, spread_to_unit},
    text::snippet,
};
use backstory_store::index::{self, Coverage, DocumentFacts, IndexError, PassageHit, StoredDocument};
use futures::future::try_join_all;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Engine,
    error::{Error, Result},
    settings::Ranking,
};

/// Longest query, in characters.
pub const MAX_QUERY: usize = 2000;
/// Most hits of one search.
pub const MAX_LIMIT: usize = 100;
/// Documents that text search proposes, discussions among them.
const LEXICAL_CANDIDATES: usize = 200;
/// Documents that vector search proposes.
const SEMANTIC_CANDIDATES: usize = 50;
/// Length of a snippet, in characters.
const SNIPPET: usize = 240;
/// What a search says when the vectors of the query cannot be had.
pub const LEXICAL_ONLY: &str = "Embedding service unavailable, using lexical search only";

/// Which legs a search uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Text and vectors.
    #[default]
    Hybrid,
    /// Text.
    Lexical,
    /// Vectors.
    Semantic,
}

impl Mode {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Lexical => "lexical",
            Self::Semantic => "semantic",
        }
    }
}

/// What to search for.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchRequest {
    /// Words or a question.
    pub query: String,
    /// What to narrow it to.
    pub filter: Filter,
    /// Which legs.
    pub mode: Mode,
    /// Most hits, 1 to [`MAX_LIMIT`].
    pub limit: usize,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct SearchResponse {
    /// The query.
    pub query: String,
    /// The legs that were used; lexical if the vectors could not be had.
    pub mode: Mode,
    /// How many documents there are and how many have vectors.
    pub coverage: Coverage,
    /// How long it took, in milliseconds.
    pub took_ms: f64,
    /// What the reader must know.
    pub warnings: Vec<String>,
    /// Best first.
    pub hits: Vec<Hit>,
}

/// A document that was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The document.
    pub document: StoredDocument,
    /// The part of its text that answers best.
    pub snippet: String,
    /// What it is ranked by.
    pub score: f32,
    /// Score of each leg that found it, 0 to 1.
    pub parts: BTreeMap<&'static str, f32>,
}

/// What a document is ranked by, each 0 to 1.
#[derive(Clone, Debug, Default)]
struct Evidence {
    lexical: Option<f32>,
    semantic: Option<f32>,
    /// The document that has the passage nearest to the query: itself or a discussion of it.
    nearest: Option<String>,
}

impl Engine {
    /// Searches.
    ///
    /// # Errors
    /// The query is empty or too long, a filter names what does not exist, or a store failed.
    pub async fn search(&self, request: SearchRequest) -> Result<SearchResponse> {
        let started = Instant::now();
        let request = checked(request)?;
        self.check_project(request.filter.project.as_deref()).await?;
        let index = self.index();
        let coverage = index.coverage();
        let mut warnings = Vec::new();
        let mut mode = request.mode;

        // In a task of its own, so that the legs can use a core each.
        let lexical = tokio::spawn({
            let (index, query) = (index.clone(), request.query.clone());
            let filters = if mode == Mode::Semantic { vec![] } else { lexical_filters(&request.filter) };
            async move {
                let searches = filters.iter().map(|filter| index.lexical(&query, filter, LEXICAL_CANDIDATES));
                Ok::<_, IndexError>(try_join_all(searches).await?.concat())
            }
        });
        let semantic = async {
            if mode == Mode::Lexical || coverage.embedded == 0 {
                return Ok(Ok((vec![], vec![])));
            }
            match self.embedder().embed_query(&request.query).await {
                Ok(vector) => {
                    let hits = index.semantic(&vector, &candidate_filter(&request.filter), SEMANTIC_CANDIDATES).await;
                    hits.map(|hits| Ok((vector, hits)))
                }
                Err(error) => Ok(Err(error)),
            }
        };
        let (lexical, semantic) = tokio::join!(lexical, semantic);
        let words = lexical??;
        let (vector, passages) = match semantic? {
            Ok(found) => found,
            Err(error) if mode == Mode::Semantic => return Err(error.into()),
            Err(error) => {
                tracing::debug!(%error, "no vector for the query");
                warnings.push(LEXICAL_ONLY.to_owned());
                mode = Mode::Lexical;
                (vec![], vec![])
            }
        };
        if mode != Mode::Lexical && coverage.embedded < coverage.documents {
            warnings.push(format!(
                "{} of {} documents have no vectors yet; text search covers them",
                coverage.documents - coverage.embedded,
                coverage.documents
            ));
        }

        let ids = words.iter().map(|hit| &hit.document).chain(passages.iter().map(|hit| &hit.document));
        let facts = index.facts(ids.map(String::as_str));
        let found = gather(&words, &passages, &facts);
        // A document that only its discussions brought in must meet the filter itself.
        let facts = index.facts(found.keys().map(String::as_str));
        let mut ranked = rank(&found, &facts, mode, self.settings().ranking);
        ranked.retain(|(id, _)| facts.get(id.as_str()).is_some_and(|facts| meets(&request.filter, facts)));
        ranked.truncate(request.limit);
        let hits = self.describe(&request.query, &ranked, &found, &vector).await?;
        let took_ms = started.elapsed().as_secs_f64() * 1000.0;
        Ok(SearchResponse { query: request.query, mode, coverage, took_ms, warnings, hits })
    }

    /// The documents that are shown, each with the part of its text that answers best.
    async fn describe(
        &self,
        query: &str,
        ranked: &[(String, f32)],
        found: &BTreeMap<String, Evidence>,
        vector: &[f32],
    ) -> Result<Vec<Hit>> {
        let index = self.index();
        let ids: Vec<String> = ranked.iter().map(|(id, _)| id.clone()).collect();
        let nearest = ranked.iter().filter_map(|(id, _)| found.get(id)?.nearest.as_deref());
        let nearest: BTreeSet<&str> = nearest.collect();
        let nearest: Vec<&str> = nearest.into_iter().collect();
        // In a task of its own, to be read at the same time.
        let documents = tokio::spawn({
            let index = index.clone();
            async move { index.documents(&ids).await }
        });
        let passages = index.nearest_passages(vector, &nearest).await?;
        let documents = documents.await??;
        let documents: HashMap<&str, &StoredDocument> =
            documents.iter().map(|document| (document.id.as_str(), document)).collect();
        let hit = |(id, score): &(String, f32)| {
            let (document, evidence) = (*documents.get(id.as_str())?, found.get(id)?);
            let passage = evidence.nearest.as_ref().and_then(|nearest| passages.get(nearest));
            let parts = [("semantic", evidence.semantic), ("lexical", evidence.lexical)];
            Some(Hit {
                document: document.clone(),
                snippet: snippet(passage.unwrap_or(&document.text), query, SNIPPET),
                score: *score,
                parts: parts.into_iter().filter_map(|(name, score)| Some((name, score?))).collect(),
            })
        };
        Ok(ranked.iter().filter_map(hit).collect())
    }

    pub(crate) async fn check_project(&self, project: Option<&str>) -> Result<()> {
        let Some(project) = project else { return Ok(()) };
        let known = self.known_projects().await?;
        if known.contains(project) {
            return Ok(());
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        Err(Error::invalid(format!("{project} is not known; known projects: {}", known.join(", "))))
    }
}

fn checked(mut request: SearchRequest) -> Result<SearchRequest> {
    request.query = request.query.trim().to_owned();
    let length = request.query.chars().count();
    if length == 0 {
        return Err(Error::invalid("the query is empty; say what to look for"));
    }
    if length > MAX_QUERY {
        return Err(Error::invalid(format!("the query has {length} characters; at most {MAX_QUERY} are allowed")));
    }
    if request.limit == 0 || request.limit > MAX_LIMIT {
        return Err(Error::invalid(format!("the limit is {}; it must be 1 to {MAX_LIMIT}", request.limit)));
    }
    if let (Some(after), Some(before)) = (request.filter.after, request.filter.before)
        && after >= before
    {
        return Err(Error::invalid(format!("no time is both after {after} and before {before}")));
    }
    Ok(request)
}

/// Whether issues or merge requests are wanted.
fn wants_threads(filter: &Filter) -> bool {
    filter.kinds.is_empty() || filter.kinds.iter().any(|kind| !kind.is_part())
}

/// Documents that may count for one that is wanted: an issue also has its discussions, whoever wrote them.
fn candidate_filter(filter: &Filter) -> Filter {
    if !wants_threads(filter) {
        return filter.clone();
    }
    let mut filter = Filter { author: None, after: None, before: None, ..filter.clone() };
    let parts = parts_of(&filter.kinds);
    filter.kinds.extend(parts);
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

/// What text search looks for. Where the candidates are more than what is wanted, issues and merge requests that are
/// wanted must not be crowded out by others.
fn lexical_filters(filter: &Filter) -> Vec<Filter> {
    let candidates = candidate_filter(filter);
    let narrowed = filter.author.is_some() || filter.after.is_some() || filter.before.is_some();
    if !narrowed || !wants_threads(filter) {
        return vec![candidates];
    }
    let wanted = |kind: &DocumentKind| filter.kinds.is_empty() || filter.kinds.contains(kind);
    let (parts, whole): (Vec<_>, Vec<_>) = DocumentKind::ALL.into_iter().partition(|kind| kind.is_part());
    let whole: Vec<_> = whole.into_iter().filter(wanted).collect();
    let added = parts_of(&filter.kinds);
    let parts = parts.into_iter().filter(|kind| wanted(kind) || added.contains(kind)).collect();
    vec![Filter { kinds: whole, ..filter.clone() }, Filter { kinds: parts, ..candidates }]
}

/// Joins what the legs found, with every score between 0, the worst of its list, and 1, the best. The words of an issue
/// or merge request count half by its whole text, in which many discussions can each say a little, and half by the one
/// discussion that says most; its meaning counts by its nearest passage.
fn gather(
    words: &[index::Hit],
    passages: &[PassageHit],
    facts: &HashMap<&str, DocumentFacts>,
) -> BTreeMap<String, Evidence> {
    // One that was deleted since it was found stands for itself, and is left out in the end.
    let thread_of = |id: &str| facts.get(id).map_or_else(|| id.to_owned(), |facts| facts.thread.to_string());
    let is_discussion = |hit: &&index::Hit| facts.get(hit.document.as_str()).is_some_and(|of| of.kind.is_part());
    let (discussions, threads): (Vec<&index::Hit>, Vec<&index::Hit>) = words.iter().partition(is_discussion);
    let mut found: BTreeMap<String, Evidence> = BTreeMap::new();
    let mut add = |id: String, share: f32| *found.entry(id).or_default().lexical.get_or_insert(0.0) += share;
    for (id, score) in spread(threads.iter().map(|hit| (hit.document.clone(), hit.score))) {
        add(id, score / 2.0);
    }
    for (id, score) in spread(discussions.iter().map(|hit| (thread_of(&hit.document), hit.score))) {
        add(id, score / 2.0);
    }
    for (id, score) in spread(discussions.iter().map(|hit| (hit.document.clone(), hit.score))) {
        add(id, score);
    }
    let whole = spread(passages.iter().map(|hit| (thread_of(&hit.document), hit.score)));
    let own = spread(passages.iter().map(|hit| (hit.document.clone(), hit.score)));
    for (id, score) in own.into_iter().chain(whole) {
        let semantic = &mut found.entry(id).or_default().semantic;
        *semantic = Some(semantic.map_or(score, |known| known.max(score)));
    }
    // Best first, so the first passage of a document is its nearest.
    for hit in passages {
        for id in [&hit.document, &thread_of(&hit.document)] {
            if let Some(evidence) = found.get_mut(id) {
                evidence.nearest.get_or_insert_with(|| hit.document.clone());
            }
        }
    }
    found
}

/// The best score of each key, spread over 0 to 1.
fn spread(scores: impl Iterator<Item = (String, f32)>) -> BTreeMap<String, f32> {
    let mut best: BTreeMap<String, f32> = BTreeMap::new();
    for (key, score) in scores {
        best.entry(key).and_modify(|known| *known = known.max(score)).or_insert(score);
    }
    spread_to_unit(best)
}

/// Best first. A discussion is ranked by its own evidence within that of the issue or merge request it belongs to, so
/// it stands behind it, and a look-alike in an unrelated place stays behind the place that is about the question.
fn rank(
    found: &BTreeMap<String, Evidence>,
    facts: &HashMap<&str, DocumentFacts>,
    mode: Mode,
    ranking: Ranking,
) -> Vec<(String, f32)> {
    let (semantic, lexical) = match (mode, ranking) {
        (Mode::Lexical, _) => (0.0, 1.0),
        (Mode::Semantic, _) => (1.0, 0.0),
        (Mode::Hybrid, Ranking::Weighted { semantic, lexical }) => (semantic, lexical),
        (Mode::Hybrid, Ranking::Rrf) => return rank_by_rank(found, facts),
    };
    let own =
        |evidence: &Evidence| semantic * evidence.semantic.unwrap_or(0.0) + lexical * evidence.lexical.unwrap_or(0.0);
    sorted(found.iter().filter_map(|(id, evidence)| {
        let thread = &*facts.get(id.as_str())?.thread;
        let thread = found.get(thread).filter(|_| thread != id);
        Some((id.clone(), thread.map_or(1.0, own) * own(evidence)))
    }))
}

/// Reciprocal rank fusion of the legs, issues and merge requests among themselves and discussions among themselves.
fn rank_by_rank(found: &BTreeMap<String, Evidence>, facts: &HashMap<&str, DocumentFacts>) -> Vec<(String, f32)> {
    let leg = |discussions: bool, part: fn(&Evidence) -> Option<f32>| {
        let of_class = |id: &String| facts.get(id.as_str()).is_some_and(|d| d.kind.is_part() == discussions);
        let scored = found.iter().filter(|(id, _)| of_class(id)).filter_map(|(id, e)| Some((id.clone(), part(e)?)));
        sorted(scored).into_iter().map(|(id, _)| id).collect::<Vec<_>>()
    };
    let fuse = |discussions| fuse_ranks(&[leg(discussions, |e| e.lexical), leg(discussions, |e| e.semantic)], RRF_K);
    sorted(fuse(false).into_iter().chain(fuse(true)))
}

fn meets(filter: &Filter, facts: &DocumentFacts) -> bool {
    let within =
        |at: Timestamp| filter.after.is_none_or(|after| at >= after) && filter.before.is_none_or(|before| at < before);
    (filter.kinds.is_empty() || filter.kinds.contains(&facts.kind))
        && filter.author.as_deref().is_none_or(|author| facts.author.as_deref() == Some(author))
        && filter.labels.iter().all(|label| facts.labels.iter().any(|own| **own == **label))
        && within(facts.created_at)
        && filter.project.as_deref().is_none_or(|project| *project == *facts.project)
        && filter.state.is_none_or(|state| facts.state == Some(state))
}
