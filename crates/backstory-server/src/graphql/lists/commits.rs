//! Lists of commits.

use async_graphql::{Context, Enum, InputObject, Object, Result, connection::Connection};
use backstory_engine::{
    lists::{self, CommitGroup, CommitQuery},
    model::id::ThreadId,
};

use super::{
    super::{code::Commit, names::ChangeType, page},
    DateRange, OrderDirection, Paging, Totals, connection,
    groups::{self, Grouped, Groups, ListActivity, Period},
    range, restrict, user_names,
};

/// A page of commits.
pub(crate) type CommitConnection = Connection<String, Commit, CommitTotals>;

/// What a commit is in a history.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::CommitKind")]
pub(crate) enum CommitKind {
    /// It has one parent or none.
    Commit,
    /// It has several parents.
    Merge,
    /// No indexed branch reaches it any more.
    Unreachable,
}

/// Which commits: those that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct CommitFilter {
    /// Full paths of projects: they are of one of them.
    projects: Option<Vec<String>>,
    /// Kinds; commits and merges that an indexed branch reaches if absent.
    kinds: Option<Vec<CommitKind>>,
    /// User names or addresses: one of these people wrote them.
    authors: Option<Vec<String>>,
    /// Paths of files or directories: they change one of them.
    paths: Option<Vec<String>>,
    /// What sort of change they are.
    change_types: Option<Vec<ChangeType>>,
    /// Whether a merge request introduced them.
    introduced: Option<bool>,
    /// When they were made, corrected so that none comes before its parents.
    committed: Option<DateRange>,
    /// When they were written.
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
    /// What orders them.
    field: CommitOrderField,
    /// In which direction.
    #[graphql(default_with = "OrderDirection::Descending")]
    direction: OrderDirection,
}

/// Requests commits, unless otherwise ordered the newest first.
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
        committed: range(filter.committed),
        authored: range(filter.authored),
        order: order.map(|order| order.field.into()).unwrap_or_default(),
        direction: order.map(|order| order.direction.into()).unwrap_or_default(),
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
    /// What sort of change they are.
    ChangeType,
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
        #[graphql(desc = "What to group by.")] field: CommitGroupField,
        #[graphql(desc = "Most groups, 0 to 100; 20 if absent.")] first: Option<i32>,
    ) -> Result<Groups> {
        let (by, node) = match field {
            CommitGroupField::Author => (CommitGroup::Author, Grouped::People),
            CommitGroupField::ChangeType => (CommitGroup::ChangeType, Grouped::Value),
        };
        groups::commits(ctx, self.query.clone(), by, node, first).await
    }

    /// How many commits of the list were made in each day, week or month, oldest first. Periods without any are left out.
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
        /// Commits that it introduced to the default branch, unless otherwise ordered the newest first.
        commits(filter: CommitFilter, order: CommitOrder, paging) -> CommitConnection {
            commits(ctx, of_merge_request(commit_query(filter, order), &own.id)?, paging).await
        }
    }
}
