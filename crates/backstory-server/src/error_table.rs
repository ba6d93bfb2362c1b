//! The table of failures: the exit code, HTTP status and GraphQL code of each kind of failure.

use axum::http::StatusCode;
use backstory_engine::error::ErrorKind;

/// Name of the GraphQL error extension that carries the code.
pub const CODE: &str = "code";
/// Name of the one that says what to do.
pub const HINT: &str = "hint";

/// How one kind of failure appears.
struct Row {
    exit: u8,
    status: StatusCode,
    code: &'static str,
}

/// Every kind of failure.
const KINDS: [ErrorKind; 14] = [
    ErrorKind::Invalid,
    ErrorKind::NotFound,
    ErrorKind::Gone,
    ErrorKind::Conflict,
    ErrorKind::Configuration,
    ErrorKind::Unauthenticated,
    ErrorKind::Forbidden,
    ErrorKind::Upstream,
    ErrorKind::Timeout,
    ErrorKind::Busy,
    ErrorKind::Unavailable,
    ErrorKind::Lacking,
    ErrorKind::Newer,
    ErrorKind::Internal,
];

/// Exit codes: 1 failure, 2 usage, 3 configuration or credentials.
fn row(kind: ErrorKind) -> Row {
    let (exit, status, code) = match kind {
        ErrorKind::Invalid => (2, StatusCode::BAD_REQUEST, "INVALID"),
        ErrorKind::NotFound => (1, StatusCode::NOT_FOUND, "NOT_FOUND"),
        ErrorKind::Gone => (1, StatusCode::GONE, "GONE"),
        ErrorKind::Conflict => (1, StatusCode::CONFLICT, "CONFLICT"),
        // Something that this server was not given, such as a language model; it is not broken.
        ErrorKind::Configuration => (3, StatusCode::SERVICE_UNAVAILABLE, "CONFIGURATION"),
        ErrorKind::Unauthenticated => (3, StatusCode::UNAUTHORIZED, "UNAUTHENTICATED"),
        ErrorKind::Forbidden => (3, StatusCode::FORBIDDEN, "FORBIDDEN"),
        ErrorKind::Upstream => (1, StatusCode::BAD_GATEWAY, "UPSTREAM"),
        ErrorKind::Timeout => (1, StatusCode::GATEWAY_TIMEOUT, "TIMEOUT"),
        ErrorKind::Busy => (1, StatusCode::SERVICE_UNAVAILABLE, "BUSY"),
        ErrorKind::Unavailable => (1, StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
        ErrorKind::Lacking => (1, StatusCode::SERVICE_UNAVAILABLE, "LACKING"),
        ErrorKind::Newer => (1, StatusCode::INTERNAL_SERVER_ERROR, "NEWER"),
        ErrorKind::Internal => (1, StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL"),
    };
    Row { exit, status, code }
}

/// What the command line exits with.
pub fn exit_code(kind: ErrorKind) -> u8 {
    row(kind).exit
}

/// What an HTTP answer that is not GraphQL has as its status, and one of an operation that was not executed.
pub fn http_status(kind: ErrorKind) -> StatusCode {
    row(kind).status
}

/// What a GraphQL error has in `extensions.code`.
pub fn code(kind: ErrorKind) -> &'static str {
    row(kind).code
}

/// The kind of failure that a GraphQL code stands for; a code that is not known stands for an internal one.
pub fn kind(code: &str) -> ErrorKind {
    KINDS.into_iter().find(|kind| row(*kind).code == code).unwrap_or(ErrorKind::Internal)
}
