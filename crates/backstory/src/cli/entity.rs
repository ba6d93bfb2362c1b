//! `entity`: shows a code entity: where it is, who changed it, what uses it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Session;
use crate::{
    client::Client,
    failure::Result,
    output::{FAINT, STRONG, counted, day, indented, plain},
};

const ENTITY: &str = include_str!("../../../../queries/graphql/entity.graphql");
/// Neighbours of a kind that are listed before the rest is counted.
const LISTED: usize = 8;

/// Show a function, type or other code entity: where it is, who changed it, what uses it
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory entity login
  backstory entity Session.login --project group/project
  backstory entity 'group/project:src/auth.rs#login' --json")]
pub(super) struct Args {
    /// Its name, with or without what it stands in, or its reference
    #[arg(value_name = "NAME")]
    name: String,
    /// Only of this project
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Most entities of the name, 1 to 50
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=50))]
    limit: u8,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Answer {
    entity: Vec<Entity>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
struct Entity {
    id: String,
    project: String,
    path: String,
    name: String,
    current: bool,
    kind: Option<String>,
    signature: Option<String>,
    lines: Option<(u32, u32)>,
    doc: Option<String>,
    introduced: Option<Commit>,
    last_changed: Option<Commit>,
    changes: u64,
    neighbours: Vec<Neighbours>,
}

#[derive(Deserialize, Serialize)]
struct Commit {
    sha: String,
    title: String,
    author: String,
    date: Timestamp,
}

#[derive(Deserialize, Serialize)]
struct Neighbours {
    edge: String,
    direction: String,
    nodes: Vec<String>,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "entity", || Ok(())).await?;
    let variables = json!({ "name": args.name, "project": args.project, "first": args.limit });
    let Answer { entity } = client.run(ENTITY, variables).await?;
    if args.json {
        return Ok(session.terminal.json(&entity)?);
    }
    for (at, entity) in entity.iter().enumerate() {
        if at > 0 {
            session.terminal.line("")?;
        }
        print(session, entity)?;
    }
    Ok(())
}

fn print(session: &Session, entity: &Entity) -> Result<()> {
    let terminal = &session.terminal;
    let lines = entity.lines.map(|(first, last)| format!(":{first}-{last}")).unwrap_or_default();
    let kind = entity.kind.as_deref().unwrap_or("removed").replace('_', " ");
    terminal.line(format_args!(
        "{STRONG}{}{STRONG:#} {kind} {FAINT}{} {}{lines}{FAINT:#}",
        plain(&entity.name),
        entity.project,
        plain(&entity.path),
    ))?;
    if let Some(signature) = &entity.signature {
        terminal.line(format_args!("    {}", plain(signature)))?;
    }
    if let Some(doc) = entity.doc.as_deref().filter(|doc| !doc.is_empty()) {
        let doc: Vec<String> = doc.lines().take(6).map(plain).collect();
        terminal.line(format_args!("{FAINT}{}{FAINT:#}", indented(&doc.join("\n"), 4)))?;
    }
    let commit = |commit: &Commit| {
        let sha = &commit.sha[..8.min(commit.sha.len())];
        format!("{sha} {} {FAINT}{} · {}{FAINT:#}", plain(&commit.title), plain(&commit.author), day(commit.date))
    };
    if let Some(introduced) = &entity.introduced {
        terminal.line(format_args!("  first seen    {}", commit(introduced)))?;
    }
    if let Some(last) = &entity.last_changed {
        let times = counted(entity.changes, "change", "changes");
        terminal.line(format_args!("  last changed  {} ({times})", commit(last)))?;
    }
    for neighbours in &entity.neighbours {
        let Some(label) = label(&neighbours.edge, &neighbours.direction) else { continue };
        let mut names: Vec<String> =
            neighbours.nodes.iter().take(LISTED).map(|id| plain(&short(id, &entity.project))).collect();
        if neighbours.nodes.len() > LISTED {
            names.push(format!("and {} more", neighbours.nodes.len() - LISTED));
        }
        terminal.line(format_args!("  {label:<13} {}", names.join(", ")))?;
    }
    Ok(())
}

/// What an edge says of the entity.
fn label(edge: &str, direction: &str) -> Option<&'static str> {
    Some(match (edge, direction) {
        ("CALLS", "OUT") => "calls",
        ("CALLS", "IN") => "called by",
        ("CONTAINS", "OUT") => "contains",
        ("CONTAINS", "IN") => "in",
        ("IMPLEMENTS", "OUT") => "implements",
        ("IMPLEMENTS", "IN") => "implemented by",
        ("EXTENDS", "OUT") => "extends",
        ("EXTENDS", "IN") => "extended by",
        ("VERIFIED_BY", "OUT") => "tested by",
        ("VERIFIED_BY", "IN") => "tests",
        ("CO_EVOLVES_WITH", "OUT") => "changes with",
        ("REPLACED_BY", "OUT") => "became",
        ("REPLACED_BY", "IN") => "was",
        ("PART_OF", "IN") => "notes",
        _ => return None,
    })
}

/// Without what is the project's own.
fn short(id: &str, project: &str) -> String {
    id.strip_prefix(project).and_then(|rest| rest.strip_prefix(':')).unwrap_or(id).to_owned()
}
