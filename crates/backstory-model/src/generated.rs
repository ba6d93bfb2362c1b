//! What a language model writes about commits, issues and merge requests when asked to enrich the graph, in the shape
//! that the ledger keeps. Types and notes that are found by rule are in [`classify`](crate::classify) and
//! [`message`](crate::message).

use serde::{Deserialize, Serialize};

use crate::{classify::ChangeType, id::NodeId};

pub use crate::generated_kind::GeneratedKind;

/// Most notes of an issue or merge request.
pub const MAX_NOTES: usize = 6;
/// Longest text of a note or reason, in characters.
pub const MAX_TEXT: usize = 300;

/// The type of a change as a language model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelClassification {
    /// The type.
    pub change_type: ChangeType,
    /// How sure the model says it is, 0 to 1, in hundredths.
    pub confidence: f32,
    /// Why, in one sentence.
    pub reason: String,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoteAspect {
    /// What was decided.
    Decision,
    /// Why.
    Reason,
    /// What was rejected.
    Alternative,
}

impl NoteAspect {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Reason => "reason",
            Self::Alternative => "alternative",
        }
    }
}

/// A design note that a language model wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeneratedNote {
    /// What it is about.
    pub aspect: NoteAspect,
    /// What it says.
    pub text: String,
    /// How much of it stands in what it cites, 0 to 1, in hundredths.
    pub confidence: f32,
    /// References of what it cites: notes, or the issue or merge request for its description.
    pub evidence: Vec<String>,
}

impl GeneratedNote {
    /// What it cites.
    pub fn evidence(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.evidence.iter().filter_map(|reference| reference.parse().ok())
    }
}

/// The outcome of asking a language model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GenerationOutcome {
    /// The type of a commit.
    Classification(ModelClassification),
    /// Notes; none if nothing that the model wrote could be proved.
    DesignNotes(Vec<GeneratedNote>),
    /// Nothing that could be used, and why.
    Failed(String),
}
