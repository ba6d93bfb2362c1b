//! Work that the API starts, and how clients follow it.

use serde_json::{Value, json};

use super::{Api, access::Socket};

/// Follows a task over a connection of its own; what was told, until the end.
async fn followed(api: &Api, id: &str, between: impl FnOnce()) -> Vec<Value> {
    let mut socket = Socket::connect(&api.server.url, &[]).await.ok().unwrap();
    socket.send(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.next().await, Some(json!({ "type": "connection_ack" })));
    let query = "subscription ($id: ID!) { taskProgress(id: $id) { id kind status error { code message } summary } }";
    let payload = json!({ "query": query, "variables": { "id": id } });
    socket.send(json!({ "id": "a", "type": "subscribe", "payload": payload })).await;
    let mut between = Some(between);
    let mut told = vec![];
    loop {
        let message = socket.next().await.unwrap();
        if message["type"] == "complete" {
            return told;
        }
        told.push(message["payload"].clone());
        if let Some(between) = between.take() {
            between();
        }
    }
}

#[tokio::test]
async fn a_sync_is_followed_to_its_end() {
    let api = Api::new();
    api.forge.advance(3600);
    let new = api.forge.new_issue("acme/shop", "bob", "Gift cards", "");
    api.forge.hold();
    let started = api.data("mutation { sync { id number kind status startedAt finishedAt } }").await["sync"].take();
    assert_eq!(started["kind"], "SYNC");
    assert_eq!(started["status"], "RUNNING");
    assert_eq!(started["finishedAt"], Value::Null);
    let id = started["id"].as_str().unwrap();
    assert_eq!(id, format!("task/{}", started["number"]));

    // One sync at a time.
    let (code, message) = api.error("mutation { sync { id } }").await;
    assert_eq!(code, "CONFLICT", "{message}");
    let running = api.data("{ syncStatus { running { id } runs { status } } }").await;
    assert_eq!(running.pointer("/syncStatus/running/id"), Some(&started["id"]));

    let told = followed(&api, id, || api.forge.release()).await;
    let statuses: Vec<&str> =
        told.iter().map(|told| told["data"]["taskProgress"]["status"].as_str().unwrap()).collect();
    assert_eq!(statuses.first(), Some(&"RUNNING"));
    assert_eq!(statuses.last(), Some(&"SUCCEEDED"));
    assert_eq!(statuses.iter().filter(|status| **status != "RUNNING").count(), 1);
    assert_eq!(told.last().unwrap().pointer("/data/taskProgress/summary/changed/issue"), Some(&json!(1)));
    let found = api.data(&format!("{{ issue(id: \"{new}\") {{ title }} }}")).await;
    assert_eq!(found["issue"]["title"], "Gift cards");

    // Of a task that has ended the end is told, once.
    assert_eq!(followed(&api, id, || {}).await, told[told.len() - 1..]);
    // By its id and by its number.
    for id in [id, &started["number"].to_string()] {
        let task = api.data(&format!("{{ task(id: \"{id}\") {{ status }} }}")).await;
        assert_eq!(task["task"]["status"], "SUCCEEDED");
    }
}

#[tokio::test]
async fn a_sync_on_record_says_how_much_it_read() {
    let api = Api::new();
    for (arguments, expected) in [
        ("(scope: RECONCILE)", json!({ "scope": "RECONCILE", "only": [] })),
        ("(only: [ISSUES, REPOSITORY])", json!({ "scope": "NEW", "only": ["ISSUES", "REPOSITORY"] })),
    ] {
        let started = api.data(&format!("mutation {{ sync{arguments} {{ id }} }}")).await;
        followed(&api, started["sync"]["id"].as_str().unwrap(), || {}).await;
        let status = api.data("{ syncStatus(runs: 1) { runs { scope only } } }").await;
        assert_eq!(status["syncStatus"]["runs"], json!([expected]), "{arguments}");
    }
}

