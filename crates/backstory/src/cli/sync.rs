//! `sync`: starts a sync and follows it.

use std::time::{Duration, Instant};

use backstory_engine::{
    Scope, SyncRequest,
    error::ErrorKind,
    repository::ListRepositories,
    task::{Task, TaskKind},
};
use clap::ValueEnum;
use serde_json::Value;

use super::{Session, jobs, repos, task};
use crate::{
    client::{Client, LockOwnerClient, describe_in_use},
    data_dir::{self, DataDir, LOCK_TIMEOUT},
    failure::{Failure, Result},
    output::pluralize,
};

/// How often a sync is asked for that something else than a job of the server is in the way of.
const TRIES: u32 = 2;
/// Time between two looks whether the server has ended what it reads by itself.
const LOOK: Duration = Duration::from_millis(200);
/// How long a command whose sync is stopped may take to end.
const END: Duration = Duration::from_secs(30);

/// Read what is new at the forges and in the git repositories
///
/// The first sync reads everything. Text can be searched as soon as it has been read; vectors for search by meaning are
/// made by 'backstory embed', or in the background by 'backstory serve'.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory sync
  backstory sync group/project
  backstory sync --only issues
  backstory sync --reconcile
  backstory sync --full")]
pub(super) struct Args {
    /// Only these projects
    #[arg(value_name = "GROUP/PROJECT")]
    named: Vec<String>,
    /// Compare everything that the forges list with what is known, read what differs, and drop what is gone
    #[arg(long, conflicts_with = "full")]
    reconcile: bool,
    /// Read everything again, and drop what is gone
    #[arg(long)]
    full: bool,
    /// Read only this part (repeatable). GitHub has issues and pull requests in one list, which is
    /// read for either
    #[arg(long, value_enum, value_name = "PART")]
    only: Vec<Part>,
    /// Stop a sync that is running, and start over
    #[arg(long)]
    force: bool,
    /// Only this project, as if named without the option (repeatable)
    #[arg(long = "project", value_name = "GROUP/PROJECT")]
    projects: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a sync can be limited to.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Issues of the forge, with their discussions
    Issues,
    /// Merge requests of the forge
    MergeRequests,
    /// The git repository
    Repository,
}

impl From<Part> for backstory_engine::Part {
    fn from(part: Part) -> Self {
        match part {
            Part::Issues => Self::Issues,
            Part::MergeRequests => Self::MergeRequests,
            Part::Repository => Self::Repository,
        }
    }
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let config = session.config()?;
    let projects = [&args.named[..], &args.projects[..]].concat();
    let reads_forge = args.only.is_empty() || args.only.iter().any(|part| *part != Part::Repository);
    if args.force {
        take_over(session).await?;
    }
    let before = || if reads_forge { config.require_tokens(&projects) } else { Ok(()) };
    let client = Client::open_or_create(session, "sync", before).await?;
    repos::require_projects(session, &client, &projects).await?;
    let only = args.only.iter().map(|part| (*part).into()).collect();
    let request = SyncRequest {
        projects: projects.clone(),
        scope: scope(args),
        only,
        force: args.force,
        ..SyncRequest::default()
    };
    let begin = Box::pin(begin(&client, request));
    let mut summary = task::follow(&client, TaskKind::Sync, begin).await?;
    let coverage = task::coverage(&client).await?;
    if args.json {
        summary["documents_waiting"] = coverage.waiting().into();
        return Ok(session.terminal.json(&summary)?);
    }
    session.terminal.line(sentence(&summary))?;
    for repository in client.answer(ListRepositories {}).await? {
        if projects.is_empty() || projects.contains(&repository.project) {
            repos::tell_left_out(&session.terminal, &repository);
        }
    }
    task::tell_waiting(session, &client, &coverage);
    Ok(())
}

fn scope(args: &Args) -> Scope {
    match args {
        Args { full: true, .. } => Scope::Full,
        Args { reconcile: true, .. } => Scope::Reconcile,
        _ => Scope::New,
    }
}

