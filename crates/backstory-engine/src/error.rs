//! Why a use case failed, in the words of who must act.

use backstory_sources::forge::ForgeError;
use backstory_store::{graph::GraphError, index::IndexError, ledger::LedgerError};

use crate::embed::EmbedError;

/// Kind of a failure; the binary's table maps each to an exit code, an HTTP status and a GraphQL code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request itself is wrong.
    Invalid,
    /// What was asked for does not exist.
    NotFound,
    /// Something else is in the way: another sync, another process.
    Conflict,
    /// Configuration or credentials are wrong.
    Configuration,
    /// Another service does not answer or answers wrongly.
    Upstream,
    /// It took too long.
    Timeout,
    /// The stores were written by a newer program.
    Newer,
    /// A store or the program itself failed.
    Internal,
}

/// A failure: what it concerns, what is wrong and what to do, in one sentence or two.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What sort of failure.
    pub kind: ErrorKind,
    /// For a person.
    pub message: String,
}

impl Error {
    /// A failure of a kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }
}

impl From<LedgerError> for Error {
    fn from(error: LedgerError) -> Self {
        let kind = match error {
            LedgerError::Newer { .. } => ErrorKind::Newer,
            LedgerError::Damaged { .. } | LedgerError::Sqlite(_) | LedgerError::Payload { .. } => ErrorKind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<GraphError> for Error {
    fn from(error: GraphError) -> Self {
        Self::internal(error.to_string())
    }
}

impl From<IndexError> for Error {
    fn from(error: IndexError) -> Self {
        let kind = if matches!(error, IndexError::Newer { .. }) { ErrorKind::Newer } else { ErrorKind::Internal };
        Self::new(kind, error.to_string())
    }
}

impl From<ForgeError> for Error {
    fn from(error: ForgeError) -> Self {
        let kind = match error {
            ForgeError::Unauthorized { .. } | ForgeError::Forbidden { .. } | ForgeError::Config(_) => {
                ErrorKind::Configuration
            }
            ForgeError::NotFound { .. } => ErrorKind::NotFound,
            _ => ErrorKind::Upstream,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<EmbedError> for Error {
    fn from(error: EmbedError) -> Self {
        let kind = if error.is_configuration() { ErrorKind::Configuration } else { ErrorKind::Upstream };
        Self::new(kind, error.to_string())
    }
}

impl From<tokio::task::JoinError> for Error {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::internal(format!("a step ended without an answer: {error}"))
    }
}

/// What every use case returns.
pub type Result<T> = std::result::Result<T, Error>;
