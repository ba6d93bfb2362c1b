//! What the lists know of nodes that are commits, files or code entities.

use backstory_model::{id::NodeId, repository::code_key};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    code::{EntityRow, FileRow},
    commits::CommitRow,
    entry::Key,
};
use crate::ledger_error::LedgerError;

/// Digits of the name of a commit that is not abbreviated, if it is a SHA-1.
const WHOLE_NAME: usize = 40;

/// The row of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeRow {
    /// That of a commit.
    Commit(CommitRow),
    /// That of a file.
    File(FileRow),
    /// That of a code entity.
    Entity(EntityRow),
}

impl CodeRow {
    /// Finds the row of a node; `None` if the lists have none, or the node is of another kind.
    pub(super) fn find(connection: &Connection, id: &NodeId) -> Result<Option<Self>, LedgerError> {
        Ok(match id {
            NodeId::Commit { project, sha } => {
                let Some(sha) = whole_name(connection, project, sha)? else { return Ok(None) };
                CommitRow::find(connection, project, &Key::Text(sha))?.map(Self::Commit)
            }
            NodeId::File { project, path } => {
                FileRow::find(connection, project, &Key::Text(path.clone()))?.map(Self::File)
            }
            NodeId::Entity { project, path, name } => {
                EntityRow::find(connection, project, &Key::Text(code_key(path, Some(name))))?.map(Self::Entity)
            }
            _ => None,
        })
    }
}

/// The whole name of a commit that may be abbreviated; `None` if several start with it, or none.
fn whole_name(connection: &Connection, project: &str, sha: &str) -> Result<Option<String>, LedgerError> {
    if sha.len() >= WHOLE_NAME {
        return Ok(Some(sha.to_owned()));
    }
    let mut statement = connection.prepare_cached(
        "SELECT MIN(sha), COUNT(*) FROM list_commits WHERE project = ?1 AND sha >= ?2 AND sha < ?2 || 'g'",
    )?;
    let found: Option<(Option<String>, i64)> =
        statement.query_row(params![project, sha], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(found.and_then(|(name, count)| name.filter(|_| count == 1)))
}
