//! GraphQL types of branches and tags.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::model::{
    id::NodeId,
    repository::{IndexedBranch, Record},
};

use super::{
    super::{loaders, node::Links, project::Project},
    Commit, record,
};
/// A branch that is indexed.
pub(crate) struct Branch {
    project: String,
    name: String,
    links: Links,
}

impl Branch {
    pub(crate) fn new(project: String, name: String) -> Self {
        let links = Links::of(NodeId::Branch { project: project.clone(), name: name.clone() });
        Self { project, name, links }
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&IndexedBranch) -> T) -> Result<Option<T>> {
        record(ctx, self.links.id().clone(), |of| match &of.record {
            Record::Branch(branch) => Some(read(branch)),
            _ => None,
        })
        .await
    }
}

/// A branch that is indexed.
#[Object]
impl Branch {
    /// Its reference, `acme/shop@refs/heads/main`.
    pub(crate) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read it.
    pub(crate) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Its name.
    async fn name(&self) -> &str {
        &self.name
    }

    /// The newest of its commits that is indexed.
    async fn tip(&self, ctx: &Context<'_>) -> Result<Option<Commit>> {
        self.read(ctx, |branch| Commit::new(self.project.clone(), branch.branch.tip.to_string())).await
    }

    /// Whether it is the default branch.
    async fn default(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        self.read(ctx, |branch| branch.default).await
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

/// A tag.
pub(crate) struct Tag {
    project: String,
    name: String,
    links: Links,
}

impl Tag {
    pub(crate) fn new(project: String, name: String) -> Self {
        let links = Links::of(NodeId::Tag { project: project.clone(), name: name.clone() });
        Self { project, name, links }
    }
}

/// A tag.
#[Object]
impl Tag {
    /// Its reference, `acme/shop@refs/tags/v1`.
    pub(crate) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read it.
    pub(crate) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Its name.
    async fn name(&self) -> &str {
        &self.name
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
