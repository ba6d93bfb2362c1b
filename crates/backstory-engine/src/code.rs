//! The history of files and code entities: their changes, where they are used, what they became. Why lines are as they
//! are is in [`trace`](crate::trace).

mod discussed;
mod requests;

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    code::{Entity, EntityKind, FileAnalysis},
    commit::Sha,
    edge::Edge,
    entity::{Item, ItemKind},
    filter::Filter,
    id::{NodeId, ThreadId},
    lineage::Lineage,
    repository::{CommitRecord, EntityChangeKind, Record, RepositoryItem},
    text::truncate_echo,
};
use backstory_store::graph::{AdjacentEdge, Direction};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    catalog::check_project,
    clones::open_objects,
    error::{Error, Result},
    history::{GraphChangeRow, MAX_NAMES, changes_across_renames, changes_of, describe_newest_removal},
    introduction::merge_requests_introducing,
    limits::check_limit,
    read::not_found,
    records::{commit_record, parse_item},
    resources::Resources,
    search::{
        definitions::{NameMatch, read_definitions},
        symbols::{CodeName, name_asked_alone, symbols},
    },
    shell::argument_of_command,
    trace::target::{lineage_at, resolve_place, taken_over},
    use_case::{UseCase, Weight},
};

use discussed::find_discussed_merge_requests;

pub use discussed::{DiscussedMergeRequest, FileDiscussion};
pub use requests::{FileMergeRequests, MAX_FILE_REQUESTS};

/// Most changes of one page.
pub const MAX_CHANGES: usize = 500;
/// Most entities of one name that are told.
pub const MAX_ENTITIES: usize = 50;
/// Most branches that are searched for a commit.
const MAX_BRANCHES: usize = 50;
/// Most nodes at edges of one type and direction.
const MAX_NEIGHBORS: usize = 50;

/// Requests the commits that changed a file or code entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryRequest {
    /// The file or code entity.
    pub id: NodeId,
    /// Changes to leave out at the beginning.
    #[serde(default)]
    pub skip: usize,
    /// Most changes, 1 to 500; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

impl UseCase for HistoryRequest {
    const NAME: &'static str = "history";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = History;

    async fn run(self, resources: &Resources) -> Result<History> {
        code_history(resources, self).await
    }
}

/// A page of the changes of a file or code entity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct History {
    /// Newest first.
    pub changes: Vec<Change>,
    /// Of a file: the merge requests in which somebody wrote on it, under all its names, with what was said there, those in
    /// which the last note is newest first; then those that are not merged and would change it. On the first page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discussed: Vec<DiscussedMergeRequest>,
    /// Whether there are more.
    pub has_more: bool,
    /// What it is called since a commit took its name away, if it is still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<NodeId>,
}

/// A change of a file or code entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The commit.
    pub commit: CommitSummary,
    /// What it did; a rename removes the old name.
    pub kind: EntityChangeKind,
    /// The name that the file or entity had then.
    pub name: NodeId,
    /// Lines added to the file; null if unknown.
    pub insertions: Option<u32>,
    /// Lines deleted from the file; null if unknown.
    pub deletions: Option<u32>,
    /// Merge requests that introduced the commit.
    pub merge_requests: Vec<ThreadId>,
}

/// A commit in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommitSummary {
    /// Its id.
    pub id: NodeId,
    /// Object name.
    pub sha: Sha,
    /// First line of the message.
    pub title: String,
    /// Name of the author.
    pub author: String,
    /// When it was committed.
    pub date: Timestamp,
}

impl CommitSummary {
    pub(crate) fn new(project: &str, record: &CommitRecord) -> Self {
        let commit = &record.commit;
        Self {
            id: NodeId::commit(project, &commit.sha.to_string()),
            sha: commit.sha,
            title: commit.title().to_owned(),
            author: commit.author.name.clone(),
            date: commit.committer.at,
        }
    }
}

/// Requests code entities by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EntityRequest {
    /// `login`, `Session.login`, `src/a.rs#login` or an id.
    pub name: String,
    /// Full path of the project; all projects if absent.
    #[serde(default)]
    pub project: Option<String>,
    /// Most entities, 1 to 50; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

