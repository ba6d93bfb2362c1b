//! Hostile repositories. Each is added to a data directory that has another one, by a server with 1 GB of data.

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::FileExt as _,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use backstory_sources::git::{
    Cancel, GitProgram,
    command::{GitSettings, Limits, NetworkAccess},
};
use serde_json::Value;

use super::served::{LITTLE, Served, is_full_size};
use crate::{
    cli_repositories::shop,
    support::{FIRST_COMMIT_AT, Fixture, Output, Sandbox, Signal, eventually, processes, signal},
};

/// Data that a process may have, in bytes.
const MEMORY: u64 = 1_000_000 << 10;
/// Longest that any of the small ones may take; before there were limits some took ten minutes.
const PATIENCE: Duration = Duration::from_secs(300);
const EVIL: &str = "evil/repo";

/// A data directory with a harmless repository.
struct World {
    sandbox: Sandbox,
    shop: Fixture,
    /// The process that does what commands ask for, unless they do it themselves.
    served: Option<Served>,
}

impl World {
    fn new() -> Self {
        let alone = Self::alone();
        let served = Some(Served::start(&alone.sandbox));
        Self { served, ..alone }
    }

    /// One whose commands do everything themselves, with as little memory and descriptors as a server otherwise.
    fn alone() -> Self {
        let shop = shop();
        Self { sandbox: Sandbox::indexed(&shop), shop, served: None }
    }

    fn command(&self, args: &[&str]) -> Command {
        self.sandbox.command_after(LITTLE, args)
    }

    fn run(&self, args: &[&str]) -> Output {
        self.sandbox.output(&self.command(args).output().unwrap())
    }

    /// Adds a hostile repository; what was said to be left out.
    #[track_caller]
    fn add(&self, origin: &Fixture) -> String {
        let begun = Instant::now();
        let added = self.run(&["add", &origin.path().display().to_string(), "--name", EVIL]).ok();
        assert!(begun.elapsed() < PATIENCE || is_full_size(), "{:?}", begun.elapsed());
        let left_out = self.repository(EVIL)["left_out"].clone();
        let sentences: Vec<&str> = left_out.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        for sentence in &sentences {
            assert!(added.stderr.contains(sentence), "{sentence}\n{added:#?}");
        }
        sentences.join("\n")
    }

    fn repository(&self, project: &str) -> Value {
        let all = self.run(&["repos", "--json"]).ok().json();
        all.as_array().unwrap().iter().find(|repository| repository["project"] == project).unwrap().clone()
    }

    /// Everything is in order, the other repository is read on, no git is left, and the server was there all the time.
    #[track_caller]
    fn holds(&mut self) {
        let check = self.run(&["check", "--json"]).ok().json();
        assert_eq!(check["ok"], true, "{check}");
        let before = self.repository("acme/shop")["commits"].as_u64().unwrap();
        self.shop.write("more.md", format!("More {before}.\n"));
        self.shop.commit_all("More");
        self.run(&["sync"]).ok();
        assert_eq!(self.repository("acme/shop")["commits"], before + 1);
        eventually("no git is left", || self.gits().is_empty());
        if let Some(served) = &self.served {
            served.is_well("a hostile repository");
        }
    }

    /// Processes that are git and work on these data.
    fn gits(&self) -> Vec<i32> {
        processes::gits(self.sandbox.path())
    }
}

/// Commits a tree after HEAD.
fn commit_tree(origin: &Fixture, tree: &str, message: &str) {
    let commit = origin.say(["commit-tree", tree, "-p", "HEAD", "-m", message]);
    origin.git(["update-ref", "HEAD", &commit]);
}

fn tree(origin: &Fixture, lines: &str) -> String {
    String::from_utf8(origin.git_with(["mktree"], lines.as_bytes())).unwrap().trim().to_owned()
}

