//! Tells of each line of a Markdown text whether it begins something, or goes on with what is before it.

use std::{collections::BTreeMap, ops::Range};

use super::{
    marks::{MarkKind, remove_marks},
    metadata::metadata_lines,
    trailers::{quoted_trailer_lines, trailer_lines},
    unfenced::UnfencedReader,
};

/// Shortest line of marks that makes a heading of the line above it.
const MIN_UNDERLINE: usize = 3;
/// Most digits of the number of a list item.
const MAX_DIGITS: usize = 3;
/// Least marks that begin or end a block of code.
const MIN_FENCE: usize = 3;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind<'a> {
    /// It is a line of a block of code, or of a diff or a command that stands without fences.
    Code,
    /// It ends what is before it and is no part of the text: it is empty or a mark, or says what others or programs said.
    End,
    /// It is a mark that makes a heading of the paragraph before it.
    Underline,
    /// It is a heading with this title.
    Heading(&'a str),
    /// It stands alone: a row of a table, or a line in bold letters that is used as a heading.
    Alone,
    /// It begins a paragraph, or an item of a list behind a marker of so many bytes.
    Beginning(usize),
    /// It goes on with the paragraph or item before it.
    Continuation,
}

/// Reads the lines of a text, the first one first.
pub(super) struct LineReader {
    /// Number of the next line, from 0.
    number: usize,
    /// Numbers of the lines with which trailers begin, and whether each only names something.
    trailers: BTreeMap<usize, bool>,
    /// Whether the trailer that is under way, if any, only names something.
    trailer: Option<bool>,
    /// The lines that programs wrote for other programs, in order.
    metadata: Vec<Range<usize>>,
    /// The marks that opened the block of code that is under way.
    fence: Option<String>,
    unfenced: UnfencedReader,
    is_comment: bool,
    under_way: UnderWay,
}

/// What a line may go on with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnderWay {
    Nothing,
    Paragraph,
    Item,
    /// An item of which a further part begins.
    ItemPart,
}

impl LineReader {
    /// Reads the lines of a text.
    pub(super) fn of_text(text: &str) -> Self {
        Self {
            number: 0,
            trailers: trailer_lines(text),
            trailer: None,
            metadata: metadata_lines(text),
            fence: None,
            unfenced: UnfencedReader::default(),
            is_comment: false,
            under_way: UnderWay::Nothing,
        }
    }

    /// Reads a quotation: its first paragraph may be the rest of an item of a list, and further items may follow it.
    pub(super) fn of_quotation(text: &str) -> Self {
        Self { trailers: quoted_trailer_lines(text), under_way: UnderWay::ItemPart, ..Self::of_text(text) }
    }

    /// Whether a block of code between fences is under way.
    pub(super) fn is_fenced(&self) -> bool {
        self.fence.is_some()
    }

    /// Whether the next line is one of those that programs wrote, of which a text may have very many.
    fn is_in_metadata(&self) -> bool {
        let passed = self.metadata.partition_point(|lines| lines.end <= self.number);
        self.metadata.get(passed).is_some_and(|lines| lines.contains(&self.number))
    }

    /// What the next line is.
    pub(super) fn read<'a>(&mut self, line: &'a str) -> LineKind<'a> {
        let is_metadata = self.fence.is_none() && self.is_in_metadata();
        let kind = match self.classify_trailer(line) {
            _ if is_metadata => LineKind::End,
            Some(kind) => kind,
            None => self.classify_code(line).unwrap_or_else(|| self.classify(line.trim())),
        };
        self.under_way = match (kind, self.under_way) {
            (LineKind::Beginning(0), UnderWay::ItemPart) => UnderWay::Item,
            (LineKind::Beginning(0), _) => UnderWay::Paragraph,
            (LineKind::Beginning(_), _) => UnderWay::Item,
            (LineKind::Continuation, under_way) => under_way,
            _ => UnderWay::Nothing,
        };
        kind
    }

    /// What a line of code is, or one that begins or ends a block of it; `None` of another.
    fn classify_code(&mut self, line: &str) -> Option<LineKind<'static>> {
        let text = line.trim();
        if let Some(fence) = &self.fence {
            if !is_closing_fence(text, fence) {
                return Some(LineKind::Code);
            }
            self.fence = None;
            return Some(LineKind::End);
        }
        if self.is_comment {
            return None;
        }
        if self.unfenced.read(line) {
            return Some(LineKind::Code);
        }
        self.fence = opening_fence(text).map(str::to_owned);
        self.fence.is_some().then_some(LineKind::End)
    }

    /// What a line is that is no code.
    fn classify<'a>(&mut self, line: &'a str) -> LineKind<'a> {
        if self.is_comment || line.starts_with("<!--") {
            self.is_comment = !line.contains("-->");
            return LineKind::End;
        }
        if is_no_text(line) {
            return LineKind::End;
        }
        if is_rule(line) {
            let is_title = self.under_way == UnderWay::Paragraph && is_underline(line);
            return if is_title { LineKind::Underline } else { LineKind::End };
        }
        if let Some(title) = heading(line) {
            return LineKind::Heading(title);
        }
        let begins = matches!(self.under_way, UnderWay::Nothing | UnderWay::ItemPart);
        if line.starts_with('|') || (begins && is_bold(line)) {
            return LineKind::Alone;
        }
        let marker = list_marker(line);
        match self.under_way {
            UnderWay::Nothing | UnderWay::ItemPart => LineKind::Beginning(marker),
            UnderWay::Paragraph if marker > 0 && begins_list(line) => LineKind::Beginning(marker),
            UnderWay::Item if marker > 0 => LineKind::Beginning(marker),
            UnderWay::Paragraph | UnderWay::Item => LineKind::Continuation,
        }
    }

    /// What a line of a trailer is; `None` of another. Each trailer with words is a paragraph.
    fn classify_trailer(&mut self, line: &str) -> Option<LineKind<'static>> {
        let begun = self.trailers.get(&self.number).copied();
        self.number += 1;
        if self.fence.is_some() || self.is_comment || self.unfenced.is_within_hunk() {
            return None;
        }
        let goes_on = line.starts_with(char::is_whitespace) && !line.trim().is_empty();
        let before = self.trailer;
        self.trailer = begun.or(before.filter(|_| goes_on));
        match (begun, self.trailer) {
            (_, Some(true)) => Some(LineKind::End),
            (Some(_), _) => Some(LineKind::Beginning(0)),
            (None, Some(_)) => Some(LineKind::Continuation),
            (None, None) => {
                if before.is_some() {
                    self.under_way = UnderWay::Nothing;
                }
                None
            }
        }
    }
}

