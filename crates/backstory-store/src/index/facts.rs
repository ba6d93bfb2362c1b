//! Document metadata in memory: what filters and ranking read of every document. Reading it from the table for each
//! candidate takes longer than the search.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use backstory_model::{
    digest::{SetDigest, sha256},
    entity::State,
    filter::DocumentKind,
    visibility::Visibility,
};
use jiff::Timestamp;

use super::{
    error::IndexError,
    image::ImageWriter,
    maps::{Map, Set},
    names::Names,
    rows::{Filterable, instant},
    spellings::Spellings,
    types::{DocumentFacts, PathPart, ProjectScope},
    version_ids::{is_version, public_id, split_version, version_id},
    view::Selection,
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

/// The facts of all documents, by id: some 240 bytes each, besides the paths of a commit and a part's place in its thread.
#[derive(Debug)]
pub(super) struct Facts {
    documents: Map<Arc<str>, Box<CurrentFacts>>,
    /// The current documents of each thread besides the one that has its id.
    parts: Map<Arc<str>, Vec<Arc<str>>>,
    /// What is common to the documents of a project that are confidential, and to those that are not.
    groups: BTreeMap<(Arc<str>, bool), Group>,
    /// How many documents each kind has, those of versions included.
    kinds: BTreeMap<DocumentKind, u64>,
    names: Names,
    authors: Spellings,
    labels: Spellings,
    /// The facts of the documents of versions, by the ids of their rows; their threads are named without the version.
    versions: HashMap<Arc<str>, DocumentFacts>,
    /// The rows of each version of a thread.
    version_threads: HashMap<Arc<str>, Vec<Arc<str>>>,
}

/// The facts of a current document and what it says.
type CurrentFacts = (DocumentFacts, [u8; 32]);

/// Documents that are visible to the same callers.
#[derive(Debug, Default)]
struct Group {
    /// Over every document and what it says.
    digest: SetDigest,
    /// How many were begun at a time.
    created: BTreeMap<Timestamp, u32>,
}

impl Facts {
    pub(super) fn new(names: Names) -> Self {
        Self {
            documents: Map::default(),
            parts: Map::default(),
            groups: BTreeMap::new(),
            kinds: BTreeMap::new(),
            names,
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
        let facts = self.build(&of.thread, of, importance)?;
        let said = said(content_hash, of);
        let is_part = self.get(id).is_some_and(|known| known.thread == facts.thread);
        self.remove_current(id, is_part);
        let id = self.names.intern(id);
        let group = self.groups.entry((facts.project.clone(), facts.confidential)).or_default();
        group.digest.add(&line(&id, &said));
        *group.created.entry(facts.created_at).or_default() += 1;
        self.add_kind(of.kind);
        self.add_document(id, facts, said, is_part);
        Ok(())
    }

    fn build(&mut self, thread: &str, of: &Filterable, importance: f32) -> Result<DocumentFacts, IndexError> {
        let facts = DocumentFacts {
            thread: self.names.intern(thread),
            kind: of.kind,
            project: self.names.intern(&of.project),
            author: of.author.as_deref().map(|author| self.names.intern(author)),
            labels: of.labels.iter().map(|label| self.names.intern(label)).collect(),
            state: of.state,
            created_at: instant(of.created_at)?,
            importance,
            confidential: of.confidential,
            paths: self.names.intern(&of.paths),
            document_type: of.document_type,
        };
        self.add_names(&facts);
        Ok(facts)
    }

    /// Takes in the names of the author and the labels of a document.
    fn add_names(&mut self, facts: &DocumentFacts) {
        facts.author.iter().for_each(|author| self.authors.add(author));
        facts.labels.iter().for_each(|label| self.labels.add(label));
    }

    /// Takes out the names of a document that is gone, or is there as it is by now.
    fn remove_names(&mut self, facts: &DocumentFacts) {
        facts.author.iter().for_each(|author| self.authors.remove(author));
        facts.labels.iter().for_each(|label| self.labels.remove(label));
    }

    /// Takes in a document of a version.
    pub(super) fn insert_version(&mut self, row: &str, of: &Filterable, importance: f32) -> Result<(), IndexError> {
        let facts = self.build(public_id(&of.thread), of, importance)?;
        self.remove_version(row);
        let row = self.names.intern(row);
        self.version_threads.entry(self.names.intern(&of.thread)).or_default().push(row.clone());
        self.add_kind(of.kind);
        self.versions.insert(row, facts);
        Ok(())
    }

    /// Takes in a document of an image, but for when it was begun; `said` counts for one that is of no version.
    pub(super) fn restore(&mut self, id: Arc<str>, facts: DocumentFacts, said: [u8; 32]) {
        self.add_names(&facts);
        self.add_kind(facts.kind);
        if let (_, Some(version)) = split_version(&id) {
            let thread = self.names.intern(&version_id(&facts.thread, version));
            self.version_threads.entry(thread).or_default().push(id.clone());
            self.versions.insert(id, facts);
            return;
        }
        self.add_document(id, facts, said, false);
    }

    /// Takes in when the documents of a group of an image were begun.
    pub(super) fn restore_times(&mut self, project: Arc<str>, confidential: bool, mut created: Vec<Timestamp>) {
        created.sort_unstable();
        let counted = created.chunk_by(|one, other| one == other).map(|same| (same[0], same.len() as u32));
        self.groups.entry((project, confidential)).or_default().created = counted.collect();
    }

    fn add_document(&mut self, id: Arc<str>, facts: DocumentFacts, said: [u8; 32], is_part: bool) {
        if id != facts.thread && !is_part {
            self.parts.entry(facts.thread.clone()).or_default().push(id.clone());
        }
        self.documents.insert(id, Box::new((facts, said)));
    }

    /// A document is no part of its thread any more.
    fn remove_part(&mut self, id: &Arc<str>, thread: &str) {
        let Some(parts) = self.parts.get_mut(thread) else { return };
        // A name is there once, so its place in memory tells it from others.
        if let Some(at) = parts.iter().position(|part| Arc::ptr_eq(part, id)) {
            parts.swap_remove(at);
        }
        if parts.is_empty() {
            self.parts.remove(thread);
        }
    }

    /// Takes over what a group of an image says of all its documents.
    pub(super) fn restore_digest(&mut self, project: &Arc<str>, confidential: bool, digest: SetDigest) {
        self.groups.entry((project.clone(), confidential)).or_default().digest = digest;
    }

    /// How many documents there are, those of versions included.
    pub(super) fn count(&self) -> usize {
        self.documents.len() + self.versions.len()
    }

    /// Makes room for so many documents.
    pub(super) fn reserve(&mut self, documents: usize) {
        self.documents.reserve(documents);
    }

    /// Adds the documents to an image.
    pub(super) fn save(&self, image: &mut ImageWriter) {
        self.documents.iter().for_each(|(id, of)| image.add_document(id, &of.0, Some(&of.1)));
        self.versions.iter().for_each(|(row, facts)| image.add_document(row, facts, None));
    }

    /// A digest over every document of a group and what it says.
    pub(super) fn digest_of(&self, project: &str, confidential: bool) -> SetDigest {
        let group = self.groups.iter().find(|((of, hidden), _)| **of == *project && *hidden == confidential);
        group.map(|(_, group)| group.digest.clone()).unwrap_or_default()
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
        self.versions.is_empty() && self.groups.keys().all(|(of, _)| **of == *project)
    }

    fn remove_version(&mut self, row: &str) {
        let Some(facts) = self.versions.remove(row) else { return };
        self.remove_kind(facts.kind);
        self.remove_names(&facts);
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

    /// The current documents of threads.
    pub(super) fn of_threads<'a>(
        &'a self,
        threads: &'a HashSet<String>,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a DocumentFacts)> {
        let ids = threads.iter().flat_map(move |thread| {
            let own = self.documents.get_key_value(thread.as_str()).filter(|(_, of)| *of.0.thread == **thread);
            let parts = self.parts.get(thread.as_str()).into_iter().flatten();
            own.map(|(id, _)| id).into_iter().chain(parts)
        });
        ids.filter_map(|id| Some((id, self.get(id)?)))
    }

    /// A name as it is in memory once.
    pub(super) fn intern(&self, name: &str) -> Arc<str> {
        self.names.intern(name)
    }

    /// The documents that are visible.
    fn visible<'a>(&'a self, selection: Selection<'a>) -> impl Iterator<Item = (&'a Arc<str>, &'a DocumentFacts)> {
        let is_shown = move |of: &DocumentFacts| selection.view.is_none_or(|view| !view.hides(&of.thread));
        let current = self.documents.iter().map(|(id, of)| (id, &of.0));
        let current = current.filter(move |(_, of)| is_shown(of));
        let versions = selection.view.into_iter().flat_map(|view| &view.rows);
        let versions = versions.filter_map(|(id, row)| Some((id, self.versions.get(row)?)));
        current.chain(versions).filter(move |(_, of)| selection.visibility.allows(&of.project, of.confidential))
    }

    pub(super) fn remove(&mut self, id: &str) {
        if is_version(id) {
            return self.remove_version(id);
        }
        self.remove_current(id, false);
    }

    /// Takes out a current document; `stays_part` if it comes back as a part of the same thread.
    fn remove_current(&mut self, id: &str, stays_part: bool) {
        if let Some((id, (facts, said))) = self.documents.remove_entry(id).map(|(id, of)| (id, *of)) {
            self.remove_kind(facts.kind);
            self.remove_names(&facts);
            if !stays_part {
                self.remove_part(&id, &facts.thread);
            }
            let key = (facts.project.clone(), facts.confidential);
            if let Some(group) = self.groups.get_mut(&key) {
                group.digest.remove(&line(&id, &said));
                if let Some(count) = group.created.get_mut(&facts.created_at) {
                    *count -= 1;
                    if *count == 0 {
                        group.created.remove(&facts.created_at);
                    }
                }
                if group.created.is_empty() {
                    self.groups.remove(&key);
                }
            }
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<&DocumentFacts> {
        self.documents.get(id).map(|of| &of.0)
    }

    /// A document that is visible.
    pub(super) fn get_visible(&self, id: &str, selection: Selection<'_>) -> Option<&DocumentFacts> {
        let version = selection.view.and_then(|view| view.row_of(id));
        let found = match version {
            Some(row) => self.get_version(row),
            None => self.get(id).filter(|of| selection.view.is_none_or(|view| !view.hides(&of.thread))),
        };
        found.filter(|facts| selection.visibility.allows(&facts.project, facts.confidential))
    }

    /// Whether a row is of a document that is there and visible.
    pub(super) fn shows_row(&self, row: &str, selection: Selection<'_>) -> bool {
        let id = public_id(row);
        let shown = selection.view.and_then(|view| view.row_of(id)).map_or(id, |shown| &**shown);
        shown == row && self.get_visible(id, selection).is_some()
    }

    /// Whether there are versions beside the current documents.
    pub(super) fn has_versions(&self) -> bool {
        !self.versions.is_empty()
    }

    /// Whether there are documents that are not visible.
    pub(super) fn has_hidden(&self, visibility: &Visibility) -> bool {
        self.groups.keys().any(|(project, confidential)| !visibility.allows(project, *confidential))
    }

    /// Whether there are confidential documents of visible projects.
    pub(super) fn has_confidential(&self, visibility: &Visibility) -> bool {
        self.groups.keys().any(|(project, confidential)| *confidential && visibility.allows_project(project))
    }

    /// The projects with visible documents.
    pub(super) fn projects(&self, visibility: &Visibility) -> BTreeSet<&str> {
        let visible = self.groups.keys().filter(|(project, confidential)| visibility.allows(project, *confidential));
        visible.map(|(project, _)| &**project).collect()
    }

    fn visible_groups(&self, visibility: &Visibility) -> impl Iterator<Item = &Group> {
        let groups = self.groups.iter();
        groups.filter(|((project, confidential), _)| visibility.allows(project, *confidential)).map(|(_, group)| group)
    }

    /// The visible documents that are one of these nodes, or a part of one, and are wanted: at most so many, those of the nodes
    /// with the lowest ranks first, then by id; and how many there are.
    pub(super) fn of_nodes(
        &self,
        nodes: &[(&str, usize)],
        selection: Selection<'_>,
        most: usize,
        is_wanted: impl Fn(&str, &DocumentFacts) -> bool,
    ) -> (Vec<Arc<str>>, usize) {
        let ranks: Map<&str, usize> = nodes.iter().copied().collect();
        let is_shown = |of: &DocumentFacts| selection.view.is_none_or(|view| !view.hides(&of.thread));
        let current = ranks.iter().flat_map(|(node, rank)| {
            let own = self.documents.get_key_value(*node).map(|(id, _)| id);
            // One that is asked for itself is not also asked for as a part.
            let parts = self.parts.get(*node).into_iter().flatten().filter(|part| !ranks.contains_key(&***part));
            own.into_iter().chain(parts).filter_map(|id| Some((id, self.get(id)?, *rank)))
        });
        let current = current.filter(|(_, facts, _)| is_shown(facts));
        let rows = selection.view.into_iter().flat_map(|view| &view.rows);
        let versions = rows.filter_map(|(id, row)| Some((id, self.versions.get(row)?)));
        let rank_of = |id: &str, facts: &DocumentFacts| ranks.get(id).or_else(|| ranks.get(&*facts.thread)).copied();
        let versions = versions.filter_map(|(id, facts)| Some((id, facts, rank_of(id, facts)?)));
        let is_visible = |facts: &DocumentFacts| selection.visibility.allows(&facts.project, facts.confidential);
        let found = current.chain(versions).filter(|(id, facts, _)| is_visible(facts) && is_wanted(id, facts));
        let mut found: Vec<(usize, &Arc<str>)> = found.map(|(id, _, rank)| (rank, id)).collect();
        let total = found.len();
        if total > most {
            found.select_nth_unstable(most);
            found.truncate(most);
        }
        found.sort_unstable();
        (found.into_iter().map(|(_, id)| id.clone()).collect(), total)
    }

    /// Digest over the ids of all visible documents and what they say; the same in whatever order they came.
    pub(super) fn digest(&self, visibility: &Visibility) -> String {
        let mut digest = SetDigest::default();
        self.visible_groups(visibility).for_each(|group| digest.merge(&group.digest));
        digest.hex()
    }

    /// Every visible document and what it says, by id.
    pub(super) fn fingerprints(&self, visibility: &Visibility) -> Vec<(String, Fingerprint)> {
        let short = |said: &[u8; 32]| {
            let mut fingerprint = Fingerprint::default();
            fingerprint.copy_from_slice(&said[..8]);
            fingerprint
        };
        let visible = self.documents.iter().filter(|(_, of)| visibility.allows(&of.0.project, of.0.confidential));
        let mut all: Vec<_> = visible.map(|(id, of)| (id.to_string(), short(&of.1))).collect();
        all.sort_unstable();
        all
    }

    /// Whether a visible document is wanted.
    pub(super) fn any(&self, selection: Selection<'_>, is_wanted: impl Fn(&str, &DocumentFacts) -> bool) -> bool {
        self.visible(selection).any(|(id, facts)| is_wanted(id, facts))
    }

    /// A page of the visible documents that are wanted. Looks at all documents.
    pub(super) fn page(
        &self,
        selection: Selection<'_>,
        after: Option<&str>,
        limit: usize,
        is_wanted: impl Fn(&str, &DocumentFacts) -> bool,
    ) -> IdPage {
        let (mut following, mut total): (Vec<&Arc<str>>, _) = (Vec::new(), 0);
        for (id, facts) in self.visible(selection) {
            if is_wanted(id, facts) {
                total += 1;
                if after.is_none_or(|after| **id > *after) {
                    following.push(id);
                }
            }
        }
        let has_more = following.len() > limit;
        if has_more {
            following.select_nth_unstable(limit);
            following.truncate(limit);
        }
        following.sort_unstable();
        IdPage { ids: following.into_iter().map(ToString::to_string).collect(), total, has_more }
    }

    /// When the newest visible document was begun.
    pub(super) fn newest(&self, selection: Selection<'_>) -> Option<Timestamp> {
        let mut hidden: Map<(&str, bool, Timestamp), u32> = Map::default();
        for (_, of) in selection.view.into_iter().flat_map(|view| self.of_threads(&view.hidden)) {
            *hidden.entry((&*of.project, of.confidential, of.created_at)).or_default() += 1;
        }
        let is_visible = |project: &str, confidential: bool| selection.visibility.allows(project, confidential);
        let groups = self.groups.iter().filter(|((project, confidential), _)| is_visible(project, *confidential));
        let of_groups = groups.filter_map(|((project, confidential), group)| {
            let hidden_at = |at: Timestamp| hidden.get(&(&**project, *confidential, at)).copied().unwrap_or(0);
            group.created.iter().rev().find(|(at, count)| **count > hidden_at(**at)).map(|(at, _)| *at)
        });
        let versions = selection.view.into_iter().flat_map(|view| view.rows.values());
        let versions = versions.filter_map(|row| self.versions.get(row));
        let versions = versions.filter(|of| is_visible(&of.project, of.confidential)).map(|of| of.created_at);
        of_groups.chain(versions).max()
    }

    /// How a name is written, in whatever case.
    pub(super) fn written(&self, what: Named, name: &str) -> impl Iterator<Item = &str> {
        let known = match what {
            Named::Author => &self.authors,
            Named::Label => &self.labels,
        };
        known.of(name)
    }

    /// The authors or labels of the visible documents of projects.
    pub(super) fn known(
        &self,
        what: Named,
        projects: ProjectScope<'_>,
        selection: Selection<'_>,
    ) -> BTreeSet<Arc<str>> {
        // Sorted only at the end: many documents have few names.
        let mut names: Set<&Arc<str>> = Set::default();
        for (_, facts) in self.visible(selection).filter(|(_, facts)| projects.contain(&facts.project)) {
            match what {
                Named::Author => names.extend(&facts.author),
                Named::Label => names.extend(&facts.labels),
            }
        }
        names.into_iter().cloned().collect()
    }

    /// Whether a visible document of projects belongs to a file whose path starts with this, or to a commit that changes
    /// one. Looks at all documents.
    pub(super) fn has_below(&self, prefix: &str, projects: ProjectScope<'_>, selection: Selection<'_>) -> bool {
        let beginning = PathPart::beginning(prefix);
        self.visible(selection).any(|(_, facts)| projects.contain(&facts.project) && facts.has_path_with(&beginning))
    }

    /// The paths of the visible files of projects: the first so many by name. Looks at all documents.
    pub(super) fn paths(&self, projects: ProjectScope<'_>, selection: Selection<'_>, most: usize) -> BTreeSet<String> {
        let mut paths: BTreeSet<&str> = BTreeSet::new();
        // A text is in memory once, so its place there tells it from others: all parts of a file have the same.
        let mut seen: Set<*const u8> = Set::default();
        // The paths of commits may be gone.
        let is_of_file = |facts: &DocumentFacts| facts.kind != DocumentKind::Commit && projects.contain(&facts.project);
        let files = self.visible(selection).map(|(_, facts)| facts).filter(|facts| is_of_file(facts));
        for facts in files.filter(|facts| seen.insert(facts.paths.as_ptr())) {
            for path in facts.paths() {
                paths.insert(path);
                if paths.len() > most {
                    paths.pop_last();
                }
            }
        }
        paths.into_iter().map(str::to_owned).collect()
    }
}

fn said(content_hash: &str, of: &Filterable) -> [u8; 32] {
    let mut said = format!("{content_hash}\0{}", of.state.map_or("", State::as_str));
    if of.confidential {
        said.push_str("\0confidential");
    }
    sha256(said.as_bytes())
}

fn line(id: &str, said: &[u8; 32]) -> Vec<u8> {
    [id.as_bytes(), b"\0", said].concat()
}

#[cfg(test)]
mod tests;
