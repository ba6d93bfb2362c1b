//! Search: proposes candidates by words, by meaning and from the graph, scores them passage by passage, ranks them by
//! named parts, and groups what belongs together in the graph into one hit.
//!
//! `query` extracts references, people, paths and times from the words; `candidates` proposes documents, `expand` their
//! neighbors, `scope` everything that is near to given nodes; `evidence` scores passages, `model::score` combines the
//! parts, `order` and `group` rank and group. Decisions 0019 and 0030 in `docs/decisions` say why.

mod candidates;
mod code;
mod conditions;
pub(crate) mod definitions;
mod documents;
mod evidence;
mod expand;
mod explain;
mod facets;
mod group;
mod license;
pub(crate) mod names;
mod order;
mod page;
mod paths;
mod prepared_filter;
mod provenance;
mod query;
mod request;
mod scope;
mod summary;
pub(crate) mod symbols;
mod understand;

use std::{borrow::Cow, collections::HashMap, time::Instant};

use backstory_model::{
    document::own_body,
    document_kind::DocumentKind,
    edge::Edge,
    filter::Filter,
    id::NodeId,
    score::{Parts, Profile},
    terms::TermWeights,
    text::snippet,
};
use backstory_store::{
    graph::GraphEdge,
    index::{Coverage, DocumentFacts, Index, ProjectScope, StoredDocument},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    rerank::{MAX_RERANKED, Reranker},
    resources::Resources,
    settings::Ranking,
    views::at_state,
};
use candidates::{Candidates, retrieve_candidates, score_passages, stored};
use code::{narrow_to_files, score_files};
use conditions::{AskedConditions, describe_unmet};
use evidence::{ScoredPassage, ScoringContext};
use expand::{Relations, relate};
use facets::Countable;
use group::{ResultGroup, Stories, UNMIXED, behind, by_score, group_results, stories_of_graph};
use license::{is_asked_for, without_license};
use order::{RankingContext, build_candidates};
use page::Page;
use query::ParsedQuery;
use scope::load_scope;
use understand::parse_query;

pub use backstory_model::score::Mode;

pub(crate) use prepared_filter::PreparedFilter;

pub(crate) use definitions::Definition;

pub(crate) use paths::describe_absent_paths;

pub(crate) use names::{ResolvedNames, check_names, expand_author_names, resolve_names};

pub(crate) use understand::find_named;

pub(crate) use request::{check_filter, check_ranking};

pub use self::{
    documents::{DocumentPage, DocumentSummary, ListDocuments, MAX_DOCUMENTS},
    expand::Expansion,
    explain::{CandidateRanks, MAX_EXPLAINED},
    facets::{Facet, FacetValue, Facets, MAX_FACET_VALUES},
    provenance::HitChunk,
    request::MAX_NEAR,
    summary::HitSummary,
};

/// Longest query, in characters.
pub const MAX_QUERY: usize = 2000;
/// Hits of a search, unless a request asks for more or fewer.
pub const DEFAULT_HITS: usize = 10;
/// Most hits of one search.
pub const MAX_LIMIT: usize = 100;
/// Passages of a hit that are shown.
pub const MAX_PASSAGES: usize = 3;
/// Length of a snippet, in characters.
const SNIPPET: usize = 240;
/// Weight of the relationship in a search near to nodes that does not say how its hits are ranked.
const WEIGHT_OF_NEAR: f32 = 0.2;
/// What a search says of results that no word of the query led to.
pub(crate) const BY_MEANING_ALONE: &str =
    "no document has any word of the query; what was found is only close to it in meaning";
/// What a search near to nodes says of such results.
const BY_PLACE_ALONE: &str =
    "no document has any word of the query; what was found is only near to what the search is near to";
/// What a search says when the vectors of the query cannot be had.
pub const LEXICAL_ONLY: &str = "Embedding service unavailable, using lexical search only";
/// What a page says when it is of another state of the stores than the one before.
const CHANGED: &str = "documents or vectors changed since the page before: hits may be repeated or left out";

