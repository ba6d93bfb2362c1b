//! Cuts texts into the pieces that can be quoted: sentences, list items, blocks of code.

mod blocks;
mod lines;
mod marks;
mod metadata;
#[cfg(test)]
mod tests;
mod trailers;
mod unfenced;

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use crate::{
    question::is_stop_word,
    text::{stem, words},
};
use blocks::is_row;
pub use blocks::own_blocks;
pub use lines::is_foreign;
use lines::{LineKind, LineReader, list_marker};
pub use marks::has_only_links;
use marks::{Mark, MarkKind, find_marks, overlaps, ranges_of, remove_marks};

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
    /// A block of code, without its fences; also a diff and commands that have none.
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

/// The pieces of a Markdown text, in order. A heading, a paragraph, an item of a list and a row of a table end a sentence; the
/// end of a line within them does not. What others said (`> …`), comments and what programs say of their own commits are left
/// out, and so are trailers with nothing but people, references and links; each other trailer is a paragraph. A sentence of
/// which anything is struck out is left out, too: without that part it may say something else.
pub fn split_sentences(text: &str) -> Vec<SentencePiece> {
    let mut cutter = Cutter { text, lines: LineReader::of_text(text), pieces: Vec::new(), open: None, code: None };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        cutter.line(at..at + line.len());
        at += line.len();
    }
    cutter.close();
    cutter.pieces.truncate(MAX_PIECES);
    cutter.pieces
}

/// A quotation as it is shown where nothing else is laid out: the lines of a paragraph or list item are joined, and
/// everything else is on lines of its own, without empty ones between. Tags of HTML are left out. Since a quotation may
/// begin within a list item, items with any number may follow its first paragraph.
pub fn join_wrapped_lines(text: &str) -> String {
    let mut lines = LineReader::of_quotation(text);
    let mut joined = String::with_capacity(text.len());
    for line in text.lines() {
        let kind = lines.read(line);
        let shown = match kind {
            LineKind::Code => line.trim_end().to_owned(),
            _ => {
                let untagged = remove_marks(line, &[MarkKind::BlockTag, MarkKind::InlineTag]);
                untagged.split_whitespace().collect::<Vec<_>>().join(" ")
            }
        };
        if shown.is_empty() {
            continue;
        }
        if !joined.is_empty() {
            joined.push(if kind == LineKind::Continuation { ' ' } else { '\n' });
        }
        joined.push_str(&shown);
    }
    joined
}

/// The lines of a Markdown text in which its writer says something: without what others or programs said, comments, marks, and
/// trailers that only name people and references. What is struck out and tags of HTML are cut out of them.
pub fn own_lines(text: &str) -> String {
    let mut lines = LineReader::of_text(text);
    text.lines().filter_map(|line| own_part(lines.read(line), line)).collect::<Vec<_>>().join("\n")
}

/// What the writer says in a line; `None` if nothing.
fn own_part<'a>(kind: LineKind<'_>, line: &'a str) -> Option<Cow<'a, str>> {
    let removed = [MarkKind::StruckOut, MarkKind::Comment, MarkKind::BlockTag, MarkKind::InlineTag];
    match kind {
        LineKind::End | LineKind::Underline => None,
        LineKind::Code => Some(Cow::Borrowed(line)),
        LineKind::Heading(_) | LineKind::Alone | LineKind::Beginning(_) | LineKind::Continuation => {
            Some(remove_marks(line, &removed)).filter(|own| !own.trim().is_empty())
        }
    }
}

/// The first line of a Markdown text in which its writer says something in words; `None` if there are only code and tables.
pub fn first_prose_line(text: &str) -> Option<Cow<'_, str>> {
    let mut lines = LineReader::of_text(text);
    text.lines().find_map(|line| {
        let kind = lines.read(line);
        let is_prose = kind != LineKind::Code && !is_code_line(line) && !is_row(kind, line);
        if is_prose { own_part(kind, line) } else { None }
    })
}

/// Whether a line is nothing but code: in backticks, or indented as Markdown indents code.
fn is_code_line(line: &str) -> bool {
    let span = line.trim().strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    line.starts_with("    ") || line.starts_with('\t') || span.is_some_and(|code| !code.contains('`'))
}

/// The [`own_lines`] of a text, or all of it with its marks if its writer only repeats what others said.
pub fn own_lines_or_all(text: &str) -> String {
    let own = own_lines(text);
    if own.trim().is_empty() { text.to_owned() } else { own }
}

