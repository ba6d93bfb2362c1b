//! The ledger: what the forges said, durable, in one SQLite file. Graph and index are made from it.

mod aliases;
mod chats;
mod check;
mod commit;
mod confidential;
mod cursors;
mod erase;
mod error;
mod forgotten;
mod items;
mod jobs;
mod people;
mod repositories;
mod retired;
mod row;
mod runs;
mod schema;
mod snapshots;
mod written;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use backstory_model::{alias::Aliases, sight::Sight};
use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode};

pub use chats::{Chat, Message, NewMessage, Role};
pub use confidential::Confidential;
pub use erase::{Erased, REMOVED_ANSWER};
pub use error::LedgerError;
pub use forgotten::{AuditAction, AuditEntry, ForgottenKind, Subject};
pub use jobs::{Delivery, Job, JobKind, JobStatus, NewJob, Outcome};
pub use repositories::{Branches, ForgeAddress, LineageHead, LineageUpdate, RepositoryEntry, StoredLineage};
pub use retired::Retired;
pub use row::{Changes, Cursor, MAX_PAYLOAD, NewItem, Page, StoredItem};
pub use runs::{Run, RunStatus};
pub use snapshots::{Snapshot, SnapshotStats, SnapshotStatus};
pub use written::Written;

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
}

fn to_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn time(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}
