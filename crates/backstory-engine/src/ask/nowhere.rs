//! Words of a question that no document has: which of them others may stand for, and what is nearest to the rest.

use std::collections::BTreeSet;

use backstory_model::{
    filter::Filter,
    question::Question,
    text::{stem, words},
};
use backstory_store::index::{Named, ProjectScope};

use super::{
    evidence::{WeightedQuestion, occurs_nowhere},
    people_asked::{PeopleNames, describe_person},
    stories::Story,
};
use crate::{embed::Embedder, error::Result, nearest::within_typos, resources::Resources};

/// Fewest letters that two words begin with alike to be forms of one.
const MIN_SHARED: usize = 5;
/// Letters of a word for each of which another one may have a typo.
const LETTERS_PER_TYPO: usize = 4;
/// Shortest word that is told as the nearest, in letters.
const MIN_LETTERS: usize = 4;
/// Fewest letters of a stem with which another one begins, for both to be forms of one word: `async` and `asynchronous`.
const MIN_BEGINNING: usize = 4;
/// Fewest letters of each of the two words that one is made of: `plaintext`.
const MIN_PART: usize = 3;
/// Shortest word that may be another one with a typo, in letters.
const MIN_MISSPELLED: usize = 6;
/// Words that are common among programmers, and that the vocabulary of the tokenizer has in pieces.
const COMMON: &str = "admin api arg args async asynchronous asynchronously asynchrony auth authn authz autocomplete \
    backend backoff backport backtrace bitmask boolean bugfix changelog checksum cli codebase config configs cron dedup \
    dedupe deduplicate deduplicated deduplication dep deps deserialize deserialization dev dir dirs doc docs enum env envs \
    exe filename flaky flakiness frontend func gotcha gotchas gui hardcode hardcoded hostname hotfix idempotent impl info \
    init int iterable json keepalive latency latencies lifecycle linter localhost lockfile login logout lookup metadata \
    middleware mutex namespace nullable num overhead param params perf plaintext plugin prod prefetch readme refactor \
    regex regression repo repos runtime serialize serialization setup spec specs stacktrace startup stderr stdin stdout \
    str subprocess sync throughput timeout timestamp timezone tmp toolchain tooltip tuple typo typos unicode unset uptime \
    upstream url urls usability util utils uuid var vars verbosity warmup webhook whitespace workflow yaml";
/// Most words of a question for which what is nearest is looked for: each is compared with every name.
const MAX_WORDS: usize = 20;
/// Most paths whose names are compared.
const MAX_PATHS: usize = 100_000;

/// Marks the words of a question that no document has and that others may stand for: common ones, those that begin like a
/// word that was read, and those that are made of two.
pub(super) fn mark_familiar_words(
    asked: &mut WeightedQuestion,
    question: &Question,
    stories: &[Story],
    embedder: &Embedder,
) {
    for (word, term) in asked.words.iter_mut().zip(&question.terms).filter(|(word, _)| word.documents == 0) {
        let read = || stories.iter().flat_map(|story| &story.passages).flat_map(|passage| &passage.stems);
        word.is_familiar = is_common(embedder, &word.word)
            || read().any(|stem| may_be_of_one_word(stem, &term.stem))
            || is_made_of(&word.word.to_lowercase(), |part| read().any(|stem| *stem == part));
    }
}

