//! Ingests batches of items, and marks items as deleted. Everything enters the ledger here, so here is left out what
//! the forgotten list names, and people get their aliases.

use std::collections::BTreeMap;

use backstory_model::{digest::sha256, entity::ItemKind};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use super::{
    Changes, Ledger, LedgerError, MAX_PAYLOAD, NewItem, Page, aliases, erase, people, quarantine, retired,
    row::COMPRESSOR, to_i64, visibility, written,
};

impl Ledger {
    /// Stores a page, what of it cannot be read, and its cursor in one transaction. An object whose payload is the stored
    /// one keeps its sequence number; so storing the same page again changes nothing. What was forgotten is left out, with the people whom
    /// nothing else names, and people who were have their aliases.
    ///
    /// # Errors
    /// Nothing of the page is stored.
    pub fn commit(&self, page: &Page) -> Result<Changes, LedgerError> {
        let mut connection = self.lock();
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut changes = Changes::default();
        let aliases = self.aliases();
        for item in erase::admissible(&tx, &page.items)? {
            let item = aliases::aliased(item, &aliases);
            people::update_profiles(&tx, &item, page.fetched_at)?;
            let new_secrets = new_secrets(&tx, &item)?;
            if upsert(&tx, &item, page.fetched_at)? {
                *changes.counts.entry(item.kind).or_default() += 1;
                for (rule, count) in new_secrets {
                    *changes.secrets.entry(rule).or_default() += count;
                }
            }
            quarantine::release(&tx, &item.project, item.kind, &item.key)?;
            if matches!(item.kind, ItemKind::Issue | ItemKind::MergeRequest) {
                retired::forget(&tx, &item.project, Some(&item.key))?;
            }
        }
        quarantine::take_in(&tx, page)?;
        for (project, thread) in &page.complete_threads {
            let gone = bury_missing_discussions(&tx, project, thread, page)?;
            if gone > 0 {
                *changes.counts.entry(ItemKind::Discussion).or_default() += gone;
            }
        }
        if let Some((project, resource, cursor)) = &page.cursor
            && !erase::is_blocked(&tx, project, None)?
        {
            tx.prepare_cached(
                "INSERT INTO cursors (project, resource, updated_at, id) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET updated_at = excluded.updated_at, id = excluded.id, etag = NULL",
            )?
            .execute(params![
                project,
                resource.as_str(),
                cursor.updated_at.as_millisecond(),
                to_i64(cursor.id)
            ])?;
        }
        tx.commit()?;
        Ok(changes)
    }

    /// Marks objects as gone, in one transaction; says how many were there.
    ///
    /// # Errors
    /// Nothing is marked.
    pub fn bury(&self, items: &[(String, ItemKind, String)], at: Timestamp) -> Result<u64, LedgerError> {
        let mut connection = self.lock();
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut gone = 0;
        for (project, kind, key) in items {
            gone += u64::from(bury(&tx, project, *kind, key, at)?);
        }
        tx.commit()?;
        Ok(gone)
    }
}

/// The secrets of an object that it did not have as it is stored.
fn new_secrets(tx: &Transaction<'_>, item: &NewItem) -> Result<BTreeMap<String, u64>, LedgerError> {
    if item.secrets.is_empty() {
        return Ok(BTreeMap::new());
    }
    let stored: Option<Option<String>> = tx
        .prepare_cached("SELECT secrets FROM items WHERE project = ?1 AND kind = ?2 AND key = ?3")?
        .query_row(params![item.project, item.kind.as_str(), item.key], |row| row.get(0))
        .optional()?;
    let stored: BTreeMap<String, u64> =
        stored.flatten().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let more = item.secrets.iter().map(|(rule, count)| {
        let before = stored.get(rule).copied().unwrap_or(0);
        (rule.clone(), count.saturating_sub(before))
    });
    Ok(more.filter(|(_, count)| *count > 0).collect())
}

