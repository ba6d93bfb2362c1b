//! The error of every use case: its kind, and a message for the person who can act on it.
//!
//! A message is bounded, redacted and escaped. Exit codes and HTTP statuses are in the server's `error_table`.

use backstory_model::text::{truncate_long_words, visible};
use backstory_sources::{
    forge::ForgeError,
    git::{
        GitError, address::AddressError, clone::CloneError, history::HistoryError, lineage, objects::ObjectError,
        refs::RefsError,
    },
    redact::redact,
};
use backstory_store::{graph::GraphError, index::IndexError, lack::MissingResource, ledger::LedgerError};

use serde::{Deserialize, Serialize};

use crate::provider::ProviderError;

/// Kind of a failure; the binary's table maps each to an exit code, an HTTP status and a GraphQL code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
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
    /// There is too much to do at the moment.
    Busy,
    /// This server does other things.
    Unavailable,
    /// The machine lacks room, file descriptors or memory.
    Lacking,
    /// The stores were written by a newer program.
    Newer,
    /// A store or the program itself failed.
    Internal,
}

/// Longest message, in characters.
pub const MAX_MESSAGE: usize = 2000;

/// A message as it is kept, logged and shown, whatever it quotes: at most [`MAX_MESSAGE`] characters, no word of more than
/// [`MAX_ECHO`](backstory_model::text::MAX_ECHO), secrets replaced, control characters escaped.
pub fn message(text: &str) -> String {
    let words = truncate_long_words(text);
    let Some((end, _)) = words.char_indices().nth(MAX_MESSAGE) else { return visible(&redact(&words).0).into_owned() };
    // Half a token is not recognized as one.
    let end = words[..end].rfind(char::is_whitespace).unwrap_or(end);
    format!("{} …", visible(&redact(&words[..end]).0))
}

/// A failure: what it concerns, what is wrong and what to do, in one sentence or two.
#[derive(Clone, Debug, thiserror::Error, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("{message}")]
pub struct Error {
    /// What sort of failure.
    #[serde(rename = "code")]
    pub kind: ErrorKind,
    /// For a person.
    pub message: String,
}

impl Error {
    /// A failure of a kind. It may quote a payload, an address or what another program said: see [`message`].
    pub fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self { kind, message: message(&text) }
    }

    /// Files that cannot be read or written: the machine may lack something.
    pub(crate) fn of_files(what: &str, error: &std::io::Error) -> Self {
        match MissingResource::in_message(&error.to_string()) {
            Some(MissingResource::Permission) | None => Self::internal(format!("{what}: {error}")),
            Some(lack) => Self::new(ErrorKind::Lacking, format!("{what}: {lack}, and repeat the command ({error})")),
        }
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, text)
    }

    pub(crate) fn internal(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, text)
    }
}

impl From<LedgerError> for Error {
    fn from(error: LedgerError) -> Self {
        let kind = match error {
            LedgerError::Newer { .. } => ErrorKind::Newer,
            LedgerError::Backup { .. } => ErrorKind::Configuration,
            LedgerError::Quarantine { .. } => ErrorKind::Upstream,
            LedgerError::Lacking { .. } => ErrorKind::Lacking,
            LedgerError::Outdated { .. }
            | LedgerError::Damaged { .. }
            | LedgerError::Sqlite(_)
            | LedgerError::Payload { .. } => ErrorKind::Internal,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<GraphError> for Error {
    fn from(error: GraphError) -> Self {
        let kind = if matches!(error, GraphError::Lacking { .. }) { ErrorKind::Lacking } else { ErrorKind::Internal };
        Self::new(kind, error.to_string())
    }
}

impl From<IndexError> for Error {
    fn from(error: IndexError) -> Self {
        let kind = match error {
            IndexError::Newer { .. } => ErrorKind::Newer,
            IndexError::Lacking { .. } => ErrorKind::Lacking,
            _ => ErrorKind::Internal,
        };
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

impl From<ProviderError> for Error {
    fn from(error: ProviderError) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_short_plain_and_without_secrets() {
        let token = format!("{}-{}", "glpat", "aB3dE5gH7jK9mN1pQ2sT");
        for (text, expected) in [
            ("a plain one: é".to_owned(), "a plain one: é".to_owned()),
            (format!("the token {token} is wrong"), "the token [redacted:gitlab-token:26] is wrong".to_owned()),
            ("403: \u{1b}]0;pwned\u{7}\u{1b}[2J".to_owned(), r"403: \u{1b}]0;pwned\u{7}\u{1b}[2J".to_owned()),
            (format!("'{}' is no path", "x".repeat(20_000)), format!("'{}… is no path", "x".repeat(199))),
        ] {
            assert_eq!(message(&text), expected);
            assert_eq!(message(&expected), expected);
        }
        let long = message(&format!("{}{token}", "words ".repeat(332)));
        assert!(long.chars().count() <= MAX_MESSAGE + 2 && long.ends_with("words …"), "{long}");
    }
}
