//! What the API answers: nodes, their fields and edges, pages, and how often it reads for that.

use std::{collections::BTreeSet, fs};

use expect_test::expect;
use serde_json::{Value, json};

use super::{Api, texts};
use crate::support::{Forge, sentence};

#[tokio::test]
async fn every_type_of_node_is_found_by_its_id() {
    let forge = Forge::start();
    let discussion = forge.discuss("acme/shop#6", "bob", "As in #999, @nobody knows why, since 0badc0de1.");
    let note = forge.reply("acme/shop#6", &discussion, "carol", "True.");
    let api = Api::of(forge);
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id known } }";
    let known = [
        ("Project", "acme/shop".to_owned()),
        ("Issue", "acme/shop#1".to_owned()),
        ("MergeRequest", "acme/shop!2".to_owned()),
        ("Discussion", format!("acme/shop#6~{discussion}")),
        ("Note", format!("acme/shop#6#note_{note}")),
        ("Commit", "acme/shop@1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d".to_owned()),
        ("File", "acme/shop:src/auth/token.rs".to_owned()),
        ("Label", "acme/shop~auth".to_owned()),
        ("Milestone", "acme/shop%2".to_owned()),
        ("Person", "@janedoe".to_owned()),
    ];
    let referred = [
        ("Issue", "acme/shop#999".to_owned()),
        ("Person", "@nobody".to_owned()),
        ("Commit", "acme/shop@0badc0de1".to_owned()),
    ];
    let ids: Vec<&str> = known.iter().chain(&referred).map(|(_, id)| id.as_str()).collect();
    let found = api.data_with(query, json!({ "ids": ids })).await;
    let node = |known: bool| move |(kind, id): &(&str, String)| json!({ "__typename": kind, "id": id, "known": known });
    let expected: Vec<Value> = known.iter().map(node(true)).chain(referred.iter().map(node(false))).collect();
    assert_eq!(found["nodes"], json!(expected));

    let nothing = ["acme/shop#998", "@nobody-else", "acme/nothing", "no id at all", "", "acme/shop@7777777"];
    let found = api.data_with(query, json!({ "ids": nothing })).await;
    assert_eq!(found["nodes"], json!(vec![Value::Null; nothing.len()]));
}

#[tokio::test]
async fn a_ranking_that_cannot_count_is_refused() {
    let api = Api::new();
    let mut said = Vec::new();
    for ranking in ["{ profile: RRF, recency: 1 }", "{ semantic: 0, lexical: 0, author: 0 }", "{ lexical: 2 }"] {
        let query = format!("{{ search(query: \"redis\", ranking: {ranking}) {{ hits {{ score }} }} }}");
        let answer = api.answer(&query, Value::Null).await;
        said.push(sentence(&answer["errors"][0]));
    }
    expect![[r#"
        [
            "weights do not count with the profile RRF; leave them out or name another profile",
            "every weight is 0; one of them must count",
            "a weight is 2; weights are 0 to 1",
        ]
    "#]]
    .assert_debug_eq(&said);
}

#[tokio::test]
async fn participants_are_as_many_as_are_asked_for() {
    let api = Api::new();
    let query = "{ mergeRequest(id: \"acme/shop!2\") {
        all: participants { username } one: participants(first: 1) { username } none: participants(first: 0) { username }
        discussions(first: 1) { nodes { one: participants(first: 1) { username } } } } }";
    let request = api.data(query).await["mergeRequest"].take();
    assert_eq!(request["one"], json!([request["all"][0]]), "{request}");
    assert_eq!(request["none"], json!([]));
    assert_eq!(request["discussions"]["nodes"][0]["one"], json!([{ "username": "janedoe" }]));
    for list in ["participants", "closingCommits"] {
        let query = format!("{{ issue(id: \"acme/shop#1\") {{ {list}(first: 101) {{ id }} }} }}");
        let (code, message) = api.error(&query).await;
        assert!(code == "INVALID" && message.contains("'first' is 101; it must be 0 to 100"), "{list}: {message}");
    }
}

