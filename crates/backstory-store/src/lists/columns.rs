//! Values of columns as the model has them.

use std::collections::BTreeSet;

use backstory_model::{
    id::NodeId,
    reference::{Forge, ReferenceContext, extract},
};
use jiff::Timestamp;
use rusqlite::{Row, types::Type};
use serde::de::DeserializeOwned;

/// Names as a JSON array, sorted, each once.
pub(super) fn names_to_json<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
    names.sort();
    names.dedup();
    serde_json::json!(names).to_string()
}

pub(super) fn names(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    from_json(row, column)
}

/// What a column has as JSON.
pub(super) fn from_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(text(row, column)?)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

pub(super) fn text<'a>(row: &'a Row<'_>, column: usize) -> rusqlite::Result<&'a str> {
    Ok(row.get_ref(column)?.as_str()?)
}

pub(super) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    Ok(from_ms(row.get(column)?))
}

pub(super) fn optional_time(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(from_ms))
}

/// User names, `None` for a deleted account, each with a time, from JSON.
pub(super) fn names_with_times(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<(Option<String>, Timestamp)>> {
    let pairs: Vec<(Option<String>, i64)> = from_json(row, column)?;
    Ok(pairs.into_iter().map(|(name, ms)| (name, from_ms(ms))).collect())
}

pub(super) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.unsigned_abs())
}

pub(super) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn from_ms(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// User names of the people whom a text mentions.
pub(super) fn mentions(markdown: &str, forge: Forge, web_url: &str, project: &str) -> BTreeSet<String> {
    let forge_url = forge.url_in(web_url, project).unwrap_or_default();
    let references = extract(markdown, ReferenceContext { forge, project, forge_url });
    let names = references.into_iter().filter_map(|reference| match reference {
        NodeId::Person(name) => Some(name),
        _ => None,
    });
    names.collect()
}
