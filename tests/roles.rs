//! The roles of a server: what it does, and what it refuses.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::{Forge, Sandbox, Server, eventually};

fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// Status of an answer, and the code of its error if it is one.
async fn outcome(server: &Server, path: &str, body: &Value) -> (u16, Option<String>) {
    let response = http().post(format!("{}{path}", server.url)).json(body).send().await.unwrap();
    let status = response.status().as_u16();
    let answer: Value = response.json().await.unwrap();
    let code = if path == "/graphql" { &answer["errors"][0]["extensions"]["code"] } else { &answer["code"] };
    (status, code.as_str().map(str::to_owned))
}

async fn graphql(server: &Server, query: &str) -> (u16, Option<String>) {
    outcome(server, "/graphql", &json!({ "query": query })).await
}

async fn roles(server: &Server) -> Value {
    let response = http().get(format!("{}/healthz", server.url)).send().await.unwrap();
    response.json::<Value>().await.unwrap()["roles"].take()
}

fn unavailable() -> (u16, Option<String>) {
    (503, Some("UNAVAILABLE".to_owned()))
}

#[tokio::test]
async fn a_server_that_only_reads_and_embeds_refuses_changes() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve_with(&["--roles", "read,embed"]);
    assert_eq!(roles(&server).await, json!(["read", "embed"]));
    let embedded = || sandbox.run(&["stats", "--json"]).ok().json()["coverage"]["embedded"].as_u64().unwrap();
    eventually("vectors", || embedded() == 25);
    forge.asked();
    expect!["this server does not sync or change anything: it was started with --roles read,embed; restart it with --roles read,write,embed"]
        .assert_eq(sandbox.run(&["sync"]).error(1));
    for command in [&["jobs", "start", "sync", "acme/shop"][..], &["rebuild", "graph"], &["forget", "acme/shop#2"]] {
        let refused = sandbox.run(command);
        assert!(refused.error(1).contains("--roles read,embed"), "{command:?}: {refused:?}");
    }
    for mutation in [
        "mutation { pruneSnapshots }",
        "mutation { ...Change } fragment Change on Mutation { pruneSnapshots }",
        "mutation { ... on Mutation { pruneSnapshots } }",
    ] {
        assert_eq!(graphql(&server, mutation).await, unavailable(), "{mutation}");
    }
    assert_eq!(outcome(&server, "/webhooks/gitlab", &json!({})).await, unavailable());
    assert_eq!(forge.asked(), Vec::<String>::new());

    sandbox.run(&["show", "#1"]).ok();
    sandbox.run(&["embed"]).ok();
    assert_eq!(graphql(&server, "mutation { createChat { id } }").await, (200, None));
    let both = "query Count { issues { totalCount } } mutation Prune { pruneSnapshots }";
    for (operation, expected) in [("Count", (200, None)), ("Prune", unavailable())] {
        let request = json!({ "query": both, "operationName": operation });
        assert_eq!(outcome(&server, "/graphql", &request).await, expected, "{operation}");
    }
    let status = sandbox.run(&["status"]).ok();
    assert!(status.stderr.contains("the server was started with --roles read,embed"), "{status:?}");
    assert_eq!(sandbox.run(&["status", "--json"]).ok().json()["roles"], json!(["read", "embed"]));
}

#[tokio::test]
async fn a_server_that_only_writes_answers_no_questions() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve_with(&["--roles", "write"]);
    assert_eq!(roles(&server).await, json!(["write"]));
    expect![
        "this server does not answer questions: it was started with --roles write; restart it with --roles read,write"
    ]
    .assert_eq(sandbox.run(&["search", "redis"]).error(1));
    expect![
        "this server does not make vectors: it was started with --roles write; restart it with --roles write,embed"
    ]
    .assert_eq(sandbox.run(&["embed"]).error(1));
    assert_eq!(graphql(&server, "{ issues { totalCount } }").await, unavailable());
    assert_eq!(graphql(&server, "{ node(id: \"acme/shop#1\") { id } tasks { id } }").await, unavailable());
    // What work is under way, and how fresh everything is, can be asked of every server.
    assert_eq!(graphql(&server, "{ __typename tasks { id } coverage { documentCount } }").await, (200, None));
    sandbox.run(&["status"]).ok();
    forge.advance(3600);
    forge.discuss("acme/shop#2", "carol", "The quokka migration plan was approved.");
    sandbox.run(&["sync"]).ok();
    sandbox.run(&["jobs", "start", "sync", "acme/shop"]).ok();
    eventually("the job", || sandbox.run(&["jobs", "list", "--json"]).ok().json()[0]["status"] == "succeeded");
    assert_eq!(server.stop().0, Some(0));
    let found = sandbox.run(&["search", "quokka", "--mode", "lexical", "--json"]).ok().json();
    assert!(found["coverage"]["embedded"] == 0 && !found["hits"].as_array().unwrap().is_empty(), "{found:#}");
}

#[tokio::test]
async fn a_server_has_every_role_unless_it_is_told_otherwise() {
    let sandbox = Sandbox::empty();
    let server = sandbox.serve();
    assert_eq!(roles(&server).await, json!(["read", "write", "embed"]));
    assert_eq!(sandbox.run(&["status"]).ok().stderr, "");
    for wrong in ["", "reading", "read,,write"] {
        assert_eq!(sandbox.run(&["serve", "--roles", wrong]).code, 2, "{wrong}");
    }
}
