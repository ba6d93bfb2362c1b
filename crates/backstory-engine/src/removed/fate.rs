//! The removals of files and symbols, and where they went.

use std::collections::BTreeSet;

use backstory_model::{
    code::FileAnalysis,
    entity::{Item, ItemKind},
    id::NodeId,
    repository::{Record, RepositoryItem},
};

use super::{Move, Occurrence, Removal, Removals, explain};
use crate::{
    code::CommitSummary,
    error::Result,
    history::{changes_across_renames, fate_of},
    records::{commit_record, parse_item},
    resources::Resources,
};

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
                    let path = in_project(&fate.last);
                    match is_gone(resources, &fate.last)? {
                        true => answer.missing.push(format!(
                            "{path} is not in the indexed head, but no commit that was read removed it: a merge may have"
                        )),
                        false => answer.present.push(Occurrence { path, line: None }),
                    }
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

/// Whether the indexed head surely lacks a file or symbol.
fn is_gone(resources: &Resources, node: &NodeId) -> Result<bool> {
    let (NodeId::File { project, path } | NodeId::Entity { project, path, .. }) = node else { return Ok(false) };
    let Some(item) = resources.ledger().item(project, ItemKind::File, path)? else { return Ok(true) };
    let NodeId::Entity { name, .. } = node else { return Ok(false) };
    let Item::Repository(RepositoryItem { record: Record::File(file), .. }) = parse_item(resources, &item)? else {
        return Ok(false);
    };
    let code = file.analysis.as_ref().and_then(FileAnalysis::code);
    Ok(code.is_some_and(|code| code.entities.iter().all(|entity| entity.qualified_name != *name)))
}

/// All paths that a file has had or has since: where its lines can have been.
pub(super) async fn paths_of(resources: &Resources, project: &str, path: &str) -> Result<(Vec<String>, Vec<Move>)> {
    let node = NodeId::file(project, path);
    let Some(fate) = fate_of(resources, node.clone()).await? else { return Ok((vec![path.to_owned()], Vec::new())) };
    let mut paths = BTreeSet::from([path.to_owned()]);
    let names = fate.moves.iter().map(|(.., to)| to.clone());
    let earlier = changes_across_renames(resources, &node).await?.into_iter().map(|change| change.name);
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
