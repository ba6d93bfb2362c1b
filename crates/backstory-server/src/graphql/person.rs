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
    /// What the lists have of them in all visible projects, once it is asked for.
    row: OnceCell<PersonRow>,
}

impl Person {
    pub(super) fn new(username: String) -> Self {
        Self { links: Links::of(NodeId::person(&username)), username, row: OnceCell::new() }
    }

    /// One of a list of all visible projects.
    pub(super) fn listed(row: PersonRow) -> Self {
        Self { row: OnceCell::new_with(Some(row.clone())), ..Self::new(row.person) }
    }

    async fn row(&self, ctx: &Context<'_>) -> Result<&PersonRow> {
        self.row.get_or_try_init(|| lists::contributions(ctx, &self.username, Vec::new())).await
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
    /// Id of the person as a node, `@alice` or `@alice@example.com`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read about the person. If they are only mentioned, whatever the id does not say is null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |_| ()).await?.is_some() || self.identity(ctx).await?.is_some())
    }

    /// User name of the person at the forge, or the address that commits know them by.
    async fn username(&self) -> &str {
        &self.username
    }

    /// Display name of the person; of an address, the first of its names; the user name or address if no other name is
    /// known.
    async fn name(&self, ctx: &Context<'_>) -> Result<String> {
        if let Some(name) = self.read(ctx, |person| person.name.clone()).await? {
            return Ok(name);
        }
        let name = self.identity(ctx).await?.and_then(|identity| identity.names.into_iter().next());
        Ok(name.unwrap_or_else(|| self.username.clone()))
    }

    /// The person that an address is known to be, by user name or by another address; null if that is not known, and for
    /// people with a user name.
    async fn same_as(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        Ok(self.identity(ctx).await?.and_then(|identity| identity.same_as).map(Person::new))
    }

    /// All names that the person is known by, in all projects that the caller sees.
    async fn names(&self, ctx: &Context<'_>) -> Result<Vec<String>> {
        Ok(self.row(ctx).await?.names.clone())
    }

    /// User names of the person at forges, in all projects that the caller sees.
    async fn accounts(&self, ctx: &Context<'_>) -> Result<Vec<String>> {
        Ok(self.row(ctx).await?.accounts.clone())
    }

    /// Addresses under which the person made commits, in all projects that the caller sees.
    async fn addresses(&self, ctx: &Context<'_>) -> Result<Vec<String>> {
        Ok(self.row(ctx).await?.identities.clone())
    }

    /// How much the person did, under all their names, however they were found; null, with an error, if a project is not
    /// known.
    async fn contributions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full paths of projects; all that the caller sees if absent or empty.")] projects: Option<
            Vec<String>,
        >,
    ) -> Result<Option<Contributions>> {
        let projects = projects.unwrap_or_default();
        if projects.is_empty() {
            return Ok(Some(self.row(ctx).await?.into()));
        }
        Ok(Some(Contributions::from(&lists::contributions(ctx, &self.username, projects).await?)))
    }

    #[graphql(flatten)]
    async fn lists(&self) -> PersonLists {
        PersonLists::of(self.username.clone())
    }

    /// Page of the person at the forge; null if there is none.
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |person| person.web_url.clone()).await?.flatten())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
