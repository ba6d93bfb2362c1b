//! GET requests for JSON to a forge: limits, retries, bounded bodies, and paging headers. Requests to models are in
//! `engine::transport`.

use std::{
    error::Error as _,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use jiff::Timestamp;
use parking_lot::Mutex;
use reqwest::{
    Response, StatusCode,
    header::{ACCEPT, ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, LINK, LOCATION, RETRY_AFTER},
};
use secrecy::ExposeSecret as _;
use serde_json::Value;
use tokio::sync::Semaphore;
use url::Url;

use super::{
    DEFAULT_RETRIES, ForgeError, ForgeSettings, MAX_PARSED_RESPONSE, MAX_RESPONSE_BODY, MAX_SYNC_BYTES, MAX_SYNC_TIME,
    RequestMetrics,
    json::{self, JsonError},
    limiter::Limiter,
    network::{self, AllowedNetwork, Lookup, PublicOnlyResolver},
};
use crate::{
    git::address::AddressError,
    http::{
        self, BodyError, LimitedBody, RetryPolicy, Timeouts, client_builder, explanation, header_text, is_transient,
        is_unencrypted, redact_url, retry_after, root_cause, secret_header, server_time, time_until,
    },
};

/// Most requests under way at once.
const MAX_IN_FLIGHT: usize = 16;
/// Most redirects followed for one request.
const MAX_REDIRECTS: usize = 3;
/// How long to leave a forge alone that limits requests and does not say for how long, as GitHub advises.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(60);
/// Longest part of a forge's own explanation that is repeated in an error.
const MAX_REASON: usize = 200;
/// Bodies of more bytes are parsed where nobody else waits, and get room as they come.
const LARGE: usize = 1 << 20;

const TIMEOUTS: Timeouts =
    Timeouts { connect: Duration::from_secs(10), silence: Duration::from_secs(60), total: Duration::from_secs(120) };
const RETRY_POLICY: RetryPolicy = RetryPolicy {
    retries: DEFAULT_RETRIES,
    first_wait: Duration::from_millis(250),
    max_wait: Duration::from_secs(30),
    // A sync that should wait longer ends instead.
    max_retry_after: Duration::from_secs(600),
};

type Failure = http::Failure<ForgeError>;

/// How a forge expects requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApiConventions {
    /// Name of the header with the token.
    pub(crate) token_header: &'static str,
    /// What stands before the token in it.
    pub(crate) token_prefix: &'static str,
    /// Kind of answer.
    pub(crate) accept: &'static str,
    /// More headers of every request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// What a token must be able to do, as in "a token with the scope read_api".
    pub(crate) token: &'static str,
}

/// What the body of an answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedJson {
    /// A JSON array.
    List,
    /// A JSON object.
    Object,
}

/// An answer that was understood.
#[derive(Debug)]
pub(crate) struct ForgeResponse {
    /// What was asked for, without the query.
    pub(crate) url: String,
    /// The body.
    pub(crate) json: Value,
    /// What the headers say about paging.
    pub(crate) paging: Paging,
    /// The server's clock.
    pub(crate) time: Timestamp,
    /// Names this state of what was asked for, where the server tells.
    pub(crate) etag: Option<String>,
    /// Of the body.
    pub(crate) hash: u64,
}

/// What the headers of an answer say about paging.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Paging {
    /// Number of the next page.
    pub(crate) next_page: Option<u32>,
    /// Cursor of the next page.
    pub(crate) cursor: Option<String>,
    /// Number of the last page.
    pub(crate) last_page: Option<u32>,
    /// Items on all pages.
    pub(crate) total: Option<u64>,
    /// Whether the headers say anything about a next page, be it that there is none.
    pub(crate) told: bool,
}

