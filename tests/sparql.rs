//! `/sparql` and `/graph/{ref}`: the protocol, and that no query exceeds its limits.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use backstory_model::{
    entity::{Issue, Item, ItemKind, State, Thread},
    id::ThreadId,
    numbers::SharedNumbers,
    reference::Forge as ForgeKind,
};
use backstory_store::graph::{
    Cancel, Graph, GraphChange,
    sparql::{ResultFormat, SparqlError, SparqlLimits, SparqlQuery},
};
use jiff::Timestamp;
use reqwest::{Client, RequestBuilder};
use serde_json::Value;

use crate::support::{Forge, Sandbox, problem};

const ISSUES: &str = "SELECT ?iid ?title { ?issue a bs:Issue ; bs:iid ?iid ; dcterms:title ?title } ORDER BY ?iid";

/// Status, media type and text of an answer.
async fn send(request: RequestBuilder) -> (u16, String, String) {
    let response = request.send().await.unwrap();
    let media_type = response.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned());
    (response.status().as_u16(), media_type.unwrap_or_default(), response.text().await.unwrap())
}

/// Status and sentence of a refusal.
async fn refusal(request: RequestBuilder) -> (u16, String) {
    let (status, _, text) = send(request).await;
    let answer: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (status, problem(&answer))
}

// Row 136 of docs/requirements.md.
#[tokio::test]
async fn queries_are_answered_in_every_way_of_the_protocol() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let http = Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/sparql", server.url);
    let get = |query: &str| http.get(&url).query(&[("query", query)]);

    let (status, media_type, text) = send(get(ISSUES)).await;
    assert_eq!((status, media_type.as_str()), (200, "application/sparql-results+json"), "{text}");
    let table: Value = serde_json::from_str(&text).unwrap();
    let count = table["results"]["bindings"].as_array().unwrap().len();
    assert!(count > 1 && table["head"]["vars"] == serde_json::json!(["iid", "title"]), "{text}");

    let form = http.post(&url).form(&[("query", ISSUES)]);
    let body = http.post(&url).header("content-type", "application/sparql-query").body(ISSUES);
    for request in [form, body] {
        assert_eq!(send(request).await, (200, media_type.clone(), text.clone()));
    }
    for (accept, wanted, beginning) in [
        ("application/sparql-results+xml", "application/sparql-results+xml", "<?xml"),
        ("text/csv", "text/csv; charset=utf-8", "iid,title\r\n"),
        ("text/tab-separated-values;q=0.9, image/png", "text/tab-separated-values; charset=utf-8", "?iid\t?title\n"),
    ] {
        let (status, media_type, text) = send(get(ISSUES).header("accept", accept)).await;
        assert_eq!((status, media_type.as_str()), (200, wanted));
        assert!(text.starts_with(beginning), "{text}");
    }
    for query in ["ASK { ?mr a bs:MergeRequest }", "PREFIX s: # a > b\n<urn:x#>\nASK { ?mr a bs:MergeRequest }"] {
        let ask = send(get(query)).await;
        assert!(ask.2.contains("true"), "{query}: {ask:?}");
    }
    let construct = "CONSTRUCT { ?i dcterms:title ?t } { ?i a bs:Issue ; dcterms:title ?t }";
    let turtle = send(get(construct)).await;
    assert!(turtle.1.starts_with("text/turtle") && turtle.2.contains("@prefix dcterms:"), "{turtle:?}");
    let triples = send(get(construct).header("accept", "application/n-triples")).await;
    assert_eq!(triples.2.lines().count(), count, "{triples:?}");

    let graph = "urn:backstory:graph:acme/shop/issue/%231";
    let own = "SELECT DISTINCT ?s { ?s a bs:Issue }";
    let of_one = send(get(own).query(&[("default-graph-uri", graph)]).header("accept", "text/csv")).await;
    assert_eq!(of_one.2, "s\r\nurn:backstory:node:acme/shop/-/issues/1\r\n");
    assert_eq!(server.stop().0, Some(0));
}

