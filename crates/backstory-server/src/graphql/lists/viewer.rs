//! Who asks.

use async_graphql::{Context, Result};

use super::{
    super::loaders,
    TextFilter,
    projects::{ProjectConnection, ProjectOrder, projects},
};

/// The caller, and what they see.
pub(crate) struct Viewer;

list_fields! {
    /// The caller, and what they see.
    impl Viewer as _own, ctx {
        /// Projects that the caller sees, by path unless ordered otherwise.
        projects(filter: TextFilter, order: ProjectOrder, paging) -> ProjectConnection {
            projects(ctx, filter, order, paging).await
        }
    }
    also {
        /// Whether the caller sees all projects.
        async fn sees_all_projects(&self, ctx: &Context<'_>) -> Result<bool> {
            Ok(loaders::engine(ctx)?.visibility().allows_all_projects())
        }

        /// Whether the caller sees what is confidential in the projects that they see.
        async fn sees_confidential(&self, ctx: &Context<'_>) -> Result<bool> {
            Ok(loaders::engine(ctx)?.visibility().shows_confidential())
        }
    }
}
