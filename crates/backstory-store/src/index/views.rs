//! Views: states of the documents other than the current one.
//!
//! A further branch, tag or commit of a repository, and an earlier state of the index, have most documents in common with
//! the current state. So a document that differs there is kept beside the current one, as a version of its thread, and a
//! view is the current state without some threads and with versions of some. A handle [with a view](Index::with_view) shows
//! that state as if nothing else existed: its searches have the hits and scores of an index that holds only that.
//!
//! The ids of a version's rows end in a line end and the name of the version, which no other id has. They stay in here:
//! who asks gets the ids that the documents have anywhere else.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, atomic::Ordering},
};

use backstory_model::{code::plain_name, filter::DocumentKind, id::NodeId};
use parking_lot::Mutex;

use super::{
    Index,
    columns::Columns,
    counts::GroupKey,
    error::IndexError,
    schema::{ID, TERMS, WORD_TOTAL, WORDS},
    version_ids::{is_version, public_id},
    view::{Selection, View, ViewThreads},
    words::{DocumentWords, document_words},
};

/// Documents whose words are read at once.
const READ_AT_ONCE: usize = 4_096;
/// Views that are remembered.
const MAX_VIEWS: usize = 16;

/// The plain name of what is defined in a file, if a document is of such.
fn defined_name(id: &str, kind: DocumentKind) -> Option<String> {
    if kind != DocumentKind::Code {
        return None;
    }
    match id.parse() {
        Ok(NodeId::Entity { name, .. }) => Some(plain_name(&name)),
        _ => None,
    }
}

/// Views that were made, each with the number of changes of the index at which it was.
#[derive(Debug, Default)]
pub(super) struct ViewCache(Mutex<Vec<(String, u64, Arc<View>)>>);

impl ViewCache {
    fn get(&self, name: &str, changes: u64) -> Option<Arc<View>> {
        let cached = self.0.lock();
        cached.iter().find(|(known, at, _)| known == name && *at == changes).map(|(_, _, view)| view.clone())
    }

    fn put(&self, name: &str, changes: u64, view: Arc<View>) {
        let mut cached = self.0.lock();
        cached.retain(|(known, at, _)| known != name && *at == changes);
        if cached.len() == MAX_VIEWS {
            cached.remove(0);
        }
        cached.push((name.to_owned(), changes, view));
    }
}

impl Index {
    /// Returns a handle of the same index that shows a view in place of the current state.
    #[must_use]
    pub fn with_view(&self, view: Option<Arc<View>>) -> Self {
        Self { view, ..self.clone() }
    }

    /// The view of that name, if it was made of the documents as they are.
    pub fn find_view(&self, name: &str) -> Option<Arc<View>> {
        self.shared.views.get(name, self.change_count())
    }

    /// How often documents were changed: what a view is made of must have been read after this.
    pub fn change_count(&self) -> u64 {
        self.shared.changes.load(Ordering::Acquire)
    }

    /// Makes a view of threads that were read when documents had been changed so often, and remembers it by its name until
    /// they change again. Reads the words of the documents that differ.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn make_view(&self, name: &str, changes: u64, threads: ViewThreads) -> Result<Arc<View>, IndexError> {
        let view = Arc::new(self.guarded(self.compute_view(threads)).await?);
        self.shared.views.put(name, changes, view.clone());
        Ok(view)
    }

    /// The threads of all versions that it has, by their ids.
    pub fn version_threads(&self) -> HashSet<String> {
        self.counted().stats.facts.version_threads().map(ToString::to_string).collect()
    }

    /// How many visible documents are versions beside the current ones. Costs little.
    pub fn version_documents(&self) -> u64 {
        self.counted().stats.facts.version_documents(&self.visibility)
    }

    async fn compute_view(&self, threads: ViewThreads) -> Result<View, IndexError> {
        let ViewThreads { hidden, versions, urls } = threads;
        let mut view = View { hidden, urls, ..View::default() };
        let mut groups: HashMap<Arc<str>, (GroupKey, DocumentKind)> = HashMap::new();
        {
            let counted = self.counted();
            let facts = &counted.stats.facts;
            for version in versions {
                for row in facts.rows_of_version(&version) {
                    let Some(of) = facts.get_version(row) else { continue };
                    groups.insert(row.clone(), ((of.project.to_string(), of.confidential), of.kind));
                    let id: Arc<str> = public_id(row).into();
                    if let Some(name) = defined_name(&id, of.kind) {
                        view.definitions.entry(name).or_default().push(id.clone());
                    }
                    view.rows.insert(id, row.clone());
                }
                view.threads.insert(public_id(&version).to_owned(), version);
            }
            for (id, of) in facts.of_threads(&view.hidden) {
                groups.insert(id.clone(), ((of.project.to_string(), of.confidential), of.kind));
                view.hidden_documents.push(id);
            }
        }
        let ids: Vec<&Arc<str>> = groups.keys().collect();
        for ids in ids.chunks(READ_AT_ONCE) {
            for (id, words) in self.words_of(ids).await? {
                let Some((group, kind)) = groups.get(&*id) else { continue };
                let counts = if is_version(&id) { &mut view.added } else { &mut view.removed };
                counts.entry(group.clone()).or_default().add(*kind, &words);
            }
        }
        Ok(view)
    }

    async fn words_of(&self, rows: &[&Arc<str>]) -> Result<BTreeMap<String, DocumentWords>, IndexError> {
        let ids: Vec<&str> = rows.iter().map(|id| &***id).collect();
        let wanted: HashSet<&str> = ids.iter().copied().collect();
        let mut words = BTreeMap::new();
        for batch in self.shared.places.rows(&self.shared.documents, &ids, &[TERMS, WORDS, WORD_TOTAL]).await? {
            let of_rows = document_words(&batch)?;
            let read = Columns(&batch).text(ID)?.iter().flatten().zip(of_rows);
            let read = read.filter(|(id, _)| wanted.contains(id));
            words.extend(read.map(|(id, words)| (id.to_owned(), words)));
        }
        Ok(words)
    }

    pub(super) fn selection(&self) -> Selection<'_> {
        Selection { visibility: &self.visibility, view: self.view.as_deref() }
    }

    /// The id of the row that a document has at this handle.
    pub(super) fn row_id(&self, id: &str) -> Arc<str> {
        let version = self.view.as_ref().and_then(|view| view.row_of(id));
        version.cloned().unwrap_or_else(|| id.into())
    }
}
