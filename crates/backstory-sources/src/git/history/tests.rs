//! Tests of reading commits.

use std::{collections::BTreeSet, fmt::Write};

use backstory_model::commit::{ChangeStatus, FileMode, LineCounts};

use super::*;
use crate::git::{command::GitSettings, fixture::Fixture, refs};

fn git() -> GitProgram {
    GitProgram::find(GitSettings::default()).unwrap()
}

fn options() -> HistoryOptions {
    HistoryOptions { quiet: Duration::from_secs(60), ..HistoryOptions::default() }
}

fn read_with(
    origin: &Fixture,
    wanted: CommitSelection<'_>,
    options: HistoryOptions,
) -> Result<Vec<Commit>, HistoryError> {
    history(&git(), &origin.git_dir(), wanted, options, &Cancel::default())?.collect()
}

fn read(origin: &Fixture) -> Vec<Commit> {
    let tips = refs::read(&origin.git_dir()).unwrap().tips();
    read_with(origin, CommitSelection { tips: &tips, except: &[], known: None }, options()).unwrap()
}

/// `R086 old -> new +1 -2` for every change.
fn summary(commit: &Commit) -> Vec<String> {
    let letter = |status| match status {
        ChangeStatus::Added => 'A',
        ChangeStatus::Modified => 'M',
        ChangeStatus::Deleted => 'D',
        ChangeStatus::Renamed => 'R',
        ChangeStatus::Copied => 'C',
        ChangeStatus::TypeChanged => 'T',
    };
    let one = |change: &backstory_model::commit::FileChange| {
        let mut text = letter(change.status).to_string();
        if let Some(old) = &change.old_path {
            write!(text, " {old} ->").unwrap();
        }
        write!(text, " {}", change.path).unwrap();
        match change.lines {
            Some(LineCounts { insertions, deletions }) => write!(text, " +{insertions} -{deletions}").unwrap(),
            None => text.push_str(" binary"),
        }
        text
    };
    commit.changes.iter().map(one).collect()
}

#[test]
fn every_kind_of_change_is_told_as_git_tells_it() {
    let mut origin = Fixture::new();
    let text: String = (0..40).map(|n| format!("line number {n}\n")).collect();
    origin
        .write("a.txt", &text)
        .write("b.bin", b"\0\x01")
        .write("crlf", "one\r\ntwo\r\n")
        .write("script", "#!/bin/sh\n");
    origin.commit_all("root");
    std::fs::rename(origin.path().join("a.txt"), origin.path().join("moved.txt")).unwrap();
    origin.write("moved.txt", text.replace("number 7\n", "number seven\n"));
    origin.write("b.bin", b"\0\x02").write("crlf", "one\ntwo\r\n");
    origin.git(["update-index", "--chmod=+x", "script"]);
    origin.commit_all("rename with an edit");
    origin.git(["update-index", "--chmod=+x", "script"]);
    origin.commit_index("mode alone", &[]);
    origin.git(["reset", "--quiet", "--hard"]);
    origin.remove("crlf");
    std::os::unix::fs::symlink("script", origin.path().join("crlf")).unwrap();
    origin.remove("script");
    origin.commit_all("file becomes link, file is deleted");
    let module = Sha::from_bytes([9; 20]);
    origin.index("160000", module, "vendor");
    origin.commit_index("submodule", &[]);
    origin.index("160000", Sha::from_bytes([8; 20]), "vendor");
    origin.commit_index("submodule moves", &[]);
    let commits = read(&origin);
    let summaries: Vec<Vec<String>> = commits.iter().map(summary).collect();
    assert_eq!(summaries[0], ["A a.txt +40 -0", "A b.bin binary", "A crlf +2 -0", "A script +1 -0"]);
    assert_eq!(summaries[1], ["M b.bin binary", "M crlf +1 -1", "R a.txt -> moved.txt +1 -1"]);
    assert_eq!(summaries[2], ["M script +0 -0"]);
    assert_eq!(summaries[3], ["T crlf +1 -2", "D script +0 -1"]);
    assert_eq!(summaries[4], ["A vendor +1 -0"]);
    assert_eq!(summaries[5], ["M vendor +1 -1"]);
    assert!(commits[1].changes[2].similarity.unwrap() > 90);
    assert_eq!(commits[2].changes[0].old.unwrap().mode, FileMode::FILE);
    assert!(commits[2].changes[0].new.unwrap().mode.is_executable());
    assert!(commits[3].changes[0].is_symlink() && commits[3].changes[1].new.is_none());
    assert!(commits[4].changes[0].is_submodule() && commits[4].changes[0].new.unwrap().id == module);
    assert_eq!(commits[1].author.offset_minutes, 90);
    assert_eq!(commits[1].author.at.as_second(), crate::git::fixture::FIRST_COMMIT_AT + 3600);
    assert_eq!(commits[1].committer.name, "Charles Babbage");
    assert!(commits[4].identifiers.is_empty() && commits.iter().all(|commit| commit.incomplete.is_none()));
    let names: BTreeSet<&str> = commits[1].identifiers.iter().map(|word| word.name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["line", "number", "one", "seven"]));
}

