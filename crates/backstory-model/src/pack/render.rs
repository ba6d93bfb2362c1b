//! Prints packs: JSON for programs, Markdown for people.

use std::fmt::Write as _;

use super::{
    Chunk, CodeContext, ContextPack, DesignNote, Format, ImportantDiff, KeyItem, RelatedTest, Section, TimelineEntry,
    entry::Entry,
};
use crate::place::{describe_lines, format_place};

/// Hex digits of an object name, and of a chunk's id, that are shown to be read.
const SHORT: usize = 12;

/// The pack as it is printed, without a line feed at its end.
pub fn render(pack: &ContextPack) -> String {
    match pack.format {
        // Texts and numbers only: nothing that JSON could not hold.
        Format::Json => serde_json::to_string(pack).unwrap_or_default(),
        Format::Markdown => markdown(pack),
    }
}

/// An entry as it is printed.
pub(super) fn entry(format: Format, of: &Entry) -> String {
    match format {
        Format::Json => match of {
            Entry::KeyItem(of) => serde_json::to_string(of),
            Entry::Timeline(of) => serde_json::to_string(of),
            Entry::DesignNote(of) => serde_json::to_string(of),
            Entry::Code(of) => serde_json::to_string(of),
            Entry::Diff(of) => serde_json::to_string(of),
            Entry::Test(of) => serde_json::to_string(of),
            Entry::Chunk(of) => serde_json::to_string(of),
        }
        .unwrap_or_default(),
        Format::Markdown => match of {
            Entry::KeyItem(of) => key_item(of),
            Entry::Timeline(of) => timeline_entry(of),
            Entry::DesignNote(of) => design_note(of),
            Entry::Code(of) => code(of),
            Entry::Diff(of) => diff(of),
            Entry::Test(of) => test(of),
            Entry::Chunk(of) => chunk(of),
        },
    }
}

/// What stands before the entries of a section.
fn words_of(section: Section) -> &'static str {
    match section {
        Section::KeyItems => "\n## What matters most\n\n",
        Section::Timeline => "\n## Timeline\n\n",
        Section::DesignNotes => "\n## Reasons given\n\n",
        Section::CodeContext => "\n## Code\n\n",
        Section::ImportantDiffs => "\n## Changes\n\n",
        Section::RelatedTests => "\n## Tests\n\n",
        Section::Retrieved => "\n## Passages\n\n",
    }
}

fn markdown(pack: &ContextPack) -> String {
    let mut out = format!("# Context: {}\n\n{}\n", one_line(&pack.metadata.query), pack.summary);
    for sentence in &pack.missing {
        let _ = writeln!(out, "\n> {}", one_line(sentence));
    }
    list(&mut out, Section::KeyItems, &pack.key_items, key_item);
    list(&mut out, Section::Timeline, &pack.timeline, timeline_entry);
    list(&mut out, Section::DesignNotes, &pack.design_notes, design_note);
    list(&mut out, Section::CodeContext, &pack.code_context, code);
    list(&mut out, Section::ImportantDiffs, &pack.important_diffs, diff);
    list(&mut out, Section::RelatedTests, &pack.related_tests, test);
    list(&mut out, Section::Retrieved, &pack.retrieved, chunk);
    sources(&mut out, pack);
    footer(&mut out, pack);
    out
}

fn list<T>(out: &mut String, section: Section, entries: &[T], print: fn(&T) -> String) {
    if !entries.is_empty() {
        out.push_str(words_of(section));
    }
    for entry in entries {
        out.push_str(&print(entry));
    }
}

fn key_item(of: &KeyItem) -> String {
    let mut out = format!("- **{}** {} ({}", of.reference, one_line(&of.title), spoken(&of.kind));
    let beside = [of.classification.as_deref(), of.state.as_deref(), Some(of.date.as_str()), of.author.as_deref()];
    for word in beside.into_iter().flatten().filter(|word| !word.is_empty()) {
        let _ = write!(out, ", {word}");
    }
    out.push_str(mark(of.confidential));
    let _ = write!(out, "; relevance {:.2})", of.relevance);
    for link in &of.links {
        let _ = write!(out, "; {link}");
    }
    out.push('\n');
    if !of.excerpt.is_empty() {
        let _ = writeln!(out, "  > {}", one_line(&of.excerpt));
    }
    if let Some(url) = &of.url {
        let _ = writeln!(out, "  {url}");
    }
    out
}

