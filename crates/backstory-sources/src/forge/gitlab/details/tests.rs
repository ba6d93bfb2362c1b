//! Tests of fetching what belongs to issues and merge requests.

use backstory_model::{entity::ItemKind, reference::Forge};

use super::*;
use crate::forge::{
    ForgeSettings, Origin,
    stub::{Reply, Stub},
};

const PROJECT: &str = "acme/shop";

fn user(id: u64, username: &str) -> Value {
    json!({
        "id": id, "username": username, "name": format!("{username} the {id}."), "state": "active", "locked": false,
        "avatar_url": format!("https://git.example.com/{}.png", fastrand::u64(..)),
        "web_url": format!("https://git.example.com/{username}"),
    })
}

fn note(id: u64, more: &Value) -> Value {
    let mut note = json!({
        "id": id, "type": null, "body": "text", "author": user(1, "alice"), "system": false, "internal": false,
        "created_at": "2024-03-15T10:00:00.000Z", "updated_at": format!("2024-03-15T10:00:{id:02}.000Z"),
        "commands_changes": {}, "suggestions": [{"appliable": fastrand::bool(), "applied": false}],
    });
    for (key, value) in more.as_object().unwrap() {
        note[key] = value.clone();
    }
    note
}

/// An issue as the list gives it, with everything that changes from one answer to the next.
fn issue(merge_requests: &Value) -> ThreadListing {
    listing(json!({
        "id": 900, "iid": 12, "title": "Login fails", "state": "opened", "author": user(1, "alice"),
        "assignee": user(2, "bob"), "assignees": [user(3, "carol"), user(2, "bob")],
        "labels": [
            {"id": 2, "name": "ui", "color": "#00ff00", "description": null, "text_color": "#fff", "archived": false},
            {"id": 1, "name": "bug", "color": "#ff0000", "description": "Broken", "description_html": "Broken"},
        ],
        "milestone": {
            "id": 5, "iid": 3, "project_id": 1, "title": "1.0", "description": "", "state": "active", "expired": true,
            "created_at": "2024-01-01T00:00:00Z", "updated_at": "2024-01-01T00:00:00Z", "web_url": "m",
        },
        "created_at": "2024-03-15T10:00:00Z", "updated_at": "2024-03-16T10:00:00Z", "user_notes_count": 2,
        "merge_requests_count": merge_requests, "subscribed": fastrand::bool(), "_links": {"self": "x"},
    }))
}

fn merge_request() -> ThreadListing {
    listing(json!({
        "id": 901, "iid": 7, "title": "Use JWT", "state": "merged", "author": user(1, "alice"), "reviewers": [user(9, "zoe"), user(2, "bob")],
        "labels": ["b", "a"], "milestone": {"id": 6, "iid": 1, "group_id": 4, "title": "G"},
        "created_at": "2024-03-15T10:00:00Z", "updated_at": "2024-03-16T10:00:00Z", "user_notes_count": 0,
        "merge_status": "checking", "detailed_merge_status": "unchecked", "has_conflicts": fastrand::bool(),
        "source_branch": "s", "target_branch": "t", "merge_user": user(3, "carol"), "closed_by": null,
    }))
}

fn listing(payload: Value) -> ThreadListing {
    ThreadListing {
        kind: if payload["source_branch"].is_string() { ThreadKind::MergeRequest } else { ThreadKind::Issue },
        id: payload["id"].as_u64().unwrap(),
        iid: payload["iid"].as_u64().unwrap(),
        updated_at: payload["updated_at"].as_str().unwrap().parse().unwrap(),
        notes_count: payload["user_notes_count"].as_u64().unwrap(),
        payload,
    }
}

fn full(reference: &str) -> Value {
    json!({"id": fastrand::u32(..), "references": {"full": reference, "short": "x"}, "confidential": false})
}

