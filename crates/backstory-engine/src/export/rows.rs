//! The tables of an export: their columns, and rows as cells.

use backstory_model::{
    edge::Edge,
    id::{NodeId, ThreadId, ThreadKind},
};
use backstory_store::{
    export::{Cell, Column, ColumnType},
    graph::{GraphEdge, InferredLink},
    ledger::ItemChange,
    lists::{CommitKind, CommitRow, DiscussionRow, FileRow, ThreadRow},
};

use super::ExportKind;

/// What an inferred link says.
pub(super) const INFERRED: Edge = Edge::RelatesTo;

const fn text(name: &'static str) -> Column {
    Column { name, kind: ColumnType::Text }
}

const fn texts(name: &'static str) -> Column {
    Column { name, kind: ColumnType::Texts }
}

const fn number(name: &'static str) -> Column {
    Column { name, kind: ColumnType::Number }
}

const fn decimal(name: &'static str) -> Column {
    Column { name, kind: ColumnType::Decimal }
}

const fn flag(name: &'static str) -> Column {
    Column { name, kind: ColumnType::Flag }
}

const fn time(name: &'static str) -> Column {
    Column { name, kind: ColumnType::Time }
}

const THREADS: &[Column] = &[
    text("ref"),
    text("project"),
    number("number"),
    text("title"),
    text("state"),
    flag("draft"),
    flag("confidential"),
    text("author"),
    time("created_at"),
    time("updated_at"),
    time("merged_at"),
    time("closed_at"),
    number("milestone"),
    texts("labels"),
    texts("assignees"),
    texts("reviewers"),
    texts("approvers"),
    texts("participants"),
    number("discussions"),
    number("unresolved"),
    number("notes"),
    time("last_note_at"),
    flag("linked"),
];

const DISCUSSIONS: &[Column] = &[
    text("ref"),
    text("project"),
    text("thread"),
    text("author"),
    time("created_at"),
    time("last_note_at"),
    number("notes"),
    flag("resolvable"),
    flag("resolved"),
    text("path"),
    number("first_line"),
    number("last_line"),
    flag("confidential"),
];

const COMMITS: &[Column] = &[
    text("ref"),
    text("project"),
    text("sha"),
    flag("merge"),
    text("title"),
    text("author"),
    text("committer"),
    time("committed_at"),
    time("authored_at"),
    text("change_type"),
    number("insertions"),
    number("deletions"),
    texts("paths"),
    text("merge_request"),
];

const FILES: &[Column] = &[
    text("ref"),
    text("project"),
    text("path"),
    text("language"),
    text("document_type"),
    number("bytes"),
    number("lines"),
    time("changed_at"),
    decimal("importance"),
];

const EDGES: &[Column] = &[
    text("from"),
    text("edge"),
    text("to"),
    text("project"),
    text("stated_by_kind"),
    text("stated_by"),
    flag("inferred"),
    decimal("confidence"),
];

pub(super) fn columns(kind: ExportKind) -> &'static [Column] {
    match kind {
        ExportKind::Issues | ExportKind::MergeRequests => THREADS,
        ExportKind::Discussions => DISCUSSIONS,
        ExportKind::Commits => COMMITS,
        ExportKind::Files => FILES,
        ExportKind::Edges => EDGES,
    }
}

pub(super) fn thread_kind(kind: ExportKind) -> ThreadKind {
    if kind == ExportKind::Issues { ThreadKind::Issue } else { ThreadKind::MergeRequest }
}

pub(super) fn thread(row: ThreadRow) -> Vec<Cell> {
    vec![
        row.id.to_string().into(),
        row.id.project.into(),
        row.id.iid.into(),
        row.title.into(),
        row.state.as_str().into(),
        row.draft.into(),
        row.confidential.into(),
        row.author.into(),
        row.created_at.into(),
        row.updated_at.into(),
        row.merged_at.into(),
        row.closed_at.into(),
        row.milestone.into(),
        row.labels.into(),
        row.assignees.into(),
        row.reviewers.into(),
        row.approvers.into(),
        row.participants.into(),
        row.discussions.into(),
        row.unresolved.into(),
        row.notes.into(),
        row.last_note_at.into(),
        row.linked.into(),
    ]
}

pub(super) fn discussion(row: DiscussionRow) -> Vec<Cell> {
    vec![
        row.node_id().to_string().into(),
        row.thread.project.clone().into(),
        row.thread.to_string().into(),
        row.author.into(),
        row.created_at.into(),
        row.last_note_at.into(),
        row.notes.into(),
        row.resolvable.into(),
        row.resolved.into(),
        row.path.into(),
        row.lines.map(|lines| u64::from(lines.first)).into(),
        row.lines.map(|lines| u64::from(lines.last)).into(),
        row.confidential.into(),
    ]
}

pub(super) fn commit(row: CommitRow) -> Vec<Cell> {
    let request = row.merge_request.map(|iid| ThreadId::merge_request(row.project.clone(), iid).to_string());
    vec![
        row.node_id().to_string().into(),
        row.project.into(),
        row.sha.into(),
        (row.kind == CommitKind::Merge).into(),
        row.title.into(),
        row.author.into(),
        row.committer.into(),
        row.committed_at.into(),
        row.authored_at.into(),
        row.change_type.map(|change| change.as_str()).into(),
        row.insertions.into(),
        row.deletions.into(),
        row.paths.into(),
        request.into(),
    ]
}

pub(super) fn file(row: FileRow) -> Vec<Cell> {
    vec![
        NodeId::file(&row.project, &row.path).to_string().into(),
        row.project.into(),
        row.path.into(),
        row.language.into(),
        row.document_type.as_str().into(),
        row.bytes.into(),
        row.lines.into(),
        row.changed_at.into(),
        (row.importance as f64 / 1_000_000.0).into(),
    ]
}

pub(super) fn edge(edge: &GraphEdge, item: &ItemChange) -> Vec<Cell> {
    vec![
        edge.from.to_string().into(),
        edge.edge.name().into(),
        edge.to.to_string().into(),
        item.project.clone().into(),
        item.kind.as_str().into(),
        item.key.clone().into(),
        edge.edge.is_inferred().into(),
        Cell::Null,
    ]
}

pub(super) fn link(link: &InferredLink) -> Vec<Cell> {
    // In hundredths, as it is stored.
    let confidence = f64::from((link.confidence * 100.0).round()) / 100.0;
    vec![
        link.from.to_string().into(),
        INFERRED.name().into(),
        link.to.to_string().into(),
        link.from.project().map(str::to_owned).into(),
        Cell::Null,
        Cell::Null,
        true.into(),
        confidence.into(),
    ]
}
