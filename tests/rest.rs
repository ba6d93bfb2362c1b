//! REST: resources, problem details, pages, entity tags, request ids, and the document of the API.

use std::time::{Duration, Instant};

use backstory_engine::ledger::{JobKind, Ledger, NewJob};
use expect_test::expect_file;
use futures::{StreamExt as _, stream::FuturesUnordered};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::{Fixture, Forge, OpenApi, Sandbox, Server};

/// A client of a server that checks each answer against the document.
pub(crate) struct Rest {
    http: reqwest::Client,
    url: String,
    api: OpenApi,
}

impl Rest {
    pub(crate) fn new(server: &Server) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { http, url: server.url.clone(), api: OpenApi::new() }
    }

    /// The answer to a request to an address that the document describes as `path`.
    pub(crate) async fn send(&self, method: &str, path: &str, address: &str, body: Option<&Value>) -> (u16, Value) {
        let verb = reqwest::Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
        let request = self.http.request(verb, format!("{}{address}", self.url));
        let request = body.into_iter().fold(request, reqwest::RequestBuilder::json);
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        let answer: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{method} {address}: {error}: {text}"));
        let errors = self.api.errors(method, path, status, &answer);
        assert!(errors.is_empty(), "{method} {address} {status}: {errors:#?}\n{answer:#}");
        (status, answer)
    }

    /// Waits until a job has ended.
    pub(crate) async fn wait_for_job(&self, id: &str) {
        let request = self.http.get(format!("{}/api/v1/jobs/{id}", self.url)).header("prefer", "wait=60");
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
    }

    /// The answer to `GET`, which succeeds.
    pub(crate) async fn get(&self, path: &str, address: &str) -> Value {
        let (status, answer) = self.send("get", path, address, None).await;
        assert_eq!(status, 200, "{address}: {answer:#}");
        answer
    }
}

#[test]
fn the_document_in_the_repository_is_the_real_one() {
    let api = OpenApi::new();
    expect_file!["../schema/openapi.json"].assert_eq(&format!("{:#}\n", api.document()));
    let mut values = vec![api.document()];
    while let Some(value) = values.pop() {
        if let Some(reference) = value["$ref"].as_str() {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(api.document().pointer(pointer).is_some(), "{reference} leads nowhere");
        }
        match value {
            Value::Array(items) => values.extend(items),
            Value::Object(fields) => values.extend(fields.values()),
            _ => {}
        }
    }
    let mut ids = std::collections::BTreeSet::new();
    for (path, operations) in api.document()["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{id} is there twice");
            let of_path = path.split('/').filter(|part| part.starts_with('{')).count();
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let described = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
            assert_eq!(described, of_path, "{method} {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_may_leave_out_what_an_address_may() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    for (name, body) in [
        ("search", json!({ "query": "Redis" })),
        ("retrieve", json!({ "query": "Redis" })),
        ("context", json!({ "about": { "query": "Redis" } })),
        ("threads", json!({ "kind": "issue" })),
        ("neighborhood", json!({ "id": "acme/shop#3" })),
        ("path", json!({ "from": "acme/shop#1", "to": "acme/shop#3" })),
        ("trace", json!({ "target": { "node": "acme/shop#3" } })),
        ("jobs", json!({})),
        ("chats", json!({})),
        ("deliveries", json!({})),
        ("operations", json!({})),
        ("audit", json!({})),
        ("documents", json!({})),
        ("changes", json!({})),
        ("sync-status", json!({})),
        ("export", json!({ "what": "issues" })),
        ("describe", json!({ "id": "acme/shop#3" })),
    ] {
        let path = format!("/api/v1/{name}");
        let (status, answer) = rest.send("post", &path, &path, Some(&body)).await;
        assert_eq!(status, 200, "{name}: {answer:#}");
    }
    let by_body = rest.send("post", "/api/v1/search", "/api/v1/search", Some(&json!({ "query": "Redis" }))).await.1;
    let by_address = rest.get("/api/v1/search", "/api/v1/search?query=Redis").await;
    assert_eq!(by_body["hits"], by_address["hits"]);
}

