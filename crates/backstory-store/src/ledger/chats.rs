//! Stored conversations; making an answer belongs to `engine::chat`.

use backstory_model::{
    alias::Aliases,
    entity::ItemKind,
    id::{ThreadId, ThreadKind},
};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    ErasureTarget, Ledger, LedgerError, forgotten,
    row::{COMPRESSOR, unpacked},
    time, to_i64,
    visibility::project_clause,
};

/// How long after it was begun a conversation in which nothing was said counts as left: its maker may be writing.
pub const ABANDONED_AFTER: SignedDuration = SignedDuration::from_hours(1);
/// The text that replaces an answer that was removed, and its question, which may quote the same.
pub const REMOVED_ANSWER_TEXT: &str = "[Removed: the answer cited something that was forgotten.]";

/// A conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Chat {
    /// Its number.
    pub id: i64,
    /// Full path of the project that it is narrowed to.
    pub project: Option<String>,
    /// When it was begun.
    pub created_at: Timestamp,
    /// Who began it, as the audit log names them; none if that is not on record.
    pub created_by: Option<String>,
    /// How many messages it has.
    pub messages: u64,
    /// Its first message; none if nothing was said yet.
    pub title: Option<String>,
}

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Who asks.
    User,
    /// Who answers.
    Assistant,
}

impl Role {
    fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A message to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// Who says it.
    pub role: Role,
    /// What, secrets replaced.
    pub text: String,
    /// Of the assistant: the whole answer, JSON.
    pub answer: Option<Vec<u8>>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number in the conversation, from 1.
    pub number: u64,
    /// Who says it.
    pub role: Role,
    /// What.
    pub text: String,
    /// Of the assistant: the whole answer, JSON.
    pub answer: Option<Vec<u8>>,
    /// When.
    pub created_at: Timestamp,
}

/// How many conversations may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatLimits {
    /// Of everybody.
    pub in_all: u64,
    /// Of one maker.
    pub of_maker: u64,
}

const CHATS: &str = "SELECT id, project, created_at, (SELECT COUNT(*) FROM messages WHERE chat = chats.id),
    (SELECT text FROM messages WHERE chat = chats.id AND number = 1), created_by FROM chats";

/// What conversations must meet to be visible: all who have asked in them saw no more, and the project is visible that
/// they are narrowed to, and a caller who sees only their own began them. `parameter` is the number of the parameter
/// that takes [`Ledger::visible_projects`]; the next one takes that caller, or null.
fn chat_clause(ledger: &Ledger, parameter: u32) -> String {
    let maker = parameter + 1;
    format!(
        "{} AND (?{maker} IS NULL OR created_by = ?{maker})
         AND (?{parameter} IS NULL OR visible_to IS NOT NULL
            AND (project IS NULL OR project IN (SELECT value FROM json_each(?{parameter})))
            AND NOT EXISTS (SELECT 1 FROM json_each(visible_to) AS asked
                            WHERE asked.value NOT IN (SELECT value FROM json_each(?{parameter}))))",
        ledger.confidential_clause()
    )
}