impl Paging {
    fn of(headers: &HeaderMap) -> Self {
        let next_header = header_text(headers, "x-next-page");
        let link = headers.get(LINK).and_then(|value| value.to_str().ok());
        let in_link = |rel: &str, name: &str| {
            let query = link_query(link?, rel)?;
            let mut pairs = url::form_urlencoded::parse(query.as_bytes());
            pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        let next_page = next_header.and_then(|page| page.trim().parse().ok());
        Self {
            next_page: next_page.or_else(|| in_link("next", "page")?.parse().ok()),
            cursor: in_link("next", "cursor"),
            last_page: in_link("last", "page").and_then(|page| page.parse().ok()),
            total: header_text(headers, "x-total").and_then(|total| total.trim().parse().ok()),
            told: next_header.is_some() || link.is_some(),
        }
    }
}

/// The query of the link with that relation. Its host and path are not believed.
fn link_query(header: &str, rel: &str) -> Option<String> {
    let link = header.split(',').find(|link| {
        let mut parameters = link.split(';').skip(1).map(str::trim);
        parameters.any(|parameter| parameter.strip_prefix("rel=").is_some_and(|value| value.trim_matches('"') == rel))
    })?;
    let target = link.trim().strip_prefix('<')?.split('>').next()?;
    Some(target.split_once('?')?.1.split('#').next()?.to_owned())
}

/// A client of one server. Clones share connections, limits and counters.
#[derive(Clone)]
pub(crate) struct Http {
    inner: Arc<Inner>,
    /// What the answers to this handle may take together; each by itself if nothing is said.
    room: Option<Arc<Room>>,
}

/// Memory that answers may take.
struct Room {
    most: usize,
    left: AtomicUsize,
}

struct Inner {
    client: reqwest::Client,
    base: Url,
    conventions: &'static ApiConventions,
    retry_policy: RetryPolicy,
    /// Longest time until the whole answer to one request has come, and longest wait for answers that do not come.
    total: Duration,
    limiter: Limiter,
    in_flight: Semaphore,
    requests: AtomicU64,
    retried: AtomicU64,
    rate_limited: AtomicU64,
    waited_ms: AtomicU64,
    /// Bytes that came since a run began, unpacked.
    received: AtomicU64,
    /// When the run has taken as long as it may.
    deadline: Mutex<Instant>,
}

impl Http {
    /// A client that sends requests as the forge expects them.
    pub(crate) fn new(settings: &ForgeSettings, conventions: &'static ApiConventions) -> Result<Self, ForgeError> {
        let retry_policy = RetryPolicy { retries: settings.retries, ..RETRY_POLICY };
        Self::with_limits(settings, conventions, TIMEOUTS, retry_policy, network::system())
    }

