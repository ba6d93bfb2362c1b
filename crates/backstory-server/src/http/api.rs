//! `/api/v1`: each use case of the engine under its name, request and answer as JSON. Commands speak it too; resources that
//! are read by `GET` are in `rest`.

use std::sync::Arc;

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
    model::access::Caller,
    use_case::UseCase,
    use_cases::{Visitor, visit_all},
};

use super::{App, Refusal, connections::Connection, execute::execute, is_json, shape::BodyShape};
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
        let shape = Arc::new(BodyShape::of::<U>());
        let route = post(answer::<U>).layer(Extension(shape));
        self.0 = router.route(&format!("{API}/{}", U::NAME), route);
    }
}

async fn answer<U: UseCase>(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Extension(connection): Extension<Arc<Connection>>,
    Extension(shape): Extension<Arc<BodyShape>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<U::Answer>, Refusal> {
    app.engine.with_caller(&caller).permit::<U>()?;
    if !is_json(&headers) {
        let message = "send the request as Content-Type: application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error_table::code(ErrorKind::Invalid), message));
    }
    let body = app.bodies.read(body).await?;
    let _working = connection.hold_open();
    let wrong =
        |what: String| Error::new(ErrorKind::Invalid, format!("the body is not a '{}' request: {what}", U::NAME));
    let request: U = shape.read_body(&body.bytes).map_err(wrong)?;
    drop(body);
    Ok(Json(execute(&app, &caller, request).await?))
}
