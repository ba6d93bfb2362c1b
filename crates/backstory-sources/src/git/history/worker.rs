//! One of the threads that read commits.

use std::{
    collections::VecDeque,
    io::Write,
    process::{ChildStdin, ChildStdout},
    sync::{PoisonError, TryLockError},
};

use backstory_model::commit::{Commit, Sha};
use git2::{Odb, Oid, Repository};

use super::{
    Batch, HistoryError, Shared, Watched,
    identifiers::Identifiers,
    stream::{Changes, DiffStream, MAX_CHANGES, StreamError},
    weight,
};
use crate::git::{
    command::{GitError, Reach},
    commit_object,
};

/// Batches that git has been given. While one is read, git works on the next.
const AHEAD: usize = 2;
/// How git compares: with renames and patches.
const WHOLE: [&str; 7] = ["-M", "-p", "-U1", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index"];
/// How git compares a commit whose files cannot be read: this needs directories only.
const NAMES: [&str; 1] = ["--no-renames"];

/// Works until there is nothing more to do or nobody wants it.
pub(super) fn run(shared: &Shared) {
    let opened = Repository::open_bare(&shared.clone);
    let result = match &opened {
        Ok(repository) => repository.odb().map_err(|error| open_error(shared, &error)).and_then(|odb| {
            let mut worker = Worker { shared, odb, git: None, given: VecDeque::new() };
            worker.run()
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
    odb: Odb<'a>,
    git: Option<DiffTree>,
    /// Batches that git has been given.
    given: VecDeque<Batch>,
}

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
                let Some(batch) = self.take() else { break };
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
            return self.shared.work.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
        }
        match self.shared.work.try_lock() {
            Ok(work) => work.try_recv().ok(),
            Err(TryLockError::Poisoned(work)) => work.into_inner().try_recv().ok(),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Reads the commits of the first batch that git was given.
    fn read(&mut self, number: u64, batch: &[(Sha, Option<Sha>)]) -> Result<Vec<Commit>, HistoryError> {
        let limit = self.shared.identifiers;
        let mut commits = Vec::with_capacity(batch.len());
        let mut words = (limit > 0).then(Identifiers::default);
        for (index, (sha, parent)) in batch.iter().enumerate() {
            let git = self.git(&batch[index..])?;
            let (changes, reason) = match git.output.commit(*sha, &mut words) {
                Ok(changes) => (changes, None),
                Err(StreamError::Ended) => {
                    words = words.map(|_| Identifiers::default());
                    self.alone(*sha, *parent, &mut words)?
                }
                Err(error) => return Err(format_error(&sha.to_string(), error)),
            };
            let identifiers = words.as_mut().map_or_else(Vec::new, |words| words.finish(limit));
            let secrets = words.as_mut().map(Identifiers::take_secrets).unwrap_or_default();
            let reason = reason.or_else(|| {
                let too_many = format!("{} more files than {MAX_CHANGES} are left out", changes.left_out);
                (changes.left_out > 0).then_some(too_many)
            });
            let commit = self.commit(*sha, changes, reason)?;
            commits.push(Commit { identifiers, secrets, ..commit });
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
    fn git(&mut self, rest: &[(Sha, Option<Sha>)]) -> Result<&mut DiffTree, HistoryError> {
        if self.git.is_none() {
            let mut git = DiffTree::start(self.shared, &WHOLE)?;
            for (index, (number, batch)) in self.given.iter().enumerate() {
                git.give(if index == 0 { rest } else { batch }, *number);
            }
            self.git = Some(git);
        }
        self.git.as_mut().ok_or(HistoryError::Cancelled)
    }

    /// What a commit changes at which git has failed, or right after which: by a git of its own, and if that fails too,
    /// without looking into files, with the reason.
    fn alone(
        &mut self,
        sha: Sha,
        parent: Option<Sha>,
        words: &mut Option<Identifiers>,
    ) -> Result<(Changes, Option<String>), HistoryError> {
        self.git = None;
        let read = |how: &[&str], words: &mut Option<Identifiers>| {
            if self.shared.processes.is_over() {
                return Err(HistoryError::Cancelled);
            }
            let mut git = DiffTree::start(self.shared, how)?;
            git.give(&[(sha, parent)], 0);
            git.stdin = None;
            Ok(git.output.commit(sha, words).map_err(|_| git.failure()))
        };
        let said = match read(&WHOLE, words)? {
            Ok(changes) => return Ok((changes, None)),
            Err(said) => said,
        };
        *words = words.take().map(|_| Identifiers::default());
        match read(&NAMES, &mut None)? {
            Ok(changes) => {
                Ok((changes, Some(format!("files cannot be compared, so renames and lines are not known: {said}"))))
            }
            Err(_) => {
                let nothing = Changes { kept: Vec::new(), left_out: 0 };
                Ok((nothing, Some(format!("directories cannot be compared: {said}"))))
            }
        }
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
            incomplete,
        })
    }
}

impl DiffTree {
    fn start(shared: &Shared, how: &[&str]) -> Result<Self, HistoryError> {
        let command = shared.git.command(Some(&shared.clone), Reach::Nothing, "diff-tree");
        let mut process = command.args(["--stdin", "--root", "--always", "-r", "--raw", "-z"]).args(how).spawn()?;
        let (stdin, stdout) = (process.stdin.take(), process.stdout.take());
        let stdout = stdout.ok_or(HistoryError::Cancelled)?;
        Ok(Self { process: shared.processes.watch(process), stdin, output: DiffStream::new(stdout) })
    }

    /// Asks for commits. All that is ever asked ahead fits into the pipe, so this does not wait.
    fn give(&mut self, batch: &[(Sha, Option<Sha>)], number: u64) {
        let mut text = Vec::with_capacity(batch.len() * 82 + 24);
        for (sha, parent) in batch {
            text.extend_from_slice(sha.to_string().as_bytes());
            if let Some(parent) = parent {
                text.push(b' ');
                text.extend_from_slice(parent.to_string().as_bytes());
            }
            text.push(b'\n');
        }
        text.extend_from_slice(&end_of(number));
        text.push(b'\n');
        if let Some(stdin) = &mut self.stdin {
            // If git has failed, reading its output tells.
            drop(stdin.write_all(&text));
        }
    }

    /// What git said when it failed.
    fn failure(self) -> String {
        drop(self.output);
        match self.process.finish() {
            Err(GitError::Failed { stderr, .. }) => stderr,
            Err(error) => error.to_string(),
            Ok(()) => "git wrote something that is not understood".to_owned(),
        }
    }
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