    /// The same, with other limits, and another way to find the addresses of a host that must be public.
    fn with_limits(
        settings: &ForgeSettings,
        conventions: &'static ApiConventions,
        timeouts: Timeouts,
        retry_policy: RetryPolicy,
        lookup: Lookup,
    ) -> Result<Self, ForgeError> {
        let base = checked_base(&settings.base_url)?;
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(conventions.accept))]);
        for &(name, value) in conventions.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some(token) = &settings.token {
            let value = token_value(conventions.token_prefix, token.expose_secret())?;
            headers.insert(HeaderName::from_static(conventions.token_header), value);
        }
        settings.network.check(&base).map_err(|error| refused_address(&error))?;
        let mut builder = client_builder(&base, timeouts, headers);
        if let AllowedNetwork::Public(allowed) = &settings.network {
            let resolver = PublicOnlyResolver::new(allowed.clone(), lookup);
            // A proxy would look the host up itself.
            builder = builder.no_proxy().dns_resolver(Arc::new(resolver));
        }
        if is_unencrypted(&base) && settings.token.is_some() {
            tracing::warn!(url = %base, "the token travels unencrypted; use https in base_url");
        }
        let client = builder
            .build()
            .map_err(|error| ForgeError::Config(format!("no HTTPS client can be set up: {}", root_cause(&error))))?;
        let inner = Inner {
            client,
            base,
            conventions,
            retry_policy,
            total: timeouts.total,
            limiter: Limiter::new(settings.requests_per_second),
            in_flight: Semaphore::new(MAX_IN_FLIGHT),
            requests: AtomicU64::new(0),
            retried: AtomicU64::new(0),
            rate_limited: AtomicU64::new(0),
            waited_ms: AtomicU64::new(0),
            received: AtomicU64::new(0),
            deadline: Mutex::new(Instant::now() + MAX_SYNC_TIME),
        };
        Ok(Self { inner: Arc::new(inner), room: None })
    }

    /// The same client, whose answers may together take about so many bytes of memory.
    pub(crate) fn with_memory_limit(&self, most: usize) -> Self {
        Self { inner: self.inner.clone(), room: Some(Arc::new(Room { most, left: AtomicUsize::new(most) })) }
    }

    /// The same, unless there is a bound already.
    pub(crate) fn with_memory_limit_unless_set(&self, most: usize) -> Self {
        if self.room.is_some() { self.clone() } else { self.with_memory_limit(most) }
    }

    /// Begins to count what comes for a project, and the time that it takes.
    pub(crate) fn reset_usage(&self) {
        self.inner.received.store(0, Relaxed);
        *self.inner.deadline.lock() = Instant::now() + MAX_SYNC_TIME;
    }

    /// Address of the server, without a query.
    pub(crate) fn base(&self) -> &Url {
        &self.inner.base
    }

    pub(crate) fn metrics(&self) -> RequestMetrics {
        let inner = &self.inner;
        RequestMetrics {
            requests: inner.requests.load(Relaxed),
            retries: inner.retried.load(Relaxed),
            rate_limited: inner.rate_limited.load(Relaxed),
            waited_ms: inner.waited_ms.load(Relaxed),
            pause_ms: u64::try_from(inner.limiter.pause_left().as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Asks for the resource below the base address, again and again if it fails for a transient reason.
    pub(crate) async fn get(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        expected: ExpectedJson,
    ) -> Result<ForgeResponse, ForgeError> {
        self.get_if_changed(None, path, query, expected).await
    }

    /// The same, unless it is still in the state that an earlier answer named: then the body is `null`.
    pub(crate) async fn get_if_changed(
        &self,
        etag: Option<&str>,
        path: &[&str],
        query: &[(&str, &str)],
        expected: ExpectedJson,
    ) -> Result<ForgeResponse, ForgeError> {
        let url = self.url(path, query);
        // Held over retries, so that new requests do not overtake one that waits.
        let _in_flight = self.inner.in_flight.acquire().await;
        let mut attempts = 0;
        let lost_ms = AtomicU64::new(0);
        let attempt = || {
            attempts += 1;
            self.attempt(&url, etag, expected, &lost_ms)
        };
        let outcome = self.inner.retry_policy.run(attempt, |failure, wait| self.before_wait(failure, wait)).await;
        outcome.map_err(|error| match error {
            ForgeError::RateLimited { url, retry_after, .. } => ForgeError::RateLimited { url, attempts, retry_after },
            other => other,
        })
    }

    /// Counts a retry. If the forge asks for the wait, no other request is sent in it either.
    fn before_wait(&self, failure: &Failure, wait: Duration) {
        let inner = &self.inner;
        inner.retried.fetch_add(1, Relaxed);
        inner.waited_ms.fetch_add(wait.as_millis() as u64, Relaxed);
        if matches!(failure, Failure::Transient { retry_after: Some(_), .. }) {
            inner.limiter.pause(wait);
        }
    }

    fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.inner.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// One attempt, with the redirects it meets on this server. `lost_ms` is what all attempts have waited in vain.
    async fn attempt(
        &self,
        url: &Url,
        etag: Option<&str>,
        expected: ExpectedJson,
        lost_ms: &AtomicU64,
    ) -> Result<ForgeResponse, Failure> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            self.check_deadline(&url)?;
            let permit = self.inner.limiter.acquire().await;
            self.inner.requests.fetch_add(1, Relaxed);
            let request = self.inner.client.get(url.clone());
            let wait = AnswerWait { url: &url, begun: Instant::now(), lost_ms, most: self.inner.total };
            let response = etag.iter().fold(request, |request, etag| request.header(IF_NONE_MATCH, *etag)).send().await;
            drop(permit);
            let response = response.map_err(|error| wait.failure(&error))?;
            if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
                return self.read(&wait, response, expected).await;
            }
            url = self.redirect(&url, &response)?;
        }
        Err(Failure::Permanent(ForgeError::Malformed {
            url: redact_url(&url),
            reason: format!("it redirects more than {MAX_REDIRECTS} times"),
        }))
    }

    /// Refuses to ask when the time for a project is over.
    fn check_deadline(&self, url: &Url) -> Result<(), Failure> {
        if Instant::now() < *self.inner.deadline.lock() {
            return Ok(());
        }
        let spent = format!("reading one project takes more than {} hours", MAX_SYNC_TIME.as_secs() / 3600);
        Err(Failure::Permanent(ForgeError::UsedUp { url: redact_url(url), spent }))
    }

    /// Where a redirect leads, if that is on the same server: the token must not travel elsewhere.
    fn redirect(&self, from: &Url, response: &Response) -> Result<Url, Failure> {
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let Some(target) = location.and_then(|location| from.join(location).ok()) else {
            return Err(ForgeError::Server { url: redact_url(from), status: response.status().as_u16() }.into());
        };
        if target.origin() == self.inner.base.origin() {
            return Ok(target);
        }
        let origin = target.origin();
        // What is no address of a server has no origin to be named.
        let to = if origin.is_tuple() {
            origin.ascii_serialization()
        } else {
            format!("an address of '{}:'", target.scheme())
        };
        let from = redact_url(from);
        let message =
            format!("{from} redirects to {to}, where the token is not sent; if that is the forge, set base_url to it");
        Err(Failure::Permanent(ForgeError::Config(message)))
    }

    async fn read(
        &self,
        wait: &AnswerWait<'_>,
        mut response: Response,
        expected: ExpectedJson,
    ) -> Result<ForgeResponse, Failure> {
        let url = wait.url;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let time = server_time(&headers);
        if is_transient(status) && status != StatusCode::TOO_MANY_REQUESTS {
            let retry_after = retry_after(&headers, time).filter(|_| status == StatusCode::SERVICE_UNAVAILABLE);
            let error = ForgeError::Server { url: redact_url(url), status: status.as_u16() };
            return Err(Failure::Transient { error, retry_after });
        }
        let etag = header_text(&headers, ETAG.as_str()).map(str::to_owned);
        if status == StatusCode::NOT_MODIFIED {
            let (paging, json) = (Paging::of(&headers), Value::Null);
            return Ok(ForgeResponse { url: redact_url(url), json, paging, time, etag, hash: 0 });
        }
        let body = match self.body(wait, response).await {
            // The headers tell enough.
            Err(_) if status == StatusCode::TOO_MANY_REQUESTS => Vec::new(),
            body => body?,
        };
        if let Some(retry_after) = rate_limit(status, &headers, &body, time) {
            self.inner.rate_limited.fetch_add(1, Relaxed);
            let error = ForgeError::RateLimited { url: redact_url(url), attempts: 0, retry_after };
            return Err(Failure::Transient { error, retry_after });
        }
        if !status.is_success() {
            return Err(Failure::Permanent(refusal(url, status, &body, self.inner.conventions.token)));
        }
        let malformed = |reason| Failure::transient(ForgeError::Malformed { url: redact_url(url), reason });
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        let hash = hasher.finish();
        let json = match self.parse(body).await {
            Ok(json) => json,
            Err(JsonError::Malformed(error)) => return Err(malformed(format!("no valid JSON, {error}"))),
            Err(JsonError::TooHeavy) => return Err(self.too_heavy(url)),
        };
        match (expected, &json) {
            (ExpectedJson::List, Value::Array(_)) | (ExpectedJson::Object, Value::Object(_)) => {}
            (ExpectedJson::List, _) => return Err(malformed("expected a JSON array".to_owned())),
            (ExpectedJson::Object, _) => return Err(malformed("expected a JSON object".to_owned())),
        }
        Ok(ForgeResponse { url: redact_url(url), json, paging: Paging::of(&headers), time, etag, hash })
    }

    /// Memory that the next answer may take.
    fn room(&self) -> usize {
        self.room.as_ref().map_or(MAX_PARSED_RESPONSE, |room| room.left.load(Relaxed).min(MAX_PARSED_RESPONSE))
    }

    fn too_heavy(&self, url: &Url) -> Failure {
        let most = self.room.as_ref().map_or(MAX_PARSED_RESPONSE, |room| room.most.min(MAX_PARSED_RESPONSE));
        let what = format!("answers that take more than {} MiB of memory", most >> 20);
        Failure::Permanent(ForgeError::TooLarge { url: redact_url(url), what })
    }

    async fn parse(&self, body: Vec<u8>) -> Result<Value, JsonError> {
        let room = self.room();
        let parsed = if body.len() < LARGE {
            json::parse(&body, room)
        } else {
            let parsing = tokio::task::spawn_blocking(move || json::parse(&body, room));
            parsing.await.unwrap_or_else(|error| Err(JsonError::Malformed(error.to_string())))
        };
        let (json, weight) = parsed?;
        if let Some(room) = &self.room {
            // Several may have been parsed at once, each within what was left.
            let taken = room.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(weight));
            taken.map_err(|_| JsonError::TooHeavy)?;
        }
        Ok(json)
    }

    async fn body(&self, wait: &AnswerWait<'_>, response: Response) -> Result<Vec<u8>, Failure> {
        let url = wait.url;
        // What is text on the wire is no less in memory.
        let most = self.room().min(MAX_RESPONSE_BODY);
        let mut body = LimitedBody::new(response, most);
        let mut bytes = Vec::new();
        loop {
            match body.append_to(&mut bytes).await {
                Ok(Some(length)) if self.inner.received.fetch_add(length as u64, Relaxed) > MAX_SYNC_BYTES => {
                    let spent = format!("more than {} GiB came from the forge for one project", MAX_SYNC_BYTES >> 30);
                    return Err(Failure::Permanent(ForgeError::UsedUp { url: redact_url(url), spent }));
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(bytes),
                Err(BodyError::Broken(error)) => return Err(wait.failure(&error)),
                Err(BodyError::TooLong) if most < MAX_RESPONSE_BODY => return Err(self.too_heavy(url)),
                Err(BodyError::TooLong) => {
                    let what = format!("an answer of more than {} MiB", MAX_RESPONSE_BODY >> 20);
                    return Err(Failure::Permanent(ForgeError::TooLarge { url: redact_url(url), what }));
                }
            }
        }
    }
}

