//! The important diffs of a context pack: of the commits that were found, the files and hunks that are about the
//! question.

use std::collections::{HashMap, HashSet};

use backstory_model::{
    commit::{Commit, FileChange, FileDiff},
    id::NodeId,
    message,
    pack::{ImportantDiff, PackSources, matching_hunks},
    time::utc_date,
};
use backstory_sources::git::text_diff::TextDiffOptions;

use super::{
    evidence::{Evidence, short_reference},
    items::Records,
    quoted,
};
use crate::{
    clones::{clean_text, open_objects},
    error::Result,
    resources::Resources,
};

/// Commits whose changes are looked at.
const MAX_COMMITS: usize = 5;
/// Files of a commit that are compared.
const MAX_COMPARED: usize = 3;
/// Files of a commit that are shown.
const MAX_FILES: usize = 2;
/// Hunks of a file that are shown.
const MAX_HUNKS: usize = 3;
/// Largest file that is compared, in bytes.
const MAX_BYTES: u64 = 512 << 10;
/// Lines that a change may have to be compared; larger ones move or generate code.
const MAX_LINES: u32 = 3000;
/// Words of a commit's reason in an explanation.
const REASON: usize = 50;

/// A commit to look at and the lines that it wrote of those that were asked about, by path.
type Looked<'a> = (&'a str, HashMap<&'a str, Vec<(u32, u32)>>);

pub(super) fn important_diffs(
    resources: &Resources,
    evidence: &Evidence,
    records: &Records,
) -> Result<Vec<ImportantDiff>> {
    let mut diffs: Vec<(usize, usize, ImportantDiff)> = Vec::new();
    let origins = origins(evidence);
    let looked = looked_at(evidence, records, &origins);
    for (place, (name, lines)) in looked.iter().enumerate() {
        let Some(record) = records.commits.get(*name) else { continue };
        let Ok(NodeId::Commit { project, .. }) = name.parse() else { continue };
        let mut own = Vec::new();
        for change in worth_comparing(&record.commit, evidence, lines) {
            let asked = lines.get(change.path.as_str()).map(Vec::as_slice).unwrap_or_default();
            own.extend(diff_of(resources, &project, &record.commit, change, evidence, asked)?);
        }
        own.sort_by(|a: &(usize, ImportantDiff), b| b.0.cmp(&a.0).then_with(|| a.1.path.cmp(&b.1.path)));
        // Of a commit that has nothing to do with the question no change is shown.
        own.retain(|(score, _)| *score > 0);
        diffs.extend(own.into_iter().take(MAX_FILES).map(|(score, diff)| (place, score, diff)));
    }
    // The best change of each commit comes before the second one of any.
    let mut rounds: Vec<(usize, usize, ImportantDiff)> = Vec::new();
    let mut seen: HashMap<usize, usize> = HashMap::new();
    for (place, _, diff) in diffs {
        let round = seen.entry(place).or_default();
        rounds.push((*round, place, diff));
        *round += 1;
    }
    rounds.sort_by_key(|(round, place, _)| (*round, *place));
    let mut diffs: Vec<ImportantDiff> = rounds.into_iter().map(|(_, _, diff)| diff).collect();
    // A merge shows again what a commit that it brought shows.
    let is_merge = |diff: &ImportantDiff| {
        let id = NodeId::commit(&diff.repository, &diff.commit).to_string();
        records.commits.get(&id).is_some_and(|record| record.commit.is_merge())
    };
    let change = |diff: &ImportantDiff| (diff.repository.clone(), diff.path.clone(), diff.diff.clone());
    let of_commits: HashSet<_> = diffs.iter().filter(|diff| !is_merge(diff)).map(change).collect();
    diffs.retain(|diff| !is_merge(diff) || !of_commits.contains(&change(diff)));
    Ok(diffs)
}

