//! `path`: shows the shortest path between two nodes.

use backstory_engine::{
    explore::{PathAnswer, PathRequest},
    model::edge::Edge,
};

use super::{Session, arguments::parse_edge, nodes, place};
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
  backstory path src/auth.rs src/session.rs
  backstory path group/project:src/auth.rs 'group/project#12' --edges modifies,merged-as,closes

A path never runs over a project, or over an address that stands for nobody in particular, such as noreply@github.com:
everything is linked with these. Over people, labels, milestones and tags it runs only with --edges.")]
pub(super) struct Args {
    /// Where it starts: PATH, PATH#SYMBOL, a symbol, a commit, #12, !7, a person, or a whole reference
    #[arg(value_name = "FROM")]
    from: String,
    /// Where it ends
    #[arg(value_name = "TO")]
    to: String,
    /// Project of the two, if it cannot be inferred
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
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
    let project = args.project.as_deref();
    let request = PathRequest {
        from: place::find_node(session, &client, &args.from, project).await?.id,
        to: place::find_node(session, &client, &args.to, project).await?.id,
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
        Some(first) => terminal.line(nodes::label(first, &path.titles))?,
        None => terminal.line("No path.")?,
    }
    for (node, edge) in path.nodes.iter().skip(1).zip(&path.edges) {
        let arrow = nodes::arrow(edge.edge.name(), edge.to == *node);
        terminal.line(format_args!("  {FAINT}{arrow}{FAINT:#} {}", nodes::label(node, &path.titles)))?;
    }
    for sentence in &path.left_out {
        terminal.line(format_args!("{FAINT}Left out: {}{FAINT:#}", escape_terminal(sentence)))?;
    }
    Ok(())
}
