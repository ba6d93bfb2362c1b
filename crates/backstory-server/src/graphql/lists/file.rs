//! The lists of a file.

use async_graphql::{
    Context, Object, OutputType, Result,
    connection::{Connection, ConnectionNameType, EmptyFields},
};
use backstory_engine::{
    code,
    files::{ChunksRequest, FactsRequest, FileChunks},
    model::id::NodeId,
    threads::ThreadSummary,
};

use super::{
    super::{
        code::{FileChunk, FileVersion, SyntaxFact},
        loaders,
        merge_request::MergeRequest,
        names::State,
    },
    CodeDefinitionConnection, CodeDefinitionFilter, OrderDirection, Paging, Totals, definitions, whole,
};

/// A page of the merge requests that change a file. Its type is another than that of other lists of merge requests, which
/// tell more of the whole list.
pub(crate) type FileMergeRequests = Connection<String, MergeRequest, Totals, EmptyFields, FileMergeRequestsName>;

/// A page of the chunks of a file.
pub(crate) type FileChunkConnection = Connection<String, FileChunk, Totals>;
/// A page of nodes of the syntax tree of a file.
pub(crate) type SyntaxFactConnection = Connection<String, SyntaxFact, Totals>;

/// The name of that type.
pub(crate) struct FileMergeRequestsName;

impl ConnectionNameType for FileMergeRequestsName {
    fn type_name<T: OutputType>() -> String {
        "FileMergeRequestConnection".to_owned()
    }
}

/// The lists of a file.
pub(crate) struct FileLists {
    id: NodeId,
}

impl FileLists {
    pub(in super::super) fn of(id: NodeId) -> Self {
        Self { id }
    }
}

#[Object]
impl FileLists {
    /// Merge requests that change the file, under all its names, the last changed first; at most 500. Merged ones are
    /// known by their commits, open and closed ones by what they would change.
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
    async fn merge_requests(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "States of merge requests. All if absent or empty.")] states: Option<Vec<State>>,
        #[graphql(
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
        #[graphql(desc = "How many from the end or before a cursor, 0 to 100.")] last: Option<i32>,
        #[graphql(desc = "The startCursor of the next page.")] before: Option<String>,
    ) -> Result<FileMergeRequests> {
        let states = states.into_iter().flatten().map(Into::into).collect();
        let all = loaders::engine(ctx)?.answer(code::FileMergeRequests { id: self.id.clone(), states }).await?;
        let paging = Paging { first, after, last, before };
        let key = |request: &ThreadSummary| request.id.to_string();
        let found = whole(all, OrderDirection::Ascending, &paging, key, |of| MergeRequest::new(of.id.clone()))?;
        let (before, behind) = (found.has_previous_page, found.has_next_page);
        let mut page = Connection::with_additional_fields(before, behind, found.additional_fields);
        page.edges = found.edges;
        Ok(page)
    }

    /// What the file is at a revision: hashes, size, language, MIME type, grammar, and when it last changed. Null, with an
    /// error, if there is no such revision or the file is not there.
    async fn version(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Branch, tag or commit; the indexed head if absent.")] rev: Option<String>,
    ) -> Result<Option<FileVersion>> {
        let (project, path) = self.place();
        let found = loaders::engine(ctx)?.find_file_version(ChunksRequest { project, path, rev }).await?;
        Ok(Some(found.into()))
    }

    /// Chunks of the file at a revision, as search reads them, part by part in the order of the text; at most 5,000.
    /// There are none if search does not read the file.
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
    async fn chunks(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Branch, tag or commit; the indexed head if absent.")] rev: Option<String>,
        #[graphql(
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
        #[graphql(desc = "How many from the end or before a cursor, 0 to 100.")] last: Option<i32>,
        #[graphql(desc = "The startCursor of the next page.")] before: Option<String>,
    ) -> Result<FileChunkConnection> {
        let found = self.chunks_at(ctx, rev).await?;
        let paging = Paging { first, after, last, before };
        let all: Vec<_> = found.chunks.into_iter().enumerate().collect();
        whole(all, OrderDirection::Ascending, &paging, |(at, _)| at.to_string(), |(_, of)| of.clone().into())
    }

    /// Nodes of the file's syntax tree at a revision, in the order of the text, outer nodes before inner ones; at most
    /// 5,000.
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
    async fn facts(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "Types of nodes as the grammar names them, at most 50; definitions, bindings, imports and comments if \
                    absent or empty."
        )]
        node_types: Option<Vec<String>>,
        #[graphql(desc = "Branch, tag or commit; the indexed head if absent.")] rev: Option<String>,
        #[graphql(
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
        #[graphql(desc = "How many from the end or before a cursor, 0 to 100.")] last: Option<i32>,
        #[graphql(desc = "The startCursor of the next page.")] before: Option<String>,
    ) -> Result<SyntaxFactConnection> {
        let (project, path) = self.place();
        let request = FactsRequest { project, path, rev, node_types: node_types.unwrap_or_default() };
        let found = loaders::engine(ctx)?.answer(request).await?;
        let paging = Paging { first, after, last, before };
        let all: Vec<_> = found.facts.into_iter().enumerate().collect();
        whole(all, OrderDirection::Ascending, &paging, |(at, _)| at.to_string(), |(_, of)| of.clone().into())
    }

    /// Code entities of the file at a revision, in the order of their lines. They are read from the clone; `entities` has
    /// those at the indexed head. Null, with an error, if there is no such revision or the file is not there.
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the field")]
    async fn definitions(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Branch, tag or commit; the indexed head if absent.")] rev: Option<String>,
        #[graphql(desc = "Only code entities that meet all these conditions; all of them if absent.")] filter: Option<
            CodeDefinitionFilter,
        >,
        #[graphql(
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
        #[graphql(desc = "How many from the end or before a cursor, 0 to 100.")] last: Option<i32>,
        #[graphql(desc = "The startCursor of the next page.")] before: Option<String>,
    ) -> Result<Option<CodeDefinitionConnection>> {
        let (project, path) = self.place();
        let paging = Paging { first, after, last, before };
        definitions(ctx, (project.unwrap_or_default(), path), rev, filter, &paging).await.map(Some)
    }
}

impl FileLists {
    /// Full path of the project, and the path of the file.
    fn place(&self) -> (Option<String>, String) {
        match &self.id {
            NodeId::File { project, path } => (Some(project.clone()), path.clone()),
            other => (other.project().map(str::to_owned), String::new()),
        }
    }

    async fn chunks_at(&self, ctx: &Context<'_>, rev: Option<String>) -> Result<FileChunks> {
        let (project, path) = self.place();
        Ok(loaders::engine(ctx)?.answer(ChunksRequest { project, path, rev }).await?)
    }
}
