//! Probes: whether the server lives and whether every store can be read. Anyone may ask, any number of times, so an
//! answer holds for a while.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Extension, extract::State, http::StatusCode, response::Json};
use backstory_engine::{error::Result, status::SyncStatusRequest};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{App, Refusal, connections::Connection};
use crate::error_table;

/// How long an answer to `/healthz` holds.
const HEALTH_HOLDS: Duration = Duration::from_secs(1);
/// How long an answer to `/readyz` holds, for which every store is read.
const READINESS_HOLDS: Duration = Duration::from_secs(5);

/// What was found last.
#[derive(Debug, Default)]
pub(super) struct Probes {
    health: Probe,
    readiness: Probe,
}

/// An answer, and since when it holds.
#[derive(Debug, Default)]
struct Probe(Mutex<Option<(Instant, Result<()>)>>);

impl Probe {
    /// The last answer if it holds, or else a new one, for which all wait who ask at the same time.
    async fn ask(&self, holds: Duration, look: impl Future<Output = Result<()>>) -> std::result::Result<(), Refusal> {
        let mut last = self.0.lock().await;
        let found = match &*last {
            Some((at, found)) if at.elapsed() < holds => found.clone(),
            _ => {
                let found = look.await;
                if let Err(error) = &found {
                    tracing::error!(%error, "the stores cannot be read");
                }
                *last = Some((Instant::now(), found.clone()));
                found
            }
        };
        // Why is not for everybody.
        found.map_err(|error| {
            let message = "the stores cannot be read; the log of the server says why";
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error_table::code(error.kind), message)
        })
    }
}

/// Whether the process is alive and has its ledger.
pub(super) async fn health(
    State(app): State<App>,
    Extension(connection): Extension<Arc<Connection>>,
) -> std::result::Result<Json<Value>, Refusal> {
    // It costs next to nothing, and who asks must get an answer above all when there is no room.
    let _working = connection.hold_open();
    let look = async { app.engine.last_change().await.map(drop) };
    app.probes.health.ask(HEALTH_HOLDS, look).await?;
    let roles = &app.engine.settings().roles;
    Ok(Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION"), "roles": roles })))
}

/// Whether it can answer questions: every store can be read.
pub(super) async fn ready(State(app): State<App>) -> std::result::Result<Json<Value>, Refusal> {
    let look = async { app.engine.answer(SyncStatusRequest { runs: 0 }).await.map(drop) };
    app.probes.readiness.ask(READINESS_HOLDS, look).await?;
    Ok(Json(json!({ "status": "ready" })))
}
