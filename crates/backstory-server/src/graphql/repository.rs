//! GraphQL types of git repositories: which are indexed, and their state.

use async_graphql::{ComplexObject, Context, Enum, Result, SimpleObject};
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
    /// Path or URL that it is cloned from.
    address: String,
    /// Which of its branches are indexed.
    branches: BranchSelection,
    /// When it was added.
    added_at: DateTime,
    /// When it was last fetched and indexed to the end; null if it never was.
    synced_at: Option<DateTime>,
    /// Branch that its HEAD points at; null if it was never read.
    default_branch: Option<Branch>,
    /// The indexed commit at the head of the default branch.
    head: Option<Commit>,
    /// Its state.
    state: RepositoryState,
    /// Why it could not be read when that was last tried; null if it could.
    last_error: Option<String>,
    /// When that was tried.
    failed_at: Option<DateTime>,
    /// The branches that are indexed, by name.
    indexed: Vec<BranchTip>,
    /// Commits that are indexed.
    commits: u64,
    /// Files at the indexed head.
    files: u64,
    /// Indexed commits that no branch reaches any more, because history was rewritten.
    rewritten: usize,
    /// What of it was left out because it cannot be read or is too large, in sentences.
    left_out: Vec<String>,
}

/// State of a repository.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "repository::RepositoryState")]
pub(crate) enum RepositoryState {
    /// Added, and not read yet.
    New,
    /// Being read.
    Indexing,
    /// Read to the end when that was last tried.
    Ready,
    /// It could not be read when that was last tried; what was read before is there.
    #[graphql(name = "ERROR")]
    Failed,
}

/// Which branches of a repository are indexed.
#[derive(SimpleObject)]
pub(crate) struct BranchSelection {
    /// Which.
    which: BranchChoice,
    /// Names of those that are indexed besides the default one, with SELECTED.
    names: Vec<String>,
}

/// Which branches of a repository are indexed.
#[derive(Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "repository::BranchChoice")]
pub(crate) enum BranchChoice {
    /// The one that HEAD points at.
    Default,
    /// That one and those that are named.
    Selected,
    /// All.
    All,
}

/// How much of a repository is in a programming language.
#[derive(SimpleObject)]
pub(crate) struct LanguageShare {
    /// Its name.
    name: String,
    /// Files in it.
    files: BigInt,
    /// Bytes of these.
    bytes: BigInt,
    /// Lines of these whose content is read.
    lines: BigInt,
    /// Share of the bytes of all languages, in percent.
    share: f64,
}

/// A share in percent, with two digits.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    #[allow(clippy::cast_precision_loss, reason = "bytes of a repository are far below 2^52")]
    let share = part as f64 / whole as f64;
    (share * 10_000.0).round() / 100.0
}

/// A branch and the commit of it that is indexed.
#[derive(SimpleObject)]
pub(crate) struct BranchTip {
    /// The branch.
    branch: Branch,
    /// The commit.
    commit: Commit,
}

/// What is looked up only if it is asked for.
#[ComplexObject]
impl Repository {
    /// Its project.
    async fn project(&self) -> Project {
        Project::new(self.path.clone())
    }

    /// The programming languages of the files at its indexed head, the one with most bytes first.
    async fn languages(&self, ctx: &Context<'_>) -> Result<Vec<LanguageShare>> {
        let found = loaders::engine(ctx)?.list_languages(&self.path).await?;
        let total: u64 = found.iter().map(|row| row.bytes).sum();
        let share = |row: lists::LanguageRow| LanguageShare {
            share: percent(row.bytes, total),
            name: row.language,
            files: row.files.into(),
            bytes: row.bytes.into(),
            lines: row.lines.into(),
        };
        Ok(found.into_iter().map(share).collect())
    }

    /// A directory at a revision.
    async fn tree(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Path from its root; the root if absent.", default)] path: String,
        #[graphql(desc = "Branch, tag or commit; the indexed head if absent.")] rev: Option<String>,
    ) -> Result<Option<Tree>> {
        code::tree(ctx, self.path.clone(), path, rev).await.map(Some)
    }

    /// Its files that the rest of its code refers to most, the most central first; others if none refers to another.
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
        let default_branch = status.default_branch.map(|name| Branch::new(project(), name));
        let head = status.head.map(|head| Commit::new(project(), head.to_string()));
        Self {
            path: status.project,
            address: status.address,
            branches: BranchSelection { which: status.branches.which.into(), names: status.branches.names },
            added_at: status.added_at.into(),
            synced_at: status.synced_at.map(DateTime::from),
            default_branch,
            head,
            state: status.state.into(),
            last_error: status.last_error,
            failed_at: status.failed_at.map(DateTime::from),
            indexed,
            commits: status.commits,
            files: status.files,
            rewritten: usize::try_from(status.rewritten).unwrap_or(usize::MAX),
            left_out: status.left_out,
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
