//! Lists with few rows: labels, milestones, branches, tags, projects and people. All places are read and sorted for a page,
//! so it takes time that grows with how many rows there are, not with what belongs to them.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::{
    columns::to_i64,
    entry::{Field, Key, ListKind},
    select::{Cursor, Direction, End, MAX_PAGE, Page, PageRequest, Reader, Total},
};
use crate::ledger_error::LedgerError;

/// What is counted of each value of a field, by project and value.
pub(super) type Counts = BTreeMap<(String, String), u64>;

/// A page of a list by all its rows with their places, in any order. `row` completes those of the page.
pub(super) fn page<T, R>(
    mut all: Vec<(Cursor, T)>,
    direction: Direction,
    request: &PageRequest,
    row: impl Fn(T) -> Result<R, LedgerError>,
) -> Result<Page<R>, LedgerError> {
    let total = Total { count: all.len() as u64, at_least: false };
    let is_ascending = (direction == Direction::Ascending) == (request.from == End::Start);
    if let Some(after) = &request.after {
        all.retain(|(place, _)| if is_ascending { place > after } else { place < after });
    }
    all.sort_unstable_by(|(a, _), (b, _)| if is_ascending { a.cmp(b) } else { b.cmp(a) });
    let first = request.first.min(MAX_PAGE);
    let last = first.checked_sub(1).filter(|_| all.len() > first);
    let next = last.and_then(|last| all.get(last)).map(|(place, _)| place.clone());
    all.truncate(first);
    if request.from == End::Last {
        all.reverse();
    }
    let (mut rows, mut cursors) = (Vec::with_capacity(all.len()), Vec::with_capacity(all.len()));
    for (place, found) in all {
        rows.push(row(found)?);
        cursors.push(place);
    }
    Ok(Page { rows, cursors, next, total: request.with_total.then_some(total) })
}

/// Whether a text has a part in it, in any case; without a part, every text has.
pub(super) fn has_part(text: &str, part: Option<&String>) -> bool {
    part.is_none_or(|part| text.to_lowercase().contains(&part.to_lowercase()))
}

/// How many issues or merge requests of some projects, or of all, have each value of a field, as the reader sees them.
pub(super) fn counts(
    connection: &Connection,
    reader: Reader<'_>,
    projects: &[String],
    list: ListKind,
    field: Field,
) -> Result<Counts, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT project, value, SUM(count) FROM list_totals
         WHERE list = ?1 AND field = ?2 AND (?3 OR NOT confidential) AND (list <> 'commit' OR part = 'commit')
            AND (?4 IS NULL OR project IN (SELECT value FROM json_each(?4)))
         GROUP BY project, value",
    )?;
    let bound = params![list.as_str(), field.as_str(), reader.shows_confidential(), reader.projects_among(projects)];
    let mut rows = statement.query(bound)?;
    let mut counts = Counts::new();
    while let Some(row) = rows.next()? {
        counts.insert((row.get(0)?, row.get(1)?), row.get::<_, i64>(2)?.unsigned_abs());
    }
    Ok(counts)
}

/// What is counted of a value of a project, as an order.
pub(super) fn count(counts: &Counts, project: &str, value: &str) -> Key {
    Key::Number(to_i64(counts.get(&(project.to_owned(), value.to_owned())).copied().unwrap_or_default()))
}
