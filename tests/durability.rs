//! Whatever happens to a process or to its files, the next one opens, reads on, and ends with the graph of a first sync.
//!
//! `BACKSTORY_KILLS` says how many processes are killed (200). Where it is set, the first answer after a kill must come
//! within 5 s.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use backstory_engine::ledger::{JobKind, Ledger, NewJob};
use jiff::{SignedDuration, Timestamp};

use crate::support::{Fault, Fixture, Forge, Sandbox, eventually};

/// Kills unless the environment says otherwise.
const USUAL: usize = 200;
/// Kills between two comparisons with a first sync.
const BETWEEN: usize = 8;
/// Longest time to the first answer after a kill, where somebody asked for kills.
const RESTART: Duration = Duration::from_secs(5);
/// The same elsewhere: other tests are at work, and the machine may be slow.
const SLOW_RESTART: Duration = Duration::from_secs(60);
/// What is killed: everything that writes.
const COMMANDS: [&[&str]; 8] = [
    &["sync"],
    &["sync", "--reconcile"],
    &["sync", "--full"],
    &["sync", "--force"],
    &["embed"],
    &["rebuild", "graph"],
    &["rebuild", "index"],
    &["serve", "--listen", "127.0.0.1:0"],
];

/// How many kills somebody asked for.
#[expect(clippy::disallowed_methods, reason = "the environment says how long")]
fn asked_for() -> Option<usize> {
    std::env::var("BACKSTORY_KILLS").ok()?.parse().ok()
}

