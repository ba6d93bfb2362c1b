//! What is read of all documents at once, or of those that are visible.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use backstory_model::{digest::SetDigest, filter::DocumentKind, visibility::Visibility};
use jiff::Timestamp;

use super::{
    super::{
        maps::{Map, Set},
        names::Texts,
        numbered::{HASH, LABEL_END, NO_NAME, Name, NumberedDocument},
        types::{DocumentFacts, PathPart, ProjectScope, each_path},
        version_ids::public_id,
        view::Selection,
    },
    Facts, Fingerprint, Group, IdPage, Named, facts_of, known_facts, time,
};

/// Most texts of names that are kept while all documents are looked at.
const MOST_COMMON: usize = 4_096;

impl Facts {
    /// The current documents of threads.
    pub(in crate::index) fn of_threads(&self, threads: &HashSet<String>) -> Vec<(Arc<str>, DocumentFacts)> {
        let texts = self.names.read();
        let of_threads = self.in_threads(threads, &texts);
        of_threads.map(|document| (texts.of(document.id).into(), known_facts(document, &texts))).collect()
    }

    fn in_threads<'a>(
        &'a self,
        threads: &'a HashSet<String>,
        texts: &'a Texts,
    ) -> impl Iterator<Item = &'a NumberedDocument> {
        let threads = threads.iter().filter_map(|thread| texts.find(thread));
        threads.flat_map(move |thread| {
            let own = self.document(thread).filter(|own| own.thread == thread);
            own.into_iter().chain(self.parts(thread).filter_map(|part| self.document(part)))
        })
    }

    /// The current documents that are visible.
    fn visible<'a>(&'a self, selection: Selection<'a>, texts: &'a Texts) -> impl Iterator<Item = &'a NumberedDocument> {
        let view = selection.view.filter(|view| !view.hidden.is_empty());
        let is_shown = move |of: &NumberedDocument| view.is_none_or(|view| !view.hides(texts.of(of.thread)));
        let is_visible =
            move |of: &NumberedDocument| selection.visibility.allows(texts.of(of.project), of.confidential);
        self.documents.iter().filter(move |of| is_visible(of) && is_shown(of))
    }

    /// The documents of versions that are visible.
    fn visible_versions<'a>(
        &'a self,
        selection: Selection<'a>,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a DocumentFacts)> {
        let versions = selection.view.into_iter().flat_map(|view| &view.rows);
        let versions = versions.filter_map(|(id, row)| Some((id, self.versions.get(row)?)));
        versions.filter(move |(_, of)| selection.visibility.allows(&of.project, of.confidential))
    }

    /// Those of the visible documents that are wanted.
    fn wanted<'a>(
        &'a self,
        selection: Selection<'a>,
        texts: &'a Texts,
        is_wanted: &'a dyn Fn(&str, &DocumentFacts) -> bool,
    ) -> impl Iterator<Item = &'a str> {
        let mut common = CommonTexts { texts, known: Map::default() };
        let current = self.visible(selection, texts).filter_map(move |document| {
            let (id, facts) = (texts.of(document.id), facts_of(document, &mut |name| common.of(name)));
            is_wanted(id, &facts).then_some(id)
        });
        let versions = self.visible_versions(selection).filter(|(id, facts)| is_wanted(id, facts));
        current.chain(versions.map(|(id, _)| &**id))
    }

    /// A document that is visible.
    pub(in crate::index) fn get_visible(&self, id: &str, selection: Selection<'_>) -> Option<DocumentFacts> {
        if let Some(row) = selection.view.and_then(|view| view.row_of(id)) {
            let of_version = self.get_version(row);
            return of_version.filter(|of| selection.visibility.allows(&of.project, of.confidential)).cloned();
        }
        let texts = self.names.read();
        let document = texts.find(id).and_then(|id| self.document(id))?;
        shows(document, selection, &texts).then(|| known_facts(document, &texts))
    }

    /// Whether a document is there and visible.
    pub(in crate::index) fn is_visible(&self, id: &str, selection: Selection<'_>) -> bool {
        if let Some(row) = selection.view.and_then(|view| view.row_of(id)) {
            let of_version = self.get_version(row);
            return of_version.is_some_and(|of| selection.visibility.allows(&of.project, of.confidential));
        }
        let texts = self.names.read();
        let document = texts.find(id).and_then(|id| self.document(id));
        document.is_some_and(|document| shows(document, selection, &texts))
    }

    /// Whether a row is of a document that is there and visible.
    pub(in crate::index) fn shows_row(&self, row: &str, selection: Selection<'_>) -> bool {
        let id = public_id(row);
        let shown = selection.view.and_then(|view| view.row_of(id)).map_or(id, |shown| &**shown);
        shown == row && self.is_visible(id, selection)
    }

    /// Whether there are versions beside the current documents.
    pub(in crate::index) fn has_versions(&self) -> bool {
        !self.versions.is_empty()
    }

    /// Whether there are documents that are not visible.
    pub(in crate::index) fn has_hidden(&self, visibility: &Visibility) -> bool {
        let texts = self.names.read();
        self.groups.keys().any(|(project, confidential)| !visibility.allows(texts.of(*project), *confidential))
    }

    /// Whether there are confidential documents of visible projects.
    pub(in crate::index) fn has_confidential(&self, visibility: &Visibility) -> bool {
        let texts = self.names.read();
        let mut confidential = self.groups.keys().filter(|(_, confidential)| *confidential);
        confidential.any(|(project, _)| visibility.allows_project(texts.of(*project)))
    }

    /// The projects with visible documents.
    pub(in crate::index) fn projects(&self, visibility: &Visibility) -> BTreeSet<String> {
        let texts = self.names.read();
        let visible = self.visible_groups(visibility, &texts);
        visible.map(|((project, _), _)| texts.of(*project).to_owned()).collect()
    }

    fn visible_groups<'a>(
        &'a self,
        visibility: &'a Visibility,
        texts: &'a Texts,
    ) -> impl Iterator<Item = (&'a (Name, bool), &'a Group)> {
        let groups = self.groups.iter();
        groups.filter(|((project, confidential), _)| visibility.allows(texts.of(*project), *confidential))
    }

    /// The visible documents that are one of these nodes, or a part of one, and are wanted: at most so many, those of the nodes
    /// with the lowest ranks first, then by id; and how many there are.
    pub(in crate::index) fn of_nodes(
        &self,
        nodes: &[(&str, usize)],
        selection: Selection<'_>,
        most: usize,
        is_wanted: impl Fn(&str, &DocumentFacts) -> bool,
    ) -> (Vec<Arc<str>>, usize) {
        let ranks: Map<&str, usize> = nodes.iter().copied().collect();
        let texts = self.names.read();
        let numbers = ranks.iter().filter_map(|(node, rank)| Some((texts.find(node)?, *rank)));
        let numbers: Map<Name, usize> = numbers.collect();
        let current = numbers.iter().flat_map(|(node, rank)| {
            // One that is asked for itself is not also asked for as a part.
            let parts = self.parts(*node).filter(|part| !numbers.contains_key(part));
            std::iter::once(*node).chain(parts).filter_map(|id| Some((*rank, self.document(id)?)))
        });
        let current = current.filter(|(_, document)| shows(document, selection, &texts));
        let current = current.filter_map(|(rank, document)| {
            let id = texts.of(document.id);
            is_wanted(id, &known_facts(document, &texts)).then_some((rank, id))
        });
        let rank_of = |id: &str, facts: &DocumentFacts| ranks.get(id).or_else(|| ranks.get(&*facts.thread)).copied();
        let versions = self.visible_versions(selection).filter(|(id, facts)| is_wanted(id, facts));
        let versions = versions.filter_map(|(id, facts)| Some((rank_of(id, facts)?, &**id)));
        let mut found: Vec<(usize, &str)> = current.chain(versions).collect();
        let total = found.len();
        if total > most {
            found.select_nth_unstable(most);
            found.truncate(most);
        }
        found.sort_unstable();
        (found.into_iter().map(|(_, id)| id.into()).collect(), total)
    }

    /// Digest over the ids of all visible documents and what they say; the same in whatever order they came.
    pub(in crate::index) fn digest(&self, visibility: &Visibility) -> String {
        let mut digest = SetDigest::default();
        self.visible_groups(visibility, &self.names.read()).for_each(|(_, group)| digest.merge(&group.digest));
        digest.hex()
    }

    /// Every visible document and what it says, by id.
    pub(in crate::index) fn fingerprints(&self, visibility: &Visibility) -> Vec<(String, Fingerprint)> {
        let short = |said: &[u8; HASH]| {
            let mut fingerprint = Fingerprint::default();
            fingerprint.copy_from_slice(&said[..8]);
            fingerprint
        };
        let texts = self.names.read();
        let visible = self.visible(Selection { visibility, view: None }, &texts);
        let mut all: Vec<_> = visible.map(|of| (texts.of(of.id).to_owned(), short(&of.said))).collect();
        all.sort_unstable();
        all
    }

    /// Whether a visible document is wanted.
    pub(in crate::index) fn any(
        &self,
        selection: Selection<'_>,
        is_wanted: impl Fn(&str, &DocumentFacts) -> bool,
    ) -> bool {
        self.wanted(selection, &self.names.read(), &is_wanted).next().is_some()
    }

    /// A page of the visible documents that are wanted. Looks at all documents.
    pub(in crate::index) fn page(
        &self,
        selection: Selection<'_>,
        after: Option<&str>,
        limit: usize,
        is_wanted: impl Fn(&str, &DocumentFacts) -> bool,
    ) -> IdPage {
        let texts = self.names.read();
        let (mut following, mut total): (Vec<&str>, _) = (Vec::new(), 0);
        for id in self.wanted(selection, &texts, &is_wanted) {
            total += 1;
            if after.is_none_or(|after| *id > *after) {
                following.push(id);
            }
        }
        let has_more = following.len() > limit;
        if has_more {
            following.select_nth_unstable(limit);
            following.truncate(limit);
        }
        following.sort_unstable();
        IdPage { ids: following.into_iter().map(str::to_owned).collect(), total, has_more }
    }

    /// When the newest visible document was begun.
    pub(in crate::index) fn newest(&self, selection: Selection<'_>) -> Option<Timestamp> {
        let texts = self.names.read();
        let hidden = selection.view.into_iter().flat_map(|view| self.in_threads(&view.hidden, &texts));
        let hidden: Set<((Name, bool), i64)> = hidden.map(|of| (of.group(), of.created_at)).collect();
        let of_groups = self.visible_groups(selection.visibility, &texts).filter_map(|(key, group)| {
            let all = || self.documents.iter().filter(|of| of.group() == *key);
            let newest = *group.newest.get_or_init(|| all().map(|of| of.created_at).max().unwrap_or(i64::MIN));
            if !hidden.contains(&(*key, newest)) {
                return Some(newest);
            }
            let is_shown = |of: &&NumberedDocument| shows(of, selection, &texts);
            all().filter(is_shown).map(|of| of.created_at).max()
        });
        let versions = self.visible_versions(selection).map(|(_, of)| of.created_at);
        of_groups.map(time).chain(versions).max()
    }

    /// How a name is written, in whatever case.
    pub(in crate::index) fn written(&self, what: Named, name: &str) -> impl Iterator<Item = &str> {
        let known = match what {
            Named::Author => &self.authors,
            Named::Label => &self.labels,
        };
        known.of(name)
    }

    /// The authors or labels of the visible documents of projects.
    pub(in crate::index) fn known(
        &self,
        what: Named,
        projects: ProjectScope<'_>,
        selection: Selection<'_>,
    ) -> BTreeSet<Arc<str>> {
        let texts = self.names.read();
        let of_projects = self.visible(selection, &texts).filter(|of| projects.contain(texts.of(of.project)));
        let names = of_projects.map(|of| match what {
            Named::Author => of.author,
            Named::Label => of.labels,
        });
        // Sorted only at the end: many documents have few names.
        let names: Set<Name> = names.filter(|name| *name != NO_NAME).collect();
        let mut known: BTreeSet<Arc<str>> = match what {
            Named::Author => names.into_iter().map(|author| texts.of(author).into()).collect(),
            Named::Label => names.into_iter().flat_map(|all| texts.of(all).split(LABEL_END)).map(Into::into).collect(),
        };
        for (_, of) in self.visible_versions(selection).filter(|(_, of)| projects.contain(&of.project)) {
            match what {
                Named::Author => known.extend(of.author.clone()),
                Named::Label => known.extend(of.labels.iter().cloned()),
            }
        }
        known
    }

    /// The paths of the visible documents of projects, each list once, of those that count.
    fn all_paths<'a>(
        &'a self,
        projects: ProjectScope<'a>,
        selection: Selection<'a>,
        texts: &'a Texts,
        counts: fn(DocumentKind) -> bool,
    ) -> impl Iterator<Item = &'a str> {
        let mut seen: Set<Name> = Set::default();
        // All parts of a file have the same.
        let current = self.visible(selection, texts).filter(move |of| counts(of.kind) && seen.insert(of.paths));
        let current = current.filter(move |of| projects.contain(texts.of(of.project))).map(|of| texts.of(of.paths));
        let versions = self.visible_versions(selection).map(|(_, of)| of);
        let versions = versions.filter(move |of| counts(of.kind) && projects.contain(&of.project));
        current.chain(versions.map(|of| &*of.paths))
    }

    /// Whether a visible document of projects belongs to a file whose path starts with this, or to a commit that changes
    /// one. Looks at all documents.
    pub(in crate::index) fn has_below(
        &self,
        prefix: &str,
        projects: ProjectScope<'_>,
        selection: Selection<'_>,
    ) -> bool {
        let beginning = PathPart::beginning(prefix);
        let texts = self.names.read();
        self.all_paths(projects, selection, &texts, |_| true).any(|paths| beginning.is_in(paths))
    }

    /// The paths of the visible files of projects: the first so many by name. Looks at all documents.
    pub(in crate::index) fn paths(
        &self,
        projects: ProjectScope<'_>,
        selection: Selection<'_>,
        most: usize,
    ) -> BTreeSet<String> {
        let texts = self.names.read();
        let mut paths: BTreeSet<&str> = BTreeSet::new();
        // The paths of commits may be gone.
        for of_file in self.all_paths(projects, selection, &texts, |kind| kind != DocumentKind::Commit) {
            for path in each_path(of_file) {
                paths.insert(path);
                if paths.len() > most {
                    paths.pop_last();
                }
            }
        }
        paths.into_iter().map(str::to_owned).collect()
    }
}

/// Texts of names that many documents have, each in memory once.
struct CommonTexts<'a> {
    texts: &'a Texts,
    known: Map<Name, Arc<str>>,
}

impl CommonTexts<'_> {
    fn of(&mut self, name: Name) -> Arc<str> {
        if self.known.len() == MOST_COMMON {
            self.known.clear();
        }
        self.known.entry(name).or_insert_with(|| self.texts.of(name).into()).clone()
    }
}

/// Whether a current document is visible.
fn shows(document: &NumberedDocument, selection: Selection<'_>, texts: &Texts) -> bool {
    selection.view.is_none_or(|view| !view.hides(texts.of(document.thread)))
        && selection.visibility.allows(texts.of(document.project), document.confidential)
}