fn answer(path: &str) -> Value {
    match path.rsplit('/').next().unwrap() {
        "discussions" => json!([
            {"id": "aa", "individual_note": true, "notes": [note(1, &json!({}))]},
            {"id": "bb", "individual_note": false, "resolvable": true, "notes": [
                note(2, &json!({"author": user(4, "dave"), "resolved_by": user(5, "erin")})),
                note(3, &json!({"internal": true, "body": "not for everybody"})),
            ]},
            {"id": "cc", "individual_note": true, "notes": [note(4, &json!({"confidential": true}))]},
            {"id": "dd", "individual_note": true, "notes": [note(5, &json!({"system": true, "body": "mentioned in issue #5", "author": null}))]},
            {"id": "aa", "individual_note": true, "notes": [note(1, &json!({}))]},
        ]),
        "links" => {
            let mut hidden = full("acme/shop#666");
            hidden["confidential"] = json!(true);
            let mut links = [full("other/p#9"), hidden, full("acme/shop#13"), json!({"id": 4})];
            links.iter_mut().for_each(|link| link["link_type"] = json!("blocks"));
            json!(links)
        }
        "related_merge_requests" => json!([full("acme/shop!8"), full("acme/shop!7"), full("acme/shop!7")]),
        "closed_by" => json!([full("acme/shop!7")]),
        "closes_issues" => json!([full("acme/shop#12"), {"id": "JIRA-1", "title": "elsewhere"}]),
        "approvals" => {
            json!({"approved_by": [{"user": user(6, "fay")}, {"user": user(2, "bob")}], "user_has_approved": true})
        }
        other => panic!("{other}"),
    }
}

fn serve() -> Stub {
    Stub::serve(|asked| Reply::json(&answer(&asked.path)))
}

async fn details(stub: &Stub, listing: &ThreadListing) -> Result<ThreadDetails, ForgeError> {
    let settings = ForgeSettings { requests_per_second: 0, retries: 0, ..ForgeSettings::new(stub.url.clone(), None) };
    Client::new(&settings).unwrap().details(PROJECT, listing).await
}

fn keys(payloads: &[Payload]) -> Vec<&str> {
    payloads.iter().map(|payload| payload.key.as_str()).collect()
}

#[tokio::test]
async fn an_issue_comes_with_all_that_hangs_on_it() {
    let details = details(&serve(), &issue(&json!(2))).await.unwrap();
    assert_eq!((details.thread.kind, details.thread.key.as_str()), (ItemKind::Issue, "#12"));
    let json = &details.thread.json;
    assert_eq!(json["issue"]["labels"], json!(["bug", "ui"]));
    assert_eq!(json["issue"]["milestone"], json!({"id": 5, "iid": 3, "project_id": 1}));
    assert_eq!(json["issue"]["assignees"], json!([{"id": 2, "username": "bob"}, {"id": 3, "username": "carol"}]));
    assert_eq!(json["related_merge_requests"], json!(["acme/shop!7", "acme/shop!8"]));
    assert_eq!(json["closed_by"], json!(["acme/shop!7"]));
    let links = json!([{"link_type": "blocks", "ref": "acme/shop#13"}, {"link_type": "blocks", "ref": "other/p#9"}]);
    assert_eq!(json["links"], links);
    assert_eq!(keys(&details.discussions), ["#12~aa", "#12~bb", "#12~dd"]);
    assert_eq!(details.discussions[1].updated_at.unwrap().to_string(), "2024-03-15T10:00:02Z");
    assert_eq!(details.internal_notes, 2);
    assert_eq!(keys(&details.people), ["1", "2", "3", "4", "5"]);
    let alice =
        json!({"id": 1, "name": "alice the 1.", "username": "alice", "web_url": "https://git.example.com/alice"});
    assert_eq!(details.people[0].json, alice);
    assert_eq!(keys(&details.labels), ["ui", "bug"]);
    assert_eq!(details.labels[1].json, json!({"id": 1, "name": "bug", "color": "#ff0000", "description": "Broken"}));
    assert_eq!(keys(&details.milestones), ["3"]);
    assert_eq!(details.milestones[0].json.get("expired"), None);
}

