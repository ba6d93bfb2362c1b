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
    /// Its reference, `acme/shop~bug`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// The same as the id.
    #[graphql(name = "ref")]
    pub(super) async fn reference(&self) -> String {
        self.links.id().to_string()
    }

    /// Whether the project lists it. Of one that items still have but the project does not, color and description are
    /// null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |_| ()).await?.is_some())
    }

    /// What it says.
    async fn name(&self) -> &str {
        &self.name
    }

    /// The project it belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    /// `#rrggbb`.
    async fn color(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |label| label.color.clone()).await?.flatten())
    }

    /// What it stands for.
    async fn description(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |label| label.description.clone()).await?.flatten())
    }

    /// Null: a label has no page of its own.
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
    /// Its reference, `acme/shop%3`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
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

    /// Number within the project.
    async fn iid(&self) -> u64 {
        self.iid
    }

    /// The project it belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    /// Its title.
    async fn title(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |milestone| milestone.title.clone()).await
    }

    /// Its text.
    async fn description(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |milestone| milestone.description.clone()).await
    }

    /// Where it stands: opened or closed.
    async fn state(&self, ctx: &Context<'_>) -> Result<Option<State>> {
        self.read(ctx, |milestone| if milestone.state == "closed" { State::Closed } else { State::Opened }).await
    }

    /// Its page at the forge.
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
    /// Its reference, `^PROJ-77`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// The same as the id.
    #[graphql(name = "ref")]
    pub(super) async fn reference(&self) -> String {
        self.links.id().to_string()
    }

    /// Whether a text names it.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Its key in its tracker, `PROJ-77`.
    async fn key(&self) -> &str {
        &self.key
    }

    /// Its page; null if no configured tracker has such keys.
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(loaders::engine(ctx)?.settings().trackers.url_of(&self.key))
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
