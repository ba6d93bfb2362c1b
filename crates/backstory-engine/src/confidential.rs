//! What only some may see. A handle of the engine reads through handles of the stores that have its sight, so whatever it
//! is asked it cannot tell more. Work on the stores always sees everything.

use std::collections::BTreeSet;

use backstory_model::{
    entity::{Item, ItemKind},
    id::ThreadId,
    sight::Sight,
};

use crate::{
    Engine,
    error::Result,
    forget::{each_string, json_of},
};

/// What kinds of objects name people: others are made of what commits say.
const NAMING: [ItemKind; 3] = [ItemKind::Issue, ItemKind::MergeRequest, ItemKind::Discussion];

impl Engine {
    /// The same engine as somebody sees it: what they do not see is to it as if it were not there.
    #[must_use]
    pub fn seeing(&self, sight: Sight) -> Self {
        Self(self.0.clone(), sight)
    }

    /// How much it sees.
    pub fn sight(&self) -> Sight {
        self.1
    }

    /// For work on the stores, whoever asked for it: the stores hold everything, so it sees everything.
    pub(crate) fn for_work(&self) -> Self {
        self.seeing(Sight::Confidential)
    }

    /// As all those see it who may read an issue or merge request. What is made of it once is made of what this sees: of
    /// an open issue without its internal notes.
    pub(crate) fn as_readers_of(&self, id: &ThreadId) -> Result<Self> {
        let open = self.seeing(Sight::Open);
        let is_open = open.ledger().item(&id.project, id.kind.into(), &id.short())?.is_some();
        Ok(if is_open { open } else { self.clone() })
    }

    /// Takes what the forge lists beside an item that is not seen out of one that is.
    pub(crate) fn leave_hidden_out(&self, item: &mut Item) -> Result<()> {
        if self.sight() == Sight::Confidential {
            return Ok(());
        }
        let shown = |id: &ThreadId| Ok::<_, crate::error::Error>(!self.ledger().hides(id)?);
        let keep = |ids: &mut Vec<ThreadId>| {
            let all = std::mem::take(ids);
            for id in all {
                if shown(&id)? {
                    ids.push(id);
                }
            }
            Ok::<_, crate::error::Error>(())
        };
        match item {
            Item::Issue(issue) => {
                keep(&mut issue.related)?;
                keep(&mut issue.closed_by_requests)?;
                for link in std::mem::take(&mut issue.links) {
                    if shown(&link.1)? {
                        issue.links.push(link);
                    }
                }
                Ok(())
            }
            Item::MergeRequest(mr) => keep(&mut mr.closes),
            _ => Ok(()),
        }
    }

    /// Hides the profiles of people whom nothing open names, once all is read. What named somebody only while it was open
    /// hides them too, so that the outcome does not depend on the order in which things became known.
    pub(crate) fn settle_people(&self) -> Result<()> {
        let engine = self.for_work();
        let ledger = engine.ledger();
        let hidden = ledger.hidden_people()?;
        if hidden.is_empty() && !ledger.has_confidential()? {
            return Ok(());
        }
        let mut people = std::collections::BTreeMap::new();
        for stored in ledger.items_of(ItemKind::Person)? {
            if let Item::Person(person) = engine.parse(&stored)? {
                people.insert(person.username, stored.key);
            }
        }
        let (mut open, mut inside) = (BTreeSet::new(), BTreeSet::new());
        engine.each_stored(|item| {
            if NAMING.contains(&item.kind) {
                let named = if item.confidential { &mut inside } else { &mut open };
                each_string(&json_of(item).unwrap_or_default(), &mut |text| named.extend(people.get(text).cloned()));
            }
        })?;
        inside.extend(hidden);
        let wanted: BTreeSet<String> = inside.difference(&open).cloned().collect();
        let changed = ledger.hide_people(&wanted)?;
        tracing::debug!(changed, hidden = wanted.len(), "profiles of people whom nothing open names");
        Ok(())
    }
}
