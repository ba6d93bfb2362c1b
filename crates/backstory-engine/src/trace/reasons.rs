//! Ranks discussions and issues by how well they say why: notes on those lines first, then notes that name the symbol
//! or share its words.

use std::collections::BTreeSet;

use backstory_model::{
    edge::Edge,
    entity::{Discussion, Item, MergeRequest, Note, Position},
    id::{NodeId, ThreadId, ThreadKind},
    sentence::{first_prose_line, own_lines},
    text::one_line,
    time::utc_date,
};
use backstory_store::graph::Direction;

use super::{
    Evidence, LineOrigin, Step, Trace, TraceNode,
    steps::{inferred, issue_step, quote},
    words::CodeWords,
};
use crate::{
    error::Result,
    read::{discussions_of, item_of_node},
    resources::Resources,
};

/// Discussions of a merge request that are told.
const MAX_DISCUSSIONS: usize = 3;
/// Issues of a merge request or commit that are told.
const MAX_ISSUES: usize = 5;

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
    fn is_informative(self) -> bool {
        self.on_lines > 0 || self.names_symbol || self.shared_words > 0 || self.same_file
    }
}

/// Adds the discussions of a merge request that say most about the lines.
pub(super) fn discussions_about(
    resources: &Resources,
    mr: &MergeRequest,
    origins: &[LineOrigin],
    words: &CodeWords,
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
    let tells = ranked.iter().any(|(relevance, ..)| relevance.is_informative());
    let wanted = |of: Relevance| if tells || !origins.is_empty() { of.is_informative() } else { of.length > 0 };
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
    words: &CodeWords,
) -> Result<LineRelevance> {
    let mut told = LineRelevance::default();
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
pub(super) fn issues_of(resources: &Resources, ids: &[NodeId], words: &CodeWords, trace: &mut Trace) -> Result<()> {
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
                _ => trace.add_gap(format!("issue {thread} is not in the index; sync its project to read it")),
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

/// The note of a discussion that says most about the lines; of equal ones the first.
fn best_note<'a>(
    discussion: &'a Discussion,
    origins: &[LineOrigin],
    words: &CodeWords,
) -> Option<(Relevance, &'a Note)> {
    let on_lines = line_proximity(discussion, origins);
    let notes = discussion.notes.iter().map(|note| (relevance(discussion, note, on_lines, origins, words), note));
    notes.rev().max_by_key(|(relevance, _)| *relevance)
}

/// How near the lines a discussion stands: 3 on them, 2 next to them, 1 in the same part of the file, else 0.
fn line_proximity(discussion: &Discussion, origins: &[LineOrigin]) -> u32 {
    let Some(position) = discussion.notes.iter().find_map(|note| note.position.as_ref()) else { return 0 };
    let Some(range) = position.new_lines.or(position.old_lines) else { return 0 };
    let mut best = 0;
    for origin in origins.iter().filter(|origin| is_file(position, &origin.path)) {
        let distance = line_distance(range, (origin.line, origin.line + origin.lines - 1));
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
fn line_distance(one: (u32, u32), other: (u32, u32)) -> u32 {
    other.0.saturating_sub(one.1).max(one.0.saturating_sub(other.1))
}

fn relevance(
    discussion: &Discussion,
    note: &Note,
    on_lines: u32,
    origins: &[LineOrigin],
    words: &CodeWords,
) -> Relevance {
    let body = own_lines(&note.body);
    let long_enough = body.trim().chars().count() >= MIN_NOTE;
    // On the lines themselves the question that began it counts, elsewhere only what says something.
    if on_lines < 2 && !long_enough {
        return Relevance::default();
    }
    let position = discussion.notes.iter().find_map(|note| note.position.as_ref());
    Relevance {
        on_lines: if on_lines >= 2 { on_lines } else { 0 },
        names_symbol: words.names_symbol(&body),
        shared_words: words.shared(&body),
        same_file: position.is_some_and(|position| origins.iter().any(|origin| is_file(position, &origin.path))),
        length: if long_enough { body.len().min(2_000) } else { 0 },
    }
}

fn discussion_step(
    mr: &MergeRequest,
    discussion: &Discussion,
    note: &Note,
    relevance: Relevance,
    words: &CodeWords,
) -> Step {
    let position = discussion.notes.iter().find_map(|note| note.position.as_ref());
    let edge = if relevance.on_lines > 0 { Edge::CommentsOn } else { Edge::PartOf };
    Step {
        edge,
        from: Some(mr.id.clone().into()),
        node: TraceNode::new(
            discussion.node_id(),
            discussion_title(discussion, note, position),
            Some(discussion.web_url.clone()),
        ),
        evidence: Evidence {
            text: quote(&note.body, words),
            url: Some(discussion.note_url(note.id)),
            path: position.map(|position| position.new_path.clone()),
            lines: position.and_then(|position| position.new_lines.or(position.old_lines)),
            ..Evidence::default()
        },
        confidence: None,
    }
}

/// Who wrote a note, when and, if it is a reply, to whom, with what the discussion begins with, else the file that it is on.
fn discussion_title(discussion: &Discussion, note: &Note, position: Option<&Position>) -> String {
    let name = |note: &Note| format!("@{}", note.author.as_deref().unwrap_or("deleted"));
    let first = discussion.notes.first().unwrap_or(note);
    let about = match (first_prose_line(&first.body), position) {
        (Some(line), _) => format!(": {}", one_line(&line, TITLE)),
        (None, Some(position)) => format!(", on {}", position.new_path),
        (None, None) => String::new(),
    };
    let reply = if first.id == note.id { String::new() } else { format!(", in reply to {}", name(first)) };
    format!("{}, {}{reply}{about}", name(note), utc_date(note.created_at))
}

/// How much the discussions of a merge request say of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LineRelevance {
    /// Discussions on the lines or next to them.
    pub(super) on_lines: usize,
    /// Other discussions on the file that say something.
    pub(super) on_file: usize,
    /// Discussions elsewhere that name the symbol.
    pub(super) names_symbol: usize,
}
