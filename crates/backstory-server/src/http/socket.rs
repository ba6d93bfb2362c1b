//! Subscriptions over WebSocket, by the graphql-transport-ws protocol. A browser cannot set headers of a WebSocket, so
//! one may be opened without a token and show it in its first message. Until then it has one of a few places, and the
//! oldest is closed for a new one.

use std::{any::TypeId, collections::VecDeque, net::IpAddr, sync::Arc, time::Duration};

use async_graphql::{
    Data, Executor, Request, ServerError, futures_util::stream::BoxStream, http::ALL_WEBSOCKET_PROTOCOLS,
};
use async_graphql_axum::{GraphQLProtocol, GraphQLWebSocket};
use axum::{
    Extension,
    extract::{State, WebSocketUpgrade, ws::WebSocket},
    http::HeaderMap,
    response::Response,
};
use backstory_engine::{error::ErrorKind, model::access::Caller};
use futures::{FutureExt as _, StreamExt as _, stream};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot, watch};

use super::{
    App, Refusal,
    access::{self, Auth},
    connections::{Connection, InUseGuard},
    quota::{Quota, QuotaPermit},
    wait_for_stop,
};
use crate::{error_table, graphql::MAX_BODY};

/// Most connections at a time that have shown what they must.
const MAX_SOCKETS: usize = 64;
/// Most of them of one token.
const MAX_SOCKETS_OF_TOKEN: usize = 8;
/// Most connections at a time that have not.
const MAX_NEWCOMERS: usize = 16;
/// Most of them of one address.
const MAX_NEWCOMERS_OF_ADDRESS: usize = 4;
/// How long a connection may take to begin, with `connection_init`.
const INIT_TIME: Duration = Duration::from_secs(5);
/// Most operations of one connection that are under way.
const MAX_OPERATIONS: usize = 16;
/// Time between two checks whether the token of a subscription is still valid.
const LOOK: Duration = Duration::from_secs(1);

/// The connections of a server.
#[derive(Clone)]
pub(super) struct Sockets {
    shown: Quota,
    newcomers: Arc<Mutex<Newcomers>>,
    stopped: watch::Receiver<bool>,
}

/// Connections that have not shown yet what they must, the oldest first.
#[derive(Default)]
struct Newcomers {
    last_id: u64,
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    id: u64,
    caller: IpAddr,
    /// Tells it to give way when it is dropped.
    _stays: oneshot::Sender<()>,
}

/// A place among the newcomers.
struct Newcomer {
    id: u64,
    newcomers: Arc<Mutex<Newcomers>>,
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.newcomers.lock().waiting.retain(|waiting| waiting.id != self.id);
    }
}

/// The place that a connection has.
enum Place {
    /// Among those that have shown what they must.
    Own(QuotaPermit),
    /// Among those that have not.
    New(Newcomer),
}

impl Sockets {
    /// Connections that end when the server is stopped.
    pub(super) fn new(stopped: watch::Receiver<bool>) -> Self {
        Self { shown: Quota::new(MAX_SOCKETS, MAX_SOCKETS_OF_TOKEN), newcomers: Arc::default(), stopped }
    }

    /// A place among those that have shown what they must.
    fn own(&self, auth: &Auth) -> Option<QuotaPermit> {
        self.shown.take(&auth.caller().who)
    }

    /// A place for a connection that has not, and what ends when it must give way.
    fn newcomer(&self, caller: IpAddr) -> (Newcomer, oneshot::Receiver<()>) {
        let (stays, gives_way) = oneshot::channel();
        let mut newcomers = self.newcomers.lock();
        newcomers.last_id += 1;
        let id = newcomers.last_id;
        newcomers.waiting.push_back(Waiting { id, caller, _stays: stays });
        let of_caller = |waiting: &Waiting| waiting.caller == caller;
        if newcomers.waiting.iter().filter(|waiting| of_caller(waiting)).count() > MAX_NEWCOMERS_OF_ADDRESS
            && let Some(oldest) = newcomers.waiting.iter().position(of_caller)
        {
            newcomers.waiting.remove(oldest);
        }
        if newcomers.waiting.len() > MAX_NEWCOMERS {
            newcomers.waiting.pop_front();
        }
        (Newcomer { id, newcomers: self.newcomers.clone() }, gives_way)
    }
}

