//! Addresses of the tool that asks about one repository (`/repos`, `/chats`), with its names of fields.

use axum::{
    http::{Method, StatusCode, header},
    response::{IntoResponse, Sse, sse::KeepAlive},
};
use backstory_engine::{
    chat::{CreateChat, ListMessages, MAX_LISTED, MAX_MESSAGES, Message, Role, SendMessage},
    error::{Error, ErrorKind},
    ledger::JobKind,
    model::{
        access::Scope,
        answer::{Answer, Citation},
        digest::project_uuid,
        text::truncate_echo,
    },
    repository::{AddRequest, ListRepositories, RepositoryState, RepositoryStatus},
    worker::QueueJob,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    prefer,
    route::{Asked, Doc, Reply, Route, change, get},
    work::{EVENTS, tell},
};
use crate::http::Refusal;

const fn doc(summary: &'static str, scope: Scope) -> Doc {
    Doc { tag: "repository chat", summary, scope }
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        change::<_, NewRepo, Repo, _, _>(
            Method::POST,
            "/repos",
            doc("Add a repository by its address and index it", Scope::Admin),
            StatusCode::CREATED,
            add,
        )
        .with_success_statuses(&[StatusCode::OK])
        .waits(),
        get::<_, Vec<Repo>, _, _>("/repos", doc("Repositories", Scope::Read), list),
        get::<_, Repo, _, _>("/repos/{repo_id}", doc("A repository", Scope::Read), find),
        get::<_, RepoState, _, _>("/repos/{repo_id}/status", doc("How far it is indexed", Scope::Read), status),
        change::<_, NewChat, RepoChat, _, _>(
            Method::POST,
            "/chats",
            doc("Begin a conversation about a repository", Scope::Read),
            StatusCode::CREATED,
            begin,
        ),
        get::<_, Vec<ChatMessage>, _, _>(
            "/chats/{chat_id}/messages",
            doc("Messages, oldest first", Scope::Read),
            messages,
        ),
        change::<_, NewMessage, Answered, _, _>(
            Method::POST,
            "/chats/{chat_id}/messages",
            doc("Ask; with 'Accept: text/event-stream' each statement is sent as soon as it is checked", Scope::Read),
            StatusCode::OK,
            send,
        )
        .with_media_types(&[EVENTS]),
    ]
}

/// A repository.
#[derive(Debug, Serialize, JsonSchema)]
struct Repo {
    /// Its id, which follows from the full path of its project: a UUID of version 5.
    id: String,
    /// Where it is cloned from.
    url: String,
    /// How far it is.
    status: RepositoryState,
    /// The indexed commit.
    last_commit_sha: Option<String>,
    /// Why it could not be read when that was last tried.
    last_error: Option<String>,
    /// When it was added.
    created_at: Timestamp,
    /// When it was last read, or that was last tried.
    updated_at: Timestamp,
    /// Full path of its project.
    project: String,
}

/// How far a repository is.
#[derive(Debug, Serialize, JsonSchema)]
struct RepoState {
    /// How far it is.
    status: RepositoryState,
    /// The indexed commit.
    last_commit_sha: Option<String>,
    /// Why it could not be read when that was last tried.
    last_error: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct NewRepo {
    /// Address of the repository.
    url: String,
}

#[derive(Deserialize, JsonSchema)]
struct NoParameters {}

#[derive(Deserialize, JsonSchema)]
struct RepoParameter {
    /// Its id.
    repo_id: String,
}

impl From<RepositoryStatus> for Repo {
    fn from(repository: RepositoryStatus) -> Self {
        let tried = repository.synced_at.max(repository.failed_at);
        Self {
            id: project_uuid(&repository.project),
            url: repository.address,
            status: repository.state,
            last_commit_sha: repository.head.map(|head| head.to_string()),
            last_error: repository.last_error,
            created_at: repository.added_at,
            updated_at: tried.unwrap_or(repository.added_at),
            project: repository.project,
        }
    }
}

/// The repository with an id.
///
/// # Errors
/// There is none.
pub(super) async fn repository_of(asked: &Asked, id: &str) -> Result<RepositoryStatus, Refusal> {
    Ok(find_repository(&asked.answer(ListRepositories {}).await?, id)?.clone())
}

/// That of these repositories which has a name or id.
///
/// # Errors
/// None has.
pub(super) fn find_repository<'a>(known: &'a [RepositoryStatus], id: &str) -> Result<&'a RepositoryStatus, Error> {
    let found = known.iter().find(|known| known.project == id || project_uuid(&known.project) == id);
    found.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is no repository '{}'", truncate_echo(id))))
}

async fn add(asked: Asked, _: NoParameters, NewRepo { url }: NewRepo) -> Result<Reply, Refusal> {
    let known = asked.answer(ListRepositories {}).await?;
    let known = known.into_iter().find(|known| known.address == url.trim());
    let status = if known.is_some() { StatusCode::OK } else { StatusCode::CREATED };
    let repository = match known {
        // As it was added, with the branches that were chosen then.
        Some(known) => known,
        None => {
            let request = AddRequest { address: url, ..AddRequest::default() };
            asked.answer(request).await?
        }
    };
    let job = asked.answer(QueueJob { kind: JobKind::Sync, project: repository.project.clone() }).await?;
    let (_, waited) = prefer::wait_for(&asked, job).await?;
    let repository = if waited.is_some() { repository_of(&asked, &repository.project).await? } else { repository };
    Reply::waited(status, &Repo::from(repository), waited)
}

