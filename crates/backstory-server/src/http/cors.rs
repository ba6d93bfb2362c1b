//! Cross-origin requests: pages of the configured origins may read answers, those of others may not. Tokens are shown
//! in a header, never in a cookie, so no answer permits credentials.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use backstory_engine::{
    error::{Error, ErrorKind, Result},
    model::text::truncate_echo,
};
use url::Url;

use super::App;

/// What pages of another origin may send besides simple headers.
const ALLOWED_HEADERS: HeaderValue =
    HeaderValue::from_static("authorization, content-type, if-none-match, prefer, x-request-id");
/// What they may read besides simple headers.
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("etag, preference-applied, retry-after, x-request-id");
const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
/// Seconds for which a browser may remember the answer to a preflight request.
const MAX_AGE: HeaderValue = HeaderValue::from_static("3600");

/// An origin whose pages may use the server: `https://grafana.example.com`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(HeaderValue);

impl Origin {
    /// Parses an origin as browsers write it: scheme, host and port, unless that is the usual one.
    ///
    /// # Errors
    /// It is something else, such as an address with a path, or `*`.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |advice: &str| {
            Error::new(ErrorKind::Invalid, format!("'{}' is not an origin; write {advice}", truncate_echo(text)))
        };
        let example = "one such as https://grafana.example.com";
        let url = Url::parse(text).map_err(|_| wrong(example))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(example));
        }
        let origin = url.origin().ascii_serialization();
        if origin != text {
            return Err(wrong(&origin));
        }
        HeaderValue::try_from(origin).map(Self).map_err(|_| wrong(example))
    }

    /// Whether its pages come over TLS.
    pub(super) fn is_secure(&self) -> bool {
        self.0.as_bytes().starts_with(b"https://")
    }
}

/// Says of a request that it comes from a page of a configured origin.
#[derive(Clone, Copy)]
pub(super) struct FromAllowedOrigin;

/// Says of a request that it comes from a page of this server, as browsers know it behind a proxy.
#[derive(Clone, Copy)]
pub(super) struct FromOwnPage;

/// Answers preflight requests of configured origins, and lets their pages read the answers to others.
pub(super) async fn allow_origins(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN);
    if origin.is_some() && origin == app.rules.proxy().public.as_ref().map(|public| &public.0) {
        request.extensions_mut().insert(FromOwnPage);
        return next.run(request).await;
    }
    if app.origins.is_empty() {
        return next.run(request).await;
    }
    let allowed = app.origins.iter().find(|allowed| origin == Some(&allowed.0)).map(|allowed| allowed.0.clone());
    let mut response = match &allowed {
        Some(_) if is_preflight(&request) => preflight_answer(),
        Some(_) => {
            request.extensions_mut().insert(FromAllowedOrigin);
            next.run(request).await
        }
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    // Caches must not give the answer to a page of one origin to that of another.
    headers.append(header::VARY, HeaderValue::from_name(header::ORIGIN));
    if let Some(origin) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    }
    response
}

fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight_answer() -> Response {
    let headers: [(HeaderName, HeaderValue); 3] = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE),
    ];
    (StatusCode::NO_CONTENT, HeaderMap::from_iter(headers)).into_response()
}
