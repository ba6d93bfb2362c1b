//! Finds when definitions got or lost a part: a function a parameter, a type a field, an attribute or a parameter of its
//! constructor.

use backstory_model::{
    change_question::{ChangeDirection, ChangeQuestion, ParameterName},
    code::name_without_count,
    filter::Filter,
    id::NodeId,
};
use jiff::Timestamp;

use super::{
    MadeChange,
    candidates::{NamedCode, changes_of_named, named_nodes, place_of, retain_sources, retain_whole_names},
    order_by_time,
    versions::{MAX_ANALYZED, Member, MemberFate, find_members},
};
use crate::{catalog::repositories_of, error::Result, resources::Resources};

/// Most definitions of one name that are looked at.
const MAX_OWNERS: usize = 6;

/// The commits that added a parameter to the functions that a question names, or removed it. Says where it still is, if that
/// is asked of what was removed.
pub(super) async fn changes_of_parameter(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    let Some(ParameterName { name, function: Some(function) }) = &change.parameter else { return Ok(Vec::new()) };
    let owners = find_owners(resources, change, function, filter).await?;
    changes_within(resources, change, name, &owners, missing).await
}

/// The commits that added what a question names to the definition that it names beside it, or removed it: what elsewhere has
/// that name is something else. `None` if the question names no definition.
pub(super) async fn changes_of_member(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
    missing: &mut Vec<String>,
) -> Result<Option<Vec<MadeChange>>> {
    let (Some(owner), [name]) = (&change.owner, change.names.as_slice()) else { return Ok(None) };
    let owners = find_owners(resources, change, owner, filter).await?;
    if owners.is_empty() {
        return Ok(None);
    }
    let said = missing.len();
    let own = format!("{owner}.{name}");
    let mut projects: Vec<String> = owners.iter().filter_map(NodeId::project).map(str::to_owned).collect();
    projects.dedup();
    let named = NamedCode { name: &own, paths: &change.paths };
    let made = changes_of_named(resources, change.direction, named, projects, missing).await?;
    if !made.is_empty() || missing.len() > said {
        return Ok(Some(made));
    }
    Ok(Some(changes_within(resources, change, name, &owners, missing).await?))
}

/// The definitions of a name, those of sources before those of tests. Those of one name in a file, such as overloads, are one.
async fn find_owners(
    resources: &Resources,
    change: &ChangeQuestion,
    name: &str,
    filter: &Filter,
) -> Result<Vec<NodeId>> {
    let mut owners = Vec::new();
    if !matches!(change.direction, ChangeDirection::Added | ChangeDirection::Removed) || !filter.is_of_projects_alone()
    {
        return Ok(owners);
    }
    let named = NamedCode { name, paths: &change.paths };
    for project in repositories_of(resources, filter).await? {
        let mut nodes = named.within_paths(named_nodes(resources, &project, name).await?);
        retain_whole_names(&mut nodes, name);
        retain_sources(&mut nodes);
        for node in nodes {
            let NodeId::Entity { project, path, name } = &node else { continue };
            let owner = NodeId::entity(project, path, name_without_count(name));
            if !owners.contains(&owner) {
                owners.push(owner);
            }
        }
    }
    owners.truncate(MAX_OWNERS);
    Ok(owners)
}

/// The commits that changed what definitions have, by the versions of their files.
async fn changes_within(
    resources: &Resources,
    change: &ChangeQuestion,
    name: &str,
    owners: &[NodeId],
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    let mut found: Vec<(Timestamp, MadeChange)> = Vec::new();
    let mut left = MAX_ANALYZED;
    for owner in owners {
        let NodeId::Entity { project, path, name: holder } = owner else { continue };
        let member = Member { holder: Some(holder.clone()), name: name.to_owned(), is_parameter: true };
        let file = NodeId::file(project, path);
        let fates = Box::pin(find_members(resources, &file, vec![member], change.direction, &mut left)).await?;
        for fate in fates {
            match fate {
                MemberFate::Changed { sha, at } => {
                    let node = NodeId::commit(project, &sha);
                    if !found.iter().any(|(_, known)| known.node == node) {
                        found.push((
                            at,
                            MadeChange { node, place: Some(place_of(owner)), sentence: None, removal: None },
                        ));
                    }
                }
                MemberFate::There => missing.push(format!("'{name}' is there now: {}", place_of(owner))),
                MemberFate::Unknown => {}
            }
        }
    }
    order_by_time(&mut found, change.direction, |(at, _)| *at);
    Ok(found.into_iter().map(|(_, made)| made).collect())
}
