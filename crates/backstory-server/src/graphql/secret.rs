//! GraphQL types of redacted secrets.

use async_graphql::SimpleObject;
use backstory_engine::{model::redaction::SecretCounts, sources::redact::kinds};

/// Secrets of one kind that were replaced in a text before it was stored, or found in the lines of a commit.
#[derive(SimpleObject)]
pub(crate) struct Secrets {
    /// Name of the kind of secret, as it is written in `[redacted:<kind>:<length>]`.
    kind: String,
    /// Description of the kind; null if this program no longer knows it.
    description: Option<&'static str>,
    /// In how many places there was one of the kind.
    count: u64,
}

impl Secrets {
    pub(super) fn new(kind: String, count: u64) -> Self {
        let description = kinds().find(|known| known.id == kind).map(|known| known.description);
        Self { kind, description, count }
    }
}

/// One entry for each kind.
pub(super) fn list(counts: Option<SecretCounts>) -> Vec<Secrets> {
    counts.unwrap_or_default().into_iter().map(|(kind, count)| Secrets::new(kind, count)).collect()
}
