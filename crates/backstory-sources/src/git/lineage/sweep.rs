//! Computes the blame of all files at some tips in one pass over the commits, parents first.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use backstory_model::lineage::{BlameSpans, ReplacedHunks};
use git2::Oid;
use rpds::HashTrieMapSync;

use super::{
    CommitReplaced, Error, FileOutcome, OnReplaced, TipBlame, Untraced,
    assemble::{self, BlameEntry, Interner, hash},
    commits::new_commits,
    objects::{Kind, RepoPath},
    plan::{FilePlan, Planner},
    walk::{BackwardWalk, ComputeAll},
};

/// How many commits are planned before they are joined: this bounds what is kept of plans.
const WINDOW: usize = 256;
/// With fewer commits than this one thread plans them all.
const MIN_COMMITS_FOR_THREADS: usize = 4;

/// The files of a commit: those of the base but for what differs.
#[derive(Clone)]
struct CommitFiles {
    base: Base,
    files: HashTrieMapSync<u32, BlameEntry>,
    /// Directories of which nothing is known but what `files` has.
    left_out: Arc<[RepoPath]>,
}

impl CommitFiles {
    fn new(base: Base) -> Self {
        Self { base, files: HashTrieMapSync::default(), left_out: Arc::new([]) }
    }

    /// Forgets what is in directories.
    fn leave_out(&mut self, directories: &[RepoPath], names: &Interner) {
        let is_in = |path: &[u8]| directories.iter().any(|directory| path.starts_with(directory));
        let gone: Vec<u32> = self.files.keys().copied().filter(|path| is_in(names.bytes(*path))).collect();
        for path in gone {
            self.files.remove_mut(&path);
        }
        self.left_out = self.left_out.iter().chain(directories).cloned().collect();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Nothing,
    /// A commit that was there before.
    Old(Oid),
}

/// What a commit did, file by file.
struct CommitPlan {
    parents: Vec<Oid>,
    /// Paths that differ from the first parent; none where there is no regular file any more.
    changes: Vec<(RepoPath, Option<FilePlan>)>,
    /// Directories that were not looked into.
    left_out: Vec<RepoPath>,
}

pub(super) struct HistoryPass<'a> {
    names: Interner,
    walk: BackwardWalk<'a>,
    maps: HashMap<Oid, CommitFiles>,
    /// How many commits to come, or wanted tips, need the map of a commit.
    uses: HashMap<Oid, usize>,
    made: HashMap<*const BlameSpans, (Arc<BlameSpans>, FileOutcome)>,
    /// Whether there are commits that were not looked into whole.
    is_partial: bool,
}

impl<'a> HistoryPass<'a> {
    pub(super) fn new(walk: BackwardWalk<'a>) -> Self {
        let (maps, uses, made) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { names: Interner::default(), walk, maps, uses, made, is_partial: false }
    }

    /// Passes over the commits that the tips have and the old tips have not.
    pub(super) fn run(
        &mut self,
        mut planners: Vec<Planner>,
        tips: &[Oid],
        old_tips: &[Oid],
        compute_all: ComputeAll<'a>,
        on_replaced: OnReplaced<'_>,
    ) -> Result<Vec<TipBlame>, Error> {
        let order = new_commits(&self.walk.planner.objects, tips, old_tips)?;
        for tip in tips {
            *self.uses.entry(*tip).or_default() += 1;
        }
        for commit in &order {
            for parent in self.walk.planner.objects.commit(*commit)?.parents {
                *self.uses.entry(parent).or_default() += 1;
            }
        }
        let new: HashSet<Oid> = order.iter().copied().collect();
        let mut forks: Vec<Oid> = self.uses.keys().copied().filter(|commit| !new.contains(commit)).collect();
        forks.sort_unstable();
        self.walk.prepare(forks, compute_all);
        for window in order.chunks(WINDOW) {
            for (commit, plan) in window.iter().zip(plans(&mut planners, window)?) {
                self.join(*commit, &plan, on_replaced)?;
            }
        }
        tips.iter().map(|tip| self.tip(*tip)).collect()
    }