/// A tree with a text, and a directory of so many levels of ten equal directories each.
fn bomb(origin: &Fixture, readme: &str, content: &str, levels: usize) -> String {
    let readme = origin.raw_object("blob", readme);
    let mut entry = format!("100644 blob {}", origin.raw_object("blob", content));
    for _ in 0..levels {
        let lines: String = (0..10).map(|n| format!("{entry}\t{n}.txt\n")).collect();
        entry = format!("040000 tree {}", tree(origin, &lines));
    }
    tree(origin, &format!("100644 blob {readme}\tREADME.md\n{entry}\tbomb\n"))
}

/// `git diff-tree` took a gigabyte a second of it, and continued when its parent was killed.
#[test]
fn tree_that_unfolds_without_end_is_left_out_by_name() {
    let mut world = World::new();
    let mut origin = Fixture::new();
    origin.write("README.md", "# Harmless\n");
    origin.commit_all("Begin");
    commit_tree(&origin, &bomb(&origin, "# Harmless\n", "1", 10), "The bomb");
    commit_tree(&origin, &bomb(&origin, "# Harmless\n\nStill.\n", "2", 10), "Another bomb");
    commit_tree(&origin, &bomb(&origin, "# Harmless\n\nStill, and more.\n", "2", 10), "Beside the bomb");
    let left_out = world.add(&origin);
    assert!(left_out.contains("of 2 commits"), "{left_out}");
    assert!(left_out.contains("unfold to more than 1000000 entries, among them bomb/"), "{left_out}");
    assert!(left_out.contains("1 path is left out"), "{left_out}");
    let repository = world.repository(EVIL);
    assert_eq!((repository["commits"].as_u64(), repository["files"].as_u64()), (Some(4), Some(1)));
    let found = world.run(&["search", "Beside", "--mode", "lexical", "--json"]).ok().json();
    assert_eq!(found["hits"][0]["kind"], "commit", "{found}");
    world.holds();

    commit_tree(&origin, &bomb(&origin, "# Harmless\n\nLater.\n", "3", 10), "A third bomb");
    world.run(&["sync"]).ok();
    assert!(world.repository(EVIL)["left_out"][0].as_str().unwrap().contains("of 3 commits"));
    world.holds();
}

/// "The history cannot be walked", libgit2 said of some of these, and the repository could not be added.
#[test]
fn people_and_dates_may_be_written_in_any_way() {
    let mut world = World::new();
    let mut origin = Fixture::new();
    origin.write("a.txt", "one\ntwo\n");
    origin.commit_all("Begin");
    let odd = [
        "A U Thor 1700000000 +0000",
        "A U Thor",
        "A <a@x.org> 99999999999999999999999 +0000",
        "A <a@x.org> 9223372036854775808 +0000",
        "A <a@x.org> soon +0000",
        "A <a@x.org> 1700000000 +9999999",
        "A <a@x.org> 1700000000",
        "A <a@x.org>",
        "A<a@x.org> 1700000000 +0000",
        "A <a@x.org>1700000000 +0000",
        "<a@x.org> 1700000000 +0000",
        "A <> 1700000000 +0000",
        "A <a <b> 1700000000 +0000",
    ];
    for (number, people) in odd.iter().enumerate() {
        let blob = origin.raw_object("blob", format!("one\ntwo\nthree {number}\n"));
        let tree = tree(&origin, &format!("100644 blob {blob}\ta.txt\n"));
        let plain = "C <c@x.org> 1700000000 +0000";
        for (author, committer) in [(people, &plain), (&plain, people)] {
            let people = format!("author {author}\ncommitter {committer}");
            let parent = origin.sha("HEAD");
            let commit = format!("tree {tree}\nparent {parent}\n{people}\n\nOdd {number}\n");
            let commit = origin.raw_object("commit", commit);
            origin.git(["update-ref", "HEAD", &commit.to_string()]);
        }
    }
    assert_eq!(world.add(&origin), "");
    let commits = world.repository(EVIL)["commits"].as_u64();
    assert_eq!(commits, Some(1 + 2 * odd.len() as u64));
    world.holds();
    // What is new is found from what is known.
    origin.git(["reset", "--quiet", "--hard"]);
    origin.write("a.txt", "one\ntwo\nfour\n");
    origin.commit_all("Ordinary again");
    world.run(&["sync"]).ok();
    assert_eq!(world.repository(EVIL)["commits"].as_u64(), Some(2 + 2 * odd.len() as u64));
    world.holds();
}

