//! GraphQL types of labels and milestones.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::model::{
    entity::{Item, Label as LabelItem, Milestone as MilestoneItem},
    id::NodeId,
};

use super::{
    lists::{LabelLists, MilestoneLists},
    loaders,
    names::State,
    node::{Links, linked},
    project::Project,
};

/// A label.
pub(crate) struct Label {
    project: String,
    name: String,
    links: Links,
}

impl Label {
    pub(super) fn new(project: String, name: String) -> Self {
        let links = Links::of(NodeId::Label { project: project.clone(), name: name.clone() });
        Self { project, name, links }
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&LabelItem) -> T) -> Result<Option<T>> {
        let item = loaders::item(ctx, self.links.id().clone()).await?;
        Ok(match item.as_deref() {
            Some(Item::Label(label)) => Some(read(label)),
            _ => None,
        })
    }
}

// The interface asks for what all nodes have.
linked!(Label, links);

/// A label of a project.
#[Object]
impl Label {
    /// Id of the label as a node, `acme/shop~bug`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether the project lists the label. If only items still have it, color and description are null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |_| ()).await?.is_some())
    }

    /// Name of the label.
    async fn name(&self) -> &str {
        &self.name
    }

    /// Project that the label belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    /// Color of the label, `#rrggbb`; null if that is not known.
    async fn color(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |label| label.color.clone()).await?.flatten())
    }

    /// What the label stands for; null if that is not known.
    async fn description(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |label| label.description.clone()).await?.flatten())
    }

    /// Always null: a label has no page of its own.
    pub(super) async fn url(&self) -> Option<String> {
        None
    }

    #[graphql(flatten)]
    async fn lists(&self) -> LabelLists {
        LabelLists::of(self.project.clone(), self.name.clone())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}

/// A milestone.
pub(crate) struct Milestone {
    project: String,
    iid: u64,
    links: Links,
}

impl Milestone {
    pub(super) fn new(project: String, iid: u64) -> Self {
        let links = Links::of(NodeId::Milestone { project: project.clone(), iid });
        Self { project, iid, links }
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&MilestoneItem) -> T) -> Result<Option<T>> {
        let item = loaders::item(ctx, self.links.id().clone()).await?;
        Ok(match item.as_deref() {
            Some(Item::Milestone(milestone)) => Some(read(milestone)),
            _ => None,
        })
    }
}

// The interface asks for what all nodes have.
linked!(Milestone, links);

/// A milestone of a project.
#[Object]
impl Milestone {
    /// Id of the milestone as a node, `acme/shop%3`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read the milestone. If it is only mentioned, whatever its id does not say is null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |_| ()).await?.is_some())
    }

    /// Number of the milestone within the project.
    async fn iid(&self) -> u64 {
        self.iid
    }

    /// Project that the milestone belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    /// Title of the milestone.
    async fn title(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |milestone| milestone.title.clone()).await
    }

    /// Text of the milestone; empty if there is none.
    async fn description(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |milestone| milestone.description.clone()).await
    }

    /// State of the milestone: opened or closed.
    async fn state(&self, ctx: &Context<'_>) -> Result<Option<State>> {
        self.read(ctx, |milestone| if milestone.state == "closed" { State::Closed } else { State::Opened }).await
    }

    /// Page of the milestone at the forge; null if there is none.
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |milestone| milestone.web_url.clone()).await?.flatten())
    }

    #[graphql(flatten)]
    async fn lists(&self) -> MilestoneLists {
        MilestoneLists::of(self.project.clone(), self.iid)
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}

/// A ticket of another tracker.
pub(crate) struct Ticket {
    key: String,
    links: Links,
}

impl Ticket {
    pub(super) fn new(key: String) -> Self {
        let links = Links::of(NodeId::Ticket(key.clone()));
        Self { key, links }
    }
}

// The interface asks for what all nodes have.
linked!(Ticket, links);

/// A ticket of another tracker that texts name. Nothing else is known of it.
#[Object]
impl Ticket {
    /// Id of the ticket as a node, `^PROJ-77`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether a text names the ticket.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Key of the ticket in its tracker, `PROJ-77`.
    async fn key(&self) -> &str {
        &self.key
    }

    /// Page of the ticket; null if no configured tracker has such keys.
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(loaders::engine(ctx)?.settings().trackers.url_of(&self.key))
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
