//! Rebuilds a projection from the ledger into a new generation, without a network, while the old one is still read. It
//! does not decide whether a projection is damaged.

use std::path::PathBuf;

use backstory_store::{
    generations::Generations,
    graph::Graph,
    index::{Index, Vectors},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    Engine,
    error::{Error, Result},
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

    async fn run(self, engine: &Engine) -> Result<Task> {
        engine.start_rebuild(self.projection)
    }
}

/// Which projections to rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Projection {
    /// The graph.
    Graph,
    /// The index.
    Index,
    /// Both.
    All,
}

impl Engine {
    /// Starts to make projections anew.
    ///
    /// # Errors
    /// One is being made anew already.
    pub fn start_rebuild(&self, which: Projection) -> Result<Task> {
        let engine = self.with_full_visibility();
        let task = self.tasks().start(TaskKind::Rebuild, false, Timestamp::now(), |reporter| async move {
            let work = async {
                if which != Projection::Index {
                    engine.rebuild_graph(&reporter).await?;
                }
                if which != Projection::Graph {
                    engine.rebuild_index(&reporter).await?;
                    engine.refresh_links().await?;
                }
                Ok(())
            };
            engine.recorded(work).await?;
            let (digest, quads) = engine.digest().await?;
            Ok(json!({ "digest": digest, "quads": quads }))
        })?;
        let task = task.borrow().clone();
        Ok(task)
    }

    pub(crate) async fn rebuild_graph(&self, reporter: &Reporter) -> Result<()> {
        reporter.phase("graph", None);
        let _one_at_a_time = self.0.projecting.lock().await;
        let made = self.rebuild_graph_generation().await;
        if made.is_err() {
            // There may be no room on the disk because of what was begun.
            remove_others(&self.0.graphs);
        }
        made
    }

    /// Whoever calls keeps others from projecting.
    async fn rebuild_graph_generation(&self) -> Result<()> {
        let directory = prepare(&self.0.graphs)?;
        let opened = directory.clone();
        let graph = self.blocking(move || Ok(Graph::open(&opened)?)).await?;
        self.project_graph(graph.clone()).await?;
        self.refresh_links_of(graph.clone()).await?;
        self.refresh_written_of(graph.clone()).await?;
        let flushed = graph.clone();
        self.blocking(move || Ok(flushed.flush()?)).await?;
        switch(&self.0.graphs, &directory)?;
        *self.0.graph.write() = graph;
        remove_others(&self.0.graphs);
        Ok(())
    }

    /// Brings both projections to what the ledger has and writes them to new directories, where nothing is left of what
    /// they had before: the graph made from the ledger, the index copied, which is as thorough as making it and many times
    /// as fast.
    ///
    /// # Errors
    /// Also if what they had before is still on the disk.
    pub(crate) async fn rewrite_projections(&self, reporter: &Reporter) -> Result<()> {
        self.catch_up(None).await?;
        reporter.phase("graph and index", None);
        {
            let _one_at_a_time = self.0.projecting.lock().await;
            tokio::try_join!(self.rebuild_graph_generation(), self.copy_index_generation())?;
            for generations in [&self.0.graphs, &self.0.indexes] {
                generations.remove_others().map_err(|error| {
                    Error::internal(format!("the old projection could not be removed from the disk: {error}"))
                })?;
            }
        }
        self.refresh_links().await
    }

    async fn copy_index_generation(&self) -> Result<()> {
        let directory = prepare(&self.0.indexes)?;
        self.index().copy_to(&directory).await?;
        let index = Index::open(&directory, self.model_tag()).await?;
        switch(&self.0.indexes, &directory)?;
        *self.0.index.write() = index;
        remove_others(&self.0.indexes);
        Ok(())
    }

    /// Makes searches of the index fast and its directory small.
    pub(crate) async fn optimize_index(&self) -> Result<()> {
        self.retry_after_repair(|| async {
            let _one_at_a_time = self.0.projecting.lock().await;
            Ok(self.index().optimize().await?)
        })
        .await
    }

    pub(crate) async fn rebuild_index(&self, reporter: &Reporter) -> Result<()> {
        let _one_at_a_time = self.0.projecting.lock().await;
        let made = self.index_anew(reporter).await;
        if made.is_err() {
            remove_others(&self.0.indexes);
        }
        made
    }

    /// Whoever calls keeps others from projecting.
    async fn index_anew(&self, reporter: &Reporter) -> Result<()> {
        let directory = prepare(&self.0.indexes)?;
        let tag = self.model_tag();
        let index = Index::open(&directory, tag.clone()).await?;
        self.project_index(&index, Some(reporter)).await?;
        // Text whose vector the old index has is not embedded again.
        let known = Vectors::open(&self.0.indexes.current(), &tag).await;
        // Those that cannot be read are made anew.
        if let Ok(Some(known)) = known {
            self.embed_pending(Some(&index), Some(&known), reporter).await?;
        }
        index.optimize().await?;
        switch(&self.0.indexes, &directory)?;
        *self.0.index.write() = index;
        remove_others(&self.0.indexes);
        Ok(())
    }
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
