//! Texts about items: generated ones other than answers, and annotations; and the tokens that were used each day.

use backstory_model::{alias::Aliases, entity::ItemKind, generated::GeneratedKind, id::NodeId};
use jiff::{Timestamp, civil::Date};
use rusqlite::{OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde_json::{Map, Value, json};

use super::{Ledger, LedgerError, forgotten, time, to_i64};

/// Kind of the row of all annotations of a node, which people wrote: a JSON array.
const ANNOTATIONS: &str = "annotations";
/// Days whose tokens stay on record.
const KEPT_DAYS: usize = 400;

/// A text that a language model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedText {
    /// What it is: `summary`, or the name of a [`GeneratedKind`](backstory_model::generated::GeneratedKind).
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

fn read(kind: &str, subject: String, row: &Row<'_>) -> rusqlite::Result<GeneratedText> {
    Ok(GeneratedText {
        kind: kind.to_owned(),
        subject,
        model: row.get(0)?,
        prompt: row.get(1)?,
        input: row.get(2)?,
        text: row.get(3)?,
        written_at: time(row.get(4)?),
    })
}

/// Forgets what was written about an item that is gone, and about the notes or code entities in it.
pub(super) fn delete_for_item(
    tx: &Transaction<'_>,
    project: &str,
    kind: ItemKind,
    key: &str,
) -> Result<(), LedgerError> {
    delete_generated(tx, project, kind, key)?;
    let Some(subject) = subject_of(project, kind, key) else { return Ok(()) };
    tx.prepare_cached("DELETE FROM written WHERE kind = ?1 AND subject = ?2")?.execute([ANNOTATIONS, &subject])?;
    // References to what is in it begin with its own and '#', after which comes '$'. Only annotations are about these.
    tx.prepare_cached("DELETE FROM written WHERE kind = ?1 AND subject > ?2 || '#' AND subject < ?2 || '$'")?
        .execute([ANNOTATIONS, &subject])?;
    Ok(())
}

/// Forgets what language models wrote about an item; annotations stay.
pub(super) fn delete_generated(
    tx: &Transaction<'_>,
    project: &str,
    kind: ItemKind,
    key: &str,
) -> Result<(), LedgerError> {
    let Some(subject) = subject_of(project, kind, key) else { return Ok(()) };
    // Each kind is named, so that the primary key finds the rows.
    let kinds = ["summary"].into_iter().chain(GeneratedKind::ALL.map(GeneratedKind::as_str));
    for kind in kinds {
        tx.prepare_cached("DELETE FROM written WHERE kind = ?1 AND subject = ?2")?.execute([kind, &subject])?;
    }
    Ok(())
}

/// Reference of an item, if it is of a kind about which something may have been written.
fn subject_of(project: &str, kind: ItemKind, key: &str) -> Option<String> {
    match kind {
        ItemKind::Issue | ItemKind::MergeRequest | ItemKind::Discussion => Some(format!("{project}{key}")),
        ItemKind::Commit => Some(NodeId::commit(project, key).to_string()),
        ItemKind::File => Some(NodeId::file(project, key).to_string()),
        _ => None,
    }
}

/// Removes what is about somebody with one of these names in lower case, and what names them, as a word of its own; of
/// annotations only those that do. Says how many texts that were, the annotations of a node being one.
pub(super) fn delete_mentioning(tx: &Transaction<'_>, names: &[String]) -> Result<u64, LedgerError> {
    let mut changed = Vec::new();
    let mut statement = tx.prepare("SELECT kind, subject, text FROM written")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, subject, text): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if let Some(rest) = without_mentions(&kind, &subject, &text, names) {
            changed.push((kind, subject, rest));
        }
    }
    for (kind, subject, rest) in &changed {
        if rest.is_empty() {
            tx.execute("DELETE FROM written WHERE kind = ?1 AND subject = ?2", [kind, subject])?;
        } else {
            tx.execute("UPDATE written SET text = ?3 WHERE kind = ?1 AND subject = ?2", [kind, subject, rest])?;
        }
    }
    Ok(changed.len() as u64)
}

