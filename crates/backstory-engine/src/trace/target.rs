//! Resolves what a trace is about: a path, lines, a symbol or a node, at which commit.

use std::{collections::BTreeSet, sync::Arc};

use backstory_model::{
    code::{CodeAnalysis, Entity},
    commit::{Commit, ObjectKind, RepoPath, Sha, Tag},
    edge::Edge,
    entity::ItemKind,
    id::{NodeId, is_revision},
    lineage::{BlameOrigin, Lineage},
    repository::{HeadFile, Repository},
    text::truncate_echo,
};
use backstory_sources::git::{
    checkout::resolve_commit,
    lineage::{self, FileOutcome, Mode, Options, Untraced},
    objects::{ObjectError, Objects},
    refs,
};
use backstory_store::{
    graph::{AdjacentEdge, Direction},
    ledger::{RepositoryEntry, StoredBlame},
};
use serde::{Deserialize, Serialize};

use super::Indexed;
use crate::{
    catalog::unknown_repository,
    clones::{clone_path, open_objects},
    error::{Error, ErrorKind, Result},
    nearest::{NAMED, allowed_typos, most_alike, most_similar, within_typos},
    records::{commit_record, repository_record},
    repository::lineage::clean_lineage,
    resources::Resources,
    revisions::{ref_names, with_names_like},
};

/// Longest revision that follows from another, in bytes.
const MAX_REVISION: usize = 60;
/// The revision that stands for the indexed head.
const HEAD: &str = "HEAD";
/// Most moves of a file that are followed.
const MAX_MOVES: usize = 20;

/// What is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Lines of a file, first and last from 1; all of them if absent.
    Lines {
        /// Path from the repository's root.
        path: String,
        /// First and last line.
        lines: Option<(u32, u32)>,
    },
    /// A symbol of a file, by its name or its qualified name.
    Symbol {
        /// Path from the repository's root.
        path: String,
        /// Its name.
        name: String,
    },
    /// A commit, merge request, issue, discussion, file or code entity.
    Node(NodeId),
}

/// A commit of a repository at which paths are looked up.
pub(crate) struct Revision {
    pub(crate) entry: RepositoryEntry,
    pub(super) repository: Arc<Repository>,
    pub(crate) objects: Arc<Objects>,
    pub(crate) commit: Sha,
    /// The branch whose head it is, if its lineage is kept.
    pub(crate) branch: Option<String>,
}

impl Revision {
    pub(crate) fn project(&self) -> &str {
        &self.entry.project
    }

    /// What is known of the repository as a whole.
    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(crate) fn indexed(&self) -> Indexed {
        let default = self.repository.default_branch.as_ref();
        let head = default.and_then(|name| self.entry.indexed.get(name.as_str()));
        Indexed { commit: head.or(self.entry.indexed.values().next()).copied(), synced_at: self.entry.synced_at }
    }
}

/// The commit that a branch, tag or name of a commit means in the repository of a project.
///
/// # Errors
/// The project has no indexed repository, or that has no such revision.
pub(crate) fn find_commit(resources: &Resources, project: &str, rev: &str) -> Result<Sha> {
    Ok(resolve_place(resources, Some(project), Some(rev))?.commit)
}

/// The repository of a project, or the only one, and a commit of it.
pub(crate) fn resolve_place(resources: &Resources, project: Option<&str>, rev: Option<&str>) -> Result<Revision> {
    let entry = match project {
        Some(project) => {
            resources.ledger().repository(project)?.ok_or_else(|| unknown_repository(resources, project))?
        }
        None => {
            let mut all = resources.ledger().repositories()?;
            match (all.pop(), all.len()) {
                (Some(only), 0) => only,
                (None, _) => {
                    return Err(Error::new(ErrorKind::NotFound, "no repository is indexed")
                        .with_hint("add one with 'backstory add PATH'"));
                }
                (Some(last), _) => {
                    all.push(last);
                    let names: Vec<&str> = all.iter().map(|entry| entry.project.as_str()).collect();
                    return Err(Error::invalid("several repositories are indexed").with_hint(format!(
                        "name its project (--project): {}; 'backstory add .' indexes the clone that you stand in",
                        names.join(", ")
                    )));
                }
            }
        }
    };
    let not_yet = || {
        Error::new(ErrorKind::NotFound, format!("{} is not indexed yet", entry.project))
            .with_hint("run 'backstory sync' and ask again")
    };
    let repository = repository_record(resources, &entry.project)?.ok_or_else(not_yet)?;
    let default = repository.default_branch.as_ref().map(|name| name.as_str().to_owned());
    let objects = open_objects(resources, &entry.project)?;
    let (commit, branch) = match rev {
        Some(rev) => resolve_revision(resources, &entry, &objects, rev)?,
        None => {
            let head = default.as_ref().and_then(|name| Some((entry.indexed.get(name)?, name.clone())));
            let any = || entry.indexed.iter().next().map(|(name, tip)| (tip, name.clone()));
            match head.or_else(any) {
                Some((tip, name)) => (*tip, Some(name)),
                // While it is indexed for the first time, its clone answers.
                None => {
                    let name = default.as_deref().ok_or_else(not_yet)?;
                    resolve_revision(resources, &entry, &objects, name).map_err(|_| not_yet())?
                }
            }
        }
    };
    Ok(Revision { repository, objects, commit, branch, entry })
}

