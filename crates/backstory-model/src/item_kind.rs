//! The kinds of items that the ledger stores, by their names. What an item of a kind contains is in
//! [`entity`](crate::entity) and [`repository`](crate::repository).

use serde::{Deserialize, Serialize};

/// Kind of an item in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// A project.
    Project,
    /// A person.
    Person,
    /// A label.
    Label,
    /// A milestone.
    Milestone,
    /// A release, as the forge has it.
    Release,
    /// An issue.
    Issue,
    /// A merge request.
    MergeRequest,
    /// A discussion with its notes.
    Discussion,
    /// A repository.
    Repository,
    /// A commit and the code entities it changes.
    Commit,
    /// What a merge commit brought.
    Merge,
    /// A branch.
    Branch,
    /// A tag.
    Tag,
    /// The commits that a tag is the first release of.
    Shipment,
    /// A file at the indexed head.
    File,
    /// References and tests of a file.
    FileLinks,
    /// What changes together.
    CoChange,
    /// How central code is.
    Importance,
    /// A person as commits know them.
    Identity,
}

impl ItemKind {
    /// All kinds, in the order in which a sync meets them.
    pub const ALL: [Self; 19] = [
        Self::Project,
        Self::Person,
        Self::Label,
        Self::Milestone,
        Self::Release,
        Self::Issue,
        Self::MergeRequest,
        Self::Discussion,
        Self::Repository,
        Self::Commit,
        Self::Merge,
        Self::Branch,
        Self::Tag,
        Self::Shipment,
        Self::File,
        Self::FileLinks,
        Self::CoChange,
        Self::Importance,
        Self::Identity,
    ];

    /// Its name in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Person => "person",
            Self::Label => "label",
            Self::Milestone => "milestone",
            Self::Release => "release",
            Self::Issue => "issue",
            Self::MergeRequest => "merge_request",
            Self::Discussion => "discussion",
            Self::Repository => "repository",
            Self::Commit => "commit",
            Self::Merge => "merge",
            Self::Branch => "branch",
            Self::Tag => "tag",
            Self::Shipment => "shipment",
            Self::File => "file",
            Self::FileLinks => "file_links",
            Self::CoChange => "co_change",
            Self::Importance => "importance",
            Self::Identity => "identity",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether it is something of a repository, known from its clone.
    pub fn comes_from_git(self) -> bool {
        use ItemKind::{Branch, CoChange, Commit, File, FileLinks, Importance, Merge, Repository, Shipment, Tag};
        matches!(self, Repository | Commit | Merge | Branch | Tag | Shipment | File | FileLinks | CoChange | Importance)
    }
}
