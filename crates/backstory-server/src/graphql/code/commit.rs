//! GraphQL types of commits and what they change.

use async_graphql::{Context, ID, Object, Result, SimpleObject};
use backstory_engine::model::{
    classify,
    commit::{Commit as CommitItem, FileChange as FileChangeItem, Sha},
    document::commit_url,
    id::NodeId,
    repository::{CommitRecord, RepositoryRecord},
};

use super::{
    super::{
        edge::hundredths,
        loaders,
        names::{ChangeStatus, ChangeType},
        node::Links,
        page::{self, DEFAULT_EDGES},
        project::Project,
        scalar::DateTime,
        secret::{self, Secrets},
        written::{self, ModelClassification},
    },
    commit_record, some_url,
};
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
    pub(crate) fn new(project: String, sha: String) -> Self {
        let links = Links::of(NodeId::commit(&project, &sha));
        Self { project, sha, links }
    }

    async fn read<T>(&self, ctx: &Context<'_>, read: impl FnOnce(&CommitItem) -> T) -> Result<Option<T>> {
        commit_record(ctx, self.links.id().clone(), |_, record| read(&record.commit)).await
    }
}

/// A commit.
#[Object]
impl Commit {
    /// Its reference, `acme/shop@1a2b3c4`.
    pub(crate) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read it, or a merge request is known to have been merged as it. Of others only their mention
    /// is known.
    pub(crate) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
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
        Ok(self.read(ctx, |commit| !commit.secret_counts().is_empty()).await?.unwrap_or_default())
    }

    /// Which secrets were replaced in its message or found in the lines it changes.
    async fn secrets(&self, ctx: &Context<'_>) -> Result<Vec<Secrets>> {
        Ok(secret::list(self.read(ctx, |commit| commit.secret_counts()).await?))
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
        commit_record(ctx, self.links.id().clone(), |_, record| record.rewritten).await
    }

    /// How many files it changes, against its first parent.
    async fn file_count(&self, ctx: &Context<'_>) -> Result<Option<usize>> {
        self.read(ctx, |commit| commit.changes.len()).await
    }

    /// The first of the files that it changes against its first parent, in git's order.
    async fn files(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most files, 0 to 100.", default = 50)] first: Option<i32>,
    ) -> Result<Option<Vec<FileChange>>> {
        let most = page::size(first, DEFAULT_EDGES)?;
        self.read(ctx, |commit| commit.changes.iter().take(most).map(FileChange::from).collect()).await
    }

    /// Its page at the forge; null if there is none.
    async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let url =
            |of: &RepositoryRecord, record: &CommitRecord| commit_url(of.context(), &record.commit.sha.to_string());
        Ok(commit_record(ctx, self.links.id().clone(), url).await?.and_then(some_url))
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
