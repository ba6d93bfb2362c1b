//! Conversations: questions and answers that are kept, where a question may continue the one before. A single answer is
//! made in [`ask`](crate::ask).

mod effects;
mod provenance;

use std::fmt::Write as _;

use backstory_model::{
    access::Actor,
    answer::{Answer, Citation, Method, Statement},
    filter::Filter,
    question::{Question, SourceQuestion},
    time::utc_date,
};
use backstory_store::ledger::{ChatLimits, Message as StoredMessage, NewMessage};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    ask::{AskRequest, StatementSender, ask_or_adopt, ask_streaming},
    catalog::check_project,
    error::{Error, ErrorKind, Result},
    resources::Resources,
    search::MAX_QUERY,
    use_case::{Scope, UseCase, Weight},
};
use effects::describe_effect;
use provenance::{SourceNote, describe_source};

pub use backstory_store::ledger::{Chat, Role};

/// Most conversations that are kept.
pub const MAX_CHATS: u64 = 10_000;
/// Most conversations that one token has begun.
pub const MAX_CHATS_OF_TOKEN: u64 = 1_000;
/// Most messages of a conversation, questions and answers together.
pub const MAX_MESSAGES: u64 = 1_000;
/// Most conversations, or messages, of one list.
pub const MAX_LISTED: usize = 200;
/// Most sources of an answer of which it is told who wrote them, or what they belong to.
const MAX_SOURCES: usize = 5;

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// Its number in the conversation, from 1.
    pub number: u64,
    /// Who says it.
    pub role: Role,
    /// What, as plain text with its sources.
    pub text: String,
    /// Of the assistant: the whole answer.
    pub answer: Option<Answer>,
    /// When.
    pub created_at: Timestamp,
}

/// Begins a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CreateChat {
    /// Full path of the project that it is limited to; everything if absent.
    pub project: Option<String>,
}

/// Lists the conversations, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListChats {
    /// Only those with a lower number.
    #[serde(default)]
    pub before: Option<i64>,
    /// Most conversations, at most 200; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

/// Lists messages of a conversation in order; null if there is no such conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListMessages {
    /// Number of the conversation.
    pub chat: i64,
    /// Only messages behind the one with this number.
    #[serde(default)]
    pub after: u64,
    /// Most messages, at most 200; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

/// Removes a conversation; answers whether it was there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemoveChat {
    /// Its number.
    pub id: i64,
}

/// Asks in a conversation, which keeps the question and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SendMessage {
    /// Number of the conversation.
    pub chat: i64,
    /// The question, at most 2,000 characters.
    pub text: String,
    /// Whether a language model may word the answer, if one is configured; true if absent.
    #[serde(default = "crate::limits::default_true")]
    pub model: bool,
}

impl UseCase for CreateChat {
    const NAME: &'static str = "create-chat";
    const REPEATABLE: bool = false;
    type Answer = Chat;

    async fn run(self, resources: &Resources) -> Result<Chat> {
        create_chat(resources, self.project).await
    }
}

impl UseCase for ListChats {
    const NAME: &'static str = "chats";
    type Answer = Vec<Chat>;

    async fn run(self, resources: &Resources) -> Result<Vec<Chat>> {
        list_chats(resources, self.before, self.limit).await
    }
}

impl UseCase for ListMessages {
    const NAME: &'static str = "messages";
    type Answer = Option<Vec<Message>>;

    async fn run(self, resources: &Resources) -> Result<Option<Vec<Message>>> {
        match find_chat(resources, self.chat).await? {
            Some(chat) => list_messages(resources, chat.id, self.after, self.limit).await.map(Some),
            None => Ok(None),
        }
    }
}

impl UseCase for RemoveChat {
    const NAME: &'static str = "remove-chat";
    const SCOPE: Scope = Scope::Admin;
    type Answer = bool;

    async fn run(self, resources: &Resources) -> Result<bool> {
        remove_chat(resources, self.id).await
    }
}

impl UseCase for SendMessage {
    const NAME: &'static str = "send-message";
    const REPEATABLE: bool = false;
    const WEIGHT: Weight = Weight::Long;
    type Answer = Message;

    async fn run(self, resources: &Resources) -> Result<Message> {
        send_message(resources, self, None).await
    }
}

impl TryFrom<StoredMessage> for Message {
    type Error = Error;

    fn try_from(message: StoredMessage) -> Result<Self> {
        let StoredMessage { number, role, text, answer, created_at } = message;
        let answer = answer.map(|json| serde_json::from_slice(&json)).transpose();
        let answer = answer.map_err(|error| Error::internal(format!("message {number} holds no answer: {error}")))?;
        Ok(Self { number, role, text, answer, created_at })
    }
}

