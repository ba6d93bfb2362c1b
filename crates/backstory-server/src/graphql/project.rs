//! The GraphQL type of projects.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::{
    lists::{CommitQuery, Direction, PageRequest, ThreadFilter, ThreadOrder, ThreadQuery},
    model::{
        entity::{Item, Project as ProjectItem},
        id::{NodeId, ThreadKind},
    },
};

use super::{
    code::{self, Contributor, File, Tree},
    lists::{ProjectDocuments, ProjectLists},
    loaders,
    node::{Links, linked},
    release::{self, Shipped},
    repository::Repository,
    scalar::DateTime,
};

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

// The interface asks for what all nodes have.
linked!(Project, links);

/// A project of a forge.
#[Object]
impl Project {
    /// Its reference: its full path.
    pub(super) async fn id(&self) -> ID {
        self.path.clone().into()
    }

    /// The same as the id.
    #[graphql(name = "ref")]
    pub(super) async fn reference(&self) -> String {
        self.links.id().to_string()
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
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
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

    /// When an issue or merge request of it last changed, or a commit of it was made.
    async fn updated_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        let engine = loaders::engine(ctx)?;
        let newest = || PageRequest { first: 1, ..PageRequest::default() };
        let projects = || vec![self.path.clone()];
        let mut times = Vec::new();
        for kind in [ThreadKind::Issue, ThreadKind::MergeRequest] {
            let filter = ThreadFilter { projects: projects(), ..ThreadFilter::default() };
            let (order, direction) = (ThreadOrder::Updated, Direction::Descending);
            let threads = engine.list_rows(ThreadQuery { kind, filter, order, direction }, newest()).await?;
            times.extend(threads.rows.first().map(|row| row.updated_at));
        }
        let query = CommitQuery { projects: projects(), direction: Direction::Descending, ..CommitQuery::default() };
        times.extend(engine.list_rows(query, newest()).await?.rows.first().map(|row| row.committed_at));
        Ok(times.into_iter().max().map(DateTime::from))
    }

    #[graphql(flatten)]
    async fn lists(&self) -> ProjectLists {
        ProjectLists::of(self.path.clone())
    }

    #[graphql(flatten)]
    async fn indexed_documents(&self) -> ProjectDocuments {
        ProjectDocuments::of(self.path.clone())
    }

    /// Its git repository; null if none is indexed.
    async fn repository(&self, ctx: &Context<'_>) -> Result<Option<Repository>> {
        Repository::find(ctx, &self.path).await
    }

    /// A directory of its repository at a revision.
    async fn tree(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Path from the repository's root; the root if absent.", default)] path: String,
        #[graphql(desc = "Branch, tag or commit; the indexed head if absent.")] rev: Option<String>,
    ) -> Result<Option<Tree>> {
        code::tree(ctx, self.path.clone(), path, rev).await.map(Some)
    }

    /// A file of its repository, whether it is at the indexed head or not.
    async fn file(&self, #[graphql(desc = "Path from the repository's root.")] path: String) -> File {
        File::new(self.path.clone(), path)
    }

    /// Who knows its code: those with most commits first, then with most reviews.
    async fn contributors(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Path of a file or directory; the whole repository if absent.", default)] path: String,
        #[graphql(desc = "How many, 0 to 100.", default = 20)] first: Option<i32>,
    ) -> Result<Option<Vec<Contributor>>> {
        code::contributors(ctx, &self.path, &path, first).await.map(Some)
    }

    /// What shipped between two tags, branches or commits of its repository.
    async fn shipped(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What has it does not count; without it, what no earlier tag has counts.")] from: Option<
            String,
        >,
        #[graphql(desc = "What has it counts.")] to: String,
    ) -> Result<Shipped> {
        release::find_shipped(ctx, self.path.clone(), from, to).await
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
