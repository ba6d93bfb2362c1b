//! Names of nodes: the id a person reads and types, and the IRI it has in the graph. Only this module mints IRIs.
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
//!
//! In the path of a file or entity `%`, `#` and a `~` before digits at its end are written `%25`, `%23` and `%7E`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{entity::ItemKind, written::WrittenKind};

/// Namespace of backstory's own classes and properties.
pub const NS: &str = "urn:backstory:ns#";
/// IRI of the graph that holds what the projection knows about itself; no part of the digest.
pub const META_GRAPH: &str = "urn:backstory:meta";
const NODE: &str = "urn:backstory:node:";
const PERSON: &str = "urn:backstory:person:";
const GRAPH: &str = "urn:backstory:graph:";
/// What the names of all named graphs begin with whose items are confidential. No project has a colon in its name.
pub const CONFIDENTIAL_GRAPH: &str = "urn:backstory:graph:confidential:";
const INFERRED: &str = "urn:backstory:inferred:";
const WRITTEN: &str = "urn:backstory:written:";
/// Longest path of a file in an id, in bytes.
const MAX_PATH: usize = 8192;
/// Longest name of a branch or tag in an id, in bytes.
const MAX_NAME: usize = 1024;

/// An issue or a merge request: what a discussion belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadKind {
    /// An issue, `#12`.
    Issue,
    /// A merge request, `!7`.
    MergeRequest,
}

impl ThreadKind {
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

/// An issue or merge request by its project and number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
    pub fn twin(&self) -> Self {
        let kind = match self.kind {
            ThreadKind::Issue => ThreadKind::MergeRequest,
            ThreadKind::MergeRequest => ThreadKind::Issue,
        };
        Self { kind, ..self.clone() }
    }

    /// Without the project, as within it: `#12`, `!7`.
    pub fn short(&self) -> String {
        format!("{}{}", self.kind.sigil(), self.iid)
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.project, self.kind.sigil(), self.iid)
    }
}

