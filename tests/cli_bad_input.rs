//! What nobody should ask for gets one sentence that says what to do, the right exit code, and no stack trace.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::DirBuilderExt as _,
    process::{Command, Stdio},
};

use backstory_engine::model::text::is_control_character;
use expect_test::expect;

use crate::support::{Forge, Sandbox};

#[test]
fn what_to_do_stands_on_a_line_of_its_own() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let stderr = || String::from_utf8(sandbox.command(&["show", "#999"]).output().unwrap().stderr).unwrap();
    let expected = expect![[r#"
        error: there is no issue acme/shop#999 in the index
        hint: check the reference, or run 'backstory sync' if it is new
    "#]];
    expected.assert_eq(&stderr());
    let _server = sandbox.serve();
    expected.assert_eq(&stderr());
}

#[test]
fn unknown_references_are_reported() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    expect!["there is no issue acme/shop#999 in the index; check the reference, or run 'backstory sync' if it is new"]
        .assert_eq(sandbox.run(&["show", "acme/shop#999"]).error(1));
    expect!["there is no merge request acme/shop!999 in the index; check the reference, or run 'backstory sync' if it is new"].assert_eq(sandbox.run(&["show", "!999"]).error(1));
    expect!["there is no merge request acme/shop!6 in the index; check the reference, or run 'backstory sync' if it is new; did you mean acme/shop#6?"]
        .assert_eq(sandbox.run(&["show", "!6"]).error(1));
    expect!["say with --project which project !6 belongs to, or write it as group/project!6"]
        .assert_eq(sandbox.run(&["why", "!6"]).error(2));
    expect!["there is no issue or merge request acme/shop!6 in the index; check the reference, or run 'backstory sync' if it is new; did you mean acme/shop#6?"]
        .assert_eq(sandbox.run(&["why", "acme/shop!6"]).error(1));
    expect!["there is no discussion acme/shop!2~0123 in the index; check the reference, or run 'backstory sync' if it is new"].assert_eq(sandbox.run(&["show", "acme/shop!2~0123"]).error(1));
    expect![
        "there is no issue other/project#1 in the index; check the reference, or run 'backstory sync' if it is new"
    ]
    .assert_eq(sandbox.run(&["show", "other/project#1"]).error(1));
    expect!["'what ever' is not a reference; write group/project#12 for an issue, group/project!7 for a merge request, group/project@1a2b3c4 for a commit, group/project:path#symbol for code or @name for a person"].assert_eq(sandbox.run(&["show", "what ever"]).error(2));
    expect!["say which issue, like issue 12 or group/project#12"].assert_eq(sandbox.run(&["show", "issue"]).error(2));
    expect!["no project of a forge is configured; write which one #5 belongs to, like group/project#5"]
        .assert_eq(Sandbox::empty().run(&["show", "issue", "5"]).error(2));
    expect!["'epic' is neither 'issue' nor 'mr'; write issue 3 or mr 3"]
        .assert_eq(sandbox.run(&["show", "epic", "3"]).error(2));
    expect!["'acme/shop#three' is not a reference; write group/project#12 for an issue, group/project!7 for a merge request, group/project@1a2b3c4 for a commit, group/project:path#symbol for code or @name for a person"].assert_eq(sandbox.run(&["show", "issue", "three"]).error(2));
    expect!["@alice is neither an issue, nor a merge request, nor a discussion, nor a commit; write group/project#12, group/project!7 or group/project@1a2b3c4"].assert_eq(sandbox.run(&["show", "@alice"]).error(2));
    expect![
        "there is no commit acme/shop@0123456 in the index; check the reference, or run 'backstory sync' if it is new"
    ]
    .assert_eq(sandbox.run(&["show", "acme/shop@0123456"]).error(1));
    expect!["'acme/shop#99999999999999999999999' is not a reference; write group/project#12 for an issue, group/project!7 for a merge request, group/project@1a2b3c4 for a commit, group/project:path#symbol for code or @name for a person"].assert_eq(sandbox.run(&["show", "#99999999999999999999999"]).error(2));
}

