//! The GraphQL type of merge requests; what they share with issues is in `thread`.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::{
    graph::Direction,
    model::{
        edge::Edge,
        entity::{Item, MergeRequest as MergeRequestItem},
        id::{NodeId, ThreadId, ThreadKind},
    },
};

use super::{edge, issue::Issue, loaders, names::State, person::Person, scalar::DateTime, thread::ThreadFields};

/// A merge request.
pub(crate) struct MergeRequest {
    fields: ThreadFields,
}

impl MergeRequest {
    pub(super) fn new(id: ThreadId) -> Self {
        Self { fields: ThreadFields::new(id) }
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&MergeRequestItem) -> T) -> Result<Option<T>> {
        let item = loaders::item(ctx, self.fields.node_id().clone()).await?;
        Ok(match item.as_deref() {
            Some(Item::MergeRequest(mr)) => Some(read(mr)),
            _ => None,
        })
    }

    // The interface `Thread` asks each of its types for these; the API has them from the shared fields.

    pub(super) async fn reference(&self, ctx: &Context<'_>) -> Result<String> {
        self.fields.reference(ctx).await
    }

    pub(super) async fn title(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.fields.title(ctx).await
    }

    pub(super) async fn state(&self, ctx: &Context<'_>) -> Result<Option<State>> {
        self.fields.state(ctx).await
    }

    pub(super) async fn web_url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.fields.web_url(ctx).await
    }
}

/// A merge request.
#[Object]
impl MergeRequest {
    /// Its reference, `acme/shop!7`.
    pub(super) async fn id(&self) -> ID {
        self.fields.id.to_string().into()
    }

    /// Whether backstory has read it. If others only refer to it, what its id does not tell is null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        self.fields.known(ctx).await
    }

    /// Branch the changes are on.
    async fn source_branch(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |mr| mr.source_branch.clone()).await
    }

    /// Branch they go to.
    async fn target_branch(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |mr| mr.target_branch.clone()).await
    }

    /// Whether it is a draft.
    async fn draft(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        self.read(ctx, |mr| mr.draft).await
    }

    /// Who was asked for, or gave, a review.
    async fn reviewers(&self, ctx: &Context<'_>) -> Result<Vec<Person>> {
        Ok(people(self.read(ctx, |mr| mr.reviewers.clone()).await?))
    }

    /// Who approved it.
    async fn approved_by(&self, ctx: &Context<'_>) -> Result<Vec<Person>> {
        Ok(people(self.read(ctx, |mr| mr.approved_by.clone()).await?))
    }

    /// When it was merged.
    async fn merged_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.read(ctx, |mr| mr.merged_at.map(DateTime::from)).await?.flatten())
    }

    /// Who merged it.
    async fn merged_by(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        Ok(self.read(ctx, |mr| mr.merged_by.clone()).await?.flatten().map(Person::new))
    }

    /// Commit at the tip of its source branch, 40 or 64 hex digits.
    async fn head_sha(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |mr| mr.head_sha.clone()).await?.flatten())
    }

    /// Commit that merged it.
    async fn merge_commit_sha(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |mr| mr.merge_commit_sha.clone()).await?.flatten())
    }

    /// Commit it was squashed to.
    async fn squash_commit_sha(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |mr| mr.squash_commit_sha.clone()).await?.flatten())
    }

    /// Issues that it closed, or will when it is merged.
    async fn closes(&self, ctx: &Context<'_>) -> Result<Vec<Issue>> {
        let ends = edge::ends(ctx, self.fields.node_id(), Direction::Out, Edge::Closes).await?;
        let issues = ends.into_iter().filter_map(|end| match end {
            NodeId::Thread(id) if id.kind == ThreadKind::Issue => Some(Issue::new(id)),
            _ => None,
        });
        Ok(issues.collect())
    }

    #[graphql(flatten)]
    async fn fields(&self) -> &ThreadFields {
        &self.fields
    }
}

fn people(usernames: Option<Vec<String>>) -> Vec<Person> {
    usernames.unwrap_or_default().into_iter().map(Person::new).collect()
}
