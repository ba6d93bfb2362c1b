//! `status`

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Session,
    repos::Repository,
    sync_status::{Cursor, Project},
    task::{Coverage, Status, Task},
};
use crate::{
    client::Client,
    failure::Result,
    output::{counted, minute, plain, thousands},
};

const STATUS: &str = include_str!("../../../../queries/graphql/status.graphql");

/// Show what is indexed and how fresh it is
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory status")]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    sync_status: SyncStatus,
    repositories: Vec<Repository>,
    coverage: Coverage,
}

#[derive(Deserialize)]
struct SyncStatus {
    runs: Vec<Run>,
    projects: Vec<Project>,
    running: Option<Task>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Run {
    started_at: Timestamp,
    status: Status,
    error: Option<String>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed {
    projects: Vec<Fresh>,
    documents: u64,
    embedded: u64,
    last_sync: Option<Run>,
    syncing: bool,
}

/// A project: what of it is indexed, and up to when.
#[derive(Default, Serialize)]
struct Fresh {
    project: String,
    repository: Option<Repository>,
    issues_read_to: Option<Timestamp>,
    merge_requests_read_to: Option<Timestamp>,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "status", || Ok(())).await?;
    let Answer { sync_status, repositories, coverage } = client.run(STATUS, json!({})).await?;
    let SyncStatus { runs, projects, running } = sync_status;
    let projects = fresh(projects, repositories);
    let last_sync = runs.into_iter().next();
    if args.json {
        let Coverage { documents, embedded } = coverage;
        let syncing = running.is_some();
        return Ok(session.terminal.json(&Printed { projects, documents, embedded, last_sync, syncing })?);
    }
    print(session, &projects, coverage)?;
    if let Some(task) = running {
        session.terminal.note(format_args!("a sync is at work: {}", plain(&task.phase)));
    }
    if let Some(Run { started_at, status: Status::Failed, error }) = last_sync {
        let error = plain(&error.unwrap_or_default());
        session.terminal.warning(format_args!("the last sync, {}, failed: {error}", minute(started_at)));
    }
    Ok(())
}

/// What forges and repositories tell of each project, by project.
fn fresh(projects: Vec<Project>, repositories: Vec<Repository>) -> Vec<Fresh> {
    let mut all: BTreeMap<String, Fresh> = BTreeMap::new();
    let read_to = |cursor: Option<Cursor>| cursor.map(|cursor| cursor.updated_at);
    for Project { path, issues_cursor, merge_requests_cursor } in projects {
        let of = all.entry(path).or_default();
        of.issues_read_to = read_to(issues_cursor);
        of.merge_requests_read_to = read_to(merge_requests_cursor);
    }
    for repository in repositories {
        let of = all.entry(repository.project.clone()).or_default();
        of.repository = Some(repository);
    }
    all.into_iter().map(|(project, fresh)| Fresh { project, ..fresh }).collect()
}

fn print(session: &Session, projects: &[Fresh], coverage: Coverage) -> Result<()> {
    let terminal = &session.terminal;
    if projects.is_empty() {
        return Ok(terminal.line(
            "Nothing is indexed; 'backstory add PATH' indexes a repository, 'backstory init' configures a forge.",
        )?);
    }
    let none = || "–".to_owned();
    let row = |fresh: &Fresh| {
        let of = fresh.repository.as_ref();
        vec![
            fresh.project.clone(),
            of.map_or_else(none, Repository::shown_head),
            of.map_or_else(none, |of| thousands(of.commits)),
            of.map_or_else(none, |of| thousands(of.files)),
            of.map_or_else(none, |of| of.synced_at.map_or("never".to_owned(), minute)),
            fresh.issues_read_to.map_or_else(none, minute),
            fresh.merge_requests_read_to.map_or_else(none, minute),
        ]
    };
    let headings = ["project", "head", "commits", "files", "synced", "issues to", "merge requests to"];
    terminal.table(&headings, &["commits", "files"], projects.iter().map(row).collect())?;
    let vectors = match coverage.waiting() {
        0 => "all with vectors".to_owned(),
        _ => format!("{} with vectors", thousands(coverage.embedded)),
    };
    Ok(terminal.line(format_args!("\n{}, {vectors}", counted(coverage.documents, "document", "documents")))?)
}
