//! What stood in the place of a line before.

use backstory_model::{
    commit::{RepoPath, Sha},
    lineage::{Origin, Replaced, ReplacedInFile},
};

use super::{EarlierVersion, LineOrigin, lines::shown, target::Place};
use crate::{Engine, error::Result};

/// Most lines of an earlier version that are shown.
const SHOWN: u32 = 6;
/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 4 << 20;

impl Engine {
    /// The versions before that of the origin, the newest first: each is what the one after it replaced.
    pub(super) fn earlier(&self, place: &Place, origin: &LineOrigin, most: usize) -> Result<Vec<EarlierVersion>> {
        let mut versions = Vec::new();
        let (mut commit, mut path, mut line) = (origin.commit, origin.path.clone(), origin.line);
        let mut text = self.line_of(place, commit, &path, line, 1);
        while versions.len() < most {
            let Some(replaced) = self.ledger().replaced(place.project(), commit, &path)? else { break };
            let Some(hunk) = hunk_at(&replaced, line) else { break };
            let Some((old, at)) = self.likest(place, hunk, line, &text) else { break };
            let source = old.source.clone();
            let Some(record) = self.commit_record(place.project(), &source.commit.to_string())? else { break };
            let lines = old.lines.min(SHOWN);
            versions.push(EarlierVersion {
                commit: source.commit,
                path: source.path.to_string(),
                line: old.line,
                lines: old.lines,
                author: record.commit.author.name.clone(),
                date: record.commit.author.at,
                title: record.commit.title().to_owned(),
                text: self.line_of(place, source.commit, &source.path, old.line, lines),
                merge_requests: self
                    .carriers(place.project(), source.commit)?
                    .into_iter()
                    .map(|c| c.id.to_string())
                    .collect(),
                replaced_by: commit,
            });
            (commit, path, line) = (source.commit, source.path.to_string(), at);
            text = self.line_of(place, commit, &path, line, 1);
        }
        Ok(versions)
    }

    /// The old lines that are likest to the text, and the line of theirs that is: old and new lines of a hunk stand in
    /// the same order, so among equals the one at the same place.
    fn likest<'a>(&self, place: &Place, hunk: &'a Replaced, line: u32, text: &str) -> Option<(&'a Origin, u32)> {
        let offset = line.saturating_sub(hunk.start);
        let mut best: Option<(f64, u32, &Origin, u32)> = None;
        let mut seen = 0u32;
        for old in &hunk.old {
            let all = self.line_of(place, old.source.commit, &old.source.path, old.line, old.lines.min(200));
            for (own, at) in all.split('\n').zip(old.line..) {
                let likeness = strsim::normalized_levenshtein(own.trim(), text.trim());
                let distance = seen.abs_diff(offset);
                let better = best.as_ref().is_none_or(|(known, far, ..)| {
                    likeness > *known + f64::EPSILON || ((likeness - known).abs() <= f64::EPSILON && distance < *far)
                });
                if better {
                    best = Some((likeness, distance, old, at));
                }
                seen += 1;
            }
        }
        best.map(|(_, _, old, at)| (old, at))
    }

    /// Lines of a file at a commit, without secrets; empty if they cannot be read.
    fn line_of(&self, place: &Place, commit: Sha, path: &str, line: u32, count: u32) -> String {
        let entry = place.objects.entry(commit, &RepoPath::from_printed(path));
        let first = line as usize;
        let lines = entry.and_then(|entry| place.objects.lines(entry.id, first..first + count as usize, MAX_FILE));
        lines.map(|lines| shown(&lines.text)).unwrap_or_default()
    }
}

/// The hunk that a line is in, or that takes lines away at it.
fn hunk_at(replaced: &ReplacedInFile, line: u32) -> Option<&Replaced> {
    let holds = |hunk: &&Replaced| hunk.start <= line && line < hunk.start + hunk.lines && !hunk.old.is_empty();
    replaced.replaced.iter().find(holds)
}
