//! Cursors and entity tags: how far the lists of the forges have been read.

use backstory_model::entity::ItemKind;
use rusqlite::{OptionalExtension, params};

use super::{Cursor, Ledger, LedgerError, time};

impl Ledger {
    /// Where the list of issues or merge requests of a project stands.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn cursor(&self, project: &str, resource: ItemKind) -> Result<Option<Cursor>, LedgerError> {
        if !self.allows_project(project) {
            return Ok(None);
        }
        let connection = self.read()?;
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
        let connection = self.read()?;
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
        self.write()?.execute(
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
        self.write()?.execute("DELETE FROM cursors WHERE project = ?1", [project])?;
        Ok(())
    }
}
