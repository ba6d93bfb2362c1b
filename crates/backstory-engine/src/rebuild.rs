//! Rebuilds a projection from the ledger into a new generation, without a network, while the old one is still read. It
//! does not decide whether a projection is damaged.

use std::path::PathBuf;

use backstory_store::{
    generations::Generations,
    graph::Graph,
    index::{Index, Vectors},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    check::projection_digest,
    embedding::embed_pending,
    enrich::projection::refresh_written_of,
    error::{Error, Result},
    links::{refresh_links, refresh_links_of},
    mend::retry_after_repair,
    project::{catch_up, project_graph, project_graph_and_lists, project_index, refill_lists},
    resources::Resources,
    snapshot::with_snapshot,
    task::{Reporter, Task, TaskKind},
    use_case::{Scope, UseCase},
};

/// Starts to rebuild projections from the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RebuildRequest {
    /// Which.
    pub projection: Projection,
}

impl UseCase for RebuildRequest {
    const NAME: &'static str = "rebuild";
    const SCOPE: Scope = Scope::Admin;
    type Answer = Task;

    async fn run(self, resources: &Resources) -> Result<Task> {
        start_rebuild(resources, self.projection)
    }
}

/// Which projections to rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Projection {
    /// The graph.
    Graph,
    /// The lists.
    Lists,
    /// The index.
    Index,
    /// All of them.
    All,
}

/// Starts to make projections anew.
///
/// # Errors
/// One is being made anew already.
pub(crate) fn start_rebuild(resources: &Resources, which: Projection) -> Result<Task> {
    resources.start_task(TaskKind::Rebuild, false, |resources, reporter| async move {
        let work = async {
            if matches!(which, Projection::Graph | Projection::All) {
                rebuild_graph(&resources, &reporter).await?;
            }
            if matches!(which, Projection::Lists | Projection::All) {
                rebuild_lists(&resources, &reporter).await?;
            }
            if matches!(which, Projection::Index | Projection::All) {
                rebuild_index(&resources, &reporter).await?;
                refresh_links(&resources).await?;
            }
            Ok(())
        };
        with_snapshot(&resources, work).await?;
        let digest = projection_digest(&resources).await?;
        Ok(json!({ "digest": digest.digest, "quads": digest.quads, "rows": digest.rows }))
    })
}

pub(crate) async fn rebuild_graph(resources: &Resources, reporter: &Reporter) -> Result<()> {
    reporter.phase("graph", None);
    let _one_at_a_time = resources.shared.projecting.lock().await;
    let made = rebuild_graph_generation(resources).await;
    if made.is_ok() {
        // The new graph may be ahead of the lists.
        project_graph_and_lists(resources).await?;
    }
    if made.is_err() {
        // There may be no room on the disk because of what was begun.
        remove_others(&resources.shared.graphs);
    }
    made
}

async fn rebuild_lists(resources: &Resources, reporter: &Reporter) -> Result<()> {
    reporter.phase("lists", None);
    let _one_at_a_time = resources.shared.projecting.lock().await;
    refill_lists(resources).await?;
    // They may be ahead of the graph.
    project_graph_and_lists(resources).await
}

/// Whoever calls keeps others from projecting.
async fn rebuild_graph_generation(resources: &Resources) -> Result<()> {
    let directory = prepare(&resources.shared.graphs)?;
    let opened = directory.clone();
    let graph = resources.blocking(move |_| Ok(Graph::open(&opened)?)).await?;
    project_graph(resources, graph.clone()).await?;
    refresh_links_of(resources, graph.clone()).await?;
    refresh_written_of(resources, graph.clone()).await?;
    let flushed = graph.clone();
    resources.blocking(move |_| Ok(flushed.flush()?)).await?;
    switch(&resources.shared.graphs, &directory)?;
    *resources.shared.graph.write() = graph;
    remove_others(&resources.shared.graphs);
    Ok(())
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
        tokio::try_join!(rebuild_graph_generation(resources), copy_index_generation(resources))?;
        for generations in [&resources.shared.graphs, &resources.shared.indexes] {
            generations.remove_others().map_err(|error| {
                Error::internal(format!("the old projection could not be removed from the disk: {error}"))
            })?;
        }
    }
    refresh_links(resources).await
}

async fn copy_index_generation(resources: &Resources) -> Result<()> {
    let directory = prepare(&resources.shared.indexes)?;
    resources.index().copy_to(&directory).await?;
    let index = Index::open(&directory, resources.model_tag()).await?;
    switch(&resources.shared.indexes, &directory)?;
    *resources.shared.index.write() = index;
    remove_others(&resources.shared.indexes);
    Ok(())
}

/// Makes searches of the index fast and its directory small.
pub(crate) async fn optimize_index(resources: &Resources) -> Result<()> {
    retry_after_repair(resources, || async {
        let _one_at_a_time = resources.shared.projecting.lock().await;
        Ok(resources.index().optimize().await?)
    })
    .await
}

pub(crate) async fn rebuild_index(resources: &Resources, reporter: &Reporter) -> Result<()> {
    let _one_at_a_time = resources.shared.projecting.lock().await;
    let made = index_anew(resources, reporter).await;
    if made.is_err() {
        remove_others(&resources.shared.indexes);
    }
    made
}

/// Whoever calls keeps others from projecting.
async fn index_anew(resources: &Resources, reporter: &Reporter) -> Result<()> {
    let directory = prepare(&resources.shared.indexes)?;
    let tag = resources.model_tag();
    let index = Index::open(&directory, tag.clone()).await?;
    project_index(resources, &index, Some(reporter)).await?;
    // Text whose vector the old index has is not embedded again.
    let known = Vectors::open(&resources.shared.indexes.current(), &tag).await;
    // Those that cannot be read are made anew.
    if let Ok(Some(known)) = known {
        embed_pending(resources, Some(&index), Some(&known), reporter).await?;
    }
    index.optimize().await?;
    switch(&resources.shared.indexes, &directory)?;
    *resources.shared.index.write() = index;
    remove_others(&resources.shared.indexes);
    Ok(())
}

fn prepare(generations: &Generations) -> Result<PathBuf> {
    generations.prepare().map_err(|error| Error::of_files("a new projection cannot be begun", &error))
}

fn switch(generations: &Generations, directory: &std::path::Path) -> Result<()> {
    generations
        .activate(directory)
        .map_err(|error| Error::of_files("the new projection could not be made current", &error))
}

/// Files that a reader still has open are removed when the directory is opened next.
fn remove_others(generations: &Generations) {
    if let Err(error) = generations.remove_others() {
        tracing::debug!(%error, "an old projection stays until the next start");
    }
}
