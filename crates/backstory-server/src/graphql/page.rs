//! Pages of lists.

use async_graphql::{SimpleObject, connection::Connection};
use backstory_engine::error::{Error, ErrorKind, Result};

/// Items of a page, unless the request says how many.
pub(super) const DEFAULT_PAGE: usize = 20;
/// Edges of a page, unless the request says how many.
pub(super) const DEFAULT_EDGES: usize = 50;
/// Most items of a page.
pub(super) const MAX_PAGE: usize = 100;

/// A list with nothing to tell of it but its length.
pub(super) type Listed<N> = Connection<String, N, Count>;

/// How long a list is.
#[derive(SimpleObject)]
pub(crate) struct Count {
    /// How many items the list has on all its pages.
    total_count: usize,
}

impl From<usize> for Count {
    fn from(total_count: usize) -> Self {
        Self { total_count }
    }
}

/// How many items a page may have.
///
/// # Errors
/// The request asks for fewer than none or more than [`MAX_PAGE`].
pub(super) fn size(first: Option<i32>, default: usize) -> Result<usize> {
    let Some(first) = first else { return Ok(default) };
    usize::try_from(first)
        .ok()
        .filter(|first| *first <= MAX_PAGE)
        .ok_or_else(|| invalid(format!("'first' is {first}; it must be 0 to {MAX_PAGE}")))
}

/// The page that begins at `start` of a list that is held whole.
pub(super) fn connection<T, N>(all: &[T], start: usize, size: usize, node: impl Fn(&T) -> (String, N)) -> Listed<N>
where
    N: async_graphql::OutputType,
{
    let end = start.saturating_add(size).min(all.len());
    let mut page = Connection::with_additional_fields(start > 0, end < all.len(), Count::from(all.len()));
    page.edges.extend(all[start..end].iter().map(|item| {
        let (cursor, node) = node(item);
        async_graphql::connection::Edge::new(cursor, node)
    }));
    page
}

/// Where the page after a cursor begins, in a list whose items have the cursors that `key` gives.
///
/// # Errors
/// No item has that cursor.
pub(super) fn start<T>(all: &[T], after: Option<&str>, key: impl Fn(&T) -> String) -> Result<usize> {
    let Some(after) = after else { return Ok(0) };
    all.iter().position(|item| key(item) == after).map(|at| at + 1).ok_or_else(|| bad_cursor(after))
}

/// The error for a cursor that is none of the list it is used with.
pub(super) fn bad_cursor(cursor: &str) -> Error {
    let shown: String = cursor.chars().take(100).collect();
    invalid(format!(
        "'{shown}' is no cursor of this list; pass the endCursor of its previous page, or begin without one"
    ))
}

/// The error for a request that is wrong.
pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, message)
}
