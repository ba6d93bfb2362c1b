//! Ids and names, each in memory once: of a document, its passages, what is in it and what refers to it.

use std::{collections::HashSet, sync::Arc};

use parking_lot::RwLock;

/// Names that are there once. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Arc<RwLock<HashSet<Arc<str>>>>);

impl Names {
    /// A name, if it is there.
    pub(super) fn get(&self, name: &str) -> Option<Arc<str>> {
        self.0.read().get(name).cloned()
    }

    /// A name, which is there from now on.
    pub(super) fn of(&self, name: &str) -> Arc<str> {
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

    /// Forgets the names that nobody else has.
    pub(super) fn forget_unused(&self) {
        let mut names = self.0.write();
        names.retain(|name| Arc::strong_count(name) > 1);
        names.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_there_once_and_as_long_as_it_is_used() {
        let names = Names::default();
        let (one, same) = (names.of("ann"), names.of("ann"));
        assert!(Arc::ptr_eq(&one, &same));
        names.of("bob");
        names.forget_unused();
        assert_eq!((names.get("ann"), names.get("bob")), (Some(one), None));
    }
}
