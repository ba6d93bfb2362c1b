//! Colors of code: what each part of a text is, by the highlight queries that come with the grammars.

use std::{
    borrow::Cow,
    cmp::Reverse,
    ops::{ControlFlow, Range},
    sync::OnceLock,
    time::{Duration, Instant},
};

use backstory_model::code::{FileKind, Language};
use tree_sitter::{
    Parser, Query, QueryCursor, QueryCursorOptions, QueryCursorState, QueryError, StreamingIterator as _, Tree,
};

use super::{
    detect::detect,
    keyword_macros,
    languages::{self, position},
    parse,
};

/// Largest text that is colored, in bytes.
pub const MAX_HIGHLIGHTED: usize = 1 << 20;
/// Longest line that is colored, in bytes.
const MAX_LINE: usize = 4_000;
/// Longest time that a query may take. Code needs milliseconds; what is nested deep, or wide and no code, can take minutes.
const MAX_TIME: Duration = Duration::from_millis(300);
/// Most nodes that a query may find.
const MAX_PIECES: usize = 500_000;
/// Most matches that a query follows at a time.
const MAX_MATCHES: u32 = 256;
/// What the grammar of Kotlin lacks.
const KOTLIN: &str = include_str!("highlight/kotlin.scm");

/// What a part of a text is, as far as its color needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HighlightKind {
    /// A comment.
    Comment,
    /// A text or a character.
    String,
    /// A number.
    Number,
    /// A word of the language.
    Keyword,
    /// A name of something that does not change, or a value such as `true`.
    Constant,
    /// The name of a function.
    Function,
    /// The name of a type.
    Type,
}

impl HighlightKind {
    /// Every kind, at its number in what [`highlight`] says.
    pub const ALL: [Self; 7] =
        [Self::Comment, Self::String, Self::Number, Self::Keyword, Self::Constant, Self::Function, Self::Type];

    /// Its name in an answer.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::String => "string",
            Self::Number => "number",
            Self::Keyword => "keyword",
            Self::Constant => "constant",
            Self::Function => "function",
            Self::Type => "type",
        }
    }
}

/// What a capture of a query makes of its node. What no color is for is not even plain: it does not hide another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Paint {
    Nothing,
    Plain,
    Kind(HighlightKind),
}

impl Paint {
    /// Names are as tree-sitter recommends them, the most general part first.
    fn of_capture(name: &str) -> Self {
        if name == "variable.builtin" {
            return Self::Kind(HighlightKind::Keyword);
        }
        match name.split('.').next().unwrap_or_default() {
            "comment" => Self::Kind(HighlightKind::Comment),
            "string" | "escape" => Self::Kind(HighlightKind::String),
            "number" => Self::Kind(HighlightKind::Number),
            "keyword" => Self::Kind(HighlightKind::Keyword),
            "constant" => Self::Kind(HighlightKind::Constant),
            "function" => Self::Kind(HighlightKind::Function),
            "type" | "constructor" | "tag" => Self::Kind(HighlightKind::Type),
            "embedded" => Self::Plain,
            _ => Self::Nothing,
        }
    }
}

/// The query of a language.
struct Palette {
    query: Query,
    /// By number of the capture.
    paints: Vec<Paint>,
    /// By number of the pattern: whether it needs to know which names are local, which nobody finds out.
    needs_locals: Vec<bool>,
}

impl Palette {
    fn new(language: Language) -> Result<Self, QueryError> {
        let query = Query::new(&languages::spec(language).grammar, &queries(language).join("\n"))?;
        let paints = query.capture_names().iter().map(|name| Paint::of_capture(name)).collect();
        let needs_locals =
            (0..query.pattern_count()).map(|pattern| !query.property_predicates(pattern).is_empty()).collect();
        Ok(Self { query, paints, needs_locals })
    }

    /// That of a language, which is read once; `None` if it does not fit the grammar.
    fn of(language: Language) -> Option<&'static Self> {
        static PALETTES: [OnceLock<Option<Palette>>; Language::ALL.len()] =
            [const { OnceLock::new() }; Language::ALL.len()];
        PALETTES[position(language)].get_or_init(|| Self::new(language).ok()).as_ref()
    }
}

/// The queries of a language; what a later one says of a node counts.
fn queries(language: Language) -> Vec<&'static str> {
    use tree_sitter_javascript::{HIGHLIGHT_QUERY as JAVASCRIPT, JSX_HIGHLIGHT_QUERY as JSX};
    use tree_sitter_typescript::HIGHLIGHTS_QUERY as TYPESCRIPT;
    match language {
        Language::Rust => vec![tree_sitter_rust::HIGHLIGHTS_QUERY],
        Language::Go => vec![tree_sitter_go::HIGHLIGHTS_QUERY],
        Language::Python => vec![tree_sitter_python::HIGHLIGHTS_QUERY],
        Language::TypeScript => vec![JAVASCRIPT, TYPESCRIPT],
        Language::Tsx => vec![JAVASCRIPT, JSX, TYPESCRIPT],
        Language::JavaScript => vec![JAVASCRIPT, JSX],
        Language::Java => vec![tree_sitter_java::HIGHLIGHTS_QUERY],
        Language::C => vec![tree_sitter_c::HIGHLIGHT_QUERY],
        Language::Cpp => vec![tree_sitter_c::HIGHLIGHT_QUERY, tree_sitter_cpp::HIGHLIGHT_QUERY],
        Language::CSharp => vec![tree_sitter_c_sharp::HIGHLIGHTS_QUERY],
        Language::Ruby => vec![tree_sitter_ruby::HIGHLIGHTS_QUERY],
        Language::Php => vec![tree_sitter_php::HIGHLIGHTS_QUERY],
        Language::Kotlin => vec![KOTLIN],
        Language::Bash => vec![tree_sitter_bash::HIGHLIGHT_QUERY],
    }
}

