//! The position of a note on a diff.

use backstory_model::{entity::Position, id::is_sha};
use serde::Deserialize;

/// First and last line.
type Lines = Option<(u32, u32)>;

#[derive(Deserialize)]
pub(super) struct PositionJson {
    position_type: Option<String>,
    old_path: Option<String>,
    new_path: Option<String>,
    old_line: Option<u32>,
    new_line: Option<u32>,
    line_range: Option<LineRangeJson>,
    base_sha: Option<String>,
    head_sha: Option<String>,
}

#[derive(Deserialize)]
struct LineRangeJson {
    start: Option<LineJson>,
    end: Option<LineJson>,
}

#[derive(Deserialize)]
struct LineJson {
    old_line: Option<u32>,
    new_line: Option<u32>,
    line_code: Option<String>,
    #[serde(rename = "type")]
    side: Option<String>,
}

impl LineJson {
    /// Lines before and after the change. Older versions tell them in the line code alone, `<hash>_<old>_<new>`.
    fn lines(&self) -> (Option<u32>, Option<u32>) {
        if self.old_line.is_some() || self.new_line.is_some() {
            return (self.old_line, self.new_line);
        }
        let mut parts = self.line_code.as_deref().unwrap_or_default().rsplit('_');
        let (new, old) =
            (parts.next().and_then(|line| line.parse().ok()), parts.next().and_then(|line| line.parse().ok()));
        match self.side.as_deref() {
            Some("new") => (None, new),
            Some("old") => (old, None),
            _ => (old, new),
        }
    }
}

impl PositionJson {
    pub(super) fn into_position(self) -> Option<Position> {
        let (old_lines, new_lines) =
            if self.position_type.as_deref().unwrap_or("text") == "text" { self.lines() } else { (None, None) };
        let old_path = self.old_path.clone().or_else(|| self.new_path.clone())?;
        let new_path = self.new_path.or(self.old_path)?;
        let sha = |sha: Option<String>| sha.filter(|sha| is_sha(sha));
        Some(Position {
            old_path,
            new_path,
            old_lines,
            new_lines,
            base_sha: sha(self.base_sha),
            head_sha: sha(self.head_sha),
        })
    }

    /// First and last line before and after the change.
    fn lines(&self) -> (Lines, Lines) {
        let ends = |range: &LineRangeJson| {
            let lines = |end: &Option<LineJson>| end.as_ref().map(LineJson::lines).unwrap_or_default();
            (lines(&range.start), lines(&range.end))
        };
        let ((old_start, new_start), (old_end, new_end)) = self.line_range.as_ref().map(ends).unwrap_or_default();
        (span(old_start, old_end, self.old_line), span(new_start, new_end, self.new_line))
    }
}

/// The lines from one end to the other. A range may begin among removed lines and end among added ones, and so have
/// only one end on either side.
fn span(start: Option<u32>, end: Option<u32>, line: Option<u32>) -> Lines {
    let start = start.or(end).or(line).filter(|&line| line > 0)?;
    let end = end.or(line).unwrap_or(start).max(1);
    Some((start.min(end), start.max(end)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NEW: &str = "c8629974bdc5e3daa31826a514537faa8287795c";

    fn position(mut json: Value) -> Option<Position> {
        let paths = json!({"old_path": "src/a.c", "new_path": "src/b.c", "base_sha": NEW, "head_sha": NEW});
        for (key, value) in paths.as_object().unwrap() {
            json.as_object_mut().unwrap().entry(key).or_insert_with(|| value.clone());
        }
        PositionJson::deserialize(&json).unwrap().into_position()
    }

    fn lines(json: Value) -> (Lines, Lines) {
        let position = position(json).unwrap();
        (position.old_lines, position.new_lines)
    }

    #[test]
    fn single_lines_stand_on_the_side_they_have() {
        assert_eq!(
            lines(json!({"position_type": "text", "old_line": null, "new_line": 171})),
            (None, Some((171, 171)))
        );
        assert_eq!(lines(json!({"position_type": "text", "old_line": 3, "new_line": null})), (Some((3, 3)), None));
        assert_eq!(lines(json!({"old_line": 3, "new_line": 4})), (Some((3, 3)), Some((4, 4))));
    }

    #[test]
    fn ranges_go_from_their_start_to_their_end() {
        let range = json!({
            "start": {"type": "new", "old_line": null, "new_line": 170},
            "end": {"type": "new", "old_line": null, "new_line": 171},
        });
        assert_eq!(lines(json!({"new_line": 171, "line_range": range})), (None, Some((170, 171))));
        let mixed = json!({
            "start": {"type": "old", "old_line": 5, "new_line": null},
            "end": {"type": "new", "old_line": null, "new_line": 9},
        });
        assert_eq!(lines(json!({"new_line": 9, "line_range": mixed})), (Some((5, 5)), Some((9, 9))));
    }

    #[test]
    fn ranges_of_old_versions_are_read_from_line_codes() {
        let range = json!({
            "start": {"type": "new", "line_code": format!("{NEW}_140_170")},
            "end": {"type": null, "line_code": format!("{NEW}_141_173")},
        });
        assert_eq!(
            lines(json!({"old_line": 141, "new_line": 173, "line_range": range})),
            (Some((141, 141)), Some((170, 173)))
        );
    }

    #[test]
    fn images_and_files_have_no_lines() {
        assert_eq!(lines(json!({"position_type": "image", "x": 1, "y": 2, "new_line": 3})), (None, None));
        assert_eq!(lines(json!({"position_type": "file"})), (None, None));
    }

    #[test]
    fn one_path_stands_for_both_and_without_any_there_is_no_position() {
        let added = position(json!({"old_path": null, "base_sha": "none"})).unwrap();
        assert_eq!((added.old_path.as_str(), added.new_path.as_str(), added.base_sha), ("src/b.c", "src/b.c", None));
        assert_eq!(position(json!({"old_path": null, "new_path": null})), None);
    }
}
