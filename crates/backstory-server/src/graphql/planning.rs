//! GraphQL types of labels and milestones.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::model::{
    entity::{Item, Label as LabelItem, Milestone as MilestoneItem},
    id::NodeId,
};

use super::{loaders, names::State, node::Links, project::Project};

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

/// A label of a project.
#[Object]
impl Label {
    /// Its reference, `acme/shop~bug`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether the project lists it. Of one that items still have but the project does not, colour and description are
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

/// A milestone of a project.
#[Object]
impl Milestone {
    /// Its reference, `acme/shop%3`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
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
    async fn web_url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |milestone| milestone.web_url.clone()).await?.flatten())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