#[tokio::test]
async fn a_task_that_fails_says_why() {
    let api = Api::new();
    api.forge.fail(crate::support::Fault::Status(401), "/", usize::MAX);
    let started = api.data("mutation { sync { id } }").await;
    let told = followed(&api, started["sync"]["id"].as_str().unwrap(), || {}).await;
    let end = &told.last().unwrap()["data"]["taskProgress"];
    assert_eq!(end["status"], "FAILED");
    assert_eq!(end["error"]["code"], "CONFIGURATION", "{end}");
    assert!(!end["error"]["message"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn what_cannot_be_followed_is_told_at_once() {
    let api = Api::new();
    let told = followed(&api, "99", || {}).await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["errors"][0]["extensions"]["code"], "NOT_FOUND");
    let (code, _) = api.error("mutation { sync(projects: [\"acme/nothing\"]) { id } }").await;
    assert_eq!(code, "INVALID");
}

#[tokio::test]
async fn a_rebuild_keeps_what_the_graph_says() {
    let api = Api::new();
    let before = api.data("{ digest { value quads } }").await;
    let started = api.data("mutation { rebuild(projection: GRAPH) { id } }").await;
    let told = followed(&api, started["rebuild"]["id"].as_str().unwrap(), || {}).await;
    let summary = &told.last().unwrap()["data"]["taskProgress"]["summary"];
    assert_eq!(summary["digest"], before["digest"]["value"]);
    let after = api
        .data("{ digest { value quads } check { ok findings { rule problems } } stats { issueCount noteCount } }")
        .await;
    assert_eq!(after["digest"], before["digest"]);
    assert_eq!(after["check"]["ok"], true, "{:#}", after["check"]);
    assert_eq!(after["stats"]["issueCount"], 6);
}

// Row 58 of docs/requirements.md.
#[tokio::test]
async fn what_changes_is_told_as_soon_as_it_can_be_read() {
    let api = Api::new();
    let mut socket = Socket::connect(&api.server.url, &[]).await.ok().unwrap();
    socket.send(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.next().await, Some(json!({ "type": "connection_ack" })));
    let query = "subscription { changes(projects: [\"acme/shop\"]) { nodes { id ... on Issue { title } } } }";
    socket.send(json!({ "id": "c", "type": "subscribe", "payload": { "query": query } })).await;
    // Nothing says when a subscription has begun, so what changes before may not be told.
    for number in 0..10 {
        api.forge.advance(3600);
        let title = format!("Gift cards {number}");
        let new = api.forge.new_issue("acme/shop", "bob", &title, "");
        api.sandbox.run(&["sync"]).ok();
        let told = tokio::time::timeout(std::time::Duration::from_secs(10), socket.next()).await;
        let Ok(Some(message)) = told else { continue };
        let nodes = &message["payload"]["data"]["changes"]["nodes"];
        let found = nodes.as_array().unwrap().iter().find(|node| node["id"] == new.as_str());
        assert_eq!(found.map(|node| &node["title"]), Some(&json!(title)), "{message:#}");
        // What changes again is told as it is then.
        api.forge.advance(3600);
        api.forge.edit_title(&new, "Vouchers");
        api.sandbox.run(&["sync"]).ok();
        let message = socket.next().await.unwrap();
        let nodes = &message["payload"]["data"]["changes"]["nodes"];
        assert_eq!(*nodes, json!([{ "id": new, "title": "Vouchers" }]), "{message:#}");
        return;
    }
    panic!("nothing was told");
}

/// What the subscription `changes` tells after a number, until it has told of some nodes that are there and some that are
/// gone: the number up to which it told, the nodes that are there, and those that are gone, each with the reason.
async fn changes_after(
    api: &Api,
    mut after: u64,
    wanted: &[&str],
    gone: &[&str],
) -> (u64, Vec<String>, Vec<(String, String)>) {
    let mut socket = Socket::connect(&api.server.url, &[]).await.ok().unwrap();
    socket.send(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.next().await, Some(json!({ "type": "connection_ack" })));
    let query = "subscription ($after: BigInt) { changes(projects: \"acme/shop\", after: $after) {
        seq nodes { id } removed { node { id } reason removedAt } } }";
    let payload = json!({ "query": query, "variables": { "after": after } });
    socket.send(json!({ "id": "a", "type": "subscribe", "payload": payload })).await;
    let (mut there, mut removed) = (Vec::<String>::new(), Vec::<(String, String)>::new());
    loop {
        let message = socket.next().await.unwrap();
        let changes = &message["payload"]["data"]["changes"];
        assert!(changes["seq"].as_u64() > Some(after), "{message:#}");
        after = changes["seq"].as_u64().unwrap();
        there.extend(super::texts(&changes["nodes"], "/id"));
        let reasons = super::texts(&changes["removed"], "/reason");
        removed.extend(super::texts(&changes["removed"], "/node/id").into_iter().zip(reasons));
        assert!(super::texts(&changes["removed"], "/removedAt").iter().all(|at| at.parse::<jiff::Timestamp>().is_ok()));
        let is_there = |id: &&str| there.iter().any(|own| own == id);
        let is_gone = |id: &&str| removed.iter().any(|(own, _)| own == id);
        if wanted.iter().all(is_there) && gone.iter().all(is_gone) {
            return (after, there, removed);
        }
    }
}

