//! What is not kept: by age, by size, by the number of commits. A first sync ends as any other.

use std::io::{BufRead as _, BufReader};

use serde_json::{Value, json};

use crate::{
    cli_repositories::shop,
    forget::{digest, is_on_disk, is_sound},
    support::{Fault, Fixture, Forge, Sandbox, Signal, signal},
};

/// A note of some 400 kB.
fn large(about: &str) -> String {
    (0..8_000).map(|number| format!("The {about} quokka {number} sleeps until the evening. ")).collect()
}

/// A shop with closed threads of which two fit into a megabyte.
fn large_forge() -> Forge {
    let forge = Forge::start();
    for (about, thread) in [("first", "#1"), ("third", "#3"), ("second", "!2"), ("fifth", "!5")] {
        forge.advance(3600);
        forge.discuss(&format!("acme/shop{thread}"), "bob", &large(about));
    }
    forge.advance(3600);
    forge
}

fn kept(forge: &Forge) -> Sandbox {
    let sandbox = Sandbox::new(forge);
    sandbox.configure("[retention]\nmegabytes = 1\n");
    sandbox
}

fn is_there(sandbox: &Sandbox, reference: &str) -> bool {
    sandbox.run(&["show", reference]).code == 0
}

fn retirements(sandbox: &Sandbox) -> Vec<Value> {
    let listed = sandbox.run(&["forget", "--list", "--json"]).ok().json();
    listed.as_array().unwrap().iter().filter(|entry| entry["action"] == "retire").cloned().collect()
}

#[test]
fn the_oldest_closed_threads_leave_until_a_project_fits() {
    let forge = large_forge();
    let first = kept(&forge);
    let told = first.run(&["sync"]).ok().stdout;
    assert!(told.contains("not kept any more"), "{told}");
    for (reference, expected) in [("#1", false), ("#3", false), ("#2", true), ("!2", true), ("!5", true)] {
        assert_eq!(is_there(&first, &format!("acme/shop{reference}")), expected, "{reference}");
    }
    for (about, expected) in [("first", false), ("third", false), ("fifth", true)] {
        // What is kept may be packed.
        assert!(expected || !is_on_disk(&first.data(), &format!("The {about} quokka 12 ")), "{about}");
        let found = first.run(&["search", &format!("{about} quokka"), "--mode", "lexical", "--json"]).ok().stdout;
        assert_eq!(found.contains(&format!("The {about} quokka")), expected, "{found}");
    }
    is_sound(&first);
    let record = &retirements(&first)[0];
    assert_eq!((&record["kind"], &record["subject"]), (&json!("project"), &json!("acme/shop")));
    assert!(record["counts"]["names"].as_array().unwrap().contains(&json!("acme/shop#1")), "{record:#}");
    assert!(!record.to_string().contains("quokka"));

    // What left is neither fetched again nor taken for new.
    forge.asked();
    for how in [&["sync"][..], &["sync", "--reconcile"]] {
        let before = digest(&first);
        first.run(how).ok();
        assert_eq!(digest(&first), before, "{how:?}");
    }
    assert!(!forge.asked().iter().any(|asked| asked.contains("/issues/3/")), "it is not even fetched");
    let before = digest(&first);
    first.run(&["sync", "--full"]).ok();
    assert_eq!(digest(&first), before);
    assert_eq!(retirements(&first).len(), 2, "a full sync reads all and takes it out again");
}

#[test]
fn what_left_leaves_the_disk_though_another_project_cannot_be_read() {
    let forge = large_forge();
    let sandbox = kept(&forge);
    let configuration = sandbox.path().join("backstory.toml");
    let usual = std::fs::read_to_string(&configuration).unwrap();
    let both = usual.replace("[\"acme/shop\"]", "[\"acme/nothing\", \"acme/shop\"]");
    std::fs::write(&configuration, both).unwrap();
    let refused = sandbox.run(&["sync"]);
    assert!(refused.code != 0 && refused.stderr.contains("acme/nothing"), "{refused:?}");
    assert!(!is_there(&sandbox, "acme/shop#1") && is_there(&sandbox, "acme/shop!5"));
    assert!(retirements(&sandbox)[0]["counts"]["cleared"].is_number(), "{:#?}", retirements(&sandbox));
    assert!(!is_on_disk(&sandbox.data(), "The first quokka 12 "));
}

