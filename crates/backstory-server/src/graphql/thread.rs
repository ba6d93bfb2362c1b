//! GraphQL types of what issues and merge requests have in common, and of lists of them.

use std::sync::Arc;

use async_graphql::{
    Context, ID, InputObject, Interface, Object, OutputType, Result,
    connection::{Connection, Edge},
};
use backstory_engine::{
    model::{
        entity::{Item, Thread as ThreadItem},
        id::{NodeId, ThreadId, ThreadKind},
    },
    read::{self, PageCursor},
};

use super::{
    conversation::Discussion,
    guard::Warnings,
    issue::Issue,
    loaders,
    merge_request::MergeRequest,
    names::State,
    node::Links,
    page::{self, DEFAULT_PAGE, Listed, bad_cursor},
    person::Person,
    planning::{Label, Milestone},
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
    field(name = "id", ty = "ID", desc = "Its reference, `acme/shop#12` or `acme/shop!7`."),
    field(name = "ref", method = "reference", ty = "String", desc = "The same as the id."),
    field(name = "known", ty = "bool", desc = "Whether backstory has read it."),
    field(name = "title", ty = "Option<String>", desc = "One-line title."),
    field(name = "state", ty = "Option<State>", desc = "Where it stands."),
    field(name = "webUrl", method = "web_url", ty = "Option<String>", desc = "Its page at the forge.")
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
    links: Links,
}

impl ThreadFields {
    pub(super) fn new(id: ThreadId) -> Self {
        Self { links: Links::of(id.clone()), id }
    }

    pub(super) fn node_id(&self) -> &NodeId {
        self.links.id()
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&ThreadItem) -> T) -> Result<Option<T>> {
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
}

#[Object]
impl ThreadFields {
    /// The same as the id.
    #[graphql(name = "ref")]
    pub(super) async fn reference(&self) -> String {
        self.id.to_string()
    }

    /// Number within the project.
    async fn iid(&self) -> u64 {
        self.id.iid
    }

    /// The project it belongs to.
    async fn project(&self) -> Project {
        Project::new(self.id.project.clone())
    }

    /// One-line title.
    pub(super) async fn title(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |thread| thread.title.clone()).await
    }

    /// Text, Markdown; empty if there is none.
    async fn description(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |thread| thread.description.clone()).await
    }

    /// Whether secrets were replaced in its title or text: whoever wrote it should revoke them.
    async fn security_warning(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |thread| !thread.secrets().is_empty()).await?.unwrap_or_default())
    }

    /// Which secrets were replaced in its title or text.
    async fn secrets(&self, ctx: &Context<'_>) -> Result<Vec<Secrets>> {
        Ok(secret::list(self.read(ctx, |thread| thread.secrets()).await?))
    }

    /// Where it stands.
    pub(super) async fn state(&self, ctx: &Context<'_>) -> Result<Option<State>> {
        self.read(ctx, |thread| thread.state.into()).await
    }

    /// Who opened it; null for a deleted account.
    async fn author(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        Ok(self.read(ctx, |thread| thread.author.clone()).await?.flatten().map(Person::new))
    }

    /// Its labels, by name.
    async fn labels(&self, ctx: &Context<'_>) -> Result<Vec<Label>> {
        let names = self.read(ctx, |thread| thread.labels.clone()).await?.unwrap_or_default();
        Ok(names.into_iter().map(|name| Label::new(self.id.project.clone(), name)).collect())
    }

    /// Its milestone.
    async fn milestone(&self, ctx: &Context<'_>) -> Result<Option<Milestone>> {
        let iid = self.read(ctx, |thread| thread.milestone).await?.flatten();
        Ok(iid.map(|iid| Milestone::new(self.id.project.clone(), iid)))
    }

    /// Who it is assigned to.
    async fn assignees(&self, ctx: &Context<'_>) -> Result<Vec<Person>> {
        let usernames = self.read(ctx, |thread| thread.assignees.clone()).await?.unwrap_or_default();
        Ok(usernames.into_iter().map(Person::new).collect())
    }

    /// When it was opened.
    async fn created_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        self.read(ctx, |thread| thread.created_at.into()).await
    }

    /// When it last changed, as far as the forge tells.
    async fn updated_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        self.read(ctx, |thread| thread.updated_at.into()).await
    }

    /// When it was closed.
    async fn closed_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.read(ctx, |thread| thread.closed_at.map(DateTime::from)).await?.flatten())
    }

    /// Who closed it.
    async fn closed_by(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        Ok(self.read(ctx, |thread| thread.closed_by.clone()).await?.flatten().map(Person::new))
    }

    /// Its page at the forge.
    pub(super) async fn web_url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |thread| thread.web_url.clone()).await
    }

    /// Whether only some may see it and everything in it.
    pub(super) async fn confidential(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |thread| thread.confidential).await?.unwrap_or_default())
    }

    /// How many notes people wrote, as the forge counts, without internal notes of what is not confidential.
    async fn notes_count(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
        self.read(ctx, |thread| thread.notes_count).await
    }

    /// What a language model wrote about it, if `summarize` was ever asked for; null otherwise.
    async fn summary(&self, ctx: &Context<'_>) -> Result<Option<Summary>> {
        summary::of(ctx, &self.id).await
    }

    /// Design notes that a language model wrote of it, if `enrich` was ever asked for and any could be proved; null
    /// otherwise.
    async fn model_notes(&self, ctx: &Context<'_>) -> Result<Option<ModelNotes>> {
        written::notes(ctx, &self.id).await
    }

    /// Its discussions, oldest first.
    async fn discussions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the page before.")] after: Option<String>,
    ) -> Result<Listed<Discussion>> {
        let size = page::size(first, DEFAULT_PAGE)?;
        let all = loaders::discussions(ctx, self.id.clone()).await?;
        let start = page::start(&all, after.as_deref(), |discussion| discussion.id.clone())?;
        Ok(page::connection(&all, start, size, |discussion| {
            (discussion.id.clone(), Discussion::found(discussion.clone()))
        }))
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}

