//! Blame of the files of a clone: for every line the commit that wrote it, with the path and line it had there.
//!
//! [`compute_all`] computes it for all files at some tips in one pass over the history; [`update_incrementally`] gives
//! the same from what was known before and the new commits alone; [`blame_file_at`] and [`blame_lines_at`] follow one
//! file, or some of its lines, back from any commit. What a commit did to a file is a [plan](plan) that depends on contents alone, so plans are made on all
//! threads; they are joined parents first.
//!
//! Lines follow `git blame -w`: of the parents in order, the first that has the very same file gives all its lines;
//! else each gives the lines that the diff leaves unchanged. A parent without the path is asked for the file that git
//! would consider renamed. [`Mode::SeeThrough`] follows moved and copied blocks as well.
//!
//! Storing and updating the result belongs to `engine::repository`.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use backstory_model::{
    commit::Sha,
    lineage::{Lineage, ReplacedHunks},
};
use git2::Oid;

use assemble::{Interner, bytes_of, hash};
use objects::oid;
use plan::Planner;
use sweep::HistoryPass;
use walk::BackwardWalk;

pub use line_map::LineMap;

mod assemble;
mod blocks;
mod commits;
mod hunks;
mod ignored;
mod line_map;
mod objects;
mod paths;
mod plan;
mod renames;
mod sweep;
#[cfg(test)]
mod tests;
mod walk;

/// Most threads that a computation uses.
pub const MAX_THREADS: usize = 16;

/// How far lines are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// As `git blame -w` follows them: renames and white space.
    Plain,
    /// Also through blocks that were moved or copied from files that the same commit changed, and through the commits
    /// that `.git-blame-ignore-revs` lists.
    #[default]
    SeeThrough,
}

/// What to compute, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// How far lines are followed.
    pub mode: Mode,
    /// Commits that pass their lines on, besides those that the tips' trees list. They count in both modes.
    pub ignored: Vec<Sha>,
    /// A file of more bytes is not traced.
    pub max_file_bytes: usize,
    /// Threads that plan, at most [`MAX_THREADS`]; 0 for as many as the machine offers.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { mode: Mode::default(), ignored: Vec::new(), max_file_bytes: 4 << 20, threads: 0 }
    }
}

/// Why a file has no lineage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Untraced {
    /// It has a zero byte in its first 8,000.
    Binary,
    /// It has more bytes than are traced, or a commit that wrote it unfolds to more files than are looked at.
    TooLarge,
}

/// What is known of a regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOutcome {
    /// Where its lines come from.
    Traced(Arc<Lineage>),
    /// Why that is not known.
    Untraced(Untraced),
}

/// The files at a tip, or what differs there from a tip known before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TipBlame {
    /// The tip.
    pub tip: Sha,
    /// The old tip that `files` is the difference from; none if it is all files.
    pub base: Option<Sha>,
    /// Regular files by path (what is not UTF-8 in one is replaced); none for a file that the base has and the tip has
    /// not. Symbolic links and submodules are left out.
    pub files: BTreeMap<Arc<str>, Option<FileOutcome>>,
}

/// What a computation found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlameResult {
    /// The commits that were ignored, sorted: part of the state that the next [`update_incrementally`] needs.
    pub ignored: Vec<Sha>,
    /// The wanted tips in their order.
    pub tips: Vec<TipBlame>,
}

/// What was known before an update. It must have been computed with the same options.
pub struct Previous<'a> {
    /// The tips whose files are known.
    pub tips: &'a [Sha],
    /// The commits that were ignored, as [`BlameResult`] told them.
    pub ignored: &'a [Sha],
    /// What is known of a file at one of the tips; a file that is not known is computed from scratch.
    pub file: &'a mut dyn FnMut(Sha, &str) -> Option<FileOutcome>,
}

/// What a commit replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitReplaced {
    /// The commit.
    pub commit: Sha,
    /// The files in which it replaced, added or took away lines, in the order of their paths. New files are left out,
    /// as are files that it took away. For a merge only lines that it wrote itself count.
    pub files: Vec<ReplacedHunks>,
}

/// Is told once for each commit that an update passes over what that commit replaced, if it replaced anything.
pub type OnReplaced<'a> = &'a mut dyn FnMut(CommitReplaced);

/// Why lineage could not be computed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The clone cannot be opened.
    #[error("the clone {path} cannot be opened; clone the repository again")]
    Open {
        /// Where it should be.
        path: PathBuf,
        /// What is wrong.
        source: git2::Error,
    },
    /// An object is not there or is damaged.
    #[error("{what} {id} cannot be read; fetch the repository again")]
    Read {
        /// What kind of object.
        what: &'static str,
        /// Its name.
        id: Sha,
        /// What is wrong.
        source: git2::Error,
    },
    /// Two texts cannot be compared.
    #[error("two versions of a file cannot be compared")]
    Diff {
        /// What is wrong.
        source: git2::Error,
    },
    /// A thread ended before its work was done.
    #[error("a thread that planned commits ended early; try again")]
    Panicked,
}

impl From<super::trees::Unreadable> for Error {
    fn from(error: super::trees::Unreadable) -> Self {
        Self::read("tree", error.id, error.source)
    }
}

impl Error {
    fn read(what: &'static str, id: Oid, source: git2::Error) -> Self {
        Self::Read { what, id: hash(id), source }
    }
}

