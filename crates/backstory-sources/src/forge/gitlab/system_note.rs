//! Parses GitLab's system notes, as far as they link things. Some links are nowhere else.

use std::sync::LazyLock;

use backstory_model::{
    entity::SystemEvent,
    id::{NodeId, ThreadId, ThreadKind, is_project_path, is_sha},
};
use regex::Regex;

/// The events that a system note of the project reports, in the order in which it names them.
pub(super) fn events(body: &str, project: &str) -> Vec<SystemEvent> {
    // Old versions wrote in italics and with a capital letter.
    let line = body.trim().lines().next().unwrap_or_default().trim_matches(['_', '*']);
    let Some((meaning, rest)) = meaning(line) else {
        return Vec::new();
    };
    let threads = |event: fn(ThreadId) -> SystemEvent| threads(rest, project).into_iter().map(event).collect();
    match meaning {
        Meaning::Mentioned => sources(rest, project).into_iter().map(SystemEvent::MentionedIn).collect(),
        Meaning::Closed => sources(rest, project).into_iter().map(SystemEvent::ClosedBy).collect(),
        Meaning::Duplicate => threads(SystemEvent::DuplicateOf),
        Meaning::Related => threads(SystemEvent::RelatedTo),
        Meaning::Blocks => threads(SystemEvent::Blocks),
        Meaning::BlockedBy => threads(SystemEvent::BlockedBy),
        Meaning::Assigned => people(rest, " and unassigned ").map(SystemEvent::AssignedTo).collect(),
        Meaning::ReviewRequested => {
            people(rest, " and removed review request ").map(SystemEvent::ReviewRequested).collect()
        }
    }
}

#[derive(Clone, Copy)]
enum Meaning {
    Mentioned,
    Closed,
    Duplicate,
    Related,
    Blocks,
    BlockedBy,
    Assigned,
    ReviewRequested,
}

/// How notes begin, in lower case. `*` stands for what the note is on: `issue`, `incident`, `merge request`.
const BEGINNINGS: [(&str, Meaning); 17] = [
    ("mentioned in ", Meaning::Mentioned),
    ("created merge request ", Meaning::Mentioned),
    ("closed via ", Meaning::Closed),
    ("closed by ", Meaning::Closed),
    ("status changed to closed by ", Meaning::Closed),
    ("marked this * as a duplicate of ", Meaning::Duplicate),
    ("marked this * as related to ", Meaning::Related),
    ("marked this * as blocking ", Meaning::Blocks),
    ("marked this * as blocked by ", Meaning::BlockedBy),
    ("blocks ", Meaning::Blocks),
    ("is blocked by ", Meaning::BlockedBy),
    ("moved to ", Meaning::Related),
    ("moved from ", Meaning::Related),
    ("cloned to ", Meaning::Related),
    ("cloned from ", Meaning::Related),
    ("assigned to ", Meaning::Assigned),
    ("requested review from ", Meaning::ReviewRequested),
];

fn meaning(line: &str) -> Option<(Meaning, &str)> {
    BEGINNINGS.iter().find_map(|&(beginning, meaning)| match beginning.split_once('*') {
        None => Some((meaning, after(line, beginning)?)),
        Some((before, behind)) => {
            let subject = after(line, before)?;
            let end = subject.find(" as ")?;
            Some((meaning, after(&subject[end..], behind)?))
        }
    })
}

fn after<'a>(line: &'a str, beginning: &str) -> Option<&'a str> {
    let head = line.get(..beginning.len())?;
    head.eq_ignore_ascii_case(beginning).then(|| &line[beginning.len()..])
}

static THREAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?P<path>[\w.-]+(?:/[\w.-]+)*)?(?P<sigil>[#!])(?P<iid>[0-9]{1,18})\b")
        .expect("the pattern is constant")
});
static COMMIT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^commit (?:(?P<path>[\w.-]+(?:/[\w.-]+)*)@)?(?P<sha>[0-9a-f]+)\b")
        .expect("the pattern is constant")
});
static USER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"@(\w[\w.-]*)").expect("the pattern is constant"));

/// A commit, or issues and merge requests.
fn sources(text: &str, project: &str) -> Vec<NodeId> {
    let Some(commit) = COMMIT.captures(text) else {
        return threads(text, project).into_iter().map(NodeId::Thread).collect();
    };
    let project = resolve(commit.name("path").map(|path| path.as_str()), project);
    let commit = project.filter(|_| is_sha(&commit["sha"])).map(|project| NodeId::commit(project, &commit["sha"]));
    commit.into_iter().collect()
}

