//! Seed 5: passages with provenance, and looking after the index.

use serde_json::{Value, json};

use super::has;
use crate::{
    rest::Rest,
    support::{Fixture, Sandbox, Server},
};

const PATH: &str = "/api/retrieval/query";

fn served() -> (Fixture, Sandbox, Server) {
    let mut repository = Fixture::new();
    repository.write(
        "docs/adr/0001-sessions.md",
        "# Sessions last an hour\n\nA session lasts an hour, because tokens of the forge do.\n",
    );
    repository.write("docs/guide.md", "# Guide\n\nA session lasts an hour; log in again after that.\n");
    repository.write("src/session.rs", "/// How long a session lasts, in seconds.\npub const SESSION: u32 = 3600;\n");
    repository.commit_all("Sessions last an hour");
    let sandbox = Sandbox::indexed(&repository);
    let server = sandbox.serve();
    (repository, sandbox, server)
}

#[expect(clippy::needless_pass_by_value, reason = "callers make it for the call")]
fn query(more: Value) -> Value {
    let mut query = json!({ "workspace_id": "local", "query_text": "how long does a session last", "top_k": 8 });
    query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    query
}

// Rows 42 and 44 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn seed5_retrieval_answers_with_provenance() {
    let (_repository, _sandbox, server) = served();
    let rest = Rest::new(&server);
    let repo_id = rest.get("/repos", "/repos").await[0]["id"].clone();
    for repo_id in [json!(null), repo_id.clone(), json!([repo_id])] {
        let (status, found) = rest.send("post", PATH, PATH, Some(&query(json!({ "repo_id": repo_id })))).await;
        assert_eq!(status, 200, "{found:#}");
        has(&found, &["chunks", "snapshot_id", "total_tokens"]);
        let chunks = found["chunks"].as_array().unwrap();
        assert!(!chunks.is_empty(), "{found:#}");
        for chunk in chunks {
            has(chunk, &["chunk_id", "text", "provenance", "score", "embedding"]);
            has(&chunk["provenance"], &["repo", "commit_sha", "path", "url", "start_line", "end_line"]);
            assert_eq!(chunk["chunk_id"].as_str().map(str::len), Some(64), "{chunk:#}");
        }
    }
    let (status, _) = rest.send("post", PATH, PATH, Some(&query(json!({ "repo_id": "acme/none" })))).await;
    assert_eq!(status, 404);
}

// Rows 39, 40 and 41 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn seed5_retrieval_keeps_its_bounds() {
    let (_repository, _sandbox, server) = served();
    let rest = Rest::new(&server);
    let ask = async |more: Value| rest.send("post", PATH, PATH, Some(&query(more))).await;
    let (_, one) = ask(json!({ "top_k": 1 })).await;
    assert_eq!(one["chunks"].as_array().unwrap().len(), 1);
    let (_, governing) = ask(json!({ "mode": "governing_docs_only" })).await;
    let types = |found: &Value| -> Vec<Value> {
        found["chunks"].as_array().unwrap().iter().map(|chunk| chunk["doc_type"].clone()).collect()
    };
    assert!(!types(&governing).is_empty() && types(&governing).iter().all(|of| of == "adr"), "{governing:#}");
    let (_, code) = ask(json!({ "filters": { "doc_types": ["code"], "path_prefixes": ["src", "lib"] } })).await;
    assert!(types(&code).iter().all(|of| of == "code"), "{code:#}");
    let (_, all) = ask(json!({})).await;
    let total = all["total_tokens"].as_u64().unwrap();
    let (_, fewer) = ask(json!({ "max_total_tokens_in_results": total - 1 })).await;
    assert!(fewer["total_tokens"].as_u64().unwrap() < total && fewer["left_out"].as_u64().unwrap() > 0, "{fewer:#}");
    assert_eq!(ask(json!({ "top_k": 0 })).await.0, 400);
}

// Row 30 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn seed5_retrieval_asks_for_approval() {
    let (_repository, _sandbox, server) = served();
    let rest = Rest::new(&server);
    let ask = async |more: Value| rest.send("post", PATH, PATH, Some(&query(more))).await.1;
    let gated = ask(json!({ "approval_threshold": 1 })).await;
    let tokens = gated["needs_approval"]["tokens"].as_u64().unwrap();
    assert_eq!((&gated["chunks"], &gated["needs_approval"]["threshold"]), (&json!([]), &json!(1)), "{gated:#}");
    let approved = ask(json!({ "approval_threshold": 1, "approve_tokens": tokens })).await;
    assert!(approved["needs_approval"].is_null() && !approved["chunks"].as_array().unwrap().is_empty(), "{approved:#}");
}

