//! What an operator needs: copies of the ledger, metrics, readiness, and how fresh everything is.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
};

use backstory_engine::{
    Projection, RebuildRequest,
    ledger::Branches,
    model::visibility::Visibility,
    search::{Mode, SearchRequest},
};
use serde_json::Value;

use crate::support::{Fixture, Forge, Indexed, PROJECT, Sandbox, Server};

/// What the server answers at a path: status and text.
fn get(server: &Server, path: &str) -> (u16, String) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    runtime.block_on(async {
        let response = http.get(format!("{}{path}", server.url)).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    })
}

fn digest(sandbox: &Sandbox) -> String {
    sandbox.run(&["check", "--digest"]).ok().stdout.trim().to_owned()
}

#[test]
fn a_copy_of_the_ledger_brings_everything_back() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["embed"]).ok();
    let before = digest(&sandbox);
    let server = sandbox.serve();
    let wrote = sandbox.run(&["backup", "copy.sqlite"]).ok().stdout;
    assert!(wrote.starts_with("Wrote copy.sqlite: "), "{wrote}");
    let again = sandbox.run(&["backup", "copy.sqlite"]);
    assert!(again.error(3).contains("exists already"), "{again:?}");
    let refused = sandbox.run(&["restore", "copy.sqlite"]);
    assert!(refused.error(1).contains("stop it first"), "{refused:?}");
    drop(server);

    forge.advance(3600);
    forge.discuss("acme/shop#2", "carol", "The quokka migration plan was approved.");
    sandbox.run(&["sync"]).ok();
    let after = digest(&sandbox);
    assert_ne!(after, before);
    sandbox.run(&["restore", "copy.sqlite"]).ok();
    let checked = sandbox.run(&["check", "--digest"]).ok();
    assert_eq!(checked.stdout.trim(), before);
    assert!(checked.stderr.contains("rebuilt"), "{checked:?}");
    let found = |word: &str| {
        let found = sandbox.run(&["search", word, "--mode", "lexical", "--json"]).ok().json();
        found["hits"].as_array().unwrap().len()
    };
    assert_eq!(found("quokka"), 0, "the index is that of the copy too");
    let coverage = &sandbox.run(&["stats", "--json"]).ok().json()["coverage"];
    assert_eq!(coverage["embedded"], coverage["documents"], "vectors of unchanged text are kept");
    sandbox.run(&["sync"]).ok();
    assert_eq!(digest(&sandbox), after);
    assert!(found("quokka") > 0);

    // Somewhere else.
    let other = Sandbox::new(&forge);
    fs::copy(sandbox.path().join("copy.sqlite"), other.path().join("copy.sqlite")).unwrap();
    other.run(&["restore", "copy.sqlite"]).ok();
    assert_eq!(digest(&other), before);
}

/// Writes went to the file that nobody could find any more, and were lost.
#[test]
fn a_ledger_that_is_removed_or_replaced_under_a_server_is_read_but_not_written() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let before = digest(&sandbox);
    let other = Sandbox::new(&forge);
    other.run(&["status"]);
    let server = sandbox.serve();
    let ledger = sandbox.data().join("ledger.sqlite");
    fs::remove_file(&ledger).unwrap();
    for how in ["removed", "replaced"] {
        if how == "replaced" {
            fs::copy(other.data().join("ledger.sqlite"), &ledger).unwrap();
        }
        let refused = sandbox.run(&["annotate", "acme/shop#2", "Mind the order"]);
        let said = refused.error(1);
        assert!(said.contains("was removed or replaced while it was open"), "{how}: {said}");
        assert!(said.contains("with 'backstory backup'"), "{how}: {said}");
        let issues = sandbox.run(&["show", "acme/shop#2"]).ok();
        assert!(!issues.stdout.is_empty(), "{how}: what is there can still be read");
        sandbox.run(&["backup", &format!("{how}.sqlite")]).ok();
    }
    drop(server);
    for how in ["replaced", "removed"] {
        sandbox.run(&["restore", &format!("{how}.sqlite")]).ok();
        assert_eq!(digest(&sandbox), before, "{how}");
    }
}

