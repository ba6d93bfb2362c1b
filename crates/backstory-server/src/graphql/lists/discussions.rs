//! Lists of discussions.

use async_graphql::{Context, Enum, InputObject, Object, Result, connection::Connection};
use backstory_engine::{
    lists::{self, DiscussionGroup, DiscussionQuery, TimeRange},
    model::id::ThreadId,
};

use super::{
    super::{conversation::Discussion, page, scalar::DateTime},
    DateRange, OrderDirection, Paging, Totals, connection, direction,
    groups::{self, Grouped, Groups, ListActivity, Period},
    range, restrict, user_names,
};

/// A page of discussions.
pub(crate) type DiscussionConnection = Connection<String, Discussion, DiscussionTotals>;

/// Which discussions a list has: those that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct DiscussionFilter {
    /// Full paths of projects: the discussions are of one of them. All if absent or empty.
    projects: Option<Vec<String>>,
    /// User names, addresses, or names that nobody else has: one of these people started the discussions. All if absent or empty.
    authors: Option<Vec<String>>,
    /// User names, addresses, or names that nobody else has: one of these people wrote a note in the discussions. All
    /// if absent or empty.
    participants: Option<Vec<String>>,
    /// User names, addresses, or names that nobody else has: notes in the discussions mention one of these people. All
    /// if absent or empty.
    mentions: Option<Vec<String>>,
    /// Paths of files or directories: the first note of the discussions is on one of them. All if absent or empty.
    paths: Option<Vec<String>>,
    /// Whether the discussions are resolved; those that cannot be resolved are neither. All if absent.
    resolved: Option<bool>,
    /// When the discussions were started.
    created: Option<DateRange>,
    /// When the last note of the discussions was written.
    last_note: Option<DateRange>,
    /// Time since which nobody has written a note in the discussions.
    stale_since: Option<DateTime>,
}

/// What orders discussions.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::DiscussionOrder")]
pub(crate) enum DiscussionOrderField {
    /// When their last note was written.
    LastNote,
    /// When they were started.
    Created,
}

/// An order of discussions.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct DiscussionOrder {
    /// What orders discussions.
    field: DiscussionOrderField,
    /// Direction of the order; the newest first if absent.
    direction: Option<OrderDirection>,
}

/// Requests discussions, those with the newest notes first unless ordered otherwise.
pub(super) fn discussion_query(filter: Option<DiscussionFilter>, order: Option<DiscussionOrder>) -> DiscussionQuery {
    let filter = filter.unwrap_or_default();
    let last_note = range(filter.last_note);
    let to = last_note.to.into_iter().chain(filter.stale_since.map(Into::into)).min();
    DiscussionQuery {
        projects: filter.projects.unwrap_or_default(),
        thread: None,
        authors: user_names(filter.authors),
        participants: user_names(filter.participants),
        mentioned: user_names(filter.mentions),
        paths: filter.paths.unwrap_or_default(),
        resolved: filter.resolved,
        created: range(filter.created),
        last_note: TimeRange { to, ..last_note },
        order: order.map(|order| order.field.into()).unwrap_or_default(),
        direction: direction(order.and_then(|order| order.direction), false),
    }
}

/// Restricts a query to a project.
pub(super) fn within_project(mut query: DiscussionQuery, project: &str) -> Result<DiscussionQuery> {
    restrict(&mut query.projects, "projects", project)?;
    Ok(query)
}

/// A page of discussions.
pub(super) async fn page_of(ctx: &Context<'_>, query: DiscussionQuery, paging: Paging) -> Result<DiscussionConnection> {
    let list = format!("discussions {:?}", query.order);
    let totals = DiscussionTotals { totals: Totals::of(query.clone()), query: query.clone() };
    connection(ctx, &list, query, &paging, totals, |row| Discussion::new(row.thread, row.id)).await
}

/// A page of the discussions of an issue or merge request, the oldest first unless ordered otherwise.
pub(in super::super) async fn discussions(
    ctx: &Context<'_>,
    thread: &ThreadId,
    filter: Option<DiscussionFilter>,
    order: Option<DiscussionOrder>,
    paging: Paging,
) -> Result<DiscussionConnection> {
    let order = order.unwrap_or(DiscussionOrder {
        field: DiscussionOrderField::Created,
        direction: Some(OrderDirection::Ascending),
    });
    let mut query = discussion_query(filter, Some(order));
    if query.projects.iter().any(|project| *project != thread.project) {
        return Err(page::invalid(format!(
            "these are the discussions of {thread}; leave 'projects' out of the filter"
        ))
        .into());
    }
    query.thread = Some(thread.clone());
    page_of(ctx, query, paging).await
}

/// What discussions can be grouped by.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum DiscussionGroupField {
    /// The people who started them.
    Author,
    /// Their projects.
    Project,
}

/// How long a list of discussions is, and how they are distributed.
pub(crate) struct DiscussionTotals {
    totals: Totals,
    query: DiscussionQuery,
}

#[Object]
impl DiscussionTotals {
    #[graphql(flatten)]
    async fn totals(&self) -> &Totals {
        &self.totals
    }

    /// How many discussions of the list have each value, the most frequent first.
    async fn group_by(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to group the discussions by.")] field: DiscussionGroupField,
        #[graphql(desc = "Most groups, 0 to 100; 20 if absent.")] first: Option<i32>,
    ) -> Result<Groups> {
        let (by, node) = match field {
            DiscussionGroupField::Author => (DiscussionGroup::Author, Grouped::People),
            DiscussionGroupField::Project => (DiscussionGroup::Project, Grouped::Projects),
        };
        groups::discussions(ctx, self.query.clone(), by, node, first).await
    }

    /// How many discussions of the list were started in each day, week, month or year, oldest first; empty periods
    /// within the range of the filter, or between others, are included.
    async fn activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How long a period is.")] by: Period,
    ) -> Result<ListActivity> {
        groups::discussion_activity(ctx, self.query.clone(), DiscussionGroup::Created(by.into())).await
    }
}