// Row 117 of docs/requirements.md.
#[test]
fn copies_of_what_the_same_commit_changes_are_found() {
    let mut origin = Fixture::new();
    let text: String = (0..40).map(|n| format!("line number {n}\n")).collect();
    origin.write("a", &text);
    origin.commit_all("root");
    origin.write("b", &text).write("a", text.replace("number 3\n", "x\n"));
    origin.commit_all("copy");
    // A copy of what stays as it was is a new file: finding it would take a look at the whole tree.
    origin.write("c", &text);
    origin.commit_all("copy of what stays");
    let commits = read(&origin);
    assert_eq!(summary(&commits[1]), ["M a +1 -1", "C a -> b +0 -0"]);
    assert_eq!(commits[1].changes[1].similarity, Some(100));
    assert_eq!(summary(&commits[2]), ["A c +40 -0"]);
}

#[test]
fn odd_paths_survive() {
    let mut origin = Fixture::new();
    let paths: [&[u8]; 8] = [
        b"tab\tnewline\nquote\"",
        b"-rf",
        b"caf\xe9",
        b"\"x\"",
        b"a b",
        "\u{1F980}".as_bytes(),
        b":colon",
        b"back\\slash",
    ];
    for path in paths {
        origin.write(path, "x\n");
    }
    origin.commit_all("paths");
    for path in paths {
        origin.git_with([&b"mv"[..], b"--", path, &[path, b" moved"].concat()].map(as_os), b"");
    }
    origin.commit_all("moved");
    let commits = read(&origin);
    let found: BTreeSet<Vec<u8>> =
        commits[0].changes.iter().map(|change| change.path.to_bytes().into_owned()).collect();
    assert_eq!(found, paths.iter().map(|path| path.to_vec()).collect());
    for change in &commits[1].changes {
        assert_eq!(change.status, ChangeStatus::Renamed);
        // Files with the same content are paired by git as it likes; all paths are there.
        assert!(paths.contains(&&*change.old_path.as_ref().unwrap().to_bytes()));
        assert!(change.path.to_bytes().ends_with(b" moved"));
        assert_eq!(change.lines, Some(LineCounts::default()));
    }
}

