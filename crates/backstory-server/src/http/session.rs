//! Sessions of browsers: a token that was shown once, for which a cookie stands that no script can read. Which token it was
//! is kept, not its text, and looked at again with each request, so that a session ends with its token.

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

use super::{
    cors::{FromOwnPage, Origin},
    token_key::TokenKey,
};

/// Where a session is opened, asked about and closed.
pub(super) const PATH: &str = "/session";
/// Name of the cookie.
const COOKIE: &str = "backstory_session";
/// Name of the cookie of a page over TLS: browsers take it from this very host only, never from another subdomain, and
/// therefore for all paths.
const SECURE_COOKIE: &str = "__Host-backstory_session";
/// How long a session lasts that is not used.
const LIFETIME: Duration = Duration::from_secs(12 * 3600);
/// Most sessions at a time; the one that was not used for longest ends first, one of the same token if there is any.
const MAX_SESSIONS: usize = 1024;
/// Most sessions of one token at a time; the one that was not used for longest ends first.
const MAX_SESSIONS_OF_TOKEN: usize = 16;
/// Bytes of randomness in the id of a session.
const ID_BYTES: usize = 32;

/// The open sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_id: Mutex<HashMap<String, Session>>,
    /// Whether browsers are known to find the server over TLS.
    is_over_tls: bool,
}

#[derive(Debug)]
struct Session {
    token: TokenKey,
    used: Instant,
}

impl Sessions {
    /// Those of a server that browsers find at an origin, if that is known.
    pub(super) fn of(public: Option<&Origin>) -> Self {
        Self { by_id: Mutex::default(), is_over_tls: public.is_some_and(Origin::is_secure) }
    }

    /// Opens a session for a token; returns what sets its cookie.
    ///
    /// # Errors
    /// The system has no randomness.
    pub(super) fn open(&self, token: TokenKey, headers: &HeaderMap) -> Result<HeaderValue> {
        let mut id = [0_u8; ID_BYTES];
        getrandom::fill(&mut id)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("cannot draw the id of a session: {error}")))?;
        let id = hex::encode(id);
        let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok()).unwrap_or_default();
        let is_over_tls = self.is_over_tls || origin.starts_with("https://");
        let cookie = set_cookie(if is_over_tls { SECURE_COOKIE } else { COOKIE }, &id, LIFETIME)?;
        let now = Instant::now();
        let mut sessions = self.by_id.lock();
        sessions.retain(|_, session| now.duration_since(session.used) < LIFETIME);
        let own = sessions.values().filter(|session| session.token == token).count();
        if own >= MAX_SESSIONS_OF_TOKEN || sessions.len() >= MAX_SESSIONS {
            let may_end = sessions.iter().filter(|(_, session)| own == 0 || session.token == token);
            let oldest = may_end.min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone());
            oldest.and_then(|id| sessions.remove(&id));
        }
        sessions.insert(id, Session { token, used: now });
        Ok(cookie)
    }

    /// Id and token of the session whose cookie a request has.
    pub(super) fn token_of(&self, headers: &HeaderMap) -> Option<(String, TokenKey)> {
        let id = self.cookie(headers)?;
        let now = Instant::now();
        let mut sessions = self.by_id.lock();
        let session = sessions.get_mut(id).filter(|session| now.duration_since(session.used) < LIFETIME)?;
        session.used = now;
        Some((id.to_owned(), session.token.clone()))
    }

    /// Whether a session is open still; asking is no use of it.
    pub(super) fn is_open(&self, id: &str) -> bool {
        self.by_id.lock().get(id).is_some_and(|session| session.used.elapsed() < LIFETIME)
    }

    /// Ends a session.
    pub(super) fn end(&self, id: &str) {
        self.by_id.lock().remove(id);
    }

    /// Closes the session whose cookie a request has; returns what removes the cookie, under either of its names.
    ///
    /// # Errors
    /// None in practice: the cookie is plain text.
    pub(super) fn close(&self, headers: &HeaderMap) -> Result<[HeaderValue; 2]> {
        if let Some(id) = self.cookie(headers) {
            self.end(id);
        }
        Ok([set_cookie(SECURE_COOKIE, "", Duration::ZERO)?, set_cookie(COOKIE, "", Duration::ZERO)?])
    }

    /// The id of the session whose cookie a request has.
    fn cookie<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let pairs: Vec<(&str, &str)> = pairs.collect();
        let named = |cookie: &str| pairs.iter().find(|(name, _)| *name == cookie).map(|(_, id)| *id);
        // Another subdomain may have set the one without the prefix, also where there is no other.
        named(SECURE_COOKIE).or_else(|| if self.is_over_tls { None } else { named(COOKIE) })
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

