//! Subscriptions over WebSocket, by the graphql-transport-ws protocol.

use std::{sync::Arc, time::Duration};

use async_graphql::{Data, http::ALL_WEBSOCKET_PROTOCOLS};
use async_graphql_axum::{GraphQLProtocol, GraphQLWebSocket};
use axum::{
    Extension,
    extract::{State, WebSocketUpgrade, ws::WebSocket},
    http::StatusCode,
    response::Response,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

use super::{
    App, Refusal,
    access::{self, Rules, Shown},
    until,
};
use crate::graphql::{MAX_BODY, Schema};

/// Where connections are made.
pub(super) const PATH: &str = "/graphql/ws";
/// Most connections at a time.
const MAX_SOCKETS: usize = 64;
/// How long a connection may take to begin, with `connection_init`.
const INIT_TIME: Duration = Duration::from_secs(10);

/// The connections of a server.
#[derive(Clone)]
pub(super) struct Sockets {
    free: Arc<Semaphore>,
    stopped: watch::Receiver<bool>,
}

impl Sockets {
    /// Connections that end when the server is stopped.
    pub(super) fn new(stopped: watch::Receiver<bool>) -> Self {
        Self { free: Arc::new(Semaphore::new(MAX_SOCKETS)), stopped }
    }
}

/// Makes a connection.
pub(super) async fn upgrade(
    State(app): State<App>,
    Extension(shown): Extension<Shown>,
    protocol: GraphQLProtocol,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Refusal> {
    let permit = app.sockets.free.clone().try_acquire_owned().map_err(|_| {
        let message = format!("{MAX_SOCKETS} connections are open already; close some");
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "BUSY", message)
    })?;
    let App { schema, rules, sockets, .. } = app;
    Ok(upgrade
        .protocols(ALL_WEBSOCKET_PROTOCOLS)
        .max_message_size(MAX_BODY)
        .max_frame_size(MAX_BODY)
        .on_upgrade(move |socket| serve(socket, protocol, schema, rules, shown, sockets.stopped, permit)))
}

async fn serve(
    socket: WebSocket,
    protocol: GraphQLProtocol,
    schema: Schema,
    rules: Arc<Rules>,
    shown: Shown,
    stopped: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
) {
    let (begun, beginning) = oneshot::channel();
    let connection = GraphQLWebSocket::new(socket, schema, protocol).on_connection_init(move |payload| async move {
        if shown == Shown::NotYet && !shows_token(&payload, &rules) {
            return Err(async_graphql::Error::new(
                "this server wants its token: connection_init with {\"Authorization\": \"Bearer <token>\"}",
            ));
        }
        // Nobody listens any more if it took too long; the connection is closed then.
        let _ = begun.send(());
        Ok(Data::default())
    });
    let late = async {
        match tokio::time::timeout(INIT_TIME, beginning).await {
            Ok(Ok(())) => std::future::pending().await,
            _ => tracing::debug!("a connection was closed because it did not begin"),
        }
    };
    tokio::select! {
        () = connection.serve() => {}
        () = late => {}
        () = until(stopped) => {}
    }
}

fn shows_token(payload: &serde_json::Value, rules: &Rules) -> bool {
    let value = ["Authorization", "authorization"].iter().find_map(|name| payload.get(name)?.as_str());
    value.and_then(access::parse_bearer).is_some_and(|token| rules.accepts(token))
}
