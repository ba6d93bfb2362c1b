//! The graph through its public surface: every query, every check, and that applying is idempotent.

use std::collections::BTreeSet;

use backstory_model::{
    edge::Edge,
    entity::{
        Discussion, Issue, Item, ItemKind, Label, MergeRequest, Note, NoteKind, Person, Position, Project, State,
        SystemEvent, Thread,
    },
    id::{NAMESPACE, NodeId, ThreadId},
    numbers::SharedNumbers,
    reference::Forge,
};
use backstory_store::graph::{
    Cancel, Direction, EdgeCount, EdgesAt, Graph, GraphChange, InferredLink, MAX_ROWS,
    queries::{CHECKS, NODE_COUNTS},
};
use jiff::Timestamp;

fn at(day: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + day * 86_400).unwrap()
}

fn thread(title: &str, updated: i64, author: &str, labels: &[&str], description: &str) -> Thread {
    Thread {
        forge: Forge::GitLab,
        title: title.into(),
        description: description.into(),
        state: State::Opened,
        author: Some(author.into()),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        milestone: None,
        assignees: vec!["bob".into()],
        created_at: at(0),
        updated_at: at(updated),
        closed_at: None,
        closed_by: None,
        web_url: "https://git.example.com/acme/shop/-/issues/1".into(),
        notes_count: 0,
        confidential: false,
    }
}

fn issue(iid: u64, updated: i64, author: &str, labels: &[&str], description: &str) -> Issue {
    Issue {
        id: ThreadId::issue("acme/shop", iid),
        thread: thread("Redesign", updated, author, labels, description),
        related: vec![],
        closed_by_requests: vec![],
        links: vec![],
    }
}

fn merge_request() -> MergeRequest {
    MergeRequest {
        id: ThreadId::merge_request("acme/shop", 7),
        thread: Thread {
            state: State::Merged,
            ..thread("Use JWT", 3, "bob", &[], "Closes #1, see acme/web!3 and @carol")
        },
        source_branch: "jwt".into(),
        target_branch: "main".into(),
        draft: false,
        reviewers: vec!["alice".into()],
        requested_reviewers: None,
        approved_by: vec!["alice".into()],
        merged_at: Some(at(3)),
        merged_by: Some("alice".into()),
        head_sha: Some("aa11bb22".into()),
        merge_commit_sha: Some("cc33dd44".into()),
        squash_commit_sha: None,
        closes: vec![ThreadId::issue("acme/shop", 1)],
        files: vec![],
    }
}

fn note(id: u64, author: &str, body: &str) -> Note {
    Note {
        id,
        kind: NoteKind::Diff,
        author: Some(author.into()),
        body: body.into(),
        created_at: at(2),
        updated_at: at(2),
        resolvable: true,
        resolved: true,
        resolved_by: Some("bob".into()),
        resolved_at: Some(at(3)),
        position: Some(Position {
            old_path: "src/auth.rs".into(),
            new_path: "src/auth.rs".into(),
            old_lines: None,
            new_lines: Some((41, 42)),
            base_sha: Some("aaaa1111".into()),
            head_sha: Some("aa11bb22".into()),
        }),
    }
}

fn discussion() -> Discussion {
    Discussion {
        id: "d1".into(),
        thread: ThreadId::merge_request("acme/shop", 7),
        forge: Forge::GitLab,
        individual: false,
        notes: vec![note(1, "alice", "Why not sessions, as #2 says?"), note(2, "bob", "Mobile clients.")],
        events: vec![SystemEvent::MentionedIn(NodeId::Thread(ThreadId::issue("acme/shop", 2)))],
        web_url: "https://git.example.com/acme/shop/-/merge_requests/7#note_1".into(),
        confidential: false,
    }
}

fn change(kind: ItemKind, key: &str, item: Option<Item>) -> GraphChange {
    GraphChange { project: "acme/shop".into(), kind, key: key.into(), confidential: false, item }
}

