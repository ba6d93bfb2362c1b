//! `entity`: shows a code entity: where it is, who changed it, what uses it.

use std::path::Path;

use backstory_engine::{
    code::{CommitSummary, EntityDetails, EntityRequest, MAX_ENTITIES},
    graph::Direction,
    model::{
        code::{EntityKind, name_without_count},
        edge::Edge,
        id::NodeId,
        place::format_place,
    },
};

use super::{
    Session,
    place::{self, Place},
};
use crate::{
    client::Client,
    failure::Result,
    output::{FAINT, STRONG, day, escape_terminal, indented, pluralize},
};

/// Most neighbors of a kind that are listed; the others are counted.
const LISTED: usize = 8;

/// Show a function, type or other code entity: where it is, who changed it, what uses it
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory entity login
  backstory entity Session.login --project group/project
  backstory entity auth.rs#login
  backstory entity 'group/project:src/auth.rs#login' --json")]
pub(super) struct Args {
    /// Its name, with or without what contains it, PATH#NAME, or its reference
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

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "entity", || Ok(())).await?;
    let (name, project) = resolve_name(&client, args).await?;
    let most = usize::from(args.limit);
    // One more tells whether there are more.
    let request = EntityRequest { name, project, limit: (most + 1).min(MAX_ENTITIES) };
    let mut entities = client.answer(request).await?;
    let has_more = entities.len() > most;
    entities.truncate(most);
    if args.json {
        return Ok(session.terminal.json(&entities)?);
    }
    if let Some(entity) = entities.iter().find(|entity| is_numbered(&entity.name)) {
        session.terminal.note(format_args!(
            "{} is another definition or overload of that name in its file; the name without ~ is the first one, or the one \
             that has a body",
            escape_terminal(&entity.name)
        ));
    }
    for (at, entity) in entities.iter().enumerate() {
        if at > 0 {
            session.terminal.line("")?;
        }
        print(session, entity)?;
    }
    if has_more {
        session.terminal.note(format_args!(
            "more have that name; --limit shows up to {MAX_ENTITIES}, and PATH#NAME means one of them"
        ));
    }
    Ok(())
}

/// Whether a name ends in `~2` or another number, as all but one of the same name do in a file.
fn is_numbered(name: &str) -> bool {
    name_without_count(name) != name
}

/// The name of an entity and its project; the path of PATH#NAME is relative to where the user stands, as that of 'why'.
async fn resolve_name(client: &Client, args: &Args) -> Result<(String, Option<String>)> {
    let given = (args.name.clone(), args.project.clone());
    let path = args.name.split_once('#').map(|(path, _)| Path::new(path));
    if !path.is_some_and(Path::exists) {
        return Ok(given);
    }
    let Place::Code(code) = place::find(client, &args.name, args.project.as_deref()).await? else { return Ok(given) };
    Ok(match (code.project, code.symbol) {
        (project, Some(symbol)) => (format!("{}#{symbol}", code.path), project),
        (_, None) => given,
    })
}

fn print(session: &Session, entity: &EntityDetails) -> Result<()> {
    let terminal = &session.terminal;
    let kind = entity.kind.map_or("removed", EntityKind::as_str).replace('_', " ");
    terminal.line(format_args!(
        "{STRONG}{}{STRONG:#} {kind} {FAINT}{} {}{FAINT:#}",
        escape_terminal(&entity.name),
        entity.project,
        escape_terminal(&format_place(&entity.path, entity.lines)),
    ))?;
    if let Some(signature) = &entity.signature {
        terminal.line(format_args!("    {}", escape_terminal(signature)))?;
    }
    if let Some(doc) = entity.doc.as_deref().filter(|doc| !doc.is_empty()) {
        let doc: Vec<String> = doc.lines().take(6).map(escape_terminal).collect();
        terminal.line(format_args!("{FAINT}{}{FAINT:#}", indented(&doc.join("\n"), 4)))?;
    }
    let commit = |commit: &CommitSummary| {
        let sha = commit.sha.short();
        format!(
            "{sha} {} {FAINT}{} · {}{FAINT:#}",
            escape_terminal(&commit.title),
            escape_terminal(&commit.author),
            day(commit.date)
        )
    };
    if let Some(introduced) = &entity.introduced {
        terminal.line(format_args!("  first seen    {}", commit(introduced)))?;
    }
    if let Some(last) = &entity.last_changed {
        let times = pluralize(entity.changes as u64, "change", "changes");
        terminal.line(format_args!("  last changed  {} ({times})", commit(last)))?;
    }
    for neighbors in &entity.neighbors {
        let Some(label) = label(neighbors.edge, neighbors.direction) else { continue };
        let mut names: Vec<String> = neighbors
            .nodes
            .iter()
            .take(LISTED)
            .map(|id| escape_terminal(&name_in_project(id, &entity.project)))
            .collect();
        if neighbors.nodes.len() > LISTED {
            names.push(format!("and {} more", neighbors.nodes.len() - LISTED));
        }
        terminal.line(format_args!("  {label:<13} {}", names.join(", ")))?;
    }
    Ok(())
}

/// Returns what the nodes at edges are to the entity; `None` for edges that are not shown.
fn label(edge: Edge, direction: Direction) -> Option<&'static str> {
    Some(match (edge, direction) {
        (Edge::Calls, Direction::Out) => "calls",
        (Edge::Calls, Direction::In) => "called by",
        (Edge::Contains, Direction::Out) => "contains",
        (Edge::Contains, Direction::In) => "in",
        (Edge::Implements, Direction::Out) => "implements",
        (Edge::Implements, Direction::In) => "implemented by",
        (Edge::Extends, Direction::Out) => "extends",
        (Edge::Extends, Direction::In) => "extended by",
        (Edge::VerifiedBy, Direction::Out) => "tested by",
        (Edge::VerifiedBy, Direction::In) => "tests",
        (Edge::CoEvolvesWith, Direction::Out) => "changes with",
        (Edge::ReplacedBy, Direction::Out) => "became",
        (Edge::ReplacedBy, Direction::In) => "was",
        (Edge::PartOf, Direction::In) => "notes",
        _ => return None,
    })
}

/// Returns an id without the project that it shares with the entity.
fn name_in_project(id: &NodeId, project: &str) -> String {
    let id = id.to_string();
    id.strip_prefix(project).and_then(|rest| rest.strip_prefix(':')).unwrap_or(&id).to_owned()
}
