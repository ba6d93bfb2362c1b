//! Labels and milestones.

use backstory_model::entity::{Label, Milestone, State};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::{
    columns::{count, text, to_i64},
    entry::{Field, Key, ListKind},
    select::{Cursor, Direction, Page, PageRequest, Reader},
    short,
};
use crate::ledger_error::LedgerError;

/// Requests labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabelQuery {
    /// Full paths of projects that list them; empty for all.
    pub projects: Vec<String>,
    /// Part of a name or description, in any case.
    pub text: Option<String>,
    /// Their order.
    pub order: LabelOrder,
    /// Its direction.
    pub direction: Direction,
}

/// An order of labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelOrder {
    /// Their names.
    #[default]
    Name,
    /// How many issues have them.
    Issues,
    /// How many merge requests have them.
    MergeRequests,
}

/// Requests milestones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MilestoneQuery {
    /// Full paths of their projects; empty for all.
    pub projects: Vec<String>,
    /// Part of a title, in any case.
    pub text: Option<String>,
    /// Opened or closed; empty for both.
    pub states: Vec<State>,
    /// Their order.
    pub order: MilestoneOrder,
    /// Its direction.
    pub direction: Direction,
}

/// An order of milestones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MilestoneOrder {
    /// Their numbers.
    #[default]
    Number,
    /// Their titles.
    Title,
    /// How many issues are in them.
    Issues,
    /// How many merge requests are in them.
    MergeRequests,
}

/// A label in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelRow {
    /// Full path of its project.
    pub project: String,
    /// Its name.
    pub name: String,
}

/// A milestone in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MilestoneRow {
    /// Full path of its project.
    pub project: String,
    /// Its number within the project.
    pub iid: u64,
}

/// Replaces the row of a label, which is deleted if there is none any more.
pub(super) fn write_label(
    connection: &Connection,
    project: &str,
    key: &str,
    label: Option<&Label>,
) -> Result<(), LedgerError> {
    connection.prepare_cached("DELETE FROM list_labels WHERE project = ?1 AND key = ?2")?.execute([project, key])?;
    if let Some(label) = label {
        let description = label.description.as_deref().unwrap_or_default();
        connection
            .prepare_cached("INSERT INTO list_labels (project, key, name, description) VALUES (?1, ?2, ?3, ?4)")?
            .execute([project, key, &label.name, description])?;
    }
    Ok(())
}

/// Replaces the row of a milestone, which is deleted if there is none any more.
pub(super) fn write_milestone(
    connection: &Connection,
    project: &str,
    key: &str,
    milestone: Option<&Milestone>,
) -> Result<(), LedgerError> {
    connection
        .prepare_cached("DELETE FROM list_milestones WHERE project = ?1 AND key = ?2")?
        .execute([project, key])?;
    if let Some(milestone) = milestone {
        connection
            .prepare_cached(
                "INSERT INTO list_milestones (project, key, iid, title, closed) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![project, key, to_i64(milestone.iid), milestone.title, milestone.state == "closed"])?;
    }
    Ok(())
}

impl LabelQuery {
    /// A page of labels.
    pub(super) fn page(
        &self,
        connection: &Connection,
        request: &PageRequest,
        reader: Reader<'_>,
    ) -> Result<Page<LabelRow>, LedgerError> {
        let list = match self.order {
            LabelOrder::Name => None,
            LabelOrder::Issues => Some(ListKind::Issue),
            LabelOrder::MergeRequests => Some(ListKind::MergeRequest),
        };
        let counts =
            list.map(|list| short::counts(connection, reader, &self.projects, list, Field::Label)).transpose()?;
        let mut statement = connection.prepare_cached(
            "SELECT project, name, description FROM list_labels
             WHERE ?1 IS NULL OR project IN (SELECT value FROM json_each(?1))",
        )?;
        let mut rows = statement.query(params![reader.projects_among(&self.projects)])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let (found, description) = (LabelRow { project: row.get(0)?, name: row.get(1)? }, text(row, 2)?);
            if short::has_part(&found.name, self.text.as_ref()) || short::has_part(description, self.text.as_ref()) {
                let name = Key::Text(found.name.clone());
                let order =
                    counts.as_ref().map_or(name.clone(), |counts| short::count(counts, &found.project, &found.name));
                all.push((Cursor { order, project: found.project.clone(), key: name }, found));
            }
        }
        short::page(all, self.direction, request, Ok)
    }
}

impl MilestoneQuery {
    /// A page of milestones.
    pub(super) fn page(
        &self,
        connection: &Connection,
        request: &PageRequest,
        reader: Reader<'_>,
    ) -> Result<Page<MilestoneRow>, LedgerError> {
        let list = match self.order {
            MilestoneOrder::Number | MilestoneOrder::Title => None,
            MilestoneOrder::Issues => Some(ListKind::Issue),
            MilestoneOrder::MergeRequests => Some(ListKind::MergeRequest),
        };
        let counts =
            list.map(|list| short::counts(connection, reader, &self.projects, list, Field::Milestone)).transpose()?;
        let mut statement = connection.prepare_cached(
            "SELECT project, iid, title, closed FROM list_milestones
             WHERE ?1 IS NULL OR project IN (SELECT value FROM json_each(?1))",
        )?;
        let mut rows = statement.query(params![reader.projects_among(&self.projects)])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let (found, title) = (MilestoneRow { project: row.get(0)?, iid: count(row, 1)? }, text(row, 2)?);
            let state = if row.get(3)? { State::Closed } else { State::Opened };
            let is_wanted = self.states.is_empty() || self.states.contains(&state);
            if is_wanted && short::has_part(title, self.text.as_ref()) {
                let number = Key::Number(to_i64(found.iid));
                let order = match &counts {
                    Some(counts) => short::count(counts, &found.project, &found.iid.to_string()),
                    None if self.order == MilestoneOrder::Title => Key::Text(title.to_owned()),
                    None => number.clone(),
                };
                all.push((Cursor { order, project: found.project.clone(), key: number }, found));
            }
        }
        short::page(all, self.direction, request, Ok)
    }
}
