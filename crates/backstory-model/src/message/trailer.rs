//! Parses trailers by git's own rules (`git interpret-trailers`): they are the last paragraph of a message and not its
//! first; either every line is one, or git made one and a quarter are.

use std::ops::Range;

use super::is_blank;

/// Most trailers of a message.
const MAX_TRAILERS: usize = 500;
/// Lines that git itself writes. One of them lets the paragraph hold other text.
const WRITTEN_BY_GIT: [&str; 2] = ["Signed-off-by: ", "(cherry picked from commit "];

/// A line `Key: value` at the end of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Its name as it is written, such as `Signed-off-by`.
    pub key: String,
    /// Its value on one line.
    pub value: String,
    /// Number of its first line in the message, from 1.
    pub line: u32,
}

impl Trailer {
    /// Name and e-mail address of a value such as `Ann Lee <ann@example.com>`.
    pub fn identity(&self) -> Option<(&str, &str)> {
        let (name, rest) = self.value.split_once('<')?;
        let (email, _) = rest.split_once('>')?;
        email.contains('@').then(|| (name.trim(), email.trim()))
    }
}

/// Indexes of the lines of the trailers; empty, at the end of the message, if there are none.
pub(super) fn find_block(lines: &[&str]) -> Range<usize> {
    let title_end = lines.iter().position(|line| !line.starts_with('#') && is_blank(line)).unwrap_or(lines.len());
    let (mut trailers, mut others, mut continuations) = (0usize, 0usize, 0usize);
    let (mut by_git, mut seen_text) = (false, false);
    let (end, none) = (searched_end(lines), lines.len()..lines.len());
    for at in (title_end..end).rev() {
        let line = lines[at];
        if line.starts_with('#') {
            others += std::mem::take(&mut continuations);
        } else if is_blank(line) {
            if !seen_text {
                continue;
            }
            others += continuations;
            let whole = trailers > 0 && others == 0;
            return if whole || (by_git && trailers * 3 >= others) { at + 1..end } else { none };
        } else if WRITTEN_BY_GIT.iter().any(|prefix| line.starts_with(prefix)) {
            (trailers, continuations, by_git) = (trailers + 1, 0, true);
        } else if separator(line).is_some() {
            (trailers, continuations) = (trailers + 1, 0);
        } else if line.starts_with([' ', '\t']) {
            continuations += 1;
        } else {
            others += 1 + std::mem::take(&mut continuations);
        }
        seen_text = seen_text || !line.starts_with('#');
    }
    none
}

/// Where the text ends: before the comments, empty lines and list of conflicts at the end of the message.
fn searched_end(lines: &[&str]) -> usize {
    let (mut end, mut conflicts) = (None, false);
    for (at, line) in lines.iter().enumerate() {
        conflicts |= *line == "Conflicts:";
        let ignored = line.is_empty() || line.starts_with('#') || *line == "Conflicts:";
        if ignored || (conflicts && line.starts_with('\t')) {
            end = end.or(Some(at));
        } else {
            (end, conflicts) = (None, false);
        }
    }
    end.unwrap_or(lines.len())
}

/// Where the colon after a key stands: keys are letters, digits and `-`, and may have white space after them.
fn separator(line: &str) -> Option<usize> {
    let at = line.find(':').filter(|&at| at > 0)?;
    let key = line[..at].trim_end_matches([' ', '\t']);
    (!key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')).then_some(at)
}

/// The trailers of a block that starts at line `start`, counted from 0.
pub(super) fn parse(block: &[&str], start: usize) -> Vec<Trailer> {
    let mut trailers: Vec<Trailer> = Vec::new();
    let mut open = false;
    for (at, line) in block.iter().enumerate() {
        if line.starts_with([' ', '\t']) {
            if let (true, Some(last)) = (open, trailers.last_mut()) {
                last.value.push(' ');
                last.value.push_str(line.trim());
            }
            continue;
        }
        let colon = separator(line).filter(|_| trailers.len() < MAX_TRAILERS);
        open = colon.is_some();
        if let Some(colon) = colon {
            let (key, value) = (line[..colon].trim_end().to_owned(), line[colon + 1..].trim().to_owned());
            trailers.push(Trailer { key, value, line: super::line_number(start + at) });
        }
    }
    trailers
}
