//! Stored payloads as model values, whichever forge they are from. Pure: nothing is asked of the forge.

use backstory_model::{
    entity::{Item, ItemKind},
    id::{ThreadId, ThreadKind},
    reference::Forge,
};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Origin, github, gitlab};

/// A stored payload that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored {} '{key}' of {project} cannot be read: {reason}; fetch it again with a full sync", kind.as_str())]
pub struct ParseError {
    /// What it should be.
    pub kind: ItemKind,
    /// Its key.
    pub key: String,
    /// Full path of the project.
    pub project: String,
    /// What is wrong.
    pub reason: String,
}

/// The model value of a stored payload.
///
/// # Errors
/// What is missing or wrong, and in which payload.
pub fn parse(kind: ItemKind, origin: &Origin, key: &str, json: &Value) -> Result<Item, ParseError> {
    let read = match origin.forge {
        // People belong to no project that could tell.
        _ if kind == ItemKind::Person && github::is_person_key(key) => github::read,
        Forge::GitLab => gitlab::read,
        Forge::GitHub => github::read,
    };
    read(kind, origin, key, json).map_err(|Reason(reason)| ParseError {
        kind,
        key: key.to_owned(),
        project: origin.project.clone(),
        reason,
    })
}

/// What parsing is relative to, from the payload of the project.
pub fn origin_of_project(json: &Value) -> Option<Origin> {
    gitlab::origin_of_project(json).or_else(|| github::origin_of_project(json))
}

/// What is wrong with a payload.
pub(super) struct Reason(pub(super) String);

impl From<serde_json::Error> for Reason {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<&str> for Reason {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

impl Reason {
    /// A kind of item that is not a forge's.
    pub(super) fn of_no_forge(kind: ItemKind) -> Self {
        Self(format!("no forge has a {}", kind.as_str()))
    }
}

/// `#12~6a9c17` → issue 12, `6a9c17`.
pub(super) fn discussion_of_key<'a>(key: &'a str, origin: &Origin) -> Result<(ThreadId, &'a str), Reason> {
    let parts = || {
        let (thread, id) = key.split_once('~')?;
        let (kind, iid) = match (thread.strip_prefix('#'), thread.strip_prefix('!')) {
            (Some(iid), _) => (ThreadKind::Issue, iid),
            (_, Some(iid)) => (ThreadKind::MergeRequest, iid),
            _ => return None,
        };
        Some((ThreadId { project: origin.project.clone(), kind, iid: iid.parse().ok()? }, id))
    };
    parts().ok_or_else(|| "its key names no issue or merge request".into())
}

/// `null` is as good as nothing.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
