//! `snapshots`: lists, pins and compares recorded states of the index.

use backstory_engine::snapshot::MAX_COMPARED;
use clap::Subcommand;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Session;
use crate::{
    client::{Client, Operation},
    failure::Result,
    output::{counted, minute, plain, thousands},
};

const SNAPSHOTS: &str = include_str!("../../../../queries/graphql/snapshots.graphql");
const LIST: Operation<'_> = Operation::named(SNAPSHOTS, "Snapshots");
const SHOW: Operation<'_> = Operation::named(SNAPSHOTS, "ShowSnapshot");
const PIN: Operation<'_> = Operation::named(SNAPSHOTS, "PinSnapshot");
const UNPIN: Operation<'_> = Operation::named(SNAPSHOTS, "UnpinSnapshot");
const COMPARE: &str = include_str!("../../../../queries/graphql/compare_snapshots.graphql");
const PRUNE: &str = include_str!("../../../../queries/graphql/prune_snapshots.graphql");

/// List, pin and compare the states of the index that context packs were made from
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory snapshots list
  backstory snapshots show 1a2b3c4d
  backstory snapshots pin 1a2b3c4d
  backstory snapshots compare 1a2b3c4d 5e6f7081

A record tells what was indexed; the documents of an older state themselves are not kept. The newest three records are
kept, or as many as 'keep' under [snapshots] in the configuration says, besides those that are pinned.")]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List them, newest first
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one
    Show {
        /// Its id, or at least four of its first digits
        #[arg(value_name = "ID")]
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Keep one until it is unpinned
    Pin {
        /// Its id, or at least four of its first digits
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Keep one no longer than others
    Unpin {
        /// Its id, or at least four of its first digits
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Show which documents were added, removed and changed between two
    Compare {
        /// The first
        #[arg(value_name = "FROM")]
        from: String,
        /// The second
        #[arg(value_name = "TO")]
        to: String,
        /// How many documents of each kind are named
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=MAX_COMPARED as i64))]
        first: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget those that need not be kept
    Prune,
}

#[derive(Deserialize)]
struct Listed {
    snapshots: Snapshots,
}

