//! The commit graph: which commits the tips reach, their parents and dates, without their content.
//!
//! Times do not say which of two commits came first: a rebase makes a series in one second, and clocks differ. So each
//! commit has a corrected date: its own, or one second after the latest of its parents. It is computed over the whole
//! history, also if only a window of it is kept, and depends on the commit's ancestors alone, so that every way of
//! syncing gives the same. Where it differs from the commit's own date it is in the record and, as `bs:correctedAt`, in
//! the graph. Histories are ordered by it.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    time::Duration,
};

use backstory_model::commit::Sha;

use super::command::{Cancel, GitError, GitProgram, Limits, NetworkAccess};

/// Longest the commits may take to be listed.
const TIME: Duration = Duration::from_mins(10);
/// Most bytes that git may write: some 25 million commits.
const MAX_OUTPUT: usize = 2 << 30;

/// Commits and their parents.
#[derive(Clone, Debug, Default)]
pub struct CommitGraph {
    /// Every commit, parents first.
    pub order: Vec<Sha>,
    parents: HashMap<Sha, Vec<Sha>>,
    corrected: HashMap<Sha, i64>,
}

impl CommitGraph {
    /// Reads what the tips reach.
    ///
    /// # Errors
    /// Git fails.
    pub fn read(git: &GitProgram, clone: &Path, tips: &[Sha], cancel: &Cancel) -> Result<Self, GitError> {
        let input: String = tips.iter().map(|tip| format!("{tip}\n")).collect();
        let list = git.command(Some(clone), NetworkAccess::Nothing, "rev-list").args([
            "--topo-order",
            "--reverse",
            "--parents",
            "--timestamp",
            "--stdin",
        ]);
        let output = list.run_with(input.into_bytes(), Limits { time: TIME, output: MAX_OUTPUT }, cancel)?;
        let mut graph = Self::default();
        for line in output.split(|byte| *byte == b'\n') {
            let mut words = line.split(|byte| *byte == b' ');
            // Git prints a time before 1970 like one beyond `i64`: both count as 0.
            let time = words.next().and_then(|time| std::str::from_utf8(time).ok()?.parse().ok()).unwrap_or(0);
            let mut names = words.filter_map(Sha::from_hex);
            if let Some(commit) = names.next() {
                graph.add(commit, time, names.collect());
            }
        }
        Ok(graph)
    }

    /// Adds a commit whose parents were added before, and when it was made, in seconds.
    fn add(&mut self, commit: Sha, time: i64, parents: Vec<Sha>) {
        let latest = parents.iter().filter_map(|parent| self.corrected.get(parent)).max();
        self.corrected.insert(commit, latest.map_or(time, |latest| time.max(latest.saturating_add(1))));
        self.order.push(commit);
        self.parents.insert(commit, parents);
    }

    /// When a commit was made, in seconds, or a second after the latest of its parents if that is later: so it is always
    /// later than that of any ancestor, whatever the clocks said. What is left out with [`Self::retain`] still counts.
    pub fn corrected_time(&self, commit: Sha) -> Option<i64> {
        self.corrected.get(&commit).copied()
    }

    /// The newest of the commits that the tips reach, at most `count`, in git's own order: by the time at which they were
    /// made, children before their parents.
    ///
    /// # Errors
    /// Git fails.
    pub fn newest(
        git: &GitProgram,
        clone: &Path,
        tips: &[Sha],
        count: usize,
        cancel: &Cancel,
    ) -> Result<HashSet<Sha>, GitError> {
        let input: String = tips.iter().map(|tip| format!("{tip}\n")).collect();
        let most = format!("--max-count={count}");
        let list =
            git.command(Some(clone), NetworkAccess::Nothing, "rev-list").args(["--date-order", &most, "--stdin"]);
        let output = list.run_with(input.into_bytes(), Limits { time: TIME, output: MAX_OUTPUT }, cancel)?;
        Ok(output.split(|byte| *byte == b'\n').filter_map(Sha::from_hex).collect())
    }

    /// The commits that one commit reaches and another does not, at most `count`, children before their parents.
    ///
    /// # Errors
    /// Git fails.
    pub fn between(
        git: &GitProgram,
        clone: &Path,
        from: Sha,
        to: Sha,
        count: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Sha>, GitError> {
        let input = format!("{to}\n^{from}\n");
        let most = format!("--max-count={count}");
        let list =
            git.command(Some(clone), NetworkAccess::Nothing, "rev-list").args(["--topo-order", &most, "--stdin"]);
        let output = list.run_with(input.into_bytes(), Limits { time: TIME, output: MAX_OUTPUT }, cancel)?;
        Ok(output.split(|byte| *byte == b'\n').filter_map(Sha::from_hex).collect())
    }

    /// Leaves out all others.
    pub fn retain(&mut self, commits: &HashSet<Sha>) {
        self.order.retain(|commit| commits.contains(commit));
        self.parents.retain(|commit, _| commits.contains(commit));
        self.corrected.retain(|commit, _| commits.contains(commit));
    }

    /// Whether the commit is among them.
    pub fn contains(&self, commit: Sha) -> bool {
        self.parents.contains_key(&commit)
    }

    /// The parents of a commit that are among them, the first one first.
    pub fn parents(&self, commit: Sha) -> impl Iterator<Item = Sha> + '_ {
        self.parents.get(&commit).into_iter().flatten().copied().filter(|parent| self.contains(*parent))
    }

