//! The whole of a real project, served by a GitLab stand-in: faults, kills, rebuilds. Runs when
//! `BACKSTORY_FORGE_REPLAY` names the directory of the stand-in (`forge_replay.py` and `data/`); passes at once
//! otherwise.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use backstory_engine::{
    Engine,
    ask::{AskRequest, VerifyRequest},
    lists::{Direction, PageRequest, ThreadFilter, ThreadOrder, ThreadQuery},
    model::{entity::Item, id::ThreadKind},
};
use serde_json::Value;

use crate::{github::statements, support::settings};

pub(crate) const PROJECT: &str = "bitcoin-core/secp256k1";

/// The stand-in, stopped when dropped.
pub(crate) struct Replay {
    child: Child,
    url: String,
}

impl Replay {
    /// Starts it, or `None` if it is not there.
    pub(crate) fn start(options: &[&str]) -> Option<Self> {
        let directory = PathBuf::from(std::env::var_os("BACKSTORY_FORGE_REPLAY")?);
        let mut child = Command::new("python3")
            .arg(directory.join("forge_replay.py"))
            .args(["--port", "0", "--project", PROJECT, "--data"])
            .arg(directory.join("data/secp256k1.jsonl.gz"))
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3 starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").expect("it says where it listens").to_owned();
        Some(Self { child, url })
    }

    /// Its address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn get(&self, path: &str) -> Value {
        self.call("GET", path, "")
    }

    /// Replaces its faults.
    fn set_fault(&self, fault: &str) {
        self.call("DELETE", "/_control/faults", "");
        if !fault.is_empty() {
            self.call("POST", "/_control/faults", &serde_json::json!({ "fault": fault }).to_string());
        }
    }

    fn call(&self, method: &str, path: &str, body: &str) -> Value {
        const CALL: &str = "import sys, urllib.request as u\n\
            r = u.Request(sys.argv[2], sys.argv[3].encode() or None, {'content-type': 'application/json'}, method=sys.argv[1])\n\
            print(u.urlopen(r).read().decode() or 'null')";
        let output =
            Command::new("python3").args(["-c", CALL, method, &format!("{}{path}", self.url), body]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A configuration and a data directory for one replay.
pub(crate) struct Setup {
    directory: tempfile::TempDir,
}

impl Setup {
    pub(crate) fn new(replay: &Replay, requests_per_second: u32) -> Self {
        Self::of("gitlab", &replay.url, requests_per_second)
    }

    /// One that reads the project from the GitHub that the stand-in is too.
    fn github(replay: &Replay) -> Self {
        Self::of("github", &format!("{}/github", replay.url), 0)
    }

    fn of(kind: &str, url: &str, requests_per_second: u32) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = format!(
            "[[forge]]\nkind = \"{kind}\"\nbase_url = \"{url}\"\ntoken_env = \"REPLAY_TOKEN\"\nprojects = [\"{PROJECT}\"]\n\
             requests_per_second = {requests_per_second}\n"
        );
        std::fs::write(directory.path().join("backstory.toml"), config).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backstory"));
        command
            .current_dir(self.path())
            .args(["--config", "backstory.toml", "--data-dir", "data"])
            .args(args)
            .env("REPLAY_TOKEN", "any");
        command
    }

    /// Runs a command that must succeed; its JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.command(args).arg("--json").output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn digest(&self) -> String {
        self.json(&["check", "--digest"])["digest"].as_str().unwrap().to_owned()
    }
}

/// A data directory after an undisturbed sync. Addresses are part of the graph, so it holds for this server only.
pub(crate) fn reference(replay: &Replay) -> Setup {
    let setup = Setup::new(replay, 0);
    setup.json(&["sync"]);
    setup
}

fn reference_digest(replay: &Replay) -> String {
    reference(replay).digest()
}

#[test]
fn whole_project_syncs_once_and_rebuilds_to_the_same_digest() {
    let Some(replay) = Replay::start(&[]) else { return };
    let setup = Setup::new(&replay, 0);
    setup.json(&["sync"]);
    let state = replay.get("/_control/state");
    let stats = setup.json(&["stats"]);
    assert_eq!(stats["issues"], state["issues"]);
    assert_eq!(stats["merge_requests"], state["pulls"]);
    assert_eq!(stats["labels"], state["labels"]);
    assert_eq!(stats["milestones"], state["milestones"]);

    let before = replay.get("/_control/stats")["requests"].as_u64().unwrap();
    let digest = setup.digest();
    let again = setup.json(&["sync"]);
    assert_eq!(replay.get("/_control/stats")["requests"].as_u64().unwrap() - before, 2, "one call for each list");
    assert_eq!(again["changed"], serde_json::json!({}));
    assert_eq!(setup.digest(), digest);
    assert_eq!(setup.json(&["check"])["ok"], true);

    // Without a network: the stand-in is gone.
    drop(replay);
    setup.json(&["rebuild"]);
    assert_eq!(setup.digest(), digest);
    std::fs::remove_dir_all(setup.path().join("data/graph")).unwrap();
    std::fs::remove_dir_all(setup.path().join("data/index")).unwrap();
    assert_eq!(setup.digest(), digest);
    assert_eq!(setup.json(&["check"])["ok"], true);
}

