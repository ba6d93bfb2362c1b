//! The server: the GraphQL API and its query page over HTTP, subscriptions over WebSocket, webhooks of forges, and who
//! may use them.
//!
//! GraphQL answers have status 200 also when they hold errors; these say in `extensions.code` what went wrong. Requests
//! that are no GraphQL request, or may not be made, have another status and a body of the same form:
//! 400 malformed JSON, 401 no or a wrong token, 403 another site's page, 404 no such address, 405 not POST, 413 too large,
//! 415 not JSON, 503 too many connections.

mod access;
mod metrics;
mod page;
mod socket;
mod webhooks;

use std::{future::Future, sync::Arc, time::Duration};

use async_graphql::Request as GraphQlRequest;
use axum::{
    Extension, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header},
    middleware,
    response::{IntoResponse, Json, Response},
    routing::{get, post},
};
use backstory_engine::{
    Engine,
    error::{Error, ErrorKind, Result},
    sources::redact::redact,
};
use serde_json::json;
use tokio::{net::TcpListener, sync::watch};
use tower_http::timeout::RequestBodyTimeoutLayer;

use crate::{
    error_table,
    graphql::{MAX_BODY, Schemas},
};

pub(crate) use access::{Access, Token};

/// How long a request's body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How long requests that are under way may take once the server is told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// What the routes share.
#[derive(Clone)]
struct App {
    engine: Engine,
    schemas: Schemas,
    rules: Arc<access::Rules>,
    requests: metrics::Requests,
    sockets: socket::Sockets,
}

/// Serves until `shutdown` is done, then ends what is under way within [`GRACE`].
///
/// # Errors
/// The address is open to others but there is no token, or the listener failed.
pub(crate) async fn serve(
    engine: Engine,
    schemas: Schemas,
    listener: TcpListener,
    access: Access,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let failed = |error: std::io::Error| Error::new(ErrorKind::Internal, format!("the server failed: {error}"));
    let address = listener.local_addr().map_err(failed)?;
    let rules = access::Rules::new(access, address)?;
    let (stop, stopped) = watch::channel(false);
    let (requests, sockets) = (metrics::Requests::default(), socket::Sockets::new(stopped.clone()));
    let app = App { engine, schemas, rules: Arc::new(rules), requests, sockets };
    tokio::spawn(async move {
        shutdown.await;
        stop.send_replace(true);
    });
    let server = axum::serve(listener, router(app)).with_graceful_shutdown(until(stopped.clone()));
    tokio::select! {
        result = server => result.map_err(failed),
        () = async { until(stopped).await; tokio::time::sleep(GRACE).await } => {
            tracing::warn!("requests that were under way at the end were cut off");
            Ok(())
        }
    }
}

/// Done when the process is asked to stop, by Ctrl-C or by SIGTERM.
///
/// # Errors
/// The signals cannot be listened to.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed = |error: std::io::Error| Error::new(ErrorKind::Internal, format!("signals cannot be heard: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Done once it is true, or nobody can say so any more.
pub(crate) async fn until(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

fn router(app: App) -> Router {
    Router::new()
        .route("/graphql", post(graphql).get(page::graphiql))
        .route("/graphql/assets/{file}", get(page::asset))
        .route(socket::PATH, get(socket::upgrade))
        .route("/metrics", get(metrics::answer))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .fallback(|| async { Refusal::new(StatusCode::NOT_FOUND, "NOT_FOUND", "there is nothing here; see /graphql") })
        .method_not_allowed_fallback(|| async {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "INVALID", "send operations with POST")
        })
        .layer(middleware::from_fn_with_state(app.clone(), access::check))
        // These have limits and secrets of their own.
        .route("/webhooks/gitlab", post(webhooks::gitlab))
        .route("/webhooks/github", post(webhooks::github))
        .layer(RequestBodyTimeoutLayer::new(BODY_TIME))
        .route("/healthz", get(health))
        .route("/readyz", get(ready))
        .layer(middleware::from_fn_with_state(app.clone(), log))
        .with_state(app)
}

/// A request that gets no answer from the API.
struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl Refusal {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: redact(&message.into()).0.into_owned() }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let error = json!({ "message": self.message, "extensions": { error_table::CODE: self.code } });
        let mut response = (self.status, Json(json!({ "errors": [error] }))).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        response
    }
}

async fn graphql(
    State(app): State<App>,
    Extension(shown): Extension<access::Shown>,
    headers: HeaderMap,
    body: std::result::Result<Bytes, BytesRejection>,
) -> std::result::Result<Response, Refusal> {
    let invalid = |status, message: String| Refusal::new(status, error_table::code(ErrorKind::Invalid), message);
    if !is_json(&headers) {
        let message = "send the request as Content-Type: application/json".to_owned();
        return Err(invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let message = format!("the request is larger than {} KiB", MAX_BODY >> 10);
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", message)
        }
        status => invalid(status, rejection.body_text()),
    })?;
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(invalid(StatusCode::BAD_REQUEST, "send one operation at a time, not a batch".to_owned()));
    }
    let request: GraphQlRequest = serde_json::from_slice(&body).map_err(|error| {
        let message = format!("the body is no GraphQL request, an object with 'query' and 'variables': {error}");
        invalid(StatusCode::BAD_REQUEST, message)
    })?;
    Ok(Json(app.schemas.seeing(shown.sight()).execute(request).await).into_response())
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// Whether it can answer questions: every store can be read.
async fn ready(State(app): State<App>) -> std::result::Result<Json<serde_json::Value>, Refusal> {
    match app.engine.sync_status(0).await {
        Ok(status) => Ok(Json(json!({ "status": "ready", "changes": status.ledger_seq }))),
        Err(error) => {
            tracing::error!(%error, "not ready");
            Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error_table::code(error.kind), error.message))
        }
    }
}

/// Whether the process is alive and has its ledger.
async fn health(State(app): State<App>) -> std::result::Result<Json<serde_json::Value>, Refusal> {
    match app.engine.last_change().await {
        Ok(_) => Ok(Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))),
        Err(error) => {
            tracing::error!(%error, "not healthy");
            Err(Refusal::new(error_table::http_status(error.kind), error_table::code(error.kind), error.message))
        }
    }
}

async fn log(State(app): State<App>, request: axum::extract::Request, next: middleware::Next) -> Response {
    let started = std::time::Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = next.run(request).await;
    let (status, took) = (response.status(), started.elapsed());
    app.requests.observe(&path, status, took);
    tracing::debug!(%method, path, status = status.as_u16(), ms = took.as_millis(), "answered a request");
    response
}
