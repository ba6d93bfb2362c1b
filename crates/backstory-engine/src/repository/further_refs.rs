//! The use cases that have the files of further branches, tags and commits of a repository indexed, or no more.

use std::{collections::BTreeSet, path::Path, time::Duration};

use backstory_model::{id::is_sha, text::truncate_echo};
use backstory_sources::git::{
    address::Address,
    checkout::{is_reached, resolve_commit},
    clone::{CloneLimits, CloneRequest, list_ref_names},
    command::Cancel,
    naming::objects_directory,
    refs,
};
use backstory_store::ledger::{Branches, RepositoryEntry};
use serde::{Deserialize, Serialize};

use super::{RepositoryStatus, refs::find_commit, repository_status};
use crate::{
    catalog::unknown_repository,
    clones::{clone_path, credential_for, find_git, has_clone},
    error::{Error, ErrorKind, Result},
    resources::Resources,
    revisions::{MAX_REFS, ref_names, short_name, with_names_like},
    use_case::{Scope, UseCase},
};

/// Longest that git may take to list the branches and tags of a repository that is added.
const LISTING_TIME: Duration = Duration::from_mins(1);
/// Most branches that an error names.
const MAX_NAMED: usize = 20;
/// Longest name of a branch, tag or commit, in bytes.
const MAX_REF_NAME: usize = 250;

/// Adds a further branch, tag or commit of a repository, whose files the next sync indexes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AddRef {
    /// Full path of the project.
    pub project: String,
    /// Name of a branch or tag, or an object name of a commit that a branch or tag reaches.
    #[serde(rename = "ref")]
    pub name: String,
}

/// Stops indexing the files of a further branch, tag or commit: the next sync drops what only it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DropRef {
    /// Full path of the project.
    pub project: String,
    /// Its name, as it was added.
    #[serde(rename = "ref")]
    pub name: String,
}

impl UseCase for AddRef {
    const NAME: &'static str = "add-ref";
    const SCOPE: Scope = Scope::Sync;
    type Answer = RepositoryStatus;

    async fn run(self, resources: &Resources) -> Result<RepositoryStatus> {
        change_refs(resources, self.project, vec![self.name], vec![]).await
    }
}

impl UseCase for DropRef {
    const NAME: &'static str = "drop-ref";
    const SCOPE: Scope = Scope::Admin;
    type Answer = RepositoryStatus;

    async fn run(self, resources: &Resources) -> Result<RepositoryStatus> {
        change_refs(resources, self.project, vec![], vec![self.name]).await
    }
}

async fn change_refs(
    resources: &Resources,
    project: String,
    added: Vec<String>,
    dropped: Vec<String>,
) -> Result<RepositoryStatus> {
    resources
        .blocking(move |resources| {
            let _held = resources.shared.listing.lock();
            let known = resources.ledger().repository(&project)?;
            let mut entry = known.ok_or_else(|| unknown_repository(resources, &project))?;
            entry.refs = with_refs(resources, &entry.refs, &added, &dropped)?;
            check_known(resources, &entry, &added)?;
            resources.ledger().put_repository(&entry)?;
            repository_status(resources, entry)
        })
        .await
}

/// Refuses names that stand for nothing in the clone, if there is one yet.
fn check_known(resources: &Resources, entry: &RepositoryEntry, added: &[String]) -> Result<()> {
    if added.is_empty() || !has_clone(resources, &entry.project) {
        return Ok(());
    }
    let clone = clone_path(resources, &entry.project);
    let refs = refs::read(&clone)?;
    let unknown = added.iter().find(|name| find_commit(&clone, short_name(name.trim()), &refs).is_none());
    let Some(name) = unknown else { return Ok(()) };
    let error = unknown_ref(&entry.project, name).with_hint("if it is new, sync first");
    Err(with_names_like(error, &ref_names(&refs), name))
}