fn diff_of(
    resources: &Resources,
    project: &str,
    commit: &Commit,
    change: &FileChange,
    evidence: &Evidence,
    asked: &[(u32, u32)],
) -> Result<Option<(usize, ImportantDiff)>> {
    let options = TextDiffOptions { max_bytes: MAX_BYTES, ..TextDiffOptions::default() };
    let (old, new) = (change.old.map(|old| old.id), change.new.map(|new| new.id));
    // A blob that is missing is told by 'check'; here the change is left out.
    let diff = open_objects(resources, project)?.text_diff(old, new, options, &|bytes| clean_text(resources, bytes));
    let Ok(FileDiff::Text { hunks, left_out }) = diff else {
        return Ok(None);
    };
    let found = matching_hunks(&hunks, &evidence.terms, asked, MAX_HUNKS);
    let text = found.text;
    if text.is_empty() {
        return Ok(None);
    }
    let sha = commit.sha.to_string();
    let reference = short_reference(&NodeId::commit(project, &sha).to_string());
    let mut explanation = format!(
        "“{}” ({}, {}) {} this file",
        commit.title(),
        commit.author.name,
        utc_date(commit.author.at),
        match (change.old, change.new) {
            (None, _) => "added",
            (_, None) => "removed",
            _ => "changed",
        },
    );
    if !asked.is_empty() {
        explanation.push_str(" and wrote the lines that were asked about");
    }
    explanation.push('.');
    if let Some(reason) = message::design_notes(&commit.message).first() {
        explanation.push_str(&format!(" Its reason: “{}”", quoted(&reason.text, REASON)));
    }
    let sources = PackSources {
        commits: vec![reference],
        files: vec![change.path.as_str().to_owned()],
        authors: vec![commit.author.name.clone()],
        ..PackSources::default()
    };
    let diff = ImportantDiff {
        repository: project.to_owned(),
        commit: sha,
        path: change.path.as_str().to_owned(),
        diff: text,
        explanation,
        hunks_left_out: found.left_out + u32::try_from(left_out).unwrap_or(0),
        sources,
    };
    Ok(Some((found.score, diff)))
}

/// The lines that were asked about, as each commit wrote them: by its reference, then by path.
fn origins(evidence: &Evidence) -> Vec<(String, &str, (u32, u32))> {
    let Some(trace) = evidence.trace.as_ref().filter(|trace| trace.line.is_some()) else { return vec![] };
    trace
        .origins
        .iter()
        .map(|of| {
            let name = NodeId::commit(&trace.project, &of.commit.to_string()).to_string();
            (name, of.path.as_str(), (of.line, of.line + of.lines.saturating_sub(1)))
        })
        .collect()
}

/// The commits to look at, first those that wrote the lines, then in the order in which they were found.
fn looked_at<'a>(
    evidence: &'a Evidence,
    records: &'a Records,
    origins: &'a [(String, &'a str, (u32, u32))],
) -> Vec<Looked<'a>> {
    let mut looked: Vec<Looked<'a>> = Vec::new();
    for (name, path, lines) in origins {
        let at = looked.iter().position(|(known, _)| known == name);
        let at = at.unwrap_or_else(|| {
            looked.push((name, HashMap::new()));
            looked.len() - 1
        });
        looked[at].1.entry(*path).or_default().push(*lines);
    }
    // Those with most lines first.
    let count = |of: &Looked<'_>| of.1.values().flatten().map(|(first, last)| last - first + 1).sum::<u32>();
    looked.sort_by(|a, b| count(b).cmp(&count(a)).then_with(|| a.0.cmp(b.0)));
    for found in evidence.found.iter().filter(|found| !found.is_of_file()) {
        // What a merge brought is told by its commits, if one of them wrote the lines.
        let wanted =
            |id: &&str| records.commits.get(*id).is_some_and(|record| origins.is_empty() || !record.commit.is_merge());
        let own = Some(found.document.id.as_str()).filter(wanted);
        let merged = evidence.merged_as.get(found.thread()).map(String::as_str).filter(wanted);
        for name in own.into_iter().chain(merged) {
            if !looked.iter().any(|(known, _)| *known == name) {
                looked.push((name, HashMap::new()));
            }
        }
    }
    looked.truncate(MAX_COMMITS);
    looked
}

/// The files of a commit that are compared: those with lines that were asked about, then those whose path shares words
/// with the question.
fn worth_comparing<'a>(
    commit: &'a Commit,
    evidence: &Evidence,
    lines: &HashMap<&str, Vec<(u32, u32)>>,
) -> Vec<&'a FileChange> {
    let small = |change: &&FileChange| {
        let lines = change.lines.map_or(0, |lines| lines.insertions + lines.deletions);
        (1..=MAX_LINES).contains(&lines) && !change.is_submodule() && !change.is_symlink()
    };
    let mut changes: Vec<(bool, usize, usize, &FileChange)> = commit
        .changes
        .iter()
        .filter(small)
        .enumerate()
        .map(|(at, change)| {
            let path = change.path.as_str();
            (!lines.contains_key(path), usize::MAX - evidence.terms.count_matches(path), at, change)
        })
        .collect();
    changes.retain(|(is_beside, .., change)| !is_beside || evidence.narrowing.shows_change_of(change.path.as_str()));
    changes.sort_by_key(|(asked, shared, at, _)| (*asked, *shared, *at));
    changes.into_iter().map(|(.., change)| change).take(MAX_COMPARED).collect()
}
