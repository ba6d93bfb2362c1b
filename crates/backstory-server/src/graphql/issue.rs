//! The GraphQL type of issues; what they share with merge requests is in `thread`.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::{
    graph::Direction,
    model::{
        edge::Edge,
        id::{NodeId, ThreadId, ThreadKind},
    },
};

use super::{edge, merge_request::MergeRequest, names::State, thread::ThreadFields};

/// An issue.
pub(crate) struct Issue {
    fields: ThreadFields,
}

impl Issue {
    pub(super) fn new(id: ThreadId) -> Self {
        Self { fields: ThreadFields::new(id) }
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

/// An issue.
#[Object]
impl Issue {
    /// Its reference, `acme/shop#12`.
    pub(super) async fn id(&self) -> ID {
        self.fields.id.to_string().into()
    }

    /// Whether backstory has read it. If others only refer to it, what its id does not tell is null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        self.fields.known(ctx).await
    }

    /// Merge requests that closed it, or will when they are merged.
    async fn closing_merge_requests(&self, ctx: &Context<'_>) -> Result<Vec<MergeRequest>> {
        let ends = edge::ends(ctx, self.fields.node_id(), Direction::In, Edge::Closes).await?;
        let requests = ends.into_iter().filter_map(|end| match end {
            NodeId::Thread(id) if id.kind == ThreadKind::MergeRequest => Some(MergeRequest::new(id)),
            _ => None,
        });
        Ok(requests.collect())
    }

    #[graphql(flatten)]
    async fn fields(&self) -> &ThreadFields {
        &self.fields
    }
}
