//! Projection: applies the ledger's changes to graph, lists and index, in order, each from its own sequence number.
//!
//! Graph and lists get each batch of changes one right after the other, and while only one of them has it, the lock
//! `Shared::uneven` is held. So a reader can tell that it read both at one sequence number, see
//! [`Resources::at_one_sequence_number`].
//!
//! Issues, merge requests and files become documents for the index here; which facts become quads is up to
//! `store::graph`, which become rows up to `store::lists`. The other direction, from forges into the ledger, is [`sync`](crate::sync).

use std::collections::{BTreeSet, HashMap, HashSet};

use backstory_model::{
    commit::Sha,
    digest::sha256_hex,
    document,
    entity::{Item, ItemKind},
    id::{NodeId, ThreadId, ThreadKind},
    numbers::SharedNumbers,
    repository::{Record, RepositoryItem},
};
use backstory_sources::code::passages;
use backstory_store::{
    graph::{Graph, GraphChange},
    index::{Index, ThreadDocuments, split_version, version_id},
    ledger::StoredItem,
    lists::{Lists, TableDigest},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    clones::{clean_text, has_clone, open_objects},
    error::Result,
    quarantine::quarantine_unreadable,
    read::parse_discussions,
    records::{load_origin, parse_item, repository_record},
    resources::{Resources, blocking},
    revisions::{Version, needed_versions, read_version},
    task::Reporter,
};

/// Most changes that are applied at once.
const BATCH: usize = 1000;
/// Most issues and merge requests, with all their discussions, whose documents are made at once.
const THREAD_BATCH: usize = 250;
/// Texts that go into the index at once, in bytes. Each write reads all files of the table, and adds one.
const INDEX_BATCH: usize = 4 << 20;
/// Notes in the ledger that documents of a project's files were left out because its clone was missing.
const FILES_WITHOUT_CLONE: &str = "files without clone";
/// Largest file that is read for its documents, in bytes; the sync reads none that is larger.
const MAX_FILE: u64 = 4 << 20;

/// A digest of the contents of graph and lists: equal contents have equal digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectionDigest {
    /// That of both, 64 hex digits.
    pub digest: String,
    /// That of the graph.
    pub graph: String,
    /// How many statements it covers.
    pub quads: u64,
    /// That of the lists.
    pub lists: String,
    /// How many rows it covers.
    pub rows: u64,
}

/// Makes the documents of files that were left out because the clone was missing, of projects whose clone is back.
pub(crate) async fn index_files_of_returned_clones(resources: &Resources) -> Result<()> {
    let returned = resources.blocking(projects_with_returned_clone).await?;
    for project in returned {
        index_files(resources, Some(&project)).await?;
        // Only now: if this ends before, the next one begins again.
        resources.with_ledger(move |ledger| ledger.put_aggregate(&project, FILES_WITHOUT_CLONE, b"false")).await?;
    }
    Ok(())
}

fn projects_with_returned_clone(resources: &Resources) -> Result<Vec<String>> {
    let mut returned = Vec::new();
    for entry in resources.ledger().repositories()? {
        if lacks_file_documents(resources, &entry.project)? && open_objects(resources, &entry.project).is_ok() {
            returned.push(entry.project);
        }
    }
    Ok(returned)
}

/// Whether documents of a project's files were left out because its clone was missing.
fn lacks_file_documents(resources: &Resources, project: &str) -> Result<bool> {
    Ok(resources.ledger().aggregate(project, FILES_WITHOUT_CLONE)?.is_some_and(|noted| noted == b"true"))
}

/// Brings the graph and the lists up to the ledger. The caller keeps others from projecting.
pub(crate) async fn project_graph_and_lists(resources: &Resources, reporter: Option<&Reporter>) -> Result<()> {
    // First: what has to be projected again is also found in what the caller may not see.
    let resources = resources.with_full_visibility();
    let (graph, lists, reporter) = (resources.graph(), resources.ledger().lists(), reporter.cloned());
    resources
        .blocking(move |resources| {
            let target = Target { graph: Some(&graph), lists: Some(&lists), reporter: reporter.as_ref() };
            target.apply(resources)
        })
        .await
}

