//! `doctor`: checks the configuration, the forges, git, the repositories, the stores, the embedding model and agents.

mod agents;
mod freshness;

use std::fmt;

use backstory_engine::{
    Engine,
    embed::{Embedder, Provider},
    error::ErrorKind,
    index::Coverage,
    provider::ProviderError,
    repository::{CloneProblem, ListRepositories},
    settings::{Forge, group_of_pattern},
    sources::{
        forge::{self, Client as ForgeClient, required_token},
        git::{GitProgram, command::GitSettings},
    },
    stats::StatsRequest,
};
use serde::Serialize;
use serde_json::json;

use super::{
    Session,
    auth_test::{RETRIES, refusal},
    repos, stats,
    task::coverage,
};
use crate::{
    client::{Client, LockOwnerClient},
    config::{self, Config, Credential},
    data_dir::{Claim, ClaimIntent, DataDir},
    failure::{Failure, Result},
    output::{BAD, GOOD, WARNING, escape_terminal, pluralize},
};

/// Check the configuration, the forges, git, the repositories, the stores, the embedding model and agents
///
/// Each check prints a line: ✓ all is well, ! something could be better, ✗ something must be fixed.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n  backstory doctor\n  backstory doctor --json")]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warning,
    Failed,
}

#[derive(Debug, Serialize)]
struct Check {
    name: String,
    status: Status,
    detail: String,
    #[serde(skip)]
    code: u8,
}

#[derive(Default)]
struct Report {
    checks: Vec<Check>,
}

impl Report {
    fn ok(&mut self, name: impl fmt::Display, detail: impl fmt::Display) {
        self.add(name, Status::Ok, detail, 0);
    }

    fn warn(&mut self, name: impl fmt::Display, detail: impl fmt::Display) {
        self.add(name, Status::Warning, detail, 0);
    }

    fn fail(&mut self, name: impl fmt::Display, failure: Failure) {
        let code = failure.code;
        self.add(name, Status::Failed, failure.sentence(), code);
    }

    fn add(&mut self, name: impl fmt::Display, status: Status, detail: impl fmt::Display, code: u8) {
        self.checks.push(Check { name: name.to_string(), status, detail: detail.to_string(), code });
    }

    /// What to exit with: that of the first failure.
    fn code(&self) -> u8 {
        self.checks.iter().find(|check| check.status == Status::Failed).map_or(0, |check| check.code)
    }
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let mut report = Report::default();
    match session.config() {
        Ok(config) => {
            if config.path.exists() {
                report.ok("configuration", config.path.display());
            } else {
                report.ok("configuration", "no file, which is fine; 'backstory init' writes one for a forge");
            }
            check_all(session, config, &mut report).await;
        }
        Err(failure) => report.fail("configuration", failure),
    }
    let code = report.code();
    if args.json {
        session.terminal.json(&json!({ "success": code == 0, "checks": report.checks }))?;
    } else {
        print(session, &report)?;
    }
    if code == 0 { Ok(()) } else { Err(Failure { code, ..Failure::reported() }) }
}

fn print(session: &Session, report: &Report) -> Result<()> {
    let width = report.checks.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
    for Check { name, status, detail, .. } in &report.checks {
        let (style, mark) = match status {
            Status::Ok => (GOOD, '✓'),
            Status::Warning => (WARNING, '!'),
            Status::Failed => (BAD, '✗'),
        };
        session.terminal.line(format_args!("{style}{mark}{style:#} {name:width$}  {}", escape_terminal(detail)))?;
    }
    Ok(())
}

async fn check_all(session: &Session, config: &Config, report: &mut Report) {
    for (forge, token) in config.forges() {
        check_forge(forge, token, report).await;
    }
    check_git(config, report);
    let embedding = check_embedding(config, report).await;
    check_reranking(config, report);
    check_stores(session, config, embedding, report).await;
}

/// Repositories cannot be read without; what a forge knows can.
fn check_git(config: &Config, report: &mut Report) {
    let ssh_agent = config.settings.repositories.ssh_agent.clone();
    match GitProgram::find(GitSettings { ssh_agent, ..GitSettings::default() }) {
        Ok(git) => {
            let (major, minor) = git.version();
            report.ok("git", format_args!("version {major}.{minor}"));
        }
        Err(error) => report.warn("git", error),
    }
}