#[test]
fn a_backup_that_cannot_be_written_leaves_no_copy() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    for file in ["absent/copy.sqlite", "/proc/copy.sqlite"] {
        let refused = sandbox.run(&["backup", file]);
        let message = format!("{file} cannot be written: no such file or directory; name a file in a directory");
        assert!(refused.error(3).starts_with(&message), "{refused:?}");
    }
    let copies = fs::read_dir(sandbox.data().join("backups")).map_or(0, Iterator::count);
    assert_eq!(copies, 0);
    sandbox.run(&["backup", "copy.sqlite"]).ok();
    let copies = fs::read_dir(sandbox.data().join("backups")).map_or(0, Iterator::count);
    assert_eq!(copies, 0, "it was moved");
    sandbox.run(&["forget", "acme/shop#2"]).ok();
}

#[test]
fn what_is_no_ledger_is_not_restored() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let before = digest(&sandbox);
    fs::write(sandbox.path().join("text"), "no ledger").unwrap();
    for (file, what) in [("text", "is not a ledger"), ("absent", "cannot be used")] {
        let refused = sandbox.run(&["restore", file]);
        assert!(refused.stderr.contains(what) && refused.code != 0, "{refused:?}");
        assert_eq!(digest(&sandbox), before);
    }
}

#[test]
fn nothing_but_a_ledger_is_restored_and_no_ledger_is_lost() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let before = digest(&sandbox);
    sandbox.run(&["backup", "copy.sqlite"]).ok();
    fs::write(sandbox.path().join("empty"), "").unwrap();
    fs::write(sandbox.path().join("zeros"), [0; 4096]).unwrap();
    let other = rusqlite::Connection::open(sandbox.path().join("other")).unwrap();
    other.execute_batch("CREATE TABLE items (id INTEGER); PRAGMA user_version = 7;").unwrap();
    drop(other);
    assert!(make_pipe(&sandbox.path().join("pipe")));
    for (file, what) in [
        ("empty", "is not a ledger"),
        ("zeros", "is not a ledger"),
        ("other", "is not a ledger"),
        ("pipe", "is not a file"),
        (".", "is not a file"),
        ("/dev/zero", "is not a file"),
    ] {
        let refused = sandbox.run(&["restore", file]);
        assert!(refused.stderr.contains(what) && refused.code != 0, "{file}: {refused:?}");
        let names = files_that_begin_with(&sandbox, "ledger.");
        assert!(!names.iter().any(|name| name.contains("restor")), "{file}: {names:?}");
        assert_eq!(digest(&sandbox), before, "{file}");
    }

    let first = sandbox.run(&["restore", "copy.sqlite"]).ok();
    assert!(first.stderr.contains("ledger.before-restore.sqlite"), "{first:?}");
    let kept = fs::read(sandbox.data().join("ledger.before-restore.sqlite")).unwrap();
    let second = sandbox.run(&["restore", "copy.sqlite"]).ok();
    assert!(second.stderr.contains("ledger.before-restore-2.sqlite"), "{second:?}");
    assert_eq!(fs::read(sandbox.data().join("ledger.before-restore.sqlite")).unwrap(), kept);
    assert_eq!(digest(&sandbox), before);
}

fn make_pipe(path: &std::path::Path) -> bool {
    std::process::Command::new("mkfifo").arg(path).status().unwrap().success()
}

/// Names of files in the data directory.
fn files_that_begin_with(sandbox: &Sandbox, beginning: &str) -> Vec<String> {
    let entries = fs::read_dir(sandbox.data()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(beginning)).collect()
}

