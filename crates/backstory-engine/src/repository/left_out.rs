//! What of a repository cannot be read or is too large: left out, counted and named.

use backstory_model::{
    commit::{RepoPath, Sha},
    people::MAX_MAILMAP,
};
use backstory_sources::git::{mailmap, objects::TreeListing};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    aggregates::{CommitRange, fold_commits},
    summary::CommitSummary,
    work::RepositorySync,
};
use crate::{error::Result, resources::Resources};

/// Names of it in the ledger.
const COMMITS: &str = "left_out_commits";
const FILES: &str = "left_out_files";
/// Most commits and most paths with secrets that are named.
const MAX_NAMED: usize = 3;
/// Hex digits of an object name that are shown.
const SHORT: usize = 8;

/// Commits of which not everything is known.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Commits {
    count: u64,
    /// The first of them, with the reason.
    first: Vec<(Timestamp, Sha, String)>,
}

impl Commits {
    fn add(&mut self, summary: &CommitSummary) {
        let Some(reason) = &summary.incomplete else { return };
        self.count += 1;
        self.first.push((summary.at, summary.sha, reason.clone()));
        self.first.sort();
        self.first.truncate(MAX_NAMED);
    }
}

/// Directories and files that are not among those at the head.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Files {
    count: u64,
    /// The first of them.
    first: Vec<String>,
    /// How many more have secrets in their paths.
    #[serde(default)]
    secret: u64,
    /// The first of these, without the secrets.
    #[serde(default)]
    first_secret: Vec<String>,
    /// Bytes of a mailmap that is too large to be read.
    #[serde(default)]
    mailmap: Option<u64>,
}

/// Notes what is left out of commits.
pub(super) fn record_left_out_commits(
    sync: &RepositorySync<'_>,
    counted: &CommitRange<'_>,
    all: &mut dyn FnMut() -> Result<Vec<CommitSummary>>,
) -> Result<()> {
    fold_commits(sync.resources, sync.project, COMMITS, counted, all, Commits::default(), Commits::add)?;
    Ok(())
}

/// Notes what is left out of the files at the head: what is too much, and paths that had secrets in them.
pub(super) fn record_left_out_files(
    sync: &RepositorySync<'_>,
    listing: &TreeListing,
    secret: &[RepoPath],
) -> Result<()> {
    let is_mailmap = |path: &RepoPath| path.as_str() == mailmap::PATH;
    let mailmap = listing.files.iter().find(|file| file.mode.is_file() && is_mailmap(&file.path));
    let name = |path: &RepoPath| sync.resources.redactor().redact(path.as_str()).0.into_owned();
    let files = Files {
        count: listing.left_out,
        first: listing.named.iter().map(name).collect(),
        secret: secret.len() as u64,
        first_secret: secret.iter().take(MAX_NAMED).map(|path| path.as_str().to_owned()).collect(),
        mailmap: mailmap.and_then(|file| file.size).filter(|size| *size > MAX_MAILMAP as u64),
    };
    let state = serde_json::to_vec(&files).unwrap_or_default();
    Ok(sync.resources.ledger().put_aggregate(sync.project, FILES, &state)?)
}

/// What was left out of a repository, in sentences; empty if nothing was.
pub(super) fn left_out(resources: &Resources, project: &str) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Sum {
        sum: Commits,
    }
    let stored = |name| Ok::<_, crate::error::Error>(resources.ledger().aggregate(project, name)?.unwrap_or_default());
    // What cannot be read is written again by the next sync.
    let commits = serde_json::from_slice::<Sum>(&stored(COMMITS)?).map(|of| of.sum).unwrap_or_default();
    let files: Files = serde_json::from_slice(&stored(FILES)?).unwrap_or_default();
    let mut sentences = Vec::new();
    if commits.count > 0 {
        let named = commits.first.iter().map(|(_, sha, why)| format!("{:.SHORT$} ({why})", sha.to_string()));
        let what = if commits.count == 1 { "of 1 commit" } else { &format!("of {} commits", commits.count) };
        sentences.push(format!("not everything {what} is indexed: {}", listed(named, commits.count)));
    }
    for (count, first, why) in [
        (files.count, &files.first, "too deep or unfolding to too many files"),
        (files.secret, &files.first_secret, "named by what looks like a secret"),
    ] {
        if count > 0 {
            let what = if count == 1 { "1 path is" } else { &format!("{count} paths are") };
            let named = first.iter().map(|path| shortened(path));
            sentences.push(format!("{what} left out, {why}: {}", listed(named, count)));
        }
    }
    if let Some(bytes) = files.mailmap {
        sentences.push(format!(
            "{} is left out, it has {bytes} bytes and at most {MAX_MAILMAP} are read: people are not joined by it",
            mailmap::PATH
        ));
    }
    Ok(sentences)
}

/// Names with how many more there are.
fn listed(names: impl Iterator<Item = String>, count: u64) -> String {
    let names: Vec<String> = names.collect();
    let more = count.saturating_sub(names.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

fn shortened(path: &str) -> String {
    const SHOWN: usize = 60;
    match path.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}\u{2026}", &path[..end]),
        None => path.to_owned(),
    }
}
