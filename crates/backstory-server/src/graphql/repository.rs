//! GraphQL types of git repositories: which are indexed, and their state.

use async_graphql::{ComplexObject, Context, Enum, Result, SimpleObject};
use backstory_engine::{
    ledger,
    repository::{self, AddRequest, CentralFilesRequest, ListRepositories, RepositoryStatus},
};

use super::{code::File, loaders, page, scalar::DateTime};

/// Central files of a repository, unless the request says how many.
const FEW_FILES: usize = 3;

/// A git repository that is indexed.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct Repository {
    /// Full path of its project.
    project: String,
    /// Path or URL that it is cloned from.
    address: String,
    /// Which of its branches are indexed.
    branches: BranchSelection,
    /// When it was added.
    added_at: DateTime,
    /// When it was last fetched and indexed to the end; null if it never was.
    synced_at: Option<DateTime>,
    /// Branch that its HEAD points at; null if it was never read.
    default_branch: Option<String>,
    /// The indexed commit at the head of the default branch.
    head: Option<String>,
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

/// A branch and the commit of it that is indexed.
#[derive(SimpleObject)]
pub(crate) struct BranchTip {
    /// Name of the branch.
    branch: String,
    /// Object name of the commit.
    sha: String,
}

/// What is looked up only if it is asked for.
#[ComplexObject]
impl Repository {
    /// Its files that the rest of its code refers to most, the most central first; others if none refers to another.
    async fn central_files(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Most files, 0 to 100.", default_with = "Some(FEW_FILES as i32)")] first: Option<i32>,
    ) -> Result<Vec<File>> {
        let limit = page::size(first, FEW_FILES)?;
        let paths = loaders::engine(ctx)?.answer(CentralFilesRequest { project: self.project.clone(), limit }).await?;
        Ok(paths.into_iter().map(|path| File::new(self.project.clone(), path)).collect())
    }
}

impl From<RepositoryStatus> for Repository {
    fn from(status: RepositoryStatus) -> Self {
        let tip = |tip: repository::BranchTip| BranchTip { branch: tip.branch, sha: tip.sha.to_string() };
        Self {
            project: status.project,
            address: status.address,
            branches: BranchSelection { which: status.branches.which.into(), names: status.branches.names },
            added_at: status.added_at.into(),
            synced_at: status.synced_at.map(DateTime::from),
            default_branch: status.default_branch,
            head: status.head.map(|head| head.to_string()),
            state: status.state.into(),
            last_error: status.last_error,
            failed_at: status.failed_at.map(DateTime::from),
            indexed: status.indexed.into_iter().map(tip).collect(),
            commits: status.commits,
            files: status.files,
            rewritten: usize::try_from(status.rewritten).unwrap_or(usize::MAX),
            left_out: status.left_out,
        }
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
