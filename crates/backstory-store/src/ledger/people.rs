//! Renames and removes people of a forge. What they wrote does not change, although the forge shows it differently.
//!
//! People are items by the forge's number, in each project that mentions them, with the same profile in all. A profile
//! that arrives with another user name renames its person wherever a payload refers to them, in the same transaction: a
//! forge shows the new name everywhere and moves no time. Profiles that no issue, merge request or discussion of their
//! project mentions any more are removed when whole lists are read. The authors of commits are in `engine::repository`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use backstory_model::{digest::sha256, entity::ItemKind};
use jiff::Timestamp;
use rusqlite::{Transaction, TransactionBehavior, params};
use serde_json::{Value, json};

use super::{
    Ledger, LedgerError, NewItem, StoredItem,
    row::{COLUMNS, raw, unpack},
    to_i64,
    write::{tombstone, upsert},
};

/// Items that are looked at together.
const BATCH: i64 = 1000;
/// Where GitLab and GitHub tell the name of a person.
const NAMES: [&str; 2] = ["username", "login"];
/// Where they tell the address of their page.
const PAGES: [&str; 2] = ["web_url", "html_url"];

impl Ledger {
    /// Marks the profiles of people as gone whom no issue, merge request or discussion of the same project mentions any
    /// more, in one transaction. Returns how many. Reads all of those.
    ///
    /// # Errors
    /// Nothing is marked.
    pub fn tombstone_unreferenced_people(&self, at: Timestamp) -> Result<u64, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut named = HashSet::new();
        for_each_thread_item(&tx, |stored, _, mut payload| {
            each_person(&mut payload, &mut |person| {
                named.insert((stored.project.clone(), identity(person)));
            });
            Ok(())
        })?;
        let mut unnamed = Vec::new();
        let profiles =
            format!("SELECT {COLUMNS} FROM items WHERE kind = ?1 AND payload IS NOT NULL ORDER BY project, key");
        for profile in tx.prepare_cached(&profiles)?.query_map([ItemKind::Person.as_str()], raw)? {
            let profile = unpack(profile?)?;
            if !named.contains(&(profile.project.clone(), identity(&read(profile.payload.as_deref())))) {
                unnamed.push(profile);
            }
        }
        for profile in &unnamed {
            tombstone(&tx, &profile.project, profile.kind, &profile.key, at)?;
        }
        tx.commit()?;
        Ok(unnamed.len() as u64)
    }
}

/// If the profile of a person comes with other content than before, gives it to all projects that mention them; and if it
/// has another name, gives them that name wherever an issue, a merge request or a discussion refers to them. Texts that
/// mention them stay, as they do at the forge.
pub(super) fn update_profiles(tx: &Transaction<'_>, profile: &NewItem, at: Timestamp) -> Result<(), LedgerError> {
    if profile.kind != ItemKind::Person {
        return Ok(());
    }
    let now = read(Some(&profile.payload));
    let others = format!(
        "SELECT {COLUMNS} FROM items INDEXED BY items_people
         WHERE kind IN ('person', 'identity') AND key = ?1 AND kind = ?2 AND hash <> ?3 ORDER BY project"
    );
    let others: Vec<_> = tx
        .prepare_cached(&others)?
        .query_map(params![profile.key, profile.kind.as_str(), sha256(&profile.payload)], raw)?
        .collect::<Result<_, _>>()?;
    let mut renamed = BTreeSet::new();
    for other in others {
        let StoredItem { project, payload, confidential, .. } = unpack(other)?;
        let before = read(payload.as_deref());
        // Another forge may have given the same number to somebody else.
        if home(&before) != home(&now) {
            continue;
        }
        let name = NAMES.into_iter().find(|name| before[*name].is_string() && before[*name] != now[*name]);
        if let Some(name) = name
            && renamed.insert(before[name].to_string())
        {
            rename(tx, name, &before, &now)?;
        }
        if project != profile.project && payload.is_some() {
            upsert(tx, &NewItem { project, confidential, ..profile.clone() }, at)?;
        }
    }
    Ok(())
}

