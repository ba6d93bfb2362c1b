//! What changes together, counted over all commits, with the counts kept so that new commits are added to them.

use std::collections::BTreeSet;

use backstory_model::{
    cochange::{CoChange, Limits, Thresholds},
    commit::Sha,
    repository::{CoChangedPair, CoChanges},
};
use serde::{Deserialize, Serialize};

use super::sync::Summary;
use crate::{Engine, error::Result};

/// Names of the two counts in the ledger.
pub(super) const FILES: &str = "files";
pub(super) const ENTITIES: &str = "entities";
/// What a pair must reach to be told.
const TOLD: Thresholds = Thresholds { support: 3, confidence: 0.3 };
/// Most pairs of one repository that are told, those with the highest support.
const MAX_PAIRS: usize = 20_000;

/// Counts, and the tips up to which commits are counted.
#[derive(Serialize, Deserialize)]
struct State {
    tips: BTreeSet<Sha>,
    counts: CoChange<String>,
}

/// Which commits a count must have.
pub(super) struct Counted<'a> {
    /// The tips that were indexed before.
    pub(super) before: &'a BTreeSet<Sha>,
    /// The tips now.
    pub(super) now: &'a BTreeSet<Sha>,
    /// Commits that are new since then; `None` if history was rewritten, so that all are counted again.
    pub(super) new: Option<&'a [Summary]>,
}

impl Engine {
    /// The pairs that change together, with the counts brought up to date.
    pub(super) fn co_changes(
        &self,
        project: &str,
        name: &str,
        of: &Counted<'_>,
        all: &mut dyn FnMut() -> Result<Vec<Summary>>,
    ) -> Result<CoChanges> {
        let key = format!("co_change {name}");
        let stored = self.ledger().derived(project, &key)?;
        let known = stored.and_then(|bytes| serde_json::from_slice::<State>(&bytes).ok());
        let ids = |summary: &Summary| if name == FILES { summary.files.clone() } else { summary.entities.clone() };
        let counts = match (known, of.new) {
            (Some(state), _) if state.tips == *of.now => state.counts,
            (Some(state), Some(new)) if state.tips == *of.before => {
                let mut counts = state.counts;
                new.iter().for_each(|summary| counts.add(ids(summary)));
                counts
            }
            _ => {
                let mut counts = CoChange::new(Limits::default());
                all()?.iter().for_each(|summary| counts.add(ids(summary)));
                counts
            }
        };
        let mut pairs = counts.pairs(TOLD);
        pairs.sort_by(|a, b| b.support.cmp(&a.support).then_with(|| (&a.first, &a.second).cmp(&(&b.first, &b.second))));
        pairs.truncate(MAX_PAIRS);
        let state = State { tips: of.now.clone(), counts };
        self.ledger().put_derived(project, &key, &serde_json::to_vec(&state).unwrap_or_default())?;
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
        Ok(CoChanges { pairs })
    }
}
