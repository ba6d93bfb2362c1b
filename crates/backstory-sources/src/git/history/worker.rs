//! One of the threads that read commits.

use std::{
    collections::VecDeque,
    io::Write,
    process::{ChildStdin, ChildStdout},
};

use backstory_model::commit::{Commit, FileChange, RepoPath, Sha};
use git2::{Odb, Oid, Repository};

use super::{
    Batch, HistoryError, Shared, Watched,
    diff_request::{DiffDetail, DiffRequest, shown},
    line_words::LineWords,
    stream::{Changes, DiffStream, MAX_CHANGES, StreamError},
    weight,
};
use crate::git::{
    command::{GitError, NetworkAccess},
    commit_object,
    diff_cost::MAX_FILE,
    trees::{MAX_DEPTH, Trees},
};

/// Batches that git has been given. While one is read, git works on the next.
const AHEAD: usize = 2;
/// How git compares: with renames, copies of what the same commit changes, and patches.
const WHOLE: [&str; 7] = ["-C", "-p", "-U1", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index"];
/// How git compares a commit that has too many lines: with renames and copies.
const FILES: [&str; 1] = ["-C"];
/// How git compares a commit whose files cannot be read: this needs directories only.
const NAMES: [&str; 1] = ["--no-renames"];
/// Most bytes of data that git may have.
const MAX_MEMORY: u64 = 1 << 30;
/// A line that git repeats after each commit: what it writes of a commit is then written at once, so that a failure is
/// known to be of the commit that comes next.
const NEXT: &[u8] = b"next";

/// Works until there is nothing more to do or nobody wants it.
pub(super) fn run(shared: &Shared) {
    let opened = crate::git::open_clone(&shared.clone);
    let result = match &opened {
        Ok(repository) => repository.odb().map_err(|error| open_error(shared, &error)).and_then(|odb| {
            let trees = Trees::default();
            Worker { shared, repository, odb, trees, git: None, given: VecDeque::new() }.run()
        }),
        Err(error) => Err(open_error(shared, error)),
    };
    if let Err(error) = result {
        drop(shared.done.send((u64::MAX, Err(error))));
    }
}

fn open_error(shared: &Shared, error: &git2::Error) -> HistoryError {
    HistoryError::Open { path: shared.clone.clone(), said: error.message().to_owned() }
}

struct Worker<'a> {
    shared: &'a Shared,
    repository: &'a Repository,
    odb: Odb<'a>,
    trees: Trees,
    git: Option<DiffTree>,
    /// Batches that git has been given.
    given: VecDeque<(u64, Vec<DiffRequest>)>,
}

/// What a commit changes, and why that may be less than all.
type Read = (Changes, Option<String>);

/// A running `git diff-tree --stdin`.
struct DiffTree {
    process: Watched,
    stdin: Option<ChildStdin>,
    output: DiffStream<ChildStdout>,
}

