//! Who may see some projects sees what a data directory shows that holds no others: every use case that reads, the scores
//! of a search included.

mod requests;
mod walk;
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
};

use backstory_engine::{
    Engine,
    ask::VerifyRequest,
    ledger::{IngestBatch, Ledger, NewItem, StoredItem},
    model::{access::Grant, entity::ItemKind, visibility::Visibility},
    use_case::{Scope, UseCase},
    use_cases::{Visitor, visit_all},
};
use backstory_server::{Access, Limits, Proxy, Token, serve};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::support::{Indexed, check_answer, note};
use requests::{Requests, citations};
use world::{PROJECTS, World};

/// Use cases that write although a token for reading may do so.
const WRITING: [&str; 2] = ["create-chat", "send-message"];

type Answer = Pin<Box<dyn Future<Output = Value> + Send>>;

/// Answers a request that is JSON.
type Reader = fn(Engine, Value) -> Answer;

/// The use cases that read, by name.
#[derive(Default)]
struct Readers(Vec<(&'static str, Reader)>);

impl Visitor for Readers {
    fn visit<U: UseCase>(&mut self) {
        if U::SCOPE == Scope::Read && !U::CONCERNS_ALL_PROJECTS && !WRITING.contains(&U::NAME) {
            self.0.push((U::NAME, |engine, request| -> Answer { Box::pin(answer::<U>(engine, request)) }));
        }
    }
}

async fn answer<U: UseCase>(engine: Engine, request: Value) -> Value {
    let request: U = serde_json::from_value(request).unwrap();
    match engine.answer(request).await {
        Ok(answer) => serde_json::to_value(answer).unwrap(),
        Err(error) => json!({ "error": error.kind, "message": error.to_string() }),
    }
}

/// An answer without what two directories need not have in common.
fn comparable(use_case: &str, mut answer: Value) -> Value {
    match use_case {
        // Runs and tasks are those of a directory: who does not see all of it sees none.
        "tasks" | "task" => return Value::Null,
        "sync-status" => answer["runs"] = Value::Null,
        // States of the index are recorded for all projects together; the current one is computed for the caller.
        "snapshots" => answer["recorded"] = Value::Null,
        _ => {}
    }
    normalize(&mut answer);
    answer
}

fn normalize(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match name.as_str() {
                    // How long it took, and when this machine added and read what it has or had it written.
                    "took_ms" | "added_at" | "synced_at" | "written_at" => *field = Value::Null,
                    // The number of a change counts the changes of all projects.
                    "ledger_seq" | "graph_seq" | "lists_seq" | "index_seq" => *field = Value::Null,
                    // A cursor names the state that it was made in by such a number.
                    "next" => *field = Value::Null,
                    _ => normalize(field),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(normalize),
        Value::String(text) => *text = without_numbers_of_time(&without_present(text)),
        _ => {}
    }
}

/// A printed pack without its number of tokens and the id of its manifest: both count or hash the time that it tells.
fn without_numbers_of_time(text: &str) -> String {
    let without = |text: &str, name: &str, is_part: fn(char) -> bool| match text.split_once(name) {
        Some((before, after)) => format!("{before}{name}{}", after.trim_start_matches(is_part)),
        None => text.to_owned(),
    };
    let text = without(text, "\"token_count\":", |c| c.is_ascii_digit());
    without(&text, "\"manifest\":{\"id\":\"", |c| c.is_ascii_hexdigit())
}

/// A text without times of the present: a printed pack says when its state was reached. What the projects say is of 2024.
fn without_present(text: &str) -> String {
    let is_present =
        |at: &str| at.split('-').next().and_then(|year| year.parse::<u32>().ok()).is_some_and(|year| year > 2024);
    let is_time =
        |at: &str| at.len() > 10 && at.ends_with('Z') && at.parse::<jiff::Timestamp>().is_ok() && is_present(at);
    let parts = text.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.')));
    let shown = parts.map(|part| {
        let end = part
            .char_indices()
            .next_back()
            .filter(|(_, c)| !c.is_ascii_alphanumeric())
            .map_or(part.len(), |(at, _)| at);
        let (word, rest) = part.split_at(end);
        if is_time(word) { format!("[now]{rest}") } else { part.to_owned() }
    });
    shown.collect()
}

/// How many sets are tried: `BACKSTORY_VISIBILITY_CASES`, 3 without it.
#[expect(clippy::disallowed_methods, reason = "the environment says how many")]
fn cases() -> u64 {
    std::env::var("BACKSTORY_VISIBILITY_CASES").map_or(3, |number| number.parse().unwrap())
}

/// A set of projects, in the order of the projects.
fn some_projects(random: &mut fastrand::Rng) -> Vec<&'static str> {
    let mask = random.usize(1..(1 << PROJECTS.len()) - 1);
    PROJECTS.into_iter().enumerate().filter(|(place, _)| mask >> place & 1 == 1).map(|(_, project)| project).collect()
}

// Row 155 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_of_projects_is_seen_as_if_there_were_no_others() {
    let mut readers = Readers::default();
    visit_all(&mut readers);
    let world = World::new(7);
    let all = world.directory(&PROJECTS).await;
    let mut requests = Requests::all(&world);
    requests.add(VerifyRequest { citations: citations(&all.engine).await });
    for case in 0..cases() {
        let projects = some_projects(&mut fastrand::Rng::with_seed(case));
        note(&format!("case {case}: {projects:?}"));
        let only = world.directory(&projects).await;
        let restricted = Visibility::of_projects(projects.iter().copied());
        let pairs =
            [(restricted.clone(), Visibility::public()), (restricted.with_confidential(), Visibility::everything())];
        for (set, whole) in pairs {
            let engines = [all.engine.with_visibility(set), only.engine.with_visibility(whole)];
            for (name, answer) in &readers.0 {
                let asked = requests.0.get(name);
                assert!(asked.is_some(), "add requests of '{name}'");
                for request in asked.into_iter().flatten() {
                    let [found, expected] = engines.clone().map(|engine| answer(engine, request.clone()));
                    let (found, expected) = (comparable(name, found.await), comparable(name, expected.await));
                    assert!(
                        found == expected,
                        "case {case}, {projects:?}, {name} {request}:\n{found:#}\nis not what a directory shows with no \
                         other projects:\n{expected:#}"
                    );
                }
            }
        }
    }
}

