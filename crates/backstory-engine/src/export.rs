//! Data out: issues, merge requests, discussions, commits, files and edges as tables, a batch of rows at a time.
//!
//! Each batch is read by cursor, so an export of any size needs the memory of one batch. What changes while an export
//! runs is as it was when its batch was read.

mod rows;

use backstory_model::{edge::Edge, entity::State, filter::Filter, id::NodeId};
use backstory_store::{
    export::{Cell, Column},
    lists::{
        CommitOrder, CommitQuery, Cursor, Direction, DiscussionOrder, DiscussionQuery, FileOrder, FileQuery, MAX_PAGE,
        Page, PageRequest, ThreadFilter, ThreadOrder, ThreadQuery, TimeRange,
    },
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    catalog::check_project,
    error::{Error, Result},
    limits::check_limit,
    pages::normalize_paths,
    refresh::catch_up_graph_and_lists,
    resources::{Resources, blocking},
    search::{ResolvedNames, check_names, resolve_names},
    use_case::{UseCase, Weight},
};

pub use backstory_store::export::{TableEncoder, TableFormat};

/// Most rows of a batch of a list. A batch of edges ends with the item that exceeds it.
pub const MAX_BATCH: usize = MAX_PAGE;
/// Most items whose edges one batch reads.
const MAX_ITEMS: usize = 1000;

/// What can be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExportKind {
    /// Issues.
    Issues,
    /// Merge requests.
    MergeRequests,
    /// Discussions.
    Discussions,
    /// Commits that an indexed branch reaches.
    Commits,
    /// Files at the indexed heads.
    Files,
    /// Edges between nodes, and the items that state them.
    Edges,
}

impl ExportKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Issues, Self::MergeRequests, Self::Discussions, Self::Commits, Self::Files, Self::Edges];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Issues => "issues",
            Self::MergeRequests => "merge_requests",
            Self::Discussions => "discussions",
            Self::Commits => "commits",
            Self::Files => "files",
            Self::Edges => "edges",
        }
    }

    /// The kind of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The columns of its table.
    pub fn columns(self) -> &'static [Column] {
        rows::columns(self)
    }
}

/// Conditions of an export. One that a kind does not have is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ExportFilter {
    /// Full paths of projects; empty for all.
    pub projects: Vec<String>,
    /// States of issues and merge requests; empty for all.
    pub states: Vec<State>,
    /// Authors, by user name, of commits also by address; empty for all.
    pub authors: Vec<String>,
    /// Labels of issues and merge requests, all of which they have.
    pub labels: Vec<String>,
    /// Paths of files or directories: of files, that commits change, or that discussions are on; empty for all.
    pub paths: Vec<String>,
    /// Names of edges; empty for all.
    pub edges: Vec<Edge>,
    /// Only what was opened, started or committed then or later.
    #[serde(deserialize_with = "backstory_model::time::read_instant")]
    pub after: Option<Timestamp>,
    /// Only what was opened, started or committed before.
    #[serde(deserialize_with = "backstory_model::time::read_instant")]
    pub before: Option<Timestamp>,
}

impl ExportFilter {
    fn created(&self) -> TimeRange {
        TimeRange { from: self.after, to: self.before }
    }

    /// Refuses conditions that rows of a kind cannot meet.
    fn check(&self, kind: ExportKind) -> Result<()> {
        use ExportKind::{Commits, Discussions, Edges, Files, Issues, MergeRequests};
        let times = self.after.is_some() || self.before.is_some();
        let conditions: [(&str, bool, &[ExportKind]); 6] = [
            ("state", !self.states.is_empty(), &[Issues, MergeRequests]),
            ("label", !self.labels.is_empty(), &[Issues, MergeRequests]),
            ("author", !self.authors.is_empty(), &[Issues, MergeRequests, Discussions, Commits]),
            ("path", !self.paths.is_empty(), &[Discussions, Commits, Files]),
            ("edge", !self.edges.is_empty(), &[Edges]),
            ("after or before", times, &[Issues, MergeRequests, Discussions, Commits]),
        ];
        for (name, is_set, kinds) in conditions {
            if is_set && !kinds.contains(&kind) {
                return Err(Error::invalid(format!("{} cannot be filtered by {name}", kind.as_str())));
            }
        }
        Ok(())
    }
}

