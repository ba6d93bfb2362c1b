//! `history`: shows what happened to a file or code entity.

use backstory_engine::{
    code::{Change, DiscussedMergeRequest, History, HistoryRequest},
    error::{Error, ErrorKind},
    model::{id::NodeId, repository::EntityChangeKind},
    repository::ListRepositories,
};

use super::{
    Session,
    place::{self, Place},
};
use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{FAINT, STRONG, day, escape_terminal, pluralize},
};

/// The column of line counts.
const LINES: usize = 3;

/// Show what happened to a file or code entity, under all its names, the newest change first
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory history src/auth.rs
  backstory history src/auth.rs#login --limit 50
  backstory history group/project:src/auth.rs --json")]
pub(super) struct Args {
    /// PATH or PATH#SYMBOL
    #[arg(value_name = "WHAT")]
    what: String,
    /// Project of the path, if it cannot be inferred
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Most changes, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=100))]
    limit: u8,
    /// Changes to skip at the beginning
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "history", || Ok(())).await?;
    let place = place::find(&client, &args.what, args.project.as_deref()).await?;
    let Place::Code(code) = place else {
        return Err(Failure::usage(format!("'{}' is not a file; write PATH or PATH#SYMBOL", args.what)));
    };
    let Some(id) = code.id() else {
        return Err(if client.answer(ListRepositories {}).await?.is_empty() {
            Failure::from(
                Error::new(ErrorKind::NotFound, "no repository is indexed")
                    .with_hint("add one with 'backstory add PATH'"),
            )
        } else {
            Failure::usage("say with --project which repository has the path ('backstory repos' lists them)")
        });
    };
    let (skip, limit) = (args.skip as usize, usize::from(args.limit));
    let history = client.answer(HistoryRequest { id: id.clone(), skip, limit }).await?;
    if args.json {
        return Ok(session.terminal.json(&history)?);
    }
    // Lines are counted in files alone.
    let counts_lines = matches!(id, NodeId::File { .. });
    let row = |change: &Change| {
        let lines = match (change.insertions, change.deletions) {
            (Some(insertions), Some(deletions)) => format!("+{insertions} -{deletions}"),
            _ => String::new(),
        };
        let what = match change.kind {
            EntityChangeKind::Introduced => "added",
            EntityChangeKind::Modified => "changed",
            EntityChangeKind::Removed => "removed",
        };
        let name = if change.name == id { String::new() } else { name_in_project(&change.name) };
        let mut row = vec![
            day(change.commit.date),
            change.commit.sha.short(),
            what.to_owned(),
            lines,
            change.merge_requests.first().map(|id| id.local_reference()).unwrap_or_default(),
            change.commit.author.clone(),
            session.terminal.title(&change.commit.title),
            name,
        ];
        if !counts_lines {
            row.remove(LINES);
        }
        row
    };
    let mut headings = vec!["date", "commit", "what", "lines", "request", "author", "title", "as"];
    if !counts_lines {
        headings.remove(LINES);
    }
    session.terminal.table(&headings, &[], history.changes.iter().map(row).collect())?;
    if let Some(moved) = &history.moved_to {
        let (was, is) = (name_in_project(&id), name_in_project(moved));
        session
            .terminal
            .note(format_args!("{was} was moved to {is}; 'backstory history {is}' shows what happened since"));
    }
    print_discussed(session, &history)?;
    if history.has_more {
        let next = args.skip + u32::from(args.limit);
        let shown = pluralize(history.changes.len() as u64, "change", "changes");
        session.terminal.note(format_args!("{shown} shown; --skip {next} shows those before"));
    }
    Ok(())
}

/// Merge requests in which somebody wrote on the file.
fn print_discussed(session: &Session, history: &History) -> Result<()> {
    let terminal = &session.terminal;
    for DiscussedMergeRequest { merge_request, discussions } in &history.discussed {
        let (id, title) = (merge_request.id.local_reference(), terminal.title(&merge_request.title));
        let state = merge_request.state.as_str();
        terminal.line(format_args!("\n{STRONG}{id}{STRONG:#} {title} {FAINT}{state}{FAINT:#}"))?;
        for discussion in discussions {
            let author = escape_terminal(discussion.author.as_deref().unwrap_or("deleted"));
            let line = discussion.lines.map(|(first, _)| format!(":{first}")).unwrap_or_default();
            let (path, at, text) =
                (escape_terminal(&discussion.path), day(discussion.created_at), escape_terminal(&discussion.text));
            terminal.line(format_args!("  {path}{line} @{author} {at}: \"{text}\""))?;
            terminal.line(format_args!("    {FAINT}{}{FAINT:#}", escape_terminal(&discussion.url)))?;
        }
    }
    Ok(())
}

fn name_in_project(id: &NodeId) -> String {
    let id = id.to_string();
    id.split_once(':').map_or(id.as_str(), |(_, name)| name).to_owned()
}
