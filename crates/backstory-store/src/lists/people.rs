//! People: users of forges and identities of commits, merged as the ledger says. What they did is counted in
//! `list_totals`.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    entity::{ItemKind, Person},
    repository::CommitIdentity,
};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::{
    columns::{names, names_to_json, text},
    entry::{Field, ListKind},
    select::{MAX_COUNTED, MAX_PAGE, Reader, Total},
};
use crate::ledger_error::LedgerError;

/// People that are read at once.
const BATCH: i64 = 200;

/// Requests people, ordered by their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PersonQuery {
    /// Full paths of projects that mention them; empty for all.
    pub projects: Vec<String>,
    /// Most of them, at most [`MAX_PAGE`].
    pub first: usize,
    /// Key of the last one of the page before.
    pub after: Option<String>,
    /// Whether to count all of them.
    pub with_total: bool,
}

/// A page of people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonPage {
    /// People, in order.
    pub rows: Vec<PersonRow>,
    /// Where the next page begins; `None` on the last page.
    pub next: Option<String>,
    /// How many there are, if that was requested.
    pub total: Option<Total>,
}

/// A person in a list, with what they did in the projects that were requested and are visible.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonRow {
    /// User name, or the key of an identity of commits.
    pub person: String,
    /// Keys of their identities, sorted.
    pub identities: Vec<String>,
    /// Names that they are known by, sorted.
    pub names: Vec<String>,
    /// Issues that they opened.
    pub issues: u64,
    /// Merge requests that they opened.
    pub merge_requests: u64,
    /// Merge requests that they reviewed or were asked to review.
    pub reviews: u64,
    /// Discussions that they started.
    pub discussions: u64,
    /// Commits that they wrote, without merges.
    pub commits: u64,
}

/// What is counted of a person.
const COUNTED: [(ListKind, Field); 5] = [
    (ListKind::Issue, Field::Author),
    (ListKind::MergeRequest, Field::Author),
    (ListKind::MergeRequest, Field::Reviewer),
    (ListKind::Discussion, Field::Author),
    (ListKind::Commit, Field::Author),
];

pub(super) fn delete(connection: &Connection, project: &str, kind: ItemKind, key: &str) -> Result<(), LedgerError> {
    connection.prepare_cached("DELETE FROM list_people WHERE project = ?1 AND kind = ?2 AND key = ?3")?.execute([
        project,
        kind.as_str(),
        key,
    ])?;
    Ok(())
}

/// Writes a user of a forge.
pub(super) fn write_person(
    connection: &Connection,
    project: &str,
    key: &str,
    person: &Person,
    confidential: bool,
) -> Result<(), LedgerError> {
    let names = names_to_json([&person.name]);
    connection
        .prepare_cached(
            "INSERT INTO list_people (project, kind, key, person, names, confidential)
             VALUES (?1, 'person', ?2, ?3, ?4, ?5)",
        )?
        .execute(params![project, key, person.username, names, confidential])?;
    Ok(())
}

/// Writes an identity of commits.
pub(super) fn write_identity(
    connection: &Connection,
    project: &str,
    identity: &CommitIdentity,
    confidential: bool,
) -> Result<(), LedgerError> {
    connection
        .prepare_cached(
            "INSERT INTO list_people (project, kind, key, person, same_as, names, confidential)
             VALUES (?1, 'identity', ?2, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![project, identity.key, identity.same_as, names_to_json(&identity.names), confidential])?;
    Ok(())
}

/// All keys by which commits and threads name a person who is named by one of them, in any case.
pub(super) fn keys(connection: &Connection, reader: Reader<'_>, name: &str) -> Result<Vec<String>, LedgerError> {
    let person = person_of(connection, reader, name)?.unwrap_or_else(|| name.to_owned());
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT person FROM list_people INDEXED BY list_people_same_as
         WHERE same_as = ?1 AND (?2 OR NOT confidential)
            AND (?3 IS NULL OR project IN (SELECT value FROM json_each(?3)))
         ORDER BY person",
    )?;
    let bound = params![person, reader.shows_confidential(), reader.projects_among(&[])];
    let mut keys: Vec<String> = statement.query_map(bound, |row| row.get(0))?.collect::<Result<_, _>>()?;
    keys.insert(0, person);
    Ok(keys)
}

/// The person that an identity belongs to; if projects do not agree, the first project's.
pub(super) fn person_of(connection: &Connection, reader: Reader<'_>, key: &str) -> Result<Option<String>, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT same_as FROM list_people INDEXED BY list_people_person
         WHERE person = ?1 AND same_as IS NOT NULL AND (?2 OR NOT confidential)
            AND (?3 IS NULL OR project IN (SELECT value FROM json_each(?3)))
         ORDER BY project, kind, key LIMIT 1",
    )?;
    let mut rows = statement.query(params![key, reader.shows_confidential(), reader.projects_among(&[])])?;
    Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
}