/// Where a batch ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExportCursor {
    /// After a row of a list; opaque.
    Row(String),
    /// After the edges of an item, by the position of its change.
    Item(u64),
    /// After the inferred links of a node.
    Link(NodeId),
}

/// Requests a batch of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExportRequest {
    /// What is exported.
    pub what: ExportKind,
    /// Which of it.
    #[serde(default)]
    pub filter: ExportFilter,
    /// Where the batch before ended; none for the first.
    #[serde(default)]
    pub after: Option<ExportCursor>,
    /// Most rows, 1 to 1,000; 1,000 if absent.
    #[serde(default = "default_batch")]
    pub limit: usize,
}

/// A batch of an export.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExportBatch {
    /// The rows: a cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// Where the next batch begins; none after the last.
    pub next: Option<ExportCursor>,
    /// The conditions with names as they are known: those of the next batch.
    #[serde(default)]
    pub filter: ExportFilter,
}

const fn default_batch() -> usize {
    MAX_BATCH
}

impl UseCase for ExportRequest {
    const NAME: &'static str = "export";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = ExportBatch;

    async fn run(self, resources: &Resources) -> Result<ExportBatch> {
        read_batch(resources, self).await
    }
}

/// Reads a batch.
///
/// # Errors
/// A project, author or label is not known, a condition does not fit, the cursor is of another export, or a store cannot be read.
async fn read_batch(resources: &Resources, request: ExportRequest) -> Result<ExportBatch> {
    let ExportRequest { what, mut filter, after, limit } = request;
    check_limit(limit, MAX_BATCH)?;
    filter.check(what)?;
    normalize_paths(&mut filter.paths);
    for project in &filter.projects {
        check_project(resources, Some(project)).await?;
    }
    if what == ExportKind::Edges {
        let batch = read_edges(resources, filter.clone(), after, limit).await?;
        return Ok(ExportBatch { filter, ..batch });
    }
    // Later batches have the names that the first one found.
    let filter = if after.is_none() { resolve_filter_names(resources, filter).await? } else { filter };
    let page = PageRequest { first: limit, after: row_cursor(after)?, ..PageRequest::default() };
    let known = filter.clone();
    let batch = read_rows(resources, what, filter, page).await?;
    Ok(ExportBatch { filter: known, ..batch })
}

/// Reads a batch of rows of a table of the lists.
async fn read_rows(
    resources: &Resources,
    what: ExportKind,
    filter: ExportFilter,
    page: PageRequest,
) -> Result<ExportBatch> {
    resources
        .with_lists(move |lists, visibility| {
            // In an order that no change of a row moves it in, so that none is left out or comes twice.
            let direction = Direction::Ascending;
            Ok(match what {
                ExportKind::Issues | ExportKind::MergeRequests => {
                    let kind = rows::thread_kind(what);
                    let filter = ThreadFilter {
                        projects: filter.projects.clone(),
                        states: filter.states.clone(),
                        authors: filter.authors.clone(),
                        all_labels: filter.labels.clone(),
                        created: filter.created(),
                        ..ThreadFilter::default()
                    };
                    let query = ThreadQuery { kind, filter, order: ThreadOrder::Created, direction };
                    batch(lists.threads(&query, &page, visibility)?, rows::thread)
                }
                ExportKind::Discussions => {
                    let query = DiscussionQuery {
                        projects: filter.projects.clone(),
                        authors: filter.authors.clone(),
                        paths: filter.paths.clone(),
                        created: filter.created(),
                        order: DiscussionOrder::Created,
                        direction,
                        ..DiscussionQuery::default()
                    };
                    batch(lists.discussions(&query, &page, visibility)?, rows::discussion)
                }
                ExportKind::Commits => {
                    let query = CommitQuery {
                        projects: filter.projects.clone(),
                        authors: filter.authors.clone(),
                        paths: filter.paths.clone(),
                        committed: filter.created(),
                        order: CommitOrder::Committed,
                        direction,
                        ..CommitQuery::default()
                    };
                    batch(lists.commits(&query, &page, visibility)?, rows::commit)
                }
                ExportKind::Files | ExportKind::Edges => {
                    let query = FileQuery {
                        projects: filter.projects.clone(),
                        paths: filter.paths.clone(),
                        order: FileOrder::Path,
                        direction,
                        ..FileQuery::default()
                    };
                    batch(lists.files(&query, &page, visibility)?, rows::file)
                }
            })
        })
        .await
}

