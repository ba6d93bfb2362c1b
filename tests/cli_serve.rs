//! One process has the stores: other commands find a server, and wait for or report what is no server.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::{Forge, Origin, Sandbox, Signal, eventually, signal};

/// The result of a command once all that differs between two runs is gone.
fn stable(mut json: Value) -> Value {
    for key in ["took_ms", "requests"] {
        json.as_object_mut().map(|object| object.remove(key));
    }
    json
}

#[test]
fn serves_without_a_configuration() {
    let sandbox = Sandbox::empty();
    let server = sandbox.serve();
    expect!["Issues: 0\n"].assert_eq(&sandbox.run(&["count", "issues"]).ok().stdout);
    assert_eq!(server.stop().0, Some(0));
    let log = fs::read_to_string(sandbox.path().join("serve.log")).unwrap();
    assert!(
        log.contains(
            "nothing is indexed yet; 'backstory add PATH' indexes a repository, 'backstory init' configures a forge"
        ),
        "{log}"
    );
}

#[test]
fn commands_give_the_same_answers_through_a_server() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["embed"]).ok();
    let commands = [
        &["stats", "--json"][..],
        &["count", "--json"],
        &["list", "issues", "--json"],
        &["list", "mrs", "--json", "--state", "merged"],
        &["show", "#1", "--json"],
        &["show", "!2", "--json"],
        &["search", "session cookies", "--json"],
        &["check", "--json"],
        &["check", "--digest", "--json"],
        &["sync", "--json"],
        &["embed", "--json"],
        &["rebuild", "graph", "--json"],
    ];
    let run = |args: &&[&str]| stable(sandbox.run(args).ok().json());
    let alone: Vec<Value> = commands.iter().map(run).collect();
    let server = sandbox.serve();
    for (args, expected) in commands.iter().zip(alone) {
        assert_eq!(run(args), expected, "{args:?}");
    }
    // Errors too.
    for args in [&["show", "#999"][..], &["search", " "]] {
        let there = sandbox.run(args);
        assert!(there.stderr.starts_with("error: ") && there.stderr.lines().count() == 1, "{there:?}");
    }
    assert_eq!(sandbox.run(&["show", "#999"]).code, 1);
    let doctor = sandbox.run(&["doctor"]).ok().stdout;
    assert!(doctor.contains(&format!("running at {} (pid {}), 25 documents", server.url, server.pid())), "{doctor}");
}

#[test]
fn server_makes_vectors_in_the_background() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let _server = sandbox.serve();
    let embedded = || sandbox.run(&["stats", "--json"]).ok().json()["coverage"]["embedded"].as_u64().unwrap();
    eventually("vectors", || embedded() == 25);
    forge.advance(3600);
    forge.discuss("acme/shop#5", "bob", "UTC everywhere is done.");
    sandbox.run(&["sync"]).ok();
    eventually("the vector of what is new", || embedded() == 26);
}

#[test]
fn server_leaves_nothing_behind_and_can_be_started_again() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let found: Value = serde_json::from_str(&fs::read_to_string(sandbox.data().join("server.json")).unwrap()).unwrap();
    assert_eq!((&found["pid"], &found["url"]), (&json!(server.pid()), &json!(server.url)));
    assert_eq!(server.stop(), (Some(0), String::new()));
    assert!(!sandbox.data().join("server.json").exists());
    assert_eq!(fs::read_to_string(sandbox.path().join("serve.log")).unwrap(), "");
    sandbox.serve();
}

#[test]
fn server_that_was_killed_is_forgotten() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    drop(sandbox.serve());
    assert!(sandbox.data().join("server.json").exists(), "it was killed");
    assert_eq!(sandbox.run(&["count", "issues"]).ok().stdout, "Issues: 6\n");
    assert!(!sandbox.data().join("server.json").exists());
}

