//! The query page: GraphiQL with everything it needs, so that it works without a network.

use axum::{
    extract::{Path, Request},
    http::{HeaderName, Method, StatusCode, header},
    response::{Html, IntoResponse, Response},
};

use super::Refusal;

/// The page may load and ask this server only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src data:; \
                      img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// A file of the page.
struct Asset {
    name: &'static str,
    media_type: &'static str,
    content: &'static str,
}

macro_rules! asset {
    ($name:literal, $media_type:literal) => {
        Asset { name: $name, media_type: $media_type, content: include_str!(concat!("../../assets/graphiql/", $name)) }
    };
}

const PAGE: &str = include_str!("../../assets/graphiql/index.html");

const ASSETS: [Asset; 5] = [
    asset!("start.js", "text/javascript; charset=utf-8"),
    asset!("react.production.min.js", "text/javascript; charset=utf-8"),
    asset!("react-dom.production.min.js", "text/javascript; charset=utf-8"),
    asset!("graphiql.min.js", "text/javascript; charset=utf-8"),
    asset!("graphiql.min.css", "text/css; charset=utf-8"),
];

const GRACE_PERIOD: [(HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
];

/// Whether a request is for a page to ask from, or a file of it: they hold no data.
pub(super) fn is_asset(request: &Request) -> bool {
    let path = request.uri().path();
    matches!(*request.method(), Method::GET | Method::HEAD)
        && (matches!(path, "/graphql" | "/api/docs" | "/openapi.json")
            || path.starts_with("/graphql/assets/")
            || path.starts_with("/api/docs/"))
}

/// The page.
pub(super) async fn graphiql() -> Response {
    (GRACE_PERIOD, Html(PAGE)).into_response()
}

/// A file of the page.
pub(super) async fn asset(Path(file): Path<String>) -> Response {
    match ASSETS.iter().find(|asset| asset.name == file) {
        Some(asset) => (GRACE_PERIOD, [(header::CONTENT_TYPE, asset.media_type)], asset.content).into_response(),
        None => Refusal::new(StatusCode::NOT_FOUND, "NOT_FOUND", "the query page has no such file").into_response(),
    }
}
