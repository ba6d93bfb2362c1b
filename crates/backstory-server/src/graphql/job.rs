//! GraphQL types of jobs: what a server does in the background, and did.

use async_graphql::{ComplexObject, Context, Enum, ID, Json, Result, SimpleObject, connection::Connection};
use backstory_engine::{
    ledger,
    model::{id::NodeId, text::truncate_echo},
};

use super::{
    loaders,
    names::{JobKind, JobStatus},
    page,
    project::Project,
    scalar::DateTime,
    task::Task,
    thread::Thread,
};

/// Who waits for a job.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "ledger::JobPriority")]
pub(crate) enum JobPriority {
    /// Nobody: the schedule or a webhook asks for it.
    Scheduled,
    /// Somebody asked for it, so it goes ahead of what is scheduled.
    Requested,
}

/// A job of the queue, or one that was done.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct Job {
    /// Its number.
    id: ID,
    /// What it does.
    kind: JobKind,
    /// The project.
    project: Project,
    /// The issue or merge request that is read again, if it is one.
    subject: Option<Thread>,
    /// How it stands.
    status: JobStatus,
    /// Who waits for it.
    priority: JobPriority,
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
            subject: job.job.subject.and_then(|short| parse_thread(&job.job.project, &short)),
            project: Project::new(job.job.project),
            status: job.status.into(),
            priority: job.priority.into(),
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

/// The issue or merge request of a short reference.
fn parse_thread(project: &str, short: &str) -> Option<Thread> {
    match format!("{project}{short}").parse() {
        Ok(NodeId::Thread(id)) => Some(id.into()),
        _ => None,
    }
}

/// The number that an id of a job is.
///
/// # Errors
/// It is none.
pub(super) fn number(id: &ID) -> Result<i64> {
    let number =
        id.parse().map_err(|_| page::invalid(format!("'{}' is no job; jobs have numbers", truncate_echo(id.as_str()))));
    Ok(number?)
}

/// A page of jobs.
pub(crate) type JobConnection = Connection<String, Job>;

pub(super) async fn list(
    ctx: &Context<'_>,
    first: Option<i32>,
    after: Option<&str>,
    status: Option<JobStatus>,
) -> Result<JobConnection> {
    let size = page::size(first, page::DEFAULT_PAGE)?;
    let before = page::number_of(after)?;
    let jobs = loaders::engine(ctx)?.list_jobs(status.map(Into::into), before, size + 1).await?;
    Ok(page::forward(jobs, size, after, |job| job.id.to_string(), Job::from))
}
