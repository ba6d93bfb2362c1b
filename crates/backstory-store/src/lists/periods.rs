//! Periods of time, and the gaps between those in which something happened.

use std::collections::BTreeMap;

use jiff::{
    ToSpan as _,
    civil::{Date, Weekday},
};
use serde::{Deserialize, Serialize};

/// How long a group lasts, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// A day.
    Day,
    /// A week from Monday on.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

impl Period {
    /// The first day of the one that a day belongs to.
    pub fn start(self, day: Date) -> Date {
        match self {
            Self::Day => day,
            Self::Week => {
                let since_monday = i64::from(day.weekday().since(Weekday::Monday));
                day.checked_sub(since_monday.days()).unwrap_or(day)
            }
            Self::Month => day.first_of_month(),
            Self::Year => day.first_of_year(),
        }
    }

    /// The first day of the one after that which begins on a day; `None` at the end of time.
    fn next(self, start: Date) -> Option<Date> {
        let length = match self {
            Self::Day => 1.day(),
            Self::Week => 1.week(),
            Self::Month => 1.month(),
            Self::Year => 1.year(),
        };
        start.checked_add(length).ok()
    }

    /// How many there are between two that begin on these days.
    fn count_between(self, start: Date, end: Date) -> usize {
        let days = || start.duration_until(end).as_hours() / 24;
        let years = i64::from(end.year()) - i64::from(start.year());
        let steps = match self {
            Self::Day => days(),
            Self::Week => days() / 7,
            Self::Month => 12 * years + i64::from(end.month()) - i64::from(start.month()),
            Self::Year => years,
        };
        usize::try_from(steps - 1).unwrap_or(0)
    }
}

/// Adds the empty periods from the one that has a first day to the one that has a last day, unless there are more than `most`.
pub(super) fn fill_range<T>(
    periods: &mut BTreeMap<Date, T>,
    period: Period,
    (first, last): (Date, Date),
    most: usize,
    empty: impl Fn(Date) -> T,
) {
    let (mut start, last) = (period.start(first), period.start(last));
    if start > last || period.count_between(start, last) + 1 >= most {
        return;
    }
    loop {
        periods.entry(start).or_insert_with(|| empty(start));
        match period.next(start) {
            Some(next) if next <= last => start = next,
            _ => break,
        }
    }
}

/// Adds the empty periods between others, those of the shortest gaps first, as long as there are no more than `most`.
///
/// A wrong date far from all others leaves a gap and does not keep the rest from being filled.
pub(super) fn fill_gaps<T>(periods: &mut BTreeMap<Date, T>, period: Period, most: usize, empty: impl Fn(Date) -> T) {
    let mut room = most.saturating_sub(periods.len());
    let starts: Vec<Date> = periods.keys().copied().collect();
    let mut gaps: Vec<(usize, Date)> =
        starts.windows(2).map(|pair| (period.count_between(pair[0], pair[1]), pair[0])).collect();
    gaps.sort_unstable();
    for (length, before) in gaps {
        if length > room {
            break;
        }
        room -= length;
        let mut start = before;
        for _ in 0..length {
            let Some(next) = period.next(start) else { break };
            periods.entry(next).or_insert_with(|| empty(next));
            start = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Date {
        text.parse().unwrap()
    }

    fn filled(period: Period, most: usize, days: &[&str]) -> Vec<(String, u64)> {
        let mut periods: BTreeMap<Date, u64> = days.iter().map(|text| (period.start(day(text)), 1)).collect();
        fill_gaps(&mut periods, period, most, |_| 0);
        periods.into_iter().map(|(start, count)| (start.to_string(), count)).collect()
    }

    #[test]
    fn periods_between_others_are_there_with_zero() {
        for (period, days, expected) in [
            (Period::Day, ["2024-02-27", "2024-03-01"], vec!["2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01"]),
            (Period::Week, ["2023-12-31", "2024-01-10"], vec!["2023-12-25", "2024-01-01", "2024-01-08"]),
            (Period::Month, ["2023-11-30", "2024-02-29"], vec!["2023-11-01", "2023-12-01", "2024-01-01", "2024-02-01"]),
            (Period::Year, ["2022-05-01", "2024-01-01"], vec!["2022-01-01", "2023-01-01", "2024-01-01"]),
        ] {
            let found = filled(period, 100, &days);
            let starts: Vec<&str> = found.iter().map(|(start, _)| start.as_str()).collect();
            assert_eq!(starts, expected);
            let (first, last) = (found[0].1, found[found.len() - 1].1);
            assert_eq!((first, last, found.iter().map(|(_, count)| count).sum::<u64>()), (1, 1, 2));
        }
    }

    #[test]
    fn every_period_of_a_range_is_there_unless_there_are_too_many() {
        let starts = |period: Period, most: usize, first: &str, last: &str| -> Vec<String> {
            let mut periods: BTreeMap<Date, u64> = BTreeMap::from([(period.start(day("2025-03-12")), 1)]);
            fill_range(&mut periods, period, (day(first), day(last)), most, |_| 0);
            assert_eq!(periods.values().sum::<u64>(), 1);
            periods.keys().map(ToString::to_string).collect()
        };
        let weeks = ["2025-03-03", "2025-03-10", "2025-03-17", "2025-03-24"];
        assert_eq!(starts(Period::Week, 100, "2025-03-05", "2025-03-30"), weeks);
        assert_eq!(starts(Period::Month, 100, "2025-02-28", "2025-03-12"), ["2025-02-01", "2025-03-01"]);
        assert_eq!(starts(Period::Day, 100, "2025-03-12", "2025-03-12"), ["2025-03-12"]);
        assert_eq!(starts(Period::Year, 3, "2023-05-01", "2025-12-31"), ["2023-01-01", "2024-01-01", "2025-01-01"]);
        assert_eq!(starts(Period::Year, 2, "2023-05-01", "2025-12-31"), ["2025-01-01"]);
    }

    #[test]
    fn a_wrong_date_leaves_a_gap_and_the_rest_is_filled() {
        let found = filled(Period::Day, 10, &["1970-01-01", "2024-03-01", "2024-03-04", "2099-01-01"]);
        let starts: Vec<&str> = found.iter().map(|(start, _)| start.as_str()).collect();
        assert_eq!(starts, ["1970-01-01", "2024-03-01", "2024-03-02", "2024-03-03", "2024-03-04", "2099-01-01"]);
        assert_eq!(filled(Period::Day, 2, &["2024-03-01", "2024-03-04"]).len(), 2);
        assert_eq!(filled(Period::Day, 1, &["2024-03-01", "2024-03-02"]).len(), 2);
        assert_eq!(filled(Period::Week, 10, &["2024-03-01"]).len(), 1);
        assert!(filled(Period::Week, 10, &[]).is_empty());
    }
}
