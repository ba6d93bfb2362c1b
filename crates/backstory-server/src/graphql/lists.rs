//! Lists of nodes: pages in one style, with orders and filters, totals and aggregates. They are read from the store's
//! lists; their nodes are read like all others.

/// Makes the fields of an object that are lists of nodes: each takes a filter, an order and which page, then what further
/// arguments it has after a `;`. What stands after `also` are its other fields.
macro_rules! list_fields {
    (
        $(#[$($about:tt)*])*
        impl $owner:ident as $own:ident, $ctx:ident {
            $(
                $(#[$($field_about:tt)*])*
                $field:ident(
                    $filter:ident: $filter_type:ident, $order:ident: $order_type:ident, $paging:ident
                    $(; $($further:tt)*)?
                ) -> $page:ty $body:block
            )*
        }
        $(also { $($rest:tt)* })?
    ) => {
        $(#[$($about)*])*
        #[async_graphql::Object]
        impl $owner {
            $(
                $(#[$($field_about)*])*
                #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
                async fn $field(
                    &self,
                    $ctx: &async_graphql::Context<'_>,
                    #[graphql(name = "filter", desc = "Only items that meet all these conditions; all items if absent.")]
                    $filter: Option<$filter_type>,
                    #[graphql(name = "orderBy", desc = "Order of the list; its default order if absent.")] $order: Option<$order_type>,
                    #[graphql(
                        desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
                    )]
                    first: Option<i32>,
                    #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
                    #[graphql(desc = "How many from the end or before a cursor, 0 to 100.")] last: Option<i32>,
                    #[graphql(desc = "The startCursor of the next page.")] before: Option<String>,
                    $($($further)*)?
                ) -> async_graphql::Result<$page> {
                    let $own = self;
                    let $paging = super::Paging { first, after, last, before };
                    $body
                }
            )*

            $($($rest)*)?
        }
    };
}

mod code;
mod commits;
mod definitions;
mod discussions;
mod documents;
mod file;
mod groups;
mod people;
mod person;
mod planning;
mod project;
mod projects;
mod refs;
mod relations;
mod root;
mod threads;
mod viewer;

use std::sync::Arc;

use async_graphql::{
    Context, Enum, InputObject, Object, ObjectType, OutputType, Result,
    connection::{Connection, Edge, EmptyFields},
};
use backstory_engine::lists::{Cursor, Direction, End, Key, ListQuery, PageRequest, RowQuery, TimeRange, Total};
use jiff::Timestamp;
use tokio::sync::OnceCell;

pub(super) use self::{
    code::{CodeEntityConnection, FileConnection},
    commits::{CommitConnection, MergeRequestLists},
    definitions::{CodeDefinitionConnection, CodeDefinitionFilter, definitions},
    discussions::{DiscussionConnection, DiscussionFilter, DiscussionOrder, discussions},
    documents::{IndexedDocumentConnection, ProjectDocuments},
    file::{FileChunkConnection, FileLists, FileMergeRequests, SyntaxFactConnection},
    people::{Contributions, PersonConnection, contributions},
    person::PersonLists,
    planning::{LabelConnection, LabelLists, MilestoneConnection, MilestoneLists, labels_of},
    project::ProjectLists,
    projects::ProjectConnection,
    refs::{BranchConnection, TagConnection},
    relations::FileRelations,
    root::RootLists,
    threads::{IssueConnection, MergeRequestConnection},
};
use super::{
    guard::Warnings,
    loaders,
    page::{self, DEFAULT_PAGE, bad_cursor},
    scalar::DateTime,
};

/// Direction of an order.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "Direction")]
pub(crate) enum OrderDirection {
    /// The smallest or oldest first.
    #[graphql(name = "ASC")]
    Ascending,
    /// The largest or newest first.
    #[graphql(name = "DESC")]
    Descending,
}

/// A range of time, which must end after it starts.
#[derive(Clone, Copy, Default, InputObject)]
#[graphql(validator = "check_range")]
pub(crate) struct DateRange {
    /// Start of the range, included; unlimited if absent.
    pub(super) from: Option<DateTime>,
    /// End of the range, excluded; unlimited if absent.
    pub(super) to: Option<DateTime>,
}

/// Refuses a range that no time is in: who asks for one is mistaken.
fn check_range(range: &DateRange) -> std::result::Result<(), String> {
    match (range.from.map(Timestamp::from), range.to.map(Timestamp::from)) {
        (Some(start), Some(end)) if start >= end => {
            Err(format!("the range ends at {end}, which is not after its start, {start}"))
        }
        _ => Ok(()),
    }
}

/// The direction of an order: what is given, else ascending for texts and descending for times and counts.
fn direction(given: Option<OrderDirection>, is_text: bool) -> Direction {
    given.map_or(if is_text { Direction::Ascending } else { Direction::Descending }, Into::into)
}

/// Which items a list has, by a part of their text.
#[derive(Default, InputObject)]
pub(crate) struct TextFilter {
    /// Part of a name, or of a description if there is one, in any case.
    text: Option<String>,
}

impl TextFilter {
    /// Whether a text has the part.
    pub(super) fn is_met_by(&self, text: &str) -> bool {
        self.text.as_ref().is_none_or(|part| text.to_lowercase().contains(&part.to_lowercase()))
    }
}

/// The part that a filter asks for.
fn part(filter: Option<TextFilter>) -> Option<String> {
    filter.and_then(|filter| filter.text)
}

fn range(range: Option<DateRange>) -> TimeRange {
    range.map_or_else(TimeRange::default, |range| TimeRange {
        from: range.from.map(Into::into),
        to: range.to.map(Into::into),
    })
}

/// Which page of a list: its first rows or its last ones, or those after or before a cursor.
#[derive(Default)]
pub(super) struct Paging {
    pub(super) first: Option<i32>,
    pub(super) after: Option<String>,
    pub(super) last: Option<i32>,
    pub(super) before: Option<String>,
}

impl Paging {
    /// The size of the page, its cursor, and the end it is read from.
    ///
    /// # Errors
    /// The arguments contradict each other.
    fn ends(&self) -> Result<(usize, Option<&str>, End)> {
        let from_start = self.first.is_some() || self.after.is_some();
        let from_end = self.last.is_some() || self.before.is_some();
        if from_start && from_end {
            let message = "pages are read forward, with 'first' and 'after', or backward, with 'last' and 'before'";
            return Err(page::invalid(message).into());
        }
        Ok(if from_end {
            (page::named_size("last", self.last, DEFAULT_PAGE)?, self.before.as_deref(), End::Last)
        } else {
            (page::size(self.first, DEFAULT_PAGE)?, self.after.as_deref(), End::Start)
        })
    }

    /// The page as the store has it, of a list with a name that also tells its order.
    ///
    /// # Errors
    /// The arguments contradict each other, or the cursor is one of another list.
    fn request(&self, list: &str) -> Result<PageRequest> {
        let (size, cursor, from) = self.ends()?;
        let after = cursor.map(|cursor| decode(list, cursor)).transpose()?;
        Ok(PageRequest { first: size, after, from, with_total: false })
    }
}

fn encode(list: &str, cursor: &Cursor) -> String {
    page::encode(&(list, &cursor.order, &cursor.project, &cursor.key))
}

/// The place that a cursor stands for.
///
/// # Errors
/// It is one of another list, or of another order.
fn decode(list: &str, cursor: &str) -> Result<Cursor> {
    let decoded: Option<(String, Key, String, Key)> = page::decode(Some(cursor))?;
    let (_, order, project, key) = decoded.filter(|(own, ..)| own == list).ok_or_else(|| bad_cursor(cursor))?;
    Ok(Cursor { order, project, key })
}

/// A query, unless its filter names a project of which nothing is known.
async fn known<Q: RowQuery>(ctx: &Context<'_>, query: Q) -> Result<Q> {
    loaders::engine(ctx)?.check_projects(query.projects()).await?;
    Ok(query)
}

/// A page of a list. `list` is a name for it that also tells its order: cursors are of one order.
async fn connection<Q: RowQuery, N: OutputType, E: ObjectType>(
    ctx: &Context<'_>,
    list: &str,
    query: Q,
    paging: &Paging,
    extras: E,
    node: impl Fn(Q::Row) -> N,
) -> Result<Connection<String, N, E>> {
    connection_with_edges(ctx, list, query, paging, extras, |row| (node(row), EmptyFields)).await
}

/// The same of a list whose edges have fields of their own.
async fn connection_with_edges<Q: RowQuery, N: OutputType, E: ObjectType, F: ObjectType>(
    ctx: &Context<'_>,
    list: &str,
    query: Q,
    paging: &Paging,
    extras: E,
    edge: impl Fn(Q::Row) -> (N, F),
) -> Result<Connection<String, N, E, F>> {
    let request = paging.request(list)?;
    let (is_from_start, is_further) = (request.from == End::Start, request.after.is_some());
    // A page that has no room does not tell whether the list is empty.
    let has_room = request.first > 0;
    let found = loaders::engine(ctx)?.list_rows(query.clone(), request).await?;
    if found.rows.is_empty() && !is_further {
        warn_of_absent_names(ctx, query, has_room).await?;
    }
    let is_more = found.next.is_some();
    let (before, behind) = if is_from_start { (is_further, is_more) } else { (is_more, is_further) };
    let mut page = Connection::with_additional_fields(before, behind, extras);
    let edges = found.cursors.iter().zip(found.rows);
    page.edges.extend(edges.map(|(cursor, row)| {
        let (node, fields) = edge(row);
        Edge::with_additional_fields(encode(list, cursor), node, fields)
    }));
    Ok(page)
}

/// A page of a list that is held whole, in ascending order. `key` identifies an item, which its cursor has.
pub(super) fn whole<T, N: OutputType>(
    mut all: Vec<T>,
    direction: OrderDirection,
    paging: &Paging,
    key: impl Fn(&T) -> String,
    node: impl Fn(&T) -> N,
) -> Result<Connection<String, N, Totals>> {
    if direction == OrderDirection::Descending {
        all.reverse();
    }
    let (size, cursor, from) = paging.ends()?;
    let place = |cursor: &str| {
        let of: Option<String> = page::decode(Some(cursor))?;
        all.iter().position(|item| of.as_ref() == Some(&key(item))).ok_or_else(|| bad_cursor(cursor))
    };
    let cursor = cursor.map(place).transpose()?;
    let (start, end) = match from {
        End::Start => {
            let start = cursor.map_or(0, |at| at + 1);
            (start, start.saturating_add(size).min(all.len()))
        }
        End::Last => {
            let end = cursor.unwrap_or(all.len());
            (end.saturating_sub(size), end)
        }
    };
    // A page without rows has no cursor to go on from.
    let (has_before, has_behind) = match from {
        End::Start => (start > 0, size > 0 && end < all.len()),
        End::Last => (size > 0 && start > 0, end < all.len()),
    };
    let mut page = Connection::with_additional_fields(has_before, has_behind, Totals::counted(all.len()));
    page.edges.extend(all[start..end].iter().map(|item| Edge::new(page::encode(&key(item)), node(item))));
    Ok(page)
}

/// Says of what an empty list names and nothing has which names are nearest.
async fn warn_of_absent_names<Q: RowQuery>(ctx: &Context<'_>, query: Q, is_known_empty: bool) -> Result<()> {
    let Some(warnings) = ctx.data_opt::<Arc<Warnings>>().filter(|warnings| !warnings.is_full()) else { return Ok(()) };
    let absent = loaders::engine(ctx)?.absent_names(query, is_known_empty).await?;
    absent.into_iter().for_each(|warning| warnings.add(warning));
    Ok(())
}

/// How long a list is.
pub(crate) struct Totals {
    /// What is counted, unless it has been.
    query: Option<ListQuery>,
    total: OnceCell<Total>,
}

impl Totals {
    fn of(query: impl Into<ListQuery>) -> Self {
        Self { query: Some(query.into()), total: OnceCell::new() }
    }

    fn counted(count: usize) -> Self {
        let total = Total { count: count as u64, at_least: false };
        Self { query: None, total: OnceCell::new_with(Some(total)) }
    }

    async fn total(&self, ctx: &Context<'_>) -> Result<Total> {
        let count = async || match &self.query {
            Some(query) => Ok::<_, async_graphql::Error>(loaders::engine(ctx)?.count_rows(query.clone()).await?),
            None => Ok(Total::default()),
        };
        Ok(*self.total.get_or_try_init(count).await?)
    }
}

#[Object]
impl Totals {
    /// How many items the list has on all its pages. They are counted only if this is asked for: exactly without a
    /// filter, or with a filter of one value that is not a time; otherwise up to 10,000.
    async fn total_count(&self, ctx: &Context<'_>) -> Result<u64> {
        Ok(self.total(ctx).await?.count)
    }

    /// Whether the list has more items than `totalCount` says.
    async fn at_least(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.total(ctx).await?.at_least)
    }
}

/// User names without the `@` that they may be written with.
fn user_names(names: Option<Vec<String>>) -> Vec<String> {
    names.into_iter().flatten().map(|name| name.trim_start_matches('@').to_owned()).collect()
}

/// Restricts a list that a node has to that node.
///
/// # Errors
/// The filter has the same condition.
fn restrict(names: &mut Vec<String>, argument: &str, to: &str) -> Result<()> {
    if names.iter().any(|name| name != to) {
        let message = format!("the list is of {to} alone; leave '{argument}' out of the filter");
        return Err(page::invalid(message).into());
    }
    *names = vec![to.to_owned()];
    Ok(())
}
