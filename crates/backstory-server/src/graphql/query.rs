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
    chat::{self, Chat},
    code::File,
    context::{self, ContextPack, PackOptions, PackSubject},
    conversation::Discussion,
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
    search::{self, Coverage, DEFAULT_HITS, RankingInput, SearchArguments, SearchFilter, SearchResult},
    snapshot::{self, Snapshot, SnapshotComparison, Snapshots},
    status::{self, CheckReport, DEFAULT_RUNS, Digest, Stats, SyncStatus},
    task::{self, Task},
    trace::{self, ChangeConnection, Entity, Trace},
};

/// Questions.
pub(crate) struct Query;

/// Questions about projects, what was said in them and why.
#[Object]
impl Query {
    /// The node of an id; null if nothing is known of it.
    async fn node(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Reference of the node.")] id: ID,
    ) -> Result<Option<Node>> {
        node::find(ctx, &id).await
    }

    /// The nodes of ids, in their order; null for each of which nothing is known.
    async fn nodes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "References of the nodes, at most 100.")] ids: Vec<ID>,
    ) -> Result<Vec<Option<Node>>> {
        if ids.len() > MAX_PAGE {
            return Err(page::invalid(format!("{} ids were given; at most {MAX_PAGE} are allowed", ids.len())).into());
        }
        async_graphql::futures_util::future::try_join_all(ids.iter().map(|id| node::find(ctx, id))).await
    }

    /// The shortest path between two nodes, over edges in either direction.
    async fn path(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Reference of the node where it starts.")] from: ID,
        #[graphql(desc = "Reference of the node where it ends.")] to: ID,
        #[graphql(desc = "Names of the edges that are followed; all if absent.")] edges: Option<Vec<EdgeName>>,
        #[graphql(desc = "Most edges, 1 to 8.", default = 6)] max_length: i32,
    ) -> Result<NodePath> {
        explore::path(ctx, &from, &to, edges, max_length).await
    }

    /// A project; null if it has not been read.
    async fn project(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path, `group/project`.")] path: String,
    ) -> Result<Option<Project>> {
        if !is_project_path(&path) {
            return Err(page::invalid(format!(
                "'{}' is no path of a project; write group/project",
                truncate_echo(&path)
            ))
            .into());
        }
        let is_read = loaders::item(ctx, NodeId::Project(path.clone())).await?.is_some();
        let is_known = is_read || Repository::find(ctx, &path).await?.is_some();
        Ok(is_known.then(|| Project::new(path)))
    }

    /// The git repositories that are indexed, by project.
    async fn repositories(&self, ctx: &Context<'_>) -> Result<Vec<Repository>> {
        repository::all(ctx).await
    }

    /// An issue; null if it has not been read.
    async fn issue(
        &self,
        ctx: &Context<'_>,
        #[graphql(name = "ref", desc = "`acme/shop#12`")] reference: String,
    ) -> Result<Option<Issue>> {
        match reference.parse()? {
            NodeId::Thread(id) if id.kind == ThreadKind::Issue => {
                Ok(loaders::item(ctx, id.clone().into()).await?.map(|_| Issue::new(id)))
            }
            _ => Err(wrong_kind(&reference, "an issue", "group/project#12")),
        }
    }

    /// A merge request; null if it has not been read.
    async fn merge_request(
        &self,
        ctx: &Context<'_>,
        #[graphql(name = "ref", desc = "`acme/shop!7`")] reference: String,
    ) -> Result<Option<MergeRequest>> {
        match reference.parse()? {
            NodeId::Thread(id) if id.kind == ThreadKind::MergeRequest => {
                Ok(loaders::item(ctx, id.clone().into()).await?.map(|_| MergeRequest::new(id)))
            }
            _ => Err(wrong_kind(&reference, "a merge request", "group/project!7")),
        }
    }

    /// A discussion; null if it has not been read.
    async fn discussion(
        &self,
        ctx: &Context<'_>,
        #[graphql(name = "ref", desc = "`acme/shop!7~6a9c17`")] reference: String,
    ) -> Result<Option<Discussion>> {
        match reference.parse()? {
            NodeId::Discussion { thread, id } => Ok(loaders::discussion(ctx, thread, id).await?.map(Discussion::found)),
            _ => Err(wrong_kind(&reference, "a discussion", "group/project!7~6a9c17")),
        }
    }

    /// A person; null if nothing was read of them.
    async fn person(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "User name, with or without `@`, in any case.")] username: String,
    ) -> Result<Option<Person>> {
        let username = username.trim_start_matches('@');
        Ok(loaders::engine(ctx)?.find_person(username).await?.map(|person| Person::new(person.username)))
    }

    #[graphql(flatten)]
    async fn lists(&self) -> RootLists {
        RootLists
    }

    /// Searches issues, merge requests, discussions, commits, code and documents. What belongs together is one hit.
    #[expect(clippy::too_many_arguments, reason = "each is an argument of the field")]
    async fn search(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Words or a question, at most 2,000 characters.")] query: String,
        #[graphql(desc = "Only documents that meet all these conditions.")] filter: Option<SearchFilter>,
        #[graphql(
            desc = "References of nodes, at most 20: only what is at most two edges from one of them is found. How near it is, \
                    is its relationship."
        )]
        near: Option<Vec<ID>>,
        #[graphql(desc = "Only what has an annotation with all of these tags, in any case.")] tags: Option<Vec<String>>,
        #[graphql(desc = "What to compare the query with.", default_with = "Some(SearchMode::Hybrid)")] mode: Option<
            SearchMode,
        >,
        #[graphql(desc = "How hits are ranked, where it is not as configured.")] ranking: Option<RankingInput>,
        #[graphql(desc = "Most hits, 1 to 100.", default_with = "Some(DEFAULT_HITS as i32)")] first: Option<i32>,
        #[graphql(desc = "Hits after this `endCursor` of the page before.")] after: Option<String>,
    ) -> Result<SearchResult> {
        let mode = mode.unwrap_or(SearchMode::Hybrid);
        search::search(ctx, query, SearchArguments { filter, near, tags, mode, ranking, first, after }).await
    }

    /// Answers a question, strictly from what was read: with quotations, or in the words of the configured language model,
    /// each sentence of which is checked against what it cites; or says that there is not enough evidence.
    async fn ask(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The question, at most 2,000 characters.")] question: String,
        #[graphql(desc = "Only from documents that meet all these conditions.")] filter: Option<SearchFilter>,
        #[graphql(
            desc = "Whether a language model may word the answer, if one is configured.",
            default_with = "Some(true)"
        )]
        model: Option<bool>,
        #[graphql(desc = "How what is found is ranked, where it is not as configured.")] ranking: Option<RankingInput>,
    ) -> Result<Answer> {
        answer::ask(ctx, question, filter, model, ranking).await
    }

    /// Proves again, from the ledger and the clones, that citations stand where they say; in their order.
    async fn verify(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The citations, at most 100.")] citations: Vec<CitationInput>,
    ) -> Result<Vec<CitationCheck>> {
        answer::verify(ctx, citations).await
    }

    /// The conversations, newest first.
    async fn chats(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most conversations, 0 to 100.", default = 20)] first: Option<i32>,
    ) -> Result<Vec<Chat>> {
        chat::list(ctx, first).await
    }

    /// A conversation; null if there is none of that number.
    async fn chat(&self, ctx: &Context<'_>, #[graphql(desc = "Its number.")] id: ID) -> Result<Option<Chat>> {
        chat::find(ctx, &id).await
    }

    /// Why code is as it is: from lines to the commit that truly wrote them, the merge request that carried it, the
    /// discussion on that hunk and the issue behind it. Ask about a path, alone or with lines or a symbol, or about a
    /// commit, merge request or issue by its reference.
    #[allow(clippy::too_many_arguments)]
    async fn trace(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Full path of the project; may be absent where there is one repository.")] project: Option<
            String,
        >,
        #[graphql(desc = "Path from the repository's root.")] path: Option<String>,
        #[graphql(desc = "First line, from 1.")] line: Option<u32>,
        #[graphql(desc = "Last line; the first if absent.")] end_line: Option<u32>,
        #[graphql(desc = "Name of a function or type of the file, in place of lines.")] symbol: Option<String>,
        #[graphql(name = "ref", desc = "`acme/shop@1a2b3c4`, `acme/shop!7`, `acme/shop#12`, in place of a path.")]
        reference: Option<String>,
        #[graphql(desc = "Branch, tag or commit at which the path and lines are; the indexed head if absent.")]
        rev: Option<String>,
        #[graphql(desc = "Most earlier versions of the line, 0 to 100; 5 if absent.")] earlier: Option<u32>,
    ) -> Result<Trace> {
        let asked = trace::Asked { project, path, line, end_line, symbol, reference };
        trace::trace(ctx, asked, rev, earlier).await
    }

    /// What an agent must know about a question, a piece of code or an item, in a budget of tokens: a summary, the
    /// items, reasons, code, changes and tests that matter, and passages with all that proves them. The same question on
    /// the same state of the index gives the same bytes.
    async fn context_pack(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What it is about.")] about: PackSubject,
        #[graphql(desc = "What search is narrowed to; its project is also that of a path.")] filter: Option<
            SearchFilter,
        >,
        #[graphql(desc = "How much, and how it is printed.")] options: Option<PackOptions>,
    ) -> Result<ContextPack> {
        context::pack(ctx, about, filter, options).await
    }

    /// The states of the index that are on record.
    async fn snapshots(&self, ctx: &Context<'_>) -> Result<Snapshots> {
        snapshot::all(ctx).await
    }

    /// A state of the index that is on record.
    async fn snapshot(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Its id, or at least four of its first digits.")] id: ID,
    ) -> Result<Snapshot> {
        Ok(loaders::engine(ctx)?.answer(GetSnapshot { id: id.0 }).await?.into())
    }

    /// How one state of the index differs from another.
    async fn compare_snapshots(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Id of the first, or its first digits.")] from: ID,
        #[graphql(desc = "Id of the second, or its first digits.")] to: ID,
        #[graphql(desc = "How many documents of each kind are named, 0 to 1,000.", default = 20)] first: Option<i32>,
    ) -> Result<SnapshotComparison> {
        snapshot::compare(ctx, &from, &to, first).await
    }

    /// The commits that changed a file or code entity, newest first, also under the names it had before.
    async fn history(
        &self,
        ctx: &Context<'_>,
        #[graphql(name = "ref", desc = "`acme/shop:src/a.rs` or `acme/shop:src/a.rs#login`")] reference: String,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the page before.")] after: Option<String>,
    ) -> Result<ChangeConnection> {
        trace::history(ctx, reference.parse()?, first, after.as_deref()).await
    }

    /// Code entities by name, with or without what they stand in, or the one of a reference.
    async fn entity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "`login`, `Session.login`, `src/a.rs#login` or `acme/shop:src/a.rs#login`")] name: String,
        #[graphql(desc = "Full path of the project; all if absent.")] project: Option<String>,
        #[graphql(desc = "How many, 0 to 50.", default = 10)] first: Option<i32>,
    ) -> Result<Vec<Entity>> {
        trace::entities(ctx, name, project, first).await
    }

    /// A file of a repository, whether it is at the indexed head or not; ask its content for a revision.
    async fn file(
        &self,
        #[graphql(desc = "Full path of the project.")] project: String,
        #[graphql(desc = "Path from the repository's root.")] path: String,
    ) -> File {
        File::new(project, path)
    }

    /// How many items of each kind there are.
    async fn stats(&self, ctx: &Context<'_>) -> Result<Stats> {
        Ok(Stats::from(loaders::engine(ctx)?.answer(StatsRequest {}).await?))
    }

    /// How many documents have vectors. Costs nothing.
    async fn coverage(&self, ctx: &Context<'_>) -> Result<Coverage> {
        Ok(Coverage::from(loaders::engine(ctx)?.answer(CoverageRequest {}).await?))
    }

    /// How the stores stand towards the forges and each other.
    async fn sync_status(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "How many of the newest runs, 0 to 100.", default_with = "Some(DEFAULT_RUNS as i32)")]
        runs: Option<i32>,
    ) -> Result<SyncStatus> {
        status::sync_status(ctx, runs).await
    }

    /// Checks that ledger, graph and index are sound and agree. Reads everything: it may take minutes.
    async fn check(&self, ctx: &Context<'_>) -> Result<CheckReport> {
        Ok(CheckReport::from(loaders::engine(ctx)?.answer(CheckRequest {}).await?))
    }

    /// The digest of graph and lists: the same whenever they hold the same, however it came about. Reads both whole.
    async fn digest(&self, ctx: &Context<'_>) -> Result<Digest> {
        Ok(Digest::from(loaders::engine(ctx)?.answer(DigestRequest {}).await?))
    }

    /// A job of the queue, or one that was done.
    async fn job(&self, ctx: &Context<'_>, #[graphql(desc = "Its number.")] id: ID) -> Result<Job> {
        Ok(loaders::engine(ctx)?.find_job(job::number(&id)?).await?.into())
    }

    /// The jobs that a server has in its queue and those that it did, newest first.
    async fn jobs(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the page before.")] after: Option<String>,
        #[graphql(desc = "Those that stand so.")] status: Option<JobStatus>,
    ) -> Result<JobConnection> {
        job::list(ctx, first, after.as_deref(), status).await
    }

    /// What was forgotten, what may be read again and what is not kept any more, newest first. None of it has any content;
    /// of what is not kept any more there are the last 1,000 records.
    async fn audit(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the page before.")] after: Option<String>,
        #[graphql(desc = "Those of this action.")] action: Option<AuditAction>,
    ) -> Result<AuditConnection> {
        audit::list(ctx, first, after.as_deref(), action).await
    }

    /// A task of this process; null if there is none of that number, or it ended long ago.
    async fn task(&self, ctx: &Context<'_>, #[graphql(desc = "Its number.")] id: ID) -> Result<Option<Task>> {
        Ok(loaders::engine(ctx)?.answer(GetTask { id: task::number(&id)? }).await?.map(Task::from))
    }

    /// The tasks of this process, newest first; the last 100.
    async fn tasks(&self, ctx: &Context<'_>) -> Result<Vec<Task>> {
        Ok(loaders::engine(ctx)?.answer(ListTasks {}).await?.into_iter().map(Task::from).collect())
    }
}

fn wrong_kind(reference: &str, what: &str, form: &str) -> async_graphql::Error {
    page::invalid(format!("{} is not {what}; write {form}", truncate_echo(reference))).into()
}
