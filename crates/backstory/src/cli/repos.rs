//! `repos`: lists the git repositories that are indexed.

use backstory_engine::repository::{BranchChoice, ListRepositories, RepositoryStatus};
use jiff::Timestamp;

use super::Session;
use crate::{
    client::Client,
    failure::Result,
    output::{Terminal, escape_terminal, minute, thousands},
};

/// List the git repositories that are indexed
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory repos")]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `main at 1a2b3c4d`
pub(super) fn head_of(repository: &RepositoryStatus) -> String {
    match (&repository.default_branch, repository.head) {
        (Some(branch), Some(head)) => format!("{} at {}", escape_terminal(branch), head.short()),
        (None, Some(head)) => head.short(),
        (_, None) => "not indexed".to_owned(),
    }
}

/// Why a repository could not be read when that was last tried, as a sentence.
pub(super) fn failure_of(repository: &RepositoryStatus) -> Option<String> {
    let what = format!("the repository of {}", escape_terminal(&repository.project));
    failure(&what, repository.failed_at, repository.last_error.as_deref())
}

/// What was left out of a repository, as sentences.
pub(super) fn left_out_of(repository: &RepositoryStatus) -> impl Iterator<Item = String> {
    repository
        .left_out
        .iter()
        .map(|what| format!("{}: {}", escape_terminal(&repository.project), escape_terminal(what)))
}

/// Says what was left out of a repository.
pub(super) fn tell_left_out(terminal: &Terminal, repository: &RepositoryStatus) {
    left_out_of(repository).for_each(|what| terminal.warning(what));
}

fn branches_of(repository: &RepositoryStatus) -> String {
    match repository.branches.which {
        BranchChoice::All => "all".to_owned(),
        BranchChoice::Selected => escape_terminal(&repository.branches.names.join(", ")),
        BranchChoice::Default => "default".to_owned(),
    }
}

/// `the repository of acme/shop could not be read on 2024-03-15 10:00: it is gone`
pub(super) fn failure(what: &str, at: Option<Timestamp>, error: Option<&str>) -> Option<String> {
    let (at, error) = (minute(at?), escape_terminal(error?));
    Some(format!("{what} could not be read on {at}: {error}"))
}

/// Refuses projects that are neither configured nor a repository that was added.
///
/// # Errors
/// One is not, and what is known.
pub(super) async fn require_projects(session: &Session, client: &Client, projects: &[String]) -> Result<()> {
    let config = session.config()?;
    let is_configured = |project: &&String| config.settings.projects().any(|(_, known)| known == *project);
    if projects.iter().all(|project| is_configured(&project)) {
        return Ok(());
    }
    let repositories = client.answer(ListRepositories {}).await?;
    let added: Vec<&str> = repositories.iter().map(|repository| repository.project.as_str()).collect();
    projects.iter().try_for_each(|project| config.require_project(project, &added))
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "repos", || Ok(())).await?;
    let repositories = client.answer(ListRepositories {}).await?;
    let terminal = &session.terminal;
    if args.json {
        return Ok(terminal.json(&repositories)?);
    }
    if repositories.is_empty() {
        return Ok(terminal.line("No repository is indexed; 'backstory add PATH' adds one.")?);
    }
    let row = |repository: &RepositoryStatus| {
        vec![
            repository.project.clone(),
            repository.state.as_str().to_owned(),
            head_of(repository),
            branches_of(repository),
            thousands(repository.commits),
            thousands(repository.files),
            repository.synced_at.map_or("never".to_owned(), minute),
            escape_terminal(&repository.address),
        ]
    };
    let headings = ["project", "state", "head", "branches", "commits", "files", "synced", "address"];
    terminal.table(&headings, &["commits", "files"], repositories.iter().map(row).collect())?;
    repositories.iter().filter_map(failure_of).for_each(|failure| terminal.warning(failure));
    repositories.iter().for_each(|repository| tell_left_out(terminal, repository));
    Ok(())
}
