//! Sync runs: one at a time, each with a record.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::{Ledger, LedgerError, time, visibility::project_clause};

/// When a project was last read to the end that never was.
const NEVER: i64 = 0;

/// A sync run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Number of the run.
    pub id: i64,
    /// What was asked for: `sync` or `sync --full`.
    pub command: String,
    /// Full paths of the projects that were asked for, none for all; null if that is not on record.
    pub projects: Option<Vec<String>>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// How it stands.
    pub status: RunStatus,
    /// Why it failed.
    pub error: Option<String>,
    /// What it did: counts, a JSON object.
    pub summary: serde_json::Value,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Not ended.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended with an error.
    Failed,
}

impl RunStatus {
    /// Its name in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }

    fn from_name(name: &str) -> Self {
        [Self::Running, Self::Succeeded].into_iter().find(|status| status.as_str() == name).unwrap_or(Self::Failed)
    }
}

impl Ledger {
    /// Records that a run over these projects, all if none is named, begins.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn begin_run(&self, command: &str, projects: &[String], now: Timestamp) -> Result<i64, LedgerError> {
        let connection = self.write()?;
        connection.execute(
            "INSERT INTO sync_runs (command, projects, started_at, status) VALUES (?1, ?2, ?3, 'running')",
            params![command, serde_json::json!(projects).to_string(), now.as_millisecond()],
        )?;
        Ok(connection.last_insert_rowid())
    }

    /// Records how a run ended: with the error, or well.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn finish_run(
        &self,
        id: i64,
        error: Option<&str>,
        summary: &serde_json::Value,
        now: Timestamp,
    ) -> Result<(), LedgerError> {
        let status = if error.is_some() { RunStatus::Failed } else { RunStatus::Succeeded };
        self.write()?.execute(
            "UPDATE sync_runs SET finished_at = ?2, status = ?3, error = ?4, summary = ?5 WHERE id = ?1",
            params![id, now.as_millisecond(), status.as_str(), error, summary.to_string()],
        )?;
        Ok(())
    }

    /// Records that a project was read to the end, and when that began.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn record_synced(&self, project: &str, began: Timestamp) -> Result<(), LedgerError> {
        self.write()?.execute(
            "INSERT INTO synced (project, at) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET at = excluded.at",
            params![project, began.as_millisecond()],
        )?;
        Ok(())
    }

    /// Records whether confidential items of a project are read from its forge.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn record_confidential_sync(&self, project: &str, confidential: bool) -> Result<(), LedgerError> {
        self.write()?.execute(
            "INSERT INTO synced (project, at, confidential) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET confidential = excluded.confidential",
            params![project, NEVER, confidential],
        )?;
        Ok(())
    }

    /// Whether confidential items of a project were read from its forge; `None` if nothing was.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn is_confidential_synced(&self, project: &str) -> Result<Option<bool>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached("SELECT confidential FROM synced WHERE project = ?1")?;
        Ok(statement.query_row([project], |row| row.get(0)).optional()?)
    }

    /// When the last sync that read a project to the end began.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn synced_at(&self, project: &str) -> Result<Option<Timestamp>, LedgerError> {
        if !self.allows_project(project) {
            return Ok(None);
        }
        let connection = self.read()?;
        let mut statement = connection.prepare_cached("SELECT at FROM synced WHERE project = ?1 AND at > ?2")?;
        Ok(statement.query_row(params![project, NEVER], |row| row.get(0)).optional()?.map(time))
    }

    /// When the last sync that read a visible project to the end began.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn last_synced(&self) -> Result<Option<Timestamp>, LedgerError> {
        let connection = self.read()?;
        let last = format!("SELECT MAX(at) FROM synced WHERE at > ?1 {}", project_clause(2));
        let last: Option<i64> =
            connection.query_row(&last, params![NEVER, self.visible_projects()], |row| row.get(0))?;
        Ok(last.map(time))
    }

    /// Marks every run that is still 'running' as failed, for that reason. Only the process that owns the data directory
    /// calls this, and only when it runs none itself: the process that began them is dead, or was stopped. Says how many there
    /// were.
    ///
    /// # Errors
    /// The database cannot be written; nothing is changed.
    pub fn fail_stale_runs(&self, reason: &str, now: Timestamp) -> Result<usize, LedgerError> {
        Ok(self.write()?.execute(
            "UPDATE sync_runs SET finished_at = ?1, status = 'failed', error = ?2 WHERE status = 'running'",
            params![now.as_millisecond(), reason],
        )?)
    }

    /// The newest runs, newest first. A run is one over all projects, so only a handle that shows all of them shows any.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn runs(&self, limit: usize) -> Result<Vec<Run>, LedgerError> {
        if !self.allows_all_projects() {
            return Ok(Vec::new());
        }
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!("{SELECT} ORDER BY id DESC LIMIT ?1"))?;
        let rows = statement.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], run)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// One run.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn run(&self, id: i64) -> Result<Option<Run>, LedgerError> {
        if !self.allows_all_projects() {
            return Ok(None);
        }
        let connection = self.read()?;
        Ok(connection.query_row(&format!("{SELECT} WHERE id = ?1"), [id], run).optional()?)
    }
}

const SELECT: &str = "SELECT id, command, started_at, finished_at, status, error, summary, projects FROM sync_runs";

fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    Ok(Run {
        id: row.get(0)?,
        command: row.get(1)?,
        started_at: time(row.get(2)?),
        finished_at: row.get::<_, Option<i64>>(3)?.map(time),
        status: RunStatus::from_name(&row.get::<_, String>(4)?),
        error: row.get(5)?,
        summary: serde_json::from_str(&row.get::<_, String>(6)?).unwrap_or_default(),
        projects: row.get::<_, Option<String>>(7)?.and_then(|json| serde_json::from_str(&json).ok()),
    })
}