/// Searches issues, merge requests, discussions, commits, code and documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchRequest {
    /// Words or a question.
    pub query: String,
    /// What to narrow it to.
    #[serde(default)]
    pub filter: Filter,
    /// Nodes, at most 20, to which everything that is found is near: at most two edges from one of them. How
    /// near it is, is its relationship.
    #[serde(default)]
    pub near: Vec<NodeId>,
    /// Tags, in any case: only what has an annotation with all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What the query is compared with.
    #[serde(default)]
    pub mode: Mode,
    /// Most hits, 1 to 100; 10 if absent.
    #[serde(default = "default_hits")]
    pub limit: usize,
    /// Where the page before ended, as its `next` says; the first page if absent.
    #[serde(default)]
    pub after: Option<String>,
    /// How hits are ranked, if not as configured.
    pub ranking: Option<Ranking>,
    /// Whether the configured reranking model, if any, orders the best hits; true if absent.
    #[serde(default = "crate::limits::default_true")]
    pub rerank: bool,
    /// Whether neighbors of the strongest candidates are candidates too.
    #[serde(default)]
    pub expansion: Expansion,
    /// Whether to count the candidates by project, kind, author, label and path.
    #[serde(default)]
    pub facets: bool,
    /// Whether to tell every candidate with its ranks.
    #[serde(default)]
    pub explain: bool,
    /// Leaves out which chunk of each hit answers best, for who does not show it: a new process takes longer to read the
    /// vocabulary that counts the chunk's tokens than to search.
    #[serde(skip)]
    pub without_chunks: bool,
}

const fn default_hits() -> usize {
    DEFAULT_HITS
}

/// What a search found: hits with their documents, or summaries of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchResponse<H = Hit> {
    /// The query.
    pub query: String,
    /// What the query was compared with; lexical if its vector could not be computed.
    pub mode: Mode,
    /// How hits were ranked.
    pub ranking: Ranking,
    /// How many documents there are and how many have vectors.
    pub coverage: Coverage,
    /// How long it took, in milliseconds.
    pub took_ms: f64,
    /// How the query was understood beyond its words.
    pub understood: Vec<String>,
    /// What the reader must know.
    pub warnings: Vec<String>,
    /// Best first.
    pub hits: Vec<H>,
    /// Where the next page begins; none if this is the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The candidates, counted, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facets: Option<Facets>,
    /// Every candidate with its ranks before ranking, those that any retriever ranks best first, if that was asked for:
    /// 500 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<CandidateRanks>,
}

/// A story that was found: a document and what belongs to it.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The document that leads it.
    pub document: StoredDocument,
    /// The part of its text that answers best.
    pub snippet: String,
    /// What it is ranked by: of what the query names 1 more, which puts it before everything else.
    pub score: f32,
    /// What the score is made of, each 0 to 1.
    pub parts: Parts,
    /// Why it is here, in words.
    pub why: Vec<String>,
    /// Its best passages, the best first.
    pub passages: Vec<Passage>,
    /// What else belongs to the story.
    pub members: Vec<Member>,
    /// The edges by which the graph leads to it, from what the search is near to or from another hit.
    pub reached_by: Vec<GraphEdge>,
}

/// A passage of a story.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Id of the document that it is of.
    pub document: String,
    /// What kind of document that is.
    pub kind: DocumentKind,
    /// Its text, as it was embedded.
    pub text: String,
    /// How near its meaning is to the query's, 0 to 1.
    pub similarity: f32,
    /// Share of the query's words that it has, rare ones counting more, 0 to 1.
    pub coverage: f32,
}

/// What belongs to a story besides the document that leads it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Member {
    /// Its id.
    pub id: NodeId,
    /// The edge by which it belongs to the story.
    pub relation: Edge,
}

