//! Which merge requests introduced the commits that wrote a file's lines.

use std::collections::{BTreeMap, HashMap};

use backstory_model::{commit::Sha, id::ThreadId, lineage::Lineage};

use crate::{error::Result, introduction::merge_requests_introducing, resources::Resources};

/// Commits whose merge requests are looked up, those with most lines.
pub(super) const MAX_COMMITS: usize = 1_000;

/// The merge requests that introduced the commits of a lineage.
pub(super) struct Introductions {
    by_commit: HashMap<Sha, ThreadId>,
    left_out: usize,
}

impl Introductions {
    /// Looks up those of the commits with most lines.
    pub(super) fn find(resources: &Resources, project: &str, lineage: &Lineage) -> Result<Self> {
        let mut lines: BTreeMap<Sha, u32> = BTreeMap::new();
        for span in lineage.spans().as_slice() {
            *lines.entry(lineage.sources()[span.source as usize].commit).or_default() += span.lines;
        }
        let mut commits: Vec<(u32, Sha)> = lines.into_iter().map(|(commit, lines)| (lines, commit)).collect();
        commits.sort_unstable_by(|a, b| b.cmp(a));
        let mut by_commit = HashMap::new();
        for (_, commit) in commits.iter().take(MAX_COMMITS) {
            if let Some(nearest) = merge_requests_introducing(resources, project, *commit)?.into_iter().next() {
                by_commit.insert(*commit, nearest.id);
            }
        }
        Ok(Self { by_commit, left_out: commits.len().saturating_sub(MAX_COMMITS) })
    }

    /// How many commits were not looked up.
    pub(super) fn left_out(&self) -> usize {
        self.left_out
    }

    /// The nearest merge request that introduced a commit.
    pub(super) fn merge_request(&self, commit: Sha) -> Option<&ThreadId> {
        self.by_commit.get(&commit)
    }
}