/// Any node of the graph.
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

    /// The project the node belongs to; people belong to none.
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
            Self::Person(_) => None,
        }
    }

    /// Of an issue or merge request, or of something in it: the same in its [twin](ThreadId::twin).
    #[must_use]
    pub fn in_twin(&self) -> Self {
        match self {
            Self::Thread(thread) => Self::Thread(thread.twin()),
            Self::Note { thread, id } => Self::Note { thread: thread.twin(), id: *id },
            Self::Discussion { thread, id } => Self::Discussion { thread: thread.twin(), id: id.clone() },
            other => other.clone(),
        }
    }

    /// Path of the node below the prefix of its IRI.
    fn path(&self) -> String {
        let thread_path = |t: &ThreadId| format!("{}/-/{}/{}", escape(&t.project), t.kind.path(), t.iid);
        match self {
            Self::Project(project) => escape(project),
            Self::Thread(thread) => thread_path(thread),
            Self::Discussion { thread, id } => format!("{}/discussions/{}", thread_path(thread), escape_segment(id)),
            Self::Note { thread, id } => format!("{}/notes/{id}", thread_path(thread)),
            Self::Commit { project, sha } => format!("{}/-/commits/{}", escape(project), escape_segment(sha)),
            Self::File { project, path } => format!("{}/-/files/{}", escape(project), escape(path)),
            Self::Branch { project, name } => format!("{}/-/branches/{}", escape(project), escape_segment(name)),
            Self::Tag { project, name } => format!("{}/-/tags/{}", escape(project), escape_segment(name)),
            Self::Entity { project, path, name } => {
                format!("{}/-/entities/{}#{}", escape(project), escape(path), escape_segment(name))
            }
            Self::DesignNote { project, source, line } => match source {
                NoteSource::Commit(sha) => format!("{}/-/notes/commits/{sha}/{line}", escape(project)),
                NoteSource::File(path) => format!("{}/-/notes/files/{}/{line}", escape(project), escape(path)),
            },
            Self::Label { project, name } => format!("{}/-/labels/{}", escape(project), escape_segment(name)),
            Self::Milestone { project, iid } => format!("{}/-/milestones/{iid}", escape(project)),
            Self::Person(username) => escape_segment(username),
        }
    }

    /// IRI of the node.
    pub fn iri(&self) -> String {
        match self {
            Self::Person(_) => format!("{PERSON}{}", self.path()),
            _ => format!("{NODE}{}", self.path()),
        }
    }

    /// The node that has this IRI; `None` if it is not one of ours.
    pub fn from_iri(iri: &str) -> Option<Self> {
        if let Some(username) = iri.strip_prefix(PERSON) {
            return Some(Self::Person(unescape(username)?));
        }
        let path = iri.strip_prefix(NODE)?;
        let Some((project, rest)) = path.split_once("/-/") else {
            return Some(Self::Project(unescape(path)?));
        };
        let project = unescape(project)?;
        let (kind, rest) = rest.split_once('/')?;
        let thread = |kind, rest: &str| -> Option<Self> {
            let mut parts = rest.splitn(3, '/');
            let thread = ThreadId { project: project.clone(), kind, iid: parts.next()?.parse().ok()? };
            match (parts.next(), parts.next()) {
                (None, None) => Some(Self::Thread(thread)),
                (Some("discussions"), Some(id)) => Some(Self::Discussion { thread, id: unescape(id)? }),
                (Some("notes"), Some(id)) => Some(Self::Note { thread, id: id.parse().ok()? }),
                _ => None,
            }
        };
        match kind {
            "issues" => thread(ThreadKind::Issue, rest),
            "merge_requests" => thread(ThreadKind::MergeRequest, rest),
            "commits" => Some(Self::Commit { project, sha: unescape(rest)? }),
            "files" => Some(Self::File { project, path: unescape(rest)? }),
            "branches" => Some(Self::Branch { project, name: unescape(rest)? }),
            "tags" => Some(Self::Tag { project, name: unescape(rest)? }),
            "entities" => {
                let (path, name) = rest.rsplit_once('#')?;
                Some(Self::Entity { project, path: unescape(path)?, name: unescape(name)? })
            }
            "notes" => {
                let (kind, rest) = rest.split_once('/')?;
                let (source, line) = rest.rsplit_once('/')?;
                let source = match kind {
                    "commits" => NoteSource::Commit(unescape(source)?),
                    "files" => NoteSource::File(unescape(source)?),
                    _ => return None,
                };
                Some(Self::DesignNote { project, source, line: line.parse().ok()? })
            }
            "labels" => Some(Self::Label { project, name: unescape(rest)? }),
            "milestones" => Some(Self::Milestone { project, iid: rest.parse().ok()? }),
            _ => None,
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
            Self::File { project, path } => write!(f, "{project}:{}", shown_path(path)),
            Self::Entity { project, path, name } => write!(f, "{project}:{}#{name}", shown_path(path)),
            Self::DesignNote { project, source, line } => match source {
                NoteSource::Commit(sha) => write!(f, "{project}@{sha}~{line}"),
                NoteSource::File(path) => write!(f, "{project}:{}~{line}", shown_path(path)),
            },
            Self::Label { project, name } => write!(f, "{project}~{name}"),
            Self::Milestone { project, iid } => write!(f, "{project}%{iid}"),
            Self::Person(username) => write!(f, "@{username}"),
        }
    }
}

impl From<ThreadId> for NodeId {
    fn from(thread: ThreadId) -> Self {
        Self::Thread(thread)
    }
}

const BRANCHES: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";

/// A path as it stands in an id, in which it can be told from what follows it.
pub fn shown_path(path: &str) -> String {
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
        parse(text).ok_or_else(|| InvalidId(text.chars().take(200).collect()))
    }
}