#[tokio::test]
async fn what_is_no_query_is_refused_in_a_sentence() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let http = Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/sparql", server.url);
    let get = |query: &str| http.get(&url).query(&[("query", query)]);
    for (request, status, words) in [
        (http.get(&url), 400, "there is no query"),
        (get("SELECT"), 400, "the query is not SPARQL 1.1"),
        (get("ASK {}").query(&[("query", "ASK {}")]), 400, "send one query at a time"),
        (get("SELEC ?s {}"), 400, "'SELEC' at 1:1; a query begins with SELECT, ASK, CONSTRUCT or DESCRIBE"),
        (get("# why\nPREFIX a: <urn:a>\n  SELEC ?s {}"), 400, "'SELEC' at 3:3; a query begins with"),
        (get("PREFIX a: # x > y\n<urn:a>\nSELEC ?s {}"), 400, "'SELEC' at 3:1; a query begins with"),
        (get("INSERT DATA { <a> <b> <c> }"), 400, "updates are refused"),
        (get("INSERT DATA { <urn:a> <urn:b> <urn:c> }"), 400, "updates are refused"),
        (get("LOAD <http://example.com/>"), 400, "updates are refused"),
        (get("SELECT * { SERVICE <http://example.com/> { ?s ?p ?o } }"), 400, "SERVICE is refused"),
        (http.post(&url).form(&[("update", "CLEAR ALL")]), 400, "updates are refused"),
        (
            http.post(&url).header("content-type", "application/sparql-update").body("CLEAR ALL"),
            400,
            "updates are refused",
        ),
        (http.post(&url).header("content-type", "text/plain").body("ASK {}"), 415, "application/sparql-query"),
        (get("ASK {}").header("accept", "image/png"), 406, "none of the formats in Accept is known"),
        (get("ASK {}").query(&[("default-graph-uri", "no iri")]), 400, "is not the IRI of a graph"),
    ] {
        let (found, message) = refusal(request).await;
        assert_eq!(found, status, "{message}");
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(server.stop().0, Some(0));
}

#[tokio::test]
async fn a_node_is_described_as_the_client_wants_it() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let http = Client::builder().no_proxy().build().unwrap();
    let get = |reference: &str| http.get(format!("{}/graph/{reference}", server.url));
    let (status, media_type, text) = send(get("acme/shop%231")).await;
    assert_eq!((status, media_type.as_str()), (200, "text/turtle; charset=utf-8"), "{text}");
    for wanted in ["bs:Issue", "prov:Entity", "prov:wasAttributedTo <urn:backstory:person:", "prov:generatedAtTime"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let (_, _, text) = send(get("acme/shop%231").header("accept", "application/ld+json")).await;
    let json: Value = serde_json::from_str(&text).unwrap();
    assert!(json.to_string().contains("urn:backstory:node:acme/shop/-/issues/1"), "{json:#}");
    assert_eq!(refusal(get("acme/shop%23999999")).await.0, 404);
    assert_eq!(refusal(get("acme/shop%231").header("accept", "text/csv")).await.0, 406);
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn a_command_answers_what_the_server_would() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let csv = sandbox.run(&["sparql", ISSUES, "--format", "csv"]).ok();
    assert!(csv.stdout.starts_with("iid,title"), "{csv:#?}");
    assert!(sandbox.run(&["sparql", "CLEAR ALL"]).error(2).contains("updates are refused"));
}

fn at(day: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + day * 86_400).unwrap()
}

/// A graph of issues that refer to one another.
fn graph() -> Graph {
    let issue = |iid: u64| {
        let thread = Thread {
            forge: ForgeKind::GitLab,
            title: format!("The session of the cart is lost for the {iid}th time"),
            description: format!("See #{} and #{}", iid % 60 + 1, iid * 7 % 60 + 1),
            state: State::Opened,
            author: Some("alice".to_owned()),
            labels: vec!["bug".to_owned()],
            milestone: None,
            assignees: vec!["bob".to_owned()],
            created_at: at(0),
            updated_at: at(1),
            closed_at: None,
            closed_by: None,
            web_url: format!("https://git.example.com/acme/shop/-/issues/{iid}"),
            notes_count: 0,
            confidential: false,
        };
        let id = ThreadId::issue("acme/shop", iid);
        Item::Issue(Issue { id, thread, related: vec![], closed_by_requests: vec![], links: vec![] })
    };
    let change = |iid: u64| GraphChange {
        project: "acme/shop".to_owned(),
        kind: ItemKind::Issue,
        key: iid.to_string(),
        confidential: false,
        item: Some(issue(iid)),
    };
    let graph = Graph::in_memory().unwrap();
    graph.apply(&(1..=60).map(change).collect::<Vec<_>>(), &SharedNumbers::default(), 60).unwrap();
    graph
}

