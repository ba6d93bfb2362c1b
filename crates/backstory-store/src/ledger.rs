//! The ledger: the truth, in one SQLite file. Graph and index are computed from it.

mod aliases;
mod chats;
mod check;
mod cursors;
mod deliveries;
mod erase;
mod excerpt;
mod failures;
mod forgotten;
mod generated;
mod ingest;
mod items;
mod jobs;
mod operations;
mod people;
mod quarantine;
mod repositories;
mod retired;
mod row;
mod runs;
mod schema;
mod snapshots;
mod tokens;
mod versions;
mod visibility;
mod write;

use std::{
    fs::{self, File, Permissions},
    io::{self, Read as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use backstory_model::{
    access::{Actor, Caller, Scope},
    alias::Aliases,
    visibility::Visibility,
};
use jiff::Timestamp;
use parking_lot::{MutexGuard, RwLock};
use rusqlite::{Connection, ErrorCode, OpenFlags};

pub use crate::ledger_error::LedgerError;
pub use chats::{ABANDONED_AFTER, Chat, ChatLimits, Message, NewMessage, REMOVED_ANSWER_TEXT, Role};
pub use deliveries::{Delivery, DeliveryCursor, ReceivedDelivery};
pub use erase::Erased;
pub use failures::{Source, SyncFailure};
pub use forgotten::{AuditAction, AuditEntry, ErasureTarget, ForgottenChange, ForgottenKind};
pub use generated::GeneratedText;
pub use items::{ItemChange, LoggedChange, Removal};
pub use jobs::{Job, JobKind, JobPriority, JobStatus, NewJob, Outcome};
pub use operations::{NewOperation, Operation, OperationFilter};
pub use quarantine::{MAX_QUARANTINED, NewQuarantined, Quarantined, RetriedItem};
pub use repositories::{BlameHead, BlameUpdate, Branches, ForgeAddress, RepositoryEntry, StoredBlame};
pub use retired::Retired;
pub use row::{Cursor, IngestBatch, IngestCounts, MAX_PAYLOAD, NewItem, StoredItem};
pub use runs::{Run, RunStatus};
pub use snapshots::{Snapshot, SnapshotStats, SnapshotStatus};
pub use tokens::{IssuedToken, NewToken, TokenHash};
pub use versions::ChangedThread;
pub use visibility::ConfidentialCounts;

use crate::{
    connections::{Connections, ReadGuard},
    lists::{self, Lists},
    missing_resource::MissingResource,
};

/// Under which name the ledger keeps its own id.
const ID: &str = "ledger_id";
/// Bytes of a database's header.
const HEADER: u64 = 100;
/// What SQLite adds to the name of a database for the files beside it.
const BESIDE: [&str; 2] = ["-wal", "-shm"];
/// The permission of a file's owner to write.
const OWNER_WRITE: u32 = 0o200;

/// The ledger. Cheap to clone. Every call blocks.
///
/// A handle shows what its [visibility](Ledger::with_visibility) allows, as if nothing else existed. Only the newest
/// sequence number is that of the whole ledger.
#[derive(Clone, Debug)]
pub struct Ledger {
    connections: Arc<Connections>,
    /// The file; `None` in memory.
    path: Option<PathBuf>,
    /// Those that the list gives, changed with it while the writer is held.
    aliases: Arc<RwLock<Arc<Aliases>>>,
    visibility: Visibility,
    /// The projects that it shows, as a JSON array; `None` for all.
    projects: Option<Arc<str>>,
    /// Who uses the handle, for what is recorded of changes.
    actor: Actor,
    /// Whose conversations it shows; `None` for those of everybody.
    chats_of: Option<Arc<str>>,
}

impl Ledger {
    /// Opens the file, creates it if it is absent, and brings its schema up to date.
    ///
    /// # Errors
    /// The file cannot be opened, is no ledger, or was written by a backstory that is newer or too old.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        lists::remove_leftover(path);
        allow_writing_beside(path);
        let open = |alone: bool| {
            let connection = Connection::open(path)?;
            if alone {
                connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
            }
            Self::prepare(connection, Some(path.to_owned()), !alone)
        };
        // On a full disk there is no room for the file that several processes would share. Only this one has the ledger.
        let opened =
            open(false).or_else(|error| if is_refused(&error) { open(true).or(Err(error)) } else { Err(error) });
        opened.map_err(|error| match error {
            LedgerError::Damaged { reason, .. } => LedgerError::Damaged { path: path.to_owned(), reason },
            // SQLite does not say why it could not open a file; the system does.
            LedgerError::Sqlite(error) => {
                let why = File::open(path).err().map(|error| error.to_string()).unwrap_or_default();
                match MissingResource::from_message(&why) {
                    Some(lack) => LedgerError::Lacking { lack, reason: format!("{error}: {why}") },
                    None => LedgerError::Sqlite(error),
                }
            }
            other => other,
        })
    }

    /// Whether a file is no ledger because there is nothing in it: it is absent, empty, or begins with nothing but zeros.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn is_absent_or_blank(path: &Path) -> io::Result<bool> {
        let mut head = Vec::new();
        match File::open(path) {
            Ok(file) => file.take(HEADER).read_to_end(&mut head)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(error),
        };
        Ok(head.iter().all(|byte| *byte == 0))
    }

    /// Returns a handle for a caller: it shows what they see, and records a change as theirs. Of the conversations it shows
    /// the holder of a token only their own, unless that has the scope `admin`.
    #[must_use]
    pub fn with_caller(&self, caller: &Caller) -> Self {
        let is_limited = matches!(caller.who, Actor::Token { .. }) && !caller.scopes.permit(Scope::Admin);
        let chats_of = is_limited.then(|| caller.who.to_string().into());
        Self { actor: caller.who.clone(), chats_of, ..self.with_visibility(caller.visibility.clone()) }
    }

    /// Who uses the handle.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The lists beside it.
    pub fn lists(&self) -> Lists {
        Lists::new(self.connections.clone(), self.path.clone())
    }

    /// Whether a file is a database with the tables of a ledger, of whichever version. Nothing is created.
    ///
    /// # Errors
    /// SQLite cannot read it.
    pub fn is_ledger(path: &Path) -> Result<bool, LedgerError> {
        schema::has_ledger(&Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?)
    }

    /// What tells this ledger from every other, random and made when it is first asked for. Copies have it too.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn id(&self) -> Result<String, LedgerError> {
        if let Some(id) = self.aggregate("", ID)? {
            return Ok(String::from_utf8_lossy(&id).into_owned());
        }
        let id: String = self.read()?.query_row("SELECT lower(hex(randomblob(16)))", [], |row| row.get(0))?;
        self.put_aggregate("", ID, id.as_bytes())?;
        Ok(id)
    }

    /// A ledger in memory.
    ///
    /// # Errors
    /// SQLite could not be started.
    pub fn in_memory() -> Result<Self, LedgerError> {
        Self::prepare(Connection::open_in_memory()?, None, false)
    }

    /// `is_shared`: readers may open the file beside.
    fn prepare(mut connection: Connection, path: Option<PathBuf>, is_shared: bool) -> Result<Self, LedgerError> {
        Connections::prepare_writer(&connection)?;
        schema::migrate(&mut connection)?;
        lists::schema::prepare(&mut connection)?;
        let aliases = Arc::new(RwLock::new(Arc::new(aliases::aliases(&connection)?)));
        let connections = Arc::new(Connections::new(connection, path.clone().filter(|_| is_shared)));
        Ok(Self {
            connections,
            path,
            aliases,
            visibility: Visibility::everything(),
            projects: None,
            actor: Actor::Owner,
            chats_of: None,
        })
    }

    /// A connection for what only reads: one state of the ledger, that of now, until it is dropped.
    fn read(&self) -> Result<ReadGuard<'_>, LedgerError> {
        Ok(self.connections.read()?)
    }

    /// The connection for what writes, or has to see what another call is writing.
    fn write(&self) -> Result<MutexGuard<'_, Connection>, LedgerError> {
        self.connections.write()
    }
}

