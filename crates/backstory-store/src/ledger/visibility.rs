//! Visibility in the ledger: a handle shows rows of the projects that it may show, and confidential ones only if it may.
//! All else follows from the project of an item and from the mark that it gets when it is fetched.

use std::collections::BTreeSet;

use backstory_model::{
    entity::ItemKind,
    id::ThreadId,
    visibility::{ProjectSet, Visibility},
};
use rusqlite::{TransactionBehavior, params};

use super::{Ledger, LedgerError, to_i64};

/// How much of a project is confidential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConfidentialCounts {
    /// Confidential issues.
    pub issues: u64,
    /// Internal discussions of what is not confidential itself.
    pub discussions: u64,
}

impl Ledger {
    /// Returns a handle of the same ledger that shows what a visibility allows.
    #[must_use]
    pub fn with_visibility(&self, visibility: Visibility) -> Self {
        let projects = match visibility.projects() {
            ProjectSet::All => None,
            ProjectSet::Only(projects) => Some(serde_json::json!(projects.as_ref()).to_string().into()),
        };
        Self { visibility, projects, ..self.clone() }
    }

    /// What it shows.
    pub fn visibility(&self) -> &Visibility {
        &self.visibility
    }

    /// What rows with a project and a mark of what is confidential must meet to be visible, as the end of a condition;
    /// `parameter` is the number of the parameter that takes [`visible_projects`](Self::visible_projects).
    pub(super) fn visibility_clause(&self, parameter: u32) -> String {
        format!("{} {}", self.confidential_clause(), project_clause(parameter))
    }

    /// What rows with a mark of what is confidential must meet to be visible, as the end of a condition.
    pub(super) fn confidential_clause(&self) -> &'static str {
        if self.visibility.shows_confidential() { "" } else { "AND NOT confidential" }
    }

    /// The projects that it shows, as a JSON array; `None` for all.
    pub(super) fn visible_projects(&self) -> Option<&str> {
        self.projects.as_deref()
    }

    /// Whether it shows what is not confidential in a project.
    pub(super) fn allows_project(&self, project: &str) -> bool {
        self.visibility.allows_project(project)
    }

    /// Whether it shows what belongs to no single project, such as the records of sync runs.
    pub(super) fn allows_all_projects(&self) -> bool {
        self.visibility.allows_all_projects()
    }

    /// Whether an issue or merge request of a visible project exists and is too confidential to be shown.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn is_hidden(&self, id: &ThreadId) -> Result<bool, LedgerError> {
        if self.visibility.shows_confidential() || !self.allows_project(&id.project) {
            return Ok(false);
        }
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM items INDEXED BY items_confidential
             WHERE confidential AND payload IS NOT NULL AND project = ?1 AND key = ?2)",
        )?;
        Ok(statement.query_row(params![id.project, id.local_reference()], |row| row.get(0))?)
    }

    /// Whether anything of the visible projects is confidential, visible or not.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn has_confidential(&self) -> Result<bool, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT EXISTS (SELECT 1 FROM items INDEXED BY items_confidential
             WHERE confidential AND payload IS NOT NULL {})",
            project_clause(1)
        ))?;
        Ok(statement.query_row([self.visible_projects()], |row| row.get(0))?)
    }

    /// Everything confidential of a project but people, as keys.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn confidential_items(&self, project: &str) -> Result<Vec<(ItemKind, String)>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(
            "SELECT kind, key FROM items INDEXED BY items_confidential
             WHERE confidential AND payload IS NOT NULL AND project = ?1 AND kind <> 'person' ORDER BY kind, key",
        )?;
        let rows = statement.query_map([project], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let rows: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
        Ok(rows.into_iter().filter_map(|(kind, key)| Some((ItemKind::from_name(&kind)?, key))).collect())
    }

    /// How much of a project is confidential, as far as it is visible.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn confidential(&self, project: &str) -> Result<ConfidentialCounts, LedgerError> {
        if !self.visibility.allows(project, true) {
            return Ok(ConfidentialCounts::default());
        }
        let items = self.confidential_items(project)?;
        let issues: BTreeSet<&str> =
            items.iter().filter(|(kind, _)| *kind == ItemKind::Issue).map(|(_, key)| key.as_str()).collect();
        let is_internal = |(kind, key): &&(ItemKind, String)| {
            let thread = key.split_once('~').map_or("", |(thread, _)| thread);
            *kind == ItemKind::Discussion && !issues.contains(thread)
        };
        Ok(ConfidentialCounts {
            issues: issues.len() as u64,
            discussions: items.iter().filter(is_internal).count() as u64,
        })
    }

    /// Hides these profiles of people, by project and key, and shows all others, but for those that changed after a
    /// sequence number. A profile that changes gets the next one. Returns how many did.
    ///
    /// # Errors
    /// Nothing is changed.
    pub fn replace_hidden_people(
        &self,
        hidden: &BTreeSet<(String, String)>,
        through_seq: u64,
    ) -> Result<u64, LedgerError> {
        let mut connection = self.write()?;
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let people: Vec<((String, String), bool)> = tx
            .prepare(
                "SELECT project, key, confidential FROM items
                 WHERE kind = 'person' AND payload IS NOT NULL AND seq <= ?1",
            )?
            .query_map([to_i64(through_seq)], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?
            .collect::<Result<_, _>>()?;
        let mut changed = 0;
        for (person, is_hidden) in people {
            if hidden.contains(&person) != is_hidden {
                let (project, key) = person;
                changed += tx.execute(
                    "UPDATE items SET confidential = ?3, seq = (SELECT MAX(seq) + 1 FROM items)
                     WHERE project = ?1 AND kind = 'person' AND key = ?2",
                    params![project, key, !is_hidden],
                )? as u64;
            }
        }
        tx.commit()?;
        Ok(changed)
    }

    /// The profiles of people that only some may see, by project and key.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn hidden_people(&self) -> Result<BTreeSet<(String, String)>, LedgerError> {
        let connection = self.read()?;
        let mut statement = connection.prepare_cached(
            "SELECT project, key FROM items INDEXED BY items_confidential
             WHERE confidential AND payload IS NOT NULL AND kind = 'person'",
        )?;
        let people = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(people.collect::<Result<_, _>>()?)
    }
}

/// What rows with a project must meet to be visible, as the end of a condition; `parameter` is the number of the parameter
/// that takes [`Ledger::visible_projects`].
pub(super) fn project_clause(parameter: u32) -> String {
    format!("AND (?{parameter} IS NULL OR project IN (SELECT value FROM json_each(?{parameter})))")
}
