//! GraphQL types of a forge's discussions and their notes. Stored conversations are in `chat`.

use std::{collections::BTreeSet, sync::Arc};

use async_graphql::{Context, ID, Object, Result, SimpleObject};
use backstory_engine::model::{
    entity::{Discussion as DiscussionItem, Note as NoteItem, Position as PositionItem},
    id::{NodeId, ThreadId},
};

use super::{
    code::{Commit, File, LineRange},
    loaders,
    names::NoteKind,
    node::{Links, linked},
    page::{self, DEFAULT_PAGE},
    person::Person,
    project::Project,
    scalar::DateTime,
    secret::{self, Secrets},
    thread::Thread,
};

/// Most notes of one discussion in an answer.
const MAX_NOTES: usize = 1_000;

/// A discussion.
pub(crate) struct Discussion {
    thread: ThreadId,
    id: String,
    links: Links,
    /// Present if it was read with the others of its issue or merge request.
    found: Option<Arc<DiscussionItem>>,
}

impl Discussion {
    pub(super) fn new(thread: ThreadId, id: String) -> Self {
        let links = Links::of(NodeId::Discussion { thread: thread.clone(), id: id.clone() });
        Self { thread, id, links, found: None }
    }

    pub(super) fn found(discussion: Arc<DiscussionItem>) -> Self {
        let found = Self::new(discussion.thread.clone(), discussion.id.clone());
        Self { found: Some(discussion), ..found }
    }

    pub(super) async fn item(&self, ctx: &Context<'_>) -> Result<Option<Arc<DiscussionItem>>> {
        match &self.found {
            Some(discussion) => Ok(Some(discussion.clone())),
            None => loaders::discussion(ctx, self.thread.clone(), self.id.clone()).await,
        }
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&DiscussionItem) -> T) -> Result<Option<T>> {
        Ok(self.item(ctx).await?.as_deref().map(read))
    }
}

// The interface asks for what all nodes have.
linked!(Discussion, links);

