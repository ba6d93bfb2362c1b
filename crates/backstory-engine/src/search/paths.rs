//! Names the path that is nearest to one that no file has.

use std::collections::BTreeSet;

use backstory_model::{filter::Filter, id::NodeId, text::truncate_echo};
use backstory_store::index::{Index, ProjectScope};

use crate::{
    error::message,
    nearest::{allowed_typos, likeness, may_be_meant, within_typos},
    resources::Resources,
};

/// Most paths that are looked at, the first by name.
pub(super) const MAX_PATHS: usize = 100_000;
/// Longest path that is compared letter by letter, in bytes.
const MAX_LENGTH: usize = 100;
/// Most paths with few typos that are compared by their names.
const MAX_NEAR: usize = 20;
/// Prefixes that no file has, of which each is told with the nearest path.
const MAX_ABSENT: usize = 3;

/// Says of the prefixes of paths of a filter with which no file begins what is nearest.
pub(super) fn describe_absent_prefixes(index: &Index, filter: &Filter) -> Vec<String> {
    let projects = ProjectScope::of(filter);
    let is_absent = |prefix: &&str| !index.has_documents_below(prefix, projects);
    let absent: Vec<&str> = filter.paths.iter().map(String::as_str).filter(is_absent).collect();
    describe("no file begins with", &absent, index, projects)
}

/// Says of paths at and below which there is nothing in some projects, or in all, what is nearest.
pub(crate) fn describe_absent_paths(index: &Index, projects: &[String], absent: &[&str]) -> Vec<String> {
    let projects = if projects.is_empty() { ProjectScope::All } else { ProjectScope::Only(projects) };
    describe("nothing is at or below the path", absent, index, projects)
}

fn describe(what: &str, absent: &[&str], index: &Index, projects: ProjectScope<'_>) -> Vec<String> {
    if absent.is_empty() {
        return Vec::new();
    }
    let files = index.known_paths(projects, MAX_PATHS);
    let known: BTreeSet<&str> = files.iter().flat_map(|path| directories(path).chain([path.as_str()])).collect();
    let describe = |path: &&str| {
        let nearest = find_nearest(path, &known).map(|path| format!("; {}", nearest_path(path)));
        message(&format!("{what} '{}'{}", truncate_echo(path), nearest.unwrap_or_default()))
    };
    absent.iter().take(MAX_ABSENT).map(describe).collect()
}

/// A hint at the file that is nearest to one of which nothing is known; `None` for what is no file, or in one that is
/// there.
pub(super) fn hint_at_nearest_file(resources: &Resources, id: &NodeId) -> Option<String> {
    let (NodeId::File { project, path } | NodeId::Entity { project, path, .. }) = id else { return None };
    let projects = [project.clone()];
    let files = resources.index().known_paths(ProjectScope::Only(&projects), MAX_PATHS);
    let known: BTreeSet<&str> = files.iter().map(String::as_str).collect();
    let is_there = known.contains(path.as_str());
    find_nearest(path, &known).filter(|_| !is_there).map(nearest_path)
}

fn nearest_path(path: &str) -> String {
    format!("the nearest path is '{}'", truncate_echo(path))
}

/// The directories that a file is in, each with `/` at its end.
fn directories(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..=at])
}

/// The path that is nearest to one that is not there: one that ends with it, one of the same name, one with few typos, the
/// directory that it would be in, or one at the root that is much like it; `None` if nothing is near.
fn find_nearest<'a>(absent: &str, known: &BTreeSet<&'a str>) -> Option<&'a str> {
    let wanted = plain(absent.trim_start_matches("./"));
    let name = wanted.rsplit('/').next().unwrap_or_default();
    ending_with(&wanted, known)
        .or_else(|| ending_with(name, known))
        .or_else(|| with_fewest_typos(&wanted, known))
        .or_else(|| directories(absent).filter_map(|directory| known.get(directory).copied()).last())
        .or_else(|| at_the_root(absent, &wanted, known))
}

/// A path in lower case, without `/` around it.
fn plain(path: &str) -> String {
    path.trim_matches('/').to_lowercase()
}

/// The shortest path with these last parts.
fn ending_with<'a>(end: &str, known: &BTreeSet<&'a str>) -> Option<&'a str> {
    let end = format!("/{end}");
    let has_end = |path: &&str| format!("/{}", plain(path)).ends_with(&end);
    known.iter().copied().filter(has_end).min_by_key(|path| path.len()).filter(|_| end.len() > 1)
}

fn with_fewest_typos<'a>(wanted: &str, known: &BTreeSet<&'a str>) -> Option<&'a str> {
    if wanted.len() > MAX_LENGTH {
        return None;
    }
    let compared = known.iter().copied().filter(|path| path.len() <= MAX_LENGTH);
    // In a short path of few letters nearly everything is a typo, so the name alone must be near, too.
    let is_near = |path: &&str| may_be_meant(name_of(wanted), name_of(path));
    within_typos(wanted, compared, allowed_typos(wanted), MAX_NEAR).into_iter().find(is_near)
}

/// The last part of a path.
fn name_of(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// What is most like it at the root, if anything is much like it: a directory if it is one.
fn at_the_root<'a>(absent: &str, wanted: &str, known: &BTreeSet<&'a str>) -> Option<&'a str> {
    let is_at_root = |path: &&str| {
        path.len() <= MAX_LENGTH && !path.trim_end_matches('/').contains('/') && may_be_meant(wanted, path)
    };
    let rate = |path: &str| (path.ends_with('/') == absent.ends_with('/'), likeness(wanted, path));
    let compared = known.iter().copied().filter(is_at_root);
    compared.max_by(|one, other| {
        let ((alike, likeness), (other_alike, other_likeness)) = (rate(one), rate(other));
        alike.cmp(&other_alike).then(likeness.total_cmp(&other_likeness)).then_with(|| other.cmp(one))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_path_ends_alike_or_has_few_typos_or_is_where_it_would_be() {
        let files =
            ["INTRO.md", "crates/engine/src/ask.rs", "crates/engine/src/chat.rs", "src/auth/keys.rs", "src/cart.py"];
        let known: BTreeSet<&str> = files.iter().flat_map(|path| directories(path).chain([*path])).collect();
        for (absent, nearest) in [
            ("cart.py", "src/cart.py"),
            ("lib/cart.py", "src/cart.py"),
            ("engine/src", "crates/engine/src/"),
            ("./Src/", "src/"),
            ("src/catr.py", "src/cart.py"),
            ("srcs/", "src/"),
            ("src/auth/middleware/", "src/auth/"),
            ("INTRODUCTION.md", "INTRO.md"),
        ] {
            assert_eq!(find_nearest(absent, &known), Some(nearest), "{absent}");
        }
        // Of what is near to nothing nothing is told.
        for absent in ["documentation/", "nope.go", "/", "@alice", &"a/".repeat(500)] {
            assert_eq!(find_nearest(absent, &known), None, "{absent}");
        }
        let files = BTreeSet::from(["doc/util.go"]);
        assert_eq!(find_nearest("doc/nope.go", &files), None);
        assert_eq!(find_nearest("doc/utils.go", &files), Some("doc/util.go"));
        assert_eq!(find_nearest("nope/", &BTreeSet::new()), None);
    }
}
