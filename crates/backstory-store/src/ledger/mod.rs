//! The ledger: what the forges said, durable, in one SQLite file. Graph and index are made from it.

mod aliases;
mod chats;
mod confidential;
mod erase;
mod forgotten;
mod jobs;
mod people;
mod repositories;
mod retired;
mod runs;
mod schema;
mod snapshots;
mod written;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use backstory_model::{alias::Aliases, digest::sha256, entity::ItemKind, sight::Sight};
use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use zstd::bulk::{Compressor, Decompressor};

pub use chats::{Chat, Message, NewMessage, Role};
pub use confidential::Confidential;
pub use erase::{Erased, REMOVED_ANSWER};
pub use forgotten::{AuditAction, AuditEntry, ForgottenKind, Subject};
pub use jobs::{Delivery, Job, JobKind, JobStatus, NewJob, Outcome};
pub use repositories::{Branches, ForgeAddress, LineageHead, LineageUpdate, RepositoryEntry, StoredLineage};
pub use retired::Retired;
pub use runs::{Run, RunStatus};
pub use snapshots::{Snapshot, SnapshotStats, SnapshotStatus};
pub use written::Written;

/// Level of compression of payloads; 3 is zstd's default, a good balance for JSON.
const ZSTD_LEVEL: i32 = 3;
/// Largest payload, in bytes of JSON.
pub const MAX_PAYLOAD: usize = 64 << 20;

/// What can go wrong with the ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file was written by a newer backstory.
    #[error(
        "the ledger has schema version {found}, this backstory knows versions up to {known}; use a newer backstory, or \
         another data directory"
    )]
    Newer {
        /// Version of the file.
        found: i64,
        /// Newest version this program knows.
        known: i64,
    },
    /// The file is no ledger, or no longer one.
    #[error(
        "{path} is not a ledger or is damaged ({reason}); restore it from a backup, or move it away and run \
         'backstory sync': what it holds can be read again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        reason: String,
    },
    /// A copy could not be written.
    #[error("the copy {path} cannot be written: {reason}; name a file that is not there yet, on a disk with room")]
    Backup {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// SQLite refused.
    #[error("the ledger cannot be read or written: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A payload could not be packed or unpacked.
    #[error("the ledger holds a damaged payload for {item}: {reason}")]
    Payload {
        /// Project, kind and key.
        item: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// An object as it is to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewItem {
    /// Full path of the project; empty for people.
    pub project: String,
    /// What it is.
    pub kind: ItemKind,
    /// Unique within project and kind.
    pub key: String,
    /// Key of the issue or merge request that it is or belongs to.
    pub thread: Option<String>,
    /// When it last changed, as the forge tells.
    pub updated_at: Option<Timestamp>,
    /// How many secrets of which kind were replaced in the payload, or left out of it.
    pub secrets: BTreeMap<String, u64>,
    /// Whether only some may see it; a person whom anything open names is seen by all.
    pub confidential: bool,
    /// JSON, redacted.
    pub payload: Vec<u8>,
}

/// An object as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredItem {
    /// Full path of the project; empty for people.
    pub project: String,
    /// What it is.
    pub kind: ItemKind,
    /// Unique within project and kind.
    pub key: String,
    /// Key of the issue or merge request that it is or belongs to.
    pub thread: Option<String>,
    /// Position in the log.
    pub seq: u64,
    /// When it last changed, as the forge tells.
    pub updated_at: Option<Timestamp>,
    /// When it was fetched, by the forge's clock.
    pub fetched_at: Timestamp,
    /// Whether only some may see it.
    pub confidential: bool,
    /// JSON; `None` if the object is gone.
    pub payload: Option<Vec<u8>>,
}

/// How far a list has been read: everything up to this time and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// `updated_at` of the last item.
    pub updated_at: Timestamp,
    /// The forge's id of the last item, which orders equal times.
    pub id: u64,
}

/// What is committed at once: objects, which of the old ones are gone, and the cursor that stands for them.
#[derive(Debug, Default)]
pub struct Page {
    /// Objects to store.
    pub items: Vec<NewItem>,
    /// When they were fetched, by the forge's clock.
    pub fetched_at: Timestamp,
    /// Threads (project, key) whose discussions are all among `items`: those that are not are gone.
    pub complete_threads: Vec<(String, String)>,
    /// Cursor of a list: project, `issue` or `merge_request`, and where it stands now.
    pub cursor: Option<(String, ItemKind, Cursor)>,
}