async fn list(asked: Asked, _: NoParameters) -> Result<Vec<Repo>, Refusal> {
    Ok(asked.answer(ListRepositories {}).await?.into_iter().map(Repo::from).collect())
}

async fn find(asked: Asked, parameters: RepoParameter) -> Result<Repo, Refusal> {
    Ok(repository_of(&asked, &parameters.repo_id).await?.into())
}

async fn status(asked: Asked, parameters: RepoParameter) -> Result<RepoState, Refusal> {
    let Repo { status, last_commit_sha, last_error, .. } = find(asked, parameters).await?;
    Ok(RepoState { status, last_commit_sha, last_error })
}

/// A conversation about a repository.
#[derive(Debug, Serialize, JsonSchema)]
struct RepoChat {
    /// Its id.
    id: String,
    /// Id of the repository.
    repo_id: String,
    /// When it was begun.
    created_at: Timestamp,
}

#[derive(Deserialize, JsonSchema)]
struct NewChat {
    /// Id of the repository.
    repo_id: String,
}

#[derive(Deserialize, JsonSchema)]
struct ChatParameter {
    /// Its id.
    chat_id: i64,
}

/// A message of a conversation.
#[derive(Debug, Serialize, JsonSchema)]
struct ChatMessage {
    /// Its id.
    id: String,
    /// Id of the conversation.
    chat_id: String,
    /// Who says it.
    role: Role,
    /// What.
    content: String,
    /// What an answer cites.
    sources: Vec<Source>,
    /// When.
    created_at: Timestamp,
}

/// What an answer cites.
#[derive(Debug, Serialize, JsonSchema)]
struct Source {
    /// Its reference: `acme/shop!7`, `acme/shop:src/a.rs`.
    id: String,
    /// Its title.
    title: String,
    /// Path of the file, if it is in one.
    path: Option<String>,
    /// First line in the file.
    start_line: Option<u32>,
    /// Last line in the file.
    end_line: Option<u32>,
    /// The commit at which it stands so.
    commit_sha: Option<String>,
    /// Its page.
    url: Option<String>,
    /// The passage, in its words.
    text: String,
    /// SHA-256 of the passage, by which it can be verified.
    hash: String,
}

/// An answer and what it cites.
#[derive(Debug, Serialize, JsonSchema)]
struct Answered {
    /// The answer, or the sentence that nothing was found.
    answer: String,
    /// What it cites; empty if nothing was found.
    sources: Vec<Source>,
}

#[derive(Deserialize, JsonSchema)]
struct NewMessage {
    /// The question.
    content: String,
}

impl From<Citation> for Source {
    fn from(citation: Citation) -> Self {
        Self {
            id: citation.id,
            title: citation.title,
            path: citation.path,
            start_line: citation.lines.map(|lines| lines.0),
            end_line: citation.lines.map(|lines| lines.1),
            commit_sha: citation.commit,
            url: citation.url,
            text: citation.text,
            hash: citation.hash,
        }
    }
}

fn sources(answer: Option<Answer>) -> Vec<Source> {
    answer.map(|answer| answer.citations.into_iter().map(Source::from).collect()).unwrap_or_default()
}

async fn begin(asked: Asked, _: NoParameters, NewChat { repo_id }: NewChat) -> Result<Reply, Refusal> {
    let repository = repository_of(&asked, &repo_id).await?;
    let chat = asked.answer(CreateChat { project: Some(repository.project.clone()) }).await?;
    let repo_id = project_uuid(&repository.project);
    Reply::json(StatusCode::CREATED, &RepoChat { id: chat.id.to_string(), repo_id, created_at: chat.created_at })
}

async fn messages(asked: Asked, ChatParameter { chat_id }: ChatParameter) -> Result<Vec<ChatMessage>, Refusal> {
    let mut all: Vec<ChatMessage> = Vec::new();
    let mut after = 0;
    while (all.len() as u64) < MAX_MESSAGES {
        let found = asked.answer(ListMessages { chat: chat_id, after, limit: MAX_LISTED }).await?;
        let missing = || Error::new(ErrorKind::NotFound, format!("there is no conversation {chat_id}"));
        let found = found.ok_or_else(missing)?;
        let is_last = found.len() < MAX_LISTED;
        after = found.last().map_or(after, |last| last.number);
        all.extend(found.into_iter().map(|Message { number, role, text, answer, created_at }| ChatMessage {
            id: format!("{chat_id}-{number}"),
            chat_id: chat_id.to_string(),
            role,
            content: text,
            sources: sources(answer),
            created_at,
        }));
        if is_last {
            break;
        }
    }
    Ok(all)
}

async fn send(asked: Asked, ChatParameter { chat_id }: ChatParameter, new: NewMessage) -> Result<Reply, Refusal> {
    let request = SendMessage { chat: chat_id, text: new.content, model: true };
    let accepts = asked.headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    if accepts.contains(EVENTS) {
        let events = Sse::new(tell(&asked, request).await?).keep_alive(KeepAlive::default());
        return Ok(Reply::Other(events.into_response()));
    }
    let message = asked.answer(request).await?;
    Reply::json(StatusCode::OK, &Answered { answer: message.text, sources: sources(message.answer) })
}
