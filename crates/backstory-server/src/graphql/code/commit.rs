//! GraphQL types of commits and what they change.

use async_graphql::{Context, ID, Object, Result, SimpleObject};
use backstory_engine::{
    lists::NodeRow,
    model::{
        classify,
        commit::{self, Commit as CommitItem, FileChange as FileChangeItem, Sha, Signature},
        document::commit_url,
        entity::Item,
        id::{NodeId, ThreadId},
        repository::{CommitRecord, RepositoryRecord, identity_key},
    },
};

use super::{
    super::{
        edge::hundredths,
        loaders,
        merge_request::MergeRequest,
        names::{ChangeRule, ChangeStatus, ChangeType, DiffLineKind, HunksLeftOut},
        node::{Links, linked},
        page::{self, DEFAULT_EDGES},
        person::Person,
        project::Project,
        release::{self, Release},
        scalar::DateTime,
        secret::{self, Secrets},
        summary::{self, Summary},
        written::{self, ModelClassification},
    },
    Branch, File, commit_record, some_url,
};

/// A file that a commit changes.
pub(crate) struct FileChange {
    project: String,
    commit: NodeId,
    change: FileChangeItem,
}

/// A file that a commit changes.
#[Object]
impl FileChange {
    /// The file, under its path after the commit; of a deleted file, before it.
    async fn file(&self) -> File {
        File::new(self.project.clone(), self.change.path.as_str().to_owned())
    }

    /// Path after the commit; of a deleted file, before it.
    async fn path(&self) -> &str {
        self.change.path.as_str()
    }

    /// Path before the commit if it is another: of a renamed or copied file.
    async fn old_path(&self) -> Option<&str> {
        self.change.old_path.as_ref().map(|path| path.as_str())
    }

    /// The file under that path.
    async fn old_file(&self) -> Option<File> {
        let path = self.change.old_path.as_ref()?;
        Some(File::new(self.project.clone(), path.as_str().to_owned()))
    }

    /// What happens to it.
    async fn status(&self) -> ChangeStatus {
        self.change.status.into()
    }

    /// How much of a renamed or copied file stays, in percent.
    async fn similarity(&self) -> Option<u8> {
        self.change.similarity
    }

    /// Lines added; null for a binary file.
    async fn additions(&self) -> Option<u32> {
        self.change.lines.map(|lines| lines.insertions)
    }

    /// Lines removed; null for a binary file.
    async fn deletions(&self) -> Option<u32> {
        self.change.lines.map(|lines| lines.deletions)
    }

    /// What differs, from top to bottom, without secrets; at most 5,000 lines of a file and 20,000 of a commit.
    async fn hunks(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Lines around a change, 0 to 100.", default = 3)] context: u32,
    ) -> Result<Option<FileHunks>> {
        let path = self.change.path.as_str().to_owned();
        let hunks = loaders::hunks(ctx, self.commit.clone(), path, context).await?;
        Ok(hunks.map(|found| FileHunks {
            hunks: found.hunks.iter().map(DiffHunk::from).collect(),
            left_out: found.left_out.map(HunksLeftOut::from),
        }))
    }
}

/// What differs between two versions of a file.
#[derive(SimpleObject)]
pub(crate) struct FileHunks {
    /// From top to bottom.
    hunks: Vec<DiffHunk>,
    /// Why there are none, or not all.
    left_out: Option<HunksLeftOut>,
}

/// Lines that changed, and some around them.
#[derive(SimpleObject)]
pub(crate) struct DiffHunk {
    /// Number of the first line in the old version, from 1; the line before if there is none.
    old_start: u32,
    /// Lines of the old version.
    old_lines: u32,
    /// Number of the first line in the new version, from 1; the line before if there is none.
    new_start: u32,
    /// Lines of the new version.
    new_lines: u32,
    /// The lines in the order in which git shows them.
    lines: Vec<DiffLine>,
}

/// A line of a diff.
#[derive(SimpleObject)]
pub(crate) struct DiffLine {
    /// Where it stands.
    kind: DiffLineKind,
    /// The line.
    text: String,
}

impl From<&commit::Hunk> for DiffHunk {
    fn from(hunk: &commit::Hunk) -> Self {
        let line = |line: &commit::DiffLine| DiffLine { kind: line.kind.into(), text: line.text.clone() };
        Self {
            old_start: hunk.old_start,
            old_lines: hunk.old_count,
            new_start: hunk.new_start,
            new_lines: hunk.new_count,
            lines: hunk.lines.iter().map(line).collect(),
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

    /// The first of the files that it changes; `None` if it is not in the index.
    pub(crate) async fn list_changes(&self, ctx: &Context<'_>, most: usize) -> Result<Option<Vec<FileChange>>> {
        let id = self.links.id();
        let change = |change: &FileChangeItem| FileChange {
            project: self.project.clone(),
            commit: id.clone(),
            change: change.clone(),
        };
        self.read(ctx, |commit| commit.changes.iter().take(most).map(change).collect()).await
    }

    /// Whether it has several parents.
    pub(crate) async fn is_merge(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        self.read(ctx, CommitItem::is_merge).await
    }
}

// The interface asks for what all nodes have.
linked!(Commit, links);

/// A commit.
#[Object]
impl Commit {
    /// Its reference, `acme/shop@1a2b3c4`.
    pub(crate) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// The same as the id.
    #[graphql(name = "ref")]
    pub(crate) async fn reference(&self) -> String {
        self.links.id().to_string()
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

    /// What a language model wrote about it, if `summarize` was ever asked for; null otherwise.
    async fn summary(&self, ctx: &Context<'_>) -> Result<Option<Summary>> {
        summary::of(ctx, self.links.id()).await
    }

    /// Its whole message.
    async fn message(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |commit| commit.message.clone()).await
    }

    /// Whether secrets were replaced in its message or found in the lines it changes: the author should revoke them.
    async fn security_warning(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |commit| !commit.secret_counts().is_empty()).await?.unwrap_or_default())
    }

