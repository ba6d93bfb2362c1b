//! Every operation that the command line has, and every field that can show something confidential, asked by one who
//! may not see it and by one who may.

use std::{collections::BTreeSet, fs, path::Path};

use backstory_engine::{
    use_case::{Scope, UseCase},
    use_cases::{Visitor, visit_all},
};
use serde_json::{Value, json};

use super::{Client, HIDDEN, PLANTED, PUBLIC, keeping, planted, words_in};
use crate::support::Sandbox;

/// What a question about all of it may say.
const QUESTION: &str = "why did sessions leak from the cache, what happened to the largest customer?";

/// Operations of files that change what is there: they are asked last, or not at all.
const NOT_ASKED: [&str; 6] = ["add_repository", "remove_repository", "rebuild", "embed", "enrich", "sync"];

/// Variables for the operations of a file: for everything hidden that they can be asked about.
fn variables(file: &str) -> Vec<Value> {
    let discussions = |id: &str| json!({ "id": id });
    match file {
        "ask" => vec![json!({ "question": QUESTION, "model": false })],
        "chat" => vec![json!({ "id": "1" })],
        "send_message" => vec![json!({ "chat": "1", "text": QUESTION, "model": false })],
        "chats" | "audit" | "jobs" => vec![json!({ "first": 20 })],
        "commit" => vec![json!({ "id": HIDDEN }), json!({ "id": "@mallorquin" })],
        "context" => vec![
            json!({ "about": { "query": QUESTION }, "options": { "tokens": 8000 } }),
            json!({ "about": { "query": QUESTION }, "options": { "tokens": 8000, "format": "JSON" } }),
            json!({ "about": { "id": HIDDEN }, "options": { "tokens": 8000 } }),
            json!({ "about": { "id": PUBLIC }, "options": { "tokens": 8000 } }),
        ],
        "entity" => vec![json!({ "name": "tangerin", "first": 5 })],
        "forget" => vec![json!({ "id": HIDDEN })],
        "history" => vec![json!({ "id": HIDDEN, "first": 5, "skip": 0 })],
        "issue" | "issue_discussions" => vec![discussions(HIDDEN), discussions(PUBLIC)],
        "merge_request" => vec![discussions("acme/shop!1"), discussions("acme/shop!7")],
        "issues" => vec![
            json!({ "filter": {}, "first": 100 }),
            json!({ "filter": { "authors": ["mallorqui\u{6e}"] }, "first": 100 }),
        ],
        "merge_requests" => vec![json!({ "filter": {}, "first": 100 })],
        "create_chat" => vec![json!({ "project": "acme/shop" })],
        "retrieve" => vec![json!({ "query": QUESTION, "limit": 50, "tokens": 50_000 })],
        "search" => ["HYBRID", "LEXICAL", "SEMANTIC"]
            .map(|mode| json!({ "query": QUESTION, "mode": mode, "first": 100 }))
            .into(),
        "sync_status" => vec![json!({ "runs": 100 })],
        "task" => vec![json!({ "id": "1" })],
        "trace" => [HIDDEN, PUBLIC, "acme/shop!1"].map(|of| json!({ "id": of, "earlier": 5 })).into(),
        _ => vec![json!({})],
    }
}

