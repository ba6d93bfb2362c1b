//! Ids of nodes: the form that a person reads and types, and the IRI in the graph. Only this module mints IRIs.
//!
//! | node | id | IRI below `urn:backstory:` |
//! |---|---|---|
//! | project | `acme/shop` | `node:acme/shop` |
//! | issue | `acme/shop#12` | `node:acme/shop/-/issues/12` |
//! | merge request | `acme/shop!7` | `node:acme/shop/-/merge_requests/7` |
//! | discussion | `acme/shop!7~6a9c17` | `node:acme/shop/-/merge_requests/7/discussions/6a9c17` |
//! | note | `acme/shop!7#note_123` | `node:acme/shop/-/merge_requests/7/notes/123` |
//! | commit | `acme/shop@1a2b3c4` | `node:acme/shop/-/commits/1a2b3c4` |
//! | branch | `acme/shop@refs/heads/main` | `node:acme/shop/-/branches/main` |
//! | tag | `acme/shop@refs/tags/v1` | `node:acme/shop/-/tags/v1` |
//! | file | `acme/shop:src/a.rs` | `node:acme/shop/-/files/src/a.rs` |
//! | code entity | `acme/shop:src/a.rs#login` | `node:acme/shop/-/entities/src/a.rs#login` |
//! | design note of a commit | `acme/shop@1a2b3c4~5` | `node:acme/shop/-/notes/commits/1a2b3c4/5` |
//! | design note of a file | `acme/shop:src/a.rs~12` | `node:acme/shop/-/notes/files/src/a.rs/12` |
//! | label | `acme/shop~bug` | `node:acme/shop/-/labels/bug` |
//! | milestone | `acme/shop%3` | `node:acme/shop/-/milestones/3` |
//! | person | `@alice`, `@alice@example.com` | `person:alice` |
//! | ticket of another tracker | `^PROJ-77` | `ticket:PROJ-77` |
//!
//! In the path of a file or entity `%`, `#` and a `~` before digits at its end are written `%25`, `%23` and `%7E`.

mod iri;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{item_kind::ItemKind, text::truncate_echo};

pub use self::iri::{
    META_GRAPH, NAMESPACE, confidential_graph_iri, generated_graph_iri, generated_graph_node, generated_note_iri,
    inferred_graph_iri, inferred_graph_node, is_confidential_graph, is_generated_graph, is_inferred_graph,
    is_item_graph, item_graph_iri, item_graph_project, parse_item_graph_iri,
};

/// Longest path of a file in an id, in bytes.
const MAX_PATH: usize = 8192;
/// Longest key of a ticket, in bytes.
const MAX_TICKET_KEY: usize = 64;
/// Longest name of a branch or tag in an id, in bytes.
const MAX_NAME: usize = 1024;

/// An issue or a merge request: what a discussion belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum ThreadKind {
    /// An issue, `#12`.
    #[cfg_attr(feature = "clap", value(name = "issues", help = "Issues"))]
    Issue,
    /// A merge request, `!7`.
    #[cfg_attr(
        feature = "clap",
        value(name = "mrs", aliases = ["merge-requests", "merge_requests"], help = "Merge requests")
    )]
    MergeRequest,
}

impl From<ThreadKind> for ItemKind {
    fn from(kind: ThreadKind) -> Self {
        match kind {
            ThreadKind::Issue => Self::Issue,
            ThreadKind::MergeRequest => Self::MergeRequest,
        }
    }
}

impl ThreadKind {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::MergeRequest => "merge request",
        }
    }

    /// The character before the number in an id.
    pub fn sigil(self) -> char {
        match self {
            Self::Issue => '#',
            Self::MergeRequest => '!',
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Issue => "issues",
            Self::MergeRequest => "merge_requests",
        }
    }
}

