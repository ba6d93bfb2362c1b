//! GraphQL types of chats and their messages. Discussions of a forge are in `conversation`.

use async_graphql::{ComplexObject, Context, Enum, ID, Result, SimpleObject, connection::Connection};
use backstory_engine::{
    chat::{CreateChat, ListChats, Message as EngineMessage, RemoveChat, SendMessage},
    ledger,
};
use futures::{Stream, stream};
use tokio::sync::mpsc;

use super::{
    answer::{Answer, Citation, Statement},
    counter::Counter,
    loaders,
    page::{self, DEFAULT_PAGE},
    project::Project,
    scalar::DateTime,
};
use crate::queue::Turn;

/// Messages of a list, unless the request says how many.
const DEFAULT_MESSAGES: usize = 50;
/// Statements that wait for a client to take them.
const WAITING: usize = 16;

/// A conversation.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct Chat {
    /// Id of the conversation, `chat/12`.
    id: ID,
    /// Number of the conversation.
    number: i64,
    /// Project that the conversation is limited to; null if it is about everything.
    project: Option<Project>,
    /// When the conversation began.
    created_at: DateTime,
    /// Who began the conversation, as the audit log names them; null if that is not on record.
    created_by: Option<String>,
    /// First message of the conversation; null if there is none yet.
    title: Option<String>,
    /// How many messages the conversation has.
    message_count: u64,
}

/// Who wrote a message of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "ledger::Role")]
pub(crate) enum Role {
    /// The person who asks.
    User,
    /// The server, which answers.
    Assistant,
}

/// A message of a conversation.
#[derive(SimpleObject)]
pub(crate) struct Message {
    /// Number of the message in the conversation, from 1.
    number: u64,
    /// Who wrote the message.
    role: Role,
    /// Text of the message; of an answer with its sources.
    text: String,
    /// The whole answer; null for a question.
    answer: Option<Answer>,
    /// When the message was written.
    created_at: DateTime,
}

/// A page of conversations.
pub(crate) type ChatConnection = Connection<String, Chat>;
/// A page of messages.
pub(crate) type MessageConnection = Connection<String, Message>;

/// A part of an answer that is being made: each statement as soon as it is certain, then the message.
#[derive(SimpleObject)]
pub(crate) struct AnswerPart {
    /// Next statement of the answer; null in the last part.
    statement: Option<Statement>,
    /// Citations of the statement.
    citations: Vec<Citation>,
    /// The whole message; null except in the last part.
    message: Option<Message>,
}

#[ComplexObject]
impl Chat {
    /// Messages of the conversation, oldest first.
    async fn messages(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Size of the page, 0 to 100.", default = 50)] first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page: the number of its last message.")] after: Option<String>,
    ) -> Result<MessageConnection> {
        let size = page::size(first, DEFAULT_MESSAGES)?;
        let number = page::number_of(after.as_deref())?.unwrap_or(0);
        let messages = loaders::engine(ctx)?.list_messages(self.number, number, size + 1).await?;
        Ok(page::forward(messages, size, after.as_deref(), |message| message.number.to_string(), Message::from))
    }
}

impl From<ledger::Chat> for Chat {
    fn from(chat: ledger::Chat) -> Self {
        Self {
            id: Counter::Chat.id(chat.id),
            project: chat.project.map(Project::new),
            created_at: chat.created_at.into(),
            created_by: chat.created_by,
            title: chat.title,
            message_count: chat.messages,
            number: chat.id,
        }
    }
}

impl From<EngineMessage> for Message {
    fn from(message: EngineMessage) -> Self {
        Self {
            number: message.number,
            role: message.role.into(),
            text: message.text,
            answer: message.answer.map(Answer::from),
            created_at: message.created_at.into(),
        }
    }
}

/// A page of the conversations, newest first.
pub(super) async fn list(ctx: &Context<'_>, first: Option<i32>, after: Option<&str>) -> Result<ChatConnection> {
    let size = page::size(first, DEFAULT_PAGE)?;
    let before = page::decode(after)?;
    let chats = loaders::engine(ctx)?.answer(ListChats { before, limit: size + 1 }).await?;
    Ok(page::forward(chats, size, after, |chat| page::encode(&chat.id), Chat::from))
}

/// One conversation.
pub(super) async fn find(ctx: &Context<'_>, id: &ID) -> Result<Option<Chat>> {
    Ok(loaders::engine(ctx)?.find_chat(Counter::Chat.number(id)?).await?.map(Chat::from))
}

/// Begins a conversation.
pub(super) async fn create(ctx: &Context<'_>, project: Option<String>) -> Result<Chat> {
    Ok(loaders::engine(ctx)?.answer(CreateChat { project }).await?.into())
}

/// Forgets a conversation.
pub(super) async fn remove(ctx: &Context<'_>, id: &ID) -> Result<bool> {
    Ok(loaders::engine(ctx)?.answer(RemoveChat { id: Counter::Chat.number(id)? }).await?)
}

/// Asks in a conversation.
pub(super) async fn send(ctx: &Context<'_>, id: &ID, text: &str, model: Option<bool>) -> Result<Message> {
    let request = SendMessage { chat: Counter::Chat.number(id)?, text: text.to_owned(), model: model.unwrap_or(true) };
    Ok(loaders::engine(ctx)?.answer(request).await?.into())
}

/// Asks in a conversation, and tells the answer as it is made.
pub(super) fn stream(
    ctx: &Context<'_>,
    id: &ID,
    text: String,
    model: Option<bool>,
    turn: Turn,
) -> Result<impl Stream<Item = Result<AnswerPart>> + use<>> {
    let request = SendMessage { chat: Counter::Chat.number(id)?, text, model: model.unwrap_or(true) };
    let engine = loaders::engine(ctx)?.clone();
    let (telling, told) = mpsc::channel(WAITING);
    // In a task of its own: what was asked is answered and kept, also if the client goes away.
    let asking = tokio::spawn(async move {
        let _turn = turn;
        engine.send_message(request, Some(telling)).await
    });
    Ok(stream::unfold(Some((told, asking)), async |state| {
        let (mut told, asking) = state?;
        if let Some((statement, citations)) = told.recv().await {
            let citations = citations.into_iter().map(Citation::from).collect();
            let part = AnswerPart { statement: Some(statement.into()), citations, message: None };
            return Some((Ok(part), Some((told, asking))));
        }
        let message = asking.await.unwrap_or_else(|error| Err(error.into()));
        let part =
            message.map(|message| AnswerPart { statement: None, citations: vec![], message: Some(message.into()) });
        Some((part.map_err(Into::into), None))
    }))
}
