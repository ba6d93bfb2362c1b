//! The GraphQL type of projects.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::{
    lists::{CommitQuery, Direction, PageRequest, ThreadFilter, ThreadOrder, ThreadQuery},
    model::{
        entity::{Item, Project as ProjectItem},
        id::{NodeId, ThreadId, ThreadKind},
    },
};

use super::{
    code::{self, Commit, Contributor, File, Tree},
    issue::Issue,
    lists::{ProjectDocuments, ProjectLists},
    loaders,
    merge_request::MergeRequest,
    node::{Links, linked},
    planning::{Label, Milestone},
    release::{self, Release, Shipped},
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
    /// Id of the project as a node: its full path.
    pub(super) async fn id(&self) -> ID {
        self.path.clone().into()
    }

    /// Whether backstory has read the project. If it is only mentioned, whatever its id does not say is null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |_| ()).await?.is_some())
    }

    /// Full path of the project, `group/project`.
    async fn full_path(&self) -> &str {
        &self.path
    }

    /// Short name of the project; the last part of its path if it has not been read.
    async fn name(&self, ctx: &Context<'_>) -> Result<String> {
        let short = || self.path.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(self.read(ctx, |project| project.name.clone()).await?.unwrap_or_else(short))
    }

    /// One-line description of the project; null if it has none.
    async fn description(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |project| project.description.clone()).await?.flatten())
    }

    /// Page of the project at the forge.
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |project| project.web_url.clone()).await
    }

    /// Name of the branch that is checked out by default; null if that is not known.
    async fn default_branch(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |project| project.default_branch.clone()).await?.flatten())
    }

    /// When the project was created; null if that is not known.
    async fn created_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.read(ctx, |project| project.created_at.map(DateTime::from)).await?.flatten())
    }

    /// When an issue or merge request of the project last changed, or a commit of it was made; null if it has none.
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

    /// Issue of the project by its number; null if it has not been read.
    async fn issue(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Number of the issue within the project.")] iid: u64,
    ) -> Result<Option<Issue>> {
        let id = ThreadId { project: self.path.clone(), kind: ThreadKind::Issue, iid };
        Ok(loaders::item(ctx, id.clone().into()).await?.map(|_| Issue::new(id)))
    }

    /// Merge request of the project by its number; null if it has not been read.
    async fn merge_request(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Number of the merge request within the project.")] iid: u64,
    ) -> Result<Option<MergeRequest>> {
        let id = ThreadId { project: self.path.clone(), kind: ThreadKind::MergeRequest, iid };
        Ok(loaders::item(ctx, id.clone().into()).await?.map(|_| MergeRequest::new(id)))
    }

    /// Commit of the project's repository by a revision; null if the repository has no such revision, and, with an error, if
    /// the revision is ambiguous.
    async fn commit(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Branch, tag or name of a commit, which may be abbreviated.")] rev: String,
    ) -> Result<Option<Commit>> {
        let found = loaders::if_found(loaders::engine(ctx)?.find_commit(self.path.clone(), rev).await)?;
        Ok(found.map(|sha| Commit::new(self.path.clone(), sha.to_string())))
    }

    /// Milestone of the project by its number; null if it has not been read.
    async fn milestone(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Number of the milestone within the project.")] iid: u64,
    ) -> Result<Option<Milestone>> {
        let id = NodeId::Milestone { project: self.path.clone(), iid };
        Ok(loaders::item(ctx, id).await?.map(|_| Milestone::new(self.path.clone(), iid)))
    }

    /// Label of the project by its name; null if the project does not list it.
    async fn label(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Name of the label as it is written.")] name: String,
    ) -> Result<Option<Label>> {
        let id = NodeId::Label { project: self.path.clone(), name: name.clone() };
        Ok(loaders::item(ctx, id).await?.map(|_| Label::new(self.path.clone(), name)))
    }

    /// Release of the project by its tag; null if neither the repository nor the forge has it.
    async fn release(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Name of the tag, `v1`.")] tag: String,
    ) -> Result<Option<Release>> {
        Release::find(ctx, &self.path, &tag).await
    }

    /// Git repository of the project; null if none is indexed.
    async fn repository(&self, ctx: &Context<'_>) -> Result<Option<Repository>> {
        Repository::find(ctx, &self.path).await
    }

    /// Directory of the project's repository at a revision; null, with an error, if there is no such directory or revision.
    async fn tree(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Path from the repository's root; the root if absent.", default)] path: String,
        #[graphql(desc = "Branch, tag or commit; the indexed head if absent.")] rev: Option<String>,
    ) -> Result<Option<Tree>> {
        code::tree(ctx, self.path.clone(), path, rev).await.map(Some)
    }

    /// File of the project's repository, whether it is at the indexed head or not.
    async fn file(&self, #[graphql(desc = "Path from the repository's root.")] path: String) -> File {
        File::new(self.path.clone(), path)
    }

    /// People who know the project's code: those with most commits first, then with most reviews. Null, with an error, if no
    /// repository is indexed.
    async fn contributors(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Path of a file or directory; the whole repository if absent.", default)] path: String,
        #[graphql(desc = "Most people, 0 to 100.", default = 20)] first: Option<i32>,
    ) -> Result<Option<Vec<Contributor>>> {
        code::contributors(ctx, &self.path, &path, first).await.map(Some)
    }

    /// What shipped between two tags, branches or commits of the project's repository; null, with an error, if one of them is
    /// not known.
    async fn shipped(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "Tag, branch or commit whose commits are left out; if absent, those of all tags before `to` are \
                    left out."
        )]
        from: Option<String>,
        #[graphql(desc = "Tag, branch or commit whose commits are included; it must be a tag if `from` is absent.")] to: String,
    ) -> Result<Option<Shipped>> {
        release::find_shipped(ctx, self.path.clone(), from, to).await.map(Some)
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
