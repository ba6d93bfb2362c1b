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
    /// Newest first. The current one is not among them while vectors are being made.
    recorded: Vec<Snapshot>,
}

/// A state of the index.
#[derive(SimpleObject)]
pub(crate) struct Snapshot {
    /// What it holds tells its id.
    id: ID,
    /// When it was reached first.
    created_at: DateTime,
    /// How the work ended that reached it.
    status: SnapshotStatus,
    /// Whether it is what the index holds now.
    current: bool,
    /// Whether it is kept until it is unpinned.
    pinned: bool,
    /// Name of the embedding model.
    model: String,
    /// The indexed commit of each repository.
    commits: Vec<SnapshotCommit>,
    /// Documents.
    documents: u64,
    /// Documents that have vectors.
    embedded: u64,
    /// Passages that have a vector.
    passages: u64,
    /// Bytes of the index on disk.
    bytes: BigInt,
    /// How long the work took that reached it, in milliseconds.
    duration_ms: u64,
    /// The ledger's newest change that is in it.
    ledger_seq: BigInt,
    /// Bytes that the list of its documents takes in the ledger.
    contents_bytes: BigInt,
    /// Why the work failed.
    last_error: Option<String>,
}

/// The indexed commit of a repository.
#[derive(SimpleObject)]
pub(crate) struct SnapshotCommit {
    /// The project.
    project: Project,
    /// The commit.
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
            documents: report.stats.documents,
            embedded: report.stats.embedded,
            passages: report.stats.passages,
            bytes: report.stats.bytes.into(),
            duration_ms: report.stats.duration_ms,
            ledger_seq: report.ledger_seq.into(),
            contents_bytes: report.contents_bytes.into(),
            last_error: report.last_error,
        }
    }
}

/// How one state of the index differs from another.
#[derive(SimpleObject)]
pub(crate) struct SnapshotComparison {
    /// Id of the first.
    from: ID,
    /// Id of the second.
    to: ID,
    /// Documents that only the second has.
    added: SnapshotDifference,
    /// Documents that only the first has.
    removed: SnapshotDifference,
    /// Documents whose text or state is another.
    changed: SnapshotDifference,
    /// How many documents are the same.
    unchanged: u64,
}

/// Documents that differ in one way.
#[derive(SimpleObject)]
pub(crate) struct SnapshotDifference {
    /// How many.
    count: u64,
    /// The first ones, in order.
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
        unchanged: found.unchanged,
    })
}