fn as_os(bytes: &[u8]) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[test]
fn merges_empty_commits_and_second_roots() {
    let mut origin = Fixture::new();
    origin.write("a", "1\n");
    let root = origin.commit_all("root");
    let mut sides = Vec::new();
    for side in ["one", "two", "three"] {
        origin.git(["checkout", "--quiet", "-b", side, &root.to_string()]);
        origin.write(side, "x\n");
        sides.push(origin.commit_all(side));
    }
    origin.git(["checkout", "--quiet", "main"]);
    let empty = origin.commit_all("");
    for side in ["one", "two", "three"] {
        origin.write(side, "x\n");
    }
    origin.git(["add", "--all"]);
    let octopus = origin.commit_index("octopus\n", &sides);
    origin.git(["checkout", "--quiet", "--orphan", "other"]);
    origin.git(["rm", "-r", "-f", "--quiet", "."]);
    origin.write("z", "z\n");
    let other = origin.commit_all("another root");
    let commits = read(&origin);
    let by = |sha| commits.iter().find(|commit| commit.sha == sha).unwrap();
    assert_eq!(by(octopus).parents, [empty, sides[0], sides[1], sides[2]]);
    assert_eq!(summary(by(octopus)), ["A one +1 -0", "A three +1 -0", "A two +1 -0"]);
    assert!(by(empty).changes.is_empty() && by(empty).message.is_empty() && by(empty).title().is_empty());
    assert!(by(other).parents.is_empty());
    assert_eq!(summary(by(other)), ["A z +1 -0"]);
    let at = |sha| commits.iter().position(|commit| commit.sha == sha).unwrap();
    for commit in &commits {
        assert!(commit.parents.iter().all(|parent| at(*parent) < at(commit.sha)));
    }
    assert_eq!(commits.len(), 7);
}

#[test]
fn messages_and_names_in_any_encoding() {
    let mut origin = Fixture::new();
    origin.author("J\u{fc}rgen", "j@x");
    origin.commit_all("gr\u{fc}\u{df}e\n\n\nbody  \n\n");
    let tree = origin.sha("HEAD^{tree}");
    let header = format!("tree {tree}\nparent {}\n", origin.sha("HEAD"));
    let people = b"author J\xfcrgen <j@x> 1700000000 +0100\ncommitter X <x@x> 1700000000 -0000\n";
    let latin = [header.as_bytes(), people, b"encoding ISO-8859-1\n\ngr\xfc\xdfe\n"].concat();
    let latin = origin.raw_object("commit", latin);
    let broken = [format!("tree {tree}\nparent {latin}\n").as_bytes(), people, b"\nbad \xfc bytes"].concat();
    let broken = origin.raw_object("commit", broken);
    origin.git(["update-ref", "HEAD", &broken.to_string()]);
    let commits = read(&origin);
    assert_eq!(commits[0].message, "gr\u{fc}\u{df}e\n\n\nbody  \n\n");
    assert_eq!((commits[1].author.name.as_str(), commits[1].message.as_str()), ("J\u{fc}rgen", "gr\u{fc}\u{df}e\n"));
    assert_eq!((commits[2].author.name.as_str(), commits[2].message.as_str()), ("J\u{fffd}rgen", "bad \u{fffd} bytes"));
}

#[test]
fn known_commits_and_what_they_come_from_are_left_out() {
    let mut origin = Fixture::new();
    let all: Vec<Sha> = (0..200).map(|n| origin.commit_all(format!("{n}"))).collect();
    let tips = [all[199]];
    let names = |commits: Vec<Commit>| commits.into_iter().map(|commit| commit.sha).collect::<Vec<_>>();
    let gone = Sha::from_bytes([7; 20]);
    let wanted = CommitSelection { tips: &tips, except: &[all[149], gone], known: None };
    assert_eq!(names(read_with(&origin, wanted, options()).unwrap()), all[150..]);
    let skip = all[10];
    let wanted = CommitSelection { tips: &tips, except: &[], known: Some(Box::new(move |sha| sha == skip)) };
    let found = names(read_with(&origin, wanted, options()).unwrap());
    assert!(found.len() == 199 && !found.contains(&skip));
    for jobs in [1, 3] {
        let options = HistoryOptions { jobs: NonZeroUsize::new(jobs).unwrap(), ..options() };
        let wanted = CommitSelection { tips: &tips, except: &[], known: None };
        assert_eq!(names(read_with(&origin, wanted, options).unwrap()), all);
    }
    assert!(read_with(&origin, CommitSelection { tips: &[], except: &[], known: None }, options()).unwrap().is_empty());
    let error = read_with(&origin, CommitSelection { tips: &[gone], except: &[], known: None }, options()).unwrap_err();
    assert!(error.to_string().contains(&gone.to_string()), "{error}");
}