fn timeline_entry(of: &TimelineEntry) -> String {
    let mut out = format!("- {} {}", of.date, one_line(&of.summary));
    let named = of.items.iter().map(String::as_str).chain(of.commits.iter().map(|commit| short(commit)));
    let named: Vec<&str> = named.collect();
    if !named.is_empty() {
        let _ = write!(out, " ({})", named.join(", "));
    }
    out.push('\n');
    out
}

fn design_note(of: &DesignNote) -> String {
    let author = of.author.as_ref().map(|author| format!("{author}, ")).unwrap_or_default();
    let mark = mark(of.confidential);
    match &of.written_by {
        Some(model) => {
            format!("- {}\n  (written by the language model {model} from {}{mark})\n", one_line(&of.note), of.source)
        }
        None => format!("- {}\n  ({author}{}{mark})\n", one_line(&of.note), of.source),
    }
}

/// What stands behind something that only some may see.
fn mark(confidential: bool) -> &'static str {
    if confidential { ", confidential" } else { "" }
}

fn code(of: &CodeContext) -> String {
    let entity = of.entity.as_ref().map(|entity| format!(" `{entity}`")).unwrap_or_default();
    let place = format_place(&of.path, Some(of.lines));
    let fenced = fenced(&of.snippet, language(&of.path));
    format!("### {place}{entity}\n\n{}\n\n{fenced}\n", one_line(&of.explanation))
}

fn diff(of: &ImportantDiff) -> String {
    let more = match of.hunks_left_out {
        0 => String::new(),
        1 => " 1 other hunk is left out.".to_owned(),
        many => format!(" {many} other hunks are left out."),
    };
    let fenced = fenced(&of.diff, "diff");
    format!("### {} in {}\n\n{}{more}\n\n{fenced}\n", of.path, short(&of.commit), one_line(&of.explanation))
}

fn test(of: &RelatedTest) -> String {
    let name = of.name.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default();
    format!("- {}{name}: {}\n", of.path, one_line(&of.description))
}

fn chunk(of: &Chunk) -> String {
    let mut out = format!("### {} {}\n\n", of.document, describe_lines(of.lines));
    let at = of.commit.as_deref().map(|commit| format!(", at {}", short(commit))).unwrap_or_default();
    let _ =
        write!(out, "{}, score {:.2}, chunk {}{at}", spoken(of.document_type.as_str()), of.score, short(&of.chunk_id));
    out.push_str(mark(of.confidential));
    if let Some(url) = &of.url {
        let _ = write!(out, ", {url}");
    }
    let _ = write!(out, "\n\n{}\n", fenced(&of.text, of.path.as_deref().map_or("text", language)));
    out
}

fn sources(out: &mut String, pack: &ContextPack) {
    let of = &pack.provenance;
    if of.is_empty() {
        return;
    }
    out.push_str("\n## Sources\n\n");
    for (name, list) in [("Commits", &of.commits), ("Files", &of.files), ("People", &of.authors), ("Items", &of.items)]
    {
        if !list.is_empty() {
            let _ = writeln!(out, "- {name}: {}", list.join(", "));
        }
    }
}

fn footer(out: &mut String, pack: &ContextPack) {
    let meta = &pack.metadata;
    let _ = write!(
        out,
        "\n---\n{} of {} tokens ({}); snapshot {}",
        meta.token_count, meta.token_budget, meta.tokenizer, meta.snapshot
    );
    if let Some(at) = meta.generated_at {
        let _ = write!(out, " of {at}");
    }
    let _ = write!(out, "; manifest {}", pack.manifest.id);
    if !pack.left_out.is_empty() {
        let left: Vec<String> = pack.left_out.iter().map(|(section, count)| section.count_entries(*count)).collect();
        let _ = write!(out, "; no room for {}", left.join(", "));
    }
    out.push('.');
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name as it is spoken: `merge request`.
fn spoken(name: &str) -> String {
    name.replace('_', " ")
}

fn short(hex: &str) -> &str {
    hex.get(..SHORT).unwrap_or(hex)
}

/// A block of code whose fence is longer than any in it.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

/// What a block of code of a file is marked with: the end of its name.
fn language(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("text", |(_, extension)| extension).trim_matches('`')
}