#[test]
fn malformed_arguments_are_reported() {
    let sandbox = Sandbox::empty();
    expect!["invalid value 'yesterday' for '--after <DATE>': 'yesterday' is not a date; write 2024-03-15, 2024-03, 2024 or 2024-03-15T10:00:00Z"].assert_eq(sandbox.run(&["search", "x", "--after", "yesterday"]).error(2));
    expect!["invalid value '2024-02-30' for '--before <DATE>': '2024-02-30' is not a date; write 2024-03-15, 2024-03, 2024 or 2024-03-15T10:00:00Z"].assert_eq(sandbox.run(&["search", "x", "--before", "2024-02-30"]).error(2));
    expect!["invalid value '0' for '--limit <N>': 0 is not in 1..=100"]
        .assert_eq(sandbox.run(&["search", "x", "--limit", "0"]).error(2));
    expect!["invalid value '@' for '--author <USER>': missing user name, like johndoe"]
        .assert_eq(sandbox.run(&["search", "x", "--author", "@"]).error(2));
    expect![
        "invalid value 'here' for '--listen <ADDRESS>': 'here' is not an address to listen on; write 127.0.0.1:7373"
    ]
    .assert_eq(sandbox.run(&["serve", "--listen", "here"]).error(2));
    for args in [&["serach", "x"][..], &["search"], &["search", "x", "--type", "epic"], &["list"], &[]] {
        let output = sandbox.run(args);
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{args:?}");
    }
}

#[test]
fn impossible_queries_are_reported() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let long = "why ".repeat(2500);
    expect!["the query is empty; say what to look for"].assert_eq(sandbox.run(&["search", ""]).error(2));
    expect!["the query is empty; say what to look for"].assert_eq(sandbox.run(&["search", "  \n "]).error(2));
    expect!["the query has 9999 characters; at most 2000 are allowed"]
        .assert_eq(sandbox.run(&["search", &long]).error(2));
    let never = ["search", "x", "--after", "2024-05", "--before", "2024-04"];
    expect!["no time is both after 2024-05-01T00:00:00Z and before 2024-04-01T00:00:00Z"]
        .assert_eq(sandbox.run(&never).error(2));
    let server = sandbox.serve();
    expect!["the query has 9999 characters; at most 2000 are allowed"]
        .assert_eq(sandbox.run(&["search", &long]).error(2));
    drop(server);
    for odd in ["\"", "(", "AND OR NOT", "a:b*^~", "\\", "%", "🦀 ünïcödé", "-", "'"] {
        assert_eq!(sandbox.run(&["search", "--mode=lexical", "--", odd]).code, 0, "{odd}");
    }
}

#[test]
fn unusable_data_directories_are_reported() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    fs::write(sandbox.path().join("file"), "").unwrap();
    expect!["the data directory file cannot be used: it is a file; make it a directory that you may write to, or name another with --data-dir or data_dir in the configuration"].assert_eq(sandbox.run(&["stats", "--data-dir", "file"]).error(3));
    expect!["the data directory file/below cannot be used: not a directory; make it a directory that you may write to, or name another with --data-dir or data_dir in the configuration"].assert_eq(sandbox.run(&["stats", "--data-dir", "file/below"]).error(3));
    expect!["the data directory /proc/backstory cannot be used: no such file or directory; make it a directory that you may write to, or name another with --data-dir or data_dir in the configuration"].assert_eq(sandbox.run(&["sync", "--data-dir", "/proc/backstory"]).error(3));
}

#[test]
fn who_only_asks_creates_no_data_directory_of_a_mistyped_name() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    for args in [&["status"][..], &["count"], &["search", "session"], &["why", "acme/shop#1"], &["token", "list"]] {
        let refused = sandbox.run(&[args, &["--data-dir", "dtaa"]].concat());
        expect!["there is no data directory at dtaa; check --data-dir, or create the directory with 'backstory add PATH' or 'backstory sync'"].assert_eq(refused.error(3));
    }
    assert!(!sandbox.path().join("dtaa").exists());
    sandbox.run(&["sync", "--data-dir", "dtaa"]).ok();
    assert_eq!(sandbox.run(&["count", "issues", "--data-dir", "dtaa"]).ok().stdout, "Issues: 6\n");
}

