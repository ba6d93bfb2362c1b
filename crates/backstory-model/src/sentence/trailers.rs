//! Tells which trailers at the end of a text say something, and which only name people, commits, issues and pages.

use std::collections::BTreeMap;

use crate::message::{Trailer, find_trailers};

/// Names, in lower case, of trailers whose values are references as a rule.
const REFERENCES: &[&str] = &[
    "bug",
    "closes",
    "depends-on",
    "fixes",
    "implements",
    "issue",
    "link",
    "merge-request",
    "part-of",
    "pull-request",
    "references",
    "refs",
    "related",
    "related-to",
    "relates-to",
    "resolves",
    "see",
    "see-also",
    "ticket",
];
/// How the names of other such trailers end.
const REFERENCE_ENDINGS: [&str; 3] = ["-id", "-link", "-url"];
/// Words that may stand between references.
const BETWEEN: [&str; 3] = ["and", "commit", "issue"];

/// The lines, from 0, with which the trailers of a text begin, and of each whether it only names something.
pub(super) fn trailer_lines(text: &str) -> BTreeMap<usize, bool> {
    find_trailers(text).iter().map(|trailer| (trailer.line as usize - 1, names_only(trailer))).collect()
}

/// The same of a quotation, of which trailers may be all there is: they stand below the title of the whole text.
pub(super) fn quoted_trailer_lines(text: &str) -> BTreeMap<usize, bool> {
    let lines = trailer_lines(&format!("-\n\n{text}"));
    lines.into_iter().map(|(line, names_only)| (line - 2, names_only)).collect()
}

/// Whether a trailer has only people, or references to commits, issues and pages.
fn names_only(trailer: &Trailer) -> bool {
    let (key, value) = (trailer.key.to_ascii_lowercase(), trailer.value.as_str());
    if key == "cc" || key.ends_with("-by") || (value.ends_with('>') && trailer.identity().is_some()) {
        return true;
    }
    let has_references =
        REFERENCES.contains(&key.as_str()) || REFERENCE_ENDINGS.iter().any(|ending| key.ends_with(ending));
    // Behind a commit stands its title: `1a2b3c4 ("Drop it")`.
    let value = if has_references { value.split_once(" (\"").map_or(value, |(commit, _)| commit) } else { value };
    let mut words = value.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).filter(|word| !word.is_empty());
    words.all(|word| is_address(word) || (has_references && is_reference(word)))
}

/// Whether a word is the address of a page or of a person.
fn is_address(word: &str) -> bool {
    word.contains("://") || word.starts_with("www.") || (word.contains('@') && word.contains('.'))
}

/// Whether a word names an issue, a commit or the like, or stands between two such.
fn is_reference(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit() || matches!(c, '/' | '#' | '!' | '@')) || BETWEEN.contains(&word)
}
