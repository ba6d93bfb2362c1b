//! What every client of another server shares: how it is built, how much of a response it reads, and when it repeats a
//! request.

use std::{error::Error as _, fmt::Display, time::Duration};

use backon::{ExponentialBuilder, Retryable as _};
use jiff::{Timestamp, fmt::rfc2822};
use reqwest::{
    ClientBuilder, Response, StatusCode,
    header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER},
    redirect::Policy,
};
use serde_json::Value;
use url::{Host, Url};

/// Longest body that is searched for an explanation, in bytes.
const MAX_EXPLAINING_BODY: usize = 64 << 10;

/// Time limits of one request.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Longest time to connect.
    pub connect: Duration,
    /// Longest silence of the server.
    pub silence: Duration,
    /// Longest time until the whole response has come.
    pub total: Duration,
}

/// Begins to build a client of the server at an address.
///
/// The client follows no redirects, and uses no proxy if the server is on this machine.
pub fn client_builder(base: &Url, timeouts: Timeouts, headers: HeaderMap) -> ClientBuilder {
    let builder = ClientBuilder::new()
        .user_agent(concat!("backstory/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .redirect(Policy::none())
        .connect_timeout(timeouts.connect)
        .read_timeout(timeouts.silence)
        .timeout(timeouts.total);
    if is_loopback(base) { builder.no_proxy() } else { builder }
}

/// Whether others on the network can read what is sent to an address.
pub fn is_unencrypted(url: &Url) -> bool {
    url.scheme() == "http" && !is_loopback(url)
}

/// Returns an address without anything that may be secret: a user, a password, a query.
pub fn redact_url(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for addresses that have no user.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Returns the header value for a secret; `None` if the secret has characters that no header can have.
pub fn secret_header(prefix: &str, secret: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("{prefix}{secret}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Why an attempt failed.
#[derive(Debug)]
pub enum Failure<E> {
    /// Another attempt may succeed.
    Transient {
        /// What went wrong.
        error: E,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// Another attempt would fail alike.
    Permanent(E),
}

impl<E> Failure<E> {
    /// A failure after which the server did not say when to come again.
    pub fn transient(error: E) -> Self {
        Self::Transient { error, retry_after: None }
    }

    /// Returns what went wrong.
    pub fn into_error(self) -> E {
        match self {
            Self::Transient { error, .. } | Self::Permanent(error) => error,
        }
    }
}

impl<E> From<E> for Failure<E> {
    fn from(error: E) -> Self {
        Self::Permanent(error)
    }
}

/// Whether a status says that another attempt may succeed.
pub fn is_transient(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
}

/// When a failed request is repeated.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// How often it is repeated.
    pub retries: u32,
    /// Longest wait before the first retry; it doubles with each.
    pub first_wait: Duration,
    /// Longest wait before any retry, unless the server asks for more.
    pub max_wait: Duration,
    /// Longest wait that the server may ask for; if it asks for more, there is no retry.
    pub max_retry_after: Duration,
}

impl RetryPolicy {
    /// Makes attempts until one succeeds, one fails permanently, or no retry is left.
    ///
    /// `before_wait` is called before each wait, with the failure and the time that will be waited.
    ///
    /// # Errors
    /// That of the last attempt.
    pub async fn run<T, E: Display, F: Future<Output = Result<T, Failure<E>>>>(
        self,
        mut attempt: impl FnMut() -> F,
        mut before_wait: impl FnMut(&Failure<E>, Duration),
    ) -> Result<T, E> {
        let outcome = (|| Box::pin(attempt()))
            .retry(self.backoff())
            .adjust(|failure, bound| self.wait(failure, bound?))
            .notify(|failure: &Failure<E>, wait| {
                let (Failure::Transient { error, .. } | Failure::Permanent(error)) = failure;
                tracing::debug!(%error, wait_ms = wait.as_millis() as u64, "trying again");
                before_wait(failure, wait);
            })
            .await;
        outcome.map_err(Failure::into_error)
    }

    fn backoff(self) -> ExponentialBuilder {
        let backoff = ExponentialBuilder::new().with_min_delay(self.first_wait).with_max_delay(self.max_wait);
        backoff.with_max_times(self.retries as usize)
    }

    /// How long to wait before another attempt, with full jitter below the bound; `None` for no other attempt.
    fn wait<E>(self, failure: &Failure<E>, bound: Duration) -> Option<Duration> {
        match failure {
            Failure::Permanent(_) => None,
            Failure::Transient { retry_after: None, .. } => Some(bound.mul_f64(fastrand::f64())),
            Failure::Transient { retry_after: Some(asked), .. } => {
                (*asked <= self.max_retry_after).then(|| *asked + self.first_wait.mul_f64(fastrand::f64()))
            }
        }
    }
}

/// Returns a header that is text.
pub fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Returns the time by the server's clock, or by this machine's if the server does not tell it.
pub fn server_time(headers: &HeaderMap) -> Timestamp {
    header_text(headers, DATE.as_str()).and_then(parse_http_date).unwrap_or_else(Timestamp::now)
}

/// How long the server asks everybody to wait, by a number of seconds or a date; `None` if that is no time at all.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = header_text(headers, RETRY_AFTER.as_str())?.trim();
    let seconds = text.parse().map(Duration::from_secs).ok();
    seconds.or_else(|| time_until(parse_http_date(text)?, now)).filter(|wait| !wait.is_zero())
}

/// The time between two others; `None` if the first is over.
pub(crate) fn time_until(at: Timestamp, now: Timestamp) -> Option<Duration> {
    Duration::try_from(at.duration_since(now)).ok()
}

fn parse_http_date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()
}

/// Returns what a server says about a failure, if it does so in JSON.
pub fn explanation(body: &[u8]) -> Option<String> {
    if body.len() > MAX_EXPLAINING_BODY {
        return None;
    }
    let json: Value = serde_json::from_slice(body).ok()?;
    let places = [&json["error_description"], &json["message"], &json["error"], &json["error"]["message"]];
    places.into_iter().find_map(Value::as_str).map(str::to_owned)
}

/// Returns the innermost cause, which says what happened; the outer ones repeat the whole address.
pub fn root_cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(inner) = cause.and_then(std::error::Error::source) {
        cause = Some(inner);
    }
    cause.map_or_else(|| "the request failed".to_owned(), ToString::to_string)
}

/// Why a body was not read to its end.
#[derive(Debug)]
pub enum BodyError {
    /// It is longer than it may be.
    TooLong,
    /// The connection failed.
    Broken(reqwest::Error),
}

/// The body of a response, read up to a limit.
#[derive(Debug)]
pub struct LimitedBody {
    response: Response,
    left: usize,
}

impl LimitedBody {
    /// The body of a response, which may have at most `limit` bytes, unpacked.
    pub fn new(response: Response, limit: usize) -> Self {
        Self { response, left: limit }
    }

    /// Appends the next part and returns its length; `None` behind the last.
    ///
    /// # Errors
    /// The connection fails, or the body is longer than it may be, which shows at once if its length is announced.
    pub async fn append_to(&mut self, buffer: &mut Vec<u8>) -> Result<Option<usize>, BodyError> {
        let announced = usize::try_from(self.response.content_length().unwrap_or(0)).unwrap_or(usize::MAX);
        if announced > self.left {
            return Err(BodyError::TooLong);
        }
        buffer.reserve(announced);
        let Some(part) = self.response.chunk().await.map_err(BodyError::Broken)? else { return Ok(None) };
        self.left = self.left.checked_sub(part.len()).ok_or(BodyError::TooLong)?;
        buffer.extend_from_slice(&part);
        Ok(Some(part.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        retries: 9,
        first_wait: Duration::from_millis(250),
        max_wait: Duration::from_secs(30),
        max_retry_after: Duration::from_secs(600),
    };

    #[test]
    fn backoff_doubles_up_to_its_cap_with_jitter() {
        let bounds: Vec<Duration> = backon::BackoffBuilder::build(POLICY.backoff()).collect();
        assert_eq!(bounds.len(), 9);
        for (retry, milliseconds) in [(0, 250), (1, 500), (4, 4000), (7, 30_000), (8, 30_000)] {
            let bound = Duration::from_millis(milliseconds);
            assert_eq!(bounds[retry], bound);
            let waits: Vec<Duration> = (0..200).filter_map(|_| POLICY.wait(&Failure::transient(()), bound)).collect();
            assert!(waits.len() == 200 && waits.iter().all(|wait| *wait <= bound));
            assert!(waits.iter().any(|wait| *wait > bound / 2) && waits.iter().any(|wait| *wait < bound / 2));
        }
    }

    #[test]
    fn retry_after_is_a_number_of_seconds_or_a_date() {
        let mut headers = HeaderMap::from_iter([(DATE, HeaderValue::from_static("Sat, 21 Nov 2026 10:30:36 GMT"))]);
        for (text, seconds) in [
            (" 7 ", Some(7)),
            ("0", None),
            ("soon", None),
            ("Sat, 21 Nov 2026 10:31:06 GMT", Some(30)),
            ("Sat, 21 Nov 2026 10:30:06 GMT", None),
        ] {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(text));
            assert_eq!(retry_after(&headers, server_time(&headers)), seconds.map(Duration::from_secs), "{text}");
        }
    }

    #[test]
    fn explanations_are_found_wherever_servers_put_them() {
        let described = r#"{"error": "insufficient_scope", "error_description": "why"}"#;
        for body in [described, r#"{"message": "why"}"#, r#"{"error": "why"}"#, r#"{"error": {"message": "why"}}"#] {
            assert_eq!(explanation(body.as_bytes()).as_deref(), Some("why"), "{body}");
        }
        for body in ["", "<html>", "[]", r#"{"error": {}}"#, &format!("\"{}\"", "x".repeat(MAX_EXPLAINING_BODY))] {
            assert_eq!(explanation(body.as_bytes()), None);
        }
    }
}