/// Thirty queries that would take hours or gigabytes.
fn hostile_queries() -> Vec<String> {
    let product = "?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l";
    let doubled = (0..40).map(|step| format!("BIND(CONCAT(STR(?x{step}), STR(?x{step})) AS ?x{})", step + 1));
    let doubled: String = doubled.collect();
    let empty = "{} UNION {}";
    let many_empty = format!("{{ {empty} }} ").repeat(40);
    let long = "x".repeat(1000);
    let regex = "(x+x+)+y".repeat(20);
    vec![
        format!("SELECT * {{ {product} }}"),
        format!("SELECT (COUNT(*) AS ?n) {{ {product} }}"),
        format!("SELECT DISTINCT ?a ?d ?g {{ {product} }}"),
        format!("SELECT * {{ {product} }} ORDER BY ?l ?c"),
        format!("SELECT ?a (COUNT(?d) AS ?n) {{ {product} }} GROUP BY ?a ?d ?g"),
        format!("SELECT (GROUP_CONCAT(?c) AS ?all) {{ {product} }}"),
        format!("SELECT (GROUP_CONCAT(\"{long}\") AS ?all) {{ {product} }}"),
        format!("SELECT (COUNT(DISTINCT CONCAT(STR(?a), STR(?d), STR(?g))) AS ?n) {{ {product} }}"),
        format!("SELECT * {{ {product} FILTER(1 = 2) }}"),
        format!("SELECT * {{ {product} FILTER(?a = ?z) }}"),
        format!("SELECT * {{ {product} FILTER(CONTAINS(STR(?c), STR(?f)) && REGEX(STR(?i), \"{regex}\")) }}"),
        format!("SELECT * {{ {product} }} OFFSET 1000000000000"),
        format!("ASK {{ {product} FILTER(?c = \"nothing\") }}"),
        format!("CONSTRUCT {{ ?a ?b ?l }} {{ {product} }}"),
        format!("DESCRIBE ?a ?d {{ {product} }}"),
        format!("SELECT * {{ ?s ?p ?o OPTIONAL {{ {product} }} }}"),
        format!("SELECT * {{ ?s ?p ?o MINUS {{ ?s ?q ?r . {product} }} }}"),
        format!("SELECT * {{ ?s ?p ?o FILTER NOT EXISTS {{ {product} FILTER(?l = ?s && 1 = 2) }} }}"),
        format!("SELECT (COUNT(*) AS ?n) {{ {{ SELECT ?a {{ {product} }} }} {{ SELECT ?d {{ {product} }} }} }}"),
        "SELECT * { ?a (<urn:x>|!<urn:x>)* ?b . ?b (<urn:x>|!<urn:x>)* ?c . ?c (<urn:x>|!<urn:x>)* ?d }".to_owned(),
        "SELECT (COUNT(*) AS ?n) { ?a (!<urn:x>/^!<urn:x>)+ ?b . ?c (!<urn:x>/^!<urn:x>)+ ?d }".to_owned(),
        "SELECT * { ?a dcterms:references* ?b . ?b dcterms:references* ?c . ?c dcterms:references* ?d . ?e ?f ?g }"
            .to_owned(),
        format!("SELECT (COUNT(*) AS ?n) {{ {many_empty} }}"),
        format!("SELECT * {{ {many_empty} }} ORDER BY ?nothing"),
        format!("SELECT * {{ {many_empty} FILTER(1 = 2) }}"),
        format!("SELECT ?x40 {{ BIND(\"{long}\" AS ?x0) {doubled} }}"),
        format!(
            "SELECT (REPLACE(REPLACE(REPLACE(\"{long}\", \"x\", \"{long}\"), \"x\", \"{long}\"), \"x\", \"y\") AS ?y) {{}}"
        ),
        format!("ASK {{ FILTER({}true{}) }}", "(".repeat(5000), ")".repeat(5000)),
        format!("ASK {{ FILTER({}true) }}", "!".repeat(15_000)),
        format!("SELECT * {{ {} }}", "{?s ?p ?o} UNION ".repeat(900) + "{?s ?p ?o}"),
    ]
}

