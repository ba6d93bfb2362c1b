//! Finds what programs append to a text for other programs: `---`, lines of YAML, `...`.

use std::ops::Range;

/// The lines, from 0, of the YAML documents in a text, with the marks that begin and end them.
pub(super) fn metadata_lines(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut begun: Option<usize> = None;
    let mut is_behind_mark = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if is_behind_mark && !begins_with_key(line) {
            begun = None;
        }
        is_behind_mark = line == "---";
        if is_behind_mark {
            begun = Some(at);
        } else if line.is_empty() {
            begun = None;
        } else if line == "..."
            && let Some(start) = begun.take()
        {
            found.push(start..at + 1);
        }
    }
    found
}

/// Whether a line is like `name:` or `name: value`.
fn begins_with_key(line: &str) -> bool {
    let Some((key, value)) = line.split_once(':') else { return false };
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    is_key && (value.is_empty() || value.starts_with(' '))
}
