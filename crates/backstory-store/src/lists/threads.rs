//! Issues and merge requests as rows.

use std::collections::BTreeSet;

use backstory_model::{
    entity::{Item, State},
    id::{ThreadId, ThreadKind},
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};

use super::{
    columns::{count, mentions, names, names_to_json, optional_time, text, time, to_i64},
    entry::{Entry, EntryId, Field, Key, ListKind},
    reviews::read_first_review,
    select::{Condition, Direction, Facet, Flag, Order, Place, Selection, TimeRange},
};
use crate::ledger_error::LedgerError;

/// Requests issues or merge requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadQuery {
    /// Which of the two.
    pub kind: ThreadKind,
    /// Conditions that they meet.
    #[serde(default)]
    pub filter: ThreadFilter,
    /// Their order.
    #[serde(default)]
    pub order: ThreadOrder,
    /// Its direction.
    #[serde(default)]
    pub direction: Direction,
}

/// Conditions that issues and merge requests meet: all of them. Of a list of names one must fit, in any case; an empty list
/// is no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadFilter {
    /// Full paths of projects.
    pub projects: Vec<String>,
    /// States.
    pub states: Vec<State>,
    /// User names of authors.
    pub authors: Vec<String>,
    /// User names of people they are assigned to.
    pub assignees: Vec<String>,
    /// User names of reviewers.
    pub reviewers: Vec<String>,
    /// User names of people who are asked to review them, also if they did.
    pub asked: Vec<String>,
    /// User names of people who approved them.
    pub approvers: Vec<String>,
    /// User names of people who wrote in them.
    pub participants: Vec<String>,
    /// Numbers of milestones.
    pub milestones: Vec<u64>,
    /// Labels: they have at least one of them.
    pub any_label: Vec<String>,
    /// Labels that they all have.
    pub all_labels: Vec<String>,
    /// User names of people whom their text or their notes mention.
    pub mentioned: Vec<String>,
    /// User names of people who did not approve them.
    pub no_approver: Vec<String>,
    /// Labels that they do not have.
    pub no_label: Vec<String>,
    /// When they were opened.
    pub created: TimeRange,
    /// When they last changed; stale ones have changed before a time.
    pub updated: TimeRange,
    /// When they were merged.
    pub merged: TimeRange,
    /// When they were closed.
    pub closed: TimeRange,
    /// Whether they are assigned to anybody.
    pub assigned: Option<bool>,
    /// Whether they are drafts.
    pub draft: Option<bool>,
    /// Whether they have discussions that can be resolved and are not.
    pub unresolved: Option<bool>,
    /// Whether they close an issue of their project, or are closed by a merge request or commit of it.
    pub linked: Option<bool>,
}

/// An order of issues and merge requests. Those without the time in question are in no list ordered by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadOrder {
    /// When they last changed.
    #[default]
    Updated,
    /// When they were opened.
    Created,
    /// When they were merged.
    Merged,
    /// When they were closed.
    Closed,
    /// Their numbers.
    Number,
    /// How many notes they have.
    Notes,
}

/// An issue or merge request in a list. What is counted is what everybody may see who may see the thread itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRow {
    /// Its id.
    pub id: ThreadId,
    /// One-line title.
    pub title: String,
    /// Where it stands.
    pub state: State,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether only some may see it.
    pub confidential: bool,
    /// User name of the author; `None` for a deleted account.
    pub author: Option<String>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was merged.
    pub merged_at: Option<Timestamp>,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// Number of its milestone within the project.
    pub milestone: Option<u64>,
    /// Names of its labels, sorted.
    pub labels: Vec<String>,
    /// User names of those it is assigned to, sorted.
    pub assignees: Vec<String>,
    /// User names of those who were asked for a review or gave one, sorted.
    pub reviewers: Vec<String>,
    /// User names of those who approved it, sorted.
    pub approvers: Vec<String>,
    /// Discussions with notes of people.
    pub discussions: u64,
    /// Those of them that can be resolved and are not.
    pub unresolved: u64,
    /// Notes of people.
    pub notes: u64,
    /// When the last one was written.
    pub last_note_at: Option<Timestamp>,
    /// User names of the author and of those who wrote notes, sorted.
    pub participants: Vec<String>,
    /// User names of those whom its text or its notes mention, sorted.
    pub mentioned: Vec<String>,
    /// Whether it closes an issue of its project, or is closed by a merge request or commit of it.
    pub linked: bool,
    /// User names of those of the reviewers who are asked for a review, also if they gave one, sorted: the forge says so, or
    /// a discussion, or, where the forge does not tell, they are reviewers without having written or approved anything.
    pub asked: Vec<String>,
    /// When the first review of a merge request was written, as `MergeRequest::first_reviewed_at` has it.
    pub first_reviewed_at: Option<Timestamp>,
}

