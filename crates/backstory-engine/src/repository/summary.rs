//! Summaries of commits: what of them is counted.

use std::collections::HashMap;

use backstory_model::{
    commit::{RepoPath, Sha},
    reference::ReferenceContext,
    repository::{CommitRecord, code_key},
};
use jiff::Timestamp;

use super::abbreviations::{AbbreviatedShas, abbreviated};
use crate::{
    error::Result,
    records::{commit_record, repository_record},
    resources::Resources,
};

/// What of a commit is counted.
#[derive(Clone, Debug)]
pub(crate) struct CommitSummary {
    pub(super) files: Vec<String>,
    pub(super) entities: Vec<String>,
    pub(super) sha: Sha,
    pub(super) touched: Vec<RepoPath>,
    pub(super) at: Timestamp,
    pub(super) people: [(String, String); 2],
    pub(super) named: AbbreviatedShas,
    /// Why not everything is known of it.
    pub(super) incomplete: Option<String>,
}

impl CommitSummary {
    pub(super) fn of(record: &CommitRecord, named: AbbreviatedShas) -> Self {
        let commit = &record.commit;
        let person = |of: &backstory_model::commit::Signature| (of.name.clone(), of.email.clone());
        // What a merge changes against its first parent was counted with the commits that it brought.
        let changes = if commit.is_merge() { &[][..] } else { &commit.changes[..] };
        let name = |path: &RepoPath| code_key(path.as_str(), None);
        Self {
            files: changes.iter().map(|change| name(&change.path)).collect(),
            entities: record
                .entities
                .iter()
                .map(|change| code_key(change.entity.path.as_str(), Some(&change.entity.name)))
                .collect(),
            sha: commit.sha,
            touched: commit.changes.iter().map(|change| change.path.clone()).collect(),
            at: commit.committer.at,
            named,
            incomplete: commit.incomplete.clone(),
            people: [person(&commit.author), person(&commit.committer)],
        }
    }
}

/// Summaries of commits; those that this run has not read come from the ledger.
pub(crate) fn load_summaries(
    resources: &Resources,
    project: &str,
    commits: &[Sha],
    read: &mut HashMap<Sha, CommitSummary>,
) -> Result<Vec<CommitSummary>> {
    let Some(repository) = repository_record(resources, project)? else { return Ok(vec![]) };
    let context = ReferenceContext { forge: repository.forge, project, forge_url: &repository.forge_url };
    let mut summaries = Vec::new();
    for commit in commits {
        match read.remove(commit) {
            Some(summary) => summaries.push(summary),
            None => {
                let Some(record) = commit_record(resources, project, &commit.to_string())? else { continue };
                let texts = abbreviated(&record.commit.message, context).into_iter();
                let named = texts.map(|text| (text.clone(), record.named.get(&text).copied())).collect();
                summaries.push(CommitSummary::of(&record, named));
            }
        }
    }
    Ok(summaries)
}
