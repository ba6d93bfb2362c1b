//! Prints an issue, merge request or discussion for people.

use std::collections::BTreeSet;

use backstory_engine::{
    graph::Direction,
    model::{commit::ChangeStatus, edge::Edge, entity::ProposedFile, id::NodeId, place::format_place, text::capital},
    show::{DiffPosition, DiscussionDetails, DiscussionWithParent, EdgeDetails, ThreadDetails},
    threads::ThreadSummary,
};
use jiff::Timestamp;

use super::super::model_notes;
use crate::{
    failure::Result,
    output::{FAINT, STRONG, Terminal, escape_terminal, indented, minute, pluralize},
};

/// What edges are called, by where they start: what tells most comes first.
const LINKS: [(Direction, Edge, &str); 12] = [
    (Direction::Out, Edge::Closes, "Closes"),
    (Direction::In, Edge::Closes, "Closed by"),
    (Direction::Out, Edge::MergedAs, "Merged as"),
    (Direction::Out, Edge::Blocks, "Blocks"),
    (Direction::In, Edge::Blocks, "Blocked by"),
    (Direction::Out, Edge::Duplicates, "Duplicate of"),
    (Direction::In, Edge::Duplicates, "Duplicates"),
    (Direction::Out, Edge::RelatesTo, "Related"),
    (Direction::In, Edge::RelatesTo, "Related"),
    (Direction::Out, Edge::References, "Mentions"),
    (Direction::Out, Edge::Mentions, "Mentions"),
    (Direction::In, Edge::References, "Mentioned in"),
];
/// Digits of a commit that tell it from others of its project.
const SHORT_SHA: usize = 12;
/// Files of a merge request that are named.
const MAX_FILES: usize = 20;

pub(super) fn print_thread(terminal: &Terminal, thread: &ThreadDetails) -> Result<()> {
    let ThreadSummary { id, title, state, .. } = &thread.summary;
    let (kind, state) = (capital(thread.kind.name()), state.as_str());
    let draft = if thread.merge_request.as_ref().is_some_and(|mr| mr.draft) { ", draft" } else { "" };
    let secret = if thread.confidential { ", confidential" } else { "" };
    terminal.line(format_args!("{FAINT}{kind} {id} ({state}{draft}{secret}){FAINT:#}"))?;
    terminal.line(format_args!("{STRONG}{}{STRONG:#}\n", escape_terminal(title)))?;
    for (name, value) in facts(thread).into_iter().chain(links(thread)) {
        terminal.line(format_args!("{:<15}{}", format!("{name}:"), escape_terminal(&value)))?;
    }
    let description = thread.description.trim();
    if !description.is_empty() {
        terminal.line(format_args!("\n{}", escape_terminal(description)))?;
    }
    if let Some(notes) = &thread.model_notes {
        model_notes::print(terminal, notes)?;
    }
    if !thread.discussions.is_empty() {
        let count = pluralize(thread.discussions.len() as u64, "discussion", "discussions");
        terminal.line(format_args!("\n{STRONG}{count}{STRONG:#}"))?;
    }
    for discussion in &thread.discussions {
        terminal.line("")?;
        print_discussion(terminal, discussion)?;
    }
    if thread.omitted_notes > 0 {
        terminal.note(format_args!("{} are not shown", pluralize(thread.omitted_notes as u64, "note", "notes")));
    }
    Ok(())
}

pub(super) fn print_single_discussion(terminal: &Terminal, single: &DiscussionWithParent) -> Result<()> {
    let title = escape_terminal(single.parent_title.as_deref().unwrap_or("(no title)"));
    terminal.line(format_args!("Discussion on {} - {title}\n", single.parent))?;
    print_discussion(terminal, &single.discussion)
}

fn print_discussion(terminal: &Terminal, discussion: &DiscussionDetails) -> Result<()> {
    for (place, note) in discussion.notes.iter().enumerate() {
        let margin = if place == 0 { 2 } else { 6 };
        let mut head = vec![mention(note.author.as_deref()), minute(note.created_at)];
        if place == 0 {
            head.extend(note.position.as_ref().map(lines));
            head.extend(resolution(discussion));
            head.extend(discussion.confidential.then(|| "confidential".to_owned()));
        } else {
            terminal.line("")?;
        }
        let head = format!("{FAINT}{}{FAINT:#}", escape_terminal(&head.join(" · ")));
        terminal.line(indented(&head, margin))?;
        terminal.line(indented(&escape_terminal(note.body.trim()), margin + 2))?;
    }
    Ok(())
}