const COLUMNS: &str =
    "project, kind, iid, title, state, draft, confidential, author, created_at, updated_at, merged_at,
    closed_at, milestone, labels, assignees, reviewers, approvers, discussions, unresolved, notes, last_note_at,
    participants, mentioned, linked, asked, first_reviewed_at";

impl ThreadRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let kind = if text(row, 1)? == ListKind::Issue.as_str() { ThreadKind::Issue } else { ThreadKind::MergeRequest };
        Ok(Self {
            id: ThreadId { project: row.get(0)?, kind, iid: count(row, 2)? },
            title: row.get(3)?,
            state: State::from_name(text(row, 4)?).unwrap_or(State::Opened),
            draft: row.get(5)?,
            confidential: row.get(6)?,
            author: row.get(7)?,
            created_at: time(row, 8)?,
            updated_at: time(row, 9)?,
            merged_at: optional_time(row, 10)?,
            closed_at: optional_time(row, 11)?,
            milestone: row.get::<_, Option<i64>>(12)?.map(i64::unsigned_abs),
            labels: names(row, 13)?,
            assignees: names(row, 14)?,
            reviewers: names(row, 15)?,
            approvers: names(row, 16)?,
            discussions: count(row, 17)?,
            unresolved: count(row, 18)?,
            notes: count(row, 19)?,
            last_note_at: optional_time(row, 20)?,
            participants: names(row, 21)?,
            mentioned: names(row, 22)?,
            linked: row.get(23)?,
            asked: names(row, 24)?,
            first_reviewed_at: optional_time(row, 25)?,
        })
    }

    pub(super) fn find(
        connection: &Connection,
        list: ListKind,
        project: &str,
        iid: &Key,
    ) -> Result<Option<Self>, LedgerError> {
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM list_threads WHERE project = ?1 AND kind = ?2 AND iid = ?3"
        ))?;
        Ok(statement.query_row(params![project, list.as_str(), iid], Self::read).optional()?)
    }

    pub(super) fn entry(&self) -> Entry {
        let mut values = BTreeSet::new();
        let mut add = |field: Field, names: &[String]| {
            values.extend(names.iter().map(|name| (field, name.clone())));
        };
        add(Field::Author, self.author.as_slice());
        add(Field::Assignee, &self.assignees);
        add(Field::Reviewer, &self.reviewers);
        add(Field::Asked, &self.asked);
        add(Field::Approver, &self.approvers);
        add(Field::Participant, &self.participants);
        add(Field::Mentioned, &self.mentioned);
        add(Field::Label, &self.labels);
        add(Field::Milestone, self.milestone.map(|iid| iid.to_string()).as_slice());
        let flags = [("draft", self.draft), ("unresolved", self.unresolved > 0), ("linked", self.linked)];
        values.extend(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| (Field::Is, (*flag).to_owned())));
        let ms = |at: Timestamp| at.as_millisecond();
        let mut orders = vec![(Field::ByNumber, to_i64(self.id.iid)), (Field::ByNotes, to_i64(self.notes))];
        orders.extend(self.merged_at.map(|at| (Field::ByMerged, ms(at))));
        orders.extend(self.closed_at.map(|at| (Field::ByClosed, ms(at))));
        let mut days = vec![(Field::CreatedOn, self.created_at)];
        days.extend(self.merged_at.map(|at| (Field::MergedOn, at)));
        days.extend(self.closed_at.map(|at| (Field::ClosedOn, at)));
        Entry {
            part: self.state.as_str(),
            confidential: self.confidential,
            main_order: self.updated_at.into(),
            other_order: Some(self.created_at.into()),
            values,
            orders,
            days,
        }
    }
}

impl From<ThreadKind> for ListKind {
    fn from(kind: ThreadKind) -> Self {
        match kind {
            ThreadKind::Issue => Self::Issue,
            ThreadKind::MergeRequest => Self::MergeRequest,
        }
    }
}

/// The entry of an issue or merge request.
pub(super) fn id(thread: &ThreadId) -> EntryId {
    EntryId { list: thread.kind.into(), project: thread.project.clone(), key: Key::Number(to_i64(thread.iid)) }
}

