//! Tests of parsing payloads of GitLab.

use serde_json::json;

use super::*;
use crate::forge::parse;

fn origin() -> Origin {
    Origin { forge: Forge::GitLab, project: "acme/shop".into(), forge_url: "https://git.example.com".into() }
}

fn user(id: u64, name: &str) -> Value {
    json!({"id": id, "username": name})
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn issue(json: &Value) -> Issue {
    match parse(ItemKind::Issue, &origin(), "#12", json).unwrap() {
        Item::Issue(issue) => issue,
        other => panic!("{other:?}"),
    }
}

fn merge_request(json: &Value) -> MergeRequest {
    match parse(ItemKind::MergeRequest, &origin(), "!7", json).unwrap() {
        Item::MergeRequest(merge_request) => merge_request,
        other => panic!("{other:?}"),
    }
}

fn discussion(key: &str, json: &Value) -> Discussion {
    match parse(ItemKind::Discussion, &origin(), key, json).unwrap() {
        Item::Discussion(discussion) => discussion,
        other => panic!("{other:?}"),
    }
}

fn note(id: u64, body: &str, system: bool) -> Value {
    json!({
        "id": id, "type": null, "body": body, "author": user(1, "alice"), "system": system,
        "created_at": "2024-03-15T10:00:00.000Z", "updated_at": "2024-03-15T11:00:00.000+01:00", "resolvable": false,
    })
}

#[test]
fn transforms_gitlab_issue_payload_to_normalized_schema() {
    let issue = issue(&json!({
        "issue": {
            "id": 900, "iid": 12, "title": "Login fails", "description": "After *two* hours.\r\n", "state": "closed",
            "author": user(1, "alice"), "labels": ["ui", "bug"], "milestone": {"id": 5, "iid": 3, "project_id": 1},
            "assignees": [user(2, "bob")], "created_at": "2024-03-15T10:00:00.123Z",
            "updated_at": "2024-03-16T10:00:00.000+02:00", "closed_at": "2024-03-16T08:00:00Z",
            "closed_by": user(3, "carol"), "web_url": "https://git.example.com/acme/shop/-/issues/12",
            "user_notes_count": 4,
        },
        "related_merge_requests": ["acme/shop!7", "other/p!8"],
        "closed_by": ["acme/shop!7", "no reference"],
        "links": [
            {"link_type": "blocks", "ref": "acme/shop#13"},
            {"link_type": "is_blocked_by", "ref": "other/p#1"},
            {"link_type": "relates_to", "ref": "acme/shop#14"},
            {"link_type": "unheard_of", "ref": "acme/shop#15"},
        ],
    }));
    assert_eq!(issue.id.to_string(), "acme/shop#12");
    let thread = Thread {
        forge: Forge::GitLab,
        title: "Login fails".into(),
        description: "After *two* hours.\r\n".into(),
        state: State::Closed,
        author: Some("alice".into()),
        labels: vec!["bug".into(), "ui".into()],
        milestone: Some(3),
        assignees: vec!["bob".into()],
        created_at: at("2024-03-15T10:00:00.123Z"),
        updated_at: at("2024-03-16T08:00:00Z"),
        closed_at: Some(at("2024-03-16T08:00:00Z")),
        closed_by: Some("carol".into()),
        web_url: "https://git.example.com/acme/shop/-/issues/12".into(),
        notes_count: 4,
        confidential: false,
    };
    assert_eq!(issue.thread, thread);
    assert_eq!(issue.related, [ThreadId::merge_request("acme/shop", 7), ThreadId::merge_request("other/p", 8)]);
    assert_eq!(issue.closed_by_requests, [ThreadId::merge_request("acme/shop", 7)]);
    let links = [
        (LinkKind::Blocks, ThreadId::issue("acme/shop", 13)),
        (LinkKind::BlockedBy, ThreadId::issue("other/p", 1)),
        (LinkKind::RelatesTo, ThreadId::issue("acme/shop", 14)),
    ];
    assert_eq!(issue.links, links);
}

#[test]
fn extracts_labels_from_issue_payload() {
    let with = |labels: Value| {
        issue(&json!({"issue": {"iid": 12, "state": "opened", "created_at": "2024-03-15T10:00:00Z", "labels": labels}}))
            .thread
            .labels
    };
    assert_eq!(with(json!(["b", "a", "b"])), ["a", "b"]);
    assert_eq!(with(json!([{"id": 1, "name": "ui", "color": "#fff"}])), ["ui"]);
    assert_eq!(with(Value::Null), [""; 0]);
}

#[test]
fn handles_missing_optional_fields_of_an_issue_gracefully() {
    let bare = json!({"issue": {"iid": 12, "state": "opened", "created_at": "2024-03-15T10:00:00Z"}});
    let nulls = json!({"issue": {
        "iid": 12, "state": "opened", "created_at": "2024-03-15T10:00:00Z", "updated_at": null, "title": null,
        "description": null, "author": null, "labels": null, "milestone": null, "assignees": null, "closed_at": null,
        "closed_by": null, "web_url": null, "user_notes_count": null,
    }});
    assert_eq!(issue(&bare), issue(&nulls));
    let thread = issue(&bare).thread;
    assert_eq!((thread.author, thread.description, thread.updated_at), (None, String::new(), thread.created_at));
}

#[test]
fn a_milestone_of_a_group_has_no_number_in_the_project() {
    let json = json!({"issue": {
        "iid": 12, "state": "opened", "created_at": "2024-03-15T10:00:00Z",
        "milestone": {"id": 5, "iid": 3, "group_id": 9, "project_id": null},
    }});
    assert_eq!(issue(&json).thread.milestone, None);
}

#[test]
fn transforms_gitlab_mr_payload_to_normalized_schema() {
    let sha = "8b3263b638b19a1e39509dcb04bbfc2e9048a7a2";
    let merge_request = merge_request(&json!({
        "merge_request": {
            "id": 901, "iid": 7, "title": "Use JWT", "description": "Closes #12", "state": "merged",
            "author": user(1, "alice"), "labels": [], "assignees": [], "reviewers": [user(2, "bob")],
            "created_at": "2024-03-15T10:00:00Z", "updated_at": "2024-03-16T10:00:00Z",
            "merged_at": "2024-03-16T10:00:00Z", "merge_user": user(3, "carol"), "merged_by": user(4, "old"),
            "source_branch": "jwt", "target_branch": "main", "draft": false, "work_in_progress": false,
            "sha": sha, "merge_commit_sha": sha, "squash_commit_sha": null, "web_url": "u",
        },
        "approved_by": ["bob", "ghost"],
        "closes_issues": ["acme/shop#12"],
    }));
    assert_eq!(merge_request.id.to_string(), "acme/shop!7");
    assert_eq!(merge_request.thread.state, State::Merged);
    assert_eq!((merge_request.source_branch.as_str(), merge_request.target_branch.as_str()), ("jwt", "main"));
    assert_eq!(merge_request.requested_reviewers, None);
    assert_eq!(
        (merge_request.reviewers, merge_request.approved_by),
        (vec!["bob".into()], vec!["bob".into(), "ghost".into()])
    );
    assert_eq!(
        (merge_request.merged_by, merge_request.merged_at),
        (Some("carol".into()), Some(at("2024-03-16T10:00:00Z")))
    );
    assert_eq!((merge_request.head_sha, merge_request.merge_commit_sha), (Some(sha.into()), Some(sha.into())));
    assert_eq!((merge_request.squash_commit_sha, merge_request.draft), (None, false));
    assert_eq!(merge_request.closes, [ThreadId::issue("acme/shop", 12)]);
}

#[test]
fn extracts_labels_from_mr_payload() {
    let json = json!({"merge_request": {
        "iid": 7, "state": "opened", "created_at": "2024-03-15T10:00:00Z", "labels": [{"name": "b"}, {"name": "a"}],
    }});
    assert_eq!(merge_request(&json).thread.labels, ["a", "b"]);
}

#[test]
fn handles_missing_optional_fields_of_an_mr_gracefully() {
    let bare = json!({"merge_request": {
        "iid": 7, "state": "locked", "created_at": "2024-03-15T10:00:00Z", "work_in_progress": true, "merged_by": user(4, "old"),
        "sha": "", "merge_user": null,
    }});
    let merge_request = merge_request(&bare);
    assert_eq!(merge_request.thread.state, State::Locked);
    assert!(merge_request.draft);
    assert_eq!((merge_request.merged_by.as_deref(), merge_request.head_sha), (Some("old"), None));
}

#[test]
fn transforms_discussion_payload_to_normalized_schema() {
    let mut first = note(302, "Why HS256?", false);
    first["type"] = json!("DiffNote");
    first["resolvable"] = json!(true);
    first["resolved"] = json!(true);
    first["resolved_by"] = user(2, "bob");
    first["resolved_at"] = json!("2024-03-17T10:00:00Z");
    first["position"] =
        json!({"old_path": "a.rs", "new_path": "a.rs", "position_type": "text", "old_line": null, "new_line": 9});
    let mut second = note(303, "Agreed.", false);
    second["type"] = json!("DiscussionNote");
    second["author"] = Value::Null;
    let discussion = discussion("!7~6a9c", &json!({"id": "6a9c", "individual_note": false, "notes": [first, second]}));
    assert_eq!(discussion.node_id().to_string(), "acme/shop!7~6a9c");
    assert_eq!(discussion.web_url, "https://git.example.com/acme/shop/-/merge_requests/7#note_302");
    let [first, second] = discussion.notes.as_slice() else { panic!("{discussion:?}") };
    assert_eq!((first.id, first.kind, first.author.as_deref()), (302, NoteKind::Diff, Some("alice")));
    assert_eq!((first.created_at, first.updated_at), (at("2024-03-15T10:00:00Z"), at("2024-03-15T10:00:00Z")));
    assert!(first.resolvable && first.resolved);
    assert_eq!((first.resolved_by.as_deref(), first.resolved_at), (Some("bob"), Some(at("2024-03-17T10:00:00Z"))));
    assert_eq!(first.position.as_ref().unwrap().new_lines, Some((9, 9)));
    assert_eq!((second.kind, &second.author, &second.position), (NoteKind::Discussion, &None, &None));
}

#[test]
fn extracts_notes_array_from_discussion_and_preserves_note_order() {
    let notes: Vec<Value> = [9, 3, 7].map(|id| note(id, "x", false)).to_vec();
    let discussion = discussion("#12~a", &json!({"id": "a", "individual_note": false, "notes": notes}));
    assert_eq!(discussion.notes.iter().map(|note| note.id).collect::<Vec<_>>(), [9, 3, 7]);
}

#[test]
fn sets_individual_note_flag_correctly() {
    for (json, expected) in [(json!(true), true), (json!(false), false), (Value::Null, false)] {
        let json = json!({"id": "a", "individual_note": json, "notes": [note(1, "x", false)]});
        assert_eq!(discussion("#12~a", &json).individual, expected);
    }
}

#[test]
fn filters_out_system_notes_and_keeps_what_they_link() {
    let notes =
        json!([note(1, "mentioned in issue #5", true), note(2, "Text, closed via #9", false), note(3, "merged", true)]);
    let mixed = discussion("#12~a", &json!({"id": "a", "notes": notes}));
    assert_eq!(mixed.notes.iter().map(|note| note.id).collect::<Vec<_>>(), [2]);
    assert_eq!(mixed.events, [SystemEvent::MentionedIn(ThreadId::issue("acme/shop", 5).into())]);
    assert!(mixed.web_url.ends_with("/-/issues/12#note_2"), "{}", mixed.web_url);
    let twice = json!([note(1, "assigned to @bob", true), note(2, "assigned to @bob", true)]);
    let silent = discussion("#12~b", &json!({"id": "b", "notes": twice}));
    assert_eq!((silent.notes.len(), silent.events.len()), (0, 1));
    assert!(silent.web_url.ends_with("#note_1"), "{}", silent.web_url);
}

#[test]
fn projects_people_labels_and_milestones_are_read() {
    let parse = |kind, json: Value| parse(kind, &origin(), "k", &json).unwrap().id().to_string();
    assert_eq!(
        parse(ItemKind::Project, json!({"id": 1, "path_with_namespace": "acme/shop", "description": ""})),
        "acme/shop"
    );
    assert_eq!(parse(ItemKind::Person, json!({"id": 1, "username": "alice", "name": null})), "@alice");
    assert_eq!(parse(ItemKind::Label, json!({"name": "to do", "color": "#ff0000"})), "acme/shop~to do");
    assert_eq!(parse(ItemKind::Milestone, json!({"iid": 3, "title": "1.0", "description": null})), "acme/shop%3");
}

#[test]
fn what_cannot_be_read_is_named_with_its_reason() {
    let wrong = |kind, key: &str, json: Value| parse(kind, &origin(), key, &json).unwrap_err().to_string();
    let no_state = wrong(ItemKind::Issue, "#12", json!({"issue": {"iid": 12, "created_at": "2024-03-15T10:00:00Z"}}));
    assert_eq!(
        no_state,
        "the issue '#12' of acme/shop cannot be read: issue.state is missing; the next sync asks for it again"
    );
    let odd = json!({"merge_request": {"iid": 7, "state": "odd", "created_at": "2024-03-15T10:00:00Z"}});
    assert!(wrong(ItemKind::MergeRequest, "!7", odd).contains("merge_request.state is unknown"));
    assert!(wrong(ItemKind::Discussion, "12", json!({"id": "a", "notes": []})).contains("key"));
    for kind in ItemKind::ALL {
        for json in [Value::Null, json!([]), json!("x"), json!({"issue": 1, "merge_request": []})] {
            parse(kind, &origin(), "#1~a", &json).unwrap_err();
        }
    }
}

#[test]
fn the_field_that_is_wrong_is_named_without_its_value() {
    let wrong = |place: &str, value: Value| {
        let mut json = json!({"id": "a", "notes": [note(1, "first", false), note(2, "second", false)]});
        json["notes"][1]["position"] = json!({"new_path": "src/a.c", "new_line": 3, "line_range": {"start": {}}});
        *json.pointer_mut(place).unwrap() = value;
        let error = parse(ItemKind::Discussion, &origin(), "!7~a", &json).unwrap_err();
        assert!(!error.to_string().contains("never told"), "{error}");
        format!("{} {}", error.field, error.reason)
    };
    let never = || json!("never told, expected nothing");
    assert_eq!(wrong("/notes/1/created_at", Value::Null), "notes[1].created_at is null, not a timestamp string");
    assert_eq!(wrong("/notes/1/created_at", never()), "notes[1].created_at is a string that is not valid there");
    assert_eq!(wrong("/notes/0/id", never()), "notes[0].id is a string, not a whole number that is not negative");
    assert_eq!(wrong("/notes/0/id", json!(-3)), "notes[0].id is a number, not a whole number that is not negative");
    assert_eq!(wrong("/notes/0/author", json!({})), "notes[0].author.username is missing");
    assert_eq!(wrong("/notes/0/author", never()), "notes[0].author is a string, not an object");
    assert_eq!(wrong("/notes/0/system", never()), "notes[0].system is a string, not a boolean");
    assert_eq!(
        wrong("/notes/1/position/line_range/start", json!({"old_line": never()})),
        "notes[1].position.line_range.start.old_line is a string, not a whole number that is not negative"
    );
    assert_eq!(wrong("/notes", never()), "notes is a string, not a list");
}

#[test]
fn a_project_must_be_the_one_that_was_asked_for_and_have_an_address() {
    let project = json!({"id": 1, "path_with_namespace": "acme/shop", "web_url": "https://git.example.com/acme/shop"});
    let read = |change: fn(&mut Value)| {
        let mut json = project.clone();
        change(&mut json);
        crate::forge::parse_project(Forge::GitLab, "acme/shop", &json).map_err(|error| error.field)
    };
    assert_eq!(read(|_| ()), Ok(origin()));
    assert_eq!(read(|json| json["path_with_namespace"] = json!("acme/other")), Err("path_with_namespace".into()));
    assert_eq!(read(|json| json["id"] = json!("1")), Err("id".into()));
    for address in [json!(null), json!(""), json!("javascript:alert(1)"), json!("javascript:x/acme/shop")] {
        let json = json!({"id": 1, "path_with_namespace": "acme/shop", "web_url": address});
        assert_eq!(crate::forge::parse_project(Forge::GitLab, "acme/shop", &json).unwrap_err().field, "web_url");
    }
}

#[test]
fn origin_is_the_address_of_the_project_without_its_path() {
    let origin = |url: &str| origin_of_project(&json!({"path_with_namespace": "acme/shop", "web_url": url}));
    assert_eq!(origin("https://git.example.com/acme/shop").unwrap(), super::tests::origin());
    assert_eq!(origin("https://example.com/gitlab/acme/shop/").unwrap().forge_url, "https://example.com/gitlab");
    assert_eq!(origin("https://git.example.com/other"), None);
    assert_eq!(origin_of_project(&json!({})), None);
}
