//! Who may use the server, and what they see and may do. With tokens: anyone who shows one. Without: programs of this
//! machine, on a loopback address, and no pages of other sites that the user's browser happens to show. Confidential items
//! are visible only with a token for them. No other place chooses the caller of a request, which every route finds as
//! `Extension<Caller>`.

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
    Engine,
    error::{Error, ErrorKind, Result},
    model::access::{Actor, Caller, Grant, Scope},
};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use super::{
    App, Refusal, SOCKET_PATH,
    connections::{self, Connection},
    cors::{FromAllowedOrigin, FromOwnPage, Origin},
    graphiql,
    proxy::{self, Proxy},
    session::{self, Sessions},
    throttle::{AuthDenied, AuthThrottle, RequestRates},
    token_key::TokenKey,
    web,
};

/// Fewest characters of a token: a shorter one can be guessed.
pub const MIN_TOKEN: usize = 20;
/// Most requests of one token in a minute, unless configured otherwise.
pub const DEFAULT_REQUESTS_PER_MINUTE: u32 = 3_000;
/// How to make one that cannot.
pub const TOKEN_HINT: &str = "make one with 'openssl rand -hex 32'";

/// A token of the configuration.
pub struct Token {
    /// What people call it.
    pub name: String,
    /// The text.
    pub secret: SecretString,
    /// What it grants.
    pub grant: Grant,
}

/// What the server asks of those who use it.
pub struct Access {
    /// The tokens of the configuration. With any, or with one that was made, a token must be shown; without, only this
    /// machine may use the server.
    pub tokens: Vec<Token>,
    /// What commands show that can read the data directory: they see and may do everything.
    pub own: SecretString,
    /// Whether forges may send webhooks.
    pub webhooks: bool,
    /// Other sites whose pages may use the server.
    pub origins: Vec<Origin>,
    /// Most requests of one token in a minute; 0 for no limit.
    pub requests_per_minute: u32,
    /// What is between clients and the server.
    pub proxy: Proxy,
}

/// What a request showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Auth {
    /// A token, or none is needed; who that is; and the session of a browser that the token is of.
    Granted(Option<TokenKey>, Caller, Option<String>),
    /// Nothing yet: it must do so in its first message.
    Deferred,
}

impl Auth {
    /// Who sends the request, as far as that is known.
    pub(super) fn caller(&self) -> Caller {
        match self {
            Self::Granted(_, caller, _) => caller.clone(),
            Self::Deferred => Caller::nobody(),
        }
    }
}

/// The rules for one address.
pub(super) struct Rules {
    tokens: Vec<Token>,
    own: SecretString,
    /// Whether a token must be shown even if there is none.
    needs_token: bool,
    throttle: AuthThrottle<TokenKey>,
    rates: RequestRates<TokenKey>,
    sessions: Sessions,
    proxy: Proxy,
}

impl Rules {
    /// # Errors
    /// The address is open to others but there is no token, or a token is too short.
    pub(super) fn new(access: Access, address: SocketAddr, engine: &Engine) -> Result<Self> {
        let Access { tokens, own, requests_per_minute, proxy, .. } = access;
        let is_open = !address.ip().is_loopback();
        if is_open && tokens.is_empty() && !engine.has_tokens() {
            return Err(Error::new(
                ErrorKind::Configuration,
                format!(
                    "{address} can be reached from elsewhere, so a token is needed; set one, or listen on 127.0.0.1"
                ),
            ));
        }
        let is_short = |secret: &SecretString| secret.expose_secret().chars().count() < MIN_TOKEN;
        if tokens.iter().map(|token| &token.secret).chain([&own]).any(is_short) {
            let message = format!("a token of the server has fewer than {MIN_TOKEN} characters; {TOKEN_HINT}");
            return Err(Error::new(ErrorKind::Configuration, message));
        }
        let needs_token = is_open || !tokens.is_empty();
        let (throttle, rates) = (AuthThrottle::default(), RequestRates::new(requests_per_minute));
        let sessions = Sessions::of(proxy.public.as_ref());
        Ok(Self { tokens, own, needs_token, throttle, rates, sessions, proxy })
    }

    /// Whether a token must be shown.
    pub(super) fn wants_token(&self, engine: &Engine) -> bool {
        self.needs_token || engine.has_tokens()
    }

    /// What is between clients and the server.
    pub(super) fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// Who sent a request over a connection, as far as the network and trusted proxies tell.
    pub(super) fn client(&self, connection: &Connection, headers: &HeaderMap) -> IpAddr {
        connections::caller(self.proxy.client(connection.peer(), headers))
    }

