//! The GraphQL type of projects.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::model::{
    entity::{Item, ItemKind, Project as ProjectItem},
    id::{NodeId, ThreadKind},
};

use super::{
    issue::Issue,
    loaders,
    merge_request::MergeRequest,
    node::Links,
    planning::{Label, Milestone},
    scalar::DateTime,
    thread::{self, ThreadConnection, ThreadFilter},
};

/// Most labels or milestones of one project in an answer.
const MAX_PARTS: usize = 1_000;

/// A project.
pub(crate) struct Project {
    path: String,
    links: Links,
}

impl Project {
    pub(super) fn new(path: String) -> Self {
        Self { links: Links::of(NodeId::Project(path.clone())), path }
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&ProjectItem) -> T) -> Result<Option<T>> {
        let item = loaders::item(ctx, self.links.id().clone()).await?;
        Ok(match item.as_deref() {
            Some(Item::Project(project)) => Some(read(project)),
            _ => None,
        })
    }
}

/// A project of a forge.
#[Object]
impl Project {
    /// Its reference: its full path.
    pub(super) async fn id(&self) -> ID {
        self.path.clone().into()
    }

    /// Whether backstory has read it. If others only refer to it, what its id does not tell is null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |_| ()).await?.is_some())
    }

    /// Full path, `group/project`.
    async fn path(&self) -> &str {
        &self.path
    }

    /// Short name; the last part of the path if it has not been read.
    async fn name(&self, ctx: &Context<'_>) -> Result<String> {
        let short = || self.path.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(self.read(ctx, |project| project.name.clone()).await?.unwrap_or_else(short))
    }

    /// One-line description.
    async fn description(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |project| project.description.clone()).await?.flatten())
    }

    /// Its page at the forge.
    async fn web_url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |project| project.web_url.clone()).await
    }

    /// Branch that is checked out by default.
    async fn default_branch(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |project| project.default_branch.clone()).await?.flatten())
    }

    /// When it was created.
    async fn created_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.read(ctx, |project| project.created_at.map(DateTime::from)).await?.flatten())
    }

    /// Its issues, the one that changed last first.
    async fn issues(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only those that meet all these conditions.")] filter: Option<ThreadFilter>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the page before.")] after: Option<String>,
    ) -> Result<ThreadConnection<Issue>> {
        let filter = ThreadFilter::within(filter, Some(&self.path))?;
        thread::list(ctx, ThreadKind::Issue, filter, first, after.as_deref(), Issue::new).await
    }

    /// Its merge requests, the one that changed last first.
    async fn merge_requests(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only those that meet all these conditions.")] filter: Option<ThreadFilter>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the page before.")] after: Option<String>,
    ) -> Result<ThreadConnection<MergeRequest>> {
        let filter = ThreadFilter::within(filter, Some(&self.path))?;
        thread::list(ctx, ThreadKind::MergeRequest, filter, first, after.as_deref(), MergeRequest::new).await
    }

    /// Its labels, by name; at most 1,000.
    async fn labels(&self, ctx: &Context<'_>) -> Result<Vec<Label>> {
        let ids = loaders::parts(ctx, self.path.clone(), ItemKind::Label).await?;
        let label = |id: &NodeId| match id {
            NodeId::Label { project, name } => Some(Label::new(project.clone(), name.clone())),
            _ => None,
        };
        Ok(ids.iter().filter_map(label).take(MAX_PARTS).collect())
    }

    /// Its milestones, by number; at most 1,000.
    async fn milestones(&self, ctx: &Context<'_>) -> Result<Vec<Milestone>> {
        let ids = loaders::parts(ctx, self.path.clone(), ItemKind::Milestone).await?;
        let milestone = |id: &NodeId| match id {
            NodeId::Milestone { project, iid } => Some(Milestone::new(project.clone(), *iid)),
            _ => None,
        };
        Ok(ids.iter().filter_map(milestone).take(MAX_PARTS).collect())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
