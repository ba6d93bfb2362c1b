//! Asks the questions of an evaluation, some at a time.

use std::collections::BTreeSet;

use backstory_engine::{
    error::ErrorKind,
    eval::{Evaluated, Evaluation, EvaluationRequest},
    model::eval::{AnsweredQuestion, IndexState, Question, Retriever},
};

use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{Progress, Step},
};

/// Questions that are asked at once: few, so that a slow model does not exceed the time an operation may take.
const AT_ONCE: usize = 5;

/// What was found for all questions.
pub(super) struct Found {
    pub(super) project: String,
    pub(super) index: IndexState,
    pub(super) warnings: BTreeSet<String>,
    pub(super) answered: Vec<AnsweredQuestion>,
}

/// Asks all questions.
///
/// # Errors
/// A question or the project is wrong, or a search failed.
pub(super) async fn ask(
    client: &Client,
    questions: &[Question],
    mut project: Option<String>,
    legs: &[Retriever],
    depth: usize,
) -> Result<Found> {
    let mut progress = Progress::new();
    let mut found = None;
    for (batch, asked) in questions.chunks(AT_ONCE).enumerate() {
        let (done, total) = (batch * AT_ONCE, questions.len());
        if done > 0 {
            progress.show(&Step { phase: "questions", done: done as u64, total: Some(total as u64), note: None });
        }
        let request = EvaluationRequest { project, questions: asked.to_vec(), legs: legs.to_vec(), depth };
        let Evaluation { project: of, index, warnings, questions: evaluated } = client.answer(request).await?;
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

fn answered(question: &Question, evaluated: Evaluated) -> AnsweredQuestion {
    let Question { id, question, kind, gold, .. } = question.clone();
    AnsweredQuestion { id, question, kind, gold, refused: Some(evaluated.refused), legs: evaluated.legs }
}
