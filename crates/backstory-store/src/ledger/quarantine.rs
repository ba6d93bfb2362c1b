//! Items that a forge sent and that cannot be parsed: which item, which field and why, for people and for the next
//! attempt. The payload itself is not kept.

use std::collections::{BTreeMap, btree_map::Entry};

use backstory_model::entity::ItemKind;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};

use super::{ErasureTarget, Ledger, LedgerError, time, to_i64};

/// Most items of a project that are put aside.
pub const MAX_QUARANTINED: u64 = 10_000;
/// Longest path of a field and longest reason, in characters.
const MAX_TEXT: usize = 200;

/// An item that cannot be read and goes to the quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewQuarantined {
    /// Full path of the project that it came with; also of people.
    pub project: String,
    /// What it is.
    pub kind: ItemKind,
    /// Its key, with `?` in place of what cannot be told.
    pub key: String,
    /// Key of the issue or merge request that it came with.
    pub thread: Option<String>,
    /// Path of the field that is wrong; empty for all of it.
    pub field: String,
    /// What is wrong with it, without its value; the first 200 characters are kept.
    pub reason: String,
    /// Whether only some may see it.
    pub confidential: bool,
}

impl NewQuarantined {
    /// Whether it is that item.
    pub(super) fn is(&self, project: &str, kind: ItemKind, key: &str) -> bool {
        self.project == project && self.kind == kind && self.key == key
    }
}

/// Something that was put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// What it is, and what is wrong with it.
    pub of: NewQuarantined,
    /// When it first could not be read.
    pub first_seen: Timestamp,
    /// When it was last tried.
    pub last_tried: Timestamp,
}

/// What was read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetriedItem {
    /// An issue or merge request with all that came with it: project and key.
    Thread(String, String),
    /// Everything of a kind that a project has.
    Kind(String, ItemKind),
}

impl Ledger {
    /// How many items are in quarantine, and the first of them by project, kind and key, at most `limit`.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn quarantine(&self, limit: usize) -> Result<(u64, Vec<Quarantined>), LedgerError> {
        let connection = self.read()?;
        let (visible, projects) = (self.visibility_clause(1), self.visible_projects());
        let count = format!("SELECT COUNT(*) FROM quarantine WHERE TRUE {visible}");
        let count: i64 = connection.query_row(&count, [projects], |row| row.get(0))?;
        let sql = format!("SELECT {ROW} FROM quarantine WHERE TRUE {visible} ORDER BY project, kind, key LIMIT ?2");
        let rows = collect(&connection, &sql, params![projects, to_i64(limit as u64)])?;
        Ok((count.unsigned_abs(), rows))
    }

    /// The items of a project that are in quarantine, first those that were not tried for longest.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn quarantine_of(&self, project: &str) -> Result<Vec<Quarantined>, LedgerError> {
        let connection = self.read()?;
        let visible = self.visibility_clause(2);
        let sql = format!("SELECT {ROW} FROM quarantine WHERE project = ?1 {visible} ORDER BY last_tried, kind, key");
        collect(&connection, &sql, params![project, self.visible_projects()])
    }

    /// Puts items aside that are stored and cannot be read, as far as there is room.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn quarantine_items(&self, items: &[NewQuarantined], at: Timestamp) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for item in items {
            let count = match counts.entry(&item.project) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(count(&tx, &item.project)?),
            };
            // The first of them tell enough; a full sync finds the others.
            if *count < MAX_QUARANTINED {
                put(&tx, item, at)?;
                *count += 1;
            }
        }
        tx.commit()?;
        Ok(())
    }

    /// Takes items of a project out of the quarantine, as kind and key.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn release(&self, project: &str, items: &[(ItemKind, String)]) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (kind, key) in items {
            tx.prepare_cached("DELETE FROM quarantine WHERE project = ?1 AND kind = ?2 AND key = ?3")?
                .execute(params![project, kind.as_str(), key])?;
        }
        tx.commit()?;
        Ok(())
    }

    /// By which version of the parsers everything stored was looked at; 0 for none.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn parser_version(&self) -> Result<u32, LedgerError> {
        let version = self.read()?.query_row("SELECT version FROM parsers", [], |row| row.get(0)).optional()?;
        Ok(version.unwrap_or(0))
    }

    /// Notes that everything stored was looked at by a version of the parsers.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn set_parser_version(&self, version: u32) -> Result<(), LedgerError> {
        self.write()?.execute(
            "INSERT INTO parsers (id, version) VALUES (1, ?1) ON CONFLICT DO UPDATE SET version = excluded.version",
            [version],
        )?;
        Ok(())
    }
}

