//! GraphQL types of tasks.

use async_graphql::{ID, Json, SimpleObject};
use backstory_engine::task;

use super::{
    counter::Counter,
    names::{TaskKind, TaskStatus},
    scalar::DateTime,
};
use crate::error_table;

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
    /// Something worth knowing, `rate limited, going on in 2 s`; null if there is nothing.
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

/// Why a task failed.
#[derive(SimpleObject)]
pub(crate) struct TaskError {
    /// Kind of the failure, as in `extensions.code` of errors.
    code: &'static str,
    /// What is wrong and what to do.
    message: String,
}

impl From<task::Task> for Task {
    fn from(task: task::Task) -> Self {
        let error = |error: backstory_engine::error::Error| TaskError {
            code: error_table::code(error.kind),
            message: error.to_string(),
        };
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
