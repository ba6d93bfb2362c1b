//! Tickets of other trackers, and what texts say of security.

use std::sync::Arc;

use backstory_engine::{
    ledger::Branches,
    model::{
        id::NodeId,
        security::FlagKind,
        tracker::{Tracker, Trackers},
    },
    settings::Settings,
    show::{NodeDetails, ShowRequest},
    trace::{Target, TraceRequest},
};
use backstory_store::graph::{Direction, Graph};

use crate::support::{Forge, Indexed, Origin, PROJECT, Sandbox, settings};

fn jira() -> Settings {
    let tracker = Tracker::new("[A-Z]+-[0-9]+", "https://jira.example.com/browse/{key}").unwrap();
    Settings { trackers: Arc::new(Trackers::new(vec![tracker]).unwrap()), ..settings() }
}

/// A repository whose messages name tickets and vulnerabilities.
fn origin() -> Origin {
    let mut origin = Origin::new();
    origin.write("src/a.py", "x = 1\n").commit_all("Begin\n\nPart of PROJ-7.");
    origin.write("src/a.py", "x = 2\n").commit_all("Count from two\n\nFixes PROJ-77, PROJ-78; see OPS-1 and not x-1.");
    origin.write("src/a.py", "x = 3\n").commit_all(
        "security: check the length of names\n\nCVE-2024-3094 (CWE-787) lets anybody write behind the buffer.",
    );
    origin
}

async fn tool(origin: &Origin) -> Indexed {
    let indexed = Indexed::empty(jira()).await;
    indexed.add(origin.path(), PROJECT, Branches::Default).await.unwrap();
    indexed.sync().await;
    indexed
}

/// The edges to a ticket.
async fn edges_to(indexed: &Indexed, key: &str) -> Vec<String> {
    let id = NodeId::Ticket(key.to_owned());
    let ends = indexed.engine.load_edges(vec![id], Direction::In, None).await.unwrap();
    ends.into_iter().flatten().map(|end| end.edge.name().to_owned()).collect()
}

// Row 119 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_tickets_become_nodes_with_edges() {
    let mut origin = origin();
    let indexed = tool(&origin).await;
    assert_eq!(edges_to(&indexed, "PROJ-77").await, ["FIXES"]);
    assert_eq!(edges_to(&indexed, "PROJ-78").await, ["FIXES"]);
    assert_eq!(edges_to(&indexed, "OPS-1").await, ["REFERENCES"]);
    assert_eq!(edges_to(&indexed, "x-1").await, Vec::<String>::new());

    // Read bit by bit it is the same as read at once.
    origin.write("src/a.py", "x = 4\n").commit_all("More of PROJ-77");
    indexed.sync().await;
    let mut edges = edges_to(&indexed, "PROJ-77").await;
    edges.sort();
    assert_eq!(edges, ["FIXES", "REFERENCES"]);
    let cold = tool(&origin).await;
    assert_eq!(indexed.digest().await, cold.digest().await);
    assert_eq!(indexed.digest().await, indexed.rebuild_graph().await);
    indexed.check().await;

    let about =
        TraceRequest { project: None, target: Target::Node("^PROJ-77".parse().unwrap()), rev: None, earlier: 0 };
    let trace = indexed.engine.answer(about).await.unwrap();
    assert_eq!(trace.chain[0].node.url.as_deref(), Some("https://jira.example.com/browse/PROJ-77"));
    assert!(trace.chain.iter().any(|step| step.node.title == "Count from two"), "{:?}", trace.chain);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_trackers_rebuild_the_graph() {
    let origin = origin();
    let indexed = tool(&origin).await;
    let with = indexed.digest().await;
    let Indexed { data, engine } = indexed;
    drop(engine);
    let without = backstory_engine::Engine::open(data.path(), settings()).await.unwrap();
    let without = Indexed { data, engine: without };
    assert_eq!(edges_to(&without, "PROJ-77").await, Vec::<String>::new());
    assert_ne!(without.digest().await, with);
    assert_eq!(without.digest().await, Indexed::cold(origin.path(), Branches::Default).await.digest().await);
}

// Row 122 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn what_names_a_vulnerability_is_flagged_with_its_evidence() {
    let mut origin = origin();
    let sha = origin.sha("HEAD").to_string();
    let indexed = tool(&origin).await;
    let request = ShowRequest { id: NodeId::commit(PROJECT, &sha) };
    let NodeDetails::Commit(commit) = indexed.engine.answer(request).await.unwrap() else { panic!("it is a commit") };
    let flags: Vec<(FlagKind, &str, u32)> =
        commit.security_flags.iter().map(|flag| (flag.kind, flag.id.as_str(), flag.line)).collect();
    let expected =
        [(FlagKind::Cve, "CVE-2024-3094", 3), (FlagKind::Cwe, "CWE-787", 3), (FlagKind::Classified, "security", 1)];
    assert_eq!(flags, expected);
    assert!(commit.security_flags[0].evidence.contains("lets anybody write"));
    origin.write("src/a.py", "x = 5\n").commit_all("Tidy up");
    indexed.sync().await;
    assert_eq!(indexed.digest().await, tool(&origin).await.digest().await);
}

#[test]
fn trackers_come_from_the_configuration() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.configure("[[tracker]]\npattern = \"[A-Z]+-[0-9]+\"\nurl = \"https://jira.example.com/{key}\"\n");
    let notice = sandbox.run(&["count", "issues"]).ok();
    assert!(notice.stderr.contains("other trackers are configured"), "{notice:#?}");
    for (wrong, said) in [
        ("pattern = \"(\"\nurl = \"https://x/{key}\"", "is not a regular expression"),
        ("pattern = \"[A-Z]*\"\nurl = \"https://x/{key}\"", "matches an empty text"),
        ("pattern = \"[A-Z]+\"\nurl = \"https://x/\"", "is not an http address with {key}"),
    ] {
        sandbox.configure(&format!("[[tracker]]\n{wrong}\n"));
        let error = sandbox.run(&["count", "issues"]).error(3).to_owned();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_graph_of_other_trackers_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let graph = Graph::open(directory.path()).unwrap().with_trackers(jira().trackers).unwrap();
    graph.apply(&[], &Default::default(), 3).unwrap();
    drop(graph);
    let reopened = Graph::open(directory.path()).unwrap();
    assert!(reopened.clone().with_trackers(jira().trackers).is_ok());
    assert!(reopened.with_trackers(Arc::default()).is_err());
}
