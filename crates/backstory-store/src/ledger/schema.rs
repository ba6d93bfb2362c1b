//! Schema of the ledger: the oldest one that is read, and one migration for each version after it.

use rusqlite::{Connection, TransactionBehavior};

use super::LedgerError;

/// Oldest schema version that is read.
const OLDEST: i64 = 7;

/// Statements that make a ledger of version [`OLDEST`], then those that lead from each version to the next.
///
/// The first are the text that SQLite keeps in ledgers of that version, with its comments, and with columns where SQLite put
/// them when they were added: every ledger has the same schema to the byte, whichever version wrote it.
// check-words: off
const MIGRATIONS: &[&str] = &["
    -- One row for every object a forge has, or had. The newest payload only; NULL once the object is gone.
    -- seq grows with every change, so 'what changed since' is a range, and the table is the log.
    -- secrets: how many of each kind were replaced in the payload, as JSON; NULL for none. confidential: what only some
    -- may see; of a person, that nothing open names them.
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
        payload     BLOB, secrets TEXT, confidential INTEGER NOT NULL DEFAULT 0,                          -- JSON, zstd
        UNIQUE (project, kind, key)
    ) STRICT;
    -- Queries name this index: without statistics the planner prefers the unique one, which reads a whole project.
    CREATE INDEX items_thread ON items (project, thread) WHERE thread IS NOT NULL;
    -- How far each list has been read. Committed with the page that it stands for.
    -- etag: what named the list when it was last read from here and had nothing new.
    CREATE TABLE cursors (
        project    TEXT    NOT NULL,
        resource   TEXT    NOT NULL,               -- issue or merge_request
        updated_at INTEGER NOT NULL,               -- ms since 1970
        id         INTEGER NOT NULL, etag TEXT,               -- the forge's id, which orders equal times
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
    -- Repositories that are indexed.
    -- forge: which one has the project, as JSON: kind and address; NULL for one that only its repository tells about.
    CREATE TABLE repositories (
        project   TEXT    PRIMARY KEY,             -- full path
        address   TEXT    NOT NULL,                -- path or URL, without credentials
        branches  TEXT    NOT NULL,                -- JSON: which ones
        added_at  INTEGER NOT NULL,                -- ms since 1970
        synced_at INTEGER,                         -- when it was last indexed to the end
        indexed   TEXT    NOT NULL,                -- JSON: tip by branch
        rewritten TEXT    NOT NULL                 -- JSON: commits that no branch reaches any more
    , forge TEXT) STRICT;
    -- Where the lines of the files at the head of each indexed branch come from; computed from the clone.
    CREATE TABLE lineage (
        project TEXT    NOT NULL,
        branch  TEXT    NOT NULL,
        path    TEXT    NOT NULL,
        state   INTEGER NOT NULL,                  -- 0 traced, 1 binary, 2 too large
        spans   BLOB,                              -- zstd
        PRIMARY KEY (project, branch, path)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE lineage_heads (
        project TEXT NOT NULL,
        branch  TEXT NOT NULL,
        tip     TEXT NOT NULL,                     -- the commit whose files are in lineage
        ignored TEXT NOT NULL,                     -- JSON: commits that pass their lines on
        PRIMARY KEY (project, branch)
    ) STRICT, WITHOUT ROWID;
    -- Which lines each commit put in the place of which others; computed from the clone.
    CREATE TABLE replaced (
        project TEXT NOT NULL,
        sha     TEXT NOT NULL,
        path    TEXT NOT NULL,                     -- after the commit
        hunks   BLOB NOT NULL,                     -- JSON, zstd
        PRIMARY KEY (project, sha, path)
    ) STRICT, WITHOUT ROWID;
    -- Sums over all commits, kept so that new commits can be added to them.
    CREATE TABLE derived (
        project TEXT NOT NULL,
        name    TEXT NOT NULL,
        state   BLOB NOT NULL,                     -- JSON, zstd
        PRIMARY KEY (project, name)
    ) STRICT, WITHOUT ROWID;
    -- Conversations and what was said in them, secrets replaced. No part of the log: nothing is made from them.
    -- confidential: somebody asked who sees what is confidential, while there was any.
    CREATE TABLE chats (
        id         INTEGER PRIMARY KEY,
        project    TEXT,                           -- what it is narrowed to
        created_at INTEGER NOT NULL                -- ms since 1970
    , confidential INTEGER NOT NULL DEFAULT 0) STRICT;
    CREATE TABLE messages (
        chat       INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
        number     INTEGER NOT NULL,               -- from 1
        role       TEXT    NOT NULL CHECK (role IN ('user', 'assistant')),
        text       TEXT    NOT NULL,
        answer     BLOB,                           -- of the assistant: the whole answer, JSON, zstd
        created_at INTEGER NOT NULL,               -- ms since 1970
        PRIMARY KEY (chat, number)
    ) STRICT, WITHOUT ROWID;
    -- What a language model wrote, kept as long as what it was asked stays the same.
    CREATE TABLE written (
        kind       TEXT    NOT NULL,               -- what it is: summary
        subject    TEXT    NOT NULL,               -- reference of the item
        model      TEXT    NOT NULL,
        prompt     INTEGER NOT NULL,               -- version of the prompt
        input      BLOB    NOT NULL,               -- SHA-256 of what the model was given
        text       TEXT    NOT NULL,
        written_at INTEGER NOT NULL,               -- ms since 1970
        PRIMARY KEY (kind, subject)
    ) STRICT, WITHOUT ROWID;
    -- Tokens of language models that each day in UTC took.
    CREATE TABLE model_days (
        day    TEXT    PRIMARY KEY,
        tokens INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- States of the index that were reached, so that a context pack can name what it was made from.
    -- confidential: something confidential is in it.
    CREATE TABLE index_snapshots (
        id         TEXT    PRIMARY KEY,            -- told by what it holds
        created_at INTEGER NOT NULL,               -- ms since 1970
        status     TEXT    NOT NULL CHECK (status IN ('completed', 'failed')),
        ledger_seq INTEGER NOT NULL,               -- newest change of items that is in it
        model      TEXT    NOT NULL,               -- name of the embedding model
        commits    TEXT    NOT NULL,               -- JSON: indexed commit by project
        stats      TEXT    NOT NULL,               -- counts, bytes, duration, as JSON
        pinned     INTEGER NOT NULL,               -- 1: kept until it is unpinned
        last_error TEXT,
        contents   BLOB    NOT NULL                -- ids of documents and 8 bytes of each one's hash, zstd
    , confidential INTEGER NOT NULL DEFAULT 0) STRICT;
    -- What is to be done in the background, and what was.
    CREATE TABLE jobs (
        id          INTEGER PRIMARY KEY AUTOINCREMENT,
        kind        TEXT    NOT NULL CHECK (kind IN ('sync', 'reconcile', 'full', 'refetch')),
        project     TEXT    NOT NULL,              -- full path
        subject     TEXT    NOT NULL,              -- key of the issue or merge request; '' for the whole project
        status      TEXT    NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
        attempts    INTEGER NOT NULL,
        queued_at   INTEGER NOT NULL,              -- all times: ms since 1970
        due_at      INTEGER NOT NULL,
        started_at  INTEGER,
        finished_at INTEGER,
        error       TEXT,                          -- of the last attempt
        summary     TEXT    NOT NULL DEFAULT '{}'  -- counts, as JSON
    ) STRICT;
    -- What waits need not wait twice.
    CREATE UNIQUE INDEX jobs_queued ON jobs (kind, project, subject) WHERE status = 'queued';
    CREATE INDEX jobs_of_project ON jobs (project, kind);
    -- When each project was last read to the end: when that began.
    -- confidential: whether confidential issues and internal notes were read then.
    CREATE TABLE synced (
        project TEXT    PRIMARY KEY,
        at      INTEGER NOT NULL                   -- ms since 1970; 0: never
    , confidential INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
    -- Webhooks that were received, so that one that is delivered again does nothing.
    CREATE TABLE deliveries (
        forge       TEXT    NOT NULL,              -- its address
        id          TEXT    NOT NULL,
        event       TEXT    NOT NULL,
        received_at INTEGER NOT NULL,              -- ms since 1970
        PRIMARY KEY (forge, id)
    ) STRICT, WITHOUT ROWID;
    -- What somebody wanted forgotten: it is not taken in again.
    CREATE TABLE forgotten (
        kind    TEXT    NOT NULL CHECK (kind IN ('thread', 'project', 'person')),
        subject TEXT    NOT NULL,                  -- acme/shop#12, acme/shop; of a person a keyed hash, hex
        alias   TEXT,                              -- of a person: what stands in the place of their name
        at      INTEGER NOT NULL,                  -- ms since 1970
        reason  TEXT,
        PRIMARY KEY (kind, subject)
    ) STRICT, WITHOUT ROWID;
    -- The key of the hashes of people.
    CREATE TABLE hash_key (
        id    INTEGER PRIMARY KEY CHECK (id = 1),
        value BLOB    NOT NULL
    ) STRICT;
    -- What was forgotten, taken off that list or not kept any more, without any of its content.
    -- confidential: of something confidential.
    CREATE TABLE audit (
        id       INTEGER PRIMARY KEY AUTOINCREMENT,
        at       INTEGER NOT NULL,                 -- ms since 1970
        action   TEXT    NOT NULL CHECK (action IN ('forget', 'undo', 'retire')),
        kind     TEXT    NOT NULL,
        subject  TEXT    NOT NULL,                 -- as in forgotten; of a person the alias
        reason   TEXT,
        counts   TEXT    NOT NULL DEFAULT '{}',    -- JSON: how much was removed where
        verified INTEGER                           -- 1: nothing was found any more; 0: something was; NULL: not looked
    , confidential INTEGER NOT NULL DEFAULT 0) STRICT;
    -- Closed issues and merge requests for which there is no room: enough to tell when there is again.
    CREATE TABLE retired (
        project    TEXT    NOT NULL,
        thread     TEXT    NOT NULL,               -- its key
        updated_at INTEGER NOT NULL,               -- ms since 1970
        bytes      INTEGER NOT NULL,               -- of its payloads, unpacked
        PRIMARY KEY (project, thread)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX items_confidential ON items (project, key) WHERE confidential;
", "
    -- What a forge sent and cannot be read. The payload is not kept; the last one that could be is in items.
    CREATE TABLE quarantine (
        project      TEXT    NOT NULL,             -- full path, also of people
        kind         TEXT    NOT NULL,             -- as in items
        key          TEXT    NOT NULL,             -- as in items; '?' stands for what cannot be told
        thread       TEXT,                         -- key of the issue or merge request that it came with
        field        TEXT    NOT NULL,             -- path of the field that is wrong; '' for all of it
        reason       TEXT    NOT NULL,             -- what is wrong with it, without its value
        confidential INTEGER NOT NULL,
        first_seen   INTEGER NOT NULL,             -- ms since 1970
        last_tried   INTEGER NOT NULL,             -- ms since 1970
        PRIMARY KEY (project, kind, key)
    ) STRICT, WITHOUT ROWID;
    -- By which version of the parsers everything stored was found to be readable, or put into quarantine.
    CREATE TABLE parsers (
        id      INTEGER PRIMARY KEY CHECK (id = 1),
        version INTEGER NOT NULL
    ) STRICT;
", "
    -- What could not be read of a project when a sync last tried; gone once one succeeds.
    CREATE TABLE sync_failures (
        project TEXT    NOT NULL,
        source  TEXT    NOT NULL CHECK (source IN ('forge', 'repository')),
        at      INTEGER NOT NULL,                  -- ms since 1970
        error   TEXT    NOT NULL,
        PRIMARY KEY (project, source)
    ) STRICT, WITHOUT ROWID;
", "
    -- Projects, as JSON, that those could see who have asked in a conversation; NULL: all.
    ALTER TABLE chats ADD COLUMN visible_to TEXT DEFAULT '[]';
    UPDATE chats SET visible_to = NULL WHERE EXISTS (SELECT 1 FROM messages WHERE chat = chats.id);
    -- Each project that mentions a person has a profile of them.
    CREATE INDEX items_people ON items (key, kind) WHERE kind IN ('person', 'identity');
", "
    -- How far the lists have followed the log, and which version of them that is. store::lists creates their tables, and
    -- creates them again when that version changes.
    CREATE TABLE list_state (
        id      INTEGER PRIMARY KEY CHECK (id = 1),
        version INTEGER NOT NULL,
        seq     INTEGER NOT NULL                   -- of items
    ) STRICT;
", "
    -- Tokens of the server that were made by a command. A secret is shown once; only its hash is kept.
    CREATE TABLE tokens (
        id           TEXT    PRIMARY KEY,          -- part of the token that may be shown
        name         TEXT    NOT NULL,
        hash         BLOB    NOT NULL,             -- SHA-256 of the whole token
        grants       TEXT    NOT NULL,             -- JSON: projects, confidential, scopes, expires
        created_at   INTEGER NOT NULL,             -- all times: ms since 1970
        created_by   TEXT    NOT NULL,
        last_used_at INTEGER,
        revoked_at   INTEGER
    ) STRICT, WITHOUT ROWID;
    -- Names are free again once what has them is revoked.
    CREATE UNIQUE INDEX tokens_in_use ON tokens (name) WHERE revoked_at IS NULL;
    -- Who asked for what: the audit log. No part of the log of changes.
    CREATE TABLE operations (
        id       INTEGER PRIMARY KEY AUTOINCREMENT,
        at       INTEGER NOT NULL,                 -- ms since 1970
        actor    TEXT    NOT NULL,
        name     TEXT    NOT NULL,                 -- of the use case, or graphql
        scope    TEXT    NOT NULL CHECK (scope IN ('read', 'sync', 'admin')),
        projects TEXT    NOT NULL,                 -- JSON: those that it named
        request  TEXT,                             -- JSON, secrets replaced; NULL once something was forgotten
        outcome  TEXT    NOT NULL                  -- ok, or the kind of failure
    ) STRICT;
    CREATE INDEX operations_at ON operations (at);
    -- Who wanted it.
    ALTER TABLE audit ADD COLUMN actor TEXT;
    -- What a delivery was about, who caused it, and the job that it asked for. Its payload is not kept.
    ALTER TABLE deliveries ADD COLUMN project TEXT;
    ALTER TABLE deliveries ADD COLUMN sender TEXT;
    ALTER TABLE deliveries ADD COLUMN job INTEGER;
", "
    -- 1: somebody waits for it, so it goes first.
    ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
", "
    -- How many commits of each branch the clone was made with; NULL: all.
    ALTER TABLE repositories ADD COLUMN depth INTEGER;
", "
    -- Who began it, as in operations; NULL if that is not on record.
    ALTER TABLE chats ADD COLUMN created_by TEXT;
    -- The newest change of a project.
    CREATE INDEX items_project_seq ON items (project, seq);
", "
    -- Further branches, tags and commits whose files are indexed, as JSON.
    ALTER TABLE repositories ADD COLUMN refs TEXT NOT NULL DEFAULT '[]';
    -- What items were before they changed, as far as a state in index_snapshots needs it.
    CREATE TABLE item_versions (
        project      TEXT    NOT NULL,             -- as in items
        kind         TEXT    NOT NULL,
        key          TEXT    NOT NULL,
        thread       TEXT    NOT NULL,
        seq          INTEGER NOT NULL,             -- of items, from which on it was so
        until        INTEGER NOT NULL,             -- of the change that ended it
        updated_at   INTEGER,
        fetched_at   INTEGER NOT NULL,
        payload      BLOB    NOT NULL,             -- JSON, zstd
        confidential INTEGER NOT NULL,
        PRIMARY KEY (project, kind, key, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX item_versions_thread ON item_versions (project, thread);
    -- 1: what items were at this state is kept.
    ALTER TABLE index_snapshots ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
", "
    -- Of an issue, merge request or project that was forgotten: the change of items that took it out. Its own are deleted.
    ALTER TABLE audit ADD COLUMN seq INTEGER;
", "
    -- Projects that were asked for, as JSON, [] for all; NULL if that is not on record.
    ALTER TABLE sync_runs ADD COLUMN projects TEXT;
"];
// check-words: on

/// Newest schema version this program knows.
const VERSION: i64 = OLDEST + MIGRATIONS.len() as i64 - 1;

/// Tables that every ledger has, whichever version wrote it.
const ESSENTIAL: [&str; 3] = ["items", "cursors", "sync_runs"];

/// Whether the database has the schema of a ledger, of whichever version. Nothing is changed.
pub(super) fn has_ledger(connection: &Connection) -> Result<bool, LedgerError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let mut has_all = version > 0;
    for table in ESSENTIAL {
        has_all &= connection.table_exists(None, table)?;
    }
    Ok(has_all)
}

/// Brings the database to [`VERSION`]; refuses one that is newer, or older than [`OLDEST`].
pub(super) fn migrate(connection: &mut Connection) -> Result<(), LedgerError> {
    // IMMEDIATE: two processes that open a new ledger at once migrate one after the other.
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match found {
        // A new ledger has version 0.
        0 | OLDEST..=VERSION => {}
        ..OLDEST => return Err(LedgerError::Outdated { found, oldest: OLDEST }),
        _ => return Err(LedgerError::Newer { found, known: VERSION }),
    }
    for (version, statements) in (OLDEST..).zip(MIGRATIONS).filter(|(version, _)| *version > found) {
        tx.execute_batch(statements)?;
        tx.pragma_update(None, "user_version", version)?;
    }
    tx.commit()?;
    Ok(())
}