/// A discussion on an issue or merge request: a note and the replies to it.
#[Object]
impl Discussion {
    /// Id of the discussion as a node, `acme/shop!7~6a9c17`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read the discussion. If it is only mentioned, whatever its id does not say is null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.item(ctx).await?.is_some())
    }

    /// Project that the discussion belongs to.
    async fn project(&self) -> Project {
        Project::new(self.thread.project.clone())
    }

    /// Issue or merge request that the discussion is about.
    async fn thread(&self) -> Thread {
        self.thread.clone().into()
    }

    /// Whether the discussion is a single comment that nobody can reply to.
    async fn individual(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        self.read(ctx, |discussion| discussion.individual).await
    }

    /// Whether the discussion can be resolved.
    async fn resolvable(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        self.read(ctx, DiscussionItem::is_resolvable).await
    }

    /// Whether everything in the discussion that can be resolved is; null if nothing in it can be.
    async fn resolved(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        let resolved = |discussion: &DiscussionItem| discussion.is_resolvable().then(|| discussion.is_resolved());
        Ok(self.read(ctx, resolved).await?.flatten())
    }

    /// Notes of the discussion, oldest first; at most 1,000.
    async fn notes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most notes, 0 to 1,000; all if absent.")] first: Option<i32>,
    ) -> Result<Vec<Note>> {
        let first = match first.map(usize::try_from) {
            None => MAX_NOTES,
            Some(Ok(first)) if first <= MAX_NOTES => first,
            Some(_) => return Err(page::invalid(format!("'first' must be 0 to {MAX_NOTES}")).into()),
        };
        let Some(discussion) = self.item(ctx).await? else { return Ok(vec![]) };
        Ok((0..discussion.notes.len().min(first)).map(|at| Note::found(discussion.clone(), at)).collect())
    }

    /// Whether only some may see the discussion: it is internal, or what it is about is confidential.
    async fn confidential(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |discussion| discussion.confidential).await?.unwrap_or_default())
    }

    /// How many notes the discussion has.
    async fn note_count(&self, ctx: &Context<'_>) -> Result<Option<usize>> {
        self.read(ctx, |discussion| discussion.notes.len()).await
    }

    /// People who wrote the notes of the discussion, by user name.
    async fn participants(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most people, 0 to 100.", default_with = "Some(20)")] first: Option<i32>,
    ) -> Result<Vec<Person>> {
        let size = page::size(first, DEFAULT_PAGE)?;
        let names = |discussion: &DiscussionItem| -> BTreeSet<String> {
            discussion.notes.iter().filter_map(|note| note.author.clone()).collect()
        };
        let names = self.read(ctx, names).await?.unwrap_or_default();
        Ok(names.into_iter().take(size).map(Person::new).collect())
    }

    /// Where the discussion's first note is on the diff; null if it is not on a diff.
    async fn position(&self, ctx: &Context<'_>) -> Result<Option<Position>> {
        let position = |discussion: &DiscussionItem| {
            let position = discussion.notes.first()?.position.as_ref()?;
            Some(Position::of(&self.thread.project, position))
        };
        Ok(self.read(ctx, position).await?.flatten())
    }

    /// Person who began the discussion; null for a deleted account.
    async fn author(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        let author = self.read(ctx, |discussion| discussion.notes.first()?.author.clone()).await?;
        Ok(author.flatten().map(Person::new))
    }

    /// When the discussion began.
    async fn created_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.read(ctx, |discussion| Some(discussion.notes.first()?.created_at.into())).await?.flatten())
    }

    /// When the last note of the discussion was written.
    async fn last_note_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.read(ctx, |discussion| Some(discussion.notes.last()?.created_at.into())).await?.flatten())
    }

    /// When a note of the discussion last changed.
    async fn updated_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        let newest = |discussion: &DiscussionItem| discussion.notes.iter().map(|note| note.updated_at).max();
        Ok(self.read(ctx, newest).await?.flatten().map(DateTime::from))
    }

    /// Place of the first note at the forge.
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |discussion| discussion.web_url.clone()).await
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}

/// A note.
pub(crate) struct Note {
    thread: ThreadId,
    id: u64,
    links: Links,
    /// Its discussion, and its place there, if they are known already.
    found: Option<(Arc<DiscussionItem>, usize)>,
}

impl Note {
    pub(super) fn new(thread: ThreadId, id: u64) -> Self {
        let links = Links::of(NodeId::Note { thread: thread.clone(), id });
        Self { thread, id, links, found: None }
    }

    /// The note at a place of a discussion, which must have it.
    fn found(discussion: Arc<DiscussionItem>, at: usize) -> Self {
        let found = Self::new(discussion.thread.clone(), discussion.notes[at].id);
        Self { found: Some((discussion, at)), ..found }
    }

    async fn place(&self, ctx: &Context<'_>) -> Result<Option<(Arc<DiscussionItem>, usize)>> {
        if let Some(found) = &self.found {
            return Ok(Some(found.clone()));
        }
        let all = loaders::discussions(ctx, self.thread.clone()).await?;
        let place = |discussion: &Arc<DiscussionItem>| {
            let at = discussion.notes.iter().position(|note| note.id == self.id)?;
            Some((discussion.clone(), at))
        };
        Ok(all.iter().find_map(place))
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&NoteItem) -> T) -> Result<Option<T>> {
        Ok(self.place(ctx).await?.map(|(discussion, at)| read(&discussion.notes[at])))
    }
}

// The interface asks for what all nodes have.
linked!(Note, links);

