//! How refusals are told, and the id of each request. Addresses below `/graphql` answer as GraphQL does, all others with
//! problem details (RFC 9457). The id is in the header `X-Request-Id`, in problem details and in every line of the log.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Json, Response},
};
use serde_json::json;

use super::Refusal;
use crate::error_table;

/// The header with the id of a request.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id that a client may choose.
const MAX_ID: usize = 64;
/// Media type of problem details.
pub(super) const PROBLEM: &str = "application/problem+json";
/// Below it errors have the form of GraphQL.
const GRAPHQL: &str = "/graphql";

/// What an answer refuses; the body follows from it and the address.
#[derive(Clone)]
struct Refused(Refusal);

impl IntoResponse for Refusal {
    /// Without a body until [`finish`] gives it one.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(time) = self.retry {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(time.as_secs().max(1)));
        }
        response.extensions_mut().insert(Refused(self));
        response
    }
}

/// The id of a request: the client's, if it is one, else one that no other request has while the process lives, and from which
/// nobody can tell how many others there were.
pub(super) fn request_id(headers: &HeaderMap) -> HeaderValue {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let is_id = |id: &&HeaderValue| {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        (1..=MAX_ID).contains(&id.len()) && id.as_bytes().iter().all(is_plain)
    };
    let own = || HeaderValue::from(KEY.hash_one(NEXT.fetch_add(1, Ordering::Relaxed)));
    headers.get(REQUEST_ID).filter(is_id).cloned().unwrap_or_else(own)
}

/// Gives an answer the id of its request, and a refusal its body.
pub(super) fn finish(response: Response, path: &str, id: HeaderValue) -> Response {
    let mut response = match response.extensions().get::<Refused>().cloned() {
        Some(Refused(refusal)) => {
            let body = if path.starts_with(GRAPHQL) { graphql(&refusal) } else { problem(&refusal, &id) };
            let (mut parts, _) = response.into_parts();
            let (described, body) = body.into_parts();
            parts.headers.extend(described.headers);
            Response::from_parts(parts, body)
        }
        None => response,
    };
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

fn graphql(refusal: &Refusal) -> Response {
    let mut error = json!({ "message": refusal.message, "extensions": { error_table::CODE: refusal.code } });
    if let Some(hint) = &refusal.hint {
        error["extensions"][error_table::HINT] = hint.as_str().into();
    }
    Json(json!({ "errors": [error] })).into_response()
}

fn problem(refusal: &Refusal, id: &HeaderValue) -> Response {
    let mut body = json!({
        "type": "about:blank",
        "title": refusal.status.canonical_reason().unwrap_or("Error"),
        "status": refusal.status.as_u16(),
        "detail": refusal.message,
        error_table::CODE: refusal.code,
        "request_id": id.to_str().unwrap_or_default(),
    });
    if let Some(hint) = &refusal.hint {
        body[error_table::HINT] = hint.as_str().into();
    }
    ([(header::CONTENT_TYPE, PROBLEM)], body.to_string()).into_response()
}