// Row 152 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_some_projects_shows_no_others() {
    let world = World::new(8);
    let all = world.directory(&PROJECTS).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let token = "a-token-for-two-of-five";
    let (scopes, confidential) = Grant::parse_scopes(["read"]).unwrap();
    let projects = ["acme/shop", "tools/a*"].map(|pattern| pattern.parse().unwrap()).into();
    let grant = Grant { projects, confidential, scopes, expires: None };
    let tokens = vec![Token { name: "two".to_owned(), secret: SecretString::from(token), grant }];
    let own = SecretString::from("of-the-data-directory-itself");
    let (origins, proxy) = (Vec::new(), Proxy::default());
    let access = Access { tokens, own, webhooks: false, origins, requests_per_minute: 0, proxy };
    let engine = all.engine.clone();
    tokio::spawn(
        async move { serve(engine, listener, access, Limits::default(), std::future::pending()).await.unwrap() },
    );
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let post = |path: &str, body: Value| {
        let request = http.post(format!("{url}{path}")).bearer_auth(token).json(&body);
        async move { request.send().await.unwrap().json::<Value>().await.unwrap() }
    };
    let query = "{ projects { nodes { id } } issues(first: 50) { nodes { id } } \
                 hidden: issue(id: \"acme/shop-admin#1\") { title } shown: issue(id: \"acme/shop#1\") { title } \
                 search(query: \"session token\", mode: LEXICAL, first: 50) { hits { documentId } } }";
    let found = post("/graphql", json!({ "query": query })).await;
    assert!(found["errors"].is_null(), "{found:#}");
    let data = &found["data"];
    let ids = |list: &Value, name: &str| -> Vec<String> {
        list.as_array().unwrap().iter().map(|node| node[name].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&data["projects"]["nodes"], "id"), ["acme/shop", "tools/api"]);
    assert!(data["hidden"].is_null() && data["shown"]["title"].is_string(), "{data:#}");
    let found = [ids(&data["issues"]["nodes"], "id"), ids(&data["search"]["hits"], "documentId")];
    for id in found.iter().flatten() {
        let visible = ["acme/shop#", "acme/shop!", "acme/shop@", "acme/shop:", "tools/api"];
        assert!(visible.iter().any(|beginning| id.starts_with(beginning)), "{id}");
    }
    assert!(found.iter().all(|list| !list.is_empty()));
    let query = "SELECT DISTINCT ?s { ?s a bs:Issue }";
    let request = http.get(format!("{url}/sparql")).query(&[("query", query)]).bearer_auth(token);
    let subjects = request.header("accept", "text/csv").send().await.unwrap().text().await.unwrap();
    assert!(subjects.contains("acme/shop/-/issues/1"), "{subjects}");
    for hidden in ["acme/shop-admin", "acme/web", "tools/docs"] {
        assert!(!subjects.contains(hidden), "{hidden}: {subjects}");
    }
    let listed = post("/api/v1/repositories", json!({})).await;
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn people_that_a_ledger_keeps_for_all_projects_move_to_those_that_mention_them() {
    let world = World::new(9);
    let directory = world.directory(&PROJECTS[..2]).await;
    let (expected, settings) = (directory.said().await, directory.engine.settings().clone());
    let Indexed { data, engine } = directory;
    drop(engine);
    let ledger = Ledger::open(&data.path().join("ledger.sqlite")).unwrap();
    let (mut moved, mut gone) = (IngestBatch::default(), Vec::new());
    for kind in [ItemKind::Person, ItemKind::Identity] {
        for stored in ledger.items_of_kind(kind).unwrap() {
            let StoredItem { project, key, payload, confidential, .. } = stored;
            gone.push((project, kind, key.clone()));
            let payload = payload.unwrap();
            let (project, secrets) = (String::new(), BTreeMap::new());
            moved.items.push(NewItem {
                project,
                kind,
                key,
                thread: None,
                updated_at: None,
                secrets,
                confidential,
                payload,
            });
        }
    }
    ledger.tombstone(&gone, jiff::Timestamp::UNIX_EPOCH).unwrap();
    ledger.ingest(&moved).unwrap();
    drop(ledger);
    let engine = Engine::open(data.path(), settings).await.unwrap();
    Indexed { data, engine }.said().await.same_as(&expected, "opened by a newer version");
}

