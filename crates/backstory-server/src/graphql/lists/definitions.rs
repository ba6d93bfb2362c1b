//! Lists of code entities at a revision.

use async_graphql::{Context, InputObject, Object, Result, connection::Connection};
use backstory_engine::files::{Definition, DefinitionsRequest};

use super::{
    super::{
        code::{CodeDefinition, Commit},
        loaders,
        names::EntityKind,
    },
    OrderDirection, Paging, Totals, whole,
};

/// A page of code entities at a revision.
pub(crate) type CodeDefinitionConnection = Connection<String, CodeDefinition, DefinitionTotals>;

/// Which code entities a list at a revision has: those that meet all conditions.
#[derive(Default, InputObject)]
pub(crate) struct CodeDefinitionFilter {
    /// Names of entities, qualified or not, in any case. All if absent or empty.
    names: Option<Vec<String>>,
    /// Kinds of entities. All if absent or empty.
    kinds: Option<Vec<EntityKind>>,
    /// Whether the entities are tests; both if absent.
    test: Option<bool>,
}

/// How long a list of code entities at a revision is, and what it is of.
pub(crate) struct DefinitionTotals {
    totals: Totals,
    project: String,
    commit: String,
    left_out: Vec<String>,
}

#[Object]
impl DefinitionTotals {
    #[graphql(flatten)]
    async fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Commit at which the entities are like this.
    async fn commit(&self) -> Commit {
        Commit::new(self.project.clone(), self.commit.clone())
    }

    /// What was not read, a sentence each; empty if everything was.
    async fn left_out(&self) -> Vec<String> {
        self.left_out.clone()
    }
}

/// A page of the code entities of a file or directory of a project's repository at a revision, by path and line.
pub(in super::super) async fn definitions(
    ctx: &Context<'_>,
    (project, path): (String, String),
    rev: Option<String>,
    filter: Option<CodeDefinitionFilter>,
    paging: &Paging,
) -> Result<CodeDefinitionConnection> {
    let filter = filter.unwrap_or_default();
    let request = DefinitionsRequest {
        project: Some(project),
        path,
        rev,
        names: filter.names.unwrap_or_default(),
        kinds: filter.kinds.into_iter().flatten().map(Into::into).collect(),
        test: filter.test,
    };
    let found = loaders::engine(ctx)?.list_definitions(request).await?;
    let (project, commit) = (found.project, found.rev.to_string());
    let all: Vec<(usize, Definition)> = found.definitions.into_iter().enumerate().collect();
    let node = |(_, of): &(usize, Definition)| CodeDefinition::new(&project, &commit, of.clone());
    let read = whole(all, OrderDirection::Ascending, paging, |(at, _)| at.to_string(), node)?;
    let (before, behind, totals) = (read.has_previous_page, read.has_next_page, read.additional_fields);
    let totals =
        DefinitionTotals { totals, project: project.clone(), commit: commit.clone(), left_out: found.left_out };
    let mut page = Connection::with_additional_fields(before, behind, totals);
    page.edges = read.edges;
    Ok(page)
}
