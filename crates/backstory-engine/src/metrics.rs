//! Store metrics for an operator: lag, queue lengths and sizes. How the server prints them is in its `http::metrics`.

use std::{fs, io, path::Path};

use backstory_store::ledger::{JobKind, JobStatus};
use jiff::Timestamp;

use crate::{
    catalog::known_projects,
    error::Result,
    resources::Resources,
    status::{index_coverage, visible_progress},
};

/// Directories and files of the data directory that are measured, by what they hold.
const STORES: [(&str, &[&str]); 4] = [
    ("ledger", &["ledger.sqlite", "ledger.sqlite-wal"]),
    ("graph", &["graph"]),
    ("index", &["index"]),
    ("clones", &["clones"]),
];

/// How the stores do.
#[derive(Clone, Debug)]
pub struct StoreMetrics {
    /// Newest change in the ledger, of those that are visible.
    pub ledger_seq: u64,
    /// Newest change in the graph, of those that are visible, as are the others.
    pub graph_seq: u64,
    /// Newest change in the lists.
    pub lists_seq: u64,
    /// Newest change in the index.
    pub index_seq: u64,
    /// Documents that text search finds.
    pub documents: u64,
    /// Documents that vector search finds.
    pub embedded: u64,
    /// How many jobs of each kind and status are on record.
    pub jobs: Vec<(JobKind, JobStatus, u64)>,
    /// When each project was last read to the end: when that began; `None` if it never was.
    pub synced: Vec<(String, Option<Timestamp>)>,
    /// Bytes on disk of each store; none for a caller who sees only some projects.
    pub bytes: Vec<(&'static str, u64)>,
    /// Webhooks that are remembered.
    pub deliveries: u64,
    /// Places in what is stored in which secrets were replaced.
    pub redactions: u64,
}

/// How the stores do now.
///
/// # Errors
/// One of them cannot be read.
pub(crate) async fn store_metrics(resources: &Resources) -> Result<StoreMetrics> {
    let projects = known_projects(resources).await?;
    let index_seq = resources.index().applied_seq().await?;
    let coverage = index_coverage(resources);
    let data_dir = resources.shared.data_dir.clone();
    resources
        .blocking(move |resources| {
            let ledger = resources.ledger();
            let synced = projects.into_iter().map(|project| {
                let at = ledger.synced_at(&project)?;
                Ok((project, at))
            });
            let size = |(name, parts): (&'static str, &[&str])| {
                // A file may go while it is looked at.
                (name, parts.iter().map(|part| size(&data_dir.join(part)).unwrap_or(0)).sum())
            };
            let ledger_seq = ledger.last_visible_seq()?;
            let up_to = |seq: u64| visible_progress(ledger, ledger_seq, seq);
            Ok(StoreMetrics {
                ledger_seq,
                graph_seq: up_to(resources.graph().applied_seq()?),
                lists_seq: up_to(ledger.lists().applied_seq()?),
                index_seq: up_to(index_seq),
                documents: coverage.documents,
                embedded: coverage.embedded,
                jobs: ledger.job_counts()?,
                synced: synced.collect::<Result<_>>()?,
                // What all projects take together.
                bytes: if resources.visibility().allows_all_projects() {
                    STORES.into_iter().map(size).collect()
                } else {
                    Vec::new()
                },
                deliveries: ledger.deliveries()?.0,
                redactions: ledger.secrets()?.values().sum(),
            })
        })
        .await
}

/// Bytes of a file, or of all files below a directory.
fn size(path: &Path) -> io::Result<u64> {
    let about = fs::symlink_metadata(path)?;
    if !about.is_dir() {
        return Ok(about.len());
    }
    fs::read_dir(path)?.map(|entry| entry.and_then(|entry| size(&entry.path()))).sum()
}
