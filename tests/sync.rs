//! Incremental sync: it finds what changed, asks for nothing else, and ends where a first sync would.

use std::{fs, path::Path};

use proptest::{prelude::*, test_runner::Config};

use crate::support::{Fault, Forge, Sandbox, eventually};

fn digest(sandbox: &Sandbox) -> String {
    sandbox.run(&["check", "--digest"]).ok().stdout.trim().to_owned()
}

/// The digest of a first sync of what the forge has now.
fn cold_digest(forge: &Forge) -> String {
    digest(&Sandbox::synced(forge))
}

fn check(sandbox: &Sandbox) {
    assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true);
}

#[test]
fn second_sync_makes_only_the_cursor_calls_and_changes_nothing() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let before = digest(&sandbox);
    forge.asked();
    let again = sandbox.run(&["sync", "--json"]).ok().json();
    let asked = forge.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked.iter().all(|request| request.contains("updated_after=")), "{asked:?}");
    assert_eq!(again["changed"], serde_json::json!({}));
    assert_eq!(digest(&sandbox), before);
    check(&sandbox);
}

#[test]
fn fetches_only_items_updated_after_the_cursor_and_refetches_their_discussions() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    forge.advance(3600);
    forge.discuss("acme/shop#2", "carol", "The quokka migration plan was approved.");
    forge.asked();
    let summary = sandbox.run(&["sync", "--json"]).ok().json();
    assert_eq!(summary["changed"]["issue"], 1);
    assert_eq!(summary["changed"]["discussion"], 1);
    let asked = forge.asked();
    assert!(asked.iter().any(|request| request.contains("/issues/2/discussions")), "{asked:?}");
    assert!(!asked.iter().any(|request| request.contains("/issues/1/")), "{asked:?}");
    let found = sandbox.run(&["search", "quokka", "--mode", "lexical", "--json"]).ok().json();
    let kinds: Vec<_> = found["hits"].as_array().unwrap().iter().map(|hit| hit["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["issue"]);
    assert_eq!(digest(&sandbox), cold_digest(&forge));
}

#[test]
fn a_second_note_within_a_minute_is_found_although_the_issue_did_not_move() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    forge.discuss("acme/shop#2", "carol", "The first of two.");
    sandbox.run(&["sync"]).ok();
    forge.advance(20);
    forge.discuss("acme/shop#2", "carol", "The second, twenty seconds later: wombat.");
    sandbox.run(&["sync"]).ok();
    let found = sandbox.run(&["search", "wombat", "--mode", "lexical", "--json"]).ok().json();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "the issue for its discussion: {found}");
    assert_eq!(digest(&sandbox), cold_digest(&forge));
}

#[test]
fn updates_existing_records_instead_of_doubling_them() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let count = |sandbox: &Sandbox| sandbox.run(&["count", "--json"]).ok().json();
    let before = count(&sandbox);
    forge.advance(3600);
    forge.edit_title("acme/shop#1", "Authentication, redesigned");
    forge.add_label("acme/shop#1", "bug");
    forge.close("acme/shop#2", "bob");
    let sentence = sandbox.run(&["sync"]).ok().stdout;
    assert!(sentence.starts_with("2 issues, 0 merge requests updated"), "{sentence}");
    assert_eq!(count(&sandbox), before);
    let shown = sandbox.run(&["show", "acme/shop#1"]).ok().stdout;
    assert!(shown.contains("Authentication, redesigned"), "{shown}");
    assert_eq!(digest(&sandbox), cold_digest(&forge));
    check(&sandbox);
}

