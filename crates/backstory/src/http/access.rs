//! Who may use the server. With a token: whoever has it. Without one: programs of this machine, on a loopback address,
//! and no other site's pages that the user's browser happens to show.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use backstory_engine::error::{Error, ErrorKind, Result};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use super::{App, Refusal, page, socket};

/// What the server asks of those who use it.
pub(crate) struct Access {
    /// The token they must show; without one only this machine may use it.
    pub(crate) token: Option<SecretString>,
}

/// Whether a request showed the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// It did, or none is needed.
    Yes,
    /// It did not, and must do so in its first message.
    NotYet,
}

/// The rules for one address.
pub(super) struct Rules {
    token: Option<SecretString>,
}

impl Rules {
    /// # Errors
    /// The address is open to others but there is no token, or the token is empty.
    pub(super) fn new(access: Access, address: SocketAddr) -> Result<Self> {
        let Access { token } = access;
        if token.is_none() && !address.ip().is_loopback() {
            return Err(Error::new(
                ErrorKind::Configuration,
                format!(
                    "{address} can be reached from elsewhere, so a token is needed; set one, or listen on 127.0.0.1"
                ),
            ));
        }
        if token.as_ref().is_some_and(|token| token.expose_secret().is_empty()) {
            return Err(Error::new(ErrorKind::Configuration, "the server's token is empty; set one, or none at all"));
        }
        Ok(Self { token })
    }

    /// Whether this is the token; any text is, if there is none.
    pub(super) fn accepts(&self, shown: &str) -> bool {
        self.token.as_ref().is_none_or(|token| bool::from(token.expose_secret().as_bytes().ct_eq(shown.as_bytes())))
    }

    fn check(&self, request: &Request) -> std::result::Result<Shown, Refusal> {
        if self.token.is_none() {
            return check_local(request).map(|()| Shown::Yes);
        }
        match bearer(request.headers()) {
            Some(shown) if self.accepts(shown) => Ok(Shown::Yes),
            // A browser cannot set headers of a WebSocket.
            None if request.uri().path() == socket::PATH => Ok(Shown::NotYet),
            // The query page holds no data; it asks for that with the token that is typed into it.
            None if page::is_part(request) => Ok(Shown::NotYet),
            _ => {
                let message = "this server wants its token, as 'Authorization: Bearer <token>'";
                Err(Refusal::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", message))
            }
        }
    }
}

/// Lets a request pass, or refuses it.
pub(super) async fn check(State(app): State<App>, mut request: Request, next: Next) -> Response {
    match app.rules.check(&request) {
        Ok(shown) => {
            request.extensions_mut().insert(shown);
            next.run(request).await
        }
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
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