fn everything() -> Vec<GraphChange> {
    let person = |id: u64, username: &str| {
        let person = Person { username: username.into(), forge_id: id, name: username.to_uppercase(), web_url: None };
        change(ItemKind::Person, &id.to_string(), Some(Item::Person(person)))
    };
    let label =
        Label { project: "acme/shop".into(), name: "bug".into(), color: Some("#ff0000".into()), description: None };
    let project = Project {
        path: "acme/shop".into(),
        forge_id: 1,
        name: "Shop".into(),
        description: None,
        web_url: "https://git.example.com/acme/shop".into(),
        default_branch: Some("main".into()),
        created_at: Some(at(0)),
    };
    vec![
        change(ItemKind::Project, "project", Some(Item::Project(project))),
        person(1, "alice"),
        person(2, "bob"),
        change(ItemKind::Label, "bug", Some(Item::Label(label))),
        change(ItemKind::Issue, "#1", Some(Item::Issue(issue(1, 1, "alice", &["bug"], "")))),
        change(ItemKind::Issue, "#2", Some(Item::Issue(issue(2, 2, "bob", &[], "")))),
        change(ItemKind::MergeRequest, "!7", Some(Item::MergeRequest(merge_request()))),
        change(ItemKind::Discussion, "!7~d1", Some(Item::Discussion(discussion()))),
    ]
}

fn graph() -> Graph {
    let graph = Graph::in_memory().unwrap();
    graph.apply(&everything(), &SharedNumbers::default(), 8).unwrap();
    graph
}

fn names(graph: &Graph, id: &str, direction: Direction, only: Option<Edge>) -> Vec<String> {
    let edges = graph.edges(&id.parse().unwrap(), direction, only).unwrap();
    edges.into_iter().map(|end| format!("{} {}", end.edge.name(), end.other)).collect()
}

/// What the ontology defines.
fn defined() -> BTreeSet<String> {
    let ontology = include_str!("../schema/backstory.ttl");
    let own = ontology.lines().filter_map(|line| line.strip_prefix("bs:"));
    own.filter_map(|line| Some(line.split_once(" a ")?.0.to_owned())).collect()
}

/// The names that the text between each `begin` and the next quotation mark ends.
fn names_in<'a>(source: &'a str, begin: &str) -> impl Iterator<Item = &'a str> {
    source.split(begin).skip(1).filter_map(|rest| rest.split('"').next())
}

