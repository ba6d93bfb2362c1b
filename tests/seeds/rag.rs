//! Seed 2: asking about one repository.

use serde_json::{Value, json};

use super::has;
use crate::{
    rest::Rest,
    support::{Fixture, Sandbox, Server},
};

const REPO: [&str; 7] = ["id", "url", "status", "last_commit_sha", "last_error", "created_at", "updated_at"];

fn repository() -> Fixture {
    let mut repository = Fixture::new();
    repository
        .write("README.md", "# Shop\n\n## Running\n\nStart the server with `make run`; it listens on port 8080.\n");
    repository.write("server.go", "package shop\n\n// Serve answers requests on the port, because the proxy knows no other.\nfunc Serve(port int) error {\n\treturn listen(port)\n}\n");
    repository.commit_all("Serve on one port");
    repository
}

fn served() -> (Fixture, Sandbox, Server) {
    let repository = repository();
    let sandbox = Sandbox::indexed(&repository);
    let server = sandbox.serve();
    (repository, sandbox, server)
}

async fn first(rest: &Rest) -> Value {
    rest.get("/repos", "/repos").await[0].clone()
}

// Rows 93, 105 and 106 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn seed2_repos_lists_what_is_indexed() {
    let (_repository, _sandbox, server) = served();
    let rest = Rest::new(&server);
    let mut repo = first(&rest).await;
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while repo["status"] == "indexing" {
        assert!(std::time::Instant::now() < end, "{repo:#}");
        repo = first(&rest).await;
    }
    has(&repo, &REPO);
    assert_eq!(
        (&repo["status"], repo["last_commit_sha"].as_str().map(str::len)),
        (&json!("ready"), Some(40)),
        "{repo:#}"
    );
    let id = repo["id"].as_str().unwrap();
    assert_eq!((id.len(), id.as_bytes()[14]), (36, b'5'), "a UUID of version 5");
    assert_eq!(rest.get("/repos/{repo_id}", &format!("/repos/{id}")).await, repo);
    let (status, _) = rest.send("get", "/repos/{repo_id}", "/repos/6ba7b811-9dad-51d1-80b4-00c04fd430c8", None).await;
    assert_eq!(status, 404);
}

// Rows 91, 100 and 107 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn seed2_repos_status_says_how_far_it_is() {
    let (_repository, _sandbox, server) = served();
    let rest = Rest::new(&server);
    let id = first(&rest).await["id"].as_str().unwrap().to_owned();
    let status = rest.get("/repos/{repo_id}/status", &format!("/repos/{id}/status")).await;
    has(&status, &["status", "last_commit_sha", "last_error"]);
}

// Row 104 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn seed2_repos_adds_a_repository_once() {
    let repository = repository();
    let sandbox = Sandbox::empty();
    sandbox.write_config("data_dir = \"data\"\n");
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    let new = json!({ "url": repository.path().display().to_string() });
    let (status, repo) = rest.send("post", "/repos", "/repos", Some(&new)).await;
    assert_eq!(status, 201, "{repo:#}");
    has(&repo, &REPO);
    let id = repo["id"].as_str().unwrap().to_owned();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let state = rest.get("/repos/{repo_id}/status", &format!("/repos/{id}/status")).await;
        if state["status"] == "ready" {
            break;
        }
        assert!(std::time::Instant::now() < end && state["status"] != "error", "{state:#}");
    }
    let request = reqwest::Client::builder().no_proxy().build().unwrap().post(format!("{}/repos", server.url));
    let again = request.json(&new).send().await.unwrap();
    assert_eq!(again.status(), 200);
    let (status, wrong) = rest.send("post", "/repos", "/repos", Some(&json!({ "url": "nothing" }))).await;
    assert_eq!(status, 400, "{wrong:#}");
}

// Rows 94, 108, 109 and 110 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn seed2_chats_answer_with_sources() {
    let (_repository, _sandbox, server) = served();
    let rest = Rest::new(&server);
    let id = first(&rest).await["id"].as_str().unwrap().to_owned();
    let (status, chat) = rest.send("post", "/chats", "/chats", Some(&json!({ "repo_id": id }))).await;
    assert_eq!(status, 201);
    has(&chat, &["id", "repo_id", "created_at"]);
    let address = format!("/chats/{}/messages", chat["id"].as_str().unwrap());
    let path = "/chats/{chat_id}/messages";
    let question = json!({ "content": "On which port does the server listen?" });
    let (status, answer) = rest.send("post", path, &address, Some(&question)).await;
    assert_eq!(status, 200, "{answer:#}");
    has(&answer, &["answer", "sources"]);
    for source in answer["sources"].as_array().unwrap() {
        has(source, &["path", "start_line", "end_line", "text"]);
    }
    let (_, silent) = rest.send("post", path, &address, Some(&json!({ "content": "Who won the cup of 1954?" }))).await;
    assert_eq!(silent["sources"], json!([]), "{silent:#}");
    let messages = rest.get(path, &address).await;
    assert_eq!(messages.as_array().unwrap().len(), 4);
    has(&messages[0], &["id", "chat_id", "role", "content", "created_at"]);
}
