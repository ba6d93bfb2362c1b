//! The files at the indexed head: what they contain, what they refer to, and how central they are.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use backstory_model::{
    code::{FileAnalysis, TestRole},
    commit::{RepoPath, Sha},
    entity::ItemKind,
    id::NodeId,
    rank::{PageRankSettings, WeightedEdge, pagerank},
    repository::{CodeLink, CodeLinkKind, CodeRanks, FileTest, HeadFile, ResolvedFileLinks, code_key},
    test_files::TestIndex,
};
use backstory_sources::{
    code::{LinkKind, resolve},
    git::objects::{Objects, TreeFile, TreeListing},
};
use backstory_store::ledger::IngestBatch;
use jiff::Timestamp;
use parking_lot::Mutex;
use petgraph::graph::{DiGraph, NodeIndex};

use super::{left_out::record_left_out_files, thread_key, work::RepositorySync};
use crate::{
    clones::open_objects,
    error::{Error, Result},
    revisions::read_file,
};

/// Key of the one record of what is central in a repository.
pub(super) const IMPORTANCE: &str = "code";
/// Most files of a tree.
pub(super) const MAX_FILES: usize = 1_000_000;
/// Files that are read and written at once.
const BATCH: usize = 256;
/// Files of the ledger that are read at once.
const PAGE: usize = 500;
/// Files and entities whose rank is kept.
const MAX_RANKED: usize = 5_000;
/// Ranks are told in this part of one.
const MILLIONTHS: f64 = 1_000_000.0;

/// Brings the files of the ledger to a commit. Those are read that `touched` names and those that differ from
/// `before`; `times` are those of their newest changes.
pub(super) fn update_head_files(
    sync: &mut RepositorySync<'_>,
    before: Option<Sha>,
    head: Sha,
    touched: &HashSet<&RepoPath>,
    times: &BTreeMap<RepoPath, Timestamp>,
) -> Result<()> {
    let objects = open_objects(sync.resources, sync.project)?;
    let mut listing = objects.list(head, MAX_FILES)?;
    let secret = remove_secret_paths(sync, &mut listing);
    record_left_out_files(sync, &listing, &secret)?;
    let files: Vec<TreeFile> = listing.files.into_iter().filter(|file| file.mode.is_file()).collect();
    let known: HashMap<RepoPath, Sha> = match before {
        Some(before) => objects.list(before, MAX_FILES)?.files.into_iter().map(|file| (file.path, file.id)).collect(),
        None => HashMap::new(),
    };
    let stored: BTreeSet<String> = sync.resources.ledger().keys(sync.project, ItemKind::File)?.into_iter().collect();
    let is_current = |file: &&TreeFile| {
        known.get(&file.path) == Some(&file.id) && !touched.contains(&file.path) && stored.contains(file.path.as_str())
    };
    let changed: Vec<&TreeFile> = files.iter().filter(|file| !is_current(file)).collect();
    sync.reporter.phase(format!("{} files", sync.project), Some(changed.len() as u64));
    for batch in changed.chunks(BATCH) {
        let read = read_files(sync, &objects, batch, times)?;
        let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
        for file in read {
            let thread = thread_key(sync.project, &NodeId::file(sync.project, file.path.as_str()));
            page.items.push(sync.item(ItemKind::File, file.path.as_str().to_owned(), Some(thread), None, &file));
        }
        sync.ingest(&page)?;
        sync.reporter.advance(batch.len() as u64);
    }
    let current: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    sync.tombstone(ItemKind::File, stored.into_iter().filter(|path| !current.contains(path.as_str())))
}

/// Takes out the files whose paths hold secrets, and gives these paths without them. A path is a key and part of ids and
/// addresses, where it must stay what it is, so such a file is not indexed at all.
pub(super) fn remove_secret_paths(sync: &RepositorySync<'_>, listing: &mut TreeListing) -> Vec<RepoPath> {
    let redactor = sync.resources.redactor();
    let mut secret = Vec::new();
    listing.files.retain(|file| match redactor.redact(file.path.as_str()) {
        (Cow::Owned(clean), _) => {
            secret.push(RepoPath::from_escaped(&clean));
            false
        }
        (Cow::Borrowed(_), _) => true,
    });
    secret
}

