//! `export`: writes issues, merge requests, discussions, commits, files or edges as a table.

use std::{
    fs,
    io::{self, IsTerminal as _, Write},
    path::PathBuf,
};

use backstory_engine::{
    error::ErrorKind,
    export::{ExportFilter, ExportKind, ExportRequest, MAX_BATCH, TableEncoder, TableFormat},
    model::{edge::Edge, entity::State},
};
use clap::ValueEnum;
use jiff::Timestamp;

use super::{
    Session,
    arguments::{parse_edge, parse_time, parse_user},
    repos, task,
};
use crate::{
    client::Client,
    failure::{Failure, Result, reason},
    output::pluralize,
};

/// Write a table for other programs: NDJSON, CSV, Arrow or Parquet
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory export issues --format csv > issues.csv
  backstory export merge_requests --format parquet -o merge_requests.parquet
  backstory export commits --project group/project --after 2024-01-01
  backstory export edges --edge closes --edge merged_as --format arrow -o edges.arrow")]
pub(super) struct Args {
    /// What to export
    #[arg(value_enum)]
    what: What,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Ndjson)]
    format: Format,
    /// Write to this file, which must not exist [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only of this project (repeatable)
    #[arg(long = "project", value_name = "GROUP/PROJECT")]
    projects: Vec<String>,
    /// Only issues and merge requests in this state (repeatable)
    #[arg(long = "state", value_enum)]
    states: Vec<State>,
    /// Only what this user opened, started or wrote (repeatable)
    #[arg(long = "author", value_name = "USER", value_parser = parse_user)]
    authors: Vec<String>,
    /// Only issues and merge requests with this label (repeatable: with all of them)
    #[arg(long = "label")]
    labels: Vec<String>,
    /// Only of this file or directory (repeatable)
    #[arg(long = "path")]
    paths: Vec<String>,
    /// Only edges of this name (repeatable)
    #[arg(long = "edge", value_name = "NAME", value_parser = parse_edge)]
    edges: Vec<Edge>,
    /// Only what was opened, started or committed then or later, like 2024-03-15 or 2024-03
    #[arg(long, value_name = "DATE", value_parser = parse_time)]
    after: Option<Timestamp>,
    /// Only what was opened, started or committed before that
    #[arg(long, value_name = "DATE", value_parser = parse_time)]
    before: Option<Timestamp>,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    Issues,
    #[value(name = "merge_requests", alias = "mrs", alias = "merge-requests")]
    MergeRequests,
    Discussions,
    Commits,
    Files,
    Edges,
}

impl From<What> for ExportKind {
    fn from(what: What) -> Self {
        match what {
            What::Issues => Self::Issues,
            What::MergeRequests => Self::MergeRequests,
            What::Discussions => Self::Discussions,
            What::Commits => Self::Commits,
            What::Files => Self::Files,
            What::Edges => Self::Edges,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Ndjson,
    Csv,
    Arrow,
    Parquet,
}

impl From<Format> for TableFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Ndjson => Self::Ndjson,
            Format::Csv => Self::Csv,
            Format::Arrow => Self::Arrow,
            Format::Parquet => Self::Parquet,
        }
    }
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let (what, format) = (ExportKind::from(args.what), TableFormat::from(args.format));
    if args.output.is_none() && !format.is_text() && io::stdout().is_terminal() {
        let message = format!("{} is not for a terminal; name a file with --output", format.as_str());
        return Err(Failure::new(ErrorKind::Invalid, message));
    }
    let client = Client::open(session, "export", || Ok(())).await?;
    repos::require_projects(session, &client, &args.projects).await?;
    task::note_running_sync(&session.terminal, &client).await?;
    let filter = ExportFilter {
        projects: args.projects.clone(),
        states: args.states.clone(),
        authors: args.authors.clone(),
        labels: args.labels.clone(),
        paths: args.paths.clone(),
        edges: args.edges.clone(),
        after: args.after,
        before: args.before,
    };
    let mut request = ExportRequest { what, filter, after: None, limit: MAX_BATCH };
    // The first batch is read before the file is made: a wrong request leaves none.
    let mut batch = client.answer(request.clone()).await?;
    let mut output = open_output(args)?;
    let mut writer = TableEncoder::new(what.columns(), format)?;
    let mut rows = 0;
    loop {
        rows += batch.rows.len() as u64;
        output.write_all(&writer.write(&batch.rows)?)?;
        let Some(next) = batch.next else { break };
        (request.after, request.filter) = (Some(next), batch.filter);
        batch = client.answer(request.clone()).await?;
    }
    output.write_all(&writer.finish()?)?;
    output.flush()?;
    let name = what.as_str().replace('_', " ");
    if rows == 0 {
        session.terminal.note(format_args!("no {name} found"));
    } else if let Some(file) = &args.output {
        session.terminal.note(format_args!("{} of {name} in {}", pluralize(rows, "row", "rows"), file.display()));
    }
    Ok(())
}

fn open_output(args: &Args) -> Result<Box<dyn Write>> {
    let Some(path) = &args.output else { return Ok(Box::new(io::stdout().lock())) };
    match fs::OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => Ok(Box::new(io::BufWriter::new(file))),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Failure::usage(format!("{} exists already; name another file", path.display())))
        }
        Err(error) => {
            let (path, why) = (path.display(), reason(&error));
            Err(Failure::usage(format!("cannot write {path}: {why}; name a file in a directory that you may write to")))
        }
    }
}
