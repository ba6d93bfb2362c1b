//! Prints a trace: the reasons first, then where the lines come from and what they replaced.

use backstory_engine::{
    model::{
        edge::Edge,
        id::{NodeId, ThreadKind},
        place::{describe_lines, format_lines, format_place},
        time::utc_date,
    },
    trace::{LineOrigin, Step, Trace},
};

use super::{Entry, Page, name, title};

/// Spans that are listed before the rest is counted.
const MAX_SPANS: usize = 8;
/// Most lines that are shown of the code itself.
const MAX_SHOWN: usize = 12;

/// Adds a trace to a page.
pub(in crate::mcp) fn print_trace(page: &mut Page, trace: &Trace) {
    page.head.push(heading(trace));
    page.head.extend(trace.missing.iter().map(|missing| format!("missing: {}", name(missing))));
    page.nothing = "Nothing is known about why it is so.".to_owned();
    for step in &trace.chain {
        page.push(print_step(trace, step));
    }
    if trace.origins.len() > 1 {
        page.push(print_origins(trace));
    }
    // Who asks has the code; where there is little room the reasons count.
    if let Some(text) = trace.text.as_deref().filter(|text| !text.trim().is_empty()) {
        let shown: Vec<&str> = text.lines().take(MAX_SHOWN).collect();
        page.push(Entry::showing("Code:", "code", &shown.join("\n")));
    }
    for version in &trace.earlier {
        let through = version.merge_requests.first().map(|id| format!(" · {id}")).unwrap_or_default();
        let head = format!(
            "Earlier: {} {} · {} · {}{through}",
            version.commit.short(),
            title(&version.title),
            name(&version.author),
            utc_date(version.date)
        );
        page.push(Entry::showing(head, "code", &version.text));
    }
    for notes in &trace.model_notes {
        for note in &notes.notes {
            let head = format!("Written by a language model, not by people ({})", name(&notes.model.name));
            page.push(Entry::quoting(head, "generated text", &note.text));
        }
    }
}

fn heading(trace: &Trace) -> String {
    let place = match (&trace.path, &trace.symbol, trace.line, trace.end_line) {
        (Some(path), Some(symbol), Some(first), Some(last)) => {
            format!("{path}#{symbol} ({})", describe_lines((first, last)))
        }
        (Some(path), Some(symbol), ..) => format!("{path}#{symbol}"),
        (Some(path), None, Some(first), last) => format_place(path, Some((first, last.unwrap_or(first)))),
        (Some(path), ..) => path.clone(),
        (None, ..) => trace.chain.first().map_or_else(|| trace.project.clone(), |step| step.node.id.to_string()),
    };
    format!("why {}", name(&place))
}

fn print_step(trace: &Trace, step: &Step) -> Entry {
    let node = &step.node;
    let (mut head, who) = match &node.id {
        NodeId::Commit { sha, .. } => {
            let short = sha.get(..8).unwrap_or(sha);
            let label = if step.edge == Edge::MergedBy { "Merged by" } else { "Commit" };
            let origin = trace.origins.iter().find(|origin| origin.commit.to_string() == *sha);
            (format!("{label} {short} {}", title(&node.title)), origin.map(print_author))
        }
        NodeId::Thread(thread) if thread.kind == ThreadKind::MergeRequest => {
            (format!("Merge request {thread} {}", title(&node.title)), None)
        }
        NodeId::Thread(issue) => {
            let closed = matches!(step.edge, Edge::Closes | Edge::Fixes) && step.confidence.is_none();
            let how = if closed { " (closed by it)" } else { "" };
            (format!("Issue {issue} {}{how}", title(&node.title)), None)
        }
        NodeId::Discussion { .. } if step.edge == Edge::CommentsOn => {
            (format!("Discussion on these lines, {}: {}", name(&node.id.to_string()), title(&node.title)), None)
        }
        other => {
            let (kind, id) = (node.kind.as_str().replace('_', " "), name(&other.to_string()));
            (format!("{kind} {id} {}", title(&node.title)), None)
        }
    };
    if let Some(who) = who {
        head.push_str(&format!(" · {who}"));
    }
    if let Some(confidence) = step.confidence {
        head.push_str(&format!(" · inferred, confidence {confidence:.2}: {}", name(&step.evidence.reasons.join("; "))));
    }
    if let Some(url) = step.evidence.url.as_ref().or(node.url.as_ref()) {
        head.push_str(&format!("\n  {}", name(url)));
    }
    match step.evidence.text.as_deref() {
        Some(words) => Entry::quoting(head, &node.id.to_string(), words),
        None => Entry::plain(head),
    }
}

fn print_author(origin: &LineOrigin) -> String {
    let through: Vec<&str> = origin.seen_through.iter().map(|seen| seen.as_str()).collect();
    let through = if through.is_empty() { String::new() } else { format!(" · seen through: {}", through.join(", ")) };
    format!("{} · {}{through}", name(&origin.author), utc_date(origin.date))
}

fn print_origins(trace: &Trace) -> Entry {
    let mut lines = vec!["Where the lines come from:".to_owned()];
    for origin in trace.origins.iter().take(MAX_SPANS) {
        let last = origin.start + origin.lines.saturating_sub(1);
        lines.push(format!(
            "  {}: {} {} · {}",
            format_lines((origin.start, last)),
            origin.commit.short(),
            title(&origin.title),
            print_author(origin)
        ));
    }
    let more = trace.origins.len().saturating_sub(MAX_SPANS);
    if more > 0 {
        lines.push(format!("  and {more} more spans"));
    }
    Entry::plain(lines.join("\n"))
}
