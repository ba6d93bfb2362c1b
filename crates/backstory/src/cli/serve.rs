//! `serve`: runs the server with its background work.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use backstory_engine::{
    EmbedRequest, Engine,
    embed::Provider,
    error::ErrorKind,
    model::role::{Roles, ServerRole},
    repository::ListRepositories,
    settings::Settings,
    status::CoverageRequest,
    task::TaskStatus,
    worker::ListTasks,
};
use backstory_server::{Access, Limits, MIN_TOKEN, TOKEN_HINT, Token};
use secrecy::ExposeSecret as _;
use tokio::{net::TcpListener, sync::watch};

use super::Session;
use crate::{
    client::open_engine,
    config::{self, Credential, parse_address},
    data_dir::{Claim, ClaimIntent, DataDir, SCHEME, SERVE, ServerKind},
    failure::{Failure, Result, reason},
};

/// Time between two looks for documents without vectors; nothing is done unless something changed in between.
const LOOK: Duration = Duration::from_secs(1);
/// How long to leave a provider alone that did not answer.
const PAUSE: Duration = Duration::from_secs(60);

/// Answer over HTTP: the web interface, GraphQL, REST, MCP, and other backstory commands for the same data
///
/// Documents get their vectors in the background. GraphQL has a query page at /graphql, agents are answered at /mcp.
/// Other machines can connect only with a token: 'backstory token create' makes one, or [server] token_env names
/// a variable that holds one.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  backstory serve
  backstory serve --listen 127.0.0.1:0
  backstory serve --roles read,embed")]
pub(super) struct Args {
    /// Address to listen on [default: listen under [server], then 127.0.0.1:7373]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    listen: Option<SocketAddr>,
    /// What this server does; it refuses the rest
    #[arg(long, value_enum, value_name = "ROLE", value_delimiter = ',', default_values_t = ServerRole::ALL)]
    roles: Vec<ServerRole>,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<()> {
    let address = check_address(session, args.listen)?;
    let directory = DataDir::open(&session.config()?.data_dir)?;
    let in_use = |who: String| {
        let name = directory.path().display();
        Err(Failure::new(
            ErrorKind::Conflict,
            format!("{who} is using {name}; stop it first, or use another data directory"),
        ))
    };
    match directory.claim(SERVE, ClaimIntent::Work, &session.terminal).await? {
        Claim::Own => {}
        Claim::Server(server) => return in_use(format!("the server at {} (pid {})", server.url, server.pid)),
        Claim::Busy(holder) => return in_use(holder.to_string()),
    }
    let roles: Roles = args.roles.iter().copied().collect();
    let server = Server::open(session, SERVE, directory, address, roles.clone()).await?;
    if roles.has(ServerRole::Write) {
        tell_what_is_missing(session, &server.engine).await?;
    }
    server.run(session).await
}

/// The address to listen on.
///
/// # Errors
/// A token of the configuration is not there or too short.
pub(super) fn check_address(session: &Session, listen: Option<SocketAddr>) -> Result<SocketAddr> {
    let config = session.config()?;
    let address = listen.unwrap_or(config.listen);
    if let Some(variable) = config.server_tokens.iter().find_map(|token| token.credential.missing_variable()) {
        return Err(Failure::configuration(config::missing_variable(variable, "the token that clients must show")));
    }
    for token in &config.server_tokens {
        check_length(&token.credential)?;
    }
    Ok(address)
}

/// Refuses an address that is open to others without a token.
fn check_tokens(session: &Session, address: SocketAddr, engine: &Engine) -> Result<()> {
    let config = session.config()?;
    if !config.server_tokens.is_empty() || engine.has_tokens() {
        return Ok(());
    }
    if address.ip().is_loopback() {
        return Ok(());
    }
    Err(Failure::configuration(format!(
        "{address} can be reached by others, so clients must show a token; make one with 'backstory token create', name \
         the variable that holds one as token_env under [server] in {}, or listen on 127.0.0.1",
        config.path.display()
    )))
}

/// Refuses a token that can be guessed.
fn check_length(token: &Credential) -> Result<()> {
    let length = token.secret.as_ref().map_or(0, |secret| secret.expose_secret().chars().count());
    if length >= MIN_TOKEN {
        return Ok(());
    }
    let variable = token.variable.as_deref().unwrap_or_default();
    Err(Failure::configuration(format!(
        "the token in {variable} has {length} characters and could be guessed; at least {MIN_TOKEN} are needed: {TOKEN_HINT}"
    )))
}

/// A server that has its address and its stores, and answers nobody yet.
pub(super) struct Server {
    command: &'static str,
    directory: DataDir,
    listener: TcpListener,
    url: String,
    pub(super) engine: Engine,
}

impl Server {
    /// Takes the address and opens the stores of a directory that this process has claimed, for these roles.
    ///
    /// # Errors
    /// The address is taken, or a store cannot be opened.
    pub(super) async fn open(
        session: &Session,
        command: &'static str,
        directory: DataDir,
        address: SocketAddr,
        roles: Roles,
    ) -> Result<Self> {
        // Before the stores are opened, which may take long: an address that is taken is told at once.
        let listener = backstory_server::listen(address).map_err(|error| cannot_listen(address, &error))?;
        let url = url_of(listener.local_addr().map_err(|error| cannot_listen(address, &error))?);
        let settings = Settings { roles, ..session.config()?.settings.clone() };
        let engine = open_engine(settings, &session.terminal, &directory).await?;
        check_tokens(session, address, &engine)?;
        Ok(Self { command, directory, listener, url, engine })
    }

