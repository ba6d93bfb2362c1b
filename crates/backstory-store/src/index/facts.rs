//! Document metadata in memory: what filters and ranking read of every document. Reading it from the table for each
//! candidate takes longer than the search.

mod read;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, OnceLock},
};

use backstory_model::{
    digest::{SetDigest, sha256},
    entity::State,
    filter::DocumentKind,
    visibility::Visibility,
};
use jiff::Timestamp;

use super::{
    counts::GroupKey,
    error::IndexError,
    image::{Image, ImageError, ImageWriter},
    maps::Map,
    names::{Names, Texts},
    numbered::{HASH, LABEL_END, NO_NAME, Name, NumberedDocument},
    rows::{Filterable, instant},
    spellings::Spellings,
    types::DocumentFacts,
    version_ids::{is_version, public_id, split_version, version_id},
};

/// What documents are called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Their authors.
    Author,
    /// Their labels.
    Label,
}

/// What a document says, as far as two states of the index are compared by it: the beginning of the SHA-256 of its
/// text's hash and its state.
pub type Fingerprint = [u8; 8];

/// A page of documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdPage {
    /// Their ids, in order.
    pub ids: Vec<String>,
    /// How many documents there are on all pages.
    pub total: usize,
    /// Whether more follow.
    pub has_more: bool,
}

/// The facts of all documents: 76 bytes each, besides its names.
#[derive(Debug)]
pub(super) struct Facts {
    names: Names,
    /// The current ones, in no order.
    documents: Vec<NumberedDocument>,
    /// By the number of a name.
    slots: Vec<Slot>,
    /// What is common to the documents of a project that are confidential, and to those that are not.
    groups: BTreeMap<(Name, bool), Group>,
    /// How many documents each kind has, those of versions included.
    kinds: BTreeMap<DocumentKind, u64>,
    authors: Spellings,
    labels: Spellings,
    /// The facts of the documents of versions, by the ids of their rows; their threads are named without the version.
    versions: HashMap<Arc<str>, DocumentFacts>,
    /// The rows of each version of a thread.
    version_threads: HashMap<Arc<str>, Vec<Arc<str>>>,
}

/// What has a name. The current documents of a thread besides the one that has its id, its parts, are a list.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Where the document with this id is.
    document: u32,
    /// The first part of the thread with this id.
    first_part: Name,
    /// The part that follows the one with this id.
    next_part: Name,
}

const EMPTY: Slot = Slot { document: NO_DOCUMENT, first_part: NO_NAME, next_part: NO_NAME };
/// Stands for a document that is absent.
const NO_DOCUMENT: u32 = u32::MAX;

/// Documents that are visible to the same callers.
#[derive(Debug, Default)]
struct Group {
    /// Over every document and what it says.
    digest: SetDigest,
    documents: u64,
    /// When the newest was begun, once somebody has asked.
    newest: OnceLock<i64>,
}

impl Facts {
    pub(super) fn new(names: Names) -> Self {
        Self {
            names,
            documents: Vec::new(),
            slots: Vec::new(),
            groups: BTreeMap::new(),
            kinds: BTreeMap::new(),
            authors: Spellings::default(),
            labels: Spellings::default(),
            versions: HashMap::new(),
            version_threads: HashMap::new(),
        }
    }

    pub(super) fn insert(
        &mut self,
        id: &str,
        of: &Filterable,
        importance: f32,
        content_hash: &str,
    ) -> Result<(), IndexError> {
        let facts = described(of, importance)?;
        let document = self.number(id, &facts, said(content_hash, of));
        let known = self.names.find(id).and_then(|id| self.document(id));
        let is_part = known.is_some_and(|known| known.thread == document.thread);
        // One that is as old as it was leaves the newest as it is.
        let newest = known.filter(|known| (known.group(), known.created_at) == (document.group(), document.created_at));
        let newest = newest.and_then(|known| self.groups.get(&known.group())?.newest.get().copied());
        self.remove_current(id, is_part);
        let group = self.groups.entry(document.group()).or_default();
        group.digest.add(&line(id, &document.said));
        match (newest, group.newest.get_mut()) {
            (Some(newest), _) => group.newest = newest.into(),
            (None, Some(newest)) => *newest = document.created_at.max(*newest),
            (None, None) if group.documents == 0 => group.newest = document.created_at.into(),
            (None, None) => {}
        }
        group.documents += 1;
        self.add_kind(of.kind);
        self.add_spellings(&facts);
        self.add_document(document, is_part);
        Ok(())
    }

