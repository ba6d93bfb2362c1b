//! Aggregates: how many rows have each value of a column, and how many there were in each day, week or month.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::visibility::Visibility;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::{
    Lists,
    code::{EntityQuery, FileQuery},
    columns::text,
    commits::CommitQuery,
    discussions::DiscussionQuery,
    entry::{Field, Key, ListKind},
    people,
    periods::{Period, fill_gaps, fill_range},
    select::{Order, Reader, RowExpressions, Selection, TimeRange},
    threads::ThreadQuery,
};
use crate::ledger_error::LedgerError;

/// Up to how many rows are grouped if the counts are not on record.
pub const MAX_GROUPED: u64 = 100_000;
/// Most groups of an answer.
pub const MAX_GROUPS: usize = 1000;

/// What to group issues or merge requests by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadGroup {
    /// Their states.
    State,
    /// Their authors.
    Author,
    /// Those they are assigned to; one can be in several groups.
    Assignee,
    /// Their reviewers; one can be in several groups.
    Reviewer,
    /// Their labels; one can be in several groups.
    Label,
    /// Numbers of their milestones.
    Milestone,
    /// Full paths of their projects.
    Project,
    /// When they were opened.
    Created(Period),
    /// When they were merged.
    Merged(Period),
    /// When they were closed.
    Closed(Period),
}

/// What to group commits by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitGroup {
    /// The people who wrote them.
    Author,
    /// What they change.
    ChangeType,
    /// Full paths of their projects.
    Project,
    /// When they were made.
    Committed(Period),
}

/// What to group discussions by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscussionGroup {
    /// Those who started them.
    Author,
    /// Full paths of their projects.
    Project,
    /// When they were started.
    Created(Period),
}

/// What to group files by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileGroup {
    /// Names of their languages.
    Language,
    /// What they are for.
    DocumentType,
    /// Full paths of their projects.
    Project,
}

/// What to group code entities by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityGroup {
    /// Their kinds.
    Kind,
    /// Full paths of their projects.
    Project,
}

/// Rows that have a value in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupCount {
    /// The value: a name, a number, or the first day of a period.
    pub value: String,
    /// How many rows have it.
    pub count: u64,
}

/// The groups of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    /// Groups, the largest first. Periods are in their order: all of the time that the query restricts the rows to, if it has
    /// two ends and no more than [`MAX_GROUPS`] periods; else from the first with a row to the last, with those between them
    /// unless there are more than [`MAX_GROUPS`] then: the longest gaps stay.
    pub groups: Vec<GroupCount>,
    /// Whether every row was grouped and every group that has any is in the list.
    pub is_complete: bool,
}

/// What happened in the visible projects in a period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// Its first day.
    pub start: Date,
    /// Issues that were opened.
    pub issues_opened: u64,
    /// Issues that were closed.
    pub issues_closed: u64,
    /// Merge requests that were opened.
    pub merge_requests_opened: u64,
    /// Merge requests that were merged.
    pub merge_requests_merged: u64,
    /// Discussions that were started.
    pub discussions: u64,
    /// Commits that were made, without merges.
    pub commits: u64,
}

impl Activity {
    fn new(start: Date) -> Self {
        Self {
            start,
            issues_opened: 0,
            issues_closed: 0,
            merge_requests_opened: 0,
            merge_requests_merged: 0,
            discussions: 0,
            commits: 0,
        }
    }
}

/// Where an activity has a count.
type Place = fn(&mut Activity) -> &mut u64;

/// What an activity counts.
const COUNTED: [(ListKind, Field, Place); 6] = [
    (ListKind::Issue, Field::CreatedOn, |of| &mut of.issues_opened),
    (ListKind::Issue, Field::ClosedOn, |of| &mut of.issues_closed),
    (ListKind::MergeRequest, Field::CreatedOn, |of| &mut of.merge_requests_opened),
    (ListKind::MergeRequest, Field::MergedOn, |of| &mut of.merge_requests_merged),
    (ListKind::Discussion, Field::CreatedOn, |of| &mut of.discussions),
    (ListKind::Commit, Field::CreatedOn, |of| &mut of.commits),
];

/// How rows are grouped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grouping {
    /// Which totals have the counts.
    field: Field,
    /// The value of the row `t`.
    expression: &'static str,
    /// What makes several rows of one that has several values.
    join: &'static str,
    period: Option<Period>,
    /// What of the totals is the value.
    recorded: Recorded,
}

