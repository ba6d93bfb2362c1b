//! A sync of one repository that is at work, and how what it reads is written to the ledger.

use std::sync::Arc;

use backstory_model::{
    entity::ItemKind,
    id::NodeId,
    repository::{CommitRecord, Repository},
};
use backstory_sources::git::command::{Cancel, GitProgram};
use backstory_store::ledger::{IngestBatch, IngestCounts, NewItem};
use jiff::Timestamp;
use serde::Serialize;

use super::thread_key;
use crate::{
    error::{Error, ErrorKind, Result},
    records::repository_record,
    resources::Resources,
    task::Reporter,
};

/// Commits that are written at once.
pub(super) const BATCH: usize = 256;

/// What a sync of a repository did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) changes: IngestCounts,
    pub(crate) gone: u64,
    pub(crate) retired: u64,
}

/// The sync of one repository.
pub(super) struct RepositorySync<'a> {
    pub(super) resources: &'a Resources,
    pub(super) project: &'a str,
    pub(super) git: GitProgram,
    pub(super) threads: usize,
    pub(super) reporter: &'a Reporter,
    pub(super) cancel: &'a Cancel,
    pub(super) report: Report,
}

impl RepositorySync<'_> {
    pub(super) fn commit_item(&self, record: &CommitRecord) -> NewItem {
        let sha = record.commit.sha.to_string();
        let thread = thread_key(self.project, &NodeId::commit(self.project, &sha));
        let mut item = self.item(ItemKind::Commit, sha, Some(thread), Some(record.commit.committer.at), record);
        // What its lines held is not stored; that they held it is.
        for (rule, count) in &record.commit.secrets {
            *item.secrets.entry(rule.clone()).or_default() += count;
        }
        item
    }

    pub(super) fn repository(&self) -> Result<Arc<Repository>> {
        let missing = || Error::internal(format!("the ledger has lost the repository of {}", self.project));
        repository_record(self.resources, self.project)?.ok_or_else(missing)
    }

    /// An item of the repository as it is stored, without the secrets in it.
    pub(super) fn item<T: Serialize>(
        &self,
        kind: ItemKind,
        key: String,
        thread: Option<String>,
        updated_at: Option<Timestamp>,
        value: &T,
    ) -> NewItem {
        let mut item = new_item(self.resources, self.project, kind, key, value);
        (item.thread, item.updated_at) = (thread, updated_at);
        item
    }

    pub(super) fn ingest(&mut self, page: &IngestBatch) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::new(ErrorKind::Conflict, "the sync was stopped"));
        }
        let changes = self.resources.ledger().ingest(page)?;
        self.report.changes.add(&changes);
        Ok(())
    }

    pub(super) fn tombstone(&mut self, kind: ItemKind, keys: impl Iterator<Item = String>) -> Result<()> {
        let gone: Vec<_> = keys.map(|key| (self.project.to_owned(), kind, key)).collect();
        if !gone.is_empty() {
            self.report.gone += self.resources.ledger().tombstone(&gone, Timestamp::now())?;
        }
        Ok(())
    }
}

/// An item of a repository as it is stored, without the secrets in it, that belongs to no thread.
pub(super) fn new_item<T: Serialize>(
    resources: &Resources,
    project: &str,
    kind: ItemKind,
    key: String,
    value: &T,
) -> NewItem {
    // Records have text keys and finite numbers only.
    let mut json = serde_json::to_value(value).unwrap_or_default();
    let found = resources.redactor().redact_json(&mut json);
    NewItem {
        project: project.to_owned(),
        kind,
        key,
        thread: None,
        updated_at: None,
        secrets: found.iter().map(|(rule, count)| (rule.to_owned(), count)).collect(),
        confidential: false,
        payload: json.to_string().into_bytes(),
    }
}
