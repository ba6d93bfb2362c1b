//! Why a use case failed, in the words of who must act.

use std::borrow::Cow;

use backstory_sources::{
    forge::ForgeError,
    git::{
        GitError, address::AddressError, clone::CloneError, history::HistoryError, lineage, objects::ObjectError,
        refs::RefsError,
    },
    redact::redact,
};
use backstory_store::{graph::GraphError, index::IndexError, ledger::LedgerError};

use crate::{embed::EmbedError, llm::ChatError, rerank::RerankSettingError};

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
    /// Whoever asks did not show who they are.
    Unauthenticated,
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
    /// A failure of a kind. Secrets in the message are replaced.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        // It may quote a payload, an address or what another program said.
        let message = match redact(&message) {
            (Cow::Owned(clean), _) => clean,
            (Cow::Borrowed(_), _) => message,
        };
        Self { kind, message }
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
            LedgerError::Backup { .. } => ErrorKind::Configuration,
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

impl From<RerankSettingError> for Error {
    fn from(error: RerankSettingError) -> Self {
        Self::new(ErrorKind::Configuration, error.to_string())
    }
}

impl From<ChatError> for Error {
    fn from(error: ChatError) -> Self {
        let kind = if error.is_configuration() { ErrorKind::Configuration } else { ErrorKind::Upstream };
        Self::new(kind, error.to_string())
    }
}

impl From<AddressError> for Error {
    fn from(error: AddressError) -> Self {
        match error {
            AddressError::NotPublic { host, address, kind } => Self::invalid(format!(
                "host '{host}' is at {address}, {kind}; if that is intended, name the host in allowed_hosts \
                 under [repositories] in the configuration"
            )),
            error => Self::invalid(error.to_string()),
        }
    }
}

impl From<CloneError> for Error {
    fn from(error: CloneError) -> Self {
        match error {
            CloneError::Git(error) => error.into(),
            error => Self::new(ErrorKind::Upstream, error.to_string()),
        }
    }
}

impl From<GitError> for Error {
    fn from(error: GitError) -> Self {
        let kind = match error {
            GitError::Missing { .. } | GitError::TooOld { .. } => ErrorKind::Configuration,
            GitError::TimedOut { .. } => ErrorKind::Timeout,
            GitError::Cancelled { .. } => ErrorKind::Conflict,
            _ => ErrorKind::Upstream,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<ObjectError> for Error {
    fn from(error: ObjectError) -> Self {
        let kind = match error {
            ObjectError::NoSuchPath { .. } => ErrorKind::NotFound,
            _ => ErrorKind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<RefsError> for Error {
    fn from(error: RefsError) -> Self {
        Self::internal(error.to_string())
    }
}

impl From<HistoryError> for Error {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Git(error) => error.into(),
            HistoryError::Cancelled => Self::new(ErrorKind::Conflict, "the sync was stopped"),
            error => Self::internal(error.to_string()),
        }
    }
}

impl From<lineage::Error> for Error {
    fn from(error: lineage::Error) -> Self {
        // What libgit2 says stands in the source.
        let said = std::error::Error::source(&error).map(|source| format!(" ({source})")).unwrap_or_default();
        Self::internal(format!("{error}{said}"))
    }
}

impl From<tokio::task::JoinError> for Error {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::internal(format!("a step ended without an answer: {error}"))
    }
}

/// What every use case returns.
pub type Result<T> = std::result::Result<T, Error>;
