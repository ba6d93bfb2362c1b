//! Brings everything that follows from the ledger up to date. A projection that proves damaged meanwhile is repaired, and
//! the step repeated.

use crate::{
    error::{Error, Result},
    generated::projection::refresh_written_of,
    generation::{copy_index_generation, rebuild_graph_generation},
    links::refresh_links_of,
    projection::{index_files_of_returned_clones, project_graph_and_lists, project_index},
    repair::retry_after_repair,
    resources::{Resources, blocking},
    task::Reporter,
};

/// Applies to graph, lists and index what the ledger has more, with text searchable when it returns. Calls wait for each
/// other, so that each projection sees changes in order.
pub(crate) async fn catch_up(resources: &Resources, reporter: Option<&Reporter>) -> Result<()> {
    retry_after_repair(resources, || project_changes(resources, reporter)).await
}

/// Applies to graph and lists what the ledger has more.
pub(crate) async fn catch_up_graph_and_lists(resources: &Resources) -> Result<()> {
    retry_after_repair(resources, || async {
        let _one_at_a_time = resources.shared.projecting.lock().await;
        project_graph_and_lists(resources, None).await
    })
    .await
}

async fn project_changes(resources: &Resources, reporter: Option<&Reporter>) -> Result<()> {
    let resources = resources.with_full_visibility();
    let _one_at_a_time = resources.shared.projecting.lock().await;
    project_graph_and_lists(&resources, reporter).await?;
    // What is in the store's files need not be read from its log when it is opened next.
    let graph = resources.graph();
    blocking(move || Ok(graph.flush()?)).await?;
    project_index(&resources, &resources.index(), reporter).await?;
    index_files_of_returned_clones(&resources).await
}

/// Brings the inferred links up to what ledger and index have. Costs next to nothing if they are.
pub(crate) async fn refresh_links(resources: &Resources) -> Result<()> {
    retry_after_repair(resources, || async {
        let _one_at_a_time = resources.shared.projecting.lock().await;
        let resources = resources.with_full_visibility();
        refresh_links_of(&resources, resources.graph()).await
    })
    .await
}

/// Brings what language models wrote in the graph up to what the ledger has. Costs next to nothing if it is.
pub(crate) async fn refresh_written(resources: &Resources) -> Result<()> {
    retry_after_repair(resources, || async {
        let _one_at_a_time = resources.shared.projecting.lock().await;
        let resources = resources.with_full_visibility();
        refresh_written_of(&resources, resources.graph()).await
    })
    .await
}

/// Brings both projections to what the ledger has and writes them to new directories, where nothing is left of what
/// they had before: the graph made from the ledger, the index copied, which is as thorough as making it and many times
/// as fast.
///
/// # Errors
/// Also if what they had before is still on the disk.
pub(crate) async fn rewrite_projections(resources: &Resources, reporter: &Reporter) -> Result<()> {
    catch_up(resources, None).await?;
    reporter.phase("graph and index", None);
    {
        let _one_at_a_time = resources.shared.projecting.lock().await;
        // If one fails, the other continues, so that nothing of what it replaced is left.
        let (graph, index) = tokio::join!(rebuild_graph_generation(resources), copy_index_generation(resources));
        graph.and(index)?;
        for generations in [&resources.shared.graphs, &resources.shared.indexes] {
            generations.remove_others().map_err(|error| {
                Error::internal(format!("the old projection could not be removed from the disk: {error}"))
            })?;
        }
    }
    refresh_links(resources).await
}

/// Makes searches of the index fast and its directory small.
pub(crate) async fn optimize_index(resources: &Resources) -> Result<()> {
    retry_after_repair(resources, || async {
        let _one_at_a_time = resources.shared.projecting.lock().await;
        Ok(resources.index().optimize().await?)
    })
    .await
}
