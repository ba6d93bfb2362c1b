//! The job queue. Running jobs belongs to `engine::worker`.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::{Ledger, LedgerError, time, to_i64, visibility::project_clause};

/// Ended jobs that stay on record, the newest.
const KEPT_JOBS: i64 = 1_000;
/// How long a delivery is remembered: forges deliver again for days.
const KEPT_DELIVERIES: SignedDuration = SignedDuration::from_hours(30 * 24);

/// How long scheduled jobs let requested ones go ahead.
const PATIENCE: SignedDuration = SignedDuration::from_hours(6);

/// Who waits for a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobPriority {
    /// Nobody: the schedule or a webhook asks for it.
    #[default]
    Scheduled,
    /// Somebody asked for it, so it goes ahead of what is scheduled.
    Requested,
}

impl JobPriority {
    fn number(self) -> i64 {
        match self {
            Self::Scheduled => 0,
            Self::Requested => 1,
        }
    }
}

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// Reads what is new.
    Sync,
    /// Compares everything that the forge lists with what is known, and reads what differs.
    Reconcile,
    /// Reads everything again.
    Full,
    /// Reads one issue or merge request again.
    Refetch,
}

impl JobKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sync, Self::Reconcile, Self::Full, Self::Refetch];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Reconcile => "reconcile",
            Self::Full => "full",
            Self::Refetch => "refetch",
        }
    }
}

/// How a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobStatus {
    /// Waits for its turn, or for its next attempt.
    Queued,
    /// At work.
    Running,
    /// Ended well.
    Succeeded,
    /// Given up after an error.
    Failed,
    /// Somebody did not want it any more.
    Cancelled,
}

impl JobStatus {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Running, Self::Succeeded, Self::Failed, Self::Cancelled];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A job to be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewJob {
    /// What it does.
    pub kind: JobKind,
    /// Full path of the project.
    pub project: String,
    /// The issue or merge request that a job of the kind `refetch` reads again: `#12`.
    pub subject: Option<String>,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Job {
    /// Its number.
    pub id: i64,
    /// What it does.
    #[serde(flatten)]
    pub job: NewJob,
    /// How it stands.
    pub status: JobStatus,
    /// Who waits for it.
    #[serde(default)]
    pub priority: JobPriority,
    /// How often it was begun.
    pub attempts: u32,
    /// When it was put into the queue.
    pub queued_at: Timestamp,
    /// Not begun before.
    pub due_at: Timestamp,
    /// When it was last begun.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// What it did, once it has ended well: counts, a JSON object.
    pub summary: Option<serde_json::Value>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Well, and what it did.
    Succeeded(serde_json::Value),
    /// With an error; it is tried again at that time.
    Again {
        /// Why.
        error: String,
        /// When to try again.
        due_at: Timestamp,
    },
    /// With an error, for good.
    Failed(String),
    /// Nobody wanted it any more.
    Cancelled,
    /// Before it was through, by no fault of its own; the attempt does not count.
    Interrupted,
}

impl Ledger {
    /// Puts a job into the queue, unless it waits there already; its number. One that waits is done as soon as the new
    /// one would be.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn queue_job(&self, job: &NewJob, due_at: Timestamp, now: Timestamp) -> Result<i64, LedgerError> {
        self.queue_at(job, JobPriority::Scheduled, due_at, now)
    }