/// Begins a conversation, about one project or everything. The oldest of the same caller in which nothing was said for
/// [`ABANDONED_AFTER`](backstory_store::ledger::ABANDONED_AFTER) makes room if there is none.
///
/// # Errors
/// The project is not known, or there are [`MAX_CHATS`] already, or [`MAX_CHATS_OF_TOKEN`] of this token.
async fn create_chat(resources: &Resources, project: Option<String>) -> Result<Chat> {
    check_project(resources, project.as_deref()).await?;
    let now = Timestamp::now();
    let of_maker = if matches!(resources.actor(), Actor::Token { .. }) { MAX_CHATS_OF_TOKEN } else { MAX_CHATS };
    let (limits, maker) = (ChatLimits { in_all: MAX_CHATS, of_maker }, resources.actor().to_string());
    let chat = resources
        .with_ledger(move |ledger| match ledger.add_chat(project.as_deref(), &maker, limits, now)? {
            Some(id) => ledger.chat(id),
            None => Ok(None),
        })
        .await?;
    chat.ok_or_else(|| {
        let message = format!("there are {MAX_CHATS} chats already, or {MAX_CHATS_OF_TOKEN} of this token");
        Error::new(ErrorKind::Conflict, message).with_hint("remove some")
    })
}

/// The conversations, newest first, those before a number if one is given, at most `limit`.
///
/// # Errors
/// The ledger cannot be read.
async fn list_chats(resources: &Resources, before: Option<i64>, limit: usize) -> Result<Vec<Chat>> {
    resources.with_ledger(move |ledger| ledger.chats(before, limit.min(MAX_LISTED))).await
}

/// One conversation.
///
/// # Errors
/// The ledger cannot be read.
pub(crate) async fn find_chat(resources: &Resources, id: i64) -> Result<Option<Chat>> {
    resources.with_ledger(move |ledger| ledger.chat(id)).await
}

/// The messages of a conversation in order, those after number `after`, at most `limit`.
///
/// # Errors
/// The ledger cannot be read.
pub(crate) async fn list_messages(resources: &Resources, chat: i64, after: u64, limit: usize) -> Result<Vec<Message>> {
    let stored = resources.with_ledger(move |ledger| ledger.messages(chat, after, limit.min(MAX_LISTED + 1))).await?;
    stored.into_iter().map(Message::try_from).collect()
}

/// Forgets a conversation; says whether it was there.
///
/// # Errors
/// The ledger cannot be written.
async fn remove_chat(resources: &Resources, id: i64) -> Result<bool> {
    resources.with_ledger(move |ledger| ledger.remove_chat(id)).await
}

/// Asks a question in a conversation and keeps it with its answer, both or, if asking fails, neither. A question
/// that does not stand alone, because it has fewer than two content words or a pronoun for what was said before, is searched for
/// together with the last one that does, whose words count less than its own. One that asks nothing but who wrote or
/// reviewed it, when, in which commit, merge request, issue, discussion or release, what it changed, or where it stands, is
/// answered from the sources of the last answer.
/// Secrets in it are replaced before anything else happens.
///
/// # Errors
/// There is no such conversation, it is full, or asking fails.
pub(crate) async fn send_message(
    resources: &Resources,
    request: SendMessage,
    telling: Option<StatementSender>,
) -> Result<Message> {
    let SendMessage { chat, text, model } = request;
    let gone = || {
        Error::new(ErrorKind::NotFound, format!("there is no chat {chat}")).with_hint("'chats' lists those there are")
    };
    let known = find_chat(resources, chat).await?.ok_or_else(gone)?;
    if known.messages + 2 > MAX_MESSAGES {
        return Err(full(chat));
    }
    if text.chars().count() > MAX_QUERY {
        return Err(Error::invalid(format!("the message is too long; at most {MAX_QUERY} characters are allowed")));
    }
    let text = resources.redactor().redact(text.trim()).0.into_owned();
    let (answer, shown) = match answer_from_sources(resources, chat, &text).await? {
        Some((answer, shown)) => {
            for (statement, citation) in answer.statements.iter().zip(&answer.citations) {
                if let Some(telling) = &telling {
                    let _ = telling.send((statement.clone(), vec![citation.clone()])).await;
                }
            }
            (answer, shown)
        }
        None => {
            let request = AskRequest {
                before: standalone_question(resources, chat, &text).await?,
                question: text.clone(),
                filter: Filter { project: known.project, ..Filter::default() },
                model,
                ranking: None,
            };
            // What was asked alone and goes on as a conversation begins it as it was answered.
            let answer = match known.messages {
                0 => ask_or_adopt(resources, request, telling).await?,
                _ => ask_streaming(resources, request, telling).await?,
            };
            let shown = format_answer(&answer);
            (answer, shown)
        }
    };
    let json = serde_json::to_vec(&answer).map_err(|error| Error::internal(format!("an answer: {error}")))?;
    let messages = [
        NewMessage { role: Role::User, text, answer: None },
        NewMessage { role: Role::Assistant, text: shown, answer: Some(json) },
    ];
    let now = Timestamp::now();
    let added = resources.with_ledger(move |ledger| ledger.add_messages(chat, &messages, MAX_MESSAGES, now)).await?;
    let number = added.ok_or_else(|| full(chat))?;
    list_messages(resources, chat, number - 1, 1).await?.pop().ok_or_else(gone)
}

