//! GraphQL types of what a repository holds: files, code entities, and in submodules commits, branches, tags and design
//! notes.

mod branch;
mod commit;
mod note;

use async_graphql::{Context, ID, Object, Result, SimpleObject};
use backstory_engine::model::{
    code,
    document::lines_url,
    entity::Item,
    id::NodeId,
    repository::{CommitRecord, HeadFile, Record, RepositoryRecord},
};

pub(crate) use self::{
    branch::{Branch, Tag},
    commit::Commit,
    note::DesignNote,
};
use super::{
    loaders,
    names::{EntityKind, LeftOutReason},
    node::Links,
    project::Project,
    scalar::BigInt,
};

/// What the ledger has of a repository under a node; `None` if it has nothing.
async fn record<T>(
    ctx: &Context<'_>,
    id: NodeId,
    read: impl FnOnce(&RepositoryRecord) -> Option<T>,
) -> Result<Option<T>> {
    Ok(match loaders::item(ctx, id).await?.as_deref() {
        Some(Item::Repository(of)) => read(of),
        _ => None,
    })
}

async fn commit_record<T>(
    ctx: &Context<'_>,
    id: NodeId,
    read: impl FnOnce(&RepositoryRecord, &CommitRecord) -> T,
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
    read: impl FnOnce(&RepositoryRecord, &HeadFile) -> T,
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

/// A range of lines, from 1, both ends included.
#[derive(SimpleObject)]
pub(crate) struct LineRange {
    /// First line.
    first: u32,
    /// Last line.
    last: u32,
}

impl From<code::Lines> for LineRange {
    fn from(lines: code::Lines) -> Self {
        Self { first: lines.first, last: lines.last }
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

/// A file of a repository.
#[Object]
impl File {
    /// Its reference, `acme/shop:src/a.rs`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read it, now or in the past, or a note is known to stand on its lines.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Path from the repository's root, `/` between its parts.
    async fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is there at the indexed head of the default branch; null if nothing is known of it.
    async fn current(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        if self.read(ctx, |_| ()).await?.is_some() {
            return Ok(Some(true));
        }
        let known = loaders::is_known(ctx, self.links.id().clone()).await?;
        Ok(known.then_some(false))
    }

    /// The programming language of its content; null for what is no code.
    async fn language(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let language = |file: &HeadFile| Some(file.analysis.as_ref()?.code()?.language.name().to_owned());
        Ok(self.read(ctx, language).await?.flatten())
    }

    /// How many lines its content has; null if that is left out.
    async fn line_count(&self, ctx: &Context<'_>) -> Result<Option<u32>> {
        Ok(self.read(ctx, |file| file.analysis.as_ref().map(|analysis| analysis.line_count)).await?.flatten())
    }

    /// Bytes of its content.
    async fn bytes(&self, ctx: &Context<'_>) -> Result<Option<BigInt>> {
        self.read(ctx, |file| file.bytes.into()).await
    }

    /// Object name of its content.
    async fn blob(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |file| file.blob.to_string()).await
    }

    /// Why its content is left out; null if it is not.
    async fn left_out(&self, ctx: &Context<'_>) -> Result<Option<LeftOutReason>> {
        Ok(self.read(ctx, |file| file.left_out.map(LeftOutReason::from)).await?.flatten())
    }

    /// Its page at the forge; null if there is none.
    async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let url =
            |of: &RepositoryRecord, file: &HeadFile| lines_url(of.context(), revision(of), file.path.as_str(), None);
        Ok(file_record(ctx, &self.project, &self.path, url).await?.and_then(some_url))
    }

    /// The project it belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}

/// What a page at the forge shows the files of.
fn revision(of: &RepositoryRecord) -> &str {
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

/// A definition in a source file: a function, a type.
#[Object]
impl CodeEntity {
    /// Its reference, `acme/shop:src/a.rs#login`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read it.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Its name with those of what it stands in, unique in the file.
    async fn name(&self) -> &str {
        &self.name
    }

    /// Path of its file.
    async fn path(&self) -> &str {
        &self.path
    }

    /// What it is; null if its file has it no more.
    async fn kind(&self, ctx: &Context<'_>) -> Result<Option<EntityKind>> {
        self.read(ctx, |entity| entity.kind.into()).await
    }

    /// How it is declared, on one line.
    async fn signature(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |entity| entity.signature.clone()).await
    }

    /// Its lines at the indexed head, without the comments before it.
    async fn lines(&self, ctx: &Context<'_>) -> Result<Option<LineRange>> {
        self.read(ctx, |entity| entity.lines.into()).await
    }

    /// Its doc comment or doc string, without markers.
    async fn doc(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(self.read(ctx, |entity| entity.doc.clone()).await?.flatten())
    }

    /// The project it belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}
