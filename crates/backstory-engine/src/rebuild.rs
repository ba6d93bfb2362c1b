//! The use case that rebuilds projections from the ledger, without a network. How a generation is written is in
//! [`generation`](crate::generation), whether a projection is damaged in [`repair`](crate::repair).

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    error::Result,
    generation::{rebuild_graph, rebuild_index, rebuild_lists},
    projection::projection_digest,
    refresh::refresh_links,
    resources::Resources,
    snapshot::with_snapshot,
    task::{Task, TaskKind},
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
    const CONCERNS_ALL_PROJECTS: bool = true;
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

/// Starts to rebuild projections.
///
/// # Errors
/// One is being rebuilt already.
fn start_rebuild(resources: &Resources, which: Projection) -> Result<Task> {
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