/// The names of the use cases that a token may request.
struct Readable(Vec<&'static str>);

impl Visitor for Readable {
    fn visit<U: UseCase>(&mut self) {
        if U::SCOPE == Scope::Read {
            self.0.push(U::NAME);
        }
    }
}

/// Requests of a use case: for everything hidden that they can be about.
#[expect(clippy::too_many_lines, reason = "a line for each use case")]
fn requests(use_case: &str) -> Vec<Value> {
    let shop = json!({ "project": "acme/shop" });
    match use_case {
        "check" | "coverage" | "digest" | "repositories" | "snapshots" | "stats" | "tasks" => vec![json!({})],
        "audit" | "chats" | "jobs" => vec![json!({ "limit": 20 })],
        "ask" => vec![json!({ "question": QUESTION, "model": false })],
        "compare-snapshots" => vec![json!({ "from": "0000", "to": "0000", "limit": 20 })],
        "context" => {
            let about = |about: Value| json!({ "about": about, "tokens": 8000, "diffs": true, "tests": true });
            let target = |node: &str| about(json!({ "target": { "target": { "node": node } } }));
            vec![about(json!({ "query": QUESTION })), target(HIDDEN), target(PUBLIC)]
        }
        "central-files" => vec![json!({ "project": "acme/shop", "limit": 20 })],
        "commit-projects" => vec![json!({ "sha": "1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b" })],
        "create-chat" => vec![shop],
        "co-change" => vec![json!({ "id": "acme/shop:src/session.rs", "limit": 20 })],
        "contributors" => vec![json!({ "project": "acme/shop", "path": "", "limit": 20 })],
        "diff" => vec![json!({ "id": "acme/shop@1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b" })],
        "file" => vec![json!({ "project": "acme/shop", "path": "README.md", "lineage": true })],
        "chunks" | "facts" => vec![json!({ "project": "acme/shop", "path": "README.md" })],
        "documents" => vec![json!({ "limit": 500 }), json!({ "filter": { "project": "acme/shop" }, "limit": 500 })],
        "file-merge-requests" => vec![json!({ "id": "acme/shop:README.md" })],
        "annotations" => vec![json!({}), json!({ "id": HIDDEN })],
        "comments" => vec![json!({ "project": "acme/shop", "path": "README.md" })],
        "tree" => vec![json!({ "project": "acme/shop", "last_commits": true })],
        "entity" => vec![json!({ "name": "tangerin", "limit": 5 })],
        "history" => vec![json!({ "id": HIDDEN, "limit": 5 })],
        "changes" => vec![json!({ "project": "acme/shop", "limit": 100 })],
        "describe" => [HIDDEN, PUBLIC, "@johndoe"].map(|id| json!({ "id": id, "format": "turtle" })).into(),
        "export" => ["issues", "merge_requests", "discussions", "commits", "files", "edges"]
            .map(|what| json!({ "what": what, "limit": 1000 }))
            .into(),
        "locate" => vec![json!({ "text": HIDDEN }), json!({ "text": "tangerin", "project": "acme/shop" })],
        "map-lines" => vec![json!({ "path": "README.md", "lines": [1, 1], "text": "", "commits": [] })],
        "person" => ["mallorqui\u{6e}", "johndoe", "alice"].map(|name| json!({ "name": name, "limit": 100 })).into(),
        "releases" => vec![json!({ "project": "acme/shop", "limit": 100 })],
        "removed" => vec![json!({ "text": "tangerin", "project": "acme/shop" })],
        "retrieve" => vec![json!({ "query": QUESTION, "limit": 50, "tokens": 50_000 })],
        "shipped" => vec![json!({ "project": "acme/shop", "to": "main" })],
        "sparql" => ["SELECT * { ?s ?p ?o }", "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g"]
            .map(|query| json!({ "query": query }))
            .into(),
        "show" => [HIDDEN, PUBLIC, "acme/shop!1", "acme/shop!7"].map(|id| json!({ "id": id })).into(),
        "threads" => vec![
            json!({ "kind": "issue", "limit": 100 }),
            json!({ "kind": "issue", "filter": { "author": "mallorqui\u{6e}" }, "limit": 100 }),
            json!({ "kind": "merge_request", "limit": 100 }),
        ],
        "neighborhood" => {
            [HIDDEN, PUBLIC, "acme/shop!1"].map(|id| json!({ "id": id, "depth": 3, "limit": 1000 })).into()
        }
        "path" => [(PUBLIC, HIDDEN), (HIDDEN, "acme/shop!1"), (PUBLIC, "acme/shop!1")]
            .map(|(from, to)| json!({ "from": from, "to": to, "max_length": 8 }))
            .into(),
        "messages" => vec![json!({ "chat": 1, "limit": 100 })],
        "search" => ["hybrid", "lexical", "semantic"]
            .map(|mode| json!({ "query": QUESTION, "mode": mode, "limit": 100, "rerank": true }))
            .into(),
        "send-message" => vec![json!({ "chat": 1, "text": QUESTION, "model": false })],
        "summarize" | "enrichments" => vec![json!({ "id": HIDDEN })],
        "verify" => vec![json!({ "citations": [] })],
        "evaluate" => {
            let question = json!({ "id": "q", "question": QUESTION, "gold": ["#7"] });
            let legs = ["lexical", "semantic", "graph", "rrf", "fused"];
            vec![json!({ "questions": [question], "project": "acme/shop", "legs": legs, "depth": 50 })]
        }
        "job" => vec![json!({ "id": 1 })],
        "measure-links" => vec![shop],
        "question-pairs" => vec![json!({ "project": "acme/shop", "count": 1000 })],
        "snapshot" => vec![json!({ "id": "0000" })],
        "sync-status" => vec![json!({ "runs": 100 })],
        "task" => vec![json!({ "id": 1 })],
        "trace" => {
            [HIDDEN, PUBLIC, "acme/shop!1"].map(|node| json!({ "target": { "node": node }, "earlier": 5 })).into()
        }
        other => panic!("{other}: say here which requests could be answered with something confidential"),
    }
}

/// Whole answers: with everything that a type tells, and from where it can be reached.
fn fields() -> Vec<String> {
    let thread = "id known title description confidential noteCount lastNoteAt unresolvedCount participants { username } summary { text } modelNotes { about { id } }
        author { username name } assignees { username name } closedBy { username }
        discussions(first: 10) { totalCount nodes { id confidential author { username name } notes(first: 3) { id body confidential author { name } } } }
        out: edges(first: 20) { totalCount nodes { id known } edges { name evidence } }
        in: edges(first: 20, direction: IN) { totalCount nodes { id known } edges { name evidence } }";
    let node = format!(
        "id known ... on Issue {{ {thread} closingMergeRequests {{ id }} closingCommits {{ id }} }} ... on Discussion {{ notes(first: 5) {{ body }} }}
         ... on Note {{ body discussion {{ id }} thread {{ id title }} }}
         ... on Person {{ username name url edges(first: 100, direction: OUT) {{ totalCount nodes {{ id }} }} }}
         ... on Project {{ issues(first: 100) {{ totalCount nodes {{ id title }} }} edges(first: 100, direction: IN) {{ totalCount nodes {{ id }} }} }}"
    );
    let mut all = vec![
        format!("{{ issues(first: 2) {{ totalCount nodes {{ {thread} }} }} }}"),
        "{ mergeRequests(first: 10) { nodes { id closes { id title } } } }".to_owned(),
        "{ person(username: \"mallorqui\\u006e\") { known name url edges(direction: IN) { totalCount } } }".to_owned(),
        "{ stats { issueCount discussionCount noteCount personCount quads labelCount nodes { name count } secrets { project { id } } } coverage { documentCount embeddedCount passageCount byKind { kind documentCount } } }".to_owned(),
        "{ syncStatus { freshness { project { id } issueCount confidentialIssueCount internalDiscussionCount } } }".to_owned(),
        "{ snapshots { current recorded { id documentCount passageCount } } }".to_owned(),
        format!("{{ search(query: \"{QUESTION}\", first: 100) {{ coverage {{ documentCount }} hits {{ documentId title snippet confidential passages {{ node {{ id }} text }} members {{ relation node {{ id known }} }} node {{ id known ... on Issue {{ title }} }} }} }} }}"),
        format!("{{ ask(question: \"{QUESTION}\", model: false) {{ statements {{ text }} standing {{ node {{ id }} text }} citations {{ documentId text confidential node {{ id known ... on Issue {{ title description }} ... on Note {{ body }} }} }} }} }}"),
        format!("{{ contextPack(about: {{ query: \"{QUESTION}\" }}, options: {{ tokens: 16000 }}) {{ summary text
            keyItems {{ node {{ id }} title excerpt links confidential }} timeline {{ summary items {{ id }} }} designNotes {{ note source {{ id }} author confidential }}
            retrieved {{ node {{ id }} title text confidential }} provenance {{ items {{ id }} authors }} missing
            manifest {{ documentCount items {{ reference }} chunks {{ reference }} snapshot }} }} }}"),
    ];
    for id in [HIDDEN, PUBLIC, "acme/shop", "@johndoe", "@alice", "acme/shop!1"] {
        all.push(format!("{{ node(id: \"{id}\") {{ {node} }} nodes(ids: [\"{id}\"]) {{ id known }} }}"));
    }
    all
}

