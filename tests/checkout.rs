//! Lines of a working tree at the indexed commit: random edits and branches, compared with what `git blame` says of a
//! commit of that state.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use backstory_engine::{
    ledger::Branches,
    map_lines::{MAX_CHECKOUT_TEXT, MapLinesRequest, MappedLines},
    sources::git::checkout::read_file,
};
use serde_json::json;

use crate::support::{Fixture, Indexed, Output, Sandbox};

const FILE: &str = "src/session.rs";

/// Lines that differ from each other, some of them only in their number.
fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A repository whose file has a history of a few commits, and its lines.
fn world(random: &mut fastrand::Rng) -> (Fixture, Vec<String>) {
    let mut origin = Fixture::new();
    let mut lines: Vec<String> = (0..30).map(|at| format!("let value_{at} = compute({});", at % 7)).collect();
    origin.write(FILE, text(&lines));
    origin.commit_all("Begin");
    for change in 0..4 {
        edit(&mut lines, random, change);
        origin.write(FILE, text(&lines));
        origin.commit_all(format!("Change {change}"));
    }
    (origin, lines)
}

/// Inserts, deletes, moves or reformats some lines.
fn edit(lines: &mut Vec<String>, random: &mut fastrand::Rng, tag: usize) {
    for step in 0..random.usize(1..4) {
        let at = random.usize(0..lines.len());
        match random.u8(0..4) {
            0 => {
                let new = (0..random.usize(1..4)).map(|n| format!("let added_{tag}_{step}_{n} = {};", random.u32(..)));
                let new: Vec<String> = new.collect();
                drop(lines.splice(at..at, new));
            }
            1 => drop(lines.drain(at..(at + random.usize(1..4)).min(lines.len()))),
            2 => {
                let line = lines.remove(at);
                let to = random.usize(0..=lines.len());
                lines.insert(to, line);
            }
            _ => lines[at] = format!("    {}", lines[at].replace(" = ", "  =  ")),
        }
        if lines.len() < 8 {
            lines.extend((0..8).map(|n| format!("let more_{tag}_{step}_{n} = 0;")));
        }
    }
}

/// Of each line of a file at a commit, the commit and line that it comes from.
fn blame(repository: &Fixture, commit: &str) -> Vec<(String, u32)> {
    let said = repository.say(["blame", "-w", "--line-porcelain", commit, "--", FILE]);
    let heads = said.lines().filter(|line| {
        let mut words = line.split(' ');
        words.next().is_some_and(|sha| sha.len() == 40 && sha.bytes().all(|byte| byte.is_ascii_hexdigit()))
            && words.next().is_some_and(|number| number.parse::<u32>().is_ok())
    });
    heads
        .map(|line| {
            let mut words = line.split(' ');
            (words.next().unwrap().to_owned(), words.next().unwrap().parse().unwrap())
        })
        .collect()
}

async fn map(indexed: &Indexed, origin: &Fixture, line: u32) -> MappedLines {
    let file = read_file(origin.path(), FILE).unwrap();
    let request = MapLinesRequest {
        project: None,
        path: FILE.to_owned(),
        lines: (line, line),
        text: file.text,
        committed: file.committed,
        commits: file.commits,
        earlier_paths: file.earlier_paths,
    };
    indexed.engine.answer(request).await.unwrap()
}