    /// The sessions of browsers.
    pub(super) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Which token a text is that an address showed. All tokens are compared, in the same time.
    ///
    /// # Errors
    /// It is not a valid one, or the address showed too many invalid ones.
    fn recognize(&self, engine: &Engine, shown: &str, address: IpAddr) -> std::result::Result<TokenKey, AuthDenied> {
        let is = |secret: &SecretString| bool::from(secret.expose_secret().as_bytes().ct_eq(shown.as_bytes()));
        let now = Timestamp::now();
        let same = self.tokens.iter().enumerate().filter(|(_, token)| is(&token.secret));
        let valid = same.filter(|(_, token)| !token.grant.is_expired(now));
        // If the same text is named twice, what grants more counts.
        let best = valid.max_by_key(|(_, token)| {
            (token.grant.confidential, token.grant.scopes.permit(Scope::Admin), token.grant.scopes.permit(Scope::Sync))
        });
        let configured = best.map(|(place, _)| TokenKey::Configured(place));
        let issued = engine.find_token(shown).map(|token| TokenKey::Issued(token.id));
        // The server's own secret cannot be guessed, and wrong tokens of others must not keep out who owns the data.
        if is(&self.own) {
            return Ok(TokenKey::Own);
        }
        self.throttle.check(address, configured.or(issued))
    }

    /// Counts a webhook of an address that did not show its secret.
    pub(super) fn wrong_secret(&self, address: IpAddr) -> Refusal {
        let message = "the webhook does not show the secret of a forge that is configured";
        match self.throttle.check(address, None) {
            Err(AuthDenied::TooMany(wait)) => too_many(wait),
            _ => Refusal::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", message),
        }
    }
}

/// Who shows a token at an address.
///
/// # Errors
/// It is not a valid one, it has ended, or the address showed too many invalid ones.
pub(super) async fn caller_of_token(
    app: &App,
    shown: &str,
    address: IpAddr,
) -> std::result::Result<(TokenKey, Caller), Refusal> {
    let key = app.rules.recognize(&app.engine, shown, address).map_err(|denied| match denied {
        AuthDenied::TooMany(wait) => too_many(wait),
        AuthDenied::Wrong => wrong_token(),
    })?;
    let caller = caller_of(app, &key).await?;
    Ok((key, caller))
}

/// Who a token stands for now.
///
/// # Errors
/// It has expired or was revoked.
pub(super) async fn caller_of(app: &App, key: &TokenKey) -> std::result::Result<Caller, Refusal> {
    let (id, name, grant) = match key {
        TokenKey::Own => return Ok(Caller::owner()),
        TokenKey::Configured(place) => {
            let token = app.rules.tokens.get(*place).ok_or_else(wrong_token)?;
            (token.name.clone(), token.name.clone(), token.grant.clone())
        }
        TokenKey::Issued(id) => {
            let token = app.engine.valid_token(id).ok_or_else(wrong_token)?;
            app.engine.record_token_use(id);
            (token.id, token.name, token.grant)
        }
    };
    if grant.is_expired(Timestamp::now()) {
        return Err(wrong_token());
    }
    let visibility = app.engine.visibility_of(&grant).await?;
    let who = Actor::Token { id: id.into(), name: name.into() };
    Ok(Caller { who, visibility, scopes: grant.scopes, expires: grant.expires })
}

/// Whether the session that something was granted to was closed, or has ended.
fn is_signed_out(app: &App, auth: &Auth) -> bool {
    matches!(auth, Auth::Granted(_, _, Some(session)) if !app.rules.sessions.is_open(session))
}

/// Whether what somebody showed is valid still: it has not expired, and was not revoked.
pub(super) fn is_valid(app: &App, auth: &Auth) -> bool {
    match auth {
        _ if is_signed_out(app, auth) => false,
        Auth::Granted(Some(TokenKey::Configured(place)), ..) => {
            app.rules.tokens.get(*place).is_some_and(|token| !token.grant.is_expired(Timestamp::now()))
        }
        Auth::Granted(Some(TokenKey::Issued(id)), ..) => app.engine.valid_token(id).is_some(),
        Auth::Granted(Some(TokenKey::Own), ..) => true,
        Auth::Granted(None, ..) => !app.rules.wants_token(&app.engine),
        Auth::Deferred => false,
    }
}

/// What a text grants that an address showed as a token, as the first message of a connection.
///
/// # Errors
/// As [`caller_of_token`].
pub(super) async fn authenticate(app: &App, shown: &str, address: IpAddr) -> std::result::Result<Auth, Refusal> {
    let (key, caller) = caller_of_token(app, shown, address).await?;
    Ok(Auth::Granted(Some(key), caller, None))
}

