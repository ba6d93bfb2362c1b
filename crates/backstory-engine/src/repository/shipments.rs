//! In which release each commit first shipped: the earliest tag that reaches it.
//!
//! Tags are taken in the order of the dates that are shown of them, so a tag that was put on an old commit later comes
//! later; of tags of one date, as a script makes them, that of an ancestor comes first. The answer depends on tags,
//! releases and history alone, however the repository was synced. It is computed when either has changed, and only what
//! differs is written.

use std::collections::{HashMap, HashSet};

use backstory_model::{
    commit::{ObjectKind, RepoPath, Sha},
    digest::sha256_hex,
    entity::{Item, ItemKind},
    repository::{MAX_SHIPPED, Shipment},
};
use backstory_sources::git::{graph::CommitGraph, refs::Refs};
use backstory_store::ledger::IngestBatch;
use jiff::Timestamp;

use super::{sync_state::Checkpoint, work::RepositorySync};
use crate::{clones::clone_path, error::Result, records::parse_if_readable};

/// Name of what the shipments follow from, in the ledger.
const NAME: &str = "shipments";
/// Shipments that are written at once.
const BATCH: usize = 100;
/// Most tags that are looked at, the newest.
const MAX_TAGS: usize = 20_000;

/// Brings the shipments of a repository up to date, if tags or commits have changed.
pub(super) fn update_shipments(sync: &mut RepositorySync<'_>, basis: &Checkpoint, refs: &Refs) -> Result<()> {
    let tags = dated_tags(sync, refs)?;
    let state = fingerprint(basis, &tags);
    let (ledger, project) = (sync.resources.ledger(), sync.project);
    if ledger.aggregate(project, NAME)?.as_deref() == Some(state.as_bytes()) {
        return Ok(());
    }
    let stored: HashSet<String> = ledger.keys(project, ItemKind::Commit)?.into_iter().collect();
    let tips: Vec<Sha> = basis.tips.values().copied().collect();
    let all: Vec<Sha> = tips.iter().copied().chain(tags.iter().map(|tag| tag.target)).collect();
    let graph = CommitGraph::read(&sync.git, &clone_path(sync.resources, project), &all, sync.cancel)?;
    let mut shipments = first_releases(&graph, &tags);
    // What no indexed branch reaches, or is older than what is kept, is no commit of the ledger.
    let indexed = graph.reachable_from(&tips);
    for commits in shipments.values_mut() {
        commits.retain(|commit| indexed.contains(commit) && stored.contains(&commit.to_string()));
        commits.sort_unstable();
        commits.truncate(MAX_SHIPPED);
    }
    shipments.retain(|_, commits| !commits.is_empty());
    let mut shipments: Vec<Shipment> =
        shipments.into_iter().map(|(tag, commits)| Shipment { tag: tag.clone(), commits }).collect();
    shipments.sort_by(|a, b| a.tag.as_str().cmp(b.tag.as_str()));
    for batch in shipments.chunks(BATCH) {
        let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
        for shipment in batch {
            let key = shipment.tag.as_str().to_owned();
            page.items.push(sync.item(ItemKind::Shipment, key, None, None, shipment));
        }
        sync.ingest(&page)?;
    }
    let current: HashSet<&str> = shipments.iter().map(|shipment| shipment.tag.as_str()).collect();
    let ledger = sync.resources.ledger();
    let known = ledger.keys(project, ItemKind::Shipment)?;
    sync.tombstone(ItemKind::Shipment, known.into_iter().filter(|tag| !current.contains(tag.as_str())))?;
    Ok(sync.resources.ledger().put_aggregate(project, NAME, state.as_bytes())?)
}

/// A tag on a commit.
struct DatedTag<'a> {
    name: &'a RepoPath,
    target: Sha,
    /// When the forge released it, or when it was made; `None` if only its commit has a date.
    at: Option<Timestamp>,
}

/// The tags on commits, with their dates as [`find_release`](crate::releases::find_release) tells them.
fn dated_tags<'a>(sync: &RepositorySync<'_>, refs: &'a Refs) -> Result<Vec<DatedTag<'a>>> {
    let (resources, project) = (sync.resources, sync.project);
    let released: HashSet<String> = resources.ledger().keys(project, ItemKind::Release)?.into_iter().collect();
    let mut tags = Vec::new();
    for tag in refs.tags.iter().filter(|tag| tag.kind == ObjectKind::Commit) {
        let (name, target) = (&tag.name, tag.target);
        let of_forge = match released.contains(name.as_str()) {
            true => resources.ledger().item(project, ItemKind::Release, name.as_str())?,
            false => None,
        };
        let released_at = of_forge.and_then(|stored| match parse_if_readable(resources, &stored) {
            Some(Item::Release(release)) => release.released_at,
            _ => None,
        });
        let tagged_at = || Some(tag.annotation.as_ref()?.tagger.as_ref()?.at);
        tags.push(DatedTag { name, target, at: released_at.or_else(tagged_at) });
    }
    Ok(tags)
}

/// What shipments follow from.
fn fingerprint(basis: &Checkpoint, tags: &[DatedTag<'_>]) -> String {
    let mut text = serde_json::to_string(basis).unwrap_or_default();
    for DatedTag { name, target, at } in tags {
        text.push_str(&format!("\n{target} {} {at:?}", name.as_str()));
    }
    sha256_hex(&text)
}

/// The commits that each tag is the first to reach. Of tags of the same date that on the older commit has them, of those on
/// the same commit the first by name.
fn first_releases<'a>(graph: &CommitGraph, tags: &[DatedTag<'a>]) -> HashMap<&'a RepoPath, Vec<Sha>> {
    let dates = |tag: &DatedTag<'_>| {
        let of_commit = graph.corrected_time(tag.target)?;
        Some((tag.at.map_or(of_commit, Timestamp::as_second), of_commit))
    };
    let mut dated: Vec<((i64, i64), &RepoPath, Sha)> =
        tags.iter().filter_map(|tag| Some((dates(tag)?, tag.name, tag.target))).collect();
    dated.sort_by(|a, b| (a.0, a.1.as_str()).cmp(&(b.0, b.1.as_str())));
    let omitted = dated.len().saturating_sub(MAX_TAGS);
    let (mut seen, mut shipments) = (HashSet::new(), HashMap::new());
    for (_, tag, target) in dated.into_iter().skip(omitted) {
        let mut commits = Vec::new();
        let mut left: Vec<Sha> = if seen.insert(target) { vec![target] } else { Vec::new() };
        while let Some(commit) = left.pop() {
            left.extend(graph.parents(commit).filter(|parent| seen.insert(*parent)));
            commits.push(commit);
        }
        shipments.insert(tag, commits);
    }
    shipments
}