/// Which issues or merge requests; those that meet all conditions.
#[derive(InputObject)]
pub(crate) struct ThreadFilter {
    /// Full path of the project.
    project: Option<String>,
    /// Where it stands.
    state: Option<State>,
    /// User name of who opened it.
    author: Option<String>,
    /// Name of a label that it has.
    label: Option<String>,
}

impl ThreadFilter {
    /// The conditions, within one project if it is given.
    ///
    /// # Errors
    /// The conditions name another project.
    pub(super) fn within(filter: Option<Self>, project: Option<&str>) -> Result<read::ThreadFilter> {
        let mut conditions = filter.map_or_else(read::ThreadFilter::default, |filter| read::ThreadFilter {
            project: filter.project,
            state: filter.state.map(Into::into),
            author: filter.author.map(|author| author.trim_start_matches('@').to_owned()),
            label: filter.label,
        });
        if let Some(project) = project {
            match &conditions.project {
                Some(other) if other != project => {
                    return Err(
                        page::invalid(format!("{project} has nothing of {other}; leave the project out")).into()
                    );
                }
                _ => conditions.project = Some(project.to_owned()),
            }
        }
        Ok(conditions)
    }
}

/// A list of issues or merge requests, the one that changed last first.
pub(crate) struct ThreadList {
    kind: ThreadKind,
    filter: read::ThreadFilter,
}

#[Object]
impl ThreadList {
    /// How many items the list has on all its pages. Counted only if asked for.
    async fn total_count(&self, ctx: &Context<'_>) -> Result<u64> {
        Ok(loaders::engine(ctx)?.count_threads(self.kind, &self.filter).await?)
    }
}

/// A page of a list of issues or merge requests.
pub(super) type ThreadConnection<N> = Connection<String, N, ThreadList>;

/// A page of the issues or merge requests that meet the conditions.
pub(super) async fn list<N: OutputType>(
    ctx: &Context<'_>,
    kind: ThreadKind,
    filter: read::ThreadFilter,
    first: Option<i32>,
    after: Option<&str>,
    node: fn(ThreadId) -> N,
) -> Result<ThreadConnection<N>> {
    let size = page::size(first, DEFAULT_PAGE)?;
    let end = after.map(|cursor| decode(cursor, kind).ok_or_else(|| bad_cursor(cursor))).transpose()?;
    let found = loaders::engine(ctx)?.list_thread_ids(kind, &filter, end, size).await?;
    if found.ids.is_empty() && after.is_none() && size > 0 {
        warn_of_absent_names(ctx, &filter).await?;
    }
    let list = ThreadList { kind, filter };
    let mut page = Connection::with_additional_fields(after.is_some(), found.more, list);
    page.edges.extend(found.ids.into_iter().map(|end| Edge::new(encode(&end), node(end.id))));
    Ok(page)
}

/// Says of names that nothing has which ones are nearest.
async fn warn_of_absent_names(ctx: &Context<'_>, filter: &read::ThreadFilter) -> Result<()> {
    let Some(warnings) = ctx.data_opt::<Arc<Warnings>>().filter(|warnings| !warnings.is_full()) else { return Ok(()) };
    let absent = loaders::engine(ctx)?.absent_names(filter).await?;
    absent.into_iter().for_each(|warning| warnings.add(warning));
    Ok(())
}

fn encode(end: &PageCursor) -> String {
    format!("{} {}", end.updated_at, end.id)
}

fn decode(cursor: &str, kind: ThreadKind) -> Option<PageCursor> {
    let (updated_at, id) = cursor.split_once(' ')?;
    match id.parse().ok()? {
        NodeId::Thread(id) if id.kind == kind => Some(PageCursor { updated_at: updated_at.parse().ok()?, id }),
        _ => None,
    }
}
