//! Git repositories from the command line: adding, listing, reading what is new, removing, and what is refused.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::Stdio,
};

use backstory_engine::{ledger::Branches, repository::CloneProblem};
use expect_test::expect;
use serde_json::{Value, json};

use crate::support::{Fixture, Forge, Indexed, PROJECT, Sandbox, Signal, eventually, signal};

/// A repository of a shop: three commits on `main`, one more on `next`, a tag.
pub(crate) fn shop() -> Fixture {
    let mut shop = Fixture::new();
    shop.write("README.md", "# Shop\n\nSells things.\n");
    shop.write(
        "src/session.py",
        "def load(key):\n    return store(key)\n\n\ndef store(key):\n    \"\"\"Keeps it.\"\"\"\n    return key\n",
    );
    shop.commit_all("feat: keep sessions in Redis\n\nRather than in memcached, because memcached loses every session on a restart.\n");
    shop.write("src/cart.py", "from session import load\n\n\ndef total(key):\n    # NOTE: rounding must not happen here, because taxes are rounded per line\n    return load(key)\n");
    shop.commit_all("Add the cart\n\nCloses #1\n");
    shop.git(["mv", "README.md", "INTRO.md"]);
    shop.author("Grace Hopper", "grace@example.com").commit_all("docs: the read-me is an introduction");
    shop.git(["tag", "v1"]);
    shop.switch("next").write("src/next.py", "def next():\n    pass\n");
    shop.commit_all("Begin what comes next");
    shop.switch("main");
    shop
}

