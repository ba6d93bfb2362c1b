//! Finds when files and directories came that a question calls modules, packages or the like.

use std::collections::BTreeMap;

use backstory_model::{
    change_question::{ChangeDirection, ChangeQuestion},
    classify::{PathKind, path_kind},
    code::plain_spelling,
    file_role::{FileRole, file_role},
    filter::Filter,
    id::NodeId,
    repository::EntityChangeKind,
};
use backstory_store::index::ProjectScope;
use jiff::Timestamp;

use super::{
    MAX_TOLD, MadeChange,
    candidates::{MAX_NODES, MAX_PATHS, PACKAGES, is_of_projects_alone},
    order_by_time,
};
use crate::{catalog::repositories_of, error::Result, history::changes_across_renames, resources::Resources};

/// What a project has under a name.
#[derive(Debug)]
pub(super) struct Module {
    project: String,
    /// The path of the directory, or of the file if it is one alone.
    place: String,
    /// The paths of its files.
    files: Vec<String>,
}

/// The directories of sources that are called what a question calls a module, or else the files; none if there are too
/// many, or nothing was added or removed.
pub(super) async fn find_modules(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
) -> Result<Vec<Module>> {
    let is_fact = change.direction != ChangeDirection::Fixed && is_of_projects_alone(filter);
    let Some(name) = change.module.as_ref().filter(|_| is_fact) else { return Ok(Vec::new()) };
    let name = plain_spelling(name);
    let mut found = Vec::new();
    for project in repositories_of(resources, filter).await? {
        let projects = [project.clone()];
        let known = resources.index().known_paths(ProjectScope::Only(&projects), MAX_PATHS);
        let named = places_called(known.iter().map(String::as_str), &name);
        found.extend(named.into_iter().map(|(place, files)| Module { project: project.clone(), place, files }));
    }
    if found.len() > MAX_TOLD {
        found.clear();
    }
    Ok(found)
}

/// The directories of a name with their files, or else the files of that name, each alone.
fn places_called<'a>(paths: impl Iterator<Item = &'a str>, name: &str) -> BTreeMap<String, Vec<String>> {
    let mut directories: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut files = BTreeMap::new();
    for path in paths.filter(|path| is_source(path)) {
        let (own, file) = path.rsplit_once('/').unwrap_or(("", path));
        let mut end = 0;
        for part in own.split('/') {
            end += part.len();
            if plain_spelling(part) == name {
                directories.entry(own[..end].to_owned()).or_default().push(path.to_owned());
                break;
            }
            end += 1;
        }
        if file.rsplit_once('.').is_some_and(|(stem, _)| plain_spelling(stem) == name) {
            files.insert(path.to_owned(), vec![path.to_owned()]);
        }
    }
    if directories.is_empty() { files } else { directories }
}

/// Whether a path is of what the program is made of.
fn is_source(path: &str) -> bool {
    file_role(path) == FileRole::Source && path_kind(path) == PathKind::Source
}

/// The commits with which modules came. None removed them: they are there, which is said.
pub(super) async fn changes_of_modules(
    resources: &Resources,
    change: &ChangeQuestion,
    modules: &[Module],
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    if change.direction == ChangeDirection::Removed {
        let places: Vec<&str> = modules.iter().map(|module| module.place.as_str()).collect();
        missing.push(format!("'{}' is there now: {}", change.subject, places.join(", ")));
        return Ok(Vec::new());
    }
    let mut found: Vec<(Timestamp, MadeChange)> = Vec::new();
    for module in modules {
        let mut first: Option<(Timestamp, MadeChange)> = None;
        for path in oldest_names(&module.files) {
            let changes = changes_across_renames(resources, &NodeId::file(&module.project, path)).await?;
            let Some(came) = changes.iter().rev().find(|change| change.kind == EntityChangeKind::Introduced) else {
                continue;
            };
            if first.as_ref().is_none_or(|(at, _)| came.at < *at) {
                let node = NodeId::commit(&module.project, &came.sha);
                let made = MadeChange { node, place: Some(module.place.clone()), sentence: None, removal: None };
                first = Some((came.at, made));
            }
        }
        found.extend(first);
    }
    order_by_time(&mut found, change.direction, |(at, _)| *at);
    Ok(found.into_iter().map(|(_, made)| made).collect())
}

/// The files of a module that are looked at: those that stand for it first.
fn oldest_names(files: &[String]) -> impl Iterator<Item = &String> {
    let stands_for_it = |path: &&String| {
        let place = path.rsplit_once('.').map_or(path.as_str(), |(place, _)| place);
        PACKAGES.iter().any(|file| place.ends_with(file))
    };
    let others = files.iter().filter(move |path| !stands_for_it(path));
    files.iter().filter(stands_for_it).chain(others).take(MAX_NODES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_sources_goes_before_files_of_its_name() {
        let paths = [
            "docs/cart.md",
            "examples/cart.rs",
            "src/modules/cart/main.rs",
            "src/modules/cart/sub/item.rs",
            "src/orders.rs",
            "tests/orders.rs",
        ];
        let called = |name| places_called(paths.into_iter(), name).into_iter().collect::<Vec<_>>();
        let files = vec!["src/modules/cart/main.rs".to_owned(), "src/modules/cart/sub/item.rs".to_owned()];
        assert_eq!(called("cart"), [("src/modules/cart".to_owned(), files)]);
        assert_eq!(called("orders"), [("src/orders.rs".to_owned(), vec!["src/orders.rs".to_owned()])]);
        assert_eq!(called("basket"), []);
    }
}