#[test]
fn full_sync_notices_what_was_deleted() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    forge.delete("acme/shop#4");
    sandbox.run(&["sync"]).ok();
    let summary = sandbox.run(&["sync", "--full", "--json"]).ok().json();
    assert!(summary["gone"].as_u64().unwrap() > 0, "{summary}");
    sandbox.run(&["show", "acme/shop#4"]).error(1);
    let found = sandbox.run(&["search", "Rate limiting", "--mode", "lexical", "--json"]).ok().json();
    let ids: Vec<_> = found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect();
    assert!(!ids.iter().any(|id| id.starts_with("acme/shop#4")), "{ids:?}");
    check(&sandbox);
}

#[test]
fn every_fault_ends_complete_and_in_the_same_digest() {
    let forge = Forge::start();
    let expected = cold_digest(&forge);
    for fault in [Fault::RateLimited, Fault::Status(502), Fault::Truncated, Fault::Reset] {
        for target in ["/issues?", "/discussions", "/labels", "/merge_requests?"] {
            forge.fail(fault, target, 2);
        }
        let sandbox = Sandbox::synced(&forge);
        assert_eq!(digest(&sandbox), expected, "{fault:?}");
        check(&sandbox);
    }
}

#[test]
fn failed_run_is_recorded_with_its_error_and_the_next_resumes() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    forge.fail(Fault::Status(403), "/merge_requests?", 1);
    assert_ne!(sandbox.run(&["sync"]).code, 0);
    let status = sandbox.run(&["sync-status", "--json"]).ok().json();
    assert_eq!(status["runs"][0]["status"], "failed");
    assert!(status["runs"][0]["error"].as_str().unwrap().contains("403"), "{status}");
    // Its issues were committed, and are not fetched again.
    forge.asked();
    sandbox.run(&["sync"]).ok();
    let asked = forge.asked();
    assert!(!asked.iter().any(|request| request.contains("/issues/1/discussions")), "{asked:?}");
    assert_eq!(digest(&sandbox), cold_digest(&forge));
}

#[test]
fn killed_sync_is_recognized_and_the_next_ends_in_the_same_digest() {
    let forge = Forge::start();
    let expected = cold_digest(&forge);
    for requests in [1, 2, 5, 9, 14, 20, 30] {
        let sandbox = Sandbox::new(&forge);
        forge.asked();
        let mut sync = sandbox.spawn(&["sync"]);
        let mut seen = 0;
        eventually("the sync is under way", || {
            seen += forge.asked().len();
            seen >= requests || sync.try_wait().unwrap().is_some()
        });
        let _ = sync.kill();
        sync.wait().unwrap();
        sandbox.run(&["sync"]).ok();
        assert_eq!(digest(&sandbox), expected, "after {requests} requests");
        check(&sandbox);
    }
}

#[test]
fn refuses_a_second_sync_unless_forced() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    let server = sandbox.serve();
    forge.hold();
    let mut first = sandbox.spawn(&["sync"]);
    eventually("the first sync waits for the forge", || forge.was_asked());
    let refused = sandbox.run(&["sync"]);
    assert!(refused.error(1).contains("--force"), "{refused:?}");
    let second = sandbox.spawn(&["sync", "--force"]);
    assert!(!first.wait().unwrap().success());
    forge.release();
    assert!(second.wait_with_output().unwrap().status.success());
    assert_eq!(digest(&sandbox), cold_digest(&forge));
    drop(server);
}

#[test]
fn rebuild_needs_no_network_and_gives_the_same_digest() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let expected = digest(&sandbox);
    drop(forge);
    sandbox.run(&["rebuild"]).ok();
    assert_eq!(digest(&sandbox), expected);
    for projection in ["graph", "lists", "index"] {
        sandbox.run(&["rebuild", projection]).ok();
        assert_eq!(digest(&sandbox), expected, "{projection}");
    }
    for store in ["graph", "index"] {
        fs::remove_dir_all(sandbox.data().join(store)).unwrap();
        assert_eq!(digest(&sandbox), expected, "{store}");
        check(&sandbox);
    }
}