/// Who a connection belongs to now that showed something when it began, for one more operation.
///
/// # Errors
/// The token has expired or was revoked, its session was closed, or it has sent too many requests.
pub(super) async fn renew(app: &App, auth: &Auth) -> std::result::Result<Caller, Refusal> {
    match auth {
        _ if is_signed_out(app, auth) => Err(wrong_token()),
        Auth::Granted(Some(key), ..) => {
            check_rate(app, key)?;
            caller_of(app, key).await
        }
        // A token may have been made since.
        Auth::Granted(None, ..) if app.rules.wants_token(&app.engine) => Err(missing_token()),
        Auth::Granted(None, caller, _) => Ok(caller.clone()),
        Auth::Deferred => Err(missing_token()),
    }
}

/// Refuses a token that has sent too many requests.
pub(super) fn check_rate(app: &App, key: &TokenKey) -> std::result::Result<(), Refusal> {
    if *key == TokenKey::Own {
        return Ok(());
    }
    app.rules.rates.take(key).map_err(|wait| {
        let message = format!("this token has sent too many requests; try again in {} s", wait.as_secs().max(1));
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_REQUESTS", message).after(wait)
    })
}

/// What a request shows that is looked at before it is let pass.
struct Shown {
    token: Option<String>,
    /// Which session of a browser, and which token that is of, unless a token is shown.
    session: Option<(String, TokenKey)>,
    address: IpAddr,
    /// Whether a page of another site may have sent it.
    local: std::result::Result<(), Refusal>,
    /// Whether it may show its token later.
    may_defer: bool,
}

impl Shown {
    /// # Errors
    /// The page of another site would use, open or close a session.
    fn of(app: &App, request: &Request) -> std::result::Result<Self, Refusal> {
        let path = request.uri().path();
        // A browser cannot set headers of a WebSocket. The pages hold no data; they ask for that with the token that is
        // typed into them.
        let is_page = graphiql::is_asset(request) || web::is_part(request);
        let may_defer = path == SOCKET_PATH || path == session::PATH || is_page;
        let token = bearer(request.headers()).map(str::to_owned);
        let session = if token.is_none() { app.rules.sessions.token_of(request.headers()) } else { None };
        if session.is_some() && !session::may_use_session(request) {
            let message = "a session changes something for pages of this server only; programs show a token";
            return Err(Refusal::new(StatusCode::FORBIDDEN, "FORBIDDEN", message));
        }
        // Otherwise another site could make a browser act with a token of its choice.
        if path == session::PATH && !session::may_change_session(request) {
            let message = "pages of this server only open and close sessions";
            let refusal = Refusal::new(StatusCode::FORBIDDEN, "FORBIDDEN", message);
            let hint = "behind a proxy, name the address that browsers know under [server] public_url";
            return Err(Refusal { hint: Some(hint.to_owned()), ..refusal });
        }
        let local =
            check_local(request).and_then(|()| if is_page { check_page_site(request) } else { check_site(request) });
        Ok(Self { token, address: client(app, request), local, may_defer, session })
    }
}

async fn judge(app: &App, shown: Shown) -> std::result::Result<Auth, Refusal> {
    let told = match (&shown.token, shown.session) {
        (Some(token), _) => {
            let told = caller_of_token(app, token, shown.address).await;
            Some(told.map(|(key, caller)| Auth::Granted(Some(key), caller, None)))
        }
        // It was shown once, so wrong tokens of others at this address do not matter.
        (None, Some((session, key))) => match caller_of(app, &key).await {
            Ok(caller) => Some(Ok(Auth::Granted(Some(key), caller, Some(session)))),
            // A session whose token has ended is none: its browser is asked for another.
            Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => {
                app.rules.sessions.end(&session);
                None
            }
            Err(refusal) => Some(Err(refusal)),
        },
        (None, None) => None,
    };
    let auth = if app.rules.wants_token(&app.engine) {
        match told {
            Some(told) => told?,
            None if shown.may_defer => Auth::Deferred,
            None => return Err(missing_token()),
        }
    } else {
        shown.local?;
        match told {
            Some(Ok(auth)) => auth,
            _ => Auth::Granted(None, Caller::local(), None),
        }
    };
    if let Auth::Granted(Some(key), ..) = &auth {
        check_rate(app, key)?;
    }
    Ok(auth)
}

fn missing_token() -> Refusal {
    let message = "missing token: send 'Authorization: Bearer <token>'";
    Refusal::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", message)
}

