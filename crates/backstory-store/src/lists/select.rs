//! Pages and totals: which rows of `list_values` a request reads, in which order. Statements are put together from
//! constant pieces; what requests contain is only ever bound.
//!
//! A request reads ranges of `list_values`, one for each project, part and value, and merges them. It reads the ranges of
//! the filter with the fewest rows and checks the other conditions on the rows. Pages in another order than the two that
//! every value has are sorted if there are few rows; otherwise they are read in that order, checking the filter.

use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashSet},
};

use backstory_model::visibility::{ProjectSet, Visibility};
use jiff::Timestamp;
use rusqlite::{Connection, params, params_from_iter, types::Value};
use serde::{Deserialize, Serialize};

use super::{
    columns::to_i64,
    entry::{Field, Key, ListKind},
};
use crate::ledger_error::LedgerError;

/// Most rows of a page.
pub const MAX_PAGE: usize = 1000;
/// Up to how many rows are counted if the total is not on record.
pub const MAX_COUNTED: u64 = 10_000;
/// Most rows that are sorted for a page.
const MAX_SORTED: u64 = 10_000;

/// Direction of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The smallest or oldest first.
    Ascending,
    /// The largest or newest first.
    #[default]
    Descending,
}

impl Direction {
    fn reversed(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }
}

/// From which end of a list pages are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// From its start: rows after a cursor.
    #[default]
    Start,
    /// From its end: rows before a cursor.
    Last,
}

/// From a time on, until before another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeRange {
    /// Its start, included.
    pub from: Option<Timestamp>,
    /// Its end, excluded.
    pub to: Option<Timestamp>,
}

impl TimeRange {
    /// Whether a time is in it.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| at >= from) && self.to.is_none_or(|to| at < to)
    }

    /// What both have.
    #[must_use]
    pub(super) fn within(self, other: Self) -> Self {
        let to = match (self.to, other.to) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self { from: self.from.max(other.from), to }
    }
}

/// Which part of a list to return.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRequest {
    /// Most rows, at most [`MAX_PAGE`].
    pub first: usize,
    /// Where the page that was read before ended: rows behind it, as seen from the end that pages are read from.
    #[serde(default)]
    pub after: Option<Cursor>,
    /// From which end pages are read. Rows are in the order of the list in any case.
    #[serde(default)]
    pub from: End,
    /// Whether to count all rows.
    #[serde(default)]
    pub with_total: bool,
}

/// Where a page ends. It stays valid whatever changes meanwhile, also over a rebuild.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cursor {
    /// What orders its last row.
    pub order: Key,
    /// Full path of the row's project.
    pub project: String,
    /// What identifies the row within list and project.
    pub key: Key,
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<R> {
    /// Rows, in order.
    pub rows: Vec<R>,
    /// The cursor of each row.
    pub cursors: Vec<Cursor>,
    /// Where the next page begins, read from the same end; `None` on the last page.
    pub next: Option<Cursor>,
    /// How many rows there are in all, if that was requested.
    pub total: Option<Total>,
}

/// How many rows a list has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// How many were counted.
    pub count: u64,
    /// Whether there are more than those.
    pub at_least: bool,
}

/// What a request selects from a list.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) list: ListKind,
    /// Full paths of projects; empty for all.
    pub(super) projects: Vec<String>,
    /// Empty for all.
    pub(super) parts: Vec<&'static str>,
    pub(super) facets: Vec<Facet>,
    pub(super) flags: Vec<Flag>,
    pub(super) conditions: Vec<Condition>,
    pub(super) ranges: Vec<(Place, &'static str, TimeRange)>,
    pub(super) order: Order,
    pub(super) direction: Direction,
}

/// An order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Main,
    Other,
    /// That of a field of `list_values`, which a column of the row has too.
    Field(Field, &'static str),
}

/// Where `list_values` has what a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Main,
    Other,
    /// Nowhere: only the row has it.
    Row,
}

