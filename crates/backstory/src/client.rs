//! Answers the requests of commands: in this process, if it has the stores, or by `POST /api/v1/NAME` to the process
//! that has them. Both give the same answers. Finding that process belongs to [`data_dir`](crate::data_dir).

use std::{cell::RefCell, time::Duration};

use backstory_engine::{Engine, error::ErrorKind, settings::Settings, use_case::UseCase};
use backstory_server::{API, error_table};
use serde::{Deserialize, Serialize};

use crate::{
    data_dir::{Claim, ClaimIntent, DataDir, LockOwner, Server},
    embedded_server::EmbeddedServer,
    failure::{Failure, Result},
    output::Terminal,
    session::Session,
};

/// How long the server may take: longer than its own limit for what reads everything.
const ANSWER_TIME: Duration = Duration::from_secs(620);
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// How long the stores may take to open before somebody is told why.
const SLOW_OPENING: Duration = Duration::from_secs(5);

/// How often an operation is asked again because the process that was asked has ended meanwhile.
const MAX_MOVES: usize = 5;

/// Executes operations.
pub(crate) struct Client {
    place: RefCell<Place>,
    opening: Option<Opening>,
}

/// Where operations are executed.
#[derive(Clone)]
enum Place {
    /// In this process.
    Here(Engine),
    /// By another one.
    There(LockOwnerClient),
}

/// What it takes to open the stores once the process that was asked has ended.
struct Opening {
    directory: DataDir,
    settings: Settings,
    /// SHA-256 of the configuration file.
    config: String,
    command: String,
    want: ClaimIntent,
    share: EmbeddedServer,
    terminal: Terminal,
    /// Why this process must not do the work itself.
    refusal: RefCell<Option<Failure>>,
}

/// Another process that executes operations.
#[derive(Clone)]
pub(crate) struct LockOwnerClient {
    http: reqwest::Client,
    server: Server,
}

/// Why there is no answer.
struct Unanswered {
    failure: Failure,
    /// Whether the process has ended, so that another may answer: before it was asked, or while.
    gone: Option<Gone>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gone {
    Before,
    Meanwhile,
}

/// Why there is no answer, as the API says it: problem details.
#[derive(Deserialize)]
struct Problem {
    code: String,
    detail: String,
    hint: Option<String>,
}

impl Client {
    /// Opens the stores, or finds the process that has them open. `before_opening` says what must hold in this process
    /// if it is this process that does the work.
    ///
    /// # Errors
    /// The command line names a data directory that is not there, another command has the stores and does not answer, or
    /// they cannot be opened.
    pub(crate) async fn open(
        session: &Session,
        command: &str,
        before_opening: impl FnOnce() -> Result<()>,
    ) -> Result<Self> {
        session.require_data_dir()?;
        Self::open_for(ClaimIntent::Answers, session, command, before_opening).await
    }

    /// The same for a command that begins long work: of other processes only a server takes that on.
    ///
    /// # Errors
    /// The command line names a data directory that is not there, another command has the stores, or they cannot be
    /// opened.
    pub(crate) async fn open_for_work(
        session: &Session,
        command: &str,
        before_opening: impl FnOnce() -> Result<()>,
    ) -> Result<Self> {
        session.require_data_dir()?;
        Self::open_for(ClaimIntent::Work, session, command, before_opening).await
    }

    /// The same for long work that fills a data directory, which is created if it is absent.
    ///
    /// # Errors
    /// Another command has the stores, or they cannot be opened.
    pub(crate) async fn open_or_create(
        session: &Session,
        command: &str,
        before_opening: impl FnOnce() -> Result<()>,
    ) -> Result<Self> {
        Self::open_for(ClaimIntent::Work, session, command, before_opening).await
    }

    async fn open_for(
        want: ClaimIntent,
        session: &Session,
        command: &str,
        before_opening: impl FnOnce() -> Result<()>,
    ) -> Result<Self> {
        let config = session.config()?;
        let opening = Opening {
            directory: DataDir::open(&config.data_dir)?,
            settings: config.settings.clone(),
            config: config.digest.clone(),
            command: command.to_owned(),
            want,
            share: session.share.clone(),
            terminal: session.terminal,
            refusal: RefCell::new(before_opening().err()),
        };
        let place = opening.open().await?;
        if let Place::There(LockOwnerClient { server, .. }) = &place
            && config.path.exists()
            && server.config != config.digest
        {
            let (path, who) = (config.path.display(), server_or_command(server));
            let remedy = if server.is_long_running() { "; restart 'backstory serve' to use it" } else { "" };
            session.terminal.note(format_args!("{path} is not what {who} has read{remedy}"));
        }
        Ok(Self { place: RefCell::new(place), opening: Some(opening) })
    }

