//! Where the GraphQL operations of a command are executed: in this process, or by the server that has the stores. Both
//! give the same answers.

use std::time::Duration;

use async_graphql::{Request, Variables};
use backstory_engine::{Engine, error::ErrorKind};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    cli::Session,
    data_dir::{Claim, DataDir, Server},
    error_table,
    failure::{Failure, Result},
    graphql::{self, Limits, Schema},
};

/// How long the server may take: longer than its own limit for what reads everything.
const ANSWER_TIME: Duration = Duration::from_secs(620);
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Executes operations.
pub(crate) enum Client {
    /// In this process.
    Here(Schema),
    /// At a server.
    There(Remote),
}

/// What is executed: the only operation of a document, or the one with a name.
#[derive(Clone, Copy)]
pub(crate) struct Operation<'a> {
    document: &'a str,
    name: Option<&'a str>,
}

impl<'a> Operation<'a> {
    /// One of several of a document.
    pub(crate) const fn named(document: &'a str, name: &'a str) -> Self {
        Self { document, name: Some(name) }
    }
}

impl<'a> From<&'a str> for Operation<'a> {
    fn from(document: &'a str) -> Self {
        Self { document, name: None }
    }
}

/// A server that executes operations.
pub(crate) struct Remote {
    http: reqwest::Client,
    server: Server,
}

/// An answer, as the GraphQL specification has it.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    data: Value,
    #[serde(default)]
    errors: Vec<AnswerError>,
}

#[derive(Deserialize)]
struct AnswerError {
    message: String,
    #[serde(default)]
    extensions: Value,
}

impl Client {
    /// Opens the stores, or finds the server that has them open. `before_opening` says what must hold in this process
    /// if it is this process that does the work.
    ///
    /// # Errors
    /// Another command has the stores, or they cannot be opened.
    pub(crate) async fn open(
        session: &Session,
        command: &str,
        before_opening: impl FnOnce() -> Result<()>,
    ) -> Result<Self> {
        let config = session.config()?;
        let directory = DataDir::open(&config.data_dir)?;
        match directory.claim(command, &session.terminal).await? {
            Claim::Own => {
                before_opening()?;
                let engine = open_engine(session, &directory).await?;
                Ok(Self::Here(graphql::schema(engine, Limits::default())))
            }
            Claim::Server(server) => {
                if server.config != config.digest {
                    session.terminal.note(format_args!(
                        "{} is not what the server (pid {}) has read; restart 'backstory serve' to use it",
                        config.path.display(),
                        server.pid
                    ));
                }
                Ok(Self::There(Remote::new(server)?))
            }
            Claim::Busy(holder) if holder.is_server() => Err(Failure::new(
                ErrorKind::Conflict,
                format!("{holder} is still opening the stores; try again when it says that it listens"),
            )),
            Claim::Busy(holder) => Err(Failure::new(
                ErrorKind::Conflict,
                format!(
                    "{holder} is using {}; wait for it to end, or run 'backstory serve' so that commands can share it",
                    directory.path().display()
                ),
            )),
        }
    }

    /// Whether a server does the work.
    pub(crate) fn is_there(&self) -> bool {
        matches!(self, Self::There(_))
    }

    /// Executes an operation.
    ///
    /// # Errors
    /// The operation failed.
    pub(crate) async fn run<'a, T: DeserializeOwned>(
        &self,
        operation: impl Into<Operation<'a>>,
        variables: Value,
    ) -> Result<T> {
        let operation = operation.into();
        let answer = match self {
            Self::Here(schema) => {
                let mut request = Request::new(operation.document).variables(Variables::from_json(variables));
                request.operation_name = operation.name.map(str::to_owned);
                let response = schema.execute(request).await;
                let answer = serde_json::to_value(&response).and_then(serde_json::from_value);
                answer.map_err(|error| unexpected(&error))?
            }
            Self::There(remote) => remote.ask(operation, variables).await?,
        };
        answer.read()
    }
}

/// Opens the stores, which this process has claimed, and says what happened to them.
///
/// # Errors
/// A store cannot be opened.
pub(crate) async fn open_engine(session: &Session, directory: &DataDir) -> Result<Engine> {
    let settings = session.config()?.settings.clone();
    let engine = Engine::open(directory.path(), settings).await?;
    for notice in engine.notices() {
        session.terminal.note(notice);
    }
    Ok(engine)
}

impl Answer {
    fn read<T: DeserializeOwned>(self) -> Result<T> {
        match self.errors.into_iter().next() {
            Some(error) => {
                let kind = error.extensions[error_table::CODE].as_str().map_or(ErrorKind::Internal, error_table::kind);
                Err(Failure::new(kind, error.message))
            }
            None => serde_json::from_value(self.data).map_err(|error| unexpected(&error)),
        }
    }
}

fn unexpected(error: &serde_json::Error) -> Failure {
    let message = format!("an answer is not what this command expects ({error}); please report this");
    Failure::new(ErrorKind::Internal, message)
}

impl Remote {
    /// # Errors
    /// The server is of another version.
    pub(crate) fn new(server: Server) -> Result<Self> {
        let own = env!("CARGO_PKG_VERSION");
        if server.version != own {
            let message = format!(
                "the server (pid {}) is backstory {}, this is {own}; restart 'backstory serve'",
                server.pid, server.version
            );
            return Err(Failure::new(ErrorKind::Conflict, message));
        }
        // The server is on this machine: no proxy leads there.
        let http = reqwest::Client::builder().no_proxy().connect_timeout(CONNECT_TIME).timeout(ANSWER_TIME).build();
        let http = http.map_err(|error| Failure::new(ErrorKind::Internal, format!("no HTTP client: {error}")))?;
        Ok(Self { http, server })
    }

    async fn ask(&self, operation: Operation<'_>, variables: Value) -> Result<Answer> {
        let Server { pid, url, secret, .. } = &self.server;
        let unreachable = |reason: &str| {
            let message =
                format!("the server (pid {pid}) at {url} does not answer: {reason}; restart 'backstory serve'");
            Failure::new(ErrorKind::Upstream, message)
        };
        let Operation { document, name } = operation;
        let body = json!({ "query": document, "operationName": name, "variables": variables });
        let request = self.http.post(format!("{url}/graphql")).json(&body).bearer_auth(secret.expose());
        let response = request.send().await.map_err(|error| unreachable(cause(&error)))?;
        if response.status() == reqwest::StatusCode::UNAUTHORIZED {
            return Err(Failure::configuration(format!(
                "the server (pid {pid}) at {url} does not know what it left in the data directory; restart 'backstory \
                 serve'"
            )));
        }
        response.json().await.map_err(|error| unreachable(cause(&error)))
    }
}

fn cause(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "it takes too long"
    } else if error.is_connect() {
        "it is gone"
    } else if error.is_decode() {
        "its answer is not GraphQL"
    } else {
        "the connection broke"
    }
}