/// What of a total is the value of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recorded {
    Value,
    Part,
    Project,
}

impl Grouping {
    /// One group of all rows, whose value is empty.
    pub(super) fn whole() -> Self {
        Self::by(Field::All, "''")
    }

    fn by(field: Field, expression: &'static str) -> Self {
        Self { field, expression, join: "", period: None, recorded: Recorded::Value }
    }

    fn part(expression: &'static str) -> Self {
        Self { recorded: Recorded::Part, ..Self::by(Field::All, expression) }
    }

    fn project() -> Self {
        Self { recorded: Recorded::Project, ..Self::by(Field::All, "t.project") }
    }

    fn each(field: Field, join: &'static str) -> Self {
        Self { join, ..Self::by(field, "own.value") }
    }

    fn time(field: Field, expression: &'static str, period: Period) -> Self {
        Self { period: Some(period), ..Self::by(field, expression) }
    }

    /// What is read of a row to group it, with a number of it.
    pub(super) fn expressions(self, number: &'static str) -> RowExpressions {
        RowExpressions { value: self.expression, number, join: self.join }
    }

    /// The group of a row with a value; `None` if it is in none.
    pub(super) fn group_of(self, value: Option<Key>) -> Option<String> {
        let value = match value? {
            Key::Text(text) => text,
            Key::Number(ms) => day_of(ms),
        };
        Some(in_period(&value, self.period))
    }
}

impl From<ThreadGroup> for Grouping {
    fn from(group: ThreadGroup) -> Self {
        match group {
            ThreadGroup::State => Self::part("t.state"),
            ThreadGroup::Author => Self::by(Field::Author, "t.author"),
            ThreadGroup::Assignee => Self::each(Field::Assignee, " CROSS JOIN json_each(t.assignees) AS own"),
            ThreadGroup::Reviewer => Self::each(Field::Reviewer, " CROSS JOIN json_each(t.reviewers) AS own"),
            ThreadGroup::Label => Self::each(Field::Label, " CROSS JOIN json_each(t.labels) AS own"),
            ThreadGroup::Milestone => Self::by(Field::Milestone, "CAST(t.milestone AS TEXT)"),
            ThreadGroup::Project => Self::project(),
            ThreadGroup::Created(period) => Self::time(Field::CreatedOn, "t.created_at", period),
            ThreadGroup::Merged(period) => Self::time(Field::MergedOn, "t.merged_at", period),
            ThreadGroup::Closed(period) => Self::time(Field::ClosedOn, "t.closed_at", period),
        }
    }
}

impl From<CommitGroup> for Grouping {
    fn from(group: CommitGroup) -> Self {
        match group {
            CommitGroup::Author => Self::by(Field::Author, "t.author"),
            CommitGroup::ChangeType => Self::by(Field::ChangeType, "t.change_type"),
            CommitGroup::Project => Self::project(),
            CommitGroup::Committed(period) => Self::time(Field::CreatedOn, "t.committed_at", period),
        }
    }
}

impl From<DiscussionGroup> for Grouping {
    fn from(group: DiscussionGroup) -> Self {
        match group {
            DiscussionGroup::Author => Self::by(Field::Author, "t.author"),
            DiscussionGroup::Project => Self::project(),
            DiscussionGroup::Created(period) => Self::time(Field::CreatedOn, "t.created_at", period),
        }
    }
}

impl From<FileGroup> for Grouping {
    fn from(group: FileGroup) -> Self {
        match group {
            FileGroup::Language => Self::by(Field::Language, "t.language"),
            FileGroup::DocumentType => Self::by(Field::DocumentType, "t.document_type"),
            FileGroup::Project => Self::project(),
        }
    }
}

impl From<EntityGroup> for Grouping {
    fn from(group: EntityGroup) -> Self {
        match group {
            EntityGroup::Kind => Self::by(Field::Kind, "t.kind"),
            EntityGroup::Project => Self::project(),
        }
    }
}