#[tokio::test]
async fn fields_tell_what_the_forge_told() {
    let api = Api::new();
    let data = api
        .data(
            r#"{ mergeRequest(id: "acme/shop!2") {
              id iid title state draft sourceBranch targetBranch createdAt mergedAt closedAt noteCount description
              head { sha } mergeCommit { sha } squashCommit { sha }
              author { username name } mergedBy { username } assignees { username } reviewers { name }
              approvedBy { username } labels { nodes { name color description } } milestone { iid title state }
              project { fullPath name defaultBranch } closes { id title closingMergeRequests { id } closingCommits { id } }
              participants { username } unresolvedCount lastNoteAt
              discussions(first: 1) { totalCount nodes {
                individual resolvable resolved noteCount author { username } thread { id title state } project { id }
                participants { username } lastNoteAt position { newFile { path } newLines { first } }
                notes(first: 2) {
                  noteKind body resolved project { id } author { username } resolvedBy { username } discussion { noteCount }
                  position { oldFile { path } newFile { path } oldLines { first } newLines { first last } }
                }
              } }
            } }"#,
        )
        .await;
    let mr = &data["mergeRequest"];
    assert!(mr["description"].as_str().unwrap().ends_with("Closes #1"));
    for (pointer, value) in [
        ("/id", json!("acme/shop!2")),
        ("/iid", json!(2)),
        ("/title", json!("Refactor auth to use JWT tokens")),
        ("/state", json!("MERGED")),
        ("/draft", json!(false)),
        ("/sourceBranch", json!("jwt-auth")),
        ("/createdAt", json!("2024-03-10T09:00:00Z")),
        ("/mergedAt", json!("2024-03-22T16:05:00Z")),
        ("/closedAt", Value::Null),
        ("/head/sha", json!("9c2e4f6a8b0d1c3e5f7a9b2d4c6e8f0a1b3d5c7e")),
        ("/squashCommit/sha", json!("77aa88bb99cc00dd11ee22ff33aa44bb55cc66dd")),
        ("/author", json!({ "username": "johndoe", "name": "John Doe" })),
        ("/assignees", json!([{ "username": "johndoe" }])),
        ("/reviewers", json!([{ "name": "Jane Doe" }])),
        ("/approvedBy", json!([{ "username": "janedoe" }])),
        ("/labels/nodes", json!([{ "name": "auth", "color": "#d9534f", "description": "Signing in and out" }])),
        ("/milestone", json!({ "iid": 2, "title": "v2.0", "state": "OPENED" })),
        ("/project/fullPath", json!("acme/shop")),
        ("/closes/0/title", json!("Authentication redesign")),
        ("/closes/0/closingMergeRequests", json!([{ "id": "acme/shop!2" }])),
        ("/discussions/totalCount", json!(3)),
        ("/discussions/nodes/0/resolved", json!(true)),
        ("/discussions/nodes/0/noteCount", json!(3)),
        ("/discussions/nodes/0/project/id", json!("acme/shop")),
        ("/discussions/nodes/0/participants", json!([{ "username": "janedoe" }, { "username": "johndoe" }])),
        ("/discussions/nodes/0/position/newFile/path", json!("src/auth/token.rs")),
        ("/discussions/nodes/0/position/newLines/first", json!(42)),
        ("/discussions/nodes/0/notes/0/project/id", json!("acme/shop")),
        ("/unresolvedCount", json!(1)),
        ("/discussions/nodes/0/author/username", json!("janedoe")),
        ("/discussions/nodes/0/thread/title", json!("Refactor auth to use JWT tokens")),
        ("/discussions/nodes/0/notes/0/noteKind", json!("DIFF")),
        ("/discussions/nodes/0/notes/0/resolvedBy/username", json!("johndoe")),
        ("/discussions/nodes/0/notes/0/position/newFile/path", json!("src/auth/token.rs")),
        ("/discussions/nodes/0/notes/0/position/newLines/first", json!(42)),
        ("/discussions/nodes/0/notes/1/author/username", json!("johndoe")),
        ("/discussions/nodes/0/notes/1/discussion/noteCount", json!(3)),
    ] {
        assert_eq!(mr.pointer(pointer), Some(&value), "{pointer}: {mr:#}");
    }
    assert_eq!(mr.pointer("/discussions/nodes/0/notes").unwrap().as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn what_does_not_exist_is_null_and_what_is_no_reference_an_error() {
    let api = Api::new();
    for query in [
        r#"{ found: issue(id: "acme/shop#99") { id } }"#,
        r#"{ found: mergeRequest(id: "acme/shop!99") { id } }"#,
        r#"{ found: discussion(id: "acme/shop!2~none") { id } }"#,
        r#"{ found: person(username: "nobody") { id } }"#,
        r#"{ found: project(fullPath: "acme/web") { id } }"#,
        r#"{ found: task(id: "99") { id } }"#,
        r#"{ found: job(id: "job/99") { id } }"#,
        r#"{ found: snapshot(id: "abcd") { id } }"#,
    ] {
        assert_eq!(api.data(query).await, json!({ "found": null }), "{query}");
    }
    for query in [
        r#"{ issue(id: "acme/shop!2") { id } }"#,
        r#"{ issue(id: "12") { id } }"#,
        r#"{ mergeRequest(id: "acme/shop#1") { id } }"#,
        r#"{ discussion(id: "acme/shop!2") { id } }"#,
        r#"{ project(fullPath: "a b") { id } }"#,
        r#"{ task(id: "x") { id } }"#,
        r#"{ search(query: " ") { query } }"#,
        r#"{ search(query: "x", filter: { created: { from: "yesterday" } }) { query } }"#,
    ] {
        assert_eq!(api.error(query).await.0, "INVALID", "{query}");
    }
    let person = api.data(r#"{ person(username: "@JaneDoe") { id name } }"#).await;
    assert_eq!(person["person"], json!({ "id": "@janedoe", "name": "Jane Doe" }));
}

#[tokio::test]
async fn what_fails_alone_leaves_the_rest_of_the_answer() {
    let api = Api::new();
    let broken = [
        "search(query: \" \") { query }",
        "issues(first: 101) { totalCount }",
        "history(id: \"acme/shop#1\") { nodes { kind } }",
        "trace(id: \"acme/shop#998\") { missing }",
        "path(from: \"acme/shop#1\", to: \"no id\") { leftOut }",
        "file(project: \"no path\", path: \"a\") { id }",
        "job(id: \"task/1\") { id }",
        "syncStatus(runs: 101) { ledgerSeq }",
        "issue(id: \"acme/shop#1\") { neighborhood(depth: 9) { leftOut } }",
    ];
    for field in broken {
        let answer = api.answer(&format!("{{ broken: {field} stats {{ issueCount }} }}"), Value::Null).await;
        assert!(answer["errors"][0]["extensions"]["code"].is_string(), "{field}: {answer:#}");
        assert_eq!(answer["data"]["stats"]["issueCount"], 6, "{field}: {answer:#}");
        let broken = answer["data"].get("broken").unwrap_or_else(|| panic!("{field}: {answer:#}"));
        assert!(broken.is_null() || *broken == json!({ "neighborhood": null }), "{field}: {answer:#}");
    }
    // What must not be null takes what it belongs to with it, as far as that must not be null either.
    let query = "{ project(fullPath: \"acme/shop\") { id issues(first: 101) { totalCount } }
        nodes(ids: [\"acme/shop\", \"acme/shop#1\"]) { id ... on Project { labels(last: -1) { totalCount } } } }";
    let answer = api.answer(query, Value::Null).await;
    assert_eq!(answer["data"], json!({ "project": null, "nodes": [null, { "id": "acme/shop#1" }] }), "{answer:#}");
    assert_eq!(answer["errors"].as_array().map(Vec::len), Some(2), "{answer:#}");
}

#[tokio::test]
async fn nodes_of_a_project_are_found_by_what_names_them_there() {
    let api = Api::new();
    let query = "{ project(fullPath: \"acme/shop\") {
        issue(iid: 1) { id } mergeRequest(iid: 2) { id } milestone(iid: 2) { id } label(name: \"auth\") { id }
        noIssue: issue(iid: 2000) { id } noMergeRequest: mergeRequest(iid: 1000) { id }
        noMilestone: milestone(iid: 99) { id } noLabel: label(name: \"none\") { id }
        noRelease: release(tag: \"none\") { id } noCommit: commit(rev: \"none\") { id } } }";
    let project = api.data(query).await["project"].take();
    for (field, id) in [
        ("issue", json!({ "id": "acme/shop#1" })),
        ("mergeRequest", json!({ "id": "acme/shop!2" })),
        ("milestone", json!({ "id": "acme/shop%2" })),
        ("label", json!({ "id": "acme/shop~auth" })),
        ("noIssue", Value::Null),
        ("noMergeRequest", Value::Null),
        ("noMilestone", Value::Null),
        ("noLabel", Value::Null),
        ("noRelease", Value::Null),
        ("noCommit", Value::Null),
    ] {
        assert_eq!(project[field], id, "{field}");
    }
}

#[tokio::test]
async fn what_cannot_be_resolved_is_neither_resolved_nor_not() {
    let api = Api::new();
    let query = "{ issue(id: \"acme/shop#1\") { discussions(first: 20) { nodes { resolvable resolved
        notes { resolvable resolved } } } } mergeRequest(id: \"acme/shop!2\") { discussions(first: 20) { nodes {
        resolvable resolved notes { resolvable resolved } } } } }";
    let data = api.data(query).await;
    let mut seen = BTreeSet::new();
    for thread in ["issue", "mergeRequest"] {
        for discussion in data[thread]["discussions"]["nodes"].as_array().unwrap() {
            for of in std::iter::once(discussion).chain(discussion["notes"].as_array().unwrap()) {
                assert_eq!(of["resolved"].is_null(), of["resolvable"] == false, "{of:#}");
                seen.insert(of["resolvable"].as_bool().unwrap());
            }
        }
    }
    assert_eq!(seen.len(), 2, "{data:#}");
}

#[tokio::test]
async fn every_edge_is_found_from_both_of_its_ends() {
    let api = Api::new();
    let edges = |id: &str, direction: &str| {
        let types = [
            "Project",
            "Issue",
            "MergeRequest",
            "Discussion",
            "Note",
            "Commit",
            "File",
            "Label",
            "Milestone",
            "Person",
        ];
        let edges = format!("{{ edges(direction: {direction}, first: 100) {{ edges {{ name node {{ id }} }} }} }}");
        let fragments: String = types.iter().map(|name| format!("... on {name} {edges} ")).collect();
        let query = format!("query ($id: ID!) {{ node(id: $id) {{ id {fragments} }} }}");
        let variables = json!({ "id": id });
        let api = &api;
        async move {
            let found = api.data_with(&query, variables).await;
            let list = &found["node"]["edges"]["edges"];
            texts(list, "/name").into_iter().zip(texts(list, "/node/id")).collect::<BTreeSet<_>>()
        }
    };
    // Walks the graph from one merge request, along edges in both directions.
    let mut met = BTreeSet::from(["acme/shop!2".to_owned()]);
    let mut waiting = vec!["acme/shop!2".to_owned()];
    let mut names = BTreeSet::new();
    let (mut out, mut into) = (BTreeSet::new(), BTreeSet::new());
    while let Some(id) = waiting.pop() {
        let (starting, ending) = (edges(&id, "OUT").await, edges(&id, "IN").await);
        for (_, other) in starting.iter().chain(&ending) {
            if met.insert(other.clone()) {
                waiting.push(other.clone());
            }
        }
        names.extend(starting.iter().map(|(name, _)| name.clone()));
        out.extend(starting.into_iter().map(|(name, other)| (id.clone(), name, other)));
        into.extend(ending.into_iter().map(|(name, other)| (other, name, id.clone())));
    }
    assert_eq!(out, into);
    for id in ["acme/shop", "acme/shop#1", "acme/shop!1", "@alice", "acme/shop~auth", "acme/shop:src/cache/redis.rs"] {
        assert!(met.contains(id), "{id} was not met");
    }
    for name in [
        "AUTHORED",
        "ASSIGNED_TO",
        "REVIEWED",
        "APPROVED",
        "RESOLVED",
        "CLOSES",
        "MENTIONS",
        "REFERENCES",
        "PART_OF",
        "REPLIES_TO",
        "COMMENTS_ON",
        "LABELED",
        "IN_MILESTONE",
        "MERGED_AS",
        "RELATES_TO",
    ] {
        assert!(names.contains(name), "there is no {name}");
    }
}

#[tokio::test]
async fn edges_can_be_narrowed_and_paged() {
    let api = Api::new();
    let query = "query ($first: Int, $after: String) { node(id: \"acme/shop\") { ... on Project {
        edges(direction: IN, names: [PART_OF], first: $first, after: $after) {
          totalCount nodes { __typename id } edges { name cursor } pageInfo { hasNextPage hasPreviousPage endCursor }
        } } } }";
    let whole = api.data_with(query, json!({ "first": 100 })).await["node"]["edges"].take();
    assert_eq!(texts(&whole["edges"], "/name").iter().collect::<BTreeSet<_>>().len(), 1);
    assert_eq!(whole["totalCount"], whole["nodes"].as_array().unwrap().len());
    let mut found: Vec<String> = vec![];
    let mut after = Value::Null;
    loop {
        let page = api.data_with(query, json!({ "first": 4, "after": after })).await["node"]["edges"].take();
        assert_eq!(page["pageInfo"]["hasPreviousPage"], !after.is_null());
        assert_eq!(page["totalCount"], whole["totalCount"]);
        found.extend(texts(&page["nodes"], "/id"));
        assert!(whole["totalCount"].as_u64() >= Some(found.len() as u64), "the list does not end: {found:?}");
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
    }
    assert_eq!(found, texts(&whole["nodes"], "/id"));
    let none = api.data_with(query, json!({ "first": 0 })).await["node"]["edges"].take();
    assert_eq!(none["totalCount"], whole["totalCount"]);
    assert_eq!(none["pageInfo"], json!({ "hasNextPage": false, "hasPreviousPage": false, "endCursor": null }));
}

