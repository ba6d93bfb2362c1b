//! Search: text and vectors, fused, narrowed by filters.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use backstory_model::{
    filter::{DocumentKind, Filter},
    score::{RRF_K, fuse_ranks, scale_to_best, sorted},
    text::snippet,
};
use backstory_store::index::{Coverage, PassageHit, StoredDocument};
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
/// Hits of each leg that are fused.
const CANDIDATES: usize = 100;
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

/// What the legs found of one document.
#[derive(Clone, Debug, Default)]
struct Candidate {
    lexical: Option<f32>,
    semantic: Option<f32>,
    /// The passage nearest to the query.
    passage: Option<String>,
}

type Candidates = BTreeMap<String, Candidate>;

impl Engine {
    /// Searches.
    ///
    /// # Errors
    /// The query is empty or too long, a filter names what does not exist, or a store failed.
    pub async fn search(&self, request: SearchRequest) -> Result<SearchResponse> {
        let started = Instant::now();
        let request = checked(request)?;
        self.check_project(request.filter.project.as_deref())?;
        let index = self.index();
        let coverage = index.coverage();
        let mut warnings = Vec::new();
        let mut mode = request.mode;

        let lexical = async {
            if mode == Mode::Semantic {
                Ok(vec![])
            } else {
                index.lexical(&request.query, &request.filter, CANDIDATES).await
            }
        };
        let semantic = async {
            if mode == Mode::Lexical || coverage.embedded == 0 {
                return Ok(Ok(vec![]));
            }
            match self.embedder().embed_query(&request.query).await {
                Ok(vector) => index.semantic(&vector, &passage_filter(&request.filter), CANDIDATES).await.map(Ok),
                Err(error) => Ok(Err(error)),
            }
        };
        let (lexical, semantic) = tokio::join!(lexical, semantic);
        let lexical = lexical?;
        let semantic = match semantic? {
            Ok(hits) => hits,
            Err(error) if mode == Mode::Semantic => return Err(error.into()),
            Err(error) => {
                tracing::debug!(%error, "no vector for the query");
                warnings.push(LEXICAL_ONLY.to_owned());
                mode = Mode::Lexical;
                vec![]
            }
        };
        if mode != Mode::Lexical && coverage.embedded < coverage.documents {
            warnings.push(format!(
                "{} of {} documents have no vectors yet; text search covers them",
                coverage.documents - coverage.embedded,
                coverage.documents
            ));
        }

        let mut candidates = gather(&lexical, semantic);
        let ids: Vec<String> = candidates.keys().cloned().collect();
        let documents: BTreeMap<String, StoredDocument> =
            index.documents(&ids).await?.into_iter().map(|document| (document.id.clone(), document)).collect();
        // A document that only its discussions' passages brought in must meet the filter itself.
        candidates.retain(|id, _| documents.get(id).is_some_and(|document| meets(&request.filter, document)));
        let ranked = rank(&mut candidates, mode, self.settings().ranking);
        let hits = ranked
            .into_iter()
            .take(request.limit)
            .filter_map(|(id, score)| hit(&request.query, documents.get(&id)?, candidates.get(&id)?, score))
            .collect();
        let took_ms = started.elapsed().as_secs_f64() * 1000.0;
        Ok(SearchResponse { query: request.query, mode, coverage, took_ms, warnings, hits })
    }

    fn check_project(&self, project: Option<&str>) -> Result<()> {
        match project {
            Some(project) if !self.settings().projects().any(|(_, known)| known == project) => {
                let known: Vec<&str> = self.settings().projects().map(|(_, known)| known).collect();
                Err(Error::invalid(format!("{project} is not configured; known projects: {}", known.join(", "))))
            }
            _ => Ok(()),
        }
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

/// Passages that may count for a document: an issue also has those of its discussions, whoever wrote them.
fn passage_filter(filter: &Filter) -> Filter {
    let mut filter = filter.clone();
    let threads = filter.kinds.iter().any(|kind| *kind != DocumentKind::Discussion);
    if threads && !filter.kinds.contains(&DocumentKind::Discussion) {
        filter.kinds.push(DocumentKind::Discussion);
    }
    if filter.kinds.is_empty() || threads {
        filter.author = None;
        filter.after = None;
        filter.before = None;
    }
    filter
}

/// Joins what the legs found. A passage counts for its document and for the issue or merge request that is part of.
fn gather(lexical: &[backstory_store::index::Hit], semantic: Vec<PassageHit>) -> Candidates {
    let mut candidates = Candidates::new();
    for hit in lexical {
        candidates.entry(hit.document.clone()).or_default().lexical = Some(hit.score);
    }
    for hit in semantic {
        let score = hit.score.clamp(0.0, 1.0);
        for id in BTreeSet::from([&hit.document, &hit.thread]) {
            let candidate = candidates.entry(id.clone()).or_default();
            if candidate.semantic.is_none_or(|best| score > best) {
                candidate.semantic = Some(score);
                candidate.passage = Some(hit.text.clone());
            }
        }
    }
    candidates
}

fn rank(candidates: &mut Candidates, mode: Mode, ranking: Ranking) -> Vec<(String, f32)> {
    let mut lexical: Vec<f32> = candidates.values().map(|candidate| candidate.lexical.unwrap_or(0.0)).collect();
    scale_to_best(&mut lexical);
    for (candidate, scaled) in candidates.values_mut().zip(lexical) {
        candidate.lexical = candidate.lexical.map(|_| scaled);
    }
    let leg = |part: fn(&Candidate) -> Option<f32>| {
        sorted(candidates.iter().filter_map(|(id, candidate)| Some((id.clone(), part(candidate)?))))
    };
    let names = |ranked: Vec<(String, f32)>| ranked.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    match (mode, ranking) {
        (Mode::Lexical, _) => leg(|candidate| candidate.lexical),
        (Mode::Semantic, _) => leg(|candidate| candidate.semantic),
        (Mode::Hybrid, Ranking::Rrf) => {
            fuse_ranks(&[names(leg(|candidate| candidate.lexical)), names(leg(|candidate| candidate.semantic))], RRF_K)
        }
        (Mode::Hybrid, Ranking::Weighted { semantic, lexical }) => sorted(candidates.iter().map(|(id, candidate)| {
            (id.clone(), semantic * candidate.semantic.unwrap_or(0.0) + lexical * candidate.lexical.unwrap_or(0.0))
        })),
    }
}

fn hit(query: &str, document: &StoredDocument, candidate: &Candidate, score: f32) -> Option<Hit> {
    let parts = [("semantic", candidate.semantic), ("lexical", candidate.lexical)];
    Some(Hit {
        document: document.clone(),
        snippet: snippet(candidate.passage.as_deref().unwrap_or(&document.text), query, SNIPPET),
        score,
        parts: parts.into_iter().filter_map(|(name, score)| Some((name, score?))).collect(),
    })
}

fn meets(filter: &Filter, document: &StoredDocument) -> bool {
    let within =
        |at: Timestamp| filter.after.is_none_or(|after| at >= after) && filter.before.is_none_or(|before| at < before);
    (filter.kinds.is_empty() || filter.kinds.contains(&document.kind))
        && filter.author.as_ref().is_none_or(|author| document.author.as_ref() == Some(author))
        && filter.labels.iter().all(|label| document.labels.contains(label))
        && within(document.created_at)
        && filter.project.as_ref().is_none_or(|project| *project == document.project)
        && filter.state.is_none_or(|state| state == document.state)
}