/// Writes the columns that come from the item itself; the others stay, or are empty if the row is new.
pub(super) fn write(connection: &Connection, item: &Item, confidential: bool) -> Result<(), LedgerError> {
    let (id, request) = match item {
        Item::Issue(issue) => (&issue.id, None),
        Item::MergeRequest(mr) => (&mr.id, Some(mr)),
        _ => return Ok(()),
    };
    let Some(thread) = item.as_thread() else { return Ok(()) };
    let ms = |at: Timestamp| at.as_millisecond();
    connection
        .prepare_cached(
            "INSERT INTO list_threads (project, kind, iid, title, state, draft, confidential, author, created_at,
                updated_at, merged_at, closed_at, milestone, labels, assignees, reviewers, approvers, mentions,
                requested, discussions, unresolved, notes, participants, mentioned, linked, asked)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, 0, 0, 0,
                '[]', '[]', 0, '[]')
             ON CONFLICT (project, kind, iid) DO UPDATE SET
                title = excluded.title, state = excluded.state, draft = excluded.draft,
                confidential = excluded.confidential, author = excluded.author, created_at = excluded.created_at,
                updated_at = excluded.updated_at, merged_at = excluded.merged_at, closed_at = excluded.closed_at,
                milestone = excluded.milestone, labels = excluded.labels, assignees = excluded.assignees,
                reviewers = excluded.reviewers, approvers = excluded.approvers, mentions = excluded.mentions,
                requested = excluded.requested",
        )?
        .execute(params![
            id.project,
            ListKind::from(id.kind).as_str(),
            to_i64(id.iid),
            thread.title,
            thread.state.as_str(),
            request.is_some_and(|mr| mr.draft),
            confidential,
            thread.author,
            ms(thread.created_at),
            ms(thread.updated_at),
            request.and_then(|mr| mr.merged_at).map(ms),
            thread.closed_at.map(ms),
            thread.milestone.map(to_i64),
            names_to_json(&thread.labels),
            names_to_json(&thread.assignees),
            names_to_json(request.map_or(&[][..], |mr| &mr.reviewers)),
            names_to_json(request.map_or(&[][..], |mr| &mr.approved_by)),
            names_to_json(mentions(&thread.description, thread.forge, &thread.web_url, &id.project)),
            request.and_then(|mr| mr.requested_reviewers.as_ref()).map(names_to_json),
        ])?;
    Ok(())
}

/// Deletes an issue or merge request.
pub(super) fn delete(connection: &Connection, id: &EntryId) -> Result<(), LedgerError> {
    connection
        .prepare_cached("DELETE FROM list_threads WHERE project = ?1 AND kind = ?2 AND iid = ?3")?
        .execute(params![id.project, id.list.as_str(), id.key])?;
    Ok(())
}

/// Computes the columns that follow from discussions and from what closes what.
pub(super) fn derive(connection: &Connection, id: &EntryId) -> Result<(), LedgerError> {
    let sigil = if id.list == ListKind::Issue { ThreadKind::Issue } else { ThreadKind::MergeRequest }.sigil();
    let Key::Number(iid) = &id.key else { return Ok(()) };
    let short = format!("{sigil}{iid}");
    let first_reviewed_at = read_first_review(connection, id, &short)?;
    connection
        .prepare_cached(
            "UPDATE list_threads AS t SET
                first_reviewed_at = ?5,
                (discussions, unresolved, notes, last_note_at) = (
                    SELECT COUNT(*), COALESCE(SUM(d.resolvable AND NOT d.resolved), 0), COALESCE(SUM(d.notes), 0),
                        MAX(d.last_note_at)
                    FROM list_discussions AS d INDEXED BY list_discussions_thread
                    WHERE d.project = ?1 AND d.thread = ?4 AND d.confidential <= t.confidential),
                participants = (
                    SELECT json_group_array(name) FROM (
                        SELECT t.author AS name WHERE t.author IS NOT NULL
                        UNION
                        SELECT person.value
                        FROM list_discussions AS d INDEXED BY list_discussions_thread, json_each(d.people) AS person
                        WHERE d.project = ?1 AND d.thread = ?4 AND d.confidential <= t.confidential
                        ORDER BY name)),
                mentioned = (
                    SELECT json_group_array(name) FROM (
                        SELECT own.value AS name FROM json_each(t.mentions) AS own
                        UNION
                        SELECT person.value
                        FROM list_discussions AS d INDEXED BY list_discussions_thread, json_each(d.mentions) AS person
                        WHERE d.project = ?1 AND d.thread = ?4 AND d.confidential <= t.confidential
                        ORDER BY name)),
                asked = (
                    SELECT json_group_array(name) FROM (
                        SELECT own.value AS name FROM json_each(t.requested) AS own
                        UNION
                        SELECT own.value FROM json_each(t.reviewers) AS own
                        WHERE t.requested IS NULL AND own.value NOT IN (SELECT value FROM json_each(t.approvers))
                            AND NOT EXISTS (
                                SELECT 1 FROM list_discussions AS d INDEXED BY list_discussions_thread,
                                    json_each(d.people) AS person
                                WHERE d.project = ?1 AND d.thread = ?4 AND d.confidential <= t.confidential
                                    AND person.value = own.value)
                        UNION
                        SELECT r.person
                        FROM list_review_requests AS r INDEXED BY list_review_requests_thread
                        WHERE r.project = ?1 AND r.thread = ?4 AND r.confidential <= t.confidential
                            AND r.person IN (SELECT value FROM json_each(t.reviewers))
                        ORDER BY name)),
                linked = EXISTS (
                    SELECT 1 FROM (
                        SELECT closer, closed, confidential FROM list_closes INDEXED BY list_closes_closer
                        WHERE project = ?1 AND closer = ?4
                        UNION ALL
                        SELECT closer, closed, confidential FROM list_closes INDEXED BY list_closes_closed
                        WHERE project = ?1 AND closed = ?4
                    ) AS c
                    WHERE c.confidential <= t.confidential
                        AND (c.closer NOT LIKE '!%' OR EXISTS (
                            SELECT 1 FROM list_threads AS own WHERE own.project = ?1 AND own.kind = 'merge_request'
                            AND own.iid = CAST(substr(c.closer, 2) AS INTEGER) AND own.confidential <= t.confidential))
                        AND EXISTS (
                            SELECT 1 FROM list_threads AS own WHERE own.project = ?1
                            AND own.kind = CASE substr(c.closed, 1, 1) WHEN '#' THEN 'issue' ELSE 'merge_request' END
                            AND own.iid = CAST(substr(c.closed, 2) AS INTEGER) AND own.confidential <= t.confidential))
             WHERE t.project = ?1 AND t.kind = ?2 AND t.iid = ?3",
        )?
        .execute(params![id.project, id.list.as_str(), iid, short, first_reviewed_at])?;
    Ok(())
}

