//! Metrics of a ranked list, and the uncertainty of their mean.

use serde::{Deserialize, Serialize};

/// How often the questions are drawn again for an interval.
pub const RESAMPLES: usize = 1_000;
/// What the drawing begins with, so that the same answers give the same interval.
const SEED: u64 = 0x5eed;
/// How many results `recall@10` and `ndcg@10` look at.
const CUT: u32 = 10;

/// What is measured of the answer to a question, 0 to 1. Declared in the order of the names, in which maps of them are
/// written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Metric {
    /// 1 if any expected source is among the first ten results, else 0.
    #[serde(rename = "hit@10")]
    Hit10,
    /// One divided by the rank of the first result that is an expected source, 0 if there is none.
    #[serde(rename = "mrr")]
    Mrr,
    /// Discounted gain of the expected sources among the first ten, each counted once, as a share of what is possible.
    #[serde(rename = "ndcg@10")]
    Ndcg10,
    /// Share of the expected sources that the first result answers for.
    #[serde(rename = "recall@1")]
    Recall1,
    /// The same for the first ten results.
    #[serde(rename = "recall@10")]
    Recall10,
    /// The same for the first three results.
    #[serde(rename = "recall@3")]
    Recall3,
}

impl Metric {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 6] = [Self::Recall1, Self::Recall3, Self::Recall10, Self::Hit10, Self::Mrr, Self::Ndcg10];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hit10 => "hit@10",
            Self::Recall1 => "recall@1",
            Self::Recall3 => "recall@3",
            Self::Recall10 => "recall@10",
            Self::Mrr => "mrr",
            Self::Ndcg10 => "ndcg@10",
        }
    }

    /// The measure of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.as_str() == name)
    }

    /// Its value for a question with at least one expected source. `ranks` has, for each of them, the rank from 1 of
    /// the first result that answers for it.
    pub fn of(self, ranks: &[Option<u32>]) -> f64 {
        let first = ranks.iter().flatten().min().copied();
        match self {
            Self::Hit10 => f64::from(u8::from(first.is_some_and(|rank| rank <= CUT))),
            Self::Recall1 => recall(ranks, 1),
            Self::Recall3 => recall(ranks, 3),
            Self::Recall10 => recall(ranks, CUT),
            Self::Mrr => first.map_or(0.0, |rank| 1.0 / f64::from(rank)),
            Self::Ndcg10 => ndcg(ranks),
        }
    }
}

fn recall(ranks: &[Option<u32>], cut: u32) -> f64 {
    let found = ranks.iter().flatten().filter(|&&rank| rank <= cut).count();
    found as f64 / ranks.len().max(1) as f64
}

/// A result that answers for several sources counts as that many in a row: without that, a list of stories could be
/// better than perfect.
fn ndcg(ranks: &[Option<u32>]) -> f64 {
    let mut found: Vec<u32> = ranks.iter().flatten().copied().collect();
    found.sort_unstable();
    let (mut last, mut behind, mut gain) = (0, 0, 0.0);
    for rank in found {
        if rank == last {
            behind += 1;
        }
        last = rank;
        gain += discounted(rank.saturating_add(behind));
    }
    let ideal: f64 = (1..=CUT).take(ranks.len()).map(discounted).sum();
    if ideal > 0.0 { gain / ideal } else { 0.0 }
}

fn discounted(place: u32) -> f64 {
    if place > CUT { 0.0 } else { 1.0 / (f64::from(place) + 1.0).log2() }
}

/// A mean and the interval in which it lies with 95 % confidence, if other questions of the same sort had been asked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// The mean of values and its interval: the bootstrap's percentiles over [`RESAMPLES`] samples. The same values give
/// the same interval; none give zeros.
pub fn estimate(values: &[f64]) -> Estimate {
    if values.is_empty() {
        return Estimate { mean: 0.0, low: 0.0, high: 0.0 };
    }
    let mean = |sum: f64| sum / values.len() as f64;
    let mut random = Random(SEED);
    let mut means: Vec<f64> =
        (0..RESAMPLES).map(|_| mean((0..values.len()).map(|_| values[random.below(values.len())]).sum())).collect();
    means.sort_by(f64::total_cmp);
    let tail = RESAMPLES / 40;
    Estimate { mean: mean(values.iter().sum()), low: means[tail], high: means[RESAMPLES - 1 - tail] }
}