/// Checks a request, takes secrets out of it, and reads its cursor, which does not depend on who has which tag.
async fn prepare(resources: &Resources, request: SearchRequest) -> Result<(SearchRequest, Page)> {
    let mut request = request::checked(resources, request).await?;
    request.query = resources.redactor().redact(&request.query).0.into_owned();
    let page = Page::of(resources, &request).await?;
    request::narrow_to_tags(resources, &mut request).await?;
    Ok((request, page))
}

/// Searches.
///
/// # Errors
/// The query is empty or too long, a filter or node names what does not exist, the cursor belongs to another search, or a
/// store failed.
pub(crate) async fn search_documents(resources: &Resources, request: SearchRequest) -> Result<SearchResponse> {
    search_with_quota(resources, request, 0).await
}

/// Searches for what a context pack is filled with: it reads at least as many documents of code as hits are wanted. How
/// many there are depends on that, so these hits have no pages.
///
/// # Errors
/// As [`search_documents`].
pub(crate) async fn search_for_context(resources: &Resources, request: SearchRequest) -> Result<SearchResponse> {
    let least_code = request.limit;
    search_with_quota(resources, request, least_code).await
}

async fn search_with_quota(
    resources: &Resources,
    mut request: SearchRequest,
    least_code: usize,
) -> Result<SearchResponse> {
    let started = Instant::now();
    let resources = at_state(resources, &mut request.filter).await?;
    if resources.has_view() {
        // The graph is that of the current state.
        request.expansion = Expansion::None;
    }
    // What is kept across its waits is large.
    let mut response = Box::pin(search_state(&resources, request, least_code)).await?;
    response.took_ms = started.elapsed().as_secs_f64() * 1000.0;
    Ok(response)
}

/// Searches the state of the documents that the resources show.
async fn search_state(resources: &Resources, request: SearchRequest, least_code: usize) -> Result<SearchResponse> {
    let asked = (least_code == 0).then(|| AskedConditions::of(&request));
    let (mut request, page) = prepare(resources, request).await?;
    let only_code = narrow_to_files(&mut request);
    let mut warnings = expand_author_names(resources, &mut request.filter).await?;
    warnings.extend(page.is_of_older_state.then(|| CHANGED.to_owned()));
    let mut understood = parse_query(resources, &request, only_code).await?;
    understood.narrow(&mut request.filter);
    let ranking = ranking_of(resources, &request);
    let scope = load_scope(resources, &request).await?;
    warnings.extend(scope.iter().flat_map(|scope| scope.left_out.iter().cloned()));
    let index = resources.index();
    let projects = ProjectScope::of(&request.filter);
    let coverage = index.coverage_of(projects);
    let terms = understood.terms.terms.iter().map(|term| term.id);
    let (documents, frequencies) = index.document_frequencies(projects, terms);
    let words = understood.terms.discriminating_words(documents, &frequencies);
    let words = words.unwrap_or_else(|| understood.words.clone());
    let within = scope.as_ref().map(|scope| scope.documents.as_slice());
    let mut found = retrieve_candidates(resources, &request, &words, within).await?;
    found.is_cut |= scope.as_ref().is_some_and(|scope| !scope.left_out.is_empty());
    let weights = TermWeights::new(documents, &frequencies);
    let is_unknown = is_unknown_query(&found, &frequencies);
    drop_unknown(is_unknown && scope.is_none(), &mut found, &understood);
    let newest = index.newest_created_at().unwrap_or(Timestamp::UNIX_EPOCH);
    let scale = ScoringContext { terms: &understood.terms, weights: &weights, bound: weights.total(), newest };

    let ids = match &scope {
        Some(scope) => scope.documents.clone(),
        None => found.select(&index, (&request.filter, least_code), &understood),
    };
    let measured = score_passages(resources, &scale, &found.vector, &ids).await?;
    if scope.is_some() {
        found.rank_by_meaning(&measured);
    }
    let facts = facts_of(&index, &ids);
    let lexical = scale.lexical(&found.words);
    let mut candidates = build_candidates(measured, &facts, &lexical, &request.filter);
    if only_code {
        score_files(&mut candidates, &facts, &scale, &lexical, understood.is_unknown_name().then_some(&frequencies));
    }
    let (mode, vector, is_near) = (found.mode, found.vector.as_slice(), !request.near.is_empty());
    let mut order = RankingContext { ranking, mode, understood: &understood, scale: &scale, vector, facts, is_near };
    let Stories { stories, relations } =
        group_results(resources, candidates, &mut order, &request, scope.map(|scope| scope.relations)).await?;
    let (mut stories, relations) = mix_in_neighbors(resources, &request, &page, stories, relations, &mut order).await?;
    let mut notes = understood.notes.clone();
    rerank_if_asked(resources, &request, &mut stories, (&mut notes, &mut warnings)).await?;
    let end = page.start + request.limit;
    let next = (stories.len() > end).then(|| page.next(end));
    let shown = stories.into_iter().skip(page.start).take(request.limit).collect();
    let hits = build_hits(resources, &request, &weights, &order, shown).await?;
    let unmet = if hits.is_empty() { describe_unmet(resources, asked, &request.filter).await? } else { Vec::new() };
    let (facets, candidates) =
        describe_candidates(resources, &request, (&found, &understood), &relations.unwrap_or_default()).await?;
    warnings.extend(warn_of_words(is_unknown && understood.definitions.is_empty(), &request, &hits));
    warnings.extend(unmet.into_iter().chain(found.warnings).chain(missing_vectors(mode, &coverage)));
    Ok(SearchResponse {
        query: request.query,
        mode,
        ranking,
        coverage,
        took_ms: 0.0,
        understood: notes,
        warnings,
        hits,
        next,
        facets,
        candidates,
    })
}

