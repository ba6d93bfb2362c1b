//! Cuts texts into the pieces that can be quoted: sentences, list items, blocks of code.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use crate::{
    question::is_stop_word,
    text::{stem, words},
};

/// Pieces of one text, the first ones.
pub const MAX_PIECES: usize = 5_000;
/// Longest piece that is prose, in bytes: longer ones are logs.
const MAX_PROSE: usize = 1_000;
/// Longest piece of code, in lines; of a longer block the beginning is a piece.
const MAX_CODE_LINES: usize = 12;

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// A sentence.
    Prose,
    /// A block of code, without its fences.
    Code,
    /// A heading or title.
    Heading,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentencePiece {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// What it is.
    pub kind: PieceKind,
}

/// The pieces of a Markdown text, in order. What others said (`> …`), comments, trailers and what programs say of their own
/// commits are left out.
pub fn split_sentences(text: &str) -> Vec<SentencePiece> {
    let mut cutter = Cutter { text, pieces: Vec::new(), open: None, fence: None, comment: false };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        cutter.line(at..at + line.len());
        at += line.len();
    }
    cutter.close();
    cutter.close_fence();
    cutter.pieces.truncate(MAX_PIECES);
    cutter.pieces
}

struct Cutter<'a> {
    text: &'a str,
    pieces: Vec<SentencePiece>,
    /// Bytes of the paragraph that is under way.
    open: Option<Range<usize>>,
    /// What closes the block of code that is under way, and its bytes so far.
    fence: Option<(&'static str, Option<Range<usize>>)>,
    comment: bool,
}

impl Cutter<'_> {
    fn line(&mut self, range: Range<usize>) {
        let line = &self.text[range.clone()];
        let trimmed = line.trim();
        if let Some((mark, body)) = &mut self.fence {
            if trimmed.starts_with(*mark) {
                self.close_fence();
            } else {
                let start = body.as_ref().map_or(range.start, |body| body.start);
                *body = Some(start..range.end);
            }
            return;
        }
        if self.comment || trimmed.starts_with("<!--") {
            self.close();
            self.comment = !trimmed.contains("-->");
            return;
        }
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark)) {
            self.close();
            self.fence = Some((mark, None));
            return;
        }
        if trimmed.is_empty() || trimmed.starts_with('>') || is_trailer(trimmed) || is_of_program(trimmed) {
            return self.close();
        }
        let start = range.start + (line.len() - line.trim_start().len());
        let end = range.start + line.trim_end().len();
        if let Some(title) = heading(trimmed) {
            self.close();
            self.pieces.push(SentencePiece { range: end - title.len()..end, kind: PieceKind::Heading });
            return;
        }
        let marker = list_marker(trimmed);
        if marker > 0 {
            self.close();
        }
        let start = self.open.as_ref().map_or(start + marker, |open| open.start);
        self.open = Some(start..end);
    }

    fn close(&mut self) {
        let Some(paragraph) = self.open.take() else { return };
        for range in sentences(&self.text[paragraph.clone()]) {
            let range = paragraph.start + range.start..paragraph.start + range.end;
            if range.len() <= MAX_PROSE && self.text[range.clone()].chars().any(char::is_alphanumeric) {
                self.pieces.push(SentencePiece { range, kind: PieceKind::Prose });
            }
        }
    }

    fn close_fence(&mut self) {
        let Some((_, Some(body))) = self.fence.take() else { return };
        let code = &self.text[body.clone()];
        let length: usize = code.split_inclusive('\n').take(MAX_CODE_LINES).map(str::len).sum();
        let code = code[..length].trim_end();
        if !code.trim().is_empty() {
            self.pieces.push(SentencePiece { range: body.start..body.start + code.len(), kind: PieceKind::Code });
        }
    }
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level).then(|| rest.strip_prefix(' ')).flatten().map(str::trim).filter(|title| !title.is_empty())
}

