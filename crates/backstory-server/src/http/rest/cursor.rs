//! Pages of lists. A cursor says where a page ends; clients hand it back and need not understand it.

use axum::http::StatusCode;
use backstory_engine::{error::ErrorKind, limits::DEFAULT_LIMIT, model::text::truncate_echo};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use super::super::Refusal;
use crate::{cursor, error_table};

pub(super) use crate::cursor::encode;

/// Most items of a page.
pub(super) const MAX_LIMIT: usize = 100;

/// A page of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Page<T> {
    /// The items, in the order of the list.
    pub(super) items: Vec<T>,
    /// What `cursor` is for the next page; null on the last one.
    pub(super) next: Option<String>,
}

impl<T> Page<T> {
    /// All of a list.
    pub(super) fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }

    /// The first `limit` of items that were found, of which the last says where the next page begins; one more was asked
    /// for, to know whether there is one.
    pub(super) fn cut<C: Serialize>(mut items: Vec<T>, limit: usize, position: impl Fn(&T) -> C) -> Self {
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| has_more).map(|last| encode(&position(last)));
        Self { items, next }
    }
}

/// How many items a page has, if that is asked for.
///
/// # Errors
/// There are no pages of that many.
pub(super) fn limit(asked: Option<usize>) -> Result<usize, Refusal> {
    let limit = asked.unwrap_or(DEFAULT_LIMIT);
    if (1..=MAX_LIMIT).contains(&limit) {
        return Ok(limit);
    }
    let message = format!("the parameter 'limit' is {limit}; it must be 1 to {MAX_LIMIT}");
    Err(Refusal::new(StatusCode::BAD_REQUEST, error_table::code(ErrorKind::Invalid), message))
}

/// The position that a cursor stands for.
///
/// # Errors
/// It is not one of this list.
pub(super) fn decode<C: DeserializeOwned>(cursor: Option<&str>) -> Result<Option<C>, Refusal> {
    let Some(cursor) = cursor else { return Ok(None) };
    let wrong = || {
        let message =
            format!("'{}' is not a cursor of this list; take 'next' of its previous page", truncate_echo(cursor));
        Refusal::new(StatusCode::BAD_REQUEST, error_table::code(ErrorKind::Invalid), message)
    };
    cursor::decode(cursor).map(Some).ok_or_else(wrong)
}