/// What is said of hits of a query of which nothing has a word.
fn warn_of_words(is_unknown: bool, request: &SearchRequest, hits: &[Hit]) -> Option<String> {
    let warning = match (request.near.is_empty(), request.filter.nodes.is_empty()) {
        (true, true) => BY_MEANING_ALONE,
        // Who names the nodes wants all that is of them.
        (true, false) => return None,
        (false, _) => BY_PLACE_ALONE,
    };
    (is_unknown && !hits.is_empty()).then(|| warning.to_owned())
}

/// Whether nothing has a word of a query, of each of which it is given how many documents have it.
fn is_unknown_query(found: &Candidates, frequencies: &[u64]) -> bool {
    found.words.is_empty() && frequencies.iter().all(|documents| *documents == 0)
}

/// Drops what meaning alone found for a query of which nothing has a word, as far as it is far away; of the name of what
/// does not exist nothing is near.
fn drop_unknown(is_unknown: bool, found: &mut Candidates, understood: &ParsedQuery) {
    if is_unknown && understood.is_name {
        found.passages.clear();
    } else if is_unknown {
        found.drop_distant();
    }
}

fn missing_vectors(mode: Mode, coverage: &Coverage) -> Option<String> {
    let (all, waiting) = (coverage.documents, coverage.waiting());
    let is_missing = mode != Mode::Lexical && waiting > 0;
    is_missing.then(|| format!("{waiting} of {all} documents have no vectors yet; text search covers them"))
}

/// The candidates, counted and with their ranks, as far as that is asked for.
async fn describe_candidates(
    resources: &Resources,
    request: &SearchRequest,
    (found, understood): (&Candidates, &ParsedQuery),
    relations: &Relations,
) -> Result<(Option<Facets>, Vec<CandidateRanks>)> {
    let mut facets = None;
    if request.facets {
        let candidates = Countable {
            ids: found.proposed().chain(relations.keys()).cloned().collect(),
            filter: request.filter.clone(),
            asked_kind: understood.only_code.then_some(DocumentKind::Code),
            is_lower_bound: found.is_cut,
        };
        facets = Some(facets::count(resources, candidates).await?);
    }
    if !request.explain {
        return Ok((facets, Vec::new()));
    }
    let index = resources.index();
    let kind_of = |id: &str| index.facts([id]).get(id).map(|facts| facts.kind);
    Ok((facets, explain::candidate_ranks(found, relations, kind_of)))
}

