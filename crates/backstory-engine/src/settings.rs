//! What the use cases are told: forges, embedding, search. The binary reads them from a file and the environment.

use backstory_sources::forge;

use crate::embed;

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

/// Everything.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The forges.
    pub forges: Vec<Forge>,
    /// The embedding model.
    pub embedding: embed::Settings,
    /// How hits are ranked.
    pub ranking: Ranking,
}

impl Settings {
    /// Every project with its forge.
    pub fn projects(&self) -> impl Iterator<Item = (&Forge, &str)> {
        self.forges.iter().flat_map(|forge| forge.projects.iter().map(move |project| (forge, project.as_str())))
    }
}
