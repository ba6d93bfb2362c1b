//! Lists of issues and of merge requests.

use async_graphql::{Context, Enum, InputObject, Object, Result, connection::Connection};
use backstory_engine::{
    lists::{self, DurationKind, ThreadFilter, ThreadGroup, ThreadQuery, TimeRange},
    model::id::ThreadKind,
};

use super::{
    super::{issue::Issue, merge_request::MergeRequest, names::State, page, scalar::DateTime},
    DateRange, OrderDirection, Paging, Totals, connection, direction,
    groups::{self, Durations, Grouped, Groups, ListActivity, Period},
    range, restrict, user_names,
};

/// A page of issues.
pub(crate) type IssueConnection = Connection<String, Issue, IssueTotals>;
/// A page of merge requests.
pub(crate) type MergeRequestConnection = Connection<String, MergeRequest, MergeRequestTotals>;

/// Labels that issues or merge requests have or do not have; names in any case.
#[derive(InputObject)]
pub(crate) struct LabelFilter {
    /// Names of labels: they have at least one of these. All if absent or empty.
    any: Option<Vec<String>>,
    /// Names of labels: they have all of these. All if absent or empty.
    all: Option<Vec<String>>,
    /// Names of labels: they have none of these. All if absent or empty.
    none: Option<Vec<String>>,
}

/// What issues and merge requests can be filtered by.
#[derive(Default, InputObject)]
pub(crate) struct ThreadConditions {
    /// Full paths of projects: the items are of one of them. All if absent or empty.
    projects: Option<Vec<String>>,
    /// States: the items are in one of them. All if absent or empty.
    states: Option<Vec<State>>,
    /// User names, addresses, or names that nobody else has: one of these people opened the items. All if absent or empty.
    authors: Option<Vec<String>>,
    /// User names, addresses, or names that nobody else has: the items are assigned to one of these people. All if
    /// absent or empty.
    assignees: Option<Vec<String>>,
    /// Whether the items are assigned to anybody; both if absent.
    assigned: Option<bool>,
    /// User names, addresses, or names that nobody else has: one of these people opened the items or wrote a note. All
    /// if absent or empty.
    participants: Option<Vec<String>>,
    /// User names, addresses, or names that nobody else has: the text or the notes of the items mention one of these
    /// people. All if absent or empty.
    mentions: Option<Vec<String>>,
    /// Labels that the items have or do not have.
    labels: Option<LabelFilter>,
    /// Numbers of milestones within their projects: the items are in one of them. All if absent or empty.
    milestones: Option<Vec<u64>>,
    /// When the items were opened.
    created: Option<DateRange>,
    /// When the items last changed.
    updated: Option<DateRange>,
    /// When the items were closed.
    closed: Option<DateRange>,
    /// Time since which the items have not changed.
    stale_since: Option<DateTime>,
    /// Whether the items have discussions that can be resolved and are not; both if absent.
    unresolved: Option<bool>,
    /// Whether an issue is closed by a merge request or commit of its project, or a merge request closes an issue of its
    /// project; both if absent.
    linked: Option<bool>,
}

/// Which issues a list has: those that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct IssueFilter {
    #[graphql(flatten)]
    conditions: ThreadConditions,
}

/// Which merge requests a list has: those that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct MergeRequestFilter {
    #[graphql(flatten)]
    conditions: ThreadConditions,
    /// User names, addresses, or names that nobody else has: one of these people was asked for a review or gave one.
    /// All if absent or empty.
    reviewers: Option<Vec<String>>,
    /// User names, addresses, or names that nobody else has: one of these people is asked for a review, even if they
    /// gave one: the forge says so, or that they were asked, or, at GitLab, they are reviewers who have not written or
    /// approved anything. All if absent or empty.
    review_requested: Option<Vec<String>>,
    /// User names, addresses, or names that nobody else has: one of these people approved the merge requests. All if
    /// absent or empty.
    approved_by: Option<Vec<String>>,
    /// User names, addresses, or names that nobody else has: none of these people approved the merge requests. All if
    /// absent or empty.
    not_approved_by: Option<Vec<String>>,
    /// When the merge requests were merged.
    merged: Option<DateRange>,
    /// Whether the merge requests are drafts; both if absent.
    draft: Option<bool>,
}

impl From<ThreadConditions> for ThreadFilter {
    fn from(of: ThreadConditions) -> Self {
        let labels = of.labels.unwrap_or(LabelFilter { any: None, all: None, none: None });
        let updated = range(of.updated);
        let stale_since = of.stale_since.map(Into::into);
        let to = updated.to.into_iter().chain(stale_since).min();
        Self {
            projects: of.projects.unwrap_or_default(),
            states: of.states.into_iter().flatten().map(Into::into).collect(),
            authors: user_names(of.authors),
            assignees: user_names(of.assignees),
            assigned: of.assigned,
            participants: user_names(of.participants),
            mentioned: user_names(of.mentions),
            any_label: labels.any.unwrap_or_default(),
            all_labels: labels.all.unwrap_or_default(),
            no_label: labels.none.unwrap_or_default(),
            milestones: of.milestones.unwrap_or_default(),
            created: range(of.created),
            updated: TimeRange { to, ..updated },
            closed: range(of.closed),
            unresolved: of.unresolved,
            linked: of.linked,
            ..Self::default()
        }
    }
}

