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
//! | file | `acme/shop:src/a.rs` | `node:acme/shop/-/files/src/a.rs` |
//! | label | `acme/shop~bug` | `node:acme/shop/-/labels/bug` |
//! | milestone | `acme/shop%3` | `node:acme/shop/-/milestones/3` |
//! | person | `@alice` | `person:alice` |

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::entity::ItemKind;

/// Namespace of backstory's own classes and properties.
pub const NS: &str = "urn:backstory:ns#";
/// IRI of the graph that holds what the projection knows about itself; no part of the digest.
pub const META_GRAPH: &str = "urn:backstory:meta";
const NODE: &str = "urn:backstory:node:";
const PERSON: &str = "urn:backstory:person:";
const GRAPH: &str = "urn:backstory:graph:";

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
    /// `@alice`
    Person(String),
}

impl NodeId {
    /// A person by user name.
    pub fn person(username: impl Into<String>) -> Self {
        Self::Person(username.into())
    }

    /// A commit by its object name.
    pub fn commit(project: impl Into<String>, sha: &str) -> Self {
        Self::Commit { project: project.into(), sha: sha.to_ascii_lowercase() }
    }

    /// The project the node belongs to; people belong to none.
    pub fn project(&self) -> Option<&str> {
        match self {
            Self::Project(project)
            | Self::Commit { project, .. }
            | Self::File { project, .. }
            | Self::Label { project, .. }
            | Self::Milestone { project, .. } => Some(project),
            Self::Thread(thread) | Self::Discussion { thread, .. } | Self::Note { thread, .. } => Some(&thread.project),
            Self::Person(_) => None,
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
            Self::File { project, path } => write!(f, "{project}:{path}"),
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

/// A text that is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a reference; write group/project#12 for an issue, group/project!7 for a merge request, \
     group/project@1a2b3c4 for a commit or @name for a person"
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
        return is_username(username).then(|| NodeId::person(username));
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
        '@' => is_sha(rest).then(|| NodeId::commit(project, rest)),
        '~' => (!rest.is_empty()).then(|| NodeId::Label { project, name: rest.to_owned() }),
        '%' => Some(NodeId::Milestone { project, iid: rest.parse().ok()? }),
        ':' => (!rest.is_empty()).then(|| NodeId::File { project, path: rest.to_owned() }),
        _ => None,
    }
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

/// Whether the text is a full or abbreviated object name.
pub fn is_sha(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// IRI of the named graph that an item of the ledger owns. It does not depend on the item's content, so it stays when
/// the item is renamed and can be told when the item is gone.
pub fn item_graph_iri(project: &str, kind: ItemKind, key: &str) -> String {
    format!("{GRAPH}{}/{}/{}", escape(project), kind.as_str(), escape_segment(key))
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
            "acme/shop~to do",
            "acme/shop%3",
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
                NodeId::File { project: "a/b".into(), path: path.clone() },
            ] {
                prop_assert_eq!(NodeId::from_iri(&id.iri()), Some(id.clone()));
                let mut iri = id.iri().into_bytes().into_iter();
                let allowed = iri.all(|b| b > b' ' && !b"<>\"{}|\\^`".contains(&b));
                prop_assert!(allowed);
            }
        }

        #[test]
        fn parse_never_panics(text in "\\PC{0,60}") {
            let _ = text.parse::<NodeId>();
        }
    }
}