/// "More than 256 directories in one another" was the end of the repository.
#[test]
fn directory_that_is_too_deep_is_left_out_by_name() {
    let mut world = World::new();
    let origin = Fixture::new();
    let deep = "d/".repeat(2_000);
    let stream = format!(
        "commit refs/heads/main\ncommitter A <a@x.org> {FIRST_COMMIT_AT} +0000\ndata 5\nBegin\n\
         M 100644 inline README.md\ndata 11\n# Harmless\n\nM 100644 inline {deep}file\ndata 5\ndeep\n\n"
    );
    origin.git_with(["fast-import", "--quiet"], stream.as_bytes());
    let left_out = world.add(&origin);
    assert!(left_out.contains("1 file in more than 256 directories left out: d/d/d/"), "{left_out}");
    assert!(left_out.contains("1 path is left out"), "{left_out}");
    assert_eq!(world.repository(EVIL)["files"], 1);
    world.holds();
}

/// "More than the 4194304 that are read" was the end of every sync, of every repository.
#[test]
fn mailmap_that_is_too_large_is_left_out_by_name() {
    let mut world = World::new();
    world.shop.write(".mailmap", "Ada <ada@example.com> <ada@old.example.com>\n");
    world.shop.commit_all("Names");
    world.run(&["sync"]).ok();
    let mut origin = Fixture::new();
    origin.write(
        ".mailmap",
        (0..200_000).fold(String::new(), |mut lines, number| {
            writeln!(lines, "Name {number} <{number}@example.com>").unwrap();
            lines
        }),
    );
    origin.commit_all("Everybody");
    let left_out = world.add(&origin);
    assert!(left_out.contains(".mailmap is left out, it has"), "{left_out}");
    world.holds();
    // One that can be read is no longer left out.
    origin.write(".mailmap", "Bo <bo@example.com> <bo@old.example.com>\n");
    origin.commit_all("Fewer");
    world.run(&["sync"]).ok();
    let left_out = world.repository(EVIL)["left_out"].to_string();
    assert!(!left_out.contains(".mailmap is left out"), "{left_out}");
    world.holds();
}

/// Git waited for a writer, and the command that added it for git.
#[test]
fn repository_with_a_pipe_in_it_is_refused() {
    let mut world = World::new();
    for name in ["packed-refs", "config", "objects/info/alternates"] {
        let mut origin = Fixture::new();
        origin.write("README.md", "# Harmless\n");
        origin.commit_all("Begin");
        let path = origin.git_dir().join(name);
        drop(fs::remove_file(&path));
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let refused = world.run(&["add", &origin.path().display().to_string(), "--name", EVIL]);
        assert!(refused.code != 0 && refused.stderr.contains("is a pipe"), "{name}: {refused:#?}");
    }
    world.holds();
}

/// Random digits, one a line: what takes longest to compare.
fn digits(random: &mut fastrand::Rng, lines: usize) -> String {
    (0..lines).flat_map(|_| [char::from(b'0' + random.u8(0..10)), '\n']).collect()
}

/// Git compared this for more than nine minutes, until the repository was given up.
#[test]
fn lines_that_take_too_long_to_compare_are_left_out_by_name() {
    let mut world = World::new();
    let mut origin = Fixture::new();
    let mut random = fastrand::Rng::with_seed(16);
    let large = if is_full_size() { 30_000_000 } else { 3_000_000 };
    for message in ["Begin", "Change it all", "Change it again"] {
        origin.write("large.txt", digits(&mut random, large));
        for file in 0..20 {
            origin.write(format!("file-{file}.txt"), digits(&mut random, 131_000));
        }
        origin.commit_all(message);
    }
    origin.write("large.txt", "small\n");
    origin.commit_all("Small again");
    let left_out = world.add(&origin);
    assert!(left_out.contains("of 3 commits"), "{left_out}");
    assert!(left_out.contains("more than 2000000 lines, which are not compared"), "{left_out}");
    assert!(left_out.contains("large.txt: larger than 4 MiB, so lines are not compared"), "{left_out}");
    let found = world.run(&["search", "Change it all", "--mode", "lexical", "--json"]).ok().json();
    assert_eq!(found["hits"][0]["kind"], "commit", "{found}");
    world.holds();
}

