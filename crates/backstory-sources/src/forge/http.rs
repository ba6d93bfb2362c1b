//! GET requests for JSON: limits, retries, bounded bodies, and what the answers' headers say about paging.

use std::{
    error::Error as _,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use jiff::{Timestamp, fmt::rfc2822};
use reqwest::{
    Response, StatusCode,
    header::{ACCEPT, DATE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, LINK, LOCATION, RETRY_AFTER},
    redirect::Policy,
};
use secrecy::ExposeSecret as _;
use serde_json::Value;
use tokio::sync::Semaphore;
use url::Url;

use super::{
    ForgeError, MAX_ANSWER, MAX_BODY, MAX_RUN, RequestMetrics, Settings,
    json::{self, JsonError},
    limiter::Limiter,
    network::{self, Lookup, Network, PublicOnly},
};
use crate::git::address::AddressError;

/// Most requests under way at once.
const MAX_IN_FLIGHT: usize = 16;
/// Most redirects followed for one request.
const MAX_REDIRECTS: usize = 3;
/// Longest pause a forge may ask for; a sync that should wait longer ends instead.
const MAX_PAUSE: Duration = Duration::from_secs(600);
/// How long to leave a forge alone that limits requests and does not say for how long, as GitHub advises.
const UNTOLD_PAUSE: Duration = Duration::from_secs(60);
/// Longest part of a forge's own explanation that is repeated in an error.
const MAX_REASON: usize = 200;
/// Bodies of more bytes are parsed where nobody else waits, and get room as they come.
const LARGE: usize = 1 << 20;

/// Times that tests shorten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// Longest time to connect.
    pub(crate) connect: Duration,
    /// Longest silence of the forge.
    pub(crate) silence: Duration,
    /// Longest time for a whole answer.
    pub(crate) total: Duration,
    /// Longest wait before the first retry; it doubles with each.
    pub(crate) backoff: Duration,
    /// Longest wait before any retry.
    pub(crate) backoff_cap: Duration,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(60),
            total: Duration::from_secs(120),
            backoff: Duration::from_millis(250),
            backoff_cap: Duration::from_secs(30),
        }
    }
}

impl Tuning {
    /// Exponential backoff with full jitter: anything up to a bound that doubles.
    fn backoff(&self, attempt: u32) -> Duration {
        let bound = self.backoff.saturating_mul(1 << attempt.min(20)).min(self.backoff_cap);
        bound.mul_f64(fastrand::f64())
    }
}

/// How a forge wants to be asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
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
pub(crate) enum Shape {
    /// A JSON array.
    List,
    /// A JSON object.
    Object,
}

/// An answer that was understood.
#[derive(Debug)]
pub(crate) struct Answer {
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
        let next_header = text_header(headers, "x-next-page");
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
            total: text_header(headers, "x-total").and_then(|total| total.trim().parse().ok()),
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
    dialect: &'static Dialect,
    retries: u32,
    tuning: Tuning,
    limiter: Limiter,
    in_flight: Semaphore,
    requests: AtomicU64,
    retried: AtomicU64,
    rate_limited: AtomicU64,
    waited_ms: AtomicU64,
    /// Bytes that came since a run began, unpacked.
    received: AtomicU64,
}

/// Why one attempt failed.
enum Failure {
    Final(ForgeError),
    /// May be over soon; the server may have said when.
    Passing {
        error: ForgeError,
        pause: Option<Duration>,
    },
}

impl Http {
    /// A client that asks as the forge wants to be asked.
    pub(crate) fn new(settings: &Settings, dialect: &'static Dialect, tuning: Tuning) -> Result<Self, ForgeError> {
        Self::resolving(settings, dialect, tuning, network::system())
    }