#[test]
fn ontology_defines_every_term_that_is_written() {
    let defined = defined();
    for edge in Edge::ALL {
        if let Some(name) = edge.iri().strip_prefix(NAMESPACE) {
            assert!(defined.contains(name), "{} is stored as bs:{name}", edge.name());
        }
    }
    let sources = [
        include_str!("../crates/backstory-store/src/graph/quads.rs"),
        include_str!("../crates/backstory-store/src/graph/quads/code.rs"),
    ];
    let mut seen = BTreeSet::new();
    for source in sources {
        seen.extend(names_in(source, "{NAMESPACE}").filter(|name| !name.contains('{')));
        for writer in ["own", "flag", "number", "decimal"] {
            let call = format!("self.{writer}(");
            let calls = source.split(call.as_str()).skip(1);
            // The name is the first text of the call.
            seen.extend(calls.filter_map(|call| call.split(';').next()?.split('"').nth(1)));
        }
    }
    let written = include_str!("../crates/backstory-store/src/graph/generated.rs");
    seen.extend(names_in(written, "property(\""));
    seen.extend(names_in(written, "{NAMESPACE}"));
    for calls in ["self.text(&graph, \"", "self.text(&commit, \"", "self.text(&own, \""] {
        seen.extend(names_in(written, calls));
    }
    for expected in ["WrittenNote", "changeTypeByModel", "promptVersion", "noteKind"] {
        assert!(seen.contains(expected), "{expected} is not found in the sources: {seen:?}");
    }
    for expected in ["Commit", "DesignNote", "committedAt", "importance", "lineStart", "oldLineEnd", "iid"] {
        assert!(seen.contains(expected), "{expected} is not found in the sources: {seen:?}");
    }
    let missing: Vec<&&str> = seen.iter().filter(|name| !defined.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn edges_can_be_walked_both_ways() {
    let graph = graph();
    assert_eq!(
        names(&graph, "acme/shop!7", Direction::Out, None),
        [
            "ASSIGNED_TO @bob",
            "CLOSES acme/shop#1",
            "MENTIONS @carol",
            "REFERENCES acme/shop#1",
            "REFERENCES acme/web!3",
            "PART_OF acme/shop",
            "MERGED_AS acme/shop@cc33dd44",
        ]
    );
    assert_eq!(
        names(&graph, "acme/shop!7", Direction::In, None),
        ["AUTHORED @bob", "REVIEWED @alice", "APPROVED @alice", "REFERENCES acme/shop#2", "PART_OF acme/shop!7~d1"]
    );
    assert_eq!(names(&graph, "acme/shop#1", Direction::In, Some(Edge::Closes)), ["CLOSES acme/shop!7"]);
    assert_eq!(
        names(&graph, "@alice", Direction::Out, Some(Edge::Authored)),
        ["AUTHORED acme/shop#1", "AUTHORED acme/shop!7~d1", "AUTHORED acme/shop!7#note_1"]
    );
    assert_eq!(names(&graph, "acme/shop:src/auth.rs", Direction::In, None).len(), 2);
    assert_eq!(
        names(&graph, "acme/shop!7#note_2", Direction::Out, Some(Edge::RepliesTo)),
        ["REPLIES_TO acme/shop!7#note_1"]
    );
    assert!(graph.exists(&"acme/shop@cc33dd44".parse().unwrap()).unwrap());
    assert!(!graph.exists(&"acme/web!3".parse().unwrap()).unwrap());
}

#[test]
fn a_walk_after_a_write_sees_it() {
    let graph = graph();
    let merge_request: NodeId = "acme/shop!7".parse().unwrap();
    let edges = &[(Edge::References, Direction::In), (Edge::Closes, Direction::Out)];
    let asked = [EdgesAt { node: &merge_request, edges }];
    let ends = || {
        let ends = graph.adjacent_nodes(&asked, 10).unwrap();
        ends[0].iter().map(|ends| ends.iter().map(ToString::to_string).collect()).collect::<Vec<Vec<_>>>()
    };
    assert_eq!(ends(), [["acme/shop#2"], ["acme/shop#1"]]);
    let mentions = |iid, text: &str| {
        let issue = Item::Issue(issue(iid, 3, "bob", &[], text));
        change(ItemKind::Issue, &format!("#{iid}"), Some(issue))
    };
    graph.apply(&[mentions(3, "See !7")], &SharedNumbers::default(), 9).unwrap();
    assert_eq!(ends(), [vec!["acme/shop#2", "acme/shop#3"], vec!["acme/shop#1"]]);
    graph.apply(&[change(ItemKind::MergeRequest, "!7", None)], &SharedNumbers::default(), 10).unwrap();
    assert_eq!(ends(), [vec!["acme/shop#2", "acme/shop#3"], vec![]]);
}

#[test]
fn edges_are_counted_beyond_those_that_are_loaded() {
    let graph = graph();
    let references: String = (100..100 + MAX_ROWS + 5).map(|iid| format!("#{iid} ")).collect();
    let issue = Item::Issue(issue(1, 1, "alice", &["bug"], &references));
    graph.apply(&[change(ItemKind::Issue, "#1", Some(issue))], &SharedNumbers::default(), 9).unwrap();
    let id: NodeId = "acme/shop#1".parse().unwrap();
    let loaded = graph.edges(&id, Direction::Out, Some(Edge::References)).unwrap();
    assert_eq!(loaded.len(), MAX_ROWS);
    let count = |names: Option<&[Edge]>| {
        let names = names.map(|names| names.iter().copied().collect());
        graph.count_edges(&id, Direction::Out, names.as_ref()).unwrap()
    };
    let exactly = |count| EdgeCount { count, is_lower_bound: false };
    assert_eq!(count(Some(&[Edge::References])), exactly(MAX_ROWS + 5));
    assert_eq!(count(Some(&[Edge::References, Edge::Labeled])), exactly(MAX_ROWS + 6));
    assert_eq!(count(Some(&[Edge::Blocks])), exactly(0));
    assert!(count(None).count > MAX_ROWS + 6);
}

#[test]
fn applying_again_or_in_another_order_gives_the_same_digest() {
    let once = graph();
    let (digest, quads) = once.digest().unwrap();
    once.apply(&everything(), &SharedNumbers::default(), 8).unwrap();
    assert_eq!(once.digest().unwrap(), (digest.clone(), quads));
    let reversed = Graph::in_memory().unwrap();
    for change in everything().into_iter().rev() {
        reversed.apply(&[change], &SharedNumbers::default(), 8).unwrap();
    }
    assert_eq!(reversed.digest().unwrap(), (digest, quads));
    assert_eq!(reversed.applied_seq().unwrap(), 8);
}

#[test]
fn a_first_load_gives_what_applying_gives_and_nothing_before_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let loaded = Graph::open(directory.path()).unwrap();
    let mut cut_short = loaded.begin_bulk_load();
    cut_short.add(&everything(), &SharedNumbers::default()).unwrap();
    drop(cut_short);
    assert!(loaded.is_empty().unwrap());

    let mut load = loaded.begin_bulk_load();
    everything().chunks(3).for_each(|changes| load.add(changes, &SharedNumbers::default()).unwrap());
    assert!(loaded.is_empty().unwrap());
    load.commit(8).unwrap();
    assert_eq!((loaded.digest().unwrap(), loaded.applied_seq().unwrap()), (graph().digest().unwrap(), 8));

    // What was loaded is replaced and removed like everything else.
    for (number, gone) in everything().into_iter().enumerate() {
        loaded.apply(&[GraphChange { item: None, ..gone }], &SharedNumbers::default(), 9 + number as u64).unwrap();
    }
    assert!(loaded.is_empty().unwrap());
}

#[test]
fn an_item_that_is_gone_leaves_nothing() {
    let graph = Graph::in_memory().unwrap();
    let all = everything();
    graph.apply(&all[..7], &SharedNumbers::default(), 7).unwrap();
    let before = graph.digest().unwrap();
    graph.apply(&all[7..], &SharedNumbers::default(), 8).unwrap();
    assert_ne!(graph.digest().unwrap(), before);
    graph.apply(&[change(ItemKind::Discussion, "!7~d1", None)], &SharedNumbers::default(), 9).unwrap();
    assert_eq!(graph.digest().unwrap(), before);
}

#[test]
fn counts_nodes_of_each_class() {
    let rows = graph().select(NODE_COUNTS, vec![], &Cancel::default()).unwrap();
    let count =
        |class: &str| rows.iter().find(|row| row.text("class").unwrap().ends_with(class)).unwrap().number("count");
    assert_eq!(count("Issue"), Some(2));
    assert_eq!(count("Person"), Some(2));
    assert_eq!(count("Thread"), Some(1));
    assert_eq!(count("Post"), Some(2));
}

#[test]
fn a_sound_graph_breaks_no_rule() {
    let graph = graph();
    for check in CHECKS {
        let rows = graph.select(check.query, vec![], &Cancel::default()).unwrap();
        assert!(rows.is_empty(), "{}: {rows:?}", check.rule);
    }
}

#[test]
fn every_rule_notices_what_breaks_it() {
    let broken: Vec<(&str, Vec<GraphChange>)> = vec![
        ("every issue and merge request belongs to a project that exists", without("project")),
        ("every author exists; one who was renamed at the forge does after 'backstory sync --full'", without("1")),
        ("every discussion belongs to one issue or merge request that exists", without("!7")),
        (
            "a comment that nobody can reply to is the only note of its discussion",
            with_discussion(|d| d.individual = true),
        ),
        ("no discussion ends before it begins", with_discussion(|d| d.notes[1].created_at = at(-1))),
        ("only diff notes stand on files", with_discussion(|d| d.notes[0].kind = NoteKind::Discussion)),
        ("every milestone that is used exists", with_issue(|issue| issue.thread.milestone = Some(3))),
        (
            "every address is an http address",
            with_issue(|issue| issue.thread.web_url = "ftp://git.example.com/x".into()),
        ),
    ];
    for (rule, changes) in broken {
        let graph = Graph::in_memory().unwrap();
        graph.apply(&changes, &SharedNumbers::default(), 8).unwrap();
        let check = CHECKS.iter().find(|check| check.rule == rule).unwrap();
        assert!(!graph.select(check.query, vec![], &Cancel::default()).unwrap().is_empty(), "{rule}");
    }
}

fn without(key: &str) -> Vec<GraphChange> {
    everything().into_iter().filter(|change| change.key != key).collect()
}

fn with_discussion(edit: impl Fn(&mut Discussion)) -> Vec<GraphChange> {
    let mut all = everything();
    let mut edited = discussion();
    edit(&mut edited);
    all[7].item = Some(Item::Discussion(edited));
    all
}

fn with_issue(edit: impl Fn(&mut Issue)) -> Vec<GraphChange> {
    let mut all = everything();
    let mut edited = issue(1, 1, "alice", &[], "");
    edit(&mut edited);
    all[4].item = Some(Item::Issue(edited));
    all
}

#[test]
fn cancelled_query_ends_with_an_error() {
    let cancel = Cancel::default();
    cancel.cancel();
    assert!(graph().select(NODE_COUNTS, vec![], &cancel).is_err());
}

#[test]
fn what_has_a_number_is_what_texts_call_by_it() {
    let numbers = |request: bool| {
        let mut numbers = SharedNumbers::default();
        numbers.add_project("acme/shop");
        numbers.set(&ThreadId::merge_request("acme/shop", 2), request);
        numbers
    };
    let talk = Item::Discussion(Discussion { forge: Forge::GitHub, ..discussion() });
    let changes = [change(ItemKind::Discussion, "!7~d1", Some(talk))];
    let note = NodeId::Note { thread: ThreadId::merge_request("acme/shop", 7), id: 1 };
    let graph = Graph::in_memory().unwrap();
    for (request, expected) in [(false, "acme/shop#2"), (true, "acme/shop!2")] {
        graph.apply(&changes, &numbers(request), 1).unwrap();
        let ends = graph.edges(&note, Direction::Out, Some(Edge::References)).unwrap();
        assert_eq!(ends.iter().map(|end| end.other.to_string()).collect::<Vec<_>>(), [expected]);
        let found = graph.items_mentioning(&expected.parse().unwrap()).unwrap();
        assert_eq!(Vec::from_iter(found), [("acme/shop".to_owned(), ItemKind::Discussion, "!7~d1".to_owned())]);
    }
}

#[test]
fn inferred_links_come_one_by_one_as_they_come_at_once() {
    let graph = Graph::in_memory().unwrap();
    let request = |iid| NodeId::from(ThreadId::merge_request("acme/shop", iid));
    let starts = [request(7), request(10), request(9), NodeId::commit("acme/shop", &"a".repeat(40))];
    let links = starts.map(|from| InferredLink {
        from,
        to: ThreadId::issue("acme/shop", 1).into(),
        confidence: 0.75,
        evidence: vec!["both name the session".to_owned()],
    });
    graph.replace_inferred_links(&links, "a test").unwrap();
    let (mut found, mut after) = (Vec::new(), None);
    while let Some(link) = graph.inferred_after(after.as_ref(), 1, |_| true).unwrap().pop() {
        after = Some(link.from.clone());
        found.push(link);
    }
    assert_eq!((found.len(), &found), (4, &graph.all_inferred().unwrap()));
    let of_requests = |from: &NodeId| matches!(from, NodeId::Thread(_));
    assert_eq!(graph.inferred_after(None, 2, of_requests).unwrap().len(), 2);
    assert_eq!(graph.inferred_after(None, 9, of_requests).unwrap().len(), 3);
}
