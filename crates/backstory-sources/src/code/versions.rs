//! Parses the versions of a file one after the other, each with the syntax tree of the one before.

use backstory_model::code::Language;
use imara_diff::{Algorithm, Diff, Hunk, InternedInput};
use tree_sitter::{InputEdit, Parser, Point, Tree};

/// Of the bytes of a version, one in this many must be outside of the change for the tree to be used again.
const MIN_SHARE: usize = 4;

/// With more changes than this the whole is parsed.
const MAX_EDITS: usize = 200;

/// A version that was parsed.
pub(super) struct Version {
    language: Language,
    source: String,
    tree: Tree,
}

impl Version {
    /// The version, if the next one can be parsed from it. How the parser recovers from errors depends on what it parsed before,
    /// so a tree with errors cannot be used again: results would depend on the order of versions.
    pub(super) fn keep_for_reparse(language: Language, source: &str, tree: Tree) -> Option<Self> {
        (!tree.root_node().has_error()).then(|| Self { language, source: source.to_owned(), tree })
    }
}

/// Parses what changed since another version; `None` if that does not pay or cannot be relied on.
pub(super) fn reparse(parser: &mut Parser, language: Language, before: Version, source: &str) -> Option<Tree> {
    if before.language != language {
        return None;
    }
    let edits = edits_between(&before.source, source);
    let changed: usize = edits.iter().map(|edit| edit.new_end_byte - edit.start_byte).sum();
    if edits.len() > MAX_EDITS || source.len().saturating_sub(changed) * MIN_SHARE < source.len() {
        return None;
    }
    let mut tree = before.tree;
    if edits.is_empty() {
        return Some(tree);
    }
    // From the last to the first, so that each is where the old version has it.
    for edit in edits.iter().rev() {
        tree.edit(edit);
    }
    super::parse(parser, source, Some(&tree)).filter(|tree| !tree.root_node().has_error())
}

/// The changes that make the new text from the old one, by lines, in order. Each tells where it begins in the old text
/// and how far it reaches in both.
fn edits_between(old: &str, new: &str) -> Vec<InputEdit> {
    let input = InternedInput::new(old, new);
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let (old_starts, new_starts) = (line_starts(old), line_starts(new));
    let at = |starts: &[usize], line: u32| starts.get(line as usize).or(starts.last()).copied().unwrap_or(0);
    let edit = |hunk: Hunk| {
        let (start_byte, old_end) = (at(&old_starts, hunk.before.start), at(&old_starts, hunk.before.end));
        let (new_start, new_end) = (at(&new_starts, hunk.after.start), at(&new_starts, hunk.after.end));
        // A line that the old text does not end with a line feed has no line below it to begin at.
        let line_start = old[..start_byte].rfind('\n').map_or(0, |feed| feed + 1);
        let start_position = Point::new(hunk.before.start as usize, start_byte - line_start);
        InputEdit {
            start_byte,
            old_end_byte: old_end,
            new_end_byte: start_byte + (new_end - new_start),
            start_position,
            old_end_position: advance(start_position, &old.as_bytes()[start_byte..old_end]),
            new_end_position: advance(start_position, &new.as_bytes()[new_start..new_end]),
        }
    };
    diff.hunks().map(edit).collect()
}

/// Where lines begin, and where the last one ends.
fn line_starts(text: &str) -> Vec<usize> {
    let mut starts: Vec<usize> = text
        .split_inclusive('\n')
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some(start)
        })
        .collect();
    starts.push(text.len());
    starts
}

/// The position behind some bytes that begin at a position.
fn advance(from: Point, bytes: &[u8]) -> Point {
    let feeds = bytes.iter().filter(|byte| **byte == b'\n').count();
    match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(last) => Point::new(from.row + feeds, bytes.len() - last - 1),
        None => Point::new(from.row, from.column + bytes.len()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::code::{IncrementalAnalyzer, analyze};

    #[test]
    fn the_changes_are_what_is_between() {
        let edits = edits_between("a\nb\nc\nd\ne", "a\nx\ny\nc\nd\nf");
        let places: Vec<_> = edits.iter().map(|edit| (edit.start_byte, edit.old_end_byte, edit.new_end_byte)).collect();
        assert_eq!(places, [(2, 4, 6), (8, 9, 9)]);
        let points: Vec<_> = edits.iter().map(|edit| (edit.start_position, edit.new_end_position)).collect();
        assert_eq!(points, [(Point::new(1, 0), Point::new(3, 0)), (Point::new(4, 0), Point::new(4, 1))]);
        assert!(edits_between("a\nb", "a\nb").is_empty());
    }

    fn line() -> impl Strategy<Value = &'static str> {
        prop_oneof![
            Just("def a(x):\n    return b(x)\n"),
            Just("class C(D):\n    def e(self):\n        self.f()\n"),
            Just("# why\n"),
            Just("X = 1\n"),
            Just("\n"),
            Just("if x:\n    def g(): pass\n"),
            Just("'''text\n"),
            Just("é = 'ü'\n"),
            Just("@deco\n"),
            Just("    pass\n"),
            Just("import a.b\n"),
            Just("f(\n"),
            Just(")\n"),
        ]
    }

    proptest! {
        #[test]
        fn versions_read_one_after_the_other_are_as_if_read_alone(
            lines in prop::collection::vec(line(), 1..12),
            edits in prop::collection::vec((any::<prop::sample::Index>(), line(), any::<bool>()), 0..12),
        ) {
            let mut lines = lines;
            let mut history = IncrementalAnalyzer::new();
            for (at, line, insert) in edits {
                if insert || lines.is_empty() {
                    lines.insert(at.index(lines.len() + 1), line);
                } else {
                    lines.remove(at.index(lines.len()));
                }
                let source = lines.concat();
                prop_assert_eq!(history.analyze("a.py", source.as_bytes()), analyze("a.py", source.as_bytes()));
            }
        }
    }
}
