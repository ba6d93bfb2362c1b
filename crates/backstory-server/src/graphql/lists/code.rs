//! Lists of files and of code entities at the indexed heads.

use async_graphql::{Context, Enum, InputObject, Object, Result, connection::Connection};
use backstory_engine::lists::{self, EntityGroup, EntityQuery, FileGroup, FileQuery};

use super::{
    super::{
        code::{CodeEntity, File},
        names::{DocumentType, EntityKind},
    },
    DateRange, OrderDirection, Paging, Totals, connection, direction,
    groups::{self, Grouped, Groups},
    known, range, restrict,
};

/// A page of files.
pub(crate) type FileConnection = Connection<String, File, FileTotals>;
/// A page of code entities.
pub(crate) type CodeEntityConnection = Connection<String, CodeEntity, CodeEntityTotals>;

/// Which files a list has: those that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct FileFilter {
    /// Full paths of projects: the files are of one of them. All if absent or empty.
    projects: Option<Vec<String>>,
    /// Paths of files, or of directories that they are in. All if absent or empty.
    paths: Option<Vec<String>>,
    /// Names of programming languages, in any case. All if absent or empty.
    languages: Option<Vec<String>>,
    /// What the files are for. All if absent or empty.
    document_types: Option<Vec<DocumentType>>,
    /// When the files last changed.
    changed: Option<DateRange>,
}

/// What orders files.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::FileOrder")]
pub(crate) enum FileOrderField {
    /// Paths of the files.
    Path,
    /// How central they are.
    Importance,
    /// Sizes of the files in bytes.
    Bytes,
    /// When they last changed.
    Changed,
}

/// An order of files.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct FileOrder {
    /// What orders files.
    field: FileOrderField,
    /// Direction of the order; if absent, paths ascend and all else descends.
    direction: Option<OrderDirection>,
}

/// Which code entities a list has: those that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct CodeEntityFilter {
    /// Full paths of projects: the entities are of one of them. All if absent or empty.
    projects: Option<Vec<String>>,
    /// Names of entities, qualified or not, in any case. All if absent or empty.
    names: Option<Vec<String>>,
    /// Kinds of entities. All if absent or empty.
    kinds: Option<Vec<EntityKind>>,
    /// Paths of files or directories that define the entities. All if absent or empty.
    paths: Option<Vec<String>>,
    /// Whether the entities are tests; both if absent.
    test: Option<bool>,
}

/// What orders code entities.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "lists::EntityOrder")]
pub(crate) enum CodeEntityOrderField {
    /// Their qualified names.
    Name,
    /// How central they are.
    Importance,
}

/// An order of code entities.
#[derive(Clone, Copy, InputObject)]
pub(crate) struct CodeEntityOrder {
    /// What orders code entities.
    field: CodeEntityOrderField,
    /// Direction of the order; if absent, names ascend and importance descends.
    direction: Option<OrderDirection>,
}

/// Requests files, the most central first unless ordered otherwise.
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

/// Requests code entities, the most central first unless ordered otherwise.
pub(super) fn entity_query(filter: Option<CodeEntityFilter>, order: Option<CodeEntityOrder>) -> EntityQuery {
    let filter = filter.unwrap_or_default();
    let field = order.map_or(CodeEntityOrderField::Importance, |order| order.field);
    EntityQuery {
        projects: filter.projects.unwrap_or_default(),
        names: filter.names.unwrap_or_default(),
        spellings: Vec::new(),
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
    let totals = FileTotals { totals: Totals::of(query.clone()), query: query.clone() };
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
    let totals = CodeEntityTotals { totals: Totals::of(query.clone()), query: query.clone() };
    connection(ctx, &list, query, &paging, totals, |row| CodeEntity::new(row.project, row.path, row.name)).await
}

/// What files can be grouped by.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum FileGroupField {
    /// The programming languages of their content; files that are not code are in no group.
    Language,
    /// What the files are for.
    DocumentType,
    /// Their projects.
    Project,
}

/// How long a list of files is, and how they are distributed.
pub(crate) struct FileTotals {
    totals: Totals,
    query: FileQuery,
}

#[Object]
impl FileTotals {
    #[graphql(flatten)]
    async fn totals(&self) -> &Totals {
        &self.totals
    }

    /// How many files of the list have each value, the most frequent first.
    async fn group_by(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to group the files by.")] field: FileGroupField,
        #[graphql(desc = "Most groups, 0 to 100; 20 if absent.")] first: Option<i32>,
    ) -> Result<Groups> {
        let (by, node) = match field {
            FileGroupField::Language => (FileGroup::Language, Grouped::Value),
            FileGroupField::DocumentType => (FileGroup::DocumentType, Grouped::DocumentTypes),
            FileGroupField::Project => (FileGroup::Project, Grouped::Projects),
        };
        groups::files(ctx, self.query.clone(), by, node, first).await
    }
}

/// What code entities can be grouped by.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum CodeEntityGroupField {
    /// Kinds of the entities.
    Kind,
    /// Their projects.
    Project,
}

/// How long a list of code entities is, and how they are distributed.
pub(crate) struct CodeEntityTotals {
    totals: Totals,
    query: EntityQuery,
}

#[Object]
impl CodeEntityTotals {
    #[graphql(flatten)]
    async fn totals(&self) -> &Totals {
        &self.totals
    }

    /// How many code entities of the list have each value, the most frequent first.
    async fn group_by(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to group the code entities by.")] field: CodeEntityGroupField,
        #[graphql(desc = "Most groups, 0 to 100; 20 if absent.")] first: Option<i32>,
    ) -> Result<Groups> {
        let (by, node) = match field {
            CodeEntityGroupField::Kind => (EntityGroup::Kind, Grouped::EntityKinds),
            CodeEntityGroupField::Project => (EntityGroup::Project, Grouped::Projects),
        };
        groups::entities(ctx, self.query.clone(), by, node, first).await
    }
}