fn read_files(
    sync: &RepositorySync<'_>,
    objects: &Objects,
    files: &[&TreeFile],
    times: &BTreeMap<RepoPath, Timestamp>,
) -> Result<Vec<HeadFile>> {
    let (rules, project) = (&sync.resources.settings().repositories, sync.project);
    let queue = Mutex::new(files.iter().rev().copied().collect::<Vec<_>>());
    let read = |file: &TreeFile| {
        // In a history that is cut off nothing may be known of a change.
        let changed_at = times.get(&file.path).copied().unwrap_or(Timestamp::UNIX_EPOCH);
        let (path, blob, bytes) = (file.path.clone(), file.id, file.size.unwrap_or(0));
        read_file(rules, project, objects, HeadFile { path, blob, bytes, changed_at, left_out: None, analysis: None })
    };
    let work = || {
        let mut done = Vec::new();
        loop {
            let next = queue.lock().pop();
            match next {
                Some(file) => done.push(read(file)?),
                None => return Ok(done),
            }
        }
    };
    let results: Vec<Result<Vec<HeadFile>>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..sync.threads).map(|_| scope.spawn(work)).collect();
        let ended = |_| Err(Error::internal("reading files ended with a bug"));
        handles.into_iter().map(|handle| handle.join().unwrap_or_else(ended)).collect()
    });
    let mut files = Vec::new();
    for result in results {
        files.extend(result?);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// What the files at the head refer to, which tests they have, and how central all of it is.
pub(super) fn update_head_links(sync: &mut RepositorySync<'_>) -> Result<()> {
    sync.reporter.phase(format!("{} references", sync.project), None);
    let mut analyses: BTreeMap<String, FileAnalysis> = BTreeMap::new();
    let mut paths = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let items = sync.resources.ledger().items_in(sync.project, ItemKind::File, after.as_deref(), PAGE)?;
        let Some(last) = items.last() else { break };
        after = Some(last.key.clone());
        for item in items {
            let file = item.payload.as_deref().and_then(|json| serde_json::from_slice::<HeadFile>(json).ok());
            paths.push(item.key.clone());
            if let Some(analysis) = file.and_then(|file| file.analysis) {
                analyses.insert(item.key, analysis);
            }
        }
    }
    let mut found = links_of(&analyses);
    let tests = TestIndex::new(paths.iter().map(String::as_str));
    for path in &paths {
        let tests = tests.tests_of(path);
        if !tests.is_empty() {
            found.entry(path.clone()).or_default().tests = tests
                .into_iter()
                .map(|test| FileTest { path: test.test, kind: test.kind, rule: test.rule, confidence: test.confidence })
                .collect();
        }
    }
    let mut page = IngestBatch { fetched_at: Timestamp::now(), ..IngestBatch::default() };
    for (path, links) in &found {
        page.items.push(sync.item(ItemKind::FileLinks, path.clone(), None, None, links));
    }
    let ranks = importance(&found);
    page.items.push(sync.item(ItemKind::Importance, IMPORTANCE.to_owned(), None, None, &ranks));
    sync.ingest(&page)?;
    let stored = sync.resources.ledger().keys(sync.project, ItemKind::FileLinks)?;
    sync.tombstone(ItemKind::FileLinks, stored.into_iter().filter(|path| !found.contains_key(path)))
}

/// The references of every file whose targets were found.
fn links_of(analyses: &BTreeMap<String, FileAnalysis>) -> BTreeMap<String, ResolvedFileLinks> {
    let files: BTreeMap<&str, &FileAnalysis> =
        analyses.iter().map(|(path, analysis)| (path.as_str(), analysis)).collect();
    let resolved = resolve(&files);
    let entity = |file: &str, at: Option<u32>| analyses.get(file)?.code()?.entities.get(at? as usize);
    let mut found: BTreeMap<String, ResolvedFileLinks> = BTreeMap::new();
    for link in &resolved.links {
        let (from, to) = (&resolved.paths[link.from.file as usize], &resolved.paths[link.to.file as usize]);
        let (caller, target) = (entity(from, link.from.entity), entity(to, link.to.entity));
        let links = found.entry(from.clone()).or_default();
        let is_test = caller.is_some_and(|caller| caller.test == TestRole::Test);
        if let (LinkKind::Calls, true, Some(caller), Some(target)) = (link.kind, is_test, caller, target)
            && target.test == TestRole::None
        {
            let verified = (caller.qualified_name.clone(), to.clone(), target.qualified_name.clone());
            if !links.verifies.contains(&verified) {
                links.verifies.push(verified);
            }
        }
        links.links.push(CodeLink {
            kind: match link.kind {
                LinkKind::Calls => CodeLinkKind::Calls,
                LinkKind::Imports => CodeLinkKind::Imports,
                LinkKind::Extends => CodeLinkKind::Extends,
                LinkKind::Implements => CodeLinkKind::Implements,
            },
            from: caller.map(|entity| entity.qualified_name.clone()),
            path: to.clone(),
            to: target.map(|entity| entity.qualified_name.clone()),
            confidence: link.confidence,
            line: link.line,
        });
    }
    found
}

/// PageRank of files and entities over the references between them, a more confident one counting more.
fn importance(found: &BTreeMap<String, ResolvedFileLinks>) -> CodeRanks {
    let mut graph: DiGraph<String, f32> = DiGraph::new();
    let mut nodes: HashMap<String, NodeIndex> = HashMap::new();
    let mut node = |graph: &mut DiGraph<String, f32>, name: String| {
        *nodes.entry(name).or_insert_with_key(|name| graph.add_node(name.clone()))
    };
    for (path, links) in found {
        for link in &links.links {
            let from = node(&mut graph, code_key(path, link.from.as_deref()));
            let to = node(&mut graph, code_key(&link.path, link.to.as_deref()));
            graph.add_edge(from, to, link.confidence);
        }
    }
    let number = |index: NodeIndex| u32::try_from(index.index()).unwrap_or(u32::MAX);
    let edges: Vec<WeightedEdge> = graph
        .raw_edges()
        .iter()
        .map(|edge| WeightedEdge { from: number(edge.source()), to: number(edge.target()), weight: edge.weight })
        .collect();
    let ranks = pagerank(number(NodeIndex::new(graph.node_count())), &edges, PageRankSettings::default());
    let mut ranked: Vec<(u64, &String)> =
        ranks.iter().zip(graph.node_weights()).map(|(rank, name)| ((rank * MILLIONTHS).round() as u64, name)).collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    ranked.truncate(MAX_RANKED);
    CodeRanks { ranks: ranked.into_iter().map(|(rank, name)| (name.clone(), rank)).collect() }
}
