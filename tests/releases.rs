//! Releases: in which a commit first shipped, and what lies between two of them.

use backstory_engine::{
    ledger::Branches,
    model::{edge::Edge, id::NodeId},
    releases::Release,
    shipped::{ListReleases, Shipped, ShippedRequest},
    trace::{Target, TraceRequest},
};

use serde_json::json;

use crate::support::{Fixture, Forge, Indexed, PROJECT, Sandbox, Stuffing};

/// A repository with two releases and a commit that has not shipped.
fn repository() -> Fixture {
    let mut repository = Fixture::new();
    repository.author("Alice", "alice@acme.example");
    repository.write("src/cart.rs", "pub fn total() -> u32 {\n    1\n}\n");
    repository.commit_all("Add the cart");
    repository.git(["tag", "v1.0"]);
    repository.author("Bob", "bob@acme.example");
    repository.write("src/cart.rs", "pub fn total() -> u32 {\n    2\n}\n");
    repository.commit_all("Count every line of the cart");
    repository.write("src/order.rs", "pub fn order() {}\n");
    repository.commit_all("Add orders");
    repository.git(["tag", "-a", "-m", "Second", "v2.0"]);
    repository.write("src/later.rs", "pub fn later() {}\n");
    repository.commit_all("Add what comes later");
    repository
}

async fn releases(indexed: &Indexed) -> Vec<Release> {
    indexed.engine.answer(ListReleases { project: PROJECT.to_owned(), limit: 10 }).await.unwrap()
}

async fn shipped(indexed: &Indexed, from: Option<&str>, to: &str) -> Shipped {
    let request = ShippedRequest { project: None, from: from.map(str::to_owned), to: to.to_owned() };
    indexed.engine.answer(request).await.unwrap()
}

