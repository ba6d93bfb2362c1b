//! The features that support an inferred link, and their weights.
//!
//! The weights are those of a logistic regression over the earlier three fifths of the merged requests of a C library,
//! rounded; the later two fifths measured them (`backstory eval --links`). Whether a change closes the issue cannot be
//! determined: even of the most likely links, hardly more than half do.

/// Least confidence of a link that is told, unless configured otherwise.
pub const DEFAULT_CONFIDENCE: f32 = 0.82;
/// Highest confidence of an inferred link.
const MOST_CONFIDENCE: f32 = 0.99;
/// Days in which an issue that nobody mentions becomes less likely by a factor e.
const QUIET: f32 = 14.0;
/// Days after which the time of the last note counts nothing: it does not support the link.
const MENTIONED_DAYS: f32 = 30.0;
/// Names that count, the rarest.
pub(super) const MAX_NAMES: usize = 3;
/// What the rarity of names is divided by, so that three rare ones are about 1.
const NAMES: f32 = 15.0;

/// What is the same about a change and an issue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// Cosine of their nearest vectors, -1 to 1; `None` if one has none.
    pub semantic: Option<f32>,
    /// Cosine of their words, rare ones counting more, 0 to 1.
    pub words: f32,
    /// The words that count most.
    pub shared: Vec<String>,
    /// Names that the issue mentions and the change touches, the rarest first, at most three.
    pub touched: Vec<SharedName>,
    /// Whether the author commented on the issue before the change was begun.
    pub took_part: bool,
    /// Days between the last word on the issue and the beginning of the change; 0 if it was opened later.
    pub quiet_days: f32,
}

/// A name that an issue mentions and a change touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedName {
    /// The name.
    pub name: String,
    /// In how many texts of issues and changes it stands.
    pub texts: u32,
    /// How many texts there are.
    pub of: u32,
}

impl SharedName {
    /// How rare it is: the logarithm of the share, without its sign.
    fn rarity(&self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "counts of texts are far below 2^24")]
        let share = self.of.max(1) as f32 / self.texts.max(1) as f32;
        share.ln().max(0.0)
    }
}

/// One piece of evidence for a link.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureContribution {
    /// What it is: `semantic`, `words`, `names`, `took_part`, `alive`.
    pub name: &'static str,
    /// What it adds to the score.
    pub value: f32,
    /// It in words; empty if there is nothing to say.
    pub evidence: String,
}

/// How likely a link is.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkScore {
    /// The sum of the parts and a constant: a logarithm of odds.
    pub value: f32,
    /// How likely the link is right, 0 to 1.
    pub confidence: f32,
    /// What it is made of.
    pub parts: Vec<FeatureContribution>,
}

/// What each part counts.
struct Weights {
    semantic: f32,
    words: f32,
    names: f32,
    took_part: f32,
    alive: f32,
    constant: f32,
    /// What the score is multiplied by and then added to, for the logarithm of the odds that the best issue of a change
    /// is right.
    sure: (f32, f32),
}

const WITH_VECTORS: Weights =
    Weights { semantic: 10.0, words: 10.0, names: 2.0, took_part: 2.0, alive: 2.5, constant: -12.4, sure: (0.7, 0.8) };
const WITHOUT_VECTORS: Weights =
    Weights { semantic: 0.0, words: 20.0, names: 2.5, took_part: 2.2, alive: 2.9, constant: -9.7, sure: (0.7, 0.8) };

impl Features {
    /// How likely the link is.
    pub fn score(&self) -> LinkScore {
        let weights = self.weights();
        let rarity: f32 = self.touched.iter().take(MAX_NAMES).map(SharedName::rarity).sum();
        let alive = (-self.quiet_days.max(0.0) / QUIET).exp();
        let parts = [
            ("semantic", weights.semantic * self.semantic.unwrap_or_default().max(0.0), self.of_meaning()),
            ("words", weights.words * self.words, self.of_words()),
            ("names", weights.names * rarity / NAMES, self.of_names()),
            ("took_part", weights.took_part * f32::from(u8::from(self.took_part)), self.of_author()),
            ("alive", weights.alive * alive, self.of_time()),
        ];
        let parts: Vec<FeatureContribution> = parts
            .into_iter()
            .filter(|(_, value, _)| *value > 0.0)
            .map(|(name, value, evidence)| FeatureContribution { name, value, evidence })
            .collect();
        let value = parts.iter().map(|part| part.value).sum::<f32>() + weights.constant;
        let (slope, offset) = weights.sure;
        LinkScore { value, confidence: logistic(slope * value + offset).min(MOST_CONFIDENCE), parts }
    }

    /// The highest confidence that there can be, whatever the vectors say.
    pub(super) fn max_confidence(&self) -> f32 {
        let nearest = Self { semantic: self.semantic.map(|_| 1.0), shared: vec![], ..self.clone() };
        nearest.score().confidence
    }

