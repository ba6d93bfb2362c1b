//! Finds when files and directories came that a question calls modules, packages or the like, or by two words: the `SQS
//! transport` is `transport/SQS.py`.

use std::collections::{BTreeMap, BTreeSet};

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
    candidates::{MAX_NODES, MAX_PATHS, NamedCode, changes_of_named},
    order_by_time,
};
use crate::{catalog::repositories_of, error::Result, history::changes_across_renames, resources::Resources};

/// How the paths of files end that stand for their directory, without their extension.
const PACKAGES: [&str; 3] = ["/__init__", "/mod", "/index"];

/// What a project has under a name.
#[derive(Debug)]
pub(super) struct Module {
    project: String,
    /// The path of the directory, or of the file if it is one alone.
    place: String,
    /// The paths of its files.
    files: Vec<String>,
}

/// What a file or directory is called, in plain spelling.
#[derive(Clone, Copy)]
struct CalledPlace<'a> {
    name: &'a str,
    /// The name of the directory that it is in, or of what that has several of; any if absent.
    kind: Option<&'a str>,
}

impl CalledPlace<'_> {
    /// Whether it may be in a directory of this name.
    fn is_in(self, directory: &str) -> bool {
        self.kind.is_none_or(|kind| is_of_kind(directory, kind))
    }
}

/// The directories of sources that are called what a question calls a module, or else the files; none if there are too
/// many, or nothing was added or removed.
pub(super) async fn find_modules(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
) -> Result<Vec<Module>> {
    let Some(name) = change.module.as_ref().filter(|_| may_have_place(change, filter)) else { return Ok(Vec::new()) };
    let name = plain_spelling(name);
    let found = find_places(resources, filter, CalledPlace { name: &name, kind: None }).await?;
    Ok(if found.len() > MAX_TOLD { Vec::new() } else { found })
}

/// The changes of the file or directory that is called by two words, the name of its directory behind its own: of the `SQS
/// transport` those of `transport/SQS.py`. If there is none, those of a file that others there had beside them once.
pub(super) async fn changes_of_file(
    resources: &Resources,
    change: &ChangeQuestion,
    filter: &Filter,
    missing: &mut Vec<String>,
) -> Result<Vec<MadeChange>> {
    let [written, kind] = change.names.as_slice() else { return Ok(Vec::new()) };
    if !may_have_place(change, filter) {
        return Ok(Vec::new());
    }
    let (name, kind) = (plain_spelling(written), plain_spelling(kind));
    let found = find_places(resources, filter, CalledPlace { name: &name, kind: Some(&kind) }).await?;
    if !found.is_empty() {
        let is_one = found.len() == 1;
        return if is_one { changes_of_modules(resources, change, &found, missing).await } else { Ok(Vec::new()) };
    }
    let mut gone = Vec::new();
    for project in repositories_of(resources, filter).await? {
        let paths = find_gone_files(resources, &project, &[written.as_str(), name.as_str()], &kind).await?;
        gone.extend(paths.into_iter().map(|path| (project.clone(), path)));
    }
    let [(project, path)] = gone.as_slice() else { return Ok(Vec::new()) };
    let named = NamedCode { name: path, paths: &[] };
    changes_of_named(resources, change.direction, named, vec![project.clone()], missing).await
}

/// Whether the history of files can show a change. An option is no file, whatever it is called.
fn may_have_place(change: &ChangeQuestion, filter: &Filter) -> bool {
    let is_kept = matches!(change.direction, ChangeDirection::Added | ChangeDirection::Removed);
    let is_option = change.names.iter().any(|name| name.starts_with("--"));
    is_kept && !is_option && filter.is_of_projects_alone()
}

/// The directories of sources, or else the files, that each project has under a name.
async fn find_places(resources: &Resources, filter: &Filter, called: CalledPlace<'_>) -> Result<Vec<Module>> {
    let mut found = Vec::new();
    for project in repositories_of(resources, filter).await? {
        let projects = [project.clone()];
        let known = resources.index().known_paths(ProjectScope::Only(&projects), MAX_PATHS);
        let named = places_called(known.iter().map(String::as_str), called);
        found.extend(named.into_iter().map(|(place, files)| Module { project: project.clone(), place, files }));
    }
    Ok(found)
}

