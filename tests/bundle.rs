//! Handing a finished index over: a bundle opens elsewhere with the same digest, and nothing else is taken for one.

use std::fs;

use crate::{
    cli_repositories::shop,
    support::{Fixture, Forge, Sandbox},
};

#[test]
fn bundle_opens_elsewhere_with_the_same_digest() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let file = sandbox.path().join("shop.bundle");
    let path = file.to_str().unwrap();
    let written = sandbox.run(&["bundle", "export", path]).ok();
    assert!(written.stdout.starts_with("Wrote [DIR]/shop.bundle: "), "{written:?}");
    let digest = sandbox.run(&["check", "--digest"]).ok().stdout;
    let other = Sandbox::empty();
    let imported = other.run(&["bundle", "import", path]).ok();
    assert!(imported.stdout.starts_with("Imported acme/shop into "), "{imported:?}");
    assert_eq!(other.run(&["check", "--digest"]).ok().stdout, digest);
    other.run(&["check"]).ok();
    let why = other.run(&["why", "src/session.py:7", "--project", "acme/shop"]).ok();
    assert!(why.stdout.contains("memcached loses every session"), "{why:?}");
    // It can be read again and go on from there.
    other.run(&["sync"]).ok();
    let again = other.run(&["bundle", "import", path]);
    assert!(again.error(3).contains("is in use already; name another directory with --data-dir"), "{again:?}");
    let there = sandbox.run(&["bundle", "export", path]);
    assert!(there.error(3).contains("exists already; name another file"), "{there:?}");
}

#[test]
fn bundle_has_issues_and_vectors_too() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["embed"]).ok();
    let file = sandbox.path().join("shop.bundle");
    sandbox.run(&["bundle", "export", file.to_str().unwrap()]).ok();
    let other = Sandbox::empty();
    other.run(&["bundle", "import", file.to_str().unwrap()]).ok();
    assert!(other.run(&["show", "acme/shop#1"]).ok().stdout.starts_with("Issue acme/shop#1"));
    let coverage = |of: &Sandbox| of.run(&["stats", "--json"]).ok().json()["coverage"]["embedded"].clone();
    assert_eq!(coverage(&other), coverage(&sandbox));
}

#[test]
fn bundle_of_one_project_is_what_a_sync_of_that_project_gives() {
    let (shop, mut till) = (shop(), Fixture::new());
    till.write("till.py", "def open():\n    pass\n");
    till.commit_all("Begin");
    let sandbox = Sandbox::indexed(&shop);
    let alone = sandbox.run(&["check", "--digest"]).ok().stdout;
    sandbox.run(&["add", till.path().to_str().unwrap(), "--name", "acme/till"]).ok();
    sandbox.run(&["token", "create", "--name", "ci", "--projects", "**"]).ok();
    let file = sandbox.path().join("shop.bundle");
    let path = file.to_str().unwrap();
    let unknown = sandbox.run(&["bundle", "export", path, "--project", "acme/absent"]);
    assert!(unknown.error(2).contains("nothing is stored of the project 'acme/absent'"), "{unknown:?}");
    let written = sandbox.run(&["bundle", "export", path, "--project", "acme/shop"]).ok();
    assert!(written.stdout.starts_with("Wrote [DIR]/shop.bundle: acme/shop; "), "{written:?}");
    let other = Sandbox::empty();
    other.run(&["bundle", "import", path]).ok();
    assert_eq!(other.run(&["check", "--digest"]).ok().stdout, alone);
    let projects = other.run(&["repos", "--json"]).ok().json();
    assert_eq!(projects.as_array().unwrap().len(), 1, "{projects}");
    assert!(!other.run(&["token", "list"]).ok().stdout.contains("ci"));
    assert!(sandbox.run(&["token", "list"]).ok().stdout.contains("ci"), "those of the origin stay");
    let why = other.run(&["why", "src/session.py:7", "--project", "acme/shop"]).ok();
    assert!(why.stdout.contains("memcached loses every session"), "{why:?}");
}

#[test]
fn what_is_no_bundle_is_refused_and_leaves_no_data_directory() {
    let sandbox = Sandbox::empty();
    let file = sandbox.path().join("x");
    for (bytes, why) in [
        (&b"SQLite format 3\0"[..], "it is not a backstory bundle"),
        (&b"backstory bundle 7\n"[..], "it is a bundle of another format"),
        (&b"backstory bundle 1\nnothing"[..], "it is damaged"),
    ] {
        fs::write(&file, bytes).unwrap();
        let refused = sandbox.run(&["bundle", "import", file.to_str().unwrap(), "--data-dir", "data"]);
        assert!(refused.error(3).contains(why), "{refused:?}");
        assert!(!sandbox.data().exists());
    }
    let absent = sandbox.run(&["bundle", "import", "absent", "--data-dir", "data"]);
    assert!(absent.error(3).contains("absent"), "{absent:?}");
}

#[test]
fn bundle_is_not_written_while_a_server_has_the_stores() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let _server = sandbox.serve();
    let refused = sandbox.run(&["bundle", "export", "x"]);
    assert!(refused.error(1).contains("has the stores open; stop it first"), "{refused:?}");
    assert!(!sandbox.path().join("x").exists());
}
