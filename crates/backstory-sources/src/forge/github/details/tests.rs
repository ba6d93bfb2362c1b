//! Tests of fetching what belongs to issues and pull requests.

use serde_json::json;

use super::{super::listing::listing, *};
use crate::forge::{
    ForgeSettings,
    stub::{Reply, Stub},
};

fn user(id: u64, login: &str) -> Value {
    json!({
        "login": login, "id": id, "node_id": "x", "avatar_url": format!("https://a/{}", fastrand::u64(..)),
        "html_url": format!("https://github.com/{login}"), "type": "User", "site_admin": false,
    })
}

/// An issue as the list gives it, with everything that changes from one answer to the next.
fn issue(number: u64) -> Value {
    json!({
        "id": 900 + number, "number": number, "title": "Login fails", "body": "After *two* hours.", "state": "open",
        "user": user(1, "alice"), "assignees": [user(3, "carol"), user(2, "bob")],
        "labels": [{"id": 2, "name": "ui", "color": "00ff00", "default": false}, {"id": 1, "name": "bug", "color": "ff0000"}],
        "milestone": {"id": 5, "number": 3, "title": "1.0", "state": "open", "open_issues": fastrand::u8(..),
            "updated_at": format!("2024-01-01T00:00:{:02}Z", fastrand::u8(..60)), "creator": user(8, "zed")},
        "created_at": "2024-03-15T10:00:00Z", "updated_at": "2024-03-16T10:00:00Z", "comments": 1,
        "html_url": format!("https://github.com/acme/shop/issues/{number}"), "reactions": {"+1": fastrand::u8(..)},
        "author_association": "NONE", "timeline_url": "https://api.github.com/x",
    })
}

fn pull_issue() -> Value {
    let mut issue = issue(7);
    issue["pull_request"] = json!({"url": "x", "merged_at": "2024-03-16T09:00:00Z"});
    issue
}

fn comment(id: u64, more: &Value) -> Value {
    let mut comment = json!({
        "id": id, "user": user(4, "dave"), "body": "text", "created_at": format!("2024-03-15T10:00:{id:02}Z"),
        "updated_at": "2024-03-15T12:00:00Z", "html_url": format!("https://github.com/acme/shop/pull/7#x{id}"),
        "reactions": {"total_count": fastrand::u8(..)}, "author_association": "NONE",
    });
    for (key, value) in more.as_object().unwrap() {
        comment[key] = value.clone();
    }
    comment
}

