//! How a branch got from one commit to another: forward, or by a force-push that leaves commits behind.

use std::path::Path;

use backstory_model::commit::Sha;

use super::{
    command::{Cancel, Git, GitError, Limits, Reach},
    objects::{ObjectError, Objects},
};

/// Most commits that are named as left behind.
pub const MAX_LEFT_BEHIND: usize = 100_000;

/// Why two tips cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum DivergenceError {
    /// Git could not list commits.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A commit cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
}

/// What happened to a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Divergence {
    /// It stands where it stood.
    Same,
    /// The new tip comes from the old one.
    FastForward,
    /// It was moved to commits that do not come from the old tip.
    ForcePush {
        /// The newest commit that old and new tip come from; `None` if they have nothing in common.
        base: Option<Sha>,
        /// Commits of the old tip that no wanted tip reaches any more, parents first, at most [`MAX_LEFT_BEHIND`]. Their
        /// objects may still be there.
        left_behind: Vec<Sha>,
    },
    /// The old tip is not in the clone any more, so nothing can be said.
    OldTipGone,
}

/// Compares the old with the new tip of a branch. `tips` are all commits that are wanted, of this and other branches.
///
/// # Errors
/// If the new tip or one of `tips` is not there, or git fails.
pub fn divergence(
    git: &Git,
    (clone, objects): (&Path, &Objects),
    (old, new): (Sha, Sha),
    tips: &[Sha],
    (limits, cancel): (Limits, &Cancel),
) -> Result<Divergence, DivergenceError> {
    if old == new {
        return Ok(Divergence::Same);
    }
    if !objects.exists(old)? {
        return Ok(Divergence::OldTipGone);
    }
    if objects.is_ancestor(old, new)? {
        return Ok(Divergence::FastForward);
    }
    let base = objects.merge_base(old, new)?;
    let mut input = format!("{old}\n^{new}\n");
    for tip in tips {
        input.push_str(&format!("^{tip}\n"));
    }
    let most = format!("--max-count={MAX_LEFT_BEHIND}");
    let list =
        git.command(Some(clone), Reach::Nothing, "rev-list").args(["--topo-order", "--reverse", &most, "--stdin"]);
    let output = list.run_with(input.into_bytes(), limits, cancel)?;
    let left_behind = output.split(|b| *b == b'\n').filter_map(Sha::from_hex).collect();
    Ok(Divergence::ForcePush { base, left_behind })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::git::{command::GitSettings, fixture::Fixture};

    #[test]
    fn forward_forced_and_gone() {
        let mut origin = Fixture::new();
        let one = origin.commit("one");
        let two = origin.commit("two");
        let three = origin.commit("three");
        origin.git(["branch", "kept", &two.to_string()]);
        origin.git(["reset", "--quiet", "--hard", &one.to_string()]);
        let other = origin.commit("other");
        origin.git(["checkout", "--quiet", "--orphan", "alone"]);
        let alone = origin.commit("alone");
        let git = Git::find(GitSettings::default()).unwrap();
        let clone = origin.git_dir();
        let objects = Objects::open(&clone).unwrap();
        let limits = Limits { time: Duration::from_secs(20), output: 1 << 20 };
        let compare = |old, new, tips: &[Sha]| {
            divergence(&git, (&clone, &objects), (old, new), tips, (limits, &Cancel::default()))
        };
        let forced = |base, left_behind: &[Sha]| Divergence::ForcePush { base, left_behind: left_behind.to_vec() };
        assert_eq!(compare(one, one, &[]).unwrap(), Divergence::Same);
        assert_eq!(compare(one, three, &[]).unwrap(), Divergence::FastForward);
        assert_eq!(compare(three, other, &[]).unwrap(), forced(Some(one), &[two, three]));
        assert_eq!(compare(three, other, &[two]).unwrap(), forced(Some(one), &[three]));
        assert_eq!(compare(three, one, &[]).unwrap(), forced(Some(one), &[two, three]));
        assert_eq!(compare(other, alone, &[three]).unwrap(), forced(None, &[other]));
        assert_eq!(compare(Sha::from_bytes([7; 20]), one, &[]).unwrap(), Divergence::OldTipGone);
        assert!(compare(one, Sha::from_bytes([7; 20]), &[]).is_err());
    }
}