#[tokio::test]
async fn internal_notes_are_kept_and_marked_if_they_are_to_be_read() {
    let stub = serve();
    let settings = ForgeSettings { requests_per_second: 0, retries: 0, ..ForgeSettings::new(stub.url.clone(), None) };
    let client = Client::new(&ForgeSettings { confidential: true, ..settings }).unwrap();
    let confidential = |details: &ThreadDetails| -> Vec<bool> {
        details.discussions.iter().map(|discussion| discussion.confidential).collect()
    };
    let details = client.details(PROJECT, &issue(&json!(2))).await.unwrap();
    assert_eq!(keys(&details.discussions), ["#12~aa", "#12~bb", "#12~cc", "#12~dd"]);
    // With one internal note all of the discussion is.
    assert_eq!(confidential(&details), [false, true, true, false]);
    assert!(!details.thread.confidential);
    assert_eq!(details.thread.json["internal_notes"], 2);
    assert!(!details.thread.json["links"].to_string().contains("acme/shop#666"), "what all see names nothing hidden");
    let hidden: Vec<_> = details.people.iter().filter(|person| person.confidential).collect();
    assert_eq!(hidden.len(), 2, "those who are met in an internal discussion alone");

    let mut listed = issue(&json!(2));
    listed.payload["confidential"] = json!(true);
    let details = client.details(PROJECT, &listed).await.unwrap();
    assert!(details.thread.json["links"].to_string().contains("acme/shop#666"));
    assert!(details.thread.confidential && confidential(&details).iter().all(|is| *is));
    assert!(details.people.iter().all(|person| person.confidential));
}

#[tokio::test]
async fn a_merge_request_comes_with_all_that_hangs_on_it() {
    let details = details(&serve(), &merge_request()).await.unwrap();
    assert_eq!((details.thread.kind, details.thread.key.as_str()), (ItemKind::MergeRequest, "!7"));
    let json = &details.thread.json;
    assert_eq!(json["approved_by"], json!(["bob", "fay"]));
    assert_eq!(json["closes_issues"], json!(["acme/shop#12"]));
    assert_eq!(json["merge_request"]["labels"], json!(["a", "b"]));
    assert_eq!(json["merge_request"].get("merge_status"), None);
    assert_eq!(keys(&details.discussions), ["!7~aa", "!7~bb", "!7~dd"]);
    assert_eq!(keys(&details.people), ["1", "2", "3", "4", "5", "6", "9"]);
    assert!(details.labels.is_empty() && details.milestones.is_empty());
}

#[tokio::test]
async fn equal_items_become_equal_bytes() {
    for _ in 0..5 {
        let first = details(&serve(), &issue(&json!(2))).await.unwrap();
        let second = details(&serve(), &issue(&json!(2))).await.unwrap();
        assert_eq!(first.thread.json.to_string(), second.thread.json.to_string());
        for (a, b) in first.discussions.iter().zip(&second.discussions) {
            assert_eq!(a.json.to_string(), b.json.to_string());
        }
        assert_eq!(first, second);
        let first = details(&serve(), &merge_request()).await.unwrap();
        let second = details(&serve(), &merge_request()).await.unwrap();
        assert_eq!(first.thread.json.to_string(), second.thread.json.to_string());
    }
}

#[tokio::test]
async fn everything_that_is_stored_can_be_parsed() {
    let origin = Origin { forge: Forge::GitLab, project: PROJECT.into(), forge_url: "https://git.example.com".into() };
    for listing in [issue(&json!(1)), merge_request()] {
        let details = details(&serve(), &listing).await.unwrap();
        let all = [vec![details.thread], details.discussions, details.people, details.labels, details.milestones];
        for payload in all.concat() {
            crate::forge::parse(payload.kind, &origin, &payload.key, &payload.json).unwrap();
        }
    }
}

#[tokio::test]
async fn requests_that_close_an_issue_are_asked_for_unless_there_are_none() {
    for (count, requests) in [(json!(0), 2), (json!(1), 4), (Value::Null, 4)] {
        let stub = serve();
        details(&stub, &issue(&count)).await.unwrap();
        assert_eq!(stub.asked().len(), requests);
    }
}

