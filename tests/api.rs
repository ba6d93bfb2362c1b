//! `/api/v1`, the use cases over HTTP: who may request what, and what a wrong request is answered.

use std::time::Duration;

use backstory_engine::{
    Engine,
    model::access::Grant,
    use_case::{Scope, UseCase},
    use_cases::{Visitor, visit_all},
};
use backstory_server::{Access, Limits, Proxy, Token, serve};
use expect_test::expect;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::support::{Forge, Sandbox, Server, check_answer, settings};

/// A token of the server.
const TOKEN: &str = "open-sesame-open-sesame";

/// A client of a server.
struct Api {
    http: reqwest::Client,
    url: String,
}

impl Api {
    fn new(url: &str) -> Self {
        Self { http: reqwest::Client::builder().no_proxy().build().unwrap(), url: url.to_owned() }
    }

    /// Status and body of the answer to what is sent to a path, with a token if one is given.
    async fn send(&self, path: &str, token: Option<&str>, content_type: &str, body: &str) -> (u16, Value) {
        let request = self.http.post(format!("{}/api/v1/{path}", self.url)).header("content-type", content_type);
        let request = token.into_iter().fold(request, reqwest::RequestBuilder::bearer_auth);
        let response = request.body(body.to_owned()).send().await.unwrap();
        let (status, answer) = (response.status().as_u16(), response.json().await.unwrap());
        check_answer("post", &format!("/api/v1/{path}"), status, &answer);
        (status, answer)
    }

    /// Status and answer, or status and the code and message of the error.
    async fn request(&self, name: &str, token: Option<&str>, request: &Value) -> (u16, Value) {
        self.send(name, token, "application/json", &request.to_string()).await
    }
}

