//! An index of who is mentioned where, from which follows which profiles are hidden.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use backstory_model::{digest::sha256, entity::ItemKind};
use backstory_store::ledger::{Ledger, StoredItem};

use crate::{
    error::Result,
    payload::{each_string, json_of},
};

/// Objects that are read at once.
const BATCH: usize = 500;

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
    pub(crate) seq: u64,
    profiles: HashMap<Arc<str>, Profiles>,
    /// By a hash of what identifies each.
    objects: HashMap<[u8; 32], Mention>,
}

impl MentionIndex {
    /// Reads what the ledger has more; `username_of` gives the user name of a profile that can be read.
    pub(crate) fn catch_up(
        &mut self,
        ledger: &Ledger,
        username_of: impl Fn(&StoredItem) -> Option<String>,
    ) -> Result<()> {
        if self.seq == 0 {
            for profile in ledger.items_of_kind(ItemKind::Person)? {
                self.meet(&profile, username_of(&profile));
            }
        }
        let met = self.read(ledger, &username_of)?;
        // What was read before may mention them too; where one public object does, that is enough.
        let public = self.people(false);
        if !met.iter().all(|(project, key)| public.contains(&(&**project, &**key))) {
            self.seq = 0;
            self.read(ledger, &username_of)?;
        }
        Ok(())
    }

    /// Reads what changed; says whose user names are new.
    fn read(
        &mut self,
        ledger: &Ledger,
        username_of: &impl Fn(&StoredItem) -> Option<String>,
    ) -> Result<Vec<(Arc<str>, Arc<str>)>> {
        let mut met = Vec::new();
        loop {
            let changes = ledger.changes_after(self.seq, BATCH)?;
            let Some(last) = changes.last() else { return Ok(met) };
            for item in &changes {
                match item.kind {
                    ItemKind::Person => met.extend(self.meet(item, username_of(item))),
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

    /// Takes a profile in with its user name now; its project and key, if that is new.
    fn meet(&mut self, profile: &StoredItem, now: Option<String>) -> Option<(Arc<str>, Arc<str>)> {
        let (project, key): (_, Arc<str>) = (self.project(&profile.project), profile.key.as_str().into());
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
    pub(crate) fn people(&self, confidential: bool) -> BTreeSet<(&str, &str)> {
        let objects = self.objects.values().filter(|object| object.confidential == confidential);
        objects.flat_map(|object| object.people.iter().map(|key| (&*object.project, &**key))).collect()
    }
}
