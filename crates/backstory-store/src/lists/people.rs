//! People: users of forges and identities of commits, merged as the ledger says. What they did is counted in
//! `list_totals`.

use std::collections::{BTreeMap, BTreeSet};

use backstory_model::{
    entity::{ItemKind, Person},
    filter::is_same_name,
    repository::CommitIdentity,
};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use super::{
    columns::{names, names_to_json, text, to_i64},
    entry::{Field, Key, ListKind},
    select::{Cursor, Direction, Page, PageRequest, Reader},
    short,
};
use crate::ledger_error::LedgerError;

/// Requests people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PersonQuery {
    /// Full paths of projects that mention them; empty for all.
    pub projects: Vec<String>,
    /// Part of a user name, address or name, in any case; everybody has none.
    pub text: Option<String>,
    /// Their order.
    pub order: PersonOrder,
    /// Its direction.
    pub direction: Direction,
}

/// An order of people. What is counted is what [`PersonRow`] counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonOrder {
    /// Their user names or addresses.
    #[default]
    Name,
    /// How many issues they opened.
    Issues,
    /// How many merge requests they opened.
    MergeRequests,
    /// How many merge requests they reviewed or were asked to review.
    Reviews,
    /// How many discussions they started.
    Discussions,
    /// How many commits they wrote.
    Commits,
}

impl PersonOrder {
    fn counted(self) -> Option<(ListKind, Field)> {
        match self {
            Self::Name => None,
            Self::Issues => Some((ListKind::Issue, Field::Author)),
            Self::MergeRequests => Some((ListKind::MergeRequest, Field::Author)),
            Self::Reviews => Some((ListKind::MergeRequest, Field::Reviewer)),
            Self::Discussions => Some((ListKind::Discussion, Field::Author)),
            Self::Commits => Some((ListKind::Commit, Field::Author)),
        }
    }
}

/// A page of people.
pub type PersonPage = Page<PersonRow>;

/// A person in a list, with what they did in the projects that were requested and are visible.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonRow {
    /// User name, or the key of an identity of commits.
    pub person: String,
    /// Their user names, sorted.
    pub accounts: Vec<String>,
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

impl PersonRow {
    /// Whether anything names them.
    fn is_known(&self) -> bool {
        let counts = [self.issues, self.merge_requests, self.reviews, self.discussions, self.commits];
        !self.names.is_empty() || !self.identities.is_empty() || counts.iter().any(|count| *count > 0)
    }
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

/// The person of a name, in any case, with what they did in some projects, or in all visible ones.
pub(super) fn find(
    connection: &Connection,
    reader: Reader<'_>,
    name: &str,
    projects: &[String],
) -> Result<Option<PersonRow>, LedgerError> {
    let person = person_of(connection, reader, name)?.unwrap_or_else(|| name.to_owned());
    let query = PersonQuery { projects: projects.to_vec(), ..PersonQuery::default() };
    let row = query.row(connection, reader, person)?;
    Ok(Some(row).filter(PersonRow::is_known))
}

/// The person whom a user name or the key of an identity means, in any case, with what they did in some
/// projects, or in all visible ones; `None` if nobody is known by it.
pub(super) fn find_among(
    connection: &Connection,
    reader: Reader<'_>,
    name: &str,
    projects: &[String],
) -> Result<Option<PersonRow>, LedgerError> {
    let person = person_of(connection, reader, name)?.unwrap_or_else(|| name.to_owned());
    let Some(written) = as_written(connection, reader, &person, projects)? else { return Ok(None) };
    let query = PersonQuery { projects: projects.to_vec(), ..PersonQuery::default() };
    Ok(Some(query.row(connection, reader, written)?))
}

/// Whom a user name, the key of an identity or a whole name means, in any case, as it is written; `None` if nobody is known by
/// it, or several people have the name.
pub(super) fn resolve(connection: &Connection, reader: Reader<'_>, name: &str) -> Result<Option<String>, LedgerError> {
    if let Some(person) = person_of(connection, reader, name)? {
        return Ok(Some(person));
    }
    if let Some(person) = as_written(connection, reader, name, &[])? {
        return Ok(Some(person));
    }
    // Of some users nothing was read but their user name.
    if is_user_name(connection, reader, name)? {
        return Ok(None);
    }
    let mut found = people_called(connection, reader, name)?;
    let only = found.pop_first().map(|(_, person)| person);
    Ok(only.filter(|_| found.is_empty()))
}

/// A person of a list as the forge writes the name.
fn as_written(
    connection: &Connection,
    reader: Reader<'_>,
    person: &str,
    projects: &[String],
) -> Result<Option<String>, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT person FROM list_people INDEXED BY list_people_person
         WHERE person = ?1 AND (?2 OR NOT confidential)
            AND (?3 IS NULL OR project IN (SELECT value FROM json_each(?3)))
         ORDER BY project, kind, key LIMIT 1",
    )?;
    let shown = reader.projects_among(projects);
    Ok(statement.query_row(params![person, reader.shows_confidential(), shown], |row| row.get(0)).optional()?)
}

/// Whether a thread or discussion names somebody by a user name.
fn is_user_name(connection: &Connection, reader: Reader<'_>, name: &str) -> Result<bool, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM list_totals INDEXED BY list_totals_value
         WHERE list IN ('issue', 'merge_request', 'discussion')
            AND field IN ('author', 'assignee', 'reviewer', 'approver', 'participant', 'mentioned')
            AND value = ?1 COLLATE NOCASE AND (?2 OR NOT confidential)
            AND (?3 IS NULL OR project IN (SELECT value FROM json_each(?3)))
         LIMIT 1",
    )?;
    Ok(statement.exists(params![name, reader.shows_confidential(), reader.projects_among(&[])])?)
}