#[test]
fn large_blobs_and_long_lines_are_never_held_whole() {
    let mut world = World::new();
    let mut origin = Fixture::new();
    let (line, blob) = if is_full_size() { (100 << 20, 2 << 30) } else { (9 << 20, 200_u64 << 20) };
    for round in 0..2 {
        origin.write("line.txt", "word ".repeat(line / 5));
        // A file with a hole: nothing but its end is written.
        let file = fs::File::create(origin.path().join("blob.bin")).unwrap();
        file.write_all_at(&[round], blob - 1).unwrap();
        file.set_len(blob + u64::from(round)).unwrap();
        origin.write("README.md", format!("# Round {round}\n"));
        origin.commit_all(format!("Round {round}"));
    }
    let left_out = world.add(&origin);
    assert!(!left_out.contains("line.txt"), "it did not change: {left_out}");
    assert_eq!(world.repository(EVIL)["files"], 3);
    world.holds();
}

#[test]
fn many_files_and_many_commits_take_bounded_memory() {
    let (files, commits) = if is_full_size() { (50_000, 100_000) } else { (2_000, 1_000) };
    let mut world = World::new();
    let origin = Fixture::new();
    let mut stream = String::new();
    for commit in 0..commits {
        let at = FIRST_COMMIT_AT + commit;
        let _ = write!(stream, "commit refs/heads/main\ncommitter A <a@x.org> {at} +0000\ndata 3\nMsg\n");
        let changed = if commit == 0 { 0..files } else { commit % files..commit % files + 1 };
        for file in changed {
            let text = format!("def f{file}():\n    return {commit}\n");
            let _ = write!(stream, "M 100644 inline src/{}/f{file}.py\ndata {}\n{text}\n", file % 100, text.len());
        }
    }
    origin.git_with(["fast-import", "--quiet"], stream.as_bytes());
    assert_eq!(world.add(&origin), "");
    assert_eq!(world.repository(EVIL)["commits"].as_i64(), Some(commits));
    assert_eq!(world.repository(EVIL)["files"].as_i64(), Some(files));
    world.holds();
}

/// A git that worked for a process that was killed grew on without it.
#[cfg(target_os = "linux")]
#[test]
fn git_ends_with_its_parent_and_has_little_memory() {
    let mut world = World::alone();
    let mut origin = Fixture::new();
    let mut random = fastrand::Rng::with_seed(16);
    for message in ["Begin", "Change"] {
        // As much as is just compared: it takes git some ten seconds.
        origin.write("lines.txt", digits(&mut random, 990_000));
        origin.commit_all(message);
    }
    let path = origin.path().display().to_string();
    let mut adding = world.command(&["add", &path, "--name", EVIL]).stderr(Stdio::null()).spawn().unwrap();
    let mut found = Vec::new();
    eventually("git compares", || {
        found = world.gits();
        let compares = |pid: &i32| processes::command_line(*pid).contains("diff-tree");
        found.iter().any(compares)
    });
    for pid in &found {
        let Ok(limits) = fs::read_to_string(format!("/proc/{pid}/limits")) else { continue };
        let data = limits.lines().find(|line| line.starts_with("Max data size")).unwrap().to_owned();
        let bytes: u64 = data.split_whitespace().nth(3).unwrap().parse().unwrap_or(u64::MAX);
        assert!(bytes <= MEMORY, "{data}");
    }
    signal(adding.id(), Signal::KILL);
    adding.wait().unwrap();
    let killed = Instant::now();
    eventually("git has ended", || world.gits().is_empty());
    assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
    // What was left half done is done.
    world.add(&origin);
    world.holds();
}