/// A Markdown text without what others or programs said, comments, and trailers that only name people and references. The
/// marks of its paragraphs and of blocks of code stay.
pub fn own_markdown(text: &str) -> String {
    let mut lines = LineReader::of_text(text);
    let is_mark = |line: &str| line.is_empty() || line.starts_with("```") || line.starts_with("~~~");
    let own = text.lines().filter(|line| lines.read(line) != LineKind::End || is_mark(line.trim()));
    own.collect::<Vec<_>>().join("\n")
}

/// The bytes of pieces of a text that lie side by side, from the marker of the list item that they begin with if others
/// follow: without it these would look like items below the first.
pub fn include_list_marker(text: &str, range: Range<usize>) -> Range<usize> {
    let line = text[..range.start].rfind('\n').map_or(0, |end| end + 1);
    let before = text[line..range.start].trim_start();
    let start = range.start - before.len();
    let begins_item = !before.is_empty() && list_marker(&text[start..range.end]) == before.len();
    let has_others = text[range.clone()].lines().skip(1).any(|line| list_marker(line.trim_start()) > 0);
    if begins_item && has_others { start..range.end } else { range }
}

/// The bytes of pieces of a text that lie side by side, with the fences of the blocks of code that they begin and end with: without
/// these nobody can tell code from prose, and where it ends.
pub fn include_fences(text: &str, range: &Range<usize>) -> Range<usize> {
    let mut lines = LineReader::of_text(text);
    let (mut whole, mut at) = (range.clone(), 0);
    let is_nothing = |between: Range<usize>| text.get(between).is_some_and(|between| between.trim().is_empty());
    for line in text.split_inclusive('\n') {
        let was_fenced = lines.is_fenced();
        lines.read(line);
        let fence = at + (line.len() - line.trim_start().len())..at + line.trim_end().len();
        match (was_fenced, lines.is_fenced()) {
            (false, true) if is_nothing(fence.end..range.start) => whole.start = fence.start,
            (true, false) if is_nothing(range.end..fence.start) => whole.end = fence.end,
            _ => {}
        }
        at += line.len();
    }
    whole
}

/// Whether two pieces of a text follow one another in one paragraph or item of a list.
pub fn are_of_paragraph(text: &str, before: &Range<usize>, behind: &Range<usize>) -> bool {
    let between = text.get(before.end..behind.start);
    between.is_some_and(|between| between.trim().is_empty() && between.matches('\n').count() < 2)
}

/// Whether an item of a list begins at a place of a text, behind its marker.
pub fn begins_list_item(text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let before = text[line..at].trim_start();
    !before.is_empty() && list_marker(&text[at - before.len()..]) == before.len()
}

/// What an item of a list says that begins in a line, as far as that goes; `None` if none does.
pub fn text_of_list_item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let marker = list_marker(line);
    (marker > 0).then(|| &line[marker..])
}

struct Cutter<'a> {
    text: &'a str,
    lines: LineReader,
    pieces: Vec<SentencePiece>,
    /// Bytes of the paragraph or list item that is under way.
    open: Option<Range<usize>>,
    /// Bytes of the block of code that is under way.
    code: Option<Range<usize>>,
}

