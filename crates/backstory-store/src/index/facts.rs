//! What a search must know of every document it finds, in memory: reading it from the table takes longer than the search.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use backstory_model::{entity::State, filter::DocumentKind};
use jiff::Timestamp;

use super::{
    error::IndexError,
    rows::{Filterable, instant},
};

/// What filters and ranking look at. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentFacts {
    /// Id of the issue or merge request it belongs to, its own if it is one.
    pub thread: Arc<str>,
    /// What it is.
    pub kind: DocumentKind,
    /// Full path of the project.
    pub project: Arc<str>,
    /// User name of the author.
    pub author: Option<Arc<str>>,
    /// Labels.
    pub labels: Vec<Arc<str>>,
    /// State, of what has one.
    pub state: Option<State>,
    /// When it was opened or begun.
    pub created_at: Timestamp,
    /// How much it weighs among its kind, 0 to 1.
    pub importance: f32,
}

/// The facts of all documents, by id: some 200 bytes each.
#[derive(Debug, Default)]
pub(super) struct Facts {
    documents: HashMap<Box<str>, DocumentFacts>,
    newest: Option<Timestamp>,
    /// Every name once, as few have many documents.
    names: HashSet<Arc<str>>,
}

impl Facts {
    pub(super) fn insert(&mut self, id: &str, of: &Filterable, importance: f32) -> Result<(), IndexError> {
        let facts = DocumentFacts {
            thread: self.name(&of.thread),
            kind: of.kind,
            project: self.name(&of.project),
            author: of.author.as_deref().map(|author| self.name(author)),
            labels: of.labels.iter().map(|label| self.name(label)).collect(),
            state: of.state,
            created_at: instant(of.created_at)?,
            importance,
        };
        self.newest = self.newest.max(Some(facts.created_at));
        self.documents.insert(id.into(), facts);
        Ok(())
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.documents.remove(id);
    }

    pub(super) fn get(&self, id: &str) -> Option<&DocumentFacts> {
        self.documents.get(id)
    }

    /// When the newest document was begun, also if it is gone by now.
    pub(super) fn newest(&self) -> Option<Timestamp> {
        self.newest
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let new: Arc<str> = name.into();
        self.names.insert(new.clone());
        new
    }
}
