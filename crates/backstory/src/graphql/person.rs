//! People.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::model::{
    entity::{Item, Person as PersonItem},
    id::NodeId,
};

use super::{loaders, node::Links};

/// A person.
pub(crate) struct Person {
    username: String,
    links: Links,
}

impl Person {
    pub(super) fn new(username: String) -> Self {
        Self { links: Links::of(NodeId::person(&username)), username }
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&PersonItem) -> T) -> Result<Option<T>> {
        let item = loaders::item(ctx, self.links.id().clone()).await?;
        Ok(match item.as_deref() {
            Some(Item::Person(person)) => Some(read(person)),
            _ => None,
        })
    }
}

/// A person, by their account at the forge.
#[Object]
impl Person {
    /// Their reference, `@alice`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read of them. If others only mention them, what the id does not tell is null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |_| ()).await?.is_some())
    }

    /// User name at the forge.
    async fn username(&self) -> &str {
        &self.username
    }

    /// Display name.
    async fn name(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |person| person.name.clone()).await
    }

    /// Their page at the forge.
    async fn web_url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |person| person.web_url.clone()).await?.flatten())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
