//! GraphQL types of what a repository holds: files, code entities, and in submodules commits, branches, tags and design
//! notes.

mod branch;
mod commit;
mod content;
mod definition;
mod note;
mod version;

use async_graphql::{Context, ID, Object, Result, SimpleObject};
use backstory_engine::{
    lists::CodeRow,
    model::{
        code,
        document::lines_url,
        entity::Item,
        id::NodeId,
        packages::package_of,
        repository::{CommitRecord, HeadFile, Record, RepositoryItem},
        test_files::test_kind,
    },
};

pub(crate) use self::{
    branch::{Branch, Tag},
    commit::{Commit, FileChangeConnection},
    content::{
        CoChange, Contributor, FileComment, FileContent, Indexed, LineRangeInput, SeenThrough, Tree, commit_node,
        contributors, tree,
    },
    definition::CodeDefinition,
    note::DesignNote,
    version::{FileChunk, FileVersion, SyntaxFact, document_node},
};
use super::{
    lists::{FileLists, FileRelations},
    loaders,
    names::{EntityKind, LeftOutReason, TestKind},
    node::{Links, linked},
    project::Project,
    scalar::{BigInt, DateTime},
    summary::{self, Summary},
};

/// What the ledger has of a repository under a node; `None` if it has nothing.
async fn record<T>(
    ctx: &Context<'_>,
    id: NodeId,
    read: impl FnOnce(&RepositoryItem) -> Option<T>,
) -> Result<Option<T>> {
    Ok(match loaders::item(ctx, id).await?.as_deref() {
        Some(Item::Repository(of)) => read(of),
        _ => None,
    })
}

async fn commit_record<T>(
    ctx: &Context<'_>,
    id: NodeId,
    read: impl FnOnce(&RepositoryItem, &CommitRecord) -> T,
) -> Result<Option<T>> {
    record(ctx, id, |of| match &of.record {
        Record::Commit(record) => Some(read(of, record)),
        _ => None,
    })
    .await
}

async fn file_record<T>(
    ctx: &Context<'_>,
    project: &str,
    path: &str,
    read: impl FnOnce(&RepositoryItem, &HeadFile) -> T,
) -> Result<Option<T>> {
    record(ctx, NodeId::file(project, path), |of| match &of.record {
        Record::File(file) => Some(read(of, file)),
        _ => None,
    })
    .await
}

/// An address, unless the repository has no forge.
fn some_url(url: String) -> Option<String> {
    Some(url).filter(|url| !url.is_empty())
}

/// A range of lines, both ends included.
#[derive(SimpleObject)]
pub(crate) struct LineRange {
    /// Number of the first line, from 1.
    first: u32,
    /// Number of the last line.
    last: u32,
}

impl LineRange {
    /// That many lines from the first one on.
    pub(super) fn counted(first: u32, lines: u32) -> Self {
        Self { first, last: first + lines.max(1) - 1 }
    }
}

impl From<code::Lines> for LineRange {
    fn from(lines: code::Lines) -> Self {
        Self { first: lines.first, last: lines.last }
    }
}

impl From<(u32, u32)> for LineRange {
    fn from((first, last): (u32, u32)) -> Self {
        Self { first, last }
    }
}

/// A file.
pub(crate) struct File {
    project: String,
    path: String,
    links: Links,
}

impl File {
    pub(super) fn new(project: String, path: String) -> Self {
        let links = Links::of(NodeId::File { project: project.clone(), path: path.clone() });
        Self { project, path, links }
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&HeadFile) -> T) -> Result<Option<T>> {
        file_record(ctx, &self.project, &self.path, |_, file| read(file)).await
    }
}

// The interface asks for what all nodes have.
linked!(File, links);

/// A file of a repository.
#[Object]
impl File {
    /// Id of the file as a node, `acme/shop:src/a.rs`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read the file, now or in the past, or knows a note on its lines or a merge request that
    /// changes it.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Path of the file from the repository's root, `/` between its parts.
    async fn path(&self) -> &str {
        &self.path
    }

    /// Whether the file is there at the indexed head of the default branch; null if nothing is known of it.
    async fn current(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        if self.read(ctx, |_| ()).await?.is_some() {
            return Ok(Some(true));
        }
        let known = loaders::is_known(ctx, self.links.id().clone()).await?;
        Ok(known.then_some(false))
    }

    /// Programming language of the content; null if it is not code.
    async fn language(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let language = |file: &HeadFile| Some(file.analysis.as_ref()?.code()?.language.name().to_owned());
        Ok(self.read(ctx, language).await?.flatten())
    }

    /// How many lines the content has; null if it is left out.
    async fn line_count(&self, ctx: &Context<'_>) -> Result<Option<u32>> {
        Ok(self.read(ctx, |file| file.analysis.as_ref().map(|analysis| analysis.line_count)).await?.flatten())
    }