/// Whether a request may open or close a session. A browser tells from which page such a request comes, so one that tells
/// nothing comes from a program.
pub(super) fn may_change_session(request: &Request) -> bool {
    let is_of_program = !["origin", "sec-fetch-site"].iter().any(|name| request.headers().contains_key(*name));
    is_of_program || may_use_session(request)
}

fn set_cookie(name: &str, id: &str, lifetime: Duration) -> Result<HeaderValue> {
    let secure = if name == SECURE_COOKIE { "; Secure" } else { "" };
    let seconds = lifetime.as_secs();
    HeaderValue::try_from(format!("{name}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}"))
        .map_err(|error| Error::new(ErrorKind::Internal, format!("cannot write a cookie: {error}")))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

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
        let set = sessions.open(TokenKey::Configured(3), &HeaderMap::new()).unwrap();
        let set = set.to_str().unwrap();
        assert!(set.contains("HttpOnly; SameSite=Strict") && !set.contains("Secure"), "{set}");
        let sent = set.split(';').next().unwrap().to_owned();
        let with_cookie = headers(&[("cookie", &format!("theme=dark; {sent}"))]);
        assert_eq!(sessions.token_of(&with_cookie).unwrap().1, TokenKey::Configured(3));
        assert!(sessions.token_of(&headers(&[("cookie", "backstory_session=0000")])).is_none());
        let removed = sessions.close(&with_cookie).unwrap();
        for (removed, name) in removed.iter().zip(["__Host-backstory_session=;", "backstory_session=;"]) {
            let removed = removed.to_str().unwrap();
            assert!(removed.starts_with(name) && removed.contains("Max-Age=0"), "{removed}");
        }
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
    fn no_page_of_another_site_opens_or_closes_a_session() {
        let (host, own) = (("host", "backstory.example.com"), ("origin", "https://backstory.example.com"));
        for method in ["POST", "DELETE"] {
            let may_change = |pairs: &[(&'static str, &str)]| may_change_session(&request(method, pairs));
            assert!(may_change(&[host]) && may_change(&[host, own]), "{method}");
            assert!(may_change(&[host, own, ("sec-fetch-site", "same-origin")]), "{method}");
            assert!(!may_change(&[host, ("origin", "https://evil.example.com")]), "{method}");
            assert!(!may_change(&[host, ("origin", "null")]), "{method}");
            assert!(!may_change(&[host, own, ("sec-fetch-site", "same-site")]), "{method}");
            assert!(!may_change(&[host, ("sec-fetch-site", "cross-site")]), "{method}");
        }
        assert!(may_change_session(&request("GET", &[host, ("sec-fetch-site", "none")])));
    }

    #[test]
    fn a_token_ends_its_own_sessions_before_those_of_others() {
        let sessions = Sessions::default();
        let open = |token: usize| {
            let set = sessions.open(TokenKey::Configured(token), &HeaderMap::new()).unwrap();
            headers(&[("cookie", set.to_str().unwrap().split(';').next().unwrap())])
        };
        let other = open(0);
        let own: Vec<HeaderMap> = (0..MAX_SESSIONS + 1).map(|_| open(1)).collect();
        assert!(sessions.token_of(&other).is_some());
        let left = own.iter().filter(|cookie| sessions.token_of(cookie).is_some()).count();
        assert_eq!(left, MAX_SESSIONS_OF_TOKEN);
        assert!(sessions.token_of(own.last().unwrap()).is_some());
    }

    #[test]
    fn the_cookie_of_a_page_over_tls_is_of_this_host_only() {
        let sessions = Sessions::default();
        let set = sessions.open(TokenKey::Own, &headers(&[("origin", "https://a.example.com")])).unwrap();
        let set = set.to_str().unwrap();
        assert!(set.starts_with("__Host-backstory_session=") && set.contains("; Path=/;"), "{set}");
        assert!(set.ends_with("; Secure"), "{set}");
        let sent = set.split(';').next().unwrap();
        let both = headers(&[("cookie", &format!("backstory_session=planted; {sent}"))]);
        assert_eq!(sessions.token_of(&both).unwrap().1, TokenKey::Own);
    }
    #[test]
    fn a_server_that_browsers_find_over_tls_takes_no_cookie_that_another_host_may_set() {
        let public = Origin::parse("https://code.example.com").unwrap();
        let sessions = Sessions::of(Some(&public));
        let set = sessions.open(TokenKey::Own, &HeaderMap::new()).unwrap();
        let sent = set.to_str().unwrap().split(';').next().unwrap();
        assert_eq!(sessions.token_of(&headers(&[("cookie", sent)])).unwrap().1, TokenKey::Own);
        let planted = headers(&[("cookie", sent.strip_prefix("__Host-").unwrap())]);
        assert!(sessions.token_of(&planted).is_none());
        sessions.close(&planted).unwrap();
        assert!(sessions.token_of(&headers(&[("cookie", sent)])).is_some());
    }
}
