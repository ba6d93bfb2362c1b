//! Numbers that issues and merge requests share, as on GitHub: `#12` in a text means whichever has the number.
//!
//! Which one that is can become known after the text, or change. `engine::project` knows from the ledger which numbers
//! are merge requests and makes quads with that knowledge. When an issue or merge request appears or disappears, it
//! projects the items that mention its number again (`Graph::items_mentioning`). So the graph depends on the ledger
//! alone and not on the order of events. References that people type are resolved in the ledger (`Engine::whole`).

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use crate::id::{NodeId, ThreadId, ThreadKind};

/// What the numbers of projects stand for in which issues and merge requests share them. Projects that it does not
/// know, and numbers that nothing has, are left as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedNumbers(HashMap<String, BTreeMap<u64, ThreadKind>>);

impl SharedNumbers {
    /// Notes that a project is one whose numbers are shared.
    pub fn add_project(&mut self, project: &str) {
        self.0.entry(project.to_owned()).or_default();
    }

    /// Whether the project is one whose numbers are shared.
    pub fn contains_project(&self, project: &str) -> bool {
        self.0.contains_key(project)
    }

    /// Takes in that there is an issue or merge request, or that there is none any more; nothing happens for a project
    /// that is not known.
    pub fn set(&mut self, thread: &ThreadId, exists: bool) {
        let Some(numbers) = self.0.get_mut(&thread.project) else { return };
        if exists {
            numbers.insert(thread.iid, thread.kind);
        } else if numbers.get(&thread.iid) == Some(&thread.kind) {
            numbers.remove(&thread.iid);
        }
    }

    /// The node that is meant: of an issue or merge request, or of something in it, the kind that its number has.
    pub fn resolve<'a>(&self, id: &'a NodeId) -> Cow<'a, NodeId> {
        let (NodeId::Thread(thread) | NodeId::Note { thread, .. } | NodeId::Discussion { thread, .. }) = id else {
            return Cow::Borrowed(id);
        };
        match self.0.get(&thread.project).and_then(|numbers| numbers.get(&thread.iid)) {
            Some(kind) if *kind != thread.kind => Cow::Owned(id.with_other_thread_kind()),
            _ => Cow::Borrowed(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(numbers: &SharedNumbers, text: &str) -> String {
        numbers.resolve(&text.parse().unwrap()).to_string()
    }

    #[test]
    fn a_number_means_what_has_it() {
        let mut numbers = SharedNumbers::default();
        numbers.add_project("acme/shop");
        numbers.set(&ThreadId::merge_request("acme/shop", 7), true);
        numbers.set(&ThreadId::merge_request("other/p", 7), true);
        assert_eq!(resolved(&numbers, "acme/shop#7"), "acme/shop!7");
        assert_eq!(resolved(&numbers, "acme/shop#7#note_9"), "acme/shop!7#note_9");
        assert_eq!(resolved(&numbers, "acme/shop#8"), "acme/shop#8");
        assert_eq!(resolved(&numbers, "acme/shop!8"), "acme/shop!8");
        assert_eq!(resolved(&numbers, "other/p#7"), "other/p#7");
        numbers.set(&ThreadId::issue("acme/shop", 7), false);
        assert_eq!(resolved(&numbers, "acme/shop#7"), "acme/shop!7");
        numbers.set(&ThreadId::merge_request("acme/shop", 7), false);
        assert_eq!(resolved(&numbers, "acme/shop#7"), "acme/shop#7");
    }
}