#[tokio::test]
async fn pages_of_a_list_hold_every_item_once_and_newest_first() {
    let api = Api::new();
    for list in ["issues", "mergeRequests"] {
        let query = format!(
            "query ($first: Int, $after: String) {{ {list}(first: $first, after: $after) {{ totalCount
               nodes {{ id updatedAt }} edges {{ cursor node {{ id }} }} pageInfo {{ hasNextPage endCursor }} }} }}"
        );
        let whole = api.data_with(&query, json!({ "first": 100 })).await[list].take();
        let times = texts(&whole["nodes"], "/updatedAt");
        assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
        assert_eq!(whole["totalCount"], times.len());
        let mut found: Vec<String> = vec![];
        let mut after = Value::Null;
        while after != "end" {
            let page = api.data_with(&query, json!({ "first": 2, "after": after })).await[list].take();
            found.extend(texts(&page["edges"], "/node/id"));
            assert_eq!(
                page["pageInfo"]["endCursor"],
                *page["edges"].as_array().unwrap().last().unwrap().get("cursor").unwrap()
            );
            assert!(found.len() <= times.len(), "{list} does not end: {found:?}");
            let more = page["pageInfo"]["hasNextPage"] == true;
            after = if more { page["pageInfo"]["endCursor"].clone() } else { json!("end") };
        }
        assert_eq!(found, texts(&whole["nodes"], "/id"));
        assert!(found.len() >= 5);
    }
    let none = api.data("{ issues(first: 0) { totalCount nodes { id } } }").await;
    assert_eq!(none["issues"], json!({ "totalCount": 6, "nodes": [] }));
}

