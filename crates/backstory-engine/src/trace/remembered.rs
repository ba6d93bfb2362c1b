//! A cache of parsed discussions, kept while the ledger is unchanged: reading those of a large merge request takes
//! longer than the rest of a trace.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use backstory_model::{entity::Discussion, id::ThreadId, visibility::Visibility};

use crate::{error::Result, read::parse_discussions, resources::Resources};

/// Issues and merge requests whose discussions are kept.
const KEPT: usize = 256;

/// An issue or merge request as somebody sees it.
type Seen = (ThreadId, Visibility);

/// The discussions of the issues and merge requests that were asked for last, as of a change of the ledger.
#[derive(Default)]
pub(crate) struct Remembered {
    seq: u64,
    discussions: HashMap<Seen, Arc<Vec<Discussion>>>,
    /// In the order in which they were read.
    order: VecDeque<Seen>,
}

impl Remembered {
    fn get(&mut self, seq: u64, id: &Seen) -> Option<Arc<Vec<Discussion>>> {
        if self.seq != seq {
            *self = Self { seq, ..Self::default() };
        }
        self.discussions.get(id).cloned()
    }

    fn keep(&mut self, seq: u64, id: &Seen, discussions: &Arc<Vec<Discussion>>) {
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

/// What was read is read again.
pub(crate) fn clear_discussion_cache(resources: &Resources) {
    *resources.shared.remembered.lock() = Remembered::default();
}

/// The discussions of an issue or merge request that hold notes of people, oldest first.
pub(crate) fn discussions_of(resources: &Resources, id: &ThreadId) -> Result<Arc<Vec<Discussion>>> {
    let remembered = || resources.shared.remembered.lock();
    let seq = resources.ledger().last_seq()?;
    let seen = (id.clone(), resources.visibility().clone());
    if let Some(known) = remembered().get(seq, &seen) {
        return Ok(known);
    }
    let items = resources.ledger().thread(&id.project, &id.short())?;
    let discussions = Arc::new(parse_discussions(resources, &items));
    remembered().keep(seq, &seen, &discussions);
    Ok(discussions)
}