/// What a program that knows everything about the confidential things asks to get at them by their ids.
async fn by_id(whole: &Client<'_>) -> Vec<String> {
    let known = "{ hidden: issue(id: \"acme/shop#7\") { discussions { nodes { id notes { id } } } }
        open: issue(id: \"acme/shop#1\") { discussions { nodes { id confidential notes { id } } } } }";
    let told = whole.ask(None, known, &Value::Null).await;
    let of = |name: &str| told["data"][name]["discussions"]["nodes"].as_array().unwrap().clone();
    let internal = of("open").into_iter().filter(|discussion| discussion["confidential"] == true);
    let discussions: Vec<Value> = of("hidden").into_iter().chain(internal).collect();
    assert_eq!(discussions.len(), 2);
    let mut queries = Vec::new();
    for discussion in &discussions {
        let id = discussion["id"].as_str().unwrap();
        let note = discussion["notes"][0]["id"].as_str().unwrap();
        queries.push(format!("{{ discussion(id: \"{id}\") {{ notes {{ body }} thread {{ id title }} }} }}"));
        for id in [id, note] {
            queries.push(format!(
                "{{ node(id: \"{id}\") {{ known ... on Discussion {{ notes {{ body }} author {{ username }} }}
                   ... on Note {{ body author {{ username name }} discussion {{ notes {{ body }} }} }} }} }}"
            ));
        }
    }
    queries
}