#[test]
fn hostile_queries_end_within_their_limits() {
    let (graph, limits) = (graph(), SparqlLimits { time: Duration::from_secs(1), memory: 32 << 20 });
    let queries = hostile_queries();
    assert_eq!(queries.len(), 30);
    for query in queries {
        let started = Instant::now();
        let query = SparqlQuery { text: query, ..SparqlQuery::default() };
        let outcome = graph.answer_sparql(&query, limits, &Cancel::default());
        let took = started.elapsed();
        let shown: String = query.text.chars().take(100).collect();
        assert!(took < Duration::from_secs(5), "{took:?}: {shown}");
        match outcome {
            Ok(answer) => assert!(answer.rows <= 100_000, "{shown}"),
            Err(SparqlError::TooLong(_) | SparqlError::TooLarge(_) | SparqlError::Refused(_)) => {}
            Err(error) => panic!("{error}: {shown}"),
        }
    }
    assert!(graph.damage().is_none());
    let query = SparqlQuery { text: ISSUES.to_owned(), formats: vec![ResultFormat::Tsv], ..SparqlQuery::default() };
    let answer = graph.answer_sparql(&query, limits, &Cancel::default()).unwrap();
    assert_eq!(answer.rows, 60, "{}", answer.text);
}

#[test]
fn expressions_that_the_parser_reads_twice_end_in_time_however_deep() {
    let (graph, limits) = (graph(), SparqlLimits::default());
    for form in
        ["!(@)", "REGEX(@, \"a\")", "REGEX(\"a\", @)", "SUBSTR(@, 1)", "replace(@, \"a\", \"b\")", "! # (\n (@)"]
    {
        for depth in [3, 6, 7, 12, 24, 60] {
            let expression = (0..depth).fold("true".to_owned(), |inner, _| form.replace('@', &inner));
            let query = SparqlQuery { text: format!("ASK {{ FILTER({expression}) }}"), ..SparqlQuery::default() };
            let started = Instant::now();
            let outcome = graph.answer_sparql(&query, limits, &Cancel::default());
            assert!(started.elapsed() < Duration::from_secs(5), "{form} in itself {depth} times");
            // One more parenthesis is that of FILTER.
            assert_eq!(
                matches!(outcome, Err(SparqlError::Refused(_))),
                depth > 6,
                "{form} in itself {depth} times: {outcome:?}"
            );
        }
    }
}

#[test]
fn queries_that_take_long_to_plan_are_refused_before() {
    let (graph, limits) = (graph(), SparqlLimits::default());
    let group = |pattern: &str, times: usize| format!("SELECT * {{ {} }}", pattern.repeat(times));
    let path = |step: &str, times: usize| format!("ASK {{ ?a <a:b>{} ?c }}", step.repeat(times));
    let select = |variables: &str, times: usize| {
        format!("SELECT * {{ {} }}", (0..times).map(|n| variables.replace('@', &n.to_string())).collect::<String>())
    };
    let values = |times: usize| {
        let (names, terms): (String, String) = (0..times).map(|n| (format!("?v{n} "), "1 ")).unzip();
        format!("SELECT * {{ VALUES ({names}) {{ ({terms}) }} }}")
    };
    for (query, is_refused) in [
        (group("?a ?b ?c.", 1_700), true),
        (group("?a ?b ?c.", 60), false),
        (select("?a@ <a:b> ?c@ .", 60), false),
        (select("?a@ <a:b> ?a1@ .", 60), false),
        (path("/a", 8_000), true),
        (path("/<a:b>", 60), false),
        (path("|<a:b>", 60), false),
        (path("/<a:b>*", 15), false),
        (group("OPTIONAL{?a ?b ?c}", 800), true),
        (group("OPTIONAL{?a <a:b> ?c}", 28), false),
        (group("{}UNION", 1_500) + "{}", true),
        (group("{?a <a:b> ?c}MINUS{?a <a:b> ?c}", 300), true),
        (group("BIND(1 AS ?x)", 1_000), true),
        (select("BIND(1 AS ?x@)", 700), true),
        (select("FILTER(?x=@)", 1_000), true),
        (select("FILTER(?x=@)", 250), false),
        (format!("SELECT * {{ FILTER({}) }}", ["?x=1"; 1_000].join("||")), true),
        (format!("SELECT * {{ FILTER({}) }}", ["?x=1"; 250].join("||")), false),
        (select("FILTER EXISTS{?x@ <a:b> 1}", 400), true),
        (select("FILTER EXISTS{?x@ <a:b> 1}", 55), false),
        (values(1_000), false),
    ] {
        let shown: String = query.chars().take(60).collect();
        let query = SparqlQuery { text: query, ..SparqlQuery::default() };
        let started = Instant::now();
        let outcome = graph.answer_sparql(&query, limits, &Cancel::default());
        assert!(started.elapsed() < limits.time + Duration::from_secs(5), "{shown}: {:?}", started.elapsed());
        assert_eq!(matches!(outcome, Err(SparqlError::Refused(_))), is_refused, "{shown}: {outcome:?}");
    }
}

