//! Work and its state: repositories, jobs, snapshots, webhooks, the audit log, status and totals, and conversations.

use std::convert::Infallible;

use axum::{
    http::{Method, StatusCode, header},
    response::{
        IntoResponse,
        sse::{Event, KeepAlive, Sse},
    },
};
use backstory_engine::{
    access::ListOperations,
    chat::{Chat, ListChats, ListMessages, Message, RemoveChat, SendMessage},
    error::{Error, ErrorKind},
    ledger::{DeliveryCursor, Job, JobStatus, Operation, ReceivedDelivery},
    model::{
        access::Scope,
        answer::{Citation, Statement},
    },
    repository::{ListRepositories, RepositoryStatus},
    snapshot::{GetSnapshot, ListSnapshots, SnapshotReport, Snapshots},
    stats::{Stats, StatsRequest},
    status::{DEFAULT_RUNS, SyncStatus, SyncStatusRequest},
    task::Task,
    use_case::UseCase as _,
    worker::{CancelJob, GetJob, GetTask, JobReport, ListDeliveries, ListJobs, RetryJob},
};
use futures::{Stream, stream};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use super::{
    cursor::{self, Page},
    prefer,
    route::{Asked, Doc, Reply, Route, change, get, get_as},
};
use crate::http::Refusal;

/// Statements of an answer that wait to be told.
const STATEMENTS: usize = 16;
/// Media type of server-sent events.
pub(super) const EVENTS: &str = "text/event-stream";

const fn doc(tag: &'static str, summary: &'static str, scope: Scope) -> Doc {
    Doc { tag, summary, scope }
}