#[test]
fn lists_that_differ_from_the_ledger_are_found_and_filled_again() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let expected = digest(&sandbox);
    for (damage, table) in [
        ("UPDATE list_threads SET title = 'another' WHERE iid = 1", "list_threads"),
        ("DELETE FROM list_values WHERE field = 'author'", "list_values"),
        ("UPDATE list_totals SET count = count + 1 WHERE field = 'label'", "list_totals"),
    ] {
        let ledger = rusqlite::Connection::open(sandbox.data().join("ledger.sqlite")).unwrap();
        assert!(ledger.execute(damage, []).unwrap() > 0, "{damage}");
        drop(ledger);
        assert_ne!(digest(&sandbox), expected);
        let checked = sandbox.run(&["check"]);
        assert!(checked.code != 0 && checked.stdout.contains(table), "{checked:?}");
        assert!(checked.stdout.contains("run 'backstory rebuild lists'"), "{checked:?}");
        sandbox.run(&["rebuild", "lists"]).ok();
        assert_eq!(digest(&sandbox), expected);
        check(&sandbox);
    }
}

#[test]
fn lists_of_an_earlier_version_are_filled_at_the_next_start() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let expected = digest(&sandbox);
    let ledger = rusqlite::Connection::open(sandbox.data().join("ledger.sqlite")).unwrap();
    ledger.execute_batch("DROP TABLE list_threads; UPDATE list_state SET version = 0").unwrap();
    drop(ledger);
    assert_eq!(digest(&sandbox), expected);
    check(&sandbox);
}

#[test]
fn damaged_projection_is_rebuilt_and_says_so() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let expected = digest(&sandbox);
    for (store, victim) in [("graph", "CURRENT"), ("graph", "MANIFEST"), ("index", ".manifest")] {
        for file in files(&sandbox.data().join(store)) {
            let in_generation = file.parent() != Some(&sandbox.data().join(store));
            if in_generation && file.file_name().unwrap().to_string_lossy().contains(victim) {
                fs::write(&file, "damaged").unwrap();
            }
        }
        let output = sandbox.run(&["check", "--digest"]).ok();
        assert_eq!(output.stdout.trim(), expected, "{store} {victim}");
        assert!(output.stderr.contains("rebuilt"), "{store} {victim}: {}", output.stderr);
        check(&sandbox);
    }
}

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn secrets_are_replaced_before_they_are_stored() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    let secret = format!("{}{}", "glpat", "-Zx9Kq2LmN4pR7sT1vW3y");
    forge.discuss("acme/shop#2", "carol", &format!("Use this token: {secret}, it may write."));
    let summary = sandbox.run(&["sync", "--json"]).ok().json();
    assert_eq!(summary["redactions"].as_object().unwrap().len(), 1, "{summary}");
    let shown = sandbox.run(&["show", "acme/shop#2"]).ok().stdout;
    assert!(shown.contains("[redacted:") && !shown.contains(&secret), "{shown}");
    for file in files(&sandbox.data()) {
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{}", file.display());
    }
    assert_eq!(sandbox.run(&["stats", "--json"]).ok().json()["redactions"], 1);
}

/// Something that people do at a forge, or that is done here.
#[derive(Clone, Copy, Debug)]
enum Step {
    Discuss(usize),
    DiscussUnseen(usize),
    DeleteNote(usize),
    Title(usize),
    Describe(usize),
    Label(usize),
    Close(usize),
    Resolve,
    NewIssue,
    MoveIssue(usize),
    DeleteIssue(usize),
    Rename(usize),
    Wait(i64),
    Sync,
    Reconcile,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let number = || 0..3usize;
    let step = prop_oneof![
        3 => number().prop_map(Step::Discuss),
        1 => number().prop_map(Step::DiscussUnseen),
        1 => number().prop_map(Step::DeleteNote),
        1 => number().prop_map(Step::Title),
        1 => number().prop_map(Step::Describe),
        1 => number().prop_map(Step::Label),
        1 => number().prop_map(Step::Close),
        1 => Just(Step::Resolve),
        2 => Just(Step::NewIssue),
        1 => number().prop_map(Step::MoveIssue),
        1 => number().prop_map(Step::DeleteIssue),
        1 => number().prop_map(Step::Rename),
        2 => (1..200i64).prop_map(Step::Wait),
        2 => Just(Step::Sync),
        1 => Just(Step::Reconcile),
    ];
    prop::collection::vec(step, 6..18)
}

