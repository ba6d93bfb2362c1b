//! The history of files and code entities: their changes, where they are used, what they became. Why lines are as they
//! are is in [`trace`](crate::trace).

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    code::Entity,
    commit::Sha,
    edge::Edge,
    entity::{Item, ItemKind},
    id::{NS, NodeId},
    lineage::Lineage,
    repository::{CommitRecord, Record},
};
use backstory_store::graph::{Direction, Value, queries};
use jiff::Timestamp;

use crate::{
    Engine,
    error::{Error, Result},
    read::not_found,
};

/// Most changes of one page.
pub const MAX_CHANGES: usize = 500;
/// Most names that a file had.
const MAX_NAMES: usize = 20;
/// Most entities of one name that are told.
pub const MAX_ENTITIES: usize = 50;
/// Most neighbours of a kind that are told.
const MAX_NEIGHBOURS: usize = 50;

/// What a commit did to a file or entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It added it.
    Introduced,
    /// It changed it.
    Modified,
    /// It took it away, or gave it another name.
    Removed,
}

/// A change of a file or entity.
#[derive(Clone, Debug)]
pub struct Change {
    /// The commit.
    pub record: CommitRecord,
    /// What it did.
    pub kind: ChangeKind,
    /// What the file or entity was called then.
    pub name: NodeId,
    /// Merge requests that carried the commit.
    pub merge_requests: Vec<String>,
}

/// A change as the graph tells it.
#[derive(Clone, Debug)]
struct Found {
    /// When it was committed, later than any ancestor.
    at: Timestamp,
    sha: String,
    kind: ChangeKind,
    /// What the file or entity was called then.
    name: NodeId,
}

/// A page of changes.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Newest first.
    pub changes: Vec<Change>,
    /// Whether there are more.
    pub more: bool,
}

/// A code entity and what is known of it.
#[derive(Clone, Debug)]
pub struct EntityCard {
    /// Its node.
    pub id: NodeId,
    /// Its definition at the indexed head; `None` if it is gone.
    pub definition: Option<Entity>,
    /// The commit that it is first known from, also under a name it had before.
    pub introduced: Option<CommitRecord>,
    /// The commit that changed it last.
    pub last_changed: Option<CommitRecord>,
    /// How many commits changed it, also under the names it had before.
    pub changes: usize,
    /// What refers to it and what it refers to, by the name of the edge and its direction.
    pub neighbours: BTreeMap<(Edge, bool), Vec<NodeId>>,
}

impl Engine {
    /// The commits that changed a file or code entity, newest first and descendants before their ancestors, also under the
    /// names it had before.
    ///
    /// # Errors
    /// Nothing is known of it, or a store failed.
    pub async fn code_history(&self, id: NodeId, skip: usize, limit: usize) -> Result<Changes> {
        if limit > MAX_CHANGES {
            return Err(Error::invalid(format!(
                "{limit} changes were asked for; at most {MAX_CHANGES} are told at once"
            )));
        }
        let found = self.followed(&id).await?;
        if found.is_empty() {
            return Err(not_found(
                if matches!(id, NodeId::File { .. }) { "file" } else { "code entity" },
                &id.to_string(),
            ));
        }
        let more = found.len() > skip.saturating_add(limit);
        let project = id.project().unwrap_or_default().to_owned();
        let engine = self.clone();
        self.blocking(move || {
            let mut changes = Vec::new();
            for Found { sha, kind, name, .. } in found.into_iter().skip(skip).take(limit) {
                let Some(record) = engine.commit_record(&project, &sha)? else { continue };
                let carriers = engine.carriers(&project, record.commit.sha)?;
                let merge_requests = carriers.into_iter().map(|carrier| carrier.id.to_string()).collect();
                changes.push(Change { record, kind, name, merge_requests });
            }
            Ok(Changes { changes, more })
        })
        .await
    }

