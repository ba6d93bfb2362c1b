//! GraphQL types of commits and what they change.

use std::collections::BTreeSet;

use async_graphql::{Context, ID, Object, Result, SimpleObject, connection::Connection};
use backstory_engine::{
    graph::Direction,
    lists::CodeRow,
    model::{
        classify,
        commit::{self, Commit as CommitItem, FileChange as FileChangeItem, Sha, Signature},
        document::commit_url,
        edge::Edge,
        entity::Item,
        id::{NodeId, ThreadId, ThreadKind},
        repository::{CommitRecord, RepositoryItem, identity_key},
    },
};

use super::{
    super::{
        edge::{self, hundredths},
        issue::Issue,
        lists::{self, OrderDirection, Paging, Totals},
        loaders,
        merge_request::MergeRequest,
        names::{ChangeRule, ChangeStatus, ChangeType, DiffLineKind, HunksLeftOut},
        node::{Links, linked},
        page::{self, DEFAULT_PAGE},
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

/// A page of the files that a commit changes.
pub(crate) type FileChangeConnection = Connection<String, FileChange, Totals>;

/// A file that a commit changes.
pub(crate) struct FileChange {
    project: String,
    commit: NodeId,
    change: FileChangeItem,
}

/// A file that a commit changes.
#[Object]
impl FileChange {
    /// File under its path after the commit; of a deleted file, before it.
    async fn file(&self) -> File {
        File::new(self.project.clone(), self.change.path.as_str().to_owned())
    }

    /// Path after the commit; of a deleted file, before it.
    async fn path(&self) -> &str {
        self.change.path.as_str()
    }

    /// Path before the commit, of a renamed or copied file; null for others.
    async fn old_path(&self) -> Option<&str> {
        self.change.old_path.as_ref().map(|path| path.as_str())
    }

    /// File under its path before the commit, of a renamed or copied file; null for others.
    async fn old_file(&self) -> Option<File> {
        let path = self.change.old_path.as_ref()?;
        Some(File::new(self.project.clone(), path.as_str().to_owned()))
    }

    /// What happens to the file.
    async fn status(&self) -> ChangeStatus {
        self.change.status.into()
    }

    /// Share of a renamed or copied file that stays, 0 to 1; null for others.
    async fn similarity(&self) -> Option<f64> {
        self.change.similarity.map(|percent| f64::from(percent) / 100.0)
    }

    /// How many lines are added; null for a binary file.
    async fn additions(&self) -> Option<u32> {
        self.change.lines.map(|lines| lines.insertions)
    }

    /// How many lines are removed; null for a binary file.
    async fn deletions(&self) -> Option<u32> {
        self.change.lines.map(|lines| lines.deletions)
    }

    /// What differs, from top to bottom, without secrets; at most 5,000 lines of a file and 20,000 of a commit. Null if the
    /// commit changes too many files.
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
    /// Hunks from top to bottom.
    hunks: Vec<DiffHunk>,
    /// Why there are no hunks, or not all; null if all are there.
    left_out: Option<HunksLeftOut>,
}

/// Lines that changed, and some around them.
#[derive(SimpleObject)]
pub(crate) struct DiffHunk {
    /// Number of the first line in the old version, from 1; of the line before the hunk if it has no lines there.
    old_start: u32,
    /// How many lines of the old version the hunk has.
    old_line_count: u32,
    /// Number of the first line in the new version, from 1; of the line before the hunk if it has no lines there.
    new_start: u32,
    /// How many lines of the new version the hunk has.
    new_line_count: u32,
    /// Lines of the hunk in the order in which git shows them.
    lines: Vec<DiffLine>,
}

/// A line of a diff.
#[derive(SimpleObject)]
pub(crate) struct DiffLine {
    /// Version that has the line: old, new or both.
    kind: DiffLineKind,
    /// Text of the line.
    text: String,
}

impl From<&commit::Hunk> for DiffHunk {
    fn from(hunk: &commit::Hunk) -> Self {
        let line = |line: &commit::DiffLine| DiffLine { kind: line.kind.into(), text: line.text.clone() };
        Self {
            old_start: hunk.old_start,
            old_line_count: hunk.old_count,
            new_start: hunk.new_start,
            new_line_count: hunk.new_count,
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

    /// A page of the files that it changes; `None` if it is not in the index.
    pub(crate) async fn page_of_changes(
        &self,
        ctx: &Context<'_>,
        paging: &Paging,
    ) -> Result<Option<FileChangeConnection>> {
        let node = |change: &FileChangeItem| FileChange {
            project: self.project.clone(),
            commit: self.links.id().clone(),
            change: change.clone(),
        };
        let page = |commit: &CommitItem| {
            let all: Vec<(usize, &FileChangeItem)> = commit.changes.iter().enumerate().collect();
            lists::whole(all, OrderDirection::Ascending, paging, |(at, _)| at.to_string(), |(_, change)| node(change))
        };
        self.read(ctx, page).await?.transpose()
    }

    /// Whether it has several parents.
    pub(crate) async fn is_merge(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        self.read(ctx, CommitItem::is_merge).await
    }
}

// The interface asks for what all nodes have.
linked!(Commit, links);

/// A commit of a project's repository.
#[Object]
impl Commit {
    /// Id of the commit as a node, `acme/shop@1a2b3c4`.
    pub(crate) async fn id(&self) -> ID {
        self.links.id().to_string().into()
    }

    /// Whether backstory has read the commit, or knows a merge request that was merged as it. Other commits are only
    /// mentioned somewhere.
    pub(crate) async fn known(&self, ctx: &Context<'_>) -> Result<bool> {
        loaders::is_known(ctx, self.links.id().clone()).await
    }

    /// Object name in lower-case hex, 7 to 64 digits, as it was written where it was found.
    async fn sha(&self) -> &str {
        &self.sha
    }

    /// First line of the commit's message.
    async fn title(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |commit| commit.title().to_owned()).await
    }

    /// Summary by a language model, if `summarize` was ever called; null otherwise.
    async fn summary(&self, ctx: &Context<'_>) -> Result<Option<Summary>> {
        summary::of(ctx, self.links.id()).await
    }

    /// Whole message of the commit.
    async fn message(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        self.read(ctx, |commit| commit.message.clone()).await
    }

    /// Whether secrets were replaced in the message or found in the lines that the commit changes: the author should revoke
    /// them.
    async fn security_warning(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.read(ctx, |commit| !commit.secret_counts().is_empty()).await?.unwrap_or_default())
    }

    /// Secrets that were replaced in the message or found in the lines that the commit changes, by kind.
    async fn secrets(&self, ctx: &Context<'_>) -> Result<Vec<Secrets>> {
        Ok(secret::list(self.read(ctx, |commit| commit.secret_counts()).await?))
    }

    /// Person who wrote the change, by their account at the forge if that is known, else by their address.
    async fn author(&self, ctx: &Context<'_>) -> Result<Option<Person>> {
        person_of(ctx, self.read(ctx, |commit| commit.author.clone()).await?).await
    }

    /// Person who made the commit, by their account at the forge if that is known, else by their address.
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

    /// All merge requests that introduced the commit, the nearest first: one may be merged into the branch of another.
    async fn introduced_by(&self, ctx: &Context<'_>) -> Result<Vec<MergeRequest>> {
        let found = loaders::introducing(ctx, self.links.id().clone()).await?;
        Ok(found.iter().cloned().map(MergeRequest::new).collect())
    }

    /// Indexed branches that contain the commit, by name; only the first 50 branches are looked at.
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

    /// Parents of the commit, the first one first.
    async fn parents(&self, ctx: &Context<'_>) -> Result<Option<Vec<Self>>> {
        let parent = |sha: &Sha| Self::new(self.project.clone(), sha.to_string());
        self.read(ctx, |commit| commit.parents.iter().map(parent).collect()).await
    }

    /// Type of change that the commit is, by its message, files and lines; null for a merge.
    async fn change_type(&self, ctx: &Context<'_>) -> Result<Option<ChangeType>> {
        let found =
            self.read(ctx, |commit| classify::classify_commit(commit).map(|found| found.main.kind.into())).await?;
        Ok(found.flatten())
    }

    /// Confidence in the type of change, 0 to 1; null for a merge.
    async fn change_type_confidence(&self, ctx: &Context<'_>) -> Result<Option<f64>> {
        let main =
            |commit: &CommitItem| classify::classify_commit(commit).map(|found| hundredths(found.main.confidence));
        Ok(self.read(ctx, main).await?.flatten())
    }

    /// Rule that determined the type of change; null for a merge.
    async fn change_type_rule(&self, ctx: &Context<'_>) -> Result<Option<ChangeRule>> {
        let rule = |commit: &CommitItem| classify::classify_commit(commit).map(|found| found.main.rule.into());
        Ok(self.read(ctx, rule).await?.flatten())
    }

    /// Type of change according to a language model, if `enrich` was ever called; null otherwise.
    async fn model_classification(&self, ctx: &Context<'_>) -> Result<Option<ModelClassification>> {
        written::classification(ctx, self.links.id()).await
    }

    /// How many lines the commit adds, against its first parent.
    async fn additions(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
        self.read(ctx, |commit| commit.line_counts().0).await
    }

    /// How many lines the commit removes, against its first parent.
    async fn deletions(&self, ctx: &Context<'_>) -> Result<Option<u64>> {
        self.read(ctx, |commit| commit.line_counts().1).await
    }

    /// Whether no indexed branch reaches the commit any more, because history was rewritten.
    async fn rewritten(&self, ctx: &Context<'_>) -> Result<Option<bool>> {
        commit_record(ctx, self.links.id().clone(), |_, record| record.rewritten).await
    }

    /// Issues that the commit closes or fixes according to its message, by number.
    async fn closes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most issues, 0 to 100.", default_with = "Some(20)")] first: Option<i32>,
    ) -> Result<Vec<Issue>> {
        let size = page::size(first, DEFAULT_PAGE)?;
        let mut issues = BTreeSet::new();
        for edge in [Edge::Closes, Edge::Fixes] {
            let ends = edge::ends(ctx, self.links.id(), Direction::Out, edge).await?;
            issues.extend(ends.into_iter().filter_map(|end| match end {
                NodeId::Thread(id) if id.kind == ThreadKind::Issue => Some(id),
                _ => None,
            }));
        }
        Ok(issues.into_iter().take(size).map(Issue::new).collect())
    }

    /// Merge request that introduced the commit; null if none did.
    async fn merge_request(&self, ctx: &Context<'_>) -> Result<Option<MergeRequest>> {
        let row = loaders::code_row(ctx, self.links.id().clone()).await?;
        Ok(match row.as_deref() {
            Some(CodeRow::Commit(row)) => {
                row.merge_request.map(|iid| MergeRequest::new(ThreadId::merge_request(&row.project, iid)))
            }
            _ => None,
        })
    }

    /// Release in which the commit first shipped: that of the earliest tag that has it; null if none has.
    async fn first_release(&self, ctx: &Context<'_>) -> Result<Option<Release>> {
        release::first_release(ctx, &self.project, &self.sha).await
    }

    /// How many files the commit changes, against its first parent.
    async fn file_count(&self, ctx: &Context<'_>) -> Result<Option<usize>> {
        self.read(ctx, |commit| commit.changes.len()).await
    }

    /// Files that the commit changes against its first parent, in git's order; null if the commit is not in the index.
    async fn changed_files(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "How many from the start or after a cursor, 0 to 100; 20 if neither this nor `last` is given."
        )]
        first: Option<i32>,
        #[graphql(desc = "The endCursor of the previous page.")] after: Option<String>,
        #[graphql(desc = "How many from the end or before a cursor, 0 to 100.")] last: Option<i32>,
        #[graphql(desc = "The startCursor of the next page.")] before: Option<String>,
    ) -> Result<Option<FileChangeConnection>> {
        self.page_of_changes(ctx, &Paging { first, after, last, before }).await
    }

    /// Page of the commit at the forge; null if there is none.
    pub(crate) async fn url(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let url = |of: &RepositoryItem, record: &CommitRecord| commit_url(of.context(), &record.commit.sha.to_string());
        Ok(commit_record(ctx, self.links.id().clone(), url).await?.and_then(some_url))
    }

    /// Project that the commit belongs to.
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