#[test]
fn a_history_can_be_left_and_cancelled() {
    let mut origin = Fixture::new();
    for n in 0..120 {
        origin.commit_all(format!("{n}"));
    }
    let tips = [origin.sha("HEAD")];
    let cancel = Cancel::default();
    let wanted = || CommitSelection { tips: &tips, except: &[], known: None };
    let mut left = history(&git(), &origin.git_dir(), wanted(), options(), &cancel).unwrap();
    assert_eq!(left.next().unwrap().unwrap().message, "0");
    drop(left);
    cancel.cancel();
    let cancelled: Result<Vec<_>, _> =
        history(&git(), &origin.git_dir(), wanted(), options(), &cancel).unwrap().collect();
    assert!(cancelled.is_err_and(|error| matches!(error, HistoryError::Cancelled)));
}

#[test]
fn a_damaged_blob_costs_its_own_commits_only_and_a_damaged_commit_is_named() {
    let mut origin = Fixture::new();
    for n in 0..100 {
        origin.write("a", format!("{n}\n"));
        origin.commit_all(format!("{n}"));
    }
    let tip = origin.sha("HEAD");
    origin.corrupt(origin.sha("HEAD~50:a"));
    let commits = read(&origin);
    assert_eq!(commits.len(), 100);
    let incomplete: Vec<_> = commits.iter().filter(|commit| commit.incomplete.is_some()).collect();
    assert_eq!(incomplete.iter().map(|commit| commit.message.as_str()).collect::<Vec<_>>(), ["49", "50"]);
    for commit in &incomplete {
        assert_eq!(summary(commit), ["M a binary"]);
        assert!(commit.incomplete.as_ref().unwrap().contains("cannot be compared"));
    }
    assert!(commits[51..].iter().all(|commit| summary(commit) == ["M a +1 -1"]));
    origin.corrupt(origin.sha("HEAD~20^{tree}"));
    let commits = read(&origin);
    assert_eq!(commits.iter().filter(|commit| commit.incomplete.is_some()).count(), 4);
    let damaged = origin.sha("HEAD~10");
    origin.corrupt(damaged);
    let error = read_with(&origin, CommitSelection { tips: &[tip], except: &[], known: None }, options()).unwrap_err();
    assert!(error.to_string().contains(&damaged.to_string()), "{error}");
}

#[test]
fn a_full_room_lets_in_only_the_batch_that_comes_next() {
    fn can_move<T: Send>() {}
    can_move::<History>();
    let room = Room::default();
    room.enter(3);
    room.read(MAX_WAITING + 1);
    room.enter(0);
    std::thread::scope(|scope| {
        let later = scope.spawn(|| room.enter(2));
        room.taken(1, 0);
        room.enter(1);
        assert!(!later.is_finished());
        room.taken(1, 2);
        later.join().unwrap();
        room.read(5);
        let other = scope.spawn(|| room.enter(7));
        room.taken(u64::MAX, 0);
        other.join().unwrap();
    });
}

#[test]
fn large_files_shallow_clones_and_mailmaps() {
    let mut origin = Fixture::new();
    let text: String = (0..50_000).map(|n| format!("line {n}\n")).collect();
    origin.write("large", &text).write("one-line", "word ".repeat(200_000));
    origin.commit_all("large");
    origin.write("large", text.replace("line 4999\n", "line four\n"));
    origin.author("ada", "ada@old").commit_all("edit");
    let commits = read(&origin);
    assert_eq!(summary(&commits[0]), ["A large +50000 -0", "A one-line +1 -0"]);
    assert!(commits[0].identifiers.is_empty());
    assert_eq!(summary(&commits[1]), ["M large +1 -1"]);
    let mailmap = Mailmap::parse("Ada Lovelace <ada@new> <ada@old>\n");
    let tips = [origin.sha("HEAD")];
    let wanted = CommitSelection { tips: &tips, except: &[], known: None };
    let mapped = read_with(&origin, wanted, HistoryOptions { mailmap: Some(mailmap), ..options() }).unwrap();
    assert_eq!((mapped[1].author.name.as_str(), mapped[1].author.email.as_str()), ("Ada Lovelace", "ada@new"));

    std::fs::write(origin.git_dir().join("shallow"), format!("{}\n", tips[0])).unwrap();
    let commits = read(&origin);
    assert_eq!(commits.len(), 1);
    assert_eq!(summary(&commits[0]), ["A large +50000 -0", "A one-line +1 -0"]);
    assert_eq!(commits[0].parents.len(), 1);
}

