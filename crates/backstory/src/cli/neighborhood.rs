//! `neighborhood`: shows the nodes around one.

use backstory_engine::{
    explore::{Neighbor, Neighborhood, NeighborhoodRequest},
    model::{edge::Edge, id::NodeId},
};

use super::{
    Session,
    arguments::{parse_edge, parse_node},
};
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
  backstory neighborhood group/project:src/auth.rs --depth 2 --edges modifies,closes")]
pub(super) struct Args {
    /// A person, file, commit, issue or other reference
    #[arg(value_name = "REFERENCE", value_parser = parse_node)]
    reference: NodeId,
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
        id: args.reference.clone(),
        depth: usize::from(args.depth),
        edges: args.edges.iter().copied().collect(),
        limit: usize::from(args.limit),
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
        let edges = print_edges(found, neighbor);
        terminal.line(format_args!(
            "{FAINT}{}{FAINT:#}  {} {FAINT}{edges}{FAINT:#}",
            neighbor.distance,
            escape_terminal(&neighbor.id.to_string())
        ))?;
    }
    for sentence in &found.left_out {
        terminal.line(format_args!("{FAINT}Left out: {}{FAINT:#}", escape_terminal(sentence)))?;
    }
    Ok(())
}

/// The edges between a node and those that are nearer.
fn print_edges(found: &Neighborhood, neighbor: &Neighbor) -> String {
    let is_nearer = |id: &NodeId| {
        let known = found.neighbors.iter().find(|other| other.id == *id);
        known.is_none_or(|other| other.distance < neighbor.distance)
    };
    let outgoing = found.edges.iter().filter(|edge| edge.from == neighbor.id && is_nearer(&edge.to));
    let incoming = found.edges.iter().filter(|edge| edge.to == neighbor.id && is_nearer(&edge.from));
    let outgoing = outgoing.map(|edge| format!("{} →", edge.edge.name()));
    let mut names: Vec<String> = outgoing.chain(incoming.map(|edge| format!("← {}", edge.edge.name()))).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