impl From<MergeRequestFilter> for ThreadFilter {
    fn from(of: MergeRequestFilter) -> Self {
        Self {
            reviewers: user_names(of.reviewers),
            asked: user_names(of.review_requested),
            approvers: user_names(of.approved_by),
            no_approver: user_names(of.not_approved_by),
            merged: range(of.merged),
            draft: of.draft,
            ..Self::from(of.conditions)
        }
    }
}

/// What orders issues. A list ordered by when they were closed leaves out those that are not.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum IssueOrderField {
    /// When they last changed.
    Updated,
    /// When they were opened.
    Created,
    /// When they were closed.
    Closed,
    /// Their numbers within the project.
    Number,
    /// How many notes they have.
    Notes,
}

/// An order of issues.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct IssueOrder {
    /// What orders issues.
    field: IssueOrderField,
    /// Direction of the order; the newest, or largest, first if absent.
    direction: Option<OrderDirection>,
}

/// What orders merge requests. A list ordered by when they were merged or closed leaves out those that were not.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum MergeRequestOrderField {
    /// When they last changed.
    Updated,
    /// When they were opened.
    Created,
    /// When they were merged.
    Merged,
    /// When they were closed without a merge.
    Closed,
    /// Their numbers within the project.
    Number,
    /// How many notes they have.
    Notes,
}

/// An order of merge requests.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct MergeRequestOrder {
    /// What orders merge requests.
    field: MergeRequestOrderField,
    /// Direction of the order; the newest, or largest, first if absent.
    direction: Option<OrderDirection>,
}

impl From<IssueOrderField> for lists::ThreadOrder {
    fn from(field: IssueOrderField) -> Self {
        match field {
            IssueOrderField::Updated => Self::Updated,
            IssueOrderField::Created => Self::Created,
            IssueOrderField::Closed => Self::Closed,
            IssueOrderField::Number => Self::Number,
            IssueOrderField::Notes => Self::Notes,
        }
    }
}

impl From<MergeRequestOrderField> for lists::ThreadOrder {
    fn from(field: MergeRequestOrderField) -> Self {
        match field {
            MergeRequestOrderField::Updated => Self::Updated,
            MergeRequestOrderField::Created => Self::Created,
            MergeRequestOrderField::Merged => Self::Merged,
            MergeRequestOrderField::Closed => Self::Closed,
            MergeRequestOrderField::Number => Self::Number,
            MergeRequestOrderField::Notes => Self::Notes,
        }
    }
}

/// Requests issues.
pub(super) fn issue_query(filter: Option<IssueFilter>, order: Option<IssueOrder>) -> ThreadQuery {
    ThreadQuery {
        kind: ThreadKind::Issue,
        filter: filter.unwrap_or_default().conditions.into(),
        order: order.map(|order| order.field.into()).unwrap_or_default(),
        direction: direction(order.and_then(|order| order.direction), false),
    }
}

/// Requests merge requests.
pub(super) fn merge_request_query(filter: Option<MergeRequestFilter>, order: Option<MergeRequestOrder>) -> ThreadQuery {
    ThreadQuery {
        kind: ThreadKind::MergeRequest,
        filter: filter.unwrap_or_default().into(),
        order: order.map(|order| order.field.into()).unwrap_or_default(),
        direction: direction(order.and_then(|order| order.direction), false),
    }
}

/// Restricts a query to a project.
pub(super) fn within_project(mut query: ThreadQuery, project: &str) -> Result<ThreadQuery> {
    restrict(&mut query.filter.projects, "projects", project)?;
    Ok(query)
}

/// Restricts a query to a milestone.
///
/// # Errors
/// The filter names others.
pub(super) fn within_milestone(query: ThreadQuery, project: &str, iid: u64) -> Result<ThreadQuery> {
    let mut query = within_project(query, project)?;
    if !query.filter.milestones.is_empty() {
        return Err(page::invalid("this list is of one milestone; leave 'milestones' out of the filter").into());
    }
    query.filter.milestones = vec![iid];
    Ok(query)
}

/// Restricts a query to a label.
pub(super) fn with_label(query: ThreadQuery, project: &str, name: &str) -> Result<ThreadQuery> {
    let mut query = within_project(query, project)?;
    query.filter.all_labels.push(name.to_owned());
    Ok(query)
}

/// A page of issues.
pub(super) async fn issues(ctx: &Context<'_>, query: ThreadQuery, paging: Paging) -> Result<IssueConnection> {
    let list = format!("issues {:?}", query.order);
    let totals = IssueTotals(ThreadTotals::of(query.clone()));
    connection(ctx, &list, query, &paging, totals, |row| Issue::new(row.id)).await
}

