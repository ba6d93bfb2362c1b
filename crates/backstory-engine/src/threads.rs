//! Lists of issues and merge requests.

use backstory_model::{
    entity::{Item, State},
    id::{NodeId, ThreadId, ThreadKind},
};
use backstory_store::lists::{self, PageRequest, ThreadOrder, ThreadQuery};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::Result,
    pages::{absent_names, check_projects, list_rows},
    read::load_items,
    resources::Resources,
    use_case::UseCase,
};

/// Requests a page of issues or merge requests, the last changed first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListThreads {
    /// Which of the two.
    pub kind: ThreadKind,
    /// Conditions that they meet.
    #[serde(default)]
    pub filter: ThreadFilter,
    /// Most of them, at most 1,000; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
    /// Where the previous page ends.
    #[serde(default)]
    pub after: Option<PageCursor>,
}

impl UseCase for ListThreads {
    const NAME: &'static str = "threads";
    type Answer = ThreadList;

    async fn run(self, resources: &Resources) -> Result<ThreadList> {
        list_threads(resources, self).await
    }
}

/// Conditions of a list of issues or merge requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ThreadFilter {
    /// Full path of the project.
    pub project: Option<String>,
    /// State.
    pub state: Option<State>,
    /// The author: a user name, an address, or a name that nobody else has, in any case.
    pub author: Option<String>,
    /// Name of a label, in any case.
    pub label: Option<String>,
}

/// Where a page of a list ends, so that the next begins after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageCursor {
    /// When its last item last changed.
    pub updated_at: Timestamp,
    /// Its last item.
    pub id: ThreadId,
}

/// A page of issues or merge requests with what a list shows of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadList {
    /// Issues or merge requests, the last changed first.
    pub threads: Vec<ThreadSummary>,
    /// Where the next page begins; null on the last page.
    pub next: Option<PageCursor>,
    /// Of an author or label that nothing has, the nearest that there is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// An issue or merge request in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadSummary {
    /// Its id.
    pub id: ThreadId,
    /// Number within the project.
    pub iid: u64,
    /// One-line title.
    pub title: String,
    /// State.
    pub state: State,
    /// User name of the author; null for a deleted account.
    pub author: Option<String>,
    /// Names of its labels, sorted.
    pub labels: Vec<String>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Address for people.
    pub url: String,
    /// Branch with the changes of a merge request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_branch: Option<String>,
    /// Branch that they are merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_branch: Option<String>,
}

impl ThreadSummary {
    /// Summarizes an item; `None` if it is neither an issue nor a merge request.
    pub(crate) fn from_item(item: &Item) -> Option<Self> {
        let (id, branches) = match item {
            Item::Issue(issue) => (&issue.id, None),
            Item::MergeRequest(mr) => (&mr.id, Some((mr.source_branch.clone(), mr.target_branch.clone()))),
            _ => return None,
        };
        let thread = item.as_thread()?.clone();
        let (source_branch, target_branch) = branches.unzip();
        Some(Self {
            id: id.clone(),
            iid: id.iid,
            title: thread.title,
            state: thread.state,
            author: thread.author,
            labels: thread.labels,
            created_at: thread.created_at,
            updated_at: thread.updated_at,
            url: thread.web_url,
            source_branch,
            target_branch,
        })
    }
}

/// Returns a page of issues or merge requests, the last changed first.
///
/// # Errors
/// A store cannot be read.
async fn list_threads(resources: &Resources, request: ListThreads) -> Result<ThreadList> {
    let ListThreads { kind, filter, limit, after } = request;
    let is_first = after.is_none();
    let query = thread_query(kind, filter);
    let after = after.map(|end| lists::Cursor {
        order: end.updated_at.into(),
        project: end.id.project,
        key: lists::Key::Number(end.id.iid.cast_signed()),
    });
    let request = PageRequest { first: limit, after, ..PageRequest::default() };
    check_projects(resources, &query.filter.projects).await?;
    let page = list_rows(resources, query.clone(), request).await?;
    let is_empty = is_first && page.rows.is_empty();
    let warnings = if is_empty { absent_names(resources, query, true).await? } else { Vec::new() };
    let next = page.rows.last().filter(|_| page.next.is_some());
    let next = next.map(|row| PageCursor { updated_at: row.updated_at, id: row.id.clone() });
    let ids: Vec<NodeId> = page.rows.into_iter().map(|row| row.id.into()).collect();
    let items = load_items(resources, ids.clone()).await?;
    let threads = ids.iter().filter_map(|id| ThreadSummary::from_item(items.get(id)?)).collect();
    Ok(ThreadList { threads, next, warnings })
}

fn thread_query(kind: ThreadKind, filter: ThreadFilter) -> ThreadQuery {
    let filter = lists::ThreadFilter {
        projects: filter.project.into_iter().collect(),
        states: filter.state.into_iter().collect(),
        authors: filter.author.into_iter().collect(),
        any_label: filter.label.into_iter().collect(),
        ..lists::ThreadFilter::default()
    };
    ThreadQuery { kind, filter, order: ThreadOrder::Updated, direction: lists::Direction::Descending }
}
