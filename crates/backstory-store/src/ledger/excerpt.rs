//! Writes an excerpt for somebody else: a copy of the ledger with some of its projects, or all, and without what belongs
//! to the owner of the ledger. A copy of everything is [`Ledger::backup`](super::Ledger::backup).

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};

use super::{ErasureTarget, Ledger, LedgerError};

/// Tables of the owner of the ledger: what they asked, whom they let in, who did what, and what was done when.
const OF_OWNER: [&str; 8] = ["messages", "chats", "tokens", "operations", "deliveries", "jobs", "audit", "sync_runs"];
/// Tables whose rows are of one project each.
const OF_PROJECTS: [&str; 10] = [
    "items",
    "cursors",
    "repositories",
    "lineage",
    "lineage_heads",
    "replaced",
    "synced",
    "quarantine",
    "sync_failures",
    "retired",
];

impl Ledger {
    /// Full paths of all projects that something is stored of, in order.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn stored_projects(&self) -> Result<Vec<String>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare(
            "SELECT project FROM repositories UNION SELECT project FROM items WHERE project <> '' ORDER BY 1",
        )?;
        let projects = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(projects)
    }

    /// Writes a copy for somebody else to a file that is not there yet, with these projects, all if none is named.
    /// Conversations, tokens, jobs and the records of who did what are left out; the forgotten list is in it, so that
    /// nothing of it is taken in again. Where projects are left out, it is another ledger, and its lists are empty.
    ///
    /// # Errors
    /// The file is there or cannot be written, or SQLite refused; what was written of it stays.
    pub fn write_excerpt(&self, to: &Path, projects: &[String]) -> Result<(), LedgerError> {
        self.backup(to)?;
        let mut copy = Connection::open(to)?;
        copy.pragma_update(None, "journal_mode", "DELETE")?;
        let tx = copy.transaction_with_behavior(TransactionBehavior::Immediate)?;
        delete_rows_of_owner(&tx)?;
        if !projects.is_empty() {
            keep_projects(&tx, projects)?;
        }
        tx.commit()?;
        // Pages that were given back still hold what was in them.
        copy.execute_batch("VACUUM")?;
        Ok(())
    }

    /// Removes from a ledger that somebody else wrote what belongs to the owner of a ledger: a token in it would let that
    /// somebody in.
    ///
    /// # Errors
    /// SQLite refused.
    pub(crate) fn remove_rows_of_owner(path: &Path) -> Result<(), LedgerError> {
        let mut connection = Connection::open(path)?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        delete_rows_of_owner(&tx)?;
        tx.commit()?;
        Ok(())
    }
}

/// A ledger of an earlier version may not have all of these tables.
fn delete_rows_of_owner(tx: &Transaction<'_>) -> Result<(), LedgerError> {
    for table in OF_OWNER {
        let exists = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)";
        if tx.query_row(exists, [table], |row| row.get(0))? {
            tx.execute(&format!("DELETE FROM {table}"), [])?;
        }
    }
    Ok(())
}

