//! Who may use the server, and what they see. With tokens: anyone who shows one. Without: programs of this machine, on
//! a loopback address, and no pages of other sites that the user's browser happens to show. Confidential items are
//! visible only with a token for them. No other place chooses the visibility of a request.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use backstory_engine::{
    error::{Error, ErrorKind, Result},
    model::visibility::Visibility,
    use_case::Scope,
};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use super::{
    App, Refusal,
    connections::Connection,
    cors::{FromAllowedOrigin, Origin},
    page, socket,
    throttle::{AuthDenied, AuthThrottle},
};

/// Fewest characters of a token: a shorter one can be guessed.
pub const MIN_TOKEN: usize = 20;
/// How to make one that cannot.
pub const MAKE_TOKEN: &str = "make one with 'openssl rand -hex 32'";

/// A token that may be shown, and what whoever shows it sees.
pub struct Token {
    /// The text.
    pub secret: SecretString,
    /// What it shows.
    pub visibility: Visibility,
}

/// What the server asks of those who use it.
pub struct Access {
    /// The tokens of which they must show one; without any only this machine may use it.
    pub tokens: Vec<Token>,
    /// What commands show that can read the data directory: they see everything.
    pub own: SecretString,
    /// Whether forges may send webhooks.
    pub webhooks: bool,
    /// Other sites whose pages may use the server.
    pub origins: Vec<Origin>,
}

/// What somebody may see and do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) visibility: Visibility,
    pub(super) scope: Scope,
}

impl Default for Grant {
    /// Of whoever shows nothing and need not.
    fn default() -> Self {
        Self { visibility: Visibility::public(), scope: Scope::Read }
    }
}

/// What a request showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Auth {
    /// A token, or none is needed.
    Granted(Grant),
    /// Nothing yet: it must do so in its first message.
    Deferred,
}

impl Auth {
    /// What a request may see and do that is answered at once.
    pub(super) fn grant(self) -> Grant {
        match self {
            Self::Granted(grant) => grant,
            Self::Deferred => Grant::default(),
        }
    }
}

/// The rules for one address.
pub(super) struct Rules {
    /// Those that are configured, and behind them the server's own.
    tokens: Vec<Token>,
    /// Whether a token must be shown.
    wants_token: bool,
    throttle: AuthThrottle,
}

impl Rules {
    /// # Errors
    /// The address is open to others but there is no token, or a token is too short.
    pub(super) fn new(access: Access, address: SocketAddr) -> Result<Self> {
        let Access { mut tokens, own, .. } = access;
        let wants_token = !tokens.is_empty();
        if !wants_token && !address.ip().is_loopback() {
            return Err(Error::new(
                ErrorKind::Configuration,
                format!(
                    "{address} can be reached from elsewhere, so a token is needed; set one, or listen on 127.0.0.1"
                ),
            ));
        }
        tokens.push(Token { secret: own, visibility: Visibility::everything() });
        if tokens.iter().any(|token| token.secret.expose_secret().chars().count() < MIN_TOKEN) {
            let message = format!("a token of the server has fewer than {MIN_TOKEN} characters; {MAKE_TOKEN}");
            return Err(Error::new(ErrorKind::Configuration, message));
        }
        Ok(Self { tokens, wants_token, throttle: AuthThrottle::default() })
    }

    /// What a text grants that an address showed as a token. All tokens are compared, in the same time.
    ///
    /// # Errors
    /// It is none, or the address showed too many that are none.
    pub(super) fn grant_of(&self, shown: &str, caller: IpAddr) -> std::result::Result<Grant, AuthDenied> {
        let is = |token: &Token| bool::from(token.secret.expose_secret().as_bytes().ct_eq(shown.as_bytes()));
        let same: Vec<usize> =
            self.tokens.iter().enumerate().filter(|(_, token)| is(token)).map(|(number, _)| number).collect();
        let best = same.into_iter().reduce(|best, next| {
            if self.tokens[next].visibility.covers(&self.tokens[best].visibility) { next } else { best }
        });
        // The server's own secret cannot be guessed, and wrong tokens of others must not keep out who owns the data.
        let own = self.tokens.len() - 1;
        let number = if best == Some(own) { own } else { self.throttle.judge(caller, best)? };
        let visibility = self.tokens.get(number).map(|token| token.visibility.clone()).ok_or(AuthDenied::Wrong)?;
        Ok(Grant { visibility, scope: if number == own { Scope::Admin } else { Scope::Read } })
    }

