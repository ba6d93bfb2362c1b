//! Tests of parsing payloads of GitHub.

use serde_json::json;

use super::*;
use crate::forge::{origin_of_project, parse};

fn origin() -> Origin {
    Origin { forge: Forge::GitHub, project: "acme/shop".into(), forge_url: "https://github.com".into() }
}

fn user(id: u64, login: &str) -> Value {
    json!({"id": id, "login": login})
}

fn thread(state: &str, more: &Value) -> Value {
    let mut json = json!({
        "id": 900, "number": 7, "title": "Use JWT", "body": "Fixes #12, closes acme/web#3 and mentions #13.",
        "state": state, "user": user(1, "alice"), "labels": ["bug", "ui"], "milestone": 3,
        "assignees": [user(2, "bob")], "created_at": "2024-03-15T10:00:00Z", "updated_at": "2024-03-16T10:00:00Z",
        "closed_at": if state == "closed" { json!("2024-03-16T08:00:00Z") } else { Value::Null },
        "closed_by": user(3, "carol"), "html_url": "https://github.com/acme/shop/issues/7", "comments": 4,
    });
    json.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json
}

fn request(more: &Value, reviews: &Value) -> MergeRequest {
    let json = json!({
        "issue": thread("closed", more), "reviews": reviews,
        "pull": {"head": {"ref": "jwt", "sha": "9c2e4f6a8b0d1c3e5f7a9b2d4c6e8f0a1b3d5c7e"}, "base": {"ref": "main"},
            "merged_at": null, "merged_by": null, "requested_reviewers": [user(9, "zoe")], "review_comments": 3},
    });
    match parse(ItemKind::MergeRequest, &origin(), "!7", &json).unwrap() {
        Item::MergeRequest(request) => request,
        other => panic!("{other:?}"),
    }
}

fn discussion(key: &str, json: &Value) -> Discussion {
    match parse(ItemKind::Discussion, &origin(), key, json).unwrap() {
        Item::Discussion(discussion) => discussion,
        other => panic!("{other:?}"),
    }
}

#[test]
fn issues_are_read() {
    let json = json!({"issue": thread("closed", &json!({}))});
    let Item::Issue(issue) = parse(ItemKind::Issue, &origin(), "#7", &json).unwrap() else { panic!() };
    assert_eq!(issue.id.to_string(), "acme/shop#7");
    let thread = issue.thread;
    assert_eq!((thread.forge, thread.state, thread.milestone), (Forge::GitHub, State::Closed, Some(3)));
    assert_eq!((thread.author.as_deref(), thread.closed_by.as_deref()), (Some("alice"), Some("carol")));
    assert_eq!(
        (thread.labels, thread.assignees, thread.notes_count),
        (vec!["bug".into(), "ui".into()], vec!["bob".into()], 4)
    );
}

#[test]
fn pull_requests_are_read_and_merged_ones_are_not_closed() {
    let open = request(&json!({"pull_request": {"merged_at": null}}), &json!([]));
    assert_eq!((open.thread.state, open.thread.notes_count), (State::Closed, 7));
    let closes: Vec<String> = open.closes.iter().map(ToString::to_string).collect();
    assert_eq!(closes, ["acme/shop#12", "acme/web#3"]);
    let merged = request(&json!({"pull_request": {"merged_at": "2024-03-16T08:00:00Z"}}), &json!([]));
    assert_eq!((merged.thread.state, merged.thread.closed_at, merged.thread.closed_by), (State::Merged, None, None));
}

#[test]
fn the_last_verdict_of_a_reviewer_counts() {
    let review = |login: &str, state: &str| json!({"id": 1, "user": user(1, login), "state": state});
    let reviews = json!([
        review("bob", "approved"), review("bob", "commented"), review("carol", "approved"),
        review("carol", "changes_requested"), review("dave", "APPROVED"), review("erin", "approved"),
        review("erin", "dismissed"), review("alice", "commented"), {"id": 2, "user": null, "state": "approved"},
    ]);
    let request = request(&json!({}), &reviews);
    assert_eq!(request.approved_by, ["bob", "dave"]);
    assert_eq!(request.reviewers, ["zoe", "bob", "carol", "dave", "erin"]);
    assert_eq!(request.requested_reviewers, Some(vec!["zoe".to_owned()]));
}

