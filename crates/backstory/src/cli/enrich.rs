//! `enrich`: has a language model classify commits and write design notes.

use backstory_engine::{enrich::EnrichRequest, model::generated::GeneratedKind, task::TaskKind};
use clap::ValueEnum;

use super::{Session, task};
use crate::{
    client::Client,
    failure::Result,
    output::{escape_terminal, pluralize},
};

/// What the language model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// The type of the change that each commit is.
    Classification,
    /// What was decided in each issue and merge request, why, and what was rejected.
    DesignNotes,
}

impl From<What> for GeneratedKind {
    fn from(what: What) -> Self {
        match what {
            What::Classification => Self::Classification,
            What::DesignNotes => Self::DesignNotes,
        }
    }
}

/// Have the configured language model classify commits and write design notes
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory enrich --limit 100
  backstory enrich group/project --what design-notes

The newest come first. What was written is kept, and written again only when what it is about has changed; a run that
stops, or has used up llm.daily_tokens, is continued by the next.")]
pub(super) struct Args {
    /// Projects; all if none is given
    #[arg(value_name = "PROJECT")]
    projects: Vec<String>,
    /// What to ask for [default: everything]
    #[arg(long, value_enum)]
    what: Option<What>,
    /// Most commits, issues and merge requests that it is asked about
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open_for_work(session, "enrich", || session.config()?.require_llm_key()).await?;
    let request = EnrichRequest {
        projects: args.projects.clone(),
        what: args.what.map(GeneratedKind::from),
        limit: args.limit.map(|limit| limit as usize),
    };
    let summary = task::follow(&client, TaskKind::Enrich, Box::pin(client.answer(request))).await?;
    if args.json {
        return Ok(session.terminal.json(&summary)?);
    }
    let count = |key: &str| summary[key].as_u64().unwrap_or(0);
    session.terminal.line(format_args!(
        "{} classified; {} from {}",
        pluralize(count("commits"), "commit", "commits"),
        pluralize(count("notes"), "note", "notes"),
        pluralize(count("threads"), "issue or merge request", "issues and merge requests"),
    ))?;
    if count("failed") > 0 {
        session.terminal.note(format_args!(
            "the model wrote nothing usable about {}; it is asked again when they change",
            pluralize(count("failed"), "item", "items")
        ));
    }
    if let Some(why) = summary["stopped"].as_str() {
        session.terminal.warning(escape_terminal(why));
    }
    if count("left") > 0 {
        session.terminal.note(format_args!("{} left", pluralize(count("left"), "item is", "items are")));
    }
    Ok(())
}
