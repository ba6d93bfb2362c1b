//! The worker of a server: runs the jobs of the ledger, and queues those that a schedule or a webhook asks for. Long
//! work of a command is a [`task`](crate::task).
//!
//! At most one job of a kind and project (or thread) waits, with the time when it is due, so the schedule is the set of
//! waiting jobs. A webhook's delivery and its job are committed in one transaction before the webhook is answered.
//!
//! Two jobs run at a time: one that reads projects, and one that reads single issues and merge requests again, which
//! somebody waits for. When both have read the same, the ledger keeps what was written last; the next sync reads again
//! whatever changed in the minute before it was read, so an older response does not stay.

mod deliveries;
pub(crate) mod queue;
pub(crate) mod tasks;

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use backstory_model::id::{NodeId, ThreadId, ThreadKind};
use backstory_sources::forge::webhook::{self, WebhookChange, WebhookEvent};
use backstory_store::ledger::{Delivery, Job, JobKind, JobStatus, NewJob, Outcome};
use jiff::{SignedDuration, Timestamp};
use reqwest::header::HeaderMap;
use secrecy::SecretString;
use tokio::sync::watch;

use crate::{
    catalog::{known_projects, list_forges},
    error::{Error, ErrorKind, Result},
    resources::Resources,
    settings::{Forge, ForgeKind, Schedule},
    sync::{Scope, SyncRequest, refetch, start_sync},
    task::{Task, TaskKind, TaskStatus},
};

pub use deliveries::ListDeliveries;
pub use queue::{CancelJob, GetJob, JobReport, ListJobs, QueueJob, RetryJob};
pub use tasks::{GetTask, ListTasks, StopTask};

/// Time between two looks for jobs that have become due; those that are due at once do not wait for it.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Waits before further attempts of a job: four, each twice as long as the one before.
const BACKOFF: ExponentialBuilder =
    ExponentialBuilder::new().with_min_delay(Duration::from_secs(10)).without_max_delay().with_max_times(4);
/// Issues and merge requests that are read again at once.
const BATCH: usize = 25;
/// Jobs that read whole projects.
const PROJECT_JOB_KINDS: [JobKind; 3] = [JobKind::Sync, JobKind::Reconcile, JobKind::Full];

/// The outcome of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// What it is about will be read again.
    Queued,
    /// It was delivered before.
    Known,
    /// It is about nothing that is read here.
    Ignored,
}

/// Does jobs as they become due, until `stop` is true. A job that is at work then is put back into the queue, with
/// what it has committed kept.
///
/// # Errors
/// The ledger cannot be read or written.
pub(crate) async fn run_worker(resources: &Resources, mut stop: watch::Receiver<bool>) -> Result<()> {
    let now = Timestamp::now();
    resources
        .with_ledger(move |ledger| {
            ledger.requeue_running_jobs(now)?;
            ledger.prune_jobs(now)
        })
        .await?;
    let mut single_stop = stop.clone();
    tokio::try_join!(run_project_jobs(resources, &mut stop), run_refetch_jobs(resources, &mut single_stop)).map(|_| ())
}

fn task_of(resources: &Resources, job: i64) -> Option<u64> {
    resources.shared.work.tasks.lock().get(&job).copied()
}

/// Whether a webhook is expected that has these headers, before its body is read: one of those that may send some
/// has a secret, and the headers show it, or a signature where only the body tells whether it is right.
///
/// # Errors
/// [`NotFound`](ErrorKind::NotFound): no forge of that kind may send any;
/// [`Unauthenticated`](ErrorKind::Unauthenticated): it is not one of those that may.
pub(crate) fn expects_webhook(resources: &Resources, kind: ForgeKind, headers: &HeaderMap) -> Result<()> {
    let now = Timestamp::now();
    find_senders(resources, kind, |secret| webhook::has_plausible_headers(kind, secret, headers, now)).map(drop)
}

