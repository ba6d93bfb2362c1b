//! Index statistics: counts of documents and passages, which documents still need vectors, and how often words occur.
//!
//! They are loaded once and kept up to date by every write, because every search reports them. Everything is counted for
//! each project, and there for confidential documents apart, and summed over what a request may see: so what is not
//! visible changes no answer.

use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    ops::Bound,
    panic::resume_unwind,
    path::Path,
    sync::Arc,
};

use backstory_model::{filter::DocumentKind, terms::TermId, visibility::Visibility};
use futures::TryStreamExt as _;
use lancedb::Table;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::{
    columns::{Columns, numbers},
    counts::{GroupKey, GroupStats, KindCounts},
    error::IndexError,
    facts::Facts,
    image::{Image, ImageError, ImageGroup, ImageWriter},
    maps::Map,
    names::Names,
    numbered::Name,
    places::Places,
    ranking_data::{QUANTIZED_COLUMNS, RankingData},
    rows::{Filterable, filterables},
    schema::{CONTENT_HASH, FILTER_COLUMNS, ID, IMPORTANCE, TERMS, WORD_COUNTS, WORD_TOTAL, WORDS},
    tables::stream,
    types::{Coverage, DocumentFacts, KindCoverage, PendingDocument, ProjectScope},
    version_ids::{is_version, split_version, version_id},
    view::Selection,
    words::{DocumentWords, WordStatistics, document_words},
};

/// Counts of documents, the documents that need vectors, and what searches must know of every one.
#[derive(Debug)]
pub(super) struct IndexStats {
    groups: BTreeMap<GroupKey, GroupStats>,
    /// The documents that need vectors, and the content hash of each.
    pending: BTreeMap<Box<str>, Box<str>>,
    names: Names,
    pub(super) facts: Facts,
    pub(super) ranking: RankingData,
}

/// Index statistics and what was found amiss while it was taken.
pub(super) struct Found {
    pub(super) stats: IndexStats,
    /// Documents, there or not, with passages of a text that is not their current one: an interrupted write left them.
    pub(super) stale: Vec<String>,
}

/// What is read of the documents while another core reads the passages.
struct Documents {
    groups: BTreeMap<GroupKey, GroupStats>,
    facts: Facts,
    /// The content hashes of all, one after the other, and of each document where its own ends.
    hashes: String,
    ends: Vec<(Name, usize)>,
}

impl Documents {
    async fn read(
        table: &Table,
        places: &Places,
        names: &Names,
        ranking: &Mutex<RankingData>,
    ) -> Result<Self, IndexError> {
        let mut read =
            Self { groups: BTreeMap::new(), facts: Facts::new(names.clone()), hashes: String::new(), ends: Vec::new() };
        let own = [ID, CONTENT_HASH, TERMS, WORDS, WORD_COUNTS, WORD_TOTAL, IMPORTANCE];
        let selected: Vec<&str> = own.into_iter().chain(FILTER_COLUMNS).collect();
        let mut batches = stream(table, &selected).await?;
        while let Some(batch) = batches.try_next().await.map_err(IndexError::store("read a table"))? {
            places.learn(&batch)?;
            let columns = Columns(&batch);
            let [ids, contents] = [columns.text(ID)?, columns.text(CONTENT_HASH)?];
            let importance = columns.float(IMPORTANCE)?;
            let (words, counts) = (columns.lists(WORDS)?, columns.lists(WORD_COUNTS)?);
            let counted = |row| (ids.value(row), numbers(words, row), numbers(counts, row));
            ranking.lock().put_words((0..batch.num_rows()).map(counted))?;
            for (row, (of, words)) in filterables(&batch)?.into_iter().zip(document_words(&batch)?).enumerate() {
                let (id, content_hash) = (ids.value(row), contents.value(row));
                if is_version(id) {
                    read.facts.insert_version(id, &of, importance.value(row))?;
                } else {
                    read.groups.entry((of.project.clone(), of.confidential)).or_default().add(of.kind, &words);
                    read.facts.insert(id, &of, importance.value(row), content_hash)?;
                }
                read.hashes.push_str(content_hash);
                read.ends.push((names.intern(id), read.hashes.len()));
            }
        }
        Ok(read)
    }
}

