//! `history`: shows what happened to a file or code entity.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Session,
    place::{self, Place},
};
use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{counted, day},
};

const HISTORY: &str = include_str!("../../../../queries/graphql/history.graphql");

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
    /// Project that the path is of, if it cannot be told
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Most changes, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=100))]
    limit: u8,
    /// Changes to leave out at the beginning
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Answer {
    history: History,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct History {
    changes: Vec<Change>,
    has_more: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Change {
    commit: Commit,
    kind: String,
    name: String,
    insertions: Option<u32>,
    deletions: Option<u32>,
    merge_requests: Vec<String>,
}

#[derive(Deserialize, Serialize)]
struct Commit {
    id: String,
    sha: String,
    title: String,
    author: String,
    date: Timestamp,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "history", || Ok(())).await?;
    let place = place::find(&client, &args.what, args.project.as_deref()).await?;
    let Place::Code(code) = place else {
        return Err(Failure::usage(format!("'{}' is no file; write PATH or PATH#SYMBOL", args.what)));
    };
    let several = "say with --project of which repository the path is ('backstory repos' lists them)";
    let reference = code.reference().ok_or_else(|| Failure::usage(several))?;
    let variables = json!({ "ref": reference, "first": args.limit, "skip": args.skip });
    let Answer { history } = client.run(HISTORY, variables).await?;
    if args.json {
        return Ok(session.terminal.json(&history)?);
    }
    let own = reference.as_str();
    let row = |change: &Change| {
        let lines = match (change.insertions, change.deletions) {
            (Some(insertions), Some(deletions)) => format!("+{insertions} -{deletions}"),
            _ => String::new(),
        };
        let what = match change.kind.as_str() {
            "INTRODUCED" => "added",
            "REMOVED" => "removed",
            _ => "changed",
        };
        // Under another name than the one that was asked about.
        let name = if change.name == own { String::new() } else { name_of(&change.name) };
        let carrier = change.merge_requests.first().map(|id| short_id(id)).unwrap_or_default();
        vec![
            day(change.commit.date),
            change.commit.sha[..8.min(change.commit.sha.len())].to_owned(),
            what.to_owned(),
            lines,
            carrier,
            change.commit.author.clone(),
            session.terminal.title(&change.commit.title),
            name,
        ]
    };
    let headings = ["date", "commit", "what", "lines", "request", "author", "title", "as"];
    session.terminal.table(&headings, &[], history.changes.iter().map(row).collect())?;
    if history.has_more {
        let next = args.skip + u32::from(args.limit);
        let shown = counted(history.changes.len() as u64, "change", "changes");
        session.terminal.note(format_args!("{shown} shown; --skip {next} shows those before"));
    }
    Ok(())
}

fn name_of(reference: &str) -> String {
    reference.split_once(':').map_or(reference, |(_, name)| name).to_owned()
}

fn short_id(id: &str) -> String {
    id.find('!').map_or(id, |at| &id[at..]).to_owned()
}
