//! Computes the position of a review comment on a diff.
//!
//! GitHub gives the number of the line on the side that was commented. The diff hunk that comes with the comment ends
//! at that line, so the number on the other side, which unchanged lines have too, can be counted. Where the number and
//! the header of the hunk disagree, the number is right.

use backstory_model::{entity::Position, id::is_sha};
use serde::Deserialize;

/// First and last line.
type Lines = Option<(u32, u32)>;

#[derive(Deserialize)]
pub(super) struct PositionJson {
    path: Option<String>,
    subject_type: Option<String>,
    diff_hunk: Option<String>,
    side: Option<String>,
    /// Now; nothing if the line is gone.
    line: Option<u32>,
    start_line: Option<u32>,
    /// When the comment was made.
    original_line: Option<u32>,
    original_start_line: Option<u32>,
    start_side: Option<String>,
    commit_id: Option<String>,
    original_commit_id: Option<String>,
}

/// A line of a diff: its numbers before and after the change, of which it may have only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    old: Option<u32>,
    new: Option<u32>,
}

impl Line {
    fn on(side: &str, number: u32) -> Self {
        if side == LEFT { Self { old: Some(number), new: None } } else { Self { old: None, new: Some(number) } }
    }

    fn number(self, side: &str) -> Option<u32> {
        if side == LEFT { self.old } else { self.new }
    }
}

const LEFT: &str = "LEFT";

impl PositionJson {
    /// `None` for a comment that stands on no file.
    pub(super) fn into_position(self) -> Option<Position> {
        let path = self.path.clone()?;
        let (old_lines, new_lines) = self.lines();
        let is_current = self.line.is_some();
        let sha = if is_current { self.commit_id } else { self.original_commit_id };
        Some(Position {
            old_path: path.clone(),
            new_path: path,
            old_lines,
            new_lines,
            // The commit that the diff starts from is not told.
            base_sha: None,
            head_sha: sha.filter(|sha| is_sha(sha)),
        })
    }

    /// First and last line before and after the change.
    fn lines(&self) -> (Lines, Lines) {
        if self.subject_type.as_deref() == Some("file") {
            return (None, None);
        }
        let side = self.side.as_deref().unwrap_or("RIGHT");
        let start_side = self.start_side.as_deref().unwrap_or(side);
        let lines = self.diff_hunk.as_deref().map(lines_of_hunk).unwrap_or_default();
        // The piece of the diff ends at the line, whose number is right where its header counts otherwise.
        let at_end = lines.last().copied().filter(|line| line.number(side).is_some());
        let end = match (at_end, self.original_line) {
            (Some(line), Some(number)) => moved(line, side, Some(number)),
            // A comment of the early days has no line, only the piece of the diff.
            (Some(line), None) => line,
            (None, Some(number)) => Line::on(side, number),
            (None, None) => return (None, None),
        };
        let start = self.original_start_line.map(|number| {
            let counted = lines.iter().find(|line| line.number(start_side) == Some(number));
            counted.copied().unwrap_or_else(|| Line::on(start_side, number))
        });
        let start = start.unwrap_or(end);
        let (end, start) = (moved(end, side, self.line), moved(start, start_side, self.start_line.or(self.line)));
        (span(start.old, end.old), span(start.new, end.new))
    }
}

/// A line with the number that it has now.
fn moved(line: Line, side: &str, now: Option<u32>) -> Line {
    match now {
        Some(now) if side != LEFT => Line { new: Some(now), ..line },
        Some(now) => Line { old: Some(now), ..line },
        None => line,
    }
}

fn span(start: Option<u32>, end: Option<u32>) -> Lines {
    let (start, end) = (start.or(end)?, end.or(start)?);
    (start > 0 && end > 0).then_some((start.min(end), start.max(end)))
}

