//! GraphQL types of git repositories: which are indexed, and their state.

use async_graphql::{ComplexObject, Context, Enum, ID, Result, SimpleObject};
use backstory_engine::{
    ledger, lists,
    repository::{self, AddRequest, CentralFilesRequest, ListRepositories, RepositoryStatus},
};

use super::{
    code::{self, Branch, Commit, File, Tree},
    loaders, page,
    project::Project,
    scalar::{BigInt, DateTime},
};

/// Central files of a repository, unless the request says how many.
const FEW_FILES: usize = 3;

/// A git repository that is indexed.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct Repository {
    #[graphql(skip)]
    path: String,
    /// Path or URL that the repository is cloned from.
    address: String,
    /// Which branches of the repository are indexed.
    branch_selection: IndexedBranches,
    /// When the repository was added.
    added_at: DateTime,
    /// When the repository was last fetched and indexed to the end; null if it never was.
    synced_at: Option<DateTime>,
    /// Branch that HEAD points at; null if the repository was never read.
    default_branch: Option<Branch>,
    /// Indexed commit at the head of the default branch; null if the repository was never read.
    head: Option<Commit>,
    /// State of the repository.
    state: RepositoryState,
    /// Why the repository could not be read when that was last tried; null if it could.
    last_error: Option<String>,
    /// When the repository could not be read; null if it could when that was last tried.
    failed_at: Option<DateTime>,
    /// Branches that are indexed with their newest indexed commits, by name.
    indexed: Vec<BranchTip>,
    /// How many commits are indexed.
    commit_count: u64,
    /// How many files the indexed head has.
    file_count: u64,
    /// How many indexed commits no branch reaches any more, because history was rewritten.
    rewritten_count: usize,
    /// What was left out because it cannot be read or is too large, in sentences.
    left_out: Vec<String>,
    /// Further branches, tags and commits whose files can be searched, by name.
    revisions: Vec<IndexedRevision>,
}

/// A further branch, tag or commit whose files are indexed.
#[derive(SimpleObject)]
pub(crate) struct IndexedRevision {
    /// Name of the branch or tag, or object name of the commit, as it was added.
    name: String,
    /// Commit that is indexed; null if the repository has nothing of that name.
    commit: Option<Commit>,
}

/// State of a repository.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "repository::RepositoryState")]
pub(crate) enum RepositoryState {
    /// The repository was added, and not read yet.
    New,
    /// The repository is being read.
    Indexing,
    /// The repository was read to the end when that was last tried.
    Ready,
    /// The repository could not be read when that was last tried; what was read before is there.
    #[graphql(name = "ERROR")]
    Failed,
}

/// Which branches of a repository are indexed.
#[derive(SimpleObject)]
pub(crate) struct IndexedBranches {
    /// Whether the default branch, some or all branches are indexed.
    which: BranchChoice,
    /// Names of branches that are indexed besides the default one; empty unless `which` is SELECTED.
    names: Vec<String>,
}

/// Which branches of a repository are indexed.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "repository::BranchChoice")]
pub(crate) enum BranchChoice {
    /// The branch that HEAD points at.
    Default,
    /// The branch that HEAD points at and those that are named.
    Selected,
    /// All branches.
    All,
}

/// How much of a repository is in a programming language.
#[derive(SimpleObject)]
pub(crate) struct LanguageShare {
    /// Name of the language.
    name: String,
    /// How many files are in the language.
    file_count: BigInt,
    /// How many bytes the files in the language have.
    bytes: BigInt,
    /// How many lines the files in the language have, of those whose content is read.
    line_count: BigInt,
    /// Share of the language in the bytes of all languages, 0 to 1.
    share: f64,
}

/// A share, 0 to 1, with four digits.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    #[allow(clippy::cast_precision_loss, reason = "bytes of a repository are far below 2^52")]
    let share = part as f64 / whole as f64;
    (share * 10_000.0).round() / 10_000.0
}

/// A branch and the commit of it that is indexed.
#[derive(SimpleObject)]
pub(crate) struct BranchTip {
    /// Branch that is indexed.
    branch: Branch,
    /// Newest commit of the branch that is indexed.
    commit: Commit,
}

/// What is looked up only if it is asked for.
#[ComplexObject]
impl Repository {
    /// Id of the repository, `acme/shop@repository`. The repository is not a node; its project is.
    async fn id(&self) -> ID {
        format!("{}@repository", self.path).into()
    }