/// The lineage of all files at the tips, computed from the whole history.
///
/// Commits listed in the `.git-blame-ignore-revs` of any tip are ignored for all of them.
///
/// # Errors
/// The clone cannot be read.
pub fn compute_all(
    repository: &Path,
    tips: &[Sha],
    options: &Options,
    on_replaced: OnReplaced<'_>,
) -> Result<BlameResult, Error> {
    compute(repository, tips, options, None, on_replaced)
}

/// What [`compute_all`] would give, computed from what was known before and the commits that are new since.
///
/// If other revisions are ignored than before, everything is computed from scratch. The new tips need not descend from the
/// old ones.
///
/// # Errors
/// The clone cannot be read.
pub fn update_incrementally<'a>(
    repository: &'a Path,
    previous: &'a mut Previous<'a>,
    tips: &[Sha],
    options: &'a Options,
    on_replaced: OnReplaced<'_>,
) -> Result<BlameResult, Error> {
    compute(repository, tips, options, Some(previous), on_replaced)
}

/// What is known of the file that a commit has at a path; none if there is no regular file.
///
/// `ignored` is what [`BlameResult`] told, for the same answer as at a tip; `options.ignored` is not looked at.
///
/// # Errors
/// The clone cannot be read.
pub fn blame_file_at(
    repository: &Path,
    commit: Sha,
    path: &str,
    ignored: &[Sha],
    options: &Options,
) -> Result<Option<FileOutcome>, Error> {
    let ignored = Arc::new(ignored.iter().map(|commit| oid(*commit)).collect());
    let mut walk = BackwardWalk::new(Planner::open(repository, options.mode, ignored, options.max_file_bytes)?, None);
    let mut names = Interner::default();
    let leaf = walk.file(&mut names, oid(commit), &bytes_of(path))?;
    Ok(names.to_public(&leaf))
}

/// What is known of some lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinesBlame {
    /// How many lines the whole file has.
    pub file_lines: u32,
    /// Where the lines come from, as if the file had no others.
    pub outcome: FileOutcome,
}

/// What [`blame_file_at`] would say of these lines, the first counted from 1; the others are not followed. Lines that the
/// file does not have are left out.
///
/// # Errors
/// The clone cannot be read.
pub fn blame_lines_at(
    repository: &Path,
    commit: Sha,
    (path, first, lines): (&str, u32, u32),
    ignored: &[Sha],
    options: &Options,
) -> Result<Option<LinesBlame>, Error> {
    let ignored = Arc::new(ignored.iter().map(|commit| oid(*commit)).collect());
    let mut walk = BackwardWalk::new(Planner::open(repository, options.mode, ignored, options.max_file_bytes)?, None);
    let mut names = Interner::default();
    let start = first.saturating_sub(1);
    let followed = walk.lines(&mut names, (oid(commit), &bytes_of(path)), start..start.saturating_add(lines))?;
    let outcome = names.to_public(&followed.entry);
    Ok(outcome.map(|outcome| LinesBlame { file_lines: followed.file_lines, outcome }))
}

fn compute<'a>(
    repository: &'a Path,
    tips: &[Sha],
    options: &'a Options,
    previous: Option<&'a mut Previous<'a>>,
    on_replaced: OnReplaced<'_>,
) -> Result<BlameResult, Error> {
    let tips: Vec<Oid> = tips.iter().map(|tip| oid(*tip)).collect();
    let mut ignored: BTreeSet<Oid> = options.ignored.iter().map(|commit| oid(*commit)).collect();
    if options.mode == Mode::SeeThrough {
        let mut objects = objects::Objects::open(repository, options.max_file_bytes)?;
        ignored.extend(ignored::ignored_revisions(&mut objects, &tips)?);
    }
    let told: Vec<Sha> = ignored.iter().map(|commit| hash(*commit)).collect();
    let ignored: Arc<HashSet<Oid>> = Arc::new(ignored.into_iter().collect());
    let previous = previous.filter(|previous| previous.ignored == told);
    let tips = sweep(repository, &tips, options, &ignored, previous, on_replaced)?;
    Ok(BlameResult { ignored: told, tips })
}

fn sweep<'a>(
    repository: &'a Path,
    tips: &[Oid],
    options: &'a Options,
    ignored: &Arc<HashSet<Oid>>,
    previous: Option<&'a mut Previous<'a>>,
    on_replaced: OnReplaced<'_>,
) -> Result<Vec<TipBlame>, Error> {
    let open = || Planner::open(repository, options.mode, Arc::clone(ignored), options.max_file_bytes);
    let old_tips: Vec<Oid> = previous.iter().flat_map(|previous| previous.tips.iter().map(|tip| oid(*tip))).collect();
    let offered = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if options.threads == 0 { offered } else { options.threads }.clamp(1, MAX_THREADS);
    let planners = (0..threads).map(|_| open()).collect::<Result<Vec<_>, _>>()?;
    let mut sweep = HistoryPass::new(BackwardWalk::new(open()?, previous));
    let also_ignored = Arc::clone(ignored);
    let compute_all: walk::ComputeAll<'a> =
        Box::new(move |tips| self::sweep(repository, tips, options, &also_ignored, None, &mut |_| {}));
    sweep.run(planners, tips, &old_tips, compute_all, on_replaced)
}
