//! The forgotten list, which keeps erased subjects from being ingested again, and the audit records.

use std::fmt;

use backstory_model::{
    access::Actor,
    id::{NodeId, ThreadId},
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Ledger, LedgerError, time, to_i64};

/// Most of those named whose forgetting never ended.
const MOST_UNFINISHED: i64 = 10;

/// Kind of what is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ForgottenKind {
    /// An issue or merge request.
    Thread,
    /// A project.
    Project,
    /// A person.
    Person,
}

impl ForgottenKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Thread, Self::Project, Self::Person];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Project => "project",
            Self::Person => "person",
        }
    }
}

/// What is taken out of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErasureTarget {
    /// An issue or merge request.
    Thread(ThreadId),
    /// A project, by its full path.
    Project(String),
}

impl ErasureTarget {
    /// Its kind.
    pub fn kind(&self) -> ForgottenKind {
        match self {
            Self::Thread(_) => ForgottenKind::Thread,
            Self::Project(_) => ForgottenKind::Project,
        }
    }

    /// Full path of the project.
    pub fn project(&self) -> &str {
        match self {
            Self::Thread(thread) => &thread.project,
            Self::Project(project) => project,
        }
    }

    /// Key of the issue or merge request in the ledger.
    pub fn thread(&self) -> Option<String> {
        match self {
            Self::Thread(thread) => Some(thread.local_reference()),
            Self::Project(_) => None,
        }
    }

    /// Whether a reference is to it or to something in it: `acme/shop#12` has `acme/shop#12#note_3`, not `acme/shop#123`.
    pub fn has(&self, reference: &str) -> bool {
        let Some(rest) = reference.strip_prefix(&self.to_string()) else { return false };
        match (self, rest.chars().next()) {
            (_, None) => true,
            (Self::Thread(_), Some(next)) => matches!(next, '#' | '~'),
            (Self::Project(_), Some(next)) => !(next.is_alphanumeric() || matches!(next, '/' | '-' | '_' | '.')),
        }
    }
}

impl fmt::Display for ErasureTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thread(thread) => thread.fmt(f),
            Self::Project(project) => f.write_str(project),
        }
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AuditAction {
    /// It was forgotten.
    Forget,
    /// It was taken off the list.
    Undo,
    /// Some of it is not kept any more.
    Retire,
}

impl AuditAction {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Forget, Self::Undo, Self::Retire];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forget => "forget",
            Self::Undo => "undo",
            Self::Retire => "retire",
        }
    }
}

/// An issue, merge request or project that was forgotten, as a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenChange {
    /// Position of the change.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// What was forgotten.
    pub target: ErasureTarget,
    /// Whether it was read again since.
    pub is_back: bool,
}

/// What was done, without any content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditEntry {
    /// Its number.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub action: AuditAction,
    /// Kind of the subject.
    pub kind: ForgottenKind,
    /// Its reference; of a person what stands in place of their name.
    pub subject: String,
    /// Why, as somebody said.
    pub reason: Option<String>,
    /// How much was removed where: an object of counts.
    pub counts: Value,
    /// Whether it was looked for afterwards and nothing was found; null if that was not done or not ended, or nothing
    /// was known any more that could be looked for.
    pub verified: Option<bool>,
    /// Who asked for it: `owner`, `local` or a token by its name; null if that is not on record.
    #[serde(default)]
    pub actor: Option<String>,
}