/// How many objects of each kind a page changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(pub BTreeMap<ItemKind, u64>);

impl Changes {
    /// Adds those of another page.
    pub fn add(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            *self.0.entry(*kind).or_default() += count;
        }
    }

    /// How many of a kind.
    pub fn of(&self, kind: ItemKind) -> u64 {
        self.0.get(&kind).copied().unwrap_or(0)
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

/// The ledger. Cheap to clone. Every call blocks. A handle shows what its [sight](Ledger::seeing) allows; what it does not
/// show is to it as if it were not there.
#[derive(Clone, Debug)]
pub struct Ledger {
    connection: Arc<Mutex<Connection>>,
    /// The file; `None` in memory.
    path: Option<PathBuf>,
    /// Those that the list gives, changed with it while the connection is held.
    aliases: Arc<RwLock<Arc<Aliases>>>,
    sight: Sight,
}

impl Ledger {
    /// Opens the file, creates it if it is absent, and brings its schema up to date.
    ///
    /// # Errors
    /// The file cannot be opened, is no ledger, or was written by a newer backstory.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let opened = Connection::open(path).map_err(LedgerError::from);
        opened.and_then(|connection| Self::prepare(connection, Some(path.to_owned()))).map_err(|error| match error {
            LedgerError::Sqlite(error)
                if matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)) =>
            {
                LedgerError::Damaged { path: path.to_owned(), reason: error.to_string() }
            }
            other => other,
        })
    }

    /// A ledger in memory.
    ///
    /// # Errors
    /// SQLite could not be started.
    pub fn in_memory() -> Result<Self, LedgerError> {
        Self::prepare(Connection::open_in_memory()?, None)
    }

    fn prepare(mut connection: Connection, path: Option<PathBuf>) -> Result<Self, LedgerError> {
        connection.busy_timeout(std::time::Duration::from_secs(10))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        schema::migrate(&mut connection)?;
        let aliases = Arc::new(RwLock::new(Arc::new(aliases::aliases(&connection)?)));
        Ok(Self { connection: Arc::new(Mutex::new(connection)), path, aliases, sight: Sight::Confidential })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic in another call rolled its transaction back; the connection itself is sound.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a page and its cursor in one transaction. An object whose payload is the stored one keeps its sequence
    /// number; so storing the same page again changes nothing. What was forgotten is left out, with the people whom
    /// nothing else names, and people who were have their aliases.
    ///
    /// # Errors
    /// Nothing of the page is stored.
    pub fn commit(&self, page: &Page) -> Result<Changes, LedgerError> {
        let mut connection = self.lock();
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut changes = Changes::default();
        let aliases = self.aliases();
        for item in erase::kept_of(&tx, &page.items)? {
            let item = aliases::aliased(item, &aliases);
            people::rename(&tx, &item)?;
            if upsert(&tx, &item, page.fetched_at)? {
                *changes.0.entry(item.kind).or_default() += 1;
            }
            if matches!(item.kind, ItemKind::Issue | ItemKind::MergeRequest) {
                retired::forget(&tx, &item.project, Some(&item.key))?;
            }
        }
        for (project, thread) in &page.complete_threads {
            let gone = bury_missing_discussions(&tx, project, thread, page)?;
            if gone > 0 {
                *changes.0.entry(ItemKind::Discussion).or_default() += gone;
            }
        }
        if let Some((project, resource, cursor)) = &page.cursor
            && !erase::is_kept_out(&tx, project, None)?
        {
            tx.prepare_cached(
                "INSERT INTO cursors (project, resource, updated_at, id) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET updated_at = excluded.updated_at, id = excluded.id, etag = NULL",
            )?
            .execute(params![
                project,
                resource.as_str(),
                cursor.updated_at.as_millisecond(),
                to_i64(cursor.id)
            ])?;
        }
        tx.commit()?;
        Ok(changes)
    }

    /// Marks objects as gone, in one transaction; says how many were there.
    ///
    /// # Errors
    /// Nothing is marked.
    pub fn bury(&self, items: &[(String, ItemKind, String)], at: Timestamp) -> Result<u64, LedgerError> {
        let mut connection = self.lock();
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut gone = 0;
        for (project, kind, key) in items {
            gone += u64::from(bury(&tx, project, *kind, key, at)?);
        }
        tx.commit()?;
        Ok(gone)
    }

    /// Objects changed after a sequence number, oldest change first, at most `limit`.
    ///
    /// # Errors
    /// A payload is damaged, or SQLite refused.
    pub fn changes_after(&self, seq: u64, limit: usize) -> Result<Vec<StoredItem>, LedgerError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items WHERE seq > ?1 {} ORDER BY seq LIMIT ?2",
            self.veil()
        ))?;
        let rows = statement.query_map(params![to_i64(seq), to_i64(limit as u64)], raw)?;
        rows.map(|row| unpack(row?)).collect()
    }

    /// Which issues and merge requests changes after a sequence number concern: number, project, and key of the thread
    /// if it concerns one; oldest change first, at most `limit`.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn threads_after(&self, seq: u64, limit: usize) -> Result<Vec<(u64, String, Option<String>)>, LedgerError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT seq, project, thread FROM items WHERE seq > ?1 {} ORDER BY seq LIMIT ?2",
            self.veil()
        ))?;
        let rows = statement.query_map(params![to_i64(seq), to_i64(limit as u64)], |row| {
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?, row.get(2)?))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Position of the newest change.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn last_seq(&self) -> Result<u64, LedgerError> {
        let seq: i64 = self.lock().query_row("SELECT COALESCE(MAX(seq), 0) FROM items", [], |row| row.get(0))?;
        Ok(seq.unsigned_abs())
    }

    /// One object; `None` if it was never there or is gone.
    ///
    /// # Errors
    /// The payload is damaged, or SQLite refused.
    pub fn item(&self, project: &str, kind: ItemKind, key: &str) -> Result<Option<StoredItem>, LedgerError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items WHERE project = ?1 AND kind = ?2 AND key = ?3 AND payload IS NOT NULL {}",
            self.veil()
        ))?;
        statement.query_row(params![project, kind.as_str(), key], raw).optional()?.map(unpack).transpose()
    }

    /// Whether an object still has the payload that it was stored with, by its hash; `None` if it is not there.
    ///
    /// # Errors
    /// The payload is damaged, or SQLite refused.
    pub fn is_intact(&self, project: &str, kind: ItemKind, key: &str) -> Result<Option<bool>, LedgerError> {
        let Some(StoredItem { payload: Some(payload), .. }) = self.item(project, kind, key)? else { return Ok(None) };
        let connection = self.lock();
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
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items INDEXED BY items_thread
             WHERE project = ?1 AND thread = ?2 AND payload IS NOT NULL {} ORDER BY kind, key",
            self.veil()
        ))?;
        let rows = statement.query_map(params![project, thread], raw)?;
        rows.map(|row| unpack(row?)).collect()
    }

    /// All objects of a kind that are not gone, ordered by project and key.
    ///
    /// # Errors
    /// A payload is damaged, or SQLite refused.
    pub fn items_of(&self, kind: ItemKind) -> Result<Vec<StoredItem>, LedgerError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items WHERE kind = ?1 AND payload IS NOT NULL {} ORDER BY project, key",
            self.veil()
        ))?;
        let rows = statement.query_map([kind.as_str()], raw)?;
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
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items
             WHERE project = ?1 AND kind = ?2 AND key > ?3 AND payload IS NOT NULL {} ORDER BY key LIMIT ?4",
            self.veil()
        ))?;
        let bounds = params![project, kind.as_str(), after.unwrap_or_default(), to_i64(limit as u64)];
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
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM items
             WHERE project = ?1 AND kind = ?2 AND updated_at < ?3 AND payload IS NOT NULL {} ORDER BY key",
            self.veil()
        ))?;
        let rows = statement.query_map(params![project, kind.as_str(), before.as_millisecond()], raw)?;
        rows.map(|row| unpack(row?)).collect()
    }

    /// Keys of the objects of a kind of a project that are not gone, in order.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn keys(&self, project: &str, kind: ItemKind) -> Result<Vec<String>, LedgerError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT key FROM items WHERE project = ?1 AND kind = ?2 AND payload IS NOT NULL {} ORDER BY key",
            self.veil()
        ))?;
        let keys = statement.query_map(params![project, kind.as_str()], |row| row.get(0))?;
        Ok(keys.collect::<Result<_, _>>()?)
    }

    /// Keys of the objects of a kind of a project that begin so and are not gone, in order, at most `limit`.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn keys_beginning(
        &self,
        project: &str,
        kind: ItemKind,
        beginning: &str,
        limit: usize,
    ) -> Result<Vec<String>, LedgerError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT key FROM items WHERE project = ?1 AND kind = ?2 AND key >= ?3 AND key < ?3 || char(1114111)
             AND payload IS NOT NULL {} ORDER BY key LIMIT ?4",
            self.veil()
        ))?;
        let bounds = params![project, kind.as_str(), beginning, to_i64(limit as u64)];
        Ok(statement.query_map(bounds, |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// How many objects of each project and kind there are, without those that are gone.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn counts(&self) -> Result<BTreeMap<(String, ItemKind), u64>, LedgerError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT project, kind, COUNT(*) FROM items WHERE payload IS NOT NULL {} GROUP BY project, kind",
            self.veil()
        ))?;
        let rows = statement
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?)))?;
        let mut counts = BTreeMap::new();
        for row in rows {
            let (project, kind, count): (String, String, i64) = row?;
            if let Some(kind) = ItemKind::from_name(&kind) {
                counts.insert((project, kind), count.unsigned_abs());
            }
        }
        Ok(counts)
    }

    /// How many secrets were replaced in everything that is stored, by project and rule.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn secrets(&self) -> Result<BTreeMap<(String, String), u64>, LedgerError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT project, found.key, SUM(found.value) FROM items, json_each(items.secrets) AS found
             WHERE secrets IS NOT NULL {} GROUP BY project, found.key",
            self.veil()
        ))?;
        let rows =
            statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get::<_, i64>(2)?.unsigned_abs())))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Where the list of issues or merge requests of a project stands.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn cursor(&self, project: &str, resource: ItemKind) -> Result<Option<Cursor>, LedgerError> {
        let connection = self.lock();
        let mut statement =
            connection.prepare_cached("SELECT updated_at, id FROM cursors WHERE project = ?1 AND resource = ?2")?;
        Ok(statement
            .query_row(params![project, resource.as_str()], |row| {
                Ok(Cursor { updated_at: time(row.get(0)?), id: row.get::<_, i64>(1)?.unsigned_abs() })
            })
            .optional()?)
    }

    /// What named a list when it was last read from its cursor.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn etag(&self, project: &str, resource: ItemKind) -> Result<Option<String>, LedgerError> {
        let connection = self.lock();
        let mut statement =
            connection.prepare_cached("SELECT etag FROM cursors WHERE project = ?1 AND resource = ?2")?;
        Ok(statement.query_row(params![project, resource.as_str()], |row| row.get(0)).optional()?.flatten())
    }

    /// Records what names a list that was read from its cursor and had nothing that the ledger has not. Nothing happens
    /// if there is no cursor; when it moves, the name is forgotten.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn put_etag(&self, project: &str, resource: ItemKind, etag: Option<&str>) -> Result<(), LedgerError> {
        self.lock().execute(
            "UPDATE cursors SET etag = ?3 WHERE project = ?1 AND resource = ?2",
            params![project, resource.as_str(), etag],
        )?;
        Ok(())
    }

    /// Forgets where the lists of a project stand, so that the next sync reads everything.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn reset_cursors(&self, project: &str) -> Result<(), LedgerError> {
        self.lock().execute("DELETE FROM cursors WHERE project = ?1", [project])?;
        Ok(())
    }

    /// Writes a copy, as of now, to a file that is not there yet. Others read and write meanwhile.
    ///
    /// # Errors
    /// The file is there or cannot be written, or SQLite refused.
    pub fn backup(&self, to: &Path) -> Result<(), LedgerError> {
        let refused = |reason: String| LedgerError::Backup { path: to.to_owned(), reason };
        let name = to.to_str().ok_or_else(|| refused("its path is not UTF-8".to_owned()))?;
        if to.exists() {
            return Err(refused("it is there already".to_owned()));
        }
        // Through a connection of its own, which waits for nobody and keeps nobody waiting.
        let connection = match &self.path {
            Some(path) => Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
            None => return Err(refused("a ledger in memory has no file".to_owned())),
        };
        connection.execute("VACUUM INTO ?1", [name]).map_err(|error| refused(error.to_string()))?;
        Ok(())
    }

    /// What SQLite and the ledger's own rules find wrong, a sentence each; empty if all is well.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn check(&self) -> Result<Vec<String>, LedgerError> {
        let mut problems = Vec::new();
        {
            let connection = self.lock();
            let mut statement = connection.prepare("PRAGMA integrity_check(20)")?;
            for line in statement.query_map([], |row| row.get::<_, String>(0))? {
                let line = line?;
                if line != "ok" {
                    problems.push(format!("SQLite: {line}"));
                }
            }
        }
        let mut seq = 0;
        loop {
            let items = self.changes_after(seq, 1000)?;
            let Some(last) = items.last() else { break };
            seq = last.seq;
            problems.extend(items.iter().filter_map(check_item));
            if problems.len() > 100 {
                break;
            }
        }
        Ok(problems)
    }
}