impl Ledger {
    /// Begins a conversation. All who may see its project and the conversations of its maker may see it until something is
    /// [asked](Self::add_messages) in it by somebody who sees more. Where there are as many as the limits allow, the
    /// oldest of the same maker in which nothing was said for [`ABANDONED_AFTER`] makes room; `None` if there is none.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn add_chat(
        &self,
        project: Option<&str>,
        created_by: &str,
        limits: ChatLimits,
        now: Timestamp,
    ) -> Result<Option<i64>, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (all, own): (i64, i64) =
            tx.query_row("SELECT COUNT(*), COUNT(*) FILTER (WHERE created_by = ?1) FROM chats", [created_by], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        // First, so that it does not get the number of the one that makes room.
        tx.execute(
            "INSERT INTO chats (project, created_at, created_by) VALUES (?1, ?2, ?3)",
            params![project, now.as_millisecond(), created_by],
        )?;
        let id = tx.last_insert_rowid();
        if all.unsigned_abs() >= limits.in_all || own.unsigned_abs() >= limits.of_maker {
            let removed = tx.execute(
                "DELETE FROM chats WHERE id = (SELECT MIN(id) FROM chats WHERE created_by = ?1 AND created_at <= ?2
                    AND NOT EXISTS (SELECT 1 FROM messages WHERE chat = chats.id))",
                params![created_by, (now - ABANDONED_AFTER).as_millisecond()],
            )?;
            if removed == 0 {
                return Ok(None);
            }
        }
        tx.commit()?;
        Ok(Some(id))
    }

    /// An issue that is known and has become confidential takes the conversations with it that cite it.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn hide_answers(&self, issue: &ThreadId) -> Result<(), LedgerError> {
        if self.item(&issue.project, ItemKind::Issue, &issue.local_reference())?.is_none() {
            return Ok(());
        }
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        hide_answers(&tx, &issue.project, &issue.local_reference())?;
        Ok(tx.commit()?)
    }

    /// The conversations, newest first, those before a number if one is given, at most `limit`.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn chats(&self, before: Option<i64>, limit: usize) -> Result<Vec<Chat>, LedgerError> {
        let connection = self.read()?;
        let visible = chat_clause(self, 2);
        let mut statement =
            connection.prepare_cached(&format!("{CHATS} WHERE id < ?4 {visible} ORDER BY id DESC LIMIT ?1"))?;
        let (projects, maker) = (self.visible_projects(), self.chats_of.as_deref());
        let bounds = params![to_i64(limit as u64), projects, maker, before.unwrap_or(i64::MAX)];
        let rows = statement.query_map(bounds, chat)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// One conversation.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn chat(&self, id: i64) -> Result<Option<Chat>, LedgerError> {
        let select = format!("{CHATS} WHERE id = ?1 {}", chat_clause(self, 2));
        let bounds = params![id, self.visible_projects(), self.chats_of.as_deref()];
        Ok(self.read()?.query_row(&select, bounds, chat).optional()?)
    }

    /// Adds messages to a conversation, all or none; says the number of the last. `None` if there is no such
    /// conversation, or it would have more than `most` messages. From then on only those may see the conversation who see
    /// at least as much as the caller: the projects, and what is confidential if there is any. Where an answer stands on something that was forgotten
    /// meanwhile, [`REMOVED_ANSWER_TEXT`] takes the place of it and its question; people who were have their aliases.
    ///
    /// # Errors
    /// Nothing is added.
    pub fn add_messages(
        &self,
        chat: i64,
        messages: &[NewMessage],
        most: u64,
        now: Timestamp,
    ) -> Result<Option<u64>, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (visible, projects) = (chat_clause(self, 2), self.visible_projects());
        let (select, maker) = (format!("SELECT 1 FROM chats WHERE id = ?1 {visible}"), self.chats_of.as_deref());
        let exists = tx.query_row(&select, params![chat, projects, maker], |_| Ok(())).optional()?.is_some();
        let last: i64 =
            tx.query_row("SELECT COALESCE(MAX(number), 0) FROM messages WHERE chat = ?1", [chat], |row| row.get(0))?;
        if !exists || last.unsigned_abs() + messages.len() as u64 > most {
            return Ok(None);
        }
        if self.visibility.shows_confidential() {
            let visible = project_clause(2);
            tx.execute(
                &format!(
                    "UPDATE chats SET confidential = 1 WHERE id = ?1
                     AND EXISTS (SELECT 1 FROM items WHERE confidential AND payload IS NOT NULL {visible})"
                ),
                params![chat, projects],
            )?;
        }
        tx.execute(
            "UPDATE chats SET visible_to = CASE WHEN ?2 IS NULL THEN NULL ELSE
                (SELECT json_group_array(value) FROM
                    (SELECT value FROM json_each(visible_to) UNION SELECT value FROM json_each(?2))) END
             WHERE id = ?1 AND visible_to IS NOT NULL",
            params![chat, projects],
        )?;
        let mut number = last;
        for message in without_forgotten(&tx, messages, &self.aliases())? {
            number += 1;
            let packed = message.answer.as_ref().map(|json| COMPRESSOR.with_borrow_mut(|packer| packer.compress(json)));
            let packed = packed.transpose().map_err(|error| damaged(chat, &error))?;
            tx.execute(
                "INSERT INTO messages (chat, number, role, text, answer, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![chat, number, message.role.as_str(), message.text, packed, now.as_millisecond()],
            )?;
        }
        tx.commit()?;
        Ok(Some(number.unsigned_abs()))
    }

    /// The messages of a conversation in order, those after number `after`, at most `limit`.
    ///
    /// # Errors
    /// An answer is damaged, or SQLite refused.
    pub fn messages(&self, chat: i64, after: u64, limit: usize) -> Result<Vec<Message>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT number, role, text, answer, created_at FROM messages WHERE chat = ?1 AND number > ?2
             AND chat IN (SELECT id FROM chats WHERE id = ?1 {}) ORDER BY number LIMIT ?3",
            chat_clause(self, 4)
        ))?;
        let (projects, maker) = (self.visible_projects(), self.chats_of.as_deref());
        let bounds = params![chat, to_i64(after), to_i64(limit as u64), projects, maker];
        let rows = statement.query_map(bounds, message)?;
        let unpack = |mut message: Message| {
            if let Some(packed) = &message.answer {
                let json = unpacked(packed).map_err(|error| damaged(chat, &error))?;
                message.answer = Some(json);
            }
            Ok(message)
        };
        rows.map(|row| unpack(row?)).collect()
    }

    /// Forgets a conversation; says whether it was there.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn remove_chat(&self, id: i64) -> Result<bool, LedgerError> {
        let delete = format!("DELETE FROM chats WHERE id = ?1 {}", chat_clause(self, 2));
        Ok(self.write()?.execute(&delete, params![id, self.visible_projects(), self.chats_of.as_deref()])? > 0)
    }
}

