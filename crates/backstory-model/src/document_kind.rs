//! The kinds of documents that search finds.

use serde::{Deserialize, Serialize};

/// Kind of a searchable document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum DocumentKind {
    /// An issue: its title and description.
    Issue,
    /// A merge request: its title and description.
    #[serde(alias = "mr", alias = "pr", alias = "merge-request", alias = "pull_request", alias = "pull-request")]
    #[cfg_attr(
        feature = "clap",
        value(name = "mr", aliases = ["merge-request", "merge_request", "pr", "pull-request", "pull_request"])
    )]
    MergeRequest,
    /// A discussion: its notes.
    Discussion,
    /// A commit: its message.
    Commit,
    /// A file: what it says about itself and what is in none of its parts.
    File,
    /// A code entity: a function, a type.
    Code,
    /// A section of a document.
    #[serde(alias = "doc", alias = "docs", alias = "document")]
    #[cfg_attr(feature = "clap", value(aliases = ["doc", "docs", "document"]))]
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

    /// The kind of that name, or of another name that it has on the command line, in REST or for agents.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "mr" | "pr" | "merge-request" | "pull_request" | "pull-request" => Some(Self::MergeRequest),
            "doc" | "docs" | "document" => Some(Self::Section),
            name => Self::ALL.into_iter().find(|kind| kind.as_str() == name),
        }
    }
}
