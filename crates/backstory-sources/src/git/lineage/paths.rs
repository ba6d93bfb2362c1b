//! Sets of paths; most contain all paths except a few.

use std::collections::BTreeSet;

use super::objects::RepoPath;

/// A set of paths.
#[derive(Clone, Debug)]
pub(super) enum Paths {
    AllBut(BTreeSet<RepoPath>),
    Only(BTreeSet<RepoPath>),
}

impl Paths {
    pub(super) fn has(&self, path: &RepoPath) -> bool {
        match self {
            Self::AllBut(paths) => !paths.contains(path),
            Self::Only(paths) => paths.contains(path),
        }
    }

    /// Those that are not in the set, and those that are.
    pub(super) fn split(self, set: BTreeSet<RepoPath>) -> (Self, Self) {
        match self {
            Self::AllBut(mut paths) => {
                let inside = set.difference(&paths).cloned().collect();
                paths.extend(set);
                (Self::AllBut(paths), Self::Only(inside))
            }
            Self::Only(paths) => {
                let (inside, outside) = paths.into_iter().partition(|path| set.contains(path));
                (Self::Only(outside), Self::Only(inside))
            }
        }
    }

    pub(super) fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::AllBut(one), Self::AllBut(other)) => Self::AllBut(one.intersection(&other).cloned().collect()),
            (Self::AllBut(all), Self::Only(only)) | (Self::Only(only), Self::AllBut(all)) => {
                Self::AllBut(all.difference(&only).cloned().collect())
            }
            (Self::Only(mut one), Self::Only(other)) => {
                one.extend(other);
                Self::Only(one)
            }
        }
    }
}
