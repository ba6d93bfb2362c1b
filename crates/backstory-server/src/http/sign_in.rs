//! Signing in and out with a browser: the address where a token becomes a session.

use std::sync::Arc;

use axum::{
    Extension, Router,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{AppendHeaders, IntoResponse, Json, Response},
    routing::get,
};
use backstory_engine::{
    error::{Error, ErrorKind},
    model::access::{Caller, Scope},
};
use serde_json::{Value, json};

use super::{
    App, Refusal,
    access::{self, Auth},
    connections::Connection,
    is_json,
    session::PATH,
};
use crate::error_table;

/// The routes of sessions.
pub(super) fn routes() -> Router<App> {
    Router::new().route(PATH, get(describe).post(sign_in).delete(sign_out))
}

/// What the page may do: whether it must show a token, what the one it has permits, and whether there is a language model
/// to do it with.
async fn describe(State(app): State<App>, Extension(auth): Extension<Auth>) -> Json<Value> {
    Json(match auth {
        Auth::Granted(_, caller, _) => json!({
            "granted": true,
            "scope": widest_scope(&caller),
            "needs_token": app.rules.wants_token(&app.engine),
            "language_model": app.engine.has_language_model(),
        }),
        Auth::Deferred => json!({ "granted": false, "scope": null, "needs_token": true }),
    })
}

/// Takes a token and sets the cookie of a session.
async fn sign_in(
    State(app): State<App>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    if !is_json(&headers) {
        let message = "send the token as Content-Type: application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error_table::code(ErrorKind::Invalid), message));
    }
    let body = app.bodies.read(body).await?;
    let invalid = || Error::new(ErrorKind::Invalid, r#"the body is not a token: send {"token": "..."}"#);
    let shown: Value = serde_json::from_slice(&body.bytes).map_err(|_| invalid())?;
    let token = shown["token"].as_str().map(str::trim).filter(|token| !token.is_empty()).ok_or_else(invalid)?;
    let client = app.rules.client(&connection, &headers);
    let (key, caller) = access::caller_of_token(&app, token, client).await?;
    access::check_rate(&app, &key)?;
    let cookie = app.rules.sessions().open(key, &headers)?;
    let answer = json!({ "granted": true, "scope": widest_scope(&caller) });
    Ok(([(header::SET_COOKIE, cookie)], Json(answer)).into_response())
}

/// Closes the session.
async fn sign_out(State(app): State<App>, headers: HeaderMap) -> Result<Response, Refusal> {
    let cookies = app.rules.sessions().close(&headers)?;
    let cookies = cookies.map(|cookie| (header::SET_COOKIE, cookie));
    Ok((StatusCode::NO_CONTENT, AppendHeaders(cookies)).into_response())
}

/// The most that somebody may do, by name; `None` if nothing.
fn widest_scope(caller: &Caller) -> Option<&'static str> {
    let scopes = [(Scope::Admin, "admin"), (Scope::Sync, "sync"), (Scope::Read, "read")];
    scopes.into_iter().find(|(scope, _)| caller.scopes.permit(*scope)).map(|(_, name)| name)
}
