//! Forgetting: what was forgotten is nowhere any more, stays away, and everything else is as if it had never been there.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
};

use backstory_model::id::ThreadId;
use backstory_store::ledger::{ErasureTarget, Ledger};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    cli_repositories::shop,
    support::{Fixture, Forge, Sandbox, Signal, signal},
};

const SECOND: &str = "acme/shop#2";
/// What only the second issue says.
const SAID: &str = "Dual writes: the application writes to both databases";

pub(crate) fn digest(sandbox: &Sandbox) -> String {
    sandbox.run(&["check", "--digest"]).ok().stdout.trim().to_owned()
}

#[track_caller]
pub(crate) fn is_sound(sandbox: &Sandbox) {
    let report = sandbox.run(&["check", "--json"]).json();
    assert_eq!(report["ok"], true, "{report:#}");
}

/// Ids of what a search for words finds, with what belongs to it.
fn found(sandbox: &Sandbox, words: &str) -> Vec<String> {
    let found = sandbox.run(&["search", words, "--mode", "lexical", "--json"]).ok().json();
    let hits = found["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
}

/// Whether a text is in a file below a directory.
pub(crate) fn is_on_disk(directory: &Path, text: &str) -> bool {
    fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return is_on_disk(&path, text);
        }
        let bytes = fs::read(path).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

fn forget(sandbox: &Sandbox, reference: &str) -> Value {
    sandbox.run(&["forget", reference, "--json"]).ok().json()
}

#[test]
fn an_issue_is_forgotten_and_stays_so() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let whole = digest(&sandbox);
    assert!(found(&sandbox, SAID).iter().any(|id| id.starts_with(SECOND)));
    assert!(is_on_disk(&sandbox.data(), SAID), "the index holds it as it is");

    let told = forget(&sandbox, SECOND);
    assert_eq!((&told["subject"], &told["kind"]), (&json!(SECOND), &json!("thread")));
    assert_eq!(told["removed"]["items"], 3, "the issue and two discussions: {told:#}");
    assert_eq!(told["removed"]["documents"], 2, "{told:#}");
    assert_eq!(told["verified"]["found"], 0);
    assert!(told["verified"]["pieces"].as_u64() >= Some(5), "{told:#}");
    assert!(
        told["verified"]["searches"].as_u64() >= Some(3) && told["verified"]["files"].as_u64() > Some(10),
        "{told:#}"
    );
    assert!(!is_on_disk(&sandbox.data(), SAID));
    assert_eq!(sandbox.run(&["show", SECOND]).code, 1);
    assert!(!found(&sandbox, SAID).iter().any(|id| id.starts_with(SECOND)));
    is_sound(&sandbox);
    let without = digest(&sandbox);
    assert_ne!(without, whole);

    // No sync brings it back, whatever it reads, and neither does a change of it.
    forge.advance(3600);
    forge.discuss(SECOND, "carol", "The quokka migration plan was approved.");
    for how in [&["sync"][..], &["sync", "--reconcile"], &["sync", "--full"], &["rebuild"]] {
        sandbox.run(how).ok();
        assert_eq!(digest(&sandbox), without, "{how:?}");
    }
    forge.asked();
    sandbox.run(&["sync"]).ok();
    assert!(!forge.asked().iter().any(|asked| asked.contains("/issues/2/")), "it is not even fetched");
    is_sound(&sandbox);

    // Until it is allowed.
    let undone = sandbox.run(&["forget", "--undo", SECOND]).ok().stdout;
    assert_eq!(undone, "acme/shop#2 may be read again; the next sync does it\n");
    sandbox.run(&["sync"]).ok();
    assert_eq!(digest(&sandbox), digest(&Sandbox::synced(&forge)));
    assert_eq!(found(&sandbox, "quokka").len(), 1);
    is_sound(&sandbox);
}

#[test]
fn a_first_sync_with_the_same_list_makes_the_same_graph() {
    let forge = Forge::start();
    let (early, late) = (Sandbox::synced(&forge), Sandbox::synced(&forge));
    forget(&early, SECOND);
    forge.advance(3600);
    forge.discuss("acme/shop#4", "alice", "Refused requests must not count.");
    early.run(&["sync"]).ok();
    late.run(&["sync", "--full"]).ok();
    forget(&late, SECOND);
    assert_eq!(digest(&early), digest(&late));
}