/// How hits are ranked: as the request says or as configured. Near to nodes the relationship counts, unless the request
/// says how much.
fn ranking_of(resources: &Resources, request: &SearchRequest) -> Ranking {
    if let Some(ranking) = request.ranking {
        return ranking;
    }
    let mut ranking = resources.settings().ranking;
    if !request.near.is_empty() {
        ranking.weights.relationship = ranking.weights.relationship.max(WEIGHT_OF_NEAR);
    }
    ranking
}

/// Adds what only the graph finds, where it can be seen: behind the first hits, which stay as they are, so that a page of
/// those needs no walk.
async fn mix_in_neighbors(
    resources: &Resources,
    request: &SearchRequest,
    page: &Page,
    stories: Vec<ResultGroup>,
    relations: Option<Relations>,
    order: &mut RankingContext<'_>,
) -> Result<(Vec<ResultGroup>, Option<Relations>)> {
    let end = page.start + request.limit;
    let is_reranked = request.rerank && resources.shared.reranker.is_some();
    // A request that says what counts gets all hits in that order.
    let is_by_score = request.ranking.is_some_and(|ranking| ranking.profile != Profile::Rrf);
    let is_seen =
        end > UNMIXED || stories.len() <= end || is_reranked || is_by_score || request.facets || request.explain;
    let has_neighbors = request.expansion == Expansion::Neighbors && order.mode == Mode::Hybrid;
    if relations.is_some() || !has_neighbors || !is_seen {
        return Ok((stories, relations));
    }
    let ranked = order.by_relevance(stories.iter().map(|story| (story.lead.as_str(), &story.candidate)));
    let relations = relate(resources, &ranked, &order.understood.named).await?;
    let of_graph = stories_of_graph(resources, &stories, &relations, order, &request.filter).await?;
    let mixed = if is_by_score { by_score(stories, of_graph) } else { behind(stories, of_graph) };
    Ok((mixed, Some(relations)))
}

/// Reranks if that is asked for and configured; says whether it could be done, in notes or warnings.
async fn rerank_if_asked(
    resources: &Resources,
    request: &SearchRequest,
    stories: &mut [ResultGroup],
    (notes, warnings): (&mut Vec<String>, &mut Vec<String>),
) -> Result<()> {
    let Some(reranker) = resources.shared.reranker.as_ref().filter(|_| request.rerank) else { return Ok(()) };
    match rerank(resources, reranker, &request.query, stories).await? {
        Ok(()) => notes.push(format!("the best hits are in the order of {}", reranker.model())),
        Err(reason) => warnings.push(format!("{reason}; the order of the hits is that without reranking")),
    }
    Ok(())
}

