//! Tasks: long work in this process, one of a kind at a time, with progress that can be watched. Jobs, which survive
//! the process, are in [`worker`](crate::worker).

use std::{collections::BTreeMap, future::Future};

use backstory_model::access::Scope;
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use tokio::{sync::watch, task::AbortHandle};

use crate::error::{Error, ErrorKind, Result};

/// How many ended tasks are remembered.
const MAX_ENDED_TASKS: usize = 100;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// Reads what is new at the forges and in repositories.
    Sync,
    /// Gives every document its vectors.
    Embed,
    /// Rebuilds the graph, the lists or the index.
    Rebuild,
    /// Has a language model classify commits and write design notes.
    Enrich,
    /// Removes something from all stores for good.
    Forget,
}

impl TaskKind {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Embed => "embed",
            Self::Rebuild => "rebuild",
            Self::Enrich => "enrich",
            Self::Forget => "forget",
        }
    }

    /// The scope that it takes to start one.
    pub(crate) fn scope(self) -> Scope {
        match self {
            Self::Sync | Self::Embed => Scope::Sync,
            Self::Rebuild | Self::Enrich | Self::Forget => Scope::Admin,
        }
    }
}

/// How a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// At work.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended with an error.
    Failed,
}

/// How far a task is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// What is being done: `acme/shop issues`.
    pub phase: String,
    /// How many of them are done.
    pub done: u64,
    /// How many there are, once that is known.
    pub total: Option<u64>,
    /// Something worth knowing: `rate limited, continuing in 2 s`.
    pub note: Option<String>,
}

/// A task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Task {
    /// Its number, unique while the process lives.
    pub id: u64,
    /// What it does.
    pub kind: TaskKind,
    /// How it stands.
    pub status: TaskStatus,
    /// How far it is.
    #[serde(flatten)]
    pub progress: Progress,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Why it failed.
    pub error: Option<Error>,
    /// What it did: counts, a JSON object.
    pub summary: serde_json::Value,
}

impl Task {
    fn new(id: u64, kind: TaskKind, started_at: Timestamp) -> Self {
        Self {
            id,
            kind,
            status: TaskStatus::Running,
            progress: Progress::default(),
            started_at,
            finished_at: None,
            error: None,
            summary: serde_json::Value::Null,
        }
    }
}

/// Where a running task says how far it is.
#[derive(Clone, Debug)]
pub struct Reporter(watch::Sender<Task>);

impl Reporter {
    /// One that nobody listens to.
    pub(crate) fn without_listener() -> Self {
        Self(watch::channel(Task::new(0, TaskKind::Rebuild, Timestamp::UNIX_EPOCH)).0)
    }

    /// Begins a phase.
    pub fn phase(&self, phase: impl Into<String>, total: Option<u64>) {
        let progress = Progress { phase: phase.into(), done: 0, total, note: None };
        self.0.send_modify(|task| task.progress = progress);
    }

    /// Some more are done. If these are more than there were, there are more.
    pub fn advance(&self, by: u64) {
        self.0.send_modify(|task| {
            let progress = &mut task.progress;
            progress.done += by;
            progress.total = progress.total.map(|total| total.max(progress.done));
        });
    }

    /// So many are left, which may have become more or fewer since the phase began.
    pub fn set_remaining(&self, left: u64) {
        self.0.send_modify(|task| task.progress.total = Some(task.progress.done + left));
    }

    /// Something worth knowing, or no longer.
    pub fn note(&self, note: Option<String>) {
        self.0.send_if_modified(|task| {
            let changed = task.progress.note != note;
            task.progress.note = note;
            changed
        });
    }
}

#[derive(Default)]
struct Entries {
    last_id: u64,
    tasks: BTreeMap<u64, (watch::Receiver<Task>, AbortHandle)>,
}

