//! Repairs a projection that proves damaged while it is in use: it is computed again from the ledger, and the operation
//! that needed it is repeated. What the disk or the system refuses for lack of room or descriptors is no damage.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::{
    error::{Error, Result},
    rebuild::{rebuild_graph, rebuild_index},
    resources::Resources,
    task::Reporter,
};

/// How often one projection is made anew within [`REPAIR_COOLDOWN`] because it proved damaged. If it proves so once more, making it
/// anew does not help.
const MOST: usize = 2;
/// See [`MOST`].
const REPAIR_COOLDOWN: Duration = Duration::from_secs(60 * 60);
/// Least time between one that failed and the next; if it took longer, as long as that.
const PAUSE: Duration = Duration::from_secs(1);

/// The projections that were made anew since the stores were opened, because they proved damaged.
#[derive(Default)]
pub(crate) struct RepairLog {
    last: tokio::sync::Mutex<Last>,
    notices: Mutex<Vec<String>>,
}

/// What was done lately.
#[derive(Default)]
struct Last {
    graph: Times,
    index: Times,
}

/// When a projection was made anew, and what came of the last time if that failed.
#[derive(Default)]
struct Times {
    done: Vec<Instant>,
    failed: Option<(Instant, Error)>,
}

impl Times {
    /// Whether it may be made anew now.
    fn check(&mut self, name: &str, reason: &str) -> Result<()> {
        self.done.retain(|done| done.elapsed() < REPAIR_COOLDOWN);
        if self.done.len() >= MOST {
            return Err(Error::internal(format!(
                "the {name} proved damaged again ({reason}) although it was made anew from the ledger {MOST} times within an \
                 hour; look whether the disk is sound, then run 'backstory rebuild {name}'"
            )));
        }
        match &self.failed {
            Some((until, error)) if Instant::now() < *until => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Makes it anew. What fails says why, and can be tried again soon: there may be room on the disk then.
    async fn make(&mut self, name: &str, reason: &str, work: impl Future<Output = Result<()>>) -> Result<()> {
        self.check(name, reason)?;
        let begun = Instant::now();
        match work.await {
            Ok(()) => {
                self.done.push(Instant::now());
                self.failed = None;
                Ok(())
            }
            Err(error) => {
                let error = error.about(&format!("the {name} is damaged ({reason}) and could not be made anew"));
                self.failed = Some((Instant::now() + begun.elapsed().max(PAUSE), error.clone()));
                Err(error)
            }
        }
    }
}

/// What happened while the stores were opened, and [repairs].
pub(crate) fn notices(resources: &Resources) -> Vec<String> {
    let mut notices = resources.shared.notices.lock().clone();
    notices.extend(repairs(resources));
    notices
}

/// What was made anew since the stores were opened, because it proved damaged: a sentence each time, for people.
pub(crate) fn repairs(resources: &Resources) -> Vec<String> {
    resources.shared.mended.notices.lock().clone()
}

/// Whether a projection has proved damaged and was not made anew yet.
pub(crate) fn is_damaged(resources: &Resources) -> bool {
    resources.graph().damage().is_some() || resources.index().damage().is_some()
}

/// Makes projections anew that proved damaged, and waits until that is done, whoever does it.
///
/// # Errors
/// One was made anew twice within an hour, or cannot be.
pub(crate) async fn repair(resources: &Resources) -> Result<()> {
    if !is_damaged(resources) {
        return Ok(());
    }
    let resources = resources.with_full_visibility();
    // A task of its own goes on when whoever asked for it has no more time.
    tokio::spawn(async move {
        let mut last = resources.shared.mended.last.lock().await;
        match repair_once(&resources, &mut last).await {
            // The graph's links are found with the index, which may prove damaged then.
            Err(error) if resources.index().damage().is_some() => {
                tracing::debug!(%error, "the other projection proved damaged too");
                repair_once(&resources, &mut last).await
            }
            done => done,
        }
    })
    .await?
}

async fn repair_once(resources: &Resources, last: &mut Last) -> Result<()> {
    let reason = resources.index().damage().map(str::to_owned);
    if let Some(reason) = reason {
        last.index.make("index", &reason, rebuild_index(resources, &Reporter::silent())).await?;
        note_repair(resources, "index", &reason);
    }
    let reason = resources.graph().damage().map(str::to_owned);
    if let Some(reason) = reason {
        last.graph.make("graph", &reason, rebuild_graph(resources, &Reporter::silent())).await?;
        note_repair(resources, "graph", &reason);
    }
    Ok(())
}

/// Makes projections anew in the background if they proved damaged.
pub(crate) fn repair_in_background(resources: &Resources) {
    if is_damaged(resources) {
        let resources = resources.clone();
        tokio::spawn(async move {
            if let Err(error) = repair(&resources).await {
                tracing::error!(%error, "a damaged projection was not made anew");
            }
        });
    }
}

/// Does a step that reads or writes projections; if one of them proves damaged, makes it anew and does the step once
/// more. The step may be repeated at any time; whoever calls does not keep others from projecting.
pub(crate) async fn retry_after_repair<T, F>(resources: &Resources, step: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    match Box::pin(step()).await {
        Err(error) if is_damaged(resources) => {
            tracing::debug!(%error, "a projection proved damaged");
            repair(resources).await?;
            Box::pin(step()).await
        }
        done => done,
    }
}

fn note_repair(resources: &Resources, name: &str, reason: &str) {
    let notice = format!("the {name} was damaged and was made anew from the ledger: {reason}");
    tracing::info!(notice, "mended");
    resources.shared.mended.notices.lock().push(notice);
}
