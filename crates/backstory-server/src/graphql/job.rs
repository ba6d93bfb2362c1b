//! GraphQL types of jobs: what a server does in the background, and did.

use async_graphql::{ComplexObject, Context, Enum, ID, Json, Result, SimpleObject, connection::Connection};
use backstory_engine::{ledger, model::id::NodeId, worker::ListJobs};

use super::{
    counter::Counter,
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
    /// Nobody waits: the schedule or a webhook asks for the job.
    Scheduled,
    /// Somebody asked for the job, so it goes ahead of what is scheduled.
    Requested,
}

/// A job of the queue, or one that was done.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct Job {
    /// Id of the job, `job/12`.
    id: ID,
    /// Number of the job.
    number: i64,
    /// What the job does.
    kind: JobKind,
    /// Project that the job is about.
    project: Project,
    /// Issue or merge request that is read again; null if the job reads a whole project.
    subject: Option<Thread>,
    /// State of the job.
    status: JobStatus,
    /// Who waits for the job.
    priority: JobPriority,
    /// How often the job was started.
    attempts: u32,
    /// When the job was put into the queue.
    queued_at: DateTime,
    /// Time before which the job is not started.
    due_at: DateTime,
    /// When the job was last started; null if it never was.
    started_at: Option<DateTime>,
    /// When the job ended; null if it has not.
    finished_at: Option<DateTime>,
    /// Why the last attempt failed; null if it did not.
    error: Option<String>,
    /// What the job did, as an object of counts; null unless it has ended well.
    summary: Option<Json<serde_json::Value>>,
}

#[ComplexObject]
impl Job {
    /// Task that runs the job, with its progress; null unless the job is running for a whole project.
    async fn task(&self, ctx: &Context<'_>) -> Result<Option<Task>> {
        Ok(loaders::engine(ctx)?.task_of_job(self.number).map(Task::from))
    }
}

impl From<ledger::Job> for Job {
    fn from(job: ledger::Job) -> Self {
        Self {
            id: Counter::Job.id(job.id),
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

/// A page of jobs.
pub(crate) type JobConnection = Connection<String, Job>;

/// A page of jobs, those of projects or of all.
pub(super) async fn list(
    ctx: &Context<'_>,
    first: Option<i32>,
    after: Option<&str>,
    status: Option<JobStatus>,
    projects: Vec<String>,
) -> Result<JobConnection> {
    let size = page::size(first, page::DEFAULT_PAGE)?;
    let before = page::decode(after)?;
    let request = ListJobs { status: status.map(Into::into), projects, before, limit: size + 1 };
    let jobs = loaders::engine(ctx)?.list_jobs(request).await?;
    Ok(page::forward(jobs, size, after, |job| page::encode(&job.id), Job::from))
}