    /// Counts a webhook of an address that did not show its secret.
    pub(super) fn wrong_secret(&self, caller: IpAddr) -> Refusal {
        let message = "the webhook does not show the secret of a forge that is configured";
        match self.throttle.judge(caller, None) {
            Err(AuthDenied::TooMany(wait)) => too_many(wait),
            _ => Refusal::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", message),
        }
    }

    fn check(&self, request: &Request) -> std::result::Result<Auth, Refusal> {
        let shown = bearer(request.headers());
        if !self.wants_token {
            check_local(request)?;
            let grant = shown.and_then(|shown| self.grant_of(shown, caller(request)).ok());
            return Ok(Auth::Granted(grant.unwrap_or_default()));
        }
        match shown.map(|shown| self.grant_of(shown, caller(request))) {
            Some(Ok(grant)) => Ok(Auth::Granted(grant)),
            Some(Err(AuthDenied::TooMany(wait))) => Err(too_many(wait)),
            // A browser cannot set headers of a WebSocket.
            None if request.uri().path() == socket::PATH => Ok(Auth::Deferred),
            // The query page holds no data; it asks for that with the token that is typed into it.
            None if page::is_part(request) => Ok(Auth::Deferred),
            _ => {
                let message = "this server wants its token, as 'Authorization: Bearer <token>'";
                Err(Refusal::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", message))
            }
        }
    }
}

fn too_many(wait: Duration) -> Refusal {
    let message = format!("too many wrong tokens came from this address; try again in {} s", wait.as_secs().max(1));
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_ATTEMPTS", message).after(wait)
}

/// Who sent a request. Every request comes over a connection.
fn caller(request: &Request) -> IpAddr {
    let connection = request.extensions().get::<Arc<Connection>>();
    connection.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |connection| connection.caller())
}

/// Lets a request pass, or refuses it.
pub(super) async fn check(State(app): State<App>, mut request: Request, next: Next) -> Response {
    match app.rules.check(&request) {
        Ok(auth) => {
            // Whoever sends a body has all of it taken in before the connection is safe.
            let is_safe = matches!(auth, Auth::Granted(_)) && request.method() == Method::GET;
            request.extensions_mut().insert(auth);
            let connection = request.extensions().get::<Arc<Connection>>().filter(|_| is_safe);
            let _working = connection.map(Connection::working);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Lets a request pass that needs no token, unless it is led here by the page of another site.
pub(super) async fn check_name(State(app): State<App>, request: Request, next: Next) -> Response {
    let checked = if app.rules.wants_token { Ok(()) } else { check_local(&request) };
    match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// The token of an `Authorization: Bearer` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    // A header that is something else is a wrong token, not none.
    Some(parse_bearer(value).unwrap_or_default())
}

/// The token in `Bearer <token>`.
pub(super) fn parse_bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// A page of another site can send requests to this machine. It cannot lie about where it comes from (`Origin`), and if
/// it has made its own name lead here, that name stands in `Host`.
fn check_local(request: &Request) -> std::result::Result<(), Refusal> {
    let forbidden = |message: &str| Err(Refusal::new(StatusCode::FORBIDDEN, "FORBIDDEN", message));
    let text = |name| request.headers().get(name).map(|value: &header::HeaderValue| value.to_str().unwrap_or_default());
    let host = request.uri().authority().map(Authority::as_str).or_else(|| text(header::HOST)).unwrap_or_default();
    if !is_local(host) {
        return forbidden("without a token the server answers to localhost and 127.0.0.1 only");
    }
    if request.extensions().get::<FromAllowedOrigin>().is_some() {
        return Ok(());
    }
    match text(header::ORIGIN) {
        Some(origin) if origin.split_once("://").is_none_or(|(_, origin)| !origin.eq_ignore_ascii_case(host)) => {
            forbidden("without a token the server answers no page of another site")
        }
        _ => Ok(()),
    }
}

/// Whether a `Host` names this machine: `localhost` or a loopback address, with any port.
fn is_local(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    // No host has a user name.
    if host.contains('@') {
        return false;
    }
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