/// Brings a graph that nobody reads yet up to the ledger.
pub(crate) async fn project_graph(resources: &Resources, graph: Graph) -> Result<()> {
    let resources = resources.with_full_visibility();
    resources
        .blocking(move |resources| Target { graph: Some(&graph), lists: None, reporter: None }.apply(resources))
        .await
}

/// Fills the lists from scratch with what the ledger has, and says up to which sequence number. The old ones answer until
/// that is done.
pub(crate) async fn refill_lists(resources: &Resources) -> Result<u64> {
    let resources = resources.with_full_visibility();
    resources
        .blocking(|resources| {
            let lists = resources.ledger().lists();
            load(resources, Target { graph: None, lists: Some(&lists), reporter: None }, &SharedNumbers::default())
        })
        .await
}

/// The projections that get each item itself, and who is told how far they are.
#[derive(Clone, Copy)]
struct Target<'a> {
    graph: Option<&'a Graph>,
    lists: Option<&'a Lists>,
    reporter: Option<&'a Reporter>,
}

impl Target<'_> {
    /// Applies what the ledger has more. One that is behind the other catches up first.
    fn apply(self, resources: &Resources) -> Result<()> {
        let end = resources.ledger().last_seq()?;
        let mut graph_seq = self.graph.map(Graph::applied_seq).transpose()?;
        let mut lists_seq = self.lists.map(Lists::applied_seq).transpose()?;
        if [graph_seq, lists_seq].into_iter().flatten().all(|seq| seq == end) {
            return Ok(());
        }
        let is_uneven = |graph: Option<u64>, lists: Option<u64>| graph.zip(lists).is_some_and(|(a, b)| a != b);
        let mut numbers = if self.graph.is_some() { shared_numbers(resources)? } else { SharedNumbers::default() };
        let mut uneven = is_uneven(graph_seq, lists_seq).then(|| resources.shared.uneven.blocking_write());
        let (new_graph, new_lists) = (graph_seq == Some(0), lists_seq == Some(0));
        if new_graph || new_lists {
            let new = Self {
                graph: self.graph.filter(|_| new_graph),
                lists: self.lists.filter(|_| new_lists),
                reporter: self.reporter,
            };
            let end = load(resources, new, &numbers)?;
            graph_seq = if new_graph { Some(end) } else { graph_seq };
            lists_seq = if new_lists { Some(end) } else { lists_seq };
        }
        let mut seq = [graph_seq, lists_seq].into_iter().flatten().min().unwrap_or(end);
        let target = self.begin_phase(end.saturating_sub(seq));
        loop {
            let stored = resources.ledger().changes_after(seq, BATCH)?;
            let Some(last) = stored.last() else { return Ok(()) };
            let applied = last.seq - seq;
            seq = last.seq;
            let mut changes = item_changes(resources, &stored);
            if let Some(graph) = self.graph {
                update_numbers(resources, &stored, &mut numbers);
                let renumbered = items_mentioning_renumbered(resources, graph, &stored, &numbers)?;
                changes.extend(item_changes(resources, &renumbered));
            }
            if self.graph.is_some() && self.lists.is_some() && uneven.is_none() {
                uneven = Some(resources.shared.uneven.blocking_write());
            }
            if let Some(graph) = self.graph.filter(|_| graph_seq < Some(seq)) {
                graph.apply(&changes, &numbers, seq)?;
                graph_seq = Some(seq);
            }
            if let Some(lists) = self.lists.filter(|_| lists_seq < Some(seq)) {
                lists.apply(&changes, seq)?;
                lists_seq = Some(seq);
            }
            if !is_uneven(graph_seq, lists_seq) {
                uneven = None;
            }
            target.advance(applied);
        }
    }

    /// Says that so many changes are ahead. A few are not worth it: then nothing is said of them at all.
    fn begin_phase(self, changes: u64) -> Self {
        let reporter = self.reporter.filter(|_| changes > BATCH as u64);
        if let Some(reporter) = reporter {
            reporter.phase("graph and lists", Some(changes));
        }
        Self { reporter, ..self }
    }

    fn advance(self, by: u64) {
        if let Some(reporter) = self.reporter {
            reporter.advance(by);
        }
    }
}

