//! Search: proposes candidates by words and by meaning, scores them passage by passage, ranks them by named parts, and
//! groups what belongs together in the graph into one hit.
//!
//! `query` extracts references, people, paths and times from the words; `candidates` proposes documents, `evidence`
//! scores their passages, `model::score` combines the parts, `story` groups. Decision 0019 in `docs/decisions` says
//! why.

mod candidates;
pub(crate) mod definitions;
mod evidence;
pub(crate) mod names;
mod query;
mod story;
mod summary;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Instant,
};

pub use backstory_model::score::Mode;
use backstory_model::{
    edge::Edge,
    filter::{DocumentKind, Filter},
    id::NodeId,
    reference::Context,
    score::{Parts, Profile, RRF_K, fuse_ranks, sorted},
    terms::Weights,
    text::{echo, snippet},
};
use backstory_store::index::{Coverage, DocumentFacts, Index, Projects, StoredDocument};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    read::resolve_id,
    records::reference_syntax,
    rerank::{MAX_RERANKED, Reranker},
    resources::Resources,
    settings::Ranking,
    sync::known_projects,
};
use candidates::{retrieve_candidates, score_passages, stored};
use definitions::{find_definitions, only_symbol};
use evidence::{Candidate, Scale, ScoredPassage, gathered};
use names::expand_author_names;
use query::ParsedQuery;
use story::{Story, group_results};

pub(crate) use candidates::{is_excluded, meets};

pub(crate) use definitions::{Definition, symbols};

pub(crate) use names::check_names;

pub use summary::HitSummary;

/// Longest query, in characters.
pub const MAX_QUERY: usize = 2000;
/// Most hits of one search.
pub const MAX_LIMIT: usize = 100;
/// Most documents that a filter excludes.
const MAX_EXCLUDED: usize = 1000;
/// Passages of a hit that are shown.
pub const MAX_PASSAGES: usize = 3;
/// Length of a snippet, in characters.
const SNIPPET: usize = 240;
/// What is named in the query comes first.
const DIRECT: f32 = 1.0;
/// How much the meaning of a commit counts, compared to that of others: many messages sound alike.
const MEANING_OF_COMMIT: f32 = 0.55;
/// How much its words count: they reach but a small share of the largest BM25 score, as all of its text is one short
/// field.
const WORDS_OF_COMMIT: f32 = 2.2;
/// What a search says when the vectors of the query cannot be had.
pub const LEXICAL_ONLY: &str = "Embedding service unavailable, using lexical search only";

/// What to search for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchRequest {
    /// Words or a question.
    pub query: String,
    /// What to narrow it to.
    #[serde(default)]
    pub filter: Filter,
    /// What the query is compared with.
    #[serde(default)]
    pub mode: Mode,
    /// Most hits, 1 to [`MAX_LIMIT`].
    pub limit: usize,
    /// How hits are ranked, if not as configured.
    pub ranking: Option<Ranking>,
    /// Whether the configured reranking model, if any, orders the best hits.
    pub rerank: bool,
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
}

/// A story that was found: a document and what belongs to it.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The document that leads it.
    pub document: StoredDocument,
    /// The part of its text that answers best.
    pub snippet: String,
    /// What it is ranked by.
    pub score: f32,
    /// What the score is made of, each 0 to 1.
    pub parts: Parts,
    /// Why it is here, in words.
    pub why: Vec<String>,
    /// Its best passages, the best first.
    pub passages: Vec<Passage>,
    /// What else belongs to the story.
    pub members: Vec<Member>,
}

/// A passage of a story.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Id of the document that it is of.
    pub document: String,
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

