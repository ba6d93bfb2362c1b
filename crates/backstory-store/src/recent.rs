//! What was read lately, a bounded number of bytes of it: dashboards ask the same again, and hits of one search are hits of the
//! next.
//!
//! What is kept is of one version of what is read. With the next write all of it is gone, so nothing that was changed or
//! forgotten is read from here.

use std::{
    fmt::{self, Debug},
    hash::Hash,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};

use quick_cache::{
    DefaultHashBuilder, OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};

/// Most bytes that are kept.
const MAX_BYTES: u64 = 16 << 20;
/// How many entries are expected to fit.
const ENTRIES: usize = 16 << 10;
/// Parts of it that are locked apart. What does not fit into one is not kept, so there are few, however many cores there are.
const SHARDS: usize = 8;
/// Bytes of an entry that are not of its value: the key, what the map needs, and the schema of a row.
const OVERHEAD: usize = 512;

/// What was read lately of one version.
pub(crate) struct Recent<K, V> {
    version: AtomicU64,
    kept: Cache<(u64, K), (V, usize), Bytes>,
}

#[derive(Clone)]
struct Bytes;

impl<K, V> Weighter<(u64, K), (V, usize)> for Bytes {
    fn weight(&self, _: &(u64, K), (_, bytes): &(V, usize)) -> u64 {
        *bytes as u64
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Default for Recent<K, V> {
    fn default() -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(ENTRIES)
            .weight_capacity(MAX_BYTES)
            .shards(SHARDS)
            .build()
            .expect("all that must be given is");
        let kept = Cache::with_options(options, Bytes, DefaultHashBuilder::default(), DefaultLifecycle::default());
        Self { version: AtomicU64::new(0), kept }
    }
}

impl<K, V> Debug for Recent<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent").field("version", &self.version).finish_non_exhaustive()
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Recent<K, V> {
    /// What was read of a version; that of those before is dropped.
    pub(crate) fn of(&self, version: u64) -> OfVersion<'_, K, V> {
        if self.version.fetch_max(version, SeqCst) < version {
            self.kept.clear();
        }
        OfVersion { recent: self, version }
    }

    /// What was read of the version that is read now, where versions are counted here.
    pub(crate) fn now(&self) -> OfVersion<'_, K, V> {
        OfVersion { recent: self, version: self.version.load(SeqCst) }
    }

    /// Makes another version of it, before and after which nothing is the same. To be called before a write, and after it:
    /// what is read between may be of before.
    pub(crate) fn drop_all(&self) {
        self.version.fetch_add(1, SeqCst);
        self.kept.clear();
    }
}

/// What was read lately of a version.
pub(crate) struct OfVersion<'a, K, V> {
    recent: &'a Recent<K, V>,
    version: u64,
}

impl<K: Eq + Hash + Clone, V: Clone> OfVersion<'_, K, V> {
    /// What was read of something, if it still is kept.
    pub(crate) fn get(&self, key: K) -> Option<V> {
        self.recent.kept.get(&(self.version, key)).map(|(value, _)| value)
    }

    /// Keeps what was read, which takes so many bytes, unless the version is no longer the one that is read.
    pub(crate) fn keep(&self, key: K, value: V, bytes: usize) {
        if self.recent.version.load(SeqCst) != self.version {
            return;
        }
        self.recent.kept.insert((self.version, key), (value, bytes + OVERHEAD));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_another_version_is_found() {
        let recent: Recent<&str, u32> = Recent::default();
        let first = recent.of(7);
        first.keep("a", 1, 10);
        assert_eq!((first.get("a"), first.get("b")), (Some(1), None));
        let second = recent.of(8);
        assert_eq!(second.get("a"), None);
        // Who still reads the version before leaves nothing.
        first.keep("a", 1, 10);
        assert_eq!((recent.of(8).get("a"), recent.of(7).get("a")), (None, None));

        let before = recent.now();
        before.keep("b", 2, 10);
        recent.drop_all();
        let between = recent.now();
        assert_eq!(between.get("b"), None);
        between.keep("b", 2, 10);
        recent.drop_all();
        assert_eq!(recent.now().get("b"), None, "it may have been read before the write");
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let recent: Recent<u64, ()> = Recent::default();
        for key in 0..1_000 {
            recent.of(1).keep(key, (), 1 << 20);
        }
        let kept = (0..1_000).filter(|key| recent.of(1).get(*key).is_some()).count() as u64;
        assert!(kept > 0 && kept << 20 <= MAX_BYTES, "{kept}");
    }
}