/// Fills empty projections with what the ledger has now, and says up to which sequence number. What changes meanwhile
/// gets a later number and is applied after it, so that no item is loaded twice.
fn load(resources: &Resources, target: Target<'_>, numbers: &SharedNumbers) -> Result<u64> {
    let end = resources.ledger().last_seq()?;
    if end == 0 {
        return Ok(end);
    }
    let mut graph_load = target.graph.map(Graph::begin_bulk_load);
    let mut lists_load = target.lists.map(Lists::load).transpose()?;
    let mut seq = 0;
    let target = target.begin_phase(end);
    while seq < end {
        let mut stored = resources.ledger().changes_after(seq, BATCH)?;
        stored.retain(|stored| stored.seq <= end);
        let Some(last) = stored.last() else { break };
        let loaded = last.seq - seq;
        seq = last.seq;
        let changes = item_changes(resources, &stored);
        if let Some(load) = &mut graph_load {
            load.add(&changes, numbers)?;
        }
        if let Some(load) = &mut lists_load {
            load.add(&changes)?;
        }
        target.advance(loaded);
    }
    if let Some(reporter) = target.reporter {
        reporter.phase("writing graph and lists", None);
    }
    // Where one of them is filled alone, the caller keeps it from those who read both.
    let is_both = graph_load.is_some() && lists_load.is_some();
    let _uneven = is_both.then(|| resources.shared.uneven.blocking_write());
    if let Some(load) = graph_load {
        load.commit(end)?;
    }
    if let Some(load) = lists_load {
        load.commit(end)?;
    }
    Ok(end)
}

/// The digests of the lists as they would be if they were filled from scratch, and up to which sequence number that is.
pub(crate) fn expected_list_digests(resources: &Resources) -> Result<(u64, Vec<TableDigest>)> {
    let mut load = resources.ledger().lists().load()?;
    let mut seq = 0;
    loop {
        let stored = resources.ledger().changes_after(seq, BATCH)?;
        let Some(last) = stored.last() else { break };
        seq = last.seq;
        load.add(&item_changes(resources, &stored))?;
    }
    Ok((seq, load.into_digests()?))
}

/// What the numbers stand for of projects whose issues and merge requests share them.
fn shared_numbers(resources: &Resources) -> Result<SharedNumbers> {
    let mut numbers = SharedNumbers::default();
    for item in resources.ledger().items_of_kind(ItemKind::Project)? {
        if !shares_numbers(resources, &item.project) {
            continue;
        }
        numbers.add_project(&item.project);
        for kind in [ThreadKind::Issue, ThreadKind::MergeRequest] {
            for key in resources.ledger().keys(&item.project, kind.into())? {
                if let Some(thread) = thread_of(&item.project, kind, &key) {
                    numbers.set(&thread, true);
                }
            }
        }
    }
    Ok(numbers)
}

/// Whether issues and merge requests of a project share their numbers; of one that cannot be told apart nothing is in
/// the graph.
fn shares_numbers(resources: &Resources, project: &str) -> bool {
    load_origin(resources, project).is_ok_and(|origin| origin.forge.shares_numbers())
}

/// Takes in which numbers the changed items have or had.
fn update_numbers(resources: &Resources, stored: &[StoredItem], numbers: &mut SharedNumbers) {
    for item in stored {
        let is_there = item.payload.is_some();
        if item.kind == ItemKind::Project && is_there && shares_numbers(resources, &item.project) {
            numbers.add_project(&item.project);
        }
        if let Some(id) = thread(item) {
            numbers.set(&id, is_there);
        }
    }
}

/// The items whose texts call by number what these changes made something else: an issue or merge request that came
/// or went. Otherwise the graph would depend on the order in which things became known.
fn items_mentioning_renumbered(
    resources: &Resources,
    graph: &Graph,
    stored: &[StoredItem],
    numbers: &SharedNumbers,
) -> Result<Vec<StoredItem>> {
    let mut concerned: BTreeSet<(String, ItemKind, String)> = BTreeSet::new();
    for thread in stored.iter().filter_map(thread).filter(|thread| numbers.contains_project(&thread.project)) {
        let id = NodeId::Thread(thread);
        if *numbers.resolve(&id) == id {
            concerned.extend(graph.items_mentioning(&id.with_other_thread_kind())?);
        }
        if *numbers.resolve(&id.with_other_thread_kind()) == id.with_other_thread_kind() {
            concerned.extend(graph.items_mentioning(&id)?);
        }
    }
    let is_changed = |item: &StoredItem| stored.iter().any(|changed| changed.seq == item.seq);
    let mut found = Vec::new();
    for (project, kind, key) in concerned {
        found.extend(resources.ledger().item(&project, kind, &key)?.filter(|item| !is_changed(item)));
    }
    Ok(found)
}

