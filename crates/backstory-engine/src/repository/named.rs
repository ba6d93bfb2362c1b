//! Resolves abbreviated object names of earlier commits again: a later commit can make a name known, or ambiguous.

use std::collections::BTreeMap;

use backstory_model::commit::Sha;
use backstory_store::ledger::IngestBatch;
use jiff::Timestamp;

use super::{
    abbreviations::{AbbreviatedShas, known_of, resolve},
    aggregates::{CommitRange, fold_commits, put_aggregate},
    summary::CommitSummary,
    work::{BATCH, RepositorySync},
};
use crate::{error::Result, records::commit_record};

/// Name of the sum in the ledger.
const NAME: &str = "names";

/// Says again what abbreviated names stand for where that has changed. `known` are all commits.
pub(super) fn update_abbreviations(
    sync: &mut RepositorySync<'_>,
    known: &[Sha],
    of: &CommitRange<'_>,
    all: &mut dyn FnMut() -> Result<Vec<CommitSummary>>,
) -> Result<()> {
    let nothing: BTreeMap<Sha, AbbreviatedShas> = BTreeMap::new();
    let mut said = fold_commits(sync.resources, sync.project, NAME, of, all, nothing, |said, summary| {
        if !summary.named.is_empty() {
            said.insert(summary.sha, summary.named.clone());
        }
    })?;
    let changed: Vec<Sha> = said
        .iter()
        .filter(|(_, named)| named.iter().any(|(text, target)| resolve(text, known) != *target))
        .map(|(commit, _)| *commit)
        .collect();
    for batch in changed.chunks(BATCH) {
        let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
        for commit in batch {
            let Some(named) = said.get_mut(commit) else { continue };
            named.iter_mut().for_each(|(text, target)| *target = resolve(text, known));
            let Some(mut record) = commit_record(sync.resources, sync.project, &commit.to_string())? else {
                continue;
            };
            record.named = known_of(named);
            page.items.push(sync.commit_item(&record));
        }
        sync.ingest(&page)?;
    }
    match changed.is_empty() {
        true => Ok(()),
        false => put_aggregate(sync.resources, sync.project, NAME, of.now, &said),
    }
}