#[test]
fn what_quotes_it_is_named_and_who_asks_why_learns_that_it_was_forgotten() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let mut tool = Fixture::new();
    tool.write("sync.py", "COPY = True\n");
    // A part of a sentence in the middle of a comment, and the same beside words of its own.
    tool.commit_all("Copy old rows\n\nAs they said, \"once the row counts agree we switch the reads\".\n");
    sandbox.run(&["add", &tool.path().display().to_string(), "--name", "acme/tool"]).ok();
    let told = sandbox.run(&["forget", SECOND]).ok();
    let quoting = format!("acme/tool@{}", tool.sha("main"));
    assert!(
        told.stderr.contains("others say some of the same, and stay: ") && told.stderr.contains(&quoting),
        "{told:?}"
    );
    for command in ["why", "show"] {
        let refused = sandbox.run(&[command, SECOND]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("acme/shop#2 was forgotten on 20"), "{refused:?}");
        assert!(refused.stderr.contains("'backstory forget --undo acme/shop#2'"), "{refused:?}");
        assert!(!refused.stderr.contains("if it is new"), "{refused:?}");
    }
    let never = sandbox.run(&["why", "acme/shop#999"]);
    assert!(never.stderr.contains("there is no issue or merge request acme/shop#999"), "{never:?}");
}

#[test]
fn what_is_left_somewhere_is_named() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let strays = ["notes.txt", "more.txt"].map(|name| sandbox.data().join(name));
    let text = "they said: The order tables outgrew MySQL: the nightly report locks them for minutes.";
    strays.iter().for_each(|stray| fs::write(stray, text).unwrap());
    let refused = sandbox.run(&["forget", SECOND]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.stderr.contains("pieces of its text are still in data/more.txt, data/notes.txt; remove"),
        "{refused:?}"
    );
    let listed = sandbox.run(&["forget", "--list", "--json"]).ok().json();
    assert_eq!(listed[0]["verified"], false, "{listed}");
    // It is forgotten all the same.
    assert_eq!(sandbox.run(&["show", SECOND]).code, 1);

    // What it said is not known any more, but what held it is.
    let again = sandbox.run(&["forget", SECOND]);
    assert!(again.code == 1 && again.stderr.contains("still in data/more.txt, data/notes.txt; remove"), "{again:?}");
    let verified = || sandbox.run(&["forget", "--list", "--json"]).ok().json()[0]["verified"].clone();
    assert_eq!(verified(), false);
    strays.iter().for_each(|stray| fs::remove_file(stray).unwrap());
    let done = sandbox.run(&["forget", SECOND]).ok();
    assert!(done.stdout.contains("pieces of its texts is gone: data/more.txt, data/notes.txt"), "{done:?}");
    assert_eq!(verified(), true);
    sandbox.run(&["forget", "--undo", SECOND]).ok();
    sandbox.run(&["sync"]).ok();
    forget(&sandbox, SECOND);
    assert_eq!(verified(), true);
}

#[test]
fn answers_snapshots_and_jobs_forget_too() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let question = "How do we migrate the database without downtime?";
    let said = sandbox.run_with_input(&["chat"], &format!("{question}\n")).ok().stdout;
    assert!(said.contains("Where it stands: acme/shop#2 is still open"), "{said}");
    let told = forget(&sandbox, SECOND);
    assert_eq!(told["removed"]["answers"], 1, "{told:#}");
    let shown = sandbox.run(&["chat", "--list"]).stdout;
    assert!(!shown.contains("downtime"), "{shown}");
    assert_eq!(told["removed"]["recorded_documents"], 2, "{told:#}");
    assert!(!is_on_disk(&sandbox.data(), SAID));
}

