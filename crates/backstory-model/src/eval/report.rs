//! Sums up the answers to all questions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Estimate, Metric, Retriever, estimate, percentile};

/// A result of a leg.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankedResult {
    /// Its reference.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it is ranked by; only comparable within one list.
    pub score: f64,
}

/// What a leg found for a question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// The first results, best first.
    pub results: Vec<RankedResult>,
    /// For each expected source the rank from 1 of the first result that answers for it.
    pub ranks: Vec<Option<u32>>,
    /// How long it took, in milliseconds.
    pub took_ms: f64,
}

impl Answer {
    /// Rank from 1 of the first result that is an expected source.
    pub fn first(&self) -> Option<u32> {
        self.ranks.iter().flatten().min().copied()
    }
}

/// A question with what every leg found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnsweredQuestion {
    /// What the question is called.
    pub id: String,
    /// The question.
    pub question: String,
    /// What sort of question it is.
    pub kind: String,
    /// Sources that answer it; none if nothing does.
    pub gold: Vec<String>,
    /// Whether it was refused to answer; nothing if that was not asked.
    pub refused: Option<bool>,
    /// What each leg found.
    pub legs: BTreeMap<Retriever, Answer>,
}

impl AnsweredQuestion {
    /// Whether there is a source that answers it.
    pub fn is_answerable(&self) -> bool {
        !self.gold.is_empty()
    }
}

/// How long answers take, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Half of them take no longer.
    pub p50: f64,
    /// 95 of 100 take no longer.
    pub p95: f64,
}

/// How well a leg does.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RetrieverScore {
    /// Over how many questions: those that have an answer.
    pub questions: usize,
    /// Each measure.
    pub measures: BTreeMap<Metric, Estimate>,
    /// How long it takes, questions without an answer too.
    pub latency_ms: Latency,
}

/// How well it is told what cannot be answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Refusal {
    /// Questions that were asked.
    pub questions: usize,
    /// Those that were refused.
    pub refused: usize,
    /// Share of the refused that have no answer; nothing if none was refused.
    pub precision: Option<f64>,
    /// Share of those without an answer that were refused; nothing if all have one.
    pub recall: Option<f64>,
    /// Share of those with an answer that were refused all the same; nothing if none has one.
    pub r#false: Option<f64>,
}

/// A question whose first result is not one of the expected sources.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Miss {
    /// What the question is called.
    pub id: String,
    /// The question.
    pub question: String,
    /// The sources that answer it.
    pub gold: Vec<String>,
    /// Rank from 1 of the first of them that was found.
    pub rank: Option<u32>,
    /// What came first, if anything was found.
    pub first: Option<RankedResult>,
}

/// What the answers to all questions amount to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// How many questions were asked.
    pub questions: usize,
    /// How many of them have an answer.
    pub answerable: usize,
    /// How well each leg does.
    pub legs: BTreeMap<Retriever, RetrieverScore>,
    /// The same for each kind of question that has an answer.
    pub kinds: BTreeMap<String, BTreeMap<Retriever, RetrieverScore>>,
    /// How well it is told what cannot be answered, if that was asked.
    pub refusal: Option<Refusal>,
    /// Questions whose first result is not one of the expected sources, those that were not found first, then the worst.
    pub misses: Vec<Miss>,
}

impl Report {
    /// Sums up the answers. `missed` is the leg whose misses are told.
    pub fn of(answered: &[AnsweredQuestion], missed: Retriever) -> Self {
        let answerable: Vec<&AnsweredQuestion> = answered.iter().filter(|question| question.is_answerable()).collect();
        let mut kinds: BTreeMap<&str, Vec<&AnsweredQuestion>> = BTreeMap::new();
        for question in &answerable {
            kinds.entry(&question.kind).or_default().push(question);
        }
        let all: Vec<&AnsweredQuestion> = answered.iter().collect();
        Self {
            questions: answered.len(),
            answerable: answerable.len(),
            legs: legs(&all),
            kinds: kinds.into_iter().map(|(kind, questions)| (kind.to_owned(), legs(&questions))).collect(),
            refusal: refusal(answered),
            misses: misses(&answerable, missed),
        }
    }
}

fn legs(questions: &[&AnsweredQuestion]) -> BTreeMap<Retriever, RetrieverScore> {
    let mut answers: BTreeMap<Retriever, Vec<(&Answer, bool)>> = BTreeMap::new();
    for question in questions {
        for (leg, answer) in &question.legs {
            answers.entry(*leg).or_default().push((answer, question.is_answerable()));
        }
    }
    answers.into_iter().map(|(leg, answers)| (leg, scored(&answers))).collect()
}

