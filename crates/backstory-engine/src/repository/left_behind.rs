//! Commits that no indexed branch reaches any more.

use std::collections::{BTreeSet, HashSet};

use backstory_model::commit::Sha;
use backstory_sources::git::graph::CommitGraph;
use backstory_store::ledger::Page;
use jiff::Timestamp;

use super::sync::{BATCH, Work};
use crate::error::Result;

impl Work<'_> {
    /// Marks the stored commits that no branch reaches any more, and takes the mark from those that one reaches again.
    pub(super) fn mark_left_behind(&mut self, graph: &CommitGraph, stored: &HashSet<Sha>) -> Result<()> {
        let left: BTreeSet<Sha> = stored.iter().copied().filter(|commit| !graph.has(*commit)).collect();
        let Some(entry) = self.engine.ledger().repository(self.project)? else { return Ok(()) };
        // Noted before it is done: whatever may have a mark is looked at again, should this be interrupted.
        let looked_at: BTreeSet<Sha> = left.union(&entry.rewritten).copied().collect();
        if looked_at != entry.rewritten {
            self.engine.ledger().record_rewritten(self.project, &looked_at)?;
        }
        let looked_at: Vec<Sha> = looked_at.into_iter().collect();
        for batch in looked_at.chunks(BATCH) {
            let mut page = Page { fetched_at: Timestamp::now(), ..Page::default() };
            for commit in batch {
                let Some(mut record) = self.engine.commit_record(self.project, &commit.to_string())? else { continue };
                if record.rewritten != left.contains(commit) {
                    record.rewritten = left.contains(commit);
                    page.items.push(self.commit_item(&record));
                }
            }
            self.commit(&page)?;
        }
        if left != entry.rewritten {
            self.engine.ledger().record_rewritten(self.project, &left)?;
        }
        Ok(())
    }
}
