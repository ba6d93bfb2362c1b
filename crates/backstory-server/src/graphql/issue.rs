//! The GraphQL type of issues; what they share with merge requests is in `thread`.

use std::collections::BTreeSet;

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::{
    graph::Direction,
    model::{
        edge::Edge,
        entity::Thread as ThreadItem,
        id::{NodeId, ThreadId, ThreadKind},
    },
};

use super::{
    code::{Commit, commit_node},
    edge,
    merge_request::MergeRequest,
    names::State,
    node::linked,
    page::{self, DEFAULT_PAGE},
    person::Person,
    planning::Milestone,
    project::Project,
    scalar::{DateTime, seconds_between},
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
    last_note_at: Option<DateTime>,
    unresolved_count: Option<u64>,
    note_count: Option<u64>,
});

// The interface asks for what all nodes have.
linked!(Issue, fields.links);

/// An issue of a project.
#[Object]
impl Issue {
    /// Id of the issue as a node, `acme/shop#12`.
    pub(super) async fn id(&self) -> ID {
        self.fields.id.to_string().into()
    }

    /// Whether backstory has read the issue. If it is only mentioned, whatever its id does not say is null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        self.fields.known(ctx).await
    }

    /// How many whole seconds passed from when the issue was opened until it was closed; null if it is open.
    async fn time_to_close(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
        let read = |thread: &ThreadItem| Some(seconds_between(thread.created_at, thread.closed_at?));
        Ok(self.fields.read(ctx, read).await?.flatten())
    }

    /// Merge requests that closed the issue, or will when they are merged.
    async fn closing_merge_requests(&self, ctx: &Context<'_>) -> Result<Vec<MergeRequest>> {
        let ends = edge::ends(ctx, self.fields.node_id(), Direction::In, Edge::Closes).await?;
        let requests = ends.into_iter().filter_map(|end| match end {
            NodeId::Thread(id) if id.kind == ThreadKind::MergeRequest => Some(MergeRequest::new(id)),
            _ => None,
        });
        Ok(requests.collect())
    }

    /// Commits whose messages say that they close or fix the issue, by name.
    async fn closing_commits(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most commits, 0 to 100.", default_with = "Some(20)")] first: Option<i32>,
    ) -> Result<Vec<Commit>> {
        let size = page::size(first, DEFAULT_PAGE)?;
        let mut commits = BTreeSet::new();
        for edge in [Edge::Closes, Edge::Fixes] {
            commits.extend(edge::ends(ctx, self.fields.node_id(), Direction::In, edge).await?);
        }
        Ok(commits.into_iter().filter_map(commit_node).take(size).collect())
    }

    #[graphql(flatten)]
    async fn fields(&self) -> &ThreadFields {
        &self.fields
    }
}
