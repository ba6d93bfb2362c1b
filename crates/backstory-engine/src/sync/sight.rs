//! Reacts to a changed visibility of a forge: confidential issues and internal notes are read, or no longer kept.

use backstory_model::sight::Visibility;
use jiff::Timestamp;

use super::{Scope, project::ProjectSync};
use crate::{error::Result, forget::subject::people_referenced_only_by, resources::Resources};

impl ProjectSync<'_> {
    /// How much must be read so that the ledger ends with what this sync may see. Nothing tells which open items have
    /// internal notes or are linked with something confidential, so after a change of the setting everything is read.
    pub(super) async fn widen_scope_for_visibility(&mut self, scope: Scope) -> Result<Scope> {
        let (project, sight) = (self.project.to_owned(), self.forge.sight());
        let differs = move |resources: &Resources| {
            let gone = if sight == Visibility::Open { tombstone_all_confidential(resources, &project)? } else { 0 };
            let before = resources.ledger().synced_visibility(&project)?;
            if before.is_none() {
                // Should this sync be cut off, the next knows what it saw.
                resources.ledger().note_sight(&project, sight)?;
            }
            Ok((gone, gone > 0 || before.is_some_and(|before| before != sight)))
        };
        let (gone, differs) = self.resources.blocking(differs).await?;
        self.report.gone += gone;
        Ok(if differs { Scope::Full } else { scope })
    }

    /// Records that all was read that this sync may see.
    pub(super) async fn note_sight(&self) -> Result<()> {
        let (project, sight) = (self.project.to_owned(), self.forge.sight());
        self.resources.with_ledger(move |ledger| ledger.note_sight(&project, sight)).await
    }
}

/// Marks everything confidential of a project as gone, with the profiles of people whom nothing else names. Says how
/// many objects that were.
fn tombstone_all_confidential(resources: &Resources, project: &str) -> Result<u64> {
    let items = resources.ledger().confidential_items(project)?;
    if items.is_empty() {
        return Ok(0);
    }
    let people = people_referenced_only_by(resources, |item| item.project == project && item.confidential)?;
    let people = people.into_iter().map(|key| (String::new(), backstory_model::entity::ItemKind::Person, key));
    let gone = items.into_iter().map(|(kind, key)| (project.to_owned(), kind, key)).chain(people);
    Ok(resources.ledger().bury(&gone.collect::<Vec<_>>(), Timestamp::now())?)
}
