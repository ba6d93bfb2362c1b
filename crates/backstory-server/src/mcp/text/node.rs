//! Prints an issue, merge request, discussion or commit with what people wrote about it.

use backstory_engine::{
    model::{digest::sha256_hex, id::ThreadKind, place::format_place, time::utc_date},
    show::{
        CommitDetails, DiffPosition, DiscussionDetails, DiscussionWithParent, EdgeDetails, NodeDetails, NoteDetails,
        ThreadDetails,
    },
};

use super::{Entry, Page, mention, name, title};

/// Digits of a hash that are shown.
const SHORT_HASH: usize = 12;
/// Edges of an issue or merge request that are named.
const MAX_EDGES: usize = 12;

/// Adds a node to a page.
pub(in crate::mcp) fn print_node(page: &mut Page, node: &NodeDetails) {
    match node {
        NodeDetails::Thread(thread) => print_thread(page, thread),
        NodeDetails::Discussion(discussion) => print_discussion(page, discussion),
        NodeDetails::Commit(commit) => print_commit(page, commit),
    }
}

fn print_thread(page: &mut Page, thread: &ThreadDetails) {
    let summary = &thread.summary;
    let kind = if thread.kind == ThreadKind::Issue { "Issue" } else { "Merge request" };
    let mut facts = vec![summary.state.as_str().to_owned(), format!("by {}", mention(summary.author.as_deref()))];
    facts.push(utc_date(summary.created_at).to_string());
    if thread.confidential {
        facts.push("confidential".to_owned());
    }
    if let Some(request) = &thread.merge_request {
        if let Some(at) = request.merged_at {
            facts.push(format!("merged {} by {}", utc_date(at), mention(request.merged_by.as_deref())));
        }
        if !request.approved_by.is_empty() {
            facts.push(format!("approved by {}", name(&request.approved_by.join(", "))));
        }
    } else if let Some(at) = thread.closed_at {
        facts.push(format!("closed {}", utc_date(at)));
    }
    if !summary.labels.is_empty() {
        facts.push(format!("labels {}", name(&summary.labels.join(", "))));
    }
    let hash = short_hash(&thread.description);
    let mut head = format!(
        "{kind} {} {}\n  {} · sha256 {hash}\n  {}",
        summary.id,
        title(&summary.title),
        facts.join(" · "),
        name(&summary.url)
    );
    let outgoing = thread
        .edges
        .out
        .iter()
        .map(|edge| format!("{} {}", spoken(edge), name(&edge.id.to_string())) + &certainty(edge));
    let incoming = thread
        .edges
        .into
        .iter()
        .map(|edge| format!("{} {} it", name(&edge.id.to_string()), spoken(edge)) + &certainty(edge));
    let mut edges: Vec<String> = Vec::new();
    for edge in outgoing.chain(incoming) {
        if edges.len() < MAX_EDGES && !edges.contains(&edge) {
            edges.push(edge);
        }
    }
    if !edges.is_empty() {
        head.push_str(&format!("\n  {}", edges.join(" · ")));
    }
    let who = format!("{}, {}", mention(summary.author.as_deref()), utc_date(summary.created_at));
    page.push(Entry::quoting(head, &who, &thread.description));
    for discussion in &thread.discussions {
        print_notes(page, discussion);
    }
    if thread.omitted_notes > 0 {
        page.push(Entry::plain(format!("{} more notes are not read", thread.omitted_notes)));
    }
}

/// `merged as`
fn spoken(edge: &EdgeDetails) -> String {
    edge.name.name().to_lowercase().replace('_', " ")
}

fn certainty(edge: &EdgeDetails) -> String {
    edge.confidence.map(|confidence| format!(" (inferred, {confidence:.2})")).unwrap_or_default()
}

fn print_discussion(page: &mut Page, single: &DiscussionWithParent) {
    let parent = single.parent_title.as_deref().map(title).unwrap_or_default();
    page.push(Entry::plain(format!("Discussion {} on {} {parent}", single.discussion.id, single.parent)));
    print_notes(page, &single.discussion);
}

fn print_notes(page: &mut Page, discussion: &DiscussionDetails) {
    for (place, note) in discussion.notes.iter().enumerate() {
        let mut head = if place == 0 { format!("Discussion {}", discussion.id) } else { "  reply".to_owned() };
        if let (0, Some(position)) = (place, &note.position) {
            head.push_str(&format!(" on {}", print_position(position)));
        }
        if place == 0 && discussion.resolvable {
            head.push_str(if discussion.resolved { " · resolved" } else { " · open" });
        }
        if place == 0 && discussion.confidential {
            head.push_str(" · confidential");
        }
        head.push_str(&format!(" · {}", name(&note.url)));
        page.push(Entry::quoting(head, &author(note), &note.body));
    }
}

fn author(note: &NoteDetails) -> String {
    format!("{}, {}", mention(note.author.as_deref()), utc_date(note.created_at))
}

fn print_position(position: &DiffPosition) -> String {
    let new = position.new_line_start.zip(position.new_line_end);
    let old = position.old_line_start.zip(position.old_line_end);
    match (new, old) {
        (None, Some(_)) => format!("{} (before)", format_place(&name(&position.old_path), old)),
        (new, _) => format_place(&name(&position.new_path), new),
    }
}

fn print_commit(page: &mut Page, commit: &CommitDetails) {
    let kind = commit.change_type.map(|kind| format!(" · {}", kind.as_str())).unwrap_or_default();
    let url = commit.url.as_ref().map(|url| format!("\n  {}", name(url))).unwrap_or_default();
    let head = format!(
        "Commit {} · {} · {} · {} files +{} -{}{kind} · sha256 {}{url}",
        commit.id,
        name(&commit.author_name),
        utc_date(commit.authored_at),
        commit.file_count,
        commit.insertions,
        commit.deletions,
        short_hash(&commit.message),
    );
    let who = format!("{}, {}", name(&commit.author_name), utc_date(commit.authored_at));
    page.push(Entry::quoting(head, &who, &commit.message));
}

fn short_hash(text: &str) -> String {
    let mut hash = sha256_hex(text);
    hash.truncate(SHORT_HASH);
    hash
}
