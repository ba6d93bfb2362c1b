//! Visibility: a handle of the engine reads through handles of the stores with its visibility, so no use case has to
//! ask. Work on the stores always sees everything.
//!
//! The project of an item and its mark in the ledger decide; graph and index follow them. Each project has profiles of
//! the people whom it mentions, and one that no public item mentions is hidden too, which is computed after each sync from
//! what changed. What a public item lists of a hidden one is left out when it is parsed; links are read from the
//! confidential item alone. What is made of an item once for all its readers (summaries, design notes, inferred links) is
//! made of what all of them see ([`with_visibility_of_readers`]). A conversation is closed to others once a reader who
//! sees more has asked in it, or once it cites what became confidential.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use backstory_model::{
    digest::sha256,
    entity::{Item, ItemKind},
    id::ThreadId,
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

/// Returns a handle that shows what all those see who may read an issue or merge request: nothing of other projects, and
/// of a public one no internal notes. What is made of it once for all its readers is made of that.
pub(crate) fn with_visibility_of_readers(resources: &Resources, id: &ThreadId) -> Result<Resources> {
    let own = resources.visibility().within_project(&id.project);
    let readers = resources.with_visibility(own.clone().without_confidential());
    let is_public = readers.ledger().item(&id.project, id.kind.into(), &id.short())?.is_some();
    Ok(if is_public { readers } else { resources.with_visibility(own) })
}

/// Takes what the forge lists beside an item that is not seen out of one that is.
pub(crate) fn remove_hidden_references(resources: &Resources, item: &mut Item) -> Result<()> {
    if resources.visibility().shows_confidential() {
        return Ok(());
    }
    let shown = |id: &ThreadId| Ok::<_, crate::error::Error>(!resources.ledger().is_hidden(id)?);
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
    mentions.catch_up(&resources)?;
    let (public, mut inside) = (mentions.people(false), mentions.people(true));
    inside.extend(hidden.iter().map(|(project, key)| (project.as_str(), key.as_str())));
    let owned = |(project, key): &(&str, &str)| ((*project).to_owned(), (*key).to_owned());
    let wanted: BTreeSet<(String, String)> = inside.difference(&public).map(owned).collect();
    // Whoever was met since is settled by who met them.
    let changed = ledger.hide_people(&wanted, mentions.seq)?;
    tracing::debug!(changed, hidden = wanted.len(), "profiles of people whom nothing public mentions");
    Ok(())
}

/// Clears who is mentioned where; needed when what is gone leaves the log.
pub(crate) fn clear_mention_index(resources: &Resources) {
    *resources.shared.mentions.lock() = MentionIndex::default();
}

/// Keys of profiles.
type Keys = Box<[Arc<str>]>;

/// The profiles of a project, by user name, and the other way round.
#[derive(Debug, Default)]
struct Profiles {
    keys: HashMap<String, Arc<str>>,
    usernames: HashMap<Arc<str>, String>,
}

/// An object that mentions people.
#[derive(Debug)]
struct Mention {
    project: Arc<str>,
    confidential: bool,
    people: Keys,
}

/// Whom issues, merge requests and discussions mention, up to a place in the log. Reading them all takes seconds, so what
/// was read is kept.
#[derive(Debug, Default)]
pub(crate) struct MentionIndex {
    seq: u64,
    profiles: HashMap<Arc<str>, Profiles>,
    /// By a hash of what identifies each.
    objects: HashMap<[u8; 32], Mention>,
}

impl MentionIndex {
    fn catch_up(&mut self, resources: &Resources) -> Result<()> {
        if self.seq == 0 {
            for profile in resources.ledger().items_of_kind(ItemKind::Person)? {
                self.meet(resources, &profile);
            }
        }
        let met = self.read(resources)?;
        // What was read before may mention them too; where one public object does, that is enough.
        let public = self.people(false);
        if !met.iter().all(|(project, key)| public.contains(&(&**project, &**key))) {
            self.seq = 0;
            self.read(resources)?;
        }
        Ok(())
    }

    /// Reads what changed; says whose user names are new.
    fn read(&mut self, resources: &Resources) -> Result<Vec<(Arc<str>, Arc<str>)>> {
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

    /// The name of a project, which many objects share.
    fn project(&mut self, project: &str) -> Arc<str> {
        let known = self.profiles.get_key_value(project).map(|(known, _)| known.clone());
        known.unwrap_or_else(|| {
            let new: Arc<str> = project.into();
            self.profiles.insert(new.clone(), Profiles::default());
            new
        })
    }

    /// Takes a profile in; its project and key, if its user name is new.
    fn meet(&mut self, resources: &Resources, profile: &StoredItem) -> Option<(Arc<str>, Arc<str>)> {
        let (project, key): (_, Arc<str>) = (self.project(&profile.project), profile.key.as_str().into());
        let now = match &profile.payload {
            Some(_) => match parse_if_readable(resources, profile) {
                Some(Item::Person(person)) => Some(person.username),
                _ => None,
            },
            None => None,
        };
        let profiles = self.profiles.entry(project.clone()).or_default();
        if profiles.usernames.get(&key) == now.as_ref() {
            return None;
        }
        // Somebody else may have taken the name by now.
        if let Some(before) = profiles.usernames.remove(&key)
            && profiles.keys.get(&before) == Some(&key)
        {
            profiles.keys.remove(&before);
        }
        now.map(|username| {
            profiles.keys.insert(username.clone(), key.clone());
            profiles.usernames.insert(key.clone(), username);
            (project, key)
        })
    }

    fn note(&mut self, item: &StoredItem) {
        let project = self.project(&item.project);
        let known = self.profiles.get(&project);
        let mut people = BTreeSet::new();
        each_string(&json_of(item).unwrap_or_default(), &mut |text| {
            people.extend(known.and_then(|profiles| profiles.keys.get(text)).cloned());
        });
        let id = sha256(format!("{}\n{}\n{}", item.project, item.kind.as_str(), item.key).as_bytes());
        if people.is_empty() {
            self.objects.remove(&id);
        } else {
            let (confidential, people) = (item.confidential, people.into_iter().collect());
            self.objects.insert(id, Mention { project, confidential, people });
        }
    }

    /// Projects and keys of the profiles that confidential objects mention, or those that public ones do.
    fn people(&self, confidential: bool) -> BTreeSet<(&str, &str)> {
        let objects = self.objects.values().filter(|object| object.confidential == confidential);
        objects.flat_map(|object| object.people.iter().map(|key| (&*object.project, &**key))).collect()
    }
}