type Fact = (&'static str, String);

fn facts(thread: &ThreadDetails) -> Vec<Fact> {
    let summary = &thread.summary;
    let full_name = thread.author_name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let mut facts = vec![("Author", mention(summary.author.as_deref()) + &full_name)];
    let people = |people: &[String]| people.iter().map(|name| mention(Some(name))).collect::<Vec<_>>().join(", ");
    let event = |at: Option<Timestamp>, by: &Option<String>| {
        let by = by.as_ref().map(|by| format!(" by {}", mention(Some(by)))).unwrap_or_default();
        at.map(|at| minute(at) + &by).unwrap_or_default()
    };
    let branches = summary.source_branch.as_ref().zip(summary.target_branch.as_ref());
    facts.extend(branches.map(|(source, target)| ("Branch", format!("{source} → {target}"))));
    facts.push(("Labels", summary.labels.join(", ")));
    facts.push(("Milestone", thread.milestone.clone().unwrap_or_default()));
    facts.push(("Assigned to", people(&thread.assignees)));
    let request = thread.merge_request.as_ref();
    facts.extend(request.map(|mr| ("Reviewers", people(&mr.reviewers))));
    facts.extend(request.map(|mr| ("Approved by", people(&mr.approved_by))));
    facts.push(("Created", minute(summary.created_at)));
    facts.push(("Updated", minute(summary.updated_at)));
    facts.extend(request.map(|mr| ("Merged", event(mr.merged_at, &mr.merged_by))));
    facts.push(("Closed", event(thread.closed_at, &thread.closed_by)));
    facts.extend(request.map(|mr| ("Files", files(&mr.files))));
    facts.push(("URL", summary.url.clone()));
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// The files that a merge request would change, the first ones.
fn files(files: &[ProposedFile]) -> String {
    let file = |file: &ProposedFile| match file.status {
        ChangeStatus::Modified => file.path.clone(),
        status => format!("{} ({})", file.path, status.as_str()),
    };
    let mut shown: Vec<String> = files.iter().take(MAX_FILES).map(file).collect();
    if files.len() > MAX_FILES {
        shown.push(format!("{} more", files.len() - MAX_FILES));
    }
    shown.join(", ")
}

/// What it is linked with. What is linked in several ways stands where that tells most.
fn links(thread: &ThreadDetails) -> Vec<Fact> {
    let mut seen = BTreeSet::from([thread.summary.id.to_string()]);
    let mut links: Vec<(&'static str, Vec<String>)> = Vec::new();
    for (direction, name, called) in LINKS {
        let edges = match direction {
            Direction::Out => &thread.edges.out,
            Direction::In => &thread.edges.into,
        };
        let stated = edges.iter().filter(|edge| edge.name == name && !edge.inferred);
        let ends = stated.map(|edge| end(&edge.id));
        let new: Vec<String> = ends.filter(|end| seen.insert(end.clone())).collect();
        match links.iter_mut().find(|(known, _)| *known == called) {
            Some((_, all)) => all.extend(new),
            None => links.push((called, new)),
        }
    }
    for EdgeDetails { id, confidence, evidence, .. } in thread.edges.out.iter().chain(&thread.edges.into) {
        if let Some(confidence) = confidence {
            links.push(("Inferred", vec![format!("{} ({confidence:.2}: {})", end(id), evidence.join("; "))]));
        }
    }
    if thread.edges.omitted > 0 {
        links.push(("Other links", vec![format!("{} more", thread.edges.omitted)]));
    }
    links.into_iter().filter(|(_, ends)| !ends.is_empty()).map(|(name, ends)| (name, ends.join(", "))).collect()
}

/// The other end of an edge. Where that is a note or discussion, its issue or merge request tells more.
fn end(id: &NodeId) -> String {
    match id {
        NodeId::Note { thread, .. } | NodeId::Discussion { thread, .. } => thread.to_string(),
        NodeId::Commit { project, sha } => format!("{project}@{}", sha.get(..SHORT_SHA).unwrap_or(sha)),
        other => other.to_string(),
    }
}

fn mention(person: Option<&str>) -> String {
    format!("@{}", person.unwrap_or("deleted"))
}

fn resolution(discussion: &DiscussionDetails) -> Option<String> {
    if !discussion.resolvable {
        return None;
    }
    if !discussion.resolved {
        return Some("unresolved".to_owned());
    }
    let by = discussion.notes.iter().find_map(|note| note.resolved_by.as_deref());
    Some(by.map_or("resolved".to_owned(), |by| format!("resolved by {}", mention(Some(by)))))
}

/// `src/auth.rs:12-15`
fn lines(position: &DiffPosition) -> String {
    let (path, start, end) = match (position.new_line_start, position.old_line_start) {
        (None, Some(_)) => (&position.old_path, position.old_line_start, position.old_line_end),
        _ => (&position.new_path, position.new_line_start, position.new_line_end),
    };
    format_place(path, start.map(|start| (start, end.unwrap_or(start))))
}