/// Compares every line of the working tree with the blame of a commit of that state.
async fn compare(seed: u64, indexed: &Indexed, origin: &mut Fixture, head: &str) {
    let count = fs::read_to_string(origin.path().join(FILE)).unwrap().lines().count() as u32;
    let mut found = Vec::new();
    for line in 1..=count {
        found.push(map(indexed, origin, line).await);
    }
    let known: Vec<String> = origin.say(["rev-list", head]).lines().map(str::to_owned).collect();
    let state = origin.commit_all("The state of the working tree").to_string();
    let blamed = blame(origin, &state);
    assert_eq!(blamed.len(), found.len(), "seed {seed}");
    let mut at: BTreeMap<String, Vec<(String, u32)>> = BTreeMap::new();
    for (line, (mapped, (commit, of))) in (1u32..).zip(found.iter().zip(&blamed)) {
        let Some((first, last)) = mapped.lines else {
            assert!(!known.contains(commit), "seed {seed}, line {line} is not new: {commit} {of}, {mapped:?}");
            assert_eq!(mapped.new_lines, [(line, line)], "seed {seed}");
            assert!(mapped.notes.iter().any(|note| note.starts_with(&format!("line {line} is new: "))), "{mapped:?}");
            continue;
        };
        assert_eq!(first, last, "seed {seed}");
        let rev = mapped.rev.clone().unwrap_or_else(|| head.to_owned());
        let there = at.entry(rev.clone()).or_insert_with(|| blame(origin, &rev));
        assert_eq!(there[first as usize - 1], (commit.clone(), *of), "seed {seed}, line {line}: {mapped:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edited_lines_are_those_that_blame_names_once_they_are_committed() {
    for seed in 0..12 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut origin, mut lines) = world(&mut random);
        let indexed = Indexed::cold(origin.path(), Branches::Default).await;
        let head = origin.sha("HEAD").to_string();
        edit(&mut lines, &mut random, 100);
        edit(&mut lines, &mut random, 101);
        origin.write(FILE, text(&lines));
        compare(seed, &indexed, &mut origin, &head).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_commits_that_the_index_lacks_and_of_branches_are_found_too() {
    for seed in 20..28 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut origin, mut lines) = world(&mut random);
        // The branch begins before the indexed head.
        origin.git(["branch", "feature", "HEAD~1"]);
        let old = origin.say(["show", &format!("feature:{FILE}")]);
        let indexed = Indexed::cold(origin.path(), Branches::Default).await;
        let head = origin.sha("HEAD").to_string();
        if seed % 2 == 0 {
            origin.git(["checkout", "--quiet", "feature"]);
            lines = old.lines().map(str::to_owned).collect();
        }
        edit(&mut lines, &mut random, 200);
        origin.write(FILE, text(&lines));
        origin.commit_all("A commit that the index lacks");
        edit(&mut lines, &mut random, 201);
        origin.write(FILE, text(&lines));
        compare(seed, &indexed, &mut origin, &head).await;
    }
}