/// Two servers with a token for [`SHOWN`]: of a data directory with all projects, and of one with those two.
struct Pair {
    http: reqwest::Client,
    urls: Vec<String>,
}

/// What the token of a [`Pair`] shows.
const SHOWN: [&str; 2] = ["acme/shop", "tools/api"];
const PAIR_TOKEN: &str = "a-token-for-two-of-five";

impl Pair {
    async fn new(world: &World) -> Self {
        let directories = [world.directory(&PROJECTS).await, world.directory(&SHOWN).await];
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut urls = Vec::new();
        for (directory, patterns) in directories.into_iter().zip([&["acme/shop", "tools/a*"][..], &["**"]]) {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            urls.push(format!("http://{}", listener.local_addr().unwrap()));
            let (scopes, confidential) = Grant::parse_scopes(["read"]).unwrap();
            let projects = patterns.iter().map(|pattern| pattern.parse().unwrap()).collect();
            let grant = Grant { projects, confidential, scopes, expires: None };
            let tokens = vec![Token { name: "two".to_owned(), secret: SecretString::from(PAIR_TOKEN), grant }];
            let own = SecretString::from("of-the-data-directory-itself");
            let (origins, proxy) = (Vec::new(), Proxy::default());
            let access = Access { tokens, own, webhooks: false, origins, requests_per_minute: 0, proxy };
            tokio::spawn(async move {
                let Indexed { data: _data, engine } = directory;
                serve(engine, listener, access, Limits::default(), std::future::pending()).await.unwrap()
            });
        }
        Self { http, urls }
    }

