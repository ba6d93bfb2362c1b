//! Index statistics: counts of documents and passages, which documents still need vectors, and term frequencies per
//! project.
//!
//! They are loaded once and kept up to date by every write, because every search reports them. Term frequencies are
//! summed over the projects that a request may see, so that what one project says changes no answer about another.

use std::collections::{BTreeMap, HashMap, HashSet};

use backstory_model::{filter::DocumentKind, sight::Visibility, terms::TermId};
use futures::TryStreamExt as _;
use lancedb::Table;

use super::{
    columns::{Columns, numbers},
    error::IndexError,
    facts::Facts,
    places::Places,
    rows::filterables,
    schema::{CONTENT_HASH, DOCUMENT, FILTER_COLUMNS, ID, IMPORTANCE, TERMS},
    sketches::{SKETCH_COLUMNS, Sketches},
    tables::{scan, stream},
    types::{Coverage, KindCoverage, PendingDocument, Projects},
};

/// Counts of documents, the documents that need vectors, and what searches must know of every one.
#[derive(Debug, Default)]
pub(super) struct IndexStats {
    projects: BTreeMap<String, ProjectCensus>,
    pending: BTreeMap<String, PendingDocument>,
    pub(super) facts: Facts,
    pub(super) sketches: Sketches,
}

/// What is counted in one project. Who asks about some projects is told their sum.
#[derive(Debug, Default)]
struct ProjectCensus {
    tallies: BTreeMap<DocumentKind, KindCounts>,
    passages: u64,
    /// In how many documents each term occurs.
    frequencies: HashMap<TermId, u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct KindCounts {
    documents: u64,
    pending: u64,
}

/// A census and what was found amiss while it was taken.
pub(super) struct Found {
    pub(super) census: IndexStats,
    /// Documents, there or not, with passages of a text that is not their current one: an interrupted write left them.
    pub(super) stale: Vec<String>,
}

impl IndexStats {
    /// Reads both tables. `passages` is `None` if its vectors are of another model.
    pub(super) async fn take(
        (documents, places): (&Table, &Places),
        passages: Option<(&Table, &Places)>,
    ) -> Result<Found, IndexError> {
        let (mut hashes, mut stale) = (HashMap::new(), HashSet::new());
        let mut census = Self::default();
        if let Some((passages, places)) = passages {
            let selected: Vec<&str> = SKETCH_COLUMNS.into_iter().chain([CONTENT_HASH]).collect();
            let mut batches = stream(passages, &selected).await?;
            while let Some(batch) = batches.try_next().await.map_err(IndexError::store("read a table"))? {
                places.learn(&batch)?;
                census.sketches.add(&batch)?;
                let columns = Columns(&batch);
                let of = columns.text(DOCUMENT)?.iter().flatten().zip(columns.text(CONTENT_HASH)?.iter().flatten());
                for (document, hash) in of {
                    let known = hashes.entry(document.to_owned()).or_insert_with(|| hash.to_owned());
                    if known != hash {
                        stale.insert(document.to_owned());
                    }
                }
            }
        }
        let selected: Vec<&str> = [ID, CONTENT_HASH, TERMS, IMPORTANCE].into_iter().chain(FILTER_COLUMNS).collect();
        for batch in scan(documents, &selected).await? {
            places.learn(&batch)?;
            let columns = Columns(&batch);
            let [ids, contents] = [columns.text(ID)?, columns.text(CONTENT_HASH)?];
            let (terms, importance) = (columns.lists(TERMS)?, columns.float(IMPORTANCE)?);
            for (row, of) in filterables(&batch)?.into_iter().enumerate() {
                census.facts.insert(ids.value(row), &of, importance.value(row), contents.value(row))?;
                census.count_terms(&of.project, &numbers(terms, row));
                let passages = census.sketches.count(ids.value(row));
                census.passages_added(&of.project, passages);
                let document = PendingDocument {
                    id: ids.value(row).to_owned(),
                    kind: of.kind,
                    project: of.project,
                    thread: of.thread,
                    content_hash: contents.value(row).to_owned(),
                };
                match hashes.remove(&document.id) {
                    Some(hash) if hash == document.content_hash && !stale.contains(&document.id) => {
                        census.tally(&document.project, document.kind).documents += 1;
                    }
                    found => {
                        stale.extend(found.map(|_| document.id.clone()));
                        census.add_pending(document);
                    }
                }
            }
        }
        // What is left has passages, but is no document.
        stale.extend(hashes.into_keys());
        let mut stale: Vec<_> = stale.into_iter().collect();
        stale.sort_unstable();
        Ok(Found { census, stale })
    }

    fn project(&mut self, project: &str) -> &mut ProjectCensus {
        self.projects.entry(project.to_owned()).or_default()
    }