    /// One that executes in this process.
    pub(crate) fn local(engine: Engine) -> Self {
        Self { place: RefCell::new(Place::Here(engine)), opening: None }
    }

    /// One that asks another process.
    pub(crate) fn of_lock_owner(remote: LockOwnerClient) -> Self {
        Self { place: RefCell::new(Place::There(remote)), opening: None }
    }

    /// Whether a server does the work, which goes on when this command has ended.
    pub(crate) fn uses_server(&self) -> bool {
        matches!(&*self.place.borrow(), Place::There(remote) if remote.server.is_long_running())
    }

    /// Answers a request. If the command that was asked has ended, this process opens the stores, or asks the next one.
    ///
    /// # Errors
    /// The use case failed, or there is no answer.
    pub(crate) async fn answer<U: UseCase>(&self, request: U) -> Result<U::Answer> {
        let mut moves = 0;
        loop {
            let place = self.place.borrow().clone();
            let remote = match place {
                Place::Here(engine) => return Box::pin(run_here(&engine, request)).await,
                Place::There(remote) => remote,
            };
            let Unanswered { failure, gone } = match remote.answer(&request).await {
                Ok(answer) => return Ok(answer),
                Err(unanswered) => unanswered,
            };
            self.move_on(&remote, failure, gone, U::REPEATABLE, &mut moves).await?;
        }
    }

    /// Finds another process to ask, or opens the stores, once the one that was asked has ended.
    ///
    /// # Errors
    /// It has not, or what it was asked for must not be asked for twice.
    async fn move_on(
        &self,
        remote: &LockOwnerClient,
        failure: Failure,
        gone: Option<Gone>,
        repeatable: bool,
        moves: &mut usize,
    ) -> Result<()> {
        let may_move = match gone {
            Some(Gone::Before) => true,
            Some(Gone::Meanwhile) => repeatable,
            None => false,
        };
        let Some(opening) = self.opening.as_ref().filter(|_| may_move && *moves < MAX_MOVES) else {
            return Err(failure);
        };
        let place = if remote.server.is_long_running() {
            // Perhaps it was restarted. The stores are not taken in its place: then it could not come back.
            match opening.directory.current_server().await? {
                Some(server) if server.pid != remote.server.pid => Place::There(LockOwnerClient::new(server)?),
                _ => return Err(failure),
            }
        } else {
            Box::pin(opening.open()).await?
        };
        *self.place.borrow_mut() = place;
        *moves += 1;
        Ok(())
    }
}

impl Opening {
    async fn open(&self) -> Result<Place> {
        let Self { directory, want, terminal, .. } = self;
        match directory.claim(&self.command, *want, terminal).await? {
            Claim::Own => {
                if let Some(refusal) = self.refusal.take() {
                    return Err(refusal);
                }
                let engine = open_engine(self.settings.clone(), terminal, directory).await?;
                self.share.begin(engine.clone(), directory.clone(), &self.command, &self.config);
                Ok(Place::Here(engine))
            }
            Claim::Server(server) => Ok(Place::There(LockOwnerClient::new(server)?)),
            Claim::Busy(holder) if holder.is_server() => Err(Failure::new(
                ErrorKind::Conflict,
                format!("{holder} is still opening the stores; try again when it says that it listens"),
            )),
            Claim::Busy(holder) => Err(Failure::new(
                ErrorKind::Conflict,
                match want {
                    ClaimIntent::Answers => format!(
                        "{holder} has opened {} and does not answer yet; try again in a while",
                        directory.path().display()
                    ),
                    ClaimIntent::Work => describe_in_use(&holder, directory, &self.command),
                },
            )),
        }
    }
}

/// Who has the stores that a command needs for long work, and what can be done about it.
pub(crate) fn describe_in_use(holder: &LockOwner, directory: &DataDir, command: &str) -> String {
    let other = match holder.command.as_str() {
        _ if holder.is_sync_command() && command == "sync" => ", stop its sync with --force".to_owned(),
        // They keep what they have done so far.
        "chat" | "embed" | "enrich" | "eval" | "rebuild" => format!(", end it with 'kill {}'", holder.pid),
        _ => String::new(),
    };
    let path = directory.path().display();
    let server = "run 'backstory serve', which does long work for every command";
    format!("{holder} is using {path}; wait for it to end{other}, or {server}")
}

/// Answers a request; once more, if a projection proved damaged and was rebuilt.
async fn run_here<U: UseCase>(engine: &Engine, request: U) -> Result<U::Answer> {
    let known = engine.repairs().len();
    let mut answer = engine.answer(request.clone()).await;
    engine.repair().await?;
    let repairs = engine.repairs().split_off(known);
    if !repairs.is_empty() && answer.is_err() {
        answer = engine.answer(request).await;
    }
    for notice in repairs {
        Terminal::new().note(notice);
    }
    Ok(answer?)
}

/// `the server (pid 1)`, `backstory sync (pid 1)`
fn server_or_command(server: &Server) -> String {
    if server.is_long_running() { format!("the server (pid {})", server.pid) } else { server.holder().to_string() }
}

/// Opens the stores, which this process has claimed, and says what happened to them.
///
/// # Errors
/// A store cannot be opened.
pub(crate) async fn open_engine(settings: Settings, terminal: &Terminal, directory: &DataDir) -> Result<Engine> {
    let mut opening = Box::pin(Engine::open(directory.path(), settings));
    let engine = match tokio::time::timeout(SLOW_OPENING, &mut opening).await {
        Ok(engine) => engine?,
        Err(_) => {
            terminal
                .note("opening the stores takes longer: graph, lists and index are brought up to date with the ledger");
            opening.await?
        }
    };
    for notice in engine.notices() {
        terminal.note(notice);
    }
    Ok(engine)
}

impl Problem {
    fn failure(self) -> Failure {
        Failure { hint: self.hint, ..Failure::new(error_table::kind(&self.code), self.detail) }
    }
}

impl LockOwnerClient {
    /// # Errors
    /// The other process is of another version.
    pub(crate) fn new(server: Server) -> Result<Self> {
        let own = env!("CARGO_PKG_VERSION");
        if server.version != own {
            let message = format!(
                "{} is backstory {}, this is {own}; {}",
                server_or_command(&server),
                server.version,
                remedy(&server)
            );
            return Err(Failure::new(ErrorKind::Conflict, message));
        }
        // It is on this machine: no proxy leads there, and nothing is encrypted, so certificates need not be read.
        let http = reqwest::Client::builder().no_proxy().tls_built_in_root_certs(false);
        let http = http.connect_timeout(CONNECT_TIME).timeout(ANSWER_TIME).build();
        let http = http.map_err(|error| Failure::new(ErrorKind::Internal, format!("no HTTP client: {error}")))?;
        Ok(Self { http, server })
    }

