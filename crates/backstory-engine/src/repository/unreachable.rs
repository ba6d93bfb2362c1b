//! Unreachable commits, which no indexed branch reaches any more, and commits that are too old to be kept.

use std::collections::{BTreeSet, HashSet};

use backstory_model::{commit::Sha, entity::ItemKind};
use backstory_sources::git::graph::CommitGraph;
use backstory_store::ledger::IngestBatch;
use jiff::Timestamp;
use serde_json::json;

use super::{
    people::note_possible_orphans,
    work::{BATCH, RepositorySync},
};
use crate::{error::Result, records::commit_record};

/// Most commits that a record names.
const NAMED: usize = 100;

/// Takes out the stored commits that are not to be kept, with a record of that: older ones, and such as no branch
/// reaches any more.
pub(super) fn retire_commits(sync: &mut RepositorySync<'_>, kept: &HashSet<Sha>, stored: &HashSet<Sha>) -> Result<()> {
    let left: BTreeSet<Sha> = stored.difference(kept).copied().collect();
    if !left.is_empty() {
        note_possible_orphans(sync.resources)?;
    }
    let gone: Vec<_> = left.iter().map(|sha| (sync.project.to_owned(), ItemKind::Commit, sha.to_string())).collect();
    let names: Vec<String> = left.iter().take(NAMED).map(|sha| format!("{}@{sha}", sync.project)).collect();
    let counts = json!({ "commits": gone.len(), "names": names });
    let ledger = sync.resources.ledger();
    sync.report.retired += ledger.retire(sync.project, &gone, &[], &counts, Timestamp::now())?;
    Ok(ledger.set_unreachable(sync.project, &BTreeSet::new())?)
}

/// Marks the stored commits that no branch reaches any more, and takes the mark from those that one reaches again. Those
/// before the boundary of a shallow clone are reached, though not by its graph.
pub(super) fn mark_unreachable(
    sync: &mut RepositorySync<'_>,
    graph: &CommitGraph,
    stored: &HashSet<Sha>,
    boundary: &[Sha],
) -> Result<()> {
    let mut left: BTreeSet<Sha> = stored.iter().copied().filter(|commit| !graph.contains(*commit)).collect();
    let mut reached = boundary.to_vec();
    while let Some(commit) = reached.pop() {
        if left.is_empty() {
            break;
        }
        let Some(record) = commit_record(sync.resources, sync.project, &commit.to_string())? else { continue };
        reached.extend(record.commit.parents.iter().copied().filter(|parent| left.remove(parent)));
    }
    let Some(entry) = sync.resources.ledger().repository(sync.project)? else { return Ok(()) };
    // Noted before it is done: whatever may have a mark is looked at again, should this be interrupted.
    let looked_at: BTreeSet<Sha> = left.union(&entry.unreachable).copied().collect();
    if looked_at != entry.unreachable {
        sync.resources.ledger().set_unreachable(sync.project, &looked_at)?;
    }
    let looked_at: Vec<Sha> = looked_at.into_iter().collect();
    for batch in looked_at.chunks(BATCH) {
        let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
        for commit in batch {
            let Some(mut record) = commit_record(sync.resources, sync.project, &commit.to_string())? else {
                continue;
            };
            if record.rewritten != left.contains(commit) {
                record.rewritten = left.contains(commit);
                page.items.push(sync.commit_item(&record));
            }
        }
        sync.ingest(&page)?;
    }
    if left != entry.unreachable {
        sync.resources.ledger().set_unreachable(sync.project, &left)?;
    }
    Ok(())
}
