//! Who may see some projects sees what a data directory shows that holds no others: every use case that reads, the scores
//! of a search included.

mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
};

use backstory_engine::{
    Engine, MeasureLinks,
    ask::{AskRequest, VerifyRequest},
    chat::{ListChats, ListMessages},
    check::{CheckRequest, DigestRequest},
    code::{EntityRequest, HistoryRequest},
    context::{About, ContextRequest},
    eval::{EvaluationRequest, PairRequest},
    explore::{NeighborhoodRequest, PathRequest},
    forget::AuditRequest,
    ledger::{Ledger, NewItem, Page, StoredItem},
    model::{
        entity::ItemKind,
        eval::{Question, Retriever},
        filter::Filter,
        id::{NodeId, ThreadKind},
        pack,
        visibility::Visibility,
    },
    repository::{CentralFilesRequest, ListRepositories},
    search::{Mode, SearchRequest},
    show::ShowRequest,
    snapshot::{CompareSnapshots, GetSnapshot, ListSnapshots},
    stats::StatsRequest,
    status::{CoverageRequest, SyncStatusRequest},
    summary::SummarizeRequest,
    threads::{ListThreads, ThreadFilter},
    trace::{Target, TraceRequest},
    use_case::{Scope, UseCase},
    use_cases::{Visitor, visit_all},
    worker::{GetTask, ListJobs, ListTasks},
};
use backstory_server::{Access, Limits, Token, serve};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::support::{Indexed, note};
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
        if U::SCOPE == Scope::Read && !WRITING.contains(&U::NAME) {
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

/// Requests by the name of their use case.
#[derive(Default)]
struct Requests(BTreeMap<&'static str, Vec<Value>>);

impl Requests {
    fn add<U: UseCase>(&mut self, request: U) {
        self.0.entry(U::NAME).or_default().push(serde_json::to_value(request).unwrap());
    }

    /// Requests about all projects, whether they are visible or not.
    fn all() -> Self {
        let mut requests = Self::default();
        requests.add_lookups();
        requests.add_searches();
        for project in PROJECTS {
            requests.add_of_project(project);
        }
        requests
    }

    /// What needs no project.
    fn add_lookups(&mut self) {
        self.add(StatsRequest {});
        self.add(CoverageRequest {});
        self.add(DigestRequest {});
        self.add(CheckRequest {});
        self.add(SyncStatusRequest { runs: 10 });
        self.add(ListRepositories {});
        self.add(ListJobs { status: None, before: None, limit: 10 });
        self.add(AuditRequest { action: None, before: None, limit: 10 });
        self.add(ListChats { limit: 10 });
        self.add(ListMessages { chat: 1, after: 0, limit: 10 });
        self.add(ListTasks {});
        self.add(GetTask { id: 1 });
        self.add(ListSnapshots {});
        self.add(GetSnapshot { id: "abcd".to_owned() });
        self.add(CompareSnapshots { from: "abcd".to_owned(), to: "abce".to_owned(), limit: 5 });
        self.add(VerifyRequest { citations: vec![] });
        for name in ["load_session", "parse_order", "src/session.rs#load_session", "nothing"] {
            self.add(EntityRequest { name: name.to_owned(), project: None, limit: 20 });
        }
        for kind in [ThreadKind::Issue, ThreadKind::MergeRequest] {
            let filters = [
                ThreadFilter::default(),
                ThreadFilter { author: Some("Alice".to_owned()), ..ThreadFilter::default() },
                ThreadFilter { author: Some("own1".to_owned()), ..ThreadFilter::default() },
                ThreadFilter { label: Some("bug".to_owned()), ..ThreadFilter::default() },
            ];
            for filter in filters {
                self.add(ListThreads { kind, filter, limit: 5, after: None });
            }
        }
    }

    /// Searches, questions and packs over all that is visible.
    fn add_searches(&mut self) {
        let queries = [
            "why does the session keep its token",
            "cache retry",
            "load_session",
            "acme/web#1 and tools/api!2",
            "lantern orchard saddle",
            "the team",
        ];
        for query in queries {
            for mode in [Mode::Hybrid, Mode::Lexical, Mode::Semantic] {
                self.add(SearchRequest { query: query.to_owned(), mode, limit: 20, ..SearchRequest::default() });
            }
            self.add(AskRequest { question: query.to_owned(), ..AskRequest::default() });
        }
        let by = |author: &str| Filter { authors: vec![author.to_owned()], ..Filter::default() };
        for filter in [by("alice"), by("own2"), by("insider0"), by("bob@home.example")] {
            let query = "session order".to_owned();
            self.add(SearchRequest { query, filter, limit: 20, ..SearchRequest::default() });
        }
        self.add(context(About::Query("why does the order keep its session".to_owned()), None));
    }

    fn add_of_project(&mut self, project: &str) {
        let (named, filter) = (project.to_owned(), Filter { project: Some(project.to_owned()), ..Filter::default() });
        for query in ["why does the login lose its report", "queue index schema"] {
            let request = SearchRequest {
                query: query.to_owned(),
                filter: filter.clone(),
                limit: 10,
                ..SearchRequest::default()
            };
            self.add(request);
            self.add(AskRequest { question: query.to_owned(), filter: filter.clone(), ..AskRequest::default() });
        }
        for short in ["#1", "#4", "!1", "!3"] {
            let id: NodeId = format!("{project}{short}").parse().unwrap();
            self.add(ShowRequest { id: id.clone() });
            self.add(SummarizeRequest { id: id.clone() });
            self.add(TraceRequest { project: None, target: Target::Node(id), rev: None, earlier: 2 });
        }
        let file = NodeId::file(project, "src/session.rs");
        let entity = NodeId::entity(project, "src/session.rs", "load_session");
        for id in [file.clone(), entity.clone(), NodeId::Project(named.clone()), NodeId::person("alice")] {
            self.add(NeighborhoodRequest { id: id.clone(), depth: 2, edges: BTreeSet::new(), limit: 50 });
            self.add(PathRequest { from: file.clone(), to: id, edges: BTreeSet::new(), max_length: 4 });
        }
        for id in [file, entity] {
            self.add(HistoryRequest { id: id.clone(), skip: 0, limit: 10 });
            let target = Target::Node(id);
            self.add(TraceRequest { project: Some(named.clone()), target, rev: None, earlier: 2 });
        }
        let (path, name) = ("src/session.rs".to_owned(), "load_session".to_owned());
        let targets = [
            Target::Lines { path: path.clone(), lines: Some((2, 4)) },
            Target::Symbol { path: path.clone(), name },
            Target::Lines { path: "src/nothing.rs".to_owned(), lines: None },
        ];
        for target in targets {
            self.add(TraceRequest { project: Some(named.clone()), target, rev: None, earlier: 2 });
        }
        let target = Target::Lines { path, lines: Some((2, 4)) };
        self.add(context(About::Target { target, rev: None }, Some(project)));
        self.add(CentralFilesRequest { project: named.clone(), limit: 10 });
        self.add(MeasureLinks { project: Some(named.clone()) });
        self.add(PairRequest { project: Some(named.clone()), count: 5 });
        let question = Question {
            id: "one".to_owned(),
            question: "why does the session keep its token".to_owned(),
            kind: String::new(),
            gold: vec![format!("{project}#1")],
            path: None,
            line_text: None,
            symbol: None,
        };
        let legs = [Retriever::Fused, Retriever::Graph, Retriever::Lexical, Retriever::Rrf, Retriever::Semantic];
        self.add(EvaluationRequest {
            project: Some(named.clone()),
            questions: vec![question],
            legs: legs.to_vec(),
            depth: 5,
        });
        self.add(ListThreads {
            kind: ThreadKind::Issue,
            filter: ThreadFilter { project: Some(named), ..ThreadFilter::default() },
            limit: 2,
            after: None,
        });
    }
}

fn context(about: About, project: Option<&str>) -> ContextRequest {
    ContextRequest {
        about,
        filter: Filter { project: project.map(str::to_owned), ..Filter::default() },
        path: None,
        mode: pack::Mode::All,
        format: pack::Format::Json,
        // All that is found has room: how much fits depends on the tokens of the present time.
        tokens: 100_000,
        diffs: true,
        tests: true,
        snapshot: None,
    }
}

/// An answer without what two directories need not have in common.
fn comparable(use_case: &str, mut answer: Value) -> Value {
    match use_case {
        // Runs and tasks are those of a directory: who does not see all of it sees none.
        "tasks" | "task" => return Value::Null,
        "sync-status" => answer["runs"] = Value::Null,
        // States of the index are recorded for all projects together; the current one is computed for whoever asks.
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
                    // How long it took, and when this machine added and read what it has.
                    "took_ms" | "added_at" | "synced_at" => *field = Value::Null,
                    // The number of a change counts the changes of all projects.
                    "ledger_seq" | "graph_seq" | "lists_seq" | "index_seq" => *field = Value::Null,
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

/// The citations of an answer to whoever sees everything.
async fn citations(engine: &Engine) -> Vec<backstory_engine::model::answer::Citation> {
    let mut citations = Vec::new();
    for project in PROJECTS {
        let filter = Filter { project: Some(project.to_owned()), ..Filter::default() };
        let question = "why does the session keep its token".to_owned();
        let answer = engine.answer(AskRequest { question, filter, ..AskRequest::default() }).await.unwrap();
        citations.extend(answer.citations);
    }
    citations
}

/// How many sets are tried: `BACKSTORY_VISIBILITY_CASES`, 3 without it.
#[expect(clippy::disallowed_methods, reason = "whoever tests says how many")]
fn cases() -> u64 {
    std::env::var("BACKSTORY_VISIBILITY_CASES").map_or(3, |number| number.parse().unwrap())
}

/// A set of projects, in the order of the projects.
fn some_projects(random: &mut fastrand::Rng) -> Vec<&'static str> {
    let mask = random.usize(1..(1 << PROJECTS.len()) - 1);
    PROJECTS.into_iter().enumerate().filter(|(place, _)| mask >> place & 1 == 1).map(|(_, project)| project).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_of_projects_is_seen_as_if_there_were_no_others() {
    let mut readers = Readers::default();
    visit_all(&mut readers);
    let world = World::new(7);
    let all = world.directory(&PROJECTS).await;
    let mut requests = Requests::all();
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
                let requests = requests.0.get(name).unwrap_or_else(|| panic!("add requests of '{name}'"));
                for request in requests {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_some_projects_shows_no_others() {
    let world = World::new(8);
    let all = world.directory(&PROJECTS).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let token = "a-token-for-two-of-five";
    let visibility = Visibility::of_projects(["acme/shop", "tools/api"]);
    let tokens = vec![Token { secret: SecretString::from(token), visibility }];
    let own = SecretString::from("of-the-data-directory-itself");
    let access = Access { tokens, own, webhooks: false, origins: Vec::new() };
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
                 hidden: issue(ref: \"acme/shop-admin#1\") { title } shown: issue(ref: \"acme/shop#1\") { title } \
                 search(query: \"session token\", mode: LEXICAL, first: 50) { hits { id } } }";
    let found = post("/graphql", json!({ "query": query })).await;
    assert!(found["errors"].is_null(), "{found:#}");
    let data = &found["data"];
    let ids = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&data["projects"]["nodes"]), ["acme/shop", "tools/api"]);
    assert!(data["hidden"].is_null() && data["shown"]["title"].is_string(), "{data:#}");
    let found = [ids(&data["issues"]["nodes"]), ids(&data["search"]["hits"])];
    for id in found.iter().flatten() {
        let visible = ["acme/shop#", "acme/shop!", "acme/shop@", "acme/shop:", "tools/api"];
        assert!(visible.iter().any(|beginning| id.starts_with(beginning)), "{id}");
    }
    assert!(found.iter().all(|list| !list.is_empty()));
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
    let (mut moved, mut gone) = (Page::default(), Vec::new());
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
    ledger.bury(&gone, jiff::Timestamp::UNIX_EPOCH).unwrap();
    ledger.commit(&moved).unwrap();
    drop(ledger);
    let engine = Engine::open(data.path(), settings).await.unwrap();
    Indexed { data, engine }.said().await.same_as(&expected, "opened by a newer version");
}