/// An issue or merge request by its project and number. Serialized as text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId {
    /// Full path of the project, `group/project`.
    pub project: String,
    /// Which of the two number spaces.
    pub kind: ThreadKind,
    /// Number within the project.
    pub iid: u64,
}

impl ThreadId {
    /// An issue's id.
    pub fn issue(project: impl Into<String>, iid: u64) -> Self {
        Self { project: project.into(), kind: ThreadKind::Issue, iid }
    }

    /// A merge request's id.
    pub fn merge_request(project: impl Into<String>, iid: u64) -> Self {
        Self { project: project.into(), kind: ThreadKind::MergeRequest, iid }
    }

    /// The issue or merge request that has its number in the other number space.
    #[must_use]
    pub fn with_other_kind(&self) -> Self {
        let kind = match self.kind {
            ThreadKind::Issue => ThreadKind::MergeRequest,
            ThreadKind::MergeRequest => ThreadKind::Issue,
        };
        Self { kind, ..self.clone() }
    }

    /// Without the project, as within it: `#12`, `!7`.
    pub fn local_reference(&self) -> String {
        format!("{}{}", self.kind.sigil(), self.iid)
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.project, self.kind.sigil(), self.iid)
    }
}

/// Any node of the graph. Serialized as text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeId {
    /// `acme/shop`
    Project(String),
    /// `acme/shop#12` or `acme/shop!7`
    Thread(ThreadId),
    /// `acme/shop!7~6a9c17`
    Discussion {
        /// What it belongs to.
        thread: ThreadId,
        /// The forge's id of the discussion.
        id: String,
    },
    /// `acme/shop!7#note_123`
    Note {
        /// What it belongs to.
        thread: ThreadId,
        /// The forge's id of the note.
        id: u64,
    },
    /// `acme/shop@1a2b3c4`
    Commit {
        /// Full path of the project.
        project: String,
        /// Object name in lower-case hex, 7 to 64 digits.
        sha: String,
    },
    /// `acme/shop:src/a.rs`
    File {
        /// Full path of the project.
        project: String,
        /// Path from the repository's root, `/` between its parts.
        path: String,
    },
    /// `acme/shop~bug`
    Label {
        /// Full path of the project.
        project: String,
        /// Its name, any text.
        name: String,
    },
    /// `acme/shop%3`
    Milestone {
        /// Full path of the project.
        project: String,
        /// Number within the project.
        iid: u64,
    },
    /// `acme/shop@refs/heads/main`
    Branch {
        /// Full path of the project.
        project: String,
        /// Name without `refs/heads/`.
        name: String,
    },
    /// `acme/shop@refs/tags/v1`
    Tag {
        /// Full path of the project.
        project: String,
        /// Name without `refs/tags/`.
        name: String,
    },
    /// `acme/shop:src/a.rs#login`
    Entity {
        /// Full path of the project.
        project: String,
        /// Path of its file.
        path: String,
        /// Its qualified name, unique in the file.
        name: String,
    },
    /// `acme/shop@1a2b3c4~5` or `acme/shop:src/a.rs~12`
    DesignNote {
        /// Full path of the project.
        project: String,
        /// What it stands in.
        source: NoteSource,
        /// Its first line there, from 1.
        line: u32,
    },
    /// `@alice`, or `@alice@example.com` for whom commits know by an address.
    Person(String),
    /// `^PROJ-77`, by its key in a tracker that is configured.
    Ticket(String),
}

/// What a node of the graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// `acme/shop`
    Project,
    /// `acme/shop#12`
    Issue,
    /// `acme/shop!7`
    MergeRequest,
    /// `acme/shop!7~6a9c17`
    Discussion,
    /// `acme/shop!7#note_123`
    Note,
    /// `acme/shop@1a2b3c4`
    Commit,
    /// `acme/shop@refs/heads/main`
    Branch,
    /// `acme/shop@refs/tags/v1`
    Tag,
    /// `acme/shop:src/a.rs`
    File,
    /// `acme/shop:src/a.rs#login`
    Entity,
    /// `acme/shop:src/a.rs~12`
    DesignNote,
    /// `acme/shop~bug`
    Label,
    /// `acme/shop%3`
    Milestone,
    /// `@alice`
    Person,
    /// `^PROJ-77`
    Ticket,
}