async fn check_clones(engine: &Engine, report: &mut Report) {
    match engine.check_clones().await {
        Ok(clones) => {
            for (project, problem) in clones {
                match problem {
                    None => report.ok("repository", format_args!("the clone of {project} can be read")),
                    Some(problem) => {
                        let (option, what) = match &problem {
                            CloneProblem::NotIndexed => ("", "goes on with it"),
                            CloneProblem::Missing => ("", "clones it again"),
                            CloneProblem::Damaged(_) => ("--full ", "reads it again"),
                        };
                        let message =
                            format!("{project}: {problem}; 'backstory sync {option}--project {project}' {what}");
                        report.fail("repository", Failure::new(ErrorKind::Internal, message));
                    }
                }
            }
        }
        Err(error) => report.fail("repository", error.into()),
    }
}

/// How to reach a forge while somebody waits for the answer.
fn connection(forge: &Forge) -> forge::ForgeSettings {
    forge::ForgeSettings { retries: RETRIES, ..forge.connection.clone() }
}

async fn check_forge(forge: &Forge, token: &Credential, report: &mut Report) {
    let url = config::address(forge);
    let variable = token.variable.as_deref().unwrap_or_default();
    match token.missing_variable() {
        Some(variable) => {
            let what = format!("a token for {url} {}", required_token(forge.kind));
            return report.fail("token", Failure::configuration(config::missing_variable(variable, &what)));
        }
        None if variable.is_empty() => {
            report.warn("token", format_args!("none for {url}; only public projects can be read"))
        }
        None => report.ok("token", format_args!("{variable} is set")),
    }
    let client = match ForgeClient::new(forge.kind, &connection(forge)) {
        Ok(client) => client,
        Err(error) => return report.fail("forge", refusal(error, forge.kind, url, variable)),
    };
    if !variable.is_empty() {
        match client.current_user().await {
            Ok(account) => {
                report.ok("forge", format_args!("{url}, authenticated as @{} ({})", account.username, account.name));
            }
            // Nothing else can be read then.
            Err(error) => return report.fail("forge", refusal(error, forge.kind, url, variable)),
        }
    }
    if forge.projects.is_empty() {
        report.warn(
            "project",
            format_args!(
                "none is named for {url}, so only those are read from it that 'backstory add URL' added; name others as \
                 projects under its [[forge]]"
            ),
        );
    }
    for project in &forge.projects {
        let found = match group_of_pattern(project) {
            None => client.project(project).await.map(|_| format!("{project} can be read")),
            Some(group) => client
                .group_projects(group)
                .await
                .map(|found| format!("{project} has {}", pluralize(found.len() as u64, "project", "projects"))),
        };
        match found {
            Ok(found) => report.ok("project", found),
            Err(error) => report.fail("project", refusal(error, forge.kind, url, variable)),
        }
    }
}

/// Nothing is asked of the provider: a search tells if it fails, and goes on without.
fn check_reranking(config: &Config, report: &mut Report) {
    let Some(rerank) = &config.settings.rerank else { return };
    match config.rerank_key.missing_variable() {
        Some(variable) => {
            report.warn("reranking", config::missing_variable(variable, "the key of the reranking provider"))
        }
        None => report.ok("reranking", format_args!("{} at {}", rerank.model, rerank.base_url)),
    }
}

/// Whether the stores can be opened with the embedding that is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EmbeddingSettings {
    /// They can, even if its provider does not answer.
    Usable,
    /// They cannot.
    Refused,
}

