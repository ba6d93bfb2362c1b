//! A cache of parsed discussions, kept while the ledger is unchanged: reading those of a large merge request takes
//! longer than the rest of a trace.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use backstory_model::{entity::Discussion, id::ThreadId, visibility::Visibility};

/// Issues and merge requests whose discussions are kept.
const KEPT: usize = 256;

/// An issue or merge request as somebody sees it.
type CacheKey = (ThreadId, Visibility);

/// The discussions of the issues and merge requests that were asked for last, as of a change of the ledger.
#[derive(Default)]
pub(crate) struct DiscussionCache {
    seq: u64,
    discussions: HashMap<CacheKey, Arc<Vec<Discussion>>>,
    /// In the order in which they were read.
    order: VecDeque<CacheKey>,
}

impl DiscussionCache {
    pub(crate) fn get(&mut self, seq: u64, id: &CacheKey) -> Option<Arc<Vec<Discussion>>> {
        if self.seq != seq {
            *self = Self { seq, ..Self::default() };
        }
        self.discussions.get(id).cloned()
    }

    pub(crate) fn keep(&mut self, seq: u64, id: &CacheKey, discussions: &Arc<Vec<Discussion>>) {
        if self.seq != seq || self.discussions.insert(id.clone(), discussions.clone()).is_some() {
            return;
        }
        self.order.push_back(id.clone());
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.discussions.remove(&oldest);
        }
    }
}
