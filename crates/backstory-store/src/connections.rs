//! The connections to the ledger's file: one that writes, and a few beside it that read, so that no reader waits for a
//! writer.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
    time::Duration,
};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rusqlite::{Connection, OpenFlags};

/// Readers at once; others wait for one of them. Each has two open files and a cache of 2 MB.
const MAX_READERS: usize = 8;
/// How long a statement waits for a lock that another connection has.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
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
    shared: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct Readers {
    idle: Vec<Connection>,
    /// How many there are, idle or not.
    open: usize,
}

impl Connections {
    /// Takes a connection for the writer, and the file if others may open it beside.
    pub(crate) fn new(writer: Connection, shared: Option<PathBuf>) -> Self {
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
    pub(crate) fn write(&self) -> MutexGuard<'_, Connection> {
        // A panic in another call rolled its transaction back; the connection itself is sound.
        self.writer.lock()
    }

    /// A connection that sees what is committed now, whatever is committed while it is held.
    pub(crate) fn read(&self) -> rusqlite::Result<ReadGuard<'_>> {
        let Some(connection) = self.shared.as_deref().and_then(|path| self.reader(path)) else {
            return Ok(ReadGuard::Writer(self.write()));
        };
        let guard = ReadGuard::Reader { connection: Some(connection), connections: self };
        guard.execute_batch("BEGIN")?;
        Ok(guard)
    }

    /// A reader, once there is one; `None` if none can be opened, for lack of descriptors for instance.
    fn reader(&self, path: &Path) -> Option<Connection> {
        let mut readers = self.readers.lock();
        loop {
            if let Some(connection) = readers.idle.pop() {
                return Some(connection);
            }
            if readers.open < MAX_READERS {
                match open_reader(path) {
                    Ok(connection) => {
                        readers.open += 1;
                        return Some(connection);
                    }
                    Err(_) if readers.open == 0 => return None,
                    // One of the others comes back.
                    Err(_) => {}
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
        self.returned.notify_one();
    }
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
        let mut writer = connections.write();
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
    fn what_cannot_be_opened_twice_is_read_by_the_writer() {
        let (dir, connections) = file();
        std::fs::rename(dir.path().join("db"), dir.path().join("elsewhere")).unwrap();
        assert_eq!(sum(&connections.read().unwrap()), 1);
    }
}