    /// Puts a job into the queue that somebody waits for, or lets it go ahead if it waits there already; its number.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn queue_requested_job(&self, job: &NewJob, now: Timestamp) -> Result<i64, LedgerError> {
        self.queue_at(job, JobPriority::Requested, now, now)
    }

    fn queue_at(
        &self,
        job: &NewJob,
        priority: JobPriority,
        due_at: Timestamp,
        now: Timestamp,
    ) -> Result<i64, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let id = queue(&tx, job, priority, due_at, now)?;
        tx.commit()?;
        Ok(id)
    }

    /// Jobs of these kinds that wait and are due, at most `limit`: those that were requested first, unless something else
    /// waits for longer than six hours, then those that are due first.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn due_jobs(&self, kinds: &[JobKind], now: Timestamp, limit: usize) -> Result<Vec<Job>, LedgerError> {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "{SELECT} WHERE status = 'queued' AND due_at <= ?1 AND kind IN (SELECT value FROM json_each(?2))
             ORDER BY due_at - priority * ?4, id LIMIT ?3"
        ))?;
        let names = serde_json::Value::from(names).to_string();
        let patience = i64::try_from(PATIENCE.as_millis()).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![now.as_millisecond(), names, to_i64(limit as u64), patience], job)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Begins waiting jobs; those that really waited.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn begin_jobs(&self, ids: &[i64], now: Timestamp) -> Result<Vec<i64>, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut begun = Vec::new();
        for id in ids {
            let changed = tx
                .prepare_cached(
                    "UPDATE jobs SET status = 'running', attempts = attempts + 1, started_at = ?2, finished_at = NULL
                     WHERE id = ?1 AND status = 'queued'",
                )?
                .execute(params![id, now.as_millisecond()])?;
            if changed > 0 {
                begun.push(*id);
            }
        }
        tx.commit()?;
        Ok(begun)
    }

    /// Records how the attempts of running jobs ended.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn end_jobs(&self, ids: &[i64], outcome: &Outcome, now: Timestamp) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for id in ids {
            end(&tx, *id, outcome, now)?;
        }
        tx.commit()?;
        Ok(())
    }

    /// Cancels a job that waits; whether it did.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn cancel_job(&self, id: i64, now: Timestamp) -> Result<bool, LedgerError> {
        let changed = self.write()?.execute(
            &format!(
                "UPDATE jobs SET status = 'cancelled', finished_at = ?2 WHERE id = ?1 AND status = 'queued' {}",
                project_clause(3)
            ),
            params![id, now.as_millisecond(), self.visible_projects()],
        )?;
        Ok(changed > 0)
    }

    /// Puts every job that is still 'running' back into the queue. Only the process that owns the data directory calls
    /// this, before it runs any itself: the process that ran them is dead. Says how many there were.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn requeue_running_jobs(&self, now: Timestamp) -> Result<usize, LedgerError> {
        let running: Vec<i64> = {
            let connection = self.read()?;
            let mut statement = connection.prepare("SELECT id FROM jobs WHERE status = 'running'")?;
            let ids = statement.query_map([], |row| row.get(0))?;
            ids.collect::<Result<_, _>>()?
        };
        self.end_jobs(&running, &Outcome::Interrupted, now)?;
        Ok(running.len())
    }

    /// Forgets jobs that ended long ago and deliveries that are not delivered again any more.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn prune_jobs(&self, now: Timestamp) -> Result<(), LedgerError> {
        let connection = self.write()?;
        connection.execute(
            "DELETE FROM jobs WHERE status NOT IN ('queued', 'running') AND id <= (
                SELECT id FROM jobs WHERE status NOT IN ('queued', 'running') ORDER BY id DESC LIMIT 1 OFFSET ?1)
             -- When each kind was last done says when it is due again.
             AND id NOT IN (SELECT MAX(id) FROM jobs WHERE status = 'succeeded' GROUP BY kind, project)",
            [KEPT_JOBS],
        )?;
        let oldest = now.checked_sub(KEPT_DELIVERIES).unwrap_or(now).as_millisecond();
        connection.execute("DELETE FROM deliveries WHERE received_at < ?1", [oldest])?;
        Ok(())
    }

    /// Deletes every job of a project, whatever its state.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn remove_jobs(&self, project: &str) -> Result<(), LedgerError> {
        self.write()?.execute("DELETE FROM jobs WHERE project = ?1", [project])?;
        Ok(())
    }

    /// Jobs, newest first, those before a number if one is given, of one status if one is given, of the given projects or of
    /// all if none is given, at most `limit`.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn jobs(
        &self,
        status: Option<JobStatus>,
        projects: &[String],
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Job>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "{SELECT} WHERE (?1 IS NULL OR status = ?1) AND id < ?2
                AND (?5 IS NULL OR project IN (SELECT value FROM json_each(?5))) {} ORDER BY id DESC LIMIT ?3",
            project_clause(4)
        ))?;
        let (status, before) = (status.map(JobStatus::as_str), before.unwrap_or(i64::MAX));
        let wanted = (!projects.is_empty()).then(|| serde_json::json!(projects).to_string());
        let bounds = params![status, before, to_i64(limit as u64), self.visible_projects(), wanted];
        let jobs: Vec<Job> = statement.query_map(bounds, job)?.collect::<Result<_, _>>()?;
        jobs.into_iter().map(|job| self.redact_subject(&connection, job)).collect()
    }

    /// One job.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn job(&self, id: i64) -> Result<Option<Job>, LedgerError> {
        let connection = self.read()?;
        let select = format!("{SELECT} WHERE id = ?1 {}", project_clause(2));
        let job = connection.query_row(&select, params![id, self.visible_projects()], job).optional()?;
        job.map(|job| self.redact_subject(&connection, job)).transpose()
    }

    /// What a job reads again may be confidential: a caller who is not among them does not get it, unless it is known
    /// to be open.
    fn redact_subject(&self, connection: &Connection, mut job: Job) -> Result<Job, LedgerError> {
        if !self.shows_subject(connection, &job.job)? {
            (job.job.subject, job.error) = (None, None);
        }
        Ok(job)
    }

    /// Whether a caller may see what a job reads again, and why that failed.
    pub(super) fn shows_subject(&self, connection: &Connection, job: &NewJob) -> Result<bool, LedgerError> {
        if self.visibility.shows_confidential() || job.kind != JobKind::Refetch {
            return Ok(true);
        }
        let mut statement = connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM items INDEXED BY items_thread
             WHERE project = ?1 AND thread = ?2 AND payload IS NOT NULL AND NOT confidential)",
        )?;
        Ok(statement.query_row(params![job.project, job.subject], |row| row.get(0))?)
    }

    /// How many jobs of each kind and status are on record.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn job_counts(&self) -> Result<Vec<(JobKind, JobStatus, u64)>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT kind, status, COUNT(*) FROM jobs WHERE TRUE {} GROUP BY 1, 2",
            project_clause(1)
        ))?;
        let rows = statement.query_map([self.visible_projects()], |row| {
            Ok((
                kind(&row.get::<_, String>(0)?),
                status(&row.get::<_, String>(1)?),
                row.get::<_, i64>(2)?.unsigned_abs(),
            ))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The newest job of a kind for a project, whatever its state.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn newest_job(&self, kind: JobKind, project: &str) -> Result<Option<Job>, LedgerError> {
        if !self.allows_project(project) {
            return Ok(None);
        }
        let connection = self.read()?;
        let mut statement = connection
            .prepare_cached(&format!("{SELECT} WHERE kind = ?1 AND project = ?2 ORDER BY id DESC LIMIT 1"))?;
        Ok(statement.query_row(params![kind.as_str(), project], job).optional()?)
    }
}

const SELECT: &str = "SELECT id, kind, project, subject, status, attempts, queued_at, due_at, started_at, finished_at, \
                      error, summary, priority FROM jobs";

fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    let status = status(&row.get::<_, String>(4)?);
    let subject = Some(row.get(3)?).filter(|subject: &String| !subject.is_empty());
    let summary = serde_json::from_str(&row.get::<_, String>(11)?).ok();
    Ok(Job {
        id: row.get(0)?,
        job: NewJob { kind: kind(&row.get::<_, String>(1)?), project: row.get(2)?, subject },
        status,
        priority: if row.get::<_, i64>(12)? > 0 { JobPriority::Requested } else { JobPriority::Scheduled },
        attempts: row.get(5)?,
        queued_at: time(row.get(6)?),
        due_at: time(row.get(7)?),
        started_at: row.get::<_, Option<i64>>(8)?.map(time),
        finished_at: row.get::<_, Option<i64>>(9)?.map(time),
        error: row.get(10)?,
        summary: summary.filter(|_| status == JobStatus::Succeeded),
    })
}