/// A forge and a repository that somebody writes to, and a data directory that is to follow.
struct World {
    forge: Forge,
    repository: Fixture,
    sandbox: Sandbox,
    random: fastrand::Rng,
    turn: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let (forge, mut repository) = (Forge::start(), Fixture::new());
        repository.write("lib.rs", "/// Sums.\nfn sum(a: u8, b: u8) -> u8 {\n    a + b\n}\n");
        repository.commit_all("Sum\n\nSee #2.");
        let sandbox = Self::cold(&forge, &repository);
        Self { forge, repository, sandbox, random: fastrand::Rng::with_seed(seed), turn: 0 }
    }

    /// A data directory that has read everything once.
    fn cold(forge: &Forge, repository: &Fixture) -> Sandbox {
        let sandbox = Sandbox::new(forge);
        let path = repository.path().display().to_string();
        sandbox.run(&["add", &path, "--name", "acme/shop"]).ok();
        sandbox.run(&["sync"]).ok();
        sandbox
    }

    /// Somebody writes something.
    fn write(&mut self) {
        self.turn += 1;
        let turn = self.turn;
        let thread = ["acme/shop#2", "acme/shop#3", "acme/shop#5"][self.random.usize(..3)];
        self.forge.advance(self.random.i64(1..200));
        match self.random.u8(..6) {
            0 => drop(self.forge.discuss(thread, "carol", &format!("Said in turn {turn}, see #1."))),
            1 => self.forge.edit_title(thread, &format!("Renamed in turn {turn}")),
            2 => self.forge.add_label(thread, "bug"),
            3 => drop(self.forge.new_issue("acme/shop", "bob", &format!("New in turn {turn}"), "See !7.")),
            4 => self.forge.edit_description(thread, &format!("Described in turn {turn}; closes #1.")),
            _ => {
                self.repository.write("turn.rs", format!("fn turn_{turn}() {{}}\n"));
                self.repository.commit_all(format!("Turn {turn}"));
            }
        }
    }

    /// Begins something and kills it at any time.
    fn kill_one(&mut self) {
        let command = COMMANDS[self.random.usize(..COMMANDS.len())];
        if self.random.u8(..4) == 0 {
            let faults = [Fault::RateLimited, Fault::Status(502), Fault::Truncated, Fault::Reset];
            self.forge.fail(faults[self.random.usize(..faults.len())], "/api/v4/", 2);
        }
        let mut child = self.sandbox.command(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // A process takes some 200 ms to open its stores; what comes after that is no longer than as much again.
        std::thread::park_timeout(Duration::from_micros(self.random.u64(20_000..600_000)));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// The next process opens quickly, reads on, and knows what a first sync knows.
    #[track_caller]
    fn recover(&self, when: &str) {
        let begun = Instant::now();
        let output = self.sandbox.run(&["count", "issues"]);
        let (took, longest) = (begun.elapsed(), if asked_for().is_some() { RESTART } else { SLOW_RESTART });
        assert_eq!(output.code, 0, "{when}: {output:?}");
        assert!(took < longest, "{when}: {took:?} until the first answer");
        let output = self.sandbox.run(&["sync"]);
        assert_eq!(output.code, 0, "{when}: {output:?}");
        self.compare(when);
    }

    /// Everything is as after a first sync; `when` tells what happened before.
    #[track_caller]
    fn compare(&self, when: &str) {
        let cold = Self::cold(&self.forge, &self.repository);
        let said = |sandbox: &Sandbox, args: &[&str]| {
            let output = sandbox.run(args);
            assert_eq!(output.code, 0, "{when}: {args:?}: {output:?}");
            output
        };
        let digest = |sandbox: &Sandbox| said(sandbox, &["check", "--digest"]).stdout;
        assert_eq!(digest(&self.sandbox), digest(&cold), "{when}");
        let counts = |sandbox: &Sandbox| said(sandbox, &["count", "--json"]).json();
        assert_eq!(counts(&self.sandbox), counts(&cold), "{when}: nothing is lost or doubled");
        let report = said(&self.sandbox, &["check", "--json"]).json();
        assert_eq!(report["ok"], true, "{when}: {report:#}");
    }
}

/// A share of all kills.
fn fire(seed: u64, share: usize) {
    let mut world = World::new(seed);
    let mut left = asked_for().unwrap_or(USUAL).div_ceil(share);
    while left > 0 {
        for _ in 0..left.min(BETWEEN) {
            world.write();
            world.kill_one();
        }
        left = left.saturating_sub(BETWEEN);
        world.recover(&format!("seed {seed}, turn {}", world.turn));
    }
}

// Two, as they mostly wait for processes.
#[test]
fn killed_at_any_time_the_next_process_goes_on() {
    fire(1, 2);
}

#[test]
fn killed_at_any_other_time_the_next_process_goes_on() {
    fire(2, 2);
}

/// Files of a store in the directories that are in use, those written last first.
fn files(directory: &Path) -> Vec<PathBuf> {
    fn collect(directory: &Path, found: &mut Vec<(SystemTime, PathBuf)>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else {
                found.push((fs::metadata(&path).unwrap().modified().unwrap(), path));
            }
        }
    }
    let mut found = Vec::new();
    collect(directory, &mut found);
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

fn damage(path: &Path, how: &str) {
    let long = fs::metadata(path).unwrap().len();
    match how {
        "removed" => fs::remove_file(path).unwrap(),
        "cut in half" => fs::File::options().write(true).open(path).unwrap().set_len(long / 2).unwrap(),
        _ => fs::write(path, vec![0; usize::try_from(long).unwrap()]).unwrap(),
    }
}

#[test]
fn a_projection_with_a_damaged_file_is_rebuilt() {
    let world = World::new(3);
    world.sandbox.run(&["embed"]).ok();
    for store in ["graph", "index"] {
        for how in ["removed", "cut in half", "zeroed"] {
            for newest in 0..3 {
                let directory = world.sandbox.data().join(store);
                let Some(path) =
                    files(&directory).into_iter().filter(|path| path.parent() != Some(&directory)).nth(newest)
                else {
                    continue;
                };
                let when = format!("{} {how}, number {newest} of those written last", path.display());
                damage(&path, how);
                let output = world.sandbox.run(&["sync"]);
                assert_eq!(output.code, 0, "{when}: {output:?}");
                world.compare(&when);
            }
        }
    }
}

#[test]
fn a_ledger_with_a_damaged_file_says_so_or_goes_on() {
    for (file, how) in [
        ("ledger.sqlite", "zeroed"),
        ("ledger.sqlite", "cut in half"),
        ("ledger.sqlite-wal", "zeroed"),
        ("ledger.sqlite-wal", "cut in half"),
    ] {
        let mut world = World::new(4);
        // A log is only there while somebody has not ended well.
        world.write();
        let server = world.sandbox.serve();
        world.sandbox.run(&["sync"]).ok();
        // It is killed.
        drop(server);
        damage(&world.sandbox.data().join(file), how);
        let output = world.sandbox.run(&["sync"]);
        if output.code != 0 {
            let said = output.error(1);
            let is_told = said.contains("restore it from a backup, or move it away") || said.contains("is empty, but");
            assert!(is_told, "{file} {how}: {output:?}");
            for file in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
                let _ = fs::remove_file(world.sandbox.data().join(file));
            }
            for projection in ["graph", "index"] {
                fs::remove_dir_all(world.sandbox.data().join(projection)).unwrap();
            }
            let path = world.repository.path().display().to_string();
            world.sandbox.run(&["add", &path, "--name", "acme/shop"]).ok();
            world.sandbox.run(&["sync"]).ok();
        }
        world.compare(&format!("{file} {how}"));
    }
}