// Row 43 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn seed5_retrieval_answers_from_a_snapshot() {
    let (mut repository, sandbox, server) = served();
    let rest = Rest::new(&server);
    let old = rest.send("post", PATH, PATH, Some(&query(json!({})))).await.1["snapshot_id"].clone();
    drop(server);
    repository.write("docs/guide.md", "# Guide\n\nA session lasts two hours.\n");
    repository.commit_all("Sessions last two hours");
    sandbox.run(&["sync"]).ok();
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    let ask = async |filters: Value| rest.send("post", PATH, PATH, Some(&query(json!({ "filters": filters })))).await;
    let says = |found: &Value, text: &str| {
        found["chunks"].as_array().unwrap().iter().any(|chunk| chunk["text"].as_str().unwrap().contains(text))
    };
    let (status, found) = ask(json!({ "snapshot_id": old })).await;
    assert_eq!((status, &found["snapshot_id"]), (200, &old), "{found:#}");
    assert!(!says(&found, "two hours"), "{found:#}");
    let (_, now) = ask(json!({})).await;
    assert!(says(&now, "two hours") && now["snapshot_id"] != old, "{now:#}");
    let (status, unknown) = ask(json!({ "snapshot_id": "0123456789abcdef" })).await;
    assert_eq!((status, &unknown["code"]), (404, &json!("NOT_FOUND")), "{unknown:#}");
}

// Row 46 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn seed5_index_jobs_index_a_commit() {
    let (mut repository, sandbox, server) = served();
    let commit = repository.sha("HEAD").to_string();
    drop(server);
    repository.write("docs/guide.md", "# Guide\n\nA session lasts two hours.\n");
    repository.commit_all("Sessions last two hours");
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    let id = rest.get("/api/index/repos", "/api/index/repos").await[0]["repo_id"].clone();
    let new = json!({ "repo_id": id, "commit_sha": commit });
    let (status, job) = rest.send("post", "/api/index/jobs", "/api/index/jobs", Some(&new)).await;
    assert_eq!(status, 202, "{job:#}");
    rest.wait_for_job(job["job_id"].as_str().unwrap()).await;
    let of_commit = query(json!({ "filters": { "ref": commit } }));
    let (status, found) = rest.send("post", PATH, PATH, Some(&of_commit)).await;
    assert_eq!(status, 200, "{found:#}");
    let chunks = found["chunks"].as_array().unwrap();
    let of_files: Vec<&Value> = chunks.iter().filter(|chunk| chunk["provenance"]["path"].is_string()).collect();
    assert!(!of_files.is_empty(), "{found:#}");
    assert!(of_files.iter().all(|chunk| chunk["provenance"]["commit_sha"] == commit), "{found:#}");
    assert!(chunks.iter().all(|chunk| !chunk["text"].as_str().unwrap().contains("two hours")), "{found:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn seed5_index_says_what_is_indexed_and_starts_jobs() {
    let (_repository, _sandbox, server) = served();
    let rest = Rest::new(&server);
    let repos = rest.get("/api/index/repos", "/api/index/repos").await;
    has(&repos[0], &["last_indexed_commit_sha", "chunk_count", "last_job", "last_error", "status"]);
    let id = repos[0]["repo_id"].as_str().unwrap();
    rest.get("/api/index/repos/{repo_id}", &format!("/api/index/repos/{id}")).await;
    for mode in ["index", "reindex"] {
        let new = json!({ "repo_id": id, "mode": mode });
        let (status, job) = rest.send("post", "/api/index/jobs", "/api/index/jobs", Some(&new)).await;
        assert_eq!(status, 202, "{job:#}");
        let address = format!("/api/index/jobs/{}", job["job_id"].as_str().unwrap());
        has(&rest.get("/api/index/jobs/{job_id}", &address).await, &["job_id", "status", "progress", "error"]);
    }
    let snapshots = rest.get("/api/index/snapshots", "/api/index/snapshots").await;
    has(&snapshots[0], &["snapshot_id", "created_at", "status", "commits", "pinned", "last_error"]);
    let address = format!("/api/index/snapshots/{}/pin", snapshots[0]["snapshot_id"].as_str().unwrap());
    let path = "/api/index/snapshots/{snapshot_id}/pin";
    let (_, pinned) = rest.send("post", path, &address, Some(&json!({ "pinned": true }))).await;
    assert_eq!(pinned["pinned"], true);
    let (_, deleted) = rest.send("delete", "/api/index/snapshots", "/api/index/snapshots", None).await;
    has(&deleted, &["deleted"]);
}
