//! `/mcp`: the Model Context Protocol over HTTP, behind the same rules as everything else. What the tools do belongs to
//! [`mcp`](crate::mcp).

use std::sync::Arc;

use axum::{
    Extension, Router,
    body::Body,
    extract::{Request, State},
    response::Response,
    routing::any,
};
use backstory_engine::{error::Result, model::access::Caller, use_case::UseCase};

use super::{App, Refusal, access, connections::Connection, execute::execute};
use crate::mcp::{self, LegacyToolNames};

/// Where agents are answered.
const MCP: &str = "/mcp";
/// What asks for the tools under their other names, in the address: `/mcp?seed-names`, `/mcp?seed-names=dotted`.
const SEED_NAMES: &str = "seed-names";

pub(super) fn routes() -> Router<App> {
    Router::new().route(MCP, any(answer))
}

async fn answer(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> std::result::Result<Response, Refusal> {
    access::check_origin(&request)?;
    let (parts, body) = request.into_parts();
    let mut body = app.bodies.read(body).await?;
    let working = connection.hold_open();
    let names = seed_names(parts.uri.query().unwrap_or_default());
    let request = Request::from_parts(parts, Body::from(std::mem::take(&mut body.bytes)));
    let agent = Agent { app: app.clone(), caller };
    Ok(Connection::hold_until_sent(working, mcp::answer_http(agent, names, request).await))
}

fn seed_names(query: &str) -> LegacyToolNames {
    let of = |pair: &str| match pair.split_once('=').unwrap_or((pair, "")) {
        (SEED_NAMES, "dotted") => Some(LegacyToolNames::Dotted),
        (SEED_NAMES, _) => Some(LegacyToolNames::Plain),
        _ => None,
    };
    query.split('&').find_map(of).unwrap_or_default()
}

/// An agent that sent a request.
#[derive(Clone)]
struct Agent {
    app: App,
    caller: Caller,
}

impl mcp::Backend for Agent {
    async fn answer<U: UseCase>(&self, request: U) -> Result<U::Answer> {
        execute(&self.app, &self.caller, request).await
    }
}
