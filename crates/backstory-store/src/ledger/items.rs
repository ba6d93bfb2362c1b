//! Reads items; [`ingest`](super::ingest) writes them.

use std::collections::BTreeMap;

use backstory_model::{digest::sha256, entity::ItemKind};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use super::{
    Ledger, LedgerError, StoredItem,
    forgotten::is_blocked,
    row::{COLUMNS, raw, unpack},
    time, to_i64,
};

/// What identifies an object, and when it last changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemChange {
    /// Position of its change.
    pub seq: u64,
    /// Full path of its project.
    pub project: String,
    /// What it is.
    pub kind: ItemKind,
    /// Unique within project and kind.
    pub key: String,
}

/// A change of an object, which may have removed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedChange {
    /// The object.
    pub item: ItemChange,
    /// How it was removed; `None` if it is there.
    pub removal: Option<Removal>,
}

/// How an object was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// Its source has it no more, at that time.
    Gone(Timestamp),
    /// The rules of retention do not permit it any more, since that time.
    Retired(Timestamp),
    /// It was forgotten, or what it belongs to. A record tells that.
    Forgotten,
}

/// The newest change of a kind of a project. With '+' the index of project and kind is read, which has those alone; that of
/// project and number would be read from its end up to the first of the kind.
const LAST_CHANGE: &str = "SELECT COALESCE(MAX(+seq), 0) FROM items WHERE project = ?1 AND kind = ?2";

/// The query for the newest change of the projects of a JSON array: one look into the index for each, however much others
/// changed last.
fn newest_of(confidential_clause: &str) -> String {
    format!(
        "SELECT MAX((SELECT seq FROM items WHERE project = visible.value {confidential_clause} ORDER BY seq DESC LIMIT 1))
         FROM json_each(?1) AS visible"
    )
}

