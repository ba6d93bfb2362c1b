//! What a forge knows, in one shape for every forge. What git knows is in [`commit`](crate::commit).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    commit::ChangeStatus,
    id::{NodeId, ThreadId},
    people::is_program,
    redaction::{self, SecretCounts},
    reference::Forge,
    repository::{CommitIdentity, RepositoryItem},
    security::{SecurityFlag, security_flags},
};

pub use crate::item_kind::ItemKind;

/// One object of a forge: the unit that the ledger stores and that owns a named graph.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "items are read one by one, and most are of the largest kinds")]
pub enum Item {
    /// A project.
    Project(Project),
    /// A person.
    Person(Person),
    /// A label.
    Label(Label),
    /// A milestone.
    Milestone(Milestone),
    /// A release.
    Release(Release),
    /// An issue.
    Issue(Issue),
    /// A merge request.
    MergeRequest(MergeRequest),
    /// A discussion with its notes; also one that holds system notes only.
    Discussion(Discussion),
    /// A person as commits know them.
    Identity(CommitIdentity),
    /// Something of a repository.
    Repository(RepositoryItem),
}

impl Item {
    /// The node that names the item.
    pub fn id(&self) -> NodeId {
        match self {
            Self::Project(project) => NodeId::Project(project.path.clone()),
            Self::Person(person) => NodeId::person(&person.username),
            Self::Label(label) => NodeId::Label { project: label.project.clone(), name: label.name.clone() },
            Self::Milestone(milestone) => NodeId::Milestone { project: milestone.project.clone(), iid: milestone.iid },
            Self::Release(release) => release.node_id(),
            Self::Issue(issue) => issue.id.clone().into(),
            Self::MergeRequest(mr) => mr.id.clone().into(),
            Self::Discussion(discussion) => discussion.node_id(),
            Self::Identity(identity) => NodeId::person(&identity.key),
            Self::Repository(record) => record.id(),
        }
    }

    /// What issues and merge requests have in common; `None` for other items.
    pub fn as_thread(&self) -> Option<&Thread> {
        match self {
            Self::Issue(issue) => Some(&issue.thread),
            Self::MergeRequest(mr) => Some(&mr.thread),
            _ => None,
        }
    }

    /// Marks it as something that only some may see; what has no such mark stays as it is.
    pub fn set_confidential(&mut self) {
        match self {
            Self::Issue(issue) => issue.thread.confidential = true,
            Self::MergeRequest(mr) => mr.thread.confidential = true,
            Self::Discussion(discussion) => discussion.confidential = true,
            _ => {}
        }
    }
}

/// A project.
#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    /// Full path, `group/project`.
    pub path: String,
    /// The forge's number for it.
    pub forge_id: u64,
    /// Short name.
    pub name: String,
    /// One-line description.
    pub description: Option<String>,
    /// Address for people.
    pub web_url: String,
    /// Branch that is checked out by default.
    pub default_branch: Option<String>,
    /// When it was created.
    pub created_at: Option<Timestamp>,
}

/// A person.
#[derive(Clone, Debug, PartialEq)]
pub struct Person {
    /// User name at the forge.
    pub username: String,
    /// The forge's number for them.
    pub forge_id: u64,
    /// Display name.
    pub name: String,
    /// Address for people.
    pub web_url: Option<String>,
}

/// A label.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Full path of the project.
    pub project: String,
    /// Its name.
    pub name: String,
    /// `#rrggbb`.
    pub color: Option<String>,
    /// What it stands for.
    pub description: Option<String>,
}

/// A milestone.
#[derive(Clone, Debug, PartialEq)]
pub struct Milestone {
    /// Full path of the project.
    pub project: String,
    /// Number within the project.
    pub iid: u64,
    /// Its title.
    pub title: String,
    /// Its text.
    pub description: String,
    /// `active` or `closed`.
    pub state: String,
    /// Address for people.
    pub web_url: Option<String>,
}

/// A release that a forge has of a tag.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// Full path of the project.
    pub project: String,
    /// Name of the tag.
    pub tag: String,
    /// Its title.
    pub name: String,
    /// Its notes.
    pub description: String,
    /// User name of who made it; `None` for a deleted account.
    pub author: Option<String>,
    /// When it was made, or is planned.
    pub released_at: Option<Timestamp>,
    /// Whether it is a pre-release, or planned.
    pub preliminary: bool,
    /// Address for people.
    pub web_url: Option<String>,
}

impl Release {
    /// The node of the release: that of its tag.
    pub fn node_id(&self) -> NodeId {
        NodeId::Tag { project: self.project.clone(), name: self.tag.clone() }
    }
}

