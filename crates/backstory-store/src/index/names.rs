//! Ids and names, each in memory once: of a document, its passages, what is in it and what refers to it.

use std::sync::Arc;

use parking_lot::RwLock;

use super::maps::Set;

/// Names that are there once. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Arc<RwLock<Set<Arc<str>>>>);

impl Names {
    /// A name, if it is there.
    pub(super) fn get(&self, name: &str) -> Option<Arc<str>> {
        self.0.read().get(name).cloned()
    }

    /// A name, which is there from now on.
    pub(super) fn intern(&self, name: &str) -> Arc<str> {
        if let Some(known) = self.get(name) {
            return known;
        }
        let mut names = self.0.write();
        if let Some(known) = names.get(name) {
            return known.clone();
        }
        let new: Arc<str> = name.into();
        names.insert(new.clone());
        new
    }

    /// Names, which are there from now on.
    pub(super) fn intern_all<'a>(&self, all: impl ExactSizeIterator<Item = &'a str>) -> Vec<Arc<str>> {
        let mut names = self.0.write();
        names.reserve(all.len());
        all.map(|name| match names.get(name) {
            Some(known) => known.clone(),
            None => {
                let new: Arc<str> = name.into();
                names.insert(new.clone());
                new
            }
        })
        .collect()
    }

    /// Forgets the names that nobody else has.
    pub(super) fn forget_unused(&self) {
        let mut names = self.0.write();
        names.retain(|name| Arc::strong_count(name) > 1);
        if names.len() < names.capacity() / 4 {
            names.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_there_once_and_as_long_as_it_is_used() {
        let names = Names::default();
        let (one, same) = (names.intern("ann"), names.intern("ann"));
        assert!(Arc::ptr_eq(&one, &same));
        names.intern("bob");
        names.forget_unused();
        assert_eq!((names.get("ann"), names.get("bob")), (Some(one), None));
    }
}