#[tokio::test]
async fn lists_can_be_narrowed() {
    let api = Api::new();
    for (filter, expected) in [
        ("{ states: OPENED }", vec!["acme/shop#2", "acme/shop#4", "acme/shop#5", "acme/shop#6"]),
        ("{ authors: \"carol\" }", vec!["acme/shop#4", "acme/shop#5", "acme/shop#6"]),
        ("{ labels: { any: \"security\" } }", vec!["acme/shop#1", "acme/shop#4"]),
        ("{ labels: { all: [\"security\"] }, states: [OPENED], authors: [\"@carol\"] }", vec!["acme/shop#4"]),
    ] {
        let query = format!(
            "{{ issues(filter: {filter}) {{ totalCount nodes {{ id }} }}
                project(fullPath: \"acme/shop\") {{ issues {{ totalCount }} mergeRequests(first: 1) {{ totalCount }} }} }}"
        );
        let data = api.data(&query).await;
        let mut found = texts(&data["issues"]["nodes"], "/id");
        found.sort();
        assert_eq!(found, expected, "{filter}");
        assert_eq!(data["issues"]["totalCount"], expected.len(), "{filter}");
        assert_eq!(data["project"], json!({ "issues": { "totalCount": 6 }, "mergeRequests": { "totalCount": 5 } }));
    }
}

#[tokio::test]
async fn search_leads_into_the_graph() {
    let api = Api::new();
    let data = api
        .data(
            r#"{ search(query: "clock skew of phones", mode: LEXICAL, filter: { kinds: [DISCUSSION] }) {
              query mode coverage { documentCount byKind { kind documentCount } }
              hits { documentId kind parent { id } title score parts { name score } node { id ... on Discussion { notes { body } } } }
            } }"#,
        )
        .await;
    let hit = &data["search"]["hits"][0];
    assert_eq!(hit["kind"], "DISCUSSION");
    assert_eq!(hit["parent"]["id"], "acme/shop!2");
    assert_eq!(hit["node"]["id"], hit["documentId"]);
    assert!(hit.pointer("/node/notes/1/body").unwrap().as_str().unwrap().contains("clock skew"));
    let lexical = |part: &&Value| part["name"] == "LEXICAL" && part["score"].as_f64() > Some(0.5);
    assert!(hit["parts"].as_array().unwrap().iter().any(|part| lexical(&part)), "{hit}");
}

