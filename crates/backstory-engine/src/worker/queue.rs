//! The queue of jobs: listing it, adding to it, canceling what waits in it or runs.

use std::time::{Duration, Instant};

use backstory_model::{role::ServerRole, text::truncate_echo};
use backstory_store::ledger::{Job, JobKind, JobStatus, NewJob, Outcome};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::task_of;
use crate::{
    catalog::known_projects,
    error::{Error, ErrorKind, Result},
    pages::check_projects,
    read::MAX_PAGE,
    resources::Resources,
    task::{Progress, Task},
    use_case::{Scope, UseCase},
};

/// Time between two looks at a job that somebody waits for.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Lists jobs, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListJobs {
    /// Only those of this status.
    pub status: Option<JobStatus>,
    /// Full paths of projects: only theirs. All if there are none.
    #[serde(default)]
    pub projects: Vec<String>,
    /// Only those with a lower number.
    pub before: Option<i64>,
    /// Most jobs, at most 1,000; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

/// A job, with how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobReport {
    /// The job.
    #[serde(flatten)]
    pub job: Job,
    /// How far it is, if it is running and reads a whole project.
    pub task: Option<Progress>,
}

/// Requests a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GetJob {
    /// Its number.
    pub id: i64,
}

/// Puts a job that failed or was cancelled into the queue again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetryJob {
    /// Its number.
    pub id: i64,
}

/// Queues a job, which the server does as soon as it can.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueueJob {
    /// What; anything but `refetch`.
    pub kind: JobKind,
    /// Full path of the project.
    pub project: String,
}

/// Cancels a job that waits, or stops one that reads a whole project; what it has read is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CancelJob {
    /// Its number.
    pub id: i64,
}

impl UseCase for ListJobs {
    const NAME: &'static str = "jobs";
    const ROLE: Option<ServerRole> = None;
    type Answer = Vec<JobReport>;

    async fn run(self, resources: &Resources) -> Result<Vec<JobReport>> {
        check_projects(resources, &self.projects).await?;
        let jobs = list_jobs(resources, self).await?;
        let report = |job: Job| JobReport { task: task_of_job(resources, job.id).map(|task| task.progress), job };
        Ok(jobs.into_iter().map(report).collect())
    }
}

impl UseCase for GetJob {
    const NAME: &'static str = "job";
    const ROLE: Option<ServerRole> = None;
    type Answer = JobReport;

    async fn run(self, resources: &Resources) -> Result<JobReport> {
        let job = find_job(resources, self.id).await?;
        Ok(JobReport { task: task_of_job(resources, job.id).map(|task| task.progress), job })
    }
}

impl UseCase for RetryJob {
    const NAME: &'static str = "retry-job";
    const SCOPE: Scope = Scope::Sync;
    type Answer = Job;

    async fn run(self, resources: &Resources) -> Result<Job> {
        retry_job(resources, self.id).await
    }
}

impl UseCase for QueueJob {
    const NAME: &'static str = "queue-job";
    const SCOPE: Scope = Scope::Sync;
    type Answer = Job;

    async fn run(self, resources: &Resources) -> Result<Job> {
        queue_job(resources, self.kind, &self.project).await
    }
}

impl UseCase for CancelJob {
    const NAME: &'static str = "cancel-job";
    const SCOPE: Scope = Scope::Sync;
    type Answer = Job;

    async fn run(self, resources: &Resources) -> Result<Job> {
        cancel_job(resources, self.id).await
    }
}

/// Puts a job into the queue; the job that waits there now.
///
/// # Errors
/// The project is not known, or only webhooks ask for this.
async fn queue_job(resources: &Resources, kind: JobKind, project: &str) -> Result<Job> {
    if kind == JobKind::Refetch {
        return Err(
            Error::invalid("only webhooks ask for 'refetch'").with_hint("ask for 'sync', 'reconcile' or 'full'")
        );
    }
    if !known_projects(resources).await?.contains(project) {
        return Err(Error::invalid(format!("{} is not known", truncate_echo(project)))
            .with_hint("'backstory repos' and the configuration name those that are"));
    }
    queue(resources, NewJob { kind, project: project.to_owned(), subject: None }).await
}

