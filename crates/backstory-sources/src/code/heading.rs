//! A heading of a document, whatever its format.

/// A heading and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heading {
    /// 1 for the outermost.
    pub(super) level: u8,
    pub(super) title: String,
    /// From 1.
    pub(super) line: u32,
}
