//! Searches for remains of an erased subject: in searches, in the graph, in any file.

use std::path::{Path, PathBuf};

use backstory_store::{
    graph::Graph,
    ledger::ErasureTarget,
    scan::{Needles, ScanReport},
};

use super::subject::{TextProbes, prepare_probes};
use crate::{
    error::{Error, Result},
    resources::Resources,
    search::{Mode, SearchRequest, search_documents},
};

/// Pieces whose words are searched for.
const SEARCHES: usize = 5;
/// Hits of a search that are looked at.
const HITS: usize = 20;

/// What was looked through.
#[derive(Debug, Default)]
pub(super) struct Verification {
    /// Searches.
    pub(super) searches: u64,
    /// Statements of the graph.
    pub(super) statements: u64,
    /// Files.
    pub(super) files: u64,
    /// Bytes in them.
    pub(super) bytes: u64,
    /// Where something was found, for a person.
    pub(super) left: Vec<String>,
}

/// Searches for the words of what was forgotten, and looks for pieces of its texts in everything that the ledger has
/// packed, in the graph's statements, and in every byte of every file but the objects of clones.
pub(super) async fn verify_forgotten(
    resources: &Resources,
    subject: &ErasureTarget,
    texts: &TextProbes,
) -> Result<Verification> {
    let mut found = Verification::default();
    for piece in texts.pieces.iter().take(SEARCHES) {
        let request = SearchRequest {
            query: piece.split(|c: char| !c.is_alphanumeric()).collect::<Vec<_>>().join(" ").trim().to_owned(),
            mode: Mode::Lexical,
            limit: HITS,
            ..SearchRequest::default()
        };
        found.searches += 1;
        let hits = search_documents(resources, request).await?.hits;
        if hits.iter().any(|hit| subject.has(&hit.document.id)) {
            found.left.push("the search index".to_owned());
        }
    }
    let pieces = texts.pieces.clone();
    resources.blocking(move |resources| scan_all_stores(resources, &prepare_probes(&pieces)?, found)).await
}

/// Looks for pieces in the ledger, the graph and the files.
pub(super) fn scan_all_stores(
    resources: &Resources,
    pieces: &Needles,
    mut found: Verification,
) -> Result<Verification> {
    let mut holder = None;
    resources.ledger().for_each_text(|table, text| {
        holder = pieces.is_in(text).then_some(table);
        holder.is_none()
    })?;
    found.left.extend(holder.map(|table| format!("the table {table} of the ledger")));
    let graph = resources.graph();
    let (statements, scanned) = std::thread::scope(|scope| {
        let statements = scope.spawn(|| statements_without(pieces, &graph));
        let scanned = pieces.scan(&resources.shared.data_dir, &|directory| is_of_clone(resources, directory));
        (statements.join(), scanned)
    });
    let ended = |_| Err(Error::internal("looking through the graph ended with a bug"));
    let (count, is_left) = statements.unwrap_or_else(ended)?;
    found.statements = count;
    found.left.extend(is_left.then(|| "the graph".to_owned()));
    let ScanReport { files, bytes, found: mut holders } =
        scanned.map_err(|error| Error::internal(format!("the data directory cannot be looked through: {error}")))?;
    holders.sort();
    (found.files, found.bytes) = (files, bytes);
    found.left.extend(holders.iter().map(|path: &PathBuf| path.display().to_string()));
    Ok(found)
}

/// Whether a directory holds the objects of a clone: packed by git, and what the repository itself says.
fn is_of_clone(resources: &Resources, directory: &Path) -> bool {
    let clones = resources.shared.data_dir.join("clones");
    directory.ends_with("objects") && directory.parent().and_then(Path::parent) == Some(&clones)
}

/// How many statements of a graph were looked at, and whether the last one has a piece.
fn statements_without(pieces: &Needles, graph: &Graph) -> Result<(u64, bool)> {
    let mut count = 0;
    for statement in graph.statements() {
        count += 1;
        if pieces.is_in(statement?.as_bytes()) {
            return Ok((count, true));
        }
    }
    Ok((count, false))
}
