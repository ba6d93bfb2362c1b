//! GraphQL types of audit records.

use async_graphql::{Context, ID, Json, Result, SimpleObject};
use backstory_engine::{forget::AuditRequest, ledger, model::text::echo};
use serde_json::Value;

use super::{loaders, names::AuditAction, page, scalar::DateTime, task::object};

/// What was forgotten, may be read again, or is not kept any more, without any of its content.
#[derive(SimpleObject)]
pub(crate) struct AuditEntry {
    /// Its number.
    id: ID,
    /// When.
    at: DateTime,
    /// What was done: `forget`, `undo`, or `retire` for what `[retention]` does not keep.
    action: &'static str,
    /// Kind of the subject: `thread`, `project` or `person`.
    kind: &'static str,
    /// Its reference; of a person what stands in the place of their name.
    subject: String,
    /// Why, as somebody said.
    reason: Option<String>,
    /// How much was removed where: an object of counts.
    counts: Option<Json<Value>>,
    /// Whether it was looked for afterwards and nothing was found; null if that has not ended, or nothing was known any
    /// more that could be looked for.
    verified: Option<bool>,
}

impl From<ledger::AuditEntry> for AuditEntry {
    fn from(entry: ledger::AuditEntry) -> Self {
        Self {
            id: entry.id.to_string().into(),
            at: entry.at.into(),
            action: entry.action.as_str(),
            kind: entry.kind.as_str(),
            subject: entry.subject,
            reason: entry.reason,
            counts: object(entry.counts),
            verified: entry.verified,
        }
    }
}

pub(super) async fn list(
    ctx: &Context<'_>,
    first: Option<i32>,
    before: Option<ID>,
    action: Option<AuditAction>,
) -> Result<Vec<AuditEntry>> {
    let limit = page::size(first, page::DEFAULT_PAGE)?;
    let before = before.as_ref().map(number).transpose()?;
    let entries = loaders::engine(ctx)?.answer(AuditRequest { action: action.map(Into::into), before, limit }).await?;
    Ok(entries.into_iter().map(AuditEntry::from).collect())
}

fn number(id: &ID) -> Result<i64> {
    let number =
        id.parse().map_err(|_| page::invalid(format!("'{}' is no record; records have numbers", echo(id.as_str()))));
    Ok(number?)
}
