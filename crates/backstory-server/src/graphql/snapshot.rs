//! GraphQL types of recorded states of the index.

use async_graphql::{Context, ID, Result, SimpleObject};
use backstory_engine::snapshot::{self, CompareSnapshots, ListSnapshots};

use super::{
    code::Commit,
    loaders,
    names::SnapshotStatus,
    node::Node,
    page,
    project::Project,
    scalar::{BigInt, DateTime},
    search::node_of,
};

/// The states on record.
#[derive(SimpleObject)]
pub(crate) struct Snapshots {
    /// Id of what the index holds now.
    current: ID,
    /// States on record, newest first. The current one is not among them while vectors are being made.
    recorded: Vec<Snapshot>,
}

/// A state of the index.
#[derive(SimpleObject)]
pub(crate) struct Snapshot {
    /// Id of the state, which follows from what it holds.
    id: ID,
    /// When the state was reached first.
    created_at: DateTime,
    /// How the work ended that reached the state.
    status: SnapshotStatus,
    /// Whether the state is what the index holds now.
    current: bool,
    /// Whether the record of the state is kept until it is unpinned.
    pinned: bool,
    /// Name of the embedding model.
    model: String,
    /// Indexed commit of each repository.
    commits: Vec<SnapshotCommit>,
    /// How many documents the index has.
    document_count: u64,
    /// How many documents have vectors.
    embedded_count: u64,
    /// How many passages have a vector.
    passage_count: u64,
    /// Bytes of the index on disk.
    bytes: BigInt,
    /// How long the work took that reached the state, in milliseconds.
    duration_ms: u64,
    /// Number of the ledger's newest change that is in the state.
    ledger_seq: BigInt,
    /// Bytes that the list of the state's documents takes in the ledger.
    contents_bytes: BigInt,
    /// Whether the state can be searched: what has changed since then is kept as it was.
    searchable: bool,
    /// How many issues, merge requests, commits and files have changed since then.
    changed_count: u64,
    /// Bytes of the ledger that hold what has changed since then, as it was; some of them are kept for other states
    /// too.
    kept_bytes: BigInt,
    /// Why the work failed; null if it did not.
    last_error: Option<String>,
}

/// The indexed commit of a repository.
#[derive(SimpleObject)]
pub(crate) struct SnapshotCommit {
    /// Project of the repository.
    project: Project,
    /// Commit that was indexed.
    commit: Commit,
}

impl From<snapshot::SnapshotReport> for Snapshot {
    fn from(report: snapshot::SnapshotReport) -> Self {
        let commit = |of: snapshot::SnapshotCommit| SnapshotCommit {
            commit: Commit::new(of.project.clone(), of.sha),
            project: Project::new(of.project),
        };
        Self {
            id: report.id.into(),
            created_at: report.created_at.into(),
            status: report.status.into(),
            current: report.current,
            pinned: report.pinned,
            model: report.model,
            commits: report.commits.into_iter().map(commit).collect(),
            document_count: report.stats.documents,
            embedded_count: report.stats.embedded,
            passage_count: report.stats.passages,
            bytes: report.stats.bytes.into(),
            duration_ms: report.stats.duration_ms,
            ledger_seq: report.ledger_seq.into(),
            contents_bytes: report.contents_bytes.into(),
            searchable: report.searchable,
            changed_count: report.changed,
            kept_bytes: report.kept_bytes.into(),
            last_error: report.last_error,
        }
    }
}

/// How one state of the index differs from another.
#[derive(SimpleObject)]
pub(crate) struct SnapshotComparison {
    /// Id of the first state.
    from: ID,
    /// Id of the second state.
    to: ID,
    /// Documents that only the second state has.
    added: SnapshotDifference,
    /// Documents that only the first state has.
    removed: SnapshotDifference,
    /// Documents whose text or state is another.
    changed: SnapshotDifference,
    /// How many documents are equal in both states.
    unchanged_count: u64,
}

/// Documents that differ in one way.
#[derive(SimpleObject)]
pub(crate) struct SnapshotDifference {
    /// How many documents differ in this way.
    count: u64,
    /// The first documents that differ in this way, by id.
    documents: Vec<Node>,
}

/// Names that a comparison tells unless the request says how many.
const NAMED: usize = 20;

impl From<snapshot::Difference> for SnapshotDifference {
    fn from(difference: snapshot::Difference) -> Self {
        Self { count: difference.count, documents: difference.documents.iter().filter_map(|id| node_of(id)).collect() }
    }
}

/// The states on record.
pub(super) async fn all(ctx: &Context<'_>) -> Result<Snapshots> {
    let found = loaders::engine(ctx)?.answer(ListSnapshots {}).await?;
    Ok(Snapshots { current: found.current.into(), recorded: found.recorded.into_iter().map(Into::into).collect() })
}

/// Compares two.
pub(super) async fn compare(ctx: &Context<'_>, from: &str, to: &str, first: Option<i32>) -> Result<SnapshotComparison> {
    let wrong =
        |first| page::invalid(format!("{first} names were asked for; it must be 0 to {}", snapshot::MAX_COMPARED));
    let limit = first.map_or(Ok(NAMED), |first| usize::try_from(first).map_err(|_| wrong(first)))?;
    let found =
        loaders::engine(ctx)?.answer(CompareSnapshots { from: from.to_owned(), to: to.to_owned(), limit }).await?;
    Ok(SnapshotComparison {
        from: found.from.into(),
        to: found.to.into(),
        added: found.added.into(),
        removed: found.removed.into(),
        changed: found.changed.into(),
        unchanged_count: found.unchanged,
    })
}
