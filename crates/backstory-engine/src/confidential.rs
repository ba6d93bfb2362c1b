//! Visibility: a handle of the engine reads through handles of the stores with its visibility, so no use case has to
//! ask. Work on the stores always sees everything.
//!
//! The mark of an item in the ledger decides; graph and index follow it. A person who is named by no public item is
//! hidden too, which is computed after each sync from what changed. What a public item lists of a hidden one is left
//! out when it is parsed; links are read from the confidential item alone. What is made of an item once for all its
//! readers (summaries, design notes, inferred links) is made of what all of them see ([`with_visibility_of_readers`]). Each
//! visibility has its own snapshot of the index. A conversation is closed to others once a reader who sees more has
//! asked in it, or once it cites what became confidential.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use backstory_model::{
    digest::sha256,
    entity::{Item, ItemKind},
    id::ThreadId,
    sight::Visibility,
};
use backstory_store::ledger::StoredItem;

use crate::{
    error::Result,
    forget::{each_string, json_of},
    quarantine::parse_if_readable,
    resources::Resources,
};

/// Objects that are read at once.
const BATCH: usize = 500;

/// As all those see it who may read an issue or merge request. What is made of it once is made of what this sees: of
/// an open issue without its internal notes.
pub(crate) fn with_visibility_of_readers(resources: &Resources, id: &ThreadId) -> Result<Resources> {
    let open = resources.seeing(Visibility::Open);
    let is_open = open.ledger().item(&id.project, id.kind.into(), &id.short())?.is_some();
    Ok(if is_open { open } else { resources.clone() })
}

/// Takes what the forge lists beside an item that is not seen out of one that is.
pub(crate) fn remove_hidden_references(resources: &Resources, item: &mut Item) -> Result<()> {
    if resources.sight() == Visibility::Confidential {
        return Ok(());
    }
    let shown = |id: &ThreadId| Ok::<_, crate::error::Error>(!resources.ledger().hides(id)?);
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
pub(crate) fn recompute_hidden_people(resources: &Resources) -> Result<()> {
    let resources = resources.with_full_visibility();
    let ledger = resources.ledger();
    let mut named = resources.shared.named.lock();
    let hidden = ledger.hidden_people()?;
    if hidden.is_empty() && !ledger.has_confidential()? {
        *named = Named::default();
        return Ok(());
    }
    named.catch_up(&resources)?;
    let (open, mut inside) = (named.people(false), named.people(true));
    inside.extend(hidden.iter().map(String::as_str));
    let wanted: BTreeSet<String> = inside.difference(&open).map(|key| (*key).to_owned()).collect();
    // Whoever was met since is settled by who met them.
    let changed = ledger.hide_people(&wanted, named.seq)?;
    tracing::debug!(changed, hidden = wanted.len(), "profiles of people whom nothing open names");
    Ok(())
}

/// Forgets who is named where; needed when what is gone leaves the log.
pub(crate) fn clear_mention_index(resources: &Resources) {
    *resources.shared.named.lock() = Named::default();
}

/// Keys of profiles.
type Keys = Box<[Arc<str>]>;

/// Whom issues, merge requests and discussions name, up to a place in the log. Reading them all takes seconds, so what was
/// read is kept.
#[derive(Debug, Default)]
pub(crate) struct Named {
    seq: u64,
    /// Keys of profiles by user name, and the other way round.
    keys: HashMap<String, Arc<str>>,
    usernames: HashMap<Arc<str>, String>,
    /// Of each object that names anybody whether only some may see it, and the keys of their profiles.
    objects: HashMap<[u8; 32], (bool, Keys)>,
}

impl Named {
    fn catch_up(&mut self, resources: &Resources) -> Result<()> {
        if self.seq == 0 {
            for profile in resources.ledger().items_of_kind(ItemKind::Person)? {
                self.meet(resources, &profile);
            }
        }
        let met = self.read(resources)?;
        // What was read before may name them too; where one open object does, that tells enough.
        if !met.iter().all(|key| self.people(false).contains(&**key)) {
            self.seq = 0;
            self.read(resources)?;
        }
        Ok(())
    }

    /// Reads what changed; says whose user names are new.
    fn read(&mut self, resources: &Resources) -> Result<Vec<Arc<str>>> {
        let mut met = Vec::new();
        loop {
            let changes = resources.ledger().changes_after(self.seq, BATCH)?;
            let Some(last) = changes.last() else { return Ok(met) };
            for item in &changes {
                match item.kind {
                    ItemKind::Person => met.extend(self.meet(resources, item)),
                    ItemKind::Issue | ItemKind::MergeRequest | ItemKind::Discussion => self.note(item),
                    // Others are made of what commits say.
                    _ => {}
                }
            }
            self.seq = last.seq;
        }
    }

    /// Takes a profile in; its key, if its user name is new.
    fn meet(&mut self, resources: &Resources, profile: &StoredItem) -> Option<Arc<str>> {
        let key: Arc<str> = profile.key.as_str().into();
        let now = match &profile.payload {
            Some(_) => match parse_if_readable(resources, profile) {
                Some(Item::Person(person)) => Some(person.username),
                _ => None,
            },
            None => None,
        };
        if self.usernames.get(&key) == now.as_ref() {
            return None;
        }
        // Somebody else may have taken the name by now.
        if let Some(before) = self.usernames.remove(&key)
            && self.keys.get(&before) == Some(&key)
        {
            self.keys.remove(&before);
        }
        now.map(|username| {
            self.keys.insert(username.clone(), key.clone());
            self.usernames.insert(key.clone(), username);
            key
        })
    }

    fn note(&mut self, item: &StoredItem) {
        let mut people = BTreeSet::new();
        each_string(&json_of(item).unwrap_or_default(), &mut |text| people.extend(self.keys.get(text).cloned()));
        let id = sha256(format!("{}\n{}\n{}", item.project, item.kind.as_str(), item.key).as_bytes());
        if people.is_empty() {
            self.objects.remove(&id);
        } else {
            self.objects.insert(id, (item.confidential, people.into_iter().collect()));
        }
    }

    /// Keys of the profiles that objects name which only some may see, or those which all may.
    fn people(&self, confidential: bool) -> BTreeSet<&str> {
        let objects = self.objects.values().filter(|(is_confidential, _)| *is_confidential == confidential);
        objects.flat_map(|(_, people)| people.iter().map(|key| &**key)).collect()
    }
}
