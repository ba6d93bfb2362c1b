//! GraphQL types of tasks.

use async_graphql::{ID, Json, SimpleObject};
use backstory_engine::{error::Result, model::text::truncate_echo, task};

use super::{
    names::{TaskKind, TaskStatus},
    page,
    scalar::DateTime,
};
use crate::error_table;

/// Long work of this process.
#[derive(SimpleObject)]
pub(crate) struct Task {
    /// Its number, unique while the process lives.
    id: ID,
    /// What it does.
    kind: TaskKind,
    /// How it stands.
    status: TaskStatus,
    /// What is being done: `acme/shop issues`.
    phase: String,
    /// How many of them are done.
    done: u64,
    /// How many there are, once that is known.
    total: Option<u64>,
    /// Something worth knowing: `rate limited, going on in 2 s`.
    note: Option<String>,
    /// When it began.
    started_at: DateTime,
    /// When it ended.
    finished_at: Option<DateTime>,
    /// Why it failed.
    error: Option<TaskError>,
    /// What it did, once it has ended well: an object of counts.
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
            id: task.id.to_string().into(),
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

/// The number that an id of a task is.
///
/// # Errors
/// It is none.
pub(super) fn number(id: &ID) -> Result<u64> {
    id.parse().map_err(|_| page::invalid(format!("'{}' is no task; tasks have numbers", truncate_echo(id.as_str()))))
}
