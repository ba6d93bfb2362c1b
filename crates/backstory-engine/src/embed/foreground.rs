//! Lets background work yield to requests that are being answered.

use std::{sync::Arc, time::Duration};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// How long a piece of background work waits at most, so that it goes on however busy a server is.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// Who waits for an answer now. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct ForegroundGate(Arc<State>);

#[derive(Default)]
struct State {
    waiting: Mutex<usize>,
    quiet: Condvar,
}

impl ForegroundGate {
    /// Somebody waits for an answer, until that is dropped.
    pub(crate) fn enter(&self) -> ForegroundGuard {
        *self.waiting() += 1;
        ForegroundGuard(self.clone())
    }

    /// Waits until nobody waits for an answer, but not for ever. Blocks the thread.
    pub(super) fn yield_to_foreground(&self) {
        self.0.quiet.wait_while_for(&mut self.waiting(), |waiting| *waiting > 0, MAX_WAIT);
    }

    fn waiting(&self) -> MutexGuard<'_, usize> {
        self.0.waiting.lock()
    }
}

/// Somebody waits for an answer.
pub struct ForegroundGuard(ForegroundGate);

impl Drop for ForegroundGuard {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting();
        *waiting = waiting.saturating_sub(1);
        if *waiting == 0 {
            self.0.0.quiet.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn work_waits_while_somebody_waits_for_an_answer_but_not_for_ever() {
        let foreground = ForegroundGate::default();
        let begun = Instant::now();
        foreground.yield_to_foreground();
        assert!(begun.elapsed() < MAX_WAIT, "nobody waits");

        let answering = foreground.enter();
        let begun = Instant::now();
        foreground.yield_to_foreground();
        assert!(begun.elapsed() >= MAX_WAIT);

        let other = foreground.clone();
        let worker = std::thread::spawn(move || other.yield_to_foreground());
        drop(answering);
        worker.join().unwrap();
        let begun = Instant::now();
        foreground.yield_to_foreground();
        assert!(begun.elapsed() < MAX_WAIT, "the answer was given");
    }
}
