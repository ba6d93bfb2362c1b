//! What the sources of an answer say of themselves: who wrote them, and which commit, merge request, issue or release they
//! belong to.

use std::collections::BTreeSet;

use backstory_model::{
    answer::Citation,
    commit::Sha,
    edge::Edge,
    id::{NodeId, ThreadId, ThreadKind},
    question::SourceQuestion,
    time::utc_date,
};
use backstory_store::graph::Direction;

use crate::{
    citations::{CitedDocument, cited_document, document_of_commit},
    error::Result,
    introduction::merge_requests_introducing,
    releases::first_release,
    resources::Resources,
    trace::{LineOrigin, Target, TraceRequest, trace_origin},
};

/// Most commits, merge requests or issues that are named of a source.
pub(super) const MAX_NAMED: usize = 3;
/// Digits of the name of a commit that was not read.
const SHORT_SHA: usize = 8;

/// A sentence about a source of an answer, and the text that shows it.
pub(super) struct SourceNote {
    /// Not numbered yet.
    pub(super) citation: Citation,
    pub(super) sentence: String,
    /// Whether it tells what was asked, not that it is unknown.
    pub(super) is_known: bool,
}

/// What is asked of a source, at least one sentence.
///
/// # Errors
/// A store failed.
pub(super) async fn describe_source(
    resources: &Resources,
    cited: &Citation,
    asked: SourceQuestion,
) -> Result<Vec<SourceNote>> {
    if asked == SourceQuestion::Writer {
        return Ok(vec![describe_writer(resources, cited).await?]);
    }
    let of_lines = commit_of_lines(resources, cited).await?;
    let source = of_lines.map_or_else(|| cited.clone(), |(_, citation)| citation);
    let mut notes = resources.blocking(move |resources| find_notes(resources, &source, asked)).await?;
    if notes.is_empty() {
        notes.push(note_of_unknown(cited, asked));
    }
    Ok(notes)
}

/// Says that what is asked of a source is not known.
pub(super) fn note_of_unknown(cited: &Citation, asked: SourceQuestion) -> SourceNote {
    let sentence = format!("The {} of {} is not known.", noun(asked), cited.location());
    SourceNote { citation: cited.clone(), sentence, is_known: false }
}

/// Who wrote a source: of lines of a file the commit that wrote most of them.
async fn describe_writer(resources: &Resources, cited: &Citation) -> Result<SourceNote> {
    if let Some((origin, citation)) = commit_of_lines(resources, cited).await? {
        let (source, date, place) = (cited.source(), utc_date(origin.date), citation.location());
        let sentence = format!("{} wrote {source} on {date}, in {place}.", origin.author);
        return Ok(SourceNote { citation, sentence, is_known: true });
    }
    let quoted = cited.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (sentence, is_known) = match cited.display_author().filter(|_| cited.path.is_none()) {
        Some(writer) => {
            let (date, place) = (utc_date(cited.at), cited.location());
            (format!("{writer} wrote it on {date}, in {place}: “{quoted}”"), true)
        }
        None => (format!("It is not known who wrote {}.", cited.location()), false),
    };
    Ok(SourceNote { citation: cited.clone(), sentence, is_known })
}

/// The commit that wrote most of the cited lines of a file, if it is kept.
pub(super) async fn commit_of_lines(resources: &Resources, cited: &Citation) -> Result<Option<(LineOrigin, Citation)>> {
    let (Some(path), Some(lines), Ok(NodeId::File { project, .. })) = (&cited.path, cited.lines, cited.id.parse())
    else {
        return Ok(None);
    };
    let target = Target::Lines { path: path.clone(), lines: Some(lines) };
    let request = TraceRequest { project: Some(project.clone()), target, rev: cited.commit.clone(), earlier: 0 };
    // A file that is not traced, or a commit that is gone, has no known writer, and is no reason to fail.
    let Ok(Some(origin)) = trace_origin(resources, request).await.map(|trace| trace.origin) else { return Ok(None) };
    let commit = origin.commit.to_string();
    let document = resources.blocking(move |resources| document_of_commit(resources, &project, &commit)).await?;
    Ok(document.map(|document| (origin, cite_title(&document))))
}

