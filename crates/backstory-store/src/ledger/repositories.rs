//! The repositories that are indexed, and what is kept of their clones beside items: blame of lines, replaced hunks,
//! aggregates over commits.
//!
//! All of it can be computed from the clone again. Traces read blame and replaced hunks from here; the graph does not
//! have them.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    commit::Sha,
    entity::ItemKind,
    lineage::{Lineage, ReplacedHunks},
    reference::Forge,
};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::{
    Ledger, LedgerError,
    row::{ZSTD_LEVEL, unpacked},
    time,
    visibility::project_clause,
    write::tombstone,
};

/// Which branches of a repository are indexed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Branches {
    /// The one that HEAD points at.
    #[default]
    Default,
    /// These, besides the default one.
    Selected(Vec<String>),
    /// All of them.
    All,
}

/// The forge that has a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgeAddress {
    /// Which forge.
    pub kind: Forge,
    /// Its address, without credentials.
    pub base_url: String,
}

/// A repository that is indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryEntry {
    /// Full path of the project.
    pub project: String,
    /// Path or URL that it is cloned from, without credentials.
    pub address: String,
    /// Which branches.
    pub branches: Branches,
    /// Further branches, tags and commits whose files are indexed, in order.
    pub refs: Vec<String>,
    /// How many commits of each branch are cloned; the whole history if absent.
    pub depth: Option<u32>,
    /// The forge whose issues and merge requests are read besides, if they are and no configuration says so.
    pub forge: Option<ForgeAddress>,
    /// When it was added.
    pub added_at: Timestamp,
    /// When it was last fetched and indexed to the end.
    pub synced_at: Option<Timestamp>,
    /// The tips that are indexed, by the name of the branch.
    pub indexed: BTreeMap<String, Sha>,
    /// Commits that were indexed and that no indexed branch reaches any more.
    pub unreachable: BTreeSet<Sha>,
}

/// What is known of the lines of a regular file at a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredBlame {
    /// Where they come from.
    Traced(Lineage),
    /// It is no text.
    Binary,
    /// It has more bytes than are traced.
    TooLarge,
}

/// Up to where the lineage of a branch has been computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameHead {
    /// The commit whose files' lineage is stored.
    pub tip: Sha,
    /// Commits that pass their lines on.
    pub ignored: Vec<Sha>,
}

/// How the lineage of a branch changes.
#[derive(Debug)]
pub struct BlameUpdate<'a> {
    /// Full path of the project.
    pub project: &'a str,
    /// Name of the branch.
    pub branch: &'a str,
    /// Where it stands afterwards.
    pub head: BlameHead,
    /// Whether `files` is all there is, not only what differs.
    pub whole: bool,
    /// Files by path; `None` for one that is gone.
    pub files: Vec<(String, Option<StoredBlame>)>,
}

const TRACED: i64 = 0;
const BINARY: i64 = 1;
const TOO_LARGE: i64 = 2;

