//! Maps with an entry for every word or document. Their hash has a secret key as that of the standard library, and takes a
//! fraction of its time.

use std::collections::{HashMap, HashSet};

/// A map.
pub(super) type Map<K, V> = HashMap<K, V, ahash::RandomState>;
/// A set.
pub(super) type Set<T> = HashSet<T, ahash::RandomState>;