// The schema lets no other names in.
pub(super) fn kind(name: &str) -> JobKind {
    JobKind::ALL.into_iter().find(|kind| kind.as_str() == name).unwrap_or(JobKind::Sync)
}

fn status(name: &str) -> JobStatus {
    JobStatus::ALL.into_iter().find(|status| status.as_str() == name).unwrap_or(JobStatus::Failed)
}

pub(super) fn queue(
    tx: &Transaction<'_>,
    job: &NewJob,
    priority: JobPriority,
    due_at: Timestamp,
    now: Timestamp,
) -> rusqlite::Result<i64> {
    tx.prepare_cached(
        "INSERT INTO jobs (kind, project, subject, status, attempts, queued_at, due_at, priority)
         VALUES (?1, ?2, ?3, 'queued', 0, ?4, ?5, ?6)
         ON CONFLICT (kind, project, subject) WHERE status = 'queued' DO UPDATE SET
            due_at = MIN(due_at, excluded.due_at), priority = MAX(priority, excluded.priority)
         RETURNING id",
    )?
    .query_row(
        params![
            job.kind.as_str(),
            job.project,
            job.subject.as_deref().unwrap_or_default(),
            now.as_millisecond(),
            due_at.as_millisecond(),
            priority.number()
        ],
        |row| row.get(0),
    )
}

