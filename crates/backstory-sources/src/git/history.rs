//! Reads commits and what they change, parents before children, as a stream.
//!
//! One `git rev-list` lists the commits. Several threads take batches of them; each has a `git diff-tree --stdin` of
//! its own, whose output it reads while git works on the next batch, and reads the commits themselves in process. The
//! batches come out in the order of the list. Only a few are under way at a time, so memory does not depend on how long
//! the history is. What a commit has to compare is counted in process before git is asked to
//! ([`diff_cost`](super::diff_cost)): where that is too much, or git fails or takes too long, the commit comes without
//! it and says so ([`Commit::incomplete`]).
//!
//! The changes are git's own (`-M` with its default similarity and limit). Lines are counted in the patches, whose one
//! line of context makes git find the same lines as `--numstat` does; the patches also hold the words that are touched.

use std::{
    collections::{BTreeMap, HashMap},
    io::{BufRead, BufReader, Read},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
    vec,
};

use backstory_model::{
    commit::{Commit, Sha},
    people::Mailmap,
};
use parking_lot::{Condvar, Mutex};

use super::command::{Cancel, GitError, GitProgram, Killer, NetworkAccess, Process};

mod diff_request;
mod identifiers;
mod line_words;
mod stream;
mod worker;

/// Commits that one thread works on at a time.
const BATCH: usize = 48;
/// Batches that are under way or wait to be taken by the caller.
const WINDOW: usize = 24;
/// Changes that wait to be taken by the caller. When there are more, only the batch that comes next is read.
const MAX_WAITING: usize = 200_000;
/// How often cancellation is looked for.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);
/// Longest line of the list: a commit and a thousand parents.
const MAX_LIST_LINE: u64 = 64 * 1024;

/// Why history cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Git could not do it.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The clone cannot be opened.
    #[error("'{}' cannot be opened: {said}", path.display())]
    Open {
        /// The clone.
        path: PathBuf,
        /// What libgit2 says.
        said: String,
    },
    /// A commit is there by name only.
    #[error("commit {sha} cannot be read: {said}; remove the clone and rebuild it")]
    Commit {
        /// The commit.
        sha: Sha,
        /// What is wrong.
        said: String,
    },
    /// Git wrote something that is not understood.
    #[error("what git diff-tree wrote at commit {sha} is not understood: {what}")]
    Format {
        /// The commit.
        sha: String,
        /// What was found.
        what: &'static str,
    },
    /// Nothing came for too long.
    #[error("no commit was read for {} seconds; the machine may be too busy: try again", limit.as_secs())]
    Stalled {
        /// The limit.
        limit: Duration,
    },
    /// The caller gave up.
    #[error("reading history was cancelled")]
    Cancelled,
}

/// Which commits are wanted.
pub struct CommitSelection<'a> {
    /// They and everything they descend from.
    pub tips: &'a [Sha],
    /// Without these and everything they descend from. Those that are not there are passed over.
    pub except: &'a [Sha],
    /// Without those for which this says so; it is asked on another thread, once for each commit.
    pub known: Option<IsKnown>,
}

/// Tells whether a commit need not be read.
pub type IsKnown = Box<dyn Fn(Sha) -> bool + Send>;

/// How commits are read.
#[derive(Clone, Debug)]
pub struct HistoryOptions {
    /// Threads, each with a git of its own. As many as there are cores is best.
    pub jobs: NonZeroUsize,
    /// Most words to give with each commit ([`Commit::identifiers`]); 0 for none.
    pub identifiers: usize,
    /// Names and addresses to put in place of those in the commits.
    pub mailmap: Option<Mailmap>,
    /// Longest to wait while no thread gets done with any commit.
    pub quiet: Duration,
    /// Longest that git may work on one commit; then that comes without what is in its files.
    pub commit_time: Duration,
}

impl Default for HistoryOptions {
    fn default() -> Self {
        Self {
            jobs: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            identifiers: 200,
            mailmap: None,
            quiet: Duration::from_mins(10),
            commit_time: Duration::from_mins(2),
        }
    }
}