// Rows 5 and 89 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn resources_are_as_the_document_describes_them() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    for (path, query) in [
        ("/api/v1/search", "?query=Redis&limit=3&kinds=issue,discussion"),
        ("/api/v1/search", "?query=Redis&kinds=mr,pull_request,doc"),
        ("/api/v1/search", "?query=Redis&kinds[]=issue&kinds[]=commit&after=2024&facets=true"),
        ("/api/v1/why", "?target=acme/shop%233"),
        ("/api/v1/issues", "?project=acme/shop&limit=2"),
        ("/api/v1/merge-requests", "?state=merged"),
        ("/api/v1/graph/neighbors", "?id=acme/shop%233&depth=2"),
        ("/api/v1/graph/path", "?from=acme/shop%231&to=acme/shop%233"),
        ("/api/v1/repositories", ""),
        ("/api/v1/jobs", ""),
        ("/api/v1/snapshots", ""),
        ("/api/v1/webhook-deliveries", ""),
        ("/api/v1/audit-log", "?limit=5"),
        ("/api/v1/status", "?runs=2"),
        ("/api/v1/stats", ""),
        ("/api/v1/chats", ""),
    ] {
        rest.get(path, &format!("{path}{query}")).await;
    }
    rest.get("/api/v1/nodes/{id}", "/api/v1/nodes/acme/shop%233").await;
    rest.get("/api/v1/nodes/{id}", "/api/v1/nodes/acme/shop!1").await;
    rest.get("/api/v1/enrichments/{id}", "/api/v1/enrichments/acme/shop%233").await;
    for name in ["alice", "@alice"] {
        rest.get("/api/v1/people/{name}", &format!("/api/v1/people/{name}")).await;
    }
    let person = rest.get("/api/v1/nodes/{id}", "/api/v1/nodes/@alice").await;
    assert_eq!(person["person"], rest.get("/api/v1/people/{name}", "/api/v1/people/alice").await["person"]);
    // A part of a name that nobody else has will do.
    assert_eq!(rest.get("/api/v1/people/{name}", "/api/v1/people/Ng").await["person"], "alice");
    let (status, nobody) = rest.send("get", "/api/v1/people/{name}", "/api/v1/people/nobody", None).await;
    assert_eq!((status, &nobody["code"]), (404, &json!("NOT_FOUND")), "{nobody:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_entities_are_nodes_and_a_job_is_waited_for() {
    let mut repository = Fixture::new();
    repository.write("src/session.rs", "pub fn load_session() -> u32 {\n    7\n}\n");
    repository.commit_all("Keep the session");
    let sandbox = Sandbox::indexed(&repository);
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    let project = rest.get("/api/v1/repositories", "/api/v1/repositories").await["items"][0]["project"].clone();
    let project = project.as_str().unwrap();
    let file = rest.get("/api/v1/nodes/{id}", &format!("/api/v1/nodes/{project}:src/session.rs")).await;
    assert!(file["text"].as_str().unwrap().contains("load_session"), "{file:#}");
    let entity =
        rest.get("/api/v1/nodes/{id}", &format!("/api/v1/nodes/{project}:src/session.rs%23load_session")).await;
    assert_eq!(entity["name"], "load_session", "{entity:#}");
    let missing = format!("/api/v1/nodes/{project}:src/session.rs%23nothing");
    assert_eq!(rest.send("get", "/api/v1/nodes/{id}", &missing, None).await.0, 404);

    let body = json!({ "repo_id": project });
    let request = rest.http.post(format!("{}/api/index/jobs", rest.url)).header("prefer", "wait=60").json(&body);
    let response = request.send().await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["preference-applied"]),
        (200, &"wait=60".parse().unwrap())
    );
    let job: Value = response.json().await.unwrap();
    assert_eq!(job["status"], "succeeded", "{job:#}");
    let address = format!("/api/v1/jobs/{}", job["job_id"].as_str().unwrap());
    let report = rest.get("/api/v1/jobs/{id}", &address).await;
    assert_eq!((&report["status"], &report["priority"]), (&json!("succeeded"), &json!("requested")), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_have_pages_and_are_removed_once() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    for _ in 0..3 {
        rest.send("post", "/api/v1/create-chat", "/api/v1/create-chat", Some(&json!({ "project": null }))).await;
    }
    let first = rest.get("/api/v1/chats", "/api/v1/chats?limit=2").await;
    let cursor = first["next"].as_str().unwrap();
    let second = rest.get("/api/v1/chats", &format!("/api/v1/chats?limit=2&cursor={cursor}")).await;
    let ids = |page: &Value| -> Vec<Value> {
        page["items"].as_array().unwrap().iter().map(|chat| chat["id"].clone()).collect()
    };
    assert_eq!([ids(&first), ids(&second)].concat(), [json!(3), json!(2), json!(1)]);
    assert!(second["next"].is_null());
    for expected in [200, 404] {
        let (status, _) = rest.send("delete", "/api/v1/chats/{id}", "/api/v1/chats/2", None).await;
        assert_eq!(status, expected);
    }
    let question = json!({ "text": "why?" });
    let request = rest.http.post(format!("{}/api/v1/chats/2/messages", rest.url)).header("accept", "text/event-stream");
    assert_eq!(request.json(&question).send().await.unwrap().status(), 404, "before anything is told");
    for limit in ["0", "101", "-1"] {
        let (status, _) = rest.send("get", "/api/v1/chats", &format!("/api/v1/chats?limit={limit}"), None).await;
        assert_eq!(status, 400, "{limit}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_follow_one_another_without_gaps() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    let all = rest.get("/api/v1/issues", "/api/v1/issues?limit=100").await;
    let ids = |page: &Value| -> Vec<Value> {
        page["items"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect()
    };
    assert!(ids(&all).len() > 2 && all["next"].is_null(), "{all:#}");
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = rest.get("/api/v1/issues", &format!("/api/v1/issues?limit=1{cursor}")).await;
        found.extend(ids(&page));
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(found, ids(&all));
    let (status, wrong) = rest.send("get", "/api/v1/issues", "/api/v1/issues?cursor=nothing", None).await;
    assert_eq!((status, &wrong["code"]), (400, &json!("INVALID")), "{wrong:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_problem_details() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    for (address, status, code, detail) in [
        ("/api/v1/jobs/4711", 404, "NOT_FOUND", "there is no job 4711; ended ones are forgotten after a while"),
        ("/api/v1/search", 400, "INVALID", "the parameter 'query' is missing"),
        ("/api/v1/search?query=a&limit=many", 400, "INVALID", "the parameter 'limit' is 'many', which is not a number"),
        ("/api/v1/search?query=a&query=b", 400, "INVALID", "the parameter 'query' is given twice"),
        ("/api/v1/search?query=%20", 400, "INVALID", "the parameter 'query' is empty"),
        ("/api/v1/history?target=", 400, "INVALID", "the parameter 'target' is empty"),
        ("/api/v1/history?target=%233", 400, "INVALID", "'#3' is not a file or symbol, and only these have a history"),
        ("/api/v1/entities?name=login&limit=0", 400, "INVALID", "the limit is 0; it must be 1 to 50"),
        ("/api/v1/entities?name=login&limit=51", 400, "INVALID", "the limit is 51; it must be 1 to 50"),
        ("/api/v1/entities?name=login&project=acme/none", 400, "INVALID", "acme/none is not known"),
        ("/api/v1/stats?page=2", 400, "INVALID", "'page' is not a parameter; known: there is none"),
        ("/nothing", 404, "NOT_FOUND", "there is nothing at this address; /api/docs lists what there is"),
    ] {
        let request = rest.http.get(format!("{}{address}", rest.url)).header("x-request-id", "mine-7");
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "application/problem+json", "{address}");
        assert_eq!(response.headers()["x-request-id"], "mine-7");
        let problem: Value = response.json().await.unwrap();
        assert_eq!((&problem["status"], &problem["code"]), (&json!(status), &json!(code)), "{problem:#}");
        assert_eq!((problem["detail"].as_str().unwrap(), &problem["request_id"]), (detail, &json!("mine-7")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_has_not_changed_is_not_sent_again() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    let address = format!("{}/api/v1/issues", rest.url);
    let first = rest.http.get(&address).send().await.unwrap();
    let tag = first.headers()["etag"].clone();
    assert!(first.headers().contains_key("x-request-id"));
    let again = rest.http.get(&address).header("if-none-match", tag).send().await.unwrap();
    assert_eq!(again.status(), 304);
    assert!(again.text().await.unwrap().is_empty());
    let other = rest.http.get(address).header("if-none-match", "\"another\"").send().await.unwrap();
    assert_eq!(other.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_an_answer_are_told_as_they_are_checked() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    let (_, chat) =
        rest.send("post", "/api/v1/create-chat", "/api/v1/create-chat", Some(&json!({ "project": null }))).await;
    let address = format!("{}/api/v1/chats/{}/messages", rest.url, chat["id"]);
    let question = json!({ "text": "Why Redis and not Memcached?", "model": false });
    let request = rest.http.post(address).header("accept", "text/event-stream").json(&question);
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = response.text().await.unwrap();
    let events: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert!(events.ends_with(&["message"]) && events.len() > 1, "{text}");
    assert!(events[..events.len() - 1].iter().all(|event| *event == "statement"), "{text}");
    let id = &chat["id"];
    let kept = rest.get("/api/v1/chats/{id}/messages", &format!("/api/v1/chats/{id}/messages")).await;
    assert_eq!(kept["items"].as_array().unwrap().len(), 2, "{kept:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_can_be_browsed_without_a_token_and_asks_no_other_site() {
    let mut sandbox = Sandbox::empty();
    sandbox.set("API_TOKEN", "open-sesame-open-sesame");
    sandbox.write_config("data_dir = \"data\"\n[server]\ntoken_env = \"API_TOKEN\"\n");
    let server = sandbox.serve();
    let rest = Rest::new(&server);
    for address in ["/api/docs", "/api/docs/docs.js", "/api/docs/docs.css", "/openapi.json"] {
        let response = rest.http.get(format!("{}{address}", rest.url)).send().await.unwrap();
        assert_eq!(response.status(), 200, "{address}");
        if address != "/openapi.json" {
            assert!(response.headers()["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
        }
        assert!(!response.text().await.unwrap().contains("https://"), "{address}");
    }
    assert_eq!(rest.http.get(format!("{}/api/v1/stats", rest.url)).send().await.unwrap().status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_not_due_in_time_is_not_waited_for() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let ledger = Ledger::open(&sandbox.data().join("ledger.sqlite")).unwrap();
    let now = Timestamp::now();
    let job = NewJob { kind: JobKind::Full, project: "acme/shop".to_owned(), subject: None };
    let job = ledger.queue_job(&job, now + SignedDuration::from_hours(24), now).unwrap();
    drop(ledger);
    let server = sandbox.serve();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let begun = Instant::now();
    let request = http.get(format!("{}/api/v1/jobs/{job}", server.url)).header("prefer", "wait=60");
    let response = request.send().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
    assert_eq!((response.status().as_u16(), response.headers().get("preference-applied")), (200, None));
    assert_eq!(response.json::<Value>().await.unwrap()["status"], "queued");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_waits_for_so_many_jobs_at_a_time() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let made = sandbox.run(&["token", "create", "--json", "--projects", "acme/*", "--scopes", "sync"]).ok().json();
    let token = made["secret"].as_str().unwrap();
    let server = sandbox.serve();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    forge.hold();
    let queue = http.post(format!("{}/api/v1/queue-job", server.url)).bearer_auth(token);
    let job: Value =
        queue.json(&json!({ "kind": "sync", "project": "acme/shop" })).send().await.unwrap().json().await.unwrap();
    let address = format!("{}/api/v1/jobs/{}", server.url, job["id"]);
    let waiting = (0..9).map(|_| http.get(&address).bearer_auth(token).header("prefer", "wait=60").send());
    let mut waiting: FuturesUnordered<_> = waiting.collect();
    let begun = Instant::now();
    let first = waiting.next().await.unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
    assert_eq!((first.status().as_u16(), first.headers().get("preference-applied")), (200, None));
    forge.release();
    while let Some(response) = waiting.next().await {
        let response = response.unwrap();
        assert_eq!(response.headers()["preference-applied"], "wait=60");
        assert_eq!(response.json::<Value>().await.unwrap()["status"], "succeeded");
    }
}
