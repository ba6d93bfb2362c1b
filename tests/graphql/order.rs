//! Keys of an answer come in the order of the query.

use serde_json::{Value, json};

use super::Api;

/// The body of an answer, as it was sent.
async fn body(api: &Api, query: &str) -> String {
    let request = api.http.post(api.url("/graphql")).json(&json!({ "query": query }));
    request.send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn keys_are_in_the_order_of_the_query() {
    let api = Api::new();
    for query in [
        "{ issues(first: 2) { totalCount nodes { title id author { name id } } pageInfo { hasNextPage } } __typename }",
        "{ issues(first: 2) { pageInfo { hasNextPage } nodes { author { id name } id title } totalCount } stats { issueCount } }",
        "{ b: issues(first: 1) { totalCount } a: issues(first: 1) { nodes { id } totalCount } }",
        "{ issue(id: \"acme/shop#1\") { ...A id } } fragment A on Issue { title ... on Node { known } }",
    ] {
        let body = body(&api, query).await;
        let mut rest = body.as_str();
        // Keys in the order in which the query names them, of the first of each list.
        for key in keys(query) {
            let quoted = format!("\"{key}\":");
            let at = rest.find(&quoted).unwrap_or_else(|| panic!("{key} of {query} is too early in {body}"));
            rest = &rest[at + quoted.len()..];
        }
    }
    // Of a node whose type only the answer tells.
    let ids = json!(["acme/shop#1", "@janedoe", "acme/shop"]);
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) {
        ... on Person { name username id } ... on Issue { title id iid } ... on Project { id fullPath name } } }";
    let request = api.http.post(api.url("/graphql")).json(&json!({ "query": query, "variables": { "ids": ids } }));
    let body = request.send().await.unwrap().text().await.unwrap();
    let at = |key: &str| body.find(&format!("\"{key}\"")).unwrap_or_else(|| panic!("{key}: {body}"));
    assert!(at("title") < at("iid") && at("iid") < at("username") && at("username") < at("fullPath"), "{body}");
    assert!(body.contains("{\"name\":"), "the person's name comes first: {body}");
}

/// The keys that a query without arguments in its lists asks for, fragments where they are used.
fn keys(query: &str) -> Vec<String> {
    let (operation, fragment) = query.split_once("} fragment A on Issue").unwrap_or((query, ""));
    let operation = operation.replace("...A", &fragment.replace("... on Node", ""));
    let mut keys = Vec::new();
    let mut depth = 0;
    for word in operation.replace(['{', '}'], " ").replace('(', " ( ").replace(')', " ) ").split_whitespace() {
        match word {
            "(" => depth += 1,
            ")" => depth -= 1,
            alias if depth == 0 && alias.ends_with(':') => keys.push(alias.trim_end_matches(':').to_owned()),
            // What follows an alias is the field's own name.
            "issues" if operation.contains("b: issues") => {}
            key if depth == 0 => keys.push(key.to_owned()),
            _ => {}
        }
    }
    keys
}

#[tokio::test]
async fn values_are_those_of_the_query_whatever_their_order() {
    let api = Api::new();
    let twice = "{ issue(id: \"acme/shop#1\") { author { username } title author { id } } }";
    let data = api.data_with(twice, Value::Null).await;
    assert_eq!(data["issue"]["author"].as_object().unwrap().keys().collect::<Vec<_>>(), ["username", "id"]);
    let skipped = "query ($no: Boolean!) { issue(id: \"acme/shop#1\") { title @include(if: $no) id } }";
    let data = api.data_with(skipped, json!({ "no": false })).await;
    assert_eq!(data, json!({ "issue": { "id": "acme/shop#1" } }));
}