impl PersonQuery {
    /// A page of people.
    pub(super) fn page(&self, connection: &Connection, reader: Reader<'_>) -> Result<PersonPage, LedgerError> {
        let first = self.first.min(MAX_PAGE);
        let mut page = PersonPage::default();
        self.for_each(connection, reader, self.after.as_deref(), |person| {
            if page.rows.len() == first {
                page.next = page.rows.last().map(|last: &PersonRow| last.person.clone());
                return false;
            }
            page.rows.push(person);
            true
        })?;
        if self.with_total {
            let mut total = Total::default();
            self.for_each(connection, reader, None, |_| {
                total.at_least = total.count == MAX_COUNTED;
                total.count += u64::from(!total.at_least);
                !total.at_least
            })?;
            page.total = Some(total);
        }
        Ok(page)
    }

    /// Shows people after a key, in order, until `show` has seen enough.
    fn for_each(
        &self,
        connection: &Connection,
        reader: Reader<'_>,
        after: Option<&str>,
        mut show: impl FnMut(PersonRow) -> bool,
    ) -> Result<(), LedgerError> {
        let projects = reader.projects_among(&self.projects);
        let mut statement = connection.prepare_cached(
            "SELECT DISTINCT person FROM list_people AS p INDEXED BY list_people_person
             WHERE person > ?1 AND (?2 OR NOT confidential)
                AND (?3 IS NULL OR project IN (SELECT value FROM json_each(?3)))
                AND NOT EXISTS (
                    SELECT 1 FROM list_people AS own INDEXED BY list_people_person
                    WHERE own.person = p.person AND own.same_as IS NOT NULL AND (?2 OR NOT own.confidential)
                        AND (?3 IS NULL OR own.project IN (SELECT value FROM json_each(?3))))
             ORDER BY person LIMIT ?4",
        )?;
        let mut after = after.unwrap_or_default().to_owned();
        loop {
            let bound = params![after, reader.shows_confidential(), projects, BATCH];
            let batch: Vec<String> = statement.query_map(bound, |row| row.get(0))?.collect::<Result<_, _>>()?;
            let Some(last) = batch.last() else { return Ok(()) };
            after.clone_from(last);
            for person in batch {
                if !show(self.row(connection, reader, person)?) {
                    return Ok(());
                }
            }
        }
    }

    fn row(&self, connection: &Connection, reader: Reader<'_>, person: String) -> Result<PersonRow, LedgerError> {
        let (mut identities, mut known) = (BTreeSet::new(), BTreeSet::new());
        let mut statement = connection.prepare_cached(
            "SELECT person, names, kind FROM list_people
             WHERE (person = ?1 OR same_as = ?1) AND (?2 OR NOT confidential)
                AND (?3 IS NULL OR project IN (SELECT value FROM json_each(?3)))",
        )?;
        let projects = reader.projects_among(&self.projects);
        let mut rows = statement.query(params![person, reader.shows_confidential(), projects])?;
        while let Some(row) = rows.next()? {
            known.extend(names(row, 1)?);
            if text(row, 2)? == ItemKind::Identity.as_str() {
                identities.insert(row.get::<_, String>(0)?);
            }
        }
        let keys: BTreeSet<&str> = identities.iter().map(String::as_str).chain([person.as_str()]).collect();
        let mut counts: BTreeMap<(ListKind, Field), u64> = BTreeMap::new();
        for (list, field) in COUNTED {
            for key in &keys {
                *counts.entry((list, field)).or_default() += self.count(connection, reader, list, field, key)?;
            }
        }
        let of = |list, field| counts.get(&(list, field)).copied().unwrap_or(0);
        Ok(PersonRow {
            issues: of(ListKind::Issue, Field::Author),
            merge_requests: of(ListKind::MergeRequest, Field::Author),
            reviews: of(ListKind::MergeRequest, Field::Reviewer),
            discussions: of(ListKind::Discussion, Field::Author),
            commits: of(ListKind::Commit, Field::Author),
            identities: identities.into_iter().collect(),
            names: known.into_iter().collect(),
            person,
        })
    }

    fn count(
        &self,
        connection: &Connection,
        reader: Reader<'_>,
        list: ListKind,
        field: Field,
        key: &str,
    ) -> Result<u64, LedgerError> {
        let mut statement = connection.prepare_cached(
            "SELECT project, count FROM list_totals INDEXED BY list_totals_value
             WHERE list = ?1 AND field = ?2 AND value = ?3 COLLATE NOCASE AND (?4 OR NOT confidential)
                AND (list <> 'commit' OR part = 'commit')",
        )?;
        let mut rows = statement.query(params![list.as_str(), field.as_str(), key, reader.shows_confidential()])?;
        let mut sum = 0;
        while let Some(row) = rows.next()? {
            let project: String = row.get(0)?;
            if (self.projects.is_empty() || self.projects.contains(&project)) && reader.shows_project(&project) {
                sum += row.get::<_, i64>(1)?.unsigned_abs();
            }
        }
        Ok(sum)
    }
}