/// The tasks of a process.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<Entries>);

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock()
    }

    /// Starts a task. One of the same kind that is at work is in the way, unless `force` stops it. Forgetting is in the way
    /// of everything, and everything but embedding in its way.
    pub(crate) fn start<F>(
        &self,
        kind: TaskKind,
        force: bool,
        now: Timestamp,
        work: impl FnOnce(Reporter) -> F,
    ) -> Result<watch::Receiver<Task>>
    where
        F: Future<Output = Result<serde_json::Value>> + Send + 'static,
    {
        let mut entries = self.lock();
        let mut giving_way = Vec::new();
        for (task, abort) in entries.tasks.values() {
            let (other, since) = (task.borrow().kind, task.borrow().started_at);
            let alone = other == TaskKind::Forget || kind == TaskKind::Forget;
            if task.borrow().status != TaskStatus::Running || (other != kind && !alone) {
                continue;
            }
            // Embedding goes on from where it was stopped.
            let gives_way = other == TaskKind::Embed && kind == TaskKind::Forget;
            let is_replaced = force && other == kind && kind != TaskKind::Forget;
            if !gives_way && !is_replaced {
                return Err(conflict(kind, other, since));
            }
            giving_way.push(abort.clone());
        }
        giving_way.iter().for_each(AbortHandle::abort);
        entries.last_id += 1;
        let id = entries.last_id;
        let (sender, receiver) = watch::channel(Task::new(id, kind, now));
        let future = work(Reporter(sender.clone()));
        let handle = tokio::spawn(future);
        let abort = handle.abort_handle();
        tokio::spawn(async move {
            let result = handle.await.unwrap_or_else(|error| Err(ended_early(kind, &error)));
            sender.send_modify(|task| {
                task.finished_at = Some(Timestamp::now());
                match result {
                    Ok(summary) => (task.status, task.summary) = (TaskStatus::Succeeded, summary),
                    Err(error) => (task.status, task.error) = (TaskStatus::Failed, Some(error)),
                }
            });
        });
        entries.tasks.insert(id, (receiver.clone(), abort));
        let ended = entries.tasks.iter().filter(|(_, (task, _))| task.borrow().status != TaskStatus::Running);
        let ended: Vec<u64> = ended.map(|(id, _)| *id).collect();
        for id in ended.iter().take(ended.len().saturating_sub(MAX_ENDED_TASKS)) {
            entries.tasks.remove(id);
        }
        Ok(receiver)
    }

    /// Stops a task at its next step; nothing happens if it has ended.
    pub(crate) fn stop(&self, id: u64) {
        if let Some((_, abort)) = self.lock().tasks.get(&id) {
            abort.abort();
        }
    }

    pub(crate) fn get(&self, id: u64) -> Option<watch::Receiver<Task>> {
        self.lock().tasks.get(&id).map(|(task, _)| task.clone())
    }

    /// All remembered tasks, newest first.
    pub(crate) fn list(&self) -> Vec<Task> {
        self.lock().tasks.values().rev().map(|(task, _)| task.borrow().clone()).collect()
    }
}

fn conflict(kind: TaskKind, other: TaskKind, since: Timestamp) -> Error {
    let what_then = match kind {
        _ if other != kind || kind == TaskKind::Forget => "wait for it to end",
        TaskKind::Sync => "wait for it or follow it with 'sync-status', or pass --force to stop it and start again",
        _ => "wait for it or follow it with 'sync-status'",
    };
    Error::new(ErrorKind::Conflict, format!("{} has been running since {since:.0}", other.as_str()))
        .with_hint(what_then)
}

/// A conflict with work of which the caller may not know what it is and since when it runs.
pub(crate) fn other_work() -> Error {
    Error::new(ErrorKind::Conflict, "other work is under way").with_hint("try again later, or queue a job for it")
}

fn ended_early(kind: TaskKind, error: &tokio::task::JoinError) -> Error {
    if error.is_cancelled() {
        Error::new(ErrorKind::Conflict, format!("this {} was stopped", kind.as_str()))
    } else {
        Error::internal(format!("{} ended with a bug: {error}", kind.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_never_passes_its_total() {
        let reporter = Reporter::without_listener();
        let shown = |reporter: &Reporter| {
            let Progress { done, total, .. } = reporter.0.borrow().progress.clone();
            (done, total)
        };
        reporter.phase("embedding", Some(5));
        reporter.advance(4);
        assert_eq!(shown(&reporter), (4, Some(5)));
        // Three more came meanwhile.
        reporter.advance(4);
        assert_eq!(shown(&reporter), (8, Some(8)));
        reporter.set_remaining(2);
        assert_eq!(shown(&reporter), (8, Some(10)));
        reporter.phase("optimizing", None);
        reporter.advance(1);
        assert_eq!(shown(&reporter), (1, None));
    }
}
