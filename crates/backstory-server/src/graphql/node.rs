//! GraphQL types of nodes, under the ids that people read and type.

#![allow(clippy::duplicated_attributes, reason = "each field of the interface has arguments of its own")]

use async_graphql::{Context, ID, Interface, Object, Result};
use backstory_engine::{
    graph::Direction,
    model::id::{NodeId, ThreadKind},
};

use super::{
    annotation::{self, Annotation},
    code::{Branch, CodeEntity, Commit, DesignNote, File, Tag},
    conversation::{Discussion, Note},
    edge::{self, EdgeConnection},
    explore::{self, Neighborhood},
    issue::Issue,
    loaders,
    merge_request::MergeRequest,
    names::{EdgeDirection, EdgeName},
    person::Person,
    planning::{Label, Milestone, Ticket},
    project::Project,
};

/// A node of the graph. Its id is the reference that people write: `acme/shop` for a project, `acme/shop#12` for an
/// issue, `acme/shop!7` for a merge request, `acme/shop!7~6a9c17` for a discussion, `acme/shop!7#note_123` for a note,
/// `acme/shop@1a2b3c4` for a commit, `acme/shop@refs/heads/main` for a branch, `acme/shop@refs/tags/v1` for a tag,
/// `acme/shop:src/a.rs` for a file, `acme/shop:src/a.rs#login` for a code entity, `acme/shop:src/a.rs~12` and
/// `acme/shop@1a2b3c4~5` for design notes, `acme/shop~bug` for a label, `acme/shop%3` for a
/// milestone, `@alice` for a person and `^PROJ-77` for a ticket of another tracker.
#[derive(Interface)]
#[graphql(
    field(name = "id", ty = "ID", desc = "Id of the node: the reference that people write."),
    field(name = "url", ty = "Option<String>", desc = "Page of the node at the forge; null if there is none."),
    field(
        name = "known",
        ty = "bool",
        desc = "Whether backstory has read the node. If it is only mentioned, whatever its id does not say is null."
    ),
    field(
        name = "edges",
        ty = "EdgeConnection",
        desc = "Edges of the node, ordered by name and other end.",
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
        desc = "The nodes around this one, over edges in either direction; null, with an error, if the depth or the \
                number of nodes is out of bounds, or nothing is known about the node.",
        arg(name = "depth", ty = "i32", default = 1, desc = "Most edges between the node and another, 1 to 3."),
        arg(
            name = "names",
            ty = "Option<Vec<EdgeName>>",
            desc = "Names of the edges that are followed. All if absent or empty."
        ),
        arg(name = "first", ty = "Option<i32>", default_with = "Some(50)", desc = "Most nodes, 0 to 100.")
    )
)]
pub(crate) enum Node {
    /// A project.
    Project(Project),
    /// An issue.
    Issue(Issue),
    /// A merge request.
    MergeRequest(MergeRequest),
    /// A discussion.
    Discussion(Discussion),
    /// A note.
    Note(Note),
    /// A commit.
    Commit(Commit),
    /// A branch.
    Branch(Branch),
    /// A tag.
    Tag(Tag),
    /// A file.
    File(File),
    /// A code entity.
    CodeEntity(CodeEntity),
    /// A design note.
    DesignNote(DesignNote),
    /// A label.
    Label(Label),
    /// A milestone.
    Milestone(Milestone),
    /// A person.
    Person(Person),
    /// A ticket of another tracker.
    Ticket(Ticket),
}

impl From<NodeId> for Node {
    fn from(id: NodeId) -> Self {
        match id {
            NodeId::Project(path) => Self::Project(Project::new(path)),
            NodeId::Thread(id) => match id.kind {
                ThreadKind::Issue => Self::Issue(Issue::new(id)),
                ThreadKind::MergeRequest => Self::MergeRequest(MergeRequest::new(id)),
            },
            NodeId::Discussion { thread, id } => Self::Discussion(Discussion::new(thread, id)),
            NodeId::Note { thread, id } => Self::Note(Note::new(thread, id)),
            NodeId::Commit { project, sha } => Self::Commit(Commit::new(project, sha)),
            NodeId::File { project, path } => Self::File(File::new(project, path)),
            NodeId::Branch { project, name } => Self::Branch(Branch::new(project, name)),
            NodeId::Tag { project, name } => Self::Tag(Tag::new(project, name)),
            NodeId::Entity { project, path, name } => Self::CodeEntity(CodeEntity::new(project, path, name)),
            NodeId::DesignNote { project, source, line } => Self::DesignNote(DesignNote::new(project, source, line)),
            NodeId::Label { project, name } => Self::Label(Label::new(project, name)),
            NodeId::Milestone { project, iid } => Self::Milestone(Milestone::new(project, iid)),
            NodeId::Person(username) => Self::Person(Person::new(username)),
            NodeId::Ticket(key) => Self::Ticket(Ticket::new(key)),
        }
    }
}

