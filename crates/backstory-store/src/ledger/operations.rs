//! The audit log: who asked for what and when, in a table beside the log of changes.

use backstory_model::access::Scope;
use jiff::Timestamp;
use rusqlite::{Row, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::{ErasureTarget, Ledger, LedgerError, time, to_i64};

/// Most operations that are kept.
const MAX_KEPT: i64 = 1_000_000;

/// An operation that somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOperation {
    /// When.
    pub at: Timestamp,
    /// Who, as the audit log names them.
    pub actor: String,
    /// Name of the use case, or `graphql`.
    pub name: String,
    /// What somebody must be allowed to do for it.
    pub scope: Scope,
    /// Full paths of the projects that it named.
    pub projects: Vec<String>,
    /// What was asked, as JSON without secrets; `None` if that is not kept.
    pub request: Option<String>,
    /// `ok`, or the code of the failure.
    pub outcome: String,
}

/// An operation on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Operation {
    /// Its number.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// Who: `owner`, `local`, or a token by its name.
    pub actor: String,
    /// Name of the use case, or `graphql`.
    pub name: String,
    /// What somebody must be allowed to do for it.
    pub scope: Scope,
    /// Full paths of the projects that it named; empty for all that its caller sees.
    pub projects: Vec<String>,
    /// What was asked, as JSON without secrets; null if that is not kept, or something was forgotten since.
    pub request: Option<String>,
    /// `ok`, or the code of the failure.
    pub outcome: String,
}

/// Which operations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationFilter {
    /// Only of an actor whose name has this in it.
    pub actor: Option<String>,
    /// Only of this name.
    pub name: Option<String>,
    /// Only those that need this scope.
    pub scope: Option<Scope>,
    /// Only those with a smaller number.
    pub before: Option<i64>,
}

impl Ledger {
    /// Adds operations to the audit log, and drops those from before a time and those that are too many.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn add_operations(&self, operations: &[NewOperation], keep_since: Timestamp) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for new in operations {
            let projects = serde_json::json!(new.projects).to_string();
            tx.prepare_cached(
                "INSERT INTO operations (at, actor, name, scope, projects, request, outcome)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                new.at.as_millisecond(),
                new.actor,
                new.name,
                new.scope.as_str(),
                projects,
                new.request,
                new.outcome
            ])?;
        }
        tx.execute("DELETE FROM operations WHERE at < ?1", [keep_since.as_millisecond()])?;
        tx.execute("DELETE FROM operations WHERE id <= (SELECT MAX(id) FROM operations) - ?1", [MAX_KEPT])?;
        tx.commit()?;
        Ok(())
    }

    /// Operations on record, newest first, at most `limit`.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn operations(&self, filter: &OperationFilter, limit: usize) -> Result<Vec<Operation>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(
            "SELECT id, at, actor, name, scope, projects, request, outcome FROM operations
             WHERE id < ?1 AND (?2 IS NULL OR instr(actor, ?2) > 0) AND (?3 IS NULL OR name = ?3)
                AND (?4 IS NULL OR scope = ?4)
             ORDER BY id DESC LIMIT ?5",
        )?;
        let bounds = params![
            filter.before.unwrap_or(i64::MAX),
            filter.actor,
            filter.name,
            filter.scope.map(Scope::as_str),
            to_i64(limit as u64)
        ];
        Ok(statement.query_map(bounds, operation)?.collect::<Result<_, _>>()?)
    }
}

/// Takes away what was asked: questions may quote what is forgotten, and who asked about it stays on record. Of a project
/// that is forgotten its name goes too.
pub(super) fn forget(tx: &Transaction<'_>, subject: Option<&ErasureTarget>) -> Result<(), LedgerError> {
    tx.execute("UPDATE operations SET request = NULL WHERE request IS NOT NULL", [])?;
    if let Some(ErasureTarget::Project(project)) = subject {
        tx.execute(
            "UPDATE operations SET projects = (SELECT json_group_array(value) FROM json_each(projects) WHERE value <> ?1)
             WHERE EXISTS (SELECT 1 FROM json_each(projects) WHERE value = ?1)",
            [project],
        )?;
    }
    Ok(())
}

// The schema lets no other scopes in.
fn operation(row: &Row<'_>) -> rusqlite::Result<Operation> {
    let scope: String = row.get(4)?;
    Ok(Operation {
        id: row.get(0)?,
        at: time(row.get(1)?),
        actor: row.get(2)?,
        name: row.get(3)?,
        scope: Scope::ALL.into_iter().find(|known| known.as_str() == scope).unwrap_or(Scope::Admin),
        projects: serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or_default(),
        request: row.get(6)?,
        outcome: row.get(7)?,
    })
}