#[tokio::test]
async fn what_an_instance_does_not_offer_is_taken_for_empty() {
    for status in [403, 404] {
        let stub = Stub::serve(move |asked| match asked.path.ends_with("/discussions") {
            true => Reply::json(&json!([])),
            false => Reply::status(status, "{}"),
        });
        let issue = details(&stub, &issue(&Value::Null)).await.unwrap();
        assert_eq!(issue.thread.json["links"], json!([]));
        let merge_request = details(&stub, &merge_request()).await.unwrap();
        assert_eq!(merge_request.thread.json["approved_by"], json!([]));
    }
}

#[tokio::test]
async fn an_issue_that_is_gone_or_a_token_that_is_revoked_is_an_error() {
    let stub = Stub::serve(|_| Reply::status(404, "{}"));
    assert!(details(&stub, &issue(&json!(0))).await.unwrap_err().is_not_found());
    let stub = Stub::serve(|asked| match asked.path.ends_with("/links") {
        true => Reply::status(401, "{}"),
        false => Reply::json(&answer(&asked.path)),
    });
    let error = details(&stub, &issue(&json!(0))).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unauthorized { .. }));
}

#[tokio::test]
async fn long_lists_of_discussions_are_read_to_their_end() {
    let stub = Stub::serve(|asked| {
        let page: u64 = asked.query("page").map_or(1, |page| page.parse().unwrap());
        if !asked.path.ends_with("/discussions") {
            return Reply::json(&json!([]));
        }
        let ids = (page - 1) * 100..(page * 100).min(230);
        let discussions: Vec<Value> =
            ids.map(|id| json!({"id": format!("d{id}"), "notes": [note(id % 60, &json!({}))]})).collect();
        let reply = Reply::json(&json!(discussions));
        // One page tells the next by a link, one by its number, and the last says nothing.
        match page {
            1 => reply.with("X-Next-Page", "2"),
            2 => reply.with("Link", "<https://elsewhere.example/x?page=3>; rel=\"next\""),
            _ => reply,
        }
    });
    let details = details(&stub, &issue(&json!(0))).await.unwrap();
    assert_eq!(details.discussions.len(), 230);
}

#[tokio::test]
async fn discussions_that_cannot_be_told_apart_are_named_beside_the_others() {
    let good = json!({"id": "d1", "notes": [note(1, &json!({}))]});
    for (broken, key, field) in [
        (json!({"id": 7, "notes": [note(2, &json!({}))]}), "#12~?", "id"),
        (json!({"id": "d2", "notes": {}}), "#12~d2", "notes"),
        (json!({"id": "d2", "notes": [note(2, &json!({"internal": "no"}))]}), "#12~d2", "notes[0].internal"),
    ] {
        let list = json!([broken, good]);
        let stub = Stub::serve(move |asked| match asked.path.ends_with("/discussions") {
            true => Reply::json(&list),
            false => Reply::json(&json!([])),
        });
        let details = details(&stub, &issue(&json!(0))).await.unwrap();
        assert_eq!(keys(&details.discussions), ["#12~d1"]);
        let wrong = &details.unreadable[0];
        assert_eq!((wrong.key.as_str(), wrong.field.as_str()), (key, field));
    }
}

#[tokio::test]
async fn answers_about_one_issue_are_bounded_together_and_lists_by_their_pages() {
    let large = json!([{"id": "d1", "notes": [note(1, &json!({"body": "x".repeat(200_000)}))]}]);
    let stub = Stub::serve(move |asked| match asked.path.ends_with("/discussions") {
        true => Reply::json(&large),
        false => Reply::json(&json!([])),
    });
    let settings = ForgeSettings { requests_per_second: 0, retries: 0, ..ForgeSettings::new(stub.url.clone(), None) };
    let client = Client::new(&settings).unwrap();
    let error = client.with_memory_limit(100_000).details(PROJECT, &issue(&json!(0))).await.unwrap_err();
    assert!(matches!(error, ForgeError::TooLarge { .. }), "{error}");
    client.with_memory_limit(1 << 20).details(PROJECT, &issue(&json!(0))).await.unwrap();
    // Each page is another one, and none is the last.
    let stub = Stub::serve(|asked| {
        let page: u64 = asked.query("page").map_or(1, |page| page.parse().unwrap());
        let reply = Reply::json(&json!([{"id": format!("d{page}"), "notes": []}]));
        if asked.path.ends_with("/discussions") { reply.with("X-Next-Page", (page + 1).to_string()) } else { reply }
    });
    let error = details(&stub, &issue(&json!(0))).await.unwrap_err();
    assert!(error.to_string().contains("more than 1000 pages"), "{error}");
}