/// Searches.
///
/// # Errors
/// The query is empty or too long, a filter names what does not exist, or a store failed.
pub(crate) async fn search_documents(resources: &Resources, request: SearchRequest) -> Result<SearchResponse> {
    let started = Instant::now();
    let mut request = checked(request)?;
    request.query = resources.redactor().redact(&request.query).0.into_owned();
    check_project(resources, request.filter.project.as_deref()).await?;
    let absent = expand_author_names(resources, &mut request.filter).await?;
    let understood = parse_query(resources, &request).await?;
    request.filter = understood.narrowed(&request.filter);
    let ranking = request.ranking.unwrap_or(resources.settings().ranking);
    let index = resources.index();
    let projects = Projects::of(&request.filter);
    let coverage = index.coverage_of(projects);
    let terms = || understood.terms.terms.iter().map(|term| term.id);
    let (documents, frequencies) = index.frequencies(projects, terms());
    let words = understood.terms.telling(documents, &frequencies).unwrap_or_else(|| understood.words.clone());
    let mut found = retrieve_candidates(resources, &request, &words).await?;
    let weights = Weights::new(documents, &frequencies);
    // Text search weighs words by how rare they are in all that is visible.
    let (documents, frequencies) = index.frequencies(Projects::All, terms());
    let bound = Weights::new(documents, &frequencies).total();
    let newest = index.newest().unwrap_or(Timestamp::UNIX_EPOCH);
    let scale = Scale { terms: &understood.terms, weights: &weights, bound, newest };

    let ids = found.chosen(&index, &request.filter, &understood);
    let measured = score_passages(resources, &scale, &found.vector, &ids).await?;
    let facts = facts_of(&index, &ids);
    let lexical = scale.lexical(&found.words);
    let candidates = build_candidates(measured, &facts, &lexical, &request.filter);
    let mut order = Order { ranking, mode: found.mode, understood: &understood, scale: &scale, facts };
    let mut stories = group_results(resources, candidates, &mut order, &request.filter).await?;
    let mut notes = understood.notes.clone();
    if request.rerank
        && let Some(reranker) = &resources.shared.reranker
    {
        stories.truncate(request.limit.max(MAX_RERANKED));
        match rerank(resources, reranker, &request.query, &mut stories).await? {
            Ok(()) => notes.push(format!("the best hits are in the order of {}", reranker.model())),
            Err(reason) => {
                found.warnings.push(format!("{reason}; the order of the hits is that without reranking"));
            }
        }
    }
    stories.truncate(request.limit);
    let hits = build_hits(resources, &request.query, &weights, &order, stories).await?;
    let mut warnings = absent;
    warnings.append(&mut found.warnings);
    if found.mode != Mode::Lexical && coverage.embedded < coverage.documents {
        warnings.push(format!(
            "{} of {} documents have no vectors yet; text search covers them",
            coverage.documents - coverage.embedded,
            coverage.documents
        ));
    }
    Ok(SearchResponse {
        query: request.query,
        mode: found.mode,
        ranking,
        coverage,
        took_ms: started.elapsed().as_secs_f64() * 1000.0,
        understood: notes,
        warnings,
        hits,
    })
}

/// Issues, merge requests and commits that a text names, whether they are there or not.
pub(crate) async fn find_named(resources: &Resources, text: &str, project: Option<&str>) -> Result<Vec<NodeId>> {
    let mut named = read_query(resources, text, project).await?.named;
    named.retain(|id| matches!(id, NodeId::Thread(_) | NodeId::Commit { .. }));
    for id in &mut named {
        *id = resolve_id(resources, id.clone()).await?;
    }
    Ok(named)
}

/// What short references in a query are relative to: the project that is asked about, or the only one.
async fn project_of_query(resources: &Resources, project: Option<&str>) -> Result<Option<String>> {
    if let Some(project) = project {
        return Ok(Some(project.to_owned()));
    }
    let known = known_projects(resources).await?;
    Ok(known.first().filter(|_| known.len() == 1).cloned())
}

/// A query as the forge of the project writes references.
async fn read_query(resources: &Resources, query: &str, project: Option<&str>) -> Result<ParsedQuery> {
    let Some(project) = project_of_query(resources, project).await? else {
        return Ok(ParsedQuery::of(query, None, Timestamp::now()));
    };
    let name = project.clone();
    let (forge, forge_url) = resources.blocking(move |resources| reference_syntax(resources, &name)).await?;
    let context = Context { forge, project: &project, forge_url: &forge_url };
    Ok(ParsedQuery::of(query, Some(context), Timestamp::now()))
}