/// A filter by values that `list_values` has: a row has one of them.
#[derive(Clone, Debug)]
pub(super) struct Facet {
    field: Field,
    values: Vec<String>,
    is_exact: bool,
    /// Whether one row can have several of them.
    has_several: bool,
    /// The same as a condition of the row `t`; takes a JSON array.
    check: &'static str,
}

impl Facet {
    /// A filter in which case does not count; `None` without values.
    pub(super) fn any(field: Field, values: &[String], check: &'static str) -> Option<Self> {
        (!values.is_empty()).then(|| Self {
            field,
            values: values.to_vec(),
            is_exact: false,
            has_several: false,
            check,
        })
    }

    /// The same by values, several of them in one row.
    pub(super) fn any_of_several(field: Field, values: &[String], check: &'static str) -> Option<Self> {
        Some(Self { has_several: true, ..Self::any(field, values, check)? })
    }

    /// The same by values in which case counts.
    pub(super) fn exact(self) -> Self {
        Self { is_exact: true, ..self }
    }

    fn condition(&self) -> Condition {
        Condition::names(self.check, &self.values)
    }
}

/// What a row is or is not.
#[derive(Clone, Debug)]
pub(super) struct Flag {
    name: &'static str,
    when_set: &'static str,
    when_unset: &'static str,
    is_set: bool,
}

impl Flag {
    /// A filter by a value of [`Field::Is`], with the conditions of the row `t` that say the same; `None` if it makes no
    /// difference.
    pub(super) fn new(
        name: &'static str,
        when_set: &'static str,
        when_unset: &'static str,
        is_set: Option<bool>,
    ) -> Option<Self> {
        Some(Self { name, when_set, when_unset, is_set: is_set? })
    }

    fn facet(&self) -> Facet {
        let values = vec![self.name.to_owned()];
        Facet { field: Field::Is, values, is_exact: true, has_several: false, check: self.when_set }
    }
}

/// A condition of the row `t` with what is bound to it.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    sql: &'static str,
    values: Vec<Value>,
}

impl Condition {
    /// One that takes names as a JSON array, if it takes anything.
    pub(super) fn names(sql: &'static str, names: &[String]) -> Self {
        let values = if sql.contains('?') { vec![Value::Text(serde_json::json!(names).to_string())] } else { vec![] };
        Self { sql, values }
    }
}

/// Rows of `list_values` that have list, project, part, field and value in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ValueRange {
    project: String,
    part: String,
    value: String,
}

/// The ranges that a request reads.
#[derive(Clone, Debug)]
struct Source {
    field: Field,
    ranges: Vec<ValueRange>,
    /// How many rows they have.
    count: u64,
    /// Whether a row can be in several ranges.
    has_duplicates: bool,
}

/// What a reader may see, in the terms of the lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a Visibility);

impl Reader<'_> {
    pub(super) fn shows_confidential(self) -> bool {
        self.0.shows_confidential()
    }

    pub(super) fn shows_project(self, project: &str) -> bool {
        self.0.allows_project(project)
    }

    /// The projects that it shows among some, or among all if there are no such, as a JSON array; `None` for all.
    pub(super) fn projects_among(self, some: &[String]) -> Option<String> {
        let shown: Vec<&String> = match self.0.projects() {
            ProjectSet::All if some.is_empty() => return None,
            ProjectSet::Only(projects) if some.is_empty() => projects.iter().collect(),
            ProjectSet::All | ProjectSet::Only(_) => {
                some.iter().filter(|project| self.shows_project(project)).collect()
            }
        };
        Some(serde_json::json!(shown).to_string())
    }

    /// What rows of `list_values` as `v` must meet, as the end of a condition.
    fn clause(self) -> &'static str {
        if self.shows_confidential() { "" } else { " AND NOT v.confidential" }
    }
}

