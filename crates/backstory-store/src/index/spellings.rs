//! How names of authors and labels are written: they count in whatever case.

use std::{collections::HashMap, sync::Arc};

/// Names by what they are in lower case, each as often as documents have it.
#[derive(Debug, Default)]
pub(super) struct Spellings(HashMap<String, Vec<(Arc<str>, u32)>>);

impl Spellings {
    /// Takes in a name that so many more documents have.
    pub(super) fn add(&mut self, name: &str, documents: u32) {
        let written = self.0.entry(name.to_lowercase()).or_default();
        match written.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, count)) => *count += documents,
            None => written.push((name.into(), documents)),
        }
    }

    /// Takes out a name that a document no longer has.
    pub(super) fn remove(&mut self, name: &str) {
        let lower_case = name.to_lowercase();
        let Some(written) = self.0.get_mut(&lower_case) else { return };
        written.retain_mut(|(known, count)| {
            *count -= u32::from(**known == *name);
            *count > 0
        });
        if written.is_empty() {
            self.0.remove(&lower_case);
        }
    }

    /// How documents write a name, in whatever case it is given.
    pub(super) fn of(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.get(&name.to_lowercase()).into_iter().flatten().map(|(written, _)| &**written)
    }
}