fn find_notes(resources: &Resources, source: &Citation, asked: SourceQuestion) -> Result<Vec<SourceNote>> {
    let Ok(id) = source.id.parse::<NodeId>() else { return Ok(vec![]) };
    let found: Vec<NodeId> = match asked {
        SourceQuestion::Writer
        | SourceQuestion::Files
        | SourceQuestion::Code
        | SourceQuestion::Reviewer
        | SourceQuestion::State => vec![],
        SourceQuestion::Release => return release_notes(resources, &id),
        SourceQuestion::Commit => commits_of(resources, &id)?,
        SourceQuestion::MergeRequest => merge_requests_of(resources, &id)?,
        SourceQuestion::Issue => issues_of(resources, &id)?,
        SourceQuestion::Discussion => match thread_of(&id) {
            Some(thread) => vec![thread.clone().into()],
            None => [merge_requests_of(resources, &id)?, issues_of(resources, &id)?].concat(),
        },
    };
    let mut seen = BTreeSet::new();
    let mut notes = Vec::new();
    for node in found.into_iter().filter(|node| seen.insert(node.clone())).take(MAX_NAMED) {
        notes.extend(note_of_node(resources, source, &node, asked)?);
    }
    Ok(notes)
}

/// Names what a source belongs to; `None` if it cannot be shown.
fn note_of_node(
    resources: &Resources,
    source: &Citation,
    node: &NodeId,
    asked: SourceQuestion,
) -> Result<Option<SourceNote>> {
    let is_note = matches!(source.id.parse(), Ok(NodeId::Note { .. }));
    let citation = match (cited_document(resources, node, None)?, node) {
        // What was said shows best where it was discussed.
        (Some(_), _) if asked == SourceQuestion::Discussion && is_note => source.clone(),
        (Some(document), _) => cite_title(&document),
        // The forge says which commit it was, and its repository is not indexed.
        (None, NodeId::Commit { project, sha }) => {
            let short = sha.get(..SHORT_SHA).unwrap_or(sha);
            let sentence = format!("It was commit {project}@{short}, which has not been read.");
            return Ok(Some(SourceNote { citation: source.clone(), sentence, is_known: true }));
        }
        (None, _) => return Ok(None),
    };
    let place = citation.location();
    let sentence = match node {
        NodeId::Thread(thread) if asked == SourceQuestion::Discussion => {
            format!("It was discussed in {} {place}.", thread.kind.name())
        }
        NodeId::Thread(thread) => format!("It was {} {place}.", thread.kind.name()),
        _ => format!("It was {place}."),
    };
    Ok(Some(SourceNote { citation, sentence, is_known: true }))
}

/// In which releases the commits of a node first shipped.
fn release_notes(resources: &Resources, id: &NodeId) -> Result<Vec<SourceNote>> {
    let mut notes = Vec::new();
    for commit in commits_of(resources, id)?.into_iter().take(MAX_NAMED) {
        let NodeId::Commit { project, sha } = &commit else { continue };
        let (Some(release), Some(document)) =
            (first_release(resources, project, sha)?, document_of_commit(resources, project, sha)?)
        else {
            continue;
        };
        let citation = cite_title(&document);
        let when = release.at.map_or_else(String::new, |at| format!(" of {}", utc_date(at)));
        let sentence = format!("It first shipped in {}{when}, with {}.", release.tag, citation.location());
        notes.push(SourceNote { citation, sentence, is_known: true });
    }
    Ok(notes)
}