/// A text with `[REPO]` for the repository and `TIME` for times.
fn tidy(text: &str, repository: &Path) -> String {
    let text = text.replace(&repository.canonicalize().unwrap().display().to_string(), "[REPO]");
    let words = |line: &str| {
        let (line, took) = line.split_once(" in ").filter(|(_, took)| took.ends_with(" s")).unwrap_or((line, ""));
        let mut words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        // 2024-03-15 10:00
        while let Some(day) = words.iter().position(|word| word.len() == 10 && word.as_bytes()[4] == b'-') {
            words.splice(day..(day + 2).min(words.len()), ["TIME"]);
        }
        let line = words.join(" ");
        if took.is_empty() { line } else { format!("{line} in TIME") }
    };
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

/// The last line of standard error, without `error: `, of a command that failed with that code.
#[track_caller]
fn last_error(sandbox: &Sandbox, args: &[&str], code: i32) -> String {
    let output = sandbox.run(args);
    assert_eq!((output.code, output.stdout.as_str()), (code, ""), "{output:?}");
    output.stderr.lines().last().unwrap().strip_prefix("error: ").unwrap_or_else(|| panic!("{output:?}")).to_owned()
}

#[test]
fn repository_is_added_listed_read_again_and_removed() {
    let mut shop = shop();
    let sandbox = Sandbox::empty();
    let path = shop.path().display().to_string();
    let added = sandbox.run(&["add", &path, "--name", "acme/shop"]).ok();
    expect!["Indexed acme/shop: 3 commits, 3 files, main at 04fa08fc in TIME"]
        .assert_eq(&tidy(&added.stdout, shop.path()));
    expect![[r#"
        PROJECT STATE HEAD BRANCHES COMMITS FILES SYNCED ADDRESS
        acme/shop ready main at 04fa08fc default 3 3 TIME [REPO]"#]]
    .assert_eq(&tidy(&sandbox.run(&["repos"]).ok().stdout, shop.path()));
    expect![[r#"
        PROJECT HEAD COMMITS FILES SYNCED ISSUES TO MERGE REQUESTS TO
        acme/shop main at 04fa08fc 3 3 TIME – –

        10 documents, 0 with vectors"#]]
    .assert_eq(&tidy(&sandbox.run(&["status"]).ok().stdout, shop.path()));
    expect![[r#"
        0 commits, 0 files indexed of 1 repository
    "#]]
    .assert_eq(&sandbox.run(&["sync"]).ok().stdout);

    shop.write("src/cart.py", "def total(key):\n    return 0\n");
    shop.commit_all("Give everything away");
    let summary = sandbox.run(&["sync", "--json"]).ok().json();
    assert_eq!((&summary["changed"]["commit"], &summary["repositories"]), (&json!(1), &json!(1)), "{summary}");
    assert_eq!(sandbox.run(&["repos", "--json"]).ok().json()[0]["commits"], 4);
    assert_eq!(sandbox.run(&["repos", "--json"]).ok().json()[0]["head"], shop.sha("main").to_string());
    expect![[r#"
        0 commits, 0 files indexed of 1 repository
    "#]]
    .assert_eq(&sandbox.run(&["sync", "--full"]).ok().stdout);
    assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true);

    let found = sandbox.run(&["search", "memcached", "--mode", "lexical", "--json"]).ok().json();
    assert_eq!(found["hits"][0]["kind"], "commit", "{found}");
    let stats = sandbox.run(&["stats", "--json"]).ok().json();
    assert_eq!((&stats["commits"], &stats["branches"], &stats["tags"]), (&json!(4), &json!(1), &json!(1)), "{stats}");
    assert!(stats["code_entities"].as_u64() >= Some(3) && stats["design_notes"].as_u64() >= Some(1), "{stats}");

    let removed = sandbox.run(&["remove", "acme/shop"]).ok().stdout;
    assert!(removed.starts_with("Removed acme/shop with its clone; ") && removed.ends_with("deleted\n"), "{removed}");
    assert_eq!(sandbox.run(&["repos", "--json"]).ok().json(), json!([]));
    assert_eq!(sandbox.run(&["stats", "--json"]).ok().json()["commits"], 0);
    assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true);
    let clones = sandbox.path().join("home/.local/share/backstory/clones");
    assert_eq!(fs::read_dir(clones).unwrap().count(), 0);
}

#[test]
fn what_is_of_a_repository_gets_vectors() {
    let mut shop = shop();
    // Characters that end the path of a project in other references.
    shop.write("odd/a#b!c@d:e.py", "def odd():\n    return 1\n");
    shop.commit_all("Odd names");
    let sandbox = Sandbox::indexed(&shop);
    sandbox.run(&["embed"]).ok();
    let stats = sandbox.run(&["stats", "--json"]).ok().json();
    assert_eq!(stats["coverage"]["embedded"], stats["coverage"]["documents"], "{stats}");
    let found = sandbox.run(&["search", "add up what is in the shopping cart", "--mode", "semantic", "--json"]);
    assert!(!found.ok().json()["hits"].as_array().unwrap().is_empty());
}

#[test]
fn no_temporary_files_are_left() {
    let shop = shop();
    let sandbox = Sandbox::empty();
    let temporary = sandbox.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut add = sandbox.command(&["add", &shop.path().display().to_string()]);
    assert!(add.env("TMPDIR", &temporary).output().unwrap().status.success());
    assert_eq!(fs::read_dir(temporary).unwrap().count(), 0);
}

#[test]
fn nothing_is_indexed_at_first() {
    let sandbox = Sandbox::empty();
    expect![[r#"
        No repository is indexed; 'backstory add PATH' adds one.
    "#]]
    .assert_eq(&sandbox.run(&["repos"]).ok().stdout);
    expect![[r#"
        Nothing is indexed; 'backstory add PATH' indexes a repository, 'backstory init' configures a forge.
    "#]]
    .assert_eq(&sandbox.run(&["status"]).ok().stdout);
    expect![[r#"
        No sync yet; 'backstory sync' reads what is configured, 'backstory add PATH' a repository.
    "#]]
    .assert_eq(&sandbox.run(&["sync-status"]).ok().stdout);
    let status = sandbox.run(&["status", "--json"]).ok().json();
    assert_eq!((&status["projects"], &status["last_sync"]), (&json!([]), &Value::Null));
}

#[test]
fn the_name_comes_from_the_origin_or_the_directory() {
    let shop = shop();
    let sandbox = Sandbox::empty();
    let project = |args: &[&str]| {
        let added = sandbox.run(&[&["add", "--json"], args].concat()).ok().json();
        added["repository"]["project"].as_str().unwrap().to_owned()
    };
    // A path is relative to where the command is run, not to where a server is.
    shop.git(["clone", "--quiet", ".", &sandbox.path().join("my shop").display().to_string()]);
    assert_eq!(project(&["my shop"]), "my-shop");
    shop.git(["remote", "add", "origin", "git@gitlab.example.com:acme/store.git"]);
    assert_eq!(project(&[&shop.path().display().to_string()]), "acme/store");
    assert_eq!(project(&[&shop.path().display().to_string(), "--name", "one"]), "one");
}

#[test]
fn branches_are_chosen() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let path = shop.path().display().to_string();
    let indexed = |more: &[&str]| {
        let args = [&["add", &path, "--name", "acme/shop", "--json"], more].concat();
        let repository = sandbox.run(&args).ok().json()["repository"].take();
        let names: Vec<_> =
            repository["indexed"].as_array().unwrap().iter().map(|of| of["branch"].as_str().unwrap()).collect();
        (names.join(" "), repository["commits"].as_u64().unwrap(), repository["branches"]["which"].clone())
    };
    // A second add of the same repository chooses its branches again.
    assert_eq!(indexed(&[]), ("main".to_owned(), 3, json!("default")));
    assert_eq!(indexed(&["--branch", "next"]), ("main next".to_owned(), 4, json!("selected")));
    assert_eq!(indexed(&["--all-branches"]), ("main next".to_owned(), 4, json!("all")));
    for (more, said) in [
        (["--branch", "later"], "'later' is not a branch of new; its branches are main, next"),
        (["--branch", "nxet"], "'nxet' is not a branch of new; its branches are main, next; did you mean next?"),
        (["--ref", "v11"], "'v11' is not a branch, tag or commit of new"),
        (["--ref", "v"], "'v' is not a branch, tag or commit of new"),
        (["--ref", "mian"], "'mian' is not a branch, tag or commit of new; did you mean main?"),
        (["--ref", "1a2b3c4d"], "'1a2b3c4d' is not a branch, tag or commit of new"),
    ] {
        let args = [&["add", &path, "--name", "new"][..], &more].concat();
        assert_eq!(sandbox.run(&args).error(1), said);
    }
    let unknown = ["add", &path, "--name", "acme/shop", "--ref", "1a2b3c4d"];
    assert_eq!(sandbox.run(&unknown).error(1), "'1a2b3c4d' is not a branch, tag or commit of acme/shop");
    assert_eq!(sandbox.run(&["repos", "--json"]).ok().json().as_array().unwrap().len(), 1);
    let known = shop.sha("main~1").short();
    let added = sandbox.run(&["add", &path, "--name", "acme/shop", "--ref", &known, "--json"]).ok().json();
    let revisions = added["repository"]["revisions"].as_array().unwrap();
    assert!(revisions.iter().any(|revision| revision["name"] == json!(known)), "{added}");
    assert!(revisions.iter().all(|revision| !revision["commit"].is_null()), "what was refused is not kept: {added}");
    let both = sandbox.run(&["add", &path, "--branch", "next", "--all-branches"]);
    assert_eq!((both.code, both.stdout.as_str()), (2, ""));
}

#[test]
fn commit_that_no_branch_reaches_is_refused_unless_it_was_read_before() {
    let mut shop = shop();
    shop.switch("tried").write("src/tried.py", "def tried():\n    pass\n");
    let tried = shop.commit_all("Try something").to_string();
    shop.switch("main");
    shop.git(["branch", "--quiet", "-D", "tried"]);
    let sandbox = Sandbox::empty();
    let path = shop.path().display().to_string();
    let add = ["add", &path, "--name", "acme/shop", "--ref", &tried];
    let refused = sandbox.run(&add);
    let said = format!(
        "error: no branch or tag of acme/shop reaches the commit {tried}, so it cannot be indexed; 'git branch NAME {tried}' \
         makes a branch that does\n"
    );
    assert_eq!((refused.code, refused.stderr.as_str()), (1, said.as_str()));
    shop.git(["branch", "--quiet", "tried", &tried]);
    sandbox.run(&add).ok();
    shop.git(["branch", "--quiet", "-D", "tried"]);
    sandbox.run(&["sync"]).ok();
    sandbox.run(&add).ok();
    assert_eq!(sandbox.run(&["repos"]).ok().stderr, "");
}

#[test]
fn ref_that_is_gone_is_told_with_the_command_that_drops_it() {
    let shop = shop();
    let sandbox = Sandbox::empty();
    let path = shop.path().display().to_string();
    sandbox.run(&["add", &path, "--name", "acme/shop", "--ref", "next"]).ok();
    shop.git(["branch", "--quiet", "-D", "next"]);
    sandbox.run(&["sync"]).ok();
    let repositories = sandbox.run(&["repos"]).ok();
    let address = shop.path().canonicalize().unwrap().display().to_string();
    let expected = format!(
        "warning: acme/shop: it has no branch, tag or commit next, so that is not indexed; 'backstory add {address} \
         --drop-ref next' drops it\n"
    );
    assert_eq!(repositories.stderr, expected);
    sandbox.run(&["add", &address, "--name", "acme/shop", "--drop-ref", "next"]).ok();
    assert_eq!(sandbox.run(&["repos"]).ok().stderr, "");
}

#[test]
fn what_is_no_repository_is_refused() {
    let sandbox = Sandbox::empty();
    fs::create_dir(sandbox.path().join("plain")).unwrap();
    fs::write(sandbox.path().join("file"), "").unwrap();
    let refused = |address: &str| sandbox.run(&["add", "--", address]).error(2).to_owned();
    expect!["'[DIR]/plain' is not a git repository; give the directory that holds .git, or a bare repository"]
        .assert_eq(&refused("plain"));
    expect!["'[DIR]/file' is not a git repository; give the directory that holds .git, or a bare repository"]
        .assert_eq(&refused("file"));
    expect!["'[DIR]/none' cannot be read: No such file or directory"].assert_eq(&refused("none"));
    expect!["'' is not the address of a repository: give a path or a URL of at most 4096 bytes"]
        .assert_eq(&refused(""));
    expect!["'-x' is not the address of a repository: it begins with a dash; write a path as ./-name"]
        .assert_eq(&refused("-x"));
    expect!["host '127.0.0.1' is at 127.0.0.1, which is this machine; if that is intended, name the host in allowed_hosts under [repositories] in the configuration"].assert_eq(&refused("http://127.0.0.1:1/x"));
    expect!["host '10.0.0.1' is at 10.0.0.1, which is a private network; if that is intended, name the host in allowed_hosts under [repositories] in the configuration"].assert_eq(&refused("http://10.0.0.1/x"));
    expect!["host '::1' is at ::1, which is this machine; if that is intended, name the host in allowed_hosts under [repositories] in the configuration"].assert_eq(&refused("http://[::1]/x"));
    expect!["'file:///x' is not the address of a repository: write the path of a local repository without file://"]
        .assert_eq(&refused("file:///x"));
    expect!["'ext::x' is not the address of a repository: write user@host:path, https://host/path, or ./ before a path that has a colon"].assert_eq(&refused("ext::x"));
    expect!["'https://example.com/x' is not the address of a repository: it has credentials in it; configure a token from an environment variable instead"].assert_eq(&refused("https://me:secret@example.com/x"));
    assert_eq!(sandbox.run(&["repos", "--json"]).ok().json(), json!([]));
}

#[test]
fn what_cannot_be_read_is_not_kept() {
    let sandbox = Sandbox::empty();
    let empty = Fixture::new();
    let path = empty.path().display().to_string();
    expect!["acme/empty has no commit on any branch yet; there is nothing to index before the first one; the repository was not kept, so add it again when that is put right"]
        .assert_eq(&last_error(&sandbox, &["add", &path, "--name", "acme/empty"], 2));
    sandbox.write_config("[repositories]\nallowed_hosts = [\"127.0.0.1\"]\n");
    let unreachable = last_error(&sandbox, &["add", "http://127.0.0.1:1/acme/shop.git"], 1);
    assert!(unreachable.starts_with("acme/shop: git ls-remote failed"), "{unreachable}");
    assert!(unreachable.contains("'http://127.0.0.1:1/acme/shop.git/'"), "{unreachable}");
    assert!(
        unreachable.ends_with("; the repository was not kept, so add it again when that is put right"),
        "{unreachable}"
    );
    assert_eq!(sandbox.run(&["repos", "--json"]).ok().json(), json!([]));
    assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true);
}

/// A server that reads it first, by its schedule, does not take it off the list before the command that adds it reports why.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_schedule_cannot_read_is_told_to_who_adds_it() {
    let (sandbox, empty) = (Sandbox::empty(), Fixture::new());
    let server = sandbox.serve();
    let path = empty.path().display().to_string();
    let query = "mutation ($path: String!) { addRepository(address: $path, name: \"acme/empty\") { project { id } } }";
    let request = json!({ "query": query, "variables": { "path": path } });
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let added = http.post(format!("{}/graphql", server.url)).json(&request).send().await.unwrap();
    assert_eq!(added.json::<Value>().await.unwrap()["data"]["addRepository"]["project"]["id"], "acme/empty");
    eventually("the schedule has tried to read it", || {
        let listed = sandbox.run(&["repos", "--json"]).ok().json();
        assert_eq!(listed[0]["project"], "acme/empty", "{listed}");
        listed[0]["last_error"].is_string()
    });
    let said = last_error(&sandbox, &["add", &path, "--name", "acme/empty"], 2);
    assert!(said.starts_with("acme/empty has no commit") && said.contains("was not kept"), "{said}");
    assert_eq!(sandbox.run(&["repos", "--json"]).ok().json(), json!([]));
    assert_eq!(sandbox.run(&["jobs", "list", "--json"]).ok().json(), json!([]));
}

#[test]
fn names_must_be_free_paths() {
    let (shop, other) = (shop(), shop());
    let sandbox = Sandbox::indexed(&shop);
    let other = other.path().display().to_string();
    let taken = sandbox.run(&["add", &other, "--name", "acme/shop"]);
    expect!["acme/shop is already the repository at [REPO]; add this one as another project with 'backstory add --name NAME', or remove that one with 'backstory remove acme/shop'"].assert_eq(&tidy(taken.error(1), shop.path()));
    expect!["'a b' is not the path of a project; write group/project or a single name"]
        .assert_eq(sandbox.run(&["add", &other, "--name", "a b"]).error(2));
    expect!["there is no repository acme/none; known: acme/shop"]
        .assert_eq(sandbox.run(&["remove", "acme/none"]).error(1));
    expect!["the project acme/shp is neither configured in backstory.toml nor a repository that was added; did you mean acme/shop?"].assert_eq(sandbox.run(&["sync", "--project", "acme/shp"]).error(2));
    expect!["there is no repository acme/shop; there is none yet"]
        .assert_eq(Sandbox::empty().run(&["remove", "acme/shop"]).error(1));
    expect!["the project acme/shop is neither configured in backstory.toml nor a repository that was added; 'backstory add PATH' adds a repository"].assert_eq(Sandbox::empty().run(&["sync", "--project", "acme/shop"]).error(2));
}

#[test]
fn a_project_can_be_of_a_forge_and_of_a_repository() {
    let (forge, shop) = (Forge::start(), shop());
    let sandbox = Sandbox::synced(&forge);
    sandbox.run(&["add", &shop.path().display().to_string(), "--name", "acme/shop"]).ok();
    expect![[r#"
        0 issues, 0 MRs updated; 0 commits, 0 files indexed of 1 repository
    "#]]
    .assert_eq(&sandbox.run(&["sync"]).ok().stdout);
    expect![[r#"
        PROJECT HEAD COMMITS FILES SYNCED ISSUES TO MERGE REQUESTS TO
        acme/shop main at 04fa08fc 3 3 TIME TIME TIME

        35 documents, 0 with vectors"#]]
    .assert_eq(&tidy(&sandbox.run(&["status"]).ok().stdout, shop.path()));
    sandbox.run(&["remove", "acme/shop"]).ok();
    assert_eq!(sandbox.run(&["count", "--json"]).ok().json()["issues"], 6, "what the forge says stays");
    assert_eq!(sandbox.run(&["check", "--json"]).ok().json()["ok"], true);
}

#[test]
fn doctor_checks_git_and_the_clones() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let doctor = sandbox.run(&["doctor"]).ok().stdout;
    assert!(doctor.contains("git") && doctor.contains("the clone of acme/shop can be read"), "{doctor}");
    fs::remove_dir_all(sandbox.path().join("home/.local/share/backstory/clones")).unwrap();
    let doctor = sandbox.run(&["doctor", "--json"]);
    assert_eq!((doctor.code, &doctor.json()["success"]), (1, &json!(false)));
    let said = doctor.json()["checks"].to_string();
    assert!(said.contains("its clone is missing; 'backstory sync --project acme/shop' clones it again"), "{said}");
    sandbox.run(&["sync", "--project", "acme/shop"]).ok();
    sandbox.run(&["doctor"]).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_no_sync_has_read_to_its_end_is_told_from_a_broken_one() {
    let shop = shop();
    let indexed = Indexed::added(shop.path(), Branches::Default).await;
    let problems = indexed.engine.check_clones().await.unwrap();
    assert_eq!(problems, [(PROJECT.to_owned(), Some(CloneProblem::NotIndexed))]);
    indexed.sync().await;
    assert_eq!(indexed.engine.check_clones().await.unwrap(), [(PROJECT.to_owned(), None)]);
}

#[test]
fn a_sync_of_a_repository_whose_source_is_gone_fails_without_blaming_the_command() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    drop(shop);
    let failed = sandbox.run(&["sync", "acme/shop"]);
    assert_eq!((failed.code, failed.stdout.as_str()), (1, ""), "{failed:?}");
    assert!(failed.stderr.contains("acme/shop"), "{failed:?}");
}

#[test]
fn code_is_found_again_once_a_missing_clone_is_back() {
    let (shop, web) = (shop(), shop());
    let sandbox = Sandbox::indexed(&shop);
    sandbox.run(&["add", &web.path().display().to_string(), "--name", "acme/web"]).ok();
    sandbox.run(&["backup", "copy.sqlite"]).ok();
    sandbox.run(&["restore", "copy.sqlite", "--data-dir", "elsewhere"]).ok();
    let run = |args: &[&str]| sandbox.run(&[args, &["--data-dir", "elsewhere"]].concat());
    let found = |project: &str| {
        let words = ["search", "rounding", "--type", "code", "--mode", "lexical", "--project", project, "--json"];
        run(&words).ok().json()["hits"].as_array().unwrap().len()
    };
    let missing = |project: &str| format!("{project}: its clone is missing");
    let status = run(&["status"]).ok().stderr;
    assert!(status.contains(&missing("acme/shop")) && status.contains(&missing("acme/web")), "{status}");
    assert!(status.contains("'backstory sync acme/shop' clones it again"), "{status}");
    assert_eq!((found("acme/shop"), found("acme/web")), (0, 0));

    run(&["sync", "acme/web"]).ok();
    assert_eq!(found("acme/shop"), 0);
    assert!(found("acme/web") > 0, "the code of a clone that is back can be found");
    let status = run(&["status"]).ok().stderr;
    assert!(status.contains(&missing("acme/shop")) && !status.contains(&missing("acme/web")), "{status}");
    run(&["sync"]).ok();
    assert!(found("acme/shop") > 0);
    assert!(!run(&["status"]).ok().stderr.contains("missing"));
    assert_eq!(run(&["check", "--json"]).ok().json()["ok"], true);
}

#[test]
fn up_indexes_what_is_around_and_serves_it() {
    let (shop, mut other) = (shop(), shop());
    let sandbox = Sandbox::empty();
    expect![". is not in a git repository; change to one, or name one: backstory up PATH"]
        .assert_eq(sandbox.run(&["up"]).error(2));
    expect!["none cannot be read: no such file or directory"].assert_eq(sandbox.run(&["up", "none"]).error(2));

    let path = shop.path().join("src").display().to_string();
    let mut up = sandbox
        .command(&["up", &path, "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(up.stdout.take().unwrap()).lines().map(Result::unwrap) {
        let listens = line.starts_with("Listening on http://127.0.0.1:");
        said.push(line);
        if listens {
            break;
        }
    }
    assert!(said[0].contains(": 3 commits, 3 files, main at "), "{said:#?}");
    let proposed = |command: &str| said.iter().any(|line| line.starts_with(&format!("  backstory {command} ")));
    assert!(proposed("why") && proposed("search") && proposed("history"), "{said:#?}");

    // Another one finds the server, which has a second repository then.
    other.write("more", "more");
    other.commit_all("More");
    let again = sandbox.run(&["up", &other.path().display().to_string()]).ok().stdout;
    assert!(again.contains("A server is running at http://127.0.0.1:"), "{again}");
    assert_eq!(sandbox.run(&["repos", "--json"]).ok().json().as_array().unwrap().len(), 2);
    sandbox.run(&["up", &path]).ok();
    assert_eq!(sandbox.run(&["repos", "--json"]).ok().json().as_array().unwrap().len(), 2);
    signal(up.id(), Signal::TERM);
    assert!(up.wait().unwrap().success());
}

#[test]
fn the_commands_that_up_proposes_work() {
    let shop = shop();
    let sandbox = Sandbox::indexed(&shop);
    let server = sandbox.serve();
    let said = sandbox.run(&["up", &shop.path().display().to_string()]).ok().stdout;
    let search =
        said.lines().find_map(|line| line.strip_prefix("  backstory search '")).unwrap().trim_end_matches('\'');
    let found = sandbox.run(&["search", search, "--mode", "lexical", "--json"]).ok().json();
    assert_eq!(found["hits"][0]["kind"], "commit", "{found}");
    // A definition has a story; the first line of a file may be its license.
    let why = said.lines().find_map(|line| line.strip_prefix("  backstory why ")).unwrap();
    assert_eq!(why, "src/session.py:5", "{said}");
    drop(server);
    let data = sandbox.data().display().to_string();
    let server = sandbox.serve_with(&["--data-dir", &data]);
    let said = sandbox.run(&["up", &shop.path().display().to_string(), "--data-dir", &data]).ok().stdout;
    assert!(said.contains("  backstory --data-dir [DIR]/data why src/session.py:5"), "{said}");
    drop(server);
}

#[test]
fn a_shallow_clone_is_added_with_a_warning() {
    let shop = shop();
    let sandbox = Sandbox::empty();
    let shallow = sandbox.path().join("shallow");
    let origin = format!("file://{}", shop.path().display());
    shop.git(["clone", "--quiet", "--depth=1", &origin, &shallow.display().to_string()]);
    let added = sandbox.run(&["add", &shallow.display().to_string(), "--name", "acme/shallow"]).ok();
    assert!(added.stdout.contains("Indexed acme/shallow: 1 commit,"), "{added:?}");
    assert!(
        added.stderr.contains("is a shallow clone, so only that part of the history of acme/shallow is known"),
        "{added:?}"
    );
    assert_eq!(sandbox.run(&["repos", "--json"]).ok().json()[0]["shallow"], true);
}

#[test]
fn a_partial_clone_is_refused_with_what_makes_it_whole() {
    let shop = shop();
    let sandbox = Sandbox::empty();
    let origin = format!("file://{}", shop.path().display());
    shop.git(["config", "uploadpack.allowFilter", "true"]);
    let partial = sandbox.path().join("partial").display().to_string();
    shop.git(["clone", "--quiet", "--no-checkout", "--filter=blob:none", &origin, &partial]);
    let refused = sandbox.run(&["add", &partial, "--name", "acme/partial"]);
    assert!(refused.stderr.contains("is a partial clone, which lacks the content of some files"), "{refused:?}");
    assert!(refused.stderr.contains("run 'git fetch --refetch --no-filter' in it"), "{refused:?}");
    shop.git(["-C", &partial, "fetch", "--quiet", "--refetch", "--no-filter"]);
    let added = sandbox.run(&["add", &partial, "--name", "acme/partial"]).ok();
    assert!(added.stdout.contains("Indexed acme/partial"), "{added:?}");
}

#[test]
fn a_repository_of_which_not_all_commits_are_kept_is_no_shallow_clone() {
    let shop = shop();
    let sandbox = Sandbox::empty();
    sandbox.write_config("data_dir = \"data\"\n[retention]\ncommits = 1\n");
    let added = sandbox.run(&["add", &shop.path().display().to_string(), "--name", "acme/shop"]).ok();
    assert!(added.stdout.contains("Indexed acme/shop: 1 commit,"), "{added:?}");
    assert!(!added.stderr.contains("shallow"), "{added:?}");
}

// Rows 98 and 116 of docs/requirements.md.
#[test]
fn a_clone_of_some_depth_has_so_many_commits_and_why_says_what_it_lacks() {
    let mut shop = shop();
    let sandbox = Sandbox::empty();
    let path = shop.path().display().to_string();
    let status = |sandbox: &Sandbox| sandbox.run(&["repos", "--json"]).ok().json()[0].take();
    let why = || sandbox.run(&["why", "acme/shop:src/session.py:1", "--json"]).ok().json();
    let lacks = |trace: &serde_json::Value| {
        trace["missing"].as_array().unwrap().iter().any(|text| text.as_str().unwrap().contains("no history before"))
    };
    let added = sandbox.run(&["add", &path, "--name", "acme/shop", "--depth", "1"]).ok();
    assert!(!added.stderr.contains("shallow"), "what was asked for is no reason to warn: {added:?}");
    assert_eq!(status(&sandbox)["commits"], 1);
    assert_eq!(status(&sandbox)["shallow"], false);
    let head = shop.sha("main").to_string();
    let trace = why();
    assert!(lacks(&trace), "{trace:#}");
    assert_eq!(trace["origin"]["commit"], *head, "{trace:#}");
    // New commits are read; what is cut off stays so.
    shop.write("src/cart.py", "def total(key):\n    return key\n");
    shop.commit_all("Simplify the cart");
    sandbox.run(&["sync"]).ok();
    assert_eq!(status(&sandbox)["commits"], 2);
    assert!(lacks(&why()));
    let digest = |sandbox: &Sandbox| sandbox.run(&["check", "--digest"]).ok().stdout;
    // The whole history is what a first sync reads.
    sandbox.run(&["add", &path, "--name", "acme/shop", "--depth", "0"]).ok();
    assert_eq!(status(&sandbox)["commits"], 4);
    assert!(!lacks(&why()));
    let whole = Sandbox::empty();
    whole.run(&["add", &path, "--name", "acme/shop"]).ok();
    assert_eq!(digest(&sandbox), digest(&whole));
}
