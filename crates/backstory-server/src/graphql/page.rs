//! Pages of lists.

use std::str::FromStr;

use async_graphql::{
    OutputType,
    connection::{Connection, Edge},
};
use backstory_engine::{
    error::{Error, ErrorKind, Result},
    model::text::truncate_echo,
};
use serde::de::DeserializeOwned;

use crate::cursor;

pub(super) use crate::cursor::encode;

/// Items of a page, unless the request says how many.
pub(super) const DEFAULT_PAGE: usize = 20;
/// Edges of a page, unless the request says how many.
pub(super) const DEFAULT_EDGES: usize = 50;
/// Most items of a page.
pub(super) const MAX_PAGE: usize = 100;

/// How many items a page may have.
///
/// # Errors
/// The request asks for fewer than none or more than [`MAX_PAGE`].
pub(super) fn size(first: Option<i32>, default: usize) -> Result<usize> {
    named_size("first", first, default)
}

/// The same by an argument of another name.
///
/// # Errors
/// The request asks for fewer than none or more than [`MAX_PAGE`].
pub(super) fn named_size(name: &str, size: Option<i32>, default: usize) -> Result<usize> {
    let Some(size) = size else { return Ok(default) };
    usize::try_from(size)
        .ok()
        .filter(|size| *size <= MAX_PAGE)
        .ok_or_else(|| invalid(format!("'{name}' is {size}; it must be 0 to {MAX_PAGE}")))
}

/// A page of a record that is read forward, from rows of which one more was read than the page has.
pub(super) fn forward<T, N: OutputType>(
    rows: Vec<T>,
    size: usize,
    after: Option<&str>,
    cursor: impl Fn(&T) -> String,
    node: impl Fn(T) -> N,
) -> Connection<String, N> {
    // A page without rows has no cursor to go on from.
    let mut page = Connection::new(after.is_some(), size > 0 && rows.len() > size);
    page.edges.extend(rows.into_iter().take(size).map(|row| Edge::new(cursor(&row), node(row))));
    page
}

/// The position that a cursor stands for.
///
/// # Errors
/// It is none of this list.
pub(super) fn decode<C: DeserializeOwned>(cursor: Option<&str>) -> Result<Option<C>> {
    cursor.map(|cursor| cursor::decode(cursor).ok_or_else(|| bad_cursor(cursor))).transpose()
}

/// The number that a cursor is, of a list that says which number.
///
/// # Errors
/// It is none.
pub(super) fn number_of<N: FromStr>(cursor: Option<&str>) -> Result<Option<N>> {
    cursor.map(|cursor| cursor.parse().map_err(|_| bad_cursor(cursor))).transpose()
}

/// The error for a cursor that is none of the list it is used with.
pub(super) fn bad_cursor(cursor: &str) -> Error {
    invalid(format!(
        "'{}' is not a cursor of this list; pass the endCursor of its previous page, or begin without one",
        truncate_echo(cursor)
    ))
}

/// The error for a request that is wrong.
pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, message)
}