#[test]
fn every_fault_ends_in_the_same_digest() {
    let Some(replay) = Replay::start(&["--limit", "120", "--seed", "7"]) else { return };
    let reference = reference_digest(&replay);
    for fault in [
        "429:every=20,retry_after=1",
        "502:prob=0.05",
        "reset:prob=0.05",
        "truncate:prob=0.05",
        "badjson:prob=0.05",
        "hang:s=2,every=100",
        "slow:ms=50,path=*/discussions",
    ] {
        replay.set_fault(fault);
        let setup = Setup::new(&replay, 0);
        setup.json(&["sync"]);
        assert_eq!(setup.digest(), reference, "{fault}");
    }
}

#[test]
fn equal_times_lose_nothing() {
    let Some(replay) = Replay::start(&["--fault", "ties:start=10,run=150,every=400"]) else { return };
    let setup = Setup::new(&replay, 0);
    setup.json(&["sync"]);
    let (state, stats) = (replay.get("/_control/state"), setup.json(&["stats"]));
    assert_eq!(stats["issues"], state["issues"]);
    assert_eq!(stats["merge_requests"], state["pulls"]);
}

#[test]
fn killed_at_any_moment_it_ends_in_the_same_digest() {
    let Some(replay) = Replay::start(&["--limit", "150"]) else { return };
    let reference = reference_digest(&replay);
    for round in 0..10u64 {
        let setup = Setup::new(&replay, 0);
        for kill in 0..3u64 {
            let mut sync =
                setup.command(&["sync", "--json"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            // A different moment every time: from before the first request to after the last.
            let moment = Instant::now() + Duration::from_millis(60 + (round * 3 + kill) * 137 % 2300);
            while Instant::now() < moment && sync.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
            let _ = sync.kill();
            sync.wait().unwrap();
        }
        setup.json(&["sync"]);
        assert_eq!(setup.digest(), reference, "round {round}");
        assert_eq!(setup.json(&["check"])["ok"], true);
    }
}

#[test]
fn never_more_requests_a_second_than_allowed() {
    let Some(replay) = Replay::start(&["--limit", "80"]) else { return };
    let setup = Setup::new(&replay, 10);
    setup.json(&["sync"]);
    let stats = replay.get("/_control/stats");
    assert!(stats["requests"].as_u64().unwrap() > 100);
    assert!(stats["max_rps"].as_u64().unwrap() <= 10, "{}", stats["max_rps"]);
}

/// Questions made of the titles of issues and merge requests: whatever is answered must verify.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_answers_verify() {
    let Some(replay) = Replay::start(&[]) else { return };
    let setup = Setup::new(&replay, 0);
    setup.json(&["sync"]);
    let engine = Engine::open(&setup.path().join("data"), settings()).await.unwrap();
    let mut ids = vec![];
    for kind in [ThreadKind::Issue, ThreadKind::MergeRequest] {
        let (filter, order, direction) = (ThreadFilter::default(), ThreadOrder::Updated, Direction::Descending);
        let page = PageRequest { first: 150, ..PageRequest::default() };
        let page = engine.list_rows(ThreadQuery { kind, filter, order, direction }, page).await.unwrap();
        ids.extend(page.rows.into_iter().map(|row| row.id.into()));
    }
    let (mut answered, mut citations) = (0, 0);
    for item in engine.load_items(ids).await.unwrap().into_values() {
        let (Item::Issue(backstory_engine::model::entity::Issue { thread, .. })
        | Item::MergeRequest(backstory_engine::model::entity::MergeRequest { thread, .. })) = item
        else {
            continue;
        };
        let request = AskRequest { question: format!("Why {}?", thread.title), ..AskRequest::default() };
        let answer = engine.answer(request).await.unwrap();
        answered += usize::from(answer.answered);
        assert_eq!(answer.answered, !answer.citations.is_empty(), "{answer:?}");
        citations += answer.citations.len();
        for check in engine.answer(VerifyRequest { citations: answer.citations.clone() }).await.unwrap() {
            assert_eq!(check.problem, None, "{}: {check:?}", answer.question);
        }
    }
    assert!(answered >= 200, "{answered} answers with {citations} citations");
}

/// What the stand-in makes up for GitLab (links of issues, resolved threads, the base of a diff), what it tells of either
/// in other words (addresses, who is gone), and where texts name items by addresses of github.com, which it rewrites for
/// GitLab alone.
const NOT_ALIKE: [&str; 9] = [
    "#link>",
    "#relatesTo>",
    "#isResolved>",
    "#resolvable>",
    "#resolved>",
    "#baseCommit>",
    "#noteKind>",
    "/nick>",
    "/name>",
];

/// Subject, property and object of what both forges tell, with GitHub's ids, in whole seconds.
fn alike(setup: &Setup, gitlab: bool) -> BTreeSet<[String; 3]> {
    // A note of GitLab has the number of the comment and a digit for its kind.
    let note = |id: &str| if gitlab { id[..id.len() - 1].to_owned() } else { id.to_owned() };
    let renamed = |term: String| {
        if let Some((before, id)) = term.split_once("/notes/") {
            return format!("{before}/notes/{}", note(id.trim_end_matches('>')));
        }
        let second = term.find("Z\"^^").and_then(|end| Some((term[..end].find('.')?, end)));
        match second {
            Some((start, end)) => format!("{}{}", &term[..start], &term[end..]),
            _ => term.replace("-bot>", "%5Bbot%5D>"),
        }
    };
    let all = statements(&setup.path().join("data"));
    // A discussion is called by its first note.
    let mut firsts: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for [subject, property, object] in &all {
        if let (Some((_, id)), true) = (subject.split_once("/notes/"), property.ends_with("/isPartOf>")) {
            let first = (id.trim_end_matches('>').parse().unwrap(), renamed(subject.clone()));
            let known = firsts.entry(object.clone()).or_insert_with(|| first.clone());
            *known = first.min(known.clone());
        }
    }
    let called = |term: String| match firsts.get(&term) {
        Some((_, first)) => format!("discussion of {first}"),
        None => renamed(term),
    };
    all.into_iter()
        .filter(|[subject, property, object]| {
            !NOT_ALIKE.iter().any(|end| property.ends_with(end))
                && ![subject, object].iter().any(|term| term.contains("person:ghost>"))
        })
        .map(|statement| statement.map(called))
        .collect()
}

#[test]
fn the_same_project_is_the_same_graph_from_github() {
    let Some(replay) = Replay::start(&[]) else { return };
    let (gitlab, github) = (Setup::new(&replay, 0), Setup::github(&replay));
    gitlab.json(&["sync"]);
    github.json(&["sync"]);
    let (expected, found) = (alike(&gitlab, true), alike(&github, false));
    let by_property = |these: &BTreeSet<[String; 3]>, those: &BTreeSet<[String; 3]>| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for [_, property, _] in these.difference(those) {
            *counts.entry(property.rsplit(['/', '#']).next().unwrap().trim_end_matches('>').to_owned()).or_default() +=
                1;
        }
        counts
    };
    let (missing, more) = (by_property(&expected, &found), by_property(&found, &expected));
    let shared = expected.intersection(&found).count();
    // Lines of a thread that moved are told by the stand-in's GitLab as from where it was to where it is, and 45 comments
    // have no place there.
    let explained = |counts: &BTreeMap<String, usize>, allowed: &[(&str, usize)]| {
        counts.iter().all(|(name, count)| allowed.iter().any(|(known, most)| known == name && count <= most))
    };
    let lines = [("newLineStart", 450), ("newLineEnd", 150), ("oldLineStart", 80), ("oldLineEnd", 80)];
    // References by addresses of github.com are other addresses than the stand-in's; GitHub takes no
    // decimals for people.
    let missing_allowed = [&lines[..], &[("references", 1300), ("mentions", 2), ("type", 8)]].concat();
    let place = [("commentsOn", 45), ("headCommit", 45), ("oldPath", 45), ("type", 8), ("path", 8)];
    let more_allowed = [&lines[..], &place[..], &[("closes", 4)]].concat();
    assert!(explained(&missing, &missing_allowed), "only GitLab: {missing:?}");
    assert!(explained(&more, &more_allowed), "only GitHub: {more:?}");
    assert!(shared > 200_000, "{shared} statements alike");

    let before = replay.get("/_control/stats")["requests"].as_u64().unwrap();
    assert_eq!(github.json(&["sync"])["changed"], serde_json::json!({}));
    assert_eq!(replay.get("/_control/stats")["requests"].as_u64().unwrap() - before, 1);
    assert_eq!(github.json(&["check"])["ok"], true);
}

#[test]
fn every_fault_of_github_ends_in_the_same_digest() {
    let Some(replay) = Replay::start(&["--limit", "120", "--seed", "7"]) else { return };
    let reference = Setup::github(&replay);
    reference.json(&["sync"]);
    let reference = reference.digest();
    for fault in
        ["429:every=20,retry_after=1", "502:prob=0.05", "reset:prob=0.05", "truncate:prob=0.05", "badjson:prob=0.05"]
    {
        replay.set_fault(fault);
        let setup = Setup::github(&replay);
        setup.json(&["sync"]);
        assert_eq!(setup.digest(), reference, "{fault}");
    }
}
