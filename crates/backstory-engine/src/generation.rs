//! Writes projections into new generations, which then become current, while the old ones are still read.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use backstory_store::{
    generations::Generations,
    graph::Graph,
    index::{Index, Vectors},
};

use crate::{
    error::{Error, Result},
    generated::projection::refresh_written_of,
    links::refresh_links_of,
    projection::{project_graph, project_graph_and_lists, project_index, refill_lists},
    resources::{Resources, blocking},
    task::Reporter,
    vectors::embed_pending,
};

/// How long the files of what was replaced stay for those who still read them: as long as an answer may take.
const READERS_TIME: Duration = Duration::from_secs(30);
/// Time between two looks whether anybody still reads.
const READERS_PAUSE: Duration = Duration::from_millis(5);

pub(crate) async fn rebuild_graph(resources: &Resources, reporter: &Reporter) -> Result<()> {
    reporter.phase("graph", None);
    let _one_at_a_time = resources.shared.projecting.lock().await;
    let made = rebuild_graph_generation(resources).await;
    if made.is_ok() {
        // The new graph may be ahead of the lists.
        project_graph_and_lists(resources, None).await?;
    }
    if made.is_err() {
        // There may be no room on the disk because of what was begun.
        remove_others(&resources.shared.graphs);
    }
    made
}

pub(crate) async fn rebuild_lists(resources: &Resources, reporter: &Reporter) -> Result<()> {
    reporter.phase("lists", None);
    let _one_at_a_time = resources.shared.projecting.lock().await;
    refill_lists(resources).await?;
    // They may be ahead of the graph.
    project_graph_and_lists(resources, None).await
}

/// The caller keeps others from projecting.
pub(crate) async fn rebuild_graph_generation(resources: &Resources) -> Result<()> {
    let directory = prepare(&resources.shared.graphs)?;
    let (opened, trackers) = (directory.clone(), resources.settings().trackers.clone());
    let graph = blocking(move || Ok(Graph::open(&opened)?.with_trackers(trackers)?)).await?;
    project_graph(resources, graph.clone()).await?;
    refresh_links_of(resources, graph.clone()).await?;
    refresh_written_of(resources, graph.clone()).await?;
    let flushed = graph.clone();
    blocking(move || Ok(flushed.flush()?)).await?;
    switch(&resources.shared.graphs, &directory)?;
    let old = std::mem::replace(&mut *resources.shared.graph.write(), graph);
    wait_for_readers(|| old.has_other_handles()).await;
    drop(old);
    remove_others(&resources.shared.graphs);
    Ok(())
}

pub(crate) async fn copy_index_generation(resources: &Resources) -> Result<()> {
    let directory = prepare(&resources.shared.indexes)?;
    resources.index().copy_to(&directory).await?;
    let index = Index::open(&directory, resources.model_tag(), resources.index().options()).await?;
    switch(&resources.shared.indexes, &directory)?;
    replace_index(resources, index).await;
    Ok(())
}

pub(crate) async fn rebuild_index(resources: &Resources, reporter: &Reporter) -> Result<()> {
    let _one_at_a_time = resources.shared.projecting.lock().await;
    let made = fill_new_index(resources, reporter).await;
    if made.is_err() {
        remove_others(&resources.shared.indexes);
    }
    made
}

/// The caller keeps others from projecting.
async fn fill_new_index(resources: &Resources, reporter: &Reporter) -> Result<()> {
    let directory = prepare(&resources.shared.indexes)?;
    let tag = resources.model_tag();
    let index = Index::open(&directory, tag.clone(), resources.index().options()).await?;
    project_index(resources, &index, Some(reporter)).await?;
    // Text whose vector the old index has is not embedded again.
    let known = Vectors::open(&resources.shared.indexes.current(), &tag).await;
    // Those that cannot be read are rebuilt.
    if let Ok(Some(known)) = known {
        embed_pending(resources, Some(&index), Some(&known), reporter).await?;
    }
    index.optimize().await?;
    switch(&resources.shared.indexes, &directory)?;
    replace_index(resources, index).await;
    Ok(())
}

/// Lets everybody read another index from now on, and removes the files of the one before.
async fn replace_index(resources: &Resources, index: Index) {
    let old = std::mem::replace(&mut *resources.shared.index.write(), index);
    wait_for_readers(|| old.has_other_handles()).await;
    drop(old);
    remove_others(&resources.shared.indexes);
}

/// Waits until nobody reads what was replaced any more: a search opens files as it needs them.
async fn wait_for_readers(is_read: impl Fn() -> bool) {
    let begun = Instant::now();
    while is_read() && begun.elapsed() < READERS_TIME {
        tokio::time::sleep(READERS_PAUSE).await;
    }
}

fn prepare(generations: &Generations) -> Result<PathBuf> {
    generations.create_next().map_err(|error| Error::of_files("a new projection cannot be begun", &error))
}

fn switch(generations: &Generations, directory: &std::path::Path) -> Result<()> {
    generations
        .activate(directory)
        .map_err(|error| Error::of_files("the new projection could not be made current", &error))
}

/// Removes old generations. Files that a reader still has open are removed when the directory is opened next, and so is
/// what cannot be removed now.
pub(crate) fn remove_others(generations: &Generations) {
    if let Err(error) = generations.remove_others() {
        tracing::debug!(%error, "an old projection stays until the next start");
    }
}
