//! From a line to its reason: lineage, commit, merge request, the discussion on the hunk, the issue.
#![allow(clippy::too_many_lines, reason = "most lines are what is expected")]

mod code;
mod errors;
pub(crate) mod world;

use std::{collections::BTreeMap, path::PathBuf};

use backstory_engine::{
    code::HistoryRequest,
    ledger::Branches,
    model::{
        edge::Edge,
        id::{NodeId, NodeKind, ThreadId},
    },
    trace::{Target, Trace, TraceRequest},
};
use expect_test::{ExpectFile, expect, expect_file};

use crate::support::{Forge, Indexed, Origin, PROJECT};
use world::World;

/// A question about the shop.
fn about(target: Target) -> TraceRequest {
    TraceRequest { project: Some(world::SHOP.to_owned()), target, rev: None, earlier: 5 }
}

fn lines(path: &str, first: u32, last: u32) -> Target {
    Target::Lines { path: path.to_owned(), lines: Some((first, last)) }
}

fn symbol(path: &str, name: &str) -> Target {
    Target::Symbol { path: path.to_owned(), name: name.to_owned() }
}

fn node(id: &str) -> Target {
    Target::Node(id.parse::<NodeId>().unwrap())
}

/// The line of the file at the head that has this text.
fn line_with(world: &World, path: &str, text: &str) -> u32 {
    let content = std::fs::read_to_string(world.origin.path().join(PathBuf::from(path))).unwrap();
    u32::try_from(content.lines().position(|line| line.contains(text)).unwrap()).unwrap() + 1
}

/// An answer as JSON, without what differs from run to run.
fn told(world: &World, trace: &Trace) -> String {
    let mut json = serde_json::to_value(trace).unwrap();
    json["indexed"]["synced_at"] = "TIME".into();
    serde_json::to_string_pretty(&json).unwrap().replace(&world.forge.url, "FORGE") + "\n"
}

