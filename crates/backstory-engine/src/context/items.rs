//! The key items and the timeline of a context pack.

use std::collections::BTreeMap;

use backstory_model::{
    classify,
    document::own_body,
    entity::Item,
    filter::DocumentKind,
    id::{NodeId, NodeKind},
    pack::{KeyItem, PackSources, TimelineEntry},
    repository::CommitRecord,
    time::utc_date,
};
use jiff::Timestamp;

use super::{
    conditions::accepts_commit,
    evidence::{Evidence, Found, short_reference},
    round_score,
};
use crate::{error::Result, read::item_of_node, records::commit_record, resources::Resources, trace::EarlierVersion};

/// Items that may be among those that matter most.
const MAX_ITEMS: usize = 10;
/// Commits that are looked at.
const MAX_COMMITS: usize = 12;
/// Issues and merge requests of which it is told when they were closed or merged.
const MAX_ENDED: usize = 8;
/// Longest excerpt, in bytes.
const EXCERPT: usize = 2000;
/// Least share of the best relevance at which it is shown when an item was begun and ended.
const WORTH_A_DATE: f32 = 0.5;
/// Items of which that is told.
const MAX_DATED: usize = 8;
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

/// Reads the commits and threads that were found first.
pub(super) fn records_of(resources: &Resources, evidence: &Evidence) -> Result<Records> {
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
            && let Some(record) = commit_record(resources, project, sha)?
            && accepts_commit(resources, &evidence.narrowing, &name, &record)
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
        let ended = match item_of_node(resources, &node)? {
            Some(Item::MergeRequest(mr)) => match (mr.merged_at, mr.thread.closed_at) {
                (Some(at), _) => Some((at, "merged")),
                (None, Some(at)) => Some((at, "closed without being merged")),
                (None, None) => None,
            },
            Some(Item::Issue(issue)) => issue.thread.closed_at.map(|at| (at, "closed")),
            _ => None,
        };
        if let Some(ended) = ended.filter(|(at, _)| evidence.narrowing.within(*at)) {
            records.ended.insert(id.to_owned(), ended);
        }
    }
    Ok(records)
}

/// The items that matter most, a discussion standing for the whole that it is of.
pub(super) fn key_items(evidence: &Evidence, records: &Records) -> Vec<KeyItem> {
    let mut items: Vec<KeyItem> = Vec::new();
    let mut threads: Vec<&str> = Vec::new();
    for found in reportable_items(evidence, records) {
        if !threads.contains(&found.thread()) && items.len() < MAX_ITEMS {
            threads.push(found.thread());
            items.push(key_item(evidence, found, records));
        }
    }
    items
}

/// What was found besides files, without merges whose merge request tells the same.
fn reportable_items<'a>(evidence: &'a Evidence, records: &'a Records) -> impl Iterator<Item = &'a Found> {
    evidence.found.iter().filter(|found| !found.is_of_file() && !is_covered_by_merge_request(evidence, found, records))
}

/// Whether it is the merge of a merge request that is told of. Without one its own message may say why.
pub(super) fn is_covered_by_merge_request(evidence: &Evidence, found: &Found, records: &Records) -> bool {
    let id = &found.document.id;
    let is_merge = records.commits.get(id).is_some_and(|record| record.commit.is_merge());
    let steps = evidence.trace.iter().flat_map(|trace| &trace.chain);
    let mut requests = steps.filter(|step| step.node.kind == NodeKind::MergeRequest);
    let is_of_request = |from: &Option<NodeId>| from.as_ref().is_some_and(|from| from.to_string() == *id);
    is_merge && (evidence.merged_as.values().any(|merge| merge == id) || requests.any(|step| is_of_request(&step.from)))
}

/// What happened when: what happened to the lines that were asked about, and of the items that matter.
pub(super) fn timeline(evidence: &Evidence, records: &Records) -> Vec<TimelineEntry> {
    let mut told: Vec<&str> = Vec::new();
    let mut dated = Vec::new();
    let least = evidence.found.first().map_or(0.0, |found| found.relevance) * WORTH_A_DATE;
    for found in reportable_items(evidence, records) {
        let thread = found.thread();
        if told.contains(&thread) || found.relevance < least || told.len() == MAX_DATED {
            continue;
        }
        told.push(thread);
        if evidence.narrowing.within(found.document.facts.created_at) {
            dated.push(creation_entry(found, records));
        }
        if let Some((at, how)) = records.ended.get(thread) {
            dated.push(TimelineEntry {
                date: utc_date(*at).to_string(),
                summary: format!("{how}: {}", found.document.title.trim()),
                items: vec![thread.to_owned()],
                sources: PackSources { items: vec![thread.to_owned()], ..PackSources::default() },
                ..TimelineEntry::default()
            });
        }
    }
    // What was found first comes first, then what happened to the lines.
    let rest = dated.split_off(dated.len().min(2));
    dated.into_iter().chain(earlier(evidence)).chain(rest).collect()
}