/// What git starts itself hears nothing of the end of git: `git-remote-http` waited for a minute for a server that says
/// nothing, and `pack-objects` compressed on.
#[cfg(target_os = "linux")]
#[test]
fn nothing_that_git_has_started_outlives_a_command() {
    let world = World::alone();
    world.sandbox.write_config("[repositories]\nallowed_hosts = [\"127.0.0.1\"]\n");
    let address = format!("http://{}/evil/repo.git", silent_repository());
    let mut adding = world.command(&["add", &address, "--name", EVIL]).stderr(Stdio::null()).spawn().unwrap();
    let mut found = Vec::new();
    eventually("git fetches", || {
        found = processes::descendants(adding.id());
        let lines: Vec<String> = found.iter().map(|(process, _)| processes::command_line(*process)).collect();
        lines.iter().any(|line| line.contains("git fetch")) && lines.iter().any(|line| line.contains("remote-http"))
    });
    let mut groups: Vec<i32> = found.iter().map(|(_, group)| *group).collect();
    groups.sort_unstable();
    groups.dedup();
    signal(adding.id(), Signal::KILL);
    adding.wait().unwrap();
    let killed = Instant::now();
    eventually("nothing is left", || processes::of_groups(&groups).is_empty());
    assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
}

/// The address of a server that has a repository of which it tells the branch, but no object: it never answers that.
fn silent_repository() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let mut held = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let count = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..count]).into_owned();
            let body = match request.split(' ').nth(1).unwrap_or_default() {
                path if path.contains("/info/refs") => format!("{}\trefs/heads/main\n", "1".repeat(40)),
                path if path.ends_with("/HEAD") => "ref: refs/heads/main\n".to_owned(),
                _ => {
                    held.push(stream);
                    continue;
                }
            };
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            drop(stream.write_all([head, body].concat().as_bytes()));
        }
    });
    address
}

/// An object that git does not let in is the end of what is read of its repository, and of nothing else.
#[test]
fn objects_that_git_refuses_are_named_and_change_nothing() {
    let mut world = World::new();
    let mut origin = Fixture::new();
    origin.write("README.md", "# Harmless\n");
    let harmless = origin.commit_all("Begin");
    let blob = origin.raw_object("blob", "x\n");
    let entry = [b"100644 twice\0", &blob.as_bytes()[..]].concat();
    let twice = origin.raw_object("tree", [&entry[..], &entry[..]].concat());
    let whole = origin.sha("HEAD^{tree}");
    let people = "author A <a@x.org> 1700000000 +0000\ncommitter A <a@x.org> 1700000000 +0000\n";
    let of_tree = origin.raw_object("commit", format!("tree {twice}\nparent {harmless}\n{people}\nTwice\n"));
    // Git goes no further than to a commit without a tree: neither does the sender, nor the reader.
    let no_tree = origin.raw_object("commit", format!("parent {harmless}\n{people}\nNo tree\n"));
    let on_top = origin.raw_object("commit", format!("tree {whole}\nparent {no_tree}\n{people}\nOn top\n"));
    let path = origin.path().display().to_string();
    for (commit, object, advice) in [(of_tree, twice, "git filter-repo"), (on_top, no_tree, "git fsck")] {
        let says_so = |output: &Output| {
            assert_eq!(output.code, 1, "{output:#?}");
            let errors: Vec<&str> = output.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
            assert!(errors.len() == 1 && errors[0].contains(&object.to_string()), "{output:#?}");
            assert!(errors[0].contains(advice), "{output:#?}");
        };
        // `git update-ref` would look at it.
        let point_at = |sha| fs::write(origin.git_dir().join("refs/heads/main"), format!("{sha}\n")).unwrap();
        point_at(commit);
        says_so(&world.run(&["add", &path, "--name", EVIL]));
        world.holds();
        // What is known stays, and what becomes harmless again is read on.
        point_at(harmless);
        assert_eq!(world.add(&origin), "");
        point_at(commit);
        let before = world.repository("acme/shop")["commits"].as_u64().unwrap();
        world.shop.write("more.md", format!("Beside {object}.\n"));
        world.shop.commit_all("Beside");
        says_so(&world.run(&["sync"]));
        assert_eq!(world.repository("acme/shop")["commits"], before + 1);
        assert_eq!(
            (world.repository(EVIL)["commits"].as_u64(), world.repository(EVIL)["files"].as_u64()),
            (Some(1), Some(1))
        );
        point_at(harmless);
        world.holds();
        // The server may be about to repeat a sync that failed.
        eventually("it is removed", || world.run(&["remove", EVIL]).code == 0);
    }
}