pub(super) fn wrong_token() -> Refusal {
    let refusal = Refusal::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", "the token is unknown, expired or revoked");
    Refusal {
        hint: Some("ask the operator of the server for another; 'backstory token list' shows them".to_owned()),
        ..refusal
    }
}

fn too_many(wait: Duration) -> Refusal {
    let message = format!("too many wrong tokens came from this address; try again in {} s", wait.as_secs().max(1));
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_ATTEMPTS", message).after(wait)
}

/// Who sent a request. Every request comes over a connection.
fn client(app: &App, request: &Request) -> IpAddr {
    let connection = request.extensions().get::<Arc<Connection>>();
    connection.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |connection| app.rules.client(connection, request.headers()))
}

/// Lets a request pass, or refuses it.
pub(super) async fn check(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let auth = match Shown::of(&app, &request) {
        Ok(shown) => judge(&app, shown).await,
        Err(refusal) => Err(refusal),
    };
    match auth {
        Ok(auth) => {
            // The body of a request is read whole before the connection is safe.
            let is_safe = matches!(auth, Auth::Granted(..)) && request.method() == Method::GET;
            request.extensions_mut().insert(auth.caller());
            request.extensions_mut().insert(auth);
            let connection = request.extensions().get::<Arc<Connection>>().filter(|_| is_safe);
            let working = connection.map(Connection::hold_open);
            let response = next.run(request).await;
            match working {
                Some(working) => Connection::hold_until_sent(working, response),
                None => response,
            }
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Refuses a request with several `Host` headers: a proxy may have looked at another one than this server does.
pub(super) async fn check_host(request: Request, next: Next) -> Response {
    if request.headers().get_all(header::HOST).iter().count() > 1 {
        let message = "the request has several Host headers: send one";
        return Refusal::new(StatusCode::BAD_REQUEST, "INVALID", message).into_response();
    }
    next.run(request).await
}

/// Lets a request pass that needs no token, unless it is led here by the page of another site.
pub(super) async fn check_name(State(app): State<App>, request: Request, next: Next) -> Response {
    let checked = if app.rules.wants_token(&app.engine) { Ok(()) } else { check_local(&request) };
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
    // A client behind a proxy is not on this machine, whatever Host the proxy writes.
    if proxy::is_forwarded(request.headers()) {
        let refusal =
            Refusal::new(StatusCode::FORBIDDEN, "FORBIDDEN", "without a token the server answers no reverse proxy");
        let hint = "make a token with 'backstory token create', which everybody must show then";
        return Err(Refusal { hint: Some(hint.to_owned()), ..refusal });
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

/// Refuses what the page of another site makes a browser read, as a picture or a script, which comes without an `Origin`.
fn check_site(request: &Request) -> std::result::Result<(), Refusal> {
    let site = request.headers().get("sec-fetch-site").map(|value| value.to_str().unwrap_or_default());
    let is_own = site.is_none_or(|site| matches!(site, "same-origin" | "none"));
    if is_own || request.extensions().get::<FromAllowedOrigin>().is_some() {
        return Ok(());
    }
    Err(Refusal::new(StatusCode::FORBIDDEN, "FORBIDDEN", "without a token the server answers no page of another site"))
}

/// Lets links of other sites lead to the pages, which hold no data; the address of a GraphQL operation is no page.
fn check_page_site(request: &Request) -> std::result::Result<(), Refusal> {
    let mode = request.headers().get("sec-fetch-mode").map(|value| value.to_str().unwrap_or_default());
    let is_operation = request.uri().path() == "/graphql" && request.uri().query().is_some();
    if mode == Some("navigate") && !is_operation { Ok(()) } else { check_site(request) }
}

/// Refuses a request of a page that is neither this server's nor of an allowed site, whatever token it shows.
pub(super) fn check_origin(request: &Request) -> std::result::Result<(), Refusal> {
    let text = |name| request.headers().get(name).map(|value: &header::HeaderValue| value.to_str().unwrap_or_default());
    let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
    let host = request.uri().authority().map(Authority::as_str).or_else(|| text(header::HOST)).unwrap_or_default();
    let is_own = origin.split_once("://").is_some_and(|(_, origin)| origin.eq_ignore_ascii_case(host));
    let is_known = request.extensions().get::<FromAllowedOrigin>().is_some();
    if is_own || is_known || request.extensions().get::<FromOwnPage>().is_some() {
        return Ok(());
    }
    let refusal = Refusal::new(StatusCode::FORBIDDEN, "FORBIDDEN", "agents do not come from the page of another site");
    Err(Refusal { hint: Some("name the site under [server] allowed_origins".to_owned()), ..refusal })
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
