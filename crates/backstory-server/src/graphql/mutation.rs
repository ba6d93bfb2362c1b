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

/// Work to be done. Long work starts a task and returns it at once; `task` and `taskProgress` report its progress.
#[Object]
impl Mutation {
    /// Reads what is new at the forges and in the repositories. One sync runs at a time.
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

    /// Queues a job for the server that has the stores, which does it as soon as it can. One that is already waiting
    /// there is done at once instead.
    async fn queue_job(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path of the project.")] project: String,
        #[graphql(desc = "What to do; only webhooks ask for `REFETCH`.", default_with = "Some(JobKind::Sync)")]
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

    /// Adds a git repository to those that a sync reads. One that is there already gets the new branches.
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
            desc = "The forge it is on, whose issues and merge requests are read too; found by the address if that is \
                    on github.com, gitlab.com or a configured forge."
        )]
        forge: Option<Forge>,
        #[graphql(
            desc = "How many commits of each branch to clone, without tags; 0 for the whole history. If absent, it \
                    stays as it was, and a new repository is cloned with its whole history."
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

    /// Adds a further branch, tag or commit of a repository, whose files the next sync indexes.
    async fn add_ref(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path of the project.")] project: String,
        #[graphql(name = "ref", desc = "Name of a branch or tag, or an object name of a commit that one reaches.")]
        name: String,
    ) -> Result<Repository> {
        Ok(loaders::engine(ctx)?.answer(AddRef { project, name }).await?.into())
    }

    /// Stops indexing the files of a further branch, tag or commit: the next sync drops what only it has.
    async fn drop_ref(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path of the project.")] project: String,
        #[graphql(name = "ref", desc = "Name of the ref, as it was added.")] name: String,
    ) -> Result<Repository> {
        Ok(loaders::engine(ctx)?.answer(DropRef { project, name }).await?.into())
    }

    /// Removes a repository, its clone and everything known from it; returns how many objects were removed.
    async fn remove_repository(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path of the repository's project.")] project: String,
    ) -> Result<u64> {
        Ok(loaders::engine(ctx)?.answer(RemoveRepository { project }).await?)
    }

    /// Pins a state of the index, so that it is kept and can be searched.
    async fn pin_snapshot(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the state, or at least its first four digits.")] id: ID,
    ) -> Result<Snapshot> {
        Ok(loaders::engine(ctx)?.answer(PinSnapshot { id: id.0, pinned: true }).await?.into())
    }

    /// Unpins a state of the index.
    async fn unpin_snapshot(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the state, or at least its first four digits.")] id: ID,
    ) -> Result<Snapshot> {
        Ok(loaders::engine(ctx)?.answer(PinSnapshot { id: id.0, pinned: false }).await?.into())
    }

    /// Removes the records of old states of the index, as each sync does; returns their ids.
    async fn prune_snapshots(&self, ctx: &Context<'_>) -> Result<Vec<ID>> {
        Ok(loaders::engine(ctx)?.answer(PruneSnapshots::default()).await?.into_iter().map(ID).collect())
    }

    /// Gives vectors to every document that has none.
    async fn embed(&self, ctx: &Context<'_>) -> Result<Task> {
        Ok(loaders::engine(ctx)?.answer(EmbedRequest {}).await?.into())
    }

    /// Writes a copy of the ledger into the data directory, without interrupting anything. Graph, lists and index can
    /// be rebuilt from it.
    async fn backup(&self, ctx: &Context<'_>) -> Result<Backup> {
        Ok(loaders::engine(ctx)?.answer(BackupRequest {}).await?.into())
    }

    /// Rebuilds the graph, the lists, the index or all from the ledger, without a network. The old ones are used until
    /// then.
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

    /// Starts to forget an issue, a merge request or a project: it is removed from ledger, graph, lists, index,
    /// conversations and files, and is not read again. A person is replaced by an alias, now and in what is read later;
    /// what they wrote stays. The task's summary says what was removed and where it was searched for afterwards; the
    /// task fails if something is left.
    async fn forget(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the node: `acme/shop#12`, `acme/shop!7`, `acme/shop` or `@alice`.")] id: ID,
        #[graphql(desc = "Why, at most 500 characters; it is kept on record.")] reason: Option<String>,
    ) -> Result<Task> {
        Ok(loaders::engine(ctx)?.answer(ForgetRequest { reference: id.0, reason }).await?.into())
    }

    /// Lets the next sync read again what was forgotten; for a person, the next full sync. Returns the audit record of
    /// it.
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
        #[graphql(desc = "Full path of the project that it is limited to; everything if absent.")] project: Option<
            String,
        >,
    ) -> Result<Chat> {
        chat::create(ctx, project).await
    }

    /// Asks in a conversation, which keeps question and answer. A question with fewer than two content words, or with a
    /// pronoun for something said before, is about what was asked before. The subscription `answer` returns the answer
    /// as it is made.
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

    /// Removes a conversation; returns whether it existed.
    async fn remove_chat(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the conversation, `chat/12`, or its number.")] id: ID,
    ) -> Result<bool> {
        chat::remove(ctx, &id).await
    }

    /// Has the configured language model classify commits and write design notes about issues and merge requests,
    /// newest first: those that it has not written about in their current state. Stops when the day's budget is used
    /// up.
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
