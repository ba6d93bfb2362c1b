//! Prints what a search found: a hit each.

use backstory_engine::{
    model::{place::describe_lines, time::utc_date},
    search::{HitSummary, SearchResponse},
};

use super::{Entry, Page, mention, name, title};

/// Reasons of a hit's place that are told.
const MAX_REASONS: usize = 2;
/// Members of a hit that are named.
const MAX_MEMBERS: usize = 3;

/// Adds the hits of a search to a page.
pub(in crate::mcp) fn print_search(page: &mut Page, found: &SearchResponse<HitSummary>) {
    page.head.extend(found.warnings.iter().map(|warning| format!("note: {warning}")));
    page.head.extend(found.understood.iter().map(|note| format!("note: {note}")));
    page.nothing = match found.coverage.documents {
        0 => "Nothing has been indexed yet; run: backstory add .".to_owned(),
        _ => "Nothing found. Other words or fewer conditions may find more.".to_owned(),
    };
    for (rank, hit) in (1..).zip(&found.hits) {
        page.push(print_hit(rank, hit));
    }
}

fn print_hit(rank: usize, hit: &HitSummary) -> Entry {
    let lines = hit.lines.map(|lines| format!(" ({})", describe_lines(lines))).unwrap_or_default();
    let state = hit.state.map(|state| format!(", {}", state.as_str())).unwrap_or_default();
    let author = if hit.path.is_some() { String::new() } else { format!(" · {}", mention(hit.author.as_deref())) };
    let confidential = if hit.confidential { " · confidential" } else { "" };
    let mut head = format!(
        "{rank}. {}{lines} · {}{state} · {}{author}{confidential} · {}",
        name(&hit.id.to_string()),
        hit.kind.as_str().replace('_', " "),
        utc_date(hit.created_at),
        title(&hit.title)
    );
    let why: Vec<&str> = hit.why.iter().take(MAX_REASONS).map(String::as_str).collect();
    if !why.is_empty() {
        head.push_str(&format!("\n   {}", name(&why.join("; "))));
    }
    let members: Vec<String> =
        hit.members.iter().take(MAX_MEMBERS).map(|member| name(&member.id.to_string())).collect();
    if !members.is_empty() {
        head.push_str(&format!("\n   with {}", members.join(", ")));
    }
    let who = if hit.path.is_some() { hit.id.to_string() } else { mention(hit.author.as_deref()) };
    Entry::quoting(head, &who, &hit.snippet)
}