fn timeline() -> Value {
    let event = |id: u64, name: &str, more: Value| {
        let mut event = json!({"id": id, "event": name, "actor": user(1, "alice"), "created_at": "2024-03-15T10:00:00Z",
            "commit_id": null, "url": "https://api.github.com/x", "performed_via_github_app": null});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let sha = "c8629974bdc5e3daa31826a514537faa8287795c";
    json!([
        event(1, "labeled", json!({"label": {"name": "bug", "color": "ff0000"}})),
        event(2, "subscribed", json!({"actor": user(99, "nobody")})),
        comment(3, &json!({"event": "commented", "actor": user(4, "dave")})),
        {"event": "cross-referenced", "actor": user(5, "erin"), "created_at": "2024-03-15T11:00:00Z",
            "source": {"type": "issue", "issue": {"number": 12, "repository_url": "https://api.github.com/repos/acme/web",
                "pull_request": {"url": "x"}, "body": "long"}}},
        event(4, "referenced", json!({"commit_id": sha, "commit_url": format!("https://api.github.com/repos/fork/shop/commits/{sha}")})),
        comment(5, &json!({"event": "reviewed", "state": "approved", "submitted_at": "2024-03-15T10:30:00Z", "body": "Fine."})),
        comment(6, &json!({"event": "reviewed", "state": "commented", "submitted_at": "2024-03-15T10:31:00Z", "body": "",
            "user": user(6, "fred")})),
        comment(7, &json!({"event": "reviewed", "state": "pending", "body": "not yet", "user": user(98, "draft")})),
        event(8, "merged", json!({"commit_id": sha})),
        {"event": "committed", "sha": sha, "author": {"name": "A"}},
    ])
}

fn pull() -> Value {
    json!({
        "number": 7, "head": {"ref": "jwt", "sha": "9c2e4f6a8b0d1c3e5f7a9b2d4c6e8f0a1b3d5c7e", "repo": {"id": 1, "size": 4}},
        "base": {"ref": "main", "sha": "moves"}, "merged_at": "2024-03-16T09:00:00Z", "merged_by": user(3, "carol"),
        "merge_commit_sha": "1111111111111111111111111111111111111111", "requested_reviewers": [user(9, "zoe")],
        "review_comments": 3, "mergeable_state": "unknown", "commits": 2,
    })
}

fn serve() -> Stub {
    Stub::serve(|asked| match asked.path.strip_prefix("/api/v3/repos/acme/shop/").unwrap() {
        "issues/12/timeline" | "issues/7/timeline" => Reply::json(&timeline()),
        "pulls/7" => Reply::json(&pull()),
        "pulls/7/comments" => Reply::json(&json!([
            comment(22, &json!({"path": "src/a.c", "in_reply_to_id": 21, "body": "reply"})),
            comment(21, &json!({"path": "src/a.c", "line": 4, "diff_hunk": "@@ -1 +4 @@\n+x"})),
            comment(30, &json!({"path": "src/b.c", "line": null, "original_line": 9})),
        ])),
        other => panic!("{other}"),
    })
}

async fn details(stub: &Stub, json: Value) -> ThreadDetails {
    let settings = ForgeSettings { requests_per_second: 0, retries: 0, ..ForgeSettings::new(stub.url.clone(), None) };
    Client::new(&settings).unwrap().details("acme/shop", &listing(json).unwrap()).await.unwrap()
}

fn keys(payloads: &[Payload]) -> Vec<&str> {
    payloads.iter().map(|payload| payload.key.as_str()).collect()
}

#[tokio::test]
async fn an_issue_costs_one_request_and_has_its_comments_and_what_happened() {
    let stub = serve();
    let details = details(&stub, issue(12)).await;
    assert_eq!(stub.asked().len(), 1);
    assert_eq!((details.thread.kind, details.thread.key.as_str()), (ItemKind::Issue, "#12"));
    assert_eq!(keys(&details.discussions), ["#12~issuecomment-3", "#12~pullrequestreview-5", "#12~timeline"]);
    assert_eq!(keys(&details.labels), ["ui", "bug"]);
    assert_eq!(keys(&details.milestones), ["3"]);
    let people = keys(&details.people);
    assert!(people.contains(&"github:5") && !people.contains(&"github:99"), "{people:?}");
    let events = details.discussions[2].json["events"].as_array().unwrap();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["labeled", "cross-referenced", "referenced", "merged"]);
    assert_eq!((&events[1]["source"], &events[2]["repository"]), (&json!("acme/web!12"), &json!("fork/shop")));
}

#[tokio::test]
async fn a_pull_request_has_its_threads_on_the_diff_and_its_reviews() {
    let stub = serve();
    let details = details(&stub, pull_issue()).await;
    assert_eq!(stub.asked().len(), 3);
    assert_eq!(details.thread.key, "!7");
    let expected =
        ["!7~discussion_r21", "!7~discussion_r30", "!7~issuecomment-3", "!7~pullrequestreview-5", "!7~timeline"];
    assert_eq!(keys(&details.discussions), expected);
    let thread = details.discussions[0].json["comments"].as_array().unwrap();
    assert_eq!(thread.iter().map(|comment| comment["id"].as_u64().unwrap()).collect::<Vec<_>>(), [21, 22]);
    let json = &details.thread.json;
    let reviewers: Vec<_> = json["reviews"].as_array().unwrap().iter().map(|review| &review["user"]["login"]).collect();
    assert_eq!(reviewers, ["dave", "fred"]);
    assert_eq!(json["pull"]["merge_commit_sha"], "c8629974bdc5e3daa31826a514537faa8287795c");
    assert_eq!(json["pull"]["base"], json!({"ref": "main"}));
    assert!(keys(&details.people).contains(&"github:6"), "who reviewed without a word");
}

#[tokio::test]
async fn equal_objects_are_kept_as_equal_bytes() {
    for json in [issue as fn(u64) -> Value, |_| pull_issue()] {
        let (first, second) = (details(&serve(), json(12)).await, details(&serve(), json(12)).await);
        assert_eq!(first, second);
        assert!(has_listed(&first.thread.json, &listing(json(12)).unwrap()));
        let mut changed = json(12);
        changed["comments"] = json!(2);
        assert!(!has_listed(&first.thread.json, &listing(changed).unwrap()));
    }
}

#[tokio::test]
async fn what_was_deleted_meanwhile_is_absent() {
    let stub = Stub::serve(|_| Reply::status(410, r#"{"message": "This issue was deleted"}"#));
    let settings = ForgeSettings { retries: 0, ..ForgeSettings::new(stub.url.clone(), None) };
    let client = Client::new(&settings).unwrap();
    let error = client.details("acme/shop", &listing(issue(12)).unwrap()).await.unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
}
