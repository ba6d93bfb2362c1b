//! One POST of JSON to a provider of a model: retries, limits, and what went wrong in words. The response is read whole
//! or line by line. Requests to forges are in `sources::forge`.

use std::time::Duration;

use reqwest::{
    Client, Response, StatusCode, Url,
    header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER},
    redirect::Policy,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Serialize, de::DeserializeOwned};

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// Further attempts when a request fails for a passing reason.
const RETRIES: u32 = 2;
/// Wait before the first of them; the next is four times as long.
const BACKOFF: Duration = Duration::from_millis(250);
/// Longest wait that a provider may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Longest part of a provider's own explanation that is repeated.
const MAX_REASON: usize = 300;

/// What a transport is for: how its settings are called in messages, and its limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    /// The setting with the address: `embedding.base_url`.
    pub(crate) base_url: &'static str,
    /// The key, in a sentence: `the key of the embedding provider`.
    pub(crate) key: &'static str,
    /// Longest time for a whole answer.
    pub(crate) total: Duration,
    /// Largest answer, in bytes.
    pub(crate) max_body: usize,
}

/// A setting that cannot be used.
pub(crate) struct Refused {
    /// Its name.
    pub(crate) setting: &'static str,
    /// What is wrong with it and what would be right.
    pub(crate) problem: String,
}

/// A client of one address of a provider.
pub(crate) struct Transport {
    purpose: Purpose,
    client: Client,
    endpoint: Url,
    base: String,
    key: Option<SecretString>,
}

/// Why an attempt failed.
pub(crate) enum Failure {
    /// No answer came.
    Silence {
        /// What happened.
        reason: String,
        /// Whether it may go better at once.
        passing: bool,
    },
    /// The provider answers that it did not do it.
    Status {
        /// HTTP status.
        status: StatusCode,
        /// Its own words.
        reason: String,
        /// How long it wants to be left alone.
        pause: Option<Duration>,
    },
    /// The answer cannot be read.
    Malformed(String),
}

impl Failure {
    /// How long to wait before another attempt, if one makes sense.
    fn wait(&self, backoff: Duration) -> Option<Duration> {
        match self {
            Self::Silence { passing, .. } => passing.then_some(backoff),
            Self::Status { status, pause, .. } if is_passing(*status) => {
                Some(pause.unwrap_or(backoff)).filter(|wait| *wait <= MAX_PAUSE)
            }
            Self::Status { .. } | Self::Malformed(_) => None,
        }
    }
}

/// Whether a status says that another attempt may succeed.
pub(crate) fn is_passing(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}

impl Transport {
    /// A client for the path below the base address.
    pub(crate) fn new(purpose: Purpose, base: &Url, path: &[&str], key: Option<SecretString>) -> Result<Self, Refused> {
        let refuse = |problem: String| Refused { setting: purpose.base_url, problem };
        if !matches!(base.scheme(), "http" | "https") {
            return Err(refuse(format!("is {}, but must begin with http:// or https://", shown(base))));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(refuse("has a user or password in it; give the key apart from the address".into()));
        }
        let mut endpoint = base.clone();
        endpoint.set_query(None);
        endpoint.set_fragment(None);
        if let Ok(mut segments) = endpoint.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let mut builder = Client::builder()
            .user_agent(concat!("backstory/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .connect_timeout(CONNECT)
            .timeout(purpose.total);
        if is_loopback(base) {
            builder = builder.no_proxy();
        } else if base.scheme() == "http" && key.is_some() {
            tracing::warn!(url = %shown(base), "the key travels unencrypted; use https in {}", purpose.base_url);
        }
        if let Some(key) = &key {
            builder = builder.default_headers(bearer(key, purpose.key)?);
        }
        let client = builder
            .build()
            .map_err(|error| refuse(format!("cannot be reached: no HTTPS client can be set up: {}", root(&error))))?;
        Ok(Self { purpose, client, endpoint, base: shown(base), key })
    }

    /// The base address, for people.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Sends a request, again if it fails for a passing reason, and reads the answer.
    pub(crate) async fn post<T: DeserializeOwned>(&self, request: &impl Serialize) -> Result<T, Failure> {
        let mut failures = 0;
        loop {
            match self.attempt(request).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => self.wait(failure, &mut failures).await?,
            }
        }
    }

    /// Sends a request, again if it fails for a passing reason; the answer is read line by line.
    pub(crate) async fn lines(&self, request: &impl Serialize) -> Result<Lines<'_>, Failure> {
        let mut failures = 0;
        loop {
            match self.send(request).await {
                Ok(response) => return Ok(Lines { transport: self, response, buffer: Vec::new(), read: 0 }),
                Err(failure) => self.wait(failure, &mut failures).await?,
            }
        }
    }