/// What a name of a branch or tag, or a whole or abbreviated object name, stands for.
fn resolve_revision(
    resources: &Resources,
    entry: &RepositoryEntry,
    objects: &Objects,
    rev: &str,
) -> Result<(Sha, Option<String>)> {
    if let Some(tip) = entry.indexed.get(rev) {
        return Ok((*tip, Some(rev.to_owned())));
    }
    let unknown = || {
        let message = format!("'{}' is not a branch, tag or commit of {}", truncate_echo(rev), entry.project);
        Error::new(ErrorKind::NotFound, message).with_hint("check it, or run 'backstory sync'")
    };
    if let Some(sha) = Sha::from_hex(rev.to_ascii_lowercase().as_bytes()) {
        let is_commit = objects.kind(sha)? == Some(ObjectKind::Commit);
        return if is_commit { Ok((sha, None)) } else { Err(unknown()) };
    }
    if let Some(record) = backstory_model::id::is_sha(rev)
        .then(|| commit_record(resources, &entry.project, &rev.to_ascii_lowercase()))
        .transpose()?
        .flatten()
    {
        return Ok((record.commit.sha, None));
    }
    let refs = refs::read(&clone_path(resources, &entry.project))?;
    let branch = refs.branches.iter().find(|branch| branch.name.as_str() == rev).map(|branch| branch.tip);
    if branch.is_none() && rev == HEAD {
        return resolve_place(resources, Some(&entry.project), None).map(|head| (head.commit, head.branch));
    }
    let is_it = |tag: &&Tag| tag.name.as_str() == rev && tag.kind == ObjectKind::Commit;
    let tag = || refs.tags.iter().find(is_it).map(|tag| tag.target);
    let commit = branch.or_else(tag);
    if commit.is_none()
        && let Some(at) = rev.find(['~', '^']).filter(|_| rev.len() <= MAX_REVISION && is_revision(rev))
    {
        let (base, _) = resolve_revision(resources, entry, objects, &rev[..at])?;
        let found = resolve_commit(&clone_path(resources, &entry.project), &format!("{base}{}", &rev[at..]));
        return found.map(|commit| (commit, None)).ok_or_else(unknown);
    }
    let commit = commit.ok_or_else(|| with_names_like(unknown(), &ref_names(&refs), rev))?;
    Ok((commit, None))
}

/// Where the lines of a file come from.
pub(crate) fn lineage_at(resources: &Resources, place: &Revision, path: &str) -> Result<Arc<Lineage>> {
    if let Some(lineage) = stored_lineage(resources, place, path)? {
        return Ok(lineage);
    }
    compute_lineage(resources, place, path, &ignored_revisions(resources, place)?, Mode::SeeThrough)
}

/// The lineage that is kept of a file, if one is kept of that commit's.
fn stored_lineage(resources: &Resources, place: &Revision, path: &str) -> Result<Option<Arc<Lineage>>> {
    check_name(resources, path)?;
    // While a sync is under way the stored lineage may be that of the next head already.
    let Some(branch) = &place.branch else { return Ok(None) };
    match resources.ledger().lineage_of_tip(place.project(), branch, place.commit, path)? {
        Some(Some(StoredBlame::Traced(lineage))) => Ok(Some(Arc::new(lineage))),
        Some(Some(StoredBlame::Binary)) => Err(not_blamed_error(path, Untraced::Binary)),
        Some(Some(StoredBlame::TooLarge)) => Err(not_blamed_error(path, Untraced::TooLarge)),
        Some(None) => Err(no_such_path(resources, place, path)?),
        None => Ok(None),
    }
}

