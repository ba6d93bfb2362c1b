//! `chat`: asks one question after the other and keeps them.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use backstory_engine::{
    chat::{Chat, CreateChat, ListChats, ListMessages, MAX_LISTED, RemoveChat, Role, SendMessage},
    error::ErrorKind,
    sources::redact::redact,
};
use jiff::Timestamp;
use serde::Serialize;

use super::{Session, repos};
use crate::{
    client::Client,
    failure::{Failure, Result},
    output::{FAINT, STRONG, escape_terminal, minute},
};

/// Chats that are listed.
const LISTED: usize = 50;
/// Longest line that is read, in bytes.
const MAX_LINE: u64 = 64 << 10;

/// Ask one question after another, and keep the conversation
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory chat
  backstory chat --project group/project
  backstory chat --list
  backstory chat --continue 3

All projects are asked, even from within a clone; --project restricts the chat to one.
A question like \"and who wrote it?\" or \"which commit?\" is about what was asked before.
An empty line or Ctrl-D ends it.")]
pub(super) struct Args {
    /// Only about this project
    #[arg(long, value_name = "GROUP/PROJECT", conflicts_with_all = ["list", "resume", "remove"])]
    project: Option<String>,
    /// List the chats
    #[arg(long, conflicts_with_all = ["resume", "remove"])]
    list: bool,
    /// Continue a chat
    #[arg(long = "continue", value_name = "ID", conflicts_with = "remove")]
    resume: Option<u32>,
    /// Delete a chat
    #[arg(long, value_name = "ID")]
    remove: Option<u32>,
    /// Quote, even if a language model is configured
    #[arg(long)]
    no_model: bool,
    /// Print the list as JSON
    #[arg(long, requires = "list")]
    json: bool,
}

/// A chat as `--json` prints it.
#[derive(Serialize)]
struct ChatView {
    id: String,
    project: Option<String>,
    created_at: Timestamp,
    created_by: Option<String>,
    title: Option<String>,
    message_count: u64,
}

impl From<Chat> for ChatView {
    fn from(chat: Chat) -> Self {
        let Chat { id, project, created_at, created_by, messages, title } = chat;
        Self { id: id.to_string(), project, created_at, created_by, title, message_count: messages }
    }
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let before = || if args.no_model || args.list { Ok(()) } else { session.config()?.require_llm_key() };
    let client = Client::open(session, "chat", before).await?;
    if args.list {
        return list(session, &client, args.json).await;
    }
    if let Some(id) = args.remove {
        return if client.answer(RemoveChat { id: id.into() }).await? {
            Ok(session.terminal.line(format_args!("Deleted chat {id}"))?)
        } else {
            Err(absent(id))
        };
    }
    let id = match args.resume {
        Some(id) => {
            history(session, &client, id).await?;
            id.into()
        }
        None => {
            repos::require_projects(session, &client, args.project.as_slice()).await?;
            client.answer(CreateChat { project: args.project.clone() }).await?.id
        }
    };
    session.terminal.note(format_args!("this is chat {id}; 'backstory chat --continue {id}' continues it"));
    talk(session, &client, id, !args.no_model).await
}

async fn list(session: &Session, client: &Client, json: bool) -> Result<()> {
    let chats = client.answer(ListChats { before: None, limit: LISTED }).await?;
    let chats: Vec<ChatView> = chats.into_iter().map(ChatView::from).collect();
    if json {
        return Ok(session.terminal.json(&chats)?);
    }
    if chats.is_empty() {
        return Ok(session.terminal.line("There are no chats; 'backstory chat' starts one.")?);
    }
    let row = |chat: &ChatView| {
        vec![
            chat.id.clone(),
            minute(chat.created_at),
            escape_terminal(chat.created_by.as_deref().unwrap_or("–")),
            chat.message_count.to_string(),
            escape_terminal(chat.project.as_deref().unwrap_or("–")),
            session.terminal.title(chat.title.as_deref().unwrap_or("–")),
        ]
    };
    let headings = ["id", "begun", "by", "messages", "project", "first question"];
    Ok(session.terminal.table(&headings, &["id", "messages"], chats.iter().map(row).collect())?)
}

fn absent(id: u32) -> Failure {
    Failure::new(ErrorKind::NotFound, format!("there is no chat {id}; 'backstory chat --list' lists them"))
}

/// Shows what was said.
async fn history(session: &Session, client: &Client, id: u32) -> Result<()> {
    let mut after = 0;
    loop {
        let messages = client.answer(ListMessages { chat: id.into(), after, limit: MAX_LISTED }).await?;
        let messages = messages.ok_or_else(|| absent(id))?;
        let Some(last) = messages.last() else { return Ok(()) };
        after = last.number;
        for message in &messages {
            match message.role {
                Role::User => {
                    session.terminal.line(format_args!("{STRONG}> {}{STRONG:#}", escape_terminal(&message.text)))?
                }
                Role::Assistant => session.terminal.line(format_args!("\n{}\n", escape_terminal(&message.text)))?,
            }
        }
    }
}

/// Reads questions and answers them.
async fn talk(session: &Session, client: &Client, chat: i64, model: bool) -> Result<()> {
    let interactive = io::stdin().is_terminal();
    loop {
        if interactive {
            let mut out = anstream::stderr().lock();
            write!(out, "{FAINT}>{FAINT:#} ")?;
            out.flush()?;
        }
        let Some(line) = tokio::task::spawn_blocking(line).await.unwrap_or(Ok(None))? else { return Ok(()) };
        if line.is_empty() {
            return Ok(());
        }
        if !interactive {
            session.terminal.line(format_args!("{STRONG}> {}{STRONG:#}", escape_terminal(&redact(&line).0)))?;
        }
        match client.answer(SendMessage { chat, text: line, model }).await {
            Ok(message) => {
                for warning in message.answer.iter().flat_map(|answer| &answer.warnings) {
                    session.terminal.warning(escape_terminal(warning));
                }
                session.terminal.line(format_args!("\n{}\n", escape_terminal(&message.text)))?;
            }
            // A question that cannot be asked does not end the conversation of a person.
            Err(failure) if interactive && failure.message.is_some() => failure.print(&session.terminal),
            Err(failure) => return Err(failure),
        }
    }
}

/// The next line, without white space around it; `None` at the end.
fn line() -> io::Result<Option<String>> {
    let mut text = Vec::new();
    let read = io::Read::take(io::stdin().lock(), MAX_LINE).read_until(b'\n', &mut text)?;
    Ok((read > 0).then(|| String::from_utf8_lossy(&text).trim().to_owned()))
}
