//! Finds the commits that some tips reach and others do not. Commits are read by [`Objects::commit`], so that those
//! count too whose people or dates libgit2 does not understand. Dates and merges are in [`graph`](crate::git::graph).

use std::{
    collections::{BinaryHeap, HashMap, HashSet},
    ops::BitOrAssign,
};

use git2::Oid;

use super::{
    Error,
    objects::{CommitInfo, Objects},
};

/// Who reaches a commit.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Reached {
    by_new: bool,
    by_old: bool,
}

const BY_NEW: Reached = Reached { by_new: true, by_old: false };
const BY_OLD: Reached = Reached { by_new: false, by_old: true };

impl BitOrAssign for Reached {
    fn bitor_assign(&mut self, other: Self) {
        self.by_new |= other.by_new;
        self.by_old |= other.by_old;
    }
}

struct Node {
    info: CommitInfo,
    reached: Reached,
    queued: bool,
    /// Whether its parents have been told of it.
    passed_on: bool,
    is_old_tip: bool,
}

impl Node {
    /// Whether the walk may not end before this has been looked at.
    fn matters(&self) -> bool {
        self.reached == BY_NEW || self.is_old_tip || self.passed_on
    }
}

/// A walk from two sides, the newest commits first, until what is left is reached by the old side alone and older than all
/// that is new. Where a commit is older than its parents, commits that the old side reaches too may count as new.
struct Walk<'a> {
    objects: &'a Objects,
    nodes: HashMap<Oid, Node>,
    queue: BinaryHeap<(i64, Oid)>,
    /// Queued commits that matter.
    left: usize,
    /// Commits that were reached by the new side alone when they were looked at.
    new: usize,
    /// When the oldest of these was made.
    oldest: i64,
}

impl<'a> Walk<'a> {
    fn begin(objects: &'a Objects, new: &[Oid], old: &[Oid]) -> Result<Self, Error> {
        let (nodes, queue) = (HashMap::new(), BinaryHeap::new());
        let mut walk = Self { objects, nodes, queue, left: 0, new: 0, oldest: i64::MAX };
        for tip in old {
            // One that was rewritten may be gone from the clone: then it hides nothing.
            if objects.commit(*tip).is_ok() {
                walk.reach(*tip, BY_OLD, true)?;
            }
        }
        for tip in new {
            walk.reach(*tip, BY_NEW, false)?;
        }
        Ok(walk)
    }

    fn reach(&mut self, commit: Oid, by: Reached, is_old_tip: bool) -> Result<(), Error> {
        if !self.nodes.contains_key(&commit) {
            let info = self.objects.commit(commit)?;
            let reached = Reached::default();
            self.nodes.insert(commit, Node { info, reached, queued: false, passed_on: false, is_old_tip });
        }
        let Some(node) = self.nodes.get_mut(&commit) else { return Ok(()) };
        let (before, mattered) = (node.reached, node.queued && node.matters());
        node.reached |= by;
        if node.reached != before && !node.queued {
            node.queued = true;
            self.queue.push((node.info.at, commit));
        }
        let matters = node.queued && node.matters();
        self.left = self.left + usize::from(matters) - usize::from(mattered);
        Ok(())
    }

    /// Walks until nothing is left that matters, or more than so many commits are new; whether it came to the end.
    fn run(&mut self, most: usize) -> Result<bool, Error> {
        while let Some((at, commit)) = self.queue.pop() {
            if self.left == 0 && at < self.oldest {
                break;
            }
            let Some(node) = self.nodes.get_mut(&commit) else { continue };
            self.left -= usize::from(node.matters());
            if node.reached == BY_NEW && !node.passed_on {
                self.new += 1;
                self.oldest = self.oldest.min(at);
            }
            if self.new > most {
                return Ok(false);
            }
            (node.queued, node.passed_on, node.is_old_tip) = (false, true, false);
            let (reached, parents) = (node.reached, node.info.parents.clone());
            for parent in parents {
                self.reach(parent, reached, false)?;
            }
        }
        Ok(true)
    }

    /// The commits that the new side alone reaches, parents first.
    fn new_ones(&self, tips: &[Oid]) -> Vec<Oid> {
        let mut order = Vec::new();
        let mut seen = HashSet::new();
        for tip in tips {
            let mut path = vec![(*tip, 0)];
            while let Some((commit, parent)) = path.last_mut() {
                let node = self.nodes.get(commit).filter(|node| node.reached == BY_NEW);
                let Some(node) = node.filter(|_| *parent > 0 || !seen.contains(commit)) else {
                    path.pop();
                    continue;
                };
                seen.insert(*commit);
                match node.info.parents.get(*parent).copied() {
                    Some(next) => {
                        *parent += 1;
                        path.push((next, 0));
                    }
                    None => {
                        order.push(*commit);
                        path.pop();
                    }
                }
            }
        }
        order
    }
}

