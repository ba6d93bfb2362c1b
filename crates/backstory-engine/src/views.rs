//! Views: the state of the documents that a request names, if it is not the current one: that of a further branch, tag or
//! commit of a repository, or a recorded one. What is asked of resources at such a state is answered as if a data directory
//! held nothing else.
//!
//! Which documents of the index differ there follows from what [`revisions`](crate::revisions) recorded of trees, and from
//! what the ledger keeps of items as they were. The graph is that of the current state, so a search at another one takes no
//! candidates from it; links lead to nothing that is not in that state.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use backstory_model::{
    commit::Sha,
    document::lines_url,
    filter::Filter,
    id::{NodeId, is_sha},
    reference::ReferenceContext,
    text::truncate_echo,
};
use backstory_sources::git::{command::Cancel, graph::CommitGraph};
use backstory_store::{
    index::{ViewThreads, version_id},
    ledger::RepositoryEntry,
};

use crate::{
    catalog::unknown_repository,
    clones::{clone_path, find_git},
    error::{Error, ErrorKind, Result},
    records::repository_record,
    resources::{Resources, ShownState},
    revisions::{RevisionFiles, Version, load_changes, load_files, load_revisions, short_name},
    snapshot::{current_state, load_snapshot},
};

/// Most commits that a revision does not reach and that are left out.
const MAX_COMMITS: usize = 1_000_000;
/// The name that the default branch always has.
const HEAD: &str = "HEAD";

/// A branch, tag or commit of a repository that is indexed.
struct Revision {
    project: String,
    name: String,
    commit: Sha,
    /// How its files differ from those of the default branch; `None` if it is that branch.
    files: Option<RevisionFiles>,
    /// Every commit that is a tip.
    tips: BTreeSet<Sha>,
    /// What the addresses of files of the default branch begin with, and what those of this one do.
    urls: Option<[String; 2]>,
}

/// The resources at the state that a filter names, which is taken out of it: the current one unless it says so. A branch, tag
/// or commit also narrows the filter to its project.
///
/// # Errors
/// There is no such state, it is not kept, or a store failed.
pub(crate) async fn at_state(resources: &Resources, filter: &mut Filter) -> Result<Resources> {
    match (filter.revision.take(), filter.snapshot.take()) {
        (None, None) => Ok(resources.clone()),
        (Some(revision), None) => at_revision(resources, filter, revision).await,
        (None, Some(snapshot)) => at_snapshot(resources, snapshot).await,
        (Some(_), Some(_)) => Err(Error::invalid("a ref and a snapshot were given; only one of them can be")
            .with_hint("leave the ref out: a snapshot has the default branch as it was")),
    }
}

async fn at_revision(resources: &Resources, filter: &mut Filter, name: String) -> Result<Resources> {
    let projects: Vec<String> = filter.project.iter().chain(&filter.projects).cloned().collect();
    let find = move |resources: &Resources| {
        let revision = find_revision(resources, &projects, name.trim())?;
        let current = current_state(resources)?.id;
        let recorded_at = resources.ledger().snapshot(&current)?.map(|snapshot| snapshot.created_at);
        Ok((revision, Some(current), recorded_at))
    };
    let (revision, snapshot, recorded_at) = resources.blocking(find).await?;
    filter.project = Some(revision.project.clone());
    filter.projects.clear();
    let resources = resources.with_visibility(resources.visibility().within_project(&revision.project));
    let commits = BTreeMap::from([(revision.project.clone(), revision.commit.to_string())]);
    let name = format!("{} {} {}", revision.project, revision.name, revision.commit);
    let state = ShownState {
        name: name.clone(),
        view: None,
        commits,
        snapshot,
        recorded_at,
        revision: Some(revision.name.clone()),
    };
    if revision.files.is_none() && revision.tips.len() == 1 {
        return Ok(resources.with_state(state));
    }
    let index = resources.index();
    let view = match index.find_view(&name) {
        Some(view) => view,
        None => {
            let changes = index.change_count();
            let threads = resources.blocking(move |resources| threads_of_revision(resources, revision)).await?;
            index.make_view(&name, changes, threads).await?
        }
    };
    Ok(resources.with_state(ShownState { view: Some(view), ..state }))
}

/// Finds the branch, tag or commit of that name: of one of these projects, or of the only one that has it.
fn find_revision(resources: &Resources, projects: &[String], name: &str) -> Result<Revision> {
    let entries = match projects {
        [] => resources.ledger().repositories()?,
        named => named
            .iter()
            .map(|project| {
                resources.ledger().repository(project)?.ok_or_else(|| unknown_repository(resources, project))
            })
            .collect::<Result<_>>()?,
    };
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    for entry in &entries {
        found.extend(revision_of(resources, entry, name, &mut known)?);
    }
    match (found.pop(), found.len()) {
        (Some(only), 0) => Ok(only),
        (Some(last), _) => {
            let of: Vec<&str> = found.iter().chain([&last]).map(|revision| revision.project.as_str()).collect();
            let message = format!("'{}' is a ref of several projects: {}", truncate_echo(name), of.join(", "));
            Err(Error::invalid(message).with_hint("name the project"))
        }
        (None, _) => {
            let known: Vec<String> = known.into_iter().collect();
            let known = if known.is_empty() { String::new() } else { format!("; indexed are {}", known.join(", ")) };
            let message = format!("'{}' is not an indexed branch, tag or commit{known}", truncate_echo(name));
            Err(Error::new(ErrorKind::NotFound, message)
                .with_hint("'backstory add PATH --ref REF' indexes the files of one more"))
        }
    }
}

