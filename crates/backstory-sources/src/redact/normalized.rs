//! The text as it reads: without invisible characters, with plain letters in place of wide ones, and with characters in
//! place of their numeric references in HTML. A token that is split by them is whole there.

use std::ops::Range;

/// Longest numeric character reference, `&#x10ffff;`, in bytes.
const MAX_REFERENCE: usize = 10;

/// A text that reads like another one and knows where in that it comes from.
pub(super) struct NormalizedText {
    pub(super) text: String,
    /// Its pieces, in order.
    pieces: Vec<Piece>,
}

/// A piece of a view, which goes on to where the next one begins.
struct Piece {
    /// Where it begins in the view.
    shown: usize,
    /// Where it begins in the original.
    at: usize,
    /// Bytes of the original that stand for it; of what is the same in both `None`.
    instead_of: Option<usize>,
}

impl NormalizedText {
    /// How a text reads; `None` if that is the text itself.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut view = Self { text: String::new(), pieces: Vec::new() };
        // What is the same begins here.
        let mut same = 0;
        for (at, length, shown) in changes(text) {
            if view.text.is_empty() {
                view.text.reserve(text.len());
            }
            view.copy(text, same..at);
            if let Some(shown) = shown {
                view.pieces.push(Piece { shown: view.text.len(), at, instead_of: Some(length) });
                view.text.push(shown);
            }
            same = at + length;
        }
        if same == 0 {
            return None;
        }
        view.copy(text, same..text.len());
        Some(view)
    }

    fn copy(&mut self, text: &str, range: Range<usize>) {
        if !range.is_empty() {
            self.pieces.push(Piece { shown: self.text.len(), at: range.start, instead_of: None });
            self.text.push_str(&text[range]);
        }
    }

    /// Where in the original a part of the view comes from, which must not be empty.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        let piece_at = |at: usize| &self.pieces[self.pieces.partition_point(|piece| piece.shown <= at) - 1];
        let (first, last) = (piece_at(range.start), piece_at(range.end - 1));
        let start = first.at + if first.instead_of.is_some() { 0 } else { range.start - first.shown };
        start..last.at + last.instead_of.unwrap_or(range.end - last.shown)
    }
}

/// What reads otherwise than it is written: where, how many bytes, and as what, if it is seen at all.
fn changes(text: &str) -> impl Iterator<Item = (usize, usize, Option<char>)> + '_ {
    // Most texts have neither.
    let text = if text.is_ascii() && !text.contains("&#") { "" } else { text };
    text.char_indices().filter_map(|(at, c)| {
        if c == '&' {
            return reference(&text[at..]).map(|(length, shown)| (at, length, shown));
        }
        read_as(c).map(|shown| (at, c.len_utf8(), shown))
    })
}

/// As what a character reads, if that is another one.
fn read_as(c: char) -> Option<Option<char>> {
    match c {
        // Soft hyphen, joiners, marks of direction, selectors of variants, the mark of byte order.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' => Some(None),
        '\u{2010}' | '\u{2011}' => Some(Some('-')),
        // Full-width forms stand as far from ASCII as their first one does.
        '\u{ff01}'..='\u{ff5e}' => Some(char::from_u32(u32::from(c) - 0xfee0)),
        _ => None,
    }
}

/// A numeric character reference at the beginning of a text: its length, and the character, if it is seen.
fn reference(text: &str) -> Option<(usize, Option<char>)> {
    let head = &text.as_bytes()[..text.len().min(MAX_REFERENCE)];
    let end = head.iter().position(|byte| *byte == b';')?;
    let digits = text.get(2..end).filter(|_| head.starts_with(b"&#"))?;
    let number = match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    let c = char::from_u32(number)?;
    let shown = if c.is_ascii_graphic() { Some(c) } else { read_as(c)? };
    Some((end + 1, shown))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_nobody_sees_is_left_out_and_what_looks_alike_is_alike() {
        let shown = |text: &str| NormalizedText::of(text).map(|view| view.text);
        assert_eq!(shown("gl\u{200b}pat\u{ad}-x\u{feff}").as_deref(), Some("glpat-x"));
        assert_eq!(shown("\u{ff47}\u{ff4c}\u{ff0d}\u{2011}&#45;&#x2D;&#8203;!").as_deref(), Some("gl----!"));
        assert_eq!(shown("caf\u{e9} \u{2013} & &#; &#x; &#xzz; &#1114112; &#10; &amp;"), None);
        assert_eq!(shown(""), None);
    }

    proptest! {
        #[test]
        fn each_part_comes_from_where_it_stands(text in "([a-c\u{e9}]|\u{200b}|\u{ff41}|&#45;|&#x2d;|&){0,40}") {
            let Some(view) = NormalizedText::of(&text) else { return Ok(()) };
            let places: Vec<usize> = view.text.char_indices().map(|(at, _)| at).chain([view.text.len()]).collect();
            for (first, start) in places.iter().enumerate() {
                for end in &places[first + 1..] {
                    let original = view.original(*start..*end);
                    let part = &text[original];
                    let read = NormalizedText::of(part).map_or_else(|| part.to_owned(), |view| view.text);
                    prop_assert_eq!(read, &view.text[*start..*end]);
                }
            }
        }
    }
}
