//! GraphQL types of recorded states of the index.

use async_graphql::{Context, ID, Result, SimpleObject};
use backstory_engine::{ledger, snapshot};

use super::{loaders, page, scalar::DateTime};

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
    /// How the work ended that reached it: `completed` or `failed`.
    status: String,
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
    bytes: u64,
    /// How long the work took that reached it, in milliseconds.
    duration_ms: u64,
    /// The ledger's newest change that is in it.
    ledger_seq: u64,
    /// Bytes that the list of its documents takes in the ledger.
    contents_bytes: u64,
    /// Why the work failed.
    last_error: Option<String>,
}

/// The indexed commit of a repository.
#[derive(SimpleObject)]
pub(crate) struct SnapshotCommit {
    /// Full path of its project.
    project: String,
    /// Object name.
    sha: String,
}

impl Snapshot {
    fn of(snapshot: ledger::Snapshot, current: &str) -> Self {
        let commit = |(project, sha)| SnapshotCommit { project, sha };
        Self {
            current: snapshot.id == current,
            id: snapshot.id.into(),
            created_at: snapshot.created_at.into(),
            status: snapshot.status.as_str().to_owned(),
            pinned: snapshot.pinned,
            model: snapshot.model,
            commits: snapshot.commits.into_iter().map(commit).collect(),
            documents: snapshot.stats.documents,
            embedded: snapshot.stats.embedded,
            passages: snapshot.stats.passages,
            bytes: snapshot.stats.bytes,
            duration_ms: snapshot.stats.duration_ms,
            ledger_seq: snapshot.ledger_seq,
            contents_bytes: snapshot.contents_bytes,
            last_error: snapshot.last_error,
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
    /// References of the first ones, in order.
    documents: Vec<ID>,
}

/// Names that a comparison tells unless the request says how many.
const NAMED: usize = 20;

fn difference(of: snapshot::Difference, most: usize) -> SnapshotDifference {
    SnapshotDifference { count: of.count, documents: of.documents.into_iter().take(most).map(ID).collect() }
}

/// The states on record.
pub(super) async fn all(ctx: &Context<'_>) -> Result<Snapshots> {
    let found = loaders::engine(ctx)?.snapshots().await?;
    let current = found.current.id;
    let recorded = found.recorded.into_iter().map(|of| Snapshot::of(of, &current)).collect();
    Ok(Snapshots { current: current.into(), recorded })
}

/// One of them.
pub(super) async fn one(ctx: &Context<'_>, id: &str) -> Result<Snapshot> {
    let engine = loaders::engine(ctx)?;
    let found = engine.snapshot(id).await?;
    Ok(Snapshot::of(found, &engine.state().await?.id))
}

/// Pins or unpins one.
pub(super) async fn pin(ctx: &Context<'_>, id: &str, pinned: bool) -> Result<Snapshot> {
    let engine = loaders::engine(ctx)?;
    let found = engine.pin_snapshot(id, pinned).await?;
    Ok(Snapshot::of(found, &engine.state().await?.id))
}

/// Compares two.
pub(super) async fn compare(ctx: &Context<'_>, from: &str, to: &str, first: Option<i32>) -> Result<SnapshotComparison> {
    let most = match first {
        None => NAMED,
        Some(first) => {
            usize::try_from(first).ok().filter(|first| *first <= snapshot::MAX_COMPARED).ok_or_else(|| {
                page::invalid(format!("{first} names were asked for; it must be 0 to {}", snapshot::MAX_COMPARED))
            })?
        }
    };
    let found = loaders::engine(ctx)?.compare_snapshots(from, to).await?;
    Ok(SnapshotComparison {
        from: found.from.into(),
        to: found.to.into(),
        added: difference(found.added, most),
        removed: difference(found.removed, most),
        changed: difference(found.changed, most),
        unchanged: found.unchanged,
    })
}