/// Messages as they are stored: without the answers that cite something that was forgotten, and their questions, and
/// with aliases for people who were.
fn without_forgotten(
    tx: &Transaction<'_>,
    messages: &[NewMessage],
    aliases: &Aliases,
) -> Result<Vec<NewMessage>, LedgerError> {
    let (subjects, mut kept) = (forgotten::forgotten_targets(tx)?, messages.to_vec());
    for at in 0..kept.len() {
        let Some(json) = &kept[at].answer else { continue };
        let mut answer: Value = serde_json::from_slice(json).unwrap_or_default();
        if subjects.iter().any(|subject| cites(&answer, subject)) {
            kept[at] = NewMessage { text: REMOVED_ANSWER_TEXT.to_owned(), answer: None, ..kept[at] };
            if let Some(question) = kept[..at].last_mut().filter(|before| before.role == Role::User) {
                question.text = REMOVED_ANSWER_TEXT.to_owned();
            }
        } else if aliases.replace(&mut answer) > 0 {
            kept[at].answer = Some(answer.to_string().into_bytes());
        }
    }
    for message in &mut kept {
        if let Some(text) = aliases.replace_text(&message.text) {
            message.text = text;
        }
    }
    Ok(kept)
}

/// Gives people their aliases in everything that was said; says how many messages changed.
pub(super) fn rewrite(tx: &Transaction<'_>, aliases: &Aliases) -> Result<u64, LedgerError> {
    let mut statement = tx.prepare("SELECT chat, number, text, answer FROM messages")?;
    let mut rows = statement.query([])?;
    let mut changed = Vec::new();
    while let Some(row) = rows.next()? {
        let (chat, number, text): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let packed: Option<Vec<u8>> = row.get(3)?;
        let mut answer = match &packed {
            Some(packed) => {
                let json = unpacked(packed).map_err(|error| damaged(chat, &error))?;
                serde_json::from_slice(&json).unwrap_or_default()
            }
            None => Value::Null,
        };
        let (in_answer, new) = (aliases.replace(&mut answer), aliases.replace_text(&text));
        if in_answer > 0 || new.is_some() {
            let answer = packed.map(|_| answer.to_string().into_bytes());
            changed.push((chat, number, new.unwrap_or(text), answer));
        }
    }
    let count = changed.len() as u64;
    for (chat, number, text, answer) in changed {
        let packed = answer.map(|json| COMPRESSOR.with_borrow_mut(|packer| packer.compress(&json)));
        let packed = packed.transpose().map_err(|error| damaged(chat, &error))?;
        tx.execute(
            "UPDATE messages SET text = ?3, answer = ?4 WHERE chat = ?1 AND number = ?2",
            params![chat, number, text, packed],
        )?;
    }
    Ok(count)
}