#[tokio::test]
async fn proposed_files_fail_alone_and_take_memory_of_their_own() {
    let mut listed = merge_request();
    listed.payload["state"] = json!("opened");
    let stub = Stub::serve(|asked| match asked.path.ends_with("/diffs") {
        true => Reply::status(500, "{}"),
        false => Reply::json(&answer(&asked.path)),
    });
    let without = details(&stub, &listed).await.unwrap();
    assert_eq!(without.thread.json.get("files"), None);
    assert_eq!(keys(&without.discussions), ["!7~aa", "!7~bb", "!7~dd"]);

    let large = json!([{"new_path": "src/a.c", "diff": "x".repeat(1_500_000)}]);
    let stub = Stub::serve(move |asked| match asked.path.ends_with("/diffs") {
        true => Reply::json(&large),
        false => Reply::json(&answer(&asked.path)),
    });
    let settings = ForgeSettings { requests_per_second: 0, retries: 0, ..ForgeSettings::new(stub.url.clone(), None) };
    let client = Client::new(&settings).unwrap().with_memory_limit(1 << 20);
    let with = client.details(PROJECT, &listed).await.unwrap();
    assert_eq!(with.thread.json["files"][0]["path"], "src/a.c");
    assert_eq!(keys(&with.discussions), ["!7~aa", "!7~bb", "!7~dd"]);
}

#[tokio::test]
async fn fetches_project_user_labels_and_milestones() {
    let stub = Stub::serve(|asked| match asked.path.as_str() {
        "/api/v4/user" => Reply::json(&json!({"id": 1, "username": "alice", "name": "Alice A."})),
        "/api/v4/projects/acme%2Fshop" => Reply::json(&json!({
            "id": 1, "path_with_namespace": PROJECT, "web_url": "https://git.example.com/acme/shop", "name": "shop",
            "runners_token": "secret", "permissions": {}, "last_activity_at": "2024-03-15T10:00:00Z",
        })),
        "/api/v4/projects/acme%2Fshop/labels" => Reply::json(&json!([
            {"id": 1, "name": "bug", "color": "#ff0000", "description": "Broken", "subscribed": true, "priority": null},
        ])),
        "/api/v4/projects/acme%2Fshop/milestones" => {
            Reply::json(&json!([{"id": 5, "iid": 3, "project_id": 1, "title": "1.0"}]))
        }
        other => panic!("{other}"),
    });
    let settings = ForgeSettings { requests_per_second: 0, retries: 0, ..ForgeSettings::new(stub.url.clone(), None) };
    let client = Client::new(&settings).unwrap();
    let account = client.current_user().await.unwrap();
    assert_eq!((account.username.as_str(), account.name.as_str()), ("alice", "Alice A."));
    let project = client.project(PROJECT).await.unwrap();
    assert_eq!((project.key.as_str(), project.json.get("runners_token"), project.updated_at), ("project", None, None));
    assert_eq!(crate::forge::origin_of_project(&project.json).unwrap().forge_url, "https://git.example.com");
    let labels = client.fetch_labels_with_groups(PROJECT).await.unwrap().payloads;
    assert_eq!(labels[0].json, json!({"id": 1, "name": "bug", "color": "#ff0000", "description": "Broken"}));
    assert_eq!(keys(&client.fetch_own_milestones(PROJECT).await.unwrap().payloads), ["3"]);
    assert_eq!(client.metrics().requests, 4);
    assert_eq!(client.metrics().to_string(), "4 requests");
}
