//! `rebuild`: computes graph, lists or index from the ledger again.

use std::time::Instant;

use backstory_engine::{RebuildRequest, task::TaskKind};
use clap::ValueEnum;

use super::{Session, task};
use crate::{
    client::Client,
    failure::Result,
    output::{duration, thousands},
};

/// Rebuild the graph, the lists, the index or all from what is stored, without a network
///
/// The old ones are used until the new ones are ready. Vectors of unchanged text are kept.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n  backstory rebuild\n  backstory rebuild graph")]
pub(super) struct Args {
    /// What to rebuild; all if not given
    #[arg(value_enum)]
    projection: Option<Projection>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Projection {
    /// Nodes and edges.
    Graph,
    /// What pages, totals and aggregates are read from.
    Lists,
    /// What search reads.
    Index,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let (projection, what) = match args.projection {
        None => (backstory_engine::Projection::All, "graph, lists and index"),
        Some(Projection::Graph) => (backstory_engine::Projection::Graph, "graph"),
        Some(Projection::Lists) => (backstory_engine::Projection::Lists, "lists"),
        Some(Projection::Index) => (backstory_engine::Projection::Index, "index"),
    };
    let client = Client::open_for_work(session, "rebuild", || Ok(())).await?;
    let begun = Instant::now();
    let begin = client.answer(RebuildRequest { projection });
    let summary = task::follow(&client, TaskKind::Rebuild, Box::pin(begin)).await?;
    if args.json {
        return Ok(session.terminal.json(&summary)?);
    }
    session.terminal.line(format_args!(
        "Rebuilt the {what} in {}; digest {} over {} statements and {} rows",
        duration(begun.elapsed()),
        summary["digest"].as_str().unwrap_or_default(),
        thousands(summary["quads"].as_u64().unwrap_or(0)),
        thousands(summary["rows"].as_u64().unwrap_or(0))
    ))?;
    task::tell_waiting(session, &client, &task::coverage(&client).await?);
    Ok(())
}
