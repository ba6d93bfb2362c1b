//! Prints what changed, newest first.

use backstory_engine::{
    changes::{Changes, RecentChange},
    model::{id::NodeId, time::utc_date},
};

use super::{Entry, Page, name, title};

/// Adds changes to a page, and what is related.
pub(in crate::mcp) fn print_changes(page: &mut Page, changes: &Changes) {
    page.nothing = "Nothing changed in that time.".to_owned();
    let related = [("Usually changes with", &changes.changes_with), ("Tested by", &changes.tested_by)];
    for (what, nodes) in related.into_iter().filter(|(_, nodes)| !nodes.is_empty()) {
        let names = nodes.iter().map(name_in_project).collect::<Vec<_>>().join(", ");
        page.push(Entry::plain(format!("{what}: {names}")));
    }
    for change in &changes.changes {
        page.push(print_change(change));
    }
    if changes.has_more {
        page.push(Entry::plain("There are older changes; raise `limit` to see them."));
    }
}

fn print_change(change: &RecentChange) -> Entry {
    let RecentChange { commit, change_type, merge_request, earlier_name, insertions, deletions } = change;
    let kind = change_type.map(|kind| format!(" · {}", kind.as_str())).unwrap_or_default();
    let request = merge_request.as_ref().map(|id| format!(" · {id}")).unwrap_or_default();
    let earlier = earlier_name.as_ref().map(|id| format!(" · as {}", name_in_project(id))).unwrap_or_default();
    Entry::plain(format!(
        "{} {} {} · {} · +{insertions} -{deletions}{kind}{request}{earlier}",
        utc_date(commit.date),
        commit.sha.short(),
        title(&commit.title),
        name(&commit.author),
    ))
}

fn name_in_project(id: &NodeId) -> String {
    let id = id.to_string();
    name(id.split_once(':').map_or(id.as_str(), |(_, rest)| rest))
}
