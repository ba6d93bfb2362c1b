//! The operation queue: how many operations of each weight run at a time and how many wait, over HTTP and WebSocket.
//! The rest is refused at once: an answer that comes too late is of no use, and what waits for it takes memory.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use backstory_engine::{
    error::{Error, ErrorKind, Result},
    use_case::Weight,
};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Searches and the like that are executed at a time, per processor.
const HEAVY_PER_PROCESSOR: usize = 4;
/// Most of them on any machine.
const MAX_HEAVY: usize = 64;
/// How long an operation is taken to need as long as none has ended.
const FIRST: Duration = Duration::from_millis(100);
/// How much the last operation counts in the time that operations take lately.
const LAST: f64 = 0.1;

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
    /// How many run at a time.
    width: usize,
    waiting: Semaphore,
    /// How many wait at a time.
    depth: usize,
    /// How long one waits. A request that would probably be answered only after half of that is refused at once.
    patience: Duration,
    pace: Arc<Pace>,
}

/// How long operations take lately.
#[derive(Debug)]
struct Pace(Mutex<Duration>);

impl Default for Pace {
    fn default() -> Self {
        Self(Mutex::new(FIRST))
    }
}

impl Pace {
    fn add(&self, took: Duration) {
        let mut pace = self.0.lock();
        *pace = pace.mul_f64(1.0 - LAST) + took.mul_f64(LAST);
    }
}

/// The right to be executed.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
    begun: Instant,
    pace: Arc<Pace>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.pace.add(self.begun.elapsed());
    }
}

impl Default for Queue {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let heavy = (processors * HEAVY_PER_PROCESSOR).min(MAX_HEAVY);
        let (short, long) = (Duration::from_millis(2_400), Duration::from_secs(10));
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
    fn new(width: usize, depth: usize, patience: Duration) -> Self {
        let (running, waiting) = (Arc::new(Semaphore::new(width)), Semaphore::new(depth));
        Self { running, width, waiting, depth, patience, pace: Arc::default() }
    }

    /// After how long one more would probably be answered.
    fn expected_time(&self) -> Duration {
        let before = self.depth - self.waiting.available_permits();
        self.pace.0.lock().mul_f64(1.0 + (before + 1) as f64 / self.width as f64)
    }

    fn begin(&self, permit: OwnedSemaphorePermit) -> Turn {
        Turn { _permit: permit, begun: Instant::now(), pace: self.pace.clone() }
    }

    async fn turn(&self) -> Result<Turn> {
        if let Ok(permit) = self.running.clone().try_acquire_owned() {
            return Ok(self.begin(permit));
        }
        if self.expected_time() > self.patience / 2 {
            return Err(busy());
        }
        let _place = self.waiting.try_acquire().map_err(|_| busy())?;
        match tokio::time::timeout(self.patience, self.running.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(self.begin(permit)),
            _ => Err(busy()),
        }
    }
}

fn busy() -> Error {
    Error::new(ErrorKind::Busy, "the server has too much to do").with_hint("ask again in a few seconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_would_wait_too_long_is_refused_at_once() {
        let lane = Lane::new(1, 10, Duration::from_secs(2));
        let turn = lane.turn().await.unwrap();
        lane.pace.add(Duration::from_secs(5));
        assert!(lane.expected_time() < Duration::from_millis(1_200), "{:?}", lane.expected_time());
        lane.pace.add(Duration::from_secs(60));
        let asked = Instant::now();
        assert_eq!(lane.turn().await.err().unwrap().kind, ErrorKind::Busy);
        assert!(asked.elapsed() < Duration::from_millis(100));
        drop(turn);
        assert!(lane.turn().await.is_ok(), "it is free, however long operations take");
    }
}