/// The node of an id, if it is known or something refers to it.
pub(super) async fn find(ctx: &Context<'_>, id: &str) -> Result<Option<Node>> {
    let Ok(id) = id.parse::<NodeId>() else { return Ok(None) };
    let id = loaders::engine(ctx)?.resolve_id(id).await?;
    let node = Node::from(id.clone());
    if node.known(ctx).await? {
        return Ok(Some(node));
    }
    for direction in [Direction::In, Direction::Out] {
        if !loaders::edges(ctx, id.clone(), direction, None).await?.is_empty() {
            return Ok(Some(node));
        }
    }
    Ok(None)
}

/// What every node has: its edges.
pub(crate) struct Links {
    id: NodeId,
}

impl Links {
    pub(super) fn of(id: impl Into<NodeId>) -> Self {
        Self { id: id.into() }
    }

    /// The node they belong to.
    pub(super) fn id(&self) -> &NodeId {
        &self.id
    }
}

#[Object]
impl Links {
    /// Edges of the node, ordered by name and other end.
    pub(crate) async fn edges(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Names of edges. All if absent or empty.")] names: Option<Vec<EdgeName>>,
        #[graphql(
            desc = "Whether to list edges that start at the node or those that end there.",
            default_with = "Some(EdgeDirection::Out)"
        )]
        direction: Option<EdgeDirection>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 50)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
    ) -> Result<EdgeConnection> {
        let direction = direction.unwrap_or(EdgeDirection::Out);
        edge::page(ctx, &self.id, names.as_deref(), direction, first, after.as_deref()).await
    }

    /// What people and programs wrote about the node, oldest first; at most 100.
    async fn annotations(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Only annotations with all of these tags, in any case. All annotations if absent or empty.")]
        tags: Option<Vec<String>>,
    ) -> Result<Vec<Annotation>> {
        annotation::of(ctx, &self.id, tags).await
    }

    /// The nodes around this one, over edges in either direction; null, with an error, if the depth or the number of
    /// nodes is out of bounds, or nothing is known about the node.
    pub(crate) async fn neighborhood(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most edges between the node and another, 1 to 3.", default = 1)] depth: i32,
        #[graphql(desc = "Names of the edges that are followed. All if absent or empty.")] names: Option<Vec<EdgeName>>,
        #[graphql(desc = "Most nodes, 0 to 100.", default = 50)] first: Option<i32>,
    ) -> Result<Option<Neighborhood>> {
        explore::neighborhood(ctx, self.id.clone(), depth, names, first).await.map(Some)
    }
}

/// What the interface asks a type for that has [`Links`], in the field of that path; the API has it from those.
macro_rules! linked {
    ($type:ty, $($links:ident).+) => {
        impl $type {
            pub(crate) async fn edges(
                &self,
                ctx: &async_graphql::Context<'_>,
                names: Option<Vec<$crate::graphql::names::EdgeName>>,
                direction: Option<$crate::graphql::names::EdgeDirection>,
                first: Option<i32>,
                after: Option<String>,
            ) -> async_graphql::Result<$crate::graphql::edge::EdgeConnection> {
                self.$($links).+.edges(ctx, names, direction, first, after).await
            }

            pub(crate) async fn neighborhood(
                &self,
                ctx: &async_graphql::Context<'_>,
                depth: i32,
                names: Option<Vec<$crate::graphql::names::EdgeName>>,
                first: Option<i32>,
            ) -> async_graphql::Result<Option<$crate::graphql::explore::Neighborhood>> {
                self.$($links).+.neighborhood(ctx, depth, names, first).await
            }
        }
    };
}
pub(super) use linked;