#[test]
fn the_record_has_no_content() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    assert_eq!(sandbox.run(&["forget", "--list"]).ok().stdout, "Nothing was forgotten.\n");
    sandbox.run(&["forget", "acme/shop!4", "--reason", "asked for"]).ok();
    sandbox.run(&["forget", "acme/shop!4", "--undo"]).ok();
    let mut listed = sandbox.run(&["forget", "--list", "--json"]).ok().json();
    for entry in listed.as_array_mut().unwrap() {
        entry["at"] = json!("TIME");
    }
    let undone = sandbox.run(&["forget", "--list", "--action", "undo", "--json"]).ok().json();
    assert_eq!((undone.as_array().unwrap().len(), &undone[0]["id"]), (1, &json!(2)), "{undone}");
    assert_eq!(sandbox.run(&["forget", "--list", "--action", "retire"]).ok().stdout, "Nothing was forgotten.\n");
    let removed = listed[1]["counts"].clone();
    assert_eq!(removed["items"], 2, "{removed}");
    assert_eq!(
        listed,
        json!([
            {"id": 2, "at": "TIME", "action": "undo", "kind": "thread", "subject": "acme/shop!4", "reason": null,
             "counts": {}, "verified": null, "actor": "owner"},
            {"id": 1, "at": "TIME", "action": "forget", "kind": "thread", "subject": "acme/shop!4",
             "reason": "asked for", "counts": removed, "verified": true, "actor": "owner"},
        ])
    );
}

#[test]
fn what_was_forgotten_before_is_told_so() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    forget(&sandbox, SECOND);
    let told = forget(&sandbox, SECOND);
    assert_eq!(told["forgotten_before"]["id"], "1", "{told:#}");
    assert_eq!((&told["removed"], &told["verified"]["pieces"]), (&json!({}), &json!(0)), "{told:#}");
    let said = sandbox.run(&["forget", SECOND]).ok().stdout;
    assert!(said.starts_with("acme/shop#2 was forgotten before, at 20"), "{said}");
    assert!(said.ends_with("What it said is kept nowhere, so its texts cannot be looked for again\n"), "{said}");
    let listed = sandbox.run(&["forget", "--list", "--json"]).ok().json();
    assert_eq!(listed.as_array().unwrap().len(), 3, "each time is on record: {listed:#}");
    // Read again meanwhile, it is forgotten as before.
    sandbox.run(&["forget", "--undo", SECOND]).ok();
    sandbox.run(&["sync"]).ok();
    let told = forget(&sandbox, SECOND);
    assert!(told["verified"]["pieces"].as_u64() >= Some(5), "{told:#}");
}

#[test]
fn what_cannot_be_forgotten_is_refused() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let refused = |args: &[&str], code: i32| sandbox.run(&[&["forget"], args].concat()).error(code).to_owned();
    assert!(refused(&["acme/shop#99"], 1).starts_with("nothing is known about acme/shop#99"));
    assert!(refused(&["acme/shop"], 1).contains("remove it there first"));
    assert!(refused(&["src/a.rs:3"], 2).contains("cannot be forgotten; write an issue or merge request as"));
    assert!(refused(&["--undo", SECOND], 1).starts_with("acme/shop#2 is not forgotten"));
    assert!(refused(&[SECOND, "--reason", &"x".repeat(501)], 2).contains("at most 500 characters"));
    assert_eq!(sandbox.run(&["show", SECOND]).code, 0);
}

#[test]
fn a_server_forgets_while_it_makes_vectors() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let _server = sandbox.serve();
    let told = forget(&sandbox, SECOND);
    assert_eq!(told["verified"]["found"], 0);
    assert_eq!(sandbox.run(&["show", SECOND]).code, 1);
    assert!(!is_on_disk(&sandbox.data(), SAID));
    sandbox.run(&["sync", "--full"]).ok();
    assert_eq!(sandbox.run(&["show", SECOND]).code, 1);
}

#[test]
fn a_project_is_forgotten_with_its_clone() {
    let forge = Forge::start();
    let repository = shop();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["add", &repository.path().display().to_string(), "--name", "acme/shop"]).ok();
    let other = Sandbox::empty();
    other.write_config("data_dir = \"data\"\n");
    sandbox.write_config("data_dir = \"data\"\n");
    let told = forget(&sandbox, "acme/shop");
    assert_eq!((&told["kind"], &told["verified"]["found"]), (&json!("project"), &json!(0)), "{told:#}");
    assert!(told["removed"]["items"].as_u64() > Some(30) && told["removed"]["people"] == 5, "{told:#}");
    is_sound(&sandbox);
    assert_eq!(digest(&sandbox), digest(&other), "nothing is left");
    assert_eq!(fs::read_dir(sandbox.data().join("clones")).unwrap().count(), 0);
    for text in [SAID, "memcached loses every session", "session.py", "grace@example.com"] {
        assert!(!is_on_disk(&sandbox.data(), text), "{text}");
    }

    let refused = sandbox.run(&["add", &repository.path().display().to_string(), "--name", "acme/shop"]);
    assert!(refused.error(1).contains("backstory forget --undo acme/shop"), "{refused:?}");
    sandbox.configure("");
    let refused = sandbox.run(&["sync"]);
    assert!(refused.error(3).contains("acme/shop was forgotten, so it is not read"), "{refused:?}");
    sandbox.run(&["forget", "--undo", "acme/shop"]).ok();
    sandbox.run(&["sync"]).ok();
    assert_eq!(digest(&sandbox), digest(&Sandbox::synced(&forge)));
}

