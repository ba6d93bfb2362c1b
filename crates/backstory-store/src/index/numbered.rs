//! A document as it is kept in memory: its names are numbers, since most of a million documents share some.

use backstory_model::{document_type::DocumentType, entity::State, filter::DocumentKind};

/// The number of a name. It stays as long as somebody has it.
pub(super) type Name = u32;

/// Stands for a name that is absent.
pub(super) const NO_NAME: Name = Name::MAX;
/// What stands between labels.
pub(super) const LABEL_END: &str = "\0";

/// Bytes of the hash of what a document says: so many that no two are alike by chance.
pub(super) const HASH: usize = 16;

/// A document.
#[derive(Clone, Debug)]
pub(super) struct NumberedDocument {
    pub(super) id: Name,
    pub(super) thread: Name,
    pub(super) project: Name,
    /// [`NO_NAME`] if it has none.
    pub(super) author: Name,
    /// All labels, joined; [`NO_NAME`] if it has none.
    pub(super) labels: Name,
    /// All paths, joined.
    pub(super) paths: Name,
    /// Milliseconds since 1970.
    pub(super) created_at: i64,
    pub(super) importance: f32,
    pub(super) kind: DocumentKind,
    pub(super) document_type: DocumentType,
    pub(super) state: Option<State>,
    pub(super) confidential: bool,
    /// A hash of what it says; of a version it is of no use.
    pub(super) said: [u8; HASH],
}

impl NumberedDocument {
    /// Its names.
    pub(super) fn names(&self) -> impl Iterator<Item = Name> {
        let names = [self.id, self.thread, self.project, self.author, self.labels, self.paths];
        names.into_iter().filter(|name| *name != NO_NAME)
    }

    /// The project and whether it is confidential: what decides who sees it.
    pub(super) fn group(&self) -> (Name, bool) {
        (self.project, self.confidential)
    }
}
