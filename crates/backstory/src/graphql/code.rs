//! Commits and files.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::model::id::NodeId;

use super::{loaders, node::Links, project::Project};

/// A commit.
pub(crate) struct Commit {
    project: String,
    sha: String,
    links: Links,
}

impl Commit {
    pub(super) fn new(project: String, sha: String) -> Self {
        let links = Links::of(NodeId::commit(&project, &sha));
        Self { project, sha, links }
    }
}

/// A commit.
#[Object]
impl Commit {
    /// Its reference, `acme/shop@1a2b3c4`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether a merge request is known to have been merged as it. Of others only their mention is known.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Object name in lower-case hex, 7 to 64 digits, as it was written where it was found.
    async fn sha(&self) -> &str {
        &self.sha
    }

    /// The project it belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}

/// A file.
pub(crate) struct File {
    project: String,
    path: String,
    links: Links,
}

impl File {
    pub(super) fn new(project: String, path: String) -> Self {
        let links = Links::of(NodeId::File { project: project.clone(), path: path.clone() });
        Self { project, path, links }
    }
}

/// A file of a repository.
#[Object]
impl File {
    /// Its reference, `acme/shop:src/a.rs`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether a note is known to stand on its lines.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Path from the repository's root, `/` between its parts.
    async fn path(&self) -> &str {
        &self.path
    }

    /// The project it belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
