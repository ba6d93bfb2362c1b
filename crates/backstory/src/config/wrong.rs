//! Errors of the configuration file, in one sentence that names the file, the line and the key.

use std::{ops::Range, path::Path};

use crate::failure::Failure;

/// How unlike two names may be, in single changes per three characters, for one to be taken for a slip in the other.
const LETTERS_PER_SLIP: usize = 3;

/// A configuration file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    /// Its name.
    pub(super) path: &'a Path,
    /// What it says.
    pub(super) text: &'a str,
}

impl Source<'_> {
    /// The failure for something wrong at a place of the file.
    pub(super) fn wrong(self, at: Range<usize>, what: impl std::fmt::Display) -> Failure {
        Failure::configuration(format!("{}:{}: {what}", self.path.display(), self.line_number(at.start)))
    }

    /// The failure for something wrong with the file as a whole.
    pub(super) fn wrong_altogether(self, what: impl std::fmt::Display) -> Failure {
        Failure::configuration(format!("{}: {what}", self.path.display()))
    }

    /// The failure for what the parser could not take.
    pub(super) fn unparsed(self, error: &toml::de::Error) -> Failure {
        let at = error.span().unwrap_or(0..0);
        let (key, section) = (self.key(at.start), self.section(at.start));
        self.wrong(at, explanation(error.message(), &key, &section))
    }

    fn line_number(self, at: usize) -> usize {
        self.text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
    }

    /// The key whose line this is.
    fn key(self, at: usize) -> String {
        let start = self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        let line = self.text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        line.split(['=', '#']).next().unwrap_or_default().trim().to_owned()
    }

    /// The heading that this stands below, `[embedding]`; empty above all headings and in one.
    fn section(self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let in_heading = before.rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with('['));
        let heading = before.lines().rev().map(str::trim).find(|line| line.starts_with('['));
        if in_heading { String::new() } else { heading.unwrap_or_default().to_owned() }
    }
}

/// What a message of the parser means for whoever writes the file.
fn explanation(message: &str, key: &str, section: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let within = if section.is_empty() { String::new() } else { format!(" in {section}") };
    match (message.split('`').next().unwrap_or_default().trim(), quoted.as_slice()) {
        ("unknown field", [unknown, known @ ..]) => {
            format!("unknown key '{unknown}'{within}; {}", suggestion(unknown, known, "known keys"))
        }
        ("unknown variant", [unknown, known @ ..]) => {
            format!("{key} is '{unknown}'; {}", suggestion(unknown, known, "it can be"))
        }
        // What lacks a key is told by its heading, or by its own key if it stands in braces.
        ("missing field", [missing]) => format!("the key '{missing}' is missing in {key}"),
        ("duplicate field", [twice]) => format!("the key '{twice}' stands twice{within}; keep one"),
        ("duplicate key", _) => format!("the key '{key}' stands twice{within}; keep one"),
        _ if key == "[forge]" => {
            "a forge begins with [[forge]], in two brackets, because there can be several".to_owned()
        }
        _ if message.starts_with("invalid") => format!("{key} has a wrong value: {}", in_words(message)),
        _ => format!("this is not TOML: {}", in_words(message)),
    }
}

fn suggestion(unknown: &str, known: &[&str], otherwise: &str) -> String {
    match nearest(unknown, known.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("{otherwise}: {}", known.join(", ")),
    }
}

/// The name that was probably meant.
pub(super) fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let unknown = unknown.to_lowercase();
    let slips = |name: &str| {
        let begun = unknown.chars().count() >= LETTERS_PER_SLIP && name.starts_with(&unknown);
        if begun { 0 } else { strsim::damerau_levenshtein(&unknown, &name.to_lowercase()) }
    };
    let near = known.map(|name| (slips(name), name)).min()?;
    (near.0 <= near.1.chars().count().div_ceil(LETTERS_PER_SLIP)).then_some(near.1)
}

/// Types as people call them.
fn in_words(message: &str) -> String {
    let mut words = message.replace('`', "'");
    for (rust, word) in [
        ("expected u16", "expected a whole number from 0 on"),
        ("expected u32", "expected a whole number from 0 on"),
        ("expected u64", "expected a whole number from 0 on"),
        ("expected usize", "expected a whole number from 0 on"),
        (", expected literal string", ""),
        ("expected f32", "expected a number"),
        ("expected a sequence", "expected a list in brackets"),
        ("invalid type: map", "a table stands here"),
        ("invalid type: sequence", "a list stands here"),
        ("invalid type: ", "it is the "),
        ("invalid value: ", "it is the "),
    ] {
        words = words.replace(rust, word);
    }
    words
}