/// Random digits, one a line: what takes longest to compare.
fn digits(random: &mut fastrand::Rng, lines: usize) -> String {
    (0..lines).flat_map(|_| [char::from(b'0' + random.u8(0..10)), '\n']).collect()
}

#[test]
fn a_commit_that_git_works_on_for_too_long_comes_without_lines() {
    let mut origin = Fixture::new();
    let mut random = fastrand::Rng::with_seed(1);
    origin.write("a", "1\n").write("slow", digits(&mut random, 900_000));
    origin.commit_all("0");
    // What it adds is much, too, on a slow machine.
    let except = [origin.sha("HEAD")];
    origin.write("a", "2\n");
    origin.commit_all("1");
    origin.write("a", "3\n").write("slow", digits(&mut random, 900_000));
    origin.commit_all("2");
    origin.write("a", "4\n");
    origin.commit_all("3");
    let tips = [origin.sha("HEAD")];
    let wanted = CommitSelection { tips: &tips, except: &except, known: None };
    let options = HistoryOptions { commit_time: Duration::from_secs(2), ..options() };
    let commits = read_with(&origin, wanted, options).unwrap();
    let reasons: Vec<_> = commits.iter().map(|commit| commit.incomplete.clone()).collect();
    let slow = "files cannot be compared, so renames and lines are not known: git took longer than 2 seconds";
    assert_eq!(reasons, [None, Some(slow.to_owned()), None]);
    assert_eq!(summary(&commits[1]), ["M a binary", "M slow binary"]);
    assert_eq!(summary(&commits[2]), ["M a +1 -1"]);
}

/// They come together, so the first of them is waited for as long as all of them take.
#[test]
fn slow_commits_of_one_batch_are_not_taken_for_silence() {
    let mut origin = Fixture::new();
    let mut random = fastrand::Rng::with_seed(1);
    let versions = [digits(&mut random, 900_000), digits(&mut random, 900_000)];
    for commit in 0..7 {
        origin.write("slow", &versions[commit % 2]);
        origin.commit_all(format!("{commit}"));
    }
    let (tips, except) = ([origin.sha("HEAD")], [origin.sha("HEAD~6")]);
    let wanted = CommitSelection { tips: &tips, except: &except, known: None };
    let (quiet, commit_time) = (Duration::from_secs(3), Duration::from_secs(1));
    let options = HistoryOptions { quiet, commit_time, jobs: NonZeroUsize::MIN, ..options() };
    let begun = Instant::now();
    let commits = read_with(&origin, wanted, options).unwrap();
    assert!(begun.elapsed() > quiet, "they are slow");
    assert_eq!(commits.len(), 6);
    let slow =
        commits.iter().filter(|commit| commit.incomplete.as_ref().is_some_and(|why| why.contains("longer than")));
    assert_eq!(slow.count(), 6);
}

#[test]
fn a_commit_with_too_many_lines_comes_without_them() {
    let mut origin = Fixture::new();
    for round in 0..2 {
        origin.write("a", format!("{round}\n").repeat(600_000)).write("b", format!("{round}\n").repeat(600_000));
        origin.write("large", format!("{round}\n").repeat(2_200_000));
        origin.commit_all(format!("{round}"));
    }
    origin.git(["mv", "a", "c"]);
    origin.write("large", "small\n");
    origin.commit_all("2");
    let commits = read(&origin);
    assert_eq!(summary(&commits[1]), ["M a binary", "M b binary", "M large binary"]);
    let reason = commits[1].incomplete.as_ref().unwrap();
    assert_eq!(reason, "the files that it changes have more than 2000000 lines, which are not compared");
    assert_eq!(summary(&commits[2]), ["R a -> c +0 -0", "M large binary"]);
    let reason = commits[2].incomplete.as_ref().unwrap();
    assert_eq!(reason, "large: larger than 4 MiB, so lines are not compared");
}