impl NodeKind {
    /// Its name, `merge_request`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Issue => "issue",
            Self::MergeRequest => "merge_request",
            Self::Discussion => "discussion",
            Self::Note => "note",
            Self::Commit => "commit",
            Self::Branch => "branch",
            Self::Tag => "tag",
            Self::File => "file",
            Self::Entity => "entity",
            Self::DesignNote => "design_note",
            Self::Label => "label",
            Self::Milestone => "milestone",
            Self::Person => "person",
            Self::Ticket => "ticket",
        }
    }
}

/// What a design note stands in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NoteSource {
    /// The message of the commit of that name.
    Commit(String),
    /// The file at that path.
    File(String),
}

impl NodeId {
    /// A person by user name or address.
    pub fn person(username: impl Into<String>) -> Self {
        Self::Person(username.into())
    }

    /// A commit by its object name.
    pub fn commit(project: impl Into<String>, sha: &str) -> Self {
        Self::Commit { project: project.into(), sha: sha.to_ascii_lowercase() }
    }

    /// A file by its path.
    pub fn file(project: impl Into<String>, path: impl Into<String>) -> Self {
        Self::File { project: project.into(), path: path.into() }
    }

    /// A code entity by the path of its file and its qualified name.
    pub fn entity(project: impl Into<String>, path: impl Into<String>, name: impl Into<String>) -> Self {
        Self::Entity { project: project.into(), path: path.into(), name: name.into() }
    }

    /// What it is.
    pub fn kind(&self) -> NodeKind {
        match self {
            Self::Project(_) => NodeKind::Project,
            Self::Thread(thread) => match thread.kind {
                ThreadKind::Issue => NodeKind::Issue,
                ThreadKind::MergeRequest => NodeKind::MergeRequest,
            },
            Self::Discussion { .. } => NodeKind::Discussion,
            Self::Note { .. } => NodeKind::Note,
            Self::Commit { .. } => NodeKind::Commit,
            Self::Branch { .. } => NodeKind::Branch,
            Self::Tag { .. } => NodeKind::Tag,
            Self::File { .. } => NodeKind::File,
            Self::Entity { .. } => NodeKind::Entity,
            Self::DesignNote { .. } => NodeKind::DesignNote,
            Self::Label { .. } => NodeKind::Label,
            Self::Milestone { .. } => NodeKind::Milestone,
            Self::Person(_) => NodeKind::Person,
            Self::Ticket(_) => NodeKind::Ticket,
        }
    }

    /// The project the node belongs to; people and tickets belong to none.
    pub fn project(&self) -> Option<&str> {
        match self {
            Self::Project(project)
            | Self::Commit { project, .. }
            | Self::File { project, .. }
            | Self::Branch { project, .. }
            | Self::Tag { project, .. }
            | Self::Entity { project, .. }
            | Self::DesignNote { project, .. }
            | Self::Label { project, .. }
            | Self::Milestone { project, .. } => Some(project),
            Self::Thread(thread) | Self::Discussion { thread, .. } | Self::Note { thread, .. } => Some(&thread.project),
            Self::Person(_) | Self::Ticket(_) => None,
        }
    }