    /// Commits that some of them reach, with these.
    pub fn reachable_from<'a>(&self, from: impl IntoIterator<Item = &'a Sha>) -> HashSet<Sha> {
        let mut left: Vec<Sha> = from.into_iter().copied().filter(|commit| self.contains(*commit)).collect();
        let mut reached: HashSet<Sha> = left.iter().copied().collect();
        while let Some(commit) = left.pop() {
            left.extend(self.parents(commit).filter(|parent| reached.insert(*parent)));
        }
        reached
    }

    /// What each merge on the way to a tip brought: the commits that were reached through it first, without those that
    /// a merge among them brought. Parents that are the first one of their child count as its own line of history.
    pub fn commits_by_merge(&self, tip: Sha) -> HashMap<Sha, Vec<Sha>> {
        let mut brought: HashMap<Sha, Vec<Sha>> = HashMap::new();
        let mut seen = HashSet::new();
        // What is left to do: lines of history, oldest commit last, each with the merge that brought it.
        let mut lines = vec![(self.line(tip, &seen), None)];
        while let Some((line, merge)) = lines.last_mut() {
            let Some(commit) = line.pop() else {
                lines.pop();
                continue;
            };
            if !seen.insert(commit) {
                continue;
            }
            if let Some(merge) = *merge {
                brought.entry(merge).or_default().push(commit);
            }
            // Later parents are done first, so that the stack takes them in order.
            let others: Vec<Sha> = self.parents(commit).skip(1).collect();
            for parent in others.into_iter().rev() {
                lines.push((self.line(parent, &seen), Some(commit)));
            }
        }
        brought.values_mut().for_each(|commits| commits.sort_unstable());
        brought
    }

    /// A commit and its first ancestors up to one that was seen, the oldest last.
    fn line(&self, tip: Sha, seen: &HashSet<Sha>) -> Vec<Sha> {
        let first = |commit: &Sha| self.parents(*commit).next();
        std::iter::successors(Some(tip).filter(|tip| self.contains(*tip)), first)
            .take_while(|commit| !seen.contains(commit))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{command::GitSettings, fixture::Fixture};

    #[test]
    fn merges_bring_what_they_reach_first() {
        let mut origin = Fixture::new();
        let root = origin.commit_all("root");
        origin.switch("feature");
        let one = origin.commit_all("one");
        origin.switch("nested");
        let nested = origin.commit_all("nested");
        origin.git(["checkout", "--quiet", "feature"]);
        let inner = origin.commit_index("merge nested", &[nested]);
        let two = origin.commit_all("two");
        origin.git(["checkout", "--quiet", "main"]);
        let outer = origin.commit_index("merge feature", &[two]);
        let last = origin.commit_all("last");
        let git = GitProgram::find(GitSettings::default()).unwrap();
        let graph = CommitGraph::read(&git, &origin.git_dir(), &[last], &Cancel::default()).unwrap();
        assert_eq!(graph.order.first(), Some(&root));
        assert_eq!(graph.order.len(), 7);
        let brought = graph.commits_by_merge(last);
        let sorted = |mut commits: Vec<Sha>| {
            commits.sort_unstable();
            commits
        };
        assert_eq!(brought.len(), 2);
        assert_eq!(brought[&outer], sorted(vec![one, inner, two]));
        assert_eq!(brought[&inner], [nested]);
    }

    #[test]
    fn corrected_times_follow_ancestry_whatever_the_clocks_say() {
        let name = |digit: char| Sha::from_hex(digit.to_string().repeat(40).as_bytes()).unwrap();
        let [root, same, early, other, merge] = ['1', '2', '3', '4', '5'].map(name);
        let mut graph = CommitGraph::default();
        graph.add(root, 100, vec![]);
        graph.add(same, 100, vec![root]);
        graph.add(early, 50, vec![same]);
        graph.add(other, 400, vec![root]);
        graph.add(merge, 300, vec![early, other]);
        let times: Vec<_> = graph.order.iter().map(|commit| graph.corrected_time(*commit).unwrap()).collect();
        assert_eq!(times, [100, 101, 102, 400, 401]);
    }
}
