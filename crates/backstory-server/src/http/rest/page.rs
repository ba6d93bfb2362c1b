//! The page to browse the API, with everything it needs, so that it works without a network.

use axum::{
    Router,
    http::header,
    response::{Html, IntoResponse, Response},
    routing::get,
};

use super::super::App;

/// The page may load and ask this server only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/docs", get(page))
        .route("/api/docs/docs.js", get(|| file("text/javascript; charset=utf-8", SCRIPT)))
        .route("/api/docs/docs.css", get(|| file("text/css; charset=utf-8", STYLE)))
}

const PAGE: &str = include_str!("../../../assets/docs/index.html");
const SCRIPT: &str = include_str!("../../../assets/docs/docs.js");
const STYLE: &str = include_str!("../../../assets/docs/docs.css");

const HEADERS: [(header::HeaderName, &str); 3] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
];

async fn page() -> Response {
    (HEADERS, Html(PAGE)).into_response()
}

async fn file(media_type: &'static str, content: &'static str) -> Response {
    (HEADERS, [(header::CONTENT_TYPE, media_type)], content).into_response()
}
