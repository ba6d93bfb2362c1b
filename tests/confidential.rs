//! Confidential issues and internal notes: not read unless configured, and then shown to who may see them, and to nobody
//! else in any answer.

mod fields;

use std::{collections::BTreeSet, fs, path::Path};

use backstory_store::ledger::Ledger;
use serde_json::{Value, json};

use crate::{
    graphql::access::Socket,
    support::{Forge, Sandbox, Server, check_answer},
};

/// What reads them, and who may see them.
const KEEP: &str = "confidential = true\n[server]\ntoken_env = \"PLAIN\"\n[[server.tokens]]\nenv = \"SCOPED\"\nprojects = [\"**\"]\nscopes = [\"confidential\"]\n";
/// The confidential issue.
const HIDDEN: &str = "acme/shop#7";
/// The public issue with an internal note.
const PUBLIC: &str = "acme/shop#1";
/// Words that stand in confidential places only: title, description, note, internal note, who wrote them, by both names.
const PLANTED: [&str; 6] = ["tangerine", "marzipan", "zeppelin", "platypus", "mallorquin", "xaverine"];

/// A forge where all of this is.
fn planted() -> Forge {
    let forge = Forge::start();
    forge.join("mallorquin", "Xaverine Insider");
    let title = "The tangerine outage of the largest customer";
    let text = "We decided on marzipan because the cache of #1 leaked sessions; see #1 and @alice.";
    assert_eq!(forge.new_issue("acme/shop", "mallorquin", title, text), HIDDEN);
    forge.set_confidential(HIDDEN, true);
    forge.discuss(HIDDEN, "mallorquin", "The zeppelin customer must not be named, as acme/shop!1 would tell.");
    forge.discuss_inside(PUBLIC, "mallorquin", "Internally: platypus is why sessions went away, see #7.");
    forge.relate(PUBLIC, HIDDEN);
    forge.mentioned_in(PUBLIC, HIDDEN);
    forge.advance(600);
    forge
}

/// A sandbox that has read all of it, with vectors.
fn keeping(forge: &Forge) -> Sandbox {
    configured(forge, KEEP)
}

/// The same with that configuration.
fn configured(forge: &Forge, configuration: &str) -> Sandbox {
    let mut sandbox = Sandbox::new(forge);
    sandbox.set("PLAIN", "a plain token, long enough");
    sandbox.set("SCOPED", "a scoped token, long enough");
    sandbox.configure(configuration);
    sandbox.run(&["sync"]).ok();
    sandbox.run(&["embed"]).ok();
    sandbox
}

/// Which of the words a text has.
fn words_in(text: &str) -> BTreeSet<&'static str> {
    let text = text.to_lowercase();
    PLANTED.into_iter().filter(|word| text.contains(word)).collect()
}

/// A client of a server with one of its tokens.
struct Client<'a> {
    server: &'a Server,
    http: reqwest::Client,
    token: Option<&'a str>,
}

impl<'a> Client<'a> {
    fn new(server: &'a Server, token: Option<&'a str>) -> Self {
        Self { server, http: reqwest::Client::builder().no_proxy().build().unwrap(), token }
    }

    async fn ask(&self, operation: Option<&str>, query: &str, variables: &Value) -> Value {
        self.post("/graphql", &json!({ "query": query, "operationName": operation, "variables": variables })).await
    }

    /// The answer to a request of a use case.
    async fn answer(&self, use_case: &str, request: &Value) -> Value {
        self.post(&format!("/api/v1/{use_case}"), request).await
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let mut request = self.http.post(format!("{}{path}", self.server.url)).json(body);
        if let Some(token) = self.token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.unwrap();
        let (status, answer) = (response.status().as_u16(), response.json().await.unwrap());
        check_answer("post", path, status, &answer);
        answer
    }
}

/// Whether a text is in any file below a directory, as it is.
fn on_disk(directory: &Path) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(on_disk(&path));
        } else {
            found.extend(words_in(&String::from_utf8_lossy(&fs::read(path).unwrap())));
        }
    }
    found
}

/// The words in what the ledger holds, unpacked.
fn in_ledger(sandbox: &Sandbox) -> BTreeSet<&'static str> {
    let ledger = Ledger::open(&sandbox.data().join("ledger.sqlite")).unwrap();
    let mut found = BTreeSet::new();
    ledger
        .for_each_text(|_, text| {
            found.extend(words_in(&String::from_utf8_lossy(text)));
            true
        })
        .unwrap();
    found
}

