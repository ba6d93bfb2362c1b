//! A command that has the stores answers others while it is at work.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Stdio},
};

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::{Forge, Output, Sandbox, Signal, eventually, signal};

/// A sync that waits for the forge.
fn waiting_sync(forge: &Forge, sandbox: &Sandbox) -> Child {
    forge.asked();
    forge.hold();
    let sync = sandbox.spawn(&["sync"]);
    eventually("the sync asks the forge", || forge.was_asked());
    sync
}

fn end(sandbox: &Sandbox, child: Child) -> Output {
    sandbox.output(&child.wait_with_output().unwrap())
}

/// Without `waiting for …`: a slow machine may take longer until a command can be asked.
fn error(output: &Output) -> String {
    assert_eq!(output.code, 1, "{output:?}");
    output.stderr.lines().last().unwrap().strip_prefix("error: ").unwrap().to_owned()
}

#[test]
fn readers_are_answered_while_a_command_is_at_work() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let sync = waiting_sync(&forge, &sandbox);
    let counted = sandbox.run(&["count", "issues"]).ok();
    assert_eq!(counted.stdout, "Issues: 6\n");
    for noted in [counted, sandbox.run(&["list", "issues"]).ok()] {
        assert!(
            noted.stderr.contains("a sync is running, so not everything is there yet: acme/shop issues"),
            "{noted:?}"
        );
    }
    assert!(sandbox.run(&["search", "session cookies", "--mode", "lexical"]).ok().stdout.contains("acme/shop"));
    assert!(sandbox.run(&["show", "#1"]).ok().stdout.starts_with("Issue acme/shop#1"));
    assert!(sandbox.run(&["sync-status"]).ok().stdout.starts_with("Syncing: acme/shop issues"));
    assert!(sandbox.run(&["status"]).ok().stderr.contains("a sync is running: acme/shop issues"));
    let doctor = sandbox.run(&["status", "--json"]).ok().json();
    assert_eq!(doctor["syncing"], true);
    forge.release();
    assert_eq!(end(&sandbox, sync).ok().stdout, "0 issues, 0 MRs updated\n");
    assert!(!sandbox.data().join("server.json").exists());
}

#[test]
fn who_finds_nothing_during_a_first_sync_is_told_of_it_alone() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    let sync = waiting_sync(&forge, &sandbox);
    let question = "why did we choose Redis over Memcached?";
    for args in [["search", question], ["ask", question], ["context", question]] {
        let said = sandbox.run(&args).ok();
        assert!(said.stderr.contains("note: a sync is running, so not everything is there yet: "), "{said:?}");
        assert!(!said.stdout.contains("backstory sync"), "{said:?}");
    }
    assert_eq!(sandbox.run(&["search", question]).ok().stdout, "");
    forge.release();
    end(&sandbox, sync).ok();
    for args in [["search", "xyzzy"], ["ask", "why was Kafka chosen?"], ["context", "why was Kafka chosen?"]] {
        let said = sandbox.run(&args).ok();
        assert!(!said.stderr.contains("a sync is running"), "{said:?}");
    }
}

#[test]
fn a_command_answers_only_who_can_read_the_data_directory() {
    let forge = Forge::start();
    let mut sandbox = Sandbox::new(&forge);
    sandbox.configure("webhook_secret_env = \"HOOK_SECRET\"\n");
    sandbox.set("HOOK_SECRET", "hook-secret-of-the-forge");
    sandbox.run(&["sync"]).ok();
    let sync = waiting_sync(&forge, &sandbox);
    sandbox.run(&["count"]).ok();
    let found = std::fs::read_to_string(sandbox.data().join("server.json")).unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    let url = found["url"].as_str().unwrap();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let post = |path: &str, headers: &[(&str, &str)]| {
        let request = http.post(format!("{url}{path}")).json(&json!({ "query": "{ __typename }" }));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        runtime.block_on(request.send()).unwrap().status().as_u16()
    };
    assert_eq!(post("/graphql", &[]), 401);
    assert_eq!(post("/graphql", &[("authorization", &format!("Bearer {}", found["secret"].as_str().unwrap()))]), 200);
    assert_eq!(post("/webhooks/gitlab", &[("x-gitlab-token", "hook-secret-of-the-forge")]), 401, "it takes none");
    forge.release();
    end(&sandbox, sync).ok();
    assert_eq!(
        sandbox.run(&["jobs", "list"]).ok().stdout,
        "No jobs; 'backstory serve' starts some as soon as it runs.\n"
    );
}