/// A note: one comment that a person wrote.
#[Object]
impl Note {
    /// Id of the note as a node, `acme/shop!7#note_123`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read the note. If it is only mentioned, whatever its id does not say is null.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.place(ctx).await?.is_some())
    }

    /// Discussion that the note is part of.
    async fn discussion(&self, ctx: &Context<'_>) -> Result<Option<Discussion>> {
        Ok(self.place(ctx).await?.map(|(discussion, _)| Discussion::found(discussion)))
    }

    /// Project that the note belongs to.
    async fn project(&self) -> Project {
        Project::new(self.thread.project.clone())
    }

    /// Issue or merge request that the note is about.
    async fn thread(&self) -> Thread {
        self.thread.clone().into()
    }

    /// Whether the note is a comment on its own, in a discussion or on the diff.
    async fn note_kind(&self, ctx: &Context<'_>) -> Result<Option<NoteKind>> {
        self.read(ctx, |note| note.kind.into()).await
    }

    /// Person who wrote the note; null for a deleted account.
    async fn author(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        Ok(self.read(ctx, |note| note.author.clone()).await?.flatten().map(Person::new))
    }

    /// Whether only some may see the note: it is internal, or what it is about is confidential.
    async fn confidential(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.place(ctx).await?.is_some_and(|(discussion, _)| discussion.confidential))
    }

    /// Text of the note in Markdown.
    async fn body(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |note| note.body.clone()).await
    }

    /// Whether secrets were replaced in the text: the author should revoke them.
    async fn security_warning(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |note| !note.secrets().is_empty()).await?.unwrap_or_default())
    }

    /// Secrets that were replaced in the text, by kind.
    async fn secrets(&self, ctx: &Context<'_>) -> Result<Vec<Secrets>> {
        Ok(secret::list(self.read(ctx, |note| note.secrets()).await?))
    }

    /// When the note was written.
    async fn created_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        self.read(ctx, |note| note.created_at.into()).await
    }

    /// When the note was last edited.
    async fn updated_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        self.read(ctx, |note| note.updated_at.into()).await
    }

    /// Whether the note can be resolved.
    async fn resolvable(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        self.read(ctx, |note| note.resolvable).await
    }

    /// Whether the note is resolved; null if it cannot be.
    async fn resolved(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        Ok(self.read(ctx, |note| note.resolvable.then_some(note.resolved)).await?.flatten())
    }

    /// Person who resolved the note; null if nobody did.
    async fn resolved_by(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        Ok(self.read(ctx, |note| note.resolved_by.clone()).await?.flatten().map(Person::new))
    }

    /// When the note was resolved; null if it is not.
    async fn resolved_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.read(ctx, |note| note.resolved_at.map(DateTime::from)).await?.flatten())
    }

    /// Where the note is on the diff; null if it is not on a diff.
    async fn position(&self, ctx: &Context<'_>) -> Result<Option<Position>> {
        let position = |note: &NoteItem| Some(Position::of(&self.thread.project, note.position.as_ref()?));
        Ok(self.read(ctx, position).await?.flatten())
    }

    /// Place of the note at the forge.
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.place(ctx).await?.map(|(discussion, _)| discussion.note_url(self.id)))
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}

/// Where a note is on a diff: lines of `newFile` at `head`, or of `oldFile` at `base`.
#[derive(SimpleObject)]
pub(crate) struct Position {
    /// The file under its path before the change.
    old_file: File,
    /// The file under its path after the change.
    new_file: File,
    /// Lines before the change; null if the note is on added lines only.
    old_lines: Option<LineRange>,
    /// Lines after the change; null if the note is on removed lines only.
    new_lines: Option<LineRange>,
    /// Commit that the change starts from; null if that is not known.
    base: Option<Commit>,
    /// Commit that the change ends at; null if that is not known.
    head: Option<Commit>,
}

impl Position {
    fn of(project: &str, position: &PositionItem) -> Self {
        let commit = |sha: &String| Commit::new(project.to_owned(), sha.clone());
        Self {
            old_file: File::new(project.to_owned(), position.old_path.clone()),
            new_file: File::new(project.to_owned(), position.new_path.clone()),
            old_lines: position.old_lines.map(LineRange::from),
            new_lines: position.new_lines.map(LineRange::from),
            base: position.base_sha.as_ref().map(commit),
            head: position.head_sha.as_ref().map(commit),
        }
    }
}