    /// How many bytes the content has; null if the file is not at the indexed head.
    async fn bytes(&self, ctx: &Context<'_>) -> Result<Option<BigInt>> {
        self.read(ctx, |file| file.bytes.into()).await
    }

    /// Object name of the content; null if the file is not at the indexed head.
    async fn blob(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |file| file.blob.to_string()).await
    }

    /// How central the file is: its PageRank over the references between files, 0 to 1; 0 unless it is among the most
    /// central, and null if it is not at the indexed head.
    async fn importance(&self, ctx: &Context<'_>) -> Result<Option<f64>> {
        Ok(match loaders::code_row(ctx, self.links.id().clone()).await?.as_deref() {
            Some(CodeRow::File(row)) => Some(rank(row.importance)),
            _ => None,
        })
    }

    /// When the file last changed; null if it is not at the indexed head.
    async fn changed_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        self.read(ctx, |file| file.changed_at.into()).await
    }

    /// Content of the file at a revision, and where its lines come from. Null, with an error, if there is no such revision or
    /// the file is not there.
    async fn content(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Branch, tag or commit; the indexed head if absent.")] rev: Option<String>,
        #[graphql(desc = "Lines to read, at most 20,000; the first 20,000 if absent.")] lines: Option<LineRangeInput>,
    ) -> Result<Option<FileContent>> {
        content::content(ctx, (&self.project, &self.path), rev, lines).await.map(Some)
    }

    /// Discussions about lines of the file, in the order of the lines, then those about lines that are gone; only the
    /// newest 500 about the file are looked at. Their lines are followed from the revision that they were written on.
    /// Null, with an error, if there is no such revision.
    async fn comments(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Branch, tag or commit; the indexed head if absent.")] rev: Option<String>,
        #[graphql(desc = "Lines that the discussions are about; all lines if absent.")] lines: Option<LineRangeInput>,
        #[graphql(desc = "Whether the discussions are resolved, or can be and are not; all discussions if absent.")]
        resolved: Option<bool>,
    ) -> Result<Option<Vec<FileComment>>> {
        content::comments(ctx, (&self.project, &self.path), rev, lines, resolved).await.map(Some)
    }

    /// Summary by a language model, if `summarize` was ever called; null otherwise.
    async fn summary(&self, ctx: &Context<'_>) -> Result<Option<Summary>> {
        summary::of(ctx, self.links.id()).await
    }

    /// Files and code entities that change together with the file, the most confident first: in at least three commits,
    /// and in at least three of ten that change the file. For each repository, the 20,000 pairs of files with the most
    /// support are kept, counted in each direction, and as many pairs of entities. Null, with an error, if too many are
    /// asked for, or too little support.
    async fn co_changes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most files and entities, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "Fewest commits that changed both, 3 or more.", default = 3)] min_support: Option<i32>,
    ) -> Result<Option<Vec<CoChange>>> {
        content::co_changes(ctx, self.links.id(), first, min_support).await.map(Some)
    }

    /// People who know the file: those who wrote most of its lines first, then those with most commits, then with most
    /// reviews. Null, with an error, if too many are asked for.
    async fn contributors(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most people, 0 to 100.", default = 20)] first: Option<i32>,
    ) -> Result<Option<Vec<Contributor>>> {
        contributors(ctx, &self.project, &self.path, first).await.map(Some)
    }

    /// Why the content is left out; null if it is not.
    async fn left_out(&self, ctx: &Context<'_>) -> Result<Option<LeftOutReason>> {
        Ok(self.read(ctx, |file| file.left_out.map(LeftOutReason::from)).await?.flatten())
    }

    /// Page of the file at the forge; null if there is none.
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let url =
            |of: &RepositoryItem, file: &HeadFile| lines_url(of.context(), revision(of), file.path.as_str(), None);
        Ok(file_record(ctx, &self.project, &self.path, url).await?.and_then(some_url))
    }

    /// Project that the file belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    #[graphql(flatten)]
    async fn lists(&self) -> FileLists {
        FileLists::of(self.links.id().clone())
    }

    #[graphql(flatten)]
    async fn relations(&self) -> FileRelations {
        FileRelations::of(self.project.clone(), self.path.clone())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}

/// A PageRank in millionths.
fn rank(millionths: u64) -> f64 {
    millionths as f64 / 1e6
}

/// What a page at the forge shows the files of.
fn revision(of: &RepositoryItem) -> &str {
    of.repository.default_branch.as_ref().map_or("HEAD", |branch| branch.as_str())
}

/// A definition in a source file: a function, a type.
pub(crate) struct CodeEntity {
    project: String,
    path: String,
    name: String,
    links: Links,
}