/// Everything in the graph that says a text.
fn statements_with(sandbox: &Sandbox, text: &str) -> Vec<String> {
    crate::github::lines(&sandbox.data()).into_iter().filter(|line| line.contains(text)).collect()
}

#[test]
fn a_person_becomes_an_alias_and_stays_one() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    assert!(statements_with(&sandbox, ":alice>").len() > 10);
    let told = forget(&sandbox, "@alice");
    let alias = told["subject"].as_str().unwrap().to_owned();
    assert!(alias.starts_with("forgotten-") && alias.len() == 18, "{alias}");
    assert_eq!(told["removed"]["people"], 1, "{told:#}");
    assert!(told["removed"]["items"].as_u64() > Some(8) && told["stays"].is_string(), "{told:#}");
    assert_eq!(told["removed"]["documents"], 0, "what they wrote stays");
    is_sound(&sandbox);
    for text in ["\"username\":\"alice\"", "Alice Ng", "@alice "] {
        assert!(!is_on_disk(&sandbox.data(), text), "{text}");
    }
    assert_eq!(statements_with(&sandbox, "alice"), Vec::<String>::new());
    assert!(statements_with(&sandbox, &alias).len() > 10);
    let without = digest(&sandbox);

    // The same from every sync, also of what comes later.
    for how in [&["sync"][..], &["sync", "--reconcile"], &["sync", "--full"]] {
        sandbox.run(how).ok();
        assert_eq!(digest(&sandbox), without, "{how:?}");
    }
    forge.asked();
    sandbox.run(&["sync"]).ok();
    assert!(!forge.asked().iter().any(|asked| asked.contains("/discussions")), "nothing is taken for changed");
    forge.advance(3600);
    forge.discuss("acme/shop#2", "alice", "The quokka migration plan was approved, cc @bob and @Alice.");
    sandbox.run(&["sync"]).ok();
    assert_eq!(statements_with(&sandbox, "lice"), Vec::<String>::new());
    let shown = sandbox.run(&["show", "acme/shop#2"]).ok().stdout;
    assert!(shown.contains(&format!("cc @bob and @{alias}.")), "{shown}");
    is_sound(&sandbox);

    let listed = sandbox.run(&["forget", "--list"]).ok().stdout;
    assert!(listed.contains(&alias) && !listed.contains("alice"), "{listed}");
    let undone = sandbox.run(&["forget", "--undo", "@alice"]).ok().stdout;
    assert_eq!(undone, format!("{alias} may be read again; 'backstory sync --full' does it\n"));
    sandbox.run(&["sync", "--full"]).ok();
    assert!(statements_with(&sandbox, ":alice>").len() > 10);
}

#[test]
fn what_only_looks_like_somebody_stays() {
    let forge = Forge::start();
    // The name of a label too.
    forge.join("security", "Sam Stone");
    let cc = "Cc: Bob <bob@example.org>, Sam <security@users.noreply.github.com>";
    let issue = forge.new_issue("acme/shop", "security", "security", cc);
    let sandbox = Sandbox::synced(&forge);
    let told = forget(&sandbox, "@security");
    let alias = told["subject"].as_str().unwrap();
    let labels = sandbox.run(&["show", "acme/shop#4", "--json"]).ok().json()["labels"].clone();
    assert_eq!(labels, json!(["performance", "security"]));
    let shown = sandbox.run(&["show", &issue, "--json"]).ok().json();
    assert_eq!((&shown["title"], &shown["author"]), (&json!("security"), &json!(alias)), "{shown:#}");
    let cc = format!("Cc: Bob <bob@example.org>, {alias} <{alias}@users.noreply.forgotten>");
    assert!(shown.to_string().contains(&cc), "{shown:#}");
    is_sound(&sandbox);
}

