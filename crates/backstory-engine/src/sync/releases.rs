//! Reads releases again when the tags of a repository changed: no list of issues and merge requests says that there is a new
//! one.

use backstory_model::entity::ItemKind;
use backstory_sources::{forge::Client, git::Cancel};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Report, Scope, StopOnDrop, project::ProjectSync, reporting_pauses, update_profiles};
use crate::{
    catalog::list_forges, error::Result, refresh::catch_up, repository::sync::recompute_shipments,
    resources::Resources, task::Reporter,
};

/// Name of what releases were read for, in the ledger.
const NAME: &str = "releases";
/// How long after a change of the tags releases are read in every sync: a pipeline makes a release later than its tag.
const FOLLOWS_WITHIN: SignedDuration = SignedDuration::from_hours(1);

/// What the releases of a project were read for.
#[derive(Serialize, Deserialize)]
struct TagState {
    /// Sequence number of the last change of a tag.
    seq: u64,
    /// When a sync met it.
    met_at: Timestamp,
}

/// Reads the releases of the projects that were read whose tags changed lately.
///
/// # Errors
/// The first failure; others are read all the same.
pub(super) async fn reread_releases(
    resources: &Resources,
    scope: Scope,
    reporter: &Reporter,
    report: &mut Report,
) -> Result<()> {
    let mut failed = None;
    for forge in &list_forges(resources).await? {
        let mut due = Vec::new();
        for project in &forge.projects {
            let is_read = report.read.contains(project) && !report.unread.contains(project);
            if is_read && are_due(resources, project, scope).await? {
                due.push(project);
            }
        }
        if due.is_empty() {
            continue;
        }
        let client = Client::new(forge.kind, &forge.connection)?;
        let requests = report.requests;
        for project in due {
            let read = ProjectSync::new(resources, forge, &client, project, reporter, report).reread_project();
            let read = reporting_pauses(&client, reporter, read).await;
            let read = read.and(follow_releases(resources, project, reporter, report).await);
            failed = failed.or(read.err());
        }
        report.requests = requests + client.metrics().requests;
        update_profiles(resources).await?;
        catch_up(resources, Some(reporter)).await?;
    }
    failed.map_or(Ok(()), Err)
}

/// Brings what shipped in which release up to the releases that were read.
async fn follow_releases(resources: &Resources, project: &str, reporter: &Reporter, report: &mut Report) -> Result<()> {
    let stop = StopOnDrop(Cancel::default());
    let (cancel, project, reporter) = (stop.0.clone(), project.to_owned(), reporter.clone());
    let followed =
        resources.blocking(move |resources| recompute_shipments(resources, &project, &reporter, &cancel)).await?;
    report.changes.add(&followed.changes);
    report.gone += followed.gone;
    Ok(())
}

/// Whether tags of a project changed lately. Where everything is read, releases were.
async fn are_due(resources: &Resources, project: &str, scope: Scope) -> Result<bool> {
    let project = project.to_owned();
    let check = move |resources: &Resources| {
        let (ledger, now) = (resources.ledger(), Timestamp::now());
        let seq = ledger.last_change(&project, ItemKind::Tag)?;
        let state = ledger.aggregate(&project, NAME)?;
        let known: Option<TagState> = state.and_then(|state| serde_json::from_slice(&state).ok());
        let is_first = known.is_none();
        if let Some(known) = known.filter(|known| known.seq == seq) {
            return Ok(now.duration_since(known.met_at) < FOLLOWS_WITHIN);
        }
        if seq > 0 {
            // The first sync of a project reads its releases.
            let met_at = if is_first { Timestamp::UNIX_EPOCH } else { now };
            let state = serde_json::json!(TagState { seq, met_at }).to_string();
            ledger.put_aggregate(&project, NAME, state.as_bytes())?;
        }
        Ok(seq > 0 && !is_first)
    };
    Ok(resources.blocking(check).await? && scope == Scope::New)
}