/// The forges of a kind whose secret the sender of a webhook knows.
fn find_senders(resources: &Resources, kind: ForgeKind, knows: impl Fn(&SecretString) -> bool) -> Result<Vec<&Forge>> {
    let of_kind = resources.settings().forges.iter().filter(|forge| forge.kind == kind);
    let secrets: Vec<_> = of_kind.filter_map(|forge| Some((forge, forge.webhook_secret.as_ref()?))).collect();
    if secrets.is_empty() {
        let message = "no [[forge]] of this kind names the variable of a secret as webhook_secret_env";
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    // Every secret is tried: how long that takes must not tell which is whose.
    let senders: Vec<&Forge> =
        secrets.into_iter().filter(|(_, secret)| knows(secret)).map(|(forge, _)| forge).collect();
    if senders.is_empty() {
        let message = "the webhook does not show the secret of a forge that is configured";
        return Err(Error::new(ErrorKind::Unauthenticated, message));
    }
    Ok(senders)
}

/// Takes in a webhook: when this returns it is on record, and so is what must be done about it.
///
/// # Errors
/// [`NotFound`](ErrorKind::NotFound): no forge of that kind may send any;
/// [`Unauthenticated`](ErrorKind::Unauthenticated): it is not one of those that may;
/// [`Invalid`](ErrorKind::Invalid): it is not JSON; or the ledger cannot be written.
pub(crate) async fn receive_webhook(
    resources: &Resources,
    kind: ForgeKind,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<WebhookOutcome> {
    let now = Timestamp::now();
    let senders = find_senders(resources, kind, |secret| webhook::verify_signature(kind, secret, headers, body, now))?;
    let WebhookEvent { delivery, event, changed, sender: caused_by } = webhook::parse_event(kind, headers, body)
        .map_err(|error| Error::invalid(format!("the webhook's payload is not JSON: {error}")))?;
    let forges = list_forges(resources).await?;
    let is_read = |changed: &WebhookChange| {
        let has = |forge: &Forge| forge.projects.iter().any(|project| project == changed.project());
        senders.iter().any(|sender| forges.iter().any(|forge| forge.web_url() == sender.web_url() && has(forge)))
    };
    let changed = changed.filter(is_read);
    let project = changed.as_ref().map(|changed| changed.project().to_owned());
    let job = changed.map(job_for);
    let sender = senders.first().map(|sender| sender.web_url()).unwrap_or_default();
    // Nothing is recorded under the name of a forgotten person.
    let aliases = resources.ledger().aliases();
    let caused_by = caused_by.map(|name| aliases.for_username(&name).map_or_else(|| name.clone(), str::to_owned));
    let delivery = Delivery { forge: sender, id: delivery, event, project, sender: caused_by };
    let received = if job.is_some() { WebhookOutcome::Queued } else { WebhookOutcome::Ignored };
    let new = resources.with_ledger(move |ledger| ledger.record_delivery(&delivery, job.as_slice(), now)).await?;
    resources.shared.work.waiting.notify_waiters();
    Ok(if new { received } else { WebhookOutcome::Known })
}

/// What must be done about a change.
fn job_for(changed: WebhookChange) -> NewJob {
    match changed {
        WebhookChange::Repository { project } => NewJob { kind: JobKind::Sync, project, subject: None },
        WebhookChange::Thread { project, kind, iid } => {
            NewJob { kind: JobKind::Refetch, project, subject: Some(format!("{}{iid}", kind.sigil())) }
        }
    }
}

/// Waits until there may be something to do; false if it is time to stop.
async fn wait_for_work(resources: &Resources, stop: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        () = tokio::time::sleep(POLL_INTERVAL) => {}
        () = resources.shared.work.waiting.notified() => {}
        // The sender is gone, which says it too.
        _ = stop.wait_for(|stop| *stop) => return false,
    }
    !*stop.borrow()
}

fn is_running(resources: &Resources, kinds: &[TaskKind]) -> bool {
    resources.tasks().list().iter().any(|task| task.status == TaskStatus::Running && kinds.contains(&task.kind))
}

async fn run_project_jobs(resources: &Resources, stop: &mut watch::Receiver<bool>) -> Result<()> {
    loop {
        queue_scheduled(resources).await?;
        let now = Timestamp::now();
        let due = resources.with_ledger(move |ledger| ledger.due_jobs(&PROJECT_JOB_KINDS, now, 1)).await?;
        // A sync that somebody started by hand is in the way, and so is forgetting; it ends sooner or later.
        let is_free = !is_running(resources, &[TaskKind::Sync, TaskKind::Forget]);
        match due.into_iter().next().filter(|_| is_free) {
            Some(job) => run_project_job(resources, job, stop).await?,
            None if wait_for_work(resources, stop).await => {}
            None => return Ok(()),
        }
        if *stop.borrow() {
            return Ok(());
        }
    }
}

async fn run_project_job(resources: &Resources, job: Job, stop: &mut watch::Receiver<bool>) -> Result<()> {
    let (id, attempts) = (job.id, job.attempts + 1);
    if resources.with_ledger(move |ledger| ledger.begin_jobs(&[id], Timestamp::now())).await?.is_empty() {
        return Ok(());
    }
    let scope = match job.job.kind {
        JobKind::Reconcile => Scope::Reconcile,
        JobKind::Full => Scope::Full,
        JobKind::Sync | JobKind::Refetch => Scope::New,
    };
    let request = SyncRequest { projects: vec![job.job.project], scope, keep_new: true, ..SyncRequest::default() };
    let outcome = match start_sync(resources, request).await {
        Ok(task) => {
            resources.shared.work.tasks.lock().insert(id, task.id);
            let outcome = outcome_of(resources, task.id, attempts, stop).await;
            resources.shared.work.tasks.lock().remove(&id);
            outcome
        }
        Err(error) if error.kind == ErrorKind::Conflict => Outcome::Interrupted,
        Err(error) => retry_or_fail(&error, attempts),
    };
    end_jobs(resources, vec![id], outcome).await
}

/// Records how jobs ended, and forgets old ones.
async fn end_jobs(resources: &Resources, ids: Vec<i64>, outcome: Outcome) -> Result<()> {
    let now = Timestamp::now();
    resources
        .with_ledger(move |ledger| {
            ledger.end_jobs(&ids, &outcome, now)?;
            ledger.prune_jobs(now)
        })
        .await
}

/// Waits for a task, or stops it when everything stops.
async fn outcome_of(resources: &Resources, task: u64, attempts: u32, stop: &mut watch::Receiver<bool>) -> Outcome {
    let Some(mut watched) = resources.tasks().get(task) else { return Outcome::Interrupted };
    let ended = tokio::select! {
        ended = watched.wait_for(|task| task.status != TaskStatus::Running) => ended.ok().map(|task| task.clone()),
        _ = stop.wait_for(|stop| *stop) => None,
    };
    match ended {
        None => {
            resources.tasks().stop(task);
            Outcome::Interrupted
        }
        Some(Task { error: Some(error), .. }) => retry_or_fail(&error, attempts),
        Some(task) => Outcome::Succeeded(task.summary),
    }
}

async fn run_refetch_jobs(resources: &Resources, stop: &mut watch::Receiver<bool>) -> Result<()> {
    loop {
        let now = Timestamp::now();
        let due = resources.with_ledger(move |ledger| ledger.due_jobs(&[JobKind::Refetch], now, BATCH)).await?;
        let together = next_batch(due);
        if together.is_empty() || is_running(resources, &[TaskKind::Forget]) {
            if !wait_for_work(resources, stop).await {
                return Ok(());
            }
            continue;
        }
        run_refetch_batch(resources, together, stop).await?;
        if *stop.borrow() {
            return Ok(());
        }
    }
}

async fn run_refetch_batch(resources: &Resources, jobs: Vec<Job>, stop: &mut watch::Receiver<bool>) -> Result<()> {
    let ids: Vec<i64> = jobs.iter().map(|job| job.id).collect();
    let begun = resources.with_ledger(move |ledger| ledger.begin_jobs(&ids, Timestamp::now())).await?;
    let jobs: Vec<Job> = jobs.into_iter().filter(|job| begun.contains(&job.id)).collect();
    let Some(first) = jobs.first() else { return Ok(()) };
    let attempts = first.attempts + 1;
    let threads: Vec<(ThreadKind, u64)> =
        jobs.iter().filter_map(|job| thread(&job.job)).map(|id| (id.kind, id.iid)).collect();
    let outcome = tokio::select! {
        done = refetch(resources, &first.job.project, &threads) => match done {
            Ok(summary) => Outcome::Succeeded(summary),
            Err(error) => retry_or_fail(&error, attempts),
        },
        _ = stop.wait_for(|stop| *stop) => Outcome::Interrupted,
    };
    end_jobs(resources, begun, outcome).await
}

/// Puts what the schedule asks for into the queue, each with the time when it is due.
async fn queue_scheduled(resources: &Resources) -> Result<()> {
    let Schedule { sync, reconcile, full } = resources.settings().schedule;
    let projects = known_projects(resources).await?;
    let now = Timestamp::now();
    resources
        .with_ledger(move |ledger| {
            for project in &projects {
                for (kind, every) in [(JobKind::Sync, sync), (JobKind::Reconcile, reconcile), (JobKind::Full, full)] {
                    let Some(every) = every else { continue };
                    let next = now.checked_add(every).unwrap_or(now);
                    let due_at = match ledger.newest_job(kind, project)? {
                        Some(job) if job.status == JobStatus::Running => continue,
                        // Waiting longer than it ever should: the clock or the schedule was changed.
                        Some(job) if job.status == JobStatus::Queued && job.due_at <= next => continue,
                        Some(job) if job.status == JobStatus::Queued => next,
                        Some(job) => due_after(&job, every, now).min(next),
                        // The first sync reads everything.
                        None if kind == JobKind::Sync => now,
                        None => next,
                    };
                    let new = NewJob { kind, project: project.clone(), subject: None };
                    ledger.queue_job(&new, due_at, now)?;
                }
            }
            Ok(())
        })
        .await
}

/// When a job is due that follows one that has ended: some time after that was begun, or was cancelled while it waited.
fn due_after(job: &Job, every: SignedDuration, now: Timestamp) -> Timestamp {
    let last = job.started_at.or(job.finished_at);
    last.and_then(|at| at.checked_add(every).ok()).unwrap_or(now)
}

/// The first jobs that can be done at once: of one project; one that has failed goes alone, so that it fails no other.
fn next_batch(due: Vec<Job>) -> Vec<Job> {
    let Some(first) = due.first().cloned() else { return due };
    if first.attempts > 0 {
        return vec![first];
    }
    due.into_iter().filter(|job| job.attempts == 0 && job.job.project == first.job.project).collect()
}

fn thread(job: &NewJob) -> Option<ThreadId> {
    match format!("{}{}", job.project, job.subject.as_deref()?).parse() {
        Ok(NodeId::Thread(thread)) => Some(thread),
        _ => None,
    }
}

/// Whether and when to try again after a failure.
fn retry_or_fail(error: &Error, attempts: u32) -> Outcome {
    let is_transient =
        matches!(error.kind, ErrorKind::Upstream | ErrorKind::Timeout | ErrorKind::Conflict | ErrorKind::Internal);
    let wait = BACKOFF.build().nth(attempts.saturating_sub(1) as usize).filter(|_| is_transient);
    // The hint may name all that there is, and a job is shown to those who see its project alone.
    let error = if error.kind == ErrorKind::NotFound { error.message.clone() } else { error.to_string() };
    let Some(wait) = wait else { return Outcome::Failed(error) };
    let now = Timestamp::now();
    Outcome::Again { error, due_at: now.checked_add(wait).unwrap_or(now) }
}

#[cfg(test)]
mod tests {
    use backstory_store::ledger::Ledger;

    use super::*;

    #[test]
    fn what_follows_a_cancelled_job_waits_as_long_as_what_follows_one_that_was_done() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let every = SignedDuration::from_mins(10);
        let ledger = Ledger::in_memory().unwrap();
        let sync = NewJob { kind: JobKind::Sync, project: "acme/shop".to_owned(), subject: None };
        let due = |ledger: &Ledger| {
            let job = ledger.newest_job(JobKind::Sync, "acme/shop").unwrap().unwrap();
            due_after(&job, every, at(5000))
        };
        let id = ledger.queue_job(&sync, at(1000), at(1000)).unwrap();
        ledger.begin_jobs(&[id], at(1000)).unwrap();
        ledger.end_jobs(&[id], &Outcome::Succeeded(serde_json::json!({})), at(1030)).unwrap();
        assert_eq!(due(&ledger), at(1600));
        let id = ledger.queue_job(&sync, at(1600), at(1100)).unwrap();
        ledger.cancel_job(id, at(1200)).unwrap();
        assert_eq!(due(&ledger), at(1800));
    }
}
