//! Servers of models: one POST of JSON to them, with retries and limits, and what went wrong in words. The answer is
//! read whole or line by line.

mod error;

use std::{fmt, time::Duration};

use backstory_sources::http::{self, BodyError, LimitedBody, RetryPolicy, Timeouts};
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{AUTHORIZATION, HeaderMap},
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use error::ProviderError;

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);
const RETRY_POLICY: RetryPolicy = RetryPolicy {
    retries: 2,
    first_wait: Duration::from_millis(500),
    max_wait: Duration::from_secs(1),
    max_retry_after: Duration::from_secs(30),
};
/// Longest part of a provider's own explanation that is repeated, in characters.
const MAX_REASON: usize = 300;

type Failure = http::Failure<ProviderError>;

/// What answers at a provider's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// An Ollama server.
    Ollama,
    /// A server that speaks the OpenAI protocol.
    OpenAi,
    /// A server with the interface `rerank`.
    Reranker,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ollama => "Ollama",
            Self::OpenAi => "the OpenAI-compatible server",
            Self::Reranker => "the reranking server",
        })
    }
}

/// What a client is for: what messages say about it, and its limits.
#[derive(Clone, Debug)]
pub(crate) struct ProviderContext {
    /// What answers.
    pub(crate) server: Server,
    /// The table of its settings in the configuration: `embedding`.
    pub(crate) table: &'static str,
    /// What it is asked to do: `embed`.
    pub(crate) task: &'static str,
    /// What can be done without it, as the end of a sentence.
    pub(crate) alternative: &'static str,
    /// Name of the model, as the provider calls it.
    pub(crate) model: String,
    /// Longest time for a whole answer.
    pub(crate) total: Duration,
    /// Largest answer, in bytes.
    pub(crate) max_body: usize,
}

/// A client of one address of a provider.
pub(crate) struct ProviderClient {
    pub(crate) context: ProviderContext,
    client: Client,
    endpoint: Url,
    /// What answers, and where.
    provider: String,
    key: Option<SecretString>,
}

impl ProviderClient {
    /// A client for the path below the base address, or below the one that such servers have by default.
    pub(crate) fn new(
        context: ProviderContext,
        base: Option<&Url>,
        path: &[&str],
        key: Option<SecretString>,
    ) -> Result<Self, ProviderError> {
        let table = context.table;
        let refuse = |key: &str, problem: String| ProviderError::setting(format!("{table}.{key}"), problem);
        let default = match context.server {
            Server::OpenAi => "https://api.openai.com/v1",
            Server::Ollama | Server::Reranker => "http://127.0.0.1:11434",
        };
        let base = base.map_or_else(|| Url::parse(default), |base| Ok(base.clone()));
        let base = base.map_err(|error| refuse("base_url", error.to_string()))?;
        let shown = http::redact_url(&base);
        if !matches!(base.scheme(), "http" | "https") {
            return Err(refuse("base_url", format!("is {shown}, but must begin with http:// or https://")));
        }
        if !base.username().is_empty() || base.password().is_some() {
            let problem = "has a user or password in it; give the key apart from the address";
            return Err(refuse("base_url", problem.to_owned()));
        }
        if base.host_str() == Some("api.openai.com") && context.server == Server::OpenAi && key.is_none() {
            return Err(refuse("provider", "is \"openai\", which needs a key; give one".to_owned()));
        }
        if context.model.is_empty() {
            return Err(refuse("model", "is empty; name a model of the provider".to_owned()));
        }
        let mut headers = HeaderMap::new();
        if let Some(key) = &key {
            let problem = "names a key with characters that no HTTP header can have; check for a stray line break";
            let value = http::secret_header("Bearer ", key.expose_secret());
            headers.insert(AUTHORIZATION, value.ok_or_else(|| refuse("api_key_env", problem.to_owned()))?);
            if http::is_unencrypted(&base) {
                tracing::warn!(url = %shown, "the key travels unencrypted; use https in {table}.base_url");
            }
        }
        let timeouts = Timeouts { connect: CONNECT, silence: context.total, total: context.total };
        let client = http::client_builder(&base, timeouts, headers).build().map_err(|error| {
            let cause = http::root_cause(&error);
            refuse("base_url", format!("cannot be reached: no HTTPS client can be set up: {cause}"))
        })?;
        let provider = format!("{} at {shown}", context.server);
        let mut endpoint = base;
        endpoint.set_query(None);
        endpoint.set_fragment(None);
        if let Ok(mut segments) = endpoint.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        Ok(Self { context, client, endpoint, provider, key })
    }

    /// Name of the model with that of the interface, to be recorded with what the model makes: `ollama:llama3.2`.
    pub(crate) fn qualified_model(&self) -> String {
        let interface = if self.context.server == Server::OpenAi { "openai" } else { "ollama" };
        format!("{interface}:{}", self.context.model)
    }

    /// Sends a request, again if it fails for a transient reason, and reads the answer.
    pub(crate) async fn post<T: DeserializeOwned>(&self, request: &Value) -> Result<T, ProviderError> {
        let attempt = || async {
            let body = self.read(self.send(request).await?).await?;
            serde_json::from_slice(&body).map_err(|error| self.malformed(&error.to_string()).into())
        };
        RETRY_POLICY.run(attempt, |_, _| {}).await
    }