    /// Likewise, with another way to find the addresses of a host that must be public.
    fn resolving(
        settings: &Settings,
        dialect: &'static Dialect,
        tuning: Tuning,
        lookup: Lookup,
    ) -> Result<Self, ForgeError> {
        let base = checked_base(&settings.base_url)?;
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(dialect.accept))]);
        for &(name, value) in dialect.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some(token) = &settings.token {
            let value = token_value(dialect.token_prefix, token.expose_secret())?;
            headers.insert(HeaderName::from_static(dialect.token_header), value);
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("backstory/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .redirect(Policy::none())
            .connect_timeout(tuning.connect)
            .read_timeout(tuning.silence)
            .timeout(tuning.total);
        if let Network::Public(allowed) = &settings.network {
            let resolver = PublicOnly::new(allowed.clone(), lookup);
            resolver.check_literal(&base).map_err(|error| refused_address(&error))?;
            // A proxy would look the host up itself.
            builder = builder.no_proxy().dns_resolver(Arc::new(resolver));
        }
        if is_loopback(&base) {
            builder = builder.no_proxy();
        } else if base.scheme() == "http" && settings.token.is_some() {
            tracing::warn!(url = %base, "the token travels unencrypted; use https in base_url");
        }
        let client = builder
            .build()
            .map_err(|error| ForgeError::Config(format!("no HTTPS client can be set up: {}", root_cause(&error))))?;
        let inner = Inner {
            client,
            base,
            dialect,
            retries: settings.retries,
            tuning,
            limiter: Limiter::new(settings.requests_per_second),
            in_flight: Semaphore::new(MAX_IN_FLIGHT),
            requests: AtomicU64::new(0),
            retried: AtomicU64::new(0),
            rate_limited: AtomicU64::new(0),
            waited_ms: AtomicU64::new(0),
            received: AtomicU64::new(0),
        };
        Ok(Self { inner: Arc::new(inner), room: None })
    }

    /// The same client, whose answers may together take about so many bytes of memory.
    pub(crate) fn within(&self, most: usize) -> Self {
        Self { inner: self.inner.clone(), room: Some(Arc::new(Room { most, left: AtomicUsize::new(most) })) }
    }

    /// Likewise, unless there is a bound already.
    pub(crate) fn within_at_most(&self, most: usize) -> Self {
        if self.room.is_some() { self.clone() } else { self.within(most) }
    }

    /// Begins to count what comes for a project.
    pub(crate) fn begin_run(&self) {
        self.inner.received.store(0, Relaxed);
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

    /// Asks for the resource below the base address, again and again if it fails for a passing reason.
    pub(crate) async fn get(&self, path: &[&str], query: &[(&str, &str)], shape: Shape) -> Result<Answer, ForgeError> {
        self.get_unless(None, path, query, shape).await
    }

    /// Likewise, unless it is still in the state that an earlier answer named: then the body is `null`.
    pub(crate) async fn get_unless(
        &self,
        etag: Option<&str>,
        path: &[&str],
        query: &[(&str, &str)],
        shape: Shape,
    ) -> Result<Answer, ForgeError> {
        let url = self.url(path, query);
        // Held over retries, so that new requests do not overtake one that waits.
        let _in_flight = self.inner.in_flight.acquire().await;
        let mut attempt = 0;
        loop {
            let (error, pause) = match self.attempt(&url, etag, shape).await {
                Ok(answer) => return Ok(answer),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing { error, pause }) => (error, pause),
            };
            if attempt >= self.inner.retries || pause.is_some_and(|pause| pause > MAX_PAUSE) {
                return Err(given_up(error, attempt + 1));
            }
            self.wait(attempt, pause, &error).await;
            attempt += 1;
        }
    }

    async fn wait(&self, attempt: u32, pause: Option<Duration>, error: &ForgeError) {
        let inner = &self.inner;
        let jitter = inner.tuning.backoff(if pause.is_some() { 0 } else { attempt });
        let wait = pause.unwrap_or_default() + jitter;
        tracing::debug!(%error, attempt, wait_ms = wait.as_millis() as u64, "trying again");
        inner.retried.fetch_add(1, Relaxed);
        inner.waited_ms.fetch_add(wait.as_millis() as u64, Relaxed);
        if pause.is_some() {
            inner.limiter.pause(wait);
        } else {
            tokio::time::sleep(wait).await;
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

    /// One attempt, with the redirects it meets on this server.
    async fn attempt(&self, url: &Url, etag: Option<&str>, shape: Shape) -> Result<Answer, Failure> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let turn = self.inner.limiter.turn().await;
            self.inner.requests.fetch_add(1, Relaxed);
            let request = self.inner.client.get(url.clone());
            let response = etag.iter().fold(request, |request, etag| request.header(IF_NONE_MATCH, *etag)).send().await;
            drop(turn);
            let response = response.map_err(|error| unreachable(&url, &error))?;
            if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
                return self.read(&url, response, shape).await;
            }
            url = self.redirect(&url, &response)?;
        }
        Err(Failure::Final(ForgeError::Malformed {
            url: shown(&url),
            reason: format!("it redirects more than {MAX_REDIRECTS} times"),
        }))
    }

    /// Where a redirect leads, if that is on the same server: the token must not travel elsewhere.
    fn redirect(&self, from: &Url, response: &Response) -> Result<Url, Failure> {
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let Some(target) = location.and_then(|location| from.join(location).ok()) else {
            return Err(Failure::Final(ForgeError::Server { url: shown(from), status: response.status().as_u16() }));
        };
        if target.origin() == self.inner.base.origin() {
            return Ok(target);
        }
        let (from, to) = (shown(from), target.origin().ascii_serialization());
        let message =
            format!("{from} redirects to {to}, where the token is not sent; if that is the forge, set base_url to it");
        Err(Failure::Final(ForgeError::Config(message)))
    }

    async fn read(&self, url: &Url, mut response: Response, shape: Shape) -> Result<Answer, Failure> {
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let time = text_header(&headers, DATE.as_str()).and_then(parse_http_date).unwrap_or_else(Timestamp::now);
        if is_passing(status) && status != StatusCode::TOO_MANY_REQUESTS {
            let pause = asked_pause(&headers, time).filter(|_| status == StatusCode::SERVICE_UNAVAILABLE);
            let error = ForgeError::Server { url: shown(url), status: status.as_u16() };
            return Err(Failure::Passing { error, pause });
        }
        let etag = text_header(&headers, ETAG.as_str()).map(str::to_owned);
        if status == StatusCode::NOT_MODIFIED {
            let (paging, json) = (Paging::of(&headers), Value::Null);
            return Ok(Answer { url: shown(url), json, paging, time, etag, hash: 0 });
        }
        let body = match self.body(url, &mut response).await {
            // The headers tell enough.
            Err(_) if status == StatusCode::TOO_MANY_REQUESTS => Vec::new(),
            body => body?,
        };
        if let Some(pause) = rate_limit(status, &headers, &body, time) {
            self.inner.rate_limited.fetch_add(1, Relaxed);
            let error = ForgeError::RateLimited { url: shown(url), attempts: 0, retry_after: pause };
            return Err(Failure::Passing { error, pause });
        }
        if !status.is_success() {
            return Err(Failure::Final(refusal(url, status, &body, self.inner.dialect.token)));
        }
        let malformed =
            |reason| Failure::Passing { error: ForgeError::Malformed { url: shown(url), reason }, pause: None };
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        let hash = hasher.finish();
        let json = match self.parse(body).await {
            Ok(json) => json,
            Err(JsonError::Malformed(error)) => return Err(malformed(format!("no valid JSON, {error}"))),
            Err(JsonError::TooHeavy) => return Err(self.too_heavy(url)),
        };
        match (shape, &json) {
            (Shape::List, Value::Array(_)) | (Shape::Object, Value::Object(_)) => {}
            (Shape::List, _) => return Err(malformed("it is no JSON array".to_owned())),
            (Shape::Object, _) => return Err(malformed("it is no JSON object".to_owned())),
        }
        Ok(Answer { url: shown(url), json, paging: Paging::of(&headers), time, etag, hash })
    }

    /// Memory that the next answer may take.
    fn room(&self) -> usize {
        self.room.as_ref().map_or(MAX_ANSWER, |room| room.left.load(Relaxed).min(MAX_ANSWER))
    }

    fn too_heavy(&self, url: &Url) -> Failure {
        let most = self.room.as_ref().map_or(MAX_ANSWER, |room| room.most.min(MAX_ANSWER));
        let what = format!("answers that take more than {} MiB of memory", most >> 20);
        Failure::Final(ForgeError::TooLarge { url: shown(url), what })
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

    async fn body(&self, url: &Url, response: &mut Response) -> Result<Vec<u8>, Failure> {
        // What is text on the wire is no less in memory.
        let most = self.room().min(MAX_BODY);
        let too_large = || match most < MAX_BODY {
            true => self.too_heavy(url),
            false => {
                let what = format!("an answer of more than {} MiB", MAX_BODY >> 20);
                Failure::Final(ForgeError::TooLarge { url: shown(url), what })
            }
        };
        let announced = response.content_length().unwrap_or(0);
        if announced > most as u64 {
            return Err(too_large());
        }
        // What is announced need not come.
        let mut body = Vec::with_capacity((announced as usize).min(LARGE));
        while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(url, &error))? {
            if self.inner.received.fetch_add(chunk.len() as u64, Relaxed) > MAX_RUN {
                return Err(Failure::Final(ForgeError::UsedUp { url: shown(url) }));
            }
            if body.len() + chunk.len() > most {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// What a status that is neither success nor passing means.
fn refusal(url: &Url, status: StatusCode, body: &[u8], token: &'static str) -> ForgeError {
    let url = shown(url);
    match status {
        StatusCode::UNAUTHORIZED => ForgeError::Unauthorized { url, token },
        StatusCode::FORBIDDEN => ForgeError::Forbidden { url, token, reason: explanation(body) },
        StatusCode::NOT_FOUND | StatusCode::GONE => ForgeError::NotFound { url },
        _ => ForgeError::Server { url, status: status.as_u16() },
    }
}

fn explanation(body: &[u8]) -> Option<String> {
    let json: Value = serde_json::from_slice(body).ok()?;
    let text = ["error_description", "message", "error"].iter().find_map(|key| json.get(key)?.as_str())?;
    (text != "403 Forbidden").then(|| text.chars().take(MAX_REASON).collect())
}

fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
}

/// Whether the answer says that there were too many requests, and if so how long the server asks everybody to wait.
/// GitHub says so with 403 too, and then tells in another header, or only in words.
fn rate_limit(status: StatusCode, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Option<Option<Duration>> {
    let exhausted = text_header(headers, "x-ratelimit-remaining").is_some_and(|left| left.trim() == "0");
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
        let second = text_header(headers, name)?.trim().parse().ok()?;
        until(Timestamp::from_second(second).ok()?, now)
    };
    let told = || {
        let by_reset = if exhausted { reset("x-ratelimit-reset") } else { None };
        asked_pause(headers, now).or(by_reset).or_else(|| reset("ratelimit-reset"))
    };
    let pause = || match told() {
        None if status == StatusCode::FORBIDDEN && !headers.contains_key(RETRY_AFTER) => Some(UNTOLD_PAUSE),
        told => told.filter(|pause| !pause.is_zero()),
    };
    limited.then(pause)
}

/// How long the server asks everybody to wait: a number of seconds or a date.
fn asked_pause(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = text_header(headers, RETRY_AFTER.as_str())?;
    let seconds = text.trim().parse().map(Duration::from_secs).ok();
    seconds.or_else(|| until(parse_http_date(text)?, now)).filter(|pause| !pause.is_zero())
}

fn until(at: Timestamp, now: Timestamp) -> Option<Duration> {
    Duration::try_from(at.duration_since(now)).ok()
}

fn given_up(error: ForgeError, tried: u32) -> ForgeError {
    match error {
        ForgeError::RateLimited { url, retry_after, .. } => {
            ForgeError::RateLimited { url, attempts: tried, retry_after }
        }
        other => other,
    }
}

/// What whoever named the host is told, whatever there is at the address.
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
        return Failure::Final(refused_address(refused));
    }
    let reason = if error.is_timeout() { "it does not answer in time".to_owned() } else { root_cause(error) };
    Failure::Passing { error: ForgeError::Unreachable { url: shown(url), reason }, pause: None }
}

/// The innermost cause. The outer ones repeat the whole URL.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(inner) = cause.and_then(std::error::Error::source) {
        cause = Some(inner);
    }
    cause.map_or_else(|| "the request failed".to_owned(), ToString::to_string)
}

/// An address without its query.
fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

fn checked_base(url: &Url) -> Result<Url, ForgeError> {
    let wrong =
        |what: &str| Err(ForgeError::Config(format!("base_url {what}; write it like https://gitlab.example.com")));
    if !matches!(url.scheme(), "http" | "https") {
        return wrong("must begin with https:// or http://");
    }
    if !url.has_host() {
        return wrong("names no host");
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
    let mut value =
        HeaderValue::from_str(&format!("{prefix}{token}")).map_err(|_| wrong("holds characters that no token has"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

fn text_header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn parse_http_date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()
}

#[cfg(test)]
mod tests;
