//! Writes one item: stores it, or marks it as deleted. What may be stored at all is decided in
//! [`ingest`](super::ingest).

use backstory_model::{digest::sha256, entity::ItemKind};
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction, params};

use super::{LedgerError, MAX_PAYLOAD, NewItem, chats, generated, quarantine, row::COMPRESSOR, versions};

/// Stores an object; says whether it is new or different.
pub(super) fn upsert(tx: &Transaction<'_>, item: &NewItem, fetched_at: Timestamp) -> Result<bool, LedgerError> {
    let name = || format!("{} {} {}", item.project, item.kind.as_str(), item.key);
    if item.payload.len() > MAX_PAYLOAD {
        return Err(LedgerError::Payload { item: name(), reason: format!("larger than {MAX_PAYLOAD} bytes") });
    }
    let hash = sha256(&item.payload);
    let updated_at = item.updated_at.map(|at| at.as_millisecond());
    // Also of what is gone: answers may still cite it.
    let before: Option<(bool, bool)> = tx
        .prepare_cached(
            "SELECT confidential, payload IS NOT NULL FROM items WHERE project = ?1 AND kind = ?2 AND key = ?3",
        )?
        .query_row(params![item.project, item.kind.as_str(), item.key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    // A public profile stays public for now; the engine decides once everything has been read.
    let is_public_person = item.kind == ItemKind::Person && before == Some((false, true));
    let confidential = item.confidential && !is_public_person;
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
        chats::hide_answers(tx, &item.project, &item.key)?;
    }
    if before == Some((!confidential, true)) {
        versions::delete_versions(tx, &item.project, item.kind, &item.key)?;
    } else {
        versions::keep_version(tx, &item.project, item.kind, &item.key)?;
    }
    if before == Some((!confidential, true)) {
        // What was generated was made of what other readers see.
        if confidential {
            // What people wrote cannot be made again, and fewer see it now.
            generated::delete_generated(tx, &item.project, item.kind, &item.key)?;
        } else {
            generated::delete_for_item(tx, &item.project, item.kind, &item.key)?;
        }
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

/// Marks an item as deleted, with what was written about it and what is in quarantine; says whether it was there.
pub(super) fn tombstone(
    tx: &Transaction<'_>,
    project: &str,
    kind: ItemKind,
    key: &str,
    at: Timestamp,
) -> Result<bool, LedgerError> {
    // What a forge deletes, or what is not kept of it any more, is in no state either; a clone has its own history.
    if kind.comes_from_git() {
        versions::keep_version(tx, project, kind, key)?;
    } else {
        versions::delete_versions(tx, project, kind, key)?;
    }
    let gone = tx
        .prepare_cached(
            "UPDATE items SET payload = NULL, hash = x'', secrets = NULL, fetched_at = ?4,
                seq = (SELECT MAX(seq) + 1 FROM items)
             WHERE project = ?1 AND kind = ?2 AND key = ?3 AND payload IS NOT NULL",
        )?
        .execute(params![project, kind.as_str(), key, at.as_millisecond()])?;
    if gone > 0 {
        generated::delete_for_item(tx, project, kind, key)?;
        quarantine::discard(tx, project, kind, key)?;
    }
    Ok(gone > 0)
}
