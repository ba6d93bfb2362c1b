//! Computes the blame of one file at any commit, from its history backward.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use backstory_model::commit::Sha;
use git2::Oid;

use super::{
    Error, FileOutcome, Previous, TipBlame,
    assemble::{self, BlameEntry, Interner, hash},
    commits,
    objects::{Kind, RepoPath, oid},
    paths::Paths,
    plan::{FilePlan, Plan, Planner},
};

/// Most commits that are looked at to see what stayed as it was between a known tip and one of its ancestors.
const MAX_LIFTED: usize = 5000;
/// Most tips that are tried for that.
const MAX_LIFTING_TIPS: usize = 8;

mod deferred;
mod lines;

use deferred::{Boundary, Deferred};

type Key = (Oid, u32);

/// Finds lineage at commits that no map is kept of.
pub(super) struct BackwardWalk<'a> {
    pub(super) planner: Planner,
    previous: Option<&'a mut Previous<'a>>,
    tips: HashSet<Oid>,
    found: HashMap<Key, BlameEntry>,
    /// For each commit and tip the paths that stayed as they were from the commit to the tip.
    unchanged: HashMap<(Oid, Oid), Paths>,
    /// For each commit and tip the commits that the tip has and the commit has not; none if it does not descend.
    between: HashMap<(Oid, Oid), Option<Arc<[Oid]>>>,
    /// By source: files of old commits whose lineage is found out when it turns out to be needed.
    deferred: HashMap<u32, Deferred>,
    /// The old commits that new ones descend from.
    forks: Vec<Oid>,
    walks: usize,
    /// All files of the forks, once so many are needed that one pass is quicker.
    fork_files: Option<HashMap<Sha, Files>>,
    boundary: Option<Boundary>,
    compute_all: Option<ComputeAll<'a>>,
}

type Files = BTreeMap<Arc<str>, Option<FileOutcome>>;
/// Computes all files of some commits from the whole history.
pub(super) type ComputeAll<'a> = Box<dyn Fn(&[Oid]) -> Result<Vec<TipBlame>, Error> + 'a>;

/// A version of a file whose plan is known.
enum Node {
    Written { plan: Plan, needs: Vec<(usize, RepoPath, Key)> },
    Renamed(Key),
}

/// Where the history of a file goes on.
enum Place {
    Known(Key),
    ToPlan { key: Key, commit: Oid, path: RepoPath, content: Oid },
}

impl Place {
    fn key(&self) -> Key {
        match self {
            Self::Known(key) | Self::ToPlan { key, .. } => *key,
        }
    }
}

impl<'a> BackwardWalk<'a> {
    pub(super) fn new(planner: Planner, previous: Option<&'a mut Previous<'a>>) -> Self {
        let tips = previous.iter().flat_map(|previous| previous.tips.iter().map(|tip| oid(*tip))).collect();
        Self {
            planner,
            previous,
            tips,
            found: HashMap::new(),
            unchanged: HashMap::new(),
            between: HashMap::new(),
            deferred: HashMap::new(),
            forks: Vec::new(),
            walks: 0,
            fork_files: None,
            boundary: None,
            compute_all: None,
        }
    }

    /// Says which old commits files are asked of, and how all their files can be had at once.
    pub(super) fn prepare(&mut self, forks: Vec<Oid>, compute_all: ComputeAll<'a>) {
        (self.forks, self.compute_all) = (forks, Some(compute_all));
    }

    pub(super) fn is_known_tip(&self, commit: Oid) -> bool {
        self.tips.contains(&commit)
    }

    /// What the commit has at the path.
    pub(super) fn file(&mut self, names: &mut Interner, commit: Oid, path: &RepoPath) -> Result<BlameEntry, Error> {
        let key = (commit, names.path(path));
        if let Some(leaf) = self.found.get(&key) {
            return Ok(leaf.clone());
        }
        let leaf = match self.lift_from_known_tip(names, commit, path)? {
            Some(leaf) => leaf,
            None if self.previous.is_some() => self.deferred(names, commit, path)?,
            None => self.walked(names, commit, path)?,
        };
        self.found.insert(key, leaf.clone());
        Ok(leaf)
    }