    /// Which secrets were replaced in its message or found in the lines it changes.
    async fn secrets(&self, ctx: &Context<'_>) -> Result<Vec<Secrets>> {
        Ok(secret::list(self.read(ctx, |commit| commit.secret_counts()).await?))
    }

    /// Who wrote the change: their account at the forge if that is known, else who commits know by the address.
    async fn author(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        person_of(ctx, self.read(ctx, |commit| commit.author.clone()).await?).await
    }

    /// Who made the commit, found in the same way as the author.
    async fn committer(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        person_of(ctx, self.read(ctx, |commit| commit.committer.clone()).await?).await
    }

    /// Name of who made the commit, as the repository's mailmap has it.
    async fn committer_name(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |commit| commit.committer.name.clone()).await
    }

    /// Address of who made the commit, as the repository's mailmap has it.
    async fn committer_email(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |commit| commit.committer.email.clone()).await
    }

    /// All merge requests that introduced it, the nearest first: one may be merged into the branch of another.
    async fn introduced_by(&self, ctx: &Context<'_>) -> Result<Vec<MergeRequest>> {
        let found = loaders::introducing(ctx, self.links.id().clone()).await?;
        Ok(found.iter().cloned().map(MergeRequest::new).collect())
    }

    /// The indexed branches that have it, by name; of the first 50 branches.
    async fn on_branches(&self, ctx: &Context<'_>) -> Result<Vec<Branch>> {
        let names = loaders::engine(ctx)?.branches_with_commit(&self.project, &self.sha).await?;
        Ok(names.into_iter().map(|name| Branch::new(self.project.clone(), name)).collect())
    }

    /// Name of who wrote the change, as the repository's mailmap has it.
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
        let found =
            self.read(ctx, |commit| classify::classify_commit(commit).map(|found| found.main.kind.into())).await?;
        Ok(found.flatten())
    }

    /// How sure that is, 0 to 1.
    async fn change_type_confidence(&self, ctx: &Context<'_>) -> Result<Option<f64>> {
        let main =
            |commit: &CommitItem| classify::classify_commit(commit).map(|found| hundredths(found.main.confidence));
        Ok(self.read(ctx, main).await?.flatten())
    }

    /// Which rule told it.
    async fn change_type_rule(&self, ctx: &Context<'_>) -> Result<Option<ChangeRule>> {
        let rule = |commit: &CommitItem| classify::classify_commit(commit).map(|found| found.main.rule.into());
        Ok(self.read(ctx, rule).await?.flatten())
    }

    /// What sort of change a language model takes it for, if `enrich` was ever asked for; null otherwise.
    async fn model_classification(&self, ctx: &Context<'_>) -> Result<Option<ModelClassification>> {
        written::classification(ctx, self.links.id()).await
    }

    /// Lines that it adds, against its first parent.
    async fn additions(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
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

    /// The merge request that introduced it; null if none did.
    async fn merge_request(&self, ctx: &Context<'_>) -> Result<Option<MergeRequest>> {
        let row = loaders::row(ctx, self.links.id().clone()).await?;
        Ok(match row.as_deref() {
            Some(NodeRow::Commit(row)) => {
                row.merge_request.map(|iid| MergeRequest::new(ThreadId::merge_request(&row.project, iid)))
            }
            _ => None,
        })
    }

    /// The release in which it first shipped: the earliest tag that has it; null if none has.
    async fn first_release(&self, ctx: &Context<'_>) -> Result<Option<Release>> {
        release::first_release(ctx, &self.project, &self.sha).await
    }

    /// How many files it changes, against its first parent.
    async fn file_count(&self, ctx: &Context<'_>) -> Result<Option<usize>> {
        self.read(ctx, |commit| commit.changes.len()).await
    }

    /// The first of the files that it changes against its first parent, in git's order.
    async fn changed_files(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most files, 0 to 100.", default = 50)] first: Option<i32>,
    ) -> Result<Option<Vec<FileChange>>> {
        self.list_changes(ctx, page::size(first, DEFAULT_EDGES)?).await
    }

    /// Its page at the forge; null if there is none.
    pub(crate) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
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

/// Who a signature names: the account that their identity is known to belong to, else the identity.
async fn person_of(ctx: &Context<'_>, signature: Option<Signature>) -> Result<Option<Person>> {
    let Some(signature) = signature else { return Ok(None) };
    let key = identity_key(&signature.name, &signature.email);
    let identity = loaders::item(ctx, NodeId::person(&key)).await?;
    let account = match identity.as_deref() {
        Some(Item::Identity(identity)) => identity.same_as.clone(),
        _ => None,
    };
    Ok(Some(Person::new(account.unwrap_or(key))))
}
