//! GraphQL types of what issues and merge requests have in common.

use async_graphql::{Context, ID, Interface, Object, Result};
use backstory_engine::model::{
    entity::{Item, Thread as ThreadItem},
    id::{NodeId, ThreadId, ThreadKind},
};

use super::{
    edge::EdgeConnection,
    explore::Neighborhood,
    issue::Issue,
    lists::{self, DiscussionConnection, DiscussionFilter, DiscussionOrder, LabelConnection, LabelOrder, Paging},
    loaders,
    merge_request::MergeRequest,
    names::{EdgeDirection, EdgeName, State},
    node::Links,
    person::Person,
    planning::Milestone,
    project::Project,
    scalar::DateTime,
    secret::{self, Secrets},
    summary::{self, Summary},
    written::{self, ModelNotes},
};

/// An issue or a merge request.
#[derive(Interface)]
#[allow(clippy::duplicated_attributes, reason = "two fields have the same type")]
#[graphql(
    field(name = "id", ty = "ID", desc = "Its reference, `acme/shop#12` or `acme/shop!7`."),
    field(name = "ref", method = "reference", ty = "String", desc = "The same as the id."),
    field(name = "known", ty = "bool", desc = "Whether backstory has read it."),
    field(name = "title", ty = "Option<String>", desc = "One-line title."),
    field(name = "state", ty = "Option<State>", desc = "Where it stands."),
    field(name = "url", ty = "Option<String>", desc = "Its page at the forge."),
    field(name = "iid", ty = "u64", desc = "Number within the project."),
    field(name = "project", ty = "Project", desc = "The project it belongs to."),
    field(name = "author", ty = "Option<Person>", desc = "Who opened it; null for a deleted account."),
    field(name = "description", ty = "Option<String>", desc = "Text, Markdown; empty if there is none."),
    field(name = "createdAt", method = "created_at", ty = "Option<DateTime>", desc = "When it was opened."),
    field(
        name = "updatedAt",
        method = "updated_at",
        ty = "Option<DateTime>",
        desc = "When it last changed, as far as the forge tells."
    ),
    field(name = "closedAt", method = "closed_at", ty = "Option<DateTime>", desc = "When it was closed."),
    field(name = "closedBy", method = "closed_by", ty = "Option<Person>", desc = "Who closed it."),
    field(name = "milestone", ty = "Option<Milestone>", desc = "Its milestone."),
    field(name = "assignees", ty = "Vec<Person>", desc = "Who it is assigned to."),
    field(
        name = "notesCount",
        method = "notes_count",
        ty = "Option<u64>",
        desc = "How many notes people wrote, as the forge counts, without internal notes of what is not confidential."
    ),
    field(name = "confidential", ty = "bool", desc = "Whether only some may see it and everything in it."),
    field(
        name = "labels",
        ty = "LabelConnection",
        desc = "Its labels, by name.",
        arg(name = "order_by", ty = "Option<LabelOrder>", desc = "Their order."),
        arg(
            name = "first",
            ty = "Option<i32>",
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        ),
        arg(name = "after", ty = "Option<String>", desc = "The endCursor of the page before."),
        arg(name = "last", ty = "Option<i32>", desc = "How many from the end or before a cursor, 0 to 100."),
        arg(name = "before", ty = "Option<String>", desc = "The startCursor of the page behind.")
    ),
    field(
        name = "discussions",
        ty = "DiscussionConnection",
        desc = "Its discussions with notes of people, unless otherwise ordered the oldest first.",
        arg(name = "filter", ty = "Option<DiscussionFilter>", desc = "Only those that meet all these conditions."),
        arg(name = "order_by", ty = "Option<DiscussionOrder>", desc = "Their order."),
        arg(
            name = "first",
            ty = "Option<i32>",
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        ),
        arg(name = "after", ty = "Option<String>", desc = "The endCursor of the page before."),
        arg(name = "last", ty = "Option<i32>", desc = "How many from the end or before a cursor, 0 to 100."),
        arg(name = "before", ty = "Option<String>", desc = "The startCursor of the page behind.")
    ),
    field(
        name = "edges",
        ty = "EdgeConnection",
        desc = "What it is linked with, ordered by name and other end.",
        arg(name = "names", ty = "Option<Vec<EdgeName>>", desc = "Names of the edges; all if absent."),
        arg(
            name = "direction",
            ty = "Option<EdgeDirection>",
            default_with = "Some(EdgeDirection::Out)",
            desc = "Edges that start at the node, or their inverse: those that end there."
        ),
        arg(name = "first", ty = "Option<i32>", default_with = "Some(50)", desc = "Size of the page, 0 to 100."),
        arg(name = "after", ty = "Option<String>", desc = "The endCursor of the page before.")
    ),
    field(
        name = "neighborhood",
        ty = "Neighborhood",
        desc = "The nodes around it, over edges in either direction.",
        arg(name = "depth", ty = "i32", default = 1, desc = "Most edges between the node and another, 1 to 3."),
        arg(
            name = "edges",
            ty = "Option<Vec<EdgeName>>",
            desc = "Names of the edges that are followed; all if absent."
        ),
        arg(name = "first", ty = "Option<i32>", default_with = "Some(50)", desc = "Most nodes, 0 to 100.")
    )
)]
pub(crate) enum Thread {
    /// An issue.
    Issue(Issue),
    /// A merge request.
    MergeRequest(MergeRequest),
}