/// What is read of the row `t`, and of what is joined with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowExpressions {
    /// A value.
    pub(super) value: &'static str,
    /// A whole number.
    pub(super) number: &'static str,
    /// What is joined, so that a row with several values is read once for each of them.
    pub(super) join: &'static str,
}

impl RowExpressions {
    /// Nothing: rows are only counted.
    const NONE: Self = Self { value: "NULL", number: "NULL", join: "" };
}

/// A page, its rows by their cursors.
pub(super) struct KeyPage {
    pub(super) cursors: Vec<Cursor>,
    pub(super) next: Option<Cursor>,
    pub(super) total: Option<Total>,
}

impl Selection {
    /// All of a list in its main order.
    pub(super) fn all(list: ListKind, projects: Vec<String>) -> Self {
        Self {
            list,
            projects,
            parts: Vec::new(),
            facets: Vec::new(),
            flags: Vec::new(),
            conditions: Vec::new(),
            ranges: Vec::new(),
            order: Order::Main,
            direction: Direction::Ascending,
        }
    }

    /// A page of it.
    pub(super) fn page(
        &self,
        connection: &Connection,
        request: &PageRequest,
        reader: Reader<'_>,
    ) -> Result<KeyPage, LedgerError> {
        let first = request.first.min(MAX_PAGE);
        let total = if request.with_total { Some(self.total(connection, reader, MAX_COUNTED)?) } else { None };
        let plan = if first == 0 { None } else { self.plan(connection, reader)? };
        let Some(plan) = plan else { return Ok(KeyPage { cursors: Vec::new(), next: None, total }) };
        let direction = if request.from == End::Start { self.direction } else { self.direction.reversed() };
        let after = request.after.as_ref().map(|cursor| Bound { cursor, direction });
        let mut found: BTreeSet<Cursor> = BTreeSet::new();
        for range in &plan.source.ranges {
            let statement = plan.statement(self, reader, range, after);
            let mut prepared = connection.prepare_cached(&format!(
                "SELECT {order}, v.key {} ORDER BY {order} {direction}, v.key {direction} LIMIT ?",
                statement.sql,
                order = plan.order,
                direction = if direction == Direction::Ascending { "ASC" } else { "DESC" },
            ))?;
            let limit = Value::Integer(to_i64(first as u64 + 1));
            let mut rows = prepared.query(params_from_iter(statement.values.into_iter().chain([limit])))?;
            while let Some(row) = rows.next()? {
                found.insert(Cursor { order: row.get(0)?, project: range.project.clone(), key: row.get(1)? });
            }
        }
        let is_more = found.len() > first;
        let mut cursors: Vec<Cursor> = match direction {
            Direction::Ascending => found.into_iter().take(first).collect(),
            Direction::Descending => found.into_iter().rev().take(first).collect(),
        };
        let next = if is_more { cursors.last().cloned() } else { None };
        if request.from == End::Last {
            cursors.reverse();
        }
        Ok(KeyPage { cursors, next, total })
    }

    /// How many rows it has: from the record for one filter at most, else counted up to a limit.
    pub(super) fn total(&self, connection: &Connection, reader: Reader<'_>, limit: u64) -> Result<Total, LedgerError> {
        if let Some(count) = self.recorded_total(connection, reader)? {
            return Ok(Total { count, at_least: false });
        }
        let mut count = 0;
        self.for_each(connection, reader, limit.saturating_add(1), RowExpressions::NONE, |_, _| count += 1)?;
        Ok(Total { count: count.min(limit), at_least: count > limit })
    }

    /// Whether it is restricted to projects and parts only.
    pub(super) fn has_no_filter(&self) -> bool {
        self.facets.is_empty() && self.flags.is_empty() && self.has_only_values()
    }

    fn has_only_values(&self) -> bool {
        self.conditions.is_empty() && self.ranges.iter().all(|(_, _, range)| *range == TimeRange::default())
    }

