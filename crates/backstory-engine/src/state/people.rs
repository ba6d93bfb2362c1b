//! A cache of everybody who is known, kept while the ledger is unchanged: to find whom a name means all of them are read.

use std::sync::Arc;

use backstory_model::{people::ForgeUser, repository::CommitIdentity, visibility::Visibility};

/// Readers, each with the projects that they ask about, whose people are kept.
const KEPT: usize = 8;

/// The people of projects as somebody sees them, of all projects if none are given.
type CacheKey = (Vec<String>, Visibility);

/// Everybody whom a reader knows.
#[derive(Debug, Default)]
pub(crate) struct Everybody {
    /// Those who made commits.
    pub(crate) identities: Vec<CommitIdentity>,
    /// The users of forges.
    pub(crate) users: Vec<ForgeUser>,
}

/// Everybody whom those know who asked last, as of a change of the ledger.
#[derive(Default)]
pub(crate) struct PeopleCache {
    seq: u64,
    /// In the order in which they were read.
    known: Vec<(CacheKey, Arc<Everybody>)>,
}

impl PeopleCache {
    pub(crate) fn get(&mut self, seq: u64, key: &CacheKey) -> Option<Arc<Everybody>> {
        if seq > self.seq {
            *self = Self { seq, ..Self::default() };
        }
        // Who began before a change reads what was there then.
        let mut known = self.known.iter().filter(|_| seq == self.seq);
        known.find(|(own, _)| own == key).map(|(_, everybody)| everybody.clone())
    }

    pub(crate) fn keep(&mut self, seq: u64, key: CacheKey, everybody: &Arc<Everybody>) {
        if self.seq != seq || self.known.iter().any(|(own, _)| *own == key) {
            return;
        }
        if self.known.len() == KEPT {
            self.known.remove(0);
        }
        self.known.push((key, everybody.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_those_whom_the_same_reader_knew_at_the_same_time() {
        let (all, of_shop) = (Visibility::everything(), Visibility::of_projects(["acme/shop"]));
        let (mut cache, everybody) = (PeopleCache::default(), Arc::<Everybody>::default());
        let key = |visibility: &Visibility| (Vec::new(), visibility.clone());
        assert!(cache.get(7, &key(&all)).is_none());
        cache.keep(7, key(&all), &everybody);
        assert!(cache.get(7, &key(&all)).is_some() && cache.get(7, &key(&of_shop)).is_none());
        assert!(cache.get(7, &(vec!["acme/shop".to_owned()], all.clone())).is_none());
        // Who began to read before the last change leaves nothing.
        assert!(cache.get(8, &key(&all)).is_none());
        cache.keep(7, key(&all), &everybody);
        assert!(cache.get(8, &key(&all)).is_none());
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let (mut cache, everybody) = (PeopleCache::default(), Arc::<Everybody>::default());
        let key = |number: usize| (vec![number.to_string()], Visibility::everything());
        assert!(cache.get(1, &key(0)).is_none());
        (0..100).for_each(|number| cache.keep(1, key(number), &everybody));
        let kept = (0..100).filter(|number| cache.get(1, &key(*number)).is_some()).collect::<Vec<_>>();
        assert_eq!(kept, (100 - KEPT..100).collect::<Vec<_>>());
    }
}