/// Reads the passages. Returns the documents that have some of another text than the others.
async fn read_passages(
    ranking: Arc<Mutex<RankingData>>,
    of: Option<(Table, Places)>,
) -> Result<HashSet<String>, IndexError> {
    let mut stale = HashSet::new();
    if let Some((table, places)) = of {
        let mut batches = stream(&table, &QUANTIZED_COLUMNS).await?;
        while let Some(batch) = batches.try_next().await.map_err(IndexError::store("read a table"))? {
            places.learn(&batch)?;
            stale.extend(ranking.lock().add(&batch)?);
        }
    }
    Ok(stale)
}

impl IndexStats {
    /// Reads both tables at the same time. `passages` is `None` if its vectors are of another model. What is too much for
    /// memory goes to a file in `directory`.
    pub(super) async fn compute(
        directory: &Path,
        names: &Names,
        (documents, places): (&Table, &Places),
        passages: Option<(&Table, &Places)>,
    ) -> Result<Found, IndexError> {
        let ranking = Arc::new(Mutex::new(RankingData::new(directory, names.clone())?));
        let passages = passages.map(|(table, places)| (table.clone(), places.clone()));
        // In a task of its own, so that the two can use a core each; it ends with this one.
        let mut tasks = JoinSet::new();
        tasks.spawn(read_passages(ranking.clone(), passages));
        let reading = Documents::read(documents, places, names, &ranking);
        let (documents, passages) = tokio::join!(reading, tasks.join_next());
        let Documents { groups, facts, hashes, ends } = documents?;
        let mut stale = match passages {
            Some(Ok(read)) => read?,
            Some(Err(failed)) if failed.is_panic() => resume_unwind(failed.into_panic()),
            Some(Err(failed)) => return Err(IndexError::store("read a table")(failed)),
            None => return Err(IndexError::store("read a table")("nobody read it")),
        };
        let ranking =
            Arc::into_inner(ranking).ok_or_else(|| IndexError::store("read a table")("it is still read"))?.into_inner();
        let mut stats = Self { groups, pending: BTreeMap::new(), names: names.clone(), facts, ranking };
        let mut begin = 0;
        for (id, end) in ends {
            let content_hash = &hashes[begin..end];
            begin = end;
            let id = names.read().of(id).to_owned();
            let passages = stats.ranking.count(&id);
            if let Some(group) = stats.group_of(&id) {
                group.passages += passages;
            }
            match stats.ranking.are_of(&id, content_hash) {
                Some(true) if !stale.contains(&id) => {}
                found => {
                    stats.add_pending(&id, content_hash);
                    stale.extend(found.map(|_| id));
                }
            }
        }
        let texts = names.read();
        let of_passages = stats.ranking.documents().filter(|id| !stats.facts.has(*id)).map(|id| texts.of(id));
        stale.extend(of_passages.filter(|id| stats.facts.get_version(id).is_none()).map(str::to_owned));
        drop(texts);
        let mut stale: Vec<_> = stale.into_iter().collect();
        stale.sort_unstable();
        Ok(Found { stats, stale })
    }