    async fn answer<U: UseCase>(&self, request: &U) -> std::result::Result<U::Answer, Unanswered> {
        let response = self.post(&format!("{API}/{}", U::NAME), request).await?;
        if response.status().is_success() {
            return response.json().await.map_err(|error| self.unanswered(&error));
        }
        let problem: Problem = response.json().await.map_err(|error| self.unanswered(&error))?;
        Err(Unanswered { failure: problem.failure(), gone: None })
    }

    async fn post(&self, path: &str, body: &impl Serialize) -> std::result::Result<reqwest::Response, Unanswered> {
        let Server { url, secret, .. } = &self.server;
        let request = self.http.post(format!("{url}{path}")).json(body).bearer_auth(secret.expose());
        let response = request.send().await.map_err(|error| self.unanswered(&error))?;
        if response.status() == reqwest::StatusCode::UNAUTHORIZED {
            let (who, remedy) = (server_or_command(&self.server), remedy(&self.server));
            let message = format!("{who} at {url} does not know what it left in the data directory; {remedy}");
            // Another process may have taken the address.
            return Err(Unanswered { failure: Failure::configuration(message), gone: Some(Gone::Before) });
        }
        Ok(response)
    }

    fn unanswered(&self, error: &reqwest::Error) -> Unanswered {
        let (who, url, remedy) = (server_or_command(&self.server), &self.server.url, remedy(&self.server));
        let message = format!("{who} at {url} does not answer: {}; {remedy}", cause(error));
        let gone = if error.is_timeout() || error.is_decode() {
            None
        } else if error.is_connect() {
            Some(Gone::Before)
        } else {
            Some(Gone::Meanwhile)
        };
        Unanswered { failure: Failure::new(ErrorKind::Upstream, message), gone }
    }
}

/// What to do about a process that does not answer.
fn remedy(server: &Server) -> &'static str {
    if server.is_long_running() { "restart 'backstory serve'" } else { "try again when it has ended" }
}

fn cause(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "it takes too long"
    } else if error.is_connect() {
        "it is gone"
    } else if error.is_decode() {
        "its answer is not what this command expects"
    } else {
        "the connection broke"
    }
}
