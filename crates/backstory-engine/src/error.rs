//! The error of every use case: its kind, what is wrong, what to do about it, and what it follows from.
//!
//! Message and hint are for the person who can act on them; they are bounded, redacted and escaped. Exit codes and HTTP statuses are in the server's `error_table`.

use std::{fmt, sync::Arc};

use backstory_model::text::{escape_control_characters, truncate_long_words};
use backstory_sources::{
    forge::ForgeError,
    git::{
        GitError, address::AddressError, clone::CloneError, history::HistoryError, lineage, objects::ObjectError,
        refs::RefsError,
    },
    redact::redact,
};
use backstory_store::{graph::GraphError, index::IndexError, ledger::LedgerError, missing_resource::MissingResource};

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
    /// It was there, and is not kept any more.
    Gone,
    /// Something else is in the way: another sync, another process.
    Conflict,
    /// Configuration or credentials are wrong.
    Configuration,
    /// The caller did not authenticate.
    Unauthenticated,
    /// The caller may not do that.
    Forbidden,
    /// Another service does not answer or answers wrongly.
    Upstream,
    /// It took too long.
    Timeout,
    /// There is too much to do at the moment.
    Busy,
    /// This server has other roles, or cannot do this in its current state.
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
/// [`MAX_ECHO`](backstory_model::text::MAX_ECHO), secrets replaced, control characters escaped, without the numbers that the
/// system gives its failures.
pub fn message(text: &str) -> String {
    let text = without_system_numbers(text);
    let words = truncate_long_words(&text);
    let Some((end, _)) = words.char_indices().nth(MAX_MESSAGE) else {
        return escape_control_characters(&redact(&words).0).into_owned();
    };
    // Half a token is not recognized as one.
    let end = words[..end].rfind(char::is_whitespace).unwrap_or(end);
    format!("{} …", escape_control_characters(&redact(&words[..end]).0))
}

/// A text without what stands behind words that say the same: `file exists (os error 17)`.
fn without_system_numbers(text: &str) -> String {
    const BEGINNING: &str = " (os error ";
    let mut parts = text.split(BEGINNING);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let behind = part.trim_start_matches(|c: char| c.is_ascii_digit());
        match behind.strip_prefix(')').filter(|_| behind.len() < part.len()) {
            Some(rest) => shown.push_str(rest),
            None => {
                shown.push_str(BEGINNING);
                shown.push_str(part);
            }
        }
    }
    shown
}

/// A failure. Displayed, it is one sentence: the message and the hint.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Error {
    /// What sort of failure.
    #[serde(rename = "code")]
    pub kind: ErrorKind,
    /// What it concerns and what is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What it follows from.
    #[serde(skip)]
    pub(crate) source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl Error {
    /// A failure of a kind. It may quote a payload, an address or what another program said: see [`message`].
    pub fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self { kind, message: message(&text), hint: None, source: None }
    }

    /// A failure that follows from another one and says the same.
    pub(crate) fn caused_by(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        let error = Self::new(kind, source.to_string());
        Self { source: Some(Arc::new(source)), ..error }
    }

    /// The same with what to do about it, after what it already says of that.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        let hint: String = hint.into();
        let hints = self.hint.map_or_else(|| hint.clone(), |first| format!("{first}; {hint}"));
        Self { hint: Some(message(&hints)), ..self }
    }

    /// The same with a message that begins with what it is about.
    #[must_use]
    pub(crate) fn about(self, what: &str) -> Self {
        Self { message: message(&format!("{what}: {}", self.message)), ..self }
    }

    /// Files that cannot be read or written: the machine may lack something.
    pub(crate) fn of_files(what: &str, error: &std::io::Error) -> Self {
        match MissingResource::from_message(&error.to_string()) {
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
            LedgerError::Replaced { .. } => ErrorKind::Unavailable,
            LedgerError::Outdated { .. }
            | LedgerError::Damaged { .. }
            | LedgerError::Sqlite(_)
            | LedgerError::Payload { .. } => ErrorKind::Internal,
        };
        Self::caused_by(kind, error)
    }
}

impl From<GraphError> for Error {
    fn from(error: GraphError) -> Self {
        let kind = if matches!(error, GraphError::Lacking { .. }) { ErrorKind::Lacking } else { ErrorKind::Internal };
        Self::caused_by(kind, error)
    }
}

impl From<IndexError> for Error {
    fn from(error: IndexError) -> Self {
        let kind = match error {
            IndexError::Newer { .. } => ErrorKind::Newer,
            IndexError::Lacking { .. } => ErrorKind::Lacking,
            _ => ErrorKind::Internal,
        };
        Self::caused_by(kind, error)
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
        Self::caused_by(kind, error)
    }
}