fn hits(sandbox: &Sandbox, words: &str) -> Vec<String> {
    let found = sandbox.run(&["search", words, "--mode", "lexical", "--json"]).ok().json();
    found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn is_sound(sandbox: &Sandbox) {
    let report = sandbox.run(&["check", "--json"]).json();
    assert_eq!(report["ok"], true, "{report:#}");
}

#[test]
fn nothing_confidential_is_read_unless_configured() {
    let forge = planted();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["embed"]).ok();
    assert_eq!(on_disk(&sandbox.data()), BTreeSet::new());
    assert_eq!(in_ledger(&sandbox), BTreeSet::new());
    assert_eq!(sandbox.run(&["count", "issues"]).ok().stdout, "Issues: 6\n");
    is_sound(&sandbox);
}

#[test]
fn the_setting_can_be_turned_on_and_off() {
    let forge = planted();
    let mut sandbox = Sandbox::synced(&forge);
    sandbox.set("PLAIN", "a plain token, long enough");
    sandbox.set("SCOPED", "a scoped token, long enough");
    let without = sandbox.run(&["check", "--digest"]).ok().stdout;

    sandbox.configure(KEEP);
    sandbox.run(&["sync"]).ok();
    is_sound(&sandbox);
    let shown = sandbox.run(&["show", HIDDEN]).ok().stdout;
    assert_eq!(words_in(&shown), ["mallorquin", "marzipan", "tangerine", "xaverine", "zeppelin"].into());
    assert!(shown.contains("(opened, confidential)"), "{shown}");
    let internal = sandbox.run(&["show", PUBLIC]).ok().stdout;
    assert!(internal.contains("platypus") && internal.contains("· confidential"), "{internal}");
    assert_eq!(hits(&sandbox, "tangerine marzipan"), [HIDDEN]);
    assert!(!hits(&sandbox, "platypus").is_empty());
    let doctor = sandbox.run(&["doctor"]).stdout;
    assert!(doctor.contains("1 confidential issue and 1 internal discussion of acme/shop are kept"), "{doctor}");
    let incremental = sandbox.run(&["check", "--digest"]).ok().stdout;
    assert_eq!(keeping(&forge).run(&["check", "--digest"]).ok().stdout, incremental, "as a first sync with it");
    sandbox.run(&["rebuild"]).ok();
    assert_eq!(sandbox.run(&["check", "--digest"]).ok().stdout, incremental, "as a rebuild");

    sandbox.configure("");
    sandbox.run(&["sync"]).ok();
    is_sound(&sandbox);
    assert_eq!(sandbox.run(&["check", "--digest"]).ok().stdout, without, "as if it had never been on");
    assert!(sandbox.run(&["show", HIDDEN]).error(1).contains("there is no"));
    assert_eq!(hits(&sandbox, "tangerine marzipan zeppelin platypus"), Vec::<String>::new());
    assert_eq!(in_ledger(&sandbox), BTreeSet::new());
    assert_eq!(sandbox.run(&["count", "issues"]).ok().stdout, "Issues: 6\n");
}

#[tokio::test]
async fn what_becomes_confidential_is_hidden_and_comes_back() {
    let forge = planted();
    let sandbox = keeping(&forge);
    let second = &forge.new_issue("acme/shop", "carol", "A move of all tables", "Nobody must wait for it.");
    forge.discuss(second, "carol", "The kangaroo plan is to dual write.");
    let issue = format!("{{ issue(id: \"{second}\") {{ title confidential discussions {{ totalCount }} }} }}");
    let search = "{ search(query: \"kangaroo\", mode: LEXICAL) { hits { documentId confidential } } }";
    for confidential in [false, true, false] {
        forge.set_confidential(second, confidential);
        forge.advance(600);
        sandbox.run(&["sync"]).ok();
        is_sound(&sandbox);
        let server = sandbox.serve();
        let (open, whole) = (
            Client::new(&server, Some("a plain token, long enough")),
            Client::new(&server, Some("a scoped token, long enough")),
        );
        let seen = whole.ask(None, &issue, &Value::Null).await;
        assert_eq!(seen["data"]["issue"]["confidential"], confidential, "{seen}");
        assert_eq!(open.ask(None, &issue, &Value::Null).await["data"]["issue"].is_null(), confidential);
        let found = open.ask(None, search, &Value::Null).await;
        assert_eq!(found["data"]["search"]["hits"].as_array().unwrap().is_empty(), confidential, "{found}");
        let found = whole.ask(None, search, &Value::Null).await;
        assert_eq!(found["data"]["search"]["hits"][0]["confidential"], confidential, "{found}");
        drop(server);
    }
}

