//! The connections to the ledger's file: one that writes, and a few beside it that read, so that no reader waits for a
//! writer.

use std::{
    fs, io,
    ops::Deref,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rusqlite::{Connection, OpenFlags};

use crate::ledger_error::LedgerError;

/// Readers at once; others wait for one of them. Each has two open files and a cache of 2 MB.
const MAX_READERS: usize = 8;
/// How long a statement waits for a lock that another connection has.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes beyond which the log is emptied. SQLite begins it again only when no reader needs what it has, and with many
/// readers there may always be one.
const MAX_LOG: u64 = 64 << 20;
/// How long readers are waited for to empty the log, and new ones wait meanwhile. Without success it may grow by
/// [`MAX_LOG`] before it is tried again.
const LOG_PATIENCE: Duration = Duration::from_millis(200);
/// Statements that the writer keeps prepared.
const WRITER_STATEMENTS: usize = 256;
/// Statements that a reader keeps prepared.
const READER_STATEMENTS: usize = 64;

/// All connections that a process has to the file.
#[derive(Debug)]
pub(crate) struct Connections {
    writer: Mutex<Connection>,
    readers: Mutex<Readers>,
    returned: Condvar,
    /// The file that readers open; `None` if it cannot be shared, and then the writer reads too.
    shared: Option<SharedFile>,
}

/// A file that the writer has open.
#[derive(Debug)]
struct SharedFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl SharedFile {
    fn new(path: PathBuf) -> io::Result<Self> {
        Ok(Self { identity: identity(&path)?, path })
    }

    /// Size of the log beside it, in bytes.
    fn log_bytes(&self) -> u64 {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        fs::metadata(log).map_or(0, |log| log.len())
    }

    /// Whether its name is that of no file or of another one now.
    fn is_replaced(&self) -> bool {
        match identity(&self.path) {
            Ok(found) => found != self.identity,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Opens it once more; `None` if that fails, or another file has its name now: a reader must not see another ledger
    /// than the writer.
    fn open(&self, open: impl Fn(&Path) -> rusqlite::Result<Connection>) -> Option<Connection> {
        let connection = open(&self.path).ok()?;
        (!self.is_replaced()).then_some(connection)
    }
}

/// What tells a file from every other, whatever its name.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let about = fs::metadata(path)?;
    Ok((about.dev(), about.ino()))
}

#[derive(Debug, Default)]
struct Readers {
    idle: Vec<Connection>,
    /// How many there are, idle or not.
    open: usize,
    /// Whether new ones wait, because the log is being emptied.
    paused: bool,
    /// Size of the log when it could not be emptied, in bytes.
    log_kept: u64,
}

impl Connections {
    /// Takes a connection for the writer, and the file if others may open it beside.
    pub(crate) fn new(writer: Connection, shared: Option<PathBuf>) -> Self {
        let shared = shared.and_then(|path| SharedFile::new(path).ok());
        Self { writer: Mutex::new(writer), readers: Mutex::default(), returned: Condvar::new(), shared }
    }

    /// Sets what every writer needs.
    pub(crate) fn prepare_writer(connection: &Connection) -> rusqlite::Result<()> {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        connection.set_prepared_statement_cache_capacity(WRITER_STATEMENTS);
        Ok(())
    }

    /// The connection that writes, once nobody else has it.
    ///
    /// # Errors
    /// What is written would be lost: the file was removed or replaced.
    pub(crate) fn write(&self) -> Result<MutexGuard<'_, Connection>, LedgerError> {
        let writer = self.lock_writer();
        if let Some(file) = self.shared.as_ref().filter(|file| file.is_replaced()) {
            return Err(LedgerError::Replaced { path: file.path.clone() });
        }
        self.bound_log(&writer);
        Ok(writer)
    }

    /// The same to read with, wherever its file is now.
    pub(crate) fn lock_writer(&self) -> MutexGuard<'_, Connection> {
        // A panic in another call rolled its transaction back; the connection itself is sound.
        self.writer.lock()
    }

    /// A connection of the caller's own that only reads; `None` if the file that the writer has cannot be opened beside it.
    pub(crate) fn open_beside(&self) -> Option<Connection> {
        let open = |path: &Path| Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
        self.shared.as_ref()?.open(open)
    }

    /// Empties the log if it is large and no reader is at work for long.
    fn bound_log(&self, writer: &Connection) {
        let bytes = self.shared.as_ref().map_or(0, SharedFile::log_bytes);
        if bytes <= MAX_LOG + self.readers.lock().log_kept {
            return;
        }
        // What fails now is tried again.
        let is_empty = self.empty_log(writer, Some(LOG_PATIENCE)).unwrap_or(false);
        self.readers.lock().log_kept = if is_empty { 0 } else { bytes };
    }

    /// Writes what the log has into the file and empties it, once no reader is left, or gives up after a while. Nobody
    /// who holds a reader may wait for the writer. False if a reader, of this process or another one, is in the way.
    pub(crate) fn empty_log(&self, writer: &Connection, patience: Option<Duration>) -> rusqlite::Result<bool> {
        let deadline = patience.map(|patience| Instant::now() + patience);
        let mut readers = self.readers.lock();
        readers.paused = true;
        let mut in_time = true;
        while in_time && readers.idle.len() < readers.open {
            match deadline {
                Some(deadline) => in_time = !self.returned.wait_until(&mut readers, deadline).timed_out(),
                None => self.returned.wait(&mut readers),
            }
        }
        let is_busy = match readers.idle.len() < readers.open {
            true => Ok(true),
            false => checkpoint(writer, patience),
        };
        readers.paused = false;
        drop(readers);
        self.returned.notify_all();
        is_busy.map(|is_busy| !is_busy)
    }

    /// A connection that sees one state, that of its first query, whatever is committed while it is held.
    pub(crate) fn read(&self) -> rusqlite::Result<ReadGuard<'_>> {
        let Some(connection) = self.shared.as_ref().and_then(|file| self.reader(file)) else {
            return Ok(ReadGuard::Writer(self.lock_writer()));
        };
        let guard = ReadGuard::Reader { connection: Some(connection), connections: self };
        guard.execute_batch("BEGIN")?;
        Ok(guard)
    }

    /// A reader, once there is one; `None` if none can be opened, for lack of descriptors for instance.
    fn reader(&self, file: &SharedFile) -> Option<Connection> {
        let mut readers = self.readers.lock();
        loop {
            if readers.paused {
                self.returned.wait(&mut readers);
                continue;
            }
            if let Some(connection) = readers.idle.pop() {
                return Some(connection);
            }
            if readers.open < MAX_READERS {
                match file.open(open_reader) {
                    Some(connection) => {
                        readers.open += 1;
                        return Some(connection);
                    }
                    None if readers.open == 0 => return None,
                    // One of the others comes back.
                    None => {}
                }
            }
            self.returned.wait(&mut readers);
        }
    }

    fn take_back(&self, connection: Connection) {
        let is_sound = connection.is_autocommit() || connection.execute_batch("ROLLBACK").is_ok();
        let mut readers = self.readers.lock();
        if is_sound {
            readers.idle.push(connection);
        } else {
            readers.open -= 1;
        }
        drop(readers);
        // Those who want a reader may wait, and so may the writer that empties the log.
        self.returned.notify_all();
    }
}

