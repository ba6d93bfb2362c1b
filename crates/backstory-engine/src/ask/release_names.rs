//! Releases that a question or text names by their first numbers: `v8`, `version 8`, `Click 8`. A number is one of a release
//! if a tag or release of the project has it, or begins with it.

use std::collections::BTreeSet;

use backstory_model::{entity::ItemKind, filter::Filter, question::Question};

use super::evidence::WeightedQuestion;
use crate::{catalog::known_projects, error::Result, resources::Resources};

/// Most projects whose releases are looked at.
const MAX_PROJECTS: usize = 20;
/// Words behind which a number is that of a release.
const LEADING: [&str; 5] = ["version", "versions", "release", "releases", "tag"];

/// The releases of a project, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct ReleaseNames {
    /// Full path of the project.
    pub(super) project: String,
    /// As they are written, without a `v` before them: `8.1.0`.
    numbers: BTreeSet<String>,
}

/// A release that a text names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReleaseMention<'a> {
    /// The word before its number if that says so, `version`; empty otherwise.
    leading: &'a str,
    /// Its number, as it is written: `v8`.
    word: &'a str,
}

impl ReleaseNames {
    /// Reads the tags and releases of a project.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub(super) fn read(resources: &Resources, project: &str) -> Result<Self> {
        let ledger = resources.ledger();
        let mut tags = ledger.keys(project, ItemKind::Tag)?;
        tags.extend(ledger.keys(project, ItemKind::Release)?);
        Ok(Self::new(project, &tags))
    }

    /// Those of a project with these tags.
    pub(super) fn new(project: &str, tags: &[String]) -> Self {
        let numbers = tags.iter().filter_map(|tag| number_of_tag(tag)).map(str::to_owned).collect();
        Self { project: project.to_owned(), numbers }
    }

    /// Whether a release has this number, or one that begins with it: `8` is that of `8.1.0`.
    pub(super) fn has(&self, number: &str) -> bool {
        let beginning = format!("{number}.");
        let mut behind = self.numbers.range(beginning.clone()..);
        self.numbers.contains(number) || behind.next().is_some_and(|next| next.starts_with(&beginning))
    }

    /// Whether a word says that the number behind it is that of a release: `version`, or the project's name.
    pub(super) fn is_leading(&self, word: &str) -> bool {
        let name = self.project.rsplit('/').next().unwrap_or(&self.project);
        LEADING.iter().chain([&name]).any(|known| word.eq_ignore_ascii_case(known))
    }

    /// The releases that a text names.
    pub(super) fn named_in<'a>(&self, text: &'a str) -> Vec<ReleaseMention<'a>> {
        let is_between = |c: char| {
            c.is_whitespace() || matches!(c, ',' | ';' | ':' | '(' | ')' | '[' | ']' | '"' | '`' | '*' | '?' | '!')
        };
        let words = text.split(is_between).map(|word| word.trim_matches(['.', '\''])).filter(|word| !word.is_empty());
        let mut found = Vec::new();
        let mut before = "";
        for word in words {
            let number = without_mark(word);
            let number = number.strip_suffix(".x").unwrap_or(number);
            let is_led = self.is_leading(before);
            // Behind another name a number is that of something else: `Python 3.8`.
            let is_bare = word.contains('.') && !before.starts_with(char::is_uppercase);
            let is_marked = word.starts_with(['v', 'V']) || is_led || is_bare;
            if is_marked && is_number(number) && self.has(number) {
                found.push(ReleaseMention { leading: if is_led { before } else { "" }, word });
            }
            before = word;
        }
        found
    }
}

/// The number that a tag has: `8.1.0` of `v8.1.0` or `click-8.1.0`.
pub(super) fn number_of_tag(tag: &str) -> Option<&str> {
    tag.split(['/', '-', '_', '@']).map(without_mark).find(|part| is_number(part))
}