/// Commits to read: a commit, and its first parent if it has one.
type Batch = (u64, Vec<(Sha, Option<Sha>)>);
/// Commits that were read.
type Done = (u64, Result<Vec<Commit>, HistoryError>);

/// What the threads share.
#[derive(Clone)]
struct Shared {
    git: GitProgram,
    clone: PathBuf,
    identifiers: usize,
    commit_time: Duration,
    work: Arc<Mutex<Receiver<Batch>>>,
    done: mpsc::Sender<Done>,
    /// How many commits were got on with, whether or not the caller has them yet.
    advanced: Arc<AtomicU64>,
    processes: Processes,
    room: Room,
}

impl Shared {
    /// Notes that something was done for a commit.
    fn advance(&self) {
        self.advanced.fetch_add(1, Ordering::Relaxed);
    }
}

/// The commits. Dropping it ends everything that works on it.
pub struct History {
    done: Receiver<Done>,
    advanced: Arc<AtomicU64>,
    /// How many batches were handed out in all, once that is known.
    listed: Arc<AtomicU64>,
    permits: Option<SyncSender<()>>,
    waiting: BTreeMap<u64, Result<Vec<Commit>, HistoryError>>,
    next: u64,
    current: vec::IntoIter<Commit>,
    processes: Processes,
    room: Room,
    threads: Vec<JoinHandle<()>>,
    mailmap: Option<Mailmap>,
    quiet: Duration,
    commit_time: Duration,
    cancel: Cancel,
    failed: bool,
}

/// Starts to read the wanted commits of a bare repository.
///
/// The order depends on nothing but the commits: parents come before children, and lines of history are not mixed.
/// The iterator ends after its first error.
///
/// # Errors
/// If git cannot be started or the clone cannot be opened.
pub fn history(
    git: &GitProgram,
    clone: &Path,
    wanted: CommitSelection<'_>,
    options: HistoryOptions,
    cancel: &Cancel,
) -> Result<History, HistoryError> {
    let open = |error: git2::Error| HistoryError::Open { path: clone.to_owned(), said: error.message().to_owned() };
    let repository = super::open_clone(clone).map_err(open)?;
    let mut input: Vec<String> = wanted.tips.iter().map(Sha::to_string).collect();
    let odb = repository.odb().map_err(open)?;
    let there = |sha: &&Sha| {
        let header = git2::Oid::from_bytes(sha.as_bytes()).and_then(|id| odb.read_header(id));
        header.is_ok_and(|(_, kind)| kind == git2::ObjectType::Commit)
    };
    input.extend(wanted.except.iter().filter(there).map(|sha| format!("^{sha}")));
    input.sort_unstable();
    input.dedup();

    let (processes, room) = (Processes::default(), Room::default());
    let (work_sender, work) = mpsc::sync_channel(WINDOW);
    let (done_sender, done) = mpsc::channel();
    let (permits, permit) = mpsc::sync_channel(WINDOW);
    let advanced = Arc::default();
    for _ in 0..WINDOW {
        let _ = permits.try_send(());
    }
    let shared = Shared {
        git: git.clone(),
        clone: clone.to_owned(),
        identifiers: options.identifiers,
        commit_time: options.commit_time,
        work: Arc::new(Mutex::new(work)),
        done: done_sender,
        advanced: Arc::clone(&advanced),
        processes: processes.clone(),
        room: room.clone(),
    };
    let list = git
        .command(Some(clone), NetworkAccess::Nothing, "rev-list")
        .args(["--topo-order", "--reverse", "--parents", "--stdin"])
        .spawn()?;
    let mut threads = Vec::new();
    let listed = Arc::new(AtomicU64::new(u64::MAX));
    let lister =
        Lister { shared: shared.clone(), known: wanted.known, permit, work: work_sender, listed: Arc::clone(&listed) };
    threads.push(thread::spawn(move || lister.run(list, &input)));
    for _ in 0..options.jobs.get() {
        let shared = shared.clone();
        threads.push(thread::spawn(move || worker::run(&shared)));
    }
    Ok(History {
        done,
        advanced,
        listed,
        permits: Some(permits),
        waiting: BTreeMap::new(),
        next: 0,
        current: Vec::new().into_iter(),
        processes,
        room,
        threads,
        mailmap: options.mailmap,
        quiet: options.quiet,
        commit_time: options.commit_time,
        cancel: cancel.clone(),
        failed: false,
    })
}