    /// Project that the repository belongs to.
    async fn project(&self) -> Project {
        Project::new(self.path.clone())
    }

    /// Programming languages of the files at the indexed head, the one with most bytes first.
    async fn languages(&self, ctx: &Context<'_>) -> Result<Vec<LanguageShare>> {
        let found = loaders::engine(ctx)?.list_languages(&self.path).await?;
        let total: u64 = found.iter().map(|row| row.bytes).sum();
        let of_row = |row: lists::LanguageRow| LanguageShare {
            share: share(row.bytes, total),
            name: row.language,
            file_count: row.files.into(),
            bytes: row.bytes.into(),
            line_count: row.lines.into(),
        };
        Ok(found.into_iter().map(of_row).collect())
    }

    /// Directory of the repository at a revision; null, with an error, if there is no such directory or revision.
    async fn tree(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Path from its root; the root if absent.", default)] path: String,
        #[graphql(desc = "Branch, tag or commit; the indexed head if absent.")] rev: Option<String>,
    ) -> Result<Option<Tree>> {
        code::tree(ctx, self.path.clone(), path, rev).await.map(Some)
    }

    /// Files that the rest of the code refers to most, the most central first; others if none refers to another.
    async fn central_files(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most files, 0 to 100.", default_with = "Some(FEW_FILES as i32)")] first: Option<i32>,
    ) -> Result<Vec<File>> {
        let limit = page::size(first, FEW_FILES)?;
        let paths = loaders::engine(ctx)?.answer(CentralFilesRequest { project: self.path.clone(), limit }).await?;
        Ok(paths.into_iter().map(|path| File::new(self.path.clone(), path)).collect())
    }
}

impl From<RepositoryStatus> for Repository {
    fn from(status: RepositoryStatus) -> Self {
        let project = || status.project.clone();
        let tip = |tip: repository::BranchTip| BranchTip {
            branch: Branch::new(project(), tip.branch),
            commit: Commit::new(project(), tip.sha.to_string()),
        };
        let indexed = status.indexed.into_iter().map(tip).collect();
        let revision = |of: backstory_engine::revisions::IndexedRevision| IndexedRevision {
            commit: of.commit.map(|commit| Commit::new(project(), commit.to_string())),
            name: of.name,
        };
        let revisions = status.revisions.into_iter().map(revision).collect();
        let default_branch = status.default_branch.map(|name| Branch::new(project(), name));
        let head = status.head.map(|head| Commit::new(project(), head.to_string()));
        Self {
            path: status.project,
            address: status.address,
            branch_selection: IndexedBranches { which: status.branches.which.into(), names: status.branches.names },
            added_at: status.added_at.into(),
            synced_at: status.synced_at.map(DateTime::from),
            default_branch,
            head,
            state: status.state.into(),
            last_error: status.last_error,
            failed_at: status.failed_at.map(DateTime::from),
            indexed,
            commit_count: status.commits,
            file_count: status.files,
            rewritten_count: usize::try_from(status.rewritten).unwrap_or(usize::MAX),
            left_out: status.left_out,
            revisions,
        }
    }
}

impl Repository {
    /// The repository of a project; `None` if none is indexed.
    pub(super) async fn find(ctx: &Context<'_>, project: &str) -> Result<Option<Self>> {
        let all = loaders::engine(ctx)?.answer(ListRepositories {}).await?;
        Ok(all.into_iter().find(|status| status.project == project).map(Self::from))
    }
}

/// All repositories, by project.
pub(super) async fn all(ctx: &Context<'_>) -> Result<Vec<Repository>> {
    Ok(loaders::engine(ctx)?.answer(ListRepositories {}).await?.into_iter().map(Repository::from).collect())
}

/// Which branches are meant.
pub(super) fn branches(named: Vec<String>, all: bool) -> Result<ledger::Branches> {
    match (named.is_empty(), all) {
        (true, false) => Ok(ledger::Branches::Default),
        (false, false) => Ok(ledger::Branches::Selected(named)),
        (true, true) => Ok(ledger::Branches::All),
        (false, true) => Err(page::invalid("name branches or ask for all of them, not both").into()),
    }
}

/// Puts a repository on the list.
pub(super) async fn add(ctx: &Context<'_>, request: AddRequest) -> Result<Repository> {
    Ok(loaders::engine(ctx)?.answer(request).await?.into())
}