    /// What a known tip has there.
    fn at_tip(&mut self, names: &mut Interner, tip: Oid, path: &RepoPath) -> Option<BlameEntry> {
        let previous = self.previous.as_mut().filter(|_| self.tips.contains(&tip))?;
        let id = names.path(path);
        let file = (previous.file)(hash(tip), &Arc::clone(names.text(id)))?;
        Some(names.take_entry(&file))
    }

    /// What a known tip has there, if the file stayed as it was from the commit to that tip.
    fn lift_from_known_tip(
        &mut self,
        names: &mut Interner,
        commit: Oid,
        path: &RepoPath,
    ) -> Result<Option<BlameEntry>, Error> {
        if self.tips.contains(&commit) {
            return Ok(self.at_tip(names, commit, path));
        }
        let mut tips: Vec<Oid> = self.tips.iter().copied().collect();
        tips.sort_unstable();
        for tip in tips.into_iter().take(MAX_LIFTING_TIPS) {
            if !self.unchanged.contains_key(&(commit, tip)) {
                let paths = self.unchanged_between(commit, tip)?;
                self.unchanged.insert((commit, tip), paths);
            }
            let unchanged = self.unchanged.get(&(commit, tip)).is_some_and(|paths| paths.has(path));
            if unchanged && let Some(leaf) = self.at_tip(names, tip, path) {
                return Ok(Some(leaf));
            }
        }
        Ok(None)
    }

    /// The paths that each commit from the tip back to the commit took whole from the parent on the way.
    fn unchanged_between(&mut self, commit: Oid, tip: Oid) -> Result<Paths, Error> {
        let none = || Paths::Only(BTreeSet::new());
        let Some(between) = self.between(commit, tip)? else { return Ok(none()) };
        let mut alive = HashMap::from([(tip, Paths::AllBut(BTreeSet::new()))]);
        for at in between.iter().copied() {
            let Some(mut paths) = alive.remove(&at) else { continue };
            let mut context = self.planner.context(at)?;
            for (place, parent) in context.info.parents.clone().into_iter().enumerate() {
                let differences = self.planner.differences(&mut context, place)?;
                let changed: BTreeSet<RepoPath> =
                    differences.found.iter().map(|difference| Arc::clone(&difference.path)).collect();
                // Where directories were left out it is not known what stayed.
                let (given, left) =
                    if differences.left_out.is_empty() { paths.split(changed) } else { (none(), paths) };
                let all = match alive.remove(&parent) {
                    Some(other) => other.union(given),
                    None => given,
                };
                alive.insert(parent, all);
                paths = left;
            }
        }
        Ok(alive.remove(&commit).unwrap_or_else(none))
    }

    /// The commits that a tip has and one of its ancestors has not, children first; none if it is no ancestor or they
    /// are too many.
    fn between(&mut self, commit: Oid, tip: Oid) -> Result<Option<Arc<[Oid]>>, Error> {
        if let Some(between) = self.between.get(&(commit, tip)) {
            return Ok(between.clone());
        }
        let found: Option<Arc<[Oid]>> =
            commits::between(&self.planner.objects, commit, tip, MAX_LIFTED)?.map(Into::into);
        self.between.insert((commit, tip), found.clone());
        Ok(found)
    }

    /// Follows the file back while a parent has the very same one at the same path.
    fn place(&mut self, names: &mut Interner, commit: Oid, path: &RepoPath) -> Result<Place, Error> {
        let id = names.path(path);
        let (mut at, mut info) = (commit, self.planner.objects.commit(commit)?);
        loop {
            let key = (at, id);
            if self.found.contains_key(&key) {
                return Ok(Place::Known(key));
            }
            if self.boundary.is_none()
                && let Some(leaf) = self.at_tip(names, at, path)
            {
                self.found.insert(key, leaf);
                return Ok(Place::Known(key));
            }
            let Some((Kind::File, content)) = self.planner.objects.entry(info.tree, path)? else {
                self.found.insert(key, BlameEntry::Gone);
                return Ok(Place::Known(key));
            };
            if let Some(leaf) = self.at_boundary(at, path, content)? {
                self.found.insert(key, leaf);
                return Ok(Place::Known(key));
            }
            let mut same = None;
            for parent in info.parents {
                let before = self.planner.objects.commit(parent)?;
                if self.planner.objects.entry(before.tree, path)? == Some((Kind::File, content)) {
                    same = Some((parent, before));
                    break;
                }
            }
            match same {
                Some(parent) => (at, info) = parent,
                None => return Ok(Place::ToPlan { key, commit: at, path: Arc::clone(path), content }),
            }
        }
    }

