//! IRIs of nodes and of named graphs.

use super::{NodeId, NoteSource, ThreadId, ThreadKind};
use crate::{generated_kind::GeneratedKind, item_kind::ItemKind};

/// Namespace of backstory's own classes and properties.
pub const NAMESPACE: &str = "urn:backstory:ns#";
/// IRI of the graph that holds what the projection knows about itself; no part of the digest.
pub const META_GRAPH: &str = "urn:backstory:meta";
const NODE: &str = "urn:backstory:node:";
const PERSON: &str = "urn:backstory:person:";
const TICKET: &str = "urn:backstory:ticket:";
const GRAPH: &str = "urn:backstory:graph:";
/// What the names of all named graphs begin with whose items are confidential. No project has a colon in its name.
const CONFIDENTIAL_GRAPH: &str = "urn:backstory:graph:confidential:";
const INFERRED: &str = "urn:backstory:inferred:";
const WRITTEN: &str = "urn:backstory:written:";

impl NodeId {
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
            Self::Ticket(key) => escape_segment(key),
        }
    }

    /// IRI of the node.
    pub fn iri(&self) -> String {
        match self {
            Self::Person(_) => format!("{PERSON}{}", self.path()),
            Self::Ticket(_) => format!("{TICKET}{}", self.path()),
            _ => format!("{NODE}{}", self.path()),
        }
    }

    /// The node that has this IRI; `None` if it is not one of ours.
    pub fn from_iri(iri: &str) -> Option<Self> {
        if let Some(username) = iri.strip_prefix(PERSON) {
            return Some(Self::Person(unescape(username)?));
        }
        if let Some(key) = iri.strip_prefix(TICKET) {
            return Some(Self::Ticket(unescape(key)?));
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

/// IRI of the named graph that holds the inferred link of a node.
pub fn inferred_graph_iri(from: &NodeId) -> String {
    format!("{INFERRED}{}", from.iri())
}

/// The node whose inferred link a named graph holds; `None` if it holds none.
pub fn inferred_graph_node(iri: &str) -> Option<NodeId> {
    NodeId::from_iri(iri.strip_prefix(INFERRED)?)
}

/// Whether a named graph holds an inferred link.
pub fn is_inferred_graph(iri: &str) -> bool {
    iri.starts_with(INFERRED)
}

/// IRI of the named graph that holds what a language model wrote of a node.
pub fn generated_graph_iri(kind: GeneratedKind, about: &NodeId) -> String {
    format!("{WRITTEN}{}:{}", kind.as_str(), about.iri())
}

/// The node of which a named graph holds what a language model wrote; `None` if it holds something else.
pub fn generated_graph_node(iri: &str) -> Option<NodeId> {
    let (_, about) = iri.strip_prefix(WRITTEN)?.split_once(':')?;
    NodeId::from_iri(about)
}

/// IRI of a note that a language model wrote, by its number from 1 in the named graph that holds it.
pub fn generated_note_iri(graph: &str, number: usize) -> String {
    format!("{graph}/{number}")
}

/// Whether a named graph holds what a language model wrote.
pub fn is_generated_graph(iri: &str) -> bool {
    iri.starts_with(WRITTEN)
}

/// Whether a named graph holds what an item of the ledger states.
pub fn is_item_graph(iri: &str) -> bool {
    iri.starts_with(GRAPH)
}

/// The project of the item whose named graph has this IRI; `None` if it is not one of ours.
pub fn item_graph_project(iri: &str) -> Option<String> {
    let own = iri.strip_prefix(CONFIDENTIAL_GRAPH).or_else(|| iri.strip_prefix(GRAPH))?;
    unescape(own.rsplitn(3, '/').nth(2)?)
}

/// The item of the ledger whose named graph has this IRI: project, kind and key; `None` if it is not one of ours.
pub fn parse_item_graph_iri(iri: &str) -> Option<(String, ItemKind, String)> {
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