/// What a question asks of the sources of the last answer, if it asks nothing else: an answer that quotes what shows it,
/// and what it says.
async fn answer_from_sources(resources: &Resources, chat: i64, text: &str) -> Result<Option<(Answer, String)>> {
    let Some(asked) = Question::asked_of_sources(text) else { return Ok(None) };
    let all = resources.with_ledger(move |ledger| ledger.messages(chat, 0, MAX_MESSAGES as usize)).await?;
    let last = all.into_iter().rev().find_map(|message| message.answer);
    let last: Option<Answer> = last.and_then(|json| serde_json::from_slice(&json).ok());
    let Some(last) = last.filter(|last| !last.citations.is_empty()) else { return Ok(None) };
    let mut notes = Vec::new();
    for cited in last.citations.iter().take(MAX_SOURCES) {
        notes.extend(match asked {
            SourceQuestion::Files | SourceQuestion::Code | SourceQuestion::Reviewer | SourceQuestion::State => {
                describe_effect(resources, cited, asked).await?
            }
            SourceQuestion::Writer
            | SourceQuestion::Commit
            | SourceQuestion::MergeRequest
            | SourceQuestion::Issue
            | SourceQuestion::Discussion
            | SourceQuestion::Release => describe_source(resources, cited, asked).await?,
        });
    }
    // Several may have written it, but a commit that is known needs no word of the others.
    if asked != SourceQuestion::Writer && notes.iter().any(|note| note.is_known) {
        notes.retain(|note| note.is_known);
    }
    let mut answer = Answer {
        question: text.to_owned(),
        answered: true,
        confidence: last.confidence,
        method: Method::Extractive,
        ..Answer::default()
    };
    let mut said = String::new();
    for SourceNote { citation, sentence, .. } in notes {
        let is_same = |known: &&Citation| (&known.id, known.bytes) == (&citation.id, citation.bytes);
        let known = answer.citations.iter().find(is_same).map(|known| known.number);
        let number = known.unwrap_or_else(|| u32::try_from(answer.citations.len() + 1).unwrap_or(u32::MAX));
        if known.is_none() {
            answer.statements.push(Statement { text: citation.text.clone(), citations: vec![number] });
            answer.citations.push(Citation { number, ..citation });
        }
        if !said.contains(&sentence) {
            let _ = writeln!(said, "{sentence} [{number}]\n");
        }
    }
    let _ = write!(said, "Sources:{}", sources(&answer));
    Ok(Some((answer, said)))
}

/// The last question that stands alone, if this one does not.
async fn standalone_question(resources: &Resources, chat: i64, text: &str) -> Result<Option<String>> {
    if Question::is_self_contained(text) {
        return Ok(None);
    }
    let all = resources.with_ledger(move |ledger| ledger.messages(chat, 0, MAX_MESSAGES as usize)).await?;
    let asked = all.into_iter().rev().filter(|message| message.role == Role::User).map(|message| message.text);
    let asked: Vec<String> = asked.collect();
    Ok(asked.iter().find(|text| Question::is_self_contained(text)).or(asked.first()).cloned())
}

fn full(chat: i64) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("chat {chat} has {MAX_MESSAGES} messages, which is the most that it can have"),
    )
    .with_hint("begin another")
}

/// An answer as plain text, with its sources.
pub fn format_answer(answer: &Answer) -> String {
    let mut text = String::new();
    if let Some(refusal) = &answer.refusal {
        text.push_str(&refusal.sentence);
        text.push_str(&format!("\n\nI {}.", refusal.searched));
        for missing in &refusal.missing {
            text.push_str(&format!("\n- {missing}"));
        }
        return text;
    }
    for statement in &answer.statements {
        let numbers: String = statement.citations.iter().map(|number| format!("[{number}]")).collect();
        let said = statement.text.trim();
        match answer.method {
            Method::Extractive => text.push_str(&format!("“{said}” {numbers}\n\n")),
            Method::Model => text.push_str(&format!("{said} {numbers} ")),
            Method::Facts => text.push_str(&format!("{said} {numbers}\n\n")),
        }
    }
    let mut text = text.trim_end().to_owned();
    if let Some(standing) = &answer.standing {
        text.push_str(&format!("\n\nWhere it stands: {}.", standing.text));
    }
    text.push_str("\n\nSources:");
    text.push_str(&sources(answer));
    text
}

/// The sources of an answer, each on a line of its own, with who wrote it and when where that is known.
fn sources(answer: &Answer) -> String {
    let mut text = String::new();
    for citation in &answer.citations {
        let _ = write!(text, "\n- {} [{}]", citation.source(), citation.number);
        match citation.display_author() {
            Some(writer) => {
                let _ = write!(text, " · {writer} · {}", utc_date(citation.at));
            }
            None if citation.path.is_some() => {
                let _ = write!(text, " · last changed {}", utc_date(citation.at));
            }
            None => {}
        }
    }
    text
}
