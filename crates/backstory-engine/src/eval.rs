//! Evaluation: asks questions with known answers and records at which rank each retriever found them.
//!
//! Questions are asked some at a time. Metrics, intervals, bounds and drift are arithmetic over the ranks and belong to
//! `model::eval`.

mod by_links;
mod by_search;
mod pairs;
mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use backstory_model::{
    eval::{Answer, IndexState, MAX_EXPECTED, Question, RankedResult, Retriever, Source, TOP},
    filter::Filter,
    score::Profile,
};
use serde::{Deserialize, Serialize};

use crate::{
    ask::{AskRequest, ask},
    catalog::project_of_questions,
    error::{Error, Result},
    resources::Resources,
    search::{MAX_LIMIT, Mode},
    status::index_coverage,
    use_case::{UseCase, Weight},
};
use by_links::retrieve_by_links;
use by_search::{Found, retrieve_by_search};
use sources::{find_sources, missing_sources};

pub use self::pairs::PairRequest;

/// Most questions that are asked at once.
pub const MAX_QUESTIONS_PER_REQUEST: usize = 20;
/// How many results of each retriever are looked at, unless the request says.
pub const DEFAULT_DEPTH: usize = 50;
/// Most results of each retriever that are looked at.
pub const MAX_DEPTH: usize = MAX_LIMIT;

/// Asks questions whose sources are known, and reports where each retriever ranks these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvaluationRequest {
    /// Full path of the project that the questions are about; may be absent where there is only one.
    pub project: Option<String>,
    /// The questions, at most 20.
    pub questions: Vec<Question>,
    /// The retrievers to ask; all if absent.
    #[serde(default = "default_legs")]
    pub legs: Vec<Retriever>,
    /// How many results of each retriever are looked at, 1 to 100; 50 if absent.
    #[serde(default = "default_depth")]
    pub depth: usize,
}

fn default_legs() -> Vec<Retriever> {
    Retriever::ALL.to_vec()
}

const fn default_depth() -> usize {
    DEFAULT_DEPTH
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluation {
    /// Full path of the project.
    pub project: String,
    /// The index that was asked.
    pub index: IndexState,
    /// What the reader must know, each once.
    pub warnings: Vec<String>,
    /// For each question, in their order.
    pub questions: Vec<Evaluated>,
}

/// What was found for a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evaluated {
    /// Expected sources that are not in the index: nothing can find them.
    pub unknown: Vec<String>,
    /// Whether it is refused to answer.
    pub refused: bool,
    /// What each retriever found, with the first 10 results.
    pub legs: BTreeMap<Retriever, Answer>,
}

impl UseCase for EvaluationRequest {
    const NAME: &'static str = "evaluate";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Evaluation;

    async fn run(self, resources: &Resources) -> Result<Evaluation> {
        evaluate(resources, self).await
    }
}

/// Asks questions and sees where their expected sources stand.
///
/// # Errors
/// A question or the project is wrong, or a store failed.
async fn evaluate(resources: &Resources, request: EvaluationRequest) -> Result<Evaluation> {
    check(&request)?;
    let project = project_of_questions(resources, request.project.as_deref()).await?;
    let mut warnings = BTreeSet::new();
    let mut questions = Vec::with_capacity(request.questions.len());
    for question in &request.questions {
        let sources = find_sources(resources, &project, question).await?;
        let mut legs = BTreeMap::new();
        for &leg in &request.legs {
            let started = Instant::now();
            let mut found = run_retriever(resources, &project, question, leg, request.depth, &mut warnings).await?;
            let took_ms = started.elapsed().as_secs_f64() * 1000.0;
            found.truncate(request.depth);
            legs.insert(leg, answer(found, &sources, took_ms));
        }
        let refused = refuses(resources, &project, &question.question).await?;
        let unknown = missing_sources(resources, &question.gold, sources).await?;
        questions.push(Evaluated { unknown, refused, legs });
    }
    let index = index_state(resources);
    Ok(Evaluation { project, index, warnings: warnings.into_iter().collect(), questions })
}

async fn run_retriever(
    resources: &Resources,
    project: &str,
    question: &Question,
    leg: Retriever,
    depth: usize,
    warnings: &mut BTreeSet<String>,
) -> Result<Vec<Found>> {
    let mode = match leg {
        Retriever::Graph => return retrieve_by_links(resources, project, question, warnings).await,
        Retriever::Fused => (Mode::Hybrid, None),
        Retriever::Lexical => (Mode::Lexical, None),
        Retriever::Rrf => (Mode::Hybrid, Some(Profile::Rrf)),
        Retriever::Semantic => (Mode::Semantic, None),
    };
    retrieve_by_search(resources, project, &question.question, mode, depth, warnings).await
}

/// Whether it is refused to answer a question.
async fn refuses(resources: &Resources, project: &str, question: &str) -> Result<bool> {
    let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
    let request = AskRequest { question: question.to_owned(), filter, ..AskRequest::default() };
    Ok(!ask(resources, request).await?.answered)
}

fn index_state(resources: &Resources) -> IndexState {
    let coverage = index_coverage(resources);
    IndexState {
        documents: coverage.documents,
        embedded: coverage.embedded,
        model: resources.embedder().model().to_owned(),
        ranking: resources.settings().ranking.to_string(),
    }
}

fn check(request: &EvaluationRequest) -> Result<()> {
    if request.questions.is_empty() || request.questions.len() > MAX_QUESTIONS_PER_REQUEST {
        let count = request.questions.len();
        return Err(Error::invalid(format!(
            "{count} questions were given; 1 to {MAX_QUESTIONS_PER_REQUEST} can be asked at once"
        )));
    }
    if request.legs.is_empty() {
        return Err(Error::invalid("no leg was named").with_hint("name at least one"));
    }
    if request.depth == 0 || request.depth > MAX_DEPTH {
        return Err(Error::invalid(format!("the depth is {}; it must be 1 to {MAX_DEPTH}", request.depth)));
    }
    match request.questions.iter().find(|question| question.gold.len() > MAX_EXPECTED) {
        Some(question) => Err(Error::invalid(format!(
            "question {} expects {} sources; at most {MAX_EXPECTED} are looked for",
            question.id,
            question.gold.len()
        ))),
        None => Ok(()),
    }
}

fn answer(found: Vec<Found>, sources: &[Source], took_ms: f64) -> Answer {
    let rank = |source: &Source| {
        let answers = |found: &Found| found.nodes.iter().any(|node| source.matches(node));
        found.iter().position(answers).and_then(|place| u32::try_from(place + 1).ok())
    };
    let ranks = sources.iter().map(rank).collect();
    let shown = |found: Found| RankedResult { id: found.id, title: found.title, score: found.score };
    Answer { ranks, results: found.into_iter().take(TOP).map(shown).collect(), took_ms }
}