/// An answer without what differs from one process, or moment, to the next.
fn comparable(answer: &Value) -> String {
    answer.to_string()
}

#[tokio::test]
async fn no_answer_without_the_scope_tells_anything() {
    let forge = planted();
    let sandbox = keeping(&forge);
    let server = sandbox.serve();
    let (open, whole) = (
        Client::new(&server, Some("a plain token, long enough")),
        Client::new(&server, Some("a scoped token, long enough")),
    );
    // A conversation of each, in which it was asked.
    whole.ask(None, "mutation { createChat { id } }", &Value::Null).await;
    let send = "mutation { sendMessage(chat: 1, text: \"why is it marzipan?\") { text } }";
    whole.ask(None, send, &Value::Null).await;

    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../queries/graphql");
    let mut files: Vec<String> = fs::read_dir(directory.clone())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter_map(|name| Some(name.strip_suffix(".graphql")?.to_owned()))
        .filter(|file| !NOT_ASKED.contains(&file.as_str()))
        .collect();
    files.sort();
    let mut telling = BTreeSet::new();
    for file in &files {
        let document = fs::read_to_string(directory.join(format!("{file}.graphql"))).unwrap();
        let names = document.lines().filter_map(|line| {
            let (kind, rest) = line.split_once(' ')?;
            ["query", "mutation"].contains(&kind).then(|| rest.split(['(', ' ']).next().unwrap().to_owned())
        });
        for (name, variables) in names.flat_map(|name| variables(file).into_iter().map(move |of| (name.clone(), of))) {
            let answer = open.ask(Some(&name), &document, &variables).await;
            // A text that was sent may come back.
            let sent = words_in(&variables.to_string());
            let found: BTreeSet<_> = words_in(&comparable(&answer)).difference(&sent).copied().collect();
            assert_eq!(found, BTreeSet::new(), "{file} {name} {variables}: {answer:#}");
            if file != "forget" {
                let answer = whole.ask(Some(&name), &document, &variables).await;
                if !words_in(&comparable(&answer)).is_empty() {
                    telling.insert(file.clone());
                }
            }
        }
    }
    let expected =
        ["ask", "chat", "chats", "context", "issue", "issue_discussions", "issues", "search", "send_message", "trace"];
    for file in expected {
        assert!(telling.contains(file), "{file} tells nothing to who may see it; {telling:?} do");
    }

    no_use_case_tells_anything(&open, &whole).await;

    let mut queries = fields();
    queries.extend(by_id(&whole).await);
    let mut seen = BTreeSet::new();
    for query in &queries {
        let answer = open.ask(None, query, &Value::Null).await;
        let sent = words_in(query);
        let found: BTreeSet<_> = words_in(&comparable(&answer)).difference(&sent).copied().collect();
        assert_eq!(found, BTreeSet::new(), "{query}: {answer:#}");
        assert!(answer["errors"].is_null() || !answer["errors"].to_string().contains("Unknown field"), "{answer:#}");
        let answer = whole.ask(None, query, &Value::Null).await;
        assert!(answer["errors"].is_null(), "{query}: {answer:#}");
        seen.extend(words_in(&comparable(&answer)));
    }
    assert_eq!(seen, PLANTED.into(), "all of it can be seen by who may");
}

