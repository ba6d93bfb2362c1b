//! Counts what changes together: for every two ids, in how many commits both changed.
//!
//! Counts are sums, so commits may come in any order and in pieces, and one can be taken back. Memory is bounded by a
//! cap of partners that an id keeps. An id with more keeps those that come first in the order of ids, which does not
//! depend on the order of commits; as both sides of a pair keep it, it is lost only between two such ids, and only those
//! are not brought back by taking commits back.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// How much is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Commits that change more ids are ignored: they say nothing of what belongs together.
    pub commit_ids: usize,
    /// Most partners that an id keeps.
    pub partners: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { commit_ids: 30, partners: 2000 }
    }
}

/// What a pair must reach to be listed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Fewest commits in which both changed.
    pub support: u32,
    /// Least share of the first's changes in which the second changed too, 0 to 1.
    pub confidence: f32,
}

/// How often the second changed when the first did.
#[derive(Clone, Debug, PartialEq)]
pub struct CoChangePair<K> {
    /// What changed.
    pub first: K,
    /// What changed with it.
    pub second: K,
    /// Commits in which both changed.
    pub support: u32,
    /// Support divided by the number of changes of the first.
    pub confidence: f32,
}

/// Counts of changes and of changes together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "K: Ord + Deserialize<'de>"))]
pub struct CoChangeCounter<K> {
    limits: Limits,
    changes: BTreeMap<K, u32>,
    partners: BTreeMap<K, BTreeMap<K, u32>>,
}

impl<K: Ord + Clone> CoChangeCounter<K> {
    /// Without any commit.
    pub fn new(limits: Limits) -> Self {
        Self { limits, changes: BTreeMap::new(), partners: BTreeMap::new() }
    }

    /// Counts a commit by the ids it changed; one that occurs twice counts once.
    pub fn add(&mut self, ids: impl IntoIterator<Item = K>) {
        let Some(ids) = self.counted(ids) else { return };
        for id in &ids {
            *self.changes.entry(id.clone()).or_default() += 1;
            let others = ids.iter().filter(|other| *other != id);
            for other in others {
                self.raise(id, other, 1);
            }
        }
    }

    /// Takes back a commit that was counted, by the same ids.
    pub fn remove(&mut self, ids: impl IntoIterator<Item = K>) {
        let Some(ids) = self.counted(ids) else { return };
        for id in &ids {
            lower(&mut self.changes, id);
            if let Some(partners) = self.partners.get_mut(id) {
                ids.iter().filter(|other| *other != id).for_each(|other| lower(partners, other));
                if partners.is_empty() {
                    self.partners.remove(id);
                }
            }
        }
    }

    /// Adds what another accumulator with the same limits counted of other commits.
    pub fn merge(&mut self, other: &Self) {
        for (id, count) in &other.changes {
            *self.changes.entry(id.clone()).or_default() += count;
        }
        for (id, partners) in &other.partners {
            for (partner, count) in partners {
                self.raise(id, partner, *count);
            }
        }
    }

    /// How many counted commits changed the id.
    pub fn changes(&self, id: &K) -> u32 {
        self.changes.get(id).copied().unwrap_or(0)
    }

    /// In how many counted commits both changed.
    pub fn support(&self, first: &K, second: &K) -> u32 {
        let kept = |a: &K, b: &K| self.partners.get(a).and_then(|partners| partners.get(b)).copied();
        kept(first, second).or_else(|| kept(second, first)).unwrap_or(0)
    }

    /// What changes with the id, most confident first, then by support and by id.
    pub fn partners_of(&self, id: &K, thresholds: Thresholds) -> Vec<CoChangePair<K>> {
        let kept = self.partners.get(id);
        let full = kept.is_some_and(|partners| partners.len() >= self.limits.partners);
        let mut found: Vec<CoChangePair<K>> = kept
            .into_iter()
            .flatten()
            .filter_map(|(other, support)| self.pair(id, other, *support, thresholds))
            .collect();
        if full {
            let others = self.partners.iter().filter(|(other, _)| !kept.is_some_and(|kept| kept.contains_key(*other)));
            found.extend(others.filter_map(|(other, partners)| self.pair(id, other, *partners.get(id)?, thresholds)));
        }
        sort(&mut found);
        found
    }

    /// All pairs, in both directions, most confident first, then by support and by ids.
    pub fn pairs(&self, thresholds: Thresholds) -> Vec<CoChangePair<K>> {
        let mut found = Vec::new();
        for (id, partners) in &self.partners {
            for (other, support) in partners.iter().filter(|(_, support)| **support >= thresholds.support) {
                found.extend(self.pair(id, other, *support, thresholds));
                let kept_there = self.partners.get(other).is_some_and(|theirs| theirs.contains_key(id));
                if !kept_there {
                    found.extend(self.pair(other, id, *support, thresholds));
                }
            }
        }
        sort(&mut found);
        found
    }

    fn pair(&self, first: &K, second: &K, support: u32, thresholds: Thresholds) -> Option<CoChangePair<K>> {
        let changes = self.changes(first).max(1);
        let confidence = (f64::from(support) / f64::from(changes)) as f32;
        (support >= thresholds.support && confidence >= thresholds.confidence).then(|| CoChangePair {
            first: first.clone(),
            second: second.clone(),
            support,
            confidence,
        })
    }

