//! `status`: shows what is indexed and how fresh it is. The cursors of each list are in `sync_status`.

use std::collections::BTreeMap;

use backstory_engine::{
    index::Coverage,
    ledger::{Cursor, Run, RunStatus},
    model::role::Roles,
    quarantine::{Quarantine, QuarantinedItem},
    repository::{ListRepositories, RepositoryStatus},
    status::{GroupFailure, ProjectFreshness, ProjectStatus, SyncStatus, SyncStatusRequest},
    task::TaskKind,
};
use jiff::Timestamp;
use serde::Serialize;

use super::{Session, repos, task};
use crate::{
    client::Client,
    failure::Result,
    output::{escape_terminal, minute, pluralize, thousands},
};

/// Items that cannot be read of which each has a line.
const SHOWN: usize = 10;

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

/// What cannot be read, if anything: how many items, and the first of them, a line each.
pub(super) fn quarantine_lines(quarantine: &Quarantine) -> Option<(String, Vec<String>)> {
    if quarantine.count == 0 {
        return None;
    }
    let count = pluralize(quarantine.count, "item of a forge cannot be read", "items of forges cannot be read");
    let line = |item: &QuarantinedItem| {
        let field = if item.field.is_empty() { String::new() } else { format!("{} ", item.field) };
        escape_terminal(&format!("{}: {field}{}, since {}", item.reference, item.reason, minute(item.first_seen)))
    };
    let mut lines: Vec<String> = quarantine.items.iter().take(SHOWN).map(line).collect();
    let more = quarantine.count.saturating_sub(lines.len() as u64);
    if more > 0 {
        lines.push(format!("and {} more", thousands(more)));
    }
    Some((format!("{count}; what was known of them before is kept, and each sync asks for them again"), lines))
}

/// Which groups could not be asked for their projects, as sentences.
pub(super) fn group_failures(groups: &[GroupFailure]) -> impl Iterator<Item = String> {
    let sentence = |of: &GroupFailure| {
        repos::failure(&format!("the group {}", escape_terminal(&of.group)), Some(of.at), Some(of.error.as_str()))
    };
    groups.iter().filter_map(sentence)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed {
    projects: Vec<Fresh>,
    documents: u64,
    embedded: u64,
    /// Groups that could not be asked for their projects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<GroupFailure>,
    quarantine: Quarantine,
    last_sync: Option<LastSync>,
    syncing: bool,
    /// What the process does that has the stores.
    roles: Roles,
}

/// The newest sync.
#[derive(Serialize)]
struct LastSync {
    started_at: Timestamp,
    status: RunStatus,
    error: Option<String>,
}

/// A project: what of it is indexed, and up to when.
#[derive(Default, Serialize)]
struct Fresh {
    project: String,
    repository: Option<RepositoryStatus>,
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
        let forge = format!("the forge of {}", escape_terminal(&self.project));
        let of_forge = repos::failure(&forge, self.failed_at, self.last_error.as_deref());
        of_forge.into_iter().chain(self.repository.as_ref().and_then(repos::failure_of))
    }
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "status", || Ok(())).await?;
    let status = client.answer(SyncStatusRequest { runs: 1 }).await?;
    let repositories = client.answer(ListRepositories {}).await?;
    let coverage = task::coverage(&client).await?;
    let tasks = task::all_running(&client).await?;
    let SyncStatus { runs, projects, groups, quarantine, freshness, running, roles, .. } = status;
    let mut projects = fresh(projects, freshness, repositories);
    let known: Vec<&str> = projects.iter().map(|of| of.project.as_str()).collect();
    args.projects.iter().try_for_each(|project| session.config()?.require_project(project, &known))?;
    if !args.projects.is_empty() {
        projects.retain(|of| args.projects.contains(&of.project));
    }
    let last_sync = runs.into_iter().next();
    let last_sync = last_sync.map(|Run { started_at, status, error, .. }| LastSync { started_at, status, error });
    if args.json {
        let Coverage { documents, embedded, .. } = coverage;
        let syncing = running.is_some();
        return Ok(session.terminal.json(&Printed {
            projects,
            documents,
            embedded,
            groups,
            quarantine,
            last_sync,
            syncing,
            roles,
        })?);
    }
    print(session, &projects, &coverage)?;
    projects.iter().filter_map(|of| of.repository.as_ref()).for_each(|of| repos::tell_left_out(&session.terminal, of));
    if let Some((count, lines)) = quarantine_lines(&quarantine) {
        session.terminal.warning(count);
        for line in lines {
            session.terminal.line(format_args!("  {line}"))?;
        }
    }
    if !roles.is_all() {
        session.terminal.note(format_args!("the server was started with --roles {roles} and refuses the rest"));
    }
    for task in tasks {
        let article = if task.kind == TaskKind::Embed || task.kind == TaskKind::Enrich { "an" } else { "a" };
        let kind = task.kind.as_str();
        session.terminal.note(format_args!("{article} {kind} is running: {}", task::progress_line(&task)));
    }
    let failures: Vec<String> = projects.iter().flat_map(Fresh::failures).chain(group_failures(&groups)).collect();
    failures.iter().for_each(|failure| session.terminal.warning(failure));
    // What failed in a project or group is shown already.
    if let Some(LastSync { started_at, status: RunStatus::Failed, error }) = last_sync.filter(|_| failures.is_empty()) {
        let error = escape_terminal(&error.unwrap_or_default());
        session.terminal.warning(format_args!("the last sync, {}, failed: {error}", minute(started_at)));
    }
    Ok(())
}

/// What forges and repositories say about each project, by project.
fn fresh(
    projects: Vec<ProjectStatus>,
    freshness: Vec<ProjectFreshness>,
    repositories: Vec<RepositoryStatus>,
) -> Vec<Fresh> {
    let mut all: BTreeMap<String, Fresh> = BTreeMap::new();
    let read_to = |cursor: Option<Cursor>| cursor.map(|cursor| cursor.updated_at);
    for ProjectStatus { path, issues_cursor, merge_requests_cursor } in projects {
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

fn print(session: &Session, projects: &[Fresh], coverage: &Coverage) -> Result<()> {
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
            of.map_or_else(none, repos::head_of),
            of.map_or_else(none, |of| thousands(of.commits)),
            of.map_or_else(none, |of| thousands(of.files)),
            fresh.synced_at.map_or("never".to_owned(), minute),
            fresh.issues_read_to.map_or_else(none, minute),
            fresh.merge_requests_read_to.map_or_else(none, minute),
        ]
    };
    let headings = ["project", "head", "commits", "files", "synced", "issues to", "merge requests to"];
    terminal.table(&headings, &["commits", "files"], projects.iter().map(row).collect())?;
    let vectors = match (coverage.documents, coverage.waiting()) {
        (0, _) => String::new(),
        (_, 0) => ", all with vectors".to_owned(),
        _ => format!(", {} with vectors", thousands(coverage.embedded)),
    };
    Ok(terminal.line(format_args!("\n{}{vectors}", pluralize(coverage.documents, "document", "documents")))?)
}
