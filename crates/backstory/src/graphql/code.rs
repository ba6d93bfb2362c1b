//! What is of a repository: commits, branches, tags, files, code entities, design notes.

use async_graphql::{Context, ID, Object, Result};
use backstory_engine::model::id::{NodeId, NoteSource};

use super::{
    loaders,
    node::{Links, Node},
    project::Project,
};

/// A commit.
pub(crate) struct Commit {
    project: String,
    sha: String,
    links: Links,
}

impl Commit {
    pub(super) fn new(project: String, sha: String) -> Self {
        let links = Links::of(NodeId::commit(&project, &sha));
        Self { project, sha, links }
    }
}

/// A commit.
#[Object]
impl Commit {
    /// Its reference, `acme/shop@1a2b3c4`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether a merge request is known to have been merged as it. Of others only their mention is known.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Object name in lower-case hex, 7 to 64 digits, as it was written where it was found.
    async fn sha(&self) -> &str {
        &self.sha
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
}

/// A file of a repository.
#[Object]
impl File {
    /// Its reference, `acme/shop:src/a.rs`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether a note is known to stand on its lines.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Path from the repository's root, `/` between its parts.
    async fn path(&self) -> &str {
        &self.path
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

/// A branch that is indexed.
pub(crate) struct Branch {
    project: String,
    name: String,
    links: Links,
}

impl Branch {
    pub(super) fn new(project: String, name: String) -> Self {
        let links = Links::of(NodeId::Branch { project: project.clone(), name: name.clone() });
        Self { project, name, links }
    }
}

/// A branch that is indexed.
#[Object]
impl Branch {
    /// Its reference, `acme/shop@refs/heads/main`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read it.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Its name.
    async fn name(&self) -> &str {
        &self.name
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

/// A tag.
pub(crate) struct Tag {
    project: String,
    name: String,
    links: Links,
}

impl Tag {
    pub(super) fn new(project: String, name: String) -> Self {
        let links = Links::of(NodeId::Tag { project: project.clone(), name: name.clone() });
        Self { project, name, links }
    }
}

/// A tag.
#[Object]
impl Tag {
    /// Its reference, `acme/shop@refs/tags/v1`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read it.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Its name.
    async fn name(&self) -> &str {
        &self.name
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

    /// The project it belongs to.
    async fn project(&self) -> Project {
        Project::new(self.project.clone())
    }

    #[graphql(flatten)]
    async fn links(&self) -> &Links {
        &self.links
    }
}

/// A passage of a commit message, a comment or a document that says why.
pub(crate) struct DesignNote {
    project: String,
    source: NoteSource,
    line: u32,
    links: Links,
}

impl DesignNote {
    pub(super) fn new(project: String, source: NoteSource, line: u32) -> Self {
        let links = Links::of(NodeId::DesignNote { project: project.clone(), source: source.clone(), line });
        Self { project, source, line, links }
    }
}

/// A passage of a commit message, a comment or a document that says why.
#[Object]
impl DesignNote {
    /// Its reference, `acme/shop:src/a.rs~12`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read it.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Its first line in what it stands in, from 1.
    async fn line(&self) -> u32 {
        self.line
    }

    /// What it stands in: a commit, whose message it is of, or a file.
    async fn source(&self) -> Node {
        Node::from(match &self.source {
            NoteSource::Commit(sha) => NodeId::commit(&self.project, sha),
            NoteSource::File(path) => NodeId::file(&self.project, path),
        })
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
