//! What headings of a changelog, and items of its lists, say was done to the items under them.

use backstory_model::{
    change_question::{ChangeDirection, direction_of_label},
    sentence::{begins_list_item, text_of_list_item},
};

/// Most lines above an item among which its label is looked for.
const MAX_ABOVE: usize = 200;
/// Blanks that a tab stands for at most, in Markdown.
const TAB: usize = 4;
/// Fewest marks that underline a heading.
const MIN_UNDERLINE: usize = 3;

/// What is said to have been done to what the item of a list names that begins at a place of a text: by the item that it is
/// nested under, or else by the heading, the bold line or the line with a colon above its list.
pub(super) fn direction_above(text: &str, at: usize) -> Option<ChangeDirection> {
    if !begins_list_item(text, at) {
        return None;
    }
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let depth = indentation(&text[start..at]);
    let mut below = "";
    for line in text[..start].lines().rev().take(MAX_ABOVE) {
        let said = line.trim();
        let is_above = indentation(line) < depth;
        if let Some(item) = text_of_list_item(line) {
            if is_above {
                return direction_of_label(item);
            }
        } else if !said.is_empty() {
            let is_heading = said.starts_with('#') || is_underline(below);
            let is_bold = said.starts_with("**") && said.trim_end_matches(':').ends_with("**");
            // What is indented more goes on with an item beside this one.
            let introduces = (is_bold || said.ends_with(':')) && (is_above || indentation(line) == depth);
            if is_heading || introduces {
                return direction_of_label(said);
            }
        }
        below = line;
    }
    None
}

/// Whether a line only underlines the heading above it.
pub(super) fn is_underline(line: &str) -> bool {
    let marks = ['=', '-', '~', '^'];
    line.len() >= MIN_UNDERLINE && marks.iter().any(|mark| line.chars().all(|c| c == *mark))
}

/// How far a line is indented, in blanks: a tab goes to the next multiple of [`TAB`].
fn indentation(line: &str) -> usize {
    let blanks = line.chars().take_while(|c| c.is_whitespace());
    blanks.fold(0, |column, c| if c == '\t' { (column / TAB + 1) * TAB } else { column + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_has_the_verb_of_what_it_stands_under() {
        use ChangeDirection::{Added, Deprecated, Fixed, Removed};
        for (text, expected) in [
            ("## 1.0\n\n### Added\n\n- one\n  goes on\n- `two`", Some(Added)),
            ("## 1.0\n\n### Added\n\n### Removed\n- two", Some(Removed)),
            ("1.0\n---\n\nBug fixes\n~~~~~~~~~\n\n-   two", Some(Fixed)),
            ("## 1.0\n\n**Deprecated**\n\n* one\n* two", Some(Deprecated)),
            ("## 1.0\n\nRemoved:\n\n1. one\n2. two", Some(Removed)),
            ("## 1.0\n\n- Added:\n  - one\n    - one of it\n  - two", Some(Added)),
            ("## 1.0\n\n- Added:\n\t- one\n    - two", Some(Added)),
            ("### Added\n\n- The following functions were removed:\n  - two", Some(Removed)),
            ("### Added\n\n- one:\n  - two", None),
            ("### Added\n\nKnown problems:\n\n- two", None),
            ("### Added\n\nThanks to all.\n\n- one, with this\n  note:\n- two", Some(Added)),
            ("## 1.0\n\n- one\n- two", None),
            ("### Changed\n- two", None),
            ("### Added\n\ntwo", None),
            ("- two", None),
        ] {
            let at = text.rfind("two").unwrap();
            let at = if text[..at].ends_with('`') { at - 1 } else { at };
            assert_eq!(direction_above(text, at), expected, "{text}");
        }
    }
}
