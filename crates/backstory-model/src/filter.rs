//! What a list or a search is narrowed to.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::entity::State;

/// Kind of a searchable document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKind {
    /// An issue: its title and description.
    Issue,
    /// A merge request: its title and description.
    MergeRequest,
    /// A discussion: its notes.
    Discussion,
}

impl DocumentKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Issue, Self::MergeRequest, Self::Discussion];

    /// Its name in stores and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::MergeRequest => "merge_request",
            Self::Discussion => "discussion",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Conditions that a document meets all of; an empty one is met by every document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Any of these kinds; empty for all.
    pub kinds: Vec<DocumentKind>,
    /// User name of the author; of a discussion, who began it.
    pub author: Option<String>,
    /// All of these labels; a discussion has those of what it belongs to.
    pub labels: Vec<String>,
    /// Created at or after.
    pub after: Option<Timestamp>,
    /// Created before.
    pub before: Option<Timestamp>,
    /// Full path of the project.
    pub project: Option<String>,
    /// State; a discussion has that of what it belongs to.
    pub state: Option<State>,
}