/// A payload that no longer has the hash it was stored with has been damaged.
fn check_item(item: &StoredItem) -> Option<String> {
    let payload = item.payload.as_ref()?;
    serde_json::from_slice::<serde_json::Value>(payload)
        .err()
        .map(|error| format!("{} {} {}: the payload is not JSON: {error}", item.project, item.kind.as_str(), item.key))
}

thread_local! {
    // Making a context takes longer than packing a note.
    static COMPRESSOR: RefCell<Compressor<'static>> =
        RefCell::new(Compressor::new(ZSTD_LEVEL).expect("the level is one of zstd's"));
    static DECOMPRESSOR: RefCell<Decompressor<'static>> =
        RefCell::new(Decompressor::new().expect("there is memory for a context"));
}

/// What was packed.
fn unpacked(packed: &[u8]) -> std::io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|unpacker| unpacker.decompress(packed, MAX_PAYLOAD))
}

const COLUMNS: &str = "project, kind, key, thread, seq, updated_at, fetched_at, payload, confidential";

struct RawItem {
    project: String,
    kind: String,
    key: String,
    thread: Option<String>,
    seq: i64,
    updated_at: Option<i64>,
    fetched_at: i64,
    payload: Option<Vec<u8>>,
    confidential: bool,
}

fn raw(row: &Row<'_>) -> rusqlite::Result<RawItem> {
    Ok(RawItem {
        project: row.get(0)?,
        kind: row.get(1)?,
        key: row.get(2)?,
        thread: row.get(3)?,
        seq: row.get(4)?,
        updated_at: row.get(5)?,
        fetched_at: row.get(6)?,
        payload: row.get(7)?,
        confidential: row.get(8)?,
    })
}

