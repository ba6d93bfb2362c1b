//! GraphQL types of what issues and merge requests have in common.

use async_graphql::{Context, ID, Interface, Object, Result};
use backstory_engine::{
    lists::ThreadRow,
    model::{
        entity::{Item, Thread as ThreadItem},
        id::{NodeId, ThreadId, ThreadKind},
    },
};

use super::{
    edge::EdgeConnection,
    explore::Neighborhood,
    issue::Issue,
    lists::{self, DiscussionConnection, DiscussionFilter, DiscussionOrder, LabelConnection, Paging},
    loaders,
    merge_request::MergeRequest,
    names::{EdgeDirection, EdgeName, State},
    node::Links,
    page::{self, DEFAULT_PAGE},
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
    field(name = "id", ty = "ID", desc = "Id as a node, `acme/shop#12` or `acme/shop!7`."),
    field(
        name = "known",
        ty = "bool",
        desc = "Whether backstory has read the issue or merge request. If it is only mentioned, whatever its id does \
                not say is null."
    ),
    field(name = "title", ty = "Option<String>", desc = "One-line title."),
    field(name = "state", ty = "Option<State>", desc = "State of the issue or merge request."),
    field(name = "url", ty = "Option<String>", desc = "Page of the issue or merge request at the forge."),
    field(name = "iid", ty = "u64", desc = "Number within the project."),
    field(name = "project", ty = "Project", desc = "Project that the issue or merge request belongs to."),
    field(name = "author", ty = "Option<Person>", desc = "Person who opened it; null for a deleted account."),
    field(name = "description", ty = "Option<String>", desc = "Text in Markdown; empty if there is none."),
    field(
        name = "createdAt",
        method = "created_at",
        ty = "Option<DateTime>",
        desc = "When the issue or merge request was opened."
    ),
    field(
        name = "updatedAt",
        method = "updated_at",
        ty = "Option<DateTime>",
        desc = "When the issue or merge request last changed, according to the forge."
    ),
    field(
        name = "closedAt",
        method = "closed_at",
        ty = "Option<DateTime>",
        desc = "When the issue or merge request was closed; null if it is open or merged."
    ),
    field(
        name = "closedBy",
        method = "closed_by",
        ty = "Option<Person>",
        desc = "Person who closed the issue or merge request; null if nobody did."
    ),
    field(
        name = "milestone",
        ty = "Option<Milestone>",
        desc = "Milestone that the issue or merge request is in; null if it is in none."
    ),
    field(name = "assignees", ty = "Vec<Person>", desc = "People to whom the issue or merge request is assigned."),
    field(
        name = "participants",
        ty = "Vec<Person>",
        desc = "People who opened the issue or merge request, or wrote a note that is visible to everyone who can see \
                it, by user name.",
        arg(name = "first", ty = "Option<i32>", default_with = "Some(20)", desc = "Most people, 0 to 100.")
    ),
    field(
        name = "lastNoteAt",
        method = "last_note_at",
        ty = "Option<DateTime>",
        desc = "When the last note was written, of those visible to everyone who can see the issue or merge request; \
                null without notes."
    ),
    field(
        name = "unresolvedCount",
        method = "unresolved_count",
        ty = "Option<u64>",
        desc = "How many discussions can be resolved and are not, of those visible to everyone who can see the issue \
                or merge request."
    ),
    field(
        name = "noteCount",
        method = "note_count",
        ty = "Option<u64>",
        desc = "How many notes people wrote, as the forge counts them, without internal notes of what is not \
                confidential."
    ),
    field(
        name = "confidential",
        ty = "bool",
        desc = "Whether only some may see the issue or merge request and everything in it."
    ),
    field(
        name = "labels",
        ty = "LabelConnection",
        desc = "Labels of the issue or merge request, by name.",
        arg(
            name = "first",
            ty = "Option<i32>",
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        ),
        arg(name = "after", ty = "Option<String>", desc = "The endCursor of the previous page."),
        arg(name = "last", ty = "Option<i32>", desc = "How many from the end or before a cursor, 0 to 100."),
        arg(name = "before", ty = "Option<String>", desc = "The startCursor of the next page.")
    ),
    field(
        name = "discussions",
        ty = "DiscussionConnection",
        desc = "Discussions of the issue or merge request with notes of people, the oldest first unless ordered \
                otherwise.",
        arg(
            name = "filter",
            ty = "Option<DiscussionFilter>",
            desc = "Only discussions that meet all these conditions; all of them if absent."
        ),
        arg(
            name = "order_by",
            ty = "Option<DiscussionOrder>",
            desc = "Order of the list; its default order if absent."
        ),
        arg(
            name = "first",
            ty = "Option<i32>",
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        ),
        arg(name = "after", ty = "Option<String>", desc = "The endCursor of the previous page."),
        arg(name = "last", ty = "Option<i32>", desc = "How many from the end or before a cursor, 0 to 100."),
        arg(name = "before", ty = "Option<String>", desc = "The startCursor of the next page.")
    ),
    field(
        name = "edges",
        ty = "EdgeConnection",
        desc = "Edges of the issue or merge request, ordered by name and other end.",
        arg(name = "names", ty = "Option<Vec<EdgeName>>", desc = "Names of edges. All if absent or empty."),
        arg(
            name = "direction",
            ty = "Option<EdgeDirection>",
            default_with = "Some(EdgeDirection::Out)",
            desc = "Whether to list edges that start at the node or those that end there."
        ),
        arg(name = "first", ty = "Option<i32>", default_with = "Some(50)", desc = "Size of the page, 0 to 100."),
        arg(name = "after", ty = "Option<String>", desc = "The endCursor of the previous page.")
    ),
    field(
        name = "neighborhood",
        ty = "Option<Neighborhood>",
        desc = "The nodes around the issue or merge request, over edges in either direction; null, with an error, if \
                the depth or the number of nodes is out of bounds, or nothing is known about it.",
        arg(name = "depth", ty = "i32", default = 1, desc = "Most edges between the node and another, 1 to 3."),
        arg(
            name = "names",
            ty = "Option<Vec<EdgeName>>",
            desc = "Names of the edges that are followed. All if absent or empty."
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

    pub(super) async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&ThreadItem) -> T) -> Result<Option<T>> {
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

    /// What the lists have of it.
    async fn row<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&ThreadRow) -> T) -> Result<Option<T>> {
        Ok(loaders::thread_row(ctx, self.id.clone()).await?.as_deref().map(read))
    }
}