/// The lines of a piece of a diff, `@@ -1,2 +1,3 @@` and what follows; none if it does not start with it.
fn lines_of_hunk(hunk: &str) -> Vec<Line> {
    let mut lines = hunk.lines();
    let Some((mut old, mut new)) = lines.next().and_then(header) else { return Vec::new() };
    let mut found = Vec::new();
    for line in lines {
        let (has_old, has_new) = match line.as_bytes().first() {
            Some(b'+') => (false, true),
            Some(b'-') => (true, false),
            Some(b'\\') => continue,
            _ => (true, true),
        };
        found.push(Line { old: has_old.then_some(old), new: has_new.then_some(new) });
        old = old.saturating_add(u32::from(has_old));
        new = new.saturating_add(u32::from(has_new));
    }
    found
}

/// First line on either side.
fn header(line: &str) -> Option<(u32, u32)> {
    let mut parts = line.strip_prefix("@@ -")?.split(' ');
    let first = |range: &str| range.split(',').next()?.parse().ok();
    Some((first(parts.next()?)?, first(parts.next()?.strip_prefix('+')?)?))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn lines(mut json: Value) -> (Lines, Lines) {
        json["path"] = json!("src/a.c");
        let position = PositionJson::deserialize(&json).unwrap().into_position().unwrap();
        (position.old_lines, position.new_lines)
    }

    const HUNK: &str = "@@ -10,4 +20,5 @@ int f(void)\n same\n-gone\n+new one\n+new two\n same too";

    #[test]
    fn the_other_side_is_counted_in_the_piece_of_the_diff() {
        let at = |end: &str, side: &str, line: u32| {
            let hunk = &HUNK[..HUNK.find(end).unwrap() + end.len()];
            lines(json!({"diff_hunk": hunk, "side": side, "line": line, "original_line": line}))
        };
        assert_eq!(at("same too", "RIGHT", 23), (Some((12, 12)), Some((23, 23))));
        assert_eq!(at("new two", "RIGHT", 22), (None, Some((22, 22))));
        assert_eq!(at("gone", "LEFT", 11), (Some((11, 11)), None));
        assert_eq!(at("gone", "LEFT", 15), (Some((15, 15)), None), "its own number counts");
        assert_eq!(at("gone", "RIGHT", 90), (None, Some((90, 90))), "the piece ends on the other side");
    }

    #[test]
    fn a_range_goes_from_its_start_to_its_end_and_may_change_sides() {
        let hunk = &HUNK[..HUNK.rfind('\n').unwrap()];
        let range = json!({"diff_hunk": hunk, "side": "RIGHT", "original_line": 22, "original_start_line": 21,
            "start_side": "RIGHT"});
        assert_eq!(lines(range), (None, Some((21, 22))));
        let mixed = json!({"diff_hunk": hunk, "side": "RIGHT", "original_line": 22, "original_start_line": 11,
            "start_side": "LEFT"});
        assert_eq!(lines(mixed), (Some((11, 11)), Some((22, 22))));
    }

    #[test]
    fn a_line_that_moved_has_its_number_of_now_and_one_that_is_gone_that_of_then() {
        let hunk = &HUNK[..HUNK.rfind('\n').unwrap()];
        let moved = json!({"diff_hunk": hunk, "side": "RIGHT", "line": 40, "original_line": 22});
        assert_eq!(lines(moved), (None, Some((40, 40))));
        let gone = json!({"path": "a", "diff_hunk": hunk, "side": "RIGHT", "line": null, "original_line": 22,
            "commit_id": "a".repeat(40), "original_commit_id": "b".repeat(40)});
        let position = PositionJson::deserialize(&gone).unwrap().into_position().unwrap();
        assert_eq!((position.new_lines, position.head_sha), (Some((22, 22)), Some("b".repeat(40))));
    }

    #[test]
    fn files_and_what_cannot_be_read_have_no_lines() {
        assert_eq!(lines(json!({"subject_type": "file", "line": 1})), (None, None));
        for hunk in ["", "@@", "@@ -x +1 @@\n a", "@@ -1", "no diff\n+a"] {
            assert_eq!(lines(json!({"diff_hunk": hunk})), (None, None), "{hunk}");
        }
        assert_eq!(PositionJson::deserialize(&json!({"line": 3})).unwrap().into_position(), None);
    }
}
