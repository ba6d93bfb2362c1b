//! Commit aggregates: values over all commits, stored beside the ledger's items so that only new commits are added.
//! They are computed from all commits again after a rewritten history, or while only a window of commits is kept.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::commit::{RepoPath, Sha};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::summary::CommitSummary;
use crate::{error::Result, resources::Resources};

/// Which commits a sum must be over.
pub(super) struct CommitRange<'a> {
    /// The tips that were indexed before.
    pub(super) before: &'a BTreeSet<Sha>,
    /// The tips now.
    pub(super) now: &'a BTreeSet<Sha>,
    /// The commits that are new since then; all of them if `forward` is not set.
    pub(super) new: &'a [CommitSummary],
    /// Whether the sum over the commits before can be extended.
    pub(super) forward: bool,
}

/// A sum, and the tips up to which commits are in it.
#[derive(Deserialize)]
struct State<T> {
    tips: BTreeSet<Sha>,
    sum: T,
}

#[derive(Serialize)]
struct StateRef<'a, T> {
    tips: &'a BTreeSet<Sha>,
    sum: &'a T,
}

/// A sum brought up to date. `all` reads all commits, should the stored sum be of no use.
pub(super) fn fold_commits<T: Serialize + DeserializeOwned>(
    resources: &Resources,
    project: &str,
    name: &str,
    of: &CommitRange<'_>,
    all: &mut dyn FnMut() -> Result<Vec<CommitSummary>>,
    nothing: T,
    add: impl Fn(&mut T, &CommitSummary),
) -> Result<T> {
    let stored = resources.ledger().aggregate(project, name)?.filter(|_| of.forward);
    let known = stored.and_then(|bytes| serde_json::from_slice::<State<T>>(&bytes).ok());
    let sum = match known {
        Some(state) if state.tips == *of.now => return Ok(state.sum),
        Some(state) if state.tips == *of.before => fold(state.sum, of.new, add),
        _ if of.forward => fold(nothing, &all()?, add),
        _ => fold(nothing, of.new, add),
    };
    put_aggregate(resources, project, name, of.now, &sum)?;
    Ok(sum)
}

/// Stores a sum over what tips reach.
pub(super) fn put_aggregate<T: Serialize>(
    resources: &Resources,
    project: &str,
    name: &str,
    tips: &BTreeSet<Sha>,
    sum: &T,
) -> Result<()> {
    let state = serde_json::to_vec(&StateRef { tips, sum }).unwrap_or_default();
    Ok(resources.ledger().put_aggregate(project, name, &state)?)
}

/// When the newest commit was that changed a path, of every path that there ever was; stored under a name.
pub(super) fn changed_at(
    resources: &Resources,
    project: &str,
    name: &str,
    of: &CommitRange<'_>,
    all: &mut dyn FnMut() -> Result<Vec<CommitSummary>>,
) -> Result<BTreeMap<RepoPath, Timestamp>> {
    fold_commits(resources, project, name, of, all, BTreeMap::new(), |times, summary| {
        for path in &summary.touched {
            let time = times.entry(path.clone()).or_insert(summary.at);
            *time = summary.at.max(*time);
        }
    })
}

fn fold<T>(mut sum: T, commits: &[CommitSummary], add: impl Fn(&mut T, &CommitSummary)) -> T {
    commits.iter().for_each(|summary| add(&mut sum, summary));
    sum
}