fn item_changes(resources: &Resources, stored: &[StoredItem]) -> Vec<GraphChange> {
    stored.iter().map(|stored| item_change(resources, stored)).collect()
}

/// An item that cannot be read is in neither graph nor lists; it is put aside, so that it is asked for again.
fn item_change(resources: &Resources, stored: &StoredItem) -> GraphChange {
    let item = stored.payload.as_ref().and_then(|_| match parse_item(resources, stored) {
        Ok(item) => Some(item),
        Err(error) => {
            tracing::warn!(%error, "an item is left out of the graph and the lists");
            if let Err(error) = quarantine_unreadable(resources, std::slice::from_ref(stored)) {
                tracing::warn!(%error, "an item cannot be put aside");
            }
            None
        }
    });
    let (project, kind, key) = (stored.project.clone(), stored.kind, stored.key.clone());
    GraphChange { project, kind, key, confidential: stored.confidential, item }
}

/// Brings an index up to the ledger.
pub(crate) async fn project_index(resources: &Resources, index: &Index, reporter: Option<&Reporter>) -> Result<()> {
    let resources = resources.with_full_visibility();
    let mut seq = index.applied_seq().await?;
    let last_seq = resources.with_ledger(|ledger| ledger.last_seq()).await?;
    if let Some(reporter) = reporter.filter(|_| seq < last_seq) {
        reporter.phase("indexing", Some(last_seq - seq));
    }
    loop {
        let (threads, applied) = next_threads(&resources, seq).await?;
        if applied == seq {
            return project_versions(&resources, index).await;
        }
        // What was said of them before may be confidential now.
        for batch in versions_of(index, &threads).chunks(THREAD_BATCH) {
            index.apply(documents_of(&resources, batch.to_vec()).await?, seq).await?;
        }
        let last = index_all_but_last(&resources, index, &threads, seq).await?;
        // Recorded as applied only with the last of these changes.
        index.apply(last, applied).await?;
        if let Some(reporter) = reporter {
            reporter.advance(applied - seq);
        }
        seq = applied;
    }
}

/// Makes the documents of threads and writes them, [`INDEX_BATCH`] at a time; the last ones are left to the caller.
async fn index_all_but_last(
    resources: &Resources,
    index: &Index,
    threads: &[(String, String)],
    seq: u64,
) -> Result<Vec<ThreadDocuments>> {
    let mut waiting = Vec::new();
    for batch in threads.chunks(THREAD_BATCH) {
        if text_bytes(&waiting) >= INDEX_BATCH {
            index.apply(std::mem::take(&mut waiting), seq).await?;
        }
        waiting.extend(documents_of(resources, batch.to_vec()).await?);
    }
    Ok(waiting)
}

fn text_bytes(threads: &[ThreadDocuments]) -> usize {
    let parts = threads.iter().flat_map(|thread| &thread.documents).flat_map(|document| &document.parts);
    parts.map(|part| part.body.len()).sum()
}

/// Brings the versions beside the current documents to what is needed, once less is.
pub(crate) async fn drop_versions(resources: &Resources) -> Result<()> {
    let _one_at_a_time = resources.shared.projecting.lock().await;
    let resources = resources.with_full_visibility();
    project_versions(&resources, &resources.index()).await
}

/// The versions that the index has of threads.
fn versions_of(index: &Index, threads: &[(String, String)]) -> Vec<(String, String)> {
    let known = index.version_threads();
    if known.is_empty() {
        return Vec::new();
    }
    let projects: HashMap<String, &String> =
        threads.iter().map(|(project, thread)| (format!("{project}{thread}"), project)).collect();
    let version = |id: &String| {
        let project = *projects.get(split_version(id).0)?;
        Some((project.clone(), id[project.len()..].to_owned()))
    };
    known.iter().filter_map(version).collect()
}