/// Whether somebody of another process, or a copy in progress, keeps the log from being emptied.
fn checkpoint(writer: &Connection, patience: Option<Duration>) -> rusqlite::Result<bool> {
    if let Some(patience) = patience {
        writer.busy_timeout(patience)?;
    }
    let is_busy = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    if patience.is_some() {
        writer.busy_timeout(BUSY_TIMEOUT)?;
    }
    is_busy
}

fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    // Readers write the file that coordinates all connections, so it is not opened read-only.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", "ON")?;
    connection.set_prepared_statement_cache_capacity(READER_STATEMENTS);
    // Whatever it needs open is opened now, rather than when it is first used.
    connection.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// A connection that is held to read.
pub(crate) enum ReadGuard<'a> {
    /// One of the readers, in a transaction. It is there until the guard is dropped.
    Reader { connection: Option<Connection>, connections: &'a Connections },
    /// The one that writes.
    Writer(MutexGuard<'a, Connection>),
}

impl Deref for ReadGuard<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        match self {
            Self::Reader { connection, .. } => {
                connection.as_ref().unwrap_or_else(|| unreachable!("taken when dropped"))
            }
            Self::Writer(connection) => connection,
        }
    }
}

impl Drop for ReadGuard<'_> {
    fn drop(&mut self) {
        if let Self::Reader { connection, connections } = self
            && let Some(connection) = connection.take()
        {
            connections.take_back(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, Connections) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let writer = Connection::open(&path).unwrap();
        Connections::prepare_writer(&writer).unwrap();
        writer.execute_batch("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)").unwrap();
        (dir, Connections::new(writer, Some(path)))
    }

    fn sum(connection: &Connection) -> i64 {
        connection.query_row("SELECT sum(n) FROM t", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_reader_neither_waits_for_a_writer_nor_sees_half_of_what_it_does() {
        let (_dir, connections) = file();
        let mut writer = connections.write().unwrap();
        let tx = writer.transaction().unwrap();
        tx.execute("INSERT INTO t VALUES (2)", []).unwrap();
        let reader = connections.read().unwrap();
        assert_eq!(sum(&reader), 1);
        tx.commit().unwrap();
        assert_eq!(sum(&reader), 1, "it sees one state until it is dropped");
        drop(reader);
        assert_eq!(sum(&connections.read().unwrap()), 3);
    }

    #[test]
    fn a_reader_cannot_write() {
        let (_dir, connections) = file();
        let refused = connections.read().unwrap().execute("DELETE FROM t", []).unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(rusqlite::ErrorCode::ReadOnly));
    }

    #[test]
    fn further_readers_wait_for_one_that_comes_back() {
        let (_dir, connections) = file();
        let held: Vec<_> = (0..MAX_READERS).map(|_| connections.read().unwrap()).collect();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| sum(&connections.read().unwrap()));
            drop(held);
            assert_eq!(waiting.join().unwrap(), 1);
        });
        assert_eq!(connections.readers.lock().open, MAX_READERS);
    }

    #[test]
    fn the_log_is_bounded_while_somebody_always_reads() {
        let (dir, connections) = file();
        let is_done = std::sync::atomic::AtomicBool::new(false);
        let largest = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                        assert!(sum(&connections.read().unwrap()) > 0);
                    }
                });
            }
            let mut largest = 0;
            for _ in 0..40 {
                connections.write().unwrap().execute("CREATE TABLE IF NOT EXISTS blobs (b BLOB)", []).unwrap();
                connections.write().unwrap().execute("INSERT INTO blobs VALUES (zeroblob(8 << 20))", []).unwrap();
                connections.write().unwrap().execute("DELETE FROM blobs", []).unwrap();
                largest = fs::metadata(dir.path().join("db-wal")).unwrap().len().max(largest);
            }
            is_done.store(true, std::sync::atomic::Ordering::Relaxed);
            largest
        });
        assert!(largest < 2 * MAX_LOG, "{largest} bytes");
    }

    #[test]
    fn a_reader_that_stays_keeps_the_log_but_no_writer() {
        let (_dir, connections) = file();
        let reader = connections.read().unwrap();
        assert_eq!(sum(&reader), 1);
        let writer = connections.write().unwrap();
        assert!(!connections.empty_log(&writer, Some(Duration::ZERO)).unwrap());
        drop(reader);
        assert!(connections.empty_log(&writer, None).unwrap());
    }

    #[test]
    fn a_file_that_was_removed_or_replaced_is_read_by_its_writer_and_not_written() {
        let (dir, connections) = file();
        let path = dir.path().join("db");
        fs::rename(&path, dir.path().join("elsewhere")).unwrap();
        assert_eq!(sum(&connections.read().unwrap()), 1);
        let other = Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (7)").unwrap();
        assert_eq!(sum(&connections.read().unwrap()), 1, "another file of that name is not read");
        let refused = connections.write().map(drop).unwrap_err();
        assert!(matches!(&refused, LedgerError::Replaced { .. }), "{refused}");
        drop(other);
        fs::rename(dir.path().join("elsewhere"), &path).unwrap();
        connections.write().unwrap().execute("INSERT INTO t VALUES (2)", []).unwrap();
        assert_eq!(sum(&connections.read().unwrap()), 3);
    }
}