impl From<ThreadId> for Thread {
    fn from(id: ThreadId) -> Self {
        match id.kind {
            ThreadKind::Issue => Self::Issue(Issue::new(id)),
            ThreadKind::MergeRequest => Self::MergeRequest(MergeRequest::new(id)),
        }
    }
}

/// The fields that issues and merge requests share.
pub(crate) struct ThreadFields {
    pub(super) id: ThreadId,
    pub(super) links: Links,
}

impl ThreadFields {
    pub(super) fn new(id: ThreadId) -> Self {
        Self { links: Links::of(id.clone()), id }
    }

    pub(super) fn node_id(&self) -> &NodeId {
        self.links.id()
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&ThreadItem) -> T) -> Result<Option<T>> {
        let item = loaders::item(ctx, self.node_id().clone()).await?;
        Ok(match item.as_deref() {
            Some(Item::Issue(issue)) => Some(read(&issue.thread)),
            Some(Item::MergeRequest(mr)) => Some(read(&mr.thread)),
            _ => None,
        })
    }

    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |_| ()).await?.is_some())
    }
}

#[Object]
impl ThreadFields {
    /// The same as the id.
    #[graphql(name = "ref")]
    pub(super) async fn reference(&self) -> String {
        self.id.to_string()
    }

    /// Number within the project.
    pub(super) async fn iid(&self) -> u64 {
        self.id.iid
    }

    /// The project it belongs to.
    pub(super) async fn project(&self) -> Project {
        Project::new(self.id.project.clone())
    }

