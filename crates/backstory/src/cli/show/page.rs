//! Prints an issue, merge request or discussion for people.

use std::collections::BTreeSet;

use backstory_engine::model::id::{NodeId, ThreadKind};

use super::{
    super::model_notes,
    answer::{Discussion, Note, Person, Position, Thread},
};
use crate::{
    failure::Result,
    output::{FAINT, STRONG, Terminal, counted, indented, minute, plain},
};

/// What edges are called, by where they start: what tells most comes first.
const LINKS: [(Side, &str, &str); 12] = [
    (Side::Out, "CLOSES", "Closes"),
    (Side::In, "CLOSES", "Closed by"),
    (Side::Out, "MERGED_AS", "Merged as"),
    (Side::Out, "BLOCKS", "Blocks"),
    (Side::In, "BLOCKS", "Blocked by"),
    (Side::Out, "DUPLICATES", "Duplicate of"),
    (Side::In, "DUPLICATES", "Duplicates"),
    (Side::Out, "RELATES_TO", "Related"),
    (Side::In, "RELATES_TO", "Related"),
    (Side::Out, "REFERENCES", "Mentions"),
    (Side::Out, "MENTIONS", "Mentions"),
    (Side::In, "REFERENCES", "Mentioned in"),
];
/// Digits of a commit that tell it from others of its project.
const SHORT_SHA: usize = 12;

/// Which end of an edge the issue or merge request is.
#[derive(Clone, Copy)]
enum Side {
    Out,
    In,
}

pub(super) fn print_thread(
    terminal: &Terminal,
    kind: ThreadKind,
    thread: &Thread,
    discussions: &[Discussion],
) -> Result<()> {
    let what = match kind {
        ThreadKind::Issue => "Issue",
        ThreadKind::MergeRequest => "Merge request",
    };
    let state = thread.state.as_deref().unwrap_or_default().to_lowercase();
    let draft = if thread.draft == Some(true) { ", draft" } else { "" };
    let secret = if thread.confidential { ", confidential" } else { "" };
    terminal.line(format_args!("{FAINT}{what} {} ({state}{draft}{secret}){FAINT:#}", thread.id))?;
    terminal.line(format_args!("{STRONG}{}{STRONG:#}\n", title(thread.title.as_deref())))?;
    for (name, value) in facts(thread).into_iter().chain(links(thread)) {
        terminal.line(format_args!("{:<15}{}", format!("{name}:"), plain(&value)))?;
    }
    let description = thread.description.as_deref().unwrap_or_default().trim();
    if !description.is_empty() {
        terminal.line(format_args!("\n{}", plain(description)))?;
    }
    if let Some(notes) = &thread.model_notes {
        model_notes::print(terminal, notes)?;
    }
    if !discussions.is_empty() {
        terminal.line(format_args!(
            "\n{STRONG}{}{STRONG:#}",
            counted(discussions.len() as u64, "discussion", "discussions")
        ))?;
    }
    for discussion in discussions {
        terminal.line("")?;
        print_discussion(terminal, discussion)?;
    }
    Ok(())
}

pub(super) fn print_discussion(terminal: &Terminal, discussion: &Discussion) -> Result<()> {
    for (place, note) in discussion.notes.iter().enumerate() {
        let margin = if place == 0 { 2 } else { 6 };
        let mut head = vec![mention(note.author.as_ref())];
        head.extend(note.created_at.map(minute));
        if place == 0 {
            head.extend(note.position.as_ref().map(lines));
            head.extend(resolution(discussion));
            head.extend(discussion.confidential.then(|| "confidential".to_owned()));
        } else {
            terminal.line("")?;
        }
        let head = format!("{FAINT}{}{FAINT:#}", plain(&head.join(" · ")));
        terminal.line(indented(&head, margin))?;
        terminal.line(indented(&plain(note.body.as_deref().unwrap_or_default().trim()), margin + 2))?;
    }
    Ok(())
}

pub(super) fn title(title: Option<&str>) -> String {
    plain(title.unwrap_or("(no title)"))
}