fn names(ids: &[ThreadId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

async fn check(world: &World, target: Target, expected: ExpectFile) {
    let trace = world.engine.answer(about(target)).await.unwrap();
    expected.assert_eq(&told(world, &trace));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_chain() {
    let world = World::new().await;
    let line = line_with(&world, world::TOKEN, "claims.expires_at");
    assert_eq!(line, 42, "the line that the review is about");
    check(&world, lines(world::TOKEN, line, line), expect_file!["trace/line.json"]).await;
    check(&world, lines(world::TOKEN, line - 2, line + 3), expect_file!["trace/range.json"]).await;
    check(&world, symbol(world::TOKEN, "verify_expiry"), expect_file!["trace/symbol.json"]).await;
    check(&world, node(&format!("acme/shop@{}", world.skew)), expect_file!["trace/commit.json"]).await;
    check(&world, node("acme/shop!2"), expect_file!["trace/merge_request.json"]).await;
    check(&world, node("acme/shop#1"), expect_file!["trace/issue.json"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discussion_that_begins_with_code_is_named_by_its_prose_or_its_file() {
    let suggestion = r"```suggestion\nlet skew = 90;\n```";
    for (body, about_it) in [
        (format!(r"{suggestion}\nWhy not so?"), ": Why not so?"),
        (r"`let skew = 90;`\n\nWhy not so?".to_owned(), ": Why not so?"),
        (suggestion.to_owned(), ", on src/auth/token.rs"),
    ] {
        let question = "Why do we verify the expiry ourselves? The library does it.";
        let world = World::of(Forge::start_with(&include_str!("fixtures/acme.json").replace(question, &body))).await;
        let trace = world.engine.answer(about(lines(world::TOKEN, 40, 45))).await.unwrap();
        let step = trace.chain.iter().find(|step| step.node.kind == NodeKind::Discussion);
        let step = step.unwrap_or_else(|| panic!("{body}: {:#?}", trace.chain));
        assert_eq!(step.node.title, format!("@johndoe, 2024-03-12, in reply to @janedoe{about_it}"));
    }
}

// Row 60 of docs/requirements.md.
#[tokio::test(flavor = "multi_thread")]
async fn the_history_of_a_file_has_what_was_said_on_it() {
    let world = World::new().await;
    let id = NodeId::file(world::SHOP, world::TOKEN);
    let request = HistoryRequest { id, skip: 0, limit: 10 };
    let history = world.engine.answer(request.clone()).await.unwrap();
    let found: Vec<(String, usize)> =
        history.discussed.iter().map(|of| (of.merge_request.id.to_string(), of.discussions.len())).collect();
    assert_eq!(found, [("acme/shop!2".to_owned(), 1)]);
    let discussion = &history.discussed[0].discussions[0];
    assert_eq!((discussion.path.as_str(), discussion.author.as_deref()), (world::TOKEN, Some("janedoe")));
    assert!(discussion.text.starts_with("Why do we verify the expiry ourselves?"), "{}", discussion.text);
    let next = world.engine.answer(HistoryRequest { skip: 1, ..request }).await.unwrap();
    assert_eq!(next.discussed, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_repository_is_indexed_for_the_first_time_its_clone_and_what_was_read_answer() {
    let world = World::new().await;
    let whole = world.engine.answer(about(lines(world::TOKEN, 42, 42))).await.unwrap();
    assert!(!whole.partial && !whole.missing.iter().any(|text| text.contains("still being indexed")));
    // As if the first sync had not come to its end.
    world.ledger().record_indexed(world::SHOP, &BTreeMap::new(), jiff::Timestamp::UNIX_EPOCH).unwrap();
    let early = world.engine.answer(about(lines(world::TOKEN, 42, 42))).await.unwrap();
    assert!(early.partial && early.missing.iter().any(|text| text.contains("still being indexed")), "{early:?}");
    assert_eq!(
        (&early.origin, &early.merge_requests, &early.issues),
        (&whole.origin, &whole.merge_requests, &whole.issues)
    );
    assert_eq!(early.text, whole.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_versions_and_moved_lines() {
    let mut world = World::new().await;
    let at = |trace: &Trace| {
        let origin = trace.origin.as_ref().unwrap();
        let through: Vec<&str> = origin.seen_through.iter().map(|seen| seen.as_str()).collect();
        format!("{} {}:{} {through:?}", origin.title, origin.path, origin.line)
    };
    let line = line_with(&world, world::TOKEN, "claims.expires_at");
    let trace = world.engine.answer(about(lines(world::TOKEN, line, line))).await.unwrap();
    let earlier: Vec<String> = trace
        .earlier
        .iter()
        .map(|earlier| {
            format!(
                "{}:{} {} [{}] {}",
                earlier.path,
                earlier.line,
                earlier.title,
                names(&earlier.merge_requests).join(" "),
                earlier.text.trim()
            )
        })
        .collect();
    expect![[r#"
        (
            "Name the leeway src/auth/token.rs:42 []",
            [
                "src/auth/token.rs:42 Accept a little clock skew when tokens expire [acme/shop!2] claims.expires_at + 90 > now",
                "src/auth/token.rs:42 Check tokens ourselves [acme/shop!2] claims.expires_at > now",
            ],
        )
    "#]].assert_debug_eq(&(at(&trace), &earlier));
    let one = world.engine.answer(TraceRequest { earlier: 1, ..about(lines(world::TOKEN, line, line)) }).await.unwrap();
    assert_eq!(one.earlier, trace.earlier[..1]);
    // The function goes into a file of its own: its lines keep their origin.
    world.move_expiry().await;
    let line = line_with(&world, world::EXPIRY, "claims.expires_at");
    let moved = world.engine.answer(about(lines(world::EXPIRY, line, line))).await.unwrap();
    expect![[r#"Name the leeway src/auth/token.rs:42 ["moved"]"#]].assert_eq(&at(&moved));
    assert_eq!(moved.earlier, trace.earlier);
    assert_eq!((moved.merge_requests, moved.issues), (trace.merge_requests, trace.issues));
    // At an older commit the old path still answers.
    let old = TraceRequest { rev: Some(world.skew.clone()), ..about(lines(world::TOKEN, 42, 42)) };
    expect!["Accept a little clock skew when tokens expire src/auth/token.rs:42 []"].assert_eq(&at(&world
        .engine
        .answer(old)
        .await
        .unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_file_of_many_commits_the_requests_with_threads_on_its_lines_are_told() {
    let mut world = World::new().await;
    world.add_checks().await;
    let whole = Target::Lines { path: world::TOKEN.to_owned(), lines: None };
    let trace = world.engine.answer(about(whole)).await.unwrap();
    // The commits with most lines came with no request.
    assert_eq!(trace.origin.as_ref().unwrap().author, "Bob Ruiz");
    assert_eq!(names(&trace.merge_requests), ["acme/shop!2"], "{:?}", trace.chain);
    assert!(!trace.discussions.is_empty(), "{:?}", trace.chain);
    let step = trace.chain.iter().find(|step| step.node.kind == NodeKind::Discussion).unwrap();
    assert_eq!((step.edge, step.evidence.path.as_deref()), (Edge::CommentsOn, Some(world::TOKEN)));
    assert_eq!(
        trace.missing[0],
        "the lines come from 6 commits; all 6 commits and their 1 merge request were looked at, and 5 commits came with \
         none; shown are those whose discussions say most about the lines, then those with most lines"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_like_none_of_those_that_were_replaced_has_no_earlier_version() {
    let mut origin = Origin::new();
    origin
        .write("retry.py", "def retry():\n    wait = 30\n    log.debug('again')\n    return wait\n")
        .commit_all("Begin");
    let text =
        "def retry():\n    wait = 60\n    if attempts > MAX_ATTEMPTS:\n        raise GaveUp(url)\n    return wait\n";
    origin.write("retry.py", text).commit_all("Give up after a while");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    for (line, before) in [(2, vec!["    wait = 30\n    log.debug('again')"]), (3, vec![]), (4, vec![])] {
        let request = TraceRequest { project: None, ..about(lines("retry.py", line, line)) };
        let trace = indexed.engine.answer(request).await.unwrap();
        let earlier: Vec<&str> = trace.earlier.iter().map(|earlier| earlier.text.as_str()).collect();
        assert_eq!(earlier, before, "line {line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_every_kind_of_file() {
    let mut origin = Origin::new();
    origin.write("dos.py", "a = 1\r\nb = 2\r\n").write(b"src/caf\xe9.c", "int one;\nint two;\n");
    origin.write("src/\u{fc} #~1.txt", "one\nline two").commit_all("Begin");
    origin.write("dos.py", "a = 1\r\nb = 3\r\n").write(b"src/caf\xe9.c", "int one;\nint three;\n");
    origin.write("src/\u{fc} #~1.txt", "one\nline three").commit_all("Change the second line of each");
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    for (path, now, before) in [
        ("dos.py", "b = 3", "b = 2"),
        (r#""src/caf\351.c""#, "int three;", "int two;"),
        ("src/\u{fc} #~1.txt", "line three", "line two"),
    ] {
        let request = TraceRequest { project: None, ..about(lines(path, 2, 2)) };
        let trace = indexed.engine.answer(request).await.unwrap();
        assert_eq!(trace.text.as_deref(), Some(now), "{path}");
        assert_eq!(trace.origin.unwrap().title, "Change the second line of each", "{path}");
        let earlier: Vec<&str> = trace.earlier.iter().map(|earlier| earlier.text.as_str()).collect();
        assert_eq!(earlier, [before], "{path}");
        // The same file by its reference.
        let id = NodeId::file(PROJECT, path).to_string();
        let whole = indexed.engine.answer(about(node(&id))).await.unwrap();
        assert_eq!(whole.origins.len(), 2, "{id}");
    }
}