/// A list of a hundred, and all that is asked of each of them: how often the stores are read must not depend on how
/// long the list is.
#[tokio::test]
async fn lists_are_read_in_batches() {
    let forge = Forge::start();
    for number in 0..100 {
        let issue = forge.new_issue("acme/shop", "carol", &format!("Issue {number}"), "Like #1, says @alice.");
        forge.discuss(&issue, "bob", "Why?");
    }
    let api = Api::of(forge);
    let query = "query Batches($first: Int!) { issues(first: $first) { nodes {
        id title author { name } labels(first: 3) { nodes { name color } } project { name }
        discussions(first: 1) { nodes { notes(first: 1) { body author { name } } } }
        edges(first: 4) { edges { name node { id known } } }
      } } }";
    let request = json!({ "query": query, "operationName": "Batches", "variables": { "first": 100 } });
    let response = api.http.post(api.url("/graphql")).json(&request).send().await.unwrap();
    let answer: Value = response.json().await.unwrap();
    assert_eq!(answer["data"]["issues"]["nodes"].as_array().unwrap().len(), 100, "{answer:#}");

    let log = fs::read_to_string(api.sandbox.path().join("serve.log")).unwrap();
    let line = log.lines().rfind(|line| line.contains("Batches")).unwrap();
    let number = |name: &str| -> u64 {
        let (_, rest) = line.split_once(&format!("{name}=")).unwrap();
        rest.split(' ').next().unwrap().parse().unwrap()
    };
    assert!(number("keys") > 300, "{line}");
    // Five levels, a batch for each kind of thing; on a slow machine a level comes in several, which are still far
    // fewer than what is looked up.
    assert!(number("batches") <= 150, "{line}");
}

