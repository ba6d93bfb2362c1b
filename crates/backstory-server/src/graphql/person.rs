//! The GraphQL type of people.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::model::{
    entity::{Item, Person as PersonItem},
    id::NodeId,
    repository::CommitIdentity,
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

    async fn identity(&self, ctx: &Context<'_>) -> Result<Option<CommitIdentity>> {
        let item = loaders::item(ctx, self.links.id().clone()).await?;
        Ok(match item.as_deref() {
            Some(Item::Identity(identity)) => Some(identity.clone()),
            _ => None,
        })
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&PersonItem) -> T) -> Result<Option<T>> {
        let item = loaders::item(ctx, self.links.id().clone()).await?;
        Ok(match item.as_deref() {
            Some(Item::Person(person)) => Some(read(person)),
            _ => None,
        })
    }
}

/// A person, by their account at the forge, or by the e-mail address that commits know them by.
#[Object]
impl Person {
    /// Their reference, `@alice` or `@alice@example.com`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read of them. If others only mention them, what the id does not tell is null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |_| ()).await?.is_some() || self.identity(ctx).await?.is_some())
    }

    /// User name at the forge, or the address.
    async fn username(&self) -> &str {
        &self.username
    }

    /// Display name; of an address, the first of its names; the user name or address if no other name is known.
    async fn name(&self, ctx: &Context<'_>) -> Result<String> {
        if let Some(name) = self.read(ctx, |person| person.name.clone()).await? {
            return Ok(name);
        }
        let name = self.identity(ctx).await?.and_then(|identity| identity.names.into_iter().next());
        Ok(name.unwrap_or_else(|| self.username.clone()))
    }

    /// Of an address: the person it is known to be, by user name or by another address.
    async fn same_as(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        Ok(self.identity(ctx).await?.and_then(|identity| identity.same_as).map(Person::new))
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