    /// Those of an image, but for its names.
    pub(super) fn restore(image: &Image, names: &Names) -> Result<Self, ImageError> {
        let mut facts = Facts::new(names.clone());
        let mut groups: BTreeMap<GroupKey, GroupStats> = BTreeMap::new();
        let mut keys: Vec<GroupKey> = Vec::new();
        for ImageGroup { project, confidential, words, digest } in image.groups()? {
            let key = (image.name(project).to_owned(), confidential);
            facts.restore_digest((project, confidential), digest);
            groups.insert(key.clone(), GroupStats { words, ..GroupStats::default() });
            keys.push(key);
        }
        restore_counts(image, &keys, &mut groups)?;
        facts.restore(image)?;
        let mut restored: Map<(Name, bool), RestoredGroup> = Map::default();
        for document in facts.documents() {
            *restored.entry(document.group()).or_default().documents.entry(document.kind).or_default() += 1;
        }
        let ranking = RankingData::restore(image, names.clone())?;
        for run in image.runs()? {
            let run = run?;
            if let Some(group) = facts.group_of(run.part.document).and_then(|group| restored.get_mut(&group)) {
                group.passages += u64::from(run.passages);
            }
        }
        for ((project, confidential), own) in restored {
            let group = groups.entry((image.name(project).to_owned(), confidential)).or_default();
            group.passages += own.passages;
            for (kind, documents) in own.documents {
                group.tallies.entry(kind).or_default().documents += documents;
            }
        }
        let pending = image.pending()?.map(|pending| pending.map(|(id, hash)| (id.into(), hash.into())));
        let pending = pending.collect::<Result<_, _>>()?;
        let mut stats = Self { groups, pending, names: names.clone(), facts, ranking };
        stats.count_pending();
        Ok(stats)
    }

    /// Adds to each group how many of its documents need vectors.
    fn count_pending(&mut self) {
        let mut counts: BTreeMap<(GroupKey, DocumentKind), u64> = BTreeMap::new();
        for id in self.pending.keys() {
            if let (Some(group), Some(kind)) = (self.facts.group_key(id), self.facts.kind_of(id)) {
                *counts.entry((group, kind)).or_default() += 1;
            }
        }
        for ((group, kind), count) in counts {
            self.groups.entry(group).or_default().tallies.entry(kind).or_default().pending += count;
        }
    }

    /// Adds them to an image. Returns the file with the bytes of passages, and how many of these there are.
    pub(super) fn save(&self, image: &mut ImageWriter) -> (Arc<File>, u64) {
        self.facts.save(image);
        for (group @ (project, confidential), digest) in self.facts.digests() {
            let key = (self.names.read().of(project).to_owned(), confidential);
            let Some(counted) = self.groups.get(&key) else { continue };
            let number = image.add_group(group, counted.words, digest);
            for (of_full_text, counts) in [(false, &counted.frequencies), (true, &counted.word_frequencies)] {
                counts.iter().for_each(|(term, count)| image.add_count(number, of_full_text, *term, *count));
            }
        }
        self.pending.iter().for_each(|(id, hash)| image.add_pending(self.names.intern(id), hash));
        self.ranking.save(image)
    }

    /// How many documents there are, those of versions included.
    pub(super) fn document_count(&self) -> usize {
        self.facts.count()
    }

    fn group(&mut self, project: &str, confidential: bool) -> &mut GroupStats {
        self.groups.entry((project.to_owned(), confidential)).or_default()
    }

    /// The group of a document that is there.
    fn group_of(&mut self, id: &str) -> Option<&mut GroupStats> {
        self.groups.get_mut(&self.facts.group_key(id)?)
    }

    /// Takes in a document that is new, or is there with other content. Its passages stay counted. Versions beside the
    /// current documents are in no count.
    pub(super) fn put(
        &mut self,
        id: &str,
        of: &Filterable,
        words: &DocumentWords,
        (importance, content_hash): (f32, &str),
    ) -> Result<(), IndexError> {
        if is_version(id) {
            return self.facts.insert_version(id, of, importance);
        }
        self.add(id, of, words);
        self.facts.insert(id, of, importance, content_hash)
    }

    /// Counts a document that is new, or is there with other content.
    fn add(&mut self, id: &str, of: &Filterable, words: &DocumentWords) {
        let passages = self.ranking.count(id);
        let is_pending = self.pending.contains_key(id);
        let group = self.group(&of.project, of.confidential);
        group.add(of.kind, words);
        group.tallies.entry(of.kind).or_default().pending += u64::from(is_pending);
        group.passages += passages;
    }

