//! Recognizes which configured project a repository on this machine is a copy of, if its `origin` does not say.

use std::path::Path;

use backstory_model::{
    commit::Sha,
    entity::{Item, ItemKind, MergeRequest},
};
use backstory_sources::git::{
    naming::{host_and_project, objects_directory, remote_urls},
    objects::Objects,
};

use crate::{error::Result, records::parse_item, resources::Resources};

/// Merge requests of each project whose commits are looked for.
const MAX_LOOKED_FOR: usize = 50;

/// The project that a remote of the repository names, or else the only one whose merge requests were merged as commits
/// of the repository.
pub(super) fn find_project_of_clone(resources: &Resources, path: &Path) -> Result<Option<String>> {
    let mut candidates: Vec<&str> = Vec::new();
    for (_, project) in resources.settings().projects() {
        let other = resources.ledger().repository(project)?.filter(|entry| Path::new(&entry.address) != path);
        if other.is_none() {
            candidates.push(project);
        }
    }
    let remotes = remote_urls(path);
    let named: Vec<&str> = remotes.iter().filter_map(|url| Some(host_and_project(url)?.1)).collect();
    if let Some(project) = candidates.iter().find(|project| named.contains(project)) {
        return Ok(Some((*project).to_owned()));
    }
    // Cloning reports whatever is wrong with it.
    let Some(objects) = objects_directory(path).and_then(|directory| Objects::open(&directory).ok()) else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for project in candidates {
        if was_merged_into(resources, project, &objects)? {
            found.push(project.to_owned());
        }
    }
    let only = found.pop();
    Ok(only.filter(|_| found.is_empty()))
}

fn was_merged_into(resources: &Resources, project: &str, objects: &Objects) -> Result<bool> {
    let keys = resources.ledger().keys(project, ItemKind::MergeRequest)?;
    for key in keys.iter().rev().take(MAX_LOOKED_FOR) {
        let Some(stored) = resources.ledger().item(project, ItemKind::MergeRequest, key)? else { continue };
        // One that cannot be read says nothing.
        let Ok(Item::MergeRequest(request)) = parse_item(resources, &stored) else { continue };
        for sha in merged_as(&request) {
            if objects.exists(sha)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn merged_as(request: &MergeRequest) -> impl Iterator<Item = Sha> {
    let names = [&request.merge_commit_sha, &request.squash_commit_sha, &request.head_sha];
    names.into_iter().flatten().filter(|_| request.merged_at.is_some()).filter_map(|name| name.parse().ok())
}