/// State of an issue or merge request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Being worked on.
    #[cfg_attr(feature = "clap", value(alias = "open"))]
    Opened,
    /// Closed without a merge.
    Closed,
    /// Merged.
    Merged,
    /// Locked while it is being merged.
    Locked,
}

impl State {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Opened, Self::Closed, Self::Merged, Self::Locked];

    /// Its name, as GitLab writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Closed => "closed",
            Self::Merged => "merged",
            Self::Locked => "locked",
        }
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// What issues and merge requests have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// Whose syntax its text follows.
    pub forge: Forge,
    /// One-line title.
    pub title: String,
    /// Text, Markdown; empty if there is none.
    pub description: String,
    /// Where it stands.
    pub state: State,
    /// User name of who opened it; `None` for a deleted account.
    pub author: Option<String>,
    /// Names of its labels, sorted.
    pub labels: Vec<String>,
    /// Number of its milestone within the project.
    pub milestone: Option<u64>,
    /// User names of who it is assigned to.
    pub assignees: Vec<String>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed, as far as the forge tells.
    pub updated_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// User name of who closed it.
    pub closed_by: Option<String>,
    /// Address for people.
    pub web_url: String,
    /// How many notes people wrote, as the forge counts them, without internal notes of what is not confidential.
    pub notes_count: u64,
    /// Whether only some may see it and everything in it.
    pub confidential: bool,
}

impl Thread {
    /// How many secrets of which kind were replaced in its title and text.
    pub fn secrets(&self) -> SecretCounts {
        redaction::count_markers([self.title.as_str(), &self.description])
    }

    /// What its title and text say of security.
    pub fn security_flags(&self) -> Vec<SecurityFlag> {
        security_flags(&format!("{}\n{}", self.title, self.description))
    }
}

/// How one issue relates to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkKind {
    /// Related, without direction.
    RelatesTo,
    /// The issue blocks the other.
    Blocks,
    /// The issue is blocked by the other.
    BlockedBy,
}

/// An issue.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// Its id.
    pub id: ThreadId,
    /// What it shares with merge requests.
    pub thread: Thread,
    /// Merge requests that the forge lists as related.
    pub related: Vec<ThreadId>,
    /// Merge requests that close it when merged.
    pub closed_by_requests: Vec<ThreadId>,
    /// Links to other issues.
    pub links: Vec<(LinkKind, ThreadId)>,
}

/// A merge request.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeRequest {
    /// Its id.
    pub id: ThreadId,
    /// What it shares with issues.
    pub thread: Thread,
    /// Branch the changes are on.
    pub source_branch: String,
    /// Branch they go to.
    pub target_branch: String,
    /// Whether it is a draft.
    pub draft: bool,
    /// User names of who was asked for, or gave, a review.
    pub reviewers: Vec<String>,
    /// User names of those of them who are asked now; `None` if the forge does not tell them from others who reviewed. Who
    /// was asked before is told by events of discussions.
    pub requested_reviewers: Option<Vec<String>>,
    /// User names of who approved.
    pub approved_by: Vec<String>,
    /// When it was merged.
    pub merged_at: Option<Timestamp>,
    /// User name of who merged it.
    pub merged_by: Option<String>,
    /// Tip of its source branch.
    pub head_sha: Option<String>,
    /// Commit that merged it.
    pub merge_commit_sha: Option<String>,
    /// Commit it was squashed to.
    pub squash_commit_sha: Option<String>,
    /// Issues that it closes when merged.
    pub closes: Vec<ThreadId>,
    /// Files that it would change, as far as the forge tells; none once it is merged: then its commits tell.
    pub files: Vec<ProposedFile>,
}

impl MergeRequest {
    /// When the first note on it was written that everybody sees who sees it, by anybody but its author and programs; `None` if
    /// there is none.
    pub fn first_reviewed_at<'a>(&self, discussions: impl IntoIterator<Item = &'a Discussion>) -> Option<Timestamp> {
        let shown = discussions.into_iter().filter(|of| self.thread.confidential || !of.confidential);
        let notes = shown.flat_map(|of| &of.notes).map(|note| (note.author.as_deref(), note.created_at));
        find_first_review(self.thread.author.as_deref(), notes)
    }
}

/// When the first review of a merge request was written, given who opened it and the author and time of each note that
/// everybody sees who sees it. A note is a review unless the author of the merge request or a program wrote it.
pub fn find_first_review<'a, T: Ord>(
    author: Option<&str>,
    notes: impl IntoIterator<Item = (Option<&'a str>, T)>,
) -> Option<T> {
    let is_review = |writer: Option<&str>| writer != author && !writer.is_some_and(is_program);
    notes.into_iter().filter(|(writer, _)| is_review(*writer)).map(|(_, at)| at).min()
}

