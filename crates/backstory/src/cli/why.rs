//! `why`: prints the trace of a line, symbol, commit or reference.

use backstory_engine::{
    model::{
        edge::Edge,
        id::{NodeId, ThreadKind},
        lineage::SeenThrough,
        place::{format_lines, format_place},
    },
    releases::Release,
    trace::{DEFAULT_EARLIER, MAX_EARLIER, Step, Trace, TraceRequest},
};

use super::{
    Session, checkout, model_notes,
    place::{self, Place},
};
use crate::{
    client::Client,
    failure::Result,
    output::{FAINT, STRONG, day, escape_terminal, indented, minute},
};

/// Origins that are listed before the rest is counted.
const LISTED: usize = 8;

/// Explain why code is as it is: the commit, merge request, discussion and issue behind it
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory why src/auth.rs:42
  backstory why src/auth.rs:42-60 --earlier 20
  backstory why src/auth.rs#login
  backstory why login
  backstory why 1a2b3c4
  backstory why 'group/project!7' --json

A path is relative to the current directory, in a clone of the repository, or to the root of the repository.")]
pub(super) struct Args {
    /// PATH, PATH:LINE, PATH:LINE-LINE, PATH#SYMBOL, a symbol, a commit, or a reference like group/project!7
    #[arg(value_name = "WHAT")]
    what: String,
    /// Project of the path, if it cannot be inferred
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Branch, tag or commit at which the path is [default: the indexed head]
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// Most earlier versions of the line
    #[arg(long, value_name = "N", default_value_t = DEFAULT_EARLIER as u32,
        value_parser = clap::value_parser!(u32).range(0..=MAX_EARLIER as i64))]
    earlier: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "why", || Ok(())).await?;
    let place = place::find(&client, &args.what, args.project.as_deref()).await?;
    let mapped = if args.rev.is_none() { checkout::map_place(&client, &place).await? } else { None };
    let new = mapped.as_ref().filter(|mapped| mapped.lines.is_none());
    if let (Some(mapped), true) = (new, args.json) {
        return Ok(session.terminal.json(&checkout::trace_of_new(&place, mapped))?);
    }
    if let Some(mapped) = &mapped {
        checkout::note(&session.terminal, mapped);
    }
    if new.is_some() {
        return Ok(session.terminal.line(format_args!("{} is new; nothing is known about why it is so", args.what))?);
    }
    let (place, rev) = checkout::at_index(place, mapped.as_ref());
    let request = request(&client, args, &place, rev).await?;
    let trace = client.answer(request).await?;
    if args.json {
        return Ok(session.terminal.json(&trace)?);
    }
    print(session, &trace)
}

async fn request(client: &Client, args: &Args, place: &Place, rev: Option<String>) -> Result<TraceRequest> {
    let (project, target) = place.to_target();
    let asked = place::resolve_head(client, args.rev.as_deref(), project.as_deref()).await?;
    Ok(TraceRequest { project, target, rev: asked.or(rev), earlier: args.earlier as usize })
}

fn print(session: &Session, trace: &Trace) -> Result<()> {
    let terminal = &session.terminal;
    terminal.line(heading(trace))?;
    if let Some(text) = &trace.text {
        terminal.line(format_args!("{FAINT}{}{FAINT:#}", indented(&plain_lines(text), 4)))?;
    }
    let several = trace.origins.len() > 1;
    for step in &trace.chain {
        terminal.line("")?;
        print_step(session, trace, step)?;
    }
    if let Some(release) = &trace.first_release {
        terminal.line(first_shipped(trace, release))?;
    }
    if several {
        terminal.line(format_args!("\n{STRONG}Where the lines come from{STRONG:#}"))?;
        for origin in trace.origins.iter().take(LISTED) {
            let lines = format_lines((origin.start, origin.start + origin.lines.saturating_sub(1)));
            terminal.line(format_args!(
                "  {lines}: {} {} {FAINT}{} · {}{}{FAINT:#}",
                origin.commit.short(),
                escape_terminal(&origin.title),
                escape_terminal(&origin.author),
                day(origin.date),
                through(&origin.seen_through),
            ))?;
        }
        if trace.origins.len() > LISTED {
            terminal.line(format_args!("  and {} more spans (--json lists all)", trace.origins.len() - LISTED))?;
        }
    }
    if !trace.earlier.is_empty() {
        terminal.line(format_args!("\n{STRONG}Earlier versions{STRONG:#}"))?;
        for version in &trace.earlier {
            let carried = version.merge_requests.first().map(|id| format!(" · {id}")).unwrap_or_default();
            terminal.line(format_args!(
                "  {} {} {FAINT}{} · {}{carried}{FAINT:#}\n{}",
                version.commit.short(),
                escape_terminal(&version.title),
                escape_terminal(&version.author),
                day(version.date),
                indented(&plain_lines(&version.text), 6),
            ))?;
        }
    }
    for notes in &trace.model_notes {
        model_notes::print(terminal, notes)?;
    }
    for missing in &trace.missing {
        terminal.note(missing);
    }
    Ok(())
}