/// The commits that pass their lines on, as those of the default branch's head are known.
fn ignored_revisions(resources: &Resources, place: &Revision) -> Result<Vec<Sha>> {
    let default = place.repository.default_branch.as_ref().map_or("", |name| name.as_str());
    let head = resources.ledger().lineage_head(place.project(), default)?;
    Ok(head.map(|head| head.ignored).unwrap_or_default())
}

/// How many lines a file has, and where the first to the last of those that are asked about come from.
pub(crate) fn origins_at(
    resources: &Resources,
    place: &Revision,
    path: &str,
    (first, last): (u32, u32),
) -> Result<(u32, Vec<BlameOrigin>)> {
    let count = last.saturating_sub(first).saturating_add(1);
    if let Some(lineage) = stored_lineage(resources, place, path)? {
        return Ok((lineage.lines(), lineage.origins(first, count).collect()));
    }
    let (clone, ignored) = (clone_path(resources, place.project()), ignored_revisions(resources, place)?);
    let lines = (path, first, count);
    let Some(found) = lineage::blame_lines_at(&clone, place.commit, lines, &ignored, &Options::default())? else {
        return Err(no_such_path(resources, place, path)?);
    };
    match found.outcome {
        FileOutcome::Untraced(why) => Err(not_blamed_error(path, why)),
        FileOutcome::Traced(lineage) => {
            let lineage = clean_lineage(resources, lineage);
            let moved = |origin: BlameOrigin| BlameOrigin { start: origin.start + first - 1, ..origin };
            Ok((found.file_lines, lineage.origins(1, count).map(moved).collect()))
        }
    }
}

/// Refuses a path that holds what looks like a secret.
fn check_name(resources: &Resources, path: &str) -> Result<()> {
    if resources.redact_name(path) == path {
        return Ok(());
    }
    Err(Error::invalid(format!("{path} is left out, as its path holds what looks like a secret"))
        .with_hint("rename it, or allow that text under [redact]"))
}

/// The blame of a file as `git blame -w` has it: through renames and white space, and nothing else. It is not stored.
///
/// # Errors
/// There is no such file, it has no lines, or the clone cannot be read.
pub(crate) fn plain_lineage_at(resources: &Resources, place: &Revision, path: &str) -> Result<Arc<Lineage>> {
    check_name(resources, path)?;
    compute_lineage(resources, place, path, &[], Mode::Plain)
}

fn compute_lineage(
    resources: &Resources,
    place: &Revision,
    path: &str,
    ignored: &[Sha],
    mode: Mode,
) -> Result<Arc<Lineage>> {
    let options = Options { mode, ..Options::default() };
    match lineage::blame_file_at(&clone_path(resources, place.project()), place.commit, path, ignored, &options)? {
        Some(FileOutcome::Traced(lineage)) => Ok(clean_lineage(resources, lineage)),
        Some(FileOutcome::Untraced(why)) => Err(not_blamed_error(path, why)),
        None => Err(no_such_path(resources, place, path)?),
    }
}