async fn first_shipped(indexed: &Indexed, path: &str, line: u32) -> Option<String> {
    let target = Target::Lines { path: path.to_owned(), lines: Some((line, line)) };
    let request = TraceRequest { project: None, target, rev: None, earlier: 0 };
    indexed.engine.answer(request).await.unwrap().first_release.map(|release| release.tag)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_says_in_which_release_it_first_shipped() {
    let repository = repository();
    let indexed = Indexed::cold(repository.path(), Branches::Default).await;
    assert_eq!(first_shipped(&indexed, "src/cart.rs", 1).await.as_deref(), Some("v1.0"));
    assert_eq!(first_shipped(&indexed, "src/cart.rs", 2).await.as_deref(), Some("v2.0"));
    assert_eq!(first_shipped(&indexed, "src/later.rs", 1).await, None);
    let listed = releases(&indexed).await;
    assert_eq!(listed.iter().map(|release| release.tag.as_str()).collect::<Vec<_>>(), ["v2.0", "v1.0"]);
    assert!(listed.iter().all(|release| release.at.is_some() && release.commit.is_some()), "{listed:#?}");
    indexed.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_several_commits_shipped_with_the_last_of_them() {
    let mut repository = repository();
    let range = || TraceRequest {
        project: None,
        target: Target::Lines { path: "src/cart.rs".to_owned(), lines: Some((1, 3)) },
        rev: None,
        earlier: 0,
    };
    let indexed = Indexed::cold(repository.path(), Branches::Default).await;
    let trace = indexed.engine.answer(range()).await.unwrap();
    assert_eq!(trace.first_release.map(|release| release.tag).as_deref(), Some("v2.0"));
    repository.write("src/cart.rs", "pub fn total() -> u32 {\n    2\n} // Of the cart.\n");
    repository.commit_all("Say what is counted");
    let indexed = Indexed::cold(repository.path(), Branches::Default).await;
    let trace = indexed.engine.answer(range()).await.unwrap();
    assert_eq!(trace.first_release, None);
    let short = repository.sha("main").short();
    let said = format!("{short} is in no release yet; the last of the other lines shipped in v2.0");
    assert!(trace.missing.contains(&said), "{:?}", trace.missing);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_was_put_on_an_old_commit_later_is_no_first_release() {
    let repository = repository();
    // The maintenance branch is tagged years after the release that came from it.
    let mut tag = repository.command();
    tag.env("GIT_COMMITTER_DATE", "2029-10-24T12:00:00Z").args([
        "tag",
        "-a",
        "-m",
        "Maintained",
        "0-maintenance",
        "v1.0",
    ]);
    assert!(tag.status().unwrap().success());
    let indexed = Indexed::cold(repository.path(), Branches::Default).await;
    assert_eq!(first_shipped(&indexed, "src/cart.rs", 1).await.as_deref(), Some("v1.0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_tags_that_were_made_in_one_second_that_on_the_older_commit_has_its_commits() {
    let repository = repository();
    repository.git(["tag", "-d", "v1.0", "v2.0"]);
    for (name, commit) in [("v1.9", "main~3"), ("v1.10", "main~1")] {
        let mut tag = repository.command();
        tag.env("GIT_COMMITTER_DATE", "2029-10-24T12:00:00Z").args(["tag", "-a", "-m", "Of a script", name, commit]);
        assert!(tag.status().unwrap().success());
    }
    let indexed = Indexed::cold(repository.path(), Branches::Default).await;
    assert_eq!(first_shipped(&indexed, "src/cart.rs", 1).await.as_deref(), Some("v1.9"));
    assert_eq!(first_shipped(&indexed, "src/cart.rs", 2).await.as_deref(), Some("v1.10"));
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_and_people_between_two_releases_are_told() {
    let repository = repository();
    let indexed = Indexed::cold(repository.path(), Branches::Default).await;
    let between = shipped(&indexed, Some("v1.0"), "v2.0").await;
    assert_eq!((between.count, between.commits.len(), between.missing.len()), (2, 2, 0), "{between:#?}");
    assert_eq!(between.contributors.len(), 1);
    assert_eq!(between.contributors[0].person, NodeId::person("bob@acme.example"));
    let first = shipped(&indexed, None, "v2.0").await;
    assert_eq!(first.count, 2);
    assert_eq!(shipped(&indexed, Some("v2.0"), "main").await.count, 1);
    assert_eq!(shipped(&indexed, None, "v1.0").await.count, 1);
    let unknown = ShippedRequest { project: None, from: Some("v0".to_owned()), to: "v2.0".to_owned() };
    assert!(
        indexed.engine.answer(unknown).await.unwrap_err().to_string().contains("'v0' is not a branch, tag or commit")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_a_release_are_told_newest_first_and_without_merges() {
    let mut repository = repository();
    repository.switch("invoices");
    repository.write("src/invoice.rs", "pub fn invoice() {}\n");
    let invoices = repository.commit_all("Add invoices");
    repository.git(["checkout", "--quiet", "main"]);
    repository.commit_index("Merge branch 'invoices'", &[invoices]);
    for step in 0..6 {
        repository.write("src/tax.rs", format!("pub const TAX: u32 = {step};\n"));
        repository.commit_all(format!("Set the tax to {step}"));
    }
    repository.git(["tag", "v3.0"]);
    let indexed = Indexed::cold(repository.path(), Branches::Default).await;
    let release = shipped(&indexed, None, "v3.0").await;
    let between = shipped(&indexed, Some("v2.0"), "v3.0").await;
    assert_eq!((release.count, release.commits.len()), (8, 8), "{release:#?}");
    assert_eq!((between.count, between.commits.len()), (8, 8), "{between:#?}");
    let linear = |shipped: &Shipped| shipped.commits.iter().take(6).cloned().collect::<Vec<NodeId>>();
    assert_eq!(linear(&release), linear(&between));
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_that_come_move_and_go_end_in_what_a_first_sync_says() {
    let mut repository = repository();
    let indexed = Indexed::cold(repository.path(), Branches::Default).await;
    repository.git(["tag", "v3.0"]);
    indexed.sync().await;
    indexed.equals_cold(repository.path(), "a tag came").await;
    assert_eq!(first_shipped(&indexed, "src/later.rs", 1).await.as_deref(), Some("v3.0"));
    repository.write("src/last.rs", "pub fn last() {}\n");
    repository.commit_all("Add the last");
    repository.git(["tag", "-f", "v3.0"]);
    indexed.sync().await;
    indexed.equals_cold(repository.path(), "a tag moved").await;
    assert_eq!(first_shipped(&indexed, "src/last.rs", 1).await.as_deref(), Some("v3.0"));
    repository.git(["tag", "-d", "v2.0"]);
    indexed.sync().await;
    indexed.equals_cold(repository.path(), "a tag went").await;
    assert_eq!(first_shipped(&indexed, "src/cart.rs", 2).await.as_deref(), Some("v3.0"));
    let tag = NodeId::Tag { project: PROJECT.to_owned(), name: "v3.0".to_owned() };
    let edges = indexed
        .engine
        .load_edges(vec![tag], backstory_engine::graph::Direction::In, Some(Edge::ShippedIn))
        .await
        .unwrap();
    assert_eq!(edges[0].len(), 4);
}

#[test]
fn a_release_is_read_when_its_tag_came_though_no_issue_changed() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let repository = repository();
    sandbox.run(&["add", repository.path().to_str().unwrap(), "--name", "acme/shop"]).ok();
    sandbox.run(&["sync"]).ok();
    forge.asked();
    sandbox.run(&["sync"]).ok();
    assert_eq!(forge.asked().len(), 2, "the tags are as they were");
    repository.git(["tag", "v3.0"]);
    let release = json!([{
        "tag_name": "v3.0",
        "name": "Invoices",
        "description": "",
        "created_at": "2024-06-03T12:00:00Z",
        "released_at": "2024-06-03T12:00:00Z",
        "upcoming_release": false,
    }]);
    forge.stuff("/releases", Stuffing { body: release.to_string().into(), headers: Vec::new() });
    let synced = sandbox.run(&["sync", "--json"]).ok().json();
    let asked = forge.asked();
    assert!(asked.iter().any(|asked| asked.contains("/releases")), "{asked:?}");
    assert_eq!(synced["changed"]["release"], 1, "{synced}");
}

#[test]
fn a_release_that_changes_the_date_of_its_tag_ships_what_a_first_sync_says() {
    let forge = Forge::start();
    let repository = repository();
    let with_code = || {
        let sandbox = Sandbox::synced(&forge);
        sandbox.run(&["add", repository.path().to_str().unwrap(), "--name", "acme/shop"]).ok();
        sandbox.run(&["sync"]).ok();
        sandbox
    };
    let digest = |sandbox: &Sandbox| sandbox.run(&["check", "--digest"]).ok().stdout;
    let sandbox = with_code();
    repository.git(["tag", "v3.0"]);
    // Before any other tag.
    let release = json!([{
        "tag_name": "v3.0",
        "name": "Invoices",
        "description": "",
        "created_at": "2023-06-03T12:00:00Z",
        "released_at": "2023-06-03T12:00:00Z",
        "upcoming_release": false,
    }]);
    forge.stuff("/releases", Stuffing { body: release.to_string().into(), headers: Vec::new() });
    let why = |sandbox: &Sandbox| sandbox.run(&["why", "src/cart.rs:2"]).ok().stdout;
    assert!(why(&sandbox).contains("First shipped in v2.0"), "{}", why(&sandbox));
    sandbox.run(&["sync"]).ok();
    assert!(why(&sandbox).contains("First shipped in v3.0"), "{}", why(&sandbox));
    assert_eq!(digest(&sandbox), digest(&with_code()));
}

#[test]
fn a_command_tells_what_shipped() {
    let sandbox = Sandbox::indexed(&repository());
    let told = sandbox.run(&["shipped", "v1.0..v2.0"]).ok();
    assert!(told.stdout.contains("2 commits, 0 merge requests, 0 issues, 1 contributor"), "{told:#?}");
    assert!(told.stdout.contains("bob@acme.example"), "{told:#?}");
    let listed = told.stdout.lines().skip_while(|line| *line != "Commits").skip(1).take_while(|line| !line.is_empty());
    assert_eq!(listed.count(), 2, "{told:#?}");
    let reversed = sandbox.run(&["shipped", "v2.0..v1.0"]).ok();
    let reason = "v1.0 does not follow v2.0, which has all of its commits; did you mean v1.0..v2.0?";
    assert!(reversed.stderr.contains(reason), "{reversed:#?}");
    assert!(sandbox.run(&["shipped", "v1.0..v1.0"]).ok().stderr.contains("v1.0 and v1.0 are the same commit"));
    assert!(sandbox.run(&["shipped", "v1.0.."]).error(2).contains("name two revisions"));
    let why = sandbox.run(&["why", "src/cart.rs:2"]).ok();
    assert!(why.stdout.contains("First shipped in v2.0"), "{why:#?}");
    let why = sandbox.run(&["why", "src/cart.rs:1-3"]).ok();
    assert!(why.stdout.contains("The last of these lines shipped in v2.0"), "{why:#?}");
}