/// A node that a query found.
#[derive(Clone, Debug)]
struct Piece {
    range: Range<usize>,
    pattern: usize,
    paint: Paint,
}

/// A part of a text that has a color.
type Span = (Range<usize>, HighlightKind);

/// What the parts of each line are: start, length and number of the kind in [`HighlightKind::ALL`], the next start, and so
/// on, in UTF-16 units as browsers count. `None` if the text is no code, too large, or takes too long.
pub fn highlight(path: &str, source: &str) -> Option<Vec<Vec<u32>>> {
    let FileKind::Code(language) = detect(path, source.as_bytes()) else { return None };
    if source.len() > MAX_HIGHLIGHTED {
        return None;
    }
    let palette = Palette::of(language)?;
    let parsed = match language {
        Language::C | Language::Cpp => keyword_macros::blank_keyword_macros(source),
        _ => Cow::Borrowed(source),
    };
    let mut parser = Parser::new();
    parser.set_language(&languages::spec(language).grammar).ok()?;
    let tree = parse(&mut parser, &parsed, None)?;
    let pieces = find_pieces(palette, &tree, &parsed)?;
    Some(by_lines(source, &flatten(pieces)))
}

/// The nodes that the query has a color for; `None` if there are too many or it takes too long.
fn find_pieces(palette: &Palette, tree: &Tree, source: &str) -> Option<Vec<Piece>> {
    let end = Instant::now() + MAX_TIME;
    let mut within =
        |_: &QueryCursorState| if Instant::now() < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let mut cursor = QueryCursor::new();
    cursor.set_match_limit(MAX_MATCHES);
    let options = QueryCursorOptions::new().progress_callback(&mut within);
    let mut matches = cursor.matches_with_options(&palette.query, tree.root_node(), source.as_bytes(), options);
    let mut pieces = Vec::new();
    while let Some(found) = matches.next() {
        let pattern = found.pattern_index;
        if palette.needs_locals.get(pattern).copied().unwrap_or_default() {
            continue;
        }
        for capture in found.captures() {
            let paint = palette.paints.get(capture.index as usize).copied().unwrap_or(Paint::Nothing);
            if paint != Paint::Nothing {
                pieces.push(Piece { range: capture.node.byte_range(), pattern, paint });
            }
        }
        if pieces.len() > MAX_PIECES {
            return None;
        }
    }
    (Instant::now() < end).then_some(pieces)
}

/// Pieces without overlap, in the order of the text: the innermost counts, and for one node the last pattern.
fn flatten(mut pieces: Vec<Piece>) -> Vec<Span> {
    pieces.sort_by_key(|piece| (piece.range.start, Reverse(piece.range.end), piece.pattern));
    let mut flat = Flat::default();
    for Piece { range, paint, .. } in pieces {
        flat.go_to(range.start);
        flat.open.push((range.end, paint));
    }
    flat.go_to(usize::MAX);
    flat.spans
}

/// What is flat up to a place, and the nodes around it.
#[derive(Default)]
struct Flat {
    spans: Vec<Span>,
    open: Vec<(usize, Paint)>,
    at: usize,
}

impl Flat {
    fn go_to(&mut self, place: usize) {
        while let Some((end, paint)) = self.open.pop_if(|(end, _)| *end <= place) {
            self.put(end, paint);
        }
        if let Some((_, paint)) = self.open.last().copied() {
            self.put(place, paint);
        }
        self.at = self.at.max(place);
    }

    /// Goes on up to an end.
    fn put(&mut self, end: usize, paint: Paint) {
        let start = self.at;
        if end <= start {
            return;
        }
        self.at = end;
        let Paint::Kind(kind) = paint else { return };
        match self.spans.last_mut() {
            Some((last, same)) if *same == kind && last.end == start => last.end = end,
            _ => self.spans.push((start..end, kind)),
        }
    }
}

/// Spans as each line has them.
fn by_lines(source: &str, spans: &[Span]) -> Vec<Vec<u32>> {
    let mut lines = Vec::new();
    let (mut begin, mut next) = (0, 0);
    for line in source.split('\n') {
        let end = begin + line.len();
        // What a line ends with in Windows is not shown.
        let shown = line.strip_suffix('\r').unwrap_or(line);
        let mut told = Line { text: shown, at: 0, units: 0, told: Vec::new() };
        while let Some((range, kind)) = spans.get(next)
            && range.start < end
        {
            if shown.len() <= MAX_LINE {
                told.add(range.start.saturating_sub(begin), range.end.saturating_sub(begin), *kind);
            }
            if range.end > end {
                break;
            }
            next += 1;
        }
        lines.push(told.told);
        begin = end + 1;
    }
    lines
}