    /// Status and answer of both, of each without the id of its request.
    async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> [(u16, Value); 2] {
        let mut answers = Vec::new();
        for url in &self.urls {
            let request = self.http.request(method.to_uppercase().parse().unwrap(), format!("{url}{path}"));
            let request = body.into_iter().fold(request.bearer_auth(PAIR_TOKEN), reqwest::RequestBuilder::json);
            let response = request.send().await.unwrap();
            let (status, text) = (response.status().as_u16(), response.text().await.unwrap());
            let mut answer: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
            if !answer.is_string() {
                check_answer(method, path, status, &answer);
            }
            if let Some(problem) = answer.as_object_mut() {
                problem.remove("request_id");
            }
            answers.push((status, answer));
        }
        answers.try_into().unwrap()
    }

    async fn post(&self, path: &str, body: &Value) -> [(u16, Value); 2] {
        self.send("post", path, Some(body)).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_two_of_five_projects_is_answered_as_by_a_server_of_those_two() {
    let world = World::new(10);
    let pair = Pair::new(&world).await;
    let mut readers = Readers::default();
    visit_all(&mut readers);
    let requests = Requests::all(&world);
    for (name, _) in readers.0 {
        for request in requests.0.get(name).into_iter().flatten() {
            let [(status, answer), (expected_status, expected)] = pair.post(&format!("/api/v1/{name}"), request).await;
            assert_eq!(status, expected_status, "{name} {request}: {answer:#} {expected:#}");
            let (answer, expected) = (comparable(name, answer), comparable(name, expected));
            assert_eq!(answer, expected, "{name} {request}");
        }
    }
}

/// What is recorded of whole data directories, and when this machine did something: by the names of GraphQL, and of
/// addresses of other tools.
const OF_DIRECTORIES: [&str; 19] = [
    "addedAt",
    "syncedAt",
    "tookMs",
    "ledgerSeq",
    "graphSeq",
    "listsSeq",
    "indexSeq",
    "startCursor",
    "endCursor",
    "cursor",
    "runs",
    "tasks",
    "recorded",
    "last_indexed_at",
    "seesAllProjects",
    // They count and hash the time that a pack tells.
    "manifest",
    "tokenCount",
    "token_count",
    "durationMs",
];

fn without_directories(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // Fields of what may be several types have the name of the type before theirs.
            let is_of_directory = |name: &str| {
                let prefixes = OF_DIRECTORIES.iter().filter_map(|known| name.strip_suffix(known));
                prefixes.into_iter().any(|prefix| prefix.is_empty() || prefix.ends_with('_'))
            };
            fields.retain(|name, _| !is_of_directory(name));
            fields.values_mut().for_each(without_directories);
        }
        Value::Array(values) => values.iter_mut().for_each(without_directories),
        _ => {}
    }
}

