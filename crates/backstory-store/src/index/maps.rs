//! Maps with an entry for every word or document. Their hash has a secret key as that of the standard library, and takes a
//! fraction of its time.

use std::{
    collections::{HashMap, HashSet},
    hash::Hasher as _,
};

use siphasher::sip::SipHasher13;

/// A map.
pub(super) type Map<K, V> = HashMap<K, V, ahash::RandomState>;
/// A set.
pub(super) type Set<T> = HashSet<T, ahash::RandomState>;

/// A hash that may be written to the disk: it is the same in every build, as that of the standard library need not be.
pub(super) fn stable_hash(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish()
}