impl Iterator for History {
    type Item = Result<Commit, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.failed {
                return None;
            }
            if let Some(mut commit) = self.current.next() {
                if let Some(mailmap) = &self.mailmap {
                    mailmap.apply(&mut commit.author);
                    mailmap.apply(&mut commit.committer);
                }
                return Some(Ok(commit));
            }
            match self.next_batch() {
                Ok(Some(batch)) => self.current = batch.into_iter(),
                Ok(None) => return None,
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl History {
    fn next_batch(&mut self) -> Result<Option<Vec<Commit>>, HistoryError> {
        // A batch comes when it is whole, which may take long where each of its commits does.
        let (mut advanced, mut since) = (self.advanced.load(Ordering::Relaxed), Instant::now());
        loop {
            if let Some(batch) = self.waiting.remove(&self.next) {
                self.next += 1;
                self.room.taken(self.next, batch.as_ref().map_or(0, |batch| weight(batch)));
                if let Some(permits) = &self.permits {
                    // The lister may be done and gone.
                    let _ = permits.try_send(());
                }
                return batch.map(Some);
            }
            if self.cancel.is_cancelled() {
                return Err(HistoryError::Cancelled);
            }
            self.processes.end_overdue(self.commit_time);
            let now = self.advanced.load(Ordering::Relaxed);
            if now != advanced {
                (advanced, since) = (now, Instant::now());
            }
            match self.done.recv_timeout(WATCH_INTERVAL) {
                Ok((at, batch)) => drop(self.waiting.insert(at, batch)),
                // Errors of the list come last: what was listed before them is good.
                Err(RecvTimeoutError::Disconnected) => return self.end(),
                Err(RecvTimeoutError::Timeout) if since.elapsed() > self.quiet => {
                    return Err(HistoryError::Stalled { limit: self.quiet });
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl History {
    /// What there is to say when all threads are done: an error of the list, or that commits are missing.
    fn end(&mut self) -> Result<Option<Vec<Commit>>, HistoryError> {
        match self.waiting.remove(&u64::MAX) {
            Some(error) => error.map(Some),
            None if self.listed.load(Ordering::Acquire) == self.next => Ok(None),
            None => Err(HistoryError::Format { sha: "that comes next".to_owned(), what: "it was not read at all" }),
        }
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.permits = None;
        self.room.taken(u64::MAX, 0);
        self.processes.kill_all();
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

/// How many changes wait to be taken, so that commits with very many do not fill the memory.
#[derive(Clone, Default)]
struct Room(Arc<(Mutex<Waiting>, Condvar)>);

#[derive(Default)]
struct Waiting {
    changes: usize,
    next: u64,
}

fn weight(commits: &[Commit]) -> usize {
    commits.iter().map(|commit| commit.changes.len()).sum()
}

impl Room {
    /// Waits until the batch may be read. The one that the caller waits for always may; at the end all may.
    fn enter(&self, batch: u64) {
        let (waiting, changed) = &*self.0;
        let full = |waiting: &mut Waiting| waiting.changes > MAX_WAITING && waiting.next < batch;
        changed.wait_while(&mut waiting.lock(), full);
    }

    /// A batch was read.
    fn read(&self, changes: usize) {
        self.0.0.lock().changes += changes;
    }

    /// A batch was taken, and the caller waits for the given one.
    fn taken(&self, next: u64, changes: usize) {
        let mut waiting = self.0.0.lock();
        waiting.changes = waiting.changes.saturating_sub(changes);
        waiting.next = next;
        self.0.1.notify_all();
    }
}

/// The processes that run for a history, so that they can be ended from outside.
#[derive(Clone, Default)]
struct Processes(Arc<Mutex<Running>>);

#[derive(Default)]
struct Running {
    known: HashMap<u64, RunningProcess>,
    next: u64,
    over: bool,
}

/// What is known of a process.
struct RunningProcess {
    killer: Killer,
    /// Since when it has been waited for.
    since: Option<Instant>,
    is_overdue: bool,
}

/// A process that is known to [`Processes`] while it lives.
struct Watched {
    process: Option<Process>,
    key: u64,
    processes: Processes,
}

impl Processes {
    fn watch(&self, process: Process) -> Watched {
        let mut running = self.0.lock();
        let key = running.next;
        running.next += 1;
        running.known.insert(key, RunningProcess { killer: process.killer(), since: None, is_overdue: false });
        if running.over {
            process.killer().kill();
        }
        Watched { process: Some(process), key, processes: self.clone() }
    }

    fn kill_all(&self) {
        let mut running = self.0.lock();
        running.over = true;
        running.known.values().for_each(|of| of.killer.kill());
    }

    /// Ends those that have been waited for longer than that.
    fn end_overdue(&self, limit: Duration) {
        let mut running = self.0.lock();
        for of in running.known.values_mut().filter(|of| of.since.is_some_and(|since| since.elapsed() > limit)) {
            of.is_overdue = true;
            of.killer.kill();
        }
    }

    fn is_over(&self) -> bool {
        self.0.lock().over
    }
}

impl Watched {
    /// Waits for its end.
    fn finish(mut self) -> Result<(), GitError> {
        self.forget();
        self.process.take().map_or(Ok(()), Process::finish)
    }

    fn forget(&self) {
        self.processes.0.lock().known.remove(&self.key);
    }

    /// Waits for the result of something; the process is ended if that takes too long.
    fn wait_for<T>(&self, result: impl FnOnce() -> T) -> T {
        self.set_since(Some(Instant::now()));
        let result = result();
        self.set_since(None);
        result
    }

    fn set_since(&self, since: Option<Instant>) {
        let mut running = self.processes.0.lock();
        if let Some(of) = running.known.get_mut(&self.key) {
            of.since = since;
        }
    }

    /// Whether it was ended because it took too long.
    fn is_overdue(&self) -> bool {
        let running = self.processes.0.lock();
        running.known.get(&self.key).is_some_and(|of| of.is_overdue)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Reads the list of commits and hands it out in batches.
struct Lister {
    shared: Shared,
    known: Option<IsKnown>,
    permit: Receiver<()>,
    work: SyncSender<Batch>,
    listed: Arc<AtomicU64>,
}

impl Lister {
    fn run(self, mut list: Process, input: &[String]) {
        let (stdin, stdout) = (list.stdin.take(), list.stdout.take());
        let list = self.shared.processes.watch(list);
        let text = input.join("\n") + "\n";
        let writer =
            thread::spawn(move || stdin.map(|mut stdin| std::io::Write::write_all(&mut stdin, text.as_bytes())));
        let read = stdout.map_or(Ok(()), |stdout| self.read(BufReader::new(stdout)));
        drop(writer.join());
        let ended = match read {
            Ok(()) => list.finish().map_err(HistoryError::from),
            Err(error) => Err(error),
        };
        if let Err(error) = ended
            && !self.shared.processes.is_over()
        {
            drop(self.shared.done.send((u64::MAX, Err(error))));
        }
    }

    fn read(&self, mut list: impl BufRead) -> Result<(), HistoryError> {
        let io = |source| GitError::Io { command: "rev-list".to_owned(), source };
        let mut number = 0;
        let mut batch = Vec::with_capacity(BATCH);
        let mut line = Vec::new();
        loop {
            line.clear();
            let end = list.by_ref().take(MAX_LIST_LINE).read_until(b'\n', &mut line).map_err(io)? == 0;
            let mut names = line.split(u8::is_ascii_whitespace).filter_map(Sha::from_hex);
            if let Some(sha) = names.next()
                && !self.known.as_ref().is_some_and(|known| known(sha))
            {
                batch.push((sha, names.next()));
            }
            if batch.len() == BATCH || end && !batch.is_empty() {
                let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
                // Either fails when nobody wants more.
                if self.permit.recv().is_err() || self.work.send((number, full)).is_err() {
                    return Ok(());
                }
                number += 1;
            }
            if end {
                self.listed.store(number, Ordering::Release);
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
