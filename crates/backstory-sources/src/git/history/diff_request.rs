//! Decides what to ask git about a commit, by the cost that is known in advance.

use backstory_model::commit::{RepoPath, Sha};
use git2::{Odb, Oid, Repository};

use crate::git::{
    commit_object::parse_links,
    diff_cost::{self, MAX_FILE, MAX_LINES},
    objects::oid,
    trees::{Differences, MAX_ENTRIES, Trees},
};

/// How much of a path is shown, in characters.
const SHOWN: usize = 100;

/// How much git is asked to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DiffDetail {
    /// Files, line by line.
    Whole,
    /// Files without their lines, for this reason.
    WithoutLines(String),
    /// Nothing, for this reason.
    NotAtAll(String),
}

/// A commit to read.
#[derive(Clone, Debug)]
pub(super) struct DiffRequest {
    pub(super) sha: Sha,
    /// Its first parent, if it has one.
    pub(super) parent: Option<Sha>,
    pub(super) how: DiffDetail,
    /// What git leaves out of it.
    pub(super) note: Option<String>,
}

impl DiffRequest {
    /// Looks how much there is to compare. What cannot be read is left to git, which says why.
    pub(super) fn of(
        repository: &Repository,
        odb: &Odb<'_>,
        trees: &mut Trees,
        (sha, parent): (Sha, Option<Sha>),
    ) -> Self {
        let whole = Self { sha, parent, how: DiffDetail::Whole, note: None };
        let old = match parent.map(|parent| tree_of(odb, parent)) {
            Some(None) => return whole,
            Some(tree) => tree,
            None => None,
        };
        let Some(new) = tree_of(odb, sha) else { return whole };
        let Ok(differences) = trees.differences(repository, old, Some(new)) else { return whole };
        if differences.are_too_many {
            let first = differences.left_out.first().map_or_else(String::new, |path| shown(path));
            let reason = format!("its directories unfold to more than {MAX_ENTRIES} entries, among them {first}");
            return Self { how: DiffDetail::NotAtAll(reason), ..whole };
        }
        let Ok(load) = diff_cost::estimate(odb, &differences) else { return whole };
        let how = if load.exceeds_limits() {
            DiffDetail::WithoutLines(format!(
                "the files that it changes have more than {MAX_LINES} lines, which are not compared"
            ))
        } else {
            DiffDetail::Whole
        };
        let note = load.first_large.map(|first| large(load.large_files, &differences, first));
        Self { how, note, ..whole }
    }
}

fn large(count: u64, differences: &Differences, first: usize) -> String {
    let path = differences.found.get(first).map_or_else(String::new, |difference| shown(&difference.path));
    let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
    format!("{path}{more}: larger than {} MiB, so lines are not compared", MAX_FILE >> 20)
}

/// A path, shortened if it is long.
pub(super) fn shown(path: &[u8]) -> String {
    let path = RepoPath::from_bytes(path);
    match path.as_str().char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}\u{2026}", &path.as_str()[..end]),
        None => path.as_str().to_owned(),
    }
}

fn tree_of(odb: &Odb<'_>, commit: Sha) -> Option<Oid> {
    let object = odb.read(oid(commit)).ok()?;
    Some(oid(parse_links(object.data())?.tree))
}