impl Ledger {
    /// Whether an issue, merge request or project is not to be taken in.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn is_forgotten(&self, subject: &ErasureTarget) -> Result<bool, LedgerError> {
        if !self.allows_project(subject.project()) {
            return Ok(false);
        }
        is_on_list(&*self.read()?, subject.kind(), &subject.to_string())
    }

    /// When an issue, merge request or project that is not to be taken in was forgotten; `None` if it may be, or the caller
    /// would not have seen it.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn forgotten_at(&self, subject: &ErasureTarget) -> Result<Option<Timestamp>, LedgerError> {
        if !self.allows_project(subject.project()) {
            return Ok(None);
        }
        let (connection, name) = (self.read()?, subject.to_string());
        let records = "SELECT EXISTS (SELECT 1 FROM audit WHERE subject = ?1 AND confidential)";
        if !self.visibility.shows_confidential() && connection.query_row(records, [&name], |row| row.get(0))? {
            return Ok(None);
        }
        let mut statement = connection.prepare_cached("SELECT at FROM forgotten WHERE kind = ?1 AND subject = ?2")?;
        let listed = params![subject.kind().as_str(), name];
        let at: Option<i64> = statement.query_row(listed, |row| row.get(0)).optional()?;
        Ok(at.map(time))
    }

    /// Keys of a project's issues and merge requests that are not to be taken in, as `#12` and `!7`.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn forgotten_threads(&self, project: &str) -> Result<Vec<String>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached("SELECT subject FROM forgotten WHERE kind = 'thread'")?;
        let subjects = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
        let key = |subject: &String| {
            let key = subject.strip_prefix(project)?;
            key.starts_with(['#', '!']).then(|| key.to_owned())
        };
        Ok(subjects.iter().filter_map(key).collect())
    }

    /// Takes an issue, merge request or project off the list, with a record of that, and forgets where the lists of its
    /// project stand, behind which is what did not change since; whether it was there. What the caller would not see is
    /// not there for them.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn undo_forget(
        &self,
        subject: &ErasureTarget,
        reason: Option<&str>,
        at: Timestamp,
    ) -> Result<bool, LedgerError> {
        if !self.allows_project(subject.project()) {
            return Ok(false);
        }
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (kind, name) = (subject.kind(), subject.to_string());
        let records = "SELECT EXISTS (SELECT 1 FROM audit WHERE subject = ?1 AND confidential)";
        if !self.visibility.shows_confidential() && tx.query_row(records, [&name], |row| row.get(0))? {
            return Ok(false);
        }
        let listed =
            tx.execute("DELETE FROM forgotten WHERE kind = ?1 AND subject = ?2", params![kind.as_str(), name])? > 0;
        if listed {
            record(&tx, &self.actor, AuditAction::Undo, (kind, &name), reason, at)?;
            tx.execute("DELETE FROM cursors WHERE project = ?1", [subject.project()])?;
        }
        tx.commit()?;
        Ok(listed)
    }

    /// Records how forgetting ended: what was removed, and whether nothing was found any more; `None` if that cannot be
    /// told any more, so that something which was found the time before may still be there.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn finish_erasure(&self, audit: i64, counts: &Value, verified: Option<bool>) -> Result<(), LedgerError> {
        self.write()?.execute(
            "UPDATE audit SET counts = ?2, verified = COALESCE(?3, (
                SELECT NULLIF(earlier.verified, 1) FROM audit AS earlier
                WHERE earlier.subject = audit.subject AND earlier.id < audit.id
                    AND (earlier.verified IS NOT NULL OR earlier.action = 'undo')
                ORDER BY earlier.id DESC LIMIT 1))
             WHERE id = ?1",
            params![audit, counts.to_string(), verified],
        )?;
        Ok(())
    }

    /// The record of how an issue, merge request or project that is on the list was forgotten, if the last attempt came
    /// to its end and nothing was found afterwards.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn completed_erasure(&self, subject: &ErasureTarget) -> Result<Option<AuditEntry>, LedgerError> {
        if !self.allows_project(subject.project()) {
            return Ok(None);
        }
        let connection = self.read()?;
        let name = subject.to_string();
        if !is_on_list(&connection, subject.kind(), &name)? {
            return Ok(None);
        }
        let mut statement = connection
            .prepare_cached(&format!("SELECT {ENTRY} FROM audit WHERE subject = ?1 ORDER BY id DESC LIMIT 1"))?;
        let last = statement.query_row([name], entry).optional()?;
        Ok(last.filter(|last| last.action == AuditAction::Forget && last.verified == Some(true)))
    }

    /// Whether there is anything of an issue, merge request or project.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn has(&self, subject: &ErasureTarget) -> Result<bool, LedgerError> {
        if !self.allows_project(subject.project()) {
            return Ok(false);
        }
        let connection = self.read()?;
        let mut statement = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM items WHERE project = ?1 AND (?2 IS NULL OR thread = ?2))")?;
        Ok(statement.query_row(params![subject.project(), subject.thread()], |row| row.get(0))?)
    }

    /// Records that what was forgotten before is nowhere.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn record_repeated_erasure(
        &self,
        subject: &ErasureTarget,
        reason: Option<&str>,
        at: Timestamp,
    ) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let id = record(&tx, &self.actor, AuditAction::Forget, (subject.kind(), &subject.to_string()), reason, at)?;
        tx.execute("UPDATE audit SET verified = 1 WHERE id = ?1", [id])?;
        tx.commit()?;
        Ok(())
    }

    /// Subjects of which forgetting began and never ended, as in the record.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn unfinished_erasures(&self) -> Result<Vec<String>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(
            // What ended has counts, also if it could not be verified.
            "SELECT DISTINCT subject FROM audit AS begun
             WHERE action = 'forget' AND verified IS NULL AND counts = '{}' AND NOT EXISTS (
                SELECT 1 FROM audit AS ended WHERE ended.id > begun.id AND ended.subject = begun.subject
                AND (ended.verified IS NOT NULL OR ended.counts <> '{}' OR ended.action = 'undo'))
             ORDER BY subject LIMIT ?1",
        )?;
        Ok(statement.query_map([MOST_UNFINISHED], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// Issues, merge requests and projects that were forgotten after a sequence number, oldest first, at most `limit`. Their
    /// records tell it, since nothing else is left of them.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn forgotten_after(&self, seq: u64, limit: usize) -> Result<Vec<ForgottenChange>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT seq, at, kind, subject FROM audit
             WHERE action = ?2 AND kind <> 'person' AND seq > ?1 {} AND {IS_OF_VISIBLE_PROJECT} ORDER BY seq LIMIT ?3",
            self.confidential_clause()
        ))?;
        let action = AuditAction::Forget.as_str();
        let rows = statement.query_map(
            params![to_i64(seq), action, to_i64(limit as u64), self.visible_projects()],
            |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?, row.get::<_, String>(3)?))
            },
        )?;
        let mut changes = Vec::new();
        for row in rows {
            let (seq, at, kind, subject) = row?;
            let Some(target) = target_of(&kind, subject) else { continue };
            let is_back = has_content(&connection, &target)?;
            changes.push(ForgottenChange { seq: seq.unsigned_abs(), at: time(at), target, is_back });
        }
        Ok(changes)
    }

    /// What was forgotten, taken off the list or is not kept any more, newest first, those before a number if one is
    /// given, of one action if one is given, at most `limit`. Records of people belong to no project, so only a handle
    /// that shows all projects shows them.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn audit(
        &self,
        action: Option<AuditAction>,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {ENTRY} FROM audit WHERE (?1 IS NULL OR action = ?1) AND id < ?2 {} AND {IS_OF_VISIBLE_PROJECT}
             ORDER BY id DESC LIMIT ?3",
            self.confidential_clause()
        ))?;
        let (action, before) = (action.map(AuditAction::as_str), before.unwrap_or(i64::MAX));
        let bounds = params![action, before, to_i64(limit as u64), self.visible_projects()];
        Ok(statement.query_map(bounds, entry)?.collect::<Result<_, _>>()?)
    }
}

