//! The tables of the lists. They follow from `items`, so there are no migrations: another version drops them and creates
//! them empty.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use crate::ledger_error::LedgerError;

/// Version of the tables and of how items become rows.
const VERSION: i64 = 8;

/// Every table and the column that says which of its rows are confidential, if it has one.
pub(super) const TABLES: [(&str, Option<&str>); 16] = [
    ("list_threads", Some("confidential")),
    ("list_discussions", Some("confidential")),
    ("list_commits", None),
    ("list_files", None),
    ("list_entities", None),
    ("list_ranks", None),
    ("list_refs", None),
    ("list_labels", None),
    ("list_milestones", None),
    ("list_projects", None),
    ("list_people", Some("confidential")),
    ("list_review_requests", Some("confidential")),
    ("list_closes", Some("confidential")),
    ("list_merges", None),
    ("list_values", Some("confidential")),
    ("list_totals", Some("confidential")),
];

/// The index that a load creates after it has filled its table.
pub(super) const OTHER_ORDER_INDEX: &str = "
    CREATE INDEX list_values_other ON list_values (list, project, part, field, value, other_order, key, confidential)
        WHERE other_order IS NOT NULL;
";

/// Creates the tables without [`OTHER_ORDER_INDEX`].
///
/// Lists of names are JSON arrays, sorted. Times are ms since 1970.
pub(super) const CREATE_TABLES: &str = "
    -- Issues and merge requests. The columns from discussions on follow from other items, as far as everybody may see
    -- those who may see the thread.
    CREATE TABLE list_threads (
        project      TEXT    NOT NULL,
        kind         TEXT    NOT NULL,             -- issue, merge_request
        iid          INTEGER NOT NULL,
        title        TEXT    NOT NULL,
        state        TEXT    NOT NULL,
        draft        INTEGER NOT NULL,
        confidential INTEGER NOT NULL,
        author       TEXT,
        created_at   INTEGER NOT NULL,
        updated_at   INTEGER NOT NULL,
        merged_at    INTEGER,
        closed_at    INTEGER,
        milestone    INTEGER,                      -- its number within the project
        labels       TEXT    NOT NULL,
        assignees    TEXT    NOT NULL,
        reviewers    TEXT    NOT NULL,
        approvers    TEXT    NOT NULL,
        mentions     TEXT    NOT NULL,             -- user names in its own text
        discussions  INTEGER NOT NULL,
        unresolved   INTEGER NOT NULL,             -- discussions that can be resolved and are not
        notes        INTEGER NOT NULL,
        last_note_at INTEGER,
        participants TEXT    NOT NULL,             -- the author and the authors of notes
        mentioned    TEXT    NOT NULL,             -- user names in its text and in notes
        linked       INTEGER NOT NULL,             -- closes something of its project or is closed by it
        requested    TEXT,                         -- reviewers who are asked now; null if its own item does not tell
        asked        TEXT    NOT NULL,             -- those, and reviewers who must have been asked by what else is known
        first_reviewed_at INTEGER,                 -- of a merge request: its first note by others who are not programs
        PRIMARY KEY (project, kind, iid)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE list_discussions (
        project      TEXT    NOT NULL,
        key          TEXT    NOT NULL,             -- as in items: !7~6a9c
        thread       TEXT    NOT NULL,             -- #12, !7
        author       TEXT,
        created_at   INTEGER NOT NULL,
        last_note_at INTEGER NOT NULL,
        notes        INTEGER NOT NULL,
        resolvable   INTEGER NOT NULL,
        resolved     INTEGER NOT NULL,
        path         TEXT,
        first_line   INTEGER,
        last_line    INTEGER,
        confidential INTEGER NOT NULL,
        people       TEXT    NOT NULL,             -- authors of its notes
        mentions     TEXT    NOT NULL,             -- user names in its notes
        first_notes  TEXT    NOT NULL,             -- on a merge request: pairs of each author and the time of the first note
        PRIMARY KEY (project, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX list_discussions_thread ON list_discussions (project, thread);
    CREATE TABLE list_commits (
        project       TEXT    NOT NULL,
        sha           TEXT    NOT NULL,
        kind          TEXT    NOT NULL,            -- commit, merge, unreachable
        title         TEXT    NOT NULL,
        author        TEXT    NOT NULL,            -- key of an identity
        committer     TEXT    NOT NULL,
        committed_at  INTEGER NOT NULL,            -- corrected, so that it orders commits
        authored_at   INTEGER NOT NULL,
        change_type   TEXT,
        insertions    INTEGER NOT NULL,
        deletions     INTEGER NOT NULL,
        paths         TEXT    NOT NULL,            -- of the files that it changes, also those before a rename
        merge_request INTEGER,                     -- the one that introduced it
        removed_words BLOB,                        -- a filter of the words that it removes; null if they are not all known
        PRIMARY KEY (project, sha)
    ) STRICT, WITHOUT ROWID;
    -- Files at the indexed head.
    CREATE TABLE list_files (
        project       TEXT    NOT NULL,
        path          TEXT    NOT NULL,
        language      TEXT,
        document_type TEXT    NOT NULL,
        bytes         INTEGER NOT NULL,
        line_count    INTEGER,
        changed_at    INTEGER NOT NULL,
        importance    INTEGER NOT NULL,            -- PageRank in millionths
        PRIMARY KEY (project, path)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE list_entities (
        project    TEXT    NOT NULL,
        code       TEXT    NOT NULL,               -- path and qualified name, as model::repository::code_key writes them
        path       TEXT    NOT NULL,
        name       TEXT    NOT NULL,               -- qualified
        short_name TEXT    NOT NULL,
        spelling   TEXT    NOT NULL,               -- the last part of the name, as model::code::plain_name writes it
        kind       TEXT    NOT NULL,
        is_test    INTEGER NOT NULL,
        first_line INTEGER NOT NULL,
        last_line  INTEGER NOT NULL,
        importance INTEGER NOT NULL,
        PRIMARY KEY (project, code)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX list_entities_path ON list_entities (project, path);
    -- The importance of files and entities, as the item that ranks them states it.
    CREATE TABLE list_ranks (
        project    TEXT    NOT NULL,
        code       TEXT    NOT NULL,
        importance INTEGER NOT NULL,
        PRIMARY KEY (project, code)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE list_refs (
        project    TEXT    NOT NULL,
        kind       TEXT    NOT NULL,               -- branch, tag
        name       TEXT    NOT NULL,
        sha        TEXT    NOT NULL,
        is_default INTEGER NOT NULL,
        tagged_at  INTEGER,
        PRIMARY KEY (project, kind, name)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE list_labels (
        project     TEXT NOT NULL,
        key         TEXT NOT NULL,                 -- as in items
        name        TEXT NOT NULL,
        description TEXT NOT NULL,
        PRIMARY KEY (project, key)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE list_milestones (
        project TEXT    NOT NULL,
        key     TEXT    NOT NULL,
        iid     INTEGER NOT NULL,
        title   TEXT    NOT NULL,
        closed  INTEGER NOT NULL,
        PRIMARY KEY (project, key)
    ) STRICT, WITHOUT ROWID;
    -- Projects of forges, and repositories.
    CREATE TABLE list_projects (
        project    TEXT NOT NULL,
        key        TEXT NOT NULL,                  -- project, or that of the repository
        text       TEXT NOT NULL,                  -- name and description
        created_at INTEGER,
        PRIMARY KEY (project, key)
    ) STRICT, WITHOUT ROWID;
    -- Users of forges, and identities of commits.
    CREATE TABLE list_people (
        project      TEXT    NOT NULL,
        kind         TEXT    NOT NULL,             -- person, identity
        key          TEXT    NOT NULL,             -- as in items
        person       TEXT    NOT NULL COLLATE NOCASE,   -- user name, or key of the identity
        same_as      TEXT    COLLATE NOCASE,       -- of an identity: the person it belongs to
        names        TEXT    NOT NULL,
        confidential INTEGER NOT NULL,
        PRIMARY KEY (project, kind, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX list_people_person ON list_people (person);
    CREATE INDEX list_people_same_as ON list_people (same_as) WHERE same_as IS NOT NULL;
    -- Who was asked to review what, as discussions state it.
    CREATE TABLE list_review_requests (
        project      TEXT    NOT NULL,
        key          TEXT    NOT NULL,             -- of the discussion, as in items
        person       TEXT    NOT NULL,             -- user name
        thread       TEXT    NOT NULL,             -- !7
        confidential INTEGER NOT NULL,
        PRIMARY KEY (project, key, person)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX list_review_requests_thread ON list_review_requests (project, thread);
    -- What closes what within a project, as items state it.
    CREATE TABLE list_closes (
        project      TEXT    NOT NULL,
        kind         TEXT    NOT NULL,             -- of the item that states it
        key          TEXT    NOT NULL,             -- of that item
        closer       TEXT    NOT NULL,             -- !7, or the name of a commit
        closed       TEXT    NOT NULL,             -- #12
        confidential INTEGER NOT NULL,             -- the item that states it is
        PRIMARY KEY (project, kind, key, closer, closed)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX list_closes_closer ON list_closes (project, closer);
    CREATE INDEX list_closes_closed ON list_closes (project, closed);
    -- What commits were merged through: a merge request, or a merge commit that introduced them.
    CREATE TABLE list_merges (
        project TEXT NOT NULL,
        sha     TEXT NOT NULL,
        via     TEXT NOT NULL,                     -- !7, or the name of a merge commit
        source  TEXT NOT NULL,                     -- kind of the item that states it: merge_request, commit, merge
        PRIMARY KEY (project, sha, via, source)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX list_merges_via ON list_merges (project, via);
    -- Rows of the other tables under each value that they can be filtered by, in two orders; under the field '' all of
    -- them, and under the field of another order in that order.
    CREATE TABLE list_values (
        list         TEXT    NOT NULL,             -- issue, merge_request, discussion, commit, file, entity
        project      TEXT    NOT NULL,
        part         TEXT    NOT NULL,             -- state of a thread, kind of a commit
        field        TEXT    NOT NULL,
        value        TEXT    NOT NULL,
        main_order   ANY     NOT NULL,
        key          ANY     NOT NULL,             -- what identifies the row within list and project
        other_order  ANY,
        confidential INTEGER NOT NULL,
        PRIMARY KEY (list, project, part, field, value, main_order, key)
    ) STRICT, WITHOUT ROWID;
    -- How many rows have a value, or were created, merged or closed on a day.
    CREATE TABLE list_totals (
        list         TEXT    NOT NULL,
        field        TEXT    NOT NULL,
        project      TEXT    NOT NULL,
        value        TEXT    NOT NULL,
        part         TEXT    NOT NULL,
        confidential INTEGER NOT NULL,
        count        INTEGER NOT NULL,
        PRIMARY KEY (list, field, project, value, part, confidential)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX list_totals_value ON list_totals (list, field, value COLLATE NOCASE);
";

/// Makes sure that the tables of this version exist, empty if another version or none had filled them.
pub(crate) fn prepare(connection: &mut Connection) -> Result<(), LedgerError> {
    let version = "SELECT version FROM list_state";
    if connection.query_row(version, [], |row| row.get::<_, i64>(0)).optional()? == Some(VERSION) {
        return Ok(());
    }
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let known: Vec<String> = tx
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'list\\_%' ESCAPE '\\'
             AND name <> 'list_state'",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for table in known {
        tx.execute_batch(&format!("DROP TABLE \"{table}\""))?;
    }
    tx.execute_batch(CREATE_TABLES)?;
    tx.execute_batch(OTHER_ORDER_INDEX)?;
    tx.execute("INSERT OR REPLACE INTO list_state (id, version, seq) VALUES (1, ?1, 0)", [VERSION])?;
    tx.commit()?;
    Ok(())
}