#[tokio::test]
async fn what_is_gone_is_told_with_the_reason() {
    let api = Api::new();
    let (before, _, removed) = changes_after(&api, 0, &["acme/shop#1"], &[]).await;
    assert!(removed.is_empty(), "{removed:?}");
    api.forge.advance(3600);
    let new = api.forge.new_issue("acme/shop", "bob", "Gift cards", "");
    api.sandbox.run(&["sync"]).ok();
    api.forge.delete(&new);
    api.sandbox.run(&["sync", "--reconcile"]).ok();
    // Of what is forgotten nothing is left that could have a number of its own.
    api.sandbox.run(&["forget", "acme/shop#2", "--json"]).ok();
    let (_, there, removed) = changes_after(&api, before, &[], &[&new, "acme/shop#2"]).await;
    assert!(!there.contains(&new) && !there.contains(&"acme/shop#2".to_owned()), "{there:?}");
    let reasons =
        |id: &str| -> Vec<&String> { removed.iter().filter(|(own, _)| own == id).map(|(_, reason)| reason).collect() };
    assert_eq!(reasons(&new), ["GONE"], "{removed:?}");
    assert_eq!(reasons("acme/shop#2"), ["FORGOTTEN"], "{removed:?}");
    let of_forgotten = removed.iter().filter(|(id, _)| id.starts_with("acme/shop#2"));
    assert_eq!(of_forgotten.count(), 1, "what belonged to it is not named: {removed:?}");

    // What may be read again is there like anything that is new.
    api.sandbox.run(&["forget", "--undo", "acme/shop#2"]).ok();
    api.sandbox.run(&["sync"]).ok();
    let (_, _, removed) = changes_after(&api, before, &["acme/shop#2"], &[&new]).await;
    assert_eq!(removed.iter().filter(|(id, _)| id == "acme/shop#2").count(), 0, "{removed:?}");
}

#[tokio::test]
async fn what_is_not_kept_any_more_is_told_as_such() {
    let api = Api::new();
    let (before, _, _) = changes_after(&api, 0, &["acme/shop#1"], &[]).await;
    api.forge.advance(400 * 24 * 3600);
    api.sandbox.configure("[retention]\ndays = 60\n");
    drop(api.server);
    api.sandbox.run(&["sync"]).ok();
    let server = api.sandbox.serve();
    let api = Api { forge: api.forge, sandbox: api.sandbox, server, http: api.http };
    let (_, _, removed) = changes_after(&api, before, &[], &["acme/shop#3"]).await;
    let reasons: Vec<&str> =
        removed.iter().filter(|(id, _)| id == "acme/shop#3").map(|(_, reason)| reason.as_str()).collect();
    assert_eq!(reasons, ["RETIRED"], "{removed:?}");
}

