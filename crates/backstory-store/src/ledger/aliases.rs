//! Stores the aliases of forgotten people and applies them to what is stored and to what is ingested. How names are
//! found is in `model::alias`.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use backstory_model::{
    alias::{Aliases, PersonNames, alias_from_hash},
    entity::ItemKind,
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde_json::Value;

use super::{
    Ledger, LedgerError, NewItem, StoredItem, chats,
    erase::Erased,
    forgotten::{AuditAction, ForgottenKind, record},
    generated, operations,
    row::{COLUMNS, RawItem, raw, unpack},
    to_i64, versions,
    write::{tombstone, upsert},
};

/// Items that are rewritten at once.
const BATCH: u64 = 1000;

impl Ledger {
    /// The names that stand in place of those of people who were forgotten. Costs nothing.
    pub fn aliases(&self) -> Arc<Aliases> {
        self.aliases.read().clone()
    }

    /// Replaces a person by an alias in every payload, conversation and summary, and puts keyed hashes of all that they are
    /// called on the list, so that what is ingested later is treated the same, in one transaction. Their profile, and what commits know
    /// them by, leave marks that they are gone, for the projections. Says how much that was, and the alias: the one that
    /// they have, if some of it was on the list before.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn forget_person(
        &self,
        names: &PersonNames,
        reason: Option<&str>,
        at: Timestamp,
    ) -> Result<(Erased, String), LedgerError> {
        let mut connection = self.write()?;
        // What is replaced is overwritten; `compact` ends that.
        connection.pragma_update(None, "secure_delete", "ON")?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let hashes = names.hashes(&key(&tx)?);
        let known = hashes.iter().map(|hash| alias_in_list(&tx, hash)).collect::<Result<Vec<_>, _>>()?;
        let alias = known.into_iter().flatten().next().unwrap_or_else(|| alias_from_hash(&hashes[0]));
        for hash in &hashes {
            tx.execute(
                "INSERT INTO forgotten (kind, subject, alias, at, reason) VALUES ('person', ?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
                params![hash, alias, at.as_millisecond(), reason],
            )?;
        }
        let audit = record(&tx, &self.actor, AuditAction::Forget, (ForgottenKind::Person, &alias), reason, at)?;
        let aliases = aliases(&tx)?;
        let mut erased = Erased { audit, ..Erased::default() };
        versions::erase_all_versions(&tx)?;
        rewrite_items(&tx, &aliases, at, &mut erased)?;
        let called = [&names.id].into_iter().chain(&names.addresses).chain(&names.names);
        let called: Vec<String> = called.map(|name| name.to_lowercase()).collect();
        erased.written = generated::delete_mentioning(&tx, &called)?;
        erased.messages = chats::rewrite(&tx, &aliases)?;
        operations::forget(&tx, None)?;
        tx.execute("UPDATE deliveries SET sender = ?2 WHERE lower(sender) = lower(?1)", [&names.id, &alias])?;
        tx.commit()?;
        self.set_aliases(aliases);
        Ok((erased, alias))
    }

    /// Takes a person off the list, by what they are called, with a record of that; whether they were there.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn undo_forget_person(&self, username: &str, reason: Option<&str>, at: Timestamp) -> Result<bool, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let names = PersonNames { id: username.to_owned(), ..PersonNames::default() };
        let Some(alias) = alias_in_list(&tx, &names.hashes(&key(&tx)?)[0])? else { return Ok(false) };
        tx.execute("DELETE FROM forgotten WHERE kind = 'person' AND alias = ?1", [&alias])?;
        record(&tx, &self.actor, AuditAction::Undo, (ForgottenKind::Person, &alias), reason, at)?;
        let left = aliases(&tx)?;
        tx.commit()?;
        self.set_aliases(left);
        Ok(true)
    }

    fn set_aliases(&self, aliases: Aliases) {
        *self.aliases.write() = Arc::new(aliases);
    }
}

/// The alias that goes with a hash on the list.
fn alias_in_list(tx: &Transaction<'_>, hash: &str) -> Result<Option<String>, LedgerError> {
    let mut statement = tx.prepare_cached("SELECT alias FROM forgotten WHERE kind = 'person' AND subject = ?1")?;
    Ok(statement.query_row([hash], |row| row.get(0)).optional()?)
}