    /// The ids of a commit; `None` if it is ignored. No more than one too many are gathered.
    fn counted(&self, ids: impl IntoIterator<Item = K>) -> Option<BTreeSet<K>> {
        let mut distinct = BTreeSet::new();
        for id in ids {
            distinct.insert(id);
            if distinct.len() > self.limits.commit_ids {
                return None;
            }
        }
        Some(distinct)
    }

    fn raise(&mut self, id: &K, partner: &K, by: u32) {
        let partners = self.partners.entry(id.clone()).or_default();
        *partners.entry(partner.clone()).or_default() += by;
        if partners.len() > self.limits.partners {
            partners.pop_last();
        }
    }
}

fn lower<K: Ord>(counts: &mut BTreeMap<K, u32>, id: &K) {
    if let Some(count) = counts.get_mut(id) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(id);
        }
    }
}

fn sort<K: Ord>(pairs: &mut [CoChangePair<K>]) {
    pairs.sort_by(|a, b| {
        let by_strength = b.confidence.total_cmp(&a.confidence).then_with(|| b.support.cmp(&a.support));
        by_strength.then_with(|| (&a.first, &a.second).cmp(&(&b.first, &b.second)))
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: Thresholds = Thresholds { support: 1, confidence: 0.0 };

    fn counted(commits: &[Vec<u8>], limits: Limits) -> CoChangeCounter<u8> {
        let mut counts = CoChangeCounter::new(limits);
        commits.iter().for_each(|commit| counts.add(commit.iter().copied()));
        counts
    }

    #[test]
    fn counts_support_and_confidence() {
        let counts = counted(&[vec![1, 2], vec![1, 2, 3], vec![1], vec![1, 1]], Limits::default());
        assert_eq!((counts.changes(&1), counts.support(&1, &2), counts.support(&2, &1)), (4, 2, 2));
        let partners = counts.partners_of(&1, Thresholds { support: 2, confidence: 0.5 });
        assert_eq!(partners, [CoChangePair { first: 1, second: 2, support: 2, confidence: 0.5 }]);
        let best = &counts.pairs(ALL)[0];
        assert_eq!((best.first, best.second, best.confidence), (2, 1, 1.0));
        assert!(counts.partners_of(&1, Thresholds { support: 3, confidence: 0.0 }).is_empty());
    }

    #[test]
    fn bulk_commits_are_ignored() {
        let limits = Limits { commit_ids: 3, partners: 10 };
        let counts = counted(&[vec![1, 2, 3, 4], vec![1, 2, 2, 1, 3]], limits);
        assert_eq!((counts.changes(&1), counts.changes(&4)), (1, 0));
    }

    #[test]
    fn a_pair_outlives_the_cap_of_one_of_its_ids() {
        let limits = Limits { commit_ids: 30, partners: 2 };
        let counts = counted(&[vec![0, 1], vec![0, 2], vec![0, 3], vec![0, 4]], limits);
        assert_eq!(counts.support(&0, &4), 1);
        assert_eq!(counts.partners_of(&0, ALL).len(), 4);
        assert_eq!(counts.pairs(ALL).len(), 8);
    }

    fn commits() -> impl Strategy<Value = Vec<Vec<u8>>> {
        prop::collection::vec(prop::collection::vec(0u8..12, 0..7), 0..25)
    }

    proptest! {
        #[test]
        fn order_and_pieces_do_not_matter(commits in commits(), shuffled in any::<u64>(), cut in 0usize..25, cap in 1usize..12) {
            let limits = Limits { commit_ids: 5, partners: cap };
            let at_once = counted(&commits, limits);
            let mut other = commits.clone();
            other.sort_by_key(|commit| commit.iter().fold(shuffled, |sum, id| sum.wrapping_mul(31).wrapping_add(u64::from(*id))));
            prop_assert_eq!(&counted(&other, limits), &at_once);
            let (first, second) = commits.split_at(cut.min(commits.len()));
            let mut pieces = counted(second, limits);
            pieces.merge(&counted(first, limits));
            prop_assert_eq!(&pieces, &at_once);
        }

        #[test]
        fn taking_a_commit_back_undoes_it(commits in commits(), extra in prop::collection::vec(0u8..12, 0..7)) {
            let limits = Limits { commit_ids: 5, partners: 12 };
            let before = counted(&commits, limits);
            let mut after = before.clone();
            after.add(extra.iter().copied());
            after.remove(extra);
            prop_assert_eq!(before, after);
        }

        #[test]
        fn memory_is_bounded_and_confidence_a_share(commits in commits(), cap in 1usize..5) {
            let counts = counted(&commits, Limits { commit_ids: 7, partners: cap });
            prop_assert!(counts.partners.values().all(|partners| partners.len() <= cap));
            prop_assert!(counts.pairs(ALL).iter().all(|pair| pair.confidence > 0.0 && pair.confidence <= 1.0));
        }
    }
}
