//! The words of a question by which a pack recognizes texts about it. Those of search are in [`terms`](crate::terms).

use std::collections::BTreeSet;

use crate::text::{stem, words};

/// Most words that count.
const MAX_TERMS: usize = 64;
/// Shortest word that tells one text from another.
const MIN_WORD: usize = 3;
/// Longest token of a text that is looked at, in bytes; longer ones are data.
const MAX_TOKEN: usize = 200;

/// Words that stand in any question.
const COMMON: &[&str] = &[
    "about", "after", "all", "and", "any", "are", "because", "been", "before", "being", "but", "can", "code", "could",
    "did", "does", "done", "for", "from", "had", "has", "have", "how", "instead", "into", "its", "just", "like",
    "made", "make", "need", "not", "now", "off", "one", "only", "our", "out", "over", "should", "some", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "use", "used", "using", "was", "way",
    "were", "what", "when", "where", "which", "while", "who", "why", "will", "with", "without", "would", "you", "your",
];

/// The words of a question, in the form that their forms share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionTerms {
    /// Each with the word as it was asked.
    terms: Vec<(String, String)>,
}

impl QuestionTerms {
    /// Those of a question. If it has common words only, these count.
    pub fn of(question: &str) -> Self {
        let all = words(question);
        let long = |word: &&String| word.chars().count() >= MIN_WORD;
        let telling: Vec<&String> =
            all.iter().filter(long).filter(|word| !COMMON.contains(&word.as_str())).take(MAX_TERMS).collect();
        let chosen = if telling.is_empty() { all.iter().take(MAX_TERMS).collect() } else { telling };
        let mut seen = BTreeSet::new();
        let terms = chosen.into_iter().map(|word| (stem(word), word.clone()));
        Self { terms: terms.filter(|(stem, _)| seen.insert(stem.clone())).collect() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// How many different ones a text has.
    pub fn count_matches(&self, text: &str) -> usize {
        self.found(text).iter().filter(|found| **found).count()
    }

    /// The words that none of the texts has, as they were asked.
    pub fn in_none_of<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Vec<&str> {
        let mut found = vec![false; self.terms.len()];
        for text in texts {
            for (known, now) in found.iter_mut().zip(self.found(text)) {
                *known |= now;
            }
        }
        self.terms.iter().zip(found).filter(|(_, found)| !found).map(|((_, word), _)| word.as_str()).collect()
    }

    /// Of each term, whether a word of the text begins with it, or a part of an identifier does.
    fn found(&self, text: &str) -> Vec<bool> {
        let mut found = vec![false; self.terms.len()];
        for token in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|token| token.len() <= MAX_TOKEN) {
            if token.is_empty() {
                continue;
            }
            let lower = token.to_lowercase();
            for ((term, _), found) in self.terms.iter().zip(found.iter_mut()).filter(|(_, found)| !**found) {
                *found = begins_a_part(token, &lower, term);
            }
        }
        found
    }
}

/// Whether a part of a token begins with the term: the token itself, what follows `_`, or a capital in its middle.
fn begins_a_part(token: &str, lower: &str, term: &str) -> bool {
    lower.match_indices(term).any(|(at, _)| {
        let before = lower[..at].chars().next_back();
        let hump = token.len() == lower.len() && token[at..].starts_with(char::is_uppercase);
        before.is_none_or(|before| before == '_') || hump
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn forms_and_parts_of_identifiers_count() {
        let terms = QuestionTerms::of("Why are the tokens rotated when a session expires?");
        assert_eq!(terms.count_matches("Rotating a token of the session"), 3);
        assert_eq!(terms.count_matches("rotate_token(userSession)"), 3);
        assert_eq!(terms.count_matches("obsession"), 0);
        assert_eq!(terms.in_none_of(["a token", "rotation"].into_iter()), ["session", "expires"]);
        assert_eq!(QuestionTerms::of("why is it so").count_matches("why so"), 2);
        assert!(QuestionTerms::of("?!").is_empty());
    }

    proptest! {
        #[test]
        fn a_question_shares_all_its_words_with_itself(question in "\\PC{0,45}") {
            let terms = QuestionTerms::of(&question);
            prop_assert!(terms.in_none_of([question.as_str()].into_iter()).is_empty());
        }
    }
}