/// Code and message of a refusal, in one line.
fn refusal((status, answer): &(u16, Value)) -> String {
    let problem = if answer["errors"].is_array() {
        let error = &answer["errors"][0];
        json!({ "code": error["extensions"]["code"], "detail": error["message"], "hint": error["extensions"]["hint"] })
    } else {
        answer.clone()
    };
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{status} {answer:#}")).to_owned();
    let hint = problem["hint"].as_str().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{status} {}: {}{hint}", text(&problem["code"]), text(&problem["detail"]))
}

/// A server with nothing in its data directory, and what a process shows that can read that directory.
fn server(tokens: bool) -> (Sandbox, Server, String) {
    let mut sandbox = Sandbox::empty();
    sandbox.set("TOKEN", TOKEN);
    sandbox.write_config(&format!(
        "data_dir = \"data\"\n{}",
        if tokens { "[server]\ntoken_env = \"TOKEN\"\n" } else { "" }
    ));
    let server = sandbox.serve();
    let known = std::fs::read_to_string(sandbox.data().join("server.json")).unwrap();
    let known: Value = serde_json::from_str(&known).unwrap();
    (sandbox, server, known["secret"].as_str().unwrap().to_owned())
}

/// The use cases, by what somebody must be allowed to do who requests them.
#[derive(Default)]
struct UseCases(Vec<(&'static str, Scope)>);

impl Visitor for UseCases {
    fn visit<U: UseCase>(&mut self) {
        self.0.push((U::NAME, U::SCOPE));
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a request after the other, each wrong in another way")]
async fn a_wrong_request_is_answered_with_what_is_wrong() {
    let (_sandbox, server, _) = server(false);
    let api = Api::new(&server.url);
    let json_type = "application/json";
    for (name, content_type, body, wanted) in [
        (
            "nothing",
            json_type,
            "{}",
            expect!["404 NOT_FOUND: there is nothing at this address; /api/docs lists what there is"],
        ),
        (
            "",
            json_type,
            "{}",
            expect!["404 NOT_FOUND: there is nothing at this address; /api/docs lists what there is"],
        ),
        ("tasks", "text/plain", "{}", expect!["415 INVALID: send the request as Content-Type: application/json"]),
        (
            "tasks",
            json_type,
            "{",
            expect!["400 INVALID: the body is not a 'tasks' request: the JSON ends too early, at line 1 column 1"],
        ),
        ("job", json_type, "{}", expect!["400 INVALID: the body is not a 'job' request: missing field 'id'"]),
        (
            "retrieve",
            json_type,
            "{}",
            expect!["400 INVALID: the body is not a 'retrieve' request: missing field 'query'"],
        ),
        (
            "jobs",
            json_type,
            "{\"limit\":1,\"status\":\"done\"}",
            expect![
                "400 INVALID: the body is not a 'jobs' request: status: unknown value 'done'; expected one of 'queued', 'running', 'succeeded', 'failed', 'cancelled'"
            ],
        ),
        (
            "jobs",
            json_type,
            "{\"limit\":1,\"stauts\":\"running\"}",
            expect![
                "400 INVALID: the body is not a 'jobs' request: there is no field 'stauts'; there are 'before', 'limit', 'projects' and 'status'"
            ],
        ),
        (
            "jobs",
            json_type,
            "{\"limit\":-1}",
            expect![
                "400 INVALID: the body is not a 'jobs' request: limit: expected a whole number of 0 or more, not -1"
            ],
        ),
        (
            "search",
            json_type,
            "{\"query\":\"a\",\"kinds\":[\"issue\"]}",
            expect![
                "400 INVALID: the body is not a 'search' request: there is no field 'kinds'; did you mean 'filter.kinds'?"
            ],
        ),
        (
            "search",
            json_type,
            "{\"query\":\"a\",\"filter\":[]}",
            expect!["400 INVALID: the body is not a 'search' request: filter: expected an object, not a list"],
        ),
        (
            "entity",
            json_type,
            "{\"name\":\"login\",\"limit\":0}",
            expect!["400 INVALID: the limit is 0; it must be 1 to 50"],
        ),
        (
            "entity",
            json_type,
            "{\"name\":\"login\",\"limit\":51}",
            expect!["400 INVALID: the limit is 51; it must be 1 to 50"],
        ),
        (
            "snapshot",
            json_type,
            "{\"id\":\"zz\"}",
            expect![
                "400 INVALID: 'zz' is not the id of a snapshot; write 4 to 16 hex digits, as 'backstory snapshots list' shows them"
            ],
        ),
        (
            "snapshot",
            json_type,
            "{\"id\":\"abcd\"}",
            expect!["404 NOT_FOUND: there is no snapshot abcd; 'backstory snapshots list' shows those that are kept"],
        ),
    ] {
        wanted.assert_eq(&refusal(&api.send(name, None, content_type, body).await));
    }
    let (_, answer) = api.request("snapshot", None, &json!({ "id": "abcd" })).await;
    let problem = json!({
        "type": "about:blank", "title": "Not Found", "status": 404, "detail": "there is no snapshot abcd",
        "code": "NOT_FOUND", "hint": "'backstory snapshots list' shows those that are kept",
        "request_id": answer["request_id"],
    });
    assert_eq!(answer, problem);
    let large = json!({ "id": "a".repeat(256 << 10) });
    expect!["413 TOO_LARGE: the body is larger than 256 KiB"]
        .assert_eq(&refusal(&api.request("snapshot", None, &large).await));
    let read = api.http.get(format!("{}/api/v1/digest", api.url)).send().await.unwrap();
    assert_eq!(read.status(), 405);
    assert_eq!(api.request("tasks", None, &json!({})).await, (200, json!([])));
}

#[tokio::test]
async fn a_token_may_do_what_its_scopes_permit() {
    let mut all = UseCases::default();
    visit_all(&mut all);
    let mut sandbox = Sandbox::empty();
    let scopes = [("reader", Scope::Read), ("syncer", Scope::Sync), ("keeper", Scope::Admin)];
    let mut config = "data_dir = \"data\"\n".to_owned();
    for (name, scope) in scopes {
        let variable = name.to_uppercase();
        sandbox.set(&variable, &format!("{name}-{TOKEN}"));
        config.push_str(&format!(
            "[[server.tokens]]\nenv = \"{variable}\"\nname = \"{name}\"\nprojects = [\"**\"]\nscopes = [\"{}\"]\n",
            scope.as_str()
        ));
    }
    sandbox.write_config(&config);
    let server = sandbox.serve();
    let api = Api::new(&server.url);
    for (name, scope) in &all.0 {
        for (holder, has) in scopes {
            let token = format!("{holder}-{TOKEN}");
            // The request itself is wrong too, but that is not what is wrong first.
            let answer = api.send(name, Some(&token), "application/json", "nothing").await;
            let wanted = if has >= *scope {
                format!(
                    "400 INVALID: the body is not a '{name}' request: invalid JSON at line 1 column 2: expected a value"
                )
            } else {
                let (needs, has) = (scope.as_str(), has.as_str());
                format!(
                    "403 FORBIDDEN: '{name}' needs the scope {needs}; token {holder} has {has}; 'backstory token create \
                     --scopes' makes a token that may"
                )
            };
            assert_eq!(refusal(&answer), wanted);
        }
    }
}

#[tokio::test]
async fn without_tokens_this_machine_may_do_everything() {
    let (_sandbox, server, secret) = server(false);
    let api = Api::new(&server.url);
    for token in [None, Some(secret.as_str())] {
        assert_eq!(api.request("tasks", token, &json!({})).await, (200, json!([])));
        assert_eq!(api.request("prune-snapshots", token, &json!({})).await, (200, json!([])));
    }
}

#[tokio::test]
async fn evaluation_tells_where_expected_sources_stand() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let api = Api::new(&server.url);
    let question = |id: &str, question: &str, gold: &[&str]| json!({ "id": id, "question": question, "gold": gold });
    let request = json!({
        "questions": [question("a", "Redis or Memcached?", &["#3", "acme/shop!99"]), question("b", "Kafka?", &[])],
        "project": "acme/shop", "legs": ["lexical", "fused"], "depth": 50,
    });
    let (status, found) = api.request("evaluate", None, &request).await;
    assert_eq!(status, 200, "{found:#}");
    let first = &found["questions"][0];
    assert_eq!((&found["project"], &first["unknown"]), (&json!("acme/shop"), &json!(["acme/shop!99"])));
    assert_eq!(first["legs"].as_object().unwrap().keys().collect::<Vec<_>>(), ["fused", "lexical"]);
    assert_eq!(first["legs"]["lexical"]["ranks"], json!([1, null]));
    assert_eq!(first["legs"]["lexical"]["results"][0]["id"], "acme/shop#3");
    assert_eq!(found["questions"][1]["legs"]["fused"]["ranks"], json!([]));

    let refused = async |changes: Value| {
        let mut request =
            json!({ "questions": [question("a", "q", &[])], "project": null, "legs": ["fused"], "depth": 50 });
        request.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        refusal(&api.request("evaluate", None, &request).await)
    };
    let error = refused(json!({ "questions": [question("a", "q", &["*"])] })).await;
    assert!(error.starts_with("400 INVALID: question a: '*' names no source; write "), "{error}");
    expect!["400 INVALID: 21 questions were given; 1 to 20 can be asked at once"]
        .assert_eq(&refused(json!({ "questions": vec![question("a", "q", &[]); 21] })).await);
    expect!["400 INVALID: the depth is 0; it must be 1 to 100"].assert_eq(&refused(json!({ "depth": 0 })).await);
    expect!["400 INVALID: no leg was named; name at least one"].assert_eq(&refused(json!({ "legs": [] })).await);
}

#[tokio::test]
async fn a_token_is_needed_where_one_is_configured() {
    let (_sandbox, server, _) = server(true);
    let api = Api::new(&server.url);
    let missing = "401 UNAUTHENTICATED: missing token: send 'Authorization: Bearer <token>'";
    let wrong = "401 UNAUTHENTICATED: the token is unknown, expired or revoked; ask the operator of the server for another; \
                 'backstory token list' shows them";
    for (token, expected) in [(None, missing), (Some("open-sesame"), wrong), (Some(""), wrong)] {
        for name in ["tasks", "prune-snapshots", "nothing"] {
            assert_eq!(refusal(&api.request(name, token, &json!({})).await), expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_takes_too_long_is_cut_off() {
    /// A fast machine may have an answer before the time is looked at, but not again and again.
    const TRIES: usize = 100;
    let data = tempfile::tempdir().unwrap();
    let engine = Engine::open(data.path(), settings()).await.unwrap();
    let limits = Limits { time: Duration::ZERO, ..Limits::default() };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = Api::new(&format!("http://{}", listener.local_addr().unwrap()));
    let token = Token { name: "test".to_owned(), secret: SecretString::from(TOKEN), grant: Grant::everything() };
    let own = SecretString::from("of the data directory");
    let (tokens, origins, proxy) = (vec![token], Vec::new(), Proxy::default());
    let access = Access { tokens, own, webhooks: false, origins, requests_per_minute: 0, proxy };
    tokio::spawn(async move { serve(engine, listener, access, limits, std::future::pending()).await.unwrap() });
    let mut answer = api.request("stats", Some(TOKEN), &json!({})).await;
    for _ in 0..TRIES {
        if answer.0 != 200 {
            break;
        }
        answer = api.request("stats", Some(TOKEN), &json!({})).await;
    }
    expect!["504 TIMEOUT: the answer took longer than 0 s; ask for less at once"].assert_eq(&refusal(&answer));
    let mut answer = (200, Value::Null);
    for _ in 0..TRIES {
        if answer.0 != 200 {
            break;
        }
        let query = json!({ "query": "{ stats { __typename } coverage { __typename } }" });
        let request = api.http.post(api.url.clone() + "/graphql").bearer_auth(TOKEN).json(&query);
        let response = request.send().await.unwrap();
        answer = (response.status().as_u16(), response.json().await.unwrap());
    }
    expect!["504 TIMEOUT: the operation took longer than 0 s; ask for less at once"].assert_eq(&refusal(&answer));
    // What reads everything has more time.
    let (status, digest) = api.request("digest", Some(TOKEN), &json!({})).await;
    assert_eq!((status, &digest["quads"]), (200, &json!(0)));
}