/// Puts authors and labels as they are known, as a search does.
///
/// # Errors
/// One is not known, or is a part of a name only: a table does not say whose rows it has. There are too many of them, one is
/// too long, or a store cannot be read.
async fn resolve_filter_names(resources: &Resources, filter: ExportFilter) -> Result<ExportFilter> {
    if filter.authors.is_empty() && filter.labels.is_empty() {
        return Ok(filter);
    }
    let ExportFilter { authors, labels, projects, .. } = filter.clone();
    let asked = Filter { authors, labels, projects, ..Filter::default() };
    check_names(&asked)?;
    let ResolvedNames { authors, labels, taken, absent } = resolve_names(resources, &asked).await?;
    if !absent.is_empty() {
        return Err(Error::invalid(absent.join("; ")));
    }
    if !taken.is_empty() {
        return Err(Error::invalid(taken.join("; ")).with_hint("write the name whole"));
    }
    Ok(ExportFilter { authors, labels, ..filter })
}

fn row_cursor(after: Option<ExportCursor>) -> Result<Option<Cursor>> {
    match after {
        None => Ok(None),
        Some(ExportCursor::Row(text)) => serde_json::from_str(&text).map(Some).map_err(|_| wrong_cursor()),
        Some(_) => Err(wrong_cursor()),
    }
}

fn wrong_cursor() -> Error {
    Error::invalid("the cursor is not one of this export; begin without one")
}

fn batch<R>(page: Page<R>, row: impl Fn(R) -> Vec<Cell>) -> ExportBatch {
    let next = page.next.map(|cursor| ExportCursor::Row(serde_json::json!(cursor).to_string()));
    ExportBatch { rows: page.rows.into_iter().map(row).collect(), next, ..ExportBatch::default() }
}

/// Reads edges: first what items state, in the order of their last changes, then what was inferred.
///
/// What items state is in the graph only once it has followed, so it follows first. A batch ends before an item that
/// changed since.
async fn read_edges(
    resources: &Resources,
    filter: ExportFilter,
    after: Option<ExportCursor>,
    limit: usize,
) -> Result<ExportBatch> {
    let (seq, link) = match after {
        None => (Some(0), None),
        Some(ExportCursor::Item(seq)) => (Some(seq), None),
        Some(ExportCursor::Link(node)) => (None, Some(node)),
        Some(ExportCursor::Row(_)) => return Err(wrong_cursor()),
    };
    let can_follow = resources.graph().read_only().is_none();
    if seq.is_some() && can_follow {
        catch_up_graph_and_lists(resources).await?;
    }
    let graph = resources.graph();
    let ledger = resources.ledger().clone();
    blocking(move || {
        let readable = if can_follow { graph.applied_seq()? } else { u64::MAX };
        let wants = |edge: Edge| filter.edges.is_empty() || filter.edges.contains(&edge);
        let mut batch = ExportBatch::default();
        if let Some(seq) = seq {
            let items = ledger.changed_keys_after(seq, &filter.projects, MAX_ITEMS)?;
            let is_last = items.len() < MAX_ITEMS;
            for item in items {
                if item.seq > readable {
                    batch.next.get_or_insert(ExportCursor::Item(seq));
                    return Ok(batch);
                }
                let edges = graph.edges_of_item(&item.project, item.kind, &item.key)?;
                batch.rows.extend(edges.iter().filter(|edge| wants(edge.edge)).map(|edge| rows::edge(edge, &item)));
                batch.next = Some(ExportCursor::Item(item.seq));
                if batch.rows.len() >= limit {
                    return Ok(batch);
                }
            }
            if !is_last {
                return Ok(batch);
            }
        }
        let is_of_projects = |from: &NodeId| {
            filter.projects.is_empty()
                || from.project().is_some_and(|own| filter.projects.iter().any(|name| name == own))
        };
        let room = limit.saturating_sub(batch.rows.len()).max(1);
        let links =
            if wants(rows::INFERRED) { graph.inferred_after(link.as_ref(), room, is_of_projects)? } else { Vec::new() };
        let is_full = links.len() == room;
        batch.next = links.last().filter(|_| is_full).map(|link| ExportCursor::Link(link.from.clone()));
        batch.rows.extend(links.iter().map(rows::link));
        Ok(batch)
    })
    .await
}