#[test]
fn a_query_that_nobody_waits_for_ends() {
    let (graph, cancel) = (graph(), Cancel::default());
    let other = cancel.clone();
    let limits = SparqlLimits { time: Duration::from_secs(60), ..SparqlLimits::default() };
    let running = thread::spawn(move || {
        let text = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }".to_owned();
        graph.answer_sparql(&SparqlQuery { text, ..SparqlQuery::default() }, limits, &other)
    });
    let started = Instant::now();
    cancel.cancel();
    assert!(matches!(running.join().unwrap(), Err(SparqlError::Cancelled)));
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn the_default_graph_has_each_triple_once_and_guards_change_no_answer() {
    let graph = graph();
    let count = |text: &str| {
        let query = SparqlQuery { text: text.to_owned(), formats: vec![ResultFormat::Csv], ..SparqlQuery::default() };
        let answer = graph.answer_sparql(&query, SparqlLimits::default(), &Cancel::default()).unwrap();
        answer.text.trim().replace("\r\n", " ")
    };
    let distinct = count("SELECT (COUNT(*) AS ?n) { SELECT DISTINCT ?s ?p ?o { ?s ?p ?o } }");
    // Each of the 60 issues states what its label is.
    let answers: BTreeMap<&str, &str> = BTreeMap::from([
        ("SELECT (COUNT(*) AS ?n) { ?label a bs:Label }", "n 1"),
        ("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?label a bs:Label } }", "n 60"),
        ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER(?o = bs:Label) }", "n 1"),
        ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", distinct.as_str()),
        ("SELECT (COUNT(?t) AS ?n) { ?i dcterms:title ?t ; a bs:Issue FILTER(REGEX(?t, \"1[0-9]th\")) }", "n 10"),
        ("SELECT (GROUP_CONCAT(DISTINCT ?n; SEPARATOR=\"+\") AS ?all) { ?p a ?c BIND(STR(1+1) AS ?n) }", "all 2"),
        ("SELECT (REPLACE(\"abab\", \"a\", \"c\") AS ?r) (CONCAT(\"x\", \"y\") AS ?s) {}", "r,s cbcb,xy"),
        ("SELECT ?n { VALUES ?n { 3 1 2 } FILTER(?n > 1 || false) } ORDER BY DESC(?n) LIMIT 1", "n 3"),
        ("SELECT (COUNT(*) AS ?n) { ?i bs:iid 007 }", "n 1"),
        ("SELECT DISTINCT ?x { { BIND(1 AS ?x) } UNION { BIND(1 AS ?x) } }", "x 1"),
        ("SELECT (COUNT(*) AS ?n) { ?i a bs:Issue FILTER NOT EXISTS { ?i bs:closedAt ?at } }", "n 60"),
    ]);
    for (query, wanted) in answers {
        assert_eq!(count(query), wanted, "{query}");
    }
}
