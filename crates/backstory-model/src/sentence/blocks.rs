//! What is quoted of a text beside code: the prose of its writer, without what is legible only where it is laid out.

use super::{
    lines::{LineKind, LineReader},
    marks::{has_only_images, is_link_definition},
    own_part,
};

/// Blocks of prose, each on one line.
#[derive(Default)]
struct Blocks {
    blocks: Vec<String>,
    /// Whether the last one is an item of a list.
    is_item: bool,
}

/// Tells which lines stand between `<details>` and `</details>`, where a reader does not see them at first.
#[derive(Default)]
struct FoldReader {
    depth: usize,
}

/// What the writer of a Markdown text says in prose, without what [`own_lines`](super::own_lines) leaves out: each item of a
/// list on one line, and all that is between two of them on another. Tables, images and definitions of links are left out, and
/// so is what is folded, unless there is nothing else. Of a text without prose it is the code, a line each.
pub fn own_blocks(text: &str) -> Vec<String> {
    let mut lines = LineReader::of_text(text);
    let mut folds = FoldReader::default();
    let (mut seen, mut folded, mut code) = (Blocks::default(), Blocks::default(), Vec::new());
    for line in text.lines() {
        let kind = lines.read(line);
        if kind == LineKind::Code {
            code.push(line.trim_end().to_owned());
            continue;
        }
        let blocks = if folds.read(line) { &mut folded } else { &mut seen };
        if !is_row(kind, line) && !has_only_images(line) && !is_link_definition(line) {
            blocks.add(kind, line);
        }
    }
    code.retain(|line| !line.is_empty());
    [seen.blocks, folded.blocks, code].into_iter().find(|blocks| !blocks.is_empty()).unwrap_or_default()
}

/// Whether a line is a row of a table.
pub(super) fn is_row(kind: LineKind<'_>, line: &str) -> bool {
    kind == LineKind::Alone && line.trim_start().starts_with('|')
}

impl Blocks {
    /// Adds a line that is no code.
    fn add(&mut self, kind: LineKind<'_>, line: &str) {
        let Some(own) = own_part(kind, line) else { return };
        let shown = own.split_whitespace().collect::<Vec<_>>().join(" ");
        if shown.is_empty() {
            return;
        }
        let begins_item = matches!(kind, LineKind::Beginning(marker) if marker > 0);
        let goes_on = kind == LineKind::Continuation || (!begins_item && !self.is_item);
        match self.blocks.last_mut().filter(|_| goes_on) {
            Some(block) => {
                block.push(' ');
                block.push_str(&shown);
            }
            None => self.blocks.push(shown),
        }
        if kind != LineKind::Continuation {
            self.is_item = begins_item;
        }
    }
}

impl FoldReader {
    /// Reads the next line that is no code, and returns whether it is folded.
    fn read(&mut self, line: &str) -> bool {
        let text = line.trim().to_ascii_lowercase();
        let opened = if text.starts_with("<details") { text.matches("<details").count() } else { 0 };
        let is_folded = self.depth + opened > 0;
        self.depth = (self.depth + opened).saturating_sub(text.matches("</details>").count());
        is_folded
    }
}