/// A line whose spans are told from left to right; `units` are those up to `at`.
struct Line<'text> {
    text: &'text str,
    at: usize,
    units: u32,
    told: Vec<u32>,
}

impl Line<'_> {
    fn add(&mut self, start: usize, end: usize, kind: HighlightKind) {
        let from = self.units_up_to(start);
        let to = self.units_up_to(end);
        if to > from {
            self.told.extend([from, to - from, kind as u32]);
        }
    }

    fn units_up_to(&mut self, place: usize) -> u32 {
        let place = place.min(self.text.len());
        let between = self.text.get(self.at..place).unwrap_or_default();
        let units = if between.is_ascii() { between.len() } else { between.encode_utf16().count() };
        self.units = self.units.saturating_add(u32::try_from(units).unwrap_or(u32::MAX));
        self.at = self.at.max(place);
        self.units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each part that has a color, with its line and kind.
    fn told(path: &str, source: &str) -> Vec<(usize, String, &'static str)> {
        let lines = highlight(path, source).unwrap();
        let parts = |(number, (line, spans)): (usize, (&str, Vec<u32>))| {
            let units: Vec<u16> = line.encode_utf16().collect();
            let part = |span: &[u32]| {
                let (start, length) = (span[0] as usize, span[1] as usize);
                let text = String::from_utf16(&units[start..start + length]).unwrap();
                (number + 1, text, HighlightKind::ALL[span[2] as usize].name())
            };
            spans.chunks_exact(3).map(part).collect::<Vec<_>>()
        };
        source.split('\n').zip(lines).enumerate().flat_map(parts).collect()
    }

    fn part(line: usize, text: &str, kind: &'static str) -> (usize, String, &'static str) {
        (line, text.to_owned(), kind)
    }

    #[test]
    fn every_language_has_a_query_that_fits_its_grammar() {
        for language in Language::ALL {
            let palette = Palette::new(language).map_err(|error| format!("{language:?}: {error}")).unwrap();
            assert!(palette.paints.contains(&Paint::Kind(HighlightKind::Keyword)), "{language:?}");
        }
    }

    #[test]
    fn kinds_are_numbered_as_they_are_listed() {
        for (number, kind) in HighlightKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }

    #[test]
    fn parts_of_code_have_the_kind_that_the_grammar_says() {
        let source = "# Why 25\nLIMIT = 25\ndef load(key):\n    return f\"a{key}b\"\n";
        let expected = [
            part(1, "# Why 25", "comment"),
            part(2, "LIMIT", "constant"),
            part(2, "25", "number"),
            part(3, "def", "keyword"),
            part(3, "load", "function"),
            part(4, "return", "keyword"),
            part(4, "f\"a", "string"),
            part(4, "b\"", "string"),
        ];
        assert_eq!(told("src/a.py", source), expected);
    }

    #[test]
    fn places_are_those_of_a_browser_also_behind_what_is_not_ascii() {
        let source = "a = \"ä😀\" + \"b\"\r\n\"\"\"c\r\n\r\nd\"\"\"\r\n";
        let expected = [
            part(1, "\"ä😀\"", "string"),
            part(1, "\"b\"", "string"),
            part(2, "\"\"\"c", "string"),
            part(4, "d\"\"\"", "string"),
        ];
        assert_eq!(told("a.py", source), expected);
        assert_eq!(highlight("a.py", source).unwrap()[0], [4, 5, 1, 12, 3, 1]);
    }

    #[test]
    fn kotlin_has_colors_too() {
        let found = told("a.kt", "// Why\nclass Cart {\n  fun total(): Int = count(1)\n}\n");
        for wanted in [
            part(1, "// Why", "comment"),
            part(2, "Cart", "type"),
            part(3, "fun", "keyword"),
            part(3, "total", "function"),
            part(3, "Int", "type"),
            part(3, "count", "function"),
        ] {
            assert!(found.contains(&wanted), "{wanted:?} is not in {found:?}");
        }
    }

    #[test]
    fn what_is_no_code_or_too_large_is_plain() {
        assert_eq!(highlight("a.md", "# A\n"), None);
        assert_eq!(highlight("a.py", &"x = 1\n".repeat(MAX_HIGHLIGHTED / 6 + 1)), None);
        let long = format!("x = \"{}\"\ny = 1\n", "a".repeat(MAX_LINE));
        assert_eq!(highlight("a.py", &long).unwrap(), [vec![], vec![4, 1, 2], vec![]]);
    }

    #[test]
    fn code_that_is_hard_to_match_takes_a_bounded_time() {
        let begun = Instant::now();
        for (path, source) in [("a.py", "(".repeat(100_000)), ("a.c", format!("int a{};", "[1]".repeat(100_000)))] {
            highlight(path, &source);
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}
