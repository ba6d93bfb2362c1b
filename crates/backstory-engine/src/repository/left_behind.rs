//! Unreachable commits, which no indexed branch reaches any more, and commits that are too old to be kept.

use std::collections::{BTreeSet, HashSet};

use backstory_model::{commit::Sha, entity::ItemKind};
use backstory_sources::git::graph::CommitGraph;
use backstory_store::ledger::Page;
use jiff::Timestamp;
use serde_json::json;

use super::{
    commit_record,
    people::note_possible_orphans,
    sync::{BATCH, Work},
};
use crate::error::Result;

/// Most commits that a record names.
const NAMED: usize = 100;

impl Work<'_> {
    /// Takes out the stored commits that are not to be kept, with a record of that: older ones, and such as no branch
    /// reaches any more.
    pub(super) fn retire_commits(&mut self, kept: &HashSet<Sha>, stored: &HashSet<Sha>) -> Result<()> {
        let left: BTreeSet<Sha> = stored.difference(kept).copied().collect();
        if !left.is_empty() {
            note_possible_orphans(self.resources)?;
        }
        let gone: Vec<_> =
            left.iter().map(|sha| (self.project.to_owned(), ItemKind::Commit, sha.to_string())).collect();
        let names: Vec<String> = left.iter().take(NAMED).map(|sha| format!("{}@{sha}", self.project)).collect();
        let counts = json!({ "commits": gone.len(), "names": names });
        let ledger = self.resources.ledger();
        self.report.retired += ledger.retire(self.project, &gone, &[], &counts, Timestamp::now())?;
        Ok(ledger.record_rewritten(self.project, &BTreeSet::new())?)
    }

    /// Marks the stored commits that no branch reaches any more, and takes the mark from those that one reaches again.
    pub(super) fn mark_unreachable(&mut self, graph: &CommitGraph, stored: &HashSet<Sha>) -> Result<()> {
        let left: BTreeSet<Sha> = stored.iter().copied().filter(|commit| !graph.has(*commit)).collect();
        let Some(entry) = self.resources.ledger().repository(self.project)? else { return Ok(()) };
        // Noted before it is done: whatever may have a mark is looked at again, should this be interrupted.
        let looked_at: BTreeSet<Sha> = left.union(&entry.rewritten).copied().collect();
        if looked_at != entry.rewritten {
            self.resources.ledger().record_rewritten(self.project, &looked_at)?;
        }
        let looked_at: Vec<Sha> = looked_at.into_iter().collect();
        for batch in looked_at.chunks(BATCH) {
            let mut page = Page { fetched_at: Timestamp::now(), ..Page::default() };
            for commit in batch {
                let Some(mut record) = commit_record(self.resources, self.project, &commit.to_string())? else {
                    continue;
                };
                if record.rewritten != left.contains(commit) {
                    record.rewritten = left.contains(commit);
                    page.items.push(self.commit_item(&record));
                }
            }
            self.commit(&page)?;
        }
        if left != entry.rewritten {
            self.resources.ledger().record_rewritten(self.project, &left)?;
        }
        Ok(())
    }
}