fn first_shipped(trace: &Trace, release: &Release) -> String {
    let is_one_commit = trace.origins.windows(2).all(|pair| pair[0].commit == pair[1].commit);
    let how = if is_one_commit { "First" } else { "The last of these lines" };
    let name = release.name.as_ref().filter(|name| **name != release.tag);
    let name = name.map(|name| format!(" {}", escape_terminal(name))).unwrap_or_default();
    let at = release.at.map(|at| format!(" {FAINT}{}{FAINT:#}", day(at))).unwrap_or_default();
    format!("\n{how} shipped in {STRONG}{}{STRONG:#}{name}{at}", escape_terminal(&release.tag))
}

fn heading(trace: &Trace) -> String {
    let place = match (&trace.path, &trace.symbol, trace.line, trace.end_line) {
        (Some(path), Some(symbol), ..) => format!("{path}#{symbol}"),
        (Some(path), None, Some(first), last) => format_place(path, Some((first, last.unwrap_or(first)))),
        (Some(path), ..) => path.clone(),
        (None, ..) => trace.chain.first().map_or_else(|| trace.project.clone(), |step| step.node.id.to_string()),
    };
    let at = trace.rev.map(|rev| format!(" at {}", rev.short())).unwrap_or_default();
    let fresh = trace.indexed.synced_at.map(|at| format!(", synced {}", minute(at))).unwrap_or_default();
    format!(
        "{STRONG}{}{STRONG:#} {FAINT}({}{at}{fresh}){FAINT:#}",
        escape_terminal(&place),
        escape_terminal(&trace.project)
    )
}

fn print_step(session: &Session, trace: &Trace, step: &Step) -> Result<()> {
    let terminal = &session.terminal;
    let node = &step.node;
    let title = escape_terminal(&node.title);
    let name = match &node.id {
        NodeId::Commit { sha, .. } => {
            let origin = trace.origins.iter().find(|origin| origin.commit.to_string() == *sha);
            let who = origin.map(|origin| {
                format!(
                    " {FAINT}{} · {}{}{FAINT:#}",
                    escape_terminal(&origin.author),
                    day(origin.date),
                    through(&origin.seen_through)
                )
            });
            let label = if step.edge == Edge::MergedBy { "Merged by" } else { "Commit" };
            format!("{label} {STRONG}{}{STRONG:#} {title}{}", sha.get(..8).unwrap_or(sha), who.unwrap_or_default())
        }
        NodeId::Thread(thread) if thread.kind == ThreadKind::MergeRequest => {
            format!("Merge request {STRONG}{thread}{STRONG:#} {title}")
        }
        NodeId::Thread(issue) if step.confidence.is_some() => format!("Issue {STRONG}{issue}{STRONG:#} {title}"),
        NodeId::Thread(issue) => {
            let how = if matches!(step.edge, Edge::Closes | Edge::Fixes) { " (closed by it)" } else { "" };
            format!("Issue {STRONG}{issue}{STRONG:#} {title}{FAINT}{how}{FAINT:#}")
        }
        NodeId::Discussion { .. } if step.edge == Edge::CommentsOn => {
            format!("Discussion on these lines {STRONG}{title}{STRONG:#}")
        }
        NodeId::Discussion { .. } => format!("Discussion {STRONG}{title}{STRONG:#}"),
        other => format!("{} {STRONG}{other}{STRONG:#} {title}", node.kind.as_str()),
    };
    match step.confidence {
        Some(confidence) => {
            let because: Vec<String> = step.evidence.reasons.iter().map(|reason| escape_terminal(reason)).collect();
            terminal.line(format_args!("{name} {FAINT}(inferred, {confidence:.2}){FAINT:#}"))?;
            terminal.line(format_args!("    {FAINT}{}{FAINT:#}", because.join("; ")))?;
        }
        None => terminal.line(name)?,
    }
    if let Some(text) = step.evidence.text.as_deref().filter(|text| !text.is_empty()) {
        terminal.quote(text, 4)?;
    }
    if let Some(url) = step.evidence.url.as_ref().or(node.url.as_ref()) {
        terminal.line(format_args!("    {FAINT}{}{FAINT:#}", escape_terminal(url)))?;
    }
    Ok(())
}

fn through(seen: &[SeenThrough]) -> String {
    let names: Vec<&str> = seen.iter().map(|seen| seen.as_str()).collect();
    if names.is_empty() { String::new() } else { format!(" · {}", names.join(", ")) }
}

/// Lines without control characters.
fn plain_lines(text: &str) -> String {
    text.lines().map(|line| escape_terminal(&line.replace('\t', "    "))).collect::<Vec<_>>().join("\n")
}
