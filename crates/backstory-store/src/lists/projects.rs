//! Projects: those that a forge told of, and those of which there is a repository only.

use std::collections::BTreeMap;

use backstory_model::entity::Project;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::{
    columns::to_i64,
    entry::{Field, Key, ListKind},
    select::{Cursor, Direction, Page, PageRequest, Reader},
    short,
};
use crate::ledger_error::LedgerError;

/// Requests projects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProjectQuery {
    /// Their full paths; empty for all.
    pub projects: Vec<String>,
    /// Part of a path, name or description, in any case.
    pub text: Option<String>,
    /// Their order.
    pub order: ProjectOrder,
    /// Its direction.
    pub direction: Direction,
}

/// An order of projects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectOrder {
    /// Their full paths.
    #[default]
    Path,
    /// When they were created; those whose time is not known count as the oldest.
    Created,
    /// When one of their issues or merge requests last changed, or a commit was made.
    Updated,
    /// How many issues they have.
    Issues,
    /// How many merge requests they have.
    MergeRequests,
    /// How many commits they have, without merges.
    Commits,
}

/// A project in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectRow {
    /// Its full path.
    pub path: String,
}

/// Replaces the row that a forge's project has, which is deleted if there is none any more.
pub(super) fn write_project(
    connection: &Connection,
    path: &str,
    key: &str,
    project: Option<&Project>,
) -> Result<(), LedgerError> {
    delete(connection, path, key)?;
    if let Some(project) = project {
        let description = project.description.as_deref().unwrap_or_default();
        let created_at = project.created_at.map(|at| at.as_millisecond());
        connection
            .prepare_cached("INSERT INTO list_projects (project, key, text, created_at) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![path, key, format!("{}\n{description}", project.name), created_at])?;
    }
    Ok(())
}

/// Replaces the row that the repository of a project has.
pub(super) fn write_repository(
    connection: &Connection,
    path: &str,
    key: &str,
    is_there: bool,
) -> Result<(), LedgerError> {
    delete(connection, path, key)?;
    if is_there {
        connection
            .prepare_cached("INSERT INTO list_projects (project, key, text) VALUES (?1, ?2, '')")?
            .execute([path, key])?;
    }
    Ok(())
}

fn delete(connection: &Connection, path: &str, key: &str) -> Result<(), LedgerError> {
    connection.prepare_cached("DELETE FROM list_projects WHERE project = ?1 AND key = ?2")?.execute([path, key])?;
    Ok(())
}

impl ProjectQuery {
    /// A page of projects.
    pub(super) fn page(
        &self,
        connection: &Connection,
        request: &PageRequest,
        reader: Reader<'_>,
    ) -> Result<Page<ProjectRow>, LedgerError> {
        let orders = self.orders(connection, reader)?;
        let mut statement = connection.prepare_cached(
            "SELECT project, group_concat(text, char(10)), MAX(created_at) FROM list_projects
             WHERE ?1 IS NULL OR project IN (SELECT value FROM json_each(?1))
             GROUP BY project",
        )?;
        let mut rows = statement.query(params![reader.projects_among(&self.projects)])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let (path, text): (String, String) = (row.get(0)?, row.get(1)?);
            if !short::has_part(&path, self.text.as_ref()) && !short::has_part(&text, self.text.as_ref()) {
                continue;
            }
            let order = match self.order {
                ProjectOrder::Path => Key::Text(path.clone()),
                ProjectOrder::Created => Key::Number(row.get::<_, Option<i64>>(2)?.unwrap_or(i64::MIN)),
                ProjectOrder::Updated => Key::Number(orders.get(&path).copied().unwrap_or(i64::MIN)),
                ProjectOrder::Issues | ProjectOrder::MergeRequests | ProjectOrder::Commits => {
                    Key::Number(orders.get(&path).copied().unwrap_or_default())
                }
            };
            all.push((Cursor { order, project: path.clone(), key: Key::Text(path.clone()) }, ProjectRow { path }));
        }
        short::page(all, self.direction, request, Ok)
    }

    /// What orders each project that has any of it, by path, if other tables have it.
    fn orders(&self, connection: &Connection, reader: Reader<'_>) -> Result<BTreeMap<String, i64>, LedgerError> {
        let list = match self.order {
            ProjectOrder::Path | ProjectOrder::Created => return Ok(BTreeMap::new()),
            ProjectOrder::Updated => return self.updated(connection, reader),
            ProjectOrder::Issues => ListKind::Issue,
            ProjectOrder::MergeRequests => ListKind::MergeRequest,
            ProjectOrder::Commits => ListKind::Commit,
        };
        let counts = short::counts(connection, reader, &self.projects, list, Field::All)?;
        Ok(counts.into_iter().map(|((project, _), count)| (project, to_i64(count))).collect())
    }

    /// When an issue or merge request of each project last changed, or a commit was made, in ms since 1970.
    fn updated(&self, connection: &Connection, reader: Reader<'_>) -> Result<BTreeMap<String, i64>, LedgerError> {
        // Each of them is the last row of a range.
        let mut statement = connection.prepare_cached(
            "SELECT project, MAX(newest) FROM (
                SELECT t.project AS project, (
                    SELECT v.main_order FROM list_values AS v
                    WHERE v.list = t.list AND v.project = t.project AND v.part = t.part AND v.field = '' AND v.value = ''
                        AND (?1 OR NOT v.confidential)
                    ORDER BY v.main_order DESC LIMIT 1) AS newest
                FROM (SELECT DISTINCT list, project, part FROM list_totals
                    WHERE list IN ('issue', 'merge_request', 'commit') AND field = '' AND part <> 'unreachable'
                        AND (?2 IS NULL OR project IN (SELECT value FROM json_each(?2)))) AS t)
             WHERE newest IS NOT NULL
             GROUP BY project",
        )?;
        let bound = params![reader.shows_confidential(), reader.projects_among(&self.projects)];
        let rows = statement.query_map(bound, |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
