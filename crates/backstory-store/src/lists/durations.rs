//! Durations: how long merge requests took to be merged or reviewed, and issues to be closed, as a few figures of many.

use std::collections::BTreeMap;

use backstory_model::visibility::Visibility;

use super::{
    Lists,
    groups::{Grouping, MAX_GROUPED, ThreadGroup},
    select::{Condition, Order, Reader, Selection},
    threads::ThreadQuery,
};
use crate::ledger_error::LedgerError;

/// What is measured of issues and merge requests: the time from when they were opened until something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationKind {
    /// Until they were closed.
    ToClose,
    /// Until they were merged; issues are not.
    ToMerge,
    /// Until their first review was written; issues have none.
    ToFirstReview,
}

impl DurationKind {
    /// The condition that the row `t` has it, and how many whole seconds it is.
    fn expressions(self) -> (&'static str, &'static str) {
        match self {
            Self::ToClose => ("t.closed_at IS NOT NULL", "max(t.closed_at - t.created_at, 0) / 1000"),
            Self::ToMerge => ("t.merged_at IS NOT NULL", "max(t.merged_at - t.created_at, 0) / 1000"),
            Self::ToFirstReview => {
                ("t.first_reviewed_at IS NOT NULL", "max(t.first_reviewed_at - t.created_at, 0) / 1000")
            }
        }
    }
}

/// How long several items took, in whole seconds, rounded down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// How many items there are.
    pub count: u64,
    /// Half of them took no longer; `None` if there are none. Between two durations it is their middle.
    pub median: Option<u64>,
    /// Nine of ten of them took no longer; `None` if there are none. Between two durations it is in proportion.
    pub p90: Option<u64>,
    /// Their sum divided by their number; `None` if there are none.
    pub mean: Option<u64>,
}

impl Durations {
    /// The figures of durations in seconds.
    pub(super) fn of(mut seconds: Vec<u64>) -> Self {
        seconds.sort_unstable();
        let count = seconds.len() as u64;
        Self {
            count,
            median: percentile(&seconds, 50),
            p90: percentile(&seconds, 90),
            mean: seconds.iter().sum::<u64>().checked_div(count),
        }
    }
}

/// How long the items of a list took, by group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupDurations {
    /// The durations of each group that has any, by the value that [`Lists::group_threads`] gives it; under an empty value
    /// those of all items if they are not grouped.
    pub groups: BTreeMap<String, Durations>,
    /// Whether every item was read that has such a duration.
    pub is_complete: bool,
}

impl Lists {
    /// Measures how long the issues or merge requests of a query took from when they were opened until something happened: of
    /// all of them to which it happened, or by group. One to which it happened before it was opened, as may be of what a forge
    /// took over from another, took no time. Up to [`MAX_GROUPED`] rows are read.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn measure_durations(
        &self,
        query: &ThreadQuery,
        kind: DurationKind,
        by: Option<ThreadGroup>,
        visibility: &Visibility,
    ) -> Result<GroupDurations, LedgerError> {
        let (has_duration, duration) = kind.expressions();
        let grouping = by.map_or_else(Grouping::whole, Grouping::from);
        let mut selection = Selection { order: Order::Main, ..query.selection() };
        selection.conditions.push(Condition::names(has_duration, &[]));
        let expressions = grouping.expressions(duration);
        let mut rows = 0;
        let mut durations: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        self.read(|connection| {
            selection.for_each(connection, Reader(visibility), MAX_GROUPED + 1, expressions, |value, seconds| {
                rows += 1;
                if let (Some(group), Some(seconds)) = (grouping.group_of(value), seconds) {
                    durations.entry(group).or_default().push(seconds.unsigned_abs());
                }
            })
        })?;
        let groups = durations.into_iter().map(|(group, seconds)| (group, Durations::of(seconds))).collect();
        Ok(GroupDurations { groups, is_complete: rows <= MAX_GROUPED })
    }
}

/// The number that a percent of sorted numbers do not exceed, rounded down: between two of them in proportion, as
/// `percentile_cont` of SQL has it. `None` of no numbers.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let place = sorted.len().checked_sub(1)? * percent;
    let (below, rest) = (place / 100, place % 100);
    let low = sorted[below];
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    Some(low + (high - low) * rest as u64 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_exact_and_rounded_down() {
        for (seconds, median, p90, mean) in [
            (vec![7], 7, 7, 7),
            (vec![20, 10], 15, 19, 15),
            (vec![3, 1, 2], 2, 2, 2),
            (vec![6, 5, 5, 5], 5, 5, 5),
            (vec![0, 0, 100], 0, 80, 33),
            ((0..=100).rev().collect(), 50, 90, 50),
        ] {
            let count = seconds.len() as u64;
            let expected = Durations { count, median: Some(median), p90: Some(p90), mean: Some(mean) };
            assert_eq!(Durations::of(seconds.clone()), expected, "{seconds:?}");
        }
        assert_eq!(Durations::of(vec![]), Durations { count: 0, median: None, p90: None, mean: None });
    }

    /// Of numbers in equal steps every percentile is that part of the way from the first to the last.
    #[test]
    fn percentiles_of_equal_steps_are_parts_of_the_whole_way() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..1000 {
            let (first, step, count) = (random.u64(..1 << 40), random.u64(..1 << 20), random.u64(1..200));
            let mut seconds: Vec<u64> = (0..count).map(|place| first + place * step).collect();
            random.shuffle(&mut seconds);
            let way = (count - 1) * step;
            let (median, p90) = (Some(first + way * 50 / 100), Some(first + way * 90 / 100));
            let expected = Durations { count, median, p90, mean: Some(first + way / 2) };
            assert_eq!(Durations::of(seconds), expected, "{count} from {first} in steps of {step}");
        }
    }

    #[test]
    fn figures_are_between_the_shortest_and_the_longest() {
        let mut random = fastrand::Rng::with_seed(2);
        for _ in 0..1000 {
            let seconds: Vec<u64> = (0..random.u64(1..50)).map(|_| random.u64(..1000)).collect();
            let (shortest, longest) = (seconds.iter().min().copied(), seconds.iter().max().copied());
            let found = Durations::of(seconds.clone());
            assert!(shortest <= found.median && found.median <= found.p90 && found.p90 <= longest, "{seconds:?}");
            assert!(shortest <= found.mean && found.mean <= longest, "{seconds:?}");
        }
    }
}
