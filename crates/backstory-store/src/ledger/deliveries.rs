//! Webhooks that were received, without their payloads.

use jiff::Timestamp;
use rusqlite::{TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::{
    Ledger, LedgerError,
    jobs::{JobPriority, NewJob, kind, queue},
    time, to_i64,
};

/// A webhook that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The forge's address.
    pub forge: String,
    /// The forge's id of the delivery; the same when it is delivered again.
    pub id: String,
    /// What happened: `Note Hook`, `issue_comment`.
    pub event: String,
    /// Full path of the project that it is about, if that is read here.
    pub project: Option<String>,
    /// User name of who caused it, if the forge says.
    pub sender: Option<String>,
}

/// A webhook on record. Its payload is not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReceivedDelivery {
    /// The forge's id of the delivery.
    pub id: String,
    /// The forge's address.
    pub forge: String,
    /// What happened: `Note Hook`, `issue_comment`.
    pub event: String,
    /// Full path of the project that it is about; null if nothing of it is read here.
    pub repository: Option<String>,
    /// User name of who caused it.
    pub sender: Option<String>,
    /// When it was received.
    pub received_at: Timestamp,
    /// When what it asked for was done; null if that has not ended, or nothing was to be done.
    pub processed_at: Option<Timestamp>,
    /// Number of the job that it asked for; one that waited already may do it too.
    pub job: Option<i64>,
    /// Why the job failed.
    pub error: Option<String>,
}

/// A place in the list of webhooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeliveryCursor {
    /// When the webhook there was received.
    pub received_at: Timestamp,
    /// Its id.
    pub id: String,
    /// Its forge.
    pub forge: String,
}

impl From<&ReceivedDelivery> for DeliveryCursor {
    fn from(delivery: &ReceivedDelivery) -> Self {
        Self { received_at: delivery.received_at, id: delivery.id.clone(), forge: delivery.forge.clone() }
    }
}

impl Ledger {
    /// Records a delivery and puts what it asks for into the queue, both or neither; whether it is new. Nothing happens
    /// if it was recorded before.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn record_delivery(&self, delivery: &Delivery, jobs: &[NewJob], now: Timestamp) -> Result<bool, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let Delivery { forge, id, event, project, sender } = delivery;
        let new = tx
            .prepare_cached(
                "INSERT INTO deliveries (forge, id, event, received_at, project, sender)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
            )?
            .execute(params![forge, id, event, now.as_millisecond(), project, sender])?
            > 0;
        if new {
            for job in jobs {
                let number = queue(&tx, job, JobPriority::Scheduled, now, now)?;
                tx.prepare_cached("UPDATE deliveries SET job = ?3 WHERE forge = ?1 AND id = ?2")?
                    .execute(params![forge, id, number])?;
            }
        }
        tx.commit()?;
        Ok(new)
    }

    /// How many deliveries are remembered, and when the newest came; none for a handle that does not show all projects,
    /// since it is not recorded which project one concerns.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn deliveries(&self) -> Result<(u64, Option<Timestamp>), LedgerError> {
        if !self.allows_all_projects() {
            return Ok((0, None));
        }
        let connection = self.read()?;
        Ok(connection.query_row("SELECT COUNT(*), MAX(received_at) FROM deliveries", [], |row| {
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, Option<i64>>(1)?.map(time)))
        })?)
    }

    /// Webhooks on record, newest first, about the given projects or all if none is given, those behind a place if one is
    /// given, at most `limit`. Those about no project that is read here are for handles that show all projects.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn list_deliveries(
        &self,
        projects: &[String],
        before: Option<&DeliveryCursor>,
        limit: usize,
    ) -> Result<Vec<ReceivedDelivery>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(
            "SELECT deliveries.id, deliveries.forge, event, deliveries.project, sender, received_at, jobs.finished_at, job,
                jobs.error, jobs.kind, jobs.project, jobs.subject
             FROM deliveries LEFT JOIN jobs ON jobs.id = job
             WHERE (received_at < ?1 OR received_at = ?1 AND (deliveries.id, deliveries.forge) > (?4, ?5))
                AND (?2 IS NULL OR deliveries.project IN (SELECT value FROM json_each(?2)))
                AND (?6 IS NULL OR deliveries.project IN (SELECT value FROM json_each(?6)))
             ORDER BY received_at DESC, deliveries.id, deliveries.forge LIMIT ?3",
        )?;
        let (id, forge) = before.map(|before| (before.id.as_str(), before.forge.as_str())).unwrap_or_default();
        let before = before.map_or(i64::MAX, |before| before.received_at.as_millisecond());
        let wanted = (!projects.is_empty()).then(|| serde_json::json!(projects).to_string());
        let bounds = params![before, self.visible_projects(), to_i64(limit as u64), id, forge, wanted];
        let mut rows = statement.query(bounds)?;
        let mut received = Vec::new();
        while let Some(row) = rows.next()? {
            let mut delivery = ReceivedDelivery {
                id: row.get(0)?,
                forge: row.get(1)?,
                event: row.get(2)?,
                repository: row.get(3)?,
                sender: row.get(4)?,
                received_at: time(row.get(5)?),
                processed_at: row.get::<_, Option<i64>>(6)?.map(time),
                job: row.get(7)?,
                error: row.get(8)?,
            };
            if delivery.error.is_some() {
                let job =
                    NewJob { kind: kind(&row.get::<_, String>(9)?), project: row.get(10)?, subject: row.get(11)? };
                // As in the list of jobs.
                if !self.shows_subject(&connection, &job)? {
                    delivery.error = None;
                }
            }
            received.push(delivery);
        }
        Ok(received)
    }
}