#[test]
fn what_does_not_fit_any_more_leaves_and_comes_back() {
    let forge = Forge::start();
    let sandbox = kept(&forge);
    sandbox.run(&["sync"]).ok();
    assert_eq!(digest(&sandbox), digest(&Sandbox::synced(&forge)), "it fits");
    let same = |sandbox: &Sandbox| {
        sandbox.run(&["sync"]).ok();
        let first = kept(&forge);
        first.run(&["sync"]).ok();
        assert_eq!(digest(sandbox), digest(&first), "a first sync ends alike");
    };
    for (about, thread) in [("first", "#1"), ("third", "#3"), ("second", "!2"), ("fifth", "!5")] {
        forge.advance(3600);
        forge.discuss(&format!("acme/shop{thread}"), "bob", &large(about));
        same(&sandbox);
    }
    assert!(!is_there(&sandbox, "acme/shop#1"));
    // Somebody mentions it: it is the newest.
    forge.advance(3600);
    forge.discuss("acme/shop#1", "bob", "It sleeps well.");
    same(&sandbox);
    assert!(is_there(&sandbox, "acme/shop#1"));
    // One of those that stayed goes: there is room for another.
    forge.delete("acme/shop#1");
    sandbox.run(&["sync", "--reconcile"]).ok();
    same(&sandbox);
    is_sound(&sandbox);
    // Without a limit all come back.
    sandbox.configure("");
    sandbox.run(&["sync"]).ok();
    assert_eq!(digest(&sandbox), digest(&Sandbox::synced(&forge)));
}

#[test]
fn a_wait_for_what_comes_back_is_told() {
    let forge = large_forge();
    let sandbox = kept(&forge);
    sandbox.run(&["sync"]).ok();
    assert!(!is_there(&sandbox, "acme/shop#1"));
    sandbox.configure("");
    forge.fail(Fault::Wait(3), "/issues/1/discussions", 1);
    let told = sandbox.run(&["sync"]).ok().stderr;
    assert!(told.contains("rate limited, continuing in "), "{told}");
    assert!(is_there(&sandbox, "acme/shop#1"));
}

#[test]
fn open_threads_stay_though_they_do_not_fit() {
    let forge = large_forge();
    for about in ["one", "two", "three"] {
        forge.discuss("acme/shop#2", "bob", &large(about));
    }
    let sandbox = kept(&forge);
    let told = sandbox.run(&["sync"]).ok().stdout;
    assert!(told.contains("acme/shop is 1 MB larger than [retention] allows"), "{told}");
    assert!(is_there(&sandbox, "acme/shop#2") && !is_there(&sandbox, "acme/shop!5"));
    is_sound(&sandbox);
}

/// Kills a sync when it comes to a phase, or lets it end if it passes that over.
fn kill_sync_in(sandbox: &Sandbox, phase: &str) {
    let mut child = sandbox.spawn(&["sync"]);
    let said = BufReader::new(child.stderr.take().unwrap());
    let _ = said.lines().any(|line| line.unwrap().starts_with(phase));
    signal(child.id(), Signal::KILL);
    child.wait().unwrap();
}

#[test]
fn a_sync_that_was_killed_ends_alike() {
    let forge = large_forge();
    let first = kept(&forge);
    first.run(&["sync"]).ok();
    let expected = digest(&first);
    for phase in ["acme/shop issues", "acme/shop merge requests", "indexing", "graph and index"] {
        let sandbox = kept(&forge);
        kill_sync_in(&sandbox, phase);
        sandbox.run(&["sync"]).ok();
        assert_eq!(digest(&sandbox), expected, "{phase}");
    }
}

/// One that keeps so many commits.
fn with_commits(repository: &Fixture, count: usize) -> Sandbox {
    let sandbox = Sandbox::empty();
    sandbox.write_config(&format!("data_dir = \"data\"\n[retention]\ncommits = {count}\n"));
    sandbox.run(&["add", &repository.path().display().to_string(), "--name", "acme/shop"]).ok();
    sandbox
}