/// What a name stands for in a repository, if its files are indexed; adds the names that it has to `known`.
fn revision_of(
    resources: &Resources,
    entry: &RepositoryEntry,
    name: &str,
    known: &mut BTreeSet<String>,
) -> Result<Option<Revision>> {
    let Some(repository) = repository_record(resources, &entry.project)? else { return Ok(None) };
    let Some(default) = repository.default_branch.as_ref().map(|branch| branch.as_str()) else { return Ok(None) };
    let Some(head) = entry.indexed.get(default).copied() else { return Ok(None) };
    let short = short_name(name);
    let digits = short.to_ascii_lowercase();
    let is_commit = |commit: Sha| is_sha(&digits) && commit.to_string().starts_with(&digits);
    let revisions = load_revisions(resources, &entry.project)?;
    let further = || revisions.iter().filter_map(|revision| Some((revision.name.as_str(), revision.commit?)));
    let tips = entry.indexed.values().copied().chain(further().map(|(_, commit)| commit)).collect();
    known.insert(default.to_owned());
    known.extend(further().map(|(name, _)| name.to_owned()));
    let found = match further().find(|(known, _)| *known == short && *known != default) {
        Some(further) => Some(further),
        None if short == default || short == HEAD || is_commit(head) => Some((default, head)),
        None => further().find(|(_, commit)| is_commit(*commit)),
    };
    let Some((found, commit)) = found else { return Ok(None) };
    let is_default = found == default;
    let files = if is_default { None } else { load_files(resources, &entry.project, found)? };
    if !is_default && files.is_none() {
        return Ok(None);
    }
    let context =
        ReferenceContext { forge: repository.forge, project: &entry.project, forge_url: &repository.forge_url };
    let urls = [default, found].map(|revision| lines_url(context, revision, "", None));
    Ok(Some(Revision {
        project: entry.project.clone(),
        name: found.to_owned(),
        commit,
        files,
        tips,
        urls: Some(urls).filter(|[url, _]| !is_default && !url.is_empty()),
    }))
}

/// How the documents of a revision differ: its files, and the commits that it does not reach.
fn threads_of_revision(resources: &Resources, revision: Revision) -> Result<ViewThreads> {
    let Revision { project, commit, files, tips, urls, .. } = revision;
    let RevisionFiles { versions, hidden } = files.unwrap_or_default();
    let file = |path: &str| NodeId::file(&project, path).to_string();
    let mut hidden: HashSet<String> = hidden.iter().map(|path| file(path)).collect();
    let (git, clone) = (find_git(resources)?, clone_path(resources, &project));
    for tip in tips.into_iter().filter(|tip| *tip != commit) {
        let beyond = CommitGraph::between(&git, &clone, commit, tip, MAX_COMMITS, &Cancel::default())?;
        hidden.extend(beyond.into_iter().map(|sha| NodeId::commit(&project, &sha.to_string()).to_string()));
    }
    let versions = versions.iter().map(|(path, version)| version_id(&file(path), version)).collect();
    Ok(ViewThreads { hidden, versions, urls })
}

async fn at_snapshot(resources: &Resources, id: String) -> Result<Resources> {
    let (snapshot, current) =
        resources.blocking(move |resources| Ok((load_snapshot(resources, &id)?, current_state(resources)?.id))).await?;
    if snapshot.id == current {
        return Ok(resources.clone());
    }
    let gone = |why: &str| {
        let message = format!(
            "snapshot {} of {} is not what the index holds now, which is {current}; {why}",
            snapshot.id, snapshot.created_at
        );
        let hint = format!(
            "leave the snapshot out or name {current}, and see what changed with 'backstory snapshots compare'"
        );
        Error::new(ErrorKind::Gone, message).with_hint(hint)
    };
    if !snapshot.kept {
        return Err(gone("what it held is on record but not kept"));
    }
    let name = format!("snapshot {}", snapshot.id);
    let index = resources.index();
    let view = match index.find_view(&name) {
        Some(view) => view,
        None => {
            let (seq, changes) = (snapshot.ledger_seq, index.change_count());
            let full = resources.with_full_visibility();
            let threads = full.blocking(move |resources| threads_of_snapshot(resources, seq)).await?;
            let threads = threads.ok_or_else(|| gone("too much has changed since then for it to be searched"))?;
            index.make_view(&name, changes, threads).await?
        }
    };
    let (commits, recorded_at) = (snapshot.commits, Some(snapshot.created_at));
    let snapshot = Some(snapshot.id);
    Ok(resources.with_state(ShownState { name, view: Some(view), commits, snapshot, recorded_at, revision: None }))
}

/// How the documents differed at a sequence number; `None` if too many did.
fn threads_of_snapshot(resources: &Resources, seq: u64) -> Result<Option<ViewThreads>> {
    let Some(changed) = load_changes(resources, seq)? else { return Ok(None) };
    let mut threads = ViewThreads::default();
    for changed in changed {
        let thread = format!("{}{}", changed.project, changed.thread);
        if let Some(version) = changed.version {
            threads.versions.push(version_id(&thread, &Version::Recorded(version).to_string()));
        }
        threads.hidden.insert(thread);
    }
    Ok(Some(threads))
}