/// Bytes of `- `, `* `, `1. ` at the beginning of a line.
fn list_marker(line: &str) -> usize {
    let bullet = ["- [ ] ", "- [x] ", "- ", "* ", "+ ", "• "].into_iter().find(|mark| line.starts_with(mark));
    if let Some(bullet) = bullet {
        return bullet.len();
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = (1..=3).contains(&digits) && (line[digits..].starts_with(". ") || line[digits..].starts_with(") "));
    if numbered { digits + 2 } else { 0 }
}

/// `Signed-off-by: …` and the like.
fn is_trailer(line: &str) -> bool {
    let Some((key, value)) = line.split_once(": ") else { return false };
    let dashed = key.contains('-') && key.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    dashed && key.to_ascii_lowercase().ends_with("-by") && !value.trim().is_empty()
}

/// `[pre-commit.ci] auto fixes …` and the like, as it stands in the message of a squashed merge request, too.
fn is_of_program(line: &str) -> bool {
    let rest = line[list_marker(line)..].strip_prefix('[');
    let is_program = |name: &str| name.ends_with(".ci") || name.ends_with("-bot") || name == "bot";
    rest.and_then(|rest| rest.split_once(']')).is_some_and(|(name, _)| is_program(name))
        || line.starts_with("for more information, see https://pre-commit.ci")
}

/// Words before a full stop that do not end a sentence.
const ABBREVIATIONS: [&str; 14] =
    ["e.g", "i.e", "etc", "cf", "vs", "approx", "resp", "ca", "dr", "mr", "no", "fig", "sec", "incl"];

/// Where the sentences of a paragraph are.
fn sentences(paragraph: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = paragraph.char_indices().peekable();
    let mut code = false;
    while let Some((at, c)) = chars.next() {
        if c == '`' {
            code = !code;
        }
        if code || !matches!(c, '.' | '!' | '?') {
            continue;
        }
        let mut end = at + 1;
        while let Some((next, closing)) = chars.peek().copied() {
            if !matches!(closing, '.' | '!' | '?' | ')' | '"' | '\'' | '”' | '*' | '_') {
                break;
            }
            end = next + closing.len_utf8();
            chars.next();
        }
        let rest = &paragraph[end..];
        let begins = rest.trim_start().chars().next();
        let is_end = match begins {
            None => true,
            Some(next) => {
                rest.starts_with(char::is_whitespace)
                    && !next.is_lowercase()
                    && (c != '.' || !ends_in_abbreviation(&paragraph[start..at]))
            }
        };
        if is_end {
            push_trimmed(paragraph, start..end, &mut found);
            start = end;
        }
    }
    push_trimmed(paragraph, start..paragraph.len(), &mut found);
    found
}

fn ends_in_abbreviation(text: &str) -> bool {
    let word = text.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default().to_lowercase();
    ABBREVIATIONS.contains(&word.as_str()) || (word.chars().count() == 1 && word.chars().all(char::is_alphabetic))
}

fn push_trimmed(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let piece = &text[range.clone()];
    let start = range.start + (piece.len() - piece.trim_start().len());
    let end = range.start + piece.trim_end().len();
    if start < end {
        found.push(start..end);
    }
}

/// The content words of a text as stems; of identifiers also the parts: `getUserName`, `user_name` → `user`, `name`.
pub fn stems(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut add = |word: &str| {
        if !is_stop_word(word) {
            found.insert(stem(word));
        }
    };
    for token in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|token| !token.is_empty()) {
        add(&token.to_lowercase());
        for part in token.split('_').flat_map(camel_parts) {
            if part.len() < token.len() {
                add(&part.to_lowercase());
            }
        }
    }
    found
}

/// `getUserName` → `get`, `User`, `Name`; `SHA256` stays whole.
fn camel_parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut was_lower = false;
    for (at, c) in word.char_indices() {
        if c.is_uppercase() && was_lower {
            parts.push(&word[start..at]);
            start = at;
        }
        was_lower = c.is_lowercase();
    }
    parts.push(&word[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// How much two texts say the same, 0 to 1: the share of words of the shorter one that the other has too.
pub fn word_overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f32 {
    let shorter = a.len().min(b.len());
    if shorter == 0 {
        return 0.0;
    }
    a.intersection(b).count() as f32 / shorter as f32
}

/// Numbers and identifiers of a text, as they are written: what must not be made up.
pub fn exact_words(text: &str) -> Vec<String> {
    // An identifier with a capital letter is not told from others that are spelled so in lower case.
    let written: HashSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let exact = |word: &String| {
        let digits = word.chars().any(|c| c.is_ascii_digit());
        digits || (word.contains('_') && word.chars().any(char::is_alphanumeric) && written.contains(word.as_str()))
    };
    words(text).into_iter().filter(exact).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> Vec<&str> {
        split_sentences(text).into_iter().map(|piece| &text[piece.range]).collect()
    }

    #[test]
    fn sentences_end_where_they_end() {
        assert_eq!(
            shown("We use Redis, e.g. for sessions. It is fast! Is it? See v1.2.3 of `a. B`. (Done.)"),
            ["We use Redis, e.g. for sessions.", "It is fast!", "Is it?", "See v1.2.3 of `a. B`.", "(Done.)"]
        );
        assert_eq!(shown("one line\nand the next.\n\nAnother"), ["one line\nand the next.", "Another"]);
        assert_eq!(shown("- first\n- second\n  goes on\n1. third"), ["first", "second\n  goes on", "third"]);
    }

    #[test]
    fn what_others_said_is_no_piece() {
        let text =
            "> Why?\n\nBecause of it.\n\nSigned-off-by: A <a@b.c>\n<!-- say\nmore -->\n# Title\n```sh\nmake\n```\n";
        assert_eq!(shown(text), ["Because of it.", "Title", "make"]);
        let kinds: Vec<PieceKind> = split_sentences(text).into_iter().map(|piece| piece.kind).collect();
        assert_eq!(kinds, [PieceKind::Prose, PieceKind::Heading, PieceKind::Code]);
    }

    #[test]
    fn what_programs_say_of_their_commits_is_no_piece() {
        let text =
            "Fix it.\n* [pre-commit.ci] auto fixes\nfor more information, see https://pre-commit.ci\n\n[arm] Use it.";
        assert_eq!(shown(text), ["Fix it.", "[arm] Use it."]);
    }

    #[test]
    fn stems_have_parts_of_identifiers() {
        let found = stems("The getUserName of load_session caches");
        for stem in ["user", "nam", "load", "session", "cach"] {
            assert!(found.contains(stem), "{stem}: {found:?}");
        }
        assert!(!found.contains("the"));
    }

    proptest! {
        #[test]
        fn pieces_lie_in_the_text_in_order(text in "([a-z.!?>#` \n-]|é|```|<!--){0,200}") {
            let mut end = 0;
            for piece in split_sentences(&text) {
                prop_assert!(piece.range.start >= end && piece.range.end > piece.range.start);
                end = piece.range.end;
                prop_assert!(!text[piece.range].is_empty());
            }
        }
    }
}
