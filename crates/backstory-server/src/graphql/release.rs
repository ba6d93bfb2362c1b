//! GraphQL types of releases and of what shipped between two of them.

use async_graphql::{
    ComplexObject, Context, Enum, ID, InputObject, Object, Result, SimpleObject, connection::Connection,
};
use backstory_engine::{
    model::id::{NodeId, ThreadId, ThreadKind},
    releases,
    shipped::{self, ListReleases, MAX_RELEASES, ShippedRequest},
};

use super::{
    code::{Commit, Tag},
    issue::Issue,
    lists::{self, OrderDirection, Paging, TextFilter, Totals},
    loaders,
    merge_request::MergeRequest,
    page::{self, DEFAULT_EDGES},
    person::Person,
    project::Project,
    scalar::DateTime,
};

/// A release: a tag, with what the forge says about it.
pub(crate) struct Release {
    project: String,
    release: releases::Release,
}

impl Release {
    fn new(project: String, release: releases::Release) -> Self {
        Self { project, release }
    }

    /// The release of a tag; `None` if neither repository nor forge have it.
    pub(super) async fn find(ctx: &Context<'_>, project: &str, tag: &str) -> Result<Option<Self>> {
        let found = loaders::engine(ctx)?.find_release(project.to_owned(), tag.to_owned()).await?;
        Ok(found.map(|release| Self::new(project.to_owned(), release)))
    }
}

/// A release: a tag of the repository, with what the forge says about it.
#[Object]
impl Release {
    /// Id of the release, `acme/shop@releases/v1`. The release is not a node; its tag is.
    async fn id(&self) -> ID {
        format!("{}@releases/{}", self.project, self.release.tag).into()
    }

    /// Project that the release belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    /// Tag that the release is made of.
    async fn tag(&self) -> Tag {
        Tag::new(self.project.clone(), self.release.tag.clone())
    }

    /// What the forge calls the release; null if the forge has no release of the tag.
    async fn name(&self) -> Option<&str> {
        self.release.name.as_deref()
    }

    /// When the forge released it; otherwise when the tag was made; otherwise when its commit was made. Null if none of that
    /// is known.
    async fn released_at(&self) -> Option<DateTime> {
        self.release.at.map(DateTime::from)
    }

    /// The commit that the tag points at; null if the repository does not have the tag.
    async fn commit(&self) -> Option<Commit> {
        self.release.commit.map(|sha| Commit::new(self.project.clone(), sha.to_string()))
    }

    /// Whether the release is a pre-release, or planned.
    async fn preliminary(&self) -> bool {
        self.release.preliminary
    }

    /// Person who released or tagged it; null if that is not known.
    async fn author(&self) -> Option<Person> {
        self.release.author.clone().map(Person::new)
    }

    /// Notes of the release, as the forge has them; null if there are none.
    async fn description(&self) -> Option<&str> {
        self.release.description.as_deref()
    }

    /// Page of the release at the forge; null if there is none.
    async fn url(&self) -> Option<&str> {
        self.release.url.as_deref()
    }

    /// What shipped in the release that no earlier one has; null, with an error, if the repository does not have the tag.
    async fn shipped(&self, ctx: &Context<'_>) -> Result<Option<Shipped>> {
        find_shipped(ctx, self.project.clone(), None, self.release.tag.clone()).await.map(Some)
    }
}

/// What shipped between two releases.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct Shipped {
    /// How many commits shipped, without merges.
    commit_count: u64,
    /// What was not read, a sentence each; empty if everything was.
    missing: Vec<String>,
    #[graphql(skip)]
    found: shipped::Shipped,
}

/// Somebody who wrote commits that shipped.
#[derive(SimpleObject)]
pub(crate) struct ShippedContributor {
    /// Person who wrote the commits.
    person: Person,
    /// How many of the commits that shipped they wrote, without merges.
    commit_count: u64,
}

#[ComplexObject]
impl Shipped {
    /// The first commits that shipped, children before their parents.
    async fn commits(
        &self,
        #[graphql(desc = "Most commits, 0 to 100.", default = 50)] first: Option<i32>,
    ) -> Result<Vec<Commit>> {
        let commit = |id: &NodeId| match id {
            NodeId::Commit { project, sha } => Some(Commit::new(project.clone(), sha.clone())),
            _ => None,
        };
        Ok(self.found.commits.iter().filter_map(commit).take(page::size(first, DEFAULT_EDGES)?).collect())
    }

