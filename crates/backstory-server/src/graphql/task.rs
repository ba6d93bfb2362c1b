//! GraphQL types of tasks.

use async_graphql::{Enum, ID, Json, SimpleObject};
use backstory_engine::{error, task};

use super::{
    counter::Counter,
    names::{TaskKind, TaskStatus},
    scalar::DateTime,
};

/// Long work of this process.
#[derive(SimpleObject)]
pub(crate) struct Task {
    /// Id of the task, `task/12`, unique while the process lives.
    id: ID,
    /// Number of the task, unique while the process lives.
    number: u64,
    /// What the task does.
    kind: TaskKind,
    /// State of the task.
    status: TaskStatus,
    /// What is being done: `acme/shop issues`.
    phase: String,
    /// How many steps of the phase are done.
    done: u64,
    /// How many steps the phase has; null if that is not known yet.
    total: Option<u64>,
    /// Something worth knowing, `rate limited, continuing in 2 s`; null if there is nothing.
    note: Option<String>,
    /// When the task began.
    started_at: DateTime,
    /// When the task ended; null if it has not.
    finished_at: Option<DateTime>,
    /// Why the task failed; null if it did not.
    error: Option<TaskError>,
    /// What the task did, as an object of counts; null unless it has ended well.
    summary: Option<Json<serde_json::Value>>,
}

/// Kind of a failure, as `extensions.code` of errors has it.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "error::ErrorKind")]
pub(crate) enum ErrorCode {
    /// The request is wrong.
    Invalid,
    /// What was asked for does not exist.
    NotFound,
    /// What was asked for existed and is not kept any more.
    Gone,
    /// Something else is in the way: another sync, another process.
    Conflict,
    /// Configuration or credentials are wrong.
    Configuration,
    /// The caller did not authenticate.
    Unauthenticated,
    /// The caller may not do that.
    Forbidden,
    /// Another service does not answer, or answers wrongly.
    Upstream,
    /// The work took too long.
    Timeout,
    /// There is too much to do at the moment.
    Busy,
    /// This server has other roles, or cannot do this in its current state.
    Unavailable,
    /// The machine lacks room, file descriptors or memory.
    Lacking,
    /// The stores were written by a newer program.
    Newer,
    /// A store or the program itself failed.
    Internal,
}

/// Why a task failed.
#[derive(SimpleObject)]
pub(crate) struct TaskError {
    /// Kind of the failure, as in `extensions.code` of errors.
    code: ErrorCode,
    /// What is wrong and what to do.
    message: String,
}

impl From<task::Task> for Task {
    fn from(task: task::Task) -> Self {
        let error = |error: error::Error| TaskError { message: error.to_string(), code: error.kind.into() };
        Self {
            id: Counter::Task.id(task.id),
            number: task.id,
            kind: task.kind.into(),
            status: task.status.into(),
            phase: task.progress.phase,
            done: task.progress.done,
            total: task.progress.total,
            note: task.progress.note,
            started_at: task.started_at.into(),
            finished_at: task.finished_at.map(DateTime::from),
            error: task.error.map(error),
            summary: object(task.summary),
        }
    }
}

/// A summary, if there is one.
pub(super) fn object(summary: serde_json::Value) -> Option<Json<serde_json::Value>> {
    (!summary.is_null()).then_some(Json(summary))
}
