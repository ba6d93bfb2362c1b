//! Compares the results of an evaluation with those of an earlier one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Answer, AnsweredQuestion, Metric, Report, Retriever};

/// How many results of each list are kept.
pub const TOP: usize = 10;

/// What an index was when it was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexState {
    /// How many documents it had.
    pub documents: u64,
    /// How many of them had vectors.
    pub embedded: u64,
    /// The model that made the vectors.
    pub model: String,
    /// How the legs were fused, with the weights.
    pub ranking: String,
}

/// What a leg found for a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetrieverSnapshot {
    /// Rank from 1 of the first expected source.
    pub first: Option<u32>,
    /// The first results and their scores with four digits, best first.
    pub results: Vec<(String, f64)>,
}

/// What search found, to be compared with what it finds later. It holds no times and is the same whenever that is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The index.
    pub index: IndexState,
    /// The mean of each measure of each leg, with four digits.
    pub measures: BTreeMap<Retriever, BTreeMap<Metric, f64>>,
    /// What each leg found for each question.
    pub questions: BTreeMap<String, BTreeMap<Retriever, RetrieverSnapshot>>,
}

/// A question whose first expected source is at another rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankChange {
    /// The question.
    pub question: String,
    /// The leg.
    pub leg: Retriever,
    /// The rank from 1 it had; none if it was not found.
    pub old: Option<u32>,
    /// The rank it has.
    pub new: Option<u32>,
}

/// A measure that is not what it was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricChange {
    /// The leg.
    pub leg: Retriever,
    /// The measure.
    pub measure: Metric,
    /// What it was.
    pub old: f64,
    /// What it is.
    pub new: f64,
    /// Whether it fell by more than is tolerated.
    pub fell: bool,
}

/// What changed since a snapshot was taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Drift {
    /// The index as it was, if it is another.
    pub index: Option<IndexState>,
    /// Questions that are new.
    pub added: Vec<String>,
    /// Questions that are no longer asked.
    pub removed: Vec<String>,
    /// Questions whose first expected source is at another rank.
    pub moved: Vec<RankChange>,
    /// Measures that are not what they were.
    pub measures: Vec<MetricChange>,
}

impl Snapshot {
    /// What was found, and what it amounts to.
    pub fn of(index: IndexState, answered: &[AnsweredQuestion], report: &Report) -> Self {
        let leg = |(leg, answer): (&Retriever, &Answer)| {
            let results = answer.results.iter().take(TOP).map(|result| (result.id.clone(), rounded(result.score)));
            (*leg, RetrieverSnapshot { first: answer.first(), results: results.collect() })
        };
        let means = |scored: &super::RetrieverScore| {
            scored.measures.iter().map(|(measure, estimate)| (*measure, rounded(estimate.mean))).collect()
        };
        Self {
            index,
            measures: report.legs.iter().map(|(leg, scored)| (*leg, means(scored))).collect(),
            questions: answered
                .iter()
                .map(|question| (question.id.clone(), question.legs.iter().map(leg).collect()))
                .collect(),
        }
    }

    /// What is not as it was in an older snapshot. A measure fell if it is lower by more than `tolerance`.
    pub fn drift_since(&self, old: &Self, tolerance: f64) -> Drift {
        let only_in = |a: &Self, b: &Self| {
            a.questions.keys().filter(|id| !b.questions.contains_key(*id)).cloned().collect::<Vec<String>>()
        };
        let mut moved = Vec::new();
        for (question, legs) in &self.questions {
            let Some(before) = old.questions.get(question) else { continue };
            for (leg, now) in legs {
                if let Some(before) = before.get(leg)
                    && before.first != now.first
                {
                    moved.push(RankChange { question: question.clone(), leg: *leg, old: before.first, new: now.first });
                }
            }
        }
        Drift {
            index: (self.index != old.index).then(|| old.index.clone()),
            added: only_in(self, old),
            removed: only_in(old, self),
            moved,
            measures: changes(&old.measures, &self.measures, tolerance),
        }
    }
}

impl Drift {
    /// Whether everything is as it was.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a measure fell by more than is tolerated.
    pub fn has_regression(&self) -> bool {
        self.measures.iter().any(|change| change.fell)
    }
}

type Means = BTreeMap<Retriever, BTreeMap<Metric, f64>>;