fn unpack(raw: RawItem) -> Result<StoredItem, LedgerError> {
    let damaged =
        |reason: String| LedgerError::Payload { item: format!("{} {} {}", raw.project, raw.kind, raw.key), reason };
    let kind = ItemKind::from_name(&raw.kind).ok_or_else(|| damaged("unknown kind".into()))?;
    let payload = match &raw.payload {
        None => None,
        Some(packed) => Some(unpacked(packed).map_err(|error| damaged(error.to_string()))?),
    };
    Ok(StoredItem {
        project: raw.project,
        kind,
        key: raw.key,
        thread: raw.thread,
        seq: raw.seq.unsigned_abs(),
        updated_at: raw.updated_at.map(time),
        fetched_at: time(raw.fetched_at),
        confidential: raw.confidential,
        payload,
    })
}

/// Stores an object; says whether it is new or different.
fn upsert(tx: &Transaction<'_>, item: &NewItem, fetched_at: Timestamp) -> Result<bool, LedgerError> {
    let name = || format!("{} {} {}", item.project, item.kind.as_str(), item.key);
    if item.payload.len() > MAX_PAYLOAD {
        return Err(LedgerError::Payload { item: name(), reason: format!("larger than {MAX_PAYLOAD} bytes") });
    }
    let hash = sha256(&item.payload);
    let updated_at = item.updated_at.map(|at| at.as_millisecond());
    // Also of what is gone: answers may cite it still.
    let before: Option<(bool, bool)> = tx
        .prepare_cached(
            "SELECT confidential, payload IS NOT NULL FROM items WHERE project = ?1 AND kind = ?2 AND key = ?3",
        )?
        .query_row(params![item.project, item.kind.as_str(), item.key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    // A person who was met where everybody may look stays so; whether still is told when all is read.
    let is_open_person = item.kind == ItemKind::Person && before == Some((false, true));
    let confidential = item.confidential && !is_open_person;
    let unchanged = tx
        .prepare_cached(
            "UPDATE items SET fetched_at = MAX(fetched_at, ?5)
             WHERE project = ?1 AND kind = ?2 AND key = ?3 AND hash = ?4 AND confidential = ?6 AND payload IS NOT NULL",
        )?
        .execute(params![
            item.project,
            item.kind.as_str(),
            item.key,
            hash,
            fetched_at.as_millisecond(),
            confidential
        ])?;
    if unchanged > 0 {
        return Ok(false);
    }
    if confidential && before.is_some_and(|(was_confidential, _)| !was_confidential) {
        confidential::hide_answers(tx, &item.project, &item.key)?;
    }
    if before == Some((!confidential, true)) {
        // It was made of what others may see now.
        written::forget(tx, &item.project, item.kind, &item.key)?;
    }
    let secrets = (!item.secrets.is_empty()).then(|| serde_json::json!(item.secrets).to_string());
    let packed = COMPRESSOR
        .with_borrow_mut(|compressor| compressor.compress(&item.payload))
        .map_err(|error| LedgerError::Payload { item: name(), reason: error.to_string() })?;
    tx.prepare_cached(
        "INSERT INTO items (project, kind, key, thread, seq, updated_at, fetched_at, hash, secrets, payload, confidential)
         VALUES (?1, ?2, ?3, ?4, (SELECT COALESCE(MAX(seq), 0) + 1 FROM items), ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (project, kind, key) DO UPDATE SET
            thread = excluded.thread, seq = excluded.seq, updated_at = excluded.updated_at,
            fetched_at = excluded.fetched_at, hash = excluded.hash,
            secrets = excluded.secrets, payload = excluded.payload, confidential = excluded.confidential",
    )?
    .execute(params![
        item.project,
        item.kind.as_str(),
        item.key,
        item.thread,
        updated_at,
        fetched_at.as_millisecond(),
        hash,
        secrets,
        packed,
        confidential
    ])?;
    Ok(true)
}

fn bury(tx: &Transaction<'_>, project: &str, kind: ItemKind, key: &str, at: Timestamp) -> Result<bool, LedgerError> {
    let gone = tx
        .prepare_cached(
            "UPDATE items SET payload = NULL, hash = x'', secrets = NULL, fetched_at = ?4,
                seq = (SELECT MAX(seq) + 1 FROM items)
             WHERE project = ?1 AND kind = ?2 AND key = ?3 AND payload IS NOT NULL",
        )?
        .execute(params![project, kind.as_str(), key, at.as_millisecond()])?;
    if gone > 0 {
        written::forget(tx, project, kind, key)?;
    }
    Ok(gone > 0)
}

fn bury_missing_discussions(
    tx: &Transaction<'_>,
    project: &str,
    thread: &str,
    page: &Page,
) -> Result<u64, LedgerError> {
    let known: Vec<String> = tx
        .prepare_cached(
            "SELECT key FROM items INDEXED BY items_thread
             WHERE project = ?1 AND thread = ?2 AND kind = 'discussion' AND payload IS NOT NULL",
        )?
        .query_map(params![project, thread], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut gone = 0;
    for key in known {
        let is_listed =
            |item: &NewItem| item.kind == ItemKind::Discussion && item.project == project && item.key == key;
        if !page.items.iter().any(is_listed) {
            gone += u64::from(bury(tx, project, ItemKind::Discussion, &key, page.fetched_at)?);
        }
    }
    Ok(gone)
}

fn to_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn time(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}