/// The earlier versions of the lines that were asked about.
fn earlier(evidence: &Evidence) -> Vec<TimelineEntry> {
    let Some(trace) = &evidence.trace else { return vec![] };
    let entry = |version: &EarlierVersion| {
        let old: String = version.text.lines().next().unwrap_or_default().trim().chars().take(OLD_LINE).collect();
        let reference = NodeId::commit(&trace.project, &version.commit.to_string()).to_string();
        TimelineEntry {
            date: utc_date(version.date).to_string(),
            summary: format!("{} wrote an earlier version in “{}”: {old}", version.author, version.title),
            items: version.merge_requests.iter().map(ToString::to_string).collect(),
            commits: vec![version.commit.to_string()],
            sources: PackSources {
                commits: vec![short_reference(&reference)],
                authors: vec![version.author.clone()],
                ..PackSources::default()
            },
        }
    };
    trace.earlier.iter().map(entry).collect()
}

/// That something began.
fn creation_entry(found: &Found, records: &Records) -> TimelineEntry {
    let document = &found.document;
    let author = author_of(found, records).map(|author| format!(" by {author}")).unwrap_or_default();
    // A discussion has the title of what it is of, but not its date.
    let what = match document.facts.kind {
        DocumentKind::Issue => "issue opened",
        DocumentKind::MergeRequest => "merge request opened",
        DocumentKind::Discussion => "discussed",
        _ => "committed",
    };
    let commit = match document.id.parse() {
        Ok(NodeId::Commit { sha, .. }) => Some(sha),
        _ => None,
    };
    TimelineEntry {
        date: utc_date(document.facts.created_at).to_string(),
        summary: format!("{what}{author}: {}", document.title.trim()),
        items: if commit.is_some() { vec![] } else { vec![found.thread().to_owned()] },
        commits: commit.into_iter().collect(),
        sources: sources_of(found),
    }
}

/// Who wrote it: of a commit by name, where that is known.
fn author_of(found: &Found, records: &Records) -> Option<String> {
    let record = records.commits.get(&found.document.id);
    record
        .map(|record| record.commit.author.name.clone())
        .or_else(|| found.document.facts.author.as_deref().map(person))
}

/// The paragraph that shares most words with the question, with what follows it.
fn excerpt(body: &str, evidence: &Evidence) -> String {
    let paragraphs: Vec<&str> = body.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()).collect();
    let shared = |at: &usize| evidence.terms.count_matches(paragraphs[*at]);
    // Of equal ones the first.
    let Some(best) = (0..paragraphs.len()).rev().max_by_key(shared) else { return String::new() };
    let text = paragraphs[best..].join("\n\n");
    text[..text.floor_char_boundary(EXCERPT)].trim().to_owned()
}

fn key_item(evidence: &Evidence, found: &Found, records: &Records) -> KeyItem {
    let document = &found.document;
    let classification = records.commits.get(&document.id).and_then(|record| classify::classify_commit(&record.commit));
    let state = document.facts.state.filter(|_| document.facts.kind != DocumentKind::Discussion);
    KeyItem {
        reference: short_reference(&document.id),
        kind: document.facts.kind.as_str().to_owned(),
        title: document.title.trim().to_owned(),
        state: state.map(|state| state.as_str().to_owned()),
        date: utc_date(document.facts.created_at).to_string(),
        author: author_of(found, records),
        classification: classification.map(|of| of.main.kind.as_str().to_owned()),
        relevance: round_score(found.relevance),
        links: found.links.clone(),
        excerpt: excerpt(&own_body(document.facts.kind, &document.text), evidence),
        url: Some(document.url.clone()).filter(|url| !url.is_empty()),
        confidential: document.facts.confidential,
        content_hash: document.content_hash.clone(),
        sources: sources_of(found),
    }
}

/// `@alice`, `ada@example.com`
pub(super) fn person(name: &str) -> String {
    if name.contains('@') { name.to_owned() } else { format!("@{name}") }
}

/// What a document is a source of.
pub(super) fn sources_of(found: &Found) -> PackSources {
    let document = &found.document;
    // Who wrote a commit is known by an address here; what names them says it.
    let author = document.facts.author.as_deref().filter(|author| !author.contains('@')).map(person);
    let mut sources = PackSources { authors: author.into_iter().collect(), ..PackSources::default() };
    match (&document.path, document.facts.kind) {
        (Some(path), _) => sources.files.push(path.clone()),
        (None, DocumentKind::Commit) => sources.commits.push(short_reference(&document.id)),
        (None, _) => sources.items.push(found.thread().to_owned()),
    }
    sources
}