#[test]
fn what_works_on_data_creates_no_data_directory_of_a_mistyped_name() {
    let sandbox = Sandbox::empty();
    for args in
        [&["rebuild"][..], &["embed"], &["enrich"], &["forget", "acme/shop#1"], &["bundle", "export", "shop.bundle"]]
    {
        let refused = sandbox.run(&[args, &["--data-dir", "dtaa"]].concat());
        expect!["there is no data directory at dtaa; check --data-dir, or create the directory with 'backstory add PATH' or 'backstory sync'"].assert_eq(refused.error(3));
    }
    let doctor = sandbox.run(&["doctor", "--json", "--data-dir", "dtaa"]);
    let report = doctor.json();
    let last = report["checks"].as_array().unwrap().last().unwrap();
    assert_eq!((doctor.code, &last["name"], &last["status"]), (0, &"data".into(), &"warning".into()), "{report}");
    assert!(last["detail"].as_str().unwrap().starts_with("there is no data directory at dtaa; check --data-dir"));
    assert!(!sandbox.path().join("dtaa").exists());
}

#[test]
fn ledger_of_a_version_that_is_not_read_is_left_alone() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let ledger = sandbox.data().join("ledger.sqlite");
    // Bytes 60 to 63 of an SQLite file are its user_version, in which the ledger keeps the version of its schema.
    let mut bytes = fs::read(&ledger).unwrap();
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    fs::write(&ledger, &bytes).unwrap();
    expect!["the ledger has schema version 99, this backstory knows versions up to 18; use a newer backstory, or another data directory"].assert_eq(sandbox.run(&["stats"]).error(1));
    expect!["the ledger has schema version 99, this backstory knows versions up to 18; use a newer backstory, or another data directory"].assert_eq(sandbox.run(&["serve", "--listen", "127.0.0.1:0"]).error(1));
    assert_eq!(fs::read(&ledger).unwrap(), bytes);
    bytes[60..64].copy_from_slice(&6u32.to_be_bytes());
    fs::write(&ledger, &bytes).unwrap();
    expect!["the ledger has schema version 6, this backstory knows versions from 7 on; delete the data directory and run 'backstory sync', or open it once with the version of backstory before this one"].assert_eq(sandbox.run(&["stats"]).error(1));
    assert_eq!(fs::read(&ledger).unwrap(), bytes);
}

#[test]
fn damaged_ledger_is_reported() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    fs::DirBuilder::new().mode(0o700).create(sandbox.data()).unwrap();
    fs::write(sandbox.data().join("ledger.sqlite"), "this is no database, whatever its name says").unwrap();
    let output = sandbox.run(&["stats"]);
    expect!["data/ledger.sqlite is not a ledger or is damaged (file is not a database); restore it from a backup, or move it away together with the directories graph and index beside it and run 'backstory sync': what it holds can be read again"].assert_eq(output.error(1));
}

#[test]
fn unreachable_forge_is_reported() {
    let sandbox = Sandbox::empty();
    sandbox.write_config(
        "data_dir = \"data\"\n[[forge]]\nkind = \"gitlab\"\nbase_url = \"http://127.0.0.1:9\"\n\
         projects = [\"acme/shop\"]\ntoken_env = \"HOME\"\n",
    );
    let output = sandbox.run(&["auth-test"]);
    expect!["http://127.0.0.1:9/api/v4/user cannot be reached: Connection refused; check base_url, the network and the proxy settings, then try again"].assert_eq(output.error(1));
}

#[test]
fn unknown_project_is_reported() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    let config = fs::read_to_string(sandbox.path().join("backstory.toml")).unwrap();
    sandbox.write_config(&config.replace("acme/shop", "acme/none"));
    let output = sandbox.run(&["sync"]);
    assert_eq!(output.code, 3);
    expect!["error: acme/none was not found at [FORGE]: check its path, and that the token may read it"]
        .assert_eq(output.stderr.lines().last().unwrap());
}

