//! Visibility: a handle of the engine reads through handles of the stores with its visibility, so no use case has to
//! ask. Work on the stores always sees everything.
//!
//! The project of an item and its mark in the ledger decide; graph and index follow them. Each project has profiles of
//! the people whom it mentions, and one that no public item mentions is hidden too, which is computed after each sync from
//! what changed. What a public item lists of a hidden one is left out when it is parsed; links are read from the
//! confidential item alone. What is made of an item once for all its readers (summaries, design notes, inferred links) is
//! made of what all of them see ([`with_visibility_of_readers`]). A conversation is closed to others once a reader who
//! sees more has asked in it, or once it cites what became confidential.

use std::collections::BTreeSet;

use backstory_model::{entity::Item, id::ThreadId};

use crate::{error::Result, records::parse_if_readable, resources::Resources, state::mentions::MentionIndex};

/// Returns a handle that shows what all those see who may read an issue or merge request: nothing of other projects, and
/// of a public one no internal notes. What is made of it once for all its readers is made of that.
pub(crate) fn with_visibility_of_readers(resources: &Resources, id: &ThreadId) -> Result<Resources> {
    let own = resources.visibility().within_project(&id.project);
    let readers = resources.with_visibility(own.clone().without_confidential());
    let is_public = readers.ledger().item(&id.project, id.kind.into(), &id.local_reference())?.is_some();
    Ok(if is_public { readers } else { resources.with_visibility(own) })
}

/// Hides the profiles of people whom nothing public of their project mentions, once all is read. What mentioned somebody
/// only while it was public hides them too, so that the outcome does not depend on the order in which things became known.
pub(crate) fn recompute_hidden_people(resources: &Resources) -> Result<()> {
    let resources = resources.with_full_visibility();
    let ledger = resources.ledger();
    let mut mentions = resources.shared.mentions.lock();
    let hidden = ledger.hidden_people()?;
    if hidden.is_empty() && !ledger.has_confidential()? {
        *mentions = MentionIndex::default();
        return Ok(());
    }
    mentions.catch_up(ledger, |profile| {
        profile.payload.as_ref()?;
        match parse_if_readable(&resources, profile) {
            Some(Item::Person(person)) => Some(person.username),
            _ => None,
        }
    })?;
    let (public, mut inside) = (mentions.people(false), mentions.people(true));
    inside.extend(hidden.iter().map(|(project, key)| (project.as_str(), key.as_str())));
    let owned = |(project, key): &(&str, &str)| ((*project).to_owned(), (*key).to_owned());
    let wanted: BTreeSet<(String, String)> = inside.difference(&public).map(owned).collect();
    // Profiles that were ingested since are decided by what mentioned them.
    let changed = ledger.replace_hidden_people(&wanted, mentions.seq)?;
    tracing::debug!(changed, hidden = wanted.len(), "profiles of people whom nothing public mentions");
    Ok(())
}

/// Clears who is mentioned where; needed when what is gone leaves the log.
pub(crate) fn clear_mention_index(resources: &Resources) {
    *resources.shared.mentions.lock() = MentionIndex::default();
}
