//! Sessions of browsers: a token that was shown once, for which a cookie stands that no script can read. The token is
//! judged again with each request, so that a session ends with its token.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, header},
};
use backstory_engine::error::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use secrecy::SecretString;

use super::cors::FromOwnPage;

/// Where a session is opened, asked about and closed.
pub(super) const PATH: &str = "/session";
/// Name of the cookie.
const COOKIE: &str = "backstory_session";
/// How long a session lasts that is not used.
const LIFETIME: Duration = Duration::from_secs(12 * 3600);
/// Most sessions at a time; the one that was not used for longest ends first.
const MAX_SESSIONS: usize = 1024;
/// Bytes of randomness in the id of a session.
const ID_BYTES: usize = 32;

/// The open sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Session>>);

#[derive(Debug)]
struct Session {
    token: SecretString,
    used: Instant,
}

impl Sessions {
    /// Opens a session for a token; returns what sets its cookie.
    ///
    /// # Errors
    /// The system has no randomness.
    pub(super) fn open(&self, token: SecretString, headers: &HeaderMap) -> Result<HeaderValue> {
        let mut id = [0_u8; ID_BYTES];
        getrandom::fill(&mut id)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("cannot draw the id of a session: {error}")))?;
        let id = hex::encode(id);
        let cookie = set_cookie(&id, LIFETIME, headers)?;
        let now = Instant::now();
        let mut sessions = self.0.lock();
        sessions.retain(|_, session| now.duration_since(session.used) < LIFETIME);
        if sessions.len() >= MAX_SESSIONS {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone());
            oldest.and_then(|id| sessions.remove(&id));
        }
        sessions.insert(id, Session { token, used: now });
        Ok(cookie)
    }

    /// Id and token of the session whose cookie a request has.
    pub(super) fn token_of(&self, headers: &HeaderMap) -> Option<(String, SecretString)> {
        let id = cookie(headers)?;
        let now = Instant::now();
        let mut sessions = self.0.lock();
        let session = sessions.get_mut(id).filter(|session| now.duration_since(session.used) < LIFETIME)?;
        session.used = now;
        Some((id.to_owned(), session.token.clone()))
    }

    /// Whether a session is open still; asking is no use of it.
    pub(super) fn is_open(&self, id: &str) -> bool {
        self.0.lock().get(id).is_some_and(|session| session.used.elapsed() < LIFETIME)
    }

    /// Ends a session.
    pub(super) fn end(&self, id: &str) {
        self.0.lock().remove(id);
    }

    /// Closes the session whose cookie a request has; returns what removes the cookie.
    ///
    /// # Errors
    /// None in practice: the cookie is plain text.
    pub(super) fn close(&self, headers: &HeaderMap) -> Result<HeaderValue> {
        if let Some(id) = cookie(headers) {
            self.end(id);
        }
        set_cookie("", Duration::ZERO, headers)
    }
}

/// Whether a request may use a session: browsers send the cookie by themselves, also for pages of other ports and
/// subdomains, so what changes something must come from a page of this very server. Over a WebSocket anything may come.
pub(super) fn may_use_session(request: &Request) -> bool {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if is_read && !request.headers().contains_key(header::UPGRADE) {
        return true;
    }
    let text = |name| request.headers().get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default());
    let host = request.uri().authority().map(|host| host.as_str()).or_else(|| text(header::HOST)).unwrap_or_default();
    let is_same_origin =
        |origin: &str| origin.split_once("://").is_some_and(|(_, name)| name.eq_ignore_ascii_case(host));
    let site = request.headers().get("sec-fetch-site").map(|value| value.to_str().unwrap_or_default());
    let is_own = request.extensions().get::<FromOwnPage>().is_some();
    (is_own || text(header::ORIGIN).is_some_and(is_same_origin)) && site.is_none_or(|site| site == "same-origin")
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, id)| id)
}

fn set_cookie(id: &str, lifetime: Duration, headers: &HeaderMap) -> Result<HeaderValue> {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok()).unwrap_or_default();
    let secure = if origin.starts_with("https://") { "; Secure" } else { "" };
    let seconds = lifetime.as_secs();
    HeaderValue::try_from(format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}"))
        .map_err(|error| Error::new(ErrorKind::Internal, format!("cannot write a cookie: {error}")))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use secrecy::ExposeSecret;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn request(method: &str, pairs: &[(&'static str, &str)]) -> Request {
        let mut request = Request::builder().method(method).uri("/api/v1/sync").body(Body::empty()).unwrap();
        *request.headers_mut() = headers(pairs);
        request
    }

    #[test]
    fn a_session_is_found_by_its_cookie_until_it_is_closed() {
        let sessions = Sessions::default();
        let set = sessions.open("a token of the server".into(), &HeaderMap::new()).unwrap();
        let set = set.to_str().unwrap();
        assert!(set.contains("HttpOnly; SameSite=Strict") && !set.contains("Secure"), "{set}");
        let sent = set.split(';').next().unwrap().to_owned();
        let with_cookie = headers(&[("cookie", &format!("theme=dark; {sent}"))]);
        assert_eq!(sessions.token_of(&with_cookie).unwrap().1.expose_secret(), "a token of the server");
        assert!(sessions.token_of(&headers(&[("cookie", "backstory_session=0000")])).is_none());
        assert!(sessions.close(&with_cookie).unwrap().to_str().unwrap().contains("Max-Age=0"));
        assert!(sessions.token_of(&with_cookie).is_none());
    }

    #[test]
    fn only_pages_of_the_server_change_something_with_a_session() {
        let host = ("host", "backstory.example.com");
        assert!(may_use_session(&request("GET", &[host])));
        let own = ("origin", "https://backstory.example.com");
        assert!(may_use_session(&request("POST", &[host, own])));
        assert!(may_use_session(&request("POST", &[host, own, ("sec-fetch-site", "same-origin")])));
        assert!(!may_use_session(&request("POST", &[host])));
        assert!(!may_use_session(&request("POST", &[host, ("origin", "https://evil.example.com")])));
        assert!(!may_use_session(&request("POST", &[host, own, ("sec-fetch-site", "cross-site")])));
        // A page of another port or subdomain is of the same site, so its requests have the cookie.
        let upgrade = ("upgrade", "websocket");
        assert!(may_use_session(&request("GET", &[host, upgrade, own])));
        assert!(!may_use_session(&request("GET", &[host, upgrade])));
        assert!(!may_use_session(&request("GET", &[host, upgrade, ("origin", "https://wiki.example.com")])));
    }

    #[test]
    fn the_cookie_of_a_page_over_tls_is_secure() {
        let set = Sessions::default().open("a token".into(), &headers(&[("origin", "https://a.example.com")])).unwrap();
        assert!(set.to_str().unwrap().ends_with("; Secure"));
    }
}