#[test]
fn why_says_how_it_found_lines_of_an_edited_file() {
    let mut shop = Fixture::new();
    shop.write(FILE, "fn load() {}\nfn keep() {}\n");
    shop.commit_all("Keep sessions\n\nBecause cookies get lost.");
    let sandbox = Sandbox::indexed(&shop);
    shop.write(FILE, "// A note.\nfn load() {}\nfn keep() {}\n");
    let here = shop.path().to_owned();
    let why = |what: &str| sandbox.output(&sandbox.command(&["why", what]).current_dir(&here).output().unwrap());
    let moved = why(&format!("{FILE}:3")).ok();
    assert!(moved.stdout.contains("Keep sessions") && moved.stdout.contains("fn keep() {}"), "{moved:?}");
    assert!(moved.stderr.contains("note: line 3 of this checkout: line 2 at"), "{moved:?}");
    let new = why(&format!("{FILE}:1")).ok();
    assert_eq!(new.stdout, format!("{FILE}:1 is new; nothing is known about why it is so\n"));
    assert!(new.stderr.contains("note: line 1 is new: not committed yet"), "{new:?}");
    shop.commit_all("Note it");
    let ahead = why(&format!("{FILE}:1")).ok();
    assert!(ahead.stderr.contains("this checkout has a commit that the index lacks"), "{ahead:?}");
    assert!(ahead.stderr.contains("line 1 is new: from a commit that the index lacks"), "{ahead:?}");
    let output = sandbox.command(&["why", &format!("{FILE}:1"), "--json"]).current_dir(shop.path()).output().unwrap();
    let json = sandbox.output(&output).ok().json();
    assert_eq!((&json["line"], &json["chain"]), (&json!(1), &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_are_too_long_are_refused() {
    let (origin, _) = world(&mut fastrand::Rng::with_seed(1));
    let indexed = Indexed::cold(origin.path(), Branches::Default).await;
    let long = "x\n".repeat(MAX_CHECKOUT_TEXT);
    for (text, committed) in [(long.clone(), None), ("x\n".to_owned(), Some(long))] {
        let path = FILE.to_owned();
        let request = MapLinesRequest {
            project: None,
            path,
            lines: (1, 1),
            text,
            committed,
            commits: Vec::new(),
            earlier_paths: vec![],
        };
        let refused = indexed.engine.answer(request).await.unwrap_err();
        assert!(refused.to_string().contains("not lines of a file that can be compared"), "{refused}");
    }
}

#[test]
fn a_clone_that_is_not_indexed_gets_no_answer_about_another_repository() {
    let mut shop = Fixture::new();
    shop.write(FILE, "fn load() {}\n");
    shop.commit_all("Keep sessions");
    let sandbox = Sandbox::indexed(&shop);
    let mut other = Fixture::new();
    other.write(FILE, "fn unrelated() {}\n");
    other.commit_all("Begin something else");
    let run = |args: &[&str], directory: &Path| {
        sandbox.output(&sandbox.command(args).current_dir(directory).output().unwrap())
    };
    let line = format!("{FILE}:1");
    for args in [["why", &line], ["history", FILE], ["context", &line], ["file", FILE]] {
        let refused = run(&args, other.path());
        let said = refused.error(1);
        assert!(said.contains("this clone is not indexed") && said.contains("backstory add ."), "{args:?}: {said}");
    }
    let project = run(&["repos", "--json"], shop.path()).ok().json()[0]["project"].as_str().unwrap().to_owned();
    let named = run(&["why", &line, "--project", &project], other.path()).ok();
    assert!(named.stdout.contains("Keep sessions"), "{named:?}");
    // A clone of it is known by its commits, whatever it is called.
    let copy = sandbox.path().join("copy");
    shop.git(["clone", "--quiet", ".", copy.to_str().unwrap()]);
    assert!(run(&["why", &line], &copy).ok().stdout.contains("Keep sessions"));
    run(&["add", other.path().to_str().unwrap(), "--name", "acme/other"], sandbox.path()).ok();
    assert!(run(&["why", &line], &copy).ok().stdout.contains("Keep sessions"));
    let ambiguous = run(&["why", &line], sandbox.path());
    assert!(ambiguous.stderr.contains("--project") && ambiguous.stderr.contains("backstory add ."), "{ambiguous:?}");
}

/// Runs a command in a directory.
fn run_in(sandbox: &Sandbox, directory: &Path, args: &[&str]) -> Output {
    sandbox.output(&sandbox.command(args).current_dir(directory).output().unwrap())
}

/// A copy of a repository on this machine that does not say where it came from.
fn copy_of(repository: &Fixture, sandbox: &Sandbox, name: &str) -> PathBuf {
    let copy = sandbox.path().join(name);
    repository.git(["clone", "--quiet", ".", copy.to_str().unwrap()]);
    git_in(&copy, &["remote", "remove", "origin"]);
    copy
}

fn git_in(directory: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
    let status = Command::new("git").current_dir(directory).args(identity).args(args).status().unwrap();
    assert!(status.success(), "{args:?}");
}

#[test]
fn projects_that_began_as_clones_of_the_same_repository_are_told_apart() {
    let mut boilerplate = Fixture::new();
    for change in 0..3 {
        boilerplate.write(FILE, format!("fn load() {{}}\n// {change}\n"));
        boilerplate.commit_all(format!("Prepare {change}"));
    }
    let sandbox = Sandbox::empty();
    let (shop, till) = (copy_of(&boilerplate, &sandbox, "shop"), copy_of(&boilerplate, &sandbox, "till"));
    git_in(&shop, &["commit", "--quiet", "--allow-empty", "-m", "Begin the shop"]);
    git_in(&till, &["commit", "--quiet", "--allow-empty", "-m", "Begin the till"]);
    run_in(&sandbox, &shop, &["add", ".", "--name", "acme/shop"]).ok();
    for args in [["show", "#12"], ["history", FILE], ["annotate", FILE], ["neighborhood", FILE]] {
        let refused = run_in(&sandbox, &till, &args);
        assert!(refused.stderr.contains("this clone is not indexed"), "{args:?}: {refused:?}");
    }
    // A commit that two projects have does not tell which is meant.
    run_in(&sandbox, &till, &["add", ".", "--name", "acme/till"]).ok();
    run_in(&sandbox, boilerplate.path(), &["add", ".", "--name", "acme/boilerplate"]).ok();
    let of_both = copy_of(&boilerplate, &sandbox, "copy");
    git_in(&of_both, &["checkout", "--quiet", "HEAD~1"]);
    assert!(run_in(&sandbox, &of_both, &["history", FILE]).stderr.contains("this clone is not indexed"));
    let named = |directory: &Path| {
        run_in(&sandbox, directory, &["shipped", "main~1..main", "--json"]).ok().json()["project"].clone()
    };
    assert_eq!((named(&shop), named(&till)), (json!("acme/shop"), json!("acme/till")));
}

#[test]
fn a_checkout_is_that_of_a_project_whatever_it_is_called() {
    let mut shop = Fixture::new();
    shop.write(FILE, "fn load() {}\n");
    shop.commit_all("Keep sessions");
    shop.write("README.md", "# Shop\n");
    shop.commit_all("Say what it is");
    let sandbox = Sandbox::indexed(&shop);
    let copy = copy_of(&shop, &sandbox, "copy");
    let explained = |directory: &Path| {
        let why = run_in(&sandbox, directory, &["why", &format!("{FILE}:1")]).ok();
        assert!(why.stdout.contains("Keep sessions"), "{why:?}");
    };
    explained(&copy);
    // Ahead of the index, and behind it.
    git_in(&copy, &["commit", "--quiet", "--allow-empty", "-m", "Go on"]);
    explained(&copy);
    git_in(&copy, &["checkout", "--quiet", "HEAD~2"]);
    explained(&copy);
    // On a branch of its own: another working tree, and a clone.
    for (name, directory) in [("tree", sandbox.path().join("tree")), ("clone", sandbox.path().join("clone"))] {
        match name {
            "tree" => shop.git(["worktree", "add", "--quiet", "--detach", directory.to_str().unwrap(), "HEAD~1"]),
            _ => shop.git(["clone", "--quiet", ".", directory.to_str().unwrap()]),
        };
        git_in(&directory, &["checkout", "--quiet", "--detach", &shop.sha("HEAD~1").to_string()]);
        git_in(&directory, &["commit", "--quiet", "--allow-empty", "-m", "Try something else"]);
        explained(&directory);
    }
}

#[test]
fn head_is_that_of_the_checkout_only_for_its_own_project() {
    let (mut shop, mut web) = (Fixture::new(), Fixture::new());
    for (repository, name) in [(&mut shop, "shop"), (&mut web, "web")] {
        repository.write(FILE, format!("fn load_{name}() {{}}\n"));
        repository.commit_all(format!("Begin the {name}"));
        repository.write("README.md", format!("# The {name}\n"));
        repository.commit_all("Say what it is");
    }
    let sandbox = Sandbox::indexed(&shop);
    run_in(&sandbox, web.path(), &["add", ".", "--name", "acme/web"]).ok();
    // The index lacks this one.
    shop.write("README.md", "# Not the web\n");
    shop.commit_all("Say what it is not");
    let there = |args: &[&str]| run_in(&sandbox, shop.path(), args);
    let line = format!("acme/web:{FILE}:1");
    let why = there(&["why", "HEAD~1", "--project", "acme/web", "--json"]).ok().json();
    assert_eq!(why["chain"][0]["node"]["id"], format!("acme/web@{}", web.sha("HEAD~1")));
    let why = there(&["why", &line, "--rev", "HEAD", "--json"]).ok().json();
    assert_eq!(why["rev"], web.sha("HEAD").to_string());
    there(&["context", &line, "--rev", "HEAD"]).ok();
    // Lines here are not lines of another project.
    let other = there(&["why", &format!("{FILE}:1"), "--project", "acme/web"]).ok();
    assert!(!other.stderr.contains("this checkout"), "{other:?}");
    let own = there(&["why", &format!("{FILE}:1"), "--rev", "HEAD~1", "--json"]).ok().json();
    assert_eq!(own["rev"], shop.sha("HEAD~1").to_string());
}

#[test]
fn a_revision_is_no_label() {
    let mut shop = Fixture::new();
    shop.write(FILE, "fn load() {}\n");
    shop.commit_all("Keep sessions");
    shop.write("README.md", "# Shop\n");
    shop.commit_all("Say what it is");
    let sandbox = Sandbox::indexed(&shop);
    let first = format!("acme/shop@{}", shop.sha("HEAD~1"));
    for revision in ["HEAD~1", "main~1", "HEAD^"] {
        run_in(&sandbox, shop.path(), &["annotate", revision, "Mind the order"]).ok();
        let found = run_in(&sandbox, shop.path(), &["annotate", revision, "--json"]).ok().json();
        assert_eq!(found[0]["id"], first, "{revision}");
        let around = run_in(&sandbox, shop.path(), &["neighborhood", revision, "--json"]).ok().json();
        assert!(!around["neighbors"].as_array().unwrap().is_empty(), "{revision}: {around}");
        run_in(&sandbox, shop.path(), &["path", revision, FILE]).ok();
        run_in(&sandbox, shop.path(), &["search", "sessions", "--mode", "lexical", "--near", revision]).ok();
    }
}

#[test]
fn lines_of_a_file_that_was_renamed_in_the_checkout_are_found() {
    let mut shop = Fixture::new();
    let text: String = (0..20).map(|at| format!("let value_{at} = compute({at});\n")).collect();
    shop.write(FILE, &text);
    shop.commit_all("Compute values");
    let sandbox = Sandbox::indexed(&shop);
    let here = shop.path().to_owned();
    let why = |what: &str| sandbox.output(&sandbox.command(&["why", what]).current_dir(&here).output().unwrap());
    let renamed = |what: &str| {
        let found = why(what).ok();
        assert!(found.stdout.contains("Compute values") && found.stdout.contains("value_4"), "{found:?}");
        assert!(found.stderr.contains(&format!("is {FILE} at")), "{found:?}");
    };
    shop.git(["mv", FILE, "src/values.rs"]);
    renamed("src/values.rs:5");
    shop.write("src/values.rs", format!("// A note.\n{text}"));
    renamed("src/values.rs:6");
    shop.commit_all("Call them values");
    renamed("src/values.rs:6");
    shop.git(["mv", "src/values.rs", "src/numbers.rs"]);
    renamed("src/numbers.rs:6");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_file_that_was_renamed_here_and_in_the_index_have_the_path_that_both_have() {
    let mut shop = Fixture::new();
    let text: String = (0..20).map(|at| format!("let value_{at} = compute({at});\n")).collect();
    shop.write("src/values.rs", &text);
    let base = shop.commit_all("Compute values");
    shop.git(["mv", "src/values.rs", FILE]);
    shop.write(FILE, text.replace("let value_9 = compute(9);\n", ""));
    shop.commit_all("Call them a session");
    let indexed = Indexed::cold(shop.path(), Branches::Default).await;
    shop.git(["switch", "--quiet", "--create", "feature", &base.to_string()]);
    shop.git(["mv", "src/values.rs", FILE]);
    shop.write(FILE, format!("// A note.\n{text}"));
    let kept = map(&indexed, &shop, 6).await;
    assert_eq!((kept.lines, kept.path, kept.rev), (Some((5, 5)), None, None));
    let gone = map(&indexed, &shop, 11).await;
    assert_eq!(gone.path.as_deref(), Some("src/values.rs"), "the indexed head lacks that line");
    assert_eq!((gone.lines, gone.rev), (Some((10, 10)), Some(base.to_string())));
}