    /// Waits before another attempt, if one makes sense; each wait is four times as long as the one before.
    async fn wait(&self, failure: Failure, failures: &mut u32) -> Result<(), Failure> {
        let wait = failure.wait(BACKOFF * 4_u32.pow(*failures)).filter(|_| *failures < RETRIES);
        let Some(wait) = wait else { return Err(failure) };
        *failures += 1;
        tracing::debug!(url = %self.base, wait_ms = wait.as_millis() as u64, "asking a provider again");
        tokio::time::sleep(wait).await;
        Ok(())
    }

    async fn attempt<T: DeserializeOwned>(&self, request: &impl Serialize) -> Result<T, Failure> {
        let response = self.send(request).await?;
        let body = self.body(response).await?;
        serde_json::from_slice(&body).map_err(|error| Failure::Malformed(error.to_string()))
    }

    /// The response to a request that succeeded.
    async fn send(&self, request: &impl Serialize) -> Result<Response, Failure> {
        let response = self.client.post(self.endpoint.clone()).json(request).send().await;
        let response = response.map_err(|error| self.silence(&error))?;
        let (status, pause) = (response.status(), pause(response.headers()));
        if status.is_success() {
            return Ok(response);
        }
        let body = self.body(response).await?;
        Err(Failure::Status { status, reason: self.reason(status, &body), pause })
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| self.silence(&error))? {
            if body.len() + part.len() > self.purpose.max_body {
                return Err(self.too_long());
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }

    fn too_long(&self) -> Failure {
        Failure::Malformed(format!("it is longer than {} MiB", self.purpose.max_body >> 20))
    }

    fn silence(&self, error: &reqwest::Error) -> Failure {
        let reason = if error.is_timeout() && !error.is_connect() {
            format!("no answer within {} s", self.purpose.total.as_secs())
        } else {
            self.without_key(&root(error))
        };
        Failure::Silence { reason, passing: !error.is_timeout() && !error.is_connect() }
    }

    /// What the provider says about a failure, shortened.
    fn reason(&self, status: StatusCode, body: &[u8]) -> String {
        let json: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let said = json["error"]["message"].as_str().or(json["error"].as_str()).or(json["message"].as_str());
        let text = String::from_utf8_lossy(&body[..body.len().min(MAX_REASON)]);
        let said = said.unwrap_or(text.trim());
        let said = if said.is_empty() { status.canonical_reason().unwrap_or("no reason given") } else { said };
        self.without_key(&said[..said.floor_char_boundary(MAX_REASON)])
    }

    /// Providers repeat what they were sent.
    fn without_key(&self, text: &str) -> String {
        match self.key.as_ref().map(|key| key.expose_secret()).filter(|key| !key.is_empty()) {
            Some(key) => text.replace(key, "[key]"),
            None => text.to_owned(),
        }
    }
}

/// An answer that is read line by line.
pub(crate) struct Lines<'a> {
    transport: &'a Transport,
    response: Response,
    buffer: Vec<u8>,
    /// Bytes that came in all.
    read: usize,
}

impl Lines<'_> {
    /// The next line without its end; `None` behind the last.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, Failure> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            let Some(part) = self.response.chunk().await.map_err(|error| self.transport.silence(&error))? else {
                let rest = std::mem::take(&mut self.buffer);
                let rest = String::from_utf8_lossy(&rest).trim_end().to_owned();
                return Ok(Some(rest).filter(|rest| !rest.is_empty()));
            };
            self.read += part.len();
            if self.read > self.transport.purpose.max_body {
                return Err(self.transport.too_long());
            }
            self.buffer.extend_from_slice(&part);
        }
    }
}

fn bearer(key: &SecretString, name: &'static str) -> Result<HeaderMap, Refused> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose_secret())).map_err(|_| Refused {
        setting: name,
        problem: "has characters that no HTTP header can have; check for a stray line break".into(),
    })?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(AUTHORIZATION, value)]))
}

/// The pause that an answer asks for, in seconds; a date is not understood.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The innermost cause, which says what happened; the outer ones only say that something did.
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// An address without anything that may be secret.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for addresses that have no user.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}