#[test]
fn long_work_is_refused_with_who_is_in_the_way() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let sync = waiting_sync(&forge, &sandbox);
    let tidy = |output: &Output| error(output).replace(&sync.id().to_string(), "[PID]");
    expect!["backstory sync (pid [PID]) is using data; wait for it to end, stop its sync with --force, or run 'backstory serve', which does long work for every command"]
        .assert_eq(&tidy(&sandbox.run(&["sync"])));
    expect!["backstory sync (pid [PID]) is using data; wait for it to end, or run 'backstory serve', which does long work for every command"]
        .assert_eq(&tidy(&sandbox.run(&["embed"])));
    expect!["backstory sync (pid [PID]) is using data; stop it first, or use another data directory"]
        .assert_eq(&tidy(&sandbox.run(&["serve", "--listen", "127.0.0.1:0"])));
    let job = sandbox.run(&["jobs", "start", "sync", "acme/shop"]);
    assert!(error(&job).contains("start 'backstory serve'"), "{job:?}");
    forge.release();
    end(&sandbox, sync).ok();
}

// Rows 68 and 78 of docs/requirements.md.
#[test]
fn a_forced_sync_takes_over_from_one_of_another_process() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let first = waiting_sync(&forge, &sandbox);
    let (pid, second) = (first.id(), sandbox.spawn(&["sync", "--force"]));
    let first = end(&sandbox, first);
    assert_eq!(error(&first), "this sync was stopped");
    forge.release();
    let second = end(&sandbox, second).ok();
    assert_eq!(second.stdout, "0 issues, 0 MRs updated\n");
    assert!(second.stderr.contains(&format!("the sync of backstory sync (pid {pid}) was stopped")), "{second:?}");
    let runs = sandbox.run(&["sync-status", "--json"]).ok().json()["runs"].clone();
    assert_eq!((&runs[0]["status"], &runs[1]["status"]), (&json!("succeeded"), &json!("failed")));
    assert_eq!(runs[1]["error"], "stopped by Ctrl-C, or by 'sync --force' or 'stopTask' of somebody else");
}

#[test]
fn interrupting_a_reader_ends_that_reader_only() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let sync = waiting_sync(&forge, &sandbox);
    let mut command = sandbox.command(&["chat"]);
    let mut chat = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(chat.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(!line.is_empty(), "it has begun");
    signal(chat.id(), Signal::INT);
    said.read_to_string(&mut line).unwrap();
    assert!(!chat.wait().unwrap().success());
    assert_eq!(sandbox.run(&["count", "issues"]).ok().stdout, "Issues: 6\n");
    forge.release();
    end(&sandbox, sync).ok();
}

#[test]
fn readers_get_their_answers_although_the_command_ends() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    for _ in 0..3 {
        let sync = waiting_sync(&forge, &sandbox);
        let mut readers: Vec<Child> = (0..3).map(|_| sandbox.spawn(&["stats", "--json"])).collect();
        forge.release();
        readers.extend((0..3).map(|_| sandbox.spawn(&["stats", "--json"])));
        end(&sandbox, sync).ok();
        for reader in readers {
            assert_eq!(end(&sandbox, reader).ok().json()["issues"], 6);
        }
    }
}

#[test]
fn embedding_is_shared_and_can_be_interrupted() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    // What makes vectors does not answer.
    sandbox.configure(&format!("[embedding]\nprovider = \"ollama\"\nbase_url = \"{}\"\n", forge.url));
    forge.asked();
    forge.hold();
    let embed = sandbox.spawn(&["embed"]);
    eventually("the provider is asked", || forge.was_asked());
    let counted = sandbox.run(&["count", "issues"]).ok();
    assert_eq!((counted.stdout.as_str(), counted.stderr.contains("sync")), ("Issues: 6\n", false), "{counted:?}");
    for args in [&["sync", "--force"][..], &["sync", "--only", "issues"]] {
        let refused = error(&sandbox.run(args)).replace(&embed.id().to_string(), "[PID]");
        expect!["backstory embed (pid [PID]) is using data; wait for it to end, end it with 'kill [PID]', or run 'backstory serve', which does long work for every command"]
            .assert_eq(&refused);
    }
    signal(embed.id(), Signal::INT);
    let embed = end(&sandbox, embed);
    assert_eq!(embed.code, 130, "{embed:?}");
    expect!["error: the embed was interrupted; what it has done so far is kept, and the next one continues from there"]
        .assert_eq(embed.stderr.lines().last().unwrap());
    assert!(!sandbox.data().join("server.json").exists());
    assert_eq!(sandbox.run(&["count", "issues"]).ok().stdout, "Issues: 6\n");
}

#[test]
fn only_a_configuration_that_exists_is_said_to_differ() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let sync = waiting_sync(&forge, &sandbox);
    let elsewhere = tempfile::tempdir().unwrap();
    let data = sandbox.data().display().to_string();
    let count = || {
        let mut command = sandbox.command(&["count", "issues", "--data-dir", &data]);
        sandbox.output(&command.current_dir(elsewhere.path()).output().unwrap()).ok().stderr
    };
    let noted = count();
    assert!(!noted.contains("is not what"), "{noted}");
    std::fs::write(elsewhere.path().join("backstory.toml"), "# nothing\n").unwrap();
    let noted = count();
    let expected = format!("backstory.toml is not what backstory sync (pid {}) has read", sync.id());
    assert!(noted.contains(&expected), "{noted}");
    forge.release();
    end(&sandbox, sync).ok();
}