async fn check_embedding(config: &Config, report: &mut Report) -> EmbeddingSettings {
    if let Err(failure) = config.require_embedding_key() {
        report.fail("embedding", failure);
        return EmbeddingSettings::Refused;
    }
    let embedder = match Embedder::open(config.settings.embedding.clone()).await {
        Ok(embedder) => embedder,
        // Text search works without.
        Err(error) if !error.is_configuration() => {
            report.warn("embedding", error);
            return EmbeddingSettings::Usable;
        }
        Err(error) => {
            let is_refused = matches!(error, ProviderError::Configuration { .. });
            report.fail("embedding", backstory_engine::error::Error::from(error).into());
            return if is_refused { EmbeddingSettings::Refused } else { EmbeddingSettings::Usable };
        }
    };
    match embedder.check().await {
        Ok(()) => {
            let detail = match embedder.is_off() {
                true => "off: texts are found by their words alone".to_owned(),
                false => format!("{}, {} dimensions", embedder.model(), embedder.dimension()),
            };
            report.ok("embedding", detail);
        }
        // Text search works without.
        Err(error) if config.settings.embedding.provider != Provider::Bundled && !error.is_configuration() => {
            report.warn("embedding", error);
        }
        Err(error) => report.fail("embedding", backstory_engine::error::Error::from(error).into()),
    }
    EmbeddingSettings::Usable
}

async fn check_stores(session: &Session, config: &Config, embedding: EmbeddingSettings, report: &mut Report) {
    // Before the first 'add' or 'sync' that is as it should be.
    if let Err(failure) = session.require_data_dir() {
        return report.warn("data", failure.sentence());
    }
    let directory = match DataDir::open(&config.data_dir) {
        Ok(directory) => directory,
        Err(failure) => return report.fail("data", failure),
    };
    report.ok("data", format_args!("{} can be written to", directory.path().display()));
    match directory.claim("doctor", ClaimIntent::Answers, &session.terminal).await {
        Ok(Claim::Own) if embedding == EmbeddingSettings::Refused => {
            report.warn("stores", "not opened, because they need the embedding model")
        }
        Ok(Claim::Own) => match Engine::open(directory.path(), config.settings.clone()).await {
            Ok(engine) => {
                let notices = engine.notices();
                if notices.is_empty() {
                    report.ok("stores", "ledger, graph and index open")
                }
                notices.iter().for_each(|notice| report.warn("stores", notice));
                check_clones(&engine, report).await;
                let client = Client::local(engine.clone());
                session.share.begin(engine, directory, "doctor", &config.digest);
                check_reads(&client, config, report).await;
                report.ok("server", "not running; commands open the stores themselves");
            }
            Err(error) => report.fail("stores", error.into()),
        },
        Ok(Claim::Server(server)) => {
            let running = if server.is_long_running() {
                format!("running at {} (pid {})", server.url, server.pid)
            } else {
                format!("not running; {} answers while it runs", server.holder())
            };
            let client = LockOwnerClient::new(server).map(Client::of_lock_owner);
            match ask(client).await {
                Ok((client, coverage)) => {
                    report.ok("server", format_args!("{running}, {} documents", coverage.documents));
                    check_reads(&client, config, report).await;
                }
                Err(failure) => report.fail("server", failure),
            }
        }
        Ok(Claim::Busy(holder)) => report.warn("stores", format_args!("in use by {holder}")),
        Err(failure) => report.fail("stores", failure),
    }
}

/// What was read, and what could not be.
async fn check_reads(client: &Client, config: &Config, report: &mut Report) {
    check_secrets(client, report).await;
    match client.answer(ListRepositories {}).await {
        Ok(repositories) => {
            let failures = repositories.iter().filter_map(repos::failure_of);
            failures.for_each(|failure| report.warn("repository", failure));
            let left_out = repositories.iter().flat_map(repos::left_out_of);
            left_out.for_each(|what| report.warn("repository", what));
        }
        Err(failure) => report.fail("repository", failure),
    }
    freshness::check(client, config, report).await;
    agents::check(client, report).await;
}

/// Whether the server answers.
async fn ask(client: Result<Client>) -> Result<(Client, Coverage)> {
    let client = client?;
    let coverage = coverage(&client).await?;
    Ok((client, coverage))
}

/// They are not stored, but they were written where others read.
async fn check_secrets(client: &Client, report: &mut Report) {
    match client.answer(StatsRequest {}).await {
        Ok(found) => {
            for of in found.secrets {
                let (project, kinds) = (&of.project, stats::count_kinds(&of));
                let detail = format!("in {project} secrets were replaced: {kinds}; the authors should revoke them");
                report.warn("secrets", detail);
            }
        }
        Err(failure) => report.fail("secrets", failure),
    }
}