    fn weights(&self) -> &'static Weights {
        if self.semantic.is_some() { &WITH_VECTORS } else { &WITHOUT_VECTORS }
    }

    fn of_meaning(&self) -> String {
        format!("their texts mean much the same ({:.2})", self.semantic.unwrap_or_default())
    }

    fn of_words(&self) -> String {
        if self.shared.is_empty() {
            return String::new();
        }
        format!("shares the words {} ({:.2})", self.shared.join(", "), self.words)
    }

    fn of_names(&self) -> String {
        let named = self.touched.iter().take(MAX_NAMES).map(|of| match of.texts.saturating_sub(1) {
            0 => format!("{}, which nothing else names", of.name),
            1 => format!("{}, which 1 other text names", of.name),
            others => format!("{}, which {others} other texts name", of.name),
        });
        let named: Vec<String> = named.collect();
        if named.is_empty() { String::new() } else { format!("changes {}", named.join("; ")) }
    }

    fn of_author(&self) -> String {
        if self.took_part { "its author had commented on the issue".to_owned() } else { String::new() }
    }

    fn of_time(&self) -> String {
        let days = self.quiet_days.max(0.0);
        match days.round() {
            _ if days > MENTIONED_DAYS => String::new(),
            days if days < 1.0 => "begun on the day of the last word on the issue".to_owned(),
            days if days < 2.0 => "begun a day after the last word on the issue".to_owned(),
            days => format!("begun {days:.0} days after the last word on the issue"),
        }
    }
}

impl LinkScore {
    /// The evidence for it, a sentence each, the strongest first.
    pub fn evidence(&self) -> Vec<String> {
        let mut parts: Vec<&FeatureContribution> = self.parts.iter().filter(|part| !part.evidence.is_empty()).collect();
        parts.sort_by(|a, b| b.value.total_cmp(&a.value).then_with(|| a.name.cmp(b.name)));
        parts.into_iter().map(|part| part.evidence.clone()).collect()
    }
}

fn logistic(odds: f32) -> f32 {
    1.0 / (1.0 + (-odds).exp())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    fn touched(name: &str, texts: u32) -> SharedName {
        SharedName { name: name.to_owned(), texts, of: 1000 }
    }

    fn strong() -> Features {
        Features {
            semantic: Some(0.7),
            words: 0.4,
            shared: vec!["scratch".into(), "space".into()],
            touched: vec![touched("ecdh_hash", 1), touched("ecmult_gen", 3)],
            took_part: true,
            quiet_days: 3.0,
        }
    }

    #[test]
    fn evidence_is_told_the_strongest_first() {
        let score = strong().score();
        expect![[r#"
            their texts mean much the same (0.70)
            shares the words scratch, space (0.40)
            begun 3 days after the last word on the issue
            its author had commented on the issue
            changes ecdh_hash, which nothing else names; ecmult_gen, which 2 other texts name"#]]
        .assert_eq(&score.evidence().join("\n"));
        assert!(score.confidence > 0.97, "{score:?}");
    }

    #[test]
    fn nothing_in_common_is_no_link() {
        let score = Features { quiet_days: 400.0, ..Features::default() }.score();
        assert!(score.confidence < 0.01 && score.evidence().is_empty(), "{score:?}");
    }

    fn some() -> impl Strategy<Value = Features> {
        let names = prop::collection::vec(1u32..1000, 0..5);
        let semantic = prop::option::of(-1.0f32..1.0);
        (semantic, 0.0f32..1.0, names, any::<bool>(), -10.0f32..1000.0).prop_map(
            |(semantic, words, names, took_part, quiet_days)| Features {
                semantic,
                words,
                shared: vec![],
                touched: names.into_iter().map(|texts| touched("name", texts)).collect(),
                took_part,
                quiet_days,
            },
        )
    }

    proptest! {
        #[test]
        fn score_is_the_sum_of_its_parts_and_confidence_follows_it(features in some()) {
            let score = features.score();
            let sum: f32 = score.parts.iter().map(|part| part.value).sum();
            prop_assert!((score.value - sum - features.weights().constant).abs() < 1e-4);
            prop_assert!((0.0..=1.0).contains(&score.confidence));
            prop_assert!(score.parts.iter().all(|part| part.value > 0.0));
        }

        #[test]
        fn whatever_is_more_alike_is_no_less_likely(features in some(), more in 0.0f32..0.5) {
            let before = features.score();
            let nearer = Features { semantic: features.semantic.map(|of| of + more), ..features.clone() };
            let wordier = Features { words: features.words + more, ..features.clone() };
            let sooner = Features { quiet_days: features.quiet_days - more, ..features.clone() };
            let part = Features { took_part: true, ..features.clone() };
            for other in [nearer, wordier, sooner, part] {
                let after = other.score();
                prop_assert!(after.value >= before.value - 1e-4 && after.confidence >= before.confidence - 1e-6);
            }
        }

        #[test]
        fn no_vector_makes_it_likelier_than_at_best(features in some()) {
            prop_assert!(features.score().confidence <= features.max_confidence() + 1e-6);
        }
    }
}