impl Ledger {
    /// Every repository, by project.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn repositories(&self) -> Result<Vec<RepositoryEntry>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT project, address, branches, added_at, synced_at, indexed, rewritten, forge, depth, refs FROM repositories
             WHERE TRUE {} ORDER BY project",
            project_clause(1)
        ))?;
        let rows = statement.query_map([self.visible_projects()], entry)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The repository of a project.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn repository(&self, project: &str) -> Result<Option<RepositoryEntry>, LedgerError> {
        if !self.allows_project(project) {
            return Ok(None);
        }
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(
            "SELECT project, address, branches, added_at, synced_at, indexed, rewritten, forge, depth, refs
             FROM repositories WHERE project = ?1",
        )?;
        Ok(statement.query_row([project], entry).optional()?)
    }

    /// Puts a repository on the list. Of one that is there its address, branches, refs, forge and depth
    /// change; what a sync recorded stays.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn put_repository(&self, of: &RepositoryEntry) -> Result<(), LedgerError> {
        self.write()?.execute(
            "INSERT INTO repositories (project, address, branches, added_at, synced_at, indexed, rewritten, forge, depth,
                refs)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT DO UPDATE SET
                address = excluded.address, branches = excluded.branches, forge = excluded.forge,
                depth = excluded.depth, refs = excluded.refs",
            params![
                of.project,
                of.address,
                json(&of.branches),
                of.added_at.as_millisecond(),
                of.synced_at.map(|at| at.as_millisecond()),
                json(&of.indexed),
                json(&of.unreachable),
                of.forge.as_ref().map(json),
                of.depth,
                json(&of.refs),
            ],
        )?;
        Ok(())
    }

    /// Records what a sync has indexed to the end. Nothing happens if the repository is gone, and its branches stay what
    /// they may have become meanwhile.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn record_indexed(
        &self,
        project: &str,
        indexed: &BTreeMap<String, Sha>,
        at: Timestamp,
    ) -> Result<(), LedgerError> {
        self.write()?.execute(
            "UPDATE repositories SET indexed = ?2, synced_at = ?3 WHERE project = ?1",
            params![project, json(indexed), at.as_millisecond()],
        )?;
        Ok(())
    }

    /// Records which commits no indexed branch reaches any more. Nothing happens if the repository is gone.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn set_unreachable(&self, project: &str, unreachable: &BTreeSet<Sha>) -> Result<(), LedgerError> {
        self.write()?.execute(
            "UPDATE repositories SET rewritten = ?2 WHERE project = ?1",
            params![project, json(unreachable)],
        )?;
        Ok(())
    }

    /// Removes a repository with everything known from it, and from the forge that was added with it.
    ///
    /// Returns how many items were removed. All of it is one transaction.
    ///
    /// # Errors
    /// SQLite refused; nothing is removed.
    pub fn remove_repository_and_added_forge(&self, project: &str, at: Timestamp) -> Result<u64, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let items: Vec<(String, String)> = tx
            .prepare("SELECT kind, key FROM items WHERE project = ?1 AND payload IS NOT NULL")?
            .query_map([project], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        let forge = tx.query_row("SELECT forge FROM repositories WHERE project = ?1", [project], |row| row.get(0));
        let came_with_forge = forge.optional()?.and_then(|forge: Option<String>| forge).is_some();
        let mut gone = 0;
        for (kind, key) in items {
            let is_of_clone = |kind: &ItemKind| kind.comes_from_git() || *kind == ItemKind::Identity;
            let kind = ItemKind::from_name(&kind).filter(|kind| came_with_forge || is_of_clone(kind));
            if let Some(kind) = kind {
                let count = u64::from(tombstone(&tx, project, kind, &key, at)?);
                // Identities follow from the commits.
                gone += if kind == ItemKind::Identity { 0 } else { count };
            }
        }
        if came_with_forge {
            for table in ["cursors", "synced", "sync_failures"] {
                tx.execute(&format!("DELETE FROM {table} WHERE project = ?1"), [project])?;
            }
        }
        drop_repository(&tx, project)?;
        tx.commit()?;
        Ok(gone)
    }

    /// Where the lineage of a branch stands.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn lineage_head(&self, project: &str, branch: &str) -> Result<Option<BlameHead>, LedgerError> {
        if !self.allows_project(project) {
            return Ok(None);
        }
        let connection = self.read()?;
        let mut statement =
            connection.prepare_cached("SELECT tip, ignored FROM lineage_heads WHERE project = ?1 AND branch = ?2")?;
        let row = statement
            .query_row(params![project, branch], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
        let head = row.optional()?;
        // A row that cannot be read is no row: lineage is computed from scratch.
        Ok(head.and_then(|(tip, ignored)| {
            Some(BlameHead { tip: tip.parse().ok()?, ignored: serde_json::from_str(&ignored).ok()? })
        }))
    }

    /// Lineage of a file at the head of a branch; `None` if it is not known there.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn lineage(&self, project: &str, branch: &str, path: &str) -> Result<Option<StoredBlame>, LedgerError> {
        if !self.allows_project(project) {
            return Ok(None);
        }
        let connection = self.read()?;
        let mut statement = connection
            .prepare_cached("SELECT state, spans FROM lineage WHERE project = ?1 AND branch = ?2 AND path = ?3")?;
        let row = statement.query_row(params![project, branch, path], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<Vec<u8>>>(1)?))
        });
        Ok(row.optional()?.and_then(|(state, spans)| stored_blame(state, spans)))
    }

    /// Lineage of a file at the head of a branch, `Some(None)` if it is not known there; `None` if the lineage of that branch
    /// is not, or no longer, that of the commit `tip`.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn lineage_of_tip(
        &self,
        project: &str,
        branch: &str,
        tip: Sha,
        path: &str,
    ) -> Result<Option<Option<StoredBlame>>, LedgerError> {
        if !self.allows_project(project) {
            return Ok(None);
        }
        let connection = self.read()?;
        // Head and file in one statement: a sync changes both in one transaction.
        let mut statement = connection.prepare_cached(
            "SELECT l.state, l.spans FROM lineage_heads AS h
             LEFT JOIN lineage AS l ON l.project = h.project AND l.branch = h.branch AND l.path = ?4
             WHERE h.project = ?1 AND h.branch = ?2 AND h.tip = ?3",
        )?;
        let row = statement.query_row(params![project, branch, tip.to_string(), path], |row| {
            Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<Vec<u8>>>(1)?))
        });
        Ok(row.optional()?.map(|(state, spans)| stored_blame(state?, spans)))
    }

    /// Changes the lineage of a branch and says where it stands then, in one transaction.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn update_lineage(&self, update: &BlameUpdate<'_>) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (project, branch) = (update.project, update.branch);
        if update.whole {
            tx.execute("DELETE FROM lineage WHERE project = ?1 AND branch = ?2", params![project, branch])?;
        }
        {
            let mut delete = tx.prepare("DELETE FROM lineage WHERE project = ?1 AND branch = ?2 AND path = ?3")?;
            let mut insert = tx.prepare(
                "INSERT OR REPLACE INTO lineage (project, branch, path, state, spans) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            for (path, file) in &update.files {
                let (state, spans) = match file {
                    None => {
                        delete.execute(params![project, branch, path])?;
                        continue;
                    }
                    Some(StoredBlame::Traced(lineage)) => (TRACED, Some(pack(&lineage.to_bytes(), path)?)),
                    Some(StoredBlame::Binary) => (BINARY, None),
                    Some(StoredBlame::TooLarge) => (TOO_LARGE, None),
                };
                insert.execute(params![project, branch, path, state, spans])?;
            }
        }
        tx.execute(
            "INSERT OR REPLACE INTO lineage_heads (project, branch, tip, ignored) VALUES (?1, ?2, ?3, ?4)",
            params![project, branch, update.head.tip.to_string(), json(&update.head.ignored)],
        )?;
        tx.commit()?;
        Ok(())
    }

    /// Forgets the lineage of branches other than these.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn retain_blame_of(&self, project: &str, branches: &[&str]) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known: Vec<String> = tx
            .prepare("SELECT branch FROM lineage_heads WHERE project = ?1")?
            .query_map([project], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for branch in known.iter().filter(|branch| !branches.contains(&branch.as_str())) {
            tx.execute("DELETE FROM lineage WHERE project = ?1 AND branch = ?2", params![project, branch])?;
            tx.execute("DELETE FROM lineage_heads WHERE project = ?1 AND branch = ?2", params![project, branch])?;
        }
        tx.commit()?;
        Ok(())
    }

    /// What a commit replaced in a file, by the file's path after it; `None` if nothing is known.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn replaced(&self, project: &str, commit: Sha, path: &str) -> Result<Option<ReplacedHunks>, LedgerError> {
        if !self.allows_project(project) {
            return Ok(None);
        }
        let connection = self.read()?;
        let mut statement =
            connection.prepare_cached("SELECT hunks FROM replaced WHERE project = ?1 AND sha = ?2 AND path = ?3")?;
        let hunks: Option<Vec<u8>> =
            statement.query_row(params![project, commit.to_string(), path], |row| row.get(0)).optional()?;
        Ok(hunks.and_then(|hunks| serde_json::from_slice(&unpacked(&hunks).ok()?).ok()))
    }

    /// A sum over all commits, as it was stored.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn aggregate(&self, project: &str, name: &str) -> Result<Option<Vec<u8>>, LedgerError> {
        if !self.allows_project(project) {
            return Ok(None);
        }
        let connection = self.read()?;
        let mut statement = connection.prepare_cached("SELECT state FROM derived WHERE project = ?1 AND name = ?2")?;
        let state: Option<Vec<u8>> = statement.query_row(params![project, name], |row| row.get(0)).optional()?;
        Ok(state.and_then(|state| zstd::stream::decode_all(&state[..]).ok()))
    }

    /// Stores a sum over all commits.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn put_aggregate(&self, project: &str, name: &str, state: &[u8]) -> Result<(), LedgerError> {
        let state = pack(state, name)?;
        self.write()?.execute(
            "INSERT OR REPLACE INTO derived (project, name, state) VALUES (?1, ?2, ?3)",
            params![project, name, state],
        )?;
        Ok(())
    }

    /// Deletes what is stored under a name, if anything is.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn delete_aggregate(&self, project: &str, name: &str) -> Result<(), LedgerError> {
        self.write()?.execute("DELETE FROM derived WHERE project = ?1 AND name = ?2", params![project, name])?;
        Ok(())
    }

    /// Stores what a function makes of what is stored now, with nobody else between.
    ///
    /// # Errors
    /// SQLite or the function refused; nothing is stored.
    pub fn update_aggregate<E: From<LedgerError>>(
        &self,
        project: &str,
        name: &str,
        update: impl FnOnce(Option<Vec<u8>>) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(LedgerError::from)?;
        let select = "SELECT state FROM derived WHERE project = ?1 AND name = ?2";
        let stored: Option<Vec<u8>> =
            tx.query_row(select, params![project, name], |row| row.get(0)).optional().map_err(LedgerError::from)?;
        let stored = stored.and_then(|state| zstd::stream::decode_all(&state[..]).ok());
        let state = pack(&update(stored)?, name)?;
        tx.execute(
            "INSERT OR REPLACE INTO derived (project, name, state) VALUES (?1, ?2, ?3)",
            params![project, name, state],
        )
        .map_err(LedgerError::from)?;
        Ok(tx.commit().map_err(LedgerError::from)?)
    }

    /// Stores what commits replaced, in one transaction.
    ///
    /// # Errors
    /// Nothing is stored.
    pub fn put_replaced(&self, project: &str, replaced: &[(Sha, ReplacedHunks)]) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert =
                tx.prepare("INSERT OR REPLACE INTO replaced (project, sha, path, hunks) VALUES (?1, ?2, ?3, ?4)")?;
            for (commit, file) in replaced {
                let bytes = serde_json::to_vec(file).unwrap_or_default();
                insert.execute(params![project, commit.to_string(), &*file.path, pack(&bytes, &file.path)?])?;
            }
        }
        tx.commit()?;
        Ok(())
    }

    /// Deletes what commits replaced, but for those that `kept` names.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn retain_replaced_by(&self, project: &str, is_kept: impl Fn(Sha) -> bool) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known: Vec<String> = tx
            .prepare("SELECT DISTINCT sha FROM replaced WHERE project = ?1")?
            .query_map([project], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for sha in known {
            if !Sha::from_hex(sha.as_bytes()).is_some_and(&is_kept) {
                tx.execute("DELETE FROM replaced WHERE project = ?1 AND sha = ?2", [project, &sha])?;
            }
        }
        tx.commit()?;
        Ok(())
    }
}