/// What records must meet to be of a project that is visible, or of an issue or merge request of one; the fourth parameter
/// takes [`Ledger::visible_projects`].
const IS_OF_VISIBLE_PROJECT: &str = "(?4 IS NULL OR EXISTS (SELECT 1 FROM json_each(?4) AS visible
    WHERE kind = 'project' AND subject = visible.value
        OR kind = 'thread' AND substr(subject, 1, length(visible.value)) = visible.value
            AND substr(subject, length(visible.value) + 1, 1) IN ('#', '!')))";
/// Columns of a record.
const ENTRY: &str = "id, at, action, kind, subject, reason, counts, verified, actor";

/// Puts something on the list; what was said first stays.
pub(super) fn add_to_list(
    tx: &Transaction<'_>,
    subject: &ErasureTarget,
    reason: Option<&str>,
    at: Timestamp,
) -> Result<(), LedgerError> {
    tx.execute(
        "INSERT INTO forgotten (kind, subject, at, reason) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
        params![subject.kind().as_str(), subject.to_string(), at.as_millisecond(), reason],
    )?;
    Ok(())
}

/// Begins a record of what somebody did; its number.
pub(super) fn record(
    tx: &Transaction<'_>,
    actor: &Actor,
    action: AuditAction,
    (kind, subject): (ForgottenKind, &str),
    reason: Option<&str>,
    at: Timestamp,
) -> Result<i64, LedgerError> {
    let (project, key) = match subject.parse() {
        Ok(NodeId::Thread(id)) => (id.project.clone(), id.local_reference()),
        _ => (String::new(), String::new()),
    };
    // What is recorded of something confidential is so too, also once it is gone.
    tx.execute(
        "INSERT INTO audit (at, action, kind, subject, reason, actor, confidential) VALUES (?1, ?2, ?3, ?4, ?5, ?8,
            EXISTS (SELECT 1 FROM audit WHERE subject = ?4 AND confidential)
            OR EXISTS (SELECT 1 FROM items INDEXED BY items_confidential
                       WHERE confidential AND payload IS NOT NULL AND project = ?6 AND key = ?7))",
        params![at.as_millisecond(), action.as_str(), kind.as_str(), subject, reason, project, key, actor.to_string()],
    )?;
    Ok(tx.last_insert_rowid())
}