#[Object]
impl ThreadFields {
    /// Number within the project.
    pub(super) async fn iid(&self) -> u64 {
        self.id.iid
    }

    /// Project that the issue or merge request belongs to.
    pub(super) async fn project(&self) -> Project {
        Project::new(self.id.project.clone())
    }

    /// One-line title.
    pub(super) async fn title(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |thread| thread.title.clone()).await
    }

    /// Text in Markdown; empty if there is none.
    pub(super) async fn description(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |thread| thread.description.clone()).await
    }

    /// Whether secrets were replaced in the title or text: the author should revoke them.
    async fn security_warning(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |thread| !thread.secrets().is_empty()).await?.unwrap_or_default())
    }

    /// Secrets that were replaced in the title or text, by kind.
    async fn secrets(&self, ctx: &Context<'_>) -> Result<Vec<Secrets>> {
        Ok(secret::list(self.read(ctx, |thread| thread.secrets()).await?))
    }

    /// State of the issue or merge request.
    pub(super) async fn state(&self, ctx: &Context<'_>) -> Result<Option<State>> {
        self.read(ctx, |thread| thread.state.into()).await
    }

    /// Person who opened it; null for a deleted account.
    pub(super) async fn author(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        Ok(self.read(ctx, |thread| thread.author.clone()).await?.flatten().map(Person::new))
    }

    /// Labels of the issue or merge request, by name.
    pub(super) async fn labels(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
        #[graphql(desc = "How many from the end or before a cursor, 0 to 100.")] last: Option<i32>,
        #[graphql(desc = "The startCursor of the next page.")] before: Option<String>,
    ) -> Result<LabelConnection> {
        let names = self.read(ctx, |thread| thread.labels.clone()).await?.unwrap_or_default();
        lists::labels_of(&self.id.project, names, &Paging { first, after, last, before })
    }

    /// Milestone that the issue or merge request is in; null if it is in none.
    pub(super) async fn milestone(&self, ctx: &Context<'_>) -> Result<Option<Milestone>> {
        let iid = self.read(ctx, |thread| thread.milestone).await?.flatten();
        Ok(iid.map(|iid| Milestone::new(self.id.project.clone(), iid)))
    }

    /// People to whom the issue or merge request is assigned.
    pub(super) async fn assignees(&self, ctx: &Context<'_>) -> Result<Vec<Person>> {
        let usernames = self.read(ctx, |thread| thread.assignees.clone()).await?.unwrap_or_default();
        Ok(usernames.into_iter().map(Person::new).collect())
    }

    /// When the issue or merge request was opened.
    pub(super) async fn created_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        self.read(ctx, |thread| thread.created_at.into()).await
    }

    /// When the issue or merge request last changed, according to the forge.
    pub(super) async fn updated_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        self.read(ctx, |thread| thread.updated_at.into()).await
    }

    /// When the issue or merge request was closed; null if it is open or merged.
    pub(super) async fn closed_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.read(ctx, |thread| thread.closed_at.map(DateTime::from)).await?.flatten())
    }

    /// Person who closed the issue or merge request; null if nobody did.
    pub(super) async fn closed_by(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        Ok(self.read(ctx, |thread| thread.closed_by.clone()).await?.flatten().map(Person::new))
    }

    /// Page of the issue or merge request at the forge.
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |thread| thread.web_url.clone()).await
    }

    /// Whether only some may see the issue or merge request and everything in it.
    pub(super) async fn confidential(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |thread| thread.confidential).await?.unwrap_or_default())
    }

    /// How many notes people wrote, as the forge counts them, without internal notes of what is not confidential.
    pub(super) async fn note_count(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
        self.read(ctx, |thread| thread.notes_count).await
    }

    /// Summary by a language model, if `summarize` was ever called; null otherwise.
    async fn summary(&self, ctx: &Context<'_>) -> Result<Option<Summary>> {
        summary::of(ctx, &self.id.clone().into()).await
    }

    /// Design notes by a language model, if `enrich` was ever called and any could be verified; null otherwise.
    async fn model_notes(&self, ctx: &Context<'_>) -> Result<Option<ModelNotes>> {
        written::notes(ctx, &self.id).await
    }

    /// People who opened the issue or merge request, or wrote a note that is visible to everyone who can see it, by
    /// user name.
    pub(super) async fn participants(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most people, 0 to 100.", default_with = "Some(20)")] first: Option<i32>,
    ) -> Result<Vec<Person>> {
        let size = page::size(first, DEFAULT_PAGE)?;
        let names = self.row(ctx, |row| row.participants.clone()).await?.unwrap_or_default();
        Ok(names.into_iter().take(size).map(Person::new).collect())
    }

    /// When the last note was written, of those visible to everyone who can see the issue or merge request; null
    /// without notes.
    pub(super) async fn last_note_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.row(ctx, |row| row.last_note_at.map(DateTime::from)).await?.flatten())
    }

    /// How many discussions can be resolved and are not, of those visible to everyone who can see the issue or merge
    /// request.
    pub(super) async fn unresolved_count(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
        self.row(ctx, |row| row.unresolved).await
    }

    /// Discussions of the issue or merge request with notes of people, the oldest first unless ordered otherwise.
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
    pub(super) async fn discussions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only discussions that meet all these conditions; all of them if absent.")] filter: Option<
            DiscussionFilter,
        >,
        #[graphql(desc = "Order of the list; its default order if absent.")] order_by: Option<DiscussionOrder>,
        #[graphql(
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
        #[graphql(desc = "How many from the end or before a cursor, 0 to 100.")] last: Option<i32>,
        #[graphql(desc = "The startCursor of the next page.")] before: Option<String>,
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

            pub(super) async fn participants(
                &self,
                ctx: &async_graphql::Context<'_>,
                first: Option<i32>,
            ) -> async_graphql::Result<Vec<$crate::graphql::person::Person>> {
                self.fields.participants(ctx, first).await
            }

            pub(super) async fn labels(
                &self,
                ctx: &async_graphql::Context<'_>,
                first: Option<i32>,
                after: Option<String>,
                last: Option<i32>,
                before: Option<String>,
            ) -> async_graphql::Result<$crate::graphql::lists::LabelConnection> {
                self.fields.labels(ctx, first, after, last, before).await
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