impl Cutter<'_> {
    fn line(&mut self, range: Range<usize>) {
        let text = self.text;
        let line = &text[range.clone()];
        let start = range.start + (line.len() - line.trim_start().len());
        let end = range.start + line.trim_end().len();
        match self.lines.read(line) {
            LineKind::Code => {
                // A diff or a command may follow a paragraph without an empty line.
                if self.code.is_none() {
                    self.close();
                }
                let start = self.code.as_ref().map_or(range.start, |code| code.start);
                self.code = Some(start..range.end);
            }
            LineKind::End => self.close(),
            LineKind::Underline => self.close_title(),
            LineKind::Heading(title) => {
                self.close();
                self.push_heading(end - title.len()..end);
            }
            LineKind::Alone => {
                self.close();
                self.open = Some(start..end);
                self.close();
            }
            LineKind::Beginning(marker) => {
                self.close();
                self.open = Some(start + marker..end);
            }
            LineKind::Continuation => {
                let start = self.open.as_ref().map_or(start, |open| open.start);
                self.open = Some(start..end);
            }
        }
    }

    /// Ends what is under way.
    fn close(&mut self) {
        self.close_code();
        let Some(paragraph) = self.open.take() else { return };
        for range in sentences(&self.text[paragraph.clone()]) {
            let range = paragraph.start + range.start..paragraph.start + range.end;
            if range.len() <= MAX_PROSE && self.text[range.clone()].chars().any(char::is_alphanumeric) {
                self.pieces.push(SentencePiece { range, kind: PieceKind::Prose });
            }
        }
    }

    /// Ends the paragraph under way, which is underlined: a heading, unless it has several lines or is a sentence.
    fn close_title(&mut self) {
        let text = self.text;
        let is_title = |open: &mut Range<usize>| {
            let title = &text[open.clone()];
            !title.contains('\n') && !title.ends_with(['.', '!', '?', ':'])
        };
        match self.open.take_if(is_title) {
            Some(range) => self.push_heading(range),
            None => self.close(),
        }
    }

    fn push_heading(&mut self, range: Range<usize>) {
        let title = &self.text[range.clone()];
        let marks = find_marks(title);
        let struck_out = ranges_of(&marks, &[MarkKind::StruckOut]);
        let shown = visible_parts(title, &marks).into_iter().filter(|part| !overlaps(&struck_out, part));
        let pieces = shown.map(|part| SentencePiece {
            range: range.start + part.start..range.start + part.end,
            kind: PieceKind::Heading,
        });
        self.pieces.extend(pieces);
    }

    fn close_code(&mut self) {
        let Some(body) = self.code.take() else { return };
        let code = &self.text[body.clone()];
        let length: usize = code.split_inclusive('\n').take(MAX_CODE_LINES).map(str::len).sum();
        let code = code[..length].trim_end();
        if !code.trim().is_empty() {
            self.pieces.push(SentencePiece { range: body.start..body.start + code.len(), kind: PieceKind::Code });
        }
    }
}

/// Words before a full stop that do not end a sentence.
const ABBREVIATIONS: [&str; 14] =
    ["e.g", "i.e", "etc", "cf", "vs", "approx", "resp", "ca", "dr", "mr", "no", "fig", "sec", "incl"];

/// Where the sentences of a paragraph are of which nothing is struck out.
fn sentences(paragraph: &str) -> Vec<Range<usize>> {
    let marks = find_marks(paragraph);
    let code = ranges_of(&marks, &[MarkKind::Code]);
    let struck_out = ranges_of(&marks, &[MarkKind::StruckOut]);
    let mut found = Vec::new();
    for part in visible_parts(paragraph, &marks) {
        push_sentences(&paragraph[..part.end], part.start, &code, &mut found);
    }
    found.retain(|sentence| !overlaps(&struck_out, sentence));
    found
}

/// What stands between comments, and between tags that part lines or blocks. Such tags in a row of a table part nothing.
fn visible_parts(paragraph: &str, marks: &[Mark]) -> Vec<Range<usize>> {
    let is_row = paragraph.starts_with('|');
    let parting: &[MarkKind] = if is_row { &[MarkKind::Comment] } else { &[MarkKind::Comment, MarkKind::BlockTag] };
    let mut found = Vec::new();
    let mut start = 0;
    for gap in ranges_of(marks, parting) {
        push_trimmed(paragraph, start..gap.start, &mut found);
        start = gap.end;
    }
    push_trimmed(paragraph, start..paragraph.len(), &mut found);
    found
}

/// Adds the sentences of a text from a place on.
fn push_sentences(text: &str, from: usize, code: &[Range<usize>], found: &mut Vec<Range<usize>>) {
    let mut start = from;
    let mut chars = text[from..].char_indices().map(|(at, c)| (from + at, c)).peekable();
    while let Some((at, c)) = chars.next() {
        if !matches!(c, '.' | '!' | '?') || overlaps(code, &(at..at + 1)) {
            continue;
        }
        let mut end = at + 1;
        while let Some((next, closing)) = chars.peek().copied() {
            if !matches!(closing, '.' | '!' | '?' | ')' | '"' | '\'' | '”' | '*' | '_' | '~') {
                break;
            }
            end = next + closing.len_utf8();
            chars.next();
        }
        let rest = &text[end..];
        let begins = rest.trim_start().chars().next();
        let is_end = match begins {
            None => true,
            Some(next) => {
                rest.starts_with(char::is_whitespace)
                    && !next.is_lowercase()
                    && (c != '.' || !ends_in_abbreviation(&text[start..at]))
            }
        };
        if is_end {
            push_trimmed(text, start..end, found);
            start = end;
        }
    }
    push_trimmed(text, start..text.len(), found);
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