#[test]
fn somebody_whom_only_something_confidential_names_is_forgotten() {
    let forge = Forge::start();
    forge.join("mallorquin", "Xaverine Insider");
    let issue =
        forge.new_issue("acme/shop", "mallorquin", "The outage of the largest customer", "It must not be named.");
    forge.set_confidential(&issue, true);
    let sandbox = Sandbox::new(&forge);
    sandbox.configure("confidential = true\n");
    sandbox.run(&["sync"]).ok();
    let told = forget(&sandbox, "@mallorquin");
    assert_eq!(told["removed"]["people"], 1, "{told:#}");
    let shown = sandbox.run(&["show", &issue]).ok().stdout;
    assert!(shown.contains(told["subject"].as_str().unwrap()) && !shown.contains("mallorquin"), "{shown}");
    for text in ["mallorquin", "Xaverine"] {
        assert_eq!(statements_with(&sandbox, text), Vec::<String>::new());
    }
    is_sound(&sandbox);
}

#[test]
fn titles_of_commits_that_are_not_kept_have_aliases() {
    let forge = Forge::start();
    let mut repository = Fixture::new();
    repository.write("src/cart.py", "def total():\n    return 0\n");
    repository.commit_all("Merge pull request #12 from alice/cart");
    repository.write("src/tax.py", "def tax():\n    return 2\n");
    repository.commit_all("Add a tax");
    let sandbox = Sandbox::new(&forge);
    sandbox.configure("[retention]\ncommits = 1\n");
    sandbox.run(&["sync"]).ok();
    sandbox.run(&["add", &repository.path().display().to_string(), "--name", "acme/shop"]).ok();
    let told = forget(&sandbox, "@alice");
    let why = sandbox.run(&["why", "acme/shop:src/cart.py:1", "--json"]).ok().json();
    let alias = told["subject"].as_str().unwrap();
    assert_eq!(why["origin"]["title"], format!("Merge pull request #12 from {alias}/cart"), "{why:#}");
}

/// The shop, where Alice also wrote commits and is named in others and in files.
fn shop_of_alice() -> Fixture {
    let mut shop = shop();
    shop.write("AUTHORS.md", "# Authors\n\nAlice Ng <alice@example.com>\nGrace Hopper <grace@example.com>\n");
    shop.write(".mailmap", "Alice Ng <alice@example.com> <al@old.example.com>\n");
    shop.author("Alice Ng", "alice@example.com").commit_all("docs: tell who wrote it");
    shop.write("src/fee.py", "def fee():\n    return 1\n");
    shop.author("Grace Hopper", "grace@example.com").commit_all(
        "Add a fee\n\nas Alice Ng <alice@example.com> proposed\n\nReviewed-by: Alice Ng\n\
         Co-authored-by: Al <al@old.example.com>\nAcked-by: Ada <ada@example.com>\n",
    );
    shop
}

