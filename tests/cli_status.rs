//! What commands say about what was read, what could not be, and what is waited for.

use std::fs;

use expect_test::expect;
use serde_json::json;

use crate::{
    cli_repositories::shop,
    support::{FIRST_COMMIT_AT, Fault, Fixture, Forge, Sandbox, eventually},
};

/// The lines of a table, spaces between the columns made one.
fn cells(table: &str) -> Vec<String> {
    table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

// Row 77 of docs/requirements.md.
#[test]
fn a_sync_that_waits_for_a_rate_limit_says_so() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    forge.fail(Fault::Wait(8), "/issues", 1);
    let sync = sandbox.spawn(&["sync"]);
    let said = "rate limited, continuing in ";
    let status = || sandbox.run(&["sync-status"]).ok().stdout;
    eventually("the pause", || status().lines().next().is_some_and(|line| line.contains(said)));
    // Who finds nothing meanwhile is told why.
    let noted = sandbox.run(&["search", "session cookies"]).ok().stderr;
    assert!(noted.contains("note: a sync is running, so not everything is there yet: "), "{noted}");
    let shown = sandbox.run(&["status"]).ok().stderr;
    assert!(shown.contains("note: a sync is running: "), "{shown}");
    let output = sandbox.output(&sync.wait_with_output().unwrap()).ok();
    assert!(output.stderr.contains(said), "{output:?}");
}

// Row 92 of docs/requirements.md.
#[test]
fn what_failed_in_a_repository_is_reported_until_it_succeeds() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let doctor = || sandbox.run(&["doctor"]).stdout;
    let said = "the repository of acme/shop could not be read on ";
    let repository = || sandbox.run(&["repos", "--json"]).ok().json()[0].take();
    assert_eq!((&repository()["state"], &repository()["last_error"]), (&json!("ready"), &json!(null)));
    let away = sandbox.path().join("away");
    let there = shop.path().canonicalize().unwrap();
    fs::rename(&there, &away).unwrap();
    assert_ne!(sandbox.run(&["sync"]).code, 0);
    let failed = repository();
    assert_eq!(failed["state"], "error");
    assert!(failed["last_error"].as_str().unwrap().contains("cannot be read"), "{failed}");
    assert!(failed["failed_at"].is_string() && failed["commits"] == 3, "{failed}");
    for output in [sandbox.run(&["repos"]).ok().stderr, sandbox.run(&["status"]).ok().stderr, doctor()] {
        assert!(output.contains(said), "{output}");
    }
    assert_eq!(cells(&sandbox.run(&["repos"]).ok().stdout)[1].split(' ').nth(1), Some("error"));
    fs::rename(&away, &there).unwrap();
    sandbox.run(&["sync"]).ok();
    assert_eq!(repository()["state"], "ready");
    for output in [sandbox.run(&["repos"]).ok().stderr, sandbox.run(&["status"]).ok().stderr, doctor()] {
        assert!(!output.contains(said), "{output}");
    }
}

#[test]
fn what_failed_at_a_forge_is_reported_until_it_succeeds() {
    let forge = Forge::start();
    let mut sandbox = Sandbox::synced(&forge);
    let said = "the forge of acme/shop could not be read on ";
    sandbox.set("SHOP_TOKEN", "revoked");
    assert_eq!(sandbox.run(&["sync"]).code, 3);
    let status = sandbox.run(&["status"]).ok();
    assert!(status.stderr.contains(said) && status.stderr.contains("401"), "{status:?}");
    assert!(sandbox.run(&["status", "--json"]).ok().json()["projects"][0]["last_error"].is_string());
    assert!(sandbox.run(&["doctor"]).stdout.contains(said));
    sandbox.set("SHOP_TOKEN", crate::support::TOKEN);
    sandbox.run(&["sync"]).ok();
    assert_eq!(sandbox.run(&["status"]).ok().stderr, "");
    assert!(!sandbox.run(&["doctor"]).ok().stdout.contains(said));
}