/// Gives a person another name wherever an issue, a merge request or a discussion refers to them.
fn rename(tx: &Transaction<'_>, name: &str, before: &Value, now: &Value) -> Result<(), LedgerError> {
    let known_as = identity(before);
    for_each_thread_item(tx, |stored, secrets, mut payload| {
        let mut found = false;
        each_person(&mut payload, &mut |person| {
            if identity(person) == known_as {
                person[name] = now[name].clone();
                found = true;
            }
        });
        // Of those who approved there is only the name, in order.
        if let Some(approvers) = payload.get_mut("approved_by").and_then(Value::as_array_mut)
            && let Some(known) = approvers.iter_mut().find(|approver| **approver == before[name])
        {
            *known = now[name].clone();
            approvers.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
            found = true;
        }
        if found {
            let StoredItem { project, kind, key, thread, updated_at, fetched_at, confidential, .. } = stored;
            let payload = payload.to_string().into_bytes();
            let item = NewItem { project, kind, key, thread, updated_at, secrets, confidential, payload };
            upsert(tx, &item, fetched_at)?;
        }
        Ok(())
    })
}

/// Leaves out those people of a page whom nothing else of it names and who have no profile yet.
pub(super) fn drop_unreferenced_people(tx: &Transaction<'_>, items: &mut Vec<&NewItem>) -> Result<(), LedgerError> {
    let mut named = HashSet::new();
    for item in items.iter().filter(|item| item.kind != ItemKind::Person) {
        let mut payload = read(Some(&item.payload));
        let approvers = payload["approved_by"].as_array().into_iter().flatten();
        named.extend(approvers.filter_map(Value::as_str).map(str::to_owned));
        each_person(&mut payload, &mut |person| named.extend(identity(person).1.into_iter().flatten()));
    }
    let mut known = tx.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM items WHERE project = ?1 AND kind = ?2 AND key = ?3 AND payload IS NOT NULL)",
    )?;
    for item in std::mem::take(items) {
        let is_named = || identity(&read(Some(&item.payload))).1.iter().flatten().any(|name| named.contains(name));
        if item.kind != ItemKind::Person
            || is_named()
            || known.query_row(params![item.project, item.kind.as_str(), item.key], |row| row.get(0))?
        {
            items.push(item);
        }
    }
    Ok(())
}

/// Shows every issue, merge request and discussion, how many secrets of which kind were replaced in it, and its payload.
fn for_each_thread_item(
    tx: &Transaction<'_>,
    mut show: impl FnMut(StoredItem, BTreeMap<String, u64>, Value) -> Result<(), LedgerError>,
) -> Result<(), LedgerError> {
    let kinds = [ItemKind::Issue, ItemKind::MergeRequest, ItemKind::Discussion].map(ItemKind::as_str);
    // What is written meanwhile stands behind that.
    let end: i64 = tx.query_row("SELECT COALESCE(MAX(seq), 0) FROM items", [], |row| row.get(0))?;
    let mut seq = 0;
    loop {
        let batch: Vec<_> = tx
            .prepare_cached(&format!(
                "SELECT {COLUMNS}, secrets FROM items
                 WHERE seq > ?1 AND seq <= ?2 AND payload IS NOT NULL AND kind IN (?3, ?4, ?5) ORDER BY seq LIMIT ?6"
            ))?
            .query_map(params![seq, end, kinds[0], kinds[1], kinds[2], BATCH], |row| {
                Ok((raw(row)?, row.get::<_, Option<String>>("secrets")?))
            })?
            .collect::<Result<_, _>>()?;
        if batch.is_empty() {
            return Ok(());
        }
        for (stored, secrets) in batch {
            let stored = unpack(stored)?;
            seq = to_i64(stored.seq);
            let secrets = secrets.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
            let payload = read(stored.payload.as_deref());
            show(stored, secrets, payload)?;
        }
    }
}

/// Shows every object that is a person.
fn each_person(json: &mut Value, show: &mut impl FnMut(&mut Value)) {
    if json["id"].is_u64() && NAMES.iter().any(|name| json[*name].is_string()) {
        return show(json);
    }
    match json {
        Value::Object(map) => map.values_mut().for_each(|value| each_person(value, show)),
        Value::Array(values) => values.iter_mut().for_each(|value| each_person(value, show)),
        _ => {}
    }
}

/// A person's number and names.
fn identity(person: &Value) -> (Option<u64>, [Option<String>; 2]) {
    (person["id"].as_u64(), NAMES.map(|name| person[name].as_str().map(str::to_owned)))
}

/// Address of a person's page without their name.
fn home(profile: &Value) -> Option<&str> {
    let page = PAGES.into_iter().find_map(|page| profile[page].as_str())?;
    page.rsplit_once('/').map(|(home, _)| home)
}

fn read(payload: Option<&[u8]>) -> Value {
    payload.and_then(|payload| serde_json::from_slice(payload).ok()).unwrap_or_else(|| json!(null))
}