    /// Of an issue or merge request, or of something in it: the same in its [twin](ThreadId::with_other_kind).
    #[must_use]
    pub fn with_other_thread_kind(&self) -> Self {
        match self {
            Self::Thread(thread) => Self::Thread(thread.with_other_kind()),
            Self::Note { thread, id } => Self::Note { thread: thread.with_other_kind(), id: *id },
            Self::Discussion { thread, id } => Self::Discussion { thread: thread.with_other_kind(), id: id.clone() },
            other => other.clone(),
        }
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Project(project) => f.write_str(project),
            Self::Thread(thread) => thread.fmt(f),
            Self::Discussion { thread, id } => write!(f, "{thread}~{id}"),
            Self::Note { thread, id } => write!(f, "{thread}#note_{id}"),
            Self::Commit { project, sha } => write!(f, "{project}@{sha}"),
            Self::Branch { project, name } => write!(f, "{project}@{BRANCHES}{name}"),
            Self::Tag { project, name } => write!(f, "{project}@{TAGS}{name}"),
            Self::File { project, path } => write!(f, "{project}:{}", escape_path(path)),
            Self::Entity { project, path, name } => write!(f, "{project}:{}#{name}", escape_path(path)),
            Self::DesignNote { project, source, line } => match source {
                NoteSource::Commit(sha) => write!(f, "{project}@{sha}~{line}"),
                NoteSource::File(path) => write!(f, "{project}:{}~{line}", escape_path(path)),
            },
            Self::Label { project, name } => write!(f, "{project}~{name}"),
            Self::Milestone { project, iid } => write!(f, "{project}%{iid}"),
            Self::Person(username) => write!(f, "@{username}"),
            Self::Ticket(key) => write!(f, "^{key}"),
        }
    }
}

impl FromStr for ThreadId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        match parse(text) {
            Some(NodeId::Thread(thread)) => Ok(thread),
            _ => Err(InvalidId(truncate_echo(text).into_owned())),
        }
    }
}

/// Ids are text in every format.
macro_rules! serialized_as_text {
    ($($id:ident: $description:literal),*) => {$(
        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Cow::<'_, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $id {
            fn schema_name() -> Cow<'static, str> {
                stringify!($id).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "description": $description })
            }
        }
    )*};
}

serialized_as_text!(
    NodeId: "Id of a node: `acme/shop#12`, `acme/shop@1a2b3c4`, `acme/shop:src/a.rs`, `@alice`, …",
    ThreadId: "Id of an issue, `acme/shop#12`, or merge request, `acme/shop!7`."
);

impl From<ThreadId> for NodeId {
    fn from(thread: ThreadId) -> Self {
        Self::Thread(thread)
    }
}

const BRANCHES: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";

/// A path as it stands in an id, in which it can be told from what follows it.
pub fn escape_path(path: &str) -> String {
    let mut shown = path.replace('%', "%25").replace('#', "%23");
    if let Some((before, digits)) = split_line(&shown) {
        shown = format!("{before}%7E{digits}");
    }
    shown
}

/// The path that an id shows.
fn read_path(shown: &str) -> String {
    shown.replace("%7E", "~").replace("%23", "#").replace("%25", "%")
}

/// What ends in `~` and digits, in two.
fn split_line(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once('~').filter(|(_, digits)| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// A text that is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a reference; write group/project#12 for an issue, group/project!7 for a merge request, \
     group/project@1a2b3c4 for a commit, group/project:path#symbol for code or @name for a person"
)]
pub struct InvalidId(pub String);

impl FromStr for NodeId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        parse(text).ok_or_else(|| InvalidId(truncate_echo(text).into_owned()))
    }
}