/// A forge and somebody who reads it.
struct Story {
    forge: Forge,
    sandbox: Sandbox,
    issues: Vec<String>,
    notes: Vec<(&'static str, u64)>,
}

impl Story {
    fn begin() -> Self {
        let forge = Forge::start();
        let sandbox = Sandbox::synced(&forge);
        Self { forge, sandbox, issues: vec![], notes: vec![] }
    }

    fn take(&mut self, number: usize, step: Step) {
        const TARGETS: [&str; 3] = ["acme/shop#1", "acme/shop#2", "acme/shop!2"];
        const PEOPLE: [&str; 3] = ["alice", "bob", "carol"];
        let forge = &self.forge;
        match step {
            Step::Discuss(target) => {
                let body = format!("Note {number}, see #3 and @bob.");
                let discussion = forge.discuss(TARGETS[target], "alice", &body);
                let note = forge.reply(TARGETS[target], &discussion, "carol", &format!("Reply {number}"));
                self.notes.push((TARGETS[target], note));
            }
            Step::DiscussUnseen(target) => forge.note_unseen(TARGETS[target], "bob", &format!("Note {number}")),
            Step::DeleteNote(note) if note < self.notes.len() => {
                let (thread, note) = self.notes.remove(note);
                forge.delete_note(thread, note);
            }
            Step::Title(target) => forge.edit_title(TARGETS[target], &format!("Title {number}")),
            Step::Describe(target) => forge.edit_description(TARGETS[target], &format!("Text {number}, see !1.")),
            Step::Label(target) => forge.add_label(TARGETS[target], "performance"),
            Step::Close(target) => forge.close(TARGETS[target], "carol"),
            Step::Resolve => forge.resolve("acme/shop!2", "janedoe"),
            Step::NewIssue => {
                let author = format!("newcomer{number}");
                forge.join(&author, "New Comer");
                let issue = forge.new_issue("acme/shop", &author, &format!("Issue {number}"), "Relates to #1.");
                self.issues.push(issue);
            }
            Step::MoveIssue(issue) if issue < self.issues.len() => {
                forge.move_issue(&self.issues[issue], "acme/web", "bob");
            }
            // The last one is not deleted, as GitLab never gives a number twice.
            Step::DeleteIssue(issue) if issue + 1 < self.issues.len() => forge.delete(&self.issues.remove(issue)),
            Step::Rename(person) => forge.rename(PEOPLE[person], &format!("{}{number}", PEOPLE[person])),
            Step::Wait(seconds) => forge.advance(seconds),
            Step::Sync => drop(self.sandbox.run(&["sync"]).ok()),
            Step::Reconcile => drop(self.sandbox.run(&["sync", "--reconcile"]).ok()),
            Step::DeleteNote(_) | Step::MoveIssue(_) | Step::DeleteIssue(_) => {}
        }
    }
}

proptest! {
    #![proptest_config(Config { cases: 8, failure_persistence: None, ..Config::default() })]

    #[test]
    fn whatever_happened_the_graph_is_that_of_a_first_sync(steps in steps()) {
        let mut story = Story::begin();
        for (number, step) in steps.iter().enumerate() {
            story.take(number, *step);
        }
        // Some things a forge does not tell but in a whole list.
        story.sandbox.run(&["sync", "--reconcile"]).ok();
        prop_assert_eq!(digest(&story.sandbox), cold_digest(&story.forge));
        check(&story.sandbox);
    }
}
