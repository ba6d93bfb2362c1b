//! GraphQL types of audit records.

use async_graphql::{Context, ID, Json, Result, SimpleObject, connection::Connection};
use backstory_engine::{forget::AuditRequest, ledger};
use serde_json::Value;

use super::{
    counter::Counter,
    loaders,
    names::{AuditAction, ForgottenKind},
    page,
    scalar::DateTime,
    task::object,
};

/// What was forgotten, may be read again, or is not kept any more, without any of its content.
#[derive(SimpleObject)]
pub(crate) struct AuditEntry {
    /// Id of the audit record, `audit/12`.
    id: ID,
    /// Number of the audit record.
    number: i64,
    /// When it was done.
    at: DateTime,
    /// What was done to the subject.
    action: AuditAction,
    /// Kind of the subject.
    kind: ForgottenKind,
    /// Reference of the subject; for a person, the alias that replaces their name.
    subject: String,
    /// Reason that somebody gave; null if nobody did.
    reason: Option<String>,
    /// How much was removed where, as an object of counts; null if nothing was counted.
    counts: Option<Json<Value>>,
    /// Whether the subject was searched for afterwards and nothing was found; null if the search has not ended, or
    /// nothing was known any more to search for.
    verified: Option<bool>,
    /// Who asked for it: `owner`, `local` or a token by its name; null if that is not on record.
    actor: Option<String>,
}

impl From<ledger::AuditEntry> for AuditEntry {
    fn from(entry: ledger::AuditEntry) -> Self {
        Self {
            id: Counter::AuditEntry.id(entry.id),
            number: entry.id,
            at: entry.at.into(),
            action: entry.action.into(),
            kind: entry.kind.into(),
            subject: entry.subject,
            reason: entry.reason,
            counts: object(entry.counts),
            verified: entry.verified,
            actor: entry.actor,
        }
    }
}

/// A page of audit records.
pub(crate) type AuditConnection = Connection<String, AuditEntry>;

pub(super) async fn list(
    ctx: &Context<'_>,
    first: Option<i32>,
    after: Option<&str>,
    action: Option<AuditAction>,
) -> Result<AuditConnection> {
    let size = page::size(first, page::DEFAULT_PAGE)?;
    let before = page::decode(after)?;
    let request = AuditRequest { action: action.map(Into::into), before, limit: size + 1 };
    let entries = loaders::engine(ctx)?.answer(request).await?;
    Ok(page::forward(entries, size, after, |entry| page::encode(&entry.id), AuditEntry::from))
}
