//! Files and code entities at the indexed heads as rows.

use std::collections::BTreeSet;

use backstory_model::{
    code::{Entity, EntityKind, FileAnalysis, Lines, TestRole, plain_name},
    document_type::DocumentType,
    filter::DocumentKind,
    id::{NodeId, escape_path},
    repository::{HeadFile, code_key, code_node_id},
};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};

use super::{
    columns::{count, text, time, to_i64},
    entry::{Entry, EntryId, Field, Key, ListKind, path_and_directories},
    select::{Direction, Facet, Flag, Order, Place, Selection, TimeRange},
};
use crate::ledger_error::LedgerError;

/// Requests files at the indexed heads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileQuery {
    /// Full paths of projects; empty for all.
    pub projects: Vec<String>,
    /// Their paths, or those of directories; empty for all.
    pub paths: Vec<String>,
    /// Names of languages, in any case; empty for all.
    pub languages: Vec<String>,
    /// What they are for; empty for all.
    pub document_types: Vec<DocumentType>,
    /// When they last changed.
    pub changed: TimeRange,
    /// Their order.
    pub order: FileOrder,
    /// Its direction.
    pub direction: Direction,
}

/// An order of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileOrder {
    /// Their paths.
    Path,
    /// How central they are.
    #[default]
    Importance,
    /// Their sizes.
    Bytes,
    /// When they last changed.
    Changed,
}

/// A file at an indexed head in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRow {
    /// Full path of its project.
    pub project: String,
    /// Its path.
    pub path: String,
    /// Name of its language, if it is source code.
    pub language: Option<String>,
    /// What it is for.
    pub document_type: DocumentType,
    /// Bytes of its content.
    pub bytes: u64,
    /// Its lines; `None` if its content is left out.
    pub lines: Option<u64>,
    /// When it last changed.
    pub changed_at: Timestamp,
    /// PageRank in millionths; 0 unless it is among the most central.
    pub importance: u64,
}

/// Requests code entities at the indexed heads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EntityQuery {
    /// Full paths of projects; empty for all.
    pub projects: Vec<String>,
    /// Names, qualified or not, in any case; empty for all.
    pub names: Vec<String>,
    /// Names in plain spelling, without what they stand in, as [`plain_name`] writes them; empty for all.
    pub spellings: Vec<String>,
    /// Kinds; empty for all.
    pub kinds: Vec<EntityKind>,
    /// Paths of files or directories that define them; empty for all.
    pub paths: Vec<String>,
    /// Whether they are tests.
    pub test: Option<bool>,
    /// Their order.
    pub order: EntityOrder,
    /// Its direction.
    pub direction: Direction,
}

/// An order of code entities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityOrder {
    /// Their qualified names.
    Name,
    /// How central they are.
    #[default]
    Importance,
}

/// A code entity at an indexed head in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityRow {
    /// Full path of its project.
    pub project: String,
    /// Path of its file.
    pub path: String,
    /// Its qualified name.
    pub name: String,
    /// Its name as written.
    pub short_name: String,
    /// Its kind, `type_alias`.
    pub kind: String,
    /// Whether it is a test.
    pub is_test: bool,
    /// Its lines.
    pub lines: Lines,
    /// PageRank in millionths; 0 unless it is among the most central.
    pub importance: u64,
}

/// How much of a programming language a project has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanguageRow {
    /// Its name.
    pub language: String,
    /// Files in it.
    pub files: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Lines of these whose content is read.
    pub lines: u64,
}