#[derive(Deserialize, Serialize)]
struct Snapshots {
    current: String,
    recorded: Vec<Snapshot>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Snapshot {
    id: String,
    created_at: Timestamp,
    status: String,
    current: bool,
    pinned: bool,
    model: String,
    commits: Vec<Commit>,
    documents: u64,
    embedded: u64,
    passages: u64,
    bytes: u64,
    duration_ms: u64,
    ledger_seq: u64,
    contents_bytes: u64,
    last_error: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Commit {
    project: String,
    sha: String,
}

#[derive(Deserialize)]
struct Shown {
    snapshot: Snapshot,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Compared {
    compare_snapshots: Comparison,
}

#[derive(Deserialize, Serialize)]
struct Comparison {
    from: String,
    to: String,
    added: Difference,
    removed: Difference,
    changed: Difference,
    unchanged: u64,
}

#[derive(Deserialize, Serialize)]
struct Difference {
    count: u64,
    documents: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pinned {
    pin_snapshot: Snapshot,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Unpinned {
    unpin_snapshot: Snapshot,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pruned {
    prune_snapshots: Vec<String>,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "snapshots", || Ok(())).await?;
    let terminal = &session.terminal;
    match &args.what {
        What::List { json } => {
            let Listed { snapshots } = client.run(LIST, json!({})).await?;
            if *json { Ok(terminal.json(&snapshots)?) } else { list(session, &snapshots) }
        }
        What::Show { id, json } => {
            let Shown { snapshot } = client.run(SHOW, json!({ "id": id })).await?;
            if *json { Ok(terminal.json(&snapshot)?) } else { show(session, &snapshot) }
        }
        What::Pin { id } => {
            let Pinned { pin_snapshot: of } = client.run(PIN, json!({ "id": id })).await?;
            Ok(terminal.line(format_args!("Pinned {}", of.id))?)
        }
        What::Unpin { id } => {
            let Unpinned { unpin_snapshot: of } = client.run(UNPIN, json!({ "id": id })).await?;
            Ok(terminal.line(format_args!("Unpinned {}", of.id))?)
        }
        What::Compare { from, to, first, json } => {
            let variables = json!({ "from": from, "to": to, "first": first });
            let Compared { compare_snapshots: found } = client.run(COMPARE, variables).await?;
            if *json { Ok(terminal.json(&found)?) } else { compare(session, &found) }
        }
        What::Prune => {
            let Pruned { prune_snapshots: gone } = client.run(PRUNE, json!({})).await?;
            let gone = counted(gone.len() as u64, "snapshot was", "snapshots were");
            Ok(terminal.line(format_args!("{gone} forgotten"))?)
        }
    }
}

fn list(session: &Session, of: &Snapshots) -> Result<()> {
    let terminal = &session.terminal;
    if of.recorded.is_empty() {
        terminal.line("Nothing is on record yet; a sync that reads something puts it on record.")?;
    } else {
        let row = |of: &Snapshot| {
            let marks = [("current", of.current), ("pinned", of.pinned), ("failed", of.status == "failed")];
            let marks: Vec<&str> = marks.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect();
            let commits: Vec<String> = of
                .commits
                .iter()
                .map(|of| format!("{}@{}", plain(&of.project), of.sha.get(..8).unwrap_or(&of.sha)))
                .collect();
            vec![
                of.id.clone(),
                minute(of.created_at),
                thousands(of.documents),
                thousands(of.embedded),
                commits.join(" "),
                marks.join(", "),
            ]
        };
        let headings = ["id", "reached", "documents", "with vectors", "commits", ""];
        terminal.table(&headings, &["documents", "with vectors"], of.recorded.iter().map(row).collect())?;
    }
    if !of.recorded.iter().any(|known| known.current) {
        terminal.note(format_args!("the index is at {}, which is on no record yet: it is being worked on", of.current));
    }
    Ok(())
}

fn show(session: &Session, of: &Snapshot) -> Result<()> {
    let terminal = &session.terminal;
    let marks = [(of.current, ", current"), (of.pinned, ", pinned")];
    let marks: String = marks.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
    terminal.line(format_args!("Snapshot {} of {} ({}{marks})", of.id, minute(of.created_at), of.status))?;
    terminal.line(format_args!(
        "  {} documents, {} of them with vectors of {}, {} passages, {:.1} MB",
        thousands(of.documents),
        thousands(of.embedded),
        plain(&of.model),
        thousands(of.passages),
        of.bytes as f64 / 1e6,
    ))?;
    terminal.line(format_args!(
        "  reached in {:.1} s, at change {} of the ledger; its record takes {} bytes",
        of.duration_ms as f64 / 1000.0,
        of.ledger_seq,
        thousands(of.contents_bytes),
    ))?;
    for commit in &of.commits {
        terminal.line(format_args!("  {} at {}", plain(&commit.project), commit.sha))?;
    }
    if let Some(error) = &of.last_error {
        terminal.line(format_args!("  failed: {}", plain(error)))?;
    }
    Ok(())
}

fn compare(session: &Session, of: &Comparison) -> Result<()> {
    let terminal = &session.terminal;
    terminal.line(format_args!("From {} to {}", of.from, of.to))?;
    for (name, sign, of) in [("added", '+', &of.added), ("removed", '-', &of.removed), ("changed", '~', &of.changed)] {
        terminal.line(format_args!("{} {name}", counted(of.count, "document", "documents")))?;
        for document in &of.documents {
            terminal.line(format_args!("  {sign} {}", plain(document)))?;
        }
        let more = of.count.saturating_sub(of.documents.len() as u64);
        if more > 0 {
            terminal.line(format_args!("  and {} more", thousands(more)))?;
        }
    }
    Ok(terminal.line(format_args!("{} unchanged", counted(of.unchanged, "document", "documents")))?)
}