#[tokio::test]
async fn durations_of_a_list_do_not_tell_how_long_something_hidden_took() {
    let forge = planted();
    forge.close(HIDDEN, "carol");
    let sandbox = keeping(&forge);
    let server = sandbox.serve();
    let query = "{ issues(first: 0) { timeToClose { count median p90 mean }
        groupBy(field: AUTHOR) { groups { value timeToClose { count } } }
        activity(by: YEAR, of: CLOSED) { periods { timeToClose { count } } } } }";
    for (token, count, median, p90, mean) in [
        ("a plain token, long enough", 2, 2_096_250, 2_163_090, 2_096_250),
        // It took ten minutes.
        ("a scoped token, long enough", 3, 2_012_700, 2_146_380, 1_397_700),
    ] {
        let issues = Client::new(&server, Some(token)).ask(None, query, &Value::Null).await["data"]["issues"].take();
        let expected = json!({ "count": count, "median": median, "p90": p90, "mean": mean });
        assert_eq!(issues["timeToClose"], expected, "{issues:#}");
        let counted = |list: &Value| -> u64 {
            list.as_array().unwrap().iter().map(|of| of["timeToClose"]["count"].as_u64().unwrap()).sum()
        };
        let (groups, periods) = (&issues["groupBy"]["groups"], &issues["activity"]["periods"]);
        assert_eq!((counted(groups), counted(periods)), (count, count), "{issues:#}");
        assert_eq!(groups.to_string().contains("mallorquin"), count == 3, "{issues:#}");
    }
}

#[tokio::test]
async fn an_internal_note_is_no_first_review_in_the_list_of_any_caller() {
    let forge = planted();
    let request = forge.new_merge_request("acme/shop", "bob", "Sell gift cards", "");
    forge.advance(600);
    forge.discuss_inside(&request, "carol", "Internally: not before the audit.");
    let sandbox = keeping(&forge);
    let server = sandbox.serve();
    let query = format!(
        "{{ mergeRequest(id: \"{request}\") {{ timeToFirstReview discussions(first: 0) {{ totalCount }} }}
        mergeRequests(first: 0) {{ totalCount timeToFirstReview {{ count median }}
        groupBy(field: STATE) {{ groups {{ value count timeToFirstReview {{ count }} }} }} }} }}"
    );
    for (token, discussions) in [("a plain token, long enough", 0), ("a scoped token, long enough", 1)] {
        let data = Client::new(&server, Some(token)).ask(None, &query, &Value::Null).await["data"].take();
        assert_eq!(data["mergeRequest"]["discussions"]["totalCount"], discussions, "{data:#}");
        assert_eq!(data["mergeRequest"]["timeToFirstReview"], Value::Null, "{data:#}");
        let list = &data["mergeRequests"];
        assert_eq!(list["totalCount"], 6, "{data:#}");
        assert_eq!(list["timeToFirstReview"], json!({ "count": 5, "median": 187_200 }), "{data:#}");
        let opened = json!({ "value": "OPENED", "count": 3, "timeToFirstReview": { "count": 2 } });
        assert_eq!(list["groupBy"]["groups"][0], opened, "{data:#}");
    }
}

