//! HTTP: the GraphQL API and its query page, `/api/v1`, subscriptions over WebSocket, webhooks of forges, probes and
//! metrics, and who may use them. What an operation does belongs to `graphql` and the engine.
//!
//! GraphQL answers have status 200 also when they hold errors; these say in `extensions.code` what went wrong. An
//! operation that was not executed because too many wait has status 503 and says in `Retry-After` when to come again; one
//! that this server's roles exclude has 503 without it, and one that took too long has 504. Requests that are no GraphQL
//! request, or may not be made, have another status and a body of the same form; other addresses answer with problem
//! details (`problem`): 400 malformed JSON, 401 no or a wrong token, 403 another site's page, 404 no such address, 405 not POST,
//! 408 a body that takes too long, 413 too large, 415 not JSON, 429 too many wrong tokens, 503 too many connections.
//!
//! Nobody who has shown no token can hold more than a bounded part of connections, descriptors, memory and time:
//! `connections` limits connections and how long their headers may take, `bodies` what is held of bodies and how long they
//! may take, `throttle` wrong tokens, `socket` WebSockets that have shown no token.

mod access;
mod api;
mod bodies;
mod connections;
mod cors;
mod execute;
mod export;
mod graphiql;
mod mcp;
mod metrics;
mod probes;
mod problem;
mod proxy;
mod quota;
mod rest;
mod session;
mod shape;
mod sign_in;
mod socket;
mod sparql;
mod throttle;
mod token_key;
mod web;
mod webhooks;

use std::{future::Future, sync::Arc, time::Duration};

use async_graphql::Request as GraphQlRequest;
use axum::{
    Extension, Router,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware,
    response::{IntoResponse, Json, Response},
    routing::{get, post},
};
use backstory_engine::{
    Engine,
    error::{self, Error, ErrorKind, Result},
    model::access::Caller,
};
use tokio::{net::TcpListener, sync::watch};
use tracing::Instrument as _;

use crate::{
    error_table,
    graphql::{Api, Limits, MAX_BODY},
};
use bodies::BodyReader;
use connections::Connection;
use probes::Probes;
use quota::Quota;

pub use access::{Access, DEFAULT_REQUESTS_PER_MINUTE, MIN_TOKEN, TOKEN_HINT, Token};
pub use api::API;
pub use connections::listen;
pub use cors::Origin;
pub use proxy::{Network, Proxy};
pub use rest::document as openapi;

/// How long a request's body may take to arrive, from its first byte to its last.
const BODY_TIME: Duration = Duration::from_secs(15);
/// Most bytes of requests' bodies that are held at a time.
const BODIES: usize = 32 << 20;
/// When a client may come again that was refused because there is too much to do.
const RETRY: Duration = Duration::from_secs(2);
/// From when on a request is logged as slow.
const SLOW: Duration = Duration::from_secs(5);
/// How long requests that are under way may take once the server is told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// Where subscriptions are made over WebSocket. A browser cannot send a token there, so it may follow later.
const SOCKET_PATH: &str = "/graphql/ws";

/// What the routes share.
#[derive(Clone)]
struct App {
    engine: Engine,
    api: Api,
    rules: Arc<access::Rules>,
    /// Those whose pages may use the server.
    origins: Arc<[Origin]>,
    requests: metrics::RequestDurations,
    sockets: socket::Sockets,
    bodies: BodyReader,
    webhooks: BodyReader,
    probes: Arc<Probes>,
    /// Requests that wait for the end of a job.
    waiters: Quota,
}

/// Serves until `shutdown` is done, then ends what is under way within [`GRACE`].
///
/// # Errors
/// The address is open to others but there is no token, or the listener has no address.
pub async fn serve(
    engine: Engine,
    listener: TcpListener,
    access: Access,
    limits: Limits,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let failed = |error: std::io::Error| Error::new(ErrorKind::Internal, format!("the server failed: {error}"));
    let address = listener.local_addr().map_err(failed)?;
    let takes_webhooks = access.webhooks;
    let api = Api::new(engine.clone(), limits);
    let origins: Arc<[Origin]> = access.origins.clone().into();
    let proxy = access.proxy.clone();
    let rules = access::Rules::new(access, address, &engine)?;
    let (stop, stopped) = watch::channel(false);
    let (requests, sockets) = (metrics::RequestDurations::default(), socket::Sockets::new(stopped.clone()));
    let bodies = BodyReader::new(MAX_BODY, BODY_TIME, BODIES);
    let (webhooks, probes) = (webhooks::bodies(), Arc::default());
    let audit_log = engine.clone();
    let rules = Arc::new(rules);
    let waiters = rest::waiters();
    let app = App { engine, api, rules, origins, requests, sockets, bodies, webhooks, probes, waiters };
    tokio::spawn(async move {
        shutdown.await;
        stop.send_replace(true);
    });
    let served = tokio::select! {
        () = connections::serve(listener, router(app, takes_webhooks), proxy, stopped.clone()) => Ok(()),
        () = async { wait_for_stop(stopped).await; tokio::time::sleep(GRACE).await } => {
            tracing::warn!("requests that were under way at the end were cut off");
            Ok(())
        }
    };
    audit_log.flush_audit_log().await?;
    served
}