fn keep_projects(tx: &Transaction<'_>, projects: &[String]) -> Result<(), LedgerError> {
    tx.execute_batch("CREATE TEMP TABLE kept (project TEXT PRIMARY KEY)")?;
    for project in projects {
        tx.execute("INSERT OR IGNORE INTO kept VALUES (?1)", [project])?;
    }
    let newest: Option<i64> = tx.query_row("SELECT MAX(seq) FROM items", [], |row| row.get(0)).optional()?.flatten();
    for table in OF_PROJECTS {
        tx.execute(&format!("DELETE FROM {table} WHERE project NOT IN (SELECT project FROM kept)"), [])?;
    }
    // With the ledger's own id, which is of no project: this is another ledger.
    tx.execute("DELETE FROM derived WHERE project NOT IN (SELECT project FROM kept)", [])?;
    // The log keeps its last number, as an object that never was.
    tx.execute(
        "INSERT OR IGNORE INTO items (project, kind, key, seq, fetched_at, hash) VALUES ('', 'project', '', ?1, 0, x'')",
        [newest.unwrap_or(0) + 1],
    )?;
    let kept: Vec<ErasureTarget> = projects.iter().map(|project| ErasureTarget::Project(project.clone())).collect();
    let is_kept = |reference: &str| kept.iter().any(|project| project.has(reference));
    for (table, condition) in [("written", ""), ("forgotten", " WHERE kind <> 'person'")] {
        let subjects: Vec<String> = tx
            .prepare(&format!("SELECT DISTINCT subject FROM {table}{condition}"))?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for subject in subjects.iter().filter(|subject| !is_kept(subject)) {
            tx.execute(&format!("DELETE FROM {table} WHERE subject = ?1"), [subject])?;
        }
    }
    // States of an index that had more, and lists that are filled again when the ledger is opened.
    tx.execute("DELETE FROM index_snapshots", [])?;
    tx.execute("DELETE FROM item_versions", [])?;
    let lists: Vec<String> = tx
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'list\\_%' ESCAPE '\\'")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for table in lists {
        tx.execute(&format!("DELETE FROM \"{table}\""), [])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    /// Every table is of the owner, of projects, or treated by name.
    #[test]
    fn excerpt_treats_every_table() {
        let ledger = Ledger::in_memory().expect("a ledger");
        let connection = ledger.write().unwrap();
        let tables: Vec<String> = connection
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
            .expect("a statement")
            .query_map([], |row| row.get(0))
            .expect("rows")
            .collect::<Result<_, _>>()
            .expect("names");
        let by_name = ["derived", "written", "forgotten", "index_snapshots", "item_versions"];
        // How much was spent, by which parsers, and the key of the hashes in the forgotten list: nothing of a project.
        let stay = ["model_days", "parsers", "hash_key"];
        for table in tables.iter().filter(|table| !table.starts_with("list_")) {
            let name = table.as_str();
            let known = OF_OWNER.iter().chain(&OF_PROJECTS).chain(&by_name).chain(&stay).any(|known| *known == name);
            assert!(known, "the table {table} would be handed over as it is");
        }
    }

    #[test]
    fn excerpt_has_the_projects_that_are_named_and_nothing_of_the_owner() {
        let directory = tempfile::tempdir().expect("a directory");
        let ledger = Ledger::open(&directory.path().join("ledger.sqlite")).expect("a ledger");
        ledger
            .write()
            .unwrap()
            .execute_batch(
                "INSERT INTO items (project, kind, key, seq, fetched_at, hash) VALUES
                     ('acme/shop', 'issue', '#1', 1, 0, x''), ('acme/shop-old', 'issue', '#1', 2, 0, x'');
                 INSERT INTO chats (project, created_at) VALUES ('acme/shop', 0);
                 INSERT INTO messages (chat, number, role, text, created_at) VALUES (1, 1, 'user', 'a secret', 0);
                 INSERT INTO tokens VALUES ('a', 'b', x'', '{}', 0, 'me', NULL, NULL);
                 INSERT INTO written VALUES ('summary', 'acme/shop#1', 'm', 1, x'', 'kept', 0),
                     ('summary', 'acme/shop-old#1', 'm', 1, x'', 'gone', 0);
                 INSERT INTO forgotten (kind, subject, at) VALUES ('thread', 'acme/shop-old#7', 0), ('person', 'ab', 0);",
            )
            .expect("rows");
        assert_eq!(ledger.stored_projects().expect("projects"), ["acme/shop", "acme/shop-old"]);
        let one = directory.path().join("one.sqlite");
        ledger.write_excerpt(&one, &["acme/shop".to_owned()]).expect("a copy");
        let bytes = std::fs::read(&one).expect("a file");
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(has("acme/shop#1") && !has("shop-old") && !has("a secret"));
        let copy = Ledger::open(&one).expect("a ledger");
        assert_eq!(copy.stored_projects().expect("projects"), ["acme/shop"]);
        assert!(copy.last_seq().expect("a number") >= ledger.last_seq().expect("a number"));
        let all = directory.path().join("all.sqlite");
        ledger.write_excerpt(&all, &[]).expect("a copy");
        let copy = Connection::open(&all).expect("a database");
        let count = |table: &str| -> i64 {
            copy.query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |row| row.get(0)).expect("a number")
        };
        assert_eq!((count("items"), count("written"), count("forgotten")), (2, 2, 2));
        assert_eq!((count("chats"), count("messages"), count("tokens")), (0, 0, 0));
    }
}
