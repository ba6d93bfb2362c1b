//! `count`: counts issues, merge requests, discussions or notes.

use backstory_engine::stats::StatsRequest;
use clap::ValueEnum;
use serde_json::Map;

use super::{Session, task};
use crate::{client::Client, failure::Result, output::thousands};

/// Count issues, merge requests, discussions or notes
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n  backstory count\n  backstory count issues")]
pub(super) struct Args {
    /// What to count; all if not given
    #[arg(value_enum)]
    what: Option<What>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    Issues,
    /// Merge requests.
    #[value(alias = "merge-requests", alias = "merge_requests")]
    Mrs,
    /// Threads of notes that people wrote.
    Discussions,
    /// Single comments of people.
    Notes,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "count", || Ok(())).await?;
    let stats = client.answer(StatsRequest {}).await?;
    task::note_running_sync(&session.terminal, &client).await?;
    let all = [
        (What::Issues, "issues", "Issues", stats.issues),
        (What::Mrs, "merge_requests", "Merge Requests", stats.merge_requests),
        (What::Discussions, "discussions", "Discussions", stats.discussions),
        (What::Notes, "notes", "Notes", stats.notes),
    ];
    let wanted = all.into_iter().filter(|(what, ..)| args.what.is_none_or(|wanted| wanted == *what));
    if args.json {
        let counts: Map<_, _> = wanted.map(|(_, key, _, count)| (key.to_owned(), count.into())).collect();
        return Ok(session.terminal.json(&counts)?);
    }
    for (_, _, name, count) in wanted {
        session.terminal.line(format_args!("{name}: {}", thousands(count)))?;
    }
    Ok(())
}