impl CodeEntity {
    pub(super) fn new(project: String, path: String, name: String) -> Self {
        let links = Links::of(NodeId::entity(&project, &path, &name));
        Self { project, path, name, links }
    }

    /// Reads it from what its file contains now.
    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&code::Entity) -> T) -> Result<Option<T>> {
        let found = file_record(ctx, &self.project, &self.path, |_, file| {
            let code = file.analysis.as_ref()?.code()?;
            code.entities.iter().find(|entity| entity.qualified_name == self.name).map(read)
        });
        Ok(found.await?.flatten())
    }
}

// The interface asks for what all nodes have.
linked!(CodeEntity, links);

/// A definition in a source file: a function, a type.
#[Object]
impl CodeEntity {
    /// Id of the code entity as a node, `acme/shop:src/a.rs#login`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read the code entity.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Qualified name of the entity, unique in the file.
    async fn name(&self) -> &str {
        &self.name
    }

    /// Path of the file that defines the entity.
    async fn path(&self) -> &str {
        &self.path
    }

    /// File that defines the entity.
    async fn file(&self) -> File {
        File::new(self.project.clone(), self.path.clone())
    }

    /// Package or module that the file is or belongs to, by the language's conventions for paths: `com.acme.auth` for
    /// Java, `acme.auth` for Python, `auth::token` for Rust, the directory for Go, C and others. Null if there is none.
    async fn package(&self) -> Option<String> {
        package_of(&self.path)
    }

    /// Kind of test, by conventions for paths; null if it is not a test, or is gone.
    async fn test_kind(&self, ctx: &Context<'_>) -> Result<Option<TestKind>> {
        let is_test = self.read(ctx, |entity| entity.test == code::TestRole::Test).await?.unwrap_or_default();
        // A test beside what it tests is one of a unit.
        Ok(is_test.then(|| test_kind(&self.path).map_or(TestKind::Unit, TestKind::from)))
    }

    /// Files and code entities that change together with the entity, the most confident first: in at least three
    /// commits, and in at least three of ten that change the entity. For each repository, the 20,000 pairs of files
    /// with the most support are kept, counted in each direction, and as many pairs of entities. Null, with an error,
    /// if too many are asked for, or too little support.
    async fn co_changes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most files and entities, 0 to 100.", default = 20)] first: Option<i32>,
        #[graphql(desc = "Fewest commits that changed both, 3 or more.", default = 3)] min_support: Option<i32>,
    ) -> Result<Option<Vec<CoChange>>> {
        content::co_changes(ctx, self.links.id(), first, min_support).await.map(Some)
    }

    /// Kind of the entity; null if it is gone.
    async fn kind(&self, ctx: &Context<'_>) -> Result<Option<EntityKind>> {
        self.read(ctx, |entity| entity.kind.into()).await
    }

    /// How the entity is declared, on one line; null if it is gone.
    async fn signature(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |entity| entity.signature.clone()).await
    }

    /// Lines of the entity at the indexed head, without the comments before it; null if it is gone.
    async fn lines(&self, ctx: &Context<'_>) -> Result<Option<LineRange>> {
        self.read(ctx, |entity| entity.lines.into()).await
    }

    /// How central the entity is: its PageRank over the references between entities, 0 to 1; 0 unless it is among the most
    /// central, and null if it is gone.
    async fn importance(&self, ctx: &Context<'_>) -> Result<Option<f64>> {
        Ok(match loaders::code_row(ctx, self.links.id().clone()).await?.as_deref() {
            Some(CodeRow::Entity(row)) => Some(rank(row.importance)),
            _ => None,
        })
    }

    /// What the entity is at a revision; null if its file does not define it there, and, with an error, if there is no such
    /// revision or the file is not there.
    async fn definition(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Branch, tag or commit; the indexed head if absent.")] rev: Option<String>,
    ) -> Result<Option<CodeDefinition>> {
        CodeDefinition::find(ctx, (&self.project, &self.path, &self.name), rev).await
    }

    /// Doc comment or doc string of the entity, without markers; null if it has none or is gone.
    async fn doc(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |entity| entity.doc.clone()).await?.flatten())
    }

    /// Page of the entity's lines at the forge; null if it is gone, or there is no forge.
    pub(super) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let Some(lines) = self.read(ctx, |entity| (entity.lines.first, entity.lines.last)).await? else {
            return Ok(None);
        };
        let url = |of: &RepositoryItem, file: &HeadFile| {
            lines_url(of.context(), revision(of), file.path.as_str(), Some(lines))
        };
        Ok(file_record(ctx, &self.project, &self.path, url).await?.and_then(some_url))
    }

    /// Project that the entity belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