    /// Sends a request, again if it fails for a transient reason; the answer is read line by line.
    pub(crate) async fn lines(&self, request: &Value) -> Result<Lines<'_>, ProviderError> {
        let response = RETRY_POLICY.run(|| self.send(request), |_, _| {}).await?;
        Ok(Lines { client: self, body: LimitedBody::new(response, self.context.max_body), buffer: Vec::new() })
    }

    /// Bounds the time of what is asked of the provider, retries included.
    pub(crate) async fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let late = || self.unavailable(&format!("no answer within {} s", limit.as_secs()));
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
    }

    /// The response to a request that succeeded.
    async fn send(&self, request: &Value) -> Result<Response, Failure> {
        let response = self.client.post(self.endpoint.clone()).json(request).send().await;
        let response = response.map_err(|error| self.broken(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = http::retry_after(response.headers(), http::server_time(response.headers()));
        let reason = self.reason(status, &self.read(response).await?);
        if !http::is_transient(status) {
            return Err(self.rejected(status, &reason).into());
        }
        let error = self.unavailable(&format!("HTTP {}: {reason}", status.as_u16()));
        Err(Failure::Transient { error, retry_after })
    }

    async fn read(&self, response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = LimitedBody::new(response, self.context.max_body);
        let mut bytes = Vec::new();
        while body.append_to(&mut bytes).await.map_err(|error| self.unread(&error))?.is_some() {}
        Ok(bytes)
    }

    fn unread(&self, error: &BodyError) -> Failure {
        match error {
            BodyError::TooLong => {
                self.malformed(&format!("it is longer than {} MiB", self.context.max_body >> 20)).into()
            }
            BodyError::Broken(error) => self.broken(error),
        }
    }

    /// No answer came. Somebody waits, so what took all the time is not tried again, nor a server that is not there.
    fn broken(&self, error: &reqwest::Error) -> Failure {
        let reason = if error.is_timeout() && !error.is_connect() {
            format!("no answer within {} s", self.context.total.as_secs())
        } else {
            http::root_cause(error)
        };
        let failed = self.unavailable(&reason);
        if error.is_timeout() || error.is_connect() { failed.into() } else { Failure::transient(failed) }
    }

    /// What the provider says about a failure, shortened.
    fn reason(&self, status: StatusCode, body: &[u8]) -> String {
        let text = http::explanation(body).unwrap_or_else(|| String::from_utf8_lossy(body).trim().to_owned());
        if text.is_empty() {
            return status.canonical_reason().unwrap_or("no reason given").to_owned();
        }
        self.without_key(&text).chars().take(MAX_REASON).collect()
    }

    /// Providers repeat what they were sent.
    fn without_key(&self, text: &str) -> String {
        match self.key.as_ref().map(|key| key.expose_secret()).filter(|key| !key.is_empty()) {
            Some(key) => text.replace(key, "[key]"),
            None => text.to_owned(),
        }
    }

    fn unavailable(&self, reason: &str) -> ProviderError {
        let ProviderContext { server, table, alternative, .. } = self.context;
        let remedy = match server {
            Server::Ollama => format!("start it with 'ollama serve', or set {table}.base_url{alternative}"),
            Server::OpenAi | Server::Reranker => {
                format!("check that it runs and that {table}.base_url is its address{alternative}")
            }
        };
        ProviderError::Unavailable { provider: self.provider.clone(), reason: self.without_key(reason), remedy }
    }

    fn rejected(&self, status: StatusCode, reason: &str) -> ProviderError {
        let ProviderContext { server, table, task, ref model, .. } = self.context;
        let remedy = match status.as_u16() {
            401 | 403 => "check the key, and whether it may use this model".to_owned(),
            404 if server == Server::Ollama => {
                format!("run 'ollama pull {model}'; Ollama must be version 0.3 or newer")
            }
            404 => format!("check {table}.base_url and that there is a model {model}"),
            300..=399 => format!("redirects are not followed; set {table}.base_url to the target"),
            _ => format!("check {table}.model ({model}) and what the server's own log says"),
        };
        let (status, reason) = (status.as_u16(), reason.to_owned());
        ProviderError::Rejected { provider: self.provider.clone(), task, status, reason, remedy }
    }

    /// An answer that is not what the interface promises.
    pub(crate) fn malformed(&self, reason: &str) -> ProviderError {
        let remedy = format!("check {}.base_url", self.context.table);
        ProviderError::Malformed { provider: self.provider.clone(), reason: self.without_key(reason), remedy }
    }
}

/// An answer that is read line by line.
pub(crate) struct Lines<'a> {
    client: &'a ProviderClient,
    body: LimitedBody,
    buffer: Vec<u8>,
}

impl Lines<'_> {
    /// The next line without its end; `None` behind the last.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, ProviderError> {
        let text = |line: Vec<u8>| String::from_utf8_lossy(&line).trim_end().to_owned();
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(text(self.buffer.drain(..=end).collect())));
            }
            let part = self.body.append_to(&mut self.buffer).await;
            if part.map_err(|error| self.client.unread(&error).into_error())?.is_none() {
                return Ok(Some(text(std::mem::take(&mut self.buffer))).filter(|rest| !rest.is_empty()));
            }
        }
    }
}
