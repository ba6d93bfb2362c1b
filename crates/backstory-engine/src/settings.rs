//! What the use cases are told: forges, embedding, search. The binary reads them from a file and the environment.

use std::ffi::OsString;

use backstory_sources::forge;
use globset::GlobSet;

use crate::{embed, snapshot::DEFAULT_KEPT};

/// Which forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForgeKind {
    /// GitLab, self-hosted or not.
    Gitlab,
}

/// A forge and its projects.
#[derive(Clone, Debug)]
pub struct Forge {
    /// Which forge.
    pub kind: ForgeKind,
    /// How to reach it.
    pub connection: forge::Settings,
    /// Full paths of the projects to read.
    pub projects: Vec<String>,
}

/// How legs of a search are fused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ranking {
    /// Reciprocal rank fusion, k = 60.
    Rrf,
    /// Weighted sum of the legs' scores, each in 0..1.
    Weighted {
        /// Weight of the vectors.
        semantic: f32,
        /// Weight of the text.
        lexical: f32,
    },
}

/// How repositories are read.
#[derive(Clone, Debug, Default)]
pub struct Repositories {
    /// Hosts that may be cloned from although they are not public.
    pub allowed_hosts: Vec<String>,
    /// Only files whose path matches are looked into; all if there is none.
    pub include: GlobSet,
    /// Files whose path matches are not looked into.
    pub exclude: GlobSet,
    /// `SSH_AUTH_SOCK`: the agent that holds the keys for ssh addresses.
    pub ssh_agent: Option<OsString>,
}

/// Which states of the index stay on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshots {
    /// How many of the newest, besides those that are pinned; 1 to [`MAX_KEPT`](crate::snapshot::MAX_KEPT).
    pub keep: usize,
}

impl Default for Snapshots {
    fn default() -> Self {
        Self { keep: DEFAULT_KEPT }
    }
}

/// Everything.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The forges.
    pub forges: Vec<Forge>,
    /// How repositories are read.
    pub repositories: Repositories,
    /// The embedding model.
    pub embedding: embed::Settings,
    /// How hits are ranked.
    pub ranking: Ranking,
    /// Which states of the index stay on record.
    pub snapshots: Snapshots,
}

impl Settings {
    /// Every project with its forge.
    pub fn projects(&self) -> impl Iterator<Item = (&Forge, &str)> {
        self.forges.iter().flat_map(|forge| forge.projects.iter().map(move |project| (forge, project.as_str())))
    }
}
