//! `jobs`: lists, starts and cancels the background work of a server. Work of this command line is in `task`.

use backstory_engine::error::ErrorKind;
use clap::{Subcommand, ValueEnum};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Session;
use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{minute, plain},
};

const JOBS: &str = include_str!("../../../../queries/graphql/jobs.graphql");
const QUEUE: &str = include_str!("../../../../queries/graphql/queue_job.graphql");
const CANCEL: &str = include_str!("../../../../queries/graphql/cancel_job.graphql");

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
    /// List them, newest first
    List {
        /// Only those that stand so
        #[arg(long)]
        status: Option<Status>,
        /// How many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=100))]
        first: u8,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Have the server do something as soon as it can
    Start {
        /// What
        kind: Kind,
        /// Full path of the project
        #[arg(value_name = "GROUP/PROJECT")]
        project: String,
    },
    /// Take a job out of the queue, or stop it
    Cancel {
        /// Its number
        #[arg(value_name = "ID")]
        id: u64,
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

#[derive(Deserialize)]
struct Listed {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Queued {
    queue_job: Identity,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled {
    cancel_job: Standing,
}

#[derive(Deserialize)]
struct Identity {
    id: String,
}

#[derive(Deserialize)]
struct Standing {
    status: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Job {
    id: String,
    kind: String,
    project: String,
    subject: Option<String>,
    status: String,
    attempts: u32,
    queued_at: Timestamp,
    due_at: Timestamp,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    error: Option<String>,
    summary: Option<Value>,
    task: Option<Progress>,
}

#[derive(Deserialize, Serialize)]
struct Progress {
    phase: String,
    done: u64,
    total: Option<u64>,
    note: Option<String>,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "jobs", || Ok(())).await?;
    let terminal = &session.terminal;
    match &args.what {
        What::List { status, first, json } => {
            let Listed { jobs } = client.run(JOBS, json!({ "first": first, "status": name(*status) })).await?;
            if *json { Ok(terminal.json(&jobs)?) } else { list(session, &jobs) }
        }
        What::Start { kind, project } => {
            if !client.is_there() {
                let message = "jobs are done by a server, and none is running for this data directory; start 'backstory \
                               serve', or run 'backstory sync'";
                return Err(Failure::new(ErrorKind::Conflict, message));
            }
            let variables = json!({ "project": project, "kind": name(Some(*kind)) });
            let Queued { queue_job: job } = client.run(QUEUE, variables).await?;
            let id = job.id;
            Ok(terminal.line(format_args!("Job {id} waits for its turn; 'backstory jobs list' shows it"))?)
        }
        What::Cancel { id } => {
            let Cancelled { cancel_job: job } = client.run(CANCEL, json!({ "id": id.to_string() })).await?;
            Ok(terminal.line(format_args!("Job {id} is {}", job.status.to_lowercase()))?)
        }
    }
}

/// Whether the server reads a whole project by itself now.
///
/// # Errors
/// It does not answer.
pub(super) async fn any_reads(client: &Client) -> Result<bool> {
    let Listed { jobs } = client.run(JOBS, json!({ "first": 2, "status": "RUNNING" })).await?;
    Ok(jobs.iter().any(|job| job.kind != "REFETCH"))
}

/// A value's name in the API.
fn name<V: ValueEnum>(value: Option<V>) -> Option<String> {
    Some(value?.to_possible_value()?.get_name().to_uppercase())
}

fn list(session: &Session, jobs: &[Job]) -> Result<()> {
    let terminal = &session.terminal;
    if jobs.is_empty() {
        return Ok(terminal.line("No jobs; 'backstory serve' has some as soon as it runs.")?);
    }
    let row = |job: &Job| {
        let what = job.subject.as_deref().unwrap_or_default();
        vec![
            job.id.clone(),
            job.kind.to_lowercase(),
            format!("{}{}", plain(&job.project), plain(what)),
            job.status.to_lowercase(),
            minute(job.finished_at.or(job.started_at).filter(|_| job.status != "QUEUED").unwrap_or(job.due_at)),
            job.attempts.to_string(),
            plain(&said(job)),
        ]
    };
    Ok(terminal.table(
        &["id", "job", "of", "status", "at", "attempts", ""],
        &["attempts"],
        jobs.iter().map(row).collect(),
    )?)
}

/// Why it failed, or how far it is.
fn said(job: &Job) -> String {
    match (&job.error, &job.task) {
        (Some(error), _) => error.clone(),
        (None, Some(Progress { phase, done, total: Some(total), .. })) => format!("{phase}: {done} of {total}"),
        (None, Some(Progress { phase, done, .. })) => format!("{phase}: {done}"),
        (None, None) => String::new(),
    }
}