/// The random key of the hashes, made when it is first needed.
fn key(tx: &Transaction<'_>) -> Result<Vec<u8>, LedgerError> {
    tx.execute("INSERT INTO hash_key (id, value) VALUES (1, randomblob(32)) ON CONFLICT DO NOTHING", [])?;
    Ok(tx.query_row("SELECT value FROM hash_key", [], |row| row.get(0))?)
}

pub(super) fn aliases(connection: &Connection) -> Result<Aliases, LedgerError> {
    let key: Option<Vec<u8>> =
        connection.prepare_cached("SELECT value FROM hash_key")?.query_row([], |row| row.get(0)).optional()?;
    let Some(key) = key else { return Ok(Aliases::default()) };
    let mut statement = connection.prepare_cached("SELECT subject, alias FROM forgotten WHERE kind = 'person'")?;
    let by_hash = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Aliases::new(key, by_hash.collect::<Result<BTreeMap<String, String>, _>>()?))
}

/// An item with aliases for those who were forgotten.
pub(super) fn apply_aliases<'a>(item: &'a NewItem, aliases: &Aliases) -> Cow<'a, NewItem> {
    if aliases.is_empty() {
        return Cow::Borrowed(item);
    }
    let Ok(mut json) = serde_json::from_slice::<Value>(&item.payload) else { return Cow::Borrowed(item) };
    if aliases.replace_in_item(item.kind, &mut json) == 0 {
        return Cow::Borrowed(item);
    }
    let key = match (item.kind, json["id"].as_u64(), json["key"].as_str()) {
        // The key of a profile is the forge's number for the person, which is another now.
        (ItemKind::Person, Some(id), _) => {
            format!("{}{id}", item.key.trim_end_matches(|c: char| c.is_ascii_digit()))
        }
        (ItemKind::Identity, _, Some(key)) => key.to_owned(),
        _ => item.key.clone(),
    };
    Cow::Owned(NewItem { key, payload: json.to_string().into_bytes(), ..item.clone() })
}

fn rewrite_items(
    tx: &Transaction<'_>,
    aliases: &Aliases,
    at: Timestamp,
    erased: &mut Erased,
) -> Result<(), LedgerError> {
    let end: i64 = tx.query_row("SELECT COALESCE(MAX(seq), 0) FROM items", [], |row| row.get(0))?;
    let mut seq = 0;
    loop {
        let items = batch(tx, seq, end)?;
        let Some(last) = items.last() else { return Ok(()) };
        seq = to_i64(last.0.seq);
        for (stored, secrets) in items {
            let StoredItem { project, kind, key, thread, updated_at, fetched_at, confidential, payload, .. } = stored;
            let payload = payload.unwrap_or_default();
            let item = NewItem { project, kind, key, thread, updated_at, secrets, confidential, payload };
            let Cow::Owned(rewritten) = apply_aliases(&item, aliases) else { continue };
            if rewritten.key != item.key {
                tombstone(tx, &item.project, item.kind, &item.key, at)?;
                erased.people += 1;
            }
            erased.items += u64::from(upsert(tx, &rewritten, fetched_at)?);
        }
    }
}

/// How many secrets of which kind were replaced.
type Secrets = BTreeMap<String, u64>;

/// Items of a part of the log that are not gone, with how many secrets of which kind were replaced in each.
fn batch(tx: &Transaction<'_>, after: i64, end: i64) -> Result<Vec<(StoredItem, Secrets)>, LedgerError> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {}, secrets FROM items WHERE seq > ?1 AND seq <= ?2 AND payload IS NOT NULL ORDER BY seq LIMIT ?3",
        COLUMNS
    ))?;
    let rows = statement.query_map(params![after, end, to_i64(BATCH)], |row| {
        Ok::<(RawItem, Option<String>), _>((raw(row)?, row.get("secrets")?))
    })?;
    rows.map(|row| {
        let (raw, secrets) = row?;
        let secrets = secrets.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
        Ok((unpack(raw)?, secrets))
    })
    .collect()
}