/// Brings the versions beside the current documents to what revisions and recorded states of the index need.
async fn project_versions(resources: &Resources, index: &Index) -> Result<()> {
    let needed = resources.blocking(needed_versions).await?;
    let known = index.version_threads();
    let id = |(project, key): &(String, String)| format!("{project}{key}");
    let ids: HashSet<String> = needed.iter().map(id).collect();
    let gone = known.iter().filter(|thread| !ids.contains(*thread));
    let gone: Vec<ThreadDocuments> =
        gone.map(|thread| ThreadDocuments { thread: thread.clone(), documents: vec![] }).collect();
    let new: Vec<(String, String)> = needed.into_iter().filter(|version| !known.contains(&id(version))).collect();
    if gone.is_empty() && new.is_empty() {
        return Ok(());
    }
    let seq = index.applied_seq().await?;
    for batch in gone.chunks(THREAD_BATCH) {
        index.apply(batch.to_vec(), seq).await?;
    }
    let mut last = index_all_but_last(resources, index, &new, seq).await?;
    // Versions without documents stay unknown to the index, and are no reason to write each time.
    last.retain(|thread| !thread.documents.is_empty());
    if !last.is_empty() {
        index.apply(last, seq).await?;
    }
    Ok(())
}

/// Brings the documents of files to what their texts are shown as now, which has changed without the ledger.
pub(crate) async fn reindex_files(resources: &Resources) -> Result<()> {
    let _one_at_a_time = resources.shared.projecting.lock().await;
    index_files(resources, None).await
}

/// Makes the documents of all files again, or of those of one project.
async fn index_files(resources: &Resources, project: Option<&str>) -> Result<()> {
    let index = resources.index();
    let seq = index.applied_seq().await?;
    let project = project.map(str::to_owned);
    let known = index.version_threads();
    let threads = resources
        .blocking(move |resources| {
            let is_wanted = |of: &str| project.as_ref().is_none_or(|project| of == project);
            let files = resources.ledger().items_of_kind(ItemKind::File)?.into_iter();
            let files = files.filter_map(|file| Some((file.project, file.thread?)));
            let versions = needed_versions(resources)?.into_iter();
            let versions = versions.filter(|(project, key)| known.contains(&format!("{project}{key}")));
            Ok(files.chain(versions).filter(|(project, _)| is_wanted(project)).collect::<Vec<_>>())
        })
        .await?;
    let last = index_all_but_last(resources, &index, &threads, seq).await?;
    if !last.is_empty() {
        index.apply(last, seq).await?;
    }
    Ok(())
}

/// The issues and merge requests that the next changes concern, and the sequence number these changes reach.
async fn next_threads(resources: &Resources, seq: u64) -> Result<(Vec<(String, String)>, u64)> {
    resources
        .with_ledger(move |ledger| {
            let changes = ledger.changed_threads_after(seq, BATCH * 4)?;
            let last = changes.last().map_or(seq, |change| change.0);
            let threads: BTreeSet<(String, String)> =
                changes.into_iter().filter_map(|(_, project, thread)| Some((project, thread?))).collect();
            Ok((threads.into_iter().collect(), last))
        })
        .await
}

/// The documents of issues and merge requests as the ledger has them now; of a key with a version as they were or are there.
pub(crate) async fn documents_of(
    resources: &Resources,
    threads: Vec<(String, String)>,
) -> Result<Vec<ThreadDocuments>> {
    resources
        .blocking(move |resources| {
            threads
                .into_iter()
                .map(|(project, key)| {
                    let documents = match split_version(&key) {
                        (thread, None) => thread_documents(resources, &resources.ledger().thread(&project, thread)?),
                        (thread, Some(version)) => version_documents(resources, &project, thread, version)?,
                    };
                    Ok(ThreadDocuments { documents, thread: format!("{project}{key}") })
                })
                .collect()
        })
        .await
}

/// The documents of one issue or merge request and its discussions; none if it is gone or cannot be read.
pub(crate) fn thread_documents(resources: &Resources, items: &[StoredItem]) -> Vec<document::Document> {
    let own = items
        .iter()
        .find(|item| matches!(item.kind, ItemKind::Issue | ItemKind::MergeRequest | ItemKind::Commit | ItemKind::File));
    let read = || {
        let Some(own) = own else { return Ok(vec![]) };
        let discussions = parse_discussions(resources, items);
        Ok(match parse_item(resources, own)? {
            Item::Issue(issue) => document::issue_documents(&issue, &discussions),
            Item::MergeRequest(mr) => document::merge_request_documents(&mr, &discussions),
            Item::Repository(of) => code_documents(resources, &of)?,
            _ => vec![],
        })
    };
    read().unwrap_or_else(|error: crate::error::Error| {
        tracing::warn!(%error, "an item is left out of the index");
        vec![]
    })
}