/// Makes a connection.
pub(super) async fn upgrade(
    State(app): State<App>,
    Extension(auth): Extension<Auth>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
    protocol: GraphQLProtocol,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Refusal> {
    let caller = app.rules.client(&connection, &headers);
    let (place, gives_way) = match auth {
        Auth::Granted(..) => (Place::Own(app.sockets.own(&auth).ok_or_else(|| Refusal::busy(full()))?), None),
        Auth::Deferred => {
            let (newcomer, gives_way) = app.sockets.newcomer(caller);
            (Place::New(newcomer), Some(gives_way))
        }
    };
    let opened = Opened { app, auth, place, caller, working: connection.hold_open() };
    Ok(upgrade
        .protocols(ALL_WEBSOCKET_PROTOCOLS)
        .max_message_size(MAX_BODY)
        .max_frame_size(MAX_BODY)
        .on_upgrade(move |socket| serve(socket, protocol, opened, gives_way)))
}

fn full() -> String {
    format!("{MAX_SOCKETS} connections, or {MAX_SOCKETS_OF_TOKEN} with this token, are open already; close some")
}

/// A connection that was made.
struct Opened {
    app: App,
    auth: Auth,
    place: Place,
    caller: IpAddr,
    working: InUseGuard,
}

async fn serve(socket: WebSocket, protocol: GraphQLProtocol, opened: Opened, gives_way: Option<oneshot::Receiver<()>>) {
    let Opened { app, auth, place, caller, working: _working } = opened;
    let sockets = app.sockets.clone();
    let stopped = sockets.stopped.clone();
    let (begun, beginning) = oneshot::channel();
    let connection = GraphQLWebSocket::new(socket, SessionExecutor(app.clone()), protocol);
    let connection = connection.on_connection_init(move |payload| async move {
        let auth = authenticate(&app, &payload, caller, auth).await?;
        let place = match place {
            Place::Own(place) => place,
            Place::New(_newcomer) => sockets.own(&auth).ok_or_else(|| async_graphql::Error::new(full()))?,
        };
        // Nobody listens any more if it took too long; the connection is closed then.
        let _ = begun.send(());
        let mut session = Data::default();
        session.insert(auth);
        session.insert(place);
        session.insert(Operations(Arc::new(Semaphore::new(MAX_OPERATIONS))));
        Ok::<_, async_graphql::Error>(session)
    });
    let replaced = async {
        match gives_way {
            Some(gives_way) => drop(gives_way.await),
            None => std::future::pending().await,
        }
    };
    let late = async {
        tokio::select! {
            biased;
            // Whether it has begun or was refused: it is not late.
            _ = beginning => std::future::pending().await,
            () = tokio::time::sleep(INIT_TIME) => {}
            () = replaced => {}
        }
        tracing::debug!("a connection was closed because it did not begin");
    };
    tokio::select! {
        () = connection.serve() => {}
        () = late => {}
        () = wait_for_stop(stopped) => {}
    }
}

/// Who opened a connection that begins with this message.
async fn authenticate(
    app: &App,
    payload: &serde_json::Value,
    caller: IpAddr,
    auth: Auth,
) -> async_graphql::Result<Auth> {
    let token = ["Authorization", "authorization"].iter().find_map(|name| payload.get(name)?.as_str());
    let told = match token.and_then(access::parse_bearer) {
        Some(token) => access::authenticate(app, token, caller).await.ok(),
        None => None,
    };
    match (told, auth) {
        (Some(told), _) => Ok(told),
        (None, granted @ Auth::Granted(..)) => Ok(granted),
        (None, Auth::Deferred) => Err(async_graphql::Error::new(
            "missing token: send connection_init with {\"Authorization\": \"Bearer <token>\"}",
        )),
    }
}

/// Room for the operations of one connection.
struct Operations(Arc<Semaphore>);

/// Executes what a connection asks for, as far as its caller may see.
#[derive(Clone)]
struct SessionExecutor(App);

impl Executor for SessionExecutor {
    /// Nobody has begun a connection here.
    async fn execute(&self, request: Request) -> async_graphql::Response {
        self.0.api.execute(request, &Caller::nobody()).await
    }

    fn execute_stream(
        &self,
        request: Request,
        session: Option<Arc<Data>>,
    ) -> BoxStream<'static, async_graphql::Response> {
        let auth = of_session::<Auth>(session.as_deref()).cloned().unwrap_or(Auth::Deferred);
        let room =
            of_session::<Operations>(session.as_deref()).and_then(|room| room.0.clone().try_acquire_owned().ok());
        let Some(room) = room else {
            return stream::once(async { too_many_operations() }).boxed();
        };
        let app = self.0.clone();
        // Who it is now: the token may have been revoked, and projects may have come, since the connection began.
        let answers = async move {
            match access::renew(&app, &auth).await {
                Ok(caller) => until_invalid(app.api.execute_stream(request, &caller), app, auth),
                Err(refusal) => stream::once(async { refusal.into_graphql() }).boxed(),
            }
        };
        // Until the operation has ended.
        let held = move |answer| {
            let _room = &room;
            answer
        };
        answers.flatten_stream().map(held).boxed()
    }
}

/// The answers while the token of the subscription is valid, then that it is not.
fn until_invalid(
    told: BoxStream<'static, async_graphql::Response>,
    app: App,
    auth: Auth,
) -> BoxStream<'static, async_graphql::Response> {
    let told = stream::unfold(Some((told, become_invalid(app, auth).boxed())), async |state| {
        let (mut told, mut invalid) = state?;
        tokio::select! {
            biased;
            () = &mut invalid => Some((access::wrong_token().into_graphql(), None)),
            answer = told.next() => answer.map(|answer| (answer, Some((told, invalid)))),
        }
    });
    told.boxed()
}

/// Done when what somebody showed is not valid any more.
async fn become_invalid(app: App, auth: Auth) {
    let mut look = tokio::time::interval(LOOK);
    loop {
        look.tick().await;
        if !access::is_valid(&app, &auth) {
            return;
        }
    }
}

fn of_session<T: 'static>(session: Option<&Data>) -> Option<&T> {
    session?.get(&TypeId::of::<T>())?.downcast_ref()
}

fn too_many_operations() -> async_graphql::Response {
    let message = format!("{MAX_OPERATIONS} operations of this connection are under way already; wait for one to end");
    let mut error = ServerError::new(message, None);
    error.extensions.get_or_insert_default().set(error_table::CODE, error_table::code(ErrorKind::Busy));
    async_graphql::Response::from_errors(vec![error])
}
