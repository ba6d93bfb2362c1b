//! The GraphQL type of code entities at a revision.

use async_graphql::{Context, Result, SimpleObject};
use backstory_engine::{
    files::{Definition, DefinitionsRequest},
    model::code::TestRole,
};

use super::{
    super::{loaders, names::EntityKind},
    CodeEntity, Commit, File, LineRange,
};

/// A code entity at a revision.
#[derive(SimpleObject)]
pub(crate) struct CodeDefinition {
    /// Node of the entity, with what the entity is at the indexed head.
    entity: CodeEntity,
    /// Commit at which the entity is like this.
    commit: Commit,
    /// Qualified name of the entity, unique in the file.
    name: String,
    /// Path of the file that defines the entity.
    path: String,
    /// File that defines the entity.
    file: File,
    /// Kind of the entity.
    kind: EntityKind,
    /// How the entity is declared, on one line.
    signature: String,
    /// Doc comment or doc string of the entity, without markers; null if it has none.
    doc: Option<String>,
    /// Lines of the entity, without the comments before it.
    lines: LineRange,
    /// Whether the entity is a test.
    is_test: bool,
}

impl CodeDefinition {
    pub(crate) fn new(project: &str, commit: &str, of: Definition) -> Self {
        let Definition { path, entity } = of;
        Self {
            entity: CodeEntity::new(project.to_owned(), path.clone(), entity.qualified_name.clone()),
            commit: Commit::new(project.to_owned(), commit.to_owned()),
            name: entity.qualified_name,
            file: File::new(project.to_owned(), path.clone()),
            path,
            kind: entity.kind.into(),
            signature: entity.signature,
            doc: entity.doc,
            lines: entity.lines.into(),
            is_test: entity.test == TestRole::Test,
        }
    }

    /// What an entity of a file is at a revision.
    pub(super) async fn find(
        ctx: &Context<'_>,
        (project, path, name): (&str, &str, &str),
        rev: Option<String>,
    ) -> Result<Option<Self>> {
        let request = DefinitionsRequest {
            project: Some(project.to_owned()),
            path: path.to_owned(),
            rev,
            names: vec![name.to_owned()],
            ..DefinitionsRequest::default()
        };
        let found = loaders::engine(ctx)?.list_definitions(request).await?;
        let commit = found.rev.to_string();
        let own = found.definitions.into_iter().find(|of| of.entity.qualified_name == name);
        Ok(own.map(|of| Self::new(project, &commit, of)))
    }
}