    /// Takes a document out of the counts, which is gone or [put](Self::put) again as it is by now.
    pub(super) fn remove(&mut self, id: &str, of: &Filterable, words: &DocumentWords) {
        if is_version(id) {
            return;
        }
        let passages = self.ranking.count(id);
        let is_pending = self.pending.contains_key(id);
        let key = (of.project.clone(), of.confidential);
        let Some(group) = self.groups.get_mut(&key) else { return };
        let tally = group.tallies.entry(of.kind).or_default();
        tally.documents = tally.documents.saturating_sub(1);
        tally.pending = tally.pending.saturating_sub(u64::from(is_pending));
        group.passages = group.passages.saturating_sub(passages);
        group.words = group.words.saturating_sub(words.total);
        for (counts, found) in [(&mut group.frequencies, &words.terms), (&mut group.word_frequencies, &words.words)] {
            for term in found {
                if let Some(count) = counts.get_mut(term) {
                    *count -= 1;
                    if *count == 0 {
                        counts.remove(term);
                    }
                }
            }
        }
    }

    /// In how many of the visible documents of projects a term occurs.
    pub(super) fn frequency(&self, projects: ProjectScope<'_>, selection: Selection<'_>, term: TermId) -> u64 {
        self.sum(projects, selection, |group| group.frequencies.get(&term).copied().map_or(0, u64::from))
    }

    /// How many visible documents projects have.
    pub(super) fn documents(&self, projects: ProjectScope<'_>, selection: Selection<'_>) -> u64 {
        self.sum(projects, selection, GroupStats::documents)
    }

    /// How often words of full-text search occur in the visible documents of projects.
    pub(super) fn word_statistics(
        &self,
        projects: ProjectScope<'_>,
        selection: Selection<'_>,
        words: &[TermId],
    ) -> WordStatistics {
        let frequency = |word: &TermId| {
            let count = |group: &GroupStats| group.word_frequencies.get(word).copied().map_or(0, u64::from);
            (*word, self.sum(projects, selection, count))
        };
        WordStatistics {
            documents: self.documents(projects, selection),
            total: self.sum(projects, selection, |group| group.words),
            frequencies: words.iter().map(frequency).collect(),
        }
    }

    /// A sum over the visible documents of projects: of the current ones, without those that a view has not, and with those
    /// that it has besides.
    fn sum(&self, projects: ProjectScope<'_>, selection: Selection<'_>, count: impl Fn(&GroupStats) -> u64) -> u64 {
        let of = |groups: &BTreeMap<GroupKey, GroupStats>| -> u64 {
            visible(groups, projects, selection.visibility).map(&count).sum()
        };
        let current = of(&self.groups);
        match selection.view {
            None => current,
            Some(view) => (current + of(&view.added)).saturating_sub(of(&view.removed)),
        }
    }

    /// A document that is counted needs vectors.
    pub(super) fn add_pending(&mut self, id: &str, content_hash: &str) {
        if self.pending.insert(id.into(), content_hash.into()).is_none()
            && let Some(kind) = self.facts.kind_of(id)
            && let Some(group) = self.group_of(id)
        {
            group.tallies.entry(kind).or_default().pending += 1;
        }
    }

    /// A document has its vectors, or is gone.
    pub(super) fn remove_pending(&mut self, id: &str) {
        if self.pending.remove(id).is_some()
            && let Some(kind) = self.facts.kind_of(id)
            && let Some(group) = self.group_of(id)
        {
            let tally = group.tallies.entry(kind).or_default();
            tally.pending = tally.pending.saturating_sub(1);
        }
    }

    pub(super) fn is_pending(&self, id: &str) -> bool {
        self.pending.contains_key(id)
    }

    /// A document has more passages.
    pub(super) fn passages_added(&mut self, id: &str, count: u64) {
        if let Some(group) = self.group_of(id) {
            group.passages += count;
        }
    }

    /// The passages of documents are gone.
    pub(super) fn passages_removed(&mut self, documents: &[&str]) -> Result<(), IndexError> {
        for id in documents {
            let count = self.ranking.count(id);
            if let Some(group) = self.group_of(id) {
                group.passages = group.passages.saturating_sub(count);
            }
        }
        self.ranking.remove(documents)
    }

