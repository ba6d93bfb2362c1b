//! `neighborhood`: shows the nodes around one.

use std::collections::{BTreeMap, BTreeSet};

use backstory_engine::{
    explore::{Neighbor, Neighborhood, NeighborhoodRequest},
    model::{edge::Edge, id::NodeId},
};

use super::{Session, arguments::parse_edge, nodes, place};
use crate::{
    client::Client,
    failure::Result,
    output::{FAINT, escape_terminal},
};

/// Show the nodes around one in the graph
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory neighborhood 'group/project#12'
  backstory neighborhood src/auth.rs
  backstory neighborhood group/project:src/auth.rs --depth 2 --edges modifies,closes")]
pub(super) struct Args {
    /// PATH, PATH#SYMBOL, a symbol, a commit, #12, !7, a person, or a whole reference
    #[arg(value_name = "REFERENCE")]
    reference: String,
    /// Project of the reference, if it cannot be inferred
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Most edges between it and another, 1 to 3
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
    depth: u8,
    /// Follow only these edges, in either direction
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = parse_edge)]
    edges: Vec<Edge>,
    /// Most nodes, 1 to 1,000
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    limit: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "neighborhood", || Ok(())).await?;
    let request = NeighborhoodRequest {
        id: place::find_node(session, &client, &args.reference, args.project.as_deref()).await?.id,
        depth: usize::from(args.depth),
        edges: args.edges.iter().copied().collect(),
        limit: usize::from(args.limit),
        totals: true,
    };
    let found = client.answer(request).await?;
    if args.json {
        return Ok(session.terminal.json(&found)?);
    }
    print(session, &found)
}

fn print(session: &Session, found: &Neighborhood) -> Result<()> {
    let terminal = &session.terminal;
    for neighbor in &found.neighbors {
        terminal.line(format_args!("{FAINT}{}{FAINT:#}  {}", neighbor.distance, print_edges(found, neighbor)))?;
    }
    for sentence in &found.left_out {
        terminal.line(format_args!("{FAINT}Left out: {}{FAINT:#}", escape_terminal(sentence)))?;
    }
    Ok(())
}

/// How a node is reached, as a line that reads from left to right: from a node that is nearer, but for the one that they
/// are around, over edges to it.
fn print_edges(found: &Neighborhood, neighbor: &Neighbor) -> String {
    let distance = |id: &NodeId| found.neighbors.iter().find(|other| other.id == *id).map_or(0, |of| of.distance);
    let mut arrows: BTreeMap<&NodeId, BTreeSet<String>> = BTreeMap::new();
    for edge in &found.edges {
        let (nearer, to_the_right) = match (edge.from == neighbor.id, edge.to == neighbor.id) {
            (true, false) => (&edge.to, false),
            (false, true) => (&edge.from, true),
            _ => continue,
        };
        if distance(nearer) < neighbor.distance {
            arrows.entry(nearer).or_default().insert(nodes::arrow(edge.edge.name(), to_the_right));
        }
    }
    let label = nodes::label(&neighbor.id, &found.titles);
    let others = arrows.len().saturating_sub(1);
    let Some((nearer, arrows)) = arrows.into_iter().next() else { return label };
    let nearer = if distance(nearer) == 0 { String::new() } else { nodes::label(nearer, &BTreeMap::new()) + " " };
    let arrows: Vec<String> = arrows.into_iter().collect();
    let others = if others == 0 { String::new() } else { format!(" {FAINT}and from {others} more{FAINT:#}") };
    format!("{nearer}{FAINT}{}{FAINT:#} {label}{others}", arrows.join(" "))
}
