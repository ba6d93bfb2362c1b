//! `summarize`: has a language model summarize an issue, merge request, commit or file.

use backstory_engine::summary::SummarizeRequest;

use super::{
    Session,
    arguments::{Reference, parse_reference},
    place,
};
use crate::{
    client::Client,
    failure::Result,
    output::{FAINT, escape_terminal, minute},
};

/// Summarize an issue, merge request, commit or file with the configured language model
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory summarize 'group/project!7'
  backstory summarize issue 12 --json
  backstory summarize 1a2b3c4
  backstory summarize src/auth.rs

The summary is kept, and written again only when what it summarizes has changed.")]
pub(super) struct Args {
    /// group/project#12, #12, !7, issue 12, mr 7, a commit, PATH, or a whole reference like group/project:PATH
    #[arg(required = true, num_args = 1..=2, value_name = "REFERENCE")]
    reference: Vec<String>,
    /// Project of the reference, if it cannot be inferred
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let project = args.project.as_deref();
    let reference = match args.reference.as_slice() {
        [word] if !matches!(word.as_str(), "issue" | "mr") => None,
        words => Some(parse_reference(words, project)?),
    };
    let client = Client::open(session, "summarize", || session.config()?.require_llm_key()).await?;
    let id = match reference {
        None => place::find_node(session, &client, &args.reference.concat(), project).await?.id,
        Some(Reference::Whole(id)) => id,
        Some(Reference::Number(number)) => {
            place::qualify_thread_with_default_project(&client, &number, session.config()?).await?
        }
    };
    let summary = client.answer(SummarizeRequest { id }).await?;
    if args.json {
        return Ok(session.terminal.json(&summary)?);
    }
    session.terminal.line(escape_terminal(&summary.text))?;
    let (name, when) = (escape_terminal(&summary.model.name), minute(summary.written_at));
    Ok(session.terminal.line(format_args!("    {FAINT}written by {name}, {when}{FAINT:#}"))?)
}
