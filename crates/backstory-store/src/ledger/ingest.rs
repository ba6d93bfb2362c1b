//! Ingests batches of items, and marks items as deleted. All items enter the ledger here: those on the forgotten list
//! are left out, people get their aliases, and what cannot be read goes to the quarantine.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::entity::ItemKind;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use super::{
    IngestBatch, IngestCounts, Ledger, LedgerError, MAX_QUARANTINED, NewItem, NewQuarantined, RetriedItem, StoredItem,
    aliases,
    forgotten::is_blocked,
    people, quarantine, retired,
    row::{COLUMNS, raw, unpack},
    to_i64,
    write::{tombstone, upsert},
};

impl Ledger {
    /// Stores a page, what of it cannot be read, and its cursor in one transaction. An object whose payload is the stored
    /// one keeps its sequence number; so storing the same page again changes nothing. What was forgotten is left out, with the people whom
    /// nothing else names, and people who were have their aliases.
    ///
    /// # Errors
    /// Nothing of the page is stored.
    pub fn ingest(&self, page: &IngestBatch) -> Result<IngestCounts, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut changes = IngestCounts::default();
        let aliases = self.aliases();
        for item in admissible(&tx, &page.items)? {
            let item = aliases::apply_aliases(item, &aliases);
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
                retired::clear_retired(&tx, &item.project, Some(&item.key))?;
            }
        }
        apply_quarantine(&tx, page)?;
        for (project, thread) in &page.complete_threads {
            let gone = tombstone_missing_discussions(&tx, project, thread, page)?;
            if gone > 0 {
                *changes.counts.entry(ItemKind::Discussion).or_default() += gone;
            }
        }
        if let Some((project, resource, cursor)) = &page.cursor
            && !is_blocked(&tx, project, None)?
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
    pub fn tombstone(&self, items: &[(String, ItemKind, String)], at: Timestamp) -> Result<u64, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut gone = 0;
        for (project, kind, key) in items {
            gone += u64::from(tombstone(&tx, project, *kind, key, at)?);
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

fn tombstone_missing_discussions(
    tx: &Transaction<'_>,
    project: &str,
    thread: &str,
    page: &IngestBatch,
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
            gone += u64::from(tombstone(tx, project, ItemKind::Discussion, &key, page.fetched_at)?);
        }
    }
    Ok(gone)
}

/// The items of a page that may be stored: none that are on the forgotten list, and no people whom only those mention.
fn admissible<'a>(tx: &Transaction<'_>, items: &'a [NewItem]) -> Result<Vec<&'a NewItem>, LedgerError> {
    let keeps_out: bool = tx
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM forgotten WHERE kind <> 'person')")?
        .query_row([], |row| row.get(0))?;
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        if !keeps_out || !is_blocked(tx, &item.project, item.thread.as_deref())? {
            kept.push(item);
        }
    }
    if kept.len() < items.len() {
        people::drop_unreferenced_people(tx, &mut kept)?;
    }
    Ok(kept)
}

/// Moves the items of a page that cannot be read to the quarantine, and removes from it those that can be read now or
/// no longer exist.
fn apply_quarantine(tx: &Transaction<'_>, page: &IngestBatch) -> Result<(), LedgerError> {
    for retried in &page.retried {
        let (project, column, value) = match retried {
            RetriedItem::Thread(project, thread) => (project, "thread", thread.as_str()),
            RetriedItem::Kind(project, kind) => (project, "kind", kind.as_str()),
        };
        let known: Vec<(String, String)> = tx
            .prepare_cached(&format!("SELECT kind, key FROM quarantine WHERE project = ?1 AND {column} = ?2"))?
            .query_map([project.as_str(), value], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (kind, key) in known {
            let is_again =
                page.put_aside.iter().any(|of| of.project == *project && of.kind.as_str() == kind && of.key == key);
            if !is_again {
                tx.prepare_cached("DELETE FROM quarantine WHERE project = ?1 AND kind = ?2 AND key = ?3")?
                    .execute(params![project, kind, key])?;
            }
        }
    }
    for of in &page.put_aside {
        if !is_blocked(tx, &of.project, of.thread.as_deref())? {
            if of.confidential {
                hide(tx, of)?;
            }
            quarantine::put(tx, of, page.fetched_at)?;
        }
    }
    let projects: BTreeSet<&str> = page.put_aside.iter().map(|of| of.project.as_str()).collect();
    for project in projects {
        if quarantine::count(tx, project)? > MAX_QUARANTINED {
            return Err(LedgerError::Quarantine { project: project.to_owned(), most: MAX_QUARANTINED });
        }
    }
    Ok(())
}

/// Marks the stored version of an item as confidential, an issue with all its discussions: its new version is, although
/// it cannot be read.
fn hide(tx: &Transaction<'_>, of: &NewQuarantined) -> Result<(), LedgerError> {
    let is_thread = matches!(of.kind, ItemKind::Issue | ItemKind::MergeRequest);
    let stored: Vec<(StoredItem, Option<String>)> = tx
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, secrets FROM items WHERE project = ?1 AND payload IS NOT NULL AND NOT confidential
                AND (kind = ?2 AND key = ?3 OR ?4 AND thread = ?3)"
        ))?
        .query_map(params![of.project, of.kind.as_str(), of.key, is_thread], |row| {
            Ok((raw(row)?, row.get::<_, Option<String>>("secrets")?))
        })?
        .map(|row| {
            let (stored, secrets) = row?;
            Ok((unpack(stored)?, secrets))
        })
        .collect::<Result<_, LedgerError>>()?;
    for (stored, secrets) in stored {
        let StoredItem { project, kind, key, thread, updated_at, fetched_at, payload, .. } = stored;
        let secrets = secrets.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
        let payload = payload.unwrap_or_default();
        let item = NewItem { project, kind, key, thread, updated_at, secrets, confidential: true, payload };
        upsert(tx, &item, fetched_at)?;
    }
    Ok(())
}
