//! What happened to files and symbols, as the graph knows it.

use std::collections::BTreeSet;

use backstory_model::{code::last_part_of_name, edge::Edge, id::NodeId, repository::EntityChangeKind};
use backstory_store::graph::{Direction, Value, queries};

use super::{Move, Occurrence, Removal, Removals, explain, is_within};
use crate::{
    code::{CommitSummary, GraphChangeRow, changes_of},
    error::Result,
    records::commit_record,
    resources::{Resources, blocking},
};

/// Most moves of one file or symbol that are followed.
const MAX_MOVES: usize = 20;
/// Most symbols of one name that are looked at.
const MAX_SYMBOLS: usize = 50;

/// What happened to a file or symbol.
struct Fate {
    /// The moves, the oldest first: the commit that made each, from where, to where.
    moves: Vec<(String, NodeId, NodeId)>,
    /// What it was called last.
    last: NodeId,
    /// The commit that removed it; `None` if it is still there.
    removed_by: Option<GraphChangeRow>,
}

/// The files and symbols that a text can name: a path, `PATH#SYMBOL`, or the name of a symbol that a commit removed.
pub(crate) async fn find_symbols(
    resources: &Resources,
    project: &str,
    text: &str,
    path: Option<&str>,
    missing: &mut Vec<String>,
) -> Result<Vec<NodeId>> {
    if text.contains(char::is_whitespace) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    if path.is_none() {
        found.push(NodeId::file(project, text));
        if let Some((path, name)) = text.split_once('#').filter(|(path, name)| !path.is_empty() && !name.is_empty()) {
            found.push(NodeId::entity(project, path, name));
        }
    }
    let ending = |name: &str| {
        let iri = NodeId::entity("p", "p", name).iri();
        iri.rsplit_once('#').map(|(_, name)| name.to_owned()).unwrap_or_default()
    };
    // That of one path is `…path#n`, that of all begins with that of the empty one.
    let entity = NodeId::entity(project, path.unwrap_or("p"), "n").iri();
    let of_names = entity.strip_suffix(if path.is_some() { "#n" } else { "p#n" });
    let beginning = of_names.unwrap_or(&entity).to_owned();
    let bind = vec![
        ("name", Value::Text(last_part_of_name(text).to_owned())),
        ("beginning", Value::Text(beginning)),
        ("ending", Value::Text(format!("#{}", ending(text)))),
        ("dotted", Value::Text(ending(&format!(".{text}")))),
        ("coloned", Value::Text(ending(&format!("::{text}")))),
    ];
    let rows = resources.graph_query(queries::REMOVED_ENTITIES, bind).await?;
    let is_wanted = |id: &NodeId| match id {
        NodeId::Entity { project: own, path: at, .. } => own == project && path.is_none_or(|path| is_within(at, path)),
        _ => false,
    };
    let mut symbols: Vec<NodeId> = rows.iter().filter_map(|row| row.node("entity")).filter(is_wanted).collect();
    if symbols.len() > MAX_SYMBOLS {
        missing.push(format!(
            "more than {MAX_SYMBOLS} removed symbols are called '{text}'; only those in the first files by path are looked at, so \
             name a path"
        ));
        symbols.truncate(MAX_SYMBOLS);
    }
    found.append(&mut symbols);
    Ok(found)
}

/// Adds the removals of files and symbols, the newest first, and where they went.
pub(crate) async fn removals_of_nodes(
    resources: &Resources,
    nodes: Vec<NodeId>,
    limit: usize,
    found: &mut Removals,
) -> Result<()> {
    let mut fates = Vec::new();
    let mut seen = BTreeSet::new();
    for node in nodes {
        let Some(fate) = fate_of(resources, node).await? else { continue };
        if seen.insert(fate.last.clone()) {
            fates.push(fate);
        }
    }
    fates.sort_by_key(|fate| std::cmp::Reverse(fate.removed_by.as_ref().map(|removed| removed.at)));
    let project = found.project.clone();
    let mut answer = std::mem::take(found);
    *found = resources
        .blocking(move |resources| {
            for fate in fates {
                for (sha, from, to) in fate.moves.iter().rev() {
                    let Some(record) = commit_record(resources, &project, sha)? else { continue };
                    let commit = CommitSummary::new(&project, &record);
                    answer.moves.push(Move { commit, from: in_project(from), to: in_project(to) });
                }
                let Some(removed) = &fate.removed_by else {
                    answer.present.push(Occurrence { path: in_project(&fate.last), line: None });
                    continue;
                };
                if answer.removals.len() == limit {
                    continue;
                }
                let Some(record) = commit_record(resources, &project, &removed.sha)? else { continue };
                let path = match &fate.last {
                    NodeId::File { path, .. } | NodeId::Entity { path, .. } => path.clone(),
                    _ => continue,
                };
                let mut removal = Removal::new(CommitSummary::new(&project, &record), path);
                removal.node = Some(fate.last.clone());
                explain(resources, &project, &mut removal)?;
                answer.removals.push(removal);
            }
            Ok(answer)
        })
        .await?;
    Ok(())
}

