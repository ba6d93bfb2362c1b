//! Failures of syncs: what of a project could not be read at the last attempt, until one succeeds. Single items that
//! cannot be parsed are in [`quarantine`](super::quarantine).

use jiff::Timestamp;
use rusqlite::{Row, params};

use super::{Ledger, LedgerError, time, visibility::project_clause};

/// Where a part of a project is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Its forge.
    Forge,
    /// Its git repository.
    Repository,
}

impl Source {
    /// Its name in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forge => "forge",
            Self::Repository => "repository",
        }
    }
}

/// What could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncFailure {
    /// Full path of the project.
    pub project: String,
    /// Where it is read from.
    pub source: Source,
    /// When that was tried last.
    pub at: Timestamp,
    /// Why it failed.
    pub error: String,
}

impl Ledger {
    /// Records why a part of a project could not be read, in place of an earlier reason.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn note_failure(&self, failure: &SyncFailure) -> Result<(), LedgerError> {
        let SyncFailure { project, source, at, error } = failure;
        self.write()?.execute(
            "INSERT INTO sync_failures (project, source, at, error) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET at = excluded.at, error = excluded.error",
            params![project, source.as_str(), at.as_millisecond(), error],
        )?;
        Ok(())
    }

    /// Records that a part of a project was read.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn note_success(&self, project: &str, source: Source) -> Result<(), LedgerError> {
        self.write()?.execute(
            "DELETE FROM sync_failures WHERE project = ?1 AND source = ?2",
            params![project, source.as_str()],
        )?;
        Ok(())
    }

    /// Everything that could not be read, by project.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn failures(&self) -> Result<Vec<SyncFailure>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT project, source, at, error FROM sync_failures WHERE TRUE {} ORDER BY 1, 2",
            project_clause(1)
        ))?;
        let rows = statement.query_map([self.visible_projects()], failure)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn failure(row: &Row<'_>) -> rusqlite::Result<SyncFailure> {
    // The schema lets no other names in.
    let is_forge = row.get::<_, String>(1)? == Source::Forge.as_str();
    Ok(SyncFailure {
        project: row.get(0)?,
        source: if is_forge { Source::Forge } else { Source::Repository },
        at: time(row.get(2)?),
        error: row.get(3)?,
    })
}