#[test]
fn texts_of_others_do_not_command_the_terminal() {
    let forge = Forge::start();
    forge.edit_title("acme/shop#6", "red \u{1b}[31malert\u{1b}[0m \u{202e}txt.exe\u{7}");
    let sandbox = Sandbox::synced(&forge);
    for args in [&["list", "issues"][..], &["show", "#6"], &["search", "red", "--mode", "lexical"]] {
        let shown = sandbox.run(args).ok().stdout;
        assert!(shown.contains(r"red \u{1b}[31malert\u{1b}[0m \u{202e}txt.exe\u{7}"), "{shown:?}");
    }
}

#[test]
fn closed_pipe_is_no_failure() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let mut child = sandbox.command(&["show", "!2"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn there_are_no_colors_in_a_pipe_and_paths_with_odd_names_work() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let output = sandbox.run(&["show", "#1", "--data-dir", "data"]).ok();
    assert!(!output.stdout.contains('\u{1b}'));
    fs::create_dir(sandbox.path().join("dir with spaces and ü")).unwrap();
    sandbox.run(&["count", "--data-dir", "dir with spaces and ü"]).ok();
}

#[test]
fn nothing_that_is_printed_commands_the_terminal() {
    let forge = Forge::start();
    forge.edit_title("acme/shop#1", "A \u{1b}]0;pwned\u{7} \u{9b}31m\u{202e}title");
    let sandbox = Sandbox::synced(&forge);
    for args in [
        &["show", "#1"][..],
        &["list", "issues"],
        &["show", "#1", "--json"],
        &["show", "\u{1b}[2J"],
        &["why", "\u{9b}2J", "--project", "\u{202e}x"],
        &["search", "x", "--project", "\u{1b}]0;pwned\u{7}"],
        &["\u{9b}31m\u{202e}search"],
        &["search", "x", "--\u{9b}31m\u{202e}limit"],
        &["search", "x", "--type", "\u{9b}31m\u{202e}\u{1b}[2J"],
        &["search", "x", "--limit", "\u{9b}31m\u{202e}\u{1b}[2J"],
        &["search", "x", "y", "\u{9b}31m\u{202e}\u{1b}[2J"],
    ] {
        let output = sandbox.run(args);
        assert!(
            !output.stdout.contains(is_control_character) && !output.stderr.contains(is_control_character),
            "{output:?}"
        );
    }
    let refused = sandbox.run(&["search", "x", "--\u{202e}limit"]).stderr;
    assert!(refused.starts_with("error: unexpected argument '--\\u{202e}limit' found\n"), "{refused}");
    assert!(refused.ends_with("\nFor more information, try '--help'.\n"), "{refused}");
    let shown = sandbox.run(&["show", "#1"]).ok().stdout;
    assert!(shown.contains(r"A \u{1b}]0;pwned\u{7} \u{9b}31m\u{202e}title"), "{shown}");
    let json = sandbox.run(&["show", "#1", "--json"]).ok();
    assert!(json.json()["title"].as_str().unwrap().contains("\u{9b}31m\u{202e}"), "{}", json.stdout);
    assert!(sandbox.run(&["show", "\u{1b}[2J"]).error(2).starts_with(r"'\u{1b}[2J' is not a reference"));
}

/// Questions are asked on a terminal only, which `script` is.
#[test]
fn what_is_typed_does_not_command_the_terminal() {
    let sandbox = Sandbox::empty();
    let mut command = Command::new("script");
    let own = sandbox.command(&[]);
    command
        .args([
            "-qec",
            concat!(env!("CARGO_BIN_EXE_backstory"), " init --base-url https://gitlab.example.com"),
            "/dev/null",
        ])
        .current_dir(sandbox.path())
        .env_clear()
        .envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all("acme/\u{9b}31m\u{1b}[2J\nacme/shop\n".as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said:?}");
    // The terminal itself shows what is typed as it is.
    let refused = said.lines().find(|line| line.contains("is not the path of a project")).unwrap();
    assert!(refused.contains(r"'acme/\u{9b}31m\u{1b}[2J' is not the path of a project"), "{refused:?}");
    assert!(fs::read_to_string(sandbox.path().join("backstory.toml")).unwrap().contains("projects = [\"acme/shop\"]"));
}
