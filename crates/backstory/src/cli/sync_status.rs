//! `sync-status`: shows how far each list of a forge has been read, and the last syncs.

use backstory_engine::{
    ledger::{Cursor, Run, RunStatus},
    status::SyncStatusRequest,
};

use super::{Session, sync, task};
use crate::{
    client::Client,
    failure::Result,
    output::{duration, minute, thousands},
};

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

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "sync-status", || Ok(())).await?;
    let status = client.answer(SyncStatusRequest { runs: usize::from(args.runs) }).await?;
    if args.json {
        return Ok(session.terminal.json(&status)?);
    }
    let terminal = &session.terminal;
    if let Some(task) = &status.running {
        terminal.line(format_args!("Syncing: {}\n", task::progress_line(task)))?;
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
    let behind = [("graph is", status.graph_seq), ("lists are", status.lists_seq), ("index is", status.index_seq)];
    for (what, seq) in behind.into_iter().filter(|(_, seq)| *seq < status.ledger_seq) {
        let changes = thousands(status.ledger_seq - seq);
        terminal.note(format_args!("the {what} {changes} changes behind what was read; the next command applies them"));
    }
    Ok(())
}

fn row(session: &Session, run: &Run) -> Vec<String> {
    let took = run.finished_at.and_then(|end| std::time::Duration::try_from(end.duration_since(run.started_at)).ok());
    let (status, result) = match (run.status, &run.error) {
        (RunStatus::Running, _) => ("running", String::new()),
        (RunStatus::Succeeded, _) => ("succeeded", sync::sentence(&run.summary)),
        (RunStatus::Failed, error) => ("failed", error.as_deref().unwrap_or_default().to_owned()),
    };
    vec![
        minute(run.started_at),
        run.command.clone(),
        status.to_owned(),
        took.map(duration).unwrap_or_default(),
        session.terminal.title(&result),
    ]
}