#[test]
fn second_server_is_refused() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    let second = sandbox.run(&["serve", "--listen", "127.0.0.1:0"]);
    let told = second.error(1).replace(&server.url, "[URL]").replace(&server.pid().to_string(), "[PID]");
    expect!["the server at [URL] (pid [PID]) is using data; stop it first, or use another data directory"]
        .assert_eq(&told);
    let taken = server.url.trim_start_matches("http://");
    let elsewhere = sandbox.run(&["serve", "--listen", taken, "--data-dir", "other"]);
    expect!["the server cannot listen on [ADDRESS]: another program does; choose another address with --listen"]
        .assert_eq(&elsewhere.error(1).replace(taken, "[ADDRESS]"));
}

#[test]
fn address_that_others_reach_needs_a_token() {
    let forge = Forge::start();
    let mut sandbox = Sandbox::synced(&forge);
    expect!["0.0.0.0:0 can be reached by others, so clients must show a token; make one with 'backstory token create', name the variable that holds one as token_env under [server] in backstory.toml, or listen on 127.0.0.1"].assert_eq(sandbox.run(&["serve", "--listen", "0.0.0.0:0"]).error(3));
    sandbox.configure("[server]\ntoken_env = \"API_TOKEN\"\n");
    expect!["the environment variable API_TOKEN is not set; put the token that clients must show into it: export API_TOKEN=..."].assert_eq(sandbox.run(&["serve"]).error(3));
    sandbox.set("API_TOKEN", "open sesame");
    expect![[r#"the token in API_TOKEN has 11 characters and could be guessed; at least 20 are needed: make one with 'openssl rand -hex 32'"#]].assert_eq(sandbox.run(&["serve"]).error(3));
    sandbox.set("API_TOKEN", "open-sesame-open-sesame");
    let _server = sandbox.serve();
    assert_eq!(sandbox.run(&["count", "issues"]).ok().stdout, "Issues: 6\n");
    // A user who can read the data directory needs none.
    sandbox.unset("API_TOKEN");
    assert_eq!(sandbox.run(&["count", "issues"]).ok().stdout, "Issues: 6\n");
}

#[test]
fn configuration_that_the_server_has_not_read_is_noticed() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    sandbox.configure("# more\n");
    let output = sandbox.run(&["count", "issues"]).ok();
    expect![[r#"
        note: backstory.toml is not what the server (pid [PID]) has read; restart 'backstory serve' to use it
    "#]]
    .assert_eq(&output.stderr.replace(&server.pid().to_string(), "[PID]"));
}

#[test]
fn interrupted_sync_keeps_what_it_has_and_goes_on_from_there() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    forge.hold();
    let sync = sandbox.spawn(&["sync"]);
    eventually("the sync asks the forge", || forge.was_asked());
    signal(sync.id(), Signal::INT);
    let output = sandbox.output(&sync.wait_with_output().unwrap());
    assert_eq!(output.code, 130, "{output:?}");
    expect!["error: the sync was interrupted; what it has done so far is kept, and the next one continues from there"]
        .assert_eq(output.stderr.lines().last().unwrap());
    forge.release();
    sandbox.run(&["sync"]).ok();
    let runs = sandbox.run(&["sync-status", "--json"]).ok().json()["runs"].clone();
    assert_eq!((&runs[0]["status"], &runs[1]["status"]), (&json!("succeeded"), &json!("failed")));
    assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true);
}

#[test]
fn interrupting_a_command_leaves_the_server_at_work() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let _server = sandbox.serve();
    forge.asked();
    forge.hold();
    let mut sync = sandbox.spawn(&["sync"]);
    // What it tells of the sync it has from the server.
    let mut stderr = BufReader::new(sync.stderr.take().unwrap());
    let mut told = String::new();
    stderr.read_line(&mut told).unwrap();
    assert!(told.starts_with("acme/shop issues"), "{told}");
    eventually("the sync asks the forge", || forge.was_asked());
    signal(sync.id(), Signal::INT);
    stderr.read_to_string(&mut told).unwrap();
    assert_eq!(sync.wait().unwrap().code(), Some(130), "{told}");
    expect!["error: no longer following the sync; the server continues it"].assert_eq(told.lines().last().unwrap());
    forge.release();
    let newest = || sandbox.run(&["sync-status", "--json"]).ok().json()["runs"][0]["status"].clone();
    eventually("the server's sync ends", || newest() == "succeeded");
}

