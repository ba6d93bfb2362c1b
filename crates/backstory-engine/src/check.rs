//! Checks that the ledger is consistent with itself, and graph, lists and index with the ledger. The rules over the graph
//! alone are queries in `queries/checks/`; repairing belongs to `rebuild`.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use backstory_model::{
    document::Document,
    entity::{Item, ItemKind},
    id::NodeId,
    repository::HeadFile,
    visibility::Visibility,
};
use backstory_sources::forge::UNKNOWN_KEY;
use backstory_store::{
    graph::queries::CHECKS,
    ledger::{Ledger, Quarantined, StoredBlame},
    lists::TableDigest,
};
use serde::{Deserialize, Serialize};

pub use crate::projection::ProjectionDigest;
use crate::{
    error::Result,
    generated::projection::wrong_written,
    links::infer_links,
    projection::{documents_of, expected_list_digests, projection_digest},
    read::{ledger_key, list_projects},
    records::{parse_item, repository_record},
    refresh::{catch_up, refresh_links, refresh_written},
    repository::check_clones,
    resources::{Resources, blocking},
    stats::collect_stats,
    status::sync_status,
    use_case::{UseCase, Weight},
};

/// Most problems named for one rule.
const NAMED: usize = 10;
/// Most items in quarantine that are considered.
const NAMED_ASIDE: usize = 1000;
/// Items that are read at once.
const BATCH: usize = 1000;
/// How often the lists are compared with the ledger if it changes meanwhile.
const MAX_COMPARISONS: usize = 3;
/// How long one rule over the graph may take: it reads a large part of it.
const RULE_TIME: Duration = Duration::from_secs(600);
/// Issues and merge requests whose documents are compared at once.
const THREAD_BATCH: usize = 100;

/// A rule and what breaks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// What must hold, as a sentence.
    pub rule: String,
    /// What breaks it, the first few; empty if it holds.
    pub problems: Vec<String>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// Whether every rule holds.
    pub ok: bool,
    /// Every rule.
    pub findings: Vec<Finding>,
    /// The digest of graph and lists.
    pub digest: String,
    /// How many statements of the graph it covers.
    pub quads: u64,
    /// How many rows of the lists it covers.
    pub rows: u64,
}

/// Checks that ledger, graph, lists and index are sound and agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckRequest {}

/// Computes the digest of graph and lists, for which it reads both whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DigestRequest {}

impl UseCase for CheckRequest {
    const NAME: &'static str = "check";
    // It reads everything of all projects, and nothing is applied to the lists meanwhile.
    const CONCERNS_ALL_PROJECTS: bool = true;
    const WEIGHT: Weight = Weight::Long;
    type Answer = CheckReport;

    async fn run(self, resources: &Resources) -> Result<CheckReport> {
        check_stores(resources).await
    }
}

impl UseCase for DigestRequest {
    const NAME: &'static str = "digest";
    const WEIGHT: Weight = Weight::Long;
    type Answer = ProjectionDigest;

    async fn run(self, resources: &Resources) -> Result<ProjectionDigest> {
        projection_digest(resources).await
    }
}

/// What the ledger says there must be.
#[derive(Default)]
struct Expected {
    threads: BTreeMap<ItemKind, BTreeSet<String>>,
    discussions: BTreeSet<String>,
    /// Project and key of everything that has documents.
    documents: BTreeSet<(String, String)>,
    unreadable: Vec<String>,
    newest: BTreeMap<(String, ItemKind), jiff::Timestamp>,
}

/// Checks every rule.
///
/// # Errors
/// A store cannot be read at all.
async fn check_stores(resources: &Resources) -> Result<CheckReport> {
    let mut report = check_all(&resources.with_full_visibility()).await?;
    if resources.hides_anything().await? {
        // Problems name things that this must not.
        for finding in report.findings.iter_mut().filter(|finding| !finding.problems.is_empty()) {
            let count = finding.problems.len();
            finding.problems = vec![format!("{count} or more problems, shown only to those who may see everything")];
        }
        let digest = projection_digest(resources).await?;
        (report.digest, report.quads, report.rows) = (digest.digest, digest.quads, digest.rows);
    }
    Ok(report)
}