/// A page of merge requests.
pub(super) async fn merge_requests(
    ctx: &Context<'_>,
    query: ThreadQuery,
    paging: Paging,
) -> Result<MergeRequestConnection> {
    let list = format!("merge requests {:?}", query.order);
    let totals = MergeRequestTotals(ThreadTotals::of(query.clone()));
    connection(ctx, &list, query, &paging, totals, |row| MergeRequest::new(row.id)).await
}

/// What issues and merge requests can be grouped by.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum ThreadGroupField {
    /// The states they are in.
    State,
    /// The people who opened them.
    Author,
    /// The people they are assigned to; one can be in several groups.
    Assignee,
    /// The people who were asked for a review or gave one; one can be in several groups.
    Reviewer,
    /// Their labels; one can be in several groups.
    Label,
    /// Their milestones; only of a list of one project.
    Milestone,
    /// Their projects.
    Project,
}

/// A time of an issue or merge request.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum ThreadTime {
    /// When it was opened.
    Created,
    /// When it was merged.
    Merged,
    /// When it was closed.
    Closed,
}

/// How long a list of issues or merge requests is, and how they are distributed.
pub(crate) struct ThreadTotals {
    totals: Totals,
    query: ThreadQuery,
}

impl ThreadTotals {
    fn of(query: ThreadQuery) -> Self {
        Self { totals: Totals::of(query.clone()), query }
    }

    fn project(&self) -> Option<&String> {
        if let [project] = self.query.filter.projects.as_slice() { Some(project) } else { None }
    }
}

#[Object]
impl ThreadTotals {
    #[graphql(flatten)]
    async fn totals(&self) -> &Totals {
        &self.totals
    }

    /// How many items of the list have each value, the most frequent first.
    async fn group_by(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to group the items by.")] field: ThreadGroupField,
        #[graphql(desc = "Most groups, 0 to 100; 20 if absent.")] first: Option<i32>,
    ) -> Result<Groups> {
        let project = self.project();
        let (by, node) = match field {
            ThreadGroupField::State => (ThreadGroup::State, Grouped::States),
            ThreadGroupField::Author => (ThreadGroup::Author, Grouped::People),
            ThreadGroupField::Assignee => (ThreadGroup::Assignee, Grouped::People),
            ThreadGroupField::Reviewer => (ThreadGroup::Reviewer, Grouped::People),
            ThreadGroupField::Label => (ThreadGroup::Label, Grouped::labels(project)),
            ThreadGroupField::Milestone => (ThreadGroup::Milestone, Grouped::milestones(project)?),
            ThreadGroupField::Project => (ThreadGroup::Project, Grouped::Projects),
        };
        groups::threads(ctx, self.query.clone(), by, node, first).await
    }

    /// How many items of the list there were in each day, week, month or year, oldest first; empty periods within the
    /// range of the filter, or between others, are included.
    async fn activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How long a period is.")] by: Period,
        #[graphql(desc = "Which time of an item counts.", default_with = "ThreadTime::Created")] of: ThreadTime,
    ) -> Result<ListActivity> {
        let by = by.into();
        let by = match of {
            ThreadTime::Created => ThreadGroup::Created(by),
            ThreadTime::Merged => ThreadGroup::Merged(by),
            ThreadTime::Closed => ThreadGroup::Closed(by),
        };
        groups::thread_activity(ctx, self.query.clone(), by).await
    }
}

/// How long a list of issues is, how they are distributed, and how long they took.
pub(crate) struct IssueTotals(ThreadTotals);

#[Object]
impl IssueTotals {
    #[graphql(flatten)]
    async fn totals(&self) -> &ThreadTotals {
        &self.0
    }

    /// How long the closed issues of the list took from when they were opened until they were closed. It is computed only if it
    /// is asked for, here as in groups and periods.
    async fn time_to_close(&self, ctx: &Context<'_>) -> Result<Durations> {
        groups::thread_durations(ctx, self.0.query.clone(), DurationKind::ToClose).await
    }
}

/// How long a list of merge requests is, how they are distributed, and how long they took.
pub(crate) struct MergeRequestTotals(ThreadTotals);

#[Object]
impl MergeRequestTotals {
    #[graphql(flatten)]
    async fn totals(&self) -> &ThreadTotals {
        &self.0
    }

    /// How long the merged merge requests of the list took from when they were opened until they were merged. It is computed
    /// only if it is asked for, here as in groups and periods.
    async fn time_to_merge(&self, ctx: &Context<'_>) -> Result<Durations> {
        groups::thread_durations(ctx, self.0.query.clone(), DurationKind::ToMerge).await
    }

    /// How long the merge requests of the list took from when they were opened until their first review, as each tells it
    /// in its `timeToFirstReview`; those that nobody has reviewed are not in it. It is computed only if it is asked for,
    /// here as in groups and periods.
    async fn time_to_first_review(&self, ctx: &Context<'_>) -> Result<Durations> {
        groups::thread_durations(ctx, self.0.query.clone(), DurationKind::ToFirstReview).await
    }
}
