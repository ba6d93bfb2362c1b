//! Tokens that a command makes: what they show and permit, that only a hash of them is kept, that they end, and what the
//! audit log has of their holders.

use backstory_engine::ledger::{JobKind, Ledger, NewJob};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    graphql::access::Socket,
    support::{Forge, Output, Sandbox, Server, check_answer, eventually},
};

/// A client of a server, with a token if it has one.
struct Client {
    http: reqwest::Client,
    url: String,
    token: Option<String>,
}

impl Client {
    fn new(server: &Server, token: Option<&str>) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { http, url: server.url.clone(), token: token.map(str::to_owned) }
    }

    /// Status and body of the answer.
    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.http.post(format!("{}{path}", self.url)).json(body);
        let request = self.token.iter().fold(request, reqwest::RequestBuilder::bearer_auth);
        let response = request.send().await.unwrap();
        let (status, answer) = (response.status().as_u16(), response.json().await.unwrap());
        check_answer("post", path, status, &answer);
        (status, answer)
    }

    async fn status(&self) -> u16 {
        self.post("/api/v1/repositories", &json!({})).await.0
    }
}

/// A token that is made with more arguments.
fn create(sandbox: &Sandbox, more: &[&str]) -> Value {
    sandbox.run(&[&["token", "create", "--json"], more].concat()).json()
}

fn secret(made: &Value) -> String {
    made["secret"].as_str().unwrap().to_owned()
}

fn log(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.run(&["token", "log", "--json"]).json().as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_ends_after_90_days_unless_it_is_said_when() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let never = create(&sandbox, &["--projects", "**", "--scopes", "admin", "--expires", "never"]);
    assert_eq!(never["token"]["expires"], Value::Null);
    let server = sandbox.serve();
    let keeper = Client::new(&server, Some(&secret(&never)));
    let (status, of_api) = keeper.post("/api/v1/create-token", &json!({ "projects": ["acme/*"] })).await;
    assert_eq!(status, 200, "{of_api:#}");
    for made in [create(&sandbox, &["--projects", "acme/*"]), of_api] {
        let time = |field: &str| made["token"][field].as_str().unwrap().parse::<Timestamp>().unwrap();
        let hours = time("expires").duration_since(time("created_at")).as_hours();
        assert!((90 * 24 - 1..=90 * 24).contains(&hours), "{made:#}");
    }
    // The command line and the API take the same words.
    let end = |made: &Value| made["token"]["expires"].as_str().unwrap().parse::<Timestamp>().unwrap();
    for expires in ["30d", "12h", "2099-01-31", "2099-01-31T12:00:00+01:00"] {
        let of_command = create(&sandbox, &["--projects", "acme/*", "--expires", expires]);
        let request = json!({ "projects": ["acme/*"], "expires": expires });
        let (status, of_api) = keeper.post("/api/v1/create-token", &request).await;
        assert_eq!(status, 200, "{of_api:#}");
        assert!(end(&of_api).duration_since(end(&of_command)).as_mins() < 60, "{of_command:#} {of_api:#}");
    }
    let said = sandbox.run(&["token", "create", "--projects", "acme/*", "--expires", "soon"]).error(2).to_owned();
    assert!(said.contains("'soon' is not the end of a token; write 90d or 12h"), "{said}");
    let endless = json!({ "projects": ["acme/*"], "expires": "never" });
    assert_eq!(keeper.post("/api/v1/create-token", &endless).await.1["token"]["expires"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_shown_once_and_ends_when_it_is_revoked() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let made = create(&sandbox, &["--name", "ci", "--projects", "acme/*", "--scopes", "read,sync"]);
    let secret = secret(&made);
    assert!(secret.starts_with(&format!("bst_{}_", made["token"]["id"].as_str().unwrap())), "{made:#}");
    let listed = sandbox.run(&["token", "list", "--json"]).json();
    let token = &listed[0];
    assert_eq!((&token["name"], &token["created_by"]), (&json!("ci"), &json!("owner")));
    assert_eq!((&token["scopes"], &token["projects"]), (&json!(["read", "sync"]), &json!(["acme/*"])));
    assert_eq!((&token["last_used_at"], &token["revoked_at"]), (&Value::Null, &Value::Null));
    assert!(!listed.to_string().contains(&secret));
    for file in std::fs::read_dir(sandbox.data()).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(bytes) = std::fs::read(&file) else { continue };
        let has = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!has, "{} has the token", file.display());
    }

    let server = sandbox.serve();
    let (holder, nobody) = (Client::new(&server, Some(&secret)), Client::new(&server, None));
    assert_eq!((holder.status().await, nobody.status().await), (200, 401), "once there is a token, it must be shown");
    assert_eq!(Client::new(&server, Some(&secret[..secret.len() - 1])).status().await, 401);
    eventually("its last use is known", || {
        !sandbox.run(&["token", "list", "--json"]).json()[0]["last_used_at"].is_null()
    });

    assert_eq!(
        sandbox.run(&["token", "create", "--name", "ci", "--projects", "acme/*"]).error(1),
        "there is a token 'ci' already; choose another name, or revoke that one: 'backstory token revoke ci'"
    );
    let every = "every request to the server needs a token";
    let second = sandbox.run(&["token", "create", "--name", "other", "--projects", "acme/*"]).ok();
    assert!(!second.stderr.contains(every), "{second:?}");
    let again = "everyone on this machine is answered without one again";
    assert!(!sandbox.run(&["token", "revoke", "ci"]).ok().stderr.contains(again));
    assert_eq!(holder.status().await, 401);
    sandbox.run(&["token", "revoke", "ci"]).error(1);
    let last = sandbox.run(&["token", "revoke", "other"]).ok();
    assert!(last.stderr.contains(again) && last.stderr.contains("unless the server listens on an address"), "{last:?}");
    assert_eq!(nobody.status().await, 200, "without any token this machine may use the server");
    assert!(sandbox.run(&["token", "create", "--projects", "acme/*"]).ok().stderr.contains(every));
}

