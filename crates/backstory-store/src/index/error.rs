//! What can go wrong with the index, each said in one sentence with what to do.

use std::path::PathBuf;

/// An error of the index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// It cannot be opened: a rebuild makes it again.
    #[error("the search index in {} is damaged ({reason}); `backstory rebuild index` makes it again", path.display())]
    Damaged {
        /// Directory of the index.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// A newer backstory wrote it.
    #[error(
        "the search index in {} has format {found}, this backstory reads {known}; use a newer backstory, or make the \
         index again with `backstory rebuild index`",
        path.display()
    )]
    Newer {
        /// Directory of the index.
        path: PathBuf,
        /// Its format.
        found: Format,
        /// The format that this program reads and writes.
        known: Format,
    },
    /// An older backstory wrote it: a rebuild brings it up to date.
    #[error(
        "the search index in {} has format {found}, this backstory reads {known}; `backstory rebuild index` brings it \
         up to date",
        path.display()
    )]
    Outdated {
        /// Directory of the index.
        path: PathBuf,
        /// Its format.
        found: Format,
        /// The format that this program reads and writes.
        known: Format,
    },
    /// A vector that cannot belong to the model.
    #[error("{what} is no vector of the embedding model {model}: {reason}")]
    Vector {
        /// Whose vector it is.
        what: String,
        /// Name of the model.
        model: String,
        /// Why it cannot be one.
        reason: String,
    },
    /// An operation of the store failed.
    #[error("cannot {action} in the search index: {reason}")]
    Store {
        /// What was tried.
        action: &'static str,
        /// What the store said.
        reason: String,
    },
}

impl IndexError {
    /// For `map_err`: an operation of the store failed.
    pub(super) fn store<E: std::fmt::Display>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::Store { action, reason: source.to_string() }
    }
}

/// Version of an index: of its tables, and of the analyzer that cut its text into terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Version of the tables.
    pub schema: u32,
    /// Version of the analyzer.
    pub analyzer: u32,
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.analyzer)
    }
}
