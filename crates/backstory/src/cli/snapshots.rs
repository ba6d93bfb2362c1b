//! `snapshots`: lists, pins and compares recorded states of the index.

use backstory_engine::{
    ledger::{SnapshotStats, SnapshotStatus},
    snapshot::{
        CompareSnapshots, Comparison, GetSnapshot, ListSnapshots, MAX_COMPARED, PinSnapshot, PruneSnapshots,
        SnapshotCommit, SnapshotReport, Snapshots,
    },
};
use clap::Subcommand;

use super::Session;
use crate::{
    client::Client,
    failure::Result,
    output::{escape_terminal, minute, pluralize, thousands},
};

/// List, pin and compare the states of the index that context packs were made from
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory snapshots list
  backstory snapshots show 1a2b3c4d
  backstory snapshots pin 1a2b3c4d
  backstory snapshots compare 1a2b3c4d 5e6f7081

A state can be searched as long as it is kept ('search --snapshot', 'context --snapshot'): what has changed since then is
kept as it was. The newest three are kept, or as many as 'keep' under [snapshots] in the configuration says, besides those
that are pinned.")]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List snapshots, newest first
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a snapshot
    Show {
        /// Id of the snapshot, or at least its first four digits
        #[arg(value_name = "ID")]
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Keep a snapshot until it is unpinned
    Pin {
        /// Id of the snapshot, or at least its first four digits
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Keep a pinned snapshot no longer than others
    Unpin {
        /// Id of the snapshot, or at least its first four digits
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Show which documents were added, removed and changed between two snapshots
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
    /// Delete the snapshots that need not be kept
    Prune,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "snapshots", || Ok(())).await?;
    let terminal = &session.terminal;
    match &args.what {
        What::List { json } => {
            let snapshots = client.answer(ListSnapshots {}).await?;
            if *json { Ok(terminal.json(&snapshots)?) } else { list(session, &snapshots) }
        }
        What::Show { id, json } => {
            let snapshot = client.answer(GetSnapshot { id: id.clone() }).await?;
            if *json { Ok(terminal.json(&snapshot)?) } else { show(session, &snapshot) }
        }
        What::Pin { id } => {
            let of = client.answer(PinSnapshot { id: id.clone(), pinned: true }).await?;
            Ok(terminal.line(format_args!("Pinned {}", of.id))?)
        }
        What::Unpin { id } => {
            let of = client.answer(PinSnapshot { id: id.clone(), pinned: false }).await?;
            Ok(terminal.line(format_args!("Unpinned {}", of.id))?)
        }
        What::Compare { from, to, first, json } => {
            let (from, to, limit) = (from.clone(), to.clone(), *first as usize);
            let found = client.answer(CompareSnapshots { from, to, limit }).await?;
            if *json { Ok(terminal.json(&found)?) } else { compare(session, &found) }
        }
        What::Prune => {
            let gone = client.answer(PruneSnapshots::default()).await?;
            let gone = pluralize(gone.len() as u64, "snapshot was", "snapshots were");
            Ok(terminal.line(format_args!("{gone} deleted"))?)
        }
    }
}

fn list(session: &Session, of: &Snapshots) -> Result<()> {
    let terminal = &session.terminal;
    if of.recorded.is_empty() {
        terminal.line("No snapshot is recorded yet; a sync that reads something records one.")?;
    } else {
        let row = |of: &SnapshotReport| {
            let marks =
                [("current", of.current), ("pinned", of.pinned), ("failed", of.status == SnapshotStatus::Failed)];
            let marks: Vec<&str> = marks.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect();
            let commit = |of: &SnapshotCommit| {
                format!("{}@{}", escape_terminal(&of.project), of.sha.get(..8).unwrap_or(&of.sha))
            };
            let commits: Vec<String> = of.commits.iter().map(commit).collect();
            vec![
                of.id.clone(),
                minute(of.created_at),
                thousands(of.stats.documents),
                thousands(of.stats.embedded),
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

fn show(session: &Session, of: &SnapshotReport) -> Result<()> {
    let terminal = &session.terminal;
    let SnapshotStats { documents, embedded, passages, bytes, duration_ms } = of.stats;
    let marks = [(of.current, ", current"), (of.pinned, ", pinned")];
    let marks: String = marks.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
    terminal.line(format_args!("Snapshot {} of {} ({}{marks})", of.id, minute(of.created_at), of.status.as_str()))?;
    terminal.line(format_args!(
        "  {} documents, {} of them with vectors of {}, {} passages, {:.1} MB",
        thousands(documents),
        thousands(embedded),
        escape_terminal(&of.model),
        thousands(passages),
        bytes as f64 / 1e6,
    ))?;
    terminal.line(format_args!(
        "  reached in {:.1} s, at change {} of the ledger; its record takes {} bytes",
        duration_ms as f64 / 1000.0,
        of.ledger_seq,
        thousands(of.contents_bytes),
    ))?;
    if of.searchable {
        terminal.line(format_args!(
            "  can be searched; {} changed since then, and what was before takes {} bytes in the ledger",
            pluralize(of.changed, "item", "items"),
            thousands(of.kept_bytes),
        ))?;
    } else {
        terminal.line("  cannot be searched: what has changed since then is not kept as it was")?;
    }
    for commit in &of.commits {
        terminal.line(format_args!("  {} at {}", escape_terminal(&commit.project), commit.sha))?;
    }
    if let Some(error) = &of.last_error {
        terminal.line(format_args!("  failed: {}", escape_terminal(error)))?;
    }
    Ok(())
}

fn compare(session: &Session, of: &Comparison) -> Result<()> {
    let terminal = &session.terminal;
    terminal.line(format_args!("From {} to {}", of.from, of.to))?;
    for (name, sign, of) in [("added", '+', &of.added), ("removed", '-', &of.removed), ("changed", '~', &of.changed)] {
        terminal.line(format_args!("{} {name}", pluralize(of.count, "document", "documents")))?;
        for document in &of.documents {
            terminal.line(format_args!("  {sign} {}", escape_terminal(document)))?;
        }
        let more = of.count.saturating_sub(of.documents.len() as u64);
        if more > 0 {
            terminal.line(format_args!("  and {} more", thousands(more)))?;
        }
    }
    Ok(terminal.line(format_args!("{} unchanged", pluralize(of.unchanged, "document", "documents")))?)
}
