//! Work to be done.

use async_graphql::{Context, Object, Result};
use backstory_engine::SyncRequest;

use super::{loaders, names::Projection, page::QUERY, task::Task};

/// Work to be done.
pub(crate) struct Mutation;

/// Work to be done. Each starts a task and returns it at once; `task` and `taskProgress` tell how far it is.
#[Object]
impl Mutation {
    /// Reads what is new at the forges. One sync is at work at a time.
    #[graphql(complexity = "QUERY + child_complexity")]
    async fn sync(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full paths of projects; all that are configured if absent or empty.")] projects: Option<
            Vec<String>,
        >,
        #[graphql(desc = "Whether to read everything again, not only what is new.", default_with = "Some(false)")]
        full: Option<bool>,
        #[graphql(desc = "Whether to stop a sync that is at work.", default_with = "Some(false)")] force: Option<bool>,
    ) -> Result<Task> {
        let request = SyncRequest {
            projects: projects.unwrap_or_default(),
            full: full.unwrap_or(false),
            force: force.unwrap_or(false),
        };
        Ok(loaders::engine(ctx)?.start_sync(request).await?.into())
    }

    /// Gives every document that has none its vectors.
    #[graphql(complexity = "QUERY + child_complexity")]
    async fn embed(&self, ctx: &Context<'_>) -> Result<Task> {
        Ok(loaders::engine(ctx)?.start_embed()?.into())
    }

    /// Makes the graph, the index or both anew from the ledger, without a network. The old ones answer meanwhile.
    #[graphql(complexity = "QUERY + child_complexity")]
    async fn rebuild(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to make anew.", default_with = "Some(Projection::All)")] projection: Option<Projection>,
    ) -> Result<Task> {
        Ok(loaders::engine(ctx)?.start_rebuild(projection.unwrap_or(Projection::All).into())?.into())
    }
}