/// The smallest of the values that `share` of them do not exceed; 0 of none.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// SplitMix64: a sequence of numbers that is the same everywhere and in every version.
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is above 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(ranks: &[Option<u32>], expected: [f64; 6]) {
        for (measure, expected) in Metric::ALL.into_iter().zip(expected) {
            let value = measure.of(ranks);
            assert!((value - expected).abs() < 1e-9, "{} of {ranks:?} is {value}, not {expected}", measure.as_str());
        }
    }

    #[test]
    fn agrees_with_what_was_computed_by_hand() {
        check(&[Some(1)], [1.0; 6]);
        check(&[Some(3)], [0.0, 1.0, 1.0, 1.0, 1.0 / 3.0, 0.5]);
        check(&[None], [0.0; 6]);
        check(&[Some(11)], [0.0, 0.0, 0.0, 0.0, 1.0 / 11.0, 0.0]);
        // 1 / log2(3) of the ideal 1 + 1 / log2(3).
        check(&[None, Some(2)], [0.0, 0.5, 0.5, 1.0, 0.5, 0.386_852_807_234_541_63]);
        // 1 + 1 / log2(5) of the same.
        check(&[Some(4), Some(1)], [0.5, 0.5, 1.0, 1.0, 1.0, 0.877_215_315_338_049_3]);
        check(&[Some(2), None, Some(10), None], [0.0, 0.25, 0.5, 1.0, 0.5, 0.359_147_530_089_665_27]);
    }

    #[test]
    fn a_result_for_two_sources_counts_as_two_in_a_row() {
        check(&[Some(1), Some(1)], [1.0; 6]);
        check(&[Some(1), Some(1), Some(2)], [2.0 / 3.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(Metric::Ndcg10.of(&[Some(2), Some(2)]), Metric::Ndcg10.of(&[Some(2), Some(3)]));
    }

    #[test]
    fn names_read_back() {
        for measure in Metric::ALL {
            assert_eq!(Metric::from_name(measure.as_str()), Some(measure));
            assert_eq!(serde_json::to_value(measure).unwrap(), measure.as_str());
        }
        assert_eq!(Metric::from_name("recall@5"), None);
    }

    #[test]
    fn an_interval_is_as_wide_as_the_values_differ() {
        assert_eq!(estimate(&[]), Estimate { mean: 0.0, low: 0.0, high: 0.0 });
        assert_eq!(estimate(&[0.5; 9]), Estimate { mean: 0.5, low: 0.5, high: 0.5 });
        // Half of 100 throws: two standard errors of 0.05 to either side.
        let throws: Vec<f64> = (0..100).map(|n| f64::from(n % 2)).collect();
        let Estimate { mean, low, high } = estimate(&throws);
        assert_eq!(mean, 0.5);
        assert!((low - 0.4).abs() < 0.02 && (high - 0.6).abs() < 0.02, "{low} {high}");
    }

    #[test]
    fn percentiles_are_values() {
        let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!((percentile(&values, 0.5), percentile(&values, 0.95)), (10.0, 19.0));
        assert_eq!((percentile(&[7.0], 0.95), percentile(&[], 0.5)), (7.0, 0.0));
    }

    proptest! {
        #[test]
        fn measures_stay_in_bounds_and_better_ranks_never_hurt(
            ranks in prop::collection::vec(prop::option::of(1u32..30), 1..14), place in 0usize..14
        ) {
            let mut better = ranks.clone();
            let place = place % ranks.len();
            // What was not found is found last, what was found moves up to a rank that is free.
            let up = ranks[place].map_or(40, |rank| rank - 1);
            prop_assume!(up > 0 && !ranks.contains(&Some(up)));
            better[place] = Some(up);
            for measure in Metric::ALL {
                let (value, better) = (measure.of(&ranks), measure.of(&better));
                prop_assert!((0.0..=1.0 + 1e-9).contains(&value), "{} {value}", measure.as_str());
                prop_assert!(better >= value - 1e-9, "{} {value} {better}", measure.as_str());
            }
        }

        #[test]
        fn the_order_of_the_sources_does_not_matter(mut ranks in prop::collection::vec(prop::option::of(1u32..30), 1..9)) {
            let before = Metric::ALL.map(|measure| measure.of(&ranks));
            ranks.reverse();
            for (measure, before) in Metric::ALL.into_iter().zip(before) {
                prop_assert!((measure.of(&ranks) - before).abs() < 1e-9);
            }
        }

        #[test]
        fn an_interval_holds_its_mean_and_is_the_same_again(values in prop::collection::vec(0f64..=1.0, 1..40)) {
            let estimate = super::estimate(&values);
            let (least, most) = values.iter().fold((1.0f64, 0.0f64), |(a, b), v| (a.min(*v), b.max(*v)));
            prop_assert!(least - 1e-9 <= estimate.low && estimate.low <= estimate.high && estimate.high <= most + 1e-9);
            prop_assert!(estimate.low <= estimate.mean + 1e-9 && estimate.mean <= estimate.high + 1e-9);
            prop_assert_eq!(estimate, super::estimate(&values));
        }
    }
}
