//! The lists of labels and of milestones, and those that labels and milestones have.

use async_graphql::{Context, Enum, InputObject, Result, connection::Connection};
use backstory_engine::lists::{self, LabelQuery, MilestoneQuery};

use super::{
    super::{
        names::State,
        planning::{Label, Milestone},
    },
    IssueConnection, MergeRequestConnection, OrderDirection, Paging, TextFilter, Totals, connection, direction, part,
    threads,
    threads::{IssueFilter, IssueOrder, MergeRequestFilter, MergeRequestOrder},
    whole,
};

/// A page of labels.
pub(crate) type LabelConnection = Connection<String, Label, Totals>;
/// A page of milestones.
pub(crate) type MilestoneConnection = Connection<String, Milestone, Totals>;

/// What orders labels.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::LabelOrder")]
pub(crate) enum LabelOrderField {
    /// Names of the labels.
    Name,
    /// How many issues of their project have them.
    Issues,
    /// How many merge requests of their project have them.
    MergeRequests,
}

/// An order of labels.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct LabelOrder {
    /// What orders labels.
    field: LabelOrderField,
    /// Direction of the order; if absent, names ascend and counts descend.
    direction: Option<OrderDirection>,
}

/// Which milestones a list has: those that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct MilestoneFilter {
    /// Part of a title, in any case; all if absent.
    text: Option<String>,
    /// States: they are in one of them, opened or closed. All if absent or empty.
    states: Option<Vec<State>>,
}

/// What orders milestones.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::MilestoneOrder")]
pub(crate) enum MilestoneOrderField {
    /// Numbers of the milestones.
    Number,
    /// Titles of the milestones.
    Title,
    /// How many issues the milestones have.
    Issues,
    /// How many merge requests the milestones have.
    MergeRequests,
}

/// An order of milestones.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct MilestoneOrder {
    /// What orders milestones.
    field: MilestoneOrderField,
    /// Direction of the order; if absent, numbers and titles ascend and counts descend.
    direction: Option<OrderDirection>,
}

/// A page of the labels of a project.
pub(super) async fn labels(
    ctx: &Context<'_>,
    project: &str,
    filter: Option<TextFilter>,
    order: Option<LabelOrder>,
    paging: Paging,
) -> Result<LabelConnection> {
    let field = order.map_or(LabelOrderField::Name, |order| order.field);
    let query = LabelQuery {
        projects: vec![project.to_owned()],
        text: part(filter),
        order: field.into(),
        direction: direction(order.and_then(|order| order.direction), field == LabelOrderField::Name),
    };
    let (list, totals) = (format!("labels {:?}", query.order), Totals::of(query.clone()));
    connection(ctx, &list, query, &paging, totals, |row| Label::new(row.project, row.name)).await
}

/// A page of the labels of an issue or merge request, which are few, by name.
///
/// # Errors
/// The page is asked for in a wrong way.
pub(in super::super) fn labels_of(project: &str, mut names: Vec<String>, paging: &Paging) -> Result<LabelConnection> {
    names.sort();
    names.dedup();
    whole(names, OrderDirection::Ascending, paging, String::clone, |name| Label::new(project.to_owned(), name.clone()))
}

/// A page of the milestones of a project.
pub(super) async fn milestones(
    ctx: &Context<'_>,
    project: &str,
    filter: Option<MilestoneFilter>,
    order: Option<MilestoneOrder>,
    paging: Paging,
) -> Result<MilestoneConnection> {
    let filter = filter.unwrap_or_default();
    let field = order.map_or(MilestoneOrderField::Number, |order| order.field);
    let is_text = matches!(field, MilestoneOrderField::Number | MilestoneOrderField::Title);
    let query = MilestoneQuery {
        projects: vec![project.to_owned()],
        text: filter.text,
        states: filter.states.into_iter().flatten().map(Into::into).collect(),
        order: field.into(),
        direction: direction(order.and_then(|order| order.direction), is_text),
    };
    let (list, totals) = (format!("milestones {:?}", query.order), Totals::of(query.clone()));
    connection(ctx, &list, query, &paging, totals, |row| Milestone::new(row.project, row.iid)).await
}

/// The lists of a label.
pub(crate) struct LabelLists {
    project: String,
    name: String,
}

impl LabelLists {
    pub(in super::super) fn of(project: String, name: String) -> Self {
        Self { project, name }
    }
}

list_fields! {
    impl LabelLists as own, ctx {
        /// Issues that have the label, the last changed first unless ordered otherwise.
        issues(filter: IssueFilter, order: IssueOrder, paging) -> IssueConnection {
            let query = threads::with_label(threads::issue_query(filter, order), &own.project, &own.name)?;
            threads::issues(ctx, query, paging).await
        }

        /// Merge requests that have the label, the last changed first unless ordered otherwise.
        merge_requests(filter: MergeRequestFilter, order: MergeRequestOrder, paging) -> MergeRequestConnection {
            let query = threads::with_label(threads::merge_request_query(filter, order), &own.project, &own.name)?;
            threads::merge_requests(ctx, query, paging).await
        }
    }
}

/// The lists of a milestone.
pub(crate) struct MilestoneLists {
    project: String,
    iid: u64,
}

impl MilestoneLists {
    pub(in super::super) fn of(project: String, iid: u64) -> Self {
        Self { project, iid }
    }
}

list_fields! {
    impl MilestoneLists as own, ctx {
        /// Issues in the milestone, the last changed first unless ordered otherwise.
        issues(filter: IssueFilter, order: IssueOrder, paging) -> IssueConnection {
            let query = threads::within_milestone(threads::issue_query(filter, order), &own.project, own.iid)?;
            threads::issues(ctx, query, paging).await
        }

        /// Merge requests in the milestone, the last changed first unless ordered otherwise.
        merge_requests(filter: MergeRequestFilter, order: MergeRequestOrder, paging) -> MergeRequestConnection {
            let query = threads::within_milestone(threads::merge_request_query(filter, order), &own.project, own.iid)?;
            threads::merge_requests(ctx, query, paging).await
        }
    }
}
