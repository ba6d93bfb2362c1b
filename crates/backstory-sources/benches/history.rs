//! Reads the whole history of a clone and says how long that took: `history [--dump | --no-merges] <clone> [jobs [words]]`.
//! With `--clone` it makes a clone of its own first and reads that.
//! With `--dump` it prints every commit instead, for `history.py`, which compares them with git's.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::{io::Write, num::NonZeroUsize, path::PathBuf, time::Instant};

use backstory_model::commit::Sha;
use backstory_sources::git::{
    Cancel, GitProgram,
    address::Address,
    clone::{self, CloneLimits, CloneRequest},
    command::GitSettings,
    history::{CommitSelection, HistoryOptions, IsKnown, history},
    refs,
};

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let mut option = |name| {
        let given = arguments.first().is_some_and(|first| first == name);
        arguments.drain(..usize::from(given));
        given
    };
    let (dump, no_merges, fresh) = (option("--dump"), option("--no-merges"), option("--clone"));
    let Some(mut clone) = arguments.first().map(PathBuf::from) else {
        println!("history [--dump | --no-merges] <clone> [jobs [words]]");
        return;
    };
    let mut options = HistoryOptions::default();
    if let Some(jobs) = arguments.get(1) {
        options.jobs = NonZeroUsize::new(jobs.parse().unwrap()).unwrap();
    }
    if let Some(identifiers) = arguments.get(2) {
        options.identifiers = identifiers.parse().unwrap();
    }
    let git = GitProgram::find(GitSettings::default()).unwrap();
    let home = tempfile::tempdir().unwrap();
    if fresh {
        let started = Instant::now();
        let address = Address::local(&clone).unwrap();
        clone = home.path().join("fresh.git");
        let more_refs = ["refs/pull/*/head".to_owned()];
        let limits = CloneLimits::default();
        let request = CloneRequest {
            address: &address,
            directory: &clone,
            more_refs: &more_refs,
            depth: None,
            credential: None,
            limits,
        };
        let state = clone::clone(&git, request, &Cancel::default()).unwrap();
        println!("{:.2} s to clone: {state:?}", started.elapsed().as_secs_f64());
        let started = Instant::now();
        clone::fetch(&git, request, &Cancel::default()).unwrap();
        println!("{:.2} s to fetch nothing", started.elapsed().as_secs_f64());
    }
    let started = Instant::now();
    let tips = refs::read(&clone).unwrap().all_tips();
    let repository = git2::Repository::open_bare(&clone).unwrap();
    let is_merge = move |sha: Sha| {
        let id = git2::Oid::from_bytes(sha.as_bytes()).unwrap();
        repository.find_commit(id).unwrap().parent_count() > 1
    };
    let known = no_merges.then(|| Box::new(is_merge) as IsKnown);
    let wanted = CommitSelection { tips: &tips, except: &[], known };
    let (mut commits, mut merges, mut changes, mut incomplete, mut words) = (0, 0, 0, 0, 0);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for commit in history(&git, &clone, wanted, options, &Cancel::default()).unwrap() {
        let commit = commit.unwrap();
        commits += 1;
        merges += usize::from(commit.is_merge());
        changes += commit.changes.len();
        words += commit.identifiers.len();
        incomplete += usize::from(commit.incomplete.is_some());
        if dump {
            writeln!(out, "{}", serde_json::to_string(&commit).unwrap()).unwrap();
        }
    }
    if !dump {
        let seconds = started.elapsed().as_secs_f64();
        writeln!(
            out,
            "{seconds:.2} s: {commits} commits, {merges} of them merges, {incomplete} incomplete, {changes} changes, {words} words"
        )
        .unwrap();
    }
}
