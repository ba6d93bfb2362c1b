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
    subject::{json_of, prepare_probes},
    verify::Verification,
};
use crate::{
    Engine,
    error::{Error, ErrorKind, Result},
    task::Reporter,
};

/// What is said of what stays.
const STAYS: &str = "what they wrote stays, under the alias; so do names in texts without @ or an address, names of branches, \
                     and the clones, which have what the repositories have";

impl Engine {
    /// What a person is called; just what somebody called them, if they are on the list already and not known any more.
    pub(super) async fn check_person(&self, called: &str) -> Result<PersonNames> {
        let (engine, name) = (self.clone(), called.to_owned());
        if let Some(names) = self.blocking(move || engine.names_of(&name)).await? {
            return Ok(names);
        }
        let listed = self.ledger().aliases().of(called).is_some();
        if listed && (is_username(called) || is_address(called)) {
            return Ok(PersonNames { id: called.to_owned(), ..PersonNames::default() });
        }
        let message = format!(
            "nobody is known as @{called}; write the user name that the forge has, or the address that commits have"
        );
        Err(Error::new(ErrorKind::NotFound, message))
    }

    pub(super) async fn forget_person(
        &self,
        names: PersonNames,
        reason: Option<String>,
        reporter: &Reporter,
    ) -> Result<Value> {
        let before = self.extent().await?;
        let work = Box::pin(self.replace_person(names.clone(), reason, reporter));
        let (erased, alias) = self.recorded(work).await?;
        self.with_ledger(|ledger| ledger.compact()).await?;
        let removed = self.removed(&erased, before).await?;
        reporter.phase("looking whether anything is left", None);
        let (engine, pieces) = (self.clone(), pieces(&names));
        let count = pieces.len();
        let found = self.blocking(move || engine.verify_person(&pieces)).await?;
        let told = json!({
            "subject": alias, "kind": "person", "removed": removed,
            "verified": {
                "pieces": count, "searches": 0, "statements": found.statements, "files": found.files,
                "bytes": found.bytes, "found": 0,
            },
            "also_in": [], "stays": STAYS,
        });
        // Of somebody who was forgotten before only the name is known by which they were called now.
        self.end_forget(&alias, erased.audit, removed, &found, erased.people > 0).await?;
        Ok(told)
    }

    async fn replace_person(
        &self,
        names: PersonNames,
        reason: Option<String>,
        reporter: &Reporter,
    ) -> Result<(Erased, String)> {
        reporter.phase("replacing the names in the ledger", None);
        let engine = self.clone();
        let replaced = self
            .blocking(move || {
                // A sync that was stopped may still be writing.
                let _nobody_reads = engine.reading();
                Ok(engine.ledger().forget_person(&names, reason.as_deref(), Timestamp::now())?)
            })
            .await?;
        // The texts of files come from the clones, so the ledger does not say that they are others now.
        self.reindex_files().await?;
        self.rebuild_without(None, reporter).await?;
        Ok(replaced)
    }

    /// Whether an item still names a person, and whether their nodes or references to them are left anywhere.
    fn verify_person(&self, pieces: &[String]) -> Result<Verification> {
        let aliases = self.ledger().aliases();
        let mut found = Verification::default();
        self.each_stored(|item| {
            let mut json = json_of(item).unwrap_or_default();
            if aliases.replace_in_item(item.kind, &mut json) > 0 {
                let name = if item.kind == ItemKind::Identity { "" } else { &item.key };
                found.left.push(format!("{} {} {name} of the ledger", item.project, item.kind.as_str()));
            }
        })?;
        self.scan_all_stores(&prepare_probes(pieces)?, found)
    }
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