fn end(connection: &Connection, id: i64, outcome: &Outcome, now: Timestamp) -> rusqlite::Result<()> {
    let now = now.as_millisecond();
    let finish = |status: JobStatus, error: Option<&str>, summary: &str| {
        connection
            .prepare_cached(
                "UPDATE jobs SET status = ?2, finished_at = ?3, error = ?4, summary = ?5
                 WHERE id = ?1 AND status = 'running'",
            )?
            .execute(params![id, status.as_str(), now, error, summary])
    };
    match outcome {
        Outcome::Succeeded(summary) => finish(JobStatus::Succeeded, None, &summary.to_string())?,
        Outcome::Failed(error) => finish(JobStatus::Failed, Some(error), "{}")?,
        Outcome::Cancelled => finish(JobStatus::Cancelled, None, "{}")?,
        Outcome::Again { error, due_at } => {
            requeue(connection, id, 0, Some(error), Some(due_at.as_millisecond()), now)?
        }
        Outcome::Interrupted => requeue(connection, id, 1, None, None, now)?,
    };
    Ok(())
}

/// Puts a running job back into the queue; if the same waits there already, that one is enough.
fn requeue(
    connection: &Connection,
    id: i64,
    uncounted: i64,
    error: Option<&str>,
    due_at: Option<i64>,
    now: i64,
) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(
            "UPDATE jobs SET status = 'cancelled', finished_at = ?2,
                error = 'the same was asked for meanwhile, and is done in its place'
             WHERE id = ?1 AND status = 'running' AND EXISTS (
                SELECT 1 FROM jobs AS other
                WHERE other.status = 'queued' AND other.kind = jobs.kind AND other.project = jobs.project
                AND other.subject = jobs.subject)",
        )?
        .execute(params![id, now])?;
    connection
        .prepare_cached(
            "UPDATE jobs SET status = 'queued', attempts = MAX(attempts - ?2, 0), error = COALESCE(?3, error),
                due_at = COALESCE(?4, due_at)
             WHERE id = ?1 AND status = 'running'",
        )?
        .execute(params![id, uncounted, error, due_at])
}
