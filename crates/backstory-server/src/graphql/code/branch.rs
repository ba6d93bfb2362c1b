//! GraphQL types of branches and tags.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::model::{
    commit::ObjectKind,
    document::tree_url,
    id::NodeId,
    repository::{IndexedBranch, Record, RepositoryRecord},
};

use super::{
    super::{
        loaders,
        node::{Links, linked},
        project::Project,
    },
    Commit, record, some_url,
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

// The interface asks for what all nodes have.
linked!(Branch, links);

/// A branch that is indexed.
#[Object]
impl Branch {
    /// Its reference, `acme/shop@refs/heads/main`.
    pub(crate) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// The same as the id.
    #[graphql(name = "ref")]
    pub(crate) async fn reference(&self) -> String {
        self.links.id().to_string()
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

    /// Its page at the forge; null if there is none.
    pub(crate) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let url = record(ctx, self.links.id().clone(), |of| Some(tree_url(of.context(), &self.name))).await?;
        Ok(url.and_then(some_url))
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

// The interface asks for what all nodes have.
linked!(Tag, links);

/// A tag.
#[Object]
impl Tag {
    /// Its reference, `acme/shop@refs/tags/v1`.
    pub(crate) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// The same as the id.
    #[graphql(name = "ref")]
    pub(crate) async fn reference(&self) -> String {
        self.links.id().to_string()
    }

    /// Whether backstory has read it.
    pub(crate) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Its name.
    async fn name(&self) -> &str {
        &self.name
    }

    /// The commit that it points at; null if it points at something else.
    async fn commit(&self, ctx: &Context<'_>) -> Result<Option<Commit>> {
        let commit = |of: &RepositoryRecord| match &of.record {
            Record::Tag(tag) if tag.kind == ObjectKind::Commit => {
                Some(Commit::new(self.project.clone(), tag.target.to_string()))
            }
            _ => None,
        };
        record(ctx, self.links.id().clone(), commit).await
    }

    /// Its page at the forge; null if there is none.
    pub(crate) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let url = record(ctx, self.links.id().clone(), |of| Some(tree_url(of.context(), &self.name))).await?;
        Ok(url.and_then(some_url))
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
