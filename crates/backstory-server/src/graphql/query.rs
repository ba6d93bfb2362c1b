//! The queries of the GraphQL API.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::{
    check::{CheckRequest, DigestRequest},
    model::{
        id::{NodeId, ThreadKind, is_project_path},
        text::truncate_echo,
    },
    snapshot::GetSnapshot,
    stats::StatsRequest,
    status::CoverageRequest,
    worker::{GetTask, ListTasks},
};

use super::{
    answer::{self, Answer, CitationCheck, CitationInput},
    audit::{self, AuditConnection},
    change::{self, NodeChangeConnection},
    chat::{self, Chat, ChatConnection},
    code::File,
    context::{self, ContextPack, PackFilter, PackOptions, PackSubject},
    conversation::Discussion,
    counter::Counter,
    delivery::{self, WebhookDeliveryConnection},
    explore::{self, NodePath},
    issue::Issue,
    job::{self, Job, JobConnection},
    lists::RootLists,
    loaders,
    merge_request::MergeRequest,
    names::{AuditAction, EdgeName, JobStatus, SearchMode},
    node::{self, Node},
    page::{self, MAX_PAGE},
    person::Person,
    project::Project,
    repository::{self, Repository},
    search::{self, Coverage, DEFAULT_HITS, DocumentFilter, RankingInput, SearchArguments, SearchFilter, SearchResult},
    snapshot::{self, Snapshot, SnapshotComparison, Snapshots},
    status::{self, CheckReport, DEFAULT_RUNS, Digest, Stats, SyncStatus},
    task::Task,
    trace::{self, ChangeConnection, Entity, Trace},
};

/// Questions.
pub(crate) struct Query;

/// Questions about projects, what was said in them and why.
#[Object]
impl Query {
    /// The node with an id; null if nothing is known about it, or it is not the id of a node.
    async fn node(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the node, `acme/shop#12`.")] id: ID,
    ) -> Result<Option<Node>> {
        node::find(ctx, &id).await
    }

