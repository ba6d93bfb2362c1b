//! Checks whether a sentence of a language model says only what the passages it cites say: a pure function.

use std::{collections::BTreeSet, ops::Range, sync::LazyLock};

use backstory_model::{
    sentence::{exact_words, split_sentences, stems},
    text::{has_stem, words},
};
use regex::Regex;

/// Share of a sentence's content words that the cited passages must have.
const LEAST_SHARE: f32 = 0.6;

static CITED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[\s*(\d{1,3}(?:\s*,\s*\d{1,3})*)\s*\]").expect("the pattern is constant"));
static AFTER_STOP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"([.!?])\s*((?:\[\s*\d{1,3}(?:\s*,\s*\d{1,3})*\s*\]\s*)+)").expect("the pattern is constant")
});

/// A sentence as a model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    /// Without the numbers of what it cites.
    pub(super) text: String,
    /// The numbers, each once.
    pub(super) cites: Vec<usize>,
}

/// Cuts what a model writes into sentences while it comes.
#[derive(Debug, Default)]
pub(super) struct Sentences {
    buffer: String,
}

impl Sentences {
    /// Adds a part; the sentences that are complete now. A number may follow the full stop, so a sentence is complete
    /// when the next one has begun.
    pub(super) fn push(&mut self, part: &str) -> Vec<Sentence> {
        self.buffer.push_str(part);
        // What looks like the end of a sentence may stand in a code span that is still open.
        if self.buffer.matches('`').count() % 2 == 1 {
            return vec![];
        }
        let ready = self.ranges();
        let complete = ready.len().saturating_sub(1);
        let begun = ready.last().is_some_and(|last| self.buffer[last.clone()].starts_with(char::is_alphanumeric));
        if complete == 0 || !begun {
            return vec![];
        }
        let sentences = ready[..complete].iter().map(|range| sentence(&self.buffer[range.clone()])).collect();
        self.buffer.drain(..ready[complete].start);
        sentences
    }

    /// The sentences that are left at the end.
    pub(super) fn end(mut self) -> Vec<Sentence> {
        self.ranges().into_iter().map(|range| sentence(&self.buffer[range])).collect()
    }

    fn ranges(&mut self) -> Vec<Range<usize>> {
        // `… is so. [1] Then` → `… is so [1]. Then`
        let moved = AFTER_STOP
            .replace_all(&self.buffer, |found: &regex::Captures<'_>| format!(" {}{} ", found[2].trim_end(), &found[1]));
        if let std::borrow::Cow::Owned(moved) = moved {
            self.buffer = moved;
        }
        split_sentences(&self.buffer).into_iter().map(|piece| piece.range).collect()
    }
}

fn sentence(text: &str) -> Sentence {
    let mut cites = Vec::new();
    for numbers in CITED.captures_iter(text) {
        for number in numbers[1].split(',').filter_map(|number| number.trim().parse().ok()) {
            if !cites.contains(&number) {
                cites.push(number);
            }
        }
    }
    let bare = CITED.replace_all(text, "");
    let bare = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    let bare = [" .", " ,", " !", " ?", " ;", " :"].iter().fold(bare, |text, gap| text.replace(gap, gap.trim_start()));
    Sentence { text: bare, cites }
}

/// Why a sentence is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropReason {
    /// It cites nothing.
    NoCitation,
    /// It cites what it was not given.
    UnknownCitation,
    /// It says more than what it cites.
    Unsupported,
    /// A number or identifier in it stands in nothing that it cites.
    MadeUp,
    /// It denies, and nothing that it cites does.
    Denies,
}

/// Checks a sentence against the texts of the passages, numbered from 1.
///
/// # Errors
/// Why it does not hold.
pub(super) fn check(sentence: &Sentence, passages: &[String]) -> Result<(), DropReason> {
    share_in(&sentence.text, &sentence.cites, passages).map(drop)
}

/// Share of a sentence's content words that stand in the passages that it cites, numbered from 1: enough of them.
///
/// # Errors
/// Why it does not hold.
pub(crate) fn share_in(text: &str, cites: &[usize], passages: &[String]) -> Result<f32, DropReason> {
    if cites.is_empty() {
        return Err(DropReason::NoCitation);
    }
    // It repeats how passages are told apart.
    if text.contains("<<<") || text.contains(">>>") {
        return Err(DropReason::Unsupported);
    }
    let mut cited = String::new();
    for number in cites {
        let passage = number.checked_sub(1).and_then(|place| passages.get(place)).ok_or(DropReason::UnknownCitation)?;
        cited.push_str(passage);
        cited.push('\n');
    }
    let said = stems(text);
    let there = stems(&cited);
    let covered = said.iter().filter(|stem| has_stem(&there, stem)).count() as f32;
    if said.is_empty() || covered < LEAST_SHARE * said.len() as f32 {
        return Err(DropReason::Unsupported);
    }
    if has_invented_terms(text, &words(&cited).into_iter().collect()) {
        return Err(DropReason::MadeUp);
    }
    if contains_negation(text) && !contains_negation(&cited) {
        return Err(DropReason::Denies);
    }
    Ok(covered / said.len() as f32)
}

/// Whether a text has a number or identifier that is not among these words.
pub(crate) fn has_invented_terms(text: &str, known: &BTreeSet<String>) -> bool {
    exact_words(text).iter().any(|word| !known.contains(word))
}

/// The sentences of a text that have no number or identifier that the source lacks.
pub(crate) fn without_made_up(text: &str, source: &str) -> String {
    let known: BTreeSet<String> = words(source).into_iter().collect();
    let mut sentences = Sentences::default();
    let ready = sentences.push(text);
    let all = ready.into_iter().chain(sentences.end()).map(|sentence| sentence.text);
    all.filter(|text| !has_invented_terms(text, &known)).collect::<Vec<_>>().join(" ")
}

fn contains_negation(text: &str) -> bool {
    const WORDS: [&str; 9] = ["not", "no", "never", "none", "cannot", "nobody", "nothing", "without", "neither"];
    let lower = text.to_lowercase().replace('’', "'");
    lower.contains("n't") || words(&lower).iter().any(|word| WORDS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_that_arrive_in_parts_are_those_of_the_whole() {
        let text = "It is `flag ? 1 : 0` [2]. Then it ends. [1] It is `so. And Not` else. A stray ` stays. The end.";
        let mut whole = Sentences::default();
        let mut expected: Vec<String> = whole.push(text).into_iter().map(|sentence| sentence.text).collect();
        expected.extend(whole.end().into_iter().map(|sentence| sentence.text));
        assert!(expected[0].starts_with("It is `flag") && expected[0].ends_with("0`."), "{}", expected[0]);
        for size in 1..text.len() {
            let mut parts = Sentences::default();
            let mut found = Vec::new();
            for part in text.as_bytes().chunks(size) {
                found.extend(parts.push(str::from_utf8(part).unwrap()).into_iter().map(|sentence| sentence.text));
            }
            found.extend(parts.end().into_iter().map(|sentence| sentence.text));
            assert_eq!(found, expected, "parts of {size} bytes");
        }
    }
}
