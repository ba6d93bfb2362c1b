//! Earlier versions of a line, from the replaced hunks of commits.

use backstory_model::{
    commit::{RepoPath, Sha},
    lineage::{BlameOrigin, ReplacedHunk, ReplacedHunks},
};

use super::{EarlierVersion, LineOrigin, target::Revision, text::redacted_lines};
use crate::{error::Result, introduction::merge_requests_introducing, records::commit_record, resources::Resources};

/// Most lines of an earlier version that are shown.
const SHOWN: u32 = 6;
/// Old lines before and after the same place that a line is compared with.
const AROUND: u32 = 25;
/// Characters of a line that are compared.
const COMPARED: usize = 120;
/// Least similarity, 0 to 1, of a line to the one that it replaced: with less, it was put in.
const MIN_SIMILARITY: f64 = 0.4;
/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// The versions before that of the origin, the newest first: each is what the one after it replaced. They end at a line that
/// is like none of those that its commit took away.
pub(super) fn earlier_versions(
    resources: &Resources,
    place: &Revision,
    origin: &LineOrigin,
    most: usize,
) -> Result<Vec<EarlierVersion>> {
    let mut versions = Vec::new();
    let (mut commit, mut path, mut line) = (origin.commit, origin.path.clone(), origin.line);
    let mut text = line_of(resources, place, commit, &path, line, 1);
    while versions.len() < most {
        let Some(replaced) = resources.ledger().replaced(place.project(), commit, &path)? else { break };
        let Some(hunk) = hunk_containing(&replaced, line) else { break };
        let Some((old, at)) = most_similar(place, hunk, line, &text) else { break };
        let source = old.source.clone();
        let Some(record) = commit_record(resources, place.project(), &source.commit.to_string())? else { break };
        let lines = old.lines.min(SHOWN);
        versions.push(EarlierVersion {
            commit: source.commit,
            path: source.path.to_string(),
            line: old.line,
            lines: old.lines,
            author: record.commit.author.name.clone(),
            date: record.commit.author.at,
            title: record.commit.title().to_owned(),
            text: line_of(resources, place, source.commit, &source.path, old.line, lines),
            merge_requests: merge_requests_introducing(resources, place.project(), source.commit)?
                .into_iter()
                .map(|carrier| carrier.id)
                .collect(),
            replaced_by: commit,
        });
        (commit, path, line) = (source.commit, source.path.to_string(), at);
        text = line_of(resources, place, commit, &path, line, 1);
    }
    Ok(versions)
}

/// The old lines that are most similar to the text, and the line of theirs that is; `None` if none is like it. Old and new
/// lines of a hunk stand in the same order, so it is looked for around the same place, and among equals the nearest is it.
fn most_similar<'a>(place: &Revision, hunk: &'a ReplacedHunk, line: u32, text: &str) -> Option<(&'a BlameOrigin, u32)> {
    let offset = line.saturating_sub(hunk.start);
    let text = comparable(text);
    let mut best: Option<(f64, u32, &BlameOrigin, u32)> = None;
    let mut seen = 0u32;
    for old in &hunk.old {
        let (first, last) = (offset.saturating_sub(AROUND).max(seen), (offset + AROUND).min(seen + old.lines - 1));
        let skipped = first.saturating_sub(seen);
        if first <= last {
            let own = raw_lines(place, old.source.commit, &old.source.path, old.line + skipped, last - first + 1);
            for (own, number) in own.split('\n').zip(first..=last) {
                let (likeness, distance) = (similarity(&comparable(own), &text), number.abs_diff(offset));
                let better = best
                    .as_ref()
                    .is_none_or(|(known, far, ..)| likeness > *known || (likeness >= *known && distance < *far));
                if better {
                    best = Some((likeness, distance, old, old.line + (number - seen)));
                }
            }
        }
        seen += old.lines;
    }
    best.filter(|(likeness, ..)| *likeness >= MIN_SIMILARITY).map(|(_, _, old, at)| (old, at))
}

/// Lines of a file at a commit, without secrets; empty if they cannot be read.
fn line_of(resources: &Resources, place: &Revision, commit: Sha, path: &str, line: u32, count: u32) -> String {
    let entry = place.objects.entry(commit, &RepoPath::from_escaped(path));
    let first = line as usize;
    entry
        .and_then(|entry| redacted_lines(resources, place, entry.id, first..first + count as usize))
        .unwrap_or_default()
}

/// Lines of a file at a commit as they are; empty if they cannot be read.
fn raw_lines(place: &Revision, commit: Sha, path: &str, line: u32, count: u32) -> String {
    let entry = place.objects.entry(commit, &RepoPath::from_escaped(path));
    let first = line as usize;
    let lines = entry.and_then(|entry| place.objects.read_lines(entry.id, first..first + count as usize, MAX_FILE));
    lines.map(|lines| lines.text).unwrap_or_default()
}

/// What of a line is compared: its beginning, without white space around it.
fn comparable(line: &str) -> String {
    line.trim().chars().take(COMPARED).collect()
}

/// How like two lines are, 0 to 1.
fn similarity(one: &str, other: &str) -> f64 {
    if one == other { 1.0 } else { strsim::normalized_levenshtein(one, other) }
}

/// The hunk that a line is in, or that takes lines away at it.
fn hunk_containing(replaced: &ReplacedHunks, line: u32) -> Option<&ReplacedHunk> {
    let holds = |hunk: &&ReplacedHunk| hunk.start <= line && line < hunk.start + hunk.lines && !hunk.old.is_empty();
    replaced.replaced.iter().find(holds)
}
