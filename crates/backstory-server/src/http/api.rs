//! `/api/v1`: each use case of the engine under its name, request and answer as JSON. It is for the command line of the
//! same version; its form may change with any version.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Json,
    routing::post,
};
use backstory_engine::{
    error::{Error, ErrorKind},
    use_case::{Scope, UseCase, Weight},
    use_cases::{Visitor, visit_all},
};

use super::{App, Refusal, access::Auth, connections::Connection, is_json};
use crate::error_table;

/// Where the use cases are.
pub const API: &str = "/api/v1";

/// A route for every use case.
pub(super) fn routes() -> Router<App> {
    let mut routes = Routes(Router::new());
    visit_all(&mut routes);
    routes.0
}

struct Routes(Router<App>);

impl Visitor for Routes {
    fn visit<U: UseCase>(&mut self) {
        let router = std::mem::take(&mut self.0);
        self.0 = router.route(&format!("{API}/{}", U::NAME), post(answer::<U>));
    }
}

async fn answer<U: UseCase>(
    State(app): State<App>,
    Extension(auth): Extension<Auth>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<U::Answer>, Refusal> {
    let grant = auth.grant();
    if grant.scope < U::SCOPE {
        return Err(refuse(U::SCOPE));
    }
    if let Some(role) = U::ROLE {
        app.engine.settings().require_role(role)?;
    }
    if !is_json(&headers) {
        let message = "send the request as Content-Type: application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error_table::code(ErrorKind::Invalid), message));
    }
    let body = app.bodies.read(body).await?;
    let _working = connection.working();
    let request: U = serde_json::from_slice(&body.bytes)
        .map_err(|error| Error::new(ErrorKind::Invalid, format!("the body is no request '{}': {error}", U::NAME)))?;
    drop(body);
    let _turn = app.api.queue().turn(U::WEIGHT).await?;
    let engine = app.engine.with_visibility(grant.visibility);
    // What reads everything has time.
    let _answering = (U::WEIGHT != Weight::Long).then(|| engine.embedder().answering());
    let time = app.api.limits().time_of(U::WEIGHT);
    let answer = tokio::time::timeout(time, engine.answer(request)).await.unwrap_or_else(|_| Err(too_long(time)));
    app.engine.repair_in_background();
    Ok(Json(answer?))
}

fn refuse(scope: Scope) -> Refusal {
    let what = match scope {
        Scope::Read => "read",
        Scope::Sync => "start work",
        Scope::Admin => "change anything",
    };
    let message = format!(
        "this token may not {what} by /api/v1, which takes that only with the data directory's own secret; /graphql takes \
         it with this token"
    );
    Refusal::new(StatusCode::FORBIDDEN, "FORBIDDEN", message)
}

fn too_long(time: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("the answer took longer than {} s", time.as_secs()))
        .with_hint("ask for less at once")
}
