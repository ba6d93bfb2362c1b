//! Finds what a language model has not written about yet, the newest first.

use std::collections::{BTreeSet, HashMap};

use backstory_model::{
    digest::sha256,
    entity::{Item, ItemKind},
    generated::GeneratedKind,
    id::NodeId,
    repository::Record,
};
use jiff::Timestamp;

use super::prompt_version;
use crate::{
    error::Result,
    generated::{design_notes::thread_input, results::for_each_generated},
    records::each_item,
    resources::Resources,
};

/// Most items of a kind of a project that are looked at.
const MAX_ITEMS: usize = 1_000_000;

/// Something to write about.
pub(super) struct Pending {
    pub(super) kind: GeneratedKind,
    pub(super) about: NodeId,
    at: Timestamp,
}

/// What this model has not written about as it is now, the newest first.
pub(super) fn list_pending(
    resources: &Resources,
    projects: &BTreeSet<String>,
    what: Option<GeneratedKind>,
    model: &str,
) -> Result<Vec<Pending>> {
    let mut pending = Vec::new();
    for kind in GeneratedKind::ALL.into_iter().filter(|kind| what.is_none_or(|what| what == *kind)) {
        let mut known: HashMap<String, [u8; 32]> = HashMap::new();
        for_each_generated(resources, kind, |written| {
            if written.model == model && written.prompt == prompt_version(kind) {
                known.insert(written.subject, written.input);
            }
        })?;
        for project in projects {
            match kind {
                GeneratedKind::Classification => pending_commits(resources, project, &known, &mut pending)?,
                GeneratedKind::DesignNotes => pending_threads(resources, project, &known, &mut pending)?,
            }
        }
    }
    pending.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.about.cmp(&b.about)));
    Ok(pending)
}

/// A commit never changes, so one that was written about stays so. A merge does what the commits it brought do.
fn pending_commits(
    resources: &Resources,
    project: &str,
    known: &HashMap<String, [u8; 32]>,
    pending: &mut Vec<Pending>,
) -> Result<()> {
    each_item(resources, project, ItemKind::Commit, MAX_ITEMS, |item| {
        let Item::Repository(of) = item else { return };
        let Record::Commit(record) = of.record else { return };
        let about = NodeId::commit(project, &record.commit.sha.to_string());
        if !record.commit.is_merge() && !record.rewritten && !known.contains_key(&about.to_string()) {
            pending.push(Pending { kind: GeneratedKind::Classification, about, at: record.commit.committer.at });
        }
    })
}

fn pending_threads(
    resources: &Resources,
    project: &str,
    known: &HashMap<String, [u8; 32]>,
    pending: &mut Vec<Pending>,
) -> Result<()> {
    let mut threads = Vec::new();
    for kind in [ItemKind::Issue, ItemKind::MergeRequest] {
        each_item(resources, project, kind, MAX_ITEMS, |item| match item {
            Item::Issue(issue) => threads.push((issue.id, issue.thread.updated_at)),
            Item::MergeRequest(mr) => threads.push((mr.id, mr.thread.updated_at)),
            _ => {}
        })?;
    }
    for (id, at) in threads {
        let Some(input) = thread_input(resources, &id)? else { continue };
        if known.get(&id.to_string()) != Some(&sha256(input.prompt().user.as_bytes())) {
            pending.push(Pending { kind: GeneratedKind::DesignNotes, about: id.into(), at });
        }
    }
    Ok(())
}
