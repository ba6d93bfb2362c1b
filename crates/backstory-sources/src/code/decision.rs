//! Finds decision records, as people write them in files of their own.

use backstory_model::code::{Decision, Lines};

use super::{heading::Heading, signature::collapse};

/// Directories that hold records of decisions.
const DIRECTORIES: &[&str] =
    &["adr", "adrs", "decisions", "decision-records", "architecture-decisions", "rfc", "rfcs", "design-decisions"];
/// Headings that hold the decision itself, most likely first.
const DECISION: &[&str] =
    &["decision", "decision outcome", "the decision", "resolution", "detailed design", "proposal"];
/// How many lines are searched for a line with the status.
const STATUS_LINES: usize = 40;
/// Longest status that is kept, in characters.
const MAX_STATUS: usize = 80;

/// What the document decides, if it is the record of a decision.
pub(super) fn find(path: &str, source: &str, headings: &[Heading], line_count: u32) -> Option<Decision> {
    let titled = |title: &str| headings.iter().any(|heading| plain(&heading.title) == title);
    let by_headings = titled("context") && titled("decision") && (titled("consequences") || titled("status"));
    if !by_headings && !is_record_path(path) {
        return None;
    }
    let title = headings.first().map_or_else(|| file_stem(path).to_owned(), |heading| heading.title.clone());
    let decided =
        DECISION.iter().find_map(|wanted| headings.iter().position(|heading| plain(&heading.title) == *wanted));
    Some(Decision {
        title: without_number(&title).to_owned(),
        status: status(source, headings),
        lines: decided.map(|at| whole(headings, at, line_count)),
    })
}

/// A numbered file in a directory for decisions.
fn is_record_path(path: &str) -> bool {
    let Some((directories, _)) = path.rsplit_once('/') else { return false };
    let in_directory = directories.split('/').any(|part| DIRECTORIES.contains(&part.to_ascii_lowercase().as_str()));
    let stem = file_stem(path).to_ascii_lowercase();
    let stem = stem.strip_prefix("adr-").or(stem.strip_prefix("rfc-")).unwrap_or(&stem);
    in_directory && stem.len() > 4 && stem.bytes().take_while(u8::is_ascii_digit).count() >= 3
}

fn file_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The heading in lower case without its number and punctuation at its end.
fn plain(title: &str) -> String {
    without_number(title).trim_end_matches([':', '.']).to_lowercase()
}

/// `3. Use SQLite` and `ADR-0003: Use SQLite` without what stands before the words.
fn without_number(title: &str) -> &str {
    let rest = title.strip_prefix("ADR").or(title.strip_prefix("RFC")).unwrap_or(title);
    let stripped = rest.trim_start_matches(|first: char| first.is_ascii_digit() || " -#.:–—".contains(first));
    if stripped.is_empty() { title } else { stripped }
}

/// The lines of a section with its subsections.
fn whole(headings: &[Heading], at: usize, line_count: u32) -> Lines {
    let heading = &headings[at];
    let next = headings[at + 1..].iter().find(|next| next.level <= heading.level);
    Lines::new(heading.line, next.map_or(line_count, |next| next.line.saturating_sub(1)))
}

/// The first line of the section on the status, or what a line `Status: …` says.
fn status(source: &str, headings: &[Heading]) -> Option<String> {
    if let Some(heading) = headings.iter().find(|heading| plain(&heading.title) == "status") {
        let after = source.lines().skip(heading.line as usize).take(STATUS_LINES);
        let line = after.map(bare).find(|line| !line.is_empty() && !line.chars().all(|c| c.is_ascii_punctuation()));
        if let Some(line) = line {
            return Some(collapse(line, MAX_STATUS));
        }
    }
    source.lines().take(STATUS_LINES).find_map(|line| {
        let line = bare(line);
        let (name, value) = line.split_once(':')?;
        let value = bare(value);
        (bare(name).eq_ignore_ascii_case("status") && !value.is_empty()).then(|| collapse(value, MAX_STATUS))
    })
}

/// A line without marks of emphasis and lists.
fn bare(line: &str) -> &str {
    line.trim().trim_matches(['*', '_', '-', '`', '>', '"', '\'', ' ', '|'])
}

#[cfg(test)]
mod tests {
    use backstory_model::code::DocFormat;

    use super::super::prose::analyze;
    use super::*;

    fn decision(path: &str, source: &str) -> Option<Decision> {
        let count = u32::try_from(source.lines().count()).unwrap();
        analyze(path, DocFormat::Markdown, source, count).decision
    }

    #[test]
    fn records_are_recognized_by_headings() {
        let source = "# 3. Use SQLite\n\n## Status\n\nAccepted\n\n## Context\nx\n## Decision\nWe use it.\n### How\ny\n## Consequences\nz\n";
        let expected =
            Decision { title: "Use SQLite".into(), status: Some("Accepted".into()), lines: Some(Lines::new(9, 12)) };
        assert_eq!(decision("notes/x.md", source), Some(expected));
    }

    #[test]
    fn records_are_recognized_by_path() {
        let source = "# ADR-0007: Drop it\n\n* Status: **superseded** by 0009\n\nText.\n";
        let found = decision("docs/adr/0007-drop-it.md", source).unwrap();
        assert_eq!((found.title.as_str(), found.lines), ("Drop it", None));
        assert_eq!(found.status.as_deref(), Some("superseded** by 0009"));
        assert_eq!(decision("docs/adr/template.md", source), None);
        assert_eq!(decision("docs/0007-drop-it.md", source), None);
    }
}
