//! Retention: removes what the configured age and size do not permit. The outcome is that of a first sync, which never
//! fetches it.
//!
//! Closed threads older than the horizon, by the forge's clock once for each sync, are neither fetched nor kept. Which
//! ones leave because of the size depends on the sizes of all, also of those that left: the table `retired` has their
//! keys, times and sizes, and says when there is room again. It is applied once forge and repository were read. Commits
//! are limited in `repository::sync`: with a window the commit graph has no others, so all that follows from it is a
//! function of the window; only blame names older commits, from the clone. What left is purged from the files as by an
//! erasure, at most once a day.

use std::collections::{BTreeMap, HashSet};

use backstory_model::{
    entity::{Item, ItemKind, State},
    id::{ThreadId, ThreadKind},
    visibility::Visibility,
};
use backstory_sources::forge::{Client, ThreadListing};
use backstory_store::ledger::{Retired, StoredItem};
use jiff::Timestamp;
use serde_json::json;

use super::{Report, number, project::ProjectSync};
use crate::{
    error::Result, forget::subject::people_referenced_only_by, records::parse_item, resources::Resources,
    settings::Forge, task::Reporter,
};

/// Most threads that a record names.
const NAMED: usize = 100;
/// Threads that are read at once.
const BATCH: usize = 500;
/// How often threads for which there is room are fetched, since one may have become larger than it was.
const ROUNDS: usize = 3;

impl ProjectSync<'_> {
    /// Takes the forge's time for the time of this sync.
    pub(super) fn begin_at(&mut self, forge_time: Timestamp) {
        if let Some(kept) = self.resources.settings().retention.closed {
            self.horizon.get_or_insert(forge_time.checked_sub(kept).unwrap_or(Timestamp::MIN));
        }
    }

    /// Whether a listed item is not kept.
    pub(super) fn is_too_old(&self, listing: &ThreadListing) -> bool {
        is_closed(listing) && self.horizon.is_some_and(|horizon| listing.updated_at < horizon)
    }

    /// Whether there is no room for a listed item, which has not changed since that was found.
    pub(super) fn has_no_room(&self, listing: &ThreadListing) -> bool {
        let known = self.no_room.get(&format!("{}{}", listing.kind.sigil(), listing.iid));
        is_closed(listing) && known.is_some_and(|known| known.updated_at == listing.updated_at)
    }

    /// Takes out what has become too old, and the people whom nothing else names.
    pub(super) async fn retire(&mut self) -> Result<()> {
        let Some(horizon) = self.horizon else { return Ok(()) };
        self.committed().await?;
        let project = self.project.to_owned();
        self.report.retired += self.resources.blocking(move |resources| retire(resources, &project, horizon)).await?;
        Ok(())
    }
}

fn is_closed(listing: &ThreadListing) -> bool {
    matches!(listing.payload["state"].as_str(), Some("closed" | "merged"))
}

/// A closed thread.
struct Closed {
    of: Retired,
    kind: ThreadKind,
    iid: u64,
    /// Whether it is in the ledger.
    is_there: bool,
}

/// What has to be done for a project to fit.
#[derive(Default)]
struct SizePlan {
    /// What leaves.
    retire: Vec<Retired>,
    /// For what there is room again.
    restore: Vec<(ThreadKind, u64)>,
    /// Bytes that are too many all the same.
    excess_bytes: u64,
}

/// Takes the oldest closed threads of a project out until the others fit, and fetches those for which there is room
/// again.
pub(super) async fn enforce_size_limit(
    resources: &Resources,
    forge: &Forge,
    client: &Client,
    project: &str,
    reporter: &Reporter,
    report: &mut Report,
) -> Result<()> {
    for round in 0..=ROUNDS {
        let path = project.to_owned();
        let plan = resources.blocking(move |resources| plan_size(resources, &path)).await?;
        if !plan.restore.is_empty() && round < ROUNDS {
            Box::pin(ProjectSync::new(resources, forge, client, project, reporter, report).refetch(&plan.restore))
                .await?;
            let (path, back) = (project.to_owned(), plan.restore.clone());
            resources
                .with_ledger(move |ledger| {
                    let keys: Vec<String> = back.iter().map(|(kind, iid)| format!("{}{iid}", kind.sigil())).collect();
                    ledger.restore_retired(&path, &keys)
                })
                .await?;
            continue;
        }
        if plan.excess_bytes > 0 {
            report.too_large.insert(project.to_owned(), plan.excess_bytes);
        }
        if !plan.retire.is_empty() {
            let path = project.to_owned();
            report.retired += resources
                .blocking(move |resources| {
                    let keys: Vec<String> = plan.retire.iter().map(|of| of.thread.clone()).collect();
                    remove_threads(resources, &path, &keys, &plan.retire)
                })
                .await?;
        }
        break;
    }
    Ok(())
}