impl Lists {
    /// Groups the issues or merge requests of a query. Without a filter but projects and states, the counts are on record;
    /// else up to [`MAX_GROUPED`] rows are read.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn group_threads(
        &self,
        query: &ThreadQuery,
        by: ThreadGroup,
        visibility: &Visibility,
    ) -> Result<Groups, LedgerError> {
        let reader = Reader(visibility);
        let mut selection = query.selection();
        selection.order = Order::Main;
        let counts = self.read(|connection| count(connection, &selection, by.into(), reader))?;
        let time = match by {
            ThreadGroup::Created(_) => query.filter.created,
            ThreadGroup::Merged(_) => query.filter.merged,
            ThreadGroup::Closed(_) => query.filter.closed,
            _ => TimeRange::default(),
        };
        Ok(counts.into_groups(Grouping::from(by).period, time))
    }

    /// Groups the discussions of a query, in the same way.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn group_discussions(
        &self,
        query: &DiscussionQuery,
        by: DiscussionGroup,
        visibility: &Visibility,
    ) -> Result<Groups, LedgerError> {
        let (selection, reader) = (query.selection(), Reader(visibility));
        let counts = self.read(|connection| count(connection, &selection, by.into(), reader))?;
        Ok(counts.into_groups(Grouping::from(by).period, query.created))
    }

    /// Groups the files of a query, in the same way.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn group_files(
        &self,
        query: &FileQuery,
        by: FileGroup,
        visibility: &Visibility,
    ) -> Result<Groups, LedgerError> {
        let reader = Reader(visibility);
        let selection = Selection { order: Order::Main, ..query.selection() };
        let counts = self.read(|connection| count(connection, &selection, by.into(), reader))?;
        Ok(counts.into_groups(None, TimeRange::default()))
    }

    /// Groups the code entities of a query, in the same way.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn group_entities(
        &self,
        query: &EntityQuery,
        by: EntityGroup,
        visibility: &Visibility,
    ) -> Result<Groups, LedgerError> {
        let (selection, reader) = (query.selection(), Reader(visibility));
        let counts = self.read(|connection| count(connection, &selection, by.into(), reader))?;
        Ok(counts.into_groups(None, TimeRange::default()))
    }

    /// Groups the commits of a query, in the same way.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn group_commits(
        &self,
        query: &CommitQuery,
        by: CommitGroup,
        visibility: &Visibility,
    ) -> Result<Groups, LedgerError> {
        let reader = Reader(visibility);
        let counts = self.read(|connection| {
            let mut counts = count(connection, &query.selection(connection, reader)?, by.into(), reader)?;
            if by == CommitGroup::Author {
                for (author, count) in std::mem::take(&mut counts.counts) {
                    let person = people::person_of(connection, reader, &author)?.unwrap_or(author);
                    *counts.counts.entry(person).or_default() += count;
                }
            }
            Ok(counts)
        })?;
        Ok(counts.into_groups(Grouping::from(by).period, query.committed))
    }

    /// What happened in projects, or in all, in each period of a time, on the days that lie in it at least in part: in all of
    /// its periods, if it has two ends and they are at most [`MAX_GROUPS`]; else from the first in which something happened to
    /// the last, with those between them as far as there are at most [`MAX_GROUPS`] then. Reads the record alone.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn activity(
        &self,
        projects: &[String],
        period: Period,
        time: TimeRange,
        visibility: &Visibility,
    ) -> Result<Vec<Activity>, LedgerError> {
        let reader = Reader(visibility);
        let (from, to) = (time.from.map(day), time.to.map(day_from));
        self.read(|connection| {
            let mut periods: BTreeMap<Date, Activity> = BTreeMap::new();
            for (list, field, place) in COUNTED {
                let parts: &[&str] = if list == ListKind::Commit { &["commit"] } else { &[] };
                for_each_total(connection, list, field, projects, parts, reader, |_, value, _, count| {
                    let Ok(day) = value.parse::<Date>() else { return };
                    if from.is_none_or(|from| day >= from) && to.is_none_or(|to| day < to) {
                        let start = period.start(day);
                        *place(periods.entry(start).or_insert_with(|| Activity::new(start))) += count;
                    }
                })?;
            }
            if let Some(days) = days_of(time) {
                fill_range(&mut periods, period, days, MAX_GROUPS, Activity::new);
            }
            fill_gaps(&mut periods, period, MAX_GROUPS, Activity::new);
            Ok(periods.into_values().collect())
        })
    }
}

/// How many rows have each value.
struct Counts {
    counts: BTreeMap<String, u64>,
    is_complete: bool,
}