#[tokio::test]
async fn without_the_scope_all_is_as_if_it_were_not_there() {
    let forge = planted();
    let sandbox = keeping(&forge);
    let server = sandbox.serve();
    let open = Client::new(&server, Some("a plain token, long enough"));
    let bare = Sandbox::synced(&forge);
    bare.run(&["embed"]).ok();
    let bare_server = bare.serve();
    let without = Client::new(&bare_server, None);
    let mut queries = vec![
        "{ issues(first: 100) { totalCount nodes { id title noteCount } } }".to_owned(),
        "{ search(query: \"session cookies\", first: 100) { coverage { documentCount embeddedCount passageCount } hits { documentId snippet } } }".to_owned(),
        "{ stats { issueCount discussionCount noteCount personCount labelCount commitCount nodes { name count } } }".to_owned(),
        "{ coverage { documentCount embeddedCount passageCount byKind { kind documentCount embeddedCount } } }".to_owned(),
        "{ snapshots { current recorded { documents } } }".to_owned(),
        "{ person(username: \"mallorquin\") { known name } }".to_owned(),
        format!("{{ issue(id: \"{HIDDEN}\") {{ title }} }}"),
        format!("{{ contextPack(about: {{ id: \"{HIDDEN}\" }}) {{ text }} }}"),
        format!("{{ trace(id: \"{HIDDEN}\") {{ missing }} }}"),
        "mutation { forget(id: \"acme/shop#7\") { id } }".to_owned(),
        "mutation { summarize(id: \"acme/shop#7\") { text } }".to_owned(),
    ];
    let edges = "id known discussions(first: 10) { totalCount nodes { id notes { id body } } } noteCount lastNoteAt unresolvedCount participants { username }";
    queries.push(format!("{{ issue(id: \"{PUBLIC}\") {{ {edges} }} }}"));
    for id in ["@mallorquin", "acme/shop", "@alice"] {
        queries.push(format!(
            "{{ node(id: \"{id}\") {{ id known ... on Issue {{ edges(first: 100, direction: IN) {{ totalCount }} }}
               ... on Person {{ name edges(first: 100, direction: IN) {{ totalCount nodes {{ id }} }} }}
               ... on Project {{ edges(first: 100, direction: IN) {{ totalCount nodes {{ id }} }} }} }} }}"
        ));
    }
    for query in queries {
        let (seen, wanted) =
            (open.ask(None, &query, &Value::Null).await, without.ask(None, &query, &Value::Null).await);
        assert_eq!(seen, wanted, "{query}");
    }
    let pairs = json!({ "project": "acme/shop", "count": 100 });
    let (seen, wanted) = (open.answer("question-pairs", &pairs).await, without.answer("question-pairs", &pairs).await);
    assert_eq!(seen, wanted);
}

/// The same for every use case that a token may request.
async fn no_use_case_tells_anything(open: &Client<'_>, whole: &Client<'_>) {
    let mut readable = Readable(vec![]);
    visit_all(&mut readable);
    let mut telling = BTreeSet::new();
    for name in readable.0 {
        for request in requests(name) {
            let answer = open.answer(name, &request).await;
            let sent = words_in(&request.to_string());
            let found: BTreeSet<_> = words_in(&comparable(&answer)).difference(&sent).copied().collect();
            assert_eq!(found, BTreeSet::new(), "{name} {request}: {answer:#}");
            let answer = whole.answer(name, &request).await;
            if !words_in(&comparable(&answer)).is_empty() {
                telling.insert(name);
            }
        }
    }
    for name in
        ["ask", "chats", "context", "evaluate", "messages", "search", "send-message", "show", "threads", "trace"]
    {
        assert!(telling.contains(name), "{name} tells nothing to who may see it; {telling:?} do");
    }
}