/// The commits that the tips have and the old tips have not, parents first.
pub(super) fn new_commits(objects: &Objects, tips: &[Oid], old_tips: &[Oid]) -> Result<Vec<Oid>, Error> {
    let mut walk = Walk::begin(objects, tips, old_tips)?;
    walk.run(usize::MAX)?;
    Ok(walk.new_ones(tips))
}

/// The commits that a tip has and one of its ancestors has not, children first; none if it is no ancestor, or if they are
/// more than `most`.
pub(super) fn between(objects: &Objects, ancestor: Oid, tip: Oid, most: usize) -> Result<Option<Vec<Oid>>, Error> {
    if ancestor == tip || objects.commit(tip).is_err() {
        return Ok(None);
    }
    let mut walk = Walk::begin(objects, &[tip], &[ancestor])?;
    let is_ancestor = |walk: &Walk<'_>| walk.nodes.get(&ancestor).is_some_and(|node| node.reached.by_new);
    if !walk.run(most)? || !is_ancestor(&walk) {
        return Ok(None);
    }
    let mut commits = walk.new_ones(&[tip]);
    commits.reverse();
    Ok(Some(commits))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, process::Command};

    use fastrand::Rng;
    use git2::{Repository, Signature, Time};

    use super::*;

    /// A history of commits with up to two parents each, whose clocks are right, stand still or are wrong.
    fn history(random: &mut Rng, repository: &Repository, at: impl Fn(&mut Rng, usize) -> i64) -> Vec<Oid> {
        let tree = repository.find_tree(repository.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let mut commits: Vec<Oid> = Vec::new();
        for number in 0..30 {
            let who = Signature::new("A", "a@x", &Time::new(at(random, number), 0)).unwrap();
            let mut parents: Vec<Oid> = (0..random.usize(0..3))
                .filter_map(|_| {
                    commits.get(random.usize(commits.len().saturating_sub(8)..commits.len().max(1))).copied()
                })
                .collect();
            parents.dedup();
            let parents: Vec<_> = parents.iter().map(|id| repository.find_commit(*id).unwrap()).collect();
            let parents: Vec<_> = parents.iter().collect();
            commits.push(repository.commit(None, &who, &who, &format!("{number}"), &tree, &parents).unwrap());
        }
        commits
    }

    fn rev_list(repository: &Repository, new: &[Oid], old: &[Oid]) -> BTreeSet<Oid> {
        let names = new.iter().map(Oid::to_string).chain(old.iter().map(|id| format!("^{id}")));
        let output = Command::new("git").arg("-C").arg(repository.path()).arg("rev-list").args(names).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(|line| Oid::from_str(line).unwrap()).collect()
    }

    #[test]
    fn what_is_new_is_what_git_says() {
        let mut random = Rng::with_seed(7);
        for round in 0..30 {
            let directory = tempfile::tempdir().unwrap();
            let repository = Repository::init_bare(directory.path()).unwrap();
            let right = round % 3 < 2;
            let commits = history(&mut random, &repository, |random, number| match round % 3 {
                0 => 1_700_000_000 + number as i64,
                1 => 1_700_000_000,
                _ => 1_700_000_000 + random.i64(0..1000),
            });
            let objects = Objects::open(directory.path(), 1000).unwrap();
            for _ in 0..20 {
                let new = [commits[random.usize(0..30)], commits[random.usize(0..30)]];
                let old = [commits[random.usize(0..30)]];
                let found = new_commits(&objects, &new, &old).unwrap();
                let set: BTreeSet<Oid> = found.iter().copied().collect();
                let expected = rev_list(&repository, &new, &old);
                assert_eq!(set.len(), found.len());
                assert!(if right { set == expected } else { set.is_superset(&expected) }, "round {round}");
                for (at, commit) in found.iter().enumerate() {
                    let parents = objects.commit(*commit).unwrap().parents;
                    assert!(parents.iter().all(|parent| !set.contains(parent) || found[..at].contains(parent)));
                }
                let is_ancestor = repository.graph_descendant_of(new[0], old[0]).unwrap();
                let between = between(&objects, old[0], new[0], 1000).unwrap();
                assert_eq!(between.is_some(), is_ancestor, "round {round}");
                if let Some(mut between) = between.filter(|_| right) {
                    between.sort_unstable();
                    assert!(between.iter().eq(&rev_list(&repository, &new[..1], &old)));
                }
                assert!(super::between(&objects, old[0], new[0], 0).unwrap().is_none());
            }
        }
    }
}