#[test]
fn a_person_is_forgotten_in_commits_and_files_too() {
    let forge = Forge::start();
    let mut repository = shop_of_alice();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["add", &repository.path().display().to_string(), "--name", "acme/shop"]).ok();
    assert!(sandbox.run(&["why", "acme/shop:AUTHORS.md:3"]).ok().stdout.contains("Alice Ng"));
    let told = forget(&sandbox, "@alice@example.com");
    let alias = told["subject"].as_str().unwrap().to_owned();
    assert_eq!(told["removed"]["people"], 2, "the profile and the identity of commits: {told:#}");
    for text in ["Alice Ng", "alice@example.com", "al@old.example.com", "\"username\":\"alice\""] {
        assert!(!is_on_disk(&sandbox.data(), text), "{text}");
    }
    assert_eq!(statements_with(&sandbox, "lice"), Vec::<String>::new());
    let same = statements_with(&sandbox, "sameAs");
    assert!(
        same.iter().any(|line| line.matches(&alias).count() >= 2),
        "the commits are still of who wrote threads: {same:#?}"
    );
    is_sound(&sandbox);
    let why = sandbox.run(&["why", "acme/shop:AUTHORS.md:3"]).ok().stdout;
    assert!(!why.contains("Alice") && !why.contains("alice"), "{why}");
    assert!(why.contains(&format!("{alias} <{alias}@users.noreply.forgotten>")), "{why}");
    let head = repository.sha("main").to_string();
    let shown = sandbox.run(&["show", &format!("acme/shop@{head}")]).ok().stdout;
    assert!(!shown.contains("Alice") && !shown.contains("al@old"), "{shown}");
    assert!(shown.contains("Acked-by: Ada <ada@example.com>") || !shown.contains("Acked-by"), "{shown}");

    // The same from every sync, also of what comes later.
    let without = digest(&sandbox);
    for how in [&["sync"][..], &["sync", "--full"], &["rebuild"]] {
        sandbox.run(how).ok();
        assert_eq!(digest(&sandbox), without, "{how:?}");
    }
    repository.write("src/tax.py", "def tax():\n    return 2\n");
    repository.author("Alice Ng", "alice@new.example.com").commit_all("Add a tax\n\nThanks to @alice\n");
    repository.write("src/toll.py", "def toll():\n    return 3\n");
    repository.author("Al", "al@old.example.com").commit_all("Add a toll");
    sandbox.run(&["sync"]).ok();
    assert_eq!(statements_with(&sandbox, "lice"), Vec::<String>::new());
    assert_eq!(statements_with(&sandbox, "al@old"), Vec::<String>::new());
    let later = digest(&sandbox);
    sandbox.run(&["sync", "--full"]).ok();
    assert_eq!(digest(&sandbox), later);
    is_sound(&sandbox);

    sandbox.run(&["forget", "--undo", "@alice"]).ok();
    sandbox.run(&["sync", "--full"]).ok();
    assert!(!statements_with(&sandbox, "alice@example.com").is_empty());
    assert_eq!(statements_with(&sandbox, "users.noreply.forgotten"), Vec::<String>::new());
    is_sound(&sandbox);
}

#[test]
fn a_person_whom_only_commits_know_is_forgotten() {
    let repository = shop();
    let sandbox = Sandbox::indexed(&repository);
    assert!(sandbox.run(&["forget", "@nobody@example.com"]).error(1).starts_with("nobody is known as @nobody@example"));
    let told = forget(&sandbox, "@grace@example.com");
    assert_eq!(told["removed"]["people"], 1, "{told:#}");
    assert_eq!(statements_with(&sandbox, "race"), Vec::<String>::new());
    for text in ["Grace Hopper", "grace@example.com"] {
        assert!(!is_on_disk(&sandbox.data(), text), "{text}");
    }
    is_sound(&sandbox);
    let without = digest(&sandbox);
    sandbox.run(&["sync", "--full"]).ok();
    assert_eq!(digest(&sandbox), without);
    // Undone, everything is as it was.
    sandbox.run(&["forget", "--undo", "@grace@example.com"]).ok();
    sandbox.run(&["sync", "--full"]).ok();
    assert_eq!(digest(&sandbox), digest(&Sandbox::indexed(&repository)));
}

#[test]
fn a_person_of_github_becomes_an_alias() {
    let forge = Forge::start();
    let sandbox = Sandbox::github(&forge);
    sandbox.run(&["sync"]).ok();
    let told = forget(&sandbox, "@alice");
    let alias = told["subject"].as_str().unwrap();
    assert_eq!(statements_with(&sandbox, "alice"), Vec::<String>::new());
    assert!(statements_with(&sandbox, alias).len() > 10);
    is_sound(&sandbox);
    let without = digest(&sandbox);
    sandbox.run(&["sync", "--full"]).ok();
    assert_eq!(digest(&sandbox), without);
    let refused = sandbox.run(&["forget", "@nobody"]);
    assert!(refused.error(1).starts_with("nobody is known as @nobody"), "{refused:?}");
}

