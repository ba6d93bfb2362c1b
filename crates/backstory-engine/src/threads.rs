//! Lists of issues and merge requests.

use backstory_model::{
    entity::{Item, State},
    filter::{Filter, is_same_name},
    id::{NodeId, ThreadId, ThreadKind},
};
use backstory_store::{
    index::{Named, Projects},
    lists::{self, PageRequest, ThreadOrder, ThreadQuery},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    catalog::check_project,
    error::Result,
    read::load_items,
    resources::Resources,
    search::names::{check_name, check_names, expand_author_names},
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
    /// Most of them, at most [`MAX_PAGE`].
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
    /// User name of the author, in any case.
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

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub struct ThreadPage {
    /// Issues or merge requests, newest change first.
    pub ids: Vec<PageCursor>,
    /// Whether there are more.
    pub more: bool,
}

/// A page of issues or merge requests with what a list shows of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadList {
    /// Issues or merge requests, the last changed first.
    pub threads: Vec<ThreadSummary>,
    /// Where the next page begins; `None` on the last page.
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
    /// User name of the author; `None` for a deleted account.
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

/// A page of issues or merge requests, newest change first.
pub(crate) async fn list_thread_ids(
    resources: &Resources,
    kind: ThreadKind,
    filter: &ThreadFilter,
    after: Option<PageCursor>,
    limit: usize,
) -> Result<ThreadPage> {
    check_listed_project(resources, filter).await?;
    let query = thread_query(kind, with_known_spelling(resources, filter).await?);
    let after = after.map(|end| lists::Cursor {
        order: end.updated_at.into(),
        project: end.id.project,
        key: lists::Key::Number(end.id.iid.cast_signed()),
    });
    let request = PageRequest { first: limit, after, with_total: false };
    let page = resources.with_lists(move |lists, visibility| lists.threads(&query, &request, visibility)).await?;
    let ids = page.rows.into_iter().map(|row| PageCursor { updated_at: row.updated_at, id: row.id });
    Ok(ThreadPage { ids: ids.collect(), more: page.next.is_some() })
}

/// Returns a page of issues or merge requests, the last changed first.
///
/// # Errors
/// A store cannot be read.
async fn list_threads(resources: &Resources, request: ListThreads) -> Result<ThreadList> {
    let ListThreads { kind, filter, limit, after } = request;
    let is_first = after.is_none();
    let page = list_thread_ids(resources, kind, &filter, after, limit).await?;
    let warnings = if is_first && page.ids.is_empty() { absent_names(resources, &filter).await? } else { Vec::new() };
    let ids: Vec<NodeId> = page.ids.iter().map(|end| end.id.clone().into()).collect();
    let items = load_items(resources, ids.clone()).await?;
    let next = page.ids.into_iter().next_back().filter(|_| page.more);
    let threads = ids.iter().filter_map(|id| ThreadSummary::from_item(items.get(id)?)).collect();
    Ok(ThreadList { threads, next, warnings })
}

/// How many issues or merge requests meet the conditions.
pub(crate) async fn count_threads(resources: &Resources, kind: ThreadKind, filter: &ThreadFilter) -> Result<u64> {
    check_listed_project(resources, filter).await?;
    let query = thread_query(kind, with_known_spelling(resources, filter).await?);
    resources.with_lists(move |lists, visibility| lists.count_threads(&query, visibility)).await
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

/// Says of the author and the label of a list that nothing has which one is nearest, as a search does.
///
/// # Errors
/// A name is too long, or a store failed.
pub(crate) async fn absent_names(resources: &Resources, filter: &ThreadFilter) -> Result<Vec<String>> {
    let mut filter = Filter {
        authors: filter.author.iter().cloned().collect(),
        labels: filter.label.iter().cloned().collect(),
        project: filter.project.clone(),
        ..Filter::default()
    };
    check_names(&filter)?;
    expand_author_names(resources, &mut filter).await
}

/// The conditions of a list with its names in the case in which they are known.
///
/// # Errors
/// A name is too long.
async fn with_known_spelling(resources: &Resources, filter: &ThreadFilter) -> Result<ThreadFilter> {
    filter.author.iter().chain(&filter.label).try_for_each(|name| check_name(name))?;
    let filter = filter.clone();
    resources
        .blocking(move |resources| {
            let projects =
                filter.project.as_ref().map_or(Projects::All, |one| Projects::Only(std::slice::from_ref(one)));
            let written = |what: Named, name: &String| {
                let known = resources.index().known(what, projects);
                let is_known = known.contains(name.as_str());
                let other = known.into_iter().find(|own| !is_known && is_same_name(own, name));
                other.map_or_else(|| name.clone(), |own| own.to_string())
            };
            Ok(ThreadFilter {
                author: filter.author.as_ref().map(|author| written(Named::Author, author)),
                label: filter.label.as_ref().map(|label| written(Named::Label, label)),
                ..filter.clone()
            })
        })
        .await
}

/// Refuses a filter that names a project of which nothing is known.
async fn check_listed_project(resources: &Resources, filter: &ThreadFilter) -> Result<()> {
    let Some(project) = &filter.project else { return Ok(()) };
    // What was read is listed, also of a project that is not configured.
    if load_items(resources, vec![NodeId::Project(project.clone())]).await?.is_empty() {
        check_project(resources, Some(project)).await?;
    }
    Ok(())
}