/// Whether a word, or what it is a form of, is common in English: the vocabulary of the tokenizer has such words whole, and
/// others in pieces.
fn is_common(embedder: &Embedder, word: &str) -> bool {
    let is_known = |form: &String| COMMON.split_whitespace().any(|known| known == form);
    forms_of(&word.to_lowercase()).iter().any(|form| is_known(form) || embedder.count_tokens(form) <= 1)
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

/// Whether two stems may be of forms of one word, or of one and its short form.
pub(super) fn may_be_of_one_word(one: &str, other: &str) -> bool {
    one == other || begins_alike(one, other) || is_beginning(one, other)
}

/// Whether two stems are probably of forms of one word.
fn begins_alike(one: &str, other: &str) -> bool {
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longer = one.chars().count().max(other.chars().count());
    shared >= MIN_SHARED && shared * 4 >= longer * 3
}

/// Whether one of two stems begins with the other.
fn is_beginning(one: &str, other: &str) -> bool {
    let shorter = one.chars().count().min(other.chars().count());
    shorter >= MIN_BEGINNING && (one.starts_with(other) || other.starts_with(one))
}

/// Whether a word in lower case is made of two, of both of which the stems are known.
fn is_made_of(word: &str, is_known: impl Fn(&str) -> bool) -> bool {
    let letters = word.chars().count();
    let ends = word.char_indices().enumerate();
    let may_end = |number: usize| number >= MIN_PART && letters - number >= MIN_PART;
    let mut ends = ends.filter(|(number, _)| may_end(*number)).map(|(_, (at, _))| at);
    ends.any(|at| is_known(&stem(&word[..at])) && is_known(&stem(&word[at..])))
}

/// A word of a question that no document has.
pub(super) struct UnknownWord {
    /// As it is written.
    pub(super) word: String,
    /// The name that is nearest to it, if one is near.
    nearest: Option<String>,
    /// Where it is told what somebody did whose name, or a part of it, the word is.
    person: Option<String>,
}

impl UnknownWord {
    fn of(word: &str, known: &BTreeSet<String>) -> Self {
        let max_typos = (word.chars().count() / LETTERS_PER_TYPO).max(1);
        let others = known.iter().map(String::as_str).filter(|other| !other.eq_ignore_ascii_case(word));
        let nearest = within_typos(word, others, max_typos, 1).first().map(|nearest| (*nearest).to_owned());
        Self { word: word.to_owned(), nearest, person: None }
    }

    /// Says of each that it occurs nowhere, and of each person only once where their work is told.
    pub(super) fn describe_all(unknown: &[Self]) -> Vec<String> {
        let mut people = BTreeSet::new();
        let is_new = |one: &&Self| one.person.as_ref().is_none_or(|person| people.insert(person.clone()));
        unknown.iter().filter(is_new).map(Self::describe).collect()
    }

    /// Says that it occurs nowhere, and what is nearest, or whose name it is.
    fn describe(&self) -> String {
        if let Some(person) = &self.person {
            return format!("'{}' is in no text, only in a name: {person}", self.word);
        }
        let sentence = occurs_nowhere(&self.word);
        match &self.nearest {
            Some(nearest) => format!("{sentence}; the nearest name is '{nearest}'"),
            None => sentence,
        }
    }

    /// The name that it is with one typo; `None` for names of people, short words and numbers, of which one letter tells them apart, and for
    /// words that begin otherwise, which mean something else: a `vtable` is no `table`.
    pub(super) fn correction(&self) -> Option<&str> {
        let nearest = self.nearest.as_deref().filter(|_| self.person.is_none())?;
        let is_word = |text: &str| text.chars().all(char::is_alphabetic);
        let begin = |text: &str| text.chars().next().map(|first| first.to_ascii_lowercase());
        if begin(nearest) != begin(&self.word) {
            return None;
        }
        let is_long = self.word.chars().count() >= MIN_MISSPELLED;
        let is_near = !within_typos(&self.word, [nearest], 1, 1).is_empty();
        (is_long && is_word(&self.word) && is_word(nearest) && is_near).then_some(nearest)
    }
}

/// Finds what is nearest to words that no document has, if they are not very many: of the words that were read, and of the names of files, people and
/// labels.
///
/// # Errors
/// The work was cancelled.
pub(super) async fn find_nearest_names(
    resources: &Resources,
    filter: &Filter,
    nowhere: &[String],
    stories: &[Story],
) -> Result<Vec<UnknownWord>> {
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
            let people = PeopleNames::load(resources)?;
            let is_told = resources.settings().people.tracking;
            let person_of = |word: &str| people.with_part(word).map(|name| describe_person(name, is_told));
            Ok(compare_words(nowhere, &known, person_of))
        })
        .await
}