/// The marks of a line that begins a block of code. A line that has the end of it too is code within a paragraph.
fn opening_fence(line: &str) -> Option<&str> {
    let mark = ['`', '~'].into_iter().find(|mark| line.starts_with(*mark))?;
    let language = line.trim_start_matches(mark);
    let is_span = mark == '`' && language.contains('`');
    let marks = &line[..line.len() - language.len()];
    (marks.len() >= MIN_FENCE && !is_span).then_some(marks)
}

/// Whether a line ends the block of code that some marks opened: it has at least as many of them, and nothing else.
fn is_closing_fence(line: &str, opening: &str) -> bool {
    line.len() >= opening.len() && line.chars().all(|c| opening.starts_with(c))
}

/// Whether a line is empty or has only tags and comments, or is what others or programs said.
fn is_no_text(line: &str) -> bool {
    let hidden = [MarkKind::BlockTag, MarkKind::InlineTag, MarkKind::Comment];
    let is_hidden = || line.starts_with('<') && remove_marks(line, &hidden).trim().is_empty();
    line.is_empty() || is_of_others(line) || is_hidden()
}

/// Whether a line is what others (`> …`) or programs said, also as an item of a list.
fn is_of_others(line: &str) -> bool {
    let text = &line[list_marker(line)..];
    text.starts_with('>') || is_trailer(text) || is_of_program(text)
}

/// Whether a line that was left out parts what one person said: others or programs said it, or it is hidden
/// or struck out.
pub fn is_foreign(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('<') || is_of_others(line) || (line.contains("~~") && opening_fence(line).is_none())
}

/// Whether a line has only marks that divide texts or underline titles: `---`, `***`, `|---|---|`.
fn is_rule(line: &str) -> bool {
    line.chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | '+' | '#' | '|' | ':' | ' '))
}

/// Whether a line of marks underlines what is above it.
fn is_underline(line: &str) -> bool {
    line.len() >= MIN_UNDERLINE && ['=', '-'].into_iter().any(|mark| line.chars().all(|c| c == mark))
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level).then(|| rest.strip_prefix(' ')).flatten().map(str::trim).filter(|title| !title.is_empty())
}

/// `**Why**`, `**Steps:**`, `**Steps**:`
fn is_bold(line: &str) -> bool {
    let line = line.strip_suffix(':').unwrap_or(line);
    line.starts_with("**") && line.ends_with("**") && line.matches("**").count() == 2
}

/// Bytes of `- `, `* [x] `, `1. `, `(2) ` at the beginning of a line.
pub(super) fn list_marker(line: &str) -> usize {
    let behind = line.strip_prefix(['-', '*', '+', '•']).or_else(|| strip_number(line));
    let Some(item) = behind.filter(|behind| behind.starts_with(char::is_whitespace)).map(str::trim_start) else {
        return 0;
    };
    let boxes = ["[ ] ", "[x] ", "[X] "];
    let text = boxes.into_iter().find_map(|mark| item.strip_prefix(mark)).map_or(item, str::trim_start);
    line.len() - text.len()
}

/// What is behind the number of a list item: `1.`, `2)`, `(3)`.
fn strip_number(line: &str) -> Option<&str> {
    let bracketed = line.strip_prefix('(');
    let number = bracketed.unwrap_or(line);
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=MAX_DIGITS).contains(&digits) {
        return None;
    }
    number[digits..].strip_prefix(|c: char| c == ')' || (c == '.' && bracketed.is_none()))
}

/// Whether a list item may follow a paragraph without an empty line. With a number only the first one does: in `… since
/// version`, `2. That …` a sentence goes on.
fn begins_list(line: &str) -> bool {
    let number = line.trim_start_matches('(');
    !number.starts_with(|c: char| c.is_ascii_digit()) || number.starts_with("1.") || number.starts_with("1)")
}

/// `Signed-off-by: …` and the like.
fn is_trailer(line: &str) -> bool {
    let Some((key, value)) = line.split_once(": ") else { return false };
    let dashed = key.contains('-') && key.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    dashed && key.to_ascii_lowercase().ends_with("-by") && !value.trim().is_empty()
}

/// `[pre-commit.ci] auto fixes …` and the like, as it stands in the message of a squashed merge request, too.
fn is_of_program(line: &str) -> bool {
    let rest = line.strip_prefix('[');
    let is_program = |name: &str| name.ends_with(".ci") || name.ends_with("-bot") || name == "bot";
    rest.and_then(|rest| rest.split_once(']')).is_some_and(|(name, _)| is_program(name))
        || line.starts_with("for more information, see https://pre-commit.ci")
        || line.starts_with("Dependabot will resolve any conflicts with this PR")
}