/// How well the answers to questions do that have one, as is told with each.
fn scored(answers: &[(&Answer, bool)]) -> RetrieverScore {
    let took: Vec<f64> = answers.iter().map(|(answer, _)| answer.took_ms).collect();
    let ranks: Vec<&[Option<u32>]> =
        answers.iter().filter(|(_, answerable)| *answerable).map(|(answer, _)| &answer.ranks[..]).collect();
    let of = |measure: Metric| ranks.iter().map(|ranks| measure.of(ranks)).collect::<Vec<f64>>();
    RetrieverScore {
        questions: ranks.len(),
        measures: Metric::ALL.into_iter().map(|measure| (measure, estimate(&of(measure)))).collect(),
        latency_ms: Latency { p50: percentile(&took, 0.5), p95: percentile(&took, 0.95) },
    }
}

fn refusal(answered: &[AnsweredQuestion]) -> Option<Refusal> {
    let asked: Vec<(bool, bool)> =
        answered.iter().filter_map(|question| Some((question.is_answerable(), question.refused?))).collect();
    if asked.is_empty() {
        return None;
    }
    let count = |is: fn(&(bool, bool)) -> bool| asked.iter().filter(|of| is(of)).count();
    let share = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
    let refused = count(|(_, refused)| *refused);
    let rightly = count(|(answerable, refused)| !answerable && *refused);
    let answerable = count(|(answerable, _)| *answerable);
    Some(Refusal {
        questions: asked.len(),
        refused,
        precision: share(rightly, refused),
        recall: share(rightly, asked.len() - answerable),
        r#false: share(refused - rightly, answerable),
    })
}

fn misses(answerable: &[&AnsweredQuestion], leg: Retriever) -> Vec<Miss> {
    let miss = |question: &&AnsweredQuestion| {
        let answer = question.legs.get(&leg).filter(|answer| answer.first() != Some(1))?;
        Some(Miss {
            id: question.id.clone(),
            question: question.question.clone(),
            gold: question.gold.clone(),
            rank: answer.first(),
            first: answer.results.first().cloned(),
        })
    };
    let mut misses: Vec<Miss> = answerable.iter().filter_map(miss).collect();
    // Equal ranks stay in the order of the file.
    misses.sort_by_key(|miss| std::cmp::Reverse(miss.rank.unwrap_or(u32::MAX)));
    misses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(id: &str, kind: &str, ranks: &[Option<u32>], refused: Option<bool>) -> AnsweredQuestion {
        let answer = |took_ms: f64| Answer {
            results: vec![RankedResult { id: "acme/shop#1".into(), title: "One".into(), score: 0.5 }],
            ranks: ranks.to_vec(),
            took_ms,
        };
        AnsweredQuestion {
            id: id.into(),
            question: format!("{id}?"),
            kind: kind.into(),
            gold: ranks.iter().map(|_| "#1".to_owned()).collect(),
            refused,
            legs: [(Retriever::Fused, answer(4.0)), (Retriever::Graph, answer(1.0))].into(),
        }
    }

    #[test]
    fn sums_up_what_has_an_answer() {
        let answers = [
            answered("a", "why", &[Some(1)], None),
            answered("b", "why", &[Some(4), None], None),
            answered("c", "who", &[None], None),
            answered("d", "unanswerable", &[], None),
        ];
        let report = Report::of(&answers, Retriever::Fused);
        assert_eq!((report.questions, report.answerable, &report.refusal), (4, 3, &None));
        let fused = &report.legs[&Retriever::Fused];
        assert_eq!((fused.questions, fused.latency_ms), (3, Latency { p50: 4.0, p95: 4.0 }));
        assert!((fused.measures[&Metric::Mrr].mean - 1.25 / 3.0).abs() < 1e-12);
        assert_eq!(fused.measures[&Metric::Recall10].mean, 0.5);
        assert_eq!(report.kinds.keys().collect::<Vec<_>>(), ["who", "why"]);
        assert_eq!(report.kinds["why"][&Retriever::Graph].measures[&Metric::Mrr].mean, 0.625);
        let misses: Vec<_> = report.misses.iter().map(|miss| (miss.id.as_str(), miss.rank)).collect();
        assert_eq!(misses, [("c", None), ("b", Some(4))]);
    }

    #[test]
    fn refusals_are_right_or_false() {
        let found = [Some(1)];
        let answers = [
            answered("a", "why", &found, Some(false)),
            answered("b", "why", &found, Some(true)),
            answered("c", "x", &[], Some(true)),
            answered("d", "x", &[], Some(true)),
            answered("e", "x", &[], Some(false)),
            answered("f", "x", &[], None),
        ];
        let refusal = Report::of(&answers, Retriever::Fused).refusal.unwrap();
        assert_eq!((refusal.questions, refusal.refused), (5, 3));
        assert_eq!((refusal.precision, refusal.recall, refusal.r#false), (Some(2.0 / 3.0), Some(2.0 / 3.0), Some(0.5)));
        let none = Report::of(&answers[..1], Retriever::Fused).refusal.unwrap();
        assert_eq!((none.precision, none.recall, none.r#false), (None, None, Some(0.0)));
    }
}