    /// The first merge requests that introduced the commits, the last merged first.
    async fn merge_requests(
        &self,
        #[graphql(desc = "Most merge requests, 0 to 100.", default = 50)] first: Option<i32>,
    ) -> Result<Vec<MergeRequest>> {
        let most = page::size(first, DEFAULT_EDGES)?;
        Ok(ids(&self.found.merge_requests, ThreadKind::MergeRequest).take(most).map(MergeRequest::new).collect())
    }

    /// The first issues that the commits and their merge requests close, by number.
    async fn issues(
        &self,
        #[graphql(desc = "Most issues, 0 to 100.", default = 50)] first: Option<i32>,
    ) -> Result<Vec<Issue>> {
        let most = page::size(first, DEFAULT_EDGES)?;
        Ok(ids(&self.found.issues, ThreadKind::Issue).take(most).map(Issue::new).collect())
    }

    /// The first people who wrote the commits, those with most commits first.
    async fn contributors(
        &self,
        #[graphql(desc = "Most people, 0 to 100.", default = 50)] first: Option<i32>,
    ) -> Result<Vec<ShippedContributor>> {
        let most = page::size(first, DEFAULT_EDGES)?;
        let contributors = self.found.contributors.iter().take(most);
        Ok(contributors
            .map(|of| ShippedContributor { person: person_of(&of.person), commit_count: of.commits })
            .collect())
    }
}

fn person_of(id: &NodeId) -> Person {
    match id {
        NodeId::Person(username) => Person::new(username.clone()),
        other => Person::new(other.to_string()),
    }
}

fn ids(threads: &[shipped::ShippedThread], kind: ThreadKind) -> impl Iterator<Item = ThreadId> {
    threads.iter().map(|thread| thread.id.clone()).filter(move |id| id.kind == kind)
}

/// A page of releases.
pub(crate) type ReleaseConnection = Connection<String, Release, Totals>;

/// What orders releases.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum ReleaseOrderField {
    /// When they were released.
    Released,
    /// The names of their tags.
    Tag,
}

/// An order of releases.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct ReleaseOrder {
    /// What orders releases.
    field: ReleaseOrderField,
    /// Direction of the order; if absent, names ascend and times descend.
    direction: Option<OrderDirection>,
}

/// A page of the releases of a project, the latest first unless ordered otherwise.
pub(super) async fn releases(
    ctx: &Context<'_>,
    project: &str,
    filter: Option<TextFilter>,
    order: Option<ReleaseOrder>,
    paging: &Paging,
) -> Result<ReleaseConnection> {
    let request = ListReleases { project: project.to_owned(), limit: MAX_RELEASES };
    let mut found = loaders::engine(ctx)?.answer(request).await?;
    let field = order.map_or(ReleaseOrderField::Released, |order| order.field);
    found.retain(|release| {
        let name = release.name.as_deref().unwrap_or_default();
        filter.as_ref().is_none_or(|filter| filter.is_met_by(&release.tag) || filter.is_met_by(name))
    });
    match field {
        ReleaseOrderField::Released => found.sort_by(|a, b| (a.at, &a.tag).cmp(&(b.at, &b.tag))),
        ReleaseOrderField::Tag => found.sort_by(|a, b| a.tag.cmp(&b.tag)),
    }
    let usual = if field == ReleaseOrderField::Tag { OrderDirection::Ascending } else { OrderDirection::Descending };
    let direction = order.and_then(|order| order.direction).unwrap_or(usual);
    let node = |release: &releases::Release| Release::new(project.to_owned(), release.clone());
    lists::whole(found, direction, paging, |release| release.tag.clone(), node)
}

/// The release in which a commit first shipped.
pub(super) async fn first_release(ctx: &Context<'_>, project: &str, sha: &str) -> Result<Option<Release>> {
    let found = loaders::engine(ctx)?.first_release(project.to_owned(), sha.to_owned()).await?;
    Ok(found.map(|release| Release::new(project.to_owned(), release)))
}

/// What shipped between two releases of a project, or first shipped in one.
pub(super) async fn find_shipped(
    ctx: &Context<'_>,
    project: String,
    from: Option<String>,
    to: String,
) -> Result<Shipped> {
    let found = loaders::engine(ctx)?.answer(ShippedRequest { project: Some(project), from, to }).await?;
    Ok(Shipped { commit_count: found.count, missing: found.missing.clone(), found })
}
