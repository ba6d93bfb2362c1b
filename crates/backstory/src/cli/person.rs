//! `person`: prints what waits for a person, and what they did.

use backstory_engine::{
    person::{
        DEFAULT_LISTED, DEFAULT_STALE_DAYS, MAX_LISTED, MAX_STALE_DAYS, PersonDetails, PersonRequest, WaitingNote,
        WorkCounts,
    },
    threads::ThreadSummary,
};
use jiff::Timestamp;

use super::{
    Session,
    arguments::{parse_time, parse_user},
};
use crate::{
    client::Client,
    failure::Result,
    output::{FAINT, STRONG, Terminal, day, escape_terminal, pluralize, thousands},
};

/// Show a person: what they did over time, where, and what is waiting for them
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory person @johndoe
  backstory person johndoe --project group/project --after 2026-01-01
  backstory person 'John Doe'
  backstory person john@example.com --json

'tracking = false' under [people] switches this off.")]
pub(super) struct Args {
    /// User name, address of commits, or a name or part of one that nobody else has
    #[arg(value_name = "NAME", value_parser = parse_user)]
    name: String,
    #[command(flatten)]
    shown: PersonOptions,
}

/// What is shown of a person.
#[derive(clap::Args)]
pub(super) struct PersonOptions {
    /// Only of this project (repeatable)
    #[arg(long = "project", value_name = "GROUP/PROJECT")]
    projects: Vec<String>,
    /// Count work from this time on [default: a year before its end]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    after: Option<Timestamp>,
    /// Count work until this time [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    before: Option<Timestamp>,
    /// Days without a change after which something is stale
    #[arg(long, value_name = "DAYS", default_value_t = DEFAULT_STALE_DAYS,
        value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_STALE_DAYS)))]
    stale_days: u32,
    /// Most entries of each list
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LISTED as u32,
        value_parser = clap::value_parser!(u32).range(0..=MAX_LISTED as i64))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl PersonOptions {
    pub(super) fn about(&self, name: String) -> Question {
        Question {
            name,
            projects: self.projects.clone(),
            after: self.after,
            before: self.before,
            stale_days: self.stale_days,
            limit: self.limit as usize,
            json: self.json,
        }
    }
}

/// What is asked of a person.
pub(super) struct Question {
    pub(super) name: String,
    pub(super) projects: Vec<String>,
    pub(super) after: Option<Timestamp>,
    pub(super) before: Option<Timestamp>,
    pub(super) stale_days: u32,
    pub(super) limit: usize,
    pub(super) json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    show(session, "person", args.shown.about(args.name.clone())).await
}

/// Prints a person.
///
/// # Errors
/// Nobody has that name, it is switched off, or the stores cannot be read.
pub(super) async fn show(session: &Session, command: &'static str, question: Question) -> Result<()> {
    let client = Client::open(session, command, || Ok(())).await?;
    let Question { name, projects, after, before, stale_days, limit, json } = question;
    let request = PersonRequest { name, projects, after, before, stale_days, limit };
    let person = client.answer(request.clone()).await?;
    if json {
        return Ok(session.terminal.json(&person)?);
    }
    print(&session.terminal, &person)?;
    if person.work.months.is_empty() && before.is_none() {
        note_last_work(session, &client, request).await?;
    }
    Ok(())
}

/// Says when somebody did something last who did nothing in the time that is shown.
async fn note_last_work(session: &Session, client: &Client, request: PersonRequest) -> Result<()> {
    let all = PersonRequest { after: Some(Timestamp::UNIX_EPOCH), limit: 1, ..request };
    let work = client.answer(all).await?.work;
    let Some(month) = work.months.first().map(|month| month.start) else { return Ok(()) };
    // Of what is listed the newest commit alone has the day on which it was done.
    let commit = work.commits.first().map(|commit| day(commit.date));
    let date = commit.filter(|date| date.starts_with(&month.strftime("%Y-%m").to_string()));
    let date = date.unwrap_or_else(|| month.strftime("%Y-%m").to_string());
    session.terminal.note(format_args!("no work since {date}; --after {} shows more", month.year()));
    Ok(())
}