impl Worker<'_> {
    fn run(&mut self) -> Result<(), HistoryError> {
        loop {
            while self.given.len() < AHEAD {
                let Some((number, batch)) = self.take() else { break };
                let ask = |commit| {
                    let asked = DiffRequest::of(self.repository, &self.odb, &mut self.trees, commit);
                    self.shared.advance();
                    asked
                };
                let batch = (number, batch.into_iter().map(ask).collect::<Vec<_>>());
                if let Some(git) = &mut self.git {
                    git.give(&batch.1, batch.0);
                }
                self.given.push_back(batch);
            }
            let Some((number, batch)) = self.given.front() else { return Ok(()) };
            let (number, batch) = (*number, batch.clone());
            self.shared.room.enter(number);
            let result = self.read(number, &batch);
            self.shared.room.read(result.as_ref().map_or(0, |commits| weight(commits)));
            self.given.pop_front();
            let failed = result.is_err();
            if self.shared.done.send((number, result)).is_err() || failed {
                return Ok(());
            }
        }
    }

    /// Another batch; waits for one only if there is nothing else to do.
    fn take(&self) -> Option<Batch> {
        let idle = self.given.is_empty();
        if idle {
            return self.shared.work.lock().recv().ok();
        }
        self.shared.work.try_lock()?.try_recv().ok()
    }

    /// Reads the commits of the first batch that git was given.
    fn read(&mut self, number: u64, batch: &[DiffRequest]) -> Result<Vec<Commit>, HistoryError> {
        let limit = self.shared.identifiers;
        let mut commits = Vec::with_capacity(batch.len());
        let mut words = (limit > 0).then(LineWords::default);
        for (index, asked) in batch.iter().enumerate() {
            let (mut changes, reason) = match &asked.how {
                DiffDetail::Whole => self.whole(&batch[index..], asked, &mut words)?,
                DiffDetail::WithoutLines(reason) => self.alone(asked, &[&FILES, &NAMES], reason)?,
                DiffDetail::NotAtAll(reason) => (Changes { kept: Vec::new(), left_out: 0 }, Some(reason.clone())),
            };
            let identifiers = words.as_mut().map_or_else(Vec::new, |words| words.identifiers.finish(limit));
            let secrets = words.as_mut().map(|words| words.identifiers.take_secrets()).unwrap_or_default();
            let removed_words = words.as_mut().and_then(|words| words.removed.finish());
            let removed_words = removed_words.filter(|_| reason.is_none());
            let deep = leave_out_deep(&mut changes);
            let too_many = (changes.left_out > 0)
                .then(|| format!("{} more files than {MAX_CHANGES} are left out", changes.left_out));
            let reason = reason.or(deep).or(too_many).or_else(|| asked.note.clone());
            let commit = self.commit(asked.sha, changes, reason)?;
            commits.push(Commit { identifiers, secrets, removed_words, ..commit });
            self.shared.advance();
        }
        let git = self.git(&[])?;
        match git.output.expect_line(&end_of(number)) {
            Ok(()) => {}
            // It failed after the last commit, or was never given this batch: the next one gets a new git.
            Err(StreamError::Ended) => self.git = None,
            Err(error) => return Err(format_error("the end of a batch", error)),
        }
        Ok(commits)
    }

    /// The running git; a new one is given the rest of the first batch and the batches after it.
    fn git(&mut self, rest: &[DiffRequest]) -> Result<&mut DiffTree, HistoryError> {
        if self.git.is_none() {
            let mut git = DiffTree::start(self.shared, &WHOLE)?;
            for (index, (number, batch)) in self.given.iter().enumerate() {
                git.give(if index == 0 { rest } else { batch }, *number);
            }
            self.git = Some(git);
        }
        self.git.as_mut().ok_or(HistoryError::Cancelled)
    }

    /// What the first of these commits changes, as git was asked; if that fails, without looking into files.
    fn whole(
        &mut self,
        rest: &[DiffRequest],
        asked: &DiffRequest,
        words: &mut Option<LineWords>,
    ) -> Result<Read, HistoryError> {
        let error = match self.git(rest)?.commit(asked.sha, words) {
            Ok(changes) => return Ok((changes, None)),
            Err(error) => error,
        };
        *words = words.take().map(|_| LineWords::default());
        let said = self.git.take().map_or_else(String::new, |git| git.failure(self.shared, &error));
        let reason = format!("files cannot be compared, so renames and lines are not known: {said}");
        self.alone(asked, &[&NAMES], &reason)
    }

    /// What a commit changes, by a git of its own, in the first of these ways that succeeds; with the reason.
    fn alone(&self, asked: &DiffRequest, ways: &[&[&str]], reason: &str) -> Result<Read, HistoryError> {
        let mut said = String::new();
        for how in ways {
            if self.shared.processes.is_over() {
                return Err(HistoryError::Cancelled);
            }
            let mut git = DiffTree::start(self.shared, how)?;
            git.give(&[DiffRequest { how: DiffDetail::Whole, ..asked.clone() }], 0);
            git.stdin = None;
            match git.commit(asked.sha, &mut None) {
                Ok(changes) => return Ok((changes, Some(reason.to_owned()))),
                Err(error) => said = git.failure(self.shared, &error),
            }
        }
        Ok((Changes { kept: Vec::new(), left_out: 0 }, Some(format!("directories cannot be compared: {said}"))))
    }

    fn commit(&self, sha: Sha, changes: Changes, incomplete: Option<String>) -> Result<Commit, HistoryError> {
        let unreadable = |said: &str| HistoryError::Commit { sha, said: said.to_owned() };
        let id = Oid::from_bytes(sha.as_bytes()).map_err(|error| unreadable(error.message()))?;
        let object = self.odb.read(id).map_err(|error| unreadable(error.message()))?;
        let read = commit_object::parse_commit(object.data()).ok_or_else(|| unreadable("it names no tree"))?;
        Ok(Commit {
            sha,
            tree: read.tree,
            parents: read.parents,
            author: read.author,
            committer: read.committer,
            message: read.message,
            changes: changes.kept,
            identifiers: Vec::new(),
            secrets: Default::default(),
            removed_words: None,
            incomplete,
        })
    }
}

