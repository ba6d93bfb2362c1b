//! The history of a file or code entity in the graph: the commits that changed it, across renames, what happened to it, and
//! which commit removed it.

use std::collections::BTreeSet;

use backstory_model::{
    code::last_part_of_name,
    edge::Edge,
    filter::Filter,
    id::{NAMESPACE, NodeId},
    repository::EntityChangeKind,
};
use backstory_store::graph::{Direction, Value, queries};
use jiff::Timestamp;

use crate::{
    catalog::repositories_of,
    error::Result,
    resources::{Resources, blocking},
};

/// Most names that a file had.
pub(crate) const MAX_NAMES: usize = 20;
/// Most moves of one file or symbol that are followed.
const MAX_MOVES: usize = 20;
/// Most symbols of one name that are looked at.
const MAX_SYMBOLS: usize = 50;
/// Rows of a page of `queries/changes.rq`, without the one that tells that there are more.
const MAX_PAGE_ROWS: usize = 1000;
/// Most removed symbols of a project that are looked at to find the newest removal.
const MAX_TOLD: usize = 20;
/// Digits of a commit in a sentence.
const SHORT_SHA: usize = 8;

/// A change as the graph tells it.
#[derive(Clone, Debug)]
pub(crate) struct GraphChangeRow {
    /// When it was committed, later than any ancestor.
    pub(crate) at: Timestamp,
    pub(crate) sha: String,
    pub(crate) kind: EntityChangeKind,
    /// What the file or entity was called then.
    pub(crate) name: NodeId,
}

/// The changes of a node, newest first, with those of the names that it had before up to when it lost them: what has
/// one of these names later is something else.
pub(crate) async fn changes_across_renames(resources: &Resources, id: &NodeId) -> Result<Vec<GraphChangeRow>> {
    let mut told = vec![changes_of(resources, id).await?];
    let mut names = vec![id.clone()];
    let mut at = 0;
    while at < names.len() && names.len() < MAX_NAMES {
        for earlier in replaced_by(resources, &names[at]).await? {
            if names.contains(&earlier) {
                continue;
            }
            let mut changes = changes_of(resources, &earlier).await?;
            let took_over = |change: &&GraphChangeRow| {
                let is_it = |own: &GraphChangeRow| own.sha == change.sha && own.kind != EntityChangeKind::Removed;
                change.kind == EntityChangeKind::Removed && told[at].iter().any(is_it)
            };
            let Some(renamed_at) = changes.iter().find(took_over).map(|change| change.at) else { continue };
            changes.retain(|change| change.at <= renamed_at);
            names.push(earlier);
            told.push(changes);
        }
        let by_a_merge = in_renamed_file(resources, &names[at], &told[at]).await?;
        if let Some((earlier, changes)) = by_a_merge.filter(|(earlier, _)| !names.contains(earlier)) {
            names.push(earlier);
            told.push(changes);
        }
        at += 1;
    }
    let mut found: Vec<GraphChangeRow> = told.into_iter().flatten().collect();
    // A rename is one commit under two names: the new one tells it.
    let kept: BTreeSet<String> =
        found.iter().filter(|found| found.kind != EntityChangeKind::Removed).map(|found| found.sha.clone()).collect();
    found.retain(|found| found.kind != EntityChangeKind::Removed || !kept.contains(&found.sha));
    found.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| (&a.sha, &a.name).cmp(&(&b.sha, &b.name))));
    Ok(found)
}

/// What a code entity that no commit introduced was in its file by an earlier path, with its changes there. A merge that brings
/// the rename of a file changes no entity, so that no commit moves those that the branch of the rename did not have.
async fn in_renamed_file(
    resources: &Resources,
    id: &NodeId,
    own: &[GraphChangeRow],
) -> Result<Option<(NodeId, Vec<GraphChangeRow>)>> {
    let NodeId::Entity { project, path, name, .. } = id else { return Ok(None) };
    if own.iter().any(|change| change.kind == EntityChangeKind::Introduced) {
        return Ok(None);
    }
    let oldest = own.last().map(|change| change.at);
    for file in replaced_by(resources, &NodeId::file(project, path)).await? {
        let NodeId::File { path: earlier, .. } = &file else { continue };
        let entity = NodeId::entity(project, earlier, name);
        let mut changes = changes_of(resources, &entity).await?;
        // What was removed there ended there.
        if changes.first().is_some_and(|newest| newest.kind != EntityChangeKind::Removed) {
            changes.retain(|change| oldest.is_none_or(|oldest| change.at <= oldest));
            return Ok(Some((entity, changes)));
        }
    }
    Ok(None)
}

/// What a node was called before.
async fn replaced_by(resources: &Resources, id: &NodeId) -> Result<Vec<NodeId>> {
    let (graph, id) = (resources.graph(), id.clone());
    let ends = blocking(move || Ok(graph.edges(&id, Direction::In, Some(Edge::ReplacedBy))?)).await?;
    Ok(ends.into_iter().map(|end| end.other).collect())
}