/// Columns of a row.
const ROW: &str = "project, kind, key, thread, field, reason, confidential, first_seen, last_tried";

fn collect(connection: &Connection, sql: &str, bounds: impl rusqlite::Params) -> Result<Vec<Quarantined>, LedgerError> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(bounds, quarantined)?;
    Ok(rows.filter_map(Result::transpose).collect::<Result<_, _>>()?)
}

/// `None` for a kind that only a newer program knows.
fn quarantined(row: &Row<'_>) -> rusqlite::Result<Option<Quarantined>> {
    let Some(kind) = ItemKind::from_name(&row.get::<_, String>(1)?) else { return Ok(None) };
    let of = NewQuarantined {
        project: row.get(0)?,
        kind,
        key: row.get(2)?,
        thread: row.get(3)?,
        field: row.get(4)?,
        reason: row.get(5)?,
        confidential: row.get(6)?,
    };
    Ok(Some(Quarantined { of, first_seen: time(row.get(7)?), last_tried: time(row.get(8)?) }))
}

/// Adds an item, or what is wrong with it now.
pub(super) fn put(tx: &Transaction<'_>, of: &NewQuarantined, at: Timestamp) -> Result<(), LedgerError> {
    let short = |text: &str| text.chars().take(MAX_TEXT).collect::<String>();
    tx.prepare_cached(
        "INSERT INTO quarantine (project, kind, key, thread, field, reason, confidential, first_seen, last_tried)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
         ON CONFLICT DO UPDATE SET thread = excluded.thread, field = excluded.field, reason = excluded.reason,
            confidential = excluded.confidential, last_tried = excluded.last_tried",
    )?
    .execute(params![
        of.project,
        of.kind.as_str(),
        short(&of.key),
        of.thread,
        short(&of.field),
        short(&of.reason),
        of.confidential,
        at.as_millisecond()
    ])?;
    Ok(())
}

/// How many items of a project are in quarantine.
pub(super) fn count(tx: &Transaction<'_>, project: &str) -> Result<u64, LedgerError> {
    let count: i64 = tx
        .prepare_cached("SELECT COUNT(*) FROM quarantine WHERE project = ?1")?
        .query_row([project], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// Takes an item out that is read now. People are put aside with the project that they came with.
pub(super) fn release(tx: &Transaction<'_>, project: &str, kind: ItemKind, key: &str) -> Result<(), LedgerError> {
    if kind == ItemKind::Person {
        tx.prepare_cached("DELETE FROM quarantine WHERE kind = ?1 AND key = ?2")?.execute([kind.as_str(), key])?;
    } else {
        tx.prepare_cached("DELETE FROM quarantine WHERE project = ?1 AND kind = ?2 AND key = ?3")?.execute(params![
            project,
            kind.as_str(),
            key
        ])?;
    }
    Ok(())
}

/// Removes everything about an item that is deleted.
pub(super) fn discard(tx: &Transaction<'_>, project: &str, kind: ItemKind, key: &str) -> Result<(), LedgerError> {
    release(tx, project, kind, key)?;
    if matches!(kind, ItemKind::Issue | ItemKind::MergeRequest) {
        tx.prepare_cached("DELETE FROM quarantine WHERE project = ?1 AND thread = ?2")?.execute([project, key])?;
    }
    Ok(())
}

/// Removes everything about something that is forgotten.
pub(super) fn delete_for_subject(tx: &Transaction<'_>, subject: &ErasureTarget) -> Result<(), LedgerError> {
    tx.execute(
        "DELETE FROM quarantine WHERE project = ?1 AND (?2 IS NULL OR thread = ?2)",
        params![subject.project(), subject.thread()],
    )?;
    Ok(())
}
