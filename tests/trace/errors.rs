//! What cannot be answered is said in one clear sentence.

use backstory_engine::{
    ledger::Branches,
    trace::{Target, TraceRequest},
};
use expect_test::{expect, expect_file};

use super::{about, lines, node, symbol, world::World};
use crate::support::{Indexed, Origin, settings};

async fn refused(world: &World, request: TraceRequest) -> String {
    let error = world.engine.answer(request).await.unwrap_err();
    let message = error.to_string();
    assert!(!message.contains('\n') && !message.ends_with('.'), "one sentence: {message}");
    format!("{:?}: {message}", error.kind)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_error_is_one_sentence() {
    let world = World::new().await;
    let blob = world.origin.sha("HEAD:README.md").to_string();
    let tree = world.origin.sha("HEAD^{tree}").to_string();
    let rev = |rev: &str| TraceRequest { rev: Some(rev.to_owned()), ..about(lines("README.md", 1, 1)) };
    let whole = |path: &str| about(Target::Lines { path: path.to_owned(), lines: None });
    let mut said = Vec::new();
    for request in [
        about(lines("README.md", 2, 2)),
        about(lines("README.md", 1, 9)),
        about(lines("README.md", 0, 0)),
        about(lines("README.md", 3, 1)),
        whole("empty.txt"),
        whole("../etc/passwd"),
        whole("src/../../etc/passwd"),
        whole("/etc/passwd"),
        whole(""),
        whole("auth/token.rs"),
        whole("src/auth/tokens.rs"),
        whole("logo.png"),
        whole("src"),
        whole("src/auth/"),
        whole("LIESMICH.md"),
        whole("vendor"),
        whole("vendor/inside.c"),
        whole("README.md/inside"),
        rev("no-such-branch"),
        rev("0123456"),
        rev("0123456789012345678901234567890123456789"),
        rev(&blob),
        rev(&tree),
        rev("--upload-pack=evil"),
        rev(""),
        about(symbol("src/auth/token.rs", "verify_signature")),
        about(symbol("README.md", "verify")),
        about(symbol("src/auth/nothing.rs", "verify")),
        about(symbol("LIESMICH.md", "verify")),
        about(node("acme/shop@0123456789012345678901234567890123456789")),
        about(node("acme/shop!99")),
        about(node("acme/shop#99")),
        about(node("@alice")),
        TraceRequest { project: Some("acme/other".to_owned()), ..whole("README.md") },
        TraceRequest { earlier: 101, ..whole("README.md") },
    ] {
        let what = match (&request.rev, &request.target) {
            (Some(rev), _) => format!("at {rev}"),
            (None, Target::Lines { path, lines }) => format!("{path} {lines:?}"),
            (None, Target::Symbol { path, name }) => format!("{path}#{name}"),
            (None, Target::Node(id)) => id.to_string(),
        };
        said.push(format!("{what}\n  {}", refused(&world, request).await));
    }
    expect_file!["errors.txt"].assert_eq(&(said.join("\n") + "\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn which_repository_is_asked() {
    let mut origin = Origin::new();
    origin.write("a.rs", "fn a() {}\n").commit_all("Begin");
    let indexed = Indexed::empty(settings()).await;
    let request = TraceRequest { project: None, ..about(lines("a.rs", 1, 1)) };
    let mut said = vec![indexed.engine.answer(request.clone()).await.unwrap_err().to_string()];
    indexed.add(origin.path(), "acme/one", Branches::Default).await.unwrap();
    said.push(indexed.engine.answer(request.clone()).await.unwrap_err().to_string());
    indexed.sync().await;
    assert_eq!(indexed.engine.answer(request.clone()).await.unwrap().project, "acme/one");
    indexed.add(origin.path(), "acme/two", Branches::Default).await.unwrap();
    said.push(indexed.engine.answer(request).await.unwrap_err().to_string());
    expect![[r#"
        no repository is indexed; add one with 'backstory add PATH'
        acme/one is not indexed yet; run 'backstory sync' and ask again
        several repositories are indexed; name its project (--project): acme/one, acme/two; 'backstory add .' indexes the clone that you stand in"#]]
    .assert_eq(&said.join("\n"));
}
