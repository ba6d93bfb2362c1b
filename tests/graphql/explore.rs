//! Neighborhoods of nodes and paths between them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::{Api, texts};

#[tokio::test]
async fn a_neighborhood_has_what_is_near_and_says_what_it_leaves_out() {
    let api = Api::new();
    let around = async |arguments: &str| {
        let query = format!(
            r#"{{ node(id: "acme/shop!2") {{ ... on MergeRequest {{ neighborhood({arguments}) {{
                nodes {{ distance node {{ id }} }} edges {{ from {{ id }} name to {{ id }} }} leftOut }} }} }} }}"#
        );
        api.data_with(&query, Value::Null).await["node"]["neighborhood"].take()
    };
    let near = around("names: [CLOSES, APPROVED]").await;
    let ids = texts(&near["nodes"], "/node/id");
    assert!(ids.iter().any(|id| id == "acme/shop#1") && ids.iter().any(|id| id == "@janedoe"), "{near:#}");
    assert!(near["nodes"].as_array().unwrap().iter().all(|node| node["distance"] == 1), "{near:#}");
    let closes = json!({ "from": { "id": "acme/shop!2" }, "name": "CLOSES", "to": { "id": "acme/shop#1" } });
    assert!(near["edges"].as_array().unwrap().contains(&closes), "{near:#}");
    assert_eq!(near["leftOut"], json!([]));

    let two = around("depth: 2, first: 100").await;
    let distances: Vec<u64> =
        two["nodes"].as_array().unwrap().iter().map(|node| node["distance"].as_u64().unwrap()).collect();
    assert!(distances.is_sorted() && distances.contains(&1) && distances.contains(&2), "{distances:?}");
    assert!(!texts(&two["nodes"], "/node/id").contains(&"acme/shop!2".to_owned()), "{two:#}");

    let cut = around("first: 1").await;
    assert_eq!(cut["nodes"].as_array().unwrap().len(), 1);
    let said = cut["leftOut"][0].as_str().unwrap();
    assert!(
        said.contains("more nodes; the limit is 1; for more, raise the limit, name the edges to follow"),
        "{cut:#}"
    );

    for (arguments, expected) in [("depth: 0", "the depth is 0; it must be 1 to 3"), ("first: 101", "'first' is 101")] {
        let query = format!(
            r#"{{ node(id: "acme/shop!2") {{ ... on MergeRequest {{ neighborhood({arguments}) {{ leftOut }} }} }} }}"#
        );
        let (code, message) = api.error(&query).await;
        assert!(code == "INVALID" && message.starts_with(expected), "{code}: {message}");
    }
}

