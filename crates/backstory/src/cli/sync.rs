//! `sync`

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Session, jobs, repos,
    task::{self, Task},
};
use crate::{client::Client, failure::Result, output::counted};

/// Time between two looks whether the server has ended what it reads by itself.
const LOOK: Duration = Duration::from_millis(200);
const SYNC: &str = include_str!("../../../../queries/graphql/sync.graphql");

/// Read what is new at the forges and in the git repositories
///
/// The first time that is everything. Text can be searched as soon as it has been read; vectors for search by meaning
/// come with 'backstory embed', or in the background of 'backstory serve'.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory sync
  backstory sync --reconcile
  backstory sync --full
  backstory sync --project group/project")]
pub(super) struct Args {
    /// Compare everything that the forges list with what is known, read what differs, and drop what is gone
    #[arg(long, conflicts_with = "full")]
    reconcile: bool,
    /// Read everything again, and drop what is gone
    #[arg(long)]
    full: bool,
    /// Stop a sync that is at work, and start over
    #[arg(long)]
    force: bool,
    /// Only this project, several times for several
    #[arg(long = "project", value_name = "GROUP/PROJECT")]
    projects: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Answer {
    sync: Task,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let config = session.config()?;
    let client = Client::open(session, "sync", || config.require_tokens(&args.projects)).await?;
    repos::require_projects(session, &client, &args.projects).await?;
    let variables = json!({ "projects": args.projects, "scope": scope(args), "force": args.force });
    let begin = Box::pin(begin(&client, variables, args.force));
    let mut summary = task::follow(&client, "sync", begin).await?;
    let coverage = task::coverage(&client).await?;
    if args.json {
        summary["documents_waiting"] = coverage.waiting().into();
        return Ok(session.terminal.json(&summary)?);
    }
    session.terminal.line(sentence(&summary))?;
    task::tell_waiting(&session.terminal, &client, coverage);
    Ok(())
}

fn scope(args: &Args) -> &'static str {
    match args {
        Args { full: true, .. } => "FULL",
        Args { reconcile: true, .. } => "RECONCILE",
        _ => "NEW",
    }
}

/// Begins a sync, after what the server reads by itself, unless that is to be stopped.
async fn begin(client: &Client, variables: Value, force: bool) -> Result<Task> {
    loop {
        let begun = client.run::<Answer>(SYNC, variables.clone()).await;
        match begun {
            Err(_) if !force && jobs::any_reads(client).await? => tokio::time::sleep(LOOK).await,
            begun => return begun.map(|answer| answer.sync),
        }
    }
}

/// Syncs one project and follows that; what it did.
///
/// # Errors
/// It failed, or Ctrl-C was pressed.
pub(super) async fn project(client: &Client, project: &str) -> Result<Value> {
    let variables = json!({ "projects": [project], "scope": "NEW", "force": false });
    task::follow(client, "sync", Box::pin(begin(client, variables, false))).await
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
            counted(issues, "issue", "issues"),
            counted(requests, "merge request", "merge requests")
        ));
        parts.push(format!("{} refetched", counted(refetched, "discussion", "discussions")));
    } else if !only_repositories {
        parts.push("0 issues, 0 MRs updated".to_owned());
    }
    if repositories > 0 {
        let (commits, files) =
            (counted(changed("commit"), "commit", "commits"), counted(changed("file"), "file", "files"));
        let repositories = counted(repositories, "repository", "repositories");
        parts.push(format!("{commits}, {files} indexed of {repositories}"));
    }
    let mut also = |count: u64, one: &str, many: &str, what: &str| {
        if count > 0 {
            parts.push(format!("{} {what}", counted(count, one, many)));
        }
    };
    also(told("gone"), "item", "items", "gone");
    also(told("retired"), "item", "items", "not kept any more");
    also(told("confidential_left_out"), "confidential issue", "confidential issues", "left out");
    let secrets = summary["redactions"].as_object().map_or(0, |rules| rules.values().filter_map(Value::as_u64).sum());
    also(secrets, "secret", "secrets", "replaced");
    for (project, bytes) in summary["too_large"].as_object().into_iter().flatten() {
        let megabytes = bytes.as_u64().unwrap_or(0).div_ceil(1_000_000);
        parts.push(format!(
            "{project} is {megabytes} MB larger than [retention] allows, with nothing left that could leave"
        ));
    }
    parts.join("; ")
}