/// Stores an object; says whether it is new or different.
pub(super) fn upsert(tx: &Transaction<'_>, item: &NewItem, fetched_at: Timestamp) -> Result<bool, LedgerError> {
    let name = || format!("{} {} {}", item.project, item.kind.as_str(), item.key);
    if item.payload.len() > MAX_PAYLOAD {
        return Err(LedgerError::Payload { item: name(), reason: format!("larger than {MAX_PAYLOAD} bytes") });
    }
    let hash = sha256(&item.payload);
    let updated_at = item.updated_at.map(|at| at.as_millisecond());
    // Also of what is gone: answers may cite it still.
    let before: Option<(bool, bool)> = tx
        .prepare_cached(
            "SELECT confidential, payload IS NOT NULL FROM items WHERE project = ?1 AND kind = ?2 AND key = ?3",
        )?
        .query_row(params![item.project, item.kind.as_str(), item.key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    // A person who was met where everybody may look stays so; whether still is told when all is read.
    let is_open_person = item.kind == ItemKind::Person && before == Some((false, true));
    let confidential = item.confidential && !is_open_person;
    let unchanged = tx
        .prepare_cached(
            "UPDATE items SET fetched_at = MAX(fetched_at, ?5)
             WHERE project = ?1 AND kind = ?2 AND key = ?3 AND hash = ?4 AND confidential = ?6 AND payload IS NOT NULL",
        )?
        .execute(params![
            item.project,
            item.kind.as_str(),
            item.key,
            hash,
            fetched_at.as_millisecond(),
            confidential
        ])?;
    if unchanged > 0 {
        return Ok(false);
    }
    if confidential && before.is_some_and(|(was_confidential, _)| !was_confidential) {
        visibility::hide_answers(tx, &item.project, &item.key)?;
    }
    if before == Some((!confidential, true)) {
        // It was made of what others may see now.
        written::forget(tx, &item.project, item.kind, &item.key)?;
    }
    let secrets = (!item.secrets.is_empty()).then(|| serde_json::json!(item.secrets).to_string());
    let packed = COMPRESSOR
        .with_borrow_mut(|compressor| compressor.compress(&item.payload))
        .map_err(|error| LedgerError::Payload { item: name(), reason: error.to_string() })?;
    tx.prepare_cached(
        "INSERT INTO items (project, kind, key, thread, seq, updated_at, fetched_at, hash, secrets, payload, confidential)
         VALUES (?1, ?2, ?3, ?4, (SELECT COALESCE(MAX(seq), 0) + 1 FROM items), ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (project, kind, key) DO UPDATE SET
            thread = excluded.thread, seq = excluded.seq, updated_at = excluded.updated_at,
            fetched_at = excluded.fetched_at, hash = excluded.hash,
            secrets = excluded.secrets, payload = excluded.payload, confidential = excluded.confidential",
    )?
    .execute(params![
        item.project,
        item.kind.as_str(),
        item.key,
        item.thread,
        updated_at,
        fetched_at.as_millisecond(),
        hash,
        secrets,
        packed,
        confidential
    ])?;
    Ok(true)
}

pub(super) fn bury(
    tx: &Transaction<'_>,
    project: &str,
    kind: ItemKind,
    key: &str,
    at: Timestamp,
) -> Result<bool, LedgerError> {
    let gone = tx
        .prepare_cached(
            "UPDATE items SET payload = NULL, hash = x'', secrets = NULL, fetched_at = ?4,
                seq = (SELECT MAX(seq) + 1 FROM items)
             WHERE project = ?1 AND kind = ?2 AND key = ?3 AND payload IS NOT NULL",
        )?
        .execute(params![project, kind.as_str(), key, at.as_millisecond()])?;
    if gone > 0 {
        written::forget(tx, project, kind, key)?;
        quarantine::let_go(tx, project, kind, key)?;
    }
    Ok(gone > 0)
}

fn bury_missing_discussions(
    tx: &Transaction<'_>,
    project: &str,
    thread: &str,
    page: &Page,
) -> Result<u64, LedgerError> {
    let known: Vec<String> = tx
        .prepare_cached(
            "SELECT key FROM items INDEXED BY items_thread
             WHERE project = ?1 AND thread = ?2 AND kind = 'discussion' AND payload IS NOT NULL",
        )?
        .query_map(params![project, thread], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut gone = 0;
    for key in known {
        let is_listed =
            |item: &NewItem| item.kind == ItemKind::Discussion && item.project == project && item.key == key;
        let is_put_aside = page.put_aside.iter().any(|of| of.is(project, ItemKind::Discussion, &key));
        if !is_put_aside && !page.items.iter().any(is_listed) {
            gone += u64::from(bury(tx, project, ItemKind::Discussion, &key, page.fetched_at)?);
        }
    }
    Ok(gone)
}