fn threads(text: &str, project: &str) -> Vec<ThreadId> {
    let thread = |captures: regex::Captures<'_>| {
        let kind = if &captures["sigil"] == "#" { ThreadKind::Issue } else { ThreadKind::MergeRequest };
        let project = resolve(captures.name("path").map(|path| path.as_str()), project)?;
        Some(ThreadId { project, kind, iid: captures["iid"].parse().ok()? })
    };
    THREAD.captures_iter(text).filter_map(thread).collect()
}

/// GitLab leaves out the project within itself, and the group within the group.
fn resolve(path: Option<&str>, own: &str) -> Option<String> {
    match path {
        None => Some(own.to_owned()),
        Some(path) if !is_project_path(path) => None,
        Some(path) if path.contains('/') => Some(path.to_owned()),
        Some(name) => own.rsplit_once('/').map(|(group, _)| format!("{group}/{name}")),
    }
}

/// User names up to where those begin that it is no longer about.
fn people<'a>(text: &'a str, end: &str) -> impl Iterator<Item = String> + use<'a> {
    let text = text.split(end).next().unwrap_or_default();
    USER.captures_iter(text).map(|captures| captures[1].trim_end_matches(['.', '-']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &[&str]) {
        let shown: Vec<String> = events(body, "acme/shop")
            .iter()
            .map(|event| match event {
                SystemEvent::MentionedIn(node) => format!("mentioned in {node}"),
                SystemEvent::ClosedBy(node) => format!("closed by {node}"),
                SystemEvent::DuplicateOf(thread) => format!("duplicate of {thread}"),
                SystemEvent::RelatedTo(thread) => format!("related to {thread}"),
                SystemEvent::Blocks(thread) => format!("blocks {thread}"),
                SystemEvent::BlockedBy(thread) => format!("blocked by {thread}"),
                SystemEvent::AssignedTo(user) => format!("assigned to {user}"),
                SystemEvent::ReviewRequested(user) => format!("review by {user}"),
            })
            .collect();
        assert_eq!(shown, expected, "{body}");
    }

    #[test]
    fn mentions_name_their_source() {
        check("mentioned in issue #5", &["mentioned in acme/shop#5"]);
        check("mentioned in merge request !7", &["mentioned in acme/shop!7"]);
        check("mentioned in merge request web!7", &["mentioned in acme/web!7"]);
        check("mentioned in task other/group/p#3", &["mentioned in other/group/p#3"]);
        check("mentioned in commit 1a2b3c4d5e6f", &["mentioned in acme/shop@1a2b3c4d5e6f"]);
        check("mentioned in commit other/p@1A2B3C4D", &["mentioned in other/p@1a2b3c4d"]);
        check("mentioned in commit web@1a2b3c4d", &["mentioned in acme/web@1a2b3c4d"]);
        check("_Mentioned in issue #5_", &["mentioned in acme/shop#5"]);
        check("created merge request !9 to address this issue", &["mentioned in acme/shop!9"]);
    }

    #[test]
    fn closing_names_its_cause() {
        check("closed via merge request !7", &["closed by acme/shop!7"]);
        check("closed via commit 1a2b3c4d", &["closed by acme/shop@1a2b3c4d"]);
        check("Status changed to closed by commit 1a2b3c4d", &["closed by acme/shop@1a2b3c4d"]);
        check("closed", &[]);
    }

    #[test]
    fn relations_name_the_other_issues() {
        check("marked this issue as a duplicate of #4", &["duplicate of acme/shop#4"]);
        check("marked this incident as related to web#4", &["related to acme/web#4"]);
        check(
            "marked this issue as blocking #1, other/p#2, and #3",
            &["blocks acme/shop#1", "blocks other/p#2", "blocks acme/shop#3"],
        );
        check("marked this issue as blocked by #4", &["blocked by acme/shop#4"]);
        check("is blocked by #4", &["blocked by acme/shop#4"]);
        check("moved to other/p#8", &["related to other/p#8"]);
    }

    #[test]
    fn people_are_those_added_and_not_those_removed() {
        check("assigned to @a and unassigned @b", &["assigned to a"]);
        check("assigned to @a, @b.c, and @d-e", &["assigned to a", "assigned to b.c", "assigned to d-e"]);
        check("unassigned @b", &[]);
        check("requested review from @a and @b", &["review by a", "review by b"]);
        check("requested review from @a and removed review request for @b", &["review by a"]);
        check("removed review request for @b", &[]);
    }

    #[test]
    fn everything_else_says_nothing() {
        for body in [
            "",
            "merged",
            "added ~123 label",
            "changed title from **a #1** to **b #2**",
            "added 1 commit\n\n<ul><li>1a2b3c4d - closes #5</li></ul>",
            "mentioned in epic &5",
            "mentioned in commit xyz",
            "marked #9 as a duplicate of this issue",
            "changed milestone to %3",
            "ment\u{f6}oned in issue #5",
        ] {
            check(body, &[]);
        }
    }
}