impl From<ProviderError> for Error {
    fn from(error: ProviderError) -> Self {
        let kind = if error.is_configuration() { ErrorKind::Configuration } else { ErrorKind::Upstream };
        let own = Self { source: Some(Arc::new(error.clone())), ..Self::new(kind, error.problem()) };
        match error.remedy() {
            Some(remedy) => own.with_hint(remedy),
            None => own,
        }
    }
}

impl From<AddressError> for Error {
    fn from(error: AddressError) -> Self {
        match error {
            AddressError::NotPublic { host, address, kind } => Self::invalid(format!(
                "host '{host}' is at {address}, {kind}"
            ))
            .with_hint("if that is intended, name the host in allowed_hosts under [repositories] in the configuration"),
            error => Self::caused_by(ErrorKind::Invalid, error),
        }
    }
}

impl From<CloneError> for Error {
    fn from(error: CloneError) -> Self {
        match error {
            CloneError::Git(error) => error.into(),
            error => Self::caused_by(ErrorKind::Upstream, error),
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
        Self::caused_by(kind, error)
    }
}

impl From<ObjectError> for Error {
    fn from(error: ObjectError) -> Self {
        let kind = match error {
            ObjectError::NoSuchPath { .. } => ErrorKind::NotFound,
            _ => ErrorKind::Internal,
        };
        Self::caused_by(kind, error)
    }
}

impl From<RefsError> for Error {
    fn from(error: RefsError) -> Self {
        Self::caused_by(ErrorKind::Internal, error)
    }
}

impl From<HistoryError> for Error {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Git(error) => error.into(),
            HistoryError::Cancelled => Self::new(ErrorKind::Conflict, "the sync was stopped"),
            error => Self::caused_by(ErrorKind::Internal, error),
        }
    }
}

impl From<lineage::Error> for Error {
    fn from(error: lineage::Error) -> Self {
        // What libgit2 says stands in the source.
        let said = std::error::Error::source(&error).map(|source| format!(" ({source})")).unwrap_or_default();
        let message = format!("{error}{said}");
        Self { source: Some(Arc::new(error)), ..Self::internal(message) }
    }
}

impl From<tokio::task::JoinError> for Error {
    fn from(error: tokio::task::JoinError) -> Self {
        let message = format!("a step ended without an answer: {error}");
        Self { source: Some(Arc::new(error)), ..Self::internal(message) }
    }
}

/// What every use case returns.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_what_is_wrong_what_to_do_and_what_it_follows_from() {
        let broken = std::io::Error::other("the disk is on fire");
        let error = Error::caused_by(ErrorKind::Internal, broken).about("the graph").with_hint("call 112");
        assert_eq!(
            (error.message.as_str(), error.hint.as_deref()),
            ("the graph: the disk is on fire", Some("call 112"))
        );
        assert_eq!(error.to_string(), "the graph: the disk is on fire; call 112");
        let source = std::error::Error::source(&error).map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("the disk is on fire"));
        let json = serde_json::json!({ "code": "INTERNAL", "message": error.message, "hint": "call 112" });
        assert_eq!(serde_json::to_value(&error).ok(), Some(json.clone()));
        let read: Error = serde_json::from_value(json).expect("what was written");
        assert_eq!((read.to_string(), read.kind), (error.to_string(), ErrorKind::Internal));
        assert_eq!(error.with_hint("wait").hint.as_deref(), Some("call 112; wait"));
    }

    #[test]
    fn a_message_is_short_plain_and_without_secrets() {
        let token = format!("{}-{}", "glpat", "aB3dE5gH7jK9mN1pQ2sT");
        for (text, expected) in [
            ("a plain one: é".to_owned(), "a plain one: é".to_owned()),
            (format!("the token {token} is wrong"), "the token [redacted:gitlab-token:26] is wrong".to_owned()),
            ("403: \u{1b}]0;pwned\u{7}\u{1b}[2J".to_owned(), r"403: \u{1b}]0;pwned\u{7}\u{1b}[2J".to_owned()),
            ("a: File exists (os error 17); b (os error )".to_owned(), "a: File exists; b (os error )".to_owned()),
            (format!("'{}' is not a path", "x".repeat(20_000)), format!("'{}… is not a path", "x".repeat(199))),
        ] {
            assert_eq!(message(&text), expected);
            assert_eq!(message(&expected), expected);
        }
        let long = message(&format!("{}{token}", "words ".repeat(332)));
        assert!(long.chars().count() <= MAX_MESSAGE + 2 && long.ends_with("words …"), "{long}");
    }
}
