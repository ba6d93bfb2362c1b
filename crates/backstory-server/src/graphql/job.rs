//! GraphQL types of jobs: what a server does in the background, and did.

use async_graphql::{ComplexObject, Context, ID, Json, Result, SimpleObject};
use backstory_engine::{ledger, model::text::echo};

use super::{
    loaders,
    names::{JobKind, JobStatus},
    page,
    scalar::DateTime,
    task::Task,
};

/// A job of the queue, or one that was done.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct Job {
    /// Its number.
    id: ID,
    /// What it does.
    kind: JobKind,
    /// Full path of the project.
    project: String,
    /// The issue or merge request that is read again, if it is one: `#12`.
    subject: Option<String>,
    /// How it stands.
    status: JobStatus,
    /// How often it was begun.
    attempts: u32,
    /// When it was put into the queue.
    queued_at: DateTime,
    /// Not begun before.
    due_at: DateTime,
    /// When it was last begun.
    started_at: Option<DateTime>,
    /// When it ended.
    finished_at: Option<DateTime>,
    /// Why the last attempt failed.
    error: Option<String>,
    /// What it did, once it has ended well: an object of counts.
    summary: Option<Json<serde_json::Value>>,
    #[graphql(skip)]
    number: i64,
}

#[ComplexObject]
impl Job {
    /// What does it now, with how far it is; null unless it is at work on a whole project.
    async fn task(&self, ctx: &Context<'_>) -> Result<Option<Task>> {
        Ok(loaders::engine(ctx)?.task_of_job(self.number).map(Task::from))
    }
}

impl From<ledger::Job> for Job {
    fn from(job: ledger::Job) -> Self {
        Self {
            id: job.id.to_string().into(),
            kind: job.job.kind.into(),
            project: job.job.project,
            subject: job.job.subject,
            status: job.status.into(),
            attempts: job.attempts,
            queued_at: job.queued_at.into(),
            due_at: job.due_at.into(),
            started_at: job.started_at.map(DateTime::from),
            finished_at: job.finished_at.map(DateTime::from),
            error: job.error,
            summary: job.summary.map(Json),
            number: job.id,
        }
    }
}

/// The number that an id of a job is.
///
/// # Errors
/// It is none.
pub(super) fn number(id: &ID) -> Result<i64> {
    let number = id.parse().map_err(|_| page::invalid(format!("'{}' is no job; jobs have numbers", echo(id.as_str()))));
    Ok(number?)
}

pub(super) async fn list(
    ctx: &Context<'_>,
    first: Option<i32>,
    before: Option<ID>,
    status: Option<JobStatus>,
) -> Result<Vec<Job>> {
    let limit = page::size(first, page::DEFAULT_PAGE)?;
    let before = before.as_ref().map(number).transpose()?;
    let jobs = loaders::engine(ctx)?.list_jobs(status.map(Into::into), before, limit).await?;
    Ok(jobs.into_iter().map(Job::from).collect())
}
