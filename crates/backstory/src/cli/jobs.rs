//! `jobs`: lists, starts and cancels the background work of a server. Work of this command line is in `task`.

use backstory_engine::{
    error::ErrorKind,
    ledger::{JobKind, JobStatus, NewJob},
    task::Progress,
    worker::{CancelJob, JobReport, ListJobs, QueueJob},
};
use clap::{Subcommand, ValueEnum};

use super::Session;
use crate::{
    client::Client,
    failure::{Failure, Result},
    output::minute,
};

/// List, start and cancel what 'backstory serve' does in the background
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory jobs list
  backstory jobs list --status failed
  backstory jobs start reconcile group/project
  backstory jobs cancel 12

A server reads what is new every ten minutes, compares everything that the forge lists with what is known every day, and
reads everything again every week, unless [sync] in the configuration says otherwise. Webhooks add what they announce.")]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List jobs, newest first
    List {
        /// Only jobs with this status
        #[arg(long)]
        status: Option<Status>,
        /// Only jobs of this project
        #[arg(long, value_name = "GROUP/PROJECT")]
        project: Option<String>,
        /// Most jobs to list
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=100))]
        first: u8,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Queue a job, which the server does as soon as it can
    Start {
        /// What to do
        kind: Kind,
        /// Full path of the project
        #[arg(value_name = "GROUP/PROJECT")]
        project: String,
    },
    /// Remove a job from the queue, or stop it
    Cancel {
        /// Number of the job
        #[arg(value_name = "ID", value_parser = clap::value_parser!(i64).range(0..))]
        id: i64,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Read what is new
    Sync,
    /// Compare everything that the forge lists with what is known, and read what differs
    Reconcile,
    /// Read everything again
    Full,
}

#[derive(Clone, Copy, ValueEnum)]
enum Status {
    Queued,
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

impl From<Kind> for JobKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Sync => Self::Sync,
            Kind::Reconcile => Self::Reconcile,
            Kind::Full => Self::Full,
        }
    }
}

impl From<Status> for JobStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Queued => Self::Queued,
            Status::Running => Self::Running,
            Status::Succeeded => Self::Succeeded,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "jobs", || Ok(())).await?;
    let terminal = &session.terminal;
    match &args.what {
        What::List { status, project, first, json } => {
            let status = status.map(JobStatus::from);
            let projects = project.iter().cloned().collect();
            let request = ListJobs { status, projects, before: None, limit: usize::from(*first) };
            let jobs = client.answer(request).await?;
            if *json { Ok(terminal.json(&jobs)?) } else { list(session, &jobs) }
        }
        What::Start { kind, project } => {
            if !client.uses_server() {
                let message = "jobs are done by a server, and none is running for this data directory; start 'backstory \
                               serve', or run 'backstory sync'";
                return Err(Failure::new(ErrorKind::Conflict, message));
            }
            let id = client.answer(QueueJob { kind: (*kind).into(), project: project.clone() }).await?.id;
            Ok(terminal.line(format_args!("Job {id} is queued; 'backstory jobs list' shows it"))?)
        }
        What::Cancel { id } => {
            let job = client.answer(CancelJob { id: *id }).await?;
            Ok(terminal.line(format_args!("Job {id} is {}", job.status.as_str()))?)
        }
    }
}

/// Whether the server reads a whole project by itself now.
///
/// # Errors
/// It does not answer.
pub(super) async fn any_reads(client: &Client) -> Result<bool> {
    let jobs = client.answer(ListJobs { status: Some(JobStatus::Running), limit: 2, ..ListJobs::default() }).await?;
    Ok(jobs.iter().any(|running| running.job.job.kind != JobKind::Refetch))
}

fn list(session: &Session, jobs: &[JobReport]) -> Result<()> {
    let terminal = &session.terminal;
    if jobs.is_empty() {
        return Ok(terminal.line("No jobs; 'backstory serve' starts some as soon as it runs.")?);
    }
    let row = |report: &JobReport| {
        let job = &report.job;
        let NewJob { kind, project, subject } = &job.job;
        let at = job.finished_at.or(job.started_at).filter(|_| job.status != JobStatus::Queued).unwrap_or(job.due_at);
        vec![
            job.id.to_string(),
            kind.as_str().to_owned(),
            format!("{project}{}", subject.as_deref().unwrap_or_default()),
            job.status.as_str().to_owned(),
            minute(at),
            job.attempts.to_string(),
            state(report),
        ]
    };
    Ok(terminal.table(
        &["id", "job", "of", "status", "at", "attempts", ""],
        &["attempts"],
        jobs.iter().map(row).collect(),
    )?)
}

/// Why it failed, or how far it is.
fn state(report: &JobReport) -> String {
    match (&report.job.error, &report.task) {
        (Some(error), _) => error.clone(),
        (None, Some(Progress { phase, done, total: Some(total), .. })) => format!("{phase}: {done} of {total}"),
        (None, Some(Progress { phase, done, .. })) => format!("{phase}: {done}"),
        (None, None) => String::new(),
    }
}