    /// Lets other commands ask it while it does something else first.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub(super) fn share(&self, session: &Session) -> Result<()> {
        let (engine, directory) = (self.engine.clone(), self.directory.clone());
        session.share.begin(engine, directory, self.command, &session.config()?.digest);
        Ok(())
    }

    /// Answers until it is told to stop, and meanwhile does the background work of its roles.
    ///
    /// # Errors
    /// The listener failed.
    pub(super) async fn run(self, session: &Session) -> Result<()> {
        let Self { command, directory, listener, url, engine } = self;
        let config = session.config()?;
        let stop = backstory_server::stop_signal()?;
        let announcement = directory.announce(ServerKind::Server, command, &url, &config.digest)?;
        let has_tokens = !config.server_tokens.is_empty() || engine.has_tokens();
        let whom = if has_tokens { "" } else { ", for this machine alone" };
        session
            .terminal
            .line(format_args!("Listening on {url} (query page at {url}/graphql){whom}; Ctrl-C stops it"))?;
        let roles = engine.settings().roles.clone();
        let makes_vectors = roles.has(ServerRole::Embed) && engine.settings().embedding.provider != Provider::None;
        let embedding = makes_vectors.then(|| tokio::spawn(embed_in_background(engine.clone())));
        let (end, ended) = watch::channel(false);
        let stopping = tokio::spawn(async move {
            stop.await;
            end.send_replace(true);
            end.closed().await;
        });
        let working =
            roles.has(ServerRole::Write).then(|| tokio::spawn(work_in_background(engine.clone(), ended.clone())));
        let tokens = config.server_tokens.iter();
        let tokens = tokens.filter_map(|of| {
            Some(Token { name: of.name.clone(), secret: of.credential.secret.clone()?, grant: of.grant.clone() })
        });
        let access = Access {
            tokens: tokens.collect(),
            own: announcement.secret().clone(),
            webhooks: true,
            origins: config.allowed_origins.clone(),
            requests_per_minute: config.requests_per_minute,
            proxy: config.proxy.clone(),
        };
        let served = backstory_server::serve(
            engine,
            listener,
            access,
            Limits::default(),
            backstory_server::wait_for_stop(ended),
        )
        .await;
        if let Some(embedding) = embedding {
            embedding.abort();
        }
        // Without the sender the worker ends too, whatever happened to the server.
        stopping.abort();
        let worked = match working {
            Some(working) => working.await,
            None => Ok(()),
        };
        drop(announcement);
        served?;
        worked.map_err(|error| Failure::new(ErrorKind::Internal, format!("the worker ended with a bug: {error}")))
    }
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Failure {
    let reason = match error.kind() {
        std::io::ErrorKind::AddrInUse => "another program does".to_owned(),
        _ => reason(error),
    };
    Failure::new(
        ErrorKind::Conflict,
        format!("the server cannot listen on {address}: {reason}; choose another address with --listen"),
    )
}

/// Where clients on this machine find the server.
fn url_of(address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("{SCHEME}{}", SocketAddr::new(ip, address.port()))
}

async fn tell_what_is_missing(session: &Session, engine: &Engine) -> Result<()> {
    if session.config()?.settings.forges.is_empty() && engine.answer(ListRepositories {}).await?.is_empty() {
        session.terminal.note(
            "nothing is indexed yet; 'backstory add PATH' indexes a repository, 'backstory init' configures a forge",
        );
    }
    for (secret, (forge, _)) in session.config()?.webhook_secrets.iter().zip(session.config()?.forges()) {
        if let Some(variable) = secret.missing_variable() {
            let url = config::address(forge);
            session.terminal.note(format_args!("{variable} is not set: webhooks of {url} are refused"));
        }
    }
    for (forge, token) in session.config()?.forges() {
        if let Some(variable) = token.missing_variable() {
            let url = config::address(forge);
            session
                .terminal
                .note(format_args!("{variable} is not set: what is stored can be read, but not synced with {url}"));
        }
    }
    Ok(())
}

/// Does jobs until it is told to stop, also after the ledger could not be used for a while.
async fn work_in_background(engine: Engine, mut stop: watch::Receiver<bool>) {
    while let Err(error) = engine.run_worker(stop.clone()).await {
        tracing::error!(%error, "no jobs for now; trying again in {} s", PAUSE.as_secs());
        let stopped = tokio::time::timeout(PAUSE, stop.wait_for(|stop| *stop)).await;
        if stopped.is_ok() {
            return;
        }
    }
}

/// Makes vectors whenever documents wait for them: at the start, and after whatever may have brought some.
async fn embed_in_background(engine: Engine) {
    let mut looked = None;
    let mut look = tokio::time::interval(LOOK);
    loop {
        look.tick().await;
        let Ok(tasks) = engine.answer(ListTasks {}).await else { continue };
        if tasks.iter().any(|task| task.status == TaskStatus::Running) {
            continue;
        }
        let Ok(newest) = engine.last_change().await else { continue };
        let newest = (newest, engine.count_version_documents());
        if looked == Some(newest) {
            continue;
        }
        match embed_waiting(&engine).await {
            Ok(()) => looked = Some(newest),
            Err(error) => {
                tracing::warn!(%error, "no vectors for now; trying again in {} s", PAUSE.as_secs());
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn embed_waiting(engine: &Engine) -> backstory_engine::error::Result<()> {
    let coverage = engine.answer(CoverageRequest {}).await?;
    let no_version_waits = engine.count_version_documents() == 0 || !engine.has_pending_vectors();
    if coverage.embedded >= coverage.documents && no_version_waits {
        return Ok(());
    }
    tracing::info!(documents = coverage.waiting(), "making vectors");
    let id = engine.answer(EmbedRequest {}).await?.id;
    let Some(mut task) = engine.watch_task(id) else { return Ok(()) };
    // The sender lives as long as the engine, and so does this.
    let ended = task.wait_for(|task| task.status != TaskStatus::Running).await;
    ended.ok().and_then(|task| task.error.clone()).map_or(Ok(()), Err)
}
