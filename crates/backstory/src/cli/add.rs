//! `add`: indexes a git repository, and follows the sync.

use std::{path::Path, time::Instant};

use backstory_engine::{
    ledger::Branches,
    model::reference::Forge,
    repository::{AddGroup, AddRequest, ListRepositories, RepositoryStatus},
};
use serde::Serialize;
use serde_json::Value;

use super::{Session, repos, sync, task};
use crate::{
    client::Client,
    failure::{Failure, Result, reason},
    output::{duration, escape_terminal, pluralize},
};

/// Projects that a note names.
const NAMED: usize = 3;

/// Index a git repository: its history, its code and who wrote which line
///
/// The repository is cloned into the data directory; nothing is ever written to it. 'backstory sync' reads what is new
/// in it later. If it was added before, the branches that are named now replace those. If it is on github.com,
/// gitlab.com or a configured forge, its issues and merge requests are read too.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory add .
  backstory add ~/src/shop --branch release-1 --branch release-2
  backstory add ~/src/shop --ref v1.2 --ref 1a2b3c4d
  backstory add https://github.com/owner/name
  backstory add https://git.example.com/group/project.git --forge gitlab --all-branches
  backstory add --group https://gitlab.com/group

Hosts on a private network must be named as allowed_hosts under [repositories] in the configuration.")]
pub(super) struct Args {
    /// Path of a repository on this machine, or its https, http or ssh address
    #[arg(value_name = "PATH|URL", required_unless_present = "group")]
    address: Option<String>,
    /// Read the issues and merge requests of all projects of this group and its subgroups, organization or user, and of new
    /// projects as they appear: its address, or its path if one forge is configured
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["address", "name", "branches", "all_branches", "refs", "dropped_refs", "depth"])]
    group: Option<String>,
    /// Name of the project [default: from its address, or from where the repository was cloned]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Index this branch too, besides the default one (repeatable)
    #[arg(long = "branch", value_name = "NAME", conflicts_with = "all_branches")]
    branches: Vec<String>,
    /// Index every branch
    #[arg(long)]
    all_branches: bool,
    /// Index the files of this branch, tag or commit too, so that 'search --ref' finds them as they are there (repeatable)
    #[arg(long = "ref", value_name = "REF")]
    refs: Vec<String>,
    /// Stop indexing the files of this branch, tag or commit (repeatable)
    #[arg(long = "drop-ref", value_name = "REF")]
    dropped_refs: Vec<String>,
    /// Forge of the address, if it cannot be inferred; its issues and merge requests are read too
    #[arg(long, value_name = "KIND")]
    forge: Option<ForgeChoice>,
    /// Clone only this many commits of each branch and no tags; 0 for the whole history again
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Kind of a forge.
#[derive(Clone, Copy, clap::ValueEnum)]
enum ForgeChoice {
    Gitlab,
    Github,
}