fn plan_size(resources: &Resources, project: &str) -> Result<SizePlan> {
    let known = resources.ledger().retired(project)?;
    // Without a limit there is room for all that there was none for.
    let limit = match resources.settings().retention.bytes {
        None if known.is_empty() => return Ok(SizePlan::default()),
        limit => limit.unwrap_or(u64::MAX),
    };
    let sizes = resources.ledger().sizes(project)?;
    let mut taken: u64 = sizes.values().sum();
    if taken <= limit && known.is_empty() {
        return Ok(SizePlan::default());
    }
    let mut closed = list_closed(resources, project, &sizes)?;
    taken -= closed.iter().map(|thread| thread.of.bytes).sum::<u64>();
    closed.extend(known.into_values().filter_map(|of| {
        let (kind, iid) = number(&of.thread)?;
        Some(Closed { of, kind, iid, is_there: false })
    }));
    // The newest first.
    closed.sort_by_key(|thread| std::cmp::Reverse((thread.of.updated_at, thread.iid, thread.kind)));
    let mut plan = SizePlan { excess_bytes: taken.saturating_sub(limit), ..SizePlan::default() };
    let mut is_full = plan.excess_bytes > 0;
    for thread in closed {
        taken += thread.of.bytes;
        is_full = is_full || taken > limit;
        match (is_full, thread.is_there) {
            (true, true) => plan.retire.push(thread.of),
            (false, false) => plan.restore.push((thread.kind, thread.iid)),
            _ => {}
        }
    }
    Ok(plan)
}

/// The closed and merged threads that there are, with their sizes.
fn list_closed(resources: &Resources, project: &str, sizes: &BTreeMap<Option<String>, u64>) -> Result<Vec<Closed>> {
    let mut closed = Vec::new();
    for kind in [ItemKind::Issue, ItemKind::MergeRequest] {
        let mut after = None;
        loop {
            let batch = resources.ledger().items_in(project, kind, after.as_deref(), BATCH)?;
            let Some(last) = batch.last() else { break };
            after = Some(last.key.clone());
            for stored in batch.into_iter().filter(|stored| is_closed_thread(resources, stored)) {
                let (Some((kind, iid)), Some(updated_at)) = (number(&stored.key), stored.updated_at) else {
                    continue;
                };
                let bytes = sizes.get(&Some(stored.key.clone())).copied().unwrap_or(0);
                let of = Retired { thread: stored.key, updated_at, bytes };
                closed.push(Closed { of, kind, iid, is_there: true });
            }
        }
    }
    Ok(closed)
}

/// Whether a thread is closed or merged. One that cannot be read stays, and keeps no others from leaving.
fn is_closed_thread(resources: &Resources, stored: &StoredItem) -> bool {
    let state = match parse_item(resources, stored) {
        Ok(Item::Issue(issue)) => issue.thread.state,
        Ok(Item::MergeRequest(request)) => request.thread.state,
        Ok(_) => return false,
        Err(error) => {
            tracing::warn!(%error, "cannot find out whether it is kept");
            return false;
        }
    };
    matches!(state, State::Closed | State::Merged)
}

/// Says how many objects that were.
fn retire(resources: &Resources, project: &str, horizon: Timestamp) -> Result<u64> {
    let mut old = Vec::new();
    for kind in [ItemKind::Issue, ItemKind::MergeRequest] {
        for stored in resources.ledger().unchanged_since(project, kind, horizon)? {
            if is_closed_thread(resources, &stored) {
                old.push(stored.key);
            }
        }
    }
    // Those for which there was no room need not be remembered for that any more.
    let known = resources.ledger().retired(project)?;
    let too_old = known.into_values().filter(|of| of.updated_at < horizon).map(|of| of.thread).collect::<Vec<_>>();
    resources.ledger().restore_retired(project, &too_old)?;
    remove_threads(resources, project, &old, &[])
}

/// Takes threads out, and the people whom nothing else names, with a record of that; how many objects that were.
fn remove_threads(resources: &Resources, project: &str, threads: &[String], no_room: &[Retired]) -> Result<u64> {
    if threads.is_empty() {
        return Ok(0);
    }
    let mut gone = Vec::new();
    for key in threads {
        let items = resources.ledger().thread(project, key)?.into_iter();
        gone.extend(items.map(|item| (item.project, item.kind, item.key)));
    }
    let leaving: HashSet<&str> = threads.iter().map(String::as_str).collect();
    let people = people_referenced_only_by(resources, project, |item| {
        item.thread.as_deref().is_some_and(|thread| leaving.contains(thread))
    })?;
    let public = resources.with_visibility(Visibility::public());
    let is_public = |id: &ThreadId| public.ledger().is_hidden(id).is_ok_and(|hidden| !hidden);
    let ids = threads.iter().filter_map(|key| number(key));
    let ids = ids.map(|(kind, iid)| ThreadId { project: project.to_owned(), kind, iid }).filter(is_public);
    let names: Vec<String> = ids.take(NAMED).map(|id| id.to_string()).collect();
    let counts = json!({ "items": gone.len(), "people": people.len(), "threads": threads.len(), "names": names });
    gone.extend(people.into_iter().map(|key| (project.to_owned(), ItemKind::Person, key)));
    Ok(resources.ledger().retire(project, &gone, no_room, &counts, Timestamp::now())?)
}