    /// The total if `list_totals` has it.
    fn recorded_total(&self, connection: &Connection, reader: Reader<'_>) -> Result<Option<u64>, LedgerError> {
        if !self.has_only_values() {
            return Ok(None);
        }
        let by_field = matches!(self.order, Order::Field(..));
        Ok(match (self.facets.as_slice(), self.flags.as_slice()) {
            ([], []) => Some(self.source(connection, reader, &self.every_row())?.count),
            ([facet], []) if !by_field => {
                let source = self.source(connection, reader, facet)?;
                (!source.has_duplicates).then_some(source.count)
            }
            ([], [flag]) if !by_field => {
                let flagged = self.source(connection, reader, &flag.facet())?.count;
                let all = self.source(connection, reader, &self.every_row())?.count;
                Some(if flag.is_set { flagged } else { all.saturating_sub(flagged) })
            }
            _ => None,
        })
    }

    /// Shows the value and the number of up to `limit` rows, in no particular order.
    pub(super) fn for_each(
        &self,
        connection: &Connection,
        reader: Reader<'_>,
        limit: u64,
        expressions: RowExpressions,
        mut show: impl FnMut(Option<Key>, Option<i64>),
    ) -> Result<(), LedgerError> {
        let Some(mut plan) = self.plan(connection, reader)? else { return Ok(()) };
        let RowExpressions { value, number, join } = expressions;
        plan.needs_row |= value != "NULL";
        plan.join = join;
        let mut seen = HashSet::new();
        let mut left = limit;
        for range in &plan.source.ranges {
            let statement = plan.statement(self, reader, range, None);
            let sql = format!("SELECT v.key, {value}, {number} {} LIMIT ?", statement.sql);
            let mut prepared = connection.prepare_cached(&sql)?;
            // Rows that are duplicates do not count.
            let most = if plan.source.has_duplicates { limit } else { left };
            let values = statement.values.into_iter().chain([Value::Integer(to_i64(most))]);
            let mut rows = prepared.query(params_from_iter(values))?;
            while let Some(row) = rows.next()? {
                let shown: Option<Key> = row.get(1)?;
                if plan.source.has_duplicates
                    && !seen.insert((range.project.clone(), row.get::<_, Key>(0)?, shown.clone()))
                {
                    continue;
                }
                show(shown, row.get(2)?);
                left = left.saturating_sub(1);
            }
            if left == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The filter that every row passes, in its order.
    fn every_row(&self) -> Facet {
        let field = if let Order::Field(field, _) = self.order { field } else { Field::All };
        Facet { field, values: vec![String::new()], is_exact: true, has_several: false, check: "" }
    }

    /// The ranges of a filter that the reader may see. Totals name them, so that none is read in vain.
    fn source(&self, connection: &Connection, reader: Reader<'_>, facet: &Facet) -> Result<Source, LedgerError> {
        let mut statement = connection.prepare_cached(
            "SELECT project, part, value, confidential, count FROM list_totals INDEXED BY list_totals_value
             WHERE list = ?1 AND field = ?2 AND value = ?3 COLLATE NOCASE",
        )?;
        let (mut ranges, mut spellings) = (BTreeSet::new(), BTreeSet::new());
        let (mut counted, mut count) = (BTreeSet::new(), 0);
        for wanted in &facet.values {
            let mut rows = statement.query(params![self.list.as_str(), facet.field.as_str(), wanted])?;
            while let Some(row) = rows.next()? {
                let (project, part, value) = (row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get(2)?);
                let is_confidential: bool = row.get(3)?;
                let is_selected = (self.projects.is_empty() || self.projects.contains(&project))
                    && (self.parts.is_empty() || self.parts.iter().any(|own| *own == part))
                    && (!facet.is_exact || value == *wanted)
                    && reader.shows_project(&project)
                    && (reader.shows_confidential() || !is_confidential);
                if !is_selected {
                    continue;
                }
                let range = ValueRange { project, part, value };
                // Two names in a filter may be one: in different case, or a name and an address of one person.
                if counted.insert((range.clone(), is_confidential)) {
                    count += row.get::<_, i64>(4)?.unsigned_abs();
                }
                spellings.insert(range.value.clone());
                ranges.insert(range);
            }
        }
        let has_duplicates = facet.has_several && spellings.len() > 1;
        Ok(Source { field: facet.field, ranges: ranges.into_iter().collect(), count, has_duplicates })
    }

    /// How to read it; `None` if no row can meet its conditions.
    fn plan(&self, connection: &Connection, reader: Reader<'_>) -> Result<Option<Plan>, LedgerError> {
        let set = self.flags.iter().filter(|flag| flag.is_set).map(Flag::facet);
        let facets: Vec<Facet> = self.facets.iter().cloned().chain(set).collect();
        let mut best: Option<(usize, Source)> = None;
        for (place, facet) in facets.iter().enumerate() {
            let source = self.source(connection, reader, facet)?;
            if source.ranges.is_empty() {
                return Ok(None);
            }
            if best.as_ref().is_none_or(|(_, least)| source.count < least.count) {
                best = Some((place, source));
            }
        }
        if let Order::Field(..) = self.order {
            best = best.filter(|(_, source)| source.count <= MAX_SORTED);
        }
        let mut conditions: Vec<Condition> = Vec::new();
        for (place, facet) in facets.iter().enumerate() {
            if best.as_ref().is_none_or(|(own, _)| *own != place) {
                conditions.push(facet.condition());
            }
        }
        let unset = self.flags.iter().filter(|flag| !flag.is_set);
        conditions.extend(unset.map(|flag| Condition::names(flag.when_unset, &[])));
        conditions.extend(self.conditions.iter().cloned());
        let has_facet = best.is_some();
        let source = match best {
            Some((_, source)) => source,
            None => self.source(connection, reader, &self.every_row())?,
        };
        let (order, is_sorted) = match self.order {
            Order::Main => ("v.main_order", false),
            Order::Other => ("v.other_order", false),
            Order::Field(_, column) if has_facet => (column, true),
            Order::Field(..) => ("v.main_order", false),
        };
        // Under the field of an order there is only that order.
        let has_both_orders = has_facet || !matches!(self.order, Order::Field(..));
        let needs_row = is_sorted || !conditions.is_empty();
        Ok(Some(Plan { source, conditions, order, is_sorted, has_both_orders, needs_row, join: "" }))
    }
}

/// How a request is read.
struct Plan {
    source: Source,
    conditions: Vec<Condition>,
    /// The column that orders rows.
    order: &'static str,
    /// Whether SQLite has to sort.
    is_sorted: bool,
    /// Whether the ranges have the main and the other order of their rows.
    has_both_orders: bool,
    /// Whether the row itself is read, as `t`.
    needs_row: bool,
    join: &'static str,
}

/// Where the rows of a page begin, and in which direction they are read.
#[derive(Clone, Copy)]
struct Bound<'a> {
    cursor: &'a Cursor,
    direction: Direction,
}

/// A statement from its FROM on, and what is bound to it.
struct Statement {
    sql: String,
    values: Vec<Value>,
}

impl Statement {
    fn and(&mut self, pieces: &[&'static str], values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        self.sql.extend(pieces.iter().copied());
        self.values.extend(values);
    }
}

impl Plan {
    fn statement(
        &self,
        selection: &Selection,
        reader: Reader<'_>,
        range: &ValueRange,
        after: Option<Bound<'_>>,
    ) -> Statement {
        let mut conditions = Statement { sql: String::new(), values: Vec::new() };
        let mut needs_row = self.needs_row;
        // Only rows that have the order; the index of the other one has no others.
        if self.is_sorted || self.order == "v.other_order" {
            conditions.and(&[self.order, " IS NOT NULL"], []);
        }
        for (place, column, times) in &selection.ranges {
            let column = match place {
                Place::Main if self.has_both_orders => "v.main_order",
                Place::Other if self.has_both_orders => "v.other_order",
                _ => column,
            };
            // Where a cursor limits the range more, SQLite would begin at the start of the range all the same.
            let cursor = after.filter(|_| column == self.order).and_then(|after| match after.cursor.order {
                Key::Number(order) => Some((after.direction, order)),
                Key::Text(_) => None,
            });
            // The cursor may be that of a list with other times.
            let from = times.from.filter(|from| {
                !cursor.is_some_and(|(of, order)| of == Direction::Ascending && order >= from.as_millisecond())
            });
            let to = times.to.filter(|to| {
                !cursor.is_some_and(|(of, order)| of == Direction::Descending && order < to.as_millisecond())
            });
            needs_row |= column.starts_with("t.") && (from.is_some() || to.is_some());
            for (limit, comparison) in [(from, " >= ?"), (to, " < ?")] {
                if let Some(limit) = limit {
                    conditions.and(&[column, comparison], [Value::Integer(limit.as_millisecond())]);
                }
            }
        }
        for condition in &self.conditions {
            conditions.and(&[condition.sql], condition.values.iter().cloned());
        }
        if let Some(after) = after {
            let comparison = match after.direction {
                Direction::Ascending => ", v.key) > (?, ?)",
                Direction::Descending => ", v.key) < (?, ?)",
            };
            let place = place_after(after.direction, &range.project, after.cursor);
            conditions.and(&["(", self.order, comparison], place);
        }
        let row = if needs_row { row_join(selection.list) } else { "" };
        let sql = format!(
            "FROM list_values AS v{row}{} WHERE v.list = ? AND v.project = ? AND v.part = ? AND v.field = ? AND v.value = ?{}{}",
            self.join,
            reader.clause(),
            conditions.sql
        );
        let place = [selection.list.as_str(), &range.project, &range.part, self.source.field.as_str(), &range.value];
        let values = place.map(|text| Value::Text(text.to_owned())).into_iter().chain(conditions.values).collect();
        Statement { sql, values }
    }
}

/// The order and key that the rows of a project are after that come after a cursor. Projects come in the order of their
/// names where orders are equal.
fn place_after(direction: Direction, project: &str, cursor: &Cursor) -> [Value; 2] {
    let value = |key: &Key| match key {
        Key::Number(number) => Value::Integer(*number),
        Key::Text(text) => Value::Text(text.clone()),
    };
    let key = match (project.cmp(&cursor.project), direction) {
        (Ordering::Equal, _) => value(&cursor.key),
        // Before or after every key: SQLite orders blobs after numbers and texts.
        (Ordering::Greater, Direction::Ascending) => Value::Integer(i64::MIN),
        (Ordering::Less, Direction::Descending) => Value::Blob(Vec::new()),
        // Neither before nor after any key.
        (Ordering::Less, Direction::Ascending) | (Ordering::Greater, Direction::Descending) => Value::Null,
    };
    [value(&cursor.order), key]
}

/// Joins the row that an entry stands for, as `t`.
fn row_join(list: ListKind) -> &'static str {
    match list {
        ListKind::Issue | ListKind::MergeRequest => {
            " CROSS JOIN list_threads AS t ON t.project = v.project AND t.kind = v.list AND t.iid = v.key"
        }
        ListKind::Discussion => " CROSS JOIN list_discussions AS t ON t.project = v.project AND t.key = v.key",
        ListKind::Commit => " CROSS JOIN list_commits AS t ON t.project = v.project AND t.sha = v.key",
        ListKind::File => " CROSS JOIN list_files AS t ON t.project = v.project AND t.path = v.key",
        ListKind::Entity => " CROSS JOIN list_entities AS t ON t.project = v.project AND t.code = v.key",
    }
}
