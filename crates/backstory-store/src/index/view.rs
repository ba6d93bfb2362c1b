//! A view: a state of the documents other than the current one, and what is counted of it. How one is made is in
//! [`views`](super::views).

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use backstory_model::visibility::Visibility;

use super::counts::{GroupKey, GroupStats};

/// How a state of the documents differs from the current one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewThreads {
    /// Threads whose current documents are not in it.
    pub hidden: HashSet<String>,
    /// Threads of which another version is in it: their ids, as [`version_id`](super::version_id) makes them.
    pub versions: Vec<String>,
    /// What the addresses of files at the current state begin with, and what those of this one do.
    pub urls: Option<[String; 2]>,
}

/// A state of the documents, and what is counted of it.
#[derive(Debug, Default)]
pub struct View {
    pub(super) hidden: HashSet<String>,
    /// Threads of which a version is shown, with the id of that.
    pub(super) threads: HashMap<String, String>,
    /// Documents of versions, with the ids of their rows.
    pub(super) rows: HashMap<Arc<str>, Arc<str>>,
    /// Definitions of code among them, by the plain spelling of the last part of their names.
    pub(super) definitions: HashMap<String, Vec<Arc<str>>>,
    /// Current documents that are not in it.
    pub(super) hidden_documents: Vec<Arc<str>>,
    /// What is counted of its versions, and of the current documents that are not in it.
    pub(super) added: BTreeMap<GroupKey, GroupStats>,
    pub(super) removed: BTreeMap<GroupKey, GroupStats>,
    pub(super) urls: Option<[String; 2]>,
}

impl View {
    /// Whether the current documents of a thread are not in it.
    pub fn hides(&self, thread: &str) -> bool {
        self.hidden.contains(thread)
    }

    /// How many documents it has that are not current, and how many current ones it has not.
    pub fn difference(&self) -> (usize, usize) {
        (self.rows.len(), self.hidden_documents.len())
    }

    /// The definitions among its versions that have a plain name.
    pub(super) fn definitions(&self, plain_name: &str) -> &[Arc<str>] {
        self.definitions.get(plain_name).map_or(&[], Vec::as_slice)
    }

    /// The id of the row of a document of a version.
    pub(super) fn row_of(&self, id: &str) -> Option<&Arc<str>> {
        self.rows.get(id)
    }

    /// The version of a thread that it has in place of the current one.
    pub(super) fn version_of(&self, thread: &str) -> Option<&str> {
        self.threads.get(thread).map(String::as_str)
    }

    /// The address of a document, as it is at this state.
    pub(super) fn url(&self, url: String) -> String {
        let Some([current, own]) = &self.urls else { return url };
        match url.strip_prefix(current.as_str()) {
            Some(rest) => format!("{own}{rest}"),
            None => url,
        }
    }
}

/// What a handle shows.
#[derive(Clone, Copy)]
pub(super) struct Selection<'a> {
    pub(super) visibility: &'a Visibility,
    pub(super) view: Option<&'a View>,
}
