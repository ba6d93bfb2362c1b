//! The server's tokens that were made by a command: their grants and hashes, never their secrets.

use backstory_model::access::Grant;
use jiff::Timestamp;
use rusqlite::{Row, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::{Ledger, LedgerError, time, to_i64};

/// SHA-256 of a token.
pub type TokenHash = [u8; 32];

/// A token to be kept.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// What it is known by.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Of the whole token.
    pub hash: TokenHash,
    /// What it grants.
    pub grant: Grant,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A token that was made, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IssuedToken {
    /// What it is known by; the token begins with it.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it grants.
    #[serde(flatten)]
    pub grant: Grant,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: String,
    /// When it was last used, to the minute; null if it never was.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked; null if it was not.
    pub revoked_at: Option<Timestamp>,
}

impl IssuedToken {
    /// Whether it opens anything at a time: it is neither revoked nor expired.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && !self.grant.is_expired(now)
    }
}

impl Ledger {
    /// Keeps a token; whether its name was free and there was room: at most `most` are kept that are not revoked.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn add_token(&self, token: &NewToken, most: usize) -> Result<bool, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let count: i64 = tx.query_row("SELECT COUNT(*) FROM tokens WHERE revoked_at IS NULL", [], |row| row.get(0))?;
        if usize::try_from(count).unwrap_or(usize::MAX) >= most {
            return Ok(false);
        }
        tx.execute(
            "DELETE FROM tokens WHERE revoked_at IS NOT NULL AND id NOT IN
                (SELECT id FROM tokens WHERE revoked_at IS NOT NULL ORDER BY revoked_at DESC LIMIT ?1)",
            [to_i64(most as u64)],
        )?;
        let grants = serde_json::to_string(&token.grant).unwrap_or_default();
        let added = tx.execute(
            "INSERT INTO tokens (id, name, hash, grants, created_at, created_by) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO NOTHING",
            params![
                token.id,
                token.name,
                token.hash,
                grants,
                token.created_at.as_millisecond(),
                self.actor.to_string()
            ],
        )?;
        tx.commit()?;
        Ok(added > 0)
    }

    /// All tokens with their hashes, the oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn tokens(&self) -> Result<Vec<(IssuedToken, TokenHash)>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(
            "SELECT id, name, hash, grants, created_at, created_by, last_used_at, revoked_at FROM tokens
             ORDER BY created_at, id",
        )?;
        Ok(statement.query_map([], token)?.collect::<Result<_, _>>()?)
    }

    /// Revokes a token that is not revoked; whether there was one.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn revoke_token(&self, id: &str, at: Timestamp) -> Result<bool, LedgerError> {
        let revoke = "UPDATE tokens SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
        Ok(self.write()?.execute(revoke, params![id, at.as_millisecond()])? > 0)
    }

    /// Records when tokens were last used.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn record_token_use(&self, used: &[(String, Timestamp)]) -> Result<(), LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (id, at) in used {
            tx.execute("UPDATE tokens SET last_used_at = ?2 WHERE id = ?1", params![id, at.as_millisecond()])?;
        }
        tx.commit()?;
        Ok(())
    }

    /// Full paths of all projects that anything is stored of, and of those whose repositories are indexed.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn project_paths(&self) -> Result<Vec<String>, LedgerError> {
        let connection = self.read()?;
        // One look into the index for each project, not for each item.
        let mut statement = connection.prepare_cached(
            "WITH RECURSIVE paths (project) AS (
                SELECT MIN(project) FROM items
                UNION ALL
                SELECT (SELECT MIN(project) FROM items WHERE project > paths.project) FROM paths
                WHERE paths.project IS NOT NULL)
             SELECT project FROM paths WHERE project <> '' UNION SELECT project FROM repositories",
        )?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }
}

fn token(row: &Row<'_>) -> rusqlite::Result<(IssuedToken, TokenHash)> {
    let grants: String = row.get(3)?;
    let token = IssuedToken {
        id: row.get(0)?,
        name: row.get(1)?,
        // One that cannot be read grants nothing.
        grant: serde_json::from_str(&grants).unwrap_or_default(),
        created_at: time(row.get(4)?),
        created_by: row.get(5)?,
        last_used_at: row.get::<_, Option<i64>>(6)?.map(time),
        revoked_at: row.get::<_, Option<i64>>(7)?.map(time),
    };
    Ok((token, row.get(2)?))
}
