//! Lists of commits.

use async_graphql::{Context, Enum, InputObject, Object, Result, connection::Connection};
use backstory_engine::{
    lists::{self, CommitGroup, CommitQuery},
    model::id::ThreadId,
};

use super::{
    super::{code::Commit, loaders, names::ChangeType, page},
    DateRange, OrderDirection, Paging, Totals, connection, direction,
    groups::{self, Grouped, Groups, ListActivity, Period},
    range, restrict, user_names,
};

/// A page of commits.
pub(crate) type CommitConnection = Connection<String, Commit, CommitTotals>;

/// What a commit is in a history.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::CommitKind")]
pub(crate) enum CommitKind {
    /// The commit has one parent or none.
    Commit,
    /// The commit has several parents.
    Merge,
    /// No indexed branch reaches the commit any more.
    Unreachable,
}

/// Which commits a list has: those that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct CommitFilter {
    /// Full paths of projects: the commits are of one of them. All if absent or empty.
    projects: Option<Vec<String>>,
    /// Kinds of commits. Commits and merges that an indexed branch reaches if absent or empty.
    kinds: Option<Vec<CommitKind>>,
    /// User names, addresses, or names that nobody else has: one of these people wrote the commits. All if absent or empty.
    authors: Option<Vec<String>>,
    /// Paths of files or directories: the commits change one of them. All if absent or empty.
    paths: Option<Vec<String>>,
    /// Types of change that the commits are. All if absent or empty.
    change_types: Option<Vec<ChangeType>>,
    /// Whether a merge request introduced the commits; both if absent.
    introduced: Option<bool>,
    /// When the commits were made, corrected so that none comes before its parents.
    committed: Option<DateRange>,
    /// When the commits were written.
    authored: Option<DateRange>,
}

/// What orders commits.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::CommitOrder")]
pub(crate) enum CommitOrderField {
    /// When they were made, corrected so that none comes before its parents.
    Committed,
    /// When they were written.
    Authored,
}

/// An order of commits.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct CommitOrder {
    /// What orders commits.
    field: CommitOrderField,
    /// Direction of the order; the newest first if absent.
    direction: Option<OrderDirection>,
}

/// Requests commits, the newest first unless ordered otherwise.
pub(super) fn commit_query(filter: Option<CommitFilter>, order: Option<CommitOrder>) -> CommitQuery {
    let filter = filter.unwrap_or_default();
    CommitQuery {
        projects: filter.projects.unwrap_or_default(),
        kinds: filter.kinds.into_iter().flatten().map(Into::into).collect(),
        authors: user_names(filter.authors),
        paths: filter.paths.unwrap_or_default(),
        change_types: filter.change_types.into_iter().flatten().map(Into::into).collect(),
        merge_requests: Vec::new(),
        introduced: filter.introduced,
        shas: None,
        committed: range(filter.committed),
        authored: range(filter.authored),
        order: order.map(|order| order.field.into()).unwrap_or_default(),
        direction: direction(order.and_then(|order| order.direction), false),
    }
}

/// Restricts a query to a project.
pub(super) fn within_project(mut query: CommitQuery, project: &str) -> Result<CommitQuery> {
    restrict(&mut query.projects, "projects", project)?;
    Ok(query)
}

/// Restricts a query to what a merge request introduced.
pub(super) fn of_merge_request(query: CommitQuery, id: &ThreadId) -> Result<CommitQuery> {
    let mut query = within_project(query, &id.project)?;
    if query.introduced == Some(false) {
        return Err(
            page::invalid(format!("{id} introduced these commits; leave 'introduced' out of the filter")).into()
        );
    }
    query.merge_requests = vec![id.iid];
    Ok(query)
}

/// The names of the commits of a range of revisions of a project's repository; `None` if no range is given.
pub(super) async fn in_range(
    ctx: &Context<'_>,
    project: &str,
    from: Option<String>,
    to: Option<String>,
) -> Result<Option<Vec<String>>> {
    if from.is_none() && to.is_none() {
        return Ok(None);
    }
    Ok(Some(loaders::engine(ctx)?.commits_in_range(project.to_owned(), from, to).await?))
}

/// A page of commits.
pub(super) async fn commits(ctx: &Context<'_>, query: CommitQuery, paging: Paging) -> Result<CommitConnection> {
    let list = format!("commits {:?}", query.order);
    let totals = CommitTotals { totals: Totals::of(query.clone()), query: query.clone() };
    connection(ctx, &list, query, &paging, totals, |row| Commit::new(row.project, row.sha)).await
}

/// What commits can be grouped by.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum CommitGroupField {
    /// The people who wrote them.
    Author,
    /// Types of change that they are.
    ChangeType,
    /// Their projects.
    Project,
}

/// How long a list of commits is, and how they are distributed.
pub(crate) struct CommitTotals {
    totals: Totals,
    query: CommitQuery,
}

#[Object]
impl CommitTotals {
    #[graphql(flatten)]
    async fn totals(&self) -> &Totals {
        &self.totals
    }

    /// How many commits of the list have each value, the most frequent first.
    async fn group_by(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to group the commits by.")] field: CommitGroupField,
        #[graphql(desc = "Most groups, 0 to 100; 20 if absent.")] first: Option<i32>,
    ) -> Result<Groups> {
        let (by, node) = match field {
            CommitGroupField::Author => (CommitGroup::Author, Grouped::People),
            CommitGroupField::ChangeType => (CommitGroup::ChangeType, Grouped::ChangeTypes),
            CommitGroupField::Project => (CommitGroup::Project, Grouped::Projects),
        };
        groups::commits(ctx, self.query.clone(), by, node, first).await
    }

    /// How many commits of the list were made in each day, week, month or year, oldest first; empty periods within the
    /// range of the filter, or between others, are included.
    async fn activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How long a period is.")] by: Period,
    ) -> Result<ListActivity> {
        groups::commit_activity(ctx, self.query.clone(), CommitGroup::Committed(by.into())).await
    }
}

/// The lists of a merge request.
pub(crate) struct MergeRequestLists {
    id: ThreadId,
}

impl MergeRequestLists {
    pub(in super::super) fn of(id: ThreadId) -> Self {
        Self { id }
    }
}

list_fields! {
    impl MergeRequestLists as own, ctx {
        /// Commits that the merge request introduced to the default branch, the newest first unless ordered otherwise.
        commits(filter: CommitFilter, order: CommitOrder, paging) -> CommitConnection {
            commits(ctx, of_merge_request(commit_query(filter, order), &own.id)?, paging).await
        }
    }
}