/// Everybody who has a whole name, in any case, each by the person in lower case.
fn people_called(
    connection: &Connection,
    reader: Reader<'_>,
    name: &str,
) -> Result<BTreeMap<String, String>, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT person, same_as, names FROM list_people
         WHERE (?1 OR NOT confidential) AND (?2 IS NULL OR project IN (SELECT value FROM json_each(?2)))
         ORDER BY project, kind, key",
    )?;
    let mut rows = statement.query(params![reader.shows_confidential(), reader.projects_among(&[])])?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        if !names(row, 2)?.iter().any(|own| is_same_name(own, name)) {
            continue;
        }
        let (key, same_as): (String, Option<String>) = (row.get(0)?, row.get(1)?);
        // One project may know whose an address is, and another not.
        let person = match same_as {
            Some(person) => person,
            None => person_of(connection, reader, &key)?.unwrap_or(key),
        };
        found.entry(person.to_ascii_lowercase()).or_insert(person);
    }
    Ok(found)
}

/// What is known of a key of a person.
#[derive(Default)]
struct Named {
    /// As it is written.
    key: String,
    same_as: Option<String>,
    /// Whether the text that is asked for is a part of it or of a name.
    fits: bool,
}

impl PersonQuery {
    /// A page of people. It takes time that grows with how many people there are, not with what they did.
    pub(super) fn page(
        &self,
        connection: &Connection,
        request: &PageRequest,
        reader: Reader<'_>,
    ) -> Result<PersonPage, LedgerError> {
        let people = self.people(connection, reader)?;
        short::page(people, self.direction, request, |person| self.row(connection, reader, person))
    }

    /// All people with their places in the order, in no particular one.
    fn people(&self, connection: &Connection, reader: Reader<'_>) -> Result<Vec<(Cursor, String)>, LedgerError> {
        let named = self.names(connection, reader)?;
        let mut people: BTreeMap<&str, u64> = BTreeMap::new();
        for (key, own) in &named {
            let person = own.same_as.as_deref().unwrap_or(key);
            if own.fits {
                people.insert(person, 0);
            }
        }
        if let Some((list, field)) = self.order.counted() {
            for ((_, key), count) in short::counts(connection, reader, &self.projects, list, field)? {
                let key = key.to_ascii_lowercase();
                let person = named.get(&key).and_then(|own| own.same_as.as_deref()).unwrap_or(&key);
                if let Some(sum) = people.get_mut(person) {
                    *sum += count;
                }
            }
        }
        let place = |(person, count): (&str, u64)| {
            let spelling = named.get(person).map_or(person, |own| &own.key).to_owned();
            let order = match self.order {
                PersonOrder::Name => Key::Text(person.to_owned()),
                _ => Key::Number(to_i64(count)),
            };
            (Cursor { order, project: String::new(), key: Key::Text(spelling.clone()) }, spelling)
        };
        Ok(people.into_iter().map(place).collect())
    }

    /// What is known of each key, by the key in lower case.
    fn names(&self, connection: &Connection, reader: Reader<'_>) -> Result<BTreeMap<String, Named>, LedgerError> {
        let wanted = self.text.as_ref().map(|text| text.to_lowercase());
        let mut statement = connection.prepare_cached(
            "SELECT person, same_as, names FROM list_people
             WHERE (?1 OR NOT confidential) AND (?2 IS NULL OR project IN (SELECT value FROM json_each(?2)))
             ORDER BY project, kind, key",
        )?;
        let bound = params![reader.shows_confidential(), reader.projects_among(&self.projects)];
        let mut rows = statement.query(bound)?;
        let mut named: BTreeMap<String, Named> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let key: String = row.get(0)?;
            let own = named.entry(key.to_ascii_lowercase()).or_default();
            let text: String = row.get(2)?;
            let has = |part: &String| key.to_lowercase().contains(part) || text.to_lowercase().contains(part);
            own.fits |= wanted.as_ref().is_none_or(has);
            if own.same_as.is_none() {
                own.same_as = row.get::<_, Option<String>>(1)?.map(|person| person.to_ascii_lowercase());
            }
            if own.key.is_empty() {
                own.key = key;
            }
        }
        Ok(named)
    }

    fn row(&self, connection: &Connection, reader: Reader<'_>, person: String) -> Result<PersonRow, LedgerError> {
        let (mut identities, mut accounts, mut known) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut statement = connection.prepare_cached(
            "SELECT person, names, kind FROM list_people
             WHERE (person = ?1 OR same_as = ?1) AND (?2 OR NOT confidential)
                AND (?3 IS NULL OR project IN (SELECT value FROM json_each(?3)))",
        )?;
        let projects = reader.projects_among(&self.projects);
        let mut rows = statement.query(params![person, reader.shows_confidential(), projects])?;
        while let Some(row) = rows.next()? {
            known.extend(names(row, 1)?);
            let of_kind = if text(row, 2)? == ItemKind::Identity.as_str() { &mut identities } else { &mut accounts };
            of_kind.insert(row.get::<_, String>(0)?);
        }
        // As it is written, whatever case was asked for.
        let own = accounts.iter().chain(&identities).find(|own| own.eq_ignore_ascii_case(&person));
        let person = own.cloned().unwrap_or(person);
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
            accounts: accounts.into_iter().collect(),
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