    /// One-line title.
    pub(super) async fn title(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |thread| thread.title.clone()).await
    }

    /// Text, Markdown; empty if there is none.
    pub(super) async fn description(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |thread| thread.description.clone()).await
    }

    /// Whether secrets were replaced in its title or text: the author should revoke them.
    async fn security_warning(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |thread| !thread.secrets().is_empty()).await?.unwrap_or_default())
    }

    /// Which secrets were replaced in its title or text.
    async fn secrets(&self, ctx: &Context<'_>) -> Result<Vec<Secrets>> {
        Ok(secret::list(self.read(ctx, |thread| thread.secrets()).await?))
    }

    /// Where it stands.
    pub(super) async fn state(&self, ctx: &Context<'_>) -> Result<Option<State>> {
        self.read(ctx, |thread| thread.state.into()).await
    }

    /// Who opened it; null for a deleted account.
    pub(super) async fn author(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        Ok(self.read(ctx, |thread| thread.author.clone()).await?.flatten().map(Person::new))
    }

    /// Its labels, by name.
    pub(super) async fn labels(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Their order.")] order_by: Option<LabelOrder>,
        #[graphql(
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "The endCursor of the page before.")] after: Option<String>,
        #[graphql(desc = "How many from the end or before a cursor, 0 to 100.")] last: Option<i32>,
        #[graphql(desc = "The startCursor of the page behind.")] before: Option<String>,
    ) -> Result<LabelConnection> {
        let names = self.read(ctx, |thread| thread.labels.clone()).await?.unwrap_or_default();
        lists::labels_of(&self.id.project, names, order_by, &Paging { first, after, last, before })
    }

    /// Its milestone.
    pub(super) async fn milestone(&self, ctx: &Context<'_>) -> Result<Option<Milestone>> {
        let iid = self.read(ctx, |thread| thread.milestone).await?.flatten();
        Ok(iid.map(|iid| Milestone::new(self.id.project.clone(), iid)))
    }

    /// Who it is assigned to.
    pub(super) async fn assignees(&self, ctx: &Context<'_>) -> Result<Vec<Person>> {
        let usernames = self.read(ctx, |thread| thread.assignees.clone()).await?.unwrap_or_default();
        Ok(usernames.into_iter().map(Person::new).collect())
    }

    /// When it was opened.
    pub(super) async fn created_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        self.read(ctx, |thread| thread.created_at.into()).await
    }

    /// When it last changed, as far as the forge tells.
    pub(super) async fn updated_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        self.read(ctx, |thread| thread.updated_at.into()).await
    }

    /// When it was closed.
    pub(super) async fn closed_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.read(ctx, |thread| thread.closed_at.map(DateTime::from)).await?.flatten())
    }

    /// Who closed it.
    pub(super) async fn closed_by(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        Ok(self.read(ctx, |thread| thread.closed_by.clone()).await?.flatten().map(Person::new))
    }

    /// Its page at the forge.
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |thread| thread.web_url.clone()).await
    }

    /// Whether only some may see it and everything in it.
    pub(super) async fn confidential(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |thread| thread.confidential).await?.unwrap_or_default())
    }

    /// How many notes people wrote, as the forge counts, without internal notes of what is not confidential.
    pub(super) async fn notes_count(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
        self.read(ctx, |thread| thread.notes_count).await
    }

    /// What a language model wrote about it, if `summarize` was ever asked for; null otherwise.
    async fn summary(&self, ctx: &Context<'_>) -> Result<Option<Summary>> {
        summary::of(ctx, &self.id.clone().into()).await
    }

    /// Design notes that a language model wrote of it, if `enrich` was ever asked for and any could be proved; null
    /// otherwise.
    async fn model_notes(&self, ctx: &Context<'_>) -> Result<Option<ModelNotes>> {
        written::notes(ctx, &self.id).await
    }

    /// Its discussions with notes of people, unless otherwise ordered the oldest first.
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
    pub(super) async fn discussions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only those that meet all these conditions.")] filter: Option<DiscussionFilter>,
        #[graphql(desc = "Their order.")] order_by: Option<DiscussionOrder>,
        #[graphql(
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "The endCursor of the page before.")] after: Option<String>,
        #[graphql(desc = "How many from the end or before a cursor, 0 to 100.")] last: Option<i32>,
        #[graphql(desc = "The startCursor of the page behind.")] before: Option<String>,
    ) -> Result<DiscussionConnection> {
        let paging = Paging { first, after, last, before };
        lists::discussions(ctx, &self.id, filter, order_by, paging).await
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}

/// What the interfaces ask each of their types for; the API has it from the shared fields.
macro_rules! shared_fields {
    ($type:ty { $($name:ident: $returned:ty),* $(,)? }) => {
        impl $type {
            $(pub(super) async fn $name(&self, ctx: &async_graphql::Context<'_>) -> async_graphql::Result<$returned> {
                self.fields.$name(ctx).await
            })*

            pub(super) async fn labels(
                &self,
                ctx: &async_graphql::Context<'_>,
                order_by: Option<$crate::graphql::lists::LabelOrder>,
                first: Option<i32>,
                after: Option<String>,
                last: Option<i32>,
                before: Option<String>,
            ) -> async_graphql::Result<$crate::graphql::lists::LabelConnection> {
                self.fields.labels(ctx, order_by, first, after, last, before).await
            }

            #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
            pub(super) async fn discussions(
                &self,
                ctx: &async_graphql::Context<'_>,
                filter: Option<$crate::graphql::lists::DiscussionFilter>,
                order_by: Option<$crate::graphql::lists::DiscussionOrder>,
                first: Option<i32>,
                after: Option<String>,
                last: Option<i32>,
                before: Option<String>,
            ) -> async_graphql::Result<$crate::graphql::lists::DiscussionConnection> {
                self.fields.discussions(ctx, filter, order_by, first, after, last, before).await
            }
        }
    };
}
pub(super) use shared_fields;