/// A file that a merge request would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProposedFile {
    /// Path after the change; of a deleted file, before it.
    pub path: String,
    /// Path before the change if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// What happens to it.
    pub status: ChangeStatus,
}

/// A thread of notes on an issue or merge request: the unit of conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Discussion {
    /// The forge's id.
    pub id: String,
    /// What it belongs to.
    pub thread: ThreadId,
    /// Whose syntax its notes follow.
    pub forge: Forge,
    /// Whether it is a single comment that nobody can reply to.
    pub individual: bool,
    /// Notes that people wrote, in order; empty if the discussion holds system notes only.
    pub notes: Vec<Note>,
    /// What its system notes say.
    pub events: Vec<SystemEvent>,
    /// Address of the first note.
    pub web_url: String,
    /// Whether only some may see it: it is internal, or what it belongs to is confidential.
    pub confidential: bool,
}

impl Discussion {
    /// Its id as a node.
    pub fn node_id(&self) -> NodeId {
        NodeId::Discussion { thread: self.thread.clone(), id: self.id.clone() }
    }

    /// The id of one of its notes as a node.
    pub fn note_id(&self, note: &Note) -> NodeId {
        NodeId::Note { thread: self.thread.clone(), id: note.id }
    }

    /// Address of one of its notes, for people.
    pub fn note_url(&self, note: u64) -> String {
        let page = self.web_url.split('#').next().unwrap_or_default();
        match self.forge {
            Forge::GitLab => format!("{page}#note_{note}"),
            // Its id is the place of its first note on the page.
            Forge::GitHub => format!("{page}#{}{note}", self.id.trim_end_matches(|c: char| c.is_ascii_digit())),
        }
    }

    /// Whether it can be resolved.
    pub fn is_resolvable(&self) -> bool {
        self.notes.iter().any(|note| note.resolvable)
    }

    /// Whether everything in it that can be resolved is.
    pub fn is_resolved(&self) -> bool {
        self.is_resolvable() && self.notes.iter().all(|note| !note.resolvable || note.resolved)
    }
}

/// A note: one comment.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The forge's id.
    pub id: u64,
    /// Whether it stands in a thread, on a diff or alone.
    pub kind: NoteKind,
    /// User name of who wrote it; `None` for a deleted account.
    pub author: Option<String>,
    /// Text, Markdown.
    pub body: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was last edited.
    pub updated_at: Timestamp,
    /// Whether it can be resolved.
    pub resolvable: bool,
    /// Whether it is resolved.
    pub resolved: bool,
    /// User name of who resolved it.
    pub resolved_by: Option<String>,
    /// When it was resolved.
    pub resolved_at: Option<Timestamp>,
    /// Where on the diff it stands.
    pub position: Option<Position>,
}

impl Note {
    /// How many secrets of which kind were replaced in it.
    pub fn secrets(&self) -> SecretCounts {
        redaction::count_markers([self.body.as_str()])
    }
}

/// Kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A comment on its own.
    Comment,
    /// A note in a discussion.
    Discussion,
    /// A note on a line of the diff.
    Diff,
}

/// Where on a diff a note stands: lines of `new_path` at `head_sha`, or of `old_path` at `base_sha`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Path before the change.
    pub old_path: String,
    /// Path after the change.
    pub new_path: String,
    /// First and last line before the change, from 1; `None` if the note stands on added lines only.
    pub old_lines: Option<(u32, u32)>,
    /// First and last line after the change, from 1; `None` if the note stands on removed lines only.
    pub new_lines: Option<(u32, u32)>,
    /// Commit the change starts from.
    pub base_sha: Option<String>,
    /// Commit the change ends at.
    pub head_sha: Option<String>,
}

/// What a system note says, as far as it links nodes. The subject is the note's issue or merge request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SystemEvent {
    /// Another item mentions it.
    MentionedIn(NodeId),
    /// It was closed by a merge request or commit.
    ClosedBy(NodeId),
    /// It was marked a duplicate of another.
    DuplicateOf(ThreadId),
    /// It was marked as related to another.
    RelatedTo(ThreadId),
    /// It blocks another issue.
    Blocks(ThreadId),
    /// It is blocked by another issue.
    BlockedBy(ThreadId),
    /// Somebody was assigned at some time.
    AssignedTo(String),
    /// Somebody was asked for a review at some time.
    ReviewRequested(String),
}
