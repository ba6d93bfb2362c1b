//! Finds what Markdown marks within a paragraph: code, struck-out text, comments, tags.

use std::{borrow::Cow, ops::Range};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Stands before a paragraph that is parsed, so that no block begins in it.
const LEAD: &str = "x ";
/// Tags of HTML at which a line or a block begins or ends.
const BLOCK_TAGS: [&str; 29] = [
    "blockquote",
    "br",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "img",
    "li",
    "ol",
    "p",
    "picture",
    "pre",
    "summary",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];
/// Tags of HTML that only change how a text looks. What is in `<del>` is shown with the tag.
const INLINE_TAGS: [&str; 19] = [
    "a", "abbr", "b", "code", "em", "font", "i", "kbd", "mark", "q", "samp", "small", "span", "strong", "sub", "sup",
    "tt", "u", "var",
];

/// What a mark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkKind {
    /// A span of code.
    Code,
    /// Text that is struck out, with its tildes.
    StruckOut,
    /// A comment.
    Comment,
    /// A tag at which a line or a block begins or ends.
    BlockTag,
    /// A tag that only changes how a text looks.
    InlineTag,
}

/// A mark within a paragraph.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    /// Bytes of the paragraph.
    range: Range<usize>,
    kind: MarkKind,
}

/// The marks of a paragraph by where they begin. One may lie within another.
pub(super) fn find_marks(paragraph: &str) -> Vec<Mark> {
    if !paragraph.contains(['`', '~', '<']) {
        return Vec::new();
    }
    // On one line behind a word all of it is inline: blocks are told by the reader of lines. No byte moves.
    let source = format!("{LEAD}{}", paragraph.replace(['\n', '\r'], " "));
    let mut marks = Vec::new();
    for (event, range) in Parser::new_ext(&source, Options::ENABLE_STRIKETHROUGH).into_offset_iter() {
        let Some(start) = range.start.checked_sub(LEAD.len()) else { continue };
        let range = start..range.end - LEAD.len();
        let Some(written) = paragraph.get(range.clone()) else { continue };
        let kind = match event {
            Event::Code(_) => Some(MarkKind::Code),
            // A single tilde stands before numbers that are not exact, and strikes out nothing at GitLab.
            Event::Start(Tag::Strikethrough) if written.starts_with("~~") => Some(MarkKind::StruckOut),
            Event::InlineHtml(_) if written.starts_with("<!--") => Some(MarkKind::Comment),
            Event::InlineHtml(_) => kind_of_tag(written),
            _ => None,
        };
        if let Some(kind) = kind {
            marks.push(Mark { range, kind });
        }
    }
    marks
}

/// Most words of a link that is no sentence.
const WORDS_OF_LINK: usize = 3;

/// Whether a text has nothing but links and pictures with hardly a word each, as a row of badges has.
pub fn has_only_links(text: &str) -> bool {
    let (mut depth, mut words, mut links) = (0, 0, 0);
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => {
                (depth, links) = (depth + 1, links + 1);
                words = if depth == 1 { 0 } else { words };
            }
            Event::End(TagEnd::Link | TagEnd::Image) => depth -= 1,
            Event::Text(text) | Event::Code(text) => {
                words += text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
                let most = if depth > 0 { WORDS_OF_LINK } else { 0 };
                if words > most {
                    return false;
                }
            }
            _ => {}
        }
        words = if depth > 0 { words } else { 0 };
    }
    links > 0
}

/// What a tag is; `None` of a name that HTML lacks, as in `Vec<Item>`.
fn kind_of_tag(tag: &str) -> Option<MarkKind> {
    let inner = tag.trim_start_matches(['<', '/']);
    let name = inner.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
    if BLOCK_TAGS.contains(&name.as_str()) {
        return Some(MarkKind::BlockTag);
    }
    INLINE_TAGS.contains(&name.as_str()).then_some(MarkKind::InlineTag)
}

/// Where the marks of some kinds are, in order and without those that lie within others.
pub(super) fn ranges_of(marks: &[Mark], kinds: &[MarkKind]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for mark in marks.iter().filter(|mark| kinds.contains(&mark.kind)) {
        if ranges.last().is_none_or(|last| last.end <= mark.range.start) {
            ranges.push(mark.range.clone());
        }
    }
    ranges
}

/// Whether a range has a byte of one of these, which are in order and apart.
pub(super) fn overlaps(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    let at = ranges.partition_point(|other| other.end <= range.start);
    ranges.get(at).is_some_and(|other| other.start < range.end)
}

/// A text without its marks of some kinds. A space takes the place of a tag that parts words.
pub(super) fn remove_marks<'a>(text: &'a str, kinds: &[MarkKind]) -> Cow<'a, str> {
    let marks = find_marks(text);
    let removed = ranges_of(&marks, kinds);
    if removed.is_empty() {
        return Cow::Borrowed(text);
    }
    let parting = ranges_of(&marks, &[MarkKind::BlockTag]);
    let mut kept = String::with_capacity(text.len());
    let mut end = 0;
    for range in removed {
        kept.push_str(&text[end..range.start]);
        if overlaps(&parting, &range) {
            kept.push(' ');
        }
        end = range.end;
    }
    kept.push_str(&text[end..]);
    Cow::Owned(kept)
}

/// Whether a line has images, which may be links, and nothing else.
pub(super) fn has_only_images(line: &str) -> bool {
    if !line.contains("![") {
        return false;
    }
    let (mut depth, mut count) = (0usize, 0usize);
    for event in Parser::new(line.trim()) {
        match event {
            Event::Start(Tag::Image { .. }) => {
                depth += 1;
                count += 1;
            }
            Event::End(TagEnd::Image) => depth = depth.saturating_sub(1),
            Event::Text(text) if depth == 0 && !text.trim().is_empty() => return false,
            Event::Code(_) if depth == 0 => return false,
            _ => {}
        }
    }
    count > 0
}

/// Whether a line says where a link leads that stands elsewhere, or is a comment in that form: `[1]: https://example.com`,
/// `[//]: # (hidden)`.
pub(super) fn is_link_definition(line: &str) -> bool {
    let Some((label, target)) = line.trim().strip_prefix('[').and_then(|rest| rest.split_once("]: ")) else {
        return false;
    };
    !label.contains(['[', ']']) && ["http://", "https://", "#", "<"].into_iter().any(|mark| target.starts_with(mark))
}
