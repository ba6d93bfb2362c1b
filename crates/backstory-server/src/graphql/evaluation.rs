//! GraphQL types of evaluations.

use async_graphql::{Context, ID, InputObject, Result, SimpleObject};
use backstory_engine::{
    MeasureLinks,
    eval::{self, DEFAULT_DEPTH, EvaluationRequest, MAX_ASKED, PairRequest},
    model::{
        eval::{self as model, Retriever},
        link::{LinkCurvePoint, LinkReport},
    },
};

use super::{edge, loaders, names::SearchLeg, page::QUERY};

/// A question whose answer is known.
#[derive(InputObject)]
pub(crate) struct EvaluationQuestion {
    /// What it is called where something is wrong with it.
    id: String,
    /// The question, at most 2,000 characters.
    question: String,
    /// The sources that answer it, at most 20: `#12`, `!7`, `pr:7`, `@1a2b3c4`, `acme/shop#12`, the address of one of
    /// those, `src/a.rs`, `src/a.rs#login`, `src/` or `docs/**`.
    expected: Vec<String>,
    /// The file that it is about.
    path: Option<String>,
    /// A line of that file.
    line_text: Option<String>,
    /// A function or type of that file.
    symbol: Option<String>,
}

impl From<EvaluationQuestion> for model::Question {
    fn from(question: EvaluationQuestion) -> Self {
        let EvaluationQuestion { id, question, expected, path, line_text, symbol } = question;
        Self { id, question, kind: String::new(), gold: expected, path, line_text, symbol }
    }
}

/// A question made from the project itself, with what answers it.
#[derive(SimpleObject)]
pub(crate) struct QuestionPair {
    /// What it is made from: `title`, `identifier`, `reference`, `link` or `sentence`.
    kind: &'static str,
    /// The question.
    question: String,
    /// References of what answers it: without these there is no answer.
    evidence: Vec<ID>,
}

/// Questions made from a project.
pub(super) async fn question_pairs(
    ctx: &Context<'_>,
    project: Option<String>,
    count: i32,
) -> Result<Vec<QuestionPair>> {
    let count = usize::try_from(count).unwrap_or(0);
    let pairs = loaders::engine(ctx)?.answer(PairRequest { project, count }).await?;
    let pair = |pair: model::Pair| QuestionPair {
        kind: pair.kind.as_str(),
        question: pair.question,
        evidence: pair.evidence.into_iter().map(ID).collect(),
    };
    Ok(pairs.into_iter().map(pair).collect())
}

/// What was recovered of stated links between merge requests and issues that were hidden.
#[derive(SimpleObject)]
pub(crate) struct RecoveredLinks {
    /// Merge requests whose links were hidden, the latest two fifths of those that were merged, also those without any: a
    /// link of one of these counts as wrong.
    changes: u64,
    /// Of these, those that are linked with an issue.
    linked: u64,
    /// Of these, those that close one.
    closing: u64,
    /// How good the links are that are told.
    told: RecoveredPoint,
    /// The same for other least confidences, the highest first.
    curve: Vec<RecoveredPoint>,
}

/// How good the links are that have at least some confidence.
#[derive(SimpleObject)]
pub(crate) struct RecoveredPoint {
    /// The least confidence.
    confidence: f64,
    /// How many there are.
    told: u64,
    /// Of these, those that were stated, in whatever way.
    right: u64,
    /// Of these, those that were stated as closing.
    closing: u64,
    /// Share of them that is right; 1 if there are none.
    precision: f64,
    /// Share of the closing merge requests for which the closed issue is told.
    recall: f64,
    /// Share of the linked merge requests for which an issue is told that they are linked with.
    recall_any: f64,
}

impl From<LinkCurvePoint> for RecoveredPoint {
    fn from(point: LinkCurvePoint) -> Self {
        let LinkCurvePoint { confidence, told, right, closing, precision, recall, recall_any } = point;
        Self { confidence: edge::hundredths(confidence), told, right, closing, precision, recall, recall_any }
    }
}

