//! The failure of a command: message and exit code.

use std::io;

use backstory_engine::error::{self, Error, ErrorKind};

use backstory_server::error_table;

use crate::output::Terminal;

/// Exit code of a command whose report says that something is wrong.
const FAILED: u8 = 1;
/// Exit code of a command that Ctrl-C ended, as shells have it.
const INTERRUPTED: u8 = 130;

/// A failure: what to tell, and what to exit with.
#[derive(Debug)]
pub(crate) struct Failure {
    /// One sentence that names the thing and what is wrong, perhaps also what to do; nothing if all has been said.
    pub(crate) message: Option<String>,
    /// What to do.
    pub(crate) hint: Option<String>,
    /// 1 failure, 2 usage, 3 configuration or credentials, 130 interrupted.
    pub(crate) code: u8,
}

impl Failure {
    /// A failure of a kind. It may quote what somebody typed or another program said: see [`error::message`].
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self { message: Some(error::message(&message)), hint: None, code: error_table::exit_code(kind) }
    }

    /// The command line asks for what makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// The configuration or credentials must change.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Configuration, message)
    }

    /// Prints what is wrong and what to do, a line each.
    pub(crate) fn print(&self, terminal: &Terminal) {
        if let Some(message) = &self.message {
            terminal.error(message);
        }
        if let Some(hint) = &self.hint {
            terminal.hint(hint);
        }
    }

    /// Message and hint in one sentence.
    pub(crate) fn sentence(self) -> String {
        self.message.into_iter().chain(self.hint).collect::<Vec<_>>().join("; ")
    }

    /// The same for somebody who reads no exit code.
    pub(crate) fn into_error(self) -> Error {
        let error = Error::new(ErrorKind::Internal, self.message.unwrap_or_default());
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }

    /// The report that was printed says what is wrong.
    pub(crate) fn reported() -> Self {
        Self { message: None, hint: None, code: FAILED }
    }

    /// Ctrl-C ended it.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), hint: None, code: INTERRUPTED }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { message: Some(error.message), hint: error.hint, code: error_table::exit_code(error.kind) }
    }
}

/// What went wrong while writing to the terminal; files and sockets have failures that name them.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // The reader of the output has seen enough: `backstory list issues | head`.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self { message: None, hint: None, code: 0 };
        }
        Self::new(ErrorKind::Internal, format!("the output cannot be written: {}", reason(&error)))
    }
}

/// What every command returns.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// What the system says is wrong with a file, to stand in a sentence.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    // Without the system's number for it.
    let words = text.split(" (os error").next().unwrap_or_default();
    let mut chars = words.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
