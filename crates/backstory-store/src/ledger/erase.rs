//! Erases a subject from the ledger: from all tables in one transaction, then from the disk with `secure_delete` and
//! `VACUUM`. What must not return is in [`forgotten`](super::forgotten).
//!
//! Tombstones go last, once every projection has seen them. An item that never existed keeps the highest sequence
//! number, so that none is given twice.

use backstory_model::entity::ItemKind;
use jiff::Timestamp;
use rusqlite::{Transaction, TransactionBehavior, params};

use super::{
    Ledger, LedgerError, chats,
    forgotten::{AuditAction, ErasureTarget, add_to_list, record},
    operations, quarantine,
    repositories::drop_repository,
    retired,
    row::unpacked,
    snapshots, versions,
    write::tombstone,
};
use crate::scan::ZSTD;

/// How much was taken out of the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Number of the record.
    pub audit: i64,
    /// Objects of the forge and of repositories.
    pub items: u64,
    /// Profiles of people that nothing else names.
    pub people: u64,
    /// Texts of language models.
    pub written: u64,
    /// Answers in conversations, and conversations that were narrowed to it.
    pub messages: u64,
    /// Jobs.
    pub jobs: u64,
    /// Documents in the lists of recorded states of the index.
    pub recorded: u64,
}

impl Ledger {
    /// Takes an issue, merge request or project, with the project's profiles of people of these keys, out of every table,
    /// and puts it on the list of what is not taken in again, in one transaction. Its objects leave marks that they are
    /// gone, for the projections; [`delete_tombstones`](Self::delete_tombstones) takes these out too, and [`compact`](Self::compact) makes the
    /// disk follow.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn forget(
        &self,
        subject: &ErasureTarget,
        people: &[String],
        reason: Option<&str>,
        at: Timestamp,
    ) -> Result<Erased, LedgerError> {
        let mut connection = self.write()?;
        // What is deleted is overwritten; `compact` ends that.
        connection.pragma_update(None, "secure_delete", "ON")?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        add_to_list(&tx, subject, reason, at)?;
        let name = subject.to_string();
        let audit = record(&tx, &self.actor, AuditAction::Forget, (subject.kind(), &name), reason, at)?;
        let mut erased = Erased { audit, ..Erased::default() };
        for (kind, key) in items(&tx, subject)? {
            let count = u64::from(tombstone(&tx, subject.project(), kind, &key, at)?);
            match kind {
                ItemKind::Person => erased.people += count,
                // They follow from the commits.
                ItemKind::Identity => {}
                _ => erased.items += count,
            }
        }
        if erased.items > 0 {
            tx.execute("UPDATE audit SET seq = (SELECT MAX(seq) FROM items) WHERE id = ?1", [audit])?;
        }
        for key in people {
            erased.people += u64::from(tombstone(&tx, subject.project(), ItemKind::Person, key, at)?);
        }
        retired::clear_retired(&tx, subject.project(), subject.thread().as_deref())?;
        quarantine::delete_for_subject(&tx, subject)?;
        erased.written = delete_written(&tx, subject)?;
        erased.messages = chats::remove_answers(&tx, subject)?;
        operations::forget(&tx, Some(subject))?;
        erased.recorded = snapshots::erase_from_snapshots(&tx, subject)?;
        versions::erase_versions(&tx, subject)?;
        match subject {
            ErasureTarget::Thread(thread) => {
                let of = params![thread.project, thread.local_reference()];
                erased.jobs = tx.execute("DELETE FROM jobs WHERE project = ?1 AND subject = ?2", of)? as u64;
            }
            ErasureTarget::Project(project) => {
                drop_repository(&tx, project)?;
                tx.execute("DELETE FROM cursors WHERE project = ?1", [project])?;
                tx.execute("DELETE FROM synced WHERE project = ?1", [project])?;
                tx.execute("UPDATE deliveries SET project = NULL, sender = NULL WHERE project = ?1", [project])?;
                tx.execute("DELETE FROM sync_failures WHERE project = ?1", [project])?;
                erased.jobs = tx.execute("DELETE FROM jobs WHERE project = ?1", [project])? as u64;
                erased.messages += tx.execute("DELETE FROM chats WHERE project = ?1", [project])? as u64;
                tx.execute("UPDATE sync_runs SET error = NULL WHERE instr(error, ?1) > 0", [project])?;
                // An empty list would stand for all projects.
                tx.execute(
                    "UPDATE sync_runs SET projects =
                        (SELECT NULLIF(json_group_array(value), '[]') FROM json_each(projects) WHERE value <> ?1)
                     WHERE EXISTS (SELECT 1 FROM json_each(projects) WHERE value = ?1)",
                    [project],
                )?;
            }
        }
        tx.commit()?;
        Ok(erased)
    }

    /// Deletes the tombstones of a subject, if one is given, and of people that are known from nowhere any more, and clears
    /// the requests in the audit log. Call it once every projection has applied the tombstones. The highest sequence number
    /// is kept.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn delete_tombstones(&self, subject: Option<&ErasureTarget>, at: Timestamp) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // An object that never was takes the log's last number, so that no number is given twice.
        tx.execute(
            "INSERT INTO items (project, kind, key, seq, fetched_at, hash)
             VALUES ('', 'project', '', (SELECT COALESCE(MAX(seq), 0) + 1 FROM items), ?1, x'')
             ON CONFLICT DO UPDATE SET seq = excluded.seq, fetched_at = excluded.fetched_at",
            [at.as_millisecond()],
        )?;
        if let Some(subject) = subject {
            tx.execute(
                "DELETE FROM items WHERE project = ?1 AND (?2 IS NULL OR thread = ?2) AND payload IS NULL",
                params![subject.project(), subject.thread()],
            )?;
        }
        tx.execute("DELETE FROM items WHERE kind IN ('person', 'identity') AND payload IS NULL", [])?;
        // Once more, for what was waiting to be written.
        operations::forget(&tx, subject)?;
        tx.commit()?;
        Ok(())
    }

    /// Writes the file again without the pages that were given back, and empties the log beside it.
    ///
    /// # Errors
    /// SQLite refused; there may be no room, or somebody else may be reading what the log has.
    pub fn compact(&self) -> Result<(), LedgerError> {
        let connection = self.write()?;
        connection.execute_batch("VACUUM")?;
        if !self.connections.empty_log(&connection, None)? {
            let message =
                "somebody else reads it, so the log beside it cannot be emptied; try again when they are done";
            let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
            return Err(rusqlite::Error::SqliteFailure(busy, Some(message.to_owned())).into());
        }
        connection.pragma_update(None, "secure_delete", "OFF")?;
        Ok(())
    }

    /// Shows every text and every packed value of the ledger, unpacked, with the name of its table, until `show` says
    /// that it has seen enough.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn for_each_text(&self, mut show: impl FnMut(&'static str, &[u8]) -> bool) -> Result<(), LedgerError> {
        let connection = self.read()?;
        for (table, columns) in TEXTS {
            let mut statement = connection.prepare(&format!("SELECT {columns} FROM {table}"))?;
            let count = statement.column_count();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                for column in 0..count {
                    let value = row.get_ref(column)?;
                    let Ok(bytes) = value.as_bytes() else { continue };
                    let unpacked = bytes.starts_with(&ZSTD).then(|| unpacked(bytes).ok()).flatten();
                    if !show(table, unpacked.as_deref().unwrap_or(bytes)) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

/// Every column that may hold what people wrote, by its table. The list and record of what was forgotten have no such columns.
const TEXTS: [(&str, &str); 34] = [
    ("items", "project, key, thread, payload"),
    ("item_versions", "project, key, thread, payload"),
    ("quarantine", "project, key, thread, field, reason"),
    ("sync_runs", "projects, error, summary"),
    ("repositories", "project, address, branches, refs, indexed"),
    ("lineage", "path, spans"),
    ("replaced", "path, hunks"),
    ("derived", "name, state"),
    ("messages", "text, answer"),
    ("written", "subject, text"),
    ("index_snapshots", "commits, stats, last_error, contents"),
    ("cursors", "project"),
    ("synced", "project"),
    ("sync_failures", "project, error"),
    ("jobs", "project, subject, error, summary"),
    ("deliveries", "forge, id, event, project, sender"),
    ("chats", "project"),
    ("operations", "projects, request"),
    (
        "list_threads",
        "project, title, author, labels, assignees, reviewers, approvers, participants, mentions, mentioned, requested, asked",
    ),
    ("list_discussions", "project, key, author, path, people, mentions, first_notes"),
    ("list_commits", "project, title, author, committer, paths"),
    ("list_files", "project, path"),
    ("list_entities", "project, code, path, name"),
    ("list_ranks", "project, code"),
    ("list_refs", "project, name"),
    ("list_labels", "project, key, name, description"),
    ("list_milestones", "project, key, title"),
    ("list_projects", "project, key, text"),
    ("list_people", "key, person, same_as, names"),
    ("list_review_requests", "project, key, person"),
    ("list_closes", "project, key, closer, closed"),
    ("list_merges", "project, via"),
    ("list_values", "project, value, main_order, key"),
    ("list_totals", "project, value"),
];

/// Kind and key of everything that belongs to it.
fn items(tx: &Transaction<'_>, subject: &ErasureTarget) -> Result<Vec<(ItemKind, String)>, LedgerError> {
    let mut statement = tx.prepare(
        "SELECT kind, key FROM items WHERE project = ?1 AND (?2 IS NULL OR thread = ?2) AND payload IS NOT NULL",
    )?;
    let rows = statement.query_map(params![subject.project(), subject.thread()], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let rows: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
    Ok(rows.into_iter().filter_map(|(kind, key)| Some((ItemKind::from_name(&kind)?, key))).collect())
}

fn delete_written(tx: &Transaction<'_>, subject: &ErasureTarget) -> Result<u64, LedgerError> {
    let known: Vec<(String, String)> = tx
        .prepare("SELECT kind, subject FROM written")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut deleted = 0;
    for (kind, about) in known.into_iter().filter(|(_, about)| subject.has(about)) {
        deleted += tx.execute("DELETE FROM written WHERE kind = ?1 AND subject = ?2", [kind, about])? as u64;
    }
    Ok(deleted)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn the_log_is_not_taken_for_empty_while_somebody_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.sqlite");
        let ledger = Ledger::open(&path).unwrap();
        ledger.write().unwrap().busy_timeout(std::time::Duration::ZERO).unwrap();
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT COUNT(*) FROM items").unwrap();
        assert!(ledger.compact().unwrap_err().to_string().contains("somebody else reads it"));
        reader.execute_batch("COMMIT").unwrap();
        ledger.compact().unwrap();
    }

    #[test]
    fn every_table_is_searched_or_has_nothing_that_people_wrote() {
        const WITHOUT_TEXTS: [&str; 10] = [
            "audit",
            "forgotten",
            "hash_key",
            "lineage_heads",
            "list_state",
            "model_days",
            "parsers",
            "retired",
            "sqlite_sequence",
            "tokens",
        ];
        let ledger = Ledger::in_memory().unwrap();
        ledger.for_each_text(|_, _| true).unwrap();
        let connection = ledger.write().unwrap();
        let mut statement = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
        let tables: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let searched = |table: &str| TEXTS.iter().any(|(name, _)| *name == table) || WITHOUT_TEXTS.contains(&table);
        let forgotten: Vec<&String> = tables.iter().filter(|table| !searched(table)).collect();
        assert!(forgotten.is_empty(), "{forgotten:?}");
    }

    #[test]
    fn every_column_of_the_lists_is_searched_or_has_nothing_that_people_wrote() {
        const WITHOUT_TEXTS: [&str; 16] = [
            "change_type",
            "document_type",
            "field",
            "kind",
            "language",
            "list",
            "other_order",
            "part",
            "project",
            "removed_words",
            "sha",
            "short_name",
            "source",
            "spelling",
            "state",
            "thread",
        ];
        let ledger = Ledger::in_memory().unwrap();
        let connection = ledger.write().unwrap();
        let mut statement = connection
            .prepare(
                "SELECT tables.name, columns.name FROM sqlite_schema AS tables
                 JOIN pragma_table_info(tables.name) AS columns
                 WHERE tables.type = 'table' AND tables.name LIKE 'list\\_%' ESCAPE '\\'
                    AND columns.type IN ('TEXT', 'BLOB', 'ANY')",
            )
            .unwrap();
        let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let columns: Vec<(String, String)> = columns.map(Result::unwrap).collect();
        assert!(columns.len() > 50, "{columns:?}");
        let is_searched = |(table, column): &&(String, String)| {
            let mut listed =
                TEXTS.iter().filter(|(name, _)| name == table).flat_map(|(_, columns)| columns.split(", "));
            WITHOUT_TEXTS.contains(&column.as_str()) || listed.any(|listed| listed == column)
        };
        let missing: Vec<_> = columns.iter().filter(|column| !is_searched(column)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
