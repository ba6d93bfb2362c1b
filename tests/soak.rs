//! A server under fire: somebody writes at the forge, webhooks come twice or not at all, the forge fails, and the server
//! is killed again and again. In the end its graph is that of a first sync.
//!
//! Runs when `BACKSTORY_FORGE_REPLAY` names the directory of the stand-in, for `BACKSTORY_SOAK_SECONDS` (30).

use std::{
    collections::BTreeMap,
    net::TcpListener,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::{
    github::lines,
    replay::{PROJECT, Replay, Setup, reference},
};

/// How long it takes unless the environment says otherwise, in seconds.
const USUAL: u64 = 30;
/// Longest wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(180);
/// Longest time until nearly every note is found, where somebody asked for a long fire.
const FOUND_WITHIN: Duration = Duration::from_secs(5);
/// Fewest notes that tell how long nearly every one takes.
const ENOUGH: usize = 20;
/// Time between two looks for it.
const LOOK: Duration = Duration::from_millis(100);
const SECRET: &str = "soak-secret";
/// What goes wrong at the forge, in turns; between them nothing does.
const FAULTS: [&str; 6] = [
    "429:every=30,retry_after=1",
    "502:every=25",
    "reset:every=40",
    "truncate:every=35",
    "slow:ms=100,every=3",
    "badjson:every=45",
];

/// The same numbers each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

struct Soak {
    replay: Replay,
    setup: Setup,
    port: u16,
    server: Option<Child>,
    http: Client,
    dice: Dice,
    /// Issues and merge requests, as the API calls them, that may be written to.
    threads: Vec<(&'static str, u64)>,
    /// Notes that were written: thread and number.
    notes: Vec<((&'static str, u64), u64)>,
    done: BTreeMap<&'static str, u64>,
    /// How long it took until a note could be found.
    waits: Vec<Duration>,
}

impl Soak {
    fn new(replay: Replay) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let setup = Setup::new(&replay, 0);
        let config = std::fs::read_to_string(setup.path().join("backstory.toml")).unwrap();
        let config = format!("{config}webhook_secret_env = \"SOAK_SECRET\"\n\n[sync]\nevery_minutes = 1\n");
        std::fs::write(setup.path().join("backstory.toml"), config).unwrap();
        let http = Client::builder().no_proxy().timeout(Duration::from_secs(120)).build().unwrap();
        let (notes, done, waits) = (vec![], BTreeMap::new(), vec![]);
        Self { replay, setup, port, server: None, http, dice: Dice(7), threads: vec![], notes, done, waits }
    }

    fn start_server(&mut self) {
        let log = std::fs::File::options().create(true).append(true).open(self.setup.path().join("serve.log")).unwrap();
        let mut command = self.setup.command(&["serve", "--listen", &format!("127.0.0.1:{}", self.port)]);
        let command = command.env("SOAK_SECRET", SECRET).stdout(Stdio::null()).stderr(log);
        self.server = Some(command.spawn().unwrap());
    }

    fn kill_server(&mut self) {
        let mut server = self.server.take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
        self.count("kills");
    }

    fn count(&mut self, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
    }

    async fn api(&self, method: Method, path: &str, body: Value) -> Option<Value> {
        let project = PROJECT.replace('/', "%2F");
        let url = format!("{}/api/v4/projects/{project}/{path}", self.replay.url());
        let request = self.http.request(method, url);
        let request = if body.is_null() { request } else { request.json(&body) };
        request.send().await.ok()?.json().await.ok()
    }

    async fn control(&self, method: Method, path: &str, body: Value) -> Value {
        let url = format!("{}/_control/{path}", self.replay.url());
        let request = self.http.request(method, url);
        let request = if body.is_null() { request } else { request.json(&body) };
        request.send().await.unwrap().json().await.unwrap_or_default()
    }

    async fn graphql(&self, query: &str) -> Option<Value> {
        let request =
            self.http.post(format!("http://127.0.0.1:{}/graphql", self.port)).json(&json!({ "query": query }));
        let answer: Value = request.send().await.ok()?.json().await.ok()?;
        answer.get("data").cloned()
    }

    async fn until_it_answers(&self) {
        self.until("{ __typename }", |_| true).await;
    }

    fn log(&self) -> String {
        let log = std::fs::read_to_string(self.setup.path().join("serve.log")).unwrap();
        log.lines().rev().take(20).collect::<Vec<_>>().join("\n")
    }

    /// Somebody writes something.
    async fn write(&mut self, turn: u64) {
        let thread = self.threads[self.dice.below(self.threads.len())];
        let path = format!("{}/{}", thread.0, thread.1);
        match self.dice.below(10) {
            0..=4 => {
                let word = format!("zyx{turn}qwv");
                let body = json!({ "body": format!("Decided in the meeting: {word}.") });
                if let Some(note) = self.api(Method::POST, &format!("{path}/notes"), body).await
                    && let Some(id) = note["id"].as_u64()
                {
                    self.notes.push((thread, id));
                    self.count("notes");
                    self.wait_for(&word).await;
                }
            }
            5 => {
                let state = if self.dice.below(2) == 0 { "close" } else { "reopen" };
                self.api(Method::PUT, &path, json!({ "state_event": state })).await;
                self.count("states");
            }
            6 => {
                self.api(Method::PUT, &path, json!({ "title": format!("Renamed in turn {turn}") })).await;
                self.count("titles");
            }
            7 => {
                self.api(Method::PUT, &path, json!({ "labels": format!("soak-{}", turn % 5) })).await;
                self.count("labels");
            }
            8 if !self.notes.is_empty() => {
                let at = self.dice.below(self.notes.len());
                let ((kind, iid), id) = self.notes.swap_remove(at);
                self.api(Method::DELETE, &format!("{kind}/{iid}/notes/{id}"), Value::Null).await;
                self.count("deleted notes");
            }
            _ if turn.is_multiple_of(3) => {
                self.threads.retain(|known| *known != thread);
                self.notes.retain(|(of, _)| *of != thread);
                self.api(Method::DELETE, &path, Value::Null).await;
                self.count("deleted threads");
            }
            _ => {
                let issue =
                    json!({ "title": format!("New in turn {turn}"), "description": format!("See #{}.", thread.1) });
                if let Some(issue) = self.api(Method::POST, "issues", issue).await {
                    self.threads.extend(issue["iid"].as_u64().map(|iid| ("issues", iid)));
                    self.count("issues");
                }
            }
        }
    }

    /// Waits until a word is found.
    async fn wait_for(&mut self, word: &str) {
        let begun = Instant::now();
        let query = format!("{{ search(query: \"{word}\", mode: LEXICAL, first: 1) {{ hits {{ documentId }} }} }}");
        self.until(&query, |found| found["search"]["hits"].as_array().is_some_and(|hits| !hits.is_empty())).await;
        self.waits.push(begun.elapsed());
    }

    /// How long it took until so many percent of the notes could be found; no time if there were none.
    fn waited(&self, percent: usize) -> Duration {
        let mut waits = self.waits.clone();
        waits.sort();
        let last = (waits.len() * percent).div_ceil(100).saturating_sub(1);
        waits.get(last).copied().unwrap_or_default()
    }

    /// The whole time of fire.
    async fn burn(&mut self, long: Duration) {
        let end = Instant::now() + long;
        let mut turn = 0;
        while Instant::now() < end {
            turn += 1;
            if turn % 10 == 0 {
                self.control(Method::DELETE, "faults", Value::Null).await;
                let fault = FAULTS[self.dice.below(FAULTS.len())];
                self.control(Method::POST, "faults", json!({ "fault": format!("{fault},method=GET") })).await;
                self.count("faults");
            }
            if turn % 12 == 0 {
                // What is announced just before is known to the server or not.
                let thread = self.threads[self.dice.below(self.threads.len())];
                let note = json!({ "body": format!("Said at the last moment of turn {turn}.") });
                self.api(Method::POST, &format!("{}/{}/notes", thread.0, thread.1), note).await;
                self.kill_server();
                // Nobody hears of this until the next sync.
                for _ in 0..self.dice.below(3) {
                    self.api(Method::POST, "issues", json!({ "title": format!("Unheard in turn {turn}") })).await;
                }
                self.start_server();
                self.until_it_answers().await;
            }
            if turn % 5 == 0 {
                let deliveries = self.control(Method::GET, "deliveries", Value::Null).await;
                let ids: Vec<u64> =
                    deliveries.as_array().into_iter().flatten().filter_map(|one| one["id"].as_u64()).collect();
                if !ids.is_empty() {
                    let id = ids[self.dice.below(ids.len())];
                    self.control(Method::POST, "redeliver", json!({ "id": id })).await;
                    self.count("redeliveries");
                }
            }
            self.write(turn).await;
        }
        self.control(Method::DELETE, "faults", Value::Null).await;
    }

    /// Waits until what webhooks asked for is done.
    async fn until_quiet(&self) {
        let jobs = "{ queued: jobs(status: QUEUED, first: 100) { nodes { kind } }
            running: jobs(status: RUNNING) { nodes { kind } } }";
        self.until(jobs, |found| {
            let none = |name: &str, kind: &str| {
                !found[name]["nodes"].as_array().unwrap().iter().any(|job| job["kind"] == kind)
            };
            none("queued", "REFETCH") && found["running"]["nodes"] == json!([])
        })
        .await;
    }

    /// Has the server compare everything.
    async fn reconcile(&self) {
        let queue = format!("mutation {{ queueJob(project: \"{PROJECT}\", kind: RECONCILE) {{ id }} }}");
        let queued = self.graphql(&queue).await.unwrap();
        let id = queued["queueJob"]["id"].as_str().unwrap();
        self.until(&format!("{{ job(id: \"{id}\") {{ status error }} }}"), |found| {
            assert_eq!(found["job"]["error"], Value::Null);
            found["job"]["status"] == "SUCCEEDED"
        })
        .await;
    }

    /// Asks until the answer is as it should be.
    async fn until(&self, query: &str, holds: impl Fn(&Value) -> bool) {
        let end = Instant::now() + PATIENCE;
        let mut look = tokio::time::interval(LOOK);
        while !self.graphql(query).await.is_some_and(|found| holds(&found)) {
            assert!(Instant::now() < end, "{query}: not in time: {}", self.log());
            look.tick().await;
        }
    }
}

impl Drop for Soak {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the environment says how long, and the report is printed"
)]
async fn a_server_under_fire_ends_with_the_graph_of_a_first_sync() {
    let Some(replay) = Replay::start(&["--limit", "300"]) else { return };
    let asked_for = std::env::var("BACKSTORY_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    let seconds = asked_for.unwrap_or(USUAL);
    let mut soak = Soak::new(replay);
    soak.setup.json(&["sync"]);
    let hook = json!({
        "url": format!("http://127.0.0.1:{}/webhooks/gitlab", soak.port), "token": SECRET, "note_events": true,
        "issues_events": true, "merge_requests_events": true,
    });
    soak.api(Method::POST, "hooks", hook).await.unwrap();
    for kind in ["issues", "merge_requests"] {
        let listed = soak.api(Method::GET, &format!("{kind}?per_page=40"), Value::Null).await.unwrap();
        soak.threads.extend(listed.as_array().unwrap().iter().map(|thread| (kind, thread["iid"].as_u64().unwrap())));
    }
    soak.start_server();
    soak.until_it_answers().await;
    soak.burn(Duration::from_secs(seconds)).await;

    // What nobody announced is found by a reconciliation.
    soak.until_quiet().await;
    soak.reconcile().await;
    let mut server = soak.server.take().unwrap();
    crate::support::signal(server.id(), crate::support::Signal::TERM);
    assert!(server.wait().unwrap().success());
    let (p50, p95) = (soak.waited(50), soak.waited(95));
    println!("{seconds} s: {:?}; a note is found after {p50:?} (median), {p95:?} (p95)", soak.done);
    let reference = reference(&soak.replay);
    if soak.setup.digest() != reference.digest() {
        let of = |setup: &Setup| lines(&setup.path().join("data"));
        let (found, expected) = (of(&soak.setup), of(&reference));
        let (more, missing): (Vec<_>, Vec<_>) =
            (found.difference(&expected).take(20).collect(), expected.difference(&found).take(20).collect());
        panic!("not the graph of a first sync: more {more:#?}, missing {missing:#?}");
    }
    assert_eq!(soak.setup.json(&["check"])["ok"], true);
    // A short fire on a slow machine says little of that.
    if asked_for.is_some() && soak.waits.len() >= ENOUGH {
        assert!(p95 <= FOUND_WITHIN, "{p95:?} until a note is found");
    }
}
