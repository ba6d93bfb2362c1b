//! Rows of a syntax tree, which count from 0, and lines of a file, which count from 1.

use backstory_model::code::Lines;
use tree_sitter::Node;

/// The row on which a node ends; one that ends with a line feed ends on the row that this ends.
pub(super) fn end_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row { end.row - 1 } else { end.row }
}

/// The line of a row, which counts from 0.
pub(super) fn line(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX - 1).saturating_add(1)
}

/// The lines of rows.
pub(super) fn lines(first: usize, last: usize) -> Lines {
    Lines::new(line(first), line(last))
}