/// Done when the process is asked to stop, by Ctrl-C or by SIGTERM.
///
/// # Errors
/// The signals cannot be listened to.
pub fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed =
        |error: std::io::Error| Error::new(ErrorKind::Internal, format!("cannot install signal handlers: {error}"));
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
pub async fn wait_for_stop(mut stopped: watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

fn router(app: App, takes_webhooks: bool) -> Router {
    let by_name = middleware::from_fn_with_state(app.clone(), access::check_name);
    let mut router = Router::new()
        .route("/graphql", post(graphql).get(graphiql::graphiql))
        .route("/graphql/assets/{file}", get(graphiql::asset))
        .route(SOCKET_PATH, get(socket::upgrade))
        .route("/metrics", get(metrics::answer))
        .merge(api::routes())
        .merge(mcp::routes())
        .merge(rest::routes())
        .merge(sparql::routes())
        .merge(export::routes())
        .merge(web::routes())
        .merge(sign_in::routes())
        .fallback(|| async {
            Refusal::new(
                StatusCode::NOT_FOUND,
                "NOT_FOUND",
                "there is nothing at this address; /api/docs lists what there is",
            )
        })
        .method_not_allowed_fallback(|| async {
            Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "INVALID",
                "this address does not take that method; the header Allow names those that it takes",
            )
        })
        .layer(middleware::from_fn_with_state(app.clone(), access::check))
        .layer(middleware::from_fn_with_state(app.clone(), cors::allow_origins));
    if takes_webhooks {
        // These have limits and secrets of their own.
        router =
            router.route("/webhooks/gitlab", post(webhooks::gitlab)).route("/webhooks/github", post(webhooks::github));
    }
    router
        .route("/healthz", get(probes::health).layer(by_name.clone()))
        .route("/readyz", get(probes::ready).layer(by_name))
        .layer(middleware::from_fn(access::check_host))
        .layer(middleware::from_fn_with_state(app.clone(), log))
        .with_state(app)
}

/// A request that gets no answer from the API; how it is told is in `problem`.
#[derive(Clone)]
struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// What to do about it.
    hint: Option<String>,
    /// When it may be tried again, if that helps.
    retry: Option<Duration>,
}

impl Refusal {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self { status, code, message: error::message(&message), hint: None, retry: None }
    }

    /// There is too much to do.
    fn busy(message: impl Into<String>) -> Self {
        let kind = ErrorKind::Busy;
        Self::new(error_table::http_status(kind), error_table::code(kind), message).after(RETRY)
    }

    /// The same as the answer to a GraphQL operation.
    fn into_graphql(self) -> async_graphql::Response {
        let mut error = async_graphql::ServerError::new(self.message, None);
        let extensions = error.extensions.get_or_insert_default();
        extensions.set(error_table::CODE, self.code);
        if let Some(hint) = self.hint {
            extensions.set(error_table::HINT, hint);
        }
        async_graphql::Response::from_errors(vec![error])
    }

    /// It may be tried again after that time.
    fn after(self, time: Duration) -> Self {
        Self { retry: Some(time), ..self }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let refusal = Self::new(error_table::http_status(error.kind), error_table::code(error.kind), error.message);
        let retry = (error.kind == ErrorKind::Busy).then_some(RETRY);
        Self { hint: error.hint, retry, ..refusal }
    }
}

async fn graphql(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
    body: Body,
) -> std::result::Result<Response, Refusal> {
    let invalid = |status, message: String| Refusal::new(status, error_table::code(ErrorKind::Invalid), message);
    if !is_json(&headers) {
        let message = "send the request as Content-Type: application/json".to_owned();
        return Err(invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let body = app.bodies.read(body).await?;
    let _working = connection.hold_open();
    if body.bytes.trim_ascii_start().starts_with(b"[") {
        return Err(invalid(StatusCode::BAD_REQUEST, "send one operation at a time, not a batch".to_owned()));
    }
    let request: GraphQlRequest = serde_json::from_slice(&body.bytes).map_err(|error| {
        let message = format!("the body is not a GraphQL request, an object with 'query' and 'variables': {error}");
        invalid(StatusCode::BAD_REQUEST, message)
    })?;
    drop(body);
    let response = app.api.execute(request, &caller).await;
    app.engine.repair_in_background();
    Ok(answer(response))
}

/// The answer to an operation. Programs between client and server see the status only, so it tells what they must know:
/// that nothing was executed because there is too much to do or this server cannot do it, or that it took too long.
fn answer(response: async_graphql::Response) -> Response {
    let is = |error: &async_graphql::ServerError, kind| {
        let code = error.extensions.as_ref().and_then(|extensions| extensions.get(error_table::CODE));
        code == Some(&async_graphql::Value::from(error_table::code(kind)))
    };
    let kinds = [ErrorKind::Busy, ErrorKind::Timeout, ErrorKind::Unavailable];
    let failed = kinds.into_iter().find(|kind| response.errors.iter().any(|error| is(error, *kind)));
    let failed = failed.filter(|_| response.data == async_graphql::Value::Null);
    let mut answer = Json(response).into_response();
    if let Some(kind) = failed {
        *answer.status_mut() = error_table::http_status(kind);
        if kind == ErrorKind::Busy {
            answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY.as_secs()));
        }
    }
    answer
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// Logs a request, with an id that its answer has too.
async fn log(State(app): State<App>, request: axum::extract::Request, next: middleware::Next) -> Response {
    let started = std::time::Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let id = problem::request_id(request.headers());
    // On the level of what is always logged, so that every line has the id.
    let span = tracing::error_span!("request", id = id.to_str().unwrap_or_default());
    let response = problem::finish(next.run(request).instrument(span.clone()).await, &path, id);
    let (status, took) = (response.status(), started.elapsed());
    app.requests.observe(&path, status, took);
    let _of_request = span.enter();
    tracing::debug!(%method, path, status = status.as_u16(), ms = took.as_millis(), "answered a request");
    if took >= SLOW {
        tracing::warn!(%method, path, status = status.as_u16(), ms = took.as_millis(), "a slow request");
    }
    response
}