pub(super) fn routes() -> Vec<Route> {
    let read = |tag, summary| doc(tag, summary, Scope::Read);
    vec![
        get::<_, Page<RepositoryStatus>, _, _>(
            "/api/v1/repositories",
            read("repositories", "Repositories"),
            repositories,
        ),
        get::<_, RepositoryStatus, _, _>(
            "/api/v1/repositories/{*project}",
            read("repositories", "A repository"),
            repository,
        ),
        get::<_, Page<JobReport>, _, _>("/api/v1/jobs", read("jobs", "Jobs, newest first"), jobs),
        get_as::<_, JobReport, _, _>("/api/v1/jobs/{id}", read("jobs", "A job"), &[], job).waits(),
        change::<_, (), Job, _, _>(
            Method::POST,
            "/api/v1/jobs/{id}/retry",
            doc("jobs", "Queue a job again that failed or was cancelled", Scope::Sync),
            StatusCode::ACCEPTED,
            retry,
        )
        .with_success_statuses(&[StatusCode::OK])
        .waits(),
        change::<_, (), Job, _, _>(
            Method::POST,
            "/api/v1/jobs/{id}/cancel",
            doc("jobs", "Cancel a job that waits, or stop one that reads a whole project", Scope::Sync),
            StatusCode::OK,
            cancel,
        ),
        get::<_, Option<Task>, _, _>("/api/v1/tasks/{id}", read("jobs", "A task"), task),
        get::<_, Snapshots, _, _>("/api/v1/snapshots", read("snapshots", "Recorded states of the index"), snapshots),
        get::<_, SnapshotReport, _, _>("/api/v1/snapshots/{id}", read("snapshots", "A recorded state"), snapshot),
        get::<_, Page<ReceivedDelivery>, _, _>(
            "/api/v1/webhook-deliveries",
            doc("jobs", "Webhooks that were received, newest first, without their payloads", Scope::Admin),
            deliveries,
        ),
        get::<_, Page<Operation>, _, _>(
            "/api/v1/audit-log",
            doc("access", "Who asked for what, newest first", Scope::Admin),
            operations,
        ),
        get::<_, SyncStatus, _, _>("/api/v1/status", read("status", "How fresh everything is"), status),
        get::<_, Stats, _, _>("/api/v1/stats", read("status", "How many items of each kind there are"), stats),
        get::<_, Page<Chat>, _, _>("/api/v1/chats", read("chats", "Conversations, newest first"), chats),
        change::<_, (), bool, _, _>(
            Method::DELETE,
            "/api/v1/chats/{id}",
            doc("chats", "Remove a conversation", Scope::Admin),
            StatusCode::OK,
            remove_chat,
        ),
        get::<_, Page<Message>, _, _>("/api/v1/chats/{id}/messages", read("chats", "Messages, oldest first"), messages),
        change::<_, Question, Message, _, _>(
            Method::POST,
            "/api/v1/chats/{id}/messages",
            read("chats", "Ask; with 'Accept: text/event-stream' each statement is sent as soon as it is checked"),
            StatusCode::OK,
            send,
        )
        .with_media_types(&[EVENTS]),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct NoParameters {}

#[derive(Deserialize, JsonSchema)]
struct Number {
    /// Its number.
    id: i64,
}

#[derive(Deserialize, JsonSchema)]
struct ProjectParameter {
    /// Full path of its project.
    project: String,
}

#[derive(Deserialize, JsonSchema)]
struct PageParameters {
    /// Most items, 1 to 100; 20 if absent.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// `next` of the previous page.
    cursor: Option<String>,
}

async fn repositories(asked: Asked, _: NoParameters) -> Result<Page<RepositoryStatus>, Refusal> {
    Ok(Page::whole(asked.answer(ListRepositories {}).await?))
}

async fn repository(asked: Asked, parameters: ProjectParameter) -> Result<RepositoryStatus, Refusal> {
    let found = asked.answer(ListRepositories {}).await?;
    let found = found.into_iter().find(|repository| repository.project == parameters.project);
    Ok(found.ok_or_else(|| Error::new(ErrorKind::NotFound, "there is no such repository"))?)
}

#[derive(Deserialize, JsonSchema)]
struct JobParameters {
    /// Only jobs with this status.
    status: Option<JobStatus>,
    /// Full path of a project: only jobs of it.
    project: Option<String>,
    /// Most jobs, 1 to 100; 20 if absent.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// `next` of the previous page.
    cursor: Option<String>,
}

async fn jobs(asked: Asked, parameters: JobParameters) -> Result<Page<JobReport>, Refusal> {
    let JobParameters { status, project, limit, cursor } = parameters;
    let (before, limit) = (cursor::decode(cursor.as_deref())?, cursor::limit(limit)?);
    let projects = project.into_iter().collect();
    let jobs = asked.answer(ListJobs { status, projects, before, limit: limit + 1 }).await?;
    Ok(Page::cut(jobs, limit, |report| report.job.id))
}

async fn job(asked: Asked, Number { id }: Number) -> Result<Reply, Refusal> {
    let report = asked.answer(GetJob { id }).await?;
    let (job, waited) = prefer::wait_for(&asked, report.job).await?;
    // How far it is now.
    let task = asked.app.engine.with_caller(&asked.caller).task_of_job(id).map(|task| task.progress);
    Reply::waited(StatusCode::OK, &JobReport { job, task }, waited)
}

async fn retry(asked: Asked, Number { id }: Number, (): ()) -> Result<Reply, Refusal> {
    let job = asked.answer(RetryJob { id }).await?;
    let (job, waited) = prefer::wait_for(&asked, job).await?;
    Reply::waited(prefer::status_of(&job), &job, waited)
}

async fn cancel(asked: Asked, Number { id }: Number, (): ()) -> Result<Reply, Refusal> {
    Reply::json(StatusCode::OK, &asked.answer(CancelJob { id }).await?)
}

async fn task(asked: Asked, Number { id }: Number) -> Result<Option<Task>, Refusal> {
    let id = u64::try_from(id).map_err(|_| Error::new(ErrorKind::Invalid, "a task has a positive number"))?;
    let found = asked.answer(GetTask { id }).await?;
    match found {
        Some(task) => Ok(Some(task)),
        None => Err(Error::new(ErrorKind::NotFound, format!("there is no task {id}")).into()),
    }
}

async fn snapshots(asked: Asked, _: NoParameters) -> Result<Snapshots, Refusal> {
    asked.answer(ListSnapshots {}).await
}

#[derive(Deserialize, JsonSchema)]
struct SnapshotParameter {
    /// Its id, or at least four of its first digits.
    id: String,
}

async fn snapshot(asked: Asked, SnapshotParameter { id }: SnapshotParameter) -> Result<SnapshotReport, Refusal> {
    asked.answer(GetSnapshot { id }).await
}

#[derive(Deserialize, JsonSchema)]
struct DeliveryParameters {
    /// Full path of a project: only webhooks about it.
    project: Option<String>,
    /// Most webhooks, 1 to 100; 20 if absent.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// `next` of the previous page.
    cursor: Option<String>,
}

async fn deliveries(asked: Asked, parameters: DeliveryParameters) -> Result<Page<ReceivedDelivery>, Refusal> {
    let DeliveryParameters { project, limit, cursor } = parameters;
    let before: Option<DeliveryCursor> = cursor::decode(cursor.as_deref())?;
    let limit = cursor::limit(limit)?;
    let projects = project.into_iter().collect();
    let found = asked.answer(ListDeliveries { projects, before, limit: limit + 1 }).await?;
    Ok(Page::cut(found, limit, |delivery| DeliveryCursor::from(delivery)))
}

#[derive(Deserialize, JsonSchema)]
struct OperationParameters {
    /// Only operations of actors whose names contain this.
    actor: Option<String>,
    /// Only operations of this use case.
    name: Option<String>,
    /// Only operations that need this scope.
    scope: Option<Scope>,
    /// Most operations, 1 to 100; 20 if absent.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// `next` of the previous page.
    cursor: Option<String>,
}

async fn operations(asked: Asked, parameters: OperationParameters) -> Result<Page<Operation>, Refusal> {
    let OperationParameters { actor, name, scope, limit, cursor } = parameters;
    let (before, limit) = (cursor::decode(cursor.as_deref())?, cursor::limit(limit)?);
    let found = asked.answer(ListOperations { actor, name, scope, before, limit: limit + 1 }).await?;
    Ok(Page::cut(found, limit, |operation| operation.id))
}

#[derive(Deserialize, JsonSchema)]
struct StatusParameters {
    /// Most sync runs; 10 if absent.
    runs: Option<usize>,
}

async fn status(asked: Asked, parameters: StatusParameters) -> Result<SyncStatus, Refusal> {
    asked.answer(SyncStatusRequest { runs: parameters.runs.unwrap_or(DEFAULT_RUNS) }).await
}

async fn stats(asked: Asked, _: NoParameters) -> Result<Stats, Refusal> {
    asked.answer(StatsRequest {}).await
}

async fn chats(asked: Asked, parameters: PageParameters) -> Result<Page<Chat>, Refusal> {
    let (before, limit) = (cursor::decode(parameters.cursor.as_deref())?, cursor::limit(parameters.limit)?);
    let found = asked.answer(ListChats { before, limit: limit + 1 }).await?;
    Ok(Page::cut(found, limit, |chat| chat.id))
}

fn no_conversation(id: i64) -> Refusal {
    Error::new(ErrorKind::NotFound, format!("there is no conversation {id}")).into()
}

async fn remove_chat(asked: Asked, Number { id }: Number, (): ()) -> Result<Reply, Refusal> {
    if !asked.answer(RemoveChat { id }).await? {
        return Err(no_conversation(id));
    }
    Reply::json(StatusCode::OK, &true)
}

#[derive(Deserialize, JsonSchema)]
struct MessageParameters {
    /// Number of the conversation.
    id: i64,
    /// Most messages, 1 to 100; 20 if absent.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// `next` of the previous page.
    cursor: Option<String>,
}

async fn messages(asked: Asked, parameters: MessageParameters) -> Result<Page<Message>, Refusal> {
    let MessageParameters { id, limit, cursor } = parameters;
    let after = cursor::decode(cursor.as_deref())?.unwrap_or_default();
    let limit = cursor::limit(limit)?;
    let found = asked.answer(ListMessages { chat: id, after, limit: limit + 1 }).await?;
    let found = found.ok_or_else(|| no_conversation(id))?;
    Ok(Page::cut(found, limit, |message| message.number))
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    /// The question, at most 2,000 characters.
    text: String,
    /// Whether a language model may word the answer, if one is configured; true if absent.
    model: Option<bool>,
}

async fn send(asked: Asked, Number { id }: Number, question: Question) -> Result<Reply, Refusal> {
    let request = SendMessage { chat: id, text: question.text, model: question.model.unwrap_or(true) };
    let accepts = asked.headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    if accepts.contains(EVENTS) {
        let events = Sse::new(tell(&asked, request).await?).keep_alive(KeepAlive::default());
        return Ok(Reply::Other(events.into_response()));
    }
    Reply::json(StatusCode::OK, &asked.answer(request).await?)
}

/// Tells statements as they are checked, then the whole message: the events `statement`, `message` and `error`.
///
/// # Errors
/// There is no such conversation, the server does not answer questions, or there is too much to do.
pub(super) async fn tell(
    asked: &Asked,
    request: SendMessage,
) -> Result<impl Stream<Item = Result<Event, Infallible>> + Send + use<>, Refusal> {
    let engine = asked.app.engine.with_caller(&asked.caller);
    engine.permit::<SendMessage>()?;
    if let Some(role) = SendMessage::ROLE {
        engine.settings().require_role(role)?;
    }
    // What can be told by the status is not told by an event.
    if engine.find_chat(request.chat).await?.is_none() {
        return Err(no_conversation(request.chat));
    }
    let turn = asked.app.api.queue().turn(SendMessage::WEIGHT).await?;
    let (telling, told) = mpsc::channel::<(Statement, Vec<Citation>)>(STATEMENTS);
    // In a task of its own: what was asked is answered and kept, also if the client goes away.
    let asking = tokio::spawn(async move {
        let _turn = turn;
        engine.send_message(request, Some(telling)).await
    });
    Ok(stream::unfold(Some((told, asking)), async |state| {
        let (mut told, asking) = state?;
        if let Some((statement, citations)) = told.recv().await {
            let data = json!({ "text": statement.text, "citations": citations });
            return Some((Ok(event("statement", &data)), Some((told, asking))));
        }
        let message = asking.await.unwrap_or_else(|error| Err(error.into()));
        let last = match message {
            Ok(message) => event("message", &json!(message)),
            Err(error) => event("error", &json!(error)),
        };
        Some((Ok(last), None))
    }))
}

fn event(name: &str, data: &serde_json::Value) -> Event {
    Event::default().event(name).data(data.to_string())
}