fn print(terminal: &Terminal, person: &PersonDetails) -> Result<()> {
    let names: Vec<String> = person.names.iter().map(|name| escape_terminal(name)).collect();
    let sigil = if person.person.contains('@') { "" } else { "@" };
    let (name, names) = (escape_terminal(&person.person), names.join(", "));
    terminal
        .line(format_args!("{STRONG}{sigil}{name}{STRONG:#} {names} {FAINT}{}{FAINT:#}", sentence(person.totals)))?;
    let waiting = &person.waiting;
    threads(terminal, "Assigned", &waiting.assigned)?;
    threads(terminal, "Waiting for a review", &waiting.to_review)?;
    notes(terminal, "Mentioned, not answered", &waiting.mentioned)?;
    notes(terminal, "Replies", &waiting.replies)?;
    threads(terminal, "Stale", &waiting.stale)?;
    let work = &person.work;
    if !work.months.is_empty() {
        terminal.line(format_args!("\n{STRONG}Work by month{STRONG:#}"))?;
        let headings = ["month", "issues", "requests", "reviews", "discussions", "commits"];
        let rows = work.months.iter().map(|month| {
            let of = month.counts;
            let counts = [of.issues, of.merge_requests, of.reviews, of.discussions, of.commits];
            std::iter::once(month.start.strftime("%Y-%m").to_string()).chain(counts.map(thousands)).collect()
        });
        terminal.table(&headings, &headings[1..], rows.collect())?;
    }
    if !work.areas.is_empty() {
        terminal.line(format_args!("\n{STRONG}Where{STRONG:#}"))?;
        for area in &work.areas {
            let path = if area.path.is_empty() { "(root)".to_owned() } else { escape_terminal(&area.path) };
            terminal.line(format_args!(
                "  {:>5}  {path} {FAINT}{}{FAINT:#}",
                area.commits,
                escape_terminal(&area.project)
            ))?;
        }
    }
    threads(terminal, "Opened", &work.opened)?;
    threads(terminal, "Reviewed", &work.reviewed)?;
    if !work.commits.is_empty() {
        terminal.line(format_args!("\n{STRONG}Commits{STRONG:#}"))?;
    }
    for commit in &work.commits {
        let (sha, title) = (commit.sha.short(), terminal.title(&commit.title));
        terminal.line(format_args!("  {} {sha} {title}", day(commit.date)))?;
    }
    if !work.is_complete {
        terminal.note("there is more work than is counted; narrow it down with --after or --project");
    }
    Ok(())
}

fn sentence(of: WorkCounts) -> String {
    let counts = [
        ("issue", "issues", of.issues),
        ("merge request", "merge requests", of.merge_requests),
        ("review", "reviews", of.reviews),
        ("discussion", "discussions", of.discussions),
        ("commit", "commits", of.commits),
    ];
    let said = counts.iter().filter(|(.., count)| *count > 0);
    said.map(|(one, many, count)| pluralize(*count, one, many)).collect::<Vec<_>>().join(", ")
}

fn threads(terminal: &Terminal, heading: &str, threads: &[ThreadSummary]) -> Result<()> {
    if threads.is_empty() {
        return Ok(());
    }
    terminal.line(format_args!("\n{STRONG}{heading}{STRONG:#}"))?;
    for thread in threads {
        let (id, title, state) = (&thread.id, terminal.title(&thread.title), thread.state.as_str());
        terminal.line(format_args!("  {id} {title} {FAINT}{state} · {}{FAINT:#}", day(thread.updated_at)))?;
    }
    Ok(())
}

fn notes(terminal: &Terminal, heading: &str, notes: &[WaitingNote]) -> Result<()> {
    if notes.is_empty() {
        return Ok(());
    }
    terminal.line(format_args!("\n{STRONG}{heading}{STRONG:#}"))?;
    for note in notes {
        let author = escape_terminal(note.author.as_deref().unwrap_or("deleted"));
        terminal.line(format_args!("  {} {}", note.thread, terminal.title(&note.title)))?;
        let (text, at, url) = (escape_terminal(&note.text), day(note.at), escape_terminal(&note.url));
        terminal.line(format_args!("    @{author} {at}: \"{text}\"\n    {FAINT}{url}{FAINT:#}"))?;
    }
    Ok(())
}