/// An attempt that waits for its answer.
struct AnswerWait<'a> {
    url: &'a Url,
    begun: Instant,
    /// What this attempt and those before it have waited for answers that did not come, in milliseconds.
    lost_ms: &'a AtomicU64,
    /// Longest time that may be lost like this.
    most: Duration,
}

impl AnswerWait<'_> {
    /// Why no answer came, or not all of one.
    ///
    /// Headers that come one byte at a time cannot be told from silence, which ends an attempt earlier than a slow body. So
    /// the time of all attempts counts: the next one would be as slow, and hold up the others as long.
    fn failure(&self, error: &reqwest::Error) -> Failure {
        if !error.is_timeout() || error.is_connect() {
            return unreachable(self.url, error);
        }
        let url = redact_url(self.url);
        let own_ms = self.begun.elapsed().as_millis() as u64;
        let lost_ms = self.lost_ms.fetch_add(own_ms, Relaxed) + own_ms;
        if u128::from(lost_ms) >= self.most.as_millis() {
            let reason = format!("its answer had not come whole after {} s", self.most.as_secs());
            return Failure::Permanent(ForgeError::TimedOut { url, reason });
        }
        Failure::transient(ForgeError::TimedOut { url, reason: "it does not answer in time".to_owned() })
    }
}

