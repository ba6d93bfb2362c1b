//! Conditions that the documents of a list or a search must meet.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::entity::State;

/// Kind of a searchable document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum DocumentKind {
    /// An issue: its title and description.
    Issue,
    /// A merge request: its title and description.
    #[cfg_attr(feature = "clap", value(name = "mr", alias = "merge-request", alias = "merge_request"))]
    MergeRequest,
    /// A discussion: its notes.
    Discussion,
    /// A commit: its message.
    Commit,
    /// A file: what it says of itself and what is in none of its parts.
    File,
    /// A code entity: a function, a type.
    Code,
    /// A section of a document.
    Section,
}

impl DocumentKind {
    /// All kinds.
    pub const ALL: [Self; 7] =
        [Self::Issue, Self::MergeRequest, Self::Discussion, Self::Commit, Self::File, Self::Code, Self::Section];

    /// Its name in stores and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::MergeRequest => "merge_request",
            Self::Discussion => "discussion",
            Self::Commit => "commit",
            Self::File => "file",
            Self::Code => "code",
            Self::Section => "section",
        }
    }

    /// Whether it is a part of another document: of an issue or merge request, or of a file.
    pub fn is_part(self) -> bool {
        matches!(self, Self::Discussion | Self::Code | Self::Section)
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Conditions that a document meets all of; an empty one is met by every document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Filter {
    /// Any of these kinds; empty for all.
    pub kinds: Vec<DocumentKind>,
    /// By any of these, user names or the addresses that commits name, in whatever case; empty for all. Of a discussion,
    /// who began it.
    pub authors: Vec<String>,
    /// All of these labels, in whatever case; a discussion has those of what it belongs to.
    pub labels: Vec<String>,
    /// Of files whose paths begin so, or commits that change such files.
    pub path: Option<String>,
    /// Only files that say how things must be, and their parts.
    pub governing: bool,
    /// Created at or after.
    pub after: Option<Timestamp>,
    /// Created before.
    pub before: Option<Timestamp>,
    /// Full path of the project.
    pub project: Option<String>,
    /// State; a discussion has that of what it belongs to.
    pub state: Option<State>,
    /// None of these documents, nor their parts.
    pub exclude: Vec<String>,
}

/// Whether two names of people or labels are the same: their case does not count.
pub fn is_same_name(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}
