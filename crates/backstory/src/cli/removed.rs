//! `removed`: prints the commit by which a text, symbol or file disappeared, and what is behind it.

use backstory_engine::{
    model::id::{NodeId, ThreadKind},
    removed::{DEFAULT_REMOVALS, MAX_REMOVALS, Move, Occurrence, Removal, Removals, RemovedRequest},
    trace::Step,
};

use super::{
    Session,
    place::{self, Place},
};
use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{FAINT, STRONG, day, escape_terminal, indented, minute, pluralize},
};

/// Find the commit, merge request and discussion by which a line, symbol or file disappeared
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory removed 'retries = 3'
  backstory removed 'retries = 3' src/client.rs
  backstory removed src/legacy/session.rs
  backstory removed Session.refresh --limit 3 --json

What only moved is followed to where it went. Without PATH, the whole history is searched, the newest commit first.")]
pub(super) struct Args {
    /// A piece of the text, the name of a symbol, or the path of a file
    #[arg(value_name = "TEXT")]
    text: String,
    /// File or directory it was in, also by an earlier name
    #[arg(value_name = "PATH")]
    path: Option<String>,
    /// Project to search, if it cannot be inferred
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Most removals
    #[arg(long, value_name = "N", default_value_t = DEFAULT_REMOVALS as u32,
        value_parser = clap::value_parser!(u32).range(1..=MAX_REMOVALS as i64))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "removed", || Ok(())).await?;
    let (project, path) = match &args.path {
        Some(path) => match place::find(&client, path, args.project.as_deref()).await? {
            Place::Code(code) => (code.project, Some(code.path)),
            Place::Reference(_) => {
                return Err(Failure::usage(format!("'{path}' is not the path of a file or directory")));
            }
        },
        // The project is that of the directory the user stands in.
        None => match place::find(&client, ".", args.project.as_deref()).await? {
            Place::Code(code) => (code.project, None),
            Place::Reference(_) => (args.project.clone(), None),
        },
    };
    let limit = args.limit as usize;
    let found = client.answer(RemovedRequest { text: args.text.clone(), project, path, limit }).await?;
    if args.json {
        return Ok(session.terminal.json(&found)?);
    }
    print(session, &found)
}

fn print(session: &Session, found: &Removals) -> Result<()> {
    let terminal = &session.terminal;
    let at = found.indexed.commit.map(|commit| format!(" at {}", commit.short())).unwrap_or_default();
    let fresh = found.indexed.synced_at.map(|at| format!(", synced {}", minute(at))).unwrap_or_default();
    let place = found.path.as_ref().map(|path| format!(" in {}", escape_terminal(path))).unwrap_or_default();
    terminal.line(format_args!(
        "{STRONG}{}{STRONG:#}{place} {FAINT}({}{at}{fresh}){FAINT:#}",
        escape_terminal(&found.text),
        escape_terminal(&found.project)
    ))?;
    for removal in &found.removals {
        terminal.line("")?;
        print_removal(session, removal)?;
    }
    for Move { commit, from, to } in &found.moves {
        let (sha, title) = (commit.sha.short(), escape_terminal(&commit.title));
        terminal.line(format_args!(
            "\nMoved by {STRONG}{sha}{STRONG:#} {title} {FAINT}{} · {}{FAINT:#}\n    {} -> {}",
            escape_terminal(&commit.author),
            day(commit.date),
            escape_terminal(from),
            escape_terminal(to)
        ))?;
    }
    if found.removals.is_empty() && found.moves.is_empty() && found.missing.is_empty() {
        terminal.line("\nNo commit that was read removed it.")?;
    }
    if !found.present.is_empty() {
        let place = |at: &Occurrence| match at.line {
            Some(line) => format!("{}:{line}", escape_terminal(&at.path)),
            None => escape_terminal(&at.path),
        };
        let places: Vec<String> = found.present.iter().map(place).collect();
        terminal.line(format_args!("\nThe indexed head has it at {}", places.join(", ")))?;
    }
    for missing in &found.missing {
        terminal.note(missing);
    }
    Ok(())
}

fn print_removal(session: &Session, removal: &Removal) -> Result<()> {
    let terminal = &session.terminal;
    let commit = &removal.commit;
    let more = match removal.other_files {
        0 => String::new(),
        files => format!(", and from {}", pluralize(files as u64, "other file", "other files")),
    };
    let what = match (&removal.node, removal.line) {
        (Some(NodeId::Entity { name, .. }), _) => {
            format!("{}#{}", escape_terminal(&removal.path), escape_terminal(name))
        }
        (_, Some(line)) => format!("{}:{line}", escape_terminal(&removal.path)),
        _ => escape_terminal(&removal.path),
    };
    terminal.line(format_args!(
        "Removed from {what}{more} by {STRONG}{}{STRONG:#} {} {FAINT}{} · {}{FAINT:#}",
        commit.sha.short(),
        escape_terminal(&commit.title),
        escape_terminal(&commit.author),
        day(commit.date)
    ))?;
    for (sign, text) in [('-', &removal.removed), ('+', &removal.replacement)] {
        for line in text.iter().flat_map(|text| text.lines()) {
            terminal
                .line(format_args!("{FAINT}{}{FAINT:#}", indented(&format!("{sign} {}", escape_terminal(line)), 4)))?;
        }
    }
    for step in &removal.chain {
        print_step(session, step)?;
    }
    if let Some(parent) = removal.parent {
        let part = match (&removal.node, removal.line) {
            (Some(NodeId::Entity { name, .. }), _) => format!("#{}", escape_terminal(name)),
            (_, Some(line)) => format!(":{line}"),
            _ => String::new(),
        };
        let (path, rev) = (escape_terminal(&removal.path), parent.short());
        terminal.line(format_args!(
            "    {FAINT}backstory why {path}{part} --rev {rev} explains why it was there{FAINT:#}"
        ))?;
    }
    Ok(())
}

fn print_step(session: &Session, step: &Step) -> Result<()> {
    let node = &step.node;
    let name = match &node.id {
        NodeId::Thread(id) if id.kind == ThreadKind::MergeRequest => format!("Merge request {id}"),
        NodeId::Thread(id) => format!("Issue {id}"),
        NodeId::Discussion { .. } => "Discussion".to_owned(),
        NodeId::Commit { sha, .. } => format!("Commit {}", sha.get(..8).unwrap_or(sha)),
        other => other.to_string(),
    };
    session.terminal.line(format_args!("  {STRONG}{name}{STRONG:#} {}", escape_terminal(&node.title)))?;
    if let Some(text) = step.evidence.text.as_deref().filter(|text| !text.is_empty()) {
        session.terminal.quote(text, 4)?;
    }
    if let Some(url) = step.evidence.url.as_ref().or(node.url.as_ref()) {
        session.terminal.line(format_args!("    {FAINT}{}{FAINT:#}", escape_terminal(url)))?;
    }
    Ok(())
}
