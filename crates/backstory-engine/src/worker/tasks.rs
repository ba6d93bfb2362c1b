//! Tasks as users see them: looked at, listed, stopped.

use backstory_model::role::ServerRole;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    access::require_scope,
    error::{Error, ErrorKind, Result},
    resources::Resources,
    task::{Task, TaskKind, TaskStatus},
    use_case::{Scope, UseCase},
};

/// Requests a task; the answer is null if it ended long ago and was dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GetTask {
    /// Its number.
    pub id: u64,
}

/// Lists the tasks of the process, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListTasks {}

/// Stops a task; what it has committed is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopTask {
    /// Its number.
    pub id: u64,
}

impl UseCase for GetTask {
    const NAME: &'static str = "task";
    const ROLE: Option<ServerRole> = None;
    type Answer = Option<Task>;

    async fn run(self, resources: &Resources) -> Result<Option<Task>> {
        Ok(resources.find_task(self.id).map(|task| task.borrow().clone()))
    }
}

impl UseCase for ListTasks {
    const NAME: &'static str = "tasks";
    const ROLE: Option<ServerRole> = None;
    type Answer = Vec<Task>;

    async fn run(self, resources: &Resources) -> Result<Vec<Task>> {
        Ok(resources.list_tasks())
    }
}

impl UseCase for StopTask {
    const NAME: &'static str = "stop-task";
    const SCOPE: Scope = Scope::Sync;
    const ROLE: Option<ServerRole> = None;
    type Answer = Task;

    async fn run(self, resources: &Resources) -> Result<Task> {
        stop_task(resources, self.id).await
    }
}

/// Stops a task; what it has committed is kept. One that has ended stays as it is.
///
/// # Errors
/// There is no such task, it must not be stopped, or a job does it, which can be cancelled.
async fn stop_task(resources: &Resources, id: u64) -> Result<Task> {
    let Some(mut watched) = resources.find_task(id) else {
        return Err(Error::new(ErrorKind::NotFound, format!("there is no task {id}; ended ones are forgotten")));
    };
    let kind = watched.borrow().kind;
    // Who may stop something is who may start it.
    require_scope(resources, &format!("stop-task of {}", kind.as_str()), kind.scope())?;
    let owner = {
        let tasks = resources.shared.work.tasks.lock();
        tasks.iter().find(|(_, task)| **task == id).map(|(job, _)| *job)
    };
    if let Some(job) = owner {
        return Err(Error::new(ErrorKind::Conflict, format!("task {id} does job {job}"))
            .with_hint(format!("'backstory jobs cancel {job}' stops it")));
    }
    if kind == TaskKind::Forget {
        let message = "what is being forgotten is half gone, so that cannot be stopped";
        return Err(Error::new(ErrorKind::Conflict, message).with_hint("wait for it to end"));
    }
    resources.tasks().stop(id);
    // The sender lives until the task has ended.
    let ended = watched.wait_for(|task| task.status != TaskStatus::Running).await;
    let ended = ended.map(|task| task.clone()).map_err(|_| Error::internal(format!("task {id} was lost")))?;
    if ended.kind == TaskKind::Sync && ended.status == TaskStatus::Failed {
        // By itself it would be recorded only when the stores are opened next, as if the process had died.
        let reason = "stopped by Ctrl-C, or by 'sync --force' or 'stopTask' of somebody else";
        resources.with_ledger(move |ledger| ledger.fail_stale_runs(reason, Timestamp::now())).await?;
    }
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        embedding::EmbedRequest, enrich::EnrichRequest, forget::ForgetRequest, rebuild::RebuildRequest,
        sync::SyncRequest,
    };

    #[test]
    fn who_may_stop_a_task_is_who_may_start_it() {
        let scopes = [
            (TaskKind::Sync, SyncRequest::SCOPE),
            (TaskKind::Embed, EmbedRequest::SCOPE),
            (TaskKind::Rebuild, RebuildRequest::SCOPE),
            (TaskKind::Enrich, EnrichRequest::SCOPE),
            (TaskKind::Forget, ForgetRequest::SCOPE),
        ];
        for (kind, scope) in scopes {
            assert_eq!(kind.scope(), scope, "{}", kind.as_str());
        }
    }
}
