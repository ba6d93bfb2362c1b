//! Asks the questions of an evaluation, some at a time.

use std::collections::BTreeSet;

use backstory_engine::{
    error::ErrorKind,
    model::eval::{Answer, Answered, IndexState, Leg, Question, Ranked},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{Progress, Step},
};

const EVALUATE: &str = include_str!("../../../../../queries/graphql/evaluate.graphql");
/// Questions that are asked at once: few, so that a slow model does not exceed the time an operation may take.
const AT_ONCE: usize = 5;

/// What was found for all questions.
pub(super) struct Found {
    pub(super) project: String,
    pub(super) index: IndexState,
    pub(super) warnings: BTreeSet<String>,
    pub(super) answered: Vec<Answered>,
}

#[derive(Deserialize)]
struct Data {
    evaluate: Evaluation,
}

#[derive(Deserialize)]
struct Evaluation {
    project: String,
    index: IndexState,
    warnings: Vec<String>,
    questions: Vec<Evaluated>,
}

#[derive(Deserialize)]
struct Evaluated {
    unknown: Vec<String>,
    refused: bool,
    legs: Vec<EvaluatedLeg>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EvaluatedLeg {
    #[serde(deserialize_with = "leg")]
    leg: Leg,
    ranks: Vec<Option<u32>>,
    results: Vec<Ranked>,
    took_ms: f64,
}

fn leg<'de, D: serde::Deserializer<'de>>(name: D) -> std::result::Result<Leg, D::Error> {
    let name = String::deserialize(name)?.to_lowercase();
    Leg::from_name(&name).ok_or_else(|| serde::de::Error::custom(format!("'{name}' is no leg")))
}

/// Asks all questions.
///
/// # Errors
/// A question or the project is wrong, or a search failed.
pub(super) async fn ask(
    client: &Client,
    questions: &[Question],
    mut project: Option<String>,
    legs: &[Leg],
    depth: u32,
) -> Result<Found> {
    let mut progress = Progress::new();
    let mut found = None;
    for (batch, asked) in questions.chunks(AT_ONCE).enumerate() {
        let (done, total) = (batch * AT_ONCE, questions.len());
        if done > 0 {
            progress.show(&Step { phase: "questions", done: done as u64, total: Some(total as u64), note: None });
        }
        let Data { evaluate } = client.run(EVALUATE, variables(asked, project.as_deref(), legs, depth)).await?;
        let Evaluation { project: of, index, warnings, questions: evaluated } = evaluate;
        // The next ones are about the same project.
        project = Some(of.clone());
        let all = found.get_or_insert_with(|| Found {
            project: of,
            index,
            warnings: BTreeSet::new(),
            answered: Vec::with_capacity(total),
        });
        all.warnings.extend(warnings);
        for (question, evaluated) in asked.iter().zip(evaluated) {
            all.warnings.extend(
                evaluated
                    .unknown
                    .iter()
                    .map(|source| format!("question {}: {source} is not in the index", question.id)),
            );
            all.answered.push(answered(question, evaluated));
        }
    }
    progress.clear();
    found.ok_or_else(|| Failure::new(ErrorKind::Invalid, "there are no questions to ask"))
}

fn variables(questions: &[Question], project: Option<&str>, legs: &[Leg], depth: u32) -> Value {
    let question = |question: &Question| {
        json!({
            "id": question.id,
            "question": question.question,
            "expected": question.gold,
            "path": question.path,
            "lineText": question.line_text,
            "symbol": question.symbol,
        })
    };
    json!({
        "questions": questions.iter().map(question).collect::<Vec<_>>(),
        "project": project,
        "legs": legs.iter().map(|leg| leg.as_str().to_uppercase()).collect::<Vec<_>>(),
        "depth": depth,
    })
}

fn answered(question: &Question, evaluated: Evaluated) -> Answered {
    let Question { id, question, kind, gold, .. } = question.clone();
    let answer = |of: EvaluatedLeg| (of.leg, Answer { results: of.results, ranks: of.ranks, took_ms: of.took_ms });
    let legs = evaluated.legs.into_iter().map(answer).collect();
    Answered { id, question, kind, gold, refused: Some(evaluated.refused), legs }
}
