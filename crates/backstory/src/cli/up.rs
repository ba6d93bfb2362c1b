//! `up`: adds the repository around here, syncs it, and runs the server.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Instant,
};

use backstory_engine::{
    error::ErrorKind,
    files::{FileRequest, FileSymbol},
    model::{code::EntityKind, id::NodeId, role::Roles},
    repository::{CentralFilesRequest, ListRepositories, RepositoryStatus},
    show::{NodeDetails, ShowRequest},
    sources::git::naming::discover_repository,
};

use super::{
    Session, add,
    serve::{self, Server},
};
use crate::{
    client::{Client, LockOwnerClient},
    config::parse_address,
    data_dir::{Claim, ClaimIntent, DataDir, UP},
    failure::{Failure, Result},
    output::{duration, escape_terminal},
};

/// Longest query that is proposed, in characters.
const MAX_QUERY: usize = 60;
/// Most files in which a definition is looked for.
const MAX_LOOKED: usize = 5;

/// Index the current git repository and answer questions about it: the command to start with
///
/// Needs no configuration. Adds the repository that contains PATH unless it was added before, reads what is new in it,
/// and then runs the server, as 'backstory serve' does. If a server for the data directory is already running, that
/// server does the work.
#[derive(clap::Args)]
#[command(after_long_help = "Examples:\n  backstory up\n  backstory up ~/src/shop --listen 127.0.0.1:0")]
pub(super) struct Args {
    /// A path in the repository
    #[arg(default_value = ".", value_name = "PATH")]
    path: PathBuf,
    /// Address to listen on [default: listen under [server], then 127.0.0.1:7373]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    listen: Option<SocketAddr>,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let repository = around(&args.path)?;
    let address = serve::check_address(session, args.listen)?;
    let config = session.config()?;
    let directory = DataDir::open(&config.data_dir)?;
    match directory.claim(UP, ClaimIntent::Work, &session.terminal).await? {
        Claim::Own => {
            let server = Server::open(session, UP, directory, address, Roles::default()).await?;
            server.share(session)?;
            index(session, &Client::local(server.engine.clone()), &repository).await?;
            session.share.end().await;
            server.run(session).await
        }
        Claim::Server(running) => {
            let url = running.url.clone();
            let client = Client::of_lock_owner(LockOwnerClient::new(running)?);
            index(session, &client, &repository).await?;
            Ok(session.terminal.line(format_args!("A server is running at {url} (query page at {url}/graphql)"))?)
        }
        Claim::Busy(holder) => Err(Failure::new(
            ErrorKind::Conflict,
            format!("{holder} is using {}; try again when it has ended or listens", directory.path().display()),
        )),
    }
}

/// The repository that a path stands in.
fn around(path: &Path) -> Result<String> {
    let shown = path.display();
    let there = path
        .canonicalize()
        .map_err(|error| Failure::usage(format!("{shown} cannot be read: {}", crate::failure::reason(&error))))?;
    let missing =
        || Failure::usage(format!("{shown} is not in a git repository; change to one, or name one: backstory up PATH"));
    let repository = discover_repository(&there).ok_or_else(missing)?;
    let repository = repository.canonicalize().unwrap_or(repository);
    Ok(repository.display().to_string())
}

/// Adds the repository unless it is known, reads what is new in it, and says what can be asked now.
async fn index(session: &Session, client: &Client, path: &str) -> Result<()> {
    let begun = Instant::now();
    let known = client.answer(ListRepositories {}).await?.into_iter().find(|repository| repository.address == path);
    let project = match known {
        // As it was added, with the branches that were chosen then.
        Some(known) => known.project,
        None => add::put(client, path).await?,
    };
    let (repository, _) = add::index(client, &project).await?;
    session.terminal.line(format_args!("{} in {}", add::indexed(&repository), duration(begun.elapsed())))?;
    add::tell_shallow(session, &repository);
    let commands = commands(session, client, &repository).await?;
    if !commands.is_empty() {
        session.terminal.line(format_args!("\nTry, from another terminal:\n{}\n", commands.join("\n")))?;
    }
    Ok(())
}

/// Commands that have an answer in this repository.
async fn commands(session: &Session, client: &Client, repository: &RepositoryStatus) -> Result<Vec<String>> {
    let project = &repository.project;
    let central = client.answer(CentralFilesRequest { project: project.clone(), limit: MAX_LOOKED }).await?;
    // Where there are several, a path alone means the one that the user stands in.
    let alone = client.answer(ListRepositories {}).await?.len() == 1;
    let (path, line) = find_definition(client, project, &central).await.unzip();
    let file = path.or_else(|| central.into_iter().next());
    let file = file.map(|path| if alone { path } else { format!("{project}:{path}") });
    // A merge is called after a branch, which says little.
    let title = head_title(client, repository).await?.filter(|title| !title.starts_with("Merge "));
    let title = title.or_else(|| Some(file.as_ref()?.rsplit('/').next()?.split('.').next()?.to_owned()));
    let places = session.places().map(|(option, path)| format!(" {option} {}", quoted(&path.display().to_string())));
    let program = format!("  backstory{}", places.collect::<String>());
    let line = line.unwrap_or(1);
    let mut commands = Vec::new();
    commands.extend(file.iter().map(|file| format!("{program} why {}", quoted(&format!("{file}:{line}")))));
    commands.extend(title.map(|title| format!("{program} search {}", quoted(&query(&title)))));
    commands.extend(file.iter().map(|file| format!("{program} history {}", quoted(file))));
    Ok(commands)
}

/// The longest function of the most central file that has one, as path and first line: it was discussed and changed most.
/// `None` if there is none, or a file cannot be read.
async fn find_definition(client: &Client, project: &str, files: &[String]) -> Option<(String, u32)> {
    let is_function = |symbol: &&FileSymbol| matches!(symbol.kind, EntityKind::Function | EntityKind::Method);
    for path in files {
        let request = FileRequest {
            project: Some(project.to_owned()),
            path: path.clone(),
            lines: Some((1, 1)),
            symbols: true,
            ..FileRequest::default()
        };
        let Ok(text) = client.answer(request).await else { continue };
        let longest = text.symbols.iter().filter(is_function).max_by_key(|symbol| symbol.lines.1 - symbol.lines.0);
        if let Some(symbol) = longest {
            return Some((path.clone(), symbol.lines.0));
        }
    }
    None
}

/// Reads the title of the newest commit; `None` if the repository has no commits.
async fn head_title(client: &Client, repository: &RepositoryStatus) -> Result<Option<String>> {
    let Some(head) = repository.head else { return Ok(None) };
    let id = NodeId::commit(&repository.project, &head.to_string());
    Ok(match client.answer(ShowRequest { id }).await? {
        NodeDetails::Commit(commit) => commit.message.trim_start().lines().next().map(str::to_owned),
        _ => None,
    })
}

/// The beginning of a title, up to the end of a word.
fn query(title: &str) -> String {
    let title = escape_terminal(title);
    let mut query = String::new();
    for word in title.split_whitespace() {
        if !query.is_empty() && query.chars().count() + word.chars().count() > MAX_QUERY {
            break;
        }
        query.push_str(if query.is_empty() { "" } else { " " });
        query.push_str(word);
    }
    query
}

/// One argument, as a shell reads it.
fn quoted(text: &str) -> String {
    let harmless = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ':' | '@' | ',');
    let text = escape_terminal(text);
    if text.chars().all(harmless) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