// Row 157 of docs/requirements.md.
#[test]
fn the_newest_commits_are_kept() {
    let mut repository = shop();
    let sandbox = with_commits(&repository, 2);
    let commits = |sandbox: &Sandbox| sandbox.run(&["repos", "--json"]).ok().json()[0]["commits"].clone();
    assert_eq!(commits(&sandbox), 2);
    is_sound(&sandbox);
    let all = Sandbox::indexed(&repository);
    let why = |sandbox: &Sandbox| sandbox.run(&["why", "acme/shop:src/session.py:1", "--json"]).ok().json();
    let (told, whole) = (why(&sandbox), why(&all));
    let wrote = whole["origin"]["commit"].as_str().unwrap().to_owned();
    assert_eq!(told["origin"], whole["origin"], "who wrote the line is told from the clone");
    let missing = told["missing"].as_array().unwrap();
    assert!(missing.contains(&json!(format!("commit {wrote} is older than the 2 commits that are kept"))), "{told:#}");
    assert!(!is_there(&sandbox, &format!("acme/shop@{wrote}")));
    assert!(retirements(&sandbox).is_empty(), "what was never read does not leave");

    // With each new one the oldest leaves.
    for (path, message) in [("src/tax.py", "Add a tax"), ("src/cart.py", "Give everything away")] {
        let oldest = repository.sha("main~1").to_string();
        repository.write(path, "def tax():\n    return 2\n");
        repository.commit_all(message);
        let told = sandbox.run(&["sync"]).ok().stdout;
        assert!(told.contains("1 item not kept any more"), "{told}");
        assert!(!is_there(&sandbox, &format!("acme/shop@{oldest}")));
        assert_eq!(digest(&sandbox), digest(&with_commits(&repository, 2)), "a first sync ends alike");
        is_sound(&sandbox);
    }
    let record = &retirements(&sandbox)[0];
    assert_eq!(record["counts"]["commits"], 1, "{record:#}");
    for how in [&["sync"][..], &["sync", "--full"], &["rebuild"]] {
        let before = digest(&sandbox);
        sandbox.run(how).ok();
        assert_eq!(digest(&sandbox), before, "{how:?}");
    }

    // A rewritten history leaves nothing behind.
    repository.git(["reset", "--quiet", "--hard", "HEAD~1"]);
    repository.write("src/cart.py", "def total():\n    return 3\n");
    repository.commit_all("Take it back");
    sandbox.run(&["sync"]).ok();
    let first = with_commits(&repository, 2);
    assert_eq!(digest(&sandbox), digest(&first));
    let earlier =
        |sandbox: &Sandbox| sandbox.run(&["why", "acme/shop:src/cart.py:1", "--json"]).ok().json()["earlier"].clone();
    assert_eq!(earlier(&sandbox), earlier(&first), "so does what was replaced");
    // Without the limit all are read.
    sandbox.write_config("data_dir = \"data\"\n");
    sandbox.run(&["sync"]).ok();
    assert_eq!(digest(&sandbox), digest(&Sandbox::indexed(&repository)));
    is_sound(&sandbox);
}

#[test]
fn commits_are_kept_alike_after_a_kill() {
    let mut repository = shop();
    for number in 0..20 {
        repository.write(format!("src/part{number}.py"), format!("def part{number}():\n    return {number}\n"));
        repository.commit_all(format!("Add part {number}"));
    }
    let expected = digest(&with_commits(&repository, 5));
    for phase in
        ["acme/shop fetching", "acme/shop commits", "acme/shop line lineage", "acme/shop references", "indexing"]
    {
        let sandbox = with_commits(&repository, 0);
        sandbox.write_config("data_dir = \"data\"\n[retention]\ncommits = 5\n");
        kill_sync_in(&sandbox, phase);
        sandbox.run(&["sync"]).ok();
        assert_eq!(digest(&sandbox), expected, "{phase}");
        is_sound(&sandbox);
    }
}
