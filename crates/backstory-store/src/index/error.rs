//! Errors of the index, one sentence each with what to do.

use std::path::{Path, PathBuf};

use crate::missing_resource::MissingResource;

/// An error of the index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// It cannot be opened: a rebuild makes it again.
    #[error("the search index in {} is damaged ({reason}); `backstory rebuild index` rebuilds it", path.display())]
    Damaged {
        /// Directory of the index.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// A newer backstory wrote it.
    #[error(
        "the search index in {} has format {found}, this backstory reads {known}; use a newer backstory, or rebuild \
         the index with `backstory rebuild index`",
        path.display()
    )]
    Newer {
        /// Directory of the index.
        path: PathBuf,
        /// Its format.
        found: IndexFormatVersion,
        /// The format that this program reads and writes.
        known: IndexFormatVersion,
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
        found: IndexFormatVersion,
        /// The format that this program reads and writes.
        known: IndexFormatVersion,
    },
    /// A vector that cannot belong to the model.
    #[error("{what} is not a vector of the embedding model {model}: {reason}")]
    Vector {
        /// Whose vector it is.
        what: String,
        /// Name of the model.
        model: String,
        /// Why it cannot be one.
        reason: String,
    },
    /// It cannot be read or written now, and is not damaged.
    #[error("cannot {action} in the search index: {lack}, and repeat the command ({reason})")]
    Lacking {
        /// What was tried.
        action: &'static str,
        /// What the machine lacks.
        lack: MissingResource,
        /// What the store said.
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
    /// The same of an index: an operation that failed for no other reason says that its files are damaged.
    pub(super) fn at(self, path: &Path) -> Self {
        match self {
            Self::Store { action, reason } => {
                Self::Damaged { path: path.to_owned(), reason: format!("cannot {action}: {reason}") }
            }
            other => other,
        }
    }

    /// The same where it is known what was tried.
    pub(super) fn damaged(self, path: &Path) -> Self {
        match self {
            Self::Store { reason, .. } => Self::Damaged { path: path.to_owned(), reason },
            other => other,
        }
    }

    /// For `map_err`: an operation of the store failed.
    pub(super) fn store<E: std::fmt::Display>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |source| {
            let reason = without_places_in_source(&source.to_string());
            match MissingResource::from_message(&reason) {
                Some(lack) => Self::Lacking { action, lack, reason },
                None => Self::Store { action, reason },
            }
        }
    }
}

/// What the store says, without the lines of its source where it went wrong: those say nothing of this machine.
fn without_places_in_source(message: &str) -> String {
    let is_place = |part: &str| {
        let mut parts = part.rsplitn(3, ':');
        let is_number = |text: Option<&str>| text.is_some_and(|text| text.bytes().all(|digit| digit.is_ascii_digit()));
        is_number(parts.next()) && is_number(parts.next()) && parts.next().is_some_and(|path| path.ends_with(".rs"))
    };
    let parts = message.split(", ").filter(|part| !is_place(part.trim_start_matches("location: ")));
    parts.collect::<Vec<_>>().join(", ")
}

/// Version of an index: of its tables, and of the analyzer that cut its text into terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexFormatVersion {
    /// Version of the tables.
    pub schema: u32,
    /// Version of the analyzer.
    pub analyzer: u32,
}

impl std::fmt::Display for IndexFormatVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.analyzer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_do_not_say_where_the_library_was_compiled() {
        let said = "LanceError(IO): Not found: d/1/a.lance, retried 3 times, /home/x/lance-1.0/src/reader.rs:153:60";
        assert_eq!(without_places_in_source(said), "LanceError(IO): Not found: d/1/a.lance, retried 3 times");
        let said = "Append with different schema: a, location: src/dataset.rs:1:2";
        assert_eq!(without_places_in_source(said), "Append with different schema: a");
    }
}
