//! What is of a repository: commits, branches, tags, files, code entities, design notes.

use async_graphql::{Context, ID, Object, Result, SimpleObject};
use backstory_engine::model::{
    classify,
    code::{self, Content},
    commit::{Commit as CommitItem, FileChange as FileChangeItem, Sha},
    document::{commit_url, lines_url},
    entity::Item,
    id::{NodeId, NoteSource},
    message,
    repository::{CommitRecord, HeadFile, InRepository, IndexedBranch, Record},
};

use super::{
    edge::hundredths,
    loaders,
    names::{ChangeStatus, ChangeType, EntityKind, LeftOutReason},
    node::{Links, Node},
    page::{self, DEFAULT_EDGES, FEW, QUERY},
    project::Project,
    scalar::DateTime,
    secret::{self, Secrets},
    written::{self, ModelClassification},
};

/// What the ledger has of a repository under a node; `None` if it has nothing.
async fn record<T>(ctx: &Context<'_>, id: NodeId, read: impl FnOnce(&InRepository) -> Option<T>) -> Result<Option<T>> {
    Ok(match loaders::item(ctx, id).await?.as_deref() {
        Some(Item::Repository(of)) => read(of),
        _ => None,
    })
}

async fn commit<T>(
    ctx: &Context<'_>,
    id: NodeId,
    read: impl FnOnce(&InRepository, &CommitRecord) -> T,
) -> Result<Option<T>> {
    record(ctx, id, |of| match &of.record {
        Record::Commit(record) => Some(read(of, record)),
        _ => None,
    })
    .await
}

async fn file<T>(
    ctx: &Context<'_>,
    project: &str,
    path: &str,
    read: impl FnOnce(&InRepository, &HeadFile) -> T,
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

/// A file that a commit changes.
#[derive(SimpleObject)]
pub(crate) struct FileChange {
    /// Path after the commit; of a deleted file, before it.
    path: String,
    /// Path before the commit if it is another.
    old_path: Option<String>,
    /// What happens to it.
    status: ChangeStatus,
    /// Lines added; null for a binary file.
    insertions: Option<u32>,
    /// Lines removed; null for a binary file.
    deletions: Option<u32>,
}

impl From<&FileChangeItem> for FileChange {
    fn from(change: &FileChangeItem) -> Self {
        Self {
            path: change.path.as_str().to_owned(),
            old_path: change.old_path.as_ref().map(|path| path.as_str().to_owned()),
            status: change.status.into(),
            insertions: change.lines.map(|lines| lines.insertions),
            deletions: change.lines.map(|lines| lines.deletions),
        }
    }
}

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

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&CommitItem) -> T) -> Result<Option<T>> {
        commit(ctx, self.links.id().clone(), |_, record| read(&record.commit)).await
    }
}

/// A commit.
#[Object]
impl Commit {
    /// Its reference, `acme/shop@1a2b3c4`.
    pub(super) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read it, or a merge request is known to have been merged as it. Of others only their mention
    /// is known.
    pub(super) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Object name in lower-case hex, 7 to 64 digits, as it was written where it was found.
    async fn sha(&self) -> &str {
        &self.sha
    }

