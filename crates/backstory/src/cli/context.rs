//! `context`: prints a context pack.

use backstory_engine::{
    context::{About, ContextRequest},
    locate::is_location,
    model::{
        filter::{DocumentKind, Filter},
        pack::{DEFAULT_TOKENS, Format, MAX_TOKENS, MIN_TOKENS, Mode},
    },
};
use jiff::Timestamp;

use super::{
    Session,
    arguments::{Weights, parse_time, parse_user},
    checkout, place, repos, task,
};
use crate::{
    client::Client,
    failure::Result,
    output::{Terminal, escape_terminal},
};

/// Gather what an agent must know about a question or a piece of code, within a budget of tokens
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory context \"why do tokens expire late\" --tokens 8000
  backstory context src/auth.rs:42-60 --format markdown
  backstory context src/auth.rs#login --no-tests
  backstory context 'group/project!7'
  backstory context \"how must errors be reported\" --mode governing-docs-only
  backstory context \"session expiry\" --path src/auth --after 2024

Words are a question. A path with a line or a symbol, the path of a file, a commit and a reference like
group/project!7 are what they name. A question is asked of all projects, even from within a clone, unless there is
--project. The printed pack never has more tokens than asked for, as o200k_base counts them.")]
pub(super) struct Args {
    /// A question, PATH, PATH:LINE, PATH:LINE-LINE, PATH#SYMBOL, a commit, or a reference like group/project!7
    #[arg(value_name = "WHAT")]
    what: String,
    /// Most tokens of what is printed, 200 to 100,000
    #[arg(long, value_name = "N", default_value_t = DEFAULT_TOKENS as u32,
        value_parser = clap::value_parser!(u32).range(MIN_TOKENS as i64..=MAX_TOKENS as i64))]
    tokens: u32,
    /// How it is printed
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
    /// What it may contain
    #[arg(long, value_enum, default_value_t = Mode::All)]
    mode: Mode,
    /// Only of this project
    #[arg(long, value_name = "GROUP/PROJECT")]
    project: Option<String>,
    /// Branch, tag or commit at which a path is [default: the indexed head]
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// Only this kind of document (repeatable)
    #[arg(long = "kind", value_enum, value_name = "KIND")]
    kinds: Vec<DocumentKind>,
    /// Only code and documents whose path starts with this, and commits that change them
    #[arg(long, value_name = "PREFIX")]
    path: Option<String>,
    /// Only what is at most two links from this: PATH, a commit, group/project!7, a person (repeatable)
    #[arg(long, value_name = "REF")]
    near: Vec<String>,
    #[command(flatten)]
    weights: Weights,
    /// Only what this user opened, started or wrote
    #[arg(long, value_name = "USER", value_parser = parse_user)]
    author: Option<String>,
    /// Only what was opened, started or committed then or later, like 2024-03-15 or 2024-03
    #[arg(long, value_name = "DATE", value_parser = parse_time)]
    after: Option<Timestamp>,
    /// Only what was opened, started or committed before that
    #[arg(long, value_name = "DATE", value_parser = parse_time)]
    before: Option<Timestamp>,
    /// Leave changes out
    #[arg(long)]
    no_diffs: bool,
    /// Leave tests out
    #[arg(long)]
    no_tests: bool,
    /// Make it from what the index held in this state, as 'backstory snapshots list' shows it
    #[arg(long, value_name = "ID")]
    snapshot: Option<String>,
    /// Make it from the files and commits of this branch, tag or commit, which must be indexed, see 'backstory add --ref'
    #[arg(long = "ref", value_name = "REF", conflicts_with = "snapshot")]
    revision: Option<String>,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "context", || Ok(())).await?;
    repos::require_projects(session, &client, args.project.as_slice()).await?;
    let (about, project) = about(&session.terminal, &client, args).await?;
    let mut request = request(args, about, project)?;
    for text in &args.near {
        request.near.push(place::find_near(session, &client, text, args.project.as_deref()).await?);
    }
    let pack = client.answer(request).await?;
    if pack.finds_nothing() {
        task::note_running_sync(&session.terminal, &client).await?;
    }
    Ok(session.terminal.line(escape_terminal(&pack.text))?)
}

/// What is asked about, and the project of a path.
async fn about(terminal: &Terminal, client: &Client, args: &Args) -> Result<(About, Option<String>)> {
    let what = args.what.trim();
    if !is_file_or_location(what) {
        return Ok((About::Query(what.to_owned()), args.project.clone()));
    }
    let place = place::find(client, what, args.project.as_deref()).await?;
    let is_elsewhere = args.rev.is_some() || args.revision.is_some();
    let mapped = if !is_elsewhere { checkout::map_place(client, &place).await? } else { None };
    if let Some(mapped) = &mapped {
        checkout::note(terminal, mapped);
    }
    let (place, rev) = checkout::at_index(place, mapped.as_ref());
    let (project, target) = place.to_target();
    let project = project.or_else(|| args.project.clone());
    let asked = place::resolve_head(client, args.rev.as_deref(), project.as_deref()).await?;
    Ok((About::Target { target, rev: asked.or(rev) }, project))
}

/// Whether a text names code or an item, and is no question.
fn is_file_or_location(text: &str) -> bool {
    std::path::Path::new(text).is_file() || is_location(text)
}

fn request(args: &Args, about: About, project: Option<String>) -> Result<ContextRequest> {
    Ok(ContextRequest {
        about,
        filter: Filter {
            kinds: args.kinds.clone(),
            authors: args.author.iter().cloned().collect(),
            after: args.after,
            before: args.before,
            project,
            revision: args.revision.clone(),
            ..Filter::default()
        },
        path: args.path.clone(),
        near: Vec::new(),
        ranking: args.weights.ranking()?,
        mode: args.mode,
        format: args.format,
        tokens: args.tokens as usize,
        diffs: !args.no_diffs,
        tests: !args.no_tests,
        snapshot: args.snapshot.clone(),
    })
}
