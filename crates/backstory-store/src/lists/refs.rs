//! Branches and tags as rows.

use backstory_model::{entity::ItemKind, repository::Record};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::{
    entry::Key,
    select::{Cursor, Direction, Page, PageRequest, Reader},
    short,
};
use crate::ledger_error::LedgerError;

/// Requests branches or tags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefQuery {
    /// Which of the two.
    pub kind: RefKind,
    /// Full paths of projects; empty for all.
    #[serde(default)]
    pub projects: Vec<String>,
    /// Part of a name, in any case.
    #[serde(default)]
    pub text: Option<String>,
    /// Their order.
    #[serde(default)]
    pub order: RefOrder,
    /// Its direction.
    #[serde(default)]
    pub direction: Direction,
}

/// A branch or a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefKind {
    /// An indexed branch.
    Branch,
    /// A tag.
    Tag,
}

/// An order of branches and tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefOrder {
    /// Their names.
    #[default]
    Name,
    /// When an annotated tag was made; otherwise when the commit was that it points at.
    Date,
}

/// A branch or tag in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefKey {
    /// Full path of its project.
    pub project: String,
    /// Its name.
    pub name: String,
}

impl RefKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Branch => ItemKind::Branch.as_str(),
            Self::Tag => ItemKind::Tag.as_str(),
        }
    }
}

/// Replaces the row of a branch or tag, which is deleted if there is none any more.
pub(super) fn write(
    connection: &Connection,
    project: &str,
    kind: ItemKind,
    name: &str,
    record: Option<&Record>,
) -> Result<(), LedgerError> {
    connection.prepare_cached("DELETE FROM list_refs WHERE project = ?1 AND kind = ?2 AND name = ?3")?.execute([
        project,
        kind.as_str(),
        name,
    ])?;
    let (sha, is_default, tagged_at) = match record {
        Some(Record::Branch(branch)) => (branch.branch.tip, branch.default, None),
        Some(Record::Tag(tag)) => {
            let tagger = tag.annotation.as_ref().and_then(|annotation| annotation.tagger.as_ref());
            (tag.target, false, tagger.map(|tagger| tagger.at.as_millisecond()))
        }
        _ => return Ok(()),
    };
    connection
        .prepare_cached(
            "INSERT INTO list_refs (project, kind, name, sha, is_default, tagged_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![project, kind.as_str(), name, sha.to_string(), is_default, tagged_at])?;
    Ok(())
}

impl RefQuery {
    /// A page of branches or tags.
    pub(super) fn page(
        &self,
        connection: &Connection,
        request: &PageRequest,
        reader: Reader<'_>,
    ) -> Result<Page<RefKey>, LedgerError> {
        let mut statement = connection.prepare_cached(
            "SELECT r.project, r.name, COALESCE(r.tagged_at, c.committed_at) FROM list_refs AS r
             LEFT JOIN list_commits AS c ON c.project = r.project AND c.sha = r.sha
             WHERE r.kind = ?1 AND (?2 IS NULL OR r.project IN (SELECT value FROM json_each(?2)))",
        )?;
        let mut rows = statement.query(params![self.kind.as_str(), reader.projects_among(&self.projects)])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let found = RefKey { project: row.get(0)?, name: row.get(1)? };
            if short::has_part(&found.name, self.text.as_ref()) {
                let order = match self.order {
                    RefOrder::Name => Key::Text(found.name.clone()),
                    RefOrder::Date => Key::Number(row.get::<_, Option<i64>>(2)?.unwrap_or(i64::MIN)),
                };
                all.push((Cursor { order, project: found.project.clone(), key: Key::Text(found.name.clone()) }, found));
            }
        }
        short::page(all, self.direction, request, Ok)
    }
}
