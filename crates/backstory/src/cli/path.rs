//! `path`: shows the shortest path between two nodes.

use backstory_engine::{
    explore::{PathAnswer, PathRequest},
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

/// Show the shortest path between two nodes of the graph
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory path @alice 'group/project#12'
  backstory path group/project:src/auth.rs 'group/project#12' --edges modifies,merged-as,closes")]
pub(super) struct Args {
    /// Where it starts: a person, file, commit, issue or other reference
    #[arg(value_name = "FROM", value_parser = parse_node)]
    from: NodeId,
    /// Where it ends
    #[arg(value_name = "TO", value_parser = parse_node)]
    to: NodeId,
    /// Follow only these edges, in either direction
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = parse_edge)]
    edges: Vec<Edge>,
    /// Most edges, 1 to 8
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(1..=8))]
    max_length: u8,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "path", || Ok(())).await?;
    let request = PathRequest {
        from: args.from.clone(),
        to: args.to.clone(),
        edges: args.edges.iter().copied().collect(),
        max_length: usize::from(args.max_length),
    };
    let path = client.answer(request).await?;
    if args.json {
        return Ok(session.terminal.json(&path)?);
    }
    print(session, &path)
}

fn print(session: &Session, path: &PathAnswer) -> Result<()> {
    let terminal = &session.terminal;
    match path.nodes.first() {
        Some(first) => terminal.line(escape_terminal(&first.to_string()))?,
        None => terminal.line("No path.")?,
    }
    for (node, edge) in path.nodes.iter().skip(1).zip(&path.edges) {
        let arrow = if edge.to == *node { "→" } else { "←" };
        let (name, node) = (edge.edge.name(), escape_terminal(&node.to_string()));
        terminal.line(format_args!("  {arrow} {FAINT}{name}{FAINT:#} {node}"))?;
    }
    for sentence in &path.left_out {
        terminal.line(format_args!("{FAINT}Left out: {}{FAINT:#}", escape_terminal(sentence)))?;
    }
    Ok(())
}