#[test]
fn metrics_tell_what_an_operator_watches() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let server = sandbox.serve();
    sandbox.run(&["jobs", "start", "sync", "acme/shop"]).ok();
    crate::support::eventually("the sync", || {
        sandbox.run(&["jobs", "list", "--json"]).ok().json()[0]["status"] == "succeeded"
    });
    let (status, text) = get(&server, "/metrics");
    assert_eq!(status, 200, "{text}");
    for line in [
        "backstory_jobs{kind=\"sync\",status=\"succeeded\"} 1.0",
        "backstory_projection_lag_changes{store=\"graph\"} 0.0",
        "backstory_projection_lag_changes{store=\"index\"} 0.0",
        "backstory_documents 25.0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
    }
    for beginning in [
        "backstory_sync_lag_seconds{project=\"acme/shop\"} ",
        "backstory_store_size_bytes{store=\"ledger\"} ",
        "backstory_http_request_duration_seconds_bucket{le=\"0.005\",path=\"/api/v1\",status=\"200\"} ",
    ] {
        assert!(text.lines().any(|found| found.starts_with(beginning)), "{beginning} is not in {text}");
    }
    assert_eq!(get(&server, "/readyz").0, 200);
    assert_eq!(get(&server, "/healthz").0, 200);
}

#[test]
fn doctor_tells_how_fresh_each_project_is_and_what_differs() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let checks = |sandbox: &Sandbox| -> Vec<Value> {
        let report = sandbox.run(&["doctor", "--json"]).ok().json();
        let checks = report["checks"].as_array().unwrap().iter();
        checks.filter(|check| check["name"] == "freshness").cloned().collect()
    };
    let fresh = &checks(&sandbox)[0];
    assert_eq!(fresh["status"], "ok", "{fresh}");
    assert!(fresh["detail"].as_str().unwrap().starts_with("acme/shop was read "), "{fresh}");
    forge.delete("acme/shop#1");
    let stale = &checks(&sandbox)[0];
    assert_eq!(stale["status"], "warning", "{stale}");
    assert!(stale["detail"].as_str().unwrap().contains("lists 5 issues, 6 are known"), "{stale}");
    let server = sandbox.serve();
    assert_eq!(&checks(&sandbox)[0]["status"], "warning", "a server is asked too");
    drop(server);
    sandbox.run(&["sync", "--reconcile"]).ok();
    assert_eq!(checks(&sandbox)[0]["status"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_changes_say_nothing_of_projects_that_are_not_shown() {
    let mut repository = Fixture::new();
    repository.write("src/cart.rs", "pub fn total() {}\n");
    repository.commit_all("Add the cart");
    let indexed = Indexed::cold(repository.path(), Branches::Default).await;
    let numbers = async |visibility: Visibility| {
        let metrics = indexed.engine.with_visibility(visibility).store_metrics().await.unwrap();
        [metrics.ledger_seq, metrics.graph_seq, metrics.lists_seq, metrics.index_seq]
    };
    let [ledger, graph, lists, index] = numbers(Visibility::of_projects([PROJECT])).await;
    assert!(ledger > 0 && [graph, lists, index] == [ledger; 3], "{ledger} {graph} {lists} {index}");
    assert_eq!(numbers(Visibility::of_projects(["acme/other"])).await, [0; 4]);
}

/// The files of what was replaced stay as long as somebody reads them.
#[tokio::test(flavor = "multi_thread")]
async fn searches_are_answered_while_what_they_read_is_replaced() {
    let mut repository = Fixture::new();
    for number in 0..40 {
        repository.write(format!("src/cart_{number}.rs"), format!("pub fn total_{number}() {{}}\n"));
        repository.commit_all(format!("Add cart {number}"));
    }
    let indexed = Indexed::cold(repository.path(), Branches::Default).await;
    let ended = AtomicBool::new(false);
    let replace = async {
        for projection in [Projection::Index, Projection::Graph, Projection::Index, Projection::Index] {
            let task = indexed.engine.answer(RebuildRequest { projection }).await.unwrap();
            indexed.end_of(&task).await.unwrap();
        }
        ended.store(true, Ordering::Relaxed);
    };
    let search = async |query: &str| {
        let mut answered = 0;
        while !ended.load(Ordering::Relaxed) {
            let query = query.to_owned();
            let request = SearchRequest { query, mode: Mode::Lexical, limit: 10, ..SearchRequest::default() };
            let found = indexed.engine.answer(request).await.unwrap();
            assert!(!found.hits.is_empty());
            answered += 1;
        }
        assert!(answered > 4, "{answered}");
    };
    tokio::join!(replace, search("add cart"), search("total"), search("cart 7"), search("add"));
    assert!(indexed.engine.repairs().is_empty(), "{:?}", indexed.engine.repairs());
}
