//! The vectors of queries that were asked lately. The next page, the search behind an answer and a dashboard that is
//! refreshed ask for the same one again, and it takes longer than anything else that a search does.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Most queries that are kept.
const MAX_KEPT: usize = 64;

/// Queries with their vectors, the one that was asked last first.
#[derive(Debug, Default)]
pub(super) struct RecentQueries(Mutex<VecDeque<(String, Vec<f32>)>>);

impl RecentQueries {
    /// The vector of a query, if it is kept.
    pub(super) fn get(&self, query: &str) -> Option<Vec<f32>> {
        let mut kept = self.0.lock();
        let at = kept.iter().position(|(own, _)| own == query)?;
        let found = kept.remove(at)?;
        let vector = found.1.clone();
        kept.push_front(found);
        Some(vector)
    }

    /// Keeps the vector of a query, in place of that of the one that was not asked for the longest time.
    pub(super) fn insert(&self, query: &str, vector: &[f32]) {
        let mut kept = self.0.lock();
        kept.retain(|(own, _)| own != query);
        kept.push_front((query.to_owned(), vector.to_vec()));
        kept.truncate(MAX_KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_that_was_asked_last_is_kept_the_longest() {
        let recent = RecentQueries::default();
        recent.insert("first", &[0.5]);
        for number in 1..MAX_KEPT {
            recent.insert(&number.to_string(), &[1.0]);
        }
        assert_eq!(recent.get("first"), Some(vec![0.5]));
        recent.insert("another", &[1.0]);
        assert_eq!((recent.get("first"), recent.get("1"), recent.get("2")), (Some(vec![0.5]), None, Some(vec![1.0])));
    }
}