// Rows 152 and 156 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_shows_and_permits_what_it_grants() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let of = |more: &[&str]| Client::new(&server, Some(&secret(&create(&sandbox, more))));
    let (reader, syncer) = (of(&["--projects", "acme/*"]), of(&["--projects", "acme/shop", "--scopes", "sync"]));
    let (other, keeper) = (of(&["--projects", "tools/**"]), of(&["--projects", "**", "--scopes", "admin"]));
    let group_keeper = of(&["--projects", "acme/*", "--scopes", "admin"]);

    let search = json!({ "query": "{ issues(first: 50) { totalCount nodes { id } } projects { nodes { id } } }" });
    let (_, seen) = reader.post("/graphql", &search).await;
    assert_eq!(seen["data"]["projects"]["nodes"], json!([{ "id": "acme/shop" }]), "{seen:#}");
    let (_, seen) = other.post("/graphql", &search).await;
    assert_eq!(
        seen["data"],
        json!({ "issues": { "totalCount": 0, "nodes": [] }, "projects": { "nodes": [] } }),
        "{seen:#}"
    );

    let forget = json!({ "reference": "acme/shop#1", "reason": null });
    for client in [&reader, &syncer, &other] {
        assert_eq!(client.post("/api/v1/forget", &forget).await.0, 403);
    }
    let (status, refused) = reader.post("/graphql", &json!({ "query": "mutation { backup { path } }" })).await;
    assert_eq!((status, &refused["errors"][0]["extensions"]["code"]), (200, &json!("FORBIDDEN")), "{refused:#}");
    let queue = json!({ "kind": "sync", "project": "acme/shop" });
    assert_eq!(
        (reader.post("/api/v1/queue-job", &queue).await.0, syncer.post("/api/v1/queue-job", &queue).await.0),
        (403, 200)
    );
    assert_eq!(group_keeper.post("/api/v1/backup", &json!({})).await.0, 403, "it concerns all projects");
    assert_eq!(keeper.post("/api/v1/backup", &json!({})).await.0, 200);
    // Nobody grants more than they have.
    let soon = json!(Timestamp::now() + SignedDuration::from_hours(1));
    let grant = |confidential: bool, expires: &Value| json!({ "name": null, "projects": ["**"], "confidential": confidential, "scopes": ["read"], "expires": expires });
    assert_eq!(keeper.post("/api/v1/create-token", &grant(true, &soon)).await.0, 403);
    assert_eq!(keeper.post("/api/v1/create-token", &grant(false, &soon)).await.0, 200);
    assert_eq!(group_keeper.post("/api/v1/create-token", &grant(false, &soon)).await.0, 403);
    // Nor for longer.
    let later = json!(Timestamp::now() + SignedDuration::from_hours(24 * 365));
    for expires in [json!("never"), later] {
        let (status, refused) = keeper.post("/api/v1/create-token", &grant(false, &expires)).await;
        assert_eq!((status, &refused["code"]), (403, &json!("FORBIDDEN")), "{refused:#}");
    }
    let (status, refused) = keeper.post("/api/v1/create-token", &grant(false, &json!("soon"))).await;
    assert_eq!((status, &refused["code"]), (400, &json!("INVALID")), "{refused:#}");
    let (status, refused) = keeper.post("/api/v1/create-token", &json!({ "projects": [] })).await;
    assert_eq!((status, &refused["code"]), (400, &json!("INVALID")), "{refused:#}");
    // Without an end, for as long as their own token.
    let (status, made) = keeper.post("/api/v1/create-token", &grant(false, &Value::Null)).await;
    assert_eq!((status, made["token"]["expires"].is_string()), (200, true), "{made:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_polls_for_changes_learns_nothing_of_hidden_projects() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let of = |projects: &str| Client::new(&server, Some(&secret(&create(&sandbox, &["--projects", projects]))));
    let (reader, other) = (of("acme/*"), of("tools/**"));
    let poll = async |client: &Client, after: Option<&str>| -> Value {
        let query = "query ($after: String) { changes(after: $after) { nodes { node { id } } pageInfo { endCursor hasNextPage } } }";
        let body = json!({ "query": query, "variables": { "after": after } });
        let (_, mut answer) = client.post("/graphql", &body).await;
        assert!(answer["errors"].is_null(), "{answer:#}");
        answer["data"]["changes"].take()
    };
    // Its cursor does not count what it does not see.
    let nothing = json!({ "nodes": [], "pageInfo": { "endCursor": "0", "hasNextPage": false } });
    assert_eq!(poll(&other, None).await, nothing);
    let now = poll(&reader, None).await["pageInfo"]["endCursor"].as_str().unwrap().to_owned();
    forge.advance(3600);
    let new = forge.new_issue("acme/shop", "bob", "Gift cards", "");
    sandbox.run(&["sync"]).ok();
    sandbox.run(&["forget", "acme/shop#2"]).ok();
    let told = poll(&reader, Some(&now)).await;
    for id in [new.as_str(), "acme/shop#2"] {
        assert!(told["nodes"].as_array().unwrap().iter().any(|change| change["node"]["id"] == id), "{id}: {told:#}");
    }
    for after in [None, Some("0")] {
        assert_eq!(poll(&other, after).await, nothing, "{after:?}");
    }
    let query = json!({ "query": "{ changes(projects: \"acme/shop\") { nodes { node { id } } } }" });
    let (_, refused) = other.post("/graphql", &query).await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "INVALID", "{refused:#}");
}

