//! The items that matter most, and what happened when.

use std::collections::BTreeMap;

use backstory_model::{
    classify,
    entity::Item,
    filter::DocumentKind,
    id::NodeId,
    pack::{KeyItem, Provenance, TimelineEntry},
    repository::CommitRecord,
    text::snippet,
    time::day,
};
use jiff::Timestamp;

use super::{
    evidence::{Evidence, Found, short_reference},
    told,
};
use crate::{Engine, error::Result};

/// Items that may be among those that matter most.
const MAX_ITEMS: usize = 10;
/// Commits that are looked at.
const MAX_COMMITS: usize = 12;
/// Issues and merge requests of which it is told when they were closed or merged.
const MAX_ENDED: usize = 8;
/// Length of an excerpt, in characters.
const EXCERPT: usize = 600;
/// Length of an earlier version of a line that is told, in characters.
const OLD_LINE: usize = 100;

/// What the ledger knows of the commits and threads that were found.
#[derive(Default)]
pub(super) struct Records {
    /// Commits by reference.
    pub(super) commits: BTreeMap<String, CommitRecord>,
    /// When issues and merge requests ended and how, by reference.
    ended: BTreeMap<String, (Timestamp, &'static str)>,
}

impl Engine {
    /// Reads the commits and threads that were found first.
    pub(super) fn records_of(&self, evidence: &Evidence) -> Result<Records> {
        let mut records = Records::default();
        let origins = evidence.trace.iter().flat_map(|trace| {
            trace.origins.iter().map(|origin| NodeId::commit(&trace.project, &origin.commit.to_string()))
        });
        let found = evidence.found.iter().filter(|found| found.document.facts.kind == DocumentKind::Commit);
        let found = found.filter_map(|found| found.document.id.parse().ok());
        let merged = evidence.merged_as.values().filter_map(|id| id.parse().ok());
        for id in origins.chain(found).chain(merged) {
            let NodeId::Commit { project, sha } = &id else { continue };
            let name = id.to_string();
            if records.commits.len() == MAX_COMMITS {
                break;
            }
            if !records.commits.contains_key(&name)
                && let Some(record) = self.commit_record(project, sha)?
            {
                records.commits.insert(name, record);
            }
        }
        for found in evidence.found.iter().filter(|found| !found.is_of_file()) {
            let id = found.thread();
            let Ok(node @ NodeId::Thread(_)) = id.parse::<NodeId>() else { continue };
            if records.ended.contains_key(id) || records.ended.len() == MAX_ENDED {
                continue;
            }
            let ended = match self.item_now(&node)? {
                Some(Item::MergeRequest(mr)) => match (mr.merged_at, mr.thread.closed_at) {
                    (Some(at), _) => Some((at, "merged")),
                    (None, Some(at)) => Some((at, "closed without being merged")),
                    (None, None) => None,
                },
                Some(Item::Issue(issue)) => issue.thread.closed_at.map(|at| (at, "closed")),
                _ => None,
            };
            if let Some(ended) = ended {
                records.ended.insert(id.to_owned(), ended);
            }
        }
        Ok(records)
    }

    pub(super) fn key_items(&self, evidence: &Evidence, records: &Records) -> Vec<KeyItem> {
        let mut items: Vec<KeyItem> = Vec::new();
        let mut threads: Vec<&str> = Vec::new();
        for found in evidence.found.iter().filter(|found| !found.is_of_file()) {
            // A discussion stands for the whole that it is of, and brings the words that answer.
            if threads.contains(&found.thread()) || items.len() == MAX_ITEMS {
                continue;
            }
            threads.push(found.thread());
            items.push(key_item(evidence, found, records));
        }
        items
    }

