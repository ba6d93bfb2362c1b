//! Receives webhooks of forges. They show no token of this server: each shows the secret of its forge, or is signed
//! with it. What the headers can decide is decided before the body is read, since anyone can send one.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{Request, State},
    response::Json,
};
use backstory_engine::{
    error::{Error, ErrorKind},
    model::role::ServerRole,
    settings::ForgeKind,
    sources::forge::webhook::MAX_PAYLOAD,
    worker::WebhookOutcome,
};
use serde_json::{Value, json};

use super::{App, Refusal, bodies::BodyReader, connections::Connection};

/// How long a payload may take to arrive.
const TIME: Duration = Duration::from_secs(30);
/// Most bytes of payloads that are held at a time.
const PAYLOADS: usize = 3 * MAX_PAYLOAD;

/// Room for payloads.
pub(super) fn bodies() -> BodyReader {
    BodyReader::new(MAX_PAYLOAD, TIME, PAYLOADS)
}

/// From a GitLab.
pub(super) async fn gitlab(
    app: State<App>,
    connection: Extension<Arc<Connection>>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    receive(app, connection, ForgeKind::GitLab, request).await
}

/// From a GitHub.
pub(super) async fn github(
    app: State<App>,
    connection: Extension<Arc<Connection>>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    receive(app, connection, ForgeKind::GitHub, request).await
}

async fn receive(
    State(app): State<App>,
    Extension(connection): Extension<Arc<Connection>>,
    kind: ForgeKind,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let (parts, body) = request.into_parts();
    let client = app.rules.client(&connection, &parts.headers);
    let refused = |error: Error| {
        tracing::warn!(%error, "a webhook was refused");
        match error.kind {
            ErrorKind::Unauthenticated => app.rules.wrong_secret(client),
            _ => error.into(),
        }
    };
    app.engine.settings().require_role(ServerRole::Write).map_err(refused)?;
    app.engine.expects_webhook(kind, &parts.headers).map_err(refused)?;
    let body = app.webhooks.read(body).await?;
    let _working = connection.hold_open();
    let received = app.engine.receive_webhook(kind, &parts.headers, &body.bytes).await.map_err(refused)?;
    let status = match received {
        WebhookOutcome::Queued => "queued",
        WebhookOutcome::Known => "known",
        WebhookOutcome::Ignored => "ignored",
    };
    Ok(Json(json!({ "status": status })))
}
