//! A cache of what changes together, kept while the ledger is unchanged: a project has up to 40,000 pairs in two records.

use std::{collections::HashMap, sync::Arc};

use backstory_model::repository::CoChangedPair;

/// Projects whose pairs are kept.
const KEPT: usize = 16;

/// What changes together in a project: pairs by what changed, the most confident first.
#[derive(Debug, Default)]
pub(crate) struct CoChangeTable {
    by_first: HashMap<String, Vec<CoChangedPair>>,
}

impl CoChangeTable {
    pub(crate) fn new(pairs: impl Iterator<Item = CoChangedPair>) -> Self {
        let mut by_first: HashMap<String, Vec<CoChangedPair>> = HashMap::new();
        for pair in pairs {
            by_first.entry(pair.first.clone()).or_default().push(pair);
        }
        for pairs in by_first.values_mut() {
            pairs.sort_by(|a, b| {
                let measures = b.confidence.total_cmp(&a.confidence).then(b.support.cmp(&a.support));
                measures.then_with(|| a.second.cmp(&b.second))
            });
        }
        Self { by_first }
    }

    /// What changes with a file or entity, by its name in the project.
    pub(crate) fn partners(&self, code: &str) -> &[CoChangedPair] {
        self.by_first.get(code).map_or(&[], Vec::as_slice)
    }
}

/// The tables of the projects that were asked for, as of a change of the ledger.
#[derive(Default)]
pub(crate) struct CoChangeCache {
    seq: u64,
    tables: HashMap<String, Arc<CoChangeTable>>,
}

impl CoChangeCache {
    pub(crate) fn get(&mut self, seq: u64, project: &str) -> Option<Arc<CoChangeTable>> {
        if seq > self.seq {
            *self = Self { seq, ..Self::default() };
        }
        // Somebody who began to read before the last change is not told of it.
        if seq == self.seq { self.tables.get(project).cloned() } else { None }
    }

    pub(crate) fn keep(&mut self, seq: u64, project: &str, table: &Arc<CoChangeTable>) {
        if self.seq != seq {
            return;
        }
        if self.tables.len() >= KEPT {
            self.tables.clear();
        }
        self.tables.insert(project.to_owned(), table.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_an_older_state_takes_nothing_from_the_newer_one() {
        let mut cache = CoChangeCache::default();
        let table = Arc::new(CoChangeTable::new(std::iter::empty()));
        assert!(cache.get(7, "acme/shop").is_none());
        cache.keep(7, "acme/shop", &table);
        assert!(cache.get(6, "acme/shop").is_none());
        cache.keep(6, "acme/web", &table);
        assert!(cache.get(7, "acme/shop").is_some() && cache.get(7, "acme/web").is_none());
        assert!(cache.get(8, "acme/shop").is_none());
    }
}