/// Puts a job into the queue again that failed or was cancelled; the job that waits there now.
///
/// # Errors
/// There is no such job, or it waits, runs or is done.
async fn retry_job(resources: &Resources, id: i64) -> Result<Job> {
    let job = find_job(resources, id).await?;
    match job.status {
        JobStatus::Failed | JobStatus::Cancelled => {
            // The caller may not learn which issue it reads.
            let whole = find_job(&resources.with_full_visibility(), id).await?;
            let again = queue(resources, whole.job).await?;
            find_job(resources, again.id).await
        }
        JobStatus::Queued | JobStatus::Running | JobStatus::Succeeded => Err(Error::new(
            ErrorKind::Conflict,
            format!("job {id} is {}; only one that failed or was cancelled can be retried", job.status.as_str()),
        )),
    }
}

async fn queue(resources: &Resources, new: NewJob) -> Result<Job> {
    let now = Timestamp::now();
    let job = resources
        .with_ledger(move |ledger| {
            let id = ledger.queue_requested_job(&new, now)?;
            ledger.job(id)
        })
        .await?;
    resources.shared.work.waiting.notify_waiters();
    job.ok_or_else(|| Error::internal("a job that was just queued is not there"))
}

/// Cancels a job that waits, or stops it if it reads a whole project; what it has read is kept.
///
/// # Errors
/// There is no such job, or it has ended, or cannot be stopped.
async fn cancel_job(resources: &Resources, id: i64) -> Result<Job> {
    let cancelled = resources.with_ledger(move |ledger| ledger.cancel_job(id, Timestamp::now())).await?;
    if !cancelled {
        let job = find_job(resources, id).await?;
        let task = task_of(resources, id);
        match (job.status, task) {
            (JobStatus::Running, Some(task)) => {
                resources
                    .with_ledger(move |ledger| ledger.end_jobs(&[id], &Outcome::Cancelled, Timestamp::now()))
                    .await?;
                resources.tasks().stop(task);
            }
            (status, _) => {
                let message = format!(
                    "job {id} is {}; only one that waits or reads a whole project can be cancelled",
                    status.as_str()
                );
                return Err(Error::new(ErrorKind::Conflict, message));
            }
        }
    }
    find_job(resources, id).await
}

/// A job.
///
/// # Errors
/// There is none with that number.
pub(crate) async fn find_job(resources: &Resources, id: i64) -> Result<Job> {
    let job = resources.with_ledger(move |ledger| ledger.job(id)).await?;
    job.ok_or_else(|| {
        Error::new(ErrorKind::NotFound, format!("there is no job {id}; ended ones are forgotten after a while"))
    })
}

/// Jobs by their numbers, those that there are.
///
/// # Errors
/// The ledger cannot be read.
pub(crate) async fn find_jobs(resources: &Resources, ids: Vec<i64>) -> Result<Vec<Job>> {
    resources
        .with_ledger(move |ledger| {
            let mut jobs = Vec::new();
            for id in ids {
                jobs.extend(ledger.job(id)?);
            }
            Ok(jobs)
        })
        .await
}

/// A job once it has ended, or as it is after that time. One that is not due within that time is not waited for.
///
/// # Errors
/// There is none with that number.
pub(crate) async fn wait_for_job(resources: &Resources, id: i64, time: Duration) -> Result<Job> {
    let deadline = Instant::now() + time;
    loop {
        let job = find_job(resources, id).await?;
        let left = deadline.saturating_duration_since(Instant::now());
        let is_ahead = match job.status {
            JobStatus::Queued => Timestamp::now().checked_add(left).is_ok_and(|end| job.due_at <= end),
            JobStatus::Running => true,
            JobStatus::Succeeded | JobStatus::Failed | JobStatus::Cancelled => false,
        };
        if !is_ahead || left.is_zero() {
            return Ok(job);
        }
        tokio::time::sleep(POLL_INTERVAL.min(left)).await;
    }
}

/// Jobs, newest first; none of a project that is not known.
///
/// # Errors
/// The ledger cannot be read.
pub(crate) async fn list_jobs(resources: &Resources, request: ListJobs) -> Result<Vec<Job>> {
    let ListJobs { status, projects, before, limit } = request;
    resources.with_ledger(move |ledger| ledger.jobs(status, &projects, before, limit.min(MAX_PAGE))).await
}

/// The task that does a job now, if it reads a whole project.
pub(crate) fn task_of_job(resources: &Resources, id: i64) -> Option<Task> {
    resources.find_task(task_of(resources, id)?).map(|task| task.borrow().clone())
}