#[tokio::test]
async fn edges_are_counted_beyond_the_pages() {
    let forge = Forge::start();
    let references: String = (100..20_105).map(|iid| format!("#{iid} ")).collect();
    let issue = forge.new_issue("acme/shop", "carol", "Many", &references);
    let api = Api::of(forge);
    let query = "query ($id: ID!) { node(id: $id) { ... on Issue {
        references: edges(names: [REFERENCES], first: 1) { totalCount atLeast }
        both: edges(names: [REFERENCES, PART_OF], first: 1) { totalCount atLeast }
        project: edges(names: [PART_OF]) { totalCount atLeast }
    } } }";
    let node = api.data_with(query, json!({ "id": issue })).await["node"].take();
    assert_eq!(node["references"], json!({ "totalCount": 20_005, "atLeast": false }));
    assert_eq!(node["both"], json!({ "totalCount": 20_006, "atLeast": false }));
    assert_eq!(node["project"], json!({ "totalCount": 1, "atLeast": false }));
}

#[tokio::test]
async fn a_list_of_an_unknown_project_is_refused() {
    let api = Api::new();
    for field in ["issues", "mergeRequests"] {
        for selection in ["nodes { id }", "totalCount"] {
            let query = format!("{{ {field}(filter: {{ projects: \"no/such\" }}) {{ {selection} }} }}");
            let (code, message) = api.error(&query).await;
            assert_eq!(code, "INVALID", "{query}");
            assert!(
                message.starts_with("no/such is not known; known projects: ") && message.contains("acme/shop"),
                "{message}"
            );
        }
    }
    // People and labels are named in any case.
    let count = async |author: &str| {
        let query = format!(
            "{{ mergeRequests(filter: {{ projects: \"acme/shop\", authors: \"{author}\" }}) {{ totalCount }} }}"
        );
        api.data_with(&query, Value::Null).await["mergeRequests"]["totalCount"].as_u64().unwrap()
    };
    let own = count("johndoe").await;
    assert!(own > 0);
    assert_eq!((count("JOHNDOE").await, count("@JohnDoe").await), (own, own));
}

