//! Items of the ledger as values: a stored payload is parsed with what its forge or repository tells.

use std::sync::Arc;

use backstory_model::{
    entity::{Item, ItemKind},
    id::{NodeId, ThreadId},
    reference::Forge,
    repository::{self as records, RepositoryRecord},
};
use backstory_sources::forge::{self, Origin};
use backstory_store::ledger::StoredItem;

use crate::{
    confidential::remove_hidden_references,
    error::{Error, Result},
    repository::repository_record,
    resources::Resources,
};

/// Reads a stored payload.
pub(crate) fn parse_item(resources: &Resources, stored: &StoredItem) -> Result<Item> {
    let name = || format!("{} {} {}", stored.project, stored.kind.as_str(), stored.key);
    let payload = stored.payload.as_deref().ok_or_else(|| Error::internal(format!("{} is gone", name())))?;
    if stored.kind == ItemKind::Identity || stored.kind.is_of_repository() {
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
    Ok(Item::Repository(RepositoryRecord { project: stored.project.clone(), repository, record }))
}

/// What the items of a project are relative to.
pub(crate) fn load_origin(resources: &Resources, project: &str) -> Result<Arc<Origin>> {
    let mut origins = resources.shared.origins.lock();
    if let Some(origin) = origins.get(project) {
        return Ok(origin.clone());
    }
    let found = find_origin(resources, project)?.ok_or_else(|| {
        Error::internal(format!("the ledger has items of {project} but nothing that tells of the project itself"))
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
    let configured =
        resources.settings().forges.iter().find(|forge| forge.projects.iter().any(|known| known == project));
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
    let there = |thread: &ThreadId| resources.ledger().item(&thread.project, thread.kind.into(), &thread.short());
    let is_meant = !reference_syntax(resources, &thread.project)?.0.shares_numbers()
        || there(thread)?.is_some_and(|item| item.payload.is_some())
        || there(&thread.twin())?.is_none_or(|item| item.payload.is_none());
    Ok(if is_meant { id } else { id.with_other_thread_kind() })
}

/// The project may have moved to another address.
pub(crate) fn clear_origin_cache(resources: &Resources) {
    resources.shared.origins.lock().clear();
}
