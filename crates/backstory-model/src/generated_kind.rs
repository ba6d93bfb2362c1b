//! The kinds of text that a language model writes about items, by their names. The texts themselves are in
//! [`generated`](crate::generated).

use serde::{Deserialize, Serialize};

/// What a language model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GeneratedKind {
    /// The type of the change that a commit is.
    Classification,
    /// What was decided in an issue or merge request, why, and what was rejected.
    DesignNotes,
}

impl GeneratedKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Classification, Self::DesignNotes];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Classification => "classification",
            Self::DesignNotes => "design_notes",
        }
    }
}
