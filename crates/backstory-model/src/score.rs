//! Scoring arithmetic: reciprocal ranks, normalisation, weighted sums.

use std::collections::BTreeMap;

/// The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009).
pub const RRF_K: f32 = 60.0;

/// Fuses ranked lists: each adds `1 / (k + rank)` for a key, ranks counted from 1. The best score comes first, keys
/// with equal scores in their own order, so the result is deterministic. A key counts once per list, where it ranks
/// best.
pub fn fuse_ranks<K: Ord + Clone>(lists: &[Vec<K>], k: f32) -> Vec<(K, f32)> {
    let mut scores: BTreeMap<K, f32> = BTreeMap::new();
    for list in lists {
        let mut seen = std::collections::BTreeSet::new();
        let distinct = list.iter().filter(|key| seen.insert((*key).clone()));
        for (rank, key) in (1u16..).zip(distinct) {
            *scores.entry(key.clone()).or_default() += 1.0 / (k + f32::from(rank));
        }
    }
    sorted(scores)
}

/// Sorts by score, best first, equal scores by key.
pub fn sorted<K: Ord>(scores: impl IntoIterator<Item = (K, f32)>) -> Vec<(K, f32)> {
    let mut ranked: Vec<_> = scores.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    ranked
}

/// Spreads scores over 0, the worst, to 1, the best; equal scores all become 1.
pub fn spread_to_unit<K: Ord>(scores: BTreeMap<K, f32>) -> BTreeMap<K, f32> {
    let worst = scores.values().copied().fold(f32::INFINITY, f32::min);
    let best = scores.values().copied().fold(f32::NEG_INFINITY, f32::max);
    let spread = |score: f32| if best > worst { (score - worst) / (best - worst) } else { 1.0 };
    scores.into_iter().map(|(key, score)| (key, spread(score))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn computes_rrf_score_with_k_60() {
        let fused = fuse_ranks(&[vec!["a", "b"], vec!["b", "c"]], RRF_K);
        assert_eq!(fused[0], ("b", 1.0 / 62.0 + 1.0 / 61.0));
        assert_eq!(fused[1], ("a", 1.0 / 61.0));
        assert_eq!(fused[2], ("c", 1.0 / 62.0));
    }

    #[test]
    fn handles_documents_in_only_one_list() {
        let fused = fuse_ranks(&[vec!["x"], vec![]], RRF_K);
        assert_eq!(fused, vec![("x", 1.0 / 61.0)]);
    }

    #[test]
    fn equal_scores_keep_the_order_of_their_keys() {
        let fused = fuse_ranks(&[vec!["b"], vec!["a"]], RRF_K);
        assert_eq!(fused.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["a", "b"]);
    }

    proptest! {
        #[test]
        fn order_of_the_lists_does_not_matter(a in prop::collection::vec(0u8..50, 0..30), b in prop::collection::vec(0u8..50, 0..30)) {
            let ab = fuse_ranks(&[a.clone(), b.clone()], RRF_K);
            let ba = fuse_ranks(&[b, a], RRF_K);
            prop_assert_eq!(ab, ba);
        }

        #[test]
        fn spreading_keeps_the_order_and_stays_in_bounds(scores in prop::collection::btree_map(0u8..50, -5f32..5.0, 1..20)) {
            let spread = spread_to_unit(scores.clone());
            for (key, a) in &spread {
                prop_assert!((0.0..=1.0).contains(a));
                for (other, b) in &spread {
                    prop_assert!(scores[key] > scores[other] || a <= b);
                }
            }
        }
    }
}
