//! Looks things up by their ids: items and discussions in the ledger, edges in the graph.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use backstory_model::{
    edge::Edge,
    entity::{Discussion, Item, ItemKind, Person, Project},
    id::{NodeId, ThreadId, ThreadKind, is_address},
    time::utc_date,
};
use backstory_store::{
    graph::{AdjacentEdge, Direction, EdgeCount},
    ledger::{ErasureTarget, StoredItem},
};

use crate::{
    error::{Error, ErrorKind, Result},
    records::{parse_if_readable, reference_syntax, resolve_thread_kind},
    resources::{Resources, blocking},
    state::{answers::AnswerCache, discussions::DiscussionCache, people::PeopleCache},
};

/// Most items of one page of a list.
pub const MAX_PAGE: usize = 1000;

/// The projects, by path.
pub(crate) async fn list_projects(resources: &Resources) -> Result<Vec<Project>> {
    let items = resources.with_ledger(|ledger| ledger.items_of_kind(ItemKind::Project)).await?;
    let projects = items.iter().filter_map(|item| match parse_if_readable(resources, item)? {
        Item::Project(project) => Some(project),
        _ => None,
    });
    Ok(projects.collect())
}

/// The node that an id means: that of a commit may be abbreviated, and where issues and merge requests share their
/// numbers either may be called the other.
pub(crate) async fn resolve_id(resources: &Resources, id: NodeId) -> Result<NodeId> {
    resources
        .blocking(move |resources| {
            let NodeId::Commit { project, sha } = id else { return resolve_thread_kind(resources, id) };
            let found = resources.ledger().keys_with_prefix(&project, ItemKind::Commit, &sha, 2)?;
            let sha = if let [only] = found.as_slice() { only } else { &sha };
            Ok(NodeId::commit(&project, sha))
        })
        .await
}

/// The item that a node is, from the ledger; `None` if there is none. Notes are found through their discussion.
pub(crate) async fn load_items(resources: &Resources, ids: Vec<NodeId>) -> Result<BTreeMap<NodeId, Item>> {
    let stored = resources
        .with_ledger(move |ledger| {
            let mut found = Vec::new();
            for id in ids {
                let items = match (&id, ledger_key(&id)) {
                    (NodeId::Person(name), _) if is_address(name) => {
                        ledger.people_with_key(ItemKind::Identity, name)?
                    }
                    (_, Some((project, kind, key))) => ledger.item(&project, kind, &key)?.into_iter().collect(),
                    (_, None) => vec![],
                };
                found.push((id, items));
            }
            Ok(found)
        })
        .await?;
    let merge = |known: Item, other: Item| match (known, other) {
        (Item::Identity(known), Item::Identity(other)) => Item::Identity(known.merge(other)),
        (known, _) => known,
    };
    let parse =
        |items: Vec<StoredItem>| items.iter().filter_map(|item| parse_if_readable(resources, item)).reduce(merge);
    Ok(stored.into_iter().filter_map(|(id, items)| Some((id, parse(items)?))).collect())
}

/// One item.
pub(crate) async fn load_item(resources: &Resources, id: NodeId) -> Result<Option<Item>> {
    Ok(load_items(resources, vec![id]).await?.into_values().next())
}

/// The discussions of issues or merge requests that hold notes of people, oldest first.
pub(crate) async fn load_discussions(
    resources: &Resources,
    threads: Vec<ThreadId>,
) -> Result<BTreeMap<ThreadId, Vec<Discussion>>> {
    let stored = resources
        .with_ledger(move |ledger| {
            threads
                .into_iter()
                .map(|thread| Ok((ledger.thread(&thread.project, &thread.local_reference())?, thread)))
                .collect::<std::result::Result<Vec<_>, _>>()
        })
        .await?;
    let mut all = BTreeMap::new();
    for (items, thread) in stored {
        all.insert(thread, parse_discussions(resources, &items));
    }
    Ok(all)
}

/// Those of the items that are discussions with notes of people and can be read, oldest first.
pub(crate) fn parse_discussions(resources: &Resources, items: &[StoredItem]) -> Vec<Discussion> {
    let discussions = items.iter().filter(|item| item.kind == ItemKind::Discussion);
    let mut discussions: Vec<Discussion> = discussions
        .filter_map(|item| match parse_if_readable(resources, item)? {
            Item::Discussion(discussion) if !discussion.notes.is_empty() => Some(discussion),
            _ => None,
        })
        .collect();
    discussions.sort_by_key(|d| (d.notes.first().map(|note| note.created_at), d.id.clone()));
    discussions
}

