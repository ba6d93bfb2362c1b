//! The checkpoint of a repository: what the last completed sync read, what an interrupted one may have left half done,
//! and so how much the next one must do. It has the version of a commit record: with another one, commits are read
//! again.

use std::collections::BTreeSet;

use backstory_model::commit::Sha;
use serde::{Deserialize, Serialize};

use super::Tips;
use crate::{error::Result, resources::Resources};

/// Name of it in the ledger.
const NAME: &str = "standing";
/// What is kept of a commit, how code entities are named, and how blame is computed. With another number everything is read
/// again at the next sync.
pub(super) const FORMAT: u32 = 5;

/// What everything that is said of a repository follows from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// The tips that are indexed.
    pub(super) tips: Tips,
    /// Those of further branches, tags and commits whose files are indexed.
    #[serde(default)]
    pub(super) refs: Tips,
    /// Name of the default branch.
    pub(super) default: String,
    /// Commits whose parents are cut off, in order.
    pub(super) boundary: Vec<Sha>,
    /// How many commits are kept, the newest; all if absent.
    #[serde(default)]
    pub(super) window: Option<usize>,
    /// Which files are looked into, as [`RepositorySettings::selection`](crate::settings::RepositorySettings::selection) says.
    #[serde(default)]
    pub(super) selection: String,
    /// Which [`FORMAT`] the records of commits have.
    #[serde(default)]
    pub(super) format: u32,
}

impl Checkpoint {
    fn has_other_tips(&self, other: &Self) -> bool {
        self.tips != other.tips || self.refs != other.refs
    }

    /// Every commit that is a tip.
    pub(super) fn all_tips(&self) -> BTreeSet<Sha> {
        self.tips.values().chain(self.refs.values()).copied().collect()
    }

    /// Whether commits must be read again before anything can be said of this one.
    fn requires_reread(&self, other: &Self) -> bool {
        self.boundary != other.boundary || self.window != other.window || self.format != other.format
    }
}

/// How much a sync has to do, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SyncPlan {
    /// Nothing is new.
    Nothing,
    /// What was said before holds, but for what new commits change.
    Forward,
    /// The stored commits are as they were; everything that follows from them together is computed again.
    // Earlier versions noted it by this name.
    #[serde(alias = "anew")]
    Recompute,
    /// The commits are read again too.
    Again,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SyncState {
    done: Option<Checkpoint>,
    under_way: Option<(Checkpoint, SyncPlan)>,
}

/// Notes that a sync to this basis is under way. Says how much it has to do and where the last whole one ended.
pub(super) fn begin_sync(
    resources: &Resources,
    project: &str,
    basis: &Checkpoint,
    full: bool,
) -> Result<(SyncPlan, Checkpoint)> {
    let standing = load_standing(resources, project)?;
    let own = match &standing.done {
        _ if full => SyncPlan::Again,
        None => SyncPlan::Recompute,
        Some(done) if done.requires_reread(basis) => SyncPlan::Again,
        Some(done) if done.default != basis.default || done.selection != basis.selection => SyncPlan::Recompute,
        // Sums over commits of which some have left are rebuilt.
        Some(done) if done.has_other_tips(basis) && basis.window.is_some() => SyncPlan::Recompute,
        Some(done) if done.has_other_tips(basis) => SyncPlan::Forward,
        Some(_) => SyncPlan::Nothing,
    };
    // What an interrupted sync wrote is part of what this one would write only if both have the same basis.
    let left = match &standing.under_way {
        None => SyncPlan::Nothing,
        Some((other, extent)) if other == basis => *extent,
        Some((other, _)) if other.requires_reread(basis) => SyncPlan::Again,
        Some((_, extent)) => (*extent).max(SyncPlan::Recompute),
    };
    let extent = own.max(left);
    let done = standing.done.clone().unwrap_or_default();
    if extent > SyncPlan::Nothing {
        put_standing(resources, project, &SyncState { under_way: Some((basis.clone(), extent)), ..standing })?;
    }
    Ok((extent, done))
}

/// Notes that a sync to this basis came to its end.
pub(super) fn finish_sync(resources: &Resources, project: &str, basis: Checkpoint) -> Result<()> {
    put_standing(resources, project, &SyncState { done: Some(basis), under_way: None })
}

/// The basis of the last sync, if that came to its end.
pub(super) fn completed_sync(resources: &Resources, project: &str) -> Result<Option<Checkpoint>> {
    let SyncState { done, under_way } = load_standing(resources, project)?;
    Ok(done.filter(|_| under_way.is_none()))
}

fn load_standing(resources: &Resources, project: &str) -> Result<SyncState> {
    let stored = resources.ledger().aggregate(project, NAME)?;
    // What cannot be read is as if nothing had been done.
    Ok(stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
}

fn put_standing(resources: &Resources, project: &str, standing: &SyncState) -> Result<()> {
    Ok(resources.ledger().put_aggregate(project, NAME, &serde_json::to_vec(standing).unwrap_or_default())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_an_earlier_version_noted_is_read() {
        assert_eq!(serde_json::from_str::<SyncPlan>("\"anew\"").unwrap(), SyncPlan::Recompute);
    }
}