impl Ledger {
    /// Objects changed after a sequence number, oldest change first, at most `limit`.
    ///
    /// # Errors
    /// A payload is damaged, or SQLite refused.
    pub fn changes_after(&self, seq: u64, limit: usize) -> Result<Vec<StoredItem>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items WHERE seq > ?1 {} ORDER BY seq LIMIT ?2",
            self.visibility_clause(3)
        ))?;
        let rows = statement.query_map(params![to_i64(seq), to_i64(limit as u64), self.visible_projects()], raw)?;
        rows.map(|row| unpack(row?)).collect()
    }

    /// Which issues and merge requests changes after a sequence number concern: number, project, and key of the thread
    /// if it concerns one; oldest change first, at most `limit`.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn changed_threads_after(
        &self,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<(u64, String, Option<String>)>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT seq, project, thread FROM items WHERE seq > ?1 {} ORDER BY seq LIMIT ?2",
            self.visibility_clause(3)
        ))?;
        let rows = statement.query_map(params![to_i64(seq), to_i64(limit as u64), self.visible_projects()], |row| {
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?, row.get(2)?))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Which objects there are that changed after a sequence number, without their content, oldest change first, at most
    /// `limit`: those of the given projects, or of all if none is given.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn changed_keys_after(
        &self,
        seq: u64,
        projects: &[String],
        limit: usize,
    ) -> Result<Vec<ItemChange>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT seq, project, kind, key FROM items
             WHERE seq > ?1 AND payload IS NOT NULL
                AND (?4 IS NULL OR project IN (SELECT value FROM json_each(?4))) {} ORDER BY seq LIMIT ?2",
            self.visibility_clause(3)
        ))?;
        let wanted = (!projects.is_empty()).then(|| serde_json::json!(projects).to_string());
        let bounds = params![to_i64(seq), to_i64(limit as u64), self.visible_projects(), wanted];
        let rows = statement.query_map(bounds, |row| {
            let kind = ItemKind::from_name(&row.get::<_, String>(2)?);
            let (seq, project, key) = (row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?, row.get(3)?);
            Ok(kind.map(|kind| ItemChange { seq, project, kind, key }))
        })?;
        rows.filter_map(|row| row.map_err(LedgerError::from).transpose()).collect()
    }

    /// Which objects of some kinds changed after a sequence number, also those that are gone, without their content, oldest
    /// change first, at most `limit`: those of the given projects, or of all if none is given.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn log_after(
        &self,
        seq: u64,
        projects: &[String],
        kinds: &[ItemKind],
        limit: usize,
    ) -> Result<Vec<LoggedChange>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT seq, project, kind, key, thread, fetched_at, payload IS NULL,
                payload IS NULL AND EXISTS (
                    SELECT 1 FROM audit
                    WHERE action = 'retire' AND audit.subject = items.project AND audit.at = items.fetched_at)
             FROM items
             WHERE seq > ?1 AND (?4 IS NULL OR project IN (SELECT value FROM json_each(?4)))
                AND kind IN (SELECT value FROM json_each(?5)) {} ORDER BY seq LIMIT ?2",
            self.visibility_clause(3)
        ))?;
        let wanted = (!projects.is_empty()).then(|| serde_json::json!(projects).to_string());
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        let kinds = serde_json::json!(kinds).to_string();
        let bounds = params![to_i64(seq), to_i64(limit as u64), self.visible_projects(), wanted, kinds];
        let mut rows = statement.query(bounds)?;
        let mut changes = Vec::new();
        while let Some(row) = rows.next()? {
            let Some(kind) = ItemKind::from_name(&row.get::<_, String>(2)?) else { continue };
            let (seq, project, key) = (row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, String>(1)?, row.get(3)?);
            let (thread, at) = (row.get::<_, Option<String>>(4)?, time(row.get(5)?));
            let removal = match (row.get::<_, bool>(6)?, row.get::<_, bool>(7)?) {
                (false, _) => None,
                (true, true) => Some(Removal::Retired(at)),
                (true, false) if is_blocked(&connection, &project, thread.as_deref())? => Some(Removal::Forgotten),
                (true, false) => Some(Removal::Gone(at)),
            };
            changes.push(LoggedChange { item: ItemChange { seq, project, kind, key }, removal });
        }
        Ok(changes)
    }

    /// Position of the newest change.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn last_seq(&self) -> Result<u64, LedgerError> {
        let seq: i64 = self.read()?.query_row("SELECT COALESCE(MAX(seq), 0) FROM items", [], |row| row.get(0))?;
        Ok(seq.unsigned_abs())
    }

    /// Position of the newest change that is visible: changes of hidden projects are not counted by it.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn last_visible_seq(&self) -> Result<u64, LedgerError> {
        if self.visibility.allows_everything() {
            return self.last_seq();
        }
        let confidential = self.confidential_clause();
        let connection = self.read()?;
        let seq: Option<i64> = match self.visible_projects() {
            None => {
                let select = format!("SELECT seq FROM items WHERE TRUE {confidential} ORDER BY seq DESC LIMIT 1");
                connection.query_row(&select, [], |row| row.get(0)).optional()?
            }
            Some(projects) => connection.query_row(&newest_of(confidential), [projects], |row| row.get(0))?,
        };
        Ok(seq.unwrap_or(0).unsigned_abs())
    }

    /// Position of the newest change of a kind of a project; 0 if there never was any.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn last_change(&self, project: &str, kind: ItemKind) -> Result<u64, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(LAST_CHANGE)?;
        let seq: i64 = statement.query_row(params![project, kind.as_str()], |row| row.get(0))?;
        Ok(seq.unsigned_abs())
    }

    /// One object; `None` if it was never there or is gone.
    ///
    /// # Errors
    /// The payload is damaged, or SQLite refused.
    pub fn item(&self, project: &str, kind: ItemKind, key: &str) -> Result<Option<StoredItem>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items WHERE project = ?1 AND kind = ?2 AND key = ?3 AND payload IS NOT NULL {}",
            self.visibility_clause(4)
        ))?;
        let bounds = params![project, kind.as_str(), key, self.visible_projects()];
        statement.query_row(bounds, raw).optional()?.map(unpack).transpose()
    }

    /// Whether an object still has the payload that it was stored with, by its hash; `None` if it is not there.
    ///
    /// # Errors
    /// The payload is damaged, or SQLite refused.
    pub fn verify_hash(&self, project: &str, kind: ItemKind, key: &str) -> Result<Option<bool>, LedgerError> {
        let Some(StoredItem { payload: Some(payload), .. }) = self.item(project, kind, key)? else { return Ok(None) };
        let connection = self.read()?;
        let mut statement =
            connection.prepare_cached("SELECT hash FROM items WHERE project = ?1 AND kind = ?2 AND key = ?3")?;
        let hash: Option<Vec<u8>> =
            statement.query_row(params![project, kind.as_str(), key], |row| row.get(0)).optional()?;
        Ok(hash.map(|hash| *hash == sha256(&payload)))
    }

    /// An issue or merge request and its discussions, without those that are gone, ordered by kind and key.
    ///
    /// # Errors
    /// A payload is damaged, or SQLite refused.
    pub fn thread(&self, project: &str, thread: &str) -> Result<Vec<StoredItem>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items INDEXED BY items_thread
             WHERE project = ?1 AND thread = ?2 AND payload IS NOT NULL {} ORDER BY kind, key",
            self.visibility_clause(3)
        ))?;
        let rows = statement.query_map(params![project, thread, self.visible_projects()], raw)?;
        rows.map(|row| unpack(row?)).collect()
    }

    /// All objects of a kind that are not gone, ordered by project and key.
    ///
    /// # Errors
    /// A payload is damaged, or SQLite refused.
    pub fn items_of_kind(&self, kind: ItemKind) -> Result<Vec<StoredItem>, LedgerError> {
        let connection = self.read()?;
        // Project by project, which are few, by the index that begins with them: an index of kinds would cost every write.
        let mut statement = connection.prepare_cached(&format!(
            "WITH RECURSIVE projects (name) AS (
                 SELECT MIN(project) FROM items
                 UNION ALL SELECT (SELECT MIN(project) FROM items WHERE project > name) FROM projects WHERE name IS NOT NULL
             )
             SELECT {COLUMNS} FROM projects CROSS JOIN items ON project = name
             WHERE kind = ?1 AND payload IS NOT NULL {} ORDER BY project, key",
            self.visibility_clause(2)
        ))?;
        let rows = statement.query_map(params![kind.as_str(), self.visible_projects()], raw)?;
        rows.map(|row| unpack(row?)).collect()
    }

    /// What each project knows of a person by their key, as a profile or an identity, ordered by project.
    ///
    /// # Errors
    /// A payload is damaged, or the database cannot be read.
    pub fn people_with_key(&self, kind: ItemKind, key: &str) -> Result<Vec<StoredItem>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items INDEXED BY items_people
             WHERE kind IN ('person', 'identity') AND key = ?1 AND kind = ?2 AND payload IS NOT NULL {}
             ORDER BY project",
            self.visibility_clause(3)
        ))?;
        let rows = statement.query_map(params![key, kind.as_str(), self.visible_projects()], raw)?;
        rows.map(|row| unpack(row?)).collect()
    }

    /// Objects of a kind of a project that are not gone, ordered by key, those after `after`, at most `limit`.
    ///
    /// # Errors
    /// A payload is damaged, or SQLite refused.
    pub fn items_in(
        &self,
        project: &str,
        kind: ItemKind,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<StoredItem>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items
             WHERE project = ?1 AND kind = ?2 AND key > ?3 AND payload IS NOT NULL {} ORDER BY key LIMIT ?4",
            self.visibility_clause(5)
        ))?;
        let (after, limit) = (after.unwrap_or_default(), to_i64(limit as u64));
        let bounds = params![project, kind.as_str(), after, limit, self.visible_projects()];
        statement.query_map(bounds, raw)?.map(|row| unpack(row?)).collect()
    }

    /// Objects of a kind of a project that are not gone and that changed last before a time, ordered by key.
    ///
    /// # Errors
    /// A payload is damaged, or SQLite refused.
    pub fn unchanged_since(
        &self,
        project: &str,
        kind: ItemKind,
        before: Timestamp,
    ) -> Result<Vec<StoredItem>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items
             WHERE project = ?1 AND kind = ?2 AND updated_at < ?3 AND payload IS NOT NULL {} ORDER BY key",
            self.visibility_clause(4)
        ))?;
        let bounds = params![project, kind.as_str(), before.as_millisecond(), self.visible_projects()];
        let rows = statement.query_map(bounds, raw)?;
        rows.map(|row| unpack(row?)).collect()
    }

    /// Keys of the objects of a kind of a project that are not gone, in order.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn keys(&self, project: &str, kind: ItemKind) -> Result<Vec<String>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT key FROM items WHERE project = ?1 AND kind = ?2 AND payload IS NOT NULL {} ORDER BY key",
            self.visibility_clause(3)
        ))?;
        let keys = statement.query_map(params![project, kind.as_str(), self.visible_projects()], |row| row.get(0))?;
        Ok(keys.collect::<Result<_, _>>()?)
    }

    /// Keys of the objects of a kind of a project that start with this and are not deleted, in order, at most `limit`.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn keys_with_prefix(
        &self,
        project: &str,
        kind: ItemKind,
        beginning: &str,
        limit: usize,
    ) -> Result<Vec<String>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT key FROM items WHERE project = ?1 AND kind = ?2 AND key >= ?3 AND key < ?3 || char(1114111)
             AND payload IS NOT NULL {} ORDER BY key LIMIT ?4",
            self.visibility_clause(5)
        ))?;
        let bounds = params![project, kind.as_str(), beginning, to_i64(limit as u64), self.visible_projects()];
        Ok(statement.query_map(bounds, |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// How many objects of each project and kind there are, without those that are gone.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn counts(&self) -> Result<BTreeMap<(String, ItemKind), u64>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT project, kind, COUNT(*) FROM items WHERE payload IS NOT NULL {} GROUP BY project, kind",
            self.visibility_clause(1)
        ))?;
        let rows = statement.query_map([self.visible_projects()], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
        })?;
        let mut counts = BTreeMap::new();
        for row in rows {
            let (project, kind, count): (String, String, i64) = row?;
            if let Some(kind) = ItemKind::from_name(&kind) {
                counts.insert((project, kind), count.unsigned_abs());
            }
        }
        Ok(counts)
    }

    /// In how many places of everything that is stored secrets were replaced, by project and rule. One that stands in a file
    /// and in the lines of commits counts for each.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn secrets(&self) -> Result<BTreeMap<(String, String), u64>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT project, found.key, SUM(found.value) FROM items, json_each(items.secrets) AS found
             WHERE secrets IS NOT NULL {} GROUP BY project, found.key",
            self.visibility_clause(1)
        ))?;
        let rows = statement.query_map([self.visible_projects()], |row| {
            Ok(((row.get(0)?, row.get(1)?), row.get::<_, i64>(2)?.unsigned_abs()))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_changes_are_looked_up_in_the_index_that_has_no_others() {
        let ledger = Ledger::in_memory().unwrap();
        let connection = ledger.write().unwrap();
        for (query, index) in [
            (newest_of(""), "items_project_seq (project=?)"),
            (newest_of("AND NOT confidential"), "items_project_seq (project=?)"),
            (LAST_CHANGE.to_owned(), "sqlite_autoindex_items_2 (project=? AND kind=?)"),
        ] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
            let unbound = vec![None::<String>; statement.parameter_count()];
            let steps = statement.query_map(rusqlite::params_from_iter(unbound), |row| row.get("detail")).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            let of_items = |step: &&String| step.contains("items");
            assert!(steps.iter().filter(of_items).all(|step| step.ends_with(index)), "{query}: {steps:#?}");
        }
    }
}
