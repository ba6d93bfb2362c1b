//! The web interface: the files of `web/`, embedded as they are, and the page that is at the address of each screen.
//!
//! The page itself is read again each time. Everything that it loads is below an address with a hash of all files, so
//! browsers may keep that for as long as they like.

use axum::{
    Router,
    extract::{Path, Request},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};

use super::{App, Refusal};

include!(concat!(env!("OUT_DIR"), "/web.rs"));

/// Where the screens are, besides `/`.
const SCREENS: &str = "/ui";
/// Where their files are, below a hash of them.
const ASSETS: &str = "/ui/-";
/// The page of every screen.
const PAGE: &str = "index.html";

/// The page may load and ask this server only, runs no script that is not a file of it, and makes no HTML of text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// A file of the web interface.
pub(super) struct File {
    path: &'static str,
    media_type: &'static str,
    content: &'static [u8],
    compressed: &'static [u8],
}

impl File {
    fn named(path: &str) -> Option<&'static Self> {
        FILES.iter().find(|file| file.path == path)
    }

    fn answer(&self, headers: &HeaderMap) -> Response {
        let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let vary = [(header::VARY, header::ACCEPT_ENCODING.as_str()), (header::CONTENT_TYPE, self.media_type)];
        if accepted.split(',').any(|coding| coding.split(';').next().unwrap_or_default().trim() == "gzip") {
            return (vary, [(header::CONTENT_ENCODING, "gzip")], self.compressed).into_response();
        }
        (vary, self.content).into_response()
    }
}

const GUARDS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Whether a request is for a screen or a file of the web interface. Neither holds data.
pub(super) fn is_part(request: &Request) -> bool {
    let path = request.uri().path();
    let is_screen = path.strip_prefix(SCREENS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    matches!(*request.method(), Method::GET | Method::HEAD) && (path == "/" || is_screen)
}

/// The routes of screens and files.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(screen))
        .route(SCREENS, get(screen))
        .route(&format!("{SCREENS}/{{*screen}}"), get(screen))
        .route(&format!("{ASSETS}/{{version}}/{{*path}}"), get(asset))
}

/// The page, which reads from its address what to show.
async fn screen(headers: HeaderMap) -> Response {
    let Some(page) = File::named(PAGE) else { return missing() };
    (GUARDS, [(header::CACHE_CONTROL, "no-cache")], page.answer(&headers)).into_response()
}

/// A file that the page loads.
async fn asset(Path((version, path)): Path<(String, String)>, headers: HeaderMap) -> Response {
    // A page that was open while the server was replaced must not mix files of two versions.
    let Some(file) = File::named(&path).filter(|_| version == VERSION) else { return missing() };
    let mut response = (GUARDS, file.answer(&headers)).into_response();
    let cache = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(header::CACHE_CONTROL, cache);
    response
}

fn missing() -> Response {
    let message = "the web interface has no such file; load the page again";
    Refusal::new(StatusCode::NOT_FOUND, "NOT_FOUND", message).into_response()
}
