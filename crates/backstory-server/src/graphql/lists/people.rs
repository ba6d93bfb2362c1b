//! Lists of people, and what people contributed.

use async_graphql::{Context, Enum, InputObject, Result, SimpleObject, connection::Connection};
use backstory_engine::lists::{self, PersonQuery, PersonRow};

use super::{
    super::{loaders, person::Person},
    OrderDirection, Paging, Totals, connection_with_edges, direction, known, restrict,
};

/// A page of people.
pub(crate) type PersonConnection = Connection<String, Person, Totals, PersonFigures>;

/// What a list of people has of each of them.
#[derive(SimpleObject)]
pub(crate) struct PersonFigures {
    /// How much the person did in the projects of the list, under all their names. It is what the list is ordered by.
    contributions: Contributions,
}

/// Which people a list has: those who meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct PersonFilter {
    /// Full paths of projects: one of them knows them. All if absent or empty.
    projects: Option<Vec<String>>,
    /// Part of a user name, address or name, in any case; everybody if absent.
    text: Option<String>,
}

/// What orders people. What they did is counted in the projects of the list.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::PersonOrder")]
pub(crate) enum PersonOrderField {
    /// Their user names, or addresses.
    Name,
    /// How many issues they opened.
    Issues,
    /// How many merge requests they opened.
    MergeRequests,
    /// How many merge requests they reviewed or were asked to review.
    Reviews,
    /// How many discussions they started.
    Discussions,
    /// How many commits they wrote, without merges.
    Commits,
}

/// An order of people.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct PersonOrder {
    /// What orders people.
    field: PersonOrderField,
    /// Direction of the order; if absent, names ascend and counts descend.
    direction: Option<OrderDirection>,
}

/// How much a person did.
#[derive(Clone, Copy, SimpleObject)]
pub(crate) struct Contributions {
    /// How many issues they opened.
    issue_count: u64,
    /// How many merge requests they opened.
    merge_request_count: u64,
    /// How many merge requests they reviewed or were asked to review.
    review_count: u64,
    /// How many discussions they started.
    discussion_count: u64,
    /// How many commits they wrote, without merges.
    commit_count: u64,
}

impl From<&PersonRow> for Contributions {
    fn from(row: &PersonRow) -> Self {
        Self {
            issue_count: row.issues,
            merge_request_count: row.merge_requests,
            review_count: row.reviews,
            discussion_count: row.discussions,
            commit_count: row.commits,
        }
    }
}

/// A page of people, of one project if it is given.
pub(super) async fn people(
    ctx: &Context<'_>,
    filter: Option<PersonFilter>,
    order: Option<PersonOrder>,
    project: Option<&str>,
    paging: Paging,
) -> Result<PersonConnection> {
    let filter = filter.unwrap_or_default();
    let field = order.map_or(PersonOrderField::Name, |order| order.field);
    let mut query = PersonQuery {
        projects: filter.projects.unwrap_or_default(),
        text: filter.text,
        order: field.into(),
        direction: direction(order.and_then(|order| order.direction), field == PersonOrderField::Name),
    };
    match project {
        Some(project) => restrict(&mut query.projects, "projects", project)?,
        None => query = known(ctx, query).await?,
    }
    let list = format!("people {:?}", query.order);
    let totals = Totals::of(query.clone());
    let is_of_all_projects = query.projects.is_empty();
    let edge = |row: PersonRow| {
        let figures = PersonFigures { contributions: Contributions::from(&row) };
        let person = if is_of_all_projects { Person::listed(row) } else { Person::new(row.person) };
        (person, figures)
    };
    connection_with_edges(ctx, &list, query, &paging, totals, edge).await
}

/// Who somebody is and what they did, by user name or address, in projects, or in all that are visible.
pub(in super::super) async fn contributions(ctx: &Context<'_>, name: &str, projects: Vec<String>) -> Result<PersonRow> {
    let found = loaders::engine(ctx)?.find_contributor(name.to_owned(), projects).await?;
    Ok(found.unwrap_or_else(|| PersonRow { person: name.to_owned(), ..PersonRow::default() }))
}