impl UseCase for EntityRequest {
    const NAME: &'static str = "entity";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Vec<EntityDetails>;

    async fn run(self, resources: &Resources) -> Result<Vec<EntityDetails>> {
        find_entities(resources, self).await
    }
}

/// A code entity, its history and its edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EntityDetails {
    /// Its id.
    pub id: NodeId,
    /// Full path of the project.
    pub project: String,
    /// Path of its file.
    pub path: String,
    /// Its qualified name, unique in the file.
    pub name: String,
    /// Whether the indexed head has it.
    pub current: bool,
    /// Its kind; null if the indexed head does not have it.
    pub kind: Option<EntityKind>,
    /// How it is declared.
    pub signature: Option<String>,
    /// First and last line.
    pub lines: Option<(u32, u32)>,
    /// Its doc comment.
    pub doc: Option<String>,
    /// The first commit that has it, possibly under an earlier name.
    pub introduced: Option<CommitSummary>,
    /// The commit that changed it last.
    pub last_changed: Option<CommitSummary>,
    /// How many commits changed it, under all its names.
    pub changes: usize,
    /// The nodes that it has edges with.
    pub neighbors: Vec<Neighbors>,
}

/// The nodes at the other ends of edges of one type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Neighbors {
    /// Type of the edges.
    pub edge: Edge,
    /// Whether they start at the entity or end there.
    pub direction: Direction,
    /// The nodes, at most 50.
    pub nodes: Vec<NodeId>,
}

/// The commits that changed a file or code entity, newest first and descendants before their ancestors, also under the
/// names it had before.
///
/// # Errors
/// Nothing is known of it, or a store failed.
pub(crate) async fn code_history(resources: &Resources, request: HistoryRequest) -> Result<History> {
    let HistoryRequest { id, skip, limit } = request;
    check_limit(limit, MAX_CHANGES)?;
    let what = match &id {
        NodeId::File { .. } => "file",
        NodeId::Entity { .. } => "code entity",
        other => {
            let id = other.to_string();
            let message = format!("{} is not a file or code entity", truncate_echo(&id));
            return Err(Error::invalid(message).with_hint("write group/project:src/a.rs"));
        }
    };
    let found = changes_across_renames(resources, &id).await?;
    let moved_to = find_move(resources, &id).await?;
    let has_more = found.len() > skip.saturating_add(limit);
    let project = id.project().unwrap_or_default().to_owned();
    let names: BTreeSet<NodeId> = found.iter().map(|change| change.name.clone()).chain([id.clone()]).collect();
    let discussed =
        if skip == 0 { find_discussed_merge_requests(resources, &project, names).await? } else { Vec::new() };
    // A file that only a merge request in progress would add has no change yet.
    if found.is_empty() && discussed.is_empty() {
        return Err(not_found(what, &id.to_string()));
    }
    resources
        .blocking(move |resources| {
            let mut changes = Vec::new();
            for found in found.into_iter().skip(skip).take(limit) {
                changes.extend(to_change(resources, &project, found)?);
            }
            Ok(History { changes, discussed, has_more, moved_to })
        })
        .await
}

fn to_change(resources: &Resources, project: &str, found: GraphChangeRow) -> Result<Option<Change>> {
    let GraphChangeRow { sha, kind, name, .. } = found;
    let Some(record) = commit_record(resources, project, &sha)? else { return Ok(None) };
    let path = match &name {
        NodeId::File { path, .. } | NodeId::Entity { path, .. } => path.as_str(),
        _ => "",
    };
    let file = record.commit.changes.iter().find(|file| file.path.as_str() == path);
    let lines = file.and_then(|file| file.lines);
    Ok(Some(Change {
        commit: CommitSummary::new(project, &record),
        kind,
        insertions: lines.map(|lines| lines.insertions),
        deletions: lines.map(|lines| lines.deletions),
        merge_requests: merge_requests_introducing(resources, project, record.commit.sha)?
            .into_iter()
            .map(|carrier| carrier.id)
            .collect(),
        name,
    }))
}

