//! Webhooks of forges. They show no token of this server: each shows the secret of its forge, or is signed with it.

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::StatusCode,
    response::Json,
};
use backstory_engine::{error::ErrorKind, settings::ForgeKind, sources::forge::webhook::MAX_PAYLOAD, worker::Received};
use serde_json::{Value, json};

use super::{App, Refusal};
use crate::error_table;

/// From a GitLab.
pub(super) async fn gitlab(app: State<App>, request: Request) -> Result<Json<Value>, Refusal> {
    receive(app, ForgeKind::GitLab, request).await
}

/// From a GitHub.
pub(super) async fn github(app: State<App>, request: Request) -> Result<Json<Value>, Refusal> {
    receive(app, ForgeKind::GitHub, request).await
}

async fn receive(State(app): State<App>, kind: ForgeKind, request: Request) -> Result<Json<Value>, Refusal> {
    let (parts, body) = request.into_parts();
    let body = read(body).await?;
    match app.engine.receive_webhook(kind, &parts.headers, &body).await {
        Ok(received) => {
            let status = match received {
                Received::Queued => "queued",
                Received::Known => "known",
                Received::Ignored => "ignored",
            };
            Ok(Json(json!({ "status": status })))
        }
        Err(error) => {
            tracing::warn!(%error, "a webhook was refused");
            Err(Refusal::new(error_table::http_status(error.kind), error_table::code(error.kind), error.message))
        }
    }
}

async fn read(body: Body) -> Result<axum::body::Bytes, Refusal> {
    to_bytes(body, MAX_PAYLOAD).await.map_err(|_| {
        let message = format!("the payload is larger than {} MiB, or broke off", MAX_PAYLOAD >> 20);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, error_table::code(ErrorKind::Invalid), message)
    })
}