    /// What a commit has at a path.
    fn file(&mut self, commit: Oid, path: &RepoPath) -> Result<BlameEntry, Error> {
        file(&self.maps, &mut self.walk, &mut self.names, commit, path)
    }

    fn join(&mut self, commit: Oid, plan: &CommitPlan, on_replaced: OnReplaced<'_>) -> Result<(), Error> {
        let mut files = match plan.parents.first() {
            None => CommitFiles::new(Base::Nothing),
            Some(parent) => self.maps.get(parent).cloned().unwrap_or_else(|| CommitFiles::new(Base::Old(*parent))),
        };
        if !plan.left_out.is_empty() {
            self.is_partial = true;
            files.leave_out(&plan.left_out, &self.names);
        }
        let mut told = Vec::new();
        for (path, step) in &plan.changes {
            let id = self.names.path(path);
            let leaf = match step {
                None if files.base == Base::Nothing => {
                    files.files.remove_mut(&id);
                    continue;
                }
                None => BlameEntry::Gone,
                Some(FilePlan::Untraced(why)) => BlameEntry::Untraced(*why),
                Some(FilePlan::Same { parent, path }) => self.file(plan.parents[*parent], path)?,
                Some(FilePlan::Lines(written)) => {
                    let (maps, walk) = (&self.maps, &mut self.walk);
                    let spans = assemble::spans(&mut self.names, (commit, id), written, |names, parent, path| {
                        file(maps, walk, names, plan.parents[parent], path)
                    })?;
                    told.extend(self.replaced(plan, id, written)?);
                    BlameEntry::Traced(Arc::new(spans))
                }
            };
            files.files.insert_mut(id, leaf);
        }
        if !told.is_empty() {
            on_replaced(CommitReplaced { commit: hash(commit), files: told });
        }
        for parent in &plan.parents {
            if let Some(uses) = self.uses.get_mut(parent) {
                *uses -= 1;
                if *uses == 0 {
                    self.maps.remove(parent);
                }
            }
        }
        if self.uses.get(&commit).is_some_and(|uses| *uses > 0) {
            self.maps.insert(commit, files);
        }
        Ok(())
    }

    fn replaced(
        &mut self,
        plan: &CommitPlan,
        path: u32,
        written: &super::plan::Plan,
    ) -> Result<Option<ReplacedHunks>, Error> {
        let Some(compared) = written.compared.as_ref().filter(|compared| !compared.hunks.is_empty()) else {
            return Ok(None);
        };
        let BlameEntry::Traced(old) = self.file(plan.parents[compared.parent], &compared.path)? else {
            return Ok(None);
        };
        let resolved = |names: &mut Interner, span| self.walk.resolved_span(names, span);
        assemble::replaced(&mut self.names, path, compared, &old, resolved).map(Some)
    }

    /// All that is known at a wanted tip, or what differs there from an old tip.
    fn tip(&mut self, tip: Oid) -> Result<TipBlame, Error> {
        if self.walk.is_known_tip(tip) && !self.maps.contains_key(&tip) {
            return Ok(TipBlame { tip: hash(tip), base: Some(hash(tip)), files: BTreeMap::new() });
        }
        if let Some(map) = self.maps.get(&tip).filter(|_| !self.is_partial).cloned() {
            let base = match map.base {
                Base::Nothing => Some(None),
                Base::Old(base) => self.walk.is_known_tip(base).then(|| Some(hash(base))),
            };
            if let Some(base) = base {
                let mut files = BTreeMap::new();
                for (path, leaf) in map.files.iter() {
                    let file = self.public(leaf)?;
                    files.insert(Arc::clone(self.names.text(*path)), file);
                }
                return Ok(TipBlame { tip: hash(tip), base, files });
            }
        }
        let tree = self.walk.planner.objects.commit(tip)?.tree;
        let mut files: BTreeMap<Arc<str>, Option<FileOutcome>> = BTreeMap::new();
        for entry in self.walk.planner.objects.differences(None, Some(tree))?.found {
            if matches!(entry.new, Some((Kind::File, _))) {
                let leaf = match self.file(tip, &entry.path)? {
                    // It is there, so it came with a commit that was not looked into.
                    BlameEntry::Gone => BlameEntry::Untraced(Untraced::TooLarge),
                    leaf => leaf,
                };
                let id = self.names.path(&entry.path);
                let file = self.public(&leaf)?;
                files.insert(Arc::clone(self.names.text(id)), file);
            }
        }
        Ok(TipBlame { tip: hash(tip), base: None, files })
    }

