//! Schema of the ledger: one migration for each version, applied in order.

use rusqlite::{Connection, TransactionBehavior};

use super::LedgerError;

/// Statements that take version `i` to version `i + 1`.
const MIGRATIONS: &[&str] = &["
    -- One row for every object a forge has, or had. The newest payload only; NULL once the object is gone.
    -- seq grows with every change, so 'what changed since' is a range, and the table is the log.
    CREATE TABLE items (
        id          INTEGER PRIMARY KEY,
        project     TEXT    NOT NULL,              -- full path; '' for people, who belong to no project
        kind        TEXT    NOT NULL,              -- project, person, label, milestone, issue, merge_request, discussion
        key         TEXT    NOT NULL,              -- unique within project and kind: '#12', '!7', '!7~6a9c'
        thread      TEXT,                          -- key of the issue or merge request it is or belongs to
        seq         INTEGER NOT NULL UNIQUE,
        updated_at  INTEGER,                       -- as the forge tells, ms since 1970
        fetched_at  INTEGER NOT NULL,              -- by the forge's clock, ms since 1970
        hash        BLOB    NOT NULL,              -- SHA-256 of the payload
        redactions  INTEGER NOT NULL,              -- secrets that were replaced in the payload
        payload     BLOB,                          -- JSON, zstd
        UNIQUE (project, kind, key)
    ) STRICT;
    -- Queries name this index: without statistics the planner prefers the unique one, which reads a whole project.
    CREATE INDEX items_thread ON items (project, thread) WHERE thread IS NOT NULL;

    -- How far each list has been read. Committed with the page that it stands for.
    CREATE TABLE cursors (
        project    TEXT    NOT NULL,
        resource   TEXT    NOT NULL,               -- issue or merge_request
        updated_at INTEGER NOT NULL,               -- ms since 1970
        id         INTEGER NOT NULL,               -- the forge's id, which orders equal times
        PRIMARY KEY (project, resource)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE sync_runs (
        id          INTEGER PRIMARY KEY,
        command     TEXT    NOT NULL,
        started_at  INTEGER NOT NULL,
        finished_at INTEGER,
        status      TEXT    NOT NULL CHECK (status IN ('running', 'succeeded', 'failed')),
        error       TEXT,
        summary     TEXT    NOT NULL DEFAULT '{}'  -- counts, as JSON
    ) STRICT;
"];

/// Newest schema version this program knows.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Brings the database to [`VERSION`]; refuses one that is newer.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), LedgerError> {
    // IMMEDIATE: two processes that open a new ledger at once migrate one after the other.
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > VERSION {
        return Err(LedgerError::Newer { found, known: VERSION });
    }
    for (version, statements) in (1..).zip(MIGRATIONS).skip(usize::try_from(found).unwrap_or(0)) {
        tx.execute_batch(statements)?;
        tx.pragma_update(None, "user_version", version)?;
    }
    tx.commit()?;
    Ok(())
}