/// The commit itself; those that an issue was closed by, or that a merge request was merged as.
pub(super) fn commits_of(resources: &Resources, id: &NodeId) -> Result<Vec<NodeId>> {
    if matches!(id, NodeId::Commit { .. }) {
        return Ok(vec![id.clone()]);
    }
    let mut commits = Vec::new();
    if let Some(issue) = thread_of(id).filter(|thread| thread.kind == ThreadKind::Issue) {
        let closing = other_ends(resources, &issue.clone().into(), Direction::In, &[Edge::Closes, Edge::Fixes])?;
        commits.extend(closing.into_iter().filter(|node| matches!(node, NodeId::Commit { .. })));
    }
    for request in merge_requests_of(resources, id)? {
        commits.extend(other_ends(resources, &request, Direction::Out, &[Edge::MergedAs])?);
    }
    Ok(commits)
}

/// The merge request itself; those that brought a commit, or closed an issue.
pub(super) fn merge_requests_of(resources: &Resources, id: &NodeId) -> Result<Vec<NodeId>> {
    if let NodeId::Commit { project, sha } = id {
        let Some(sha) = Sha::from_hex(sha.as_bytes()) else { return Ok(vec![]) };
        let carriers = merge_requests_introducing(resources, project, sha)?;
        return Ok(carriers.into_iter().map(|carrier| carrier.id.into()).collect());
    }
    match thread_of(id) {
        Some(issue) if issue.kind == ThreadKind::Issue => {
            let closing = other_ends(resources, &issue.clone().into(), Direction::In, &[Edge::Closes])?;
            Ok(closing.into_iter().filter(|node| is_thread(node, ThreadKind::MergeRequest)).collect())
        }
        Some(request) => Ok(vec![request.clone().into()]),
        None => Ok(vec![]),
    }
}

/// The issue itself; those that a commit or a merge request closes.
fn issues_of(resources: &Resources, id: &NodeId) -> Result<Vec<NodeId>> {
    if let Some(issue) = thread_of(id).filter(|thread| thread.kind == ThreadKind::Issue) {
        return Ok(vec![issue.clone().into()]);
    }
    let mut closing = merge_requests_of(resources, id)?;
    if matches!(id, NodeId::Commit { .. }) {
        closing.push(id.clone());
    }
    let mut issues = Vec::new();
    for node in &closing {
        issues.extend(other_ends(resources, node, Direction::Out, &[Edge::Closes, Edge::Fixes])?);
    }
    issues.retain(|node| is_thread(node, ThreadKind::Issue));
    Ok(issues)
}

/// The nodes at the other ends of edges of some names.
fn other_ends(resources: &Resources, id: &NodeId, direction: Direction, edges: &[Edge]) -> Result<Vec<NodeId>> {
    let mut nodes = Vec::new();
    for edge in edges {
        let found = resources.graph().edges(id, direction, Some(*edge))?;
        nodes.extend(found.into_iter().map(|end| end.other));
    }
    Ok(nodes)
}

fn is_thread(node: &NodeId, kind: ThreadKind) -> bool {
    matches!(node, NodeId::Thread(thread) if thread.kind == kind)
}

pub(super) fn thread_of(id: &NodeId) -> Option<&ThreadId> {
    match id {
        NodeId::Thread(thread) | NodeId::Discussion { thread, .. } | NodeId::Note { thread, .. } => Some(thread),
        _ => None,
    }
}

/// A citation of the first line of a document: the title, or the first line of a commit's message.
pub(super) fn cite_title(document: &CitedDocument) -> Citation {
    let title = document.text.lines().next().map_or(0, str::len);
    document.cite(0, 0..title)
}

fn noun(asked: SourceQuestion) -> &'static str {
    match asked {
        SourceQuestion::Writer => "writer",
        SourceQuestion::Commit => "commit",
        SourceQuestion::MergeRequest => "merge request",
        SourceQuestion::Issue => "issue",
        SourceQuestion::Discussion => "discussion",
        SourceQuestion::Release => "release",
        SourceQuestion::Files => "list of changed files",
        SourceQuestion::Code => "code",
        SourceQuestion::Reviewer => "reviewer",
        SourceQuestion::State => "state",
    }
}
