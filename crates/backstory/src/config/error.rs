//! Errors of the configuration file, in one sentence that names the file, the line and the key.

use std::{ops::Range, path::Path};

use crate::failure::Failure;

/// How unlike two names may be, in single changes per three characters, for one to be taken for a slip in the other.
const LETTERS_PER_SLIP: usize = 3;
/// Words of the parser, and those of the configuration for them.
const WORDS: [(&str, &str); 10] = [
    ("unknown field", "unknown key"),
    ("missing field", "missing key"),
    ("unknown variant", "unknown value"),
    ("invalid type: map", "invalid type: table"),
    ("expected a sequence", "expected a list"),
    ("expected a map", "expected a table"),
    ("expected u16", "expected a whole number from 0 to 65535"),
    ("expected u32", "expected a whole number from 0 on"),
    ("expected u64", "expected a whole number from 0 on"),
    ("expected usize", "expected a whole number from 0 on"),
];

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
    pub(super) fn error_at(self, at: Range<usize>, what: impl std::fmt::Display) -> Failure {
        Failure::configuration(format!("{}:{}: {what}", self.path.display(), self.line_number(at.start)))
    }

    /// The failure for something wrong with the file as a whole.
    pub(super) fn file_error(self, what: impl std::fmt::Display) -> Failure {
        Failure::configuration(format!("{}: {what}", self.path.display()))
    }

    /// The failure for what the parser could not take, in the words of the configuration.
    pub(super) fn parse_error(self, error: &toml::de::Error) -> Failure {
        let at = error.span().unwrap_or(0..0);
        let hint = if self.text.get(at.clone()) == Some("[forge]") {
            "; write [[forge]], in two brackets, because there can be several".to_owned()
        } else {
            suggestion(error.message())
        };
        self.error_at(at, format!("{}{hint}", plain_words(error.message())))
    }

    fn line_number(self, at: usize) -> usize {
        self.text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
    }
}

/// What was probably meant instead of a name that is not known. The message quotes that one first, then those that are.
fn suggestion(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next().filter(|_| message.starts_with("unknown"));
    let near = unknown.and_then(|unknown| nearest(unknown, names));
    near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"))
}

/// A message of the parser in the words of the configuration, on one line.
fn plain_words(message: &str) -> String {
    let message = message.replace('`', "'").replace('\n', ", ");
    WORDS.iter().fold(message, |message, (theirs, ours)| message.replace(theirs, ours))
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
