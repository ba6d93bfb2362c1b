//! What one SPARQL query may use: time and memory, checked wherever the evaluator touches a term or a row.
//!
//! The evaluator has no limits of its own, and loops of its joins, sorts and counts cannot return an error. So whatever
//! finds a limit exceeded unwinds the query's thread, and the query's caller reads here why.

use std::{
    panic::resume_unwind,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::graph::Cancel;

/// Longest time that a SPARQL query may take.
pub const MAX_TIME: Duration = Duration::from_secs(10);
/// Most bytes that a SPARQL query may hold at a time: terms of rows, groups and sorts.
pub const MAX_MEMORY: usize = 256 << 20;
/// Longest text that an expression of a SPARQL query may build.
pub const MAX_TEXT: usize = 64 << 10;
/// Most bytes that one replacement in a text may take meanwhile.
const MAX_REPLACEMENT: usize = 16 << 20;
/// What one query may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparqlLimits {
    /// How long it may take.
    pub time: Duration,
    /// Most bytes that it may hold at a time.
    pub memory: usize,
}

impl Default for SparqlLimits {
    fn default() -> Self {
        Self { time: MAX_TIME, memory: MAX_MEMORY }
    }
}

/// How many touches of terms and rows lie between two looks at the clock.
const TICKS_PER_CHECK: u64 = 256;

/// Which limit a query exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excess {
    Time,
    Memory,
    Text,
    Cancelled,
}

/// Measures one query.
pub(super) struct Meter {
    cancel: Cancel,
    deadline: Instant,
    memory: usize,
    ticks: AtomicU64,
    held: AtomicUsize,
    quads: AtomicU64,
    excess: Mutex<Option<Excess>>,
}

impl Meter {
    pub(super) fn new(limits: SparqlLimits, cancel: Cancel) -> Self {
        Self {
            cancel,
            deadline: Instant::now() + limits.time,
            memory: limits.memory,
            ticks: AtomicU64::default(),
            held: AtomicUsize::default(),
            quads: AtomicU64::default(),
            excess: Mutex::default(),
        }
    }

    /// Which limit was exceeded, if one was.
    pub(super) fn excess(&self) -> Option<Excess> {
        *self.excess.lock()
    }

    /// How many quads were read.
    pub(super) fn quads(&self) -> u64 {
        self.quads.load(Relaxed)
    }

    /// Counts a quad that was read.
    pub(super) fn read_quad(&self) {
        self.quads.fetch_add(1, Relaxed);
        self.tick();
    }

    /// Says that the evaluator goes on; unwinds if it must not.
    pub(super) fn tick(&self) {
        if self.ticks.fetch_add(1, Relaxed).is_multiple_of(TICKS_PER_CHECK) {
            if self.cancel.is_cancelled() {
                self.stop(Excess::Cancelled);
            }
            if Instant::now() > self.deadline {
                self.stop(Excess::Time);
            }
        }
    }

    /// Says that so many bytes more are held; unwinds if they are too many.
    pub(super) fn hold(&self, bytes: usize) {
        self.tick();
        if self.held.fetch_add(bytes, Relaxed) + bytes > self.memory {
            self.stop(Excess::Memory);
        }
    }

    /// Says that so many bytes are held no more.
    pub(super) fn release(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Relaxed);
    }

    /// Unwinds if a text is too long that an expression built.
    pub(super) fn check_text(&self, bytes: usize) {
        self.tick();
        if bytes > MAX_TEXT {
            self.stop(Excess::Text);
        }
    }

    /// Unwinds if replacing parts of a text could make one that is far too long.
    pub(super) fn check_replacement(&self, text: usize, replacement: usize) {
        if (text + 1).saturating_mul(replacement + 1) > MAX_REPLACEMENT {
            self.stop(Excess::Text);
        }
    }

    fn stop(&self, excess: Excess) -> ! {
        *self.excess.lock() = Some(excess);
        resume_unwind(Box::new("a SPARQL query exceeded a limit"))
    }
}
