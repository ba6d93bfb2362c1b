//! Scoring: the parts of a score, the weights of a ranking profile, reciprocal rank fusion. Computing the parts belongs
//! to `engine::search`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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

/// What a hit is ranked by, each 0 to 1. A part without a weight is not computed, and 0, but for the relationship of what
/// only the graph found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Parts {
    /// How near its passages are to the query's meaning.
    pub semantic: f32,
    /// How many of the query's words it has, in all and in one passage, rare ones counting more.
    pub lexical: f32,
    /// How new it is.
    pub recency: f32,
    /// How much it weighs among its kind.
    pub importance: f32,
    /// How near it is in the graph to what the query names and, where that counts, to what matches best.
    pub relationship: f32,
    /// Whether it is by somebody the query names.
    pub author: f32,
}

impl Parts {
    /// Every part with its name.
    pub fn named(&self) -> [(&'static str, f32); 6] {
        let Self { semantic, lexical, recency, importance, relationship, author } = *self;
        [
            ("semantic", semantic),
            ("lexical", lexical),
            ("recency", recency),
            ("importance", importance),
            ("relationship", relationship),
            ("author", author),
        ]
    }

    /// Sets the part of that name, if there is one.
    pub fn set(&mut self, name: &str, value: f32) {
        let Self { semantic, lexical, recency, importance, relationship, author } = self;
        match name {
            "semantic" => *semantic = value,
            "lexical" => *lexical = value,
            "recency" => *recency = value,
            "importance" => *importance = value,
            "relationship" => *relationship = value,
            "author" => *author = value,
            _ => {}
        }
    }

    /// The sum of all parts.
    pub fn sum(&self) -> f32 {
        self.named().iter().map(|(_, part)| part).sum()
    }

    /// All parts divided by the same number.
    pub fn divided_by(self, divisor: f32) -> Self {
        let Self { semantic, lexical, recency, importance, relationship, author } = self;
        Self {
            semantic: semantic / divisor,
            lexical: lexical / divisor,
            recency: recency / divisor,
            importance: importance / divisor,
            relationship: relationship / divisor,
            author: author / divisor,
        }
    }

    /// The weighted sum.
    pub fn score(&self, weights: &Parts) -> f32 {
        self.named().iter().zip(weights.named()).map(|((_, part), (_, weight))| part * weight).sum()
    }
}

/// What a search compares the query with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Mode {
    /// Words and meaning.
    #[default]
    Hybrid,
    /// Words.
    Lexical,
    /// Meaning.
    Semantic,
}

impl Mode {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Lexical => "lexical",
            Self::Semantic => "semantic",
        }
    }
}

/// How the parts become a score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Profile {
    /// Meaning and words.
    ///
    /// These weights did best on questions about a real project: see docs/benchmarks.md.
    #[default]
    Default,
    /// New and important things first.
    Gitmemory,
    /// Reciprocal rank fusion of meaning and words, with k = 60.
    Rrf,
}

impl Profile {
    /// Its weights.
    pub fn weights(self) -> Parts {
        match self {
            Self::Default | Self::Rrf => Parts { semantic: 0.5, lexical: 0.5, author: 0.1, ..Parts::default() },
            Self::Gitmemory => {
                Parts { semantic: 0.4, lexical: 0.0, recency: 0.2, importance: 0.2, relationship: 0.15, author: 0.05 }
            }
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Gitmemory => "gitmemory",
            Self::Rrf => "rrf",
        }
    }
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

    #[test]
    fn score_is_the_weighted_sum_of_the_parts() {
        let parts = Parts { semantic: 0.5, lexical: 1.0, ..Parts::default() };
        assert!((parts.score(&Profile::Default.weights()) - 0.75).abs() < 1e-6);
        assert!((parts.score(&Profile::Gitmemory.weights()) - 0.2).abs() < 1e-6);
    }

    #[test]
    fn weights_divided_by_their_sum_score_1_at_most() {
        let all = Parts { semantic: 1.0, lexical: 1.0, recency: 1.0, importance: 1.0, relationship: 0.5, author: 0.5 };
        let weights = all.divided_by(all.sum());
        assert!((weights.sum() - 1.0).abs() < 1e-6 && (weights.author - 0.1).abs() < 1e-6);
        assert!(all.score(&weights) <= 1.0);
    }

    proptest! {
        #[test]
        fn order_of_the_lists_does_not_matter(a in prop::collection::vec(0u8..50, 0..30), b in prop::collection::vec(0u8..50, 0..30)) {
            let ab = fuse_ranks(&[a.clone(), b.clone()], RRF_K);
            let ba = fuse_ranks(&[b, a], RRF_K);
            prop_assert_eq!(ab, ba);
        }
    }
}