/// What remains of a text without what must go because of these names, empty if nothing does; `None` if all of it
/// stays.
fn without_mentions(kind: &str, subject: &str, text: &str, names: &[String]) -> Option<String> {
    if subject.strip_prefix('@').is_some_and(|person| names.contains(&person.to_lowercase())) {
        return Some(String::new());
    }
    if kind == ANNOTATIONS
        && let Ok(mut annotations) = serde_json::from_str::<Vec<Map<String, Value>>>(text)
    {
        let before = annotations.len();
        // The names of its fields are no words of anybody.
        annotations.retain(|annotation| !annotation.values().any(|value| mentions(value, names)));
        return match annotations.len() {
            after if after == before => None,
            0 => Some(String::new()),
            _ => Some(json!(annotations).to_string()),
        };
    }
    has_any(text, names).then(String::new)
}

/// Whether a value of an annotation mentions somebody.
fn mentions(value: &Value, names: &[String]) -> bool {
    match value {
        Value::String(text) => has_any(text, names),
        Value::Array(values) => values.iter().any(|value| mentions(value, names)),
        Value::Object(fields) => fields.iter().any(|(name, value)| has_any(name, names) || mentions(value, names)),
        _ => false,
    }
}

/// Whether a text has one of these names, in any case.
fn has_any(text: &str, names: &[String]) -> bool {
    let text = text.to_lowercase();
    names.iter().any(|name| has_word(&text, name))
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
    /// What was last written of a kind about an item that is visible. What belongs to no project, such as a person, is
    /// for those who see all projects.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn generated(&self, kind: &str, subject: &str) -> Result<Option<GeneratedText>, LedgerError> {
        let id: Option<NodeId> = subject.parse().ok();
        let is_allowed = |id: &NodeId| match id.project() {
            Some(project) => self.allows_project(project),
            None => self.allows_all_projects(),
        };
        if !id.as_ref().is_some_and(is_allowed) {
            return Ok(None);
        }
        if let Some(NodeId::Thread(id)) = id
            && self.is_hidden(&id)?
        {
            return Ok(None);
        }
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(
            "SELECT model, prompt, input, text, written_at FROM written WHERE kind = ?1 AND subject = ?2",
        )?;
        let row = statement.query_row(params![kind, subject], |row| read(kind, subject.to_owned(), row));
        Ok(row.optional()?)
    }

    /// What was written of a kind, also of what is not visible, ordered by what it is about, that after `after`, at
    /// most `limit`.
    ///
    /// # Errors
    /// SQLite refused.
    pub fn list_generated(&self, kind: &str, after: &str, limit: usize) -> Result<Vec<GeneratedText>, LedgerError> {
        let connection = self.read()?;
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
    pub fn put_generated(&self, written: &GeneratedText) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if forgotten::forgotten_targets(&tx)?.iter().any(|subject| subject.has(&written.subject)) {
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
        let mut connection = self.write()?;
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
        self.write()?.execute(
            "UPDATE model_days SET tokens = MAX(0, tokens - ?2) WHERE day = ?1",
            params![day.to_string(), to_i64(tokens)],
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use backstory_model::{alias::PersonNames, visibility::Visibility};

    use super::*;

    fn put(ledger: &Ledger, kind: &str, subject: &str, text: &str) {
        let written = GeneratedText {
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            model: "test".to_owned(),
            prompt: 1,
            input: [0; 32],
            text: text.to_owned(),
            written_at: Timestamp::UNIX_EPOCH,
        };
        ledger.put_generated(&written).unwrap();
    }

    fn text_of(ledger: &Ledger, kind: &str, subject: &str) -> Option<String> {
        ledger.generated(kind, subject).unwrap().map(|written| written.text)
    }

    #[test]
    fn annotations_that_mention_somebody_who_is_forgotten_go_and_others_stay() {
        let ledger = Ledger::in_memory().unwrap();
        let other = json!({"number": 2, "content": "Slow.", "tags": ["speed"]});
        let naming = json!({"number": 1, "content": "Asked:\nAlice."});
        put(&ledger, ANNOTATIONS, "acme/shop#1", &json!([naming, other]).to_string());
        put(&ledger, ANNOTATIONS, "acme/shop#2", &json!([naming]).to_string());
        put(&ledger, ANNOTATIONS, "acme/shop#3", &json!([other]).to_string());
        put(&ledger, ANNOTATIONS, "@Alice", &json!([other]).to_string());
        put(&ledger, ANNOTATIONS, "@alicent", &json!([other]).to_string());
        let names = PersonNames { id: "alice".to_owned(), ..PersonNames::default() };
        let (erased, _) = ledger.forget_person(&names, None, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(erased.written, 3);
        let rest = Some(json!([other]).to_string());
        for (subject, expected) in [
            ("acme/shop#1", rest.clone()),
            ("acme/shop#2", None),
            ("acme/shop#3", rest.clone()),
            ("@Alice", None),
            ("@alicent", rest),
        ] {
            assert_eq!(text_of(&ledger, ANNOTATIONS, subject), expected, "{subject}");
        }
    }

    #[test]
    fn what_is_about_a_person_is_for_those_who_see_all_projects() {
        let ledger = Ledger::in_memory().unwrap();
        put(&ledger, ANNOTATIONS, "@alice", "[]");
        assert!(text_of(&ledger, ANNOTATIONS, "@alice").is_some());
        let some = ledger.with_visibility(Visibility::of_projects(["acme/shop"]));
        assert_eq!(text_of(&some, ANNOTATIONS, "@alice"), None);
    }

    #[test]
    fn what_is_gone_takes_the_annotations_of_what_is_in_it_along() {
        let ledger = Ledger::in_memory().unwrap();
        let forget_all = |what: &[(ItemKind, &str)]| {
            let mut connection = ledger.write().unwrap();
            let tx = connection.transaction().unwrap();
            for (kind, key) in what {
                delete_for_item(&tx, "acme/shop", *kind, key).unwrap();
            }
            tx.commit().unwrap();
        };
        let gone =
            ["acme/shop#1", "acme/shop#1#note_3", "acme/shop!7~d1", "acme/shop:src/a.rs", "acme/shop:src/a.rs#login"];
        let kept = ["acme/shop#12", "acme/shop#12#note_3", "acme/shop!7", "acme/shop:src/a.rs.bak"];
        for subject in gone.iter().chain(&kept) {
            put(&ledger, ANNOTATIONS, subject, "[]");
        }
        forget_all(&[(ItemKind::Issue, "#1"), (ItemKind::Discussion, "!7~d1"), (ItemKind::File, "src/a.rs")]);
        for subject in gone {
            assert_eq!(text_of(&ledger, ANNOTATIONS, subject), None, "{subject}");
        }
        for subject in kept {
            assert!(text_of(&ledger, ANNOTATIONS, subject).is_some(), "{subject}");
        }
    }

    #[test]
    fn annotations_outlive_what_was_generated() {
        let ledger = Ledger::in_memory().unwrap();
        for kind in [ANNOTATIONS, "summary"] {
            put(&ledger, kind, "acme/shop#1", "[]");
        }
        {
            let mut connection = ledger.write().unwrap();
            let tx = connection.transaction().unwrap();
            delete_generated(&tx, "acme/shop", ItemKind::Issue, "#1").unwrap();
            tx.commit().unwrap();
        }
        assert!(text_of(&ledger, ANNOTATIONS, "acme/shop#1").is_some());
        assert_eq!(text_of(&ledger, "summary", "acme/shop#1"), None);
    }
}
