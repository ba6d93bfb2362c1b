//! Errors of the configuration file, in one sentence that names the file, the line and the key.

use std::{ops::Range, path::Path};

use crate::failure::Failure;

/// How unlike two names may be, in single changes per three characters, for one to be taken for a slip in the other.
const LETTERS_PER_SLIP: usize = 3;
/// Bytes of the longest line that is shown.
const MAX_LINE: usize = 200;

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

    /// The failure for what the parser could not take, as the parser shows it: with the line, but without a value that
    /// follows what is wrong, since it may be a secret.
    pub(super) fn parse_error(self, mut error: toml::de::Error) -> Failure {
        let at = error.span().unwrap_or(0..0);
        let hint = if self.text.get(at.clone()) == Some("[forge]") {
            "; write [[forge]], in two brackets, because there can be several".to_owned()
        } else {
            suggestion(error.message())
        };
        let behind = self.text.get(at.end..).unwrap_or_default();
        let end = at.end + behind.find(['=', '\n']).unwrap_or(behind.len());
        let shown = self.text.get(..end).map(|text| text.trim_end_matches(' '));
        let is_short = |text: &&str| text.rsplit('\n').next().is_some_and(|line| line.len() <= MAX_LINE);
        error.set_input(shown.filter(is_short));
        self.error_at(at, format!("{}{hint}", error.to_string().trim_end()))
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
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
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