/// The edges at nodes, in the order of the nodes; each list is ordered by edge and other end.
pub(crate) async fn load_edges(
    resources: &Resources,
    ids: Vec<NodeId>,
    direction: Direction,
    only: Option<Edge>,
) -> Result<Vec<Vec<AdjacentEdge>>> {
    let graph = resources.graph();
    blocking(move || ids.iter().map(|id| Ok(graph.edges(id, direction, only)?)).collect()).await
}

/// Counts the edges at a node: all, or those of some names.
pub(crate) async fn count_edges(
    resources: &Resources,
    id: NodeId,
    direction: Direction,
    names: Option<BTreeSet<Edge>>,
) -> Result<EdgeCount> {
    let graph = resources.graph();
    blocking(move || Ok(graph.count_edges(&id, direction, names.as_ref())?)).await
}

/// Those of the nodes that the graph knows what they are; others are only referred to.
pub(crate) async fn existing_nodes(resources: &Resources, ids: Vec<NodeId>) -> Result<BTreeSet<NodeId>> {
    let graph = resources.graph();
    blocking(move || {
        let mut known = BTreeSet::new();
        for id in ids {
            if graph.exists(&id)? {
                known.insert(id);
            }
        }
        Ok(known)
    })
    .await
}

/// Number of the newest change in the ledger.
pub(crate) async fn last_change(resources: &Resources) -> Result<u64> {
    resources.with_ledger(|ledger| ledger.last_seq()).await
}

/// A person by user name.
pub(crate) async fn find_person(resources: &Resources, username: &str) -> Result<Option<Person>> {
    Ok(list_people(resources).await?.into_iter().find(|person| person.username.eq_ignore_ascii_case(username)))
}

/// Everybody, by user name.
pub(crate) async fn list_people(resources: &Resources) -> Result<Vec<Person>> {
    let items = resources.with_ledger(|ledger| ledger.items_of_kind(ItemKind::Person)).await?;
    let people = items.iter().filter_map(|item| match parse_if_readable(resources, item)? {
        Item::Person(person) => Some(person),
        _ => None,
    });
    let mut people: Vec<Person> = people.collect();
    let key = |person: &Person| (person.username.clone(), person.forge_id);
    people.sort_by_key(key);
    // Each project that mentions somebody has a profile of them.
    people.dedup_by_key(|person| key(person));
    Ok(people)
}

/// The items of a kind that each of the projects has.
pub(crate) async fn project_parts(
    resources: &Resources,
    kind: ItemKind,
    projects: BTreeSet<String>,
) -> Result<BTreeMap<String, Vec<Item>>> {
    let items = resources.with_ledger(move |ledger| ledger.items_of_kind(kind)).await?;
    let mut parts: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    for item in items.iter().filter(|item| projects.contains(&item.project)) {
        parts.entry(item.project.clone()).or_default().extend(parse_if_readable(resources, item));
    }
    Ok(parts)
}

/// Where the ledger keeps what a node is.
pub(crate) fn ledger_key(id: &NodeId) -> Option<(String, ItemKind, String)> {
    match id {
        NodeId::Project(project) => Some((project.clone(), ItemKind::Project, "project".into())),
        NodeId::Thread(thread) => {
            let kind = match thread.kind {
                ThreadKind::Issue => ItemKind::Issue,
                ThreadKind::MergeRequest => ItemKind::MergeRequest,
            };
            Some((thread.project.clone(), kind, thread.local_reference()))
        }
        NodeId::Discussion { thread, id } => {
            Some((thread.project.clone(), ItemKind::Discussion, format!("{}~{id}", thread.local_reference())))
        }
        NodeId::Label { project, name } => Some((project.clone(), ItemKind::Label, name.clone())),
        NodeId::Milestone { project, iid } => Some((project.clone(), ItemKind::Milestone, iid.to_string())),
        NodeId::Commit { project, sha } => Some((project.clone(), ItemKind::Commit, sha.clone())),
        NodeId::File { project, path } => Some((project.clone(), ItemKind::File, path.clone())),
        NodeId::Branch { project, name } => Some((project.clone(), ItemKind::Branch, name.clone())),
        NodeId::Tag { project, name } => Some((project.clone(), ItemKind::Tag, name.clone())),
        // Each project has people of its own, by the forge's number for them; the others are within what they belong to.
        NodeId::Person(_)
        | NodeId::Ticket(_)
        | NodeId::Note { .. }
        | NodeId::Entity { .. }
        | NodeId::DesignNote { .. } => None,
    }
}