    /// First line of its message.
    async fn title(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |commit| commit.title().to_owned()).await
    }

    /// Its whole message.
    async fn message(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |commit| commit.message.clone()).await
    }

    /// Whether secrets were replaced in its message or found in the lines it changes: whoever wrote it should revoke them.
    async fn security_warning(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |commit| !commit.all_secrets().is_empty()).await?.unwrap_or_default())
    }

    /// Which secrets were replaced in its message or found in the lines it changes.
    #[graphql(complexity = "1 + FEW * child_complexity")]
    async fn secrets(&self, ctx: &Context<'_>) -> Result<Vec<Secrets>> {
        Ok(secret::list(self.read(ctx, |commit| commit.all_secrets()).await?))
    }

    /// Who wrote the change, as the repository's mailmap has it.
    async fn author_name(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |commit| commit.author.name.clone()).await
    }

    /// Address of who wrote the change, as the repository's mailmap has it.
    async fn author_email(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |commit| commit.author.email.clone()).await
    }

    /// When the change was written.
    async fn authored_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        self.read(ctx, |commit| DateTime::from(commit.author.at)).await
    }

    /// When the commit was made.
    async fn committed_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        self.read(ctx, |commit| DateTime::from(commit.committer.at)).await
    }

    /// Its parents, the first one first.
    #[graphql(complexity = "1 + FEW * child_complexity")]
    async fn parents(&self, ctx: &Context<'_>) -> Result<Option<Vec<Self>>> {
        let parent = |sha: &Sha| Self::new(self.project.clone(), sha.to_string());
        self.read(ctx, |commit| commit.parents.iter().map(parent).collect()).await
    }

    /// What sort of change it is, told from its message, files and lines; null for a merge.
    async fn change_type(&self, ctx: &Context<'_>) -> Result<Option<ChangeType>> {
        let found = self.read(ctx, |commit| classify::of_commit(commit).map(|found| found.main.kind.into())).await?;
        Ok(found.flatten())
    }

    /// How sure that is, 0 to 1.
    async fn change_type_confidence(&self, ctx: &Context<'_>) -> Result<Option<f64>> {
        let main = |commit: &CommitItem| classify::of_commit(commit).map(|found| hundredths(found.main.confidence));
        Ok(self.read(ctx, main).await?.flatten())
    }

    /// Which rule told it: `prefix`, `paths`, `words`, `shape`, or `default` where nothing did.
    async fn change_type_rule(&self, ctx: &Context<'_>) -> Result<Option<&'static str>> {
        Ok(self.read(ctx, |commit| classify::of_commit(commit).map(|found| found.main.rule.as_str())).await?.flatten())
    }

    /// What sort of change a language model takes it for, if `enrich` was ever asked for; null otherwise.
    #[graphql(complexity = "QUERY + child_complexity")]
    async fn model_classification(&self, ctx: &Context<'_>) -> Result<Option<ModelClassification>> {
        written::classification(ctx, self.links.id()).await
    }

    /// Lines that it adds, against its first parent.
    async fn insertions(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
        self.read(ctx, |commit| commit.line_counts().0).await
    }

    /// Lines that it removes, against its first parent.
    async fn deletions(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
        self.read(ctx, |commit| commit.line_counts().1).await
    }

    /// Whether no indexed branch reaches it any more, because history was rewritten.
    async fn rewritten(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        commit(ctx, self.links.id().clone(), |_, record| record.rewritten).await
    }

    /// How many files it changes, against its first parent.
    async fn file_count(&self, ctx: &Context<'_>) -> Result<Option<usize>> {
        self.read(ctx, |commit| commit.changes.len()).await
    }

    /// The first of the files that it changes against its first parent, in git's order.
    #[graphql(complexity = "page::cost(first, DEFAULT_EDGES, child_complexity)")]
    async fn files(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most files, 0 to 100; 50 if absent.")] first: Option<i32>,
    ) -> Result<Option<Vec<FileChange>>> {
        let most = page::size(first, DEFAULT_EDGES)?;
        self.read(ctx, |commit| commit.changes.iter().take(most).map(FileChange::from).collect()).await
    }

    /// Its page at the forge; null if there is none.
    async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let url = |of: &InRepository, record: &CommitRecord| commit_url(of.context(), &record.commit.sha.to_string());
        Ok(commit(ctx, self.links.id().clone(), url).await?.and_then(some_url))
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

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&HeadFile) -> T) -> Result<Option<T>> {
        file(ctx, &self.project, &self.path, |_, file| read(file)).await
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

    /// Lines of its content; null if that is left out.
    async fn lines(&self, ctx: &Context<'_>) -> Result<Option<u32>> {
        Ok(self.read(ctx, |file| file.analysis.as_ref().map(|analysis| analysis.line_count)).await?.flatten())
    }

    /// Bytes of its content.
    async fn bytes(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
        self.read(ctx, |file| file.bytes).await
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
        let url = |of: &InRepository, file: &HeadFile| lines_url(of.context(), revision(of), file.path.as_str(), None);
        Ok(file(ctx, &self.project, &self.path, url).await?.and_then(some_url))
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
fn revision(of: &InRepository) -> &str {
    of.repository.default_branch.as_ref().map_or("HEAD", |branch| branch.as_str())
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

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&IndexedBranch) -> T) -> Result<Option<T>> {
        record(ctx, self.links.id().clone(), |of| match &of.record {
            Record::Branch(branch) => Some(read(branch)),
            _ => None,
        })
        .await
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

    /// The newest of its commits that is indexed.
    async fn tip(&self, ctx: &Context<'_>) -> Result<Option<Commit>> {
        self.read(ctx, |branch| Commit::new(self.project.clone(), branch.branch.tip.to_string())).await
    }

    /// Whether it is the default branch.
    async fn default(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        self.read(ctx, |branch| branch.default).await
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

    /// Reads it from what its file contains now.
    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&code::Entity) -> T) -> Result<Option<T>> {
        let found = file(ctx, &self.project, &self.path, |_, file| {
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

    /// Its lines, and its text or the content that has it.
    async fn read(&self, ctx: &Context<'_>) -> Result<Option<(code::Lines, NoteText)>> {
        let found = match &self.source {
            NoteSource::Commit(sha) => {
                commit(ctx, NodeId::commit(&self.project, sha), |_, record| {
                    let notes = message::design_notes(&record.commit.message);
                    let note = notes.into_iter().find(|note| note.first_line == self.line)?;
                    Some((code::Lines::new(note.first_line, note.last_line), NoteText::Known(note.text)))
                })
                .await?
            }
            NoteSource::File(path) => file(ctx, &self.project, path, |_, file| self.in_file(file)).await?,
        };
        Ok(found.flatten())
    }

    fn in_file(&self, file: &HeadFile) -> Option<(code::Lines, NoteText)> {
        match &file.analysis.as_ref()?.content {
            Content::Code(code) => {
                let note = code.explanations.iter().find(|note| note.lines.first == self.line)?;
                Some((note.lines, NoteText::Known(note.text.clone())))
            }
            Content::Doc(doc) => {
                let lines = doc.decision.as_ref()?.lines.unwrap_or(code::Lines::new(1, 1));
                (lines.first == self.line).then_some((lines, NoteText::In(file.blob)))
            }
            Content::Text => None,
        }
    }
}

/// Where the text of a design note is.
enum NoteText {
    /// Here.
    Known(String),
    /// In a file's content.
    In(Sha),
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

    /// Its lines in what it stands in.
    async fn lines(&self, ctx: &Context<'_>) -> Result<Option<LineRange>> {
        Ok(self.read(ctx).await?.map(|(lines, _)| lines.into()))
    }

    /// What it says.
    async fn text(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        Ok(match self.read(ctx).await? {
            Some((_, NoteText::Known(text))) => Some(text),
            Some((lines, NoteText::In(blob))) => {
                Some(loaders::engine(ctx)?.lines_of(&self.project, blob, lines).await?)
            }
            None => None,
        })
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
