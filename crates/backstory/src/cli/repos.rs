//! `repos`

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Session;
use crate::{
    client::Client,
    failure::Result,
    output::{Terminal, minute, plain, thousands},
};

const REPOSITORIES: &str = include_str!("../../../../queries/graphql/repositories.graphql");
/// Hex digits of an object name that are shown.
const SHORT: usize = 8;

/// List the git repositories that are indexed
#[derive(clap::Args)]
#[command(after_long_help = "Example:\n  backstory repos")]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Answer {
    repositories: Vec<Repository>,
}

/// A git repository, as the API tells of it and `--json` prints it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all(deserialize = "camelCase"))]
pub(super) struct Repository {
    pub(super) project: String,
    pub(super) address: String,
    branches: Branches,
    added_at: Timestamp,
    pub(super) synced_at: Option<Timestamp>,
    pub(super) default_branch: Option<String>,
    pub(super) head: Option<String>,
    #[serde(deserialize_with = "super::arguments::lower_case")]
    state: String,
    last_error: Option<String>,
    failed_at: Option<Timestamp>,
    indexed: Vec<Indexed>,
    pub(super) commits: u64,
    pub(super) files: u64,
    rewritten: u64,
    left_out: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Branches {
    #[serde(deserialize_with = "super::arguments::lower_case")]
    which: String,
    names: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Indexed {
    branch: String,
    sha: String,
}

impl Repository {
    /// `main at 1a2b3c4d`
    pub(super) fn shown_head(&self) -> String {
        match (&self.default_branch, &self.head) {
            (Some(branch), Some(head)) => format!("{} at {}", plain(branch), short(head)),
            (None, Some(head)) => short(head).to_owned(),
            (_, None) => "not indexed".to_owned(),
        }
    }

    /// Why it could not be read when that was last tried, as a sentence.
    pub(super) fn failure(&self) -> Option<String> {
        let project = plain(&self.project);
        failure(&format!("the repository of {project}"), self.failed_at, self.last_error.as_deref())
    }

    /// Whether a branch of it is indexed.
    pub(super) fn has_branch(&self, name: &str) -> bool {
        self.indexed.iter().any(|indexed| indexed.branch == name)
    }

    /// What of it was left out, as sentences.
    pub(super) fn left_out(&self) -> impl Iterator<Item = String> {
        self.left_out.iter().map(|what| format!("{}: {}", plain(&self.project), plain(what)))
    }

    /// Says what of it was left out.
    pub(super) fn tell_left_out(&self, terminal: &Terminal) {
        self.left_out().for_each(|what| terminal.warning(what));
    }

    fn shown_branches(&self) -> String {
        match self.branches.which.as_str() {
            "all" => "all".to_owned(),
            "selected" => plain(&self.branches.names.join(", ")),
            _ => "default".to_owned(),
        }
    }
}

/// The beginning of an object name, as it is shown.
pub(super) fn short(sha: &str) -> &str {
    sha.get(..SHORT).unwrap_or(sha)
}

/// `the repository of acme/shop could not be read on 2024-03-15 10:00: it is gone`
pub(super) fn failure(what: &str, at: Option<Timestamp>, error: Option<&str>) -> Option<String> {
    let (at, error) = (minute(at?), plain(error?));
    Some(format!("{what} could not be read on {at}: {error}"))
}

/// Every repository, by project.
pub(super) async fn all(client: &Client) -> Result<Vec<Repository>> {
    let answer: Answer = client.run(REPOSITORIES, json!({})).await?;
    Ok(answer.repositories)
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
    let repositories = all(client).await?;
    let added: Vec<&str> = repositories.iter().map(|repository| repository.project.as_str()).collect();
    projects.iter().try_for_each(|project| config.require_project(project, &added))
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let client = Client::open(session, "repos", || Ok(())).await?;
    let repositories = all(&client).await?;
    let terminal = &session.terminal;
    if args.json {
        return Ok(terminal.json(&repositories)?);
    }
    if repositories.is_empty() {
        return Ok(terminal.line("No repository is indexed; 'backstory add PATH' adds one.")?);
    }
    let row = |repository: &Repository| {
        vec![
            repository.project.clone(),
            repository.state.clone(),
            repository.shown_head(),
            repository.shown_branches(),
            thousands(repository.commits),
            thousands(repository.files),
            repository.synced_at.map_or("never".to_owned(), minute),
            plain(&repository.address),
        ]
    };
    let headings = ["project", "state", "head", "branches", "commits", "files", "synced", "address"];
    terminal.table(&headings, &["commits", "files"], repositories.iter().map(row).collect())?;
    repositories.iter().filter_map(Repository::failure).for_each(|failure| terminal.warning(failure));
    repositories.iter().for_each(|repository| repository.tell_left_out(terminal));
    Ok(())
}