    /// A document with numbers for its names.
    fn number(&self, id: &str, of: &DocumentFacts, said: [u8; HASH]) -> NumberedDocument {
        let optional = |name: Option<&str>| name.map_or(NO_NAME, |name| self.names.intern(name));
        let labels = (!of.labels.is_empty()).then(|| of.labels.join(LABEL_END));
        NumberedDocument {
            id: self.names.intern(id),
            thread: self.names.intern(&of.thread),
            project: self.names.intern(&of.project),
            author: optional(of.author.as_deref()),
            labels: optional(labels.as_deref()),
            paths: self.names.intern(&of.paths),
            created_at: of.created_at.as_millisecond(),
            importance: of.importance,
            kind: of.kind,
            document_type: of.document_type,
            state: of.state,
            confidential: of.confidential,
            said,
        }
    }

    /// Takes in the names of the author and the labels of a document.
    fn add_spellings(&mut self, of: &DocumentFacts) {
        of.author.iter().for_each(|author| self.authors.add(author, 1));
        of.labels.iter().for_each(|label| self.labels.add(label, 1));
    }

    /// Takes out the names of a document that is gone, or is there as it is by now.
    fn remove_spellings(&mut self, of: &DocumentFacts) {
        of.author.iter().for_each(|author| self.authors.remove(author));
        of.labels.iter().for_each(|label| self.labels.remove(label));
    }

    /// Takes in a document of a version.
    pub(super) fn insert_version(&mut self, row: &str, of: &Filterable, importance: f32) -> Result<(), IndexError> {
        let facts = described(of, importance)?;
        self.remove_version(row);
        self.add_kind(of.kind);
        self.add_spellings(&facts);
        self.add_version(row.into(), &of.thread, facts);
        Ok(())
    }

    fn add_version(&mut self, row: Arc<str>, thread: &str, facts: DocumentFacts) {
        match self.version_threads.get_mut(thread) {
            Some(rows) => rows.push(row.clone()),
            None => drop(self.version_threads.insert(thread.into(), vec![row.clone()])),
        }
        self.versions.insert(row, facts);
    }

    /// Takes over the documents of an image. There must be none yet.
    pub(super) fn restore(&mut self, image: &Image) -> Result<(), ImageError> {
        let mut spelled: [Map<Name, u32>; 2] = Default::default();
        self.slots.resize(image.name_count(), EMPTY);
        self.documents.reserve(image.document_count());
        for document in image.documents()? {
            let document = document?;
            self.add_kind(document.kind);
            for (counts, name) in spelled.iter_mut().zip([document.author, document.labels]) {
                *counts.entry(name).or_default() += 1;
            }
            if let (_, Some(version)) = split_version(image.name(document.id)) {
                let mut text = |name| image.name(name).into();
                let facts = facts_of(&document, &mut text);
                let thread = version_id(&facts.thread, version);
                self.add_version(image.name(document.id).into(), &thread, facts);
                continue;
            }
            let group = self.groups.entry(document.group()).or_default();
            group.documents += 1;
            match group.newest.get_mut() {
                Some(newest) => *newest = document.created_at.max(*newest),
                None => group.newest = document.created_at.into(),
            }
            self.add_document(document, false);
        }
        let [authors, labels] = spelled.map(|mut counts| {
            counts.remove(&NO_NAME);
            counts
        });
        authors.into_iter().for_each(|(author, documents)| self.authors.add(image.name(author), documents));
        for (labels, documents) in labels {
            image.name(labels).split(LABEL_END).for_each(|label| self.labels.add(label, documents));
        }
        Ok(())
    }

    /// Takes over what a group of an image says of all its documents.
    pub(super) fn restore_digest(&mut self, group: (Name, bool), digest: SetDigest) {
        self.groups.entry(group).or_default().digest = digest;
    }

    fn add_document(&mut self, document: NumberedDocument, is_part: bool) {
        let (id, thread) = (document.id, document.thread);
        let names = id.max(thread) as usize + 1;
        if self.slots.len() < names {
            self.slots.resize(names, EMPTY);
        }
        if id != thread && !is_part {
            let first = std::mem::replace(&mut self.slots[thread as usize].first_part, id);
            self.slots[id as usize].next_part = first;
        }
        self.slots[id as usize].document = u32::try_from(self.documents.len()).unwrap_or(NO_DOCUMENT);
        self.documents.push(document);
    }

