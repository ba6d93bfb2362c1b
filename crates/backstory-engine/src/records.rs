//! Records of the ledger as values: a stored payload is parsed together with the origin of its project.

use std::sync::Arc;

use backstory_model::{
    entity::{Item, ItemKind},
    id::{NodeId, ThreadId},
    reference::Forge,
    repository::{self as records, Record, Repository, RepositoryItem, parse},
};
use backstory_sources::forge::{self, Origin};
use backstory_store::ledger::StoredItem;

use crate::{
    error::{Error, Result},
    resources::Resources,
};

/// Items of a kind that are read at once.
const ITEM_BATCH: usize = 1000;
/// Changes of any kind that are read at once.
const CHANGE_BATCH: usize = 500;

/// Reads a stored payload.
pub(crate) fn parse_item(resources: &Resources, stored: &StoredItem) -> Result<Item> {
    let name = || format!("{} {} {}", stored.project, stored.kind.as_str(), stored.key);
    let payload = stored.payload.as_deref().ok_or_else(|| Error::internal(format!("{} is gone", name())))?;
    if stored.kind == ItemKind::Identity || stored.kind.comes_from_git() {
        return parse_record(resources, stored, payload);
    }
    let json = serde_json::from_slice(payload)
        .map_err(|error| Error::internal(format!("the payload of {} is not JSON: {error}", name())))?;
    let origin = load_origin(resources, &stored.project)?;
    let mut item =
        forge::parse(stored.kind, &origin, &stored.key, &json).map_err(|error| Error::internal(error.to_string()))?;
    if stored.confidential {
        item.set_confidential();
    }
    remove_hidden_references(resources, &mut item)?;
    Ok(item)
}

fn parse_record(resources: &Resources, stored: &StoredItem, payload: &[u8]) -> Result<Item> {
    let unreadable = |error: serde_json::Error| {
        let name = format!("{} {} {}", stored.project, stored.kind.as_str(), stored.key);
        Error::internal(format!("{name} cannot be read: {error}"))
    };
    if stored.kind == ItemKind::Identity {
        return Ok(Item::Identity(serde_json::from_slice(payload).map_err(unreadable)?));
    }
    let record = records::parse(stored.kind, &stored.key, payload).map_err(unreadable)?;
    let repository = match &record {
        records::Record::Repository(repository) => Arc::new(repository.clone()),
        _ => repository_record(resources, &stored.project)?.ok_or_else(|| {
            Error::internal(format!("the ledger has items of {} but not the repository itself", stored.project))
        })?,
    };
    Ok(Item::Repository(RepositoryItem { project: stored.project.clone(), repository, record }))
}

/// What the items of a project are relative to.
pub(crate) fn load_origin(resources: &Resources, project: &str) -> Result<Arc<Origin>> {
    let mut origins = resources.shared.origins.lock();
    if let Some(origin) = origins.get(project) {
        return Ok(origin.clone());
    }
    let found = find_origin(resources, project)?.ok_or_else(|| {
        Error::internal(format!("the ledger has items of {project} but nothing about the project itself"))
            .with_hint("'backstory sync' reads it again")
    })?;
    let origin = Arc::new(found);
    origins.insert(project.to_owned(), origin.clone());
    Ok(origin)
}

/// By what its forge says of the project; if that cannot be read, by where it is read from.
fn find_origin(resources: &Resources, project: &str) -> Result<Option<Origin>> {
    let stored = resources.ledger().item(project, ItemKind::Project, "project")?;
    let said = stored.and_then(|item| forge::origin_of_project(&serde_json::from_slice(&item.payload?).ok()?));
    if let Some(origin) = said.filter(|origin| origin.project == project) {
        return Ok(Some(origin));
    }
    let of = |forge: Forge, forge_url: String| Origin { forge, project: project.to_owned(), forge_url };
    let configured = resources.settings().forges.iter().find(|forge| forge.has_project(project));
    if let Some(forge) = configured {
        return Ok(Some(of(forge.kind, forge.web_url())));
    }
    let added = resources.ledger().repository(project)?.and_then(|entry| entry.forge);
    Ok(added.and_then(|forge| Some(of(forge.kind, forge::web_url(forge.kind, &forge.base_url.parse().ok()?)))))
}

/// Whose syntax what people write of a project follows, and the address of that forge, empty if it has none.
pub(crate) fn reference_syntax(resources: &Resources, project: &str) -> Result<(Forge, String)> {
    if resources.ledger().item(project, ItemKind::Project, "project")?.is_some()
        && let Ok(origin) = load_origin(resources, project)
    {
        return Ok((origin.forge, origin.forge_url.clone()));
    }
    let known = repository_record(resources, project)?;
    Ok(known.map_or((Forge::GitLab, String::new()), |known| (known.forge, known.forge_url.clone())))
}