#[test]
fn second_sync_is_refused_unless_forced() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let _server = sandbox.serve();
    forge.asked();
    forge.hold();
    let first = sandbox.spawn(&["sync"]);
    eventually("the sync asks the forge", || forge.was_asked());
    let second = sandbox.run(&["sync"]);
    assert!(second.error(1).contains("--force"), "{second:?}");
    let status = sandbox.run(&["sync-status"]).ok().stdout;
    assert!(status.starts_with("Syncing: acme/shop"), "{status}");
    let forced = sandbox.spawn(&["sync", "--force"]);
    let first = sandbox.output(&first.wait_with_output().unwrap());
    assert_eq!(first.code, 1, "{first:?}");
    forge.release();
    assert_eq!(sandbox.output(&forced.wait_with_output().unwrap()).ok().stdout, "0 issues, 0 MRs updated\n");
}

#[test]
fn data_directory_is_for_its_owner_only() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let mode = |path: &str| fs::metadata(sandbox.data().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("lock")), (0o700, 0o600));
}

/// Every path in a directory that others than its owner may use.
fn open_to_others(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let of = fs::symlink_metadata(&path).unwrap();
        if of.permissions().mode() & 0o077 != 0 {
            found.push(path.clone());
        }
        if of.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found
}

#[test]
fn nobody_else_can_read_the_data_or_a_copy_of_it() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    let mut repository = Origin::new();
    repository.write("a.py", "a = 1\n").commit_all("Begin");
    let permissive = |args: &[&str]| sandbox.output(&sandbox.command_after("umask 022", args).output().unwrap()).ok();
    permissive(&["sync"]);
    permissive(&["add", &repository.path().display().to_string(), "--name", "acme/code"]);
    let backed_up = permissive(&["backup", "copy.sqlite"]);
    assert_eq!(open_to_others(&sandbox.path().join("copy.sqlite")), Vec::<PathBuf>::new(), "{backed_up:?}");
    assert_eq!(open_to_others(&sandbox.data()), Vec::<PathBuf>::new());

    // As an older program left it.
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(&sandbox.data(), 0o755);
    open(&sandbox.data().join("ledger.sqlite"), 0o644);
    open(&sandbox.data().join("clones"), 0o755);
    open(&sandbox.path().join("copy.sqlite"), 0o644);
    let told = permissive(&["count", "issues"]);
    expect![[r#"
        note: others could read files in data; they cannot any more
    "#]]
    .assert_eq(&told.stderr);
    assert_eq!(open_to_others(&sandbox.data()), Vec::<PathBuf>::new());
    assert_eq!(permissive(&["count", "issues"]).stderr, "", "it is said once");
    // Who may read a copy does not say who may read the ledger.
    permissive(&["restore", "copy.sqlite"]);
    assert_eq!(open_to_others(&sandbox.data()), Vec::<PathBuf>::new());
}

#[test]
fn health_is_that_of_the_running_server() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    expect!["no server is running for data; start 'backstory serve'"].assert_eq(sandbox.run(&["health"]).error(1));
    let server = sandbox.serve();
    let told = sandbox.run(&["health"]).ok().stdout;
    assert_eq!(told, format!("The server at {} can answer\n", server.url));
    drop(server);
    assert!(sandbox.run(&["health"]).error(1).contains("cannot be reached"));
    let elsewhere = sandbox.run(&["health", "--data-dir", "other"]);
    assert_eq!(elsewhere.code, 1);
    assert!(!sandbox.path().join("other").exists(), "nothing is created");
}
