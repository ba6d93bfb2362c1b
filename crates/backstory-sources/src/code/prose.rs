//! Sections of documents by their headings.

use backstory_model::{
    code::{DocAnalysis, DocFormat, Lines, Section},
    reference::parsable,
};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{decision, heading::Heading, signature::collapse};

/// Most sections of a document.
pub const MAX_SECTIONS: usize = 5_000;
/// Longest heading that is kept, in characters.
const MAX_HEADING: usize = 200;

/// What a document contains.
pub(super) fn analyze(path: &str, format: DocFormat, source: &str, line_count: u32) -> DocAnalysis {
    let mut headings = match format {
        DocFormat::Markdown => markdown(source),
        DocFormat::AsciiDoc => asciidoc(source),
        DocFormat::ReStructuredText => restructured(source),
        DocFormat::Plain => Vec::new(),
    };
    let truncated = headings.len() > MAX_SECTIONS;
    headings.truncate(MAX_SECTIONS);
    let decision = decision::find(path, source, &headings, line_count);
    DocAnalysis { format, sections: sections(&headings, line_count), decision, truncated }
}

fn sections(headings: &[Heading], line_count: u32) -> Vec<Section> {
    let mut sections = Vec::with_capacity(headings.len() + 1);
    let first = headings.first().map_or(line_count.saturating_add(1), |heading| heading.line);
    if first > 1 {
        sections.push(Section { path: Vec::new(), lines: Lines::new(1, first - 1) });
    }
    let mut path: Vec<(u8, &str)> = Vec::new();
    for (at, heading) in headings.iter().enumerate() {
        path.retain(|(level, _)| *level < heading.level);
        path.push((heading.level, &heading.title));
        let last = headings.get(at + 1).map_or(line_count, |next| next.line.saturating_sub(1));
        sections.push(Section {
            path: path.iter().map(|(_, title)| (*title).to_owned()).collect(),
            lines: Lines::new(heading.line, last),
        });
    }
    sections
}

fn markdown(source: &str) -> Vec<Heading> {
    let mut headings = Vec::new();
    let (mut line, mut counted) = (1u32, 0usize);
    let mut open: Option<Heading> = None;
    let options = Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    for (event, range) in Parser::new_ext(parsable(source), options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let between = source.as_bytes().get(counted..range.start).unwrap_or_default();
                line += count_lines(between);
                counted = counted.max(range.start);
                open = Some(Heading { level: level_of(level), title: String::new(), line });
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut open {
                    heading.title.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut open {
                    heading.title.push(' ');
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some(mut heading) = open.take() {
                    heading.title = collapse(&heading.title, MAX_HEADING);
                    headings.push(heading);
                }
                if headings.len() > MAX_SECTIONS {
                    break;
                }
            }
            _ => {}
        }
    }
    headings
}

fn level_of(level: HeadingLevel) -> u8 {
    level as u8
}

/// How many line feeds there are.
pub(super) fn count_lines(bytes: &[u8]) -> u32 {
    u32::try_from(memchr_count(bytes)).unwrap_or(u32::MAX)
}

fn memchr_count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn asciidoc(source: &str) -> Vec<Heading> {
    let (mut headings, mut fence) = (Vec::new(), None);
    for (line, text) in (1u32..).zip(source.lines()) {
        let text = text.trim_end();
        if matches!(text, "----" | "...." | "====" | "****" | "____" | "++++" | "////" | "```") {
            match fence {
                None => fence = Some(text),
                Some(open) if open == text => fence = None,
                Some(_) => {}
            }
            continue;
        }
        let depth = text.bytes().take_while(|byte| *byte == b'=').count();
        let title = text.get(depth..).unwrap_or_default();
        if fence.is_none() && (1..=6).contains(&depth) && title.starts_with(' ') && !title.trim().is_empty() {
            let level = u8::try_from(depth).unwrap_or(6);
            headings.push(Heading { level, title: collapse(title, MAX_HEADING), line });
        }
        if headings.len() > MAX_SECTIONS {
            break;
        }
    }
    headings
}

/// A line is a heading if the next one underlines it. The order in which underlines first come gives their levels.
fn restructured(source: &str) -> Vec<Heading> {
    let lines: Vec<&str> = source.lines().map(str::trim_end).collect();
    let mut headings = Vec::new();
    let mut styles: Vec<(char, bool)> = Vec::new();
    for (at, pair) in lines.windows(2).enumerate() {
        let (title, under) = (pair[0], pair[1]);
        let Some(mark) = underline(under) else { continue };
        let width = title.trim().chars().count();
        if width == 0 || underline(title).is_some() || under.chars().count() < width.min(4) {
            continue;
        }
        // Text that is indented without a line above it is quoted, not a heading.
        let over = at > 0 && lines[at - 1] == under;
        if title.starts_with([' ', '\t']) && !over {
            continue;
        }
        let position = styles.iter().position(|style| *style == (mark, over)).unwrap_or_else(|| {
            styles.push((mark, over));
            styles.len() - 1
        });
        let row = if over { at - 1 } else { at };
        headings.push(Heading {
            level: u8::try_from(position + 1).unwrap_or(u8::MAX),
            title: collapse(title, MAX_HEADING),
            line: u32::try_from(row + 1).unwrap_or(u32::MAX),
        });
        if headings.len() > MAX_SECTIONS {
            break;
        }
    }
    headings
}

/// The character that a line consists of, if it underlines.
fn underline(line: &str) -> Option<char> {
    let first = line.chars().next().filter(|first| first.is_ascii_punctuation())?;
    (line.len() >= 3 && line.chars().all(|character| character == first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, format: DocFormat, source: &str, expected: &[(&str, u32, u32)]) {
        let count = u32::try_from(source.lines().count()).unwrap();
        let found = analyze(path, format, source, count).sections;
        let found: Vec<_> =
            found.iter().map(|section| (section.path.join(" > "), section.lines.first, section.lines.last)).collect();
        let expected: Vec<_> = expected.iter().map(|(path, first, last)| ((*path).to_owned(), *first, *last)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn sections_of_markdown() {
        let source = "intro\n\n# A `x`\ntext\n\n```\n# no\n```\n## B\r\n\nC\n-\ntext\n# D\n";
        check(
            "a.md",
            DocFormat::Markdown,
            source,
            &[("", 1, 2), ("A x", 3, 8), ("A x > B", 9, 10), ("A x > C", 11, 13), ("D", 14, 14)],
        );
        check("a.md", DocFormat::Markdown, "", &[]);
    }

    #[test]
    fn sections_of_the_others() {
        check("a.adoc", DocFormat::AsciiDoc, "= T\n\n----\n== no\n----\n== S\nx\n", &[("T", 1, 5), ("T > S", 6, 7)]);
        check(
            "a.rst",
            DocFormat::ReStructuredText,
            "=====\nTitle\n=====\n\nPart\n----\n\ntext\n\nOther\n-----\n",
            &[("Title", 1, 4), ("Title > Part", 5, 9), ("Title > Other", 10, 11)],
        );
        check("NEWS", DocFormat::Plain, "a\nb\n", &[("", 1, 2)]);
    }
}