/// The node that is meant: where issues and merge requests share their numbers, the one that there is.
pub(crate) fn resolve_thread_kind(resources: &Resources, id: NodeId) -> Result<NodeId> {
    let (NodeId::Thread(thread) | NodeId::Note { thread, .. } | NodeId::Discussion { thread, .. }) = &id else {
        return Ok(id);
    };
    let there =
        |thread: &ThreadId| resources.ledger().item(&thread.project, thread.kind.into(), &thread.local_reference());
    let is_meant = !reference_syntax(resources, &thread.project)?.0.shares_numbers()
        || there(thread)?.is_some_and(|item| item.payload.is_some())
        || there(&thread.with_other_kind())?.is_none_or(|item| item.payload.is_none());
    Ok(if is_meant { id } else { id.with_other_thread_kind() })
}

/// The project may have moved to another address.
pub(crate) fn clear_origin_cache(resources: &Resources) {
    resources.shared.origins.lock().clear();
}

/// Takes what the forge lists beside an item that is not seen out of one that is.
fn remove_hidden_references(resources: &Resources, item: &mut Item) -> Result<()> {
    if resources.visibility().shows_confidential() {
        return Ok(());
    }
    let shown = |id: &ThreadId| Ok::<_, crate::error::Error>(!resources.ledger().is_hidden(id)?);
    let keep = |ids: &mut Vec<ThreadId>| {
        let all = std::mem::take(ids);
        for id in all {
            if shown(&id)? {
                ids.push(id);
            }
        }
        Ok::<_, crate::error::Error>(())
    };
    match item {
        Item::Issue(issue) => {
            keep(&mut issue.related)?;
            keep(&mut issue.closed_by_requests)?;
            for link in std::mem::take(&mut issue.links) {
                if shown(&link.1)? {
                    issue.links.push(link);
                }
            }
            Ok(())
        }
        Item::MergeRequest(mr) => keep(&mut mr.closes),
        _ => Ok(()),
    }
}

/// A stored item, unless it cannot be read: then it is as if it were not there; the caller learns of it from the
/// quarantine.
pub(crate) fn parse_if_readable(resources: &Resources, stored: &StoredItem) -> Option<Item> {
    parse_item(resources, stored).inspect_err(|error| tracing::debug!(%error, "an item is passed over")).ok()
}

/// Key of the one repository of a project in the ledger.
pub(crate) const REPOSITORY: &str = "repository";

/// What the ledger knows of a project's repository.
pub(crate) fn repository_record(resources: &Resources, project: &str) -> Result<Option<Arc<Repository>>> {
    if !resources.visibility().allows_project(project) {
        return Ok(None);
    }
    let mut known = resources.shared.repositories.lock();
    if let Some(repository) = known.get(project) {
        return Ok(Some(repository.clone()));
    }
    let Some(item) = resources.ledger().item(project, ItemKind::Repository, REPOSITORY)? else { return Ok(None) };
    let damaged = |error: serde_json::Error| Error::internal(format!("the repository of {project}: {error}"));
    let payload = item.payload.unwrap_or_default();
    let Record::Repository(repository) = parse(ItemKind::Repository, REPOSITORY, &payload).map_err(damaged)? else {
        return Ok(None);
    };
    let repository = Arc::new(repository);
    known.insert(project.to_owned(), repository.clone());
    Ok(Some(repository))
}

pub(crate) fn evict_repository_record(resources: &Resources, project: &str) {
    resources.shared.repositories.lock().remove(project);
}

/// The record of a commit by its object name, whole or abbreviated; `None` if there is none, or several.
pub(crate) fn commit_record(
    resources: &Resources,
    project: &str,
    sha: &str,
) -> Result<Option<backstory_model::repository::CommitRecord>> {
    let item = match resources.ledger().item(project, ItemKind::Commit, sha)? {
        Some(item) => item,
        None => {
            let found = resources.ledger().keys_with_prefix(project, ItemKind::Commit, sha, 2)?;
            let [only] = found.as_slice() else { return Ok(None) };
            match resources.ledger().item(project, ItemKind::Commit, only)? {
                Some(item) => item,
                None => return Ok(None),
            }
        }
    };
    match parse_item(resources, &item)? {
        backstory_model::entity::Item::Repository(of) => match of.record {
            Record::Commit(record) => Ok(Some(*record)),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Items of a kind of a project that can be read, in the order of their keys, at most `most`.
pub(crate) fn each_item(
    resources: &Resources,
    project: &str,
    kind: ItemKind,
    most: usize,
    mut take: impl FnMut(Item),
) -> Result<()> {
    let (mut after, mut read): (Option<String>, usize) = (None, 0);
    while read < most {
        let items = resources.ledger().items_in(project, kind, after.as_deref(), ITEM_BATCH)?;
        let Some(last) = items.last() else { break };
        after = Some(last.key.clone());
        read += items.len();
        items.iter().filter_map(|stored| parse_if_readable(resources, stored)).for_each(&mut take);
    }
    Ok(())
}

/// Shows every object that there is.
pub(crate) fn each_stored(resources: &Resources, mut show: impl FnMut(&StoredItem)) -> Result<()> {
    let mut seq = 0;
    loop {
        let items = resources.ledger().changes_after(seq, CHANGE_BATCH)?;
        let Some(last) = items.last() else { return Ok(()) };
        seq = last.seq;
        items.iter().filter(|item| item.payload.is_some()).for_each(&mut show);
    }
}
