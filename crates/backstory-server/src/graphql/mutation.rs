//! The mutations of the GraphQL API.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::{
    EmbedRequest, Part, RebuildRequest, Scope, SyncRequest,
    backup::BackupRequest,
    forget::{ForgetRequest, UndoForget},
    repository::{AddRef, AddRequest, DropRef, RemoveRepository},
    snapshot::{PinSnapshot, PruneSnapshots},
    worker::{CancelJob, QueueJob, StopTask},
};

use super::{
    annotation::{self, Annotation, AnnotationInput},
    audit::AuditEntry,
    chat::{self, Chat, Message},
    counter::Counter,
    job::Job,
    loaders,
    names::{Forge, JobKind, Projection, SyncPart, SyncScope},
    repository::{self, Repository},
    snapshot::Snapshot,
    status::Backup,
    summary::{self, Summary},
    task::Task,
    written::{self, Enrichment},
};

/// Work to be done.
pub(crate) struct Mutation;

/// Work to be done. What takes long starts a task and returns it at once; `task` and `taskProgress` tell how far it is.
#[Object]
impl Mutation {
    /// Reads what is new at the forges and in the repositories. One sync is at work at a time.
    async fn sync(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full paths of projects. All that are configured or were added if absent or empty.")] projects: Option<
            Vec<String>,
        >,
        #[graphql(desc = "How much of them to read.", default_with = "Some(SyncScope::New)")] scope: Option<SyncScope>,
        #[graphql(desc = "Parts of them to read. All if absent or empty.")] only: Option<Vec<SyncPart>>,
        #[graphql(desc = "Whether to stop a sync that is running.", default_with = "Some(false)")] force: Option<bool>,
    ) -> Result<Task> {
        let request = SyncRequest {
            projects: projects.unwrap_or_default(),
            scope: scope.map_or(Scope::New, Scope::from),
            only: only.unwrap_or_default().into_iter().map(Part::from).collect(),
            force: force.unwrap_or(false),
            keep_new: false,
        };
        Ok(loaders::engine(ctx)?.answer(request).await?.into())
    }