    pub(super) fn timeline(&self, evidence: &Evidence, records: &Records) -> Vec<TimelineEntry> {
        let mut entries = Vec::new();
        if let Some(trace) = &evidence.trace {
            for version in &trace.earlier {
                let old = version.text.lines().next().unwrap_or_default().trim();
                let old: String = old.chars().take(OLD_LINE).collect();
                entries.push(TimelineEntry {
                    date: day(version.date).to_string(),
                    summary: format!("{} wrote an earlier version in “{}”: {old}", version.author, version.title),
                    items: version.merge_requests.clone(),
                    commits: vec![version.commit.to_string()],
                    sources: Provenance {
                        commits: vec![short_reference(&NodeId::commit(&trace.project, &version.commit.to_string()).to_string())],
                        authors: vec![version.author.clone()],
                        ..Provenance::default()
                    },
                });
            }
        }
        let mut told: Vec<&str> = Vec::new();
        let mut dated = Vec::new();
        for found in evidence.found.iter().filter(|found| !found.is_of_file()) {
            let thread = found.thread();
            if told.contains(&thread) {
                continue;
            }
            told.push(thread);
            dated.push(begun(evidence, found, records));
            if let Some((at, how)) = records.ended.get(thread) {
                let title = &found.document.title;
                dated.push(TimelineEntry {
                    date: day(*at).to_string(),
                    summary: format!("{how}: {title}"),
                    items: vec![thread.to_owned()],
                    sources: Provenance { items: vec![thread.to_owned()], ..Provenance::default() },
                    ..TimelineEntry::default()
                });
            }
        }
        // What was found first is told first, with what became of the lines in between.
        let at = dated.len().min(2);
        let rest = dated.split_off(at);
        dated.into_iter().chain(entries).chain(rest).collect()
    }
}

/// That something began.
fn begun(evidence: &Evidence, found: &Found, records: &Records) -> TimelineEntry {
    let document = &found.document;
    let thread = found.thread();
    let author = document.facts.author.as_deref().map(|author| format!(" by {}", person(author))).unwrap_or_default();
    // A discussion has the title of what it is of, but not its date.
    let what = match document.facts.kind {
        DocumentKind::Issue => "issue opened",
        DocumentKind::MergeRequest => "merge request opened",
        DocumentKind::Discussion => "discussed",
        _ => "committed",
    };
    let commit = records.commits.get(&document.id).map(|record| record.commit.sha.to_string());
    let _ = evidence;
    TimelineEntry {
        date: day(document.facts.created_at).to_string(),
        summary: format!("{what}{author}: {}", document.title),
        items: if commit.is_some() { vec![] } else { vec![thread.to_owned()] },
        commits: commit.into_iter().collect(),
        sources: sources_of(found),
    }
}

fn key_item(evidence: &Evidence, found: &Found, records: &Records) -> KeyItem {
    let document = &found.document;
    let classification = records.commits.get(&document.id).and_then(|record| classify::of_commit(&record.commit));
    let body = found.body();
    let excerpt = match &found.hint {
        Some(hint) if document.facts.kind != DocumentKind::Discussion && evidence.trace.is_some() => hint.clone(),
        _ => snippet(body, &evidence.question, EXCERPT),
    };
    let state = document.facts.state.filter(|_| document.facts.kind != DocumentKind::Discussion);
    KeyItem {
        reference: short_reference(&document.id),
        kind: document.facts.kind.as_str().to_owned(),
        title: document.title.clone(),
        state: state.map(|state| state.as_str().to_owned()),
        date: day(document.facts.created_at).to_string(),
        author: document.facts.author.as_deref().map(person),
        classification: classification.map(|of| of.main.kind.as_str().to_owned()),
        relevance: told(found.relevance),
        links: found.links.clone(),
        excerpt,
        url: Some(document.url.clone()).filter(|url| !url.is_empty()),
        content_hash: document.content_hash.clone(),
        sources: sources_of(found),
    }
}

/// `@alice`, `ada@example.com`
pub(super) fn person(name: &str) -> String {
    if name.contains('@') { name.to_owned() } else { format!("@{name}") }
}

/// What a document is a source of.
pub(super) fn sources_of(found: &Found) -> Provenance {
    let document = &found.document;
    let mut sources = Provenance {
        authors: document.facts.author.as_deref().map(person).into_iter().collect(),
        ..Provenance::default()
    };
    match (&document.path, document.facts.kind) {
        (Some(path), _) => sources.files.push(path.clone()),
        (None, DocumentKind::Commit) => sources.commits.push(short_reference(&document.id)),
        (None, _) => sources.items.push(document.id.clone()),
    }
    sources
}