/// What a status that is neither success nor transient means.
fn refusal(url: &Url, status: StatusCode, body: &[u8], token: &'static str) -> ForgeError {
    let url = redact_url(url);
    match status {
        StatusCode::UNAUTHORIZED => ForgeError::Unauthorized { url, token },
        StatusCode::FORBIDDEN => {
            let reason = explanation(body).filter(|reason| reason != "403 Forbidden");
            ForgeError::Forbidden { url, token, reason: reason.map(|text| text.chars().take(MAX_REASON).collect()) }
        }
        StatusCode::NOT_FOUND | StatusCode::GONE => ForgeError::NotFound { url },
        _ => ForgeError::Server { url, status: status.as_u16() },
    }
}

/// Whether the answer says that there were too many requests, and if so how long the server asks everybody to wait.
/// GitHub says so with 403 too, and then tells in another header, or only in words.
fn rate_limit(status: StatusCode, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Option<Option<Duration>> {
    let exhausted = header_text(headers, "x-ratelimit-remaining").is_some_and(|left| left.trim() == "0");
    let limited = match status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::FORBIDDEN => {
            exhausted
                || headers.contains_key(RETRY_AFTER)
                || explanation(body).is_some_and(|reason| reason.to_lowercase().contains("rate limit"))
        }
        _ => false,
    };
    let reset = |name: &str| {
        let second = header_text(headers, name)?.trim().parse().ok()?;
        time_until(Timestamp::from_second(second).ok()?, now)
    };
    let told = || {
        let by_reset = if exhausted { reset("x-ratelimit-reset") } else { None };
        retry_after(headers, now).or(by_reset).or_else(|| reset("ratelimit-reset"))
    };
    let pause = || match told() {
        None if status == StatusCode::FORBIDDEN && !headers.contains_key(RETRY_AFTER) => Some(DEFAULT_RETRY_AFTER),
        told => told.filter(|pause| !pause.is_zero()),
    };
    limited.then(pause)
}