/// The directories of a name with their files, or else the files of that name, each alone.
fn places_called<'a>(paths: impl Iterator<Item = &'a str>, called: CalledPlace<'_>) -> BTreeMap<String, Vec<String>> {
    let mut directories: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut files = BTreeMap::new();
    for path in paths.filter(|path| is_source(path)) {
        let (own, file) = path.rsplit_once('/').unwrap_or(("", path));
        let (mut end, mut before) = (0, "");
        for part in own.split('/') {
            end += part.len();
            if plain_spelling(part) == called.name && called.is_in(before) {
                directories.entry(own[..end].to_owned()).or_default().push(path.to_owned());
                break;
            }
            before = part;
            end += 1;
        }
        let is_named = file.rsplit_once('.').is_some_and(|(stem, _)| plain_spelling(stem) == called.name);
        if is_named && called.is_in(last_part(own)) {
            files.insert(path.to_owned(), vec![path.to_owned()]);
        }
    }
    if directories.is_empty() { files } else { directories }
}

/// Whether a directory is called after a kind of things, by one or by several of them.
fn is_of_kind(directory: &str, kind: &str) -> bool {
    let own = plain_spelling(directory);
    own == kind || own.strip_suffix('s') == Some(kind)
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The files of one of several spellings of a name that a project had once in a directory of sources of a kind.
async fn find_gone_files(resources: &Resources, project: &str, names: &[&str], kind: &str) -> Result<Vec<String>> {
    let projects = [project.to_owned()];
    let known = resources.index().known_paths(ProjectScope::Only(&projects), MAX_PATHS);
    let mut possible = BTreeSet::new();
    for path in known.iter().filter(|path| is_source(path)) {
        let Some((place, extension)) = path.rsplit_once('.') else { continue };
        // A package is what its directory is called.
        let place = PACKAGES.iter().find_map(|file| place.strip_suffix(file)).unwrap_or(place);
        let Some((directory, _)) = place.rsplit_once('/') else { continue };
        if is_of_kind(last_part(directory), kind) {
            possible.extend(names.iter().map(|name| format!("{directory}/{name}.{extension}")));
        }
    }
    if possible.len() > MAX_NODES {
        return Ok(Vec::new());
    }
    let mut gone = Vec::new();
    for path in possible {
        if !changes_across_renames(resources, &NodeId::file(project, &path)).await?.is_empty() {
            gone.push(path);
        }
    }
    Ok(gone)
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
        let called = |name| {
            let place = CalledPlace { name, kind: None };
            places_called(paths.into_iter(), place).into_iter().collect::<Vec<_>>()
        };
        let files = vec!["src/modules/cart/main.rs".to_owned(), "src/modules/cart/sub/item.rs".to_owned()];
        assert_eq!(called("cart"), [("src/modules/cart".to_owned(), files)]);
        assert_eq!(called("orders"), [("src/orders.rs".to_owned(), vec!["src/orders.rs".to_owned()])]);
        assert_eq!(called("basket"), []);
    }

    #[test]
    fn a_place_that_two_words_call_is_in_a_directory_of_the_second() {
        let paths = [
            "shop/cart.py",
            "shop/transport/Http.py",
            "shop/transport/pubsub/main.py",
            "shop/transport/test_http.py",
            "shop/transports/cart.py",
            "tests/transport/mail.py",
        ];
        let called = |name| {
            let place = CalledPlace { name, kind: Some("transport") };
            places_called(paths.into_iter(), place).into_keys().collect::<Vec<_>>()
        };
        assert_eq!(called("http"), ["shop/transport/Http.py"]);
        assert_eq!(called("pubsub"), ["shop/transport/pubsub"]);
        assert_eq!(called("cart"), ["shop/transports/cart.py"]);
        // Neither a test nor what is elsewhere.
        assert_eq!((called("mail"), called("shop"), called("main")), (vec![], vec![], vec![]));
    }
}
