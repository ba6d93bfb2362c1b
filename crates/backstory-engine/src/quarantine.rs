//! Quarantine: items that a forge sent and that cannot be parsed. Nothing else waits for them, and the next sync asks
//! for them again.
//!
//! A sync quarantines an item before it is stored (`sync::batch`), with reference, field and reason, in the
//! transaction of its batch; the last good version stays in use. An item without a number cannot be identified and
//! holds the cursor of its list. What an older version stored and this one cannot parse is quarantined when a
//! projection meets it, and once for each version of the parsers when the data directory is opened. Readers of the
//! ledger pass over what cannot be parsed ([`parse_if_readable`](crate::records::parse_if_readable)), and opening the
//! engine computes nothing whose failure would keep it from opening.

use backstory_model::entity::ItemKind;
use backstory_sources::forge::{self, PARSER_VERSION};
use backstory_store::ledger::{NewQuarantined, Quarantined, StoredItem};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{error::Result, records::load_origin, resources::Resources};

/// Most items in quarantine that are named at once.
pub const MAX_NAMED: usize = 100;
/// Items that are looked at at once.
const BATCH: usize = 1000;
/// What forges send.
const OF_FORGES: [ItemKind; 8] = [
    ItemKind::Project,
    ItemKind::Person,
    ItemKind::Label,
    ItemKind::Milestone,
    ItemKind::Release,
    ItemKind::Issue,
    ItemKind::MergeRequest,
    ItemKind::Discussion,
];

/// What is in quarantine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quarantine {
    /// How many items.
    pub count: u64,
    /// The first of them, by project, kind and key.
    pub items: Vec<QuarantinedItem>,
}

/// An item that a forge sent and that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuarantinedItem {
    /// Full path of the project that it came with.
    pub project: String,
    /// What it is.
    pub kind: ItemKind,
    /// How people call it; `?` is in place of what is not known.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Path of the field that is wrong, `notes[0].created_at`; empty if it is no single one.
    pub field: String,
    /// What is wrong, without the value.
    pub reason: String,
    /// When it first could not be read.
    pub first_seen: Timestamp,
    /// When it was last tried.
    pub last_tried: Timestamp,
}

impl From<Quarantined> for QuarantinedItem {
    fn from(row: Quarantined) -> Self {
        Self {
            reference: reference(&row.of),
            project: row.of.project,
            kind: row.of.kind,
            field: row.of.field,
            reason: row.of.reason,
            first_seen: row.first_seen,
            last_tried: row.last_tried,
        }
    }
}

/// How people call something that was put aside: `acme/shop#12`, `label bug of acme/shop`.
pub fn reference(of: &NewQuarantined) -> String {
    let NewQuarantined { project, kind, key, .. } = of;
    match kind {
        ItemKind::Issue | ItemKind::MergeRequest | ItemKind::Discussion => format!("{project}{key}"),
        ItemKind::Project => project.clone(),
        kind => format!("{} {key} of {project}", kind.as_str()),
    }
}

/// What is wrong with an item that a forge sent and that is stored all the same.
fn parse_failure(resources: &Resources, stored: &StoredItem) -> Option<NewQuarantined> {
    let payload = stored.payload.as_deref().filter(|_| OF_FORGES.contains(&stored.kind))?;
    let (field, reason) = match (serde_json::from_slice(payload), load_origin(resources, &stored.project)) {
        (Err(_), _) => (String::new(), "is not JSON".to_owned()),
        // Then it is the project that must be read first.
        (_, Err(_)) => return None,
        (Ok(json), Ok(origin)) => {
            let wrong = match stored.kind {
                ItemKind::Project => forge::parse_project(origin.forge, &stored.project, &json).err()?,
                kind => forge::parse(kind, &origin, &stored.key, &json).err()?,
            };
            (wrong.field, wrong.reason)
        }
    };
    let StoredItem { project, kind, key, thread, confidential, .. } = stored.clone();
    Some(NewQuarantined { project, kind, key, thread, field, reason, confidential })
}

/// Puts aside what is stored and cannot be read.
pub(crate) fn quarantine_unreadable(resources: &Resources, stored: &[StoredItem]) -> Result<u64> {
    let faults: Vec<NewQuarantined> = stored.iter().filter_map(|stored| parse_failure(resources, stored)).collect();
    if !faults.is_empty() {
        resources.ledger().quarantine_items(&faults, Timestamp::now())?;
    }
    Ok(faults.len() as u64)
}

/// Looks, once for each version of the parsers, whether everything that is stored can be read.
pub(crate) async fn recheck_stored(resources: &Resources) -> Result<()> {
    let resources = resources.with_full_visibility();
    let found = resources.blocking(look_at_all_stored).await?;
    if found > 0 {
        resources.notice(format!(
            "{found} stored items cannot be read and are left out; 'backstory status' names them, the next sync asks \
             for them again"
        ));
    }
    Ok(())
}

fn look_at_all_stored(resources: &Resources) -> Result<u64> {
    let ledger = resources.ledger();
    if ledger.parser_version()? >= PARSER_VERSION {
        return Ok(0);
    }
    let mut found = 0;
    for (project, kind) in ledger.counts()?.into_keys().filter(|(_, kind)| OF_FORGES.contains(kind)) {
        let mut after = None;
        loop {
            let items = ledger.items_in(&project, kind, after.as_deref(), BATCH)?;
            let Some(last) = items.last() else { break };
            after = Some(last.key.clone());
            found += quarantine_unreadable(resources, &items)?;
        }
    }
    ledger.set_parser_version(PARSER_VERSION)?;
    Ok(found)
}