    fn within<'a>(&'a self, projects: Projects<'a>) -> impl Iterator<Item = &'a ProjectCensus> {
        let all = matches!(projects, Projects::All).then(|| self.projects.values());
        let some = match projects {
            Projects::All => &[],
            Projects::Only(names) => names,
        };
        all.into_iter().flatten().chain(some.iter().filter_map(|name| self.projects.get(name)))
    }

    /// A document of a project with these terms came.
    pub(super) fn count_terms(&mut self, project: &str, terms: &[TermId]) {
        let frequencies = &mut self.project(project).frequencies;
        for term in terms {
            *frequencies.entry(*term).or_default() += 1;
        }
    }

    /// A document of a project with these terms is gone.
    pub(super) fn remove_terms(&mut self, project: &str, terms: &[TermId]) {
        let frequencies = &mut self.project(project).frequencies;
        for term in terms {
            if let Some(count) = frequencies.get_mut(term) {
                *count -= 1;
                if *count == 0 {
                    frequencies.remove(term);
                }
            }
        }
    }

    /// In how many documents of projects a term occurs.
    pub(super) fn frequency(&self, projects: Projects<'_>, term: TermId) -> u64 {
        self.within(projects).filter_map(|of| of.frequencies.get(&term)).map(|count| u64::from(*count)).sum()
    }

    fn tally(&mut self, project: &str, kind: DocumentKind) -> &mut KindCounts {
        self.project(project).tallies.entry(kind).or_default()
    }

    /// A document that is new, or whose text is, needs vectors.
    pub(super) fn add_pending(&mut self, document: PendingDocument) {
        let tally = self.tally(&document.project, document.kind);
        tally.documents += 1;
        tally.pending += 1;
        self.pending.insert(document.id.clone(), document);
    }

    /// A document is gone.
    pub(super) fn remove(&mut self, id: &str, project: &str, kind: DocumentKind) {
        let was_pending = self.pending.remove(id).is_some();
        let tally = self.tally(project, kind);
        tally.documents = tally.documents.saturating_sub(1);
        tally.pending = tally.pending.saturating_sub(u64::from(was_pending));
    }

    /// A document has its vectors.
    pub(super) fn embedded(&mut self, id: &str) {
        if let Some(document) = self.pending.remove(id) {
            let tally = self.tally(&document.project, document.kind);
            tally.pending = tally.pending.saturating_sub(1);
        }
    }

    pub(super) fn is_pending(&self, id: &str) -> bool {
        self.pending.contains_key(id)
    }

    pub(super) fn passages_added(&mut self, project: &str, count: u64) {
        self.project(project).passages += count;
    }

    /// The passages of documents are gone.
    pub(super) fn passages_removed(&mut self, documents: &[&str]) {
        for id in documents {
            let count = self.sketches.count(id);
            if let Some(project) = self.facts.get(id).map(|facts| facts.project.clone()) {
                let known = &mut self.project(&project).passages;
                *known = known.saturating_sub(count);
            }
        }
        self.sketches.remove(documents);
    }

    /// In the order of their ids, those after `after`.
    pub(super) fn pending(&self, after: Option<&str>, limit: usize) -> Vec<PendingDocument> {
        let from = after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        let range = self.pending.range::<str, _>((from, std::ops::Bound::Unbounded));
        range.take(limit).map(|(_, document)| document.clone()).collect()
    }

    /// Of the documents of projects that are seen.
    pub(super) fn coverage(&self, projects: Projects<'_>, sight: Visibility) -> Coverage {
        let (mut tallies, mut passages) = (BTreeMap::<DocumentKind, KindCounts>::new(), 0);
        for of in self.within(projects) {
            passages += of.passages;
            for (kind, tally) in &of.tallies {
                let sum = tallies.entry(*kind).or_default();
                sum.documents += tally.documents;
                sum.pending += tally.pending;
            }
        }
        if sight == Visibility::Confidential || self.facts.confidential().is_empty() {
            return covered(&tallies, passages);
        }
        for id in self.facts.confidential() {
            let Some(facts) = self.facts.get(id).filter(|facts| projects.contain(&facts.project)) else { continue };
            let tally = tallies.entry(facts.kind).or_default();
            tally.documents = tally.documents.saturating_sub(1);
            tally.pending = tally.pending.saturating_sub(u64::from(self.is_pending(id)));
            passages = passages.saturating_sub(self.sketches.count(id));
        }
        covered(&tallies, passages)
    }
}

fn covered(tallies: &BTreeMap<DocumentKind, KindCounts>, passages: u64) -> Coverage {
    let of_kind = tallies.iter().filter(|(_, tally)| tally.documents > 0).map(|(&kind, tally)| KindCoverage {
        kind,
        documents: tally.documents,
        embedded: tally.documents - tally.pending,
    });
    let by_kind: Vec<_> = of_kind.collect();
    Coverage {
        documents: by_kind.iter().map(|of| of.documents).sum(),
        embedded: by_kind.iter().map(|of| of.embedded).sum(),
        passages,
        by_kind,
    }
}
