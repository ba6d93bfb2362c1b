//! Ids of versions: the id of a document or thread, a line end, which no id has, and the name of the version.

/// What stands between an id and the version that it is of.
const SEPARATOR: char = '\n';

/// The id of a document or thread in a version.
pub fn version_id(id: &str, version: &str) -> String {
    format!("{id}{SEPARATOR}{version}")
}

/// An id and the version that it is of, if it is of one.
pub fn split_version(id: &str) -> (&str, Option<&str>) {
    id.split_once(SEPARATOR).map_or((id, None), |(id, version)| (id, Some(version)))
}

/// Whether an id is one of a version.
pub(super) fn is_version(id: &str) -> bool {
    id.contains(SEPARATOR)
}

/// The id without its version.
pub(super) fn public_id(id: &str) -> &str {
    split_version(id).0
}
