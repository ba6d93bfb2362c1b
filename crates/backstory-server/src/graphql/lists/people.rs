//! Lists of people, and what people contributed.

use async_graphql::{Context, Enum, InputObject, Result, SimpleObject, connection::Connection};
use backstory_engine::lists::{self, PersonQuery, PersonRow};

use super::{
    super::{loaders, person::Person},
    OrderDirection, Paging, Totals, connection, direction, known, restrict,
};

/// A page of people.
pub(crate) type PersonConnection = Connection<String, Person, Totals>;

/// Which people: those who meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct PersonFilter {
    /// Full paths of projects: one of them knows them.
    projects: Option<Vec<String>>,
    /// Part of a user name, address or name, in any case.
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
    /// What orders them.
    field: PersonOrderField,
    /// In which direction; if absent, names ascend and counts descend.
    direction: Option<OrderDirection>,
}

/// How much somebody did.
#[derive(Clone, Copy, SimpleObject)]
pub(crate) struct Contributions {
    /// Issues that they opened.
    issues: u64,
    /// Merge requests that they opened.
    merge_requests: u64,
    /// Merge requests that they reviewed or were asked to review.
    reviews: u64,
    /// Discussions that they started.
    discussions: u64,
    /// Commits that they wrote, without merges.
    commits: u64,
}

impl From<&PersonRow> for Contributions {
    fn from(row: &PersonRow) -> Self {
        Self {
            issues: row.issues,
            merge_requests: row.merge_requests,
            reviews: row.reviews,
            discussions: row.discussions,
            commits: row.commits,
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
    connection(ctx, &list, query, &paging, totals, Person::listed).await
}

/// Who somebody is and what they did, by user name or address, in all visible projects.
pub(in super::super) async fn contributions(ctx: &Context<'_>, name: &str) -> Result<PersonRow> {
    let found = loaders::engine(ctx)?.find_contributor(name.to_owned()).await?;
    Ok(found.unwrap_or_else(|| PersonRow { person: name.to_owned(), ..PersonRow::default() }))
}