impl LanguageRow {
    pub(super) fn of_project(connection: &Connection, project: &str) -> Result<Vec<Self>, LedgerError> {
        let mut statement = connection.prepare_cached(
            "SELECT language, COUNT(*), SUM(bytes), COALESCE(SUM(line_count), 0) FROM list_files
             WHERE project = ?1 AND language IS NOT NULL
             GROUP BY language ORDER BY SUM(bytes) DESC, language",
        )?;
        let rows = statement.query_map([project], |row| {
            Ok(Self { language: row.get(0)?, files: count(row, 1)?, bytes: count(row, 2)?, lines: count(row, 3)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl FileRow {
    pub(super) fn find(connection: &Connection, project: &str, path: &Key) -> Result<Option<Self>, LedgerError> {
        let mut statement = connection.prepare_cached(
            "SELECT project, path, language, document_type, bytes, line_count, changed_at, importance FROM list_files
             WHERE project = ?1 AND path = ?2",
        )?;
        Ok(statement.query_row(params![project, path], Self::read).optional()?)
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let document_type = text(row, 3)?;
        Ok(Self {
            project: row.get(0)?,
            path: row.get(1)?,
            language: row.get(2)?,
            document_type: DocumentType::ALL
                .into_iter()
                .find(|own| own.as_str() == document_type)
                .unwrap_or(DocumentType::Code),
            bytes: count(row, 4)?,
            lines: row.get::<_, Option<i64>>(5)?.map(i64::unsigned_abs),
            changed_at: time(row, 6)?,
            importance: count(row, 7)?,
        })
    }

    pub(super) fn entry(&self) -> Entry {
        let mut values = BTreeSet::from([(Field::DocumentType, self.document_type.as_str().to_owned())]);
        values.extend(self.language.iter().map(|language| (Field::Language, language.clone())));
        values.extend(path_and_directories(&self.path).map(|path| (Field::Path, path.to_owned())));
        Entry {
            part: "",
            confidential: false,
            main_order: Key::Text(self.path.clone()),
            other_order: Some(Key::Number(to_i64(self.importance))),
            values,
            orders: vec![(Field::ByBytes, to_i64(self.bytes)), (Field::ByChanged, self.changed_at.as_millisecond())],
            days: Vec::new(),
        }
    }
}

impl EntityRow {
    pub(super) fn find(connection: &Connection, project: &str, code: &Key) -> Result<Option<Self>, LedgerError> {
        let mut statement = connection.prepare_cached(
            "SELECT project, path, name, short_name, kind, is_test, first_line, last_line, importance FROM list_entities
             WHERE project = ?1 AND code = ?2",
        )?;
        Ok(statement.query_row(params![project, code], Self::read).optional()?)
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            project: row.get(0)?,
            path: row.get(1)?,
            name: row.get(2)?,
            short_name: row.get(3)?,
            kind: row.get(4)?,
            is_test: row.get(5)?,
            lines: Lines::new(row.get(6)?, row.get(7)?),
            importance: count(row, 8)?,
        })
    }

    pub(super) fn entry(&self) -> Entry {
        let mut values = BTreeSet::from([(Field::Kind, self.kind.clone())]);
        values.extend([&self.name, &self.short_name].map(|name| (Field::Name, name.clone())));
        values.insert((Field::Spelling, plain_name(&self.name)));
        values.extend(path_and_directories(&self.path).map(|path| (Field::Path, path.to_owned())));
        if self.is_test {
            values.insert((Field::Is, TEST.to_owned()));
        }
        Entry {
            part: "",
            confidential: false,
            main_order: Key::Text(self.name.clone()),
            other_order: Some(Key::Number(to_i64(self.importance))),
            values,
            orders: Vec::new(),
            days: Vec::new(),
        }
    }
}

/// The flag of entities that are tests.
const TEST: &str = "test";

pub(super) fn file_id(project: &str, path: &str) -> EntryId {
    EntryId { list: ListKind::File, project: project.to_owned(), key: Key::Text(path.to_owned()) }
}

fn entity_id(project: &str, code: String) -> EntryId {
    EntryId { list: ListKind::Entity, project: project.to_owned(), key: Key::Text(code) }
}

/// The entities that a file defines.
pub(super) fn entity_ids(project: &str, file: &HeadFile) -> Vec<EntryId> {
    let code = file.analysis.as_ref().and_then(FileAnalysis::code);
    let entities = code.into_iter().flat_map(|code| &code.entities);
    entities.map(|entity| entity_id(project, code_key(file.path.as_str(), Some(&entity.qualified_name)))).collect()
}

/// The file or entity of that name in a ranking.
pub(super) fn ranked_id(project: &str, code: &str) -> EntryId {
    match code_node_id(project, code) {
        NodeId::File { path, .. } => file_id(project, &path),
        _ => entity_id(project, code.to_owned()),
    }
}

/// The entities of a file that are stored.
pub(super) fn entities_of(connection: &Connection, project: &str, path: &str) -> Result<Vec<EntryId>, LedgerError> {
    let mut statement = connection.prepare_cached(
        "SELECT code FROM list_entities INDEXED BY list_entities_path WHERE project = ?1 AND path = ?2",
    )?;
    let codes = statement.query_map([project, path], |row| row.get(0))?;
    codes.map(|code| Ok(entity_id(project, code?))).collect()
}

/// Deletes a file and its entities.
pub(super) fn delete(connection: &Connection, project: &str, path: &str) -> Result<(), LedgerError> {
    connection.prepare_cached("DELETE FROM list_files WHERE project = ?1 AND path = ?2")?.execute([project, path])?;
    connection
        .prepare_cached("DELETE FROM list_entities INDEXED BY list_entities_path WHERE project = ?1 AND path = ?2")?
        .execute([project, path])?;
    Ok(())
}

/// Writes a file and its entities, with their ranks.
pub(super) fn write(connection: &Connection, project: &str, file: &HeadFile) -> Result<(), LedgerError> {
    let path = file.path.as_str();
    let code = file.analysis.as_ref().and_then(FileAnalysis::code);
    connection
        .prepare_cached(
            "INSERT INTO list_files (project, path, language, document_type, bytes, line_count, changed_at, importance)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
                COALESCE((SELECT importance FROM list_ranks WHERE project = ?1 AND code = ?8), 0))",
        )?
        .execute(params![
            project,
            path,
            code.map(|code| code.language.name()),
            DocumentType::classify(DocumentKind::File, Some(path)).as_str(),
            to_i64(file.bytes),
            file.analysis.as_ref().map(|analysis| analysis.line_count),
            file.changed_at.as_millisecond(),
            escape_path(path),
        ])?;
    for entity in code.iter().flat_map(|code| &code.entities) {
        write_entity(connection, project, path, entity)?;
    }
    Ok(())
}

fn write_entity(connection: &Connection, project: &str, path: &str, entity: &Entity) -> Result<(), LedgerError> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO list_entities
                (project, code, path, name, short_name, spelling, kind, is_test, first_line, last_line, importance)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
                COALESCE((SELECT importance FROM list_ranks WHERE project = ?1 AND code = ?2), 0))",
        )?
        .execute(params![
            project,
            code_key(path, Some(&entity.qualified_name)),
            path,
            entity.qualified_name,
            entity.name,
            plain_name(&entity.qualified_name),
            entity.kind.as_str(),
            entity.test == TestRole::Test,
            entity.lines.first,
            entity.lines.last,
        ])?;
    Ok(())
}

