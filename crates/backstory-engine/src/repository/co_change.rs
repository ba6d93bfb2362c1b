//! Co-change: which files and entities change together, counted over all commits.

use backstory_model::{
    cochange::{CoChangeCounter, Limits},
    repository::{CoChangedPair, CoChangedPairs},
};

use super::{
    aggregates::{CommitRange, fold_commits},
    summary::CommitSummary,
};
use crate::{co_changes::THRESHOLDS, error::Result, resources::Resources};

/// Names of the two counts in the ledger.
pub(super) const FILES: &str = "files";
pub(super) const ENTITIES: &str = "entities";
/// Most pairs of one repository that are told, those with the highest support.
const MAX_PAIRS: usize = 20_000;

/// The pairs that change together, with the counts brought up to date.
pub(super) fn co_changes(
    resources: &Resources,
    project: &str,
    name: &str,
    of: &CommitRange<'_>,
    all: &mut dyn FnMut() -> Result<Vec<CommitSummary>>,
) -> Result<CoChangedPairs> {
    let nothing = CoChangeCounter::<String>::new(Limits::default());
    let counts =
        fold_commits(resources, project, &format!("co_change {name}"), of, all, nothing, |counts, summary| {
            counts.add(if name == FILES { summary.files.clone() } else { summary.entities.clone() });
        })?;
    let mut pairs = counts.pairs(THRESHOLDS);
    pairs.sort_by(|a, b| b.support.cmp(&a.support).then_with(|| (&a.first, &a.second).cmp(&(&b.first, &b.second))));
    pairs.truncate(MAX_PAIRS);
    let mut pairs: Vec<CoChangedPair> = pairs
        .into_iter()
        .map(|pair| CoChangedPair {
            first: pair.first,
            second: pair.second,
            support: pair.support,
            confidence: pair.confidence,
        })
        .collect();
    pairs.sort_by(|a, b| (&a.first, &a.second).cmp(&(&b.first, &b.second)));
    Ok(CoChangedPairs { pairs })
}