async fn check_all(resources: &Resources) -> Result<CheckReport> {
    catch_up(resources, None).await?;
    refresh_links(resources).await?;
    refresh_written(resources).await?;
    let mut findings = Vec::new();
    let mut add = |rule: &str, mut problems: Vec<String>| {
        let more = problems.len().saturating_sub(NAMED);
        problems.truncate(NAMED);
        if more > 0 {
            problems.push(format!("and {more} more"));
        }
        findings.push(Finding { rule: rule.to_owned(), problems });
    };
    add("the ledger is sound", resources.with_ledger(|ledger| ledger.check()).await?);
    let expected = load_expected(resources).await?;
    add("every stored object can be read", expected.unreadable.clone());
    add("every configured project has been read, with a cursor for each list", missing_projects(resources).await?);
    add("no cursor is later than the newest object of its list", early_cursors(resources, &expected).await?);
    // What is missing because it cannot be read is told by the quarantine.
    let (_, aside) = resources.with_ledger(|ledger| ledger.quarantine(NAMED_ASIDE)).await?;
    for check in CHECKS {
        let rows = resources.graph_query_within(check.query, vec![], RULE_TIME).await?;
        let rows = rows.iter().filter(|row| !row.node("node").is_some_and(|node| is_quarantined(&node, &aside)));
        let names = rows.map(|row| match row.node("node") {
            Some(node) => node.to_string(),
            None => row.text("node").unwrap_or("?").to_owned(),
        });
        add(check.rule, names.collect());
    }
    add(
        "the graph has the issues, merge requests and discussions of the ledger",
        graph_gaps(resources, &expected).await?,
    );
    add("the index has a document for each of them, with its current text", index_gaps(resources, &expected).await?);
    add("every indexed repository has its clone, with the indexed commit", broken_clones(resources).await?);
    add("the lines of every file at an indexed head have an origin", files_without_blame(resources).await?);
    add("inferred links follow from ledger and index", unfounded_links(resources).await?);
    add("what language models wrote is in the graph as the ledger has it", wrong_written(resources).await?);
    add("the lists have what the ledger has", wrong_lists(resources).await?);
    add("every projection has applied every change", lag(resources).await?);
    let ProjectionDigest { digest, quads, rows, .. } = projection_digest(resources).await?;
    let ok = findings.iter().all(|finding| finding.problems.is_empty());
    Ok(CheckReport { ok, findings, digest, quads, rows })
}

async fn load_expected(resources: &Resources) -> Result<Expected> {
    resources
        .blocking(move |resources| {
            let mut expected = Expected::default();
            let mut seq = 0;
            loop {
                let items = resources.ledger().changes_after(seq, BATCH)?;
                let Some(last) = items.last() else { return Ok(expected) };
                seq = last.seq;
                for stored in items.iter().filter(|item| item.payload.is_some()) {
                    if let Some(thread) = &stored.thread {
                        expected.documents.insert((stored.project.clone(), thread.clone()));
                    }
                    match parse_item(resources, stored) {
                        Ok(item) => expected.add(&item),
                        Err(error) => expected.unreadable.push(error.to_string()),
                    }
                }
            }
        })
        .await
}

async fn missing_projects(resources: &Resources) -> Result<Vec<String>> {
    let status = sync_status(resources, 1).await?;
    let known: BTreeSet<String> = list_projects(resources).await?.into_iter().map(|project| project.path).collect();
    let mut problems = Vec::new();
    for project in status.projects {
        if !known.contains(&project.path) {
            problems.push(format!("{} has not been read; run 'backstory sync'", project.path));
        } else if project.issues_cursor.is_none() && project.merge_requests_cursor.is_none() {
            problems.push(format!("{} has no cursor; run 'backstory sync'", project.path));
        }
    }
    Ok(problems)
}

async fn early_cursors(resources: &Resources, expected: &Expected) -> Result<Vec<String>> {
    let status = sync_status(resources, 1).await?;
    let mut problems = Vec::new();
    for project in status.projects {
        let path = project.path.clone();
        // Where something newer was forgotten, is not kept or cannot be read, the cursor is beyond what is left.
        let step = move |ledger: &Ledger| {
            Ok(!ledger.forgotten_threads(&path)?.is_empty() || !ledger.quarantine_of(&path)?.is_empty())
        };
        if resources.settings().retention.drops_threads() || resources.with_ledger(step).await? {
            continue;
        }
        let newest = |kind: ItemKind| expected.newest.get(&(project.path.clone(), kind)).copied();
        let (issue, request) = (newest(ItemKind::Issue), newest(ItemKind::MergeRequest));
        // Where there is one list of both, its cursor stands for both.
        let one_list = project.issues_cursor.is_some() && project.issues_cursor == project.merge_requests_cursor;
        let (issue, request) = if one_list { (issue.max(request), issue.max(request)) } else { (issue, request) };
        for (kind, cursor, newest) in [
            (ItemKind::Issue, project.issues_cursor, issue),
            (ItemKind::MergeRequest, project.merge_requests_cursor, request),
        ] {
            let Some(cursor) = cursor else { continue };
            if newest.is_none_or(|newest| cursor.updated_at > newest) {
                problems.push(format!("{} {}: {}", project.path, kind.as_str(), cursor.updated_at));
            }
        }
    }
    Ok(problems)
}