/// Computes the importance of a file or entity.
pub(super) fn derive(connection: &Connection, id: &EntryId) -> Result<(), LedgerError> {
    let Key::Text(key) = &id.key else { return Ok(()) };
    let code = if id.list == ListKind::File { escape_path(key) } else { key.clone() };
    let update = if id.list == ListKind::File {
        "UPDATE list_files SET importance = COALESCE(
            (SELECT importance FROM list_ranks WHERE project = ?1 AND code = ?3), 0)
         WHERE project = ?1 AND path = ?2"
    } else {
        "UPDATE list_entities SET importance = COALESCE(
            (SELECT importance FROM list_ranks WHERE project = ?1 AND code = ?3), 0)
         WHERE project = ?1 AND code = ?2"
    };
    connection.prepare_cached(update)?.execute(params![id.project, key, code])?;
    Ok(())
}

impl FileQuery {
    pub(super) fn selection(&self) -> Selection {
        let types: Vec<String> = self.document_types.iter().map(|of| of.as_str().to_owned()).collect();
        let facets = [
            Facet::any_of_several(Field::Path, &self.paths, is_within!("t.path")).map(Facet::exact),
            Facet::any(
                Field::Language,
                &self.languages,
                "t.language COLLATE NOCASE IN (SELECT value FROM json_each(?))",
            ),
            Facet::any(Field::DocumentType, &types, "t.document_type IN (SELECT value FROM json_each(?))"),
        ];
        Selection {
            list: ListKind::File,
            projects: self.projects.clone(),
            parts: Vec::new(),
            facets: facets.into_iter().flatten().collect(),
            flags: Vec::new(),
            conditions: Vec::new(),
            ranges: vec![(Place::Row, "t.changed_at", self.changed)],
            order: match self.order {
                FileOrder::Path => Order::Main,
                FileOrder::Importance => Order::Other,
                FileOrder::Bytes => Order::Field(Field::ByBytes, "t.bytes"),
                FileOrder::Changed => Order::Field(Field::ByChanged, "t.changed_at"),
            },
            direction: self.direction,
        }
    }
}

impl EntityQuery {
    pub(super) fn selection(&self) -> Selection {
        let kinds: Vec<String> = self.kinds.iter().map(|kind| kind.as_str().to_owned()).collect();
        let facets = [
            Facet::any_of_several(
                Field::Name,
                &self.names,
                "EXISTS (SELECT 1 FROM json_each(?) AS wanted
                    WHERE wanted.value = t.name COLLATE NOCASE OR wanted.value = t.short_name COLLATE NOCASE)",
            ),
            Facet::any(Field::Spelling, &self.spellings, "t.spelling IN (SELECT value FROM json_each(?))")
                .map(Facet::exact),
            Facet::any(Field::Kind, &kinds, "t.kind IN (SELECT value FROM json_each(?))"),
            Facet::any_of_several(Field::Path, &self.paths, is_within!("t.path")).map(Facet::exact),
        ];
        Selection {
            list: ListKind::Entity,
            projects: self.projects.clone(),
            parts: Vec::new(),
            facets: facets.into_iter().flatten().collect(),
            flags: Flag::new(TEST, "t.is_test", "NOT t.is_test", self.test).into_iter().collect(),
            conditions: Vec::new(),
            ranges: Vec::new(),
            order: match self.order {
                EntityOrder::Name => Order::Main,
                EntityOrder::Importance => Order::Other,
            },
            direction: self.direction,
        }
    }
}