fn parse(text: &str) -> Option<NodeId> {
    if let Some(username) = text.strip_prefix('@') {
        return (is_username(username) || is_address(username)).then(|| NodeId::person(username));
    }
    if let Some(key) = text.strip_prefix('^') {
        return is_ticket_key(key).then(|| NodeId::Ticket(key.to_owned()));
    }
    let end = text.find(['#', '!', '@', '~', '%', ':']).unwrap_or(text.len());
    let (project, rest) = text.split_at(end);
    if !is_project_path(project) {
        return None;
    }
    let project = project.to_owned();
    let mut chars = rest.chars();
    let Some(sigil) = chars.next() else {
        return Some(NodeId::Project(project));
    };
    let rest = chars.as_str();
    match sigil {
        '#' | '!' => {
            let kind = if sigil == '#' { ThreadKind::Issue } else { ThreadKind::MergeRequest };
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let thread = ThreadId { project, kind, iid: rest[..end].parse().ok()? };
            match &rest[end..] {
                "" => Some(NodeId::Thread(thread)),
                tail => match (tail.strip_prefix("#note_"), tail.strip_prefix('~')) {
                    (Some(id), _) => Some(NodeId::Note { thread, id: id.parse().ok()? }),
                    (_, Some(id)) if !id.is_empty() => Some(NodeId::Discussion { thread, id: id.to_owned() }),
                    _ => None,
                },
            }
        }
        '@' => parse_revision(project, rest),
        '~' => (!rest.is_empty()).then(|| NodeId::Label { project, name: rest.to_owned() }),
        '%' => Some(NodeId::Milestone { project, iid: rest.parse().ok()? }),
        ':' => parse_path(project, rest),
        _ => None,
    }
}

fn parse_revision(project: String, rest: &str) -> Option<NodeId> {
    let name = |name: &str| (!name.is_empty() && name.len() <= MAX_NAME).then(|| name.to_owned());
    if let Some(branch) = rest.strip_prefix(BRANCHES) {
        return Some(NodeId::Branch { project, name: name(branch)? });
    }
    if let Some(tag) = rest.strip_prefix(TAGS) {
        return Some(NodeId::Tag { project, name: name(tag)? });
    }
    match split_line(rest) {
        Some((sha, line)) if is_sha(sha) => {
            let source = NoteSource::Commit(sha.to_ascii_lowercase());
            Some(NodeId::DesignNote { project, source, line: line.parse().ok()? })
        }
        _ => is_sha(rest).then(|| NodeId::commit(project, rest)),
    }
}

fn parse_path(project: String, rest: &str) -> Option<NodeId> {
    if rest.is_empty() || rest.len() > MAX_PATH {
        return None;
    }
    if let Some((path, name)) = rest.split_once('#') {
        let whole = !path.is_empty() && !name.is_empty();
        return whole.then(|| NodeId::Entity { project, path: read_path(path), name: name.to_owned() });
    }
    if let Some((path, line)) = split_line(rest) {
        let source = NoteSource::File(read_path(path));
        return Some(NodeId::DesignNote { project, source, line: line.parse().ok()? });
    }
    Some(NodeId::File { project, path: read_path(rest) })
}

/// Whether the text can be a project's full path: parts of letters, digits, `_`, `-` and `.`, joined by `/`.
pub fn is_project_path(text: &str) -> bool {
    text.len() <= 512
        && text.split('/').all(|part| {
            !part.is_empty()
                && part != "-"
                && !part.starts_with('.')
                && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
        })
}

/// Whether the text can be a user name of a forge.
pub fn is_username(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']'))
}

/// Whether the text can be the address that commits know a person by.
pub fn is_address(text: &str) -> bool {
    text.len() <= 320
        && text.split_once('@').is_some_and(|(local, _)| !local.is_empty())
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// Whether a text can be a revision as git writes it: `HEAD`, the name of a branch or tag, or one of them with `~3` or `^`
/// after it. Nothing that searches the history is one.
pub fn is_revision(text: &str) -> bool {
    let name = text.split(['~', '^']).next().unwrap_or_default();
    let begins = name.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | '+'));
    let suffix = &text[name.len()..];
    begins && is_name && suffix.bytes().all(|byte| matches!(byte, b'~' | b'^' | b'0'..=b'9'))
}

/// Whether the text is a full or abbreviated object name.
pub fn is_sha(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether a text can be the key of a ticket.
pub fn is_ticket_key(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '#');
    text.len() <= MAX_TICKET_KEY && text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_plain)
}
