//! Ranks discussions and issues by how well they say why: notes on those lines first, then notes that name the symbol
//! or share its words.

use std::collections::BTreeSet;

use backstory_model::{
    edge::Edge,
    entity::{Discussion, Issue, Item, MergeRequest, Note, Position},
    id::{NodeId, ThreadId, ThreadKind},
    text::snippet,
    time::day,
};
use backstory_store::graph::{Direction, InferredLink};

use super::{
    Evidence, LineOrigin, Step, Trace, TraceNode,
    chain::{QUOTED, Words, commit_step, follow_commit, item_of_node, merge_request_node},
    remembered::discussions_of,
    requests::Told,
};
use crate::{error::Result, repository::commit_record, resources::Resources};

/// Discussions of a merge request that are told.
const MAX_DISCUSSIONS: usize = 3;
/// Issues of a merge request or commit that are told.
const MAX_ISSUES: usize = 5;
/// Merge requests and commits of an issue that are told.
const MAX_SOLUTIONS: usize = 5;
/// Lines around a note that count as its place, where the file may have changed since.
const NEAR: u32 = 3;
/// Lines around a note within which it still is about the same part of the file.
const SAME_PART: u32 = 25;
/// A shorter note agrees or thanks, and says nothing.
const MIN_NOTE: usize = 30;
/// Longest title of a discussion, in characters.
const TITLE: usize = 80;

/// How well a discussion answers: a note on the very lines, then one near them, then one that names the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Relevance {
    on_lines: u32,
    names_symbol: bool,
    shared_words: usize,
    same_file: bool,
    length: usize,
}

impl Relevance {
    fn tells(self) -> bool {
        self.on_lines > 0 || self.names_symbol || self.shared_words > 0 || self.same_file
    }
}

/// Adds the discussions of a merge request that say most about the lines.
pub(super) fn discussions_about(
    resources: &Resources,
    mr: &MergeRequest,
    origins: &[LineOrigin],
    words: &Words,
    trace: &mut Trace,
) -> Result<()> {
    let discussions = discussions_of(resources, &mr.id)?;
    let mut ranked: Vec<(Relevance, &Discussion, &Note)> = Vec::new();
    for discussion in discussions.iter() {
        if let Some((relevance, note)) = best_note(discussion, origins, words) {
            ranked.push((relevance, discussion, note));
        }
    }
    // Where no lines are asked about and nothing stands out, what was said at all may be the reason.
    let tells = ranked.iter().any(|(relevance, ..)| relevance.tells());
    let wanted = |of: Relevance| if tells || !origins.is_empty() { of.tells() } else { of.length > 0 };
    ranked.retain(|(relevance, ..)| wanted(*relevance));
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.2.created_at.cmp(&b.2.created_at)));
    for (relevance, discussion, note) in ranked.into_iter().take(MAX_DISCUSSIONS) {
        trace.add(discussion_step(mr, discussion, note, relevance, words));
    }
    Ok(())
}

/// How much the discussions of a merge request say of lines.
pub(super) fn relevance_to_lines(
    resources: &Resources,
    id: &ThreadId,
    origins: &[LineOrigin],
    words: &Words,
) -> Result<Told> {
    let mut told = Told::default();
    for discussion in discussions_of(resources, id)?.iter() {
        let Some((relevance, _)) = best_note(discussion, origins, words) else { continue };
        match relevance {
            of if of.on_lines > 0 => told.on_lines += 1,
            of if of.same_file && of.length > 0 => told.on_file += 1,
            of if of.names_symbol => told.names_symbol += 1,
            _ => {}
        }
    }
    Ok(told)
}

