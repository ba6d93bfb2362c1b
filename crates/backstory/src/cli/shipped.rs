//! `shipped`: shows what shipped between two releases.

use backstory_engine::shipped::{Shipped, ShippedRequest, ShippedThread};

use super::{Session, place, repos};
use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{FAINT, STRONG, day, escape_terminal, pluralize},
};

/// Most commits that are listed.
const LISTED: usize = 20;

/// Show the merge requests, issues, commits and people between two releases
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory shipped v1.0..v2.0
  backstory shipped v2.0 --project group/project
  backstory shipped v2.0..main --json")]
pub(super) struct Args {
    /// Two tags, branches or commits, or one tag for what no earlier one has
    #[arg(value_name = "FROM..TO")]
    range: String,
    /// Project, if it cannot be inferred
    #[arg(long, value_name = "GROUP/PROJECT")]
    project: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let (from, to) = match args.range.split_once("..") {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => (Some(from.to_owned()), to.to_owned()),
        Some(_) => return Err(Failure::usage("name two revisions, like v1.0..v2.0")),
        None => (None, args.range.clone()),
    };
    let client = Client::open(session, "shipped", || Ok(())).await?;
    repos::require_projects(session, &client, args.project.as_slice()).await?;
    let project = place::infer_project(&client, args.project.as_deref()).await?;
    let shipped = client.answer(ShippedRequest { project, from, to }).await?;
    if args.json {
        return Ok(session.terminal.json(&shipped)?);
    }
    print(session, &args.range, &shipped)
}

fn print(session: &Session, range: &str, shipped: &Shipped) -> Result<()> {
    let terminal = &session.terminal;
    let number = |count: usize, one: &str, many: &str| pluralize(count as u64, one, many);
    terminal.line(format_args!(
        "{STRONG}{}{STRONG:#} {FAINT}({}){FAINT:#}: {}, {}, {}, {}",
        escape_terminal(range),
        escape_terminal(&shipped.project),
        pluralize(shipped.count, "commit", "commits"),
        number(shipped.merge_requests.len(), "merge request", "merge requests"),
        number(shipped.issues.len(), "issue", "issues"),
        number(shipped.contributors.len(), "contributor", "contributors"),
    ))?;
    for (heading, threads) in [("Merge requests", &shipped.merge_requests), ("Issues", &shipped.issues)] {
        if !threads.is_empty() {
            terminal.line(format_args!("\n{STRONG}{heading}{STRONG:#}"))?;
        }
        threads.iter().try_for_each(|thread| print_thread(session, thread))?;
    }
    if !shipped.told_commits.is_empty() {
        terminal.line(format_args!("\n{STRONG}Commits{STRONG:#}"))?;
    }
    for commit in shipped.told_commits.iter().take(LISTED) {
        let (sha, title, author) =
            (commit.sha.short(), escape_terminal(&commit.title), escape_terminal(&commit.author));
        terminal.line(format_args!("  {sha} {title} {FAINT}{author} · {}{FAINT:#}", day(commit.date)))?;
    }
    let more = shipped.count.saturating_sub(shipped.told_commits.len().min(LISTED) as u64);
    if more > 0 {
        terminal.line(format_args!("  {FAINT}and {} (--json names them){FAINT:#}", pluralize(more, "more", "more")))?;
    }
    if !shipped.contributors.is_empty() {
        terminal.line(format_args!("\n{STRONG}Contributors{STRONG:#}"))?;
    }
    for contributor in &shipped.contributors {
        let commits = pluralize(contributor.commits, "commit", "commits");
        terminal
            .line(format_args!("  {} {FAINT}{commits}{FAINT:#}", escape_terminal(&contributor.person.to_string())))?;
    }
    shipped.missing.iter().for_each(|missing| terminal.note(missing));
    Ok(())
}

fn print_thread(session: &Session, thread: &ShippedThread) -> Result<()> {
    let ended = thread.ended_at.map(|at| format!(" · {}", day(at))).unwrap_or_default();
    let author = thread.author.as_deref().unwrap_or("deleted");
    Ok(session.terminal.line(format_args!(
        "  {} {} {FAINT}@{}{ended}{FAINT:#}",
        thread.id.local_reference(),
        escape_terminal(&thread.title),
        escape_terminal(author),
    ))?)
}