impl ThreadQuery {
    pub(super) fn selection(&self) -> Selection {
        let filter = &self.filter;
        let mut facets = vec![
            Facet::any(Field::Author, &filter.authors, "t.author COLLATE NOCASE IN (SELECT value FROM json_each(?))"),
            Facet::any_of_several(Field::Assignee, &filter.assignees, has_any!("t.assignees")),
            Facet::any_of_several(Field::Reviewer, &filter.reviewers, has_any!("t.reviewers")),
            Facet::any_of_several(Field::Asked, &filter.asked, has_any!("t.asked")),
            Facet::any_of_several(Field::Approver, &filter.approvers, has_any!("t.approvers")),
            Facet::any_of_several(Field::Participant, &filter.participants, has_any!("t.participants")),
            Facet::any_of_several(Field::Mentioned, &filter.mentioned, has_any!("t.mentioned")),
            Facet::any_of_several(Field::Label, &filter.any_label, has_any!("t.labels")),
        ];
        for label in &filter.all_labels {
            facets.push(Facet::any_of_several(Field::Label, std::slice::from_ref(label), has_any!("t.labels")));
        }
        let milestones: Vec<String> = filter.milestones.iter().map(u64::to_string).collect();
        facets.push(Facet::any(Field::Milestone, &milestones, "t.milestone IN (SELECT value + 0 FROM json_each(?))"));
        let mut conditions = Vec::new();
        if !filter.no_label.is_empty() {
            conditions.push(Condition::names(concat!("NOT ", has_any!("t.labels")), &filter.no_label));
        }
        if !filter.no_approver.is_empty() {
            conditions.push(Condition::names(concat!("NOT ", has_any!("t.approvers")), &filter.no_approver));
        }
        if let Some(assigned) = filter.assigned {
            conditions.push(Condition::names(if assigned { "t.assignees <> '[]'" } else { "t.assignees = '[]'" }, &[]));
        }
        let flags = [
            Flag::new("draft", "t.draft", "NOT t.draft", filter.draft),
            Flag::new("unresolved", "t.unresolved > 0", "t.unresolved = 0", filter.unresolved),
            Flag::new("linked", "t.linked", "NOT t.linked", filter.linked),
        ];
        Selection {
            list: self.kind.into(),
            projects: filter.projects.clone(),
            parts: filter.states.iter().map(|state| state.as_str()).collect(),
            facets: facets.into_iter().flatten().collect(),
            flags: flags.into_iter().flatten().collect(),
            conditions,
            ranges: vec![
                (Place::Main, "t.updated_at", filter.updated),
                (Place::Other, "t.created_at", filter.created),
                (Place::Row, "t.merged_at", filter.merged),
                (Place::Row, "t.closed_at", filter.closed),
            ],
            order: match self.order {
                ThreadOrder::Updated => Order::Main,
                ThreadOrder::Created => Order::Other,
                ThreadOrder::Merged => Order::Field(Field::ByMerged, "t.merged_at"),
                ThreadOrder::Closed => Order::Field(Field::ByClosed, "t.closed_at"),
                ThreadOrder::Number => Order::Field(Field::ByNumber, "t.iid"),
                ThreadOrder::Notes => Order::Field(Field::ByNotes, "t.notes"),
            },
            direction: self.direction,
        }
    }
}
