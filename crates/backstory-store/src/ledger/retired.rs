//! Retired items: removed by retention although the source still has them, with an audit record. The rules are in
//! `engine::sync`.

use std::collections::BTreeMap;

use backstory_model::entity::ItemKind;
use jiff::Timestamp;
use rusqlite::{Transaction, TransactionBehavior, params};
use serde_json::Value;
use zstd::zstd_safe::get_frame_content_size;

use super::{
    Ledger, LedgerError,
    forgotten::{AuditAction, ForgottenKind, record},
    time, to_i64,
    write::tombstone,
};

/// Bytes of what zstd packed that tell how much it is.
const HEADER: i64 = 18;

/// Records of what is not kept any more that stay, the newest.
const KEPT_RECORDS: i64 = 1_000;
/// Which records are of something that may still be in files: they do not say when it was cleared, ms since 1970.
const REMAINS: &str = "action = 'retire' AND json_extract(counts, '$.cleared') IS NULL";

/// A closed issue or merge request for which there is no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retired {
    /// Its key, as `#12` or `!7`.
    pub thread: String,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Bytes of its payloads, unpacked.
    pub bytes: u64,
}

impl Ledger {
    /// Takes objects of a project out, notes for which issues and merge requests among them there is no room, and puts
    /// counts on record, in one transaction; says how many objects were there. Nothing happens if there were none.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn retire(
        &self,
        project: &str,
        gone: &[(String, ItemKind, String)],
        no_room: &[Retired],
        counts: &Value,
        at: Timestamp,
    ) -> Result<u64, LedgerError> {
        let mut connection = self.write()?;
        // What is deleted is overwritten; `compact` ends that.
        connection.pragma_update(None, "secure_delete", "ON")?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut removed = 0;
        for (project, kind, key) in gone {
            removed += u64::from(tombstone(&tx, project, *kind, key, at)?);
        }
        for of in no_room {
            tx.execute(
                "INSERT OR REPLACE INTO retired (project, thread, updated_at, bytes) VALUES (?1, ?2, ?3, ?4)",
                params![project, of.thread, of.updated_at.as_millisecond(), to_i64(of.bytes)],
            )?;
        }
        if removed > 0 {
            let id = record(&tx, &self.actor, AuditAction::Retire, (ForgottenKind::Project, project), None, at)?;
            tx.execute("UPDATE audit SET counts = ?2 WHERE id = ?1", params![id, counts.to_string()])?;
            tx.execute(
                "DELETE FROM audit WHERE action = 'retire' AND id NOT IN
                    (SELECT id FROM audit WHERE action = 'retire' ORDER BY id DESC LIMIT ?1)",
                [KEPT_RECORDS],
            )?;
        }
        tx.commit()?;
        Ok(removed)
    }

    /// Whether something was taken out that may still be in the projections' files, or in pages that the ledger gave back,
    /// and nothing was done about that since a time.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn has_unpurged_data(&self, since: Timestamp) -> Result<bool, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT EXISTS (SELECT 1 FROM audit WHERE {REMAINS})
             AND NOT EXISTS (SELECT 1 FROM audit WHERE action = 'retire' AND json_extract(counts, '$.cleared') > ?1)"
        ))?;
        Ok(statement.query_row([since.as_millisecond()], |row| row.get(0))?)
    }

    /// Notes that it is nowhere any more.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn record_purged(&self, at: Timestamp) -> Result<(), LedgerError> {
        self.write()?.execute(
            &format!("UPDATE audit SET counts = json_set(counts, '$.cleared', ?1) WHERE {REMAINS}"),
            [at.as_millisecond()],
        )?;
        Ok(())
    }

    /// The issues and merge requests of a project for which there was no room, by their keys.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn retired(&self, project: &str) -> Result<BTreeMap<String, Retired>, LedgerError> {
        let connection = self.read()?;
        let mut statement =
            connection.prepare_cached("SELECT thread, updated_at, bytes FROM retired WHERE project = ?1")?;
        let rows = statement.query_map([project], |row| {
            let thread: String = row.get(0)?;
            let bytes = row.get::<_, i64>(2)?.unsigned_abs();
            Ok((thread.clone(), Retired { thread, updated_at: time(row.get(1)?), bytes }))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Forgets that there was no room for some, which are there again, or nowhere.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn restore_retired(&self, project: &str, threads: &[String]) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for thread in threads {
            clear_retired(&tx, project, Some(thread))?;
        }
        tx.commit()?;
        Ok(())
    }

    /// Bytes of the payloads of a project, unpacked: of each issue and merge request by its key, and of all else by none.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn sizes(&self, project: &str) -> Result<BTreeMap<Option<String>, u64>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(
            "SELECT thread, substr(payload, 1, ?2) FROM items WHERE project = ?1 AND payload IS NOT NULL",
        )?;
        let mut rows = statement.query(params![project, HEADER])?;
        let mut sizes = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let thread: Option<String> = row.get(0)?;
            let header: Vec<u8> = row.get(1)?;
            let bytes = get_frame_content_size(&header).ok().flatten().unwrap_or(0);
            *sizes.entry(thread.filter(|key| key.starts_with(['#', '!']))).or_default() += bytes;
        }
        Ok(sizes)
    }
}

/// There is room for an issue or merge request, or for all of a project.
pub(super) fn clear_retired(tx: &Transaction<'_>, project: &str, thread: Option<&str>) -> Result<(), LedgerError> {
    tx.prepare_cached("DELETE FROM retired WHERE project = ?1 AND (?2 IS NULL OR thread = ?2)")?
        .execute(params![project, thread])?;
    Ok(())
}