/// What a node that is gone is called since, if it is still there.
async fn find_move(resources: &Resources, id: &NodeId) -> Result<Option<NodeId>> {
    let mut at = id.clone();
    for _ in 0..MAX_NAMES {
        let newest = changes_of(resources, &at).await?.into_iter().next();
        let Some(removed) = newest.filter(|newest| newest.kind == EntityChangeKind::Removed) else {
            return Ok(Some(at).filter(|at| at != id));
        };
        let next = resources.blocking(move |resources| taken_over(resources, &at, &removed.sha)).await?;
        let Some(next) = next else { return Ok(None) };
        at = next;
    }
    Ok(None)
}

/// Returns the code entities of a name, or the one of an id.
///
/// # Errors
/// The limit is out of range, the project is not known, there is none, or a store cannot be read.
async fn find_entities(resources: &Resources, request: EntityRequest) -> Result<Vec<EntityDetails>> {
    let EntityRequest { name, project, limit } = request;
    check_limit(limit, MAX_ENTITIES)?;
    check_project(resources, project.as_deref()).await?;
    let ids = match name.parse::<NodeId>() {
        Ok(id @ NodeId::Entity { .. }) => vec![id],
        _ => entities_named(resources, &name, project.as_deref()).await?,
    };
    let mut entities = Vec::new();
    for id in ids.into_iter().take(limit) {
        entities.extend(entity_details(resources, id).await?);
    }
    if entities.is_empty() {
        let filter = Filter { project: project.clone(), ..Filter::default() };
        let removed = describe_newest_removal(resources, &name, &filter).await?;
        let error = not_found("code entity", &name);
        return Err(match removed {
            Some(removed) => {
                let argument = argument_of_command(&name);
                error.with_hint(format!("{removed}; 'backstory removed{argument}' tells more"))
            }
            None => error,
        });
    }
    Ok(entities)
}

async fn entities_named(resources: &Resources, name: &str, project: Option<&str>) -> Result<Vec<NodeId>> {
    let name = name.trim();
    if name.is_empty() {
        return Err(Error::invalid("the name is empty").with_hint("say which function or type is meant"));
    }
    let CodeName { name, kind, is_strict } = name_asked_alone(name).unwrap_or(name.into());
    let name = name.to_owned();
    let filter = Filter { project: project.map(str::to_owned), ..Filter::default() };
    resources
        .blocking(move |resources| {
            let asked = CodeName { name: &name, kind, is_strict };
            let (found, name_match) = read_definitions(resources, asked, &filter)?;
            // What is only named like it may be meant if it can be seen that a name of code is asked for.
            let is_meant = match name_match {
                NameMatch::Exact => true,
                NameMatch::Respelled => !symbols(&name).is_empty(),
                NameMatch::End { parts, .. } => parts.0 > 1,
            };
            Ok(found.into_iter().filter(|_| is_meant).map(|definition| definition.id).collect())
        })
        .await
}

async fn entity_details(resources: &Resources, id: NodeId) -> Result<Option<EntityDetails>> {
    let NodeId::Entity { project, path, name } = id.clone() else { return Ok(None) };
    let changes = changes_across_renames(resources, &id).await?;
    resources
        .blocking(move |resources| {
            let definition = read_definition(resources, &project, &path, &name)?;
            if definition.is_none() && changes.is_empty() {
                return Ok(None);
            }
            let summary = |change: Option<&GraphChangeRow>| {
                let record = change.map(|change| commit_record(resources, &project, &change.sha)).transpose()?;
                Ok::<_, Error>(record.flatten().map(|record| CommitSummary::new(&project, &record)))
            };
            let introduced = changes.iter().rev().find(|change| change.kind == EntityChangeKind::Introduced);
            let (introduced, last_changed) = (summary(introduced.or(changes.last()))?, summary(changes.first())?);
            Ok(Some(EntityDetails {
                neighbors: neighbors(resources, &id)?,
                id,
                project,
                path,
                name,
                current: definition.is_some(),
                kind: definition.as_ref().map(|entity| entity.kind),
                signature: definition.as_ref().map(|entity| entity.signature.clone()),
                lines: definition.as_ref().map(|entity| (entity.lines.first, entity.lines.last)),
                doc: definition.and_then(|entity| entity.doc),
                introduced,
                last_changed,
                changes: changes.len(),
            }))
        })
        .await
}