#[tokio::test]
async fn an_empty_list_says_which_name_is_nearest() {
    let api = Api::new();
    let warnings = async |query: &str| {
        let answer = api.answer(query, Value::Null).await;
        assert!(answer["errors"].is_null(), "{answer:#}");
        answer["extensions"]["warnings"].clone()
    };
    let by = "nothing is by 'allice'; the nearest name is 'alice'";
    assert_eq!(warnings("{ issues(filter: { authors: \"@allice\" }) { nodes { id } } }").await, json!([by]));
    let both = "{ project(fullPath: \"acme/shop\") {
        issues(filter: { authors: \"allice\", labels: { any: \"performence\" } }) { nodes { id } }
        mergeRequests(filter: { authors: \"allice\" }) { nodes { id } }
    } }";
    let labels = "nothing has the label 'performence'; the nearest name is 'performance'";
    let told = warnings(both).await;
    assert!(told == json!([by, labels]), "each once: {told}");
    // Of people who are not known, too, and if only totals are asked for.
    let milestone = "nothing is in a milestone with the number 99";
    for (query, expected) in [
        ("{ issues(first: 0, filter: { authors: \"allice\" }) { totalCount } }", by),
        ("{ issues(last: 0, filter: { authors: \"allice\" }) { groupBy(field: STATE) { complete } } }", by),
        ("{ discussions(first: 0, filter: { authors: \"allice\" }) { activity(by: YEAR) { complete } } }", by),
        (
            "{ mergeRequests(first: 0, filter: { reviewers: \"@bobb\" }) { totalCount } }",
            "nobody is known as 'bobb'; the nearest name is 'bob'",
        ),
        (
            "{ issues(filter: { assignees: \"carrol\" }) { totalCount } }",
            "nobody is known as 'carrol'; the nearest name is 'carol'",
        ),
        ("{ issues(first: 0, filter: { milestones: 99 }) { totalCount } }", milestone),
    ] {
        assert_eq!(warnings(query).await, json!([expected]), "{query}");
    }
    // Who is known, or did not ask for anything, has no other name to be told.
    for query in [
        "{ issues(filter: { authors: \"ALICE\", states: MERGED }) { nodes { id } } }",
        "{ issues(filter: { authors: \"alice\" }) { nodes { id } } }",
        "{ issues(first: 0, filter: { authors: \"alice\" }) { totalCount } }",
        "{ mergeRequests(first: 0, filter: { reviewers: \"bob\", states: LOCKED }) { totalCount } }",
        "{ mergeRequests(first: 0, filter: { reviewers: [\"bob\", \"bobb\"] }) { totalCount } }",
        "{ issues(filter: { states: LOCKED }) { nodes { id } } }",
    ] {
        assert_eq!(warnings(query).await, Value::Null, "{query}");
    }
}