type Fact = (&'static str, String);

fn facts(thread: &Thread) -> Vec<Fact> {
    let author = match &thread.author {
        Some(Person { username, name: Some(name) }) => format!("@{username} ({name})"),
        other => mention(other.as_ref()),
    };
    let people = |people: &[Person]| people.iter().map(|person| mention(Some(person))).collect::<Vec<_>>().join(", ");
    let by = |person: &Option<Person>| person.as_ref().map(|p| format!(" by {}", mention(Some(p)))).unwrap_or_default();
    let labels: Vec<&str> = thread.labels.iter().map(|label| label.name.as_str()).collect();
    let branches = match (&thread.source_branch, &thread.target_branch) {
        (Some(source), Some(target)) => format!("{source} → {target}"),
        _ => String::new(),
    };
    let facts = [
        ("Author", author),
        ("Branch", branches),
        ("Labels", labels.join(", ")),
        ("Milestone", thread.milestone.as_ref().and_then(|milestone| milestone.title.clone()).unwrap_or_default()),
        ("Assigned to", people(&thread.assignees)),
        ("Reviewers", people(&thread.reviewers)),
        ("Approved by", people(&thread.approved_by)),
        ("Created", thread.created_at.map(minute).unwrap_or_default()),
        ("Updated", thread.updated_at.map(minute).unwrap_or_default()),
        ("Merged", thread.merged_at.map(|at| minute(at) + &by(&thread.merged_by)).unwrap_or_default()),
        ("Closed", thread.closed_at.map(|at| minute(at) + &by(&thread.closed_by)).unwrap_or_default()),
        ("URL", thread.web_url.clone().unwrap_or_default()),
    ];
    facts.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

/// What it is linked with. What is linked in several ways stands where that tells most.
fn links(thread: &Thread) -> Vec<Fact> {
    let mut seen = BTreeSet::from([thread.id.clone()]);
    let mut links: Vec<(&'static str, Vec<String>)> = Vec::new();
    for (side, name, called) in LINKS {
        let edges = match side {
            Side::Out => &thread.out,
            Side::In => &thread.into,
        };
        let stated = edges.edges.iter().filter(|edge| edge.name == name && edge.confidence.is_none());
        let ends = stated.map(|edge| end(&edge.node.id));
        let new: Vec<String> = ends.filter(|end| seen.insert(end.clone())).collect();
        match links.iter_mut().find(|(known, _)| *known == called) {
            Some((_, all)) => all.extend(new),
            None => links.push((called, new)),
        }
    }
    let both = [&thread.out, &thread.into];
    for edge in both.iter().flat_map(|edges| &edges.edges) {
        if let Some(confidence) = edge.confidence {
            let because = edge.evidence.join("; ");
            links.push(("Inferred", vec![format!("{} ({confidence:.2}: {because})", end(&edge.node.id))]));
        }
    }
    let beyond: usize = both.iter().map(|edges| edges.total_count.saturating_sub(edges.edges.len())).sum();
    if beyond > 0 {
        links.push(("Other links", vec![format!("{beyond} more")]));
    }
    links.into_iter().filter(|(_, ends)| !ends.is_empty()).map(|(name, ends)| (name, ends.join(", "))).collect()
}

/// The other end of an edge. Where that is a note or discussion, its issue or merge request tells more.
fn end(id: &str) -> String {
    match id.parse() {
        Ok(NodeId::Note { thread, .. } | NodeId::Discussion { thread, .. }) => thread.to_string(),
        Ok(NodeId::Commit { project, sha }) => format!("{project}@{}", sha.get(..SHORT_SHA).unwrap_or(&sha)),
        _ => id.to_owned(),
    }
}

fn mention(person: Option<&Person>) -> String {
    format!("@{}", person.map_or("deleted", |person| person.username.as_str()))
}

fn resolution(discussion: &Discussion) -> Option<String> {
    if discussion.resolvable != Some(true) {
        return None;
    }
    if discussion.resolved != Some(true) {
        return Some("unresolved".to_owned());
    }
    let by = discussion.notes.iter().find_map(|Note { resolved_by, .. }| resolved_by.as_ref());
    Some(by.map_or("resolved".to_owned(), |by| format!("resolved by {}", mention(Some(by)))))
}

/// `src/auth.rs:12-15`
fn lines(position: &Position) -> String {
    let (path, start, end) = match (position.new_line_start, position.old_line_start) {
        (None, Some(_)) => (&position.old_path, position.old_line_start, position.old_line_end),
        _ => (&position.new_path, position.new_line_start, position.new_line_end),
    };
    match (start, end) {
        (Some(start), Some(end)) if start != end => format!("{path}:{start}-{end}"),
        (Some(start), _) => format!("{path}:{start}"),
        _ => path.clone(),
    }
}