// Row 155 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn no_field_tells_a_token_of_projects_that_it_does_not_show() {
    let pair = Pair::new(&World::new(11)).await;
    let [(_, introspected), _] = pair.post("/graphql", &json!({ "query": walk::Schema::query() })).await;
    let schema = walk::Schema::new(&introspected);
    let projects = ["acme/shop", "acme/shop-admin", "tools/docs"];
    let (mut asked, mut count) = (BTreeSet::new(), 0);
    for root in walk::roots(&projects) {
        for (query, fields) in schema.documents(&root) {
            let [(_, mut answer), (_, mut expected)] = pair.post("/graphql", &json!({ "query": query })).await;
            count += 1;
            for side in [&mut answer, &mut expected] {
                normalize(side);
                without_directories(side);
                // Fields are resolved side by side, so errors come in any order.
                if let Some(errors) = side["errors"].as_array_mut() {
                    errors.sort_by_key(Value::to_string);
                }
            }
            assert_eq!(answer, expected, "{query}");
            // What is too large was not executed; what a field refuses was.
            let refused = answer["errors"].as_array().into_iter().flatten();
            if refused.into_iter().all(|error| error["path"].is_array()) {
                asked.extend(fields);
            }
        }
    }
    let missing: Vec<String> = schema.all().difference(&asked).cloned().collect();
    // What two levels do not reach, and fields of answers that are too large to be asked for whole, are compared use case
    // by use case.
    let all = schema.all().len();
    assert!(missing.len() * 3 < all, "{count} documents did not ask for {} of {all}: {missing:#?}", missing.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn polling_for_changes_tells_a_token_of_no_other_projects() {
    let pair = Pair::new(&World::new(11)).await;
    let query = "query ($after: String) { changes(after: $after, first: 7) {
        nodes { node { id } removalReason } pageInfo { endCursor hasNextPage } } }";
    let mut told = Vec::new();
    for url in &pair.urls {
        let (mut changes, mut after) = (BTreeSet::new(), "0".to_owned());
        loop {
            let body = json!({ "query": query, "variables": { "after": after } });
            let request = pair.http.post(format!("{url}/graphql")).bearer_auth(PAIR_TOKEN).json(&body);
            let answer: Value = request.send().await.unwrap().json().await.unwrap();
            assert!(answer["errors"].is_null(), "{answer:#}");
            let page = &answer["data"]["changes"];
            let nodes = page["nodes"].as_array().unwrap();
            changes.extend(nodes.iter().map(Value::to_string));
            after = page["pageInfo"]["endCursor"].as_str().unwrap().to_owned();
            if page["pageInfo"]["hasNextPage"] == false {
                break;
            }
            assert_eq!(nodes.len(), 7, "what is hidden leaves no gaps: {answer:#}");
        }
        told.push(changes);
    }
    assert!(told[0].iter().any(|change| change.contains("acme/shop#1\"")), "{:#?}", told[0]);
    assert_eq!(told[0], told[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_address_tells_a_token_of_projects_that_it_does_not_show() {
    let pair = Pair::new(&World::new(11)).await;
    let projects = ["acme/shop", "acme/shop-admin", "tools/docs"];
    for address in walk::addresses(&backstory_server::openapi(), &projects) {
        let [(status, mut answer), (expected_status, mut expected)] = pair.send("get", &address, None).await;
        assert_eq!(status, expected_status, "{address}: {answer:#} {expected:#}");
        let is_of_tools = address.starts_with("/repos") || address.starts_with("/api/index/repos");
        for side in [&mut answer, &mut expected] {
            normalize(side);
            without_directories(side);
            if is_of_tools {
                without_times(side);
            }
        }
        if address == "/api/index/snapshots" {
            assert_eq!(answer, json!([]), "states of the index are those of all projects");
            continue;
        }
        assert_eq!(answer, expected, "{address}");
    }
}

/// When a repository was added and read stands under these names too.
fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !matches!(name.as_str(), "created_at" | "updated_at"));
            fields.values_mut().for_each(without_times);
        }
        Value::Array(values) => values.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// Digests are also of the addresses at the forge, and each world has one of its own.
fn without_digests(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| name != "digest");
            fields.values_mut().for_each(without_digests);
        }
        Value::Array(values) => values.iter_mut().for_each(without_digests),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_texts_of_hidden_projects_change_no_answer() {
    // The first and the fourth project are shown.
    let worlds = [World::new(12), World::with_words(12, [12, 99, 98, 12, 97])];
    let mut engines = Vec::new();
    for world in &worlds {
        let directory = world.directory(&PROJECTS).await;
        let shown = directory.engine.with_visibility(Visibility::of_projects(SHOWN));
        engines.push((directory, shown));
    }
    let mut readers = Readers::default();
    visit_all(&mut readers);
    // Requests name commits, whose names follow from the words; the hidden projects' are those of the first world.
    let requests = Requests::all(&worlds[0]);
    for (name, answer) in readers.0.into_iter().filter(|(name, _)| *name != "digest") {
        // Each world has a forge of its own.
        let of_no_forge = |request: &&Value| !request.to_string().contains(worlds[0].url());
        for request in requests.0.get(name).into_iter().flatten().filter(of_no_forge) {
            let mut answers = Vec::new();
            for (world, (_, engine)) in worlds.iter().zip(&engines) {
                let mut found = comparable(name, answer(engine.clone(), request.clone()).await);
                without_digests(&mut found);
                answers.push(world.without_places(&format!("{found:#}")));
            }
            assert_eq!(answers[0], answers[1], "{name} {request}");
        }
    }
}