/// Reorders the best stories as the model judges their best passages. Scores stay with the places.
async fn rerank(
    resources: &Resources,
    reranker: &Reranker,
    query: &str,
    stories: &mut [ResultGroup],
) -> Result<std::result::Result<(), String>> {
    let best = stories.len().min(MAX_RERANKED);
    let stories = &mut stories[..best];
    let passages: Vec<&ScoredPassage> = stories.iter().filter_map(|story| story.candidate.passages.first()).collect();
    let texts = resources.index().passage_texts(&stored(&passages)).await?;
    let given = stories.iter().map(|story| {
        let best = story.candidate.passages.first();
        best.and_then(|passage| passage.text.of(&texts)).unwrap_or_default()
    });
    let judged = match reranker.score(query, &given.collect::<Vec<_>>()).await {
        Ok(judged) => judged,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let scores: Vec<f32> = stories.iter().map(|story| story.score).collect();
    for (story, judgment) in stories.iter_mut().zip(judged) {
        story.reranked = Some(judgment);
    }
    stories.sort_by(|a, b| b.reranked.unwrap_or_default().total_cmp(&a.reranked.unwrap_or_default()));
    for (story, score) in stories.iter_mut().zip(scores) {
        story.score = score;
    }
    Ok(Ok(()))
}

/// The stories that are shown, each with the part of its text that answers best.
async fn build_hits(
    resources: &Resources,
    request: &SearchRequest,
    weights: &TermWeights,
    order: &RankingContext<'_>,
    stories: Vec<ResultGroup>,
) -> Result<Vec<Hit>> {
    let ids: Vec<String> =
        stories.iter().map(|story| story.displayed_document(order, &request.filter.kinds).to_owned()).collect();
    let shown: Vec<&ScoredPassage> =
        stories.iter().flat_map(|story| story.candidate.passages.iter().take(MAX_PASSAGES)).collect();
    let index = resources.index();
    // In a task of its own, so that the two can use a core each.
    let texts = tokio::spawn({
        let (index, passages) = (index.clone(), stored(&shown));
        async move { index.passage_texts(&passages).await }
    });
    let (documents, texts) = tokio::join!(index.documents(&ids), texts);
    let (documents, texts) = (documents?, texts??);
    // They are in the order of the stories, without those that are gone meanwhile.
    let mut documents = documents.into_iter().peekable();
    let hit = |(story, id): (ResultGroup, &String)| {
        let document = documents.next_if(|document| document.id == *id)?;
        let passage = |measured: &ScoredPassage| {
            Some(Passage {
                kind: order.facts.get(&measured.document)?.kind,
                document: measured.document.clone(),
                text: measured.text.of(&texts)?.to_owned(),
                similarity: measured.similarity,
                coverage: measured.coverage,
            })
        };
        let passages: Vec<Passage> = story.candidate.passages.iter().take(MAX_PASSAGES).filter_map(passage).collect();
        Some(Hit {
            snippet: snippet(&shown_text(&passages, &document, &request.query), &request.query, SNIPPET),
            score: story.score,
            parts: story.candidate.parts,
            why: story.why(order, weights),
            passages,
            reached_by: story.reached.map(|reached| reached.path.to_vec()).unwrap_or_default(),
            members: story.members,
            document,
        })
    };
    Ok(stories.into_iter().zip(&ids).filter_map(hit).collect())
}

/// The text of which a part is shown: the best passage that is more than a license, unless the query asks for licenses.
fn shown_text<'a>(passages: &'a [Passage], document: &'a StoredDocument, query: &str) -> Cow<'a, str> {
    let own = (document.facts.kind, document.text.as_str());
    let Some(best) = passages.first() else { return body_or_header(own.0, own.1) };
    let best = body_or_header(best.kind, &best.text);
    if is_asked_for(query) {
        return best;
    }
    let texts = passages.iter().map(|passage| (passage.kind, passage.text.as_str())).chain([own]);
    let mut shown = texts.map(|(kind, text)| match body_or_header(kind, text) {
        Cow::Borrowed(body) => Cow::Borrowed(without_license(kind, body)),
        Cow::Owned(body) => Cow::Owned(body),
    });
    shown.find(|text| !text.is_empty()).unwrap_or(best)
}

/// What a passage says itself, or the line that says what it is part of if that is all.
fn body_or_header(kind: DocumentKind, passage: &str) -> Cow<'_, str> {
    let body = own_body(kind, passage);
    if body.is_empty() {
        return Cow::Borrowed(passage.split_once("\n\n").map_or(passage, |(header, _)| header));
    }
    body
}

fn facts_of(index: &Index, ids: &[String]) -> HashMap<String, DocumentFacts> {
    let facts = index.facts(ids.iter().map(String::as_str));
    facts.into_iter().map(|(id, facts)| (id.to_owned(), facts)).collect()
}

/// Id of a node as documents have it.
fn id_of(id: &NodeId) -> String {
    id.to_string()
}
