//! Comments: runs of them that belong together, and their text without markers. Which ones explain code is in
//! [`super::explain`].

use std::ops::Range;

use backstory_model::code::Language;
use tree_sitter::Node;

use super::rows::end_row;

/// Longest doc comment that is kept, in characters.
pub const MAX_DOC: usize = 2000;
/// Most lines of a run of comments.
const MAX_RUN: usize = 400;

/// A comment in the source.
#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub(super) range: Range<usize>,
    pub(super) first_row: usize,
    pub(super) last_row: usize,
    column: usize,
    /// Whether nothing stands before it on its line.
    own_line: bool,
    /// Its first characters, which tell line comments of one kind from others.
    marker: Marker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    Hash,
    Slashes,
    Outer,
    Inner,
    Block,
}

impl Comment {
    pub(super) fn new(node: Node<'_>, source: &str) -> Self {
        let (range, start) = (node.byte_range(), node.start_position());
        let bytes = source.as_bytes();
        let mut before = bytes[..range.start.min(bytes.len())].iter().rev();
        let own_line = before.find(|byte| !matches!(byte, b' ' | b'\t')).is_none_or(|byte| *byte == b'\n');
        let text = bytes.get(range.clone()).unwrap_or_default();
        let marker = match text {
            [b'#', ..] => Marker::Hash,
            [b'/', b'/', b'!', ..] => Marker::Inner,
            [b'/', b'/', b'/', b'/', ..] => Marker::Slashes,
            [b'/', b'/', b'/', ..] => Marker::Outer,
            [b'/', b'/', ..] => Marker::Slashes,
            _ => Marker::Block,
        };
        Self { range, first_row: start.row, last_row: end_row(node), column: start.column, own_line, marker }
    }

    /// Whether the next line goes on with this comment.
    fn goes_on_with(&self, next: &Self) -> bool {
        next.own_line
            && self.marker != Marker::Block
            && self.marker == next.marker
            && self.column == next.column
            && self.last_row + 1 == next.first_row
    }
}

/// Comments that read as one, by index.
pub(super) fn group_adjacent(comments: &[Comment]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, comment) in comments.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if run.len() < MAX_RUN && comments[at - 1].goes_on_with(comment) => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// The text of comments without markers, lines joined with line feeds, at most `limit` characters.
pub(super) fn comment_text(comments: &[Comment], source: &str, limit: usize) -> String {
    let mut text = String::new();
    let mut room = limit;
    for comment in comments {
        for line in source.get(comment.range.clone()).unwrap_or_default().lines() {
            let line = without_markers(line);
            // A blank line at the beginning says nothing.
            if text.is_empty() && line.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push('\n');
                room = room.saturating_sub(1);
            }
            let end = line.char_indices().nth(room).map_or(line.len(), |(at, _)| at);
            text.push_str(&line[..end]);
            room = room.saturating_sub(line[..end].chars().count());
            if room == 0 {
                break;
            }
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// A line of a comment without what makes it one.
fn without_markers(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_suffix("*/").unwrap_or(line);
    let line = line.strip_suffix("-->").unwrap_or(line);
    let line = line.strip_prefix("<!--").unwrap_or(line);
    let line = line.trim_end_matches('*');
    let line = if line.starts_with('#') { line.trim_start_matches('#') } else { line };
    let line = if line.starts_with("//") { line.trim_start_matches('/') } else { line };
    // A line of stars loses its last ones above, which leaves the slash of its first ones.
    let line = line.strip_prefix("/*").or(line.strip_prefix('/').filter(|rest| rest.is_empty())).unwrap_or(line);
    let line = line.trim_start_matches(['*', '!', ':']);
    let line = line.strip_prefix("=begin").or(line.strip_prefix("=end")).unwrap_or(line);
    line.trim()
}

/// The doc comment of a definition: the string at the top of a Python body, or the last of the comments if they end
/// directly above its first row.
pub(super) fn doc_comment(
    language: Language,
    comments: &[Comment],
    source: &str,
    first_row: usize,
    body: Option<Node<'_>>,
) -> Option<String> {
    if language == Language::Python
        && let Some(doc) = body.and_then(|body| doc_string(body, source))
    {
        return Some(doc);
    }
    let mut at = comments.len();
    let mut next_row = first_row;
    while let Some(comment) = at.checked_sub(1).and_then(|before| comments.get(before)) {
        let fits = comment.own_line && comment.last_row + 1 == next_row;
        let same_kind = comments.get(at).is_none_or(|next| comment.goes_on_with(next));
        if !fits || !same_kind || comment.marker == Marker::Inner {
            break;
        }
        next_row = comment.first_row;
        at -= 1;
    }
    let text = comment_text(&comments[at..], source, MAX_DOC);
    (!text.is_empty()).then_some(text)
}

/// The string that stands first in a Python body.
pub(super) fn doc_string(body: Node<'_>, source: &str) -> Option<String> {
    let first = body.named_child(0)?;
    let string = match first.kind() {
        "expression_statement" => first.named_child(0)?,
        _ => first,
    };
    if string.kind() != "string" {
        return None;
    }
    let text = source.get(string.byte_range())?.trim_start_matches(['r', 'R', 'u', 'U', 'b', 'B']);
    let text = text.trim_matches(['"', '\'']);
    let mut doc = String::new();
    for line in text.lines() {
        doc.push_str(line.trim());
        doc.push('\n');
        if doc.len() > MAX_DOC * 4 {
            break;
        }
    }
    let doc = doc.trim();
    let end = doc.char_indices().nth(MAX_DOC).map_or(doc.len(), |(at, _)| at);
    (!doc.is_empty()).then(|| doc[..end].to_owned())
}

/// The text of the comments at the top of a file that are about the file: `//!`, or the first that is no license.
pub(super) fn file_doc(comments: &[Comment], source: &str) -> Option<String> {
    let inner = comments.iter().position(|comment| comment.marker == Marker::Inner)?;
    let run = group_adjacent(&comments[inner..]).into_iter().next()?;
    let text = comment_text(&comments[inner..][run], source, MAX_DOC);
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_stripped() {
        for (line, text) in [
            ("// why", "why"),
            ("/// why", "why"),
            ("//! why", "why"),
            ("  * why */", "why"),
            ("/** why **/", "why"),
            ("# why #1", "why #1"),
            ("<!-- why -->", "why"),
            ("/*", ""),
            ("/*****/", ""),
            ("#: why", "why"),
            ("#!", ""),
        ] {
            assert_eq!(without_markers(line), text, "{line}");
        }
    }
}