/// The documents of a version of a thread, with ids of that version; none if it is not known any more.
fn version_documents(
    resources: &Resources,
    project: &str,
    thread: &str,
    version: &str,
) -> Result<Vec<document::Document>> {
    let mut documents = match Version::parse(version) {
        Some(Version::Recorded(seq)) => {
            thread_documents(resources, &resources.ledger().thread_at(project, thread, seq)?)
        }
        Some(Version::File { blob, changed_at }) => {
            let Ok(NodeId::File { path, .. }) = format!("{project}{thread}").parse() else { return Ok(vec![]) };
            file_documents_at(resources, project, &path, (blob, changed_at)).unwrap_or_else(|error| {
                tracing::warn!(%error, "a version of a file is left out of the index");
                vec![]
            })
        }
        None => vec![],
    };
    for document in &mut documents {
        document.id = version_id(&document.id, version);
    }
    Ok(documents)
}

/// The documents of a file with some content.
fn file_documents_at(
    resources: &Resources,
    project: &str,
    path: &str,
    version: (Sha, Timestamp),
) -> Result<Vec<document::Document>> {
    let Some(repository) = repository_record(resources, project)? else { return Ok(vec![]) };
    let file = read_version(resources, project, &*open_objects(resources, project)?, path, version)?;
    let record = Record::File(Box::new(file));
    code_documents(resources, &RepositoryItem { project: project.to_owned(), repository, record })
}

/// The documents of a commit or file.
fn code_documents(resources: &Resources, of: &RepositoryItem) -> Result<Vec<document::Document>> {
    match &of.record {
        Record::Commit(record) => Ok(document::commit_document(record, of.context()).into_iter().collect()),
        Record::File(file) => {
            let Some(analysis) = &file.analysis else { return Ok(vec![]) };
            if !has_clone(resources, &of.project) && !lacks_file_documents(resources, &of.project)? {
                resources.ledger().put_aggregate(&of.project, FILES_WITHOUT_CLONE, b"true")?;
            }
            let bytes = open_objects(resources, &of.project)?.blob(file.blob, MAX_FILE)?;
            // What is stored must hold no secret, wherever it comes from.
            let text = clean_text(resources, &bytes);
            let passages = passages(analysis, &text, resources.settings().chunks);
            let revision = of.repository.default_branch.as_ref().map_or("HEAD", |branch| branch.as_str());
            Ok(document::file_documents(file, &text, &passages, of.context(), revision))
        }
        _ => Ok(vec![]),
    }
}

/// The issue or merge request that a stored item is or was.
fn thread(item: &StoredItem) -> Option<ThreadId> {
    let kind = match item.kind {
        ItemKind::Issue => ThreadKind::Issue,
        ItemKind::MergeRequest => ThreadKind::MergeRequest,
        _ => return None,
    };
    thread_of(&item.project, kind, &item.key)
}

fn thread_of(project: &str, kind: ThreadKind, key: &str) -> Option<ThreadId> {
    let iid = key.strip_prefix(kind.sigil())?.parse().ok()?;
    Some(ThreadId { project: project.to_owned(), kind, iid })
}

/// The digest of what graph and lists show to the reader.
///
/// # Errors
/// One of them cannot be read.
pub(crate) async fn projection_digest(resources: &Resources) -> Result<ProjectionDigest> {
    let graph = resources.graph();
    let (graph, quads) = blocking(move || Ok(graph.digest()?)).await?;
    let tables = resources.with_lists(|lists, visibility| lists.digests(visibility)).await?;
    let rows = tables.iter().map(|table| table.rows).sum();
    let lines: Vec<String> = tables.iter().map(|table| format!("{} {}", table.table, table.digest)).collect();
    let lists = sha256_hex(&lines.join("\n"));
    Ok(ProjectionDigest { digest: sha256_hex(&format!("{graph}\n{lists}")), graph, quads, lists, rows })
}
