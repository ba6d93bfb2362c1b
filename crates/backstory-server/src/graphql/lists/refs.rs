//! Lists of branches and of tags.

use async_graphql::{Context, Enum, InputObject, Result, connection::Connection};
use backstory_engine::lists::{self, RefKind, RefQuery};

use super::{
    super::code::{Branch, Tag},
    OrderDirection, Paging, TextFilter, Totals, connection, direction, part,
};

/// A page of branches.
pub(crate) type BranchConnection = Connection<String, Branch, Totals>;
/// A page of tags.
pub(crate) type TagConnection = Connection<String, Tag, Totals>;

/// What orders branches and tags.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::RefOrder")]
pub(crate) enum RefOrderField {
    /// Names of the branches or tags.
    Name,
    /// When an annotated tag was made; for others when the commit was made that they point at.
    Date,
}

/// An order of branches and tags.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct RefOrder {
    /// What orders branches or tags.
    field: RefOrderField,
    /// Direction of the order; if absent, names ascend and dates descend.
    direction: Option<OrderDirection>,
}

fn query(kind: RefKind, project: &str, filter: Option<TextFilter>, order: Option<RefOrder>) -> RefQuery {
    let field = order.map_or(RefOrderField::Name, |order| order.field);
    RefQuery {
        kind,
        projects: vec![project.to_owned()],
        text: part(filter),
        order: field.into(),
        direction: direction(order.and_then(|order| order.direction), field == RefOrderField::Name),
    }
}

/// A page of the branches of a project that are indexed.
pub(super) async fn branches(
    ctx: &Context<'_>,
    project: &str,
    filter: Option<TextFilter>,
    order: Option<RefOrder>,
    paging: Paging,
) -> Result<BranchConnection> {
    let query = query(RefKind::Branch, project, filter, order);
    let (list, totals) = (format!("branches {:?}", query.order), Totals::of(query.clone()));
    connection(ctx, &list, query, &paging, totals, |row| Branch::new(row.project, row.name)).await
}

/// A page of the tags of a project.
pub(super) async fn tags(
    ctx: &Context<'_>,
    project: &str,
    filter: Option<TextFilter>,
    order: Option<RefOrder>,
    paging: Paging,
) -> Result<TagConnection> {
    let query = query(RefKind::Tag, project, filter, order);
    let (list, totals) = (format!("tags {:?}", query.order), Totals::of(query.clone()));
    connection(ctx, &list, query, &paging, totals, |row| Tag::new(row.project, row.name)).await
}
