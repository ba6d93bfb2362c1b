//! Snapshots: states of the index, named by what they hold, so that the source of a context pack can be named, recorded
//! and compared.
//!
//! The id of a state is a hash over the digest of all documents (ids, texts, states), which the index has in memory,
//! the embedding model, the number of documents with vectors, and the indexed commits. It is the same wherever the same
//! was indexed. Whatever changes the index records the state it led to, with a fingerprint of eight bytes for each
//! document, so that two states can be compared (576 kB for 19,976 documents). As long as a state is on record, what changes
//! in the ledger is kept as it was at that state, and the index has its documents as versions beside the current ones, so
//! that the state can be searched: see [`views`](crate::views).

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use backstory_model::{digest::sha256_hex, visibility::Visibility};
use backstory_store::{
    index::{Coverage, Fingerprint},
    ledger::{Snapshot, SnapshotStats, SnapshotStatus},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    projection::drop_versions,
    records::repository_record,
    resources::Resources,
    revisions::MAX_CHANGED,
    use_case::{Scope, UseCase, Weight},
};

/// Most states that may be kept.
pub const MAX_KEPT_SNAPSHOTS: usize = 1000;
/// Most documents of each kind that a comparison names; the others are counted.
pub const MAX_COMPARED: usize = 1000;
/// Hex digits of an id.
const DIGITS: usize = 16;
/// Fewest digits by which a state is found.
pub(crate) const MIN_DIGITS: usize = 4;

/// What the index holds at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexState {
    /// Its id: the same wherever the same was indexed.
    pub id: String,
    /// The indexed commit of each repository, by project.
    pub commits: BTreeMap<String, String>,
    /// How much there is.
    pub coverage: Coverage,
}

/// The states on record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshots {
    /// Id of what the index holds now.
    pub current: String,
    /// Newest first. The current one is not among them while vectors are being made.
    pub recorded: Vec<SnapshotReport>,
}

/// A state on record, without its list of documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotReport {
    /// Its id, which depends only on what it holds.
    pub id: String,
    /// When it was reached first.
    pub created_at: Timestamp,
    /// How the work ended that reached it.
    pub status: SnapshotStatus,
    /// Whether it is what the index holds now.
    pub current: bool,
    /// Whether it is kept until it is unpinned.
    pub pinned: bool,
    /// Name of the embedding model.
    pub model: String,
    /// The indexed commit of each repository.
    pub commits: Vec<SnapshotCommit>,
    /// How much there is.
    #[serde(flatten)]
    pub stats: SnapshotStats,
    /// The ledger's newest change that is in it.
    pub ledger_seq: u64,
    /// Bytes that the list of its documents takes in the ledger.
    pub contents_bytes: u64,
    /// Whether it can be searched: what has changed since then is kept as it was.
    #[serde(default)]
    pub searchable: bool,
    /// Issues, merge requests, commits and files that have changed since then.
    #[serde(default)]
    pub changed: u64,
    /// Bytes of the ledger that hold what has changed since then, as it was; some of them are kept for other states
    /// too.
    #[serde(default)]
    pub kept_bytes: u64,
    /// Why the work failed.
    pub last_error: Option<String>,
}

/// The indexed commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotCommit {
    /// Full path of its project.
    pub project: String,
    /// Object name.
    pub sha: String,
}

/// How one state differs from another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Id of the first.
    pub from: String,
    /// Id of the second.
    pub to: String,
    /// Documents that only the second has.
    pub added: Difference,
    /// Documents that only the first has.
    pub removed: Difference,
    /// Documents whose text or state is another.
    pub changed: Difference,
    /// How many documents are the same.
    pub unchanged: u64,
}

/// Documents that differ in one way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// How many.
    pub count: u64,
    /// References of the first ones, in order.
    pub documents: Vec<String>,
}

/// Lists the states of the index that are on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListSnapshots {}

/// Requests a state of the index that is on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GetSnapshot {
    /// Its id, or at least four of its first digits.
    pub id: String,
}

/// Pins a state of the index, so that it is kept and can be searched, or unpins it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PinSnapshot {
    /// Its id, or at least four of its first digits.
    pub id: String,
    /// Whether to pin it.
    pub pinned: bool,
}