/// A number without the `v` before it.
pub(super) fn without_mark(word: &str) -> &str {
    word.strip_prefix(['v', 'V']).unwrap_or(word)
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// The releases of the projects that a filter lets through.
///
/// # Errors
/// The ledger cannot be read.
pub(super) async fn read_releases(resources: &Resources, filter: &Filter) -> Result<Vec<ReleaseNames>> {
    let projects: Vec<String> = match &filter.project {
        Some(project) => vec![project.clone()],
        None if filter.projects.is_empty() => known_projects(resources).await?.into_iter().take(MAX_PROJECTS).collect(),
        None => filter.projects.iter().take(MAX_PROJECTS).cloned().collect(),
    };
    let read = move |resources: &Resources| {
        projects.iter().map(|project| ReleaseNames::read(resources, project)).collect::<Result<Vec<_>>>()
    };
    resources.blocking(read).await
}

/// The words of a question that name releases, each with its number and the word before it if that says so.
///
/// # Errors
/// The ledger cannot be read.
pub(super) async fn releases_asked<'a>(
    resources: &Resources,
    question: &'a str,
    filter: &Filter,
) -> Result<Vec<ReleaseMention<'a>>> {
    if !question.contains(|c: char| c.is_ascii_digit()) {
        return Ok(Vec::new());
    }
    let releases = read_releases(resources, filter).await?;
    Ok(releases.iter().flat_map(|names| names.named_in(question)).collect())
}

impl ReleaseMention<'_> {
    /// All its words: `version 8`.
    pub(super) fn phrase(&self) -> String {
        format!("{} {}", self.leading, self.word).trim().to_owned()
    }
}

/// Lets the names of releases narrow nothing, since few texts say in which release a change shipped. Those that no document
/// has are taken out of the question; says so, a sentence each.
pub(super) fn relax_releases(
    mentions: &[ReleaseMention<'_>],
    read: &mut Question,
    asked: &mut WeightedQuestion,
) -> Vec<String> {
    let words = mentions.iter().flat_map(|mention| mention.word.split(|c: char| !c.is_alphanumeric()));
    let parts: BTreeSet<String> = words.map(str::to_lowercase).collect();
    let mut unwritten = Vec::new();
    let mut at = 0;
    while at < asked.words.len().min(read.terms.len()) {
        let word = &mut asked.words[at];
        if !parts.contains(&word.word.to_lowercase()) {
            at += 1;
        } else if word.documents > 0 {
            word.named = false;
            at += 1;
        } else {
            let word = asked.words.remove(at);
            read.terms.remove(at);
            if at < asked.own {
                asked.own -= 1;
            }
            unwritten.push(format!("no text mentions the release '{}', so this may be of another one", word.word));
        }
    }
    unwritten
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::evidence::QuestionWord;

    fn releases() -> ReleaseNames {
        let tags = ["v7.1.2", "8.0.0", "click-8.1.0", "v9", "2.10.0", "stable", "v11.0rc1"].map(str::to_owned);
        ReleaseNames::new("acme/click", &tags)
    }

    #[test]
    fn a_release_is_named_by_its_first_numbers_if_there_is_one() {
        let releases = releases();
        for (text, named) in [
            ("Who removed it in v8?", vec!["v8"]),
            ("Since version 8, groups run alone.", vec!["version 8"]),
            ("Removed in Click 8.", vec!["Click 8"]),
            ("Changed in version: 8.1", vec!["version 8.1"]),
            ("until 8.x and v9", vec!["8.x", "v9"]),
            ("in 8.1.0, as in release 7", vec!["8.1.0", "release 7"]),
            ("Python 8 and Python 8.1", vec![]),
            ("in v10, version 11 or version 1", vec![]),
            ("8 of 9 tests fail in 8 seconds", vec![]),
            ("v, V. and vv8", vec![]),
            ("", vec![]),
        ] {
            let found: Vec<String> = releases.named_in(text).iter().map(ReleaseMention::phrase).collect();
            assert_eq!(found, named, "{text}");
        }
        assert!(!ReleaseNames::default().has("8") && !releases.has("2.1") && releases.has("2.10"));
    }

    #[test]
    fn the_name_of_a_release_is_no_word_that_a_text_must_have() {
        let question = "Why was the pager removed in v8?";
        let relaxed = |documents: u64| {
            let mut read = Question::parse(question);
            let word = |word: &str, documents| QuestionWord {
                word: word.to_owned(),
                named: word == "v8",
                documents,
                is_familiar: true,
            };
            let words = vec![word("pager", 3), word("removed", 9), word("v8", documents)];
            let mut asked = WeightedQuestion { words, own: 3, ..WeightedQuestion::default() };
            let releases = releases();
            let unwritten = relax_releases(&releases.named_in(question), &mut read, &mut asked);
            assert_eq!(read.terms.len(), asked.words.len());
            (unwritten, asked.words.len(), asked.own, asked.words.iter().any(|word| word.named))
        };
        let said = "no text mentions the release 'v8', so this may be of another one".to_owned();
        assert_eq!(relaxed(0), (vec![said], 2, 2, false));
        assert_eq!(relaxed(1), (vec![], 3, 3, false));
    }
}