/// Lets the owner of a ledger write to the files beside it. SQLite gives them the permissions that the ledger has when it is
/// opened, and they stay if it cannot be written to.
fn allow_writing_beside(ledger: &Path) {
    let Some(own) = file_mode(ledger).filter(|mode| mode & OWNER_WRITE != 0) else { return };
    for suffix in BESIDE {
        let mut beside = ledger.as_os_str().to_owned();
        beside.push(suffix);
        if file_mode(Path::new(&beside)).is_some_and(|mode| mode & OWNER_WRITE == 0) {
            // Of a file that belongs to somebody else SQLite says what is wrong.
            let _ = fs::set_permissions(&beside, Permissions::from_mode(own));
        }
    }
}

/// The permissions of a file; `None` of what is no file, or a link to one.
fn file_mode(path: &Path) -> Option<u32> {
    let about = fs::symlink_metadata(path).ok()?;
    about.is_file().then(|| about.permissions().mode() & 0o777)
}

/// Whether SQLite could not open or extend a file.
fn is_refused(error: &LedgerError) -> bool {
    match error {
        LedgerError::Lacking { lack, .. } => *lack == MissingResource::Disk,
        LedgerError::Sqlite(error) => {
            matches!(error.sqlite_error_code(), Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen))
        }
        _ => false,
    }
}

fn to_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn time(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}