/// The issues, merge requests and projects that are on the list.
pub(super) fn forgotten_targets(connection: &Connection) -> Result<Vec<ErasureTarget>, LedgerError> {
    let mut statement = connection.prepare_cached("SELECT kind, subject FROM forgotten WHERE kind <> 'person'")?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let rows: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
    Ok(rows.into_iter().filter_map(|(kind, subject)| target_of(&kind, subject)).collect())
}

/// The issue, merge request or project that a record names; `None` for a person.
fn target_of(kind: &str, subject: String) -> Option<ErasureTarget> {
    if kind == ForgottenKind::Project.as_str() {
        return Some(ErasureTarget::Project(subject));
    }
    match subject.parse() {
        Ok(NodeId::Thread(thread)) => Some(ErasureTarget::Thread(thread)),
        _ => None,
    }
}

/// Whether anything of an issue, merge request or project is there that is not gone.
fn has_content(connection: &Connection, target: &ErasureTarget) -> Result<bool, LedgerError> {
    let found = match target.thread() {
        Some(thread) => connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM items INDEXED BY items_thread
                 WHERE project = ?1 AND thread = ?2 AND payload IS NOT NULL)",
            )?
            .query_row(params![target.project(), thread], |row| row.get(0))?,
        None => connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM items WHERE project = ?1 AND payload IS NOT NULL)")?
            .query_row([target.project()], |row| row.get(0))?,
    };
    Ok(found)
}

pub(super) fn is_on_list(connection: &Connection, kind: ForgottenKind, subject: &str) -> Result<bool, LedgerError> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM forgotten WHERE kind = ?1 AND subject = ?2")?;
    Ok(statement.query_row(params![kind.as_str(), subject], |_| Ok(())).optional()?.is_some())
}

/// Whether an item must not be ingested: its issue or merge request, or its project, was forgotten.
pub(super) fn is_blocked(connection: &Connection, project: &str, thread: Option<&str>) -> Result<bool, LedgerError> {
    if is_on_list(connection, ForgottenKind::Project, project)? {
        return Ok(true);
    }
    match thread {
        Some(thread) => is_on_list(connection, ForgottenKind::Thread, &format!("{project}{thread}")),
        None => Ok(false),
    }
}

// The schema lets no other names in.
fn entry(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    let (action, kind) = (row.get::<_, String>(2)?, row.get::<_, String>(3)?);
    let action = AuditAction::ALL.into_iter().find(|known| known.as_str() == action).unwrap_or(AuditAction::Forget);
    let kind = ForgottenKind::ALL.into_iter().find(|known| known.as_str() == kind).unwrap_or(ForgottenKind::Thread);
    Ok(AuditEntry {
        id: row.get(0)?,
        at: time(row.get(1)?),
        action,
        kind,
        subject: row.get(4)?,
        reason: row.get(5)?,
        counts: serde_json::from_str(&row.get::<_, String>(6)?).unwrap_or_default(),
        verified: row.get(7)?,
        actor: row.get(8)?,
    })
}