/// What the user who named the host gets to know, whatever there is at the address.
fn refused_address(error: &AddressError) -> ForgeError {
    ForgeError::Config(match error {
        AddressError::NotPublic { host, address, kind } => format!(
            "host '{host}' is at {address}, {kind}; if that is intended, name the host in allowed_hosts under \
             [repositories] in the configuration"
        ),
        error => error.to_string(),
    })
}

/// The refusal of an address among the causes of a failed request.
fn address_error(error: &reqwest::Error) -> Option<&AddressError> {
    let mut cause = error.source();
    while let Some(inner) = cause {
        let within = inner.downcast_ref::<std::io::Error>().and_then(|error| error.get_ref()?.downcast_ref());
        if let Some(refused) = within.or_else(|| inner.downcast_ref()) {
            return Some(refused);
        }
        cause = inner.source();
    }
    None
}

fn unreachable(url: &Url, error: &reqwest::Error) -> Failure {
    if let Some(refused) = address_error(error) {
        return Failure::Permanent(refused_address(refused));
    }
    let reason = if error.is_timeout() { "it does not answer in time".to_owned() } else { root_cause(error) };
    Failure::transient(ForgeError::Unreachable { url: redact_url(url), reason })
}

fn checked_base(url: &Url) -> Result<Url, ForgeError> {
    let wrong =
        |what: &str| Err(ForgeError::Config(format!("base_url {what}; write it like https://gitlab.example.com")));
    if !matches!(url.scheme(), "http" | "https") {
        return wrong("must begin with https:// or http://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return wrong("must not hold a user name or password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return wrong("must not have a query or a fragment");
    }
    Ok(url.clone())
}

fn token_value(prefix: &str, token: &str) -> Result<HeaderValue, ForgeError> {
    let wrong =
        |what| ForgeError::Config(format!("the token {what}; check the environment variable that token_env names"));
    let token = token.trim();
    if token.is_empty() {
        return Err(wrong("is empty"));
    }
    secret_header(prefix, token).ok_or_else(|| wrong("holds characters that no token has"))
}

#[cfg(test)]
mod tests;
