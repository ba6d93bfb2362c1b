//! Lists of files and of code entities at the indexed heads.

use async_graphql::{Context, Enum, InputObject, Result, connection::Connection};
use backstory_engine::lists::{self, EntityQuery, FileQuery};

use super::{
    super::{
        code::{CodeEntity, File},
        names::{DocumentType, EntityKind},
    },
    DateRange, OrderDirection, Paging, Totals, connection, direction, known, range, restrict,
};

/// A page of files.
pub(crate) type FileConnection = Connection<String, File, Totals>;
/// A page of code entities.
pub(crate) type CodeEntityConnection = Connection<String, CodeEntity, Totals>;

/// Which files: those that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct FileFilter {
    /// Full paths of projects: they are of one of them.
    projects: Option<Vec<String>>,
    /// Their paths, or those of directories that they are in.
    paths: Option<Vec<String>>,
    /// Names of programming languages, in any case.
    languages: Option<Vec<String>>,
    /// What they are for.
    document_types: Option<Vec<DocumentType>>,
    /// When they last changed.
    changed: Option<DateRange>,
}

/// What orders files.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::FileOrder")]
pub(crate) enum FileOrderField {
    /// Their paths.
    Path,
    /// How central they are.
    Importance,
    /// Their sizes.
    Bytes,
    /// When they last changed.
    Changed,
}

/// An order of files.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct FileOrder {
    /// What orders them.
    field: FileOrderField,
    /// In which direction; if absent, paths ascend and all else descends.
    direction: Option<OrderDirection>,
}

/// Which code entities: those that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct CodeEntityFilter {
    /// Full paths of projects: they are of one of them.
    projects: Option<Vec<String>>,
    /// Names, with or without what they stand in, in any case.
    names: Option<Vec<String>>,
    /// Kinds.
    kinds: Option<Vec<EntityKind>>,
    /// Paths of files or directories that define them.
    paths: Option<Vec<String>>,
    /// Whether they are tests.
    test: Option<bool>,
}

/// What orders code entities.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::EntityOrder")]
pub(crate) enum CodeEntityOrderField {
    /// Their names, with those of what they stand in.
    Name,
    /// How central they are.
    Importance,
}

/// An order of code entities.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct CodeEntityOrder {
    /// What orders them.
    field: CodeEntityOrderField,
    /// In which direction; if absent, names ascend and importance descends.
    direction: Option<OrderDirection>,
}

/// Requests files, unless otherwise ordered the most central first.
pub(super) fn file_query(filter: Option<FileFilter>, order: Option<FileOrder>) -> FileQuery {
    let filter = filter.unwrap_or_default();
    let field = order.map_or(FileOrderField::Importance, |order| order.field);
    FileQuery {
        projects: filter.projects.unwrap_or_default(),
        paths: filter.paths.unwrap_or_default(),
        languages: filter.languages.unwrap_or_default(),
        document_types: filter.document_types.into_iter().flatten().map(Into::into).collect(),
        changed: range(filter.changed),
        order: field.into(),
        direction: direction(order.and_then(|order| order.direction), field == FileOrderField::Path),
    }
}

/// Requests code entities, unless otherwise ordered the most central first.
pub(super) fn entity_query(filter: Option<CodeEntityFilter>, order: Option<CodeEntityOrder>) -> EntityQuery {
    let filter = filter.unwrap_or_default();
    let field = order.map_or(CodeEntityOrderField::Importance, |order| order.field);
    EntityQuery {
        projects: filter.projects.unwrap_or_default(),
        names: filter.names.unwrap_or_default(),
        kinds: filter.kinds.into_iter().flatten().map(Into::into).collect(),
        paths: filter.paths.unwrap_or_default(),
        test: filter.test,
        order: field.into(),
        direction: direction(order.and_then(|order| order.direction), field == CodeEntityOrderField::Name),
    }
}

/// A page of files, of one project if it is given.
pub(super) async fn files(
    ctx: &Context<'_>,
    mut query: FileQuery,
    project: Option<&str>,
    paging: Paging,
) -> Result<FileConnection> {
    match project {
        Some(project) => restrict(&mut query.projects, "projects", project)?,
        None => query = known(ctx, query).await?,
    }
    let list = format!("files {:?}", query.order);
    let totals = Totals::of(query.clone());
    connection(ctx, &list, query, &paging, totals, |row| File::new(row.project, row.path)).await
}

/// A page of code entities, of one project if it is given.
pub(super) async fn entities(
    ctx: &Context<'_>,
    mut query: EntityQuery,
    project: Option<&str>,
    paging: Paging,
) -> Result<CodeEntityConnection> {
    match project {
        Some(project) => restrict(&mut query.projects, "projects", project)?,
        None => query = known(ctx, query).await?,
    }
    let list = format!("entities {:?}", query.order);
    let totals = Totals::of(query.clone());
    connection(ctx, &list, query, &paging, totals, |row| CodeEntity::new(row.project, row.path, row.name)).await
}