    /// Puts a job into the queue of the server that has the stores, which does it as soon as it can; one that waits there
    /// already is done at once instead.
    async fn queue_job(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path of the project.")] project: String,
        #[graphql(
            desc = "What to do; `REFETCH` is asked for by webhooks alone.",
            default_with = "Some(JobKind::Sync)"
        )]
        kind: Option<JobKind>,
    ) -> Result<Job> {
        let kind = kind.unwrap_or(JobKind::Sync);
        Ok(loaders::engine(ctx)?.answer(QueueJob { kind: kind.into(), project }).await?.into())
    }

    /// Cancels a job that waits, or stops one that reads a whole project; what it has read is kept.
    async fn cancel_job(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the job, `job/12`, or its number.")] id: ID,
    ) -> Result<Job> {
        Ok(loaders::engine(ctx)?.answer(CancelJob { id: Counter::Job.number(&id)? }).await?.into())
    }

    /// Stops a task; what it has done so far is kept. Forgetting cannot be stopped, and a task that does a job is stopped
    /// by cancelling the job.
    async fn stop_task(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the task, `task/12`, or its number.")] id: ID,
    ) -> Result<Task> {
        Ok(loaders::engine(ctx)?.answer(StopTask { id: Counter::Task.number(&id)? }).await?.into())
    }

    /// Puts a git repository on the list of those that a sync reads. One that is there already gets the new branches.
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
    async fn add_repository(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Path on the server's machine, absolute, or a https, http or ssh address.")] address: String,
        #[graphql(desc = "Full path of the project; taken from the address if absent.")] name: Option<String>,
        #[graphql(desc = "Names of branches to index besides the default one. None if absent or empty.")]
        branches: Option<Vec<String>>,
        #[graphql(desc = "Whether to index all branches.", default_with = "Some(false)")] all_branches: Option<bool>,
        #[graphql(
            desc = "The forge it is on, whose issues and merge requests are read too; told from the address if that is of \
                    github.com, gitlab.com or a forge that is configured."
        )]
        forge: Option<Forge>,
        #[graphql(
            desc = "How many commits of each branch to clone, without tags; 0 for the whole history. As it was if absent, and \
                    the whole history of a new one."
        )]
        depth: Option<u32>,
        #[graphql(
            desc = "Further branches, tags and commits whose files are indexed too, besides those that were named before. None \
                    if absent or empty."
        )]
        refs: Option<Vec<String>>,
    ) -> Result<Repository> {
        let branches = repository::branches(branches.unwrap_or_default(), all_branches.unwrap_or(false))?;
        let (refs, forge) = (refs.unwrap_or_default(), forge.map(Into::into));
        let request = AddRequest { address, name, branches, refs, dropped_refs: Vec::new(), forge, depth };
        repository::add(ctx, request).await
    }

    /// Has the files of a further branch, tag or commit indexed by the next sync.
    async fn add_ref(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path of the project.")] project: String,
        #[graphql(name = "ref", desc = "Name of a branch or tag, or an object name of a commit that one reaches.")]
        name: String,
    ) -> Result<Repository> {
        Ok(loaders::engine(ctx)?.answer(AddRef { project, name }).await?.into())
    }

    /// Has the files of a further branch, tag or commit indexed no more: the next sync drops what only it has.
    async fn drop_ref(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path of the project.")] project: String,
        #[graphql(name = "ref", desc = "Name of the ref, as it was added.")] name: String,
    ) -> Result<Repository> {
        Ok(loaders::engine(ctx)?.answer(DropRef { project, name }).await?.into())
    }

    /// Forgets a repository, its clone and everything known from it; says how many objects were forgotten.
    async fn remove_repository(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path of the repository's project.")] project: String,
    ) -> Result<u64> {
        Ok(loaders::engine(ctx)?.answer(RemoveRepository { project }).await?)
    }

    /// Pins a state of the index, so that its record is kept.
    async fn pin_snapshot(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the state, or at least four of its first digits.")] id: ID,
    ) -> Result<Snapshot> {
        Ok(loaders::engine(ctx)?.answer(PinSnapshot { id: id.0, pinned: true }).await?.into())
    }

    /// Unpins a state of the index.
    async fn unpin_snapshot(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the state, or at least four of its first digits.")] id: ID,
    ) -> Result<Snapshot> {
        Ok(loaders::engine(ctx)?.answer(PinSnapshot { id: id.0, pinned: false }).await?.into())
    }

    /// Forgets the records of old states of the index, as each sync does; returns their ids.
    async fn prune_snapshots(&self, ctx: &Context<'_>) -> Result<Vec<ID>> {
        Ok(loaders::engine(ctx)?.answer(PruneSnapshots::default()).await?.into_iter().map(ID).collect())
    }

    /// Gives every document that has none its vectors.
    async fn embed(&self, ctx: &Context<'_>) -> Result<Task> {
        Ok(loaders::engine(ctx)?.answer(EmbedRequest {}).await?.into())
    }

    /// Writes a copy of the ledger into the data directory, while everything goes on. Graph and index can be rebuilt
    /// from it.
    async fn backup(&self, ctx: &Context<'_>) -> Result<Backup> {
        Ok(loaders::engine(ctx)?.answer(BackupRequest {}).await?.into())
    }

    /// Rebuilds the graph, the lists, the index or all from the ledger, without a network. The old ones answer meanwhile.
    async fn rebuild(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to rebuild.", default_with = "Some(Projection::All)")] projection: Option<Projection>,
    ) -> Result<Task> {
        Ok(loaders::engine(ctx)?
            .answer(RebuildRequest { projection: projection.unwrap_or(Projection::All).into() })
            .await?
            .into())
    }

    /// Begins to forget an issue, a merge request or a project: it leaves ledger, graph, index, conversations and files,
    /// and is not read again. An alias takes the place of a person, now and in what is read later; what they wrote stays. The
    /// task's summary tells what was removed and where it was looked for afterwards; the task fails if something is left.
    async fn forget(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the node: `acme/shop#12`, `acme/shop!7`, `acme/shop` or `@alice`.")] id: ID,
        #[graphql(desc = "Why, at most 500 characters; it is kept on record.")] reason: Option<String>,
    ) -> Result<Task> {
        Ok(loaders::engine(ctx)?.answer(ForgetRequest { reference: id.0, reason }).await?.into())
    }

    /// Lets the next sync read again what was forgotten, for a person the next full one; answers with the record of it.
    async fn undo_forget(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the node: `acme/shop#12`, `acme/shop!7`, `acme/shop` or `@alice`.")] id: ID,
        #[graphql(desc = "Why, at most 500 characters; it is kept on record.")] reason: Option<String>,
    ) -> Result<AuditEntry> {
        Ok(loaders::engine(ctx)?.answer(UndoForget { reference: id.0, reason }).await?.into())
    }

    /// Begins a conversation about one project or everything.
    async fn create_chat(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path of the project that it is narrowed to; everything if absent.")] project: Option<
            String,
        >,
    ) -> Result<Chat> {
        chat::create(ctx, project).await
    }

    /// Asks in a conversation; question and answer are kept. A question that has fewer than two content words, or begins
    /// with a pronoun, is about what was asked before. The subscription `answer` tells the answer as it is made.
    async fn send_message(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the conversation, `chat/12`, or its number.")] chat: ID,
        #[graphql(desc = "The question, at most 2,000 characters.")] text: String,
        #[graphql(
            desc = "Whether a language model may word the answer, if one is configured.",
            default_with = "Some(true)"
        )]
        model: Option<bool>,
    ) -> Result<Message> {
        chat::send(ctx, &chat, &text, model).await
    }

    /// Forgets a conversation; says whether it was there.
    async fn remove_chat(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the conversation, `chat/12`, or its number.")] id: ID,
    ) -> Result<bool> {
        chat::remove(ctx, &id).await
    }

    /// Has the configured language model classify commits and write design notes of issues and merge requests, the newest
    /// first, those that it has not written about as they are now. Stops when the budget of the day is used up.
    async fn enrich(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full paths of projects. All if absent or empty.")] projects: Option<Vec<String>>,
        #[graphql(desc = "What the model is asked for; everything if absent.")] what: Option<Enrichment>,
        #[graphql(desc = "Most items that the model is asked about; all items if absent.")] limit: Option<i32>,
    ) -> Result<Task> {
        written::start(ctx, projects.unwrap_or_default(), what, limit).await
    }

    /// Writes something about a node: a file, a code entity, a commit, an issue, a merge request.
    async fn annotate(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the node.")] id: ID,
        #[graphql(desc = "What is written about the node.")] annotation: AnnotationInput,
    ) -> Result<Annotation> {
        annotation::annotate(ctx, &id, annotation).await
    }

    /// Summarizes an issue, merge request, commit or file with the configured language model, unless that has been done since
    /// it last changed.
    async fn summarize(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "Id of the node: `acme/shop#12`, `acme/shop!7`, `acme/shop@1a2b3c4` or `acme/shop:src/a.rs`."
        )]
        id: ID,
    ) -> Result<Summary> {
        summary::make(ctx, &id).await
    }
}