/// Stops the sync that another command does, if one does, and waits for the end of that command. The process that opens
/// the stores next reports what else is in the way.
///
/// # Errors
/// The data directory cannot be used, the other command cannot be asked, or it does other long work.
async fn take_over(session: &Session) -> Result<()> {
    let directory = DataDir::open(&session.config()?.data_dir)?;
    let begun = Instant::now();
    let mut stopped = false;
    while !directory.is_free()? && begun.elapsed() < if stopped { END } else { LOCK_TIMEOUT } {
        match directory.current_server().await? {
            Some(server) if server.is_long_running() => return Ok(()),
            Some(server) if !stopped => {
                let holder = server.holder();
                let client = Client::of_lock_owner(LockOwnerClient::new(server)?);
                // It may have ended meanwhile, or not have begun.
                let tasks = task::all_running(&client).await.unwrap_or_default();
                if let Some(sync) = tasks.iter().find(|task| task.kind == TaskKind::Sync) {
                    stopped = task::stop(&client, sync.id).await.is_ok();
                    if stopped {
                        session.terminal.note(format_args!("the sync of {holder} was stopped"));
                    }
                } else if !tasks.is_empty() && !holder.is_sync_command() {
                    // There is no sync to stop, and nobody knows how long the rest takes.
                    return Err(Failure::new(ErrorKind::Conflict, describe_in_use(&holder, &directory, "sync")));
                }
            }
            _ => {}
        }
        tokio::time::sleep(data_dir::POLL_INTERVAL).await;
    }
    Ok(())
}

/// Begins a sync, after what the server reads by itself, unless it should be stopped.
async fn begin(client: &Client, request: SyncRequest) -> Result<Task> {
    let mut tries_left = TRIES;
    loop {
        let begun = client.answer(request.clone()).await;
        if begun.is_ok() || request.force {
            return begun;
        }
        if !jobs::any_reads(client).await? {
            // The job that was in the way may have ended since.
            tries_left -= 1;
            if tries_left == 0 {
                return begun;
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Syncs one project and follows that; what it did.
///
/// # Errors
/// It failed, or Ctrl-C was pressed.
pub(super) async fn project(client: &Client, project: &str) -> Result<Value> {
    projects(client, vec![project.to_owned()]).await
}

/// Reads what is new of some projects; what it did.
///
/// # Errors
/// It failed, or Ctrl-C was pressed.
pub(super) async fn projects(client: &Client, projects: Vec<String>) -> Result<Value> {
    let request = SyncRequest { projects, ..SyncRequest::default() };
    task::follow(client, TaskKind::Sync, Box::pin(begin(client, request))).await
}

/// In how many places a sync replaced secrets.
pub(super) fn secrets_replaced(summary: &Value) -> u64 {
    summary["redactions"].as_object().map_or(0, |rules| rules.values().filter_map(Value::as_u64).sum())
}

/// `1 issue, 0 merge requests updated; 3 discussions refetched; 2 commits, 5 files indexed`
pub(super) fn sentence(summary: &Value) -> String {
    let changed = |kind: &str| summary["changed"][kind].as_u64().unwrap_or(0);
    let told = |key: &str| summary[key].as_u64().unwrap_or(0);
    let (issues, requests, refetched) = (changed("issue"), changed("merge_request"), told("discussions_refetched"));
    let mut parts = Vec::new();
    // Syncs of before repositories could be indexed do not say how many they read.
    let (repositories, only_repositories) = (told("repositories"), summary["projects"] == 0);
    if issues + requests + refetched > 0 {
        parts.push(format!(
            "{}, {} updated",
            pluralize(issues, "issue", "issues"),
            pluralize(requests, "merge request", "merge requests")
        ));
        parts.push(format!("{} refetched", pluralize(refetched, "discussion", "discussions")));
    } else if !only_repositories {
        parts.push("0 issues, 0 MRs updated".to_owned());
    }
    if repositories > 0 {
        let (commits, files) =
            (pluralize(changed("commit"), "commit", "commits"), pluralize(changed("file"), "file", "files"));
        let repositories = pluralize(repositories, "repository", "repositories");
        parts.push(format!("{commits}, {files} indexed of {repositories}"));
    }
    let mut also = |count: u64, one: &str, many: &str, what: &str| {
        if count > 0 {
            parts.push(format!("{} {what}", pluralize(count, one, many)));
        }
    };
    also(told("gone"), "item", "items", "gone");
    also(told("put_aside"), "item", "items", "that cannot be read ('backstory status' says why)");
    also(told("retired"), "item", "items", "not kept any more");
    also(told("confidential_left_out"), "confidential issue", "confidential issues", "left out");
    let places = secrets_replaced(summary);
    if places > 0 {
        parts.push(format!("secrets replaced in {}", pluralize(places, "place", "places")));
    }
    for (project, bytes) in summary["too_large"].as_object().into_iter().flatten() {
        let megabytes = bytes.as_u64().unwrap_or(0).div_ceil(1_000_000);
        parts.push(format!("{project} is {megabytes} MB larger than [retention] allows, with nothing left to remove"));
    }
    parts.join("; ")
}