/// Compares two states of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompareSnapshots {
    /// Id of the first, or at least four of its first digits.
    pub from: String,
    /// Id of the second, or at least four of its first digits.
    pub to: String,
    /// Most documents of each kind that are named, at most 1,000; 20 if absent.
    #[serde(default = "crate::limits::default_limit")]
    pub limit: usize,
}

/// Removes the records of old states of the index, as each sync does; answers with their ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PruneSnapshots {
    /// How many to keep beside those that are pinned, the current one among them; as configured if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<usize>,
}

impl UseCase for ListSnapshots {
    const NAME: &'static str = "snapshots";
    type Answer = Snapshots;

    async fn run(self, resources: &Resources) -> Result<Snapshots> {
        list_snapshots(resources).await
    }
}

impl UseCase for GetSnapshot {
    const NAME: &'static str = "snapshot";
    type Answer = SnapshotReport;

    async fn run(self, resources: &Resources) -> Result<SnapshotReport> {
        find_snapshot(resources, &self.id).await
    }
}

impl UseCase for PinSnapshot {
    const NAME: &'static str = "pin-snapshot";
    const SCOPE: Scope = Scope::Admin;
    const CONCERNS_ALL_PROJECTS: bool = true;
    type Answer = SnapshotReport;

    async fn run(self, resources: &Resources) -> Result<SnapshotReport> {
        pin_snapshot(resources, &self.id, self.pinned).await
    }
}

impl UseCase for CompareSnapshots {
    const NAME: &'static str = "compare-snapshots";
    const WEIGHT: Weight = Weight::Heavy;
    type Answer = Comparison;

    async fn run(self, resources: &Resources) -> Result<Comparison> {
        compare_snapshots(resources, &self.from, &self.to, self.limit).await
    }
}

impl UseCase for PruneSnapshots {
    const NAME: &'static str = "prune-snapshots";
    const SCOPE: Scope = Scope::Admin;
    const CONCERNS_ALL_PROJECTS: bool = true;
    type Answer = Vec<String>;

    async fn run(self, resources: &Resources) -> Result<Vec<String>> {
        let gone = resources.blocking(move |resources| prune_now(resources, self.keep)).await?;
        drop_versions(resources).await?;
        Ok(gone)
    }
}

impl SnapshotReport {
    fn of(resources: &Resources, snapshot: Snapshot, current: &str) -> Result<Self> {
        let commit = |(project, sha)| SnapshotCommit { project, sha };
        let (ledger, seq) = (resources.ledger(), snapshot.ledger_seq);
        let is_current = snapshot.id == current;
        let changed = if snapshot.kept { ledger.threads_changed_after(seq)?.len() } else { 0 };
        let searchable = is_current || (snapshot.kept && changed <= MAX_CHANGED);
        Ok(Self {
            searchable,
            changed: changed as u64,
            kept_bytes: if snapshot.kept { ledger.version_bytes(seq)? } else { 0 },
            current: is_current,
            id: snapshot.id,
            created_at: snapshot.created_at,
            status: snapshot.status,
            pinned: snapshot.pinned,
            model: snapshot.model,
            commits: snapshot.commits.into_iter().map(commit).collect(),
            stats: snapshot.stats,
            ledger_seq: snapshot.ledger_seq,
            contents_bytes: snapshot.contents_bytes,
            last_error: snapshot.last_error,
        })
    }
}

impl Difference {
    fn add(&mut self, id: &str, limit: usize) {
        self.count += 1;
        if self.documents.len() < limit {
            self.documents.push(id.to_owned());
        }
    }
}

/// What the index holds now.
///
/// # Errors
/// The ledger cannot be read.
pub(crate) async fn load_state(resources: &Resources) -> Result<IndexState> {
    resources.blocking(shown_state).await
}

/// What the state holds that is shown, which may be another than the current one.
fn shown_state(resources: &Resources) -> Result<IndexState> {
    let mut state = current_state(resources)?;
    if let Some(shown) = resources.state() {
        state.id = shown.snapshot.clone().unwrap_or(state.id);
        state.commits.extend(shown.commits.clone());
    }
    Ok(state)
}

