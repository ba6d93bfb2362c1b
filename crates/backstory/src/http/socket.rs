//! Subscriptions over WebSocket, by the graphql-transport-ws protocol.

use std::{any::TypeId, sync::Arc, time::Duration};

use async_graphql::{Data, Executor, Request, futures_util::stream::BoxStream, http::ALL_WEBSOCKET_PROTOCOLS};
use async_graphql_axum::{GraphQLProtocol, GraphQLWebSocket};
use axum::{
    Extension,
    extract::{State, WebSocketUpgrade, ws::WebSocket},
    http::StatusCode,
    response::Response,
};
use backstory_engine::model::sight::Sight;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

use super::{
    App, Refusal,
    access::{self, Rules, Shown},
    until,
};
use crate::graphql::{MAX_BODY, Schemas};

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
    let App { schemas, rules, sockets, .. } = app;
    Ok(upgrade
        .protocols(ALL_WEBSOCKET_PROTOCOLS)
        .max_message_size(MAX_BODY)
        .max_frame_size(MAX_BODY)
        .on_upgrade(move |socket| serve(socket, protocol, schemas, rules, shown, sockets.stopped, permit)))
}

async fn serve(
    socket: WebSocket,
    protocol: GraphQLProtocol,
    schemas: Schemas,
    rules: Arc<Rules>,
    shown: Shown,
    stopped: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
) {
    let (begun, beginning) = oneshot::channel();
    let connection = GraphQLWebSocket::new(socket, Sighted(schemas), protocol);
    let connection = connection.on_connection_init(move |payload| async move {
        let sight = match (token(&payload).and_then(|token| rules.sight_of(token)), shown) {
            (Some(sight), _) | (None, Shown::Enough(sight)) => sight,
            (None, Shown::NotYet) => {
                return Err(async_graphql::Error::new(
                    "this server wants its token: connection_init with {\"Authorization\": \"Bearer <token>\"}",
                ));
            }
        };
        // Nobody listens any more if it took too long; the connection is closed then.
        let _ = begun.send(());
        let mut session = Data::default();
        session.insert(sight);
        Ok(session)
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

/// The token of a first message.
fn token(payload: &serde_json::Value) -> Option<&str> {
    let value = ["Authorization", "authorization"].iter().find_map(|name| payload.get(name)?.as_str());
    value.and_then(access::parse_bearer)
}

/// Executes what a connection asks for as whoever began it sees things.
#[derive(Clone)]
struct Sighted(Schemas);

impl Executor for Sighted {
    /// Nobody has begun a connection here, so nobody sees more than all do.
    async fn execute(&self, request: Request) -> async_graphql::Response {
        self.0.seeing(Sight::Open).execute(request).await
    }

    fn execute_stream(
        &self,
        request: Request,
        session: Option<Arc<Data>>,
    ) -> BoxStream<'static, async_graphql::Response> {
        let sight = session.as_ref().and_then(|session| session.get(&TypeId::of::<Sight>())?.downcast_ref::<Sight>());
        let schema = self.0.seeing(sight.copied().unwrap_or(Sight::Open));
        Executor::execute_stream(schema, request, session)
    }
}