/// When which commit did what to a node, newest first.
pub(crate) async fn changes_of(resources: &Resources, id: &NodeId) -> Result<Vec<GraphChangeRow>> {
    let mut found = Vec::new();
    let (mut before, mut after) = (Timestamp::MAX, Value::any());
    loop {
        let bind =
            vec![("code", Value::Node(id.clone())), ("before", Value::Instant(before)), ("after", after.clone())];
        let rows = resources.graph_query(queries::CHANGES, bind).await?;
        let count = rows.len();
        for row in &rows {
            let (Some(NodeId::Commit { project, sha }), Some(at), Some(how)) = (
                row.node("commit"),
                row.text("at").and_then(|at| at.parse().ok()),
                row.text("how").and_then(|how| how.strip_prefix(NAMESPACE)),
            ) else {
                continue;
            };
            let kind = match how {
                "introduces" => EntityChangeKind::Introduced,
                "removes" => EntityChangeKind::Removed,
                _ => EntityChangeKind::Modified,
            };
            (before, after) = (at, Value::Node(NodeId::commit(project, &sha)));
            found.push(GraphChangeRow { at, sha, kind, name: id.clone() });
        }
        if count <= MAX_PAGE_ROWS {
            return Ok(found);
        }
    }
}

/// What happened to a file or symbol.
pub(crate) struct Fate {
    /// The moves, the oldest first: the commit that made each, from where, to where.
    pub(crate) moves: Vec<(String, NodeId, NodeId)>,
    /// What it was called last.
    pub(crate) last: NodeId,
    /// The commit that removed it; `None` if it is still there.
    pub(crate) removed_by: Option<GraphChangeRow>,
}

/// The change by which a file or symbol disappeared; `None` if it is still there, perhaps by another name.
pub(crate) async fn find_removal(resources: &Resources, node: NodeId) -> Result<Option<GraphChangeRow>> {
    Ok(fate_of(resources, node).await?.and_then(|fate| fate.removed_by))
}

/// What happened to a file or symbol; `None` if no commit has it.
pub(crate) async fn fate_of(resources: &Resources, node: NodeId) -> Result<Option<Fate>> {
    let mut fate = Fate { moves: Vec::new(), last: node, removed_by: None };
    while fate.moves.len() <= MAX_MOVES {
        let changes = changes_of(resources, &fate.last).await?;
        if changes.is_empty() && fate.moves.is_empty() {
            return Ok(None);
        }
        let removed = end_of(resources, &fate.last, changes).await?;
        let followed = match &removed {
            Some(removed) => taken_over(resources, &fate.last, removed).await?.map(|next| (removed.sha.clone(), next)),
            None => Box::pin(brought_elsewhere(resources, &fate.last)).await?,
        };
        let Some((sha, next)) = followed else {
            fate.removed_by = removed;
            return Ok(Some(fate));
        };
        if fate.moves.iter().any(|(_, from, _)| *from == next) {
            return Ok(Some(fate));
        }
        fate.moves.push((sha, fate.last.clone(), next.clone()));
        fate.last = next;
    }
    Ok(Some(fate))
}

/// The change by which a file or symbol lost its name; `None` if it has it. Of branches that were merged one may have removed it
/// and another one changed it later: the indexed head tells which of them the merge followed.
async fn end_of(resources: &Resources, id: &NodeId, changes: Vec<GraphChangeRow>) -> Result<Option<GraphChangeRow>> {
    let last = changes.into_iter().find(|change| change.kind != EntityChangeKind::Modified);
    let Some(removed) = last.filter(|change| change.kind == EntityChangeKind::Removed) else { return Ok(None) };
    let is_there = is_at_head(resources, id).await?;
    Ok(Some(removed).filter(|_| !is_there))
}

/// Whether the indexed head has a file or symbol. The lists tell it without what the file defines, which may be very much.
async fn is_at_head(resources: &Resources, id: &NodeId) -> Result<bool> {
    let ids = [id.clone()];
    let rows = resources.with_lists(move |lists, visibility| lists.rows(&ids, visibility)).await?;
    Ok(!rows.is_empty())
}

/// The commit that gave the file of something another path, and what that is called there, though changes of its own came under
/// the old one: a merge that brings both moves nothing itself. `None` if the indexed head has the file as it is called.
async fn brought_elsewhere(resources: &Resources, id: &NodeId) -> Result<Option<(String, NodeId)>> {
    let (NodeId::File { project, path } | NodeId::Entity { project, path, .. }) = id else { return Ok(None) };
    let file = NodeId::file(project, path);
    if is_at_head(resources, &file).await? {
        return Ok(None);
    }
    let mut removals = changes_of(resources, &file).await?;
    removals.retain(|change| change.kind == EntityChangeKind::Removed);
    for removed in removals.iter().take(MAX_MOVES) {
        let Some(NodeId::File { path: later, .. }) = taken_over(resources, &file, removed).await? else { continue };
        let next = match id {
            NodeId::Entity { name, .. } => NodeId::entity(project, later, name),
            _ => NodeId::file(project, later),
        };
        return Ok(Some((removed.sha.clone(), next)));
    }
    Ok(None)
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

/// Says which commit removed what had a name last; `None` if it is there, or nothing is known of it.
///
/// # Errors
/// A store failed.
pub(crate) async fn describe_newest_removal(
    resources: &Resources,
    name: &str,
    filter: &Filter,
) -> Result<Option<String>> {
    let mut newest: Option<(Timestamp, String)> = None;
    for project in repositories_of(resources, filter).await? {
        let nodes = find_symbols(resources, &project, name, None, &mut Vec::new()).await?;
        for node in nodes.into_iter().take(MAX_TOLD) {
            let Some(removal) = find_removal(resources, node.clone()).await? else { continue };
            if newest.as_ref().is_none_or(|(at, _)| *at < removal.at) {
                let commit = removal.sha.get(..SHORT_SHA).unwrap_or(&removal.sha);
                newest = Some((removal.at, format!("{node} was removed in {project}@{commit}")));
            }
        }
    }
    Ok(newest.map(|(_, said)| said))
}

/// Whether a path is another one, or below it.
pub(crate) fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