/// What the index holds now.
pub(crate) fn current_state(resources: &Resources) -> Result<IndexState> {
    let mut commits = BTreeMap::new();
    for entry in resources.ledger().repositories()? {
        let default = repository_record(resources, &entry.project)?.and_then(|of| of.default_branch.clone());
        let head = default.as_ref().and_then(|name| entry.indexed.get(name.as_str()));
        if let Some(head) = head.or(entry.indexed.values().next()) {
            commits.insert(entry.project, head.to_string());
        }
    }
    let index = resources.index();
    let coverage = index.coverage();
    let model = resources.model_tag();
    let mut text = format!(
        "backstory snapshot 1\n{}\n{} {}\n{}\n",
        index.digest(),
        model.name,
        model.dimension,
        coverage.embedded
    );
    for (project, commit) in &commits {
        text.push_str(&format!("{project} {commit}\n"));
    }
    Ok(IndexState { id: sha256_hex(&text)[..DIGITS].to_owned(), commits, coverage })
}

/// Puts what the index holds on record, unless it is already or there is nothing, and forgets the oldest states.
/// `error` is why the work failed that led here.
pub(crate) async fn record_snapshot(resources: &Resources, took: Duration, error: Option<&Error>) -> Result<()> {
    let resources = resources.with_full_visibility();
    let last_error = error.map(ToString::to_string);
    let applied_seq = resources.index().applied_seq().await?;
    let work = Work { took, last_error, applied_seq };
    let gone = resources
        .blocking(move |resources| {
            // What everybody sees is a state of its own, if it is not all there is.
            let open = resources.with_visibility(Visibility::public());
            let differs = current_state(&open)?.id != current_state(resources)?.id;
            record_state(&open, &work, false)?;
            if differs {
                record_state(resources, &work, true)?;
            }
            prune_now(resources, None)
        })
        .await?;
    if gone.is_empty() { Ok(()) } else { drop_versions(&resources).await }
}

/// Work that led to a state.
struct Work {
    took: Duration,
    last_error: Option<String>,
    /// The ledger's newest change that the index has.
    applied_seq: u64,
}

fn record_state(resources: &Resources, work: &Work, confidential: bool) -> Result<()> {
    let IndexState { id, commits, coverage } = current_state(resources)?;
    if coverage.documents == 0 || resources.ledger().snapshot(&id)?.is_some() {
        return Ok(());
    }
    let index = resources.index();
    let snapshot = Snapshot {
        id,
        created_at: Timestamp::now(),
        status: if work.last_error.is_some() { SnapshotStatus::Failed } else { SnapshotStatus::Completed },
        ledger_seq: work.applied_seq,
        model: resources.model_tag().name,
        commits,
        stats: SnapshotStats {
            documents: coverage.documents,
            embedded: coverage.embedded,
            passages: coverage.passages,
            // What cannot be looked at is not worth failing for.
            bytes: index.size_on_disk().unwrap_or(0),
            duration_ms: u64::try_from(work.took.as_millis()).unwrap_or(u64::MAX),
        },
        pinned: false,
        last_error: work.last_error.clone(),
        contents_bytes: 0,
        confidential,
        kept: true,
    };
    resources.ledger().put_snapshot(&snapshot, &index.fingerprints())?;
    Ok(())
}

/// Runs work that may change the index, and puts what it led to on record, also if it failed.
pub(crate) async fn with_snapshot<T>(resources: &Resources, work: impl Future<Output = Result<T>>) -> Result<T> {
    let started = Instant::now();
    let done = work.await;
    record_snapshot(resources, started.elapsed(), done.as_ref().err()).await?;
    done
}

/// The states on record.
///
/// # Errors
/// The ledger cannot be read.
async fn list_snapshots(resources: &Resources) -> Result<Snapshots> {
    resources
        .blocking(move |resources| {
            let current = current_state(resources)?.id;
            let recorded = resources.ledger().snapshots()?;
            let report = |known| SnapshotReport::of(resources, known, &current);
            let recorded = recorded.into_iter().map(report).collect::<Result<_>>()?;
            Ok(Snapshots { current, recorded })
        })
        .await
}

/// A state by its id, or by at least four of its first digits.
///
/// # Errors
/// There is none, or several.
pub(crate) async fn find_snapshot(resources: &Resources, id: &str) -> Result<SnapshotReport> {
    let id = id.to_owned();
    resources
        .blocking(move |resources| {
            SnapshotReport::of(resources, load_snapshot(resources, &id)?, &current_state(resources)?.id)
        })
        .await
}

