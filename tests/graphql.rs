//! The GraphQL API as clients see it: over HTTP and WebSocket, from a server that has read the stand-in's projects.

pub(crate) mod access;
mod answers;
mod chats;
mod code;
mod cost;
mod dashboards;
mod explore;
mod limits;
mod lists;
mod order;
mod persisted;
mod repositories;
mod schema;
mod tasks;

use std::{fs, path::Path};

use expect_test::expect_file;
use serde_json::{Value, json};

use crate::support::{Forge, Sandbox, Server, sentence};

/// A server and a client for it.
struct Api {
    forge: Forge,
    sandbox: Sandbox,
    server: Server,
    http: reqwest::Client,
}

impl Api {
    /// Of a server that has read `acme/shop`.
    fn new() -> Self {
        Self::of(Forge::start())
    }

    /// Of a server that has read `acme/shop` from the forge.
    fn of(forge: Forge) -> Self {
        let sandbox = Sandbox::synced(&forge);
        // Its log tells how often it reads.
        let server = sandbox.serve_with(&["-vv"]);
        Self { forge, sandbox, server, http: reqwest::Client::builder().no_proxy().build().unwrap() }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url)
    }

    /// The whole answer to an operation.
    async fn answer(&self, query: &str, variables: Value) -> Value {
        let request = self.http.post(self.url("/graphql")).json(&json!({ "query": query, "variables": variables }));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.json().await.unwrap()
    }

    /// The data of an operation that succeeds.
    #[track_caller]
    fn data(&self, query: &str) -> impl Future<Output = Value> {
        self.data_with(query, Value::Null)
    }

    #[track_caller]
    fn data_with(&self, query: &str, variables: Value) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            let mut answer = self.answer(query, variables).await;
            assert!(answer["errors"].is_null(), "{caller}: {answer:#}");
            answer["data"].take()
        }
    }

    /// Code and message of an operation that fails.
    #[track_caller]
    fn error(&self, query: &str) -> impl Future<Output = (String, String)> {
        let caller = std::panic::Location::caller();
        async move {
            let answer = self.answer(query, Value::Null).await;
            let error = &answer["errors"][0];
            let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{caller}: {answer:#}")).to_owned();
            (text(&error["extensions"]["code"]), sentence(error))
        }
    }
}

/// The strings at a path of each element.
fn texts(list: &Value, pointer: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item.pointer(pointer).unwrap().as_str().unwrap().to_owned()).collect()
}

#[test]
fn schema_in_the_repository_is_the_real_one() {
    let schema = Sandbox::empty().run(&["schema"]).ok();
    expect_file!["../schema/schema.graphql"].assert_eq(&schema.stdout);
}

#[tokio::test]
async fn every_operation_document_is_valid() {
    let api = Api::new();
    let variables = json!({
        "query": "why", "mode": "HYBRID", "first": 1, "runs": 1, "id": "acme/shop#1", "projection": "GRAPH",
        "scope": "NEW", "force": false, "address": "/nowhere", "allBranches": false, "project": "acme/shop",
        "questions": [], "kind": "SYNC",
    });
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../queries/graphql");
    for entry in fs::read_dir(documents).unwrap() {
        let path = entry.unwrap().path();
        // Those of dashboards are asked in `dashboards`.
        if path.is_dir() {
            continue;
        }
        // Every operation of a document is validated; only the named one is executed.
        let query = format!("{}\nquery Nothing {{ __typename }}", fs::read_to_string(&path).unwrap());
        let request = json!({ "query": query, "operationName": "Nothing", "variables": variables });
        let response = api.http.post(api.url("/graphql")).json(&request).send().await.unwrap();
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["data"], json!({ "__typename": "Query" }), "{}: {answer}", path.display());
    }
}