/// A program that says what it is bounded by, in place of git.
fn git_that_tells(directory: &Sandbox) -> GitProgram {
    let program = directory.path().join("git");
    let script = "#!/bin/sh\n[ \"$1\" = version ] && echo git version 2.47.0 && exit\nulimit -d\n";
    // Written by another process: what another test starts just now would have the file open too.
    let mut writer = Command::new("/bin/sh");
    let writer = writer.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(&program).stdin(Stdio::piped()).spawn();
    let mut writer = writer.unwrap();
    writer.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
    let child = Some(PathBuf::from(env!("CARGO_BIN_EXE_backstory")));
    GitProgram::find(GitSettings { program: program.into_os_string(), child, ..GitSettings::default() }).unwrap()
}

#[test]
fn memory_of_git_is_what_the_command_says() {
    let directory = Sandbox::empty();
    let git = git_that_tells(&directory);
    let limits = Limits { time: Duration::from_secs(20), output: 100 };
    let said = |memory: u64| {
        let command = git.command(None, NetworkAccess::Nothing, "x").memory(memory);
        String::from_utf8(command.run(limits, &Cancel::default()).unwrap()).unwrap().trim().parse::<u64>().unwrap()
    };
    assert_eq!(said(512 << 20), 512 << 10);
    assert_eq!(said(64 << 20), 64 << 10);
}

#[test]
fn nothing_becomes_git_but_what_was_started_for_it() {
    let sandbox = Sandbox::empty();
    for (arguments, said) in [
        (&["--git-child", "1", "100000000", "git", "version"][..], "the process that started git has ended"),
        (&["--git-child", "x"], "--git-child is for backstory itself"),
        (&["--git-child"], "--git-child is for backstory itself"),
        (&["--git-child", "1"], "--git-child is for backstory itself"),
    ] {
        let output = sandbox.run(arguments);
        assert_eq!((output.code, output.stdout.as_str(), output.stderr.trim()), (127, "", said));
    }
    // The process that watches git ends when nothing can come any more.
    assert_eq!(sandbox.run(&["--git-watch"]).ok().stdout, "");
    let own = std::process::id().to_string();
    let output = sandbox.run(&["--git-child", &own, "100000000", "/nonexistent/git"]);
    assert_eq!((output.code, output.stderr.contains("'/nonexistent/git' cannot be run")), (127, true), "{output:?}");
    let output = sandbox.run(&["--git-child", &own, "100000000", "/bin/echo", "one", "two"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "one two\n"), "{output:?}");
}

/// Ctrl-C reaches every git.
#[test]
fn git_ends_when_a_command_is_stopped() {
    let world = World::alone();
    let mut origin = Fixture::new();
    let mut random = fastrand::Rng::with_seed(16);
    for message in ["Begin", "Change"] {
        origin.write("lines.txt", digits(&mut random, 990_000));
        origin.commit_all(message);
    }
    let path = origin.path().display().to_string();
    let mut adding = world.command(&["add", &path, "--name", EVIL]).stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(adding.stderr.take().unwrap());
    eventually("git compares", || !world.gits().is_empty());
    signal(adding.id(), Signal::INT);
    let last = said.lines().map_while(Result::ok).last();
    assert!(!adding.wait().unwrap().success(), "{last:?}");
    eventually("git has ended", || world.gits().is_empty());
}