pub(crate) fn load_snapshot(resources: &Resources, id: &str) -> Result<Snapshot> {
    let id = id.trim().to_ascii_lowercase();
    if id.len() < MIN_DIGITS || id.len() > DIGITS || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Error::invalid(format!(
            "'{}' is not the id of a snapshot",
            id.chars().take(80).collect::<String>()
        ))
        .with_hint(format!("write {MIN_DIGITS} to {DIGITS} hex digits, as 'backstory snapshots list' shows them")));
    }
    let mut found = resources.ledger().snapshots()?;
    found.retain(|known| known.id.starts_with(&id));
    match (found.pop(), found.len()) {
        (Some(only), 0) => Ok(only),
        (None, _) => Err(Error::new(ErrorKind::NotFound, format!("there is no snapshot {id}"))
            .with_hint("'backstory snapshots list' shows those that are kept")),
        (Some(_), _) => {
            Err(Error::invalid(format!("several snapshots begin with {id}")).with_hint("write more digits"))
        }
    }
}

/// Pins a state, so that it is kept, or unpins it.
///
/// # Errors
/// There is none of that id.
async fn pin_snapshot(resources: &Resources, id: &str, pinned: bool) -> Result<SnapshotReport> {
    let id = id.to_owned();
    resources
        .blocking(move |resources| {
            let found = load_snapshot(resources, &id)?;
            resources.ledger().pin_snapshot(&found.id, pinned)?;
            SnapshotReport::of(resources, Snapshot { pinned, ..found }, &current_state(resources)?.id)
        })
        .await
}

/// Keeps the pinned ones, the current ones, and the newest of the others; of those with something confidential in them
/// as many as of those without. Says which went, as far as they are seen.
fn prune_now(resources: &Resources, keep: Option<usize>) -> Result<Vec<String>> {
    let full = resources.with_full_visibility();
    let current = [current_state(&full)?.id, current_state(&full.with_visibility(Visibility::public()))?.id];
    let kept = keep.unwrap_or(resources.settings().snapshots.keep).max(1);
    let all = full.ledger().snapshots()?;
    let mut gone = Vec::new();
    for confidential in [false, true] {
        let others = all.iter().filter(|of| !of.pinned && of.confidential == confidential);
        let others = others.filter(|of| !current.contains(&of.id));
        // The current one is one of those that are kept.
        let old: Vec<String> = others.skip(kept - 1).map(|of| of.id.clone()).collect();
        full.ledger().delete_snapshots(&old)?;
        let visibility = resources.visibility();
        let is_visible = visibility.allows_all_projects() && (visibility.shows_confidential() || !confidential);
        gone.extend(old.into_iter().filter(|_| is_visible));
    }
    Ok(gone)
}

/// How one state differs from another, naming at most `limit` documents of each kind.
///
/// # Errors
/// One of them is not on record, or the limit is above [`MAX_COMPARED`].
async fn compare_snapshots(resources: &Resources, from: &str, to: &str, limit: usize) -> Result<Comparison> {
    if limit > MAX_COMPARED {
        return Err(Error::invalid(format!("{limit} names were asked for; it must be 0 to {MAX_COMPARED}")));
    }
    let (from, to) = (from.to_owned(), to.to_owned());
    resources
        .blocking(move |resources| {
            let (from, to) = (load_snapshot(resources, &from)?.id, load_snapshot(resources, &to)?.id);
            let documents = |id: &str| {
                let gone = || Error::internal(format!("snapshot {id} has gone meanwhile"));
                resources.ledger().snapshot_documents(id)?.ok_or_else(gone)
            };
            let (old, new) = (documents(&from)?, documents(&to)?);
            Ok(Comparison { from, to, ..diff_documents(&old, &new, limit) })
        })
        .await
}

/// Walks along both lists, which are ordered by id.
fn diff_documents(old: &[(String, Fingerprint)], new: &[(String, Fingerprint)], limit: usize) -> Comparison {
    let mut of = Comparison::default();
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    loop {
        match (old.peek(), new.peek()) {
            (None, None) => return of,
            (Some((a, _)), Some((b, _))) if a == b => {
                let same = old.next().map(|of| of.1) == new.next().map(|of| of.1);
                if same { of.unchanged += 1 } else { of.changed.add(a, limit) }
            }
            (Some((a, _)), b) if b.is_none_or(|(b, _)| a < b) => {
                of.removed.add(a, limit);
                old.next();
            }
            (_, Some((b, _))) => {
                of.added.add(b, limit);
                new.next();
            }
            (Some(_), None) => return of,
        }
    }
}
