//! GraphQL types of branches and tags.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::model::{
    commit::ObjectKind,
    document::tree_url,
    id::NodeId,
    repository::{IndexedBranch, Record, RepositoryItem},
};

use super::{
    super::{
        loaders,
        node::{Links, linked},
        project::Project,
        release::Release,
        scalar::DateTime,
    },
    Commit, commit_record, record, some_url,
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

/// A branch of a project's repository that is indexed.
#[Object]
impl Branch {
    /// Id of the branch as a node, `acme/shop@refs/heads/main`.
    pub(crate) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read the branch.
    pub(crate) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Name of the branch.
    async fn name(&self) -> &str {
        &self.name
    }

    /// Newest commit of the branch that is indexed; null if the branch is not.
    async fn tip(&self, ctx: &Context<'_>) -> Result<Option<Commit>> {
        self.read(ctx, |branch| Commit::new(self.project.clone(), branch.branch.tip.to_string())).await
    }

    /// When the newest indexed commit of the branch was made; null if the branch is not indexed.
    async fn committed_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        let tip = self.read(ctx, |branch| NodeId::commit(&self.project, &branch.branch.tip.to_string())).await?;
        let Some(tip) = tip else { return Ok(None) };
        commit_record(ctx, tip, |_, record| record.commit.committer.at.into()).await
    }

    /// Whether the branch is the default branch; null if it is not indexed.
    async fn is_default(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        self.read(ctx, |branch| branch.default).await
    }

    /// Page of the branch at the forge; null if there is none.
    pub(crate) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let url = record(ctx, self.links.id().clone(), |of| Some(tree_url(of.context(), &self.name))).await?;
        Ok(url.and_then(some_url))
    }

    /// Project that the branch belongs to.
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

/// A tag of a project's repository.
#[Object]
impl Tag {
    /// Id of the tag as a node, `acme/shop@refs/tags/v1`.
    pub(crate) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read the tag.
    pub(crate) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Name of the tag.
    async fn name(&self) -> &str {
        &self.name
    }

    /// When an annotated tag was made; null for others.
    async fn tagged_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        let made = |of: &RepositoryItem| match &of.record {
            Record::Tag(tag) => Some(tag.annotation.as_ref()?.tagger.as_ref()?.at.into()),
            _ => None,
        };
        record(ctx, self.links.id().clone(), made).await
    }

    /// Release that is made of the tag, with what the forge says about it; null if the repository does not have the tag, and
    /// the forge no release of it.
    async fn release(&self, ctx: &Context<'_>) -> Result<Option<Release>> {
        Release::find(ctx, &self.project, &self.name).await
    }

    /// Commit that the tag points at; null if it points at something else.
    async fn commit(&self, ctx: &Context<'_>) -> Result<Option<Commit>> {
        let commit = |of: &RepositoryItem| match &of.record {
            Record::Tag(tag) if tag.kind == ObjectKind::Commit => {
                Some(Commit::new(self.project.clone(), tag.target.to_string()))
            }
            _ => None,
        };
        record(ctx, self.links.id().clone(), commit).await
    }

    /// Page of the tag at the forge; null if there is none.
    pub(crate) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let url = record(ctx, self.links.id().clone(), |of| Some(tree_url(of.context(), &self.name))).await?;
        Ok(url.and_then(some_url))
    }

    /// Project that the tag belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