    /// A document is no part of its thread any more.
    fn remove_part(&mut self, id: Name, thread: Name) {
        let next = std::mem::replace(&mut self.slots[id as usize].next_part, NO_NAME);
        let before = self.parts(thread).take_while(|part| *part != id).last();
        match before {
            Some(before) => self.slots[before as usize].next_part = next,
            None => self.slots[thread as usize].first_part = next,
        }
    }

    /// The parts of a thread.
    fn parts(&self, thread: Name) -> impl Iterator<Item = Name> {
        let first = self.slots.get(thread as usize).map_or(NO_NAME, |slot| slot.first_part);
        let next = |part: &Name| Some(self.slots[*part as usize].next_part).filter(|next| *next != NO_NAME);
        std::iter::successors(Some(first).filter(|first| *first != NO_NAME), next)
    }

    /// The current document with an id.
    fn document(&self, id: Name) -> Option<&NumberedDocument> {
        self.documents.get(self.slots.get(id as usize)?.document as usize)
    }

    /// How many documents there are, those of versions included.
    pub(super) fn count(&self) -> usize {
        self.documents.len() + self.versions.len()
    }

    /// Adds the documents to an image.
    pub(super) fn save(&self, image: &mut ImageWriter) {
        self.documents.iter().for_each(|document| image.add_document(document));
        let versions = self.versions.iter().map(|(row, facts)| self.number(row, facts, [0; HASH]));
        versions.for_each(|document| image.add_document(&document));
    }

    /// Says which names it has.
    pub(super) fn mark_names(&self, used: &mut [bool]) {
        let of_documents = self.documents.iter().flat_map(NumberedDocument::names);
        of_documents.chain(self.groups.keys().map(|(project, _)| *project)).for_each(|name| used[name as usize] = true);
    }

    /// Every group with documents, and a digest over each of these and what it says.
    pub(super) fn digests(&self) -> impl Iterator<Item = ((Name, bool), &SetDigest)> {
        self.groups.iter().map(|(group, of)| (*group, &of.digest))
    }

    fn add_kind(&mut self, kind: DocumentKind) {
        *self.kinds.entry(kind).or_default() += 1;
    }

    fn remove_kind(&mut self, kind: DocumentKind) {
        if let Some(count) = self.kinds.get_mut(&kind) {
            *count -= 1;
            if *count == 0 {
                self.kinds.remove(&kind);
            }
        }
    }