    fn walked(&mut self, names: &mut Interner, commit: Oid, path: &RepoPath) -> Result<BlameEntry, Error> {
        let start = self.place(names, commit, path)?;
        let wanted = start.key();
        let mut nodes: HashMap<Key, Node> = HashMap::new();
        let mut uses: HashMap<Key, usize> = HashMap::from([(wanted, 1)]);
        let mut order = Vec::new();
        let mut stack = vec![Err(start)];
        while let Some(next) = stack.pop() {
            let (key, commit, path, content) = match next {
                Ok(done) => {
                    order.push(done);
                    continue;
                }
                Err(Place::ToPlan { key, commit, path, content }) if !nodes.contains_key(&key) => {
                    (key, commit, path, content)
                }
                Err(_) => continue,
            };
            let Some((node, needs)) = self.node(names, key, (commit, &path, content))? else { continue };
            stack.push(Ok(key));
            for place in needs {
                *uses.entry(place.key()).or_default() += 1;
                stack.push(Err(place));
            }
            nodes.insert(key, node);
        }
        let mut leaves: HashMap<Key, BlameEntry> = HashMap::new();
        for key in order {
            let Some(node) = nodes.remove(&key) else { continue };
            let leaf = self.join(names, key, &node, &leaves)?;
            let needs: Vec<Key> = match node {
                Node::Written { needs, .. } => needs.into_iter().map(|(_, _, key)| key).collect(),
                Node::Renamed(key) => vec![key],
            };
            for need in needs {
                if let Some(count) = uses.get_mut(&need) {
                    *count -= 1;
                    if *count == 0 {
                        leaves.remove(&need);
                    }
                }
            }
            leaves.insert(key, leaf);
        }
        let leaf = leaves.remove(&wanted).or_else(|| self.found.get(&wanted).cloned()).unwrap_or(BlameEntry::Gone);
        self.found.insert(wanted, leaf.clone());
        Ok(leaf)
    }

    /// The plan of a version of a file and the versions that it needs; none if it is not traced.
    fn node(
        &mut self,
        names: &mut Interner,
        key: Key,
        (commit, path, content): (Oid, &RepoPath, Oid),
    ) -> Result<Option<(Node, Vec<Place>)>, Error> {
        let mut context = self.planner.context(commit)?;
        match self.planner.step(&mut context, path, content)? {
            FilePlan::Untraced(why) => {
                self.found.insert(key, BlameEntry::Untraced(why));
                Ok(None)
            }
            FilePlan::Same { parent, path } => {
                let place = self.place(names, context.info.parents[parent], &path)?;
                Ok(Some((Node::Renamed(place.key()), vec![place])))
            }
            FilePlan::Lines(plan) => {
                let mut needs: Vec<(usize, RepoPath, Key)> = Vec::new();
                let mut places = Vec::new();
                for from in plan.pieces.iter().filter_map(|piece| piece.from.as_ref()) {
                    if needs.iter().all(|(parent, path, _)| (*parent, path) != (from.parent, &from.path)) {
                        let place = self.place(names, context.info.parents[from.parent], &from.path)?;
                        needs.push((from.parent, Arc::clone(&from.path), place.key()));
                        places.push(place);
                    }
                }
                Ok(Some((Node::Written { plan, needs }, places)))
            }
        }
    }

    fn join(
        &mut self,
        names: &mut Interner,
        key: Key,
        node: &Node,
        leaves: &HashMap<Key, BlameEntry>,
    ) -> Result<BlameEntry, Error> {
        let leaf = |key: &Key| leaves.get(key).or_else(|| self.found.get(key)).cloned().unwrap_or(BlameEntry::Gone);
        match node {
            Node::Renamed(from) => Ok(leaf(from)),
            Node::Written { plan, needs, .. } => {
                let spans = assemble::spans(names, key, plan, |_, parent, path| {
                    let need = needs.iter().find(|need| (need.0, &need.1) == (parent, path));
                    Ok(need.map_or(BlameEntry::Gone, |need| leaf(&need.2)))
                })?;
                Ok(BlameEntry::Traced(Arc::new(spans)))
            }
        }
    }
}