async fn graph_gaps(resources: &Resources, expected: &Expected) -> Result<Vec<String>> {
    let stats = collect_stats(resources).await?;
    let of = |kind| expected.threads.get(&kind).map_or(0, BTreeSet::len) as u64;
    let pairs = [
        ("Issue", stats.issues, of(ItemKind::Issue)),
        ("MergeRequest", stats.merge_requests, of(ItemKind::MergeRequest)),
        ("Discussion", stats.discussions, expected.discussions.len() as u64),
    ];
    let differs = pairs.into_iter().filter(|(_, count, wanted)| count != wanted);
    Ok(differs.map(|(class, count, wanted)| format!("{class}: {count} in the graph, {wanted} in the ledger")).collect())
}

async fn index_gaps(resources: &Resources, expected: &Expected) -> Result<Vec<String>> {
    let threads = expected.documents.clone();
    let index = resources.index();
    let mut problems = Vec::new();
    let threads: Vec<(String, String)> = threads.into_iter().collect();
    let mut wanted = 0;
    for batch in threads.chunks(THREAD_BATCH) {
        let documents: Vec<Document> =
            documents_of(resources, batch.to_vec()).await?.into_iter().flat_map(|thread| thread.documents).collect();
        wanted += documents.len() as u64;
        let ids: Vec<String> = documents.iter().map(|document| document.id.clone()).collect();
        let stored: BTreeMap<String, String> =
            index.documents(&ids).await?.into_iter().map(|stored| (stored.id, stored.content_hash)).collect();
        for document in documents {
            match stored.get(&document.id) {
                None => problems.push(format!("{} has no document", document.id)),
                Some(hash) if *hash != document.content_hash() => {
                    problems.push(format!("the document of {} is out of date", document.id));
                }
                Some(_) => {}
            }
        }
    }
    let held = index.coverage().documents;
    if held > wanted {
        problems.push(format!("{} documents belong to nothing that exists", held - wanted));
    }
    Ok(problems)
}

/// Clones that are not what was indexed: files have no text without them.
async fn broken_clones(resources: &Resources) -> Result<Vec<String>> {
    let clones = check_clones(resources).await?;
    let lost = clones.into_iter().filter_map(|(project, problem)| Some((project, problem?)));
    let advice = "run 'backstory sync', then 'backstory rebuild'";
    Ok(lost.map(|(project, problem)| format!("{project}: {problem}; {advice}")).collect())
}

/// Files whose lineage is missing or tells of another number of lines, and branches whose lineage is out of date.
async fn files_without_blame(resources: &Resources) -> Result<Vec<String>> {
    resources
        .blocking(move |resources| {
            let mut problems = Vec::new();
            for entry in resources.ledger().repositories()? {
                let project = &entry.project;
                for (branch, tip) in &entry.indexed {
                    if resources.ledger().lineage_head(project, branch)?.map(|head| head.tip) != Some(*tip) {
                        problems.push(format!("{project} {branch} has no lineage at {tip}; run 'backstory sync'"));
                    }
                }
                let default = repository_record(resources, project)?.and_then(|of| of.default_branch.clone());
                let Some(default) = default.filter(|name| entry.indexed.contains_key(name.as_str())) else { continue };
                files_without_blame_at(resources, project, default.as_str(), &mut problems)?;
            }
            Ok(problems)
        })
        .await
}