/// Compares words with names that are known, and with those of people. Of more than [`MAX_WORDS`] the others are like none.
fn compare_words(
    words: Vec<String>,
    known: &BTreeSet<String>,
    person_of: impl Fn(&str) -> Option<String>,
) -> Vec<UnknownWord> {
    let compare = |(at, word): (usize, String)| match at < MAX_WORDS {
        true => UnknownWord { person: person_of(&word), ..UnknownWord::of(&word, known) },
        false => UnknownWord { word, nearest: None, person: None },
    };
    words.into_iter().enumerate().map(compare).collect()
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
    fn a_stem_that_another_begins_with_is_of_the_same_word() {
        for (one, other) in [
            ("asynchronously", "async"),
            ("perf", "performanc"),
            ("dedup", "deduplic"),
            ("config", "configurat"),
            ("authenticat", "auth"),
        ] {
            assert!(is_beginning(one, other) && is_beginning(other, one), "{one} {other}");
        }
        for (one, other) in [("car", "cart"), ("vtable", "table"), ("", ""), ("endomorph", "endpoint")] {
            assert!(!is_beginning(one, other), "{one} {other}");
        }
    }

    #[test]
    fn a_word_may_be_made_of_two_that_were_read() {
        let read: BTreeSet<String> = ["plain", "text", "time", "zone", "white", "space"].map(stem).into();
        let is_known = |part: &str| read.contains(part);
        for word in ["plaintext", "timezone", "timezones", "whitespace"] {
            assert!(is_made_of(word, is_known), "{word}");
        }
        for word in ["plaintiff", "text", "timex", "vtable", "", "é"] {
            assert!(!is_made_of(word, is_known), "{word}");
        }
    }

    #[test]
    fn words_that_are_common_among_programmers_are_listed() {
        for word in [
            "async",
            "asynchronously",
            "auth",
            "config",
            "env",
            "perf",
            "deps",
            "plaintext",
            "timezones",
            "whitespace",
            "backends",
            "deduplication",
            "gotcha",
            "typo",
            "flaky",
            "latency",
        ] {
            let forms = forms_of(word);
            assert!(forms.iter().any(|form| COMMON.split_whitespace().any(|known| known == form)), "{word}");
        }
    }

    #[test]
    fn a_word_with_one_typo_is_taken_for_the_nearest_name() {
        let known: BTreeSet<String> =
            ["password", "session", "cart", "python2", "serializer"].map(str::to_owned).into_iter().collect();
        for (word, name) in [("pasword", "password"), ("sesssion", "session"), ("serialiser", "serializer")] {
            assert_eq!(UnknownWord::of(word, &known).correction(), Some(name), "{word}");
        }
        for word in ["cort", "python3", "pasworrd", "payment"] {
            assert_eq!(UnknownWord::of(word, &known).correction(), None, "{word}");
        }
    }

    #[test]
    fn the_nearest_of_some_names_is_told_if_one_is_near() {
        let known = BTreeSet::from(["password".to_owned(), "payment".to_owned()]);
        let told = |word: &str| UnknownWord::of(word, &known).describe();
        assert_eq!(told("pasword"), "'pasword' occurs nowhere in what was indexed; the nearest name is 'password'");
        assert_eq!(told("endomorphism"), "'endomorphism' occurs nowhere in what was indexed");
        let somebody =
            |word: &str| UnknownWord { person: Some("see Ann Lee".to_owned()), ..UnknownWord::of(word, &known) };
        let both = [somebody("Ann"), somebody("Lee"), UnknownWord::of("endomorphism", &known)];
        let said =
            ["'Ann' is in no text, only in a name: see Ann Lee", "'endomorphism' occurs nowhere in what was indexed"];
        assert_eq!(UnknownWord::describe_all(&both), said);
        assert_eq!(somebody("pasword").correction(), None);
        let very_many = compare_words(vec!["pasword".to_owned(); MAX_WORDS + 1], &known, |_| None);
        let are_near: Vec<bool> = very_many.iter().map(|one| one.nearest.is_some()).collect();
        assert_eq!(are_near, [[true; MAX_WORDS].as_slice(), &[false]].concat());
        assert_eq!(name_of_file("src/auth/token.test.js"), "token");
    }
}