/// What a row of the lineage says; a row that cannot be read says nothing.
fn stored_blame(state: i64, spans: Option<Vec<u8>>) -> Option<StoredBlame> {
    match state {
        BINARY => Some(StoredBlame::Binary),
        TOO_LARGE => Some(StoredBlame::TooLarge),
        _ => {
            let bytes = unpacked(&spans?).ok()?;
            Some(StoredBlame::Traced(Lineage::from_bytes(&bytes).ok()?))
        }
    }
}

/// Takes a repository off the list, with what is kept of its clone.
pub(super) fn drop_repository(tx: &Transaction<'_>, project: &str) -> rusqlite::Result<()> {
    // Without the clone nothing can be said of what its files were.
    for table in ["repositories", "lineage", "lineage_heads", "replaced", "derived", "item_versions"] {
        tx.execute(&format!("DELETE FROM {table} WHERE project = ?1"), [project])?;
    }
    tx.execute("DELETE FROM sync_failures WHERE project = ?1 AND source = 'repository'", [project])?;
    Ok(())
}

fn entry(row: &Row<'_>) -> rusqlite::Result<RepositoryEntry> {
    Ok(RepositoryEntry {
        project: row.get(0)?,
        address: row.get(1)?,
        branches: serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default(),
        added_at: time(row.get(3)?),
        synced_at: row.get::<_, Option<i64>>(4)?.map(time),
        // Without it everything is looked at again.
        indexed: serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or_default(),
        unreachable: serde_json::from_str(&row.get::<_, String>(6)?).unwrap_or_default(),
        forge: row.get::<_, Option<String>>(7)?.and_then(|text| serde_json::from_str(&text).ok()),
        depth: row.get(8)?,
        refs: serde_json::from_str(&row.get::<_, String>(9)?).unwrap_or_default(),
    })
}

fn json<T: Serialize>(value: &T) -> String {
    // Names and hashes only: nothing that JSON could not hold.
    serde_json::to_string(value).unwrap_or_default()
}

fn pack(bytes: &[u8], path: &str) -> Result<Vec<u8>, LedgerError> {
    zstd::bulk::compress(bytes, ZSTD_LEVEL)
        .map_err(|error| LedgerError::Payload { item: format!("lineage of {path}"), reason: error.to_string() })
}
