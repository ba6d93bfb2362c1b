//! The state that the worker and those who queue jobs share.

use std::collections::HashMap;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// How the worker learns of jobs, and which tasks do them.
#[derive(Default)]
pub(crate) struct WorkerState {
    /// Somebody has put a job into the queue.
    pub(crate) waiting: Notify,
    /// The tasks that do jobs, by the jobs' numbers.
    pub(crate) tasks: Mutex<HashMap<i64, u64>>,
}
