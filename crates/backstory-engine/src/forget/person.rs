//! Erasure of a person: an alias replaces their names and addresses wherever a forge names them, someone mentions them,
//! or commits say who wrote, made or reviewed them. What they wrote stays.

use backstory_model::{
    alias::PersonNames,
    entity::ItemKind,
    id::{NodeId, is_address, is_username},
};
use backstory_store::ledger::Erased;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    describe_removed, end_forget, rebuild_without, store_sizes,
    subject::prepare_probes,
    verify::{Verification, scan_all_stores},
};
use crate::{
    error::{Error, ErrorKind, Result},
    payload::json_of,
    projection::reindex_files,
    records::each_stored,
    repository::{lock_repositories, people::names_of},
    resources::Resources,
    snapshot::with_snapshot,
    task::Reporter,
};

/// What is said of what stays.
const STAYS: &str = "what they wrote stays, under the alias; so do names in texts without @ or an address, names of branches, \
                     and the clones, which have what the repositories have";

/// What a person is called; just what somebody called them, if they are on the list already and not known any more.
pub(super) async fn check_person(resources: &Resources, called: &str) -> Result<PersonNames> {
    let name = called.to_owned();
    if let Some(names) = resources.blocking(move |resources| names_of(resources, &name)).await? {
        return Ok(names);
    }
    let listed = resources.ledger().aliases().for_username(called).is_some();
    if listed && (is_username(called) || is_address(called)) {
        return Ok(PersonNames { id: called.to_owned(), ..PersonNames::default() });
    }
    Err(Error::new(ErrorKind::NotFound, format!("nobody is known as @{called}"))
        .with_hint("write the user name that the forge has, or the address that commits have"))
}

pub(super) async fn forget_person(
    resources: &Resources,
    names: PersonNames,
    reason: Option<String>,
    reporter: &Reporter,
) -> Result<Value> {
    let before = store_sizes(resources).await?;
    let work = Box::pin(replace_person(resources, names.clone(), reason, reporter));
    let (erased, alias) = with_snapshot(resources, work).await?;
    resources.with_ledger(|ledger| ledger.compact()).await?;
    let removed = describe_removed(resources, &erased, before).await?;
    reporter.phase("looking whether anything is left", None);
    let pieces = pieces(&names);
    let count = pieces.len();
    let found = resources.blocking(move |resources| verify_person(resources, &pieces)).await?;
    let told = json!({
        "subject": alias, "kind": "person", "removed": removed,
        "verified": {
            "pieces": count, "searches": 0, "statements": found.statements, "files": found.files,
            "bytes": found.bytes, "found": 0,
        },
        "also_in": [], "stays": STAYS,
    });
    // Of somebody who was forgotten before only the name is known by which they were called now.
    end_forget(resources, &alias, erased.audit, removed, &found, erased.people > 0).await?;
    Ok(told)
}

async fn replace_person(
    resources: &Resources,
    names: PersonNames,
    reason: Option<String>,
    reporter: &Reporter,
) -> Result<(Erased, String)> {
    reporter.phase("replacing the names in the ledger", None);
    let replaced = resources
        .blocking(move |resources| {
            // A sync that was stopped may still be writing.
            let _nobody_reads = lock_repositories(resources);
            Ok(resources.ledger().forget_person(&names, reason.as_deref(), Timestamp::now())?)
        })
        .await?;
    // The texts of files come from the clones, so the ledger does not say that they are others now.
    reindex_files(resources).await?;
    rebuild_without(resources, None, reporter).await?;
    Ok(replaced)
}

/// Whether an item still names a person, and whether their nodes or references to them are left anywhere.
fn verify_person(resources: &Resources, pieces: &[String]) -> Result<Verification> {
    let aliases = resources.ledger().aliases();
    let mut found = Verification::default();
    each_stored(resources, |item| {
        let mut json = json_of(item).unwrap_or_default();
        if aliases.replace_in_item(item.kind, &mut json) > 0 {
            let name = if item.kind == ItemKind::Identity { "" } else { &item.key };
            found.left.push(format!("{} {} {name} of the ledger", item.project, item.kind.as_str()));
        }
    })?;
    scan_all_stores(resources, &prepare_probes(pieces)?, found)
}

/// What names a person in payloads and in the graph.
fn pieces(names: &PersonNames) -> Vec<String> {
    let mut pieces = Vec::new();
    if is_username(&names.id) {
        pieces.extend([format!("\"username\":\"{}\"", names.id), format!("\"login\":\"{}\"", names.id)]);
    }
    for id in [&names.id].into_iter().chain(&names.addresses) {
        pieces.push(format!("<{}>", NodeId::person(id).iri()));
    }
    for address in &names.addresses {
        pieces.extend([format!("<{address}>"), format!("\"{address}\"")]);
    }
    pieces.sort_unstable();
    pieces.dedup();
    pieces
}