impl Counts {
    /// The groups of an answer; those of periods with all periods of a time that rows are restricted to.
    fn into_groups(self, period: Option<Period>, time: TimeRange) -> Groups {
        if let Some(period) = period {
            return self.into_periods(period, time);
        }
        let mut groups: Vec<GroupCount> =
            self.counts.into_iter().map(|(value, count)| GroupCount { value, count }).collect();
        groups.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value)));
        let is_complete = self.is_complete && groups.len() <= MAX_GROUPS;
        groups.truncate(MAX_GROUPS);
        Groups { groups, is_complete }
    }

    fn into_periods(self, period: Period, time: TimeRange) -> Groups {
        // Rows without the time are in none.
        let starts = self.counts.into_iter().filter_map(|(value, count)| Some((value.parse::<Date>().ok()?, count)));
        let mut periods: BTreeMap<Date, u64> = starts.collect();
        let is_complete = self.is_complete && periods.len() <= MAX_GROUPS;
        // The newest ones.
        while periods.len() > MAX_GROUPS {
            periods.pop_first();
        }
        if let Some(days) = days_of(time) {
            fill_range(&mut periods, period, days, MAX_GROUPS, |_| 0);
        }
        fill_gaps(&mut periods, period, MAX_GROUPS, |_| 0);
        let group = |(start, count): (Date, u64)| GroupCount { value: start.to_string(), count };
        Groups { groups: periods.into_iter().map(group).collect(), is_complete }
    }
}

fn count(
    connection: &Connection,
    selection: &Selection,
    grouping: Grouping,
    reader: Reader<'_>,
) -> Result<Counts, LedgerError> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    if selection.has_no_filter() {
        let (list, field) = (selection.list, grouping.field);
        for_each_total(
            connection,
            list,
            field,
            &selection.projects,
            &selection.parts,
            reader,
            |project, value, part, count| {
                let value = match grouping.recorded {
                    Recorded::Value => value,
                    Recorded::Part => part,
                    Recorded::Project => project,
                };
                *counts.entry(in_period(value, grouping.period)).or_default() += count;
            },
        )?;
        return Ok(Counts { counts, is_complete: true });
    }
    let mut rows = 0;
    selection.for_each(connection, reader, MAX_GROUPED + 1, grouping.expressions("NULL"), |value, _| {
        rows += 1;
        if let Some(group) = grouping.group_of(value) {
            *counts.entry(group).or_default() += 1;
        }
    })?;
    Ok(Counts { counts, is_complete: rows <= MAX_GROUPED })
}

fn day(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}

/// The first day that begins at a time or later.
fn day_from(at: Timestamp) -> Date {
    let day = day(at);
    let is_midnight = day.to_zoned(TimeZone::UTC).is_ok_and(|start| start.timestamp() == at);
    if is_midnight { day } else { day.tomorrow().unwrap_or(day) }
}

/// The first and the last day that lie in a time at least in part; `None` unless it has two ends.
fn days_of(time: TimeRange) -> Option<(Date, Date)> {
    let (from, to) = (time.from?, time.to?);
    let last = day_from(to).yesterday().ok()?;
    (from < to).then(|| (day(from), last))
}

fn day_of(ms: i64) -> String {
    day(Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)).to_string()
}

fn in_period(value: &str, period: Option<Period>) -> String {
    match (period, value.parse::<Date>()) {
        (Some(period), Ok(day)) => period.start(day).to_string(),
        _ => value.to_owned(),
    }
}

/// Shows project, value, part and count of the totals of a field that a reader may see.
fn for_each_total(
    connection: &Connection,
    list: ListKind,
    field: Field,
    projects: &[String],
    parts: &[&str],
    reader: Reader<'_>,
    mut show: impl FnMut(&str, &str, &str, u64),
) -> Result<(), LedgerError> {
    let (of_project, of_all) = (
        "SELECT project, value, part, count FROM list_totals
         WHERE list = ?1 AND field = ?2 AND (?3 OR NOT confidential) AND project = ?4",
        "SELECT project, value, part, count FROM list_totals
         WHERE list = ?1 AND field = ?2 AND (?3 OR NOT confidential) AND ?4 IS NULL",
    );
    let named: BTreeSet<&String> = projects.iter().collect();
    let named: Vec<Option<&String>> = if named.is_empty() { vec![None] } else { named.into_iter().map(Some).collect() };
    for project in named {
        let mut statement = connection.prepare_cached(if project.is_some() { of_project } else { of_all })?;
        let mut rows = statement.query(params![list.as_str(), field.as_str(), reader.shows_confidential(), project])?;
        while let Some(row) = rows.next()? {
            let (project, part) = (text(row, 0)?, text(row, 2)?);
            if reader.shows_project(project) && (parts.is_empty() || parts.contains(&part)) {
                show(project, text(row, 1)?, part, row.get::<_, i64>(3)?.unsigned_abs());
            }
        }
    }
    Ok(())
}
