//! Hashes of code that disregard its layout.

use std::ops::Range;

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a of the bytes of a range that are neither white space nor in one of the ranges to leave out, and how many
/// they are. Ranges of comments are in order.
pub(super) fn hash_code(
    source: &[u8],
    range: Range<usize>,
    left_out: Range<usize>,
    comments: impl Iterator<Item = Range<usize>>,
) -> (u64, u32) {
    let end = range.end.min(source.len());
    let (mut hash, mut size, mut at) = (OFFSET, 0u32, range.start);
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            if !byte.is_ascii_whitespace() {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
                size = size.saturating_add(1);
            }
        }
    };
    let mut name = Some(left_out).filter(|range| !range.is_empty());
    let mut gaps = comments.take_while(|comment| comment.start < end).peekable();
    while at < end {
        let comment_is_next = match (&name, gaps.peek()) {
            (Some(name), Some(comment)) => comment.start < name.start,
            (_, comment) => comment.is_some(),
        };
        let gap = if comment_is_next { gaps.next() } else { name.take() };
        let Some(gap) = gap else { break };
        if gap.start > at {
            add(source.get(at..gap.start.min(end)).unwrap_or_default());
        }
        at = at.max(gap.end);
    }
    add(source.get(at..end).unwrap_or_default());
    (hash, size)
}

/// FNV-1a of words, each told from the next.
pub(super) fn hash_words(words: &[&str]) -> u64 {
    let mut hash = OFFSET;
    for word in words {
        for byte in word.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_comments_and_the_name_do_not_count() {
        let plain = hash_code(b"{a+b}", 0..5, 0..0, std::iter::empty());
        let spread = b"x { a /* sum */ +\r\n\tb }";
        assert_eq!(hash_code(spread, 2..spread.len(), 0..0, std::iter::once(6..15)), plain);
        assert_eq!(plain.1, 5);
        let one = hash_code(b"int one = 2", 0..11, 4..7, std::iter::empty());
        assert_eq!(hash_code(b"int two = 2", 0..11, 4..7, std::iter::empty()), one);
        assert_ne!(hash_code(b"int two = 3", 0..11, 4..7, std::iter::empty()), one);
    }

    #[test]
    fn words_are_told_apart() {
        assert_ne!(hash_words(&["ab", "c"]), hash_words(&["a", "bc"]));
    }
}