fn parse(text: &str) -> Option<NodeId> {
    if let Some(username) = text.strip_prefix('@') {
        return (is_username(username) || is_address(username)).then(|| NodeId::person(username));
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

/// Whether the text is a full or abbreviated object name.
pub fn is_sha(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// IRI of the named graph that an item of the ledger owns. It does not depend on the item's content, so it stays when
/// the item is renamed and can be told when the item is gone.
pub fn item_graph_iri(project: &str, kind: ItemKind, key: &str) -> String {
    format!("{GRAPH}{}/{}/{}", escape(project), kind.as_str(), escape_segment(key))
}

/// IRI of the named graph that an item owns, in place of that one, while it is confidential.
pub fn confidential_graph_iri(project: &str, kind: ItemKind, key: &str) -> String {
    format!("{CONFIDENTIAL_GRAPH}{}/{}/{}", escape(project), kind.as_str(), escape_segment(key))
}

/// Whether a named graph holds what a confidential item states.
pub fn is_confidential_graph(iri: &str) -> bool {
    iri.starts_with(CONFIDENTIAL_GRAPH)
}

/// IRI of the named graph that holds the link of a node which nobody stated.
pub fn inferred_graph_iri(from: &NodeId) -> String {
    format!("{INFERRED}{}", from.iri())
}

/// Whether a named graph holds a link that nobody stated.
pub fn is_inferred_graph(iri: &str) -> bool {
    iri.starts_with(INFERRED)
}

/// IRI of the named graph that holds what a language model wrote of a node.
pub fn written_graph_iri(kind: WrittenKind, about: &NodeId) -> String {
    format!("{WRITTEN}{}:{}", kind.as_str(), about.iri())
}

/// IRI of a note that a language model wrote, by its number from 1 in the named graph that holds it.
pub fn written_note_iri(graph: &str, number: usize) -> String {
    format!("{graph}/{number}")
}

/// Whether a named graph holds what a language model wrote.
pub fn is_written_graph(iri: &str) -> bool {
    iri.starts_with(WRITTEN)
}

/// Whether a named graph holds what an item of the ledger states.
pub fn is_item_graph(iri: &str) -> bool {
    iri.starts_with(GRAPH)
}

/// The item of the ledger whose named graph has this IRI: project, kind and key; `None` if it is not one of ours.
pub fn item_of_graph_iri(iri: &str) -> Option<(String, ItemKind, String)> {
    let own = iri.strip_prefix(CONFIDENTIAL_GRAPH).or_else(|| iri.strip_prefix(GRAPH))?;
    let mut parts = own.rsplitn(3, '/');
    let (key, kind, project) = (parts.next()?, parts.next()?, parts.next()?);
    Some((unescape(project)?, ItemKind::from_name(kind)?, unescape(key)?))
}

/// Escapes what an IRI cannot hold, and `%`; `/` stays.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let plain = c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | '~' | '@' | '+' | ',' | '=');
        if plain {
            out.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    out
}

/// Like [`escape`], for one part of a path: `/` is escaped too.
fn escape_segment(text: &str) -> String {
    escape(text).replace('/', "%2F")
}

fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            out.push(u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_it_prints() {
        for text in [
            "acme/shop",
            "group/sub.group/project",
            "acme/shop#12",
            "acme/shop!7",
            "acme/shop!7~6a9c1750b37d",
            "acme/shop#12#note_302",
            "acme/shop@1a2b3c4",
            "acme/shop:src/a b/ü.rs",
            "acme/shop:src/a%23%25.rs",
            "acme/shop:src/a%7E12",
            "acme/shop:src/a.rs#Store::open~2",
            "acme/shop:src/a.rs~12",
            "acme/shop@1a2b3c4~5",
            "acme/shop@refs/heads/feature/x",
            "acme/shop@refs/tags/v1.0",
            "acme/shop~to do",
            "acme/shop%3",
            "@alice@example.com",
            "@alice",
            "@dependabot[bot]",
        ] {
            let id: NodeId = text.parse().unwrap();
            assert_eq!(id.to_string(), text);
            assert_eq!(NodeId::from_iri(&id.iri()), Some(id), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_reference() {
        for text in
            ["", "#12", "!7", "acme/shop#", "acme/shop#x", "acme/shop#1x", "a//b#1", "@", "acme/shop@xyz", "a b"]
        {
            assert!(text.parse::<NodeId>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn iri_round_trips_any_label_and_path(name in "\\PC{1,40}", path in "[^\\x00]{1,40}") {
            for id in [
                NodeId::Label { project: "a/b".into(), name: name.clone() },
                NodeId::file("a/b", path.clone()),
                NodeId::entity("a/b", path.clone(), name.clone()),
                NodeId::DesignNote { project: "a/b".into(), source: NoteSource::File(path.clone()), line: 7 },
            ] {
                prop_assert_eq!(NodeId::from_iri(&id.iri()), Some(id.clone()));
                let mut iri = id.iri().into_bytes().into_iter();
                let allowed = iri.all(|b| b > b' ' && !b"<>\"{}|\\^`".contains(&b));
                prop_assert!(allowed);
            }
        }

        #[test]
        fn paths_read_back(path in "[a-z~#%0-9E/]{1,12}", name in "[a-z:~0-9]{1,8}") {
            let source = NoteSource::File(path.clone());
            for id in [
                NodeId::file("a/b", path.clone()),
                NodeId::entity("a/b", path.clone(), name.clone()),
                NodeId::DesignNote { project: "a/b".into(), source, line: 7 },
            ] {
                prop_assert_eq!(id.to_string().parse(), Ok(id));
            }
        }

        #[test]
        fn parse_never_panics(text in "\\PC{0,60}") {
            let _ = text.parse::<NodeId>();
        }
    }
}