#[test]
fn what_is_closed_and_old_is_not_kept_until_it_changes() {
    let forge = Forge::start();
    let kept = |days: u32| {
        let sandbox = Sandbox::new(&forge);
        sandbox.configure(&format!("[retention]\ndays = {days}\n"));
        sandbox.run(&["sync"]).ok();
        sandbox
    };
    let is_there = |sandbox: &Sandbox, reference: &str| sandbox.run(&["show", reference]).code == 0;
    let (all, sandbox) = (kept(0), kept(60));
    assert_eq!(digest(&all), digest(&Sandbox::synced(&forge)));
    for (reference, expected) in [("#1", false), ("#3", false), ("#2", true), ("!2", false), ("!5", true)] {
        assert_eq!(is_there(&sandbox, &format!("acme/shop{reference}")), expected, "{reference}");
    }
    is_sound(&sandbox);

    // What becomes old goes with the next sync; what was closed long ago comes back when somebody mentions it.
    forge.advance(60 * 24 * 3600);
    forge.discuss("acme/shop#1", "janedoe", "The quokka key is rotated by hand.");
    let again = sandbox.run(&["sync", "--json"]).ok().json();
    assert_eq!(again["retired"], 2, "the merge request and its discussion: {again}");
    assert!(is_there(&sandbox, "acme/shop#1") && !is_there(&sandbox, "acme/shop!5"));
    assert_eq!(digest(&sandbox), digest(&kept(60)), "a first sync at the same time makes the same");
    is_sound(&sandbox);
    for how in [&["sync", "--reconcile"][..], &["sync", "--full"], &["rebuild"]] {
        let before = digest(&sandbox);
        sandbox.run(how).ok();
        assert_eq!(digest(&sandbox), before, "{how:?}");
    }

    // So do the people whom only that named.
    forge.advance(90 * 24 * 3600);
    sandbox.run(&["sync"]).ok();
    assert_eq!(digest(&sandbox), digest(&kept(60)));
    assert_eq!(statements_with(&sandbox, "quokka"), Vec::<String>::new());

    // A wider horizon brings back what it reaches when everything is read.
    sandbox.configure("");
    sandbox.run(&["sync", "--full"]).ok();
    assert_eq!(digest(&sandbox), digest(&Sandbox::synced(&forge)));
}

#[test]
fn one_that_was_cut_off_is_told_and_done_again() {
    let forge = Forge::start();
    let whole = Sandbox::synced(&forge);
    forget(&whole, SECOND);
    let expected = digest(&whole);
    // All that a process which was killed after the first step has done.
    let sandbox = Sandbox::synced(&forge);
    let ledger = Ledger::open(&sandbox.data().join("ledger.sqlite")).unwrap();
    ledger.forget(&ErasureTarget::Thread(ThreadId::issue("acme/shop", 2)), &[], None, Timestamp::UNIX_EPOCH).unwrap();
    drop(ledger);
    let listed = sandbox.run(&["forget", "--list"]).ok();
    assert!(listed.stdout.contains("not ended"), "{listed:?}");
    assert!(listed.stderr.contains("forgetting acme/shop#2 was cut off"), "{listed:?}");
    sandbox.run(&["forget", SECOND]).ok();
    assert_eq!(sandbox.run(&["stats"]).ok().stderr, "");
    assert!(!is_on_disk(&sandbox.data(), SAID));

    for phase in ["taking it out of the ledger", "graph", "looking whether anything is left"] {
        let sandbox = Sandbox::synced(&forge);
        let mut child = sandbox.spawn(&["forget", SECOND]);
        let said = BufReader::new(child.stderr.take().unwrap());
        // Progress is looked at now and then: where a short phase is not seen, this one comes to its end.
        for line in said.lines() {
            if line.unwrap().starts_with(phase) {
                break;
            }
        }
        signal(child.id(), Signal::KILL);
        child.wait().unwrap();
        sandbox.run(&["forget", SECOND]).ok();
        assert_eq!(sandbox.run(&["stats"]).ok().stderr, "");
        sandbox.run(&["sync", "--full"]).ok();
        assert_eq!(digest(&sandbox), expected, "{phase}");
        assert!(!is_on_disk(&sandbox.data(), SAID), "{phase}");
    }
}

#[test]
fn a_number_of_github_means_whichever_has_it() {
    let forge = Forge::start();
    let sandbox = Sandbox::github(&forge);
    sandbox.run(&["sync"]).ok();
    let told = forget(&sandbox, "acme/shop#101");
    assert_eq!(told["subject"], "acme/shop!101", "{told:#}");
    let without = digest(&sandbox);
    for how in [&["sync"][..], &["sync", "--full"], &["rebuild"]] {
        sandbox.run(how).ok();
        assert_eq!(digest(&sandbox), without, "{how:?}");
    }
    is_sound(&sandbox);
    let undone = sandbox.run(&["forget", "--undo", "acme/shop#101"]).ok().stdout;
    assert!(undone.starts_with("acme/shop!101 may be read again"), "{undone}");
    sandbox.run(&["sync"]).ok();
    assert_ne!(digest(&sandbox), without);
}
