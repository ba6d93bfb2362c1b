//! `status`

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Session,
    repos::{self, Repository},
    sync_status::{Cursor, Project},
    task::{Coverage, Status, Task},
};
use crate::{
    client::Client,
    failure::Result,
    output::{counted, minute, plain, thousands},
};

/// Items that cannot be read of which each has a line.
const SHOWN: usize = 10;

const STATUS: &str = include_str!("../../../../queries/graphql/status.graphql");

/// Show what is indexed and how fresh it is
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n  backstory status\n  backstory status group/project")]
pub(super) struct Args {
    /// Only these projects
    #[arg(value_name = "GROUP/PROJECT")]
    projects: Vec<String>,
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
    quarantine: Quarantine,
    freshness: Vec<Freshness>,
    running: Option<Task>,
}

/// What forges sent and cannot be read.
#[derive(Deserialize, Serialize)]
pub(super) struct Quarantine {
    pub(super) count: u64,
    pub(super) items: Vec<Quarantined>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Quarantined {
    project: String,
    kind: String,
    #[serde(rename = "ref")]
    reference: String,
    field: String,
    reason: String,
    first_seen: Timestamp,
    last_tried: Timestamp,
}

impl Quarantine {
    /// How many there are, and the first of them, a line each.
    pub(super) fn told(&self) -> Option<(String, Vec<String>)> {
        if self.count == 0 {
            return None;
        }
        let count = counted(self.count, "item of a forge cannot be read", "items of forges cannot be read");
        let line = |item: &Quarantined| {
            let field = if item.field.is_empty() { String::new() } else { format!("{} ", item.field) };
            plain(&format!("{}: {field}{}, since {}", item.reference, item.reason, minute(item.first_seen)))
        };
        let mut lines: Vec<String> = self.items.iter().take(SHOWN).map(line).collect();
        let more = self.count.saturating_sub(lines.len() as u64);
        if more > 0 {
            lines.push(format!("and {} more", thousands(more)));
        }
        Some((format!("{count}; what was known of them before is kept, and each sync asks for them again"), lines))
    }
}

/// When all of a project was read, and why its forge could not be.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Freshness {
    project: String,
    synced_at: Option<Timestamp>,
    last_error: Option<String>,
    failed_at: Option<Timestamp>,
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
    quarantine: Quarantine,
    last_sync: Option<Run>,
    syncing: bool,
}

/// A project: what of it is indexed, and up to when.
#[derive(Default, Serialize)]
struct Fresh {
    project: String,
    repository: Option<Repository>,
    /// When the last sync began that read all of it, of its forge and its repository.
    synced_at: Option<Timestamp>,
    issues_read_to: Option<Timestamp>,
    merge_requests_read_to: Option<Timestamp>,
    /// Why its forge could not be read when that was last tried, and when.
    last_error: Option<String>,
    failed_at: Option<Timestamp>,
}

impl Fresh {
    /// Why it could not be read, as sentences.
    fn failures(&self) -> impl Iterator<Item = String> {
        let forge = format!("the forge of {}", plain(&self.project));
        let of_forge = repos::failure(&forge, self.failed_at, self.last_error.as_deref());
        of_forge.into_iter().chain(self.repository.as_ref().and_then(Repository::failure))
    }
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "status", || Ok(())).await?;
    let Answer { sync_status, repositories, coverage } = client.run(STATUS, json!({})).await?;
    let SyncStatus { runs, projects, quarantine, freshness, running } = sync_status;
    let mut projects = fresh(projects, freshness, repositories);
    let known: Vec<&str> = projects.iter().map(|of| of.project.as_str()).collect();
    args.projects.iter().try_for_each(|project| session.config()?.require_project(project, &known))?;
    if !args.projects.is_empty() {
        projects.retain(|of| args.projects.contains(&of.project));
    }
    let last_sync = runs.into_iter().next();
    if args.json {
        let Coverage { documents, embedded } = coverage;
        let syncing = running.is_some();
        return Ok(session.terminal.json(&Printed {
            projects,
            documents,
            embedded,
            quarantine,
            last_sync,
            syncing,
        })?);
    }
    print(session, &projects, coverage)?;
    projects.iter().filter_map(|of| of.repository.as_ref()).for_each(|of| of.tell_left_out(&session.terminal));
    if let Some((count, lines)) = quarantine.told() {
        session.terminal.warning(count);
        for line in lines {
            session.terminal.line(format_args!("  {line}"))?;
        }
    }
    if let Some(task) = running {
        session.terminal.note(format_args!("a sync is at work: {}", task.shown()));
    }
    let failures: Vec<String> = projects.iter().flat_map(Fresh::failures).collect();
    failures.iter().for_each(|failure| session.terminal.warning(failure));
    // What failed in a project is shown already.
    if let Some(Run { started_at, status: Status::Failed, error }) = last_sync.filter(|_| failures.is_empty()) {
        let error = plain(&error.unwrap_or_default());
        session.terminal.warning(format_args!("the last sync, {}, failed: {error}", minute(started_at)));
    }
    Ok(())
}

/// What forges and repositories tell of each project, by project.
fn fresh(projects: Vec<Project>, freshness: Vec<Freshness>, repositories: Vec<Repository>) -> Vec<Fresh> {
    let mut all: BTreeMap<String, Fresh> = BTreeMap::new();
    let read_to = |cursor: Option<Cursor>| cursor.map(|cursor| cursor.updated_at);
    for Project { path, issues_cursor, merge_requests_cursor } in projects {
        let of = all.entry(path).or_default();
        of.issues_read_to = read_to(issues_cursor);
        of.merge_requests_read_to = read_to(merge_requests_cursor);
    }
    for known in freshness {
        let of = all.entry(known.project).or_default();
        (of.synced_at, of.last_error, of.failed_at) = (known.synced_at, known.last_error, known.failed_at);
    }
    for repository in repositories {
        let of = all.entry(repository.project.clone()).or_default();
        of.synced_at = of.synced_at.or(repository.synced_at);
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
            fresh.synced_at.map_or("never".to_owned(), minute),
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