/// Reads the definition of an entity from the indexed head.
pub(crate) fn read_definition(resources: &Resources, project: &str, path: &str, name: &str) -> Result<Option<Entity>> {
    let Some(item) = resources.ledger().item(project, ItemKind::File, path)? else { return Ok(None) };
    let Item::Repository(RepositoryItem { record: Record::File(file), .. }) = parse_item(resources, &item)? else {
        return Ok(None);
    };
    let code = file.analysis.as_ref().and_then(FileAnalysis::code);
    Ok(code.and_then(|code| code.entities.iter().find(|entity| entity.qualified_name == name).cloned()))
}

fn neighbors(resources: &Resources, id: &NodeId) -> Result<Vec<Neighbors>> {
    let mut found: BTreeMap<(Edge, bool), Neighbors> = BTreeMap::new();
    for direction in [Direction::In, Direction::Out] {
        for AdjacentEdge { edge, other } in resources.graph().edges(id, direction, None)? {
            let neighbors = found.entry((edge, direction == Direction::Out));
            let nodes = &mut neighbors.or_insert(Neighbors { edge, direction, nodes: vec![] }).nodes;
            if !matches!(other, NodeId::Commit { .. }) && nodes.len() < MAX_NEIGHBORS {
                nodes.push(other);
            }
        }
    }
    Ok(found.into_values().filter(|neighbors| !neighbors.nodes.is_empty()).collect())
}

/// The merge requests that introduced each of the commits, the nearest first.
///
/// # Errors
/// A store cannot be read.
pub(crate) async fn merge_requests_of_commits(resources: &Resources, ids: Vec<NodeId>) -> Result<Vec<Vec<ThreadId>>> {
    resources
        .blocking(move |resources| {
            let mut found = Vec::with_capacity(ids.len());
            for id in &ids {
                let commit = match id {
                    NodeId::Commit { project, sha } => Sha::from_hex(sha.as_bytes()).map(|sha| (project, sha)),
                    _ => None,
                };
                let Some((project, sha)) = commit else {
                    found.push(Vec::new());
                    continue;
                };
                let introducing = merge_requests_introducing(resources, project, sha)?;
                found.push(introducing.into_iter().map(|carrier| carrier.id).collect());
            }
            Ok(found)
        })
        .await
}

/// The names of the indexed branches that have a commit, in order.
///
/// # Errors
/// The clone cannot be read.
pub(crate) async fn branches_with_commit(resources: &Resources, project: &str, sha: &str) -> Result<Vec<String>> {
    let Some(sha) = Sha::from_hex(sha.as_bytes()) else { return Ok(Vec::new()) };
    let project = project.to_owned();
    resources
        .blocking(move |resources| {
            let Some(entry) = resources.ledger().repository(&project)? else { return Ok(Vec::new()) };
            let objects = open_objects(resources, &project)?;
            if !objects.exists(sha)? {
                return Ok(Vec::new());
            }
            let mut names = Vec::new();
            for (name, tip) in entry.indexed.iter().take(MAX_BRANCHES) {
                if objects.is_ancestor(sha, *tip)? {
                    names.push(name.clone());
                }
            }
            Ok(names)
        })
        .await
}

/// Where all lines of a file come from, and the commit at which that holds.
///
/// # Errors
/// There is no such file, or a store failed.
pub(crate) async fn blame_file(
    resources: &Resources,
    project: Option<&str>,
    path: &str,
    rev: Option<&str>,
) -> Result<(Sha, std::sync::Arc<Lineage>)> {
    let (project, path, rev) = (project.map(str::to_owned), path.to_owned(), rev.map(str::to_owned));
    resources
        .blocking(move |resources| {
            let place = resolve_place(resources, project.as_deref(), rev.as_deref())?;
            Ok((place.commit, lineage_at(resources, &place, &path)?))
        })
        .await
}