impl From<ForgeChoice> for Forge {
    fn from(choice: ForgeChoice) -> Self {
        match choice {
            ForgeChoice::Gitlab => Self::GitLab,
            ForgeChoice::Github => Self::GitHub,
        }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed {
    repository: RepositoryStatus,
    summary: Value,
    took_ms: u64,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let forge = args.forge.map(Forge::from);
    if let Some(group) = &args.group {
        return add_group(session, args, group, forge).await;
    }
    let address = absolute(args.address.as_deref().unwrap_or_default())?;
    let client = Client::open_or_create(session, "add", || Ok(())).await?;
    let begun = Instant::now();
    let branches = match (args.all_branches, args.branches.is_empty()) {
        (true, _) => Branches::All,
        (false, true) => Branches::Default,
        (false, false) => Branches::Selected(args.branches.clone()),
    };
    let (name, depth) = (args.name.clone(), args.depth);
    let (refs, dropped_refs) = (args.refs.clone(), args.dropped_refs.clone());
    let request = AddRequest { address: address.clone(), name, branches, refs, dropped_refs, forge, depth };
    let project = client.answer(request).await?.project;
    if args.name.is_none() {
        tell_copy(session, &client, &address, &project).await?;
    }
    let (repository, summary) = index(&client, &project).await?;
    let took = begun.elapsed();
    if args.json {
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        return Ok(session.terminal.json(&Printed { repository, summary, took_ms })?);
    }
    session.terminal.line(format_args!("{} in {}", indexed(&repository), duration(took)))?;
    repos::tell_left_out(&session.terminal, &repository);
    let secrets = sync::secrets_replaced(&summary);
    if secrets > 0 {
        session.terminal.note(format_args!(
            "secrets were replaced in {} before anything was stored; 'backstory doctor' shows which kinds",
            pluralize(secrets, "place", "places")
        ));
    }
    if args.depth.is_none() {
        tell_shallow(session, &repository);
    }
    let coverage = task::coverage(&client).await?;
    task::tell_waiting(session, &client, &coverage);
    Ok(())
}

/// Has all projects of a group read.
async fn add_group(session: &Session, args: &Args, group: &str, forge: Option<Forge>) -> Result<()> {
    let client = Client::open_or_create(session, "add", || Ok(())).await?;
    let found = client.answer(AddGroup { address: group.to_owned(), forge }).await?;
    let summary = sync::projects(&client, found.projects.clone()).await?;
    if args.json {
        return Ok(session.terminal.json(&serde_json::json!({ "group": found, "summary": summary }))?);
    }
    let count = pluralize(found.projects.len() as u64, "project", "projects");
    session.terminal.line(format_args!(
        "Added {}/*: {count}; {}",
        escape_terminal(&found.group),
        sync::sentence(&summary)
    ))?;
    if !found.archived.is_empty() {
        session.terminal.note(format_args!("archived: {}", escape_terminal(&found.archived.join(", "))));
    }
    Ok(())
}

/// Says of which configured project a repository on this machine is taken to be a copy, or could be one.
async fn tell_copy(session: &Session, client: &Client, address: &str, project: &str) -> Result<()> {
    if !Path::new(address).is_absolute() {
        return Ok(());
    }
    let configured: Vec<&str> = session.config()?.settings.projects().map(|(_, known)| known).collect();
    let name = |known: &str| known.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(project));
    let found = match configured.iter().find(|known| **known == project || name(known)) {
        Some(known) if *known == project => {
            session.terminal.note(format_args!(
                "this is a copy of {}, which is configured, and is read as that; --name reads it as something else",
                escape_terminal(known)
            ));
            return Ok(());
        }
        Some(known) => vec![*known],
        // Nothing tells whether it is a copy of one that has no repository yet.
        None => without_repository(client, &configured, project).await?,
    };
    let (known, verb, name) = match found.as_slice() {
        [] => return Ok(()),
        [only] => (escape_terminal(only), "is", escape_terminal(only)),
        few if few.len() <= NAMED => (escape_terminal(&few.join(" or ")), "are", "GROUP/PROJECT".to_owned()),
        many => (format!("one of {} projects", many.len()), "are", "GROUP/PROJECT".to_owned()),
    };
    session.terminal.note(format_args!(
        "if this is a copy of {known}, which {verb} configured, stop this with Ctrl-C, then 'backstory remove {}' and add \
         it with '--name {name}'",
        escape_terminal(project)
    ));
    Ok(())
}

/// Those of the configured projects that have no repository; none if the one that was added is no new one.
async fn without_repository<'a>(client: &Client, configured: &[&'a str], added: &str) -> Result<Vec<&'a str>> {
    if configured.is_empty() {
        return Ok(Vec::new());
    }
    let repositories = client.answer(ListRepositories {}).await?;
    if repositories.iter().any(|repository| repository.project == added && repository.synced_at.is_some()) {
        return Ok(Vec::new());
    }
    let has_one = |known: &&&str| repositories.iter().any(|repository| repository.project == ***known);
    Ok(configured.iter().filter(|known| !has_one(known)).copied().collect())
}

/// Puts a repository of this machine on the list, with its usual name and its default branch; the name.
pub(super) async fn put(client: &Client, path: &str) -> Result<String> {
    Ok(client.answer(AddRequest { address: path.to_owned(), ..AddRequest::default() }).await?.project)
}

/// Brings the index to what the repository has; what it has, and what the sync did.
pub(super) async fn index(client: &Client, project: &str) -> Result<(RepositoryStatus, Value)> {
    let summary = sync::project(client, project).await?;
    let repository =
        client.answer(ListRepositories {}).await?.into_iter().find(|repository| repository.project == project);
    let gone = || Failure::usage(format!("{project} was removed while it was read"));
    Ok((repository.ok_or_else(gone)?, summary))
}

/// `Indexed acme/shop: 1,234 commits, 56 files, main at 1a2b3c4d`
pub(super) fn indexed(repository: &RepositoryStatus) -> String {
    format!(
        "Indexed {}: {}, {}, {}",
        escape_terminal(&repository.project),
        pluralize(repository.commits, "commit", "commits"),
        pluralize(repository.files, "file", "files"),
        repos::head_of(repository)
    )
}

/// Warns of a repository on this machine whose history is cut off.
pub(super) fn tell_shallow(session: &Session, repository: &RepositoryStatus) {
    if repository.shallow && Path::new(&repository.address).is_absolute() {
        let (project, address) = (escape_terminal(&repository.project), escape_terminal(&repository.address));
        session.terminal.warning(format_args!(
            "{address} is a shallow clone, so only that part of the history of {project} is known; 'git fetch \
             --unshallow' there and then 'backstory sync {project}' read the rest"
        ));
    }
}

/// What was written, with a path made absolute: a server has another working directory.
fn absolute(text: &str) -> Result<String> {
    let text = text.trim();
    let names_host = text.split_once(':').is_some_and(|(host, _)| !host.contains('/'));
    if text.is_empty() || text.starts_with('-') || text.contains("://") || names_host {
        return Ok(text.to_owned());
    }
    let path = std::path::absolute(Path::new(text))
        .map_err(|error| Failure::usage(format!("'{text}' is not a path: {}", reason(&error))))?;
    Ok(path.display().to_string())
}