#[test]
fn a_ledger_that_went_back_takes_the_projections_with_it() {
    let mut world = World::new(5);
    let ledger = world.sandbox.data().join("ledger.sqlite");
    let old = fs::read(&ledger).unwrap();
    for _ in 0..10 {
        world.write();
    }
    world.sandbox.run(&["sync"]).ok();
    fs::write(&ledger, old).unwrap();
    let output = world.sandbox.run(&["sync"]).ok();
    assert!(output.stderr.contains("rebuilt"), "{output:?}");
    world.compare("an older ledger");
}

#[test]
fn a_full_disk_loses_nothing() {
    let mut world = World::new(6);
    let mut failed = 0;
    for blocks in [1, 8, 64, 256, 1024] {
        world.write();
        // No file may become longer than that; a process that would make it so is told, not killed.
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let program = world.sandbox.command(&[]).get_program().to_owned();
        let mut command = Command::new("sh");
        let sync = world.sandbox.command(&["sync", "--full"]);
        command.args(["-c", &limited]).arg(&program).args(sync.get_args()).current_dir(world.sandbox.path());
        command.env_clear().envs(sync.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = world.sandbox.output(&command.output().unwrap());
        if output.code != 0 {
            assert!(output.stderr.contains("error: "), "{blocks}: {output:?}");
            failed += 1;
        }
        world.recover(&format!("{blocks} blocks"));
    }
    assert!(failed > 0, "the disk was never full");
}

#[test]
fn a_directory_that_cannot_be_written_to_is_told() {
    let world = World::new(7);
    // Only root can begin something as somebody else.
    if fs::metadata(world.sandbox.path()).unwrap().uid() != 0 {
        return;
    }
    let open = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    open(world.sandbox.path(), 0o755);
    open(&world.sandbox.data(), 0o555);
    let sync = world.sandbox.command(&["sync"]);
    // Somebody who is not root, whom permissions do not stop.
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--clear-groups"]).arg(sync.get_program()).args(sync.get_args());
    command.current_dir(world.sandbox.path()).env_clear();
    command.envs(sync.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Ok(output) = command.output() {
        let output = world.sandbox.output(&output);
        assert!(output.error(3).contains("cannot be used"), "{output:?}");
    }
    open(&world.sandbox.data(), 0o700);
    world.recover("a directory that could not be written to");
}

#[test]
fn a_clock_that_went_back_does_not_stop_the_schedule() {
    let forge = Forge::start();
    let sandbox = Sandbox::synced(&forge);
    let ledger = Ledger::open(&sandbox.data().join("ledger.sqlite")).unwrap();
    let later = Timestamp::now() + SignedDuration::from_hours(24 * 365);
    let sync = NewJob { kind: JobKind::Sync, project: "acme/shop".to_owned(), subject: None };
    ledger.queue_job(&sync, later, later).unwrap();
    drop(ledger);
    let config = fs::read_to_string(sandbox.path().join("backstory.toml")).unwrap();
    sandbox.write_config(&config.replace("every_minutes = 0", "every_minutes = 10"));
    let _server = sandbox.serve();
    let due = || {
        let jobs = sandbox.run(&["jobs", "list", "--json"]).ok().json();
        jobs[0]["due_at"].as_str().unwrap().parse::<Timestamp>().unwrap()
    };
    eventually("a nearer time", || due() <= Timestamp::now() + SignedDuration::from_mins(10));
}

#[test]
fn of_two_processes_that_start_at_once_one_waits_for_the_other() {
    let mut world = World::new(8);
    for _ in 0..5 {
        world.write();
        let started: Vec<_> = (0..4)
            .map(|_| world.sandbox.command(&["sync"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
            .collect();
        let ended: Vec<_> =
            started.into_iter().map(|child| world.sandbox.output(&child.wait_with_output().unwrap())).collect();
        assert!(ended.iter().any(|output| output.code == 0), "{ended:?}");
        assert!(ended.iter().all(|output| output.code == 0 || output.stderr.contains("is using")), "{ended:?}");
    }
    world.recover("four at once");
}