// Rows 153 and 158 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_what_holders_of_tokens_ask_and_what_anyone_changes() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let holder = Client::new(&server, Some(&secret(&create(&sandbox, &["--name", "ci", "--projects", "acme/*"]))));
    let leak = format!("{}-{}", "glpat", "aB3dE5gH7jK9mN1pQ2sT");
    let mut query = json!({ "projects": [], "status": null, "before": null, "limit": 5 });
    assert_eq!(holder.post("/api/v1/jobs", &query).await.0, 200);
    query["text"] = json!(leak);
    assert_eq!(holder.post("/api/v1/jobs", &query).await.0, 400, "a request has no such field");
    let question = json!({ "query": format!("{{ issue(id: \"acme/shop#1\") {{ title }} # {leak}\n}}") });
    assert_eq!(holder.post("/graphql", &question).await.0, 200);
    assert_eq!(holder.post("/api/v1/backup", &json!({})).await.0, 403);

    let found = log(&sandbox);
    let names: Vec<(&str, &str)> =
        found.iter().map(|row| (row["name"].as_str().unwrap(), row["outcome"].as_str().unwrap())).collect();
    // Listing the log is on record itself; it is the newest, or not yet there.
    let names: Vec<_> = names.into_iter().filter(|(name, _)| *name != "operations").collect();
    assert_eq!(
        names,
        [("backup", "FORBIDDEN"), ("graphql", "ok"), ("jobs", "ok"), ("create-token", "ok"), ("tokens", "ok")],
        "{found:#?}"
    );
    let graphql = found.iter().find(|row| row["name"] == "graphql").unwrap();
    assert!(graphql["actor"].as_str().unwrap().starts_with("token ci ("), "{graphql:#}");
    assert!(graphql["request"].as_str().unwrap().contains("acme/shop#1"), "{graphql:#}");
    assert!(!format!("{found:?}").contains(&leak), "{found:#?}");

    // What was forgotten is quoted by nobody any more, and who had it forgotten is known.
    sandbox.run(&["forget", "acme/shop#1", "--reason", "a test"]).ok();
    let found = log(&sandbox);
    assert!(found.iter().filter(|row| row["name"] == "graphql").all(|row| row["request"].is_null()), "{found:#?}");
    let audit = sandbox.run(&["forget", "--list", "--json"]).json();
    assert_eq!(audit[0]["actor"], "owner", "{audit:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_what_an_operation_does_whatever_stands_before_it() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let holder = Client::new(&server, Some(&secret(&create(&sandbox, &["--name", "ci", "--projects", "acme/*"]))));
    let padding = format!("# {}\n", "x".repeat(5_000));
    let leak = format!("{}-{}", "glpat", "aB3dE5gH7jK9mN1pQ2sT");
    let question = json!({
        "query": format!("{padding}query Titles($ref: String!, $in: String!) {{ a: issue(ref: $ref) {{ title }} b: issue(ref: $in) {{ title }} }}"),
        "operationName": "Titles",
        "variables": { "ref": "acme/shop#1", "in": leak, "aside": "y".repeat(5_000) },
    });
    holder.post("/graphql", &question).await;
    holder.post("/graphql", &json!({ "query": "{ nonsense }" })).await;
    let create = json!({ "query": "mutation { createChat(project: \"acme/shop\") { id } }" });
    let (_, chat) = holder.post("/graphql", &create).await;
    let chat = chat["data"]["createChat"]["id"].as_str().unwrap();
    let send = format!("mutation {{ sendMessage(chat: \"{chat}\", text: \"Why token bucket?\") {{ number }} }}");
    holder.post("/graphql", &json!({ "query": send })).await;
    let sparql = format!("{padding}SELECT ?s WHERE {{ ?s ?p <urn:a#b> }}");
    holder.post("/api/v1/sparql", &json!({ "query": sparql })).await;

    let found = log(&sandbox);
    let of = |name: &str, part: &str| {
        let is = |row: &&Value| row["name"] == name && row["request"].as_str().unwrap_or_default().contains(part);
        found.iter().find(is).unwrap_or_else(|| panic!("{name} {part}: {found:#?}"))
    };
    let titles = of("graphql", "acme/shop#1");
    let request = titles["request"].as_str().unwrap();
    assert!(request.contains("\"operation\":\"Titles\"") && request.contains("issue(ref: $ref)"), "{titles:#}");
    assert!(!request.contains("xxx") && !request.contains("yyy") && !request.contains(&leak), "{titles:#}");
    assert_eq!(of("graphql", "nonsense")["outcome"], "INVALID");
    assert_eq!(of("send-message", "Why token bucket?")["outcome"], "ok");
    assert!(of("sparql", "SELECT ?s")["request"].as_str().unwrap().contains("<urn:a#b>"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_names_nothing_that_a_mutation_forgets() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let made = create(&sandbox, &["--name", "keeper", "--projects", "**", "--scopes", "admin"]);
    let keeper = Client::new(&server, Some(&secret(&made)));
    let undo = "mutation Undo($id: ID!) { undoForget(id: $id, reason: \"@carol asked for it\") { __typename } }";
    let undo = json!({ "query": undo, "operationName": "Undo", "variables": { "id": "@carol" } });
    keeper.post("/graphql", &undo).await;
    keeper.post("/graphql", &json!({ "query": "mutation { undoForget(id: \"@carol\") { __typename } }" })).await;
    let found = log(&sandbox);
    let of = |name: &str| found.iter().filter(|row| row["name"] == name).collect::<Vec<_>>();
    assert_eq!((of("graphql").len(), of("undo-forget").len()), (2, 2), "{found:#?}");
    assert!(of("graphql").iter().all(|row| row["request"].is_null()), "{found:#?}");
    assert!(!format!("{found:?}").contains("carol"), "{found:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_for_the_token_that_began_it_and_for_administrators() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let of = |name: &str, scopes: &str| create(&sandbox, &["--name", name, "--projects", "acme/*", "--scopes", scopes]);
    let (made, other, keeper) = (of("ann", "read"), of("ben", "sync"), of("keeper", "admin"));
    let [ann, ben, keeper] = [&made, &other, &keeper].map(|made| Client::new(&server, Some(&secret(made))));
    let (status, chat) = ann.post("/api/v1/create-chat", &json!({ "project": "acme/shop" })).await;
    let actor = format!("token ann ({})", made["token"]["id"].as_str().unwrap());
    assert_eq!((status, &chat["id"], &chat["created_by"]), (200, &json!(1), &json!(actor)), "{chat:#}");

    let question = json!({ "chat": 1, "text": "Why token bucket?", "model": false });
    assert_eq!(ben.post("/api/v1/send-message", &question).await.0, 404);
    assert_eq!(ann.post("/api/v1/send-message", &question).await.0, 200);
    let (list, messages) = (json!({ "limit": 9 }), json!({ "chat": 1, "limit": 9 }));
    assert_eq!(ben.post("/api/v1/chats", &list).await.1, json!([]));
    assert_eq!(ben.post("/api/v1/messages", &messages).await.1, Value::Null);
    let query = json!({ "query": "{ chat(id: \"1\") { createdBy messageCount } }" });
    assert_eq!(ben.post("/graphql", &query).await.1["data"]["chat"], Value::Null);
    for reader in [&ann, &keeper] {
        assert_eq!(reader.post("/api/v1/chats", &list).await.1[0]["created_by"], actor);
        assert_eq!(reader.post("/api/v1/messages", &messages).await.1.as_array().unwrap().len(), 2);
        let found = reader.post("/graphql", &query).await.1;
        assert_eq!(found["data"]["chat"], json!({ "createdBy": actor, "messageCount": 2 }));
    }
    assert_eq!(ben.post("/api/v1/remove-chat", &json!({ "id": 1 })).await.0, 403);
    assert_eq!(keeper.post("/api/v1/remove-chat", &json!({ "id": 1 })).await.1, true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_begins_so_many_chats_and_leaves_room_for_others() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let made = create(&sandbox, &["--name", "ci", "--projects", "acme/*"]);
    let other = secret(&create(&sandbox, &["--name", "other", "--projects", "acme/*"]));
    let ledger = rusqlite::Connection::open(sandbox.data().join("ledger.sqlite")).unwrap();
    let actor = format!("token ci ({})", made["token"]["id"].as_str().unwrap());
    let fill = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO chats (project, created_at, created_by) SELECT 'acme/shop', i, ?1 FROM n";
    ledger.execute(fill, [&actor]).unwrap();
    ledger
        .execute("INSERT INTO messages (chat, number, role, text, created_at) VALUES (1, 1, 'user', 'why?', 1)", [])
        .unwrap();
    drop(ledger);
    let server = sandbox.serve();
    let holder = Client::new(&server, Some(&secret(&made)));
    let begin = json!({ "project": "acme/shop" });
    // The oldest in which nothing was said makes room.
    let (status, chat) = holder.post("/api/v1/create-chat", &begin).await;
    assert_eq!((status, &chat["id"]), (200, &json!(1001)), "{chat:#}");
    assert_eq!(holder.post("/api/v1/messages", &json!({ "chat": 2, "limit": 1 })).await.1, Value::Null);
    assert_eq!(holder.post("/api/v1/messages", &json!({ "chat": 1, "limit": 1 })).await.1[0]["text"], "why?");
    let ledger = rusqlite::Connection::open(sandbox.data().join("ledger.sqlite")).unwrap();
    let say = "INSERT INTO messages (chat, number, role, text, created_at) SELECT id, 1, 'user', 'why?', 1 FROM chats WHERE id > 1";
    ledger.execute(say, []).unwrap();
    drop(ledger);
    let (status, refused) = holder.post("/api/v1/create-chat", &begin).await;
    assert_eq!((status, &refused["code"]), (409, &json!("CONFLICT")), "{refused:#}");
    assert_eq!(Client::new(&server, Some(&other)).post("/api/v1/create-chat", &begin).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_changes_are_those_of_visible_projects() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let of = |projects: &str| Client::new(&server, Some(&secret(&create(&sandbox, &["--projects", projects]))));
    let (shown, hidden) = (of("acme/*"), of("tools/*"));
    let numbers = async |client: &Client| {
        let (_, status) = client.post("/api/v1/sync-status", &json!({ "runs": 1 })).await;
        ["ledger_seq", "graph_seq", "lists_seq", "index_seq"].map(|name| status[name].as_u64().unwrap())
    };
    let [ledger, graph, lists, index] = numbers(&shown).await;
    assert!(ledger > 0 && [graph, lists, index] == [ledger; 3], "{ledger} {graph} {lists} {index}");
    assert_eq!(numbers(&hidden).await, [0; 4]);
    let metrics = async |client: &Client| {
        let request = client.http.get(format!("{}/metrics", client.url)).bearer_auth(client.token.as_ref().unwrap());
        request.send().await.unwrap().text().await.unwrap()
    };
    assert!(metrics(&hidden).await.contains("backstory_ledger_changes 0.0\n"));
    assert!(metrics(&shown).await.contains(&format!("backstory_ledger_changes {ledger}.0\n")));
}

// Row 154 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_sends_too_many_requests_has_to_wait() {
    let mut sandbox = Sandbox::empty();
    sandbox.set("API_TOKEN", "open-sesame-open-sesame");
    sandbox.write_config("data_dir = \"data\"\n[server]\ntoken_env = \"API_TOKEN\"\nrequests_per_minute = 30\n");
    let server = sandbox.serve();
    let client = Client::new(&server, Some("open-sesame-open-sesame"));
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(client.status().await);
    }
    assert!(statuses.starts_with(&[200, 200, 200]) && statuses.ends_with(&[429]), "{statuses:?}");
    let request =
        client.http.post(format!("{}/api/v1/repositories", client.url)).bearer_auth("open-sesame-open-sesame");
    let refused = request.json(&json!({})).send().await.unwrap();
    assert!(refused.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap() <= 2);
    // Commands of the data directory's owner are not counted.
    let run = |_| -> Output { sandbox.run(&["repos"]) };
    (0..5).map(run).for_each(|output| drop(output.ok()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_followed_ends_with_the_token() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let ledger = Ledger::open(&sandbox.data().join("ledger.sqlite")).unwrap();
    let now = Timestamp::now();
    let job = NewJob { kind: JobKind::Full, project: "acme/shop".to_owned(), subject: None };
    let job = ledger.queue_job(&job, now + SignedDuration::from_hours(24), now).unwrap();
    drop(ledger);
    let server = sandbox.serve();
    let token = secret(&create(&sandbox, &["--name", "ci", "--projects", "acme/*"]));
    let bearer = format!("Bearer {token}");
    let mut socket = Socket::connect(&server.url, &[("authorization", &bearer)]).await.ok().unwrap();
    socket.send(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.next().await.unwrap()["type"], "connection_ack");
    let query = format!("subscription {{ jobProgress(id: \"{job}\") {{ status }} }}");
    socket.send(json!({ "type": "subscribe", "id": "1", "payload": { "query": query } })).await;
    assert_eq!(socket.next().await.unwrap()["payload"]["data"]["jobProgress"]["status"], "QUEUED");
    sandbox.run(&["token", "revoke", "ci"]).ok();
    let told = socket.next().await.unwrap();
    assert!(told["id"] == "1" && told.to_string().contains("UNAUTHENTICATED"), "{told:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_reads_no_place_of_the_server_and_changes_no_hidden_project() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let of = |more: &[&str]| Client::new(&server, Some(&secret(&create(&sandbox, more))));
    let keeper = of(&["--projects", "tools/**", "--scopes", "admin"]);
    let add =
        |address: &str, name: Value| json!({ "address": address, "name": name, "branches": "default", "forge": null });
    for (path, body) in [
        ("add-repository", add("/etc", json!("tools/etc"))),
        ("add-repository", add("https://example.com/acme/shop.git", Value::Null)),
        ("add-repository", add("https://example.com/acme/shop.git", json!("tools/shop"))),
        ("add-repository", add("git@example.com:acme/shop.git", json!("tools/shop"))),
        ("remove-repository", json!({ "project": "acme/shop" })),
        ("forget", json!({ "reference": "acme/shop", "reason": null })),
        ("forget", json!({ "reference": "acme/shop#1", "reason": null })),
        ("forget", json!({ "reference": "@alice", "reason": null })),
        ("undo-forget", json!({ "reference": "@alice", "reason": null })),
        ("queue-job", json!({ "kind": "full", "project": "acme/shop" })),
        ("rebuild", json!({ "projection": "graph" })),
        ("check", json!({})),
        ("revoke-token", json!({ "token": "ci" })),
        ("operations", json!({ "limit": 5 })),
        ("backup", json!({})),
    ] {
        let (status, answer) = keeper.post(&format!("/api/v1/{path}"), &body).await;
        assert!((400..500).contains(&status), "{path} {body}: {answer:#}");
        assert!(!answer.to_string().contains("Redis"), "{answer:#}");
    }
    // What there is on the server's machine is not told by how a path is refused.
    let mut refusals = std::collections::BTreeSet::new();
    for path in ["/etc", "/etc/nothing", "/etc/passwd", &sandbox.path().display().to_string()] {
        let (_, mut answer) = keeper.post("/api/v1/add-repository", &add(path, Value::Null)).await;
        answer.as_object_mut().unwrap().remove("request_id");
        refusals.insert(answer.to_string());
    }
    assert_eq!(refusals.len(), 1, "{refusals:#?}");
    let shown = json!({ "query": "why Redis", "mode": "lexical", "limit": 5, "rerank": false });
    let owner = of(&["--projects", "**", "--scopes", "read"]);
    assert_eq!(owner.post("/api/v1/search", &shown).await.0, keeper.post("/api/v1/search", &shown).await.0);
    let (_, found) = keeper.post("/api/v1/search", &shown).await;
    assert!(found["hits"].as_array().is_none_or(Vec::is_empty), "{found:#}");
}
