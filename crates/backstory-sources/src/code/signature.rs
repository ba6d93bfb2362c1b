//! The declaration of an entity, on one line.

use std::ops::Range;

use tree_sitter::Node;

/// Longest signature, in characters.
pub const MAX_SIGNATURE: usize = 300;

/// The text of a definition up to its body, white space collapsed.
pub(super) fn extract_signature(source: &str, range: Range<usize>, body: Option<Node<'_>>) -> String {
    let end = body.map_or(range.end, |body| before_comments(body).clamp(range.start, range.end));
    let text = source.get(range.start..end).unwrap_or_default();
    let mut signature = collapse(text, MAX_SIGNATURE);
    let trimmed = signature.trim_end_matches(['{', ':', ' ', ';']);
    let trimmed = trimmed.strip_suffix("=>").or(trimmed.strip_suffix('=')).unwrap_or(trimmed).trim_end();
    signature.truncate(trimmed.len());
    signature
}

/// Where the body begins, or the comments directly before it.
fn before_comments(body: Node<'_>) -> usize {
    let mut start = body.start_byte();
    let mut before = body.prev_sibling();
    while let Some(comment) = before.filter(|node| node.is_extra()) {
        start = comment.start_byte();
        before = comment.prev_sibling();
    }
    start
}

/// The text with every run of white space made one blank, at most `limit` characters of it.
pub(super) fn collapse(text: &str, limit: usize) -> String {
    let mut line = String::with_capacity(text.len().min(limit));
    let mut count = 0;
    for word in text.split_ascii_whitespace() {
        if !line.is_empty() {
            line.push(' ');
            count += 1;
        }
        for character in word.chars() {
            if count >= limit {
                return line;
            }
            line.push(character);
            count += 1;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collapses_and_cuts() {
        assert_eq!(collapse("fn a(\r\n\t x: u8,\n)", 300), "fn a( x: u8, )");
        assert_eq!(collapse("äöü ß", 4), "äöü ");
        assert_eq!(extract_signature("fn a() -> Vec<u8> {", 0..19, None), "fn a() -> Vec<u8>");
        assert_eq!(extract_signature("fn a() -> Vec<Vec<u8>>\n{", 0..24, None), "fn a() -> Vec<Vec<u8>>");
        assert_eq!(extract_signature("const f = () => {", 0..17, None), "const f = ()");
    }
}
