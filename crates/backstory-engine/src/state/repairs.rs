//! The projections that were rebuilt because they proved damaged.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::{Error, Result};

/// How often one projection is rebuilt within [`REPAIR_COOLDOWN`] because it proved damaged. If it proves so once more,
/// rebuilding it does not help.
const MOST: usize = 2;

/// See [`MOST`].
const REPAIR_COOLDOWN: Duration = Duration::from_secs(60 * 60);

/// Least time between one that failed and the next; if it took longer, as long as that.
const PAUSE: Duration = Duration::from_secs(1);

/// The projections that were rebuilt since the stores were opened, because they proved damaged.
#[derive(Default)]
pub(crate) struct RepairLog {
    pub(crate) last: tokio::sync::Mutex<Last>,
    pub(crate) notices: Mutex<Vec<String>>,
}

/// What was done lately.
#[derive(Default)]
pub(crate) struct Last {
    pub(crate) graph: Times,
    pub(crate) index: Times,
}

/// When a projection was rebuilt, and what happened the last time if that failed.
#[derive(Default)]
pub(crate) struct Times {
    done: Vec<Instant>,
    failed: Option<(Instant, Error)>,
}

impl Times {
    /// Whether it may be rebuilt now.
    fn check(&mut self, name: &str, reason: &str) -> Result<()> {
        self.done.retain(|done| done.elapsed() < REPAIR_COOLDOWN);
        if self.done.len() >= MOST {
            return Err(Error::internal(format!(
                "the {name} proved damaged again ({reason}) although it was rebuilt from the ledger {MOST} times within an \
                 hour; check whether the disk is sound, then run 'backstory rebuild {name}'"
            )));
        }
        match &self.failed {
            Some((until, error)) if Instant::now() < *until => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Rebuilds it. What fails says why, and can be tried again soon: there may be room on the disk then.
    pub(crate) async fn make(
        &mut self,
        name: &str,
        reason: &str,
        work: impl Future<Output = Result<()>>,
    ) -> Result<()> {
        self.check(name, reason)?;
        let begun = Instant::now();
        match work.await {
            Ok(()) => {
                self.done.push(Instant::now());
                self.failed = None;
                Ok(())
            }
            Err(error) => {
                let error = error.about(&format!("the {name} is damaged ({reason}) and could not be rebuilt"));
                self.failed = Some((Instant::now() + begun.elapsed().max(PAUSE), error.clone()));
                Err(error)
            }
        }
    }
}
