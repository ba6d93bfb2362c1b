//! Starts long work for a command and follows it to its end.

use std::time::Duration;

use backstory_engine::{
    embed::Provider,
    error::ErrorKind,
    index::Coverage,
    status::CoverageRequest,
    task::{Progress as TaskProgress, Task, TaskKind, TaskStatus},
    worker::{GetTask, ListTasks, StopTask},
};
use futures::future::LocalBoxFuture;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use super::Session;
use crate::{
    client::Client,
    config::Config,
    failure::{Failure, Result},
    output::{Progress, Step, Terminal, escape_terminal, pluralize, thousands},
};

/// Times between two looks at a task: short ones first, because most work is done soon.
const LOOKS: [Duration; 3] = [Duration::from_millis(20), Duration::from_millis(50), Duration::from_millis(150)];

/// How far a task is: `acme/shop issues 12/34 (rate limited, continuing in 5 s)`.
pub(super) fn progress_line(task: &Task) -> String {
    let TaskProgress { phase, done, total, note } = &task.progress;
    let total = total.map(|total| format!("/{}", thousands(total))).unwrap_or_default();
    let note = note.as_ref().map(|note| format!(" ({})", escape_terminal(note))).unwrap_or_default();
    format!("{} {}{total}{note}", escape_terminal(phase), thousands(*done))
}

/// Begins a task of a kind, `sync`, and follows it until it ends; what it did. Ctrl-C is heard before the task begins:
/// until somebody listens, it ends the process without a word.
///
/// # Errors
/// It did not begin, it failed, or Ctrl-C was pressed.
pub(super) async fn follow(client: &Client, kind: TaskKind, begin: LocalBoxFuture<'_, Result<Task>>) -> Result<Value> {
    let unheard =
        |error: std::io::Error| Failure::new(ErrorKind::Internal, format!("cannot install signal handlers: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unheard)?;
    let task = tokio::select! {
        // What is known to have begun is told as that.
        biased;
        begun = begin => begun?,
        _ = interrupt.recv() => return Err(interrupted_early(client, kind)),
    };
    let mut progress = Progress::new();
    let id = task.id;
    let ended = tokio::select! {
        ended = until_ended(client, task, &mut progress) => ended,
        _ = interrupt.recv() => Err(interrupt_task(client, kind, id).await),
    };
    progress.clear();
    let task = ended?;
    match task.error {
        Some(error) => Err(error.into()),
        None => Ok(task.summary),
    }
}

async fn until_ended(client: &Client, mut task: Task, progress: &mut Progress) -> Result<Task> {
    let mut looks = LOOKS.iter();
    let mut wait = Duration::ZERO;
    while task.status == TaskStatus::Running {
        let TaskProgress { phase, done, total, note } = &task.progress;
        progress.show(&Step { phase, done: *done, total: *total, note: note.as_deref() });
        wait = looks.next().copied().unwrap_or(wait);
        tokio::time::sleep(wait).await;
        let gone = || Failure::new(ErrorKind::Internal, "the server has dropped the task; see 'backstory sync-status'");
        task = client.answer(GetTask { id: task.id }).await?.ok_or_else(gone)?;
    }
    Ok(task)
}

/// Stops a task of this process; a server goes on with its own.
async fn interrupt_task(client: &Client, kind: TaskKind, id: u64) -> Failure {
    if !client.uses_server() {
        // Others may still be answered for a moment. What cannot be stopped ends with the process.
        let _ = stop(client, id).await;
    }
    interrupted(client, kind)
}

/// Stops a task.
///
/// # Errors
/// It cannot be stopped.
pub(super) async fn stop(client: &Client, id: u64) -> Result<()> {
    client.answer(StopTask { id }).await.map(drop)
}

fn interrupted(client: &Client, kind: TaskKind) -> Failure {
    let kind = kind.as_str();
    Failure::interrupted(if client.uses_server() {
        format!("no longer following the {kind}; the server continues it")
    } else {
        format!("the {kind} was interrupted; what it has done so far is kept, and the next one continues from there")
    })
}

/// The same, before the task was known to have begun.
fn interrupted_early(client: &Client, kind: TaskKind) -> Failure {
    if client.uses_server() {
        Failure::interrupted(format!(
            "the server had not said yet that it begins the {}; 'backstory sync-status' shows what it does",
            kind.as_str()
        ))
    } else {
        interrupted(client, kind)
    }
}

/// The tasks that are at work already.
pub(super) async fn all_running(client: &Client) -> Result<Vec<Task>> {
    let mut tasks = client.answer(ListTasks {}).await?;
    tasks.retain(|task| task.status == TaskStatus::Running);
    Ok(tasks)
}

/// The task of a kind that is at work already.
pub(super) async fn running(client: &Client, kind: TaskKind) -> Result<Option<Task>> {
    Ok(all_running(client).await?.into_iter().find(|task| task.kind == kind))
}

/// Says that a sync is running, whose results are not all there yet; whether one is.
pub(super) async fn note_running_sync(terminal: &Terminal, client: &Client) -> Result<bool> {
    let Some(task) = running(client, TaskKind::Sync).await? else { return Ok(false) };
    terminal.note(format_args!("a sync is running, so not everything is there yet: {}", progress_line(&task)));
    Ok(true)
}

/// How many documents have vectors.
pub(super) async fn coverage(client: &Client) -> Result<Coverage> {
    client.answer(CoverageRequest {}).await
}

/// Says what to do about documents without vectors.
pub(super) fn tell_waiting(session: &Session, client: &Client, coverage: &Coverage) {
    let is_off = |config: &Config| config.settings.embedding.provider == Provider::None;
    if session.config().is_ok_and(is_off) {
        return;
    }
    let waiting = match coverage.waiting() {
        0 => return,
        1 => "1 document waits for its vectors".to_owned(),
        many => format!("{} wait for their vectors", pluralize(many, "document", "documents")),
    };
    let remedy =
        if client.uses_server() { "the server makes them in the background" } else { "'backstory embed' makes them" };
    session.terminal.note(format_args!("{waiting}; text search finds them already, {remedy}"));
}
