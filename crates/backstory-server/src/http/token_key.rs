//! Names a token without its text.

/// Which token was shown. It can be kept in place of its text, and stands for a caller as long as the token is valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TokenKey {
    /// The data directory's own secret.
    Own,
    /// One of the configuration, by its place there.
    Configured(usize),
    /// One that was made, by its id.
    Issued(String),
}