/// The change by which a file or symbol disappeared; `None` if it is still there, perhaps by another name.
pub(crate) async fn find_removal(resources: &Resources, node: NodeId) -> Result<Option<GraphChangeRow>> {
    Ok(fate_of(resources, node).await?.and_then(|fate| fate.removed_by))
}

/// What happened to a file or symbol; `None` if no commit has it.
async fn fate_of(resources: &Resources, node: NodeId) -> Result<Option<Fate>> {
    let mut fate = Fate { moves: Vec::new(), last: node, removed_by: None };
    while fate.moves.len() <= MAX_MOVES {
        let Some(newest) = changes_of(resources, &fate.last).await?.into_iter().next() else {
            return Ok(Some(fate).filter(|fate| !fate.moves.is_empty()));
        };
        if newest.kind != EntityChangeKind::Removed {
            return Ok(Some(fate));
        }
        let Some(next) = taken_over(resources, &fate.last, &newest).await? else {
            fate.removed_by = Some(newest);
            return Ok(Some(fate));
        };
        if fate.moves.iter().any(|(_, from, _)| *from == next) {
            return Ok(Some(fate));
        }
        fate.moves.push((newest.sha, fate.last.clone(), next.clone()));
        fate.last = next;
    }
    Ok(Some(fate))
}

/// What a file or symbol was called after a commit that took its name away.
async fn taken_over(resources: &Resources, node: &NodeId, removed: &GraphChangeRow) -> Result<Option<NodeId>> {
    let (graph, id) = (resources.graph(), node.clone());
    let ends = blocking(move || Ok(graph.edges(&id, Direction::Out, Some(Edge::ReplacedBy))?)).await?;
    for end in ends {
        let changes = changes_of(resources, &end.other).await?;
        if changes.iter().any(|change| change.sha == removed.sha && change.kind != EntityChangeKind::Removed) {
            return Ok(Some(end.other));
        }
    }
    Ok(None)
}

/// All paths that a file has had or has since: where its lines can have been.
pub(super) async fn paths_of(resources: &Resources, project: &str, path: &str) -> Result<(Vec<String>, Vec<Move>)> {
    let node = NodeId::file(project, path);
    let Some(fate) = fate_of(resources, node.clone()).await? else { return Ok((vec![path.to_owned()], Vec::new())) };
    let mut paths = BTreeSet::from([path.to_owned()]);
    let names = fate.moves.iter().map(|(.., to)| to.clone());
    let earlier = crate::code::changes_across_renames(resources, &node).await?.into_iter().map(|change| change.name);
    for name in names.chain(earlier) {
        if let NodeId::File { path, .. } = name {
            paths.insert(path);
        }
    }
    let project = project.to_owned();
    let moves = resources
        .blocking(move |resources| {
            let mut moves = Vec::new();
            for (sha, from, to) in fate.moves.iter().rev() {
                let Some(record) = commit_record(resources, &project, sha)? else { continue };
                let commit = CommitSummary::new(&project, &record);
                moves.push(Move { commit, from: in_project(from), to: in_project(to) });
            }
            Ok(moves)
        })
        .await?;
    Ok((paths.into_iter().collect(), moves))
}

/// A path, or a path and the name of a symbol.
fn in_project(id: &NodeId) -> String {
    match id {
        NodeId::File { path, .. } => path.clone(),
        NodeId::Entity { path, name, .. } => format!("{path}#{name}"),
        other => other.to_string(),
    }
}