impl DiffTree {
    fn start(shared: &Shared, how: &[&str]) -> Result<Self, HistoryError> {
        let command = shared.git.command(Some(&shared.clone), NetworkAccess::Nothing, "diff-tree");
        let command = command.config("core.bigFileThreshold", &MAX_FILE.to_string()).memory(MAX_MEMORY);
        let mut process = command.args(["--stdin", "--root", "--always", "-r", "--raw", "-z"]).args(how).spawn()?;
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        let stdout = stdout.ok_or(HistoryError::Cancelled)?;
        Ok(Self { process: shared.processes.watch(process), stdin, output: DiffStream::new(stdout) })
    }

    /// Asks for commits. All that is ever asked ahead fits into the pipe, so this does not wait.
    fn give(&mut self, batch: &[DiffRequest], number: u64) {
        let mut text = Vec::with_capacity(batch.len() * 88 + 24);
        for asked in batch.iter().filter(|asked| asked.how == DiffDetail::Whole) {
            text.extend_from_slice(asked.sha.to_string().as_bytes());
            if let Some(parent) = asked.parent {
                text.push(b' ');
                text.extend_from_slice(parent.to_string().as_bytes());
            }
            text.push(b'\n');
            text.extend_from_slice(NEXT);
            text.push(b'\n');
        }
        text.extend_from_slice(&end_of(number));
        text.push(b'\n');
        if let Some(stdin) = &mut self.stdin {
            // If git has failed, reading its output tells.
            drop(stdin.write_all(&text));
        }
    }

    /// What the commit that comes next changes.
    fn commit(&mut self, sha: Sha, words: &mut Option<LineWords>) -> Result<Changes, StreamError> {
        let output = &mut self.output;
        self.process.wait_for(|| {
            let changes = output.commit(sha, words)?;
            output.expect_line(NEXT)?;
            Ok(changes)
        })
    }

    /// Why it failed.
    fn failure(self, shared: &Shared, error: &StreamError) -> String {
        let is_overdue = self.process.is_overdue();
        drop(self.stdin);
        match error {
            _ if is_overdue => format!("git took longer than {} seconds", shared.commit_time.as_secs()),
            StreamError::Ended => match self.process.finish() {
                Err(GitError::Failed { stderr, .. }) => stderr,
                Err(error) => error.to_string(),
                Ok(()) => "git wrote too little".to_owned(),
            },
            StreamError::Unexpected(what) => format!("what git writes of it is not understood: {what}"),
            StreamError::Io(error) => error.to_string(),
        }
    }
}

/// Takes out what lies in too many directories, and says what.
fn leave_out_deep(changes: &mut Changes) -> Option<String> {
    let path_is_deep = |path: &RepoPath| path.as_str().matches('/').count() >= MAX_DEPTH;
    let is_deep =
        |change: &FileChange| path_is_deep(&change.path) || change.old_path.as_ref().is_some_and(path_is_deep);
    let first = changes.kept.iter().find(|change| is_deep(change)).map(|change| shown(&change.path.to_bytes()))?;
    let before = changes.kept.len();
    changes.kept.retain(|change| !is_deep(change));
    let count = before - changes.kept.len();
    let what = if count == 1 { "1 file".to_owned() } else { format!("{count} files, the first of them") };
    Some(format!("{what} in more than {MAX_DEPTH} directories left out: {first}"))
}

/// A line that is no object name, so that git repeats it and writes what it holds back.
fn end_of(number: u64) -> Vec<u8> {
    format!("end of {number}").into_bytes()
}

fn format_error(sha: &str, error: StreamError) -> HistoryError {
    match error {
        StreamError::Ended => HistoryError::Format { sha: sha.to_owned(), what: "it ends too early" },
        StreamError::Unexpected(what) => HistoryError::Format { sha: sha.to_owned(), what },
        StreamError::Io(source) => GitError::Io { command: "diff-tree".to_owned(), source }.into(),
    }
}