fn files_without_blame_at(
    resources: &Resources,
    project: &str,
    branch: &str,
    problems: &mut Vec<String>,
) -> Result<()> {
    let mut after: Option<String> = None;
    loop {
        let items = resources.ledger().items_in(project, ItemKind::File, after.as_deref(), BATCH)?;
        let Some(last) = items.last() else { return Ok(()) };
        after = Some(last.key.clone());
        for item in &items {
            let file = item.payload.as_deref().and_then(|json| serde_json::from_slice::<HeadFile>(json).ok());
            let Some(analysis) = file.and_then(|file| file.analysis) else { continue };
            match resources.ledger().lineage(project, branch, &item.key)? {
                Some(StoredBlame::Traced(lineage)) if lineage.lines() == analysis.line_count => {}
                Some(StoredBlame::Traced(lineage)) => problems.push(format!(
                    "{project}:{} has {} lines, its lineage {}",
                    item.key,
                    analysis.line_count,
                    lineage.lines()
                )),
                Some(StoredBlame::Binary | StoredBlame::TooLarge) => {}
                None => problems.push(format!("{project}:{} has no lineage", item.key)),
            }
        }
    }
}

/// Inferred links that are not found now, or are found otherwise.
async fn unfounded_links(resources: &Resources) -> Result<Vec<String>> {
    let graph = resources.graph();
    let found = infer_links(resources, &graph).await?;
    let kept = blocking(move || Ok(graph.all_inferred()?)).await?;
    let missing = found.iter().filter(|link| !kept.contains(link)).map(|link| (link, "is missing or out of date"));
    let wrong = kept.iter().filter(|link| !found.contains(link)).map(|link| (link, "follows from nothing"));
    Ok(missing.chain(wrong).map(|(link, what)| format!("{} → {} {what}", link.from, link.to)).collect())
}

/// Tables of the lists that are not as they would be if they were filled from scratch.
async fn wrong_lists(resources: &Resources) -> Result<Vec<String>> {
    for _ in 0..MAX_COMPARISONS {
        catch_up(resources, None).await?;
        let _nothing_is_applied = resources.shared.projecting.lock().await;
        let wrong = resources.blocking(|resources| {
            let lists = resources.ledger().lists();
            let (seq, expected) = expected_list_digests(resources)?;
            // Something may have changed since the lists caught up.
            if lists.applied_seq()? != seq {
                return Ok(None);
            }
            let stored = lists.digests(&Visibility::everything())?;
            let differ = expected.iter().zip(stored).filter(|(expected, stored)| **expected != *stored);
            let problem = |(expected, stored): (&TableDigest, TableDigest)| {
                format!(
                    "{} has {} rows and should have {}; run 'backstory rebuild lists'",
                    stored.table, stored.rows, expected.rows
                )
            };
            Ok(Some(differ.map(problem).collect()))
        });
        if let Some(problems) = wrong.await? {
            return Ok(problems);
        }
    }
    Ok(Vec::new())
}

async fn lag(resources: &Resources) -> Result<Vec<String>> {
    let status = sync_status(resources, 1).await?;
    let lags = [("graph is", status.graph_seq), ("lists are", status.lists_seq), ("index is", status.index_seq)];
    let behind = lags.into_iter().filter(|(_, seq)| *seq != status.ledger_seq);
    Ok(behind.map(|(what, seq)| format!("the {what} at {seq}, the ledger at {}", status.ledger_seq)).collect())
}

/// Whether a node is missing, or may be, since it was put aside.
fn is_quarantined(node: &NodeId, aside: &[Quarantined]) -> bool {
    match (node, ledger_key(node)) {
        (NodeId::Person(_), _) => aside.iter().any(|row| row.of.kind == ItemKind::Person),
        (_, Some((project, kind, key))) => aside.iter().any(|Quarantined { of, .. }| {
            of.project == project && of.kind == kind && (of.key == key || of.key == UNKNOWN_KEY)
        }),
        (_, None) => false,
    }
}

impl Expected {
    fn add(&mut self, item: &Item) {
        let id = item.id();
        let (kind, updated_at) = match item {
            Item::Issue(issue) => (ItemKind::Issue, issue.thread.updated_at),
            Item::MergeRequest(mr) => (ItemKind::MergeRequest, mr.thread.updated_at),
            Item::Discussion(discussion) => {
                if !discussion.notes.is_empty() {
                    self.discussions.insert(id.to_string());
                }
                return;
            }
            _ => return,
        };
        if let NodeId::Thread(thread) = &id {
            let newest = self.newest.entry((thread.project.clone(), kind)).or_insert(updated_at);
            *newest = (*newest).max(updated_at);
        }
        self.threads.entry(kind).or_default().insert(id.to_string());
    }
}
