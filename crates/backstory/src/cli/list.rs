//! `list`: lists issues or merge requests.

use backstory_engine::{
    model::{entity::State, id::ThreadKind},
    read::MAX_PAGE,
    threads::{ListThreads, ThreadFilter, ThreadSummary},
};

use super::{Session, arguments::parse_user, repos, task};
use crate::{
    client::Client,
    failure::Result,
    output::{escape_terminal, minute},
};

/// List issues or merge requests, most recently changed first
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory list issues --limit 10
  backstory list mrs --state merged --author johndoe
  backstory list issues --project group/project --label bug --json")]
pub(super) struct Args {
    /// What to list
    #[arg(value_enum)]
    what: ThreadKind,
    /// Only of this project
    #[arg(long, value_name = "GROUP/PROJECT")]
    project: Option<String>,
    /// Only those in this state
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Only those that this user opened
    #[arg(long, value_name = "USER", value_parser = parse_user)]
    author: Option<String>,
    /// Only those with this label
    #[arg(long)]
    label: Option<String>,
    /// Most items to list
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "list", || Ok(())).await?;
    repos::require_projects(session, &client, args.project.as_slice()).await?;
    let (threads, warnings) = read_threads(&client, args).await?;
    warnings.iter().for_each(|warning| session.terminal.note(warning));
    task::note_running_sync(&session.terminal, &client).await?;
    if args.json {
        return Ok(session.terminal.json(&threads)?);
    }
    if threads.is_empty() {
        return Ok(session.terminal.line(format_args!("No {}s found.", args.what.name()))?);
    }
    print(session, args.what, &threads)
}

/// What is listed, and what to say of names that nothing has.
async fn read_threads(client: &Client, args: &Args) -> Result<(Vec<ThreadSummary>, Vec<String>)> {
    let filter = ThreadFilter {
        project: args.project.clone(),
        state: args.state,
        author: args.author.clone(),
        label: args.label.clone(),
    };
    let wanted = args.limit as usize;
    let (mut threads, mut warnings) = (Vec::new(), Vec::new());
    let mut after = None;
    loop {
        let limit = (wanted - threads.len()).min(MAX_PAGE);
        let page = client.answer(ListThreads { kind: args.what, filter: filter.clone(), limit, after }).await?;
        threads.extend(page.threads);
        warnings.extend(page.warnings);
        if page.next.is_none() || threads.len() >= wanted {
            return Ok((threads, warnings));
        }
        after = page.next;
    }
}

fn print(session: &Session, kind: ThreadKind, threads: &[ThreadSummary]) -> Result<()> {
    // Numbers alone are clear within one project only.
    let several = session.config()?.settings.projects().count() > 1;
    let mut headings = vec!["iid", "title", "state", "author"];
    headings.extend((kind == ThreadKind::MergeRequest).then_some("branch"));
    headings.push("updated");
    let row = |thread: &ThreadSummary| {
        let mut row = vec![
            if several { thread.id.to_string() } else { thread.id.local_reference() },
            session.terminal.title(&thread.title),
            thread.state.as_str().to_owned(),
            format!("@{}", thread.author.as_deref().unwrap_or("deleted")),
        ];
        row.extend(thread.source_branch.as_deref().map(escape_terminal));
        row.push(minute(thread.updated_at));
        row
    };
    Ok(session.terminal.table(&headings, &[], threads.iter().map(row).collect())?)
}
