//! Words of a question that no document has: which of them others may stand for, and what is nearest to the rest.

use std::collections::BTreeSet;

use backstory_model::{filter::Filter, question::Question, text::words};
use backstory_store::index::{Named, ProjectScope};

use super::{
    evidence::{WeightedQuestion, occurs_nowhere},
    stories::Story,
};
use crate::{embed::Embedder, error::Result, nearest::within_typos, resources::Resources};

/// Fewest letters that two words begin with alike to be forms of one.
const MIN_SHARED: usize = 5;
/// Letters of a word for each of which another one may have a typo.
const LETTERS_PER_TYPO: usize = 4;
/// Shortest word that is told as the nearest, in letters.
const MIN_LETTERS: usize = 4;
/// Most paths whose names are compared.
const MAX_PATHS: usize = 100_000;

/// Marks the words of a question that no document has and that others may stand for: common ones, and those that begin
/// like a word that was read.
pub(super) fn mark_familiar_words(
    asked: &mut WeightedQuestion,
    question: &Question,
    stories: &[Story],
    embedder: &Embedder,
) {
    for (word, term) in asked.words.iter_mut().zip(&question.terms).filter(|(word, _)| word.documents == 0) {
        let mut stems = stories.iter().flat_map(|story| &story.passages).flat_map(|passage| &passage.stems);
        word.is_familiar = is_common(embedder, &word.word) || stems.any(|stem| begins_alike(stem, &term.stem));
    }
}

/// Whether a word, or what it is a form of, is common in English: the vocabulary of the tokenizer has such words whole, and
/// others in pieces.
fn is_common(embedder: &Embedder, word: &str) -> bool {
    forms_of(&word.to_lowercase()).iter().any(|form| embedder.count_tokens(form) <= 1)
}

/// A word, and what it may be a regular form of: `throttling` of `throttl` and `throttle`.
fn forms_of(word: &str) -> Vec<String> {
    const ENDINGS: [&str; 6] = ["s", "es", "ing", "ings", "er", "ers"];
    let mut forms = vec![word.to_owned()];
    let cut = ENDINGS.into_iter().filter_map(|ending| word.strip_suffix(ending));
    for stem in cut.filter(|stem| stem.chars().count() >= MIN_LETTERS - 1) {
        forms.extend([stem.to_owned(), format!("{stem}e")]);
    }
    forms
}

/// Whether two stems are probably of forms of one word.
fn begins_alike(one: &str, other: &str) -> bool {
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longer = one.chars().count().max(other.chars().count());
    shared >= MIN_SHARED && shared * 4 >= longer * 3
}

/// Says of words that no document has which ones are nearest: of the words that were read, and of the names of files,
/// people and labels.
///
/// # Errors
/// The work was cancelled.
pub(super) async fn describe_nowhere(
    resources: &Resources,
    filter: &Filter,
    nowhere: &[String],
    stories: &[Story],
) -> Result<Vec<String>> {
    let documents = stories.iter().flat_map(|story| &story.documents);
    let mut known: BTreeSet<String> = documents.flat_map(|document| words(&document.text)).collect();
    let (filter, nowhere) = (filter.clone(), nowhere.to_vec());
    resources
        .blocking(move |resources| {
            let (index, projects) = (resources.index(), ProjectScope::of(&filter));
            for what in [Named::Author, Named::Label] {
                known.extend(index.known_names(what, projects).iter().map(|name| (**name).to_owned()));
            }
            let paths = index.known_paths(projects, MAX_PATHS);
            known.extend(paths.iter().map(|path| name_of_file(path).to_owned()));
            known.retain(|name| name.chars().count() >= MIN_LETTERS);
            Ok(nowhere.iter().map(|word| describe_word(word, &known)).collect())
        })
        .await
}

fn describe_word(word: &str, known: &BTreeSet<String>) -> String {
    let max_typos = (word.chars().count() / LETTERS_PER_TYPO).max(1);
    let others = known.iter().map(String::as_str).filter(|other| !other.eq_ignore_ascii_case(word));
    match within_typos(word, others, max_typos, 1).first() {
        Some(nearest) => format!("{}; the nearest name is '{nearest}'", occurs_nowhere(word)),
        None => occurs_nowhere(word),
    }
}

/// The name of a file without its directories and its extension.
fn name_of_file(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_begin_alike() {
        for (one, other) in [("deserializ", "deserialis"), ("normaliz", "normal"), ("compress", "compressor")] {
            assert!(begins_alike(one, other), "{one} {other}");
        }
        assert!(!begins_alike("endomorph", "endpoint") && !begins_alike("cach", "cach") && !begins_alike("", ""));
    }

    #[test]
    fn a_word_is_taken_for_a_form_of_another() {
        assert_eq!(forms_of("throttling"), ["throttling", "throttl", "throttle"]);
        assert_eq!(forms_of("caches"), ["caches", "cache", "cachee", "cach", "cache"]);
        assert_eq!(forms_of("ring"), ["ring"]);
    }

    #[test]
    fn the_nearest_of_some_names_is_told_if_one_is_near() {
        let known = BTreeSet::from(["password".to_owned(), "payment".to_owned()]);
        let told = |word: &str| describe_word(word, &known);
        assert_eq!(told("pasword"), "'pasword' occurs nowhere in what was indexed; the nearest name is 'password'");
        assert_eq!(told("endomorphism"), "'endomorphism' occurs nowhere in what was indexed");
        assert_eq!(name_of_file("src/auth/token.test.js"), "token");
    }
}
