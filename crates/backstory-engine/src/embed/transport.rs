//! One POST of JSON to a provider: retries, limits, and what went wrong in words.

use std::time::Duration;

use reqwest::{
    Client, Response, StatusCode, Url,
    header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER},
    redirect::Policy,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Serialize, de::DeserializeOwned};

use super::{Provider, error::EmbedError};

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest time for a whole answer; Ollama loads a model in it, and embeds 32 long texts on a slow machine.
const TOTAL: Duration = Duration::from_secs(180);
/// Further attempts when a request fails for a passing reason.
const RETRIES: u32 = 2;
/// Wait before the first of them; the next is four times as long.
const BACKOFF: Duration = Duration::from_millis(250);
/// Longest wait that a provider may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Largest answer: 32 vectors of 4,096 numbers, written at length, have three million bytes.
const MAX_BODY: usize = 16 << 20;
/// Longest part of a provider's own explanation that is repeated.
const MAX_REASON: usize = 300;

/// A client of one address of a provider.
pub(super) struct Transport {
    provider: Provider,
    client: Client,
    endpoint: Url,
    base: String,
    key: Option<SecretString>,
}

/// Why an attempt failed.
pub(super) enum Failure {
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
pub(super) fn is_passing(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}

impl Transport {
    /// A client for the path below the base address.
    pub(super) fn new(
        provider: Provider,
        base: &Url,
        path: &[&str],
        key: Option<SecretString>,
    ) -> Result<Self, EmbedError> {
        let refuse = |problem: String| EmbedError::Configuration { setting: "embedding.base_url", problem };
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
            .timeout(TOTAL);
        if is_loopback(base) {
            builder = builder.no_proxy();
        } else if base.scheme() == "http" && key.is_some() {
            tracing::warn!(url = %shown(base), "the key travels unencrypted; use https in embedding.base_url");
        }
        if let Some(key) = &key {
            builder = builder.default_headers(bearer(key)?);
        }
        let client = builder
            .build()
            .map_err(|error| refuse(format!("cannot be reached: no HTTPS client can be set up: {}", root(&error))))?;
        Ok(Self { provider, client, endpoint, base: shown(base), key })
    }

    /// Who is asked.
    pub(super) fn provider(&self) -> Provider {
        self.provider
    }

    /// The base address, for people.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Sends a request, again if it fails for a passing reason, and reads the answer.
    pub(super) async fn post<T: DeserializeOwned>(&self, request: &impl Serialize) -> Result<T, Failure> {
        let mut backoff = BACKOFF;
        for _ in 0..RETRIES {
            let failure = match self.attempt(request).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let Some(wait) = failure.wait(backoff) else { return Err(failure) };
            tracing::debug!(url = %self.base, wait_ms = wait.as_millis() as u64, "asking the embedding provider again");
            tokio::time::sleep(wait).await;
            backoff *= 4;
        }
        self.attempt(request).await
    }

    async fn attempt<T: DeserializeOwned>(&self, request: &impl Serialize) -> Result<T, Failure> {
        let response = self.client.post(self.endpoint.clone()).json(request).send().await;
        let response = response.map_err(|error| self.silence(&error))?;
        let (status, pause) = (response.status(), pause(response.headers()));
        let body = self.body(response).await?;
        if !status.is_success() {
            return Err(Failure::Status { status, reason: self.reason(status, &body), pause });
        }
        serde_json::from_slice(&body).map_err(|error| Failure::Malformed(error.to_string()))
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| self.silence(&error))? {
            if body.len() + part.len() > MAX_BODY {
                return Err(Failure::Malformed(format!("it is longer than {} MiB", MAX_BODY >> 20)));
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }

    fn silence(&self, error: &reqwest::Error) -> Failure {
        let reason = if error.is_timeout() && !error.is_connect() {
            format!("no answer within {} s", TOTAL.as_secs())
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

fn bearer(key: &SecretString) -> Result<HeaderMap, EmbedError> {
    let mut value =
        HeaderValue::try_from(format!("Bearer {}", key.expose_secret())).map_err(|_| EmbedError::Configuration {
            setting: "the key of the embedding provider",
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
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for addresses that have no user.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}