/// Hides stated links and measures what is recovered of them.
pub(super) async fn recovered_links(ctx: &Context<'_>, project: Option<String>) -> Result<RecoveredLinks> {
    let LinkReport { changes, linked, closing, told, curve } =
        loaders::engine(ctx)?.answer(MeasureLinks { project }).await?;
    Ok(RecoveredLinks {
        changes,
        linked,
        closing,
        told: told.into(),
        curve: curve.into_iter().map(Into::into).collect(),
    })
}

/// What was found for questions whose answers are known.
#[derive(SimpleObject)]
pub(crate) struct Evaluation {
    /// Full path of the project that was asked about.
    project: String,
    /// The index that was asked.
    index: EvaluatedIndex,
    /// What the reader must know.
    warnings: Vec<String>,
    /// What was found for each question, in their order.
    questions: Vec<EvaluatedQuestion>,
}

/// The index that was asked.
#[derive(SimpleObject)]
pub(crate) struct EvaluatedIndex {
    /// How many documents it has.
    documents: u64,
    /// How many of them have vectors.
    embedded: u64,
    /// The model that makes the vectors.
    model: String,
    /// How words and meaning are fused, with the weights.
    ranking: String,
}

/// What was found for a question.
#[derive(SimpleObject)]
pub(crate) struct EvaluatedQuestion {
    /// Expected sources that are not in the index: nothing can find them.
    unknown: Vec<String>,
    /// Whether it is refused to answer.
    refused: bool,
    /// What each leg found.
    legs: Vec<EvaluatedLeg>,
}

/// What a leg found for a question.
#[derive(SimpleObject)]
pub(crate) struct EvaluatedLeg {
    /// The leg.
    leg: SearchLeg,
    /// For each expected source the rank from 1 of the first result that answers for it; null if there is none.
    ranks: Vec<Option<u32>>,
    /// The first ten results, best first.
    results: Vec<EvaluatedResult>,
    /// How long it took, in milliseconds.
    took_ms: f64,
}

/// A result of a leg.
#[derive(SimpleObject)]
pub(crate) struct EvaluatedResult {
    /// Its reference.
    id: ID,
    /// Its title.
    title: String,
    /// What it is ranked by; only comparable within one list.
    score: f64,
}

impl From<eval::Evaluated> for EvaluatedQuestion {
    fn from(evaluated: eval::Evaluated) -> Self {
        let result = |ranked: model::RankedResult| EvaluatedResult {
            id: ranked.id.into(),
            title: ranked.title,
            score: ranked.score,
        };
        let leg = |(leg, answer): (Retriever, model::Answer)| EvaluatedLeg {
            leg: leg.into(),
            ranks: answer.ranks,
            results: answer.results.into_iter().map(result).collect(),
            took_ms: answer.took_ms,
        };
        Self {
            unknown: evaluated.unknown,
            refused: evaluated.refused,
            legs: evaluated.legs.into_iter().map(leg).collect(),
        }
    }
}

/// Complexity of asking so many questions of which each costs `each` to tell: several searches a question.
pub(super) fn cost(questions: usize, each: usize) -> usize {
    questions.min(MAX_ASKED + 1) * (Retriever::ALL.len() * QUERY + each)
}

/// Asks the questions.
pub(super) async fn evaluate(
    ctx: &Context<'_>,
    questions: Vec<EvaluationQuestion>,
    project: Option<String>,
    legs: Option<Vec<SearchLeg>>,
    depth: Option<i32>,
) -> Result<Evaluation> {
    let request = EvaluationRequest {
        project,
        questions: questions.into_iter().map(Into::into).collect(),
        legs: legs.map_or_else(|| Retriever::ALL.to_vec(), |legs| legs.into_iter().map(Into::into).collect()),
        // The engine says what is wrong with a depth; one below zero is as wrong as zero.
        depth: depth.map_or(DEFAULT_DEPTH, |depth| usize::try_from(depth).unwrap_or(0)),
    };
    let found = loaders::engine(ctx)?.answer(request).await?;
    let model::IndexState { documents, embedded, model, ranking } = found.index;
    Ok(Evaluation {
        project: found.project,
        index: EvaluatedIndex { documents, embedded, model, ranking },
        warnings: found.warnings,
        questions: found.questions.into_iter().map(Into::into).collect(),
    })
}