fn damaged(chat: i64, error: &std::io::Error) -> LedgerError {
    LedgerError::Payload { item: format!("chat {chat}"), reason: error.to_string() }
}

fn chat(row: &Row<'_>) -> rusqlite::Result<Chat> {
    Ok(Chat {
        id: row.get(0)?,
        project: row.get(1)?,
        created_at: time(row.get(2)?),
        messages: row.get::<_, i64>(3)?.unsigned_abs(),
        title: row.get(4)?,
        created_by: row.get(5)?,
    })
}

fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        number: row.get::<_, i64>(0)?.unsigned_abs(),
        role: if row.get::<_, String>(1)? == Role::User.as_str() { Role::User } else { Role::Assistant },
        text: row.get(2)?,
        answer: row.get(3)?,
        created_at: time(row.get(4)?),
    })
}

/// Conversation and number of the answers that cite a subject.
fn answers_citing(tx: &Transaction<'_>, subject: &ErasureTarget) -> Result<Vec<(i64, i64)>, LedgerError> {
    let mut concerned = Vec::new();
    let mut statement = tx.prepare("SELECT chat, number, answer FROM messages WHERE answer IS NOT NULL")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let answer = unpacked(row.get_ref(2)?.as_bytes().unwrap_or_default());
        let answer = answer.ok().and_then(|json| serde_json::from_slice::<Value>(&json).ok());
        // What cannot be read may cite it too.
        if answer.is_none_or(|answer| cites(&answer, subject)) {
            concerned.push((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        }
    }
    Ok(concerned)
}

/// Removes the answers that cite a subject; a sentence replaces them.
pub(super) fn remove_answers(tx: &Transaction<'_>, subject: &ErasureTarget) -> Result<u64, LedgerError> {
    let concerned = answers_citing(tx, subject)?;
    for (chat, number) in &concerned {
        tx.execute(
            "UPDATE messages SET text = ?4, answer = NULL
             WHERE chat = ?1 AND (number = ?2 OR number = ?3 AND role = 'user')",
            params![chat, number, number - 1, REMOVED_ANSWER_TEXT],
        )?;
    }
    Ok(concerned.len() as u64)
}

/// Whether an answer cites a subject.
fn cites(answer: &Value, subject: &ErasureTarget) -> bool {
    let citations = answer["citations"].as_array().into_iter().flatten().map(|citation| &citation["id"]);
    let mut references = citations.chain([&answer["standing"]["id"]]).filter_map(Value::as_str);
    references.any(|reference| subject.has(reference))
}

/// Makes the conversations confidential that cite an issue: earlier answers quote it.
pub(super) fn hide_answers(tx: &Transaction<'_>, project: &str, key: &str) -> Result<(), LedgerError> {
    let Some(iid) = key.strip_prefix(ThreadKind::Issue.sigil()).and_then(|iid| iid.parse().ok()) else {
        return Ok(());
    };
    let subject = ErasureTarget::Thread(ThreadId::issue(project, iid));
    for (chat, _) in answers_citing(tx, &subject)? {
        tx.execute("UPDATE chats SET confidential = 1 WHERE id = ?1", [chat])?;
    }
    Ok(())
}