#[tokio::test]
async fn records_of_what_was_forgotten_are_as_confidential_as_it_was() {
    let forge = planted();
    let sandbox = keeping(&forge);
    sandbox.run(&["forget", HIDDEN, "--reason", "the zeppelin customer asked for it"]).ok();
    sandbox.run(&["forget", "acme/shop#2"]).ok();
    let server = sandbox.serve();
    let (open, whole) = (
        Client::new(&server, Some("a plain token, long enough")),
        Client::new(&server, Some("a scoped token, long enough")),
    );
    let audit = "{ audit { nodes { subject reason } } }";
    let subjects = |answer: Value| -> Vec<String> {
        let entries = answer["data"]["audit"]["nodes"].as_array().unwrap().iter();
        entries.map(|entry| entry["subject"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(subjects(open.ask(None, audit, &Value::Null).await), ["acme/shop#2"]);
    assert_eq!(subjects(whole.ask(None, audit, &Value::Null).await), ["acme/shop#2", HIDDEN]);
    let undo = format!("mutation {{ undoForget(id: \"{HIDDEN}\") {{ subject }} }}");
    let refused = open.ask(None, &undo, &Value::Null).await;
    assert!(refused["errors"][0]["message"].as_str().unwrap().contains("is not forgotten"), "{refused}");
    sandbox.run(&["forget", "--undo", HIDDEN]).ok();
    assert_eq!(subjects(open.ask(None, audit, &Value::Null).await), ["acme/shop#2"]);
    assert_eq!(subjects(whole.ask(None, audit, &Value::Null).await), [HIDDEN, "acme/shop#2", HIDDEN]);
}

#[tokio::test]
async fn a_server_without_tokens_shows_it_to_its_own_commands_alone() {
    let forge = planted();
    let sandbox = Sandbox::new(&forge);
    sandbox.configure("confidential = true\n");
    sandbox.run(&["sync"]).ok();
    let server = sandbox.serve();
    let title = format!("{{ issue(id: \"{HIDDEN}\") {{ title }} }}");
    for token in [None, Some("a scoped token, long enough")] {
        let answer = Client::new(&server, token).ask(None, &title, &Value::Null).await;
        assert_eq!(answer["data"]["issue"], Value::Null);
    }
    // A command can read the data directory, so it could read the stores too.
    assert!(sandbox.run(&["show", HIDDEN]).ok().stdout.contains("tangerine"));
    let announced: Value = serde_json::from_slice(&fs::read(sandbox.data().join("server.json")).unwrap()).unwrap();
    let own = announced["secret"].as_str().unwrap();
    assert_eq!(own.len(), 64);
    let answer = Client::new(&server, Some(own)).ask(None, &title, &Value::Null).await;
    assert!(answer["data"]["issue"]["title"].as_str().unwrap().contains("tangerine"));
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(sandbox.data().join("server.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn conversations_are_read_by_those_who_see_as_much() {
    let forge = planted();
    // Only administrators read conversations of others.
    let sandbox = configured(&forge, &KEEP.replace("[\"confidential\"]", "[\"admin\", \"confidential\"]"));
    let server = sandbox.serve();
    let (open, whole) = (
        Client::new(&server, Some("a plain token, long enough")),
        Client::new(&server, Some("a scoped token, long enough")),
    );
    let question = "Why did we decide on marzipan in the tangerine outage?";
    let create = "mutation { createChat { id } }";
    let send = "mutation ($chat: ID!, $text: String!) { sendMessage(chat: $chat, text: $text) { text answer { citations { documentId confidential } } } }";
    let read = "query ($chat: ID!) { chat(id: $chat) { title messages { nodes { text } } } chats { nodes { id } } }";

    whole.ask(None, create, &Value::Null).await;
    let told = whole.ask(None, send, &json!({ "chat": "1", "text": question })).await;
    assert!(words_in(&told.to_string()).contains("marzipan"), "{told}");
    assert_eq!(told["data"]["sendMessage"]["answer"]["citations"][0]["confidential"], true);
    let answer = open.ask(None, read, &json!({ "chat": "1" })).await;
    assert_eq!(answer["data"], json!({ "chat": null, "chats": { "nodes": [] } }));
    assert!(open.ask(None, send, &json!({ "chat": "1", "text": "And?" })).await["errors"].is_array());
    let removed = open.ask(None, "mutation { removeChat(id: 1) }", &Value::Null).await;
    assert_ne!(removed["data"]["removeChat"], true, "{removed}");

    open.ask(None, create, &Value::Null).await;
    let told = open.ask(None, send, &json!({ "chat": "2", "text": question })).await;
    // The question repeats the words; nothing else may.
    assert_eq!(told["data"]["sendMessage"]["answer"]["citations"], json!([]), "{told}");
    assert_eq!(
        open.ask(None, read, &json!({ "chat": "2" })).await["data"]["chats"],
        json!({ "nodes": [{ "id": "chat/2" }] })
    );
    assert_eq!(
        whole.ask(None, read, &json!({ "chat": "2" })).await["data"]["chats"]["nodes"].as_array().unwrap().len(),
        2
    );

    // A subscription sees what the token of its first message sees.
    for (token, sees) in [("a plain token, long enough", false), ("a scoped token, long enough", true)] {
        let mut socket = Socket::connect(&server.url, &[]).await.ok().unwrap();
        let payload = json!({ "Authorization": format!("Bearer {token}") });
        socket.send(json!({ "type": "connection_init", "payload": payload })).await;
        socket.next().await.unwrap();
        let query = "subscription ($chat: ID!, $text: String!) { answer(chat: $chat, text: $text) { citations { documentId text } } }";
        let variables =
            json!({ "chat": "2", "text": "Why was it decided, because of the cache that leaked sessions?" });
        let payload = json!({ "query": query, "variables": variables });
        socket.send(json!({ "id": "a", "type": "subscribe", "payload": payload })).await;
        let mut told = String::new();
        while let Some(message) = socket.next().await.filter(|message| message["type"] != "complete") {
            told.push_str(&message.to_string());
        }
        assert_eq!(told.contains("marzipan"), sees, "{told}");
    }
    assert_eq!(open.ask(None, read, &json!({ "chat": "2" })).await["data"]["chat"], Value::Null);
}
