//! Follows the commits that wrote lines.

use std::collections::BTreeMap;

use backstory_model::{commit::Sha, repository::CommitRecord};

use super::{
    Trace,
    chain::{follow_commit, follow_unread_commit},
    words::CodeWords,
};
use crate::{error::Result, resources::Resources};

/// Goes on from a commit that wrote some of the lines; `with` are others that came with the same merge request.
pub(crate) fn follow_origin_commit(
    resources: &Resources,
    written: &OriginCommits<'_>,
    commit: Sha,
    with: &[Sha],
    words: &CodeWords,
    trace: &mut Trace,
) -> Result<()> {
    let Some(Some(record)) = written.records.get(&commit) else {
        if trace.indexed.commit.is_none() {
            let mut origins = trace.origins_of(&[commit]);
            origins.extend(trace.origins_of(with));
            return follow_unread_commit(resources, written.project, commit, &origins, words, trace);
        }
        trace.add_gap(match resources.settings().retention.commits {
            Some(count) => format!("commit {commit} is older than the {count} commits that are kept"),
            None => format!("commit {commit} is not in the index; run 'backstory sync'"),
        });
        return Ok(());
    };
    let mut origins = trace.origins_of(&[commit]);
    origins.extend(trace.origins_of(with));
    follow_commit(resources, written.project, record, &origins, words, trace)
}

/// The commits that wrote lines.
pub(crate) struct OriginCommits<'a> {
    pub(super) project: &'a str,
    /// How many lines each wrote, the most first.
    pub(super) commits: Vec<(u32, Sha)>,
    /// What is known of them.
    pub(super) records: BTreeMap<Sha, Option<CommitRecord>>,
}
