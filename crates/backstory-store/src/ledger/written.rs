//! Generated texts other than answers, and the tokens that were used each day.

use backstory_model::{alias::Aliases, entity::ItemKind, id::NodeId, written::GeneratedKind};
use jiff::{Timestamp, civil::Date};
use rusqlite::{OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde_json::Value;

use super::{Ledger, LedgerError, forgotten, time, to_i64};

/// Days whose tokens stay on record.
const KEPT_DAYS: usize = 400;

/// A text that a language model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// What it is: `summary`, or the name of a [`GeneratedKind`](backstory_model::written::WrittenKind).
    pub kind: String,
    /// Reference of the item it is about.
    pub subject: String,
    /// Provider and model: `ollama:llama3.2`.
    pub model: String,
    /// Version of the prompt.
    pub prompt: u32,
    /// SHA-256 of what the model was given.
    pub input: [u8; 32],
    /// The text.
    pub text: String,
    /// When it was written.
    pub written_at: Timestamp,
}

fn read(kind: &str, subject: String, row: &Row<'_>) -> rusqlite::Result<Written> {
    Ok(Written {
        kind: kind.to_owned(),
        subject,
        model: row.get(0)?,
        prompt: row.get(1)?,
        input: row.get(2)?,
        text: row.get(3)?,
        written_at: time(row.get(4)?),
    })
}

/// Forgets what was written about an item that is gone.
pub(super) fn forget(tx: &Transaction<'_>, project: &str, kind: ItemKind, key: &str) -> Result<(), LedgerError> {
    let subject = match kind {
        ItemKind::Issue | ItemKind::MergeRequest => format!("{project}{key}"),
        ItemKind::Commit => NodeId::commit(project, key).to_string(),
        _ => return Ok(()),
    };
    // Each kind is named, so that the primary key finds the rows.
    let mut kinds = vec!["summary"];
    kinds.extend(GeneratedKind::ALL.map(GeneratedKind::as_str));
    for kind in kinds {
        tx.prepare_cached("DELETE FROM written WHERE kind = ?1 AND subject = ?2")?.execute([kind, &subject])?;
    }
    Ok(())
}

/// Removes what names somebody by one of these names in lower case, as a word of its own; says how many texts that were.
pub(super) fn delete_mentioning(tx: &Transaction<'_>, names: &[String]) -> Result<u64, LedgerError> {
    let mut naming = Vec::new();
    let mut statement = tx.prepare("SELECT kind, subject, text FROM written")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = row.get::<_, String>(2)?.to_lowercase();
        if names.iter().any(|name| has_word(&text, name)) {
            naming.push((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        }
    }
    for (kind, subject) in &naming {
        tx.execute("DELETE FROM written WHERE kind = ?1 AND subject = ?2", [kind, subject])?;
    }
    Ok(naming.len() as u64)
}

/// What was written, in words or as JSON, with aliases for those who have them; `None` if it names nobody of them.
fn aliased(aliases: &Aliases, text: &str) -> Option<String> {
    match serde_json::from_str::<Value>(text) {
        Ok(mut json) => (aliases.replace(&mut json) > 0).then(|| json.to_string()),
        Err(_) => aliases.replace_text(text),
    }
}

/// Whether a text has a word, or several, that are not part of longer ones.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !word.is_empty()
        && text
            .match_indices(word)
            .any(|(at, _)| !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next()))
}

impl Ledger {
    /// What was last written of a kind about an item that is visible.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn written(&self, kind: &str, subject: &str) -> Result<Option<Written>, LedgerError> {
        let id: Option<NodeId> = subject.parse().ok();
        if !id.as_ref().and_then(NodeId::project).is_some_and(|project| self.allows_project(project)) {
            return Ok(None);
        }
        if let Some(NodeId::Thread(id)) = id
            && self.is_hidden(&id)?
        {
            return Ok(None);
        }
        let connection = self.lock();
        let mut statement = connection.prepare_cached(
            "SELECT model, prompt, input, text, written_at FROM written WHERE kind = ?1 AND subject = ?2",
        )?;
        let row = statement.query_row(params![kind, subject], |row| read(kind, subject.to_owned(), row));
        Ok(row.optional()?)
    }

    /// What was written of a kind, also of what is not visible, ordered by what it is about, that after `after`, at most
    /// `limit`.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn list_generated(&self, kind: &str, after: &str, limit: usize) -> Result<Vec<Written>, LedgerError> {
        let connection = self.lock();
        let mut statement = connection.prepare_cached(
            "SELECT model, prompt, input, text, written_at, subject FROM written
             WHERE kind = ?1 AND subject > ?2 ORDER BY subject LIMIT ?3",
        )?;
        let rows =
            statement.query_map(params![kind, after, to_i64(limit as u64)], |row| read(kind, row.get(5)?, row))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Keeps what was written, in place of what was written before; not if it is about something that was forgotten
    /// meanwhile. People who were have their aliases.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn put_generated(&self, written: &Written) -> Result<(), LedgerError> {
        let mut connection = self.lock();
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if forgotten::listed(&tx)?.iter().any(|subject| subject.has(&written.subject)) {
            return Ok(());
        }
        let text = aliased(&self.aliases(), &written.text);
        tx.execute(
            "INSERT OR REPLACE INTO written (kind, subject, model, prompt, input, text, written_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                written.kind,
                written.subject,
                written.model,
                written.prompt,
                written.input,
                text.as_deref().unwrap_or(&written.text),
                written.written_at.as_millisecond()
            ],
        )?;
        tx.commit()?;
        Ok(())
    }

    /// Takes tokens from a day's budget, if that leaves it within `limit`; says whether it does.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn reserve_tokens(&self, day: Date, tokens: u64, limit: u64) -> Result<bool, LedgerError> {
        let mut connection = self.lock();
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let day = day.to_string();
        let used: Option<i64> =
            tx.query_row("SELECT tokens FROM model_days WHERE day = ?1", [&day], |row| row.get(0)).optional()?;
        let used = used.unwrap_or(0).unsigned_abs().saturating_add(tokens);
        if used > limit {
            return Ok(false);
        }
        tx.execute("INSERT OR REPLACE INTO model_days (day, tokens) VALUES (?1, ?2)", params![day, to_i64(used)])?;
        tx.execute(
            "DELETE FROM model_days WHERE day NOT IN (SELECT day FROM model_days ORDER BY day DESC LIMIT ?1)",
            [to_i64(KEPT_DAYS as u64)],
        )?;
        tx.commit()?;
        Ok(true)
    }

    /// Gives tokens back that were taken and not used.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn refund_tokens(&self, day: Date, tokens: u64) -> Result<(), LedgerError> {
        self.lock().execute(
            "UPDATE model_days SET tokens = MAX(0, tokens - ?2) WHERE day = ?1",
            params![day.to_string(), to_i64(tokens)],
        )?;
        Ok(())
    }

    /// Tokens that a day took.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn tokens_used_on(&self, day: Date) -> Result<u64, LedgerError> {
        let connection = self.lock();
        let tokens: Option<i64> = connection
            .query_row("SELECT tokens FROM model_days WHERE day = ?1", [day.to_string()], |row| row.get(0))
            .optional()?;
        Ok(tokens.unwrap_or(0).unsigned_abs())
    }
}
