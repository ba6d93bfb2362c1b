//! The GraphQL type of people.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::{
    lists::PersonRow,
    model::{
        entity::{Item, Person as PersonItem},
        id::NodeId,
        repository::CommitIdentity,
    },
};
use tokio::sync::OnceCell;

use super::{
    lists::{self, Contributions, PersonLists},
    loaders,
    node::{Links, linked},
};

/// A person.
pub(crate) struct Person {
    username: String,
    links: Links,
    /// What the lists have of them, once it is asked for.
    row: OnceCell<PersonRow>,
}

impl Person {
    pub(super) fn new(username: String) -> Self {
        Self { links: Links::of(NodeId::person(&username)), username, row: OnceCell::new() }
    }

    /// One of a list.
    pub(super) fn listed(row: PersonRow) -> Self {
        Self { row: OnceCell::new_with(Some(row.clone())), ..Self::new(row.person) }
    }

    async fn row(&self, ctx: &Context<'_>) -> Result<&PersonRow> {
        self.row.get_or_try_init(|| lists::contributions(ctx, &self.username)).await
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

// The interface asks for what all nodes have.
linked!(Person, links);

/// A person, by their account at the forge, or by the e-mail address that commits know them by.
#[Object]
impl Person {
    /// Their reference, `@alice` or `@alice@example.com`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// The same as the id.
    #[graphql(name = "ref")]
    pub(super) async fn reference(&self) -> String {
        self.links.id().to_string()
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

    /// All names that they are known by.
    async fn names(&self, ctx: &Context<'_>) -> Result<Vec<String>> {
        Ok(self.row(ctx).await?.names.clone())
    }

    /// Their user names at forges.
    async fn accounts(&self, ctx: &Context<'_>) -> Result<Vec<String>> {
        Ok(self.row(ctx).await?.accounts.clone())
    }

    /// The addresses under which they made commits.
    async fn addresses(&self, ctx: &Context<'_>) -> Result<Vec<String>> {
        Ok(self.row(ctx).await?.identities.clone())
    }

    /// How much they did, under all their names: in the projects of the list that they were found in, else in all.
    async fn contributions(&self, ctx: &Context<'_>) -> Result<Contributions> {
        Ok(self.row(ctx).await?.into())
    }

    #[graphql(flatten)]
    async fn lists(&self) -> PersonLists {
        PersonLists::of(self.username.clone())
    }

    /// Their page at the forge.
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |person| person.web_url.clone()).await?.flatten())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
