//! The GraphQL type of issues; what they share with merge requests is in `thread`.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::{
    graph::Direction,
    model::{
        edge::Edge,
        id::{NodeId, ThreadId, ThreadKind},
    },
};

use super::{
    edge,
    merge_request::MergeRequest,
    names::State,
    node::linked,
    person::Person,
    planning::Milestone,
    project::Project,
    scalar::DateTime,
    thread::{ThreadFields, shared_fields},
};

/// An issue.
pub(crate) struct Issue {
    fields: ThreadFields,
}

impl Issue {
    pub(super) fn new(id: ThreadId) -> Self {
        Self { fields: ThreadFields::new(id) }
    }
}

// The interfaces `Node` and `Thread` ask each of their types for these; the API has them from the shared fields.
shared_fields!(Issue {
    reference: String,
    url: Option<String>,
    iid: u64,
    project: Project,
    title: Option<String>,
    description: Option<String>,
    state: Option<State>,
    author: Option<Person>,
    created_at: Option<DateTime>,
    updated_at: Option<DateTime>,
    closed_at: Option<DateTime>,
    confidential: bool,
    closed_by: Option<Person>,
    milestone: Option<Milestone>,
    assignees: Vec<Person>,
    notes_count: Option<u64>,
});

// The interface asks for what all nodes have.
linked!(Issue, fields.links);

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
