//! What can go wrong with the ledger.

use std::path::PathBuf;

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
    /// The file is no ledger, or no longer one.
    #[error(
        "{path} is not a ledger or is damaged ({reason}); restore it from a backup, or move it away and run \
         'backstory sync': what it holds can be read again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        reason: String,
    },
    /// A copy could not be written.
    #[error("the copy {path} cannot be written: {reason}; name a file that is not there yet, on a disk with room")]
    Backup {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// SQLite refused.
    #[error("the ledger cannot be read or written: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A payload could not be packed or unpacked.
    #[error("the ledger holds a damaged payload for {item}: {reason}")]
    Payload {
        /// Project, kind and key.
        item: String,
        /// What is wrong with it.
        reason: String,
    },
}