    /// The file by name; what several tips share is made once.
    fn public(&mut self, leaf: &BlameEntry) -> Result<Option<FileOutcome>, Error> {
        let BlameEntry::Traced(spans) = leaf else { return Ok(self.names.to_public(leaf)) };
        if let Some((_, file)) = self.made.get(&Arc::as_ptr(spans)) {
            return Ok(Some(file.clone()));
        }
        let leaf = self.walk.resolved(&mut self.names, leaf)?;
        let file = self.names.to_public(&leaf);
        if let Some(file) = &file {
            // The spans are kept as long as their address is the key.
            self.made.insert(Arc::as_ptr(spans), (Arc::clone(spans), file.clone()));
        }
        Ok(file)
    }
}

fn file(
    maps: &HashMap<Oid, CommitFiles>,
    walk: &mut BackwardWalk<'_>,
    names: &mut Interner,
    commit: Oid,
    path: &RepoPath,
) -> Result<BlameEntry, Error> {
    let Some(map) = maps.get(&commit) else { return walk.file(names, commit, path) };
    let id = names.path(path);
    match (map.files.get(&id), map.base) {
        (Some(leaf), _) => Ok(leaf.clone()),
        (None, _) if map.left_out.iter().any(|directory| path.starts_with(directory)) => {
            Ok(BlameEntry::Untraced(Untraced::TooLarge))
        }
        (None, Base::Nothing) => Ok(BlameEntry::Gone),
        (None, Base::Old(base)) => walk.file(names, base, path),
    }
}

/// The plans of the commits, in their order.
fn plans(planners: &mut [Planner], commits: &[Oid]) -> Result<Vec<CommitPlan>, Error> {
    let threads = if commits.len() < MIN_COMMITS_FOR_THREADS { 1 } else { planners.len() };
    let next = AtomicUsize::new(0);
    let work = |planner: &mut Planner| {
        let mut done = Vec::new();
        while let Some(commit) = commits.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*commit, plan(planner, *commit)?));
        }
        Ok::<_, Error>(done)
    };
    let (first, others) = planners.split_at_mut(1);
    let results = thread::scope(|scope| {
        let running: Vec<_> =
            others.iter_mut().take(threads - 1).map(|planner| scope.spawn(|| work(planner))).collect();
        let mut results: Vec<_> = first.iter_mut().map(&work).collect();
        results.extend(running.into_iter().map(|thread| thread.join().unwrap_or(Err(Error::Panicked))));
        results
    });
    let mut plans = HashMap::new();
    for result in results {
        plans.extend(result?);
    }
    commits.iter().map(|commit| plans.remove(commit).ok_or(Error::Panicked)).collect()
}

fn plan(planner: &mut Planner, commit: Oid) -> Result<CommitPlan, Error> {
    let mut context = planner.context(commit)?;
    let mut changes = Vec::new();
    let differences = planner.differences(&mut context, 0)?;
    for difference in &differences.found {
        let path = Arc::clone(&difference.path);
        let step = match difference.new {
            Some((Kind::File, content)) => Some(planner.step(&mut context, &path, content)?),
            _ => None,
        };
        changes.push((path, step));
    }
    Ok(CommitPlan { parents: context.info.parents, changes, left_out: differences.left_out.clone() })
}