    /// In the order of their ids, those after `after`.
    pub(super) fn pending(&self, after: Option<&str>, limit: usize) -> Vec<PendingDocument> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let range = self.pending.range::<str, _>((from, Bound::Unbounded));
        range.filter_map(|(id, content_hash)| self.pending_document(id, content_hash)).take(limit).collect()
    }

    fn pending_document(&self, id: &str, content_hash: &str) -> Option<PendingDocument> {
        let of = self.facts.get(id).or_else(|| self.facts.get_version(id).cloned())?;
        // Of a version facts name the thread without it.
        let thread = match split_version(id) {
            (_, Some(version)) => version_id(&of.thread, version),
            (_, None) => of.thread.to_string(),
        };
        Some(PendingDocument {
            id: id.to_owned(),
            kind: of.kind,
            project: of.project.to_string(),
            thread,
            content_hash: content_hash.to_owned(),
        })
    }

    /// Says which names it has.
    pub(super) fn mark_names(&self, used: &mut [bool]) {
        self.facts.mark_names(used);
        self.ranking.names().for_each(|name| used[name as usize] = true);
    }

    /// Of the visible documents of projects.
    pub(super) fn coverage(&self, projects: ProjectScope<'_>, selection: Selection<'_>) -> Coverage {
        let (mut tallies, mut passages) = (BTreeMap::<DocumentKind, KindCounts>::new(), 0);
        for group in visible(&self.groups, projects, selection.visibility) {
            passages += group.passages;
            for (kind, tally) in &group.tallies {
                let sum = tallies.entry(*kind).or_default();
                sum.documents += tally.documents;
                sum.pending += tally.pending;
            }
        }
        if let Some(view) = selection.view {
            let is_visible = |of: &&DocumentFacts| {
                projects.contain(&of.project) && selection.visibility.allows(&of.project, of.confidential)
            };
            // Vectors come without a change of the documents, so what is counted of these is not remembered.
            for id in &view.hidden_documents {
                let Some(of) = self.facts.get(id).filter(|of| is_visible(&of)) else { continue };
                let sum = tallies.entry(of.kind).or_default();
                sum.documents = sum.documents.saturating_sub(1);
                sum.pending = sum.pending.saturating_sub(u64::from(self.is_pending(id)));
                passages = passages.saturating_sub(self.ranking.count(id));
            }
            for row in view.rows.values() {
                let Some(of) = self.facts.get_version(row).filter(is_visible) else { continue };
                let sum = tallies.entry(of.kind).or_default();
                sum.documents += 1;
                sum.pending += u64::from(self.is_pending(row));
                passages += self.ranking.count(row);
            }
        }
        covered(&tallies, passages)
    }
}

/// What the documents of an image add to their group. It is put together before that is touched: to name the group for each
/// document would take longer than all else.
#[derive(Default)]
struct RestoredGroup {
    documents: BTreeMap<DocumentKind, u64>,
    passages: u64,
}

/// Takes over how often terms occur in the documents of groups.
fn restore_counts(
    image: &Image,
    keys: &[GroupKey],
    groups: &mut BTreeMap<GroupKey, GroupStats>,
) -> Result<(), ImageError> {
    // Those of a group stand together.
    let mut counts = image.counts()?.peekable();
    while let Some((number, ..)) = counts.peek().copied() {
        let group = keys.get(number).and_then(|key| groups.get_mut(key));
        let group = group.ok_or(ImageError::Damaged("the number of a group"))?;
        while let Some((_, of_full_text, term, count)) = counts.next_if(|(own, ..)| *own == number) {
            let counts = if of_full_text { &mut group.word_frequencies } else { &mut group.frequencies };
            counts.insert(term, count);
        }
    }
    Ok(())
}

/// The groups of projects that are visible.
fn visible<'a>(
    groups: &'a BTreeMap<GroupKey, GroupStats>,
    projects: ProjectScope<'a>,
    visibility: &'a Visibility,
) -> impl Iterator<Item = &'a GroupStats> {
    let is_visible = move |(project, confidential): &GroupKey| {
        visibility.allows(project, *confidential) && projects.contain(project)
    };
    groups.iter().filter(move |(key, _)| is_visible(key)).map(|(_, group)| group)
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