/// Adds the issues that a commit and its merge requests close, those that they refer to, then those that they
/// probably have to do with.
pub(super) fn issues_of(resources: &Resources, ids: &[NodeId], words: &Words, trace: &mut Trace) -> Result<()> {
    let mut told = BTreeSet::new();
    for edge in [Edge::Fixes, Edge::Closes, Edge::RelatesTo, Edge::References] {
        let mut ends = Vec::new();
        for id in ids {
            let both: &[Direction] =
                if edge == Edge::RelatesTo { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
            for direction in both {
                let found = resources.graph().edges(id, *direction, Some(edge))?;
                ends.extend(found.into_iter().map(|end| (id, end)));
            }
        }
        for (id, end) in ends {
            let NodeId::Thread(thread) = &end.other else { continue };
            if thread.kind != ThreadKind::Issue || told.len() == MAX_ISSUES || !told.insert(thread.clone()) {
                continue;
            }
            match item_of_node(resources, &end.other)? {
                Some(Item::Issue(issue)) => trace.add(issue_step(&issue, edge, Some(id), words)),
                // A number that is only mentioned may be that of a request.
                _ if edge == Edge::References => {}
                _ => trace.miss(format!("issue {thread} is not in the index; sync its project to read it")),
            }
        }
    }
    for id in ids {
        for link in resources.graph().inferred(id)?.into_iter().filter(|link| link.from == *id) {
            if let Some(Item::Issue(issue)) = item_of_node(resources, &link.to)? {
                trace.add(inferred(issue_step(&issue, Edge::RelatesTo, Some(id), words), link));
            }
        }
    }
    Ok(())
}

/// Adds what closed an issue: merge requests, then commits.
pub(super) fn solutions_of(resources: &Resources, id: &NodeId, words: &Words, trace: &mut Trace) -> Result<()> {
    for edge in [Edge::Closes, Edge::Fixes, Edge::RelatesTo, Edge::References] {
        let mut ends = resources.graph().edges(id, Direction::In, Some(edge))?;
        if edge == Edge::RelatesTo {
            ends.extend(resources.graph().edges(id, Direction::Out, Some(edge))?);
        }
        for end in ends.into_iter().take(MAX_SOLUTIONS) {
            match (&end.other, item_of_node(resources, &end.other)?) {
                (_, Some(Item::MergeRequest(mr))) => trace.add(solution_step(&mr, edge, id, words)),
                (NodeId::Commit { project, sha }, Some(_)) => {
                    if let Some(record) = commit_record(resources, project, sha)? {
                        let first = trace.chain.len();
                        follow_commit(resources, project, &record, &[], words, trace)?;
                        let own = trace.chain.get_mut(first).filter(|step| step.from.is_none());
                        if let Some(step) = own {
                            (step.edge, step.from) = (edge, Some(id.clone()));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    inferred_solutions_of(resources, id, words, trace)
}

/// Adds what probably has to do with an issue although nobody stated it, the likeliest first.
fn inferred_solutions_of(resources: &Resources, id: &NodeId, words: &Words, trace: &mut Trace) -> Result<()> {
    let mut links = resources.graph().inferred(id)?;
    links.retain(|link| link.to == *id);
    links.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.from.cmp(&b.from)));
    for link in links.into_iter().take(MAX_SOLUTIONS) {
        match (&link.from, item_of_node(resources, &link.from)?) {
            (_, Some(Item::MergeRequest(mr))) => {
                trace.add(inferred(solution_step(&mr, Edge::RelatesTo, id, words), link));
            }
            (NodeId::Commit { project, sha }, Some(_)) => {
                if let Some(record) = commit_record(resources, project, sha)? {
                    let mut step = commit_step(resources, project, &record, &[], words)?;
                    (step.edge, step.from) = (Edge::RelatesTo, Some(id.clone()));
                    trace.add(inferred(step, link));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn issue_step(issue: &Issue, edge: Edge, from: Option<&NodeId>, words: &Words) -> Step {
    Step {
        edge,
        from: from.cloned(),
        node: TraceNode::new(issue.id.clone().into(), &*issue.thread.title, Some(issue.thread.web_url.clone())),
        evidence: quoted(&issue.thread.description, &issue.thread.web_url, words),
        confidence: None,
    }
}

fn solution_step(mr: &MergeRequest, edge: Edge, id: &NodeId, words: &Words) -> Step {
    Step {
        edge,
        from: Some(id.clone()),
        node: merge_request_node(mr),
        evidence: quoted(&mr.thread.description, &mr.thread.web_url, words),
        confidence: None,
    }
}

/// A step as one that nobody stated.
fn inferred(mut step: Step, link: InferredLink) -> Step {
    step.confidence = Some(link.confidence);
    step.evidence.reasons = link.evidence;
    step
}

fn quoted(text: &str, url: &str, words: &Words) -> Evidence {
    Evidence {
        text: Some(snippet(text, &words.query(), QUOTED)).filter(|text| !text.is_empty()),
        url: Some(url.to_owned()),
        ..Evidence::default()
    }
}

/// The note of a discussion that says most about the lines; of equal ones the first.
fn best_note<'a>(discussion: &'a Discussion, origins: &[LineOrigin], words: &Words) -> Option<(Relevance, &'a Note)> {
    let on_lines = on_lines(discussion, origins);
    let notes = discussion.notes.iter().map(|note| (relevance(discussion, note, on_lines, origins, words), note));
    notes.rev().max_by_key(|(relevance, _)| *relevance)
}

/// How near the lines a discussion stands: 3 on them, 2 next to them, 1 in the same part of the file, else 0.
fn on_lines(discussion: &Discussion, origins: &[LineOrigin]) -> u32 {
    let Some(position) = discussion.notes.iter().find_map(|note| note.position.as_ref()) else { return 0 };
    let Some(range) = position.new_lines.or(position.old_lines) else { return 0 };
    let mut best = 0;
    for origin in origins.iter().filter(|origin| is_file(position, &origin.path)) {
        let distance = apart(range, (origin.line, origin.line + origin.lines - 1));
        // The note's own commit tells exactly; elsewhere lines may have moved a little.
        let exact = position.head_sha.as_deref() == Some(&origin.commit.to_string());
        best = best.max(match distance {
            0 => 3,
            near if near <= NEAR && !exact => 2,
            part if part <= SAME_PART => 1,
            _ => 0,
        });
    }
    best
}

fn is_file(position: &Position, path: &str) -> bool {
    position.new_path == path || position.old_path == path
}

/// How many lines two ranges are apart; 0 if they touch.
fn apart(one: (u32, u32), other: (u32, u32)) -> u32 {
    other.0.saturating_sub(one.1).max(one.0.saturating_sub(other.1))
}

fn relevance(discussion: &Discussion, note: &Note, on_lines: u32, origins: &[LineOrigin], words: &Words) -> Relevance {
    let long_enough = note.body.trim().chars().count() >= MIN_NOTE;
    // On the lines themselves the question that began it counts, elsewhere only what says something.
    if on_lines < 2 && !long_enough {
        return Relevance::default();
    }
    let position = discussion.notes.iter().find_map(|note| note.position.as_ref());
    Relevance {
        on_lines: if on_lines >= 2 { on_lines } else { 0 },
        names_symbol: words.names_symbol(&note.body),
        shared_words: words.shared(&note.body),
        same_file: position.is_some_and(|position| origins.iter().any(|origin| is_file(position, &origin.path))),
        length: if long_enough { note.body.len().min(2_000) } else { 0 },
    }
}

fn discussion_step(
    mr: &MergeRequest,
    discussion: &Discussion,
    note: &Note,
    relevance: Relevance,
    words: &Words,
) -> Step {
    let position = discussion.notes.iter().find_map(|note| note.position.as_ref());
    let author = note.author.as_deref().unwrap_or("deleted");
    let first = discussion.notes.first().map_or("", |note| note.body.trim());
    let beginning: String = first.lines().next().unwrap_or_default().chars().take(TITLE).collect();
    let edge = if relevance.on_lines > 0 { Edge::CommentsOn } else { Edge::PartOf };
    Step {
        edge,
        from: Some(mr.id.clone().into()),
        node: TraceNode::new(
            discussion.node_id(),
            format!("@{author}, {}: {beginning}", day(note.created_at)),
            Some(discussion.web_url.clone()),
        ),
        evidence: Evidence {
            text: Some(snippet(&note.body, &words.query(), QUOTED)),
            url: Some(discussion.note_url(note.id)),
            path: position.map(|position| position.new_path.clone()),
            lines: position.and_then(|position| position.new_lines.or(position.old_lines)),
            ..Evidence::default()
        },
        confidence: None,
    }
}
