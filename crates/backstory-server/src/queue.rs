//! The operation queue: how many operations of each weight run at a time and how many wait, over HTTP and WebSocket.
//! The rest is refused at once: an answer that comes too late is of no use, and what waits for it takes memory.

use std::{sync::Arc, time::Duration};

use backstory_engine::{
    error::{Error, ErrorKind, Result},
    use_case::Weight,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Searches and the like that are executed at a time, per processor.
const HEAVY_PER_PROCESSOR: usize = 4;
/// Most of them on any machine.
const MAX_HEAVY: usize = 64;

/// The operations of a server.
#[derive(Debug)]
pub(crate) struct Queue {
    light: Lane,
    heavy: Lane,
    long: Lane,
}

/// The operations of one weight.
#[derive(Debug)]
struct Lane {
    running: Arc<Semaphore>,
    waiting: Semaphore,
    /// How long one waits.
    patience: Duration,
}

/// The right to be executed.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
}

impl Default for Queue {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let heavy = (processors * HEAVY_PER_PROCESSOR).min(MAX_HEAVY);
        let (short, long) = (Duration::from_secs(3), Duration::from_secs(10));
        Self { light: Lane::new(64, 512, short), heavy: Lane::new(heavy, 128, short), long: Lane::new(16, 64, long) }
    }
}

impl Queue {
    /// Waits until an operation may be executed.
    ///
    /// # Errors
    /// Too many wait already, or it has waited too long.
    pub(crate) async fn turn(&self, weight: Weight) -> Result<Turn> {
        let lane = match weight {
            Weight::Light => &self.light,
            Weight::Heavy => &self.heavy,
            Weight::Long => &self.long,
        };
        lane.turn().await
    }
}

impl Lane {
    fn new(running: usize, waiting: usize, patience: Duration) -> Self {
        Self { running: Arc::new(Semaphore::new(running)), waiting: Semaphore::new(waiting), patience }
    }

    async fn turn(&self) -> Result<Turn> {
        if let Ok(permit) = self.running.clone().try_acquire_owned() {
            return Ok(Turn { _permit: permit });
        }
        let _place = self.waiting.try_acquire().map_err(|_| busy())?;
        match tokio::time::timeout(self.patience, self.running.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Turn { _permit: permit }),
            _ => Err(busy()),
        }
    }
}

fn busy() -> Error {
    Error::new(ErrorKind::Busy, "the server has too much to do").with_hint("ask again in a few seconds")
}