/// A page of the query `changes` of `acme/shop`: the nodes, each with the reason if it is gone; where the page ends, and
/// whether there is more.
async fn poll(api: &Api, after: Option<&str>, first: usize) -> (Vec<(String, Option<String>)>, String, bool) {
    let query = "query ($after: String, $first: Int) { changes(projects: \"acme/shop\", after: $after, first: $first) {
        edges { cursor } nodes { node { id } removalReason removedAt } pageInfo { startCursor endCursor hasNextPage } } }";
    let page = api.data_with(query, json!({ "after": after, "first": first })).await["changes"].take();
    let mut told = Vec::new();
    for change in page["nodes"].as_array().unwrap() {
        let reason = change["removalReason"].as_str().map(str::to_owned);
        assert_eq!(reason.is_some(), change["removedAt"].is_string(), "{change:#}");
        told.push((change["node"]["id"].as_str().unwrap().to_owned(), reason));
    }
    let cursors = super::texts(&page["edges"], "/cursor");
    assert_eq!(cursors.first().map(String::as_str), page["pageInfo"]["startCursor"].as_str(), "{page:#}");
    let end = page["pageInfo"]["endCursor"].as_str().unwrap().to_owned();
    assert_eq!(cursors.last().map_or(after.unwrap_or(&end), String::as_str), end, "{page:#}");
    (told, end, page["pageInfo"]["hasNextPage"].as_bool().unwrap())
}

/// All that the query `changes` tells after a cursor, in pages of a size.
async fn poll_all(api: &Api, after: &str, first: usize) -> Vec<(String, Option<String>)> {
    let (mut all, mut after) = (Vec::new(), after.to_owned());
    loop {
        let (told, end, has_more) = poll(api, Some(&after), first).await;
        assert!(told.len() <= first && (told.len() == first || !has_more), "{told:?}");
        all.extend(told);
        after = end;
        if !has_more {
            return all;
        }
    }
}

#[tokio::test]
async fn who_polls_is_told_what_changed_since_a_cursor() {
    let api = Api::new();
    let (told, now, has_more) = poll(&api, None, 20).await;
    assert!(told.is_empty() && !has_more, "without a cursor it begins with what changes from now on: {told:?}");
    assert_eq!(poll(&api, Some(&now), 20).await, (Vec::new(), now.clone(), false));
    let all = poll_all(&api, "0", 100).await;
    assert!(all.len() > 10 && all.contains(&("acme/shop#1".to_owned(), None)), "{all:?}");
    assert_eq!(poll_all(&api, "0", 3).await, all, "in pages of any size");
    assert_eq!(poll(&api, Some("0"), 0).await, (Vec::new(), "0".to_owned(), true));

    api.forge.advance(3600);
    let new = api.forge.new_issue("acme/shop", "bob", "Gift cards", "");
    api.sandbox.run(&["sync"]).ok();
    let (told, later, _) = poll(&api, Some(&now), 20).await;
    assert!(told.contains(&(new.clone(), None)), "{told:?}");
    assert_eq!(poll(&api, Some(&now), 20).await.0, told, "a cursor can be kept");
    assert_eq!(poll(&api, Some(&later), 20).await, (Vec::new(), later.clone(), false));

    api.forge.delete(&new);
    api.sandbox.run(&["sync", "--reconcile"]).ok();
    api.sandbox.run(&["forget", "acme/shop#2", "--json"]).ok();
    let told = poll_all(&api, &later, 20).await;
    let of = |id: &str| -> Vec<Option<&str>> {
        told.iter().filter(|(own, _)| own == id).map(|(_, reason)| reason.as_deref()).collect()
    };
    assert_eq!((of(&new), of("acme/shop#2")), (vec![Some("GONE")], vec![Some("FORGOTTEN")]), "{told:?}");
    // What was forgotten before is not told to who begins now.
    let (_, now, _) = poll(&api, None, 20).await;
    assert_eq!(poll(&api, Some(&now), 20).await, (Vec::new(), now.clone(), false));

    // The subscription goes on where a poll ended.
    let (_, there, removed) = changes_after(&api, later.parse().unwrap(), &[], &[&new, "acme/shop#2"]).await;
    assert!(!there.contains(&new) && removed.len() >= 2, "{there:?} {removed:?}");
    for cursor in ["x", "-1", ""] {
        let query = format!("{{ changes(after: \"{cursor}\") {{ nodes {{ removedAt }} }} }}");
        let (code, message) = api.error(&query).await;
        assert!(code == "INVALID" && message.contains("is not a cursor of this list"), "{code}: {message}");
    }
    let (code, message) = api.error("{ changes(projects: \"acme/nothing\") { nodes { removedAt } } }").await;
    assert!(code == "INVALID" && message.starts_with("acme/nothing is not known"), "{code}: {message}");
}