#[test]
fn comments_and_threads_on_the_diff_are_discussions_with_addresses() {
    let comment = |id: u64, anchor: &str| {
        json!({"id": id, "body": "why?", "user": user(1, "alice"), "created_at": "2024-03-15T10:00:00Z",
            "html_url": format!("https://github.com/acme/shop/pull/7#{anchor}{id}"), "path": "src/a.c", "line": 4,
            "original_line": 4, "side": "RIGHT", "commit_id": "9c2e4f6a8b0d1c3e5f7a9b2d4c6e8f0a1b3d5c7e"})
    };
    let threads = [comment(21, "discussion_r"), comment(22, "discussion_r")];
    let on_diff = discussion("!7~discussion_r21", &json!({"comments": threads}));
    assert!(!on_diff.individual && !on_diff.is_resolvable());
    assert_eq!(on_diff.notes[0].kind, NoteKind::Diff);
    assert_eq!(on_diff.notes[0].position.as_ref().unwrap().new_lines, Some((4, 4)));
    assert_eq!(on_diff.note_url(22), "https://github.com/acme/shop/pull/7#discussion_r22");
    let alone = discussion("#7~issuecomment-3", &json!({"comments": [comment(3, "issuecomment-")]}));
    assert!(alone.individual);
    assert_eq!((alone.notes[0].kind, &alone.notes[0].position), (NoteKind::Comment, &None));
    assert_eq!(alone.note_url(3), "https://github.com/acme/shop/pull/7#issuecomment-3");
}

#[test]
fn timelines_become_events_each_once() {
    let sha = "c8629974bdc5e3daa31826a514537faa8287795c";
    let events = json!({"events": [
        {"event": "cross-referenced", "source": "acme/web!12"},
        {"event": "cross-referenced", "source": "acme/web!12"},
        {"event": "referenced", "commit_id": sha, "repository": "fork/shop"},
        {"event": "closed", "commit_id": sha},
        {"event": "closed", "commit_id": null},
        {"event": "assigned", "assignee": user(2, "bob")},
        {"event": "review_requested", "requested_reviewer": user(3, "carol")},
        {"event": "review_requested", "requested_team": {"name": "core"}},
        {"event": "labeled", "label": "bug"},
    ]});
    let discussion = discussion("#12~timeline", &events);
    let expected = [
        SystemEvent::MentionedIn("acme/web!12".parse().unwrap()),
        SystemEvent::MentionedIn(format!("fork/shop@{sha}").parse().unwrap()),
        SystemEvent::ClosedBy(format!("acme/shop@{sha}").parse().unwrap()),
        SystemEvent::AssignedTo("bob".into()),
        SystemEvent::ReviewRequested("carol".into()),
    ];
    assert_eq!(discussion.events, expected);
    assert_eq!((discussion.thread.to_string().as_str(), discussion.notes.len()), ("acme/shop#12", 0));
}

#[test]
fn the_small_things_are_read_and_what_is_wrong_is_named() {
    let read = |kind, key: &str, json: Value| parse(kind, &origin(), key, &json).unwrap();
    let Item::Label(label) = read(ItemKind::Label, "bug", json!({"name": "bug", "color": "ff0000"})) else { panic!() };
    assert_eq!(label.color.as_deref(), Some("#ff0000"));
    let milestone = read(ItemKind::Milestone, "3", json!({"number": 3, "title": "1.0", "state": "open"}));
    assert!(matches!(milestone, Item::Milestone(Milestone { iid: 3, ref state, .. }) if state == "active"));
    // People belong to no project, so that their key tells whose they are.
    let nowhere = Origin { forge: Forge::GitLab, project: String::new(), forge_url: String::new() };
    let person = parse(ItemKind::Person, &nowhere, "github:1", &json!({"id": 1, "login": "bot[bot]"})).unwrap();
    assert_eq!(person.id().to_string(), "@bot[bot]");
    let project = json!({"id": 1, "full_name": "acme/shop", "html_url": "https://github.com/acme/shop"});
    assert_eq!(origin_of_project(&project), Some(origin()));
    let wrong = parse(ItemKind::Issue, &origin(), "#7", &json!({"issue": thread("odd", &json!({}))})).unwrap_err();
    assert_eq!((wrong.field.as_str(), wrong.reason.as_str()), ("issue.state", "is unknown"));
    let comment = json!({"comments": [{"id": 1, "created_at": "2024-03-15T10:00:00Z", "line": "x"}]});
    let wrong = parse(ItemKind::Discussion, &origin(), "#7~discussion_r1", &comment).unwrap_err();
    assert_eq!(wrong.field, "comments[0].line");
}
