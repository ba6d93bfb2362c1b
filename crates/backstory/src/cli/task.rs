//! Long work: started by a mutation, followed until it ends.

use std::time::Duration;

use backstory_engine::error::ErrorKind;
use futures::future::LocalBoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    client::Client,
    error_table,
    failure::{Failure, Result},
    output::{Progress, Step, Terminal, counted, plain, thousands},
};

const TASK: &str = include_str!("../../../../queries/graphql/task.graphql");
const STOP: &str = include_str!("../../../../queries/graphql/stop_task.graphql");
const TASKS: &str = include_str!("../../../../queries/graphql/tasks.graphql");
const COVERAGE: &str = include_str!("../../../../queries/graphql/coverage.graphql");

/// Times between two looks at a task: short ones first, because most work is done soon.
const LOOKS: [Duration; 3] = [Duration::from_millis(20), Duration::from_millis(50), Duration::from_millis(150)];

/// A task, as the API tells of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task {
    pub(super) id: String,
    #[serde(default)]
    pub(super) kind: String,
    pub(super) status: Status,
    pub(super) phase: String,
    pub(super) done: u64,
    pub(super) total: Option<u64>,
    pub(super) note: Option<String>,
    error: Option<TaskError>,
    summary: Option<Value>,
}

impl Task {
    /// How far it is: `acme/shop issues 12/34 (rate limited, going on in 5 s)`.
    pub(super) fn shown(&self) -> String {
        let total = self.total.map(|total| format!("/{}", thousands(total))).unwrap_or_default();
        let note = self.note.as_ref().map(|note| format!(" ({})", plain(note))).unwrap_or_default();
        format!("{} {}{total}{note}", plain(&self.phase), thousands(self.done))
    }
}

/// How a task or run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all(deserialize = "UPPERCASE", serialize = "lowercase"))]
pub(super) enum Status {
    Running,
    Succeeded,
    Failed,
}

#[derive(Debug, Deserialize)]
struct TaskError {
    code: String,
    message: String,
}

#[derive(Deserialize)]
struct TaskAnswer {
    task: Option<Task>,
}

#[derive(Deserialize)]
struct TasksAnswer {
    tasks: Vec<Task>,
}

#[derive(Deserialize)]
struct CoverageAnswer {
    coverage: Coverage,
}

/// How many documents vector search can find.
#[derive(Clone, Copy, Debug, Deserialize, serde::Serialize)]
pub(super) struct Coverage {
    pub(super) documents: u64,
    pub(super) embedded: u64,
}

impl Coverage {
    /// Documents without vectors.
    pub(super) fn waiting(self) -> u64 {
        self.documents.saturating_sub(self.embedded)
    }
}

/// Begins a task of a kind, `sync`, and follows it until it ends; what it did. Ctrl-C is heard before the task begins:
/// until somebody listens, it ends the process without a word.
///
/// # Errors
/// It did not begin, it failed, or Ctrl-C was pressed.
pub(super) async fn follow(client: &Client, kind: &str, begin: LocalBoxFuture<'_, Result<Task>>) -> Result<Value> {
    let unheard =
        |error: std::io::Error| Failure::new(ErrorKind::Internal, format!("signals cannot be heard: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unheard)?;
    let task = tokio::select! {
        // What is known to have begun is told as that.
        biased;
        begun = begin => begun?,
        _ = interrupt.recv() => return Err(interrupted_early(client, kind)),
    };
    let mut progress = Progress::new();
    let id = task.id.clone();
    let ended = tokio::select! {
        ended = until_ended(client, task, &mut progress) => ended,
        _ = interrupt.recv() => Err(interrupt_task(client, kind, &id).await),
    };
    progress.clear();
    let task = ended?;
    match task.error {
        Some(error) => Err(Failure::new(error_table::kind(&error.code), error.message)),
        None => Ok(task.summary.unwrap_or_default()),
    }
}

async fn until_ended(client: &Client, mut task: Task, progress: &mut Progress) -> Result<Task> {
    let mut looks = LOOKS.iter();
    let mut wait = Duration::ZERO;
    while task.status == Status::Running {
        let Task { phase, done, total, note, .. } = &task;
        progress.show(&Step { phase, done: *done, total: *total, note: note.as_deref() });
        wait = looks.next().copied().unwrap_or(wait);
        tokio::time::sleep(wait).await;
        let answer: TaskAnswer = client.run(TASK, json!({ "id": task.id })).await?;
        let gone =
            || Failure::new(ErrorKind::Internal, "the server has forgotten the task; see 'backstory sync-status'");
        task = answer.task.ok_or_else(gone)?;
    }
    Ok(task)
}

/// Stops a task of this process; a server goes on with its own.
async fn interrupt_task(client: &Client, kind: &str, id: &str) -> Failure {
    if !client.is_there() {
        // Others may still be answered for a moment. What cannot be stopped ends with the process.
        let _ = stop(client, id).await;
    }
    interrupted(client, kind)
}

/// Stops a task.
///
/// # Errors
/// It cannot be stopped.
pub(super) async fn stop(client: &Client, id: &str) -> Result<()> {
    client.run::<Value>(STOP, json!({ "id": id })).await.map(drop)
}

fn interrupted(client: &Client, kind: &str) -> Failure {
    Failure::interrupted(if client.is_there() {
        format!("no longer following the {kind}; the server goes on with it")
    } else {
        format!("the {kind} was interrupted; what it has done so far is kept, and the next one goes on from there")
    })
}

/// Likewise, before the task was known to have begun.
fn interrupted_early(client: &Client, kind: &str) -> Failure {
    if client.is_there() {
        Failure::interrupted(format!(
            "the server had not said yet that it begins the {kind}; 'backstory sync-status' tells what it does"
        ))
    } else {
        interrupted(client, kind)
    }
}

/// The task of a kind that is at work already.
pub(super) async fn running(client: &Client, kind: &str) -> Result<Option<Task>> {
    let answer: TasksAnswer = client.run(TASKS, json!({})).await?;
    Ok(answer.tasks.into_iter().find(|task| task.kind == kind && task.status == Status::Running))
}

/// How many documents have vectors.
pub(super) async fn coverage(client: &Client) -> Result<Coverage> {
    let answer: CoverageAnswer = client.run(COVERAGE, json!({})).await?;
    Ok(answer.coverage)
}

/// Says what is to be done about documents without vectors.
pub(super) fn tell_waiting(terminal: &Terminal, client: &Client, coverage: Coverage) {
    let waiting = match coverage.waiting() {
        0 => return,
        1 => "1 document waits for its vectors".to_owned(),
        many => format!("{} wait for their vectors", counted(many, "document", "documents")),
    };
    let remedy =
        if client.is_there() { "the server makes them in the background" } else { "'backstory embed' makes them" };
    terminal.note(format_args!("{waiting}; text search finds them already, {remedy}"));
}