#[tokio::test]
async fn jobs_are_told_by_project() {
    let (shop, other) = (crate::cli_repositories::shop(), crate::cli_repositories::shop());
    let api = Api::of_repository(&shop);
    let address = other.path().display().to_string();
    let add = "mutation ($address: String!) { addRepository(address: $address, name: \"acme/other\") { id } }";
    api.data_with(add, json!({ "address": address })).await;
    let queue = "mutation ($project: String!) { queueJob(project: $project) { id } }";
    for project in ["acme/shop", "acme/other", "acme/shop"] {
        api.data_with(queue, json!({ "project": project })).await;
    }
    let query = "{ one: jobs(projects: \"acme/other\") { nodes { project { id } } }
        both: jobs(projects: [\"acme/other\", \"acme/shop\"]) { nodes { id } } all: jobs { nodes { id } }
        project(fullPath: \"acme/shop\") { jobs(first: 100) { nodes { project { id } kind } } } }";
    let data = api.data(query).await;
    assert_eq!(super::texts(&data["one"]["nodes"], "/project/id"), ["acme/other"]);
    assert_eq!(data["both"], data["all"], "{data:#}");
    let of_shop = super::texts(&data["project"]["jobs"]["nodes"], "/project/id");
    assert!(!of_shop.is_empty() && of_shop.iter().all(|id| id == "acme/shop"), "{data:#}");
    let listed = api.sandbox.run(&["jobs", "list", "--project", "acme/other", "--json"]).ok().json();
    assert_eq!(super::texts(&listed, "/project"), ["acme/other"]);
    let rest = api.http.get(api.url("/api/v1/jobs?project=acme%2Fother")).send().await.unwrap();
    let rest: Value = rest.json().await.unwrap();
    assert_eq!(super::texts(&rest["items"], "/project"), ["acme/other"], "{rest:#}");
    let (code, message) = api.error("{ jobs(projects: \"acme/nothing\") { nodes { id } } }").await;
    assert!(code == "INVALID" && message.starts_with("acme/nothing is not known"), "{code}: {message}");
}

#[tokio::test]
async fn a_client_that_was_away_is_told_what_changed_meanwhile() {
    let api = Api::new();
    let mut socket = Socket::connect(&api.server.url, &[]).await.ok().unwrap();
    socket.send(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.next().await, Some(json!({ "type": "connection_ack" })));
    let query =
        "subscription ($after: BigInt) { changes(projects: \"acme/shop\", after: $after) { seq nodes { id } } }";
    let (mut after, mut told) = (0, Vec::new());
    for name in ["a", "b"] {
        let payload = json!({ "query": query, "variables": { "after": after } });
        socket.send(json!({ "id": name, "type": "subscribe", "payload": payload })).await;
        let message = socket.next().await.unwrap();
        let changes = &message["payload"]["data"]["changes"];
        assert!(changes["seq"].as_u64() > Some(after), "{message:#}");
        after = changes["seq"].as_u64().unwrap();
        told.extend(super::texts(&changes["nodes"], "/id"));
        if told.contains(&"acme/shop#1".to_owned()) {
            return;
        }
        socket.send(json!({ "id": name, "type": "complete" })).await;
    }
    panic!("acme/shop#1 is not among the first changes: {told:?}");
}