/// What one of them does not have counts as 0.
fn changes(old: &Means, new: &Means, tolerance: f64) -> Vec<MetricChange> {
    let legs: BTreeSet<Retriever> = old.keys().chain(new.keys()).copied().collect();
    let mut changes = Vec::new();
    for leg in legs {
        for measure in Metric::ALL {
            let of = |means: &Means| means.get(&leg).and_then(|of| of.get(&measure)).copied().unwrap_or(0.0);
            let (old, new) = (of(old), of(new));
            if old != new {
                // Rounding must not make a fall of exactly the tolerance one of more.
                let fell = old - new > tolerance + 1e-9;
                changes.push(MetricChange { leg, measure, old, new, fell });
            }
        }
    }
    changes
}

fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::eval::RankedResult;

    fn snapshot(ranks: &[(&str, Option<u32>)]) -> Snapshot {
        let question = |(id, rank): &(&str, Option<u32>)| AnsweredQuestion {
            id: (*id).to_owned(),
            gold: vec!["#1".to_owned()],
            legs: [(
                Retriever::Fused,
                Answer {
                    results: vec![RankedResult { id: "acme/shop#1".into(), title: "One".into(), score: 1.0 / 3.0 }; 12],
                    ranks: vec![*rank],
                    took_ms: 1.0,
                },
            )]
            .into(),
            ..AnsweredQuestion::default()
        };
        let answered: Vec<AnsweredQuestion> = ranks.iter().map(question).collect();
        Snapshot::of(IndexState::default(), &answered, &Report::of(&answered, Retriever::Fused))
    }

    #[test]
    fn keeps_ten_results_and_four_digits_and_reads_back() {
        let taken = snapshot(&[("a", Some(1)), ("b", Some(3)), ("c", None)]);
        let leg = &taken.questions["a"][&Retriever::Fused];
        assert_eq!((leg.results.len(), &leg.results[0]), (10, &("acme/shop#1".to_owned(), 0.3333)));
        assert_eq!(taken.measures[&Retriever::Fused][&Metric::Mrr], 0.4444);
        let json = serde_json::to_string_pretty(&taken).unwrap();
        assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), taken);
    }

    #[test]
    fn tells_what_moved_and_what_fell() {
        let old = snapshot(&[("a", Some(1)), ("b", Some(2)), ("gone", None)]);
        let mut new = snapshot(&[("a", Some(1)), ("b", None), ("new", Some(1))]);
        new.index.documents = 7;
        let drift = new.drift_since(&old, 0.02);
        assert_eq!(
            (drift.index.as_ref(), &drift.added[..], &drift.removed[..]),
            (Some(&IndexState::default()), &["new".to_owned()][..], &["gone".to_owned()][..])
        );
        assert_eq!(drift.moved, [RankChange { question: "b".into(), leg: Retriever::Fused, old: Some(2), new: None }]);
        assert!(!drift.has_regression(), "{:?}", drift.measures);
        let back = old.drift_since(&new, 0.02);
        let mrr = back.measures.iter().find(|change| change.measure == Metric::Mrr).unwrap();
        assert_eq!((mrr.old, mrr.new, mrr.fell, back.has_regression()), (0.6667, 0.5, true, true));
        assert!(!old.drift_since(&new, 0.5).has_regression());
    }

    #[test]
    fn a_leg_that_is_gone_fell() {
        let old = snapshot(&[("a", Some(1))]);
        assert!(Snapshot { measures: BTreeMap::new(), ..old.clone() }.drift_since(&old, 0.02).has_regression());
    }

    proptest! {
        #[test]
        fn nothing_drifts_from_itself_and_a_fall_is_one_way(
            a in prop::collection::vec(prop::option::of(1u32..20), 1..6), b in prop::collection::vec(prop::option::of(1u32..20), 1..6)
        ) {
            let name = ["a", "b", "c", "d", "e"];
            let of = |ranks: &[Option<u32>]| snapshot(&name.into_iter().zip(ranks.iter().copied()).collect::<Vec<_>>());
            let (a, b) = (of(&a), of(&b));
            prop_assert!(a.drift_since(&a, 0.0).is_empty());
            let (there, back) = (b.drift_since(&a, 0.0), a.drift_since(&b, 0.0));
            prop_assert_eq!(there.moved.len(), back.moved.len());
            prop_assert_eq!(there.added, back.removed);
            for (one, other) in there.measures.iter().zip(&back.measures) {
                prop_assert_eq!((one.old, one.new), (other.new, other.old));
                prop_assert!(one.fell != other.fell);
            }
        }
    }
}
