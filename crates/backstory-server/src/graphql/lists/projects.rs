//! Lists of projects.

use async_graphql::{Context, Enum, InputObject, Result, connection::Connection};
use backstory_engine::lists::{self, ProjectQuery};

use super::{super::project::Project, OrderDirection, Paging, TextFilter, Totals, connection, direction, part};

/// A page of projects.
pub(crate) type ProjectConnection = Connection<String, Project, Totals>;

/// What orders projects.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::ProjectOrder")]
pub(crate) enum ProjectOrderField {
    /// Their full paths.
    #[graphql(name = "FULL_PATH")]
    Path,
    /// When they were created; those whose time is not known count as the oldest.
    Created,
    /// When one of their issues or merge requests last changed, or a commit was made.
    Updated,
    /// How many issues they have.
    Issues,
    /// How many merge requests they have.
    MergeRequests,
    /// How many commits they have, without merges.
    Commits,
}

/// An order of projects.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct ProjectOrder {
    /// What orders projects.
    field: ProjectOrderField,
    /// Direction of the order; if absent, paths ascend and all else descends.
    direction: Option<OrderDirection>,
}

/// A page of the projects that the caller sees.
pub(super) async fn projects(
    ctx: &Context<'_>,
    filter: Option<TextFilter>,
    order: Option<ProjectOrder>,
    paging: Paging,
) -> Result<ProjectConnection> {
    let field = order.map_or(ProjectOrderField::Path, |order| order.field);
    let query = ProjectQuery {
        projects: Vec::new(),
        text: part(filter),
        order: field.into(),
        direction: direction(order.and_then(|order| order.direction), field == ProjectOrderField::Path),
    };
    let (list, totals) = (format!("projects {:?}", query.order), Totals::of(query.clone()));
    connection(ctx, &list, query, &paging, totals, |row| Project::new(row.path)).await
}