async fn parse_query(resources: &Resources, request: &SearchRequest) -> Result<ParsedQuery> {
    let mut understood = read_query(resources, &request.query, request.filter.project.as_deref()).await?;
    for id in &mut understood.named {
        *id = resolve_id(resources, id.clone()).await?;
    }
    let index = resources.index();
    understood.named.retain(|id| !index.facts([id.to_string().as_str()]).is_empty());
    for id in &understood.named {
        understood.notes.push(format!("{id} is named in the query"));
    }
    add_definitions(resources, request, &mut understood).await?;
    Ok(understood)
}

/// Where a query is but the name of a function or type, or asks where one is, its definition is what is meant.
async fn add_definitions(resources: &Resources, request: &SearchRequest, understood: &mut ParsedQuery) -> Result<()> {
    let names = match only_symbol(&request.query) {
        Some(name) => vec![name],
        None if understood.asks_for_code => symbols(&request.query),
        None => return Ok(()),
    };
    for name in names {
        for definition in find_definitions(resources, name, &request.filter).await? {
            understood.notes.push(format!("{} is the definition of {name}", definition.id));
            understood.defining.insert(definition.file);
            understood.definitions.insert(definition.id);
        }
    }
    Ok(())
}

/// Orders the best stories anew as the model judges their best passages. Scores stay with the places.
async fn rerank(
    resources: &Resources,
    reranker: &Reranker,
    query: &str,
    stories: &mut [Story],
) -> Result<std::result::Result<(), String>> {
    let best = stories.len().min(MAX_RERANKED);
    let stories = &mut stories[..best];
    let passages: Vec<&ScoredPassage> = stories.iter().filter_map(|story| story.candidate.passages.first()).collect();
    let texts = resources.index().passage_texts(&stored(&passages)).await?;
    let given = stories.iter().map(|story| {
        let best = story.candidate.passages.first();
        best.and_then(|passage| passage.text.of(&texts)).unwrap_or_default()
    });
    let judged = match reranker.judge(query, &given.collect::<Vec<_>>()).await {
        Ok(judged) => judged,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let scores: Vec<f32> = stories.iter().map(|story| story.score).collect();
    for (story, judgement) in stories.iter_mut().zip(judged) {
        story.reranked = Some(judgement);
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
    query: &str,
    weights: &Weights,
    order: &Order<'_>,
    stories: Vec<Story>,
) -> Result<Vec<Hit>> {
    let ids: Vec<String> = stories.iter().map(|story| story.shown(&order.facts).to_owned()).collect();
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
    let documents: HashMap<&str, &StoredDocument> =
        documents.iter().map(|document| (document.id.as_str(), document)).collect();
    let hit = |(story, id): (Story, &String)| {
        let document = (*documents.get(id.as_str())?).clone();
        let passage = |measured: &ScoredPassage| {
            Some(Passage {
                document: measured.document.clone(),
                text: measured.text.of(&texts)?.to_owned(),
                similarity: measured.similarity,
                coverage: measured.coverage,
            })
        };
        let passages: Vec<Passage> = story.candidate.passages.iter().take(MAX_PASSAGES).filter_map(passage).collect();
        let best = passages.first();
        Some(Hit {
            snippet: snippet(best.map_or(&document.text, |passage| body_of(&passage.text)), query, SNIPPET),
            score: story.score,
            parts: story.candidate.parts,
            why: story.why(order, weights),
            passages,
            members: story.members,
            document,
        })
    };
    Ok(stories.into_iter().zip(&ids).filter_map(hit).collect())
}

pub(crate) async fn check_project(resources: &Resources, project: Option<&str>) -> Result<()> {
    let Some(project) = project else { return Ok(()) };
    let known = known_projects(resources).await?;
    if known.contains(project) {
        return Ok(());
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(Error::invalid(format!("{} is not known", echo(project)))
        .with_hint(format!("known projects: {}", known.join(", "))))
}

/// What candidates are ordered by.
struct Order<'a> {
    ranking: Ranking,
    mode: Mode,
    understood: &'a ParsedQuery,
    scale: &'a Scale<'a>,
    facts: HashMap<String, DocumentFacts>,
}

impl Order<'_> {
    /// What each part counts: a leg that is not used counts nothing.
    fn weights(&self) -> Parts {
        let weights = self.ranking.weights;
        match self.mode {
            Mode::Hybrid => weights,
            Mode::Lexical => Parts { semantic: 0.0, lexical: weights.lexical.max(f32::EPSILON), ..weights },
            Mode::Semantic => Parts { lexical: 0.0, semantic: weights.semantic.max(f32::EPSILON), ..weights },
        }
    }

    /// Adds the parts that do not depend on the passages, as far as they have a weight.
    fn complete(&self, candidates: &mut BTreeMap<String, Candidate>) {
        let weights = self.weights();
        for (id, candidate) in candidates {
            let Some(facts) = self.facts.get(id.as_str()) else { continue };
            if weights.recency > 0.0 {
                candidate.parts.recency = self.scale.recency(facts.created_at);
            }
            if weights.importance > 0.0 {
                candidate.parts.importance = facts.importance;
            }
            if weights.author > 0.0 {
                let people = &self.understood.people;
                let named = facts.author.as_deref().is_some_and(|author| people.iter().any(|name| name == author));
                candidate.parts.author = f32::from(u8::from(named));
            }
        }
    }

    /// Best first.
    fn ranked(&self, candidates: &BTreeMap<String, Candidate>) -> Vec<(String, f32)> {
        if self.ranking.profile == Profile::Rrf && self.mode == Mode::Hybrid {
            let leg = |part: fn(&Candidate) -> f32| {
                let scored = candidates.iter().map(|(id, of)| (id.clone(), part(of)));
                let ranked = sorted(scored.filter(|(_, score)| *score > 0.0));
                ranked.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
            };
            return fuse_ranks(&[leg(|of| of.parts.lexical), leg(|of| of.nearness)], RRF_K);
        }
        let weights = self.weights();
        let has_vectors = candidates.values().any(|of| of.nearness > 0.0);
        let score = |(id, of): (&String, &Candidate)| {
            let kind = self.facts.get(id.as_str()).map(|facts| facts.kind);
            let prior = kind.map_or(1.0, |kind| self.understood.prior(kind));
            // One leg alone is not weighed against the other.
            let is_weighed = kind == Some(DocumentKind::Commit) && self.mode == Mode::Hybrid;
            let weights = if is_weighed { of_commit(weights) } else { weights };
            // Where only the meaning counts, words stand for it as long as there are no vectors at all.
            let by_words = weights.lexical == 0.0 && !has_vectors;
            let weights = if by_words { Parts { lexical: weights.semantic, ..weights } } else { weights };
            let parts = Parts { semantic: of.nearness, ..of.parts };
            let direct = if self.understood.means(id) { DIRECT } else { 0.0 };
            (id.clone(), direct + prior * parts.score(&weights))
        };
        sorted(candidates.iter().map(score).filter(|(_, score)| *score > 0.0))
    }
}

/// What the parts of a commit count where those of others count so much.
fn of_commit(weights: Parts) -> Parts {
    let (semantic, lexical) = (weights.semantic * MEANING_OF_COMMIT, weights.lexical * WORDS_OF_COMMIT);
    Parts { semantic, lexical, ..weights }
}

/// What is ranked: documents that meet the filter, each with its passages and those of its parts.
fn build_candidates(
    measured: Vec<ScoredPassage>,
    facts: &HashMap<String, DocumentFacts>,
    lexical: &HashMap<String, f32>,
    filter: &Filter,
) -> BTreeMap<String, Candidate> {
    let wanted = |id: &str| facts.get(id).is_some_and(|facts| meets(filter, id, facts));
    let whole_of = |id: &str| {
        let Some(of) = facts.get(id) else { return vec![] };
        let whole = &*of.thread;
        let mut wholes = Vec::new();
        if wanted(whole) {
            wholes.push(whole.to_owned());
        }
        // A part is a hit of its own where parts are asked for, or where its whole is not.
        let alone = filter.kinds.contains(&of.kind) || (filter.kinds.is_empty() && wholes.is_empty());
        if whole != id && alone && wanted(id) {
            wholes.push(id.to_owned());
        }
        wholes
    };
    let candidate = |(id, passages): (String, Vec<ScoredPassage>)| {
        let facts = facts.get(id.as_str())?;
        // Of code, the part that has most of the words speaks for the file.
        let parts = passages.iter().map(|passage| passage.document.as_str()).collect::<BTreeSet<_>>();
        let of_parts = parts.iter().filter(|_| facts.kind == DocumentKind::File).filter_map(|part| lexical.get(*part));
        let reached = lexical.get(&id).into_iter().chain(of_parts).copied().fold(0.0, f32::max);
        let candidate = Candidate::new(&id, facts, passages, reached);
        Some((id, candidate))
    };
    gathered(measured, whole_of).into_iter().filter_map(candidate).collect()
}

fn checked(mut request: SearchRequest) -> Result<SearchRequest> {
    request.query = request.query.trim().to_owned();
    let length = request.query.chars().count();
    if length == 0 {
        return Err(Error::invalid("the query is empty").with_hint("say what to look for"));
    }
    if length > MAX_QUERY {
        return Err(Error::invalid(format!("the query has {length} characters; at most {MAX_QUERY} are allowed")));
    }
    if request.limit == 0 || request.limit > MAX_LIMIT {
        return Err(Error::invalid(format!("the limit is {}; it must be 1 to {MAX_LIMIT}", request.limit)));
    }
    check_names(&request.filter)?;
    if let Some(ranking) = &request.ranking {
        check_weights(&ranking.weights)?;
    }
    check_filter(&request.filter)?;
    Ok(request)
}

fn check_weights(weights: &Parts) -> Result<()> {
    if let Some((_, weight)) = weights.named().into_iter().find(|(_, weight)| !(0.0..=1.0).contains(weight)) {
        return Err(Error::invalid(format!("a weight is {weight}; weights are 0 to 1")));
    }
    if weights.semantic + weights.lexical == 0.0 {
        return Err(Error::invalid("semantic and lexical are both 0; one of them must count"));
    }
    Ok(())
}

/// Checks what a request narrows its documents to.
///
/// # Errors
/// It excludes too many documents, or no time meets it.
pub(crate) fn check_filter(filter: &Filter) -> Result<()> {
    if filter.exclude.len() > MAX_EXCLUDED {
        let count = filter.exclude.len();
        return Err(Error::invalid(format!("{count} documents are left out; at most {MAX_EXCLUDED} can be")));
    }
    match (filter.after, filter.before) {
        (Some(after), Some(before)) if after >= before => {
            Err(Error::invalid(format!("no time is both after {after} and before {before}")))
        }
        _ => Ok(()),
    }
}

/// The text of a passage without the line that says what it is part of, unless there is nothing else.
fn body_of(passage: &str) -> &str {
    let body = passage.split_once("\n\n").map_or("", |(_, body)| body.trim());
    if body.is_empty() { passage } else { body }
}

fn facts_of(index: &Index, ids: &[String]) -> HashMap<String, DocumentFacts> {
    let facts = index.facts(ids.iter().map(String::as_str));
    facts.into_iter().map(|(id, facts)| (id.to_owned(), facts)).collect()
}

/// Id of a node as documents have it.
fn id_of(id: &NodeId) -> String {
    id.to_string()
}