/// Refuses branches and further refs that the repository at an address does not have. What may be an object name is looked
/// for only on this machine: a forge does not say which commits it has.
pub(super) fn check_origin_has(
    resources: &Resources,
    project: &str,
    address: &Address,
    branches: &Branches,
    refs: &[String],
) -> Result<()> {
    let selected: &[String] = if let Branches::Selected(names) = branches { names } else { &[] };
    let may_have_commit = |name: &str| match address {
        Address::Local(path) => is_sha(name) && has_commit(path, name),
        Address::Remote(_) => is_sha(name),
    };
    let further = refs.iter().map(|name| short_name(name.trim()));
    let (commits, further): (Vec<&str>, Vec<&str>) = further.partition(|name| may_have_commit(name));
    if let Address::Local(path) = address {
        check_reached(resources, project, path, &commits)?;
    }
    if selected.is_empty() && further.is_empty() {
        return Ok(());
    }
    let (directory, credential) = (clone_path(resources, project), credential_for(resources, address));
    let request = CloneRequest {
        address,
        directory: &directory,
        more_refs: &[],
        depth: None,
        credential: credential.as_ref(),
        limits: CloneLimits { time: LISTING_TIME, ..CloneLimits::default() },
    };
    let known = list_ref_names(&find_git(resources)?, request, &Cancel::default())?;
    if let Some(name) = selected.iter().find(|name| !known.branches.contains(name)) {
        let shown = known.branches.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let message = format!("'{}' is not a branch of {project}; its branches are {shown}", truncate_echo(name));
        return Err(with_names_like(Error::new(ErrorKind::NotFound, message), &known.branches, name));
    }
    let names = [known.branches, known.tags].concat();
    match further.into_iter().find(|name| !names.iter().any(|known| known == name)) {
        Some(name) => Err(with_names_like(unknown_ref(project, name), &names, name)),
        None => Ok(()),
    }
}

/// Refuses commits that no branch or tag of a repository on this machine reaches: a clone does not get them. One that has a
/// commit from before keeps it.
fn check_reached(resources: &Resources, project: &str, repository: &Path, commits: &[&str]) -> Result<()> {
    let clone = clone_path(resources, project);
    for name in commits {
        let Some(commit) = resolve_commit(repository, name) else { continue };
        if resolve_commit(&clone, name).is_none() && is_reached(repository, commit) == Some(false) {
            let message = format!("no branch or tag of {project} reaches the commit {name}, so it cannot be indexed");
            return Err(Error::new(ErrorKind::NotFound, message)
                .with_hint(format!("'git branch NAME {name}' makes a branch that does")));
        }
    }
    Ok(())
}

/// Whether a repository on this machine has a commit, or cannot tell because libgit2 does not open it.
fn has_commit(repository: &Path, name: &str) -> bool {
    resolve_commit(repository, name).is_some() || objects_directory(repository).is_none()
}

/// The failure of a name that stands for nothing in a repository.
fn unknown_ref(project: &str, name: &str) -> Error {
    let message = format!("'{}' is not a branch, tag or commit of {project}", truncate_echo(name));
    Error::new(ErrorKind::NotFound, message)
}

/// The names of further branches, tags and commits, with some more and without others, in order.
///
/// # Errors
/// One cannot be such a name, or they are too many.
pub(super) fn with_refs(
    resources: &Resources,
    known: &[String],
    added: &[String],
    dropped: &[String],
) -> Result<Vec<String>> {
    let name = |text: &String| resources.redact_name(short_name(text.trim()));
    let mut names: BTreeSet<String> = known.iter().cloned().collect();
    for text in added {
        let name = name(text);
        if !is_ref_name(&name) {
            return Err(Error::invalid(format!(
                "'{}' is not the name of a branch, tag or commit",
                truncate_echo(text)
            ))
            .with_hint("write one like release-1.2, v1.2 or 1a2b3c4d"));
        }
        names.insert(name);
    }
    for text in dropped {
        if !names.remove(&name(text)) {
            let message = format!("the files of {} are not indexed", truncate_echo(text));
            return Err(Error::new(ErrorKind::NotFound, message));
        }
    }
    if names.len() > MAX_REFS {
        let count = names.len();
        return Err(Error::invalid(format!("{count} refs would be indexed; at most {MAX_REFS} can be"))
            .with_hint("drop one with 'backstory add PATH --drop-ref REF'"));
    }
    Ok(names.into_iter().collect())
}

/// Whether git could call a branch or tag so, or a commit is.
fn is_ref_name(name: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && !"~^:?*[\\".contains(c);
    (1..=MAX_REF_NAME).contains(&name.len())
        && name.chars().all(is_plain)
        && !name.starts_with(['-', '/', '.'])
        && !name.contains("..")
        && !name.contains("@{")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_git_refuses_are_refused() {
        let good = ["main", "release/1.2", "v1.2-rc.1", "1a2b3c4d", "fix#12"];
        let bad = ["", "-f", "a b", "a..b", "a~1", "v1^{}", "x:y", "HEAD@{1}", "/a", "a\\b", "a\nb"];
        assert!(good.into_iter().all(is_ref_name));
        assert!(!bad.into_iter().any(is_ref_name));
    }
}