/// The error for something that does not exist.
pub fn not_found(what: &str, id: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no {what} {id} in the index"))
        .with_hint("check the reference, or run 'backstory sync' if it is new")
}

/// The error for what was forgotten: an issue, a merge request or a project, or what belongs to one; `None` if it was not.
pub(crate) fn forgotten_error(resources: &Resources, id: &NodeId) -> Result<Option<Error>> {
    let mut targets = Vec::new();
    if let NodeId::Thread(thread) | NodeId::Discussion { thread, .. } | NodeId::Note { thread, .. } = id {
        targets.push(ErasureTarget::Thread(thread.clone()));
        if reference_syntax(resources, &thread.project)?.0.shares_numbers() {
            targets.push(ErasureTarget::Thread(thread.with_other_kind()));
        }
    }
    targets.extend(id.project().map(|project| ErasureTarget::Project(project.to_owned())));
    for target in targets {
        let Some(at) = resources.ledger().forgotten_at(&target)? else { continue };
        let message = format!("{target} was forgotten on {}", utc_date(at));
        return Ok(Some(Error::new(ErrorKind::NotFound, message).with_hint(format!(
            "'backstory forget --list' says why; only 'backstory forget --undo {target}' lets a sync read it again"
        ))));
    }
    Ok(None)
}

/// The error for an issue or merge request that does not exist, or that was forgotten; there may be one of the other kind
/// with that number.
pub(crate) fn thread_not_found(resources: &Resources, what: &str, id: &ThreadId) -> Result<Error> {
    if let Some(error) = forgotten_error(resources, &id.clone().into())? {
        return Ok(error);
    }
    let kind = match id.kind {
        ThreadKind::Issue => ThreadKind::MergeRequest,
        ThreadKind::MergeRequest => ThreadKind::Issue,
    };
    let other = ThreadId { kind, ..id.clone() };
    let error = not_found(what, &id.to_string());
    if item_of_node(resources, &other.clone().into())?.is_some() {
        return Ok(error.with_hint(format!("did you mean {other}?")));
    }
    let is_configured = resources.settings().projects().any(|(_, project)| project == id.project);
    let has_forge = is_configured || item_of_node(resources, &NodeId::Project(id.project.clone()))?.is_some();
    if !has_forge && resources.ledger().repository(&id.project)?.is_some() {
        return Ok(error.with_hint(format!(
            "only the repository of {} is indexed, without issues and merge requests; 'backstory init' configures a forge",
            id.project
        )));
    }
    Ok(error)
}

/// The item that a node is.
pub(crate) fn item_of_node(resources: &Resources, id: &NodeId) -> Result<Option<Item>> {
    let Some((project, kind, key)) = ledger_key(id) else { return Ok(None) };
    Ok(resources.ledger().item(&project, kind, &key)?.and_then(|item| parse_if_readable(resources, &item)))
}

/// What was read is read again, and what was asked is answered again.
pub(crate) fn clear_caches(resources: &Resources) {
    *resources.shared.remembered.lock() = DiscussionCache::default();
    *resources.shared.answers.lock() = AnswerCache::default();
    *resources.shared.people.lock() = PeopleCache::default();
}

/// The discussions of an issue or merge request that hold notes of people, oldest first.
pub(crate) fn discussions_of(resources: &Resources, id: &ThreadId) -> Result<Arc<Vec<Discussion>>> {
    let remembered = || resources.shared.remembered.lock();
    let seq = resources.ledger().last_seq()?;
    let seen = (id.clone(), resources.visibility().clone());
    if let Some(known) = remembered().get(seq, &seen) {
        return Ok(known);
    }
    let items = resources.ledger().thread(&id.project, &id.local_reference())?;
    let discussions = Arc::new(parse_discussions(resources, &items));
    remembered().keep(seq, &seen, &discussions);
    Ok(discussions)
}
