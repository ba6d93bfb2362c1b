//! Reads parts of payloads, and says which field of one is wrong and why, without its value.

use backstory_model::{
    entity::ItemKind,
    id::{ThreadId, ThreadKind},
};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_path_to_error::Segment;

use super::Origin;

/// Longest path of a field in an error, in characters.
const MAX_FIELD: usize = 100;

/// A payload that is not what it should be. It says what is wrong with which field, and not what the field has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {} '{key}' of {project} cannot be read: {}{reason}; the next sync asks for it again", kind.as_str(),
    if field.is_empty() { String::new() } else { format!("{field} ") }
)]
pub struct ParseError {
    /// What it should be.
    pub kind: ItemKind,
    /// Its key.
    pub key: String,
    /// Full path of the project.
    pub project: String,
    /// Path of the field that is wrong, `notes[0].created_at`; empty if that is all of it.
    pub field: String,
    /// What is wrong with it: `is null, not a timestamp string`.
    pub reason: String,
}

/// What is wrong with a payload.
pub(super) struct ParseFailure {
    field: String,
    what: String,
}

impl From<&str> for ParseFailure {
    fn from(what: &str) -> Self {
        Self::at("", what)
    }
}

impl ParseFailure {
    /// What is wrong with a field.
    pub(super) fn at(field: &str, what: &str) -> Self {
        Self { field: field.chars().take(MAX_FIELD).collect(), what: what.to_owned() }
    }

    /// A kind of item that is not a forge's.
    pub(super) fn of_no_forge(kind: ItemKind) -> Self {
        Self::at("", &format!("is a {}, which no forge has", kind.as_str()))
    }

    /// The error of a payload in which this is wrong.
    pub(super) fn of(self, kind: ItemKind, key: &str, project: &str) -> ParseError {
        ParseError { kind, key: key.to_owned(), project: project.to_owned(), field: self.field, reason: self.what }
    }
}

/// Reads a part of a payload, which stands at `at`.
pub(super) fn parse_part<'a, T: Deserialize<'a>>(json: &'a Value, at: &str) -> Result<T, ParseFailure> {
    serde_path_to_error::deserialize(json).map_err(|error| {
        let mut field = at.to_owned();
        let mut found = Some(json);
        for segment in error.path() {
            match segment {
                Segment::Seq { index } => {
                    field.push_str(&format!("[{index}]"));
                    found = found.and_then(|json| json.get(index));
                }
                Segment::Map { key } => {
                    push_name(&mut field, key);
                    found = found.and_then(|json| json.get(key));
                }
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        let said = error.inner().to_string();
        if let Some(name) = said.strip_prefix("missing field `").and_then(|rest| rest.split('`').next()) {
            push_name(&mut field, name);
            return ParseFailure::at(&field, "is missing");
        }
        // What stands before the last of these may quote the payload; what follows is the program's own.
        let expected = said.rsplit_once(", expected ").map(|(_, expected)| expected);
        let is_of_type = said.starts_with("invalid ");
        ParseFailure::at(&field, &described(found.unwrap_or(&Value::Null), expected.filter(|_| is_of_type)))
    })
}

fn push_name(field: &mut String, name: &str) {
    if !field.is_empty() {
        field.push('.');
    }
    field.push_str(name);
}

fn described(found: &Value, expected: Option<&str>) -> String {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    let Some(expected) = expected else { return format!("is {found} that is not valid there") };
    let expected = match expected {
        "u64" | "u32" => "a whole number that is not negative",
        "a sequence" => "a list",
        expected if expected.starts_with("struct ") => "an object",
        expected => expected,
    };
    format!("is {found}, not {expected}")
}

/// `#12~6a9c17` → issue 12, `6a9c17`.
pub(super) fn discussion_of_key<'a>(key: &'a str, origin: &Origin) -> Result<(ThreadId, &'a str), ParseFailure> {
    let parts = || {
        let (thread, id) = key.split_once('~')?;
        let (kind, iid) = match (thread.strip_prefix('#'), thread.strip_prefix('!')) {
            (Some(iid), _) => (ThreadKind::Issue, iid),
            (_, Some(iid)) => (ThreadKind::MergeRequest, iid),
            _ => return None,
        };
        Some((ThreadId { project: origin.project.clone(), kind, iid: iid.parse().ok()? }, id))
    };
    parts().ok_or_else(|| "has a key that names no issue or merge request".into())
}

/// `null` is as good as nothing.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}
