//! Reacts to a changed visibility of a forge: confidential issues and internal notes are read, or no longer kept.

use backstory_model::entity::ItemKind;
use jiff::Timestamp;

use super::{Scope, project::ProjectSync};
use crate::{error::Result, forget::subject::people_referenced_only_by, resources::Resources};

impl ProjectSync<'_> {
    /// How much must be read so that the ledger ends with what this sync may see. Nothing tells which public items have
    /// internal notes or are linked with something confidential, so after a change of the setting everything is read.
    pub(super) async fn widen_scope_for_visibility(&mut self, scope: Scope) -> Result<Scope> {
        let (project, confidential) = (self.project.to_owned(), self.forge.reads_confidential());
        let differs = move |resources: &Resources| {
            let gone = if confidential { 0 } else { tombstone_all_confidential(resources, &project)? };
            let before = resources.ledger().is_confidential_synced(&project)?;
            if before.is_none() {
                // Should this sync be cut off, the next knows what it saw.
                resources.ledger().record_confidential_sync(&project, confidential)?;
            }
            Ok((gone, gone > 0 || before.is_some_and(|before| before != confidential)))
        };
        let (gone, differs) = self.resources.blocking(differs).await?;
        self.report.gone += gone;
        Ok(if differs { Scope::Full } else { scope })
    }

    /// Records that all was read that this sync may see.
    pub(super) async fn record_confidential_sync(&self) -> Result<()> {
        let (project, confidential) = (self.project.to_owned(), self.forge.reads_confidential());
        self.resources.with_ledger(move |ledger| ledger.record_confidential_sync(&project, confidential)).await
    }
}

/// Marks everything confidential of a project as gone, with the profiles of people whom nothing else names. Says how
/// many objects that were.
fn tombstone_all_confidential(resources: &Resources, project: &str) -> Result<u64> {
    let items = resources.ledger().confidential_items(project)?;
    if items.is_empty() {
        return Ok(0);
    }
    let people = people_referenced_only_by(resources, project, |item| item.confidential)?;
    let people = people.into_iter().map(|key| (ItemKind::Person, key));
    let gone = items.into_iter().chain(people).map(|(kind, key)| (project.to_owned(), kind, key));
    Ok(resources.ledger().tombstone(&gone.collect::<Vec<_>>(), Timestamp::now())?)
}
