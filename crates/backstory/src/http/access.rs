//! Who may use the server, and what they see. With tokens: whoever has one. Without: programs of this machine, on a loopback
//! address, and no other site's pages that the user's browser happens to show. What is confidential is shown to who
//! shows a token that is for it, and to no others.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use backstory_engine::{
    error::{Error, ErrorKind, Result},
    model::sight::Sight,
};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use super::{App, Refusal, page, socket};

/// A token that may be shown, and what whoever shows it sees.
pub(crate) struct Token {
    pub(crate) secret: SecretString,
    pub(crate) sight: Sight,
}

/// What the server asks of those who use it.
pub(crate) struct Access {
    /// The tokens of which they must show one; without any only this machine may use it.
    pub(crate) tokens: Vec<Token>,
    /// What commands show that can read the data directory: they see everything.
    pub(crate) own: SecretString,
}

/// What a request showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// A token, or none is needed: what it may see.
    Enough(Sight),
    /// Nothing yet: it must do so in its first message.
    NotYet,
}

impl Shown {
    /// What a request may see that is answered at once.
    pub(super) fn sight(self) -> Sight {
        match self {
            Self::Enough(sight) => sight,
            Self::NotYet => Sight::Open,
        }
    }
}

/// The rules for one address.
pub(super) struct Rules {
    tokens: Vec<Token>,
    /// Whether a token must be shown.
    wants_token: bool,
}

impl Rules {
    /// # Errors
    /// The address is open to others but there is no token, or a token is empty.
    pub(super) fn new(access: Access, address: SocketAddr) -> Result<Self> {
        let Access { mut tokens, own } = access;
        let wants_token = !tokens.is_empty();
        if !wants_token && !address.ip().is_loopback() {
            return Err(Error::new(
                ErrorKind::Configuration,
                format!(
                    "{address} can be reached from elsewhere, so a token is needed; set one, or listen on 127.0.0.1"
                ),
            ));
        }
        tokens.push(Token { secret: own, sight: Sight::Confidential });
        if tokens.iter().any(|token| token.secret.expose_secret().is_empty()) {
            return Err(Error::new(ErrorKind::Configuration, "a token of the server is empty; set it, or remove it"));
        }
        Ok(Self { tokens, wants_token })
    }

    /// What a text may see that was shown as a token; `None` if it is none. All tokens are compared, in the same time.
    pub(super) fn sight_of(&self, shown: &str) -> Option<Sight> {
        let is = |token: &&Token| bool::from(token.secret.expose_secret().as_bytes().ct_eq(shown.as_bytes()));
        self.tokens.iter().filter(is).map(|token| token.sight).max()
    }

    fn check(&self, request: &Request) -> std::result::Result<Shown, Refusal> {
        let sight = bearer(request.headers()).map(|shown| self.sight_of(shown));
        if !self.wants_token {
            return check_local(request).map(|()| Shown::Enough(sight.flatten().unwrap_or(Sight::Open)));
        }
        match sight {
            Some(Some(sight)) => Ok(Shown::Enough(sight)),
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