    /// The nodes with these ids, in their order; null for each id that nothing is known about. Null as a whole, with an
    /// error, if there are more than 100 ids.
    async fn nodes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Ids of the nodes, at most 100.")] ids: Vec<ID>,
    ) -> Result<Option<Vec<Option<Node>>>> {
        if ids.len() > MAX_PAGE {
            return Err(page::invalid(format!("{} ids were given; at most {MAX_PAGE} are allowed", ids.len())).into());
        }
        async_graphql::futures_util::future::try_join_all(ids.iter().map(|id| node::find(ctx, id))).await.map(Some)
    }

    /// The shortest path between two nodes, over edges in either direction. It never passes through a project, and
    /// through people, labels and milestones only if `names` is given; it may start or end there. Null, with an error,
    /// if nothing is known about one of them, or the length is out of bounds.
    async fn path(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the node where the path starts.")] from: ID,
        #[graphql(desc = "Id of the node where the path ends.")] to: ID,
        #[graphql(desc = "Names of the edges that are followed. All if absent or empty.")] names: Option<Vec<EdgeName>>,
        #[graphql(desc = "Most edges, 1 to 8.", default = 6)] max_length: i32,
    ) -> Result<Option<NodePath>> {
        explore::path(ctx, &from, &to, names, max_length).await.map(Some)
    }

    /// A project; null if it has not been read, and, with an error, if the path is not that of a project.
    async fn project(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path of the project, `group/project`.")] full_path: String,
    ) -> Result<Option<Project>> {
        check_project_path(&full_path)?;
        let is_read = loaders::item(ctx, NodeId::Project(full_path.clone())).await?.is_some();
        let is_known = is_read || Repository::find(ctx, &full_path).await?.is_some();
        Ok(is_known.then(|| Project::new(full_path)))
    }

    /// The git repositories that are indexed, by project; null, with an error, if they cannot be read.
    async fn repositories(&self, ctx: &Context<'_>) -> Result<Option<Vec<Repository>>> {
        repository::all(ctx).await.map(Some)
    }

    /// An issue; null if it has not been read, and, with an error, if the id is not that of an issue.
    async fn issue(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the issue, `acme/shop#12`.")] id: ID,
    ) -> Result<Option<Issue>> {
        match id.parse()? {
            NodeId::Thread(id) if id.kind == ThreadKind::Issue => {
                Ok(loaders::item(ctx, id.clone().into()).await?.map(|_| Issue::new(id)))
            }
            _ => Err(wrong_kind(&id, "an issue", "group/project#12")),
        }
    }

    /// A merge request; null if it has not been read, and, with an error, if the id is not that of a merge request.
    async fn merge_request(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the merge request, `acme/shop!7`.")] id: ID,
    ) -> Result<Option<MergeRequest>> {
        match id.parse()? {
            NodeId::Thread(id) if id.kind == ThreadKind::MergeRequest => {
                Ok(loaders::item(ctx, id.clone().into()).await?.map(|_| MergeRequest::new(id)))
            }
            _ => Err(wrong_kind(&id, "a merge request", "group/project!7")),
        }
    }

    /// A discussion; null if it has not been read, and, with an error, if the id is not that of a discussion.
    async fn discussion(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the discussion, `acme/shop!7~6a9c17`.")] id: ID,
    ) -> Result<Option<Discussion>> {
        match id.parse()? {
            NodeId::Discussion { thread, id } => Ok(loaders::discussion(ctx, thread, id).await?.map(Discussion::found)),
            _ => Err(wrong_kind(&id, "a discussion", "group/project!7~6a9c17")),
        }
    }

    /// A person by user name, address or name; null if nothing was read about them, or if several people have the name.
    async fn person(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "User name, with or without `@`, address of commits, or whole name that nobody else has, in any case."
        )]
        username: String,
    ) -> Result<Option<Person>> {
        let username = username.trim_start_matches('@');
        Ok(loaders::engine(ctx)?.find_person(username).await?.map(Person::new))
    }

    #[graphql(flatten)]
    async fn lists(&self) -> RootLists {
        RootLists
    }

    /// Searches issues, merge requests, discussions, commits, code and documents. What belongs together is one hit. Null, with
    /// an error, if the query, the filter, the ranking or the page is wrong.
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
    async fn search(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Words or a question, at most 2,000 characters.")] query: String,
        #[graphql(desc = "Only documents that meet all these conditions; all documents if absent.")] filter: Option<
            SearchFilter,
        >,
        #[graphql(desc = "What to compare the query with.", default_with = "Some(SearchMode::Hybrid)")] mode: Option<
            SearchMode,
        >,
        #[graphql(
            desc = "How hits are ranked, where that differs from the configuration; a configured reranking model is \
                    not used then."
        )]
        ranking: Option<RankingInput>,
        #[graphql(desc = "Most hits, 1 to 100.", default_with = "Some(DEFAULT_HITS as i32)")] first: Option<i32>,
        #[graphql(desc = "The `endCursor` of the previous page.")] after: Option<String>,
    ) -> Result<Option<SearchResult>> {
        let mode = mode.unwrap_or(SearchMode::Hybrid);
        search::search(ctx, query, SearchArguments { filter, mode, ranking, first, after }).await.map(Some)
    }

    /// Answers a question, strictly from what was read: with quotations, or in the words of the configured language model,
    /// each sentence of which is checked against what it cites; or says that there is not enough evidence. Null, with an
    /// error, if the question, the filter or the ranking is wrong.
    async fn ask(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The question, at most 2,000 characters.")] question: String,
        #[graphql(desc = "Only documents that meet all these conditions; all documents if absent.")] filter: Option<
            DocumentFilter,
        >,
        #[graphql(
            desc = "Whether a language model may word the answer, if one is configured.",
            default_with = "Some(true)"
        )]
        model: Option<bool>,
        #[graphql(desc = "How what is found is ranked, where that differs from the configuration.")] ranking: Option<
            RankingInput,
        >,
    ) -> Result<Option<Answer>> {
        answer::ask(ctx, question, filter, model, ranking).await.map(Some)
    }

    /// Verifies, against the ledger and the clones, that citations are where they say; in their order. Null, with an
    /// error, if a citation is not well-formed or there are too many.
    async fn verify(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The citations, at most 100.")] citations: Vec<CitationInput>,
    ) -> Result<Option<Vec<CitationCheck>>> {
        answer::verify(ctx, citations).await.map(Some)
    }

    /// The conversations, newest first. Null, with an error, if the cursor or size of the page is wrong.
    async fn chats(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
    ) -> Result<Option<ChatConnection>> {
        chat::list(ctx, first, after.as_deref()).await.map(Some)
    }

    /// A conversation; null if there is none with that number, and, with an error, if the id is not that of a
    /// conversation.
    async fn chat(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the conversation, `chat/12`, or its number.")] id: ID,
    ) -> Result<Option<Chat>> {
        chat::find(ctx, &id).await
    }

    /// Why code is the way it is: from lines to the commit that wrote them, the merge request that introduced it, the
    /// discussion of those lines, and the issue behind it. Ask about a path, alone or with lines or a symbol, or about
    /// a commit, merge request or issue by its id. Null, with an error, if what is asked about does not exist.
    #[allow(clippy::too_many_arguments)]
    async fn trace(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path of the project; may be absent if there is only one repository.")] project: Option<
            String,
        >,
        #[graphql(desc = "Path from the repository's root.")] path: Option<String>,
        #[graphql(desc = "First line, from 1.")] line: Option<u32>,
        #[graphql(desc = "Last line; the first if absent.")] end_line: Option<u32>,
        #[graphql(desc = "Name of a function or type of the file, instead of lines.")] symbol: Option<String>,
        #[graphql(
            desc = "Id of a commit, merge request or issue, instead of a path: `acme/shop@1a2b3c4`, `acme/shop!7`, \
                    `acme/shop#12`."
        )]
        id: Option<ID>,
        #[graphql(desc = "Branch, tag or commit at which the path and lines are; the indexed head if absent.")]
        rev: Option<String>,
        #[graphql(desc = "Most earlier versions of the line, 0 to 100; 5 if absent.")] earlier: Option<u32>,
    ) -> Result<Option<Trace>> {
        let asked = trace::Asked { project, path, line, end_line, symbol, id };
        trace::trace(ctx, asked, rev, earlier).await.map(Some)
    }

    /// What an agent must know about a question, a piece of code or an item, within a token budget: a summary, the
    /// items, reasons, code, changes and tests that matter, and passages with what is needed to verify them. The same
    /// question on the same state of the index always gives the same text. Null, with an error, if what is asked about
    /// does not exist, or the filter or options are wrong.
    async fn context_pack(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What the pack is about.")] about: PackSubject,
        #[graphql(
            desc = "Only documents that meet all these conditions; all documents if absent. If it names one project, that is \
                    also the project of a path."
        )]
        filter: Option<PackFilter>,
        #[graphql(desc = "How much may be in the pack, and how it is printed.")] options: Option<PackOptions>,
    ) -> Result<Option<ContextPack>> {
        context::pack(ctx, about, filter, options).await.map(Some)
    }

    /// The states of the index that are on record; null, with an error, if they cannot be read.
    async fn snapshots(&self, ctx: &Context<'_>) -> Result<Option<Snapshots>> {
        snapshot::all(ctx).await.map(Some)
    }

    /// A state of the index that is on record; null if none has that id, and, with an error, if the id is not that of a
    /// state or several ids begin with it.
    async fn snapshot(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the state, or at least its first four digits.")] id: ID,
    ) -> Result<Option<Snapshot>> {
        let found = loaders::engine(ctx)?.answer(GetSnapshot { id: id.0 }).await;
        Ok(loaders::if_found(found)?.map(Snapshot::from))
    }

    /// How one state of the index differs from another; null, with an error, if one of them is not on record.
    async fn compare_snapshots(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the first state, or at least its first four digits.")] from: ID,
        #[graphql(desc = "Id of the second state, or at least its first four digits.")] to: ID,
        #[graphql(desc = "Most documents of each difference that are named, 0 to 1,000.", default = 20)] first: Option<
            i32,
        >,
    ) -> Result<Option<SnapshotComparison>> {
        snapshot::compare(ctx, &from, &to, first).await.map(Some)
    }

    /// The commits that changed a file or code entity, newest first, also under the names it had before. Null, with an
    /// error, if the id is not that of a file or code entity, or the cursor or size of the page is wrong.
    async fn history(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the file or code entity, `acme/shop:src/a.rs` or `acme/shop:src/a.rs#login`.")] id: ID,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
    ) -> Result<Option<ChangeConnection>> {
        trace::history(ctx, id.parse()?, first, after.as_deref()).await.map(Some)
    }

    /// Code entities by name, qualified or not, or the one with an id. Null, with an error, if the project is not known
    /// or too many are asked for.
    async fn entity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Name or id: `login`, `Session.login`, `src/a.rs#login` or `acme/shop:src/a.rs#login`.")] name: String,
        #[graphql(desc = "Full path of the project; all projects if absent.")] project: Option<String>,
        #[graphql(desc = "Most entities, 0 to 50.", default = 10)] first: Option<i32>,
    ) -> Result<Option<Vec<Entity>>> {
        trace::entities(ctx, name, project, first).await.map(Some)
    }

    /// A file of a repository, whether it is at the indexed head or not; its content takes a revision. Null, with an
    /// error, if the project is not the path of a project.
    async fn file(
        &self,
        #[graphql(desc = "Full path of the project.")] project: String,
        #[graphql(desc = "Path from the repository's root.")] path: String,
    ) -> Result<Option<File>> {
        check_project_path(&project)?;
        Ok(Some(File::new(project, path)))
    }

    /// How many items of each kind there are; null, with an error, if they cannot be counted.
    async fn stats(&self, ctx: &Context<'_>) -> Result<Option<Stats>> {
        Ok(Some(Stats::from(loaders::engine(ctx)?.answer(StatsRequest {}).await?)))
    }

    /// How many documents have vectors; null, with an error, if that cannot be read.
    async fn coverage(&self, ctx: &Context<'_>) -> Result<Option<Coverage>> {
        Ok(Some(Coverage::from(loaders::engine(ctx)?.answer(CoverageRequest {}).await?)))
    }

    /// How fresh the stores are, compared with the forges and each other; null, with an error, if too many runs are
    /// asked for.
    async fn sync_status(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most runs, 0 to 100; the newest.", default_with = "Some(DEFAULT_RUNS as i32)")] runs: Option<
            i32,
        >,
    ) -> Result<Option<SyncStatus>> {
        status::sync_status(ctx, runs).await.map(Some)
    }

    /// Checks that ledger, graph, lists and index are sound and agree. Reads everything, which may take minutes. Null,
    /// with an error, if something cannot be read.
    async fn check(&self, ctx: &Context<'_>) -> Result<Option<CheckReport>> {
        Ok(Some(CheckReport::from(loaders::engine(ctx)?.answer(CheckRequest {}).await?)))
    }

    /// The digest of graph and lists, which depends only on what they hold. Reads both whole. Null, with an error, if
    /// one of them cannot be read.
    async fn digest(&self, ctx: &Context<'_>) -> Result<Option<Digest>> {
        Ok(Some(Digest::from(loaders::engine(ctx)?.answer(DigestRequest {}).await?)))
    }

    /// A job of the queue, or one that was done; null if there is none with that number, and, with an error, if the id
    /// is not that of a job.
    async fn job(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the job, `job/12`, or its number.")] id: ID,
    ) -> Result<Option<Job>> {
        let found = loaders::engine(ctx)?.find_job(Counter::Job.number(&id)?).await;
        Ok(loaders::if_found(found)?.map(Job::from))
    }

    /// The jobs that a server has in its queue and those that it did, newest first. Null, with an error, if a project is not
    /// known, or the cursor or size of the page is wrong.
    async fn jobs(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
        #[graphql(desc = "State of the jobs; all jobs if absent.")] status: Option<JobStatus>,
        #[graphql(desc = "Full paths of projects: the jobs are about one of them. All if absent or empty.")]
        projects: Option<Vec<String>>,
    ) -> Result<Option<JobConnection>> {
        let projects = projects.unwrap_or_default();
        loaders::engine(ctx)?.check_projects(&projects).await?;
        job::list(ctx, first, after.as_deref(), status, projects).await.map(Some)
    }

    /// Webhooks that were received, newest first, without their payloads. Null, with an error, if the caller's token
    /// does not have the scope `admin`, a project is not known, or the cursor or size of the page is wrong.
    async fn webhook_deliveries(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
        #[graphql(desc = "Full paths of projects: the webhooks are about one of them. All if absent or empty.")]
        projects: Option<Vec<String>>,
    ) -> Result<Option<WebhookDeliveryConnection>> {
        delivery::list(ctx, first, after.as_deref(), projects.unwrap_or_default()).await.map(Some)
    }

    /// What was added, changed or removed after a cursor, oldest first, each node in its current state: what the
    /// subscription `changes` sends, for clients that poll. There is an endCursor even if nothing has changed; it is
    /// valid as long as the data directory exists, and is where the next request continues. Null, with an error, if a
    /// project is not known, or the cursor or size of the page is wrong.
    async fn changes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(
            desc = "The endCursor of the previous page, a `seq` of the subscription, or `0` for the last change of \
                    each node. If absent, the page is empty, and its endCursor leads to what changes from now on."
        )]
        after: Option<String>,
        #[graphql(desc = "Full paths of projects. All if absent or empty.")] projects: Option<Vec<String>>,
    ) -> Result<Option<NodeChangeConnection>> {
        let projects = projects.unwrap_or_default();
        loaders::engine(ctx)?.check_projects(&projects).await?;
        change::list(ctx, first, after.as_deref(), &projects).await.map(Some)
    }

    /// What was forgotten, what may be read again and what is not kept any more, newest first, without any of its
    /// content; only the last 1,000 records of what is not kept any more. Null, with an error, if the cursor or size of
    /// the page is wrong.
    async fn audit(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
        #[graphql(desc = "What was done to the subjects; all records if absent.")] action: Option<AuditAction>,
    ) -> Result<Option<AuditConnection>> {
        audit::list(ctx, first, after.as_deref(), action).await.map(Some)
    }

    /// A task of this process; null if there is none with that number, or it ended long ago, and, with an error, if the
    /// id is not that of a task.
    async fn task(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the task, `task/12`, or its number.")] id: ID,
    ) -> Result<Option<Task>> {
        Ok(loaders::engine(ctx)?.answer(GetTask { id: Counter::Task.number(&id)? }).await?.map(Task::from))
    }

    /// The tasks of this process, newest first; the last 100. Null, with an error, if they cannot be read.
    async fn tasks(&self, ctx: &Context<'_>) -> Result<Option<Vec<Task>>> {
        Ok(Some(loaders::engine(ctx)?.answer(ListTasks {}).await?.into_iter().map(Task::from).collect()))
    }
}

/// Refuses what is no path of a project.
fn check_project_path(path: &str) -> Result<()> {
    if is_project_path(path) {
        return Ok(());
    }
    Err(page::invalid(format!("'{}' is not the path of a project; write group/project", truncate_echo(path))).into())
}

fn wrong_kind(reference: &str, what: &str, form: &str) -> async_graphql::Error {
    page::invalid(format!("{} is not {what}; write {form}", truncate_echo(reference))).into()
}
