//! Repairs a projection that proves damaged while it is in use: it is computed again from the ledger, and the operation
//! that needed it is repeated. What the disk or the system refuses for lack of room or descriptors is no damage.

use crate::{
    error::Result,
    generation::{rebuild_graph, rebuild_index},
    resources::Resources,
    state::repairs::Last,
    task::Reporter,
};

/// What happened while the stores were opened, and [repairs].
pub(crate) fn notices(resources: &Resources) -> Vec<String> {
    let mut notices = resources.shared.notices.lock().clone();
    notices.extend(repairs(resources));
    notices
}

/// What was rebuilt since the stores were opened, because it proved damaged: a sentence each time, for people.
pub(crate) fn repairs(resources: &Resources) -> Vec<String> {
    resources.shared.repairs.notices.lock().clone()
}

/// Whether a projection has proved damaged and was not rebuilt yet.
fn is_damaged(resources: &Resources) -> bool {
    resources.graph().damage().is_some() || resources.index().damage().is_some()
}

/// Rebuilds projections that proved damaged, and waits until that is done, even if another thread does it.
///
/// # Errors
/// One was rebuilt twice within an hour, or cannot be.
pub(crate) async fn repair(resources: &Resources) -> Result<()> {
    if !is_damaged(resources) {
        return Ok(());
    }
    let resources = resources.with_full_visibility();
    // A task of its own continues when its caller has timed out.
    tokio::spawn(async move {
        let mut last = resources.shared.repairs.last.lock().await;
        match repair_once(&resources, &mut last).await {
            // The graph's links are found with the index, which may prove damaged then.
            Err(error) if resources.index().damage().is_some() => {
                tracing::debug!(%error, "the other projection proved damaged too");
                repair_once(&resources, &mut last).await
            }
            done => done,
        }
    })
    .await?
}

async fn repair_once(resources: &Resources, last: &mut Last) -> Result<()> {
    let reason = resources.index().damage().map(str::to_owned);
    if let Some(reason) = reason {
        last.index.make("index", &reason, rebuild_index(resources, &Reporter::without_listener())).await?;
        note_repair(resources, "index", &reason);
    }
    let reason = resources.graph().damage().map(str::to_owned);
    if let Some(reason) = reason {
        last.graph.make("graph", &reason, rebuild_graph(resources, &Reporter::without_listener())).await?;
        note_repair(resources, "graph", &reason);
    }
    Ok(())
}

/// Rebuilds projections in the background if they proved damaged.
pub(crate) fn repair_in_background(resources: &Resources) {
    if is_damaged(resources) {
        let resources = resources.clone();
        tokio::spawn(async move {
            if let Err(error) = repair(&resources).await {
                tracing::error!(%error, "a damaged projection was not rebuilt");
            }
        });
    }
}

/// Does a step that reads or writes projections; if one of them proves damaged, rebuilds it and does the step once
/// more. The step may be repeated at any time; the caller does not keep others from projecting.
pub(crate) async fn retry_after_repair<T, F>(resources: &Resources, step: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    match Box::pin(step()).await {
        Err(error) if is_damaged(resources) => {
            tracing::debug!(%error, "a projection proved damaged");
            repair(resources).await?;
            Box::pin(step()).await
        }
        done => done,
    }
}

fn note_repair(resources: &Resources, name: &str, reason: &str) {
    let notice = format!("the {name} was damaged and was rebuilt from the ledger: {reason}");
    tracing::info!(notice, "mended");
    resources.shared.repairs.notices.lock().push(notice);
}