// Row 55 of docs/requirements.md.
#[tokio::test]
async fn the_shortest_path_is_found() {
    let api = Api::new();
    let path = async |from: &str, to: &str, more: &str| {
        let query = format!(
            r#"{{ path(from: "{from}", to: "{to}"{more}) {{
                nodes {{ id }} edges {{ from {{ id }} name to {{ id }} }} leftOut }} }}"#
        );
        let path = api.data_with(&query, Value::Null).await["path"].take();
        assert_eq!(path["leftOut"], json!([]), "{path:#}");
        (texts(&path["nodes"], "/id"), texts(&path["edges"], "/name"))
    };
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let names = ", names: [APPROVED, CLOSES]";
    let there = (owned(&["@janedoe", "acme/shop!2", "acme/shop#1"]), owned(&["APPROVED", "CLOSES"]));
    assert_eq!(path("@janedoe", "acme/shop#1", names).await, there);
    let back = (owned(&["acme/shop#1", "acme/shop!2", "@janedoe"]), owned(&["CLOSES", "APPROVED"]));
    assert_eq!(path("acme/shop#1", "@janedoe", names).await, back);
    assert_eq!(path("@janedoe", "acme/shop#1", &format!("{names}, maxLength: 1")).await, (vec![], vec![]));
    assert_eq!(path("@janedoe", "acme/shop#1", ", names: [BLOCKS]").await, (vec![], vec![]));
    assert_eq!(path("acme/shop#1", "acme/shop#1", "").await, (owned(&["acme/shop#1"]), vec![]));
    // What two requests share with many others connects them only if it is asked for.
    assert_eq!(path("acme/shop!1", "acme/shop!3", ", maxLength: 2").await, (vec![], vec![]));
    let shared = (owned(&["acme/shop!1", "acme/shop~performance", "acme/shop!3"]), owned(&["LABELED", "LABELED"]));
    assert_eq!(path("acme/shop!1", "acme/shop!3", ", names: [LABELED]").await, shared);
    // Over any edge nothing is farther.
    assert!(path("@janedoe", "acme/shop#1", "").await.0.len() <= 3);

    for (query, expected) in [
        (r#"{ path(from: "@nobody-else", to: "acme/shop#1") { leftOut } }"#, "NOT_FOUND"),
        (r#"{ path(from: "acme/shop#1", to: "acme/shop#998") { leftOut } }"#, "NOT_FOUND"),
        (r#"{ path(from: "acme/shop#1", to: "no id") { leftOut } }"#, "INVALID"),
        (r#"{ path(from: "acme/shop#1", to: "acme/shop!2", maxLength: 9) { leftOut } }"#, "INVALID"),
    ] {
        assert_eq!(api.error(query).await.0, expected, "{query}");
    }
}

/// The nodes next to each of those that can be reached from one. Everything is linked with the project, so no path runs over it.
async fn adjacency(api: &Api, start: &str, names: &str) -> BTreeMap<String, BTreeSet<String>> {
    let query = format!(
        "query ($id: ID!) {{ node(id: $id) {{ neighborhood(names: {names}, first: 100) {{ nodes {{ node {{ id }} }} leftOut }} }} }}"
    );
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut open = vec![start.to_owned()];
    while let Some(id) = open.pop() {
        if found.contains_key(&id) {
            continue;
        }
        let around = api.data_with(&query, json!({ "id": id })).await["node"]["neighborhood"].take();
        assert_eq!(around["leftOut"], json!([]), "{id}");
        let mut near = texts(&around["nodes"], "/node/id");
        near.retain(|id| id != "acme/shop");
        open.extend(near.iter().cloned());
        found.insert(id, near.into_iter().collect());
    }
    found
}

fn distances(adjacency: &BTreeMap<String, BTreeSet<String>>, start: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::from([(start.to_owned(), 0)]);
    let mut open = VecDeque::from([start.to_owned()]);
    while let Some(id) = open.pop_front() {
        let next = found[&id] + 1;
        for near in &adjacency[&id] {
            if !found.contains_key(near) {
                found.insert(near.clone(), next);
                open.push_back(near.clone());
            }
        }
    }
    found
}

#[tokio::test]
async fn a_path_is_as_short_as_a_search_of_all_edges_finds_it() {
    const NAMES: &str = "[CLOSES, PART_OF, MODIFIES, REFERENCES, PROPOSES, COMMENTS_ON, LABELED]";
    const MAX_LENGTH: usize = 6;
    let api = Api::new();
    let adjacency = adjacency(&api, "acme/shop!2", NAMES).await;
    assert!(adjacency.len() > 15, "{adjacency:?}");
    let query = format!(
        "query ($from: ID!, $to: ID!) {{ path(from: $from, to: $to, names: {NAMES}, maxLength: {MAX_LENGTH}) {{
            nodes {{ id }} leftOut }} }}"
    );
    let mut lengths = BTreeSet::new();
    for from in adjacency.keys().step_by(3) {
        let distances = distances(&adjacency, from);
        for to in adjacency.keys().step_by(2) {
            let path = api.data_with(&query, json!({ "from": from, "to": to })).await["path"].take();
            let nodes = texts(&path["nodes"], "/id");
            let expected = distances[to];
            let is_near = expected <= MAX_LENGTH;
            assert_eq!(nodes.len(), if is_near { expected + 1 } else { 0 }, "{from} to {to}: {path:#}");
            assert!(nodes.windows(2).all(|ends| adjacency[&ends[0]].contains(&ends[1])), "{path:#}");
            assert_eq!(path["leftOut"], json!([]));
            lengths.insert(expected);
        }
    }
    assert!(lengths.len() > 3, "{lengths:?}");
}

#[tokio::test]
async fn any_node_can_be_walked_from_without_naming_its_type() {
    let api = Api::new();
    let query = "query ($id: ID!) { node(id: $id) { id
        edges(names: CLOSES, first: 5) { totalCount nodes { id edges(direction: IN, first: 100) { nodes { id } } } }
        neighborhood(depth: 1, first: 100) { nodes { node { id } } }
        ... on Thread { noteCount milestone { title } assignees { username } labels(first: 1) { totalCount }
          discussions(first: 1) { totalCount } } } }";
    let node = api.data_with(query, json!({ "id": "acme/shop!2" })).await["node"].take();
    assert_eq!(texts(&node["edges"]["nodes"], "/id"), ["acme/shop#1"], "{node:#}");
    let back = texts(&node["edges"]["nodes"][0]["edges"]["nodes"], "/id");
    assert!(back.contains(&"acme/shop!2".to_owned()), "{back:?}");
    assert!(texts(&node["neighborhood"]["nodes"], "/node/id").contains(&"acme/shop#1".to_owned()), "{node:#}");
    assert!(node["discussions"]["totalCount"].as_u64() > Some(0), "{node:#}");
    for id in ["acme/shop", "@bob", "acme/shop~auth", "acme/shop%2", "acme/shop#1"] {
        let node = api.data_with(query, json!({ "id": id })).await["node"].take();
        assert!(!node["neighborhood"]["nodes"].as_array().unwrap().is_empty(), "{id}: {node:#}");
    }
}