/// Says what stands at a path that has no lineage, or which paths are like it.
pub(crate) fn no_such_path(resources: &Resources, place: &Revision, path: &str) -> Result<Error> {
    let project = place.project();
    if path.split('/').any(|part| part == "..") || path.starts_with('/') {
        return Ok(Error::invalid(format!("'{}' is outside of the repository", truncate_echo(path)))
            .with_hint("write the path from its root, like src/main.rs"));
    }
    let plain = path.trim_end_matches('/');
    if plain.is_empty() {
        return Ok(Error::invalid("the path is empty").with_hint("write the path of a file, like src/main.rs"));
    }
    match place.objects.entry(place.commit, &RepoPath::from_escaped(plain)) {
        Ok(entry) if entry.mode.is_symlink() => {
            return Ok(
                Error::invalid(format!("{path} is a symbolic link")).with_hint("ask about the file it points at")
            );
        }
        Ok(entry) if entry.mode.is_submodule() => {
            return Ok(Error::invalid(format!("{path} is a submodule")).with_hint("index its repository and ask there"));
        }
        Ok(_) => return Ok(Error::invalid(format!("{path} is a directory")).with_hint("ask about a file in it")),
        Err(ObjectError::NoSuchPath { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let short = &place.commit.to_string()[..12];
    let absent = format!("there is no file {path} in {project} at {short}");
    if let Some(removal) = find_removal(resources, place, plain)? {
        let (sha, title) = (removal.sha.short(), truncate_echo(removal.title()));
        let day = removal.committer.at.strftime("%Y-%m-%d");
        if let Some(now) = moved_to(resources, place, plain, &removal)? {
            let message = format!("{absent}; {sha} ({title}, {day}) moved it to {now}");
            return Ok(Error::new(ErrorKind::NotFound, message).with_hint(format!("ask about {now}")));
        }
        return Ok(Error::new(ErrorKind::NotFound, format!("{absent}; it was removed by {sha} ({title}, {day})"))
            .with_hint(format!("'backstory why {project}@{sha}' explains that commit")));
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let paths = resources.ledger().keys(project, ItemKind::File)?;
    let mut alike: Vec<&str> =
        paths.iter().map(String::as_str).filter(|known| known.rsplit('/').next() == Some(name)).take(NAMED).collect();
    if alike.is_empty() {
        alike = most_similar(&paths, path);
    }
    Ok(Error::new(ErrorKind::NotFound, absent).with_hint(match alike.is_empty() {
        true => "check the path, or run 'backstory sync'".to_owned(),
        false => format!("did you mean {}?", alike.join(", ")),
    }))
}

/// The path at which a file is that a commit removed, if it was moved there and is still there.
fn moved_to(resources: &Resources, place: &Revision, path: &str, removal: &Commit) -> Result<Option<String>> {
    let (mut at, mut removal) = (path.to_owned(), removal.clone());
    for _ in 0..MAX_MOVES {
        let node = NodeId::file(place.project(), &at);
        let Some(NodeId::File { path, .. }) = taken_over(resources, &node, &removal.sha.to_string())? else {
            return Ok(None);
        };
        if place.objects.entry(place.commit, &RepoPath::from_escaped(&path)).is_ok() {
            return Ok(Some(path));
        }
        match find_removal(resources, place, &path)? {
            Some(next) => (at, removal) = (path, next),
            None => return Ok(None),
        }
    }
    Ok(None)
}

/// What a file or code entity was called after a commit that took its name away; `None` if the commit removed it.
pub(crate) fn taken_over(resources: &Resources, node: &NodeId, sha: &str) -> Result<Option<NodeId>> {
    let graph = resources.graph();
    for end in graph.edges(node, Direction::Out, Some(Edge::ReplacedBy))? {
        let changes = graph.edges(&end.other, Direction::In, None)?;
        let is_change = |change: &AdjacentEdge| {
            matches!(change.edge, Edge::Introduces | Edge::Modifies)
                && matches!(&change.other, NodeId::Commit { sha: own, .. } if own == sha)
        };
        if changes.iter().any(is_change) {
            return Ok(Some(end.other));
        }
    }
    Ok(None)
}

/// The newest commit that removed a file, if what is asked about is the head of an indexed branch: at an earlier commit,
/// the file may not have been there yet.
fn find_removal(resources: &Resources, place: &Revision, path: &str) -> Result<Option<Commit>> {
    if place.branch.is_none() {
        return Ok(None);
    }
    let project = place.project();
    let mut newest: Option<Commit> = None;
    for edge in resources.graph().edges(&NodeId::file(project, path), Direction::In, Some(Edge::Removes))? {
        let NodeId::Commit { sha, .. } = &edge.other else { continue };
        let Some(record) = commit_record(resources, project, sha)? else { continue };
        if newest.as_ref().is_none_or(|newest| newest.committer.at < record.commit.committer.at) {
            newest = Some(record.commit);
        }
    }
    Ok(newest)
}

/// The entity of that name in a file, with the file's analysis at that commit.
pub(crate) fn find_symbol(resources: &Resources, place: &Revision, path: &str, name: &str) -> Result<Entity> {
    let analysis = analyze_file(resources, place, path)?;
    let entities = analysis.as_ref().map(|code| &code.entities[..]).unwrap_or_default();
    let is_it = |entity: &&Entity| entity.qualified_name == name || entity.name == name;
    // Languages differ in what they put between names.
    let dotted = |name: &str| name.replace("::", ".");
    let is_spelled_otherwise = |entity: &&Entity| dotted(&entity.qualified_name) == dotted(name);
    // The whole name wins over a part of another.
    let exact = entities.iter().find(|entity| entity.qualified_name == name);
    let found = exact.or_else(|| entities.iter().find(is_it)).or_else(|| entities.iter().find(is_spelled_otherwise));
    if let Some(found) = found {
        return Ok(found.clone());
    }
    let lower = name.rsplit(['.', ':']).next().unwrap_or(name).to_lowercase();
    let mut alike: Vec<&str> = entities
        .iter()
        .map(|entity| entity.qualified_name.as_str())
        .filter(|known| known.to_lowercase().contains(&lower) || begins_alike(known, &lower))
        .take(NAMED)
        .collect();
    if alike.is_empty() {
        let names = entities.iter().map(|entity| (entity.name.as_str(), entity.qualified_name.as_str()));
        alike = nearest_symbols(&names.collect::<Vec<_>>(), &lower);
    }
    let lines = format!("ask about its lines, like {path}:1");
    let (message, hint) = match (analysis.is_some(), entities.is_empty()) {
        (false, _) => (format!("{path} is not source code that can be read"), lines),
        (true, true) => (format!("{path} defines no symbols"), lines),
        (true, false) if alike.is_empty() => (format!("{path} has no symbol {name}"), lines),
        (true, false) => (format!("{path} has no symbol {name}"), format!("it has {}", alike.join(", "))),
    };
    Err(Error::new(ErrorKind::NotFound, message).with_hint(hint))
}

fn analyze_file(resources: &Resources, place: &Revision, path: &str) -> Result<Option<CodeAnalysis>> {
    let project = place.project();
    if place.branch.is_some() && place.indexed().commit == Some(place.commit) {
        let item = resources.ledger().item(project, ItemKind::File, path)?;
        let file = item.and_then(|item| serde_json::from_slice::<HeadFile>(&item.payload?).ok());
        if let Some(file) = file {
            return Ok(file.analysis.and_then(|analysis| match analysis.content {
                backstory_model::code::ContentAnalysis::Code(code) => Some(code),
                _ => None,
            }));
        }
        return Err(no_such_path(resources, place, path)?);
    }
    let path_of = RepoPath::from_escaped(path);
    match place.objects.file(place.commit, &path_of, 4 << 20) {
        Ok(bytes) => Ok(backstory_sources::code::analyze(path, &bytes).code().cloned()),
        Err(ObjectError::NoSuchPath { .. }) => Err(no_such_path(resources, place, path)?),
        Err(error) => Err(error.into()),
    }
}

/// Of symbols, by their last and their whole names, the whole names of those whose last ones are nearest to one; what is most
/// like it if none is near.
fn nearest_symbols<'e>(symbols: &[(&'e str, &'e str)], name: &str) -> Vec<&'e str> {
    let known: BTreeSet<&str> = symbols.iter().map(|(last, _)| *last).collect();
    let mut alike = within_typos(name, known.iter().copied(), allowed_typos(name), NAMED);
    if alike.is_empty() {
        alike = most_alike(name, known, NAMED);
    }
    let mut nearest = Vec::new();
    for near in alike {
        nearest.extend(symbols.iter().filter(|(last, _)| *last == near).map(|(_, whole)| *whole));
    }
    nearest.truncate(NAMED);
    nearest
}

/// Whether two names begin alike.
fn begins_alike(known: &str, name: &str) -> bool {
    let known = known.to_lowercase();
    let shared = known.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    shared >= 4
}

fn not_blamed_error(path: &str, why: Untraced) -> Error {
    Error::invalid(match why {
        Untraced::Binary => format!("{path} is a binary file; it has no lines to explain"),
        Untraced::TooLarge => format!("{path} is larger than 4 MiB; its lines are not traced"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_symbols_that_are_nearest_to_a_name_are_told() {
        let symbols = [
            ("F", "F"),
            ("__init__", "Option.__init__"),
            ("Option", "Option"),
            ("get_default", "Option.get_default"),
            ("get_default", "Argument.get_default"),
        ];
        assert_eq!(nearest_symbols(&symbols, "optoin"), ["Option"]);
        assert_eq!(nearest_symbols(&symbols, "get_defualt"), ["Option.get_default", "Argument.get_default"]);
        assert_eq!(nearest_symbols(&symbols, "zzz").len(), symbols.len());
        assert!(nearest_symbols(&[], "zzz").is_empty() && nearest_symbols(&symbols, &"z".repeat(1000)).is_empty());
    }
}
