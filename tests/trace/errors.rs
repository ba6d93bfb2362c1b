//! What cannot be answered is said in one clear sentence.

use backstory_engine::{
    ledger::Branches,
    trace::{Target, TraceRequest},
};
use expect_test::expect;

use super::{about, lines, node, symbol, world::World};
use crate::support::{Indexed, Origin, settings};

async fn refused(world: &World, request: TraceRequest) -> String {
    let error = world.engine.trace(request).await.unwrap_err();
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
    expect![[r#"
        README.md Some((2, 2))
          Invalid: README.md has 1 line; there is no line 2
        README.md Some((1, 9))
          Invalid: README.md has 1 line; there is no line 9
        README.md Some((0, 0))
          Invalid: 0-0 are no lines; lines count from 1, the first one first
        README.md Some((3, 1))
          Invalid: 3-1 are no lines; lines count from 1, the first one first
        empty.txt None
          Invalid: empty.txt is empty; it has no lines to explain
        ../etc/passwd None
          Invalid: '../etc/passwd' is outside of the repository; write the path from its root, like src/main.rs
        src/../../etc/passwd None
          Invalid: 'src/../../etc/passwd' is outside of the repository; write the path from its root, like src/main.rs
        /etc/passwd None
          Invalid: '/etc/passwd' is outside of the repository; write the path from its root, like src/main.rs
         None
          Invalid: the path is empty; write the path of a file, like src/main.rs
        auth/token.rs None
          NotFound: there is no file auth/token.rs in acme/shop at f0061923d4ac; did you mean src/auth/token.rs?
        src/auth/tokens.rs None
          NotFound: there is no file src/auth/tokens.rs in acme/shop at f0061923d4ac; did you mean src/auth/token.rs?
        logo.png None
          Invalid: logo.png is a binary file; it has no lines to explain
        src None
          Invalid: src is a directory; ask about a file in it
        src/auth/ None
          Invalid: src/auth/ is a directory; ask about a file in it
        LIESMICH.md None
          Invalid: LIESMICH.md is a symbolic link; ask about the file it points at
        vendor None
          Invalid: vendor is a submodule; index its repository and ask there
        vendor/inside.c None
          NotFound: there is no file vendor/inside.c in acme/shop at f0061923d4ac; check the path, or run 'backstory sync'
        README.md/inside None
          NotFound: there is no file README.md/inside in acme/shop at f0061923d4ac; check the path, or run 'backstory sync'
        at no-such-branch
          NotFound: 'no-such-branch' is no branch, tag or commit of acme/shop; check it, or run 'backstory sync'
        at 0123456
          NotFound: '0123456' is no branch, tag or commit of acme/shop; check it, or run 'backstory sync'
        at 0123456789012345678901234567890123456789
          NotFound: '0123456789012345678901234567890123456789' is no branch, tag or commit of acme/shop; check it, or run 'backstory sync'
        at a00621bb3a9b990ee018f8d04c2d3140800d6ca6
          NotFound: 'a00621bb3a9b990ee018f8d04c2d3140800d6ca6' is no branch, tag or commit of acme/shop; check it, or run 'backstory sync'
        at d79d893b3cc15bec2d27bd6855d28a6dc2b27664
          NotFound: 'd79d893b3cc15bec2d27bd6855d28a6dc2b27664' is no branch, tag or commit of acme/shop; check it, or run 'backstory sync'
        at --upload-pack=evil
          NotFound: '--upload-pack=evil' is no branch, tag or commit of acme/shop; check it, or run 'backstory sync'
        at 
          NotFound: '' is no branch, tag or commit of acme/shop; check it, or run 'backstory sync'
        src/auth/token.rs#verify_signature
          NotFound: src/auth/token.rs has no symbol verify_signature; it has verify_issuer, verify_audience, verify_subject, verify_algorithm, verify_expiry
        README.md#verify
          NotFound: README.md is no source code that can be read; ask about its lines, like README.md:1
        src/auth/nothing.rs#verify
          NotFound: there is no file src/auth/nothing.rs in acme/shop at f0061923d4ac; check the path, or run 'backstory sync'
        LIESMICH.md#verify
          Invalid: LIESMICH.md is a symbolic link; ask about the file it points at
        acme/shop@0123456789012345678901234567890123456789
          NotFound: there is no commit acme/shop@0123456789012345678901234567890123456789 in the index; check the reference, or run 'backstory sync' if it is new
        acme/shop!99
          NotFound: there is no issue or merge request acme/shop!99 in the index; check the reference, or run 'backstory sync' if it is new
        acme/shop#99
          NotFound: there is no issue or merge request acme/shop#99 in the index; check the reference, or run 'backstory sync' if it is new
        @alice
          Invalid: @alice has no reasons behind it; ask about code, a commit, a merge request or an issue
        README.md None
          NotFound: there is no repository acme/other; known: acme/shop
        README.md None
          Invalid: 101 earlier versions were asked for; at most 100 are told"#]].assert_eq(&said.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn which_repository_is_asked() {
    let mut origin = Origin::new();
    origin.write("a.rs", "fn a() {}\n").commit("Begin");
    let indexed = Indexed::empty(settings()).await;
    let request = TraceRequest { project: None, ..about(lines("a.rs", 1, 1)) };
    let mut said = vec![indexed.engine.trace(request.clone()).await.unwrap_err().to_string()];
    indexed.add(origin.path(), "acme/one", Branches::Default).await.unwrap();
    said.push(indexed.engine.trace(request.clone()).await.unwrap_err().to_string());
    indexed.sync().await;
    assert_eq!(indexed.engine.trace(request.clone()).await.unwrap().project, "acme/one");
    indexed.add(origin.path(), "acme/two", Branches::Default).await.unwrap();
    said.push(indexed.engine.trace(request).await.unwrap_err().to_string());
    expect![[r#"
        no repository is indexed; add one with 'backstory add PATH'
        acme/one is not indexed yet; run 'backstory sync' and ask again
        several repositories are indexed; say which one: acme/one, acme/two"#]]
    .assert_eq(&said.join("\n"));
}
