//! Errors of the ledger and of the lists that its database has.

use std::path::PathBuf;

use rusqlite::ErrorCode;

use crate::missing_resource::MissingResource;

/// What the file is called in a data directory: SQLite does not say in which file it found damage.
const FILE: &str = "ledger.sqlite";

/// What can go wrong with the ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file was written by a newer backstory.
    #[error(
        "the ledger has schema version {found}, this backstory knows versions up to {known}; use a newer backstory, or \
         another data directory"
    )]
    Newer {
        /// Version of the file.
        found: i64,
        /// Newest version this program knows.
        known: i64,
    },
    /// The file was written by a backstory that is too old.
    #[error(
        "the ledger has schema version {found}, this backstory knows versions from {oldest} on; delete the data \
         directory and run 'backstory sync', or open it once with the version of backstory before this one"
    )]
    Outdated {
        /// Version of the file.
        found: i64,
        /// Oldest version this program knows.
        oldest: i64,
    },
    /// The file is no ledger, or no longer one.
    #[error(
        "{path} is not a ledger or is damaged ({reason}); restore it from a backup, or move it away together with the \
         directories graph and index beside it and run 'backstory sync': what it holds can be read again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        reason: String,
    },
    /// Another file has its name now, or none has.
    #[error(
        "{} was removed or replaced while it was open, so nothing is written to it any more; put it back, or copy what is \
         open with 'backstory backup', end the process that has it open, and restore the copy", .path.display()
    )]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// A copy could not be written.
    #[error("the copy {path} cannot be written: {reason}; name a file that does not exist yet, on a disk with room")]
    Backup {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// More of a project cannot be read than is put aside.
    #[error(
        "more than {most} items of {project} cannot be read; is its forge of a kind and version that backstory knows? \
         'backstory status' names some"
    )]
    Quarantine {
        /// Full path of the project.
        project: String,
        /// How many are put aside.
        most: u64,
    },
    /// It cannot be read or written now, and is not damaged.
    #[error("the ledger cannot be read or written: {lack}, and repeat the command ({reason})")]
    Lacking {
        /// What the machine lacks.
        lack: MissingResource,
        /// What SQLite says.
        reason: String,
    },
    /// SQLite refused.
    #[error("the ledger cannot be read or written: {0}")]
    Sqlite(#[source] rusqlite::Error),
    /// A payload could not be packed or unpacked.
    #[error("the ledger holds a damaged payload for {item}: {reason}")]
    Payload {
        /// Project, kind and key.
        item: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        let reason = error.to_string();
        match (MissingResource::from_message(&reason), error.sqlite_error_code()) {
            (Some(lack), _) => Self::Lacking { lack, reason },
            (None, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)) => {
                Self::Damaged { path: PathBuf::from(FILE), reason }
            }
            (None, _) => Self::Sqlite(error),
        }
    }
}