    /// The kinds that some document has.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &DocumentKind> {
        self.kinds.keys()
    }

    /// Whether there is no document of another project.
    pub(super) fn is_all_of(&self, project: &str) -> bool {
        let project = self.names.find(project);
        self.versions.is_empty() && self.groups.keys().all(|(of, _)| Some(*of) == project)
    }

    fn remove_version(&mut self, row: &str) {
        let Some(facts) = self.versions.remove(row) else { return };
        self.remove_kind(facts.kind);
        self.remove_spellings(&facts);
        let Some(version) = split_version(row).1 else { return };
        let thread = version_id(&facts.thread, version);
        if let Some(rows) = self.version_threads.get_mut(&*thread) {
            rows.retain(|known| **known != *row);
            if rows.is_empty() {
                self.version_threads.remove(&*thread);
            }
        }
    }

    /// The facts of a document of a version.
    pub(super) fn get_version(&self, row: &str) -> Option<&DocumentFacts> {
        self.versions.get(row)
    }

    /// The rows of a version of a thread.
    pub(super) fn rows_of_version(&self, thread: &str) -> &[Arc<str>] {
        self.version_threads.get(thread).map_or(&[], Vec::as_slice)
    }

    /// The versions of threads that there are.
    pub(super) fn version_threads(&self) -> impl Iterator<Item = &Arc<str>> {
        self.version_threads.keys()
    }

    /// How many visible documents are of versions.
    pub(super) fn version_documents(&self, visibility: &Visibility) -> u64 {
        let visible = self.versions.values().filter(|of| visibility.allows(&of.project, of.confidential));
        visible.count() as u64
    }

    pub(super) fn remove(&mut self, id: &str) {
        if is_version(id) {
            return self.remove_version(id);
        }
        self.remove_current(id, false);
    }

    /// Takes out a current document; `stays_part` if it comes back as a part of the same thread.
    fn remove_current(&mut self, id: &str, stays_part: bool) {
        let Some(number) = self.names.find(id).filter(|id| self.document(*id).is_some()) else { return };
        let at = std::mem::replace(&mut self.slots[number as usize].document, NO_DOCUMENT);
        let document = self.documents.swap_remove(at as usize);
        if let Some(moved) = self.documents.get(at as usize) {
            self.slots[moved.id as usize].document = at;
        }
        self.remove_kind(document.kind);
        let facts = known_facts(&document, &self.names.read());
        self.remove_spellings(&facts);
        if number != document.thread && !stays_part {
            self.remove_part(number, document.thread);
        }
        if let Some(group) = self.groups.get_mut(&document.group()) {
            group.digest.remove(&line(id, &document.said));
            group.documents -= 1;
            if group.newest.get() == Some(&document.created_at) {
                group.newest.take();
            }
            if group.documents == 0 {
                self.groups.remove(&document.group());
            }
        }
    }

    /// A current document.
    pub(super) fn get(&self, id: &str) -> Option<DocumentFacts> {
        let texts = self.names.read();
        texts.find(id).and_then(|id| self.document(id)).map(|document| known_facts(document, &texts))
    }

    /// Whether there is a current document with an id.
    pub(super) fn has(&self, id: Name) -> bool {
        self.document(id).is_some()
    }

    /// The current documents.
    pub(super) fn documents(&self) -> &[NumberedDocument] {
        &self.documents
    }

    /// The project of a current document, and whether it is confidential.
    pub(super) fn group_of(&self, id: Name) -> Option<(Name, bool)> {
        self.document(id).map(NumberedDocument::group)
    }

    /// The same by its id, with the name of the project.
    pub(super) fn group_key(&self, id: &str) -> Option<GroupKey> {
        let texts = self.names.read();
        let (project, confidential) = self.group_of(texts.find(id)?)?;
        Some((texts.of(project).to_owned(), confidential))
    }

    /// What a document is, also one of a version.
    pub(super) fn kind_of(&self, id: &str) -> Option<DocumentKind> {
        let current = self.names.find(id).and_then(|id| self.document(id)).map(|document| document.kind);
        current.or_else(|| self.get_version(id).map(|facts| facts.kind))
    }
}

/// The facts of a document that is read or written. Those of a version name the thread without it.
fn described(of: &Filterable, importance: f32) -> Result<DocumentFacts, IndexError> {
    Ok(DocumentFacts {
        thread: public_id(&of.thread).into(),
        kind: of.kind,
        project: of.project.as_str().into(),
        author: of.author.as_deref().map(Into::into),
        labels: of.labels.iter().map(|label| label.as_str().into()).collect(),
        state: of.state,
        created_at: instant(of.created_at)?,
        importance,
        confidential: of.confidential,
        paths: of.paths.as_str().into(),
        document_type: of.document_type,
    })
}

fn known_facts(document: &NumberedDocument, texts: &Texts) -> DocumentFacts {
    facts_of(document, &mut |name| texts.of(name).into())
}

fn facts_of(document: &NumberedDocument, text: &mut impl FnMut(Name) -> Arc<str>) -> DocumentFacts {
    let labels = (document.labels != NO_NAME).then(|| text(document.labels));
    DocumentFacts {
        thread: text(document.thread),
        kind: document.kind,
        project: text(document.project),
        author: (document.author != NO_NAME).then(|| text(document.author)),
        labels: labels.iter().flat_map(|labels| labels.split(LABEL_END)).map(Into::into).collect(),
        state: document.state,
        created_at: time(document.created_at),
        importance: document.importance,
        confidential: document.confidential,
        paths: text(document.paths),
        document_type: document.document_type,
    }
}

/// A time, which was checked before it was kept.
fn time(milliseconds: i64) -> Timestamp {
    instant(milliseconds).unwrap_or_default()
}

fn said(content_hash: &str, of: &Filterable) -> [u8; HASH] {
    let mut said = format!("{content_hash}\0{}", of.state.map_or("", State::as_str));
    if of.confidential {
        said.push_str("\0confidential");
    }
    let mut short = [0; HASH];
    short.copy_from_slice(&sha256(said.as_bytes())[..HASH]);
    short
}

fn line(id: &str, said: &[u8; HASH]) -> Vec<u8> {
    [id.as_bytes(), b"\0", said].concat()
}

#[cfg(test)]
mod tests;