// Rows 137 and 145 of docs/requirements.md.
#[test]
fn status_shows_when_a_project_of_a_forge_was_synced_and_of_one_project_alone() {
    let (forge, shop) = (Forge::start(), shop());
    let sandbox = Sandbox::synced(&forge);
    let today = jiff::Timestamp::now().to_string()[..10].to_owned();
    let line = &cells(&sandbox.run(&["status"]).ok().stdout)[1];
    assert!(line.starts_with(&format!("acme/shop – – – {today} ")), "{line}");
    sandbox.run(&["add", &shop.path().display().to_string(), "--name", "acme/other"]).ok();
    let projects = |args: &[&str]| {
        let status = sandbox.run(&[&["status", "--json"], args].concat()).ok().json();
        status["projects"].as_array().unwrap().iter().map(|of| of["project"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(projects(&[]), ["acme/other", "acme/shop"]);
    assert_eq!(projects(&["acme/other"]), ["acme/other"]);
    expect!["the project acme/shp is neither configured in backstory.toml nor a repository that was added; did you mean acme/shop?"]
        .assert_eq(sandbox.run(&["status", "acme/shp"]).error(2));
}

// Rows 69, 70 and 144 of docs/requirements.md.
#[test]
fn a_sync_is_narrowed_to_projects_and_parts() {
    let (forge, shop) = (Forge::start(), shop());
    let sandbox = Sandbox::synced(&forge);
    let asked = |what: &str| forge.asked().iter().any(|request| request.contains(what));
    forge.asked();
    assert_eq!(sandbox.run(&["sync", "--only", "issues"]).ok().stdout, "0 issues, 0 MRs updated\n");
    assert!(!asked("/merge_requests"));
    sandbox.run(&["sync", "--only", "merge-requests"]).ok();
    assert!(!asked("/issues"));
    expect!["what is asked for has no repository; 'backstory add PATH --name GROUP/PROJECT' adds one"]
        .assert_eq(sandbox.run(&["sync", "--only", "repository"]).error(2));
    sandbox.run(&["add", &shop.path().display().to_string(), "--name", "acme/other"]).ok();
    forge.asked();
    expect![[r#"
        0 commits, 0 files indexed of 1 repository
    "#]]
    .assert_eq(&sandbox.run(&["sync", "--only", "repository"]).ok().stdout);
    sandbox.run(&["sync", "acme/other"]).ok();
    assert!(forge.asked().is_empty());
    let runs = sandbox.run(&["sync-status", "--json"]).ok().json()["runs"].clone();
    assert_eq!((&runs[0]["command"], &runs[1]["command"]), (&json!("sync"), &json!("sync --only repository")));
    assert_eq!((&runs[0]["projects"], &runs[1]["projects"]), (&json!(["acme/other"]), &json!([])));
    expect!["what is asked for has a repository only, and no forge with issues or merge requests"]
        .assert_eq(sandbox.run(&["sync", "acme/other", "--only", "issues"]).error(2));
    assert_eq!(sandbox.run(&["sync", "acme/shp"]).code, 2);
}

#[test]
fn a_sync_of_a_part_is_none_of_the_whole() {
    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    sandbox.run(&["sync", "--only", "issues"]).ok();
    let counted = |sandbox: &Sandbox| sandbox.run(&["count", "--json"]).ok().json();
    assert_eq!((&counted(&sandbox)["issues"], &counted(&sandbox)["merge_requests"]), (&json!(6), &json!(0)));
    assert_eq!(sandbox.run(&["status", "--json"]).ok().json()["projects"][0]["synced_at"], json!(null));
    sandbox.run(&["sync"]).ok();
    let whole = Sandbox::synced(&forge);
    assert_eq!(counted(&sandbox), counted(&whole));
    let digest = |sandbox: &Sandbox| sandbox.run(&["check", "--digest"]).ok().stdout;
    assert_eq!(digest(&sandbox), digest(&whole));
}

// Row 151 of docs/requirements.md.
#[test]
fn secrets_in_changed_lines_are_reported_and_none_twice() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let mut repository = Fixture::new();
    let secret = format!("{}{}", "glpat", "-Zx9Kq2LmN4pR7sT1vW3y");
    repository.write("settings.py", format!("TOKEN = '{secret}'\n"));
    repository.commit_all("Settings");
    repository.write("settings.py", "TOKEN = None\n");
    repository.commit_all("Other settings");
    sandbox.run(&["add", &repository.path().display().to_string(), "--name", "acme/tool"]).ok();
    let summary = sandbox.run(&["sync-status", "--json"]).ok().json()["runs"][0]["summary"].clone();
    assert_eq!(summary["redactions"]["gitlab-token"], 2, "one line with it came and went: {summary}");
    assert!(!sandbox.run(&["sync"]).ok().stdout.contains("secret"));
    assert!(!sandbox.run(&["sync", "--full"]).ok().stdout.contains("secret"));

    forge.advance(3600);
    forge.discuss("acme/shop#2", "carol", &format!("Use this token: {secret}, it may write."));
    assert!(sandbox.run(&["sync"]).ok().stdout.contains("; secrets replaced in 1 place"));
    forge.advance(3600);
    forge.discuss("acme/shop#2", "bob", "Please revoke it.");
    let again = sandbox.run(&["sync"]).ok().stdout;
    assert!(again.contains("1 issue, 0 merge requests updated") && !again.contains("secret"), "{again}");
}

#[test]
fn jobs_of_a_removed_repository_go_with_it() {
    use backstory_engine::ledger::{JobKind, Ledger, NewJob};
    let (forge, shop) = (Forge::start(), shop());
    let sandbox = Sandbox::synced(&forge);
    let path = shop.path().display().to_string();
    sandbox.run(&["add", &path, "--name", "acme/other"]).ok();
    sandbox.run(&["add", &path, "--name", "acme/shop"]).ok();
    let ledger = Ledger::open(&sandbox.data().join("ledger.sqlite")).unwrap();
    let now = jiff::Timestamp::now();
    for project in ["acme/other", "acme/shop"] {
        let job = NewJob { kind: JobKind::Sync, project: project.to_owned(), subject: None };
        ledger.queue_job(&job, now, now).unwrap();
    }
    drop(ledger);
    for project in ["acme/other", "acme/shop"] {
        sandbox.run(&["remove", project]).ok();
    }
    let jobs = sandbox.run(&["jobs", "list", "--json"]).ok().json();
    let left: Vec<_> = jobs.as_array().unwrap().iter().map(|job| &job["project"]).collect();
    assert_eq!(left, ["acme/shop"], "which the forge still has");
}

#[test]
fn a_copy_of_a_configured_project_is_read_as_that() {
    let (forge, shop) = (Forge::start(), shop());
    let sandbox = Sandbox::new(&forge);
    let mirror = |name: &str| {
        let path = sandbox.path().join(name).display().to_string();
        shop.git(["clone", "--quiet", "--bare", ".", &path]);
        path
    };
    let added = |path: &str| {
        let output = sandbox.run(&["add", path, "--json"]).ok();
        (output.json()["repository"]["project"].as_str().unwrap().to_owned(), output.stderr)
    };
    // Nothing but the name says so.
    let (project, said) = added(&mirror("shop.git"));
    assert_eq!(project, "shop");
    assert!(said.contains("if this is a copy of acme/shop, which is configured"), "{said}");
    sandbox.run(&["remove", "shop"]).ok();
    // A remote of any name does.
    let path = mirror("one.git");
    shop.git(["--git-dir", &path, "remote", "add", "upstream", "https://gitlab.example.com/acme/shop.git"]);
    let (project, said) = added(&path);
    assert_eq!(project, "acme/shop");
    assert!(said.contains("this is a copy of acme/shop, which is configured, and is read as that"), "{said}");
    sandbox.run(&["remove", "acme/shop"]).ok();
    // So does a commit that a merge request was merged as, once the forge was read.
    let path = mirror("two.git");
    let (project, said) = added(&path);
    assert_eq!(project, "two");
    let hint = "if this is a copy of acme/shop, which is configured, stop this with Ctrl-C, then 'backstory remove two' and \
                add it with '--name acme/shop'";
    assert!(said.contains(hint), "{said}");
    assert!(!added(&path).1.contains("copy"), "it was said");
    sandbox.run(&["remove", "two"]).ok();
    forge.set_merge_commit("acme/shop!2", &shop.sha("main").to_string());
    sandbox.run(&["sync", "--full"]).ok();
    assert_eq!(added(&path).0, "acme/shop");
    sandbox.run(&["remove", "acme/shop"]).ok();
    assert_eq!(added(&shop.path().display().to_string()).0, "acme/shop", "a working tree is a copy too");
    // What has a repository needs no other.
    let mut other = Fixture::new();
    other.write("README.md", "Something else.\n");
    other.commit_all("Begin");
    assert!(!added(&other.path().display().to_string()).1.contains("copy"));
}

#[test]
fn what_was_left_out_is_told_of_the_projects_that_are_asked_about() {
    let (shop, deep) = (shop(), Fixture::new());
    let sandbox = Sandbox::indexed(&shop);
    let stream = format!(
        "commit refs/heads/main\ncommitter A <a@x.org> {FIRST_COMMIT_AT} +0000\ndata 5\nBegin\n\
         M 100644 inline {}file\ndata 5\ndeep\n\n",
        "d/".repeat(300)
    );
    deep.git_with(["fast-import", "--quiet"], stream.as_bytes());
    let said = "acme/deep: 1 path is left out, too deep or unfolding to too many files: d/d/d/";
    let told = |output: &str| output.contains(said);
    assert!(told(&sandbox.run(&["add", &deep.path().display().to_string(), "--name", "acme/deep"]).ok().stderr));
    for args in [&["sync"][..], &["sync", "acme/deep"], &["sync", "--project", "acme/deep"], &["status"], &["repos"]] {
        let output = sandbox.run(args).ok();
        assert!(told(&output.stderr), "{args:?}: {output:?}");
    }
    for args in [&["sync", "acme/shop"][..], &["sync", "--project", "acme/shop"], &["status", "acme/shop"]] {
        let output = sandbox.run(args).ok();
        assert!(!output.stderr.contains("acme/deep"), "{args:?}: {output:?}");
    }
    let doctor = sandbox.run(&["doctor"]).ok().stdout;
    assert!(doctor.lines().any(|line| line.starts_with("! repository ") && told(line)), "{doctor}");
}

#[test]
fn what_is_not_configured_is_said() {
    let sandbox = Sandbox::empty();
    expect![[r#"
        No forge is configured in backstory.toml, so there is no token to test; 'backstory init' writes a configuration with one
    "#]]
    .assert_eq(&sandbox.run(&["auth-test"]).ok().stdout);
    assert_eq!(sandbox.run(&["auth-test", "--json"]).ok().json(), json!([]));

    let forge = Forge::start();
    let sandbox = Sandbox::new(&forge);
    sandbox.write_config(&format!(
        "data_dir = \"data\"\n[[forge]]\nkind = \"gitlab\"\nbase_url = \"{}\"\ntoken_env = \"SHOP_TOKEN\"\n",
        forge.url
    ));
    let doctor = sandbox.run(&["doctor"]).ok().stdout;
    let said = "none is named for [FORGE], so only those are read from it that 'backstory add URL' added; name others as projects under its [[forge]]";
    assert!(doctor.contains(said), "{doctor}");
}
