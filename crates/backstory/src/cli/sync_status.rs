//! `sync-status`

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Session, sync,
    task::{Status, Task},
};
use crate::{
    client::Client,
    failure::Result,
    output::{duration, minute, thousands},
};

const SYNC_STATUS: &str = include_str!("../../../../queries/graphql/sync_status.graphql");

/// Show how far each project of a forge has been read, and the last syncs
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory sync-status --runs 20")]
pub(super) struct Args {
    /// How many syncs to show
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(0..=100))]
    runs: u8,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    sync_status: SyncStatus,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct SyncStatus {
    projects: Vec<Project>,
    runs: Vec<Run>,
    ledger_seq: u64,
    graph_seq: u64,
    index_seq: u64,
    #[serde(skip_serializing)]
    running: Option<Task>,
}

/// How far a project of a forge has been read.
#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Project {
    pub(super) path: String,
    pub(super) issues_cursor: Option<Cursor>,
    pub(super) merge_requests_cursor: Option<Cursor>,
}

/// How far a list has been read.
#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Cursor {
    pub(super) updated_at: Timestamp,
    forge_id: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Run {
    id: String,
    command: String,
    started_at: Timestamp,
    finished_at: Option<Timestamp>,
    status: Status,
    error: Option<String>,
    summary: Option<Value>,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "sync-status", || Ok(())).await?;
    let Answer { sync_status: status } = client.run(SYNC_STATUS, json!({ "runs": args.runs })).await?;
    if args.json {
        return Ok(session.terminal.json(&status)?);
    }
    let terminal = &session.terminal;
    if let Some(task) = &status.running {
        terminal.line(format_args!("Syncing: {}\n", task.shown()))?;
    }
    let cursor = |cursor: &Option<Cursor>| cursor.as_ref().map_or("never read".to_owned(), |at| minute(at.updated_at));
    let projects = status.projects.iter();
    let projects = projects.map(|p| vec![p.path.clone(), cursor(&p.issues_cursor), cursor(&p.merge_requests_cursor)]);
    if !status.projects.is_empty() {
        terminal.table(&["project", "issues read to", "merge requests read to"], &[], projects.collect())?;
        terminal.line("")?;
    }
    if status.runs.is_empty() {
        return Ok(terminal
            .line("No sync yet; 'backstory sync' reads what is configured, 'backstory add PATH' a repository.")?);
    }
    let runs = status.runs.iter().map(|run| row(session, run)).collect();
    terminal.table(&["last syncs", "command", "status", "took", "result"], &[], runs)?;
    let behind = [("graph", status.graph_seq), ("index", status.index_seq)];
    for (name, seq) in behind.into_iter().filter(|(_, seq)| *seq < status.ledger_seq) {
        let changes = thousands(status.ledger_seq - seq);
        terminal
            .note(format_args!("the {name} is {changes} changes behind what was read; the next command applies them"));
    }
    Ok(())
}

fn row(session: &Session, run: &Run) -> Vec<String> {
    let took = run.finished_at.and_then(|end| std::time::Duration::try_from(end.duration_since(run.started_at)).ok());
    let (status, result) = match (run.status, &run.error) {
        (Status::Running, _) => ("running", String::new()),
        (Status::Succeeded, _) => ("succeeded", run.summary.as_ref().map(sync::sentence).unwrap_or_default()),
        (Status::Failed, error) => ("failed", error.as_deref().unwrap_or_default().to_owned()),
    };
    vec![
        minute(run.started_at),
        run.command.clone(),
        status.to_owned(),
        took.map(duration).unwrap_or_default(),
        session.terminal.title(&result),
    ]
}