    /// The changes of a node, newest first, with those of the names that it had before up to when it lost them: what has
    /// one of these names later is something else.
    async fn followed(&self, id: &NodeId) -> Result<Vec<Found>> {
        let mut told = vec![self.changes_of(id).await?];
        let mut names = vec![id.clone()];
        let mut at = 0;
        while at < names.len() && names.len() < MAX_NAMES {
            for earlier in self.replaced_by(&names[at]).await? {
                if names.contains(&earlier) {
                    continue;
                }
                let mut changes = self.changes_of(&earlier).await?;
                let took_over = |change: &&Found| {
                    let is_it = |own: &Found| own.sha == change.sha && own.kind != ChangeKind::Removed;
                    change.kind == ChangeKind::Removed && told[at].iter().any(is_it)
                };
                let Some(renamed_at) = changes.iter().find(took_over).map(|change| change.at) else { continue };
                changes.retain(|change| change.at <= renamed_at);
                names.push(earlier);
                told.push(changes);
            }
            at += 1;
        }
        let mut found: Vec<Found> = told.into_iter().flatten().collect();
        // A rename is one commit under two names: the new one tells it.
        let kept: BTreeSet<String> =
            found.iter().filter(|found| found.kind != ChangeKind::Removed).map(|found| found.sha.clone()).collect();
        found.retain(|found| found.kind != ChangeKind::Removed || !kept.contains(&found.sha));
        found.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| (&a.sha, &a.name).cmp(&(&b.sha, &b.name))));
        Ok(found)
    }

    /// What a node was called before.
    async fn replaced_by(&self, id: &NodeId) -> Result<Vec<NodeId>> {
        let (graph, id) = (self.graph(), id.clone());
        let ends = self.blocking(move || Ok(graph.edges(&id, Direction::In, Some(Edge::ReplacedBy))?)).await?;
        Ok(ends.into_iter().map(|end| end.other).collect())
    }

    /// When which commit did what to a node, newest first.
    async fn changes_of(&self, id: &NodeId) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        let (mut before, mut after) = (Timestamp::MAX, Value::any());
        loop {
            let bind =
                vec![("code", Value::Node(id.clone())), ("before", Value::Instant(before)), ("after", after.clone())];
            let rows = self.graph_query(queries::CHANGES, bind).await?;
            let count = rows.len();
            for row in &rows {
                let (Some(NodeId::Commit { project, sha }), Some(at), Some(how)) = (
                    row.node("commit"),
                    row.text("at").and_then(|at| at.parse().ok()),
                    row.text("how").and_then(|how| how.strip_prefix(NS)),
                ) else {
                    continue;
                };
                let kind = match how {
                    "introduces" => ChangeKind::Introduced,
                    "removes" => ChangeKind::Removed,
                    _ => ChangeKind::Modified,
                };
                (before, after) = (at, Value::Node(NodeId::commit(project, &sha)));
                found.push(Found { at, sha, kind, name: id.clone() });
            }
            if count <= MAX_PAGE_ROWS {
                return Ok(found);
            }
        }
    }

    /// Code entities of a name, or the one of a reference.
    ///
    /// # Errors
    /// There is none, or a store failed.
    pub async fn entities(&self, name: &str, project: Option<&str>, limit: usize) -> Result<Vec<EntityCard>> {
        let ids = match name.parse::<NodeId>() {
            Ok(id @ NodeId::Entity { .. }) => vec![id],
            _ => self.entities_named(name, project).await?,
        };
        let mut cards = Vec::new();
        for id in ids.into_iter().take(limit.min(MAX_ENTITIES)) {
            cards.extend(self.entity_card(id).await?);
        }
        if cards.is_empty() {
            return Err(not_found("code entity", name));
        }
        Ok(cards)
    }

    async fn entities_named(&self, name: &str, project: Option<&str>) -> Result<Vec<NodeId>> {
        let name = name.trim();
        if name.is_empty() {
            return Err(Error::invalid("the name is empty; say which function or type is meant"));
        }
        // A path and a name, without a project.
        let (path, name) = name.rsplit_once('#').map_or((None, name), |(path, name)| (Some(path), name));
        let bind = vec![
            ("name", Value::Text(name.to_owned())),
            ("dotted", Value::Text(format!(".{name}"))),
            ("coloned", Value::Text(format!("::{name}"))),
        ];
        let rows = self.graph_query(queries::ENTITIES_BY_NAME, bind).await?;
        let is_wanted = |id: &NodeId| match id {
            NodeId::Entity { project: of, path: at, .. } => {
                project.is_none_or(|project| project == of) && path.is_none_or(|path| path == at)
            }
            _ => false,
        };
        let mut ids: Vec<(bool, NodeId)> = rows
            .iter()
            .filter_map(|row| Some((row.text("title") != Some(name), row.node("entity")?)))
            .filter(|(_, id)| is_wanted(id))
            .collect();
        ids.sort();
        Ok(ids.into_iter().map(|(_, id)| id).collect())
    }

    async fn entity_card(&self, id: NodeId) -> Result<Option<EntityCard>> {
        let NodeId::Entity { project, path, name } = &id else { return Ok(None) };
        let changes = self.followed(&id).await?;
        let engine = self.clone();
        let (project, path, name, node) = (project.clone(), path.clone(), name.clone(), id.clone());
        self.blocking(move || {
            let item = engine.ledger().item(&project, ItemKind::File, &path)?;
            let file = item.map(|item| engine.parse(&item)).transpose()?;
            let definition = file.and_then(|item| match item {
                Item::Repository(of) => match of.record {
                    Record::File(file) => {
                        let entities = file.analysis?.code()?.entities.clone();
                        entities.into_iter().find(|entity| entity.qualified_name == name)
                    }
                    _ => None,
                },
                _ => None,
            });
            if definition.is_none() && changes.is_empty() {
                return Ok(None);
            }
            let record = |change: Option<&Found>| match change {
                Some(change) => engine.commit_record(&project, &change.sha),
                None => Ok(None),
            };
            let introduced = changes.iter().rev().find(|change| change.kind == ChangeKind::Introduced);
            let (introduced, last_changed) = (record(introduced.or(changes.last()))?, record(changes.first())?);
            let mut neighbours = BTreeMap::new();
            for (direction, out) in [(Direction::Out, true), (Direction::In, false)] {
                for end in engine.graph().edges(&node, direction, None)? {
                    let told: &mut Vec<NodeId> = neighbours.entry((end.edge, out)).or_default();
                    if !matches!(end.other, NodeId::Commit { .. }) && told.len() < MAX_NEIGHBOURS {
                        told.push(end.other);
                    }
                }
            }
            neighbours.retain(|_, nodes| !nodes.is_empty());
            Ok(Some(EntityCard { id: node, definition, introduced, last_changed, changes: changes.len(), neighbours }))
        })
        .await
    }

    /// Where all lines of a file come from, and the commit at which that holds.
    ///
    /// # Errors
    /// There is no such file, or a store failed.
    pub async fn lineage(
        &self,
        project: Option<&str>,
        path: &str,
        rev: Option<&str>,
    ) -> Result<(Sha, std::sync::Arc<Lineage>)> {
        let engine = self.clone();
        let (project, path, rev) = (project.map(str::to_owned), path.to_owned(), rev.map(str::to_owned));
        self.blocking(move || {
            let place = engine.place(project.as_deref(), rev.as_deref())?;
            Ok((place.commit, engine.lineage_at(&place, &path)?))
        })
        .await
    }
}

/// Rows of a page of `queries/changes.rq`, without the one that tells that there are more.
const MAX_PAGE_ROWS: usize = 1000;
